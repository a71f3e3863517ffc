"""The form of reports that are noisy bits of sensitive categories, or reveal another category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.reports.formats import BitFormat
from ldpstats.sampling import packing

__all__ = ["RevealingFormat"]

Array = npt.NDArray[Any]

_CODE_TYPES = ("<u1", "<u2", "<u4", "<u8")  # of the number of an answer that a report reveals
_ROWS = 1 << 14  # reports whose bits are copied at a time


@dataclass(frozen=True, eq=False)
class RevealingFormat(BitFormat):
    """Reports of `URAP`: packed bits of the sensitive categories, then the revealed category.

    Number j + 1 stands for the j-th of the categories that are not sensitive, 0 for none. As text
    a report has a bit for each category, in category order.
    """

    sensitive: npt.NDArray[np.int64]  # codes of the sensitive categories, ascending

    @cached_property
    def others(self) -> npt.NDArray[np.int64]:
        """Codes of the categories that are not sensitive."""
        return np.delete(np.arange(self.n_bits), self.sensitive)

    @cached_property
    def protects(self) -> npt.NDArray[np.bool_]:
        """Whether each category is sensitive, shape (k,)."""
        mask = np.zeros(self.n_bits, dtype=bool)
        mask[self.sensitive] = True
        return mask

    @property
    def n_others(self) -> int:
        """Number of categories that are not sensitive."""
        return self.n_bits - self.sensitive.size

    @property
    def _width(self) -> int:
        """Bytes of the bits of the sensitive categories."""
        return -(-self.sensitive.size // 8)

    @property
    def _code_type(self) -> str | None:
        """Type of the number after them; None where there is nothing to reveal."""
        N = self.n_others
        return next(t for t in _CODE_TYPES if N < 256 ** int(t[2])) if N else None

    @property
    def packed_bits(self) -> int:
        return 8 * (self._width + int((self._code_type or "<u0")[2]))

    def packing_fault(self, y: Array) -> str:
        S, N = self.sensitive.size, self.n_others
        if S % 8 and (y[:, self._width - 1] >> (S % 8)).any():
            return f"has bits beyond the {S} of the sensitive categories: padding must be zero"
        revealed = self.revealed(y)
        if (revealed > N).any():
            return f"reveals a category beyond the {N} that are not sensitive"
        return "" if S or revealed.all() else "reveals no category, although none is sensitive"

    def sums_fault(self, ones: Array, reports: Array) -> str:
        told = int(ones[0, self.others].sum())
        if told > reports[0]:
            return f"say that {reports[0]} reports reveal {told} answers: each reveals one at most"
        if told < reports[0] and not self.sensitive.size:
            return f"say that {told} of {reports[0]} reports reveal an answer: all do here"
        return ""

    def revealed(self, y: Array) -> Array:
        if self._code_type is None:
            return np.zeros(len(y), dtype=np.int64)
        code = np.ascontiguousarray(y[:, self._width :]).view(self._code_type)
        return code[:, 0].astype(np.int64)

    def pack(self, bits: npt.NDArray[np.uint8], revealed: Array) -> npt.NDArray[np.uint8]:
        """Packed reports from packed bits, (n, width), and numbers of revealed categories."""
        if self._code_type is None:
            return bits
        code = revealed.astype(self._code_type)[:, None].view(np.uint8)
        return np.concatenate([bits, code], axis=1)

    def unpack(self, y: Array) -> Array:
        bits = np.zeros((len(y), self.n_bits), dtype=bool)
        bits[:, self.sensitive] = packing.unpack(y[:, : self._width], self.sensitive.size)
        revealed = self.revealed(y)
        at = np.flatnonzero(revealed)
        bits[at, self.others[revealed[at] - 1]] = True
        return bits

    def sum_bits(
        self, y: Array, n: Array | None = None, cohort: Array | None = None, n_cohorts: int = 1
    ) -> Array:
        revealed, bits = self.revealed(y), y[:, : self._width]
        S, sums = self.sensitive.size, np.zeros(self.n_bits, dtype=np.int64)
        told = np.bincount(revealed, weights=n, minlength=self.others.size + 1)[1:]
        sums[self.others] = np.rint(told)
        for start in range(0, len(y), _ROWS):
            part = bits[start : start + _ROWS]
            times = np.ones(len(part), np.int64) if n is None else n[start : start + _ROWS]
            many = (times != 1) & part.any(axis=1)
            sums[self.sensitive] += packing.column_sums(part[times == 1], S)
            sums[self.sensitive] += times[many] @ packing.unpack(part[many], S)
        return sums[None]

    def condense(self, y: Array, n: Array | None) -> tuple[Array, Array | None, Array | None]:
        """Reports that reveal a category are a row for each, without the noise around it."""
        revealed = self.revealed(y)
        told = revealed > 0
        if not told.any():
            return y, n, None
        times = np.ones(len(y), dtype=np.int64) if n is None else n
        counts = np.bincount(revealed[told], weights=times[told], minlength=1).astype(np.int64)
        seen, kept = np.flatnonzero(counts), np.flatnonzero(~told)
        left = np.empty((kept.size + seen.size, y.shape[1]), np.uint8)  # the only copy of reports
        np.take(y, kept, axis=0, out=left[: kept.size], mode="clip")
        left[kept.size :] = self.pack(np.zeros((seen.size, self._width), np.uint8), seen)
        times = np.concatenate([times[kept], counts[seen]])
        noise = (self.sum_bits(y, n) - self.sum_bits(left, times))[0]
        return left, times, noise if noise.any() else None

    def from_table(self, name: str, packed: npt.NDArray[np.uint8]) -> Array:
        bits = packing.unpack(super().from_table(name, packed), self.n_bits)
        told = bits[:, self.others]
        many = np.flatnonzero(told.sum(axis=1) > 1)
        if many.size:
            raise InvalidArgument(
                f"{name}[{many[0]}]",
                "".join("01"[b] for b in bits[many[0]].astype(int)),
                "has two bits that are not sensitive: a report has one at most",
            )
        if not self.sensitive.size and not told.any(axis=1).all():
            i = int(np.argmin(told.any(axis=1)))
            raise InvalidArgument(
                f"{name}[{i}]", "0" * self.n_bits, "has no bit: none is sensitive"
            )
        revealed = np.where(told.any(axis=1), told.argmax(axis=1) + 1, 0) if told.size else 0
        noised = np.packbits(bits[:, self.sensitive], axis=1, bitorder="little")
        return self.pack(noised, np.broadcast_to(revealed, len(bits)))

    def to_table(self, y: Array) -> npt.NDArray[np.uint8]:
        return np.packbits(self.unpack(y), axis=1, bitorder="little")
