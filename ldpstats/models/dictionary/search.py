"""Finding strings that nobody listed: grams, then pairs of grams, then whole strings.

`DictionaryModel.fit` runs the steps in this order (FPE16 section IV-A, steps 3 to 7):

1. `screen`: which grams are frequent at each position. Hashed grams share cells: scans of all, by
   sums over their cells (`OwnedCells`), then fits of some tell them apart.
2. `pair_tables`: how often two grams are in one string, for every pair of positions.
3. `edges`, `candidates`: which pairs are edges of the graph, and what the pairs say of whole
   strings.
4. `grow`: strings grown gram by gram along the edges, the best first.
5. `search_again`: a second search, for strings that a few frequent ones hide.

Stages say how frequent a string must be to pass all steps; plans and results use them. Of N strings
that the kept grams can make, n are tested: those that nobody holds have a standard normal z over
all their pairs, so that n are beyond the z that has the tail n / N. Strings of other grams count by
their prior odds, the product of the ratios of the frequencies of their grams to that of the string.
Every step sees the reports of the grams alone: those of whole strings are kept for the test of the
candidates.

Pairs. Products of the scores of the two reports, at the marginal estimates, have the mean ``J_a P
J_b`` whatever the joint distribution P is, with J the information of a report (the dual estimator
of an association, fully efficient where P is near independence). Their covariance is taken over the
respondents of the pair, the margins over all reports of a position; so is J, unless the reports are
answers of a known channel. Where these are too few to tell the kept grams apart, the tables say so
by standard errors that are infinite.

Scores. The log odds of a string, up to a constant, against grams that met by chance: the log of the
product of its grams' frequencies, and the log likelihood ratios of all its pairs (`log_ratio`), at
the frequency of the string for which that is largest.

The printed threshold of FPE16 has p2 and q2, the probabilities of a bit that the gram does not own,
and that it owns. The standard error of a frequency from one bit has the square of ``q2 - p2``, and
a pair has fewer than N reports and the noise of two: the formula is not a pair's noise. The number
that the paper used, .0062 (V-D), is that standard error, ``sqrt(p2 (1 - p2) / N) / (q2 - p2)``:
with its noise 3.8 times what the formula gives.

The second search. Where a few strings are frequent, mixtures of their grams score higher than rare
strings do: their grams are frequent, and pairs from the same string say nothing against them. A
search on what the clearly held strings leave of the grams and the pairs does not meet them. Which
these are is a rule for the search, not a test: non-negative least squares of the frequencies of the
pairs, first of all strings, then of those alone that come out significant. A mixture gets little:
frequent strings explain its frequent pairs, and its others are rare. One that stands in for a
string that is not in the list has pairs that fall short of its frequency, and is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, probability, record
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.solvers import root
from ldpstats.inference.tails import skewed_pvalue
from ldpstats.inference.tests import binomial_excess
from ldpstats.likelihood.covariance import project_simplex, project_subsimplex
from ldpstats.likelihood.hashed import CohortSource, HashDesign
from ldpstats.likelihood.rows import rows_of_law
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.custom import Enumerated
from ldpstats.mechanisms.hashed import CandidateMap, listed_cells
from ldpstats.mechanisms.lumped import lump
from ldpstats.models.dictionary.survey import DictionaryReports, GramLayout
from ldpstats.reports.single import BitCounts, Counts, Reports
from ldpstats.sampling.hashing import distinct_cells, hash_strings, keys

# -- how frequent a string must be to pass every stage of its discovery ---------------------------


STAGES = {"grams": "keeping its grams", "pairs": "telling it from chance", "test": "the test"}
_SURE = 40.0  # standard errors
_LEAST = 1e-12  # frequency, below which logs are not taken


@record
class Stage:
    """What a string of frequency f passes if f, plus normal noise, exceeds a bound, each time."""

    noise: Any  # standard error of the frequency; several are several surveys
    bound: Any  # in standard errors; or as a function of the frequency, which falls as that grows
    times: int = 1  # independently

    def probability(self, frequency: Any) -> Array:
        """That a string of this frequency passes."""
        from scipy.special import ndtr

        bound = self.bound(frequency) if callable(self.bound) else self.bound
        return np.asarray(ndtr(frequency / self.noise - bound) ** self.times)

    def frequency(self, power: float) -> Array:
        """From which a string passes with this probability; zero where any does."""
        from scipy.special import ndtri

        margin = ndtri(power ** (1.0 / self.times))
        if not callable(self.bound):
            return np.asarray(np.maximum(self.noise * (self.bound + margin), 0.0))
        low = np.zeros(np.shape(self.noise))
        high = self.noise * (self.bound(_LEAST) + max(margin, 0.0))
        return root(lambda f: power - self.probability(f), low, high)


def critical_z(false_grams: float, n_grams: int) -> float:
    """The z from which grams are kept, of which `false_grams` absent ones are expected."""
    from scipy.special import ndtri

    return -float(ndtri(min(false_grams / n_grams, 0.5)))


def gram_stage(se: Any, critical: Any, n_positions: int) -> Stage:
    """All grams of a string are kept, which no other string has: each is tested on its own."""
    return Stage(se, critical, n_positions)


def pair_stage(se: Any, n_pairs: int, log_strings: Any, n_tested: int) -> Stage:
    """A string scores above chance, over all pairs; `n_tested` of exp(`log_strings`) are tested."""
    from scipy.special import ndtri_exp

    def bound(frequency: Any) -> Array:
        many = log_strings(frequency) if callable(log_strings) else log_strings
        tail = np.minimum(np.log(max(n_tested, 1)) - many, 0.0)  # log
        return np.asarray(np.maximum(-ndtri_exp(tail), -_SURE))

    return Stage(se / np.sqrt(n_pairs), bound if callable(log_strings) else bound(1.0))


def log_rivals(mass: Array) -> Callable[[Any], Array]:
    """Log of the number of strings that chance makes, counted by their odds against one of them."""
    total = float(np.log(mass).sum())
    return lambda f: np.asarray(total - len(mass) * np.log(np.maximum(f, _LEAST)))


def string_stage(se: Any, alpha: float, n_tested: int) -> Stage:
    """The reports of whole strings reject a frequency of zero, by Bonferroni with equal shares."""
    from scipy.special import ndtri

    return Stage(se, -float(ndtri(alpha / n_tested)))


def detectable(stages: Mapping[str, Stage], power: float) -> dict[str, Array]:
    """Frequencies from which a string passes each stage, and all ("found"), if independent."""
    single = {name: stage.frequency(power) for name, stage in stages.items()}
    shared = power ** (1.0 / len(stages))  # of each stage suffices
    low = np.max(np.broadcast_arrays(*single.values()), axis=0)
    high = np.max(np.broadcast_arrays(*(s.frequency(shared) for s in stages.values())), axis=0)

    def short(frequency: Array) -> Array:
        chance = np.prod([stage.probability(frequency) for stage in stages.values()], axis=0)
        return np.asarray(power - chance)

    return single | {"found": root(short, low, high)}


# -- sums over the cells that strings own, of so many that their cells are never stored ------------


_LARGE = 1 << 20  # cells from which compiled loops repay the import of numba
_STORED = 1 << 24  # cells that are stored at a time where the hash is another
_STRINGS = 1 << 18  # strings that are hashed at a time
_ENTRIES = 256  # of a table that cohorts share: with those of other positions it fits a cache


@record
class OwnedCells:
    """The cells that strings, (S,), own in all cohorts of a mechanism, as far as sums go."""

    mechanism: Any
    strings: Array

    def sums(self, v: Array) -> Array:
        """Sums of K vectors of cells: ``H' v`` of a `HashDesign`."""
        mechanism = self.mechanism
        C, m, h = mechanism.n_cohorts, mechanism.n_cells, mechanism.n_owned
        if not mechanism.answer_hash.is_compiled or self.strings.size * C * h < _LARGE:
            return np.array([self._design.owners(values.reshape(-1)) for values in v])
        from ldpstats.kernels.hashing import owner_sums

        out = np.empty((len(v), self.strings.size))
        cohort_keys, tables = keys(np.arange(C), h), v.transpose(1, 0, 2)
        if h > 1:
            tables = np.concatenate([tables, np.zeros((*tables.shape[:2], 1))], axis=2)
        else:  # the cells of r cohorts are looked up at once, in a table of all their sums
            r = max(int(np.log(_ENTRIES) / np.log(m) + 1e-9), 1)
            short = -C % r  # cohorts of zeros fill the last group
            cohort_keys = np.append(cohort_keys, np.zeros(short, dtype=np.uint64)).reshape(-1, r)
            groups = np.concatenate([tables, np.zeros((short, *tables.shape[1:]))])
            groups = groups.reshape(len(cohort_keys), r, *tables.shape[1:])
            tables = groups[:, 0]
            for i in range(1, r):
                both = tables[:, :, :, None] + groups[:, i, :, None, :]
                tables = both.reshape(*tables.shape[:2], -1)
            tables = np.ascontiguousarray(tables)
        owner_sums(self._hashes, cohort_keys, np.uint64(m), h == 1, tables, out)
        return out

    @cached_property
    def _design(self) -> HashDesign:
        m = self.mechanism.n_cells
        cells = self.mechanism.answer_hash.table("strings", pd.Index(self.strings))
        return HashDesign(distinct_cells(cells, m), m)

    @cached_property
    def _hashes(self) -> Array:
        return hash_strings("strings", self.strings)


