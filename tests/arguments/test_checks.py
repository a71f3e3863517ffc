"""The checks of arguments themselves."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hostile.values import BadIter, BadStr

from ldpstats.arguments import as_array, boolean, counts_vector, level, listed, numbers, one_of
from ldpstats.errors import InvalidArgument


def test_the_checks_themselves() -> None:
    assert one_of("x", np.str_("a"), ("a", "b")) == "a"
    assert type(one_of("x", np.str_("a"), ("a", "b"))) is str
    assert boolean("x", np.True_) is True
    assert level(np.float32(0.5)) == 0.5
    assert listed("x", iter([1, 2]), "") == [1, 2]
    assert as_array("x", [1, 2], "").tolist() == [1, 2]
    assert numbers("x", [1, Decimal("0.5")], "").tolist() == [1.0, 0.5]
    assert counts_vector("x", np.float16([1, 2]), (2,)).tolist() == [1, 2]
    for call in (
        lambda: level(5e-324),
        lambda: level(1.0),
        lambda: one_of("x", BadStr("c"), ("a", "b")),
        lambda: listed("x", BadIter(), "must be a list"),
        lambda: as_array("x", np.ma.masked_equal([1, 2], 2), "must be numbers"),
        lambda: numbers("x", ["1"], "must be numbers"),
    ):
        with pytest.raises(InvalidArgument):
            call()
    assert one_of("x", BadStr("a"), ("a", "b")) == "a"
