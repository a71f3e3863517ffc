"""Whether one channel is a garbling of another, and by how much it is not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.refusals import refuses

import ldpstats as ldp
from ldpstats.privacy import deficiency, dominates, garblings

JOBS = ("nurse", "teacher", "driver")


@pytest.mark.parametrize("k", [2, 3, 8])
def test_krr_is_ordered_by_epsilon(k):
    strong, weak = ldp.KRR(k, 1.0), ldp.KRR(k, 2.0)
    assert (
        dominates(weak, strong)
        and dominates(strong, strong)
        and dominates(weak, np.eye(k)[[0] * k])
    )
    assert not dominates(strong, weak)
    assert dominates(np.eye(k), weak) and not dominates(weak, np.eye(k))


def test_equal_channels_dominate_each_other_whatever_their_form():
    rng = np.random.default_rng(1)
    Q = rng.dirichlet(np.ones(4), 3)
    assert dominates(Q, Q)
    swapped, split = (
        Q[:, ::-1],
        np.hstack([Q[:, :1] * 0.3, Q[:, :1] * 0.7, Q[:, 1:], np.zeros((3, 1))]),
    )
    for other in (swapped, split, ldp.CustomMechanism(swapped), Q + 1e-13):
        assert dominates(Q, other) and dominates(other, Q)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_binary_randomised_response_dominates_every_binary_channel(epsilon):
    """KBR16 Theorem 2, over random channels of that epsilon; none of a larger one."""
    rng, warner = np.random.default_rng(round(10 * epsilon)), ldp.KRR(2, epsilon)
    for i in range(20):
        l = int(rng.integers(2, 6))  # noqa: E741
        odds = np.exp(
            epsilon * np.where(rng.random(l) < 0.5, rng.choice([-1, 1], l), rng.uniform(-1, 1, l))
        )
        odds[:2] = np.exp([epsilon, -epsilon])
        second = rng.dirichlet(np.ones(l))
        # weights of both extremes so that both rows sum to one
        rest = second[2:] @ (odds[2:] - 1.0)
        top, bottom = odds[0] - 1.0, 1.0 - odds[1]
        second[0], second[1] = max(-rest, 0.0) / top + bottom, max(rest, 0.0) / bottom + top
        B = np.array([second * odds, second]) / second.sum()
        assert ldp.privacy.epsilon(B) <= epsilon + 1e-12
        assert dominates(warner, B[rng.permutation(2)])
        if not i:  # negative control: with a little less privacy it does not
            assert not dominates(ldp.KRR(2, 0.999 * epsilon), B)


@pytest.mark.parametrize("seed", range(12))
def test_products_are_dominated_and_their_factors_mostly_not(seed):
    rng = np.random.default_rng(seed)
    k, a, b = rng.integers(2, 6, 3)
    A, R = rng.dirichlet(np.ones(a), k), rng.dirichlet(np.full(b, 0.3), a)
    assert dominates(A, A @ R) and deficiency(A, A @ R) == 0.0
    off = (1 - 1e-6) * (A @ R) + 1e-6 * rng.dirichlet(np.ones(b), k)
    assert deficiency(A, off) <= 1e-6  # and by brute force between bounds
    least, most = garblings._bounds(A @ R, A)
    assert 0.0 <= least <= most and most - least < 1e-9


def test_a_hair_more_than_rounding_is_a_difference():
    warner = ldp.KRR(2, 1.0).channel().matrix()
    for shift, same in ((1e-10, True), (3e-9, False)):
        B = warner + shift * np.array([[1.0, -1.0], [-1.0, 1.0]])
        assert dominates(warner, B) == same


def test_the_deficiency_is_le_cams():
    """Of binary randomised response: the difference of P(true report)."""
    for low, high in ((0.5, 1.0), (1.0, 3.0)):
        p = [np.exp(e) / (1 + np.exp(e)) for e in (low, high)]
        found = deficiency(ldp.KRR(2, low), ldp.KRR(2, high))
        assert found == pytest.approx(p[1] - p[0], abs=1e-12)
    assert deficiency([[1.0], [1.0]], np.eye(2)) == pytest.approx(0.5)


def test_better_decisions_show_that_a_channel_is_not_a_garbling():
    """Bayes risks of many problems: never smaller under a garbling, and for some under others."""
    rng = np.random.default_rng(3)
    krr, unary = ldp.KRR(3, 1.0).channel().matrix(), ldp.KRAPPOR(3, 1.0).channel().matrix()
    gains = [rng.normal(size=(3, 3)) for _ in range(300)]

    def best(Q: np.ndarray) -> np.ndarray:
        return np.array([(g @ Q).max(axis=0).sum() for g in gains])

    garbled = krr @ rng.dirichlet(np.ones(4), 3)
    assert np.all(best(krr) >= best(garbled) - 1e-12)
    assert not dominates(krr, unary) and np.any(best(krr) < best(unary))


def test_rows_are_matched_by_label():
    Q = ldp.URR(JOBS, {"nurse"}, 1.0)
    other = ldp.URR(("driver", "nurse", "teacher"), {"nurse"}, 1.0)
    assert dominates(Q, other) and dominates(other, Q)
    assert not dominates(Q.channel(), other.channel())  # by position another is sensitive
    frame = pd.DataFrame(other.channel().matrix(), index=other.categories)
    assert dominates(Q, frame) and dominates(frame, Q)
    with pytest.raises(ldp.InvalidArgument, match=r"'nurse'.*by position"):
        dominates(Q, ldp.KRR(3, 1.0))
    assert dominates(np.eye(3), ldp.KRR(3, 1.0)) and dominates(pd.DataFrame(np.eye(3)), Q)


def one(v: Any) -> bool:
    return dominates(v, np.eye(2))


BAD = [
    *refuses(
        "A",
        one,
        {
            "nothing": None,
            "a number": 1.0,
            "text": "krr",
            "a row": [0.5, 0.5],
            "nan": [[np.nan, 1.0], [0.5, 0.5]],
            "no rows": [],
            "sums": [[0.5, 0.6], [0.5, 0.5]],
            "a set": {1.0},
            "rows twice": pd.DataFrame(np.eye(2), index=["a", "a"]),
        },
    ),
    *refuses("B", lambda v: dominates(np.eye(2), v), {"three categories": np.eye(3)}),
    *refuses("B", lambda v: deficiency(np.eye(2), v), {"three": np.eye(3), "text": "x"}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    case.check()
