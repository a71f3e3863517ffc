"""Tests of independence and of a trend, from the evidence of an association model.

Score tests ask whether the scores of the reports of two variables are correlated, in any way or in
a trend. They need no joint estimate, so that no boundary matters, and their p-value is that of
permuted reports. For three or more variables the scores are whitened, variable by variable; if the
variables are independent, all products of those of two or more are uncorrelated with variance one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import one_of, replicates
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.tables import independence as association
from ldpstats.inference.tables import permutation
from ldpstats.inference.tables.independence import CrossMoments, Whitening, unvarying, whiten
from ldpstats.inference.tables.permutation import (
    Cumulants,
    Spread,
    blocks_of,
    moments,
    score_cumulants,
)
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.covariance import Covariance
from ldpstats.likelihood.joint import Factor, JointRows, unbiased_map
from ldpstats.models.association.estimates import Evidence, maximum, simulated
from ldpstats.models.association.groups import Scores
from ldpstats.models.frequency.estimates import LARGEST_INFORMATION
from ldpstats.sampling.samplers import simulation_words

__all__ = [
    "METHODS",
    "check_options",
    "likelihood_ratio_test",
    "score_test",
    "smallest_expected",
    "test_independence",
    "trend_test",
    "wald_test",
]


Array = npt.NDArray[Any]

METHODS = ("score", "wald", "lr", "pearson", "bootstrap", "fpe16")
_SURVEYS = 199  # that a bootstrap simulates


def check_options(
    method: str, rng: np.random.Generator | None, n_permutations: int | None, n_boot: int | None
) -> str:
    """The name of the test, after a check that its options go with it."""
    method = one_of("method", method, METHODS)
    if rng is not None:
        simulation_words(rng)  # refuses what is no generator
    if n_permutations is not None and method not in ("score", "pearson"):
        raise InvalidArgument("n_permutations", n_permutations, "goes with 'score' or 'pearson'")
    if n_boot is not None and method != "bootstrap":
        raise InvalidArgument("n_boot", n_boot, "goes with 'bootstrap'")
    if rng is not None and method not in ("score", "pearson", "bootstrap"):
        raise InvalidArgument("rng", rng, "goes with 'score', 'pearson' or 'bootstrap'")
    if rng is None and (n_permutations is not None or method == "bootstrap"):
        raise InvalidArgument("rng", None, "pass a generator, np.random.default_rng(seed)")
    for name, value in (("n_permutations", n_permutations), ("n_boot", n_boot)):
        if value is not None:
            replicates(name, value)
    return method


def test_independence(
    evidence: Evidence,
    method: str,
    fitted: Array | None,
    on_boundary: bool,
    rng: np.random.Generator | None = None,
    n_permutations: int | None = None,
    n_boot: int | None = None,
    advance: Callable[[float], None] = lambda fraction: None,
) -> TestResult:
    """The test of this name, with checked options (see `AssociationResults.test_independence`).

    `fitted` is the joint maximum of the likelihood, where that is known.
    """
    names, sizes = evidence.names, evidence.sizes
    if method == "score":
        return score_test(evidence, rng, n_permutations, advance)
    if method == "lr":
        statistic = _likelihood_ratio(evidence, fitted)
        return likelihood_ratio_test(names, sizes, statistic, on_boundary)
    if method == "bootstrap" and rng is not None:
        n_boot = _SURVEYS if n_boot is None else int(n_boot)
        statistic, independent = _likelihood_ratio(evidence, fitted), evidence.null
        draws = np.empty(n_boot)
        for b in range(n_boot):
            draws[b] = _likelihood_ratio(simulated(evidence, independent, rng))
            advance((b + 1) / n_boot)
        pvalue = permutation.permutation_pvalue(statistic, draws)
        how = f"likelihood ratio, p-value by {n_boot} surveys simulated under independence"
        df = float(_mutual_df(sizes))
        return TestResult(_null_hypothesis(names), statistic, df, pvalue, how)
    _refuse_more_than_two(sizes)
    if method == "pearson":
        return _pearson(evidence, rng, n_permutations, advance)
    n_cells = prod(sizes)
    if method == "fpe16":  # at the maximum likelihood estimate
        if n_cells > LARGEST_INFORMATION:
            raise NotAvailable(
                f"T of FPE16 needs the information matrix of {n_cells} cells: use method='score'"
            )
        p = maximum(evidence).p if fitted is None else fitted
        J = evidence.likelihood.information(p)
        statistic, df = association.fpe16(p.reshape(sizes), J)
        how = "statistic T of FPE16 III-D, as printed"
        return TestResult.chi_square(_null_hypothesis(names), statistic, df, how)
    # over candidates on the dual estimate: the delta method of p - r c' fails for noisy totals
    _refuse_many_cells(n_cells)
    dual = evidence.dual_moments
    P = dual.estimate()[0].reshape(sizes)
    smallest, how = smallest_expected(evidence), "Wald test on the one-step joint estimate"
    return wald_test(names, P, dual.covariance(), smallest, how)


def _refuse_many_cells(n_cells: int) -> None:
    """Refuse a test of very many cells at once, whose covariance would have to be inverted."""
    if n_cells > LARGEST_INFORMATION:
        raise NotAvailable(
            f"a Wald test needs the covariance of {n_cells} cells: use method='score'"
        )


def wald_test(
    names: tuple[str, ...], P: Array, covariance: Covariance, smallest: float, method: str
) -> TestResult:
    """Wald's test of a two-way table P; `smallest` is its smallest expected count."""
    _refuse_many_cells(P.size)
    try:
        statistic, df = association.wald_independence(P, covariance)
    except NotIdentified:
        raise NotAvailable(
            "a Wald test needs more reports: without noise, cells that were never reported leave "
            "directions without a variance; use method='score'"
        ) from None
    note = ""
    if smallest < _SMALL:
        count = f"the smallest expected count is {smallest:.2g}"
        note = f"{count}: a Wald test rejects too often; use method='score'"
    return TestResult.chi_square(_null_hypothesis(names), statistic, df, method, note)


