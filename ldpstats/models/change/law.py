"""The law of the change between two waves, from the pairs of reports.

With unbiased features ``g(y)`` of a report, ``E[g_j | x] = 1{x = j}``, the number ``f_j = g2_j(y2)
- g1_j(y1)`` of a respondent has the mean ``p2_j - p1_j``, and the estimate is its mean over the
respondents. Without noise f is 1 for those who moved to j, -1 for those who left it, and 0 for all
others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.documents import array_from_json, array_to_json
from ldpstats.errors import InvalidArgument
from ldpstats.inference.skewness import CellLaw, path_cumulants
from ldpstats.inference.tails import continuity, skewed_pvalue
from ldpstats.inference.tests import standardised
from ldpstats.models.association.evidence import Evidence
from ldpstats.problems.covariance import finite_array
from ldpstats.problems.joint.moments import JointMoments
from ldpstats.problems.joint.stratum import Alphabet

__all__ = ["ChangeLaw", "PairFeatures", "change_law", "pair_features", "turnover_law"]

Array = npt.NDArray[Any]

_ROUNDING = 1e-12  # of a second moment


@dataclass(frozen=True, eq=False)
class ChangeLaw:
    """Moments of f of each category, and how they vary with the change.

    The second moment is that of the noise plus the turnover of the category, the share of those who
    moved to it or left it. At each change the turnover is its maximum likelihood estimate given
    that change, as in Tango's score interval for paired proportions.

    Parameters
    ----------
    nobs : array, shape (1,)
        Number of respondents.
    mean, second, third : array, shape (k,)
        Means of f, of its square and of its cube, as the reports show them.
    noise : array, shape (k,)
        What the second moment would be if nobody had changed.
    second_rate, third_rate : array, shape (k,)
        Growth of the second moment (its noise) and of the third with the change, the turnover being
        the same.

    References
    ----------
    Tango, T. (1998), Statistics in Medicine 17, 891-908.
    """

    nobs: Array
    mean: Array
    second: Array
    third: Array
    noise: Array
    second_rate: Array
    third_rate: Array

    def __post_init__(self) -> None:
        for field in fields(self):
            value = finite_array(field.name, getattr(self, field.name), 1)
            if value.shape != (self.mean.shape if field.name != "nobs" else (1,)):
                raise InvalidArgument(field.name, value.shape, "must hold one number a category")
            object.__setattr__(self, field.name, value)

    def at(self, change: Array) -> tuple[Array, Array]:
        """Standard error and skewness of each estimate if the change is `change`, shape (k,)."""
        step = change - self.mean
        second = self.noise + self.second_rate * step + self._turnover(change)
        second = np.maximum(second, change**2)  # below by rounding and extrapolation only
        third = self.third + self.third_rate * step
        variance = second - change**2
        variance = np.where(variance > _ROUNDING * second, variance, 0.0)
        cubic = third - 3.0 * change * second + 2.0 * change**3
        scale = np.where(variance > 0.0, variance, 1.0) ** 1.5
        skewness = np.where(variance > 0.0, cubic, 0.0) / scale
        return np.sqrt(variance / self.nobs), skewness / np.sqrt(self.nobs)

    def _turnover(self, change: Array) -> Array:
        """Turnover of each category given its change: Tango's closed form, in shares."""
        d = np.clip(self.mean, -1.0, 1.0)
        s = np.clip(self.second - self.noise, np.abs(d), 1.0)
        square = (s - (2.0 - d) * change) ** 2 + 4.0 * (s - d) * change * (1.0 - change)
        return np.asarray((s + d * change + np.sqrt(np.maximum(square, 0.0))) / 2.0)

    def pvalues(self, estimate: Array, change: Array) -> Array:
        """Two-sided p-values of the nulls that the changes are `change`, shape (k,)."""
        se, skewness = self.at(change)
        z, step = standardised(estimate - change, se), continuity(skewness)
        tails = [skewed_pvalue(sign * z - step, sign * skewness) for sign in (1.0, -1.0)]
        return np.asarray(np.minimum(2.0 * np.minimum(*tails), 1.0))

    def of(self, j: int) -> ChangeLaw:
        """The law of one category."""
        values = (getattr(self, field.name) for field in fields(self))
        return ChangeLaw(*(v if i == 0 else v[[j]] for i, v in enumerate(values)))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {field.name: array_to_json(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ChangeLaw:
        """Inverse of `to_dict`."""
        return cls(*(array_from_json(document[field.name]) for field in fields(cls)))


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Unbiased features of pairs of reports, and what is known of all reports of each wave.

    Parameters
    ----------
    values : array, shape (u, k)
        f of each distinct pair.
    n : array of int64, shape (u,)
        How often it was seen.
    alphabets : pair of Alphabet
        Unbiased features of all reports of each wave.
    p : array, shape (k, k)
        Estimated joint distribution, on the simplex.
    """

    values: Array
    n: Array
    alphabets: tuple[Alphabet, Alphabet]
    p: Array

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return int(self.n.sum())

    def mean(self, power: int) -> Array:
        """Mean over respondents of a power of f, shape (k,)."""
        return np.asarray(self.n @ self.values**power / self.nobs)

    def outer(self) -> Array:
        """Mean over respondents of the outer product of f, shape (k, k)."""
        return np.asarray((self.values.T * self.n) @ self.values / self.nobs)


def pair_features(evidence: Evidence, problem: JointMoments) -> PairFeatures | None:
    """Features of the pairs of reports; None where these are not alike or cannot be listed.

    `problem` are the moments that the unconstrained joint estimate solves.
    """
    if not evidence.is_exact or len(problem.strata) > 1:
        return None
    stratum, group = problem.strata[0], evidence.groups[0]
    for v, name in enumerate(evidence.names):
        stratum = stratum.unbiased(v, name)
    if stratum.alphabets is None:
        return None
    by_wave = []
    for v, index in enumerate(group.index):
        if problem is evidence.dual_moments:
            scores = evidence.scores[0].centred(v, slice(None)) + 1.0
            values = scores @ problem.inverses[v].T
        else:
            values = np.asarray(stratum.rows.factors[v].W)
        by_wave.append(values if index is None else values[index])
    first, second = stratum.alphabets
    p = problem.in_errors.reshape(evidence.sizes)
    return PairFeatures(by_wave[1] - by_wave[0], group.counts.n, (first, second), p)


def change_law(pairs: PairFeatures) -> ChangeLaw:
    """The law of the change of each category."""
    first, second = (_moments(alphabet) for alphabet in pairs.alphabets)
    before, after = pairs.p.sum(axis=1), pairs.p.sum(axis=0)
    noise = _own_noise(first, before) + _own_noise(second, after)
    moved_in = partial(_moved, first, second, _elsewhere(before), np.eye(len(after)))
    moved_out = partial(_moved, first, second, np.eye(len(before)), _elsewhere(after))
    rates = [(moved_in(r) - moved_out(r)) / 2.0 for r in (2, 3)]
    return ChangeLaw(
        nobs=np.array([float(pairs.nobs)]),
        mean=pairs.mean(1),
        second=pairs.mean(2),
        third=pairs.mean(3),
        noise=noise,
        second_rate=rates[0],
        third_rate=rates[1],
    )


def turnover_law(pairs: PairFeatures) -> CellLaw:
    """The law of the share of those who changed, as it varies."""
    (G, Q), (H, R) = ((a.features, a.channel) for a in pairs.alphabets)
    stayed = np.eye(len(pairs.p), dtype=bool)
    changed = 1.0 - G @ H.T  # of each pair of reports
    means = [Q.T @ changed**r @ R for r in (1, 2, 3)]
    own, rest = (
        np.array([[np.average(mean[part], weights=_weights(pairs.p[part]))] for mean in means])
        for part in (~stayed, stayed)
    )
    return CellLaw(*path_cumulants(own, rest, float(pairs.nobs)), np.zeros(1), np.zeros(1))


def _weights(p: Array) -> Array:
    """Weights in proportion to p; equal ones where there is nobody."""
    return p if p.sum() > 0.0 else np.ones_like(p)


def _moments(alphabet: Alphabet) -> list[Array]:
    """Mean powers 0 to 3 of each feature given the true category, shape (k, k) each."""
    return [(alphabet.features**r).T @ alphabet.channel for r in range(4)]


def _own_noise(moments: list[Array], p: Array) -> Array:
    """Mean variance of each feature given the true category."""
    return np.asarray((moments[2] - moments[1] ** 2) @ p)


def _elsewhere(p: Array) -> Array:
    """The law of the category of those who are not in j, a column for each j."""
    others = np.tile(p[:, None], (1, p.size))
    np.fill_diagonal(others, 0.0)
    empty = others.sum(axis=0) <= 0.0
    others[:, empty] = 1.0 - np.eye(p.size)[:, empty]
    return np.asarray(others / others.sum(axis=0))


def _moved(first: list[Array], second: list[Array], x: Array, z: Array, r: int) -> Array:
    """E f_j^r, r = 2 or 3, of those with the laws x[:, j] and z[:, j] of their categories."""
    signs = {2: (1.0, -2.0, 1.0), 3: (1.0, -3.0, 3.0, -1.0)}[r]
    terms = (
        sign * np.einsum("jz,zj->j", second[r - i], z) * np.einsum("jx,xj->j", first[i], x)
        for i, sign in enumerate(signs)
    )
    return np.asarray(sum(terms))
