"""How much more private reports are once they are shuffled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from ldpstats.arguments.checks import positive_integer, probability, real_number
from ldpstats.arguments.markup import html_table
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism
from ldpstats.privacy.shuffle_bounds import delta_bound, epsilon_bounds, lower_bound
from ldpstats.privacy.shuffled_pairs import ShuffledPairs, shuffled_pairs

__all__ = ["Amplification", "amplification"]

_LEAST_DELTA = 1e-100


@dataclass(frozen=True, eq=False)
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
        return delta_bound(self._pairs, self.honest, value, self.delta)

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
    chance = _checked_delta(delta)
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


def _checked_delta(delta: object) -> float:
    value = probability("delta", delta, zero=False, one=False)
    if value < _LEAST_DELTA:
        raise InvalidArgument("delta", delta, f"must be at least {_LEAST_DELTA:g}, such as 1e-6")
    return value
