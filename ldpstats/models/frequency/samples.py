"""Tests that groups of respondents have the same distribution, and how two of them differ.

Pearson's test of labels; a score test of whole reports of bits or blocks; Wald's test of the
estimates otherwise. The score test asks whether the scores of the reports at the pooled frequencies
depend on the group: the estimates of the groups, one Newton step from there, are means of scores.
Under the null reports of one mechanism may change groups, whatever their law is, so that the test
keeps its level in groups of any size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, level, listed, one_of
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference import goodness
from ldpstats.inference import tests as tests_
from ldpstats.inference.goodness import SMALLEST_EXPECTED, group_sums, rare_groups
from ldpstats.inference.tables.independence import CrossMoments, Whitening, score, smallest_expected
from ldpstats.inference.tables.permutation import (
    Cumulants,
    blocks_of,
    log_probability,
    score_cumulants,
)
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.covariance import Covariance
from ldpstats.likelihood.moments import Moments
from ldpstats.likelihood.rows import Likelihood
from ldpstats.models.frequency.answers import difference_rows
from ldpstats.models.frequency.intervals import OneStep, effective_counts
from ldpstats.models.frequency.model import Data, FrequencyModel, refuse_shared_persons, reports_in
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.frequency.tests import (
    all_candidates,
    by_moments,
    contrasts,
    plug_in,
    rare_categories,
    together,
)
from ldpstats.models.layout import names_alpha

_REPEATED = 1 << 12  # kinds of reports beyond which what was seen has next to no probability

METHODS = ("default", "pearson", "wald")


def homogeneity_test(
    groups: Sequence[Data | Sequence[Data]], method: str = "default", candidates: Any = None
) -> TestResult:
    """Test that several groups of respondents have the same distribution.

    Parameters
    ----------
    groups : sequence of Reports, Counts or BitCounts, or of lists of them
        Reports of at least two groups, over the same categories, of different persons.
    method : {"default", "pearson", "wald"}
        "pearson": chi-square on the privatised g x l table; needs one mechanism for all groups.
        "wald": contrasts of the linear estimates with covariances pooled under the null; the groups
        may have different mechanisms or epsilon. The default is "pearson" where it applies; for
        whole reports of bits, or of blocks, by the same mechanisms in all groups a score test of
        these reports; else "wald". Categories that are expected in fewer than five reports are
        tested together.
    candidates : sequence of str or CandidateMap, optional
        Values to compare the frequencies of; for mechanisms with an open alphabet only.

    Returns
    -------
    TestResult
        With (g - 1)(k - 1) degrees of freedom. For two groups it is that of `two_sample_test`.
        Where groups are small its p-value is not that of chi-square, and `method` says so: it comes
        from the moments that the statistic has if reports are permuted between groups, or those
        under the pooled frequencies.

    Raises
    ------
    InvalidArgument
        If there are fewer than two groups, one is empty, two share persons (by their `ids`), or the
        method is unknown.
    MechanismMismatch
        For groups over different categories.
    NotAvailable
        For Pearson's test of reports that are not labels of one mechanism.

    See Also
    --------
    GroupedModel : ``fit().differences()`` says which groups differ, and by how much.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    >>> groups = [krr.counts(n) for n in ([50, 30, 20], [20, 40, 40], [30, 30, 40])]
    >>> print(ldp.homogeneity_test(groups))
    Pearson chi-square of the privatised reports
      H0: all groups have the same distribution
      statistic 24, df 4, p-value 7.987e-05
    """
    remedy = "must be a list of at least two groups, for example [north, south, west]"
    several = listed("groups", groups, remedy)
    if len(several) < 2:
        raise InvalidArgument("groups", groups, remedy)
    named = {f"groups[{i}]": data for i, data in enumerate(several)}
    return homogeneity(compared(named, candidates), one_of("method", method, METHODS))


def compared(groups: dict[str, Any], candidates: Any) -> list[FrequencyModel]:
    """Models of the groups, by the arguments' names; refused if empty or of the same persons."""
    for name, data in groups.items():
        if reports_in(data) == 0:
            raise InvalidArgument(name, 0, "holds no report: there is nothing to compare")
    models = [FrequencyModel(data, candidates) for data in groups.values()]
    refuse_shared_persons(groups)
    return models


