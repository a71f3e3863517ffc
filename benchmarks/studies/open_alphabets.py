"""O-RR against O-RAPPOR: simulations of vignettes/articles/03_open_alphabets.py.

    python -m benchmarks.studies.open_alphabets           recompute a small part, and compare
    python -m benchmarks.studies.open_alphabets --full    recompute and store the grid (30 minutes)

No respondent is simulated, whether there are 10^6 or 10^8. True counts are multinomial, and so is
their division among the cohorts. Of the respondents who own a label under O-RR a binomial number
keeps it, the others spread evenly over all k labels. A bit of O-RAPPOR is set in a binomial number
of the reports that own it and in another of those that do not. Where cells outnumber strings, those
that no string owns are left out: they do not enter the estimate.

Of the settings of KBR16 (section 5) the grid leaves out:

- S = 256: C = 8, 32, 128 and 512; for O-RAPPOR k = 2, 8, 32, 128, 512 and 2048; h = 2, 4, 8 and 16
  but for k = 16, 256 and 4096 with C = 1, 2, 16 and 256.
- S = 4096: C = 4, 8, 32, 128 and 512; for O-RAPPOR the same k, and 8192; designs with more than
  2^19 cells in use or C (k - 1) + 1 < S/4; h = 2 but for C = 16 and k = 1024, 4096 and 16384 (where
  h = 4, which the paper has not, is added).
- epsilon below .5. Figures 7 and 8 have a panel for its low range, which is not given.
- S = 4096 over a closed alphabet with one parameter varied. The captions of figures 11 and 12 say
  S = 4096, but the text refers to figure 11 for S = 256, and figure 15 has the same caption: here
  11 and 12 are for S = 256.
- 50 samples in every setting. All have 20. The two best of each condition, and for S = 256 the best
  for each C and each h, have 50 fresh ones, which replace the 20. The smallest of two fresh medians
  is all the selection there is in the losses of the best designs.
- The n of figures 9, 10 and 14, which are not given. Here they are powers of ten, and those beyond
  the conditions above have only designs of the kind found best there.

Permutations of S strings modulo k > S are those of k = S: closed alphabets stop there. O-RR with
16,384 cohorts, which the paper has not, has 10 samples in three settings; it is no part of the
comparison. C = 1, h = 1 and k = S over a closed alphabet are k-RR and k-RAPPOR.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve

import ldpstats as ldp
from benchmarks.studies.stored import save, wanted
from ldpstats.likelihood.hashed import HashDesign

STORED = Path(__file__).with_suffix(".csv")
SIZE, MILLION = 256, 1_000_000
KEYS = ["alphabet", "S", "n", "mechanism", "k", "C", "h", "epsilon"]
KINDS = ["orr", "orappor"]
EPSILONS = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
TWOS, FOURS = [2**j for j in range(1, 15)], [4**j for j in range(1, 8)]
CONDITION = ["alphabet", "S", "n", "mechanism", "epsilon"]
SETTINGS = {"S = 256": (256, MILLION), "S = 4096": (4096, MILLION), "n = 1e8": (4096, 10**8)}
SURE = 4.0  # standard errors
TARGETS = {256: [0.02, 0.05, 0.1, 0.2, 0.3], 4096: [0.1, 0.2, 0.3, 0.4]}  # losses to be reached


def geometric(size):
    """The geometric law on 0, 1, ... with mean size/5, truncated to `size` strings."""
    p = (size / (size + 5.0)) ** np.arange(size)
    return p / p.sum()


def survey(size, n, cohorts, seed):
    """Answers of n respondents, by string (S,), and by cohort and string (C, S)."""
    sample = np.random.default_rng(seed).multinomial(n, geometric(size))
    rng = np.random.default_rng([*seed, cohorts])
    return sample, rng.multinomial(sample, np.full(cohorts, 1.0 / cohorts)).T


def mechanism_of(kind, alphabet, size, k, C, h, epsilon):
    known = size if alphabet == "closed" else None
    if kind == "orr":
        return ldp.ORR(k, C, epsilon=epsilon, alphabet=known)
    return ldp.ORAPPOR(k, h, C, epsilon=epsilon, alphabet=known)


def strings(alphabet, size):
    return [f"string {i}" for i in range(size)] if alphabet == "open" else None


def hashed(alphabet, size, k, C, h):
    """The matrix H of a design: which string owns which cell of which cohort."""
    cells = mechanism_of("orappor", alphabet, size, k, C, h, 1.0).cells(strings(alphabet, size))
    if k <= size:
        return HashDesign(cells, k)
    ranks = np.array([np.unique(own, return_inverse=True)[1].reshape(own.shape) for own in cells])
    width = int(ranks[cells < k].max()) + 1
    return HashDesign(np.where(cells < k, ranks, width).astype(np.uint16), width)


def owners(design, split):
    """How many respondents of each cohort own each cell, shape (C, cells)."""
    (C, _, h), m = design.cells.shape, design.n_cells
    cell = design.cells + (m + 1) * np.arange(C)[:, None, None]
    counts = np.bincount(cell.ravel(), np.repeat(split, h), C * (m + 1))
    return counts.reshape(C, m + 1)[:, :m].astype(np.int64)


def probabilities(kind, k, h, epsilon):
    """P(a cell is reported) for an answer that owns it, and for one that does not."""
    if kind == "orr":
        Q = ldp.KRR(k, epsilon).channel()
        return Q.a + Q.b, Q.b
    rappor = ldp.ORAPPOR(k, h, 1, epsilon=epsilon)
    return rappor.p1, rappor.p0


def tally(kind, k, h, epsilon, owned, n, rng):
    """How often each cell is reported when `owned` of the n respondents of a cohort own it."""
    high, low = probabilities(kind, k, h, epsilon)
    if kind == "orappor":
        return rng.binomial(owned, high) + rng.binomial(n[:, None] - owned, low)
    kept, m = rng.binomial(owned, high - low), owned.shape[1]
    chances = [*np.full(m, 1.0 / k), max(1.0 - m / k, 0.0)]
    return kept + rng.multinomial(n - kept.sum(axis=1), chances)[:, :m]


# Decoding. The share of a cohort's respondents that own a cell has the unbiased estimate
# (frequency - low) / (high - low), and its mean is H p: C k equations for S unknowns, solved by
# least squares (KBR16, eq. 22) and projected onto the simplex. H is the same for all samples and
# all epsilon, so that it is factorised once. The paper's grid has designs that cannot tell all
# strings apart, which the package refuses: the rank of H is at most C (k - 1) + 1, and with one
# cohort strings that collide are one. To follow the paper they get the estimate of least norm,
# which divides what strings share evenly among them. (The ridge is 1e-9 of the diagonal: nothing
# where H has full rank, and the least norm where it has not.)


def least_squares(design, right):
    """Least squares of least norm given ``H' t``, shape (S, ...), and whether it is unique."""
    G = design.gram(np.ones(design.shape[0]))
    G[np.diag_indices_from(G)] += 1e-9 * design.n_cohorts
    factor = cho_factor(G, overwrite_a=True, check_finite=False)
    unique = np.diag(factor[0]).min() ** 2 > 1e-6 * design.n_cohorts
    return cho_solve(factor, right, check_finite=False), bool(unique)


