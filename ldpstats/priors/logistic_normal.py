"""The logistic normal prior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument
from ldpstats.priors.base import LogitLaw, SimplexPrior, softmax_log

__all__ = ["LogisticNormal", "LogisticNormalLaw"]

Array = npt.NDArray[Any]

_LARGEST_MEAN = 100.0
_SD = (1e-3, 100.0)


@dataclass(frozen=True, eq=False)
class LogisticNormalLaw(LogitLaw):
    """p = softmax(eta), eta normal with these means, (k,), and this covariance, (k, k)."""

    mean: Array
    covariance: Array

    @property
    def k(self) -> int:
        return int(self.mean.size)

    @cached_property
    def precision(self) -> Array:
        """Inverse covariance of the differences of logits, shape (k, k): rows sum to zero.

        With D the differences from the last logit it is ``D' (D S D')^-1 D``, whichever logit is
        taken; ``S^-1 - S^-1 1 1' S^-1 / 1' S^-1 1`` where S has an inverse.
        """
        D = _differences(self.k)
        return np.asarray(D.T @ np.linalg.solve(D @ self.covariance @ D.T, D))

    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        gap = logp - self.mean
        slope = -gap @ self.precision
        return 0.5 * (gap * slope).sum(axis=-1), slope

    def curvature(self, logp: Array) -> Array:
        return self.precision

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        D = _differences(self.k)
        root = np.linalg.cholesky(D @ self.covariance @ D.T)
        ratios = D @ self.mean + rng.standard_normal((size, self.k - 1)) @ root.T
        return np.exp(softmax_log(np.column_stack([ratios, np.zeros(size)])))

    def start(self) -> Array:
        return softmax_log(self.mean)


@dataclass(frozen=True, eq=False, repr=False)
class LogisticNormal(SimplexPrior):
    """Frequencies ``p_j = exp(eta_j) / sum exp(eta)`` with normal eta, one for each category.

    Only differences of eta matter: their means and variances are what the prior says of log ratios
    ``log(p_i / p_j)``, with variance ``sd_i^2 + sd_j^2`` unless a covariance is given. Categories
    are treated alike by default, whatever their order.

    Parameters
    ----------
    mean : float, array_like of shape (k,), or Series by category
        Of eta.
    sd : float, array_like of shape (k,), or Series by category
        Standard deviations of independent eta, from 0.001 to 100.
    covariance : array_like of shape (k, k), or DataFrame by category, optional
        Covariance of eta, instead of `sd`: symmetric, positive definite but for a number that is
        added to all.

    Raises
    ------
    InvalidArgument
        For values out of range, both of `sd` and `covariance`; when it is used, for other labels
        than the categories.

    References
    ----------
    J. Aitchison and S. M. Shen, Logistic-normal distributions, Biometrika 67 (1980), 261-272.

    Examples
    --------
    >>> LogisticNormal(sd=0.5)
    LogisticNormal(mean=0.0, sd=0.5)
    >>> LogisticNormal(sd=2.0).law(pd.RangeIndex(3)).draw(np.random.default_rng(1), 2).round(3)
    array([[0.168, 0.769, 0.063],
           [0.705, 0.018, 0.277]])
    """

    mean: Any = 0.0
    sd: Any = None
    covariance: Any = None

    def __post_init__(self) -> None:
        how = "must be a finite number up to 100, or one for each category"
        object.__setattr__(self, "mean", _given("mean", self.mean, how, -_LARGEST_MEAN))
        if self.covariance is None:
            how = f"must be a number from {_SD[0]:g} to {_SD[1]:g}, or one for each category"
            sd = 1.0 if self.sd is None else self.sd
            object.__setattr__(self, "sd", _given("sd", sd, how, _SD[0]))
        elif self.sd is not None:
            raise InvalidArgument("sd", self.sd, "goes without covariance: pass one of them")
        else:
            object.__setattr__(self, "covariance", _checked_covariance(self.covariance))

    def __repr__(self) -> str:
        name, spread = "sd", self.sd
        if self.covariance is not None:
            name, spread = "covariance", np.asarray(self.covariance)
        return f"LogisticNormal(mean={_shown(self.mean)}, {name}={_shown(spread)})"

    def law(self, labels: pd.Index[Any]) -> LogisticNormalLaw:
        k = len(labels)
        mean = _for_labels("mean", self.mean, labels)
        if self.covariance is None:
            return LogisticNormalLaw(mean, np.diag(_for_labels("sd", self.sd, labels) ** 2))
        C = self.covariance
        if isinstance(C, pd.DataFrame):
            columns = [align("covariance", C[name], labels) for name in C.columns]
            aligned = pd.DataFrame(np.array(columns), index=C.columns)
            rows = [align("covariance", aligned[i], labels) for i in range(aligned.shape[1])]
            return LogisticNormalLaw(mean, np.array(rows))
        if C.shape != (k, k):
            remedy = f"must have {k} rows and columns, one for each category"
            raise InvalidArgument("covariance", f"array of shape {C.shape}", remedy)
        return LogisticNormalLaw(mean, C)


def _differences(k: int) -> Array:
    """The matrix, (k - 1, k), of differences of k logits from the last one."""
    return np.asarray(np.eye(k)[:-1] - np.eye(k)[-1])


def _given(name: str, value: Any, remedy: str, least: float) -> Any:
    """A number, a vector or a Series within bounds, copied."""
    values = value.to_numpy() if isinstance(value, pd.Series) else value
    array = numbers(name, values, remedy)
    if np.asarray(values).dtype == bool or array.ndim > 1 or not array.size:
        raise InvalidArgument(name, value, remedy)
    if not np.all((array >= least) & (array <= 100.0)):  # nor nan
        raise InvalidArgument(name, value, remedy)
    if isinstance(value, pd.Series):
        return value.copy()
    return float(array) if array.ndim == 0 else array


def _for_labels(name: str, value: Any, labels: pd.Index[Any]) -> Array:
    k = len(labels)
    if isinstance(value, float):
        return np.full(k, value)
    return numbers(name, align(name, value, labels), f"must be {k} numbers, one a category", (k,))


def _checked_covariance(value: Any) -> Any:
    remedy = (
        "must be a symmetric matrix of finite numbers whose differences of any two categories "
        "have positive variance"
    )
    values = value.to_numpy() if isinstance(value, pd.DataFrame) else value
    C = numbers("covariance", values, remedy)
    if C.ndim != 2 or C.shape[0] != C.shape[1] or len(C) < 2 or not np.isfinite(C).all():
        raise InvalidArgument("covariance", value, remedy)
    if isinstance(value, pd.DataFrame) and set(value.index) != set(value.columns):
        raise InvalidArgument("covariance", value, "must have the same labels on both sides")
    if isinstance(value, pd.DataFrame):
        C = value.loc[:, value.index].to_numpy(dtype=np.float64)
    scale = max(float(np.abs(C).max()), 1e-300)
    D = _differences(len(C))
    least = float(np.linalg.eigvalsh(D @ C @ D.T).min())
    if np.abs(C - C.T).max() > 1e-10 * scale or least <= 1e-10 * scale or scale > 1e4:
        raise InvalidArgument("covariance", value, remedy)
    C = (C + C.T) / 2.0
    return pd.DataFrame(C, value.index, value.index) if isinstance(value, pd.DataFrame) else C


def _shown(value: Any) -> Any:
    if isinstance(value, pd.Series):
        return value.to_dict()
    return value if isinstance(value, float) else value.tolist()
