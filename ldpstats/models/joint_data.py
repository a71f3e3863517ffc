"""One group of respondents of an association model: its reports as likelihoods and as features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.inference.association import CrossMoments
from ldpstats.joint_moments import FeatureMap, Stratum, apply_along, linear_features
from ldpstats.joint_reports import JointCounts
from ldpstats.joint_rows import Factor, JointRows
from ldpstats.operators import DenseRows, Rows
from ldpstats.reports import Counts

__all__ = ["JointGroup", "Scores", "VariableSpec"]

Array = npt.NDArray[Any]

_CHUNK = 1 << 16  # reports whose likelihoods are formed at a time
_MOST_LISTED = 1 << 20  # combinations of labels that are listed for expected covariances


@dataclass(frozen=True, eq=False)
class VariableSpec:
    """What of a variable is estimated.

    Parameters
    ----------
    labels : Index, shape (k,)
        Categories of the joint table, "Other" included.
    candidates : sequence of str, CandidateMap or None
        Values to look for, over an open alphabet.
    other : str
        "" where there is no such category; "lump" where it is one of the mechanism's; else the
        form of its likelihood, "product" or "fpe16".
    complete : bool
        Whether every answer is in some category.
    """

    labels: pd.Index[Any]
    candidates: Any = None
    other: str = ""
    complete: bool = True

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.labels)

    @property
    def approximate(self) -> bool:
        """Whether "Other" is modelled from what the candidates leave over."""
        return self.other in ("product", "fpe16")


class JointGroup:
    """Respondents whose reports all come from the same mechanisms, stratum by stratum."""

    def __init__(self, counts: JointCounts, specs: Sequence[VariableSpec]) -> None:
        self.specs = tuple(specs)
        self.counts, self.slices = counts.strata()
        parts = [self.counts.variable(v) for v in range(len(self.specs))]
        self.variables: tuple[Counts, ...] = tuple(part[0] for part in parts)
        self.index = tuple(part[1] for part in parts)

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return self.counts.nobs

    def likelihoods(self, others: Sequence[Array | None]) -> tuple[DenseRows, ...]:
        """Likelihoods of each variable's distinct reports under its categories, shape (u_v, k_v).

        `others` holds the likelihoods of a modelled "Other", shape (u_v,), or None.
        """
        found = []
        for counts, spec, column in zip(self.variables, self.specs, others, strict=True):
            rows = counts.mechanism.likelihood(counts, spec.candidates).W
            W = _dense(rows, spec.k)
            if column is not None:
                W[:, -1] = column
            found.append(DenseRows(W, rows.log_scale))
        return tuple(found)

    def joint_rows(self, likelihoods: Sequence[DenseRows]) -> JointRows:
        """The likelihood of the reports on all variables together."""
        parts = zip(likelihoods, self.index, strict=True)
        return JointRows(tuple(Factor(rows.W, index, rows.scale) for rows, index in parts))

    def shares(self, v: int, part: slice) -> Array | None:
        """Shares of the cohorts of variable v among the respondents in `part`."""
        cohort, n = self.counts.reports[v].cohort, self.counts.n[part]
        if cohort is None:
            return None
        total = np.bincount(cohort[part], n, self.counts.reports[v].mechanism.n_cohorts)
        return np.asarray(total / n.sum())

    def linear_strata(self) -> list[Stratum]:
        """Products of the linear estimates of single reports."""
        maps: list[FeatureMap] = []
        for counts, spec in zip(self.variables, self.specs, strict=True):
            moments = counts.mechanism.moments(counts, spec.candidates)
            maps.append(linear_features(counts, moments, spec.approximate).first(spec.k))
        rows = JointRows(
            tuple(Factor(m.values, index) for m, index in zip(maps, self.index, strict=True))
        )
        listed = self._listed() if all(spec.complete for spec in self.specs) else None
        strata = []
        for part in self.slices:
            n = self.counts.n[part]
            responses = tuple(m.response(self.shares(v, part)) for v, m in enumerate(maps))
            made = Stratum(rows.select(part), n, n, int(n.sum()), responses, listed)
            strata.append(made)
        return strata

    def expected_information(self, p: Array) -> Array | None:
        """Expected information about the joint distribution p, where all reports can be listed."""
        mechanisms = self.counts.mechanisms
        grid = _grid(mechanisms)
        if grid is None:
            return None
        Q = [m.channel().matrix()[: spec.k] for m, spec in zip(mechanisms, self.specs, strict=True)]
        law = apply_along(p, [q.T for q in Q])
        if law.min() <= 0.0:  # where the information is infinite
            return None
        rows = JointRows(tuple(Factor(q.T, index) for q, index in zip(Q, grid, strict=True)))
        return self.nobs * rows.gram(1.0 / law)

    def _listed(self) -> tuple[JointRows, tuple[Array, ...]] | None:
        """Features of all combinations of labels and the channels, where these can be listed."""
        mechanisms = self.counts.mechanisms
        grid = _grid(mechanisms)
        if grid is None:
            return None
        factors, channels = [], []
        for m, spec, index in zip(mechanisms, self.specs, grid, strict=True):
            every = Counts(np.arange(m.n_outputs), np.ones(m.n_outputs, dtype=np.int64), m)
            found = linear_features(every, m.moments(every), spec.approximate).first(spec.k)
            factors.append(Factor(found.values, index))
            channels.append(m.channel().matrix()[: spec.k])
        return JointRows(tuple(factors)), tuple(channels)


@dataclass(frozen=True, eq=False)
class Scores:
    """Likelihoods of a group's reports relative to a reference distribution of each variable.

    The features ``a = W / (W p)`` of a variable are its scores at p, and the duals of its
    likelihood: ``E[a | X = i] = J[:, i]`` with J its expected information at p.

    Parameters
    ----------
    group : JointGroup
    likelihoods : tuple of DenseRows, shape (u_v, k_v)
    references : tuple of array, shape (k_v,)
    """

    group: JointGroup
    likelihoods: tuple[DenseRows, ...]
    references: tuple[Array, ...]

    @cached_property
    def means(self) -> tuple[Array, ...]:
        """W p of each variable's distinct reports, shape (u_v,)."""
        pairs = zip(self.likelihoods, self.references, strict=True)
        return tuple(rows.mix(p) for rows, p in pairs)

    def _mean(self, v: int) -> Array:
        """W p of variable v for each combination of reports, shape (u,)."""
        index = self.group.index[v]
        return self.means[v] if index is None else self.means[v][index]

    def values(self, v: int, part: slice) -> Array:
        """Scores of variable v of the combinations in `part`, shape (u, k)."""
        scores, index = self.likelihoods[v].W / self.means[v][:, None], self.group.index[v]
        return np.asarray(scores[part] if index is None else scores[index[part]])

    def _tallied(self, v: int, part: slice) -> tuple[Array, Array, Array]:
        """Rows of W, their means and how often each was seen, of the combinations in `part`."""
        W, d, index = self.likelihoods[v].W, self.means[v], self.group.index[v]
        n = self.group.counts.n[part]
        if index is None:
            return W[part], d[part], n
        return W, d, np.bincount(index[part], n, len(W))

    def information(self, v: int, part: slice) -> Array:
        """Mean outer product of the scores of variable v, shape (k, k)."""
        W, d, n = self._tallied(v, part)
        return np.asarray(DenseRows(W).gram(n / d**2) / n.sum())

    def expected(self, v: int) -> Array | None:
        """Expected information of variable v at its reference, where labels can be listed."""
        mechanism, p = self.group.counts.mechanisms[v], self.references[v]
        if mechanism.n_bits or mechanism.n_cohorts:
            return None
        Q = mechanism.channel().matrix()[: p.size]
        law = p @ Q
        return np.asarray((Q / np.where(law > 0.0, law, 1.0)) @ Q.T)

    def mean(self, v: int, part: slice) -> Array:
        """Mean score of variable v, shape (k,)."""
        W, d, n = self._tallied(v, part)
        return np.asarray((n / d) @ W / n.sum())

    def strata(self) -> list[Stratum]:
        """Products of scores: the moments of the dual estimator."""
        group, n = self.group, self.group.counts.n
        weight = np.prod([self._mean(v) for v in range(len(self.references))], axis=0)
        rows = group.joint_rows(self.likelihoods)
        strata = []
        for part in group.slices:
            responses = []
            for v in range(len(self.references)):
                exact = self.expected(v)
                responses.append(self.information(v, part) if exact is None else exact)
            d = weight[part]
            made = Stratum(
                rows.select(part), n[part] / d, n[part] / d**2, int(n[part].sum()), tuple(responses)
            )
            strata.append(made)
        return strata

    def cross_moments(self, v: int, w: int, shift: float = 1.0) -> list[CrossMoments]:
        """Moments of the scores of two variables, less `shift`, in each stratum.

        Scores are near one where epsilon is small: what is left of them says how they vary.
        """
        group = self.group
        pair = [Factor(self.likelihoods[i].W, group.index[i]) for i in (v, w)]
        rows, weight = JointRows(tuple(pair)), group.counts.n / (self._mean(v) * self._mean(w))
        found = []
        for part in group.slices:
            nobs = int(group.counts.n[part].sum())
            x, y = self.mean(v, part), self.mean(w, part)
            cross = rows.select(part).adjoint(weight[part]).reshape(rows.sizes) / nobs
            found.append(
                CrossMoments(
                    n=nobs,
                    cross=_shifted(cross, x, y, shift),
                    mean_x=x - shift,
                    mean_y=y - shift,
                    gram_x=_shifted(self.information(v, part), x, x, shift),
                    gram_y=_shifted(self.information(w, part), y, y, shift),
                )
            )
        return found


def _shifted(products: Array, x: Array, y: Array, shift: float) -> Array:
    """Mean products of features less `shift`, from those of the features, with means x and y."""
    return np.asarray(products - shift * (x[:, None] + y) + shift**2)


def _grid(mechanisms: Sequence[Any]) -> Array | None:
    """All combinations of labels, one row a variable; None where they are no labels or too many."""
    if any(m.n_bits or m.n_cohorts for m in mechanisms):
        return None
    sizes = [m.n_outputs for m in mechanisms]
    if prod(sizes) > _MOST_LISTED:
        return None
    return np.indices(sizes).reshape(len(sizes), -1)


def _dense(rows: Rows, k: int) -> Array:
    """The first k columns of a likelihood, shape (u, k); zero where it has fewer."""
    u, own = rows.shape
    W = np.zeros((u, k))
    for start in range(0, u, _CHUNK):
        block = rows.take(start, min(start + _CHUNK, u))
        W[start : start + len(block), : min(k, own)] = block[:, :k]
    return W
