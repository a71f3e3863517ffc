"""What a channel really guarantees: epsilon read off Q, and off the integers a sampler uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.channels import Channel, Dense
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import sensitive_codes

__all__ = ["ULDP", "Audit", "Guarded", "compose", "epsilon", "split_budget", "uldp"]


@runtime_checkable
class Guarded(Protocol):
    """What `uldp` needs to know of a mechanism."""

    @property
    def categories(self) -> pd.Index[Any]: ...
    @property
    def sensitive(self) -> pd.Index[Any] | None: ...
    def channel(self) -> Channel: ...


@dataclass(frozen=True)
class Audit:
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
        The same of the law that the sampler's 64-bit integer thresholds realise exactly. It is
        rounded towards more privacy where the mechanism has a threshold, so it does not exceed
        the declared value by more than double rounding.
    lifetime : float, optional
        For a mechanism whose client remembers, epsilon of all reports of one answer together.
    sensitive : tuple of int, optional
        Number of sensitive categories and of all, where only the former are protected: all values
        are then those of utility-optimised LDP (see `uldp`).

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
        channel, sampler = self.channel - self.declared, self.sampler - self.declared
        return bool(np.isinf(self.declared)) or (channel <= 1e-12 * size and sampler <= 1e-9 * size)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, with None for an infinite epsilon."""
        document = asdict(self) | {"agrees": self.agrees}
        return {k: None if isinstance(v, float) and np.isinf(v) else v for k, v in document.items()}

    def __str__(self) -> str:
        verdict = "agree" if self.agrees else "DO NOT AGREE"
        whole = ""
        if self.lifetime is not None:
            whole = f"\n  epsilon of a lifetime        {self.lifetime:.12g}"
        if self.sensitive is not None:
            whole += "\n  {} of {} categories are protected, the others are not".format(
                *self.sensitive
            )
        return (
            f"Privacy audit of {self.mechanism}\n"
            f"  epsilon declared             {self.declared:.12g}\n"
            f"  epsilon of the channel Q     {self.channel:.12g}\n"
            f"  epsilon of the sampler       {self.sampler:.12g}\n"
            f"  the three {verdict}{whole}"
        )


