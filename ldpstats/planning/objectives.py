"""What a recommended mechanism is to estimate best."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of, real_number
from ldpstats.arguments.labels import position, preview
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.shared.tables import one_line
from ldpstats.planning.goals.base import Goal
from ldpstats.planning.goals.independence import IndependenceTest
from ldpstats.planning.power_of_tests import respondents_for_power
from ldpstats.planning.variances import one_report_covariance, one_report_variances

__all__ = ["Objective", "objective"]

Array = npt.NDArray[Any]

_GOALS = ("total", "worst")
_LONGEST = 12  # terms of a contrast that are written out


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss of one respondent, to which the respondents that are needed are proportional.

    `weights` of a contrast, shape (k,), or None; `words` say what is to be small. The loss of a
    `test` is the number of respondents itself.
    """

    name: str
    words: str
    weights: Array | None = None
    test: Goal | None = None

    def loss(self, mechanism: Mechanism, p: Array) -> float:
        """Of one respondent; for weights of one category only its variance is needed."""
        if self.test is not None:
            return float(respondents_for_power(mechanism, self.test))
        if self.weights is not None and np.count_nonzero(self.weights) > 1:
            covariance = one_report_covariance(mechanism, p)
            return max(float(covariance.forms(self.weights[None])[0]), 0.0)
        variances = one_report_variances(mechanism, p)
        if self.weights is not None:
            return float(variances @ self.weights**2)
        return float(variances.sum() if self.name == "total" else variances.max())


def objective(goal: Any, labels: pd.Index[Any]) -> Objective:
    """The objective that `goal` stands for: "total", "worst", weights by label, or a test."""
    if isinstance(goal, Goal):
        return _of_test(goal)
    if not isinstance(goal, Mapping):
        if not isinstance(goal, str):
            remedy = 'must be "total", "worst", a mapping from labels to weights, or a test'
            raise InvalidArgument("goal", goal, remedy)
        name = one_of("goal", goal, _GOALS)
        words = {"total": "summed variance", "worst": "maximal standard error"}
        return Objective(name, words[name])
    if not goal:
        raise InvalidArgument("goal", goal, "must weigh at least one category")
    weights = np.zeros(len(labels))
    terms: list[str] = []
    for label, weight in _weights(goal, labels).items():
        remedy = f"must have labels as keys, such as {preview(labels)}"
        weights[position("goal", label, labels, remedy)] = number = _weight(label, weight)
        terms += [*_sign(number, bool(terms)), one_line(label, 20)] if number else []
    if np.ptp(weights) == 0.0:
        remedy = "must weigh categories differently: the sum of all shares is known"
        raise InvalidArgument("goal", goal, remedy)
    what = " ".join(terms) if len(terms) < _LONGEST else "the contrast"
    what = f"the share of {what}" if len(terms) == 1 else what
    return Objective("contrast", f"variance of {what}", weights)


def _of_test(goal: Goal) -> Objective:
    if isinstance(goal, IndependenceTest):
        remedy = "is of two variables: compare pairs of mechanisms by sample_size(..., goal=)"
        raise InvalidArgument("goal", goal.words, remedy)
    return Objective("test", f"number of respondents for power 0.8 {goal.words}", test=goal)


def _sign(weight: float, is_later: bool) -> list[str]:
    """The sign and size of a weight, as far as they need to be written."""
    sign = ["-" if weight < 0.0 else "+"] if is_later or weight < 0.0 else []
    return sign if abs(weight) == 1.0 else [*sign, f"{abs(weight):g}"]


def _weights(goal: Mapping[Any, Any], labels: pd.Index[Any]) -> Mapping[Any, Any]:
    """``{"category": label}`` as a weight of one, unless "category" is a label itself."""
    ((key, value), *more) = goal.items()
    if isinstance(key, str) and key == "category" and not more and "category" not in labels:
        return {value: 1.0} if isinstance(value, Hashable) else {}
    return goal


def _weight(label: Any, weight: Any) -> float:
    remedy = "must be a finite number, the weight of the category"
    number = real_number(f"goal[{label!r}]", weight, remedy)
    if not abs(number) < 1e100:
        raise InvalidArgument(f"goal[{label!r}]", weight, remedy)
    return number
