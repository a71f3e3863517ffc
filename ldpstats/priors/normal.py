"""The normal prior."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ldpstats.arguments.checks import real_number
from ldpstats.errors import InvalidArgument

__all__ = ["Normal"]


@dataclass(frozen=True)
class Normal:
    """The normal prior of a coefficient.

    Parameters
    ----------
    mean, sd : float

    Raises
    ------
    InvalidArgument
        If they are not finite numbers, or `sd` is not positive.

    Examples
    --------
    >>> Normal(0.0, 2.5)
    Normal(0.0, 2.5)
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        mean = real_number("mean", self.mean, "must be a finite number")
        sd = real_number("sd", self.sd, "must be a positive finite number")
        if not isfinite(mean):
            raise InvalidArgument("mean", self.mean, "must be a finite number")
        if not 0.0 < sd < float("inf"):
            raise InvalidArgument("sd", self.sd, "must be a positive finite number")
        object.__setattr__(self, "mean", float(mean))
        object.__setattr__(self, "sd", float(sd))

    def __repr__(self) -> str:
        return f"Normal({self.mean!r}, {self.sd!r})"