def _pearson(
    evidence: Evidence,
    rng: np.random.Generator | None,
    n_permutations: int | None,
    advance: Callable[[float], None],
) -> TestResult:
    group = evidence.groups[0]
    if len(evidence.groups) > 1 or len(group.slices) > 1:
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
    null, method = _null_hypothesis(evidence.names), "Pearson chi-square of the privatised table"
    smallest = association.smallest_expected(table)
    B = _permutations(rng, n_permutations, smallest)
    if B and rng is not None:
        each = [np.eye(size) for size in table.shape]
        draws = permutation.permuted_table_scores([table], [each[0]], [each[1]], B, rng, advance)
        return _by_permutations(null, statistic, df, draws, method, note)
    law = Cumulants.of_table(table)
    p = max(law.pvalue(statistic), float(np.exp(permutation.log_probability(table))))
    how, note = f"{method}, {_BY_MOMENTS}", "; ".join(filter(None, (note, _doubt(smallest))))
    return TestResult(null, statistic, float(df), p, how, note)


def likelihood_ratio_test(
    names: tuple[str, ...], sizes: tuple[int, ...], statistic: float, on_boundary: bool
) -> TestResult:
    """The likelihood ratio test with this statistic."""
    note = ""
    if on_boundary:
        note = (
            "the joint estimate is on the boundary, where the test rejects too seldom and has "
            "little power: use method='score' or 'bootstrap'"
        )
    null, df = _null_hypothesis(names), _mutual_df(sizes)
    return TestResult.chi_square(null, statistic, df, "likelihood ratio test", note)


def _mutual_df(sizes: tuple[int, ...]) -> int:
    """Degrees of freedom of mutual independence."""
    return prod(sizes) - sum(k - 1 for k in sizes) - 1


