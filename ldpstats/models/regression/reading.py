"""Arguments of a regression of a privatised answer, checked."""

from __future__ import annotations

from typing import Any

from ldpstats.errors import InvalidArgument
from ldpstats.models.regression.record import RegressionData
from ldpstats.models.regression.rows import (
    covariates,
    report_groups,
    response_name,
    row_numbers,
    row_weights,
    same_labels,
    whole_weights,
)
from ldpstats.problems.regression.outcomes import Binary, Multinomial, Ordered, Outcome

__all__ = ["OUTCOMES", "outcome_of", "response_data"]

OUTCOMES = ("logit", "probit", "cloglog", "multinomial", "ordered")


def outcome_of(model: str, k: int) -> Outcome:
    """The law of a categorical outcome, by the name of its model."""
    if model == "multinomial":
        return Multinomial(k)
    return Ordered(k) if model == "ordered" else Binary(model)


def response_data(
    model: str,
    reports: object,
    X: object,
    offset: object = None,
    freq_weights: object = None,
    weights: object = None,
    candidates: Any = None,
) -> RegressionData:
    """The data of a regression of reports on covariates.

    Parameters
    ----------
    model : str
        One of `OUTCOMES`.
    reports, X, offset, freq_weights, weights, candidates
        As the caller passed them.

    Raises
    ------
    InvalidArgument
        If arrays do not fit, or the model is for another number of categories.
    MechanismMismatch
        If groups have different categories.
    """
    groups = report_groups(reports)
    labels = same_labels(groups, candidates)
    k = len(labels)
    if k != 2 and model not in ("multinomial", "ordered"):
        remedy = (
            f"have {k} categories, and a {model} model is for two: use PrivatizedMNLogit or "
            "PrivatizedOrderedModel, or join categories with ldpstats.Lumped"
        )
        raise InvalidArgument("reports", str(groups[0].mechanism), remedy)
    if k < 2:
        raise InvalidArgument("reports", labels.tolist(), "must have two categories at least")
    n = sum(map(len, groups))
    matrix, names = covariates(X, n, sum(group.n_missing for group in groups))
    name = response_name(groups, names, "y")
    counts = None if freq_weights is None else whole_weights("freq_weights", freq_weights, n)
    total = None if weights is None else row_weights("weights", weights, n)
    return RegressionData(
        outcome=outcome_of(model, k),
        response=groups,
        designs=(matrix,),
        names=names,
        categories=labels,
        response_name=name,
        offset=None if offset is None else row_numbers("offset", offset, n),
        counts=counts,
        weights=total if total is None or counts is None else total * counts,
        candidates={} if candidates is None else {name: candidates},
        n_missing=sum(group.n_missing for group in groups),
    )
