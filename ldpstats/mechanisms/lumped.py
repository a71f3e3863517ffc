"""Reports seen as those of fewer categories: some are kept, the others become "Other", exactly.

Lumping is exact where the reports of all lumped categories have the same law once the answers that
tell them apart are forgotten. Then the lumped reports are those of a mechanism in its own right,
whatever the frequencies within "Other" and whatever they depend on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, probability, record
from ldpstats.channels.structured import Bits, BitScores, Uniformised, unary_scores
from ldpstats.clients.device import check_table, numbers
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import Labels, as_labels, encode
from ldpstats.likelihood.covariance import independent_bits
from ldpstats.likelihood.moments import Equations, Moments
from ldpstats.likelihood.rows import Rows, UnaryRows, WithOther
from ldpstats.mechanisms.base import CategoryBits, Mechanism, set_fields
from ldpstats.mechanisms.custom import CustomMechanism, Enumerated
from ldpstats.mechanisms.hashed import HashedBits
from ldpstats.mechanisms.krr import Observed
from ldpstats.reports.layout import Packed
from ldpstats.reports.single import Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import Words

_ALIKE = 1e-12  # by which the lumped categories may differ: rounding, no more
_BLOCK = 1 << 22  # bits that are moved at a time


def lump(reports: Reports, keep: Any, other: Any = "Other") -> Reports:
    """See reports as those of a mechanism that knows some categories and "Other", exactly.

    k-RR: reports of lumped categories become one report, ``P(other | other) = (e^eps + L - 1) /
    (e^eps + k - 1)`` and ``P(other | kept) = L / (e^eps + k - 1)`` with L lumped categories. Unary
    reports: only the bits of the kept categories stay, and "Other" owns none of them. So for
    RAPPOR and O-RAPPOR over an alphabet, with one hash and a bit for each category: their cohorts
    are gone then.

    Parameters
    ----------
    reports : Reports
        Reports of a mechanism that knows its categories.
    keep : sequence of labels
        Categories to keep, at least one and not all, in the order that they are to have.
    other : label
        Name of all others together; it comes last.

    Returns
    -------
    Reports
        Of the same respondents, in the same order, under a `CustomMechanism` or a `LumpedUnary`.

    Raises
    ------
    InvalidArgument
        Where `keep` holds all categories, none, or one twice, or `other` is among them.
    UnknownCategory
        If `keep` holds an unknown category.
    NotAvailable
        Where lumping is not exact, so that reports of "Other" have no known law: for hashed
        answers, and channels whose lumped categories remain different.

    Notes
    -----
    The remedy for FPE16 section III-B where the mechanism allows it: that section replaces the law
    of "Other" by an estimated product of bits, see `ldpstats.likelihood.rows.other_rows`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "teacher", "driver", "cook"), epsilon=np.log(2))
    >>> reports = krr.privatize(["nurse", "cook", "driver"], np.random.default_rng(1))
    >>> lumped = lump(reports, keep=["driver"])
    >>> lumped.mechanism.channel().matrix()
    array([[0.4, 0.6],
           [0.2, 0.8]])
    """
    if not isinstance(reports, Reports):
        raise InvalidArgument("reports", reports, "must be Reports: lump before tallying")
    mechanism = reports.mechanism
    if mechanism.is_open:
        raise NotAvailable(_hashed(mechanism))
    known = mechanism.categories
    if isinstance(keep, int | np.integer | Iterator):
        raise InvalidArgument("keep", keep, "must be a list of the categories to keep")
    if isinstance(getattr(keep, "dtype", None), pd.CategoricalDtype):
        keep = list(keep)  # what is there, not the categories
    labels = as_labels("keep", keep, least=1)
    if len(labels) > len(known):
        raise InvalidArgument("keep", keep, f"has more labels than the {len(known)} categories")
    kept = encode("keep", labels.tolist(), known)[0]
    if kept.size == len(known):
        raise InvalidArgument("keep", keep, "holds all categories: nothing is left for Other")
    name = as_labels("other", [other], least=1)[0]
    if name in labels:
        raise InvalidArgument("other", other, "is one of the categories to keep: use another name")
    categories = as_labels("keep and other", [*labels.tolist(), name])
    if isinstance(mechanism, Enumerated):
        return _lump_labels(reports, kept, categories)
    if mechanism.sensitive is not None:
        raise NotAvailable(
            f"{mechanism} noises some categories and not others, so that reports of Other would "
            "have no one law: fit all categories, and add up the estimates of those to lump"
        )
    if not mechanism.n_cohorts and not isinstance(mechanism.channel(), Bits):
        raise NotAvailable(
            f"a report of {mechanism} is about several categories at once, so that reports of "
            "Other are not those of one more category: fit all categories, and add up the "
            "estimates of those to lump"
        )
    y = _lump_bits(reports, kept)
    lumped = LumpedUnary(categories, mechanism.p1, mechanism.p0, mechanism.permanent)
    return replace(reports, y=y, mechanism=lumped, cohort=None)


def _hashed(mechanism: Mechanism) -> str:
    return (
        f"{mechanism} hashes answers to shared labels or bits, so that reports of Other have no "
        'known law and Other is approximate: use AssociationModel(..., other="product")'
    )


def _lump_labels(reports: Reports, kept: Array, categories: Labels) -> Reports:
    """Reports that are labels: those of lumped categories become one."""
    mechanism = reports.mechanism
    channel, outputs = mechanism.channel(), mechanism.outputs
    own = outputs.equals(mechanism.categories)  # a report names a category, which may be lumped
    group = np.arange(len(outputs))
    if own:
        group = np.full(len(outputs), kept.size)
        group[kept] = np.arange(kept.size)
        outputs = categories
    if mechanism.unprotected:
        return replace(reports, y=group[reports.y], mechanism=Observed(categories))
    if isinstance(channel, Uniformised):
        b = np.broadcast_to(channel.b, channel.k)
        Q = channel.a * np.eye(kept.size + 1) + np.append(b[kept], np.delete(b, kept).sum())
    else:  # the rows of the kept categories, and of the rest if these are all alike
        full = channel.matrix()
        merged = np.zeros((len(full), group.max() + 1))
        np.add.at(merged.T, group, full.T)
        rest = np.delete(merged, kept, axis=0)
        apart = np.abs(rest - rest[0]).max(axis=1)
        if apart.max() > _ALIKE:
            pair = np.delete(mechanism.categories, kept)[[0, int(np.argmax(apart))]].tolist()
            raise NotAvailable(
                f"{pair[0]!r} and {pair[1]!r} give different reports under {mechanism}, so that "
                "reports of Other depend on which of them is meant: keep all but categories that "
                "are alike"
            )
        Q = np.vstack([merged[kept], rest[0]])
    lumped = CustomMechanism(Q, categories, outputs, permanent=mechanism.permanent)
    return replace(reports, y=group[reports.y], mechanism=lumped, cohort=None)


def _lump_bits(reports: Reports, kept: Array) -> Packed:
    """Reports that are bits: those that the kept categories own alone, packed again."""
    mechanism = reports.mechanism
    if mechanism.n_bits and not mechanism.n_cohorts:  # category x owns bit x, if there is one
        if kept.max() >= mechanism.n_bits:
            last = mechanism.categories[-1]
            raise NotAvailable(f"{last!r} owns no bit in reports of {mechanism}: do not keep it")
        own = kept[None]  # bit of each kept category in each cohort, (C, m)
    elif not isinstance(mechanism, HashedBits) or mechanism.n_hashes > 1:
        raise NotAvailable(_hashed(mechanism))
    else:
        cells = mechanism.cells()[:, :, 0]
        own = cells[:, kept].astype(np.intp)
        for every, mine in zip(cells, own, strict=True):
            if np.bincount(every, minlength=mechanism.n_bits)[mine].max() > 1:
                raise NotAvailable(_hashed(mechanism))
    n, m = len(reports), own.shape[1]
    cohort = np.zeros(n, dtype=np.intp) if reports.cohort is None else reports.cohort
    out = np.empty((n, -(-m // 8)), dtype=np.uint8)
    step = max(1, _BLOCK // m)
    for start in range(0, n, step):
        part = slice(start, start + step)
        at = own[cohort[part]]
        bits = np.take_along_axis(reports.y[part], at >> 3, axis=1) >> (at & 7).astype(np.uint8)
        out[part] = np.packbits(bits & 1, axis=1, bitorder="little")
    return out


@record
class _KeptBits(Bits):
    """Bits of all categories but the last, which owns none."""

    unary = False

    def design(self) -> Array:
        return np.eye(self.n_bits + 1, self.n_bits)

    _owned = design

    def bit_means(self, p: Array) -> Array:
        return np.asarray(self.p0 * np.sum(p) + (self.p1 - self.p0) * p[:-1])

    def rows(self, y: Packed) -> Rows:
        if not self._open:
            return super().rows(y)
        # a row is scaled by the chance of its bits where none is owned: that of the last category
        return WithOther(UnaryRows(y, self.p1, self.p0, self.n_bits), np.ones(len(y)))

    def _scores(self) -> BitScores | None:
        return unary_scores(self.p1, self.p0, self.n_bits, np.ones(1)) if self._open else None

    def epsilon(self) -> float:
        if self.n_bits == 1:  # only the owner and the last category are there to tell apart
            return super().epsilon()
        return Bits(self.members[:-1], self.n_bits, self.p1, self.p0).epsilon()


@record
class LumpedUnary(CategoryBits):
    """A bit per category, each noised on its own, but for the last category, which owns none.

    What `lump` makes of unary reports. The bit of the true category is 1 with probability p1, every
    other bit with probability p0; if the last category is true, all bits are others.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The m kept categories, one or more, and last all others together.
    p1, p0 : float
        P(bit = 1) of the true category and of any other; different.
    permanent : str, optional
        Name of the response that devices keep, see `Mechanism.permanent`.

    Examples
    --------
    >>> lumped = LumpedUnary(("a", "b", "Other"), p1=0.75, p0=0.25)
    >>> lumped.channel().matrix()
    array([[0.1875, 0.5625, 0.0625, 0.1875],
           [0.1875, 0.0625, 0.5625, 0.1875],
           [0.5625, 0.1875, 0.1875, 0.0625]])
    """

    categories: Any
    p1: float
    p0: float
    permanent: str | None = None
    _unwritten: ClassVar = {"permanent": None}  # as before there was one

    def __post_init__(self) -> None:
        set_fields(self, categories=as_labels("categories", self.categories))
        set_fields(self, p1=probability("p1", self.p1), p0=probability("p0", self.p0))
        if self.p1 == self.p0:
            raise InvalidArgument("p1", self.p1, "must differ from p0: reports would say nothing")

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        return self.k - 1

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self._channel.epsilon()

    @cached_property
    def _channel(self) -> Bits:
        return _KeptBits(range(self.k), self.n_bits, self.p1, self.p0)

    def _moments(self, counts: Any) -> Moments:
        """Equations of the bits, and one for the last category: the frequencies sum to one."""
        sums = counts.bit_counts()
        nobs, m = sums.nobs, self.n_bits
        A = np.vstack([(self.p1 - self.p0) * np.eye(m, m + 1), np.ones(m + 1)])
        mean = self.p0 + (self.p1 - self.p0) / self.k
        # the sum is as a bit that every category always sets
        p1, p0 = np.append(np.full(m, self.p1), 1.0), np.append(np.full(m, self.p0), 1.0)
        return Equations(
            A,
            offset=np.append(p0[:-1], 0.0),
            t=np.append(sums.ones.sum(axis=0) / nobs, 1.0),
            V=lambda p: independent_bits(p, p1, p0, nobs),
            weights=np.full(m + 1, nobs / (mean * (1.0 - mean))),
            nobs=nobs,
            kind="lumped",
        )

    def _with_last(self) -> tuple[list[int], list[int]]:
        """Thresholds of own and of other bits, (k,): the last is never set and not reported."""
        thresholds = samplers.bit_thresholds(self.p1, self.p0)
        own, rest = ([value] * self.n_bits + [0] for value in thresholds)
        return own, rest

    def _draw_document(self) -> dict[str, Any]:
        check_table(self, 2 * self.k)
        own, rest = map(numbers, self._with_last())
        return {"kind": "bits", "bits": self.k, "own": own, "other": rest, "sent": self.n_bits}

    def sample(self, codes: Array, words: Words) -> Array:
        own, rest = self._with_last()
        drawn = samplers.sample_bits(codes[:, None], self.k, own, rest, words)
        return drawn[:, : -(-self.n_bits // 8)]

    def _sampler_epsilon(self) -> float:
        bit = portable.rise_and_fall(*samplers.bit_thresholds(self.p1, self.p0))
        return portable.farthest([bit] * min(self.n_bits, 2) + [(0.0, 0.0)])
