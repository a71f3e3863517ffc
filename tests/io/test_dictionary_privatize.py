"""Strings of a file made into reports of a dictionary survey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from shared.dictionary_files import COLUMNS, HONEST, SURVEY
from shared.written_tables import FORMATS, rng, table_file

import ldpstats as ldp
from ldpstats import io

WORDS = ["abcade", "bad", "c", "eedabcde"]  # the last one loses its end

# -- privatising a file ----------------------------------------------------------------------------


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_rows_keep_their_order(source: str, target: str, tmp_path: Path) -> None:
    told = np.array(WORDS, dtype=object)[rng().integers(0, 4, 300)]
    told[::50] = None
    path = table_file(tmp_path / f"a{source}", pd.DataFrame({"id": range(300), "word": told}))
    out = tmp_path / f"r{target}"
    how: dict[str, Any] = {"keep": ["id"], "missing": "count", "chunk_rows": 70}
    done = io.privatize_strings(path, out, "word", HONEST.collector(), **how)
    assert done == (294, 6)
    columns = pd.concat(io.read_columns(out, [*COLUMNS, "id"]), ignore_index=True)
    assert columns["id"].astype(int).tolist() == list(range(300))
    assert np.flatnonzero(columns["gram_1"].isna()).tolist() == list(range(0, 300, 50))
    again = io.read_dictionary_reports(out, HONEST, missing="count")
    assert len(again) == 294 and again.n_missing == 6
    padded = [word[:6].ljust(6) for word in told if word is not None]
    frame = again.to_frame()
    for side in ("1", "2"):  # each is false with a probability below 31 e^-40 = 2e-16
        each = zip(padded, frame["start_" + side], frame["gram_" + side], strict=True)
        for word, start, gram in each:
            assert gram == word[start : start + 2]
    # equal strings of a cohort have equal labels, and of the four at most 1 in 65,536 pairs agree
    labels = frame["string"].groupby([padded, frame["string"].str.split(":").str[0]]).nunique()
    assert (labels == 1).all()


@pytest.mark.parametrize("suffix", FORMATS)
def test_missing_answers_are_empty_rows(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,word\n1,bad\n2,\n3,NA\n4,c\n")
    out = tmp_path / f"r{suffix}"
    with pytest.raises(ldp.InvalidArgument, match=r"a\.csv, column 'word', row 2=None: is missing"):
        io.privatize_strings(path, out, "word", HONEST.collector())
    how: dict[str, Any] = {"missing": "count", "na": ["NA"]}
    for chunk_rows in (100, 2, 1):  # one row: chunks of missing answers alone
        how |= {"chunk_rows": chunk_rows, "force": True}
        assert io.privatize_strings(path, out, "word", HONEST.collector(), **how) == (2, 2)
        gone = pd.concat(io.read_columns(out, COLUMNS)).isna().to_numpy()
        assert gone.tolist() == [[False] * 5, [True] * 5, [True] * 5, [False] * 5]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for row, says in (
        ("zebra", r"a\.csv, column 'word', row 6=\(not shown\): must be a string, not empty, of"),
        ("", r"row 6=None: is missing"),
    ):
        path.write_text("id,word\n" + "1,bad\n" * 5 + f"6,{row}\n7,c\n")
        for chunk_rows in (100, 4, 1):
            with pytest.raises(ldp.InvalidArgument, match=says):
                io.privatize_strings(
                    path, tmp_path / "r.csv", "word", SURVEY.collector(), chunk_rows=chunk_rows
                )
        assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("values", "says"),
    [(["bad", ""], r"row 2=\(not shown\): .*not empty"), ([1, 2], r"row 1=.*: must be a string")],
)
def test_answers_of_parquet_that_are_no_strings(
    values: list[Any], says: str, tmp_path: Path
) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"word": values}), tmp_path / "a.parquet")
    with pytest.raises(ldp.InvalidArgument, match=says):
        io.privatize_strings(tmp_path / "a.parquet", tmp_path / "r.csv", "word", SURVEY.collector())


# -- size ------------------------------------------------------------------------------------------


# -- arguments -------------------------------------------------------------------------------------
