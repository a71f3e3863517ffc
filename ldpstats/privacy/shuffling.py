"""How much more private reports are once they are shuffled.

Let the reports of all others be independent with one law rho, and let a respondent's own report
have law P if she gives one answer and R if another. All shuffled reports together then have
divergence ``E[max(L_1 + ... + L_n, 0)] / n`` at level e^eps, with ``L = (P - e^eps R)(Y) / rho(Y)``
and Y of law rho. The bounds of Balle, Bell, Gascon and Nissim (CRYPTO 2019, Lemma 5.3), of
Feldman, McMillan and Talwar (FOCS 2021) and attacks that bound them from below are of this form:
`ReportLaws`. The chapter goes from the bounds of epsilon and delta to the pairs of answers of a
mechanism that may be the worst, to their divergences (by listing, by binomial tails, on a lattice),
and to two kinds of reports, which are treated exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import combinations, pairwise, permutations
from math import comb
from types import MappingProxyType
from typing import Any

import numpy as np

from ldpstats.arguments import Array, html_table, positive_integer, probability, real_number, record
from ldpstats.channels.certificates import as_channel
from ldpstats.channels.structured import Bits, Channel, Uniformised
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.solvers import root
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.hashed import Hashed

_LEAST_DELTA = 1e-100


@record
class Amplification:
    """The (epsilon, delta) guarantee of shuffled reports.

    Parameters
    ----------
    mechanism : str
        The mechanism, in words.
    n, honest : int
        Number of reports, and of those whose senders do not collude with the observer.
    delta : float
    local_epsilon : float
        Of one report, in nats.
    epsilon : float
        Of all n reports together once they are shuffled, in nats: an upper bound, never above
        `local_epsilon`.
    method : str
        The bound that gave it.
    bounds : mapping from str to float
        The upper bound of epsilon by each method.
    lower : float
        A lower bound of epsilon, from an attack; NaN where none was computed.

    Notes
    -----
    `delta_at` gives delta for another epsilon.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> shuffled = ldp.privacy.amplification(ldp.KRR(4, epsilon=1.0), n=20_000, delta=1e-6)
    >>> print(f"{shuffled.epsilon:.4f}")
    0.0236
    >>> print(f"{shuffled.delta_at(0.1):.1e}")
    1.0e-12
    """

    mechanism: str
    n: int
    honest: int
    delta: float
    local_epsilon: float
    epsilon: float
    method: str
    bounds: Mapping[str, float]
    lower: float
    _pairs: ShuffledPairs = field(repr=False)

    def delta_at(self, epsilon: float) -> float:
        """An upper bound of delta for another epsilon of the same reports.

        Parameters
        ----------
        epsilon : float
            In nats, at least 0.

        Raises
        ------
        InvalidArgument
            If epsilon is negative or no number.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> shuffled = amplification(ldp.KRR(4, 1.0), n=10_000, delta=1e-6)
        >>> shuffled.delta_at(shuffled.epsilon) <= 1e-6, shuffled.delta_at(1.0)
        (True, 0.0)
        """
        remedy = "must be a number of at least 0, in nats"
        value = real_number("epsilon", epsilon, remedy)
        if not value >= 0.0:
            raise InvalidArgument("epsilon", epsilon, remedy)
        if value >= self.local_epsilon:
            return 0.0
        n, target = self.honest, self.delta
        bounds = [1.0, clones(self.local_epsilon).delta(value, n, target)]
        laws = _both_orders(self._pairs.blankets)
        if laws:  # coarse bounds say which need not be computed finely
            coarse = [law.delta(value, n, target, _COARSE) for law in laws]
            worst = 0.0
            for i in np.argsort(coarse)[::-1]:
                if coarse[i] > worst:
                    worst = max(worst, min(coarse[i], laws[i].delta(value, n, target)))
            bounds.append(worst)
        if (two := _two_reports(self._pairs, n, target)) is not None:
            bounds.append(two.delta_above(value, target))
        return min(bounds)

    def summary(self) -> str:
        """The guarantee and each method's bound, as text."""
        who = f"{self.n:,} shuffled reports"
        if self.honest < self.n:
            who += f", {self.honest:,} of them of respondents who do not collude"
        lines = [
            f"Privacy of {who}: {self.mechanism}",
            f"  epsilon of one report        {self.local_epsilon:.6g}",
            f"  epsilon of all, shuffled     {self.epsilon:.6g}  (delta {self.delta:g}; "
            f"{self.method})",
        ]
        if not np.isnan(self.lower):
            lines.append(f"  an attack shows at least     {self.lower:.6g}")
        lines += [f"    by {name:<26}{value:.6g}" for name, value in self.bounds.items()]
        lines.append(
            "  This holds if the shuffler can be trusted and passes on nothing but the reports"
        )
        return "\n".join(lines)

    def __str__(self) -> str:
        return (
            f"epsilon {self.epsilon:.6g}, delta {self.delta:g} of {self.n:,} shuffled reports "
            f"(one report: {self.local_epsilon:.6g}; {self.method})"
        )

    def _repr_html_(self) -> str:
        rows = [("epsilon", f"{self.epsilon:.6g}"), ("delta", f"{self.delta:g}")]
        rows += [("epsilon of one report", f"{self.local_epsilon:.6g}"), ("method", self.method)]
        return html_table(f"{self.n:,} shuffled reports: {self.mechanism}", rows)


