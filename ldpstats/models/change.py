"""Change of the frequencies between two waves of the same respondents.

With unbiased features ``g(y)`` of a report, ``E[g_j | x] = 1{x = j}``, the number ``f_j =
g2_j(y2) - g1_j(y1)`` of a respondent has the mean ``p2_j - p1_j``, and the estimate is its mean
over the respondents. Without noise f is 1 for those who moved to j, -1 for those who left it, and 0
for all others. Its second moment is that of the noise plus the turnover of the category, the share
of those who moved to it or left it: at each change its maximum likelihood estimate given that
change, as in Tango's score interval for paired proportions.

Under the null E f = 0 and the covariance is ``n^-1 E f f'``: without noise the test is McNemar's or
the Stuart-Maxwell test.

References
----------
Tango, T. (1998), Statistics in Medicine 17, 891-908. Stuart, A. (1955), Biometrika 42, 412-416.
Maxwell, A. E. (1970), British Journal of Psychiatry 116, 651-655.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields, replace
from functools import partial
from itertools import repeat
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    boolean,
    level,
    one_of,
    positive_integer,
    record,
)
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.estimators.base import Estimator
from ldpstats.inference import intervals
from ldpstats.inference.goodness import group_sums, rare_groups
from ldpstats.inference.intervals import edge_normal
from ldpstats.inference.tables.ratio import Effect
from ldpstats.inference.tails import (
    CellLaw,
    continuity,
    path_cumulants,
    skewed_pvalue,
    standardised,
)
from ldpstats.inference.tests import TestResult, pvalue_text, wald, z_test
from ldpstats.labels import Labels
from ldpstats.likelihood.covariance import Covariance, Uncertain, finite_array
from ldpstats.likelihood.joint import Alphabet
from ldpstats.mechanisms import CustomMechanism, Panel
from ldpstats.models import plots
from ldpstats.models.association.evidence import Evidence, rests_on
from ldpstats.models.association.groups import (
    UNASKED,
    prepared,
    refuse_shared,
    together,
    variable_names,
)
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Body,
    Fit,
    Frame,
    Heading,
    Pair,
    closing_notes,
    decimals,
    distinct_lines,
    estimator_text,
    figures,
    interval_note,
    one_line,
    outcome_notes,
    tidy_names,
    title,
)
from ldpstats.models.plots import (
    axis_labels,
    draw_estimates,
    interval_name,
    plot_rows,
    sorts,
    title_text,
)
from ldpstats.models.results import Results, missing_notes
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpstats.models.results import ContrastLaw
    from ldpstats.models.weighted.results import WeightedResults

_WAVES = ("first", "second")
_FEWEST = 10  # respondents whose reports show the variance of a change of the margins


def change(
    first: Any,
    second: Any,
    name: str | None = None,
    waves: Sequence[str] | None = None,
    candidates: Any = None,
    method: str | Estimator[Any] | None = None,
    memoised: bool | None = None,
    partial: bool = False,
) -> ChangeResults | WeightedResults:
    """Change of the frequencies between two waves of the same respondents.

    Parameters
    ----------
    first, second : Reports, or pairs (Reports, mask)
        Reports of the same respondents in two waves, over the same categories; mechanisms and
        epsilon may differ. They are matched by their identifiers (`Reports.ids`), else row by row;
        a mask, bool of shape (N,), says which of N rows the reports are of. Respondents without
        both are left out and counted.
    name : str, optional
        Name of the variable; that of the reports by default, if they share one.
    waves : sequence of str, optional
        Names of the two waves; by default those of the reports, if they differ, or "first" and
        "second".
    candidates : sequence, optional
        Categories to keep; all others become one, "Other". Needed over an open alphabet; with
        ``memoised=True`` these are then taken to be all answers.
    method : str or Estimator, optional
        As in `AssociationModel.fit`: the estimator of the joint distribution, which `params` come
        from. Intervals and tests do not depend on it, unless moments are asked for by name.
    memoised : bool, optional
        Whether both reports of a person rest on one permanent response that her device keeps, as
        RAPPOR's client does with f > 0, and some devices do with the first step of
        ``first >> second``. By default waves that may (`Mechanism.permanent`) are refused. True
        takes the law of both reports together (`Mechanism.joint_law`); False says that devices drew
        each report afresh.
    partial : bool
        Whether persons in one wave only count too, for the frequencies of that wave: of a sample
        that was refreshed, or was meant to overlap in part. It takes their absence to have nothing
        to do with their answers.

    Returns
    -------
    ChangeResults; of memoised reports that cannot be listed, and of lumped ones, WeightedResults
        The latter compares the margins alone, which needs no law of both reports together: its
        `differences()` are the changes. Reports of a cohort that own over 8 bits cannot be listed.

    Raises
    ------
    InvalidArgument
        If an argument is not `Reports`, both are the same object, the respondents do not match, or
        there is no report.
    MechanismMismatch
        For waves over different categories.
    NotAvailable
        Where two reports of a person may come from one permanent response; with
        ``memoised=True`` for reports that cannot be listed, and with ``partial=True`` for a list of
        candidates.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=3.0)
    >>> first = ldp.Reports([0, 0, 1, 1, 0], krr, ids=["a", "b", "c", "d", "e"])
    >>> second = ldp.Reports([1, 0, 1, 1], krr, ids=["d", "b", "e", "a"])
    >>> results = ldp.change(first, second, name="smokes")
    >>> results
    ChangeResults(mle, first to second: k=2, n=4)
    >>> results.n_missing
    1

    A device that keeps the first of two steps shows it in both waves:

    >>> twice = krr >> krr
    >>> waves = [ldp.Reports(codes * 50, twice) for codes in ([0, 0, 1, 1, 0], [0, 1, 1, 1, 0])]
    >>> ldp.change(*waves, memoised=True).linear_params.round(3).tolist()
    [-0.244, 0.244]
    """
    parts = first, second
    counts, alone = together(parts), tuple[Reports, ...]()
    if boolean("partial", partial):
        alone = _alone(parts)
        if not counts.nobs:
            remedy = "needs persons with both reports, and nobody has both: fit each wave alone"
            raise InvalidArgument("partial", True, remedy)
        known = [replace(part, n_missing=counts.n_missing - sum(map(len, alone)))
                 for part in counts.reports]  # fmt: skip
        counts = counts.with_reports(known)
    return change_between(counts, name, waves, candidates, method, memoised, alone)


def _alone(parts: Sequence[Any]) -> tuple[Reports, ...]:
    """The reports in each of two waves of those who have none in the other."""
    found = list[Reports]()
    if all(isinstance(part, Reports) and part.ids is not None for part in parts):
        here = [pd.Index(part.ids, dtype=object) for part in parts]
        for part, own, other in zip(parts, here, here[::-1], strict=True):
            found.append(part[~own.isin(other)])
    elif all(isinstance(part, list | tuple) and part[1] is not None for part in parts):
        masks = [np.asarray(mask) for _, mask in parts]
        for (part, _), own, other in zip(parts, masks, masks[::-1], strict=True):
            found.append(part[own & ~other if len(part) == own.size else ~other[own]])
    if found:
        return tuple([replace(one, n_missing=0, ids=None) for one in found])
    remedy = "needs identifiers, Reports(..., ids=), or masks of rows: who is in both waves?"
    raise InvalidArgument("partial", True, remedy)


def change_between(
    counts: JointCounts,
    name: str | None = None,
    waves: Sequence[str] | None = None,
    candidates: Any = None,
    method: str | Estimator[Any] | None = None,
    memoised: bool | None = None,
    alone: Sequence[Reports] = (),
    *,
    lost: tuple[int, int] = (0, 0),
) -> ChangeResults | WeightedResults:
    """Change between two variables of the same respondents, from their counts; see `change`.

    `lost` are the persons who are in one wave only, and not in the counts; `alone` are the reports
    of those who count, in the first wave and in the second.
    """
    if not isinstance(name, str | None):
        raise InvalidArgument("name", name, "must be text: the name of the variable")
    known = [part.name for part in counts.reports]
    same = known[0] == known[1]
    try:
        names = variable_names(waves, 2, _WAVES if same or not all(known) else known)
    except InvalidArgument:
        raise InvalidArgument("waves", waves, "must be two different names") from None
    first, second = counts.mechanisms
    others = MechanismMismatch(
        f"{first} and {second} have different categories: both waves need the same labels in the "
        "same order"
    )
    if candidates is None and not (first.is_open or second.is_open):
        if not first.labels().equals(second.labels()):
            raise others
    called = known[0] * same if name is None else name
    if alone and candidates is not None:
        raise NotAvailable("partial=True goes with all categories: leave candidates= out")
    keep = memoised is not None and boolean("memoised", memoised)
    if keep and first.permanent is not None and first.permanent == second.permanent:
        paths = None
        if candidates is None or first.is_open:
            with nullcontext() if alone else suppress(NotAvailable):  # reports that are not listed
                paths = _of_paths(counts, names, candidates, method, alone, called)
        if paths is None:
            return _margins_alone(counts, names, candidates, method, called)
        return _changed(paths, called, lost)
    if not keep:
        refuse_shared([counts], names, memoised, "change", ["wave", "wave"])
    lists, other = (None, False) if candidates is None else ([candidates] * 2, True)
    groups = [counts]
    for v, part in enumerate(alone):
        if len(part):
            silent = Reports(np.zeros(len(part), dtype=np.int64), UNASKED)
            groups.append(JointCounts((part, silent)[:: 1 if v == 0 else -1]))
    model = AssociationModel(groups, candidates=lists, other=other, names=names, memoised=False)
    joint = model.fit(method)
    if not joint.labels[0].equals(joint.labels[1]):
        raise others
    pairs = _pair_features(model.evidence, joint.linear) if len(groups) == 1 else None
    if pairs is None:
        return _changed(joint, called, lost)
    (f, alphabets, p), n = pairs, model.evidence.groups[0].counts.n
    law, turnover = _change_law(f, n, alphabets, p), _turnover_law(alphabets, p, joint.nobs)
    fit = _change_fit(joint, law, called)
    d, nobs = fit.linear.estimate, fit.nobs
    outer = np.asarray((f.T * n) @ f / nobs)  # its mean over respondents
    fourth = n @ f**4 / nobs
    some = fourth > 0.0
    effective = nobs * np.divide(law.second**2, fourth, out=np.zeros(d.size), where=some)
    test = _homogeneity(d, Covariance.dense(outer / nobs), rare_groups(effective), names)
    return ChangeResults(joint, law, turnover, test, lost, **vars(fit))


def _changed(joint: AssociationResults, name: str, lost: tuple[int, int]) -> ChangeResults:
    """The change of a joint distribution of which estimates and their covariance are known."""
    fit, test = _change_fit(joint, None, name), None
    if fit.linear.covariance is not None:
        d = fit.linear.estimate
        V = fit.linear.covariance + Covariance.dense(np.outer(d, d) / joint.nobs)
        test = _homogeneity(d, V, np.arange(d.size), joint.names)
    return ChangeResults(joint, None, None, test, lost, **vars(fit))


def _of_paths(
    counts: JointCounts,
    names: tuple[str, ...],
    candidates: Any,
    method: Any,
    alone: Sequence[Reports],
    name: str,
) -> AssociationResults:
    """The joint distribution of the answers to devices that keep their responses.

    Of a law with a category for each path, by the reports of both waves as one.
    """
    rows = np.repeat(np.arange(len(counts.n)), counts.n)
    both = [replace(part[rows], n_missing=0) for part in counts.reports]
    cohorts = [part.cohort for part in both if part.cohort is not None]
    if len(cohorts) == 2 and np.any(cohorts[0] != cohorts[1]):
        remedy = "whose cohort differs between the waves have devices that kept nothing: leave "
        remedy += "them out, or pass memoised=False"
        raise InvalidArgument("respondents", int(np.sum(cohorts[0] != cohorts[1])), remedy)
    groups, margins = list[Reports](), list[FrequencyModel]()
    for first, second in zip(*(part.mechanism.as_labels(part, candidates) for part in both),
                             strict=True):  # fmt: skip
        groups.append(
            Panel.of([first[1].mechanism, second[1].mechanism]).join([first[1], second[1]])
        )
    for v, part in enumerate(alone):
        for _, own in part.mechanism.as_labels(part, candidates) if len(part) else ():
            silent = CustomMechanism(np.ones((own.mechanism.k, 1)), own.mechanism.categories)
            none = Reports(np.zeros(len(own), dtype=np.int64), silent)
            each = (own, none)[:: 1 if v == 0 else -1]
            groups.append(Panel.of([one.mechanism for one in each]).join(each))
    for v, part in enumerate(both):
        margins.append(FrequencyModel([part, *alone[v : v + 1]], candidates, name=name))
    labels = margins[0].categories
    fit, answered = FrequencyModel(groups, name=name).fit(method), None
    if any(map(len, alone)):
        sizes = [(names, len(both[0]))]
        sizes += [((wave,), len(part)) for wave, part in zip(names, alone, strict=True)]
        answered = tuple([one for one in sizes if one[1]])
    return AssociationResults(
        names=names,
        labels=(labels, labels),
        others=("", ""),
        margin_fits=tuple([margin.fit_quietly("inversion") for margin in margins]),
        is_complete=True,
        n_strata=len(groups),
        dispersion=1.0,
        smallest_expected=float("nan"),
        digest="",
        lacking=counts.lacking,
        unprotected=(),
        answered=answered,
        **vars(fit.fit)
        | {
            "sources": tuple([str(mechanism) for mechanism in counts.mechanisms]),
            "n_missing": counts.n_missing,
            "settings": "; ".join(filter(None, (fit.settings, "devices keep their responses"))),
            "epsilon": both[0].mechanism.joint_epsilon(counts.mechanisms, candidates),
        },
    )


def _margins_alone(
    counts: JointCounts, waves: tuple[str, ...], candidates: Any, method: Any, name: str
) -> WeightedResults:
    """The frequencies of both waves, the two reports of a person being one sampling unit."""
    from ldpstats.inference.designs.linearisation import Sample, Stage
    from ldpstats.models.weighted.base import SampleFacts
    from ldpstats.models.weighted.model import WeightedModel, WeightedVariable

    first, second = counts.reports
    if method is not None:
        remedy = "goes without the margins of memoised reports alone: leave it out"
        raise InvalidArgument("method", method, remedy)
    if first.mechanism != second.mechanism:
        raise MechanismMismatch(
            f"memoised=True compares waves of one mechanism, not {first.mechanism} and "
            f"{second.mechanism}: fit each wave alone by FrequencyModel"
        )
    n = counts.nobs
    if n < _FEWEST:
        remedy = f"must be at least {_FEWEST}: fewer show no variance of the change"
        raise InvalidArgument("respondents with both reports", n, remedy)
    rows = np.repeat(np.arange(len(counts.n)), counts.n)
    parts = [part[rows] for part in counts.reports]
    cohort = None if first.cohort is None else np.concatenate([part.cohort for part in parts])
    y = np.concatenate([part.y for part in parts])
    both = Reports(y, first.mechanism, counts.n_missing, cohort, name)
    if candidates is not None and not both.mechanism.is_open:
        (both,), _ = prepared([both], candidates, True, name or "the variable")
        candidates = None
    person, wave = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
    none, ones = np.zeros(1), np.ones(2 * n)
    stage = Stage(person, np.zeros(n, np.int64), none + n, none + np.inf, none.astype(int), ["all"])
    words = "both reports of a person together"
    facts = SampleFacts(words, "linearisation", 1, n, 2 * n, 2.0 * n, 1.0, n - 1.0)
    model = WeightedModel(
        Sample((stage,), ones, ones, ones),
        facts,
        (WeightedVariable(name, both, np.arange(2 * n), candidates),),
        wave,
        ("wave",),
        tuple((label,) for label in waves),
    )
    return model.fit()


# -- The law of the change, from the pairs of reports ---------------------------------------------


_ROUNDING = 1e-12  # of a second moment


@record
class ChangeLaw(Document):
    """Moments of f of each category, and how they vary with the change."""

    nobs: Array  # (1,) number of respondents
    mean: Array  # (k,) of f, of its square and of its cube, as the reports show them
    second: Array
    third: Array
    noise: Array  # (k,) the second moment if nobody had changed
    second_rate: Array  # (k,) growth of the second moment and of the third with the change, the
    third_rate: Array  # turnover being the same

    def __post_init__(self) -> None:
        for field in fields(self):
            value = finite_array(field.name, getattr(self, field.name), 1)
            if value.shape != (self.mean.shape if field.name != "nobs" else (1,)):
                raise InvalidArgument(field.name, value.shape, "must hold one number a category")
            object.__setattr__(self, field.name, value)

    def at(self, change: Array) -> tuple[Array, Array]:
        """Standard error and skewness of each estimate if the change is `change`, shape (k,)."""
        step = change - self.mean
        # the turnover of each category given its change: Tango's closed form, in shares
        d = np.clip(self.mean, -1.0, 1.0)
        s = np.clip(self.second - self.noise, np.abs(d), 1.0)
        square = (s - (2.0 - d) * change) ** 2 + 4.0 * (s - d) * change * (1.0 - change)
        turnover = (s + d * change + np.sqrt(np.maximum(square, 0.0))) / 2.0
        second = self.noise + self.second_rate * step + turnover
        second = np.maximum(second, change**2)  # below by rounding and extrapolation only
        third = self.third + self.third_rate * step
        variance = second - change**2
        variance = np.where(variance > _ROUNDING * second, variance, 0.0)
        cubic = third - 3.0 * change * second + 2.0 * change**3
        scale = np.where(variance > 0.0, variance, 1.0) ** 1.5
        skewness = np.where(variance > 0.0, cubic, 0.0) / scale
        return np.sqrt(variance / self.nobs), skewness / np.sqrt(self.nobs)

    def pvalues(self, estimate: Array, change: Array) -> Array:
        """Two-sided p-values of the nulls that the changes are `change`, shape (k,)."""
        se, skewness = self.at(change)
        z, step = standardised(estimate - change, se), continuity(skewness)
        tails = [skewed_pvalue(sign * z - step, sign * skewness) for sign in (1.0, -1.0)]
        return np.minimum(2.0 * np.minimum(*tails), 1.0)

    def of(self, j: int) -> ChangeLaw:
        """The law of one category."""
        values = (getattr(self, field.name) for field in fields(self))
        return ChangeLaw(*(v if i == 0 else v[[j]] for i, v in enumerate(values)))


def _pair_features(
    evidence: Evidence, linear: Uncertain
) -> tuple[Array, tuple[Alphabet, ...], Array] | None:
    """f of each distinct pair of reports, (u, k), unbiased features of all, and the joint law.

    None where reports are not alike or cannot be listed. `linear` is the unconstrained estimate.
    """
    problem = rests_on(evidence, linear)
    if problem is None or not evidence.is_exact or len(problem.strata) > 1:
        return None
    stratum, group = problem.unbiased, evidence.groups[0]
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
    p = problem.in_errors.reshape(evidence.sizes)
    return by_wave[1] - by_wave[0], stratum.alphabets, p


def _change_law(f: Array, n: Array, alphabets: Sequence[Alphabet], p: Array) -> ChangeLaw:
    """The law of the change of each category, from f seen n times each, with p the joint law."""
    # mean powers 0 to 3 of each feature given the true category, (k, k) each
    first, second = ([(features**r).T @ Q.T for r in range(4)] for features, Q in alphabets)
    nobs, before, after = float(n.sum()), p.sum(axis=1), p.sum(axis=0)
    noise = sum(  # mean variance of each feature given the true category
        (moments[2] - moments[1] ** 2) @ margin
        for moments, margin in ((first, before), (second, after))
    )
    moved_in = partial(_moved, first, second, _elsewhere(before), np.eye(len(after)))
    moved_out = partial(_moved, first, second, np.eye(len(before)), _elsewhere(after))
    rates = [(moved_in(r) - moved_out(r)) / 2.0 for r in (2, 3)]
    mean, second_moment, third_moment = (n @ f**r / nobs for r in (1, 2, 3))
    seen = np.array([nobs]), mean, second_moment, third_moment
    return ChangeLaw(*seen, np.asarray(noise), rates[0], rates[1])


def _turnover_law(alphabets: Sequence[Alphabet], P: Array, nobs: int) -> CellLaw:
    """The law of the share of those who changed, as it varies, with P the joint law."""
    (G, Q), (H, R) = alphabets
    stayed = np.eye(len(P), dtype=bool)
    changed = 1.0 - G @ H.T  # of each pair of reports
    means = [Q @ changed**r @ R.T for r in (1, 2, 3)]
    laws = []
    for part in (~stayed, stayed):
        p = P[part]
        weights = p if p.sum() > 0.0 else np.ones_like(p)  # equal where there is nobody
        laws.append(np.array([[np.average(mean[part], weights=weights)] for mean in means]))
    own, rest = laws
    return CellLaw(*path_cumulants(own, rest, float(nobs)), np.zeros(1), np.zeros(1))


def _elsewhere(p: Array) -> Array:
    """The law of the category of those who are not in j, a column for each j."""
    others = np.tile(p[:, None], (1, p.size))
    np.fill_diagonal(others, 0.0)
    empty = others.sum(axis=0) <= 0.0
    others[:, empty] = 1.0 - np.eye(p.size)[:, empty]
    return np.asarray(others / others.sum(axis=0))


def _moved(first: list[Array], second: list[Array], x: Array, z: Array, r: int) -> Array:
    """E f_j^r, r = 2 or 3, of those with the laws x[:, j] and z[:, j] of their categories."""
    terms = [
        (-1.0) ** i * comb(r, i) * (second[r - i].T * z).sum(axis=0) * (first[i].T * x).sum(axis=0)
        for i in range(r + 1)
    ]
    return np.asarray(np.sum(terms, axis=0))


# -- The fit of the change, and the test that there is none ---------------------------------------


def _change_fit(joint: AssociationResults, law: ChangeLaw | None, name: str) -> Fit:
    """The fit of the change: second margin less the first, of both estimates."""
    k = joint.sizes[0]
    one, ones = np.eye(k), np.ones((1, k))
    R = np.kron(ones, one) - np.kron(one, ones)  # of the cells, row-major: (k, k k)
    both = []
    for of_cells in (joint.fitted, joint.linear):
        V = of_cells.covariance
        V = None if V is None else Covariance.dense(V.transform(R))
        both.append(Uncertain(R @ of_cells.estimate, V))
    fitted, linear = both
    if linear.covariance is None and law is not None:  # of too many cells for one matrix
        linear = replace(linear, variances=law.at(linear.estimate)[0] ** 2)
    return replace(joint.fit, fitted=fitted, linear=linear, name=name)


def _homogeneity(d: Array, V: Covariance, group: Array, waves: tuple[str, ...]) -> TestResult:
    """Test that both waves have the same distribution, with V under the null, by groups."""
    note = ""
    k = int(group.max()) + 1
    null = f"{waves[0]} and {waves[1]} have the same distribution"
    method = "McNemar test" if k == 2 else "Stuart-Maxwell test"
    method += " on the unconstrained estimate, covariance under the null"
    if k < d.size:
        note = f"{d.size - k + 1} categories with fewer than five changes are tested together"
    try:
        statistic, df = wald(np.eye(k), np.zeros(k), group_sums(d, group), V.merged(group))
    except InvalidArgument:  # nothing varies
        return TestResult(null, 0.0, float(k - 1), 1.0, method, "no pair of reports differs")
    return TestResult.chi_square(null, statistic, df, method, note)


# -- Results --------------------------------------------------------------------------------------


_SPAN = (-1.0, 1.0)  # of a change
_HEAD = 12  # characters of the head of a column


@record
class ChangeResults(Results):
    """Change of the frequencies between two waves of the same respondents.

    `params` are the frequencies of the second wave less those of the first, in the joint
    distribution of both answers that the estimator found. Intervals and tests rest on the
    unconstrained estimate (`linear_params`); both allow for the correlation of the two answers of
    one person, which makes a change more precise than the difference of two samples.

    Attributes
    ----------
    params, bse : Series, shape (k,)
        Change by category, and its standard error.
    joint : AssociationResults
        The joint distribution: first wave in rows, second in columns.
    waves : tuple of str
        Names of the two waves.
    flows : DataFrame, shape (k, k)
        Estimated shares of those who moved from the row to the column, stayed on the diagonal.
    nobs, n_missing : int
        Respondents with both answers, and those left out because one was missing.
    lost : tuple of two int
        Persons whom `Survey.matched` left out: in the first wave only, in the second only.
    law : ChangeLaw or None
        Variance and skewness of each estimate as the change varies; None where reports cannot be
        listed or have cohorts, and intervals are Wald's.
    homogeneity : TestResult or None
        The test that both waves have the same distribution.

    Methods
    -------
    conf_int, cov_params, summary_frame, summary, plot
        Intervals, covariances, and all of it as a table, in print or as a figure.
    to_frame, glance, to_maketables
        Tables of data: a row for each estimate, one row in all, and for the package maketables.
    test_homogeneity, test_symmetry
        Whether the distribution changed, and whether as many moved one way as back.
    turnover, transitions
        How many persons changed their answer, and to which.
    to_dict, to_json, from_dict, from_json
        Storage; no report is in it.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> before = rng.choice(["no", "yes"], size=4000, p=[0.7, 0.3])
    >>> after = np.where(rng.random(4000) < 0.1, "yes", before)
    >>> results = ldp.change(krr.privatize(before, rng), krr.privatize(after, rng))
    >>> results.conf_int().round(2).loc["yes"].tolist()
    [0.07, 0.11]
    """

    joint: AssociationResults
    law: ChangeLaw | None = None
    turnover_law: CellLaw | None = None
    homogeneity: TestResult | None = None
    lost: tuple[int, int] = (0, 0)

    _format = "ldpstats-change-results"
    _document = ("name", "joint", "law", "turnover_law", "homogeneity", "lost")

    def __repr__(self) -> str:
        waves = " to ".join(self.waves)
        return f"ChangeResults({self.method}, {waves}: k={self.k}, n={self.nobs})"

    @property
    def index(self) -> Labels:
        return self.joint.labels[0]

    @property
    def df_model(self) -> int:
        """Frequencies of the joint distribution that vary freely."""
        return self.joint.df_model

    @property
    def waves(self) -> tuple[str, ...]:
        """Names of the two waves."""
        return self.joint.names

    @property
    def flows(self) -> pd.DataFrame:
        """Estimated shares of those who moved from the row to the column."""
        table: pd.DataFrame = self.joint.table
        return table

    @property
    def _levels(self) -> Array:
        """Estimated frequencies in both waves, (k, 2)."""
        P = self.joint.fitted.estimate.reshape(self.joint.sizes)
        return np.column_stack([P.sum(axis=1), P.sum(axis=0)])

    # -- intervals and tests -----------------------------------------------------------------

    def conf_int(
        self, alpha: float = 0.05, method: str = "default", clip: bool = True
    ) -> pd.DataFrame:
        """Confidence intervals of the changes.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "wald"}
            "default": all changes that the unconstrained estimate does not reject, with the
            variance and the skewness that it has at each (see `law`); where these are not known, as
            "wald", estimate plus or minus normal quantile times standard error.
        clip : bool
            Intersect with [-1, 1]. An interval that lies outside gets a limit of its own there.

        Returns
        -------
        DataFrame, shape (k, 2)
            Columns "lower" and "upper".

        References
        ----------
        Tango, T. (1998), Statistics in Medicine 17, 891-908.
        """
        alpha, clip = level(alpha), boolean("clip", clip)
        method = one_of("method", method, ("default", "wald"))
        estimate, se = self.linear.estimate, self.linear.every_bse()
        if method == "default" and self.law is not None:
            bounds = intervals.inverted(estimate, self.law.at, alpha, _SPAN)
        else:
            bounds = intervals.wald(estimate, se, alpha)
        if clip:  # as shares, on another scale
            share = edge_normal((bounds + 1.0) / 2.0, (estimate + 1.0) / 2.0, se / 2.0, alpha)
            bounds = np.where(np.abs(bounds) <= 1.0, bounds, 2.0 * share - 1.0)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of no change, category by category."""
        estimate = self.linear.estimate
        if self.law is not None:
            return self._series(self.law.pvalues(estimate, np.zeros(self.k)), "pvalues")
        return self._series(z_test(estimate, self.linear.every_bse())[1], "pvalues")

    def test_homogeneity(self) -> TestResult:
        """Test that both waves have the same distribution.

        McNemar's test for two categories and the Stuart-Maxwell test for more, on the unconstrained
        estimates, with their covariance under the null. Without noise the statistic is theirs.
        Categories with fewer than five changes are tested together.

        Raises
        ------
        NotAvailable
            Where the categories are too many for a covariance.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> answers = ldp.Observed(("no", "yes"))
        >>> first, second = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [60, 25, 15, 50], axis=0).T
        >>> waves = ldp.Reports(first, answers), ldp.Reports(second, answers)
        >>> print(ldp.change(*waves).test_homogeneity())
        McNemar test on the unconstrained estimate, covariance under the null
          H0: first and second have the same distribution
          statistic 2.5, df 1, p-value 0.1138
        """
        if self.homogeneity is None:
            raise NotAvailable(
                f"covariances of {self.k} categories in two waves were not computed: lump "
                "categories, candidates="
            )
        return self.homogeneity

    def test_symmetry(self) -> TestResult:
        """Test that as many moved from each category to another as back: Bowker's test.

        On the unconstrained estimates, with their covariance under the null. Without noise the
        statistic is Bowker's, of two categories McNemar's. Pairs between which nobody moved are
        left out.

        Raises
        ------
        NotAvailable
            Where the categories are too many for a covariance, or nobody moved.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> answers = ldp.Observed(("no", "yes"))
        >>> first, second = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [60, 25, 15, 50], axis=0).T
        >>> waves = ldp.Reports(first, answers), ldp.Reports(second, answers)
        >>> round(ldp.change(*waves).test_symmetry().statistic, 6)
        2.5
        """
        if self.joint.linear.covariance is None:
            self.test_homogeneity()  # says why
        cells = np.arange(self.k**2).reshape(self.k, self.k)
        above = np.triu_indices(self.k, 1)
        R = np.eye(self.k**2)[cells[above]] - np.eye(self.k**2)[cells.T[above]]
        d = R @ self.joint.linear.estimate
        V = self.joint.linear.known().transform(R) + np.outer(d, d) / self.nobs
        some = np.diagonal(V) > _ROUNDING / self.nobs
        null = f"as many moved from each category to another as back, {' to '.join(self.waves)}"
        if not some.any():
            raise NotAvailable(f"nobody moved: the test that {null} has nothing to rest on")
        m = int(some.sum())
        law = Covariance.dense(V[some][:, some])
        statistic, df = wald(np.eye(m), np.zeros(m), d[some], law)
        method = "Bowker test on the unconstrained estimate, covariance under the null"
        return TestResult.chi_square(null, statistic, df, method)

    def transitions(self, alpha: float = 0.05) -> pd.DataFrame:
        """Shares of the categories of the second wave among those of each of the first.

        See `AssociationResults.conditional`, which has the columns: "estimate", and the interval
        "lower", "upper" around "unconstrained".

        Examples
        --------
        >>> import ldpstats as ldp
        >>> answers = ldp.Observed(("no", "yes"))
        >>> first, second = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [60, 25, 15, 50], axis=0).T
        >>> waves = ldp.Reports(first, answers), ldp.Reports(second, answers)
        >>> ldp.change(*waves).transitions()["estimate"].round(3).tolist()
        [0.706, 0.294, 0.231, 0.769]
        """
        return self.joint.conditional(self.waves[0], alpha)

    def turnover(self, alpha: float = 0.05) -> Effect:
        """Share of the respondents whose true answers differ, with its interval.

        Without noise it is a binomial share; the interval allows for its skewness.
        """
        alpha = level(alpha)
        k, name = self.k, f"P({self.waves[0]} differs from {self.waves[1]})"
        moved = 1.0 - np.eye(k).reshape(-1)
        estimate = np.array([moved @ self.joint.linear.estimate])
        if self.turnover_law is not None:
            bounds = self.turnover_law.interval(estimate, alpha)
            se = self.turnover_law.at(estimate)[0]
        else:
            variance = np.diagonal(self.joint.linear.known().transform(moved[None]))
            se = np.sqrt(np.maximum(variance, 0.0))  # below by rounding
            bounds = intervals.wald(estimate, se, alpha)
        low, high = edge_normal(bounds, estimate, se, alpha)[0].tolist()
        ml = float(moved @ self.joint.fitted.estimate) if self.is_maximum else None
        return Effect(name, float(estimate[0]), low, high, alpha, ml=ml)

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        from ldpstats.models.results import ContrastLaw

        entries = np.flatnonzero(row)
        if self.law is None or entries.size != 1:
            return None
        factor, law = float(row[entries[0]]), self.law.of(int(entries[0]))

        def scaled(value: Array) -> tuple[Array, Array]:
            """The law of the multiple of the change if that is `value`."""
            se, skewness = law.at(value / factor)
            return abs(factor) * se, np.sign(factor) * skewness

        return ContrastLaw(scaled, -abs(factor), abs(factor))

    # -- presentation ------------------------------------------------------------------------

    def _tidy(self, alpha: float) -> pd.DataFrame:
        frame = tidy_names(self._estimates_frame(alpha))
        return frame.assign(p_value=np.nan if frame["lower"].isna().any() else self.pvalues)

    @property
    def _subject(self) -> str:
        return f"change of {self.name}" if self.name else "change"

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"name": self.name or " to ".join(self.waves)}

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of the changes.

        Returns
        -------
        DataFrame, one row per category
            The frequencies in both waves, under their names; then "params", "bse", "linear",
            "linear_se", "lower", "upper" of the change, and "pvalue" of no change.
        """
        frame = self._estimates_frame(level(alpha))
        for axis in (0, 1):
            frame.insert(axis, self.waves[axis], self._levels[:, axis], allow_duplicates=True)
        known = not np.isnan(self.linear.bse()).any()
        return frame.assign(pvalue=self.pvalues if known else np.nan)

    def _rows(self, alpha: float, max_rows: int = 0) -> tuple[Frame, Frame]:
        frame = self.summary_frame(alpha).iloc[:, 2:]  # both waves come first, whatever their names
        return frame, frame

    def _largest(self, frame: Frame, max_rows: int) -> tuple[Frame, list[str]]:
        if len(frame) <= max_rows:
            return frame, []
        order = np.argsort(-np.abs(frame["linear"].to_numpy()), kind="stable")[:max_rows]
        note = f"Shown: the {max_rows} largest of {len(frame)} changes."
        return frame.iloc[np.sort(order)], [note]

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        levels = self._levels[self.index.get_indexer(shown.index)]
        first = map(figures, levels, repeat(decimals(shown["linear_se"].to_numpy())))
        pvalues = map(pvalue_text, shown["pvalue"])
        cells = [[*a, *b, p] for a, b, p in zip(first, cells, pvalues, strict=True)]
        heads = [*distinct_lines(self.waves, _HEAD), "change", *heads[1:], "p-value"]
        return super()._body(shown, heads, cells)

    def _heading(self) -> Heading:
        sources = zip(self.waves, self.sources, strict=True)
        left: list[Pair] = [(f"{one_line(wave, 20)}:", source) for wave, source in sources]
        left += [("Estimator:", estimator_text(self)), ("Categories:", self.k)]
        right: list[Pair] = [("No. Respondents:", self.nobs), ("Missing:", self.n_missing)]
        right += [("In one wave only:", sum(self.lost))] * any(self.lost)
        if self.joint.answered:
            right.append(("In both waves:", self.joint.answered[0][1]))
        right.append(("Epsilon, both (nats):", self.epsilon))
        waves = " to ".join(one_line(wave, LONGEST_LABEL) for wave in self.waves)
        return f"{title(self, 'Change', '')} from {waves}", left, right

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        notes = []
        if any(self.lost):
            each = " and ".join(f"{size:,}" for size in self.lost)
            notes.append(f"NOTE: {each} persons, in one of the matched waves only, were left out.")
        notes += missing_notes(self.nobs, self.n_missing, self.waves, self.joint.lacking)
        if self._has_intervals:
            kind = "Wald" if self.law is None else "score intervals with skewness"
            notes += [
                interval_note(alpha, kind, None, source),
                "p-value: of no change, two-sided, not adjusted for the number of categories.",
            ]
        else:
            notes.append(
                "Standard errors of so many categories were not computed: lump them, candidates=."
            )
        if (test := self.homogeneity) is not None:
            notes += outcome_notes("Same distribution in both waves", test)
        if self.turnover_law is not None or self.joint.linear.covariance is not None:
            notes.append(f"Turnover: {self.turnover(alpha)}.")
        return notes

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        return closing_notes(self, self.joint.condition)

    def plot(  # type: ignore[override]  # another kind of plot
        self,
        kind: str = "change",
        ax: Axes | None = None,
        alpha: float = 0.05,
        most: int = 25,
        title: str | None = None,
        sort: bool | str = False,
    ) -> Axes:
        """Draw the change of each category, or who moved.

        Parameters
        ----------
        kind : {"change", "flows"}
            Changes with their intervals; or the joint table, first wave in rows.
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        most : int
            Categories to draw, those that changed most.
        title : str, optional
            The title to draw; "" for none.
        sort : bool
            Whether the largest increase is on top; False (or "none") keeps the order of the
            categories. Not for flows.
        """
        kind = one_of("kind", kind, ("change", "flows"))
        if kind == "flows":
            flows: Axes = self.joint.plot(ax=ax, alpha=alpha, title=title)
            return flows
        frame, waves = self.summary_frame(level(alpha)), self.waves
        most = positive_integer("most", most)
        question = f"{self.name}: " if self.name else ""
        words = title_text(title, f"{question}from {waves[0]} to {waves[1]}, n = {self.nobs:,}")
        order = np.argsort(-np.abs(frame["linear"].to_numpy()), kind="stable")
        shown = np.sort(order[:most])
        if sorts(sort):
            shown = shown[np.argsort(-frame["params"].to_numpy()[shown], kind="stable")]
        draw = partial(draw_estimates, frame=frame.iloc[shown], interval=interval_name(alpha))
        labels = axis_labels(frame.index[shown], plots.LONGEST_LABEL)
        of = "change of the frequency, in percentage points"
        return plot_rows(draw, labels, len(frame) - len(shown), ax, words, of, sign="")

    # -- storage -----------------------------------------------------------------------------

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> ChangeResults:
        joint, law, turnover = values["joint"], values["law"], values["turnover_law"]
        before, after = joint.labels
        if not before.equals(after):
            raise InvalidArgument("joint", joint, "must be of one question in two waves")
        if law is not None and law.mean.shape != (len(before),):
            raise InvalidArgument("law", law.mean.shape, f"must be of {len(before)} categories")
        if turnover is not None and turnover.step.size != 1:
            raise InvalidArgument("turnover_law", turnover.step.size, "must be of one share")
        return super()._restored(values | vars(_change_fit(joint, law, values["name"])))
