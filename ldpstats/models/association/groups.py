"""One group of respondents of an association model: its reports as likelihoods and as features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel
from ldpstats.channels.structured import Bits, Uniformised
from ldpstats.inference.tables.cross_moments import CrossMoments
from ldpstats.models.association.variables import VariableSpec
from ldpstats.problems.joint.features import FeatureMap, linear_features
from ldpstats.problems.joint.products import Unit
from ldpstats.problems.joint.stratum import Alphabet, Listing, Stratum
from ldpstats.problems.rows.base import DenseRows, Rows
from ldpstats.problems.rows.joint import Factor, JointRows
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Counts

__all__ = ["JointGroup", "Scores"]

Array = npt.NDArray[Any]

_CHUNK = 1 << 16  # reports whose likelihoods are formed at a time
_ROUNDING = 1e-13  # of a ratio of likelihoods
_ZERO = 1e-10  # frequency up to which an estimate is zero
_DENSE = 4  # pairs of distinct reports, per combination that was seen, up to which tables pay
_SMALL_TABLE = 4096  # pairs up to which they pay anyway
_MOST_ENTRIES = 1 << 20  # of a channel up to which all reports of bits are listed: 16 categories
_MOST_LISTED = 1 << 20  # combinations of labels that are listed for expected covariances


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

    def _shares(self, v: int, part: slice) -> Array | None:
        """Shares of the cohorts of variable v among the respondents in `part`."""
        cohort, n = self.counts.reports[v].cohort, self.counts.n[part]
        if cohort is None:
            return None
        total = np.bincount(cohort[part], n, self.counts.reports[v].mechanism.n_cohorts)
        return np.asarray(total / n.sum())

    def table(self, v: int, w: int, part: slice) -> npt.NDArray[np.int64] | None:
        """Respondents with each pair of distinct reports, (u_v, u_w); None where they are many."""
        first, second, n = self.index[v], self.index[w], self.counts.n[part]
        extent = len(self.variables[v].y), len(self.variables[w].y)
        if first is None or second is None or prod(extent) > max(_DENSE * n.size, _SMALL_TABLE):
            return None
        found = np.zeros(extent, dtype=np.int64)
        np.add.at(found, (first[part], second[part]), n)
        return found

    def distinct(self, v: int, part: slice) -> tuple[Array, Array]:
        """Which of its distinct reports on variable v each combination in `part` has."""
        index = self.index[v]
        if index is not None:
            where, code = np.unique(index[part], return_inverse=True)
            return code.reshape(-1), where
        y = self.counts.reports[v].y[part]
        cohort = self.counts.reports[v].cohort
        keys = np.column_stack([y] if cohort is None else [y, cohort[part]])
        _, first, code = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return code.reshape(-1), first + part.start

    def linear_strata(self) -> list[Stratum]:
        """Products of the linear estimates of single reports."""
        maps: list[FeatureMap] = []
        for counts, spec in zip(self.variables, self.specs, strict=True):
            moments = counts.mechanism.moments(counts, spec.candidates)
            maps.append(linear_features(counts, moments, spec.approximate).first(spec.k))
        rows = JointRows(
            tuple(Factor(m.values, index) for m, index in zip(maps, self.index, strict=True))
        )
        listing = self.listing
        alphabets = None
        if listing is not None:
            pairs = zip(self._label_features, self.every_report, strict=True)
            alphabets = tuple(Alphabet(F, Q.T) for F, Q in pairs if Q is not None)
        strata = []
        for part in self.slices:
            n = self.counts.n[part]
            responses = tuple(m.response(self._shares(v, part)) for v, m in enumerate(maps))
            made = Stratum(
                rows.select(part), n, n, int(n.sum()), responses, listing, alphabets, self._units
            )
            strata.append(made)
        return strata

    @cached_property
    def _units(self) -> tuple[Unit, ...] | None:
        """The unbiased features of each variable, where those of all are simple."""
        if any(m.n_cohorts for m in self.counts.mechanisms):
            return None
        found = [_unit(m.channel()) for m in self.counts.mechanisms]
        simple = tuple(unit for unit in found if unit is not None)
        return simple if len(simple) == len(found) else None

    @cached_property
    def channels(self) -> list[Array | None]:
        """Channel matrix of each variable that reports labels, shape (k, l); None for others."""
        return [
            None if m.n_bits or m.n_cohorts else m.channel().matrix()[: spec.k]
            for m, spec in zip(self.counts.mechanisms, self.specs, strict=True)
        ]

    @cached_property
    def every_report(self) -> list[Array | None]:
        """Channel of all reports that a variable can make, l of them, shape (k, l).

        None where they have cohorts, are too many, or where answers may be in no category. Reports
        that differ by what says nothing of the answer are one.
        """
        return [self._every_report(v) for v in range(len(self.specs))]

    def _every_report(self, v: int) -> Array | None:
        mechanism, spec, Q = self.counts.mechanisms[v], self.specs[v], self.channels[v]
        if mechanism.n_cohorts or not spec.complete or spec.approximate:
            return None
        if Q is None:
            channel = mechanism.channel()
            k, l = channel.shape  # noqa: E741
            if k != spec.k or k * l > _MOST_ENTRIES:
                return None
            Q = channel.matrix()
        return np.asarray(Q[:, Q.any(axis=0)])

    def rules_out(self, v: int, p: Array) -> bool:
        """Whether p makes a report of variable v impossible that some category can give."""
        every = self.every_report[v]
        Q = self.channels[v] if every is None else every
        return Q is not None and bool(np.any(Q.any(axis=0) & (p @ Q <= 0.0)))

    def uncertain(self, p: Array) -> npt.NDArray[np.bool_]:
        """Cells, shape (k,), whose frequency the reports leave open if the estimate is p.

        A cell of frequency zero that would show in a report that p makes impossible has infinite
        information: it is known to be empty. Bits are noise enough to prove nothing.
        """
        channels = [
            np.ones((spec.k, 1)) if Q is None else Q
            for Q, spec in zip(self.channels, self.specs, strict=True)
        ]
        if prod(Q.shape[1] for Q in channels) > _MOST_LISTED:
            return np.ones(p.size, dtype=bool)
        p = np.where(p > _ZERO, p, 0.0)
        rows = _combinations(channels)
        proofs = np.where(rows.mix(p) > 0.0, 0.0, 1.0)
        return np.asarray((rows.adjoint(proofs) <= 0.0) | (p > 0.0))

    @cached_property
    def _possible(self) -> list[Array] | None:
        """Labels that each mechanism can report; None where they are no labels or too many."""
        found = [Q.any(axis=0) for Q in self.channels if Q is not None]
        if len(found) < len(self.specs) or prod(seen.size for seen in found) > _MOST_LISTED:
            return None
        return [np.flatnonzero(seen) for seen in found]

    def listed_channel(self) -> JointRows | None:
        """The channel's columns for all combinations of reports, where these can be listed."""
        if self._possible is None:
            return None
        pairs = zip(self.channels, self._possible, strict=True)
        return _combinations([Q[:, y] for Q, y in pairs if Q is not None])

    @cached_property
    def _label_features(self) -> list[Array]:
        """Linear estimates of all labels of each variable, shape (l, k), where all are labels."""
        assert self._possible is not None
        found = []
        for m, spec, y in zip(self.counts.mechanisms, self.specs, self._possible, strict=True):
            every = Counts(y, np.ones(len(y), dtype=np.int64), m)
            found.append(linear_features(every, m.moments(every), spec.approximate).first(spec.k))
        return [features.values for features in found]

    @cached_property
    def listing(self) -> Listing | None:
        """All combinations of reports with their linear estimates, where these can be listed."""
        channel = self.listed_channel()
        complete = all(spec.complete for spec in self.specs)
        if channel is None or self._possible is None or not complete:
            return None
        pairs = zip(self._label_features, channel.factors, strict=True)
        factors = [Factor(values, factor.index) for values, factor in pairs]
        places = [
            np.searchsorted(y, part.y)
            for y, part in zip(self._possible, self.counts.reports, strict=True)
        ]
        cells = np.ravel_multi_index(places, [len(y) for y in self._possible])
        seen = np.bincount(cells, self.counts.n, channel.shape[0])
        return Listing(JointRows(tuple(factors)), channel, seen)


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
        """Centred scores of variable v of each respondent in `part`, shape (n, k)."""
        return np.repeat(self._of_respondents(v, part), self.group.counts.n[part], axis=0)

    def information(self, v: int, part: slice) -> Array:
        """Mean outer product of the scores of variable v, shape (k, k)."""
        W, d, index = self.likelihoods[v].W, self.means[v], self.group.index[v]
        n = self.group.counts.n[part]
        if index is None:
            W, d = W[part], d[part]
        else:
            n = np.bincount(index[part], n, len(W))
        return np.asarray(DenseRows(W).gram(n / d**2) / n.sum())

    def expected(self, v: int) -> Array | None:
        """Expected information of variable v at its reference, where reports can be listed."""
        every = self.group.every_report[v]
        Q = self.group.channels[v] if every is None else every
        if Q is None:
            return None
        law = self.references[v] @ Q
        return np.asarray(np.divide(Q, law, out=np.zeros(Q.shape), where=law > 0.0) @ Q.T)

    def shown(self, v: int, part: slice) -> Array:
        """Information of variable v: of labels as expected, of other reports as observed."""
        J = None if self.group.channels[v] is None else self.expected(v)
        return self.information(v, part) if J is None else J

    def strata(self) -> list[Stratum]:
        """Products of scores: the moments of the dual estimator."""
        group, n = self.group, self.group.counts.n
        weight = np.prod([self._mean(v) for v in range(len(self.references))], axis=0)
        rows, listing = group.joint_rows(self.likelihoods), group.listing
        if listing is not None:
            pairs = zip(listing.channel.factors, self.references, strict=True)
            scored = (Factor(Q.W / (Q.W @ p)[:, None], Q.index) for Q, p in pairs)
            listing = replace(listing, features=JointRows(tuple(scored)))
        exact = [self.expected(v) for v in range(len(self.references))]
        alphabets = self.alphabets()
        strata = []
        for part in group.slices:
            responses = [self.information(v, part) if J is None else J for v, J in enumerate(exact)]
            d = weight[part]
            made = Stratum(
                rows.select(part),
                n[part] / d,
                n[part] / d**2,
                int(n[part].sum()),
                tuple(responses),
                listing,
                alphabets,
            )
            strata.append(made)
        return strata

    def alphabets(self) -> tuple[Alphabet, ...] | None:
        """The scores of all reports of each variable, where all of these can be listed."""
        found = []
        for Q, p in zip(self.group.every_report, self.references, strict=True):
            if Q is None:
                return None
            found.append(Alphabet(Q.T / (p @ Q)[:, None], Q.T))
        return tuple(found)

    def centred(self, v: int, rows: slice) -> Array:
        """Scores less one of some distinct reports of variable v; what rounding leaves is zero.

        Scores are near one where epsilon is small: what is left of them says how they vary. That of
        a category which the reference takes for the only one is one for certain.
        """
        scores = self.likelihoods[v].W[rows] / self.means[v][rows, None] - 1.0
        scores[np.abs(scores) < _ROUNDING] = 0.0
        return np.asarray(scores)

    def blocks(self, v: int, part: slice) -> Iterator[tuple[Array, Array]]:
        """Centred scores of the respondents in `part`, shape (b, k), and how many have each."""
        n, index = self.group.counts.n[part], self.group.index[v]
        if index is not None:
            counts = np.bincount(index[part], n, len(self.means[v]))
            seen = counts > 0
            yield self.centred(v, slice(None))[seen], counts[seen]
            return
        for start in range(part.start, part.stop, _CHUNK):
            block = slice(start, min(start + _CHUNK, part.stop))
            yield self.centred(v, block), self.group.counts.n[block].astype(np.float64)

    def cross_moments(self, v: int, w: int) -> list[CrossMoments]:
        """Moments of the scores less one of two variables, in each stratum."""
        if (v, w) == (0, 1):
            return self._first_two
        return [self._cross(v, w, part) for part in self.group.slices]

    @cached_property
    def _first_two(self) -> list[CrossMoments]:
        return [self._cross(0, 1, part) for part in self.group.slices]

    def _cross(self, v: int, w: int, part: slice) -> CrossMoments:
        group, everything = self.group, slice(None)
        table = group.table(v, w, part)
        if table is not None:
            x, y = self.centred(v, everything), self.centred(w, everything)
            return CrossMoments.of_table(table, x, y)
        totals: list[Any] = [0.0] * 5
        for start in range(part.start, part.stop, _CHUNK):
            block = slice(start, min(start + _CHUNK, part.stop))
            x, y = self._of_respondents(v, block), self._of_respondents(w, block)
            nx, ny = x.T * group.counts.n[block], y.T * group.counts.n[block]
            found = (nx @ y, nx.sum(axis=1), ny.sum(axis=1), nx @ x, ny @ y)
            totals = [total + new for total, new in zip(totals, found, strict=True)]
        nobs = int(group.counts.n[part].sum())
        return CrossMoments(nobs, *(total / nobs for total in totals))

    def _of_respondents(self, v: int, block: slice) -> Array:
        """Centred scores of variable v of the combinations in a block, shape (b, k)."""
        index = self.group.index[v]
        if index is None:
            return self.centred(v, block)
        return self.centred(v, slice(None))[index[block]]


def _combinations(channels: Sequence[Array]) -> JointRows:
    """Columns of the Kronecker product of channels (k_v, l_v): a row a combination of reports."""
    grid = np.indices([Q.shape[1] for Q in channels]).reshape(len(channels), -1)
    pairs = zip(channels, grid, strict=True)
    return JointRows(tuple(Factor(np.ascontiguousarray(Q.T), index) for Q, index in pairs))


def _unit(channel: Channel) -> Unit | None:
    """The unbiased features of a channel's reports, where they are simple."""
    if isinstance(channel, Uniformised):
        return Unit.of_labels(channel.matrix(), channel.a, channel.b)
    if isinstance(channel, Bits) and channel.unary:
        return Unit.of_bits(channel.k, channel.p1, channel.p0)
    return None


def _dense(rows: Rows, k: int) -> Array:
    """The first k columns of a likelihood, shape (u, k); zero where it has fewer."""
    u, own = rows.shape
    W = np.zeros((u, k))
    for start in range(0, u, _CHUNK):
        block = rows.take(start, min(start + _CHUNK, u))
        W[start : start + len(block), : min(k, own)] = block[:, :k]
    return W