def amplification(mechanism: Any, n: int, delta: float, *, colluding: float = 0.0) -> Amplification:
    """The central (epsilon, delta) guarantee of n shuffled reports of one mechanism.

    A shuffler that hides who sent what makes every report more private, as the others' reports
    hide it. Two data sets are neighbours if one respondent's answer differs.

    Parameters
    ----------
    mechanism : Mechanism, Channel or array, shape (k, l)
        What each respondent's device runs, once.
    n : int
        Number of reports.
    delta : float
        In (0, 1), such as 1e-6; much smaller than 1 / n.
    colluding : float
        Share of the respondents, in [0, 1), who may tell the observer what they sent, or send what
        they like. Only reports of the others hide anything.

    Returns
    -------
    Amplification
        Its epsilon is an upper bound always: numerical errors and neglected tails are added.

    Raises
    ------
    NotAvailable
        If epsilon of one report is infinite.
    InvalidArgument
        If `mechanism`, `n`, `delta` or `colluding` is invalid.

    Notes
    -----
    Each respondent sends one report; the guarantees of several surveys add up (`compose`). All
    respondents who do not collude use this mechanism, with independent randomness. The shuffler
    drops everything but the report, such as its time or an address. The observer may know the true
    answers of all others. A cohort is part of the report; if the observer knows whose it is, pass
    the size of the smallest cohort as `n`.

    The smallest of these bounds is taken:

    - "two reports": exact for Warner and k = 2, over all answers of the others; beyond 400
      respondents within about one per cent, beyond a few million not computed.
    - "blanket": Balle, Bell, Gascon and Nissim (CRYPTO 2019), Lemma 5.3, computed for each pair of
      answers with the mechanism's own blanket ``min_x Q[x, y]``.
    - "clones": Feldman, McMillan and Talwar (FOCS 2021), Theorem 3.2; "clones, closed form" is
      their Theorem 3.1.
    - "blanket, Hoeffding": the closed form of Balle et al., section 5.

    "Variation-ratio" bounds (Wang et al., PVLDB 2024) are not used, as they do not bound every
    mechanism: k-RR with k = 3, epsilon 0.5 and n = 2 has delta 0.0370 at epsilon 0.3; they give
    0.0332.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> print(amplification(ldp.KRR(4, epsilon=1.0), n=10_000, delta=1e-6))
    epsilon 0.0342604, delta 1e-06 of 10,000 shuffled reports (one report: 1; blanket)
    """
    number = positive_integer("n", n)
    chance = probability("delta", delta, zero=False, one=False)
    if chance < _LEAST_DELTA:
        raise InvalidArgument("delta", delta, f"must be at least {_LEAST_DELTA:g}, such as 1e-6")
    share = probability("colluding", colluding, one=False)
    honest = max(1, min(number, int(np.floor(number * (1.0 - share) + 1e-9))))
    pairs = shuffled_pairs(mechanism)
    bounds = epsilon_bounds(pairs, honest, chance)
    method = min(bounds, key=lambda name: bounds[name])
    return Amplification(
        mechanism=str(mechanism) if isinstance(mechanism, Mechanism) else "a channel",
        n=number,
        honest=honest,
        delta=chance,
        local_epsilon=pairs.epsilon,
        epsilon=bounds[method],
        method=method,
        bounds=MappingProxyType(bounds),
        lower=lower_bound(pairs, honest, chance, bounds[method]),
        _pairs=pairs,
    )


# -- Bounds of epsilon and delta of shuffled reports, by each method ------------------------------


Bound = Callable[[float], float]

_TOLERANCE = 1e-6  # relative, of epsilon
_WIDEST = 20_000  # likely numbers of reports, up to which two reports are treated exactly
_COARSE = 512  # points of a lattice
_CLOSED = 10  # pairs of answers
_SLACK = (3e-3, 1e-2, 3e-2, 1e-1)  # relative, of epsilon above an attack's


