"""Regression of and on privatised answers, from a formula and a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import numbers
from ldpstats.arguments.labels import as_series, missing_entries
from ldpstats.errors import InvalidArgument
from ldpstats.models.association.variables import refuse_shared
from ldpstats.models.regression.base import PrivatizedRegression
from ldpstats.models.regression.formulas.design import Design
from ldpstats.models.regression.formulas.formula import caller_names
from ldpstats.models.regression.formulas.request import Extras, Given, Request
from ldpstats.models.regression.formulas.tables import as_frame, columns_of
from ldpstats.models.regression.least_squares.model import PrivatizedOLS
from ldpstats.models.regression.least_squares.pseudo_response import pseudo_response
from ldpstats.models.regression.logit import PrivatizedLogit
from ldpstats.models.regression.multinomial import PrivatizedMNLogit
from ldpstats.models.regression.ordered import PrivatizedOrderedModel
from ldpstats.models.regression.private import PrivatePredictors
from ldpstats.models.regression.reading import outcome_of
from ldpstats.models.regression.record import RegressionData
from ldpstats.problems.regression.outcomes import Normal, Poisson
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

__all__ = ["design_of", "model_of", "regression"]

Array = npt.NDArray[np.float64]


def regression(
    formula: str,
    data: Any,
    reports: Mapping[str, Any],
    model: str | None = None,
    marginal: str | None = None,
    scores: Mapping[str, Any] | None = None,
    weights: Any = None,
    freq_weights: Any = None,
    offset: Any = None,
    candidates: Mapping[str, Any] | None = None,
    memoised: bool | None = None,
    unsafe: bool = False,
) -> Any:
    """A regression with a privatised answer as response, as predictor, or both.

    Parameters
    ----------
    formula : str
        As for statsmodels, such as "late ~ age + C(region)". Names are columns of `data` and keys
        of `reports`. A private response stands alone on the left. Private predictors may stand
        anywhere on the right: their categories are those of the mechanism in its order, the first
        being the reference; labels that are numbers enter as numbers.
    data : DataFrame of pandas or Polars, or Arrow table
        The public columns, one row a respondent.
    reports : mapping from name to Reports
        Reports of the questions, in the order of the rows; or a list of Reports, several groups
        with the same categories whose rows follow one another.
    model : {"linear", "logit", "multinomial", "ordered", "poisson", "probit", "cloglog"}, optional
        By default logit for a response of two categories or of 0 and 1, ordered for ordered
        categories, multinomial for others, and linear for numbers.
    marginal : str, optional
        The public columns that the private predictors depend on, such as "age + region"; "1" if on
        none. By default the public columns on the right of the formula.
    scores : mapping from name to scores, optional
        Numbers for the categories of a private predictor, or of the response of a linear model:
        ``{"income": {"low": 10, "high": 30}}``.
    weights, freq_weights, offset : str or array-like, shape (N,), optional
        A public column, or its values: sampling weights, respondents a row stands for, and what is
        added to the linear predictor.
    candidates : mapping from name to candidates, optional
        The possible answers to questions over an open alphabet.
    memoised : bool, optional
        As for `AssociationModel`: False says that devices drew each report afresh.
    unsafe : bool
        Whether the formula may run any Python, for one that you wrote yourself. By default it has
        columns, your variables that are arrays or numbers, arithmetic, and mathematical functions
        of numpy and of formula engines, such as ``np.log``, ``C``, ``center`` and ``bs``.

    Returns
    -------
    PrivatizedLogit, PrivatizedMNLogit, PrivatizedOrderedModel, PrivatizedOLS or PrivatePredictors
        A model; its `fit()` estimates. Rows with a missing value are left out, and counted.

    Raises
    ------
    InvalidArgument
        For a formula that names no question or an unknown column, or runs another function than
        `unsafe` says, a function of a private response,
        reports that are not as many as rows, and a model that does not suit the response.
    NotAvailable
        Where two reports of a person may come from one permanent response.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> table = pd.DataFrame({"age": rng.normal(size=4000), "region": rng.choice(["n", "s"], 4000)})
    >>> late = np.where(rng.random(4000) < 1 / (1 + np.exp(-table.age)), "yes", "no")
    >>> reports = ldp.Warner(epsilon=2.0).privatize(late, rng)
    >>> model = ldp.regression("late ~ age + region", table, {"late": reports})
    >>> model.exog_names
    ['Intercept', 'region[T.s]', 'age']
    >>> model.fit().params["age"].round(1)
    np.float64(0.9)
    """
    outside = caller_names(1)
    how = model, marginal, scores, weights, freq_weights, offset, candidates, memoised, unsafe
    return model_of(design_of(formula, data, reports, *how, outside=outside))


def design_of(
    formula: object,
    data: object,
    reports: object,
    model: object = None,
    marginal: object = None,
    scores: object = None,
    weights: object = None,
    freq_weights: object = None,
    offset: object = None,
    candidates: object = None,
    memoised: object = None,
    unsafe: object = False,
    outside: Mapping[str, Any] | None = None,
) -> Design:
    """The arrays of `regression`; `outside` are other names that the formula may use.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> ill = ldp.KRR(("no", "yes"), 1.0).privatize(["no", "yes"] * 3, np.random.default_rng(1))
    >>> table = pd.DataFrame({"age": [31.0, 47, 52, 23, 64, 40]})
    >>> design = design_of("ill ~ age", table, {"ill": ill})
    >>> design.family, design.names
    ('logit', ('Intercept', 'age'))
    """
    _, columns = columns_of("data", data)
    groups = _groups(reports, columns)
    asked = Request.of(
        formula,
        groups,
        [name for name in columns if isinstance(name, str)],
        {} if outside is None else outside,
        model,
        marginal,
        scores,
        candidates,
        unsafe,
    )
    for name in groups:
        if name not in asked.questions:
            remedy = f"is not in the formula {asked.formula.text!r}: leave it out, or add it there"
            raise InvalidArgument("reports", name, remedy)
    frame = as_frame("data", data, asked.columns)
    n = len(frame)
    given = {name: _given(name, some, n) for name, some in groups.items()}
    _refuse_kept(groups, memoised)
    missing = [sum(group.n_missing for group in some) for some in groups.values()]
    extras = Extras(
        offset=_beside("offset", offset, data, columns, n),
        weights=_positive("weights", _beside("weights", weights, data, columns, n)),
        freq_weights=_positive(
            "freq_weights", _beside("freq_weights", freq_weights, data, columns, n)
        ),
        unseen=max(missing),
    )
    return asked.design(frame, given, extras)


def model_of(design: Design) -> Any:
    """The model of a design, to be fitted."""
    response, only = design.response, ""
    if design.family == "linear" and isinstance(response, list):
        if not design.predictors and design.sample is None:
            return _least_squares(design)
        response = _scored(design)
        only = "least squares on scores of reports has no likelihood"
    k = 0 if design.categories is None else len(design.categories)
    numbers_of = {"linear": Normal(), "poisson": Poisson()}
    outcome = numbers_of.get(design.family) or outcome_of(design.family, k)
    data = RegressionData(
        outcome=outcome,
        response=response,
        designs=design.designs,
        names=design.names,
        categories=None if design.family in numbers_of else design.categories,
        response_name=design.response_name,
        offset=design.offset,
        counts=design.freq_weights,
        weights=_weights(design),
        predictors=design.predictors,
        configurations=list(design.configurations.itertuples(index=False, name=None)) or [()],
        marginal=design.marginal_exog if design.predictors else None,
        candidates=design.candidates,
        n_missing=design.n_missing,
        formula=design,
        only_corrected=only,
        sample=design.sample,
        inside=design.inside,
        facts=design.facts,
    )
    if design.predictors:
        return PrivatePredictors.of(data)
    kinds: dict[str, type[PrivatizedRegression]] = {
        "multinomial": PrivatizedMNLogit,
        "ordered": PrivatizedOrderedModel,
        "linear": PrivatizedRegression,
        "poisson": PrivatizedRegression,
    }
    return kinds.get(design.family, PrivatizedLogit).of(data)


def _least_squares(design: Design) -> PrivatizedOLS:
    """The linear model of a privatised answer with scores."""
    found = PrivatizedOLS(
        [replace(group, name=design.response_name) for group in design.response],
        design.exog_frame,
        scores=design.scores,
        offset=design.offset,
        freq_weights=design.freq_weights,
        weights=design.weights,
        candidates=design.candidates.get(design.response_name),
    )
    found.n_missing = design.n_missing
    found.formula = design
    return found


def _scored(design: Design) -> Array:
    """Unbiased scores of a privatised response, (n,)."""
    n = len(design.designs[0])
    weights = np.ones(n) if design.weights is None else design.weights
    listed = design.candidates.get(design.response_name)
    assert design.scores is not None
    return pseudo_response(design.response, design.scores, weights, listed).values


def _weights(design: Design) -> Array | None:
    """Sampling weights of all whom a row stands for."""
    if design.weights is None or design.freq_weights is None:
        return design.weights
    return design.weights * design.freq_weights


def _groups(reports: object, columns: list[Any]) -> dict[str, list[Reports]]:
    """The reports of each question, as groups."""
    example = 'must be a mapping from names to Reports, such as {"ill": reports}'
    if not isinstance(reports, Mapping) or not reports:
        raise InvalidArgument("reports", reports, example)
    found = {}
    for name, some in reports.items():
        if not isinstance(name, str):
            raise InvalidArgument("reports", name, f"is a key that is no text: it {example}")
        if name in columns:
            remedy = "is a column of data too: rename one of them"
            raise InvalidArgument("reports", name, remedy)
        groups = some if isinstance(some, list | tuple) else [some]
        if not groups or not all(isinstance(group, Reports) for group in groups):
            kind = type(some).__name__
            remedy = f"{example}; counts have no rows, and mechanism.parse(name, column) reads them"
            raise InvalidArgument(f"reports[{name!r}]", kind, remedy)
        found[str.__str__(name)] = list(groups)
    return found


def _refuse_kept(groups: Mapping[str, list[Reports]], memoised: object) -> None:
    """Refuse two reports of a person that may come from one permanent response."""
    refuse_shared([], list(groups), memoised, "regression")
    if memoised is not None:
        return
    kept = {name: {g.mechanism.permanent for g in some} - {None} for name, some in groups.items()}
    for both in combinations(groups, 2):
        if not kept[both[0]] & kept[both[1]]:
            continue
        ends = [np.cumsum([0, *map(len, groups[name])]) for name in both]
        cuts = np.unique(np.concatenate(ends))
        for start, end in pairwise(cuts.tolist()):  # in which both groups are the same
            parts = []
            for name, own in zip(both, ends, strict=True):
                g = int(np.searchsorted(own, start, side="right")) - 1
                part = groups[name][g]
                parts.append(replace(part[start - own[g] : end - own[g]], ids=None, n_missing=0))
            refuse_shared([JointCounts(parts)], both, None, "regression")


def _given(name: str, groups: list[Reports], n: int) -> Given:
    """Reports of a question, one for each of n rows."""
    total = sum(map(len, groups))
    if total != n:
        missing = sum(group.n_missing for group in groups)
        why = f", and {missing} answers are missing" if missing else ""
        remedy = (
            f"must be {n}, one for each row of data in its order{why}: leave the rows without a "
            "report out of data, or make a Survey of data with a column of reports, which matches "
            "them"
        )
        raise InvalidArgument(f"reports[{name!r}]", f"{total} reports", remedy)
    ends = np.cumsum([0, *map(len, groups)])

    def take(rows: npt.NDArray[np.int64]) -> list[Reports]:
        cuts = np.searchsorted(rows, ends)
        some = [
            group[rows[a:b] - start]
            for group, start, a, b in zip(groups, ends, cuts, cuts[1:], strict=False)
        ]
        return [group for group in some if len(group)]

    return Given(tuple(group.mechanism for group in groups), np.full(n, True), take)


def _beside(argument: str, value: object, data: object, columns: list[Any], n: int) -> Array | None:
    """Numbers of the rows, from the name of a column or as they are; NaN where one is missing."""
    if value is None:
        return None
    if isinstance(value, str):
        if value not in columns:
            raise InvalidArgument(
                argument, value, "is no column of data: name one, or pass numbers"
            )
        value = as_frame("data", data, [value])[value]
    series = as_series(argument, value)
    remedy = f"must be {n} numbers, one for each row of data"
    absent = missing_entries(argument, series)
    if series.dtype == object or absent.any():
        series = series.where(~absent, np.nan)
    found = numbers(argument, series.to_numpy(), remedy, (n,))
    if np.isinf(found).any():
        raise InvalidArgument(argument, float("inf"), f"{remedy}, finite ones")
    return found


def _positive(argument: str, values: Array | None) -> Array | None:
    """Weights; refuse those that are not positive."""
    if values is not None and (values <= 0.0).any():
        row = int(np.argmax(values <= 0.0))
        remedy = "must be positive: leave rows without weight out of data"
        raise InvalidArgument(f"{argument}, row {row + 1}", float(values[row]), remedy)
    return values
