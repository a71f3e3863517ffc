"""Selection among candidates by the Lasso, in simulated surveys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from simulate import ALPHA, at_most, repeat
from simulated.candidates import zipf

import ldpstats as ldp

Array = npt.NDArray[Any]

pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]


def check_lasso(mechanism: Any, p: Array, n: int, R: int, least: float, seed: int) -> None:
    """Errors over new hashes each time, and detections next to the number expected of inversion."""
    rng, present = np.random.default_rng(seed), int((p > 0).sum())

    def survey(r: int) -> dict[str, Any]:
        names = [f"{seed}/{r}/{i}" for i in range(p.size)]
        model = ldp.FrequencyModel(mechanism.draw(p, n, rng, names), candidates=names)
        detected = model.fit("lasso").detected()
        true = detected.isin(names[:present])
        return {"false": not true.all(), "true": true.sum()}

    found = repeat(R, survey)
    assert at_most(found["false"].mean(), ALPHA, R)
    assert found["true"].mean() > least


def test_lasso_of_a_small_list() -> None:
    # inversion detects 16.4 on average
    check_lasso(ldp.ORR(64, 32, epsilon=2.0), zipf(20, 180), 10**5, R=60, least=15.5, seed=16)


@pytest.mark.slow
@pytest.mark.parametrize(("absent", "least"), [(450, 20.5), (5000, 17.5)])
def test_lasso(absent: int, least: float, replications: Callable[..., int]) -> None:
    # inversion detects 21.5 among 500
    mechanism = ldp.RAPPOR(128, 2, 64, f=0.5, p=0.5, q=0.75)
    check_lasso(mechanism, zipf(50, absent), 10**6, replications(150, least=75), least, seed=17)
