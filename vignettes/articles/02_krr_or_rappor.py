"""
k-RR or k-RAPPOR?
=================

Two mechanisms are in common use for a categorical answer. k-ary randomised response (k-RR)
reports the true category or, now and then, a random one. k-RAPPOR reports one noisy bit per
category. Which of them leaves more information, and how should its reports be decoded? Kairouz,
Bonawitz and Ramage (2016; KBR16 below) answered by theory (Propositions 3 to 5) and by simulation
(figures 1, 2, 5 and 6). Here both parts are done again. The theory holds to within Monte Carlo
error. So does the picture of which mechanism is better where, and a sharper rule comes out of it.
What the paper says of the projected decoder needs distributions more concentrated than its own.

The simulations are in ``benchmarks/studies/krr_or_rappor.py``, their stored results beside it.
Both come with the repository, not with the package: start the notebook of this page in a folder
of the repository.
"""

# sphinx_gallery_thumbnail_number = 4
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import planning

here = Path(globals().get("__file__", "notebook")).resolve()  # a notebook has no file
homes = [folder for folder in here.parents if (folder / "benchmarks/studies").is_dir()]
if not homes:
    raise FileNotFoundError("benchmarks/studies: start this page in a folder of the repository")
sys.path.append(str(homes[0]))
from benchmarks.studies import krr_or_rappor as study

# %%
# Theory: Propositions 3 and 4
# ----------------------------
#
# The empirical estimate inverts the channel. For k-RR and k-RAPPOR the paper gives its expected
# squared l2 loss, which is exact for every n, and its expected l1 loss, which is asymptotic. We
# compare the first at n = 100 and the second at n = 1,000,000, in 48 settings of 2,000 surveys.

table = study.propositions()
scores = table[["l2 z", "l1 z"]]
print("simulated / formula, and the distance in standard errors")
print(table.groupby("mechanism").agg(["min", "max"]).round(3).to_string())
assert len(table) == 48
assert scores.abs().max(axis=None) < study.LIMIT  # 96 comparisons: one beyond has chance .0007
assert 0.8 < np.sqrt((scores**2).mean(axis=None)) < 1.2  # as many small ones as chance gives

# %%
# Proposition 5, and where the mechanisms really cross
# ----------------------------------------------------
#
# What privacy adds to the squared l2 loss does not depend on p. So the two mechanisms can be
# compared once and for all: k-RAPPOR adds ``excess_ratio(k, epsilon)`` times what k-RR adds.
# Proposition 5 says that the ratio is at least one for :math:`\epsilon \ge \ln(k/2)`. That is true.
# (The printed proof covers :math:`\epsilon \ge \ln k` and puts the smallest value there at k = 7;
# it is 2.154, at k = 8. At :math:`\ln(k/2)` the smallest is 1.443, at k = 11.) But it is far from
# sharp: the ratio passes one much earlier, near :math:`\epsilon = \frac23 \ln k` for large k, and
# never falls below one for k <= 5.

crossover = pd.DataFrame({"k": [8, 16, 64, 256, 1024]}).set_index("k")
crossover["epsilon*"] = [planning.crossover_epsilon(k) for k in crossover.index]
crossover["2/3 ln k"] = 2 / 3 * np.log(crossover.index)
crossover["ln(k/2)"] = np.log(crossover.index / 2)
print(crossover.round(2).to_string())
assert crossover["epsilon*"].round(2).tolist() == [0.78, 1.56, 2.69, 3.67, 4.61]

# %%
# The simulation agrees. Below the crossover k-RAPPOR has the smaller loss, at it neither, above it
# k-RR, long before :math:`\ln(k/2)`. The table has the difference of the mean losses (k-RR less
# k-RAPPOR) in standard errors.

places = study.crossings([8, 16, 64, 256])
print(places.round(1).to_string())
assert (places["0.8 epsilon*"] > study.LIMIT).all()
assert (places["1.0 epsilon*"].abs() < study.LIMIT).all()
assert (places["1.2 epsilon*"] < -study.LIMIT).all()

# %%
# In sample sizes: at k = 100 and :math:`\epsilon = \ln 100`, k-RAPPOR leaves .0742 of the sample.
# The authors' slides print a formula with :math:`k^2 e^\epsilon` for :math:`k^2 e^{\epsilon/2}`,
# which says .0080; the simulation sides with the paper.

