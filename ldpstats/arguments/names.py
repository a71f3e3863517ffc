"""Names that people misspell."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean", "nearest_label"]

_ALIKE = 0.75  # below which two labels are two answers, and not one misspelt
# what files say in place of an answer: the misspelt form of no answer
_NO_ANSWER = {"no answer", "no reply", "no response", "none given", "not answered", "not asked"}
_NO_ANSWER |= {"not applicable", "n/a", "na", "missing", "unknown", "refused", "refusal", "dk"}
_NO_ANSWER |= {"don't know", "dont know", "do not know", "prefer not to say", "keine angabe"}


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message: the known name that is most like one, whatever its case; or nothing."""
    folded = {text.casefold(): text for text in reversed(list(known))}
    alike = get_close_matches(str(name).strip().casefold(), folded, 1)
    return f"; did you mean {folded[alike[0]]!r}?" if alike else ""


def nearest_label(text: str, known: Iterable[object]) -> object | None:
    """The known label of which a text is a misspelt form; None if it is of none.

    A number is no misspelt form of another one, nor is "No answer" one of "No, never".
    """
    folded = {str(label).strip().casefold(): label for label in reversed(list(known))}
    given = text.strip().casefold()
    if given in folded or any(letter.isdigit() for letter in given):
        return folded.get(given)
    absent = given in _NO_ANSWER
    alike = get_close_matches(
        given, [t for t in folded if not absent or t in _NO_ANSWER], 1, _ALIKE
    )
    return folded[alike[0]] if alike else None
