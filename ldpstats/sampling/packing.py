"""Bits packed into bytes: their sums and their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.kernels import in_numpy, repaid
from ldpstats.sampling.samplers import I64, U8

__all__ = ["CellSums", "cell_sums", "column_sums", "unpack"]

_ROWS = 1 << 16  # reports whose cells are converted at a time
_SECONDS = 4e-9  # of numpy, for the bits of a byte
_SORTED = 5e-8  # twice those of numpy where it sorts by cell, as more parts are likely to follow
_TURNS = 4  # rows that take turns where there is one cell: an addition need not wait for the last

_TURNING = np.arange(_ROWS, dtype=np.int32) % _TURNS


def column_sums(packed: U8, n_bits: int) -> I64:
    """Count, for each bit, the reports in which it is 1."""
    return np.asarray(cell_sums(packed, n_bits, None, 1)[0])


def cell_sums(packed: U8, n_bits: int, cell: npt.NDArray[np.integer] | None, n_cells: int) -> I64:
    """Count, for each cell and bit, (n_cells, n_bits), the reports of the cell in which it is 1.

    `cell` has the cell of each report, (n,), all below `n_cells`; None where there is one.
    """
    sums = CellSums(n_bits, n_cells)
    sums.add(packed, cell)
    return sums.total()


class CellSums:
    """Running sums of the bits of each cell, over packed reports that come in parts."""

    def __init__(self, n_bits: int, n_cells: int) -> None:
        self.n_bits, self.n_cells = n_bits, n_cells
        self._rows = n_cells if n_cells > 1 else _TURNS
        self._seen = np.zeros(self._rows, dtype=np.int64)
        self._few = np.zeros((self._rows, 8 * -(-n_bits // 8)), dtype=np.int64)
        self._many: _Many | None = None  # where there are many reports

    def add(self, packed: U8, cell: npt.NDArray[np.integer] | None) -> None:
        """Add reports and the cell of each, (n,); None where all are of the first."""
        if self.n_cells == 1:
            cell = None
        elif cell is None:
            cell = np.zeros(len(packed), dtype=np.int32)
        seconds = _SECONDS if cell is None else _SORTED
        if self._many is not None or repaid("sums", packed.size * seconds):
            self._many = self._many or _Many(self._rows, -(-packed.shape[1] // 8), self._seen)
            self._many.add(packed, cell)
            return
        with in_numpy("sums"):
            cells, parts, n = [0], [packed], len(packed)
            if cell is not None:
                order = np.argsort(cell, kind="stable")
                cells, starts, n = np.unique(cell[order], return_index=True, return_counts=True)
                parts = np.split(packed[order], starts[1:])
            for c, part in zip(cells, parts, strict=False):
                for start in range(0, len(part), 255):  # a sum of 255 bits fits a byte
                    bits = np.unpackbits(part[start : start + 255], axis=1, bitorder="little")
                    self._few[c] += bits.sum(axis=0, dtype=np.uint8)
            self._seen[cells] += n

    def reports(self) -> I64:
        """The number of reports that were added, of each cell, shape (n_cells,)."""
        return self._seen if self.n_cells > 1 else self._seen.sum(keepdims=True)

    def total(self, cells: Any = slice(None)) -> I64:
        """The sums of all that was added, shape (n_cells, n_bits), or of some cells."""
        rows = cells if self.n_cells > 1 else slice(None)
        total = self._few[rows, : self.n_bits]
        if self._many is not None:
            total = total + self._many.total(rows)[:, : self.n_bits]
        return total if self.n_cells > 1 else total.sum(axis=0, keepdims=True)[cells]


class _Many:
    """Compiled sums of reports of so many 64-bit words; `seen`, (n_cells,), counts them."""

    def __init__(self, n_cells: int, n_words: int, seen: I64) -> None:
        self.lanes = np.zeros((n_cells, 8 * n_words), dtype=np.uint64)
        self.sums = np.zeros((n_cells, 64 * n_words), dtype=np.int64)
        self.seen = seen

    def add(self, packed: U8, cell: npt.NDArray[np.integer] | None) -> None:
        from ldpstats.kernels.sums import add_bits

        for start in range(0, len(packed), _ROWS):
            some = packed[start : start + _ROWS]
            spare = -some.shape[1] % 8  # whole words, aligned: a view where they are that
            some = np.pad(some, ((0, 0), (0, spare))) if spare else np.ascontiguousarray(some)
            words = np.require(some.view(np.uint64), requirements="A")
            own = _TURNING[: len(words)]
            if cell is not None:
                own = cell[start : start + _ROWS].astype(np.int32, copy=False)
                own = np.ascontiguousarray(own)
            words = words.reshape(-1)
            for array in (words, own):  # as the memory of Arrow is: one type, compiled once
                array.flags.writeable = False
            add_bits(words, own, self.lanes, self.seen, self.sums)

    def total(self, rows: Any) -> I64:
        """The sums of some cells, in the order of the bits: bit j of byte b is in lane (j, b)."""
        lanes = self.sums[rows] + self.lanes[rows].view(np.uint8)
        each = lanes.reshape(len(lanes), lanes.shape[1] // 64, 8, 8).swapaxes(2, 3)
        return np.ascontiguousarray(each).reshape(lanes.shape)


def unpack(packed: U8, n_bits: int) -> npt.NDArray[np.bool_]:
    """Return packed reports as one boolean a bit."""
    return np.unpackbits(packed, axis=1, bitorder="little", count=n_bits).view(np.bool_)
