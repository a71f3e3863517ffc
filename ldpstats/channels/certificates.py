"""What a channel guarantees: the certificate of utility-optimised LDP, and the audit of epsilon.

Both are read off Q, and the audit off the integers that a sampler uses too. Then what is left when
reports are combined or processed. The public names are in `ldpstats.privacy`.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import (
    Printed,
    as_array,
    distribution,
    numbers,
    page_text,
    record,
    whole_below,
)
from ldpstats.channels.structured import Channel, Dense
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import Codes, Labels, Mask, sensitive_codes


@runtime_checkable
class Guarded(Protocol):
    """What `uldp` needs to know of a mechanism.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urr = ldp.URR(("married", "single", "divorced"), sensitive={"divorced"}, epsilon=1.0)
    >>> isinstance(urr.sensitive, type(urr.categories))
    True
    >>> ldp.privacy.uldp(urr).epsilon
    1.0
    """

    @property
    def categories(self) -> Labels: ...
    @property
    def sensitive(self) -> Labels | None: ...
    @property
    def shielded(self) -> Labels | None: ...
    def channel(self) -> Channel: ...


class Guarantee(Printed):
    """What a channel guarantees to sensitive categories."""

    epsilon: float
    sensitive: Mask
    reason: str

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds with a finite epsilon."""
        return bool(np.isfinite(self.epsilon))

    def _text(self, kind: str, reports: dict[str, float]) -> str:
        k, S = self.sensitive.size, int(self.sensitive.sum())
        verdict = f"epsilon {self.epsilon:.12g}" if self.holds else f"no epsilon: {self.reason}"
        width = max(map(len, reports))
        lines = [f"{kind} of {S} sensitive among {k} categories: {verdict}"]
        return "\n".join(lines + [f"  {name:<{width}}  {n:.6g}" for name, n in reports.items()])


@record
class ULDP(Guarantee):
    """What a channel guarantees to sensitive categories: the certificate that `uldp` gives.

    Parameters
    ----------
    epsilon : float
        Smallest epsilon, in nats, for which Definition 2 of MK19 holds; inf where none does.
    sensitive : array of bool, shape (k,)
        Which categories are sensitive.
    n_protected, n_invertible : float
        Number of reports of either type, inf where it overflows; a report that no category can
        make counts as neither.
    revealed : array of int, shape (l,), or None
        The category that each report reveals, -1 for protected reports and -2 for those that no
        category can make; None where reports are too many to list.
    reason : str
        Why epsilon is infinite; empty where it is not.

    Examples
    --------
    >>> mangat = [[1.0, 0.0], [0.25, 0.75]]   # categories yes and no; a yes is always reported
    >>> certificate = uldp(mangat, sensitive=[0])
    >>> round(certificate.epsilon, 6), certificate.holds   # ln 4
    (1.386294, True)
    >>> certificate.protected, certificate.invertible
    (array([0]), array([1]))
    """

    epsilon: float
    sensitive: Mask
    n_protected: float
    n_invertible: float
    revealed: Codes | None
    reason: str = ""

    def __str__(self) -> str:
        reports = {"protected reports": self.n_protected, "invertible reports": self.n_invertible}
        return self._text("Utility-optimised LDP", reports)

    @property
    def protected(self) -> Codes:
        """Positions of the protected reports; not available where `revealed` is None."""
        return np.flatnonzero(self._listed() == -1)

    @property
    def invertible(self) -> Codes:
        """Positions of the reports that reveal a category, none of them sensitive; as above."""
        return np.flatnonzero(self._listed() >= 0)

    def _listed(self) -> Codes:
        if self.revealed is None:
            raise NotAvailable(
                "the reports were counted by kind and not listed, so they have no positions: use "
                f"n_protected ({self.n_protected:.4g}) and n_invertible ({self.n_invertible:.4g})"
            )
        return self.revealed


