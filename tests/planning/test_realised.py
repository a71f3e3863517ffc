"""Losses of one estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import InvalidArgument


def test_the_losses_by_hand() -> None:
    q, p = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.75, 0.0])
    found = planning.realised_losses(q, p)
    assert found["l1"] == 1.0 and found["total_variation"] == 0.5
    assert found["squared_l2"] == 0.375 and found["l2"] == pytest.approx(np.sqrt(0.375))
    assert found["hellinger"] == pytest.approx(np.sqrt(1 - np.sqrt(q * p).sum()))
    assert planning.realised_losses([1.0, 0.0], [0.0, 1.0])["hellinger"] == 1.0
    assert planning.realised_losses(p, p).max() == 0.0
    close = planning.realised_losses([0.5 + 1e-9, 0.5 - 1e-9], [0.5, 0.5])["hellinger"]
    assert close == pytest.approx(np.sqrt(0.5) * 1e-9, rel=1e-4)


def test_series_go_by_label_and_others_by_position() -> None:
    truth = pd.Series({"a": 0.7, "b": 0.3})
    estimate = pd.Series({"b": 0.4, "a": 0.6})
    assert planning.realised_losses(estimate, truth)["l1"] == pytest.approx(0.2)
    assert planning.realised_losses(estimate.to_numpy(), truth)["l1"] == pytest.approx(0.6)


def test_estimates_outside_the_simplex_have_no_hellinger_distance() -> None:
    for estimate in ([1.1, -0.1], [0.5, 0.4]):
        found = planning.realised_losses(estimate, [0.5, 0.5])
        assert np.isnan(found["hellinger"]) and found.drop("hellinger").notna().all()
    assert np.isnan(planning.realised_losses([0.5, 0.5], [0.5, 0.4])["hellinger"])


def test_the_mean_of_the_squared_loss_is_the_total() -> None:
    krr, p, rng = ldp.KRR(4, 1.0), [0.4, 0.3, 0.2, 0.1], np.random.default_rng(3)
    problems = (krr.moments(krr.draw(p, 300, rng)) for _ in range(400))
    losses = [planning.realised_losses(q.estimate()[0], p)["squared_l2"] for q in problems]
    total = planning.precision(krr, p, 300).total
    assert abs(np.mean(losses) - total) < 4 * np.std(losses) / 20
    assert abs(np.mean(losses) - 1.4 * total) > 4 * np.std(losses) / 20  # it would be seen


@pytest.mark.parametrize(
    ("estimate", "truth", "name"),
    [
        ([0.5, 0.5], [0.5, 0.4, 0.1], "estimate"),
        ([0.5, np.nan], [0.5, 0.5], "estimate"),
        ([0.5, np.inf], [0.5, 0.5], "estimate"),
        (["a", "b"], [0.5, 0.5], "estimate"),
        (None, [0.5, 0.5], "estimate"),
        ({0.5, 0.4}, [0.5, 0.5], "estimate"),
        ([0.5, 0.5], [0.7, 0.7], "truth"),
        ([0.5, 0.5], [1.5, -0.5], "truth"),
        ([0.5, 0.5], None, "truth"),
        ([], [], "truth"),
        ([0.5, 0.5], "ab", "truth"),
        ([[0.5, 0.5]], [[0.5, 0.5]], "truth"),
        (pd.Series({"a": 0.5, "b": 0.5}), pd.Series({"a": 0.5, "c": 0.5}), "estimate"),
        (pd.Series({"a": 0.5}), pd.Series([0.5, 0.5], ["a", "a"]), "truth"),
    ],
)
def test_bad_arguments_are_named(estimate: Any, truth: Any, name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        planning.realised_losses(estimate, truth)
    assert caught.value.name == name
