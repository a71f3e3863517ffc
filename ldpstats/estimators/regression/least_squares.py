"""Least squares, and covariances of it that hold whatever the variances of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable

__all__ = ["COVARIANCES", "LeastSquares", "least_squares"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

COVARIANCES = ("nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster")
_ALONE = 1e-10  # one minus the leverage of a row that alone determines a coefficient


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A fit by (weighted) least squares.

    Parameters
    ----------
    beta : array, shape (p,)
    X : array, shape (n, p)
    y : array, shape (n,)
        The response, without the offset.
    times : array, shape (n,)
        How many respondents each row stands for.
    weights : array, shape (n,)
        Weight of each respondent.
    inverse : array, shape (p, p)
        Of the weighted cross products of X.
    """

    beta: Array
    X: Array
    y: Array
    times: Array
    weights: Array
    inverse: Array

    @property
    def p(self) -> int:
        """Number of coefficients."""
        return int(self.beta.size)

    @cached_property
    def nobs(self) -> float:
        """Number of respondents."""
        return float(self.times.sum())

    @cached_property
    def resid(self) -> Array:
        """Residuals, shape (n,)."""
        return np.asarray(self.y - self.X @ self.beta)

    @cached_property
    def ssr(self) -> float:
        """Weighted sum of the squared residuals."""
        return float(np.sum(self.times * self.weights * self.resid**2))

    @property
    def df_resid(self) -> float:
        """Respondents less coefficients."""
        return self.nobs - self.p

    @cached_property
    def scale(self) -> float:
        """Residual variance; nan where no degree of freedom is left."""
        return self.ssr / self.df_resid if self.df_resid > 0.0 else float("nan")

    def scores(self) -> Array:
        """The weighted terms of the normal equations, one respondent of each row; shape (n, p)."""
        return np.asarray(self.X * (self.weights * self.resid)[:, None])

    def leverages(self) -> Array:
        """Leverage of a respondent of each row, shape (n,)."""
        return np.asarray(self.weights * np.einsum("ij,jk,ik->i", self.X, self.inverse, self.X))

    def covariance(self, kind: str) -> Array:
        """Covariance of the coefficients, shape (p, p).

        Parameters
        ----------
        kind : str
            One of `COVARIANCES`, but "cluster".

        Raises
        ------
        NotAvailable
            If "HC2" or "HC3" meets a row that alone determines a coefficient, or there are no
            more respondents than coefficients.
        """
        if kind in ("nonrobust", "HC1"):
            self.refuse_saturated()
        if kind == "nonrobust":
            return self.scale * self.inverse
        return self._sandwich(self._meat(kind))

    def refuse_saturated(self) -> None:
        """Refuse a factor for the degrees of freedom where there are none."""
        if self.df_resid <= 0.0:
            raise NotAvailable(
                f"{self.nobs:g} respondents and {self.p} coefficients leave no degree of "
                "freedom for a variance: leave out columns of X"
            )

    def _meat(self, kind: str) -> Array:
        factor: Array | float = 1.0
        if kind == "HC1":
            factor = self.nobs / self.df_resid
        elif kind in ("HC2", "HC3"):
            left = 1.0 - self.leverages()
            alone = (left <= _ALONE) & (self.times * self.weights > 0.0)
            if alone.any():
                raise NotAvailable(
                    f"row {int(np.argmax(alone)) + 1} alone determines a coefficient, and {kind} "
                    "is not defined: use cov_type='HC1', or leave out the column"
                )
            factor = left ** (-1 if kind == "HC2" else -2)
        rows = self.scores()
        return np.asarray((rows * (self.times * factor)[:, None]).T @ rows)

    def _sandwich(self, meat: Array) -> Array:
        found = self.inverse @ meat @ self.inverse
        return np.asarray((found + found.T) / 2.0)


def least_squares(X: Array, y: Array, times: Array, weights: Array) -> LeastSquares:
    """Fit y, shape (n,), by X of full column rank, shape (n, p)."""
    root = np.sqrt(times * weights)
    Q, R = np.linalg.qr(X * root[:, None])
    beta = np.linalg.solve(R, Q.T @ (y * root))
    half = np.linalg.inv(R)
    return LeastSquares(beta, X, y, times, weights, half @ half.T)
