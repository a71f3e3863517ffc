"""The summary and the figures of a joint distribution."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import numbers
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.estimates import Cells, Variables
from ldpstats.models.layout import (
    DOUBTFUL,
    LONGEST_LABEL,
    Fit,
    SummaryTable,
    closing_notes,
    decimals,
    distinct_lines,
    epsilon_text,
    estimate_cells,
    estimate_columns,
    estimator_text,
    header,
    interval_note,
    largest,
    one_line,
    protection_notes,
    pvalue_words,
    resolution_notes,
    rest_notes,
    second_shown,
    second_words,
    touch_ends,
)
from ldpstats.models.plots import LONGEST_LINE, axes_of, percent_text, set_title
from ldpstats.models.results import (
    cell_size,
    colour_bar,
    draw_cells,
    hatch,
    hatch_cells,
    labels_of,
    longest_label,
    missing_notes,
    settle,
    variable_name,
    write_cells,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, Colormap

__all__ = ["association_summary", "merging", "plot_heat_map", "plot_mosaic"]


_FEW = 10.0  # reports that a cell rests on below which normal laws are doubtful
_ROOM = 60  # characters of the labels of a cell together
_NAMED = 3  # cells that a note names
_ROUNDING = 1e-9  # of frequencies


def association_summary(
    fit: Fit,
    variables: Variables,
    cells: Cells,
    independence: TestResult | None,
    *,
    frame: pd.DataFrame,
    reports: pd.Series[float] | None,
    condition: float,
    is_doubtful: bool,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of the cells; `reports` are those that each rests on, where they are known."""
    names, shown = variables.names, largest(frame, max_rows)
    digits, both = decimals(shown), second_shown(frame, details)
    columns = list(zip(names, fit.sources, variables.labels, strict=True))
    left = [(f"{one_line(name, 20)}:", source) for name, source, _ in columns]
    right = [("Categories:", str(len(labels))) for *_, labels in columns]
    left += [("Estimator:", estimator_text(fit)), ("Cells:", str(fit.linear.estimate.size))]
    right += [("No. Respondents:", str(fit.nobs)), ("Missing:", str(fit.n_missing))]
    if cells.n_strata > 1:
        left.append(("Strata:", str(cells.n_strata)))
    right.append(("Epsilon, all (nats):", epsilon_text(fit.epsilon)))
    if variables.unprotected:
        right.append(("Not protected:", one_line(", ".join(variables.unprotected), 40)))
    if np.isnan(fit.linear.bse()).any():
        errors = (
            f"Standard errors of {len(frame)} cells at once were not computed: list fewer "
            "categories, with other=True."
        )
    else:
        kind = "Wald" if cells.law is None else "score intervals with skewness"
        source = second_words(frame, both, digits)
        errors = interval_note(alpha, kind, touch_ends(frame), source)
    return SummaryTable(
        title=f"Joint distribution of {listed(names)}",
        header=header(left, right, fit if details else None),
        columns=estimate_columns(alpha, both),
        stubs=cell_stubs(shown.index),
        body=estimate_cells(shown, digits, both),
        notes=[
            *missing_notes(fit.nobs, fit.n_missing, names, variables.lacking),
            errors,
            *rest_notes(len(shown), len(frame)),
            *_notes_of_cells(fit, cells, frame, reports),
            *_notes_of_assumptions(fit, variables, cells, independence, is_doubtful),
            *protection_notes(fit),
            *resolution_notes(fit, what="cells"),
            *closing_notes(fit, condition),
        ],
    )


def _notes_of_cells(
    fit: Fit, cells: Cells, frame: pd.DataFrame, reports: pd.Series[float] | None
) -> list[str]:
    """Which cells rest on few reports, at their own frequencies, and which exclude the estimate."""
    notes = []
    if reports is None:
        if cells.smallest_expected < _FEW:
            notes.append(
                "WARNING: fewer than ten reports of some combination are expected; intervals of "
                "rare cells cover less often than stated."
            )
    elif not (few := reports[reports < _FEW]).empty:
        notes.append(
            f"WARNING: {len(few)} of {len(reports)} cells rest on fewer than ten reports "
            f"({_named(few.sort_values(kind='stable'), '{:.1f}')}). Their intervals allow for it; "
            "conditionals, effects and Wald tests, which rest on normal laws, do not."
        )
    p = frame["params"]
    below, above = frame["lower"] - p, p - frame["upper"]
    outside = p[((below > _ROUNDING) | (above > _ROUNDING)) & p.between(0.0, 1.0)]
    if not outside.empty:
        what = "maximum likelihood estimate" if fit.is_maximum else "estimate"
        notes.append(
            f"NOTE: {len(outside)} of {len(frame)} intervals do not contain the {what} beside them "
            f"({_named(outside, '{:.4g}')}): it obeys bounds that the unconstrained one does not, "
            "and is biased near them."
        )
    return notes


