"""Mechanisms with few enough reports to list: the easy base for one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import counts_vector, real_number, whole_below
from ldpstats.arguments.labels import align, as_labels
from ldpstats.channels.base import Channel
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import _ALIKE, Array, Mechanism
from ldpstats.problems.covariance import multinomial
from ldpstats.problems.equations import Equations, Moments
from ldpstats.reports.formats import LabelFormat
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.words import Words

_OWN_EPSILON = "must be a number in nats, as a field or a property: channel().epsilon() is right"

__all__ = ["Enumerated", "identity_plus_rank_one", "label_moments"]


class Enumerated(Mechanism):
    """A mechanism whose reports are labels from a list: its channel matrix can be written out.

    This is the easy base for a mechanism of one's own. A subclass is a frozen dataclass whose
    fields are its specification. It has `categories` and `epsilon`, as fields or properties, and
    `channel`, which returns Q. Sampling with integer thresholds, clients, estimates and the audit
    follow from Q. Reports are named like the categories unless the subclass has `outputs`.

    `to_dict` writes the fields, so they must determine Q; `from_dict` of the subclass reads them. A
    subclass with a ``__post_init__`` calls that of `Enumerated`, which checks all of this. For a
    fixed Q, `CustomMechanism` is enough.

    Raises
    ------
    InvalidArgument
        If `categories`, `outputs`, `epsilon` and `channel()` do not fit together.

    Examples
    --------
    Grades from 0 to 4, of which a report is wrong by as little as privacy allows (the exponential
    mechanism):

    >>> from dataclasses import dataclass
    >>> from ldpstats.channels import Dense
    >>> @dataclass(frozen=True, eq=False)
    ... class NearbyGrade(Enumerated):
    ...     rate: float                                  # in nats for each step away
    ...     categories = pd.RangeIndex(5)
    ...     @property
    ...     def epsilon(self):
    ...         return self.channel().epsilon()
    ...     def channel(self, candidates=None):
    ...         Q = np.exp(-self.rate * np.abs(np.subtract.outer(range(5), range(5))))
    ...         return Dense(Q / Q.sum(axis=1, keepdims=True))
    >>> mechanism = NearbyGrade(rate=0.5)
    >>> audit = mechanism.audit()
    >>> round(audit.declared, 3), audit.agrees
    (2.0, True)
    >>> reports = mechanism.privatize([3, 3, 4, 1], np.random.default_rng(1))
    """

    n_bits = 0
    n_cohorts = 0

    def __post_init__(self) -> None:
        """Check a mechanism of one's own; the package's have checks of their own."""
        if not isinstance(self.categories, pd.Index):
            object.__setattr__(self, "categories", as_labels("categories", self.categories))
        channel: object = self.channel()
        if not isinstance(channel, Channel):
            raise InvalidArgument("channel()", channel, "must be a channel, such as Dense(Q)")
        shape = len(self.categories), len(self.outputs)
        if channel.shape != shape:
            remedy = f"must be {shape}: a row a category, a column an output"
            raise InvalidArgument("channel().shape", channel.shape, remedy)
        epsilon = getattr(self, "epsilon", None)  # a field or property that the subclass owes
        if not real_number("epsilon", epsilon, _OWN_EPSILON) >= 0.0:
            raise InvalidArgument("epsilon", epsilon, _OWN_EPSILON)

    @property
    def outputs(self) -> pd.Index[Any]:
        """What a report may be, in the order of Q's columns: the categories by default."""
        return self.categories

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.outputs)

    @property
    def format(self) -> LabelFormat:
        return LabelFormat(self.outputs)

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> Counts:
        """Counts from a vector of output counts.

        Parameters
        ----------
        n : array-like of int, shape (l,)
            How often each report was seen, in the order of `outputs`; a Series, such as
            `value_counts` makes, is matched by label and need not hold reports never seen.
        nobs : None
            Not used: the number of reports is ``sum(n)``.

        Raises
        ------
        InvalidArgument
            For a vector of another length, or entries that are negative or fractional.
        """
        if nobs is not None:
            raise InvalidArgument("nobs", nobs, "is for bit sums only; here it is sum(n)")
        vector = counts_vector("n", align("n", n, self.outputs, absent=0), (self.n_outputs,))
        seen = np.flatnonzero(vector)
        return Counts(seen, vector[seen], self)

    def sample(self, codes: Array, words: Words) -> Array:
        Q = self.channel().matrix()
        if len(codes) < len(Q) and whole_below(codes, len(Q)):  # few users need few rows
            present, codes = np.unique(codes, return_inverse=True)
            Q = Q[present] if present.size else Q
        return samplers.sample_rows(codes, samplers.integer_rows(Q), words)

    def _sampler_epsilon(self) -> float:
        return realised.realised_epsilon_rows(samplers.integer_rows(self.channel().matrix()))

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts:
        self._closed(candidates)
        total = rng.multinomial(true_counts, self.channel().matrix()).sum(axis=0)
        return self.counts(total)

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        self._closed(candidates)
        self._own(counts)
        Q, n = self.channel().matrix(), counts.vector()
        impossible = np.flatnonzero((n > 0) & ~Q.any(axis=0))
        if impossible.size:
            raise InvalidArgument(
                "counts",
                self.outputs[impossible].tolist(),
                f"were reported, but no category of {self} can make such a report",
            )
        return label_moments(Q, n)


def label_moments(Q: Array, n: Array) -> Equations:
    """Equations for output counts n, shape (l,), of a channel Q, shape (k, l).

    Outputs that no category makes say nothing, and are left out.
    """
    nobs, made = int(n.sum()), Q.any(axis=0)
    Q, t = Q[:, made], n[made] / nobs
    reference = np.full(len(Q), 1.0 / len(Q)) @ Q  # law of a report under the uniform p
    simple = identity_plus_rank_one(Q)
    a, b = (Q.T, 0.0) if simple is None else simple
    return Equations(a, b, t, lambda p: multinomial(p @ Q, nobs), nobs / reference, nobs)


def identity_plus_rank_one(Q: Array) -> tuple[float, Array] | None:
    """Write Q as ``a I + 1 b'`` (every binary design, k-RR, forced response), if it is so.

    Each category then answers for itself: ``P(report x) = b_x + a p_x``. Entries may be off by
    1e-9 of a, as where they were typed in or computed in another way.
    """
    k, l = Q.shape  # noqa: E741
    if k != l or k < 2:
        return None
    b = (Q.sum(axis=0) - np.diag(Q)) / (k - 1)  # column x away from its diagonal
    a = float(np.mean(np.diag(Q) - b))
    off = np.abs(Q - a * np.eye(k) - b).max()
    if a == 0.0 or off > max(1e-15, _ALIKE * abs(a)):
        return None
    return a, b
