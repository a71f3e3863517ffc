"""Errors that do not show true answers: neither their words nor the frames they passed."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy.typing as npt

from ldpstats.clients.secrecy import HIDDEN, bare
from ldpstats.errors import BudgetSpent, InvalidArgument, LDPError, NotAvailable

__all__ = ["privatized", "without_answers"]

Array = npt.NDArray[Any]
P = ParamSpec("P")
T = TypeVar("T")
Named = Callable[[int | None], str]


def without_answers(function: Callable[P, T]) -> Callable[P, T]:
    """Strip errors of a function, as `clients.secrecy.secretive` does; hide messages of others."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        signature(function).bind(*args, **kwargs)  # its error names arguments, and quotes none
        try:
            return function(*args, **kwargs)
        except BaseException as error:  # an interruption too
            failure = _harmless(error)
        del args, kwargs
        raise bare(failure)

    return guarded


def _harmless(error: BaseException) -> BaseException:
    if isinstance(error, LDPError | MemoryError) or not isinstance(error, Exception):
        return error
    at = traceback.extract_tb(error.__traceback__)[-1]
    return LDPError(
        f"a defect of ldpstats, please report it ({type(error).__name__} in "
        f"{Path(at.filename).name}, line {at.lineno}; its message is not shown, because it may "
        "quote an answer)"
    )


def privatized(client: Any, values: Array, named: Named, remedy: str) -> Any:
    """Reports of answers by a client; an error names the row of the first that it refuses."""
    kind, place = InvalidArgument, None
    try:
        return client.privatize(values)
    except (BudgetSpent, NotAvailable):
        raise
    except InvalidArgument as error:
        if not error.name.startswith("value"):  # of the client's state, not of the answers
            raise
        found = re.search(r"\[(\d+)\]$", error.name)
        kind, place = type(error), None if found is None else int(found[1])
    except LDPError:
        pass
    raise kind(named(place), HIDDEN, remedy)
