# %% [markdown]
# # k-RR or k-RAPPOR?
#
# Two mechanisms are in common use for a categorical answer. k-ary randomised response (k-RR)
# reports the true category or, now and then, a random one; k-RAPPOR reports one noisy bit per
# category. Kairouz, Bonawitz and Ramage (2016; KBR16 below) compared them in theory (Propositions 3
# to 5) and by simulation (figures 1, 2, 5 and 6). Here both parts are done again. The theory holds
# to within Monte Carlo error. So does the picture of which mechanism is better where, and a sharper
# rule comes out of it. What the paper says of the projected decoder could be reproduced only for
# distributions that are more concentrated than the one it shows.
#
# `python 02_krr_or_rappor.py` recomputes a small part of the simulation and compares it with the
# stored one; `--full` recomputes and stores all of it; `--figures DIR` saves the figures.

# %%
import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import ldpstats as ldp
from ldpstats import planning

parser = argparse.ArgumentParser()
parser.add_argument("--full", action="store_true", help="recompute the stored grid (20 minutes)")
parser.add_argument("--figures", type=Path, metavar="DIR", help="save the figures there")
options, _ = parser.parse_known_args()
here = Path(__file__).parent if "__file__" in globals() else Path()  # a notebook has no file
stored = here / "02_krr_or_rappor.csv"

# %% [markdown]
# ## Exact simulation from counts
#
# No respondent needs to be simulated. The true counts of n respondents are multinomial. Of the
# $N_x$ respondents in category x, k-RR keeps a binomial number and spreads the rest evenly over all
# k categories. Bit x of k-RAPPOR is set in a binomial number of those $N_x$ reports and in another
# binomial number of the $n - N_x$ others; the k bit sums are independent given the $N_x$. Every row
# of an array below is a whole survey.

# %%


def geometric(k):
    """The geometric law on 0, 1, ... with mean k/5, truncated to k categories."""
    p = (k / (k + 5.0)) ** np.arange(k)
    return p / p.sum()


def draw_samples(distribution, n, k, size, rng):
    """True counts of `size` surveys of n respondents each; a new Dirichlet(1) p for every one."""
    p = geometric(k) if distribution == "geometric" else rng.dirichlet(np.ones(k), size)
    return rng.multinomial(n, p, size)


def tally(mechanism, samples, rng):
    """Counts of k-RR reports, or bit sums of k-RAPPOR reports, of the same shape as `samples`."""
    if isinstance(mechanism, ldp.KRAPPOR):
        others = samples.sum(axis=1, keepdims=True) - samples
        return rng.binomial(samples, mechanism.p1) + rng.binomial(others, mechanism.p0)
    kept = rng.binomial(samples, mechanism.channel().a)
    replaced = (samples - kept).sum(axis=1)
    return kept + rng.multinomial(replaced, np.full(mechanism.k, 1.0 / mechanism.k))


# %% [markdown]
# ## Decoders
#
# The empirical estimate inverts the channel. It sums to one under k-RR but not under k-RAPPOR, and
# entries can be negative. Cutting those to zero and dividing by the sum gives the *normalized*
# decoder; the nearest point of the simplex is the *projected* one; for k-RR there is also the exact
# maximum likelihood estimate. The paper compares the last three for k-RR, and the empirical,
# normalized and projected decoders for k-RAPPOR. The package fits one survey at a time, so they are
# written out here for many, and compared with the package's. Where no entry is positive the package
# refuses to normalize; here the uniform distribution is taken, which is next to never needed.

# %%


def line(mechanism):
    """Slope and offset of the line on which the expected frequency of a report or bit lies in p."""
    if isinstance(mechanism, ldp.KRAPPOR):
        return mechanism.p1 - mechanism.p0, mechanism.p0
    return mechanism.channel().a, mechanism.channel().b


def empirical(mechanism, counts, n):
    slope, offset = line(mechanism)
    return (counts / n - offset) / slope


def normalized(estimate):
    kept = np.maximum(estimate, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    uniform = np.full_like(kept, 1.0 / kept.shape[1])  # where no entry is positive
    return np.divide(kept, total, out=uniform, where=total > 0.0)


def projected(estimate):
    ordered = np.sort(estimate, axis=1)[:, ::-1]
    shift = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, ordered.shape[1] + 1)
    last = np.sum(ordered > shift, axis=1, keepdims=True) - 1
    return np.maximum(estimate - np.take_along_axis(shift, last, axis=1), 0.0)