# -- how far a step of the search has come, as a fraction of it that never falls ------------------


@record
class Advance:
    """Tells how far the work has come, if anybody asks: this part is from `start` to `stop`."""

    tell: Callable[[float], None] | None = None
    start: float = 0.0
    stop: float = 1.0

    def __call__(self, fraction: float) -> None:
        """So much of this part is done, from 0 to 1."""
        if self.tell is not None:
            self.tell(self.start + (self.stop - self.start) * fraction)

    def part(self, start: float, stop: float) -> Advance:
        """What tells of a part of this part."""
        return Advance(self, start, stop)

    def over(self, items: Collection[T]) -> Iterator[tuple[T, Advance]]:
        """The items, each with what tells of itself."""
        n = len(items)
        for done, item in enumerate(items):
            yield item, self.part(done / n, (done + 1) / n)
            self((done + 1) / n)


T = TypeVar("T")
_SILENT = Advance()


# -- how often two grams are in one string: joint decoding of pairs of positions (FPE16 IV-A, 5) ---

_OTHER = "every other gram of the position"  # longer than a gram can be, to be told from them
_CHUNK = 1 << 15  # reports whose likelihoods are formed at a time
_LISTED = 1 << 21  # scores that are looked up in a table (16 MB), at most
_RANK = 1e-10  # pivots of the scaled information below which grams are not told apart


@record
class PairTable:
    """Joint frequencies of the kept grams of two positions, (g_a, g_b)."""

    # unbiased but for terms of the order of 1/n; a gram that chance kept has too large a margin
    estimate: Array
    # if the two grams were independent, less what the margins add: the noise of a pair that no
    # string has; of a frequent pair too little, by much where mechanisms have little noise
    se: Array
    nobs: int  # respondents with this pair of positions


