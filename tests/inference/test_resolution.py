"""Whether a survey says anything of its shares."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats.inference.resolution import is_fine, reports_needed, spread, stands_out


@pytest.mark.parametrize("k", [2, 3, 10, 100])
def test_the_spread_is_that_of_the_simplex(k: int) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(k), 20_000)
    assert shares.var(axis=0).sum() == pytest.approx(spread(k), rel=0.03)
    guess = np.square(shares - 1 / k).sum(axis=1)  # loss of the guess that all are equal
    assert guess.mean() == pytest.approx(spread(k), rel=0.03)


def test_one_share_alone_is_uniform() -> None:
    assert spread(1) == pytest.approx(1 / 12)
    assert spread(2) == pytest.approx(2 / 12)  # both shares of two


@pytest.mark.parametrize("k", [1, 2, 7])
def test_it_ends_where_the_needed_reports_begin(k: int) -> None:
    variances = np.linspace(0.5, 1.5, k)
    needed = reports_needed(variances, 100)
    assert not is_fine(variances) and needed > 100
    assert is_fine(variances * 100 / (needed * (1 + 1e-9)))
    assert not is_fine(variances * 100 / (needed * (1 - 1e-9)))


def test_categories_that_stand_out() -> None:
    assert stands_out([0.012, 0.5, 0.5, 0.5]) and not stands_out([0.013, 0.5, 0.5, 0.5])