def krr_mle(mechanism, counts):
    slope, offset = line(mechanism)
    floor = offset / slope
    ordered = np.sort(counts, axis=1)[:, ::-1]
    level = np.cumsum(ordered, axis=1) / (1.0 + floor * np.arange(1, ordered.shape[1] + 1))
    last = np.sum(ordered > level * floor, axis=1, keepdims=True) - 1
    return np.maximum(counts / np.take_along_axis(level, last, axis=1) - floor, 0.0)


def decode(mechanism, counts, n):
    """Estimates of each decoder that the paper compares, each of shape (surveys, k)."""
    estimate = empirical(mechanism, counts, n)
    if isinstance(mechanism, ldp.KRAPPOR):
        other = {"empirical": estimate}
    else:
        other = {"mle": krr_mle(mechanism, counts)}
    return {"normalized": normalized(estimate), "projected": projected(estimate), **other}


rng = np.random.default_rng(1)
for k, n, epsilon in [(2, 100, 0.7), (12, 100, 1.0), (12, 30_000, 3.0), (300, 1_000, 2.0)]:
    for mechanism in (ldp.KRR(k, epsilon), ldp.KRAPPOR(k, epsilon)):
        counts = tally(mechanism, draw_samples("dirichlet", n, k, 3, rng), rng)
        nobs = n if isinstance(mechanism, ldp.KRAPPOR) else None
        models = [ldp.FrequencyModel(mechanism.counts(row, nobs)) for row in counts]
        for decoder, estimates in decode(mechanism, counts, n).items():
            method = "inversion" if decoder == "empirical" else decoder
            fitted = [model.fit(method).params for model in models]
            np.testing.assert_allclose(estimates, fitted, rtol=0, atol=1e-12)

rappor = ldp.KRAPPOR(2, np.log(2))  # the cell of the grid below where it happens most
bits = tally(rappor, draw_samples("dirichlet", 100, 2, 10_000, rng), rng)
nothing = np.mean(empirical(rappor, bits, 100).max(axis=1) <= 0.0)
print(f"no entry is positive in {nothing:.2%} of the surveys")
assert nothing < 0.003

# %% [markdown]
# ## Propositions 3 and 4
#
# The expected squared l2 loss of the empirical estimate against p is exact for every n, the l1 loss
# is asymptotic. We compare the first at n = 100 and the second at n = 1,000,000, in 48 settings of
# 2,000 surveys each.

# %%
SURVEYS, LIMIT = 2_000, 4.5  # 96 comparisons: one beyond 4.5 standard errors has chance .0007


def compare(loss, expected):
    """Mean loss over the expected one, and their distance in Monte Carlo standard errors."""
    error = loss.std(ddof=1) / np.sqrt(loss.size)
    return loss.mean() / expected, (loss.mean() - expected) / error


def errors(mechanism, p, n, rng):
    """Errors of the empirical estimate in repeated surveys, shape (surveys, k)."""
    counts = tally(mechanism, rng.multinomial(n, p, SURVEYS), rng)
    return empirical(mechanism, counts, n) - p


FORMULAS = {
    ldp.KRR: (planning.krr_l2, planning.krr_l1),
    ldp.KRAPPOR: (planning.krappor_l2, planning.krappor_l1),
}
SMALL, LARGE = 100, 1_000_000
rng = np.random.default_rng(3)
rows = []
for kind, (l2, l1) in FORMULAS.items():
    for k in (4, 16, 64):
        for shape, p in (("uniform", np.full(k, 1.0 / k)), ("geometric", geometric(k))):
            for epsilon in (0.5, 1.0, 2.0, 4.0):
                mechanism = kind(k, epsilon)
                squared = (errors(mechanism, p, SMALL, rng) ** 2).sum(axis=1)
                absolute = np.abs(errors(mechanism, p, LARGE, rng)).sum(axis=1)
                exact = compare(squared, l2(p, epsilon, SMALL))
                asymptotic = compare(absolute, l1(p, epsilon, LARGE))
                rows.append((kind.__name__, k, shape, epsilon, *exact, *asymptotic))
keys = ["mechanism", "k", "p", "epsilon"]
table = pd.DataFrame(rows, columns=[*keys, "l2", "l2 z", "l1", "l1 z"]).set_index(keys)
print("simulated / formula, and the distance in standard errors")
print(table.round({"l2": 3, "l1": 3, "l2 z": 1, "l1 z": 1}).to_string())
scores = table[["l2 z", "l1 z"]]
assert len(table) == 48
assert scores.abs().max(axis=None) < LIMIT
assert 0.8 < np.sqrt((scores**2).mean(axis=None)) < 1.2  # as many small ones as chance gives

