"""Strings that nobody listed: found in the reports of their grams, tested on those of the whole.

`DictionaryModel.fit` runs the search (`search`) and the test; `DictionaryResults` are what it
found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, level, one_of, positive_integer, positive_number
from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.likelihood.hashed import LARGEST_DENSE
from ldpstats.models.dictionary.results import (
    DictionaryResults,
    edges_frame,
    fit_of,
    grams_frame,
    tested_strings,
)
from ldpstats.models.dictionary.search import (
    SEARCHES,
    Advance,
    ScreenedGrams,
    candidates,
    edges,
    least_frequency,
    pair_errors,
    pair_tables,
    position_counts,
    screen,
    search_again,
)
from ldpstats.models.dictionary.survey import DictionaryReports
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.frequency.tests import (
    MISFIT,
    goodness_of_fit,
    impossible,
    shown,
    warn_of_doubts,
)
from ldpstats.models.plots import progress_bar
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["DictionaryModel", "DictionaryResults"]

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
                allowed, first = graph if search == "cliques" else None, advance.part(0.0, 0.4)
                grown = candidates(screened, tables, layout, allowed, width, least, first)
                if allowed is None and (grown.n_cut or len(grown.members) > max_candidates):
                    again = advance.part(0.4, 0.9)
                    grown = search_again(grown, screened, tables, layout, width, least, again)
                strings, kept = self._texts(grown.members, screened, advance.part(0.9, 1.0))
                places = np.flatnonzero(kept)
                chosen, others = places[:max_candidates], np.flatnonzero(~kept)[:max_candidates]
            with stage(tell, "test") as advance:
                names = [strings[i] for i in chosen]
                fits, n_tested = self._test(names, [strings[i] for i in others], advance)
                misfit = self._misfit(advance.part(0.7, 1.0))
        warn_of_doubts(misfit, 1.0)
        at = chosen[:n_tested]
        members = grown.members[at]
        support = np.zeros(n_tested, dtype=np.int64)
        for (a, b), present in graph.items():
            if n_tested:
                support += present[members[:, a], members[:, b]]
        tested, fitted = tested_strings(fits, grown.score[at], support, alpha)
        how = {"nobs": nobs, "n_missing": self.reports.n_missing, "settings": ", ".join(settings)}
        return DictionaryResults(
            survey.to_dict(),
            **vars(fit_of(fitted, survey, n_tested, grown.n_cut, **how)),
            **tested,
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
        return strings, np.array([keeps(s) for s, _ in advance.over(strings)], dtype=bool)

    def _misfit(self, advance: Advance) -> str:
        """Which reports no strings whatever could make, in words."""
        layout = self.reports.survey.layout
        parts = {"whole strings": self._strings}
        parts |= {
            f"grams at {start}": counts
            for start, counts in zip(layout.starts, self._positions, strict=True)
        }
        pvalues = {}
        for (name, counts), _ in advance.over([(n, c) for n, c in parts.items() if c.nobs]):
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


Progress = Callable[[str, float], None]

_STAGES = ("grams", "pairs", "search", "test")


@contextmanager
def stage(progress: Progress | None, name: str) -> Iterator[Advance]:
    """A stage that tells its beginning and end, and all that it is told in between."""
    place = _STAGES.index(name)
    tell = None if progress is None else partial(progress, name)
    advance = Advance(tell, place / len(_STAGES), (place + 1) / len(_STAGES))
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
