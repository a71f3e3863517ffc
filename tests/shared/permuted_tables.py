"""Cumulants of a table over all permutations, and tables of simulated labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tables.permutation import Cumulants, Spread, moments

Array = npt.NDArray[Any]


def of_table(table: Array) -> Cumulants:
    first, second = (Spread.of_labels(table.sum(axis=axis)) for axis in (1, 0))
    return Cumulants.of_moments(*moments([first, second.scaled(float(table.sum()))]))


def labels(law: Array, n: int, R: int, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng([13, seed])
    for table in rng.multinomial(n, law.ravel(), size=R).reshape(R, *law.shape):
        seen = table[table.any(axis=1)][:, table.any(axis=0)]
        if min(seen.shape) > 1:
            yield seen
