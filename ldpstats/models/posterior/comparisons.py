"""Inequalities between parameters, as text: "nurse > cook", "nurse + cook > driver", "a > .3"."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.hypotheses import linear_hypothesis

__all__ = ["inequalities", "point_null"]

Array = npt.NDArray[Any]

_HOW = "write for example 'nurse > cook', 'nurse + cook > driver' or 'nurse > .3'"
_LABELS = "write p[...] around every label where one is not text or holds signs"
_SIGNS = re.compile("(>=|<=|>|<)")


def inequalities(text: object, terms: pd.Index[Any]) -> tuple[Array, Array]:
    """R, shape (q, m), and value, (q,), of a claim that holds where R p > value in every row.

    Inequalities may be chained, "a > b > c", and joined by commas: all of them must hold.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument("claim", text, f"must be an inequality as text: {_HOW}")
    hidden = _names_with_signs(text, terms)
    R, value = _claims(text, terms, hidden)
    in_brackets = [name for name in hidden if name.startswith("p[")]
    if hidden != in_brackets:
        try:  # names without brackets as signs and other labels
            other = _claims(text, terms, in_brackets)
        except InvalidArgument:
            return R, value
        if not (np.array_equal(R, other[0]) and np.array_equal(value, other[1])):
            remedy = f"is ambiguous: {hidden[-1]!r} is a label, but also reads as an inequality"
            raise InvalidArgument("claim", text, f"{remedy}; {_LABELS}")
    return R, value


def _claims(text: str, terms: pd.Index[Any], hidden: list[str]) -> tuple[Array, Array]:
    """R and value of inequalities, in which some `hidden` names hold signs."""
    masked = text
    for i, name in enumerate(hidden):
        masked = masked.replace(name, f"\0{i}\0")
    rows, values = [], []
    for part in masked.split(","):
        pieces = _SIGNS.split(part)
        if len(pieces) < 3 or "=" in "".join(pieces[::2]):
            remedy = f"{_HOW}; for an equation there is bayes_factor"
            raise InvalidArgument("claim", text, remedy)
        for left, sign, right in zip(pieces[:-2:2], pieces[1::2], pieces[2::2], strict=True):
            equation = f"{left.strip()} = {right.strip()}"
            for i, name in enumerate(hidden):
                equation = equation.replace(f"\0{i}\0", name)
            R, value = _read(text, equation, terms)
            side = 1.0 if sign.startswith(">") else -1.0
            rows.append(side * R)
            values.append(side * value)
    return np.concatenate(rows), np.concatenate(values)


def point_null(hypothesis: Any, terms: pd.Index[Any]) -> tuple[Array, float]:
    """The row R, shape (m,), and the value of one equation R p = value."""
    if isinstance(hypothesis, str) and not _names_with_signs(hypothesis, terms):
        if set("<>") & set(hypothesis):
            remedy = "must be an equation, such as 'nurse = .25'; for inequalities there is prob"
            raise InvalidArgument("hypothesis", hypothesis, remedy)
    R, value = linear_hypothesis(hypothesis, terms)
    if len(R) != 1:
        remedy = "must be one equation, such as 'nurse = .25'"
        raise InvalidArgument("hypothesis", hypothesis, remedy)
    return R[0], float(value[0])


def _read(text: str, equation: str, terms: pd.Index[Any]) -> tuple[Array, Array]:
    try:
        return linear_hypothesis(equation, terms)
    except InvalidArgument as error:  # which quotes the equation that was made of it
        why = error.remedy.split("; ")[0]  # what follows is of equations
        raise InvalidArgument("claim", text, f"{why}; {_HOW}; {_LABELS}") from None


def _names_with_signs(text: str, terms: pd.Index[Any]) -> list[str]:
    """Labels in a text that hold signs of inequalities or commas, the longest first."""
    found = []
    for term in terms:
        if set("<>,=") & set(str(term)):
            found += [name for name in (f"p[{term}]", str(term)) if name in text]
    return sorted(found, key=len, reverse=True)
