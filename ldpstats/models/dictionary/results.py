"""Strings that nobody listed: those that were found, and everything that was tested."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, one_of, positive_integer, probability
from ldpstats.inference import multiplicity
from ldpstats.inference.intervals import wald
from ldpstats.inference.selection import selected_intervals
from ldpstats.inference.tests import TestResult
from ldpstats.models.dictionary.detectable import detectable_frequencies
from ldpstats.models.dictionary.document import REQUIRED, from_document, to_document
from ldpstats.models.dictionary.record import Searched, Tested
from ldpstats.models.dictionary.recorded import fit_of, tested_strings
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.fit import Part
from ldpstats.models.shared.presentation import Summarised
from ldpstats.models.shared.results import FittedResults
from ldpstats.models.shared.spelling import count_of, names_alpha
from ldpstats.models.shared.tables import SummaryTable
from ldpstats.problems.estimates import Unexplained

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DictionaryResults", "dictionary_results"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DictionaryResults(Summarised, FittedResults):
    """Strings that were found and their frequencies.

    The reports of the grams proposed the candidates; those of whole strings tested them, with
    family-wise error at most `alpha` over all of them (Bonferroni, with shares of alpha that fall
    with the rank of a candidate). `params` holds the strings that were accepted, `candidates_frame`
    all that were tested.

    Intervals are those of strings that are only shown because their estimates were large: they
    cover with probability ``1 - alpha`` given that the string was accepted. The estimates
    themselves are too large on average where a string was just accepted, by a third and more where
    that was unlikely; `median_unbiased` are too large as often as too small.

    Attributes
    ----------
    params : Series
        Estimated frequencies of the accepted strings, the most frequent first.
    bse : Series
        Their standard errors.
    alpha : float
        Bound of the probability that any accepted string is held by nobody.
    nobs, n_missing : int
        Respondents, and those who gave no answer.
    grams : DataFrame
        Grams that were kept: `start` of the position, `gram`, `estimate`, `se` and `z`.
    edges : DataFrame
        Pairs of grams that are edges of the graph and in one of the strings that were tested, with
        their joint frequency and its standard error. `n_edges` counts all edges.
    goodness_of_fit : TestResult or None
        Whether the candidates, and answers that hash evenly, explain the reports of strings.
    unexplained : Unexplained
        Share of the respondents whose string was not found.
    n_excluded : int
        Strings that the caller's filter took out.
    n_untested, n_cut : int
        Strings beyond the number that is tested, and partial strings that the search dropped. Where
        it searched twice these are the strings of the second search, and the larger number.
    caution : str
        Why the family-wise error may be above `alpha`; empty where it is not.

    Methods
    -------
    conf_int, cov_params, summary_frame, summary, plot, plot_graph
        Intervals, covariances, and all of it as a table, in print or as a figure.
    to_frame, glance, to_maketables
        Tables of data: a row for each estimate, one row in all, and for the package maketables.
    detectable_at
        From which frequency on strings are found.
    t_test, wald_test
        Tests of contrasts of the accepted strings.
    to_dict, to_json, from_dict, from_json
        Storage; no report is in it.

    Examples
    --------
    >>> import numpy as np, ldpstats as ldp
    >>> survey = ldp.DictionarySurvey(length=6, gram=2, alphabet="abcde", epsilon=12.0)
    >>> rng = np.random.default_rng(1)
    >>> reports = survey.privatize(rng.choice(["abcade", "eedabc"], size=8_000), rng)
    >>> results = ldp.DictionaryModel(reports).fit(alpha=0.05)
    >>> results.summary_frame().round(3)
            params   bse  lower  upper  pvalue  edges
    abcade   0.502  0.01  0.482  0.522     0.0      3
    eedabc   0.495  0.01  0.476  0.515     0.0      3
    """

    survey: dict[str, Any]
    tested: Tested
    searched: Searched

    alpha = Part[float]("tested", "Bound of the probability that any string is held by nobody.")
    candidates = Part[pd.DataFrame]("tested", "The candidates; `candidates_frame` has more.")
    n_tested = Part[int]("tested", "Number of candidates that were tested.")
    goodness_of_fit = Part[TestResult | None]("tested", "Whether candidates explain the reports.")
    test_se = Part[float]("tested", "Standard error of the frequency of an absent string.")
    caution = Part[str]("tested", "Why the family-wise error may be above `alpha`.")
    grams = Part[pd.DataFrame]("searched", "Grams that were kept.")
    edges = Part[pd.DataFrame]("searched", "Edges in the strings that were tested.")
    n_edges = Part[int]("searched", "Number of all edges.")
    left_out = Part[tuple[int, ...]]("searched", "Grams beyond `max_grams`, at each position.")
    n_excluded = Part[int]("searched", "Strings that the filter took out.")
    n_untested = Part[int]("searched", "Strings beyond the number that is tested.")
    n_cut = Part[int]("searched", "Partial strings that the search dropped.")
    pair_se = Part[float]("searched", "Standard error of the frequency of a pair.")
    critical = Part[float]("searched", "The z from which a gram is kept.")

    _format = "ldpstats-dictionary-results"
    _required = REQUIRED

    def __repr__(self) -> str:
        return (
            f"DictionaryResults({count_of(self.k, 'string')} of {self.n_tested} tested, "
            f"alpha={self.alpha:g}, n={self.nobs}; {self.sources[0]})"
        )

    @property
    def index(self) -> pd.Index[Any]:
        return self.candidates.index[self.tested.accepted]

    @cached_property
    def _survey(self) -> DictionarySurvey:
        return DictionarySurvey.from_dict(self.survey)

    @property
    def n_pairs(self) -> int:
        """Pairs of positions: edges that a string has at most."""
        return len(self._survey.layout.pairs)

    # -- inference ---------------------------------------------------------------------------

    @property
    def pvalues(self) -> pd.Series[float]:
        """Adjusted p-values of the accepted strings, see `candidates_frame`."""
        return self.candidates_frame["pvalue_adjusted"].loc[list(self.index)].rename("pvalues")

    @names_alpha
    def conf_int(self, alpha: float = 0.05, method: str = "selected") -> pd.DataFrame:
        """Confidence intervals of the accepted strings, cut to [0, 1].

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        method : {"selected", "wald"}
            "selected" covers given that the string was accepted (see `selected_intervals`). "wald"
            would cover if the string had been named beforehand.
        """
        method = one_of("method", method, ("selected", "wald"))
        alpha, fitted = level(alpha), self.fitted
        if method == "wald":
            bounds = wald(fitted.estimate, fitted.bse(), alpha)
        else:
            bounds = selected_intervals(fitted.estimate, fitted.bse(), self._least, alpha)
        bounds = np.clip(bounds, 0.0, 1.0)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def _least(self) -> Array:
        return self.tested.least(self.fitted.estimate)

    @property
    def median_unbiased(self) -> pd.Series[float]:
        """Estimates that allow for the acceptance: above the truth as often as below it."""
        estimate, se = self.fitted.estimate, self.fitted.bse()
        ends = selected_intervals(estimate, se, self._least, 1.0 - 1e-9)  # of no width
        return self._series(np.clip(ends[:, 0], 0.0, 1.0), "median_unbiased")

    @cached_property
    def unexplained(self) -> Unexplained:
        """Share of the respondents whose string is not among the accepted ones."""
        total = np.ones((1, self.k))
        variance = self.fitted.known().transform(total)[0, 0] if self.k else 0.0
        return Unexplained(1.0 - float(self.fitted.estimate.sum()), float(np.sqrt(variance)))

    def detectable_at(self, power: float = 0.8) -> pd.Series[float]:
        """Frequencies from which a string passes each stage with probability `power`, about.

        Parameters
        ----------
        power : float
            In (0, 1).

        Returns
        -------
        Series
            "grams": all its grams are kept, if no other string has them. "pairs": its score is
            above that of most strings that chance makes of the kept grams. "test": its own reports
            are significant. "found": it passes all three. nan where a position has no gram, or no
            string was tested. What `width` and `max_candidates` leave out is not allowed for, nor
            that mixtures of frequent strings look as good as rare ones where grams are short.
        """
        power = probability("power", power, zero=False, one=False)
        return detectable_frequencies(self._survey.layout, self.tested, self.searched, power)

    # -- tables ------------------------------------------------------------------------------

    @cached_property
    def candidates_frame(self) -> pd.DataFrame:
        """All strings that were tested, in the order in which the grams proposed them.

        Columns: `estimate`, `se`, `pvalue` (one-sided, of frequency zero), `pvalue_adjusted`
        (Bonferroni: over the share of alpha that a candidate of this rank has), `accepted`,
        `evidence` (log odds against chance, from the grams alone, in nats and up to a constant;
        what the clearly held strings explain counts for no other) and
        `edges` (pairs of grams that support the string).
        """
        frame = self.candidates.copy()
        p = frame["pvalue"].to_numpy()
        adjusted = multiplicity.adjust(p, shares=self.tested.shares) if p.size else p
        frame.insert(3, "pvalue_adjusted", adjusted)
        accepted = np.zeros(len(frame), dtype=bool)
        accepted[self.tested.accepted] = True
        frame.insert(4, "accepted", accepted)
        return frame

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The accepted strings: estimate, standard error, interval, adjusted p-value, edges."""
        bounds = self.conf_int(alpha)
        tested = self.candidates_frame.loc[list(self.index)]
        return pd.DataFrame(
            {
                "params": self.params,
                "bse": self.bse,
                "lower": bounds["lower"],
                "upper": bounds["upper"],
                "pvalue": tested["pvalue_adjusted"],
                "edges": tested["edges"],
            }
        )

    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        from ldpstats.models.dictionary.summary import POWER, dictionary_summary

        return dictionary_summary(
            self.fit,
            self._survey,
            self.tested,
            self.searched,
            frame=self.summary_frame(alpha),
            unexplained=self.unexplained,
            detectable=self.detectable_at(POWER),
            n_biased=int((self.median_unbiased < 0.9 * self.params).sum()),
            alpha=alpha,
            max_rows=max_rows,
            details=details,
        )

    @names_alpha
    def plot(
        self,
        ax: Axes | None = None,
        alpha: float = 0.05,
        truth: Any = None,
        sort: bool | str = True,
        most: int = 25,
        title: str | None = None,
    ) -> Axes:
        """Draw the strings that were found with their intervals, beside the truth where known.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        truth : Series, optional
            True frequencies by string; those that were missed are drawn too.
        sort : bool
            Whether the most frequent string is on top; False (or "none") for alphabetical order.
        most : int
            Strings to draw at most, the most frequent ones.
        title : str, optional
            "" for none; by default what was found, and in how many reports.

        Raises
        ------
        InvalidArgument
            If `truth` is not a Series of frequencies by string, `ax` is not an Axes, or `sort`,
            `most` or `title` is invalid.
        """
        from ldpstats.models.dictionary.plots import plot_dictionary

        alpha, most = level(alpha), positive_integer("most", most)
        frame = self.summary_frame(alpha)
        return plot_dictionary(
            self.fit, self._survey, self.tested, frame, ax, alpha, truth, most, sort, title
        )

    def plot_graph(
        self, ax: Axes | None = None, max_strings: int | None = None, title: str | None = None
    ) -> Axes:
        """Draw the graph of grams, with the strings that were found as paths through it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        max_strings : int, optional
            Strings to draw at most, the most frequent ones; ten by default.
        title : str, optional
            "" for none; by default what was found, and in how many reports.

        Raises
        ------
        InvalidArgument
            If `max_strings` is not a positive integer, `ax` is not an Axes, or `title` is not text.
        """
        from ldpstats.models.dictionary.graph import plot_graph

        return plot_graph(
            self.fit, self._survey, self.tested, self.searched, self.params, ax, max_strings, title
        )

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return to_document(self.fit, self.survey, self.tested, self.searched)

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> DictionaryResults:
        return cls(*from_document(document))


def dictionary_results(
    fits: FrequencyResults | None,
    evidence: Array,
    support: npt.NDArray[np.int64],
    alpha: float,
    survey: DictionarySurvey,
    searched: Searched,
    **given: Any,
) -> DictionaryResults:
    """Results from the fit of all candidates to the reports of whole strings, if there are any.

    `evidence` and `support`, shape (c,), are the scores of the c candidates and the numbers of
    their edges. Strings beyond these c were fitted with them, and are not tested. `given` are
    `nobs`, `n_missing` and `settings`.
    """
    tested, fitted = tested_strings(fits, evidence, support, alpha)
    fit = fit_of(fitted, survey, tested, searched, **given)
    return DictionaryResults(fit, survey.to_dict(), tested, searched)
