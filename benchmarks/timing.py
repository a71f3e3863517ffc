"""Interleaved timing, aims, and the rows of the table."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

__all__ = [
    "Row",
    "Scale",
    "faster",
    "keep_rows",
    "measure",
    "print_table",
    "reached",
    "warm_allocator",
    "zipf",
]

COLUMNS = ("section", "case", "against", "figure", "machine")


@dataclass(frozen=True)
class Scale:
    """How much to do: the full sizes, or small ones that only show that everything runs."""

    quick: bool

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def aim(self, full: float, quick: float) -> float:
        """The ratio to reach: with small sizes, half of what they gave when it was set."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Row:
    """One line of the table; `met` is None where there is no aim."""

    case: str
    against: str
    figure: str
    aim: str = ""
    met: bool | None = None


def measure(candidates: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median CPU seconds of each candidate.

    The candidates take turns, so that whatever else the machine does falls on all of them. Each
    runs once beforehand: compilation, imports and first touches of memory are not counted.
    """
    for run in candidates.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, run in candidates.items():
            start = time.process_time()
            result = run()
            seconds[name].append(time.process_time() - start)
            del result
    return {name: median(values) for name, values in seconds.items()}


def reached(ratio: float, aim: float) -> bool:
    """Whether a ratio is at least its aim, up to what the same code varies from run to run.

    By a tenth; by a fifth where the aim is below two, since both sides then take about as long.
    """
    return ratio >= aim * (0.8 if aim < 2.0 else 0.9)


def faster(what: str, against: str, ours: float, theirs: float | str, aim: float = 0.0) -> Row:
    """A comparison of seconds per respondent; `theirs` may be the reason why there is none."""
    if isinstance(theirs, str):
        return Row(what, against, theirs)
    ratio = theirs / ours
    figure = f"{ratio:,.3g} x the speed ({ours * 1e9:.3g} ns a respondent, not {theirs * 1e9:,.3g})"
    return Row(what, against, figure, *((f">= {aim:g}", reached(ratio, aim)) if aim else ()))


def warm_allocator() -> None:
    """Make the C library keep the memory of freed arrays for the next ones.

    It maps and unmaps each large array until one of that size has been freed. Pages fresh from the
    system would cost either side about as much as what is to be measured.
    """
    np.ones(31 << 20, dtype=np.uint8)  # 32 MB is the largest size that it adapts to


def zipf(k: int) -> np.ndarray:
    """The distribution of true values in all benchmarks: p_x proportional to 1 / x."""
    weights = 1.0 / np.arange(1, k + 1)
    return weights / weights.sum()


def print_table(rows: list[Row]) -> None:
    """Print rows under aligned headings."""
    head = ("what", "against", "measured", "aim", "met")
    verdict = {True: "yes", False: "NO", None: ""}
    lines = [head, *((r.case, r.against, r.figure, r.aim, verdict[r.met]) for r in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for i, line in enumerate(lines):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )
        if i == 0:
            print("  ".join("-" * width for width in widths))


def keep_rows(
    path: Path, section: str, rows: list[Row], order: Sequence[str], machine: str
) -> None:
    """Store the rows of a section in a CSV file, in the place of those that it had there."""
    kept: list[dict[str, str]] = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            kept = [row for row in csv.DictReader(file) if row["section"] != section]
    for row in rows:
        values = (section, row.case, row.against, row.figure, machine)
        kept.append(dict(zip(COLUMNS, values, strict=True)))
    kept.sort(key=lambda row: order.index(row["section"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
