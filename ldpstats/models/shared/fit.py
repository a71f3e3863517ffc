"""What every fit leaves behind: the estimate, the one that tests rest on, and how it was made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Self, TypeVar, overload

import numpy as np

from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.problem import nats_to_gain

__all__ = ["CONSTRAINED", "SANDWICH", "WITHOUT_ERRORS", "Fit", "Part", "is_partial"]

CONSTRAINED = "constrained"  # settings of an estimate under constraints of the caller
SANDWICH = "sandwich"  # covariance of an estimate by a weighted likelihood
_ROUNDING = 1e-9  # of frequencies

T = TypeVar("T")

PENALISED = "a penalised estimate has no standard errors"
WITHOUT_ERRORS = {
    "none (constrained)": "a constrained estimate has no standard errors",
    "none (penalised)": PENALISED,
    "none (too large)": "standard errors of so many frequencies at once were not computed",
    "none (singular information)": "the reports leave the estimate without standard errors",
}


@dataclass(frozen=True, eq=False)
class Fit:
    """An estimate, the unconstrained one that tests rest on, and how the fit ended.

    `is_partial` says that epsilon protects the sensitive categories only. `llf` and `gap` are nan
    for an estimate that maximises no likelihood. `name` is the variable's. `source_nobs` are the
    reports of each source; empty where they are not known.
    """

    fitted: Uncertain
    linear: Uncertain
    method: str
    settings: str
    cov_type: str
    nobs: int
    n_missing: int
    epsilon: float
    sources: tuple[str, ...]
    is_partial: bool = False
    llf: float = float("nan")
    gap: float = float("nan")
    n_iter: int = 0
    converged: bool = True
    message: str = ""
    name: str = ""
    source_nobs: tuple[int, ...] = ()

    @property
    def df_model(self) -> int:
        """Estimated frequencies that vary freely: one fewer where they sum to one."""
        estimate = self.fitted.estimate[self.fitted.places]
        return int(estimate.size) - int(abs(estimate.sum() - 1.0) <= _ROUNDING)

    @property
    def df_resid(self) -> int:
        """Reports less `df_model`."""
        return self.nobs - self.df_model

    @property
    def aic(self) -> float:
        """``2 df_model - 2 llf``; nan where the frequencies do not maximise the likelihood freely.

        Under further constraints, what varies freely is not known.
        """
        return self._criterion(2.0)

    @property
    def bic(self) -> float:
        """``log(nobs) df_model - 2 llf``; nan as `aic`."""
        return self._criterion(float(np.log(max(self.nobs, 1))))

    def _criterion(self, each: float) -> float:
        """Twice the negative log-likelihood, and `each` for what varies freely."""
        known = self.is_maximum and self.converged and self.settings != CONSTRAINED
        # a pseudo-likelihood has no such criterion, nor what stops short of the maximum
        other = self.is_penalised or self.method == "em-fpe16" or self.cov_type == SANDWICH
        if not known or other:
            return float("nan")
        return each * self.df_model - 2.0 * self.llf

    @property
    def gap_nats(self) -> float:
        """Bound, in nats, of the log-likelihood that any other p could gain; rounding included."""
        return nats_to_gain(self.nobs, self.gap)

    @property
    def is_maximum(self) -> bool:
        """Whether the estimate maximises the likelihood, and has a certificate for it."""
        return not np.isnan(self.gap)

    @property
    def is_penalised(self) -> bool:
        """Whether a penalty was taken from the likelihood; the certificate is that of both."""
        return self.method == "smoothed"

    @property
    def on_boundary(self) -> bool:
        """Whether some estimated frequency is zero."""
        return bool(np.any(self.fitted.estimate <= 0.0))

    @property
    def without_errors(self) -> str:
        """Why the estimate has no standard errors, in words; "" where it has."""
        if self.fitted.has_errors:
            return ""
        return WITHOUT_ERRORS.get(self.cov_type, "no covariance of params was computed")


def is_partial(mechanisms: Iterable[dict[str, Any]]) -> bool:
    """Whether some mechanism, each as its `to_dict`, protects only some of its categories."""
    for document in mechanisms:
        sensitive, categories = document.get("sensitive"), document.get("categories")
        if isinstance(sensitive, list) and categories is not None:
            if len(sensitive) < (categories if isinstance(categories, int) else len(categories)):
                return True
    return False


class Part(Generic[T]):
    """An attribute of results that one of their records holds.

    ``llf = Part[float]("fit", "Log-likelihood.")`` makes ``results.llf`` that of ``results.fit``.
    """

    def __init__(self, record: str, words: str) -> None:
        self.record, self.__doc__ = record, words

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, results: None, owner: type) -> Self: ...

    @overload
    def __get__(self, results: object, owner: type) -> T: ...

    def __get__(self, results: object | None, owner: type) -> Self | T:
        if results is None:
            return self
        value: T = getattr(getattr(results, self.record), self.name)
        return value

    def __set__(self, results: object, value: object) -> NoReturn:
        raise AttributeError(f"{self.name} of results cannot be set")
