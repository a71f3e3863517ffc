"""From the data of a regression to its likelihood and its expected information."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.models.regression.record import RegressionData
from ldpstats.problems.decoding import decode
from ldpstats.problems.regression.answers import crossed, likelihoods
from ldpstats.problems.regression.collapse import alike
from ldpstats.problems.regression.jeffreys import ExpectedInformation, ReportLaw
from ldpstats.problems.regression.likelihood import RegressionLikelihood, Seen
from ldpstats.problems.regression.predictors import Separate, predictors_of
from ldpstats.reports.single import Reports

__all__ = [
    "Assembled",
    "assembled",
    "full_rank",
    "has_listed_reports",
    "report_channel",
]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_MOST_OUTPUTS = 64  # of a channel, whose information is summed over them


@dataclass(frozen=True, eq=False)
class Assembled:
    """The likelihood of a regression, over distinct rows.

    Parameters
    ----------
    likelihood : RegressionLikelihood
        Of u rows.
    place : array of int64, shape (n,)
        The row of each respondent.
    weights : array, shape (n,)
        Of each respondent in the likelihood, or of those whom she stands for.
    counts : array, shape (n,)
        Whom she stands for.
    law : ReportLaw or None
        Channels of the u rows, where the outcome is categorical.
    """

    likelihood: RegressionLikelihood
    place: Codes
    weights: Array
    counts: Array
    law: ReportLaw | None

    @cached_property
    def squares(self) -> Array:
        """Sum of the squared weights of the respondents of each row, (u,)."""
        each = self.weights**2 / np.maximum(
            self.counts, 1.0
        )  # rows that stand for nobody have none
        return np.bincount(self.place, each, self.likelihood.n)

    def expected(self, theta: Array | None = None) -> ExpectedInformation:
        """Expected information of the outcome's parameters.

        Private predictors are taken as if they were seen, with their law under theta.
        """
        likelihood = self.likelihood
        weights = likelihood.weights[:, None]
        if likelihood.marginal is not None:
            assert theta is not None
            weights = weights * likelihood.law(theta)
        return ExpectedInformation(likelihood.outcome, likelihood.designs, weights, self.law)


def assembled(data: RegressionData, collapse: bool = True) -> Assembled:
    """The likelihood of the data; rows that are alike are made one."""
    n = data.n
    scale = np.zeros(n)
    law: ReportLaw | None = None
    seen: Any = data.response
    if data.is_categorical:
        assert data.categories is not None
        k = len(data.categories)
        if data.unknown:
            seen = _reported(data.response)
        elif data.is_private:
            listed = data.candidates.get(data.response_name)
            seen, own = likelihoods(data.response, listed)
            scale = scale + own
            channels = [report_channel(reports, listed) for reports in data.response]
            sizes = [len(reports) for reports in data.response]
            law = ReportLaw(tuple(channels), np.repeat(np.arange(len(sizes)), sizes))
        else:
            seen = Seen(np.eye(k), np.asarray(seen, dtype=np.int64))
            law = ReportLaw((np.eye(k),), np.zeros(n, dtype=np.int64))
    B: Seen | None = None
    if data.predictors:
        each = []
        for name, groups in data.predictors.items():
            found, own = likelihoods(groups, data.candidates.get(name))
            scale = scale + own
            each.append(found)
        B = crossed(each)
    counts = np.ones(n) if data.counts is None else np.asarray(data.counts, dtype=np.float64)
    weights = counts if data.weights is None else np.asarray(data.weights, dtype=np.float64)
    weights = weights * (counts.sum() / weights.sum())
    likelihood = RegressionLikelihood(
        outcome=data.outcome,
        designs=tuple(predictors_of(data.outcome, X, data.offset) for X in data.designs),
        seen=seen,
        weights=weights,
        B=B,
        marginal=None
        if data.marginal is None
        else Separate(data.marginal.to_numpy(dtype=np.float64), len(data.designs) - 1),
        constant=float(weights @ scale),
    )
    place = np.arange(n)
    kinds = alike(_columns(likelihood, law)) if collapse and n > 1 else None
    if kinds is not None:
        first, place = kinds
        summed = np.bincount(place, weights, len(first))
        likelihood = replace(likelihood.take(first, summed), constant=likelihood.constant)
        law = law and law.take(first)
    return Assembled(likelihood, place, weights, counts, law)


def _reported(groups: Sequence[Reports]) -> Seen:
    """The reports of groups by devices with unknown parameters, whose likelihoods nobody knows."""
    k = len(groups[0].mechanism.categories)
    before = np.cumsum([0, *(one.mechanism.n_outputs for one in groups)])
    codes = [one.y.astype(np.int64) + at for one, at in zip(groups, before, strict=False)]
    return Seen(np.full((before[-1], k), np.nan), np.concatenate(codes))


def _columns(likelihood: RegressionLikelihood, law: ReportLaw | None) -> list[Array]:
    """All that rows may differ in."""
    seen = likelihood.seen
    columns = [seen.at if isinstance(seen, Seen) else seen]
    if likelihood.B is not None:
        columns.append(likelihood.B.at)
    if law is not None and len(law.channels) > 1:
        columns.append(law.at)
    if likelihood.designs[0].offset is not None:
        columns.append(likelihood.designs[0].offset)
    columns += [design.X for design in likelihood.designs]
    if likelihood.marginal is not None:
        columns.append(likelihood.marginal.X)
    return columns


def report_channel(reports: Reports, candidates: Any = None) -> Array:
    """The channel of a group of reports, (k, l).

    Where reports are too many to be listed (bits, hashes), the k-ary randomised response whose
    frequencies have the same total variance where all categories are equally frequent.
    """
    mechanism = reports.mechanism
    if has_listed_reports(mechanism):
        Q = np.asarray(mechanism.channel().matrix(), dtype=np.float64)
        return Q[:, Q.any(axis=0)]
    decoding = decode(reports, None, candidates)
    k = decoding.k
    even = np.full(k, 1.0 / k)
    variance = float(np.trace(decoding.noise_at(even))) + 1.0 - 1.0 / k
    kept = min(1.0, np.sqrt((1.0 - 1.0 / k) / variance))
    return np.asarray(kept * np.eye(k) + (1.0 - kept) / k)


def has_listed_reports(mechanism: Any) -> bool:
    """Whether the possible reports are few enough to sum over."""
    return 0 < mechanism.n_outputs <= _MOST_OUTPUTS and not mechanism.n_cohorts


def full_rank(channels: Sequence[Array]) -> bool:
    """Whether reports of all groups together determine the frequencies."""
    Q = np.hstack(list(channels))
    return bool(np.linalg.matrix_rank(Q) == len(Q))
