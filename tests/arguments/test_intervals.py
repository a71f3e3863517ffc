"""Bins of numbers: labels, midpoints, and which bin a number is in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats.errors import InvalidArgument, UnknownCategory
from ldpstats.labels import binned, checked_edges, interval_labels, midpoints

EDGES = checked_edges("edges", [-1, 0.1, 2.5, 1e21])
LABELS = interval_labels(EDGES)


def codes(values: Any) -> list[int]:
    return binned("values", values, EDGES, LABELS).cat.codes.tolist()


def test_labels_hold_their_edges_to_full_precision() -> None:
    assert LABELS.tolist() == ["[-1, 0.1)", "[0.1, 2.5)", "[2.5, 1e+21]"]
    fine = checked_edges("edges", np.linspace(0.1, 0.7, 12) / 3)
    found = midpoints(interval_labels(fine))
    np.testing.assert_array_equal(found, fine[:-1] / 2 + fine[1:] / 2)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["[0, 10)", "[10, 50]"], [5.0, 30.0]),
        (["(0.0, 10.0]", "(10.0, 50.0]"], [5.0, 30.0]),  # as of pd.cut(...).astype(str)
        (["[-1e2,-5)", "[-5, .5]"], [-52.5, -2.25]),
        (["[0, 10)", "more"], None),
        (["0-10", "10-50"], None),
        (["[10, 0)", "[0, 1)"], None),
        (["[0, inf)", "[0, 1)"], None),
        (["[0, 1e999)", "[0, 1)"], None),
        ([1, 2], None),
        (["[1, 2)", 3], None),
    ],
)
def test_midpoints(labels: list[Any], expected: list[float] | None) -> None:
    found = midpoints(pd.Index(labels))
    assert found is None if expected is None else found.tolist() == expected


def test_numbers_fall_in_bins_with_their_lower_edge_and_the_last_with_both() -> None:
    numbers = [-1, 0.0, 0.1, 2.4999, 2.5, 7, 1e21]
    expected = [0, 0, 1, 1, 2, 2, 2]
    assert codes(numbers) == expected
    assert codes(np.array(numbers)) == codes(pd.Series(numbers, dtype="Float64")) == expected
    assert codes([str(v) for v in numbers]) == expected
    assert codes(pd.Categorical(numbers)) == expected
    assert codes(np.float32([1, 3])) == codes(np.array([1, 3], dtype=np.uint8)) == [1, 2]
    assert codes(["[-1, 0.1)", " [2.5, 1e+21] ", " 1 ", "+.5e0"]) == [0, 2, 1, 1]
    assert codes([]) == []


def test_missing_numbers_stay_missing() -> None:
    for values in ([1, None], [1, np.nan], ["1", pd.NA], pd.array([1, None], dtype="Int64")):
        assert codes(values) == [1, -1]


@pytest.mark.parametrize(
    "value",
    *[[1e22, -1.0000001, np.inf, 10**400, True, "x", "1_0", "0x1", "nan", "inf", b"1", ""]],
)
def test_anything_else_is_refused_with_its_place(value: Any) -> None:
    message = r"values\[1\]=.*is neither a number from -1 to 1e\+21 nor a bin such as '\[-1, 0.1\)'"
    with pytest.raises(UnknownCategory, match=message):
        codes([1, value])


@pytest.mark.parametrize(
    "edges",
    *[
        [
            *(None, 3, "0,1,2", b"ab", True, {0, 1, 2}, {0: 1}, [], [1], [0, 1]),
            *([0, 1, 1], [2, 1, 0], [0, 1, np.nan], [0, 1, np.inf], [0, "1", 2], [[0, 1, 2]]),
            *([0, 1, None], [0, 1, 10**400], pd.DataFrame({"a": [0, 1, 2]}), [0, 1, 2j]),
        ]
    ],
)
def test_edges_that_are_none(edges: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^edges"):
        checked_edges("edges", edges)


def test_edges_of_several_kinds() -> None:
    for edges in ((0, 1, 2), range(3), np.arange(3), pd.Series([0, 1, 2.0]), pd.Index([0, 1, 2])):
        assert checked_edges("edges", edges).tolist() == [0.0, 1.0, 2.0]
