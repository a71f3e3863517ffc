"""Surveys whose grams, pairs and strings are known, and the stages of a search in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from shared.dictionary_layouts import GramLayout

import ldpstats as ldp
from ldpstats import ORR
from ldpstats.models.dictionary.search import PairTable, position_counts, screen

Array = npt.NDArray[Any]

LAYOUT = GramLayout(6, 2, "abcd", " ", 2)
GRAMS = LAYOUT.grams().tolist()
WORDS = ["abcdab", "abcdcd", "cdabcd", "bcad", "a"]
SHARES = [0.3, 0.25, 0.2, 0.2, 0.05]


def survey(mechanism: ldp.Mechanism, layout: GramLayout = LAYOUT) -> ldp.DictionarySurvey:
    return ldp.DictionarySurvey(
        layout.length,
        layout.gram,
        layout.alphabet,
        step=layout.step,
        gram_mechanism=mechanism,
        string_mechanism=ORR(4, 4, epsilon=1.0),
    )


def collected(mechanism: ldp.Mechanism, n: int, seed: int = 1) -> ldp.DictionaryReports:
    rng = np.random.default_rng(seed)
    return survey(mechanism).privatize(rng.choice(WORDS, n, p=SHARES), rng)


def screened(reports: ldp.DictionaryReports, false_grams: float = 2.0, most: int = 200) -> Any:
    layout = reports.survey.layout
    counts = [position_counts(reports, a) for a in range(layout.n_positions)]
    return screen(reports.survey.gram_mechanism, counts, layout, false_grams, most)


def table(estimate: Any, se: Any, nobs: int = 1000) -> PairTable:
    estimate = np.asarray(estimate, dtype=float)
    return PairTable(estimate, np.broadcast_to(np.asarray(se, dtype=float), estimate.shape), nobs)
