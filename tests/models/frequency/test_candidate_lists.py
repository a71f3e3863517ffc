"""What may be a list of candidates: strings that are all there, each once."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

ORR = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=4.0)
COUNTS = ORR.privatize(["b", "a", "b"] * 200, np.random.default_rng(1)).tally()

GOOD: dict[str, Callable[[], Any]] = {
    "a list": lambda: ["b", "a"],
    "an array": lambda: np.array(["b", "a"]),
    "an array of objects": lambda: np.array(["b", "a"], dtype=object),
    "a Series": lambda: pd.Series(["b", "a"], index=[7, 3]),
    "an Index": lambda: pd.Index(["b", "a"]),
    "keys of a dict": lambda: {"b": 1, "a": 2}.keys(),
    "a Categorical": lambda: pd.Categorical(["b", "a"], categories=["a", "b", "c"]),
    "a Series of categories": lambda: pd.Series(["b", "a"], dtype="category"),
    "an Index of categories": lambda: pd.CategoricalIndex(["b", "a"]),
    "a map": lambda: ldp.CandidateMap(["b", "a"], ORR.cells(["b", "a"])),
}


@pytest.mark.parametrize("name", GOOD)
def test_values_count_in_their_order(name: str) -> None:
    results = ldp.FrequencyModel(COUNTS, candidates=GOOD[name]()).fit()
    assert results.categories.tolist() == ["b", "a"]
    expected = ldp.FrequencyModel(COUNTS, candidates=["b", "a"]).fit()
    np.testing.assert_allclose(results.params, expected.params, rtol=1e-12)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a table": (lambda: pd.DataFrame({"b": [1], "a": [2]}), "table"),
    "twice": (lambda: ["b", "a", "b"], "twice"),
    "twice in a Categorical": (lambda: pd.Categorical(["b", "a", "b"]), "twice"),
    "twice in a Series": (lambda: pd.Series(["b", "a", "b"], dtype="category"), "twice"),
    "twice in an Index": (lambda: pd.CategoricalIndex(["b", "a", "b"]), "twice"),
    "missing in a Categorical": (lambda: pd.Categorical(["b", None]), "missing"),
    "a type of categories": (lambda: pd.CategoricalDtype(["b", "a"]), "list of strings"),
    "a generator": (lambda: (name for name in "ba"), r"list\("),
    "a map object": (lambda: map(str, ["b", "a"]), r"list\("),
    "a dict": (lambda: {"b": 1, "a": 2}, "list"),
    "a read-only dict": (lambda: MappingProxyType({"b": 1}), "list"),
    "a set": (lambda: {"b", "a"}, "order"),
    "bytes": (lambda: b"ba", "list"),
    "a bytearray": (lambda: bytearray(b"ba"), "string"),
    "bytes in a list": (lambda: [b"b", b"a"], "strings"),
    "bytes in an array": (lambda: np.array([b"b", b"a"]), "strings"),
    "text": (lambda: "ba", "list"),
    "text in no list": (lambda: np.array("ba"), "list"),
    "lines of a table": (lambda: np.array([["b"], ["a"]]), "strings"),
    "a number": (lambda: 2, "list of strings"),
    "true": (lambda: True, "list of strings"),
    "numbers": (lambda: [0, 1], "string"),
    "none of them": (lambda: [], "at least 1"),
    "missing": (lambda: ["b", None], "missing"),
    "nan": (lambda: ["b", np.nan], "missing"),
    "masked": (lambda: np.ma.array(["b", "a"], mask=[False, True]), "missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_other_lists_are_refused(name: str) -> None:
    make, says = BAD[name]
    for use in (
        lambda: ldp.FrequencyModel(COUNTS, candidates=make()).fit(),
        lambda: ORR.cells(make()),
        lambda: ldp.CandidateMap(make(), np.zeros((16, 2, 1), dtype=int)),
    ):
        with pytest.raises(ldp.InvalidArgument, match=says) as caught:
            use()
        assert str(caught.value).startswith("candidates")


CELLS: dict[str, Any] = {
    "ragged": [[[0], [1]], [[0, 1], [1]]],
    "of floats": np.zeros((16, 2, 1)),
    "of truth values": np.zeros((16, 2, 1), dtype=bool),
    "flat": np.zeros((16, 2), dtype=int),
    "of one candidate": np.zeros((16, 1, 1), dtype=int),
    "none": None,
}


@pytest.mark.parametrize("name", CELLS)
def test_other_cells_are_refused(name: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match="cells="):
        ldp.CandidateMap(("b", "a"), CELLS[name])


def test_cells_may_be_lists() -> None:
    given = ldp.CandidateMap(["b", "a"], ORR.cells(["b", "a"]).tolist())
    results = ldp.FrequencyModel(COUNTS, candidates=given).fit()
    expected = ldp.FrequencyModel(COUNTS, candidates=["b", "a"]).fit()
    np.testing.assert_allclose(results.params, expected.params, rtol=1e-12)


def test_a_table_is_no_list_of_categories() -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"categories=.*table"):
        ldp.KRR(pd.DataFrame({"a": [1], "b": [2]}), 1.0)


@pytest.mark.parametrize(
    "value", ["x", None, [1], np.inf, np.nan, 0.0, -1, True, 10**400, 1j, np.ones(2), np.True_]
)
def test_false_selections_are_a_number(value: Any) -> None:
    with pytest.raises(ldp.InvalidArgument, match="false_selections"):
        ldp.estimators.Lasso(false_selections=value)


def test_false_selections_of_any_type_of_number() -> None:
    for value in (2, 2.0, np.float32(2.0), np.int64(2)):
        assert ldp.estimators.Lasso(false_selections=value) == ldp.estimators.Lasso("quantile", 2.0)
