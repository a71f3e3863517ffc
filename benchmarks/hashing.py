"""Strings to cells, against a hash that is called for each string."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from timing import Row, Scale, measure

from ldpstats.sampling.hashing import hash_strings, hashed_cells, own_cells

__all__ = ["hashing"]

COHORTS, CELLS = 64, 128
PART = 1_000_000  # strings that are made, or turned into cells, at a time
HASH, OWN, ALL = "strings to 64 bits", "strings to own cells", "strings to cells of 64 cohorts"
AIMS = {HASH: 5, OWN: 5, ALL: 100}  # times the speed of hashlib
FEW = {HASH: 100_000, OWN: 100_000, ALL: 5_000}  # strings that measure the others well

Keyed = Callable[[bytes, int], int]  # bytes and a seed to a number


def hashing(scale: Scale) -> list[Row]:
    """Time per string to its hash, to its cell in one cohort, and to its cells in all cohorts."""
    strings = distinct_strings(scale.size(10_000_000, 200_000))
    cohort = np.random.default_rng(1).integers(COHORTS, size=len(strings))
    ours: dict[str, Callable[[], object]] = {
        HASH: partial(hash_strings, "values", strings),
        OWN: lambda: own_cells(hash_strings("values", strings), cohort, 1, CELLS),
        ALL: lambda: all_cells(hash_strings("values", strings)),
    }
    spent = measure(ours, scale.size(5, 1))
    rows: list[Row] = []
    for other, keyed in {"hashlib": with_hashlib, "xxhash": xxhash()}.items():
        for what, seconds in spent.items():
            if isinstance(keyed, str):
                rows.append(Row(what, other, keyed))
                continue
            few = strings[: scale.size(FEW[what], 1_000)].tolist()
            jobs = {"job": partial(one_by_one, what, keyed, few, cohort.tolist())}
            own, theirs = seconds / len(strings), measure(jobs, scale.size(5, 1))["job"] / len(few)
            ratio = theirs / own
            figure = (
                f"{ratio:,.3g} x the speed ({own * 1e9:.3g} ns a string, not {theirs * 1e9:,.3g})"
            )
            aim = (f">= {AIMS[what]}", ratio >= AIMS[what]) if other == "hashlib" else ("", None)
            rows.append(Row(what, other, figure, *aim))
    return [*rows, *clients()]


def distinct_strings(n: int) -> pd.Series[Any]:
    """n names of 20 to 31 bytes, made in parts so that only their Arrow buffers stay in memory."""
    parts = []
    for start in range(0, n, PART):
        numbers = range(start, min(start + PART, n))
        names = [f"www.host{i:07}.gov/{'x' * (i % 12)}" for i in numbers]
        parts.append(pa.array(names, pa.large_string()))
    return pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array(parts)))


def all_cells(hashes: np.ndarray) -> int:
    """The cells of all cohorts, made and dropped by parts: together they would take 1.3 GB."""
    parts = [hashes[start : start + PART] for start in range(0, hashes.size, PART)]
    return sum(hashed_cells(part, COHORTS, 1, CELLS).size for part in parts)


def one_by_one(what: str, keyed: Keyed, texts: list[str], cohort: list[int]) -> list[Any]:
    """The same with a hash that takes one string at a time, and the cohort as its seed."""
    if what == HASH:
        return [keyed(text.encode(), 0) for text in texts]
    if what == OWN:
        return [keyed(t.encode(), c) % CELLS for t, c in zip(texts, cohort, strict=False)]
    encoded = (text.encode() for text in texts)
    return [[keyed(text, c) % CELLS for c in range(COHORTS)] for text in encoded]


def with_hashlib(text: bytes, seed: int) -> int:
    """SHA-256 with the seed in front."""
    return int.from_bytes(hashlib.sha256(seed.to_bytes(4, "little") + text).digest()[:8], "little")


def xxhash() -> Keyed | str:
    """The hash that pure-ldp and multi-freq-ldpy call; fast, but not meant to resist anybody."""
    try:
        from xxhash import xxh32
    except ModuleNotFoundError:
        return "not installed"
    return lambda text, seed: xxh32(text, seed).intdigest()  # type: ignore[no-any-return]


def clients() -> Iterator[Row]:
    """What the packages that hash locally say to one value; theirs are numbers, not strings."""

    def pure_ldp() -> object:
        from pure_ldp.frequency_oracles import LHClient

        return LHClient(1.0, 1024, use_olh=True, index_mapper=int).privatise(3)

    def multi_freq_ldpy() -> object:
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client

        return LH_Client(3, 1024, 1.0)

    for name, client in {"multi-freq-ldpy": multi_freq_ldpy, "pure-ldp": pure_ldp}.items():
        try:
            figure = f"{measure({'job': client}, 1_000)['job'] * 1e9:,.3g} ns, noise included"
        except ModuleNotFoundError as error:
            missing = error.name == name.replace("-", "_")
            figure = "not installed" if missing else f"import fails: {error}"
        except Exception as error:  # whatever a package raises is its line in the table
            figure = f"fails: {type(error).__name__}: {str(error).splitlines()[0]}"
        yield Row("local hashing of one value", name, figure)
