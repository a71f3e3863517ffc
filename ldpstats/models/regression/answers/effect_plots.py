"""Plots of predicted true answers along a covariate. Matplotlib is imported when one is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.inference.regression.margins import Average, average, means
from ldpstats.models.regression.answers.fitted_law import FittedLaw
from ldpstats.models.regression.answers.held import held
from ldpstats.models.regression.answers.predictions import covariate, set_to
from ldpstats.models.shared.axes import (
    axes_of,
    axis_labels,
    figure_of,
    font_scale,
    keep_in_cell,
    lacks_layout,
    legend_below,
    percent_text,
    plain,
    set_figure_title,
    set_title,
    title_text,
)
from ldpstats.models.shared.forest import interval_name
from ldpstats.problems.regression.outcomes import Categorical

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_effects"]

Array = npt.NDArray[Any]

_FEW = 7  # values of a number up to which it is drawn as points
_MOST_LEVELS = 30
_MOST_PANELS = 12
_COLUMNS = 3
_WIDTH, _HEIGHT = 6.0, 4.0  # inches
_PANEL = 3.2
_LONGEST = 18
_ROOM = 34  # characters of labels of levels that stand side by side


def plot_effects(
    law: FittedLaw,
    name: Any,
    at: Any,
    points: Any,
    alpha: float,
    ax: Axes | None,
    title: str | None,
) -> Any:
    """Draw predictions along covariates; see `RegressionResults.plot_effects`."""
    at = one_of("at", at, ("observed", "mean"))
    points = positive_integer("points", points, 2)
    law.quantile(alpha)
    law.refuse_incomplete("plot_effects")
    names = _names(law, name)
    if len(names) == 1:
        what = law.subject if law.labels is None else law.data.response_name
        words = title_text(title, f"{what}, by {names[0]}")
        own = ax is None
        ax = axes_of(ax, _WIDTH, _HEIGHT)
        _draw(ax, law, names[0], at, points, alpha, _ROOM)
        ax.set_ylabel(plain(_unit(law)))
        _finish(ax, words, own)
        return ax
    if ax is not None:
        remedy = f"takes one covariate: pass name=, one of {', '.join(names)}"
        raise InvalidArgument("ax", "Axes", remedy)
    return _panels(law, names, at, points, alpha, title_text(title, ""))


def _names(law: FittedLaw, name: Any) -> list[str]:
    """The covariates to draw: the one that is asked for, or all."""
    formula, data = law.data.formula, law.data
    if formula is not None and formula.public is not None:
        known = [*formula.columns, *law.questions]
    else:
        known = [n for j, n in enumerate(data.names) if not law.constant[j]]
    if name is None:
        if not known:
            raise InvalidArgument("name", None, "the model has no covariate to draw")
        return known[:_MOST_PANELS]
    if not isinstance(name, str) or name not in law.questions:
        covariate(law, name, "name")
    return [name]


def _panels(
    law: FittedLaw, names: Sequence[str], at: str, points: int, alpha: float, title: str
) -> Any:
    """A panel for each covariate, on the same vertical axis."""
    import matplotlib.pyplot as plt

    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    scale = font_scale()
    size = scale * (0.8 + _PANEL * columns), scale * (0.9 + 2.9 * rows)
    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    drawn = grid.ravel()[: len(names)]
    for ax, name in zip(drawn, names, strict=True):
        _draw(ax, law, name, at, points, alpha, _ROOM // 2)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in grid[:, 0]:
        ax.set_ylabel(plain(_unit(law)))
    for ax in grid.ravel()[len(names) :]:
        ax.remove()
    if title:
        set_figure_title(figure, title)
    handles, labels = drawn[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return drawn


# -- one panel -----------------------------------------------------------------------------


def _unit(law: FittedLaw) -> str:
    """What the vertical axis shows."""
    return law.subject if law.labels is None else "probability"


def _draw(
    ax: Axes, law: FittedLaw, name: str, at: str, points: int, alpha: float, room: int
) -> None:
    """Draw one covariate: a curve with a band for numbers, points with intervals for levels."""
    values, is_number = _values(law, name, points)
    found = _averages(law, name, values, at)
    k = len(law.shown)
    mean = found.value.reshape(-1, k)
    se = np.sqrt(np.maximum(np.diagonal(found.covariance(law.covariance)), 0.0)).reshape(-1, k)
    low, high = law.intervals(mean, se, alpha)
    labels = ["prediction"] if law.labels is None else axis_labels(law.labels, _LONGEST)
    interval = interval_name(alpha) if k == 1 else "_none"
    for a, (colour, label) in enumerate(zip(_colours(k), labels, strict=True)):
        if is_number:
            band = low[:, a], high[:, a]
            ax.fill_between(values, *band, color=colour, alpha=0.2, lw=0, label=interval)
            ax.plot(values, mean[:, a], color=colour, lw=1.8, label=label)
        else:
            place = np.arange(len(values)) + (a - (k - 1) / 2.0) * min(0.12, 0.6 / k)
            ends = low[:, a], high[:, a]
            ax.vlines(place, *ends, color=colour, lw=2, alpha=0.6, label=interval)
            ax.plot(place, mean[:, a], "o", ms=5, color=colour, label=label)
    if not is_number:
        texts = axis_labels(values, _LONGEST)
        ax.set_xticks(np.arange(len(values)), texts)
        ax.set_xlim(-0.6, len(values) - 0.4)
        if sum(map(len, texts)) > room:
            for text in ax.get_xticklabels():
                text.set(rotation=35, ha="right", rotation_mode="anchor")
    ax.set_xlabel(plain(name))
    _axis(ax, law)


def _colours(k: int) -> list[Any]:
    """A colour for each category."""
    if k <= 10:
        return [f"C{a}" for a in range(k)]
    import matplotlib

    return list(matplotlib.colormaps["viridis"](np.linspace(0.0, 0.95, k)))


def _axis(ax: Axes, law: FittedLaw) -> None:
    """Percentages for probabilities."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if isinstance(law.data.outcome, Categorical):
        ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent_text(value)))


