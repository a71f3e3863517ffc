"""Comparisons of a fitted regression: with the naive one, and between groups of respondents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.outcome import TestResult
from ldpstats.models.regression.estimates import FittedRegression
from ldpstats.models.regression.naive import naive_params, reported_codes
from ldpstats.models.regression.naming import shaped
from ldpstats.models.regression.structure import RegressionStructure

__all__ = ["compare_naive", "naive_of", "question_test"]

Array = npt.NDArray[Any]


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
