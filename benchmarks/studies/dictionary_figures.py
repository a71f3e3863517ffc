"""Figures of vignettes/articles/08_unknown_dictionary.py: FPE16 6 to 10, 12 and 13, as stored."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.studies.unknown_dictionary import ARMS, LAWS, LENGTHS

STYLES = {
    "known": {"color": "0.45", "marker": "s"},
    "paper": {"color": "C3", "marker": "v"},
    "ours, same reports": {"color": "C1", "marker": "^"},
    "ours, planned": {"color": "C0", "marker": "o"},
}
FIGURES = {"Zipf": "figure 6", "geometric": "figure 12", "step": "figure 13"}
HOSTS = {  # arms of figure 10
    "known": "known,\nepsilon 4.39",
    "known, a third": "known,\nepsilon 4.39 / 3",
    "paper": "unknown,\npaper",
    "ours, planned": "unknown,\nours, planned",
}


def bare(axes):
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)


def plan(plan):
    """Frequency from which a string passes each stage, by the share of epsilon for the string."""
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    curve = plan.curve
    names = {
        "grams": "its grams are kept",
        "pairs": "its pairs tell it from chance",
        "test": "test",
    }
    for colour, (stage, label) in zip(("C0", "C2", "C1"), names.items(), strict=True):
        ax.semilogy(curve.index, curve[stage], color=colour, label=label)
    ax.semilogy(curve.index, curve["found"], color="k", lw=3, alpha=0.25, label="all of it: found")
    ax.axvline(plan.best["share"], color="0.6", lw=0.8)
    ax.axvline(1 / 3, color="0.6", lw=0.8, ls=":")
    ax.text(1 / 3 + 0.01, ax.get_ylim()[0] * 1.2, "a third", fontsize="small", color="0.4")
    ax.set(xlabel="share of epsilon for the string", ylabel="frequency of a string that passes")
    ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.53, 1.0))
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def draw_law(ax, found, law):
    """Estimates of the first survey by rank, beside the true frequencies."""
    ranks = np.arange(1, 26)
    ax.step(np.r_[ranks - 0.5, 25.5], np.r_[LAWS[law][:25], LAWS[law][24]], where="post", color="k")
    ax.plot([], [], "k", label="true frequency")
    for i, (arm, style) in enumerate(STYLES.items()):
        rows = found[(found["law"] == law) & (found["arm"] == arm)]
        shown = rows[rows["rank"].between(1, 25)]
        at = shown["rank"] + 0.2 * (i - 1.5)
        lower = shown["lower"].clip(lower=1e-4)
        ax.vlines(at, lower, shown["upper"], color=style["color"], lw=1, alpha=0.6)
        ax.plot(at, shown["estimate"], ls="", ms=3.2, label=arm, **style)
    ax.set_yscale("log")
    ax.set_ylim((0.004, 0.03) if law == "uniform" else (0.0015, 0.6))
    ax.set_xlim(0.3, 25.7)
    ax.set_title(f"{law}: {FIGURES[law]}" if law in FIGURES else law, fontsize="medium")


def laws(found):
    """Figures 6, 12 and 13: what one survey of each law finds."""
    figure, axes = plt.subplots(2, 2, figsize=(10.5, 7.2), layout="constrained")
    bare(axes)
    for ax, law in zip(axes.flat, LAWS, strict=True):
        draw_law(ax, found, law)
    for ax in axes[-1]:
        ax.set_xlabel("string, by rank of its true frequency")
    for ax in axes[:, 0]:
        ax.set_ylabel("frequency")
    entries = axes[0, 0].get_legend_handles_labels()
    figure.legend(*entries, ncols=5, frameon=False, loc="outside lower center")
    return figure


def lengths(surveys):
    """Figures 7 and 8: Hellinger distance and strings missed by length of strings and grams."""
    figure, axes = plt.subplots(
        2, 3, figsize=(10.5, 6.4), sharex=True, sharey="row", layout="constrained"
    )
    bare(axes)
    rows = surveys[surveys["scene"] == "lengths"]
    rows = rows.assign(missed=1.0 - rows["found"] / 100.0)
    for line, value in zip(axes, ("hellinger", "missed"), strict=True):
        for ax, arm in zip(line, ARMS[1:], strict=True):
            for colour, gram in zip(("C0", "C1", "C2"), LENGTHS, strict=True):
                own = rows[(rows["arm"] == arm) & (rows["gram"] == gram)]
                means = own.groupby("length")[value].mean()
                ax.plot(own["length"], own[value], ".", color=colour, ms=3, alpha=0.3)
                ax.plot(means, "o-", color=colour, ms=4, label=f"{gram}-grams")
            ax.set_title(arm if value == "hellinger" else "", fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("characters of a string")
    axes[0, 0].set_ylabel("Hellinger distance (figure 7)")
    axes[1, 0].set_ylabel("share of strings missed (figure 8)")
    axes[0, 0].legend(frameon=False, fontsize="small")
    return figure


def thresholds(surveys):
    """Figure 9: Hellinger distance by the edges that a threshold leaves."""
    rows = surveys[surveys["scene"] == "thresholds"]
    means = rows.groupby("threshold")[["edges", "hellinger"]].mean()
    figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    colours = plt.colormaps["viridis"](np.linspace(0.0, 0.9, len(means)))
    for colour, (times, mean) in zip(colours, means.iterrows(), strict=True):
        own = rows[rows["threshold"] == times]
        ax.plot(own["edges"], own["hellinger"], ".", ms=4, alpha=0.4, color=colour)
        ax.plot(mean["edges"], mean["hellinger"], "o", ms=7, color=colour, label=f"{times:g}")
    ax.set(xscale="log", xlabel="edges of the graph", ylabel="Hellinger distance")
    ax.legend(title="threshold over\nthe printed one", frameon=False, fontsize="small")
    return figure


def hosts(found):
    """Figure 10: the thirty most frequent hosts, and what each arm finds of them."""
    shown = found[found["scene"] == "hosts"]
    listed = shown[shown["rank"].between(1, 30)]
    names = listed[listed["arm"] == "known"].set_index("rank")["string"].reindex(range(1, 31))
    true = listed.groupby("rank")["truth"].first()
    figure, axes = plt.subplots(
        1, 4, figsize=(10.5, 6.6), sharex=True, sharey=True, layout="constrained"
    )
    bare(axes)
    for ax, (arm, title) in zip(axes, HOSTS.items(), strict=True):
        rows = listed[listed["arm"] == arm]
        ax.barh(true.index, true, color="0.85", label="true frequency")
        ax.hlines(rows["rank"], rows["lower"], rows["upper"], color="C0", lw=1.5)
        label = "estimate, 95% interval"
        ax.plot(rows["estimate"], rows["rank"], "o", color="C0", ms=4, label=label)
        n_found = (shown[shown["arm"] == arm]["rank"] > 0).sum()
        ax.set_title(f"{title}: {n_found} found", fontsize="medium")
        ax.set_xlabel("frequency")
    axes[0].set_yticks(range(1, 31), names.fillna(""), fontsize="small")
    axes[0].set_ylim(30.6, 0.4)
    axes[0].legend(frameon=False, fontsize="small", loc="lower right")
    return figure
