"""k-RR against k-RAPPOR over k and epsilon: simulations of vignettes/articles/02_krr_or_rappor.py.

    python -m benchmarks.studies.krr_or_rappor           recompute a small part, and compare
    python -m benchmarks.studies.krr_or_rappor --full    recompute and store the grid (20 minutes)

No respondent is simulated. The true counts of n respondents are multinomial. Of the N_x respondents
in category x, k-RR keeps a binomial number and spreads the rest evenly over all k categories. Bit x
of k-RAPPOR is set in a binomial number of those N_x reports and in another binomial number of the
n - N_x others; the k bit sums are independent given the N_x. Every row of an array is a survey.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import ldpstats as ldp
from benchmarks.studies.stored import save, wanted
from ldpstats import planning

STORED = Path(__file__).with_suffix(".csv")
KEYS = ["distribution", "n", "k", "odds"]
POWERS = [2**j for j in range(1, 13)]
CONDITIONS = [(d, n) for d in ("geometric", "dirichlet") for n in (100, 30_000)]
DECODERS = {
    "krr": ("normalized", "projected", "mle"),
    "krappor": ("normalized", "projected", "empirical"),
}
ESTIMATES = [f"{m}_{d}" for m, decoders in DECODERS.items() for d in decoders] + ["uniform"]
METRICS = [f"{name}_{loss}" for name in ESTIMATES for loss in ("l1", "l2")]
SURVEYS, LIMIT = 2_000, 4.5  # 96 comparisons: one beyond 4.5 standard errors has chance .0007
FORMULAS = {
    ldp.KRR: (planning.krr_l2, planning.krr_l1),
    ldp.KRAPPOR: (planning.krappor_l2, planning.krappor_l1),
}


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


# Decoders of many surveys at once. The package fits one at a time; tests/studies compares the two.
# Where no entry is positive the package refuses to normalize, and the uniform distribution is
# taken here, which is next to never needed.


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


# The grid


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


def load():
    """The stored grid."""
    return pd.read_csv(STORED, comment="#").set_index(KEYS).sort_index()


def store():
    """Recompute the grid and store it."""
    grid = simulate_grid(POWERS, POWERS, evaluations=10_000, seed=1602)
    short = {name: grid[name].map("{:.2g}".format) for name in grid if name.endswith("_se")}
    text = grid.assign(**short).to_csv(float_format="%.5g", lineterminator="\n")
    save(STORED, text)


def check(evaluations=500):
    """A part with other random numbers agrees with the stored grid; with epsilon moved it fails."""
    grid = load()
    again = simulate_grid([2, 16, 128], [2, 16, 128, 1024], evaluations, seed=1)

    def distance(expected):
        """Largest distance of any recomputed loss, in standard errors of the difference."""
        found = 0.0
        for name in METRICS:
            error = expected[f"{name}_se"] * np.sqrt(1.0 + 10_000 / evaluations)
            found = max(found, float(((again[name] - expected[name]).abs() / error).max()))
        return found

    same = grid.loc[again.index]
    moved = grid.loc[[(d, n, k, 2 * e) for d, n, k, e in again.index]].set_axis(again.index)
    print(f"{same[METRICS].size} losses: at most {distance(same):.1f} standard errors apart")
    print(f"with epsilon moved: {distance(moved):.0f}")
    assert distance(same) < 5.0 < distance(moved)


# The propositions


def compare(loss, expected):
    """Mean loss over the expected one, and their distance in Monte Carlo standard errors."""
    error = loss.std(ddof=1) / np.sqrt(loss.size)
    return loss.mean() / expected, (loss.mean() - expected) / error


def errors(mechanism, p, n, rng):
    """Errors of the empirical estimate in repeated surveys, shape (surveys, k)."""
    counts = tally(mechanism, rng.multinomial(n, p, SURVEYS), rng)
    return empirical(mechanism, counts, n) - p


def propositions(seed=3, small=100, large=1_000_000):
    """Simulated loss over the formulas of Propositions 3 and 4, in 48 settings, with z scores."""
    rng = np.random.default_rng(seed)
    rows = []
    for kind, (l2, l1) in FORMULAS.items():
        for k in (4, 16, 64):
            for shape, p in (("uniform", np.full(k, 1.0 / k)), ("geometric", geometric(k))):
                for epsilon in (0.5, 1.0, 2.0, 4.0):
                    mechanism = kind(k, epsilon)
                    squared = (errors(mechanism, p, small, rng) ** 2).sum(axis=1)
                    absolute = np.abs(errors(mechanism, p, large, rng)).sum(axis=1)
                    exact = compare(squared, l2(p, epsilon, small))
                    asymptotic = compare(absolute, l1(p, epsilon, large))
                    rows.append((kind.__name__, k, shape, epsilon, *exact, *asymptotic))
    keys = ["mechanism", "k", "p", "epsilon"]
    return pd.DataFrame(rows, columns=[*keys, "l2", "l2 z", "l1", "l1 z"]).set_index(keys)


def crossings(sizes, seed=5):
    """Squared l2 loss of k-RR less that of k-RAPPOR around epsilon*, in standard errors."""
    rng = np.random.default_rng(seed)
    places = pd.DataFrame()
    for k in sizes:
        star = planning.crossover_epsilon(k)
        for factor in (0.8, 1.0, 1.2):
            p, epsilon = geometric(k), factor * star
            by_krr, by_rappor = (
                (errors(kind(k, epsilon), p, 1_000, rng) ** 2).sum(axis=1) for kind in FORMULAS
            )
            spread = np.sqrt((by_krr.var(ddof=1) + by_rappor.var(ddof=1)) / SURVEYS)
            places.loc[k, f"{factor} epsilon*"] = (by_krr.mean() - by_rappor.mean()) / spread
    return places


# Reading the grid


def smallest(grid, mechanism, decoders, loss):
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


def decoding(grid, mechanism, loss):
    """Loss of the projected decoder over the best of the others, in each cell."""
    others = [decoder for decoder in DECODERS[mechanism] if decoder != "projected"]
    return contrast(
        smallest(grid, mechanism, ["projected"], loss), smallest(grid, mechanism, others, loss)
    )


def useful(grid, mechanism, loss):
    """The cells in which the mechanism's best decoder beats guessing the uniform distribution."""
    return smallest(grid, mechanism, DECODERS[mechanism], loss)[0] < grid[f"uniform_{loss}"]