@record
class _Variable:
    """A position as a variable: its kept grams and, last, all others if there are any."""

    rows: Callable[[Reports], Array]  # likelihoods of reports, (n, g + 1), up to a factor each
    reference: Array
    # where the reports that there can be are few: the place of reports among these l, their scores,
    # (l, g + 1), and the information of a report about the grams
    number: Callable[[Reports], Array] | None = None
    table: Array | None = None
    information: Array | None = None

    def scores(self, reports: Reports) -> Array:
        """Likelihood of each report under each gram over that at the reference, (n, g + 1)."""
        W = self.rows(reports)
        W /= (W @ self.reference)[:, None]
        return W


def pair_tables(
    reports: DictionaryReports, screened: Sequence[ScreenedGrams], advance: Advance = _SILENT
) -> dict[tuple[int, int], PairTable]:
    """Joint frequencies of the kept grams for every pair of positions."""
    from scipy.sparse import csr_array

    pairs = reports.survey.layout.pairs
    variables = [_variable(reports, kept) if kept.grams.size else None for kept in screened]
    advance(0.1)
    sizes = [0 if v is None else v.reference.size for v in variables]
    # sums of outer products of scores over the reports of a position, and how many these are
    squares, n_scored = [np.zeros((size, size)) for size in sizes], [0] * len(sizes)
    products = []
    for (number, (a, b)), step in advance.part(0.1, 0.9).over([*enumerate(pairs)]):
        first, second = variables[a], variables[b]
        parts = reports.at_pair(number)
        n, cross = len(parts[0]), np.zeros((sizes[a], sizes[b]))
        if first is None or second is None:
            pass
        elif n and first.table is not None and second.table is not None:
            # scores that are looked up: reports that are alike count together
            assert first.number and second.number
            A, B = first.table, second.table
            i, j = first.number(parts[0]), second.number(parts[1])
            both = csr_array((np.ones(n), (i, j)), shape=(len(A), len(B)))
            mean = np.bincount(i, minlength=len(A)) @ A / n
            cross = A.T @ (both @ B) / n - np.outer(mean, np.bincount(j, minlength=len(B)) @ B / n)
        elif n:
            means = np.zeros(sizes[a]), np.zeros(sizes[b])
            for start in range(0, n, _CHUNK):
                A = first.scores(parts[0][start : start + _CHUNK])
                B = second.scores(parts[1][start : start + _CHUNK])
                cross += A.T @ B
                for place, mean, X in ((a, means[0], A), (b, means[1], B)):
                    mean += X.sum(axis=0)
                    squares[place] += X.T @ X
                    n_scored[place] += len(X)
                step(min(start + _CHUNK, n) / n)
            cross = cross / n - np.outer(means[0] / n, means[1] / n)
        products.append((n, cross))
    inverses = [
        None if variable is None else _inverse(variable, total, n)
        for variable, total, n in zip(variables, squares, n_scored, strict=True)
    ]
    tables = {}
    for (a, b), (n, cross) in zip(pairs, products, strict=True):
        margins = screened[a].estimate, screened[b].estimate
        estimate, left, right = np.outer(*margins), inverses[a], inverses[b]
        se = np.full(estimate.shape, np.inf)
        if n and left is not None and right is not None:
            kept_grams = tuple(slice(margin.size) for margin in margins)
            estimate = estimate + (left @ cross @ right)[kept_grams]
            variances = []  # for one report, of the frequencies of grams, which sum to one
            for J, grams in zip((left, right), kept_grams, strict=True):
                mean = J.sum(axis=1)  # the reference, where the information is exact
                variance = np.maximum(np.diag(J) - mean**2 / mean.sum(), 0.0)
                variances.append(variance[grams])
            se = np.sqrt(np.outer(*variances) / n)
        tables[a, b] = PairTable(estimate, se, n)
    return tables


def _inverse(variable: _Variable, squares: Array, n: int) -> Array | None:
    """Inverse of the information of a report about a position; None where there is none."""
    if variable.information is None and not n:
        return None
    J = squares / n if variable.information is None else variable.information
    root = 1.0 / np.sqrt(np.diag(J))
    try:
        factor = np.linalg.cholesky(root[:, None] * J * root)
    except np.linalg.LinAlgError:
        return None
    if np.diag(factor).min() ** 2 < _RANK:
        return None
    half = np.linalg.inv(factor) * root
    return np.asarray(half.T @ half)


def _variable(reports: DictionaryReports, kept: ScreenedGrams) -> _Variable:
    """How the reports of a position tell its kept grams apart, and from all others."""
    mechanism: Any = reports.survey.gram_mechanism
    grams = kept.grams.tolist()
    if not mechanism.is_open and len(grams) == mechanism.k:  # there are no others
        p = project_simplex(kept.estimate)
        return _listed(mechanism, grams, p, lambda part: part)
    p = project_subsimplex(kept.estimate)
    # noise may leave nothing for the others: about a standard error
    p = p * min(1.0, (1.0 - max(kept.nobs, 2) ** -0.5) / max(float(p.sum()), 1e-9))
    reference = np.append(p, 1.0 - p.sum())
    if mechanism.n_cohorts:
        return _hashed(mechanism, grams, reference)
    lumped = lump(reports.first[:0], grams, _OTHER).mechanism
    return _listed(lumped, [*grams, _OTHER], reference, lambda part: lump(part, grams, _OTHER))


def _listed(
    mechanism: Mechanism, labels: list[str], p: Array, seen: Callable[[Reports], Reports]
) -> _Variable:
    """A variable whose categories are all known, once the reports are `seen` as those of them."""
    order = mechanism.categories.get_indexer(pd.Index(labels, dtype=object))

    def rows(part: Reports) -> Array:
        counts = Counts(seen(part).y, np.ones(len(part), dtype=np.int64), mechanism)
        return mechanism.likelihood(counts).W.take(0, len(part))[:, order]

    if not isinstance(mechanism, Enumerated):
        return _Variable(rows, p)
    Q = mechanism.channel().matrix()[order]
    mixed = p @ Q
    scores = np.divide(Q, mixed, out=np.zeros(Q.shape), where=mixed > 0.0)
    return _Variable(rows, p, lambda part: seen(part).y.astype(np.int64), scores.T, scores @ Q.T)