def _likelihood_ratio(evidence: Evidence, fitted: Array | None = None) -> float:
    """Twice the log-likelihood that the joint maximum gains over that under independence."""
    likelihood = evidence.likelihood
    best = likelihood.loglike(maximum(evidence).p if fitted is None else fitted)
    return max(2.0 * (best - likelihood.loglike(evidence.null)), 0.0)


# -- Score tests of two variables ----------------------------------------------------------------


_MOST_TABLES = 1000  # tables with the same margins that are gone through


def score_test(
    evidence: Evidence,
    rng: np.random.Generator | None = None,
    n_permutations: int | None = None,
    advance: Callable[[float], None] = lambda fraction: None,
) -> TestResult:
    """Score test on the marginal fits; by permutation where that is asked for and needed."""
    if len(evidence.sizes) > 2:
        return _mutual_test(evidence, rng, n_permutations, advance)
    strata = evidence.scores
    parts = [scores.cross_moments for scores in strata]
    space, expected = Whitening.of(parts), None
    if evidence.is_complete:
        expected = (evidence.sizes[0] - 1, evidence.sizes[1] - 1)
    score = association.score(parts, expected, space)
    null, smallest = _null_hypothesis(evidence.names), smallest_expected(evidence)
    within = "" if len(strata) == 1 else f", within {len(strata)} strata"
    method = f"score test on the marginal fits{within}"
    B = _permutations(rng, n_permutations, smallest)
    if not B or rng is None:
        law = strata, parts, space, (None, None)
        return _by_moments(null, score.statistic, score.df, law, smallest, method, score.note)
    if all(scores.is_dense for scores in strata):
        tables, *rows = zip(*(scores.table for scores in strata), strict=True)
        x, y = (list(map(Scores.centred, strata, repeat(v), rows[v])) for v in (0, 1))
        draws = permutation.permuted_table_scores(tables, x, y, B, rng, advance)
    else:
        x, y = (
            [np.repeat(s.of_respondents(v, s.part), s.n, axis=0) for s in strata] for v in (0, 1)
        )
        draws = permutation.permuted_scores(x, y, B, rng, advance)
    return _by_permutations(null, score.statistic, score.df, draws, method, score.note)


def trend_test(evidence: Evidence, u: Array, v: Array) -> TestResult:
    """Linear-by-linear trend of the scores u and v of the categories."""
    _refuse_more_than_two(evidence.sizes)
    strata = evidence.scores
    each = [scores.cross_moments for scores in strata]
    # what takes the scores to features that are unbiased over all strata
    inverses = []
    for axis, name in enumerate(evidence.names):
        response = np.zeros((evidence.sizes[axis],) * 2)
        for s in strata:  # information: of labels as expected, of other reports as observed
            J = s.information(axis, observed=s.group.labels[axis] is None)
            response += s.n.sum() / evidence.nobs * J
        inverses.append(unbiased_map(response, name))
    X, Y = inverses
    ones = X.sum(axis=1), Y.sum(axis=1)  # of the one that centred scores lack
    parts = [part.transformed(X, Y, *ones) for part in each]
    z, _, correlation = association.linear_trend(parts, u, v)
    su, sv = association.centred_scores(parts, u, v)
    # the scores of categories as combinations x'a and y'b of those of reports
    maps = X.T @ su, Y.T @ sv
    parts = [association.trend_moments(part, *maps) for part in each]
    to = [own[:, None] for own in maps]
    test = _by_moments(
        f"{evidence.names[0]} and {evidence.names[1]} have no linear-by-linear trend",
        z**2,
        None,
        (strata, parts, Whitening.of(parts), to),
        smallest_expected(evidence),
        "linear-by-linear trend (z), on the reports",
        f"estimated correlation of the scores {correlation:.3g}",
    )
    return replace(test, statistic=float(z))


