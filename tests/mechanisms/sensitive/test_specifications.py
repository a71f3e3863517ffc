"""Specifications of URR and URAP keep labels and are checked."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp


@pytest.mark.parametrize("make", [ldp.URR, ldp.URAP])
@pytest.mark.parametrize(
    ("categories", "sensitive"),
    [
        (4, {3, 1}),
        (4, ()),
        (4, range(4)),
        (("b", "a", "c"), ["a"]),
        ((2.5, 1.5), (1.5,)),
        ((False, True), [True]),
        ((1, "x", 2.5), ["x", 2.5]),
        ((10, 20, 30), np.array([30, 10])),
        (pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"]), pd.Series(["mid"])),
    ],
)
def test_specification_keeps_labels(make: Any, categories: Any, sensitive: Any) -> None:
    mechanism = make(categories, sensitive, 1.25)
    again = ldp.mechanism_from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism and type(again) is type(mechanism)
    assert again.sensitive.tolist() == mechanism.sensitive.tolist()
    assert [type(v) for v in again.sensitive] == [type(v) for v in mechanism.sensitive]
    positions = mechanism.categories.get_indexer(mechanism.sensitive)
    assert list(positions) == sorted(positions), "in category order"
    assert mechanism.audit().agrees


def test_a_specification_by_hand_is_checked() -> None:
    document = ldp.URR(3, epsilon={0: 1.0, 1: 2.0}).to_dict()
    for change in ({"levels": [1.0]}, {"epsilon": 1.0}, {"sensitive": [0, 5]}, {"sensitive": "01"}):
        with pytest.raises(ldp.InvalidArgument):
            ldp.mechanism_from_dict(document | change)
    with pytest.raises(ldp.InvalidArgument, match="has the fields"):
        ldp.URR.from_dict({k: v for k, v in document.items() if k != "levels"})
