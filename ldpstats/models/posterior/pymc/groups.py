"""Groups of reports, as a model of PyMC observes them: counts of listed reports, or each report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.problems.problem import Likelihood
from ldpstats.reports.columns import not_reports
from ldpstats.reports.formats import BitFormat
from ldpstats.reports.single import BitCounts, Counts, Reports
from ldpstats.sampling.words import simulation_words

__all__ = ["Group", "collected", "common_labels"]

Array = npt.NDArray[Any]
Data = Reports | Counts

_MOST_LISTED = 1 << 18  # reports of all cohorts whose probabilities are computed together
_WIDEST_LISTED = 10  # bits of a report up to which its patterns are listed
_SUMS = (
    "sums of bits have no likelihood: pass the reports themselves, or their tally() without "
    "bits=True"
)


@dataclass(frozen=True, eq=False)
class Group:
    """Reports of one mechanism.

    Parameters
    ----------
    data : Reports or Counts
    candidates : sequence of str, CandidateMap or None
        As for `FrequencyModel`.
    """

    data: Data
    candidates: Any = None

    @property
    def mechanism(self) -> Any:
        """The mechanism that made the reports."""
        return self.data.mechanism

    @property
    def labels(self) -> pd.Index[Any]:
        """Categories or candidates that p belongs to."""
        found: pd.Index[Any] = self.mechanism.labels(self.candidates)
        return found

    @property
    def size(self) -> int:
        """Number of reports."""
        return self.data.nobs if isinstance(self.data, Counts) else len(self.data)

    # -- counts of listed reports

    @property
    def n_listed(self) -> int:
        """Number of different reports of a cohort."""
        bits = self.mechanism.n_bits
        return int(2**bits) if bits else int(self.mechanism.n_outputs)

    @property
    def is_listed(self) -> bool:
        """Whether the law of all possible reports is quickly computed."""
        bits = self.mechanism.n_bits
        plain = bits <= _WIDEST_LISTED and type(self.mechanism.format) is BitFormat
        listed = self.n_listed * max(self.mechanism.n_cohorts, 1)
        return (not bits or plain) and listed <= _MOST_LISTED

    @property
    def shape(self) -> tuple[int, ...]:
        """(l,) possible reports, or (C, l) with cohorts."""
        cohorts = self.mechanism.n_cohorts
        return (cohorts, self.n_listed) if cohorts else (self.n_listed,)

    def listed(self) -> Likelihood:
        """The likelihood of one of each possible report, cohort by cohort."""
        cohorts, y = self.mechanism.n_cohorts, np.arange(self.n_listed)
        y = np.tile(y, max(cohorts, 1))
        cohort = np.repeat(np.arange(cohorts), self.n_listed) if cohorts else None
        return self._likelihood(self._coded(y), cohort)

    def _coded(self, numbers: Array) -> Array:
        """Possible reports in the form of `Reports.y`, by their numbers."""
        if not self.mechanism.n_bits:
            return numbers
        width = self.mechanism.format.n_bytes
        return np.asarray(numbers[:, None] >> (8 * np.arange(width)) & 255, dtype=np.uint8)

    def counts(self) -> Array:
        """How often each possible report was made, of shape `shape`."""
        counts = self.data if isinstance(self.data, Counts) else self.data.tally()
        y = np.asarray(counts.y, dtype=np.int64)
        if self.mechanism.n_bits:
            y = (y << (8 * np.arange(y.shape[1]))).sum(axis=1)
        if counts.cohort is not None:
            y = y + counts.cohort * self.n_listed
        total = np.bincount(y, counts.n, int(np.prod(self.shape)))
        return total.astype(np.int64).reshape(self.shape)

    def outputs(self) -> list[Any]:
        """Text of the possible reports of a cohort."""
        text: list[Any] = self.mechanism.format.text(self._coded(np.arange(self.n_listed))).tolist()
        return text

    # -- each report

    @property
    def each(self) -> tuple[Array, Array | None]:
        """The reports one by one and their cohorts, in the form of `Reports`."""
        y, cohort = self.data.y, self.data.cohort
        if isinstance(self.data, Counts):
            y = np.repeat(y, self.data.n, axis=0)
            cohort = None if cohort is None else np.repeat(cohort, self.data.n)
        return y, cohort

    def likelihood(self) -> Likelihood:
        """The likelihood of the reports one by one."""
        return self._likelihood(*self.each)

    def _likelihood(self, y: Array, cohort: Array | None) -> Likelihood:
        counts = Counts(y, np.ones(len(y), dtype=np.int64), self.mechanism, cohort=cohort)
        found: Likelihood = self.mechanism.likelihood(counts, self.candidates)
        return found

    def shown(self, y: Array) -> Array:
        """Reports as a model holds them: numbers of labels, (n,), or bits, (n, b)."""
        if self.mechanism.n_bits:
            return np.asarray(self.mechanism.format.unpack(y), dtype=np.int8)
        return np.asarray(y, dtype=np.int64)

    def sampler(self) -> Callable[[Array, np.random.Generator], Array]:
        """A function of true categories' codes, (n,), that draws their reports anew.

        Cohorts stay those of the reports.
        """
        mechanism, (_, cohort) = self.mechanism, self.each
        if cohort is None:
            return lambda codes, rng: self.shown(mechanism.sample(codes, simulation_words(rng)))
        labels = self.labels
        return lambda codes, rng: self.shown(
            mechanism.privatize(labels.take(codes), rng, cohort=cohort).y
        )


def collected(reports: object, candidates: Any) -> list[Group]:
    """The groups of reports of one variable.

    Raises
    ------
    InvalidArgument
        If they are not Reports or Counts, or the list is empty.
    NotAvailable
        For sums of bits, which have no likelihood.
    """
    given: list[Any] = list(reports) if isinstance(reports, list | tuple) else [reports]
    for one in given:
        if isinstance(one, BitCounts):
            raise NotAvailable(_SUMS)
        if not isinstance(one, Data):
            remedy = "must be Reports or Counts, or a list of them"
            raise not_reports("reports", one, remedy)
        if not isinstance(one.mechanism, Mechanism):
            raise NotAvailable(f"reports of {one.mechanism} have no likelihood of one variable")
    groups = [Group(one, candidates) for one in given]
    if not sum(group.size for group in groups):
        raise InvalidArgument("reports", reports, "must hold at least one report")
    return groups


def common_labels(groups: list[Group]) -> pd.Index[Any]:
    """Labels of the categories that all groups have.

    Raises
    ------
    MechanismMismatch
        If categories differ.
    """
    first = groups[0].labels
    for group in groups[1:]:
        if not group.labels.equals(first):
            raise MechanismMismatch(
                f"{group.mechanism} and {groups[0].mechanism} have different categories: groups "
                "that are observed together need the same labels in the same order"
            )
    return first
