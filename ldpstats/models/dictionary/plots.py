"""The plot of strings that nobody listed. Matplotlib is imported when it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, numbers
from ldpstats.errors import InvalidArgument
from ldpstats.models.dictionary.record import Tested
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.shared.axes import axes_of, axis_labels, title_text
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.forest import (
    LONGEST_LABEL,
    draw_estimates,
    finish_rows,
    interval_name,
    name_rows,
    rows_height,
    sorts,
)
from ldpstats.models.shared.spelling import count_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["figure_title", "plot_dictionary"]

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
    labels = axis_labels(rows.index, LONGEST_LABEL)
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
