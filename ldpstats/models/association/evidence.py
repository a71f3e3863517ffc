"""What the reports of several variables say: estimates of their joint distribution, and tests.

`Evidence` holds the reports by group of mechanisms, and what follows from them: margins, scores,
likelihood, moments. Tests other than the default one rest on how often each combination of reports
was seen: where that is a table of few cells results carry it, as tallies, which are never larger
for more respondents. Intervals, effects and Wald tests rest on the unconstrained estimate, from
moments.

The unconstrained estimate of bits solves the moments of the scores, which are efficient. Intervals
then need the expected information, and all moments of the scores given the true category: the
observed information is correlated with the estimate, and intervals of empty cells fail. Otherwise
the moments are of features that sum to one, if they can: the sums of others are noise, of rows and
columns too, which conditionals divide by.

Respondents who by design were asked only some of the variables enter the likelihood like others:
the report on what was not asked is equally likely in every category. The unconstrained estimate
uses their margins by least squares (`PartialMoments`). Score tests rest on those who were asked
all, `Evidence.whole`: under independence the others are informative about the margins alone.

Two variables are independent given a third if ``p_ijk = p_i.k p_.jk / p_..k``. The covariance under
the hypothesis is that at this table of the estimate, projected onto the simplex: with the law of
the reports as seen the variance of what is hardly ever reported is underestimated (where a cell is
expected once in 1,000 reports of epsilon 8, .41 of true hypotheses were rejected at .05, against
.05).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import chain, repeat
from math import prod
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, one_of, replicates
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, NotIdentified
from ldpstats.estimators.likelihood import MLE, OneStep, maximise
from ldpstats.estimators.solvers import gap_target, observed, report
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
from ldpstats.inference.tails import CellLaw, path_cumulants
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.covariance import (
    Covariance,
    Uncertain,
    project_simplex,
    project_subsimplex,
)
from ldpstats.likelihood.joint import Factor, JointMoments, JointRows, PartialMoments, unbiased_map
from ldpstats.likelihood.rows import DenseRows, Likelihood, Solution
from ldpstats.mechanisms import Mechanism
from ldpstats.models.association.groups import JointGroup, Scores, VariableSpec
from ldpstats.models.frequency.intervals import LARGEST_INFORMATION, inverse_information, stacked
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.reports.joint import ALWAYS_MERGED, JointCounts
from ldpstats.reports.single import Reports
from ldpstats.sampling.samplers import simulation_words

_PART = 0.25  # of a step: half of the correction for continuity, which is half a step
_ROUNDING = 1e-9  # of frequencies
_MANY = 10  # respondents, for each category, who tell the variance of what they report
_STRATA = 50  # respondents, over the square of the strata, from which these tell their information


# -- What the reports say: all that estimates and tests start from -------------------------------


LARGEST_LISTED = 1 << 20  # entries of a joint channel that is formed for a check
# combinations of reports that are possible, over all groups: no more than are always merged, since
# what is stored must not show the respondents one by one, in the order of their table
MOST_TALLIES = ALWAYS_MERGED


class Evidence:
    """The reports by group of equal mechanisms, what is estimated of each variable, its name."""

    def __init__(
        self,
        groups: tuple[JointGroup, ...],
        specs: tuple[VariableSpec, ...],
        names: tuple[str, ...],
    ) -> None:
        self.groups, self.specs, self.names = groups, specs, names
        self.sizes = tuple(map(attrgetter("k"), specs))
        self.nobs = sum(group.nobs for group in groups)
        # a table of few different reports: the tallies, which results carry
        self.is_table = sum(prod(group.counts.possible) for group in groups) <= MOST_TALLIES
        # candidates are not written
        self.is_stored = self.is_table and all(spec.candidates is None for spec in specs)
        self.is_complete = all(spec.complete for spec in specs)  # every answer is in some cell
        self.is_exact = all(spec.is_closed for spec in specs)  # and no "Other" is modelled

    def __reduce__(self) -> Any:
        """What is copied and stored: the reports, not what was computed from them."""
        return Evidence, (self.groups, self.specs, self.names)

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that differ whenever the reports do (BLAKE2)."""
        found = hashlib.blake2b(digest_size=8)
        for group in self.groups:
            for part in group.counts.reports:
                found.update(part.mechanism.fingerprint.encode())
                y = part.y if part.mechanism.n_bits else part.y.astype(np.int64)
                for values in (y, part.cohort):
                    found.update(b"" if values is None else np.ascontiguousarray(values).tobytes())
            found.update(np.ascontiguousarray(group.counts.n).tobytes())
        return found.hexdigest()

    # -- respondents who were asked all variables, and those who were asked some ---------------

    @cached_property
    def parts(self) -> tuple[Evidence, ...]:
        """Respondents by what they were asked, all variables first; others have one category."""
        found: dict[tuple[int, ...], list[JointGroup]] = {}
        for group in self.groups:
            found.setdefault(group.asked, []).append(group)
        if len(found) == 1 or tuple(range(len(self.specs))) not in found:
            return (self,)
        parts = []
        for asked in sorted(found, key=len, reverse=True):
            places = enumerate(self.specs)
            specs = [s if v in asked else VariableSpec(s.labels[:1]) for v, s in places]
            groups = tuple([JointGroup(group.counts, specs) for group in found[asked]])
            parts.append(Evidence(groups, tuple(specs), self.names))
        return tuple(parts)

    @property
    def whole(self) -> Evidence:
        """The respondents who were asked all variables."""
        return self.parts[0]

    @property
    def answered(self) -> tuple[tuple[tuple[str, ...], int], ...] | None:
        """Variables, and how many answered them alone, all first; None where all answered all."""
        if self.whole is self:
            return None
        each = [(part.groups[0].asked, part.nobs) for part in self.parts]
        return tuple([(tuple([self.names[v] for v in asked]), n) for asked, n in each])

    # -- each variable alone -------------------------------------------------------------------

    @cached_property
    def margins(self) -> tuple[FrequencyModel, ...]:
        """The model of each variable alone."""
        return tuple(
            FrequencyModel([group.variables[v] for group in self._asked(v)], spec.candidates)
            for v, spec in enumerate(self.specs)
        )

    def _asked(self, v: int) -> list[JointGroup]:
        """The groups that were asked a variable; all where none was."""
        return [group for group in self.groups if v in group.asked] or list(self.groups)

    @cached_property
    def _likelihoods(self) -> list[tuple[DenseRows, ...]]:
        """Likelihoods of the distinct reports of each group and variable."""
        laws: list[Array | None] = [None] * len(self.specs)
        for v, spec in enumerate(self.specs):
            if spec.approximate:
                p = project_subsimplex(self.margins[v].moments().estimate()[0])
                # noise may leave nothing for Other, whose law is then unknown: about a standard
                # error
                laws[v] = p * min(1.0, (1.0 - self.nobs**-0.5) / float(p.sum()))
        return list(map(partial(JointGroup.likelihoods, laws=laws), self.groups))

    @cached_property
    def references(self) -> tuple[Array, ...]:
        """Maximum likelihood estimate of each margin."""
        fits = []
        for v, spec in enumerate(self.specs):
            groups = self._asked(v)
            mechanism = groups[0].counts.mechanisms[v]
            if spec.complete and spec.k > 1 and not (mechanism.n_bits or mechanism.n_cohorts):
                fits.append(MLE().solve(self.margins[v].likelihood()).p)  # k-RR in closed form
                continue
            each = zip(self.groups, self._likelihoods, strict=True)
            own = [(rows[v], group.variables[v].n) for group, rows in each if group in groups]
            fits.append(MLE().solve(stacked([Likelihood(*one) for one in own])).p)
        return tuple(fits)

    def tables(self) -> list[tuple[Array, Array]]:
        """Channel, (k, l), and counts, (l,), of joint reports; none where they are not listed."""
        found = []
        for group in self.groups:
            mechanisms = group.counts.mechanisms
            listed = not any(m.n_bits or m.n_cohorts for m in mechanisms)
            if not listed or prod(m.n_outputs * m.k for m in mechanisms) > LARGEST_LISTED:
                return []
            Q = reduce(np.kron, [m.channel().matrix() for m in mechanisms])
            found.append((np.asarray(Q), group.counts.table().reshape(-1)))
        return found

    # -- all variables together ----------------------------------------------------------------

    @property
    def null(self) -> Array:
        """The cells under independence: products of the marginal fits, shape (k,)."""
        return reduce(np.kron, self.references)

    @cached_property
    def scores(self) -> tuple[Scores, ...]:
        """Scores of all reports at the marginal fits, stratum by stratum.

        The fits are moved from the boundary where they make a report impossible, since scores
        divide by its probability; any reference would do.
        """
        interior = []
        for v, p in enumerate(self.references):
            weight = 0.0
            for group in self.groups:
                Q = group.channels[v]
                if Q is not None and np.any(Q.any(axis=0) & (p @ Q <= 0.0)):
                    weight = 0.5 / self.nobs
            interior.append((1.0 - weight) * p + weight / p.size)
        strata: list[Scores] = []
        for group, rows in zip(self.groups, self._likelihoods, strict=True):
            means = tuple(map(DenseRows.mix, rows, interior))
            for part in group.slices:
                strata.append(Scores(group, part, rows, interior, means))
        return tuple(strata)

    @cached_property
    def likelihood(self) -> Likelihood:
        """The exact likelihood of all reports together, over the cells in row-major order."""
        each = zip(self.groups, self._likelihoods, strict=True)
        return stacked([Likelihood(group.joint_rows(W), group.counts.n) for group, W in each])

    @cached_property
    def moments(self) -> JointMoments:
        """Equations for the products of linear estimates of single reports."""
        if self.whole is not self:
            return self._with_partial(self.whole.moments)
        strata = tuple(chain.from_iterable(map(JointGroup.linear_strata, self.groups)))
        return JointMoments(strata, self.names, self.nobs, self.is_complete)

    @cached_property
    def dual_moments(self) -> JointMoments:
        """Equations for the products of the scores at the marginal fits (see `OneStep`)."""
        if self.whole is not self:
            return self._with_partial(self.whole.dual_moments)
        strata = tuple(map(Scores.stratum, self.scores))
        return JointMoments(strata, self.names, self.nobs, self.is_complete)

    def _with_partial(self, whole: JointMoments) -> JointMoments:
        """These moments, with partial answers where their variance can be estimated."""
        used: list[JointMoments] = []
        for part in self.parts[1:] if whole.k <= LARGEST_INFORMATION else ():
            problem = part.dual_moments
            told = problem.strata[0].alphabets is not None or part.nobs > _MANY * problem.k
            with suppress(NotIdentified):
                if told and problem.inverses:
                    used.append(problem)
        facts = whole.strata, whole.names, whole.nobs, whole.complete
        return PartialMoments(*facts, partial=tuple(used)) if used else whole