def _by_moments(
    null: str,
    statistic: float,
    df: int | None,
    law: tuple[Sequence[Scores], Sequence[CrossMoments], Whitening, Sequence[Array | None]],
    smallest: float,
    method: str,
    note: str,
) -> TestResult:
    """p-value by the law of permutations: exact where tables are sparse and few, else by moments.

    It is at least the probability of the very table that was seen. `law` are the strata, the
    moments of their features and what whitens them; these are the scores, or single combinations
    ``scores @ to``, to of (k, 1).
    """
    strata, parts, space, to = law
    freedom, tables, features = None if df is None else float(df), [], ([], [])
    for scores in strata:
        if scores.table is not None:
            table, *rows = scores.table
            tables.append(table)
            for v in (0, 1):
                features[v].append(scores.centred(v, rows[v], to[v]))
    known = len(tables) == len(strata)
    if known and smallest < _SMALL:
        every = permutation.all_table_scores(tables, *features, _MOST_TABLES)
        if every is not None:
            p = permutation.exact_pvalue(statistic, *every)
            how = f"{method}, exact p-value over {len(every[0])} tables with these margins"
            return TestResult(null, float(statistic), freedom, p, how, note)
    first, second = ([partial(s.blocks, v, to[v]) for s in strata] for v in (0, 1))
    p = score_cumulants(space, parts, first, second).pvalue(statistic)
    if known:
        p = max(p, float(np.exp(sum(map(permutation.log_probability, tables)))))
    note = "; ".join(filter(None, (note, _doubt(smallest, by_rng=df is not None))))
    return TestResult(null, float(statistic), freedom, p, f"{method}, {_BY_MOMENTS}", note)


# -- Score test of mutual independence of three or more -------------------------------------------


def _mutual_test(
    evidence: Evidence,
    rng: np.random.Generator | None,
    n_permutations: int | None,
    advance: Callable[[float], None],
) -> TestResult:
    """The test of three or more variables, by permutation where that is asked for and needed."""
    if len(evidence.scores) > 1:
        raise NotAvailable(
            "mutual independence of three or more variables is tested in one group without shared "
            "cohorts: test pairs of them"
        )
    (scores,), N = evidence.scores, evidence.nobs
    group = scores.group
    factors = [_white(scores, v, name) for v, name in enumerate(evidence.names)]
    ranks = [factor.W.shape[1] - 1 for factor in factors]
    varying = np.indices([r + 1 for r in ranks]).astype(bool).sum(axis=0).reshape(-1) >= 2

    def statistic(rows: JointRows, n: Array) -> float:
        return float(np.sum((rows.adjoint(n) / N)[varying] ** 2)) * N

    observed = statistic(JointRows(tuple(factors)), group.counts.n)
    df = prod(r + 1 for r in ranks) - sum(ranks) - 1
    null, method = _null_hypothesis(evidence.names), "score test of mutual independence"
    smallest = smallest_expected(evidence)
    B = _permutations(rng, n_permutations, smallest)
    if not B or rng is None:
        white = []  # the law of the statistic when the reports of each variable are permuted
        for factor, rank, counts in zip(factors, ranks, group.variables, strict=True):
            rows = blocks_of(factor.W[:, 1:], counts.n)
            white.append(Spread.of(rows, np.zeros(rank), np.eye(rank)))
        scaled = (value / N ** (e + 1) for e, value in enumerate(moments(white)))
        law = Cumulants.of_moments(*scaled)
        p = max(law.pvalue(observed), _probability_of_cells(scores))
        how = f"{method}, {_BY_MOMENTS}"
        return TestResult(null, observed, float(df), p, how, _doubt(smallest))
    each = np.repeat(np.arange(len(group.counts.n)), group.counts.n)
    first, *others = [Factor(f.W, each if f.index is None else f.index[each]) for f in factors]
    draws = np.empty(B)
    for i in range(B):
        drawn = JointRows((first, *(Factor(W, i[rng.permutation(N)]) for W, i, _ in others)))
        draws[i] = statistic(drawn, np.ones(N))
        advance((i + 1) / B)
    return _by_permutations(null, observed, df, draws, method)


