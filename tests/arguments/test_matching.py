"""Answers as people write them find their label, or an error that helps."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ldpstats.errors import InvalidArgument, UnknownCategory
from ldpstats.labels import as_labels, matched

JOBS = as_labels("categories", ("nurse", "teacher", "driver", "cook"))
THREE = as_labels("categories", 3)
GRADES = as_labels("categories", (1, 2, 30, -4))
HALVES = as_labels("categories", (0.5, 1.0, 2.5))
TRUTH = as_labels("categories", (False, True))
DIGITS = as_labels("categories", ("1", "2"))
MIXED = as_labels("categories", (1, "a", 2.5))
words = ["cook", "nurse", None, "cook"]
numbers = [2, 0, None, 2]


# -- kinds of columns ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        words,
        tuple(words),
        np.array(words, dtype=object),
        pd.Series(words),
        pd.Series(words, dtype=object, index=[7, 7, 8, 9]),
        pd.Series(words, dtype="string"),
        pd.Series(words, dtype="category"),
        pd.Series(words, dtype=pd.CategoricalDtype(["x", "cook", "unused", "nurse"])),
        pd.Categorical(words, categories=["cook", "nurse"]),
        pd.Index(words),
        pd.Series(words, dtype=pd.ArrowDtype(pa.string())),
        pa.array(words),
        pa.array(words, pa.large_string()),
        pa.array(words).dictionary_encode(),
        pa.chunked_array([words[:1], words[1:]]),
        pa.chunked_array([pa.array(words[:1]), pa.array(words[1:])]).dictionary_encode(),
    ],
)
def test_text_of_every_kind_of_column(column: object) -> None:
    found = matched("job", column, JOBS)
    assert found.dtype == np.int64 and found.tolist() == [3, 0, -1, 3]


@pytest.mark.parametrize("labels", [THREE, as_labels("categories", (0, 1, 2, 7))])
@pytest.mark.parametrize(
    "column",
    [
        numbers,
        np.array([2, 0, np.nan, 2]),
        np.array([2, 0, np.nan, 2], dtype=np.float32),
        np.ma.masked_array([2, 0, 5, 2], [0, 0, 1, 0]),
        pd.Series(numbers),
        pd.Series(numbers, dtype="Int8"),
        pd.Series(numbers, dtype="category"),
        pd.Series(numbers, dtype=pd.ArrowDtype(pa.int16())),
        pa.array(numbers),
        pa.array(numbers, pa.float64()),
        pa.array([2.0, 0.0, float("nan"), 2.0]),
        ["2", " 0 ", "", "2.0"],
        ["2", 0, None, 2.0],
        [Decimal(2), Decimal("0.0"), None, Decimal("2")],
        pa.array([Decimal(2), Decimal(0), None, Decimal(2)]),
    ],
)
def test_integers_of_every_kind_of_column(column: object, labels: pd.Index) -> None:
    assert matched("n", column, labels).tolist() == [2, 0, -1, 2]


def test_polars_columns() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    assert matched("job", pl.Series(words), JOBS).tolist() == [3, 0, -1, 3]
    assert matched("job", pl.Series(words, dtype=pl.Categorical), JOBS).tolist() == [3, 0, -1, 3]
    assert matched("n", pl.Series(numbers), THREE).tolist() == [2, 0, -1, 2]


def test_no_answers() -> None:
    for column in ([], pd.Series([], dtype=str), pa.array([], pa.string()), np.empty(0)):
        assert matched("job", column, JOBS).shape == (0,)
    assert matched("job", [None, "", " "], JOBS).tolist() == [-1, -1, -1]


# -- how answers are written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "values", "codes"),
    [
        (JOBS, ["\tnurse \n", "cook\u00a0", "nurse"], [0, 3, 0]),
        (GRADES, ["1", " -4", "30.0", 2.0, np.int8(30)], [0, 3, 2, 1, 2]),
        (HALVES, ["0.5", "1", "1.0", 1, 2.5, " 2.50 "], [0, 1, 1, 1, 2, 2]),
        (TRUTH, ["True", "FALSE", " true", False, np.True_], [1, 0, 1, 0, 1]),
        (DIGITS, [1, 2.0, "1", " 2", None], [0, 1, 0, 1, -1]),
        (MIXED, ["1", "a", "2.5", 1.0, 2.5, " a"], [0, 1, 2, 0, 2, 1]),
        (as_labels("c", ("True", "False")), [True, "False", False], [0, 1, 1]),
        (as_labels("c", ("", "x")), ["", "  ", "x", None], [0, 0, 1, -1]),
        (as_labels("c", (" a", "a", "b ")), [" a", "a", "b", " b"], [0, 1, 2, 2]),
        (as_labels("c", ("true", True)), ["true", True, "TRUE"], [0, 1, 1]),
        (as_labels("c", (2**60, 2**60 + 1)), [str(2**60 + 1), 2**60], [1, 0]),
    ],
)
def test_answers_as_people_write_them(labels: pd.Index, values: list, codes: list) -> None:
    assert matched("q", values, labels).tolist() == codes
    for i, value in enumerate(values):  # what a value is matched to does not depend on the others
        column = np.array([value], dtype=object)
        assert matched("q", column, labels).tolist() == [codes[i]]


def test_every_label_is_itself() -> None:
    for labels in (JOBS, THREE, GRADES, HALVES, TRUTH, DIGITS, MIXED):
        everything = np.arange(len(labels)).tolist()
        assert matched("q", labels.tolist(), labels).tolist() == everything
        assert matched("q", labels, labels).tolist() == everything
        assert matched("q", [str(label) for label in labels], labels).tolist() == everything


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "value"),
    [
        (JOBS, "Nurse"),
        (JOBS, b"nurse"),
        (JOBS, 0),
        (JOBS, True),
        (JOBS, "\ud800"),
        (THREE, 3),
        (THREE, -1),
        (THREE, float("inf")),
        (THREE, True),
        (THREE, "01"),
        (THREE, "1e0"),
        (THREE, "٢"),
        (THREE, "9" * 5000),  # more digits than Python turns into a number
        (GRADES, True),
        (HALVES, np.float32(0.1)),
        (TRUTH, 1),
        (TRUTH, "tRUE"),
        (DIGITS, True),
        (DIGITS, "01"),
        (as_labels("c", (" a", "a")), "a "),  # two labels fit
        (as_labels("c", ("1", "1.0")), 1.0 + 1e-9),
        (as_labels("c", ("true", True)), " true"),
        (as_labels("c", (2**60, 2**60 + 1)), float(2**60)),  # it may have been another integer
    ],
)
def test_what_fits_no_label_or_several_is_refused(labels: pd.Index, value: object) -> None:
    column = np.empty(2, dtype=object)
    column[:] = [labels[0], value]
    with pytest.raises(UnknownCategory) as failure:
        matched("q", column, labels)
    assert failure.value.name == "q, row 2"
    with pytest.raises(UnknownCategory) as failure:
        matched("q", column, labels, secret=True)
    assert str(failure.value).startswith("q, row 2=(not shown): is not among")
    if isinstance(value, str):
        assert repr(value) not in str(failure.value)


def test_one_and_true_in_one_column_are_two_answers() -> None:
    with pytest.raises(UnknownCategory, match="row 2=True"):
        matched("q", [1, True], GRADES)
    with pytest.raises(UnknownCategory, match="row 2=1"):
        matched("q", [True, 1], TRUTH)
    with pytest.raises(UnknownCategory, match=r"row 3=1\.0"):
        matched("q", np.array([True, False, 1.0], dtype=object), TRUTH)


@pytest.mark.parametrize(
    "values",
    [
        np.ones((2, 2)),
        {"nurse": 1},
        [["nurse"], ["cook", "nurse"]],
        pd.MultiIndex.from_tuples([("nurse", 1)]),
        [Decimal("sNaN"), Decimal(1)],
    ],
)
def test_what_is_no_column_is_refused(values: object) -> None:
    with pytest.raises(InvalidArgument):
        matched("q", values, JOBS)
    with pytest.raises(InvalidArgument) as failure:
        matched("q", values, JOBS, secret=True)
    assert str(failure.value).startswith("q=(not shown): ")


class Text(str):
    """Text of somebody else's class."""

    def strip(self, chars: str | None = None) -> str:
        raise RuntimeError("a secret")