def _notes_of_assumptions(
    fit: Fit,
    variables: Variables,
    cells: Cells,
    independence: TestResult | None,
    is_doubtful: bool,
) -> list[str]:
    """What is assumed of mechanisms, answers that are not listed and strata; independence."""
    notes = []
    for name, margin in zip(variables.names, variables.margin_fits, strict=True):
        test = margin.goodness_of_fit
        if margin.unexplained is None and test is not None and test.pvalue < DOUBTFUL:
            notes.append(
                f"WARNING: the reports of {name} contradict the hypothesis that {test.null} "
                f"({test.method}): {pvalue_words(test.pvalue)}."
            )
    if cells.dispersion > 1.0:
        notes.append(
            "NOTE: standard errors of the unconstrained estimate are "
            f"{np.sqrt(cells.dispersion):.3g} times those from the reports alone, to allow for "
            "answers that are not among the candidates."
        )
    if independence is None:
        notes.append("Independence of all variables was not tested: test pairs of them.")
    else:
        test = independence
        notes.append(
            f"Independence ({test.method}): {test.statistic:.4g} on {test.df:g} df, "
            f"{pvalue_words(test.pvalue)}."
        )
        notes += [f"NOTE: {test.note}."] if test.note else []
    if not variables.is_complete:
        words = "are ignored by the estimate, but not by the unconstrained one."
        if not (fit.is_maximum or fit.method == "one_step"):
            words = "are in no cell, so that the cells need not sum to one."
        notes.append(f"NOTE: answers that are not among the candidates {words}")
    if is_doubtful:
        notes.append("WARNING: the reports indicate that such answers exist; use other=True.")
    for name, other in zip(variables.names, variables.others, strict=True):
        if other in ("product", "fpe16"):
            notes.append(
                f"NOTE: other answers of {name} are modelled ({other}) as one category, whose "
                "reports follow one law whatever the values of the other variables."
            )
    if cells.n_strata > 1:
        notes.append(
            f"Respondents are in {cells.n_strata} strata (shared cohorts, or groups of "
            "mechanisms); tests compare respondents within them."
        )
    if fit.on_boundary and fit.is_maximum:
        notes.append(
            "NOTE: the estimate is on the boundary (a cell of zero); the intervals do not rest on "
            "it."
        )
    return notes


