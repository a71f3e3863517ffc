"""From cells of a complex sample to a weighted table of two variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.inference.designs.departures import at_observed, independence
from ldpstats.inference.designs.estimation import degrees_of_freedom
from ldpstats.inference.designs.intervals import Counted
from ldpstats.inference.designs.rao_scott import RaoScott, metric
from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.totals import Ratios, Totals
from ldpstats.models.weighted.dependence import Dependence
from ldpstats.models.weighted.linear import channel_factor, domains_of, linear_fit, linear_totals
from ldpstats.models.weighted.record import SampleFacts
from ldpstats.models.weighted.table_results import WeightedTable
from ldpstats.models.weighted.table_shares import cell_shares
from ldpstats.models.weighted.unlisted import refuse_unlisted
from ldpstats.problems.decoding import Decoding, decode
from ldpstats.problems.pairs import pair_noise, pair_table, report_covariance
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

__all__ = ["CrossedVariable", "WeightedCrossing"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_MOST_CELLS = 2000  # whose covariance matrix takes 32 MB
_MOST_NUMBERS = 50_000_000  # of decoded pairs, 400 MB


@dataclass(frozen=True, eq=False)
class CrossedVariable:
    """One of the two variables.

    Parameters
    ----------
    name : str
    reports : Reports
        Those of the cells that have one.
    at : array of int64, shape (c,)
        The report of each cell; -1 where its respondents gave none.
    candidates : sequence of str, optional
        For mechanisms with an open alphabet.
    """

    name: str
    reports: Reports
    at: Codes
    candidates: Any = None

    @cached_property
    def labels(self) -> pd.Index[Any]:
        """Labels of the categories or candidates."""
        found: pd.Index[Any] = self.reports.mechanism.labels(self.candidates)
        return found

    def decoded(self, weights: Array) -> tuple[Decoding, Codes]:
        """The reports of cells of these weights, (c,), and the place of each cell's among them."""
        there = self.at >= 0
        own = np.bincount(self.at[there], weights[there], len(self.reports))
        found = decode(self.reports, own, self.candidates)
        return found, np.append(found.place, -1)[self.at]

    @property
    def channel(self) -> Array | None:
        """The channel where reports are labels, as many as categories; else None."""
        mechanism = self.reports.mechanism
        one_law = not mechanism.n_bits and self.reports.cohort is None
        if not one_law or mechanism.n_outputs != len(self.labels):
            return None
        return np.asarray(mechanism.channel(self.candidates).matrix())


