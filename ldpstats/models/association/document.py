"""Results of several variables as plain JSON types, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ldpstats.arguments.checks import positive_integer
from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.arguments.labels import labels_from_json, labels_to_json
from ldpstats.errors import InvalidArgument
from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.record import Cells, Tests, Variables
from ldpstats.models.association.tallies import tallies_from_dict, tallies_to_dict
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.storage import (
    estimates_from_dict,
    estimates_to_dict,
    maybe_from_dict,
    maybe_to_dict,
    record,
)

__all__ = ["REQUIRED", "from_document", "to_document"]

# the fields as JSON has them: as they are, lists, numbers that may be nan or infinite, parts
_PLAIN = (
    "method",
    "settings",
    "cov_type",
    "nobs",
    "n_iter",
    "converged",
    "message",
    "is_complete",
    "n_strata",
    "n_missing",
    "digest",
    "names",
    "others",
    "sources",
)
_LISTS = ("names", "others", "sources")
_NUMBERS = ("llf", "gap", "epsilon", "dispersion", "smallest_expected")
_PARTS: dict[str, Any] = {"independence": TestResult, "trend": TestResult, "law": CellLaw}
REQUIRED = frozenset(
    {*_PLAIN, *_NUMBERS, *_PARTS, "fitted", "linear", "labels", "margin_fits"}
    | {"null_llf", "tallies", "lacking", "unprotected"}
)


def to_document(fit: Fit, variables: Variables, cells: Cells, tests: Tests) -> dict[str, Any]:
    """The records of results as plain JSON types; no report is in them, but tallies."""
    held = vars(fit) | vars(variables) | vars(cells) | vars(tests)
    document: dict[str, Any] = {name: held[name] for name in _PLAIN}
    document |= {name: number_to_json(held[name]) for name in _NUMBERS}
    document |= {name: list(held[name]) for name in _LISTS}
    document |= estimates_to_dict(fit.fitted, fit.linear)
    document["labels"] = [labels_to_json(values) for values in variables.labels]
    document["margin_fits"] = [margin.to_dict() for margin in variables.margin_fits]
    document |= {name: maybe_to_dict(held[name]) for name in _PARTS}
    document["null_llf"] = number_to_json(tests.null_llf)
    document |= {name: list(held[name]) for name in ("lacking", "unprotected")}
    document["tallies"] = tallies_to_dict(tests.evidence)
    return document


def from_document(document: dict[str, Any]) -> tuple[Fit, Variables, Cells, Tests]:
    """Inverse of `to_document`; what is damaged may raise any error."""
    d = document
    given = {name: d[name] for name in _PLAIN}
    given |= {name: tuple(d[name]) for name in _LISTS}
    given |= {name: number_from_json(d[name]) for name in _NUMBERS}
    given |= estimates_from_dict(d)
    given["labels"] = tuple(labels_from_json("labels", values) for values in d["labels"])
    given["margin_fits"] = tuple(FrequencyResults.from_dict(fit) for fit in d["margin_fits"])
    given["is_partial"] = any(fit.fit.is_partial for fit in given["margin_fits"])
    cells = int(np.prod([len(values) for values in given["labels"]]))
    if given["fitted"].estimate.size != cells or given["linear"].estimate.size != cells:
        raise InvalidArgument("labels", d["labels"], "do not match the number of estimates")
    given["unprotected"] = tuple(d["unprotected"])
    if not set(given["unprotected"]) <= set(given["names"]):
        raise InvalidArgument("unprotected", d["unprotected"], "must be names of variables")
    given["lacking"] = _lacking(d["lacking"], given["n_missing"], given["names"])
    given |= {name: maybe_from_dict(part, d[name]) for name, part in _PARTS.items()}
    if given["law"] is not None and given["law"].step.size != cells:
        raise InvalidArgument("law", given["law"].step.size, f"must be of {cells} cells")
    given["null_llf"] = number_from_json(d["null_llf"])
    kept = (given[name] for name in ("names", "labels", "others", "digest"))
    given["evidence"] = tallies_from_dict(d["tallies"], *kept)
    fit, variables = record(Fit, given), record(Variables, given)
    return fit, variables, record(Cells, given), record(Tests, given)


def _lacking(document: Any, n_missing: int, names: Sequence[str]) -> tuple[int, ...]:
    """How many respondents lacked each variable, as a document says."""
    found = tuple(positive_integer("lacking", size, 0) for size in document)
    if found and not (len(found) == len(names) and max(found) <= n_missing <= sum(found)):
        remedy = f"must be {len(names)} numbers up to n_missing, whose sum is at least that"
        raise InvalidArgument("lacking", document, remedy)
    return found
