"""Tables of privatised answers in Parquet files, of any number of rows, for `engines.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from timing import zipf

import ldpstats as ldp

__all__ = ["FILES", "K", "answers", "labels", "mechanism", "rappor", "reports_of_bits", "sheets"]

K, EPSILON, FILES = 1024, 1.0, 10
REGIONS = ("north", "east", "south", "west")
PART = 10_000_000  # rows that are made at a time


def mechanism(text: bool = False) -> ldp.KRR:
    """k-RR of K labels: numbers, or text such as "job 0017"."""
    return ldp.KRR([f"job {i:04}" for i in range(K)] if text else K, EPSILON)


def rappor() -> ldp.RAPPOR:
    """Reports of 128 bits."""
    return ldp.RAPPOR(n_bits=128, n_hashes=2, n_cohorts=64, f=0.0, p=0.25, q=0.75)


def labels(folder: Path, rows: int, text: bool = False, files: int = FILES) -> list[Path]:
    """Files of reports (`job`) and regions, `rows` in all; those that exist are kept."""
    krr, made = mechanism(text), []
    words = pa.array(krr.labels().tolist()) if text else None
    for number in range(files):
        path = folder / f"part-{number:02}.parquet"
        made.append(path)
        if path.exists():
            continue
        rng = np.random.default_rng([number, rows])
        size = rows // files + (number < rows % files)
        region = rng.choice(len(REGIONS), p=[0.4, 0.3, 0.2, 0.1], size=size).astype(np.int8)
        true = (rng.choice(K, p=zipf(K), size=size) + 7 * region) % K
        y = krr.privatize(true if words is None else words.take(pa.array(true)), rng).y
        codes = pa.array(y.astype(np.uint16))
        job = codes if words is None else pa.DictionaryArray.from_arrays(codes, words)
        where = pa.DictionaryArray.from_arrays(pa.array(region), pa.array(REGIONS))
        _write({"job": job, "region": where}, path, {"job": krr})
    return made


def reports_of_bits(path: Path, rows: int) -> Path:
    """A file of RAPPOR reports, 16 bytes and a cohort each, in the layout of `ldpstats.io`."""
    if not path.exists():
        made, rng = rappor(), np.random.default_rng(rows)
        sizes = [min(PART, rows - start) for start in range(0, rows, PART)]
        words = np.array([f"host{i}.example" for i in range(K)])
        chunks = (made.privatize(words[rng.choice(K, p=zipf(K), size=n)], rng) for n in sizes)
        ldp.io.write_reports(chunks, path)
    return path


def answers(path: Path, rows: int) -> Path:
    """A file of true answers, text of K labels, in the column `job`."""
    if not path.exists():
        codes = np.random.default_rng(rows).choice(K, p=zipf(K), size=rows)
        words = pa.array(mechanism(text=True).labels().tolist())
        _write({"job": words.take(pa.array(codes))}, path, {})
    return path


def sheets(folder: Path, rows: int, files: int = 3) -> Path:
    """Files of whole answer sheets and their questionnaire: labels, two answers, hashed text."""
    sheet = ldp.Questionnaire(
        {"job": ldp.KRR(K, EPSILON), "late": ldp.KRR(("no", "yes"), EPSILON), "host": rappor()}
    )
    folder.mkdir(parents=True, exist_ok=True)
    sheet.to_json(folder / "sheet.json", force=True)
    for number in range(files):
        path = folder / f"part-{number:02}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng([number, rows])
        size = rows // files + (number < rows % files)
        region = rng.choice(REGIONS, size=size)
        late = np.where(rng.random(size) < 0.2 + 0.3 * (region == "east"), "yes", "no")
        host = np.char.add(np.char.add("host", rng.integers(64, size=size).astype(str)), ".example")
        answered = {"job": rng.choice(K, p=zipf(K), size=size), "late": late, "host": host}
        columns = {"region": pa.array(region)}
        for name, values in answered.items():
            columns |= _reported(name, sheet[name].privatize(values, rng))
        _write(columns, path, {name: sheet[name] for name in answered})
    return folder


def _reported(name: str, reports: ldp.Reports) -> dict[str, pa.Array]:
    """The columns of reports, in the layout of `ldpstats.io`."""
    if reports.cohort is None:
        labels = reports.mechanism.labels()
        if isinstance(labels, pd.RangeIndex):
            return {name: pa.array(reports.y)}
        codes = pa.array(reports.y)
        return {name: pa.DictionaryArray.from_arrays(codes, pa.array(labels.tolist()))}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "reports.parquet")
        ldp.io.write_reports(reports, file)
        table = pq.read_table(file).combine_chunks()
    made = {"report": name, "report_cohort": f"{name}_cohort"}
    return {made[column]: table[column].chunk(0) for column in table.column_names}


def _write(columns: dict[str, pa.Array], path: Path, made_by: dict[str, ldp.Mechanism]) -> None:
    """Write a file under another name first, so that one that is cut off is made again."""
    fields = []
    for name, array in columns.items():
        known = made_by.get(name)
        stored = {} if known is None else {"ldpstats.fingerprint": known.fingerprint}
        fields.append(pa.field(name, array.type, metadata=stored))
    table = pa.table(list(columns.values()), schema=pa.schema(fields))
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    pq.write_table(table, unfinished)
    unfinished.rename(path)
