"""Weighted frequencies of one privatised variable, in a whole population or in domains of it.

The totals of a domain are those of its k categories, then its number of persons.
"""

from __future__ import annotations

from dataclasses import field
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, distribution, level, one_of, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.hints import guided
from ldpstats.inference.designs.linearisation import Ratios, Totals
from ldpstats.inference.designs.tests import Counted, RaoScott, critical, fit_to, metric, t_bounds
from ldpstats.inference.intervals import edge_normal
from ldpstats.inference.tests import TestResult, pvalue_text
from ldpstats.labels import Labels, align, positions
from ldpstats.mechanisms import Mechanism, mechanism_from_dict
from ldpstats.models.frequency.results import (
    NOT_ORDERED,
    check_order,
    checked_scores,
    paths_of,
    quantile_table,
)
from ldpstats.models.layout import ESTIMATES, Frame, Heading, resolution_notes, title
from ldpstats.models.results import ByGroup, Label, compared, stacked_index
from ldpstats.models.weighted.base import DesignResults, difference_rows, satterthwaite

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ldpstats.models.small_areas import SmallAreas


@record
class WeightedResults(ByGroup, DesignResults):
    """Weighted frequencies of one privatised variable, in all or in domains.

    `params` are shares of the population that the weights stand for. Standard errors hold the
    design and the randomisation of every respondent together; intervals and tests use the t law
    with the degrees of freedom of the design, and rest on the unconstrained (Hajek) estimate.

    Attributes
    ----------
    categories : Index
        Labels of the k categories.
    nobs, n_missing : int
        Respondents with a report, and without.
    sample : SampleFacts
        The design in words, its numbers of strata and units, the sum of the weights.
    mechanism : Mechanism
        What made the reports.
    equal : RaoScott or None
        What `test_equal` rests on; `untested` says why, where there is none.

    Notes
    -----
    With fewer than about 15 degrees of freedom linearised variances are too small, with noise or
    without: ``survey.replicates("jackknife")`` is nearer.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(3)
    >>> table = pd.DataFrame({"ill": rng.choice(["no", "yes"], 400), "w": rng.uniform(1, 3, 400),
    ...                       "school": np.arange(400) // 20})
    >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, weights="w", clusters="school")
    >>> results = survey.frequencies("ill")
    >>> results
    WeightedResults(inversion, k=2, n=400)
    """

    categories: pd.Index[Any]
    mechanism: Mechanism = field(metadata={"read": mechanism_from_dict})
    counted: Counted
    superpopulation: Totals = field(
        metadata={"read": lambda own: None if own is None else Totals.from_dict(own)}
    )
    equal: RaoScott | None = None
    untested: str = ""

    _group = "domain"
    _format = "ldpstats-weighted-results"
    _version = 1
    _document = (
        *("fit", "totals", "sample", "domains", "nobs", "n_missing"),
        *("superpopulation", "categories", "mechanism", "counted", "equal", "untested"),
    )

    def __repr__(self) -> str:
        by = f"{len(self.domains.labels)} domains by {', '.join(self.by)}, " if self.by else ""
        return f"WeightedResults({self.method}, {by}k={len(self.categories)}, n={self.nobs})"

    by = property(
        attrgetter("domains.by"),
        doc="The columns that make the domains; none where there is one.",
    )

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.domains.labels

    @property
    def index(self) -> Labels:
        if not self.by:
            return self.categories
        return stacked_index(self.domains.labels, self.categories, self.by, self.name)

    @property
    def _sizes(self) -> list[int]:
        sizes: list[int] = self.domains.sizes.tolist()
        return sizes

    @property
    def _counted(self) -> Counted:
        return self.counted.some(np.tile(np.arange(len(self.categories)), len(self.domains.labels)))

    # -- what is estimated -------------------------------------------------------------------

    def mean(self, scores: Any = None, alpha: float = 0.05) -> Any:
        """Mean of the scores of the answers: "estimate", "se", "lower", "upper"; a row a domain.

        Parameters
        ----------
        scores : mapping, Series or array, shape (k,), optional
            A number for each category; by default the labels, where they are numbers.
        alpha : float
            One minus the coverage of the interval.
        """
        self._refuse_open()
        values = checked_scores(scores, self.categories)
        name = f"mean of {self.name}" if self.name else "mean"
        return self._by_domain(self._sums(values), level(alpha), name)

    def cumulative(self, alpha: float = 0.05) -> pd.DataFrame:
        """Cumulative frequencies in the order of the categories, with score intervals.

        As `FrequencyResults.cumulative`; in each domain.
        """
        alpha, k, g = level(alpha), len(self.categories), len(self.domains.labels)
        self._refuse_open()
        check_order(self.categories)
        sets = np.tril(np.ones((k, k)))
        df, persons = self.df.to_numpy(), self._persons.repeat(k, axis=0)
        table = self._of_totals(Ratios(self._sums(sets), persons), df, alpha, self.index)
        p, se = table["estimate"].to_numpy(), table["se"].to_numpy()
        counted = self.counted.joined(sets, self.mechanism.n_bits == 0)
        n = (self.domains.sizes / self.domains.spread)[self._domain_of]
        bounds = self._score(p, se, critical(df, alpha), counted.some(np.tile(np.arange(k), g)), n)
        bounds = np.where(self._unknown[:, None], (0.0, 1.0), bounds)
        table[["lower", "upper"]] = edge_normal(bounds, p, se, alpha)
        table.iloc[k - 1 :: k] = 1.0, 0.0, 1.0, 1.0
        return table

    def quantile(self, q: Any, alpha: float = 0.05) -> pd.Series[Any] | pd.DataFrame:
        """Quantiles of ordered answers, as `FrequencyResults.quantile`; in each domain.

        The interval has the categories that the limits of `cumulative` do not rule out (Woodruff
        1952, Journal of the American Statistical Association 47, 635-646).
        """
        frame, k, found = self.cumulative(alpha), len(self.categories), []
        for start in range(0, len(frame), k):
            p, _, low, high = frame.iloc[start : start + k].to_numpy().T

            def places(q: float, p: Array = p, low: Array = low, high: Array = high) -> list[Any]:
                last = np.flatnonzero(low[:-1] <= q).max(initial=-1) + 1
                return [np.argmax(p >= q), np.argmax(high >= q), last]

            found.append(quantile_table(q, places, self.categories, self.name))
        return self._by_group(found) if self.by else found[0]

    def turnover(self, alpha: float = 0.05) -> Any:
        """Share of the persons whose answer was not the same in all waves, of `Survey.paths`.

        Returns
        -------
        Series, or with domains DataFrame
            "estimate", "se", "lower", "upper": with the weights and the design, whose sampling unit
            holds all reports of a person.

        Raises
        ------
        NotAvailable
            If the categories are no paths.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill_1": ["no", "no", "yes", "no"] * 25, "w": [1.0, 2.0] * 50,
        ...                       "ill_2": ["no", "yes", "yes", "no"] * 25})
        >>> asked = dict.fromkeys(("ill_1", "ill_2"), ldp.Observed(["no", "yes"]))
        >>> survey = ldp.Survey(table, asked, weights="w")
        >>> results = survey.paths(["ill_1", "ill_2"], "ill").frequencies("ill")
        >>> results.turnover().round(3).to_dict()
        {'estimate': 0.333, 'se': 0.052, 'lower': 0.229, 'upper': 0.437}
        >>> results.transitions().loc["no", "estimate"].round(3).to_dict()
        {'no': 0.6, 'yes': 0.4}
        """
        _, paths = paths_of(self.mechanism)
        moved = (paths != paths[:, :1]).any(axis=1).astype(float)
        found = self._by_domain(self._sums(moved), level(alpha), "turnover")
        return self._cut(found.copy(), alpha)

    def transitions(self, alpha: float = 0.05) -> pd.DataFrame:
        """Shares of the answers in the last wave among those of each in the first, of paths.

        Returns
        -------
        DataFrame, a row for each domain, answer before and answer after
            "estimate", "se", "lower", "upper"; nan where nobody is estimated to begin.
        """
        waves, paths = paths_of(self.mechanism)
        alpha, (first, made), (last, _) = level(alpha), waves[0], waves[-1]
        labels, k = made.categories, made.k
        of_first = np.eye(k)[paths[:, 0]].T
        both = (of_first[:, None] * np.eye(k)[paths[:, -1]].T).reshape(k * k, -1)
        index = pd.MultiIndex.from_product([labels, labels], names=[first, last])
        if self.by:
            keys = [(*label, *pair) for label in self.labels for pair in index]
            index = pd.MultiIndex.from_tuples(keys, names=[*self.by, first, last])
        functions = Ratios(self._sums(both), self._sums(np.repeat(of_first, k, axis=0)))
        table = self._of_totals(functions, self.domains.df.repeat(k * k), alpha, index)
        found: pd.DataFrame = self._cut(table, alpha)
        return found

    def _cut(self, found: Any, alpha: float) -> Any:
        """The intervals of shares, cut to [0, 1]."""
        values = np.atleast_2d(found[ESTIMATES].to_numpy(copy=True))
        known = ~np.isnan(values[:, 1])
        p, se = values[known, :2].T
        values[known, 2:] = edge_normal(values[known, 2:], p, se, alpha)
        found[ESTIMATES] = values if found.ndim > 1 else values[0]
        return found

    def _refuse_open(self) -> None:
        if self.mechanism.is_open:
            raise NotAvailable(NOT_ORDERED)

    def ratio(
        self, numerator: Any, denominator: Any, alpha: float = 0.05, method: str = "default"
    ) -> Any:
        """Ratio of the totals of some categories to those of others, in each domain.

        Parameters
        ----------
        numerator, denominator : label, or list of labels
        alpha : float
            One minus the coverage of the interval.
        method : {"default", "wald"}
            "default": all ratios from zero on that the limits of both shares do not rule out, as
            Fieller's set; infinite where the denominator does not differ from zero. "wald":
            estimate plus or minus t times the linearised standard error.

        Returns
        -------
        Series, or with domains DataFrame
            "estimate", "se" (linearised), "lower", "upper".
        """
        alpha, sets = level(alpha), np.zeros((2, len(self.categories)))
        sets[0, positions("numerator", numerator, self.categories)] = 1.0
        sets[1, positions("denominator", denominator, self.categories)] = 1.0
        index, disjoint = self.groups if self.by else ["ratio"], self.mechanism.n_bits == 0
        table = self._ratio(sets, disjoint, alpha, method, index)
        return table if self.by else table.iloc[0]

    def unexplained(self, alpha: float = 0.05) -> Any:
        """Share of the answers that are not among the candidates, in each domain.

        Raises
        ------
        NotAvailable
            Where all categories are known.
        """
        if not self.mechanism.is_open:
            raise NotAvailable("every answer is one of the categories: there are no candidates")
        left = self._persons - self._sums(np.ones(len(self.categories)))
        share = self._by_domain(left, level(alpha), "not listed")
        ends = ["lower", "upper"]
        share[ends] = share[ends].clip(0.0, 1.0)
        return share

    def _by_domain(self, sums: Array, alpha: float, name: str) -> Any:
        """Means of persons for each domain: a Series, or with `by` a table."""
        functions, index = Ratios(sums, self._persons), self.groups if self.by else [name]
        table = self._of_totals(functions, self.domains.df, alpha, index)
        return table if self.by else table.iloc[0]

    def differences(
        self,
        reference: Any = None,
        alpha: float = 0.05,
        all_pairs: bool = False,
        method: str = "default",
    ) -> pd.DataFrame:
        """Frequencies of each domain minus those of a reference, or of every other.

        Domains may share units: their covariance enters.

        Parameters
        ----------
        reference : label, optional
            The domain that the others are compared with; the first by default.
        alpha : float
            One minus the coverage of each interval.
        all_pairs : bool
            Compare every domain with each before it, instead of with one reference.
        method : {"default", "wald"}
            "default" combines the limits of `conf_int` of both frequencies (see `Differences`);
            "wald": estimate plus or minus t times standard error. p-values are of these.

        Returns
        -------
        DataFrame, a row for each comparison and category
            "estimate", "se", "lower", "upper", "pvalue" and "pvalue_holm", Holm's adjustment for
            all rows; two categories that add up to one are one hypothesis.

        Raises
        ------
        NotAvailable
            If there is one domain only.
        """
        alpha, labels = level(alpha), self.domains.labels
        if len(labels) < 2:
            raise NotAvailable("differences need two domains, by=: there is one only")
        V, freedom = self.linear_cov.to_numpy(), self.df.to_numpy()
        p, se, limits = self.linear.estimate, self.linear.every_bse(), self._limits
        if one_of("method", method, ("default", "wald")) == "wald":
            limits = lambda at, t: t_bounds(p[at], se[at], t)  # noqa: E731
        df_of = lambda at: satterthwaite(V[at, at], freedom[at], self.sample.df)  # noqa: E731
        k, law = len(self.categories), (p, V, limits)
        return compared(
            (labels, self.by),
            self.categories,
            self.name,
            (reference, all_pairs, partial(self._position, "reference")),
            lambda pairs: difference_rows(pairs, k, law, df_of, alpha),
        )

    @guided
    def small_areas(self, formula: str, data: Any, category: Any = None) -> SmallAreas:
        """Estimates of one category in many small domains, see `GroupedResults.small_areas`.

        Domains in one sampling unit, whose own standard errors are unknown, take part: variances
        are those of simple samples of their effective size times one design effect for all.

        Raises
        ------
        NotAvailable
            Where no domain has a standard error.
        """
        from ldpstats.models.small_areas import SmallAreas

        return SmallAreas.of(self, formula, data, category)

    def _direct(self, place: int) -> tuple[Array, Array, Array, Array]:
        """As of `GroupedResults`; weights are estimated numbers of persons."""
        k, domains = len(self.categories), self.domains
        estimates = self.linear.estimate.reshape(-1, k)[:, place]
        n, persons = domains.sizes / domains.spread, self._persons @ self.totals_law.estimate
        (a,), (b,) = (getattr(self.counted, name)[[place]] for name in ("offset", "scale"))
        # of one report by which the category is counted; otherwise the same everywhere
        one = np.array([a * (1.0 - a), b * (1.0 - 2.0 * a), -b * b]) / b**2
        one = one if np.isfinite(b) else np.array([1.0, 0.0, 0.0])
        known = np.flatnonzero(~domains.alone)
        df = domains.df[known]
        if not df.sum() > 0.0:
            raise NotAvailable(
                "small areas: no domain shows its variance, as each is in one sampling unit; where "
                "the units are the areas, leave clusters= out: respondents are then the units"
            )
        V, y = np.square(self.linear.every_bse()).reshape(-1, k)[known, place], estimates[known]
        simple = one @ np.array([np.ones(y.size), y, y**2 - V])  # unbiased, as y^2 - V is of p^2
        deff = (df @ (n[known] * V)) / (df @ simple)
        # units inside areas vary about their area, not about the whole as the design takes them
        deff *= max(1.0, self.sample.df / df.sum())
        return estimates, deff * one / n[:, None], n, persons

    # -- tests -------------------------------------------------------------------------------

    def test_equal(self, method: str = "unbiased") -> TestResult:
        """Rao-Scott test that all domains have the same distribution.

        Parameters
        ----------
        method : str
            As for `WeightedTable.test_independence`.

        Raises
        ------
        NotAvailable
            Where there is one domain only, or nothing to test.
        """
        if self.equal is None:
            raise NotAvailable(f"no test that the domains are equal: {self.untested}")
        return self.equal.test("all domains have the same distribution", method)

    def test_distribution(
        self, p0: Any, domain: Any = None, method: str = "unbiased"
    ) -> TestResult:
        """Rao-Scott test that the frequencies are `p0`.

        Pearson's statistic of the decoded reports, for k-RR that of the weighted table of reports,
        with the correction of Rao and Scott for the design. The hypothesis is about what the
        population was drawn from: variances are without corrections for a finite population.

        Parameters
        ----------
        p0 : Series or array, shape (k,)
            The distribution to test; a Series is matched by label. Over candidates of an open
            alphabet it may sum to less than one.
        domain : label, optional
            The domain that it is about, where there are several.
        method : str
            As for `WeightedTable.test_independence`.

        Raises
        ------
        InvalidArgument
            If `p0` is no distribution over the categories, or `domain` no domain.
        """
        if self.by and domain is None:
            raise InvalidArgument("domain", None, f"must be one of {list(self.groups)}")
        if not self.by and domain is not None:
            raise InvalidArgument("domain", domain, "there are no domains: leave it out")
        g, k = self._position("domain", domain) if self.by else 0, len(self.categories)
        candidates = self.categories if self.mechanism.is_open else None
        problem = self.mechanism.moments(self.mechanism.specimen(), candidates)
        law = align("p0", p0, self.categories)
        law = distribution("p0", law, k, partial=problem.is_open)
        S = problem.covariance(law).matrix() * problem.nobs
        own = self.superpopulation.some(slice(g * (k + 1), (g + 1) * (k + 1)))
        n, nu = float(self.domains.sizes[g]), float(self.domains.df_free[g])
        departure = fit_to(own, law, metric(S, not problem.is_open), n, nu)
        return departure.test("the frequencies are p0", method)

    # -- presentation ------------------------------------------------------------------------

    def _heading(self) -> Heading:
        by = f" by {', '.join(self.by)}" if self.by else ""
        _, left, right = super()._heading()
        own = self._sample_pairs()
        name = title(self, "Weighted frequencies") + by
        return name, left[:-1] + own[0], right + own[1]  # without the number of categories

    def _interval_notes(self, *of: Any) -> list[str]:
        notes, n_ungrouped = super()._interval_notes(*of), self.domains.n_ungrouped
        if self.n_missing:
            where = " and are in a domain" if self.by and n_ungrouped else ""
            persons = float((self._persons @ self.totals_law.estimate).sum())
            notes.append(
                f"Totals are of those who answered{where}: the sum of their weights is "
                f"{persons:,.6g}."
            )
        if n_ungrouped:
            notes.append(f"NOTE: {n_ungrouped} respondents are in no domain.")
        if self.equal is not None and self.equal.is_testable:
            test = self.test_equal()
            words = f"{test.method}): {pvalue_text(test.pvalue, 'p')}"
            notes.append(f"Same distribution in all domains ({words}.")
        return notes

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        return [*([] if self.by else resolution_notes(self)), *super()._notes(frame)]

    def plot(  # type: ignore[override]  # another kind of plot
        self,
        alpha: float = 0.05,
        ax: Axes | None = None,
        truth: Any = None,
        sort: bool | str | None = None,
        most: int = 25,
        title: str | None = None,
        figure: Figure | None = None,
        category: Any = None,
    ) -> Any:
        """Draw the frequencies with their intervals; each domain on axes of its own.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        ax, truth
            As for `FrequencyResults.plot`, where there are no domains; `ax` with `category` too.
        sort, most, title
            As for `FrequencyResults.plot`, and with domains `GroupedResults.plot`.
        figure, category
            As for `GroupedResults.plot`, with domains.

        Returns
        -------
        Axes, or with domains and no `category` array of Axes, shape (domains,)
        """
        how: dict[str, Any] = {"sort": sort, "most": most, "title": title}
        if self.by:
            if truth is not None:
                remedy = "goes without by=: select one domain with where(...)"
                raise InvalidArgument("truth", truth, remedy)
            return self._panels(level(alpha), category, ax, figure, **how)
        if figure is not None:
            raise InvalidArgument("figure", figure, "goes with by=: pass ax= for one distribution")
        if category is not None:
            raise InvalidArgument("category", category, "goes with by=: there is one group only")
        return super().plot(ax, alpha, truth, **how)

    def _stored(self) -> dict[str, Any]:
        document = super()._stored()
        if self.superpopulation is self.totals_law:  # where nothing is corrected, once
            document["superpopulation"] = None
        return document

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> WeightedResults:
        if values["superpopulation"] is None:
            values["superpopulation"] = values["totals_law"]
        return super()._restored(values)