def simulated(evidence: Evidence, p: Array, rng: np.random.Generator) -> Evidence:
    """As many simulated respondents, whose true cells have law p; cohorts stay."""
    if not evidence.is_exact:
        raise NotAvailable(
            "the law of answers that are not among the candidates is not known: nothing can be "
            "simulated; use method='score'"
        )
    specs = evidence.specs
    labels = [spec.labels for spec in specs]
    drawn = (group.counts.simulated(p, labels, rng) for group in evidence.groups)
    return Evidence(tuple(JointGroup(counts, specs) for counts in drawn), specs, evidence.names)


# -- Tallies: what results carry of the evidence, and how it is stored ----------------------------


@dataclass(frozen=True)
class Tallies(Document):
    """What results carry of the evidence: whether all answers are listed, by variable; groups."""

    complete: tuple[bool, ...]
    groups: tuple[_Tally, ...]

    @classmethod
    def of(cls, evidence: Evidence | None) -> Tallies | None:
        """The tallies; None over candidates, and for a mechanism of one's own."""
        if evidence is None or not evidence.is_stored:
            return None
        groups = []
        for counts in map(attrgetter("counts"), evidence.groups):
            try:
                for mechanism in counts.mechanisms:
                    Mechanism.from_dict(mechanism.to_dict())
            except LDPError:  # of a class that is not the package's
                return None
            y, cohorts = zip(*((part.y, part.cohort) for part in counts.reports), strict=True)
            groups.append(_Tally(counts.mechanisms, y, cohorts, counts.n))
        return cls(tuple(spec.complete for spec in evidence.specs), tuple(groups))

    def evidence(
        self,
        names: tuple[str, ...],
        labels: Sequence[pd.Index[Any]],
        others: Sequence[str],
        digest: str,
    ) -> Evidence:
        """The evidence of results with this digest."""
        parts = zip(labels, others, self.complete, strict=True)
        specs = tuple(VariableSpec(own, None, other, listed) for own, other, listed in parts)
        groups = []
        for group in self.groups:
            reports = []
            each = zip(group.mechanisms, group.reports, group.cohorts, strict=True)
            for mechanism, y, cohort in each:
                values = np.asarray(y, dtype=np.uint8 if mechanism.n_bits else np.int64)
                at = None if cohort is None else np.asarray(cohort, dtype=np.int64)
                reports.append(Reports(values, mechanism, cohort=at))
            groups.append(JointGroup(JointCounts(reports, group.n), specs))
        found = Evidence(tuple(groups), specs, names)
        if found.digest != digest:
            remedy = "is not that of the tallies: the document was changed or damaged"
            raise InvalidArgument("digest", digest, remedy)
        return found


