"""Several mechanisms for the same answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import preview, sensitive_codes, sensitive_labels
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.enumerated import Enumerated, listed_mechanism
from ldpstats.mechanisms.processing import asked_of, category_order

__all__ = ["protected_by_all", "same_answers"]

Array = npt.NDArray[Any]


def same_answers(
    name: str, given: list[Any]
) -> tuple[pd.Index[Any], list[Enumerated], list[Array]]:
    """The categories, mechanisms, and their channels, (k, l_i), rows in category order.

    The categories are those of the first mechanism; a device stands for its mechanism of them.
    """
    known = next((part for part in given if isinstance(part, Mechanism)), None)
    if known is None:
        raise InvalidArgument(name, given, "needs one mechanism at least, which has categories")
    categories = listed_mechanism(name, known).categories
    parts = [listed_mechanism(name, asked_of(part, categories)) for part in given]
    return categories, parts, [_rows(part, categories) for part in parts]


def protected_by_all(parts: list[Enumerated], categories: pd.Index[Any]) -> pd.Index[Any] | None:
    """The categories that every part protects; None if each protects all."""
    if all(part.sensitive is None for part in parts):
        return None
    kept = np.arange(len(categories))
    for part in parts:
        if part.sensitive is not None:
            kept = np.intersect1d(kept, sensitive_codes(part.sensitive, categories))
    return sensitive_labels(kept, categories)


def _rows(mechanism: Enumerated, categories: pd.Index[Any]) -> Array:
    """Q with its rows in the order of these categories."""
    order = category_order(mechanism.categories, categories)
    if order is None:
        raise MechanismMismatch(
            f"{mechanism} has the categories {preview(mechanism.categories)}, another "
            f"{preview(categories)}: mechanisms for the same answer need the same labels"
        )
    return mechanism.channel().matrix()[order]