k, n = 100, 1_000
slides = (k - 1) * (np.sqrt(k) - 1) ** 2 / ((k - 1) * (np.sqrt(k) - 1) ** 2 + k**2 * k)
paper = planning.effective_sample_size("krappor", k, np.log(k), 1)
by_bits, uniform = ldp.KRAPPOR(k, np.log(k)), np.full(k, 1 / k)
loss = (study.errors(by_bits, uniform, n, np.random.default_rng(6)) ** 2).sum(axis=1)
least = planning.nonprivate_worst_l2(k, n)
print(f"share left: paper {paper:.4f}, slides {slides:.4f}, simulated {least / loss.mean():.4f}")
assert round(paper, 4) == 0.0742 and round(slides, 4) == 0.0080
assert abs(study.compare(loss, least / paper)[1]) < study.LIMIT
assert abs(study.compare(loss, least / slides)[1]) > 100

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for column, marker, text in (("l2", "o", "squared l2, n = 100"), ("l1", "s", "l1, n = 1,000,000")):
    error = (table[column] - 1) / table[f"{column} z"]
    at = np.arange(len(table)) + (-0.15 if column == "l2" else 0.15)
    left.errorbar(at, table[column], 2 * error.abs(), fmt=marker, ms=3, lw=0.8, label=text)
left.axhline(1.0, color="black", lw=0.8)
left.axvline(len(table) / 2 - 0.5, color="grey", lw=0.8, ls=":")
left.set_xticks([11.5, 35.5], ["k-RR", "k-RAPPOR"])
left.tick_params(axis="x", length=0)
left.set_xlabel("24 settings of k, p and $\\epsilon$ each")
left.set_ylabel("simulated loss / formula (bars: 2 s.e.)")
left.set_title("Propositions 3 and 4", fontsize="medium")
left.legend(frameon=False, fontsize="small", loc="upper center", ncols=2)
left.set_ylim(0.9, 1.12)
many = np.unique(np.geomspace(6, 4096, 100).round().astype(int))
exact = [planning.crossover_epsilon(k) for k in many]
right.semilogx(many, exact, "k-", base=2, label=r"$\epsilon^*$: the mechanisms cross")
right.semilogx(many, 2 / 3 * np.log(many), "k:", base=2, label=r"$\frac{2}{3}\,\ln k$")
right.semilogx(many, np.log(many / 2), "C0--", base=2, label=r"$\ln(k/2)$: Proposition 5")
right.semilogx(many, np.log(many), "C1-.", base=2, label=r"$\ln k$")
right.set_xlabel("categories k")
right.set_ylabel(r"$\epsilon$ (nats)")
right.text(1.6e3, 3.2, "k-RAPPOR\nbetter", ha="center", fontsize="small")
right.text(24, 5.2, "k-RR better", ha="center", fontsize="small")
right.set_title("Squared l2 loss of the empirical estimates", fontsize="medium")
right.legend(frameon=False, fontsize="small", loc="upper left")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)

# %%
# The simulated grid
# ------------------
#
# Entries of the empirical estimate can be negative. Cutting those to zero and dividing by the sum
# gives the *normalized* decoder; the nearest point of the simplex is the *projected* one; for k-RR
# there is also the exact maximum likelihood estimate. As in the paper (section 4.4), a cell is the
# mean over 10,000 evaluations of the distance between the decoded distribution and the *realised
# sample* (not p). p is geometric with mean k/5, truncated, or a new Dirichlet(1) draw for each
# evaluation; n is 100 or 30,000; k and :math:`e^\epsilon` are 2, 4, ..., 4096 (the paper does not
# give its axes). Both mechanisms and all decoders see the same samples.
#
# The paper's binomial and Zipf laws are left out, but for some below, and so is any other n.

grid = study.load()
assert len(grid) == 4 * 12 * 12 and (grid["evaluations"] == 10_000).all()

# %%
# Which decoder?
# --------------
#
# The paper finds the projected decoder "substantially better than the other decoders for both k-RR
# and k-RAPPOR for the whole range of k and epsilon for the geometric distribution", and the
# normalized one best for Dirichlet. The table counts the cells, of 144, in which the projected
# decoder is surely better or worse than the best of the others, with the extreme ratios.

