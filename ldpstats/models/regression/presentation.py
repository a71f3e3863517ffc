"""The summary of a regression on privatised answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import boolean, level, positive_integer
from ldpstats.errors import NotAvailable
from ldpstats.likelihood.regression import Binary, Multinomial, Normal, Ordered, ReportLaw
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Presented,
    SummaryTable,
    distinct_lines,
    epsilon_text,
    figures,
    header,
    interval_columns,
    names_alpha,
    one_line,
    pvalue_text,
    pvalue_words,
)
from ldpstats.models.regression.true_answers import TrueAnswers

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = [
    "PresentedRegression",
    "few_notes",
    "kept_information",
    "model_name",
    "quantiles_in_words",
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


def kept_information(results: Any) -> float:
    """The share of the information on the coefficients that the randomisation leaves.

    The p-th root of the ratio of the determinants of the information of the reports and of that
    of the answers themselves, for p coefficients; nan where it is not known. As many respondents
    without randomisation would give as much information.
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
        own = np.linalg.inv(results.covariance_all[:m, :m])
    elif results.law.questions:
        own = np.linalg.inv(np.linalg.inv(-results.hessian)[:m, :m])
    else:
        own = whole.expected(results.theta).matrix(results.theta[:m])
    first, second = (np.linalg.slogdet(one) for one in (own, clear.matrix(results.theta[:m])))
    if first[0] <= 0 or second[0] <= 0:
        return float("nan")
    return float(np.exp((first[1] - second[1]) / m))


def regression_summary(
    results: Any, frame: pd.DataFrame, alpha: float, max_rows: int, details: bool
) -> SummaryTable:
    """What is said of results, whose coefficients are in `frame`."""
    shown = frame.iloc[:max_rows]
    letter = "t" if results.use_t else "z"
    digits = _digits(shown["std_error"].to_numpy())
    thresholds = {str(name) for name in results.model.threshold_names}
    stubs, body = [], []
    above = None
    several = isinstance(frame.index, pd.MultiIndex)
    names = shown.index.get_level_values(-1) if several else shown.index
    lines = distinct_lines(dict.fromkeys(names), LONGEST_LABEL)
    called = dict(zip(dict.fromkeys(names), lines, strict=True))
    for label, row in zip(shown.index, shown.to_numpy(), strict=True):
        if several and label[0] != above:
            above = label[0]
            stubs.append(f"{one_line(above, LONGEST_LABEL)}:")
            body.append([""] * 6)
        name = label[-1] if several else label
        stubs.append(f"  {called[name]}" if several else called[name])
        estimate, se, lower, upper, p, z = row
        tests = [*figures([z], 2), pvalue_text(p)]
        if str(name) in thresholds:
            tests = ["", ""]
        body.append([*_numbers([estimate, se], digits), *tests, *_numbers([lower, upper], digits)])
    subject = one_line(results.model.endog_names, LONGEST_LABEL)
    return SummaryTable(
        title=f"{model_name(results.model.data.outcome)} regression of {subject}",
        header=_header(results, details),
        columns=["coef", "std err", letter, f"P>|{letter}|", *interval_columns(alpha)],
        stubs=stubs,
        body=body,
        notes=_notes(results, alpha, len(shown), len(frame), details),
    )


def _digits(se: Array) -> int:
    """Decimals that show two digits of the smallest standard error; from 4 to 9."""
    smallest = float(se[se > 1e-9].min(initial=1.0))
    return int(np.clip(2 - np.floor(np.log10(smallest)), 4, 9))


def _numbers(values: Any, digits: int) -> list[str]:
    """Numbers with so many decimals, huge ones with an exponent."""
    return [
        f"{v:.4g}" if np.isfinite(v) and abs(v) >= _WIDEST else figures([v], digits)[0]
        for v in values
    ]


# -- header --------------------------------------------------------------------------------


