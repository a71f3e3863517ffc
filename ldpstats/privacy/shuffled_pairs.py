"""What shuffling needs to know of a mechanism: laws of reports for its worst pairs of answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel
from ldpstats.channels.certificate import as_channel
from ldpstats.channels.structured import Bits, Uniformised
from ldpstats.errors import NotAvailable
from ldpstats.mechanisms.hashed.base import Hashed
from ldpstats.privacy.report_laws import ReportLaws

__all__ = ["ShuffledPairs", "clones", "shuffled_pairs"]

Array = npt.NDArray[Any]

_MOST_PAIRS = 5000
_MOST_ENTRIES = 1 << 22  # of a matrix Q that is listed
_MOST_LAWS = 1000
_MOST_ATTACKS = 40


@dataclass(frozen=True, eq=False)
class ShuffledPairs:
    """Laws of reports for the pairs of answers of a mechanism that may be the worst.

    Parameters
    ----------
    epsilon : float
        Of one report, in nats.
    blankets : tuple of ReportLaws
        Reports of others as far as no answer of theirs changes them; upper bounds. Empty where they
        cannot be listed.
    attacks : tuple of ReportLaws
        Others who all hold one answer; lower bounds.
    two : (float, float), optional
        Largest and smallest probability of a one where there are two reports.
    """

    epsilon: float
    blankets: tuple[ReportLaws, ...]
    attacks: tuple[ReportLaws, ...]
    two: tuple[float, float] | None = None


def clones(epsilon: float) -> ReportLaws:
    """The pair that bounds every epsilon-private mechanism (Feldman, McMillan, Talwar 2021).

    Each of the others sends a copy of either report with probability ``e^-eps / 2`` (Theorem 3.2).
    """
    copy, less = np.exp(-epsilon) / 2.0, np.exp(-epsilon)
    own = np.array([1.0, less, 0.0]) / (1.0 + less)
    return ReportLaws(np.array([copy, copy, 1.0 - 2.0 * copy]), own, own[[1, 0, 2]])


def shuffled_pairs(mechanism: Any) -> ShuffledPairs:
    """The pairs of a mechanism, a channel or a matrix Q.

    Raises
    ------
    NotAvailable
        If some report rules out an answer, so that epsilon is infinite.
    """
    if isinstance(mechanism, Hashed):
        return _hashed(mechanism)
    channel = as_channel("mechanism", mechanism)
    epsilon = channel.epsilon()
    if not np.isfinite(epsilon):
        raise NotAvailable(
            "a report can rule out an answer (epsilon is infinite for some categories): no number "
            "of other reports hides that. Shuffling amplifies mechanisms that protect every answer"
        )
    if isinstance(channel, Uniformised) and np.ndim(channel.b) == 0 and channel.a >= 0.0:
        return _uniformised(channel, epsilon)
    if isinstance(channel, Bits) and channel.unary:
        blanket = _bits(channel.p1, channel.p0, 1)
        attack = () if channel.k < 3 else (_third_bits(channel.p1, channel.p0),)
        return ShuffledPairs(epsilon, (blanket,), attack)
    return _listed(channel, epsilon)


def _hashed(mechanism: Hashed) -> ShuffledPairs:
    """Of hashed answers, where the report holds a cohort that the device drew at random.

    The worst pair shares no cell in any cohort: of every pair that does, the values of `ReportLaws`
    are smaller in convex order (a sum of opposed variables varies less than one of independent).
    """
    worst, epsilon = mechanism.worst_channel(), mechanism.epsilon
    if not np.isfinite(epsilon):
        raise NotAvailable(f"{mechanism} does not protect answers: epsilon is infinite")
    if isinstance(worst, Uniformised) and np.ndim(worst.b) == 0 and worst.a >= 0.0:
        return ShuffledPairs(epsilon, _uniformised(worst, epsilon).blankets, ())
    if isinstance(worst, Bits):
        return ShuffledPairs(epsilon, (_bits(worst.p1, worst.p0, mechanism.n_owned),), ())
    return ShuffledPairs(epsilon, (), ())


def _uniformised(channel: Uniformised, epsilon: float) -> ShuffledPairs:
    """k-RR: the two answers' own reports, those of all others, and reports that tell nothing."""
    k, a, b = channel.k, float(channel.a), float(np.min(channel.b))
    rest = (k - 2) * b
    first, second = np.array([a + b, b, rest, 0.0]), np.array([b, a + b, rest, 0.0])
    blanket = ReportLaws.merged(np.array([b, b, rest, a]), first, second)
    if k == 2:
        return ShuffledPairs(epsilon, (blanket,), (), (a + b, b))
    held = [np.array([b, b, a + rest]), first[:3], second[:3]]  # a third answer, or either
    attacks = tuple(ReportLaws(others, first[:3], second[:3]) for others in held)
    return ShuffledPairs(epsilon, (blanket,), attacks)


