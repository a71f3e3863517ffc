"""Mechanisms that protect sensitive categories only: exact maximum likelihood, against plain EM.

The people are those of the US Census of 1990 where its table is at hand (MK19 section 6.1), else
their categories follow Zipf's law.
"""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import plain
from solve import dense_likelihood
from timing import Row, Scale, faster, measure, reached, zipf

import ldpstats as ldp
from ldpstats.estimators import MLE

__all__ = ["uldp", "uldp_full"]

CENSUS = Path(__file__).parents[2] / "shared/data/census1990"
FEW, MANY = 400, 12_800  # categories of four attributes, and of nine
SENSITIVE = 76  # of the few
KINDS = {"k-RR": ldp.KRR, "uRR": ldp.URR, "k-RAPPOR": ldp.KRAPPOR, "uRAP": ldp.URAP}
MOST = {"k-RAPPOR": 1.5, "uRAP": 0.5}  # plain EM iterations that a whole fit may take
MOST_OF_FEW = {"1": 0.5, "ln k": 3.6}  # the same of uRAP and 20,000 people, by epsilon


@dataclass(frozen=True)
class Survey:
    """True categories of n people, and which of the k categories are sensitive."""

    codes: np.ndarray
    sensitive: np.ndarray

    @property
    def k(self) -> int:
        return self.sensitive.size

    def mechanism(self, kind: str, epsilon: float) -> ldp.Mechanism:
        protects_all = kind in ("k-RR", "k-RAPPOR")
        return KINDS[kind](
            self.k, *([] if protects_all else [np.flatnonzero(self.sensitive)]), epsilon
        )

    def coarser(self, k: int) -> Survey:
        """The same people with neighbouring categories taken together, so that k are left."""
        by = self.k // k
        return Survey(self.codes // by, self.sensitive[::by])

    def epsilons(self) -> dict[str, float]:
        return {"1": 1.0, "ln k": float(np.log(self.k))}


@dataclass(frozen=True)
class Dense:
    """One plain EM iteration on the likelihoods of reports, of which the first part is held."""

    W: np.ndarray
    parts: int = 1

    @classmethod
    def of(cls, survey: Survey, rng: np.random.Generator, parts: int = 1) -> Dense:
        """Of k-RAPPOR reports; it takes as long whatever is reported."""
        mechanism = survey.mechanism("k-RAPPOR", 1.0)
        reports = mechanism.privatize(survey.codes[: survey.codes.size // parts], rng)
        return cls(dense_likelihood(reports.y, mechanism), parts)

    def iterate(self) -> np.ndarray:
        k = self.W.shape[1]
        return plain.em_step(self.W, np.full(k, 1.0 / k))

    def __str__(self) -> str:
        part = f", {self.parts} times 1/{self.parts} of the reports" if self.parts > 1 else ""
        return f"one dense EM iteration{part}"


def survey(n: int, rng: np.random.Generator) -> Survey:
    """n people with nine attributes."""
    table = CENSUS / "census1990_9attr_nonzero.csv"
    if table.exists():
        columns = np.loadtxt(table, delimiter=",", skiprows=1, dtype=int).T
        codes = rng.choice(columns[0], n, p=columns[-1] / columns[-1].sum())
        cells = np.loadtxt(CENSUS / "census1990_4attr.csv", delimiter=",", skiprows=1, dtype=int)
        few = cells[np.argsort(cells[:, 0]), 5] > 0
    else:
        codes = rng.permutation(MANY)[rng.choice(MANY, n, p=zipf(MANY))]
        few = np.arange(FEW) < SENSITIVE
    return Survey(codes, np.repeat(few, MANY // FEW))


def uldp(scale: Scale) -> list[Row]:
    """uRR with a million categories; uRAP with 1,600, of which 304 are sensitive."""
    rng = np.random.default_rng(12)
    people = survey(scale.size(240_000, 20_000), rng).coarser(1_600)
    rows = [_million(scale, rng), _privatise(people, scale, rng)]
    dense = Dense.of(people, rng)
    for label in people.epsilons():
        rows += _bits(people, "uRAP", label, dense, scale, rng)
    return rows


def uldp_full(scale: Scale) -> list[Row]:
    """The setting of MK19's running times: 12,800 categories, of which 2,432 are sensitive."""
    rng = np.random.default_rng(13)
    people = survey(scale.size(240_000, 20_000), rng)
    rows = []
    for k in (FEW, 4 * FEW):
        seconds = measure({"em": Dense.of(people.coarser(k), rng).iterate}, scale.size(5, 3))["em"]
        rows.append(Row(f"k-RAPPOR, k = {k:,}", "", f"{seconds:.2f} s for one dense EM iteration"))
    dense = Dense.of(people, rng, parts=8)  # 25 GB in all
    for label in people.epsilons():
        for kind in ("k-RAPPOR", "uRAP"):
            rows += _bits(people, kind, label, dense, scale, rng)
    del dense
    for label in people.epsilons():
        rows += [_labels(people, kind, label, scale, rng) for kind in ("k-RR", "uRR")]
    return rows


def _labels(people: Survey, kind: str, label: str, scale: Scale, rng: np.random.Generator) -> Row:
    """The closed form from counts, certified, against EM on all of Q."""
    mechanism = people.mechanism(kind, people.epsilons()[label])
    counts = mechanism.privatize(people.codes, rng).tally()
    likelihood = ldp.FrequencyModel(counts).likelihood()
    channel, c = mechanism.channel(), counts.vector() / counts.nobs
    Q, p = channel.a * np.eye(people.k) + channel.b, np.full(people.k, 1.0 / people.k)
    jobs: dict[str, Any] = {
        "ours": partial(MLE(tol=1e-12).solve, likelihood),
        "em": lambda: p * (Q @ (c / (p @ Q))),
    }
    spent = measure(jobs, scale.size(15, 5))
    gap, ratio = likelihood.gap(jobs["ours"]().p), spent["em"] / spent["ours"]
    figure = (
        f"{ratio:,.3g} x the speed ({spent['ours'] * 1e3:.2f} ms, "
        f"not {spent['em'] * 1e3:,.0f}), gap {gap:.0e}"
    )
    met = ratio >= 100.0 and gap <= 1e-12
    return Row(_what(kind, people, label), "one EM iteration on Q", figure, ">= 100, 1e-12", met)


def _bits(
    people: Survey, kind: str, label: str, dense: Dense, scale: Scale, rng: np.random.Generator
) -> list[Row]:
    """The fit from patterns: to a certified gap of 1e-6, and to the default tolerance."""
    reports = people.mechanism(kind, people.epsilons()[label]).privatize(people.codes, rng)
    likelihood = ldp.FrequencyModel(reports).likelihood()
    jobs: dict[str, Any] = {
        "certified": partial(MLE(tol=1e-6).solve, likelihood),
        "default": partial(MLE().solve, likelihood),
        "em": dense.iterate,
    }
    spent = measure(jobs, scale.size(5, 3))
    rows, em = [], dense.parts * spent["em"]
    for name in ("certified", "default"):
        found = jobs[name]()
        gap, ratio = likelihood.gap(found.p), spent[name] / em
        figure = (
            f"{ratio:.2g} iterations ({spent[name]:.2f} s, not {em:.2f}), gap {gap:.0e}, "
            f"{found.n_iter} steps"
        )
        if name == "certified":
            most = scale.aim(MOST[kind], MOST_OF_FEW[label])
            aim = f"<= {most}, 1e-6, 20 steps"
            met = reached(most / ratio, 1.0) and gap <= 1e-6 and found.n_iter <= 20
            rows.append(Row(_what(kind, people, label), str(dense), figure, aim, met))
        else:
            rows.append(Row(f"{_what(kind, people, label)}, default tol", str(dense), figure))
    if people.k == MANY:  # a report then takes far more bytes than a number
        memory, what = _memory(reports), f"memory of {_what(kind, people, label)}"
        rows.append(Row(what, "the reports", f"{memory:.2f} times", "<= 2.2", memory <= 2.2))
    return rows


def _memory(reports: ldp.Reports) -> float:
    """Peak of the memory in use from reports to estimate, over that of the reports."""
    tracemalloc.start()
    MLE(tol=1e-6).solve(ldp.FrequencyModel(reports).likelihood())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(1.0 + peak / reports.y.nbytes)


def _million(scale: Scale, rng: np.random.Generator) -> Row:
    k = scale.size(1_000_000, 100_000)
    sensitive = rng.permutation(k)[: k // 5]
    counts = ldp.URR(k, sensitive, float(np.log(k))).draw(rng.permutation(zipf(k)), 10 * k, rng)

    def fit() -> float:
        results = ldp.FrequencyModel(counts).fit("mle")
        return results.gap + 0.0 * float(results.bse.iloc[0])

    seconds = measure({"fit": fit}, scale.size(7, 3))["fit"]
    tracemalloc.start()
    gap = fit()
    peak = tracemalloc.get_traced_memory()[1] / k
    tracemalloc.stop()
    figure = f"{seconds:.2f} s, gap {gap:.0e}, {peak:.0f} bytes a category"
    what = f"uRR MLE with standard errors, k = {k:,}"
    if scale.quick:
        return Row(what, "", figure, "1e-12", gap <= 1e-12)
    return Row(what, "", figure, "< 1 s, 1e-12", seconds < 1.0 and gap <= 1e-12)


def _privatise(people: Survey, scale: Scale, rng: np.random.Generator) -> Row:
    mechanism, few = people.mechanism("uRAP", 1.0), people.codes[: people.codes.size // 10]
    bits = people.mechanism("k-RAPPOR", 1.0)
    jobs = {
        "ours": partial(mechanism.privatize, people.codes, rng),
        "numpy": partial(plain.unary, few, people.k, bits.p1, bits.p0, rng),
    }
    spent = measure(jobs, scale.size(7, 3))
    own, theirs = spent["ours"] / people.codes.size, spent["numpy"] / few.size
    aim, what = scale.aim(0.0, 1.4), f"privatise, uRAP, k = {people.k:,}"
    return faster(what, "numpy, all k bits", own, theirs, aim)


def _what(kind: str, people: Survey, label: str) -> str:
    return f"{kind} MLE, n = {people.codes.size:,}, k = {people.k:,}, epsilon = {label}"
