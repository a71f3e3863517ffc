"""Strings that nobody listed: those that were found, and everything that was tested."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of, positive_integer, probability
from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.inference import multiplicity
from ldpstats.inference.selection import selected_intervals
from ldpstats.inference.tests import TestResult
from ldpstats.models.dictionary.record import (
    CANDIDATE_COLUMNS,
    Searched,
    Tested,
    candidates_table,
)
from ldpstats.models.dictionary.search.detection import (
    detectable,
    gram_stage,
    log_rivals,
    pair_stage,
    string_stage,
)
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.fit import Fit, Part
from ldpstats.models.shared.results import FittedResults
from ldpstats.models.shared.spelling import count_of, names_alpha
from ldpstats.models.shared.storage import maybe_from_dict, maybe_to_dict, record
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain, Unexplained

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["DictionaryResults", "dictionary_results"]

Array = npt.NDArray[Any]

_FIT = ("nobs", "n_missing", "settings")
_FRAMES = {
    "grams": ["start", "gram", "estimate", "se", "z"],
    "edges": ["start_1", "gram_1", "start_2", "gram_2", "estimate", "se"],
}
_PARTS = ("strings", "candidates", "fitted", "goodness_of_fit", "left_out", "pair_se", "test_se")
_PLAIN = (
    "survey",
    "nobs",
    "n_missing",
    "alpha",
    "n_excluded",
    "n_untested",
    "n_cut",
    "n_edges",
    "settings",
    "critical",
    "caution",
)


@dataclass(frozen=True, eq=False)
class DictionaryResults(FittedResults):
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
    _required = frozenset({*_PLAIN, *_FRAMES, *_PARTS})

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
        from ldpstats.inference.intervals import wald

        method = one_of("method", method, ("selected", "wald"))
        estimate, se = self.fitted.estimate, self.fitted.bse()
        if method == "wald":
            bounds = wald(estimate, se, level(alpha))
        else:
            bounds = selected_intervals(estimate, se, self._least, alpha)
        bounds = np.clip(bounds, 0.0, 1.0)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def _least(self) -> Array:
        """The estimate from which each accepted string would have been accepted."""
        from scipy.special import ndtri

        p = self.candidates["pvalue"].to_numpy()[self.tested.accepted]
        bound = -ndtri(self.alpha * self.tested.shares[self.tested.accepted])
        # the estimate over the z that has its p-value, which knows the skewness, is its noise
        with np.errstate(divide="ignore"):
            return np.asarray(self.fitted.estimate * bound / np.maximum(-ndtri(p), bound))

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
        kept, n_tested = self.grams.groupby("start"), self.n_tested
        critical = self.critical
        if sum(self.left_out):  # more significant grams took the place of those just beyond it
            full = [n > 0 for n in self.left_out]
            critical = max(critical, float(self._smallest_z[full].max()))
        se = kept["se"].median()
        mass = self.grams[["estimate", "se"]].max(axis=1).groupby(self.grams["start"]).sum()
        positions = self._survey.layout.n_positions
        if not n_tested or len(se) < positions:
            return pd.Series(np.nan, ["grams", "pairs", "test", "found"], name="detectable")
        stages = {
            "grams": gram_stage(float(se.max()), critical, positions),
            "pairs": pair_stage(self.pair_se, self.n_pairs, log_rivals(mass.to_numpy()), n_tested),
            "test": string_stage(self.test_se, self.alpha, n_tested),
        }
        found = {name: float(value) for name, value in detectable(stages, power).items()}
        return pd.Series(found, name="detectable")

    @property
    def _smallest_z(self) -> Array:
        """Of the grams that were kept at each position, shape (K,); 0 where there are none."""
        starts = list(self._survey.layout.starts)
        return self.grams.groupby("start")["z"].min().reindex(starts).fillna(0.0).to_numpy()

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

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """Lay out the strings that were found, and what was not, as a statsmodels summary.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Strings to show at most.
        details : bool
            Whether to show how the search was made too.
        """
        from ldpstats.models.dictionary.summary import POWER, dictionary_summary

        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        details = boolean("details", details)
        table = dictionary_summary(
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
        return table.layout()

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
        document = {name: getattr(self, name) for name in _PLAIN}
        document |= {
            "strings": self.candidates.index.tolist(),
            "candidates": self.candidates.to_dict(orient="list"),
            "fitted": self.fitted.to_dict(),
            "goodness_of_fit": maybe_to_dict(self.goodness_of_fit),
            "left_out": list(self.left_out),
            "pair_se": number_to_json(self.pair_se),
            "test_se": number_to_json(self.test_se),
        }
        return document | {name: getattr(self, name).to_dict(orient="list") for name in _FRAMES}

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> DictionaryResults:
        d = document
        columns = [d["candidates"][name] for name in CANDIDATE_COLUMNS]
        frames = {name: pd.DataFrame(d[name])[heads] for name, heads in _FRAMES.items()}
        given = d | frames | {"left_out": tuple(d["left_out"])}
        given["pair_se"] = number_from_json(d["pair_se"])
        return _results(
            Uncertain.from_dict(d["fitted"]),
            DictionarySurvey.from_dict(d["survey"]),
            Tested(
                candidates_table(pd.Index(d["strings"], dtype=object), *columns),
                d["alpha"],
                maybe_from_dict(TestResult, d["goodness_of_fit"]),
                number_from_json(d["test_se"]),
                d["caution"],
            ),
            record(Searched, given),
            **{name: d[name] for name in _FIT},
        )


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
    if fits is None:
        none = np.empty(0)
        frame = candidates_table(pd.Index([], dtype=object), none, none, none, none, support)
        fitted = Uncertain(none, Covariance.dense(np.empty((0, 0))))
        return _results(fitted, survey, Tested(frame, alpha, None, np.nan), searched, **given)
    linear, p, n = fits.linear, fits.presence_pvalues().to_numpy(), evidence.size
    estimates = linear.estimate[:n], linear.bse()[:n], p[:n]
    frame = candidates_table(fits.categories[:n], *estimates, evidence, support)
    assert fits.tally is not None  # of hashed candidates
    absent = fits.tally.absent(fits.k)[0][:n]  # noise, were they absent
    tested = Tested(frame, alpha, fits.goodness_of_fit, float(np.median(absent)), fits.caution)
    at = tested.accepted
    own = np.zeros((at.size, fits.k))
    own[np.arange(at.size), at] = 1.0
    fitted = Uncertain(linear.estimate[at], Covariance.dense(linear.known().transform(own)))
    return _results(fitted, survey, tested, searched, **given)


def _results(
    fitted: Uncertain, survey: DictionarySurvey, tested: Tested, searched: Searched, **given: Any
) -> DictionaryResults:
    """Results whose estimate is linear: `given` are `nobs`, `n_missing` and `settings`."""
    words = "least squares of the candidates" if tested.n_tested else "no candidates"
    if searched.n_cut:
        words += f"; the search was bounded, and dropped {searched.n_cut} partial strings"
    fit = Fit(
        fitted=fitted,
        linear=fitted,
        method="inversion",
        cov_type="linear",
        epsilon=float(survey.epsilon or 0.0),
        sources=(str(survey), str(survey.gram_mechanism), str(survey.string_mechanism)),
        message=words,
        **given,
    )
    return DictionaryResults(fit, survey.to_dict(), tested, searched)
