"""Covariance matrices of estimates, kept as diagonal plus low rank wherever they have that form.

Conventions: Q[x, y] = P(report y | value x), rows sum to one; p is a row vector on the simplex,
m = p Q is the law of a report; n is the number of reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified

__all__ = [
    "Covariance",
    "block_diagonal",
    "finite_array",
    "independent_bits",
    "multinomial",
    "positive",
    "probabilities",
    "subset_bits",
    "uniformised",
]


Array = npt.NDArray[np.float64]

_MAX_BYTES = 2e9  # the largest k x k float64 matrix that is formed on request


@dataclass(frozen=True, eq=False)
class Covariance(Document):
    """A covariance matrix V = diag(d) + F C F', symmetric and positive semi-definite.

    Parameters
    ----------
    diagonal : ndarray, shape (k,)
        d, in squared units of the estimate.
    core : ndarray, shape (r, r)
        C, symmetric; it may be indefinite, V may not.
    factors : ndarray, shape (k, r), or None
        F. None stands for the identity (r = k): V is then diag(d) + C, a dense matrix.

    Raises
    ------
    InvalidArgument
        Where shapes disagree, an entry is not finite, or C is not symmetric.

    Notes
    -----
    k = 1e6 costs O(k r) in time and memory, except in `matrix`. That V is positive semi-definite is
    the caller's claim; `variances` refuses a negative diagonal entry.

    Examples
    --------
    >>> V = multinomial([0.5, 0.3, 0.2], n=100)
    >>> V.variances().round(6)
    array([0.0025, 0.0021, 0.0016])
    >>> V.transform([[1.0, -1.0, 0.0]]).round(6)
    array([[0.0076]])
    """

    diagonal: Array
    core: Array = field(metadata={"array": "symmetric"})
    factors: Array | None = None

    def __post_init__(self) -> None:
        d = finite_array("diagonal", self.diagonal, 1)
        core = _matrix("core", self.core, 0)
        if core.shape[0] != core.shape[1]:
            raise InvalidArgument("core", core.shape, "must be a square matrix")
        object.__setattr__(self, "diagonal", d)
        object.__setattr__(self, "core", _symmetric(core))
        if self.factors is not None:
            object.__setattr__(self, "factors", _matrix("factors", self.factors, len(core)))
        expected = (d.size, core.shape[0])
        shape = expected[::-1] if self.factors is None else self.factors.shape
        if shape != expected:
            raise InvalidArgument("factors", shape, f"must have the shape (k, r) = {expected}")

    @classmethod
    def dense(cls, matrix: npt.ArrayLike) -> Covariance:
        """Wrap a symmetric (k, k) matrix."""
        core = np.asarray(matrix, dtype=np.float64)
        return cls(np.zeros(len(core)), core)

    @property
    def size(self) -> int:
        """k, the number of rows."""
        return int(self.diagonal.size)

    def variances(self) -> Array:
        """Diagonal of V, shape (k,).

        Rounding-level negatives (a variance that is exactly zero, computed by cancellation) are
        returned as 0; a real negative raises `InvalidArgument`.
        """
        return self._variances.copy()

    @cached_property
    def _variances(self) -> Array:
        core, F = self.core, self.factors
        v = self.diagonal + (np.diagonal(core) if F is None else _forms(F, core))
        length = 1.0 if F is None else F.shape[1] * np.einsum("ir,ir->i", F, F)
        bound = np.abs(self.diagonal) + length * max(core.max(initial=0), -core.min(initial=0))
        if np.all(v > 1e-13 * bound):
            return v
        magnitude = np.abs(self.diagonal)
        magnitude += np.abs(np.diagonal(core)) if F is None else _forms(np.abs(F), np.abs(core))
        if np.any(v < -1e-13 * magnitude):
            raise InvalidArgument(
                "covariance",
                float(v.min()),
                "has a negative variance on its diagonal, so it is no covariance matrix; evaluate "
                "it at a point of the simplex, for example at the projected estimate",
            )
        return np.where(np.abs(v) <= 1e-13 * magnitude, 0.0, v)

    def matrix(self) -> Array:
        """V as a dense (k, k) array."""
        gigabytes = self.size**2 * 8 / 1e9
        if gigabytes * 1e9 > _MAX_BYTES:
            raise NotAvailable(
                f"the covariance matrix of {self.size} categories takes {gigabytes:.0f} GB; use "
                "variances() for standard errors, transform(R) for contrasts, or "
                "take(index).matrix() for some of the categories"
            )
        low = self.core if self.factors is None else self.factors @ self.core @ self.factors.T
        return np.asarray(np.diag(self.diagonal) + low, dtype=np.float64)

    def transform(self, R: npt.ArrayLike) -> Array:
        """R V R', shape (q, q), for R of shape (q, k), in O(q k r + q^2 k)."""
        rows = self._contrasts(R)
        loaded = rows if self.factors is None else rows @ self.factors
        out = (rows * self.diagonal) @ rows.T + loaded @ self.core @ loaded.T
        return np.asarray((out + out.T) / 2, dtype=np.float64)

    def forms(self, R: npt.ArrayLike) -> Array:
        """Diagonal of R V R', shape (q,), for R of shape (q, k), in O(q k r)."""
        rows = self._contrasts(R)
        forms = _forms(rows if self.factors is None else rows @ self.factors, self.core)
        forms += np.einsum("ij,ij,j->i", rows, rows, self.diagonal)
        return forms

    def times(self, x: npt.ArrayLike) -> Array:
        """V x, shape (k,), for x of shape (k,), in O(k r)."""
        v = finite_array("x", x, 1)
        low = v if self.factors is None else v @ self.factors
        low = self.core @ low
        return np.asarray(self.diagonal * v + (low if self.factors is None else self.factors @ low))

    def _contrasts(self, R: npt.ArrayLike) -> Array:
        rows = finite_array("R", R, 2)
        if rows.shape[1] != self.size:
            raise InvalidArgument("R", rows.shape, f"must have {self.size} columns")
        return rows

    def scaled(self, c: float) -> Covariance:
        """c V for a finite c >= 0."""
        if not (np.isfinite(c) and c >= 0):
            raise InvalidArgument("c", c, "must be finite and not negative")
        return Covariance(self.diagonal * c, self.core * c, self.factors)

    def stretched(self, g: npt.ArrayLike) -> Covariance:
        """diag(g) V diag(g), the covariance of g times the estimate; g: a number or shape (k,)."""
        scale = np.broadcast_to(np.asarray(g, dtype=np.float64), self.diagonal.shape)
        if self.factors is None:
            return Covariance(self.diagonal * scale**2, self.core * scale[:, None] * scale)
        return Covariance(self.diagonal * scale**2, self.core, self.factors * scale[:, None])

    def __add__(self, other: Covariance) -> Covariance:
        """Sum of two covariances; structured plus structured stays structured."""
        if not isinstance(other, Covariance):
            return NotImplemented
        if self.size != other.size:
            raise InvalidArgument("other", other.size, f"must have {self.size} rows like the first")
        if self.factors is None or other.factors is None:
            return Covariance.dense(self.matrix() + other.matrix())
        return Covariance(
            self.diagonal + other.diagonal,
            _blocks([self.core, other.core]),
            np.hstack([self.factors, other.factors]),
        )

    def without_excess(self, u: npt.ArrayLike) -> Covariance:
        """Covariance of p - u (sum p - 1), where p has this one: A V A' with A = I - u 1'."""
        share = finite_array("u", u, 1)
        if share.size != self.size:
            raise InvalidArgument("u", share.shape, f"must have {self.size} entries")
        if self.factors is None:
            A = np.eye(self.size) - share[:, None]
            return Covariance.dense(A @ self.matrix() @ A.T)
        # A V A' = V - u w' - w u' + (1'w) u u' with w = V 1: two more factors.
        w = self.diagonal + self.factors @ (self.core @ self.factors.sum(axis=0))
        size = np.abs(self.factors) @ (np.abs(self.core) @ np.abs(self.factors).sum(axis=0))
        w[np.abs(w) <= 1e-13 * (np.abs(self.diagonal) + size)] = 0.0  # what sums to a constant
        core = np.pad(self.core, (0, 2))
        core[-2:, -2:] = [[w.sum(), -1.0], [-1.0, 0.0]]
        return Covariance(self.diagonal, core, np.column_stack([self.factors, share, w]))

    def merged(self, group: npt.NDArray[np.int64]) -> Covariance:
        """Covariance of the sums over groups 0 .. g - 1 of the entries; `group` has shape (k,)."""
        size = int(group.max()) + 1

        def sums(rows: Array) -> Array:
            out = np.zeros((size, rows.shape[1]))
            np.add.at(out, group, rows)
            return out

        diagonal = sums(self.diagonal[:, None])[:, 0]
        if self.factors is None:
            return Covariance(diagonal, sums(sums(self.core).T))
        return Covariance(diagonal, self.core, sums(self.factors))

    def take(self, index: Sequence[int] | npt.NDArray[np.intp]) -> Covariance:
        """Covariance of the entries `index`, a sequence of distinct positions, in that order."""
        i = np.asarray(index, dtype=np.intp)
        if self.factors is None:
            return Covariance(self.diagonal[i], self.core[np.ix_(i, i)])
        return Covariance(self.diagonal[i], self.core, self.factors[i])


