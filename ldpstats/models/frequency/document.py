"""Results of one variable as plain JSON types, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.arguments.labels import labels_from_json, labels_to_json
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.record import Checks, Laws
from ldpstats.models.shared.fit import Fit, is_partial
from ldpstats.models.shared.storage import (
    estimates_from_dict,
    estimates_to_dict,
    maybe_from_dict,
    maybe_to_dict,
    record,
)
from ldpstats.problems.estimates import Unexplained
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.report_law import ReportLaw
from ldpstats.problems.tallies import Tallies

__all__ = ["REQUIRED", "from_document", "to_document"]

Mechanisms = Sequence[dict[str, Any]]

# the fields as JSON has them: as they are, numbers that may be nan or infinite, parts
_LISTS = ("mechanisms", "sources")
_PLAIN = (
    "method",
    "settings",
    "cov_type",
    "nobs",
    "n_missing",
    "n_iter",
    "converged",
    "message",
    "linear_method",
    "caution",
    *_LISTS,
)
_NUMBERS = ("llf", "gap", "epsilon", "dispersion")
_PARTS: dict[str, Any] = {
    "exact": ExactForm,
    "tally": Tallies,
    "law": ReportLaw,
    "goodness_of_fit": TestResult,
    "unexplained": Unexplained,
}
REQUIRED = frozenset(
    {"categories", "condition", "name", "source_nobs", *_PLAIN, *_NUMBERS, *_PARTS}
)


def to_document(
    fit: Fit, categories: pd.Index[Any], mechanisms: Mechanisms, laws: Laws, checks: Checks
) -> dict[str, Any]:
    """The records of results as plain JSON types; no report is in them."""
    held = vars(fit) | vars(laws) | vars(checks) | {"mechanisms": mechanisms}
    document = {name: held[name] for name in _PLAIN}
    document |= {name: number_to_json(held[name]) for name in (*_NUMBERS, "condition")}
    document |= {name: maybe_to_dict(held[name]) for name in _PARTS}
    document |= estimates_to_dict(fit.fitted, fit.linear)
    document["categories"] = labels_to_json(categories)
    document |= {"name": fit.name, "source_nobs": list(fit.source_nobs)}
    return document | {name: list(held[name]) for name in _LISTS}


def from_document(
    document: dict[str, Any],
) -> tuple[Fit, pd.Index[Any], Mechanisms, Laws, Checks]:
    """Inverse of `to_document`; what is damaged may raise any error."""
    d = {name: document[name] for name in _PLAIN}
    d |= {name: number_from_json(document[name]) for name in _NUMBERS}
    d["condition"] = number_from_json(document["condition"])
    d |= {name: maybe_from_dict(part, document[name]) for name, part in _PARTS.items()}
    d |= estimates_from_dict(document)
    d |= {name: tuple(document[name]) for name in _LISTS}
    d["is_partial"] = is_partial(d["mechanisms"])
    d["name"] = str(document["name"])
    d["source_nobs"] = tuple(document["source_nobs"])
    categories = labels_from_json("categories", document["categories"])
    return record(Fit, d), categories, d["mechanisms"], record(Laws, d), record(Checks, d)
