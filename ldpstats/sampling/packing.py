"""Bits packed into bytes: their sums and their values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import I64, U8

__all__ = ["cell_sums", "column_sums", "unpack"]

_ROWS = 1 << 16  # reports whose cells are converted at a time
_TURNS = 4  # cells that take turns where there is one: an addition need not wait for the last

_SPREAD = np.unpackbits(np.arange(256, dtype=np.uint8), bitorder="little").view(np.uint64)


def column_sums(packed: U8, n_bits: int) -> I64:
    """Count, for each bit, the reports in which it is 1."""
    return np.asarray(cell_sums(packed, n_bits, None, 1)[0])


def cell_sums(packed: U8, n_bits: int, cell: npt.NDArray[np.integer] | None, n_cells: int) -> I64:
    """Count, for each cell and bit, (n_cells, n_bits), the reports of the cell in which it is 1.

    `cell` has the cell of each report, (n,), all below `n_cells`; None where there is one.
    """
    _check_packed(packed, n_bits)
    if packed.size >= 8 * samplers.LARGE:
        return _compiled_sums(packed, cell, n_cells)[:, :n_bits]
    total = np.zeros((n_cells, 8 * packed.shape[1]), dtype=np.int64)
    if cell is None:
        _add(packed, total[0])
    else:
        order = np.argsort(cell, kind="stable")
        ends = np.cumsum(np.bincount(cell, minlength=n_cells))
        for c, part in enumerate(np.split(packed[order], ends[:-1])):
            _add(part, total[c])
    return total[:, :n_bits]


def _add(packed: U8, total: I64) -> None:
    for start in range(0, len(packed), 255):  # a sum of 255 bits fits a byte
        bits = np.unpackbits(packed[start : start + 255], axis=1, bitorder="little")
        total += bits.sum(axis=0, dtype=np.uint8)


def _compiled_sums(packed: U8, cell: npt.NDArray[np.integer] | None, n_cells: int) -> I64:
    from ldpstats.kernels.sums import add_bits

    C, n_bytes = n_cells if cell is not None else _TURNS, packed.shape[1]
    lanes, filled = np.zeros((C, n_bytes), dtype=np.uint64), np.zeros(C, dtype=np.int64)
    total = np.zeros((C, 8 * n_bytes), dtype=np.int64)
    turns = np.arange(_ROWS, dtype=np.int32) % _TURNS
    for start in range(0, len(packed), _ROWS):
        part = np.ascontiguousarray(packed[start : start + _ROWS]).reshape(-1)
        part.flags.writeable = False  # as the memory of Arrow is: one type, compiled once
        own = turns if cell is None else cell[start : start + _ROWS].astype(np.int32, copy=False)
        own = np.ascontiguousarray(own[: part.size // n_bytes])
        own.flags.writeable = False
        add_bits(part, own, _SPREAD, lanes, filled, total)
    total += lanes.view(np.uint8)
    return total if cell is not None else total.sum(axis=0, keepdims=True)


def unpack(packed: U8, n_bits: int) -> npt.NDArray[np.bool_]:
    """Return packed reports as one boolean a bit."""
    _check_packed(packed, n_bits)
    return np.unpackbits(packed, axis=1, bitorder="little", count=n_bits).view(np.bool_)


def _check_packed(packed: U8, n_bits: int) -> None:
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-n_bits // 8):
        raise InvalidArgument(
            "packed", packed, f"must be uint8 of shape (n, {-(-n_bits // 8)}) for {n_bits} bits"
        )
