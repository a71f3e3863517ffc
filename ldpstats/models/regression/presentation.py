"""The summary of a regression on privatised answers, and the words that summaries share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.inference.tests import pvalue_text
from ldpstats.likelihood.regression import Binary, Multinomial, Normal, Ordered, ReportLaw
from ldpstats.models.layout import (
    LONGEST_LABEL,
    SummaryTable,
    decimals,
    distinct_lines,
    figures,
    header,
    interval_columns,
    one_line,
)

__all__ = [
    "coefficient_labels",
    "coefficients_table",
    "few_notes",
    "kept_information",
    "model_name",
    "quantiles_in_words",
    "regression_summary",
    "total_epsilon",
]


Array = npt.NDArray[Any]

_NAIVE = 6  # coefficients that a note shows
_MECHANISMS = 4
_WIDEST = 1e6  # beyond, coefficients have an exponent
_KINDS = {
    "nonrobust": "observed information",
    "HC0": "sandwich (HC0)",
    "cluster": "sandwich, by cluster",
    "CR2": "sandwich, by cluster (CR2)",
    "design": "sandwich, by the design",
}


def coefficients_table(
    results: Any,
    title: str,
    head: list[list[str]],
    shown: pd.DataFrame,
    alpha: float,
    notes: list[str],
) -> SummaryTable:
    """The summary of coefficients, which are `shown`."""
    letter = "t" if results.use_t else "z"
    digits = decimals(shown["std_error"].to_numpy())
    several = isinstance(shown.index, pd.MultiIndex)
    names = list(dict.fromkeys(shown.index.get_level_values(-1)))
    called = dict(zip(names, distinct_lines(names, LONGEST_LABEL), strict=True))
    stubs, body = [], []
    above = None
    columns = ["estimate", "std_error", "lower", "upper", "p_value", "t"]
    for label, row in zip(shown.index, shown[columns].to_numpy(), strict=True):
        if several and label[0] != above:
            above = label[0]
            stubs.append(f"{one_line(above, LONGEST_LABEL)}:")
            body.append([""] * 6)
        name = label[-1] if several else label
        stubs.append(f"  {called[name]}" if several else called[name])
        tests = [*figures([row[5]], 2), pvalue_text(row[4])]
        if str(name) in getattr(results.model, "threshold_names", ()):
            tests = ["", ""]
        estimates = [
            f"{v:.4g}" if np.isfinite(v) and abs(v) >= _WIDEST else figures([v], digits)[0]
            for v in row[:4]
        ]
        body.append([*estimates[:2], *tests, *estimates[2:]])
    heads = ["coef", "std err", letter, f"P>|{letter}|", *interval_columns(alpha)]
    return SummaryTable(title, head, heads, stubs, body, notes)


def regression_summary(
    results: Any, frame: pd.DataFrame, alpha: float, max_rows: int, details: bool
) -> SummaryTable:
    """The summary of regressions by a likelihood."""
    shown = frame.iloc[:max_rows]
    subject = one_line(results.model.endog_names, LONGEST_LABEL)
    title = f"{model_name(results.model.data.outcome)} regression of {subject}"
    notes = _notes(results, alpha, len(shown), len(frame), details)
    return coefficients_table(results, title, _header(results, details), shown, alpha, notes)


def _header(results: Any, details: bool) -> list[list[str]]:
    """What was fitted to which reports, in two columns."""
    data = results.model.data
    left = [("Dep. variable:", one_line(results.model.endog_names, 30))]
    if isinstance(data.outcome, Binary):
        left.append(("Success:", one_line(data.categories[1], 30)))
    elif isinstance(data.outcome, Multinomial):
        left.append(("Reference:", one_line(data.categories[0], 30)))
    questions = [(data.response_name, data.response)] if data.is_private else []
    questions += list(data.predictors.items())
    mechanisms = []
    for name, groups in questions:
        for group in list(groups)[:_MECHANISMS]:
            text = str(group.mechanism) + (f", n = {len(group):,}" if len(groups) > 1 else "")
            mechanisms.append(text if len(questions) == 1 else f"{one_line(name, 20)}: {text}")
        if len(groups) > _MECHANISMS:
            mechanisms.append(f"and {len(groups) - _MECHANISMS} more groups")
    stub = "Mechanisms:" if len(mechanisms) > 1 else "Mechanism:"
    left += [("" if i else stub, text) for i, text in enumerate(mechanisms)]
    method = results.method.upper() if len(results.method) < 4 else results.method
    left.append(("Method:", f"{method}, {results.penalty}" if results.penalty else method))
    kind = "CR2" if results.shares is not None else results.cov_type
    left.append(("Covariance:", _KINDS.get(kind, kind)))
    if data.facts is not None:
        left.append(("Design:", one_line(data.facts.design, 40)))
    epsilon = "Epsilon (nats):"
    if len(questions) > 1:
        epsilon = "Epsilon, all answers:"
    elif len({group.mechanism.epsilon for _, groups in questions for group in groups}) > 1:
        epsilon = "Epsilon, largest:"
    right = [
        ("Respondents:", f"{results.nobs:,}"),
        ("Missing, left out:", f"{data.n_missing:,}"),
        (epsilon, total_epsilon(data)),
    ]
    if results.method != "corrected" and data.weights is None:
        right += [
            ("Log-likelihood:", f"{results.llf:,.2f}"),
            ("LL-null:", f"{results.llnull:,.2f}"),
        ]
        if results.df_model:
            p = results.llr_pvalue
            right.append(("LR test:", f"{results.llr:.2f}, {pvalue_text(p, 'p')}"))
    right.append(("Iterations:", str(results.n_iter)))
    if results.method != "corrected":
        right.append(("Maxima met:", str(results.n_maxima)))
    if details:
        left.append(("Converged:", "yes" if results.converged else "NO"))
        right.append(("Df model, residual:", f"{results.df_model:g}, {results.df_resid:g}"))
    return header(left, right)


def _notes(results: Any, alpha: float, n_shown: int, n: int, details: bool) -> list[str]:
    """What tests and intervals are, what may be wrong, and what the randomisation has cost."""
    model = results.model
    percent = f"{100 * (1 - alpha):.4g}%"
    if results.uses_likelihood:
        kind = "penalised " if results.penalises else ""
        notes = [
            f"P-values and {percent} intervals: profiles of the {kind}likelihood, which agree "
            f"about zero. Std err and {'t' if results.use_t else 'z'} are Wald."
        ]
    else:
        law = quantiles_in_words(results.df_inference, results.use_t)
        notes = [f"P-values and {percent} intervals: Wald, {law}, as {results.why_wald}."]
        notes += few_notes(results.df_inference)
    if n_shown < n:
        notes.append(f"Shown: the first {n_shown} of {n} coefficients.")
    if isinstance(model.data.outcome, Ordered):
        notes.append("Thresholds: the first, and logarithms of the steps to the next.")
    notes += results.parameter_notes()
    if results.infinite:
        remedy = "" if results.penalty else "; fit(penalty='jeffreys') has a finite one"
        if model.unknown:
            remedy = "; fit_posterior() has a finite one"
        notes.append(
            f"WARNING: the maximum is at infinity in {', '.join(results.infinite)}: the estimate "
            f"and its std err say nothing, p-values and intervals are valid{remedy}."
        )
    elif not results.converged:
        notes.append("WARNING: the iteration stopped before it reached a maximum: raise maxiter.")
    if results.n_maxima > 1 and results.method != "corrected":
        notes.append(
            f"NOTE: {results.n_maxima} local maxima of the likelihood were met; this is the "
            "highest."
        )
    share = kept_information(results)
    if share < 1.0 - 1e-9:
        percent = f"{100.0 * share:.0f}%" if share >= 0.01 else f"{100.0 * share:.2g}%"
        notes.append(
            f"NOTE: the reports know as much of the coefficients as {share * results.nobs:,.0f} "
            f"respondents without randomisation would ({percent} of them)."
        )
    if not model.is_exact:
        notes += _naive_notes(results)
    if results.marginal_params is not None:
        if model.data.weights is None:
            notes.append(
                "Log-likelihood: of the response's reports, given public covariates and the "
                "reports of private predictors; the fit maximises that of all reports."
            )
        notes.append("The law of the private predictors given public ones is in marginal_params.")
    elif model.data.predictors:
        notes.append("Corrected scores assume no law of the private predictors.")
    if details:
        try:
            test = results.goodness_of_fit()
            notes.append(f"Goodness of fit ({test.method}): {pvalue_text(test.pvalue, 'p')}.")
        except NotAvailable:
            pass
    return notes


def _naive_notes(results: Any) -> list[str]:
    """What slopes would read if reports were answers."""
    try:
        table = results.compare_naive()
    except NotAvailable:
        return []
    model = results.model
    skipped = {*model.threshold_names}
    if model.constant is not None:
        name = model.exog_names[model.constant]
        skipped |= {name, *(f"{equation}: {name}" for equation in model.equations)}
    slopes = []
    for label, value in table["naive"].items():
        name = label[-1] if isinstance(label, tuple) else label
        if name not in skipped:
            text = ": ".join(map(str, label)) if isinstance(label, tuple) else str(label)
            slopes.append(f"{one_line(text, LONGEST_LABEL)} {value:.3f}")
    if not slopes:
        return []
    end = ", ..." if len(slopes) > _NAIVE else "."
    return [f"Without the channel the slopes would read: {', '.join(slopes[:_NAIVE])}{end}"]


def kept_information(results: Any) -> float:
    """The share of the information on the coefficients that the randomisation leaves.

    The p-th root of the ratio of two determinants, of the information of the reports and of the
    answers themselves on p coefficients; nan where it is not known.
    """
    model = results.model
    whole = results.law.assembled
    law = whole.law
    if model.is_exact:
        return 1.0
    if results.infinite or results.method == "corrected":
        return float("nan")
    clear = whole.expected(results.theta)
    if law is not None:
        k = law.channels[0].shape[0]
        rows = np.zeros(len(law.at), dtype=np.int64)
        clear = replace(clear, law=ReportLaw((np.eye(k),), rows))
    m = clear.size
    if model.unknown:
        known = np.linalg.inv(results.covariance_all[:m, :m])
    elif model.data.predictors:
        known = np.linalg.inv(np.linalg.inv(-results.hessian)[:m, :m])
    else:
        known = whole.expected(results.theta).matrix(results.theta[:m])
    sign, log_reports = np.linalg.slogdet(known)
    other_sign, log_answers = np.linalg.slogdet(clear.matrix(results.theta[:m]))
    if sign <= 0 or other_sign <= 0:
        return float("nan")
    return float(np.exp((log_reports - log_answers) / m))


# -- words -------------------------------------------------------------------------------------


def coefficient_labels(model: Any, more: Sequence[str] = ()) -> pd.Index[Any]:
    """Labels of the coefficients, and of others behind them; by equation of a multinomial logit."""
    if isinstance(model.data.outcome, Multinomial) and not model.unknown:
        pairs = [(label, name) for label in model.categories[1:] for name in model.exog_names]
        return pd.MultiIndex.from_tuples(pairs, names=[model.endog_names or "y", "name"])
    names = model.exog_names + model.threshold_names
    if model.unknown:  # all equations in one list
        names = model.all_names[: model.n_shown]
    return pd.Index([*names, *model.unknown, *more])


def model_name(outcome: Any) -> str:
    """What a model is called."""
    if isinstance(outcome, Binary):
        return {"logit": "Logit", "probit": "Probit", "cloglog": "Complementary log-log"}[
            outcome.link
        ]
    if isinstance(outcome, Multinomial):
        return "Multinomial logit"
    if isinstance(outcome, Ordered):
        return "Proportional odds"
    return "Linear" if isinstance(outcome, Normal) else "Poisson"


def total_epsilon(data: Any) -> float:
    """The largest epsilon that a respondent has spent on all questions of the model."""
    questions = [*([data.response] if data.is_private else []), *data.predictors.values()]
    total = 0.0
    for groups in questions:
        total += max(group.mechanism.epsilon for group in groups)
    return float(total) if questions else float("inf")


def quantiles_in_words(df: Any, use_t: bool) -> str:
    """Which quantiles Wald intervals take, by the degrees of freedom of each coefficient."""
    each = np.asarray(df, dtype=np.float64).ravel()
    known = each[~np.isnan(each)]
    if not use_t:
        return "normal"
    if known.size == each.size and np.ptp(known) == 0.0:
        return f"t with {known[0]:.4g} degrees of freedom"
    ends = f", {known.min():.3g} to {known.max():.3g}" if known.size else ""
    return f"t with degrees of freedom of each coefficient (Satterthwaite{ends})"


def few_notes(df: Any, least: float = 4.0) -> list[str]:
    """What is said of coefficients with degrees of freedom below `least`, or without any."""
    frame = df.stack() if isinstance(df, pd.DataFrame) else df
    none = [str(name) for name, value in frame.items() if np.isnan(value)]
    few = [str(name) for name, value in frame.items() if value < least]
    notes = []
    if none:
        notes.append(
            f"WARNING: one cluster alone determines most of {', '.join(none[:_NAIVE])}: its "
            "variance cannot be estimated."
        )
    if few:
        notes.append(
            f"WARNING: few clusters or respondents have information on {', '.join(few[:_NAIVE])} "
            f"(fewer than {least:g} degrees of freedom): intervals are approximate."
        )
    return notes
