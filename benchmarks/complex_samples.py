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
from complex_population import AGES, DESIGNS, REGIONS, SHARES, Design, Drawn, Population, population

import ldpstats as ldp
from ldpstats.inference.designs.calibrated import Step, calibrated_sample
from ldpstats.inference.designs.calibration import Margins, calibrate
from ldpstats.inference.designs.distances import Raking
from ldpstats.inference.designs.estimation import missed_noise
from ldpstats.inference.designs.intervals import Counted, score_bounds, t_bounds
from ldpstats.inference.designs.taylor import design_covariance
from ldpstats.inference.designs.totals import LinearTotals, Ratios
from ldpstats.models.weighted.model import WeightedModel
from ldpstats.models.weighted.record import SampleFacts
from ldpstats.problems.decoding import LinearDecoding, decode
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
ALPHA = 0.05


FACTS = SampleFacts("", "", 1, 1, 1, 1.0, 1.0, 1.0)  # are not looked at
K, D = SHARES.size, REGIONS.size


def functions() -> Ratios:
    """Shares in all, in each domain, and their differences, of the totals of the domains."""
    cells, persons = np.kron(np.eye(D), np.eye(K, K + 1)), np.kron(np.eye(D), np.eye(1, K + 1, K))
    every = np.kron(np.ones((1, D)), np.eye(K, K + 1))
    A = np.vstack([every, cells])
    B = np.vstack([persons.sum(axis=0, keepdims=True).repeat(K, axis=0), persons.repeat(K, axis=0)])
    apart = np.kron(np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0]]), np.eye(K))
    return Ratios(A, B, np.vstack([np.eye(K + D * K), np.hstack([np.zeros((2 * K, K)), apart])]))


