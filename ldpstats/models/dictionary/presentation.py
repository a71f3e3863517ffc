"""The summary of strings that nobody listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import as_array, numbers
from ldpstats.errors import InvalidArgument
from ldpstats.likelihood.tallies import Unexplained
from ldpstats.models.dictionary.record import Searched, Tested
from ldpstats.models.dictionary.search import STAGES
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Fit,
    Pair,
    SummaryTable,
    count_of,
    distinct_lines,
    epsilon_text,
    figures,
    header,
    interval_columns,
    pvalue_text,
    rest_notes,
    title,
)
from ldpstats.models.plots import LONGEST_LABEL as LONGEST_LABEL_plots
from ldpstats.models.plots import (
    axes_of,
    axis_labels,
    draw_estimates,
    finish_rows,
    interval_name,
    name_rows,
    rows_height,
    sorts,
    title_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["POWER", "dictionary_summary", "figure_title", "plot_dictionary"]


POWER = 0.8  # with which a summary says that strings are found


def dictionary_summary(
    fit: Fit,
    survey: DictionarySurvey,
    tested: Tested,
    searched: Searched,
    *,
    frame: pd.DataFrame,
    unexplained: Unexplained,
    detectable: pd.Series[float],
    n_biased: int,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of the strings; `n_biased` of their estimates are too large on average."""
    shown = frame.iloc[:max_rows]
    columns = ["estimate", "std err", *interval_columns(alpha), "adj. p-value"]
    columns += ["edges"] if details else []
    body = [_row(survey, row, details) for row in shown.to_numpy()]
    stubs = distinct_lines(shown.index, LONGEST_LABEL)
    if not body:
        stubs, body = ["(no string was accepted)"], [["-"] * len(columns)]
    return SummaryTable(
        title=f"{title(fit, 'Strings', '')} found without a list",
        header=_header(fit, survey, tested, searched, unexplained, details),
        columns=columns,
        stubs=stubs,
        body=body,
        notes=[
            *_reading_notes(survey, tested, alpha, details),
            *rest_notes(len(shown), len(frame)),
            *_bias_notes(n_biased),
            *_recall_notes(fit, survey, tested, searched, detectable, unexplained),
            *_limit_notes(searched),
        ],
    )


def _row(survey: DictionarySurvey, row: Any, details: bool) -> list[str]:
    cells = [*figures(row[:4], 4), pvalue_text(row[4])]
    return [*cells, f"{int(row[5])} of {len(survey.layout.pairs)}"] if details else cells


def _header(
    fit: Fit,
    survey: DictionarySurvey,
    tested: Tested,
    searched: Searched,
    rest: Unexplained,
    details: bool,
) -> list[list[str]]:
    named, grams, strings = fit.sources
    left = [
        ("Survey:", named),
        ("Grams by:", grams),
        ("Strings by:", strings),
        ("Not found:", f"{rest.estimate:.4f} (std err {rest.bse:.4f})"),
    ]
    right = [
        ("No. Respondents:", str(fit.nobs)),
        ("Missing:", str(fit.n_missing)),
        ("Epsilon, all (nats):", epsilon_text(fit.epsilon)),
        ("Strings tested:", str(tested.n_tested)),
    ]
    if details:
        more = _search_pairs(fit, survey, searched)
        left, right = left + more[0], right + more[1]
    return header(left, right)


def _search_pairs(
    fit: Fit, survey: DictionarySurvey, searched: Searched
) -> tuple[list[Pair], list[Pair]]:
    """How the search was made: shown on request only."""
    split, kept = survey.split, searched.grams.groupby("start").size()
    spread = f"{kept.min()} to {kept.max()} a position" if len(kept) else "none"
    left = [("Search:", fit.settings), ("Grams kept:", spread), ("Edges:", str(searched.n_edges))]
    each = ("gram", split[1]), ("string", split[0])
    return left, [(f"Epsilon of a {what}:", f"{share * fit.epsilon:.4g}") for what, share in each]


def _reading_notes(
    survey: DictionarySurvey, tested: Tested, alpha: float, details: bool
) -> list[str]:
    replace = survey.replace
    others = f", characters outside the alphabet as {replace!r}" if replace else ""
    notes = [
        "Accepted: strings whose own reports reject a frequency of zero; the probability that "
        f"even one of them is held by nobody is at most about {tested.alpha:g} (Bonferroni over "
        "all tested, with larger shares for higher scores).",
        f"Intervals: {100 * (1 - alpha):.4g}% given that the string was accepted, cut to [0, 1].",
        f"Strings are as the survey reads them: cut to {survey.layout.length} characters{others}.",
    ]
    if details:
        notes.append("edges: pairs of its grams whose joint frequency is above the threshold.")
    if tested.caution:
        notes.append(
            f"WARNING: {tested.caution}: more strings that nobody holds may be accepted than that."
        )
    return notes


