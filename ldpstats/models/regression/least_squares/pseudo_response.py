"""Scores of privatised answers, each estimated without bias from its report."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.intervals import midpoints
from ldpstats.errors import IncompleteListWarning
from ldpstats.models.frequency.ordered import checked_scores
from ldpstats.problems.regression.indicators import unbiased_indicators
from ldpstats.reports.single import Reports

__all__ = ["PseudoResponse", "answer_scores", "pseudo_response"]

Array = npt.NDArray[Any]

_CERTAIN = 3.09  # standard errors of the share of other answers that has p < .001


@dataclass(frozen=True, eq=False)
class PseudoResponse:
    """Unbiased scores of the answers of all respondents.

    Parameters
    ----------
    values : array, shape (n,)
    noise : float
        Estimate of the weighted sum over the respondents of what the randomisation adds to the
        variance of `values`.
    is_open : bool
        Whether other answers than those listed are possible; the listed are taken to be all.
    """

    values: Array
    noise: float
    is_open: bool


def pseudo_response(
    groups: list[Reports], scores: Array, weights: Array, candidates: Any
) -> PseudoResponse:
    """The scores, shape (k,), of decoded reports; `weights` of all rows, shape (n,).

    Raises
    ------
    NotIdentified
        If the reports of a mechanism do not determine the answers.

    Warns
    -----
    IncompleteListWarning
        If the reports indicate answers that are not among the candidates.
    """
    values, noise, start, is_open = np.zeros(len(weights)), 0.0, 0, False
    for group in groups:
        end = start + len(group)
        own = weights[start:end]
        if own.any():  # others count nowhere
            one = unbiased_indicators(group, own, candidates)
            values[start:end] = (one.phi @ scores)[one.place]
            noise += float(scores @ one.noise @ scores)
            is_open = is_open or one.is_open
            if one.unlisted > _CERTAIN:
                warnings.warn(
                    "candidates: the reports indicate that other answers exist, and the scores of "
                    "these are wrong: list more candidates",
                    IncompleteListWarning,
                    3,
                )
        start = end
    return PseudoResponse(values, noise, is_open)


def answer_scores(scores: Any, labels: pd.Index[Any]) -> Array:
    """The score of each category; two without numbers have 0 and 1.

    Raises
    ------
    InvalidArgument
        If more than two categories are not numbers and have no scores, or scores do not fit them.
    """
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in labels.tolist())
    if scores is None and len(labels) == 2 and not numeric and midpoints(labels) is None:
        return np.array([0.0, 1.0])
    return checked_scores(scores, labels)
