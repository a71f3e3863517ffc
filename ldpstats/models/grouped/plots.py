"""Small multiples: the frequencies of each group on axes of their own, with one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpstats.models.frequency.plots import plot_frequencies
from ldpstats.models.shared.axes import plain
from ldpstats.models.shared.tables import one_line

if TYPE_CHECKING:
    from ldpstats.models.grouped.results import GroupedResults

__all__ = ["plot_groups"]

_ABREAST = 3  # groups in a row
_WIDTH = 3.2  # inches a group
_LONGEST_TITLE = 36  # characters


def plot_groups(results: GroupedResults, alpha: float) -> Any:
    """Draw every group; the axes, an array of shape (g,)."""
    import matplotlib.pyplot as plt

    g, k = len(results.fits), len(results.categories)
    columns = min(g, _ABREAST)
    rows = -(-g // columns)
    height = 1.2 + 0.25 * min(k, 24)
    size = (1.5 + _WIDTH * columns, 0.6 + height * rows)
    figure, grid = plt.subplots(
        rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    axes = grid.ravel()
    for ax, label, fit in zip(axes, results.labels, results.fits, strict=False):
        plot_frequencies(fit.fit, fit.summary_frame(alpha), ax, alpha)
        name = one_line(", ".join(map(str, label)), _LONGEST_TITLE)
        ax.set_title(f"{plain(name)}, n = {fit.nobs:,}", fontsize="medium")
        ax.get_legend().remove()
    for ax in axes[g:]:
        ax.set_axis_off()
    for ax in axes[:g]:
        ax.label_outer()
    for ax in grid[-2, g - columns * (rows - 1) :] if rows > 1 else ():
        ax.xaxis.set_tick_params(labelbottom=True)  # nothing is below it
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=3, frameon=False)
    if results.name:
        figure.suptitle(plain(one_line(results.name, 80)), fontsize="medium")
    return axes[:g]
