"""What `fit()` and its results say by default: coverage of intervals and sizes of tests.

Every survey is fitted as users fit it, by the models and without options. Frequencies of one
variable are inside, or two of five are zero ("zero") or one standard error from it ("near"). Other
settings have dense channels with rare categories, candidates of hashed reports, and pairs of
variables. Each part has a control, which must fail: intervals of half the width.

    python -m benchmarks.studies.default_surveys           a part again, compared with the table
    python -m benchmarks.studies.default_surveys --full    all of it: four minutes
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.studies import stored

STORED = Path(__file__).with_suffix(".csv")
ALPHA = 0.05
INSIDE = np.array([0.35, 0.25, 0.2, 0.12, 0.08])
RARE = np.array([0.9, 0.06, 0.03, 0.007, 0.003])


def rectangular(epsilon):
    """Seven reports: k-RR for seven in ten, Warner's "is it an even one?" for the others."""
    fine = ldp.KRR(5, epsilon).channel().matrix()
    coarse = ldp.Warner(epsilon=epsilon).channel().matrix()[np.arange(5) % 2]
    return ldp.CustomMechanism(np.hstack([0.7 * fine, 0.3 * coarse]))


def revealing(_):
    """Most reports name their category, the others one of two labels that all share."""
    Q = np.zeros((5, 10))
    for i in range(4):
        Q[i, [2 * i, 2 * i + 1, 8, 9]] = 0.5, 0.2, 0.2, 0.1
    Q[4, [8, 9]] = 0.6, 0.4
    return ldp.CustomMechanism(Q)


MECHANISMS: dict[str, Callable] = {
    "k-RR": lambda epsilon: ldp.KRR(5, epsilon),
    "k-RAPPOR": lambda epsilon: ldp.KRAPPOR(5, epsilon),
    "OUE": lambda epsilon: ldp.KRAPPOR(5, epsilon, theta=0.5),
    "uRR": lambda epsilon: ldp.URR(5, [3, 4], epsilon),
    "uRAP": lambda epsilon: ldp.URAP(5, [3, 4], epsilon),
    "subset selection": lambda epsilon: ldp.SubsetSelection(5, epsilon),
    "Hadamard response": lambda epsilon: ldp.HadamardResponse(5, epsilon),
    "dense, 5 x 7": rectangular,
}


# ---- what one survey says


def halved(ends):
    """Intervals of half the width: the control."""
    middle, half = ends.mean(axis=-1, keepdims=True), np.diff(ends, axis=-1) / 4.0
    return np.concatenate([middle - half, middle + half], axis=-1)


def held(results, truth):
    """Whether intervals hold the truth: as users get them, not cut to [0, 1], and halved."""
    cut, uncut = results.conf_int().to_numpy(), results.conf_int(clip=False).to_numpy()
    every = np.stack([cut, uncut, halved(uncut)])
    return (every[..., 0] <= truth + 1e-12) & (truth - 1e-12 <= every[..., 1])


@dataclass(frozen=True)
class Frequencies:
    """One variable of five categories."""

    mechanism: str
    epsilon: float
    where: str
    n: int = 2000
    make: Callable | None = None

    def truth(self):
        if self.where == "rare":
            return RARE
        if self.where == "inside":
            return INSIDE
        p = np.where(np.arange(5) < 3, INSIDE, 0.0) / INSIDE[:3].sum()
        if self.where == "near":
            problem = self.asked().moments(self.asked().draw(p, self.n, np.random.default_rng(0)))
            small = np.sqrt(problem.covariance(p).variances())[3:]
            p = np.append(p[:3] * (1.0 - small.sum()), small)
        return p

    def asked(self):
        return (self.make or MECHANISMS[self.mechanism])(self.epsilon)

    def survey(self, rng):
        mechanism, p = self.asked(), self.truth()
        counts = mechanism.draw(p, self.n, rng)
        model = ldp.FrequencyModel(counts)
        results = model.fit()
        contrast = np.array([[1.0, -1.0, 0.0, 0.0, 0.0]])
        tests = {
            "given distribution": model.test_distribution(p),
            "one contrast": results.wald_test((contrast, contrast @ p)),
            "goodness of fit": results.goodness_of_fit,
        }
        if self.where == "inside":
            other = mechanism.draw(p, 2 * self.n, rng)
            tests["two samples"] = ldp.two_sample_test(counts, other)
        return held(results, p), {name: t.pvalue for name, t in tests.items() if t is not None}


@dataclass(frozen=True)
class Candidates:
    """Fifteen strings that respondents have, by Zipf's law, and 45 that nobody has.

    They are other strings in every survey: which of them collide is chance, as the intervals have
    it where answers are not listed.
    """

    mechanism: str
    n: int
    make: Callable
    unlisted: float = 0.0
    epsilon: float = float("nan")
    where: str = "candidates"

    def truth(self):
        p = np.append(1.0 / np.arange(1, 16), np.zeros(45))
        return (1.0 - self.unlisted) * p / p.sum()

    def survey(self, rng):
        p = self.truth()
        survey = int(rng.integers(2**62))
        words = [f"word {i} of {survey}" for i in range(len(p))]
        law = np.append(p, self.unlisted)
        answers = rng.choice([*words, f"another of {survey}"], size=self.n, p=law / law.sum())
        counts = self.make().privatize(answers, rng).tally()
        results = ldp.FrequencyModel(counts, candidates=tuple(words)).fit("inversion")
        false = any(p[words.index(word)] == 0.0 for word in results.detected(alpha=ALPHA))
        return held(results, p), {"any absent string detected": 0.0 if false else 1.0}


