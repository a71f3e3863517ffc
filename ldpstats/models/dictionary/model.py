"""Strings that nobody listed: found in the reports of their grams, tested on those of the whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level, one_of, positive_integer, positive_number
from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.models.dictionary.filter import predicate
from ldpstats.models.dictionary.frames import edges_frame, grams_frame, pair_errors
from ldpstats.models.dictionary.record import Searched
from ldpstats.models.dictionary.reports import DictionaryReports
from ldpstats.models.dictionary.results import DictionaryResults, dictionary_results
from ldpstats.models.dictionary.search.evidence import SEARCHES, candidates, edges, least_frequency
from ldpstats.models.dictionary.search.explained import search_again
from ldpstats.models.dictionary.search.pairs import pair_tables, position_counts
from ldpstats.models.dictionary.search.paths import Grown, Pair
from ldpstats.models.dictionary.search.progress import Advance, between, counted
from ldpstats.models.dictionary.search.screening import ScreenedGrams, screen
from ldpstats.models.dictionary.stages import Progress, stage, told
from ldpstats.models.frequency.fit_checks import goodness_of_fit
from ldpstats.models.frequency.misfit import MISFIT, impossible, shown, warn_of_doubts
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.problems.hashed.moments import LARGEST_DENSE
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["DictionaryModel"]

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
            `candidates` in `search.evidence`), of which none is decisive: edges are only
            counted. Where there are more strings than can be tested it searches twice: first for
            frequent strings, then for what these cannot explain (see
            `search_again` in `search.explained`). "cliques" takes the strings all of whose
            pairs are edges (FPE16 IV-A, step 7).
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
        survey = self.reports.survey
        layout, grams = survey.layout, survey.gram_mechanism
        least_frequency(threshold, grams, self.nobs)  # refused before the work begins
        with told(progress) as tell:
            with stage(tell, "grams") as advance:
                screened = screen(grams, self._positions, layout, false_grams, max_grams, advance)
            with stage(tell, "pairs") as advance:
                tables = pair_tables(self.reports, screened, advance)
                graph = edges(tables, threshold, grams, self.nobs)
            with stage(tell, "search") as advance:
                allowed = graph if search == "cliques" else None
                least, first = self._testable(), between(advance, 0.0, 0.4)
                grown = candidates(screened, tables, layout, allowed, width, least, first)
                if allowed is None and (grown.n_cut or len(grown.members) > max_candidates):
                    again = between(advance, 0.4, 0.9)
                    grown = search_again(grown, screened, tables, layout, width, least, again)
                last = between(advance, 0.9, 1.0)
                found = self._named(screened, graph, grown, max_candidates, last)
            with stage(tell, "test") as advance:
                tested, n_tested = self._test(found.strings, found.others, advance)
                misfit = self._misfit(between(advance, 0.7, 1.0))
        warn_of_doubts(misfit, 1.0)
        named = edges_frame(screened, tables, graph, layout.starts, found.members[:n_tested])
        searched = Searched(
            grams=grams_frame(screened, layout.starts),
            edges=named,
            n_edges=sum(int(present.sum()) for present in graph.values()),
            left_out=tuple(kept.n_left_out for kept in screened),
            n_excluded=found.n_excluded,
            n_untested=found.n_untested + len(found.strings) - n_tested,
            n_cut=grown.n_cut,
            pair_se=pair_errors(tables),
            critical=screened[0].critical,
        )
        return dictionary_results(
            tested if n_tested else None,
            found.score[:n_tested],
            found.edges[:n_tested],
            alpha,
            survey,
            searched,
            nobs=self.nobs,
            n_missing=self.reports.n_missing,
            settings=_settings(search, threshold, false_grams, max_candidates, self.keep),
        )

    def _named(
        self,
        screened: list[ScreenedGrams],
        graph: dict[Pair, Array],
        grown: Grown,
        most: int,
        advance: Advance,
    ) -> _Found:
        """The strings to test, with the edges that support them."""
        members, score = grown.members, grown.score
        layout = self.reports.survey.layout
        strings: list[str] = []
        if len(members):
            parts = [kept.grams[members[:, a]] for a, kept in enumerate(screened)]
            strings = layout.unpadded(layout.joined(parts))
        keeps = predicate(self.keep)
        kept = np.array([keeps(text) for text in counted(strings, advance, 64)], dtype=bool)
        places = np.flatnonzero(kept)
        tested, others = places[:most], np.flatnonzero(~kept)[:most]
        support = np.zeros(tested.size, dtype=np.int64)
        for (a, b), present in graph.items():
            if tested.size:
                support += present[members[tested, a], members[tested, b]]
        return _Found(
            tuple(strings[i] for i in tested),
            members[tested],
            score[tested],
            support,
            int((~kept).sum()),
            int(places.size - tested.size),
            tuple(strings[i] for i in others),
        )

    def _testable(self) -> float:
        """The frequency below which a string has next to no chance to pass its test."""
        counts: Any = self._strings
        layout = self.reports.survey.layout
        # absent strings have the same noise but for chance: any will do, taken as absent
        problem = counts.mechanism.moments(counts, [layout.alphabet[0] * layout.length])
        return _TESTABLE * float(np.sqrt(problem.covariance(np.zeros(1)).variances()[0]))

    def _misfit(self, advance: Advance) -> str:
        """Which reports no strings whatever could make, in words."""
        parts = {"whole strings": self._strings}
        starts = self.reports.survey.layout.starts
        parts |= {f"grams at {start}": c for start, c in zip(starts, self._positions, strict=True)}
        seen = counted([(name, c) for name, c in parts.items() if c.nobs], advance)
        found = {name: self._fit_of(counts) for name, counts in seen}
        name = min(found, key=lambda which: found[which])
        pvalue = min(1.0, len(found) * found[name])
        if not pvalue < MISFIT:
            return ""
        return (
            f"the reports of {name} do not fit the survey (p {shown(pvalue)}): no strings could "
            "make them; check that its parameters are those with which the reports were made"
        )

    def _fit_of(self, counts: Counts | BitCounts) -> float:
        """p-value of reports, whatever was reported; 1 where there are too few to tell."""
        mechanism: Any = counts.mechanism
        if mechanism.is_open:
            return impossible([mechanism.moments(counts, [self.reports.survey.layout.alphabet[0]])])
        test = goodness_of_fit([counts], [mechanism.moments(counts)])
        return 1.0 if test is None else test.pvalue

    def _test(
        self, strings: tuple[str, ...], others: tuple[str, ...], advance: Advance
    ) -> tuple[FrequencyResults | None, int]:
        """The fit of the strings with the highest scores, and how many can be told apart.

        Other strings are fitted with them, without a test: left out, they would be noise.
        """
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


@dataclass(frozen=True, eq=False)
class _Found:
    """Candidates, best first, and how many there were that are not among them."""

    strings: tuple[str, ...]
    members: Array
    score: Array
    edges: npt.NDArray[np.int64]
    n_excluded: int
    n_untested: int
    others: tuple[str, ...]


def _settings(search: str, threshold: str | float, false_grams: float, most: int, keep: Any) -> str:
    parts = [
        f"search={search}",
        f"threshold={threshold if isinstance(threshold, str) else f'{threshold:g}'}",
        f"false_grams={false_grams:g}",
        f"max_candidates={most}",
    ]
    if keep is not None:
        pattern = keep.pattern if isinstance(keep, re.Pattern) else keep
        parts.append(f"keep={pattern if isinstance(pattern, str) else 'a function'}")
    return ", ".join(parts)
