"""Tests of independence that need the reports of an association model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import one_of, replicates
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.tables import independence as association
from ldpstats.inference.tables import permutation
from ldpstats.inference.tables import wald as tables
from ldpstats.inference.tables.cross_moments import CrossMoments, Whitening, unvarying
from ldpstats.inference.tables.permutation_moments import (
    Blocks,
    Cumulants,
    Spread,
    blocks_of,
    moments,
    score_cumulants,
)
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.groups import JointGroup, Scores
from ldpstats.models.frequency.covariance import LARGEST_INFORMATION
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.rows.joint import Factor, JointRows
from ldpstats.problems.simplex import project_simplex
from ldpstats.reports.single import Counts
from ldpstats.sampling.words import simulation_words

if TYPE_CHECKING:
    from ldpstats.models.association.model import AssociationModel
    from ldpstats.models.association.results import AssociationResults

__all__ = ["METHODS", "score_test", "smallest_expected", "test_independence"]

Array = npt.NDArray[Any]

METHODS = ("score", "wald", "lr", "pearson", "bootstrap", "fpe16")
_SMALL = 5.0  # smallest expected count below which tables are sparse
_MOST_TABLES = 1000  # tables with the same margins that are gone through
_MOST_CELLS = 1 << 22  # cells of a table of distinct reports
_REPEATED = 2000  # combinations among which equal patterns of bits are looked for
_MOMENTS = "p-value by the moments of permutations"


def test_independence(
    model: AssociationModel,
    results: AssociationResults,
    method: str = "score",
    rng: np.random.Generator | None = None,
    n_permutations: int | None = None,
    n_boot: int | None = None,
) -> TestResult:
    """See `AssociationResults.test_independence`."""
    method = one_of("method", method, METHODS)
    if rng is not None:
        simulation_words(rng)  # refuses what is no generator
    if n_permutations is not None and method not in ("score", "pearson"):
        raise InvalidArgument("n_permutations", n_permutations, "goes with 'score' or 'pearson'")
    if n_boot is not None and method != "bootstrap":
        raise InvalidArgument("n_boot", n_boot, "goes with 'bootstrap'")
    if rng is not None and method not in ("score", "pearson", "bootstrap"):
        raise InvalidArgument("rng", rng, "goes with 'score', 'pearson' or 'bootstrap'")
    if method == "score":
        return score_test(model, rng, n_permutations)
    if method == "pearson":
        return _pearson(model, rng, n_permutations)
    if method == "lr":
        return _likelihood_ratio(model, results)
    if method == "bootstrap":
        return _bootstrap(model, results, rng, 199 if n_boot is None else n_boot)
    two_way(model)
    return _fpe16(model, results) if method == "fpe16" else _wald(model, results)


def _wald(model: AssociationModel, results: AssociationResults) -> TestResult:
    """On the unconstrained estimate where it sums to one, else, over candidates, on the dual one.

    The delta method of p - r c' fails for a total that is noise.
    """
    if abs(results.linear.estimate.sum() - 1.0) <= 1e-9:
        return results.wald_independence()
    if model.n_cells > LARGEST_INFORMATION:
        raise NotAvailable(
            f"a Wald test needs the covariance of {model.n_cells} cells: use method='score'"
        )
    dual = model.dual_moments()
    P = dual.estimate()[0].reshape(model.sizes)
    statistic, df = tables.wald_independence(P, dual.covariance())
    return _chi_square(model, statistic, df, "Wald test on the one-step joint estimate")


def null_hypothesis(model: AssociationModel) -> str:
    """H0 in words."""
    *most, last = model.names
    return f"{', '.join(most)} and {last} are independent"


def two_way(model: AssociationModel) -> None:
    """Refuse a test of two variables where there are more."""
    if len(model.sizes) != 2:
        raise NotAvailable(
            f"the test compares two variables, the model has {len(model.sizes)}: use "
            "method='score', or a model of two of them"
        )


def _chi_square(
    model: AssociationModel, statistic: float, df: int, method: str, note: str = ""
) -> TestResult:
    return TestResult.chi_square(null_hypothesis(model), statistic, df, method, note)


# -- score -----------------------------------------------------------------------------------


def score_test(
    model: AssociationModel,
    rng: np.random.Generator | None,
    n_permutations: int | None = None,
) -> TestResult:
    """Score test on the marginal fits; by permutation where that is asked for and needed."""
    if len(model.sizes) > 2:
        return _mutual(model, rng, n_permutations)
    features = _Features.of(model)
    expected = None
    if model.is_complete:
        expected = (model.sizes[0] - 1, model.sizes[1] - 1)
    found = association.score(features.parts, expected, features.space)
    parts = features.parts
    strata = "" if len(parts) == 1 else f", within {len(parts)} strata"
    method = f"score test on the marginal fits{strata}"
    smallest = smallest_expected(model)
    B = _permutations(rng, n_permutations, smallest)
    if B and rng is not None:
        draws = _permuted(model, rng, B)
        return _exact(model, found.statistic, found.df, draws, method, found.note)
    return _by_moments(
        null_hypothesis(model), found.statistic, found.df, features, smallest, method, found.note
    )


def trend_test(model: AssociationModel, u: Array, v: Array) -> TestResult:
    """Linear-by-linear trend of the scores u and v of the categories."""
    two_way(model)
    parts = model.unbiased_moments()
    z, _, correlation = association.linear_trend(parts, u, v)
    su, sv = association.centred_scores(parts, u, v)
    X, Y = model.unbiased_maps()
    x, y = X.T @ su, Y.T @ sv  # the scores of categories as combinations of those of reports
    features = _Features.of(model).combined(x, y)
    found = _by_moments(
        f"{model.names[0]} and {model.names[1]} have no linear-by-linear trend",
        z**2,
        None,
        features,
        smallest_expected(model),
        "linear-by-linear trend (z), on the reports",
        f"estimated correlation of the scores {correlation:.3g}",
    )
    return replace(found, statistic=float(z))


def conditional_covariance(model: AssociationModel, given: int) -> Covariance | None:
    """Covariance of the unconstrained estimate if two variables are independent given a third.

    It is that at p_i.k p_.jk / p_..k of the estimate, projected onto the simplex. With the law of
    the reports as seen the variance of what is hardly ever reported is underestimated: where a
    cell is expected once in 1,000 reports of epsilon 8, .41 of true hypotheses were rejected at
    .05, against .05.

    Parameters
    ----------
    model : AssociationModel
        Of three variables.
    given : int
        The variable in the condition.

    Returns
    -------
    Covariance or None
        None where the reports cannot be listed, as of bits: there is only the law as seen.
    """
    problem = model.unconstrained_moments()
    if any(stratum.listing is None for stratum in problem.strata):
        return None
    p = project_simplex(problem.estimate()[0]).reshape(model.sizes)
    first, second = (v for v in range(3) if v != given)
    mass = p.sum(axis=(first, second), keepdims=True)
    product = p.sum(axis=first, keepdims=True) * p.sum(axis=second, keepdims=True)
    null = np.divide(product, mass, out=np.zeros(model.sizes), where=mass > 0.0)
    return problem.covariance(null.reshape(-1))


@dataclass(frozen=True, eq=False)
class _Features:
    """Features of the reports of two variables, stratum by stratum, and their moments.

    Parameters
    ----------
    model : AssociationModel
    parts : tuple of CrossMoments
    maps : tuple of array, shape (k, f), or None
        What takes scores of categories to features; None where they are the features.
    """

    model: AssociationModel
    parts: tuple[CrossMoments, ...]
    maps: tuple[Array, Array] | None = None

    @classmethod
    def of(cls, model: AssociationModel) -> _Features:
        """The scores at the marginal fits."""
        parts = (part for scores in model.scores for part in scores.cross_moments(0, 1))
        return cls(model, tuple(parts))

    def combined(self, x: Array, y: Array) -> _Features:
        """Single features, x'a and y'b."""
        parts = tuple(association.trend_moments(part, x, y) for part in self.parts)
        return _Features(self.model, parts, (x[:, None], y[:, None]))

    @cached_property
    def space(self) -> Whitening:
        """Coordinates in which the features are white."""
        return Whitening.of(self.parts)

    @property
    def strata(self) -> list[tuple[Scores, slice]]:
        return [(scores, part) for scores in self.model.scores for part in scores.group.slices]

    def _mapped(self, v: int, scores: Array) -> Array:
        return scores if self.maps is None else scores @ self.maps[v]

    def _blocks(self, v: int, scores: Scores, part: slice) -> Blocks:
        return lambda: ((self._mapped(v, a), n) for a, n in scores.blocks(v, part))

    def cumulants(self) -> Cumulants:
        """Of the score statistic of the features, if reports are permuted within strata."""
        x, y = ([self._blocks(v, *stratum) for stratum in self.strata] for v in (0, 1))
        return score_cumulants(self.space, self.parts, x, y)

    def tables(self) -> list[tuple[Array, Array, Array]] | None:
        """Respondents with each pair of distinct reports, and the features of these, by stratum.

        None where reports hardly ever repeat and are many.
        """
        found = []
        for scores, part in self.strata:
            group, n = scores.group, scores.group.counts.n[part]
            if len(n) > _REPEATED and any(index is None for index in group.index):
                return None
            codes, rows = zip(*(group.distinct(v, part) for v in (0, 1)), strict=True)
            extent = len(rows[0]), len(rows[1])
            if prod(extent) > _MOST_CELLS:
                return None
            table = np.zeros(extent, dtype=np.int64)
            np.add.at(table, codes, n)
            x, y = (self._mapped(v, scores.centred(v, rows[v])) for v in (0, 1))
            found.append((table, x, y))
        return found


def _by_moments(
    null: str,
    statistic: float,
    df: int | None,
    features: _Features,
    smallest: float,
    method: str,
    note: str,
) -> TestResult:
    """p-value by the law of permutations: exact where tables are sparse and few, else by moments.

    It is at least the probability of the very table that was seen.
    """
    law, known = None if df is None else float(df), features.tables()
    if known is not None and smallest < _SMALL:
        each, x, y = zip(*known, strict=True)
        every = permutation.all_table_scores(each, x, y, _MOST_TABLES)
        if every is not None:
            p = permutation.exact_pvalue(statistic, *every)
            how = f"{method}, exact p-value over {len(every[0])} tables with these margins"
            return TestResult(null, float(statistic), law, p, how, note)
    p = features.cumulants().pvalue(statistic)
    if known is not None:
        p = max(p, float(np.exp(sum(permutation.log_probability(t) for t, _, _ in known))))
    note = "; ".join(filter(None, (note, _doubt(smallest, by_rng=df is not None))))
    return TestResult(null, float(statistic), law, p, f"{method}, {_MOMENTS}", note)


def _doubt(smallest: float, by_rng: bool = True) -> str:
    if smallest >= _SMALL:
        return ""
    approximate = f"the smallest expected count is {smallest:.2g}: the p-value is approximate"
    return f"{approximate}; rng= (--seed) gives an exact one" if by_rng else approximate


def _permutations(
    rng: np.random.Generator | None, n_permutations: int | None, smallest: float
) -> int:
    """How many permutations to draw: those asked for, or 999 where counts are small, or none."""
    if n_permutations is None:
        return 999 if rng is not None and smallest < _SMALL else 0
    if rng is None:
        raise InvalidArgument("rng", None, "pass a generator, np.random.default_rng(seed)")
    return replicates("n_permutations", n_permutations)


def _exact(
    model: AssociationModel, statistic: float, df: int, draws: Array, method: str, note: str
) -> TestResult:
    p = permutation.permutation_pvalue(statistic, draws)
    how = f"{method}, exact p-value by {len(draws)} permutations"
    return TestResult(null_hypothesis(model), float(statistic), float(df), p, how, note)


def _permuted(model: AssociationModel, rng: np.random.Generator, B: int) -> Array:
    """Score statistics of permuted reports."""
    strata = [(scores, part) for scores in model.scores for part in scores.group.slices]
    cells = [scores.group.table(0, 1, part) for scores, part in strata]
    tables = [table for table in cells if table is not None]
    if len(tables) == len(cells):
        x, y = ([scores.centred(v, slice(None)) for scores, _ in strata] for v in (0, 1))
        return permutation.permuted_table_scores(tables, x, y, B, rng)
    x, y = ([scores.values(v, part) for scores, part in strata] for v in (0, 1))
    return permutation.permuted_scores(x, y, B, rng)


def smallest_expected(model: AssociationModel) -> float:
    """Smallest expected count of a pair of labels, or of values of two bits, under independence.

    Of hashed answers a label or bit is a candidate's own; there are as many in every cohort.
    """
    return min(
        float(group.nobs * prod(_rarest(counts) for counts in group.variables))
        for group in model.groups
    )


def _rarest(counts: Counts) -> float:
    """Share of the rarest label that was seen; of bits and hashes the least that is to be seen."""
    mechanism = counts.mechanism
    if mechanism.n_bits and mechanism.sensitive is not None:  # bits, and answers that are revealed
        share = counts.bit_counts().ones / counts.nobs
        rare = np.minimum(share, 1.0 - share)
        return float(rare[rare > 0.0].min(initial=1.0))
    if mechanism.n_cohorts or mechanism.n_bits:
        law = mechanism.cell_law if mechanism.n_cohorts else None
        pair = (law.high, law.low) if law else (mechanism.p1, mechanism.p0)
        return float(min(q for p in pair for q in (p, 1.0 - p) if q > 0.0))
    seen = counts.vector()
    return float(seen[seen > 0].min() / counts.nobs)


def _mutual(
    model: AssociationModel, rng: np.random.Generator | None, n_permutations: int | None
) -> TestResult:
    """Score test that three or more variables are mutually independent.

    Scores are whitened, variable by variable; if the variables are independent, all products of
    those of two or more variables are uncorrelated with variance one.
    """
    if len(model.scores) > 1 or len(model.groups[0].slices) > 1:
        raise NotAvailable(
            "mutual independence of three or more variables is tested in one group without shared "
            "cohorts: test pairs of them"
        )
    group, N = model.groups[0], model.nobs
    factors = [_white(model, v) for v in range(len(model.sizes))]
    ranks = [factor.W.shape[1] - 1 for factor in factors]
    varying = np.indices([r + 1 for r in ranks]).astype(bool).sum(axis=0).reshape(-1) >= 2

    def statistic(rows: JointRows, n: Array) -> float:
        return float(np.sum((rows.adjoint(n) / N)[varying] ** 2)) * N

    found = statistic(JointRows(tuple(factors)), group.counts.n)
    df = prod(r + 1 for r in ranks) - sum(ranks) - 1
    method = "score test of mutual independence"
    smallest = smallest_expected(model)
    B = _permutations(rng, n_permutations, smallest)
    if not B or rng is None:
        white = [
            Spread.of(blocks_of(f.W[:, 1:], counts.n), np.zeros(r), np.eye(r))
            for f, counts, r in zip(factors, group.variables, ranks, strict=True)
        ]
        m = moments(white)
        law = Cumulants.of_moments(*(value / N ** (e + 1) for e, value in enumerate(m)))
        p = max(law.pvalue(found), _probability_of_cells(group))
        how, note = f"{method}, {_MOMENTS}", _doubt(smallest)
        return TestResult(null_hypothesis(model), found, float(df), p, how, note)
    each = np.repeat(np.arange(len(group.counts.n)), group.counts.n)
    first, *others = [Factor(f.W, each if f.index is None else f.index[each]) for f in factors]
    draws = [
        statistic(JointRows((first, *(f.select(rng.permutation(N)) for f in others))), np.ones(N))
        for _ in range(B)
    ]
    return _exact(model, found, df, np.array(draws), method, "")


def _probability_of_cells(group: JointGroup) -> float:
    """Probability of the combinations of reports that were seen, given how often each report was.

    Zero where reports hardly ever repeat and are many: it is then next to nothing.
    """
    from scipy.special import gammaln

    n, everything = group.counts.n, slice(0, len(group.counts.n))
    if len(n) > _REPEATED and any(index is None for index in group.index):
        return 0.0
    codes = [group.distinct(v, everything)[0] for v in range(len(group.index))]
    cells = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(-1)
    each, total = gammaln(n.sum() + 1.0), -gammaln(np.bincount(cells, n) + 1.0).sum()
    total += sum(gammaln(np.bincount(code, n) + 1.0).sum() for code in codes)
    return float(np.exp(total - (len(codes) - 1) * each))


def _white(model: AssociationModel, v: int) -> Factor:
    """A one and the whitened scores of variable v, of each of its distinct reports."""
    scores, group = model.scores[0], model.groups[0]
    centred, n = scores.centred(v, slice(None)), group.variables[v].n
    mean = n @ centred / n.sum()
    square = (centred.T * n) @ centred / n.sum()
    values, vectors = np.linalg.eigh(square - np.outer(mean, mean))
    kept = values > 1e-9 * values[-1]
    if values[-1] <= 0.0:
        raise unvarying(model.names[v])
    W = vectors[:, kept] / np.sqrt(values[kept])
    white, index = (centred - mean) @ W, group.index[v]
    return Factor(
        np.column_stack([np.ones(len(white)), white]),
        np.arange(len(white)) if index is None else index,
    )


# -- others ----------------------------------------------------------------------------------


def _pearson(
    model: AssociationModel, rng: np.random.Generator | None, n_permutations: int | None
) -> TestResult:
    two_way(model)
    group = model.groups[0]
    if len(model.groups) > 1 or len(group.slices) > 1:
        raise NotAvailable(
            "Pearson's test needs one product channel for all respondents, not several groups or "
            "shared cohorts: use method='score', which allows for them"
        )
    if any(m.n_bits or m.n_cohorts for m in group.counts.mechanisms):
        raise NotAvailable(
            "Pearson's test needs reports that are labels of one list: use method='score', which "
            "is its form for bits and cohorts"
        )
    table = group.counts.table()
    statistic, df, note = association.pearson(table)
    method = "Pearson chi-square of the privatised table"
    smallest = association.smallest_expected(table)
    B = _permutations(rng, n_permutations, smallest)
    if B and rng is not None:
        each = [np.eye(size) for size in table.shape]
        draws = permutation.permuted_table_scores([table], [each[0]], [each[1]], B, rng)
        return _exact(model, statistic, df, draws, method, note)
    margins = [Spread.of_labels(table.sum(axis=axis)) for axis in (1, 0)]
    law = Cumulants.of_moments(*moments([margins[0], margins[1].scaled(group.nobs)]))
    p = max(law.pvalue(statistic), float(np.exp(permutation.log_probability(table))))
    how, note = f"{method}, {_MOMENTS}", "; ".join(filter(None, (note, _doubt(smallest))))
    return TestResult(null_hypothesis(model), statistic, float(df), p, how, note)


def _likelihood_ratio(model: AssociationModel, results: AssociationResults) -> TestResult:
    statistic, df = likelihood_ratio(model, results), _df(model)
    note = ""
    if results.on_boundary:
        note = (
            "the joint estimate is on the boundary, where the test rejects too seldom and has "
            "little power: use method='score' or 'bootstrap'"
        )
    return _chi_square(model, statistic, df, "likelihood ratio test", note)


def _df(model: AssociationModel) -> int:
    return prod(model.sizes) - sum(k - 1 for k in model.sizes) - 1


def likelihood_ratio(model: AssociationModel, results: AssociationResults | None = None) -> float:
    """Twice the log-likelihood that the joint maximum gains over that under independence."""
    null = model.null_distribution()
    best = model.likelihood().loglike(_maximum(model, results))
    return max(2.0 * (best - model.likelihood().loglike(null)), 0.0)


def _maximum(model: AssociationModel, results: AssociationResults | None) -> Array:
    """The unconstrained maximum of the likelihood: what was fitted, if it is that."""
    if results is not None and results.is_maximum and results.converged and not results.settings:
        return results.fitted.estimate
    return model.maximum().p


def _bootstrap(
    model: AssociationModel,
    results: AssociationResults,
    rng: np.random.Generator | None,
    n_boot: int,
) -> TestResult:
    if rng is None:
        raise InvalidArgument("rng", None, "pass a generator, np.random.default_rng(seed)")
    n_boot = replicates("n_boot", n_boot)
    statistic, null = likelihood_ratio(model, results), model.null_distribution()
    draws = [likelihood_ratio(model.simulated(null, rng)) for _ in range(n_boot)]
    p = permutation.permutation_pvalue(statistic, draws)
    how = f"likelihood ratio, p-value by {n_boot} surveys simulated under independence"
    return TestResult(null_hypothesis(model), statistic, float(_df(model)), p, how)


def _fpe16(model: AssociationModel, results: AssociationResults) -> TestResult:
    """The statistic of FPE16 III-D as printed, at the maximum likelihood estimate."""
    if model.n_cells > LARGEST_INFORMATION:
        raise NotAvailable(
            f"T of FPE16 needs the information matrix of {model.n_cells} cells: use method='score'"
        )
    p = _maximum(model, results)
    J = model.likelihood().information(p)
    statistic, df = tables.fpe16(p.reshape(model.sizes), J)
    return _chi_square(model, statistic, df, "statistic T of FPE16 III-D, as printed")