@dataclass(frozen=True)
class Pairs:
    """Two variables of three and four categories, independent or with a trend."""

    mechanism: str
    where: str
    n: int = 10_000
    epsilon: float = 2.0

    def truth(self):
        first, second = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.2, 0.1])
        if self.where == "pair, an empty row":
            first = np.array([0.6, 0.4, 0.0])
        table = np.outer(first, second)
        if self.where == "pair, dependent":
            table = 0.8 * table + 0.2 * np.eye(3, 4) * first[:, None]
        return table

    def survey(self, rng):
        table = self.truth()
        cells = rng.choice(table.size, size=self.n, p=table.ravel())
        kind = {"k-RR": ldp.KRR, "k-RAPPOR": ldp.KRAPPOR}[self.mechanism]
        reports = [
            kind(k, self.epsilon).privatize(codes, rng)
            for k, codes in zip(table.shape, np.unravel_index(cells, table.shape), strict=True)
        ]
        results = ldp.AssociationModel(*reports).fit()
        true = self.where != "pair, dependent"
        sizes = {"independence": results.test_independence()} if true else {}
        return held(results, table.ravel()), {name: t.pvalue for name, t in sizes.items()}


GRID = [
    Frequencies(mechanism, epsilon, where)
    for mechanism in MECHANISMS
    for epsilon in (1.0, 3.0)
    for where in ("inside", "zero", "near")
]
PARTS = {  # settings, and the surveys of each
    "one variable": (GRID, 300),
    "rare categories": (
        [Frequencies("dense, revealing", float("inf"), "rare", n, revealing) for n in (200, 1000)],
        400,
    ),
    "candidates": (
        [
            Candidates("RAPPOR", 20_000, lambda: ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75)),
            Candidates("O-RR", 5_000, lambda: ldp.ORR(256, 16, epsilon=4.0)),
            Candidates("O-RAPPOR", 20_000, lambda: ldp.ORAPPOR(64, 1, 16, epsilon=3.0)),
            Candidates("RAPPOR", 20_000, lambda: ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75), 0.2),
        ],
        80,
    ),
    "pairs": (
        [
            Pairs(mechanism, where)
            for mechanism in ("k-RR", "k-RAPPOR")
            for where in ("pair, independent", "pair, dependent", "pair, an empty row")
        ],
        150,
    ),
}


# ---- many surveys


def figures(setting, R, seed):
    """Rows of one setting: coverages of cells that are positive and zero, and sizes of tests."""
    p, rng = setting.truth().ravel(), np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.LDPWarning)
        said = [setting.survey(rng) for _ in range(R)]
    cover = np.mean([inside for inside, _ in said], axis=0)
    rows = []
    for kind, cells in (("positive", p > 0.0), ("zero", p == 0.0)):
        if cells.any():
            names = ("coverage", "coverage, not cut", "coverage, halved")
            rows += [(n, kind, c[cells]) for n, c in zip(names, cover, strict=True)]
    tests = pd.DataFrame([pvalues for _, pvalues in said])
    rows += [("size", name, np.array([np.mean(tests[name] < ALPHA)])) for name in tests]
    table = pd.DataFrame(
        [(what, name, x.size, x.min(), x.mean(), x.max()) for what, name, x in rows],
        columns=["what", "of", "cells", "least", "mean", "most"],
    )
    facts = {name: getattr(setting, name) for name in ("mechanism", "epsilon", "where", "n")}
    facts |= {"unlisted": getattr(setting, "unlisted", 0.0), "surveys": R}
    for place, (name, value) in enumerate(facts.items()):
        table.insert(place, name, value)
    return table


def run(part, share=1.0, seed=1, chosen=slice(None)):
    """The table of a part, or of some of its settings, with a share of the surveys."""
    settings, R = PARTS[part]
    tables = [
        figures(setting, max(20, round(share * R)), [seed, list(PARTS).index(part), number])
        for number, setting in list(enumerate(settings))[chosen]
    ]
    table = pd.concat(tables, ignore_index=True)
    table.insert(0, "part", part)
    return table


KEYS = ["part", "mechanism", "epsilon", "where"]


def load():
    """The stored figures."""
    return stored.load(STORED, "part", list(PARTS))


def pooled(table):
    """Mean figures over the settings of a part, and the number of their surveys."""
    rows = table.assign(total=table["mean"] * table["surveys"]).groupby(["part", "what", "of"])
    found = rows[["total", "surveys"]].sum()
    return pd.DataFrame({"mean": found["total"] / found["surveys"], "n": found["surveys"]})


def apart(table, again):
    """Standard errors between the pooled figures of the same settings in two tables, at most.

    The cells of a survey count as one, for their intervals hold together.
    """
    shared = table.set_index(KEYS).index.isin(again.set_index(KEYS).index)
    before, after = pooled(table[shared]), pooled(again)
    share = before["mean"].clip(0.01, 0.99)
    error = np.sqrt(share * (1.0 - share) * (1.0 / after["n"] + 1.0 / before["n"]))
    return float(((after["mean"] - before["mean"]).abs() / error).max())


def check(seed=2, share=0.07, chosen=slice(None, None, 7)):
    """Surveys with other random numbers agree with what is stored; halved intervals do not."""
    again = pd.concat([run(part, share, seed, chosen) for part in ("one variable", "pairs")])
    wrong = again.copy()
    row = wrong["what"] == "coverage, not cut"
    wrong.loc[row, "mean"] = wrong.loc[wrong["what"] == "coverage, halved", "mean"].to_numpy()
    near, far = apart(load(), again), apart(load(), wrong)
    print(f"figures: at most {near:.1f} standard errors apart; of halved intervals {far:.0f}")
    assert near < 4.5 < far


def main():
    made = {part: run(part) for part in stored.wanted(__doc__, list(PARTS))}
    if made:
        stored.renew(STORED, "part", list(PARTS), made)
    print(load().to_string())
    check()


if __name__ == "__main__":
    main()