def _bias_notes(n_biased: int) -> list[str]:
    if not n_biased:
        return []
    return [
        f"WARNING: {n_biased} of the estimates are just large enough to be accepted, and too "
        "large on average; median_unbiased and the intervals allow for that."
    ]


def _limit_notes(searched: Searched) -> list[str]:
    """What the limits of the search and the filter left out."""
    notes = []
    if searched.n_untested:
        notes.append(f"NOTE: {searched.n_untested} strings with lower scores were not tested.")
    if searched.n_cut:
        notes.append(
            f"NOTE: the search dropped {searched.n_cut} partial strings with low scores; some "
            "candidates may have been missed."
        )
    if searched.n_excluded:
        notes.append(f"NOTE: the filter excluded {searched.n_excluded} strings.")
    if above := sum(searched.left_out):
        notes.append(f"NOTE: {above} more grams stood out than max_grams allows.")
    return notes


def _recall_notes(
    fit: Fit,
    survey: DictionarySurvey,
    tested: Tested,
    searched: Searched,
    detectable: pd.Series[float],
    unexplained: Unexplained,
) -> list[str]:
    """What can be found with so many respondents at such an epsilon, and what is missing."""
    if not tested.n_tested:
        return [_nothing_tested(fit, survey, searched)]
    n_found, rest, bounded = tested.accepted.size, unexplained.estimate, searched.is_bounded
    least = float(detectable["found"])
    limit = f"what limits it is {STAGES[str(detectable.drop('found').idxmax())]}."
    if least > 1.0:
        luck = "anything found is a chance finding" if n_found else "no string was found"
        return [
            f"WARNING: too few respondents: {luck}. n = {fit.nobs} is too small at epsilon = "
            f"{fit.epsilon:.4g} even for a string that all respondents hold; {limit} It takes "
            f"about {least**2:.2g} times as many to find it with probability {POWER:g}."
        ]
    conditions = ["the search reaches them"] if bounded else []
    if least * survey.layout.n_grams < 1.0:  # mixtures of other strings look as good
        conditions.append("few frequent strings share their grams")
    provided = f", if {' and '.join(conditions)}" if conditions else ""
    notes = [
        f"Strings of a frequency of about {least:.2g} or more are found with probability {POWER:g} "
        f"at this n and epsilon{provided}; {limit}"
    ]
    if not n_found:
        notes.append(
            f"WARNING: too few respondents: no string was found. n = {fit.nobs} is too small for "
            f"strings that are rarer than about {least:.2g}: to find those half as frequent takes "
            "four times as many."
        )
    elif rest > 2.0 * least:
        causes = [f"each is too rare for n = {fit.nobs}"]
        causes += ["the filter excluded them"] if searched.n_excluded else []
        causes += ["max_grams, max_candidates or width cut them off"] if bounded else []
        notes.append(
            f"WARNING: about {100 * rest:.0f}% of the respondents hold strings that were not "
            f"found, because {', or '.join(causes)}. To find strings half as frequent takes four "
            "times as many respondents."
        )
    return notes


def _nothing_tested(fit: Fit, survey: DictionarySurvey, searched: Searched) -> str:
    """Why no string was tested."""
    if searched.grams["start"].nunique() < survey.layout.n_positions:
        return (
            "WARNING: too few respondents: the noise leaves some position without any gram, so "
            f"that no string could be tested. n = {fit.nobs} is too small at epsilon = "
            f"{fit.epsilon:.4g}: collect more reports, or spend more epsilon."
        )
    if searched.n_untested:
        return (
            f"WARNING: too few respondents: the reports of n = {fit.nobs} whole strings cannot "
            "tell any two of the candidates apart, so that none was tested."
        )
    if searched.n_excluded:
        return (
            "WARNING: nothing was tested: the filter keeps none of the "
            f"{searched.n_excluded} strings."
        )
    return (
        f"WARNING: too few respondents: with n = {fit.nobs} the pairs of grams are so uncertain "
        "that no string stands out, or none has all its pairs above the threshold; no string was "
        "tested."
    )


# -- The plot of strings that nobody listed. Matplotlib is imported when it is drawn --------------


Array = npt.NDArray[Any]