def _hashed(mechanism: Any, grams: list[str], reference: Array) -> _Variable:
    """A variable of hashed grams: the others, none of which is frequent, hash anywhere."""
    seen: Any = mechanism
    candidates: Any = grams
    if not mechanism.is_open:  # seen as open, with the cells that permutations gave
        at = mechanism.categories.get_indexer(pd.Index(grams, dtype=object))
        candidates = CandidateMap(grams, listed_cells(mechanism.cells()[:, at], mechanism.n_cells))
        seen = replace(mechanism, alphabet=None)
    m = mechanism.n_cells
    even = np.full((mechanism.n_cohorts, m), mechanism.cell_law.mean)

    def rows(part: Reports) -> Array:
        counts = Counts(part.y, np.ones(len(part), dtype=np.int64), seen, cohort=part.cohort)
        W = seen.likelihood(counts, candidates).W.take(0, len(part))
        return np.column_stack([W, rows_of_law(even, counts)])

    if mechanism.n_bits or even.size * reference.size > _LISTED:
        return _Variable(rows, reference)
    cohort, y = np.divmod(np.arange(even.size), m)
    W = rows(Reports(y, mechanism, 0, cohort))
    table = W / (W @ reference)[:, None]
    J = table.T @ W / mechanism.n_cohorts
    return _Variable(rows, reference, lambda part: part.cohort * m + part.y, table, J)


def position_counts(reports: DictionaryReports, position: int) -> Counts:
    """Counts of the reports of the grams at a position."""
    pairs = np.array(reports.survey.layout.pairs)
    counts: Counts = reports.survey.gram_mechanism.no_counts()
    for side, reported in enumerate((reports.first, reports.second)):
        counts = counts + reported[pairs[reports.pair, side] == position].tally()
    return counts


# -- which grams make up whole strings: paths through the graph of pairs (FPE16 IV-A, 6 and 7) ----


Pair = tuple[int, int]

_SPARSE = 0.1  # share of the possible strings below which scores are added up one by one


@record
class Grown:
    """Strings, best first."""

    members: Array  # number of the gram of each position, (c, K)
    score: Array  # sum of the scores of all grams and pairs, (c,)
    n_cut: int  # beginnings of strings that were given up because there were too many


def grow(
    allowed: Mapping[Pair, Array],
    scores: Sequence[Array],
    pair_scores: Mapping[Pair, Array],
    width: int,
    advance: Advance = _SILENT,
) -> Grown:
    """All strings whose pairs are all allowed: cliques of one gram a position; the best if many."""
    # Strings grow position by position. A beginning that a pair forbids is dropped at once; where
    # more than `width` are left, those with the highest scores so far go on.
    members, total, cut = np.zeros((1, 0), dtype=np.int64), np.zeros(1), 0
    for (i, gram_scores), _ in advance.over([*enumerate(scores)]):
        possible = np.ones((len(members), gram_scores.size), dtype=bool)
        for a in range(i):
            possible &= allowed[a, i][members[:, a]]
        row, gram = np.nonzero(possible)
        if row.size < _SPARSE * possible.size:
            value = total[row] + gram_scores[gram]
            for a in range(i):
                value += pair_scores[a, i][members[row, a], gram]
        else:
            sums = total[:, None] + gram_scores[None, :]
            for a in range(i):
                sums += pair_scores[a, i][members[:, a]]
            value = sums[row, gram]
        if value.size > width:
            best = _largest(value, width)
            cut += value.size - width
            row, gram, value = row[best], gram[best], value[best]
        members, total = np.column_stack([members[row], gram]), value
    return _best_first(members, total, cut)


def _best_first(members: Array, score: Array, cut: int) -> Grown:
    order = np.lexsort((*members.T[::-1], -score))
    return Grown(members[order], score[order], cut)


def _largest(values: Array, size: int) -> npt.NDArray[np.int64]:
    """Places of the largest values, in order of place; of equal ones those that come first."""
    least = np.partition(values, values.size - size)[values.size - size]
    above = np.flatnonzero(values > least)
    ties = np.flatnonzero(values == least)[: size - above.size]
    return np.sort(np.concatenate([above, ties]))


# -- which grams are at a position: marginal decoding over all that there could be (FPE16 IV-A, 3) -


@record
class ScreenedGrams:
    """The grams that were kept at one position, in order of their estimates."""

    grams: Array  # (g,)
    estimate: Array  # (g,), unbiased, of all together
    se: Array
    # what they were kept for: the normal score of each one's p-value if the gram were absent; of
    # those that are far beyond it, the estimate over its standard error
    z: Array
    critical: float  # the z from which grams were kept
    n_left_out: int  # beyond it, because there were too many
    nobs: int  # reports of this position


def screen(
    mechanism: Mechanism,
    counts: Sequence[Counts | BitCounts],
    layout: GramLayout,
    false_grams: float,
    most: int,
    advance: Advance = _SILENT,
) -> list[ScreenedGrams]:
    """Keep the grams of each position that stand out from the noise."""
    critical = critical_z(false_grams, layout.n_grams)
    none: tuple[Array, Array, int] = np.empty(0, dtype=f"<U{layout.gram}"), np.empty(0), 0
    seen, start = [c for c in counts if c.nobs], advance.part(0.0, 0.7)
    if mechanism.is_open and seen:
        best = iter(_screen_hashed(mechanism, seen, layout, critical, most, start))
    else:
        best = (_screen_listed(mechanism, c, critical, most) for c, _ in start.over(seen))
    standing = [(c, next(best) if c.nobs else none) for c in counts]
    each = advance.part(0.7, 1.0).over(standing)
    return [_together(mechanism, c, *grams, critical) for (c, grams), _ in each]


