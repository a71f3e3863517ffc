"""What a fitted regression says."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.contrast import ContrastResults

from ldpstats.arguments import did_you_mean, level, numbers, one_of, probability
from ldpstats.errors import InvalidArgument, NotAvailable, PosteriorWarning
from ldpstats.estimators.regression import Maximum, Objective, ascend, least_squares, search
from ldpstats.inference.profiles import Probed, profile_at, profile_interval
from ldpstats.inference.regression import InformationShares
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.predictors import start, units
from ldpstats.likelihood.regression import (
    Binary,
    Multinomial,
    Normal,
    Ordered,
    Outcome,
    RegressionLikelihood,
    Seen,
    predictors_of,
)
from ldpstats.models.layout import names_alpha
from ldpstats.models.posterior.densities import RegressionDensity
from ldpstats.models.regression.fitted import Devices, FittedLaw
from ldpstats.models.regression.presentation import PresentedRegression, model_name
from ldpstats.models.regression.structure import (
    RegressionStructure,
    conditional_value,
    null_results,
    shaped,
    shaped_intervals,
)
from ldpstats.reports.single import Reports

__all__ = [
    "Degrees",
    "RegressionResults",
    "linear_constraints",
    "naive_params",
    "partial_score",
    "reported_codes",
    "t_contrasts",
    "terms_of",
    "wald_contrast",
    "warn_of_wide_priors",
]

Array = npt.NDArray[Any]


# -- Odds ratios of a fitted regression -----------------------------------------------------------


def odds_ratios(results: Any, alpha: Any, per: Any) -> pd.DataFrame:
    """Odds ratios with intervals; see `RegressionResults.odds_ratios`."""
    alpha = level(alpha)
    model = results.model
    outcome = model.data.outcome
    is_logit = isinstance(outcome, Binary) and outcome.link == "logit"
    if not is_logit and not isinstance(outcome, Multinomial | Ordered):
        raise NotAvailable(
            f"odds_ratios: {model_name(outcome)} regressions have none: use get_margeff(), or fit "
            "model='logit'"
        )
    names = model.exog_names
    units = _units(names, model.constant, per)
    p, equations = len(names), len(model.equations)
    slopes = [j for j in range(p) if j != model.constant]
    at = [e * p + j for e in range(equations) for j in slopes]
    table = results._tidy(alpha).iloc[at]
    by = np.tile(units[slopes], equations)[:, None]
    with np.errstate(over="ignore"):
        ratios = np.exp(table[["estimate", "lower", "upper"]].to_numpy() * by)
    found = pd.DataFrame(ratios, index=table.index, columns=["odds_ratio", "lower", "upper"])
    return found.assign(p_value=table["p_value"])


def _units(names: list[str], constant: int | None, per: Any) -> npt.NDArray[np.float64]:
    """How far each covariate moves."""
    units = np.ones(len(names))
    known = [name for j, name in enumerate(names) if j != constant]
    if per is None:
        return units
    if not isinstance(per, Mapping):
        example = f"{{{known[0]!r}: 10}}" if known else "{'age': 10}"
        remedy = f"must be a mapping of coefficients to units, such as {example}"
        raise InvalidArgument("per", per, remedy)
    for name, value in per.items():
        if not isinstance(name, str) or name not in known:
            remedy = f"is no coefficient, which are {', '.join(known[:10])}"
            hint = did_you_mean(name, tuple(known)) if isinstance(name, str) else ""
            raise InvalidArgument("per", name, remedy + hint)
        argument, remedy = f"per[{name!r}]", "must be a positive finite number, such as 10"
        found = numbers(argument, value, remedy)
        if found.shape != () or not np.isfinite(found) or found <= 0.0:
            raise InvalidArgument(argument, value, remedy)
        units[names.index(name)] = float(found)
    return units


# -- Linear hypotheses about coefficients, and Wald tests of them in the form of statsmodels ------


Degrees = float | Callable[[Array], float] | None  # of contrasts, which may have their own

_HOW = (
    "write for example 'x1 = x2' or 'x1 - 2 * x2 = 0.1, x3 = 0' with names of coefficients; or "
    "pass R of shape (q, p), or the pair (R, value), for R b = value"
)
_LARGEST = 1e100  # of which the square is still a number
_LEAST = 1e-13  # of a variance, relative to its terms, that is rounding
_RANK = 1e-10


def linear_constraints(
    names: Sequence[str], hypothesis: Any, argument: str = "hypothesis"
) -> tuple[Array, Array]:
    """R, shape (q, p), and value, shape (q,), of the hypothesis R b = value.

    Parameters
    ----------
    names : sequence of str, length p
        Names of the coefficients, as either formula engine of statsmodels writes them, such as
        "group[T.b]", "x:z" or "I(x ** 2)".
    hypothesis : str, list of str, array, or pair (R, value)
        Text has names of coefficients; those in backquotes are read without them.
    argument : str
        What messages call the hypothesis.

    Raises
    ------
    InvalidArgument
        If the text cannot be read or names no coefficient, or the array has another shape or
        is not finite.

    Examples
    --------
    >>> R, value = linear_constraints(["Intercept", "x", "z"], "x - z = 0.5")
    >>> R.tolist(), value.tolist()
    ([[0.0, 1.0, -1.0]], [0.5])
    """
    if isinstance(hypothesis, str):
        return _from_text(names, [hypothesis], hypothesis, argument)
    if isinstance(hypothesis, list) and hypothesis and all(isinstance(h, str) for h in hypothesis):
        return _from_text(names, hypothesis, hypothesis, argument)
    pair = isinstance(hypothesis, tuple) and len(hypothesis) == 2
    given, right = hypothesis if pair else (hypothesis, 0.0)
    R = np.atleast_2d(numbers(argument, given, _HOW))
    value = numbers(argument, right, _HOW)
    if R.ndim != 2 or not len(R) or R.shape[1] != len(names):
        remedy = f"needs {len(names)} columns, one for each coefficient; {_HOW}"
        raise InvalidArgument(argument, f"R of shape {R.shape}", remedy)
    if value.size not in (1, len(R)):
        remedy = f"has another number of rows than R, {len(R)}; {_HOW}"
        raise InvalidArgument(argument, f"value of shape {value.shape}", remedy)
    _check(argument, hypothesis, R, value)
    return R, np.broadcast_to(value.reshape(-1), (len(R),)).copy()


def _from_text(
    names: Sequence[str], texts: list[str], hypothesis: Any, argument: str
) -> tuple[Array, Array]:
    from patsy import DesignInfo, PatsyError

    if not all(text.strip() for text in texts):
        raise InvalidArgument(argument, hypothesis, f"is empty; {_HOW}")
    known = set(names)
    plain = [re.sub("`([^`]*)`", lambda m: m[1] if m[1] in known else m[0], text) for text in texts]
    try:
        with np.errstate(all="ignore"):  # what a division by zero leaves is refused below
            read = [DesignInfo(list(names)).linear_constraint(text) for text in plain]
    except (PatsyError, AssertionError, IndexError, ValueError) as error:
        reason = (str(error).splitlines() or ["no linear equation"])[0]
        remedy = f"cannot be read ({reason}{_hint(plain, names)}); {_HOW}"
        raise InvalidArgument(argument, hypothesis, remedy) from None
    R = np.concatenate([np.asarray(one.coefs, dtype=np.float64) for one in read])
    value = np.concatenate([np.asarray(one.constants, dtype=np.float64).ravel() for one in read])
    _check(argument, hypothesis, R, value)
    return R, value


def _hint(texts: Sequence[str], names: Sequence[str]) -> str:
    """The name that an unknown word of a hypothesis is nearest to."""
    for word in re.findall(r"[^\W\d][\w.\[\]:]*", " ".join(texts)):
        if word not in names and (hint := did_you_mean(word, tuple(names))):
            return hint
    return ""


def _check(argument: str, hypothesis: Any, R: Array, value: Array) -> None:
    if not all(np.max(np.abs(v), initial=0.0) <= _LARGEST for v in (R, value)):  # nor NaN
        remedy = f"must be finite, at most {_LARGEST:g}: does it divide by zero?"
        raise InvalidArgument(argument, hypothesis, remedy)
    if not R.any(axis=1).all():
        raise InvalidArgument(argument, hypothesis, f"has a row without a coefficient; {_HOW}")


def t_contrasts(
    params: Array, covariance: Array, R: Array, value: Array, df: Degrees
) -> ContrastResults:
    """Wald tests of the rows of R b = value, one by one, two-sided.

    Parameters
    ----------
    params : array, shape (p,)
    covariance : array, shape (p, p)
    R : array, shape (q, p)
    value : array, shape (q,)
    df : float, callable or None
        Degrees of freedom of the t distribution, or what gives those of a row, (1, p); None for
        the normal one.

    Raises
    ------
    NotAvailable
        If a row rests on a coefficient without a finite variance, or has no variance.
    """
    covariance = _needed(covariance, R)
    variance = np.einsum("ij,jk,ik->i", R, covariance, R)
    scale = np.einsum("ij,j,ij->i", R, np.diag(covariance), R)
    if np.any(variance <= _LEAST * scale):
        row = R[int(np.argmax(variance <= _LEAST * scale))].tolist()
        raise NotAvailable(f"the contrast {row} has no sampling variance: there is nothing to test")
    effect, sd = R @ params, np.sqrt(variance)
    statistic = (effect - value) / sd
    if callable(df):
        own = np.array([df(row[None, :]) for row in R])
        return ContrastResults(effect=effect, t=statistic, sd=sd, df_denom=own)
    if df is not None:
        return ContrastResults(effect=effect, t=statistic, sd=sd, df_denom=df)
    return ContrastResults(effect=effect, statistic=statistic, sd=sd, distribution="norm")


def wald_contrast(
    params: Array, covariance: Array, R: Array, value: Array, df: Degrees
) -> ContrastResults:
    """Wald test of all rows of R b = value together: F with `df`, chi-square without.

    Rows that the others imply are left out by rank. Where contrasts have degrees of freedom of
    their own the statistic is taken for Hotelling's (approximate Hotelling test, "HTZ").

    Raises
    ------
    InvalidArgument
        If the rows contradict each other.
    NotAvailable
        If a row rests on a coefficient without a finite variance, or no row has a variance.
    """
    covariance = _needed(covariance, R)
    V = R @ covariance @ R.T
    scale = np.sqrt(np.einsum("ij,j,ij->i", R, np.diag(covariance), R))
    if not scale.all():
        raise NotAvailable("the hypothesis is about a coefficient that has no sampling variance")
    gap = (R @ params - value) / scale
    size, vectors = np.linalg.eigh(V / np.outer(scale, scale))
    kept = size > _RANK * size.max(initial=0.0)
    rest = vectors[:, ~kept].T @ gap
    if np.any(np.abs(rest) > 1e-6 * max(1.0, float(np.abs(gap).max()))):
        remedy = "its rows contradict each other, or some have no sampling variance"
        raise InvalidArgument("hypothesis", R.tolist(), remedy)
    statistic = float(np.sum((vectors[:, kept].T @ gap) ** 2 / size[kept]))
    rank = int(kept.sum())
    if callable(df):
        own = df(vectors[:, kept].T @ (R / scale[:, None]))
        left = own - rank + 1.0
        if not left > 0.0:
            raise NotAvailable(
                f"{rank} hypotheses together: the clusters, or respondents, that have information "
                "on these coefficients are too few: test fewer, or one at a time by t_test"
            )
        return ContrastResults(F=statistic / rank * left / own, df_denom=left, df_num=rank)
    if df is not None:
        return ContrastResults(F=statistic / rank, df_denom=df, df_num=rank)
    return ContrastResults(statistic=statistic, df_denom=rank, distribution="chi2")


def _needed(covariance: Array, R: Array) -> Array:
    """The covariance, of which only what R needs must be finite."""
    needed = R.any(axis=0)
    if not np.isfinite(covariance[np.ix_(needed, needed)]).all():
        raise NotAvailable(
            "the hypothesis is about a coefficient whose standard error is not finite: leave it "
            "out, or fit with penalty='jeffreys' where the maximum is at infinity"
        )
    return np.where(np.outer(needed, needed), covariance, 0.0)


# -- Hypotheses about the coefficients of a fitted regression: likelihood ratios, scores, Wald ----


def terms_of(results: Any) -> dict[str, list[int]]:
    """The coefficients of each term, over all equations; without those of the constant."""
    data = results.model.data
    p, equations = len(data.names), len(results.model.equations)
    if data.formula is not None:
        own = {name: list(map(int, at)) for name, at in data.formula.terms.items()}
    else:
        own = {name: [j] for j, name in enumerate(data.names)}
    constant = results.model.constant
    return {
        name: [e * p + j for e in range(equations) for j in columns]
        for name, columns in own.items()
        if columns != [constant]
    }


def _chosen(results: Any, term: Any) -> tuple[str, list[int]]:
    """A term, a coefficient, or several, as positions of coefficients."""
    data, terms = results.model.data, terms_of(results)
    p, equations = len(data.names), len(results.model.equations)
    if hasattr(term, "cov_params"):
        remedy = (
            "is a fitted model, but takes the term to leave out, and fits the model without it to "
            f"the same reports: {', '.join(terms)}"
        )
        raise InvalidArgument("term", type(term).__name__, remedy)
    asked = [term] if isinstance(term, str) else term
    if not isinstance(asked, Sequence) or not asked:
        remedy = f"must be the name of a term or coefficient, or a list: {', '.join(terms)}"
        raise InvalidArgument("term", term, remedy)
    found: list[int] = []
    for name in (str.__str__(one) if isinstance(one, str) else one for one in asked):
        if isinstance(name, str) and name in terms:
            found += terms[name]
        elif isinstance(name, str) and name in data.names:
            j = list(data.names).index(name)
            found += [e * p + j for e in range(equations)]
        else:
            known = [*terms, *data.names]
            remedy = f"is no term: they are {', '.join(terms)}"
            hint = did_you_mean(name, known) if isinstance(name, str) else ""
            raise InvalidArgument("term", name, remedy + hint)
    return ", ".join(map(str, asked)), sorted(set(found))


def _refuse_robust(results: Any, what: str) -> None:
    """Refuse tests by the likelihood, where the likelihood is not that of the sample."""
    if results.method == "corrected":
        raise NotAvailable(f"{what}: corrected scores have no likelihood: use wald_test")
    if results.cov_type != "nonrobust":
        raise NotAvailable(
            f"{what}: the covariance is {results.cov_type}, which the likelihood does not know: "
            "use wald_test"
        )


def refuse_terms(results: Any, hypothesis: Any) -> None:
    """Refuse a term of the formula where hypotheses about coefficients are wanted."""
    if not isinstance(hypothesis, str):
        return
    name = hypothesis.strip()
    terms = terms_of(results)
    if name in terms and name not in results.cov_params().index:
        likely = results.method != "corrected" and results.cov_type == "nonrobust"
        test = f"score_test({name!r}), lr_test({name!r}) or " if likely else ""
        own = [results.model.all_names[j] for j in terms[name]]
        remedy = (
            f"is a term of {len(own)} coefficients: use {test}term_tests(), or name the "
            f"coefficients, such as '{own[0]} = 0'"
        )
        raise InvalidArgument("hypothesis", hypothesis, remedy)


def lr_test(results: Any, term: Any) -> TestResult:
    """Likelihood ratio test that all coefficients of some terms are zero."""
    _refuse_robust(results, "lr_test")
    name, at = _chosen(results, term)
    statistic = results.ratio_without(at)
    method = "Likelihood ratio test" if results.penalty is None else "Penalised likelihood ratio"
    return TestResult.chi_square(f"the coefficients of {name} are zero", statistic, len(at), method)


def term_tests(results: Any) -> pd.DataFrame:
    """Tests of each term of the model: likelihood ratios of nested models, or Wald."""
    terms = terms_of(results)
    index = pd.Index(list(terms), name="term", dtype=object)
    if results.method == "corrected" or results.cov_type != "nonrobust":
        rows = [_wald_row(results, at) for at in terms.values()]
        return pd.DataFrame(rows, index=index, columns=["Wald", "df", "pvalue"])
    ratios = [(results.ratio_without(at), len(at)) for at in terms.values()]
    nested = [
        (results.llf - ratio / 2.0, ratio, df, float(chi2_pvalue(ratio, df)))
        for ratio, df in ratios
    ]
    return pd.DataFrame(nested, index=index, columns=["llf_without", "LR", "df", "pvalue"])


def _wald_row(results: Any, at: list[int]) -> tuple[float, int, float]:
    """Wald test that coefficients are zero: chi-square, or F times df with a design."""
    m = results.model.n_shown
    R = np.eye(m)[at]
    V = results.covariance_all[:m, :m]
    test = wald_contrast(results.theta[:m], V, R, np.zeros(len(at)), results.degrees)
    scale = len(at) if results.use_t else 1
    return float(np.squeeze(test.statistic)) * scale, len(at), float(np.squeeze(test.pvalue))


def score_test(results: Any, term: Any) -> TestResult:
    """Score test that all coefficients of some terms are zero: only the null model is fitted.

    With the expected information of the reports where their outputs can be listed and predictors
    are public, else the observed one.
    """
    if results.method == "corrected" or results.model.data.weights is not None:
        raise NotAvailable(
            "score_test: it needs the likelihood of the sample: use wald_test, which knows "
            "corrected scores, weights and designs"
        )
    name, at = _chosen(results, term)
    statistic, how = results.score_statistic(at)
    if statistic is None:
        raise NotAvailable(
            f"score_test: under the hypothesis the {how} on {name} is singular: use lr_test"
        )
    method = f"Score test with {how}"
    return TestResult.chi_square(f"the coefficients of {name} are zero", statistic, len(at), method)


# -- Tests and intervals of single coefficients from the likelihood of a fitted regression --------


_SINGULAR = 1e-10  # information on a coefficient, beside the others, relative to that without them
_DECREMENT = 1e-9  # of restricted maxima


def ratio_without(results: FittedRegression, fixed: Sequence[int]) -> tuple[float, float]:
    """Likelihood ratio statistic of coefficients that are zero, and the restricted maximum."""
    model = results.model
    objective = model.objective(results.penalty, results.theta)
    found = restricted_maximum(results, objective, fixed)
    return max(0.0, 2.0 * (results.value - found.value)), found.value


def restricted_maximum(
    results: FittedRegression, objective: Objective, fixed: Sequence[int]
) -> Maximum:
    """The maximum with some coefficients zero, from where the others are and from no effects."""
    free = np.ones(results.theta.shape, dtype=bool)
    free[list(fixed)] = False
    first, zero = results.theta.copy(), start(results.model.likelihood)
    first[~free] = 0.0
    zero[~free] = 0.0
    starts = [first] if results.model.is_exact else [first, zero]
    if results.infinite:
        starts = [zero]
    units = results.model.units
    met = [
        ascend(objective, one, free, tolerance=_DECREMENT, units=units)
        for one in starts
        if np.isfinite(objective.value(one))
    ]
    return max(met, key=lambda one: one.value)


def score_statistic(results: FittedRegression, fixed: Sequence[int]) -> tuple[float | None, str]:
    """Score statistic of coefficients that are zero, and the information that it takes.

    None where that is singular.
    """
    model = results.model
    null = restricted_maximum(results, model.likelihood, fixed)
    score, information, how = null.score, -null.hessian, "observed information"
    if _knows_expected(results):
        information, how = model.assembled.expected().matrix(null.theta), "expected information"
    return partial_score(score, information, np.array(fixed)), how


def partial_score(score: Array, information: Array, at: Array) -> float | None:
    """Score statistic of the parameters at these places; None where information is singular."""
    free = np.ones(score.shape, dtype=bool)
    free[at] = False
    scale = np.sqrt(np.abs(np.diagonal(information)))
    scale = np.where(scale > 0.0, scale, 1.0)
    scaled = information / np.outer(scale, scale)
    rest = scaled[np.ix_(at, at)]
    if free.any():
        cross = scaled[np.ix_(at, free)]
        rest = rest - cross @ np.linalg.lstsq(scaled[np.ix_(free, free)], cross.T, rcond=1e-12)[0]
    if np.linalg.eigvalsh(rest)[0] <= _SINGULAR:
        return None
    u = score[at] / scale[at]
    return float(u @ np.linalg.solve(rest, u))


def _knows_expected(results: FittedRegression) -> bool:
    """Whether the expected information of the reports is known."""
    model = results.model
    return model.data.is_categorical and model.likelihood.marginal is None and model.lists_reports


def coefficient_test(results: FittedRegression) -> str:
    """The test behind default p-values: by the likelihood ratio, penalised or not, or "Wald"."""
    if results.why_wald:
        return "Wald"
    return f"{'penalised ' if results.penalises else ''}likelihood ratio"


def coefficient_pvalues(results: Any, indices: Sequence[int]) -> Array:
    """p-values of some coefficients, each alone, by the profiles that intervals are cut from."""
    from scipy.special import fdtrc

    model = results.model
    each = np.array([at_zero(results, j).fall ** 2 for j in indices])
    if isinstance(model.data.outcome, Normal):  # exact for least squares
        n, p = model.nobs, len(model.data.names)
        return np.asarray(fdtrc(1, n - p, np.expm1(each / n) * (n - p)))
    return np.asarray(chi2_pvalue(each, 1))


def profile_intervals(results: Any, indices: Sequence[int], quantile: float) -> Array:
    """Profile intervals of some coefficients, (m, 2).

    Of categorical and count outcomes those of the penalised likelihood, which always end. They hold
    zero if and only if `coefficient_pvalues` do not reject it.

    Parameters
    ----------
    results : FittedRegression
    indices : sequence of int
    quantile : float
        Of the standard normal or t distribution, 1.96 for 95 %.
    """
    model, (objective, top) = results.model, results.profiled
    drop = 0.5 * quantile**2
    if isinstance(model.data.outcome, Normal):  # exact for least squares
        df = model.nobs - len(model.data.names)
        drop = 0.5 * model.nobs * float(np.log1p(quantile**2 / df))
    found = np.empty((len(indices), 2))
    V = _spread(top.hessian)
    for i, j in enumerate(indices):
        step, zero = quantile * float(np.sqrt(V[j])), at_zero(results, j)
        found[i] = profile_interval(objective, top, j, drop, step, model.units, zero)
    return found


def at_zero(results: Any, index: int) -> Probed:
    """The profile where a coefficient is zero: p-value and interval both rest on it."""
    known: dict[int, Probed] = results.tested_at_zero
    if index not in known:
        objective, top = results.profiled
        nothing = start(results.model.likelihood)
        known[index] = profile_at(objective, top, index, 0.0, [nothing], results.model.units)
    return known[index]


def profiled(results: Any) -> tuple[Objective, Maximum]:
    """The objective of profiles, penalised but for numbers, and its maximum."""
    model = results.model
    here = Maximum(
        results.theta,
        results.value,
        results.theta * 0.0,
        results.hessian,
        0.0,
        results.converged,
        results.n_iter,
    )
    if not results.penalises:
        return model.objective(None), here
    objective, first = model.penalised(results.theta), start(model.likelihood)
    if results.penalty is not None:
        top = here
    # the likelihood was searched from many starts: the penalty moves its maximum, or brings it home
    elif results.infinite:
        top = search(objective, first, model.units, n_random=2).maximum
    else:
        top = search(objective, results.theta, model.units, [first], n_random=0).maximum
    return objective.bent_at(top.theta), top


def _spread(hessian: Array) -> Array:
    """About the variances of the parameters, (p,), positive whatever the curvature."""
    scale = np.sqrt(np.abs(np.diagonal(hessian)))
    scale = np.where(scale > 0.0, scale, 1.0)
    size, axes = np.linalg.eigh(-hessian / np.outer(scale, scale))
    inverse = (axes / np.maximum(np.abs(size), 1e-6)) @ axes.T
    return np.asarray(np.diagonal(inverse) / scale**2)


# -- Comparisons of a fitted regression: with the naive one, and between groups of respondents ----


def naive_of(model: RegressionStructure) -> Array:
    """The coefficients of those who take reports for answers."""
    data = model.data
    configuration = None
    for name, groups in data.predictors.items():
        labels = groups[0].mechanism.labels(data.candidates.get(name))
        codes = reported_codes(groups, labels)
        configuration = codes if configuration is None else configuration * len(labels) + codes
    response = data.response
    if data.is_private:
        assert data.categories is not None
        response = reported_codes(response, data.categories)
    weights = data.counts if data.weights is None else data.weights
    found = naive_params(data.outcome, data.designs, response, configuration, weights, data.offset)
    return found[: model.n_shown]


def compare_naive(results: FittedRegression) -> pd.DataFrame:
    """Coefficients beside those of a model that takes reports for answers.

    Returns
    -------
    DataFrame
        Columns "params", "bse", "naive" and "ratio", naive by estimate; of a multinomial logit
        indexed by equation and name.
    """
    model = results.model
    naive = shaped(model, naive_of(model), "naive")
    m = model.n_shown
    given = [np.asarray(one).T.ravel()[:m] for one in (results.params, results.bse)]
    params, bse = (shaped(model, one, "params") for one in given)
    parts = [params, bse, naive, naive / params]
    columns = [one.stack() if isinstance(one, pd.DataFrame) else one for one in parts]
    if isinstance(naive, pd.DataFrame):
        columns = [one.swaplevel().reindex(_order(naive)) for one in columns]
    found: pd.DataFrame = pd.concat(columns, axis=1, keys=["params", "bse", "naive", "ratio"])
    return found


def _order(table: pd.DataFrame) -> pd.MultiIndex:
    """Equation by equation."""
    return pd.MultiIndex.from_product([table.columns, table.index])


def question_test(results: FittedRegression, terms: str = "constant") -> TestResult:
    """Test whether groups that were asked in different ways answer alike.

    For a response in several groups of reports, such as a direct question (`Observed`) and a
    randomised one. Under the hypothesis one law of the true answers, given the covariates, holds
    for all; people who do not answer both questions alike break it.
    """
    model = results.model
    data = model.data
    if not data.is_private or len(data.response) < 2:
        raise NotAvailable(
            "question_test: the response is one group of reports: pass a list of Reports, one for "
            "each way of asking"
        )
    if results.method == "corrected" or data.weights is not None or results.penalty is not None:
        raise NotAvailable("question_test: it needs the unpenalised likelihood of the sample")
    if terms not in ("constant", "all"):
        raise InvalidArgument("terms", terms, "must be 'constant' or 'all'")
    sizes = [len(group) for group in data.response]
    at = np.repeat(np.arange(len(sizes)), sizes)
    used = [g for g, size in enumerate(sizes) if size]
    others = [(at == g).astype(np.float64) for g in used[1:]]
    names = list(data.names)
    columns: list[int | None] = [None]  # a level of its own, and covariates
    if terms == "all":
        own = [j for j in range(len(names)) if j != model.constant]
        implied = model.constant is None and model.spans_constant
        columns = [*own] if implied else [None, *own]
    extra, added = [], []
    for g, indicator in zip(used[1:], others, strict=True):
        extra += [(j, indicator) for j in columns]
        added += [f"{'level' if j is None else names[j]} in group {g + 1}" for j in columns]
    designs = []
    for X in data.designs:
        new = [indicator if j is None else indicator * X[:, j] for j, indicator in extra]
        designs.append(np.column_stack([X, *new]))
    wider: Any = type(model).of(
        replace(data, designs=designs, names=[*names, *added], formula=None)
    )
    free = wider.fit()
    return _worded(free.lr_test(added), terms)


def _worded(test: TestResult, terms: str) -> TestResult:
    what = "the level" if terms == "constant" else "the law"
    null = f"{what} of the true answers given the covariates is the same however they were asked"
    return replace(test, null=null)


# -- Intervals of coefficients: profiles, or Wald -------------------------------------------------


def quantile(results: Any, alpha: float) -> Any:
    """The two-sided quantile of the normal or t distribution, or that of each coefficient."""
    from scipy.special import ndtri, stdtrit

    lower, df = probability("alpha", alpha) / 2.0, results._each_df
    return -ndtri(lower) if df is None else -stdtrit(df, lower)


def coefficient_intervals(results: Any, alpha: float, method: str) -> Array:
    """Limits of all that results show, (m, 2)."""
    z, shown = quantile(results, alpha), results.shown
    if method == "profile" and results.method == "corrected":
        raise NotAvailable("profile: corrected scores have no likelihood: use method='wald'")
    if method == "profile" and results.cov_type != "nonrobust":
        raise NotAvailable(
            f"profile: the covariance is {results.cov_type}, which profiles do not know: use 'wald'"
        )
    if np.isinf(z).all():
        return np.tile([-np.inf, np.inf], (len(shown), 1))
    if method == "profile" or (method == "default" and results.uses_likelihood):
        return np.asarray(results.profiles(z))
    center = results.theta[shown]
    half = z * np.sqrt(np.diagonal(results.covariance_all)[shown])
    return np.column_stack([center - half, center + half])


# -- Whether a prior is so wide that the chains have missed a part of the posterior ---------------


_DRAWS = 1000  # from the prior
_BLOCK = 100
_MUCH = 0.01
_LEAST_beyond = 1e-18  # of a curvature
_FAR = 2.0  # times as far from the mode as the farthest draw: no mere tail


def share_beyond(density: RegressionDensity, z: Array, prior_draws: Array) -> float:
    """About the share of a posterior that lies where no draw of the chains is.

    Every report has a positive probability whatever the answer, so that the likelihood of
    privatised answers does not vanish far out: a prior that is wide enough has most of its
    posterior there. The mean likelihood of draws from the prior that are twice as far out as
    all draws of the chains, over its sum with Laplace's approximation of the evidence at the mode.

    Parameters
    ----------
    density : RegressionDensity
    z : array, shape (c, n, d)
        Draws of the chains.
    prior_draws : array, shape (s, d)
        Parameters; at most 1,000 are used.
    """
    mode = density.mode()
    sizes, axes = np.linalg.eigh(density.curvature(mode))
    sizes = np.maximum(sizes, _LEAST_beyond)
    root = axes * np.sqrt(sizes)
    top = float(density.evaluate(mode[None])[0][0]) + density.prior.log_scale
    d = density.size
    near = top + 0.5 * d * np.log(2.0 * np.pi) - 0.5 * float(np.log(sizes).sum())
    near += float(np.linalg.slogdet(density.units)[1])
    some = np.linalg.solve(density.units, prior_draws[:_DRAWS].T).T
    reach = (((z.reshape(-1, d) - mode) @ root) ** 2).sum(axis=1).max()
    far = some[(((some - mode) @ root) ** 2).sum(axis=1) > _FAR**2 * reach]
    if not len(far):
        return 0.0
    values = np.concatenate([_logs(density, part) for part in _blocks(far)])
    there = values[np.isfinite(values)]
    if not there.size:
        return 0.0
    most = float(there.max())
    beyond = most + float(np.log(np.exp(there - most).sum() / len(some)))
    return float(1.0 / (1.0 + np.exp(min(near - beyond, 700.0))))


def _blocks(z: Array) -> list[Array]:
    return [z[i : i + _BLOCK] for i in range(0, len(z), _BLOCK)]


def _logs(density: RegressionDensity, z: Array) -> Array:
    """Log-likelihoods at coordinates (m, d)."""
    with np.errstate(all="ignore"):
        return density.evaluate(z)[0] - density.prior.evaluate(density.parameters(z))[0]


def warn_of_wide_priors(density: RegressionDensity, z: Array, prior_draws: Array) -> None:
    """Warn where chains have missed more than a hundredth of the posterior."""
    share = share_beyond(density, z, prior_draws)
    if share > _MUCH:
        warnings.warn(
            f"about {100 * share:.0f}% of the posterior lie farther out than all draws: the "
            "reports do not rule out coefficients of any size, and the prior is so wide that it "
            "has most of its mass there; choose a smaller standard deviation",
            PosteriorWarning,
            stacklevel=4,
        )


# -- What a fit has estimated, and the likelihood there -------------------------------------------


_MOST_PROFILES = 30  # coefficients up to which each is profiled
_MANY = 50_000  # rows from which on profiles are made only if they may differ from Wald,
_SMALL = 0.05  # as where no standardised coefficient is known to this


@dataclass(frozen=True, eq=False, repr=False)
class FittedRegression:
    """Estimates of a regression, their covariance, and the likelihood.

    Parameters
    ----------
    model : RegressionStructure
    theta : array
        All parameters: coefficients of the outcome, and of the law of private predictors.
    covariance_all : array
        Covariance of `theta`; nan where an estimate is infinite.
    value : float
        Of what was maximised.
    hessian : array
        Its second derivatives.
    method, penalty, cov_type : str
    converged : bool
    n_iter : int
    n_maxima : int
        Distinct local maxima that were met from several starts.
    infinite : tuple of str
        Coefficients whose maximum is at infinity.
    df : float or None
        Degrees of freedom of t quantiles; None for normal ones.
    shares : InformationShares or None
        Of the clusters, if each coefficient has degrees of freedom of its own.
    """

    model: RegressionStructure
    theta: Array
    covariance_all: Array
    value: float
    hessian: Array
    method: str
    penalty: str | None
    cov_type: str
    converged: bool
    n_iter: int
    n_maxima: int
    infinite: tuple[str, ...]
    df: float | None = None
    shares: InformationShares | None = None

    # -- coefficients --------------------------------------------------------------------------

    @property
    def _m(self) -> int:
        return self.model.n_shown

    @property
    def shown(self) -> list[int]:
        """Places in `theta` of what is reported: coefficients, and unknown parameters last."""
        size = len(self.theta)
        return [*range(self._m), *range(size - len(self.model.unknown), size)]

    @property
    def _shown_names(self) -> list[str]:
        names = self.model.all_names
        return [names[j] for j in self.shown]

    @cached_property
    def params(self) -> Any:
        """Coefficients: a Series, or a DataFrame with a column for each equation (multinomial).

        Those whose maximum is at infinity are infinite; predictions take `theta`, which is far out.
        """
        far = [name in self.infinite for name in self._shown_names]
        found = self.theta[self.shown]
        return shaped(self.model, np.where(far, np.copysign(np.inf, found), found), "params")

    @cached_property
    def bse(self) -> Any:
        """Standard errors, shaped as `params`; nan for infinite estimates."""
        return shaped(self.model, np.sqrt(np.diagonal(self.covariance_all)[self.shown]), "bse")

    @property
    def tvalues(self) -> Any:
        """Coefficients in standard errors."""
        return self.params / self.bse

    @property
    def use_t(self) -> bool:
        """Whether quantiles are those of a t distribution."""
        return self.df is not None or self.shares is not None

    @property
    def degrees(self) -> Degrees:
        """Degrees of freedom of contrasts of what is shown; None for normal quantiles."""
        return self.df if self.shares is None else self.shares.degrees

    @cached_property
    def df_inference(self) -> Any:
        """Degrees of freedom of each coefficient's t quantile, shaped as `params`.

        Infinite for normal quantiles; nan where single clusters determine a coefficient, so that
        its variance cannot be estimated.
        """
        df, m = self.degrees, len(self.shown)
        each = [df(row[None, :]) if callable(df) else df for row in np.eye(m)]
        return shaped(self.model, np.array([np.inf if v is None else v for v in each]), "df")

    @property
    def _each_df(self) -> Any:
        """Degrees of freedom of t quantiles: one, those of what is shown, or None."""
        return np.asarray(self.df_inference).T.ravel() if self.shares is not None else self.df

    @property
    def uses_likelihood(self) -> bool:
        """Whether default tests and intervals are from the likelihood, and not Wald."""
        return not self.why_wald

    @property
    def penalises(self) -> bool:
        """Whether profiles are of the penalised likelihood."""
        return not isinstance(self.model.data.outcome, Normal)

    def parameter_notes(self) -> list[str]:
        """What the summary says of unknown parameters of devices."""
        return []

    @cached_property
    def why_wald(self) -> str:
        """Why default tests and intervals are Wald; "" where they are from the likelihood."""
        if self.method == "corrected":
            return "corrected scores have no likelihood"
        if self.cov_type != "nonrobust":
            kind = "that of the design" if self.cov_type == "design" else self.cov_type
            return f"the likelihood does not know the covariance, which is {kind}"
        if self.use_t and self.model.is_exact:
            return "they are exact for least squares"
        if len(self.shown) > _MOST_PROFILES:
            return f"there are more than {_MOST_PROFILES} coefficients"
        if self.model.likelihood.n > _MANY and self._largest_error < _SMALL:
            return "with so much information the likelihood is quadratic"
        return ""

    @cached_property
    def _largest_error(self) -> float:
        """The largest standard error of a coefficient of a standardised covariate."""
        if self.infinite:
            return float("inf")
        units, m = self.model.units, self._m
        inverse = np.linalg.inv(units[:m, :m])
        V = inverse @ self.covariance_all[:m, :m] @ inverse.T
        return float(np.sqrt(np.diagonal(V).max()))

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the coefficients, (p, p); equation by equation (multinomial)."""
        names, V = self._shown_names, self.covariance_all[np.ix_(self.shown, self.shown)]
        return pd.DataFrame(V, index=names, columns=names)

    @cached_property
    def marginal_params(self) -> pd.DataFrame | None:
        """Coefficients of the law of the private predictors, a column for each configuration."""
        marginal = self.model.data.marginal
        if marginal is None or self.method == "corrected":
            return None
        labels = [
            one[0] if len(one) == 1 else one for one in list(self.model.data.configurations)[1:]
        ]
        own = self.model.likelihood
        gamma = self.theta[own.n_outcome : own.size].reshape(len(labels), -1).T
        columns = pd.Index(labels, tupleize_cols=False)
        return pd.DataFrame(gamma, index=list(marginal.columns), columns=columns)

    @property
    def scale(self) -> float:
        """Variance of a numeric outcome about its mean; one for others."""
        if not isinstance(self.model.data.outcome, Normal):
            return 1.0
        n, p = self.model.nobs, len(self.model.data.names)
        sigma = float(np.exp(self.theta[self._m]))
        return sigma**2 * n / (n - p)

    # -- likelihood ----------------------------------------------------------------------------

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return self.model.nobs

    @property
    def llf(self) -> float:
        """Log-likelihood of the reports of the response, given the public covariates.

        With private predictors it is given their reports too: the log-likelihood of all reports
        given the public covariates, which the fit maximises, less that of the predictors' reports
        alone at the same estimate. `llnull`, `aic` and `bic` are of the same likelihood; `llr` is
        of all reports.
        """
        return conditional_value(self.at_estimate, self.theta[: self.at_estimate.size])

    @property
    def at_estimate(self) -> RegressionLikelihood:
        """The likelihood of coefficients, with the devices as they are estimated."""
        return self.model.likelihood

    @cached_property
    def _null(self) -> tuple[float, float]:
        return null_results(self.model, self.theta)

    @property
    def llnull(self) -> float:
        """Log-likelihood of the model without covariates."""
        return self._null[0]

    @property
    def llr(self) -> float:
        """Likelihood ratio statistic of all coefficients but the constant."""
        self._refuse_pseudo("llr")
        likelihood = self.at_estimate
        joint = likelihood.value(self.theta[: likelihood.size])
        return max(0.0, 2.0 * (joint - self._null[1]))

    @property
    def llr_pvalue(self) -> float:
        """Its p-value, chi-square with `df_model` degrees of freedom."""
        return float(chi2_pvalue(self.llr, self.df_model)) if self.df_model else float("nan")

    @property
    def prsquared(self) -> float:
        """McFadden's 1 - llf / llnull, of the reports: noise lowers it."""
        return 1.0 - self.llf / self.llnull

    @property
    def df_model(self) -> float:
        """Number of slopes."""
        model = self.model
        has_constant = not isinstance(model.data.outcome, Ordered) and model.spans_constant
        return float((len(model.data.names) - has_constant) * len(model.equations))

    @property
    def df_resid(self) -> float:
        """Respondents less coefficients."""
        return float(self.nobs - len(self.shown))

    @property
    def aic(self) -> float:
        """-2 llf + 2 coefficients."""
        self._refuse_pseudo("aic")
        return -2.0 * self.llf + 2.0 * len(self.shown)

    @property
    def bic(self) -> float:
        """-2 llf + log(nobs) coefficients."""
        self._refuse_pseudo("bic")
        return -2.0 * self.llf + float(np.log(self.nobs)) * len(self.shown)

    def _refuse_pseudo(self, what: str) -> None:
        """Refuse what needs a likelihood, where weights leave a pseudo-likelihood or none."""
        data = self.model.data
        if self.method == "corrected":
            raise NotAvailable(f"{what}: corrected scores have no likelihood: use wald_test")
        if data.weights is not None:
            raise NotAvailable(
                f"{what}: weighted likelihoods are not those of the sample: use wald_test, "
                "which knows the weights and the design"
            )


