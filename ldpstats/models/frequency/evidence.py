"""What the reports of one variable say of its frequencies, in every form that a model needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.structured import Uniformised
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.estimators.mle import MLE
from ldpstats.models.frequency.covariance import information_covariance
from ldpstats.models.frequency.one_step import OneStep, rests_on_scores
from ldpstats.problems.covariance import Covariance, uniformised, uniformised_fpe16
from ldpstats.problems.moments import Moments
from ldpstats.problems.pooled import joined
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.combined import StackedRows
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["Evidence", "stacked"]

Array = npt.NDArray[Any]

LARGEST_PLUG_IN = 256  # categories up to which a likelihood is maximised for the sake of variances


@dataclass(frozen=True, eq=False)
class Evidence:
    """The counts of every mechanism, their equations and their likelihood.

    Parameters
    ----------
    sources : tuple of Counts or BitCounts
        One a mechanism, over the same categories.
    candidates : sequence of str, CandidateMap or None
        As for `FrequencyModel`.
    incomplete : bool
        Whether others than the candidates are known to be held.
    problems : tuple of Moments
        The linear equations of each source.
    """

    sources: tuple[Counts | BitCounts, ...]
    candidates: Any
    incomplete: bool
    problems: tuple[Moments, ...]

    @classmethod
    def of(
        cls, sources: tuple[Counts | BitCounts, ...], candidates: Any, incomplete: bool
    ) -> Evidence:
        """The evidence of counts over the same categories."""
        problems = tuple(c.mechanism.moments(c, candidates) for c in sources)
        return cls(sources, candidates, incomplete, problems)

    @cached_property
    def moments(self) -> Moments:
        """The linear equations that the counts satisfy on average."""
        return self.problems[0] if len(self.problems) == 1 else joined(self.problems)

    @cached_property
    def inference(self) -> Moments:
        """The equations that tests rest on: those that allow for others where there are any."""
        return self.moments.for_inference(self.incomplete)

    @property
    def has_patterns(self) -> bool:
        """Whether whole reports were counted, and not only the sums of their bits."""
        return all(counts.has_patterns for counts in self.sources)

    @cached_property
    def likelihoods(self) -> list[Likelihood]:
        """The exact likelihood of each source."""
        if not self.has_patterns:
            raise NotAvailable(
                "sums of bits do not determine the likelihood of the reports: use "
                "method='inversion', or keep the patterns with reports.tally()"
            )
        return [c.mechanism.likelihood(c, self.candidates) for c in self.sources]

    @cached_property
    def likelihood(self) -> Likelihood:
        """The exact likelihood of all reports."""
        return stacked(self.likelihoods)

    @cached_property
    def maximum(self) -> Solution:
        """Where the likelihood is largest."""
        return MLE().solve(self.likelihood)

    def covariance(self, p: Array, fpe16: bool) -> tuple[Covariance | None, str]:
        """Covariance of the maximum likelihood estimate p, and the kind of information behind it.

        In closed form for one mechanism that tells all categories apart alike, as k-RR does.
        """
        maker = self.sources[0].mechanism
        if len(self.sources) == 1 and not maker.n_cohorts:
            channel = maker.channel()
            if isinstance(channel, Uniformised):  # the inverse of its information is known
                form = uniformised_fpe16 if fpe16 else uniformised
                V = form(p, channel.a, channel.b, self.sources[0].nobs)
                return V, "fpe16" if fpe16 else "expected"
        given = self.sources, self.problems, self.likelihoods
        return information_covariance(*given, p, fpe16)

    def loglike(self, p: Array) -> float:
        """Log-likelihood of an estimate; nan where it is no distribution, or unknown."""
        if not (np.all(p >= 0.0) and abs(p.sum() - 1.0) < 1e-9 and self.has_patterns):
            return float("nan")
        return sum(part.prepared().loglike(p) for part in self.likelihoods)

    @cached_property
    def one_step(self) -> OneStep | None:
        """The unconstrained estimate from the likelihood of bits, or of blocks; None without them.

        Sums of bits do not tell the likelihood.
        """
        made_by = [counts.mechanism for counts in self.sources]
        if not (self.has_patterns and rests_on_scores(made_by, self.problems)):
            return None
        likelihood = stacked([part.prepared() for part in self.likelihoods])
        channels = tuple(mechanism.channel() for mechanism in made_by)
        reports = tuple(counts.nobs for counts in self.sources)
        one_step = OneStep(channels, reports, likelihood, self.moments.plug_in())
        try:
            one_step.covariance()
        except (NotAvailable, NotIdentified):  # inversion has the milder demands
            return None
        return one_step

    def tables(self) -> list[tuple[Array, Array]]:
        """Channel, (k, l), and counts, (l,), of each source; none where some are no tables."""
        makers = [counts.mechanism for counts in self.sources]
        if any(maker.n_bits or maker.n_cohorts for maker in makers):
            return []
        try:
            return [(c.mechanism.channel().matrix(), c.vector()) for c in self.sources]
        except NotAvailable:  # too large to list
            return []

    @cached_property
    def reference(self) -> Array | None:
        """Frequencies at which the law of the linear estimate is evaluated; None for its plug-in.

        An ill-conditioned channel takes the projected linear estimate far from the reports that
        were seen, and variances with it; the maximum of the likelihood stays with them.
        """
        labels = self.has_patterns and not any(c.mechanism.n_bits for c in self.sources)
        if labels and self.moments.is_dense and self.moments.k <= LARGEST_PLUG_IN:
            return self.maximum.p
        return None

    @property
    def plug_in(self) -> Array:
        """The same frequencies, shape (k,), whichever they are."""
        return self.moments.plug_in() if self.reference is None else self.reference


def stacked(parts: list[Likelihood]) -> Likelihood:
    """The likelihood of independent sources together."""
    if len(parts) == 1:
        return parts[0]
    W = StackedRows(tuple(part.W for part in parts))
    return Likelihood(W, np.concatenate([part.n for part in parts]))
