"""Names that people misspell."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean"]


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message: the known name that is most like one, whatever its case; or nothing."""
    folded = {text.casefold(): text for text in reversed(list(known))}
    alike = get_close_matches(str(name).strip().casefold(), folded, 1)
    return f"; did you mean {folded[alike[0]]!r}?" if alike else ""
