"""Hashed candidates: the equations of their cohorts, and the moments that these give.

In cohort c a candidate x owns h cells, labels or Bloom bits: ``H[(c, y), x] = 1`` where cell y is
one of them (KBR16 section 5, EPK14 section 4). H has C m rows and S columns, nearly all of it zero;
all that a decoder needs are products with it, which only look up cells. The frequency of cell j
among the n_c respondents of cohort c is on average

    E[t_cj] = offset + slope (H_cj . p - background sum(p)).

Over an open alphabet the answers that are not listed hash anywhere: their share 1 - sum(p) falls on
every cell with the probability `background` on average, and that is in `offset`. (Without it their
mass would be spread over the candidates.) Over a closed alphabet the background is zero. Everything
is conditional on the sizes of cohorts; one without reports gives no equation. Weights are fixed
before the data are seen, so that estimates are unbiased; where the list is incomplete they depend
on one estimated number, see `CohortMoments.open_ended`.

An answer u that is not listed owns the same cells in every report. Over random hashes the share of
the unlisted that own a cell has the variance ``collisions r (1 - r)`` with r the background and
``collisions = sum_u p_u^2``. Unlike the noise of privacy it does not fall with n_c. Collisions only
ever add to a cell, so that estimates have a long upper tail: how long, the cubes of residuals show.

Words:

- cell: a label or a Bloom bit of one cohort; cohorts hash differently, and each has m cells.
- owner: a candidate owns the cells that it hashes to; `owned(p)` is H p, the share of the
  respondents whose answer owns each cell, `owners(v)` is H' v, the sum of v over own cells.
- background: the probability with which an answer that is not listed owns a given cell; the mean
  of H, which is subtracted from it.
- open: answers may not be among the candidates. `incomplete`: it is known that some are not.
- collisions: the sum of the squared frequencies of answers that are not listed.
- open_ended: the equations with that second component of variance in their weights.
- noise: the randomness of privacy, given which answer owns which cell; `spread` is its covariance
  in the right-hand side A' D t of the normal equations.
- moved: frequencies less what no candidate explains, t - offset.
- pinned: candidates that must be absent, for a report that they make was impossible under p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, record
from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.likelihood.covariance import (
    Covariance,
    OwnTally,
    Pair,
    Uncertain,
    Unexplained,
    bit_reach,
    label_reach,
    picked,
    project_simplex,
    project_subsimplex,
)
from ldpstats.likelihood.moments import LARGEST_LIST, Check, Misfit, Moments, OwnCounts

_LARGE = 1 << 18  # cells from which compiled loops repay the import of numba
_LOOKED_UP = 1 << 15  # cells at a time
_BLOCK = 1 << 18  # entries of dense rows at a time in a Gram matrix (2 MB)
_DENSE = 1 << 30  # multiplications up to which a dense Gram matrix is fast enough
_PAIR = 32.0  # multiplications of a dense product in the time that one pair of owners takes
_ADDED = 4.0  # multiplications of a dense product in the time that an addition of rows takes
_FEW = 8.0  # owners that share a candidate's cell, below which they are too few to fill a cache
_ROWS = 128  # rows, or columns, of a Gram matrix that are filled at a time, where they are many
TOLERANCE = 1e-12  # of the length of a gradient
_APART = 1e-6  # difference by which an entry of the probe counts as not determined
_RANK = 1e-10  # pivots of the scaled normal equations below which candidates are not separated


# -- The design matrix: which candidate owns which cell of which cohort ---------------------------


@record
class HashDesign:
    """The matrix ``A = slope (H - background 1 1')``, (C m, S), in O(C S h) memory.

    Row c m + y is cell y of cohort c. `cells`, uint16 or uint32 of shape (C, S, h), holds the
    distinct cells that each candidate owns, in [0, m]; m is no cell, where a hash repeats another.
    """

    cells: Array
    n_cells: int
    slope: float = 1.0
    background: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Number of equations C m and of candidates S."""
        return self.n_cohorts * self.n_cells, int(self.cells.shape[1])

    @property
    def n_cohorts(self) -> int:
        """Number of cohorts C."""
        return len(self.cells)

    def owned(self, p: Array) -> Array:
        """H p, shape (C, m): the sum of p over the owners of each cell."""
        C, S, h = self.cells.shape
        values = np.repeat(floats(p).reshape(S), h)
        if self.cells.size < _LARGE:
            first, size = np.arange(C) * (self.n_cells + 1), C * (self.n_cells + 1)
            places = (self.cells + first[:, None, None]).ravel()
            sums = np.bincount(places, np.tile(values, C), size).reshape(C, -1)
            # bincount of nothing is of integers
            return np.ascontiguousarray(sums[:, :-1], dtype=np.float64)
        from ldpstats.kernels.cells import scatter

        return np.asarray(scatter(self.cells.reshape(C, -1), values, self.n_cells))

    def owners(self, v: Array) -> Array:
        """H' v, shape (S,): the sum of v, shape (C m,), over the cells that each candidate owns."""
        C, S, h = self.cells.shape
        if self.cells.size < _LARGE:
            return np.asarray(self._by_cohort(v).sum(axis=0))
        from ldpstats.kernels.cells import gather

        padded = np.zeros((C, self.n_cells + 1))
        padded[:, :-1] = np.reshape(v, (C, self.n_cells))
        return np.asarray(gather(self.cells.reshape(C, -1), padded).reshape(S, h).sum(axis=1))

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
        total = np.reshape(v, (-1, self.n_cells)).sum(axis=1)
        return np.asarray(self.slope * (self._by_cohort(v) - self.background * total[:, None]))

    def _by_cohort(self, v: Array) -> Array:
        """The terms of H' v that each cohort adds, shape (C, S)."""
        C, S, h = self.cells.shape
        padded = np.zeros((C, self.n_cells + 1))
        padded[:, :-1] = np.reshape(v, (C, self.n_cells))
        out, first = np.empty((C, S)), np.arange(C)[:, None, None] * (self.n_cells + 1)
        step = max(1, _LOOKED_UP // max(S * h, 1))
        for start in range(0, C, step):
            part = slice(start, start + step)
            own = padded.take(self.cells[part] + first[part])
            out[part] = own[:, :, 0] if h == 1 else own @ np.ones(h)  # faster than a sum
        return out

    def normal(self, w: Array, p: Array) -> Array:
        """A' diag(w) A p, shape (S,), for w of shape (C m,)."""
        C, S, h = self.cells.shape
        if self.cells.size < _LARGE:
            return self.adjoint(w * self.times(p))
        from ldpstats.kernels.cells import normal

        shift, weights = float(self.background * np.sum(p)), np.reshape(w, (C, self.n_cells))
        total, out = normal(self.cells.reshape(C, -1), weights, np.repeat(p, h), shift)
        own = out.reshape(S, h).sum(axis=1)
        return np.asarray(self.slope**2 * (own - self.background * total))

    def normal_diagonal(self, w: Array) -> Array:
        """The diagonal of A' diag(w) A, shape (S,)."""
        r = self.background
        own = (1.0 - 2.0 * r) * self.owners(w)
        return np.asarray(self.slope**2 * (own + r * r * np.sum(w)))

    def gram(self, w: Array) -> Array:
        """A' diag(w) A, shape (S, S), for w of shape (C m,)."""
        # from H' diag(w) H, the sum of w over the cells that two candidates share
        C, S, h = self.cells.shape
        weights = floats(w).reshape(C, self.n_cells)
        by_blas = C * self.n_cells * S * S
        pairs = C * (S * h) ** 2 / (2 * self.n_cells)  # as hashes spread candidates evenly
        if by_blas > max(_DENSE, _PAIR * pairs):
            from ldpstats.kernels.cells import pair_sums

            members = np.empty((C, S * h), dtype=np.uint16 if S <= 1 << 16 else np.uint32)
            size = self.owned(np.ones(S)).astype(np.int64)
            first = np.cumsum(size, axis=1) - size
            out, step = np.zeros((S, S)), S if pairs < _FEW * self.cells.size else _ROWS
            pair_sums(self.cells, weights, step, first, first.copy(), members, out)
            np.fill_diagonal(out, self.owners(weights))
        else:
            out, step = np.zeros((S, S)), max(1, _BLOCK // max(self.n_cells * S, 1))
            for start in range(0, C, step):
                H = self.incidence(start, step)
                out += (H * weights[start : start + step].reshape(-1, 1)).T @ H
        return self._centred(mirror(out), self.owners(weights), float(np.sum(weights)))

    def incidence(self, c: int, count: int = 1) -> Array:
        """The rows of H, (count m, S), of cohort c, or of `count` cohorts from there on."""
        cells, m = self.cells[c : c + count], self.n_cells
        C, S, _ = cells.shape
        out = np.zeros((C, m + 1, S))
        out[np.arange(C)[:, None, None], cells, np.arange(S)[:, None]] = 1.0
        return out[:, :-1].reshape(C * m, S)

    def gram_of_pairs(self, diagonal: Array, scale: Array, p: Array) -> Array:
        """Sum over c of ``A_c' (diag(d_c) + scale[c] B_c) A_c``, (S, S); d is zero where scale is.

        B_c, (m, m), sums p over the owners of two different cells of cohort c; zero diagonal.
        """
        C, S, h = self.cells.shape
        if h == 1 or not S:  # no two cells have an owner in common
            return self.gram(diagonal)
        if C * self.n_cells * S * S <= max(_DENSE, _ADDED * C * h * S * S):
            total, step = np.zeros((S, S)), max(1, _BLOCK // max(self.n_cells * S, 1))
            for start in range(0, C, step):
                H = self.incidence(start, step).reshape(-1, self.n_cells, S)
                A, some = self.slope * (H - self.background), slice(start, start + step)
                within = np.eye(self.n_cells)
                X = scale[some, None, None] * ((H * p) @ H.swapaxes(1, 2)) * (1.0 - within)
                X += diagonal[some, :, None] * within
                total += A.reshape(-1, S).T @ (X @ A).reshape(-1, S)
            return total
        from ldpstats.kernels.cells import WIDTH, pair_gram

        blocks, reach = np.zeros((-(-S // WIDTH), S, WIDTH)), np.zeros(S)
        used = np.flatnonzero(scale)
        every = pair_gram(self.cells, used, diagonal, scale, p, blocks, reach)
        out = np.concatenate(list(blocks), axis=1)[:, :S]
        return self._centred(mirror(out), reach, every)

    def _centred(self, shared: Array, reach: Array, every: float) -> Array:
        """A' X A from H' X H, its sums `reach` with X 1 and `every`, 1' X 1; in place."""
        mean = self.background * (reach - 0.5 * self.background * every)
        for row, value in zip(shared, mean, strict=True):
            row -= mean + value
            row *= self.slope**2
        return shared

    def pair_forms(self, p: Array, rows: Array) -> Array:
        """Sums of B_jk v_j v_k over cells, for q rows v (C, m); last, of B_jk^2: (q + 1, C)."""
        q, (C, _, h) = len(rows), self.cells.shape
        out = np.zeros((q + 1, C))
        if h == 1:
            return out
        if self.cells.size < _LARGE:
            for c in range(C):
                H, v = self.incidence(c), rows[:, c]
                B = (H * p) @ H.T
                np.fill_diagonal(B, 0.0)
                out[:q, c], out[q, c] = np.einsum("qi,qi->q", v @ B, v), np.vdot(B, B)
            return out
        from ldpstats.kernels.cells import pair_forms

        pair_forms(self.cells, rows, p, out)
        return out

    def block(self, c: int, count: int = 1) -> Array:
        """A_c, shape (m, S): the rows of A that belong to cohort c, or to `count` from there on."""
        return self.slope * (self.incidence(c, count) - self.background)

    def matrix(self) -> Array:
        """A as a dense array, shape (C m, S)."""
        return self.block(0, self.n_cohorts)

    def take(self, index: Array) -> HashDesign:
        """The design of some candidates, given by their positions or a boolean mask."""
        return replace(self, cells=np.ascontiguousarray(self.cells[:, index]))


def mirror(lower: Array) -> Array:
    """The symmetric matrix with this lower triangle, in place."""
    n, tile = len(lower), 128
    for i in range(0, n, tile):
        for j in range(0, i, tile):
            lower[j : j + tile, i : i + tile] = lower[i : i + tile, j : j + tile].T
        corner = np.tril(lower[i : i + tile, i : i + tile])
        lower[i : i + tile, i : i + tile] = corner + np.tril(corner, -1).T
    return lower


_LEVEL = 1e-14  # curvature, relative to that of the preconditioner, that counts as none


def least_squares(
    design: HashDesign, weights: Array, rhs: Array, tol: float = TOLERANCE, max_iter: int = 1000
) -> tuple[Array, int, float]:
    """Minimise ``(rhs - A p)' diag(weights) (rhs - A p)`` by conjugate gradients, scaled.

    A p, the steps, and the relative length of the gradient that is left. They run again from the
    true gradient where rounding has left more than `tol`.
    """
    diagonal = design.normal_diagonal(weights)
    scale = np.divide(1.0, diagonal, out=np.zeros(diagonal.shape), where=diagonal > 0.0)
    gradient = design.adjoint(weights * rhs)
    first = left = _length(gradient, scale)
    p, steps = np.zeros(gradient.shape), 0
    while left > tol * first and steps < max_iter:
        change, used = conjugate_gradients(
            partial(design.normal, weights), scale.__mul__, gradient, max_iter - steps, tol * first
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
    return p, steps, left / first if first > 0.0 else 0.0


def _length(gradient: Array, scale: Array) -> float:
    return float(np.sqrt(gradient @ (scale * gradient)))


def conjugate_gradients(
    product: Callable[[Array], Array],
    scaled: Callable[[Array], Array],
    right: Array,
    max_iter: int,
    goal: float = 0.0,
    relative: float = 0.0,
) -> tuple[Array, int]:
    """Solve ``A x = right`` for positive definite A, of which `product` is A x; x and steps.

    `scaled` is M r for a remainder r, M about the inverse of A. They end at an r'M r of ``goal^2``,
    or of ``relative^2 x'A x``, which makes `relative` the relative error, or where A is flat.
    """
    x, r, energy, steps = np.zeros(right.shape), right.copy(), 0.0, 0
    direction = scaled(r)
    size = float(r @ direction)
    while steps < max_iter and size > max(goal**2, relative**2 * energy):
        curved = product(direction)
        curvature = float(direction @ curved)
        if not curvature > _LEVEL * size:
            break
        length = size / curvature
        x += length * direction
        r -= length * curved
        z = scaled(r)
        energy, before, size, steps = energy + length * size, size, float(r @ z), steps + 1
        direction = z + size / before * direction
    return x, steps


def undetermined(design: HashDesign, weights: Array) -> Array:
    """Positions, rising, of the candidates that the equations do not determine.

    A fixed g is recovered from A g by `least_squares`; an entry that differs has a null direction.
    """
    golden = np.arange(design.cells.shape[1]) * (np.sqrt(5.0) - 1.0) / 2.0 % 1.0
    probe = golden * (1.0 + golden) - 5.0 / 6.0  # no two alike, no differences alike, mean zero
    p, _, _ = least_squares(design, weights, design.times(probe))
    return np.flatnonzero(np.abs(p - probe) > _APART)


def cholesky_inverse(M: Array) -> Array | None:
    """Inverse by Cholesky of M, shape (S, S), which is overwritten; None where it is singular."""
    from scipy.linalg import lapack

    diagonal = np.diag(M).copy()
    if not diagonal.min() > 0.0:
        return None
    root = 1.0 / np.sqrt(diagonal)
    M *= root[:, None]
    M *= root
    # LAPACK counts in columns: the upper triangle of the transpose is the lower one of M
    factor, fault = lapack.dpotrf(M.T, lower=0, overwrite_a=1)
    if fault or np.diag(factor).min() ** 2 < _RANK:
        return None
    inverse, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
    inverse = mirror(inverse.T)
    inverse *= root[:, None]
    inverse *= root
    return inverse


# -- The linear estimate of hashed candidates, its covariance, and whether the candidates fit -----
# The normal equations of several mechanisms add up.


LARGEST_DENSE = 8192  # candidates up to which (S, S) matrices are formed: 512 MB each
_SMALL = 1024  # candidates up to which the inverse, needed for standard errors, gives the estimate
_ROUNDS = 6  # of reweighting, at most; _LONG_ROUNDS where the matrices are large
_LONG_ROUNDS = 2
_SATURATED = 1e-8  # share of their variance that residuals have where candidates fit anything
_SETTLED = 0.05  # relative change of weights that is too small to matter
_INFLUENCES = 1e10  # multiplications up to which the influence of every cell is computed
_BLIND = 0.25  # growth of variances that must not go unnoticed
_LEAST_LEFT = 0.05  # of a residual, that least squares is taken to leave
_GUARD = 0.12  # share of the variance that residuals show, where that is the larger one
_KEPT = ("inverse", "_fitted", "_plug_in_noise", "_collision_spread", "_noise_squares")
_DOUBT = 0.01  # p-value below which candidates do not fit, and the equations allow for others
_MOST = 1e10  # multiplications for what one report can do in each cohort: a few seconds
_FEWEST_COHORTS = 8  # from which tests over incomplete lists keep their level


@record
class CohortMoments(Moments):
    """Equations of hashed candidates from one or several mechanisms."""

    sources: tuple[CohortSource, ...]  # over the same S candidates
    is_open: bool = field()  # required, whatever `Moments` has
    describe: Callable[[], str]  # which candidates cannot be told apart, or what would help
    incomplete: bool = False  # the covariance allows for answers not listed, see `open_ended`
    kind: str = "cohorts"

    checks = (Check.CELLS,)

    @property
    def k(self) -> int:
        return int(self.sources[0].design.cells.shape[1])

    @property
    def nobs(self) -> int:  # type: ignore[override]
        return int(sum(source.reports.sum() for source in self.sources))

    @property
    def condition(self) -> float:  # type: ignore[override]
        """Of one cohort's labels, or bits; hashes that nearly agree are left to `inverse`."""
        each = (s.design.n_cells * s.absent / abs(s.design.slope) for s in self.sources)
        return float(1.0 + min(each))

    def single(self, what: str) -> CohortSource:
        """The only source; several are refused where an algorithm is not made for them."""
        if len(self.sources) > 1:
            raise NotAvailable(
                f"{what!r} of {self.k} candidates is for reports of one mechanism: fit the groups "
                "one by one, or use method 'inversion' with at most "
                f"{LARGEST_DENSE} candidates"
            )
        return self.sources[0]

    def take(self, index: Array) -> CohortMoments:
        """The problem if only some candidates exist."""
        sources = tuple(replace(s, design=s.design.take(index)) for s in self.sources)
        return replace(self, sources=sources)

    @property
    def has_errors(self) -> bool:  # type: ignore[override]
        return self.k <= LARGEST_DENSE

    def merged(self, others: Sequence[Moments]) -> CohortMoments | None:
        hashed = [q for q in others if isinstance(q, CohortMoments)]  # their cohorts add up
        if len(hashed) < len(others):
            return None
        every = [self, *hashed]
        sources = tuple(source for problem in every for source in problem.sources)
        return CohortMoments(sources, any(problem.is_open for problem in every), self.describe)

    def matched(self, other: Moments) -> tuple[Moments, Moments] | None:
        """Both groups with equal weights of their cohorts: those of the difference of two cells.

        Over an open alphabet answers that are not listed then cancel, hash by hash, if both groups
        have the same mechanism. None where they share too few cohorts.
        """
        if not self.is_open or not isinstance(other, CohortMoments):
            return None
        weights = [problem.sources[0].cohort_weights for problem in (self, other)]
        total = np.sum(weights, axis=0)
        both = np.divide(weights[0] * weights[1], total, out=np.zeros_like(total), where=total > 0)
        first, second = (
            replace(problem, sources=(replace(problem.sources[0], cohort_weights=both),))
            for problem in (self, other)
        )
        try:
            first.require_identified()
        except NotIdentified:
            return None
        return first, second

    @cached_property
    def inverse(self) -> Array:
        """``(A' D A)^-1``, shape (S, S), by Cholesky; the rank is checked."""
        if self.k > LARGEST_DENSE:
            raise NotAvailable(
                f"standard errors of {self.k} candidates at once need a matrix of that size; the "
                f"largest is {LARGEST_DENSE}: use method 'lasso', which selects candidates first"
            )
        if not self.k:  # nothing was selected
            return np.empty((0, 0))
        if self.k > self.n_equations:
            raise NotIdentified(self.describe())
        M = np.asarray(sum(source.design.gram(source.weights) for source in self.sources))
        inverse = cholesky_inverse(M)
        if inverse is None:
            raise NotIdentified(self.describe())
        return inverse

    def require_identified(self) -> None:
        """Raise `NotIdentified` if candidates cannot be distinguished."""
        if self.k <= LARGEST_DENSE:
            _ = self.inverse
            return
        source = self.single("inversion")
        if self.k > self.n_equations or undetermined(source.design, source.weights).size:
            raise NotIdentified(self.describe())

    @cached_property
    def _fitted(self) -> tuple[Array, str, Array]:
        """The estimate, how it was computed, and its projection."""
        p, how = None, "conjugate gradients"
        if self.k > _SMALL:
            self.require_identified()
        if self.k > _SMALL and len(self.sources) == 1:
            source = self.sources[0]
            p, steps, left = least_squares(source.design, source.weights, source.moved)
            how = f"{steps} {how}"
            if left > TOLERANCE:
                p = None
        if p is None:
            right = [s.design.adjoint(s.weights * s.moved) for s in self.sources]
            p, how = self.inverse @ np.sum(right, axis=0), "Cholesky"
        project = project_subsimplex if self.is_open or not p.size else project_simplex
        return p, f"least squares of the hashed candidates, by {how}", project(p)

    def estimate(self) -> tuple[Array, str]:
        return self._fitted[:2]

    @cached_property
    def plug_in(self) -> Array:
        return self._fitted[2]

    def spread(self, p: Array | None = None) -> Array:
        """Covariance of the right-hand side ``A' D t`` at p, by default `plug_in`: (S, S)."""
        if p is None:
            noise = self._plug_in_noise
        else:
            noise = np.asarray(sum(source.spread(p) for source in self.sources))
        if not self.collisions:
            return noise
        return noise + self.collisions * self._collision_spread

    def covariance(self, p: Array | None = None) -> Covariance:
        return Covariance(np.zeros(self.k), self.spread(p), self.inverse)

    @cached_property
    def _plug_in_noise(self) -> Array:
        return np.asarray(sum(source.spread(self.plug_in) for source in self.sources))

    @cached_property
    def _collision_spread(self) -> Array:
        """What `spread` has of collisions if `collisions` are one."""
        return np.asarray(sum(source.collision_spread() for source in self.sources))

    @cached_property
    def _noise_squares(self) -> tuple[float, float, float, float, float]:
        """Weighted residual sum of squares; by noise its mean and variance before fitting, at the
        plug-in, and its mean after; and by collisions of one its mean before.
        """
        (p, _, plug_in), parts = self._fitted, []
        for source in self.sources:
            square = source.weights @ (source.moved - source.design.times(p)) ** 2
            colliding = source.collision_variance * source.weights.sum()
            parts.append((square, *source.misfit(plug_in), colliding))
        statistic, full, variance, colliding = np.sum(parts, axis=0).tolist()
        # least squares takes up the part of the noise that the candidates can follow
        taken = float(np.vdot(self.inverse, self._plug_in_noise))
        return statistic, full, variance, full - taken, colliding

    def misfit(self) -> Misfit | None:
        """Goodness of fit of the candidates; None where they can explain any frequencies seen."""
        if not self.has_errors or not (self.k or self.is_open):
            return None
        statistic, full, variance, mean, colliding = self._noise_squares
        variance = variance * mean / full if full > 0.0 else 0.0
        if mean < _SATURATED * full or variance <= 1e-12 * mean**2:  # or too few reports to tell
            return None
        # weighted squares that one unlisted answer brings to the cells that it owns, and leaves
        per_answer = colliding * mean / full
        return Misfit(statistic, mean, variance, per_answer, len(self.sources))

    def reach(self, pair: Pair | None = None) -> tuple[Array, Array]:
        """Of reports from cohorts of equal size, each the one that goes furthest there; mean."""
        source = self.single("reach")
        C, S, _ = source.design.cells.shape
        inverse = self._even_inverse(float(C) * source.design.n_cells * S**2)
        rows = picked(inverse, pair)
        low, high = np.mean([source.reach(c, rows) for c in range(C)], axis=0)
        return low, high

    def crowded_reach(
        self, p: Array, share: float, pair: Pair | None = None
    ) -> tuple[Array, Array]:
        """The expected estimate if a share of all respondents sends one report in one cohort.

        Others have frequencies p and are spread evenly. The least and the largest over all cohorts
        and reports, (q,) both. The cohort that is chosen grows, which changes the weights of all.
        """
        source = self.single("reach")
        C, S, _ = source.design.cells.shape
        inverse = self._even_inverse(float(C) * S**2 * (S + source.design.n_cells))
        even = np.linalg.inv(inverse)
        ends = []
        for c in range(C):
            block = source.design.block(c)
            M = (1.0 - share) * even + share * (block.T @ block)
            crowded = np.linalg.inv(M)
            honest = picked((1.0 - share) * (crowded @ (even @ p))[:, None], pair)[:, 0]
            ends.append(honest + share * np.array(source.reach(c, picked(crowded, pair))))
        return np.min(ends, axis=0)[0], np.max(ends, axis=0)[1]

    def _even_inverse(self, work: float) -> Array:
        """The inverse of the mean over cohorts of A_c' A_c, (S, S), for one report in each."""
        inverse, source = self.inverse, self.sources[0]
        if work > _MOST:
            raise NotAvailable(
                "the cohorts and candidates are too many for what one report can do in each: give "
                "fewer candidates"
            )
        return inverse * (source.precision * len(source.reports))

    # -- what can be tested ------------------------------------------------------------------

    def cell_bounds(self) -> list[tuple[Array, Array, float, float, int | None]]:
        bounds: list[tuple[Array, Array, float, float, int | None]] = []
        for s in self.sources if self.is_open else ():
            most = None if s.is_labels else min(s.design.cells.shape[2], s.design.n_cells)
            bounds.append((s.ones, s.reports, s.absent, s.absent + s.design.slope, most))
        return bounds

    def information(self, p: Array) -> Array | None:
        """Of labels at p, if nobody holds anything but the candidates; None for bits."""
        if not all(source.is_labels for source in self.sources):
            return None
        return np.asarray(sum(source.information(p) for source in self.sources))

    def pinned(self, p: Array) -> npt.NDArray[np.bool_]:
        labels = [source.pinned(p) for source in self.sources if source.is_labels]
        return np.any(labels, axis=0) if labels else super().pinned(p)

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        """Of labels: each cohort is a source by itself; None where others than candidates count."""
        size = self.k * sum(source.ones.size for source in self.sources)
        if self.is_open or size > LARGEST_LIST or not all(s.is_labels for s in self.sources):
            return None
        influences = []
        for source in self.sources:
            design, n = source.design, source.reports
            rows = (design.matrix() @ self.inverse).reshape(*source.ones.shape, self.k)
            law = np.maximum(source.cell_means(p), 0.0)  # of rounding
            for c in np.flatnonzero(n):
                each = rows[c] * (source.cohort_weights[c] / n[c])
                influences.append((int(n[c]), each, law[c] / law[c].sum()))
        return influences

    def labels_under(self, p: Array) -> tuple[Array, Array] | None:
        own = self.own_counts()
        if own is None:
            return None
        tally = sum(s.design.owners(s.ones.reshape(-1) + 0.0) for s in self.sources)
        return np.asarray(tally), own.offset + own.slope * p

    def own_counts(self) -> OwnCounts | None:
        """Where each label belongs to one candidate alone, whatever the cohort: that of k-RR."""
        if self.is_open or len(self.sources) > 1:
            return None
        (source,) = self.sources
        C, m = source.ones.shape
        cells = np.sort(source.design.cells.reshape(C, -1), axis=1)
        if not source.is_labels or m != self.k:
            return None
        if not np.array_equal(cells, np.broadcast_to(np.arange(m), (C, m))):
            return None
        slope, low = source.design.slope, source.absent
        v = source.precision * slope**2 * self.nobs
        return OwnCounts(self.nobs, *(np.full(m, value) for value in (low, slope, v)))

    # -- lists that are not complete ---------------------------------------------------------

    def for_inference(self, incomplete: bool = False) -> CohortMoments:
        """The equations that inference rests on: `open_ended` where other answers are held.

        An answer that is not among the candidates hashes to the same cells in every report, not
        evenly over all: frequent ones spread the cells more than reports alone do. Where the misfit
        shows that (at .01), or the candidates sum to less than one, the equations allow for it, so
        that tests keep their level over the hashes. Where candidates are known to be `incomplete`,
        for example because they were selected, they always do: the test misses what still matters
        to many tests at once. So they do where cohorts are so uneven, or cells so few, that it
        would miss what matters to one.
        """
        misfit = self.misfit()
        if misfit is None or not self.is_open:
            return self
        if incomplete or misfit.pvalue < _DOUBT:
            return self.open_ended()
        rest = self.unexplained(Uncertain(self.estimate()[0], self.covariance()))
        if rest is not None and rest.is_positive(_DOUBT):
            return self.open_ended()
        # the misfit weighs all cells alike, but a cohort counts in the estimates by the square of
        # its weight: does it miss collisions that matter to them?
        w = np.concatenate([source.weights for source in self.sources])
        uneven = np.count_nonzero(w) * float((w**2).sum()) / float(w.sum()) ** 2
        is_blind = 2.0 * np.sqrt(misfit.variance) / misfit.mean * uneven > _BLIND
        return self.open_ended() if is_blind else self

    def unexplained(self, linear: Uncertain) -> Unexplained | None:
        if not self.is_open:
            return None
        p = linear.estimate[linear.places]
        if linear.covariance is None or not p.size:
            return Unexplained(1.0 - float(p.sum()), np.nan)
        variance = max(float(linear.covariance.times(np.ones(p.size)).sum()), 0.0)
        return Unexplained(1.0 - float(p.sum()), float(np.sqrt(variance)))

    def caution(self, others: bool) -> str:
        if not (self.is_open and others and self.k):
            return ""
        if self.n_cohorts < _FEWEST_COHORTS:
            few = f"only {self.n_cohorts} of the cohorts have reports"
            return f"{few}, fewer than {_FEWEST_COHORTS}"
        if 3 * self.k > self.n_equations:
            many = f"{self.k} candidates are more than a third"
            return f"{many} of the {self.n_equations} cells"
        return ""

    def open_ended(self) -> CohortMoments:
        """These equations for a list that is known not to be complete.

        Chance collisions with unlisted answers do not shrink as a cohort grows, as noise does.
        They are a second component of variance (`collisions`), and weights are one over the sum of
        both (random-effects least squares; DerSimonian and Laird 1986, Paule and Mandel 1982).
        Where the weights would hardly move, as with even cohorts, they stay as they are.
        """
        problem = replace(self, incomplete=True)
        # what was computed does not depend on whether the list is complete
        problem.__dict__.update({k: v for k, v in self.__dict__.items() if k in _KEPT})
        for _ in range(_ROUNDS if self.k <= _SMALL else _LONG_ROUNDS):
            collisions, now = problem.collisions, problem.sources
            after = tuple(source.reweighted(collisions) for source in self.sources)
            old, new = (np.concatenate([s.cohort_weights for s in q]) for q in (now, after))
            ratio = new[old > 0.0] / old[old > 0.0]
            if ratio.max() <= (1.0 + _SETTLED) * ratio.min():  # nearly in the same proportions
                break
            problem = replace(problem, sources=after)
        return problem

    @cached_property
    def collisions(self) -> float:  # type: ignore[override]
        """Sum of the squared frequencies of the answers that are not listed, from the residuals.

        The moment estimate: squared residuals are on average those of noise and, in proportion to
        this sum, those of collisions. Zero for lists that are taken for complete.
        """
        if not self.incomplete or not self.k:
            return 0.0
        statistic, full, _, mean, colliding = self._noise_squares
        rate = colliding - float(np.vdot(self.inverse, self._collision_spread))
        if rate <= _SATURATED * colliding or mean < _SATURATED * full:
            return 0.0
        return max(0.0, float((statistic - mean) / rate))

    def dispersion(self, collisions: float | None = None) -> float:
        collisions = self.collisions if collisions is None else collisions
        if not collisions:
            return 1.0
        noise = float(np.vdot(self.inverse, self._plug_in_noise))
        return 1.0 + collisions * float(np.vdot(self.inverse, self._collision_spread)) / noise

    @property
    def n_cohorts(self) -> int:
        """Cohorts with reports, over all sources."""
        return sum(int(np.count_nonzero(source.reports)) for source in self.sources)

    @property
    def n_equations(self) -> int:
        """Cells of the cohorts with reports."""
        return sum(
            int(np.count_nonzero(source.reports)) * source.design.n_cells for source in self.sources
        )

    @cached_property
    def _collision_moments(self) -> tuple[Array, Array, float]:
        """Third cumulants of the estimates by collisions, and variances that cells show, (S,) both.

        And the sum of the cubed frequencies of the unlisted answers. The variances are those of
        MacKinnon and White (1985, HC3), the squared residuals of each candidate's own influences:
        they are large where a candidate owes its estimate to few cells. Where cells and candidates
        are many it is as if only own cells had influence, and leverages were W q / (1 + W q), with
        q such that their sum is the number of candidates.
        """
        p, _, plug_in = self._fitted
        (cubes, squares), observed, expected = np.zeros((2, self.k)), 0.0, 0.0
        pulls = [source.weights * source.design.slope**2 for source in self.sources]
        every, low, high = np.concatenate(pulls), 1e-12, 1e12
        for _ in range(0 if self._has_influences else 60):  # bisection of the logarithm of q
            q = np.sqrt(low * high)
            w = every / every.max() * q
            low, high = (q, high) if (w / (1.0 + w)).sum() < self.k else (low, q)
        total = np.sum([s.design.owners(w) for s, w in zip(self.sources, pulls, strict=True)], 0)
        for source, w in zip(self.sources, pulls, strict=True):
            third, reach = source.collision_third, source.design.slope * total
            r = source.moved - source.design.times(p)
            if self._has_influences:
                left: Array = np.ones(source.ones.shape)
                for c, leverage, L in source.influences(self.inverse):
                    left[c] -= np.minimum(leverage, 1.0)
                    apart: Array = r.reshape(left.shape)[c] / np.maximum(left[c], _LEAST_LEFT)
                    cubes += third * _cube(L).sum(axis=0)
                    squares += apart**2 @ (L * L)
                left = left.reshape(-1)
            else:
                left = 1.0 / (1.0 + w / every.max() * high)
                apart = w * r / np.maximum(left, _LEAST_LEFT)
                cubes += third * source.design.owners(_cube(w)) / reach**3
                squares += source.design.owners(apart**2) / reach**2
            g, noise = source.weights**1.5, source.noise_third(plug_in).reshape(-1)
            observed += float((g * (_cube(r) - _cube(left) * noise)).sum())
            expected += third * float((g * _cube(left)).sum())
        ratio = observed / expected if expected > 0.0 else 0.0
        third = float(min(max(ratio, 0.0), self.collisions**1.5))  # at most of a single one
        return third * cubes, squares, third

    @property
    def _has_influences(self) -> bool:
        """Whether the influences of all cells on all estimates are few enough to compute."""
        return sum(source.ones.size for source in self.sources) * self.k**2 <= _INFLUENCES

    def wald_law(self) -> tuple[float, float] | None:
        """By collisions the Wald statistic of all candidates varies by more than 2 S.

        A cell that meets an unlisted answer is far off: with ``G_ii`` the weight of its square in
        the statistic, its fourth cumulant times ``G_ii^2`` is added. It is taken from the second
        and third, as if the unlisted answers were all as frequent.
        """
        if not self.collisions:
            return None
        misfit = self.misfit()
        df = np.inf if misfit is None else misfit.df
        if not self._has_influences:  # so many cells that none matters
            return df, 1.0
        third = self._collision_moments[2]
        scale = float(np.vdot(self.inverse, self.spread())) / self.k
        fourth = 0.0  # what collisions of equal answers add, but for scales
        for source in self.sources:
            r = source.design.background
            kurtosis = 1.0 - 6.0 * r * (1.0 - r)
            each = max(source.design.slope**2 * source.collision_variance * kurtosis, 0.0)
            for c, leverage, _ in source.influences(self.inverse):
                fourth += each * float(((source.cohort_weights[c] * leverage) ** 2).sum())
        return df, 1.0 + third**2 / self.collisions * fourth / scale**2 / (2.0 * self.k)

    def tally(self, linear: Uncertain, p: Array | None = None) -> OwnTally | None:
        """Tallies of own cells, whose noise is part of the variances of the estimate.

        Of a list that is not complete the residuals show how skewed the noise of answers is that
        are not among the candidates, and whether a candidate owes its estimate to few cells.
        """
        if linear.covariance is None or not self.k:
            return None
        variances, p, parts = linear.covariance.variances(), self.plug_in, []
        for source in self.sources:
            # Of the own cells of each candidate their weight, the reports that would be as noisy
            # if all had one weight, and the share of these if it is absent.
            owners, weights, slope = source.design.owners, source.weights, source.design.slope
            total = owners(weights)
            n = total**2 / owners(np.repeat(source.noise_weights, source.design.n_cells))
            seen = owners(weights * source.cell_means(p).reshape(-1)) / total - slope * p
            parts.append((total, n, np.clip(seen, 0.5 / n, 1.0 - 0.5 / n), np.full(p.size, slope)))
        pulls, reports, share, slopes = np.swapaxes(parts, 0, 1)
        # one tally with the variance, and its growth, that those of all sources have together
        weights = slopes**2 * pulls
        weights /= weights.sum(axis=0)
        offset, rate = (weights * share).sum(axis=0), (weights**2 / (slopes * reports)).sum(axis=0)
        own = (weights**2 * share * (1.0 - share) / (slopes**2 * reports)).sum(axis=0)
        nobs = own / (rate**2 * offset * (1.0 - offset))
        scale = 1.0 / (rate * nobs)
        present = offset + scale * p
        other = variances - present * (1.0 - present) / (scale**2 * nobs)
        # own tallies are approximate, so that the rest may come out as less than nothing
        other = np.maximum(other, 0.0)
        excess, guard = np.zeros((2, self.k))
        if self.incomplete:
            excess, shown, _ = self._collision_moments
            guard = np.maximum(_GUARD * (shown - variances), 0.0)
        return OwnTally(nobs, offset, scale, other, excess, guard)


# -- The equations of one mechanism: many cohorts, each with its own view of the candidates -------


_NEVER = 1e-14  # probability of a label that rounding cannot tell from zero


@record
class CohortSource:
    """The equations of one mechanism's reports.

    A report sets one label of its cohort, so that counts of labels are multinomial: one report's
    cells have the covariance ``diag(m) - m m'``, with m their means. Or it sets bits, which are
    independent given the answer: with o the share of the answers that own each bit, and B that of
    the answers that own two, ``diag(m (1 - m))`` and off the diagonal ``slope^2 (B - o o')``.
    """

    design: HashDesign  # A, with C cohorts of m cells and S candidates
    offset: float  # mean of a cell that no candidate explains
    ones: Array  # (C, m), how often each label was reported, or each bit set
    reports: Array  # (C,) of each cohort
    precision: float  # weight of an equation per report: over the variance of a cell at uniform p
    is_labels: bool  # whether a report sets exactly one cell
    shared: float  # P(an answer that is not a candidate owns two given cells)
    cohort_weights: (
        Array  # (C,), of the equations of a cohort: `precision` times `reports`, or given
    )

    @cached_property
    def moved(self) -> Array:
        """t - offset, flat, shape (C m,); zero in cohorts without reports."""
        n = self.reports[:, None]
        t = np.divide(self.ones, n, out=np.full(self.ones.shape, self.offset), where=n > 0)
        return np.asarray((t - self.offset).reshape(-1))

    @property
    def noise_weights(self) -> Array:
        """Squared weight per report of each cohort, shape (C,): what its noise counts with."""
        return _per_report(self.cohort_weights**2, self.reports)

    def reweighted(self, collisions: float) -> CohortSource:
        """With weights one over the variance of a cell: of its noise and of `collisions`."""
        weights = self.precision * self.reports.astype(np.float64)
        shared = collisions * self.collision_variance
        return replace(self, cohort_weights=weights / (1.0 + shared * weights))

    @property
    def collision_variance(self) -> float:
        """Variance of a cell by chance collisions, for `collisions` of one."""
        r = self.design.background
        return self.design.slope**2 * r * (1.0 - r)

    @property
    def collision_third(self) -> float:
        """Third cumulant of the same, for a sum of cubes of one."""
        return self.design.slope * (1.0 - 2.0 * self.design.background) * self.collision_variance

    def collision_spread(self) -> Array:
        """``A' D X D A``, shape (S, S), with X the covariance of cells by collisions of one."""
        design, r, shared = self.design, self.design.background, self.shared
        total = design.gram(np.repeat(self.cohort_weights**2, design.n_cells))
        total *= r - shared
        sums = design.by_cohort(self.weights)
        total += (shared - r**2) * (sums.T @ sums)
        total *= design.slope**2
        return total

    @cached_property
    def weights(self) -> Array:
        """Weight of each equation, shape (C m,)."""
        return np.repeat(self.cohort_weights, self.design.n_cells)

    def cell_means(self, p: Array) -> Array:
        """Law of the cells, shape (C, m), when the candidates have the frequencies p."""
        design = self.design
        owned = design.owned(p) - design.background * p.sum()
        return np.asarray(self.offset + design.slope * owned)

    def cell_law(self, p: Array) -> tuple[Array, Array, Array, float]:
        """Means m, d and l, (C, m), and rest of ``diag(d) - l l' + slope^2 (B + rest)``.

        That is the covariance of one report's cells; of labels without the last part.
        """
        design, means = self.design, self.cell_means(p)
        if self.is_labels:
            return means, means, means, 0.0
        rest = max(1.0 - float(p.sum()), 0.0) * self.shared
        loading = means - self.absent
        diagonal = means * (1.0 - means) + loading**2 - design.slope**2 * rest
        return means, diagonal, loading, rest

    def spread(self, p: Array) -> Array:
        """``A' D V D A`` of shape (S, S): the covariance of the right-hand side ``A' D t``."""
        design, scale = self.design, self.noise_weights
        _, diagonal, loading, rest = self.cell_law(p)
        gain = design.slope**2 * scale
        total = design.gram_of_pairs(scale[:, None] * diagonal, gain, p)
        mean = design.by_cohort(loading) * np.sqrt(scale)[:, None]
        total -= mean.T @ mean
        if rest > 0.0:
            every = design.by_cohort(np.ones(loading.size)) * np.sqrt(rest * gain)[:, None]
            total += every.T @ every
        return total

    def misfit(self, p: Array) -> tuple[float, float]:
        """Mean and variance of ``(t - E t)' D (t - E t)`` when the frequencies are p."""
        # Z = |N - n m|^2 is a sum over pairs of the n reports of a cohort. With V the covariance of
        # one report's cells and u = 1 - 2 m, |t - E t|^2 has the mean tr V / n and the variance
        # (u'V u + 2 (n - 1) |V|^2) / n^3. All sums over pairs without B are products.
        means, _, loading, rest = self.cell_law(p)
        tilt, every, gain = 1.0 - 2.0 * means, np.ones_like(means), self.design.slope**2
        variances, own = means * (1.0 - means), loading / self.design.slope
        all_pairs, owned, tilted, squares = self.design.pair_forms(p, np.array([every, own, tilt]))
        single = (variances * tilt**2).sum(axis=1) - _pairs(tilt * loading)
        single += gain * (tilted + rest * _pairs(tilt))
        squares += 2.0 * (rest * all_pairs - owned) + rest**2 * _pairs(every)
        squares -= 2.0 * rest * _pairs(own)
        square = (variances**2).sum(axis=1) + _pairs(loading**2) + gain**2 * squares
        n = self.reports.astype(np.float64)
        variance = n * single + 2.0 * n * (n - 1.0) * square
        ratio = _per_report(self.cohort_weights, n)
        return float(ratio @ variances.sum(axis=1)), float(_per_report(ratio, n) ** 2 @ variance)

    def gradient_variances(self) -> Array:
        """Variance, shape (S,), of each entry of ``A' D t``, from the cells as observed."""
        # the centring is the same whichever label is reported; bits are, to first order,
        # independent, and each that is not owned enters by the background
        mean, r = self.moved.reshape(self.ones.shape) + self.offset, self.design.background
        noise = (self.noise_weights[:, None] * mean * (1.0 - mean)).reshape(-1)
        own = self.design.owners(noise)
        if not self.is_labels:
            own = (1.0 - 2.0 * r) * own + r**2 * float(noise.sum())
        return self.design.slope**2 * own

    def noise_third(self, p: Array) -> Array:
        """Third cumulants of cells by the noise of reports, shape (C, m); zero without reports."""
        means, n = self.cell_means(p), self.reports[:, None].astype(np.float64)
        return _per_report(means * (1.0 - means) * (1.0 - 2.0 * means), n**2)

    @property
    def absent(self) -> float:
        """Probability of a cell that the answer does not own."""
        return self.offset - self.design.slope * self.design.background

    def information(self, p: Array) -> Array:
        """Expected Fisher information of labels about p, shape (S, S): n Q diag(1/m) Q'."""
        law = self._labels_law(p)
        Q = replace(self.design, background=-self.absent / self.design.slope)
        n = np.broadcast_to(self.reports[:, None], law.shape)
        return Q.gram(np.divide(n, law, out=np.zeros(law.shape), where=law > _NEVER).reshape(-1))

    def pinned(self, p: Array) -> npt.NDArray[np.bool_]:
        """Candidates, shape (S,), whose labels p makes impossible: they are known to be absent."""
        never = (self._labels_law(p) <= _NEVER) & (self.reports[:, None] > 0)
        return self.design.owners(never.reshape(-1) + 0.0) > 0.0

    def _labels_law(self, p: Array) -> Array:
        """Law of the labels, shape (C, m), if nobody holds anything but the candidates."""
        return np.asarray(self.absent * p.sum() + self.design.slope * self.design.owned(p))

    def influences(self, inverse: Array) -> Iterator[tuple[int, Array, Array]]:
        """Cohorts with reports, the leverages of their cells, (m,), and d p / d t, (m, S)."""
        for c in np.flatnonzero(self.reports).tolist():
            A = self.design.block(c)
            L = float(self.cohort_weights[c]) * (A @ inverse)
            yield c, (A * L).sum(axis=1), L

    def reach(self, c: int, rows: Array) -> tuple[Array, Array]:
        """Least and largest of `rows`, (q, S), times A_c' (t - offset) for one report, (q,)."""
        weights = rows @ self.design.block(c).T
        low, high = (label_reach if self.is_labels else bit_reach)(weights)
        base = self.offset * weights.sum(axis=1)
        return low - base, high - base


def _pairs(x: Array) -> Array:
    """Sum over different cells j, k of a cohort of x_j x_k, for x of shape (C, m); shape (C,)."""
    return np.asarray(x.sum(axis=1) ** 2 - (x**2).sum(axis=1))


def _per_report(x: Array, n: Array) -> Array:
    """x / n; zero without reports."""
    return np.divide(x, n, out=np.zeros(x.shape), where=n > 0)


def _cube(x: Array) -> Array:
    return x * x * x  # many times faster than a power