def cell_stubs(cells: pd.Index[Any]) -> list[str]:
    """Names of the cells, of which no two are alike."""
    levels = [list(dict.fromkeys(cells.get_level_values(v))) for v in range(cells.nlevels)]
    longest = [max(len(str(label)) for label in labels) for labels in levels]
    columns = []
    for labels, own in zip(levels, longest, strict=True):
        # short labels of the other variables leave more room
        room = max(_ROOM // len(levels), _ROOM - (sum(longest) - own))
        columns.append(dict(zip(labels, distinct_lines(labels, room), strict=True)))
    return [" : ".join(map(dict.__getitem__, columns, cell)) for cell in cells]


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    *first, last = (one_line(name, LONGEST_LABEL) for name in names)
    return f"{', '.join(first)} and {last}"


def _named(values: pd.Series[float], form: str) -> str:
    """The first few cells and their values, in words."""
    first = values.iloc[:_NAMED]
    cells = [" : ".join(one_line(label, 20) for label in cell) for cell in first.index]
    named = [f"{cell}: {form.format(value)}" for cell, value in zip(cells, first, strict=True)]
    return ", ".join([*named, "..."] if len(values) > _NAMED else named)


# -- Figures; Matplotlib is imported when one is drawn --------------------------------------------
# Colours of departures from independence are the same in both plots: bands of their z value, grey
# where it lies within 1.96, so that no colour is seen where nothing is established.


Array = npt.NDArray[Any]

_BANDS = (-8.0, -4.0, -1.96, 1.96, 4.0, 8.0)  # of z values; beyond the ends there is a colour more
_GAP = 0.012  # between the columns of a mosaic, whose widths sum to one
_Z_LABEL = "departure from independence\n(standard errors)"
_HATCHED = "hatched: the interval contains 0"


def plot_heat_map(
    table: pd.DataFrame,
    lower: pd.DataFrame | npt.ArrayLike,
    upper: pd.DataFrame | npt.ArrayLike,
    ax: Axes | None = None,
    title: str = "",
    independence: pd.DataFrame | npt.ArrayLike | None = None,
) -> Axes:
    """Draw a joint table as a heat map, with the estimate and the interval of each cell."""
    p, low, high = _intervals(table, lower, upper)
    k1, k2 = p.shape
    cell = cell_size(k1, k2)
    own = ax is None
    ax = axes_of(ax, 2.6 + 0.07 * longest_label(table.index) + k2 * cell[0], 1.8 + k1 * cell[1])
    if independence is None:
        import matplotlib
        from matplotlib.colors import Normalize

        certain, values = low > 0, p
        colours = matplotlib.colormaps["Blues"], Normalize(min(0.0, p.min()), max(p.max(), 1e-12))
    else:
        values = _numbers("independence", independence, p.shape)
        certain = np.abs(values) >= _BANDS[3]
        colours = _departure_colours()
    mesh = draw_cells(ax, values, colours, labels_of(table.index), labels_of(table.columns))
    faces = mesh.to_rgba(values)
    hatched = ~certain & (independence is None)
    hatch_cells(ax, hatched, faces)
    ax.set_ylabel(variable_name(table.index, "X"))
    notes = [_HATCHED] if hatched.any() else []
    ax.set_xlabel("\n".join([variable_name(table.columns, "Y"), *notes]))
    set_title(ax, title)
    # decimals of percentages that show two digits of the usual half-width
    half = 50 * float(np.median(high - low))
    digits = int(np.clip(1 - np.floor(np.log10(half)), 0, 4)) if half > 0 else 1
    percent = [f"{100 * value:.{digits}f}%" for value in p.flat]
    if independence is None:
        bar, alone = (
            colour_bar(ax, mesh, "frequency", lambda value, _: percent_text(value)),
            percent,
        )
        ends = zip(percent, (100 * low).flat, (100 * high).flat, strict=True)
        texts = [f"{e}\n[{a:.{digits}f}, {b:.{digits}f}]" for e, a, b in ends]
    else:
        bar = colour_bar(ax, mesh, _Z_LABEL)
        alone = [f"{round(value, 1) + 0.0:+.1f}" for value in values.flat]  # no negative zero
        texts = [f"{a}\n{b}" for a, b in zip(alone, percent, strict=True)]
    settle(ax, bar, np.ones(k2), own)
    write_cells(ax, (texts, alone), faces, certain)
    return ax


def plot_mosaic(
    table: pd.DataFrame,
    lower: pd.DataFrame | npt.ArrayLike,
    upper: pd.DataFrame | npt.ArrayLike,
    ax: Axes | None = None,
    title: str = "",
    z: pd.DataFrame | npt.ArrayLike | None = None,
    cum_lower: npt.ArrayLike | None = None,
    cum_upper: npt.ArrayLike | None = None,
) -> Axes:
    """Draw a joint table as a mosaic: widths P(X), heights P(Y | X), the first category on top."""
    p, low, _ = _intervals(table, lower, upper)
    if p.min() < 0 or abs(p.sum() - 1.0) > 1e-6:
        raise InvalidArgument(
            "table", p, "must hold frequencies that sum to one; pass the estimate on the simplex"
        )
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    k1, k2 = p.shape
    bars = None
    if cum_lower is not None or cum_upper is not None:
        bars = _ends("cum_lower", cum_lower, cum_upper, (k1, k2 - 1))
    cmap: Colormap
    norm: Any
    if z is None:
        cmap, norm = matplotlib.colormaps["YlGnBu"], Normalize(-0.35 * k2, 1.15 * k2)
        values = np.broadcast_to(np.arange(k2), p.shape)
    else:
        (cmap, norm), values = _departure_colours(), _numbers("z", z, p.shape)
    own = ax is None
    width = 4.5 + 0.07 * longest_label(table.columns) + 0.3 * k1
    ax = axes_of(ax, min(width, 14.0), min(3.6 + 0.16 * k2, 9.0))
    # left ends and widths of columns, (k1,), and ends of tiles in them, (k1, k2 + 1)
    wide = p.sum(axis=1)
    left = np.cumsum(wide) - wide + _GAP * (np.cumsum(wide > 0) - 1)
    conditional = p / np.where(wide > 0, wide, 1.0)[:, None]
    ends = np.hstack([np.zeros((len(p), 1)), np.cumsum(conditional, axis=1)])
    tiles = np.stack([*np.broadcast_arrays(left[:, None], ends[:, :-1], wide[:, None])], axis=-1)
    tiles = np.concatenate([tiles, np.diff(ends)[..., None]], axis=-1)  # x, y, width, height
    shown = wide > 0
    _fill(ax, tiles[shown], cmap(norm(values))[shown])
    hatch(ax, tiles[(low <= 0) & (p > 0)], "0.5")
    _name_mosaic(ax, table, left, wide, ends)
    notes = [_HATCHED] if np.any((low <= 0) & (p > 0)) else []
    notes += ["bars: intervals of the boundaries between tiles"] if bars is not None else []
    if not shown.all():
        absent = ", ".join(np.array(labels_of(table.index))[~shown])
        notes += textwrap.wrap(f"of frequency 0, not shown: {absent}", LONGEST_LINE)
    ax.set_xlabel("\n".join([variable_name(table.index, "X"), *notes]))
    set_title(ax, title)
    bar = None if z is None else colour_bar(ax, ScalarMappable(norm, cmap), _Z_LABEL)
    settle(ax, bar, wide[shown], own)
    # labels of tiles move from their middle as far as it takes not to overlap
    labels, middle = ax.get_yticklabels(), np.asarray(ax.get_yticks())
    line = 1.2 * float(labels[0].get_fontsize()) / 72 * ax.figure.dpi
    least = min(line / ax.bbox.height, 1 / len(labels))
    steps = least * np.arange(len(labels))
    apart = np.maximum.accumulate(middle - steps) + steps
    places = np.minimum(apart, 1.0 - least / 2 - steps[::-1])
    ax.set_yticks(places, [label.get_text() for label in labels])
    if bars is not None:
        _draw_bars(ax, *bars, left, wide)
    return ax


def _fill(ax: Axes, tiles: Array, colours: Array) -> None:
    """Draw tiles (x, y, width, height) in their colours."""
    from matplotlib.patches import Rectangle

    for (x, y, wide, high), colour in zip(
        tiles.reshape(-1, 4), colours.reshape(-1, 4), strict=True
    ):
        tile = Rectangle((x, y), wide, high, facecolor=colour, edgecolor="white", lw=0.8)
        tile.set_in_layout(False)  # it is inside the axes: the layout need not look at it
        ax.add_patch(tile)


def _name_mosaic(ax: Axes, table: pd.DataFrame, left: Array, wide: Array, ends: Array) -> None:
    """Labels of X below their columns, of Y beside the tiles of the first column."""
    shown = np.flatnonzero(wide)
    ax.set_xticks(left[shown] + wide[shown] / 2, np.array(labels_of(table.index))[shown])
    ax.set_yticks((ends[shown[0], :-1] + ends[shown[0], 1:]) / 2, labels_of(table.columns))
    ax.set_xlim(0.0, float(left[-1] + wide[-1]))
    ax.set_ylim(1.0, 0.0)
    ax.set_ylabel(variable_name(table.columns, "Y"))
    scale = ax.secondary_yaxis("right")
    scale.set_ylabel("cumulative conditional frequency")
    scale.yaxis.set_major_formatter(lambda value, _: percent_text(value))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _draw_bars(ax: Axes, low: Array, high: Array, left: Array, wide: Array) -> None:
    """Intervals of the boundaries between tiles, side by side in each column."""
    steps = wide / (low.shape[1] + 1)
    at = left[:, None] + steps[:, None] * np.arange(1, low.shape[1] + 1)
    points = 72 / ax.figure.dpi * ax.bbox.width / float(np.diff(ax.get_xlim())[0])
    thin = np.minimum(1.2, 0.4 * points * steps)  # lines of narrow columns
    cap = np.minimum(0.3 * steps, 0.006)
    shown = np.broadcast_to(wide[:, None] > 0, low.shape)
    x, bottom, top = at[shown], low[shown], high[shown]
    cap, thin = (np.broadcast_to(v[:, None], low.shape)[shown] for v in (cap, thin))
    ax.vlines(x, bottom, top, color="black", lw=thin)
    ax.hlines([*bottom, *top], [*(x - cap)] * 2, [*(x + cap)] * 2, color="black", lw=[*thin] * 2)


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Finite numbers of the shape of the table."""
    array = numbers(name, value, f"must be numbers of shape {shape}", shape)
    if not np.isfinite(array).all():
        raise InvalidArgument(name, value, f"must be finite numbers of shape {shape}")
    return array


def _ends(name: str, lower: Any, upper: Any, shape: tuple[int, ...]) -> tuple[Array, Array]:
    low, high = _numbers(name, lower, shape), _numbers(name.replace("low", "upp"), upper, shape)
    if np.any(low > high):
        raise InvalidArgument(name, lower, "must not exceed the upper ends")
    return low, high


def _intervals(table: Any, lower: Any, upper: Any) -> tuple[Array, Array, Array]:
    if not isinstance(table, pd.DataFrame) or 0 in table.shape:
        raise InvalidArgument("table", table, "must be a DataFrame with rows and columns")
    p = _numbers("table", table, table.shape)
    return p, *_ends("lower", lower, upper, table.shape)


def _departure_colours() -> tuple[Colormap, BoundaryNorm]:
    """Bands of z values: blue for too few, grey for nothing established, red for too many."""
    import matplotlib
    from matplotlib.colors import BoundaryNorm, ListedColormap

    ends = matplotlib.colormaps["RdBu_r"]([0.04, 0.15, 0.3, 0.7, 0.85, 0.96])
    grey = [0.88, 0.88, 0.88, 1.0]
    cmap = ListedColormap([*ends[:3].tolist(), grey, *ends[3:].tolist()])
    return cmap, BoundaryNorm(_BANDS, cmap.N, extend="both")


# -- Categories that a mosaic would draw too thin to read, merged into one ------------------------


_THIN = 0.015  # of the width or the height of a mosaic


@dataclass(frozen=True, eq=False)
class Merging:
    """Which categories of a table are drawn together."""

    rows: npt.NDArray[np.int64]  # (k1,) group of each category
    columns: npt.NDArray[np.int64]  # (k2,)
    labels: tuple[pd.Index[Any], pd.Index[Any]]  # of the groups

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """Group of each cell, shape (k1 k2,)."""
        return (self.rows[:, None] * len(self.labels[1]) + self.columns).ravel()

    def sums(self, values: Array) -> pd.DataFrame:
        """Cells, (k1, k2), summed over their groups."""
        shape = tuple(map(len, self.labels))
        total = np.bincount(self.cells, np.ravel(values), minlength=shape[0] * shape[1])
        return pd.DataFrame(total.reshape(shape), *self.labels)

    def chosen(self, values: Array, merged: Array) -> Array:
        """The values, (k1 k2,), of cells that stay, and those `merged` of the others."""
        alone = np.bincount(self.cells) == 1
        out = np.array(merged, dtype=np.float64)
        out[self.cells[alone[self.cells]]] = np.ravel(values)[alone[self.cells]]
        return out


def merging(table: pd.DataFrame) -> Merging:
    """The merging of thin categories: rare rows (columns of a mosaic), tiles thin in every row."""
    p = table.to_numpy()
    wide = p.sum(axis=1)  # rows of frequency zero are not drawn, and stay
    rows, row_labels = _groups(table.index, (wide > 0.0) & (wide < _THIN * wide.sum()))
    p = np.array([p[rows == group].sum(axis=0) for group in range(len(row_labels))])
    wide = p.sum(axis=1)
    conditional = p[wide > 0.0] / wide[wide > 0.0, None]
    columns, column_labels = _groups(table.columns, (conditional < _THIN).all(axis=0))
    return Merging(rows, columns, (row_labels, column_labels))


def _groups(
    labels: pd.Index[Any], thin: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], pd.Index[Any]]:
    """Groups of categories, the thin ones together in the last: two of them at least.

    Where fewer than two others were left, there would be nothing to see, and all stay.
    """
    n = int(thin.sum())
    if n < 2 or len(labels) - n < 2:
        return np.arange(len(labels)), labels
    groups = np.where(thin, len(labels) - n, np.cumsum(~thin) - 1)
    return groups, pd.Index([*labels[~thin], f"other ({n})"], dtype=object, name=labels.name)