def block_diagonal(parts: Sequence[Covariance]) -> Covariance:
    """Joint covariance of independent estimates, stacked in order."""
    if not parts:
        raise InvalidArgument("parts", parts, "must hold at least one covariance")
    factors = [part.factors for part in parts]
    if any(factor is None for factor in factors):
        return Covariance.dense(_blocks([part.matrix() for part in parts]))
    return Covariance(
        np.concatenate([part.diagonal for part in parts]),
        _blocks([part.core for part in parts]),
        _blocks([factor for factor in factors if factor is not None]),
    )


def multinomial(m: npt.ArrayLike, n: float) -> Covariance:
    """Covariance (diag(m) - m m')/n of multinomial frequencies; diagonal plus rank one."""
    m = probabilities("m", m)
    n = positive("n", n)
    return Covariance(m / n, np.array([[-1.0 / n]]), m[:, None])


def independent_bits(
    p: npt.ArrayLike, p1: npt.ArrayLike, p0: npt.ArrayLike, n: float
) -> Covariance:
    """Covariance of the k bit means of unary reports (KBR16 section 4.2, MK19 section 2.4).

    Bit j of a report is 1 with probability p1 if j is the value, p0 if it is not, independently
    given the value. Then m_j = p0 + (p1 - p0) p_j, the variance of mean j is m_j (1 - m_j)/n, and
    two means have covariance -(p1 - p0)^2 p_i p_j / n, because only the values vary together.
    """
    p = finite_array("p", p, 1)
    n = positive("n", n)
    base = np.asarray(p0, dtype=np.float64)
    slope = np.broadcast_to(np.asarray(p1, dtype=np.float64) - base, p.shape)
    m = base + slope * p
    if not np.all((m >= -1e-12) & (m <= 1 + 1e-12)):
        raise InvalidArgument("p", p, "gives a bit a probability outside [0, 1]; project p first")
    loading = slope * p
    m = np.clip(m, 0.0, 1.0)  # rounding at p = 1, p1 = 1 may leave it a hair outside
    diagonal = m * (1 - m) + loading**2
    used = diagonal > 0
    # diag(D) - v v' has no negative eigenvalue exactly when v' D^-1 v <= 1.
    if float(np.sum(loading[used] ** 2 / diagonal[used])) > 1 + 1e-9:
        raise InvalidArgument(
            "p",
            p,
            "is too far from the simplex for a covariance of bit means; pass a distribution, for "
            "example the projected estimate",
        )
    return Covariance(diagonal / n, np.array([[-1.0 / n]]), loading[:, None])