def epsilon_bounds(pairs: ShuffledPairs, n: int, delta: float) -> dict[str, float]:
    """Upper bounds of epsilon by method, none above that of one report."""
    local, blankets = pairs.epsilon, pairs.blankets
    bounds = {}
    if (two := _two_reports(pairs, n, delta)) is not None:
        # for all answers of others, from the epsilon of the worst that were tried on
        below = partial(two.delta_below, target=delta)
        least = smallest(below, delta, 0.0, local, near(blankets[0], n, delta))
        slacks = _SLACK if n > 400 else (3.0 * _TOLERANCE, *_SLACK)
        tried = (least * (1.0 + slack) for slack in slacks)
        certified = (e for e in tried if e < local and two.certifies(e, delta))
        bounds["two reports"] = next(certified, local)
    if blankets:
        bounds["blanket"] = _worst_epsilon(blankets, n, delta, local)
    if 0 < len(blankets) <= _CLOSED:
        bounds["blanket, Hoeffding"] = max(
            smallest(
                partial(hoeffding_delta, law, n=n), delta, 0.0, local, 1.5 * near(law, n, delta)
            )
            for law in blankets
        )
    bounds["clones"] = _worst_epsilon((clones(local),), n, delta, local)
    bounds["clones, closed form"] = clones_closed_form(local, n, delta)
    return {name: float(min(value, local)) for name, value in bounds.items()}


def lower_bound(pairs: ShuffledPairs, n: int, delta: float, top: float) -> float:
    """A lower bound of epsilon by attacks, at most `top`; NaN where none can be computed."""
    if (two := _two_reports(pairs, n, delta)) is not None:
        start = near(pairs.blankets[0], n, delta)
        return _largest(partial(two.delta_below, target=delta), delta, 0.0, top, start)
    laws = [law for law in pairs.attacks if law.window(n, delta) <= WINDOW]
    if not laws:
        return np.nan
    largest = 0.0
    for law in sorted(_both_orders(laws), key=lambda law: -law.spread()):
        below = partial(law.delta_below, n=n, target=delta)
        largest = _largest(below, delta, largest, top, near(law, n, delta))
    return float(largest)


def clones_closed_form(epsilon: float, n: int, delta: float) -> float:
    """Feldman, McMillan, Talwar (2021), Theorem 3.1, as their program has it; inf out of range.

    The range is that of 4 / delta in place of the printed 2 / delta, which the proof needs.
    """
    log = np.log(4.0 / delta)
    if epsilon > np.log(n / (16.0 * log)):
        return np.inf
    grown = 8.0 * np.sqrt(np.exp(epsilon) * log / n) + 8.0 * np.exp(epsilon) / n
    share = -np.expm1(-epsilon) / (1.0 + np.exp(-epsilon - np.log1p(grown)))
    return float(np.log1p(share * grown))


def hoeffding_delta(law: ReportLaws, epsilon: float, n: int) -> float:
    """Balle, Bell, Gascon, Nissim (2019), section 5: delta by Hoeffding's inequality."""
    possible = law.first + law.second > 0.0
    gamma = float(law.others[possible].sum())
    drift = np.expm1(epsilon)
    if drift == 0.0:
        return 1.0
    sides = law.values(epsilon), law.swapped().values(epsilon)
    width = gamma * max(float(np.ptp(values[possible])) for values in sides)
    ratio = (drift / width) ** 2
    kept = n * np.log1p(gamma * np.expm1(-2.0 * ratio))
    return float(min(1.0, np.exp(kept) / (4.0 * gamma * n * drift) * width**2))


def smallest(bound: Bound, delta: float, start: float, top: float, near: float) -> float:
    """The smallest epsilon of a range, to 1e-6 of it, with a decreasing bound of at most delta."""
    if bound(start) <= delta:
        return start
    # the end of the range where the bound holds is returned: `top` if it is nowhere smaller
    low, high, goal = start, top, float(np.log(delta))
    guess = near if low < near < high else (low + high) / 2.0
    a = f = 0.0  # the guess before, and its value
    for tries in range(200):
        if high - low <= _TOLERANCE * high:
            break
        value = float(np.log(max(bound(guess), 1e-320))) - goal
        low, high = (guess, high) if value > 0.0 else (low, guess)
        # the zero of the secant, a little to the side where the end of the range is farther
        zero = guess * (1.02 if value > 0.0 else 0.98)
        if tries:
            flat = f == value or abs(value) > 0.5 * abs(f) > 5.0
            zero = np.inf if flat else guess - value * (guess - a) / (value - f)
            margin = 0.4 * _TOLERANCE * high
            zero += margin if high - zero > zero - low else -margin
        a, f = guess, value
        guess = zero if low < zero < high else (low + high) / 2.0
    return high