# %% [markdown]
# ## Proposition 5, and where the mechanisms really cross
#
# What privacy adds to the squared l2 loss does not depend on p, so the two mechanisms can be
# compared once and for all: k-RAPPOR adds `excess_ratio(k, epsilon)` times what k-RR adds.
# Proposition 5 says that the ratio is at least one for $\epsilon \ge \ln(k/2)$. That is true. (The
# printed proof covers $\epsilon \ge \ln k$ and puts the smallest value there at k = 7; it is 2.154,
# at k = 8. At $\ln(k/2)$ the smallest is 1.443, at k = 11.) But it is far from sharp: the ratio
# passes one much earlier, near $\epsilon = \frac23 \ln k$ for large k, and never falls below one
# for k <= 5.

# %%
sizes = np.arange(3, 5001)
at_half = np.array([planning.excess_ratio(k, np.log(k / 2)) for k in sizes])
at_full = np.array([planning.excess_ratio(k, np.log(k)) for k in sizes])
assert at_half.min() > 1.0
assert sizes[at_half.argmin()] == 11 and round(at_half.min(), 3) == 1.443
assert sizes[at_full.argmin()] == 8 and round(at_full.min(), 4) == 2.1536

crossover = pd.DataFrame({"k": [8, 16, 64, 256, 1024]}).set_index("k")
crossover["epsilon*"] = [planning.crossover_epsilon(k) for k in crossover.index]
crossover["2/3 ln k"] = 2 / 3 * np.log(crossover.index)
crossover["ln(k/2)"] = np.log(crossover.index / 2)
print(crossover.round(2).to_string())
assert crossover["epsilon*"].round(2).tolist() == [0.78, 1.56, 2.69, 3.67, 4.61]
assert all(planning.excess_ratio(k, 0.01) > 1.0 for k in (2, 3, 4, 5))

# %% [markdown]
# The simulation agrees. Below the crossover k-RAPPOR has the smaller loss, at it neither, above it
# k-RR, long before $\ln(k/2)$. The table has the difference of the mean losses (k-RR less
# k-RAPPOR) in standard errors.

# %%
rng = np.random.default_rng(5)
places = pd.DataFrame()
for k, star in crossover["epsilon*"].drop(1024).items():
    for factor in (0.8, 1.0, 1.2):
        p, epsilon = geometric(k), factor * star
        by_krr, by_rappor = (
            (errors(kind(k, epsilon), p, 1_000, rng) ** 2).sum(axis=1) for kind in FORMULAS
        )
        spread = np.sqrt((by_krr.var(ddof=1) + by_rappor.var(ddof=1)) / SURVEYS)
        places.loc[k, f"{factor} epsilon*"] = (by_krr.mean() - by_rappor.mean()) / spread
print(places.round(1).to_string())
assert (places["0.8 epsilon*"] > LIMIT).all()
assert (places["1.0 epsilon*"].abs() < LIMIT).all()
assert (places["1.2 epsilon*"] < -LIMIT).all()

# %% [markdown]
# In sample sizes: at k = 100 and $\epsilon = \ln 100$, k-RAPPOR leaves .0742 of the sample. The
# authors' slides print a formula with $k^2 e^\epsilon$ for $k^2 e^{\epsilon/2}$, which says .0080;
# the simulation sides with the paper.

# %%
k, n = 100, 1_000
epsilon = np.log(k)
slides = (k - 1) * (np.sqrt(k) - 1) ** 2 / ((k - 1) * (np.sqrt(k) - 1) ** 2 + k**2 * k)
paper = planning.effective_sample_size("krappor", k, epsilon, 1)
loss = (errors(ldp.KRAPPOR(k, epsilon), np.full(k, 1 / k), n, rng) ** 2).sum(axis=1)
measured = planning.nonprivate_worst_l2(k, n) / loss.mean()
print(f"share of the sample left: paper {paper:.4f}, slides {slides:.4f}, simulated {measured:.4f}")
assert round(paper, 4) == 0.0742 and round(slides, 4) == 0.0080
assert abs(compare(loss, planning.nonprivate_worst_l2(k, n) / paper)[1]) < LIMIT
assert abs(compare(loss, planning.nonprivate_worst_l2(k, n) / slides)[1]) > 100

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for column, marker, text in (("l2", "o", "squared l2, n = 100"), ("l1", "s", "l1, n = 1,000,000")):
    error = (table[column] - 1) / table[f"{column} z"]
    shift = -0.15 if column == "l2" else 0.15
    at = np.arange(len(table)) + shift
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


def finish(figure, name):
    if options.figures:
        figure.savefig(options.figures / f"02_{name}.png", dpi=150)
    plt.close(figure)


