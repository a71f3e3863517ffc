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
    distinct_lines,
    figures,
    header,
    in_turn,
    interval_columns,
    one_line,
)

__all__ = [
    "coefficient_labels",
    "kept_information",
    "model_name",
    "regression_summary",
    "summary_header",
    "summary_notes",
    "total_epsilon",
]


Array = npt.NDArray[Any]

_NAIVE = 6  # coefficients that a note shows
_MECHANISMS = 4
_FEW = 10.0  # degrees of freedom, in respondents, below which skewed answers mislead t
_WIDEST = 1e6  # beyond, coefficients have an exponent
_SCORES = 8  # scores that a note shows
_SQUARES = "least squares"
_NO_LIKELIHOOD = ("corrected", _SQUARES)
_KINDS = {
    "nonrobust": "observed information",
    "equal": "equal variances",
    "cluster": "sandwich, by cluster",
    "CR2": "sandwich, by cluster (CR2)",
    "design": "sandwich, by the design",
}


def regression_summary(
    results: Any, frame: pd.DataFrame, alpha: float, max_rows: int, details: bool
) -> SummaryTable:
    """The summary of a regression, whose coefficients are a `_tidy` frame."""
    shown = frame.iloc[:max_rows]
    letter = "t" if results.use_t else "z"
    smallest = shown["std_error"][shown["std_error"] > 1e-9].min()
    # two digits of the smallest standard error
    digits = 4 if np.isnan(smallest) else int(np.clip(2 - np.floor(np.log10(smallest)), 4, 9))
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
    subject = one_line(results.model.endog_names, LONGEST_LABEL)
    title = f"{model_name(results.model.data.outcome)} regression of {subject}"
    percent = f"{100 * (1 - alpha):.4g}%"
    if not results.why_wald:
        kind = "penalised " if results.penalises else ""
        notes = [
            f"P-values and {percent} intervals: profiles of the {kind}likelihood, which agree "
            f"about zero. Std err and {letter} are Wald."
        ]
    else:
        law = quantiles_in_words(results.df_inference, results.use_t)
        notes = [f"P-values and {percent} intervals: Wald, {law}, as {results.why_wald}."]
        few = results.method == _SQUARES and results.n_clusters is None
        notes += few_notes(results.df_inference, _FEW if few else 4.0)
    if len(shown) < len(frame):
        notes.append(f"Shown: the first {len(shown)} of {len(frame)} coefficients.")
    head, more = results._heading(details)
    return SummaryTable(title, head, heads, stubs, body, [*notes, *more])


def summary_header(results: Any, details: bool) -> list[list[str]]:
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
    kind, squares = results.cov_type, results.method == _SQUARES
    if kind == "cluster" and results.shares is not None:
        kind = "CR2"
    elif squares and kind == "nonrobust":
        kind = "equal"
    left.append(("Covariance:", _KINDS.get(kind, f"sandwich ({kind})")))
    if data.facts is not None:
        left.append(("Design:", one_line(data.facts.design, 40)))
    epsilon = "Epsilon (nats):"
    if len(questions) > 1:
        epsilon = "Epsilon, all answers:"
    elif len(set([group.mechanism.epsilon for _, groups in questions for group in groups])) > 1:
        epsilon = "Epsilon, largest:"
    right = [
        ("Respondents:", f"{results.nobs:,.0f}"),
        ("Missing, left out:", f"{data.n_missing:,}"),
        (epsilon, total_epsilon(data)),
    ]
    if squares:
        right.append(("R2, reports:", f"{results.rsquared:.4f}"))
        if not results.model.is_observed:
            share = results.rsquared_answers
            right.append(("R2, answers:", "-" if np.isnan(share) else f"{share:.4f}"))
        if results.n_clusters is not None:
            right.append(("Clusters:", str(results.n_clusters)))
    elif results.method != "corrected" and data.weights is None:
        right += [
            ("Log-likelihood:", f"{results.llf:,.2f}"),
            ("LL-null:", f"{results.llnull:,.2f}"),
        ]
        if results.df_model:
            p = results.llr_pvalue
            right.append(("LR test:", f"{results.llr:.2f}, {pvalue_text(p, 'p')}"))
    if not squares:
        right.append(("Iterations:", str(results.n_iter)))
    if results.method not in _NO_LIKELIHOOD:
        right.append(("Maxima met:", str(results.n_maxima)))
    if details:
        left.append(("Converged:", "yes" if results.converged else "NO"))
        right.append(("Df model, residual:", f"{results.df_model:g}, {results.df_resid:g}"))
        if squares:
            F = results.fvalue
            right.append(("F statistic:", "-" if np.isnan(F) else f"{F:.4g}"))
            right.append(("Residual variance:", f"{results.scale:.6g}"))
    return header(left, right)