def near(laws: ReportLaws, n: int, delta: float) -> float:
    """The epsilon that there would be if the sum of `ReportLaws` were normal."""
    from scipy.special import log_ndtr

    scale = laws.spread() / np.sqrt(n)

    def excess(z: Array) -> Any:
        density = np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi)
        return scale * (density - z * np.exp(log_ndtr(-z))) - delta

    return float(np.log1p(scale * root(excess, 0.0, 40.0)))


def _largest(bound: Bound, delta: float, start: float, top: float, near: float) -> float:
    """The largest epsilon, nearly, at which a decreasing lower bound is above delta; or `start`."""
    largest = smallest(bound, delta, start, top, near)
    return max(start, largest * (1.0 - 1.1 * _TOLERANCE)) if largest > start else start


def _worst_epsilon(laws: Sequence[ReportLaws], n: int, delta: float, local: float) -> float:
    """The epsilon that suffices for all pairs of answers, in either order."""
    worst = 0.0
    for law in _both_orders(laws):
        if len(laws) > 1 and worst > 0.0 and law.delta(worst, n, delta, _COARSE) <= delta:
            continue  # another pair needs more
        bound = partial(law.delta, n=n, target=delta)
        worst = smallest(bound, delta, worst, local, near(law, n, delta))
    return worst


def _both_orders(laws: Sequence[ReportLaws]) -> list[ReportLaws]:
    return [side for law in laws for side in (law, law.swapped())]


def _two_reports(pairs: ShuffledPairs, n: int, target: float) -> TwoReports | None:
    if pairs.two is None or reach(n, pairs.two[0], target) > _WIDEST:
        return None
    return TwoReports(*pairs.two, n)


# -- What shuffling needs to know of a mechanism: laws of reports for its worst pairs of answers ---


_MOST_PAIRS = 5000
_MOST_ENTRIES = 1 << 22  # of a matrix Q that is listed
_MOST_LAWS = 1000
_MOST_ATTACKS = 40


@record
class ShuffledPairs:
    """Laws of reports for the pairs of answers of a mechanism that may be the worst."""

    epsilon: float  # of one report, in nats
    blankets: tuple[ReportLaws, ...]  # others as far as no answer of theirs changes their reports
    attacks: tuple[ReportLaws, ...]  # others who all hold one answer: for lower bounds
    two: tuple[float, float] | None = None  # largest and smallest P(one), of two kinds of reports


def clones(epsilon: float) -> ReportLaws:
    """The pair that bounds every epsilon-private mechanism (Feldman, McMillan, Talwar 2021).

    Each of the others sends a copy of either report with probability ``e^-eps / 2`` (Theorem 3.2).
    """
    copy, less = np.exp(-epsilon) / 2.0, np.exp(-epsilon)
    law = np.array([1.0, less, 0.0]) / (1.0 + less)
    return ReportLaws(np.array([copy, copy, 1.0 - 2.0 * copy]), law, law[[1, 0, 2]])


def shuffled_pairs(mechanism: Any) -> ShuffledPairs:
    """The pairs of a mechanism, a channel or a matrix Q; refused if epsilon is infinite."""
    # A report of hashes holds a cohort, drawn at random. The worst pair shares no cell in any: of
    # every pair that does, the values of `ReportLaws` are smaller in convex order (a sum of opposed
    # variables varies less than one of independent).
    hashed = isinstance(mechanism, Hashed)
    channel: Any = mechanism.worst_channel() if hashed else as_channel("mechanism", mechanism)
    epsilon = mechanism.epsilon if hashed else channel.epsilon()
    if not np.isfinite(epsilon):
        raise NotAvailable(
            "a report can rule out an answer (epsilon is infinite for some categories): no number "
            "of other reports hides that. Shuffling amplifies mechanisms that protect every answer"
        )
    if isinstance(channel, Uniformised) and np.ndim(channel.b) == 0 and channel.a >= 0.0:
        pairs = _uniformised(channel, epsilon)
        return ShuffledPairs(epsilon, pairs.blankets, ()) if hashed else pairs
    if hashed:
        return ShuffledPairs(epsilon, (_bits(channel.p1, channel.p0, mechanism.n_owned),), ())
    if not (isinstance(channel, Bits) and channel.unary):
        return _pairs_of_rows(channel, epsilon)
    p1, p0 = channel.p1, channel.p0
    blanket = _bits(p1, p0, 1)
    if channel.k < 3:
        return ShuffledPairs(epsilon, (blanket,), ())
    # An attack where all others hold a third answer: reports that show one of the two answers alone
    # among the three, and all other reports.
    equal, up, down = p0 * (1.0 - p0), p1 * (1.0 - p0), p0 * (1.0 - p1)
    without, third = (1.0 - p0, 1.0 - p1) if p1 > p0 else (p0, p1)  # the third answer's bit
    laws = [[equal * third] * 2, [up * without, down * without], [down * without, up * without]]
    attack = ReportLaws(*(np.array([*law, 1.0 - sum(law)]) for law in laws))
    return ShuffledPairs(epsilon, (blanket,), (attack,))


