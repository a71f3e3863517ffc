"""Mechanisms that hash the answers, in cohorts, before they randomise them: O-RR, O-RAPPOR, OLH.

What they share; which cells of a cohort an answer owns, by a hash of any string or by permutations
of a list; optimised local hashing by its name; O-RR; lists of strings to look for; and mechanisms
that report the bits of a Bloom filter of the answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    as_array,
    counts_vector,
    named_only,
    positive_epsilon,
    positive_integer,
    record,
    whole_below,
)
from ldpstats.channels.structured import (
    Bits,
    Channel,
    Mapped,
    Stacked,
    Uniformised,
    bit_ratios,
)
from ldpstats.clients.device import drawn_report, opened
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import Labels, as_labels, column_name, encode, place_of, present_answers
from ldpstats.likelihood.hashed import (
    CohortMoments,
    CohortSource,
    HashDesign,
    undetermined,
)
from ldpstats.likelihood.hashed_rows import BloomRows, LabelRows
from ldpstats.likelihood.rows import DenseRows, Likelihood
from ldpstats.mechanisms.base import Mechanism, even_bit, set_fields
from ldpstats.mechanisms.krr import KRR
from ldpstats.reports.layout import BitFormat, NumberFormat
from ldpstats.reports.single import BitCounts, Counts, Reports, cell_counts
from ldpstats.sampling import samplers
from ldpstats.sampling.hashing import (
    cell_type,
    distinct_cells,
    hash_strings,
    hashed_cells,
    md5_cells,
    mix64,
    own_cells,
    permuted_cells,
    utf8,
)
from ldpstats.sampling.samplers import Words, simulation_words

_MOST_CELLS = 1 << 31
_MOST_RANKED = 1 << 10  # categories; more are permuted faster by numpy


@dataclass(frozen=True)
class CellLaw:
    """Probabilities that a report shows a cell: a label, or a bit that is set."""

    high: float  # for an answer that owns the cell
    low: float  # for one that does not
    shared: float  # that an answer owns the cell, over random hashes
    both: float  # that it owns two given cells

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
    n_cells: int  # labels or bits of a cohort
    n_owned: int  # hashes of an answer, each of which names one of its cells
    cell_law: CellLaw  # probabilities that a report shows a cell

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

    @abstractmethod
    def _cohort_channel(self, cells: Array) -> Channel:
        """The channel within one cohort, for values that own the cells, shape (S, h)."""

    @abstractmethod
    def worst_channel(self) -> Channel:
        """Channel of two answers, over all that hashes can give, that differ the most."""

    def _check_hashed(self) -> None:
        """Check the fields that all such mechanisms have."""
        set_fields(self, n_cohorts=positive_integer("n_cohorts", self.n_cohorts))
        if self.n_cells * self.n_cohorts > _MOST_CELLS:
            raise InvalidArgument(
                "n_cohorts", self.n_cohorts, "gives more than 2**31 cells: use fewer cohorts"
            )
        if self.alphabet is not None:
            set_fields(self, alphabet=as_labels("alphabet", self.alphabet))

    @property
    def is_open(self) -> bool:
        return self.alphabet is None

    @property
    def categories(self) -> Labels:  # type: ignore[override]
        """The alphabet; an open one has no list of categories."""
        return self.labels()

    def labels(self, candidates: Any = None) -> Labels:
        if self.alphabet is not None:
            self._closed(candidates)
            return self.alphabet  # type: ignore[no-any-return]
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
                remedy = f"must be of shape {expected}, from 0 to {self.n_cells - 1}"
                raise InvalidArgument("candidates", f"cells of shape {cells.shape}", remedy)
            cells = np.ascontiguousarray(cells, dtype=cell_type(self.n_cells))
            return distinct_cells(cells, self.n_cells)
        labels = self.labels(candidates)
        if self.alphabet is not None:
            return self._permutations
        return distinct_cells(self.answer_hash.table("candidates", labels), self.n_cells)

    @property
    def answer_hash(self) -> AnswerHash:
        """The hash of strings, where there is no alphabet."""
        return AnswerHash(self.n_cohorts, self.n_owned, self.n_cells)

    @cached_property
    def _permutations(self) -> Array:
        """Cells of the alphabet in all cohorts, shape (C, S, h) (KBR16 section 5.4)."""
        return self._permuted(range(self.n_cohorts))

    def _permuted(self, cohorts: Sequence[int]) -> Array:
        cells = permuted_cells(len(self.alphabet), cohorts, self.n_owned, self.n_cells)
        return distinct_cells(cells, self.n_cells)

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
        answers: Any  # their codes, or strings
        if self.alphabet is not None:
            answers, n_missing = encode("values", values, self.alphabet, missing)
        else:
            answers, n_missing = present_answers("values", values, missing)
            answers = answers.reset_index(drop=True)
        n = len(answers)
        if given is None:  # a draw that never keeps its code is uniform
            cohort = samplers.sample_krr(np.zeros(n, dtype=np.int64), self.n_cohorts, 0, words)
        else:
            cohort = counts_vector("cohort", given, (n,))
            if not whole_below(cohort, self.n_cohorts):
                remedy = f"must be whole numbers from 0 to {self.n_cohorts - 1}"
                raise InvalidArgument("cohort", given, remedy)
        if self.alphabet is not None:
            own = listed_cells(self._permutations[cohort, answers], self.n_cells)
        else:
            own = self.answer_hash.own(answers, cohort)
        y = self._randomise(own, words)
        return Reports(y, self, n_missing, cohort, column_name(values))

    def cells_of_cohort(self, cohort: int) -> Array:
        """Cells of the alphabet in one cohort, shape (S, h), for a device that has no other."""
        return np.asarray(listed_cells(self._permuted([cohort]), self.n_cells)[0])

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

    def channel(self, candidates: Any = None) -> Channel:
        """The channel of the categories or candidates: uniform cohorts, one channel each."""
        own = listed_cells(self.cells(candidates), self.n_cells)
        return Stacked([self._cohort_channel(cells) for cells in own])

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> CohortMoments:
        self._own(counts)
        ones, reports = cell_counts(counts)
        cells, law = self.cells(candidates), self.cell_law
        spread = law.shared if self.is_open else 0.0
        slope, mean = law.high - law.low, law.mean
        # over the variance of a cell; of labels of multinomial counts
        precision = 1.0 / (mean * (1.0 - mean) if self.n_bits else mean)
        source = CohortSource(
            HashDesign(cells, self.n_cells, slope, spread),
            law.low + slope * spread,
            ones,
            reports,
            precision,
            not self.n_bits,
            law.both,
            precision * reports.astype(np.float64),
        )
        return CohortMoments(
            (source,), self.is_open, lambda: self._indistinct(candidates, cells, reports)
        )

    def _indistinct(self, candidates: Any, cells: Array, reports: Array) -> str:
        """Say which candidates cannot be told apart, and what would help."""
        labels, m, used = self.labels(candidates), self.n_cells, int((reports > 0).sum())
        help_ = "use more cohorts or a larger hash range, or leave some of them out"
        # of the cells, which their order does not change
        total = np.zeros(len(labels), dtype=np.uint64)
        for c, own in enumerate(cells[reports > 0]):
            numbers = own.astype(np.uint64) + np.uint64(c * (m + 1) + 1)
            total += mix64(numbers).sum(axis=1, dtype=np.uint64)
        same = pd.Series(np.arange(len(labels))).groupby(total).agg(list)
        groups = [group for group in same if len(group) > 1]
        if groups:
            shown = "; ".join(", ".join(repr(labels[i]) for i in group[:5]) for group in groups[:3])
            merge = "list one of each group, whose frequency is then that of the group together"
            return f"candidates with the same hashes in every cohort: {shown}: {merge}; or {help_}"
        what, extra, bound = "bits", "", used * m
        if self.n_owned == 1:
            what, bound = "labels", used * (m - 1) + (0 if self.is_open else 1)
            extra = " (and the share of other answers)" if self.is_open else ""
        if len(labels) > bound:
            return (
                f"{len(labels)} candidates{extra} cannot be told apart: {used} cohorts with "
                f"reports, of {m} {what} each, determine at most {bound}: {help_}"
            )
        design = HashDesign(cells, m, background=self.cell_law.shared if self.is_open else 0.0)
        alike = undetermined(design, np.repeat(reports.astype(np.float64), m))
        shown = ", ".join(repr(labels[i]) for i in alike[:8]) + (", ..." if alike.size > 8 else "")
        return f"the hashes of these candidates are linearly dependent: {shown}: {help_}"

    def _channel_epsilon(self) -> float:
        return self.worst_channel().epsilon()


# -- Which cells of a cohort an answer owns: by a hash of any string, or by permutations of a list -


@dataclass(frozen=True)
class AnswerHash:
    """The package's own hash of strings; `ldpstats.sampling.hashing` computes it."""

    n_cohorts: int
    n_owned: int
    n_cells: int
    is_known: ClassVar[bool] = True
    is_compiled: ClassVar[bool] = True  # whether the kernels compute it
    document_name: ClassVar[str] = "ldpstats"  # in client documents

    def table(self, name: str, labels: Labels) -> Array:
        """Cells of strings before repetitions are marked, shape (C, S, h)."""
        hashes = hash_strings(name, labels)
        return hashed_cells(hashes, self.n_cohorts, self.n_owned, self.n_cells)

    def own(self, strings: pd.Series[Any], cohort: Array) -> Array:
        """Cells of answers in their respondents' cohorts, shape (n, h)."""
        return own_cells(hash_strings("values", strings), cohort, self.n_owned, self.n_cells)