FUNCTIONS = functions()
ONE = Ratios(np.eye(K, K + 1), np.eye(1, K + 1, K).repeat(K, axis=0))  # shares of one domain
PARTS = {"shares": slice(0, K), "domains": slice(K, 4 * K), "differences": slice(4 * K, 6 * K)}


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

    @cached_property
    def counted(self) -> Counted:
        """The report that each category is counted by."""
        decoding = decode(self.reports)
        assert isinstance(decoding, LinearDecoding)
        form = decoding.equations.exact_form()
        return Counted(form.offset, form.scale)

    def ask(self, answer: Array, rng: np.random.Generator) -> Array:
        """Reports of answers, (n,)."""
        l = len(self.reports)  # noqa: E741
        u = np.minimum(rng.random(answer.size), 1.0 - 1e-9)  # sums of rows may fall short of one
        return np.searchsorted(self.law, answer + u, side="right") - answer * l

    def model(self, drawn: Drawn, y: Array, domain: Array, n_domains: int) -> WeightedModel:
        """The model of reports y in domains of a sample."""
        l = len(self.reports)  # noqa: E741
        sample, codes = drawn.cells(domain * l + y, n_domains * l)
        labels = tuple((d,) for d in range(n_domains))
        return WeightedModel(sample, FACTS, self.reports, codes % l, codes // l, ("d",), labels)


# ---- one sample


def intervals(design: Design, question: Question, drawn: Drawn, rng: np.random.Generator) -> Said:
    """Estimates of one sample, (30,), and their variances, right and wrong."""
    people = design.people
    y = question.ask(people.answer[drawn.person], rng)
    model = question.model(drawn, y, people.region[drawn.person], D)
    right, wrong = totals(model)
    found, naive = right.of(FUNCTIONS), wrong.of(FUNCTIONS)
    w = drawn.weight
    return {
        "estimate": found.value,
        "V": np.diagonal(found.covariance),
        "V_R": np.diagonal(found.noise)[:K],
        "naive": np.diagonal(naive.covariance),
        "df": np.array(drawn.strata.size - drawn.sampled.size),
        "n": np.array(drawn.person.size),
        "spread": np.array(y.size * (w**2).sum() / w.sum() ** 2),
        "clean": clean(drawn, people),
        "unweighted": unweighted(question, drawn, y),
        "calibrated": calibrated(people, question, drawn, y),
    }


def totals(model: WeightedModel) -> tuple[LinearTotals, LinearTotals]:
    """Totals with their covariance, and with one whose correction shrinks the noise too."""
    sample, scores = model.sample, model.scores
    estimate, noise = scores.total(sample.w), model.noise(sample.w2)
    between = design_covariance(sample, sample.residuals(scores))
    missed = model.noise(sample.w2 * missed_noise(sample))
    return (
        LinearTotals(estimate, between + missed, noise),
        LinearTotals(estimate, between, noise),
    )


def calibrated(people: Population, question: Question, drawn: Drawn, y: Array) -> Array:
    """Shares and variances after raking to the totals of sex and of age, (2, k)."""
    band = people.sex * AGES.size + people.age
    model = question.model(drawn, y, band[drawn.person], 2 * AGES.size)
    at = model.domain
    margins = Margins(
        np.indices((2, AGES.size)).reshape(2, -1).T,
        (np.bincount(people.sex).astype(float), np.bincount(people.age).astype(float)),
        ("sex", "age"),
        (("f", "m"), tuple(map(str, range(AGES.size)))),
    )
    step = Step(margins, Raking(), calibrate(np.bincount(at, model.sample.w), margins, Raking()))
    model = replace(model, sample=calibrated_sample(model.sample, at, [step]), domain=0 * at)
    right, _ = totals(replace(model, labels=((0,),)))
    found = right.of(ONE)
    return np.array([found.value, np.diagonal(found.covariance)])


def unweighted(question: Question, drawn: Drawn, y: Array) -> Array:
    """Shares and variances as if all persons had been drawn alike, with replacement, (2, k)."""
    ones, endless = np.ones(y.size), np.full(drawn.sampled.size, np.inf)
    even = replace(drawn, weight=ones, existing=endless, inside=None)
    right, _ = totals(question.model(even, y, np.zeros(y.size, dtype=np.int64), 1))
    found = right.of(ONE)
    return np.array([found.value, np.diagonal(found.covariance)])


def clean(drawn: Drawn, people: Population) -> Array:
    """Estimated shares of the answers themselves, (k,)."""
    found = np.bincount(people.answer[drawn.person], drawn.weight)
    return np.asarray(found / found.sum())


# ---- many samples


def simulate(design: Design, question: Question, samples: int, seed: int) -> Said:
    """What many samples say, a row for each."""
    rng = np.random.default_rng([seed, list(DESIGNS).index(design.name), len(str(question))])
    said = [intervals(design, question, design.draw(rng), rng) for _ in range(samples)]
    return {name: np.array([one[name] for one in said]) for name in said[0]}


def coverage(said: Said, people: Population, question: Question) -> Said:
    """Share of the samples whose intervals hold the truth, by kind of estimate and cell."""
    truth = truths(people)
    shares = truth[:K]
    cells = np.append(np.ones(K), REGIONS.repeat(K))  # of the respondents, in each domain
    n = (said["n"] / said["spread"])[:, None] * cells
    held: Said = {}
    for name, V in (("", said["V"]), (", naive", said["naive"])):
        plain = holds(t_ends(said["estimate"], V, said["df"]), truth)
        held |= {f"{part}{name}, t": plain[own] for part, own in PARTS.items()}
    ends = score_ends(question, said["estimate"][:, : 4 * K], said["V"][:, : 4 * K], said["df"], n)
    scored = holds(ends, truth[: 4 * K])
    held |= {part: scored[PARTS[part]] for part in ("shares", "domains")}
    for name in ("calibrated", "unweighted"):
        estimate, V = np.moveaxis(said[name], 1, 0)
        held[name] = holds(score_ends(question, estimate, V, said["df"], n[:, :K]), shares)
    return held


def truths(people: Population) -> Array:
    """What `FUNCTIONS` are in the population, (30,)."""
    regions = [people.shares(people.region == d) for d in range(D)]
    apart = [regions[0] - other for other in regions[1:]]
    return np.concatenate([people.shares(), *regions, *apart])


def t_ends(estimate: Array, V: Array, df: Array) -> Array:
    """Limits of t intervals of all samples, (R, q, 2)."""
    found = t_bounds(estimate.ravel(), np.sqrt(V).ravel(), df.repeat(estimate.shape[1]), ALPHA)
    return found.reshape(*estimate.shape, 2)


def score_ends(question: Question, estimate: Array, V: Array, df: Array, n: Array) -> Array:
    """Limits of score intervals of all samples, (R, q, 2)."""
    of = np.arange(estimate.size) % K
    counted = Counted(question.counted.offset[of], question.counted.scale[of])
    df = df.repeat(estimate.shape[1])
    found = score_bounds(estimate.ravel(), np.sqrt(V).ravel(), df, ALPHA, counted, n.ravel())
    return found.reshape(*estimate.shape, 2)


def holds(ends: Array, truth: Array) -> Array:
    """Share of the samples whose interval holds the truth, (q,)."""
    return np.mean((ends[..., 0] <= truth) & (truth <= ends[..., 1]), axis=0)


def effects(said: Said, people: Population) -> Said:
    """Design effects, estimated and simulated, and how many standard errors they are apart.

    Estimated are ratios of means over the samples: of a single sample, the variance of the answers
    may be less than chance makes of the noise. Simulated are ratios of variances of the estimates
    from reports, from the answers, and of the share among as many persons drawn at random.
    """
    p, estimate, V = people.shares(), said["estimate"][:, :K], said["V"][:, :K]
    without = V - said["V_R"]
    simple = np.broadcast_to(p * (1.0 - p) / said["n"].mean(), V.shape)
    noisy, clean = (np.square(one - one.mean(axis=0)) for one in (estimate, said["clean"]))
    found: Said = {}
    for name, parts in {
        "deff_design": ((without, simple), (clean, simple)),
        "deff_privacy": ((without, V), (clean, noisy)),  # inverted: its error is well-behaved
    }.items():
        (mine, own), (theirs, other) = (_ratio(*each) for each in parts)
        apart = (mine - theirs) / (own - other).std(axis=0) * np.sqrt(len(V))
        power = 1.0 if name == "deff_design" else -1.0
        found[name] = np.array([mine**power, theirs**power, apart])
    return found


def _ratio(above: Array, below: Array) -> tuple[Array, Array]:
    """Ratio of the means of samples, (q,), and how each sample moves it, (R, q)."""
    mean = below.mean(axis=0)
    ratio = above.mean(axis=0) / mean
    return ratio, (above - ratio * below) / mean