def projected(estimate):
    """The nearest points of the simplex to the columns of `estimate`."""
    ordered = -np.sort(-estimate, axis=0)
    shift = (np.cumsum(ordered, axis=0) - 1.0) / np.arange(1, len(ordered) + 1)[:, None]
    last = np.sum(ordered > shift, axis=0, keepdims=True) - 1
    return np.maximum(estimate - np.take_along_axis(shift, last, axis=0), 0.0)


def l1(a, b):
    return np.abs(a - b).sum(axis=0)


def right_hand_sides(designs, blocks, size, n, C, samples, seed):
    """Frequencies of the strings, (S, samples), and ``H' t`` of each block, (S, tasks, samples)."""
    truth = np.empty((size, samples))
    right = {key: np.empty((size, len(tasks), samples)) for key, tasks in blocks.items()}
    for i in range(samples):
        sample, split = survey(size, n, C, [seed, size, n, i])
        truth[:, i], nobs = sample / n, split.sum(axis=1)
        for (alphabet, k, h), tasks in blocks.items():
            design = designs[alphabet, k, h]
            owned = owners(design, split)
            rng = np.random.default_rng([seed, size, n, i, C, k, h, alphabet == "open"])
            for j, (kind, epsilon) in enumerate(tasks):
                high, low = probabilities(kind, k, h, epsilon)
                ones = tally(kind, k, h, epsilon, owned, nobs, rng)
                t = (ones / nobs[:, None] - low) / (high - low)
                right[alphabet, k, h][:, j, i] = design.owners(t)
    return truth, right