@dataclass(frozen=True, eq=False)
class WeightedCrossing:
    """Two variables of a complex sample of c cells.

    Parameters
    ----------
    sample : Sample
    facts : SampleFacts
        The sample in words and numbers.
    variables : tuple of two CrossedVariable
    inside : array of bool, shape (c,)
        Cells that are in the domain; others have no reports to offer but are of the sample.
    """

    sample: Sample
    facts: SampleFacts
    variables: tuple[CrossedVariable, CrossedVariable]
    inside: npt.NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """Categories of both variables."""
        first, second = self.variables
        return len(first.labels), len(second.labels)

    @cached_property
    def there(self) -> npt.NDArray[np.bool_]:
        """Cells of the domain that have both reports."""
        first, second = self.variables
        return np.asarray(self.inside & (first.at >= 0) & (second.at >= 0))

    @property
    def nobs(self) -> int:
        """Respondents of the domain with both reports."""
        return int(self.sample.n[self.there].sum())

    def fit(self) -> WeightedTable:
        """Estimate the table.

        Raises
        ------
        NotAvailable
            For tables that are too large, variables that share cohorts, and lists of candidates
            to which answers are missing.
        """
        a, b = self.shape
        if a * b > _MOST_CELLS:
            raise NotAvailable(
                f"the covariance of {a} x {b} cells was not computed: pass candidates= with fewer "
                f"categories, and other=True, so that there are {_MOST_CELLS} cells at most"
            )
        self._refuse_shared_cohorts()
        totals, free = self.totals(self.sample), self.sample.without_corrections()
        again = totals if free is self.sample else self.totals(free)
        self._refuse_unlisted(totals)
        shares, n = totals.of(cell_shares(a, b)), self.sample.n
        missing = int(n[self.inside & ~self.there].sum())
        inside = np.where(self.there, 0, -1)
        mechanisms = [one.reports.mechanism for one in self.variables]
        found = WeightedTable(
            fit=linear_fit(shares, mechanisms, self.nobs, missing),
            totals_law=totals,
            sample=self.facts,
            domains=domains_of(self.sample, inside, shares, self._channel(shares.value)),
            labels=tuple(one.labels for one in self.variables),
            listed=tuple(
                one.name
                for one, (decoding, _) in zip(self.variables, self._decoded, strict=True)
                if decoding.is_open
            ),
            names=tuple(one.name for one in self.variables),
            lacking=self._lacking(),
            unprotected=tuple(v.name for v in self.variables if v.reports.mechanism.unprotected),
            dependence=self.dependence(again),
            counted=tuple(Counted.by(own) for own, _ in self._decoded),
        )
        found.warn_of_unknown()
        return found

    def _refuse_shared_cohorts(self) -> None:
        """Refuse variables whose reports are not independent given the true answers."""
        parts = [one.reports[one.at[self.there]] for one in self.variables]
        if JointCounts(parts, np.ones(len(parts[0]), dtype=np.int64)).shared_cohorts:
            raise NotAvailable(
                "a weighted table of variables that share cohorts: give each question cohorts of "
                "its own, or leave the design out"
            )

    def _refuse_unlisted(self, totals: Totals) -> None:
        """Refuse lists of candidates to which answers are certain to be missing."""
        (a, b), m = self.shape, len(totals.estimate)
        places = slice(a * b, a * b + a), slice(a * b + a, m - 1)
        for one, (decoding, _), own in zip(self.variables, self._decoded, places, strict=True):
            if decoding.is_open:
                rest = np.eye(m)[-1:]
                rest[0, own] = -1.0
                refuse_unlisted(one.name, totals.of(Ratios(rest, np.eye(m)[-1:])))

    # -- totals ------------------------------------------------------------------------------

    @cached_property
    def _decoded(self) -> list[tuple[Decoding, Codes]]:
        weights = np.where(self.there, self.sample.w, 0.0)
        return [one.decoded(weights) for one in self.variables]

    @cached_property
    def scores(self) -> Scores:
        """What each respondent adds to the totals of `pair_table`."""
        (first, left), (second, right) = self._decoded
        code = left[self.there] * len(second.phi) + right[self.there]
        pairs, place = np.unique(code, return_inverse=True)
        if len(pairs) * (first.k + 1) * (second.k + 1) > _MOST_NUMBERS:
            raise NotAvailable(
                f"{len(pairs)} different pairs of reports times {first.k} x {second.k} cells are "
                "too many for a weighted table: pass candidates= with fewer categories"
            )
        at = np.full(self.there.shape, -1, dtype=np.int64)
        at[self.there] = place
        i, j = np.divmod(pairs, len(second.phi))
        table = pair_table(first.phi[i], second.phi[j])
        return Scores(((at, table),), np.where(self.there, 0, -1))

    def noise(self, weights: Array) -> Array:
        """Randomisation covariance of the totals, where squared weights are `weights`, (c,)."""
        (first, left), (second, right) = self._decoded
        at = []  # the law of the randomisation of each cell
        for one, place in ((first, left), (second, right)):
            number = np.zeros(len(one.phi), dtype=np.int64)
            for i, (rows, _) in enumerate(one.laws):
                number[rows] = i
            at.append(number[place])
        found: Any = 0.0
        for i, (_, own) in enumerate(first.laws):
            for j, (_, other) in enumerate(second.laws):
                both = self.there & (at[0] == i) & (at[1] == j)
                if both.any():
                    totals = self.scores.total(np.where(both, weights, 0.0))
                    found = found + pair_noise(totals, own, other)
        return np.asarray(found)

    def totals(self, sample: Sample) -> Totals:
        """The totals in a sample of the same cells."""
        return linear_totals(sample, self.scores, self.noise)

    # -- records -----------------------------------------------------------------------------

    def dependence(self, totals: Totals) -> Dependence:
        """Pearson's statistic of independence, or why there is none."""
        (a, b), T = self.shape, totals.estimate
        margins = T[a * b : a * b + a] / T[-1], T[a * b + a : -1] / T[-1]
        n = float(self.nobs)
        nu = degrees_of_freedom(self.sample.without_corrections(), self.there)
        channels = [one.channel for one in self.variables]
        observed: RaoScott | None = None
        try:
            first, second = (
                metric(report_covariance(decoding, p), not decoding.is_open)
                for (decoding, _), p in zip(self._decoded, margins, strict=True)
            )
            found = independence(totals, self.shape, (first, second), n, nu)
        except NotAvailable as error:
            return Dependence(None, None, str(error))
        if channels[0] is not None and channels[1] is not None:
            try:
                observed = at_observed(found, totals, (channels[0], channels[1]), n)
            except NotAvailable as error:
                return Dependence(found, None, str(error))
        return Dependence(found, observed, "reports are not labels, as many as categories")

    def _lacking(self) -> tuple[int, ...]:
        n = self.sample.n
        return tuple(int(n[self.inside & (one.at < 0)].sum()) for one in self.variables)

    def _channel(self, p: Array) -> Array:
        """The factor of both channels at cells p, (ab,)."""
        (first, _), (second, _) = self._decoded
        P = p.reshape(self.shape)
        totals = np.concatenate([p, P.sum(axis=1), P.sum(axis=0), [1.0]])
        return channel_factor(p, np.diagonal(pair_noise(totals, first, second))[: p.size])
