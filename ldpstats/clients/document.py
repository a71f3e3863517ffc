"""Client documents, from which a device makes reports: SPECIFICATION.md says what they mean."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.clients.portable.ldpstats_client import fingerprint
from ldpstats.errors import NotAvailable

__all__ = ["check_table", "client_document", "fraction", "listed", "numbers", "texts"]

_FORMAT, _VERSION = "ldpstats-client", 1
_MOST_NUMBERS = 1 << 18


def client_document(survey: str, epsilon: float, asked: dict[str, Any]) -> dict[str, Any]:
    """The document of a survey with this fingerprint; `asked` is the question, or the questions."""
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "survey": survey,
        "epsilon": repr(float(epsilon)),
        **asked,
    }
    return document | {"fingerprint": fingerprint(document)}


def texts(labels: pd.Index[Any]) -> int | list[str]:
    """Labels as a list of texts: what tables have, or a number k for 0 .. k-1."""
    return len(labels) if isinstance(labels, pd.RangeIndex) else [str(v) for v in labels.tolist()]


def listed(given: int | list[str]) -> list[str]:
    """A list of texts, or the numbers that k stands for."""
    return [str(i) for i in range(given)] if isinstance(given, int) else list(given)


def fraction(value: Fraction) -> list[str]:
    """A fraction as two texts."""
    return [str(value.numerator), str(value.denominator)]


def numbers(values: Any) -> list[str]:
    """Integers as texts."""
    return [str(value) for value in np.asarray(values, dtype=object).tolist()]


def check_table(source: object, size: int) -> None:
    """Refuse a table of so many numbers, if it is too large for a document."""
    if size > _MOST_NUMBERS:
        raise NotAvailable(
            f"{source} draws reports from a table of {size} numbers, which is too large for the "
            f"document of a device (at most {_MOST_NUMBERS}): use a mechanism without a table, "
            "such as KRR or KRAPPOR, or collector() in Python"
        )
