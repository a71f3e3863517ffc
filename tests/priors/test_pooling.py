"""The hyperprior of partial pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldpstats.errors import InvalidArgument
from ldpstats.priors import Dirichlet, Pooling


@pytest.mark.parametrize("df", [None, 3.0])
def test_the_slope_is_that_of_the_density(df: float | None) -> None:
    prior, logs = Pooling(sd=0.7, df=df), np.array([-3.0, -0.5, 1.0])
    ahead, behind = (prior.log_density(np.exp(logs + move))[0] for move in (1e-6, -1e-6))
    np.testing.assert_allclose(
        (ahead - behind) / 2e-6, prior.log_density(np.exp(logs))[1], atol=1e-6
    )


def test_draws_vary_between_groups_as_declared() -> None:
    sd, common, groups = Pooling(sd=0.5, df=4.0).draw(30, 4, np.random.default_rng(1), 4000)
    assert common.shape == (4000, 4) and groups.shape == (4000, 30, 4)
    ratios = np.log(groups[:, :, 0] / groups[:, :, 2])
    spread = ratios.std(axis=1, ddof=1) / sd
    assert (spread**2).mean() == pytest.approx(1.0, abs=4 * np.sqrt(2 / 29 / 4000))
    away = (ratios.mean(axis=1) - np.log(common[:, 0] / common[:, 2])) / sd
    assert abs(away.mean()) < 4 / np.sqrt(30 * 4000)
    assert np.median(sd) == pytest.approx(0.5 * 0.741, rel=0.08)  # of a half-t law, 4 df


@pytest.mark.parametrize("bad", [0.5, np.nan, -1.0, "x", True, [3.0]])
def test_what_are_no_degrees_of_freedom_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="df"):
        Pooling(df=bad)


@pytest.mark.parametrize("bad", ["flat", 1.0, Pooling(), Dirichlet, [1.0, 2.0]])
def test_what_is_no_prior_of_frequencies_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="common"):
        Pooling(common=bad)


def test_its_representation_evaluates_to_it() -> None:
    for prior in (Pooling(), Pooling(sd=0.5, df=3.0, common=Dirichlet(2.0))):
        again = eval(repr(prior), {"Pooling": Pooling, "Dirichlet": Dirichlet})
        assert repr(again) == repr(prior)
    assert repr(Pooling()) == "Pooling(sd=1.0, common=Dirichlet(1.0))"