def epsilon(Q: Channel | npt.ArrayLike) -> float:
    """Smallest epsilon for which a channel is epsilon-locally differentially private.

    Parameters
    ----------
    Q : Channel or array, shape (k, l)
        Channel; rows are true categories, columns are reports.

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
    return (Q if isinstance(Q, Channel) else Dense(np.array(Q))).epsilon()


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
        Number of reports of either type.
    revealed : array of int, shape (l,), or None
        The category that each report reveals, -1 for protected reports; None where reports are too
        many to list.
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
        """Whether there is an epsilon at all."""
        return bool(np.isfinite(self.epsilon))

    @property
    def protected(self) -> npt.NDArray[np.int64]:
        """Positions of the protected reports."""
        return np.flatnonzero(self._listed() < 0)

    @property
    def invertible(self) -> npt.NDArray[np.int64]:
        """Positions of the reports that reveal a category, none of them sensitive."""
        return np.flatnonzero(self._listed() >= 0)

    def _listed(self) -> npt.NDArray[np.int64]:
        if self.revealed is None:
            raise NotAvailable(
                f"{self.n_protected:.4g} protected reports are too many to list: use n_protected "
                "and n_invertible"
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


def uldp(Q: Channel | Guarded | npt.ArrayLike, sensitive: Any = None) -> ULDP:
    """Certify utility-optimised local differential privacy from the channel (MK19 Definition 2).

    A report is invertible if one category that is not sensitive can make it and no other can: it
    reveals that category. All other reports are protected, and must not tell any two categories
    apart by more than epsilon: ``Q[x, y] <= e^epsilon Q[x', y]`` for all x and x', sensitive or
    not. So a sensitive category makes protected reports only.

    Parameters
    ----------
    Q : Channel, Mechanism or array, shape (k, l)
        Rows are true categories, columns are reports.
    sensitive : sequence, optional
        Positions of the sensitive categories, or a boolean mask of shape (k,); for a mechanism
        their labels. By default those of the mechanism.

    Returns
    -------
    ULDP
        With all categories sensitive, its epsilon is that of local differential privacy.

    Raises
    ------
    InvalidArgument
        For positions or labels that do not exist or repeat, or none where no mechanism is given.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> urr = ldp.URR(("nurse", "teacher", "driver"), sensitive={"nurse"}, epsilon=1.0)
    >>> print(uldp(urr))
    Utility-optimised LDP of 1 sensitive among 3 categories: epsilon 1
      protected reports   1
      invertible reports  2
    >>> uldp(urr, sensitive=["nurse", "driver"]).reason
    'a sensitive category alone makes report 2'
    """
    if isinstance(Q, Guarded):
        mask, channel = _labelled(sensitive, Q), Q.channel()
    else:
        channel = Q if isinstance(Q, Channel) else Dense(np.array(Q))
        mask = _mask(sensitive, channel.shape[0])
    classes = channel.output_classes()
    invertible = (classes.sole >= 0) & ~mask[classes.sole] & (classes.size > 0)
    protected = ~invertible & (classes.size > 0)
    ratio = np.where(protected, classes.log_ratio, 0.0)
    worst, reason = int(np.argmax(ratio)), ""
    if np.isinf(ratio[worst]):
        alone = classes.sole[worst] >= 0
        who = "a sensitive category alone makes" if alone else "some categories cannot make"
        reason = f"{who} report {worst}"
    listed = bool(np.all(classes.size <= 1))
    return ULDP(
        epsilon=float(ratio[worst]),
        sensitive=mask,
        n_protected=float(classes.size[protected].sum()),
        n_invertible=float(classes.size[invertible].sum()),
        revealed=np.where(invertible, classes.sole, -1) if listed else None,
        reason=reason,
    )


def _labelled(sensitive: Any, mechanism: Guarded) -> npt.NDArray[np.bool_]:
    """The mask of sensitive labels of a mechanism."""
    labels = mechanism.sensitive if sensitive is None else sensitive
    if labels is None:
        return np.ones(len(mechanism.categories), dtype=bool)
    return np.isin(
        np.arange(len(mechanism.categories)), sensitive_codes(labels, mechanism.categories)
    )


def _mask(sensitive: Any, k: int) -> npt.NDArray[np.bool_]:
    """The mask of sensitive positions, or of a mask."""
    remedy = f"must be positions from 0 to {k - 1}, each once, or a mask of {k} booleans"
    if sensitive is None:
        raise InvalidArgument("sensitive", None, remedy)
    given = list(sensitive) if isinstance(sensitive, Set) else sensitive
    try:
        array = np.asarray(given)
    except ValueError:
        raise InvalidArgument("sensitive", sensitive, remedy) from None
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


def compose(epsilons: Sequence[float]) -> float:
    """Epsilon of several reports about the same value: they add up (sequential composition).

    Parameters
    ----------
    epsilons : sequence of float
        In nats; zero for a report that says nothing, inf for one that protects nothing.

    Raises
    ------
    InvalidArgument
        For no sequence, or an epsilon that is negative, NaN or no number.

    Examples
    --------
    >>> compose([1.0, 0.5])
    1.5
    """
    remedy = "must be a number of at least 0, in nats; inf is no privacy"
    given = _sequence("epsilons", epsilons)
    for i, value in enumerate(given):
        if not _number(value) >= 0.0:
            raise InvalidArgument(f"epsilons[{i}]", value, remedy)
    return float(sum(given))


def split_budget(total: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Divide a total epsilon over several reports in proportion to `weights`.

    Parameters
    ----------
    total : float
        In nats, positive and finite.
    weights : sequence of float
        Positive and finite, of any size: only their ratios matter.

    Raises
    ------
    InvalidArgument
        For a total or weights that are not positive and finite, or no weights.

    Examples
    --------
    >>> split_budget(3.0, [1, 1, 2])
    (0.75, 0.75, 1.5)
    """
    remedy = "must be a positive finite number (in nats), for example 1.0"
    if not 0.0 < _number(total) < np.inf:
        raise InvalidArgument("total", total, remedy)
    remedy = "must be a positive finite number: the share of one report, such as 1 for equal shares"
    given = _sequence("weights", weights)
    for i, value in enumerate(given):
        if not 0.0 < _number(value) < np.inf:
            raise InvalidArgument(f"weights[{i}]", value, remedy)
    if not given:
        raise InvalidArgument("weights", weights, "needs at least one positive finite number")
    shares = np.array(given, dtype=np.float64)
    shares = shares / shares.max()  # whose sum cannot overflow
    parts = float(total) * (shares / shares.sum())
    if not parts.all():
        raise InvalidArgument("weights", weights, "differ so much that a share rounds to zero")
    return tuple(parts.tolist())


def _sequence(name: str, values: object) -> list[Any]:
    # a set would merge equal numbers, a dictionary would give its keys
    scalar = isinstance(values, np.ndarray) and values.ndim == 0
    if (
        scalar
        or not isinstance(values, Iterable)
        or isinstance(values, str | bytes | Set | Mapping)
    ):
        raise InvalidArgument(name, values, "must be a sequence of numbers, such as [1.0, 0.5]")
    return list(values)


def _number(value: object) -> float:
    """The float, or NaN for what is no real number."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    except OverflowError:  # an integer beyond floats
        return np.nan
