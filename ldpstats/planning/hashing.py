"""Numbers of cells and cohorts that keep hashed candidates apart (KBR16 appendix G).

In each of C cohorts a string owns the cells that h hashes name among k: one of the k labels of
O-RR, or up to h of the k bits of a Bloom filter. Probabilities are over independent, uniform
hashes, and so hold for any list of candidates; permutations of a closed alphabet collide less.

Two strings are *indistinguishable* if they own the same cells in every cohort. Estimates need
distinguishable candidates, and also equations of full rank (`identification_rank`).

KBR16 prints k^-C as the probability that two strings are distinguishable; it is that of a
collision. The paper counts k C independent equations; there are C (k - 1) + 1, because the
frequencies of every cohort have the same sum. The rest of appendix G is right for h = 1.

Then: expected losses of hashed mechanisms, the best design for a survey, losses of one estimate.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    Printed,
    boolean,
    distribution,
    numbers,
    one_of,
    positive_epsilon,
    positive_integer,
    probability,
    record,
)
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.labels import align
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.hashed import ORAPPOR, ORR, Hashed
from ldpstats.planning.expected_precision import Setting, check_mechanism
from ldpstats.planning.losses import (
    LOSSES,
    Loss,
    probabilities,
    rectangular,
    respondents_of,
    several,
    several_names,
)
from ldpstats.planning.power_of_tests import report_bits, smallest

__all__ = [
    "Recommendation",
    "cells_needed",
    "cohorts_needed",
    "collision_probability",
    "distinguishable_probability",
    "expected_loss",
    "expected_recoverable_mass",
    "identification_rank",
    "random_design_loss",
    "realised_losses",
    "recommend_design",
]

_NEVER = 1e-18  # a probability that cannot change a float near one
_MOST_HASHES = (1 << 16) - 1


def collision_probability(n_cells: int, n_cohorts: int, n_hashes: int = 1) -> float:
    """Probability that two strings own the same cells in every cohort.

    ``k^-C`` for one hash. For several it is ``[sum over s of P(s)^2 / binomial(k, s)]^C``, with
    P(s) the probability that h hashes name s distinct cells.

    Parameters
    ----------
    n_cells : int
        Labels or bits k of a cohort, at least 2.
    n_cohorts : int
        Cohorts C.
    n_hashes : int
        Hashes h of an answer.

    Returns
    -------
    float
        Zero where it is below 1e-308.

    Raises
    ------
    InvalidArgument
        If a number is not a positive integer, or `n_cells` is below 2.

    Examples
    --------
    >>> collision_probability(n_cells=2, n_cohorts=3)
    0.125
    >>> round(collision_probability(n_cells=16, n_cohorts=1, n_hashes=2), 6)  # (30 + 1) / 16^3
    0.007568
    """
    k, C, h = _design(n_cells, n_cohorts, n_hashes)
    sizes, log_match = _filters(k, h)
    return float((sizes @ np.exp(log_match)) ** C)


def distinguishable_probability(S: int, n_cells: int, n_cohorts: int, n_hashes: int = 1) -> float:
    """Probability that a given one of S candidates differs from all others.

    ``(1 - k^-C)^(S-1)`` for one hash (KBR16 appendix G). For several hashes it is averaged over the
    number of cells that the candidate owns.

    Parameters
    ----------
    S : int
        Number of candidates.
    n_cells, n_cohorts, n_hashes : int
        As in `collision_probability`, with its errors.

    Examples
    --------
    >>> distinguishable_probability(S=2, n_cells=2, n_cohorts=3)
    0.875
    >>> round(distinguishable_probability(S=256, n_cells=16, n_cohorts=2), 4)
    0.3686
    """
    S = positive_integer("S", S)
    k, C, h = _design(n_cells, n_cohorts, n_hashes)
    others = S - 1.0
    if others * collision_probability(k, C, h) < _NEVER:
        return 1.0
    # The law of ln P(another string owns the same cells in all C cohorts): values and weights
    sizes, log_match = _filters(k, h)
    sizes, log_match = sizes[sizes > _NEVER], log_match[sizes > _NEVER]
    values: Array = C * log_match
    weights: Array = np.ones(1)
    if sizes.size > 1:
        values = np.zeros(1)
        for _ in range(C):
            values = (values[:, None] + log_match).ravel()
            weights = (weights[:, None] * sizes).ravel()
            # merge sums that differ only in the order of their terms
            _, first, group = np.unique(values.round(9), return_index=True, return_inverse=True)
            values, weights = values[first], np.bincount(group, weights)
            values, weights = values[weights > _NEVER], weights[weights > _NEVER]
    with np.errstate(divide="ignore"):  # log 0 where others match for certain
        return float(weights @ np.exp(others * np.log1p(-np.exp(values))))


def expected_recoverable_mass(S: int, n_cells: int, n_cohorts: int, n_hashes: int = 1) -> float:
    """Expected share of answers whose candidate differs from all others (KBR16 appendix G).

    It equals `distinguishable_probability` for every p, because every candidate is alone with the
    same probability. The more uneven p is, the more the share varies about it. See
    `distinguishable_probability` for the parameters.

    Examples
    --------
    >>> round(expected_recoverable_mass(S=4096, n_cells=256, n_cohorts=2), 4)
    0.9394
    """
    return distinguishable_probability(S, n_cells, n_cohorts, n_hashes)


def cells_needed(S: int, n_cohorts: int, mass: float = 0.99, n_hashes: int = 1) -> int:
    """Fewest cells k for which `expected_recoverable_mass` is at least `mass`.

    For one hash, the least k with ``k^C >= 1 / (1 - mass^{1/(S-1)})`` (KBR16 appendix G). For
    several hashes and a mass below 0.05, the share may not increase with k.

    Parameters
    ----------
    S, n_cohorts, n_hashes
        As in `distinguishable_probability`, with its errors.
    mass : float
        Share of the answers to recover on average, in (0, 1).

    Examples
    --------
    >>> cells_needed(S=256, n_cohorts=1, mass=0.9)
    2421
    >>> cells_needed(S=256, n_cohorts=4, mass=0.9)
    8
    """
    mass = probability("mass", mass, zero=False, one=False)
    return smallest(lambda k: expected_recoverable_mass(S, k, n_cohorts, n_hashes) >= mass, 1, 2)


def cohorts_needed(S: int, n_cells: int, mass: float = 0.99, n_hashes: int = 1) -> int:
    """Fewest cohorts C for which `expected_recoverable_mass` is at least `mass`.

    Parameters
    ----------
    S, n_cells, mass, n_hashes
        As in `cells_needed` and `collision_probability`.

    Examples
    --------
    >>> cohorts_needed(S=4096, n_cells=2, mass=0.99)
    19
    """
    mass = probability("mass", mass, zero=False, one=False)
    return smallest(lambda C: expected_recoverable_mass(S, n_cells, C, n_hashes) >= mass, 0, 1)


def identification_rank(n_cells: int, n_cohorts: int, n_hashes: int = 1) -> int:
    """Largest rank of the design: the number of independent equations about the candidates.

    ``C (k - 1) + 1`` for one hash, because the k frequencies of every cohort have the same sum
    (KBR16 has k C). With several hashes Bloom filters differ in size, and all ``k C`` bits count.

    The frequencies of S candidates are identified only if S is at most this rank; over an open
    alphabet with one hash only if S + 1 is, because the share of all other answers is one more
    unknown. Random hashes reach this rank, or nearly.

    Parameters
    ----------
    n_cells, n_cohorts, n_hashes : int
        As in `collision_probability`, with its errors.

    Examples
    --------
    >>> identification_rank(n_cells=4, n_cohorts=16)   # of 64 cells
    49
    """
    k, C, h = _design(n_cells, n_cohorts, n_hashes)
    return C * (k - 1) + 1 if h == 1 else C * k


def _design(n_cells: object, n_cohorts: object, n_hashes: object) -> tuple[int, int, int]:
    hashes = positive_integer("n_hashes", n_hashes)
    if hashes > _MOST_HASHES:  # the most that a mechanism allows
        raise InvalidArgument("n_hashes", hashes, f"must be at most {_MOST_HASHES}")
    return positive_integer("n_cells", n_cells, 2), positive_integer("n_cohorts", n_cohorts), hashes


def _filters(k: int, h: int) -> tuple[Array, Array]:
    """P(h hashes name s cells), and the log probability of a given set of s: s = 1, 2, ..."""
    sizes = np.zeros(min(h, k) + 1)
    sizes[0] = 1.0
    s = np.arange(sizes.size)
    for _ in range(h):  # a hash names a new cell, or one already named
        sizes[1:] = sizes[1:] * s[1:] / k + sizes[:-1] * (k - s[:-1]) / k
        sizes[0] = 0.0
    log_sets = np.cumsum(np.log(k - s[:-1]) - np.log(s[1:]))  # binomial(k, s)
    with np.errstate(divide="ignore"):  # sizes may underflow to probability 0
        return sizes[1:], np.log(sizes[1:]) - log_sets


# -- Expected losses of hashed mechanisms ---------------------------------------------------------
# In cohort c of C let A_c be the design of the candidates, given their hashes, and V_c(p) the
# covariance of one report's cells. With n/C respondents in every cohort the linear estimate
# ``sum_c (A'A)^-1 A_c' t_c`` is unbiased, and candidate x has the variance
#
#     V_x = (C / n) sum_c y_cx' V_c y_cx,    y_c = A_c (A'A)^-1.
#
# The expected squared l2 loss is the sum of the V_x; the expected l1 loss, by the normal
# approximation, the sum of ``sqrt(2 V_x / pi)``. Cohorts drawn at random are not quite equal, which
# adds a share of at most the order of C/n. Projection onto the simplex lowers both losses much
# where noise dominates; intervals and tests rest on the linear estimate.


def expected_loss(
    mechanism: Mechanism,
    p: npt.ArrayLike,
    n: npt.ArrayLike,
    candidates: Any = None,
    loss: str = "l1",
) -> Loss:
    """Expected loss of the linear estimate (`inversion`) under a mechanism, given the hashes.

    Cohorts are taken to be of equal size. Given that, the squared l2 loss is exact; the l1 loss
    also takes the estimates to be normal.

    Parameters
    ----------
    mechanism, p, candidates
        As in `precision`; p must be given, and sum to one.
    n : int or array of int
        Respondents.
    loss : {"l1", "l2"}
        Expected l1 loss, or expected squared l2 loss, against p.

    Returns
    -------
    float or array
        Of the shape of `n`.

    Raises
    ------
    NotIdentified
        If the design cannot tell the candidates apart.
    InvalidArgument
        If `mechanism` is not a mechanism, `p` is not a distribution over the candidates, or `n` is
        not a positive integer.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> p = [0.4, 0.3, 0.2, 0.1]
    >>> round(float(expected_loss(ldp.KRR(4, epsilon=1.0), p, n=20_000)), 4)
    0.0324
    >>> orr = ldp.ORR(n_outputs=4, n_cohorts=64, epsilon=1.0)
    >>> candidates = ("apple", "pear", "plum", "fig")
    >>> expected_loss(orr, p, n=[20_000, 80_000], candidates=candidates).round(4)
    array([0.0464, 0.0232])
    """
    loss = one_of("loss", loss, LOSSES)
    check_mechanism(mechanism)
    labels = mechanism.labels(candidates)
    law = distribution("p", align("p", p, labels), len(labels))
    return _total(Setting(mechanism, law, labels, candidates).variances("inversion"), n, loss)


def _total(variances: Array, n: npt.ArrayLike, loss: str) -> Loss:
    """Loss at n respondents, given the variances at one."""
    respondents = respondents_of(n)
    if loss == "l2":
        return variances.sum() / respondents
    return np.sqrt(2.0 / (np.pi * respondents)) * np.sqrt(variances).sum()


def random_design_loss(
    mechanism: Mechanism, p: npt.ArrayLike, n: npt.ArrayLike, loss: str = "l1"
) -> Loss:
    """Closed form of `expected_loss` over random hashes, fast for any S.

    Parameters
    ----------
    mechanism : ORR, ORAPPOR or RAPPOR
        With one hash. A closed alphabet must have as many labels as p has entries.
    p : array-like, shape (S,)
        Distribution of the candidates.
    n, loss
        As in `expected_loss`.

    Returns
    -------
    float or array
        Of the shape of `n`; nan where there are no more equations than candidates.

    Raises
    ------
    NotAvailable
        For other mechanisms, or several hashes.
    InvalidArgument
        As in `expected_loss`.

    Notes
    -----
    In the estimate of x, the cells that x owns have weights of mean 1/C; the weights of the others,
    which remove collisions with x, are spread evenly. So ::

        V_x = [v_x + gamma / (1 - gamma) v] / (n s^2 (1 - kappa)),    gamma = S / (C (k - 1)),

    where s is the difference in probability between owning a cell and not, kappa the probability of
    a collision in a cohort (1/k for hashes), v_x the variance of a report's own cell, centred, v
    the mean variance of a cell, and 1 / (1 - gamma) the mean diagonal of the inverse of a large
    random Gram matrix of that shape (Marchenko-Pastur). Permutations of a closed alphabet are C
    free projections of rank a = (k - 1) / (S - 1); the factor of v is then
    ``k (1 - a) (1 - kappa) / (S a (C a - 1))``, and zero for k >= S.

    With at least 4 cohorts, gamma up to 1/2 and a geometric p, the l1 loss is within 5 per cent of
    the exact one, and within 1 per cent from 64 cohorts; with one candidate that holds half of the
    answers and epsilon 6, within 14 and 2 per cent.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> orr = ldp.ORR(n_outputs=8, n_cohorts=64, epsilon=2.0)
    >>> p, names = np.full(100, 0.01), [str(i) for i in range(100)]
    >>> round(float(random_design_loss(orr, p, n=10**6)), 4)
    0.0778
    >>> round(float(expected_loss(orr, p, n=10**6, candidates=names)), 4)
    0.0778
    """
    loss = one_of("loss", loss, LOSSES)
    law = probabilities(p)
    check_mechanism(mechanism)
    if not isinstance(mechanism, Hashed) or mechanism.n_owned != 1:
        raise NotAvailable(f"random_design_loss needs one hash; use expected_loss for {mechanism}")
    if not mechanism.is_open and len(mechanism.labels()) != law.size:
        known = len(mechanism.labels())
        raise InvalidArgument("p", f"array of shape {law.shape}", f"must have {known} entries")
    S, k, C = law.size, mechanism.n_cells, mechanism.n_cohorts
    # The probability of a collision, and the factor of v
    if mechanism.is_open:
        gamma = S / (C * (k - 1))
        kappa, excess = 1.0 / k, gamma / (1.0 - gamma) if gamma < 1.0 else np.nan
    elif k >= S:
        kappa, excess = 0.0, 0.0
    else:
        full, more = divmod(S, k)  # `more` cells own full + 1 values, the others full
        kappa = (more * (full + 1) * full + (k - more) * full * (full - 1)) / (S * (S - 1))
        a = (k - 1) / (S - 1)
        factor = k / S * (1.0 - a) / (a * (C * a - 1.0)) if C * a > 1.0 else np.nan
        excess = factor * (1.0 - kappa)
    square, gain = float(law @ law), 1.0 - kappa
    # one report's cells have V = diag(low + rise own) - u u' with u = base + slope own
    high, low = mechanism.cell_law.high, mechanism.cell_law.low
    slope = rise = high - low
    base = 0.0 if mechanism.n_bits else low
    if mechanism.n_bits:
        rise, low = high * (1.0 - high) - low * (1.0 - low) + slope**2, low * (1.0 - low)
    length = gain**2 + (k - 1) * kappa**2  # of the contrast: 1 - kappa and -kappa, squared
    offset = base * (1.0 - k * kappa)  # the contrast of the constant part of u
    own = low * length + rise * gain * (law * gain + (1.0 - law) * kappa)
    own -= offset**2 + 2.0 * offset * slope * law * gain
    spread = square - law**2  # of the other answers in a cell, over kappa (1 - kappa)
    if not mechanism.is_open and S > 2:  # drawn without replacement
        spread = (spread - (1.0 - law) ** 2 / (S - 1)) * (S - 1) / (S - 2)
    own -= slope**2 * gain * (law**2 * gain + spread * kappa)
    together = square + kappa * (1.0 - square)  # probability that two answers are in one cell
    mean = low + rise / k - slope**2 * (together - 1.0 / k) / (k - 1)
    variances = (own / gain + excess * mean) / (slope**2 * gain)
    return _total(variances, n, loss)


# -- Which mechanism, and how many cells, cohorts and hashes, for a survey of hashed answers ------


Hashing = ORR | ORAPPOR

_MECHANISMS = ("orr", "orappor")
_EXACT = 512  # candidates up to which hashes are drawn, and rank and loss are those of the draw
_LARGE = 256  # cohorts from which the closed form is as good as a draw
_MOST_COHORTS = 4096
_FEW = 16  # respondents of the smallest cohorts
_ENOUGH = 256  # cells per candidate beyond which cohorts gain less than half a per cent
_CLOSE = 1.01  # losses differ by as much between draws of the hashes
_RARE = 1e-3  # expected number of candidates that share all cells, negligible


@record
class Recommendation(Printed):
    """The designs that were compared, and the best of them.

    Parameters
    ----------
    best : ORR or ORAPPOR
        Of the designs within 1 per cent of the least expected loss, the one with the shortest
        reports.
    table : DataFrame
        One row per design, by increasing loss; see `recommend_design`.
    row : int
        Row of the best design in the table.
    S, n, epsilon, loss
        As in `recommend_design`.

    Examples
    --------
    >>> found = recommend_design(S=8, n=10**5, epsilon=2.0, closed=True, n_cohorts=[1, 16])
    >>> print(found.best)
    ORR(n_outputs=8, n_cohorts=1, epsilon=2, k=8)
    """

    best: Hashing
    table: pd.DataFrame
    row: int
    S: int
    n: int
    epsilon: float
    loss: str

    def __str__(self) -> str:
        best = self.table.iloc[self.row]
        kind = "labels of a closed" if not self.best.is_open else "candidates of an open"
        known = int(self.table["identified"].sum())
        return (
            f"Designs for {self.S} {kind} alphabet, {self.n} respondents, epsilon "
            f"{self.epsilon:.6g}\n"
            f"best of {len(self.table)}, of which {known} are identified:\n"
            f"  {self.best}\n"
            f"  expected {self.loss} loss {best['loss']:.4g}, {best['bits']} bits a report\n\n"
            f"{self.table.head(5).to_string(index=False, float_format='{:.4g}'.format)}"
        )


def recommend_design(
    S: int,
    n: int,
    epsilon: float,
    p: npt.ArrayLike | None = None,
    closed: bool = False,
    mechanisms: Any = _MECHANISMS,
    n_outputs: Any = None,
    n_cohorts: Any = None,
    n_hashes: Any = None,
    loss: str = "l1",
) -> Recommendation:
    """Compare O-RR and O-RAPPOR over a grid of cells, cohorts and hashes.

    Parameters
    ----------
    S : int
        Number of candidates, or of labels of a closed alphabet.
    n : int
        Respondents.
    epsilon : float
        Privacy of a report, in nats.
    p : array-like, shape (S,), optional
        Expected distribution. Default: geometric with mean S/5, truncated, as in KBR16.
    closed : bool
        Whether all answers are known in advance; permutations then replace hashes. The alphabet of
        `best` is 0 .. S-1; set yours by ``dataclasses.replace(best, alphabet=labels)``.
    mechanisms : sequence of {"orr", "orappor"}
    n_outputs : int or sequence of int, optional
        Labels of O-RR, and bits of O-RAPPOR. Default: powers of two to 4096, 3, and S if closed.
    n_cohorts : int or sequence of int, optional
        Default: powers of four to 4096, with at least 16 respondents a cohort and at most 256 cells
        a candidate.
    n_hashes : int or sequence of int, optional
        Hashes of O-RAPPOR. Default: 1, which is best (KBR16 section 5.3).
    loss : {"l1", "l2"}
        Expected l1 or expected squared l2 loss of the linear estimate.

    Returns
    -------
    Recommendation
        Its `table` has the columns `mechanism`, `n_outputs`, `n_cohorts`, `n_hashes`; `loss`, nan
        where the design is not identified; `identified`; `distinguishable`, the probability that a
        candidate differs from all others (open alphabet) or the share of labels that do (closed);
        `bits` to send the cohort and the report; and `exact`, whether hashes were drawn.

    Raises
    ------
    NotIdentified
        If no design of the grid tells the candidates apart.
    InvalidArgument
        If an argument is out of range, or more than 512 candidates have several hashes.

    Notes
    -----
    Up to 512 candidates, losses and ranks are exact (`expected_loss`) for one draw of the hashes,
    with candidates "0" .. "S-1". For more candidates, and from 256 cohorts, losses are those of
    `random_design_loss`, given only where a design is almost surely identified: with permutations
    that do not collide, or with at least 4 cohorts, twice the equations needed, and fewer than one
    list in a thousand expected to hold candidates that share all cells. Otherwise more than 512
    candidates count as not identified.

    Losses are those of the linear estimate; projection onto the simplex lowers them where noise
    dominates.

    Examples
    --------
    >>> found = recommend_design(S=16, n=10**5, epsilon=1.0, n_outputs=[2, 4], n_cohorts=[4, 64])
    >>> print(found)
    Designs for 16 candidates of an open alphabet, 100000 respondents, epsilon 1
    best of 8, of which 4 are identified:
      ORR(n_outputs=4, n_cohorts=64, epsilon=1)
      expected l1 loss 0.08141, 8 bits a report
    <BLANKLINE>
    mechanism  n_outputs  n_cohorts  n_hashes    loss  identified  distinguishable  bits  exact
          orr          4         64         1 0.08141        True                1     8   True
      orappor          4         64         1 0.09893        True                1    10   True
          orr          2         64         1  0.1003        True                1     7   True
      orappor          2         64         1  0.1389        True                1     8   True
          orr          2          4         1     NaN       False           0.3798     3   True
    """
    S, n = positive_integer("S", S, 2), positive_integer("n", n)
    epsilon = positive_epsilon("epsilon", epsilon)
    if p is None:  # geometric with mean S / 5
        law = (S / (S + 5.0)) ** np.arange(S)
        law = law / law.sum()
    else:
        law = distribution("p", p, S)
    loss = one_of("loss", loss, LOSSES)
    closed = boolean("closed", closed)
    names = several_names("mechanisms", mechanisms, _MECHANISMS)
    powers = sorted({3, *(1 << i for i in range(1, 13)), *([S] * closed)})
    cells = powers if n_outputs is None else _numbers("n_outputs", n_outputs, 2)
    hashes = [1] if n_hashes is None else _numbers("n_hashes", n_hashes)
    if S > _EXACT and max(hashes) > 1:
        remedy = f"must be 1 for more than {_EXACT} candidates"
        raise InvalidArgument("n_hashes", max(hashes), remedy)
    alphabet = S if closed else None
    designs: list[Hashing] = []
    for name, k in product(names, cells):
        most = min(_MOST_COHORTS, n // _FEW, _ENOUGH * S // k)
        cohorts = [1, *(4**i for i in range(1, 7) if 4**i <= most)]
        for C in cohorts if n_cohorts is None else _numbers("n_cohorts", n_cohorts):
            if name == "orr":
                designs.append(ORR(k, C, epsilon=epsilon, alphabet=alphabet))
            else:
                designs += [ORAPPOR(k, h, C, epsilon=epsilon, alphabet=alphabet) for h in hashes]
    rows = [(_row(design, law, n, loss), design) for design in designs]
    # ties, up to rounding: the shorter report first
    rows.sort(
        key=lambda one: (not one[0]["identified"], float(f"{one[0]['loss']:.9g}"), one[0]["bits"])
    )
    table = pd.DataFrame([row for row, _ in rows])
    if not table["identified"].iloc[0]:
        raise NotIdentified(
            f"no design of the grid tells {S} candidates apart: use more cohorts or outputs (see "
            "identification_rank)"
        )
    close = table["loss"] <= _CLOSE * table["loss"].iloc[0]  # never where it is nan
    row = int(table.loc[close, "bits"].argmin())  # the close ones come first
    return Recommendation(rows[row][1], table, row, S, n, epsilon, loss)


def _numbers(name: str, values: Any, least: int = 1) -> list[int]:
    remedy = "must be a positive integer or a list of them"
    return several(name, values, remedy, partial(positive_integer, least=least))


def _row(design: Hashing, p: Array, n: int, loss: str) -> dict[str, Any]:
    """A row of the table of `recommend_design`."""
    k, C, h, S = design.n_cells, design.n_cohorts, design.n_owned, p.size
    sure = h == 1  # that nearly all draws of one hash identify S candidates
    if sure and (design.is_open or k < S):
        alike = S * (1.0 - distinguishable_probability(S, k, C))
        sure = C >= 4 and 2 * S <= C * (k - 1) and alike < _RARE
    exact = S <= _EXACT and not (sure and C >= _LARGE)
    value = np.nan
    if exact and S <= identification_rank(k, C, h) - (design.is_open and h == 1):
        candidates = [str(i) for i in range(S)] if design.is_open else None
        with suppress(NotIdentified):
            value = float(expected_loss(design, p, n, candidates, loss))
    elif sure and not exact:
        value = float(random_design_loss(design, p, n, loss))
    identified = bool(np.isfinite(value))
    apart = 1.0 if identified else np.nan  # as permutations whose rank is not computed
    if design.is_open:
        apart = distinguishable_probability(S, k, C, h)
    elif exact and not identified:  # the share of labels whose cells no other has
        owned = np.sort(design.cells(), axis=2).swapaxes(0, 1).reshape(S, -1)
        apart = float((np.unique(owned, axis=0, return_counts=True)[1] == 1).sum() / S)
    return {
        "mechanism": "orappor" if design.n_bits else "orr",
        "n_outputs": k,
        "n_cohorts": C,
        "n_hashes": h,
        "loss": value,
        "identified": identified,
        "distinguishable": apart,
        "bits": report_bits(design),
        "exact": exact,
    }


# -- How far estimates are from a truth that is known, as in simulations --------------------------


_WHOLE = 1e-9  # by which the sum of a distribution may differ from one


def realised_losses(
    estimate: npt.ArrayLike | pd.Series[Any], truth: npt.ArrayLike | pd.Series[Any]
) -> pd.Series[Any]:
    """Losses of one estimate, where the truth is known.

    Parameters
    ----------
    estimate : array-like, shape (k,), or Series
        Estimated frequencies, such as ``results.params`` or ``results.linear``. If both arguments
        are Series they are matched by label, otherwise by position.
    truth : array-like, shape (k,), or Series
        The true frequencies, at least zero; of a list of candidates they may sum to less than one.

    Returns
    -------
    Series
        "total_variation", half of "l1"; "l1", the sum of absolute errors; "l2", the root of
        "squared_l2", the sum of squared errors, whose expectation is `Precision.total` for the
        linear estimate; "hellinger", the distance ``sqrt(1 - sum_x sqrt(p_x q_x))``, from 0 to 1.
        The Hellinger distance is nan unless both are distributions: nonnegative, with sum one to
        1e-9. An unconstrained estimate is none as a rule.

    Raises
    ------
    InvalidArgument
        If the arguments have different shapes or labels, an estimate is not a finite number, or the
        truth is not a distribution.

    Examples
    --------
    >>> realised_losses([0.5, 0.3, 0.2], [0.4, 0.4, 0.2]).round(4)
    total_variation    0.1000
    l1                 0.2000
    l2                 0.1414
    squared_l2         0.0200
    hellinger          0.0799
    Name: loss, dtype: float64
    """
    if isinstance(truth, pd.Series) and isinstance(estimate, pd.Series):
        if truth.index.has_duplicates or isinstance(truth.index, pd.MultiIndex):
            raise InvalidArgument("truth", truth.index.tolist(), "must be indexed by labels, once")
        estimate = align("estimate", estimate, truth.index)
    k = rectangular("truth", truth).size
    if not k:
        raise InvalidArgument("truth", truth, "must hold at least one frequency")
    p = distribution("truth", truth, k, partial=True)
    remedy = f"must be {k} finite numbers, one for each entry of the truth"
    q = numbers("estimate", estimate, remedy, (k,))
    if not np.all(np.abs(q) < 1e150):
        raise InvalidArgument("estimate", q.tolist(), remedy)
    l1, squared = float(np.abs(q - p).sum()), float(np.square(q - p).sum())
    losses = {"total_variation": l1 / 2.0, "l1": l1, "l2": np.sqrt(squared), "squared_l2": squared}
    losses["hellinger"] = np.nan
    if q.min() >= 0.0 and max(abs(q.sum() - 1.0), abs(p.sum() - 1.0)) <= _WHOLE:
        # half the squared distance of the roots, which does not cancel where they are close
        half = np.square(np.sqrt(q) - np.sqrt(p)).sum() / 2.0
        losses["hellinger"] = float(np.sqrt(half))
    return pd.Series(losses, name="loss")
