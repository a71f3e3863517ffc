"""Two answers of one respondent that are hashed in one cohort: its cohorts are strata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import ALPHA, at_most, bias, near, size
from simulated.pairs import shared_survey

import ldpstats as ldp
from ldpstats.inference.tables import independence as association

Array = npt.NDArray[Any]

pytestmark = [
    pytest.mark.filterwarnings("ignore::ldpstats.errors.IncompleteListWarning"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
    pytest.mark.usefixtures("without_goodness"),
]


# In one of these cohorts the two candidates have the same bit, in the others they do not.
COHORTS = ldp.RAPPOR(n_bits=4, n_hashes=1, n_cohorts=3, f=0.0, p=0.1, q=0.9)
PAIR = ("v0", "v3")


def shared_surveys(P: Array, n: int, R: int) -> Iterator[ldp.AssociationModel]:
    rng = np.random.default_rng([5, n])
    for _ in range(R):
        answers = np.unravel_index(rng.choice(4, size=n, p=P.ravel()), (2, 2))
        yield shared_survey(COHORTS, [PAIR, PAIR], answers, rng)


def estimates(P: Array, R: int) -> tuple[Array, Array]:
    """Inversion and `one_step` of R surveys of 5,000, shape (R, 4) both."""
    models = list(shared_surveys(P, 5000, R))
    linear = [(m.moments().estimate()[0], m.dual_moments().estimate()[0]) for m in models]
    inversion, one_step = np.array(linear).transpose(1, 0, 2)
    return inversion, one_step


def size_of_score(P: Array, R: int) -> float:
    """Of the test of `AssociationResults.test_independence`, in surveys of 2,000."""
    parts = (model.evidence.scores[0].cross_moments(0, 1) for model in shared_surveys(P, 2000, R))
    return size([association.score(part).pvalue for part in parts])


def check_shared(R: int, monkeypatch: pytest.MonkeyPatch) -> None:
    P, independent = np.array([[0.4, 0.1], [0.15, 0.35]]), np.outer([0.5, 0.5], [0.55, 0.45])
    bits = COHORTS.answer_hash.table("v", pd.Index(PAIR)).reshape(3, 2)
    assert np.sum(bits[:, 0] == bits[:, 1]) == 1
    for unbiased in estimates(P, R // 4):
        assert np.abs(bias(unbiased, P.ravel())).max() < 4
    assert near(size_of_score(independent, R), ALPHA, R)
    # Control: as if each variable had cohorts of its own.
    for module in ("cohorts", "joint"):
        monkeypatch.setattr(f"ldpstats.reports.{module}.cohort_groups", lambda *_: [])
    inversion, one_step = estimates(P, R // 4)
    assert inversion.mean(axis=0)[0] > 0.5
    assert one_step.mean(axis=0)[0] > 0.44
    assert not at_most(size_of_score(independent, R), ALPHA, R, errors=2)


@pytest.mark.slow
def test_shared_cohorts_are_strata(monkeypatch: pytest.MonkeyPatch) -> None:
    check_shared(200, monkeypatch)


@pytest.mark.slow
def test_shared_cohorts_are_strata_in_many_surveys(
    monkeypatch: pytest.MonkeyPatch, replications: Callable[..., int]
) -> None:
    check_shared(replications(1500), monkeypatch)