@dataclass(frozen=True)
class _Tally:
    """The distinct combinations of reports in a group, (u,), of each variable; how often, (u,)."""

    mechanisms: tuple[Mechanism, ...]
    reports: tuple[Any, ...]
    cohorts: tuple[Any, ...]
    n: npt.NDArray[np.integer[Any]]


# -- The unconstrained estimate ------------------------------------------------------------------


def unconstrained(evidence: Evidence, by_name: bool) -> JointMoments:
    """The moments that intervals and effects rest on (see the head), or linear ones `by_name`."""
    bits = any(m.n_bits for group in evidence.groups for m in group.counts.mechanisms)
    apt = bits and not by_name and evidence.is_exact and not _small_strata(evidence)
    channels = chain.from_iterable(group.channels for group in evidence.groups if apt)
    if apt and all(Q is not None for Q in channels):
        with suppress(NotIdentified):
            if evidence.dual_moments.inverses:
                return evidence.dual_moments
    if evidence.is_complete:
        with suppress(NotIdentified):  # of one stratum alone
            return evidence.moments.summing_to_one()
    return evidence.moments


def rests_on(evidence: Evidence, linear: Uncertain) -> JointMoments | None:
    """The moments that an unconstrained estimate solves; None where it is of none of them."""
    for by_name in (False, True):
        with suppress(NotIdentified):
            problem = unconstrained(evidence, by_name)
            if np.allclose(problem.estimate()[0], linear.estimate, rtol=0.0, atol=_ROUNDING):
                return problem
    return None


