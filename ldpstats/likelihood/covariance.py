"""Estimates with their covariances, and what is known of their laws.

First covariance matrices, kept as diagonal plus low rank wherever they have that form. Then
estimates with them; the share of answers that candidates leave over; raw moments of what an
estimate makes of single reports; the law of label reports, which can be moved to where a null
holds; counts that estimates rest on, with variance and skewness as a frequency varies; binomial
counts, whose law is exact; projections onto the simplex; and what a single report can make of the
estimate.

Conventions: Q[x, y] = P(report y | value x), rows sum to one; p is a row vector on the simplex,
m = p Q is the law of a report; n is the number of reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, html_lines, level, record
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified

_MAX_BYTES = 2e9  # the largest k x k float64 matrix that is formed on request


@record
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
        core = self.core  # one without rows may be an empty list, as in documents
        core = finite_array("core", np.reshape(core, (0, 0)) if not np.size(core) else core, 2)
        if core.shape[0] != core.shape[1]:
            raise InvalidArgument("core", core.shape, "must be a square matrix")
        if not np.array_equal(core, core.T):
            if np.abs(core - core.T).max() > 1e-8 * max(core.max(), -core.min()):
                raise InvalidArgument(
                    "core", core, "must be symmetric; pass (C + C.T) / 2 if it is"
                )
            core = (core + core.T) / 2
        object.__setattr__(self, "diagonal", d)
        object.__setattr__(self, "core", core)
        if self.factors is not None:
            factors = self.factors
            if np.shape(factors) == (0,):
                factors = np.reshape(factors, (0, len(core)))
            object.__setattr__(self, "factors", finite_array("factors", factors, 2))
        expected = (d.size, core.shape[0])
        shape = expected[::-1] if self.factors is None else self.factors.shape
        if shape != expected:
            raise InvalidArgument("factors", shape, f"must have the shape (k, r) = {expected}")

    @classmethod
    def dense(cls, matrix: npt.ArrayLike) -> Covariance:
        """Wrap a symmetric (k, k) matrix."""
        core = floats(matrix)
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
            return np.asarray(v)
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
        return floats(np.diag(self.diagonal) + low)

    def transform(self, R: npt.ArrayLike) -> Array:
        """R V R', shape (q, q), for R of shape (q, k), in O(q k r + q^2 k)."""
        rows = self._contrasts(R)
        loaded = rows if self.factors is None else rows @ self.factors
        out = (rows * self.diagonal) @ rows.T + loaded @ self.core @ loaded.T
        return floats((out + out.T) / 2)

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
        return self.diagonal * v + (low if self.factors is None else self.factors @ low)

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
        scale = np.broadcast_to(floats(g), self.diagonal.shape)
        return self._of_rows(self.diagonal * scale**2, lambda M: M * scale[:, None])

    def _of_rows(self, diagonal: Array, moved: Callable[[Array], Array]) -> Covariance:
        """A covariance with this diagonal, whose factors are these with rows that are `moved`."""
        if self.factors is None:
            return Covariance(diagonal, moved(moved(self.core).T))
        return Covariance(diagonal, self.core, moved(self.factors))

    def __add__(self, other: Covariance) -> Covariance:
        """Sum of two covariances; structured plus structured stays structured."""
        if not isinstance(other, Covariance):
            return NotImplemented
        if self.size != other.size:
            raise InvalidArgument("other", other.size, f"must have {self.size} rows like the first")
        if self.factors is None or other.factors is None:
            return Covariance.dense(self.matrix() + other.matrix())
        from scipy.linalg import block_diag

        core, factors = block_diag(self.core, other.core), np.hstack([self.factors, other.factors])
        return Covariance(self.diagonal + other.diagonal, core, factors)

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

        return self._of_rows(sums(self.diagonal[:, None])[:, 0], sums)

    def take(self, index: Sequence[int] | npt.NDArray[np.intp]) -> Covariance:
        """Covariance of the entries `index`, a sequence of distinct positions, in that order."""
        i = np.asarray(index, dtype=np.intp)
        return self._of_rows(self.diagonal[i], lambda M: M[i])


