"""Plots of coefficients, and of predicted true answers along a covariate.

Matplotlib is imported when one is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, level, listed, one_of, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.likelihood.regression import Categorical
from ldpstats.models.layout import count_of
from ldpstats.models.plots import (
    LONGEST_LABEL,
    axes_of,
    axis_labels,
    finish,
    interval_name,
    name_rows,
    new_figure,
    percent_axis,
    percent_text,
    plain,
    plot_rows,
    set_figure_title,
    title_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_CONSTANTS = ("const", "Intercept")
_PANEL = 2.6  # inches, of coefficients
_CHARACTER = 0.085  # inches, of a label
_EFFECT, _EFFECT_PANEL = (6.0, 4.0), 3.2  # inches, of predictions
_MOST_POINTS = 10_000
_FEW = 7  # values of a number up to which it is drawn as points
_MOST_LEVELS = 30
_MOST_PANELS = 12
_MOST_COLOURS = 10
_COLUMNS = 3
_LONGEST = 18
_ROOM = 34  # characters of labels of levels that stand side by side


def plot_coefficients(
    results: Any,
    labels: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    constant: bool = False,
    alpha: float = 0.05,
    most: int = 40,
    ax: Axes | None = None,
    title: str | None = None,
) -> Any:
    """Draw coefficients with their intervals, of one regression or several beside each other.

    Parameters
    ----------
    results : results, DataFrame, or a list of them
        Results of this package or of statsmodels, with `params` and `conf_int`; or tables with
        "params", "lower" and "upper" by name, of which the last two may be missing.
    labels : sequence of str, optional
        What each is called in the legend.
    names : sequence of str, optional
        The covariates to draw; all by default.
    constant : bool
        Whether a constant and thresholds are drawn too.
    alpha : float
        One minus the coverage of the intervals.
    most : int
        Coefficients that are drawn, the first of them.
    ax : Axes, optional
        Where to draw. By default a new figure, of a multinomial logit with a panel for each
        equation.
    title : str, optional

    Returns
    -------
    Axes, or array of Axes for the equations of a multinomial logit

    Raises
    ------
    InvalidArgument
        For what are no results, labels of another number, and names that none of them has.

    Examples
    --------
    >>> import pandas as pd, matplotlib
    >>> matplotlib.use("agg")
    >>> one = pd.DataFrame({"params": [0.5], "lower": [0.2], "upper": [0.8]}, index=["age"])
    >>> ax = plot_coefficients([one, one + 0.1], labels=["2023", "2024"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['age']
    """
    several = list(results) if isinstance(results, list | tuple) else [results]
    if not several:
        raise InvalidArgument("results", results, "are none: pass results of a regression")
    level(alpha)
    frames = [_frame(one, alpha) for one in several]
    called = [""] if len(several) == 1 else [str(i + 1) for i in range(len(several))]
    if labels is not None:
        remedy = f"must be {count_of(len(several), 'name')}, one for each result; several results "
        remedy += "are a list, plot_coefficients([first, second])"
        called = listed("labels", [labels] if isinstance(labels, str) else labels, remedy)
        if len(called) != len(several) or not all(isinstance(one, str) for one in called):
            raise InvalidArgument("labels", labels, remedy)
    shown = _shown(frames, names, boolean("constant", constant))
    subjects = {str(getattr(getattr(one, "model", None), "endog_names", "")) for one in several}
    subjects.discard("")
    # what the coefficients are of, where all results agree
    of = f" of {subjects.pop()}" if len(subjects) == 1 else ""
    words = title_text(title, f"Coefficients{of}")
    tables = list(zip(called, frames, strict=True))
    return draw_estimates(tables, "coefficient", alpha, most, ax, words, 0.0, shown)


def draw_estimates(
    estimates: pd.DataFrame | Sequence[tuple[str, pd.DataFrame]],
    unit: str,
    alpha: float,
    most: int,
    ax: Axes | None,
    title: str,
    null: float | None = 0.0,
    shown: Sequence[str] | None = None,
) -> Any:
    """Draw estimates, "params" with "lower" and "upper", and a line at `null`.

    Of pairs of labels each first one has a panel. Several tables are drawn beside each other, with
    what each is called; those `shown` are second labels, by default all.
    """
    if isinstance(estimates, pd.DataFrame):
        estimates = [("", _by_equation(estimates))]
    tables = list(estimates)
    frames = [table for _, table in tables]
    equations = list(dict.fromkeys(e for frame in frames for e in frame.index.unique(level=0)))
    shown = [*frames[0].index.unique(level=1)] if shown is None else shown
    most = positive_integer("most", most)
    height = 1.0 + 0.35 * (len(tables) - 1)
    if len(equations) > 1 and ax is None:
        some = shown[:most]
        names = axis_labels(some, LONGEST_LABEL)

        def draw(ax: Axes, equation: str) -> None:
            heights = np.arange(len(some))[::-1]
            _draw(ax, heights, tables, [(equation, name) for name in some], alpha, null)
            ax.set_title(plain(axis_labels([equation], 26)[0]))
            ax.tick_params(axis="y", length=0)

        size = _PANEL, 0.7 + 0.28 * len(some) * height
        around = 0.4 + _CHARACTER * max(map(len, names)), 0.9
        grid, panels = _in_panels(draw, equations, 4, size, around, title, sharex=True)
        for ax in grid[:, 0]:
            name_rows(ax, names, len(shown) - len(some))
        grid[-1, (len(equations) - 1) % grid.shape[1] // 2].set_xlabel(plain(unit))
        return panels
    rows = [(e, name) for e in equations for name in shown]
    texts = [name if len(equations) == 1 else f"{e}: {name}" for e, name in rows]
    labels = axis_labels(texts[:most], LONGEST_LABEL)
    n_more = len(rows) - len(labels)
    draw = partial(_draw, tables=tables, rows=rows[:most], alpha=alpha, null=null)
    return plot_rows(draw, labels, n_more, ax, title, plain(unit), None, height)


def _frame(one: Any, alpha: float) -> pd.DataFrame:
    """Estimates and limits, by equation and name; the equation is "" where there is one."""
    remedy = "must be results of a regression, or a table with 'params', 'lower' and 'upper'"
    if isinstance(one, pd.DataFrame):
        if "params" not in one.columns:
            raise InvalidArgument("results", list(one.columns), remedy)
        frame = one.reindex(columns=["params", "lower", "upper"])
        return _by_equation(frame)
    params, ends = getattr(one, "params", None), getattr(one, "conf_int", None)
    if params is None or not callable(ends):
        raise InvalidArgument("results", type(one).__name__, remedy)
    limits = np.asarray(ends(alpha=alpha), dtype=np.float64)
    if isinstance(params, pd.DataFrame):
        pairs = [(column, name) for column in params.columns for name in params.index]
        index: Any = pd.MultiIndex.from_tuples(pairs)
        values = params.to_numpy().T.ravel()
        limits = limits.reshape(-1, 2)
    else:
        names = params.index if isinstance(params, pd.Series) else one.model.exog_names
        index, values = pd.Index(names), np.asarray(params, dtype=np.float64)
    frame = pd.DataFrame(limits, index=index, columns=["lower", "upper"])
    frame.insert(0, "params", values)
    infinite = set(getattr(one, "infinite", ()))
    full = [": ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in frame.index]
    lost = [name in infinite for name in full]
    frame.loc[lost, "params"] = np.nan  # at infinity, of which only the interval says something
    return _by_equation(frame)


def _by_equation(frame: pd.DataFrame) -> pd.DataFrame:
    if isinstance(frame.index, pd.MultiIndex):
        pairs = [(str(first), str(second)) for first, second in frame.index]
    else:
        pairs = [("", str(name)) for name in frame.index]
    return frame.set_axis(pd.MultiIndex.from_tuples(pairs), axis=0)


def _shown(frames: Sequence[pd.DataFrame], names: Any, constant: bool) -> list[str]:
    """Names of the coefficients to draw."""
    known = list(dict.fromkeys(name for frame in frames for name in frame.index.unique(level=1)))
    if names is not None:
        remedy = "must be names of coefficients"
        asked = [names] if isinstance(names, str) else listed("names", names, remedy)
        return [one_of("names", name, tuple(known)) for name in asked]
    kept = [name for name in known if constant or (name not in _CONSTANTS and "/" not in name)]
    return kept or known


def _draw(
    ax: Axes,
    heights: Array,
    tables: Sequence[tuple[str, pd.DataFrame]],
    rows: Sequence[tuple[str, str]],
    alpha: float,
    null: float | None,
) -> None:
    """Draw estimates with intervals, those of several results below each other in a row.

    An infinite end is an arrow to the edge of the plot.
    """
    if null is not None:
        ax.axvline(null, color="0.8", lw=0.8, zorder=0)
    step = min(0.22, 0.7 / len(tables))
    for i, (label, frame) in enumerate(tables):
        some = frame.reindex(pd.MultiIndex.from_tuples(rows))
        at = heights - (i - (len(tables) - 1) / 2.0) * step
        p, low, high = (some[column].to_numpy() for column in ("params", "lower", "upper"))
        name, has = plain(label or "estimate"), not np.isnan(low).all()
        line: dict[str, Any] = {"color": f"C{i % 10}", "lw": 2, "alpha": 0.6}
        how = {"arrowstyle": "->", "shrinkA": 0, "shrinkB": 0, **line}
        for edge, ends in enumerate((low, high)):  # an arrow to the edge, wherever that will be
            for x, y in zip(p[np.isinf(ends)], at[np.isinf(ends)], strict=True):
                place = ("axes fraction", "data")
                ax.annotate("", (edge, y), (x, y), place, "data", arrowprops=how)
        ax.hlines(at, np.where(np.isinf(low), p, low), np.where(np.isinf(high), p, high), **line)
        marker = "o" if has else "x"
        ax.plot(p, at, marker, color=f"C{i % 10}", label=name, ls="none")
    if len(tables) == 1:
        ax.plot([], [], color="C0", alpha=0.6, label=interval_name(alpha))
    ax.margins(x=0.04)


def _in_panels(
    draw: Callable[[Axes, str], None],
    names: Sequence[str],
    most: int,
    size: tuple[float, float],
    around: tuple[float, float],
    title: str,
    sharex: bool = False,
) -> Any:
    """Draw a panel for each name, `most` in a row: all panels, (r, c), and those that are used.

    `size` is that of a panel, `around` what the figure has beside them, in inches.
    """
    columns = min(most, len(names))
    rows = -(-len(names) // columns)
    width, height = size[0] * columns + around[0], around[1] + rows * size[1]
    figure = new_figure(width, height)
    grid = figure.subplots(rows, columns, sharex=sharex, sharey=True, squeeze=False)
    panels = grid.ravel()[: len(names)]
    for ax, name in zip(panels, names, strict=True):
        draw(ax, name)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in grid.ravel()[len(names) :]:
        ax.remove()
    if title:
        set_figure_title(figure, title)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return grid, panels


# -- predictions along a covariate -------------------------------------------------------------


def plot_effects(
    question: Any, name: Any, at: Any, points: Any, ax: Axes | None, title: str | None
) -> Any:
    """Draw predictions along covariates, of what is asked in `effects.Question`."""
    at = one_of("at", at, ("observed", "mean"))
    points = positive_integer("points", points, 2)
    if points > _MOST_POINTS:
        raise InvalidArgument("points", points, f"must be at most {_MOST_POINTS}")
    rows, law, by = question.rows, question.rows.law, ", ".join(question.names)
    groups = []
    for label in question.labels:
        each = zip(question.names, label, strict=True)
        groups.append(", ".join(f"{one} = {value}" for one, value in each))
    names = rows.covariates[:_MOST_PANELS] if name is None else [rows.known("name", name)]
    if not names:
        raise InvalidArgument("name", None, "the model has no covariate to draw")
    if by and (name is None or name in question.names):
        remedy = f"goes with name=, another covariate, one of {', '.join(rows.covariates)}"
        raise InvalidArgument("by", by, remedy)
    several, crowded = law.labels is not None, len(groups) > _MOST_COLOURS
    found = {one: _predicted(question, one, at, points) for one in names[: 1 if by else None]}
    if len(found) == 1 and not (by and several):
        values, is_number, table = found[names[0]]
        if not is_number and (crowded or len(values) > _MOST_COLOURS):
            return _effect_rows(question, names[0], values, groups, table, ax, title)
    # a panel for each covariate; or for each group, where categories have the colours, or there
    # are too many for a colour each
    drawn = {one: (one, list(range(len(groups)))) for one in names}
    if by and (several or crowded):
        drawn = {group: (names[0], [g]) for g, group in enumerate(groups)}

    def draw(ax: Axes, head: str, room: int = _ROOM // 2) -> None:
        one, some = drawn[head]
        _draw_effect(ax, question, one, some, groups, *found[one], room)
        if len(drawn) > 1 and by:
            ax.set_title(plain(axis_labels([head], 26)[0]), fontsize="medium")

    heads = list(drawn)
    if len(heads) == 1:
        what = law.subject if law.labels is None else law.data.response_name
        words = title_text(title, f"{what}, by {' and '.join([names[0], *question.names])}")
        own = ax is None
        ax = axes_of(ax, *_EFFECT)
        draw(ax, heads[0], _ROOM)
        ax.set_ylabel(plain(law.unit))
        finish(ax, words, own)
        return ax
    if ax is not None:
        remedy = f"takes one covariate: pass name=, one of {', '.join(names)}"
        raise InvalidArgument("ax", "Axes", "has room for one group" if by else remedy)
    size, columns = (_EFFECT_PANEL, 2.9), _COLUMNS
    if len(heads) > _MOST_PANELS:
        size, columns = (2.2, 1.7), 5
    grid, panels = _in_panels(draw, heads, columns, size, (0.8, 0.9), title_text(title, ""))
    for ax in grid[:, 0]:
        ax.set_ylabel(plain(law.unit))
    return panels


def _predicted(question: Any, name: str, at: str, points: int) -> tuple[Any, bool, Array]:
    """Values of a covariate, whether it is a number, and (groups, values, k, 3) of predictions."""
    rows = question.rows
    values = rows.levels(name)
    is_number = not rows.is_private(name) and rows.is_number(name) and len(values) > _FEW
    if is_number:
        values = np.linspace(float(values[0]), float(values[-1]), points)
    elif len(values) > _MOST_LEVELS:
        remedy = f"has {len(values):,} levels, and {_MOST_LEVELS} at most are drawn: join them"
        raise InvalidArgument("name", name, remedy)
    settings = [{name: value} for value in values]
    frame = replace(question, settings=settings, typical=at == "mean").predictions().frame
    table = frame[["mean", "lower", "upper"]].to_numpy()
    return values, is_number, table.reshape(len(question.labels), len(values), -1, 3)


def _effect_rows(
    question: Any,
    name: str,
    values: Any,
    groups: list[str],
    table: Array,
    ax: Axes | None,
    title: str | None,
) -> Any:
    """Many groups or levels: a row each, in a panel for each level or category."""
    law = question.rows.law
    levels, categories = (
        [str(value) for value in values],
        list(map(str, [""] if law.labels is None else law.labels)),
    )
    pairs = [
        (f"{name} = {level}", group) if len(groups) > 1 else (category, level)
        for group in groups
        for level in levels
        for category in categories
    ]
    columns, index = ["params", "lower", "upper"], pd.MultiIndex.from_tuples(pairs)
    frame = pd.DataFrame(table.reshape(-1, 3), index=index, columns=columns)
    what = law.subject if law.labels is None else law.data.response_name
    words = title_text(title, f"{what}, by {' and '.join([name, *question.names])}")
    most = max(len(groups), len(levels))
    drawn = draw_estimates(frame, law.unit, question.alpha, most, ax, words, None)
    if isinstance(law.data.outcome, Categorical):
        for panel in np.ravel(drawn):
            percent_axis(panel)
    return drawn


def _draw_effect(
    ax: Axes,
    question: Any,
    name: str,
    some: list[int],
    groups: list[str],
    values: Any,
    is_number: bool,
    table: Array,
    room: int,
) -> None:
    """Draw some groups along a covariate: curves with bands of numbers, points of levels."""
    law = question.rows.law
    # a colour for each group, or category
    mean, low, high = table[some].transpose(3, 1, 0, 2).reshape(3, len(values), -1)
    k = mean.shape[1]
    labels = ["prediction"] if len(some) == 1 else axis_labels(groups, _LONGEST)
    if law.labels is not None:
        labels = axis_labels(law.labels, _LONGEST)
    interval = interval_name(question.alpha) if k == 1 else "_none"
    colours: list[Any] = [f"C{a}" for a in range(k)]
    if k > _MOST_COLOURS:
        import matplotlib

        colours = list(matplotlib.colormaps["viridis"](np.linspace(0.0, 0.95, k)))
    for a, (colour, label) in enumerate(zip(colours, labels, strict=True)):
        band = low[:, a], high[:, a]
        if is_number:
            ax.fill_between(values, *band, color=colour, alpha=0.2, lw=0, label=interval)
            ax.plot(values, mean[:, a], color=colour, label=label)
        else:
            place = np.arange(len(values)) + (a - (k - 1) / 2.0) * min(0.12, 0.6 / k)
            ax.vlines(place, *band, color=colour, alpha=0.6, label=interval)
            ax.plot(place, mean[:, a], "o", color=colour, label=label)
    if not is_number:
        texts = axis_labels(values, _LONGEST)
        ax.set_xticks(np.arange(len(values)), texts)
        ax.set_xlim(-0.6, len(values) - 0.4)
        if sum(map(len, texts)) > room:
            for text in ax.get_xticklabels():
                text.set(rotation=35, ha="right", rotation_mode="anchor")
    ax.set_xlabel(plain(name))
    if isinstance(law.data.outcome, Categorical):  # percentages
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent_text(value)))