def uldp(Q: Channel | Guarded | npt.ArrayLike, sensitive: Any = None) -> ULDP:
    """Certify utility-optimised local differential privacy from the channel (MK19 Definition 2).

    A report is invertible if one category that is not sensitive can make it and no other can: it
    reveals that category. All other reports are protected, and must not tell any two categories
    apart by more than epsilon: ``Q[x, y] <= e^epsilon Q[x', y]`` for all x and x', sensitive or
    not. So a sensitive category makes protected reports only. No other choice of protected reports
    would have a smaller epsilon.

    Parameters
    ----------
    Q : Channel, Mechanism or array, shape (k, l)
        Rows are true categories, columns are reports.
    sensitive : sequence, optional
        Positions of the sensitive categories, or a boolean mask of shape (k,); for a mechanism
        their labels. By default those of the mechanism: its `sensitive` ones, or those that its
        design is made for (the "yes" of `Mangat`), else all.

    Returns
    -------
    ULDP
        With all categories sensitive, its epsilon is that of local differential privacy.

    Raises
    ------
    InvalidArgument
        If positions or labels do not exist or repeat, or are missing and Q is not a mechanism.
    NotAvailable
        If reports are too many to list, and the channel cannot group them into classes.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urr = ldp.URR(("nurse", "teacher", "driver"), sensitive={"nurse"}, epsilon=1.0)
    >>> print(uldp(urr))
    Utility-optimised LDP of 1 sensitive among 3 categories: epsilon 1
      protected reports   1
      invertible reports  2
    >>> uldp(urr, sensitive=["nurse", "driver"]).reason
    "sensitive category 'driver' alone makes report 2"
    """
    channel = as_channel("Q", Q)
    mask = sensitive_mask(sensitive, Q, channel)
    classes, codes = channel.output_classes(), np.flatnonzero(mask)
    invertible, protected = classes.invertible(codes), classes.protected(codes)
    ratio = np.where(protected, classes.log_ratio, 0.0)
    listed = bool(np.all(classes.size <= 1))
    worst, reason = int(np.argmax(ratio)), ""
    if np.isinf(ratio[worst]):
        which, x = f"report {worst}" if listed else "a report", int(classes.sole[worst])
        reason = f"some categories can make {which} and others cannot"
        if x >= 0:
            who = repr(Q.categories.tolist()[x]) if isinstance(Q, Guarded) else x
            reason = f"sensitive category {who} alone makes {which}"
    return ULDP(
        epsilon=float(ratio[worst]),
        sensitive=mask,
        n_protected=float(classes.size[protected].sum()),
        n_invertible=float(classes.size[invertible].sum()),
        revealed=np.select([invertible, protected], [classes.sole, -1], -2) if listed else None,
        reason=reason,
    )


def as_channel(name: str, Q: Any) -> Channel:
    """Return the channel of a channel, a mechanism or an array."""
    if isinstance(Q, Channel):
        return Q
    if isinstance(Q, Guarded) and isinstance(channel := Q.channel(), Channel):
        return channel
    try:
        return Dense(as_array(name, Q, "must be a channel, a mechanism or a (k, l) array"))
    except InvalidArgument as error:
        if name == "Q":
            raise
        raise InvalidArgument(name, Q, f"must be a channel, but {error}") from None


def sensitive_mask(sensitive: Any, Q: object, channel: Channel) -> Mask:
    """The mask of sensitive categories, from labels of a mechanism or positions in a channel."""
    if isinstance(Q, Guarded):
        labels = Q.sensitive if sensitive is None else sensitive
        labels = Q.shielded if labels is None else labels
        every = np.arange(len(Q.categories))
        return np.isin(every, every if labels is None else sensitive_codes(labels, Q.categories))
    k = channel.shape[0]
    remedy = f"must be positions from 0 to {k - 1}, each once, or a mask of {k} booleans"
    given = list(sensitive) if isinstance(sensitive, Set) else sensitive
    array = as_array("sensitive", given, remedy)
    if array.dtype == bool and array.shape == (k,):
        return array
    fits = array.ndim == 1 and (not array.size or whole_below(array, k))
    if not fits or np.unique(array).size != array.size:
        raise InvalidArgument("sensitive", sensitive, remedy)
    return np.isin(np.arange(k), array)


# -- What a channel really guarantees: epsilon read off Q, and off the integers a sampler uses ----


CHANNEL_TOLERANCE, SAMPLER_TOLERANCE = 1e-12, 1e-9  # of an audit, relative to epsilon above 1
_NO_PRIVACY = "  WARNING: no privacy: some report reveals an answer that should be protected"


