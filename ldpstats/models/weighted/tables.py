"""The weighted table of two variables of a complex sample.

The totals are those of a b cells, a rows, b columns, and the number of persons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import boolean, level, listed, one_of, positive_integer
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.boundary import edge_normal
from ldpstats.inference.designs.linearisation import (
    Ratios,
    Sample,
    Scores,
    Totals,
    checked,
    degrees_of_freedom,
)
from ldpstats.inference.designs.tests import (
    METHODS,
    Counted,
    RaoScott,
    at_observed,
    critical,
    independence,
    metric,
    normal_level,
    paired,
    ratio_bounds,
    t_bounds,
)
from ldpstats.inference.tables import effects
from ldpstats.inference.tables.ratio import Effect
from ldpstats.inference.tests import TestResult
from ldpstats.labels import position, two_positions
from ldpstats.likelihood.joint import Decoding, decode, pair_noise, pair_table, report_covariance
from ldpstats.models.association.estimates import z_values
from ldpstats.models.association.results import cell_stubs, names_in_turn
from ldpstats.models.layout import (
    SummaryTable,
    closing_notes,
    decimals,
    epsilon_text,
    estimate_cells,
    estimate_columns,
    estimator_text,
    header,
    largest,
    names_alpha,
    one_line,
    protection_notes,
    pvalue_words,
    rest_notes,
    second_shown,
    second_words,
)
from ldpstats.models.plots import title_text
from ldpstats.models.results import compared_index, compared_pairs, missing_notes
from ldpstats.models.weighted.estimates import (
    Dependence,
    DesignResults,
    Limits,
    SampleFacts,
    channel_factor,
    check_counted,
    check_estimates,
    check_shapes,
    differences_table,
    domains_of,
    linear_fit,
    linear_totals,
    pair_places,
)
from ldpstats.models.weighted.model import refuse_unlisted
from ldpstats.models.weighted.results import (
    EFFECT_COLUMNS,
    effect_cells,
    sample_notes,
    sample_pairs,
)
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["CrossedVariable", "WeightedCrossing", "WeightedTable"]


Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_MOST_CELLS = 2000  # whose covariance matrix takes 32 MB
_MOST_NUMBERS = 50_000_000  # of decoded pairs, 400 MB


@dataclass(frozen=True, eq=False)
class CrossedVariable:
    """One of the two variables."""

    name: str
    reports: Reports  # of the cells that have one
    at: Codes  # (c,) the report of each cell; -1 where its respondents gave none
    candidates: Any = None  # for mechanisms with an open alphabet

    @cached_property
    def labels(self) -> pd.Index[Any]:
        """Labels of the categories or candidates."""
        found: pd.Index[Any] = self.reports.mechanism.labels(self.candidates)
        return found

    def decoded(self, weights: Array) -> tuple[Decoding, Codes]:
        """The reports of cells of these weights, (c,), and the place of each cell's among them."""
        there = self.at >= 0
        own = np.bincount(self.at[there], weights[there], len(self.reports))
        decoding = decode(self.reports, own, self.candidates)
        return decoding, np.append(decoding.place, -1)[self.at]

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
    """Two variables of a complex sample of c cells."""

    sample: Sample
    facts: SampleFacts  # the sample in words and numbers
    variables: tuple[CrossedVariable, CrossedVariable]
    inside: npt.NDArray[np.bool_]  # (c,) in the domain; others have no reports to offer

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
        """Estimate the table, if reports are independent and candidates are all answers."""
        a, b = self.shape
        if a * b > _MOST_CELLS:
            raise NotAvailable(
                f"the covariance of {a} x {b} cells was not computed: pass candidates= with fewer "
                f"categories, and other=True, so that there are {_MOST_CELLS} cells at most"
            )
        parts = [one.reports[one.at[self.there]] for one in self.variables]
        if JointCounts(parts, np.ones(len(parts[0]), dtype=np.int64)).shared_cohorts:
            raise NotAvailable(
                "a weighted table of variables that share cohorts: give each question cohorts of "
                "its own, or leave the design out"
            )
        totals, free = self.totals(self.sample), self.sample.without_corrections()
        again = totals if free is self.sample else self.totals(free)
        first, second = (decoding for decoding, _ in self._decoded)
        m = len(totals.estimate)
        places = slice(a * b, a * b + a), slice(a * b + a, m - 1)
        for one, decoding, own in zip(self.variables, (first, second), places, strict=True):
            if decoding.is_open:
                rest = np.eye(m)[-1:]
                rest[0, own] = -1.0
                refuse_unlisted(one.name, totals.of(Ratios(rest, np.eye(m)[-1:])))
        shares, n = totals.of(_cell_shares(a, b)), self.sample.n
        p = shares.value
        P = p.reshape(a, b)
        at = np.concatenate([p, P.sum(axis=1), P.sum(axis=0), [1.0]])
        channel = channel_factor(p, np.diagonal(pair_noise(at, first, second))[: p.size])
        missing = int(n[self.inside & ~self.there].sum())
        inside = np.where(self.there, 0, -1)
        mechanisms = [one.reports.mechanism for one in self.variables]
        results = WeightedTable(
            **vars(linear_fit(shares, mechanisms, self.nobs, missing)),
            totals_law=totals,
            sample=self.facts,
            domains=domains_of(self.sample, inside, shares, channel),
            labels=tuple(one.labels for one in self.variables),
            listed=tuple(
                one.name
                for one, decoding in zip(self.variables, (first, second), strict=True)
                if decoding.is_open
            ),
            names=tuple(one.name for one in self.variables),
            lacking=tuple(int(n[self.inside & (one.at < 0)].sum()) for one in self.variables),
            unprotected=tuple(v.name for v in self.variables if v.reports.mechanism.unprotected),
            dependence=self.dependence(again),
            counted=(Counted.by(first), Counted.by(second)),
        )
        results.warn_of_unknown()
        return results

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
        covariance: Any = 0.0
        for i, (_, own) in enumerate(first.laws):
            for j, (_, other) in enumerate(second.laws):
                both = self.there & (at[0] == i) & (at[1] == j)
                if both.any():
                    totals = self.scores.total(np.where(both, weights, 0.0))
                    covariance = covariance + pair_noise(totals, own, other)
        return np.asarray(covariance)

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
            null = independence(totals, self.shape, (first, second), n, nu)
        except NotAvailable as error:
            return Dependence(None, None, str(error))
        if channels[0] is not None and channels[1] is not None:
            try:
                observed = at_observed(null, totals, (channels[0], channels[1]), n)
            except NotAvailable as error:
                return Dependence(null, None, str(error))
        return Dependence(null, observed, "reports are not labels, as many as categories")