def _uniformised(channel: Uniformised, epsilon: float) -> ShuffledPairs:
    """k-RR: the two answers' own reports, those of all others, and reports that tell nothing."""
    k, a, b = channel.k, float(channel.a), float(np.min(channel.b))
    rest = (k - 2) * b
    first, second = np.array([a + b, b, rest, 0.0]), np.array([b, a + b, rest, 0.0])
    blanket = ReportLaws.merged(np.array([b, b, rest, a]), first, second)
    if k == 2:
        return ShuffledPairs(epsilon, (blanket,), (), (a + b, b))
    answers = [np.array([b, b, a + rest]), first[:3], second[:3]]  # a third answer, or either
    attacks = tuple(ReportLaws(others, first[:3], second[:3]) for others in answers)
    return ShuffledPairs(epsilon, (blanket,), attacks)


def _bits(p1: float, p0: float, owned: int) -> ReportLaws:
    """Independent bits: how many are set that only the one and only the other answer owns."""
    from scipy.special import binom

    i = np.arange(owned + 1)
    base = binom(owned, i) * p0**i * (1.0 - p0) ** (owned - i)
    ratio = (p1 / p0) ** i * ((1.0 - p1) / (1.0 - p0)) ** (owned - i)
    least = min(p1 / p0, (1.0 - p1) / (1.0 - p0)) ** owned
    both = np.outer(base, base).ravel()
    first, second = np.outer(base * ratio, base).ravel(), np.outer(base, base * ratio).ravel()
    others = np.append(least * both, 1.0 - least)
    return ReportLaws.merged(others, np.append(first, 0.0), np.append(second, 0.0))


def _pairs_of_rows(channel: Channel, epsilon: float) -> ShuffledPairs:
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
    distinct: dict[bytes, tuple[ReportLaws, int, int]] = {}
    for x, other in permutations(range(k), 2):
        laws = _blanket(Q, x, other)
        # equal for pairs of answers that are alike, to 1e-10
        ratios = np.round(np.array([laws.first / laws.others, laws.second / laws.others]), 10)
        signature = np.vstack([ratios, np.round(laws.others, 12)])[:, np.lexsort(ratios)]
        distinct.setdefault(signature.tobytes(), (laws, x, other))
    pairs = sorted(distinct.values(), key=lambda pair: -pair[0].spread())
    blankets = tuple(pair[0] for pair in pairs) if len(pairs) <= _MOST_LAWS else ()
    # Attacks: all others hold one answer; reports are read as for the one, the other or neither.
    _, x, other = pairs[0]
    above = Q[[x, other]] > Q[[other, x]] * (1.0 + 1e-9)
    read = Q @ np.eye(3)[np.select(list(above), [0, 1], 2)]
    read = read[:, read[x] + read[other] > 0.0]
    attacks = tuple(ReportLaws(others, read[x], read[other]) for others in read[:_MOST_ATTACKS])
    return ShuffledPairs(epsilon, blankets, attacks)


def _blanket(Q: Array, x: int, other: int) -> ReportLaws:
    """Two rows of Q, and ``min_x Q[x, y]`` of the others."""
    least = Q.min(axis=0)
    others = np.append(least, max(1.0 - least.sum(), 0.0))
    return ReportLaws.merged(others, np.append(Q[x], 0.0), np.append(Q[other], 0.0))


# -- Positive parts of sums of many independent variables, bounded from above on a lattice --------


POINTS = 4096  # of a law on the lattice; twice as many before it is thinned
_SHARE = 1e-4  # of the target that cut tails may add
_ROUNDING_OF_SUMS = 1e-8  # relative, far above the errors of sums of positive numbers


