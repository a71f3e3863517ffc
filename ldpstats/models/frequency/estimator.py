"""The estimator that a fit asks for, by name or as an object, and its settings in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ldpstats.arguments.checks import one_of
from ldpstats.errors import InvalidArgument
from ldpstats.estimators import ESTIMATORS
from ldpstats.estimators.base import Estimator, MomentsEstimator
from ldpstats.models.frequency.evidence import Evidence
from ldpstats.models.shared.fit import CONSTRAINED

__all__ = ["estimator_of", "settings_of"]


def estimator_of(
    evidence: Evidence, method: str | Estimator[Any] | None, constraints: Any, cov_type: str
) -> Estimator[Any]:
    """The estimator that the arguments of `FrequencyModel.fit` ask for."""
    if method is None:
        linear = evidence.candidates is not None or not evidence.has_patterns
        method = "inversion" if linear and constraints is None else "mle"
    if isinstance(method, Estimator):  # the user passes a name or an object
        estimator = method
    else:
        estimator = ESTIMATORS[one_of("method", method, tuple(ESTIMATORS))]()
    if constraints is not None:
        if estimator.name != "mle":
            raise InvalidArgument("constraints", constraints, "goes with method='mle' only")
        estimator = replace(estimator, constraints=constraints)  # type: ignore[type-var]
    # here and in `estimates`, the kind of estimator says which of the two problems it solves
    if isinstance(estimator, MomentsEstimator) and cov_type == "fpe16":
        raise InvalidArgument("cov_type", cov_type, "goes with likelihood estimates only")
    return estimator


def settings_of(estimator: Estimator[Any]) -> str:
    """The settings of an estimator that its name leaves out."""
    if estimator.constraints is not None:
        return CONSTRAINED
    return "" if estimator == type(estimator)() else "tuned"
