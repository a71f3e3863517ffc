"""Weighted frequencies of one privatised variable, in a whole population or in domains of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, distribution, level, one_of, positive_integer
from ldpstats.arguments.labels import align, labels_from_json, labels_to_json, position
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.departures import fit_to
from ldpstats.inference.designs.intervals import Counted
from ldpstats.inference.designs.rao_scott import RaoScott, metric
from ldpstats.inference.designs.totals import Ratios, Totals
from ldpstats.inference.tests import TestResult
from ldpstats.mechanisms import Mechanism, mechanism_from_dict
from ldpstats.models.frequency.ordered import checked_scores
from ldpstats.models.shared.groups import (
    compared_index,
    compared_pairs,
    group_place,
    stacked_index,
)
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.storage import maybe_from_dict, maybe_to_dict
from ldpstats.models.weighted.base import DesignResults
from ldpstats.models.weighted.comparisons import differences_table, pair_places, satterthwaite
from ldpstats.models.weighted.restoring import check_estimates, check_shapes

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["WeightedResults", "domain_shares"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class WeightedResults(DesignResults):
    """Weighted frequencies of one privatised variable, in all or in domains.

    `params` are shares of the population that the weights stand for. Standard errors hold the
    design and the randomisation of every respondent together; intervals and tests use the t law
    with the degrees of freedom of the design, and rest on the unconstrained (Hajek) estimate.

    Attributes
    ----------
    params, bse : Series, indexed by category, or by domain and category
        Estimated frequencies and their standard errors.
    categories : Index
        Labels of the k categories.
    nobs, n_missing : int
        Respondents with a report, and without.
    df : Series
        Degrees of freedom of each estimate.
    sample : SampleFacts
        The design in words, its numbers of strata and units, the sum of the weights.
    mechanism : Mechanism
        What made the reports.
    equal : RaoScott or None
        What `test_equal` rests on; `untested` says why, where there is none.

    Methods
    -------
    conf_int, cov_params, t_test, wald_test
        t intervals, covariances between categories and between domains, tests.
    totals, mean, ratio, differences
        Numbers of persons, means of scores, ratios of categories, differences between domains.
    unexplained
        Share of the answers that are not among the candidates, of an open alphabet.
    deff
        Design effects in two factors, and the effective sample size.
    test_distribution, test_equal
        Rao-Scott tests of fit and of homogeneity.
    summary_frame, summary, plot, to_frame, glance, to_json, from_json
        All of it as a table, in print, as a figure, as data.

    Notes
    -----
    With fewer than about 15 degrees of freedom linearised variances are too small, with noise or
    without: ``survey.replicates("jackknife")`` is nearer.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(3)
    >>> table = pd.DataFrame({"ill": rng.choice(["no", "yes"], 400), "w": rng.uniform(1, 3, 400),
    ...                       "school": np.arange(400) // 20})
    >>> survey = ldp.Survey(table, {"ill": ldp.Warner(2.0)}, weights="w", clusters="school")
    >>> results = survey.frequencies("ill")
    >>> results
    WeightedResults(inversion, k=2, n=400)
    """

    categories: pd.Index[Any]
    mechanism: Mechanism
    superpopulation: Totals
    counted: Counted
    equal: RaoScott | None = None
    untested: str = ""

    _format = "ldpstats-weighted-results"
    _version = 1
    _required = frozenset({"fit", "totals", "sample", "domains", "categories"})

    def __repr__(self) -> str:
        by = f"{len(self.domains.labels)} domains by {', '.join(self.by)}, " if self.by else ""
        return f"WeightedResults({self.method}, {by}k={len(self.categories)}, n={self.nobs})"

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that make the domains; none where there is one."""
        return self.domains.by

    @property
    def index(self) -> pd.Index[Any]:
        if not self.by:
            return self.categories
        return stacked_index(self.domains.labels, self.categories, self.by, self.name)

    @property
    def groups(self) -> pd.Index[Any]:
        """Labels of the domains."""
        if len(self.by) == 1:
            one: pd.Index[Any] = pd.Index([label[0] for label in self.domains.labels])
            return one.rename(self.by[0])
        several: pd.Index[Any] = pd.MultiIndex.from_tuples(self.domains.labels, names=self.by)
        return several

    @property
    def sizes(self) -> pd.Series[Any]:
        """Respondents with a report in each domain."""
        return pd.Series(self.domains.sizes, index=self.groups if self.by else None, name="nobs")

    @property
    def _domain_of(self) -> npt.NDArray[np.int64]:
        return np.repeat(np.arange(len(self.domains.labels)), len(self.categories))

    @property
    def _counted(self) -> Counted:
        g = len(self.domains.labels)
        return Counted(np.tile(self.counted.offset, g), np.tile(self.counted.scale, g))

    # The totals of each domain: those of its k categories, then its number of persons.

    def _sums(self, weights: Array) -> Array:
        """Sums of category totals in each domain as linear forms, (g m, totals), weights (m, k)."""
        return _category_sums(weights, len(self.domains.labels))

    @property
    def _persons(self) -> Array:
        """The number of persons of each domain as linear forms, (g, totals)."""
        return _persons(len(self.categories), len(self.domains.labels))

    @property
    def shares(self) -> Ratios:
        return domain_shares(len(self.categories), len(self.domains.labels))

    # -- what is estimated -------------------------------------------------------------------

    @names_alpha
    def totals(self, alpha: float = 0.05) -> pd.DataFrame:
        """Estimated numbers of persons (Horvitz-Thompson), with t intervals.

        Returns
        -------
        DataFrame, one row per estimate
            "estimate", "se", "lower", "upper", in persons of the population.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes", "no", "no"] * 25, "w": [10.0] * 100})
        >>> survey = ldp.Survey(table, {"ill": ldp.Observed(["no", "yes"])}, weights="w")
        >>> survey.frequencies("ill").totals()["estimate"].to_dict()
        {'no': 750.0, 'yes': 250.0}
        """
        functions = Ratios(self._sums(np.eye(len(self.categories))))
        table = self._table(functions, self.df.to_numpy(), level(alpha), self.index)
        # who was not seen may be there: what the interval of the share says, in persons
        persons = (self.shares.B @ self.totals_law.estimate)[:, None]
        unseen = (table["se"] == 0.0).to_numpy()[:, None]
        ends = np.where(unseen, self.conf_int(alpha) * persons, table[["lower", "upper"]])
        return table.assign(lower=ends[:, 0], upper=ends[:, 1])

    @names_alpha
    def mean(self, scores: Any = None, alpha: float = 0.05) -> Any:
        """Mean of the scores of the answers: "estimate", "se", "lower", "upper"; a row a domain.

        Parameters
        ----------
        scores : mapping, Series or array, shape (k,), optional
            A number for each category; by default the labels, where they are numbers.
        alpha : float
            One minus the coverage of the interval.
        """
        if self.mechanism.is_open:
            raise NotAvailable("a mean over candidates: the candidates need not be all answers")
        values = checked_scores(scores, self.categories)
        functions = Ratios(self._sums(values[None]), self._persons)
        name = f"mean of {self.name}" if self.name else "mean"
        return self._by_domain(functions, level(alpha), name)

    @names_alpha
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
        alpha, k = level(alpha), len(self.categories)
        above, below = (np.zeros((1, k)) for _ in range(2))
        above[0, self._places("numerator", numerator)] = 1.0
        below[0, self._places("denominator", denominator)] = 1.0
        if one_of("method", method, ("default", "wald")) == "wald":
            return self._by_domain(Ratios(self._sums(above), self._sums(below)), alpha, "ratio")
        labels = self.mechanism.n_bits == 0
        table = self._ratios(
            (self._sums(above), self._sums(below), self._persons),
            (self.counted.joined(above, labels), self.counted.joined(below, labels)),
            self.domains.df,
            alpha,
            self.groups if self.by else ["ratio"],
        )
        return table if self.by else table.iloc[0]

    @names_alpha
    def unexplained(self, alpha: float = 0.05) -> Any:
        """Share of the answers that are not among the candidates, in each domain.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the interval, which is cut to [0, 1].

        Raises
        ------
        NotAvailable
            Where all categories are known.
        """
        if not self.mechanism.is_open:
            raise NotAvailable("every answer is one of the categories: there are no candidates")
        left = self._persons - self._sums(np.ones((1, len(self.categories))))
        found = self._by_domain(Ratios(left, self._persons), level(alpha), "not listed")
        ends = ["lower", "upper"]
        found[ends] = found[ends].clip(0.0, 1.0)
        return found

    def _places(self, argument: str, labels: Any) -> list[int]:
        """Positions of one label or several."""
        several = labels if isinstance(labels, list) else [labels]
        remedy = f"must be a category, or a list of different ones: {list(self.categories)}"
        places = [position(argument, label, self.categories, remedy) for label in several]
        if not places or len(set(places)) < len(places):
            raise InvalidArgument(argument, labels, remedy)
        return places

    def _by_domain(self, functions: Ratios, alpha: float, name: str) -> Any:
        """A function for each domain: a Series, or with `by` a table."""
        table = self._table(functions, self.domains.df, alpha, self.groups if self.by else [name])
        return table if self.by else table.iloc[0]

    @names_alpha
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
            all rows.

        Raises
        ------
        NotAvailable
            If there is one domain only.
        """
        alpha, labels, k = level(alpha), self.domains.labels, len(self.categories)
        if len(labels) < 2:
            raise NotAvailable("differences need two domains, by=: there is one only")
        pairs = compared_pairs(
            len(labels), reference, all_pairs, lambda label: self._position("reference", label)
        )
        index = compared_index(labels, pairs, all_pairs, self.categories, self.by, self.name)
        places = pair_places(pairs, k)
        V, freedom = self.linear_cov.to_numpy(), self.df.to_numpy()
        of = np.stack(places)
        df = satterthwaite(V[of, of], freedom[of], self.sample.df)
        limits = self._limits_by(method)
        return differences_table(self.linear.estimate, V, places, df, limits, alpha, index)

    def _position(self, name: str, label: Any) -> int:
        return group_place(name, label, self.domains.labels, self.by, "domain")

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
        found = fit_to(own, law, metric(S, not problem.is_open), n, nu)
        return found.test("the frequencies are p0", method)

    # -- presentation ------------------------------------------------------------------------

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The results as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Rows to show; the largest estimates where there are more.
        details : bool
            Also show how the estimate was computed, and the unconstrained one in any case.
        """
        from ldpstats.models.weighted.summary import weighted_summary

        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        how: Any = {"alpha": alpha, "max_rows": max_rows, "details": boolean("details", details)}
        test = None if self.equal is None else self.test_equal()
        return weighted_summary(self, self.categories, test, **how).layout()

    @names_alpha
    def plot(self, alpha: float = 0.05, **how: Any) -> Any:
        """Draw the frequencies with their intervals; each domain on axes of its own.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        **how
            `ax`, `sort`, `most`, `title` as for `FrequencyResults.plot`; with domains `figure`,
            `sort`, `most`, `title` as for `GroupedResults.plot`.
        """
        from ldpstats.models.weighted.plots import plot_weighted

        frame = self.summary_frame(level(alpha))
        return plot_weighted(self.fit, self.domains, self.categories, frame, alpha, **how)

    def _stored(self) -> dict[str, Any]:
        return super()._stored() | {
            "superpopulation": self.superpopulation.to_dict(),
            "categories": labels_to_json(self.categories),
            "mechanism": self.mechanism.to_dict(),
            "counted": self.counted.to_json(),
            "equal": maybe_to_dict(self.equal),
            "untested": self.untested,
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> WeightedResults:
        categories = labels_from_json("categories", document["categories"])
        found = cls(
            **cls._common(document),
            categories=categories,
            mechanism=mechanism_from_dict(document["mechanism"]),
            superpopulation=Totals.from_dict(document["superpopulation"]),
            counted=Counted.from_json(document["counted"]),
            equal=maybe_from_dict(RaoScott, document["equal"]),
            untested=str(document["untested"]),
        )
        totals = {"totals": found.totals_law, "superpopulation": found.superpopulation}
        g, k = len(found.domains.labels), len(categories)
        check_estimates(found.fit, totals, g * k, g * (k + 1), 1)
        counted, channel = found.counted, found.domains.channel
        shapes = {"offset": (counted.offset, (k,)), "scale": (counted.scale, (k,))}
        check_shapes(shapes | {"channel": (channel, (g * k,))})
        return found


def domain_shares(k: int, g: int) -> Ratios:
    """Shares of k categories in g domains, whose totals are those of the categories and persons."""
    return Ratios(_category_sums(np.eye(k), g), _persons(k, g).repeat(k, axis=0))


def _category_sums(weights: Array, g: int) -> Array:
    return np.kron(np.eye(g), np.column_stack([weights, np.zeros(len(weights))]))


def _persons(k: int, g: int) -> Array:
    return np.kron(np.eye(g), np.eye(k + 1)[-1:])