_OF_SEEN_ANSWERS = {
    "get_distribution",
    "get_influence",
    "fittedvalues",
    "outlier_test",
    "pred_table",
    "resid",
    "resid_dev",
    "resid_generalized",
    "resid_misclassified",
    "resid_pearson",
    "resid_prob",
    "resid_response",
    "wresid",
}


@dataclass(frozen=True, eq=False, repr=False)
class RegressionResults(FittedRegression, PresentedRegression):
    """A fitted regression on privatised answers.

    `pvalues`, `conf_int` and the columns of `summary` are from one profile of the likelihood with
    half the log determinant of the expected information added, whose intervals always end: a
    coefficient has p < .05 if and only if its 95 % interval does not hold zero, and so at every
    level. The likelihood of numbers is taken without the penalty. `bse`, `tvalues`,
    `wald_test`, `t_test` and ``conf_int(method="wald")`` are of the normal approximation, which
    fails where information is scarce. `why_wald` says why all are Wald, as with robust covariances,
    sampling weights, designs, and more than 30 coefficients. With clusters `df_inference` has the
    degrees of freedom of each coefficient; predictions and margins take the least of them.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=5_000)})
    >>> ill = np.where(rng.random(5_000) < 1 / (1 + np.exp(0.5 - 0.8 * X["age"])), "yes", "no")
    >>> results = ldp.PrivatizedLogit(ldp.Warner(epsilon=1.0).privatize(ill, rng), X).fit()
    >>> results.to_frame().round(3)
        term  estimate  std_error  lower  upper  p_value
    0  const    -0.648      0.078 -0.802 -0.497      0.0
    1    age     0.798      0.091  0.622  0.977      0.0
    >>> results.conf_int().round(2)
           lower  upper
    const  -0.80  -0.50
    age     0.62   0.98
    """

    def __getattr__(self, name: str) -> Any:
        # results of statsmodels have these, of answers that were seen
        if name in _OF_SEEN_ANSWERS:
            raise AttributeError(
                f"{name}: it needs the answer of each respondent, which nobody has seen: use "
                "goodness_of_fit(), predictions() and compare_naive()"
            )
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    @property
    def devices(self) -> Devices | None:
        """Channels of devices with unknown parameters, and derivatives by these; None of others."""
        return None

    @cached_property
    def law(self) -> FittedLaw:
        """The law of the true answers, by the estimated parameters."""
        model = self.model
        df = self.df if self.shares is None else float(np.nanmin(self._each_df))
        return FittedLaw(model.data, model.assembled, self.theta, self.covariance_all, df)

    @cached_property
    def pvalues(self) -> Any:
        """p-values of each coefficient, by `test_of_coefficients`."""
        if not self.uses_likelihood:
            return self.wald_pvalues
        return shaped(self.model, self._likelihood_pvalues(), "pvalues")

    def _likelihood_pvalues(self) -> Array:
        return coefficient_pvalues(self, range(self._m))

    @property
    def test_of_coefficients(self) -> str:
        """Which test `pvalues` are of.

        "penalised likelihood ratio", "likelihood ratio" of numbers and of unknown devices, or
        "Wald".
        """
        return coefficient_test(self)

    @property
    def wald_pvalues(self) -> Any:
        """p-values of `tvalues`."""
        from scipy.special import ndtr, stdtr

        z = -np.abs(np.asarray(self.tvalues).T.ravel())
        df = self._each_df
        found = 2.0 * (ndtr(z) if df is None else stdtr(df, z))
        return shaped(self.model, found, "pvalues")

    def conf_int(self, alpha: float = 0.05, method: str = "default") -> pd.DataFrame:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
        method : {"default", "profile", "wald"}
            "default" is the profile of the penalised likelihood where `uses_likelihood`, else Wald.

        Returns
        -------
        DataFrame
            Columns "lower" and "upper"; of a multinomial logit indexed by equation and name.
        """
        method = one_of("method", method, ("default", "profile", "wald"))
        kind = (probability("alpha", alpha), method)
        if kind not in self._limits:  # profiles take time, and a summary shows them again
            self._limits[kind] = coefficient_intervals(self, *kind)
        return shaped_intervals(self.model, self._limits[kind].copy())

    @cached_property
    def _limits(self) -> dict[tuple[float, str], Any]:
        """Limits of intervals that were asked for, by level and method."""
        return {}

    @names_alpha
    def odds_ratios(self, alpha: float = 0.05, per: Any = None) -> pd.DataFrame:
        """Odds ratios of the true answers, with the intervals of `conf_int`.

        Of a logit they are of success, of a multinomial logit of each category against the
        reference, and of an ordered model of a higher answer. The constant and thresholds have
        none.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        per : mapping of str to float, optional
            How far covariates move, one by default: ``{"age": 10}`` for ten years. Where another
            coefficient is of the same covariate, such as a square, each is still taken alone.

        Returns
        -------
        DataFrame
            "odds_ratio", "lower", "upper" and "p_value", that of `pvalues`; of a multinomial logit
            indexed by equation and name.

        Raises
        ------
        NotAvailable
            If the link is not the logit, or the response is a number.
        InvalidArgument
            If `per` names no coefficient, or a number of units is not positive.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(1)
        >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(40, 10, size=5_000)})
        >>> ill = np.where(rng.random(5_000) < 1 / (1 + np.exp(4 - 0.08 * X["age"])), "yes", "no")
        >>> results = ldp.PrivatizedLogit(ldp.Warner(epsilon=1.0).privatize(ill, rng), X).fit()
        >>> results.odds_ratios(per={"age": 10}).round(2)
             odds_ratio  lower  upper  p_value
        age        2.46   2.01   3.02      0.0
        """
        return odds_ratios(self, alpha, per)

    @cached_property
    def profiled(self) -> tuple[Objective, Maximum]:
        """What is profiled, and its maximum."""
        return profiled(self)

    @cached_property
    def tested_at_zero(self) -> dict[int, Probed]:
        """Profiles at zero that were made, by place of the coefficient."""
        return {}

    def profiles(self, quantile: float) -> Array:
        """Profile intervals of all that is shown, (m, 2); `quantile` is 1.96 for 95 %."""
        return profile_intervals(self, range(self._m), quantile)

    # -- hypotheses ----------------------------------------------------------------------------

    def ratio_without(self, fixed: Sequence[int]) -> float:
        """Likelihood ratio statistic of coefficients, by place, that are zero."""
        return ratio_without(self, fixed)[0]

    def score_statistic(self, fixed: Sequence[int]) -> tuple[float | None, str]:
        """Score statistic of the same; None where the information, named then, is singular."""
        return score_statistic(self, fixed)

    def lr_test(self, term: Any) -> TestResult:
        """Likelihood ratio test that all coefficients of a term are zero.

        Parameters
        ----------
        term : str or list of str
            Terms of the formula, or names of covariates. Other results are not taken: the model
            without the term is fitted here, to the same reports.
        """
        return lr_test(self, term)

    def term_tests(self) -> pd.DataFrame:
        """Test of each term: the model without it, likelihood ratio, df and p-value.

        With robust covariances, weights, designs and corrected scores Wald tests.
        """
        return term_tests(self)

    def score_test(self, term: Any) -> TestResult:
        """Score test that all coefficients of a term are zero, from the model without it.

        Parameters
        ----------
        term : str or list of str
            As for `lr_test`.
        """
        return score_test(self, term)

    def question_test(self, terms: str = "constant") -> TestResult:
        """Test whether groups that were asked in different ways answer alike.

        For a response in several groups of reports, such as a direct question (`Observed`) and a
        randomised one: a likelihood ratio test against a level, or coefficients, of their own.

        Parameters
        ----------
        terms : {"constant", "all"}
            Whether groups may differ in the constant (the thresholds' level), or in every
            coefficient.
        """
        return question_test(self, terms)

    def compare_naive(self) -> pd.DataFrame:
        """Coefficients beside those of a model that takes the reports for the answers.

        Returns
        -------
        DataFrame
            Columns "params", "bse", "naive" and "ratio", the naive ones by the estimates.

        Raises
        ------
        NotAvailable
            If reports are bits or codes, which nobody could take for answers.
        """
        return compare_naive(self)

    def t_test(self, hypothesis: Any) -> Any:
        """Wald tests of linear hypotheses, one by one.

        Parameters
        ----------
        hypothesis : str, array, or pair
            As in statsmodels: "age = 0", a matrix R, or (R, value). Coefficients of a multinomial
            logit are named as in `cov_params`. Terms of several coefficients, such as C(region),
            are tested by `term_tests` and `score_test`.
        """
        return t_contrasts(*self._hypothesis(hypothesis), self.degrees)

    def wald_test(self, hypothesis: Any) -> Any:
        """Wald test of linear hypotheses together, see `t_test`.

        With few clusters the F distribution is that of the approximate Hotelling test ("HTZ").
        """
        return wald_contrast(*self._hypothesis(hypothesis), self.degrees)

    def _hypothesis(self, hypothesis: Any) -> tuple[Array, Array, Array, Array]:
        refuse_terms(self, hypothesis)
        R, value = linear_constraints(self._shown_names, hypothesis)
        V = self.covariance_all[np.ix_(self.shown, self.shown)]
        return self.theta[self.shown], V, R, value


# -- What a regression finds that takes the reports for the answers, for comparison ---------------


Codes = npt.NDArray[np.int64]


def reported_codes(groups: Sequence[Reports], labels: pd.Index[Any]) -> Codes:
    """The category that each respondent reported, shape (n,).

    Raises
    ------
    NotAvailable
        If the reports of a mechanism are not named like the categories: there is nothing then that
        could be mistaken for the answer.
    """
    for group in groups:
        mechanism = group.mechanism
        outputs = getattr(mechanism, "outputs", None)
        if mechanism.n_bits or mechanism.n_cohorts or outputs is None or not labels.equals(outputs):
            kind = "bits" if mechanism.n_bits else "codes other than the categories"
            raise NotAvailable(
                f"the reports of {mechanism} are {kind}, which nobody could take for answers: "
                "there is no naive estimate to compare with"
            )
    return np.concatenate([group.y.astype(np.int64) for group in groups])


def naive_params(
    outcome: Outcome,
    designs: Sequence[Array],
    response: Array,
    configuration: Codes | None = None,
    weights: Array | None = None,
    offset: Array | None = None,
) -> Array:
    """Parameters of the outcome if reports are taken for answers.

    They are those of the model of statsmodels, with the reports in place of the answers.

    Parameters
    ----------
    outcome : Outcome
    designs : sequence of arrays, shape (n, p); length C
        Covariates if the private predictors are in configuration c; one if none are private.
    response : array, shape (n,)
        Numbers, or codes of the categories, reported ones if the response is private.
    configuration : array of int64, shape (n,), optional
        The reported configuration of the private predictors.
    weights : array, shape (n,), optional
    offset : array, shape (n,), optional

    Returns
    -------
    array, shape (P,)
        In the order of `corrected`; of a number the coefficients alone.

    Raises
    ------
    NotAvailable
        If the maximum is at infinity, or columns are linear combinations of others.

    Examples
    --------
    >>> from ldpstats.likelihood.regression import Binary
    >>> X = np.column_stack([np.ones(8), np.repeat([0.0, 1.0], 4)])
    >>> naive_params(Binary(), [X], np.array([0, 0, 0, 1, 0, 1, 1, 1])).round(3).tolist()
    [-1.099, 2.197]
    """
    n = len(response)
    X = designs[0]
    if configuration is not None:
        X = np.stack(designs)[configuration, np.arange(n)]
    w = np.ones(n) if weights is None else weights
    if np.linalg.matrix_rank(X * np.sqrt(w)[:, None]) < X.shape[1]:
        raise NotAvailable("the covariates as reported are linear combinations of each other")
    if isinstance(outcome, Normal):
        y = response if offset is None else response - offset
        return least_squares(X, y, w, np.ones(n)).beta
    seen: Any = response
    k = getattr(outcome, "k", 0)
    if k:
        seen = Seen(np.eye(k), np.asarray(response, dtype=np.int64))
    whole = RegressionLikelihood(outcome, (predictors_of(outcome, X, offset),), seen, w)
    found = search(whole, start(whole), units(whole), concave=True)
    if found.flat is not None or not found.maximum.converged:
        raise NotAvailable("the naive estimate is at infinity: the covariates separate the reports")
    return found.maximum.theta
