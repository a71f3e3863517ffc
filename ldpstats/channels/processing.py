"""What is left of privacy when reports are combined or processed. See `ldpstats.privacy`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import as_array, distribution, numbers
from ldpstats.channels.base import Channel
from ldpstats.channels.certificate import ULDP, Guarded, as_channel, uldp
from ldpstats.channels.structured import Dense
from ldpstats.errors import InvalidArgument, NotAvailable

__all__ = ["post_process", "sequential"]

Array = npt.NDArray[Any]

_MOST_PAIRS = 1 << 27  # probabilities of pairs of reports that are listed: 1 GB as float64


def sequential(first: Any, second: Any) -> Dense:
    """Channel of two reports about the same answer (MK19 Proposition 1).

    ``Q[x, (y0, y1)] = Q0[x, y0] Q1[x, y1]``, where Q1 may depend on y0: respondents may be asked
    again by a mechanism that was chosen after their first report. If both provide utility-optimised
    LDP for the same sensitive categories, so do the two reports together, and their epsilons add
    up: `uldp` certifies it from the result. A pair is protected where both reports are.

    Parameters
    ----------
    first : Channel, Mechanism or array, shape (k, l0)
    second : Channel, Mechanism or array, shape (k, l1), or a list of l0 of them
        A list has the channel of the second report after each first report, with reports of its
        own: they may differ in number.

    Returns
    -------
    Dense
        Pairs (y0, y1) are in row-major order: y1 changes fastest, so that y0 l1 + y1 is the number
        of a pair, if all channels have l1 reports.

    Raises
    ------
    InvalidArgument
        If an argument is not a channel, the list has another length, or the categories differ.
    NotAvailable
        If there are too many pairs to list.

    See Also
    --------
    ldpstats.repeated : the same as a mechanism, with labels.

    Notes
    -----
    An invertible first report has revealed the answer, so no second report can do harm: only the
    channels that follow protected reports matter. For t reports, apply the function t - 1 times.
    An LDP mechanism protects all categories: its epsilon adds to that of a utility-optimised one,
    for every pair whose report of the latter is protected (MK19 Proposition 12).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urr = ldp.URR(3, {0, 1}, epsilon=1.0)
    >>> twice = sequential(urr, urr)
    >>> round(uldp(twice, sensitive=[0, 1]).epsilon, 12)
    2.0

    A second report with more noise after a protected first one, and without noise otherwise:

    >>> after = [ldp.URR(3, {0, 1}, epsilon=0.5)] * 2 + [np.eye(3)]
    >>> round(uldp(sequential(urr, after), sensitive=[0, 1]).epsilon, 12)
    1.5
    """
    Q0 = as_channel("first", first).matrix()
    k, l0 = Q0.shape
    adaptive = _several(second)
    if adaptive and len(second) != l0:
        raise InvalidArgument(
            "second",
            f"{len(second)} channels",
            f"must be one, or {l0}: one for each first report",
        )
    if adaptive:
        after = [as_channel(f"second[{y}]", each) for y, each in enumerate(second)]
    else:
        after = [as_channel("second", second)]
    for y, channel in enumerate(after):
        if channel.shape[0] != k:
            name = f"second[{y}]" if adaptive else "second"
            raise InvalidArgument(
                name, f"channel of {channel.shape[0]} categories", f"must have {k}, as the first"
            )
    pairs = sum(channel.shape[1] for channel in after) * (1 if adaptive else l0)
    if k * pairs > _MOST_PAIRS:
        raise NotAvailable(
            f"there are too many pairs of reports to list for {k} categories: add up epsilons with "
            "compose(), or lump categories first"
        )
    blocks = [channel.matrix() for channel in after]
    if adaptive:
        return Dense(np.hstack([Q0[:, [y]] * Q1 for y, Q1 in enumerate(blocks)]))
    return Dense((Q0[:, :, None] * blocks[0][:, None, :]).reshape(k, -1))


def _several(second: object) -> bool:
    """Whether `second` is a list of channels, not one channel written as a list of rows."""
    if isinstance(second, np.ndarray):
        return second.ndim == 3
    if not isinstance(second, list | tuple) or not second:
        return False
    if isinstance(second[0], Channel | Guarded):
        return True
    try:
        return as_array("second", second[0], "must be a channel").ndim == 2
    except InvalidArgument:  # rows of several lengths
        return True


def post_process(Q: Any, R: Any, sensitive: Any = None) -> Dense:
    """Channel of processed reports, if the processing keeps data types (MK19 Proposition 11).

    ``Q R``, where ``R[y, z]`` is the probability that report y becomes z. Utility-optimised LDP
    survives, with the same epsilon, where protected reports stay apart from those that reveal a
    category, and those that reveal different categories stay apart (MK19 Definition 5). Reports
    that reveal the same category may become one, which the printed definition leaves out.

    Parameters
    ----------
    Q : Channel, Mechanism or array, shape (k, l)
    R : array or Channel, shape (l, m)
        Rows sum to one; zeros and ones for deterministic processing.
    sensitive : sequence, optional
        As for `uldp`.

    Returns
    -------
    Dense
        Its epsilon, by `uldp`, is at most that of Q.

    Raises
    ------
    InvalidArgument
        If R is not such a matrix or mixes data types, or Q itself does not provide
        utility-optimised LDP.
    NotAvailable
        If there are too many reports to list.

    See Also
    --------
    ldpstats.Enumerated : ``mechanism >> other`` is the same as a mechanism, with labels.

    Notes
    -----
    Protected reports stay protected under any R: with y restricted to them,
    ``sum_y Q[x, y] R[y, z] <= e^eps sum_y Q[x', y] R[y, z]`` for all x, x' and z. A sensitive
    category makes no others, so ``(Q R)[x, z] <= e^eps (Q R)[x', z]`` for every sensitive x, all x'
    and all z, whatever R is: one-sided LDP (MK19 Definition 6). No z favours a sensitive category
    by a log ratio above epsilon. R may undo the converse, that only a report that reveals another
    answer counts against a sensitive category by more than epsilon.

    Examples
    --------
    One of three answers is sensitive. Exchanging the other two at random would give reports that
    do not reveal an answer, yet cannot come from every category:

    >>> Q = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    >>> post_process(Q, [[1, 0, 0], [0, 0.9, 0.1], [0, 0.1, 0.9]], sensitive=[0])
    Traceback (most recent call last):
        ...
    ldpstats.errors.InvalidArgument: R[:, 1]=[0.0, 0.9, 0.1]: mixes report 1 (reveals category 1)
    and report 2 (reveals category 2): data types must stay apart; uldp(Q @ R, sensitive) certifies
    the protection that remains

    Splitting a protected report is harmless:

    >>> post_process(Q, [[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], sensitive=[0]).matrix()
    array([[0.5 , 0.5 , 0.  , 0.  ],
           [0.25, 0.25, 0.5 , 0.  ],
           [0.25, 0.25, 0.  , 0.5 ]])
    """
    certificate, before = uldp(Q, sensitive), Dense(as_channel("Q", Q).matrix())
    if not certificate.holds:
        raise InvalidArgument(
            "Q", Q, f"must provide utility-optimised LDP, but {certificate.reason}"
        )
    law = _law_of_processing(R, before.shape[1])
    _check_types(law, uldp(before, certificate.sensitive))
    return Dense(before.matrix() @ law)


def _law_of_processing(R: Any, n_reports: int) -> Array:
    """R as an array with a row of probabilities for each report."""
    remedy = f"must have a row of probabilities, summing to one, for each of {n_reports} reports"
    given = R.matrix() if isinstance(R, Channel) else R
    law = numbers("R", given, remedy)
    if law.ndim != 2 or len(law) != n_reports or not law.size:
        raise InvalidArgument("R", f"array of shape {law.shape}", remedy)
    for y, row in enumerate(law):
        distribution(f"R[{y}]", row, law.shape[1])
    return law


def _check_types(law: Array, certificate: ULDP) -> None:
    """Refuse processing that merges reports of different types."""
    assert certificate.revealed is not None
    possible = np.flatnonzero(certificate.revealed > -2)
    types, made = certificate.revealed[possible], law[possible] > 0.0
    highest = np.where(made, types[:, None], -2).max(axis=0)
    mixed = np.any(made & (types[:, None] != highest), axis=0)
    if mixed.any():
        z = int(np.argmax(mixed))
        first = int(np.argmax(made[:, z]))
        other = int(np.argmax(made[:, z] & (types != types[first])))
        names = {int(x): f"reveals category {x}" for x in types} | {-1: "protected"}
        which = [f"report {possible[i]} ({names[int(types[i])]})" for i in (first, other)]
        raise InvalidArgument(
            f"R[:, {z}]",
            law[:, z].tolist(),
            f"mixes {which[0]} and {which[1]}: data types must stay apart; "
            "uldp(Q @ R, sensitive) certifies the protection that remains",
        )
