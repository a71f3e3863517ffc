"""Labels in, codes inside, labels out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp


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
def test_labels_keep_order_and_type(given: object, expected: list[object]) -> None:
    mechanism = ldp.KRR(given, 1.0)
    labels = mechanism.categories.tolist()
    assert labels == expected
    assert [type(v) for v in labels] == [type(v) for v in expected]
    assert encoded(expected[::-1], given) == (list(range(len(expected)))[::-1], 0)
    assert ldp.KRR.from_dict(mechanism.to_dict()).categories.tolist() == expected


def test_categorical_values_are_matched_by_label_not_by_code() -> None:
    values = pd.Series(pd.Categorical(["c", "a"], categories=["c", "a", "b"]))
    assert encoded(values, ("a", "b", "c"))[0] == [2, 0]


def test_missing_answers_are_refused_or_counted() -> None:
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
        ([True], 2),
        ([0], ("0", "1")),
        (np.array([2**63], dtype=np.uint64), 3),
    ],
)
def test_unknown_values_are_refused(values: object, labels: object) -> None:
    with pytest.raises(ldp.UnknownCategory, match="values"):
        encoded(values, labels)


def test_one_value_is_accepted() -> None:
    assert encoded("b", ("a", "b"))[0] == [1]


def test_large_label_sets_are_quick() -> None:
    names = [f"label {i}" for i in range(200_000)]  # a quadratic check would take minutes
    assert ldp.KRR(names, 1.0).k == 200_000


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
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    given = pd.Series([3, 1], index=["c", "a"])
    counts = krr.counts(given).vector()
    assert counts.tolist() == [1, 0, 3] and counts.dtype == np.int64
    law = pd.Series([0.2, 0.3, 0.5], index=["b", "c", "a"])
    found = ldp.planning.precision(krr, law, n=1000)
    assert found.p.to_dict() == {"a": 0.5, "b": 0.2, "c": 0.3}
    with pytest.raises(ldp.InvalidArgument, match="indexed by the labels"):
        ldp.planning.precision(krr, law.iloc[:2], n=1000)


def test_missing_counts_are_not_zero() -> None:
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    given = pd.Series([3.0, np.nan], index=["c", "a"])
    with pytest.raises(ldp.InvalidArgument, match=r"n\[0\]=nan"):
        krr.counts(given)
    assert krr.counts(given.dropna()).vector().tolist() == [0, 0, 3]


def test_intervals_become_labels_as_text() -> None:
    ages = pd.cut(pd.Series([20, 30, 70]), [0, 25, 65, 100])
    for labels in (ages, ages.cat.categories):
        with pytest.raises(ldp.InvalidArgument, match=r"\.astype\(str\)"):
            ldp.KRR(labels, 1.0)
    assert encoded(ages.astype(str), ages.cat.categories.astype(str))[0] == [0, 1, 2]