class MD5Hash(AnswerHash):
    """The hash of google/rappor's Python client."""

    is_compiled = False
    document_name = "md5"

    def table(self, name: str, labels: Labels) -> Array:
        cohorts = range(self.n_cohorts)
        return md5_cells(utf8(name, labels), cohorts, self.n_owned, self.n_cells)

    def own(self, strings: pd.Series[Any], cohort: Array) -> Array:
        utf8("values", strings)  # names the first entry that is not a UTF-8 string
        own = np.empty((len(strings), self.n_owned), dtype=np.int64)
        by_cohort = np.argsort(cohort, kind="stable")
        ends = np.flatnonzero(np.diff(cohort[by_cohort])) + 1
        for here in np.split(by_cohort, ends) if len(strings) else []:
            codes, distinct = pd.factorize(strings.iloc[here])
            only, texts = [int(cohort[here[0]])], utf8("values", distinct)
            own[here] = md5_cells(texts, only, self.n_owned, self.n_cells)[0, codes]
        return own


@dataclass(frozen=True)
class UnknownHash(AnswerHash):
    """A hash that only the clients know."""

    mechanism: str
    is_known = False
    is_compiled = False

    @property
    def document_name(self) -> str:  # type: ignore[override]
        raise NotAvailable(f"the hash of {self.mechanism} is not known here, nor to its clients")

    def table(self, name: str, labels: Labels) -> Array:
        raise NotAvailable(
            f"the hash of {self.mechanism} is not known here: pass "
            "candidates=CandidateMap(labels, cells)"
        )

    def own(self, strings: pd.Series[Any], cohort: Array) -> Array:
        return self.table("values", pd.Index(strings))