def block_diagonal(parts: Sequence[Covariance]) -> Covariance:
    """Joint covariance of independent estimates, stacked in order."""
    if not parts:
        raise InvalidArgument("parts", parts, "must hold at least one covariance")
    from scipy.linalg import block_diag

    factors = [part.factors for part in parts]
    if any(factor is None for factor in factors):
        return Covariance.dense(block_diag(*(part.matrix() for part in parts)))
    diagonal = np.concatenate([part.diagonal for part in parts])
    return Covariance(diagonal, block_diag(*(part.core for part in parts)), block_diag(*factors))


def without_rounding(V: Array, squares: Any) -> Covariance:
    """A covariance matrix in which variances that rounding alone has left are zero.

    `squares` are what the variances were computed from, by subtraction: a number, or shape (k,).
    """
    still = np.abs(np.diagonal(V)) <= 1e-13 * squares
    V = V.copy()
    V[still], V[:, still] = 0.0, 0.0
    return Covariance.dense(V)


def multinomial(m: npt.ArrayLike, n: float) -> Covariance:
    """Covariance (diag(m) - m m')/n of multinomial frequencies; diagonal plus rank one."""
    m = probabilities("m", m)
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
    base = floats(p0)
    slope = np.broadcast_to(floats(p1) - base, p.shape)
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
    k, d = p.size, size
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
    a = (e^eps - 1)/(e^eps + k - 1) and b = 1/(e^eps + k - 1). What `fpe16` gives is J^-1.
    """
    if a == 0:
        raise NotIdentified(
            "the channel a I + 1 b' with a = 0 gives the same reports for every category; use a "
            "mechanism with epsilon > 0"
        )
    p = finite_array("p", p, 1)
    V = multinomial(np.asarray(b) + a * p, n * a**2)
    return V + Covariance(np.zeros(p.size), np.array([[1.0 / n]]), p[:, None]) if fpe16 else V


_TILE = 512  # rows at a time, so that what comes between stays small beside a large matrix


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


def finite_array(name: str, value: npt.ArrayLike, ndim: int) -> Array:
    """`value` as a float64 array of `ndim` axes without NaN or infinity."""
    array = floats(value)
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


# -- An estimate with its covariance, and the share of answers that candidates leave over ----------


@record
class Uncertain(Document):
    """An estimate of shape (k,) and its covariance, None where it was not computed.

    Where only some categories were estimated, `at` holds their positions, shape (s,), and the
    covariance, of size s, is theirs. `variances`, shape (k,), stand alone where the covariance is
    too large to form.
    """

    estimate: Array
    covariance: Covariance | None
    at: npt.NDArray[np.int64] | None = None
    variances: Array | None = field(default=None, metadata={"later": True})

    @property
    def has_errors(self) -> bool:
        """Whether there are standard errors at all."""
        return self.covariance is not None or self.variances is not None

    def bse(self) -> Array:
        """Standard errors, shape (k,); nan where there are none."""
        if self.variances is not None:
            return np.sqrt(self.variances)
        se = np.full(self.estimate.size, np.nan)
        if self.covariance is not None:
            se[self.places] = np.sqrt(self.covariance.variances())
        return se

    def every_bse(self) -> Array:
        """Standard errors, shape (k,); refused, saying why, where some were not computed."""
        se = self.bse()
        if np.isnan(se).any():
            self.known()
        return se

    @property
    def places(self) -> Any:
        """Index of the entries that the covariance is of."""
        return slice(None) if self.at is None else self.at

    def known(self) -> Covariance:
        """The covariance; refused where it was not computed."""
        if self.covariance is None:
            if self.variances is not None:
                raise NotAvailable(
                    f"covariances of {self.estimate.size} frequencies at once were not computed: "
                    "use fewer categories (other=True of associations merges them)"
                )
            raise NotAvailable(
                f"standard errors of {self.estimate.size} frequencies were not computed: use fewer "
                "categories, fewer candidates, or a method that selects among them"
            )
        return self.covariance

    def restricted(self, R: Array) -> tuple[Array, Array, Covariance]:
        """Contrasts R of shape (q, k) on the entries that have a covariance: R, estimate, V."""
        V = self.known()
        if self.at is None:
            return R, self.estimate, V
        others = np.delete(R, self.at, axis=1)
        if np.any(others != 0.0):
            raise NotAvailable("the hypothesis is about candidates that were not selected")
        return R[:, self.at], self.estimate[self.at], V


@record
class Unexplained(Document):
    """Share of the respondents whose answer is not among the candidates.

    Parameters
    ----------
    estimate : float
        One minus the sum of the linear estimates; it may leave [0, 1].
    bse : float
        Its standard error; nan where none was computed.

    Examples
    --------
    >>> share = Unexplained(0.2, 0.01)
    >>> print(share)
    share not among the candidates: 0.2 (std err 0.01), 95% interval [0.1804, 0.2196]
    >>> float(share), [round(v, 4) for v in share.conf_int(alpha=0.05)]
    (0.2, [0.1804, 0.2196])
    >>> f"{share:.1%} of the answers", round(share, 1)
    ('20.0% of the answers', 0.2)
    """

    estimate: float
    bse: float

    def __float__(self) -> float:
        return self.estimate

    def __round__(self, ndigits: int | None = None) -> float:
        """The estimate, rounded."""
        return round(self.estimate, ndigits)

    def __format__(self, form: str) -> str:
        """The estimate in a format of numbers, such as ".3f"; all of it in words without one."""
        return format(self.estimate, form) if form else str(self)

    def __str__(self) -> str:
        text = f"share not among the candidates: {self.estimate:.4g}"
        if np.isnan(self.bse):
            return text
        lower, upper = self.conf_int()
        return f"{text} (std err {self.bse:.4g}), 95% interval [{lower:.4g}, {upper:.4g}]"

    def _repr_html_(self) -> str:
        """The text, for a notebook."""
        return html_lines(str(self))

    def conf_int(self, alpha: float = 0.05, clip: bool = True) -> tuple[float, float]:
        """Wald interval of the share, cut to [0, 1] unless `clip` is False."""
        from scipy.special import ndtri

        if np.isnan(self.bse):
            raise NotAvailable("no standard error of the unexplained share was computed")
        reach = float(-ndtri(level(alpha) / 2.0)) * self.bse
        ends = self.estimate - reach, self.estimate + reach
        return (min(max(ends[0], 0.0), 1.0), min(max(ends[1], 0.0), 1.0)) if clip else ends

    def is_positive(self, alpha: float) -> bool:
        """Whether a one-sided test of level `alpha` rejects that all answers are listed."""
        from scipy.special import ndtri

        return bool(self.estimate > -ndtri(level(alpha)) * self.bse)  # False where that is nan


# -- Raw moments of what a linear estimate makes of single reports: of labels, and of bits --------
# A report y counts for category i with a weight; raw moments are the means of it, of its square
# and of its cube, each (k,) and stacked.


def label_moments(Q: Array, weights: Array, p: Array) -> tuple[Array, Array]:
    """Of labels with the channel Q and weights, (k, l) both: given category i, and at p; (3, k)."""
    own = np.array([np.einsum("iy,iy->i", Q, weights**j) for j in (1, 2, 3)])
    return own, np.array([weights**j @ (p @ Q) for j in (1, 2, 3)])


def answer_moments(noise: Array, slope: Any, weights: Array) -> tuple[Array, Array, Array]:
    """Of bits that are set with probability `noise`, (k,), and ``noise + slope`` for the answer x.

    Raw moments of each row i of weights given x: three (q, k).
    """
    laws = zip(_bit_cumulants(noise), _bit_cumulants(noise + slope), strict=True)
    # cumulants of row i if x is the category: those of noise, with another law of bit x
    first, second, third = (
        (other @ (weights**j).T)[:, None] + weights**j * (own - other)
        for j, (other, own) in enumerate(laws, start=1)
    )
    return first, second + first**2, third + 3.0 * first * second + first**3


def _bit_cumulants(m: Array) -> tuple[Array, Array, Array]:
    """First three cumulants of a bit that is set with probability m."""
    return m, m * (1.0 - m), m * (1.0 - m) * (1.0 - 2.0 * m)


# -- The law of label reports, as contrasts of the frequencies move it ----------------------------


@record
class ReportPart(Document):
    """What an estimate makes of label reports of one source, of this `law`, (l,).

    A report's `weights` and the `slopes` of its probability are (k, l), or (l,) for a diagonal.
    """

    weights: Array
    slopes: Array
    law: Array
    nobs: int

    def contrasts(self, R: Array) -> Array:
        """Number with which a report counts for each contrast, shape (q, l), R of shape (q, k)."""
        return R * self.weights if self.weights.ndim == 1 else R @ self.weights

    def moved(self, change: Array) -> ReportPart:
        """The part where the frequencies differ by `change`, shape (k,), which sums to zero.

        A report that is left with less than half a report's share gets that, or what it had.
        """
        law = np.maximum(self._led(change), np.minimum(self.law, 0.5 / self.nobs))
        return ReportPart(self.weights, self.slopes, law / law.sum(), self.nobs)

    def can_move(self, change: Array) -> bool:
        """Whether no report becomes twice as likely, or half as; a tenth of one is no change."""
        led, slack = self._led(change), 0.1 / self.nobs
        return bool(np.all((led >= 0.5 * self.law - slack) & (led <= 2.0 * self.law + slack)))

    def _led(self, change: Array) -> Array:
        step = self.slopes * change if self.slopes.ndim == 1 else change @ self.slopes
        return np.asarray(self.law + step)


@record
class ReportLaw(Document):
    """The law of a linear estimate from label reports, which can be moved to where a null holds.

    Tests of the estimate are then score tests: with its variance, and its skewness, under the null.
    The variance at the estimate itself is too small where a channel is ill-conditioned or reports
    are few.
    """

    parts: tuple[ReportPart, ...]

    def moved(self, change: Array) -> ReportLaw:
        """The law where the frequencies differ by `change`, shape (k,)."""
        return ReportLaw(tuple(part.moved(change) for part in self.parts))

    def covariance(self, R: Array) -> Array:
        """Covariance of the contrasts R p, shape (q, q), for R of shape (q, k)."""
        parts = zip(self._centred(R), self.parts, strict=True)
        return np.asarray(sum((u * one.law) @ u.T / one.nobs for u, one in parts))

    def third_cumulants(self, R: Array) -> Array:
        """Third cumulant of each contrast, shape (q,)."""
        parts = zip(self._centred(R), self.parts, strict=True)  # products are quicker than a power
        return np.asarray(sum(u * u * u @ one.law / one.nobs**2 for u, one in parts))

    def _centred(self, R: Array) -> Iterator[Array]:
        """What reports of each source count for in contrasts, less the mean, (q, l)."""
        for part in self.parts:
            u = part.contrasts(R)
            yield u - (u @ part.law)[:, None]


# -- Counts that estimates rest on: their variance and skewness as a frequency varies -------------


_ROUNDING = 1e-12  # of a mean square, that may be left of a variance which is zero


@record
class Tallies(Document, ABC):
    """Counts that estimates rest on, few enough of them to make estimates skewed."""

    everywhere: ClassVar[bool] = False  # whether the law is worth following away from the estimate

    @abstractmethod
    def law(self, p: Array) -> tuple[Array, Array, Array]:
        """Standard error and skewness at the frequencies p, and growth of the variance with p.

        A share of reports counts as half a report at least, and at least half a report short of
        all.
        """

    def absent(self, k: int) -> tuple[Array, Array]:
        """Standard error and skewness, for tests, of k estimates whose frequency is zero."""
        se, skewness, _ = self.law(np.zeros(k))
        return se, skewness


@record
class PooledTallies(Tallies):
    """What estimates from several sources rest on: a binomial count of each category in each.

    The estimate is ``sum_s share_s (tally_s/nobs_s - offset_s)/scale_s`` with ``tally_s ~
    Bin(nobs_s, offset_s + scale_s p)``, nobs of shape (S, 1), the rest (S, k). Few reports without
    noise make it skewed, and its variance grow with the frequency: `FrequencyResults.detected` and
    `conf_int` allow for both.
    """

    nobs: Array
    offset: Array
    scale: Array
    share: Array

    def law(self, p: Array) -> tuple[Array, Array, Array]:
        half, unit = 0.5 / self.nobs, self.share / (self.scale * self.nobs)
        m = np.clip(self.offset + self.scale * p, half, 1.0 - half)
        spread = self.nobs * m * (1.0 - m)
        variance = (unit**2 * spread).sum(axis=0)
        third = (unit**3 * spread * (1.0 - 2.0 * m)).sum(axis=0)
        rate = (unit * self.share * (1.0 - 2.0 * m)).sum(axis=0)
        return np.sqrt(variance), third / variance**1.5, rate


@record
class OwnTally(Tallies):
    """What estimates of hashed candidates rest on: the reports of their own cells.

    To second order an estimate is ``(tally/nobs - offset)/scale`` with ``tally ~ Bin(nobs, offset +
    scale p)``, plus noise from all other cells, all (s,). Few reports a cell make it skewed, and
    its variance grow with the frequency: `FrequencyResults.detected` and `conf_int` allow for both.
    """

    nobs: Array  # reports, once for each own cell of the candidate in their cohort
    offset: Array
    scale: Array
    other: Array  # variance of the other noise
    # Zero where the list is complete: the third cumulant by chance collisions with answers that are
    # not listed, which tests need, but not two-sided intervals of level .95; and the variance that
    # tests add where cells of the candidate differ more than the average collisions explain.
    excess: Array
    guard: Array

    def law(self, p: Array) -> tuple[Array, Array, Array]:
        own, tilt = self._own(p)
        variance = self.other + own
        return np.sqrt(variance), own * tilt / variance**1.5, tilt

    def absent(self, k: int) -> tuple[Array, Array]:
        own, tilt = self._own(np.zeros(k))
        variance = self.other + own + self.guard
        return np.sqrt(variance), (own * tilt + self.excess) / variance**1.5

    def _own(self, p: Array) -> tuple[Array, Array]:
        """Variance of the own tally at the frequencies p, and its growth."""
        half = 0.5 / self.nobs
        share = np.clip(self.offset + self.scale * p, half, 1.0 - half)
        tilt = (1.0 - 2.0 * share) / (self.scale * self.nobs)
        return share * (1.0 - share) / (self.scale**2 * self.nobs), tilt


@record
class PathLaw(Tallies):
    """The law of each estimate if its frequency were another, the others in proportion.

    An estimate is a mean over the reports of each source, added up over sources. Every report
    counts for it with a number that has the moments `own` where its category is the answer, and
    `others` where it is not; at the frequency v they are mixed with the shares v and 1 - v. The
    first three cumulants follow: exactly for a linear estimate, to first order for one whose
    weights were estimated too.
    """

    everywhere: ClassVar[bool] = True

    nobs: Array  # reports of each source, (S, 1)
    own: Array  # means of the number, of its square and of its cube, (S, 3, k)
    others: Array

    @classmethod
    def around(
        cls, p: Array, nobs: Sequence[int], moments: Sequence[tuple[Array, Array]]
    ) -> PathLaw:
        """From the `own` moments of each source, and those of all of its reports at p."""
        rest = 1.0 - p
        some = rest > 1e-9  # else the others are nobody, and what they would report does not matter
        others = [
            np.where(some, (mean - p * own) / np.where(some, rest, 1.0), own)
            for own, mean in moments
        ]
        reports = np.array([[float(n)] for n in nobs])
        return cls(reports, np.array([own for own, _ in moments]), np.array(others))

    def law(self, p: Array) -> tuple[Array, Array, Array]:
        v = np.clip(p, 0.0, 1.0)
        first, second, third = np.moveaxis(self.others + v * (self.own - self.others), 1, 0)
        rise = self.own - self.others
        spread = second - first**2
        spread = np.where(spread > _ROUNDING * second, spread, 0.0)  # what is certain has none
        variance = (spread / self.nobs).sum(axis=0)
        cumulant = ((third - 3.0 * first * second + 2.0 * first**3) / self.nobs**2).sum(axis=0)
        rate = ((rise[:, 1] - 2.0 * first * rise[:, 0]) / self.nobs).sum(axis=0)
        varies = variance > 0.0
        skewness = np.where(varies, cumulant, 0.0) / np.where(varies, variance, 1.0) ** 1.5
        return np.sqrt(variance), skewness, rate


# -- Binomial counts of categories, whose law is known exactly ------------------------------------


@record
class ExactForm(Document):
    """Binomial counts of categories: ``tally_x ~ Bin(nobs, offset_x + scale_x p_x)`` exactly.

    Every category has one under k-RR, binary designs and unary reports; under other channels only
    some, and `offset` and `scale` are nan for the rest. Exact intervals, and the exact p-values of
    `FrequencyResults.detected`, rest on them.
    """

    tally: npt.NDArray[np.integer[Any]] = field(metadata={"array": "packed"})
    nobs: int
    offset: Array
    scale: Array

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which categories have a count of their own, shape (k,)."""
        return np.isfinite(self.scale)

    def take(self, index: Array) -> ExactForm:
        """The counts of some categories."""
        return ExactForm(self.tally[index], self.nobs, self.offset[index], self.scale[index])

    def cumulants(self, p: Array) -> tuple[Array, Array]:
        """Variance and third cumulant, shape (k,), of ``(tally/nobs - offset)/scale`` at p."""
        m = self.offset + self.scale * p
        spread = m * (1.0 - m) / self.nobs
        return spread / self.scale**2, spread * (1.0 - 2.0 * m) / self.nobs / self.scale**3

    def apply(self, function: Any, *rest: Any) -> Array:
        """``function(tally, nobs, offset, scale, *rest)`` of the categories that have a count.

        Categories of one law that were counted alike are looked at once.
        """
        at = self.known
        tally, offset, scale = self.tally[at], self.offset[at], self.scale[at]
        if tally.size and np.all(offset == offset[0]) and np.all(scale == scale[0]):
            distinct, of = np.unique(tally, return_inverse=True)
            return np.asarray(function(distinct, self.nobs, offset[0], scale[0], *rest))[of]
        return np.asarray(function(tally, self.nobs, offset, scale, *rest))


