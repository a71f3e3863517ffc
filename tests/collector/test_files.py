"""Files of sheets, as Parquet: merged, copied, damaged, of 0.2.0, and as `Survey` reads them."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import sqlite3
import tracemalloc
from collections import Counter
from contextlib import closing
from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest
from shared.collecting import collecting, people, questionnaire, sent

import ldpstats as ldp
from ldpstats.collector import collect
from ldpstats.collector.app import opened_desk
from ldpstats.collector.files import BatchWriter
from ldpstats.collector.store import Store
from ldpstats.errors import InvalidArgument, LDPWarning

SHEET = questionnaire()


def filled(folder: Path, files: int = 4, each: int = 25, finish: bool = True) -> list[Path]:
    """A folder with files of sheets, and five sheets that wait."""
    desk = opened_desk(SHEET, folder)
    sheets = list(map(desk.checks.read, sent(SHEET, people(files * each + 5, 1), 2)))
    with closing(desk.intake.store) as store:
        for i in range(files):
            store.add(sheets[i * each : (i + 1) * each])
            assert store.batch() == each
        store.add(sheets[-5:])
        if finish:
            store.batch()
    return sorted(folder.glob("*.parquet"))


def rows(folder: Path) -> Counter[tuple[str, ...]]:
    table = pd.concat([pd.read_parquet(file) for file in folder.glob("*.parquet")])
    return Counter(table.itertuples(index=False, name=None))


def test_merged_files_are_the_same_survey_in_another_order(tmp_path: Path) -> None:
    files = filled(tmp_path)
    before = ldp.Survey(tmp_path)
    found, table = rows(tmp_path), pd.concat(map(pd.read_parquet, files), ignore_index=True)
    estimates = before.frequencies("job").params
    collect(SHEET, tmp_path, finish=True)
    (file,) = tmp_path.glob("*.parquet")
    merged = pd.read_parquet(file)
    assert rows(tmp_path) == found and not merged.equals(table)
    assert {*merged.index} == {*range(105)} and file.stat().st_mtime % 3600 == 0
    assert ldp.Survey(tmp_path).frequencies("job").params.equals(estimates)
    assert ldp.Survey(file, SHEET).frequencies("sex").nobs == 105


def test_readers_count_once_what_is_merged(tmp_path: Path) -> None:
    """The collector is killed when the whole is there and its parts are too."""
    parts = filled(tmp_path)
    child = os.fork()
    if child == 0:
        store = opened_desk(SHEET, tmp_path).intake.store
        Store._remove_replaced = lambda store: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        store.merge()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(list(tmp_path.glob("*.parquet"))) == len(parts) + 1
    assert len(ldp.Survey(tmp_path)) == 105 and len(ldp.Survey(parts, SHEET)) == 105
    collect(SHEET, tmp_path, finish=True)
    assert len(list(tmp_path.glob("*.parquet"))) == 1 and len(ldp.Survey(tmp_path)) == 105


def test_readers_count_once_what_0_2_0_wrote(tmp_path: Path) -> None:
    """Its files have no mark of their own: the merged one has their names."""
    old, *_ = filled(tmp_path / "sheets")
    plain = tmp_path / "sheets-2026-11-01T10-0123456789abcdef.parquet"
    pyarrow.parquet.write_table(
        pyarrow.parquet.read_table(old).replace_schema_metadata(None), plain
    )
    BatchWriter(SHEET, SHEET.client_document()).merge([plain], tmp_path / "all.parquet")
    n = len(pd.read_parquet(old))
    assert len(ldp.Survey([plain, tmp_path / "all.parquet"], SHEET)) == n
    assert len(ldp.Survey(plain, SHEET)) == n


def test_a_copy_counts_once_and_damage_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = filled(tmp_path)
    shutil.copy(first, tmp_path / "a copy.parquet")
    with pytest.warns(LDPWarning, match="holds the same sheets as .*: remove one of them"):
        assert len(ldp.Survey(tmp_path)) == 105
    second.write_bytes(second.read_bytes()[:-40])
    with pytest.raises(InvalidArgument, match="may be damaged or cut off"):
        ldp.Survey(tmp_path)
    with collecting(tmp_path) as sender:
        health = sender.get("/health")
        assert (health.status, health.json()["healthy"]) == (200, False)
        named = [f"a copy.parquet: is a copy of {first.name}: remove it"]
        assert health.json()["errors"] == [*named, f"{second.name}: was changed or cut off"]
        assert sender.get("/counts").json()["sheets"] == 105
    capfd.readouterr()
    collect(SHEET, tmp_path, finish=True)
    said = capfd.readouterr().err.splitlines()
    gone = "a copy.parquet: was merged into another file: remove it"  # when the collector stopped
    assert said == [f"ldpstats: warning: {text}" for text in (gone, health.json()["errors"][1])]


def test_tokens_that_are_forgotten_are_said_to_be(tmp_path: Path) -> None:
    filled(tmp_path)
    shutil.rmtree(tmp_path / ".collecting")
    for how in ({}, {"finish": True}):
        with pytest.raises(InvalidArgument, match=r"--forget-tokens \(forget_tokens=True\)"):
            with (
                collecting(tmp_path, **how) if not how else closing(collect(SHEET, tmp_path, **how))
            ):
                pass
    with collecting(tmp_path, forget_tokens=True) as sender:
        assert sender.get("/counts").json()["sheets"] == 105
        assert sender.get("/health").json() == {"healthy": True, "errors": []}


def test_a_folder_of_the_version_before(tmp_path: Path) -> None:
    """Files, tokens and sheets that wait, as 0.2.0 leaves them; one is in a file."""
    for number, file in enumerate(filled(tmp_path, 2, 20, finish=False)):
        file.rename(tmp_path / f"sheets-2026-11-01T10-{number:016x}.parquet")
    base = tmp_path / ".collecting" / "sheets.db"
    with closing(sqlite3.connect(base)) as database, database:
        done = [token for (token,) in database.execute("SELECT token FROM done")]
        texts = database.execute("SELECT content FROM sheets WHERE content > ZEROBLOB(1000)")
        waits = [text[1:].rstrip(b"\0").decode() for (text,) in texts]
        for name in ("sheets", "tokens", "files", "forgotten", "done"):
            database.execute(f"DROP TABLE {name}")
        database.execute("CREATE TABLE done (token BLOB PRIMARY KEY) WITHOUT ROWID")
        rest = done[1:]
        database.executemany("INSERT INTO done VALUES (?)", [(token,) for token in rest])
        table = "waiting (token BLOB PRIMARY KEY, sheet TEXT NOT NULL, batch TEXT) WITHOUT ROWID"
        database.execute(f"CREATE TABLE {table}")
        placed = (done[0], waits[0], "sheets-2026-11-01T10-0000000000000001.parquet")
        left = [(os.urandom(16), text, "none.parquet") for text in waits]
        database.executemany("INSERT INTO waiting VALUES (?, ?, ?)", [placed, *left])
    store = opened_desk(SHEET, tmp_path).intake.store
    assert (store.stored, store.waiting, store.faults) == (40, 5, {})
    store.close()
    collect(SHEET, tmp_path, finish=True)
    assert len(ldp.Survey(tmp_path)) == 45


def test_one_field_does_not_fill_the_memory(tmp_path: Path) -> None:
    """Little gzip holds a line of 60 megabytes."""
    path = tmp_path / "sheets.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"job,late,sex\nnurse,no,f\ncook,")
        for _ in range(60):
            file.write(b"x" * 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidArgument, match="a line has more than 16 megabytes"):
            ldp.Survey(path, SHEET).frequencies("job")
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()
    assert path.stat().st_size < 600_000
