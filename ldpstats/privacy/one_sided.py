"""One-sided local differential privacy, and what it adds to the utility-optimised kind (MK19 C)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.markup import html_lines
from ldpstats.channels.base import Channel
from ldpstats.channels.certificate import Guarded, as_channel, sensitive_mask, uldp
from ldpstats.channels.structured import Dense
from ldpstats.errors import InvalidArgument, NotAvailable

__all__ = ["OSLDP", "Factors", "osldp", "osldp_factors"]

Array = npt.NDArray[Any]

_LARGEST = 1 << 24  # probabilities of the factors: 128 MB


@dataclass(frozen=True, eq=False)
class OSLDP:
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
    sensitive: npt.NDArray[np.bool_]
    n_shared: float
    n_apart: float
    raised: Array | None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds with a finite epsilon."""
        return bool(np.isfinite(self.epsilon))

    def __str__(self) -> str:
        k, S = self.sensitive.size, int(self.sensitive.sum())
        verdict = f"epsilon {self.epsilon:.12g}" if self.holds else f"no epsilon: {self.reason}"
        return (
            f"One-sided LDP of {S} sensitive among {k} categories: {verdict}\n"
            f"  reports of sensitive categories  {self.n_shared:.6g}\n"
            f"  reports of others only           {self.n_apart:.6g}"
        )

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))


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


@dataclass(frozen=True, eq=False)
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
    kept: npt.NDArray[np.int64]
    revealed: npt.NDArray[np.int64]
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
    if (k + l) * (k + l) > _LARGEST:
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
    return _factors(matrix, mask, certificate.epsilon)


def _factors(Q: Array, sensitive: npt.NDArray[np.bool_], epsilon: float) -> Factors:
    """Equations 26 to 33, with a report of its own for each category that can be revealed."""
    highest = Q[sensitive].max(axis=0, initial=0.0)
    shared = np.flatnonzero(highest > 0.0)  # the image of the sensitive categories
    protected = np.where(sensitive[:, None], Q, np.minimum(Q, highest))[:, shared]
    left = Q.copy()  # what a category that is not sensitive makes beyond that
    left[:, shared] -= protected
    alpha = left.sum(axis=1)
    told = np.flatnonzero(alpha > 0.0)
    reveal = np.zeros((len(Q), told.size))
    reveal[told, np.arange(told.size)] = alpha[told]
    processing = np.zeros((shared.size + told.size, Q.shape[1]))
    processing[np.arange(shared.size), shared] = 1.0
    processing[shared.size :] = left[told] / alpha[told, None]
    none = np.full(told.size, -1)
    return Factors(
        Dense(np.hstack([protected, reveal])),
        processing,
        np.concatenate([shared, none]),
        np.concatenate([np.full(shared.size, -1), told]),
        epsilon,
    )