finish(fig, "theory")

# %% [markdown]
# ## The simulated grid
#
# As in the paper (section 4.4), a cell is the mean over 10,000 evaluations of the distance between
# the decoded distribution and the *realised sample* (not p): the l1 distance for figures 1 and 2,
# the l2 distance (not squared) for figures 5 and 6. p is geometric with mean k/5, truncated, or a
# new Dirichlet(1) draw for each evaluation; n is 100 or 30,000. The paper's text does not give the
# axes of its grids. We take $k = 2, 4, \ldots, 4096$ and $e^\epsilon$ from the same powers of two,
# so that $k < e^\epsilon$ is the bottom right triangle that the paper speaks of. Both mechanisms
# and all decoders see the same samples. The loss of guessing the uniform distribution is kept
# beside theirs, to tell which estimates are worth having.
#
# Of the paper's settings (section 4.4) the grid leaves out:
#
# - its five binomial laws (parameters .1 to .5) and five Zipf laws (1 to 5). Binomial .1 and .5 and
#   Zipf 1, 2 and 3 come at the end of the next section, at k = 256, n = 30,000 and two $\epsilon$,
#   in 200 surveys each; binomial .2, .3 and .4 and Zipf 4 and 5 are nowhere here;
# - its other numbers of respondents: it has n from 30 to $10^6$, and prints 100 and 30,000.

# %%
POWERS = [2**j for j in range(1, 13)]
CONDITIONS = [(d, n) for d in ("geometric", "dirichlet") for n in (100, 30_000)]
DECODERS = {
    "krr": ("normalized", "projected", "mle"),
    "krappor": ("normalized", "projected", "empirical"),
}
ESTIMATES = [f"{m}_{d}" for m, decoders in DECODERS.items() for d in decoders] + ["uniform"]
METRICS = [f"{name}_{loss}" for name in ESTIMATES for loss in ("l1", "l2")]


def losses(krr, rappor, samples, rng):
    """The METRICS of one collection from each survey, shape (metrics, surveys)."""
    n = samples.sum(axis=1, keepdims=True)
    estimates = [
        estimate
        for mechanism in (krr, rappor)
        for estimate in decode(mechanism, tally(mechanism, samples, rng), n).values()
    ]
    found = []
    for estimate in [*estimates, 1.0 / krr.k]:
        error = estimate - samples / n
        found += [np.abs(error).sum(axis=1), np.sqrt((error**2).sum(axis=1))]
    return np.array(found)


