"""Epsilon of a channel, and budgets of several reports."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.privacy import compose, epsilon, split_budget


def test_epsilon_of_what_may_be_a_channel() -> None:
    krr = ldp.KRR(3, epsilon=1.0)
    for given in (krr, krr.channel(), krr.channel().matrix(), krr.channel().matrix().tolist()):
        assert epsilon(given) == pytest.approx(1.0, abs=1e-12)
    assert epsilon(np.eye(2)) == np.inf


@pytest.mark.parametrize(
    ("epsilons", "total"),
    [
        ([1.0, 0.5], 1.5),
        ((1, 2), 3.0),
        ([], 0.0),
        ([0.0, 0], 0.0),
        ([1.0, np.inf], np.inf),
        ([100.0, 1e-9], 100.0 + 1e-9),  # beyond what a mechanism takes
        (np.array([1.0, 0.5], dtype=np.float32), 1.5),
        (pd.Series([1, 2]), 3.0),
    ],
)
def test_epsilons_add_up(epsilons: object, total: float) -> None:
    found = compose(epsilons)  # type: ignore[arg-type]
    assert type(found) is float and found == total


@pytest.mark.parametrize("wrong", [-1.0, np.nan, True, "1", None, 1j, 10**400, -np.inf])
def test_no_epsilon(wrong: object) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"epsilons\[1\]=.*at least 0"):
        compose([1.0, wrong])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (3.0, [1, 1, 2], (0.75, 0.75, 1.5)),
        (1, (5,), (1.0,)),
        (4.0, [1e-9, 3e-9], (1.0, 3.0)),
        (4.0, [1000, 3000], (1.0, 3.0)),
        (4.0, [1e308, 1e308], (2.0, 2.0)),
        (400.0, np.array([1, 1]), (200.0, 200.0)),
        (1e-9, [1, 1], (5e-10, 5e-10)),
    ],
)
def test_budgets_are_divided(total: float, weights: list[float], parts: tuple[float, ...]) -> None:
    found = split_budget(total, weights)
    assert found == pytest.approx(parts, rel=1e-15, abs=0.0)
    assert compose(found) == pytest.approx(total, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("wrong", [0, -1.0, np.inf, np.nan, True, "1", None, [1.0]])
def test_no_weight_and_no_total(wrong: object) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"weights\[1\]=.*share of one report"):
        split_budget(1.0, [1.0, wrong])  # type: ignore[list-item]
    with pytest.raises(ldp.InvalidArgument, match=r"total=.*positive finite"):
        split_budget(wrong, [1.0])  # type: ignore[arg-type]


def test_shares_that_vanish_are_refused() -> None:
    with pytest.raises(ldp.InvalidArgument, match="rounds to zero"):
        split_budget(1.0, [1e-300, 1e300])
    with pytest.raises(ldp.InvalidArgument, match="at least one"):
        split_budget(1.0, [])
