"""Exceptions and warnings.

Every message names the argument, the value it had and what to do about it. All exceptions derive
from `ValueError` or `TypeError`, so that existing code that catches those keeps working.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "HIDDEN",
    "BoundaryWarning",
    "BudgetSpent",
    "ConvergenceWarning",
    "IncompleteListWarning",
    "InvalidArgument",
    "LDPError",
    "LDPWarning",
    "MechanismMismatch",
    "MisfitWarning",
    "NotAvailable",
    "NotConverged",
    "NotIdentified",
    "PosteriorWarning",
    "UnknownCategory",
]


MOST_CHARACTERS = 2000  # of a message: longer ones flood a log


class _Hidden:
    """Stands for an answer in a message."""

    def __repr__(self) -> str:
        return "(not shown)"


HIDDEN = _Hidden()


class LDPError(ValueError):
    """Base of every error that ldpstats raises on purpose.

    A message has at most 2,000 characters; longer ones are cut in the middle.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(cut(message, MOST_CHARACTERS))


class InvalidArgument(LDPError):
    """An argument has a value that cannot be used.

    Parameters
    ----------
    name : str
        The argument, as the caller spelled it.
    value : object
        What was passed; long values are shortened in the message.
    remedy : str
        What to pass instead.
    unquoted : str, optional
        The remedy in words that quote nothing of the value, where it is not to be shown.

    Examples
    --------
    >>> print(InvalidArgument("epsilon", -1.0, "must be a positive finite number, for example 1.0"))
    epsilon=-1.0: must be a positive finite number, for example 1.0
    """

    def __init__(self, name: str, value: object, remedy: str, unquoted: str | None = None) -> None:
        self.name = name
        self.remedy = remedy
        self.unquoted = remedy if unquoted is None else unquoted
        super().__init__(f"{name}={shorten(value)}: {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        # by default a copy, such as one from another process, would be made of the message alone
        return _restored, (type(self), self.args, self.__dict__)


class UnknownCategory(InvalidArgument):
    """A value or a report is not among the labels that the mechanism knows."""


class BudgetSpent(LDPError):
    """A client has made all the reports that it may make."""


class MechanismMismatch(LDPError):
    """Counts or reports of one mechanism met another mechanism."""


class NotIdentified(LDPError):
    """The reports do not determine the distribution (rank deficiency or singular information)."""


class NotConverged(LDPError):
    """An iteration stopped before its result could be used: the message says how far it got."""


class NotAvailable(LDPError):
    """The method exists, but is not defined for this mechanism, estimator or kind of counts."""


class LDPWarning(UserWarning):
    """Base of every warning that ldpstats issues."""


class ConvergenceWarning(LDPWarning):
    """An iterative estimator stopped before its certificate was reached."""


class BoundaryWarning(LDPWarning):
    """An interval or a test leans on asymptotics that fail where an estimate is zero."""


class IncompleteListWarning(LDPWarning):
    """The candidates are not all answers, and a method needs that, or more cohorts."""


class MisfitWarning(LDPWarning):
    """The reports look as the mechanism cannot make them: goodness of fit has p < .001."""


class PosteriorWarning(LDPWarning):
    """Draws from a posterior that are not to be relied on: chains disagree, or draws are few."""


def shorten(value: object, width: int = 60) -> str:
    """Return ``repr(value)`` on one line, cut in the middle if it is longer than `width`."""
    try:
        text = repr(value)
    except Exception:  # somebody else's object
        text = f"<{type(value).__name__}>"
    return cut(" ".join(text.split()), width)


def cut(text: str, width: int) -> str:
    """Return `text`, cut in the middle if it is longer than `width`."""
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def _restored(
    kind: type[InvalidArgument], args: tuple[Any, ...], state: dict[str, Any]
) -> InvalidArgument:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error