# -- The probability simplex: projections onto it, and the likeliest point of it in closed form ---


def project_simplex(v: Array, variances: Array | None = None) -> Array:
    """Point of the simplex nearest to v, (k,), in the Euclidean distance.

    It is ``max(v - mu, 0)`` with mu such that it sums to one, found by one sort (Wang and
    Carreira-Perpinan 2013). With `variances` the distance is ``sum (p - v)^2 / variances``, and the
    point ``max(v - mu variances, 0)``; an entry of variance zero stays where it is, or at zero.
    """
    if variances is not None:
        some = np.flatnonzero(variances > 0.0)
        rate = v[some] / variances[some]  # the mu at which each entry reaches zero
        order = np.argsort(-rate)
        fixed = np.maximum(np.delete(v, some), 0.0).sum()
        levels = (np.cumsum(v[some][order]) + fixed - 1.0) / np.cumsum(variances[some][order])
        above = np.flatnonzero(rate[order] > levels)
        if above.size:  # else what may not move leaves nothing for the others
            return np.asarray(np.maximum(v - levels[above[-1]] * variances, 0.0))
    largest_first = np.sort(v)[::-1]
    mu = (np.cumsum(largest_first) - 1.0) / np.arange(1, v.size + 1)
    positive = int(np.flatnonzero(largest_first > mu)[-1])
    return np.asarray(np.maximum(v - mu[positive], 0.0))