def summary_notes(results: Any, details: bool) -> list[str]:
    """What may be wrong, and what the randomisation has cost."""
    model = results.model
    notes = []
    if isinstance(model.data.outcome, Ordered):
        notes.append("Thresholds: the first, and logarithms of the steps to the next.")
    if model.unknown:
        notes.append(
            f"Unknown parameters of the devices, in [0, 1]: {in_turn(list(model.unknown))}. Their "
            "p-values are against values above zero: p < .05 where the 90% interval does not hold "
            "zero."
        )
        if results.on_boundary:
            notes.append(
                f"NOTE: the estimate of {in_turn(list(results.on_boundary))} is on the boundary: "
                "it has no standard error, and those of the rest are given its value. Rely on the "
                "intervals."
            )
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
    if results.method == _SQUARES:
        notes += _notes_of_squares(results, details)
    if model.data.predictors and results.method == "corrected":
        notes.append("Corrected scores assume no law of the private predictors.")
    elif model.data.predictors:
        if model.data.weights is None:
            notes.append(
                "Log-likelihood: of the response's reports, given public covariates and the "
                "reports of private predictors; the fit maximises that of all reports."
            )
        notes.append("The law of the private predictors given public ones is in marginal_params.")
    if details and model.data.is_categorical:
        try:
            test = results.goodness_of_fit()
            notes.append(f"Goodness of fit ({test.method}): {pvalue_text(test.pvalue, 'p')}.")
        except NotAvailable:
            pass
    return notes


def _notes_of_squares(results: Any, details: bool) -> list[str]:
    """What the scores are, and what the randomisation does to least squares of them."""
    notes, model = [], results.model
    if not np.isnan(results.fvalue):
        text = pvalue_text(results.f_pvalue, "p")
        notes.append(f"All coefficients but the constant are zero: {text}.")
    if details or len(model.categories) <= _SCORES:
        pairs = list(zip(model.categories.tolist(), model.data.scores.tolist(), strict=True))
        if any(label != score for label, score in pairs):
            text = ", ".join(f"{one_line(a, LONGEST_LABEL)} = {v:g}" for a, v in pairs[:40])
            notes.append(f"Scores: {text}{', ...' if len(pairs) > 40 else ''}.")
    if not model.is_observed:
        share = results.privacy_share
        percent = "an unknown part" if np.isnan(share) else f"{100.0 * share:.0f}%"
        notes.append(
            "NOTE: the response is decoded from the reports, and residuals hold the randomisation, "
            f"which is {percent} of their variance. The R2 of the reports is not that of the "
            "answers; there is no likelihood."
        )
        if results.cov_type == "nonrobust":
            notes.append(
                "WARNING: the randomisation makes the variances of the response unequal, and the "
                "standard errors assume that they are equal: use cov_type='HC2'."
            )
    if model.response.is_open:
        notes.append("NOTE: the candidates are taken to be all answers.")
    if results.n_clusters is not None and results.shares is None and results.n_clusters < 50:
        notes.append(
            f"WARNING: {results.n_clusters} clusters are few for a covariance; intervals may cover "
            "less often than stated."
        )
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
    if results.infinite or results.method in _NO_LIKELIHOOD:
        return float("nan")
    theta = results.law.theta
    clear = whole.expected(theta)
    if law is not None:
        k = law.channels[0].shape[0]
        rows = np.zeros(len(law.at), dtype=np.int64)
        clear = replace(clear, law=ReportLaw((np.eye(k),), rows))
    m = model.likelihood.n_outcome
    if model.unknown:
        known = np.linalg.inv(results.covariance_all[:m, :m])
    elif model.data.predictors:
        known = np.linalg.inv(np.linalg.inv(-results.hessian)[:m, :m])
    else:
        known = whole.expected(theta).matrix(theta[:m])
    sign, log_reports = np.linalg.slogdet(known)
    other_sign, log_answers = np.linalg.slogdet(clear.matrix(theta[:m]))
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