def _finish(ax: Axes, title: str, own: bool) -> None:
    """Title and legend."""
    ax.spines[["top", "right"]].set_visible(False)
    for _ in range(1 if own else 2):  # labels may leave less room than axes have had
        set_title(ax, title)
        legend_below(ax)
        if own:
            continue
        if lacks_layout(ax):
            keep_in_cell(ax)
        else:
            figure_of(ax).draw_without_rendering()


def _values(law: FittedLaw, name: str, points: int) -> tuple[Any, bool]:
    """Where a covariate is set, and whether it is a number with many values."""
    if name in law.questions:
        return law.answers(name), False
    column = covariate(law, name, "name")
    is_number = pd.api.types.is_numeric_dtype(column.dtype) and column.dtype != bool
    if is_number and column.nunique() > _FEW and not _is_factor(law, name):
        return np.linspace(float(column.min()), float(column.max()), points), True
    levels = pd.unique(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        there = set(levels)
        levels = [level for level in column.dtype.categories if level in there]
    else:
        try:
            levels = sorted(levels)
        except TypeError:  # of several types
            levels = list(levels)
    if len(levels) > _MOST_LEVELS:
        remedy = f"has {len(levels):,} levels, and {_MOST_LEVELS} at most are drawn: join them"
        raise InvalidArgument("name", name, remedy)
    return [one.item() if isinstance(one, np.generic) else one for one in levels], False


def _is_factor(law: FittedLaw, name: str) -> bool:
    """Whether the formula takes the numbers of a column for categories, as in C(age)."""
    formula = law.data.formula
    text = "" if formula is None else formula.formula.text
    return re.search(rf"\bC\(\s*{re.escape(name)}\s*[,)]", text) is not None


def _averages(law: FittedLaw, name: str, values: Any, at: str) -> Average:
    """Predictions with a covariate set to each value."""
    of, parts = means(law.data.outcome), []
    for value in values:
        if name in law.questions:
            rows = law.answered(law.distinct, name, value)
        else:
            rows = set_to(law, name, value)
        parts.append(average(held(rows, "mean") if at == "mean" else rows, law.theta, of))
    R = np.eye(len(parts[0].value))[law.shown]
    return Average.stacked([part.times(R) for part in parts])