def simulate(distribution, n, k, odds, evaluations, rng):
    """Mean losses with their standard errors, a row for each epsilon = log(odds)."""
    mechanisms = [(ldp.KRR(k, np.log(e)), ldp.KRAPPOR(k, np.log(e))) for e in odds]
    sums, squares = np.zeros((2, len(odds), len(METRICS)))
    batch = max(1, 2**16 // k)  # small enough for the processor's cache
    for start in range(0, evaluations, batch):
        size = min(batch, evaluations - start)
        samples = draw_samples(distribution, n, k, size, rng)
        for i, (krr, rappor) in enumerate(mechanisms):
            loss = losses(krr, rappor, samples, rng)
            sums[i] += loss.sum(axis=1)
            squares[i] += (loss**2).sum(axis=1)
    mean = sums / evaluations
    error = np.sqrt(np.maximum(squares / evaluations - mean**2, 0.0) / evaluations)
    keys = [(distribution, n, k, e) for e in odds]
    index = pd.MultiIndex.from_tuples(keys, names=["distribution", "n", "k", "odds"])
    frame = pd.DataFrame(mean, index, METRICS)
    frame[[f"{name}_se" for name in METRICS]] = error
    frame.insert(0, "evaluations", evaluations)
    return frame


def simulate_grid(sizes, odds, evaluations, seed):
    """All conditions and all k, each with its own stream of random numbers."""
    blocks = []
    for i, (distribution, n) in enumerate(CONDITIONS):
        for k in sizes:
            rng = np.random.default_rng([seed, i, k])
            blocks.append(simulate(distribution, n, k, odds, evaluations, rng))
    return pd.concat(blocks)


if options.full:
    grid = simulate_grid(POWERS, POWERS, evaluations=10_000, seed=1602)
    short = {name: grid[name].map("{:.2g}".format) for name in grid if name.endswith("_se")}
    text = grid.assign(**short).to_csv(float_format="%.5g", lineterminator="\n")
    header = "# Made by: python vignettes/02_krr_or_rappor.py --full\n"
    stored.write_text(header + text, encoding="utf-8", newline="\n")

keys = ["distribution", "n", "k", "odds"]
grid = pd.read_csv(stored, comment="#").set_index(keys).sort_index()
assert len(grid) == 4 * 12 * 12
assert (grid["evaluations"] == 10_000).all()

# %% [markdown]
# A part of the grid, recomputed with other random numbers, agrees with the stored one. (And it
# would not if epsilon were wrong: with the columns of the grid moved by one, it does not.)

# %%
EVALUATIONS = 500
again = simulate_grid([2, 16, 128], [2, 16, 128, 1024], EVALUATIONS, seed=1)


def distance(expected):
    """Largest distance of any recomputed loss, in standard errors of the difference."""
    found = 0.0
    for name in METRICS:
        error = expected[f"{name}_se"] * np.sqrt(1.0 + 10_000 / EVALUATIONS)
        found = max(found, float(((again[name] - expected[name]).abs() / error).max()))
    return found


same = grid.loc[again.index]
moved = grid.loc[[(d, n, k, 2 * e) for d, n, k, e in again.index]].set_axis(again.index)
print(f"{same[METRICS].size} losses: at most {distance(same):.1f} standard errors apart")
print(f"with epsilon moved: {distance(moved):.0f}")
assert distance(same) < 5.0 < distance(moved)

# %% [markdown]
# The loss against the realised sample leaves out the sampling error: what remains is what privacy
# adds, so for the squared l2 loss of the empirical estimates the ratio of the two mechanisms is
# exactly the excess ratio above, whatever p. The grid stores mean l2 losses, whose squares come
# close when k is large.

# %%
tall = grid.query("k >= 256")
by_theory = [
    planning.krappor_l2(np.full(k, 1 / k), np.log(e), n) - planning.nonprivate_worst_l2(k, n)
    for _, n, k, e in tall.index
]
closeness = tall["krappor_empirical_l2"] ** 2 / by_theory
print(f"grid / theory: {closeness.min():.4f} to {closeness.max():.4f}")
assert closeness.between(0.995, 1.001).all()

# %% [markdown]
# ## Which decoder?
#
# The paper finds the projected decoder "substantially better than the other decoders for both k-RR
# and k-RAPPOR for the whole range of k and epsilon for the geometric distribution" (figure 1, and
# figure 5 in l2), and the normalized one best for Dirichlet. Each cell below compares the projected
# decoder with the best of the others, as those figures do.


# %%
def smallest(mechanism, decoders, loss):
    """Smallest mean loss among some decoders in each cell, and its standard error."""
    names = [f"{mechanism}_{decoder}_{loss}" for decoder in decoders]
    values, errors = grid[names], grid[[f"{name}_se" for name in names]].to_numpy()
    return values.min(axis=1), errors[np.arange(len(grid)), values.to_numpy().argmin(axis=1)]


def contrast(first, second):
    """Ratio of two losses, and their difference in standard errors, in each cell.

    All see the same samples, so the true standard errors are smaller: z errs on the safe side.
    """
    (a, a_error), (b, b_error) = first, second
    return pd.DataFrame({"ratio": a / b, "z": (a - b) / np.hypot(a_error, b_error)})


def count(result):
    """How many cells of each condition are surely better or worse, and the extreme ratios."""
    by = result.groupby(["distribution", "n"])
    sure = {"better": result["z"] < -4.0, "worse": result["z"] > 4.0}
    counts = {name: hit.groupby(["distribution", "n"]).sum() for name, hit in sure.items()}
    return pd.DataFrame({**counts, "lowest": by["ratio"].min(), "highest": by["ratio"].max()})


decoding, useful = {}, {}
for mechanism, decoders in DECODERS.items():
    for loss in ("l1", "l2"):
        others = smallest(mechanism, [d for d in decoders if d != "projected"], loss)
        decoding[mechanism, loss] = contrast(smallest(mechanism, ["projected"], loss), others)
        best = smallest(mechanism, decoders, loss)[0]
        useful[mechanism, loss] = best < grid[f"uniform_{loss}"]
names = ["mechanism", "loss"]
counts = {key: count(result) for key, result in decoding.items()}
decoders_table = pd.concat(counts, names=names).sort_index()
print("projected / best other decoder: of 144 cells, surely better or worse; extreme ratios")
print(decoders_table.round(2).to_string())
counts = {key: count(result[useful[key]]) for key, result in decoding.items()}
in_useful = pd.concat(counts, names=names).sort_index()
print("and where the mechanism's best decoder beats the uniform guess")
print(in_useful.round(2).to_string())

# %% [markdown]
# For k-RR that was not reproduced: in no cell of any condition is the projected decoder better than
# both others, in a third to three quarters of the cells it is surely worse, by up to 52 % in l1 and
# a factor of 16 in l2. Nor is it ever better than the exact MLE alone, which costs as little. For
# k-RAPPOR it depends on the signal: on the geometric law the projected decoder is better in 50 (n =
# 100) and 91 (n = 30,000) of the 144 cells, by up to 14 % where k is small and a few per cent
# elsewhere; and worse in 84 and 50 cells, by up to 43 %. Nor is the normalized decoder always best
# for Dirichlet: with k-RAPPOR at n = 30,000 the projected one is better in 63 cells.
#
# The largest failures are where no decoder is of use. But also where the mechanism's best decoder
# does better than guessing the uniform distribution, projection loses up to 28 % in l1 and 41 % in
# l2. With k-RR, the normalized decoder is never more than 0.3 % worse than the best.

# %%
assert (decoders_table.loc["krr", "better"] == 0).all()
assert decoders_table.loc["krr", "worse"].between(144 / 3, 144 * 3 / 4).all()
assert round(decoders_table.loc[("krr", "l1"), "highest"].max(), 2) == 1.52
assert 16 < decoders_table.loc[("krr", "l2"), "highest"].max() < 16.5
assert (grid["krr_projected_l1"] > 0.9999 * grid["krr_mle_l1"]).all()
assert (grid["krr_projected_l2"] > 0.9999 * grid["krr_mle_l2"]).all()
by_rappor = decoders_table.loc[("krappor", "l1")]
assert by_rappor.loc["geometric", "better"].tolist() == [50, 91]
assert by_rappor.loc["geometric", "worse"].tolist() == [84, 50]
assert round(by_rappor.loc["geometric", "lowest"].min(), 2) == 0.86
assert round(by_rappor.loc["geometric", "highest"].max(), 2) == 1.43
assert by_rappor.loc[("dirichlet", 30_000), "better"] == 63
assert round(in_useful.xs("l1", level="loss")["highest"].max(), 2) == 1.28
assert round(in_useful.xs("l2", level="loss")["highest"].max(), 2) == 1.41
for loss in ("l1", "l2"):
    assert (
        grid[f"krr_normalized_{loss}"] < 1.003 * smallest("krr", DECODERS["krr"], loss)[0]
    ).all()

# %% [markdown]
# In the figures blue means that the projected decoder is better, red that another is. Dots mark
# cells where guessing the uniform distribution is better than every decoder of that mechanism.

# %%
TITLES = {"krr": "k-RR", "krappor": "k-RAPPOR"}
TICKS = range(0, 12, 2)
GRID = {"layout": "constrained", "sharex": True, "sharey": True}


def draw(ax, ratio, helpful, largest):
    """One grid of ratios on a log scale, k upwards and e^epsilon to the right."""
    values = np.log2(ratio).unstack("odds")
    limit = np.log2(largest)
    image = ax.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower")
    rows, columns = np.nonzero(~helpful.unstack("odds").to_numpy())
    dots = {"ms": 3.2, "mfc": "white", "mec": "0.2", "mew": 0.6}
    ax.plot(columns, rows, "o", label="guessing the uniform distribution is better", **dots)
    ax.set(xlim=(-0.5, 11.5), ylim=(-0.5, 11.5))
    ax.set_xticks(TICKS, [POWERS[i] for i in TICKS])
    ax.set_yticks(TICKS, [POWERS[i] for i in TICKS])
    ax.tick_params(labelsize="small")
    return image


def explain(figure, image, axes, largest, label):
    """Axis labels, a colour bar with ratios for labels, and one legend for all grids."""
    for ax in axes[-1]:
        ax.set_xlabel(r"$e^\epsilon$")
    for ax in axes[:, 0]:
        ax.set_ylabel("categories k")
    steps = np.arange(-np.log2(largest), np.log2(largest) + 0.1, np.log2(largest) / 2)
    bar = figure.colorbar(image, ax=axes, extend="both", shrink=0.8, ticks=steps)
    bar.ax.set_yticklabels([f"{2.0**step:.2g}" for step in steps])
    bar.set_label(label)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize="small"
    )


