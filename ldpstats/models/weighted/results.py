"""Weighted frequencies of one privatised variable, in a whole population or in domains of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import boolean, distribution, level, positive_integer
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.linearisation import Totals
from ldpstats.inference.designs.tests import Counted, RaoScott, fit_to, metric
from ldpstats.inference.tests import TestResult
from ldpstats.labels import align, labels_from_json, labels_to_json
from ldpstats.mechanisms import mechanism_from_dict
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Fit,
    Pair,
    SummaryTable,
    closing_notes,
    count_of,
    decimals,
    design_pairs,
    distinct_lines,
    estimate_cells,
    estimate_columns,
    estimator_text,
    figures,
    header,
    largest,
    names_alpha,
    protection_notes,
    pvalue_words,
    resolution_notes,
    respondents_pairs,
    rest_notes,
    second_shown,
    second_words,
    title,
    touch_ends,
)
from ldpstats.models.plots import plot_by_group
from ldpstats.models.storage import maybe_from_dict, maybe_to_dict
from ldpstats.models.weighted.estimates import (
    DesignResults,
    Domains,
    DomainShares,
    SampleFacts,
    check_estimates,
    check_shapes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from statsmodels.iolib.summary import Summary

__all__ = ["WeightedResults", "effect_cells", "effect_columns", "sample_notes", "sample_pairs"]


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
        from ldpstats.models.plots import plot_frequencies

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


# -- The summary of weighted frequencies ----------------------------------------------------------


def weighted_summary(
    results: DesignResults,
    categories: pd.Index[Any],
    equal: TestResult | None,
    persons: float,
    *,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of weighted frequencies: a block of rows for each domain.

    `persons` is the sum of the weights of those with a report, in all domains.
    """
    frame = results.summary_frame(alpha)
    shown = largest(frame, max_rows)
    digits, both = decimals(shown), second_shown(frame, details)
    stubs, body = _rows(results.domains, categories, shown, (digits, both))
    fit, by = results.fit, results.domains.by
    what = title(fit, "Weighted frequencies") + (f" by {', '.join(by)}" if by else "")
    left = [*design_pairs(fit), ("Estimator:", estimator_text(fit)), *sample_pairs(results)]
    return SummaryTable(
        title=what,
        header=header(left, _right(results), fit if details else None),
        columns=[*estimate_columns(alpha, both), *effect_columns()],
        stubs=stubs,
        body=body,
        notes=[
            *sample_notes(results, frame, alpha, second_words(frame, both, digits)),
            *rest_notes(len(shown), len(frame)),
            *_answer_notes(results, persons),
            *_domain_notes(results.domains, equal),
            *protection_notes(fit),
            *([] if by else resolution_notes(fit)),
            *closing_notes(fit, 1.0),
        ],
    )


def _rows(
    domains: Domains, categories: pd.Index[Any], shown: pd.DataFrame, how: tuple[int, bool]
) -> tuple[list[str], list[list[str]]]:
    """Stubs and cells; with domains each under its label."""
    cells = [
        row + effects
        for row, effects in zip(estimate_cells(shown, *how), effect_cells(shown), strict=True)
    ]
    if not domains.by:
        return distinct_lines(shown.index, LONGEST_LABEL), cells
    stubs: list[str] = []
    body: list[list[str]] = []
    own = [label[:-1] for label in shown.index]
    lines = distinct_lines(categories, LONGEST_LABEL)
    names = [lines[place] for place in categories.get_indexer(shown.index.get_level_values(-1))]
    for label, size in zip(domains.labels, domains.sizes, strict=True):
        rows = [i for i, one in enumerate(own) if one == tuple(label)]
        if rows:
            stubs.append(f"{', '.join(map(str, label))} (n = {size})")
            body.append([""] * len(cells[0]))
            stubs += [f"  {names[i]}" for i in rows]
            body += [cells[i] for i in rows]
    return stubs, body


def effect_columns() -> list[str]:
    """Heads of the two factors of the design effect."""
    return ["deff design", "deff privacy"]


def effect_cells(frame: pd.DataFrame) -> list[list[str]]:
    """The cells below `effect_columns`."""
    return [figures(row, 2) for row in frame[["deff_design", "deff_privacy"]].to_numpy()]