def subset_bits(p: npt.ArrayLike, size: int, own: float, left_out: float, n: float) -> Covariance:
    """Covariance of the k bit means of subset selection, in O(k).

    A report holds `size` of k categories: the answer with probability ``own = 1 - left_out``, the
    others at random. Two categories are in one report with probability ``a = own (d-1)/(k-1)`` if
    one is the answer, and with b if neither is, so with ``b + (a - b)(p_i + p_j)`` in all.
    """
    p = finite_array("p", p, 1)
    n, k, d = positive("n", n), p.size, size
    pair = (d - 1) / (k - 1)
    a = own * pair
    b = pair * (own * (d - 2) + left_out * d) / max(k - 2, 1)
    other = own * pair + left_out * d / (k - 1)
    m = other + (own - other) * p
    loads = np.column_stack([np.ones(k), p, m])
    core = np.array([[b, a - b, 0.0], [a - b, 0.0, 0.0], [0.0, 0.0, -1.0]]) / n
    return Covariance((m - b - 2.0 * (a - b) * p) / n, core, loads)


def uniformised(
    p: npt.ArrayLike, a: float, b: npt.ArrayLike, n: float, fpe16: bool = False
) -> Covariance:
    """Covariance of the MLE, and of inversion, for the channel Q = a I + 1 b', in O(k).

    With m = b + a p it equals (diag(m) - m m')/(n a^2) = J^-1 - p p'/n. For k-RR (KBR16 eq. 4)
    a = (e^eps - 1)/(e^eps + k - 1) and b = 1/(e^eps + k - 1). What `fpe16` gives is overstated by
    p p'/n: J^-1 = [diag(m) - b m' - m b' + b b'] / (n a^2).
    """
    if a == 0:
        raise NotIdentified(
            "the channel a I + 1 b' with a = 0 gives the same reports for every category; use a "
            "mechanism with epsilon > 0"
        )
    m = probabilities("b + a p", np.asarray(b) + a * finite_array("p", p, 1))
    n, scale = positive("n", n), 1.0 / a**2
    if not fpe16:
        return Covariance(m / n * scale, np.array([[-1.0 / n * scale]]), m[:, None])
    scale = 1.0 / (n * a**2)
    core = scale * np.array([[1.0, -1.0], [-1.0, 0.0]])
    return Covariance(m * scale, core, np.column_stack([np.broadcast_to(b, m.shape), m]))