for loss, name in (("l1", "figure1"), ("l2", "figure5")):
    fig, axes = plt.subplots(2, 4, figsize=(11.5, 5.8), **GRID)
    for row, (mechanism, title) in zip(axes, TITLES.items(), strict=True):
        for ax, (distribution, n) in zip(row, CONDITIONS, strict=True):
            cells = decoding[mechanism, loss]["ratio"].loc[distribution, n]
            image = draw(ax, cells, useful[mechanism, loss].loc[distribution, n], 2.0)
            ax.set_title(f"{title}, {distribution.title()}, n = {n:,}", fontsize="small")
    explain(fig, image, axes, 2.0, f"{loss} loss, projected / best other decoder")
    finish(fig, name)

# %% [markdown]
# ### Why the paper may still be right about skewed distributions
#
# Projection subtracts the same amount from every entry that stays positive; normalizing divides all
# by the same number. Where a few categories hold nearly all of the mass, division shrinks those
# few, which were right, and leaves noise on the others; subtraction does the opposite. Where the
# mass is spread, subtraction leaves it all to the categories that the noise happened to favour. The
# geometric law with mean k/5 spreads it: its commonest category is less than 150 times as common as
# its rarest. On the more concentrated laws among the paper's, projection does win, by far.

# %%
ranks = np.arange(256)
laws = {"geometric, mean k/5": geometric(256)}
for s in (1, 2, 3):
    laws[f"Zipf {s}"] = (ranks + 1.0) ** -s / ((ranks + 1.0) ** -s).sum()