PAIRS = [(mechanism, loss) for mechanism in study.DECODERS for loss in ("l1", "l2")]
decoding = {key: study.decoding(grid, *key) for key in PAIRS}
useful = {key: study.useful(grid, *key) for key in PAIRS}
counts = {key: study.count(cells) for key, cells in decoding.items()}
counts = pd.concat(counts, names=["mechanism", "loss"]).sort_index()
print(counts.round(2).to_string())
assert (counts.loc["krr", "better"] == 0).all()
assert counts.loc["krr", "worse"].between(144 / 3, 144 * 3 / 4).all()

# %%
# For k-RR that is not reproduced. In no cell is the projected decoder better than both others; in a
# third to three quarters of the cells it is surely worse, by up to 52 % in l1. Nor is it ever
# better than the exact MLE alone, which costs as little. For k-RAPPOR it depends on the signal: on
# the geometric law the projected decoder is better in 50 (n = 100) and 91 (n = 30,000) cells, by up
# to 14 %, and worse in 84 and 50, by up to 43 %. With k-RR the normalized decoder is never more
# than .3 % worse than the best.
#
# In the figure blue means that the projected decoder is better, red that another is. Dots mark
# cells where guessing the uniform distribution is better than every decoder of that mechanism.

TICKS = range(0, 12, 2)


