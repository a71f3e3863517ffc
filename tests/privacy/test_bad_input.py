"""Malformed budgets and channels: each error names the argument."""

from __future__ import annotations

import numpy as np
import pytest
from shared.bad_values import Refusal, refuses

from ldpstats import privacy

BAD = [
    *refuses("epsilons[1]", privacy.compose, {"compose": [1.0, -1.0]}),
    *refuses("epsilons", privacy.compose, {"compose a number": 1.0}),
    *refuses("total", lambda v: privacy.split_budget(v, [1, 1]), {"split infinity": np.inf}),
    *refuses(
        "weights",
        lambda v: privacy.split_budget(1.0, v),
        {"split by nothing": [], "split by zero": [1, 0], "split by text": ["a"]},
    ),
    *refuses("Q[0]", privacy.epsilon, {"epsilon of no channel": [[0.5, 0.6], [0.5, 0.5]]}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()
