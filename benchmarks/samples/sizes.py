"""Sizes of Rao-Scott tests in complex samples of privatised answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.samples.asking import ALPHA, D, K, Question
from benchmarks.samples.population import GROUPS, Design, Drawn
from ldpstats.inference.designs.linearisation import Scores, Totals, estimated_totals
from ldpstats.inference.designs.tests import (
    RaoScott,
    at_observed,
    fit_to,
    homogeneity,
    independence,
    metric,
)
from ldpstats.likelihood.joint import report_covariance, table_rows

__all__ = ["TESTS", "rejections"]

Array = npt.NDArray[Any]

TESTS = ("unbiased", "first", "second", "wald", "wald-adjusted")
_BETWEEN = 0.5  # standard deviation between units, of what varies by 1 within


def rejections(
    design: Design, questions: tuple[Question, Question], samples: int, seed: list[int]
) -> dict[str, Array]:
    """Share of the samples in which `TESTS` reject hypotheses that hold.

    "fit" and "homogeneity" of the first question, "independence" of both, and the same with the
    effects of the design at the observed table, as R has them, where both have labels.
    """
    rng = np.random.default_rng(seed)
    found = [pvalues(design, questions, rng) for _ in range(samples)]
    return {
        name: np.mean([np.array(one[name]) < ALPHA for one in found], axis=0) for name in found[0]
    }


def pvalues(
    design: Design, questions: tuple[Question, Question], rng: np.random.Generator
) -> dict[str, list[float]]:
    """p-values of one sample by hypothesis, (5,) each, in the order of `TESTS`.

    The weights depend on the answers, which are those of the population; what they are tested
    against is dealt to the persons of the sample anew. For the test of fit the answers are.
    """
    people, drawn, (first, second) = design.people, endless(design.draw(rng)), questions
    shares = people.shares()
    y = first.ask(people.answer[drawn.person], rng)
    group, fresh = dealt(drawn, GROUPS, rng), first.ask(dealt(drawn, shares, rng), rng)
    n, nu = float(drawn.person.size), float(drawn.strata.size - drawn.sampled.size)
    every, whole = np.zeros(y.size, dtype=np.int64), report_covariance(shares, [first.decoding])[1]
    fit = fit_to(_totals(first, drawn, fresh, every, 1), shares, metric(whole, True), n, nu)
    groups = _totals(first, drawn, y, group, D)
    sums = groups.estimate.reshape(D, K + 1).sum(axis=0)
    S = report_covariance(sums[:K] / sums[K], [first.decoding])[1]
    tests = {"fit": fit, "homogeneity": homogeneity(groups, D, S, True, n, nu)}
    tests |= crossed(questions, drawn, (y, second.ask(group, rng)), n, nu)
    return {
        name: [test.test("", method).pvalue for method in TESTS] for name, test in tests.items()
    }


def endless(drawn: Drawn) -> Drawn:
    """The same sample without corrections for finite populations."""
    return replace(drawn, existing=np.full(drawn.existing.shape, np.inf), inside=None)


def dealt(drawn: Drawn, shares: Array, rng: np.random.Generator) -> Array:
    """Categories that have these chances for everybody, and vary between units, (n,)."""
    from scipy.special import ndtri

    between = _BETWEEN * rng.normal(size=drawn.strata.size)
    latent = between[drawn.unit] + rng.normal(size=drawn.unit.size)
    cuts = np.sqrt(1.0 + _BETWEEN**2) * ndtri(np.cumsum(shares)[:-1])
    return np.searchsorted(cuts, latent)


def _totals(question: Question, drawn: Drawn, y: Array, domain: Array, g: int) -> Totals:
    model = question.model(drawn, y, domain, g)
    return estimated_totals(model.sample, model.scores, model.noise)


def crossed(
    questions: tuple[Question, Question],
    drawn: Drawn,
    reports: tuple[Array, Array],
    n: float,
    nu: float,
) -> dict[str, RaoScott]:
    """Tests of independence of two questions."""
    decodings = [question.decoding for question in questions]
    phi = [one.phi[one.place] for one in decodings]
    a, b = decodings[0].k, decodings[1].k
    code = reports[0] * len(phi[1]) + reports[1]
    sample, codes = drawn.cells(code, len(phi[0]) * len(phi[1]))
    i, j = np.divmod(np.arange(len(phi[0]) * len(phi[1])), len(phi[1]))
    scores = Scores(((codes, table_rows([phi[0][i], phi[1][j]])),))
    totals = estimated_totals(sample, scores)  # nothing is corrected: no noise is missed
    margins = np.split(totals.estimate[a * b : -1] / totals.estimate[-1], [a])
    pairs = zip(margins, decodings, strict=True)
    covariances = [report_covariance(margin, [one])[1] for margin, one in pairs]
    first, second = (metric(S, True) for S in covariances)
    found = {"independence": independence(totals, (a, b), (first, second), n, nu)}
    if not any(question.mechanism.n_bits for question in questions):
        first, second = (question.mechanism.channel().matrix() for question in questions)
        observed = at_observed(found["independence"], totals, (first, second), n)
        found["independence, as observed"] = observed
    return found