def _small_strata(evidence: Evidence) -> bool:
    """Whether strata are so small that the noise of their own information biases the dual.

    The bias is of the order of the number of strata over n, the standard error of 1/sqrt(n).
    """
    strata = len(evidence.moments.strata)
    return strata > 1 and evidence.whole.nobs < _STRATA * strata**2


def covariance_of(problem: JointMoments) -> Covariance | None:
    """Covariance of the estimate that solves the moments; None where it is too large.

    Of more cells than a matrix is formed for it is a diagonal and a low rank, where features allow.
    """
    return problem.covariance() if problem.k <= LARGEST_INFORMATION else problem.factored


def dispersion(evidence: Evidence) -> float:
    """What variances grow by because answers that are not listed hash to the same cells."""
    if evidence.is_exact:
        return 1.0
    return 1.0 + sum(margin.dispersion - 1.0 for margin in evidence.margins)


def cell_law(evidence: Evidence, problem: JointMoments, V: Covariance | None) -> CellLaw | None:
    """Cumulants of the estimate of each cell along its path; None where they are not known."""
    if not evidence.is_exact:
        return None
    matrix = V.matrix() if V is not None and problem.k <= LARGEST_INFORMATION else None
    k, p = problem.k, problem.in_errors
    variance, third = np.zeros((k, 3)), np.zeros((k, 4))
    step, doubt = np.zeros((2, k))
    for stratum, solve, N, cells in problem.sources:
        moments = stratum.path_moments(p, solve, matrix, cells)
        if moments is None:
            return None
        own, rest, reach, share, unsure = moments
        weight = stratum.nobs / N
        second, cubic = path_cumulants(own, rest, stratum.nobs)
        variance += weight**2 * second
        third += weight**3 * cubic
        step = np.maximum(step, reach * share / N)
        doubt += (weight / N) * np.sqrt(unsure)  # strata share what is in doubt
    return CellLaw(variance, third, _PART * step, doubt**2)


