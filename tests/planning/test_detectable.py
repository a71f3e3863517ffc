"""The smallest effect that a survey finds: the inverse of its power."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from planning.test_power import GOALS, JOBS, P3, T22, WARNER, X

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import InvalidArgument


def with_truth(goal: Any, found: planning.Detectable) -> Any:
    """The goal whose truth is the one that was found."""
    if isinstance(goal, planning.IndependenceTest):
        return planning.IndependenceTest(found.truth)
    if isinstance(goal, planning.CoefficientTest):
        return replace(goal, params=found.truth.to_numpy())
    truth = found.truth.to_numpy() if isinstance(found.truth, pd.DataFrame) else found.truth
    return replace(goal, p=truth)


@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("n", [4000, 400_000])
def test_it_is_the_inverse_of_power(name, n):
    mechanism, goal, _ = GOALS[name]
    found = planning.minimum_detectable(mechanism, goal, n, power=0.85, design_effect=1.4)
    there = planning.power(mechanism, with_truth(goal, found), n, design_effect=1.4)
    assert there == pytest.approx(0.85, abs=1e-6)
    smaller = goal.ray(mechanism)
    test = smaller.test(0.98 * found.multiple, 0.05)
    assert float(test.power(np.array([n / 1.4]))[0]) < 0.85
    assert smaller.effect(found.multiple) == found.value == float(found)


def test_effects_in_their_own_units():
    krr, n = ldp.KRR(JOBS, 1.0), 20_000
    value = planning.minimum_detectable(krr, planning.ValueTest(P3, "cook", 0.25), n)
    assert value.value == pytest.approx(value.truth["cook"], abs=1e-12) and value.value > 0.25
    assert value.truth["nurse"] / value.truth["driver"] == pytest.approx(2.5)
    below = planning.minimum_detectable(krr, planning.ValueTest(P3, "cook", 0.35), n)
    assert below.value < 0.35
    share = planning.minimum_detectable(krr, planning.PresenceTest(P3, "driver"), n)
    assert share.value == pytest.approx(share.truth["driver"], abs=1e-12)
    rows = [P3, (0.4, 0.3, 0.3)]
    one = planning.minimum_detectable(krr, planning.GroupsTest(rows, category="nurse"), n)
    assert one.value == pytest.approx(one.truth["nurse"].iloc[0] - one.truth["nurse"].iloc[1])
    both = planning.minimum_detectable(krr, planning.GroupsTest(rows), n)
    chi2 = sum(0.5 * ((row - both.truth.mean()) ** 2 / both.truth.mean()).sum()
               for _, row in both.truth.iterrows())  # fmt: skip
    assert both.value == pytest.approx(np.sqrt(chi2))
    two = ldp.KRR(2, 1.0)
    table = planning.minimum_detectable((two, two), planning.IndependenceTest(T22), n)
    assert table.value == pytest.approx(4.0 * table.truth.iloc[0, 0] - 1.0)  # phi of a 2 x 2 table
    slope = planning.minimum_detectable(WARNER, planning.CoefficientTest([-0.5, -2.0], X, "age"), n)
    assert -2.0 < slope.value == slope.truth.iloc[1] < 0.0
    assert "coefficient of 'age'" in str(slope)


def test_the_summary_is_in_sentences():
    goal = planning.PresenceTest(P3, "driver")
    found = planning.minimum_detectable(ldp.KRR(JOBS, 1.0), goal, 5000, design_effect=2.0)
    text = found.summary()
    assert "5000 respondents find with probability 0.8" in text
    assert "The design effect is 2" in text and "driver" in text
    with pytest.raises(AttributeError):
        found.value = 0.0


@pytest.mark.parametrize("name", ["value", "presence", "groups", "category", "independence"])
def test_too_few_respondents_are_told_how_many(name):
    mechanism, goal, null = GOALS[name]
    with pytest.raises(InvalidArgument, match=r"n=2: no effect has power 0\.8.*needs n = \d+") as e:
        planning.minimum_detectable(mechanism, goal, 2)
    n = int(str(e.value).rsplit(" ", 1)[1])
    assert planning.minimum_detectable(mechanism, goal, n).power == 0.8
    with pytest.raises(InvalidArgument, match="no effect has power"):
        planning.minimum_detectable(mechanism, goal, n - 1)
    with pytest.raises(InvalidArgument, match="goal="):
        planning.minimum_detectable(mechanism, null, 1000)


def test_a_coefficient_that_is_too_large_to_see():
    goal = planning.CoefficientTest([-0.5, 0.5], X, "age")
    with pytest.raises(InvalidArgument, match="no effect has power"):
        planning.minimum_detectable(ldp.Warner(epsilon=0.1), goal, 20)
