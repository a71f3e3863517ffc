"""Sample sizes: the inverse of the precision, to the last respondent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.word_laws import names
from surveys import rectangular

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import InvalidArgument

MOST = 2**63 - 1
MECHANISMS: dict[str, ldp.Mechanism] = {
    "krr": ldp.KRR(5, 1.0),
    "private": ldp.KRAPPOR(5, 0.01),
    "oue": ldp.KRAPPOR(5, 3.0, theta=0.5),
    "urr": ldp.URR(5, [1, 3], 0.7),
    "rectangular": rectangular(5, 2.0),
    "orr": ldp.ORR(4, 6, epsilon=1.5),
    "observed": ldp.Observed(5),
}


def value(found: planning.Precision, kind: str, category: Any, alpha: float) -> float:
    values = {"se": found.se, "width": found.width(alpha), "relative": found.relative}[kind]
    return float(values.max() if category is None else values[category])


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_is_the_inverse_of_precision(name: str) -> None:
    mechanism, rng = MECHANISMS[name], np.random.default_rng(5)
    among = names(5) if mechanism.is_open else None
    for i in range(30):
        p = rng.dirichlet(np.ones(5))
        kind = ("se", "width", "relative")[i % 3]
        category = None if i % 2 else mechanism.labels(among)[i % 5]
        most = 0.5 if kind == "relative" else -0.31
        target, deff = 10 ** rng.uniform(-6, most), 10 ** rng.uniform(-1, 1)
        alpha = rng.uniform(0.001, 0.5)
        how: dict[str, Any] = {"design_effect": deff, "candidates": among}
        given: dict[str, Any] = {kind: target, "category": category, "alpha": alpha}
        n = planning.sample_size(mechanism, p, **given, **how)
        assert isinstance(n, int) and n >= 1
        found = planning.precision(mechanism, p, n, **how)
        assert value(found, kind, category, alpha) <= target
        if n > 1:
            fewer = planning.precision(mechanism, p, n - 1, **how)
            assert value(fewer, kind, category, alpha) > target
        # what n respondents reach needs no more than n
        given[kind] = value(found, kind, category, alpha)
        assert planning.sample_size(mechanism, p, **given, **how) <= n


@pytest.mark.parametrize("se", [1e-3, 2.2e-9, 1.1e-9])
def test_huge_numbers_are_exact_too(se: float) -> None:
    """Beyond 2**53 neighbouring numbers of respondents round to one standard error."""
    krr = ldp.KRR(3, 1.0)
    n = planning.sample_size(krr, se=se)
    assert planning.precision(krr, None, n).se.max() <= se
    assert planning.precision(krr, None, n - 1).se.max() > se
    assert n < MOST


def test_simple_cases_by_hand() -> None:
    asked = ldp.Observed(("no", "yes"))
    assert planning.sample_size(asked, [0.5, 0.5], se=0.05) == 100
    assert planning.sample_size(asked, [0.5, 0.5], se=0.05, design_effect=1.5) == 150
    assert planning.sample_size(asked, [0.9, 0.1], relative=0.1, category="yes") == 900
    assert planning.sample_size(asked, [0.5, 0.5], width=0.1) == 385  # 1.96^2 / (4 .05^2) = 384.1
    assert planning.sample_size(asked, [0.9, 0.1], se=0.4) == 1
    assert planning.sample_size(asked, [1.0, 0.0], se=1e-9) == 1  # nothing varies
    by_label = pd.Series({"yes": 0.1, "no": 0.9})
    assert planning.sample_size(asked, by_label, relative=0.1, category="yes") == 900
    assert planning.sample_size(asked, by_label, relative=0.1, category="no") == 12


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"se": 1.5}, "below 0.5: .*1.5 percentage points are se=0.015$"),
        ({"se": 0.5}, "below 0.5: .*se=0.005$"),
        ({"width": 3}, "below 1: .*3 percentage points are width=0.03$"),
        ({"width": 1e9}, r"below 1: shares lie in \[0, 1\]$"),
    ],
)
def test_percentage_points_are_no_shares(given: dict[str, Any], remedy: str) -> None:
    with pytest.raises(InvalidArgument, match=remedy):
        planning.sample_size(ldp.KRR(3, 1.0), **given)


def test_a_mapping_is_a_series_by_label() -> None:
    warner, law = ldp.Warner(epsilon=1.0), {"yes": 0.05, "no": 0.95}
    in_order, series = [0.95, 0.05], pd.Series(law)
    channel = planning.design_channel(warner.categories, 1.0, prior=in_order)
    for given in (law, series):
        found = planning.precision(warner, given, 1000)
        assert found.p.to_dict() == {"no": 0.95, "yes": 0.05}
        for ask in (
            lambda p: planning.sample_size(warner, p, relative=0.1, category="yes"),
            lambda p: planning.compare([warner], p, 1000)["effective_share"].iloc[0],
            lambda p: planning.recommend(warner.categories, 1.0, {"yes": 1}, p).table["loss"][0],
        ):
            assert ask(given) == ask(in_order)
        other = planning.design_channel(warner.categories, 1.0, prior=given)
        assert other.loss == channel.loss
        goal = planning.ValueTest(given, "yes", 0.1)
        same = planning.ValueTest(in_order, "yes", 0.1)
        assert planning.power(warner, goal, 900) == planning.power(warner, same, 900)
    for bad in ({"yes": 0.05, "nope": 0.95}, {}, {"yes": 1.0}, {("yes", 1): 0.05, "no": 0.95}):
        with pytest.raises(InvalidArgument, match=r"^p=.*as a mapping.*'no', 'yes'"):
            planning.precision(warner, bad, 1000)
    with pytest.raises(InvalidArgument, match=r"^p="):
        planning.precision(warner, {"yes": "x", "no": 0.5}, 1000)


def test_the_worst_category_decides() -> None:
    urr, p = ldp.URR(("nurse", "cook", "none"), ["nurse"], 1.0), [0.2, 0.3, 0.5]
    each = [planning.sample_size(urr, p, se=0.01, category=c) for c in urr.categories]
    assert planning.sample_size(urr, p, se=0.01) == max(each) > min(each)
    uniform = planning.sample_size(urr, se=0.01)
    assert uniform == planning.sample_size(urr, [1 / 3] * 3, se=0.01)


def test_it_is_the_inverse_of_power_too() -> None:
    goal = planning.ValueTest([0.3, 0.7], category=0, value=0.25)
    krr = ldp.KRR(2, 2.0)
    how: dict[str, Any] = {"alpha": 0.01, "design_effect": 1.5}
    n = planning.sample_size(krr, goal=goal, power=0.9, **how)
    assert planning.power(krr, goal, n, **how) >= 0.9 > planning.power(krr, goal, n - 1, **how)
    assert planning.sample_size(krr, goal=goal) == planning.sample_size(krr, goal=goal, power=0.8)


BAD: dict[str, list[Any]] = {
    "goal": [{"goal": "total"}],
    "se": [
        *({"goal": planning.ValueTest([0.3, 0.4, 0.3], 0, 0.2), "se": 0.1}, {}),
        *({"se": 0.1, "width": 0.1}, {"se": 0.0}, {"se": -0.1}, {"se": True}, {"se": "0.1"}),
    ],
    "p": [
        {"goal": planning.ValueTest([0.3, 0.4, 0.3], 0, 0.2), "p": [0.3, 0.4, 0.3]},
        *({"relative": 0.1, "p": [1, 0, 0]}, {"se": 0.1, "p": {0.5, 0.3, 0.2}}),
        {"se": 0.1, "p": pd.Series({"a": 0.5, "b": 0.3, "c": 0.2})},
    ],
    "power": [
        {"goal": planning.ValueTest([0.3, 0.4, 0.3], 0, 0.2), "power": 2},
        {"se": 0.1, "power": 0.8},
    ],
    "width": [{"width": np.nan}],
    "relative": [{"relative": np.inf}],
    "category": [{"se": 0.1, "category": "x"}, {"se": 0.1, "category": 1.5}],
    "alpha": [{"se": 0.1, "alpha": 0}],
    "design_effect": [{"se": 0.1, "design_effect": 0}],
}


@pytest.mark.parametrize(
    ("given", "name"), [(one, name) for name, several in BAD.items() for one in several]
)
def test_bad_arguments_are_named(given: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        planning.sample_size(ldp.KRR(3, 1.0), **given)
    assert caught.value.name == name