for q in (0.1, 0.5):
    laws[f"binomial {q}"] = stats.binom.pmf(ranks, 255, q)
rng = np.random.default_rng(7)
shapes = pd.DataFrame(index=laws)
for law, p in laws.items():
    samples = rng.multinomial(30_000, p, 200)
    for kind in FORMULAS:
        for odds in (8, 64):
            mechanism = kind(256, np.log(odds))
            decoded = decode(mechanism, tally(mechanism, samples, rng), 30_000)
            found = {d: np.abs(x - samples / 30_000).sum(axis=1) for d, x in decoded.items()}
            mean = {decoder: loss.mean() for decoder, loss in found.items()}
            column = f"{kind.__name__}, e^eps = {odds}"
            shapes.loc[law, column] = mean.pop("projected") / min(mean.values())
print("l1 loss, projected / best other decoder; k = 256, n = 30,000")
print(shapes.round(2).to_string())
assert (shapes.loc["geometric, mean k/5"] > 0.98).all()
assert (shapes.loc[["Zipf 2", "Zipf 3"]] < 0.8).all(axis=None)
assert (shapes.loc[["binomial 0.1", "binomial 0.5"]] < 1.0).all(axis=None)

# %% [markdown]
# ## Which mechanism?
#
# Each cell compares the best decoder of k-RR with the best of k-RAPPOR, as figures 2 and 6 do. Here
# the paper's picture is reproduced: k-RAPPOR is better for large k and small epsilon, k-RR in every
# cell with k < e^epsilon, in both losses and all conditions. It is not "slightly better" there: its
# l1 loss is lower by 31 % at least, and by 95 % at most. Its advantage does shrink with n in l1, as
# the paper says; in l2 only the difference does, not the ratio. (Dots: guessing the uniform
# distribution is better than either. At n = 100 and k = 4096 all l1 losses to the left of the solid
# line are 1.9 or more, close to the largest possible, 2: nothing is learnt with either.)

# %%
choice, helpful = {}, {}
for loss in ("l1", "l2"):
    first, second = (smallest(m, decoders, loss) for m, decoders in DECODERS.items())
    choice[loss] = contrast(first, second)
    helpful[loss] = useful["krr", loss] | useful["krappor", loss]
    choice[loss]["difference"] = first[0] - second[0]
k, odds = grid.index.get_level_values("k"), grid.index.get_level_values("odds")
for loss, cells in choice.items():
    inside = cells[k < odds]
    low, high = inside["ratio"].min(), inside["ratio"].max()
    print(f"{loss}, k < e^epsilon: k-RR / k-RAPPOR {low:.3f} to {high:.3f}")
    assert (inside["z"] < -4.0).all()
assert round(choice["l1"]["ratio"][k < odds].max(), 2) == 0.69
assert round(choice["l1"]["ratio"][k < odds].min(), 2) == 0.05
hopeless = grid.query("n == 100 and k == 4096 and odds <= 128").filter(regex="_l1$")
print(f"n = 100, k = 4096: smallest l1 loss of any decoder {hopeless.min(axis=None):.2f}")
assert round(hopeless.min(axis=None), 1) == 1.9

columns = {loss: cells[odds == 4096][["ratio", "difference"]] for loss, cells in choice.items()}
private_least = pd.concat(columns, axis=1).groupby(["distribution", "n"]).mean()
print("k-RR against k-RAPPOR at e^epsilon = 4096, mean over k")
print(private_least.round(3).to_string())
for distribution in ("geometric", "dirichlet"):
    few, many_users = (private_least.loc[distribution, n] for n in (100, 30_000))
    assert many_users["l1", "ratio"] > 1.3 * few["l1", "ratio"]
    assert few["l1", "difference"] < 3 * many_users["l1", "difference"] < 0.0
    assert few["l2", "difference"] < 3 * many_users["l2", "difference"] < 0.0
    assert many_users["l2", "ratio"] < few["l2", "ratio"]