def _bits(p1: float, p0: float, owned: int) -> ReportLaws:
    """Independent bits: how many are set that only the one and only the other answer owns."""
    from scipy.special import binom

    i = np.arange(owned + 1)
    base = binom(owned, i) * p0**i * (1.0 - p0) ** (owned - i)
    told = (p1 / p0) ** i * ((1.0 - p1) / (1.0 - p0)) ** (owned - i)
    least = min(p1 / p0, (1.0 - p1) / (1.0 - p0)) ** owned
    both = np.outer(base, base).ravel()
    first, second = np.outer(base * told, base).ravel(), np.outer(base, base * told).ravel()
    others = np.append(least * both, 1.0 - least)
    return ReportLaws.merged(others, np.append(first, 0.0), np.append(second, 0.0))


def _third_bits(p1: float, p0: float) -> ReportLaws:
    """Unary reports where all others hold a third answer.

    Reports that show one of the two answers alone among the three, and all other reports.
    """
    equal, up, down = p0 * (1.0 - p0), p1 * (1.0 - p0), p0 * (1.0 - p1)
    bit = 0 if p1 > p0 else 1  # of the third answer, as a respondent without it has it
    own, others = ((1.0 - p0), (1.0 - p1)) if bit == 0 else (p0, p1)
    laws = [[equal * others] * 2, [up * own, down * own], [down * own, up * own]]
    return ReportLaws(*(np.array([*law, 1.0 - sum(law)]) for law in laws))


def _listed(channel: Channel, epsilon: float) -> ShuffledPairs:
    """All pairs of rows of Q, where there are not too many."""
    k, l = channel.shape  # noqa: E741
    if k * l > _MOST_ENTRIES:
        return ShuffledPairs(epsilon, (), ())
    Q = channel.matrix()
    Q = Q[:, Q.any(axis=0)]
    if Q.shape[1] == 2:
        ends = int(np.argmax(Q[:, 0])), int(np.argmin(Q[:, 0]))
        two = float(Q[ends[0], 0]), float(Q[ends[1], 0])
        return ShuffledPairs(epsilon, (_blanket(Q, *ends),), (), two)
    if k * (k - 1) > _MOST_PAIRS:
        return ShuffledPairs(epsilon, (), ())
    found: dict[bytes, tuple[ReportLaws, tuple[int, int]]] = {}
    for x, other in permutations(range(k), 2):
        laws = _blanket(Q, x, other)
        found.setdefault(laws.signature(), (laws, (x, other)))
    pairs = sorted(found.values(), key=lambda pair: -pair[0].spread())
    if len(pairs) > _MOST_LAWS:
        return ShuffledPairs(epsilon, (), _attacks(Q, pairs[0][1]))
    return ShuffledPairs(epsilon, tuple(p[0] for p in pairs), _attacks(Q, pairs[0][1]))


def _blanket(Q: Array, x: int, other: int) -> ReportLaws:
    least = Q.min(axis=0)
    others = np.append(least, max(1.0 - least.sum(), 0.0))
    return ReportLaws.merged(others, np.append(Q[x], 0.0), np.append(Q[other], 0.0))


def _attacks(Q: Array, pair: tuple[int, int]) -> tuple[ReportLaws, ...]:
    """All others hold one answer, and reports are read as for the one, the other or neither."""
    first, second = Q[pair[0]], Q[pair[1]]
    kind = np.where(first > second * (1.0 + 1e-9), 0, np.where(second > first * (1.0 + 1e-9), 1, 2))
    read = [np.bincount(kind, weights=row, minlength=3) for row in Q[:_MOST_ATTACKS]]
    mine = [np.bincount(kind, weights=row, minlength=3) for row in (first, second)]
    drawn = mine[0] + mine[1] > 0.0
    return tuple(ReportLaws(others[drawn], mine[0][drawn], mine[1][drawn]) for others in read)
