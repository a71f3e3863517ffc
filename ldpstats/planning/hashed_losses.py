"""Expected losses of hashed mechanisms.

In cohort c of C let A_c be the design of the candidates, given their hashes, and V_c(p) the
covariance of one report's cells. With n/C respondents in every cohort the linear estimate
``sum_c (A'A)^-1 A_c' t_c`` is unbiased, and candidate x has the variance

    V_x = (C / n) sum_c y_cx' V_c y_cx,    y_c = A_c (A'A)^-1.

The expected squared l2 loss is the sum of the V_x; the expected l1 loss, by the normal
approximation, the sum of ``sqrt(2 V_x / pi)``. Cohorts drawn at random are not quite equal, which
adds a share of at most the order of C/n. Projection onto the simplex lowers both losses much where
noise dominates; intervals and tests rest on the linear estimate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import distribution, one_of
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.hashed.base import Hashed
from ldpstats.planning.rates import Loss, probabilities, sample_size
from ldpstats.problems.hashed.moments import CohortMoments

__all__ = ["expected_loss", "random_design_loss"]

Array = npt.NDArray[Any]

_LOSSES = ("l1", "l2")
_ROWS = 4096  # rows of dense blocks


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
    mechanism : Mechanism
        Any mechanism.
    p : array-like, shape (k,), or Series
        Distribution of the categories or candidates.
    n : int or array of int
        Respondents.
    candidates : sequence of str, optional
        The strings whose distribution is p; only for mechanisms with an open alphabet.
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
    loss = one_of("loss", loss, _LOSSES)
    _check_mechanism(mechanism)
    labels = mechanism.labels(candidates)
    law = distribution("p", align("p", p, labels), len(labels))
    problem = mechanism.moments(mechanism.specimen(), candidates)
    if isinstance(problem, CohortMoments):
        return _total(_cohort_variances(problem, law), n, loss)
    return _total(problem.estimate_variances(law), n, loss)


def _check_mechanism(mechanism: object) -> None:
    if not isinstance(mechanism, Mechanism):
        raise InvalidArgument("mechanism", mechanism, "must be a mechanism, such as ORR(...)")


def _total(variances: Array, n: npt.ArrayLike, loss: str) -> Loss:
    """Loss at n respondents, given the variances at one."""
    respondents = sample_size(n)
    if loss == "l2":
        return variances.sum() / respondents
    return np.sqrt(2.0 / (np.pi * respondents)) * np.sqrt(variances).sum()


def _cohort_variances(problem: CohortMoments, p: Array) -> Array:
    """C sum_c y_cx' V_c y_cx, shape (S,), without the (S, S) products of `problem.covariance`."""
    source = problem.single("expected_loss")
    design, inverse = source.design, problem.inverse * source.precision  # (A'A)^-1
    (C, S, h), m, slope = design.cells.shape, design.n_cells, design.slope
    own, u = design.owned(p), source.cell_means(p)
    # V_c = diag(d) - u u', and what bits of the same answer share
    if source.is_labels:
        d = u
    else:
        d, u = u * (1.0 - u) - slope**2 * own * (1.0 - own), slope * own
        d += slope**2 * own if h == 1 else 0.0
    total, shift = np.zeros(S), design.background * inverse.sum(axis=0)
    step = max(1, _ROWS // max(m, S))
    for start in range(0, C, step):
        part = slice(start, start + step)
        y = slope * (_owners(design.cells[part], m) @ inverse - shift)
        total += d[part].reshape(-1) @ y**2
        total -= ((u[part, :, None] * y.reshape(-1, m, S)).sum(axis=1) ** 2).sum(axis=0)
        if h > 1:  # means of the sums over the bits of each answer
            total += np.tile(p, len(y) // m) @ (slope * (_answers(design.cells[part], m) @ y)) ** 2
    return np.asarray(C * total)


def _owners(cells: Array, m: int) -> Any:
    """H of some cohorts, sparse of shape (C m, S)."""
    from scipy.sparse import csr_array

    C, S, _ = cells.shape
    c, x, j = np.nonzero(cells < m)
    return csr_array((np.ones(c.size), (c * m + cells[c, x, j], x)), shape=(C * m, S))


def _answers(cells: Array, m: int) -> Any:
    """The cells that each answer owns in some cohorts, sparse of shape (C S, C m)."""
    from scipy.sparse import csr_array

    C, S, _ = cells.shape
    c, x, j = np.nonzero(cells < m)
    return csr_array((np.ones(c.size), (c * S + x, c * m + cells[c, x, j])), shape=(C * S, C * m))


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
    n : int or array of int
        Respondents.
    loss : {"l1", "l2"}
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
    loss = one_of("loss", loss, _LOSSES)
    law = probabilities(p)
    _check_mechanism(mechanism)
    if not isinstance(mechanism, Hashed) or mechanism.n_owned != 1:
        raise NotAvailable(f"random_design_loss needs one hash; use expected_loss for {mechanism}")
    if not mechanism.is_open and len(mechanism.labels()) != law.size:
        known = len(mechanism.labels())
        raise InvalidArgument("p", f"array of shape {law.shape}", f"must have {known} entries")
    return _total(_random_variances(mechanism, law), n, loss)


def _random_variances(mechanism: Any, p: Array) -> Array:
    """The V_x of `random_design_loss` at one respondent, shape (S,)."""
    S, k, C = p.size, mechanism.n_cells, mechanism.n_cohorts
    kappa, excess = (_hashed if mechanism.is_open else _permuted)(S, k, C)
    square, gain = float(p @ p), 1.0 - kappa
    # one report's cells have V = diag(low + rise own) - u u' with u = base + slope own
    if mechanism.n_bits:
        high, low = mechanism.p1, mechanism.p0
        slope, base = high - low, 0.0
        rise, low = high * (1.0 - high) - low * (1.0 - low) + slope**2, low * (1.0 - low)
    else:
        Q = mechanism.worst_channel()
        slope, low = Q.a, Q.b
        rise, base = slope, low
    length = gain**2 + (k - 1) * kappa**2  # of the contrast: 1 - kappa and -kappa, squared
    offset = base * (1.0 - k * kappa)  # the contrast of the constant part of u
    own = low * length + rise * gain * (p * gain + (1.0 - p) * kappa)
    own -= offset**2 + 2.0 * offset * slope * p * gain
    spread = square - p**2  # of the other answers in a cell, over kappa (1 - kappa)
    if not mechanism.is_open and S > 2:  # drawn without replacement
        spread = (spread - (1.0 - p) ** 2 / (S - 1)) * (S - 1) / (S - 2)
    own -= slope**2 * gain * (p**2 * gain + spread * kappa)
    together = square + kappa * (1.0 - square)  # probability that two answers are in one cell
    mean = low + rise / k - slope**2 * (together - 1.0 / k) / (k - 1)
    return np.asarray((own / gain + excess * mean) / (slope**2 * gain))


def _hashed(S: int, k: int, C: int) -> tuple[float, float]:
    """Probability of a collision, and the factor of v, for random hashes."""
    gamma = S / (C * (k - 1))
    return 1.0 / k, gamma / (1.0 - gamma) if gamma < 1.0 else np.nan


def _permuted(S: int, k: int, C: int) -> tuple[float, float]:
    """Probability of a collision, and the factor of v, for permutations."""
    if k >= S:
        return 0.0, 0.0
    full, more = divmod(S, k)  # `more` cells own full + 1 values, the others full
    kappa = (more * (full + 1) * full + (k - more) * full * (full - 1)) / (S * (S - 1))
    a = (k - 1) / (S - 1)
    factor = k / S * (1.0 - a) / (a * (C * a - 1.0)) if C * a > 1.0 else np.nan
    return kappa, factor * (1.0 - kappa)