def positive_part_bound(
    values: Array, weights: Array, n: int, target: float, points: int = POINTS
) -> float:
    """An upper bound of ``E[max(X_1 + ... + X_n, 0)] / n``, X_i independent with `weights`, (m,).

    Values are split between lattice points so that means stay, which increases the mean of a convex
    function (Jensen). Tails that are cut add about 1e-4 of `target`; fewer `points` are faster.
    """
    span = float(values.max() - values.min())
    if span == 0.0:
        return max(float(values[0]), 0.0)
    step = span / points
    mass, start = _split(values, weights, step)  # of a sum of `terms`, at ``start + i step``
    terms, levels, lost = 1, n.bit_length(), 0.0
    most = float(values.max()) + step  # of a term, as a share of its sum
    for bit in bin(n)[3:]:
        mass, start, terms = np.convolve(mass, mass), start + start, 2 * terms
        if bit == "1":
            one, low = _split(values, weights, step)
            mass, start, terms = np.convolve(mass, one), start + low, terms + 1
            most += step / terms
        # without ends of little mass, rescaled to one
        tail = target * _SHARE * terms / (n * levels * max(most, 1e-300))
        first = int(np.searchsorted(np.cumsum(mass), tail, side="right"))
        last = mass.size - int(np.searchsorted(np.cumsum(mass[::-1]), tail, side="right"))
        lost += float(mass[:first].sum() + mass[last:].sum()) * n / terms
        mass, start = mass[first:last] / mass[first:last].sum(), start + step * first
        while mass.size > points:
            # on every second point: the mass of the others goes to both neighbours in halves
            if mass[0::2].sum() < mass[1::2].sum():  # the heavier half stays where it is
                mass, start = np.concatenate([[0.0], mass]), start - step
            if mass.size % 2 == 0:
                mass = np.append(mass, 0.0)
            moved, mass = mass[1::2] / 2.0, mass[0::2].copy()
            mass[:-1] += moved
            mass[1:] += moved
            step *= 2.0
            most += step / terms
    sums = start + step * np.arange(mass.size)
    mean = float(mass @ np.maximum(sums, 0.0)) / n
    return (mean + max(most, 0.0) * lost) * (1.0 + _ROUNDING_OF_SUMS)


def _split(values: Array, weights: Array, step: float) -> tuple[Array, float]:
    """The law of one variable on a lattice that holds its most frequent value, and its start."""
    anchor = values[np.argmax(weights)]
    place = (values - anchor) / step
    low = np.floor(place).astype(np.int64)
    upper = weights * (place - low)
    mass = np.zeros(int(low.max() - low.min()) + 2)
    np.add.at(mass, low - low.min(), weights - upper)
    np.add.at(mass, low - low.min() + 1, upper)
    return mass, float(anchor + step * low.min())


# -- Binomial laws on the numbers that matter, to full relative precision -------------------------


def reach(n: int, share: float, tail: float) -> float:
    """Distance from the mean beyond which a binomial number has at most this mass.

    By Bernstein's inequality; one more, as a respondent's own report may count or not.
    """
    depth = float(np.log(2.0 / tail))
    spread = n * share * (1.0 - share)
    return float(depth / 3.0 + np.sqrt(depth**2 / 9.0 + 2.0 * spread * depth)) + 2.0


def binomial_window(n: int, share: float, tail: float) -> tuple[Array, Array]:
    """Numbers of successes of n and their probabilities, rescaled to one, but for a tail."""
    if n == 0 or share <= 0.0 or share >= 1.0:
        return np.array([float(n) if share >= 1.0 else 0.0]), np.ones(1)
    width = reach(n, share, tail)
    t = np.arange(max(np.floor(n * share - width), 0.0), min(np.ceil(n * share + width), n) + 1.0)
    # ratios of neighbours from the mode on: differences of log factorials cancel for large n
    steps = np.log((n - t[:-1]) / (t[:-1] + 1.0)) + np.log(share / (1.0 - share))
    mode = int(np.clip(np.floor((n + 1) * share) - t[0], 0, t.size - 1))
    log_mass = np.zeros(t.size)
    log_mass[mode + 1 :] = np.cumsum(steps[mode:])
    log_mass[:mode] = -np.cumsum(steps[:mode][::-1])[::-1]
    mass = np.exp(log_mass)
    return t, mass / mass.sum()


# -- Pairs of answers as an observer of shuffled reports sees them --------------------------------


_ENUMERATED = 20_000  # numbers of reports of each kind that are listed
WINDOW = 30_000  # binomial tails that are computed for one divergence
_ROUNDING_OF_TAILS = 1e-11  # relative, of binomial probabilities
_CUT = 1e-6  # of the target that unlikely numbers may add


