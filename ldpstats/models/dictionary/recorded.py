"""The records of results, made of the fit of the candidates to reports of whole strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.models.dictionary.record import Searched, Tested, candidates_table
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain

__all__ = ["fit_of", "tested_strings"]

Array = npt.NDArray[Any]


def tested_strings(
    fits: FrequencyResults | None,
    evidence: Array,
    support: npt.NDArray[np.int64],
    alpha: float,
) -> tuple[Tested, Uncertain]:
    """The tests of the candidates, and the estimate of those that were accepted.

    See `dictionary_results` for the arguments.
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
    own = np.zeros((at.size, fits.k))
    own[np.arange(at.size), at] = 1.0
    V = Covariance.dense(linear.known().transform(own))
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
