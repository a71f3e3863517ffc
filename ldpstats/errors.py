"""Exceptions and warnings.

Every message names the argument, the value it had and what to do about it. All exceptions derive
from `ValueError` or `TypeError`, so that existing code that catches those keeps working.
"""

from __future__ import annotations

__all__ = [
    "BoundaryWarning",
    "ConvergenceWarning",
    "IncompleteListWarning",
    "InvalidArgument",
    "LDPError",
    "LDPWarning",
    "MechanismMismatch",
    "MisfitWarning",
    "NotAvailable",
    "NotIdentified",
    "UnknownCategory",
]


class LDPError(ValueError):
    """Base of every error that ldpstats raises on purpose."""


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

    Examples
    --------
    >>> print(InvalidArgument("epsilon", -1.0, "must be a positive finite number, for example 1.0"))
    epsilon=-1.0: must be a positive finite number, for example 1.0
    """

    def __init__(self, name: str, value: object, remedy: str) -> None:
        self.name = name
        self.remedy = remedy
        super().__init__(f"{name}={shorten(value)}: {remedy}")


class UnknownCategory(InvalidArgument):
    """A value or a report is not among the labels that the mechanism knows."""


class MechanismMismatch(LDPError):
    """Counts or reports of one mechanism met another mechanism."""


class NotIdentified(LDPError):
    """The reports do not determine the distribution (rank deficiency or singular information)."""


class NotAvailable(LDPError):
    """The method exists, but is not defined for this mechanism, estimator or kind of counts."""


class LDPWarning(UserWarning):
    """Base of every warning that ldpstats issues."""


class ConvergenceWarning(LDPWarning):
    """An iterative estimator stopped before its certificate was reached."""


class BoundaryWarning(LDPWarning):
    """An interval or a test leans on asymptotics that fail where an estimate is zero."""


class IncompleteListWarning(LDPWarning):
    """A method takes the candidates for all answers, and the reports say that they are not."""


class MisfitWarning(LDPWarning):
    """The reports look as the mechanism cannot make them: goodness of fit has p < .001."""


def shorten(value: object, width: int = 60) -> str:
    """Return ``repr(value)`` on one line, cut in the middle if it is longer than `width`."""
    text = " ".join(repr(value).split())
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[:half]}...{text[-half:]}"