def project_subsimplex(v: Array) -> Array:
    """Point with entries of at least zero and a sum of at most one that is nearest to v, (k,)."""
    positive = np.maximum(v, 0.0)
    return positive if positive.sum() <= 1.0 else project_simplex(v)


def water_filling(counts: Array, a: float, b: float | Array) -> Array:
    """Maximise ``sum_y c_y log(a p_y + b_y)`` over the simplex (KBR16 Proposition 6, eq. 28, 29).

    The maximum is ``p_y = max(0, c_y / lam - b_y / a)``, with lam such that it sums to one. Once
    the counts are sorted by ``c_y / b_y``, lam follows from each possible number of positive
    entries at once. The channel is ``Q[x, y] = b_y + a [x == y]``: for k-RR b = 1 / (e^eps + k -
    1), a number, and a = (e^eps - 1) b > 0. Categories that are not sensitive have b_y = 0 under
    uRR, and come first.
    """
    c = np.asarray(counts)
    ratio: Any = b / a
    if np.ndim(ratio) == 0:
        falling, least, certain = np.sort(c)[::-1].astype(np.float64), ratio, 0.0
        weight = ratio * np.arange(1, c.size + 1)
    else:
        # counts without background are positive whatever the level; the others are sorted
        some = np.flatnonzero(ratio)
        order = some[np.argsort(-c[some] / ratio[some])]
        falling, least = c[order].astype(np.float64), ratio[order]
        weight, certain = np.cumsum(least), float(c.sum() - c[some].sum())
    levels = (certain + np.cumsum(falling)) / (1.0 + weight)
    positive = np.flatnonzero(falling > levels * least)
    lam = float(levels[positive[-1]]) if positive.size else certain
    p = np.maximum(c / lam - ratio, 0.0)
    return np.asarray(p / p.sum())


