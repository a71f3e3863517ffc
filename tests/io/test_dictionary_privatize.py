"""Strings of a file made into reports of a dictionary survey."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from shared.dictionary_files import COLUMNS, HONEST, SURVEY, reports
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
def test_the_true_column_is_not_copied(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("secret,sex\n" + "abcade,f\n" * 40)
    out = tmp_path / f"r{suffix}"
    io.privatize_strings(path, out, "secret", SURVEY.collector(), keep=["sex"])
    frame = pd.concat(io.read_columns(out, [*COLUMNS, "sex"]))
    kept = io.read_columns(out, ["secret"])
    with pytest.raises(ldp.InvalidArgument, match="no such column"):
        next(kept)
    assert not frame.astype(str).isin(["abcade"]).any().any()
    # without noise there were three grams; k-RR of epsilon 3 lies with probability .6, and so 80
    # grams are among them with probability .4^80
    assert not frame["gram_1"].isin(["ab", "ca", "de"]).all()


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


def test_given_entropy_gives_given_reports(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("word\n" + "abcade\n" * 500)
    made = []
    for seed in (1, 1, 2):
        client = SURVEY.collector(rng(seed).bytes)
        io.privatize_strings(path, tmp_path / "r.csv", "word", client, force=True)
        made.append((tmp_path / "r.csv").read_bytes())
    assert made[0] == made[1] != made[2]


def test_a_kept_column_remembers_its_mechanism(tmp_path: Path) -> None:
    warner = ldp.Warner(epsilon=1.0)
    pd.DataFrame({"word": WORDS, "ill": ["no", "yes"] * 2}).to_parquet(tmp_path / "a.parquet")
    how: dict[str, Any] = {"name": "ill", "keep": ["word"]}
    step, path = tmp_path / "step.parquet", tmp_path / "r.parquet"
    io.privatize_file(tmp_path / "a.parquet", step, "ill", warner.collector(), **how)
    io.privatize_strings(step, path, "word", SURVEY.collector(), keep=["ill"])
    assert io.read_counts(path, warner, "ill").nobs == 4
    with pytest.raises(ldp.MechanismMismatch, match="'ill'"):
        io.read_counts(path, ldp.Warner(epsilon=2.0), "ill")


# -- size ------------------------------------------------------------------------------------------


def test_memory_of_privatising_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(n: int) -> int:
        path = tmp_path / f"{n}.csv"
        path.write_text("word\n" + "abcade\nbad\n" * (n // 2))
        client = SURVEY.collector()
        tracemalloc.start()
        done = io.privatize_strings(path, tmp_path / f"r{n}.csv", "word", client, chunk_rows=1000)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert done == (n, 0)
        return used

    peak(2000)  # whatever is imported or cached at first
    assert peak(12_000) < 1.5 * peak(3000)


def test_progress_is_told(tmp_path: Path) -> None:
    path = table_file(tmp_path / "a.parquet", pd.DataFrame({"word": ["bad"] * 90}))
    for call in (
        lambda **how: io.privatize_strings(
            path, tmp_path / "r.parquet", "word", SURVEY.collector(), **how
        ),
        lambda **how: io.read_dictionary_reports(tmp_path / "r.parquet", SURVEY, **how),
    ):
        told: list[float] = []
        call(chunk_rows=30, advance=told.append)
        assert told == pytest.approx([1 / 3, 2 / 3, 1.0])


# -- arguments -------------------------------------------------------------------------------------

CLIENT = SURVEY.collector()
MADE = reports(SURVEY, 3)
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a survey for a client": (lambda f: io.privatize_strings(f, "o.csv", "w", SURVEY), "client="),
    "another client": (
        lambda f: io.privatize_strings(f, "o.csv", "w", ldp.Warner(epsilon=1.0).collector()),
        "client=",
    ),
    "keep is text": (lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep="id"), "keep="),
    "keep the truth": (
        lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep=["w"]),
        "never copied",
    ),
    "keep twice": (
        lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep=["id", "id"]),
        "must be distinct names",
    ),
    "keep a name of the reports": (
        lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep=["string"]),
        "none of the reports' own",
    ),
    "keep what is not there": (
        lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, keep=["x"]),
        "no such column",
    ),
    "no such answers": (lambda f: io.privatize_strings(f, "o.csv", "x", CLIENT), "no such column"),
    "na is text": (lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, na="NA"), "na='NA'"),
    "missing": (lambda f: io.privatize_strings(f, "o.csv", "w", CLIENT, missing="no"), "missing="),
    "in place": (
        lambda f: io.privatize_strings(f, f, "w", CLIENT, force=True),
        "is the file that is read",
    ),
    "no format": (lambda f: io.privatize_strings(f, "o.txt", "w", CLIENT), "known format"),
    "only missing": (
        lambda f: io.privatize_strings(f, "o.csv", "none", CLIENT, missing="count"),
        "holds no answer",
    ),
    "write no survey": (lambda f: io.write_survey(ldp.Warner(epsilon=1.0), "s.json"), "survey="),
    "write to a number": (lambda f: io.write_survey(SURVEY, 3), "path=3"),
    "read a number": (lambda f: io.read_survey(3), "path=3"),
    "read nothing": (lambda f: io.read_survey("none.json"), "no such file"),
    "write other reports": (lambda f: io.write_dictionary_reports(MADE.string, "o.csv"), "reports"),
    "write numbers late": (lambda f: io.write_dictionary_reports([MADE, 2], "o.csv"), "reports=2"),
    "write no reports": (lambda f: io.write_dictionary_reports([], "o.csv"), "are none"),
    "a mechanism for a survey": (
        lambda f: io.read_dictionary_reports(f, ldp.Warner(epsilon=1.0)),
        "survey=",
    ),
    "four columns": (
        lambda f: io.read_dictionary_reports(f, SURVEY, columns=list("abcd")),
        "columns=.*five distinct",
    ),
    "a column twice": (
        lambda f: io.read_dictionary_reports(f, SURVEY, columns=list("abcda")),
        "columns=.*five distinct",
    ),
    "columns of text": (
        lambda f: io.read_dictionary_reports(f, SURVEY, columns="abcde"),
        "columns='abcde'",
    ),
    "no columns": (lambda f: io.read_dictionary_reports(f, SURVEY, columns=[]), "columns="),
    "missing reports": (lambda f: io.read_dictionary_reports(f, SURVEY, missing="no"), "missing="),
    "na of reports": (lambda f: io.read_dictionary_reports(f, SURVEY, na="NA"), "na='NA'"),
    "no rows": (lambda f: io.read_dictionary_reports(f, SURVEY, chunk_rows=0), "chunk_rows=0"),
    "no such table": (lambda f: io.read_dictionary_reports("x.csv", SURVEY), "no such file"),
    "answers for reports": (lambda f: io.read_dictionary_reports(f, SURVEY), "no such column"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,w,none,string\n1,bad,,x\n2,c,,y\n")
    call, says = WRONG[name]
    with pytest.raises(ldp.InvalidArgument, match=says):
        call(Path("a.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