def homogeneity(models: Sequence[FrequencyModel], method: str) -> TestResult:
    """Test that the groups of these models have the same distribution."""
    sources = [source for model in models for source in model.sources]
    pooled = FrequencyModel(sources, models[0].candidates)  # refuses other categories
    maker, mechanisms = sources[0].mechanism, [source.mechanism for source in sources]
    alike = len(sources) == len(models) and all(mechanism == maker for mechanism in mechanisms)
    # where cohorts differ in size by chance reports are no labels of one law
    closed = not pooled.moments().is_open and maker.n_cohorts == 1
    labels = alike and not maker.n_bits and (closed or not maker.n_cohorts)
    if method == "pearson" and not labels:
        raise NotAvailable(
            "Pearson's test needs reports of one mechanism that are labels: use method='wald'"
        )
    null = f"{'both' if len(models) == 2 else 'all'} groups have the same distribution"
    if labels and method != "wald":
        return _pearson(sources, null)
    if method == "default" and pooled._one_step is not None:
        first, *others = [[source.mechanism for source in side.sources] for side in models]
        if all(len(one) == len(first) and all(q in one for q in first) for one in others):
            return _score(models, pooled._one_step, null)
    p = plug_in(pooled.moments()) if pooled._reference is None else pooled._reference
    return _wald(models, p, alike, null)


def _pearson(sources: Sequence[Any], null: str) -> TestResult:
    """Pearson's chi-square of the g x l table of labels."""
    seen = np.array([source.vector().reshape(-1) for source in sources])
    share = seen.sum(axis=1).min() / seen.sum()
    group = rare_groups(seen.sum(axis=0) * share)
    table = np.array([group_sums(row, group) for row in seen])
    statistic, df = (float(value) for value in goodness.several_samples_pearson(table))
    how = "Pearson chi-square of the privatised reports"
    smallest = smallest_expected(table)
    if smallest >= SMALLEST_EXPECTED:
        return TestResult.chi_square(null, statistic, df, how, together(group))
    # the chi-square law fails where counts are small; that of permuted reports is as sparse
    law = Cumulants.of_table(table)
    doubt = f"the smallest expected count is {smallest:.2g}: the p-value is approximate"
    note = "; ".join(filter(None, (together(group), doubt)))
    how = f"{how}, p-value by the moments of permutations"
    return TestResult(null, statistic, df, law.pvalue(statistic), how, note)


def _score(sides: Sequence[FrequencyModel], pooled: OneStep, null: str) -> TestResult:
    """Do the scores of reports at the pooled frequencies depend on the group?"""
    makers = [source.mechanism for source in sides[0].sources]
    at = [[[s.mechanism for s in side.sources].index(maker) for side in sides] for maker in makers]
    reports = [[side._likelihoods[i] for side, i in zip(sides, row, strict=True)] for row in at]
    channels = tuple(maker.channel() for maker in makers)
    laws = [  # of each group, with its reports by each mechanism
        replace(pooled, channels=channels, reports=tuple(one.nobs for one in group))
        for group in zip(*reports, strict=True)
    ]
    group = rare_groups(effective_counts(laws, pooled.reference))
    step = pooled.covariance().core @ (group[:, None] == np.arange(group.max() + 1))
    start, several = pooled.start, np.eye(len(sides))

    def scores(of: Sequence[Likelihood]) -> Iterator[tuple[Array, Array]]:
        for one in of:
            for rows, W in one.W.blocks():
                yield (W / (W @ start)[:, None]) @ step, one.n[rows].astype(np.float64)

    parts, x, y = [], [], []
    for stratum in reports:
        sizes = np.array([float(one.nobs) for one in stratum])
        blocks = [list(scores([one])) for one in stratum]
        N, sums = sizes.sum(), [[n @ each for each, n in one] for one in blocks]
        cross = np.array([np.sum(one, axis=0) for one in sums]) / N
        gram = np.sum([(each.T * n) @ each for one in blocks for each, n in one], axis=0) / N
        shares = sizes / N
        parts.append(CrossMoments(int(N), cross, shares, cross.sum(axis=0), np.diag(shares), gram))
        x.append(blocks_of(several, sizes))
        y.append(partial(scores, stratum))
    how = "score test of the reports, p-value by the moments of permutations"
    try:
        space = Whitening.of(parts)
    except NotIdentified:  # all reports are alike, and tell nothing of groups
        return TestResult.chi_square(null, 0.0, 0, how)
    test = score(parts, space=space)
    p = score_cumulants(space, parts, x, y).pvalue(test.statistic)
    chance = 0.0  # of who made which reports of a mechanism, given how often each was made
    for row in at:
        seen: list[Any] = [side.sources[i] for side, i in zip(sides, row, strict=True)]
        made = np.concatenate([source.y for source in seen])
        kinds = np.unique(made, axis=0, return_inverse=True)[1].reshape(-1)
        table = np.zeros((len(seen), kinds.max() + 1))
        of = np.repeat(np.arange(len(seen)), [len(source.y) for source in seen])
        np.add.at(table, (of, kinds), np.concatenate([source.n for source in seen]))
        chance += float(log_probability(table)) if kinds.size <= _REPEATED else -math.inf
    p = max(p, test.pvalue, math.exp(chance))
    return TestResult(null, test.statistic, float(test.df), p, how, together(group))


