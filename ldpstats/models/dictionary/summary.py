"""The summary of strings that nobody listed as statsmodels tables."""

from __future__ import annotations

from typing import Any

from statsmodels.iolib.summary import Summary

from ldpstats.models.dictionary.search.detection import STAGES
from ldpstats.models.frequency.summary import one_line, tabulated

__all__ = ["dictionary_summary"]

_LONGEST_LABEL = 40
_POWER = 0.8


def dictionary_summary(results: Any, alpha: float, max_rows: int) -> Summary:
    """Lay out `DictionaryResults` as a header, a table of accepted strings and notes."""
    frame = results.summary_frame(alpha)
    shown = frame.iloc[:max_rows]
    columns = ["estimate", "std err", f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"]
    columns += ["adj. p-value", "edges"]
    body = [
        [*(f"{v:.4f}" for v in row[:4]), _shown(row[4]), f"{int(row[5])} of {results.n_pairs}"]
        for row in shown.to_numpy()
    ]
    stubs = [one_line(label, _LONGEST_LABEL) for label in shown.index]
    if not body:
        stubs, body = ["(no string was accepted)"], [["-"] * len(columns)]
    title = "Strings found without a list"
    notes = _notes(results, alpha, len(frame) - len(shown))
    return tabulated(title, _header(results), columns, body, stubs, notes)


def _shown(p: float) -> str:
    """A p-value; nobody is shown that one is zero."""
    return f"{p:.3g}" if p > 0.0 else "<1e-300"


def _header(results: Any) -> list[list[str]]:
    survey, grams, strings = results.sources
    split = results._survey.split
    kept = results.grams.groupby("start").size()
    spread = f"{kept.min()} to {kept.max()} a position" if len(kept) else "none"
    rest = results.unexplained
    rows = [
        ["Survey:", survey, "", ""],
        ["Grams by:", grams, "Epsilon of a gram:", f"{split[1] * results.epsilon:.4g}"],
        ["Strings by:", strings, "Epsilon of a string:", f"{split[0] * results.epsilon:.4g}"],
        ["Search:", results.settings, "Epsilon, all (nats):", f"{results.epsilon:.6g}"],
        ["Grams kept:", spread, "No. Respondents:", str(results.nobs)],
        ["Edges:", str(results.n_edges), "Missing:", str(results.n_missing)],
        ["Not found:", f"{rest.estimate:.4f} (std err {rest.bse:.4f})", "Strings tested:",
         str(results.n_tested)],
    ]  # fmt: skip
    return rows


def _notes(results: Any, alpha: float, hidden: int) -> list[str]:
    layout, replace = results._survey.layout, results._survey.replace
    others = f", characters outside the alphabet as {replace!r}" if replace else ""
    notes = [
        "Accepted: strings whose own reports reject a frequency of zero; the probability that any "
        f"of them is held by nobody is at most about {results.alpha:g} (Bonferroni over all "
        "tested, with larger shares for higher scores).",
        f"Intervals: {100 * (1 - alpha):.4g}% given that the string was accepted, cut to [0, 1].",
        "edges: pairs of its grams whose joint frequency is above the threshold.",
        f"Strings are as the survey reads them: cut to {layout.length} characters{others}.",
    ]
    if results.caution:
        notes.append(
            f"WARNING: {results.caution}: more strings that nobody holds may be accepted than that."
        )
    if hidden:
        notes.append(f"{hidden} accepted strings with smaller estimates are not shown.")
    weak = int((results.median_unbiased < 0.9 * results.params).sum())
    if weak:
        notes.append(
            f"SELECTED: {weak} of the estimates are just large enough to be accepted, and too "
            "large on average; median_unbiased and the intervals allow for that."
        )
    notes += _recall(results)
    if results.n_untested:
        notes.append(f"{results.n_untested} strings with lower scores were not tested.")
    if results.n_cut:
        notes.append(
            f"The search dropped {results.n_cut} partial strings with low scores: the candidates "
            "are the best of what there could be, not all."
        )
    if results.n_excluded:
        notes.append(f"{results.n_excluded} strings were not what the filter keeps.")
    if sum(results.left_out):
        notes.append(f"{sum(results.left_out)} more grams stood out than max_grams allows.")
    return notes


def _recall(results: Any) -> list[str]:
    """What can be found with so many respondents at such an epsilon, and what is missing."""
    if not results.n_tested:
        return [_nothing_tested(results)]
    least = results.detectable_at(_POWER)
    found, rest = float(least["found"]), results.unexplained.estimate
    stage = str(least.drop("found").idxmax())
    bounded = results.n_untested or results.n_cut or sum(results.left_out)
    limit = f"what limits it is {STAGES[stage]}."
    if found > 1.0:
        luck = "no string was found" if not results.k else "anything found is a chance finding"
        return [
            f"TOO FEW RESPONDENTS: {luck}. n = {results.nobs} is too small at epsilon = "
            f"{results.epsilon:.4g} even for a string that all respondents hold; {limit} It takes "
            f"about {found**2:.2g} times as many to find it with probability {_POWER:g}."
        ]
    conditions = ["the search reaches them"] if bounded else []
    if found * results._survey.layout.n_grams < 1.0:  # mixtures of other strings look as good
        conditions.append("few frequent strings share their grams")
    notes = [
        f"Strings of a frequency from about {found:.2g} on are found with probability {_POWER:g} "
        f"at this n and epsilon{', if ' * bool(conditions)}{' and '.join(conditions)}; {limit}"
    ]
    if not results.k:
        notes.append(
            f"TOO FEW RESPONDENTS: no string was found. n = {results.nobs} is too small for "
            f"strings that are rarer than about {found:.2g}: to find those half as frequent takes "
            "four times as many."
        )
    elif rest > 2.0 * found:
        causes = [f"each is too rare for n = {results.nobs}, which is too small"]
        causes += ["the filter left them out"] if results.n_excluded else []
        causes += ["max_grams, max_candidates or width cut them off"] if bounded else []
        notes.append(
            f"INCOMPLETE: about {100 * rest:.0f}% of the respondents hold strings that were not "
            f"found, because {', or '.join(causes)}. To find strings half as frequent takes four "
            "times as many respondents."
        )
    return notes


def _nothing_tested(results: Any) -> str:
    """Why no string was tested."""
    if results.grams["start"].nunique() < results._survey.layout.n_positions:
        return (
            "TOO FEW RESPONDENTS: the noise leaves some position without any gram, so that no "
            f"string could be tested. n = {results.nobs} is too small at epsilon = "
            f"{results.epsilon:.4g}: collect more reports, or spend more epsilon."
        )
    if results.n_untested:
        return (
            f"TOO FEW RESPONDENTS: the reports of n = {results.nobs} whole strings cannot tell any "
            "two of the candidates apart, so that none was tested."
        )
    if results.n_excluded:
        return f"NOTHING TESTED: the filter keeps none of the {results.n_excluded} strings."
    return (
        f"TOO FEW RESPONDENTS: n = {results.nobs} says so little of pairs of grams that no string "
        "stands out, or none has all its pairs above the threshold; no string was tested."
    )
