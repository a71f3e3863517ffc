"""Bits packed into bytes: their sums and their values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.sampling.samplers import I64, LARGE, U8

__all__ = ["column_sums", "unpack"]


def column_sums(packed: U8, n_bits: int) -> I64:
    """Count, for each bit, the reports in which it is 1.

    Parameters
    ----------
    packed : (n, ceil(n_bits / 8)) uint8
        Packed reports, from `sample_bits`.
    n_bits : int
        Number of bits of a report.

    Returns
    -------
    (n_bits,) int64
        Counts.

    Raises
    ------
    InvalidArgument
        If `packed` has another type or width.

    Examples
    --------
    >>> column_sums(np.array([[1, 0], [3, 2]], dtype=np.uint8), 10)
    array([2, 1, 0, 0, 0, 0, 0, 0, 0, 1])
    """
    _check_packed(packed, n_bits)
    total = np.zeros(8 * packed.shape[1], dtype=np.int64)
    if packed.size >= 8 * LARGE:
        from ldpstats.kernels.words import add_columns

        spread = np.unpackbits(np.arange(256, dtype=np.uint8), bitorder="little")
        add_columns(np.ascontiguousarray(packed), spread.view(np.uint64), total)
    else:
        for start in range(0, len(packed), 255):  # a sum of 255 bits fits a byte
            bits = np.unpackbits(packed[start : start + 255], axis=1, bitorder="little")
            total += bits.sum(axis=0, dtype=np.uint8)
    return total[:n_bits]


def unpack(packed: U8, n_bits: int) -> npt.NDArray[np.bool_]:
    """Return packed reports as one boolean a bit.

    Parameters
    ----------
    packed : (n, ceil(n_bits / 8)) uint8
        Packed reports, from `sample_bits`.
    n_bits : int
        Number of bits of a report.

    Returns
    -------
    (n, n_bits) bool
        The bits.

    Raises
    ------
    InvalidArgument
        If `packed` has another type or width.

    Examples
    --------
    >>> unpack(np.array([[5]], dtype=np.uint8), 3)
    array([[ True, False,  True]])
    """
    _check_packed(packed, n_bits)
    return np.unpackbits(packed, axis=1, bitorder="little", count=n_bits).view(np.bool_)


def _check_packed(packed: U8, n_bits: int) -> None:
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-n_bits // 8):
        raise InvalidArgument(
            "packed", packed, f"must be uint8 of shape (n, {-(-n_bits // 8)}) for {n_bits} bits"
        )
