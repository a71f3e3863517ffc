"""The caller's filter: which strings can be."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ldpstats.errors import InvalidArgument

__all__ = ["predicate"]


def predicate(keep: Any) -> Callable[[str], bool]:
    """Whether a string is kept, by an expression or a function; all are by None."""
    if keep is None:
        return lambda text: True
    if isinstance(keep, str | re.Pattern):
        try:
            pattern = re.compile(str.__str__(keep) if isinstance(keep, str) else keep)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidArgument("keep", keep, f"is no regular expression ({error})") from None
        if not isinstance(pattern.pattern, str):
            raise InvalidArgument("keep", keep, "matches bytes: compile a pattern of text")
        return lambda text: pattern.fullmatch(text) is not None
    if not callable(keep):
        raise InvalidArgument("keep", keep, "must be a regular expression or a function")

    def keeps(text: str) -> bool:
        try:
            answer = keep(text)
        except Exception as error:
            remedy = f"the filter raised {error!r} for this string: it must answer True or False"
            raise InvalidArgument("keep", text, remedy) from error
        if not isinstance(answer, bool | np.bool_):
            raise InvalidArgument("keep", answer, f"must answer True or False of {text!r}")
        return bool(answer)

    return keeps