# -- messages --------------------------------------------------------------------------------------


def test_the_error_names_row_value_nearest_label_and_remedy() -> None:
    column = ["cook"] * 16 + ["Nurse", "Nurse", None, "Nurse", "x"]
    with pytest.raises(UnknownCategory) as failure:
        matched("job", column, JOBS)
    assert str(failure.value) == (
        "job, row 17='Nurse': is not among the 4 labels 'nurse', 'teacher', 'driver', 'cook'; the "
        "nearest is 'nurse' (3 such values); correct it, or make the mechanism with the labels of "
        "the data (categories=...); if it means a missing answer, leave it empty, or give Survey "
        "na={'job': ['Nurse']}"
    )
    with pytest.raises(UnknownCategory) as failure:
        matched("job", ["code 99"], JOBS, secret=True)
    assert "99" not in str(failure.value) and "na=" not in str(failure.value)
    assert str(failure.value).endswith("correct it, or add the label to categories=")


@pytest.mark.parametrize(
    ("labels", "value", "nearest"),
    [
        (JOBS, "techer", "'teacher'"),
        (JOBS, " COOK ", "'cook'"),
        (TRUTH, "Ture", "True"),
        (GRADES, "30.5", None),  # a number is not misspelt
        (as_labels("c", ("Yes", "No, never")), "No answer", None),
        (as_labels("c", ("used", "reused", "No danger")), "Refused", None),
        (as_labels("c", ("yes", "Don't know")), "dont know", '"Don\'t know"'),
        (as_labels("c", [f"w{i}" for i in range(20_000)]), "W19999", "'w19999'"),
        (JOBS, "zzz", None),
        (THREE, "one", None),
        (as_labels("c", [f"w{i}" for i in range(20_000)]), "w1999x", None),  # too many to search
    ],
)
def test_the_nearest_label(labels: pd.Index, value: str, nearest: str | None) -> None:
    with pytest.raises(UnknownCategory) as failure:
        matched("q", [value], labels)
    found = str(failure.value).partition("the nearest is ")[2].partition(" (1 such value)")[0]
    assert found == (nearest or "")


# -- size ------------------------------------------------------------------------------------------


def test_a_million_labels_are_not_listed() -> None:
    rng = np.random.default_rng(1)
    labels = as_labels("categories", 10**6)
    values = rng.integers(0, 10**6, 1000)
    assert np.array_equal(matched("n", values, labels), values)
    assert np.array_equal(matched("n", values.astype(str), labels), values)
    assert np.array_equal(matched("n", values.astype(float), labels), values)
    assert not labels._cache  # such as the list of its values


def test_small_numbers_are_read_in_powers_of_ten() -> None:
    labels = pd.Index([0.1, 1e-07, 1.0])
    assert matched("x", ["1e-07", "1e-7", "0.1", "1.0"], labels).tolist() == [1, 1, 0, 2]
    with pytest.raises(UnknownCategory):
        matched("x", ["1e0"], labels)
