"""Hypotheses in text: what the labels allow, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.models.results import linear_hypothesis


def read(text: str | list[str], *labels: object) -> tuple[list[list[float]], list[float]]:
    R, value = linear_hypothesis(text, pd.Index(list(labels), dtype=object))
    return R.tolist(), value.tolist()


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a = b", ("a", "b")),
        ("p[a] = p[b]", ("a", "b")),
        ("p[0] = p[1]", (0, 1)),
        ("p[False] = p[True]", (False, True)),
        ("p[a] = p[1]", ("a", 1)),
        ("p[] = p[a]", ("", "a")),
        ("p[p[a]] = p[a]", ("p[a]", "a")),
        ("p[x = y] = p[x]", ("x = y", "x", "y")),
        ("<10k = 35k+", ("<10k", "35k+", "10k-35k")),
        ("a, b = not stated", ("a, b", "not stated")),
        ("a - b", ("a", "b", "a-b")),  # the label does not occur
        ("nan = inf", ("nan", "inf")),  # no numbers to the parser
    ],
)
def test_labels_are_read_as_they_are_or_in_p(text, labels):
    rest = [0.0] * (len(labels) - 2)
    assert read(text, *labels) == ([[1.0, -1.0, *rest]], [0.0])


def test_several_equations():
    expected = ([[1.0, -1.0, 0.0], [0.0, 0.0, 2.0]], [0.0, 0.5])
    assert read("a = b, 2 * c = 0.5", "a", "b", "c") == expected
    assert read(["p[a] = p[b]", "2 * p[c] = 0.5"], "a", "b", "c") == expected


@pytest.mark.parametrize(
    ("text", "label", "others"),
    [
        ("a-b = 0", "a-b", ("a", "b")),
        ("x = y", "x = y", ("x", "y")),
        ("a, b", "a, b", ("a", "b")),
        ("2*a = b", "2*a", ("a", "b")),
        ("a = 0.1", "0", ("a", "b")),
        ("18-24 = a", "18-24", ("a", "b")),
        ("a = b", "", ("a", "b")),
    ],
)
def test_text_of_two_meanings_is_refused(text, label, others):
    with pytest.raises(ldp.InvalidArgument, match=re.escape(f"write p[{label}]")):
        read(text, label, *others)
    with pytest.raises(ldp.InvalidArgument, match="ambiguous"):
        read([text, text], *others, label)
    assert read(f"p[{label}] = 0.5", label, *others) == ([[1.0, 0.0, 0.0]], [0.5])


@pytest.mark.parametrize(
    "text",
    [
        "",
        ["a = b", ""],
        "a = = b",
        "(",
        "a = b,",
        "a = c",
        "1 = 1",
        "a * b = 1",
        "a / 0 = 1",
        "a = 1e999",
        "p[a] = b",
        "a ~ b",
    ],
)
def test_text_that_cannot_be_read_is_refused(text):
    with pytest.raises(ldp.InvalidArgument, match="hypothesis=") as caught:
        read(text, "a", "b")
    assert "for example" in caught.value.remedy or "finite" in caught.value.remedy


def test_names_that_the_text_lacks_do_not_matter():
    labels = [f"w{i}" for i in range(20_000)]
    R, value = linear_hypothesis("w19999 - w1 / 2 = w1 = .1, w7", pd.Index(labels))
    assert value.tolist() == [0.0, 0.1, 0.0]
    assert [np.flatnonzero(row).tolist() for row in R] == [[1, 19_999], [1], [7]]
    assert R[:, [1, 7, 19_999]].tolist() == [[-1.5, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    with pytest.raises(ldp.InvalidArgument, match="cannot be read"):
        linear_hypothesis("w20000 = w1", pd.Index(labels))
    with pytest.raises(ldp.InvalidArgument, match="ambiguous"):
        linear_hypothesis("w1-w2 = 0", pd.Index([*labels, "w1-w2"]))
    with pytest.raises(ldp.InvalidArgument, match="written alike"):
        linear_hypothesis("p[1] = p[2]", pd.Index([1, "1", 2], dtype=object))


def test_any_text_is_read_or_refused():
    rng = np.random.default_rng(1)
    pieces = ["a", "b", " ", "=", "-", "+", "*", "/", ",", "(", ")", "1", "0.5", "p[", "p[a]", "]"]
    outcomes = []
    for length in rng.integers(0, 7, 300):
        try:
            R, value = read("".join(rng.choice(pieces, length)), "a", "b")
        except ldp.InvalidArgument:
            outcomes.append(False)
        else:
            outcomes.append(True)
            assert np.isfinite(R).all() and np.isfinite(value).all()
    assert any(outcomes) and not all(outcomes)


@pytest.mark.parametrize(
    "hypothesis",
    [np.empty((0, 2)), [1, 2, 3], [[10**400, 0]], ([1, 0], [1, 2]), None, {"a": 1}, ("a = b", "b")],
)
def test_arrays_that_do_not_fit_are_refused(hypothesis):
    with pytest.raises(ldp.InvalidArgument, match="hypothesis"):
        linear_hypothesis(hypothesis, pd.Index(["a", "b"]))


def test_results_take_either_form():
    krr = ldp.KRR(("a", "b", "a-b"), epsilon=1.0)
    results = ldp.FrequencyModel(krr.counts([50, 30, 20])).fit()
    assert results.wald_test("p[a-b] = p[a]").pvalue == results.wald_test([1, 0, -1]).pvalue
    assert results.wald_test("a - b").pvalue == results.wald_test([1, -1, 0]).pvalue
    with pytest.raises(ldp.InvalidArgument, match="ambiguous"):
        results.wald_test("a-b = 0")
