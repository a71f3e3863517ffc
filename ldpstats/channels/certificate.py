"""The certificate of utility-optimised LDP from Q. Its public names are in `ldpstats.privacy`."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array
from ldpstats.arguments.labels import sensitive_codes
from ldpstats.arguments.markup import html_lines
from ldpstats.channels.base import Channel
from ldpstats.channels.structured import Dense
from ldpstats.errors import InvalidArgument, NotAvailable

__all__ = ["ULDP", "Guarded", "as_channel", "sensitive_mask", "uldp"]

Array = npt.NDArray[Any]


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
    def categories(self) -> pd.Index[Any]: ...
    @property
    def sensitive(self) -> pd.Index[Any] | None: ...
    @property
    def shielded(self) -> pd.Index[Any] | None: ...
    def channel(self) -> Channel: ...


@dataclass(frozen=True, eq=False)
class ULDP:
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
    sensitive: npt.NDArray[np.bool_]
    n_protected: float
    n_invertible: float
    revealed: npt.NDArray[np.int64] | None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds with a finite epsilon."""
        return bool(np.isfinite(self.epsilon))

    @property
    def protected(self) -> npt.NDArray[np.int64]:
        """Positions of the protected reports; not available where `revealed` is None."""
        return np.flatnonzero(self._listed() == -1)

    @property
    def invertible(self) -> npt.NDArray[np.int64]:
        """Positions of the reports that reveal a category, none of them sensitive; as above."""
        return np.flatnonzero(self._listed() >= 0)

    def _listed(self) -> npt.NDArray[np.int64]:
        if self.revealed is None:
            raise NotAvailable(
                "the reports were counted by kind and not listed, so they have no positions: use "
                f"n_protected ({self.n_protected:.4g}) and n_invertible ({self.n_invertible:.4g})"
            )
        return self.revealed

    def __str__(self) -> str:
        k, S = self.sensitive.size, int(self.sensitive.sum())
        verdict = f"epsilon {self.epsilon:.12g}" if self.holds else f"no epsilon: {self.reason}"
        return (
            f"Utility-optimised LDP of {S} sensitive among {k} categories: {verdict}\n"
            f"  protected reports   {self.n_protected:.6g}\n"
            f"  invertible reports  {self.n_invertible:.6g}"
        )

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))


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


def sensitive_mask(sensitive: Any, Q: object, channel: Channel) -> npt.NDArray[np.bool_]:
    """The mask of sensitive categories, from labels of a mechanism or positions in a channel."""
    if not isinstance(Q, Guarded):
        return _mask(sensitive, channel.shape[0])
    labels = Q.sensitive if sensitive is None else sensitive
    labels = Q.shielded if labels is None else labels
    if labels is None:
        return np.ones(len(Q.categories), dtype=bool)
    mask = np.zeros(len(Q.categories), dtype=bool)
    mask[sensitive_codes(labels, Q.categories)] = True
    return mask


def _mask(sensitive: Any, k: int) -> npt.NDArray[np.bool_]:
    """The mask of sensitive positions, or of a mask."""
    remedy = f"must be positions from 0 to {k - 1}, each once, or a mask of {k} booleans"
    if sensitive is None:
        raise InvalidArgument("sensitive", None, remedy)
    given = list(sensitive) if isinstance(sensitive, Set) else sensitive
    array = as_array("sensitive", given, remedy)
    if array.dtype == bool and array.shape == (k,):
        return array
    whole = array.dtype.kind in "iu" or not array.size
    if array.ndim != 1 or not whole or np.unique(array).size != array.size:
        raise InvalidArgument("sensitive", sensitive, remedy)
    if array.size and not (array.min() >= 0 and array.max() < k):
        raise InvalidArgument("sensitive", sensitive, remedy)
    mask = np.zeros(k, dtype=bool)
    mask[array.astype(np.int64)] = True
    return mask