def _header(results: Any, details: bool) -> list[list[str]]:
    model = results.model
    data = model.data
    left = [("Dep. variable:", one_line(model.endog_names, 30))]
    if isinstance(data.outcome, Binary):
        left.append(("Success:", one_line(data.categories[1], 30)))
    elif isinstance(data.outcome, Multinomial):
        left.append(("Reference:", one_line(data.categories[0], 30)))
    left += _mechanisms(data)
    method = results.method.upper() if len(results.method) < 4 else results.method
    left.append(("Method:", f"{method}, {results.penalty}" if results.penalty else method))
    kind = "CR2" if results.shares is not None else results.cov_type
    left.append(("Covariance:", _KINDS.get(kind, kind)))
    if data.facts is not None:
        left.append(("Design:", one_line(data.facts.design, 40)))
    right = [
        ("Respondents:", f"{results.nobs:,}"),
        ("Missing, left out:", f"{data.n_missing:,}"),
        (_epsilon_name(data), epsilon_text(total_epsilon(data))),
    ]
    if results.method != "corrected" and data.weights is None:
        right += [
            ("Log-likelihood:", f"{results.llf:,.2f}"),
            ("LL-null:", f"{results.llnull:,.2f}"),
        ]
        if results.df_model:
            p = results.llr_pvalue
            right.append(("LR test:", f"{results.llr:.2f}, {pvalue_words(p)}"))
    right.append(("Iterations:", str(results.n_iter)))
    if results.method != "corrected":
        right.append(("Maxima met:", str(results.n_maxima)))
    if details:
        left.append(("Converged:", "yes" if results.converged else "NO"))
        right.append(("Df model, residual:", f"{results.df_model:g}, {results.df_resid:g}"))
    return header(left, right)


def total_epsilon(data: Any) -> float:
    """The largest epsilon that a respondent has spent on all questions of the model."""
    kinds = [*([data.response] if data.is_private else []), *data.predictors.values()]
    if not kinds:
        return float("inf")
    return float(sum(max(group.mechanism.epsilon for group in groups) for groups in kinds))


def _epsilon_name(data: Any) -> str:
    """What it is called."""
    if data.is_private + len(data.predictors) > 1:
        return "Epsilon, all answers:"
    several = len({mechanism.epsilon for mechanism in data.mechanisms()}) > 1
    return "Epsilon, largest:" if several else "Epsilon (nats):"


def _mechanisms(data: Any) -> list[tuple[str, str]]:
    """The mechanisms of the response and of private predictors."""
    kinds = [(data.response_name, data.response)] if data.is_private else []
    kinds += list(data.predictors.items())
    found = []
    for name, groups in kinds:
        for group in list(groups)[:_MECHANISMS]:
            text = str(group.mechanism) + (f", n = {len(group):,}" if len(groups) > 1 else "")
            found.append(text if len(kinds) == 1 else f"{one_line(name, 20)}: {text}")
        if len(groups) > _MECHANISMS:
            found.append(f"and {len(groups) - _MECHANISMS} more groups")
    head = "Mechanisms:" if len(found) > 1 else "Mechanism:"
    return [(head if i == 0 else "", text) for i, text in enumerate(found)]


# -- notes ---------------------------------------------------------------------------------


def _notes(results: Any, alpha: float, n_shown: int, n: int, details: bool) -> list[str]:
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
    notes += [*results.parameter_notes(), *_warnings(results)]
    share = kept_information(results)
    if share < 1.0 - 1e-9:
        notes.append(
            f"NOTE: the reports know as much of the coefficients as {share * results.nobs:,.0f} "
            f"respondents without randomisation would ({_percent(share)} of them)."
        )
    notes += _naive(results)
    if results.marginal_params is not None:
        if model.data.weights is None:
            notes.append(
                "Log-likelihood: of the response's reports, given public covariates and the "
                "reports of private predictors; the fit maximises that of all reports."
            )
        notes.append("The law of the private predictors given public ones is in marginal_params.")
    elif results.law.questions:
        notes.append("Corrected scores assume no law of the private predictors.")
    if details:
        notes += _fit(results)
    return notes


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
    """What is said of coefficients on which few clusters or respondents have information.

    Parameters
    ----------
    df : Series or DataFrame
    least : float
        Degrees of freedom below which normal theory is doubtful.
    """
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


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f}%" if share >= 0.01 else f"{100.0 * share:.2g}%"