@dataclass(frozen=True)
class Audit(Printed):
    """Three values of epsilon, in nats, that must agree.

    Parameters
    ----------
    mechanism : str
        The mechanism, in words.
    declared : float
        What the mechanism claims.
    channel : float
        Largest log ratio of two entries in a column of Q, in double precision.
    sampler : float
        The same for the exact law of the sampler's 64-bit integer thresholds. Thresholds are
        rounded towards more privacy, so it exceeds the declared value by rounding error at most.
    lifetime : float, optional
        For a mechanism whose client remembers, epsilon of all reports of one answer together.
    sensitive : tuple of int, optional
        Numbers of sensitive and of all categories, if only the former are protected; all values are
        then those of utility-optimised LDP (see `uldp`).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> audit = ldp.KRR(10, epsilon=1.0).audit()
    >>> audit.declared, round(audit.channel, 12), round(audit.sampler, 12), audit.agrees
    (1.0, 1.0, 1.0, True)
    """

    mechanism: str
    declared: float
    channel: float
    sampler: float
    lifetime: float | None = None
    sensitive: tuple[int, int] | None = None

    @property
    def agrees(self) -> bool:
        """Whether Q (to 1e-12) and the sampler (to 1e-9) leak no more than declared."""
        size = max(1.0, self.declared)
        return bool(np.isinf(self.declared)) or (
            self.channel - self.declared <= CHANNEL_TOLERANCE * size
            and self.sampler - self.declared <= SAMPLER_TOLERANCE * size
        )

    @property
    def private(self) -> bool:
        """Whether epsilon is finite and protects at least one category."""
        return bool(np.isfinite(self.declared)) and (
            self.sensitive is None or self.sensitive[0] > 0
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, with None for an infinite epsilon."""
        document = asdict(self) | {"agrees": self.agrees, "private": self.private}
        return {k: None if isinstance(v, float) and np.isinf(v) else v for k, v in document.items()}

    def __str__(self) -> str:
        verdict = "agree" if self.agrees else "DO NOT AGREE"
        lines = [
            page_text(f"Privacy audit of {self.mechanism}", 4),
            f"  epsilon declared             {self.declared:.12g}",
            f"  epsilon of the channel Q     {self.channel:.12g}",
            f"  epsilon of the sampler       {self.sampler:.12g}",
            f"  the three {verdict}",
        ]
        if self.lifetime is not None:
            lines.append(f"  epsilon of a lifetime        {self.lifetime:.12g}")
        if self.sensitive is not None:
            some, k = self.sensitive
            lines.append(f"  {some} of {k} categories are protected, the others are not")
        return "\n".join(lines if self.private else [*lines, _NO_PRIVACY])


def epsilon(Q: Channel | Guarded | npt.ArrayLike) -> float:
    """Smallest epsilon for which a channel is epsilon-locally differentially private.

    Parameters
    ----------
    Q : Channel, Mechanism or array, shape (k, l)
        Rows are true categories, columns are reports.

    Returns
    -------
    float
        ``max ln Q[x, y] / Q[x', y]`` in nats, inf if a report is impossible for one category and
        possible for another.

    Examples
    --------
    >>> round(epsilon([[0.75, 0.25], [0.25, 0.75]]), 4)   # ln 3
    1.0986
    """
    return as_channel("Q", Q).epsilon()


# -- What is left of privacy when reports are combined or processed. See `ldpstats.privacy` -------


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
    adaptive = _is_several(second)
    if adaptive and len(second) != l0:
        remedy = f"must be one, or {l0}: one for each first report"
        raise InvalidArgument("second", f"{len(second)} channels", remedy)
    named = (
        {f"second[{y}]": one for y, one in enumerate(second)} if adaptive else {"second": second}
    )
    after = [as_channel(name, one) for name, one in named.items()]
    for name, channel in zip(named, after, strict=True):
        if channel.shape[0] != k:
            found = f"channel of {channel.shape[0]} categories"
            raise InvalidArgument(name, found, f"must have {k}, as the first")
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


def _is_several(second: object) -> bool:
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
    l = before.shape[1]  # noqa: E741
    remedy = f"must have a row of probabilities, summing to one, for each of {l} reports"
    law = numbers("R", R.matrix() if isinstance(R, Channel) else R, remedy)
    if law.ndim != 2 or len(law) != l or not law.size:
        raise InvalidArgument("R", f"array of shape {law.shape}", remedy)
    for y, row in enumerate(law):
        distribution(f"R[{y}]", row, law.shape[1])
    # reports of different types stay apart
    revealed = uldp(before, certificate.sensitive).revealed
    assert revealed is not None
    possible = np.flatnonzero(revealed > -2)
    types, made = revealed[possible], law[possible] > 0.0
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
    return Dense(before.matrix() @ law)