@record
class ReportLaws:
    """Laws, each (m,), of a report of others, and of a respondent's with either of two answers."""

    others: Array  # positive
    first: Array  # a report that no other can send is left out if it is as likely with either
    second: Array

    @classmethod
    def merged(cls, others: Array, first: Array, second: Array) -> ReportLaws:
        """Laws where reports with equal likelihood ratios (to 1e-13) are one."""
        drawn = others > 0.0
        others, first, second = others[drawn], first[drawn], second[drawn]
        ratios = np.round(np.log(np.array([first, second]) / others + 1e-300), 12)
        _, place = np.unique(ratios, axis=1, return_inverse=True)
        return cls(*(np.bincount(place.ravel(), law) for law in (others, first, second)))

    def swapped(self) -> ReportLaws:
        """The two answers in the other order."""
        return ReportLaws(self.others, self.second, self.first)

    def values(self, epsilon: float) -> Array:
        """``(P - e^eps R) / rho`` of each report."""
        return np.asarray((self.first - np.exp(epsilon) * self.second) / self.others)

    def spread(self) -> float:
        """Standard deviation of ``(P - R) / rho``, by which pairs of answers can be ordered."""
        return float(np.sqrt(((self.first - self.second) ** 2 / self.others).sum()))

    def delta(self, epsilon: float, n: int, target: float, points: int = POINTS) -> float:
        """An upper bound of the divergence: exact but for rounding where reports are few."""
        values = self.values(epsilon)
        if values.max() <= 0.0:
            return 0.0
        if comb(n + values.size - 1, values.size - 1) <= _ENUMERATED:
            counts, log_ways = _numbers(n, values.size)
            chances = np.exp(log_ways + counts @ np.log(self.others))
            delta = float(chances @ np.maximum(counts @ values, 0.0)) / n
            return delta * (1.0 + _ROUNDING_OF_TAILS)
        if values.size <= 3 and self.window(n, target) <= WINDOW:
            delta, cut, error = _three_kinds(values, self.others, n, target)
            return delta + cut + error
        return positive_part_bound(values, self.others, n, target, points)

    def delta_below(self, epsilon: float, n: int, target: float) -> float:
        """A lower bound of the divergence, for at most three kinds of reports."""
        values = self.values(epsilon)
        if values.max() <= 0.0:
            return 0.0
        delta, _, error = _three_kinds(values, self.others, n, target)
        return max(delta - error, 0.0)

    def window(self, n: int, target: float) -> float:
        """How many binomial tails three kinds of reports need."""
        middle = _middle(self.values(0.0))
        share = float(np.delete(self.others, middle).sum()) if self.others.size > 2 else 1.0
        return 2.0 * reach(n, share, _CUT * target)


@lru_cache(maxsize=4)
def _numbers(n: int, kinds: int) -> tuple[Array, Array]:
    """All numbers of n reports of each kind, (u, kinds), and logs of multinomial coefficients."""
    bars = np.array(list(combinations(range(n + kinds - 1), kinds - 1)), dtype=np.int64)
    ends = np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + kinds - 1)
    counts = np.diff(np.hstack(ends), axis=1) - 1  # between bars
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    return counts, log_factorial[n] - log_factorial[counts].sum(axis=1)


