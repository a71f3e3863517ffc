"""Likelihoods of regressions, their scores and Hessians, equal sums that are written out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from models.regression import references

import ldpstats as ldp
from ldpstats.likelihood.parametric import PolynomialMatrix, crossed
from ldpstats.likelihood.regression import (
    Binary,
    ExpectedInformation,
    Multinomial,
    Normal,
    Ordered,
    Outcome,
    Parallel,
    Poisson,
    Predictors,
    RegressionLikelihood,
    ReportLaw,
    Scaled,
    Seen,
    Separate,
    likelihoods,
)

Array = npt.NDArray[Any]

N = 40

NAMES = ("a", "b", "c")

RECTANGULAR = [[0.5, 0.2, 0.2, 0.1], [0.1, 0.6, 0.1, 0.2], [0.2, 0.2, 0.3, 0.3]]

THREE: dict[str, list[Any]] = {  # groups of respondents, of three categories
    "k-RR": [ldp.KRR(NAMES, 1.0)],
    "rectangular Q": [ldp.CustomMechanism(RECTANGULAR, NAMES)],
    "bits": [ldp.KRAPPOR(NAMES, 1.0)],
    "URR": [ldp.URR(NAMES, ("b",), 1.0)],
    "hashed labels": [ldp.ORR(3, 4, epsilon=1.0)],
    "hashed bits": [ldp.RAPPOR(4, 2, 3, f=0.5, p=0.25, q=0.75)],
    "different epsilon": [ldp.KRR(NAMES, 0.7), ldp.KRR(NAMES, 2.0), ldp.KRAPPOR(NAMES, 1.0)],
    "direct question": [ldp.Observed(NAMES), ldp.KRR(NAMES, 1.0)],
}

TWO = {
    "forced response": [ldp.ForcedResponse(p_truth=0.6, p_yes=0.2, categories=NAMES[:2])],
    "Mangat": [ldp.Mangat(p=0.4, categories=NAMES[:2])],
    "direct question": [ldp.Observed(NAMES[:2]), ldp.Warner(epsilon=1.0, categories=NAMES[:2])],
}


class Answers:
    """Covariates, weights, offsets and reports of 40 respondents."""

    def __init__(self, groups: list[Any], k: int) -> None:
        rng = np.random.default_rng(5)
        self.X = np.column_stack([np.ones(N), rng.normal(size=(N, 2))])
        self.w, self.offset = rng.uniform(0.5, 2.0, N), 0.3 * rng.normal(size=N)
        parts = np.array_split(np.arange(N), len(groups))
        y = np.array(NAMES)[rng.integers(0, k, N)]
        self.reports = [m.privatize(y[part], rng) for m, part in zip(groups, parts, strict=True)]
        candidates = NAMES if groups[0].is_open else None
        self.seen, scale = likelihoods(self.reports, candidates)
        self.A, self.constant = references.report_law(self.reports, candidates), self.w @ scale


def equal(ours: RegressionLikelihood, value: references.Function, theta: Array) -> None:
    """Value, score and Hessian are those of the reference."""
    found, score, hessian = ours.evaluate(theta)
    np.testing.assert_allclose(found, value(theta), rtol=1e-10)
    np.testing.assert_allclose(ours.value(theta), found, rtol=1e-12)
    want = references.score(value, theta)
    np.testing.assert_allclose(score, want, rtol=0.0, atol=1e-11 * np.abs(want).max())
    np.testing.assert_allclose(ours.weights @ ours.score_obs(theta), score, atol=1e-9)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12 * np.abs(hessian).max())
    for direction in np.random.default_rng(8).normal(size=(3, theta.size)):
        want = references.curvature(value, theta, direction)
        np.testing.assert_allclose(
            hessian @ direction, want, rtol=0.0, atol=1e-8 * np.abs(want).max()
        )


@pytest.mark.parametrize("name", THREE)
def test_three_categories(name):
    of = Answers(THREE[name], 3)
    rng = np.random.default_rng(6)
    design = Separate(of.X, 2, of.offset)
    ours = RegressionLikelihood(
        Multinomial(3), (design,), of.seen, of.w, constant=float(of.constant)
    )
    value = references.multinomial_like(of.X, of.A, of.w, of.offset)
    equal(ours, value, 0.5 * rng.normal(size=6))
    slopes = Parallel(of.X[:, 1:], 2, of.offset)
    ours = RegressionLikelihood(Ordered(3), (slopes,), of.seen, of.w, constant=float(of.constant))
    value = references.ordered_like(of.X[:, 1:], of.A, of.w, of.offset)
    equal(ours, value, 0.5 * rng.normal(size=4))


@pytest.mark.parametrize("link", references.INVERSE_LINKS)
@pytest.mark.parametrize("name", TWO)
def test_two_categories(name, link):
    of = Answers(TWO[name], 2)
    design = Separate(of.X, 1, of.offset)
    ours = RegressionLikelihood(Binary(link), (design,), of.seen, of.w, constant=of.constant)
    value = references.logit_like(of.X, of.A, link, of.w, of.offset)
    equal(ours, value, np.array([0.3, -0.8, 0.5]))


OUTCOMES: dict[str, tuple[Any, Callable[[Array], Any]]] = {
    "linear": (Normal(), lambda D: Scaled(D, 2)),
    "poisson": (Poisson(), lambda D: Separate(D, 1)),
    "multinomial": (Multinomial(3), lambda D: Separate(D, 2)),
    "ordered": (Ordered(3), lambda D: Parallel(D, 2)),
    "logit": (Binary("logit"), lambda D: Separate(D, 1)),
}


@pytest.mark.parametrize(
    ("outcome", "is_private"),
    [(name, False) for name in OUTCOMES] + [(name, True) for name in list(OUTCOMES)[2:]],
)
def test_two_private_predictors(outcome, is_private):
    """Of three and two categories, with an interaction; private outcomes among them."""
    law, predictors = OUTCOMES[outcome]
    of = Answers(THREE["k-RR"], 3)
    rng = np.random.default_rng(7)
    other = ldp.Warner(epsilon=1.0, categories=NAMES[:2]).privatize(
        np.array(NAMES)[rng.integers(0, 2, N)], rng
    )
    second, scale = likelihoods([other])
    tables = [(PolynomialMatrix.constant(one.table.T, 0), one.at) for one in (of.seen, second)]
    joint, at = crossed(tables)
    z, constant = of.X[:, 1], of.constant + of.w @ scale
    designs = [
        np.column_stack([np.full((N, 4), [1, x == 1, x == 2, u]), z, u * z])
        for x, u in references.configurations([3, 2])
    ]
    if outcome == "ordered":
        designs = [D[:, 1:] for D in designs]
    seen, written = outcomes(outcome, is_private, rng)
    if isinstance(seen, tuple):
        constant += of.w @ seen[1]
        seen = seen[0]
    Z = of.X[:, :2]
    ours = RegressionLikelihood(
        law,
        tuple(predictors(D) for D in designs),
        seen,
        of.w,
        Seen(joint.at([]).T, at),
        Separate(Z, 5),
        float(constant),
    )
    laws = [of.A, references.report_law(other)]
    value = references.mixture(outcome, written, designs, laws, Z, of.w)
    theta = 0.4 * rng.normal(size=ours.size)
    equal(ours, value, theta)
    np.testing.assert_allclose(ours.posterior(theta).sum(axis=1), 1.0)


def outcomes(outcome: str, is_private: bool, rng: np.random.Generator) -> tuple[Any, Array]:
    """What is seen of an outcome, for the package and for the reference."""
    if outcome in ("linear", "poisson"):
        y = rng.normal(size=N) if outcome == "linear" else rng.poisson(2.0, N) + 0.0
        return y, y
    k = 2 if outcome == "logit" else 3
    y = rng.integers(0, k, N)
    if not is_private:
        return Seen(np.eye(k), y), references.indicators(y, k)
    reports = ldp.KRR(k, 1.0).privatize(y, rng)
    return likelihoods([reports]), references.report_law(reports)


# The expected information of reports, and the penalty, equal sums that are written out.

RNG = np.random.default_rng(3)

X = np.column_stack([np.ones(N), RNG.normal(size=(N, 2))])

WEIGHTS, GROUP = RNG.uniform(0.5, 2.0, N), RNG.integers(0, 2, N)


def outcomes_jeffreys(k: int) -> list[tuple[Outcome, Predictors, references.Law]]:
    """Laws of k categories, with the same written out as functions of the parameters."""
    if k == 2:
        return [
            (Binary(link), Separate(X, 1), lambda b, law=law: law((X @ b)[:, None]))
            for link, law in ((link, references.binary(link)) for link in ("probit", "cloglog"))
        ]
    slopes = X[:, 1:]
    return [
        (
            Multinomial(k),
            Separate(X, k - 1),
            lambda b: references.multinomial(references.by_equation(X, b, k - 1)),
        ),
        (
            Ordered(k),
            Parallel(slopes, k - 1),
            lambda b: references.cumulative(references.thresholds(slopes, b, k)),
        ),
    ]


@pytest.mark.parametrize(
    "mechanisms",
    [
        [ldp.Warner(epsilon=1.0)],
        [ldp.KRR(3, 1.0)],
        [ldp.KRAPPOR(3, 1.0)],
        [ldp.CustomMechanism(RECTANGULAR), ldp.Observed(3)],
    ],
    ids=str,
)
def test_information_and_penalty(mechanisms):
    channels = tuple(one.channel().matrix() for one in mechanisms)
    group = GROUP * (len(channels) - 1)
    for outcome, design, law in outcomes_jeffreys(len(channels[0])):

        def reported(b: Array, law: references.Law = law) -> Array:
            pi = law(b)
            every = [np.where((group == g)[:, None], pi @ Q, 0.0) for g, Q in enumerate(channels)]
            return np.hstack(every)

        ours = ExpectedInformation(outcome, (design,), WEIGHTS[:, None], ReportLaw(channels, group))
        theta = 0.5 * np.random.default_rng(4).normal(size=design.size)
        want = references.information(reported, theta, WEIGHTS)
        np.testing.assert_allclose(ours.matrix(theta), want, rtol=1e-9, atol=1e-9)

        def penalty(b: Array, reported: references.Law = reported) -> float:
            return 0.5 * float(np.linalg.slogdet(references.information(reported, b, WEIGHTS))[1])

        value, slope = ours.penalty(theta)
        np.testing.assert_allclose(
            [value, ours.penalty(theta, False)[0]], penalty(theta), rtol=1e-10
        )
        np.testing.assert_allclose(slope, references.gradient(penalty, theta), atol=1e-8)


# Scores at many parameter vectors are those at each.

OUTCOMES_MANY = [
    Binary("logit"),
    Binary("probit"),
    Binary("cloglog"),
    Multinomial(3),
    Ordered(4),
    Normal(),
    Poisson(),
]


def made(outcome, configurations, offset, n=37, seed=5):
    """A likelihood of random data."""
    rng = np.random.default_rng(seed)
    kind = {Ordered: Parallel, Normal: Scaled}.get(type(outcome), Separate)
    own = rng.normal(size=n) if offset else None
    designs = tuple(kind(rng.normal(size=(n, 2)), outcome.q, own) for _ in range(configurations))
    k = getattr(outcome, "k", 0)
    if k:
        seen = Seen(rng.dirichlet(np.ones(k), 5), rng.integers(0, 5, n))
    else:
        seen = rng.poisson(2.0, n).astype(float)
    if configurations == 1:
        return RegressionLikelihood(outcome, designs, seen, rng.integers(1, 4, n).astype(float))
    return RegressionLikelihood(
        outcome,
        designs,
        seen,
        rng.integers(1, 4, n).astype(float),
        Seen(rng.dirichlet(np.ones(configurations), 6), rng.integers(0, 6, n)),
        Separate(np.column_stack([np.ones(n), rng.normal(size=n)]), configurations - 1),
        0.7,
    )


@pytest.mark.parametrize("outcome", OUTCOMES_MANY, ids=str)
@pytest.mark.parametrize(("configurations", "offset"), [(1, False), (1, True), (3, True)])
def test_each_vector_has_its_value_and_score(outcome, configurations, offset):
    likelihood = made(outcome, configurations, offset)
    thetas = np.random.default_rng(6).normal(size=(4, likelihood.size))
    values, scores = likelihood.scores_at(thetas)
    for theta, value, score in zip(thetas, values, scores, strict=True):
        there, exact, _ = likelihood.evaluate(theta)
        assert value == pytest.approx(there, rel=1e-11)
        np.testing.assert_allclose(score, exact, rtol=1e-9, atol=1e-9)
