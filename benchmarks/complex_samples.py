"""Complex samples of privatised answers: coverage of intervals, sizes of tests, design effects.

    python benchmarks/complex_samples.py                                  everything, an hour
    python benchmarks/complex_samples.py --samples 300 --design "one stage" --epsilon 1

One fixed population of 200,000 persons in 2,000 clusters and 40 strata (`complex_population.py`) is
sampled again and again, with probabilities that depend on the answers, and everybody in the sample
privatises hers anew. Intervals must hold the shares of that population. Tests of independence and
of homogeneity are of answers that are dealt to the sampled persons anew, by cluster, and tests of
fit likewise: their hypotheses are about what a population is drawn from, as no population obeys
them. One sample in 20 is also given to `ldpstats.Survey`, which must say the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from complex_population import DESIGNS, REGIONS, Design, Drawn, Population, WithReplacement, population

import ldpstats as ldp
from ldpstats.inference.designs.taylor import missed_noise
from ldpstats.inference.designs.totals import LinearTotals
from ldpstats.models.weighted.model import WeightedModel
from ldpstats.models.weighted.record import SampleFacts
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.reports.single import Reports

Array = npt.NDArray[Any]
Said = dict[str, Array]

SIZE = (200_000, 40, 2_000)  # persons, strata, clusters
MECHANISMS: dict[str, Callable[[int, float], ldp.Mechanism]] = {
    "k-RR": ldp.KRR,
    "RAPPOR": ldp.KRAPPOR,
    "URR": lambda k, epsilon: ldp.URR(k, range(k - 2, k), epsilon),
}
EPSILONS = (0.5, 1.0, 3.0)


@dataclass(frozen=True, eq=False)
class Question:
    """A mechanism whose reports are numbers, the columns of its channel matrix."""

    mechanism: ldp.Mechanism

    @cached_property
    def law(self) -> Array:
        """P(report <= y | x) + x, one row after another: increasing, (k l,)."""
        Q = self.mechanism.channel().matrix()
        return (np.cumsum(Q, axis=1) + np.arange(len(Q))[:, None]).reshape(-1)

    @cached_property
    def reports(self) -> Reports:
        """Every report once, (l,)."""
        bits = self.mechanism.n_bits
        if not bits:
            return Reports(np.arange(self.mechanism.n_outputs), self.mechanism)
        patterns = (np.arange(2**bits)[:, None] >> np.arange(bits)) & 1
        return Reports(np.packbits(patterns, axis=1, bitorder="little"), self.mechanism)

    def ask(self, answer: Array, rng: np.random.Generator) -> Array:
        """Reports of answers, (n,)."""
        l = len(self.reports)  # noqa: E741
        u = np.minimum(rng.random(answer.size), 1.0 - 1e-9)  # sums of rows may fall short of one
        return np.searchsorted(self.law, answer + u, side="right") - answer * l

    def model(self, drawn: Drawn, y: Array, domain: Array, n_domains: int) -> WeightedModel:
        """The model of reports y in domains of a sample."""
        l = len(self.reports)  # noqa: E741
        sample, codes = drawn.cells(domain * l + y, n_domains * l)
        U, H = drawn.strata.size, drawn.sampled.size
        total, squares = drawn.weight.sum(), (drawn.weight**2).sum()
        n, df = drawn.person.size, float(U - H)
        facts = SampleFacts("", "", H, U, n, total, n * squares / total**2, df)
        labels = tuple((d,) for d in range(n_domains))
        return WeightedModel(
            sample, facts, self.reports, codes % l, codes // l, ("region",), labels
        )


# ---- one sample


def intervals(design: Design, question: Question, drawn: Drawn, rng: np.random.Generator) -> Said:
    """Ends of intervals in one sample, (q, 2), and its variances by their parts."""
    people = design.people
    y = question.ask(people.answer[drawn.person], rng)
    every = np.zeros(y.size, dtype=np.int64)
    whole = question.model(drawn, y, every, 1)
    regions = question.model(drawn, y, people.region[drawn.person], REGIONS.size)
    fitted, by = whole.fit(), regions.fit()
    said = {"differences": ends(by.differences())}
    for name, results, model in (("shares", fitted, whole), ("domains", by, regions)):
        said[name] = ends(results.conf_int(clip=False))
        said[f"{name}, t"] = ends(results.conf_int(method="wald", clip=False))
        said[f"{name}, naive"] = ends(naive(model, results).conf_int(method="wald", clip=False))
    said["unweighted"] = ends(question.model(even(drawn), y, every, 1).fit().conf_int(clip=False))
    return said | effects(fitted) | clean(drawn, people)


def ends(table: pd.DataFrame) -> Array:
    """Limits of intervals, (q, 2)."""
    return table[["lower", "upper"]].to_numpy()


def naive(model: WeightedModel, results: WeightedResults) -> WeightedResults:
    """The same where the correction shrinks the randomisation too: a control that must fail."""
    totals = results.totals_law
    assert isinstance(totals, LinearTotals)
    missed = model.noise(model.sample.w2 * missed_noise(model.sample))
    shrunk = replace(totals, covariance=totals.covariance - missed)
    found = shrunk.of(results.shares)
    return replace(results, fit=model._fit(found.value, found.covariance), totals_law=shrunk)


def even(drawn: Drawn) -> Drawn:
    """The same persons as if all had been drawn alike: a control that must fail."""
    ones, endless = np.ones(drawn.weight.size), np.full(drawn.sampled.size, np.inf)
    return replace(drawn, weight=ones, existing=endless, inside=None)


def effects(fitted: WeightedResults) -> Said:
    """Variances of the shares, (k,): in all, of the randomisation, of a simple random sample."""
    found = fitted.totals_law.of(fitted.shares)
    p = found.value
    return {
        "estimate": p,
        "V": np.diagonal(found.covariance),
        "V_R": np.diagonal(found.noise),
        "V_srs": p * (1.0 - p) / (fitted.nobs - 1.0),
        "deff": fitted.deff()[["deff_design", "deff_privacy"]].to_numpy().T,
    }


def clean(drawn: Drawn, people: Population) -> Said:
    """The estimate from the answers themselves, and the number of respondents."""
    totals = np.bincount(people.answer[drawn.person], drawn.weight)
    return {"clean": totals / totals.sum(), "n": np.array(drawn.person.size)}
