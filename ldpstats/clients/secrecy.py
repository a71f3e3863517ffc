"""Errors that do not show the answers: an error ends in logs, and in reports of crashes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from ldpstats.errors import HIDDEN, InvalidArgument, LDPError

__all__ = ["HIDDEN", "bare", "secretive"]

Method = TypeVar("Method", bound=Callable[..., Any])


# what the package raises, and what the system does, which does not know the answer
_SAFE = (LDPError, OSError, MemoryError)


def bare(failure: BaseException) -> BaseException:
    """An error without the frames, causes and contexts that know the answer."""
    failure.__context__ = failure.__cause__ = None
    return failure.with_traceback(None)


def secretive(method: Method) -> Method:
    """Let no error of a method show what it was given, nor any local variable of its frames.

    Errors that name an argument "value" or "values[i]" keep their place and lose the value. What is
    raised beside the errors of ldpstats may quote the answer, so only its type is shown. The
    place in what `report` was given, which is one answer, is "value".
    """
    alone, form = method.__name__ == "report", signature(method)

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        failure: BaseException
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            failure = _without_answers(error, alone)
        try:  # only now: to bind takes longer than to draw a report
            form.bind(self, *args, **kwargs)
        except TypeError as error:  # it names arguments, and quotes none
            failure = error
        del args, kwargs
        raise bare(failure)

    return guarded  # type: ignore[return-value]


def _without_answers(error: BaseException, alone: bool) -> BaseException:
    if isinstance(error, InvalidArgument) and error.name.startswith("value"):
        return type(error)("value" if alone else error.name, HIDDEN, error.unquoted)
    if isinstance(error, _SAFE) or not isinstance(error, Exception):
        return error
    remedy = f"could not be privatised ({type(error).__name__}): is it an answer of the right type?"
    return InvalidArgument("value", HIDDEN, remedy)
