"""Long columns are read by Arrow to the same codes, and the same errors, as short ones."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ldpstats import labels as distinct
from ldpstats.errors import InvalidArgument
from ldpstats.labels import as_labels, encode, matched

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


MIXED = [1, True, 1.0, "1", None, float("nan"), "no", 2, "x", pd.NA, np.str_("x"), np.int64(2)]


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        (("x", 1, "no"), MIXED),
        ((1, 2, 5), MIXED),
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