# -- the likelihood ----------------------------------------------------------------------------


def maximum(evidence: Evidence, estimator: MLE | None = None) -> Solution:
    """The maximum of the likelihood, from the dual estimate or the margins' product if likelier."""
    estimator, problem, start = estimator or MLE(), evidence.likelihood, evidence.null
    target = gap_target(problem.nobs, estimator.tol)
    with suppress(NotIdentified):
        dual = project_simplex(evidence.dual_moments.estimate()[0])
        start = max(start, dual, key=problem.loglike)
    (W, n), by_step = observed(problem), estimator.tol is None
    top, how = maximise(W, n, target, by_step, estimator.max_iter, start)
    return report(top, problem.nobs, how, target)


def one_step(evidence: Evidence, estimator: OneStep) -> tuple[Solution, Covariance | None, str]:
    """The dual estimate, its covariance and what that is; with Newton steps if asked for."""
    if _small_strata(evidence):
        strata = len(evidence.moments.strata)
        raise NotAvailable(
            f"one_step is biased in {strata} strata of {evidence.whole.nobs} respondents in all, "
            f"fewer than {_STRATA} times the square of the strata: use method='mle' or 'inversion'"
        )
    problem = evidence.dual_moments
    solution = estimator.solve(problem)
    if not estimator.newton:
        return solution, covariance_of(problem), "dual"
    p = solution.p
    for _ in range(estimator.newton):
        start = project_simplex(p)
        V, kind = information(evidence, start, False)
        if V is None:
            raise NotAvailable(f"Newton steps over {problem.k} cells: use method='mle'")
        p = start + V.matrix() @ (evidence.likelihood.score(start) - evidence.nobs)
    how = f"{solution.message}, then {estimator.newton} Newton step(s)"
    return Solution(p, np.nan, estimator.newton, True, how), V, kind


def information(evidence: Evidence, p: Array, unconstrained: bool) -> tuple[Covariance | None, str]:
    """Covariance of a likelihood estimate at p, and of what information.

    Expected where all reports can be listed and are complete, else observed.
    """
    if p.size > LARGEST_INFORMATION:
        return None, "none (too large)"
    free, J, kind = np.ones(p.size, dtype=bool), np.zeros((p.size,) * 2), "expected"
    for group in evidence.groups:
        free &= group.uncertain(p)
        if group.listed is None or kind == "observed":
            kind = "observed"
            continue
        rows = group.listed[0]
        law = rows.mix(p)
        J += rows.gram(np.divide(group.nobs, law, out=np.zeros_like(law), where=law > 0.0))
    J = evidence.likelihood.information(p) if kind == "observed" else J
    # a cell whose reports were never seen is known
    return inverse_information(J[np.ix_(free, free)], free, unconstrained, kind)


def z_values(departure: Array, se: Array) -> Array:
    """Departures in standard errors; zero where there is nothing to vary."""
    return np.divide(departure, se, out=np.zeros_like(se), where=se > 0.0)


# -- Tests of independence and of a trend ---------------------------------------------------------

# Score tests ask whether the scores of the reports of two variables are correlated, in any way or
# in a trend. They need no joint estimate, so that no boundary matters; their p-value is that of
# permuted reports. For three or more variables the scores are whitened, variable by variable; if
# the variables are independent, all products of those of two or more are uncorrelated with variance
# one.
METHODS = ("score", "wald", "lr", "pearson", "bootstrap", "fpe16")


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


