"""Tables that tests write, and whether what is read back is the same."""

import stat
from collections import Counter
from pathlib import Path
from typing import Any

import grid
import numpy as np
import pandas as pd

import ldpstats as ldp

FORMATS = (".csv", ".csv.gz", ".parquet")


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def text_file(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8"))
    return path


def table_file(path: Path, table: pd.DataFrame) -> Path:
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False, lineterminator="\n")
    return path


def answers(mechanism: ldp.Mechanism, n: int, seed: int = 1) -> Any:
    """Answers drawn from all categories, or from the grid's candidates."""
    labels = mechanism.labels(grid.candidates(mechanism))
    return labels[rng(seed).integers(0, len(labels), n)]


def same(a: Any, b: Any) -> bool:
    """Whether two counts hold the same reports as often."""
    if isinstance(a, ldp.BitCounts):
        return np.array_equal(a.ones, b.ones) and np.array_equal(a.reports, b.reports)
    if a.y.ndim == 1:
        return np.array_equal(a.vector(), b.vector())
    return rows(a) == rows(b)


def rows(counts: ldp.Counts) -> Counter[tuple[int, bytes]]:
    """How often each pattern of each cohort; those wider than 64 bits are kept one by one."""
    cohort = [0] * len(counts.n) if counts.cohort is None else counts.cohort.tolist()
    total: Counter[tuple[int, bytes]] = Counter()
    for c, pattern, n in zip(cohort, counts.y, counts.n.tolist(), strict=True):
        total[c, pattern.tobytes()] += n
    return total


def names(folder: Path) -> list[str]:
    """What lies in the folder."""
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