def sample_pairs(results: DesignResults) -> list[Pair]:
    """How the sample was drawn."""
    facts = results.sample
    pairs = [("Design:", facts.design), ("Variance:", facts.variance)]
    if facts.n_units:
        units = f"{facts.n_units} in {facts.n_strata} " + (
            "strata" if facts.n_strata > 1 else "stratum"
        )
        pairs.append(("Units:", units))
    return pairs


def _right(results: DesignResults) -> list[Pair]:
    facts: SampleFacts = results.sample
    return [
        *respondents_pairs(results.fit),
        ("Sum of weights:", f"{facts.weight_sum:,.6g}"),
        ("Df of design:", f"{facts.df:g}"),
    ]


def sample_notes(
    results: DesignResults, frame: pd.DataFrame, alpha: float, source: str
) -> list[str]:
    """What intervals are, and what the design effects say."""
    df = results.df.to_numpy()
    cut = ", cut to [0, 1]" if touch_ends(frame) else ""
    law = f"{results.intervals}, t quantiles"
    kind = (
        f"{100 * (1 - alpha):.4g}% {law} with {_range(*np.maximum([df.min(), df.max()], 1.0))} df"
    )
    kind += " of each domain" * bool(results.domains.by)
    notes = [f"Intervals: {kind}{cut}{source}."]
    notes.append(
        "deff design: variance without noise over that of a simple random sample; deff privacy: "
        "variance over that without noise."
    )
    inner = (frame["lower"] > 0.0) & (frame["upper"] < 1.0)  # of others it is mostly chance
    known = frame["effective_n"][inner].dropna()
    if len(known):
        low, high = known.min(), known.max()
        notes.append(
            f"Effective sample size: {_range(low, high)} true answers of a simple random sample."
        )
    notes += _noise_notes(frame)
    if np.any(df < 1.0):
        notes.append(
            "WARNING: a domain lies in a single unit of each stratum, which shows little or "
            "nothing of its variance: its intervals are for one df."
        )
    return notes


def _range(low: float, high: float) -> str:
    """Two numbers without decimals, or one if they are alike."""
    ends = dict.fromkeys(f"{end:,.0f}" for end in (low, high))
    return " to ".join(ends)


def _noise_notes(frame: pd.DataFrame) -> list[str]:
    """Where the noise leaves little or nothing to estimate the design effect from.

    A variance on so many degrees of freedom has a relative standard error of sqrt(2 / df).
    """
    spread = frame["deff_privacy"] * np.sqrt(2.0 / np.maximum(frame["df"], 1.0))
    doubtful = int(((frame["deff_privacy"] > 2.0) & (spread > 0.5)).sum())
    notes = []
    if frame["deff_design"].isna().any():
        notes.append(
            "NOTE: -: not estimable, as the noise leaves no variance for the design, or the "
            "estimate is not between 0 and 1."
        )
    if doubtful:
        whose = f"those of {count_of(doubtful, 'estimate')}" if doubtful < len(frame) else "both"
        notes.append(
            "NOTE: where the noise has most of the variance, deff design and deff privacy are "
            f"rough, here {whose}; their product is not."
        )
    return notes


def _answer_notes(results: DesignResults, persons: float) -> list[str]:
    """The sum of the weights that totals rest on, where some did not answer."""
    if not results.fit.n_missing:
        return []
    where = " and are in a domain" if results.domains.by and results.domains.n_ungrouped else ""
    return [f"Totals are of those who answered{where}: the sum of their weights is {persons:,.6g}."]


def _domain_notes(domains: Domains, equal: TestResult | None) -> list[str]:
    """Who is in no domain, and whether domains are alike."""
    notes = []
    if domains.n_ungrouped:
        notes.append(f"NOTE: {domains.n_ungrouped} respondents are in no domain.")
    if equal is not None:
        words = f"{equal.method}): {pvalue_words(equal.pvalue)}"
        notes.append(f"Same distribution in all domains ({words}.")
    return notes


# -- Plots of weighted frequencies in domains -----------------------------------------------------


def plot_domains(
    fit: Fit,
    domains: Domains,
    categories: pd.Index[Any],
    frame: pd.DataFrame,
    alpha: float,
    **how: Any,
) -> Any:
    """Frequencies with intervals: each domain on axes of its own, or one category on one axes."""
    k = len(categories)
    frames = {
        label: frame.iloc[i * k : (i + 1) * k].set_axis(categories)
        for i, label in enumerate(domains.labels)
    }
    return plot_by_group(frames, alpha, fit.name, domains.by, domains.sizes.tolist(), **how)
