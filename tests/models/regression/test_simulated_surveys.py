"""Regressions of simulated surveys: sizes of tests, coverage of intervals, divergence, bias.

`benchmarks/regressions.py` has every setting; here are one or two of each kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from simulate import at_least, at_most, near

from benchmarks.regression.clusters import Clustered
from benchmarks.regression.predictors import Predictor
from benchmarks.regression.responses import Categories, Margins, Slope
from benchmarks.regression.surveys import ALPHA, Cell, Said, take

Replications = Callable[..., int]


def surveys(cell: Cell, R: int) -> Said:
    taken = take(cell, R, seed=1)
    assert not taken.failures, taken.failures[0]
    return taken.said


def held(said: Said, name: str) -> Any:
    """Share of the surveys whose intervals hold the truth, for each coefficient."""
    ends = said[name]
    truth = said.get("truth", 0.0)
    return np.mean((ends[..., 0] <= truth) & (truth <= ends[..., 1]), axis=0)


SMALL: list[Cell] = [
    Slope(200, 2.0, 0.8, mechanism="RAPPOR"),
    Categories(300, 3.0, "k-RR", (0.0, 0.0), (0.2, -0.2)),
    Margins(500, 2.0, 3),
    Predictor("logit", "mle", 300, 3.0),
    Predictor("private multinomial", "corrected", 500, 3.0),
    Clustered(20, 20, 2.0),
]


@pytest.mark.slow
def test_one_survey() -> None:
    """The simulations of the benchmark run."""
    for cell in SMALL:
        assert cell.row(surveys(cell, 2)), cell.name


@pytest.mark.slow
def test_a_slope(replications: Replications) -> None:
    R = replications(1000, least=60)
    said = surveys(Slope(500, 1.0), R)
    size = {name: np.mean(said[name] < ALPHA) for name in ("Wald", "LR", "score", "default")}
    assert near(size["score"], 0.05, R)
    assert at_least(size["default"], 0.03, R) and at_most(size["default"], 0.065, R)
    assert near(held(said, "interval"), 0.95, R, errors=4.5)
    assert np.isfinite(said["interval"]).all()
    assert not np.any(said["far"] & ~said["warned"])
    assert not said["far, Jeffreys"].any()
    assert size["Wald"] <= size["score"]  # conservative: why it is no default


@pytest.mark.slow
def test_five_categories(replications: Replications) -> None:
    R = replications(300, least=20)
    said = surveys(Categories(500, 2.0, "k-RR"), R)
    size = np.mean(said["default"] < ALPHA, axis=0)[1::2]
    assert at_least(size, 0.03, R) and at_most(size, 0.065, R)
    assert near(held(said, "interval"), 0.95, R, errors=4.5)
    assert not np.any(said["far"] & ~said["warned"])


ESTIMATES: list[Cell] = [  # those by corrected scores are with their estimator
    Predictor("logit", "mle", 3000, 1.0),
    Predictor("linear", "mle", 3000, 1.0),
    Predictor("private logit", "mle", 3000, 2.0),
    Margins(3000, 1.0, 3),
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", ESTIMATES, ids=lambda cell: cell.name)
def test_estimates(replications: Replications, cell: Cell) -> None:
    R = replications(400, least=30)
    said = surveys(cell, R)
    off = said["estimate"] - said["truth"]
    spread = off.std(axis=0)
    # 4 Monte Carlo errors beside the tenth of a standard deviation: there are many coefficients
    assert np.all(np.abs(off.mean(axis=0)) <= (0.1 + 4.0 / np.sqrt(R)) * spread)
    assert near(held(said, "interval"), 0.95, R)
    if isinstance(cell, Predictor):  # the reports taken for answers are far off
        assert np.abs(said["naive"] - said["truth"]).mean(axis=0).max() > 0.25


@pytest.mark.slow
def test_clusters_that_are_ignored(replications: Replications) -> None:
    """A covariate that is one for all of a cluster."""
    R = replications(400, least=100)
    said = surveys(Clustered(100, 40, 2.0, shared=1.0), R)
    assert near(held(said, "interval, Wald"), 0.95, R)
    assert not at_least(held(said, "interval, not clustered"), 0.95, R)