def _cell_shares(a: int, b: int) -> Ratios:
    """Shares of the cells, of totals of a b cells, a rows, b columns and persons."""
    cells, *_, persons = _total_forms(a, b)
    return Ratios(cells, persons.repeat(len(cells), axis=0))


def _total_forms(a: int, b: int) -> tuple[Array, Array, Array, Array]:
    ends = [a * b, a * b + a, a * b + a + b]
    cells, rows, columns, persons = np.split(np.eye(ends[-1] + 1), ends)
    return cells, rows, columns, persons


# -- Its results ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WeightedTable(DesignResults):
    """Weighted joint distribution of two privatised variables in a complex sample.

    `params` are shares of the population that the weights stand for, of the respondents with both
    answers. Standard errors hold the design and the randomisation of every respondent together;
    intervals have quantiles of the t law with the degrees of freedom of the design. The estimate is
    unconstrained and may leave [0, 1].

    Attributes
    ----------
    table : DataFrame, shape (a, b)
        The estimated shares; the first variable in rows, no margins.
    params, bse : Series, indexed by cell
        The same in a row for each cell, and their standard errors.
    names : tuple of str
        Names of the variables.
    labels : tuple of Index
        Categories of each variable.
    nobs, n_missing : int
        Respondents with both answers, and those of the domain without.
    lacking : tuple of int
        How many of these lacked each variable.
    unprotected : tuple of str
        Names of the variables that are answered without privacy (`Observed`).
    listed : tuple of str
        Names of the variables over candidates, which are taken for all answers.
    epsilon : float
        Privacy of both reports of one respondent together, in nats; infinite if none is protected.
    df : Series
        Degrees of freedom: units less strata that hold respondents with both answers.
    sample : SampleFacts
        The design in words, its numbers of strata and units, the sum of the weights.

    Methods
    -------
    conf_int, cov_params, t_test, wald_test
        Score intervals, covariances between cells, tests of linear hypotheses.
    totals, margins, conditional, differences, ratio
        Numbers of persons, distributions of one variable, in all or given the other, and their
        differences and ratios, with intervals.
    odds_ratio, cramers_v, departures
        Sizes of the association.
    test_independence
        Rao-Scott and Wald tests.
    deff
        Design effects in two factors, and the effective sample size.
    summary_frame, summary, plot, to_frame, glance, to_json, from_json
        All of it as a table, in print, as a figure, as data.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(3)
    >>> table = pd.DataFrame({"ill": rng.choice(["no", "yes"], 400),
    ...                       "sex": rng.choice(["f", "m"], 400),
    ...                       "w": rng.uniform(1, 3, 400), "school": np.arange(400) // 20})
    >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, weights="w", clusters="school")
    >>> results = survey.association("ill", "sex")
    >>> results
    WeightedTable(inversion, ill x sex: 2 x 2, n=400)
    >>> results.test_independence().df
    (1.0, 19.0)
    """

    labels: tuple[pd.Index[Any], ...]
    names: tuple[str, ...]
    unprotected: tuple[str, ...]
    counted: tuple[Counted, ...]  # of each variable alone
    lacking: tuple[int, ...]
    dependence: Dependence
    listed: tuple[str, ...] = ()

    _format = "ldpstats-weighted-table"
    _version = 1
    _document = (
        *("fit", "totals", "sample", "domains", "nobs", "n_missing", "labels", "names"),
        *("lacking", "unprotected", "listed", "dependence", "counted"),
    )

    def __repr__(self) -> str:
        a, b = self._shape
        names = " x ".join(self.names)
        return f"WeightedTable({self.method}, {names}: {a} x {b}, n={self.nobs})"

    @cached_property
    def index(self) -> pd.Index[Any]:
        """One entry per cell, row-major."""
        return pd.MultiIndex.from_product(self.labels, names=self.names)

    @property
    def _shape(self) -> tuple[int, int]:
        first, second = self.labels
        return len(first), len(second)

    @property
    def _domain_of(self) -> npt.NDArray[np.int64]:
        return np.zeros(len(self.index), dtype=np.int64)

    @property
    def table(self) -> pd.DataFrame:
        """Estimated shares of the cells."""
        return self._grid(self.fitted.estimate)

    @property
    def bse_table(self) -> pd.DataFrame:
        """Standard errors of `table`."""
        return self._grid(self.fitted.every_bse())

    def _grid(self, values: Array) -> pd.DataFrame:
        rows, columns = (
            own.rename(name) for own, name in zip(self.labels, self.names, strict=True)
        )
        return pd.DataFrame(values.reshape(self._shape), index=rows, columns=columns)

    @property
    def _forms(self) -> tuple[Array, Array, Array, Array]:
        """Cells, rows, columns and persons as linear forms of the totals."""
        return _total_forms(*self._shape)

    @property
    def shares(self) -> Ratios:
        return _cell_shares(*self._shape)

    @property
    def _freedom(self) -> float:
        return float(self.domains.df[0])

    @property
    def _effective(self) -> float:
        """Respondents, less what weights cost."""
        return float((self.domains.sizes / self.domains.spread)[0])

    def _margin(self, axis: int) -> Array:
        """Shares of the categories of one variable, of its own reports."""
        T = self.totals_law.estimate
        return np.asarray(self._forms[1 + axis] @ T / T[-1])

    @cached_property
    def _counted(self) -> Counted:
        first, second = self.counted
        return first.crossed(second, self._margin(0), self._margin(1))

    # -- what is estimated -------------------------------------------------------------------

    @names_alpha
    def totals(self, alpha: float = 0.05) -> pd.DataFrame:
        """Estimated numbers of persons in the cells: "estimate", "se", "lower", "upper"."""
        return self._table(Ratios(self._forms[0]), self._freedom, level(alpha), self.index)

    @names_alpha
    def margins(self, alpha: float = 0.05) -> dict[str, pd.DataFrame]:
        """The distribution of each variable alone, among respondents with both answers.

        Returns
        -------
        dict of DataFrame, one row per category
            "estimate", "se", "lower", "upper", of the variable's own reports: the sums of `params`
            for labels, more precise than these for bits.
        """
        _, *own, persons = self._forms
        tables, alpha = {}, level(alpha)
        for name, forms, labels, counted in zip(
            self.names, own, self.labels, self.counted, strict=True
        ):
            functions = Ratios(forms, persons.repeat(len(forms), axis=0))
            table = self._table(functions, self._freedom, alpha, labels.rename(name))
            p, se = table["estimate"].to_numpy(), table["se"].to_numpy()
            if not self._unknown.any():
                t, n = (np.full(p.shape, value) for value in (self._t(alpha), self._effective))
                bounds = self._score(p, se, t, counted, n)
                table[["lower", "upper"]] = edge_normal(bounds, p, se, alpha)
            tables[name] = table
        return tables

    @names_alpha
    def conditional(
        self, on: str | None = None, alpha: float = 0.05, method: str = "default"
    ) -> pd.DataFrame:
        """Conditional distributions of the other variable given the categories of one.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "wald"}
            "default": given an `Observed` variable the score interval of the other's report, as
            `conf_int` has it in a domain; given a private one all shares that the limits of cell
            and condition do not rule out, as Fieller's set: all of [0, 1] where the condition does
            not differ from zero. "wald": estimate plus or minus t times the linearised standard
            error.

        Returns
        -------
        DataFrame, one row per cell
            "estimate", "se", "lower", "upper"; the variable in the condition comes first.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "no", "no", "yes"] * 20, "sex": ["f", "m"] * 40,
        ...                       "w": [1.0, 2.0] * 40})
        >>> survey = ldp.Survey(table, {"ill": ldp.Observed(["no", "yes"])}, weights="w")
        >>> survey.association("ill", "sex").conditional("sex")["estimate"].round(2).to_dict()
        {('f', 'no'): 1.0, ('f', 'yes'): 0.0, ('m', 'no'): 0.5, ('m', 'yes'): 0.5}
        """
        axis, alpha = self._axis(on), level(alpha)
        value, V, limits = self._conditionals(axis, method)
        se, ends = np.sqrt(np.diagonal(V)), np.full((value.size, 2), np.nan)
        at = np.flatnonzero(~np.isnan(se))
        bounds = limits(at, np.full(at.shape, self._t(alpha)))
        ends[at] = edge_normal(bounds, value[at], se[at], alpha)
        columns = {"estimate": value, "se": se, "lower": ends[:, 0], "upper": ends[:, 1]}
        order = [axis, 1 - axis]  # the variable in the condition first
        index = pd.MultiIndex.from_product(
            [self.labels[v] for v in order], names=[self.names[v] for v in order]
        )
        return pd.DataFrame(columns, index=index)

    def _t(self, alpha: float) -> float:
        return float(critical(np.array(self._freedom), alpha))

    def _conditionals(self, axis: int, method: str) -> tuple[Array, Array, Limits]:
        """Shares given a variable, their covariance, nan where unknown, and their limits."""
        default = one_of("method", method, ("default", "wald")) == "default"
        T, b = self.totals_law.estimate, self._shape[1 - axis]
        places = np.arange(len(self.index)).reshape(self._shape)
        cells = (places if axis == 0 else places.T).reshape(-1)  # the given variable first
        forms, margins, persons = self._forms[0], self._forms[1 + axis], self._forms[-1]
        rows, defined = Ratios(forms[cells], margins.repeat(b, axis=0)).defined(T)
        shares, there = self.totals_law.of(defined), np.flatnonzero(rows)
        value, V = np.full(len(rows), np.nan), np.full((len(rows), len(rows)), np.nan)
        value[there] = shares.value
        if not self._unknown.any():
            V[np.ix_(there, there)] = checked(shares.covariance).matrix()
        se = np.sqrt(np.diagonal(V))
        if not default:
            return value, V, lambda at, t: t_bounds(value[at], se[at], t)
        margin, counted = self._margin(axis), self.counted
        if self.names[axis] in self.unprotected:
            n = self._effective * margin

            def as_in_a_domain(at: Codes, t: Array) -> Array:
                return self._score(value[at], se[at], t, counted[1 - axis].some(at % b), n[at // b])

            return value, V, as_in_a_domain
        # given a private variable, from the limits of cells and of its categories
        both = np.vstack([forms, margins])
        law = self.totals_law.of(Ratios(both, persons.repeat(len(both), axis=0)))
        W = checked(law.covariance).matrix()
        spread = np.sqrt(np.diagonal(W))

        def as_ratios(at: Codes, t: Array) -> Array:
            cell, row = cells[at], at // b
            other, n = len(cells) + row, np.full(at.shape, self._effective)
            below = self._score(margin[row], spread[other], t, counted[axis].some(row), n)
            above, p = self._limits(cell, t), self.linear.estimate[cell]
            return ratio_bounds(p, margin[row], paired(W, cell, other), above, below)

        return value, V, as_ratios

    def _axis(self, on: str | None) -> int:
        return 0 if on is None else self.names.index(one_of("on", on, self.names))

    @names_alpha
    def differences(
        self,
        on: str | None = None,
        reference: Any = None,
        alpha: float = 0.05,
        all_pairs: bool = False,
        method: str = "default",
    ) -> pd.DataFrame:
        """Conditional shares given each category of a variable, minus those given a reference.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.
        reference : label, optional
            The category that the others are compared with; the first by default.
        alpha : float
            One minus the coverage of each interval.
        all_pairs : bool
            Compare every category with each before it, instead of with one reference.
        method : {"default", "wald"}
            "default" combines the limits of `conditional` of both shares (see `Differences`);
            "wald": estimate plus or minus t times standard error. p-values are of these.

        Returns
        -------
        DataFrame, a row for each comparison and category of the other variable
            "estimate", "se", "lower", "upper", "pvalue" and "pvalue_holm", Holm's adjustment for
            all rows; two categories that add up to one are one hypothesis.
        """
        alpha, axis = level(alpha), self._axis(on)
        own, other = self.labels[axis], self.labels[1 - axis]
        by, name = (self.names[v] for v in (axis, 1 - axis))
        if len(own) < 2:
            raise NotAvailable(f"differences need two categories: {by} has one only")
        pairs = compared_pairs(
            len(own), reference, all_pairs, lambda label: self._place("reference", axis, label)
        )
        labels = [(label,) for label in own]
        index = compared_index(labels, pairs, all_pairs, other, (by,), name)
        places = pair_places(pairs, len(other))
        value, V, limits = self._conditionals(axis, method)
        df = np.full(len(places[0]), self._freedom)
        return differences_table(value, V, places, df, limits, alpha, index)

    @names_alpha
    def ratio(
        self, numerator: Any, denominator: Any, alpha: float = 0.05, method: str = "default"
    ) -> pd.Series[float]:
        """Ratio of the totals of some cells to those of others.

        Parameters
        ----------
        numerator, denominator : tuple of two labels, or list of such
            Cells, for example ("ill", "north").
        alpha : float
            One minus the coverage of the interval.
        method : {"default", "wald"}
            As for `WeightedResults.ratio`.

        Returns
        -------
        Series
            "estimate", "se", "lower", "upper".
        """
        alpha, (cells, *_, persons) = level(alpha), self._forms
        sets = np.zeros((2, 1, len(cells)))
        for one, name, given in zip(
            sets, ("numerator", "denominator"), (numerator, denominator), strict=True
        ):
            one[0, self._cells(name, given)] = 1.0
        above, below = (one @ cells for one in sets)
        if one_of("method", method, ("default", "wald")) == "wald":
            table = self._table(Ratios(above, below), self._freedom, alpha, ["ratio"])
        else:
            observed = len(self.unprotected) == 2
            counted, other = (self._counted.joined(one, observed) for one in sets)
            forms = (above, below, persons)
            table = self._ratios(forms, (counted, other), self._freedom, alpha, ["ratio"])
        row: pd.Series[float] = table.iloc[0]
        return row

    def _cells(self, name: str, given: Any) -> list[int]:
        """Places of one cell or several."""
        remedy = "must be a cell such as (first label, second label), or a list of different ones"
        several = [given] if isinstance(given, tuple) else listed(name, given, remedy)
        places = []
        for cell in several:
            if not isinstance(cell, tuple) or len(cell) != 2:
                raise InvalidArgument(name, given, remedy)
            i, j = (self._place(name, v, label) for v, label in enumerate(cell))
            places.append(i * self._shape[1] + j)
        if not places or len(set(places)) < len(places):
            raise InvalidArgument(name, given, remedy)
        return places

    def _place(self, name: str, axis: int, label: Any) -> int:
        return position(name, label, self.labels[axis], self._remedy(axis))

    def _remedy(self, axis: int) -> str:
        return f"is no category of {self.names[axis]}: {list(self.labels[axis])}"

    # -- association -------------------------------------------------------------------------

    @names_alpha
    def odds_ratio(self, rows: Any, columns: Any, alpha: float = 0.05) -> Effect:
        """Odds of the first of two `columns` against the second, in the first row over the second.

        As `AssociationResults.odds_ratio`, with the covariance of the design and t quantiles.

        Parameters
        ----------
        rows, columns : sequence of two labels
        alpha : float
            One minus the coverage of the set.
        """
        i, j = (
            two_positions(name, given, own, self._remedy(axis))
            for axis, (name, given, own) in enumerate(
                zip(("rows", "columns"), (rows, columns), self.labels, strict=True)
            )
        )
        normal = self._as_normal(level(alpha))
        return replace(
            effects.odds_ratio(self.table, self.linear.known(), i, j, normal), alpha=alpha
        )

    @names_alpha
    def cramers_v(self, alpha: float = 0.05) -> Effect:
        """Cramer's V, freed of the bias that design and noise give it.

        As `AssociationResults.cramers_v`, with the covariance of the design and t quantiles; the
        lower end is above 0 exactly where `test_independence()` rejects at level `alpha`.
        """
        V, normal, null = self.linear.known(), self._as_normal(level(alpha)), self.dependence.null
        p = None
        if null is not None and null.is_testable:
            p = self._as_normal(float(np.clip(self.test_independence().pvalue, 1e-300, 1 - 1e-9)))
        return replace(effects.cramers_v(self.table, V, normal, p), alpha=alpha)

    def _as_normal(self, alpha: float) -> float:
        return float(normal_level(np.array(self._freedom), alpha))

    def departures(self) -> pd.DataFrame:
        """Departures from independence, p_ij - r_i c_j, in standard errors."""
        return self._grid(z_values(*effects.departures(self.table, self.linear.known())))

    def test_independence(self, method: str = "unbiased", effects: str = "null") -> TestResult:
        """Test that the variables are independent in what the population was drawn from.

        The statistic is Pearson's chi-square of the weighted table of reports (of decoded reports,
        where these are bits or hashes), the design that of a sample without corrections for finite
        populations: no finite population has exact independence. It is independence in the whole
        population, not within strata.

        Parameters
        ----------
        method : {"unbiased", "first", "first-chi2", "second", "second-chi2", "wald", \
"wald-adjusted"}
            All but the last two divide by the mean generalised design effect (Rao and Scott 1984).
            "first": with an F law on d and d nu degrees of freedom. "second": with the F law of the
            same mean and variance, as svychisq(statistic="F") of R's survey. "unbiased": the same
            law from unbiased estimates of its mean and variance. "-chi2": with chi-square laws,
            which reject too often where the design has few degrees of freedom nu. "wald" and
            "wald-adjusted": as svychisq(statistic="Wald") and "adjWald"; of the latter the size is
            .1 to .2 at .05, of the former more, unless units are many.
        effects : {"null", "observed"}
            Where design effects are estimated: under independence, or at the table of reports as
            observed, as R's survey has it (for labels only), which rejects too often in sparse
            tables.

        Returns
        -------
        TestResult
            Of F laws `df` is a pair.

        Raises
        ------
        NotAvailable
            If a variable has one category only, for "observed" without a table of labels, and for
            Wald tests on too few degrees of freedom.

        Notes
        -----
        Simulated sizes at .05, 3,000 samples each of 3 x 4 cells, k-RR or no noise, in ten designs
        of 4 to 50 degrees of freedom: "first" .050 to .080, "second" .018 to .080; at observed
        effects .052 to .093 and .025 to .074; "wald" up to .53, Pearson's uncorrected .13 to .38.
        1,000 samples each of 16 others of 4 to 240 degrees of freedom, fit and homogeneity as well:
        "unbiased" .031 to .072, "first" .039 to .097 (it ignores that effects are uneven), "second"
        .003 to .054.
        """
        method = one_of("method", method, tuple(METHODS))
        effects = one_of("effects", effects, ("null", "observed"))
        departure = self.dependence.null if effects == "null" else self.dependence.observed
        if departure is None:
            raise NotAvailable(f"effects={effects!r}: {self.dependence.why}")
        return departure.test(f"{self.names[0]} and {self.names[1]} are independent", method)

    # -- presentation ------------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        return " x ".join(self.names)

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"name": self._subject}

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The results as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Cells to show; the largest estimates where there are more.
        details : bool
            Also show how the estimate was computed.
        """
        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        null, details = self.dependence.null, boolean("details", details)
        test = self.test_independence() if null is not None and null.is_testable else None
        frame, fit, facts, names = self.summary_frame(alpha), self, self.sample, self.names
        shown = largest(frame, max_rows)
        digits, both = decimals(shown), second_shown(frame, details)
        cells = zip(estimate_cells(shown, digits, both), effect_cells(shown), strict=True)
        sources = zip(names, fit.sources, strict=True)
        left = [(f"{one_line(name, 20)}:", source) for name, source in sources]
        left += [("Estimator:", estimator_text(fit)), *sample_pairs(self)]
        right = [
            ("No. Respondents:", str(fit.nobs)),
            ("Missing:", str(fit.n_missing)),
            ("Epsilon, all (nats):", epsilon_text(fit.epsilon)),
            ("Sum of weights:", f"{facts.weight_sum:,.6g}"),
            ("Df of design:", f"{facts.df:g}"),
        ]
        if self.unprotected:
            right.append(("Not protected:", one_line(", ".join(self.unprotected), 40)))
        notes = []
        if test is not None:
            df = test.df
            words = ", ".join(f"{one:g}" for one in df) if isinstance(df, tuple) else df
            notes.append(
                f"Independence ({test.method}): {test.statistic:.4g} on {words} df, "
                f"{pvalue_words(test.pvalue)}."
            )
        for name in self.listed:
            notes.append(f"NOTE: the candidates of {name} are taken for all answers.")
        return SummaryTable(
            title=f"Weighted joint distribution of {names_in_turn(names)}",
            header=header(left, right, fit if details else None),
            columns=[*estimate_columns(alpha, both), *EFFECT_COLUMNS],
            stubs=cell_stubs(shown.index),
            body=[row + effects for row, effects in cells],
            notes=[
                *missing_notes(fit.nobs, fit.n_missing, names, self.lacking),
                *sample_notes(self, frame, alpha, second_words(frame, both, digits)),
                *rest_notes(len(shown), len(frame)),
                *notes,
                *protection_notes(fit),
                *closing_notes(fit, 1.0),
            ],
        ).layout()

    @names_alpha
    def plot(  # type: ignore[override]  # another kind of plot
        self,
        kind: str = "heatmap",
        ax: Axes | None = None,
        alpha: float = 0.05,
        title: str | None = None,
    ) -> Axes:
        """Draw the table with its uncertainty.

        Parameters
        ----------
        kind : {"heatmap", "departures"}
            Cells with their intervals; or coloured by departures from independence in standard
            errors.
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        title : str, optional
            "" for none; by default the variables and the number of respondents.
        """
        kind = one_of("kind", kind, ("heatmap", "departures"))
        bounds = self.conf_int(level(alpha))
        words = title_text(title, f"{self.names[0]} and {self.names[1]}, n = {self.nobs:,}")
        low, high = (self._grid(bounds[end].to_numpy()) for end in ("lower", "upper"))
        z = self.departures() if kind == "departures" else None
        from ldpstats.models.association.presentation import plot_heat_map

        return plot_heat_map(self.table, low, high, ax, words, z)

    # -- storage -----------------------------------------------------------------------------

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> WeightedTable:
        results = super()._restored(values)
        a, b = map(len, results.labels)
        check_estimates(results, {"totals": results.totals_law}, a * b, a * b + a + b + 1, 2)
        domains, (first, second) = results.domains, results.counted
        check_counted(first, a)
        check_counted(second, b, " of columns")
        shapes = {"sizes": (domains.sizes, (1,)), "channel": (domains.channel, (a * b,))}
        pairs = {name: (np.array(values[name]), (2,)) for name in ("names", "lacking")}
        check_shapes(shapes | pairs)
        return results
