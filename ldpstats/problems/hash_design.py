"""The design matrix of hashed candidates: which candidate owns which cell of which cohort.

In cohort c a candidate x owns h cells, labels or Bloom bits: ``H[(c, y), x] = 1`` where cell y is
one of them (KBR16 section 5, EPK14 section 4). H has C m rows and S columns, nearly all of it zero;
all that a decoder needs are products with it, which only look up cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotAvailable

__all__ = [
    "HashDesign",
    "LeastSquares",
    "is_identified",
    "least_squares",
    "mirrored",
    "undetermined",
]

Array = npt.NDArray[Any]

_LARGEST_MATRIX = 1 << 27  # entries that matrix() is willing to form: 1 GB as float64
_LARGE = 1 << 18  # cells from which compiled loops repay the import of numba
_LOOKED_UP = 1 << 15  # cells at a time
_BLOCK = 1 << 18  # entries of dense rows at a time in a Gram matrix (2 MB)
_DENSE = 1 << 30  # multiplications up to which a dense Gram matrix is fast enough
_PAIR = 32.0  # multiplications of a dense product in the time that one pair of owners takes
_ADDED = 4.0  # multiplications of a dense product in the time that an addition of rows takes
_FEW = 8.0  # owners that share a candidate's cell, below which they are too few to fill a cache
_ROWS = 128  # rows, or columns, of a Gram matrix that are filled at a time, where they are many
_APART = 1e-6  # difference by which an entry of the probe counts as not determined


@dataclass(frozen=True, eq=False)
class HashDesign:
    """The matrix ``A = slope (H - background 1 1')`` of shape (C m, S), in O(C S h) memory.

    Row c m + y stands for cell y of cohort c.

    Parameters
    ----------
    cells : array of uint16 or uint32, shape (C, S, h)
        The distinct cells that each candidate owns in each cohort, in [0, m]; m stands for no cell,
        where a hash repeats another. C-contiguous.
    n_cells : int
        m, the number of cells of a cohort.
    slope : float
        Gain of owning a cell.
    background : float
        Subtracted from every entry of H; near the mean of H it makes the columns nearly orthogonal.

    Raises
    ------
    InvalidArgument
        Where `cells` has another form, a cell beyond m, or lists a cell twice.

    Examples
    --------
    >>> cells = np.array([[[0], [1], [1]], [[0], [0], [1]]], dtype=np.uint16)
    >>> design = HashDesign(cells, n_cells=2)   # 2 cohorts, 3 candidates
    >>> design.matrix()
    array([[1., 0., 0.],
           [0., 1., 1.],
           [1., 1., 0.],
           [0., 0., 1.]])
    >>> design.times(np.array([0.5, 0.25, 0.25]))
    array([0.5 , 0.5 , 0.75, 0.25])
    """

    cells: Array
    n_cells: int
    slope: float = 1.0
    background: float = 0.0

    def __post_init__(self) -> None:
        cells, m = self.cells, self.n_cells
        if cells.ndim != 3 or cells.dtype not in (np.uint16, np.uint32):
            form = f"{cells.dtype} of shape {cells.shape}"
            raise InvalidArgument("cells", form, "must be uint16 or uint32 of shape (C, S, h)")
        if not cells.flags.c_contiguous:
            raise InvalidArgument("cells", cells.shape, "must be contiguous: np.ascontiguousarray")
        if cells.size and int(cells.max()) > m:
            raise InvalidArgument("cells", int(cells.max()), f"must be cells below n_cells = {m}")
        for j in range(1, cells.shape[2]):
            last = cells[:, :, j]
            for i in range(j):
                if np.any((cells[:, :, i] == last) & (last < m)):
                    remedy = f"lists a cell twice; put n_cells = {m} in place of a repeated hash"
                    raise InvalidArgument("cells", cells.shape, remedy)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of equations C m and of candidates S."""
        return self.n_cohorts * self.n_cells, int(self.cells.shape[1])

    @property
    def n_cohorts(self) -> int:
        """Number of cohorts C."""
        return int(self.cells.shape[0])

    def owned(self, p: Array) -> Array:
        """H p, shape (C, m): the sum of p over the owners of each cell."""
        C, S, h = self.cells.shape
        values = np.repeat(np.asarray(p, dtype=np.float64).reshape(S), h)
        if self.cells.size < _LARGE:
            places, size = self._places(slice(C)).ravel(), C * (self.n_cells + 1)
            sums = np.bincount(places, np.tile(values, C), size).reshape(C, -1)
            # bincount of nothing is of integers
            return np.ascontiguousarray(sums[:, :-1], dtype=np.float64)
        from ldpstats.kernels.cells import scatter

        out = np.empty(C * self.n_cells + 1)
        scatter(self._flat, values, out)
        return out[:-1].reshape(C, self.n_cells)

    def owners(self, v: Array) -> Array:
        """H' v, shape (S,): the sum of v, shape (C m,), over the cells that each candidate owns."""
        S, h = self.cells.shape[1:]
        if self.cells.size < _LARGE:
            return np.asarray(self._by_cohort(v).sum(axis=0))
        from ldpstats.kernels.cells import gather

        out = np.zeros(S * h)
        gather(self._flat, self._padded(v), out)
        return np.asarray(out.reshape(S, h).sum(axis=1))

    def times(self, p: Array) -> Array:
        """A p, shape (C m,)."""
        out = self.owned(p).reshape(-1)
        out -= self.background * np.sum(p)
        if self.slope != 1.0:
            out *= self.slope
        return out

    def adjoint(self, v: Array) -> Array:
        """A' v, shape (S,), for v of shape (C m,)."""
        return np.asarray(self.slope * (self.owners(v) - self.background * np.sum(v)))

    def by_cohort(self, v: Array) -> Array:
        """The terms of A' v that each cohort adds, shape (C, S)."""
        total = np.reshape(v, (self.n_cohorts, self.n_cells)).sum(axis=1)
        return np.asarray(self.slope * (self._by_cohort(v) - self.background * total[:, None]))

    def normal(self, w: Array, p: Array) -> Array:
        """A' diag(w) A p, shape (S,), for w of shape (C m,)."""
        C, S, h = self.cells.shape
        if self.cells.size < _LARGE:
            return self.adjoint(w * self.times(p))
        from ldpstats.kernels.cells import normal

        out, shift = np.zeros(S * h), float(self.background * np.sum(p))
        values, weights = np.repeat(p, h), np.reshape(w, (C, self.n_cells))
        total = normal(self._flat, weights, values, shift, out)
        own = out.reshape(S, h).sum(axis=1)
        return np.asarray(self.slope**2 * (own - self.background * total))

    def normal_diagonal(self, w: Array) -> Array:
        """The diagonal of A' diag(w) A, shape (S,)."""
        r = self.background
        own = (1.0 - 2.0 * r) * self.owners(w)
        return np.asarray(self.slope**2 * (own + r * r * np.sum(w)))

    def gram(self, w: Array) -> Array:
        """A' diag(w) A, shape (S, S), for w of shape (C m,)."""
        return self._centred(self.shared(w), self.owners(w), float(np.sum(w)))

    def shared(self, w: Array) -> Array:
        """H' diag(w) H, shape (S, S): the sum of w over the cells that two candidates share."""
        C, S, h = self.cells.shape
        weights = np.asarray(w, dtype=np.float64).reshape(C, self.n_cells)
        by_blas = C * self.n_cells * S * S
        pairs = C * (S * h) ** 2 / (2 * self.n_cells)  # as hashes spread candidates evenly
        if by_blas > max(_DENSE, _PAIR * pairs):
            return self._shared_by_pairs(weights, pairs)
        out, step = np.zeros((S, S)), max(1, _BLOCK // max(self.n_cells * S, 1))
        for start in range(0, C, step):
            part = slice(start, start + step)
            H = self._incidence(part)
            out += (H * weights[part].reshape(-1, 1)).T @ H
        return mirrored(out)

    def _shared_by_pairs(self, w: Array, pairs: float) -> Array:
        from ldpstats.kernels.cells import pair_sums

        C, S, h = self.cells.shape
        members = np.empty((C, S * h), dtype=np.uint16 if S <= 1 << 16 else np.uint32)
        size = self.owned(np.ones(S)).astype(np.int64)
        start = np.cumsum(size, axis=1) - size
        out, step = np.zeros((S, S)), S if pairs < _FEW * self.cells.size else _ROWS
        pair_sums(self.cells, w, step, start, start.copy(), members, out)
        np.fill_diagonal(out, self.owners(w))
        return mirrored(out)

    def incidence(self, c: int) -> Array:
        """H_c, shape (m, S): the rows of H that belong to cohort c."""
        return self._incidence(slice(c, c + 1))

    def _incidence(self, part: slice) -> Array:
        """The rows of H that belong to some cohorts, m of each."""
        cells, m = self.cells[part], self.n_cells
        C, S, _ = cells.shape
        out = np.zeros((C, m + 1, S))
        out[np.arange(C)[:, None, None], cells, np.arange(S)[:, None]] = 1.0
        return out[:, :-1].reshape(C * m, S)

    def gram_of_pairs(self, diagonal: Array, scale: Array, p: Array) -> Array:
        """The sum over the cohorts of ``A_c' (diag(d_c) + scale[c] B_c) A_c``, shape (S, S).

        `diagonal` is d, shape (C, m), zero where `scale`, (C,), is. B_c, (m, m), is the sum of p
        over the owners of two different cells j and k of cohort c; its diagonal is zero.
        """
        C, S, h = self.cells.shape
        if C * self.n_cells * S * S <= max(_DENSE, _ADDED * C * h * S * S):
            total = np.zeros((S, S))
            for c in np.flatnonzero(scale).tolist():
                A = self.block(c)
                total += A.T @ ((scale[c] * self._pairs_of(p, c) + np.diag(diagonal[c])) @ A)
            return total
        from ldpstats.kernels.cells import WIDTH, pair_gram

        blocks, reach = np.zeros((-(-S // WIDTH), S, WIDTH)), np.zeros(S)
        used = np.flatnonzero(scale)
        every = pair_gram(self.cells, used, diagonal, scale, p, blocks, reach)
        out = np.concatenate(list(blocks), axis=1)[:, :S]
        return self._centred(mirrored(out), reach, every)

    def _centred(self, shared: Array, reach: Array, every: float) -> Array:
        """A' X A from H' X H, its sums `reach` with X 1 and `every`, 1' X 1; in place."""
        mean = self.background * (reach - 0.5 * self.background * every)
        for row, value in zip(shared, mean, strict=True):
            row -= mean + value
            row *= self.slope**2
        return shared

    def pair_forms(self, p: Array, rows: Array) -> Array:
        """Forms of the B_c of `gram_of_pairs`, shape (q + 1, C).

        The sums of B_jk v_j v_k over the cells of a cohort, for q rows v of shape (C, m) each; the
        last are the sums of B_jk^2.
        """
        q, C = len(rows), self.n_cohorts
        out = np.zeros((q + 1, C))
        if self.cells.size < _LARGE:
            for c in range(C):
                B, v = self._pairs_of(p, c), rows[:, c]
                out[:q, c], out[q, c] = np.einsum("qi,qi->q", v @ B, v), np.vdot(B, B)
            return out
        from ldpstats.kernels.cells import pair_forms

        pair_forms(self.cells, rows, p, out)
        return out

    def _pairs_of(self, p: Array, c: int) -> Array:
        H = self.incidence(c)
        B = (H * p) @ H.T
        np.fill_diagonal(B, 0.0)
        return np.asarray(B)

    def block(self, c: int) -> Array:
        """A_c, shape (m, S): the rows of A that belong to cohort c."""
        return self.slope * (self.incidence(c) - self.background)

    def matrix(self) -> Array:
        """A as a dense array, shape (C m, S)."""
        d, S = self.shape
        if d * S > _LARGEST_MATRIX:
            raise NotAvailable(
                f"a dense matrix of {d} equations and {S} candidates takes {d * S / (1 << 27):.0f} "
                "GB: use the products times, adjoint and gram"
            )
        return np.concatenate([self.block(c) for c in range(self.n_cohorts)])

    def take(self, index: Array) -> HashDesign:
        """The design of some candidates, given by their positions or a boolean mask."""
        return replace(self, cells=np.ascontiguousarray(self.cells[:, index]))

    @property
    def _flat(self) -> Array:
        return self.cells.reshape(self.n_cohorts, -1)

    def _places(self, part: slice) -> Array:
        """Places of the owned cells of some cohorts among C rows of m cells and one for none."""
        first = np.arange(self.n_cohorts)[part] * (self.n_cells + 1)
        return np.asarray(self.cells[part] + first[:, None, None])

    def _padded(self, v: Array) -> Array:
        """v, shape (C m,), with a zero after each cohort, for what is no cell: (C, m + 1)."""
        out = np.zeros((self.n_cohorts, self.n_cells + 1))
        out[:, :-1] = np.reshape(v, (self.n_cohorts, self.n_cells))
        return out

    def _by_cohort(self, v: Array) -> Array:
        """The terms of H' v that each cohort adds, shape (C, S)."""
        C, S, h = self.cells.shape
        padded, out = self._padded(v), np.empty((C, S))
        step = max(1, _LOOKED_UP // max(S * h, 1))
        for start in range(0, C, step):
            part = slice(start, start + step)
            own = padded.take(self._places(part))
            out[part] = own[:, :, 0] if h == 1 else own @ np.ones(h)  # faster than a sum
        return out


def mirrored(lower: Array) -> Array:
    """The symmetric matrix with this lower triangle, in place."""
    n, tile = len(lower), 128
    for i in range(0, n, tile):
        for j in range(0, i, tile):
            lower[j : j + tile, i : i + tile] = lower[i : i + tile, j : j + tile].T
        corner = np.tril(lower[i : i + tile, i : i + tile])
        lower[i : i + tile, i : i + tile] = corner + np.tril(corner, -1).T
    return lower


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A weighted least squares estimate.

    Parameters
    ----------
    p : array, shape (S,)
        The estimate.
    n_iter : int
        Steps of conjugate gradients.
    residual : float
        Length of the gradient that is left, relative to the gradient at zero, both measured with
        the diagonal of the normal equations scaled to one.
    converged : bool
        Whether `residual` is at most the tolerance.
    """

    p: Array
    n_iter: int
    residual: float
    converged: bool


def least_squares(
    design: HashDesign, weights: Array, rhs: Array, tol: float = 1e-12, max_iter: int = 1000
) -> LeastSquares:
    """Minimise ``(rhs - A p)' diag(weights) (rhs - A p)`` over p, without forming any matrix.

    Conjugate gradients on the normal equations, scaled by their diagonal. They run again from the
    true gradient as long as rounding in the first run has left more than `tol`. Where candidates
    cannot be told apart one of the minimisers is found; see `undetermined`.
    """
    diagonal = design.normal_diagonal(weights)
    scale = np.divide(1.0, diagonal, out=np.zeros(diagonal.shape), where=diagonal > 0.0)
    gradient = design.adjoint(weights * rhs)
    first = left = _length(gradient, scale)
    p, steps = np.zeros(gradient.shape), 0
    while left > tol * first and steps < max_iter:
        change, used = _conjugate_gradients(
            design, weights, scale, gradient, tol * first, max_iter - steps
        )
        steps += used
        moved = rhs - design.times(p + change)
        gradient = design.adjoint(np.multiply(moved, weights, out=moved))
        before, left = left, _length(gradient, scale)
        if not left < before:  # nothing but rounding is left
            left = before
            break
        p += change
        if left > 0.5 * before:
            break
    residual = left / first if first > 0.0 else 0.0
    return LeastSquares(p, steps, residual, residual <= tol)


def _length(gradient: Array, scale: Array) -> float:
    return float(np.sqrt(gradient @ (scale * gradient)))


def _conjugate_gradients(
    design: HashDesign, weights: Array, scale: Array, gradient: Array, goal: float, max_iter: int
) -> tuple[Array, int]:
    """Solve ``A' diag(weights) A x = gradient`` to a remainder of length `goal`; x and steps."""
    x, r = np.zeros(gradient.shape), gradient.copy()
    z = scale * r
    direction, size = z, float(r @ z)
    for i in range(max_iter):
        curved = design.normal(weights, direction)
        curvature = float(direction @ curved)
        if not curvature > 0.0:
            return x, i
        x += size / curvature * direction
        r -= size / curvature * curved
        z = scale * r
        before, size = size, float(r @ z)
        if size <= goal**2:
            return x, i + 1
        direction = z + size / before * direction
    return x, max_iter


def undetermined(
    design: HashDesign, weights: Array, tol: float = 1e-12, max_iter: int = 1000
) -> Array:
    """Positions of the candidates that the equations do not determine, in rising order.

    A fixed vector g is recovered from A g by `least_squares`. What differs lies in the null space
    of the equations, and an entry that it moves is not determined. No matrix is formed, so that
    this is for candidates too many for a factorisation of the normal equations.
    """
    golden = np.arange(design.shape[1]) * (np.sqrt(5.0) - 1.0) / 2.0 % 1.0
    probe = golden * (1.0 + golden) - 5.0 / 6.0  # no two alike, no differences alike, mean zero
    found = least_squares(design, weights, design.times(probe), tol, max_iter)
    return np.flatnonzero(np.abs(found.p - probe) > _APART)


def is_identified(design: HashDesign, weights: Array) -> bool:
    """Whether the equations determine every candidate; see `undetermined`."""
    return undetermined(design, weights).size == 0