def listed_cells(cells: Array, n_cells: int) -> Array:
    """Cells, shape (..., h), with the first in place of each repetition."""
    numbers = cells.astype(np.int64)
    return np.where(numbers == n_cells, numbers[..., :1], numbers)


# -- Optimised local hashing by its name in the literature ----------------------------------------


_LEAST_COHORTS = 64
_PER_ANSWER = 16  # free labels of all cohorts for each answer; fewer add to the variance


def OLH(categories: Any, epsilon: float, n_cohorts: int | None = None) -> ORR:
    """Optimised local hashing (Wang, Blocki, Li and Jha, USENIX Security 2017): a kind of `ORR`.

    Answers are hashed to ``g = round(e^eps) + 1`` labels, of which one is reported by k-RR. In the
    paper every respondent draws a hash function of her own. Here there are `n_cohorts` functions,
    each a random permutation of the categories modulo g, so that counts of labels suffice and
    estimates know which answers collide.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    epsilon : float
        Privacy of one report, in nats.
    n_cohorts : int, optional
        Number of hash functions C. By default the smallest power of two, from 64 on, of at least
        ``16 k / (g - 1)``: collisions then add about 6 % to the variances, about ``k / (C (g -
        1))`` in general. Time and memory of estimates grow with C k; for more than some thousand
        categories take `ProjectiveGeometryResponse`, whose variance is as small.

    Returns
    -------
    ORR
        With the categories as its alphabet. Where g is k or more, k-RR of the labels in one cohort,
        which is better there.

    Raises
    ------
    InvalidArgument
        If the categories, epsilon or n_cohorts is invalid.

    Examples
    --------
    >>> print(OLH(("nurse", "teacher", "driver", "cook", "clerk", "baker"), epsilon=1.0))
    ORR(n_outputs=4, n_cohorts=64, epsilon=1, k=6)
    """
    labels, size = as_labels("categories", categories), positive_epsilon("epsilon", epsilon)
    cohorts = None if n_cohorts is None else positive_integer("n_cohorts", n_cohorts)
    g = round(min(float(np.exp(size)), float(len(labels)))) + 1
    if g >= len(labels):
        return ORR(len(labels), cohorts or 1, epsilon=size, alphabet=labels)
    least = -(-_PER_ANSWER * len(labels) // (g - 1))
    default = max(_LEAST_COHORTS, 1 << (least - 1).bit_length())
    return ORR(g, cohorts or default, epsilon=size, alphabet=labels)


# -- O-RR: k-ary randomised response of hashed answers, in cohorts --------------------------------


@named_only("ORR(4, 16, epsilon=1.0)")
@record
class ORR(Hashed):
    """O-RR (KBR16 section 5.1, eq. 15 to 17): k-RR of a hash of the answer.

    Each respondent is in one of `n_cohorts` cohorts, uniformly, and knows it; her cohort's hash
    takes her answer to one of `n_outputs` labels, and she reports that label through k-RR. A report
    is her cohort and the label. ``ldpstats/clients/SPECIFICATION.md`` specifies the hash.

    Parameters
    ----------
    n_outputs : int
        Labels k of each cohort, at least 2.
    n_cohorts : int
        Cohorts C.
    epsilon : float
        Privacy of one report, in nats. The cohort is drawn without regard to the answer.
    alphabet : int or sequence of labels, optional
        All possible answers. Permutations then take the place of hashes (KBR16 section 5.4); with
        ``n_cohorts=1`` and as many outputs as labels this is k-RR with its outputs renamed.

    Examples
    --------
    >>> orr = ORR(n_outputs=8, n_cohorts=32, epsilon=2.0)
    >>> words = ("apple", "pear", "plum")
    >>> reports = orr.privatize(["apple", "pear"] * 5000, np.random.default_rng(1))
    >>> import ldpstats as ldp
    >>> ldp.FrequencyModel(reports, candidates=words).fit().params.round(2)
    apple    0.52
    pear     0.51
    plum     0.00
    Name: params, dtype: float64
    """

    n_outputs: int
    n_cohorts: int
    _: KW_ONLY
    epsilon: float
    alphabet: Any = None
    n_bits = 0
    n_owned = 1

    def __post_init__(self) -> None:
        set_fields(self, n_outputs=positive_integer("n_outputs", self.n_outputs, 2))
        if self.n_outputs > 1 << 31:
            raise InvalidArgument("n_outputs", self.n_outputs, "must be at most 2**31")
        set_fields(self, epsilon=positive_epsilon("epsilon", self.epsilon))
        self._check_hashed()

    @property
    def format(self) -> NumberFormat:
        return NumberFormat(self.n_outputs)

    @property
    def n_cells(self) -> int:  # type: ignore[override]
        """Labels of a cohort."""
        return self.n_outputs

    @cached_property
    def _krr(self) -> KRR:
        return KRR(self.n_outputs, self.epsilon)

    def _randomise(self, cells: Array, words: Words) -> Array:
        return self._krr.sample(cells[:, 0], words)

    def _then_document(self) -> dict[str, Any]:
        return {"kind": "keep", "keep": str(self._krr._keep())}

    def _randomise_counts(self, owners: Array, n: Array, rng: np.random.Generator) -> Array:
        kept = rng.binomial(owners, self._krr._channel.a)
        uniform = np.full(self.n_outputs, 1.0 / self.n_outputs)
        return np.asarray(kept + rng.multinomial(n - kept.sum(axis=1), uniform))

    @property
    def cell_law(self) -> CellLaw:  # type: ignore[override]
        """Probabilities that a report shows a label."""
        Q = self._krr._channel
        return CellLaw(Q.a + float(Q.b), float(Q.b), 1.0 / self.n_outputs, 0.0)

    def _cohort_channel(self, cells: Array) -> Channel:
        return Mapped(self._krr._channel, cells[:, 0])

    def worst_channel(self) -> Uniformised:
        """k-RR: two answers that hash to different labels."""
        return self._krr._channel

    def _sampler_epsilon(self) -> float:
        return self._krr._sampler_epsilon()

    def likelihood(self, counts: Counts, candidates: Any = None) -> Likelihood:
        """The likelihood of the labels given the cohorts."""
        self._own(counts)
        assert counts.cohort is not None
        Q, cells = self._krr._channel, self.cells(candidates)
        rows = LabelRows(cells, counts.cohort, counts.y, Q.a, float(Q.b))
        return Likelihood(rows, counts.n)

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> Counts:
        """Counts from the label counts of each cohort.

        Parameters
        ----------
        n : array-like of int, shape (C, k)
            How often each label was reported in each cohort.
        nobs : array-like of int, shape (C,), optional
            Reports of each cohort, to be checked; they are the sums of `n`.

        Raises
        ------
        InvalidArgument
            For another shape, entries that are negative or fractional, or sums other than `nobs`.
        """
        table = counts_vector("n", n, (self.n_cohorts, self.n_outputs))
        if nobs is not None:
            reports = counts_vector("nobs", nobs, (self.n_cohorts,))
            for c in np.flatnonzero(table.sum(axis=1) != reports):
                remedy = f"must be the sum of n[{c}], {table[c].sum()}"
                raise InvalidArgument(f"nobs[{c}]", int(reports[c]), remedy)
        cohort, y = np.nonzero(table)
        return Counts(y, table[cohort, y], self, cohort=cohort)


# -- Lists of strings to look for, and maps of the cells that they own ----------------------------


@record
class CandidateMap:
    """Candidates whose cells are given, not computed: for reports of clients with another hash.

    Parameters
    ----------
    labels : sequence of str
        S distinct candidates.
    cells : array of int, shape (C, S, h)
        Cells (labels, or bits from 0) that each candidate owns in each cohort.

    Raises
    ------
    InvalidArgument
        If the labels are not distinct strings, or the cells have another shape or are not integers.

    Examples
    --------
    >>> candidates = CandidateMap(("a", "b"), np.array([[[0, 1], [2, 3]]]))
    >>> len(candidates.labels)
    2
    """

    labels: Any
    cells: Array

    def __post_init__(self) -> None:
        labels = candidate_labels(self.labels)
        size = len(labels)
        cells = as_array("cells", self.cells, f"must be an array of integers, (C, {size}, h)")
        if cells.ndim != 3 or cells.shape[1] != size or cells.dtype.kind not in "iu":
            found = f"array of {cells.dtype}, shape {cells.shape}"
            raise InvalidArgument("cells", found, f"must be integers, of shape (C, {size}, h)")
        set_fields(self, labels=labels, cells=cells)


def candidate_labels(candidates: object) -> Labels:
    """Check a list of candidates: distinct strings, at least one."""
    if isinstance(candidates, int | np.integer | pd.CategoricalDtype | pd.RangeIndex):
        raise InvalidArgument("candidates", candidates, "must be a list of strings to look for")
    if isinstance(candidates, Iterator):  # they are looked at more than once
        raise InvalidArgument("candidates", candidates, "is used up by one pass: pass list(...)")
    if isinstance(getattr(candidates, "dtype", None), pd.CategoricalDtype):
        candidates = list(candidates)  # type: ignore[call-overload]  # what is there, not the categories
    labels = as_labels("candidates", candidates, least=1)
    for i, label in enumerate(labels.tolist()):
        if not isinstance(label, str):
            remedy = "must be a string, as the answers of an open alphabet are"
            raise InvalidArgument(f"candidates[{i}]", label, remedy)
    return labels


# -- What mechanisms share that report the bits of a Bloom filter of the answer -------------------


def most_different(n_bits: int, n_hashes: int, up: float, down: float) -> tuple[int, int]:
    """Numbers a, b of bits that only one and only the other of two answers own, at their worst.

    That of the largest ``a up + b down`` over all pairs that h hashes into m bits can make.
    """
    most = min(n_hashes, n_bits)
    if 2 * most <= n_bits:
        return most, most
    # the filters overlap: together they fill all bits, and what tells more has as many as it can
    least = max(1, n_bits - most)  # every answer owns a bit
    return (n_bits - least, least) if up > down else (least, n_bits - least)


class HashedBits(Hashed):
    """A mechanism that reports noisy bits of a Bloom filter of the answer."""

    n_hashes: int
    n_outputs = 0
    p1: float  # P(bit = 1) of a bit that the answer owns
    p0: float  # P(bit = 1) of any other bit

    @abstractmethod
    def _thresholds(self) -> tuple[int, int]:
        """The two probabilities as the integers that the sampler uses."""

    def _check_bits(self) -> None:
        """Check the fields that all such mechanisms have."""
        set_fields(self, n_bits=positive_integer("n_bits", self.n_bits, 2))
        set_fields(self, n_hashes=positive_integer("n_hashes", self.n_hashes))
        if self.n_hashes > 65535:
            raise InvalidArgument("n_hashes", self.n_hashes, "must be at most 65535")
        self._check_hashed()

    @property
    def format(self) -> BitFormat:
        return BitFormat(self.n_bits)

    @property
    def n_cells(self) -> int:  # type: ignore[override]
        """Bits of a cohort."""
        return self.n_bits

    @property
    def n_owned(self) -> int:  # type: ignore[override]
        """Hashes of an answer, each of which names one of its cells."""
        return self.n_hashes

    def _randomise(self, cells: Array, words: Words) -> Array:
        return samplers.sample_bits(cells, self.n_bits, *self._thresholds(), words)

    def _then_document(self) -> dict[str, Any]:
        own, other = map(str, self._thresholds())
        return {"kind": "bits", "own": own, "other": other}

    def _randomise_counts(self, owners: Array, n: Array, rng: np.random.Generator) -> Array:
        others = rng.binomial(n[:, None] - owners, self.p0)
        return np.asarray(rng.binomial(owners, self.p1) + others)

    @property
    def cell_law(self) -> CellLaw:  # type: ignore[override]
        """Probabilities that a report shows a set bit."""
        m, h = self.n_bits, self.n_hashes
        empty = (1.0 - 1.0 / m) ** h
        both = 1.0 - 2.0 * empty + (1.0 - 2.0 / m) ** h if h > 1 else 0.0
        return CellLaw(self.p1, self.p0, 1.0 - empty, both)

    def _cohort_channel(self, cells: Array) -> Bits:
        return Bits(cells, self.n_bits, self.p1, self.p0)

    def worst_channel(self) -> Bits:
        """Two answers whose Bloom filters differ the most."""
        ratios = bit_ratios(self.p1, self.p0)
        a, b = most_different(self.n_bits, self.n_hashes, *ratios)
        members = np.arange(max(a, b))
        members = np.array([np.minimum(members, a - 1), a + np.minimum(members, b - 1)])
        return Bits(members, self.n_bits, self.p1, self.p0)

    def _sampler_epsilon(self) -> float:
        return self._largest(*portable.rise_and_fall(*self._thresholds()))

    def _largest(self, up: float, down: float) -> float:
        """Epsilon where a bit of one answer alone has these largest log ratios for and against."""
        a, b = most_different(self.n_bits, self.n_hashes, up, down)
        return a * up + b * down

    def likelihood(self, counts: Counts, candidates: Any = None) -> Likelihood:
        """The exact likelihood of the bits given the cohorts."""
        self._own(counts)
        assert counts.cohort is not None
        if 0.0 < self.p0 < 1.0 and 0.0 < self.p1 < 1.0:
            law = self.cells(candidates), self.n_bits, self.p1, self.p0
            return Likelihood(BloomRows(counts.y, counts.cohort, *law), counts.n)
        # a bit that is never or always set makes answers impossible: cohort by cohort
        channel: Any = self.channel(candidates)
        W, scale = np.zeros((len(counts.y), channel.shape[0])), np.zeros(len(counts.y))
        for c in np.unique(counts.cohort):
            here = counts.cohort == c
            own = channel.channels[c].rows(counts.y[here])
            W[here], scale[here] = own.take(0, own.shape[0]), own.log_scale
        return Likelihood(DenseRows(W, scale), counts.n)

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> BitCounts:
        """Counts from the bit sums of each cohort.

        Parameters
        ----------
        n : array-like of int, shape (C, n_bits)
            How often each bit was set in each cohort.
        nobs : array-like of int, shape (C,)
            Reports of each cohort; bit sums alone do not say.

        Raises
        ------
        InvalidArgument
            For a missing `nobs`, another shape, or a sum that exceeds the reports of its cohort.
        """
        if nobs is None:
            raise InvalidArgument("nobs", None, "is needed: bit sums do not say how many reports")
        ones = counts_vector("n", n, (self.n_cohorts, self.n_bits))
        reports = counts_vector("nobs", [nobs] if np.isscalar(nobs) else nobs, (self.n_cohorts,))
        return BitCounts(ones, reports, self)


# -- O-RAPPOR: k-RAPPOR of a Bloom filter of the answer, in cohorts -------------------------------


@named_only("ORAPPOR(16, 2, 8, epsilon=1.0)")
@record
class ORAPPOR(HashedBits):
    """O-RAPPOR (KBR16 section 5.2): every bit of the answer's Bloom filter is flipped alike.

    Each respondent is in one of `n_cohorts` cohorts, uniformly; her cohort's hashes set up to
    `n_hashes` of `n_bits` bits. Two answers differ in up to D = min(2 n_hashes, n_bits) bits, so a
    bit is kept with the odds ``e^{eps/D}``: flips of ``e^{eps/2}``, as the text of KBR16 has them
    for one hash, would give n_hashes times epsilon.

    Parameters
    ----------
    n_bits : int
        Bits of a report, at least 2.
    n_hashes : int
        Hashes of an answer; one is best (KBR16 section 5.3).
    n_cohorts : int
        Cohorts C.
    epsilon : float
        Privacy of one report, in nats, over all pairs of Bloom filters.
    alphabet : int or sequence of labels, optional
        All possible answers. Permutations then take the place of hashes (KBR16 section 5.4); with
        one cohort, one hash and as many bits as labels this is k-RAPPOR with its bits renamed.

    Examples
    --------
    >>> rappor = ORAPPOR(n_bits=32, n_hashes=2, n_cohorts=8, epsilon=4.0)
    >>> round(float(np.log(rappor.p1 / rappor.p0)), 12)   # epsilon / (2 hashes)
    1.0
    >>> rappor.audit().agrees
    True
    """

    n_bits: int
    n_hashes: int
    n_cohorts: int
    _: KW_ONLY
    epsilon: float
    alphabet: Any = None

    def __post_init__(self) -> None:
        set_fields(self, epsilon=positive_epsilon("epsilon", self.epsilon))
        self._check_bits()

    def _flip(self) -> tuple[float, float]:
        """P(bit = 1) of an own bit and of another: each bit has its share of epsilon."""
        return even_bit(self.epsilon / sum(most_different(self.n_bits, self.n_hashes, 1.0, 1.0)))

    @property
    def p1(self) -> float:  # type: ignore[override]
        """P(bit = 1) of a bit that the answer owns."""
        return self._flip()[0]

    @property
    def p0(self) -> float:  # type: ignore[override]
        """P(bit = 1) of any other bit."""
        return self._flip()[1]

    def _thresholds(self) -> tuple[int, int]:
        return samplers.bit_thresholds(self.p1, self.p0, alike=True)