def _wald(sides: Sequence[FrequencyModel], p: Array, alike: bool, null: str) -> TestResult:
    """Contrasts of the linear estimates, with the covariances at the pooled frequencies p."""
    steps = [side._one_step.at(p) for side in sides if side._one_step is not None]
    by_score = len(steps) == len(sides)
    problems: Sequence[Moments] = steps if by_score else [side._inference for side in sides]
    if not by_score and alike and len(sides) == 2:
        # over an open alphabet answers that are not listed cancel, hash by hash, if two groups have
        # the same mechanism and weights; else all allow for them
        matched = sides[0].moments().matched(sides[1].moments())
        problems = problems if matched is None else matched
    estimates = [problem.estimate()[0] for problem in problems]
    V = [problem.covariance(p) for problem in problems]
    how = "covariance pooled under the null"
    if any(problem.is_open for problem in problems):
        # candidates need not sum to one: each group is compared with the mean of those before it
        mean, W, found, df = estimates[0], V[0], 0.0, 0
        R, zero = np.eye(mean.size), np.zeros(mean.size)
        for estimate, more in zip(estimates[1:], V[1:], strict=True):
            value, freedom = tests_.wald(R, zero, mean - estimate, W + more)
            found, df = found + value, df + freedom
            if len(estimates) > 2:
                dense = W.matrix()
                share = dense @ np.linalg.pinv((W + more).matrix(), hermitian=True)
                mean = mean - share @ (mean - estimate)
                W = Covariance.dense(dense - share @ dense)
        how = f"Wald on all candidates, {how}"
        return all_candidates(null, (found, df), problems, how)
    if by_score:
        group = rare_groups(effective_counts(steps, p))
    else:
        group = rare_categories([side.problems for side in sides], p)
    sums = [group_sums(estimate, group) for estimate in estimates]
    statistic, df = goodness.several_samples_wald(sums, [v.merged(group) for v in V])
    note = together(group)
    test = TestResult.chi_square(null, float(statistic), df, f"Wald, {how}", note)
    first, others = -np.ones((len(sides) - 1, 1)), np.eye(len(sides) - 1)
    return by_moments(test, problems, p, np.kron(np.hstack([first, others]), contrasts(group)))


# -- Test that two groups of respondents have the same distribution, and how they differ ----------


