"""Moments of several privatised variables: products of unbiased features of their reports.

Reports of different variables are independent given the true values, so that the mean products of
their features are linear in the joint distribution (see `ldpstats.problems.joint.stratum`): solving
them for P is an unbiased estimate in one pass, which adds up over chunks. Where respondents fall
into strata with features of their own (shared cohorts, groups of mechanisms) the right-hand side is
the sum over strata.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.equations import Moments
from ldpstats.problems.joint.products import product_covariance
from ldpstats.problems.joint.stratum import PathMoments, Stratum, apply_along, unbiased_map
from ldpstats.problems.simplex import project_simplex, project_subsimplex

__all__ = ["JointMoments", "without_rounding"]

Array = npt.NDArray[Any]

_ROUNDING = 1e-13  # variance, relative to the mean square, that is rounding
_SINGULAR = 1e-10  # spread of a sum, relative to that of its parts, below which it is certain


@dataclass(frozen=True, eq=False)
class JointMoments(Moments):
    """Equations for a joint distribution from products of features.

    Parameters
    ----------
    strata : tuple of Stratum
    names : tuple of str
        Names of the variables.
    complete : bool
        Whether the frequencies of all cells sum to one.
    """

    strata: tuple[Stratum, ...]
    names: tuple[str, ...]
    complete: bool = True
    kind: str = "joint"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(R.shape[1] for R in self.strata[0].responses)

    @property
    def k(self) -> int:
        return int(np.prod(self.sizes))

    @property
    def nobs(self) -> int:  # type: ignore[override]
        return sum(stratum.nobs for stratum in self.strata)

    @cached_property
    def inverses(self) -> tuple[Array, ...]:
        """Inverse of the response of each variable alone, or of all at once over several strata."""
        N = self.nobs
        if len(self.strata) == 1:
            responses = self.strata[0].responses
            pairs = zip(responses, self.names, strict=True)
            return tuple(unbiased_map(R, name) for R, name in pairs)
        total = sum(s.nobs / N * reduce(np.kron, s.responses) for s in self.strata)
        return (unbiased_map(np.asarray(total), f"{' and '.join(self.names)} together"),)

    def solve(self, sums: Array) -> Array:
        """The P, or columns of several, whose mean products of features are `sums`, (f, ...)."""
        if len(self.inverses) == 1:
            return np.asarray(self.inverses[0] @ sums)
        return apply_along(sums, self.inverses)

    def estimate(self) -> tuple[Array, str]:
        total = np.sum([stratum.sums for stratum in self.strata], axis=0) / self.nobs
        return self.solve(total), self._how

    @property
    def _how(self) -> str:
        strata = "" if len(self.strata) == 1 else f" in {len(self.strata)} strata"
        return f"products of unbiased features{strata}, solved exactly"

    def plug_in(self) -> Array:
        p = self.estimate()[0]
        return project_simplex(p) if self.complete else project_subsimplex(p)

    @cached_property
    def in_errors(self) -> Array:
        """The estimate projected onto the simplex, with distances in standard errors.

        Cells that are known well stay where they are, as in `Equations.plug_in`; the noise of
        others would else be taken from them, too. Over several strata it is `plug_in`.
        """
        if len(self.strata) > 1 or not self.complete:
            return self.plug_in()
        stratum = self.strata[0]
        for v, name in enumerate(self.names):
            stratum = stratum.unbiased(v, name)
        mean = stratum.rows.adjoint(stratum.first) / self.nobs
        square = stratum.rows.adjoints(stratum.second)[1] / self.nobs
        variances = square - mean**2
        least = _ROUNDING * square
        return project_simplex(self.estimate()[0], np.where(variances > least, variances, 0.0))

    def summing_to_one(self) -> JointMoments:
        """The same moments from features that sum to one over the categories of their variable.

        What a feature x has too much is taken off along a = S 1 / 1'S 1, with S the covariance of
        the features: ``x - a (1'x - 1)`` is as unbiased and varies least.
        """
        strata = list(self.strata)
        for v in range(len(self.sizes)):
            unbiased = [stratum.unbiased(v, self.names[v]) for stratum in strata]
            spread = np.sum([s.feature_spread(v) for s in unbiased], axis=0)
            load, total = spread.sum(axis=1), float(spread.sum())
            if total > _SINGULAR * float(np.abs(spread).sum()):
                strata = [s.without_excess(v, load / total) for s in unbiased]
        return replace(self, strata=tuple(strata))

    def covariance(self, p: Array | None = None) -> Covariance:
        """Covariance of the estimate.

        Where all combinations of reports can be listed it is that at p, by default at the law of
        `Listing.plug_in`; where those of each variable can, that at p, by default at `plug_in`;
        else the spread of the products of features as observed, whatever p is.
        """
        if all(s.listing is None and s.alphabets is not None for s in self.strata):
            at = self.in_errors if p is None else p
            expected = np.sum([s.expected_spread(at) for s in self.strata], axis=0)
            return without_rounding(self._sandwich(expected), 1.0 / self.nobs)
        listings = [stratum.listing for stratum in self.strata]
        laws = [
            None
            if listing is None
            else (listing.plug_in(self.plug_in()) if p is None else listing.channel.mix(p))
            for listing in listings
        ]
        pairs = zip(self.strata, laws, strict=True)
        spread = np.sum(
            [s.spread() if law is None else s.spread_at(law) for s, law in pairs], axis=0
        )
        squares = np.sum([stratum.observed_squares for stratum in self.strata], axis=0)
        return without_rounding(self._sandwich(spread), np.diagonal(self._sandwich(squares)))

    @property
    def factored(self) -> Covariance | None:
        """The covariance of very many cells of two variables, diagonal plus low rank.

        Of labels at the law of `Listing.plug_in`, else at `in_errors`; None where features are not
        simple, or respondents fall into strata.
        """
        stratum = self.strata[0]
        if len(self.strata) > 1 or stratum.units is None or len(stratum.units) != 2:
            return None
        one, other = stratum.units
        if stratum.listing is None:
            return product_covariance(one, other, self.in_errors.reshape(self.sizes), self.nobs)
        law = stratum.listing.plug_in(self.plug_in()).reshape(self.sizes)
        return product_covariance(one.reported(), other.reported(), law, self.nobs)

    def path_moments(self, p: Array, V: Array | None = None) -> list[PathMoments] | None:
        """Moments, by stratum, along the path of each cell from p; None where they are unknown.

        V is the covariance of p, shape (k, k), None where that is too large.
        """
        found = []
        for stratum in self.strata:
            if stratum.alphabets is None:
                return None
            part = stratum.path_moments(p, self.inverses, V)
            if part is None:
                return None
            found.append(part)
        return found

    def variances(self) -> Array:
        """Variances of the estimate, shape (k,), without their covariances; one stratum."""
        if len(self.strata) > 1:
            raise NotAvailable("variances alone are of one stratum: use fewer cells, or groups")
        stratum = self.strata[0]
        listing = stratum.listing
        for v, name in enumerate(self.names):
            stratum = stratum.unbiased(v, name)
        if stratum.listing is not None and listing is not None:
            law = listing.plug_in(self.plug_in())
            mean, square = stratum.listing.features.adjoints(law)
        else:
            mean = stratum.rows.adjoint(stratum.first) / self.nobs
            square = stratum.rows.adjoints(stratum.second)[1] / self.nobs
        return np.asarray(np.maximum(square - mean**2, 0.0) / self.nobs)

    def _sandwich(self, spread: Array) -> Array:
        half = self.solve(spread)
        V = self.solve(half.T) / self.nobs**2
        return np.asarray((V + V.T) / 2.0)


def without_rounding(V: Array, squares: Any) -> Covariance:
    """A covariance matrix in which variances that rounding alone has left are zero.

    `squares` are what the variances were computed from, by subtraction: a number, or shape (k,).
    """
    still = np.abs(np.diagonal(V)) <= _ROUNDING * squares
    V = V.copy()
    V[still], V[:, still] = 0.0, 0.0
    return Covariance.dense(V)
