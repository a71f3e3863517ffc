"""uRR or uRAP: what theory says, for vignettes/articles/06_utility_optimised.py.

Privacy adds to the expected squared l2 loss of the inversion estimate an amount that depends on
epsilon, on the number S of sensitive categories and, hardly, on the share of respondents in them,
but not on k.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import optimize

from ldpstats import planning

TABLES = {"location": (625, 16), "census": (400, 76), "gss": (800, 480)}  # k, sensitive


def shape(k, size, share):
    """Spread evenly: a share over the sensitive categories, which come first, and the rest."""
    return np.r_[np.full(size, share / size), np.full(k - size, (1.0 - share) / (k - size))]


def urap_less_urr(epsilon, k, size, share, best=False):
    """Difference of the expected squared l2 losses of one respondent."""
    p, first = shape(k, size, share), np.arange(size)
    theta = float(planning.best_theta(k, size, epsilon, p=p)) if best else None
    urr_loss = planning.urr_l2(p, first, epsilon, 1)
    return float(planning.urap_l2(p, first, epsilon, 1, theta=theta) - urr_loss)


def crossing(size, k=2_000, share=0.15, best=False):
    """The epsilon above which uRR has the smaller loss."""
    return optimize.brentq(urap_less_urr, 0.05, 15.0, args=(k, size, share, best), xtol=1e-6)


def rules():
    """The crossing by S, at another k and share, beside 2/3 ln S, and with the best theta."""
    rules = pd.DataFrame({"S": [6, 10, 30, 76, 200, 480, 1000]}).set_index("S")
    rules["epsilon*"] = [crossing(size) for size in rules.index]
    rules["at another k"] = [crossing(size, k=4_000) for size in rules.index]
    rules["at a share of .5"] = [crossing(size, share=0.5) for size in rules.index]
    rules["2/3 ln S"] = 2 / 3 * np.log(rules.index)
    rules["with the best theta"] = [crossing(size, best=True) for size in rules.index]
    return rules


def gains():
    """Worst-case squared l2 loss at the paper's theta over that at the best theta, and theta."""
    found = {}
    for name, (k, size) in TABLES.items():
        for epsilon in (0.1, 1.0, 3.0, np.log(k)):
            column = "ln k" if epsilon == np.log(k) else epsilon
            best = planning.best_theta(k, size, epsilon)
            found.setdefault(column, {})[name] = {"gain": best.gain, "theta": best.theta}
    return pd.concat({column: pd.DataFrame(each).T for column, each in found.items()}, axis=1)


def worst_ratios():
    """Worst-case loss over the non-private one at epsilon = ln k, beside the rules of MK19."""
    rows = {}
    for name, (k, size) in TABLES.items():
        epsilon = np.log(k)
        l1, l2 = planning.nonprivate_worst_l1(k, 1), planning.nonprivate_worst_l2(k, 1)
        rows[name] = {
            "uRR": planning.urr_worst_l1(k, size, epsilon, 1) / l1,
            "1+S/(k-1)": 1.0 + size / (k - 1),
            "uRAP": planning.urap_worst_l1(k, size, epsilon, 1) / l1,
            "1+S/k^.75": 1.0 + size / k**0.75,
            "RR": planning.krr_worst_l1(k, epsilon, 1) / l1,
            "RAPPOR": planning.krappor_worst_l1(k, epsilon, 1) / l1,
            "k^.25": k**0.25,
            "RR, l2": planning.krr_worst_l2(k, epsilon, 1) / l2,
            "RAPPOR, l2": planning.krappor_worst_l2(k, epsilon, 1) / l2,
            "k^.5": k**0.5,
        }
    return pd.DataFrame(rows, dtype=float).T


def draw_rule(ax):
    """The epsilon above which uRR is better, by S."""
    many = np.unique(np.geomspace(6, 1000, 40).round().astype(int))
    own, best = ([crossing(size, best=best) for size in many] for best in (False, True))
    ax.semilogx(many, own, "C2-", label="uRAP with the paper's theta")
    ax.semilogx(many, best, "C2--", label="uRAP with the best theta")
    ax.semilogx(many, 2 / 3 * np.log(many), "k:", label=r"$\frac{2}{3}\,\ln S$")
    ax.text(12, 3.4, "uRR better", fontsize="small")
    ax.text(300, 1.2, "uRAP better", fontsize="small", ha="center")
    ax.set_xlabel("sensitive categories S")
    ax.set_ylabel(r"$\epsilon$ above which uRR is better")
    ax.set_title("squared l2 loss of the inversion estimate", fontsize="medium")
    ax.legend(frameon=False, fontsize="small", loc="upper left")


def draw_losses(ax, k=400, size=76):
    """Expected squared l2 loss by epsilon where 76 of 400 categories are sensitive."""
    p, first = shape(k, size, 0.15), np.arange(size)
    grid = np.geomspace(0.1, 10.0, 60)
    thetas = [float(planning.best_theta(k, size, epsilon, p=p)) for epsilon in grid]
    best = [
        float(planning.urap_l2(p, first, epsilon, 1, theta=theta))
        for epsilon, theta in zip(grid, thetas, strict=True)
    ]
    curves = {
        "uRR": (planning.urr_l2(p, first, grid, 1), "C0-"),
        "uRAP": (planning.urap_l2(p, first, grid, 1), "C2-"),
        "uRAP with the best theta": (best, "C2--"),
        "RR": (planning.krr_l2(p, grid, 1), "C3-"),
        "RAPPOR": (planning.krappor_l2(p, grid, 1), "C1-"),
        "no privacy": (np.full(grid.size, 1.0 - p @ p), "k-"),
    }
    for label, (loss, style) in curves.items():
        ax.loglog(grid, loss, style, label=label)
    ax.axvline(crossing(size, k=k), ymax=0.6, color="0.5", lw=0.8)
    ax.set_xlabel(r"$\epsilon$")
    ax.set_ylabel("expected squared l2 loss x respondents")
    ax.set_title(f"{size} of {k} categories are sensitive", fontsize="medium")
    ax.legend(frameon=False, fontsize="small", loc="upper right")


def figure():
    """Where the two cross, and what they lose."""
    fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    draw_rule(axes[0])
    draw_losses(axes[1])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return fig
