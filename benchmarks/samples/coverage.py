"""What intervals of a complex sample cover, and its design effects, estimated and simulated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.samples.asking import ALPHA, D, K, Question, totals
from benchmarks.samples.population import AGES, REGIONS, Design, Drawn, Population
from ldpstats.inference.designs.calibration import (
    Margins,
    Raking,
    calibrate,
    calibrated_sample,
)
from ldpstats.inference.designs.linearisation import Ratios
from ldpstats.inference.designs.tests import Counted, Differences, critical, score_bounds, t_bounds

__all__ = ["coverage", "effects", "simulate"]

Array = npt.NDArray[Any]
Said = dict[str, Array]


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
    step = calibrate(np.bincount(at, model.sample.w), margins, Raking())
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


def simulate(design: Design, question: Question, samples: int, seed: list[int]) -> Said:
    """What many samples say, a row for each."""
    rng = np.random.default_rng(seed)
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
    held["differences"] = holds(difference_ends(said, ends), truth[4 * K :])
    for name in ("calibrated", "unweighted"):
        estimate, V = np.moveaxis(said[name], 1, 0)
        held[name] = holds(score_ends(question, estimate, V, said["df"], n[:, :K]), shares)
    return held


def truths(people: Population) -> Array:
    """What `FUNCTIONS` are in the population, (30,)."""
    regions = [people.shares(people.region == d) for d in range(D)]
    apart = [regions[0] - other for other in regions[1:]]
    return np.concatenate([people.shares(), *regions, *apart])


def difference_ends(said: Said, ends: Array) -> Array:
    """Limits of the first domain less each other, from those of shares, (R, 2 K, 2)."""
    first, second = np.tile(np.arange(K, 2 * K), D - 1), np.arange(2 * K, 4 * K)
    estimate, V = said["estimate"], said["V"]
    both = (V[:, first] + V[:, second] - V[:, 4 * K :]) / 2.0
    apart = Differences(
        estimate[:, first].ravel(),
        estimate[:, second].ravel(),
        np.stack([V[:, first].ravel(), V[:, second].ravel(), both.ravel()]),
        lambda _: (ends[:, first].reshape(-1, 2), ends[:, second].reshape(-1, 2)),
    )
    return apart.bounds(np.empty(0)).reshape(len(V), -1, 2)


def t_ends(estimate: Array, V: Array, df: Array) -> Array:
    """Limits of t intervals of all samples, (R, q, 2)."""
    t = critical(df, ALPHA).repeat(estimate.shape[1])
    found = t_bounds(estimate.ravel(), np.sqrt(V).ravel(), t)
    return found.reshape(*estimate.shape, 2)


def score_ends(question: Question, estimate: Array, V: Array, df: Array, n: Array) -> Array:
    """Limits of score intervals of all samples, (R, q, 2)."""
    of = np.arange(estimate.size) % K
    counted = Counted(question.counted.offset[of], question.counted.scale[of])
    t = critical(df, ALPHA).repeat(estimate.shape[1])
    found = score_bounds(estimate.ravel(), np.sqrt(V).ravel(), t, counted, n.ravel())
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
