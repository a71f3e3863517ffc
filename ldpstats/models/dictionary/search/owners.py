"""Sums over the cells that strings own, for so many strings that their cells are never stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.problems.hash_design import HashDesign
from ldpstats.sampling.hashing import distinct_cells, hash_strings, keys

__all__ = ["OwnedCells"]

Array = npt.NDArray[Any]

_LARGE = 1 << 20  # cells from which compiled loops repay the import of numba
_STORED = 1 << 24  # cells that are stored at a time where the hash is another
_STRINGS = 1 << 18  # strings that are hashed at a time
_ENTRIES = 256  # of a table that cohorts share: with those of other positions it fits a cache


@dataclass(frozen=True, eq=False)
class OwnedCells:
    """The cells that strings own in all cohorts, as far as sums over them go.

    Parameters
    ----------
    mechanism : Hashed
        With an open alphabet; says which cells a string owns.
    strings : array of text, shape (S,)

    Examples
    --------
    >>> import ldpstats as ldp
    >>> orr = ldp.ORR(n_outputs=3, n_cohorts=2, epsilon=1.0)
    >>> orr.cells(["a", "b"])[:, :, 0].tolist()
    [[0, 0], [1, 0]]
    >>> v = np.array([[[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]])
    >>> OwnedCells(orr, np.array(["a", "b"])).sums(v)
    array([[21., 11.]])
    """

    mechanism: Any
    strings: Array

    @staticmethod
    def most(mechanism: Any) -> int:
        """Strings to take at a time."""
        if mechanism.answer_hash.is_compiled:
            return _STRINGS
        return max(_STORED // int(mechanism.n_cohorts * mechanism.n_owned), 1)

    def sums(self, v: Array) -> Array:
        """Sums of K vectors of cells: ``H' v`` of a `HashDesign`."""
        mechanism = self.mechanism
        n_cells = self.strings.size * mechanism.n_cohorts * mechanism.n_owned
        if not mechanism.answer_hash.is_compiled or n_cells < _LARGE:
            return np.array([self._design.owners(values.reshape(-1)) for values in v])
        from ldpstats.kernels.hashing import owner_sums

        out, m = np.empty((len(v), self.strings.size)), np.uint64(mechanism.n_cells)
        own_keys, tables = _tables(mechanism, v)
        owner_sums(self._hashes, own_keys, m, mechanism.n_owned == 1, tables, out)
        return out

    @cached_property
    def _design(self) -> HashDesign:
        m = self.mechanism.n_cells
        cells = self.mechanism.answer_hash.table("strings", pd.Index(self.strings))
        return HashDesign(distinct_cells(cells, m), m)

    @cached_property
    def _hashes(self) -> Array:
        return hash_strings("strings", self.strings)


def _tables(mechanism: Any, v: Array) -> tuple[Array, Array]:
    """Keys and tables of the kernel.

    One hash: the cells of several cohorts are looked up at once, in a table of all their sums.
    """
    C, m, h = mechanism.n_cohorts, mechanism.n_cells, mechanism.n_owned
    own_keys, v = keys(C, h), v.transpose(1, 0, 2)
    if h > 1:
        return own_keys, np.concatenate([v, np.zeros((*v.shape[:2], 1))], axis=2)
    r = max(int(np.log(_ENTRIES) / np.log(m) + 1e-9), 1)
    short = -C % r  # cohorts of zeros fill the last group
    own_keys = np.append(own_keys, np.zeros(short, dtype=np.uint64)).reshape(-1, r)
    v = np.concatenate([v, np.zeros((short, *v.shape[1:]))])
    groups = v.reshape(len(own_keys), r, *v.shape[1:])
    tables = groups[:, 0]
    for i in range(1, r):
        both = tables[:, :, :, None] + groups[:, i, :, None, :]
        tables = both.reshape(*tables.shape[:2], -1)
    return own_keys, np.ascontiguousarray(tables)
