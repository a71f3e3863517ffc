"""Joint tables of sensitive answers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from grid import packed, patterns
from shared.sensitive_surveys import dense, every_report

import ldpstats as ldp
from ldpstats.mechanisms import lump


def joint_survey(first: Any, second: Any, n: int, seed: int) -> tuple[ldp.Reports, ldp.Reports]:
    """Reports on two variables of which the second follows the first half of the time."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, first.k, n)
    y = np.where(rng.random(n) < 0.5, x % second.k, rng.integers(0, second.k, n))
    return (
        first.privatize(np.asarray(first.categories)[x], rng),
        second.privatize(np.asarray(second.categories)[y], rng),
    )


ABC = ("a", "b", "c")
JOINT = {
    "urr": ldp.URR(ABC, ["b", "c"], 1.5),
    "urr-levels": ldp.URR(ABC, epsilon={"b": 1.0, "c": 2.0}),
    "urap": ldp.URAP(ABC, ["a", "c"], 1.5),
    "urap-none": ldp.URAP(ABC, [], 1.5),
    "krr": ldp.KRR(4, 1.5),
    "krappor": ldp.KRAPPOR(4, 1.5),
}
PAIRS = [
    ("urr", "krr"),
    ("urr", "urr-levels"),
    ("urap", "krr"),
    ("urap", "krappor"),
    ("urap", "urap"),
    ("urap-none", "urap"),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_joint_likelihood_is_that_of_the_matrices(a: str, b: str) -> None:
    pair = joint_survey(JOINT[a], JOINT[b], 1500, seed=15)
    one, two = ldp.AssociationModel(*pair), ldp.AssociationModel(*map(dense, pair))
    for name in ("mle", "em"):
        x, y = one.fit(name), two.fit(name)
        np.testing.assert_allclose(x.params, y.params, atol=1e-3 if name == "em" else 1e-6)
    x, y = one.fit(), two.fit()
    for method in ("score", "lr"):
        p, q = (m.test_independence(r, method) for m, r in ((one, x), (two, y)))
        assert p.statistic == pytest.approx(q.statistic, rel=1e-5)
        assert p.df == q.df == 2 * (pair[1].mechanism.k - 1) and p.pvalue < 1e-3
    labels = not (JOINT[a].n_bits or JOINT[b].n_bits)
    for name in ("inversion", "moments-gls", "one_step", "projected"):
        # bits are used one by one in linear estimates, so that only labels give the same ones
        found, want = one.fit(name).params, two.fit(name).params
        np.testing.assert_allclose(found, want, atol=1e-9 if labels else 0.12)
    if labels:
        p, q = (m.test_independence(r, "pearson") for m, r in ((one, x), (two, y)))
        assert p.statistic == pytest.approx(q.statistic, rel=1e-12)
    else:
        with pytest.raises(ldp.NotAvailable, match="score"):
            one.test_independence(x, "pearson")
    margins = x.margins()
    assert [len(frame) for frame in margins.values()] == [JOINT[a].k, JOINT[b].k]
    again = type(x).from_dict(json.loads(json.dumps(x.to_dict())))
    np.testing.assert_array_equal(again.params, x.params)
    assert "URR" in str(x.summary()) or "URAP" in str(x.summary())


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_joint_linear_estimates_are_unbiased(a: str, b: str) -> None:
    # of every pair of reports, weighted by its law: exact
    first, second = JOINT[a], JOINT[b]
    laws = []
    for m in (first, second):
        if isinstance(m, ldp.URAP):
            laws.append(every_report(m))
        elif m.n_bits:
            laws.append((ldp.Reports(packed(patterns(m.n_bits)), m), m.channel().matrix()))
        else:
            laws.append((ldp.Reports(np.arange(m.n_outputs), m), m.channel().matrix()))
    rng = np.random.default_rng(16)
    P = rng.dirichlet(np.ones(first.k * second.k)).reshape(first.k, second.k)
    n = np.rint(1e12 * (laws[0][1].T @ P @ laws[1][1])).astype(np.int64)
    at = np.indices(n.shape).reshape(2, -1)
    parts = [ldp.Reports(law[0].y[i], law[0].mechanism) for law, i in zip(laws, at, strict=True)]
    counts = ldp.JointCounts(parts, n.reshape(-1))
    for name in ("inversion", "moments-gls", "one_step", "mle"):
        found = ldp.AssociationModel(counts).fit(name).params
        np.testing.assert_allclose(np.asarray(found).reshape(P.shape), P, atol=2e-5)


def test_joint_reports_without_association() -> None:
    # negative control of the tests above, and their size: 40 surveys, standard error 0.034
    rng, pvalues = np.random.default_rng(17), []
    for _ in range(40):
        x, y = rng.choice(ABC, (2, 400))
        pair = JOINT["urap"].privatize(x, rng), JOINT["urr"].privatize(y, rng)
        model = ldp.AssociationModel(*pair)
        pvalues.append(model.test_independence(model.fit("one_step"), "score").pvalue)
    assert (np.array(pvalues) < 0.05).mean() < 0.05 + 4 * 0.034


def test_other_in_a_joint_table() -> None:
    urr, krr = JOINT["urr"], JOINT["krr"]
    pair = joint_survey(urr, krr, 1500, seed=18)
    exact = ldp.AssociationModel(*pair, candidates=[["a"], None], other=True).fit()
    lumped = lump(pair[0], ["a"])
    same = ldp.AssociationModel(lumped, pair[1]).fit()
    np.testing.assert_allclose(exact.params, same.params, atol=1e-12)
    with pytest.raises(ldp.InvalidArgument, match="lumps exactly"):
        ldp.AssociationModel(*pair, candidates=[["a"], None], other="product")
    bits = joint_survey(JOINT["urap"], krr, 100, seed=18)
    with pytest.raises(ldp.NotAvailable, match="lump"):
        ldp.AssociationModel(*bits, candidates=[["a"], None], other=True)
