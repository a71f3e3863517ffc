"""Sums over the cells that strings own, for so many strings that their cells are never stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.designs import HashDesign
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.hashing import distinct_cells, hash_strings, keys

__all__ = ["OwnerSums"]

Array = npt.NDArray[Any]

_LARGE = 1 << 20  # cells from which compiled loops repay the import of numba
_STORED = 1 << 24  # cells that are stored at a time where the hash is another
_STRINGS = 1 << 18  # strings that are hashed at a time
_ENTRIES = 256  # of a table that cohorts share: with those of other positions it fits a cache


@dataclass(frozen=True, eq=False)
class OwnerSums:
    """Sums of vectors over the cells that strings own: ``H' v`` of a `HashDesign`, for K vectors.

    Parameters
    ----------
    mechanism : Hashed
        With an open alphabet; says which cells a string owns.
    v : array, shape (K, C, m)

    Raises
    ------
    InvalidArgument
        Where v has another shape.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> orr = ldp.ORR(n_outputs=3, n_cohorts=2, epsilon=1.0)
    >>> orr.cells(["a", "b"])[:, :, 0].tolist()
    [[0, 0], [1, 0]]
    >>> OwnerSums(orr, np.array([[[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]])).of(np.array(["a", "b"]))
    array([[21., 11.]])
    """

    mechanism: Any
    v: Array

    def __post_init__(self) -> None:
        expected = (self.mechanism.n_cohorts, self.mechanism.n_cells)
        if self.v.ndim != 3 or self.v.shape[1:] != expected:
            raise InvalidArgument("v", self.v.shape, f"must have the shape (K, {expected})")

    @property
    def block(self) -> int:
        """Strings to sum for at a time."""
        if self._is_known:
            return _STRINGS
        return max(_STORED // int(self.mechanism.n_cohorts * self.mechanism.n_owned), 1)

    def of(self, strings: Array) -> Array:
        """Sums for each vector and string, shape (K, S)."""
        mechanism = self.mechanism
        n_cells = strings.size * mechanism.n_cohorts * mechanism.n_owned
        if not self._is_known or n_cells < _LARGE:
            hashed = mechanism.hashes("strings", pd.Index(strings))
            design = HashDesign(distinct_cells(hashed, mechanism.n_cells), mechanism.n_cells)
            return np.array([design.owners(v.reshape(-1)) for v in self.v])
        from ldpstats.hash_kernels import owner_sums

        out = np.empty((len(self.v), strings.size))
        hashes, m = hash_strings("strings", strings), np.uint64(mechanism.n_cells)
        own_keys, tables = self._tables
        owner_sums(hashes, own_keys, m, mechanism.n_owned == 1, tables, out)
        return out

    @property
    def _is_known(self) -> bool:
        """Whether strings are hashed as `ldpstats.mechanisms.hashing` specifies."""
        return getattr(self.mechanism, "hashing", "ldpstats") == "ldpstats"

    @cached_property
    def _tables(self) -> tuple[Array, Array]:
        """Keys and tables of the kernel.

        One hash: the cells of several cohorts are looked up at once, in a table of all their sums.
        """
        C, m, h = self.mechanism.n_cohorts, self.mechanism.n_cells, self.mechanism.n_owned
        own_keys, v = keys(C, h), self.v.transpose(1, 0, 2)
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
