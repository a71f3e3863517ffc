"""Channels: the row-stochastic matrices ``Q[x, y] = P(report y | true category x)``.

`Channel.matrix` is the oracle that every structured form is tested against. Everything else works
on the structure, so that k = 1e6 categories or reports of a thousand bits stay feasible. What every
channel answers comes first; then matrices, k-RR and its kin, and independent bits; channels made of
others; and expected values over reports of independent bits, whose patterns are too many to list.

Up to the probability of noise, a report with the bits y has the likelihood ``w_x = constant_x +
gain_x y_x`` under category x, and ``d = p.w`` under the frequencies p; its score is ``w / d``. The
means of ratios of such sums need no list of the 2^k patterns. Since

    1/d^j = int_0^inf t^(j-1) exp(-t d) dt / (j-1)!

and exp(-t d) is a product over bits, the bits are independent under every t, and what is left is
one integral over t, of products of known moments. The trapezoidal rule on ln t converges
exponentially: its error is about exp(-pi^2 / step).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from ldpstats.arguments import Array, as_array, distribution, listed, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import Mask
from ldpstats.likelihood.covariance import label_moments
from ldpstats.likelihood.rows import DenseRows, Rows, StackedRows, UnaryRows, UniformRows
from ldpstats.reports.layout import Packed

_LARGEST_MATRIX = 1 << 27  # entries that matrix() is willing to form: 1 GB as float64


@record
class OutputClasses:
    """Reports, or classes of reports that distinguish categories equally well; arrays (c,).

    `log_ratio` is the largest ``ln Q[x, y] / Q[x', y]`` over x and x', in nats; inf where one is
    impossible. `sole` is the category that alone can make the report; -1 where several or none can.
    `size` is the number of reports in the class; 0 for a report that no category can make.
    """

    log_ratio: Array
    sole: Array
    size: Array

    def invertible(self, sensitive: Array) -> Mask:
        """Which reveal a category that is not among the codes `sensitive`, shape (c,)."""
        return (self.sole >= 0) & ~np.isin(self.sole, sensitive) & (self.size > 0)

    def protected(self, sensitive: Array) -> Mask:
        """Which of the other classes can be made, shape (c,)."""
        return ~self.invertible(sensitive) & (self.size > 0)


def n_patterns(n_bits: int) -> float:
    """Number of patterns of bits; inf where it overflows."""
    return 2.0**n_bits if n_bits < 1024 else np.inf


class Channel(ABC):
    """A known random mechanism from k categories to reports.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> channel = ldp.KRR(("nurse", "teacher", "driver"), epsilon=1.0).channel()
    >>> channel.matrix().round(3)
    array([[0.576, 0.212, 0.212],
           [0.212, 0.576, 0.212],
           [0.212, 0.212, 0.576]])
    >>> channel.forward([0.5, 0.3, 0.2]).round(3)
    array([0.394, 0.321, 0.285])
    >>> channel.epsilon()
    1.0
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of categories k and of possible reports l."""

    @abstractmethod
    def _matrix(self) -> Array:
        """The dense (k, l) matrix; `matrix` checks its size first."""

    def rows(self, y: Any) -> Rows:
        """Likelihood rows of the reports `y`, scaled per row; always feasible."""
        return DenseRows(np.ascontiguousarray(self._matrix()[:, y].T))

    def epsilon(self) -> float:
        """Largest ``ln Q[x, y] / Q[x', y]`` over x, x', y, in nats; inf where one is impossible."""
        return float(self._classes(slice(None), 0.0).log_ratio.max())

    def output_classes(self) -> OutputClasses:
        """What each report, or class of reports, distinguishes: see `privacy.uldp`."""
        return self._classes(slice(None), 0.0)

    def one_sided(self, sensitive: Array) -> OutputClasses:
        """What each report says for categories of these codes: see `privacy.osldp`.

        `log_ratio` is then the largest ``ln Q[x, y] / Q[x', y]`` over sensitive x and any x'; -inf
        where no sensitive category can make the report.
        """
        return self._classes(sensitive, -np.inf)

    def _classes(self, sensitive: Array | slice, none: float) -> OutputClasses:
        """Each report alone; `none` is the ratio where none of these categories makes it."""
        Q = self.matrix()
        makers = np.count_nonzero(Q, axis=0)
        high, low = Q[sensitive].max(axis=0, initial=0.0), Q.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(high > 0.0, np.log(high / low), none)
        return OutputClasses(ratio, np.where(makers == 1, Q.argmax(axis=0), -1), (makers > 0) + 0.0)

    def protected_epsilon(self, sensitive: Array) -> float:
        """Epsilon of utility-optimised LDP for categories of these codes: see `privacy.uldp`."""
        classes = self.output_classes()
        ratio = np.where(classes.protected(sensitive), classes.log_ratio, 0.0)
        return float(ratio.max(initial=0.0))

    def matrix(self) -> Array:
        """The dense matrix Q, shape (k, l).

        Raises
        ------
        NotAvailable
            When Q has too many entries to enumerate; `likelihood` works for given reports.
        """
        k, l = self.shape  # noqa: E741
        if k * l > _LARGEST_MATRIX:
            size = str(l) if l < 1 << 53 else f"2^{l.bit_length() - 1}"
            raise NotAvailable(
                f"matrix() of a {k} x {size} channel is too large to enumerate: "
                "use channel().likelihood(y), which forms only the columns of observed reports"
            )
        return self._matrix()

    def forward(self, p: Array) -> Array:
        """Law of the report, ``p Q`` of shape (l,), when the category has law `p` of shape (k,)."""
        return np.asarray(p @ self.matrix())

    def information(self, p: Array) -> Array:
        """Expected Fisher information of one report about p, ``Q diag(1/m) Q'``, shape (k, k).

        Raises
        ------
        NotAvailable
            If the possible reports can be neither listed nor summed over.
        InvalidArgument
            If a possible report has probability zero under p.
        """
        if (scores := self._scores()) is not None:
            return scores.information(p)
        Q, m = self.emitted(p)
        return np.asarray((Q / m) @ Q.T)

    def score_moments(self, p: Array, features: Array) -> tuple[Array, Array]:
        """Raw moments of ``u_i = sum_x features[i, x] Q[x, y] / m_y`` of one report, m = p Q.

        Parameters
        ----------
        p : array, shape (k,)
            Frequencies at which the scores are taken.
        features : array, shape (k, k)
            Row i belongs to category i.

        Returns
        -------
        own : array, shape (3, k)
            Means of u_i, u_i^2 and u_i^3 over the reports of category i.
        mean : array, shape (3, k)
            The same over the reports of the frequencies p.
        """
        if (scores := self._scores()) is not None:
            return scores.moments(p, features)
        Q, m = self.emitted(p)
        return label_moments(Q, features @ (Q / m), p)

    def score_reach(self, p: Array, features: Array) -> tuple[Array, Array]:
        """Least and largest ``sum_x features[i, x] Q[x, y] / m_y`` of any report y, m = p Q.

        `features` has the shape (q, k), both results have (q,).
        """
        if (scores := self._scores()) is not None:
            return scores.reach(p, features)
        Q, m = self.emitted(p)
        u = features @ (Q / m)
        return u.min(axis=1), u.max(axis=1)

    def _scores(self) -> BitScores | None:
        """The law of the scores where each category owns a bit of its own; None elsewhere."""
        return None

    def emitted(self, p: Array) -> tuple[Array, Array]:
        """Columns of Q that are not zero, and their probabilities under p, all positive."""
        Q = self.matrix()
        Q = Q[:, Q.any(axis=0)]
        m = p @ Q
        if not np.all(m > 0.0):
            raise InvalidArgument(
                "p", p, "gives probability zero to a possible report: use positive frequencies"
            )
        return Q, m

    def likelihood(self, y: Any) -> Array:
        """``W[i, x] = Q[x, y_i]``, shape (u, k)."""
        rows = self.rows(y)
        return np.asarray(rows.dense() * np.exp(rows.log_scale)[:, None])


# -- Any matrix; the truth or a label of one law; bits that are independent given the category ----


_LARGEST_ENUMERATION = 20  # bits whose 2^b patterns matrix() is willing to list


@record
class Dense(Channel):
    """Any row-stochastic matrix.

    Parameters
    ----------
    Q : array, shape (k, l)
        Probabilities; every row sums to one (to 1e-9, nothing is rescaled).

    Examples
    --------
    >>> Dense(np.array([[0.75, 0.25], [0.25, 0.75]])).forward(np.array([1.0, 0.0]))
    array([0.75, 0.25])
    """

    Q: Array

    def __post_init__(self) -> None:
        given = as_array("Q", self.Q, "must be a (k, l) array of numbers")
        if given.dtype.kind not in "iuf":
            raise InvalidArgument("Q", self.Q, "must be a (k, l) array of numbers")
        Q = given.astype(np.float64) + 0.0  # -0.0 is 0, in a specification too
        if Q.ndim != 2 or Q.shape[0] < 2 or Q.shape[1] < 1:
            raise InvalidArgument(
                "Q", f"array of shape {Q.shape}", "must have shape (k, l) with k >= 2 categories"
            )
        if not np.all(np.isfinite(Q)) or Q.min() < 0.0:
            x, y = np.argwhere(~(np.isfinite(Q) & (Q >= 0.0)))[0]
            raise InvalidArgument(f"Q[{x}, {y}]", float(Q[x, y]), "must be a probability in [0, 1]")
        sums = Q.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1.0)))
        if abs(sums[worst] - 1.0) > 1e-9:
            raise InvalidArgument(
                f"Q[{worst}].sum()",
                float(sums[worst]),
                "every row of Q must sum to one (rows are true categories, columns reports); "
                "pass the probabilities at full precision",
            )
        Q.flags.writeable = False
        object.__setattr__(self, "Q", Q)

    @property
    def shape(self) -> tuple[int, int]:
        return self.Q.shape[0], self.Q.shape[1]

    def _matrix(self) -> Array:
        return self.Q


@record
class Uniformised(Channel):
    """``Q = a I + 1 b'``: tell the truth with probability a, else a label drawn from one law.

    Under k-RR that law is uniform and b is a number; under uRR (MK19 Definition 3) it is uniform on
    the sensitive categories and b of shape (k,) is zero elsewhere.

    Parameters
    ----------
    k : int
        Number of categories, which are the reports too.
    a : float
        Weight of the identity.
    b : float or array, shape (k,)
        Probability of each wrong report; ``a + sum(b) = 1``.

    Examples
    --------
    >>> Uniformised(3, 0.4, 0.2).matrix()
    array([[0.6, 0.2, 0.2],
           [0.2, 0.6, 0.2],
           [0.2, 0.2, 0.6]])
    """

    k: int
    a: float
    b: float | Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.k, self.k

    def _matrix(self) -> Array:
        return self.a * np.eye(self.k) + self.b

    def forward(self, p: Array) -> Array:
        return np.asarray(self.a * np.asarray(p) + self.b * np.sum(p))

    def rows(self, y: Array) -> Rows:
        return UniformRows(np.asarray(y), self.a, self.b, self.k)

    def noise(self, y: Array | slice = slice(None)) -> Array:
        """Entries of b at reports `y`, shape (n,)."""
        return np.broadcast_to(np.asarray(self.b, dtype=np.float64), (self.k,))[y]

    @property
    def replaced(self) -> float:
        """Probability that the report is drawn from that law: the sum of b."""
        return float(np.sum(self.noise()))

    def epsilon(self) -> float:
        if np.ndim(self.b) == 0:  # all reports are alike
            return float(self.ratios(np.zeros(1, dtype=np.int64))[0])
        return float(self.ratios().max())

    def ratios(self, y: Array | slice = slice(None)) -> Array:
        """``|ln Q[y, y] / Q[x, y]|`` of each report y and any x but y, in nats, shape (n,)."""
        b = self.noise(y)
        if self.a == 0.0:
            return np.zeros(b.size)
        with np.errstate(divide="ignore"):
            return np.asarray(np.abs(np.log1p(self.a / b)))

    def output_classes(self) -> OutputClasses:
        if self.a < 0.0:
            return super().output_classes()
        b = self.noise()
        made = self.a + b > 0.0
        alone = made & (b == 0.0)
        return OutputClasses(self.ratios(), np.where(alone, np.arange(self.k), -1), made + 0.0)

    def one_sided(self, sensitive: Array) -> OutputClasses:
        if self.a < 0.0:
            return super().one_sided(sensitive)
        classes, own = self.output_classes(), np.zeros(self.k, dtype=bool)
        own[sensitive] = True
        # a report of another category counts against none of the sensitive more than another
        elsewhere = np.where((self.noise() > 0.0) & bool(own.any()), 0.0, -np.inf)
        made = own & (classes.size > 0.0)
        return replace(classes, log_ratio=np.where(made, classes.log_ratio, elsewhere))


@record
class Bits(Channel):
    """Reports of bits that are independent given the category.

    Category x sets the bits ``members[x]`` with probability p1 and all others with p0.

    Parameters
    ----------
    members : array of int, shape (k, h), or range
        Bits that belong to each category; a bit listed twice counts once (hash collisions). A range
        of length k where each category has one bit, which takes no memory.
    n_bits : int
        Width of a report.
    p1, p0 : float
        P(bit = 1) for the category's own bits and for the others.

    Notes
    -----
    A report is packed into ceil(n_bits / 8) bytes, bit j in byte j // 8 at position j % 8.
    `matrix` lists the 2^n_bits patterns, pattern number ``sum_j bit_j 2^j``.

    Examples
    --------
    >>> Bits(np.array([[0], [1]]), 2, p1=0.5, p0=0.25).matrix()
    array([[0.375, 0.375, 0.125, 0.125],
           [0.375, 0.125, 0.375, 0.125]])
    """

    members: Array | range
    n_bits: int
    p1: float
    p0: float

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.members)

    @property
    def shape(self) -> tuple[int, int]:
        return self.k, 2**self.n_bits

    @property
    def unary(self) -> bool:
        """Whether category x owns exactly bit x."""
        if isinstance(self.members, range):
            return self.members == range(self.n_bits)
        k, h = self.members.shape
        return h == 1 and k == self.n_bits and bool(np.all(self.members[:, 0] == np.arange(k)))

    def _listed(self) -> Array:
        """`members` as an array, shape (k, h)."""
        return np.array(self.members)[:, None] if isinstance(self.members, range) else self.members

    def design(self) -> Array:
        """Indicator of own bits, shape (k, n_bits)."""
        owned = np.zeros((self.k, self.n_bits))
        np.put_along_axis(owned, self._listed(), 1.0, axis=1)
        return owned

    def _owned(self) -> Array:
        """The columns of `design` of bits that some category owns, shape (k, at most k h)."""
        members = self._listed()
        bits, place = np.unique(members, return_inverse=True)
        owned = np.zeros((self.k, bits.size))
        np.put_along_axis(owned, place.reshape(members.shape), 1.0, axis=1)
        return owned

    def bit_means(self, p: Array) -> Array:
        """P(bit j = 1), shape (n_bits,), when the category has law `p` of shape (k,)."""
        owned = np.asarray(p, dtype=np.float64) if self.unary else p @ self.design()
        return np.asarray(self.p0 * np.sum(p) + (self.p1 - self.p0) * owned)

    def matrix(self) -> Array:
        check_patterns(self.n_bits)
        return super().matrix()

    def _matrix(self) -> Array:
        return pattern_law(self.p0 + (self.p1 - self.p0) * self.design())

    def rows(self, y: Packed) -> Rows:
        if self.unary and 0.0 < self.p0 < 1.0 and self.p1 < 1.0:
            return UnaryRows(y, self.p1, self.p0, self.n_bits)
        bits = np.unpackbits(y, axis=1, count=self.n_bits, bitorder="little").astype(np.float64)
        owned = self.design()
        size, ones = owned.sum(axis=1), bits.sum(axis=1, keepdims=True)
        hit = bits @ owned.T
        W = _log_power(self.p1, hit) + _log_power(1.0 - self.p1, size - hit)
        W += _log_power(self.p0, ones - hit)
        W += _log_power(1.0 - self.p0, self.n_bits - size - ones + hit)
        scale = W.max(axis=1, initial=-np.inf)
        scale[~np.isfinite(scale)] = 0.0  # a report that no category can make keeps a row of zeros
        return DenseRows(np.exp(W - scale[:, None]), scale)

    @property
    def _open(self) -> bool:
        """Whether every category can make every report."""
        return 0.0 < self.p0 < 1.0 and 0.0 < self.p1 < 1.0

    def _scores(self) -> BitScores | None:
        if not (self.unary and self._open):
            return None
        return unary_scores(self.p1, self.p0, self.n_bits, np.empty(0))

    def output_classes(self) -> OutputClasses:
        if self.n_bits <= 12 or not self._open:
            return super().output_classes()
        one = np.ones(1)
        return OutputClasses(self.epsilon() * one, np.array([-1]), n_patterns(self.n_bits) * one)

    def one_sided(self, sensitive: Array) -> OutputClasses:
        if self.n_bits <= 12 or not self._open:
            return super().one_sided(sensitive)
        ratio = self._largest_ratio(sensitive) if sensitive.size else -np.inf
        return replace(self.output_classes(), log_ratio=np.array([ratio]))

    def epsilon(self) -> float:
        return self._largest_ratio()

    def _largest_ratio(self, x: Array | slice = slice(None)) -> float:
        """Largest ``ln Q[x, y] / Q[x', y]`` over these x, any other x' and all reports y."""
        if self.p1 == self.p0:
            return 0.0
        up, down = bit_ratios(self.p1, self.p0)  # of a bit that only x owns, or only x'
        if self.unary:
            return up + down
        owned = self._owned()  # other bits do not distinguish categories
        common = owned @ owned.T
        alone = owned.sum(axis=1)[:, None] - common
        # 0 * inf arises where neither category owns a bit alone: such a pair adds nothing
        with np.errstate(invalid="ignore"):
            ratio = np.nan_to_num(alone * up, nan=0.0, posinf=np.inf)
            ratio = ratio + np.nan_to_num(alone.T * down, nan=0.0, posinf=np.inf)
        return float(ratio[x].max())


def bit_ratios(p1: float, p0: float) -> tuple[float, float]:
    """Largest log ratios of one bit for the answer that owns it, and against it, in nats."""
    with np.errstate(divide="ignore"):
        set_, clear = np.log(p1) - np.log(p0), np.log1p(-p1) - np.log1p(-p0)
    if abs(p1 + p0 - 1.0) < 1e-15:  # 1 - p1 is p0, the more exact of the two
        clear = -set_
    return float(max(set_, clear)), float(max(-set_, -clear))


def check_patterns(n_bits: int) -> None:
    """Refuse to list the patterns of too many bits."""
    if n_bits > _LARGEST_ENUMERATION:
        raise NotAvailable(
            f"matrix() of reports of {n_bits} bits would list 2^{n_bits} patterns: use "
            "channel().likelihood(y), which forms only the columns of observed reports"
        )


def pattern_law(chance: Array) -> Array:
    """Law of the patterns ``sum_j bit_j 2^j`` of independent bits, chances (m, S) -> (m, 2^S)."""
    law = np.ones((len(chance), 1))
    for q in chance.T[:, :, None]:
        law = np.hstack([law * (1.0 - q), law * q])
    return law


def _log_power(probability: float, count: Array) -> Array:
    """``ln(probability ** count)`` with 0^0 = 1, elementwise over `count`."""
    if probability > 0.0:
        return np.asarray(count * np.log(probability))
    return np.where(count > 0, -np.inf, 0.0)


# -- Channels made of others: of categories mapped first, of several reports, of cohorts ----------


@record
class Mapped(Channel):
    """A channel of a function of the category, such as a hash: ``Q[x, y] = base[codes[x], y]``.

    Parameters
    ----------
    base : Channel
    codes : array of int, shape (k,)
        The category of `base` that each category is mapped to.

    Examples
    --------
    >>> Mapped(Uniformised(2, 0.5, 0.25), np.array([0, 1, 0])).matrix()
    array([[0.75, 0.25],
           [0.25, 0.75],
           [0.75, 0.25]])
    """

    base: Channel
    codes: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.size, self.base.shape[1]

    def _matrix(self) -> Array:
        return self.base.matrix()[self.codes]

    def forward(self, p: Array) -> Array:
        mapped = np.bincount(self.codes, weights=p, minlength=self.base.shape[0])
        return self.base.forward(mapped)

    def rows(self, y: Any) -> Rows:
        rows = self.base.rows(y)
        return DenseRows(rows.dense()[:, self.codes], rows.log_scale)

    def epsilon(self) -> float:
        if np.unique(self.codes).size < 2:
            return 0.0
        # where all pairs of categories are alike, no matrix is needed
        alike = isinstance(self.base, Uniformised) and np.ndim(self.base.b) == 0
        return self.base.epsilon() if alike else super().epsilon()


@record
class Kronecker(Channel):
    """Several variables, each through its own channel, independently given the true values.

    Categories and reports are tuples in row-major order (the last variable changes fastest).
    `rows` and `likelihood` take one array of reports per variable.

    Examples
    --------
    >>> joint = Kronecker([Uniformised(2, 0.5, 0.25), Uniformised(3, 0.4, 0.2)])
    >>> joint.shape
    (6, 6)
    >>> joint.likelihood((np.array([0]), np.array([2]))).round(3)   # 0.75 * 0.6 for (0, 2)
    array([[0.15, 0.15, 0.45, 0.05, 0.05, 0.15]])
    """

    channels: tuple[Channel, ...]

    def __init__(self, channels: Sequence[Channel]) -> None:
        object.__setattr__(self, "channels", _channels(channels))

    @property
    def shape(self) -> tuple[int, int]:
        k, l = (prod(sizes) for sizes in zip(*(c.shape for c in self.channels), strict=True))  # noqa: E741
        return k, l

    def _matrix(self) -> Array:
        return reduce(np.kron, [channel.matrix() for channel in self.channels])

    def forward(self, p: Array) -> Array:
        law = np.reshape(p, [channel.shape[0] for channel in self.channels])
        for axis, channel in enumerate(self.channels):
            moved = np.moveaxis(law, axis, -1)
            law = np.moveaxis(np.apply_along_axis(channel.forward, -1, moved), -1, axis)
        return law.reshape(-1)

    def rows(self, y: Sequence[Any]) -> Rows:
        parts = [channel.rows(part) for channel, part in zip(self.channels, y, strict=True)]
        W = parts[0].dense()
        for part in parts[1:]:
            W = (W[:, :, None] * part.dense()[:, None, :]).reshape(W.shape[0], -1)
        return DenseRows(W, np.sum([part.log_scale for part in parts], axis=0))

    def epsilon(self) -> float:
        return sum(channel.epsilon() for channel in self.channels)


@record
class Stacked(Channel):
    """A respondent is in group c with probability `shares[c]`, whatever her category; c is known.

    Groups are cohorts of one mechanism, or mechanisms over the same categories. Reports are
    numbered group by group; `rows` and `likelihood` take one array of reports per group.

    Examples
    --------
    >>> Stacked([Uniformised(2, 0.5, 0.25), Uniformised(2, 0.0, 0.5)]).matrix()
    array([[0.375, 0.125, 0.25 , 0.25 ],
           [0.125, 0.375, 0.25 , 0.25 ]])
    """

    channels: tuple[Channel, ...]
    shares: Array

    def __init__(self, channels: Sequence[Channel], shares: Array | None = None) -> None:
        groups = _channels(channels)
        if len({channel.shape[0] for channel in groups}) != 1:
            raise InvalidArgument(
                "channels",
                [channel.shape for channel in groups],
                "all groups need the same number of categories",
            )
        even = np.full(len(groups), 1.0 / len(groups))
        given = even if shares is None else distribution("shares", shares, len(groups))
        object.__setattr__(self, "channels", groups)
        object.__setattr__(self, "shares", given)

    @property
    def shape(self) -> tuple[int, int]:
        return self.channels[0].shape[0], sum(channel.shape[1] for channel in self.channels)

    def _matrix(self) -> Array:
        parts = zip(self.shares, self.channels, strict=True)
        return np.hstack([share * channel.matrix() for share, channel in parts])

    def forward(self, p: Array) -> Array:
        parts = zip(self.shares, self.channels, strict=True)
        return np.concatenate([share * channel.forward(p) for share, channel in parts])

    def rows(self, y: Sequence[Any]) -> Rows:
        return StackedRows(tuple(c.rows(part) for c, part in zip(self.channels, y, strict=True)))

    def likelihood(self, y: Sequence[Any]) -> Array:
        parts = zip(self.shares, self.channels, y, strict=True)
        return np.vstack([share * channel.likelihood(part) for share, channel, part in parts])

    def epsilon(self) -> float:
        # a group that is never drawn cannot leak
        drawn = zip(self.shares, self.channels, strict=True)
        return max(channel.epsilon() for share, channel in drawn if share > 0.0)


def _channels(given: object) -> tuple[Channel, ...]:
    """The channels of a list of them, one at least."""
    remedy = "must be a list of channels"
    found = listed("channels", given, remedy)
    if not found or not all(isinstance(channel, Channel) for channel in found):
        raise InvalidArgument("channels", given, remedy)
    return tuple(found)


# -- Expected values over reports of independent bits, whose patterns are too many to list --------


_STEP = 0.25  # of ln t: an error of 1e-17
_LEFT, _RIGHT = 1e-17, 45.0  # where t d is as good as zero, and where exp(-t d) is


@record
class BitScores:
    """The law of reports in which each category owns at most one bit; arrays (k,).

    A category without a bit has gain, noise and own zero.
    """

    constant: Array
    gain: Array  # ``constant + gain y >= 0`` is the likelihood over that of noise
    noise: Array  # P(bit x = 1) where x is not the category
    own: Array  # and where it is

    def information(self, p: Array) -> Array:
        """Mean of ``w w' / d`` over noise, shape (k, k): the expected information of a report."""
        t, weight = self._nodes(p)
        tilted, log = self._tilted(p, t, self.noise)
        mass = weight * np.exp(log.sum(axis=1) - t * (self.constant @ p))
        mean = self.constant + self.gain * tilted
        J = (mean * mass[:, None]).T @ mean
        J[np.diag_indices_from(J)] += self.gain**2 * (mass @ (tilted * (1.0 - tilted)))
        return np.asarray(J)

    def moments(self, p: Array, features: Array) -> tuple[Array, Array]:
        """Raw moments of ``u_i = features_i . w / d`` of one report."""
        F, own_F = features, np.diagonal(features)
        t, weight = self._nodes(p)
        tilted, log = self._tilted(p, t, self.noise)
        owned, log_own = self._tilted(p, t, self.own)
        bits = F * self.gain
        first = F @ self.constant + tilted @ bits.T
        spread, owned_spread = tilted * (1.0 - tilted), owned * (1.0 - owned)
        second = spread @ (bits**2).T
        third = (spread * (1.0 - 2.0 * tilted)) @ (bits**3).T
        total = log.sum(axis=1) - t * (self.constant @ p)
        mass = weight * np.exp(total)
        _, square, cube = _raw(first, second, third)
        mean = np.array([F @ self.constant + bits @ self.noise, mass @ square, (mass * t) @ cube])
        g = own_F * self.gain  # the own bit has another law where its owner is the category
        first = first + g * (owned - tilted)
        second = second + g**2 * (owned_spread - spread)
        third = third + g**3 * (owned_spread * (1.0 - 2.0 * owned) - spread * (1.0 - 2.0 * tilted))
        mass_own = weight[:, None] * np.exp(total[:, None] - log + log_own)
        powers = 1.0, t[:, None], t[:, None] ** 2 / 2.0
        moments = zip(powers, _raw(first, second, third), strict=True)
        return np.array([(mass_own * power * raw).sum(axis=0) for power, raw in moments]), mean

    def reach(self, p: Array, features: Array) -> tuple[Array, Array]:
        """Least and largest ``features . w / d`` of any pattern of bits; features (q, k)."""
        return -self._largest(p, -features), self._largest(p, features)

    def _largest(self, p: Array, F: Array) -> Array:
        """Maximum of a ratio of sums over bits, by Dinkelbach's steps: each is a better pattern."""
        value = np.full(len(F), -np.inf)
        y = np.zeros(F.shape)
        while True:
            w = self.constant + self.gain * y
            found = (F * w).sum(axis=1) / (w @ p)
            if not np.any(found > value):
                return value
            value = np.maximum(value, found)
            y = np.where(self.gain * (F - value[:, None] * p) > 0.0, 1.0, 0.0)

    def _nodes(self, p: Array) -> tuple[Array, Array]:
        """Values of t and their weights, both of shape (T,)."""
        least = float(self.constant @ p)
        most = least + float(self.gain @ p)
        log_t = np.arange(np.log(_LEFT / most), np.log(_RIGHT / least) + _STEP, _STEP)
        t = np.exp(log_t)
        return t, _STEP * t

    def _tilted(self, p: Array, t: Array, chance: Array) -> tuple[Array, Array]:
        """P(bit = 1) under the weight exp(-t gain p bit), and ln of its mean, both (T, k)."""
        weight = chance * np.exp(-t[:, None] * (self.gain * p))
        mean = 1.0 - chance + weight
        return weight / mean, np.log(mean)


def _raw(first: Array, second: Array, third: Array) -> tuple[Array, Array, Array]:
    """Raw moments from cumulants."""
    return first, second + first**2, third + 3.0 * first * second + first**3


def unary_scores(p1: Any, p0: Any, owners: int, others: Array) -> BitScores:
    """Scores of unary reports, for `owners` with a bit each and others; p1, p0 may be (owners,)."""
    present, absent = p1 / p0, (1.0 - p1) / (1.0 - p0)
    if np.all(p1 < p0):  # a clear bit is evidence for its owner: swap set and clear
        present, absent, p1, p0 = absent, present, 1.0 - p1, 1.0 - p0
    bit, none = np.ones(owners), np.zeros(len(others))
    return BitScores(
        np.concatenate([absent * bit, others]),
        np.append((present - absent) * bit, none),
        np.append(p0 * bit, none),
        np.append(p1 * bit, none),
    )
