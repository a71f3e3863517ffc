"""Weighted frequencies of one privatised variable, in a whole population or in domains of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldpstats.arguments.checks import boolean, distribution, level, positive_integer
from ldpstats.arguments.labels import align, labels_from_json, labels_to_json
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.departures import fit_to
from ldpstats.inference.designs.intervals import Counted
from ldpstats.inference.designs.rao_scott import RaoScott, metric
from ldpstats.inference.designs.totals import Totals
from ldpstats.inference.tests import TestResult
from ldpstats.mechanisms import mechanism_from_dict
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.storage import maybe_from_dict, maybe_to_dict
from ldpstats.models.weighted.domain_shares import DomainShares
from ldpstats.models.weighted.restoring import check_estimates, check_shapes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from statsmodels.iolib.summary import Summary

__all__ = ["WeightedResults"]


@dataclass(frozen=True, eq=False)
class WeightedResults(DomainShares):
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
        Score intervals, covariances between categories and between domains, tests.
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
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(3)
    >>> table = pd.DataFrame({"ill": rng.choice(["no", "yes"], 400), "w": rng.uniform(1, 3, 400),
    ...                       "school": np.arange(400) // 20})
    >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, weights="w", clusters="school")
    >>> results = survey.frequencies("ill")
    >>> results
    WeightedResults(inversion, k=2, n=400)
    """

    superpopulation: Totals
    equal: RaoScott | None = None
    untested: str = ""

    _format = "ldpstats-weighted-results"
    _version = 1
    _required = frozenset({"fit", "totals", "sample", "domains", "categories", "counted"})

    def __repr__(self) -> str:
        by = f"{len(self.domains.labels)} domains by {', '.join(self.by)}, " if self.by else ""
        return f"WeightedResults({self.method}, {by}k={len(self.categories)}, n={self.nobs})"

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
        equal = self.equal
        test = self.test_equal() if equal is not None and equal.is_testable else None
        persons = float((self._persons @ self.totals_law.estimate).sum())
        return weighted_summary(self, self.categories, test, persons, **how).layout()

    @names_alpha
    def plot(
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
        from ldpstats.models.shared.forest import plot_frequencies
        from ldpstats.models.weighted.plots import plot_domains

        frame = self.summary_frame(level(alpha))
        if self.by:
            if truth is not None:
                remedy = "goes without by=: select one domain with where(...)"
                raise InvalidArgument("truth", truth, remedy)
            how: Any = {"sort": sort, "most": most, "title": title}
            how |= {"category": category, "ax": ax, "figure": figure}
            return plot_domains(self.fit, self.domains, self.categories, frame, alpha, **how)
        if figure is not None:
            raise InvalidArgument("figure", figure, "goes with by=: pass ax= for one distribution")
        if category is not None:
            raise InvalidArgument("category", category, "goes with by=: there is one group only")
        return plot_frequencies(self.fit, frame, ax, alpha, truth, sort, most, title)

    def _stored(self) -> dict[str, Any]:
        free = None if self.superpopulation is self.totals_law else self.superpopulation
        return super()._stored() | {
            "superpopulation": maybe_to_dict(free),  # where nothing is corrected, once
            "categories": labels_to_json(self.categories),
            "mechanism": self.mechanism.to_dict(),
            "counted": self.counted.to_json(),
            "equal": maybe_to_dict(self.equal),
            "untested": self.untested,
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> WeightedResults:
        categories = labels_from_json("categories", document["categories"])
        common = cls._common(document)
        free = maybe_from_dict(Totals, document["superpopulation"])
        found = cls(
            **common,
            categories=categories,
            mechanism=mechanism_from_dict(document["mechanism"]),
            superpopulation=common["totals_law"] if free is None else free,
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
