"""Estimates of frequencies, their covariances and laws, and the intervals and p-values from them.

Beside the estimate that was asked for stands a linear, unconstrained one, on which intervals and
tests rest. In order: Fisher's information on the maximum of the likelihood; intervals; the linear
estimate from the likelihood of bits (`OneStep`); p-values of frequencies of zero; the records that
results hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.channels.structured import Channel, Uniformised
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.inference import information as fisher
from ldpstats.inference import intervals
from ldpstats.inference import tests as tests_
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.inference.intervals import (
    confidence_sequence,
    edge_binomial,
    edge_normal,
    exact_binomial,
    wilson,
)
from ldpstats.inference.tails import continuity, skewed_pvalue
from ldpstats.likelihood.covariance import (
    Covariance,
    ExactForm,
    PathLaw,
    ReportLaw,
    Tallies,
    Uncertain,
    uniformised,
)
from ldpstats.likelihood.moments import LARGEST_LIST, Moments
from ldpstats.likelihood.rows import Likelihood, StackedRows, UniformRows
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.layout import Fit
from ldpstats.reports.single import BitCounts, Counts

# -- Covariance of the maximum likelihood estimate of one variable, from Fisher's information -----


LARGEST_INFORMATION = 2048  # categories up to which a dense information matrix is formed
_MOST_OPERATIONS = 4e11  # multiplications that an observed information may take: about 10 s


def information_covariance(
    sources: Sequence[Counts | BitCounts],
    problems: Sequence[Moments],
    likelihoods: Sequence[Likelihood],
    p: Array,
    fpe16: bool,
) -> tuple[Covariance | None, str]:
    """Covariance of the simplex MLE at p, and the kind of information it rests on.

    In closed form for one mechanism that tells all categories apart alike, as k-RR does. Else
    expected information where the outputs of a source can be enumerated, observed information on
    the tangent space of the simplex otherwise (statistics of the reports' patterns).
    """
    maker = sources[0].mechanism
    if len(sources) == 1 and not maker.n_cohorts:
        channel = maker.channel()
        if isinstance(channel, Uniformised):  # the inverse of its information is known
            V = uniformised(p, channel.a, channel.b, sources[0].nobs, fpe16)
            return V, "fpe16" if fpe16 else "expected"
    mechanisms, k = [counts.mechanism for counts in sources], p.size
    rows = [likelihood.W for likelihood in likelihoods]
    work = 0  # where labels of cohorts give all; rows of a uniformised channel are O(k)
    if not all(maker.n_outputs and maker.n_cohorts for maker in mechanisms):
        work = int(sum(W.shape[0] for W in rows if not isinstance(W, UniformRows)) * k**2)
    if k > LARGEST_INFORMATION or work > _MOST_OPERATIONS:
        return None, "none (too large)"
    matrices = [  # Q of reports that are labels of one cohort; None of others
        None if maker.n_cohorts or not maker.n_outputs else np.asarray(maker.channel().matrix())
        for maker in mechanisms
    ]
    # a category can vary if none of its reports has probability zero under p: one at zero that
    # some never-expected report would reveal is known to first order
    free = np.ones(k, dtype=bool)
    for Q, W, problem in zip(matrices, rows, problems, strict=True):
        free &= ~W.pinned(p)
        if Q is not None:
            never = (p @ Q <= 0.0) & Q.any(axis=0)
            free &= ~Q[:, never].any(axis=1)
        free &= ~problem.pinned(p)
    law = p[free] / p[free].sum()  # where EM stops, what is absent beyond doubt has a little left
    J = np.zeros((int(free.sum()), int(free.sum())))
    parts = zip(matrices, sources, problems, likelihoods, strict=True)
    for Q, counts, problem, likelihood in parts:
        if Q is not None:
            kept = Q[free]
            kept = kept[:, kept.any(axis=0)]
            J += fisher.expected_information(kept, law, counts.nobs)
        else:
            expected = problem.information(p)
            information = likelihood.information(p) if expected is None else expected
            J += information[np.ix_(free, free)]
    listed = all(maker.n_outputs for maker in mechanisms)
    return inverse_information(J, free, fpe16, "expected" if listed else "observed")


def inverse_information(
    J: Array, free: Array, fpe16: bool, kind: str
) -> tuple[Covariance | None, str]:
    """Covariance of frequencies, (k,), by the information J of those that are free, and its kind.

    Those that are not free are known. None where fewer different reports than categories were seen.
    """
    try:
        V = fisher.fpe16(J) if fpe16 else observed_tangent_inverse(J)
    except NotIdentified:
        return None, "none (singular information)"
    if not free.all():
        whole = np.zeros((free.size, free.size))
        whole[np.ix_(free, free)] = V.matrix()
        V = Covariance.dense(whole)
    return V, "fpe16" if fpe16 else kind


# -- Confidence intervals of frequencies, from an estimate and what is known of its law -----------


METHODS = ("default", "exact", "wilson", "wald", "wald-mle", "profile", "bootstrap")
_FEW = 50  # reports: a count of that mean is about as skewed as a normal interval can bear


@dataclass(frozen=True, eq=False, kw_only=True)
class Laws(Fit):
    """Estimates, and what is known of the law of the linear one: intervals and p-values."""

    exact: ExactForm | None = None  # binomial counts of the categories that have one
    tally: Tallies | None = None  # variance and skewness of each frequency, as it varies
    law: ReportLaw | None = None  # of the reports, for contrasts
    linear_method: str = "inversion"

    @property
    def _counted(self) -> Array:
        """Categories, (k,), whose default interval and tests rest on a binomial count."""
        if self.exact is None or self.linear_method != "inversion":
            return np.zeros(self.linear.estimate.size, dtype=bool)
        return self.exact.known

    def _by_method(self, method: str, alpha: float, scheffe: bool = False) -> Array:
        """Intervals, (k, 2), from what results hold, not cut to [0, 1].

        By default exact where a category has a count of its own, else by the score, else Wald.
        """
        if method in ("exact", "wilson"):
            if self.exact is None or not self.exact.known.all():
                raise NotAvailable(
                    f"no {method} interval: categories do not each have a binomial count of their "
                    "own under this channel; use the default, or method='wald'"
                )
            compute = exact_binomial if method == "exact" else wilson
            return self.exact.apply(compute, alpha)
        linear, k = self.linear, self.linear.estimate.size
        linear.every_bse()
        which = self.fitted if method == "wald-mle" else linear
        if not which.has_errors:
            raise NotAvailable(f"no covariance of params was computed: {self.cov_type}")
        at, bounds = which.places, np.full((k, 2), np.nan)
        estimate, se = which.estimate[at], which.bse()[at]
        if scheffe:
            bounds[at] = intervals.scheffe(estimate, se, alpha, df=k - 1)
        else:
            bounds[at] = intervals.wald(estimate, se, alpha)
        if method != "default":
            return bounds
        if self.tally is not None and self.tally.everywhere:
            score = intervals.inverted(estimate, self.tally.law, alpha)
            within = np.clip(np.column_stack([estimate, score]), 0.0, 1.0).T
            skewness = [self.tally.law(p)[1] for p in within]
            few = _FEW * np.square(skewness).max(axis=0) > 1.0  # else it hardly matters
            bounds[at] = np.where(few[:, None], score, bounds[at])
        elif self.tally is not None:
            bounds[at] = intervals.skewed(estimate, *self.tally.law(estimate), alpha)
        own = np.flatnonzero(self._counted)
        if self.exact is not None and own.size:
            bounds[own] = self.exact.take(own).apply(exact_binomial, alpha)
        return bounds

    def _sequence(self, alpha: float) -> Array:
        """Intervals, (k, 2), that hold at all looks: of binomial counts, else of bounded scores."""
        estimate, exact, law = self.linear.estimate, self.exact, self.law
        bounds = np.full((estimate.size, 2), np.nan)
        counted = np.zeros(estimate.size, dtype=bool) if exact is None else exact.known
        if exact is not None and counted.any():
            bounds[counted] = exact.apply(confidence_sequence, alpha)
        if counted.all():
            return bounds
        if law is None or len(law.parts) != 1 or law.parts[0].weights.ndim != 2:
            raise NotAvailable(
                "anytime=True needs what each report counts for, known beforehand: not of hashed "
                "candidates, nor of several mechanisms or cohorts together: take the reports of "
                "one mechanism alone, without cohorts"
            )
        scores = law.parts[0].weights[~counted]
        scale = 1.0 / np.ptp(scores, axis=1)
        offset = -scores.min(axis=1) * scale
        tally = self.nobs * np.clip(offset + scale * estimate[~counted], 0.0, 1.0)
        bounds[~counted] = confidence_sequence(tally, self.nobs, offset, scale, alpha)
        return bounds

    def _cut(self, bounds: Array, method: str, which: Uncertain, alpha: float) -> Array:
        """Intersect intervals with [0, 1]; what lies outside gets a limit of its own."""
        k = len(bounds)
        at = np.zeros(k, dtype=bool)
        at[which.places] = True
        own = {"default": self._counted, "exact": at, "wilson": at}.get(method, np.zeros_like(at))
        if self.exact is not None and own.any():
            form = self.exact.take(np.flatnonzero(own))
            counts = form.tally, form.nobs, form.offset, form.scale
            bounds[own] = edge_binomial(bounds[own], *counts, alpha)
        se = which.bse()
        if method == "default" and self.tally is not None:
            inside = np.clip(which.estimate[which.places], 0.0, 1.0)
            se[which.places] = self.tally.law(inside)[0]
        at &= ~own
        bounds[at] = edge_normal(bounds[at], which.estimate[at], se[at], alpha)
        return bounds

    def _zero_pvalues(self, alternative: str) -> Array:
        """p-values, (k,), of p = 0 against "larger" or "two-sided"; 1 for what was not selected.

        By the normal law, with the variance and the skewness at p = 0 where they are known; exact
        where a category has a binomial count of its own. Two-sided ones are twice the smaller tail.
        """
        linear, tails = self.linear, []
        linear.every_bse()
        at, own = linear.places, np.flatnonzero(self._counted)
        estimate, se = linear.estimate[at], linear.bse()[at]
        if self.tally is not None:
            se, skewness = self.tally.absent(estimate.size)
            z = tests_.z_test(estimate, se)[0]
            step = continuity(skewness) if self.tally.everywhere else 0.0
        for side, sign in (("larger", 1.0), ("smaller", -1.0)):
            p = np.ones(linear.estimate.size)
            if self.tally is None:
                p[at] = tests_.z_test(estimate, se, 0.0, side)[1]
            else:
                p[at] = skewed_pvalue(sign * z - step, sign * skewness)
            if self.exact is not None and own.size:
                count = tests_.binomial_excess if sign > 0.0 else tests_.binomial_deficit
                p[own] = self.exact.take(own).apply(count)
            tails.append(p)
            if side == alternative:
                return p
        return np.minimum(2.0 * np.minimum(*tails), 1.0)


# -- The unconstrained estimate from the likelihood of bits, and its law --------------------------


_LEAST = 1e-6  # reports, over all categories, where the reference has none


@record
class OneStep(Moments):
    """One Newton step of the exact likelihood from a reference point, without the bounds of p.

    ``p0 + V s(p0)`` with s the score of all reports and V the inverse of their expected information
    J at p0 on the tangent space of the simplex. Because ``E[s(p0)] = J p`` for every p, it is
    unbiased whatever p0 is, and at p0 = p no regular estimate has a smaller variance. For k-RR it
    is the inversion; for bits it knows, as the inversion bit by bit does not, that a respondent
    has one category. It leaves [0, 1], and so stays calibrated where a frequency is zero.

    Parameters
    ----------
    channels : tuple of Channel
        Of the sources.
    reports : tuple of int
        Reports of each.
    likelihood : Likelihood
        Of all reports.
    reference : array, shape (k,)
        p0, on the simplex.

    Raises
    ------
    NotIdentified
        Where the reports do not determine p.
    NotAvailable
        Where a channel's expected information cannot be computed.
    """

    channels: tuple[Channel, ...]
    reports: tuple[int, ...]
    likelihood: Likelihood
    reference: Array
    kind: str = "scores"
    linear_method: ClassVar[str] = "one step"

    @property
    def k(self) -> int:
        return self.reference.size

    @property
    def nobs(self) -> int:  # type: ignore[override]
        return sum(self.reports)

    def at(self, p: Array) -> OneStep:
        """This step from another reference point."""
        return replace(self, reference=np.asarray(p, dtype=np.float64))

    @cached_property
    def start(self) -> Array:
        """p0, with next to nothing where it is zero: no possible report may be impossible."""
        p = np.maximum(self.reference, _LEAST / (self.nobs * self.k))
        return np.asarray(p / p.sum())

    @cached_property
    def _covariance(self) -> Covariance:
        parts = zip(self.channels, self.reports, strict=True)
        J = sum(n * channel.information(self.start) for channel, n in parts)
        return observed_tangent_inverse(np.asarray(J))

    def estimate(self) -> tuple[Array, str]:
        step = self._covariance.core @ self.likelihood.score(self.start)
        return self.start + step, "one Newton step of the likelihood"

    def covariance(self, p: Array | None = None) -> Covariance:
        return self._covariance if p is None else self.at(p)._covariance

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        step, found = self.at(p), []
        for n, channel in zip(self.reports, self.channels, strict=True):
            if self.k * channel.shape[1] > LARGEST_LIST:
                return None
            Q, m = channel.emitted(step.start)
            found.append((n, (step._covariance.core @ (Q / m)).T, m))
        return found

    def law(self) -> PathLaw:
        """How each estimate varies if its frequency is another than in the reference."""
        p, pairs = self.start, zip(self.channels, self.reports, strict=True)
        moments = [ch.score_moments(p, n * self._covariance.core) for ch, n in pairs]
        return PathLaw.around(p, self.reports, moments)

    def tally(self, linear: Uncertain, p: Array | None = None) -> PathLaw:
        return self.law()


def rests_on_scores(mechanisms: Sequence[Mechanism], problems: Sequence[Moments]) -> bool:
    """Whether inference from whole reports is by one step of their likelihood.

    It is for reports of bits or of blocks without cohorts. A label for each category needs no step.
    """
    if any(map(attrgetter("n_cohorts"), mechanisms)) or problems[0].k > LARGEST_INFORMATION:
        return False
    bits = any(map(attrgetter("n_bits"), mechanisms))
    return bits or any(map(attrgetter("has_blocks"), problems))


def effective_counts(problems: Sequence[OneStep], p: Array) -> Array:
    """Mean of the Poisson count that is as skewed as the sum, or difference, of two estimates.

    Of one problem as its estimate; of more than two as the most skewed of all pairs.
    """
    laws = [(problem.nobs, *problem.law().law(p)[:2]) for problem in problems]
    cumulants = [(n, se**2, np.abs(skewness) * se**3) for n, se, skewness in laws]
    return fewest(cumulants, lambda v, third: np.where(third > 0.0, v**3 / third**2, np.inf))


def fewest(laws: Sequence[tuple[Any, ...]], count: Callable[..., Array]) -> Array:
    """The least `count`, at most that of reports, of all pairs of laws, or of one.

    Laws are reports and cumulants of independent estimates.
    """
    counts = []
    for pair in combinations(laws, 2) if len(laws) > 1 else [tuple(laws)]:
        nobs, *cumulants = (sum(parts) for parts in zip(*pair, strict=True))
        if nobs:
            with np.errstate(divide="ignore", invalid="ignore"):
                counts.append(np.minimum(count(*cumulants), nobs))
    return np.asarray(np.min(counts, axis=0))


def stacked(parts: list[Likelihood]) -> Likelihood:
    """The likelihood of independent sources together."""
    if len(parts) == 1:
        return parts[0]
    W = StackedRows(tuple(part.W for part in parts))
    return Likelihood(W, np.concatenate([part.n for part in parts]))


# -- The records that results of one variable hold beside the fit itself --------------------------


@record
class Specifications(Sequence[dict[str, Any]]):
    """The specifications of mechanisms, written when they are asked for: Q may be large."""

    mechanisms: tuple[Mechanism, ...]

    @cached_property
    def _written(self) -> tuple[dict[str, Any], ...]:
        return tuple(mechanism.to_dict() for mechanism in self.mechanisms)

    def __getitem__(self, index: Any) -> Any:
        return self._written[index]

    def __len__(self) -> int:
        return len(self.mechanisms)