def draw(ax, ratio, helpful, largest):
    """One grid of ratios on a log scale, k upwards and e^epsilon to the right."""
    limit = np.log2(largest)
    cells = np.log2(ratio).unstack("odds")
    image = ax.imshow(cells, cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower")
    rows, columns = np.nonzero(~helpful.unstack("odds").to_numpy())
    dots = {"ms": 3.2, "mfc": "white", "mec": "0.2", "mew": 0.6}
    ax.plot(columns, rows, "o", label="guessing the uniform distribution is better", **dots)
    ax.set(xlim=(-0.5, 11.5), ylim=(-0.5, 11.5))
    ax.set_xticks(TICKS, [study.POWERS[i] for i in TICKS])
    ax.set_yticks(TICKS, [study.POWERS[i] for i in TICKS])
    ax.tick_params(labelsize="small")
    return image


def explain(figure, image, axes, largest, label):
    """Axis labels, a colour bar with ratios for labels, and one legend for all grids."""
    for ax in axes[-1]:
        ax.set_xlabel(r"$e^\epsilon$")
    for ax in axes[:, 0]:
        ax.set_ylabel("categories k")
    steps = np.log2(largest) * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    bar = figure.colorbar(image, ax=axes, extend="both", shrink=0.8, ticks=steps)
    bar.ax.set_yticklabels([f"{2.0**step:.2g}" for step in steps])
    bar.set_label(label)
    entries = axes.flat[0].get_legend_handles_labels()
    figure.legend(*entries, loc="outside lower center", ncols=3, frameon=False, fontsize="small")


GRID = {"layout": "constrained", "sharex": True, "sharey": True}
for loss in ("l1", "l2"):  # figures 1 and 5 of the paper
    fig, axes = plt.subplots(2, 4, figsize=(11.5, 5.8), **GRID)
    for row, mechanism, title in zip(axes, study.DECODERS, ("k-RR", "k-RAPPOR"), strict=True):
        for ax, where in zip(row, study.CONDITIONS, strict=True):
            cells, helpful = decoding[mechanism, loss]["ratio"], useful[mechanism, loss]
            image = draw(ax, cells.loc[where], helpful.loc[where], 2.0)
            ax.set_title(f"{title}, {where[0].title()}, n = {where[1]:,}", fontsize="small")
    explain(fig, image, axes, 2.0, f"{loss} loss, projected / best other decoder")

# %%
# Why the paper may still be right about skewed distributions: projection subtracts the same amount
# from every entry that stays positive, normalizing divides all by the same number. Where a few
# categories hold nearly all of the mass, division shrinks those few, which were right, and leaves
# noise on the others; subtraction does the opposite. The geometric law with mean k/5 is not
# concentrated: its commonest category is less than 150 times as common as its rarest. On the more
# concentrated laws among the paper's, projection does win, by far.

shapes = study.other_laws()
print("l1 loss, projected / best other decoder; k = 256, n = 30,000")
print(shapes.round(2).to_string())
assert (shapes.loc["geometric, mean k/5"] > 0.98).all()
assert (shapes.loc[["Zipf 2", "Zipf 3"]] < 0.8).all(axis=None)
assert (shapes.loc[["binomial 0.1", "binomial 0.5"]] < 1.0).all(axis=None)

# %%
# Which mechanism?
# ----------------
#
# Each cell compares the best decoder of k-RR with the best of k-RAPPOR, as figures 2 and 6 do. Here
# the paper's picture is reproduced: k-RAPPOR is better for large k and small epsilon, k-RR in every
# cell with k < e^epsilon, in both losses and all conditions. It is not "slightly better" there: its
# l1 loss is lower by 31 % at least, and by 95 % at most. Its advantage does shrink with n in l1, as
# the paper says; in l2 only the difference does, not the ratio.

choice = {loss: study.choice(grid, loss) for loss in ("l1", "l2")}
helpful = {loss: useful["krr", loss] | useful["krappor", loss] for loss in choice}
k, odds = grid.index.get_level_values("k"), grid.index.get_level_values("odds")
for loss in ("l1", "l2"):  # figures 2 and 6
    inside = choice[loss][k < odds]
    low, high = inside["ratio"].min(), inside["ratio"].max()
    print(f"{loss}, k < e^epsilon: k-RR / k-RAPPOR {low:.3f} to {high:.3f}")
    assert (inside["z"] < -4.0).all()
    fig, axes = plt.subplots(2, 2, figsize=(7.6, 6.4), **GRID)
    for ax, where in zip(axes.flat, study.CONDITIONS, strict=True):
        image = draw(ax, choice[loss]["ratio"].loc[where], helpful[loss].loc[where], 4.0)
        ax.plot([-0.5, 11.5], [-0.5, 11.5], "k--", lw=1, label=r"$k = e^\epsilon$")
        ax.plot(np.array(exact) / np.log(2) - 1, np.log2(many) - 1, "k-", label=r"$\epsilon^*(k)$")
        ax.set_title(f"{where[0].title()}, n = {where[1]:,}", fontsize="medium")
    explain(fig, image, axes, 4.0, f"{loss} loss, best k-RR / best k-RAPPOR (blue: k-RR)")
inside = choice["l1"]["ratio"][k < odds]
assert (round(inside.min(), 2), round(inside.max(), 2)) == (0.05, 0.69)
assert round(choice["l1"]["ratio"].max(), 2) == 1.72

# %%
# The solid line follows the change of colour much more closely than the diagonal. It was derived
# for the empirical estimates and the squared l2 loss, yet it also chooses well between the best
# decoders in l1: **use k-RR if and only if epsilon exceeds the crossover** :math:`\epsilon^*(k)`,
# about :math:`\frac23 \ln k`. At n = 30,000 it errs in 2 of 144 cells, in which the two differ by
# about 3 % at most. To use k-RR only from :math:`\epsilon = \ln k` on errs in 21 cells, at a cost
# of up to 91 %. At n = 100 the rule errs in 8 cells, by at most 4 % (in l2 in more, but only where
# the uniform guess beats either).

verdict = study.rules(choice, helpful)
print(verdict.round(3).to_string())
large = verdict.loc["l1"].xs(30_000, level="n")
assert (large.loc["epsilon > epsilon*", "wrong"] == 2).all()
assert (large.loc["epsilon >= ln k", "wrong"] == 21).all()

# %%
# The paper, and here
# -------------------
#
# - **Propositions 3 and 4**: hold in all 48 settings within Monte Carlo error.
# - **Proposition 5: smaller l2 loss of k-RR from ln(k/2) on**: true; from about (2/3) ln k on.
# - **Slides: k-RAPPOR's effective sample has k^2 e^epsilon**: k^2 e^(epsilon/2), as in the paper.
# - **k-RR "slightly better" where k < e^epsilon**: everywhere, by 31 % to 95 % in l1.
# - **k-RAPPOR better for large k and small epsilon**: yes; the l1 loss of k-RR is up to 72 %
#   larger.
# - **Projected decoder best on the geometric law**: never for k-RR; k-RAPPOR: only at high signal.
# - **Projected decoder best on Zipf and binomial laws**: yes where they are concentrated, and by
#   far.
# - **Normalized decoder best on Dirichlet**: yes for k-RR; for k-RAPPOR only at low signal.
