"""The certificate: a bound that no channel with the privacy asked for can beat.

Take weights w_s of the scenarios (a prior and a matrix A_s) of sum one, matrices Z_s whose columns
sum to zero, and a vector lambda. With d(S) = sum_s w_s |Z_s'S|^2 / (p_s.S) and kappa the largest of
d(S) / (lambda.S) over all columns S that the privacy allows, every channel has

    max_s tr A_s' V_s A_s  >=  (sum_s w_s tr A_s' Z_s)^2 / (kappa lambda.1),

because tr A'VA >= 2 t tr A'Z - t^2 tr Z'JZ for every t, and J is a sum over the columns of Q, which
are sums of such S. For "D", with L_s = Z_s Z_s' as a proposal for V_s, the geometric mean of V's
eigenvalues is at least exp(sum_s w_s ln det L_s / (k - 1)) (k - 1) / (kappa lambda.1), by the
concavity of ln det. Nothing is assumed of w, Z and lambda: a solver's inaccuracy weakens the bound,
but cannot falsify it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.planning.best.cones import Columns, Cone

__all__ = ["Dual"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Dual:
    """Parameters: weights (s,); Z (G - 1, r) and z (G,) of each scenario; lambda as level, slope.

    z is what Z is on the directions within the groups; lambda.S = level + slope.T for a column of
    mean 1.
    """

    weights: Array
    Z: tuple[Array, ...]
    z: tuple[Array, ...]
    level: float
    slope: Array

    def prices(self, cone: Cone, columns: Columns) -> Array:
        """d(S) of each column, shape (N,)."""
        out = np.zeros(len(columns))
        parts = zip(self.weights, cone.scenarios, self.Z, self.z, strict=True)
        for weight, (m, _, within), Z, z in parts:
            if weight > 0.0:
                square = ((columns.T @ Z) ** 2).sum(axis=1) + columns.W @ (within * z**2)
                out += weight * square / columns.mass[:, m]
        return out

    def ratios(self, cone: Cone, columns: Columns) -> Array:
        """d(S) / (lambda.S), shape (N,); inf where lambda.S is not positive."""
        limit, price = self.level + columns.T @ self.slope, self.prices(cone, columns)
        safe = np.where(limit > 0.0, limit, 1.0)
        return np.where(limit > 0.0, price / safe, np.inf)

    def tightened(self, cone: Cone, columns: Columns) -> Dual:
        """With the least lambda.1 for which no column has a ratio above one; or as it is."""
        from scipy.optimize import linprog

        price = self.prices(cone, columns)
        top = max(float(price.max()), 1e-300)
        size = np.maximum(np.abs(columns.T).max(axis=0, initial=0.0), 1e-300)
        rows = np.column_stack([np.ones(len(columns)), columns.T / size])
        length = np.abs(rows).max(axis=1)
        found = linprog(
            np.eye(rows.shape[1])[0],
            A_ub=-rows / length[:, None],
            b_ub=-price / top / length,
            bounds=(None, None),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status != 0:
            return self
        level, slope = float(found.x[0]), found.x[1:] / size
        return replace(self, level=top * level, slope=top * slope)

    def bound(self, cone: Cone, kappa: float) -> float:
        """The least loss of any channel, if no column has a ratio above kappa."""
        if not (0.0 < kappa < np.inf) or self.level <= 0.0:
            return 0.0
        kappa = kappa / float(self.weights.sum())  # as if the weights added up to one
        if cone.goal.kind == "D":
            k1 = cone.goal.k - 1
            return float(np.exp(self._log_det(cone) / k1) * k1 / (kappa * self.level))
        parts = zip(self.weights, cone.scenarios, self.Z, self.z, strict=True)
        value = sum(w * ((A * Z).sum() + within @ z) for w, (_, A, within), Z, z in parts)
        return float((value / self.weights.sum()) ** 2 / (kappa * self.level))

    def _log_det(self, cone: Cone) -> float:
        parts = zip(self.weights, cone.scenarios, self.Z, self.z, strict=True)
        total = 0.0
        for weight, (_, _, within), Z, z in parts:
            inner = within > 0.0
            total += weight * 2.0 * np.linalg.slogdet(Z)[1]
            total += weight * 2.0 * (within[inner] * np.log(z[inner])).sum()
        return float(total / self.weights.sum())