def _probability_of_cells(scores: Scores) -> float:
    """Probability of the combinations of reports that were seen, given how often each report was.

    Zero where reports hardly ever repeat and are many: it is then next to nothing.
    """
    from scipy.special import gammaln

    if not scores.repeats:
        return 0.0
    n, codes = scores.n, [scores.distinct(v)[0] for v in range(len(scores.means))]
    cells = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(-1)
    each, total = gammaln(n.sum() + 1.0), -gammaln(np.bincount(cells, n) + 1.0).sum()
    total += sum(gammaln(np.bincount(code, n) + 1.0).sum() for code in codes)
    return float(np.exp(total - (len(codes) - 1) * each))


def _white(scores: Scores, v: int, name: str) -> Factor:
    """A one and the whitened scores of variable v, of each of its distinct reports."""
    centred, n = scores.centred(v, slice(None)), scores.group.variables[v].n
    mean = n @ centred / n.sum()
    square = (centred.T * n) @ centred / n.sum()
    W = whiten(square - np.outer(mean, mean), np.diagonal(square))
    if not len(W):
        raise unvarying(name)
    white, index = (centred - mean) @ W.T, scores.group.index[v]
    return Factor(
        np.column_stack([np.ones(len(white)), white]),
        np.arange(len(white)) if index is None else index,
    )


# -- p-values by the law of permutations, exactly or nearly ---------------------------------------


_SMALL = 5.0  # smallest expected count below which tables are sparse
_BY_MOMENTS = "p-value by the moments of permutations"


def _null_hypothesis(names: Sequence[str]) -> str:
    """H0 in words."""
    *most, last = names
    return f"{', '.join(most)} and {last} are independent"


def _refuse_more_than_two(sizes: Sequence[int]) -> None:
    """Refuse a test of two variables where there are more."""
    if len(sizes) != 2:
        raise NotAvailable(
            f"the test compares two variables, the model has {len(sizes)}: use "
            "method='score', or a model of two of them"
        )


def smallest_expected(evidence: Evidence) -> float:
    """Smallest expected count of a pair of labels, or of values of two bits, under independence.

    Of hashed answers a label or bit is a candidate's own; there are as many in every cohort.
    """
    least = []
    for group in evidence.groups:
        rarest = []  # share of the rarest label that was seen, of bits the least to be seen
        for counts in group.variables:
            mechanism = counts.mechanism
            if mechanism.n_bits and mechanism.sensitive is not None:  # and answers are revealed
                share = counts.bit_counts().ones / counts.nobs
                rare = np.minimum(share, 1.0 - share)
                rarest.append(float(rare[rare > 0.0].min(initial=1.0)))
            elif mechanism.n_cohorts or mechanism.n_bits:
                law = mechanism.cell_law if mechanism.n_cohorts else None
                pair = (law.high, law.low) if law else (mechanism.p1, mechanism.p0)
                rarest.append(float(min(q for p in pair for q in (p, 1.0 - p) if q > 0.0)))
            else:
                seen = counts.vector()
                rarest.append(float(seen[seen > 0].min() / counts.nobs))
        least.append(float(group.nobs * prod(rarest)))
    return min(least)


def _doubt(smallest: float, by_rng: bool = True) -> str:
    """What is said of a p-value by moments where counts are small."""
    if smallest >= _SMALL:
        return ""
    approximate = f"the smallest expected count is {smallest:.2g}: the p-value is approximate"
    exact = "model.test_independence(results, rng=...) (--seed) gives an exact one"
    return f"{approximate}; {exact}" if by_rng else approximate


def _permutations(
    rng: np.random.Generator | None, n_permutations: int | None, smallest: float
) -> int:
    """How many permutations to draw: those asked for, or 999 where counts are small, or none."""
    if n_permutations is not None:
        return int(n_permutations)
    return 999 if rng is not None and smallest < _SMALL else 0


def _by_permutations(
    null: str, statistic: float, df: int, draws: Array, method: str, note: str = ""
) -> TestResult:
    """The test with the exact p-value of these permutations."""
    p = permutation.permutation_pvalue(statistic, draws)
    how = f"{method}, exact p-value by {len(draws)} permutations"
    return TestResult(null, float(statistic), float(df), p, how, note)
