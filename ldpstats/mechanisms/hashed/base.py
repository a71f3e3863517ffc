"""What mechanisms share that hash the answers, in cohorts, before they randomise them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import (
    counts_vector,
    one_of,
    positive_integer,
    whole_below,
)
from ldpstats.arguments.labels import (
    as_labels,
    as_series,
    column_name,
    encode,
    missing_entries,
    place_of,
)
from ldpstats.channels.base import Channel
from ldpstats.channels.combined import Stacked
from ldpstats.clients.drawing import drawn_report, opened
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.hashed.answer_hash import AnswerHash, Permutations, listed_cells
from ldpstats.mechanisms.hashed.candidates import CandidateMap, candidate_labels
from ldpstats.problems.hash_design import HashDesign, undetermined
from ldpstats.problems.hashed.cohorts import CohortSource, Noise
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.reports.single import BitCounts, Counts, Reports, cell_counts
from ldpstats.sampling import samplers
from ldpstats.sampling.hashing import distinct_cells, mix64
from ldpstats.sampling.words import Words, simulation_words

__all__ = ["CellLaw", "Hashed"]

Array = npt.NDArray[Any]

_MOST_CELLS = 1 << 31
_MOST_RANKED = 1 << 10  # categories; more are permuted faster by numpy


@dataclass(frozen=True)
class CellLaw:
    """Probabilities that a report shows a cell: a label, or a bit that is set.

    Parameters
    ----------
    high, low : float
        For an answer that owns the cell, and for one that does not.
    shared : float
        That an answer owns the cell, over random hashes.
    """

    high: float
    low: float
    shared: float

    @property
    def mean(self) -> float:
        """For an answer that hashes anywhere."""
        return self.low + (self.high - self.low) * self.shared


class Hashed(Mechanism):
    """A mechanism that hashes an answer to cells (labels or bits) of its respondent's cohort.

    With an `alphabet` the categories are known and permutations take the place of hashes (KBR16
    section 5.4); without one every string is an answer, and estimates need `candidates`.
    """

    alphabet: Any

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """Labels or bits of a cohort."""

    @property
    @abstractmethod
    def n_owned(self) -> int:
        """Hashes of an answer, each of which names one of its cells."""

    @abstractmethod
    def _randomise(self, cells: Array, words: Words) -> Array:
        """Reports of respondents whose answers own the cells, shape (n, h)."""

    @abstractmethod
    def _randomise_counts(self, owners: Array, n: Array, rng: np.random.Generator) -> Array:
        """Sums of cells, (C, m), when `owners`, (C, m), of the n, (C,), respondents own each."""

    @abstractmethod
    def _then_document(self) -> dict[str, Any]:
        """How `_randomise` draws, as client documents say it."""

    def _hash_document(self) -> dict[str, Any]:
        """The cells of answers, as client documents say it."""
        name = "permutation" if self.alphabet is not None else self.answer_hash.document_name
        sizes = {"cohorts": self.n_cohorts, "cells": self.n_cells, "hashes": self.n_owned}
        return sizes | {"hash": name}

    def _draw_document(self) -> dict[str, Any]:
        return {"kind": "hash", **self._hash_document(), "then": self._then_document()}

    @cached_property
    def _device(self) -> Any:
        large = self.alphabet is not None and len(self.alphabet) > _MOST_RANKED
        return None if large else opened(self._question_document)

    def _single(self, value: object, words: Words) -> Any:
        answer = value if self.alphabet is None else place_of(value, self.alphabet)
        found = None if answer is None else self._sent(answer, words)
        return super()._single(value, words) if found is None else found

    def _sent(self, answer: Any, words: Words) -> Any:
        text = answer if self.alphabet is None else str(self.alphabet[int(answer)])
        return drawn_report(self._device, text, words)

    @property
    @abstractmethod
    def cell_law(self) -> CellLaw:
        """Probabilities that a report shows a cell."""

    @abstractmethod
    def _noise(self) -> Noise: ...

    @abstractmethod
    def _precision(self, mean: float) -> float:
        """One over the variance, per report, of a cell of this mean."""

    @abstractmethod
    def _cohort_channel(self, cells: Array) -> Channel:
        """The channel within one cohort, for values that own the cells, shape (S, h)."""

    @abstractmethod
    def worst_channel(self) -> Channel:
        """Channel of two answers, over all that hashes can give, that differ the most."""

    def _check_hashed(self) -> None:
        """Check the fields that all such mechanisms have."""
        object.__setattr__(self, "n_cohorts", positive_integer("n_cohorts", self.n_cohorts))
        if self.n_cells * self.n_cohorts > _MOST_CELLS:
            raise InvalidArgument(
                "n_cohorts", self.n_cohorts, "gives more than 2**31 cells: use fewer cohorts"
            )
        if self.alphabet is not None:
            object.__setattr__(self, "alphabet", as_labels("alphabet", self.alphabet))

    # -- labels and cells --------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self.alphabet is None

    @property
    def categories(self) -> pd.Index[Any]:  # type: ignore[override]
        """The alphabet; an open one has no list of categories."""
        return self.labels()

    def labels(self, candidates: Any = None) -> pd.Index[Any]:
        if self.alphabet is not None:
            self._closed(candidates)
            labels: pd.Index[Any] = self.alphabet
            return labels
        if candidates is None:
            raise NotAvailable(
                f"{self} has an open alphabet: pass candidates=, the strings to look for"
            )
        given = candidates.labels if isinstance(candidates, CandidateMap) else candidates
        return candidate_labels(given)

    def cells(self, candidates: Any = None) -> Array:
        """Cells of the categories or candidates, shape (C, S, h).

        A cell that a candidate owns twice counts once: the repetition is the number `n_cells`.
        """
        if isinstance(candidates, CandidateMap):
            expected = (self.n_cohorts, len(candidates.labels), self.n_owned)
            cells = candidates.cells
            if cells.shape != expected or cells.min() < 0 or cells.max() >= self.n_cells:
                raise InvalidArgument(
                    "candidates",
                    f"cells of shape {cells.shape}",
                    f"must be of shape {expected}, from 0 to {self.n_cells - 1}",
                )
            kind = np.uint16 if self.n_cells < 65535 else np.uint32
            return distinct_cells(np.ascontiguousarray(cells, dtype=kind), self.n_cells)
        labels = self.labels(candidates)
        if self.alphabet is not None:
            return self._permutations.table
        hashed = self.answer_hash.table("candidates", labels)
        return distinct_cells(hashed, self.n_cells)

    @property
    def answer_hash(self) -> AnswerHash:
        """The hash of strings, where there is no alphabet."""
        return AnswerHash(self.n_cohorts, self.n_owned, self.n_cells)

    @cached_property
    def _permutations(self) -> Permutations:
        return Permutations(len(self.alphabet), self.n_cohorts, self.n_owned, self.n_cells)

    # -- reports -----------------------------------------------------------------------------

    def privatize(
        self,
        values: object,
        rng: np.random.Generator,
        missing: str = "raise",
        cohort: npt.ArrayLike | None = None,
    ) -> Reports:
        """Simulate the reports of many respondents.

        For real collection use `client`, whose randomness comes from the operating system.

        Parameters
        ----------
        values : array-like, shape (n,)
            True answers.
        rng : numpy.random.Generator
            Source of randomness, for example ``np.random.default_rng(2024)``.
        missing : {"raise", "count"}
            Refuse missing answers, or leave them out and report how many there were.
        cohort : array-like of int, shape (n,), optional
            Cohort of each respondent who answers, where another variable's reports share it; drawn
            evenly by default.

        Raises
        ------
        UnknownCategory
            For a value that is not in the alphabet, if there is one.
        InvalidArgument
            For missing values (unless counted), an `rng` that is not a Generator, or cohorts
            that are too many, too few or do not exist.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> rng = np.random.default_rng(1)
        >>> orr = ldp.ORR(n_outputs=8, n_cohorts=4, epsilon=2.0)
        >>> first = orr.privatize(["a", "b", "a"], rng)
        >>> orr.privatize(["x", "y", "x"], rng, cohort=first.cohort).cohort is not None
        True
        """
        return self._report(values, simulation_words(rng), missing, cohort)

    def _report(
        self, values: object, words: Words, missing: str, given: npt.ArrayLike | None = None
    ) -> Reports:
        if self.alphabet is not None:
            codes, n_missing = encode("values", values, self.alphabet, missing)
            n = codes.size
        else:
            strings, n_missing = _answers(values, missing)
            n = len(strings)
        if given is None:  # a draw that never keeps its code is uniform
            cohort = samplers.sample_krr(np.zeros(n, dtype=np.int64), self.n_cohorts, 0, words)
        else:
            cohort = counts_vector("cohort", given, (n,))
            if not whole_below(cohort, self.n_cohorts):
                remedy = f"must be whole numbers from 0 to {self.n_cohorts - 1}"
                raise InvalidArgument("cohort", given, remedy)
        if self.alphabet is not None:
            own = self._permutations.own(codes, cohort)
        else:
            own = self.answer_hash.own(strings, cohort)
        y = self._randomise(own, words)
        return Reports(y, self, n_missing, cohort, column_name(values))

    def cells_of_cohort(self, cohort: int) -> Array:
        """Cells of the alphabet in one cohort, shape (S, h), for a device that has no other."""
        return self._permutations.of_cohort(cohort)

    def sample(self, codes: Array, words: Words) -> Array:
        raise NotAvailable(f"a report of {self} has a cohort: use privatize(values, rng)")

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts | BitCounts:
        cells, C = self.cells(candidates), self.n_cohorts
        owners = np.zeros((C, self.n_cells + 1), dtype=np.int64)
        reports, left = np.zeros(C, dtype=np.int64), np.asarray(true_counts, dtype=np.int64)
        for c in range(C):  # the cohort is uniform: one binomial after the other is a multinomial
            here = rng.binomial(left, 1.0 / (C - c))
            left = left - here
            reports[c] = here.sum()
            for own in cells[c].T:
                owners[c] += np.bincount(own, here, owners.shape[1]).astype(np.int64)
        return self.counts(self._randomise_counts(owners[:, :-1], reports, rng), reports)

    # -- problems ----------------------------------------------------------------------------

    def channel(self, candidates: Any = None) -> Channel:
        """The channel of the categories or candidates: uniform cohorts, one channel each."""
        own = listed_cells(self.cells(candidates), self.n_cells)
        return Stacked([self._cohort_channel(cells) for cells in own])

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> CohortMoments:
        self._own(counts)
        ones, reports = cell_counts(counts)
        cells, law = self.cells(candidates), self.cell_law
        spread = law.shared if self.is_open else 0.0
        slope = law.high - law.low
        source = CohortSource(
            HashDesign(cells, self.n_cells, slope, spread),
            law.low + slope * spread,
            ones,
            reports,
            self._precision(law.mean),
            self._noise(),
        )
        return CohortMoments(
            (source,), self.is_open, lambda: self._indistinct(candidates, cells, reports)
        )

    def _indistinct(self, candidates: Any, cells: Array, reports: Array) -> str:
        """Say which candidates cannot be told apart, and what would help."""
        labels, m, used = self.labels(candidates), self.n_cells, int((reports > 0).sum())
        S, bound = len(labels), used * (m - 1) + (0 if self.is_open else 1)
        help_ = "use more cohorts or a larger hash range, or leave some of them out"
        groups = _equal_cells(cells[reports > 0], m)
        if groups:
            shown = "; ".join(", ".join(repr(labels[i]) for i in group[:5]) for group in groups[:3])
            merge = "list one of each group, whose frequency is then that of the group together"
            return f"candidates with the same hashes in every cohort: {shown}: {merge}; or {help_}"
        if S > bound and self.n_owned == 1:
            extra = " (and the share of other answers)" if self.is_open else ""
            return (
                f"{S} candidates{extra} cannot be told apart: {used} cohorts with reports, of {m} "
                f"labels each, determine at most {bound}: {help_}"
            )
        if S > used * m:
            return (
                f"{S} candidates cannot be told apart: {used} cohorts with reports, of {m} bits "
                f"each, determine at most {used * m}: {help_}"
            )
        design = HashDesign(cells, m, background=self.cell_law.shared if self.is_open else 0.0)
        alike = undetermined(design, np.repeat(reports.astype(np.float64), m))
        shown = ", ".join(repr(labels[i]) for i in alike[:8]) + (", ..." if alike.size > 8 else "")
        return f"the hashes of these candidates are linearly dependent: {shown}: {help_}"

    # -- privacy -----------------------------------------------------------------------------

    def _channel_epsilon(self) -> float:
        """That of the worst pair of answers."""
        return self.worst_channel().epsilon()


def _answers(values: object, missing: str) -> tuple[pd.Series[Any], int]:
    """The strings among answers, and how many were missing."""
    missing = one_of("missing", missing, ("raise", "count"))
    series = as_series("values", values)
    absent = missing_entries("values", series)
    n_missing = int(absent.sum())
    if n_missing and missing == "raise":
        first = int(np.argmax(absent))
        raise InvalidArgument(
            f"values[{first}]",
            series.iloc[first],
            f"is missing ({n_missing} of {len(series)} are): leave missing answers out yourself, "
            "or pass missing='count' to have them counted and reported",
        )
    return (series[~absent].reset_index(drop=True) if n_missing else series), n_missing


def _equal_cells(cells: Array, n_cells: int) -> list[list[int]]:
    """Groups of candidates that own the same cells in every cohort."""
    total = np.zeros(cells.shape[1], dtype=np.uint64)
    for c, own in enumerate(cells):  # a sum over cells does not depend on their order
        numbers = own.astype(np.uint64) + np.uint64(c * (n_cells + 1) + 1)
        total += mix64(numbers).sum(axis=1, dtype=np.uint64)
    groups = pd.Series(np.arange(total.size)).groupby(total).agg(list)
    return [group for group in groups if len(group) > 1]
