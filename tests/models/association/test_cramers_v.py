"""Cramer's V of fitted tables beside their test of independence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

A, B = ("a", "b", "c"), ("no", "yes")
ALPHAS = (0.2, 0.05, 0.01, 0.001)
PAIRS: dict[str, tuple[Any, Any]] = {
    "labels, 2 x 2": (ldp.KRR(B, epsilon=1.0), ldp.KRR(B, epsilon=2.0)),
    "labels": (ldp.KRR(A, epsilon=2.0), ldp.KRR(B, epsilon=2.0)),
    "bits": (ldp.KRAPPOR(A, epsilon=2.0, theta=0.5), ldp.KRAPPOR(B, epsilon=2.0, theta=0.5)),
    "some protected": (ldp.URR(A, A[:1], epsilon=2.0), ldp.KRR(B, epsilon=2.0)),
    "hashes": (ldp.OLH(A, epsilon=2.0), ldp.KRR(B, epsilon=2.0)),
    "no noise": (ldp.Observed(B), ldp.Observed(B)),
}


def answers(n: int, k: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x, y = rng.choice(k, n, p=(0.7, 0.3) if k == 2 else (0.6, 0.3, 0.1)), rng.integers(2, size=n)
    return x, np.where(rng.random(n) < 0.1 * (seed % 4), x % 2, y)


def agree(effect: ldp.Effect, p: float, alpha: float) -> bool:
    """Whether the interval is above 0 exactly where the test rejects, and holds its estimate."""
    inside = np.isnan(effect.estimate) or effect.lower <= effect.estimate <= effect.upper
    return (effect.lower > 0.0) == (p < alpha) and bool(inside or effect.ml == effect.estimate)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_interval_and_the_test_agree_about_zero(pair: str) -> None:
    first, second = PAIRS[pair]
    for seed, n in enumerate((60, 200, 800)):
        x, y = answers(n, first.k, seed)
        rng = np.random.default_rng(seed)
        sent = (
            ldp.Reports(codes, mech)
            if isinstance(mech, ldp.Observed)
            else mech.privatize(np.array(labels)[codes], rng)
            for mech, codes, labels in ((first, x, A if first.k == 3 else B), (second, y, B))
        )
        results = ldp.AssociationModel(*sent).fit()
        p = results.test_independence().pvalue
        for alpha in (*ALPHAS, *np.clip([p * (1 + 1e-9), p * (1 - 1e-9)], 1e-12, 1 - 1e-12)):
            assert agree(results.cramers_v(alpha), p, float(alpha))


def test_no_interval_from_0_to_1_stands_beside_a_clear_test() -> None:
    """On 0.2.0: [0, 1], as a margin is 3.2 standard errors from 0."""
    krr = ldp.KRR(B, epsilon=1.0)
    counts = ldp.JointCounts.from_table([[90, 32], [34, 44]], (krr, krr))
    results = ldp.AssociationModel(counts, names=("x", "y")).fit()
    effect = results.cramers_v()
    assert results.independence is not None and results.independence.pvalue < 0.001
    assert 0.3 < effect.lower < effect.estimate <= effect.upper <= 1.0
    note = ldp.associations({"x": _labels(counts, 0), "y": _labels(counts, 1)}).to_frame()["note"]
    assert "believe" not in note[0]


def _labels(counts: ldp.JointCounts, axis: int) -> ldp.Reports:
    table = counts.table()
    codes = np.repeat(np.indices(table.shape)[axis].ravel(), table.astype(int).ravel())
    return ldp.Reports(codes, counts.mechanisms[axis])


@pytest.mark.parametrize("k", [2, 3])
def test_weighted_tables_agree_with_their_own_test(k: int) -> None:
    for seed in range(4):
        x, y = answers(300, k, seed)
        labels = A if k == 3 else B
        rng = np.random.default_rng(seed)
        sheet = ldp.Questionnaire({"x": ldp.KRR(labels, epsilon=2.0), "y": ldp.KRR(B, epsilon=2.0)})
        people = {"w": rng.uniform(1, 3, 300), "u": np.arange(300) // 10}
        table = pd.DataFrame({"x": np.array(labels)[x], "y": np.array(B)[y], **people})
        survey = ldp.Survey(sheet.privatize(table, rng), sheet, weights="w", clusters="u")
        results = survey.association("x", "y")
        p = results.test_independence().pvalue
        assert all(agree(results.cramers_v(alpha), p, alpha) for alpha in ALPHAS)
