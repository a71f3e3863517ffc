"""Figures 5, 6 and 7 of MK19, as stored, for vignettes/articles/06_utility_optimised.py."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.studies.utility_optimised import TABLES, alone, by_size, of, rows_of

STYLES = {
    "RR": {"color": "C3", "marker": "o", "mfc": "white"},
    "RAPPOR": {"color": "C1", "marker": "s", "mfc": "white"},
    "uRR": {"color": "C0", "marker": "o"},
    "uRAP": {"color": "C2", "marker": "s"},
}
WORDS = {"inversion": "inversion", "thresholded": "thresholded", "mle": "maximum likelihood"}
LOSSES = {"tv": "total variation", "l2": "squared l2 loss"}


def epsilon_axis(ax):
    ax.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_locator(NullLocator())


def legend(figure, ax, ncols):
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, frameon=False)


def sizes(results, name):
    row = rows_of(results, table=name, figure=5).iloc[0]
    return f"{name}: {row['sensitive']:.0f} of {row['k']:.0f} sensitive, n = {row['n']:,.0f}"


def against_epsilon(results, loss="tv"):
    """Figure 5: loss by epsilon, a row for each table and a column for each estimator."""
    fig, axes = plt.subplots(4, 3, figsize=(10.5, 12.5), sharex=True, layout="constrained")
    for row, name in zip(axes, TABLES, strict=True):
        for ax, (method, title) in zip(row, WORDS.items(), strict=True):
            for kind, style in STYLES.items():
                means = of(results, name, kind, method, loss=loss)
                line = "" if method == "inversion" else "-"
                ax.loglog(means.index, means, ls=line, ms=4, lw=1.2, label=kind, **style)
                if method == "inversion":
                    expected_loss = of(results, name, kind, method, loss=f"{loss}_expected")
                    label = "theory" if kind == "uRAP" else None
                    ax.loglog(expected_loss.index, expected_loss, "k-", lw=0.6, label=label)
            ax.axhline(
                alone(results, name, "no privacy", loss), color="k", lw=1.2, label="no privacy"
            )
            ax.axhline(
                alone(results, name, "guess", loss), color="0.5", ls=":", label="uniform guess"
            )
            k = rows_of(results, table=name, figure=5)["k"].iloc[0]
            ax.axvline(np.log(k), color="0.7", lw=0.8)
            ax.set_title(f"{title}" if name == TABLES[0] else "", fontsize="medium")
            epsilon_axis(ax)
            ax.spines[["top", "right"]].set_visible(False)
        bounds = np.array([ax.get_ylim() for ax in row[1:]])
        for ax in row[1:]:
            ax.set_ylim(bounds[:, 0].min(), bounds[:, 1].max())
        row[0].set_ylabel(f"{sizes(results, name)}\n{LOSSES[loss]}", fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel(r"$\epsilon$ (grey line: $\ln k$)")
    legend(fig, axes[0, 0], 7)
    return fig


def against_sensitive(results, loss="tv"):
    """Figure 6: loss by the number of sensitive categories."""
    names = [name for name in TABLES if name != "gss, divorced"]
    fig, axes = plt.subplots(2, 3, figsize=(10.5, 7.4), layout="constrained")
    for row, at in zip(axes, ("0.1", "ln k"), strict=True):
        for ax, name in zip(row, names, strict=True):
            for kind in ("uRR", "uRAP"):
                for method, line in (("inversion", ":"), ("mle", "-")):
                    means = by_size(results, name, kind, method, at, loss)
                    label = f"{kind}, {WORDS[method]}"
                    ax.loglog(means.index, means, ls=line, ms=4, label=label, **STYLES[kind])
            for kind in ("RR", "RAPPOR"):
                colour = STYLES[kind]["color"]
                ax.axhline(
                    of(results, name, kind, "mle", at, loss),
                    color=colour,
                    ls="--",
                    lw=1,
                    label=f"{kind}, maximum likelihood",
                )
            ax.axhline(
                alone(results, name, "no privacy", loss), color="k", lw=1.2, label="no privacy"
            )
            where = r"\ln k" if at == "ln k" else at
            ax.set_title(rf"{name}, $\epsilon = {where}$", fontsize="medium")
            ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("sensitive categories, drawn at random")
    for ax in axes[:, 0]:
        ax.set_ylabel(LOSSES[loss])
    legend(fig, axes[0, 0], 4)
    return fig


def against_attributes(results, loss="tv"):
    """Figure 7: loss by the number of attributes."""
    fig, axes = plt.subplots(2, 3, figsize=(10.5, 7.4), sharex="row", layout="constrained")
    for row, name in zip(axes, ("gss", "census"), strict=True):
        own = rows_of(results, table=name, figure=7)
        for ax, at in zip(row, (0.1, 1.0, 6.0), strict=True):
            for method, line in (("inversion", ":"), ("mle", "-")):
                for kind, style in STYLES.items():
                    rows = own[(own["mechanism"] == kind) & (own["method"] == method)]
                    rows = rows[rows["epsilon"] == at].sort_values("k")
                    label = f"{kind}, {WORDS[method]}"
                    ax.loglog(rows["k"], rows[loss], ls=line, ms=4, lw=1.2, label=label, **style)
            none = own[own["mechanism"] == "no privacy"].sort_values("k")
            ax.loglog(none["k"], none[loss], "k-", lw=1.2, label="no privacy")
            labels = [
                f"{a:.0f}\n{k:,.0f}" for a, k in zip(none["attributes"], none["k"], strict=True)
            ]
            ax.set_xticks(none["k"], labels, fontsize="small")
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_title(
                f"{name}, $\\epsilon$ = {at:g}, n = {none['n'].iloc[0]:,.0f}", fontsize="medium"
            )
            ax.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel(LOSSES[loss])
    for ax in axes[-1]:
        ax.set_xlabel("attributes, and categories k")
    legend(fig, axes[0, 0], 5)
    return fig
