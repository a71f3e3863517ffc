"""Strings that were found without a list, with their tests, intervals and summary."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    level,
    one_of,
    positive_integer,
    probability,
    record,
)
from ldpstats.inference import tests as multiplicity
from ldpstats.inference.intervals import wald
from ldpstats.inference.tests import TestResult, pvalue_text, selected_intervals
from ldpstats.labels import Labels
from ldpstats.likelihood.covariance import Covariance, Uncertain, Unexplained
from ldpstats.models.dictionary.search import (
    STAGES,
    PairTable,
    ScreenedGrams,
    detectable,
    gram_stage,
    log_rivals,
    pair_stage,
    string_stage,
)
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.layout import (
    Body,
    Cells,
    Fit,
    Frame,
    Heading,
    Pair,
    Table,
    count_of,
    figures,
    interval_columns,
    title,
)
from ldpstats.models.plots import title_text
from ldpstats.models.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CANDIDATE_COLUMNS = ("estimate", "se", "pvalue", "evidence", "edges")
_EVEN = 20  # candidates that get about the same share of alpha
_POWER = 0.8  # with which a summary says that strings are found

# fields as JSON has them
_FRAMES = {
    "grams": ["start", "gram", "estimate", "se", "z"],
    "edges": ["start_1", "gram_1", "start_2", "gram_2", "estimate", "se"],
}


@record
class DictionaryResults(Results):
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
    candidates: pd.DataFrame  # in the order in which the grams proposed them
    alpha: float
    goodness_of_fit: TestResult | None
    test_se: float  # standard error of the frequency of a string that nobody holds
    caution: str
    grams: pd.DataFrame
    edges: pd.DataFrame
    n_edges: int
    left_out: tuple[int, ...]  # significant grams of each position that were not kept
    n_excluded: int
    n_untested: int
    n_cut: int
    pair_se: float  # standard error of the frequency of a pair
    critical: float  # the z from which a gram is kept

    _format = "ldpstats-dictionary-results"
    _document = (
        *("survey", "nobs", "n_missing", "alpha", "n_excluded", "n_untested", "n_cut", "n_edges"),
        *("settings", "critical", "caution", "strings", "candidates", "fitted"),
        *("goodness_of_fit", "left_out", "pair_se", "test_se", "grams", "edges"),
    )

    def __repr__(self) -> str:
        return (
            f"DictionaryResults({count_of(self.k, 'string')} of {self.n_tested} tested, "
            f"alpha={self.alpha:g}, n={self.nobs}; {self.sources[0]})"
        )

    @property
    def index(self) -> Labels:
        return self.candidates.index[self._accepted]

    @cached_property
    def _accepted(self) -> npt.NDArray[np.int64]:
        return accepted(self.candidates, self.alpha)

    @property
    def n_tested(self) -> int:
        """Number of candidates that were tested."""
        return len(self.candidates)

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
        """From which estimate on each accepted string would be accepted, (k,)."""
        from scipy.special import ndtri

        p = self.candidates["pvalue"].to_numpy()[self._accepted]
        bound = -ndtri(self.alpha * shares(self.n_tested)[self._accepted])
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
        layout, grams, critical = self._survey.layout, self.grams, self.critical
        kept, positions, n_tested = grams.groupby("start"), layout.n_positions, self.n_tested
        if sum(self.left_out):  # more significant grams took the place of those just beyond it
            full = [n > 0 for n in self.left_out]
            # of the grams that were kept at each position; 0 where there are none
            smallest = kept["z"].min().reindex(list(layout.starts)).fillna(0.0).to_numpy()
            critical = max(critical, float(smallest[full].max()))
        se = kept["se"].median()
        mass = grams[["estimate", "se"]].max(axis=1).groupby(grams["start"]).sum()
        if not n_tested or len(se) < positions:
            return pd.Series(np.nan, ["grams", "pairs", "test", "found"], name="detectable")
        rivals = log_rivals(mass.to_numpy())
        stages = {
            "grams": gram_stage(float(se.max()), critical, positions),
            "pairs": pair_stage(self.pair_se, len(layout.pairs), rivals, n_tested),
            "test": string_stage(self.test_se, self.alpha, n_tested),
        }
        frequencies = {name: float(value) for name, value in detectable(stages, power).items()}
        return pd.Series(frequencies, name="detectable")

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
        adjusted = multiplicity.adjust(p, shares=shares(p.size)) if p.size else p
        frame.insert(3, "pvalue_adjusted", adjusted)
        frame.insert(4, "accepted", np.isin(np.arange(len(frame)), self._accepted))
        return Table(frame)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The accepted strings: estimate, standard error, interval, adjusted p-value, edges."""
        tested = self.candidates_frame.loc[list(self.index)]
        frame = self.conf_int(alpha).assign(pvalue=tested["pvalue_adjusted"], edges=tested["edges"])
        frame.insert(0, "params", self.params)
        frame.insert(1, "bse", self.bse)
        return frame

    def _estimate_cells(self, shown: Frame, frame: Frame, alpha: float, details: bool) -> Cells:
        heads, cells = ["estimate", "std err", *interval_columns(alpha), "adj. p-value"], []
        for *values, p, edges in shown.to_numpy():
            support = [f"{int(edges)} of {self.n_pairs}"] * details
            cells.append([*figures(values, 4), pvalue_text(p), *support])
        words = "edges: pairs of its grams whose joint frequency is above the threshold."
        return heads + ["edges"] * details, cells, words * details

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        if cells:
            return super()._body(shown, heads, cells)
        return heads, ["(no string was accepted)"], [["-"] * len(heads)]

    def _heading(self) -> Heading:
        rest, kinds = self.unexplained, ("Survey:", "Grams by:", "Strings by:")
        left: list[Pair] = [
            *zip(kinds, self.sources, strict=True),
            ("Not found:", f"{rest.estimate:.4f} (std err {rest.bse:.4f})"),
        ]
        right: list[Pair] = [
            ("No. Respondents:", self.nobs),
            ("Missing:", self.n_missing),
            ("Epsilon, all (nats):", self.epsilon),
            ("Strings tested:", self.n_tested),
        ]
        return f"{title(self, 'Strings', '')} found without a list", left, right

    def _computed(self) -> tuple[list[Pair], list[Pair]]:
        kept, split = self.grams.groupby("start").size(), self._survey.split
        spread = f"{kept.min()} to {kept.max()} a position" if len(kept) else "none"
        left = [("Search:", self.settings), ("Grams kept:", spread), ("Edges:", self.n_edges)]
        each = ("gram", split[1]), ("string", split[0])
        return left, [(f"Epsilon of a {what}:", f"{s * self.epsilon:.4g}") for what, s in each]

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        survey = self._survey
        others = f", characters outside the alphabet as {survey.replace!r}" * bool(survey.replace)
        notes = [
            "Accepted: strings whose own reports reject a frequency of zero; the probability that "
            f"even one of them is held by nobody is at most about {self.alpha:g} (Bonferroni over "
            "all tested, with larger shares for higher scores).",
            f"Intervals: {100 * (1 - alpha):.4g}% given that the string was accepted, cut to "
            "[0, 1].",
            "Strings are as the survey reads them: cut to "
            f"{survey.layout.length} characters{others}.",
            source,
        ]
        more = f"WARNING: {self.caution}: more strings that nobody holds may be accepted than that."
        return list(filter(None, [*notes, more * bool(self.caution)]))

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        notes = []
        if n_biased := int((self.median_unbiased < 0.9 * self.params).sum()):
            notes.append(
                f"WARNING: {n_biased} of the estimates are just large enough to be accepted, and "
                "too large on average; median_unbiased and the intervals allow for that."
            )
        notes += self._recall_notes() if self.n_tested else [self._nothing_tested()]
        if self.n_untested:
            notes.append(f"NOTE: {self.n_untested} strings with lower scores were not tested.")
        if self.n_cut:
            notes.append(
                f"NOTE: the search dropped {self.n_cut} partial strings with low scores; some "
                "candidates may have been missed."
            )
        if self.n_excluded:
            notes.append(f"NOTE: the filter excluded {self.n_excluded} strings.")
        if above := sum(self.left_out):
            notes.append(f"NOTE: {above} more grams stood out than max_grams allows.")
        return notes

    def _recall_notes(self) -> list[str]:
        """What can be found with so many respondents at such an epsilon, and what is missing."""
        n, rest, frequencies = self.nobs, self.unexplained.estimate, self.detectable_at(_POWER)
        bounded = self.n_untested or self.n_cut or sum(self.left_out)  # by a limit of the search
        least = float(frequencies["found"])
        limit = f"what limits it is {STAGES[str(frequencies.drop('found').idxmax())]}."
        if least > 1.0:
            luck = "anything found is a chance finding" if self.k else "no string was found"
            return [
                f"WARNING: too few respondents: {luck}. n = {n} is too small at epsilon = "
                f"{self.epsilon:.4g} even for a string that all respondents hold; {limit} It takes "
                f"about {least**2:.2g} times as many to find it with probability {_POWER:g}."
            ]
        conditions = ["the search reaches them"] if bounded else []
        if least * self._survey.layout.n_grams < 1.0:  # mixtures of other strings look as good
            conditions.append("few frequent strings share their grams")
        provided = f", if {' and '.join(conditions)}" if conditions else ""
        notes = [
            f"Strings of a frequency of about {least:.2g} or more are found with probability "
            f"{_POWER:g} at this n and epsilon{provided}; {limit}"
        ]
        if not self.k:
            notes.append(
                f"WARNING: too few respondents: no string was found. n = {n} is too small for "
                f"strings that are rarer than about {least:.2g}: to find those half as frequent "
                "takes four times as many."
            )
        elif rest > 2.0 * least:
            causes = [f"each is too rare for n = {n}"]
            causes += ["the filter excluded them"] if self.n_excluded else []
            causes += ["max_grams, max_candidates or width cut them off"] if bounded else []
            notes.append(
                f"WARNING: about {100 * rest:.0f}% of the respondents hold strings that were not "
                f"found, because {', or '.join(causes)}. To find strings half as frequent takes "
                "four times as many respondents."
            )
        return notes

    def _nothing_tested(self) -> str:
        """Why no string was tested."""
        few = "WARNING: too few respondents:"
        if self.grams["start"].nunique() < self._survey.layout.n_positions:
            return (
                f"{few} the noise leaves some position without any gram, so that no string could "
                f"be tested. n = {self.nobs} is too small at epsilon = {self.epsilon:.4g}: collect "
                "more reports, or spend more epsilon."
            )
        if self.n_untested:
            return (
                f"{few} the reports of n = {self.nobs} whole strings cannot tell any two of the "
                "candidates apart, so that none was tested."
            )
        if self.n_excluded:
            return (
                f"WARNING: nothing was tested: the filter keeps none of the {self.n_excluded} "
                "strings."
            )
        return (
            f"{few} with n = {self.nobs} the pairs of grams are so uncertain that no string stands "
            "out, or none has all its pairs above the threshold; no string was tested."
        )

    def _title(self, title: str | None) -> str:
        """What was found, of whom, and with which privacy."""
        found = f"{count_of(self.k, 'string')} found of {self.n_tested} tested"
        about = f"{found}; n = {self.nobs:,}, epsilon = {self.epsilon:.4g}"
        return title_text(title, "\n".join([*filter(None, [self.name]), about]))

    def plot(  # type: ignore[override]  # another kind of plot
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
        from ldpstats.models.dictionary.plots import plot_dictionary, read_truth

        alpha, most = level(alpha), positive_integer("most", most)
        true = None if truth is None else read_truth(self._survey, truth)
        frame = self.summary_frame(alpha)
        return plot_dictionary(frame, true, ax, alpha, most, sort, self._title(title))

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
        from ldpstats.models.dictionary.plots import MOST_STRINGS, plot_graph

        most = MOST_STRINGS if max_strings is None else positive_integer("max_strings", max_strings)
        title, shown = self._title(title), self.params.iloc[:most]
        hidden = self.k - len(shown)
        return plot_graph(
            self._survey, self.grams, self.edges, self.n_edges, shown, hidden, ax, title
        )

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return super()._stored() | {"strings": self.candidates.index.tolist()}

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> DictionaryResults:
        columns = (values["candidates"][name] for name in CANDIDATE_COLUMNS)
        values |= {name: values[name][heads] for name, heads in _FRAMES.items()}
        strings = pd.Index(values["strings"], dtype=object)
        values["candidates"] = candidates_table(strings, *columns)
        survey = DictionarySurvey.from_dict(values["survey"])
        rest = {name: values[name] for name in ("nobs", "n_missing", "settings")}
        fit = fit_of(values["fitted"], survey, len(strings), values["n_cut"], **rest)
        return super()._restored(values | vars(fit) | {"survey": survey.to_dict()})


# -- The tests of the candidates ------------------------------------------------------------------


def shares(n: int) -> Array:
    """Shares of alpha of n candidates, in the order in which the grams proposed them."""
    # The reports of whole strings have no part in the order: any shares that add up to one keep the
    # family-wise error. So a long list costs those at its beginning little.
    share = 1.0 / (_EVEN + np.arange(n))
    return np.asarray(share / share.sum())


def accepted(candidates: pd.DataFrame, alpha: float) -> npt.NDArray[np.int64]:
    """Places of the candidates that the test accepts, the most frequent first."""
    if candidates.empty:
        return np.empty(0, dtype=np.int64)
    p = candidates["pvalue"].to_numpy()
    passed = np.flatnonzero(multiplicity.reject(p, alpha, shares=shares(p.size)))
    return passed[np.argsort(-candidates["estimate"].to_numpy()[passed], kind="stable")]


def candidates_table(strings: Labels, *columns: Any) -> pd.DataFrame:
    """The strings that were tested; the last of the columns counts, the others measure."""
    kinds = [np.float64] * 4 + [np.int64]
    values = [np.asarray(v, dtype=kind) for v, kind in zip(columns, kinds, strict=True)]
    return pd.DataFrame(dict(zip(CANDIDATE_COLUMNS, values, strict=True)), index=strings)


def tested_strings(
    fits: FrequencyResults | None,
    evidence: Array,
    support: npt.NDArray[np.int64],
    alpha: float,
) -> tuple[dict[str, Any], Uncertain]:
    """Tests of the c candidates, of this evidence and support, (c,); estimates of those accepted.

    `fits` is the fit of all, if any, to reports of whole strings; those beyond c are not tested.
    """
    n, none = evidence.size, np.empty(0)
    fields: dict[str, Any] = {"goodness_of_fit": None, "test_se": np.nan, "caution": ""}
    strings: Labels = pd.Index([], dtype=object)
    estimates: tuple[Array, ...] = (none, none, none)
    fitted = Uncertain(none, Covariance.dense(np.empty((0, 0))))
    if fits is not None:
        linear, p = fits.linear, fits.presence_pvalues().to_numpy()
        strings, estimates = fits.categories[:n], (linear.estimate[:n], linear.bse()[:n], p[:n])
        assert fits.tally is not None  # of hashed candidates
        absent = fits.tally.absent(fits.k)[0][:n]  # noise, were they absent
        fields = {"goodness_of_fit": fits.goodness_of_fit, "test_se": float(np.median(absent))}
        fields["caution"] = fits.caution
    frame = candidates_table(strings, *estimates, evidence, support)
    if fits is not None:
        at = accepted(frame, alpha)
        V = Covariance.dense(linear.known().transform(np.eye(fits.k)[at]))
        fitted = Uncertain(linear.estimate[at], V)
    return fields | {"alpha": alpha, "candidates": frame}, fitted


def fit_of(
    fitted: Uncertain, survey: DictionarySurvey, n_tested: int, n_cut: int, **given: Any
) -> Fit:
    """The record of an estimate that is linear: `given` are `nobs`, `n_missing` and `settings`."""
    words = "least squares of the candidates" if n_tested else "no candidates"
    if n_cut:
        words += f"; the search was bounded, and dropped {n_cut} partial strings"
    return Fit(
        fitted=fitted,
        linear=fitted,
        method="inversion",
        cov_type="linear",
        epsilon=float(survey.epsilon or 0.0),
        sources=(str(survey), str(survey.gram_mechanism), str(survey.string_mechanism)),
        message=words,
        **given,
    )


# -- as tables: grams that were kept, and edges between them ---------------------------------------


def grams_frame(screened: list[ScreenedGrams], starts: tuple[int, ...]) -> pd.DataFrame:
    """The grams that were kept, position by position."""
    frames = []
    for start, kept in zip(starts, screened, strict=True):
        columns = {"estimate": kept.estimate, "se": kept.se, "z": kept.z}
        frames.append(pd.DataFrame({"start": start, "gram": list(map(str, kept.grams)), **columns}))
    return pd.concat(frames, ignore_index=True)


def edges_frame(
    screened: list[ScreenedGrams],
    tables: dict[tuple[int, int], PairTable],
    graph: dict[tuple[int, int], Array],
    starts: tuple[int, ...],
    members: Array,
) -> pd.DataFrame:
    """The edges of the graph that are in one of some strings, given by their grams."""
    frames = []
    for (a, b), present in graph.items():
        in_strings = np.zeros_like(present)
        in_strings[members[:, a], members[:, b]] = True
        s, t = np.nonzero(present & in_strings)
        ends: dict[str, Any] = {}
        for side, position, at in (("1", a, s), ("2", b, t)):
            ends[f"start_{side}"] = starts[position]
            ends[f"gram_{side}"] = list(map(str, screened[position].grams[at]))
        table = tables[a, b]
        ends |= {"estimate": table.estimate[s, t], "se": table.se[s, t]}
        frames.append(pd.DataFrame(ends))
    return pd.concat(frames, ignore_index=True)
