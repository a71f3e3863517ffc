"""Estimated totals of a sample, how they vary, and what follows for functions of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.documents import array_from_json, array_to_json
from ldpstats.errors import NotAvailable
from ldpstats.problems.covariance import Covariance

__all__ = [
    "Estimated",
    "LinearTotals",
    "Ratios",
    "ReplicatedTotals",
    "Totals",
    "checked",
    "product",
]

Array = npt.NDArray[Any]

_LARGE = 1 << 16  # entries from which on zeros are looked for
_FILLED = 0.05  # share of other entries from which on a dense product is faster
_ROUNDING = 1e-13  # of a variance, relative to what it would be if nothing cancelled


@dataclass(frozen=True, eq=False)
class Ratios:
    """Linear combinations of ratios of totals, ``R ((A T) / (B T))``.

    Parameters
    ----------
    A : array, shape (q, m)
        Numerators, as linear forms of m totals.
    B : array, shape (q, m), optional
        Denominators; one without.
    R : array, shape (r, q), optional
        Combinations of the ratios; each of them without.
    """

    A: Array
    B: Array | None = None
    R: Array | None = None

    def combined(self, R: Array) -> Ratios:
        """Linear combinations of these functions, R of shape (r, q)."""
        return Ratios(self.A, self.B, R if self.R is None else R @ self.R)

    def defined(self, T: Array) -> tuple[npt.NDArray[np.bool_], Ratios]:
        """Which functions rest on no ratio to zero at totals T, (q,) or (r,), and those."""
        there = np.full(len(self.A), True) if self.B is None else self.B @ T != 0.0
        if self.R is None:
            rows, R = there, None
        else:
            rows = ~self.R[:, ~there].any(axis=1)
            R = self.R[np.ix_(rows, there)]
        return rows, Ratios(self.A[there], None if self.B is None else self.B[there], R)

    def value(self, T: Array) -> Array:
        """The functions of totals T, shape (..., m) -> (..., q)."""
        found = T @ self.A.T
        if self.B is not None:
            found = found / (T @ self.B.T)
        return np.asarray(found if self.R is None else found @ self.R.T)

    def jacobian(self, T: Array) -> Array:
        """Their derivatives at T, shape (m,) -> (q, m)."""
        J: Array = self.A
        if self.B is not None:
            below = self.B @ T
            J = (self.A - ((self.A @ T) / below)[:, None] * self.B) / below[:, None]
        return J if self.R is None else product(self.R, J)


@dataclass(frozen=True, eq=False)
class Estimated:
    """Estimates, shape (q,), and their covariances, (q, q): in all, and of the randomisation."""

    value: Array
    covariance: Array
    noise: Array


class Totals(ABC):
    """Estimated totals, shape (m,), of a complex sample of privatised reports."""

    estimate: Array
    noise: Array  # covariance of the randomisation, (m, m)

    _kind: ClassVar[str]

    def covariance_of(self, functions: Ratios) -> Array:
        """Covariance of functions of the totals, design and randomisation together, (q, q)."""
        return self._covariance(functions, functions.jacobian(self.estimate))

    @abstractmethod
    def _covariance(self, functions: Ratios, J: Array) -> Array:
        """`covariance_of` functions whose derivatives at the estimate are J, (q, m)."""

    @property
    @abstractmethod
    def _spread(self) -> Array:
        """About the standard errors of the totals, (m,)."""

    @abstractmethod
    def some(self, at: slice) -> Totals:
        """Some of the totals."""

    def of(self, functions: Ratios) -> Estimated:
        """Functions of the totals, with covariances; zero where only rounding is left of one."""
        J = functions.jacobian(self.estimate)
        covariance = self._covariance(functions, J)
        nothing = np.abs(np.diagonal(covariance)) <= _ROUNDING * (np.abs(J) @ self._spread) ** 2
        covariance = np.where(nothing[:, None] | nothing, 0.0, covariance)
        return Estimated(functions.value(self.estimate), covariance, _sandwich(J, self.noise))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        kind: Any = self
        arrays = {item.name: getattr(self, item.name) for item in fields(kind)}
        return {"kind": self._kind} | {
            name: array_to_json(value) if isinstance(value, np.ndarray) else value
            for name, value in arrays.items()
        }

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Totals:
        """Inverse of `to_dict`."""
        kind: Any = {cls._kind: cls for cls in (LinearTotals, ReplicatedTotals)}[document["kind"]]
        found: Totals = kind(
            **{
                item.name: value if isinstance(value, bool) else array_from_json(value)
                for item in fields(kind)
                for value in [document[item.name]]
            }
        )
        return found


@dataclass(frozen=True, eq=False)
class LinearTotals(Totals):
    """Totals with their covariance, (m, m), from which that of functions follows by derivatives."""

    estimate: Array
    covariance: Array
    noise: Array

    _kind = "linear"

    def _covariance(self, functions: Ratios, J: Array) -> Array:
        return _sandwich(J, self.covariance)

    def some(self, at: slice) -> LinearTotals:
        return LinearTotals(self.estimate[at], self.covariance[at, at], self.noise[at, at])

    @property
    def _spread(self) -> Array:
        return np.asarray(np.sqrt(np.abs(np.diagonal(self.covariance))))


@dataclass(frozen=True, eq=False)
class ReplicatedTotals(Totals):
    """Totals in each of R replicates, in which functions of them are computed anew.

    Parameters
    ----------
    replicates : array, shape (R, m)
    scales : array, shape (R,)
        What the squared deviation of each replicate counts.
    about_estimate : bool
        Whether deviations are from the estimate (the mean squared error) and not from the mean of
        the replicates.
    missed : array, shape (m, m)
        Covariance of the randomisation that the replicates lack, where they are corrected for a
        finite population.
    """

    estimate: Array
    noise: Array
    replicates: Array
    scales: Array
    missed: Array
    about_estimate: bool = False

    _kind = "replicated"

    def _covariance(self, functions: Ratios, J: Array) -> Array:
        counts = self.scales > 0.0
        with np.errstate(divide="ignore", invalid="ignore"):  # refused below
            found = functions.value(self.replicates[counts])
        if not np.isfinite(found).all():
            number = np.flatnonzero(counts)[~np.isfinite(found).all(axis=1)][0] + 1
            raise NotAvailable(
                f"replicate {number} has no weight in some domain, which lies in the units that it "
                "leaves out: take larger domains, or the survey without replicates"
            )
        centre = functions.value(self.estimate) if self.about_estimate else found.mean(axis=0)
        apart = found - centre
        return np.asarray((apart * self.scales[counts, None]).T @ apart + _sandwich(J, self.missed))

    def some(self, at: slice) -> ReplicatedTotals:
        return replace(
            self,
            estimate=self.estimate[at],
            noise=self.noise[at, at],
            replicates=self.replicates[:, at],
            missed=self.missed[at, at],
        )

    @property
    def _spread(self) -> Array:
        return np.asarray(np.sqrt(self.scales @ (self.replicates - self.estimate) ** 2))


def checked(covariance: Array) -> Covariance:
    """A covariance whose variances are not negative; else an error that says why."""
    v = np.diagonal(covariance)
    if np.any(v < 0.0):
        raise NotAvailable(
            f"the variance of {int((v < 0.0).sum())} of {v.size} estimates is estimated to be "
            "negative: the randomisation variance that the correction for a finite population "
            "adds is an unbiased estimate, which in a domain of few respondents may be negative; "
            "leave fpc= out, or join domains"
        )
    return Covariance.dense((covariance + covariance.T) / 2.0)  # rounding is not symmetric


def product(left: Array, right: Array) -> Array:
    """``left @ right``; of many domains most entries of one of them may be zero."""
    thin = _thin(left)
    if thin is left:
        return np.asarray((_thin(right.T) @ left.T).T)
    return np.asarray(thin @ right)


def _sandwich(J: Array, V: Array) -> Array:
    """``J V J'``."""
    left = _thin(J)
    return np.asarray(left @ (left @ V).T).T


def _thin(matrix: Array) -> Any:
    """A matrix for products; of many domains most entries are zero."""
    from scipy.sparse import csr_array

    if matrix.size <= _LARGE or np.count_nonzero(matrix) > _FILLED * matrix.size:
        return matrix
    return csr_array(matrix)