@dataclass(frozen=True, slots=True)
class TwoSampleResult(TestResult):
    """Outcome of a test of two groups, and the frequencies of both.

    Parameters
    ----------
    null, statistic, df, pvalue, method, note
        As in `TestResult`.
    groups : tuple of two FrequencyResults
        The fits of the first and the second group; empty where the reports do not determine the
        frequencies of each, which a test of their reports can do without.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("a", "b"), epsilon=1.0)
    >>> test = ldp.two_sample_test(krr.counts([500, 400]), krr.counts([450, 450]))
    >>> test.differences().round(3)
       estimate     se  lower  upper  pvalue
    a      0.12  0.051   0.02   0.22   0.018
    b     -0.12  0.051  -0.22  -0.02   0.018
    """

    groups: tuple[FrequencyResults, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        TestResult.__post_init__(self)
        kinds = [type(one) for one in self.groups] if isinstance(self.groups, tuple) else None
        if kinds not in ([], [FrequencyResults] * 2):
            remedy = "must be the FrequencyResults of two groups, or an empty tuple"
            raise InvalidArgument("groups", self.groups, remedy)

    @names_alpha
    def differences(self, alpha: float = 0.05) -> pd.DataFrame:
        """Frequencies of the first group minus those of the second.

        Estimates and standard errors are those of the unconstrained estimates. The interval holds
        all differences that two one-sided score tests of level alpha/2 do not reject, with the
        variances and the skewness that both estimates have then; the p-value is that of no
        difference, and agrees with the interval. Neither is adjusted for the number of categories.

        Returns
        -------
        DataFrame, one row per category
            "estimate", "se", "lower", "upper", "pvalue".

        Raises
        ------
        NotAvailable
            Where the reports do not determine the frequencies, or they have no standard errors.

        References
        ----------
        Miettinen, O. and Nurminen, M. (1985), Statistics in Medicine 4, 213-226.
        """
        if not self.groups:
            raise NotAvailable("the reports do not determine the frequencies of each group")
        first, second = self.groups
        return difference_rows([(first, second)], level(alpha)).set_axis(first.categories)


def two_sample_test(
    first: Data | Sequence[Data],
    second: Data | Sequence[Data],
    method: str = "default",
    candidates: Any = None,
) -> TwoSampleResult:
    """Test that two groups of respondents have the same distribution.

    Parameters
    ----------
    first, second : Reports, Counts or BitCounts, or lists of them
        Reports of the two groups, over the same categories, of different persons.
    method, candidates
        As for `homogeneity_test`.

    Returns
    -------
    TwoSampleResult
        A `TestResult` whose `differences` are those of the frequencies, with intervals.

    Raises
    ------
    InvalidArgument, MechanismMismatch
        As `homogeneity_test`; answers of the same persons are not independent, see
        `AssociationModel`.

    See Also
    --------
    GroupedModel : of several groups the frequencies, and with ``fit().differences()`` how they
        differ, with p-values adjusted for all comparisons.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    >>> north, south = krr.counts([500, 300, 200]), krr.counts([450, 350, 200])
    >>> test = ldp.two_sample_test(north, south)
    >>> test.df
    2.0
    >>> test.differences().round(2)
       estimate    se  lower  upper  pvalue
    a      0.14  0.06   0.02   0.26    0.03
    b     -0.14  0.06  -0.25  -0.02    0.02
    c      0.00  0.05  -0.10   0.10    1.00
    >>> differences = ldp.GroupedModel({"south": south, "north": north}).fit().differences()
    >>> differences[["estimate", "pvalue", "pvalue_holm"]].round(2)
                    estimate  pvalue  pvalue_holm
    group category
    north a             0.14    0.03         0.05
          b            -0.14    0.02         0.05
          c             0.00    1.00         1.00
    """
    if isinstance(method, Data):
        remedy = "is a third group: homogeneity_test([north, south, west]) tests several, and "
        remedy += "GroupedModel({'north': north, ...}).fit().differences() compares them"
        raise InvalidArgument("method", method, remedy)
    method = one_of("method", method, METHODS)
    models = compared({"first": first, "second": second}, candidates)
    test = homogeneity(models, method)
    fits: tuple[FrequencyResults, ...] = ()
    with suppress(NotAvailable, NotIdentified):
        fits = tuple(model.fit_quietly() for model in models)
    return TwoSampleResult(**asdict(test), groups=fits)
