"""From cells of a complex sample to weighted frequencies, and to the table of several variables.

A domain has the totals of its cells, which are products of decoded reports, and of its persons: of
one variable k categories and one; of two a b cells, a rows, b columns and one; and so on, see
`places_of`. Waves are domains of the same persons: the scores of a cell are its row in each.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations, product, repeat
from math import prod
from typing import Any

import numpy as np

from ldpstats.arguments import Array, one_of, record
from ldpstats.errors import InvalidArgument, LDPWarning, MisfitWarning, NotAvailable
from ldpstats.estimators import ESTIMATORS
from ldpstats.inference.designs.linearisation import (
    Ratios,
    Sample,
    Scores,
    Totals,
    checked,
    collision_covariance,
    degrees_of_freedom,
    estimated_totals,
    in_one_unit,
)
from ldpstats.inference.designs.tests import (
    Counted,
    RaoScott,
    at_observed,
    departures,
    homogeneity,
    independence,
    maxima,
    metric,
)
from ldpstats.inference.tables.independence import (
    conditional_departures,
    independent_given,
    interaction,
)
from ldpstats.labels import Codes, Labels
from ldpstats.likelihood.covariance import Uncertain, project_simplex
from ldpstats.likelihood.joint import (
    CohortDecoding,
    Decoding,
    decode,
    places_of,
    places_within,
    report_covariance,
    table_noise,
    table_rows,
)
from ldpstats.mechanisms.base import joint_epsilon, protect_some
from ldpstats.models.frequency.tests import warn_of_caution
from ldpstats.models.layout import CONSTRAINED, SANDWICH
from ldpstats.models.results import Label, several_worded
from ldpstats.models.weighted.base import Dependence, Domains, Part, SampleFacts, cell_shares
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.models.weighted.tables import WeightedTable
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

Decoded = list[tuple[Decoding, Codes]]  # of each variable, and the row of `phi` of each cell

_METHODS = ("inversion", "mle")
_MOST_TOTALS = 5000  # whose covariance matrix takes 200 MB
_MOST_CELLS = 2000  # of a table, whose covariance matrix takes 32 MB
_MOST_NUMBERS = 50_000_000  # of decoded pairs, 400 MB
_CERTAIN = 3.09  # standard errors beyond which other answers are held: a p-value of .001


@record
class WeightedVariable:
    """A privatised variable of the cells."""

    name: str
    reports: Reports  # of the cells that have one
    at: Codes  # (c,) the report of each cell; -1 where its respondents gave none
    candidates: Any = None  # for mechanisms with an open alphabet
    incomplete: bool = False  # other answers are known; variances allow for such in any case

    @cached_property
    def labels(self) -> Labels:
        """Labels of the categories or candidates."""
        labels: Labels = self.reports.mechanism.labels(self.candidates)
        return labels

    def decoded(self, weights: Array, cells: Codes) -> tuple[Decoding, Codes]:
        """The reports of some cells, by the weights of all, (c,), and the row of each in `phi`."""
        seen, at = np.unique(self.at[cells], return_inverse=True)
        one = decode(self.reports[seen], np.bincount(at, weights[cells]), self.candidates)
        return one, one.place[at]


@record
class WeightedModel:
    """One privatised variable, or several, in domains of a complex sample of c cells.

    With `waves` the variables are one question, which the same persons answered more than once.
    """

    sample: Sample
    facts: SampleFacts  # the sample in words and numbers
    variables: tuple[WeightedVariable, ...]
    domain: Codes  # (c,) -1 outside of all
    by: tuple[str, ...] = ()  # the columns that make the domains
    labels: tuple[Label, ...] = ((),)  # their values in each
    waves: bool = False  # each variable is a domain of its own

    # -- totals ------------------------------------------------------------------------------

    @cached_property
    def inside(self) -> Array:
        """Cells of a domain that have all reports, (c,)."""
        inside = self.domain >= 0
        for variable in self.variables:
            inside = inside & (variable.at >= 0)
        return np.asarray(inside)

    @cached_property
    def _parts(self) -> list[tuple[Codes, Decoded, Codes, Array]]:
        """Of each domain its cells, their decoded reports, and the row of the scores of each."""
        everyone, w, parts = np.flatnonzero(self.inside), self.sample.w, []
        whole = [(one, *one.decoded(w, everyone)) for one in self.variables]
        order = np.argsort(self.domain[everyone], kind="stable")
        sizes = np.bincount(self.domain[everyone], minlength=len(self.labels))
        groups = [(whole, at) for at in np.split(order, np.cumsum(sizes)[:-1])]
        if self.waves:
            groups = [([one], order) for one in whole]
        for variables, at in groups:
            cells = everyone[at]
            decoded = [  # of most mechanisms it is the same in all domains
                (one, place[at]) if one.is_fixed or sizes.size == 1 else v.decoded(w, cells)
                for v, one, place in variables
            ]
            (first, row), *others = decoded
            phis = [first.phi]
            for second, place in others:
                pairs, row = np.unique(row * len(second.phi) + place, return_inverse=True)
                i, j = np.divmod(pairs, len(second.phi))
                phis = [*(phi[i] for phi in phis), second.phi[j]]
                if len(pairs) * prod(phi.shape[1] + 1 for phi in phis) > _MOST_NUMBERS:
                    sizes_of = " x ".join(str(phi.shape[1]) for phi in phis)
                    what = "pairs" if len(phis) == 2 else "combinations"
                    raise NotAvailable(
                        f"{len(pairs)} different {what} of reports times {sizes_of} cells are too "
                        "many for a weighted table: pass candidates= with fewer categories"
                    )
            parts.append((cells, decoded, row, table_rows(phis)))
        return parts

    @cached_property
    def scores(self) -> Scores:
        """What each respondent adds to the totals of all domains."""
        from scipy.sparse import block_diag, csr_array

        before, tables = 0, []
        at = np.full((len(self._parts) if self.waves else 1, self.domain.size), -1, dtype=np.int64)
        for i, (cells, _, row, one) in enumerate(self._parts):
            at[i if self.waves else 0, cells] = before + row
            before += len(one)
            tables.append(one)
        table: Any = tables[0]
        if len(tables) > 1:
            table = csr_array(block_diag(tables, format="csr"))
        domain = np.where(self.inside, self.domain, -1)
        return Scores(tuple(zip(at, repeat(table))), domain, len(tables) // len(at))

    def noise(self, weights: Array) -> Array:
        """Randomisation covariance of the totals, where squared weights are `weights`, (c,)."""
        from scipy.linalg import block_diag

        blocks = []
        for cells, decoded, row, table in self._parts:
            covariance = np.zeros((table.shape[1], table.shape[1]))
            for laws in product(*[one.laws for one, _ in decoded]):
                v = weights[cells]
                for (one, place), (rows, _) in zip(decoded, laws, strict=True):
                    if not isinstance(rows, slice):
                        v = np.where(np.bincount(rows, minlength=len(one.phi))[place], v, 0.0)
                sums = np.bincount(row, v, len(table)) @ table
                covariance += table_noise(sums, [law for _, law in laws])
            blocks.append(covariance)
        return np.asarray(block_diag(*blocks))

    @cached_property
    def _collided(self) -> Array | float:
        """Covariance of the totals by chance collisions of hashes, with corrections or without.

        As if other answers were held in one domain each; then differences are rather covered.
        """
        if len(self._parts[0][1]) > 1 or self._parts[0][1][0][0].is_fixed:
            return 0.0
        m = len(self._parts) * self._parts[0][3].shape[1]
        covariance = np.zeros((m, m))
        for i, (cells, ((one, place),), *_) in enumerate(self._parts):
            if isinstance(one, CohortDecoding):
                own = slice(i * (one.k + 1), i * (one.k + 1) + one.k)
                at = np.full(self.domain.shape, -1, dtype=np.int64)
                at[cells] = place
                persons = float(self.sample.w[cells].sum())
                covariance[own, own] = persons**2 * collision_covariance(self.sample, at, one)
        return covariance

    # -- from totals to results --------------------------------------------------------------

    def _linear(self) -> tuple[dict[str, Any], Totals, float]:
        """The Hajek estimates, as results have them, the totals without corrections, and the
        degrees of freedom of these in all.
        """
        how, free = (self.scores, self.noise, self._collided), self.sample.without_corrections()
        totals = estimated_totals(self.sample, *how)
        again = totals if free is self.sample else estimated_totals(free, *how)
        g, q = len(self._parts), int(np.prod([one.k for one, _ in self._parts[0][1]]))
        shares, n = totals.of(cell_shares(q, len(totals.estimate) // g, g)), self.sample.n
        p, channel = shares.value.reshape(g, q), []
        for (_, decoded, *_), own in zip(self._parts, p, strict=True):
            channel.append(_channel(own, [one for one, _ in decoded]))
        mechanisms, nobs = [v.reports.mechanism for v in self.variables], int(n[self.inside].sum())
        domain, d = np.where(self.inside, self.domain, -1), self.scores.n_domains  # waves are one
        there, size, w, w2 = np.flatnonzero(self.inside), *np.empty((3, g))
        for found, of in ((size, n), (w, self.sample.w), (w2, self.sample.w2)):
            found[:] = np.tile(np.bincount(domain[there], of[there], d), g // d)
        varies = np.diagonal(shares.covariance).reshape(d, -1).max(axis=1) > 0.0
        sources = tuple(map(str, mechanisms[: len(self._parts[0][1])]))
        linear = Uncertain(shares.value, checked(shares.covariance))
        common = {
            "fitted": linear,
            "linear": linear,
            "method": "inversion",
            "settings": "",
            "cov_type": "linear",
            "nobs": nobs,
            "n_missing": int(n[(self.domain >= 0) & ~self.inside].sum()),
            "epsilon": joint_epsilon(mechanisms),
            "sources": sources,
            "is_partial": protect_some(mechanisms),
            "name": "" if len(sources) > 1 else self.variables[0].name,
            "source_nobs": (nobs,) * len(sources),
            "totals_law": totals,
            "sample": self.facts,
            "domains": Domains(
                by=self.by,
                labels=self.labels,
                sizes=np.rint(size).astype(np.int64),
                df=np.tile(degrees_of_freedom(self.sample, domain, d), g // d),
                df_free=np.tile(degrees_of_freedom(free, domain, d), g // d),
                channel=np.concatenate(channel),
                spread=size * w2 / w**2,
                alone=np.tile(in_one_unit(self.sample, domain, varies), g // d),
                n_ungrouped=self.facts.nobs - int(n[self.domain >= 0].sum()),
            ),
        }
        return common, again, float(degrees_of_freedom(free, np.where(self.inside, 0, -1))[0])

    def fit(self, method: str | None = None, constraints: Any = None) -> WeightedResults:
        """Estimate the frequencies of one variable in every domain.

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
        if self.waves and method == "mle":
            raise NotAvailable("method='mle' with weights: waves are compared by 'inversion'")
        model, variable = self, self.variables[0]
        there = np.bincount(self.domain[self.inside], minlength=len(self.labels)) > 0
        if not (self.waves or there.all()):  # without domains in which nobody reported
            none = [label for label, here in zip(self.labels, there, strict=True) if not here]
            empty = several_worded(none, self.by)
            warnings.warn(f"no report in the domain {empty}: it is not fitted", LDPWarning, 4)
            place = np.append(np.where(there, np.cumsum(there) - 1, -1), -1)
            kept = tuple(one for one, here in zip(self.labels, there, strict=True) if here)
            model = replace(self, domain=place[self.domain], labels=kept)
        k, g = len(variable.labels), len(model.labels)
        if g * (k + 1) > _MOST_TOTALS:
            raise NotAvailable(
                f"covariances of {k} categories in {g} domains at once were not computed: take "
                f"fewer, so that there are {_MOST_TOTALS} at most, or join categories"
            )
        common, superpopulation, nu = model._linear()
        equal, untested = model._equal(superpopulation, nu)
        if common["domains"].alone.any():  # whose zero residuals would pass for a sure estimate
            equal, untested = None, "one lies in one sampling unit, or in strata of one unit"
        results = WeightedResults(
            **common,
            categories=variable.labels,
            mechanism=variable.reports.mechanism,
            superpopulation=superpopulation,
            counted=Counted.by(model._parts[0][1][0][0]),
            equal=equal,
            untested=untested,
        )
        results.warn_of_unknown()
        if results.mechanism.is_open:
            share = results.unexplained()
            held = np.atleast_1d(share["estimate"] > _CERTAIN * share["se"])
            if method == "mle" and held.any():
                warnings.warn(
                    "method='mle' takes the candidates for all answers, but others are held: use "
                    "method='inversion', or list more candidates",
                    MisfitWarning,
                    stacklevel=3,
                )
            each = [one for _, ((one, _),), *_ in model._parts]
            cautions = [
                one.moments.caution(bool(others))
                for one, others in zip(each, held | variable.incomplete, strict=True)
                if isinstance(one, CohortDecoding)
            ]
            warn_of_caution(next(filter(None, cautions), ""), stacklevel=4)
        if method == "inversion":
            return results
        # the maximum of the weighted likelihood
        sample, own, listed = model.sample, variable.reports, variable.candidates
        likely, V = maxima(sample, own, variable.at, model.domain, listed, constraints)
        kind = SANDWICH if V is not None else "none (constrained)"
        if V is None and constraints is None:
            kind = "none (singular information)"
        solutions = [part.solution for part in likely]
        worst = max(solutions, key=lambda part: (not part.converged, part.gap))
        p = np.concatenate([part.p for part in solutions])
        return replace(
            results,
            fitted=Uncertain(p, None if V is None else checked(V)),
            method="mle",
            settings="" if constraints is None else CONSTRAINED,
            cov_type=kind,
            llf=sum(part.llf for part in likely),
            gap=worst.gap,
            n_iter=max(part.n_iter for part in solutions),
            converged=worst.converged,
            message=worst.message,
        )

    def fit_table(self) -> WeightedTable:
        """Estimate the table of variables: reports independent, candidates all answers."""
        sizes = [len(one.labels) for one in self.variables]
        n_totals = prod(k + 1 for k in sizes) if len(sizes) > 2 else 0
        if prod(sizes) > _MOST_CELLS or n_totals > _MOST_TOTALS:
            raise NotAvailable(
                f"the covariance of {' x '.join(map(str, sizes))} cells was not computed: pass "
                "candidates= with fewer categories, and other=True, so that there are "
                f"{_MOST_CELLS} cells at most" + ", or take fewer questions" * (len(sizes) > 2)
            )
        reports = [one.reports[one.at[self.inside]] for one in self.variables]
        if JointCounts(reports, np.ones(len(reports[0]), dtype=np.int64)).shared_cohorts:
            raise NotAvailable(
                "a weighted table of variables that share cohorts: give each question cohorts of "
                "its own, or leave the design out"
            )
        common, superpopulation, nu = self._linear()
        totals, decoded = common["totals_law"], [one for one, _ in self._parts[0][1]]
        persons, places = np.eye(len(totals.estimate))[-1:], places_of(sizes)
        for v, (variable, one) in enumerate(zip(self.variables, decoded, strict=True)):
            if one.is_open:
                rest = persons.copy()
                rest[0, np.moveaxis(places, v, -1)[(-1,) * (len(sizes) - 1)][:-1]] = -1.0
                others = totals.of(Ratios(rest, persons))
                share = float(others.value[0])
                if share > _CERTAIN * float(np.sqrt(others.covariance[0, 0])):
                    raise NotAvailable(
                        f"{share:.2g} of the answers to {variable.name!r} are not among its "
                        "candidates: chance collisions with them have no variance in a weighted "
                        "table; list more answers, or use frequencies()"
                    )
        domain, n = self.domain >= 0, self.sample.n
        names = tuple(one.name for one in self.variables)
        every, parts = range(len(names)), []
        for keep in chain.from_iterable(combinations(every, size) for size in every[2:]):
            own = superpopulation.some(places_within(sizes, keep))
            laws = [decoded[v] for v in keep]
            made_by = [self.variables[v].reports.mechanism for v in keep]
            q = prod(one.k for one in laws)
            parts.append(
                Part(
                    tuple(names[v] for v in keep),
                    self._dependence(keep, own, nu),
                    joint_epsilon(made_by),
                    protect_some(made_by),
                    _channel(own.estimate[:q] / own.estimate[-1], laws),
                )
            )
        results = WeightedTable(
            **common,
            labels=tuple(one.labels for one in self.variables),
            listed=tuple(v for v, one in zip(names, decoded, strict=True) if one.is_open),
            names=names,
            lacking=tuple(int(n[domain & (one.at < 0)].sum()) for one in self.variables),
            unprotected=tuple(v.name for v in self.variables if v.reports.mechanism.unprotected),
            dependence=self._dependence(every, superpopulation, nu),
            counted=tuple(map(Counted.by, decoded)),
            parts=tuple(parts) or None,
        )
        results.warn_of_unknown()
        return results

    # -- tests -------------------------------------------------------------------------------

    def _equal(self, totals: Totals, nu: float) -> tuple[RaoScott | None, str]:
        """Departures from one distribution in all domains, or why there are none."""
        g, one = len(self.labels), self.variables[0]
        if g < 2:
            return None, "there is one domain only"
        decoding = self._parts[0][1][0][0]
        if not decoding.is_fixed:  # decode around the estimate of all, as the hypothesis has it
            decoding, _ = one.decoded(self.sample.w, np.flatnonzero(self.inside))
        sums = totals.estimate.reshape(g, -1).sum(axis=0)
        S = report_covariance(sums[:-1] / sums[-1], [decoding])[1]
        n = float(self.sample.n[self.inside].sum())
        try:
            return homogeneity(totals, g, S, not decoding.is_open, n, nu), ""
        except NotAvailable as error:
            return None, str(error)

    def _dependence(self, keep: Sequence[int], totals: Totals, nu: float) -> Dependence:
        """How some of the variables, whose totals these are, depend on each other; or why not."""
        variables = [self.variables[v] for v in keep]
        decodings = [self._parts[0][1][v][0] for v in keep]
        sizes = [one.k for one in decodings]
        T = totals.estimate[places_of(sizes)] / totals.estimate[-1]
        n, channels = float(self.sample.n[self.inside].sum()), []
        for one in variables:  # of labels, as many as categories
            made_by = one.reports.mechanism
            one_law = not made_by.n_bits and one.reports.cohort is None
            if one_law and made_by.n_outputs == len(one.labels):
                channels.append(np.asarray(made_by.channel(one.candidates).matrix()))
        null: RaoScott | None = None
        observed: RaoScott | None = None
        why = "reports are not labels, as many as categories"
        if len(sizes) > 2:
            why = "it is for two variables"
        try:
            metrics = []
            for v, decoding in enumerate(decodings):
                margin = np.moveaxis(T, v, -1)[(-1,) * (len(sizes) - 1)][:-1]
                S = report_covariance(margin, [decoding])[1]
                metrics.append(metric(S, not decoding.is_open))
            null = independence(totals, sizes, metrics, n, nu)
            if len(sizes) == len(channels) == 2:
                observed = at_observed(null, totals, (channels[0], channels[1]), n)
        except NotAvailable as error:
            why = str(error)
        dependence = Dependence(null, observed, why)
        p = T[(slice(-1),) * T.ndim]
        if p.ndim == 3:
            law = project_simplex(p.reshape(-1)).reshape(p.shape)
            tested = [(*conditional_departures(p, v), independent_given(law, v)) for v in range(3)]
            if p.min() > 0.0:
                tested.append((*interaction(p), law))
            each: list[RaoScott | None] = []
            for g, G, null_law in tested:
                try:
                    V = report_covariance(null_law, decodings)[1]
                    each.append(departures(totals, g, G, V, n, nu))
                except NotAvailable:
                    each.append(None)
            dependence = replace(dependence, given=tuple(each[:3]), alike=(*each, None)[3])
        return dependence


def _channel(p: Array, decodings: Sequence[Decoding]) -> Array:
    """Variance of the estimate of one report of each cell, over that of the truth, (cells,)."""
    noise = report_covariance(p.reshape([one.k for one in decodings]), decodings)[0]
    simple = np.where((p > 0.0) & (p < 1.0), p * (1.0 - p), np.nan)
    return 1.0 + np.diagonal(noise) / simple