def plot_dictionary(
    fit: Fit,
    survey: DictionarySurvey,
    tested: Tested,
    found: pd.DataFrame,
    ax: Axes | None,
    alpha: float,
    truth: Any,
    most: int,
    sort: Any = True,
    title: str | None = None,
) -> Axes:
    """Draw the frequencies of the strings that were found, and of those that were not.

    The figure is that of FPE16 (6 and 10), with intervals. Where the `truth` is known the most
    frequent strings are drawn, and any that were accepted though nobody holds them. Strings that
    are alike as far as the survey reads them are one string.
    """
    true = None if truth is None else _truth(survey, truth)
    words = title_text(title, figure_title(fit, tested))
    rows, hidden = _rows(found, true, most)
    if not sorts(sort):
        rows = rows.sort_index()
    own = ax is None
    ax = axes_of(ax, 7.0, rows_height(len(rows)))
    _draw_rows(ax, rows, interval_name(alpha), true is not None)
    ax.set_xlabel("\n".join(["frequency", *hidden]))
    finish_rows(ax, words, own)
    return ax


def _truth(survey: DictionarySurvey, truth: Any) -> pd.Series[float]:
    """True frequencies by string as the survey reads it, the most frequent first."""
    remedy = "must be a Series of frequencies, whose index are strings"
    if isinstance(truth, pd.Series):
        labels, frequencies = list(truth.index), truth.to_numpy()
    elif isinstance(truth, Mapping):
        labels, frequencies = list(truth), as_array("truth", list(truth.values()), remedy)
    else:
        raise InvalidArgument("truth", truth, remedy)
    values = numbers("truth", frequencies, remedy)
    given = pd.Series(values, index=pd.Index(labels, dtype=object))
    if not all(isinstance(label, str) for label in labels):
        raise InvalidArgument("truth", truth, remedy)
    if not np.isfinite(given).all() or (given < 0.0).any() or given.sum() > 1.0 + 1e-6:
        raise InvalidArgument("truth", truth, "must be frequencies: in [0, 1], one in all")
    padded = survey.layout.strings("truth", given.index.tolist(), survey.replace)
    read = given.groupby(survey.layout.unpadded(padded)).sum()
    return read[read > 0.0].sort_values(ascending=False, kind="stable")


def _rows(
    found: pd.DataFrame, true: pd.Series[float] | None, most: int
) -> tuple[pd.DataFrame, list[str]]:
    """Strings to draw, and how many there are besides, in words."""
    if true is None:
        rows, hidden = found.iloc[:most].assign(truth=np.nan), {"were found": len(found[most:])}
    else:
        rest = true.index[most:].isin(found.index)
        shown = [*true.index[:most], *found.index[~found.index.isin(true.index)]]
        rows = found.reindex(shown).assign(truth=true.reindex(shown).fillna(0.0))
        hidden = {"were found": int(rest.sum()), "were missed": int((~rest).sum())}
    return rows, [f"not shown: {n} rarer ones that {what}" for what, n in hidden.items() if n]


def _draw_rows(ax: Axes, rows: pd.DataFrame, interval: str, is_known: bool) -> None:
    at = np.arange(len(rows))[::-1]
    is_found = rows["params"].notna().to_numpy()
    is_false = is_found & (rows["truth"] == 0.0).to_numpy()
    draw_estimates(ax, rows[is_found], at[is_found], interval)
    if is_false.any():
        label = "estimate of a string that nobody holds"
        ax.plot(rows["params"][is_false], at[is_false], "X", ms=8, color="C1", label=label)
    if is_known:
        ax.plot(rows["truth"], at, "d", color="C3", mfc="none", label="true frequency")
    labels = axis_labels(rows.index, LONGEST_LABEL_plots)
    labels = [t if f else f"{t}  (missed)" for t, f in zip(labels, is_found, strict=True)]
    name_rows(ax, labels)
    for text, was_found in zip(ax.get_yticklabels(), is_found, strict=True):
        text.set_color("black" if was_found else "0.55")
    if not len(rows):
        ax.set_xlim(0.0, 1.0)
        ax.text(0.5, 0.5, "no string was found", transform=ax.transAxes, ha="center", color="0.4")


def figure_title(fit: Fit, tested: Tested) -> str:
    """What was found, of whom, and with which privacy."""
    found = f"{count_of(tested.accepted.size, 'string')} found of {tested.n_tested} tested"
    about = f"{found}; n = {fit.nobs:,}, epsilon = {fit.epsilon:.4g}"
    return "\n".join([*filter(None, [fit.name]), about])
