"""Figures 2, 3 and 11 of FPE16, and of the bias of joint estimates, for the vignette."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.studies import association_tests, joint_tables

WORDS = {"ignore": "ignoring Other", "product": "product of bits", "lump": "exact lumping"}
IN_OTHER = np.add.outer(np.arange(6) == 5, np.arange(6) == 5) > 0


def bare(axes):
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)


def bias(laws):
    """Bias of every cell against its size, by method and dependence, with two standard errors."""
    fig, axes = plt.subplots(
        3, 3, figsize=(10, 6.6), sharex=True, sharey="row", layout="constrained"
    )
    bare(axes)
    methods = [("hashed", "ignore"), ("hashed", "product"), ("basic", "lump")]
    for row, (encoder, method) in zip(axes, methods, strict=True):
        for ax, shape in zip(row, joint_tables.SHAPES, strict=True):
            b, e = (t.to_numpy() for t in joint_tables.bias_of(laws, encoder, method, shape))
            cells = joint_tables.true_table(joint_tables.scene_of(encoder, shape))
            for at, colour, label in (
                (~IN_OTHER, "C0", "the 25 cells"),
                (IN_OTHER, "C1", "cells of Other"),
            ):
                style = {"fmt": "o", "ms": 3, "lw": 0.8, "color": colour, "label": label}
                ax.errorbar(cells[at], b[at], 2 * e[at], **style)
            ax.axhline(0.0, color="0.4", lw=0.8)
            ax.set_title(f"{encoder}, {WORDS[method]}: {shape}", fontsize="small")
    for ax in axes[-1]:
        ax.set(xlabel="true cell, %", xscale="log")
        ax.set_xticks([1, 2, 5, 10, 20], [1, 2, 5, 10, 20])
        ax.minorticks_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("bias, points")
    axes[1, 0].legend(frameon=False, fontsize="small")
    return fig


def points_of_figure2(laws, method, conditional):
    """True frequencies of the 25 cells (25,) and their estimates in ten surveys (10, 25), in %."""
    t = joint_tables.true_table("hashed")[:5, :5].ravel()
    runs = [joint_tables.of(laws, "hashed", method, run) for run in joint_tables.RUNS]
    p = np.array([run.to_numpy()[:5, :5].ravel() for run in runs])
    if conditional:
        return 100 * t / t.sum(), 100 * p / p.sum(axis=1, keepdims=True)
    return t, p


def slopes(laws):
    """Slope of the mean of ten estimates in the truth, by method and kind of frequency."""
    found = {}
    for method in ("ignore", "product"):
        for kind, conditional in {"joint": False, "conditional": True}.items():
            t, p = points_of_figure2(laws, method, conditional)
            found[method, kind] = np.polyfit(t, p.mean(axis=0), 1)[0]
    return pd.Series(found).unstack()


def figure2(laws):
    """Estimates of the 25 cells in ten surveys against the truth."""
    fig, axes = plt.subplots(2, 2, figsize=(7.6, 7.4), layout="constrained")
    bare(axes)
    titles = {"ignore": "ignoring Other", "product": "with Other"}
    for row, (method, title) in zip(axes, titles.items(), strict=True):
        for ax, conditional in zip(row, (False, True), strict=True):
            t, p = points_of_figure2(laws, method, conditional)
            grey = {"ms": 3, "color": "0.72", "mec": "none"}
            ax.plot(np.tile(t, len(p)), p.ravel(), "o", label="a survey", **grey)
            ax.plot(t, p.mean(axis=0), "o", ms=4, color="C3", label="mean of 10")
            ends = [0.0, 1.05 * max(t.max(), p.max())]
            ax.plot(ends, ends, "-", color="0.3", lw=0.8)
            ax.set(xlim=(0, 1.1 * t.max()), ylim=(0, ends[1]))
            ax.set(xlabel="true frequency, %", ylabel="estimate, %")
            kind = "conditional on the top five" if conditional else "joint frequencies"
            ax.set_title(f"{kind}, {title}", fontsize="medium")
    axes[0, 0].legend(frameon=False, loc="lower right")
    return fig


def figure3(rates, cells):
    """Conditional rates and cells of two variables, with their 95 % intervals and the truth."""
    rows, columns = list(rates.index), list(cells.index.unique(level=1))
    at, height = np.arange(len(rows)), 1.4 + 0.19 * len(rows)
    fig, axes = plt.subplots(1, 2, figsize=(9, height), sharey=True, layout="constrained")
    bare(axes)
    left, right = axes
    true = {"marker": "|", "mew": 1.8, "color": "C3", "ls": "none"}
    useful = ((rates["lower"] > 0.0) | (rates["upper"] < 1.0)).to_numpy()
    for mask, style in ((useful, {"color": "C0", "lw": 2}), (~useful, {"color": "0.8", "lw": 1})):
        left.hlines(at[mask], rates["lower"][mask], rates["upper"][mask], **style)
    left.plot(rates["estimate"].clip(0, 1)[useful], at[useful], "o", ms=4, color="C0")
    left.plot(rates["truth"], at, ms=9, **true)
    name, given = cells.index.names[1], cells.index.names[0]
    left.set_xlabel(f"P({name} = {columns[1]} | {given})\ngrey: anything is possible")
    left.set_xlim(-0.01, 1.1 * max(rates["upper"][useful].max(), rates["truth"].max()))
    for j, (column, colour) in enumerate(zip(columns, ("C2", "C1"), strict=True)):
        own, line = cells.xs(column, level=1), at + 0.18 * (2 * j - 1)
        right.hlines(line, own["lower"], own["upper"], color=colour, lw=3, label=column)
        right.plot(own["truth"], line, ms=6, label="truth" if j else None, **true)
    right.set_xlabel("frequency of the cell")
    fig.legend(loc="outside upper right", ncols=3, frameon=False, fontsize="small")
    left.set_yticks(at, rows, fontsize="small")
    left.set_ylim(len(rows) - 0.4, -0.6)
    return fig


def figure11(tests):
    """Quantiles of three statistics under independence against those of chi-square."""
    fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    bare(axes)
    styles = {"score": ("o", "C0"), "lr": ("s", "C1"), "fpe16": ("^", "C3")}
    words = {"score": "score test", "lr": "likelihood ratio", "fpe16": "T of FPE16"}
    expected = stats.chi2.ppf(association_tests.LEVELS, 16)
    for ax, name, epsilon in zip(axes, ("dense", "sparse"), (4, 1), strict=True):
        for test, (marker, colour) in styles.items():
            observed = tests.loc[(name, test), association_tests.QUANTILES].astype(float)
            ax.plot(expected, observed, marker, ms=4, color=colour, label=words[test])
        ax.plot([0, 33], [0, 33], "-", color="0.3", lw=0.8)
        ax.set(xlim=(0, 33), ylim=(0, 33), xlabel="quantile of chi-square, 16 df")
        ax.set_ylabel("quantile of the statistic in 2,000 surveys")
        ax.set_title(f"5 x 5 k-RR, n = 10,000, epsilon = {epsilon}", fontsize="medium")
    axes[0].legend(frameon=False, loc="upper left")
    return fig
