"""Weighted frequencies of a complex sample in Parquet, beside DuckDB's own query of the same sums.

    python benchmarks/complex_speed.py FOLDER [--rows N] [--strata H] [--units U] [--categories K]

FOLDER gets the data, about 1 GB for a hundred million rows, and keeps them for the next run. Both
take turns in one process; the figures are the shortest of several runs, in seconds of the clock.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import ldpstats as ldp

__all__ = ["made", "main"]

REPEATS = 3
FACTOR, SECONDS = 2.0, 2.0  # the aim: at most so many times DuckDB's time, and so many seconds more


def made(folder: Path, rows: int, strata: int, units: int, k: int) -> Path:
    """A file of `rows` respondents; units number evenly, weights differ by stratum and person."""
    path = folder / f"complex_{rows}_{strata}_{units}_{k}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        duckdb.sql(f"""
            COPY (
                SELECT (unit % {strata})::SMALLINT AS stratum, unit, answer,
                       round((1 + unit % 7) * (0.5 + (noise % 1000) / 1000.0), 3)::DOUBLE AS weight
                FROM (
                    SELECT (hash(i) % {units})::INTEGER AS unit,
                           (hash(i + {rows}) % {k})::INTEGER AS answer,
                           hash(i + {2 * rows}) AS noise
                    FROM range({rows}) AS t(i)
                )
            ) TO '{path}' (FORMAT parquet)
        """)
    return path


def query(path: Path) -> Any:
    """What DuckDB itself takes for the sums."""
    return duckdb.sql(f"""
        SELECT stratum, unit, answer, count(*), sum(weight), sum(weight * weight)
        FROM read_parquet('{path}') GROUP BY ALL
    """).to_arrow_table()


def frequencies(path: Path, k: int) -> Any:
    """Everything from the name of the file to estimates with standard errors."""
    survey = ldp.Survey(
        str(path), {"answer": ldp.KRR(k, 1.0)}, weights="weight", strata="stratum", clusters="unit"
    )
    return survey.frequencies("answer").bse


def fastest(candidates: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest time of each, in turns."""
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(REPEATS):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            found[name].append(time.perf_counter() - start)
    return {name: min(times) for name, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--strata", type=int, default=1000)
    parser.add_argument("--units", type=int, default=20_000)
    parser.add_argument("--categories", type=int, default=100)
    asked = parser.parse_args()
    path = made(asked.folder, asked.rows, asked.strata, asked.units, asked.categories)
    times = fastest(
        {"query": lambda: query(path), "survey": lambda: frequencies(path, asked.categories)}
    )
    limit = FACTOR * times["query"] + SECONDS
    verdict = "met" if times["survey"] <= limit else "MISSED"
    print(f"{asked.rows:,} rows, {asked.strata:,} strata, {asked.units:,} units, "
          f"{asked.categories} categories")  # fmt: skip
    print(f"  DuckDB's query        {times['query']:6.2f} s")
    print(f"  survey.frequencies    {times['survey']:6.2f} s, {limit:.2f} s at most: {verdict}")


if __name__ == "__main__":
    main()
