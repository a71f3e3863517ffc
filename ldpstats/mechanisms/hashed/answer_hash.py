"""Which cells of a cohort an answer owns: by a hash of any string, or by permutations of a list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.sampling.hashing import (
    distinct_cells,
    hash_strings,
    hashed_cells,
    md5_cells,
    own_cells,
    permuted_cells,
)

__all__ = ["AnswerHash", "MD5Hash", "Permutations", "UnknownHash", "listed_cells"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class AnswerHash:
    """The package's own hash of strings; `ldpstats.sampling.hashing` computes it."""

    n_cohorts: int
    n_owned: int
    n_cells: int
    is_known: ClassVar[bool] = True
    is_compiled: ClassVar[bool] = True  # whether the kernels compute it

    @property
    def document_name(self) -> str:
        """Its name in client documents."""
        return "ldpstats"

    def table(self, name: str, labels: pd.Index[Any]) -> Array:
        """Cells of strings before repetitions are marked, shape (C, S, h)."""
        hashes = hash_strings(name, labels)
        return hashed_cells(hashes, self.n_cohorts, self.n_owned, self.n_cells)

    def own(self, strings: pd.Series[Any], cohort: Array) -> Array:
        """Cells of answers in their respondents' cohorts, shape (n, h)."""
        return own_cells(hash_strings("values", strings), cohort, self.n_owned, self.n_cells)


class MD5Hash(AnswerHash):
    """The hash of google/rappor's Python client."""

    is_compiled = False

    @property
    def document_name(self) -> str:
        return "md5"

    def table(self, name: str, labels: pd.Index[Any]) -> Array:
        return md5_cells(labels, self.n_cohorts, self.n_owned, self.n_cells, name)

    def own(self, strings: pd.Series[Any], cohort: Array) -> Array:
        hash_strings("values", strings)  # names the first entry that is not a UTF-8 string
        own = np.empty((len(strings), self.n_owned), dtype=np.int64)
        by_cohort = np.argsort(cohort, kind="stable")
        ends = np.flatnonzero(np.diff(cohort[by_cohort])) + 1
        for here in np.split(by_cohort, ends) if len(strings) else []:
            codes, distinct = pd.factorize(strings.iloc[here])
            only = int(cohort[here[0]])
            cells = md5_cells(distinct, self.n_cohorts, self.n_owned, self.n_cells, only=only)
            own[here] = cells[0, codes]
        return own


@dataclass(frozen=True)
class UnknownHash(AnswerHash):
    """A hash that only the clients know."""

    mechanism: str
    is_known = False
    is_compiled = False

    @property
    def document_name(self) -> str:
        raise NotAvailable(f"the hash of {self.mechanism} is not known here, nor to its clients")

    def table(self, name: str, labels: pd.Index[Any]) -> Array:
        raise self._refusal()

    def own(self, strings: pd.Series[Any], cohort: Array) -> Array:
        raise self._refusal()

    def _refusal(self) -> NotAvailable:
        return NotAvailable(
            f"the hash of {self.mechanism} is not known here: pass "
            "candidates=CandidateMap(labels, cells)"
        )


@dataclass(frozen=True)
class Permutations:
    """Cells of a known alphabet (KBR16 section 5.4)."""

    size: int  # categories of the alphabet
    n_cohorts: int
    n_owned: int
    n_cells: int

    @cached_property
    def table(self) -> Array:
        """Cells of all categories in all cohorts, repetitions marked, shape (C, S, h)."""
        cells = permuted_cells(self.size, self.n_cohorts, self.n_owned, self.n_cells)
        return distinct_cells(cells, self.n_cells)

    def own(self, codes: Array, cohort: Array) -> Array:
        """Cells of categories in their respondents' cohorts, shape (n, h)."""
        return listed_cells(self.table[cohort, codes], self.n_cells)

    def of_cohort(self, cohort: int) -> Array:
        """Cells of all categories in one cohort, shape (S, h), for a device that has no other."""
        cells = permuted_cells(self.size, self.n_cohorts, self.n_owned, self.n_cells, cohort)
        return np.asarray(listed_cells(distinct_cells(cells, self.n_cells), self.n_cells)[0])


def listed_cells(cells: Array, n_cells: int) -> Array:
    """Cells, shape (..., h), with the first in place of each repetition."""
    numbers = cells.astype(np.int64)
    return np.where(numbers == n_cells, numbers[..., :1], numbers)
