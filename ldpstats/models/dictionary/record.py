"""What results of a search for strings hold beside the fit: tests, grams and edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.inference import tests as multiplicity
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.covariance import Covariance
from ldpstats.likelihood.tallies import Uncertain
from ldpstats.models.dictionary.search import Pair, PairTable, ScreenedGrams
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.layout import Fit

__all__ = [
    "CANDIDATE_COLUMNS",
    "Searched",
    "Tested",
    "candidates_table",
    "edges_frame",
    "fit_of",
    "grams_frame",
    "pair_errors",
    "tested_strings",
]


Array = npt.NDArray[Any]

CANDIDATE_COLUMNS = ("estimate", "se", "pvalue", "evidence", "edges")
_EVEN = 20  # candidates that get about the same share of alpha


@dataclass(frozen=True, eq=False)
class Searched:
    """What the grams gave: those that were kept, the edges between them, and what was left out."""

    grams: pd.DataFrame
    edges: pd.DataFrame
    n_edges: int  # of all edges
    left_out: tuple[int, ...]  # significant grams of each position that were not kept
    n_excluded: int
    n_untested: int
    n_cut: int
    pair_se: float  # standard error of the frequency of a pair
    critical: float  # the z from which a gram is kept

    @property
    def is_bounded(self) -> bool:
        """Whether a limit of the search may have left strings out."""
        return bool(self.n_untested or self.n_cut or sum(self.left_out))


@dataclass(frozen=True, eq=False)
class Tested:
    """The candidates in the order in which the grams proposed them, and their tests."""

    candidates: pd.DataFrame
    alpha: float
    goodness_of_fit: TestResult | None
    test_se: float  # standard error of the frequency of a string that nobody holds
    caution: str = ""

    @property
    def n_tested(self) -> int:
        """Number of candidates that were tested."""
        return len(self.candidates)

    @cached_property
    def shares(self) -> Array:
        """Shares of alpha of the candidates, in the order in which the grams proposed them."""
        # The reports of whole strings have no part in the order: any shares that add up to one keep
        # the family-wise error. So a long list costs those at its beginning little.
        share = 1.0 / (_EVEN + np.arange(self.n_tested))
        return np.asarray(share / share.sum())

    @cached_property
    def accepted(self) -> npt.NDArray[np.int64]:
        """Positions of the candidates that the test accepts, the most frequent first."""
        if self.candidates.empty:
            return np.empty(0, dtype=np.int64)
        p = self.candidates["pvalue"].to_numpy()
        accepted = np.flatnonzero(multiplicity.reject(p, self.alpha, shares=self.shares))
        estimate = self.candidates["estimate"].to_numpy()[accepted]
        return accepted[np.argsort(-estimate, kind="stable")]

    def least(self, estimate: Array) -> Array:
        """From which estimate on each accepted string, of this `estimate`, would be accepted."""
        from scipy.special import ndtri

        p = self.candidates["pvalue"].to_numpy()[self.accepted]
        bound = -ndtri(self.alpha * self.shares[self.accepted])
        # the estimate over the z that has its p-value, which knows the skewness, is its noise
        with np.errstate(divide="ignore"):
            return np.asarray(estimate * bound / np.maximum(-ndtri(p), bound))


def candidates_table(strings: pd.Index[Any], *columns: Any) -> pd.DataFrame:
    """The strings that were tested; the last of the columns counts, the others measure."""
    kinds = [np.float64] * 4 + [np.int64]
    values = [np.asarray(v, dtype=kind) for v, kind in zip(columns, kinds, strict=True)]
    return pd.DataFrame(dict(zip(CANDIDATE_COLUMNS, values, strict=True)), index=strings)


# -- made of the fit of the candidates to reports of whole strings ---------------------------------


def tested_strings(
    fits: FrequencyResults | None,
    evidence: Array,
    support: npt.NDArray[np.int64],
    alpha: float,
) -> tuple[Tested, Uncertain]:
    """Tests of the c candidates, of this evidence and support, (c,); estimates of those accepted.

    `fits` is the fit of all, if any, to reports of whole strings; those beyond c are not tested.
    """
    if fits is None:
        none = np.empty(0)
        frame = candidates_table(pd.Index([], dtype=object), none, none, none, none, support)
        fitted = Uncertain(none, Covariance.dense(np.empty((0, 0))))
        return Tested(frame, alpha, None, np.nan), fitted
    linear, p, n = fits.linear, fits.presence_pvalues().to_numpy(), evidence.size
    estimates = linear.estimate[:n], linear.bse()[:n], p[:n]
    frame = candidates_table(fits.categories[:n], *estimates, evidence, support)
    assert fits.tally is not None  # of hashed candidates
    absent = fits.tally.absent(fits.k)[0][:n]  # noise, were they absent
    tested = Tested(frame, alpha, fits.goodness_of_fit, float(np.median(absent)), fits.caution)
    at = tested.accepted
    chosen = np.zeros((at.size, fits.k))
    chosen[np.arange(at.size), at] = 1.0
    V = Covariance.dense(linear.known().transform(chosen))
    return tested, Uncertain(linear.estimate[at], V)


def fit_of(
    fitted: Uncertain, survey: DictionarySurvey, tested: Tested, searched: Searched, **given: Any
) -> Fit:
    """The record of an estimate that is linear: `given` are `nobs`, `n_missing` and `settings`."""
    words = "least squares of the candidates" if tested.n_tested else "no candidates"
    if searched.n_cut:
        words += f"; the search was bounded, and dropped {searched.n_cut} partial strings"
    return Fit(
        fitted=fitted,
        linear=fitted,
        method="inversion",
        cov_type="linear",
        epsilon=float(survey.epsilon or 0.0),
        sources=(str(survey), str(survey.gram_mechanism), str(survey.string_mechanism)),
        message=words,
        **given,
    )


# -- as tables: grams that were kept, and edges between them ---------------------------------------


def grams_frame(screened: list[ScreenedGrams], starts: tuple[int, ...]) -> pd.DataFrame:
    """The grams that were kept, position by position."""
    rows = [
        pd.DataFrame(
            {
                "start": np.full(kept.grams.size, start),
                "gram": [str(g) for g in kept.grams],
                "estimate": kept.estimate,
                "se": kept.se,
                "z": kept.z,
            }
        )
        for kept, start in zip(screened, starts, strict=True)
    ]
    return pd.concat(rows, ignore_index=True)


def edges_frame(
    screened: list[ScreenedGrams],
    tables: dict[Pair, PairTable],
    graph: dict[Pair, Array],
    starts: tuple[int, ...],
    members: Array,
) -> pd.DataFrame:
    """The edges of the graph that are in one of some strings, given by their grams."""
    rows = []
    for (a, b), present in graph.items():
        in_strings = np.zeros_like(present)
        in_strings[members[:, a], members[:, b]] = True
        s, t = np.nonzero(present & in_strings)
        rows.append(
            pd.DataFrame(
                {
                    "start_1": np.full(s.size, starts[a]),
                    "gram_1": [str(g) for g in screened[a].grams[s]],
                    "start_2": np.full(s.size, starts[b]),
                    "gram_2": [str(g) for g in screened[b].grams[t]],
                    "estimate": tables[a, b].estimate[s, t],
                    "se": tables[a, b].se[s, t],
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def pair_errors(tables: dict[Pair, PairTable]) -> float:
    """The typical standard error of the frequency of a rare pair; nan where there is none."""
    known = [table.se for table in tables.values() if table.se.size and np.isfinite(table.se).all()]
    errors = [np.median(se) for se in known]
    return float(np.median(errors)) if errors else float("nan")
