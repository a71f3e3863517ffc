"""Results of a search for strings as plain JSON types, and back."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.inference.tests import TestResult
from ldpstats.models.dictionary.record import (
    CANDIDATE_COLUMNS,
    Searched,
    Tested,
    candidates_table,
)
from ldpstats.models.dictionary.recorded import fit_of
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.storage import maybe_from_dict, maybe_to_dict, record
from ldpstats.problems.estimates import Uncertain

__all__ = ["REQUIRED", "from_document", "to_document"]

_FIT = ("nobs", "n_missing", "settings")
_FRAMES = {
    "grams": ["start", "gram", "estimate", "se", "z"],
    "edges": ["start_1", "gram_1", "start_2", "gram_2", "estimate", "se"],
}
_PARTS = ("strings", "candidates", "fitted", "goodness_of_fit", "left_out", "pair_se", "test_se")
_PLAIN = (
    "survey",
    "nobs",
    "n_missing",
    "alpha",
    "n_excluded",
    "n_untested",
    "n_cut",
    "n_edges",
    "settings",
    "critical",
    "caution",
)
REQUIRED = frozenset({*_PLAIN, *_FRAMES, *_PARTS})


def to_document(
    fit: Fit, survey: dict[str, Any], tested: Tested, searched: Searched
) -> dict[str, Any]:
    """The records of results as plain JSON types; no report is in them."""
    held = vars(fit) | vars(tested) | vars(searched) | {"survey": survey}
    document = {name: held[name] for name in _PLAIN}
    document |= {
        "strings": tested.candidates.index.tolist(),
        "candidates": tested.candidates.to_dict(orient="list"),
        "fitted": fit.fitted.to_dict(),
        "goodness_of_fit": maybe_to_dict(tested.goodness_of_fit),
        "left_out": list(searched.left_out),
        "pair_se": number_to_json(searched.pair_se),
        "test_se": number_to_json(tested.test_se),
    }
    return document | {name: held[name].to_dict(orient="list") for name in _FRAMES}


def from_document(document: dict[str, Any]) -> tuple[Fit, dict[str, Any], Tested, Searched]:
    """Inverse of `to_document`; what is damaged may raise any error."""
    d = document
    columns = [d["candidates"][name] for name in CANDIDATE_COLUMNS]
    frames = {name: pd.DataFrame(d[name])[heads] for name, heads in _FRAMES.items()}
    given = d | frames | {"left_out": tuple(d["left_out"])}
    given["pair_se"] = number_from_json(d["pair_se"])
    tested = Tested(
        candidates_table(pd.Index(d["strings"], dtype=object), *columns),
        d["alpha"],
        maybe_from_dict(TestResult, d["goodness_of_fit"]),
        number_from_json(d["test_se"]),
        d["caution"],
    )
    survey, searched = DictionarySurvey.from_dict(d["survey"]), record(Searched, given)
    rest = {name: d[name] for name in _FIT}
    fit = fit_of(Uncertain.from_dict(d["fitted"]), survey, tested, searched, **rest)
    return fit, survey.to_dict(), tested, searched