def wald_test(
    names: Sequence[str],
    P: Array,
    covariance: Callable[[], Covariance],
    smallest: float,
    method: str,
) -> TestResult:
    """Wald's test of a two-way table P; `smallest` is its smallest expected count."""
    if P.size > LARGEST_INFORMATION:
        raise NotAvailable(f"a Wald test needs the covariance of {P.size} cells: use 'score'")
    try:
        statistic, df = association.wald_independence(P, covariance())
    except NotIdentified:
        raise NotAvailable(
            "a Wald test needs more reports: without noise, cells that were never reported leave "
            "directions without a variance; use method='score'"
        ) from None
    note = ""
    if smallest < _SMALL:
        note = (
            f"the smallest expected count is {smallest:.2g}: a Wald test rejects too often; use "
            "method='score'"
        )
    return TestResult.chi_square(null_hypothesis(names), statistic, df, method, note)


def pearson_test(
    evidence: Evidence,
    rng: np.random.Generator | None,
    n_permutations: int | None,
    advance: Callable[[float], None],
) -> TestResult:
    evidence = evidence.whole
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
    null, method = null_hypothesis(evidence.names), "Pearson chi-square of the privatised table"
    smallest = association.smallest_expected(table)
    B = _permutations(rng, n_permutations, smallest)
    if B and rng is not None:
        x, y = ([np.eye(size)] for size in table.shape)
        draws = permutation.permuted_table_scores([table], x, y, B, rng, advance)
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
    null, df = null_hypothesis(names), mutual_df(sizes)
    return TestResult.chi_square(null, statistic, df, "likelihood ratio test", note)


def mutual_df(sizes: Sequence[int]) -> int:
    """Degrees of freedom of mutual independence."""
    return prod(sizes) - sum(k - 1 for k in sizes) - 1


def likelihood_ratio(evidence: Evidence, fitted: Array | None = None) -> float:
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
    evidence = evidence.whole
    if len(evidence.sizes) > 2:
        return _mutual_test(evidence, rng, n_permutations, advance)
    strata = evidence.scores
    parts, (k1, k2) = [scores.cross_moments for scores in strata], evidence.sizes
    space, expected = Whitening.of(parts), (k1 - 1, k2 - 1) if evidence.is_complete else None
    score = association.score(parts, expected, space)
    null, smallest = null_hypothesis(evidence.names), smallest_expected(evidence)
    method = "score test on the marginal fits"
    if len(strata) > 1:
        method += f", within {len(strata)} strata"
    B = _permutations(rng, n_permutations, smallest)
    if not B or rng is None:
        law = strata, parts, space, (None, None)
        return _by_moments(null, score.statistic, score.df, law, smallest, method, score.note)
    if all(scores.is_dense for scores in strata):
        tables, *rows = zip(*(scores.table for scores in strata), strict=True)
        x, y = (list(map(Scores.centred, strata, repeat(v), rows[v])) for v in (0, 1))
        draws = permutation.permuted_table_scores(tables, x, y, B, rng, advance)
    else:
        x, y = ([s.of_respondents(v, s.part).repeat(s.n, axis=0) for s in strata] for v in (0, 1))
        draws = permutation.permuted_scores(x, y, B, rng, advance)
    return _by_permutations(null, score.statistic, score.df, draws, method, score.note)