def _middle(values: Array) -> int:
    """Which of the kinds has the value between the others."""
    return int(np.argsort(values)[values.size // 2]) if values.size > 2 else -1


def _three_kinds(
    values: Array, weights: Array, n: int, target: float
) -> tuple[float, float, float]:
    """The divergence by binomial tails; what is cut adds at most the second, rounding the third.

    Of n reports, t are not of the middle kind, and of those a binomial number is of the highest.
    """
    from scipy.special import bdtrc  # (k, n, p): P(more than k)

    middle = _middle(values)
    rest = 0.0 if middle < 0 else float(values[middle])
    top, bottom = int(np.argmax(values)), int(np.argmin(values))
    apart = float(weights[top] + weights[bottom])
    share, ratio = apart if middle >= 0 else 1.0, float(weights[top]) / apart
    t, mass = binomial_window(n, share, _CUT * target)
    cut = 0.0 if share >= 1.0 else _CUT * target
    base = values[bottom] * t + rest * (n - t)
    slope = values[top] - values[bottom]
    least = np.clip(np.floor(-base / slope) + 1.0, 0.0, t + 1.0)  # of the highest kind

    def tail(start: Array, size: Array) -> Array:
        above = bdtrc(np.clip(start - 1.0, 0.0, size), size.astype(int), ratio)
        return np.where(start <= 0.0, 1.0, np.where(start > size, 0.0, above))

    gain = slope * t * ratio * tail(least - 1.0, np.maximum(t - 1.0, 0.0))
    loss = base * tail(least, t)
    divergence = float(mass @ np.maximum(gain + loss, 0.0)) / n
    error = _ROUNDING_OF_TAILS * float(mass @ (np.abs(gain) + np.abs(loss))) / n
    return divergence, cut, error


# -- Shuffled reports of two kinds, exactly: the number of reports of one kind is all there is ----
# An observer who knows the answers of all others knows how many of them, m, send a one with the
# larger probability and how many with the smaller: their ones are a sum of two binomial numbers.
# The hockey-stick divergence is convex in each respondent's probability of a one, so that the two
# extreme answers are the worst ones for all, whatever other categories there are.


_ALL = 400  # respondents up to which every number m is tried
_DIRECT = 2048  # points up to which laws are convolved by sums rather than by Fourier transforms
_EVALUATIONS = 160
_ROUNDING_OF_TWO = 1e-10  # relative, of probabilities
_CUT_OF_TWO = 1e-7  # of the target that unlikely numbers may add


@dataclass(frozen=True)
class TwoReports:
    """n reports that are a one with probability `high` or `low`, by their senders' answers."""

    high: float
    low: float
    n: int

    @property
    def sides(self) -> tuple[TwoReports, ...]:
        """The problem and that with zeros for ones, if it is another."""
        other = TwoReports(1.0 - self.low, 1.0 - self.high, self.n)
        alike = abs(self.high + self.low - 1.0) < 1e-15
        return (self,) if alike else (self, other)

    def split_delta(self, epsilon: float, m: int, rest: int, target: float) -> tuple[float, float]:
        """The divergence where m others are ones with `high`, `rest` with `low`, and its error."""
        grown = np.exp(epsilon)
        gain, loss = self.high - grown * self.low, (1.0 - self.high) - grown * (1.0 - self.low)
        if gain <= 0.0:
            return 0.0, 0.0
        _, first = binomial_window(m, self.high, _CUT_OF_TWO * target)
        _, second = binomial_window(rest, self.low, _CUT_OF_TWO * target)
        if min(first.size, second.size) <= _DIRECT:
            mass, noise = np.convolve(first, second), 0.0
        else:
            size = first.size + second.size - 1
            length = 1 << (size - 1).bit_length()
            product = np.fft.rfft(first, length) * np.fft.rfft(second, length)
            mass = np.maximum(np.fft.irfft(product, length)[:size], 0.0)
            noise = 1e-15 * np.log2(length) * float(np.sqrt((first @ first) * (second @ second)))
        one, none = gain * np.append(0.0, mass), loss * np.append(mass, 0.0)
        sums = one + none
        divergence = float(np.maximum(sums, 0.0).sum())
        error = _ROUNDING_OF_TWO * float((one - none) @ (sums > 0.0))
        scale = gain - loss
        return divergence, error + 2.0 * _CUT_OF_TWO * target * scale + noise * mass.size * scale

    def delta_below(self, epsilon: float, target: float) -> float:
        """A lower bound of the divergence: the largest of some numbers m; of all for small n."""
        largest, n = 0.0, self.n
        for side in self.sides:
            for m in range(n) if n <= _ALL else [(n - 1) * i // 4 for i in range(5)]:
                delta, error = side.split_delta(epsilon, m, n - 1 - m, target)
                largest = max(largest, delta - error)
        return largest

    def certifies(self, epsilon: float, delta: float) -> bool:
        """Whether no number m of the others gives a divergence beyond delta."""
        for side in self.sides:
            heap = [(-side._block(epsilon, *block, delta), *block) for block in side._blocks()]
            heapq.heapify(heap)
            for _ in range(_EVALUATIONS):
                worst, least, most = heap[0]
                if -worst <= delta or least == most:
                    break
                half = (least + most) // 2
                heapq.heappop(heap)
                for block in ((least, half), (half + 1, most)):
                    heapq.heappush(heap, (-side._block(epsilon, *block, delta), *block))
            if -heap[0][0] > delta:
                return False
        return True

    def delta_above(self, epsilon: float, target: float) -> float:
        """An upper bound of the divergence, whatever m is: exact for small n, else by blocks."""
        return max(
            side._block(epsilon, *block, target) for side in self.sides for block in side._blocks()
        )

    def _blocks(self) -> list[tuple[int, int]]:
        """Ranges of m that cover all of them."""
        if self.n <= _ALL:
            return [(m, m) for m in range(self.n)]
        ends = [self.n * i // (_EVALUATIONS // 2) for i in range(_EVALUATIONS // 2 + 1)]
        return [(a, b - 1) for a, b in pairwise(ends) if b > a]

    def _block(self, epsilon: float, least: int, most: int, target: float) -> float:
        """An upper bound for all m of a range: without those who may be of either kind."""
        # what they send besides can only hide more (data processing)
        return sum(self.split_delta(epsilon, least, self.n - 1 - most, target))