_TILE = 512  # rows at a time, so that what comes between stays small beside a large matrix


def _symmetric(core: Array) -> Array:
    """The mean of a matrix and its transpose; refused where they differ beyond rounding."""
    apart = 0.0
    for i in range(0, len(core), _TILE):
        tile = slice(i, i + _TILE)
        apart = max(apart, float(np.abs(core[tile] - core[:, tile].T).max(initial=0.0)))
    if not apart:
        return core
    if apart > 1e-8 * float(max(core.max(initial=0.0), -core.min(initial=0.0))):
        raise InvalidArgument("core", core, "must be symmetric; pass (C + C.T) / 2 if it is")
    return np.asarray((core + core.T) / 2)


def _forms(F: Array, core: Array) -> Array:
    """The diagonal of F core F', shape (k,)."""
    if max(F.shape) <= _TILE:
        return np.asarray(np.einsum("ir,ir->i", F @ core, F))
    tiles = [slice(i, i + _TILE) for i in range(0, len(F), _TILE)]
    if F.shape[1] > 2 * _TILE:  # half the work, where a factor can be had
        from scipy.linalg import blas, lapack

        factor, fault = lapack.dpotrf(core.T, lower=1)
        if not fault:
            halves = (blas.dtrmm(1.0, factor, F[i].T, lower=1, trans_a=1) for i in tiles)
            return np.concatenate([np.einsum("ri,ri->i", half, half) for half in halves])
    return np.concatenate([np.einsum("ir,ir->i", F[i] @ core, F[i]) for i in tiles])


def _blocks(parts: Sequence[Array]) -> Array:
    """The block diagonal matrix of rectangular blocks."""
    sizes = np.array([part.shape for part in parts])
    out = np.zeros(tuple(sizes.sum(axis=0)))
    ends = np.cumsum(sizes, axis=0)
    for part, (row, column) in zip(parts, ends - sizes, strict=True):
        out[row : row + part.shape[0], column : column + part.shape[1]] = part
    return out


def _matrix(name: str, value: Array, columns: int) -> Array:
    """`value` as a finite matrix; one without rows may be an empty list, as in documents."""
    value = np.reshape(value, (0, columns)) if np.shape(value) == (0,) else value
    return finite_array(name, value, 2)


def finite_array(name: str, value: npt.ArrayLike, ndim: int) -> Array:
    """`value` as a float64 array of `ndim` axes without NaN or infinity."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != ndim:
        raise InvalidArgument(name, array.shape, f"must have {ndim} axes")
    if not np.all(np.isfinite(array)):
        raise InvalidArgument(name, array, "must be finite; it holds NaN or infinity")
    return array


def probabilities(name: str, value: npt.ArrayLike) -> Array:
    """`value` as a point of the simplex: sum checked to 1e-8, negatives above -1e-12 become 0."""
    array = finite_array(name, value, 1)
    if array.min(initial=0.0) < -1e-12 or abs(float(array.sum()) - 1.0) > 1e-8:
        raise InvalidArgument(name, array, "must be probabilities that sum to one")
    return np.maximum(array, 0.0)


def positive(name: str, value: float) -> float:
    """A positive finite number."""
    if not (np.isfinite(value) and value > 0):
        raise InvalidArgument(name, value, "must be positive and finite")
    return float(value)
