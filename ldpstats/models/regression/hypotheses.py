"""Hypotheses about the coefficients of a fitted regression: likelihood ratios, scores, Wald."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.outcome import TestResult
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models.regression.contrasts import wald_contrast

__all__ = ["lr_test", "refuse_terms", "score_test", "term_tests", "terms_of"]

Array = npt.NDArray[Any]


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
