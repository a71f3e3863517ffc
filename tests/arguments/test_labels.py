"""Labels in, codes inside, labels out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.labels import align, as_labels, encode, labels_from_json, labels_to_json


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
def test_labels_keep_order_and_type(given: object, expected: list[object]) -> None:
    labels = as_labels("categories", given)
    assert labels.tolist() == expected
    assert [type(v) for v in labels.tolist()] == [type(v) for v in expected]
    codes, missing = encode("values", expected[::-1], labels)
    assert codes.tolist() == list(range(len(expected)))[::-1]
    assert missing == 0
    again = labels_from_json("categories", labels_to_json(labels))
    assert again.tolist() == expected


def test_categorical_values_are_matched_by_label_not_by_code() -> None:
    labels = as_labels("categories", ("a", "b", "c"))
    values = pd.Series(pd.Categorical(["c", "a"], categories=["c", "a", "b"]))
    assert encode("values", values, labels)[0].tolist() == [2, 0]


def test_missing_answers_are_refused_or_counted() -> None:
    labels = as_labels("categories", ("a", "b"))
    values = ["a", None, np.nan, "b", pd.NA]
    with pytest.raises(ldp.InvalidArgument, match=r"values\[1\].*3 of 5"):
        encode("values", values, labels)
    codes, missing = encode("values", values, labels, missing="count")
    assert codes.tolist() == [0, 1] and missing == 3
    numbers = as_labels("categories", 3)
    codes, missing = encode("values", [0.0, np.nan, 2.0], numbers, missing="count")
    assert codes.tolist() == [0, 2] and missing == 1


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["a", "z"], ("a", "b")),
        ([0, 3], 3),
        (np.array([0, -1]), 3),
        ([True], 2),
        ([0], ("0", "1")),
        (np.array([2**63], dtype=np.uint64), 3),
    ],
)
def test_unknown_values_are_refused(values: object, labels: object) -> None:
    with pytest.raises(ldp.UnknownCategory, match="values"):
        encode("values", values, as_labels("categories", labels))


def test_one_value_is_accepted() -> None:
    assert encode("values", "b", as_labels("categories", ("a", "b")))[0].tolist() == [1]


def test_large_label_sets_are_quick() -> None:
    names = [f"label {i}" for i in range(200_000)]  # a quadratic check would take minutes
    assert len(as_labels("categories", names)) == 200_000


@pytest.mark.parametrize("n", [10, 200_000])
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64])
@pytest.mark.parametrize(
    "mechanism",
    [ldp.KRR(5, 1.0), ldp.KRAPPOR(5, 1.0), ldp.CustomMechanism(np.full((5, 2), 0.5), 5, 2)],
    ids=["krr", "unary", "custom"],
)
def test_integers_that_are_no_label_are_named_where_the_sampler_finds_them(
    mechanism: ldp.mechanisms.Mechanism, kind: type, n: int
) -> None:
    values = np.zeros(n, dtype=kind)
    values[n - 3] = 2**63 if kind is np.uint64 else -1
    with pytest.raises(ldp.UnknownCategory, match=rf"values\[{n - 3}\]={values[n - 3]}"):
        mechanism.privatize(values, np.random.default_rng(1))
    values[n - 3] = 5
    with pytest.raises(ldp.UnknownCategory, match=rf"values\[{n - 3}\]=\(not shown\)"):
        mechanism.collector().privatize(values)


def test_series_are_put_in_order() -> None:
    labels = as_labels("categories", ("a", "b", "c"))
    given = pd.Series([3, 1], index=["c", "a"])
    assert align("n", given, labels, absent=0).tolist() == [1, 0, 3]
    assert align("n", given, labels, absent=0).dtype == np.int64
    assert align("n", pd.Series([1.0, 2.0, 3.0], index=["b", "c", "a"]), labels).tolist() == [
        3,
        1,
        2,
    ]
    with pytest.raises(ldp.InvalidArgument, match="indexed by the labels"):
        align("n", given, labels)


def test_missing_counts_are_not_zero() -> None:
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    given = pd.Series([3.0, np.nan], index=["c", "a"])
    np.testing.assert_array_equal(align("n", given, krr.categories, absent=0), [np.nan, 0.0, 3.0])
    with pytest.raises(ldp.InvalidArgument, match=r"n\[0\]=nan"):
        krr.counts(given)
    assert krr.counts(given.dropna()).vector().tolist() == [0, 0, 3]


def test_intervals_become_labels_as_text() -> None:
    ages = pd.cut(pd.Series([20, 30, 70]), [0, 25, 65, 100])
    for labels in (ages, ages.cat.categories):
        with pytest.raises(ldp.InvalidArgument, match=r"\.astype\(str\)"):
            as_labels("categories", labels)
    labels = as_labels("categories", ages.cat.categories.astype(str))
    assert encode("values", ages.astype(str), labels)[0].tolist() == [0, 1, 2]
