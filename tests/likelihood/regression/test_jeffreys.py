"""The expected information of reports, and the penalty, equal sums that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from models.regression import references

import ldpstats as ldp
from ldpstats.likelihood.regression import (
    Binary,
    ExpectedInformation,
    Multinomial,
    Ordered,
    Outcome,
    Parallel,
    Predictors,
    ReportLaw,
    Separate,
)

Array = npt.NDArray[Any]

N = 40
RECTANGULAR = [[0.5, 0.2, 0.2, 0.1], [0.1, 0.6, 0.1, 0.2], [0.2, 0.2, 0.3, 0.3]]
RNG = np.random.default_rng(3)
X = np.column_stack([np.ones(N), RNG.normal(size=(N, 2))])
WEIGHTS, GROUP = RNG.uniform(0.5, 2.0, N), RNG.integers(0, 2, N)


def outcomes(k: int) -> list[tuple[Outcome, Predictors, references.Law]]:
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
def test_information_and_penalty(mechanisms: list[Any]) -> None:
    channels = tuple(one.channel().matrix() for one in mechanisms)
    group = GROUP * (len(channels) - 1)
    for outcome, design, law in outcomes(len(channels[0])):

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
