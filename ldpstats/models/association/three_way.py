"""Tests of two variables at each level of a third."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.inference.tables import wald as tables
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.estimates import unconstrained
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.record import Cells, Variables
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.simplex import project_simplex

__all__ = ["ThreeWay"]

Array = npt.NDArray[Any]

_FEW = 10.0  # expected reports of a combination below which normal laws are doubtful
_FEW_UNDER_NULL = 2.0  # the same for covariances under the hypothesis


@dataclass(frozen=True, eq=False)
class ThreeWay:
    """The unconstrained estimate of three variables, one of which is given.

    Parameters
    ----------
    p : array, shape (k1, k2, k3)
        The variable that is given on the last axis.
    covariance : Covariance
        Of ``p.reshape(-1)``.
    cells : array of int, the same shape
        Places of the cells in the order of the variables.
    names : tuple of three str
        The given variable last.
    axis : int
        Place of the given variable.
    """

    p: Array
    covariance: Covariance
    cells: npt.NDArray[np.int64]
    names: tuple[str, str, str]
    axis: int

    @classmethod
    def of(cls, name: str, variable: object, fit: Fit, variables: Variables) -> ThreeWay:
        """The fit, refused where it is not of three; the argument `name` is the one given."""
        sizes = variables.sizes
        if len(sizes) != 3:
            raise NotAvailable(f"the test is for three variables; there are {len(sizes)}")
        axis = variables.place(name, variable)
        cells = np.moveaxis(np.arange(np.prod(sizes)).reshape(sizes), axis, -1)
        first, second = (other for v, other in enumerate(variables.names) if v != axis)
        V = fit.linear.known().take(cells.reshape(-1))
        names = first, second, variables.names[axis]
        return cls(fit.linear.estimate[cells], V, cells, names, axis)

    def conditional_independence(self, evidence: Evidence | None, cells: Cells) -> TestResult:
        """See `AssociationResults.test_conditional_independence`."""
        V, method, enough = self.covariance, "Wald test on the unconstrained estimate", _FEW
        under_null = None if evidence is None else _null_covariance(evidence, self.axis)
        if under_null is not None:
            V = under_null.scaled(cells.dispersion).take(self.cells.reshape(-1))
            method, enough = "score test on the unconstrained estimate", _FEW_UNDER_NULL
        statistic, df, note = tables.conditional_independence(self.p, V)
        if cells.smallest_expected < enough:
            few = (
                f"the smallest expected count of a combination is {cells.smallest_expected:.2g}: "
                f"below about {enough:g} the test rejects too often"
            )
            note = "; ".join(filter(None, (note, few)))
        first, second, given = self.names
        null = f"{first} and {second} are independent given {given}"
        return TestResult.chi_square(null, statistic, df, method, note)

    def homogeneity(self) -> TestResult:
        """See `AssociationResults.test_homogeneity`."""
        statistic, df = tables.homogeneity(self.p, self.covariance)
        first, second, by = self.names
        null = f"the odds ratios of {first} and {second} are the same for every {by}"
        return TestResult.chi_square(null, statistic, df, "Wald test of log odds ratios")


def _null_covariance(evidence: Evidence, given: int) -> Covariance | None:
    """Covariance of the unconstrained estimate if two variables are independent given a third.

    It is that at p_i.k p_.jk / p_..k of the estimate, projected onto the simplex; None where the
    reports cannot be listed, as of bits. With the law of the reports as seen the variance of what
    is hardly ever reported is underestimated: where a cell is expected once in 1,000 reports of
    epsilon 8, .41 of true hypotheses were rejected at .05, against .05.
    """
    problem = unconstrained(evidence, by_name=True)
    if any(stratum.listing is None for stratum in problem.strata):
        return None
    p = project_simplex(problem.estimate()[0]).reshape(evidence.sizes)
    first, second = (v for v in range(3) if v != given)
    mass = p.sum(axis=(first, second), keepdims=True)
    product = p.sum(axis=first, keepdims=True) * p.sum(axis=second, keepdims=True)
    null = np.divide(product, mass, out=np.zeros(evidence.sizes), where=mass > 0.0)
    return problem.covariance(null.reshape(-1))
