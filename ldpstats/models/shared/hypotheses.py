"""Linear hypotheses about frequencies, from strings or arrays."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.errors import InvalidArgument

__all__ = ["linear_hypothesis"]

Array = npt.NDArray[Any]

_HOW = (
    "write for example 'nurse = cook' or 'nurse - cook = 0.1' with category labels, or "
    "'p[nurse] = p[cook]' with p[...] around every label, as labels that are not strings always "
    "need; or pass R of shape (q, k), or the pair (R, value)"
)
_LARGEST = 1e100  # of which the square is still a number
_OPERATORS = "-+*/=,()"
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def linear_hypothesis(hypothesis: Any, categories: pd.Index[Any]) -> tuple[Array, Array]:
    """Return R, shape (q, k), and value, shape (q,), of the hypothesis R p = value."""
    if not len(categories):
        raise InvalidArgument("hypothesis", hypothesis, "is about nothing: there is no frequency")
    if isinstance(hypothesis, str) or (
        isinstance(hypothesis, list) and all(isinstance(h, str) for h in hypothesis)
    ):
        return _from_text(hypothesis, categories)
    pair = isinstance(hypothesis, tuple) and len(hypothesis) == 2
    R, value = hypothesis if pair else (hypothesis, 0.0)
    R = np.atleast_2d(numbers("hypothesis", R, _HOW))
    value = numbers("hypothesis", value, _HOW)
    k = len(categories)
    if R.ndim != 2 or not len(R) or R.shape[1] != k or value.size not in (1, len(R)):
        raise InvalidArgument(
            "hypothesis", f"R of shape {R.shape}", f"needs k = {k} columns; {_HOW}"
        )
    if not all(np.maximum(v.max(), -v.min()) <= _LARGEST for v in (R, value)):  # nor NaN
        raise InvalidArgument("hypothesis", hypothesis, f"must be finite, at most {_LARGEST:g}")
    return R, np.broadcast_to(value.reshape(-1), (len(R),)).copy()


def _from_text(text: str | list[str], categories: pd.Index[Any]) -> tuple[Array, Array]:
    texts = [text] if isinstance(text, str) else text
    if not texts or not all(t.strip() for t in texts):
        raise InvalidArgument("hypothesis", text, f"is empty; {_HOW}")
    quoted = any("p[" in t for t in texts)
    if not quoted:
        _refuse_ambiguous(texts, categories)
    names = [v if isinstance(v, str) and not quoted else f"p[{v}]" for v in categories.tolist()]
    places = dict(zip(names, range(len(names)), strict=True))
    if len(places) < len(names):  # 1 and "1", say
        reason = "several labels are written alike"
        raise InvalidArgument("hypothesis", text, f"cannot be read ({reason}); {_HOW}")
    lengths = {len(name) for name in names}
    rows, values = [], []
    for one in texts:  # the parser is slow with many names: it gets those that occur, or the first
        known = sorted(_occurring(one, places, lengths)) or names[:1]
        coefs, constants = _equations(text, one, known)
        R = np.zeros((len(coefs), len(names)))
        R[:, [places[name] for name in known]] = coefs
        rows.append(R)
        values.append(constants)
    return np.concatenate(rows), np.concatenate(values)


def _equations(text: Any, one: str, names: list[str]) -> tuple[Array, Array]:
    """Coefficients of these names, and right-hand sides, in one text of the hypothesis `text`."""
    from patsy import DesignInfo, PatsyError

    try:
        with np.errstate(all="ignore"):  # what a division by zero leaves is refused below
            constraint = DesignInfo(names).linear_constraint(one)
    except (PatsyError, AssertionError, IndexError, ValueError) as error:
        reason = (str(error).splitlines() or ["no linear equation"])[0]
        raise InvalidArgument("hypothesis", text, f"cannot be read ({reason}); {_HOW}") from None
    R, value = np.asarray(constraint.coefs), np.asarray(constraint.constants).reshape(-1)
    if not (np.all(np.isfinite(R)) and np.all(np.isfinite(value))):
        raise InvalidArgument("hypothesis", text, "must be finite: does it divide by zero?")
    return R, value


def _occurring(text: str, names: Collection[str], lengths: Collection[int]) -> set[str]:
    """The names that are somewhere in a text: looked up by every part of it of a name's length."""
    parts = (text[i : i + n] for n in lengths for i in range(len(text) - n + 1))
    return {part for part in parts if part in names}


def _refuse_ambiguous(texts: list[str], categories: pd.Index[Any]) -> None:
    """Refuse text in which a label may as well be a number or an expression in other labels."""
    labels = {v for v in categories if isinstance(v, str)}
    lengths = {len(label) for label in labels}
    for label in sorted(set().union(*(_occurring(t, labels, lengths) for t in texts))):
        if _is_expression(label, labels):
            raise InvalidArgument(
                "hypothesis",
                texts[0] if len(texts) == 1 else texts,
                f"is ambiguous: {label!r} is a label, but also reads as a number or an "
                f"expression; write p[{label}], and p[...] around every other label",
            )


def _is_expression(text: str, labels: set[str]) -> bool:
    """Whether text can be read as operators, numbers and other labels than itself, or is empty."""
    parts = re.split(f"([{re.escape(_OPERATORS)}])", text)

    def atom(part: str) -> bool:
        if part in labels and part != text:
            return True
        return part in _OPERATORS or _NUMBER.fullmatch(part) is not None

    readable = {0}  # the lengths of the beginnings that can be read
    for end in range(1, len(parts) + 1):
        if any(atom("".join(parts[start:end]).strip()) for start in readable):
            readable.add(end)
    return len(parts) in readable