# %%
for loss, name in (("l1", "figure2"), ("l2", "figure6")):
    fig, axes = plt.subplots(2, 2, figsize=(7.6, 6.4), **GRID)
    for ax, (distribution, n) in zip(axes.flat, CONDITIONS, strict=True):
        cells = choice[loss]["ratio"].loc[distribution, n]
        image = draw(ax, cells, helpful[loss].loc[distribution, n], 4.0)
        ax.plot([-0.5, 11.5], [-0.5, 11.5], "k--", lw=1, label=r"$k = e^\epsilon$")
        ax.plot(np.array(exact) / np.log(2) - 1, np.log2(many) - 1, "k-", label=r"$\epsilon^*(k)$")
        ax.set_title(f"{distribution.title()}, n = {n:,}", fontsize="medium")
    explain(fig, image, axes, 4.0, f"{loss} loss, best k-RR / best k-RAPPOR (blue: k-RR)")
    finish(fig, name)

# %% [markdown]
# ### A rule
#
# The solid line follows the change of colour much more closely than the diagonal. It was derived
# for the empirical estimates and the squared l2 loss, yet it also chooses well between the best
# decoders in l1: use k-RR if and only if $\epsilon > \epsilon^*(k)$, about $\frac23 \ln k$. At
# n = 30,000 it errs in 2 of 144 cells, in which k-RR and k-RAPPOR differ by about 3 % at most. To
# use k-RR only from $\epsilon = \ln k$ on errs in 21 cells, at a cost of up to 91 %. At n = 100 the
# rule errs in 8 cells, by at most 4 % (in l2 in more, but only where guessing the uniform
# distribution is better than either).

# %%
star = np.array([planning.crossover_epsilon(int(x)) for x in k])
rules = {
    "epsilon > epsilon*": np.log(odds) > star,
    "epsilon >= ln(k/2)": odds >= k / 2,
    "epsilon >= ln k": odds >= k,
}
rows = {}
for loss, cells in choice.items():
    for rule, use_krr in rules.items():
        wrong = use_krr != (cells["ratio"] < 1.0)
        cost = 2.0 ** np.abs(np.log2(cells["ratio"])).where(wrong, 0.0)
        by = ["distribution", "n"]
        found = {
            "wrong": wrong.groupby(by).sum(),
            "wrong, useful": (wrong & helpful[loss]).groupby(by).sum(),
            "highest cost": cost.groupby(by).max(),
        }
        rows[loss, rule] = pd.DataFrame(found)
verdict = pd.concat(rows, names=["loss", "rule"]).sort_index()
print(verdict.round(3).to_string())
l1, l2 = verdict.loc["l1"], verdict.loc["l2"]
for distribution in ("geometric", "dirichlet"):
    few, large = (l1.loc[("epsilon > epsilon*", distribution, n)] for n in (100, 30_000))
    assert few["wrong"] == 8 and few["highest cost"] < 1.04
    assert large["wrong"] == 2 and large["highest cost"] < 1.035
    assert l1.loc[("epsilon >= ln k", distribution, 30_000), "wrong"] == 21
    assert l2.loc[("epsilon > epsilon*", distribution, 100), "wrong, useful"] == 0
assert round(l1["highest cost"].max(), 2) == 1.91

# %% [markdown]
# ## Summary
#
# | KBR16 | here |
# |---|---|
# | Propositions 3 and 4 | hold in all 48 settings within Monte Carlo error |
# | Proposition 5: smaller l2 loss of k-RR from ln(k/2) on | true; from about (2/3) ln k on |
# | slides: k-RAPPOR's effective sample has k^2 e^epsilon | k^2 e^(epsilon/2), as in the paper |
# | k-RR "slightly better" where k < e^epsilon | everywhere, by 31 % to 95 % in l1 |
# | k-RAPPOR better for large k and small epsilon | yes; the l1 loss of k-RR is up to 72 % larger |
# | projected decoder best on the geometric law | never for k-RR; k-RAPPOR: only at high signal |
# | ... and on Zipf and binomial laws | yes where they are concentrated, and by far |
# | normalized decoder best on Dirichlet | yes for k-RR; for k-RAPPOR only at low signal |

# %%
assert round(choice["l1"]["ratio"].max(), 2) == 1.72