def _warnings(results: Any) -> list[str]:
    notes = []
    if results.infinite:
        remedy = "" if results.penalty else "; fit(penalty='jeffreys') has a finite one"
        if results.model.unknown:
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
    return notes


def _naive(results: Any) -> list[str]:
    """What coefficients would read if reports were answers."""
    if results.model.is_exact:
        return []
    try:
        table = results.compare_naive()
    except NotAvailable:
        return []
    constant = results.model.constant
    skipped = {*results.model.threshold_names}
    if constant is not None:
        name = results.model.exog_names[constant]
        equations = results.model.equations
        skipped |= {name, *(f"{equation}: {name}" for equation in equations)}
    parts = []
    for label, value in table["naive"].items():
        name = label[-1] if isinstance(label, tuple) else label
        if name not in skipped:
            text = ": ".join(map(str, label)) if isinstance(label, tuple) else str(label)
            parts.append(f"{one_line(text, LONGEST_LABEL)} {value:.3f}")
    if not parts:
        return []
    end = ", ..." if len(parts) > _NAIVE else "."
    return [f"Without the channel the slopes would read: {', '.join(parts[:_NAIVE])}{end}"]


def _fit(results: Any) -> list[str]:
    """Goodness of fit."""
    try:
        test = results.goodness_of_fit()
    except NotAvailable:
        return []
    return [f"Goodness of fit ({test.method}): {pvalue_words(test.pvalue)}."]


# -- How results of regressions show themselves ---------------------------------------------------


class PresentedRegression(TrueAnswers, Presented):
    """Results that print as a summary and are data frames for further use."""

    model: Any
    params: Any
    bse: Any
    pvalues: Any

    def __str__(self) -> str:
        return str(self.summary())

    @property
    def _subject(self) -> str:
        return str(self.model.endog_names)

    def _tidy(self, alpha: float) -> pd.DataFrame:
        this: Any = self
        ends = this.conf_int(alpha)
        each = [self.params, self.bse, self.pvalues, self.tvalues]
        flat = [np.asarray(one, dtype=np.float64).T.ravel() for one in each]
        return pd.DataFrame(
            {
                "estimate": flat[0],
                "std_error": flat[1],
                "lower": ends["lower"].to_numpy(),
                "upper": ends["upper"].to_numpy(),
                "p_value": flat[2],
                "t": flat[3],
            },
            index=ends.index,
        )

    def _coefficients(self) -> pd.DataFrame:
        return self._tidy(0.05)

    def _facts(self) -> dict[str, Any]:

        this: Any = self
        data = self.model.data
        unknown = float("nan")
        is_likely = this.method != "corrected" and data.weights is None
        mechanisms = data.mechanisms()
        return {
            "name": self._subject,
            "mechanism": "; ".join(dict.fromkeys(map(str, mechanisms))),
            "method": this.method,
            "penalty": this.penalty or "",
            "cov_type": this.cov_type,
            "epsilon": total_epsilon(data),
            "nobs": this.nobs,
            "n_missing": data.n_missing,
            "k": 0 if data.categories is None else len(data.categories),
            "df_model": this.df_model,
            "df_resid": this.df_resid,
            "llf": this.llf if is_likely else unknown,
            "aic": this.aic if is_likely else unknown,
            "bic": this.bic if is_likely else unknown,
            "n_maxima": this.n_maxima,
            "converged": this.converged,
        }

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The coefficients with what they rest on, as text, `as_html()` or `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Coefficients shown; the first of them.
        details : bool
            Whether the goodness of fit and degrees of freedom are shown.

        Returns
        -------
        Summary
            Of statsmodels. Notes say which tests and intervals the columns have, what the
            randomisation has cost, and what the reports would say if they were taken for answers.
            "The reports know as much as m respondents": m is the number of respondents times the
            p-th root of the ratio of two determinants, those of the information of the reports and
            of the answers themselves on the p coefficients. It is an average over the coefficients.
        """

        rows = positive_integer("max_rows", max_rows)
        alpha = level(alpha)
        frame = self._tidy(alpha)
        return regression_summary(self, frame, alpha, rows, boolean("details", details)).layout()
