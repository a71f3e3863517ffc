"""Malformed questions about losses and designs: each error names the argument."""

from __future__ import annotations

import pytest
from shared.bad_values import Refusal, refuses

from ldpstats import planning

BAD = [
    *refuses("p", lambda v: planning.krr_l2(v, 1.0, 100), {"loss of no law": [0.5, 0.6]}),
    *refuses("n", lambda v: planning.krr_l2([0.5, 0.5], 1.0, v), {"loss of nobody": 0}),
    *refuses(
        "mechanism",
        lambda v: planning.expected_loss(v, [0.5, 0.5], 9),
        {"loss of no mechanism": None},
    ),
    *refuses(
        "mechanisms",
        lambda v: planning.recommend_design(8, 100, 1.0, mechanisms=v),
        {"no designs": None},
    ),
    *refuses(
        "closed", lambda v: planning.recommend_design(8, 100, 1.0, closed=v), {"half closed": "x"}
    ),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()
