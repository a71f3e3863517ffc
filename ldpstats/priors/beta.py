"""The beta prior of an unknown parameter."""

from __future__ import annotations

from dataclasses import dataclass

from ldpstats.arguments.checks import real_number
from ldpstats.errors import InvalidArgument

__all__ = ["Beta"]

_RANGE = (1e-3, 1e9)


@dataclass(frozen=True)
class Beta:
    """The beta prior of a probability: density proportional to ``x^(a - 1) (1 - x)^(b - 1)``.

    Parameters
    ----------
    a, b : float
        From 0.001 to 1e9. ``Beta(1, 1)`` is flat; ``Beta(a, b)`` has the mean ``a / (a + b)`` and
        counts as so many as a + b - 2 respondents of whom it is known directly.

    Raises
    ------
    InvalidArgument
        If `a` or `b` is out of range.

    Examples
    --------
    About one in ten cheats, as in 18 respondents who were watched:

    >>> Beta(2, 18)
    Beta(2.0, 18.0)
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            remedy = f"must be a number from {_RANGE[0]:g} to {_RANGE[1]:g}, for example 1.0"
            value = real_number(name, getattr(self, name), remedy)
            if not _RANGE[0] <= value <= _RANGE[1]:  # nor nan
                raise InvalidArgument(name, value, remedy)
            object.__setattr__(self, name, float(value))

    def __repr__(self) -> str:
        return f"Beta({self.a!r}, {self.b!r})"