def trend_test(evidence: Evidence, u: Array, v: Array) -> TestResult:
    """Linear-by-linear trend of the scores u and v of the categories."""
    evidence = evidence.whole
    strata = evidence.scores
    each = [scores.cross_moments for scores in strata]
    # what takes the scores to features that are unbiased over all strata
    inverses = []
    for axis, name in enumerate(evidence.names):
        response = sum(  # information: of labels as expected, of other reports as observed
            s.n.sum() / evidence.nobs * s.information(axis, s.group.labels[axis] is None)
            for s in strata
        )
        inverses.append(unbiased_map(np.asarray(response), name))
    # the scores of categories as combinations of those of reports, which lack a one
    parts, (z, _, correlation), maps = association.scored_trend(each, u, v, inverses)
    law = strata, parts, Whitening.of(parts), [own[:, None] for own in maps]
    null = f"{evidence.names[0]} and {evidence.names[1]} have no linear-by-linear trend"
    how = "linear-by-linear trend (z), on the reports"
    note = f"estimated correlation of the scores {correlation:.3g}"
    test = _by_moments(null, z**2, None, law, smallest_expected(evidence), how, note)
    return replace(test, statistic=z)


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
    freedom, tables = None if df is None else float(df), list[Array]()
    features: tuple[list[Array], list[Array]] = ([], [])
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
    from scipy.special import gammaln

    if len(evidence.scores) > 1:
        raise NotAvailable(
            "mutual independence of three or more variables is tested in one group without shared "
            "cohorts: test pairs of them"
        )
    (scores,), N = evidence.scores, evidence.nobs
    group = scores.group
    factors, codes = [], []
    for v, name in enumerate(evidence.names):
        # a one and the whitened scores of each of the distinct reports
        centred, n = scores.centred(v, slice(None)), group.variables[v].n
        mean = n @ centred / n.sum()
        square = (centred.T * n) @ centred / n.sum()
        W = whiten(square - np.outer(mean, mean), np.diagonal(square))
        if not len(W):
            raise unvarying(name)
        white, index = np.insert((centred - mean) @ W.T, 0, 1.0, axis=1), group.index[v]
        factors.append(Factor(white, np.arange(len(white)) if index is None else index))
        if scores.repeats:
            codes.append(scores.distinct(v)[0])
    ranks = [factor.W.shape[1] - 1 for factor in factors]
    varying = np.indices([r + 1 for r in ranks]).astype(bool).sum(axis=0).reshape(-1) >= 2

    def statistic(rows: JointRows, n: Array) -> float:
        return float(np.sum((rows.adjoint(n) / N)[varying] ** 2)) * N

    observed = statistic(JointRows(tuple(factors)), group.counts.n)
    df = mutual_df([r + 1 for r in ranks])
    null, method = null_hypothesis(evidence.names), "score test of mutual independence"
    smallest = smallest_expected(evidence)
    B = _permutations(rng, n_permutations, smallest)
    if not B or rng is None:
        white = []  # the law of the statistic when the reports of each variable are permuted
        for factor, rank, counts in zip(factors, ranks, group.variables, strict=True):
            rows = blocks_of(factor.W[:, 1:], counts.n)
            white.append(Spread.of(rows, np.zeros(rank), np.eye(rank)))
        law = Cumulants.of_moments(*(np.array(moments(white)) / N ** np.arange(1.0, 4.0)).tolist())
        p = law.pvalue(observed)
        if codes:
            # that of the combinations of reports that were seen, given how often each report was;
            # next to nothing where reports hardly ever repeat and are many
            n = group.counts.n
            cells = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(-1)
            total = -gammaln(np.bincount(cells, n) + 1.0).sum()
            total += sum(gammaln(np.bincount(code, n) + 1.0).sum() for code in codes)
            p = max(p, float(np.exp(total - (len(codes) - 1) * gammaln(N + 1.0))))
        how = f"{method}, {_BY_MOMENTS}"
        return TestResult(null, observed, float(df), p, how, _doubt(smallest))
    each = np.repeat(np.arange(len(group.counts.n)), group.counts.n)
    places = [each if index is None else index[each] for _, index, _ in factors]
    draws = np.empty(B)
    for i in range(B):
        drawn: list[Factor] = []
        for factor, place in zip(factors, places, strict=True):
            drawn.append(Factor(factor.W, place[rng.permutation(N)] if drawn else place))
        draws[i] = statistic(JointRows(drawn), np.ones(N))
        advance((i + 1) / B)
    return _by_permutations(null, observed, df, draws, method)


# -- p-values by the law of permutations, exactly or nearly ---------------------------------------


_SMALL = 5.0  # smallest expected count below which tables are sparse
_BY_MOMENTS = "p-value by the moments of permutations"


def null_hypothesis(names: Sequence[str]) -> str:
    """H0 in words."""
    *most, last = names
    return f"{', '.join(most)} and {last} are independent"


def smallest_expected(evidence: Evidence) -> float:
    """Smallest expected count of a pair of labels, or of values of two bits, under independence.

    Of hashed answers a label or bit is a candidate's own; there are as many in every cohort.
    """
    least = []
    for group in evidence.whole.groups:
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
    exact = "; model.test_independence(results, rng=...) (--seed) gives an exact one" * by_rng
    return f"the smallest expected count is {smallest:.2g}: the p-value is approximate{exact}"


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
