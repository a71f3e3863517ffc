"""Complex samples, simulated: the survey's numbers, coverage, design effects, sizes of tests."""

from collections.abc import Callable

import numpy as np
import pytest
from simulate import at_least, at_most, near

import ldpstats as ldp
from benchmarks.complex_samples import confirm
from benchmarks.samples.asking import MECHANISMS, K, Question
from benchmarks.samples.coverage import coverage, effects, simulate
from benchmarks.samples.population import DESIGNS, GROUPS, WithReplacement, population
from benchmarks.samples.sizes import TESTS, rejections

Replications = Callable[..., int]


@pytest.fixture(scope="module")
def people():
    """Smaller than that of the benchmark, and as uneven."""
    return population(20_000, 20, 400)


def question(kind: str, epsilon: float) -> Question:
    return Question(MECHANISMS[kind](K, epsilon))


@pytest.mark.parametrize(
    "design, kind", [("one stage", "k-RR"), ("two stages", "RAPPOR"), ("with replacement", "URR")]
)
def test_a_survey_says_what_the_arrays_say(people, design, kind):
    confirm(DESIGNS[design](people), question(kind, 1.0), 1, [1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "design, kind, epsilon", [("one stage", "k-RR", 2.0), ("two stages", "RAPPOR", 3.0)]
)
def test_intervals_cover(people, replications, design, kind, epsilon):
    R, asked = replications(2000, least=500), question(kind, epsilon)
    said = simulate(DESIGNS[design](people), asked, R, [2])
    held = coverage(said, people, asked)
    controls = {name: held.pop(name) for name in list(held) if "naive" in name or name[0] == "u"}
    for name, cells in held.items():
        assert near(cells, 0.95, R, errors=4.5), name
        assert near(cells.mean(), 0.95, R, errors=2.5), name  # cells are many, and correlated
    assert not at_least(controls.pop("unweighted").mean(), 0.95, R)
    if design == "one stage":  # much is corrected, and much of it noise
        for name, cells in controls.items():
            assert not at_least(cells.mean(), 0.95, R), name
    for name, (_, _, apart) in effects(said, people).items():
        assert np.abs(apart).max() < 4.5, name


@pytest.mark.slow
def test_rao_scott_tests_keep_their_size(people, replications):
    R = replications(2000, least=400)
    design = WithReplacement(people, draws=3, persons=20)
    second = Question(ldp.KRR(GROUPS.size, 1.0))
    found = rejections(design, (question("URR", 1.0), second), R, [3])
    for name, shares in found.items():
        size = dict(zip(TESTS, shares, strict=True))
        assert near(size["unbiased"], 0.05, R), name
        assert at_most(size["second"], 0.05, R), name
    assert not at_most(dict(zip(TESTS, found["homogeneity"], strict=True))["wald"], 0.05, R)
