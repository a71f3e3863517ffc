"""Labels in, codes inside, labels out."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ldpstats as ldp
from ldpstats import labels as distinct
from ldpstats.errors import InvalidArgument, UnknownCategory
from ldpstats.labels import (
    as_labels,
    binned,
    checked_edges,
    encode,
    interval_labels,
    matched,
    midpoints,
)


def encoded(values: object, labels: object, missing: str = "raise") -> tuple[list[int], int]:
    """Codes of answers, which are reported as they are, and how many are missing."""
    observed = ldp.Observed(labels)
    reports = observed.privatize(values, np.random.default_rng(1), missing=missing)
    return reports.y.tolist(), reports.n_missing


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, [0, 1, 2]),
        (("a", "b"), ["a", "b"]),
        (np.array(["x", "y", "z"]), ["x", "y", "z"]),
        ([10, 20], [10, 20]),
        ((False, True), [False, True]),
        ([0.5, 1.5], [0.5, 1.5]),
        (["1", 2], ["1", 2]),
        (pd.Categorical(["b", "a"], categories=["b", "c", "a"]), ["b", "c", "a"]),
        (pd.Series(["b", "a"], dtype="category"), ["a", "b"]),
        (pd.CategoricalIndex(["u", "v"]), ["u", "v"]),
        (pd.Index(["p", "q"]), ["p", "q"]),
    ],
)
def test_labels_keep_order_and_type(given, expected):
    mechanism = ldp.KRR(given, 1.0)
    labels = mechanism.categories.tolist()
    assert labels == expected
    assert [type(v) for v in labels] == [type(v) for v in expected]
    assert encoded(expected[::-1], given) == (list(range(len(expected)))[::-1], 0)
    assert ldp.KRR.from_dict(mechanism.to_dict()).categories.tolist() == expected


def test_categorical_values_are_matched_by_label_not_by_code():
    values = pd.Series(pd.Categorical(["c", "a"], categories=["c", "a", "b"]))
    assert encoded(values, ("a", "b", "c"))[0] == [2, 0]


def test_missing_answers_are_refused_or_counted():
    values = ["a", None, np.nan, "b", pd.NA]
    with pytest.raises(ldp.InvalidArgument, match=r"values\[1\].*3 of 5"):
        encoded(values, ("a", "b"))
    assert encoded(values, ("a", "b"), missing="count") == ([0, 1], 3)
    assert encoded([0.0, np.nan, 2.0], 3, missing="count") == ([0, 2], 1)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["a", "z"], ("a", "b")),
        ([0, 3], 3),
        (np.array([0, -1]), 3),
        ([True], 3),
        ([0], ("0", "1")),
        (np.array([2**63], dtype=np.uint64), 3),
    ],
)
def test_unknown_values_are_refused(values, labels):
    with pytest.raises(ldp.UnknownCategory, match="values"):
        encoded(values, labels)


@pytest.mark.parametrize("kind", [bool, object, "boolean"])
def test_booleans_are_zero_and_one_where_these_are_the_labels(kind):
    assert encoded(pd.Series([True, False, True], dtype=kind), (1, 0)) == ([0, 1, 0], 0)


def test_one_value_is_accepted():
    assert encoded("b", ("a", "b"))[0] == [1]


def test_large_label_sets_are_quick():
    names = [f"label {i}" for i in range(200_000)]  # a quadratic check would take minutes
    assert ldp.KRR(names, 1.0).k == 200_000


@pytest.mark.parametrize("n", [10, 200_000])
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64])
@pytest.mark.parametrize(
    "mechanism",
    [ldp.KRR(5, 1.0), ldp.KRAPPOR(5, 1.0), ldp.CustomMechanism(np.full((5, 2), 0.5), 5, 2)],
    ids=["krr", "unary", "custom"],
)
def test_integers_that_are_no_label_are_named_where_the_sampler_finds_them(mechanism, kind, n):
    values = np.zeros(n, dtype=kind)
    values[n - 3] = 2**63 if kind is np.uint64 else -1
    with pytest.raises(ldp.UnknownCategory, match=rf"values\[{n - 3}\]={values[n - 3]}"):
        mechanism.privatize(values, np.random.default_rng(1))
    values[n - 3] = 5
    with pytest.raises(ldp.UnknownCategory, match=rf"values\[{n - 3}\]=\(not shown\)"):
        mechanism.collector().privatize(values)


def test_series_are_put_in_order():
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    given = pd.Series([3, 1], index=["c", "a"])
    counts = krr.counts(given).vector()
    assert counts.tolist() == [1, 0, 3] and counts.dtype == np.int64
    law = pd.Series([0.2, 0.3, 0.5], index=["b", "c", "a"])
    found = ldp.planning.precision(krr, law, n=1000)
    assert found.p.to_dict() == {"a": 0.5, "b": 0.2, "c": 0.3}
    with pytest.raises(ldp.InvalidArgument, match="indexed by the labels"):
        ldp.planning.precision(krr, law.iloc[:2], n=1000)


def test_missing_counts_are_not_zero():
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    given = pd.Series([3.0, np.nan], index=["c", "a"])
    with pytest.raises(ldp.InvalidArgument, match=r"n\[0\]=nan"):
        krr.counts(given)
    assert krr.counts(given.dropna()).vector().tolist() == [0, 0, 3]


def test_intervals_become_labels_as_text():
    ages = pd.cut(pd.Series([20, 30, 70]), [0, 25, 65, 100])
    for labels in (ages, ages.cat.categories):
        with pytest.raises(ldp.InvalidArgument, match=r"\.astype\(str\)"):
            ldp.KRR(labels, 1.0)
    assert encoded(ages.astype(str), ages.cat.categories.astype(str))[0] == [0, 1, 2]


# Answers as people write them find their label, or an error that helps.

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
def test_text_of_every_kind_of_column(column):
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
def test_integers_of_every_kind_of_column(column, labels):
    assert matched("n", column, labels).tolist() == [2, 0, -1, 2]


def test_polars_columns():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    assert matched("job", pl.Series(words), JOBS).tolist() == [3, 0, -1, 3]
    assert matched("job", pl.Series(words, dtype=pl.Categorical), JOBS).tolist() == [3, 0, -1, 3]
    assert matched("n", pl.Series(numbers), THREE).tolist() == [2, 0, -1, 2]


def test_no_answers():
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
        (as_labels("c", 2), [True, 0, "true", np.False_], [1, 0, 1, 0]),
        (as_labels("c", (1, 0)), np.array([True, False]), [0, 1]),
        (DIGITS, [1, 2.0, "1", " 2", None], [0, 1, 0, 1, -1]),
        (MIXED, ["1", "a", "2.5", 1.0, 2.5, " a"], [0, 1, 2, 0, 2, 1]),
        (as_labels("c", ("True", "False")), [True, "False", False], [0, 1, 1]),
        (as_labels("c", ("", "x")), ["", "  ", "x", None], [0, 0, 1, -1]),
        (as_labels("c", (" a", "a", "b ")), [" a", "a", "b", " b"], [0, 1, 2, 2]),
        (as_labels("c", ("true", True)), ["true", True, "TRUE"], [0, 1, 1]),
        (as_labels("c", (2**60, 2**60 + 1)), [str(2**60 + 1), 2**60], [1, 0]),
    ],
)
def test_answers_as_people_write_them(labels, values, codes):
    assert matched("q", values, labels).tolist() == codes
    for i, value in enumerate(values):  # what a value is matched to does not depend on the others
        column = np.array([value], dtype=object)
        assert matched("q", column, labels).tolist() == [codes[i]]


def test_every_label_is_itself():
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
def test_what_fits_no_label_or_several_is_refused(labels, value):
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


def test_one_and_true_in_one_column_are_two_answers():
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
def test_what_is_no_column_is_refused(values):
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
def test_the_error_names_row_value_nearest_label_and_remedy():
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
def test_the_nearest_label(labels, value, nearest):
    with pytest.raises(UnknownCategory) as failure:
        matched("q", [value], labels)
    found = str(failure.value).partition("the nearest is ")[2].partition(" (1 such value)")[0]
    assert found == (nearest or "")


# -- size ------------------------------------------------------------------------------------------
def test_a_million_labels_are_not_listed():
    rng = np.random.default_rng(1)
    labels = as_labels("categories", 10**6)
    values = rng.integers(0, 10**6, 1000)
    assert np.array_equal(matched("n", values, labels), values)
    assert np.array_equal(matched("n", values.astype(str), labels), values)
    assert np.array_equal(matched("n", values.astype(float), labels), values)
    assert not labels._cache  # such as the list of its values


def test_small_numbers_are_read_in_powers_of_ten():
    labels = pd.Index([0.1, 1e-07, 1.0])
    assert matched("x", ["1e-07", "1e-7", "0.1", "1.0"], labels).tolist() == [1, 1, 0, 2]
    with pytest.raises(UnknownCategory):
        matched("x", ["1e0"], labels)


# Long columns are read by Arrow to the same codes, and the same errors, as short ones.

LABELS = ("cook", "nurse", " cook ", "", "1", "é\U0001f600", "a\0", "True")

N = distinct.MANY + 3

CODES = np.random.default_rng(1).integers(0, len(LABELS), N)

TEXT = np.array(LABELS, dtype=object)[CODES]

FRESH = np.array([bytes(text, "utf-8").decode() for text in TEXT], dtype=object)


def columns(text):
    """One column of text, None where missing, in every form that a caller may pass."""
    arrow = pa.array(text, pa.string())
    yield "object", np.array(text, dtype=object)
    yield "list", list(text)
    yield "Series of objects", pd.Series(text, dtype=object, index=range(len(text), 0, -1))
    yield "every other", np.repeat(np.array(text, dtype=object), 2)[::2]
    yield "str", pd.Series(text, dtype="str")
    yield "Index", pd.Index(text, dtype=object)
    for storage in ("python", "pyarrow"):
        yield storage, pd.Series(text, dtype=pd.StringDtype(storage))
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int16(), pa.string())):
        yield str(kind), arrow.cast(kind)
        yield f"Series of {kind}", pd.Series(arrow.cast(kind), dtype=pd.ArrowDtype(kind))
    half = len(text) // 2
    pieces = [arrow[half:].dictionary_encode(), arrow[:half].dictionary_encode()]
    yield "other dictionaries", pa.chunked_array(pieces[::-1])
    polars = pytest.importorskip("polars")
    yield "polars", polars.Series(list(text))
    yield "polars categorical", polars.Series(list(text), dtype=polars.Categorical)


@pytest.fixture
def slowly(monkeypatch):
    """The same call without the short cut."""

    def call(function, *args, **how):
        with monkeypatch.context() as patch:
            patch.setattr(distinct, "MANY", 1 << 62)
            return function(*args, **how)

    return call


@pytest.mark.parametrize("given", [TEXT, FRESH], ids=["shared", "fresh"])
def test_codes_of_every_kind_of_text_column(given):
    labels = as_labels("categories", LABELS)
    for kind, column in columns(given):
        assert np.array_equal(encode("values", column, labels)[0], CODES), kind
        assert np.array_equal(matched("values", column, labels), CODES), kind


def test_missing_values_are_counted_and_refused_as_in_short_columns(slowly):
    labels = as_labels("categories", LABELS)
    text = TEXT.copy()
    text[[5, 9, N - 1]] = None
    for kind, column in columns(text):
        codes, missing = encode("values", column, labels, "count")
        assert missing == 3 and np.array_equal(codes, np.delete(CODES, [5, 9, N - 1])), kind
        found = matched("values", column, labels)
        assert np.array_equal(np.flatnonzero(found < 0), [5, 9, N - 1]), kind
        errors = []
        for call in (encode, lambda *a: slowly(encode, *a)):
            with pytest.raises(InvalidArgument) as error:
                call("values", column, labels)
            errors.append(str(error.value))
        assert errors[0] == errors[1] and "values[5]" in errors[0]


MIXED_DISTINCT = [
    1,
    True,
    1.0,
    "1",
    None,
    float("nan"),
    "no",
    2,
    "x",
    pd.NA,
    np.str_("x"),
    np.int64(2),
]


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        (("x", 1, "no"), MIXED_DISTINCT),
        ((1, 2, 5), MIXED_DISTINCT),
        ((1, 2, 5), [1, 2, 5]),
        (3, [0, 1, 2]),
        (3, ["0", "1", " 2"]),
        ((True, False), ["true", "FALSE", True]),
        (("x", "y"), [" x", "x", "y "]),
        (("x", "y"), ["x", "z"]),
        (("x", "y"), ["x", "\ud800"]),
        (("x", "y"), ["x", b"y"]),
        (("x", "y"), ["x", ["y"]]),
        (("x", "y"), [pd.Timestamp(0), "x"]),
        ((0.5, 1.5), [0.5, "1.5"]),
    ],
)
@pytest.mark.parametrize("secret", [True, False])
def test_long_columns_are_read_like_short_ones(slowly, labels, values, secret):
    index = as_labels("categories", labels)
    column = np.empty(N, dtype=object)
    column[:] = [values[i % len(values)] for i in range(N)]
    fresh = np.empty(N, dtype=object)
    fresh[:] = [v + "" if type(v) is str and len(v) > 1 else v for v in column]
    calls = (
        lambda c: matched("where", c, index, secret=secret),
        lambda c: encode("values", c, index, "count"),
        lambda c: encode("values", c, index),
    )
    forms = [column, fresh, pd.Series(column, dtype=object)]
    for call in calls:
        for form in forms:
            outcomes = []
            for run in (call, lambda c, call=call: slowly(call, c)):
                try:
                    outcomes.append(str(run(form)))
                except InvalidArgument as error:
                    outcomes.append(f"{type(error).__name__} {error}")
            assert outcomes[0] == outcomes[1]


# Bins of numbers: labels, midpoints, and which bin a number is in.

EDGES = checked_edges([-1, 0.1, 2.5, 1e21])

LABELS_INTERVALS = interval_labels(EDGES)


def codes(values: Any) -> list[int]:
    return binned("values", values, EDGES, LABELS_INTERVALS).cat.codes.tolist()


def test_labels_hold_their_edges_to_full_precision():
    assert LABELS_INTERVALS.tolist() == ["[-1, 0.1)", "[0.1, 2.5)", "[2.5, 1e+21]"]
    fine = checked_edges(np.linspace(0.1, 0.7, 12) / 3)
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
def test_midpoints(labels, expected):
    found = midpoints(pd.Index(labels))
    assert found is None if expected is None else found.tolist() == expected


def test_numbers_fall_in_bins_with_their_lower_edge_and_the_last_with_both():
    numbers = [-1, 0.0, 0.1, 2.4999, 2.5, 7, 1e21]
    expected = [0, 0, 1, 1, 2, 2, 2]
    assert codes(numbers) == expected
    assert codes(np.array(numbers)) == codes(pd.Series(numbers, dtype="Float64")) == expected
    assert codes([str(v) for v in numbers]) == expected
    assert codes(pd.Categorical(numbers)) == expected
    assert codes(np.float32([1, 3])) == codes(np.array([1, 3], dtype=np.uint8)) == [1, 2]
    assert codes(["[-1, 0.1)", " [2.5, 1e+21] ", " 1 ", "+.5e0"]) == [0, 2, 1, 1]
    assert codes([]) == []


def test_missing_numbers_stay_missing():
    for values in ([1, None], [1, np.nan], ["1", pd.NA], pd.array([1, None], dtype="Int64")):
        assert codes(values) == [1, -1]


@pytest.mark.parametrize(
    "value",
    *[[1e22, -1.0000001, np.inf, 10**400, True, "x", "1_0", "0x1", "nan", "inf", b"1", ""]],
)
def test_anything_else_is_refused_with_its_place(value):
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
def test_edges_that_are_none(edges):
    with pytest.raises(InvalidArgument, match=r"^edges"):
        checked_edges(edges)


def test_edges_of_several_kinds():
    for edges in ((0, 1, 2), range(3), np.arange(3), pd.Series([0, 1, 2.0]), pd.Index([0, 1, 2])):
        assert checked_edges(edges).tolist() == [0.0, 1.0, 2.0]
