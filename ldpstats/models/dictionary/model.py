"""Strings that nobody listed: found in the reports of their grams, tested on those of the whole.

`DictionaryModel.fit` runs the search (`search`) and the test; `DictionaryResults` are what it
found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import level, one_of, positive_integer, positive_number, probability
from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.inference import tests as multiplicity
from ldpstats.inference.intervals import wald
from ldpstats.inference.tests import TestResult, selected_intervals
from ldpstats.likelihood.hashed import LARGEST_DENSE
from ldpstats.likelihood.tallies import Unexplained
from ldpstats.models.dictionary.presentation import (
    POWER,
    dictionary_summary,
    plot_dictionary,
    plot_graph,
)
from ldpstats.models.dictionary.record import (
    REQUIRED,
    Searched,
    Tested,
    edges_frame,
    fit_of,
    from_document,
    grams_frame,
    pair_errors,
    tested_strings,
    to_document,
)
from ldpstats.models.dictionary.search import (
    SEARCHES,
    Advance,
    ScreenedGrams,
    between,
    candidates,
    counted,
    detectable,
    edges,
    gram_stage,
    least_frequency,
    log_rivals,
    pair_stage,
    pair_tables,
    position_counts,
    screen,
    search_again,
    silent,
    string_stage,
)
from ldpstats.models.dictionary.survey import DictionaryReports, DictionarySurvey
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.frequency.tests import (
    MISFIT,
    goodness_of_fit,
    impossible,
    shown,
    warn_of_doubts,
)
from ldpstats.models.layout import Part, SummaryTable, count_of, names_alpha
from ldpstats.models.plots import progress_bar
from ldpstats.models.results import Results
from ldpstats.reports.single import BitCounts, Counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DictionaryModel", "DictionaryResults"]


Array = npt.NDArray[Any]

_TESTABLE = 3.0  # standard errors


class DictionaryModel:
    """Frequent strings of a dictionary that is not known (FPE16 section IV).

    The reports of the grams alone say which strings to test: the grams that stand out at each
    position, their joint frequencies for each pair of positions, and the strings that these speak
    for. The reports of whole strings, whose noise played no part in that, then test those
    candidates, with control of the family-wise error over all of them.

    Parameters
    ----------
    reports : DictionaryReports
        What was collected.
    keep : str, compiled regular expression or callable, optional
        What strings can be: an expression that must match the whole string, or a function from a
        string to bool. Candidates that are not are never tested; that respondents may hold them is
        allowed for all the same.

    Raises
    ------
    InvalidArgument
        If `reports` is not a DictionaryReports or is empty, or `keep` is not a valid regular
        expression.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> survey = ldp.DictionarySurvey(length=6, gram=2, alphabet="abcde", epsilon=12.0)
    >>> words = rng.choice(["abcade", "eedabc", "bad"], 6_000, p=[0.5, 0.3, 0.2])
    >>> DictionaryModel(survey.privatize(words, rng)).fit().params.round(1)
    abcade    0.5
    eedabc    0.3
    bad       0.2
    Name: params, dtype: float64
    """

    def __init__(self, reports: DictionaryReports, keep: Any = None) -> None:
        if not isinstance(reports, DictionaryReports):
            raise InvalidArgument(
                "reports", reports, "must be DictionaryReports, as DictionarySurvey.privatize makes"
            )
        if not len(reports):
            raise InvalidArgument("reports", 0, "hold no report: there is nothing to find")
        self.reports = reports
        self.keep = keep
        predicate(keep)  # refused before the work begins; a function could not be pickled

    def __repr__(self) -> str:
        return f"DictionaryModel({self.reports.survey}; n={self.nobs})"

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return len(self.reports)

    @cached_property
    def _positions(self) -> list[Counts | BitCounts]:
        """Counts of the grams of each position; sums of bits do."""
        layout, bits = self.reports.survey.layout, self.reports.survey.gram_mechanism.n_bits
        counts = [position_counts(self.reports, a) for a in range(layout.n_positions)]
        return [c.bit_counts() for c in counts] if bits else list(counts)

    @cached_property
    def _strings(self) -> Counts | BitCounts:
        string = self.reports.string
        return string.tally(bits=bool(string.mechanism.n_bits))

    def fit(
        self,
        alpha: float = 0.05,
        threshold: str | float = "standard",
        search: str = "likelihood",
        false_grams: float = 50.0,
        max_grams: int = 200,
        max_candidates: int = 500,
        width: int = 10_000,
        progress: Progress | bool | None = None,
    ) -> DictionaryResults:
        """Find strings and test them.

        Parameters
        ----------
        alpha : float
            Probability of accepting any string that no respondent holds, over all candidates.
        threshold : {"standard", "fpe16"} or float
            Pairs of grams that are edges of the graph: "standard", half a standard error of the
            pair; "fpe16", the formula as printed, which has the noise of one bit of all reports; or
            a frequency.
        search : {"likelihood", "cliques"}
            "likelihood" grows strings by their log odds over all pairs (see
            `ldpstats.models.dictionary.search`), of which none is decisive: edges are only
            counted. Where there are more strings than can be tested it searches twice: first for
            frequent strings, then for what these cannot explain. "cliques" takes the strings all of
            whose pairs are edges (FPE16 IV-A, step 7).
        false_grams : float
            Expected number of grams that are kept at a position though they are absent; .05 is
            Bonferroni's bound, as FPE16 has it.
        max_grams : int
            Grams of a position that are kept at most.
        max_candidates : int
            Strings that are tested at most, those with the highest scores; half as many, or less,
            where the reports of whole strings cannot tell so many apart.
        width : int
            Beginnings of strings that the search follows at most, or `max_candidates` where that is
            more. `n_cut` counts what it drops, and `message` says so.
        progress : bool or callable, optional
            True shows a bar on standard error. A function is called as ``progress(stage,
            fraction)``, many times in each of the stages "grams", "pairs", "search" and "test";
            the fraction is that of all the work, and never falls.

        Returns
        -------
        DictionaryResults

        Raises
        ------
        InvalidArgument
            If `alpha`, `threshold`, `search`, a bound or `progress` is invalid, or the filter
            raises.
        NotIdentified
            Where the reports cannot tell grams apart.

        Warns
        -----
        MisfitWarning
            When no strings whatever could make the reports (p < .001): strings that were not found
            are no misfit.
        """
        alpha = level(alpha)
        search = one_of("search", search, SEARCHES)
        false_grams = positive_number("false_grams", false_grams, (1e-9, np.inf))
        max_grams = positive_integer("max_grams", max_grams)
        max_candidates = positive_integer("max_candidates", max_candidates)
        if max_candidates > LARGEST_DENSE // 2:
            remedy = f"must be at most {LARGEST_DENSE // 2}: all are fitted together"
            raise InvalidArgument("max_candidates", max_candidates, remedy)
        width = max(positive_integer("width", width), max_candidates)
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            remedy = "must be True, or a function of stage and fraction"
            raise InvalidArgument("progress", progress, remedy)
        survey, nobs = self.reports.survey, self.nobs
        layout, grams = survey.layout, survey.gram_mechanism
        least_frequency(threshold, grams, nobs)  # refused before the work begins
        settings = [
            f"search={search}",
            f"threshold={threshold if isinstance(threshold, str) else f'{threshold:g}'}",
            f"false_grams={false_grams:g}",
            f"max_candidates={max_candidates}",
        ]
        if self.keep is not None:
            pattern = self.keep.pattern if isinstance(self.keep, re.Pattern) else self.keep
            settings.append(f"keep={pattern if isinstance(pattern, str) else 'a function'}")
        with progress_bar("discovering") if progress is True else nullcontext() as bar:
            tell = None if isinstance(progress, bool) else progress
            if bar is not None:
                tell = lambda name, fraction: bar(fraction, name)  # noqa: E731
            with stage(tell, "grams") as advance:
                screened = screen(grams, self._positions, layout, false_grams, max_grams, advance)
            with stage(tell, "pairs") as advance:
                tables = pair_tables(self.reports, screened, advance)
                graph = edges(tables, threshold, grams, nobs)
            with stage(tell, "search") as advance:
                # below this frequency a string has next to no chance to pass its test; absent
                # strings have the same noise but for chance: any will do, taken as absent
                counts: Any = self._strings
                problem = counts.mechanism.moments(counts, [layout.alphabet[0] * layout.length])
                least = _TESTABLE * float(np.sqrt(problem.covariance(np.zeros(1)).variances()[0]))
                allowed, first = graph if search == "cliques" else None, between(advance, 0.0, 0.4)
                grown = candidates(screened, tables, layout, allowed, width, least, first)
                if allowed is None and (grown.n_cut or len(grown.members) > max_candidates):
                    again = between(advance, 0.4, 0.9)
                    grown = search_again(grown, screened, tables, layout, width, least, again)
                strings, kept = self._texts(grown.members, screened, between(advance, 0.9, 1.0))
                places = np.flatnonzero(kept)
                chosen, others = places[:max_candidates], np.flatnonzero(~kept)[:max_candidates]
            with stage(tell, "test") as advance:
                names = [strings[i] for i in chosen]
                fits, n_tested = self._test(names, [strings[i] for i in others], advance)
                misfit = self._misfit(between(advance, 0.7, 1.0))
        warn_of_doubts(misfit, 1.0)
        at = chosen[:n_tested]
        members = grown.members[at]
        support = np.zeros(n_tested, dtype=np.int64)
        for (a, b), present in graph.items():
            if n_tested:
                support += present[members[:, a], members[:, b]]
        searched = Searched(
            grams=grams_frame(screened, layout.starts),
            edges=edges_frame(screened, tables, graph, layout.starts, members),
            n_edges=sum(int(present.sum()) for present in graph.values()),
            left_out=tuple(position.n_left_out for position in screened),
            n_excluded=int((~kept).sum()),
            n_untested=int(places.size) - n_tested,
            n_cut=grown.n_cut,
            pair_se=pair_errors(tables),
            critical=screened[0].critical,
        )
        tested, fitted = tested_strings(fits, grown.score[at], support, alpha)
        how = {"nobs": nobs, "n_missing": self.reports.n_missing, "settings": ", ".join(settings)}
        fit = fit_of(fitted, survey, tested, searched, **how)
        return DictionaryResults(survey.to_dict(), tested, searched, **vars(fit))

    def _texts(
        self, members: Array, screened: list[ScreenedGrams], advance: Advance
    ) -> tuple[list[str], npt.NDArray[np.bool_]]:
        """Strings from the numbers of their grams, and which the filter keeps."""
        layout = self.reports.survey.layout
        strings: list[str] = []
        if len(members):
            parts = [position.grams[members[:, a]] for a, position in enumerate(screened)]
            strings = layout.unpadded(layout.joined(parts))
        keeps = predicate(self.keep)
        return strings, np.array([keeps(s) for s in counted(strings, advance, 64)], dtype=bool)

    def _misfit(self, advance: Advance) -> str:
        """Which reports no strings whatever could make, in words."""
        layout = self.reports.survey.layout
        parts = {"whole strings": self._strings}
        parts |= {
            f"grams at {start}": counts
            for start, counts in zip(layout.starts, self._positions, strict=True)
        }
        pvalues = {}
        for name, counts in counted([(n, c) for n, c in parts.items() if c.nobs], advance):
            mechanism: Any = counts.mechanism
            if mechanism.is_open:
                pvalues[name] = impossible([mechanism.moments(counts, [layout.alphabet[0]])])
            else:  # None where there are too few reports to tell
                test = goodness_of_fit([counts], [mechanism.moments(counts)])
                pvalues[name] = 1.0 if test is None else test.pvalue
        name = min(pvalues, key=lambda which: pvalues[which])
        pvalue = min(1.0, len(pvalues) * pvalues[name])
        if not pvalue < MISFIT:
            return ""
        return (
            f"the reports of {name} do not fit the survey (p {shown(pvalue)}): no strings could "
            "make them; check that its parameters are those with which the reports were made"
        )

    def _test(
        self, strings: list[str], others: list[str], advance: Advance
    ) -> tuple[FrequencyResults | None, int]:
        """The fit of the strings with the highest scores, and how many can be told apart."""
        # the others are fitted with them, without a test: left out, they would be noise
        size, rest = len(strings), len(others)
        while size:
            try:
                listed = [*strings[:size], *others[:rest]]
                model = FrequencyModel(self._strings, candidates=listed, incomplete=True)
                return model.fit_quietly("inversion"), size
            except NotIdentified:  # few reports, or few cohorts
                advance(0.7 * (1.0 - size / (2 * len(strings))))
                size, rest = size // 2, rest // 2
        return None, 0


# -- stages of a fit, and who is told how far they have come --------------------------------------


Progress = Callable[[str, float], None]

_STAGES = ("grams", "pairs", "search", "test")


@contextmanager
def stage(progress: Progress | None, name: str) -> Iterator[Advance]:
    """A stage that tells its beginning and end, and all that `advance` is told in between."""
    if progress is None:
        yield silent
        return
    place = _STAGES.index(name)

    def advance(fraction: float) -> None:
        progress(name, (place + fraction) / len(_STAGES))

    advance(0.0)
    yield advance
    advance(1.0)


# -- the caller's filter: which strings can be ----------------------------------------------------


def predicate(keep: Any) -> Callable[[str], bool]:
    """Whether a string is kept, by an expression or a function; all are by None."""
    if keep is None:
        return lambda text: True
    if isinstance(keep, str | re.Pattern):
        try:
            pattern = re.compile(str.__str__(keep) if isinstance(keep, str) else keep)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidArgument("keep", keep, f"is no regular expression ({error})") from None
        if not isinstance(pattern.pattern, str):
            raise InvalidArgument("keep", keep, "matches bytes: compile a pattern of text")
        return lambda text: pattern.fullmatch(text) is not None
    if not callable(keep):
        raise InvalidArgument("keep", keep, "must be a regular expression or a function")

    def keeps(text: str) -> bool:
        try:
            answer = keep(text)
        except Exception as error:
            remedy = f"the filter raised {error!r} for this string: it must answer True or False"
            raise InvalidArgument("keep", text, remedy) from error
        if not isinstance(answer, bool | np.bool_):
            raise InvalidArgument("keep", answer, f"must answer True or False of {text!r}")
        return bool(answer)

    return keeps


# -- results --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
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
        layout, tested, searched = self._survey.layout, self.tested, self.searched
        grams, critical, n_tested = searched.grams, searched.critical, tested.n_tested
        kept, positions = grams.groupby("start"), layout.n_positions
        if sum(searched.left_out):  # more significant grams took the place of those just beyond it
            full = [n > 0 for n in searched.left_out]
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
            "pairs": pair_stage(searched.pair_se, len(layout.pairs), rivals, n_tested),
            "test": string_stage(tested.test_se, tested.alpha, n_tested),
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
        return dictionary_summary(
            self,
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
        alpha, most = level(alpha), positive_integer("most", most)
        frame = self.summary_frame(alpha)
        return plot_dictionary(
            self, self._survey, self.tested, frame, ax, alpha, truth, most, sort, title
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

        return plot_graph(
            self, self._survey, self.tested, self.searched, self.params, ax, max_strings, title
        )

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return to_document(self, self.survey, self.tested, self.searched)

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> DictionaryResults:
        fit, survey, tested, searched = from_document(document)
        return cls(survey, tested, searched, **vars(fit))
