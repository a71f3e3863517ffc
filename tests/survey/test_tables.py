"""Tables of pandas, Polars and Arrow, seen alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ldpstats as ldp

FRAME = pd.DataFrame(
    {
        "text": ["x", None, "y"],
        "count": pd.array([2**60 + 1, None, 3], "Int64"),
        "level": pd.Categorical(["lo", "hi", "lo"], ["lo", "hi"], ordered=True),
        "true": pd.array([True, None, False], "boolean"),
        "real": [1.5, None, 2.0],
    },
    index=pd.Index([5, 5, 7], name="row"),
)


def polars(frame: pd.DataFrame) -> Any:
    """The frame in Polars, with ordered categories."""
    pl = pytest.importorskip("polars", reason="polars is not installed")
    made = pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    if "level" not in frame:
        return made
    return made.with_columns(made.get_column("level").cast(pl.Enum(["lo", "hi"])))


def test_notes_of_pandas_in_arrow_do_not_outlive_their_columns() -> None:
    """Else to_pandas() would make whole numbers of the reports that took their place."""
    table = pa.Table.from_pandas(FRAME)
    sheet = ldp.Questionnaire({"count": ldp.KRAPPOR((2**60 + 1, 3), epsilon=1.0)})
    found = sheet.privatize(table, np.random.default_rng(1)).to_pandas()
    assert found["count"].dropna().map(len).tolist() == [2, 2] and "text" in found
    assert found.index.equals(FRAME.index)
    alone = table.select(["count"])
    assert "row" not in sheet.privatize(alone, np.random.default_rng(1)).to_pandas()
    for notes in (b"?", b"[]", b"{}", b"1"):
        damaged = table.replace_schema_metadata({b"pandas": notes, b"own": b"an answer perhaps"})
        assert not sheet.privatize(damaged, np.random.default_rng(1)).schema.metadata


def test_pandas_on_arrow_is_read_as_arrow() -> None:
    """Also where pandas cannot compute with Arrow's type: dictionaries, nothing, views of text."""
    columns: dict[str, Any] = {
        "band": pa.array(["b", "a", None]).dictionary_encode(),
        "level": pa.DictionaryArray.from_arrays([1, None, 0], ["lo", "hi"], ordered=True),
        "none": pa.nulls(3),
        "view": pa.array(["y", None, "x"], pa.string_view()),
        "count": [2**60 + 1, None, 3],
        "list": [[1], None, [2]],
        "true": [True, None, False],
    }
    given = pa.table(columns)
    frame = given.to_pandas(types_mapper=pd.ArrowDtype).set_axis([5, 5, 7])
    sheet = ldp.Questionnaire({"true": ldp.KRR((False, True), 1.0)})

    def outcome(data: Any, name: str) -> Any:
        try:
            return ldp.Survey(data, sheet).frequencies(name).params.to_dict()
        except ldp.InvalidArgument as error:
            return str(error)

    for name in given.column_names:
        assert outcome(frame, name) == outcome(given, name)
    kept = sheet.privatize(frame, np.random.default_rng(1)).drop(columns="true")
    assert kept.dtypes.equals(frame.drop(columns="true").dtypes)
    assert "column='list': must hold text" in outcome(frame, "list")


class Broken:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError("secret-4711")


NO_TABLES: dict[str, tuple[Any, str]] = {
    "list": ([1], "must be a pandas or Polars DataFrame"),
    "dict": ({"a": [1]}, r"pandas.DataFrame\(...\) of the dict"),
    "array": (np.zeros((2, 2)), "DataFrame"),
    "Series": (pd.Series([1]), "to_frame"),
    "column of Arrow": (pa.chunked_array([[1, 2]]), "reads no table"),
    "broken": (Broken(), "reads no table"),
    "numbered": (pd.DataFrame([[1, 2]]), "0: .*must be text"),
    "two of a name": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a': is the name of two"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table(name: str) -> None:
    given, words = NO_TABLES[name]
    with pytest.raises(ldp.InvalidArgument, match=f"^data=.*{words}") as found:
        ldp.Survey(given, {"a": ldp.Warner(epsilon=1.0)})
    assert "4711" not in str(found.value) and found.value.__context__ is None