def summary(truth, estimate, p):
    """Median l1 loss with its standard error, and where 90 % of the losses are."""
    feasible = projected(estimate)
    losses = l1(feasible, truth)
    low, middle, high = np.quantile(losses, [0.05, 0.5, 0.95])
    error = 1.2533 * losses.std(ddof=1) / np.sqrt(losses.size)  # that of a mean, times sqrt(pi/2)
    row = {"l1": middle, "l1_se": error, "l1_low": low, "l1_high": high}
    row["raw"] = np.median(l1(estimate, truth))  # not projected
    return row | {"to_p": np.median(l1(feasible, p[:, None]))}


def simulate(jobs, samples, seed):
    """Losses of many settings, given as tuples of KEYS."""
    groups = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for alphabet, size, n, kind, k, C, h, epsilon in jobs:
        groups[size, C][n][alphabet, k, h].append((kind, epsilon))
    rows = []
    for (size, C), populations in groups.items():
        names = {name for blocks in populations.values() for name in blocks}
        designs = {name: hashed(name[0], size, name[1], C, name[2]) for name in names}
        drawn = {
            n: right_hand_sides(designs, blocks, size, n, C, samples, seed)
            for n, blocks in populations.items()
        }
        for (alphabet, k, h), design in designs.items():
            mine = [n for n, blocks in populations.items() if (alphabet, k, h) in blocks]
            right = np.concatenate([drawn[n][1][alphabet, k, h] for n in mine], axis=1)
            estimate, unique = least_squares(design, right.reshape(size, -1))
            found = iter(estimate.reshape(right.shape).swapaxes(0, 1))
            for n in mine:
                for kind, epsilon in populations[n][alphabet, k, h]:
                    setting = (alphabet, size, n, kind, k, C, h, epsilon)
                    row = dict(zip(KEYS, setting, strict=True), samples=samples, unique=unique)
                    rows.append(row | summary(drawn[n][0], next(found), geometric(size)))
    return pd.DataFrame(rows).set_index(KEYS).sort_index()


# The grid


def fine_grid(alphabet, size, largest):
    for C in (1, 2, 4, 16, 64, 256, 1024):
        yield from (("orr", k, C, 1) for k in TWOS if k <= largest)
        yield from (("orappor", k, C, 1) for k in FOURS if k <= largest)
    for h in (2, 4, 8, 16):
        for C in (1, 2, 16, 256):
            yield from (("orappor", k, C, h) for k in (16, 256, 4096) if k <= largest)


def coarse_grid(alphabet, size, largest):
    for C in (1, 2, 16, 64, 256, 1024):
        few = [k for k in TWOS if k <= largest and C * min(k, size) <= 2**19]
        enough = [k for k in few if C * (k - 1) + 1 >= size / 4]
        yield from (("orr", k, C, 1) for k in enough)
        yield from (("orappor", k, C, 1) for k in enough if k in FOURS)
    for h in (2, 4):
        yield from (("orappor", k, 16, h) for k in (1024, 4096, 16384) if k <= largest)


def thin_grid(alphabet, size, largest):
    yield from (("orr", k, 256, 1) for k in TWOS if 256 * k <= 2**18 and k <= largest)
    yield from (("orr", k, 1024, 1) for k in (2, 4, 8, 16))
    yield from (("orappor", k, 16, 1) for k in FOURS if size / 4 <= k <= largest)
    if alphabet == "closed":
        yield from ((kind, size, 1, 1) for kind in KINDS)


PLAN = [  # a grid, strings, respondents, and the largest k over each alphabet
    (fine_grid, 256, [MILLION], {"open": 4096, "closed": 256}),
    (thin_grid, 256, [10**5, 10**7, 10**8], {"open": 4096, "closed": 256}),
    (coarse_grid, 4096, [MILLION], {"open": 16384, "closed": 4096}),
    (coarse_grid, 4096, [10**8], {"open": 16384}),
    (thin_grid, 4096, [10**7], {"open": 16384}),
]
MANY = [("open", 4096, 10**8, "orr", k, 16_384, 1, e) for k, e in ((4, 0.5), (4, 1.0), (8, 2.0))]


def plan():
    for designs, size, populations, largest in PLAN:
        for n in populations:
            for alphabet, most in largest.items():
                for kind, k, C, h in designs(alphabet, size, most):
                    yield from ((alphabet, size, n, kind, k, C, h, e) for e in EPSILONS)


def promising(first):
    """The two best settings of each condition; for S = 256 also the best for each C and h."""
    best = first.groupby(CONDITION)["l1"].nsmallest(2).index
    chosen = {key[len(CONDITION) :] for key in best}
    fine = first.query("S == 256 and n == @MILLION")["l1"]
    for parameter in ("C", "h"):
        chosen |= set(fine.groupby([*CONDITION, parameter]).idxmin())
    return sorted(chosen)


