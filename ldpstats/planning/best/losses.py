"""The loss and the priors that a design is asked for, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, distribution, one_of
from ldpstats.arguments.labels import align, by_label, encode
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.hypotheses import linear_hypothesis
from ldpstats.planning.best.goals import Goal

__all__ = ["checked_goal", "checked_priors"]

Array = npt.NDArray[Any]

_NAMES = ("total", "worst", "D")
_LOSS = (
    "must be 'total', 'worst' or 'D', or one contrast or several: text such as 'nurse - cook' with "
    "category labels, a mapping from label to weight, or an array of shape (k,) or (q, k)"
)
_PRIOR = "must be 'uniform', a distribution of the categories, or several as the rows of an array"
_MOST_PRIORS = 50


def checked_priors(prior: object, labels: pd.Index[Any]) -> Array:
    """Distributions, shape (M, k), without repeats."""
    k = len(labels)
    rows: list[Any]
    if isinstance(prior, str):
        one_of("prior", prior, ("uniform",))
        return np.full((1, k), 1.0 / k)
    prior = by_label("prior", prior)
    if prior is None or isinstance(prior, set | frozenset):
        raise InvalidArgument("prior", prior, _PRIOR)
    if isinstance(prior, pd.DataFrame):
        rows = [row for _, row in prior.iterrows()]
    elif isinstance(prior, pd.Series):
        rows = [prior]
    elif isinstance(prior, list | tuple) and any(isinstance(row, pd.Series) for row in prior):
        rows = list(prior)
    else:
        given = as_array("prior", prior, _PRIOR)
        if given.ndim not in (1, 2) or not len(given):
            raise InvalidArgument("prior", prior, _PRIOR)
        rows = list(given) if given.ndim == 2 else [given]
    if not 0 < len(rows) <= _MOST_PRIORS:
        raise InvalidArgument("prior", f"{len(rows)} rows", f"must be 1 to {_MOST_PRIORS} of them")
    names = ["prior"] if len(rows) == 1 else [f"prior[{i}]" for i in range(len(rows))]
    laws = [
        distribution(name, align(name, row, labels), k)
        for name, row in zip(names, rows, strict=True)
    ]
    return np.unique(np.array([law / law.sum() for law in laws]), axis=0)


def checked_goal(loss: object, priors: Array, labels: pd.Index[Any]) -> Goal:
    """The goal that `loss` names."""
    if isinstance(loss, str) and loss in _NAMES and loss not in labels:
        return Goal(str.__str__(loss), priors)
    contrasts = _contrasts(loss, labels)
    spread = np.ptp(contrasts, axis=1)
    if (spread == 0.0).any():
        remedy = (
            "has a contrast with equal weights, which needs no data: a distribution sums to one"
        )
        raise InvalidArgument("loss", loss, remedy)
    return Goal("contrasts", priors, contrasts.T)


def _contrasts(loss: object, labels: pd.Index[Any]) -> Array:
    """Contrasts, shape (q, k)."""
    if isinstance(loss, str):
        one = [loss]
        if not any(str(label) in loss for label in labels.tolist()):
            one_of("loss", loss, _NAMES)
        return _parsed(one, labels)
    if isinstance(loss, Mapping):
        out = np.zeros((1, len(labels)))
        codes = encode("loss", list(loss), labels)[0]
        if not codes.size:
            raise InvalidArgument("loss", loss, _LOSS)
        for code, weight in zip(codes.tolist(), loss.values(), strict=True):
            out[0, code] += _linear([[weight]], 1)[0, 0]
        return out
    if isinstance(loss, pd.Series):
        loss = align("loss", loss, labels, absent=0.0)
    elif isinstance(loss, list | tuple) and loss and all(isinstance(v, str) for v in loss):
        return _parsed(list(loss), labels)
    elif isinstance(loss, list | tuple) and loss and all(isinstance(v, Mapping) for v in loss):
        return np.concatenate([_contrasts(v, labels) for v in loss])
    elif not isinstance(loss, list | tuple | np.ndarray):
        raise InvalidArgument("loss", loss, _LOSS)
    return _linear(loss, len(labels))


def _parsed(texts: list[str], labels: pd.Index[Any]) -> Array:
    try:
        return linear_hypothesis(texts, labels)[0]
    except InvalidArgument as error:
        raise InvalidArgument(
            "loss", texts[0] if len(texts) == 1 else texts, error.remedy
        ) from None


def _linear(values: Any, k: int) -> Array:
    """An array as contrasts, shape (q, k)."""
    labels: pd.Index[Any] = pd.RangeIndex(k)
    try:
        return linear_hypothesis(as_array("loss", values, _LOSS), labels)[0]
    except InvalidArgument:
        raise InvalidArgument("loss", values, f"{_LOSS}; here k = {k}") from None