def choice(grid, loss):
    """Loss of k-RR over that of k-RAPPOR, each with its best decoder, in each cell."""
    first, second = (smallest(grid, m, decoders, loss) for m, decoders in DECODERS.items())
    return contrast(first, second).assign(difference=first[0] - second[0])


def count(result):
    """How many cells of each condition are surely better or worse, and the extreme ratios."""
    by = result.groupby(["distribution", "n"])
    sure = {"better": result["z"] < -4.0, "worse": result["z"] > 4.0}
    counts = {name: hit.groupby(["distribution", "n"]).sum() for name, hit in sure.items()}
    return pd.DataFrame({**counts, "lowest": by["ratio"].min(), "highest": by["ratio"].max()})


def rules(choice, helpful):
    """How often and how badly three rules for k-RR err, given both losses of `choice`."""
    cells = choice["l1"].index
    k, odds = cells.get_level_values("k"), cells.get_level_values("odds")
    star = np.array([planning.crossover_epsilon(int(x)) for x in k])
    use = {
        "epsilon > epsilon*": np.log(odds) > star,
        "epsilon >= ln(k/2)": odds >= k / 2,
        "epsilon >= ln k": odds >= k,
    }
    rows = {}
    for loss, cells in choice.items():
        for rule, use_krr in use.items():
            wrong = use_krr != (cells["ratio"] < 1.0)
            cost = 2.0 ** np.abs(np.log2(cells["ratio"])).where(wrong, 0.0)
            by = ["distribution", "n"]
            found = {
                "wrong": wrong.groupby(by).sum(),
                "wrong, useful": (wrong & helpful[loss]).groupby(by).sum(),
                "highest cost": cost.groupby(by).max(),
            }
            rows[loss, rule] = pd.DataFrame(found)
    return pd.concat(rows, names=["loss", "rule"]).sort_index()


def other_laws(seed=7):
    """l1 loss of the projected decoder over the best other one, on laws that are concentrated."""
    ranks = np.arange(256)
    laws = {"geometric, mean k/5": geometric(256)}
    for s in (1, 2, 3):
        laws[f"Zipf {s}"] = (ranks + 1.0) ** -s / ((ranks + 1.0) ** -s).sum()
    for q in (0.1, 0.5):
        laws[f"binomial {q}"] = stats.binom.pmf(ranks, 255, q)
    rng = np.random.default_rng(seed)
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
    return shapes


def main():
    if wanted(__doc__):
        store()
    check()


if __name__ == "__main__":
    main()
