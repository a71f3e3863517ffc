"""The prior of a table from its margins: what it declares is what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument
from ldpstats.priors.base import softmax_log
from ldpstats.priors.margins import Margins, MarginsLaw


def at_ratios(law: MarginsLaw, z: Any) -> tuple[Any, Any]:
    """Density and gradient by log ratios to the last cell."""
    values, slopes = law.evaluate(softmax_log(np.insert(z, z.shape[1], 0.0, axis=1)))
    return values, slopes[:, :-1]


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (2, 3, 2)])
def test_gradients_are_those_of_the_density(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    law = MarginsLaw(tuple(rng.uniform(0.5, 5.0, size) for size in sizes), 1.3)
    z = rng.normal(size=(3, law.k - 1))
    moves = 1e-6 * np.eye(law.k - 1)
    found = [(at_ratios(law, z + move)[0] - at_ratios(law, z - move)[0]) / 2e-6 for move in moves]
    np.testing.assert_allclose(np.transpose(found), at_ratios(law, z)[1], atol=1e-6)
    slopes = law.evaluate(softmax_log(np.insert(z, law.k - 1, 0.0, axis=1)))[1]
    np.testing.assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-9)


def test_margins_have_the_declared_law_by_quadrature() -> None:
    """Moments of both margins and of the log odds ratio, and that they are independent."""
    law = MarginsLaw((np.array([3.0, 2.0]), np.array([1.5, 4.0])), 1.5)
    x = np.linspace(-12.0, 12.0, 41)
    z = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    logp = softmax_log(np.insert(z, 3, 0.0, axis=1))
    weights = np.exp(law.evaluate(logp)[0])
    weights /= weights.sum()
    p = np.exp(logp)
    first, second = p[:, 0] + p[:, 1], p[:, 0] + p[:, 2]
    odds = logp[:, 0] - logp[:, 1] - logp[:, 2] + logp[:, 3]
    for values, mean, variance in (
        (first, 0.6, 0.6 * 0.4 / 6.0),
        (second, 1.5 / 5.5, 1.5 * 4.0 / 5.5**2 / 6.5),
        (odds, 0.0, 1.5**2),
    ):
        assert weights @ values == pytest.approx(mean, abs=1e-3)
        assert weights @ (values - mean) ** 2 == pytest.approx(variance, rel=2e-3)
    assert weights @ ((first - 0.6) * odds) == pytest.approx(0.0, abs=1e-4)
    assert weights @ ((first - 0.6) * (second - 1.5 / 5.5)) == pytest.approx(0.0, abs=1e-4)


def test_draws_have_the_declared_law() -> None:
    prior = Margins(first=[3.0, 2.0], third=4.0, log_odds_sd=1.0)
    tables = prior.draw((2, 3, 2), np.random.default_rng(2), 4000)
    first = tables.sum(axis=(2, 3))[:, 0]
    assert first.mean() == pytest.approx(0.6, abs=4 * np.sqrt(0.04 / 4000))
    assert tables.sum(axis=(1, 2))[:, 0].var() == pytest.approx(0.25 / 9.0, rel=0.1)
    odds = np.log(tables[:, 0, 0, 0] * tables[:, 1, 1, 0] / tables[:, 0, 1, 0] / tables[:, 1, 0, 0])
    assert odds.std() == pytest.approx(1.0, abs=4 / np.sqrt(8000))


def test_concentrations_are_matched_by_label() -> None:
    labels = [pd.Index(["no", "yes"]), pd.Index([0, 1, 2])]
    law = Margins(first=pd.Series({"yes": 7.0, "no": 3.0})).law(labels)
    assert law.concentrations[0].tolist() == [3.0, 7.0]
    assert law.concentrations[1].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "bad", ["x", -1.0, 0.0, np.nan, np.inf, True, [1.0, -2.0], object(), {1, 2}]
)
def test_what_is_no_law_of_a_margin_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument):
        Margins(first=bad)


@pytest.mark.parametrize("bad", [None, "x", 0.0, -1.0, np.nan, np.inf, True, [1.0]])
def test_what_is_no_standard_deviation_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="log_odds_sd"):
        Margins(log_odds_sd=bad)
    with pytest.raises(InvalidArgument, match="sd"):
        ldp.priors.Pooling(sd=bad)


def test_laws_of_other_margins_than_the_table_has_are_refused() -> None:
    two = [pd.RangeIndex(2), pd.RangeIndex(2)]
    with pytest.raises(InvalidArgument, match="third"):
        Margins(third=2.0).law(two)
    with pytest.raises(InvalidArgument, match="4 variables"):
        Margins().law([*two, *two])
    with pytest.raises(InvalidArgument):
        Margins(first=[1.0, 2.0, 3.0]).law(two)
