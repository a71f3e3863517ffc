"""Personalised mechanisms on a map, figure 13 of MK19 (and figure 8): squared l2 loss by epsilon.

    python -m benchmarks.studies.personal_places           some settings, and compare
    python -m benchmarks.studies.personal_places --full    recompute and store (three minutes)

MK19 appendix E.3 has the figure without numbers and says that the mean squared error behaves as the
total variation does in figure 8: what is known of homes and workplaces matters where epsilon is
large, with (II) between (I) and (III), and hardly below epsilon = 1.

The map is that of 07_personal.py: 25 x 25 cells of Manhattan with Uber pickups, 16 of them with a
hospital, in place of the paper's check-ins, which are not public; without that table a stand-in of
the same kind. Homes (1.4 %) and workplaces (5.4 %) are simulated. The collector knows nothing of
where they are (I), has the hill from which they were drawn (II), or knows their distribution (III).
Half of the people, drawn without replacement, report. The estimate of the intermediate distribution
is maximum likelihood, as in the paper, or inversion. Of the latter the expected squared l2 loss is
known in (II) and (III): with B the spread of tags, it is ``tr B C B' + |B r - p|^2``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.studies import stored
from ldpstats.estimators import MLE, Inversion

STORED = Path(__file__).with_suffix(".csv")
GRID = Path(__file__).resolve().parents[3] / "shared" / "data" / "location/nyc_uber_grid25.csv"
SIDE = 25
K = SIDE**2
TAGS = ("home", "work")
SHARES = (0.014, 0.054)
KINDS = {"uRR": ldp.URR, "uRAP": ldp.URAP}
METHODS = {"inversion": Inversion(), "mle": MLE(tol=1e-5)}
CASES = ("I", "II", "III")
EPSILONS = [0.1, 0.3, 1.0, 3.0, "ln k", 10.0]
SURVEYS = 10
AGAIN = [("uRR", 0.1), ("uRR", "ln k"), ("uRAP", 1.0), ("uRAP", 10.0)]


def hill(y, x, width):
    """A hill over the grid, highest at row y and column x."""
    row, column = np.divmod(np.arange(K), SIDE)
    return np.exp(-((row - y) ** 2 + (column - x) ** 2) / (2.0 * width**2))


def load():
    """People in each cell, and the cells with a hospital."""
    if GRID.exists():
        table = pd.read_csv(GRID)
        return table["pickups"].to_numpy(), np.flatnonzero(table["sensitive"])
    density = hill(14, 12, 3) + 0.6 * hill(6, 8, 2.5) + 0.3 * hill(20, 15, 4)
    people = np.floor(477_295 * density / density.sum()).astype(np.int64)
    return people, np.argsort(-people)[10:170:10]


def world(seed=7):
    """People in each cell and under each tag, (k + 2,); where tags are, exactly and roughly."""
    people, hospitals = load()
    rng, p = np.random.default_rng(seed), people / people.sum()
    hills = np.array([hill(20, 15, 6), hill(14, 12, 3)]) * (people > 0)
    chance = np.array([s * h / (p @ h) for s, h in zip(SHARES, hills, strict=True)])
    home = rng.binomial(people, np.minimum(chance[0], 1.0))
    work = rng.binomial(people - home, np.minimum(chance[1], 1.0))
    tagged = np.array([home, work])
    reached = np.concatenate([people - tagged.sum(axis=0), tagged.sum(axis=1)])
    exact = tagged / tagged.sum(axis=1, keepdims=True)
    return people, hospitals, reached, exact, hills / hills.sum(axis=1, keepdims=True)


def spread(r, background, hospitals):
    """p from the intermediate distribution by eq. 21; without background as in section 5.3."""
    if background is None:
        share = r[:K].copy()
        share[hospitals] = 0.0
        background = np.tile(share / share.sum(), (len(TAGS), 1))
    return r[:K] + r[K:] @ background


def simulate_setting(kind, epsilon, surveys, seed):
    """Mean losses by method and case, their standard errors, and the expected squared l2 loss."""
    people, hospitals, reached, exact, rough = world()
    p, n = people / people.sum(), int(people.sum()) // 2
    value = np.log(K) if epsilon == "ln k" else epsilon
    common = ldp.PUM(KINDS[kind](K, hospitals, value), TAGS).common
    known = dict(zip(CASES, (None, rough, exact), strict=True))
    found = {}
    for i in range(surveys):
        rng = np.random.default_rng([seed, round(1e4 * value), list(KINDS).index(kind), i])
        asked = rng.multivariate_hypergeometric(reached, n, method="marginals")
        codes = np.repeat(np.arange(asked.size), asked)
        data = common.privatize(common.categories[codes], rng).tally()
        for method, estimator in METHODS.items():
            problem = common.likelihood(data) if method == "mle" else common.moments(data)
            r = estimator.solve(problem).p
            for case, background in known.items():
                loss = spread(r, background, hospitals) - p
                pair = 0.5 * np.abs(loss).sum(), (loss**2).sum()
                found.setdefault((method, case), []).append(pair)
    rows = []
    for (method, case), losses in found.items():
        losses = np.array(losses)
        row = {"mechanism": kind, "epsilon": value, "method": method, "case": case}
        row |= {"k": K, "n": n, "surveys": surveys}
        row["tv"], row["l2"] = losses.mean(axis=0)
        row["tv_se"], row["l2_se"] = losses.std(axis=0, ddof=1) / np.sqrt(surveys)
        if method == "inversion" and known[case] is not None:
            row["l2_expected"] = expected(common, reached, known[case], p, n)
        rows.append(row)
    return pd.DataFrame(rows)


def expected(common, reached, background, p, n):
    """Expected squared l2 loss of inversion: variances through eq. 21, and what it gets wrong."""
    r, N = reached / reached.sum(), reached.sum()
    B = np.hstack([np.eye(K), background.T])
    problem = common.moments(common.specimen())
    covariance = problem.covariance(r).scaled(float(problem.nobs)).matrix() / n
    sampling = (np.diag(r) - np.outer(r, r)) / n * (n - 1.0) / (N - 1.0)  # that is saved
    return np.trace(B @ (covariance - sampling) @ B.T) + ((B @ r - p) ** 2).sum()


def simulate(seed=2019):
    """All that is stored."""
    frames = []
    for kind in KINDS:
        for epsilon in EPSILONS:
            frames.append(simulate_setting(kind, epsilon, SURVEYS, seed))
            print(kind, epsilon, "done", flush=True)
    people = load()[0]
    n, p = int(people.sum()) // 2, people / people.sum()
    saved = (people.sum() - n) / (people.sum() - 1.0)
    row = {"mechanism": "no privacy", "k": K, "n": n, "l2_expected": saved * (1 - p @ p) / n}
    return pd.concat([*frames, pd.DataFrame([row])])


# Reading what is stored


def load_results():
    """Mean losses by mechanism, epsilon, method and case."""
    return pd.read_csv(STORED, comment="#")


def figure_13(results, loss="l2", method="mle"):
    """Losses by epsilon, a row for each mechanism and case."""
    own = results[results["method"] == method]
    return own.pivot_table(index=["mechanism", "case"], columns="epsilon", values=loss, sort=False)


def check(seed=6):
    """Other surveys agree with what is stored, theory with both, and what MK19 says is so."""
    results = load_results()
    known = results[results["l2_expected"].notna() & results["l2"].notna()]
    z = (known["l2"] - known["l2_expected"]) / known["l2_se"]
    print(f"inversion against theory: {len(z)} settings, largest |t| {z.abs().max():.1f}")
    assert z.abs().max() < 8.0 and np.sqrt((z**2).mean()) < 1.8  # t of 9 degrees of freedom
    print(figure_13(results).map("{:.3g}".format).to_string())
    for kind in KINDS:
        one, two, three = figure_13(results).loc[kind].to_numpy()
        print(f"{kind}: (I) / (III)", np.round(one / three, 2))
        assert np.all(three[-3:] < two[-3:]) and np.all(two[-3:] < one[-3:])
        assert one[0] < 1.25 * three[0] and one[-1] > 2.0 * three[-1]
    scores = []
    for kind, epsilon in AGAIN:
        new = simulate_setting(kind, epsilon, 3, seed).set_index(["method", "case"])
        value = new["epsilon"].iloc[0]
        old = results[(results["mechanism"] == kind) & np.isclose(results["epsilon"], value, 1e-4)]
        old = old.set_index(["method", "case"]).loc[new.index]
        spread_ = old["l2_se"] * np.sqrt(1.0 + SURVEYS / 3.0)
        scores.append(((new["l2"] - old["l2"]) / spread_).rename(f"{kind}, {epsilon}"))
    scores = pd.DataFrame(scores)
    print("distance of other surveys from the stored means in standard errors")
    print(scores.round(1).to_string())
    assert scores.abs().max(axis=None) < 6.0


def main():
    if stored.wanted(__doc__):
        table = simulate().to_csv(index=False, float_format="%.5g", lineterminator="\n")
        stored.save(STORED, table)
    check()


if __name__ == "__main__":
    main()
