"""Moments of the features of pairs of reports, and coordinates that whiten them.

A feature is a function of one report, a(x') or b(y'). A stratum is what the reports of both
variables share, a cohort or a group with its own mechanisms; otherwise all respondents are one.

Rank of generalised inverses: a feature whose variance is below 1e-10 of its mean square is
constant; eigenvalues of the correlation matrix below max(1e-9, k 1e-14 g) of the largest count as
0, with g the largest ratio of mean square to variance, by which rounding errors grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.tests import count_array
from ldpstats.problems.covariance import finite_array

__all__ = ["CrossMoments", "Whitening", "count_table", "unvarying", "weighted"]

Array = npt.NDArray[Any]

_CONSTANT = 1e-10  # variance over mean square below which a feature is constant
_RANK = 1e-9  # eigenvalue of a correlation matrix, relative to the largest, that counts as 0
_ROUNDING = 1e-14  # relative rounding error of a mean of products
_LARGEST = 5000  # order of the largest matrix to decompose with several strata


@dataclass(frozen=True, eq=False)
class CrossMoments:
    """First and second moments of the features of the reports of one stratum.

    Parameters
    ----------
    n : int
        Number of respondents.
    cross : ndarray, shape (k1, k2)
        Mean of a b'.
    mean_x, mean_y : ndarray, shapes (k1,) and (k2,)
        Means of a and of b.
    gram_x, gram_y : ndarray, shapes (k1, k1) and (k2, k2)
        Means of a a' and of b b'.

    Raises
    ------
    InvalidArgument
        If shapes disagree, an entry is not finite, or n < 1.

    Examples
    --------
    >>> part = CrossMoments.of_table([[30, 20], [20, 30]], np.eye(2), np.eye(2))
    >>> part.n, part.covariance()
    (100, array([[ 0.05, -0.05],
           [-0.05,  0.05]]))
    """

    n: int
    cross: Array
    mean_x: Array
    mean_y: Array
    gram_x: Array
    gram_y: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_integer("n", self.n))
        object.__setattr__(self, "cross", finite_array("cross", self.cross, 2))
        k1, k2 = self.cross.shape
        shapes = {"mean_x": (k1,), "mean_y": (k2,), "gram_x": (k1, k1), "gram_y": (k2, k2)}
        for name, shape in shapes.items():
            array = finite_array(name, getattr(self, name), len(shape))
            if array.shape != shape:
                raise InvalidArgument(name, array.shape, f"must have the shape {shape}, as cross")
            object.__setattr__(self, name, array)

    @classmethod
    def of_reports(cls, a: npt.ArrayLike, b: npt.ArrayLike) -> CrossMoments:
        """Moments of features a, shape (n, k1), and b, shape (n, k2), one respondent a row."""
        x, y = finite_array("a", a, 2), finite_array("b", b, 2)
        if len(x) != len(y):
            raise InvalidArgument("b", y.shape, f"must have {len(x)} rows, one per respondent")
        n = positive_integer("n", len(x))
        return cls(n, x.T @ y / n, x.mean(axis=0), y.mean(axis=0), x.T @ x / n, y.T @ y / n)

    @classmethod
    def of_table(cls, table: npt.ArrayLike, ax: npt.ArrayLike, by: npt.ArrayLike) -> CrossMoments:
        """Moments from counts of pairs of outputs.

        Parameters
        ----------
        table : array_like of integers, shape (l1, l2)
            Respondents with each pair of outputs.
        ax, by : array_like, shapes (l1, k1) and (l2, k2)
            Features of each output.
        """
        counts, x, y = count_table(table), finite_array("ax", ax, 2), finite_array("by", by, 2)
        if (len(x), len(y)) != counts.shape:
            raise InvalidArgument("table", counts.shape, f"must have shape {(len(x), len(y))}")
        n = counts.sum()
        shares = counts / n
        r, c = shares.sum(axis=1), shares.sum(axis=0)
        gram_x, gram_y = (x.T * r) @ x, (y.T * c) @ y
        return cls(int(n), x.T @ shares @ y, r @ x, c @ y, gram_x, gram_y)

    def transformed(self, X: Array, Y: Array, x: Array, y: Array) -> CrossMoments:
        """Moments of the features X a + x and Y b + y."""
        mx, my = X @ self.mean_x, Y @ self.mean_y
        cross, gram_x, gram_y = X @ self.cross @ Y.T, X @ self.gram_x @ X.T, Y @ self.gram_y @ Y.T

        def moved(products: Array, m: Array, shift: Array, m2: Array, shift2: Array) -> Array:
            return np.asarray(
                products + np.outer(m, shift2) + np.outer(shift, m2) + np.outer(shift, shift2)
            )

        return CrossMoments(
            n=self.n,
            cross=moved(cross, mx, x, my, y),
            mean_x=mx + x,
            mean_y=my + y,
            gram_x=moved(gram_x, mx, x, mx, x),
            gram_y=moved(gram_y, my, y, my, y),
        )

    def covariance(self) -> Array:
        """Covariance of a and b within the stratum, shape (k1, k2)."""
        return np.asarray(self.cross - np.outer(self.mean_x, self.mean_y))

    def covariance_x(self) -> Array:
        """Covariance matrix of a, shape (k1, k1)."""
        return np.asarray(self.gram_x - np.outer(self.mean_x, self.mean_x))

    def covariance_y(self) -> Array:
        """Covariance matrix of b, shape (k2, k2)."""
        return np.asarray(self.gram_y - np.outer(self.mean_y, self.mean_y))


@dataclass(frozen=True, eq=False)
class Whitening:
    """Coordinates in which features are uncorrelated with unit variance under independence.

    Parameters
    ----------
    n : int
        Number of respondents in all strata.
    x, y : ndarray, shapes (r1, k1) and (r2, k2)
        Maps from the features of either variable to its coordinates.
    joint : ndarray of shape (df, r1 r2), or None
        Whitens the products of coordinates, vectorised row-major; None in one stratum, where they
        are white already.
    """

    n: int
    x: Array
    y: Array
    joint: Array | None = None

    @classmethod
    def of(cls, parts: Sequence[CrossMoments]) -> Whitening:
        """The coordinates for strata `parts`; errors are those of `independence.score`."""
        if not parts or any(part.cross.shape != parts[0].cross.shape for part in parts):
            shapes = [part.cross.shape for part in parts]
            raise InvalidArgument("parts", shapes, "must be strata with the same features")
        n, weights = _weights(parts)
        x = _whiten(
            weighted([part.covariance_x() for part in parts], weights),
            weighted([np.diagonal(part.gram_x) for part in parts], weights),
        )
        y = _whiten(
            weighted([part.covariance_y() for part in parts], weights),
            weighted([np.diagonal(part.gram_y) for part in parts], weights),
        )
        constant = [name for name, axes in (("first", x), ("second", y)) if not len(axes)]
        if constant:
            raise unvarying(" and the ".join(constant))
        if len(parts) == 1:
            return cls(n, x, y)
        order = len(x) * len(y)
        if order > _LARGEST:
            raise NotAvailable(
                f"{order} products of features in {len(parts)} strata need a matrix of that order; "
                f"merge categories until there are at most {_LARGEST}"
            )
        products = np.zeros((order, order))
        for part, weight in zip(parts, weights, strict=True):
            inner = x @ part.covariance_x() @ x.T
            products += weight * np.kron(inner, y @ part.covariance_y() @ y.T)
        joint = _whiten(products, np.diagonal(products))
        if not len(joint):
            raise unvarying("first, wherever the second does,")
        return cls(n, x, y, joint)

    @property
    def df(self) -> int:
        """Number of coordinates of products."""
        return len(self.x) * len(self.y) if self.joint is None else len(self.joint)

    def statistic(self, cross: Array) -> Array:
        """T from mean cross-products of centred coordinates, shape (..., r1, r2)."""
        flat = cross.reshape(*cross.shape[:-2], -1)
        if self.joint is not None:
            flat = flat @ self.joint.T
        return np.asarray(self.n * np.sum(flat**2, axis=-1), dtype=np.float64)


def count_table(table: npt.ArrayLike) -> Array:
    """A two-way table of counts as float64, after a check that it is not empty."""
    counts = finite_array("table", table, 2)
    return count_array("table", counts.ravel()).reshape(counts.shape)


def _weights(parts: Sequence[CrossMoments]) -> tuple[int, Array]:
    """N, and the weights w_c of `independence.score`; strata of one respondent have weight 0."""
    sizes = np.array([part.n for part in parts], dtype=np.float64)
    n = int(sizes.sum())
    if len(parts) == 1:
        return n, np.ones(1)
    several = sizes > 1
    factor = np.where(several, sizes / np.where(several, sizes - 1, 1.0), 0.0)
    return n, sizes / n * factor * (n - 1) / n


def weighted(arrays: Sequence[Array], weights: Array) -> Array:
    """Weighted sum of arrays of one shape."""
    return np.asarray(sum(w * array for w, array in zip(weights, arrays, strict=True)))


def _whiten(S: Array, squares: Array) -> Array:
    """W of shape (rank, k) with W S W' = I and W'W = S^-; rank as in the module's docstring."""
    variances = np.diagonal(S)
    varies = variances > _CONSTANT * squares
    W = np.zeros((int(varies.sum()), len(S)))
    if not len(W):
        return W
    sd = np.sqrt(variances[varies])
    values, vectors = np.linalg.eigh(S[np.ix_(varies, varies)] / np.outer(sd, sd))
    growth = float(np.max(squares[varies] / variances[varies]))
    kept = values > max(_RANK, _ROUNDING * len(sd) * growth) * values[-1]
    W[:, varies] = (vectors / sd[:, None]).T
    return np.asarray(W[kept] / np.sqrt(values[kept])[:, None])


def unvarying(which: str) -> NotIdentified:
    """The error of a test in which the reports of one variable, or of both, are constant."""
    return NotIdentified(
        f"the reports of the {which} variable do not vary, so association cannot be tested;"
        " use variables with at least two categories that occur, and epsilon > 0"
    )
