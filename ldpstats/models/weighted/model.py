"""From cells of a complex sample to weighted frequencies."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import one_of
from ldpstats.errors import (
    IncompleteListWarning,
    InvalidArgument,
    LDPWarning,
    MisfitWarning,
    NotAvailable,
)
from ldpstats.estimators import ESTIMATORS
from ldpstats.inference.designs.linearisation import (
    Estimated,
    Sample,
    Scores,
    Totals,
    checked,
    collision_covariance,
    degrees_in_domains,
)
from ldpstats.inference.designs.tests import Counted, RaoScott, homogeneity, maxima
from ldpstats.likelihood.joint import CohortDecoding, Decoding, decode, report_covariance
from ldpstats.likelihood.tallies import Uncertain
from ldpstats.models.layout import CONSTRAINED, SANDWICH
from ldpstats.models.results import Label, several_worded
from ldpstats.models.weighted.estimates import (
    SampleFacts,
    channel_factor,
    domain_shares,
    domains_of,
    linear_fit,
    linear_totals,
)
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.reports.single import Reports

__all__ = ["WeightedModel", "refuse_unlisted"]


Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_METHODS = ("inversion", "mle")
_MOST_TOTALS = 5000  # whose covariance matrix takes 200 MB


@dataclass(frozen=True, eq=False)
class WeightedModel:
    """One privatised variable in a complex sample of c cells."""

    sample: Sample
    facts: SampleFacts  # the sample in words and numbers
    reports: Reports  # of the cells that have one
    at: Codes  # (c,) the report of each cell; -1 where its respondents gave none
    domain: Codes  # (c,) -1 outside of all
    by: tuple[str, ...] = ()  # the columns that make the domains
    labels: tuple[Label, ...] = ((),)  # their values in each
    name: str = ""  # of the variable
    candidates: Any = None  # for mechanisms with an open alphabet
    incomplete: bool = False  # other answers are known; variances allow for such in any case

    @cached_property
    def categories(self) -> pd.Index[Any]:
        """Labels of the categories or candidates."""
        labels: pd.Index[Any] = self.reports.mechanism.labels(self.candidates)
        return labels

    def fit(self, method: str | None = None, constraints: Any = None) -> WeightedResults:
        """Estimate the frequencies in every domain.

        "inversion", the default, is the Hajek estimate of decoded reports; "mle" the maximum of the
        weighted likelihood over the simplex, the default with `constraints`.
        """
        if method is None:
            method = "inversion" if constraints is None else "mle"
        name = str.__str__(method) if isinstance(method, str) else ""
        if name in ESTIMATORS and name not in _METHODS:
            raise NotAvailable(
                f"method={name!r} with weights: use 'inversion', whose standard errors know the "
                "design, or 'mle', which stays within [0, 1]"
            )
        method = one_of("method", method, _METHODS)
        if constraints is not None and method != "mle":
            raise InvalidArgument("constraints", constraints, "goes with method='mle' only")
        model = self
        there = np.bincount(self.domain[self._inside], minlength=len(self.labels)) > 0
        if not there.all():  # without domains in which nobody reported
            none = [label for label, here in zip(self.labels, there, strict=True) if not here]
            empty = several_worded(none, self.by)
            warnings.warn(f"no report in the domain {empty}: it is not fitted", LDPWarning, 4)
            place = np.append(np.where(there, np.cumsum(there) - 1, -1), -1)
            kept = tuple(one for one, here in zip(self.labels, there, strict=True) if here)
            model = replace(self, domain=place[self.domain], labels=kept)
        k, g = len(self.categories), len(model.labels)
        if g * (k + 1) > _MOST_TOTALS:
            raise NotAvailable(
                f"covariances of {k} categories in {g} domains at once were not computed: take "
                f"fewer, so that there are {_MOST_TOTALS} at most, or join categories"
            )
        results = model._linear()
        results.warn_of_unknown()
        if results.mechanism.is_open:
            _warn_of_unlisted(results, model.decoded, method, self.incomplete)
        return results if method == "inversion" else model._likeliest(results, constraints)

    @cached_property
    def _inside(self) -> npt.NDArray[np.bool_]:
        """Cells with a report in a domain."""
        return np.asarray((self.at >= 0) & (self.domain >= 0))

    @cached_property
    def _members(self) -> list[Codes]:
        """The cells of each domain, in order, that have a report."""
        there = np.flatnonzero(self._inside)
        there = there[np.argsort(self.domain[there], kind="stable")]
        sizes = np.bincount(self.domain[there], minlength=len(self.labels))
        return np.split(there, np.cumsum(sizes)[:-1])

    @cached_property
    def _decoded(self) -> list[tuple[Decoding, Codes]]:
        """The decoding of each domain, and which of its reports each member has.

        That of most mechanisms is the same in all domains; else it is of the domain's own reports.
        """
        everyone = np.flatnonzero(self.at >= 0)
        first, _ = self._decode(everyone)
        if not first.is_fixed:
            return [self._decode(own) for own in self._members]
        seen = np.unique(self.at[everyone])
        return [(first, np.searchsorted(seen, self.at[own])) for own in self._members]

    def _decode(self, cells: Codes) -> tuple[Decoding, Codes]:
        """Decode the reports of some cells, and which of the reports each has."""
        seen, at = np.unique(self.at[cells], return_inverse=True)
        weights = np.bincount(at, self.sample.w[cells])
        return decode(self.reports[seen], weights, self.candidates), at

    @property
    def decoded(self) -> list[Decoding]:
        """The decoding of each domain."""
        return [one for one, _ in self._decoded]

    @cached_property
    def scores(self) -> Scores:
        """What each respondent adds to the totals of all domains: k categories, and one person."""
        from scipy.sparse import block_diag, csr_array

        tables = {
            one: np.column_stack([one.phi, np.ones(len(one.phi))])
            for one in dict.fromkeys(self.decoded)
        }
        at, before = np.full(self.at.shape, -1, dtype=np.int64), 0
        for cells, (one, reports) in zip(self._members, self._decoded, strict=True):
            at[cells] = before + one.place[reports]
            before += len(one.phi)
        table: Any = tables[self.decoded[0]]
        if len(self.labels) > 1:
            table = csr_array(block_diag([tables[one] for one in self.decoded], format="csr"))
        domain = np.where(self._inside, self.domain, -1)
        return Scores(((at, table),), domain, len(self.labels))

    def noise(self, weights: Array) -> Array:
        """Randomisation covariance of the totals, where squared weights are `weights`, (c,)."""
        k, g = len(self.categories), len(self.labels)
        covariance = np.zeros((g * (k + 1), g * (k + 1)))
        for i, (cells, (one, reports)) in enumerate(zip(self._members, self._decoded, strict=True)):
            own = slice(i * (k + 1), i * (k + 1) + k)
            seen = np.bincount(one.place[reports], weights[cells], len(one.phi))
            for rows, law in one.laws:
                covariance[own, own] += law.noise(
                    seen[rows] @ one.phi[rows], float(seen[rows].sum())
                )
        return covariance

    def totals(self, sample: Sample) -> Totals:
        """The totals of all domains in a sample of the same cells."""
        return linear_totals(sample, self.scores, self.noise, self._collided)

    @cached_property
    def _collided(self) -> Array:
        """Covariance of the totals by chance collisions of hashes, with corrections or without.

        As if other answers were held in one domain each; then differences are rather covered.
        """
        k, g = len(self.categories), len(self.labels)
        covariance = np.zeros((g * (k + 1), g * (k + 1)))
        parts = zip(self._members, self._decoded, strict=True)
        for i, (cells, (one, reports)) in enumerate(parts):
            if isinstance(one, CohortDecoding):
                own = slice(i * (k + 1), i * (k + 1) + k)
                persons = float(self.sample.w[cells].sum())
                at = np.full(self.at.shape, -1, dtype=np.int64)
                at[cells] = reports
                covariance[own, own] = persons**2 * collision_covariance(self.sample, at, one)
        return covariance

    def _linear(self) -> WeightedResults:
        """The Hajek estimates."""
        totals = self.totals(self.sample)
        free = self.sample.without_corrections()
        superpopulation = totals if free is self.sample else self.totals(free)
        equal, untested = self._equal(superpopulation)
        shares = totals.of(domain_shares(len(self.categories), len(self.labels)))
        p = shares.value.reshape(len(self.labels), -1)
        noise = [np.diagonal(d.noise(row, 1.0)) for d, row in zip(self.decoded, p, strict=True)]
        n = self.sample.n
        missing = int(n[(self.at < 0) & (self.domain >= 0)].sum())
        mechanism, nobs = self.reports.mechanism, int(n[self._inside].sum())
        return WeightedResults(
            **vars(linear_fit(shares, [mechanism], nobs, missing, self.name)),
            totals_law=totals,
            sample=self.facts,
            domains=domains_of(
                self.sample,
                np.where(self._inside, self.domain, -1),
                shares,
                channel_factor(shares.value, np.concatenate(noise)),
                (self.by, self.labels),
                self.facts.nobs - int(n[self.domain >= 0].sum()),
            ),
            categories=self.categories,
            mechanism=mechanism,
            superpopulation=superpopulation,
            counted=Counted.by(self.decoded[0]),
            equal=equal,
            untested=untested,
        )

    def _equal(self, totals: Totals) -> tuple[RaoScott | None, str]:
        """Departures from one distribution in all domains, or why there are none."""
        g, k, everyone = len(self.labels), len(self.categories), self._inside
        if g < 2:
            return None, "there is one domain only"
        decoding = self.decoded[0]
        if not decoding.is_fixed:  # decode around the estimate of all, as the hypothesis has it
            decoding, _ = self._decode(np.flatnonzero(everyone))
        sums = totals.estimate.reshape(g, k + 1).sum(axis=0)
        S = report_covariance(decoding, sums[:k] / sums[k])
        n = float(self.sample.n[everyone].sum())
        free = self.sample.without_corrections()
        nu = float(degrees_in_domains(free, np.where(everyone, 0, -1), 1)[0])
        try:
            return homogeneity(totals, g, S, not decoding.is_open, n, nu), ""
        except NotAvailable as error:
            return None, str(error)

    def _likeliest(self, results: WeightedResults, constraints: Any) -> WeightedResults:
        """The results with the maximum of the weighted likelihood as the estimate."""
        maximum = maxima(
            self.sample, self.reports, self.at, self.domain, self.candidates, constraints
        )
        solution, V = maximum.solution, maximum.covariance
        kind = SANDWICH if V is not None else "none (constrained)"
        if V is None and constraints is None:
            kind = "none (singular information)"
        return replace(
            results,
            fitted=Uncertain(maximum.p, None if V is None else checked(V)),
            method="mle",
            settings="" if constraints is None else CONSTRAINED,
            cov_type=kind,
            llf=maximum.llf,
            gap=solution.gap,
            n_iter=solution.n_iter,
            converged=solution.converged,
            message=solution.message,
        )


# -- Answers that are not among the candidates ----------------------------------------------------


_CERTAIN = 3.09  # standard errors beyond which other answers are held: a p-value of .001


def _warn_of_unlisted(
    results: WeightedResults, decoded: Sequence[Decoding], method: str, incomplete: bool
) -> None:
    """Warn where other answers are held that the estimate, or its errors, do not allow for."""
    share = results.unexplained()
    held = np.atleast_1d(share["estimate"] > _CERTAIN * share["se"])
    if method == "mle" and held.any():
        warnings.warn(
            "method='mle' takes the candidates for all answers, but others are held: use "
            "method='inversion', or list more candidates",
            MisfitWarning,
            stacklevel=4,
        )
    for one, others in zip(decoded, held | incomplete, strict=True):
        caution = one.moments.caution(bool(others)) if isinstance(one, CohortDecoding) else ""
        if caution:
            warnings.warn(
                f"the list of candidates is not complete, and {caution}: tests and intervals do "
                "not keep their level; collect reports in more cohorts or cells, or list more of "
                "the answers",
                IncompleteListWarning,
                stacklevel=4,
            )
            return


def refuse_unlisted(name: str, rest: Estimated) -> None:
    """Refuse the candidates of a variable, if others are certain to be held: the share `rest`."""
    share, se = float(rest.value[0]), float(np.sqrt(rest.covariance[0, 0]))
    if share > _CERTAIN * se:
        raise NotAvailable(
            f"{share:.2g} of the answers to {name!r} are not among its candidates: chance "
            "collisions with them have no variance in a weighted table; list more answers, or use "
            "frequencies()"
        )
