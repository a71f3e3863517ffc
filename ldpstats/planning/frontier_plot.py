"""The plot of precision against privacy. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.models.shared.axes import (
    axes_of,
    axis_labels,
    figure_of,
    keep_in_cell,
    lacks_layout,
    legend_below,
    percent_text,
    plain,
    set_title,
    title_text,
)
from ldpstats.models.shared.tables import one_line
from ldpstats.planning.curves import Curves, curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_frontier"]

_SIZE = (6.4, 4.8)  # inches
_DASHES = ("-", (0, (5, 1.5)), (0, (4, 1.5, 1, 1.5)), (0, (1.5, 1.2)))
_WIDEST = 2.8  # points; later lines are thinner, so that those below them can be seen
_MARKERS = "osD^vP*X"
_LONGEST = 40  # characters of the name of a mechanism
_DECADES = 3.0  # of an axis from which on only powers of ten are numbered
_DIGITS = (1.0, 2.0, 5.0)  # of the numbers on an axis


def plot_frontier(
    mechanisms: Any = None,
    categories: Any = None,
    p: npt.ArrayLike | None = None,
    n: int | None = None,
    se: float | None = None,
    epsilons: npt.ArrayLike | None = None,
    category: Any = None,
    design_effect: float = 1.0,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Plot precision against privacy, a line for each kind of mechanism.

    The lower end of all lines, shaded, is the frontier: no kind that is drawn is more precise at
    that epsilon. A thin line shows a survey without privacy.

    Parameters
    ----------
    mechanisms : sequence of kinds or Mechanism, optional
        Kinds are drawn over all epsilons, mechanisms as points at their own: "krr", "warner",
        "krappor", "oue", "subset-selection", "hadamard-response", "projective-geometry-response"
        and "olh". Default: all kinds that are for so many categories.
    categories : int, or sequence of labels, optional
        Over which the kinds are drawn, and the candidates of mechanisms with an open alphabet.
        Default: those of the first mechanism.
    p : array-like, shape (k,), or Series, optional
        Expected distribution, in the order of `categories`, or a Series by label. Default: uniform.
    n : int, optional
        Draw the largest standard error of all categories with n respondents.
    se : float, optional
        Draw the respondents that are needed for this largest standard error. Exactly one of `n` and
        `se` is given.
    epsilons : sequence of float, optional
        At least two, in nats. Default: from 0.1 to 8.
    category : label, optional
        The category that counts. Default: the one with the largest standard error.
    design_effect : float
        As in `precision`.
    ax : matplotlib Axes, optional
        To draw on.
    title : str, optional
        "" for none.

    Returns
    -------
    Axes

    Raises
    ------
    InvalidArgument
        If an argument is out of range, `categories` are missing, or mechanisms have others.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ax = plot_frontier(["krr", "oue", ldp.KRR(16, epsilon=2.0)], 16, n=5000)
    >>> ax.get_xlabel()
    'epsilon of a report, in nats'
    """
    how = {"category": category, "design_effect": design_effect}
    found = curves(mechanisms, categories, p, epsilons, n, se, **how)
    words = title_text(title, _default_title(found))
    own = ax is None
    ax = axes_of(ax, *_SIZE)
    _draw_lines(ax, found)
    _draw_points(ax, found)
    _name_axes(ax, found)
    ax.spines[["top", "right"]].set_visible(False)
    for _ in range(1 if own else 2):  # labels may leave less room than axes have had
        set_title(ax, words)
        legend_below(ax)
        if not own and lacks_layout(ax):
            keep_in_cell(ax)
        elif not own:
            figure_of(ax).draw_without_rendering()
    return ax


def _default_title(found: Curves) -> str:
    k, n = len(found.measure.law), found.measure.n
    return f"{k:,} categories" + (f", n = {n:,}" if n is not None else "")


def _draw_lines(ax: Axes, found: Curves) -> None:
    """The kinds, the frontier below them, and the survey without privacy."""
    how: dict[str, Any] = {"color": "0.87", "lw": 9, "solid_capstyle": "butt"}
    if len(found.lines) > 1:
        best = np.min(list(found.lines.values()), axis=0)
        ax.plot(found.epsilons, best, zorder=1, label="frontier", **how)
    for i, (name, values) in enumerate(found.lines.items()):
        how = {"ls": _DASHES[i % len(_DASHES)], "lw": max(_WIDEST - 0.25 * i, 1.2)}
        ax.plot(found.epsilons, values, color=f"C{i % 10}", label=name, **how)
    if found.direct > 0.0:
        ax.axhline(found.direct, color="0.35", lw=1.0, zorder=1, label="without privacy")


def _draw_points(ax: Axes, found: Curves) -> None:
    """Mechanisms at their own epsilon, below the lines' colours in the list."""
    names = axis_labels([name for name, *_ in found.dots], _LONGEST)
    for i, (name, (_, epsilon, value)) in enumerate(zip(names, found.dots, strict=True)):
        colour = f"C{(len(found.lines) + i) % 10}"
        how: dict[str, Any] = {"color": colour, "ms": 7, "mec": "white", "zorder": 4}
        ax.plot(epsilon, value, _MARKERS[i % len(_MARKERS)], label=name, **how)


def _name_axes(ax: Axes, found: Curves) -> None:
    """Logarithmic axes with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values = np.concatenate([*found.lines.values(), [v for *_, v in found.dots], [found.direct]])
    ax.set_xscale("log")
    ax.margins(x=0.02)
    if np.all(values > 0.0):
        ax.set_yscale("log")
    percent = found.measure.se is None
    for axis, text in ((ax.xaxis, _number), (ax.yaxis, _percent if percent else _number)):
        if axis.get_scale() == "log":
            many = axis is ax.yaxis and np.ptp(np.log10(values)) > _DECADES
            axis.set_major_locator(LogLocator(subs=(1.0,) if many else _DIGITS))
            axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(text))
    ax.grid(color="0.93", lw=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel("epsilon of a report, in nats")
    which = one_line(found.measure.category, _LONGEST // 2)
    worst = found.measure.category is None
    error = "largest standard error" if worst else f"standard error of {which}"
    if found.measure.se is not None:
        target = percent_text(float(found.measure.se))
        error = f"respondents for a {error}" + (f" of {target}" if worst else f": {target}")
    ax.set_ylabel(plain(error))


def _number(value: float, _: Any) -> str:
    return f"{value:,.0f}" if value >= 1.0 else f"{value:g}"


def _percent(value: float, _: Any) -> str:
    return percent_text(value)