def _screen_listed(
    mechanism: Mechanism, counts: Counts | BitCounts, critical: float, most: int
) -> tuple[Array, Array, int]:
    """Grams, their z and how many were left out, where each has an estimate of its own."""
    problem: Any = mechanism.moments(counts)
    estimate = problem.estimate()[0]
    # each gram is absent where the others, or half of them, have all the mass
    half = np.arange(mechanism.k) < mechanism.k // 2
    nulls = [problem.covariance(side / side.sum()).variances() for side in (half, ~half)]
    z = estimate / np.sqrt(np.where(half, nulls[1], nulls[0]))
    if problem.kind in ("labels", "bits") and np.ndim(problem.A) < 2:
        tally = np.rint(problem.t * problem.nobs).astype(np.int64)
        p = binomial_excess(tally, problem.nobs, problem.offset, problem.A)
        z = normal_score(p, z)
    return best_grams(mechanism.categories.to_numpy().astype(str), z, critical, most)


def _together(
    mechanism: Any,
    counts: Counts | BitCounts,
    grams: Array,
    z: Array,
    left_out: int,
    critical: float,
) -> ScreenedGrams:
    """The kept grams with estimates that allow for each other."""
    estimate, se = np.empty(0), np.empty(0)
    problem, at = None, slice(None)
    while mechanism.is_open and grams.size:
        problem = mechanism.moments(counts, grams.tolist())
        try:  # whether the cohorts that reported suffice to estimate them together
            problem.require_identified()
            break
        except NotIdentified:
            left_out += grams.size - grams.size // 2
            grams, z = grams[: grams.size // 2], z[: grams.size // 2]  # the most significant ones
    if grams.size:
        if problem is None:
            problem = mechanism.moments(counts)
            at = mechanism.categories.get_indexer(pd.Index(grams.astype(object)))
        estimate = problem.estimate()[0][at]
        se = np.sqrt(problem.covariance().variances()[at])
    order = np.argsort(-estimate, kind="stable")
    return ScreenedGrams(
        grams[order], estimate[order], se[order], z[order], critical, left_out, counts.nobs
    )


# -- what strings that are clearly held explain of grams and pairs, and what is left without them --


_HELD = 5.0  # standard errors from which a string may be taken off
_SHORT = 4.0  # standard errors by which its pairs may fall short of it, all in all
_OWN = 4.0  # mean square of a report by one who has what it is about, at most, where noise is small
_MOST = 500  # strings among which the clearly held ones are looked for
_ROUNDS = 30  # of the active set, per string
_RANK_OF_FIT = 1e-9  # of the largest eigenvalue: directions below it are not told apart


def search_again(
    first: Grown,
    screened: Sequence[ScreenedGrams],
    tables: Mapping[Pair, PairTable],
    layout: GramLayout,
    width: int,
    least: float,
    advance: Advance = _SILENT,
) -> Grown:
    """Search for what the frequent strings hide: strings that they cannot explain."""
    top = first.members[:_MOST]
    held, frequency = clearly_held(top, tables)
    if not held.size:
        return first
    advance(0.2)
    left = without(top[held], frequency, screened, tables)
    rest = candidates(*left, layout, None, width, least, advance.part(0.2, 1.0))
    known = set(map(tuple, top[held].tolist()))
    is_new = [row not in known for row in map(tuple, rest.members.tolist())]
    members = np.concatenate([top[held], rest.members[is_new]])
    score = np.concatenate([first.score[held], rest.score[is_new]])
    return _best_first(members, score, max(first.n_cut, rest.n_cut))


def clearly_held(
    members: Array, tables: Mapping[Pair, PairTable]
) -> tuple[npt.NDArray[np.int64], Array]:
    """Strings that the pairs need, fitted together, and their frequencies."""
    known = [pair for pair, t in tables.items() if t.nobs and np.isfinite(t.se).all()]
    # half of the pairs of a string that is held fall short by chance
    most = 0.5 * len(known) + _SHORT * np.sqrt(1.25 * len(known))
    held, least = np.arange(len(members)), _HELD
    while held.size and known:
        # pairs of grams that strings have at each pair of positions: which each string has, their
        # estimates and standard errors, no better than of one respondent, and respondents
        cells = []
        for a, b in known:
            table = tables[a, b]
            numbers = np.ravel_multi_index((members[held, a], members[held, b]), table.se.shape)
            cell, at = np.unique(numbers, return_inverse=True)
            se = np.maximum(table.se.ravel()[cell], 1.0 / table.nobs)
            cells.append((at, table.estimate.ravel()[cell], se, table.nobs))
        frequency, bse = _nonnegative_fit(cells)
        if least:  # all strings together: many are nothing
            stays = frequency >= least * bse
        else:
            # By how much the pairs of each string are rarer than it is: squares, in standard
            # errors. The tables have the noise of a pair that no one has; the reports of those who
            # have it, and how many of these were asked for it, add to that.
            shortfall = np.zeros(frequency.size)
            for at, estimate, se, nobs in cells:
                variance = se[at] ** 2 + _OWN * frequency / nobs
                shortfall += np.minimum(estimate[at] - frequency, 0.0) ** 2 / variance
            stays = (frequency > 0.0) & (shortfall <= most)
            if stays.all():
                return held, frequency
        held, least = held[stays], 0.0
    return np.empty(0, dtype=np.int64), np.empty(0)


def _nonnegative_fit(cells: Sequence[tuple[Array, Array, Array, int]]) -> tuple[Array, Array]:
    """Non-negative least squares of all cells, with standard errors; 0 for what is not needed."""
    from scipy.optimize import nnls

    size = cells[0][0].size
    G, b = np.zeros((size, size)), np.zeros(size)
    for at, estimate, se, _ in cells:
        weight = 1.0 / se**2
        G += np.where(at[:, None] == at, weight[at], 0.0)
        b += (weight * estimate)[at]
    value, vector = np.linalg.eigh(G)
    apart = value > _RANK_OF_FIT * value.max()
    root, vector = np.sqrt(value[apart]), vector[:, apart]
    try:  # the same in as many equations as there are strings
        p, _ = nnls(root[:, None] * vector.T, (b @ vector) / root, maxiter=_ROUNDS * size)
    except RuntimeError:  # no solution within these rounds: nothing is taken off
        p = np.zeros(size)
    on, bse = p > 0.0, np.full(size, np.inf)
    inverse = np.linalg.pinv(G[np.ix_(on, on)], rcond=_RANK_OF_FIT, hermitian=True)
    bse[on] = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return p, bse


def without(
    members: Array,
    frequency: Array,
    screened: Sequence[ScreenedGrams],
    tables: Mapping[Pair, PairTable],
) -> tuple[list[ScreenedGrams], dict[Pair, PairTable]]:
    """What strings of known frequencies leave of the grams and of the pairs."""
    grams = []
    for a, kept in enumerate(screened):
        share: Array = np.bincount(members[:, a], frequency, minlength=kept.grams.size)
        estimate, se = _left(kept.estimate, kept.se, share, kept.nobs)
        grams.append(replace(kept, estimate=estimate, se=se))
    pairs = {}
    for (a, b), table in tables.items():
        share = np.zeros(table.estimate.shape)
        np.add.at(share, (members[:, a], members[:, b]), frequency)
        estimate, se = _left(table.estimate, table.se, share, table.nobs)
        pairs[a, b] = PairTable(estimate, se, table.nobs)
    return grams, pairs


def _left(estimate: Array, se: Array, share: Array, nobs: int) -> tuple[Array, Array]:
    """Less what strings explain; how many who were asked hold them varies by chance, too."""
    return estimate - share, np.sqrt(se**2 + _OWN * share / max(nobs, 1))


# -- what pairs of grams say of whole strings: edges of the graph, and a score for a string -------


SEARCHES = ("likelihood", "cliques")
THRESHOLDS = ("standard", "fpe16")
_EDGE = 0.5  # standard errors of a pair from which there is an edge
_CERTAIN = 4.0  # standard errors by which no gram is more frequent than it seems
_SHARED = 0.01  # density, per standard error, of what other strings add to the frequency of a pair
_TOLERANCE = 1.0 / 16.0  # of a frequency, by which those of its pairs may differ without noise
_RATIO = 2.0**0.5  # of two frequencies at which strings are scored, at most


def edges(
    tables: Mapping[Pair, PairTable], threshold: str | float, mechanism: Mechanism, nobs: int
) -> dict[Pair, npt.NDArray[np.bool_]]:
    """Which pairs of grams are edges of the graph (FPE16 IV-A, step 6)."""
    least = least_frequency(threshold, mechanism, nobs)
    return {  # a pair of positions that nobody reported is no evidence
        pair: np.isfinite(table.se)
        & (table.estimate > (_EDGE * table.se if least is None else least))
        for pair, table in tables.items()
    }


def least_frequency(threshold: str | float, mechanism: Mechanism, nobs: int) -> float | None:
    """The frequency of an edge by `edges`; None where each pair has its own."""
    if isinstance(threshold, str):
        threshold = str.__str__(threshold)
        if threshold == "standard":
            return None
        if threshold == "fpe16":
            return printed_threshold(mechanism, nobs)
        remedy = f"must be one of {', '.join(map(repr, THRESHOLDS))}, or a frequency"
        raise InvalidArgument("threshold", threshold, remedy)
    return probability("threshold", threshold)


def printed_threshold(mechanism: Any, nobs: int) -> float:
    """The threshold of FPE16 IV-A as printed: ``sqrt(p2 (1 - p2) / ((q2 - p2) N))``; see above."""
    if not mechanism.n_bits:
        raise NotAvailable(f'threshold="fpe16" is about bits, and {mechanism} reports none')
    p2, q2 = mechanism.p0, mechanism.p1
    return float(np.sqrt(p2 * (1.0 - p2) / ((q2 - p2) * nobs)))


def log_ratio(z: Array, shift: Array) -> Array:
    """Log likelihood ratio of a pair: that a string adds `shift` to it, or nothing.

    ``z - shift`` is standard normal if no other string has the pair, or else anything from there
    on, of density `_SHARED`: values far above are uninformative, those below count against it.
    """
    from scipy.special import log_ndtr

    constant, shared = -0.5 * np.log(2.0 * np.pi), np.log(_SHARED)

    def law(x: Array) -> Array:
        return np.asarray(np.logaddexp(constant - 0.5 * x**2, shared + log_ndtr(x)))

    return law(z - shift) - law(z)


def _known(tables: Mapping[Pair, PairTable]) -> list[PairTable]:
    """The tables of pairs that have standard errors."""
    return [table for table in tables.values() if table.se.size and np.isfinite(table.se).all()]


def pair_errors(tables: Mapping[Pair, PairTable]) -> float:
    """The typical standard error of the frequency of a rare pair; nan where there is none."""
    known = [np.median(table.se) for table in _known(tables)]
    return float(np.median(known)) if known else float("nan")


def _levels(tables: Mapping[Pair, PairTable], least: float) -> list[float]:
    """Frequencies at which strings are scored: so close that none is far from one of them."""
    known = _known(tables)
    if not known:
        return []
    se = pair_errors(tables)
    room = min(float((table.estimate + 2.0 * table.se).max()) for table in known)
    # of one respondent at least; and there is one level, however high the bound
    least = min(max(least, se / 2.0, 1.0 / max(table.nobs for table in known)), room)
    # in steps of two standard errors, or of what stands for them where there is next to no noise
    level, levels = min(room, 1.0), []
    while level > least:
        levels.append(level)
        level = max(level - 2.0 * max(se, _TOLERANCE * level), level / _RATIO)
    return [*levels, least]


def candidates(
    screened: Sequence[ScreenedGrams],
    tables: Mapping[Pair, PairTable],
    layout: GramLayout,
    allowed: Mapping[Pair, Array] | None,
    width: int,
    least: float = 0.0,
    advance: Advance = _SILENT,
) -> Grown:
    """Strings that the pairs support, best first, at frequencies of at least `least`."""
    possible = {
        (a, b): layout.may_follow(screened[a].grams, screened[b].grams, b - a)
        for a, b in layout.pairs
    }
    if allowed is not None:
        possible = {pair: fits & allowed[pair] for pair, fits in possible.items()}
    prior = [np.log(np.maximum(kept.estimate, kept.se)) for kept in screened]
    if prior[0].size:  # no string is empty
        prior[0][screened[0].grams == layout.pad * layout.gram] = -np.inf
    strings, scores = [np.zeros((0, layout.n_positions), dtype=np.int64)], [np.zeros(0)]
    cut = 0
    for level, step in advance.over(_levels(tables, least)):
        # a gram is as frequent as a string that has it
        here = [np.flatnonzero(k.estimate + _CERTAIN * k.se >= level) for k in screened]
        fits, pairs = {}, {}
        for ((a, b), table), _ in step.part(0.0, 0.5).over(tables.items()):
            block = np.ix_(here[a], here[b])
            noise = np.hypot(table.se[block], _TOLERANCE * level)
            fits[a, b] = possible[a, b][block]
            pairs[a, b] = log_ratio(table.estimate[block] / noise, level / noise)
        gram_scores = [values[at] for values, at in zip(prior, here, strict=True)]
        grown = grow(fits, gram_scores, pairs, width, step.part(0.5, 1.0))
        cut = max(cut, grown.n_cut)
        finite = np.isfinite(grown.score)
        kept = [at[grown.members[finite, a]] for a, at in enumerate(here)]
        strings.append(np.column_stack(kept))
        scores.append(grown.score[finite])
    members, score = np.concatenate(strings), np.concatenate(scores)
    best = _best_first(members, score, cut)  # each string once, with the best of its scores
    first = np.sort(np.unique(best.members, axis=0, return_index=True)[1])
    return Grown(best.members[first], best.score[first], cut)


# -- frequent grams among hashed ones, which share cells -------------------------------------------


_HEAVY = 5.0  # standard errors from which a gram's collisions are taken off those of the others
_FRACTION = 0.3  # of the most significant gram, from which others are taken along with it
_SCANS = 4
_MARGIN = 1.5  # standard errors below what is looked for, from which grams are looked at again
_STEADY = 4.0  # standard errors by which hardly any gram moves
_SHORTLIST = 1 << 14  # grams that are looked at again between two scans of all
_MOST_ROUNDS = 100  # in which frequent grams are told apart between two scans


def _screen_hashed(
    mechanism: Any,
    counts: Sequence[Counts | BitCounts],
    layout: GramLayout,
    critical: float,
    most: int,
    advance: Advance,
) -> list[tuple[Array, Array, int]]:
    """Grams, their z and how many were left out; hashed for all positions together."""
    positions = [_Position.of(mechanism, c, layout) for c in counts]
    least, shortlist = min(critical, _HEAVY), max(_SHORTLIST, 10 * most)
    unsettled = positions
    for scan in range(_SCANS):  # the first takes longest, and may be the last
        step = advance.part(*(1.0 - 0.2**i for i in (scan, scan + 1)))
        _scan(unsettled, layout, least - _MARGIN, shortlist, step.part(0.0, 0.5))
        for position, _ in step.part(0.5, 1.0).over(unsettled):
            position.explain(most)
        unsettled = [position for position in unsettled if not position.is_settled(least)]
        if not unsettled:
            break
    return [position.best(critical, most) for position in positions]


@dataclass(eq=False)
class _Position:
    """One position while its grams are searched for."""

    mechanism: Any
    counts: Counts | BitCounts
    source: CohortSource
    heavy: Array  # the frequent grams known so far, whose part is taken off the equations
    grams: Array  # those whose z was beyond `cut` in the last scan
    owned: OwnedCells
    cut: float
    scanned: Array  # the equations of the last scan

    @classmethod
    def of(cls, mechanism: Any, counts: Counts | BitCounts, layout: GramLayout) -> _Position:
        source = mechanism.moments(counts, next(layout.gram_blocks(1)).tolist()).sources[0]
        none = np.empty(0, dtype=f"<U{layout.gram}")
        owned = OwnedCells(mechanism, none)
        return cls(mechanism, counts, source, none, none, owned, np.inf, source.weights)

    def residual(self) -> Array:
        """Weighted equations, shape (C m,), without the part that the heavy grams explain."""
        if not self.heavy.size:
            return self.source.weights * self.source.moved
        problem = self.mechanism.moments(self.counts, self.heavy.tolist())
        source = problem.sources[0]
        moved = source.moved - source.design.times(problem.estimate()[0])
        return np.asarray(source.weights * moved)

    def test(self, residual: Array) -> Array:
        """z of `grams`, each alone on what is left."""
        by_cohort = residual.reshape(1, self.mechanism.n_cohorts, self.mechanism.n_cells)
        return self.scaled(self.owned.sums(by_cohort)[0], residual)

    def scaled(self, owned: Array, residual: Array) -> Array:
        """z of grams from the sums of what is left over the cells that they own."""
        noise, design = self.noise(residual)[0], self.source.design
        moved = design.slope * (owned - design.background * residual.sum())
        return np.asarray(moved / noise) if noise > 0.0 else np.zeros(owned.shape)

    def noise(self, residual: Array) -> tuple[float, float]:
        """Standard deviation and skewness of the sum over the cells that a random gram owns."""
        m, h, r = self.mechanism.n_cells, self.mechanism.n_owned, self.source.design.background
        both = self.source.shared
        cells = self.source.design.slope * residual.reshape(-1, m)
        total = cells.sum(axis=1)
        variance = float((r - both) * np.vdot(cells, cells) + (both - r**2) * np.vdot(total, total))
        rest = cells - total[:, None] / m
        third = h / m * float(np.vdot(rest * rest, rest))
        return (variance**0.5, third / variance**1.5) if variance > 0.0 else (0.0, 0.0)

    def z_together(self, grams: Array) -> Array:
        """Estimates over their standard errors, of grams that are estimated together."""
        if not grams.size:
            return np.empty(0)
        problem = self.mechanism.moments(self.counts, grams.tolist())
        se = np.sqrt(problem.covariance().variances())
        estimate = problem.estimate()[0]
        return np.asarray(np.divide(estimate, se, out=np.zeros(se.shape), where=se > 0.0))

    def explain(self, most: int) -> None:
        """Find the frequent grams among those that stood out."""
        # A collision looks like a fraction of the gram that it is with: the most significant come
        # first, and what is nothing once it is estimated together with the others is dropped.
        for _ in range(_MOST_ROUNDS if self.grams.size else 0):
            z = self.test(self.residual())
            z[np.isin(self.grams, self.heavy)] = 0.0
            new = np.flatnonzero(z >= max(_HEAVY, _FRACTION * z.max()))
            if not new.size or self.heavy.size >= most:
                break
            new = new[np.argsort(-z[new], kind="stable")][:most]
            for some in (new, new[:1]):  # all may be too many at once for the cohorts
                together = np.append(self.heavy, self.grams[some])[:most]
                try:
                    after = together[self.z_together(together) >= _HEAVY]
                    break
                except NotIdentified:
                    continue
            else:
                break
            if set(after.tolist()) == set(self.heavy.tolist()):
                break
            self.heavy = after

    def is_settled(self, least: float) -> bool:
        """Whether hardly any gram can have come from below `cut` to `least` since the last scan."""
        residual = self.residual()
        before, now = self.noise(self.scanned)[0], self.noise(residual)[0]
        moved = self.noise(residual - self.scanned)[0]
        return self.cut * before + _STEADY * moved <= least * now

    def best(self, critical: float, most: int) -> tuple[Array, Array, int]:
        """The most significant grams, their z, and how many are left out."""
        light, residual = ~np.isin(self.grams, self.heavy), self.residual()
        z = self.test(residual)[light] if light.any() else np.empty(0)
        z = normal_score(skewed_pvalue(z, self.noise(residual)[1]), z)
        grams = np.append(self.heavy, self.grams[light])
        return best_grams(grams, np.append(self.z_together(self.heavy), z), critical, most)


def _scan(
    positions: Sequence[_Position],
    layout: GramLayout,
    least: float,
    most: int,
    advance: Advance,
) -> None:
    """Test all grams at every position, and keep those whose z is at least `least`."""
    residuals = [position.residual() for position in positions]
    names: list[list[Array]] = [[] for _ in positions]
    values: list[list[Array]] = [[] for _ in positions]
    mechanism, done = positions[0].mechanism, 0
    left = np.reshape(residuals, (len(positions), mechanism.n_cohorts, mechanism.n_cells))
    size = _STRINGS
    if not mechanism.answer_hash.is_compiled:
        size = max(_STORED // int(mechanism.n_cohorts * mechanism.n_owned), 1)
    for block in layout.gram_blocks(size):
        owned = OwnedCells(mechanism, block).sums(left)
        for i, (position, residual) in enumerate(zip(positions, residuals, strict=True)):
            z = position.scaled(owned[i], residual)
            beyond = np.flatnonzero(z >= least)
            names[i].append(block[beyond])
            values[i].append(z[beyond])
        done += len(block)
        advance(done / layout.n_grams)
    for i, (position, residual) in enumerate(zip(positions, residuals, strict=True)):
        z = np.concatenate(values[i])
        best = np.argsort(-z, kind="stable")[:most]
        grams = np.concatenate(names[i])[best]  # those that were taken off are hidden
        hidden = position.heavy[~np.isin(position.heavy, grams)]
        position.grams, position.scanned = np.append(grams, hidden), residual
        position.owned = OwnedCells(mechanism, position.grams)
        position.cut = float(z[best[-1]]) if z.size > most else least


def normal_score(p: Array, z: Array) -> Array:
    """The z that have these p-values in the normal law; as they are where p is beyond a double."""
    from scipy.special import ndtri

    score = -np.asarray(ndtri(np.where(p > 0.0, p, 1.0)))
    return np.where(p > 0.0, score, z)


def best_grams(grams: Array, z: Array, critical: float, most: int) -> tuple[Array, Array, int]:
    """At most so many grams whose z is at least `critical`, their z, and how many are left out."""
    beyond = np.flatnonzero(z >= critical)
    order = beyond[np.argsort(-z[beyond], kind="stable")]
    return grams[order[:most]], z[order[:most]], max(order.size - most, 0)
