"""Channels: the row-stochastic matrices ``Q[x, y] = P(report y | true category x)``.

`Channel.matrix` is the oracle that every structured form is tested against. Everything else here
works on the structure, so that k = 1e6 categories or reports of a thousand bits stay feasible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import as_array
from ldpstats.channels.base import Channel, OutputClasses, n_patterns
from ldpstats.channels.bit_scores import BitScores, unary_scores
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.problems.rows.base import DenseRows, Rows, UniformRows
from ldpstats.problems.rows.unary import UnaryRows

__all__ = ["Bits", "Dense", "Uniformised"]

Array = npt.NDArray[Any]

_LARGEST_ENUMERATION = 20  # bits whose 2^b patterns matrix() is willing to list


@dataclass(frozen=True, eq=False)
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

    def rows(self, y: Array) -> Rows:
        return DenseRows(np.ascontiguousarray(self.Q[:, y].T))

    def epsilon(self) -> float:
        high, low = self.Q.max(axis=0), self.Q.min(axis=0)
        seen = high > 0.0
        if np.any(low[seen] == 0.0):
            return float("inf")
        return float(np.log(high[seen] / low[seen]).max())


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
        if isinstance(self.members, range):
            return np.arange(self.members.start, self.members.stop, self.members.step)[:, None]
        return self.members

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
        if self.unary:
            owned = np.asarray(p, dtype=np.float64)
        else:
            owned = np.asarray(p @ self.design())
        return np.asarray(self.p0 * np.sum(p) + (self.p1 - self.p0) * owned)

    def _matrix(self) -> Array:
        patterns = np.arange(2**self.n_bits)
        probability = self.p0 + (self.p1 - self.p0) * self.design()
        Q = np.ones((self.k, patterns.size))
        for j in range(self.n_bits):
            q = probability[:, j, None]
            Q *= np.where((patterns >> j) & 1, q, 1.0 - q)
        return Q

    def matrix(self) -> Array:
        if self.n_bits > _LARGEST_ENUMERATION:
            raise NotAvailable(
                f"matrix() of reports of {self.n_bits} bits would list 2^{self.n_bits} patterns: "
                "use channel().likelihood(y), which forms only the columns of observed reports"
            )
        return super().matrix()

    def rows(self, y: npt.NDArray[np.uint8]) -> Rows:
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

    def _scores(self) -> BitScores | None:
        """The law of the scores where each category owns a bit of its own; None elsewhere."""
        if self.unary and 0.0 < self.p0 < 1.0 and 0.0 < self.p1 < 1.0:
            return unary_scores(self.p1, self.p0, self.n_bits, np.empty(0))
        return None

    def information(self, p: Array) -> Array:
        scores = self._scores()
        return super().information(p) if scores is None else scores.information(p)

    def score_moments(self, p: Array, features: Array) -> tuple[Array, Array]:
        scores = self._scores()
        if scores is None:
            return super().score_moments(p, features)
        return scores.moments(p, features)

    def score_reach(self, p: Array, features: Array) -> tuple[Array, Array]:
        scores = self._scores()
        if scores is None:
            return super().score_reach(p, features)
        return scores.reach(p, features)

    def output_classes(self) -> OutputClasses:
        if self.n_bits <= 12 or not (0.0 < self.p0 < 1.0 and 0.0 < self.p1 < 1.0):
            return super().output_classes()
        one = np.ones(1)  # every category can make every report
        return OutputClasses(self.epsilon() * one, np.array([-1]), n_patterns(self.n_bits) * one)

    def one_sided(self, sensitive: Array) -> OutputClasses:
        if self.n_bits <= 12 or not (0.0 < self.p0 < 1.0 and 0.0 < self.p1 < 1.0):
            return super().one_sided(sensitive)
        ratio = self._largest_ratio(sensitive) if sensitive.size else -np.inf
        return replace(self.output_classes(), log_ratio=np.array([ratio]))

    def epsilon(self) -> float:
        return self._largest_ratio()

    def _largest_ratio(self, x: Array | slice = slice(None)) -> float:
        """Largest ``ln Q[x, y] / Q[x', y]`` over these x, any other x' and all reports y."""
        with np.errstate(divide="ignore"):
            set_ratio = np.log(self.p1) - np.log(self.p0)
            clear_ratio = np.log1p(-self.p1) - np.log1p(-self.p0)
        if abs(self.p1 + self.p0 - 1.0) < 1e-15:  # 1 - p1 is p0, the more exact of the two
            clear_ratio = -set_ratio
        if self.p1 == self.p0:
            return 0.0
        up = max(set_ratio, clear_ratio)  # a bit that only x owns
        down = max(-set_ratio, -clear_ratio)  # a bit that only x' owns
        if self.unary:
            return float(up + down)
        owned = self._owned()  # other bits do not distinguish categories
        common = owned @ owned.T
        alone = owned.sum(axis=1)[:, None] - common
        # 0 * inf arises where neither category owns a bit alone: such a pair adds nothing
        with np.errstate(invalid="ignore"):
            ratio = np.nan_to_num(alone * up, nan=0.0, posinf=np.inf)
            ratio = ratio + np.nan_to_num(alone.T * down, nan=0.0, posinf=np.inf)
        return float(ratio[x].max())


def _log_power(probability: float, count: Array) -> Array:
    """``ln(probability ** count)`` with 0^0 = 1, elementwise over `count`."""
    if probability > 0.0:
        return np.asarray(count * np.log(probability))
    return np.where(count > 0, -np.inf, 0.0)
