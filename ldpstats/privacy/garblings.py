"""Channels that are processed further: Blackwell's order, and what one-sided privacy adds.

B is a garbling of A if ``B = A R`` for a row-stochastic R: reports of A, with more noise, are then
as good as reports of B, for whatever they are used. How far B is from that is Le Cam's deficiency,
by a linear programme. It is bounded from above by an R whose product is computed, and from below by
gains M, (k, l_B), of deciding y where the category is x: reports of B gain ``<M, B>``, those of A
at most ``sum_j max_y (A' M)[j, y]`` however they are processed, and total variations of d in every
row change gains by at most ``2 d sum_x max_y |M|``. Neither takes the solver's word.

A mechanism under one-sided local differential privacy is a garbling of one under utility-optimised
privacy with the same epsilon (MK19, appendix C).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, record
from ldpstats.channels.certificates import Guarantee, Guarded, as_channel, sensitive_mask, uldp
from ldpstats.channels.structured import Channel, Dense
from ldpstats.errors import InvalidArgument, NotAvailable, NotConverged
from ldpstats.labels import Codes, Labels, Mask, as_labels

_ALIKE = 1e-9  # of a row's total variation: what rounding of a typed or computed matrix may be
_RATIO = 1e-13  # by which columns may differ, relatively, that are the same but for their size
_LARGEST = 400_000  # k l_A l_B, coefficients of the programme: several seconds
_MOST_ENTRIES = 1 << 24  # probabilities of the factors: 128 MB
_SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def dominates(A: Channel | Guarded | npt.ArrayLike, B: Channel | Guarded | npt.ArrayLike) -> bool:
    """Whether B is a garbling of A: a row-stochastic R with ``A R = B`` exists.

    If so, no use of reports of B, by whatever loss, does better than the best use of reports of A
    (Blackwell 1953). Two channels may well not be comparable: each is then better for something.
    KBR16 Theorem 2 says that binary randomised response dominates every binary channel of the same
    epsilon.

    Parameters
    ----------
    A, B : Channel, Mechanism, DataFrame or array, shapes (k, l_A) and (k, l_B)
        Channels of the same categories, in rows. Where both have labels (a mechanism, a DataFrame
        with labelled rows) rows are matched by label, otherwise by position.

    Returns
    -------
    bool
        True if B differs from a garbling of A by a total variation of at most 1e-9 in every row,
        which is what rounding does; False if it differs by more. Both are certified: by an R whose
        product was computed, or by a decision for which B is better than A.

    Raises
    ------
    InvalidArgument
        If A or B is not a channel, or their categories differ.
    NotAvailable
        If reports are too many to list or to compare: k l_A l_B at most 400,000 once reports that
        say the same are one.
    NotConverged
        If the difference is so near 1e-9 that the solver does not settle it.

    Examples
    --------
    More noise on a report of k-RR is k-RR with a smaller epsilon:

    >>> import ldpstats as ldp
    >>> weak, strong = ldp.KRR(4, epsilon=2.0), ldp.KRR(4, epsilon=1.0)
    >>> dominates(weak, strong), dominates(strong, weak)
    (True, False)

    Unary reports and k-RR of the same epsilon are not comparable:

    >>> unary = ldp.KRAPPOR(4, epsilon=1.0)
    >>> dominates(strong, unary), dominates(unary, strong)
    (False, False)
    """
    least, most = _bounds(A, B)
    if most <= _ALIKE:
        return True
    if least > _ALIKE:
        return False
    raise NotConverged(
        f"B is within {most:.2g} of a garbling of A and may be {least:.2g} away, on "
        f"either side of {_ALIKE:g}: pass the probabilities at full precision, or see deficiency()"
    )


def deficiency(A: Channel | Guarded | npt.ArrayLike, B: Channel | Guarded | npt.ArrayLike) -> float:
    """Le Cam's deficiency of A to B: how far B is from the nearest garbling of A.

    The smallest d such that ``A R`` has, for some row-stochastic R, a total variation of at most d
    from B in every row. The best expected loss under A is then at most that under B plus d times
    the range of the loss, whatever the loss. Zero where A dominates B.

    Parameters
    ----------
    A, B : Channel, Mechanism, DataFrame or array, shapes (k, l_A) and (k, l_B)
        As for `dominates`.

    Returns
    -------
    float
        From 0 to 1; an upper bound that a computed R reaches, 0 where it is below 1e-9.

    Raises
    ------
    InvalidArgument, NotAvailable
        As `dominates`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> round(deficiency(ldp.KRR(2, epsilon=np.log(3)), ldp.KRR(2, epsilon=np.log(9))), 12)
    0.15
    """
    _, most = _bounds(A, B)
    return 0.0 if most <= _ALIKE else most


def _bounds(A: Any, B: Any) -> tuple[float, float]:
    """Lower and upper bound of the deficiency of A to B."""
    first, second = _matrix("A", A), _matrix("B", B)
    if len(first) != len(second):
        remedy = f"must have {len(first)} categories, as A"
        raise InvalidArgument("B", f"channel of {len(second)} categories", remedy)
    labels, others = _labels("A", A), _labels("B", B)
    if labels is not None and others is not None:
        places = others.get_indexer(labels)
        if np.any(places < 0):
            missing = labels[places < 0].tolist()[0]
            remedy = (
                f"has no category {missing!r}, which A has: pass channel() to compare by position"
            )
            raise InvalidArgument("B", others.tolist(), remedy)
        second = second[places]
    if first.shape == second.shape and np.array_equal(first, second):
        return 0.0, 0.0
    first, second = _merged(first), _merged(second)
    size = first.size * second.shape[1]
    if size > _LARGEST:
        raise NotAvailable(
            f"channels of {len(first)} categories with {first.shape[1]} and {second.shape[1]} "
            f"different reports need a programme of {size} coefficients, more than {_LARGEST}: "
            "compare fewer categories, or mechanisms of the same kind with fewer reports"
        )
    R, M = _programme(first, second)
    R = np.maximum(R, 0.0)
    total = R.sum(axis=1, keepdims=True)
    R = np.where(total > 0.0, R / np.where(total > 0.0, total, 1.0), 1.0 / R.shape[1])
    most = float(np.abs(first @ R - second).sum(axis=1).max() / 2.0)
    M = M - (M.max(axis=1, keepdims=True) + M.min(axis=1, keepdims=True)) / 2.0
    scale = float(np.abs(M).max(axis=1).sum()) * 2.0
    gain = float((M * second).sum() - (first.T @ M).max(axis=1).sum())
    return max(gain / scale, 0.0) if scale else 0.0, most


def _matrix(name: str, given: Any) -> Array:
    channel = as_channel(name, given)
    k, l = channel.shape  # noqa: E741
    if k * l > _LARGEST:
        size = str(l) if l < 1 << 53 else f"2^{l.bit_length() - 1}"
        raise NotAvailable(
            f"{name} has {k} categories and {size} reports, too many to compare: at most "
            f"{_LARGEST} probabilities"
        )
    return channel.matrix()


def _labels(name: str, given: Any) -> Labels | None:
    if isinstance(given, pd.DataFrame):
        numbered = given.index.equals(pd.RangeIndex(len(given)))
        return None if numbered else as_labels(f"{name}.index", given.index)
    return given.categories if isinstance(given, Guarded) else None


def _merged(Q: Array) -> Array:
    """Q with reports that nobody makes left out, and those that say the same added up."""
    Q = Q[:, Q.any(axis=0)]
    shape = Q / Q.sum(axis=0)
    order = np.lexsort(np.round(shape / _RATIO / 8.0))
    ordered = shape[:, order]
    close = np.abs(np.diff(ordered, axis=1)).max(axis=0) <= _RATIO
    start = np.flatnonzero(np.concatenate([[True], ~close]))
    return np.asarray(np.add.reduceat(Q[:, order], start, axis=1))


def _programme(A: Array, B: Array) -> tuple[Array, Array]:
    """R, shape (l_A, l_B), of least deficiency, and prices of the rows of ``A R + U - D = B``.

    Minimise t over R, U, D >= 0 with ``R 1 = 1`` and ``sum_y (U + D)[x, y] <= 2 t`` for every x.
    """
    import scipy.sparse as sp
    from scipy.optimize import linprog

    (k, a), b = A.shape, B.shape[1]
    eye, one = sp.identity(k * b), sp.csr_array(np.ones((1, b)))
    equal = sp.hstack(
        [sp.kron(sp.csr_array(A), sp.identity(b)), eye, -eye, sp.csr_array((k * b, 1))]
    )
    sums = sp.hstack([sp.kron(sp.identity(a), one), sp.csr_array((a, 2 * k * b + 1))])
    spread = sp.kron(sp.identity(k), one)
    rows = sp.hstack([sp.csr_array((k, a * b)), spread, spread, np.full((k, 1), -2.0)])
    cost = np.zeros(a * b + 2 * k * b + 1)
    cost[-1] = 1.0
    solution = linprog(
        cost,
        A_ub=rows.tocsr(),
        b_ub=np.zeros(k),
        A_eq=sp.vstack([equal, sums]).tocsr(),
        b_eq=np.concatenate([B.ravel(), np.ones(a)]),
        method="highs",
        options=_SOLVER,
    )
    if solution.x is None:
        raise NotConverged(f"the linear programme was not solved: {solution.message}")
    return solution.x[: a * b].reshape(a, b), solution.eqlin.marginals[: k * b].reshape(k, b)


# -- one-sided and utility-optimised local differential privacy (MK19, appendix C) ----------------


@record
class OSLDP(Guarantee):
    """What a channel guarantees to sensitive categories one-sidedly: the certificate of `osldp`.

    Parameters
    ----------
    epsilon : float
        Smallest epsilon, in nats, for which Definition 6 of MK19 holds; inf where none does.
    sensitive : array of bool, shape (k,)
        Which categories are sensitive.
    n_shared, n_apart : float
        Number of reports that a sensitive category can make, and of those that only others can;
        inf where it overflows. A report that no category can make counts as neither.
    raised : array, shape (l,), or None
        The largest log ratio in favour of a sensitive category that each report has, in nats; -inf
        for reports that none can make; None where reports are too many to list.
    reason : str
        Why epsilon is infinite; empty where it is not.

    Examples
    --------
    >>> certificate = osldp([[0.8, 0.2], [0.0, 1.0]], sensitive=[0])
    >>> certificate.epsilon, certificate.holds, certificate.reason
    (inf, False, 'a sensitive category can make report 0, and another category cannot')
    """

    epsilon: float
    sensitive: Mask
    n_shared: float
    n_apart: float
    raised: Array | None
    reason: str = ""

    def __str__(self) -> str:
        numbers = self.n_shared, self.n_apart
        names = "reports of sensitive categories", "reports of others only"
        return self._text("One-sided LDP", dict(zip(names, numbers, strict=True)))


def osldp(Q: Channel | Guarded | npt.ArrayLike, sensitive: Any = None) -> OSLDP:
    """Certify one-sided local differential privacy from the channel (MK19 Definition 6).

    No report raises the odds of a sensitive category x against any other category by more than
    ``e^epsilon``: ``Q[x, y] <= e^epsilon Q[x', y]`` for every sensitive x, all x' and all y. It
    may count against x without limit, and reveal categories that are not sensitive.

    Utility-optimised LDP is stronger: it implies this with an epsilon that is at most as large
    (MK19 Proposition 13), and `osldp_factors` shows what separates the two (Proposition 14).

    Parameters
    ----------
    Q : Channel, Mechanism or array, shape (k, l)
        Rows are true categories, columns are reports.
    sensitive : sequence, optional
        Positions of the sensitive categories, or a boolean mask of shape (k,); for a mechanism
        their labels. By default those of the mechanism.

    Returns
    -------
    OSLDP
        With all categories sensitive, its epsilon is that of local differential privacy.

    Raises
    ------
    InvalidArgument
        If positions or labels do not exist or repeat, or are missing and Q is not a mechanism.
    NotAvailable
        If reports are too many to list, and the channel cannot group them into classes.

    Examples
    --------
    Two answers that are not sensitive, exchanged at random: no report reveals either, so this is no
    utility-optimised LDP, but the sensitive answer is protected as before.

    >>> Q = [[1.0, 0.0, 0.0], [0.5, 0.4, 0.1], [0.5, 0.1, 0.4]]
    >>> print(osldp(Q, sensitive=[0]))
    One-sided LDP of 1 sensitive among 3 categories: epsilon 0.69314718056
      reports of sensitive categories  1
      reports of others only           2
    >>> from ldpstats.privacy import uldp
    >>> uldp(Q, sensitive=[0]).holds
    False
    """
    channel = as_channel("Q", Q)
    mask = sensitive_mask(sensitive, Q, channel)
    classes = channel.one_sided(np.flatnonzero(mask))
    made = classes.size > 0.0
    shared = made & (classes.log_ratio > -np.inf)
    raised = np.where(shared, classes.log_ratio, -np.inf)
    listed = bool(np.all(classes.size <= 1))
    worst = int(np.argmax(raised))
    epsilon = max(float(raised[worst]), 0.0)
    which = f"report {worst}" if listed else "some report"
    reason = f"a sensitive category can make {which}, and another category cannot"
    return OSLDP(
        epsilon=epsilon,
        sensitive=mask,
        n_shared=float(classes.size[shared].sum()),
        n_apart=float(classes.size[made & ~shared].sum()),
        raised=raised if listed else None,
        reason=reason if np.isinf(epsilon) else "",
    )


@record
class Factors:
    """A one-sided mechanism as one under utility-optimised LDP and processing after it.

    ``Q = uldp.matrix() @ processing``: what `osldp_factors` finds.

    Parameters
    ----------
    uldp : Dense
        The utility-optimised channel, (k, m).
    processing : array, shape (m, l)
        Probability that each of its reports becomes each report of Q; rows sum to one.
    kept : array of int, shape (m,)
        The report of Q that a protected report stands for; -1 for reports that reveal a category.
    revealed : array of int, shape (m,)
        The category that a report reveals; -1 for protected reports.
    epsilon : float
        That of the one-sided guarantee, in nats, which `uldp` keeps.

    Examples
    --------
    >>> factors = osldp_factors([[1.0, 0.0], [0.5, 0.5]], sensitive=[0])
    >>> factors.uldp.matrix()
    array([[1. , 0. ],
           [0.5, 0.5]])
    >>> factors.revealed
    array([-1,  1])
    """

    uldp: Dense
    processing: Array
    kept: Codes
    revealed: Codes
    epsilon: float


def osldp_factors(Q: Channel | Guarded | npt.ArrayLike, sensitive: Any = None) -> Factors:
    """Write a one-sided mechanism as a utility-optimised one and processing (MK19 Proposition 14).

    The processing mixes reports that reveal a category with others. Reports of the first factor are
    therefore as good as those of Q for any use, and sensitive categories are as safe: one-sided LDP
    allows nothing better than utility-optimised LDP does.

    Parameters
    ----------
    Q : Channel, Mechanism or array, shape (k, l)
        Rows are true categories, columns are reports.
    sensitive : sequence, optional
        As for `osldp`.

    Returns
    -------
    Factors
        ``factors.uldp.matrix() @ factors.processing`` is Q.

    Raises
    ------
    InvalidArgument
        If Q gives no one-sided guarantee, or `sensitive` is not understood.
    NotAvailable
        If reports are too many to list.

    Notes
    -----
    With s_y the largest probability of report y under a sensitive category, another category x
    makes protected report y with probability ``min(Q[x, y], s_y)`` (eq. 27). The rest of its
    probability reveals x, and the processing sends it to the reports that Q makes of it (eqs. 30
    and 32). A Q that is utility-optimised with the same epsilon is its own first factor.

    Examples
    --------
    The first answer is sensitive; the second makes report 0 more often than it needs to.

    >>> Q = [[0.5, 0.5, 0.0], [0.8, 0.1, 0.1], [0.25, 0.25, 0.5]]
    >>> factors = osldp_factors(Q, sensitive=[0])
    >>> factors.uldp.matrix()
    array([[0.5 , 0.5 , 0.  , 0.  ],
           [0.5 , 0.1 , 0.4 , 0.  ],
           [0.25, 0.25, 0.  , 0.5 ]])
    >>> factors.processing
    array([[1.  , 0.  , 0.  ],
           [0.  , 1.  , 0.  ],
           [0.75, 0.  , 0.25],
           [0.  , 0.  , 1.  ]])
    """
    channel = as_channel("Q", Q)
    k, l = channel.shape  # noqa: E741
    if (k + l) * (k + l) > _MOST_ENTRIES:
        raise NotAvailable(
            f"{k} categories and {l if l < 1 << 53 else 'very many'} reports are too many to list "
            "the factors of: lump categories first"
        )
    certificate = osldp(Q, sensitive)
    if not certificate.holds:
        remedy = f"gives no one-sided guarantee, as {certificate.reason}"
        raise InvalidArgument("Q", Q, remedy)
    matrix, mask = channel.matrix(), certificate.sensitive
    whole = uldp(matrix, mask)
    if whole.epsilon <= certificate.epsilon + 1e-12:
        assert whole.revealed is not None
        revealed = np.maximum(whole.revealed, -1)
        kept = np.where(revealed < 0, np.arange(l), -1)
        return Factors(Dense(matrix), np.eye(l), kept, revealed, certificate.epsilon)
    # equations 26 to 33, with a report of its own for each category that can be revealed
    highest = matrix[mask].max(axis=0, initial=0.0)
    shared = np.flatnonzero(highest > 0.0)  # the image of the sensitive categories
    protected = np.where(mask[:, None], matrix, np.minimum(matrix, highest))[:, shared]
    left = matrix.copy()  # what a category that is not sensitive makes beyond that
    left[:, shared] -= protected
    alpha = left.sum(axis=1)
    apart = np.flatnonzero(alpha > 0.0)
    reveal = np.zeros((k, apart.size))
    reveal[apart, np.arange(apart.size)] = alpha[apart]
    processing = np.zeros((shared.size + apart.size, l))
    processing[np.arange(shared.size), shared] = 1.0
    processing[shared.size :] = left[apart] / alpha[apart, None]
    none = np.full(apart.size, -1)
    return Factors(
        Dense(np.hstack([protected, reveal])),
        processing,
        np.concatenate([shared, none]),
        np.concatenate([np.full(shared.size, -1), apart]),
        certificate.epsilon,
    )
