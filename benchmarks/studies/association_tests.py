"""Size and power of tests of independence: simulations of vignettes/articles/05_association.py.

    python -m benchmarks.studies.association_tests                      some surveys, and compare
    python -m benchmarks.studies.association_tests --full [TABLE ...]   recompute and store

FPE16 (appendix A) draws 100 surveys of 10,000 respondents with independent answers, in a table that
it does not print, and finds the p-values of T uniform (figure 11). Here are five tables: dense,
5 x 5, by k-RR with epsilon = 4; the same with epsilon = 1, by k-RR and by RAPPOR, which makes it
sparse: cells are within a few standard errors of zero, and estimates on the boundary; one of the
shape of figure 3, 30 x 2; and one with a hundred respondents. 2,000 surveys (400 where the test is
slow) give the size of each test. 1,000 (200) give its power against a linear trend that the score
test finds with probability .7 in theory; in the sparse tables the steepest trend that there can be
falls short of that.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize, stats

import ldpstats as ldp
from benchmarks.studies import stored

STORED = Path(__file__).with_suffix(".csv")
FIVE = np.array([0.35, 0.25, 0.18, 0.13, 0.09])
SKEWED = np.array([0.7, 0.2, 0.05, 0.03, 0.02])
THIRTY = np.arange(1, 31) ** -0.7
THIRTY /= THIRTY.sum()
TABLES = {  # mechanisms, margins, respondents
    "dense": (ldp.KRR(5, 4.0), ldp.KRR(5, 4.0), FIVE, FIVE, 10_000),
    "sparse": (ldp.KRR(5, 1.0), ldp.KRR(5, 1.0), FIVE, FIVE, 10_000),
    "sparse, RAPPOR": (ldp.KRAPPOR(5, 1.0), ldp.KRAPPOR(5, 1.0), FIVE, FIVE, 10_000),
    "sparse, 30 x 2": (ldp.KRR(30, 1.0), ldp.KRR(2, 1.0), THIRTY, np.array([0.8, 0.2]), 10_000),
    "few respondents": (ldp.KRR(5, 4.0), ldp.KRR(5, 4.0), SKEWED, SKEWED, 100),
}
TESTS = ["score", "pearson", "wald", "lr", "fpe16"]
SLOW = {  # further tests, with the numbers of surveys for size and power
    "sparse": {"bootstrap": (400, 200)},
    "sparse, 30 x 2": {"bootstrap": (400, 200)},
    "few respondents": {"permuted": (2_000, 1_000)},
}
LEVELS = (np.arange(40) + 0.5) / 40
QUANTILES = [f"q{level:.4f}" for level in LEVELS]


def trend(margin):
    """Scores 1, 2, 3, ... with mean zero and variance one."""
    scores = np.arange(margin.size) - margin @ np.arange(margin.size)
    return scores / np.sqrt(margin @ scores**2)


def alternative(name):
    """A table with a linear-by-linear trend that the score test finds with power .7, or less."""
    *mechanisms, r, c, n = TABLES[name]
    u, v, size = trend(r), trend(c), 1.0
    for mechanism, margin, scores in zip(mechanisms, (r, c), (u, v), strict=True):
        Q = mechanism.channel().matrix()
        size *= ((margin * scores) @ Q) ** 2 @ (1.0 / (margin @ Q))  # what is left of a variance
    df = (r.size - 1) * (c.size - 1)
    critical = stats.chi2.isf(0.05, df)
    noncentral = optimize.brentq(lambda x: stats.ncx2.sf(critical, df, x) - 0.7, 1.0, 99.0)
    feasible = -1.0 / np.outer(u, v).min()
    return np.outer(r, c) * (1.0 + min(np.sqrt(noncentral / (n * size)), feasible) * np.outer(u, v))


def test_once(name, p, rng, extra):
    """Statistics and p-values of the tests of one survey; nan where a test is not available."""
    *mechanisms, _, _, n = TABLES[name]
    codes = np.divmod(rng.choice(p.size, size=n, p=p.ravel()), p.shape[1])
    reports = [m.privatize(x, rng) for m, x in zip(mechanisms, codes, strict=True)]
    model = ldp.AssociationModel(*reports)
    fitted, found = model.fit(), {}
    for test in [*TESTS, *extra]:
        how = {"permuted": {"method": "score", "rng": rng, "n_permutations": 199}}
        how["bootstrap"] = {"method": "bootstrap", "rng": rng, "n_boot": 99}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ldp.BoundaryWarning)
                result = model.test_independence(fitted, **how.get(test, {"method": test}))
            found[test] = result.statistic, result.pvalue
        except (ldp.NotAvailable, ldp.NotIdentified):
            found[test] = np.nan, np.nan
    return found


def test_often(name, surveys, extra=(), seed=1):
    """Size, power and, under independence, quantiles of the statistic of each test."""
    *_, r, c, _ = TABLES[name]
    laws, share = (np.outer(r, c), alternative(name)), {}
    for k, (p, R) in enumerate(zip(laws, surveys, strict=True)):
        rng = np.random.default_rng([seed, list(TABLES).index(name), len(extra), k])
        share[k] = [test_once(name, p, rng, extra) for _ in range(R)]
    rows = []
    for test in extra or TESTS:
        row = {"table": name, "test": test}
        for k, (which, R) in enumerate(zip(("size", "power"), surveys, strict=True)):
            statistic, pvalue = np.array([found[test] for found in share[k]]).T
            row |= {which: np.mean(pvalue <= 0.05), f"{which}_surveys": R}
            if which == "size":
                row["given"] = np.isfinite(statistic).mean()
                quantiles = np.nanquantile(statistic, LEVELS) if row["given"] else LEVELS * np.nan
        rows.append(row | dict(zip(QUANTILES, quantiles, strict=True)))
    return pd.DataFrame(rows)


def test_all(name):
    """All tests of one table, the slow ones in fewer surveys."""
    slow = [test_often(name, how, [test]) for test, how in SLOW.get(name, {}).items()]
    return pd.concat([test_often(name, (2_000, 1_000)), *slow])


def load():
    """Size, power and quantiles under independence, by table and test."""
    return stored.load(STORED, "table", list(TABLES)).set_index(["table", "test"])


def check():
    """Some surveys with other random numbers agree with the stored ones."""
    again = test_often("sparse", (150, 150), seed=2).set_index("test")
    before = load().loc["sparse"].loc[again.index]
    for which in ("size", "power"):
        share = before[which]
        spread = np.sqrt(share * (1 - share) * (1 / 150 + 1 / before[f"{which}_surveys"]))
        distance = ((again[which] - share).abs() - 1 / 150).clip(lower=0) / spread
        print(f"{which}: at most {distance.max():.1f} standard errors from the stored one")
        assert (distance < 4.0).all()


def main():
    made = {name: test_all(name) for name in stored.wanted(__doc__, list(TABLES))}
    if made:
        stored.renew(STORED, "table", list(TABLES), made)
    check()


if __name__ == "__main__":
    main()
