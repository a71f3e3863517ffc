"""Many surveys of one setting: how they are taken, and what of them is counted."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["ALPHA", "FAR", "Cell", "Said", "Taken", "estimates", "fitted", "share", "take"]

Array = npt.NDArray[Any]
Said = dict[str, Any]  # what one survey, or many of them as rows, say by name

ALPHA = 0.05
FAR = 8.0  # a coefficient that no survey of ours has, so that its estimate has diverged
_CHUNK = 20  # surveys that a process takes at a time


class Cell(ABC):
    """One setting: surveys are drawn from it, and their results make a row of a table."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The setting in words."""

    @abstractmethod
    def survey(self, rng: np.random.Generator) -> Said:
        """What one survey says: arrays, of the same shape in each."""

    @abstractmethod
    def row(self, said: Said) -> Mapping[str, Any]:
        """What many surveys say."""


@dataclass(frozen=True)
class Taken:
    """Surveys of a cell: what they say, how many there are, what failed, and CPU seconds."""

    said: Said
    n: int
    failures: tuple[str, ...]
    seconds: float


def take(cell: Cell, surveys: int, seed: int, processes: int = 1) -> Taken:
    """Draw surveys; each has random numbers of its own, whatever the number of processes."""
    chunks = [range(a, min(a + _CHUNK, surveys)) for a in range(0, surveys, _CHUNK)]
    if processes == 1:
        parts = [_some(cell, chunk, seed) for chunk in chunks]
    else:
        with ProcessPoolExecutor(processes) as pool:
            every = [pool.submit(_some, cell, chunk, seed) for chunk in chunks]
            parts = [one.result() for one in every]
    found = [one for part in parts for one in part[0]]
    failures = tuple(text for part in parts for text in part[1])
    said = {name: np.array([one[name] for one in found]) for name in found[0]} if found else {}
    return Taken(said, len(found), failures, sum(part[2] for part in parts))


def _some(cell: Cell, numbers: range, seed: int) -> tuple[list[Said], list[str], float]:
    start, found, failures = time.process_time(), [], []
    for number in numbers:
        try:
            found.append(cell.survey(np.random.default_rng([seed, number])))
        except Exception as error:  # a failure is a result: it is counted and shown
            failures.append(f"survey {number}: {type(error).__name__}: {error}")
    return found, failures, time.process_time() - start


# ---- one fit


def fitted(model: Any, **how: Any) -> tuple[Any, bool]:
    """Results of a model, and whether they came with a warning or a maximum at infinity."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        results = model.fit(disp=False, **how)
    return results, bool(heard) or len(results.infinite) > 0


def flat(table: Any) -> Array:
    """Coefficients as a vector, one equation after the other."""
    if isinstance(table, pd.DataFrame):
        return table.to_numpy(dtype=float).T.reshape(-1)
    return np.asarray(table, dtype=float)


def intervals(results: Any, method: str = "default") -> Array:
    """Ends of the intervals of all coefficients, (p, 2), one equation after the other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(results.conf_int(alpha=ALPHA, method=method), dtype=float)


# ---- what is counted


def share(held: Array) -> Array:
    """Share of the surveys, to three digits."""
    return np.round(np.mean(held, axis=0), 3)


def covered(ends: Array, truth: Array) -> Array:
    """Share of the surveys whose intervals, (R, p, 2), hold the truth: none that is nan does."""
    return share((ends[..., 0] <= truth) & (truth <= ends[..., 1]))


def estimates(said: Said) -> dict[str, Any]:
    """Bias, spread and coverage of estimates, (R, p), by what the surveys call them.

    ``estimate`` and ``truth`` are needed; ``bse``, ``naive`` and all that begins with "interval"
    are shown where they are there. Bias is in standard deviations, and has the standard error
    1 / sqrt(R).
    """
    off = said["estimate"] - said["truth"]
    found = {"bias/SD": off.mean(axis=0) / off.std(axis=0), "SD": off.std(axis=0)}
    if "bse" in said:
        found["SE/SD"] = said["bse"].mean(axis=0) / off.std(axis=0)
    if "naive" in said:
        found["naive bias"] = (said["naive"] - said["truth"]).mean(axis=0)
    found = {name: np.round(value, 3) for name, value in found.items()}
    for name in said:
        if name.startswith("interval"):
            found["coverage" + name.removeprefix("interval")] = covered(said[name], said["truth"])
    return found