# -- Singular values at the end of the spectrum, without the others -------------------------------


def spectral_norm(M: Array) -> float:
    """The largest singular value of a large M, by Lanczos' method; by all where that fails."""
    from scipy.sparse.linalg import ArpackError, svds

    start = np.cos(np.arange(1.0, min(M.shape) + 1.0) ** 2)
    try:  # the error of the eigenvalue is about the square of the tolerance
        return float(svds(M, 1, tol=1e-8, v0=start, return_singular_vectors=False)[0])
    except ArpackError:  # not converged, or all is zero
        return float(np.linalg.norm(M, 2))


# -- What a single report can make of the linear estimate: its least and largest values -----------


Pair = tuple[int, int]  # positions of the two categories of a difference, the first less the second


def picked(weights: Array, pair: Pair | None) -> Array:
    """Rows of weights, (k, d), of the categories, or the row of a difference, (1, d)."""
    return weights if pair is None else weights[[pair[0]]] - weights[[pair[1]]]


def label_reach(weights: Array) -> tuple[Array, Array]:
    """Of reports that set one column of the weights, (q, d)."""
    return weights.min(axis=1), weights.max(axis=1)


def bit_reach(weights: Array) -> tuple[Array, Array]:
    """Of reports that set any columns of the weights, (q, d)."""
    return np.minimum(weights, 0.0).sum(axis=1), np.maximum(weights, 0.0).sum(axis=1)