def load():
    """The stored grid."""
    grid = pd.read_csv(STORED, comment="#").set_index(KEYS).sort_index()
    assert set(grid.index) == {*plan(), *MANY}
    return grid


def store():
    """Recompute the grid and store it."""
    first = simulate(plan(), samples=20, seed=1602)
    again = simulate(promising(first), samples=50, seed=7331)
    many = simulate(MANY, samples=10, seed=99)
    whole = pd.concat([first.drop(again.index), again, many]).sort_index()
    whole = whole.assign(unique=whole["unique"].astype(int))
    whole.loc[whole["samples"] < 50, ["l1_low", "l1_high"]] = np.nan  # for figures only
    whole["l1_se"] = whole["l1_se"].map("{:.2g}".format)
    text = whole.to_csv(float_format="%.4g", lineterminator="\n")
    save(STORED, text)


def check(samples=30):
    """A part with other random numbers agrees with the stored grid; with epsilon moved it fails."""
    grid = load()
    checked = [
        (alphabet, SIZE, n, kind, k, C, h, epsilon)
        for alphabet, n, kind, k, C, h in [
            ("open", MILLION, "orr", 4, 64, 1),
            ("open", MILLION, "orr", 64, 16, 1),
            ("open", MILLION, "orr", 1024, 2, 1),
            ("open", MILLION, "orappor", 256, 16, 1),
            ("open", MILLION, "orappor", 256, 16, 2),
            ("open", 10**8, "orappor", 256, 16, 1),
            ("closed", MILLION, "orr", 16, 64, 1),
            ("closed", MILLION, "orr", 256, 1, 1),
            ("closed", MILLION, "orappor", 64, 16, 1),
        ]
        for epsilon in (0.5, 2.0, 5.0)
    ]
    again = simulate(checked, samples, seed=1)

    def distances(expected):
        """Distances of the recomputed medians, in standard errors of the difference."""
        error = np.hypot(again["l1_se"], expected["l1_se"])
        return (again["l1"] - expected["l1"]).abs() / error

    same = distances(grid.loc[again.index])
    step = dict(pairwise(EPSILONS))
    moved = grid.loc[[(*key, step[epsilon]) for *key, epsilon in again.index]]
    moved = distances(moved.set_axis(again.index))
    print(f"{len(again)} medians: at most {same.max():.1f} standard errors apart")
    print(f"with epsilon moved: {moved.max():.0f}")
    assert same.max() < 4.5
    assert (moved > 4.5).mean() > 0.9


# Reading the grid


def best_of(grid):
    """The best setting of each condition, of those with 50 samples."""
    final = grid[grid["samples"] == 50]
    best = final.loc[final.groupby(CONDITION)["l1"].idxmin()].reset_index()
    return best.set_index(CONDITION).sort_index()


def contrast(first, second):
    """Ratio of two medians, and their difference in standard errors, for each epsilon."""
    z = (first["l1"] - second["l1"]) / np.hypot(first["l1_se"], second["l1_se"])
    return pd.DataFrame({"ratio": first["l1"] / second["l1"], "z": z})


def varying(grid, alphabet, size, n, kind, parameter):
    """Smallest median at each value of one parameter, the others at their best."""
    cells = grid.loc[alphabet, size, n, kind].query("C <= 1024")
    return cells.groupby([parameter, "epsilon"])["l1"].min().unstack("epsilon")


def at(grid, values, alphabet, size, n, kind, parameter):
    """The best setting among some values of a parameter, for each epsilon."""
    cells = grid.loc[alphabet, size, n, kind].query(f"{parameter} in @values").reset_index()
    return cells.loc[cells.groupby("epsilon")["l1"].idxmin()].set_index("epsilon")


def epsilon_needed(losses, target):
    """Where the loss falls to the target, by linear interpolation of its logarithm in epsilon."""
    if not losses.min() <= target <= losses.max():
        return np.nan
    falling = np.minimum.accumulate(losses.to_numpy())
    return float(np.interp(-np.log(target), -np.log(falling), losses.index))


def needed(best):
    """Epsilon needed for each target loss, by alphabet, S, l1, mechanism and n."""
    rows = {}
    for alphabet, size, n, kind in best.index.droplevel("epsilon").unique():
        for target in TARGETS[size]:
            losses = best.loc[alphabet, size, n, kind]["l1"]
            rows[alphabet, size, target, kind, n] = epsilon_needed(losses, target)
    return pd.Series(rows).rename_axis(["alphabet", "S", "l1", "mechanism", "n"]).sort_index()


def main():
    if wanted(__doc__):
        store()
    check()


if __name__ == "__main__":
    main()
