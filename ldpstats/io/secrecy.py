"""Errors that do not show true answers: neither their words nor the frames they passed."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt

from ldpstats.errors import BudgetSpent, InvalidArgument, LDPError, NotAvailable

__all__ = ["NOT_SHOWN", "bare", "privatized", "without_answers"]

Array = npt.NDArray[Any]
T = TypeVar("T")
Named = Callable[[int | None], str]


class _NotShown:
    """Stands in an error for the value that was answered."""

    def __repr__(self) -> str:
        return "(not shown)"


NOT_SHOWN = _NotShown()


def bare(failure: BaseException) -> BaseException:
    """Return an error without the frames and causes that know answers: loggers may write them."""
    failure.__context__ = failure.__cause__ = None
    return failure.with_traceback(None)


def without_answers(work: Callable[[], T]) -> T:
    """Return ``work()``; an error comes out of it bare.

    Its words stay only where this package chose them. Those of others may quote an answer.
    """
    try:
        return work()
    except BaseException as error:  # an interruption too
        failure = _harmless(error)
    raise bare(failure)


def _harmless(error: BaseException) -> BaseException:
    if isinstance(error, LDPError | MemoryError) or not isinstance(error, Exception):
        return error
    at = traceback.extract_tb(error.__traceback__)[-1]
    return LDPError(
        f"a defect of ldpstats, please report it ({type(error).__name__} in "
        f"{Path(at.filename).name}, line {at.lineno}; its message is not shown, because it may "
        "quote an answer)"
    )


def privatized(
    client: Any, values: Array, simulate: Callable[[Array], object], named: Named, remedy: str
) -> Any:
    """What a client makes of answers; an error tells where the first is that it refuses.

    Parameters
    ----------
    client : Client or DictionaryClient
    values : array, shape (n,)
    simulate : callable
        Makes of `values` reports that nobody gets. Its error is about ``values[i]``, while clients
        do not tell which answer they refuse.
    named : callable
        What to call value i in the error, or all values, given None.
    remedy : str
        What the error says.
    """
    try:
        return client.privatize(values)
    except (BudgetSpent, NotAvailable):
        raise
    except LDPError:
        pass
    kind, place = _fault(simulate, values)
    raise kind(named(place), NOT_SHOWN, remedy)


def _fault(
    simulate: Callable[[Array], object], values: Array
) -> tuple[type[InvalidArgument], int | None]:
    """The kind of the error about the first value that is refused, and its position if known."""
    try:
        simulate(values)
    except InvalidArgument as error:
        found = re.search(r"\[(\d+)\]$", error.name)
        return type(error), None if found is None else int(found[1])
    return InvalidArgument, None
