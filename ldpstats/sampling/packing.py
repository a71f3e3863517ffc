"""Bits packed into bytes: their sums and their values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.kernels import repaid
from ldpstats.sampling.samplers import I64, U8

__all__ = ["column_sums", "unpack"]

_SECONDS = 1e-8  # that numpy needs for the bits of a byte


def column_sums(packed: U8, n_bits: int) -> I64:
    """Count, for each bit, the reports in which it is 1."""
    _check_packed(packed, n_bits)
    total = np.zeros(8 * packed.shape[1], dtype=np.int64)
    if repaid("words", packed.size * _SECONDS):
        from ldpstats.kernels.words import add_columns

        spread = np.unpackbits(np.arange(256, dtype=np.uint8), bitorder="little")
        add_columns(np.ascontiguousarray(packed), spread.view(np.uint64), total)
    else:
        for start in range(0, len(packed), 255):  # a sum of 255 bits fits a byte
            bits = np.unpackbits(packed[start : start + 255], axis=1, bitorder="little")
            total += bits.sum(axis=0, dtype=np.uint8)
    return total[:n_bits]


def unpack(packed: U8, n_bits: int) -> npt.NDArray[np.bool_]:
    """Return packed reports as one boolean a bit."""
    _check_packed(packed, n_bits)
    return np.unpackbits(packed, axis=1, bitorder="little", count=n_bits).view(np.bool_)


def _check_packed(packed: U8, n_bits: int) -> None:
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-n_bits // 8):
        raise InvalidArgument(
            "packed", packed, f"must be uint8 of shape (n, {-(-n_bits // 8)}) for {n_bits} bits"
        )
