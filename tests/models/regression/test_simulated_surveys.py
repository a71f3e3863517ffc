"""Simulated surveys: sizes of tests, coverage of intervals, bias; stored ranks of posteriors.

`benchmarks/regressions.py` has every setting; here are one or two of each kind.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from simulate import at_least, at_most, near

from benchmarks.posteriors.regressions import CONTROLS, RANKS, SETTINGS, STORED, pvalues, ranks
from benchmarks.regression.clusters import Clustered
from benchmarks.regression.predictors import Predictor
from benchmarks.regression.responses import Categories, Margins, Slope
from benchmarks.regression.surveys import ALPHA, Cell, Said, take

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


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
def test_one_survey():
    """The simulations of the benchmark run."""
    for cell in SMALL:
        assert cell.row(surveys(cell, 2)), cell.name


@pytest.mark.slow
def test_a_slope(replications):
    R = replications(300, least=30)
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
def test_five_categories(replications):
    R = replications(120, least=12)
    said = surveys(Categories(500, 2.0, "k-RR"), R)
    size = np.mean(said["default"] < ALPHA, axis=0)[1::2]
    assert at_least(size, 0.03, R) and at_most(size, 0.065, R)
    assert near(held(said, "interval"), 0.95, R, errors=4.5)
    assert not np.any(said["far"] & ~said["warned"])


ESTIMATES: list[Cell] = [  # those by corrected scores are with their estimator
    Predictor("logit", "mle", 1000, 1.0),
    Predictor("private logit", "mle", 1000, 2.0),
    Predictor("linear", "mle", 1000, 1.0),
    Margins(3000, 1.0, 3),
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", ESTIMATES, ids=lambda cell: cell.name)
def test_estimates(replications, cell):
    R = replications(120, least=12)
    said = surveys(cell, R)
    off = said["estimate"] - said["truth"]
    spread = off.std(axis=0)
    # 4 Monte Carlo errors beside the tenth of a standard deviation: there are many coefficients
    assert np.all(np.abs(off.mean(axis=0)) <= (0.1 + 4.0 / np.sqrt(R)) * spread)
    assert near(held(said, "interval"), 0.95, R)
    if isinstance(cell, Predictor):  # the reports taken for answers are far off
        assert np.abs(said["naive"] - said["truth"]).mean(axis=0).max() > 0.25


@pytest.mark.slow
def test_clusters_that_are_ignored(replications):
    """A covariate that is one for all of a cluster."""
    R = replications(400, least=100)
    said = surveys(Clustered(100, 40, 2.0, shared=1.0), R)
    assert near(held(said, "interval, Wald"), 0.95, R)
    assert not at_least(held(said, "interval, not clustered"), 0.95, R)


SURVEYS = 250  # at least, of every setting


@pytest.fixture(scope="module")
def stored():
    return pd.read_csv(STORED)


def test_stored_ranks_are_uniform(stored):
    found = pvalues(stored)
    right = found[~found["setting"].isin(CONTROLS)]
    assert set(right["setting"]) == set(SETTINGS) - set(CONTROLS)
    assert right["pvalue"].min() > 0.05 / len(right)
    assert right.loc[right["setting"] == "logit", "surveys"].eq(1000).all()
    assert right["surveys"].ge(SURVEYS).all()


def test_the_controls_are_seen(stored):
    """Who takes reports for answers, has another prior, or takes nobody to cheat."""
    found = pvalues(stored).set_index(["setting", "coefficient"])
    assert found["surveys"].min() >= 100
    assert (found.loc["naive", "pvalue"] < 1e-6).all()
    assert found.loc[("other prior", "age"), "pvalue"] < 1e-6
    assert found.loc[("honest", "const"), "pvalue"] < 1e-6


def near_stored(setting: str, number: int, stored: pd.DataFrame) -> bool:
    """Whether a survey has the stored ranks, but for the luck of other draws."""
    own = stored[(stored["setting"] == setting) & (stored["survey"] == number)]
    again = ranks(setting, number)
    for name, rank in zip(own["coefficient"], own["rank"], strict=True):
        share = (rank + 0.5) / RANKS
        # two sets of 63 draws, worth a third of that at least
        luck = np.sqrt(2.0 * share * (1.0 - share) * 3.0 * RANKS) + 1.0
        if abs(again[name] - rank) > 4.0 * luck:
            return False
    return True


def test_a_stored_survey_comes_out_again(stored):
    assert near_stored("logit", 7, stored)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [one for one in SETTINGS if one not in CONTROLS])
def test_other_surveys_are_calibrated(setting, replications):
    """New surveys, beside the stored ones: the mean rank is that of uniform ones."""
    R = replications(40, 8)
    found = pd.DataFrame([ranks(setting, 100_000 + i) for i in range(R)])
    error = np.sqrt((RANKS**2 - 1) / 12.0 / R)
    assert np.all(np.abs(found.mean() - (RANKS - 1) / 2.0) < 4.0 * error)
