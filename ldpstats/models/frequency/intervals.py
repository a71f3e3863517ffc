"""Confidence intervals of frequencies, from an estimate and what is known of its law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference import intervals
from ldpstats.models.frequency.record import Laws
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.estimates import Uncertain

__all__ = ["METHODS", "by_method", "by_model", "check_options", "cut"]

Array = npt.NDArray[Any]

METHODS = ("default", "exact", "wilson", "wald", "wald-mle", "profile", "bootstrap")
_REFITS = {"model", "progress"}
_OPTIONS = {"profile": _REFITS, "bootstrap": _REFITS | {"rng", "n_boot", "estimator"}}
_FEW = 50  # reports: a count of that mean is about as skewed as a normal interval can bear


def check_options(method: str, how: Mapping[str, Any]) -> None:
    """Refuse options that a method does not have."""
    for name, value in how.items():
        if name not in _OPTIONS.get(method, set()):
            raise InvalidArgument(name, value, f"is no option of method={method!r}")


def by_model(results: Any, method: str, alpha: float, model: Any = None, **how: Any) -> Array:
    """Intervals, (k, 2), that the fitted model computes by refits, from `FrequencyResults`."""
    compute = getattr(model, f"{method}_intervals", None)
    if compute is None or not isinstance(getattr(model, "nobs", None), int):
        raise InvalidArgument(
            "model", model, f"results hold no data: pass the fitted model for {method!r}"
        )
    return np.asarray(compute(results, alpha, **how))


def by_method(fit: Fit, laws: Laws, method: str, alpha: float, scheffe: bool = False) -> Array:
    """Intervals, (k, 2), from what results hold, not cut to [0, 1]."""
    if method in ("exact", "wilson"):
        if laws.exact is None or not laws.exact.known.all():
            raise NotAvailable(
                f"no {method} interval: categories do not each have a binomial count of their "
                "own under this channel; use the default, or method='wald'"
            )
        compute = intervals.exact_binomial if method == "exact" else intervals.wilson
        return laws.exact.apply(compute, alpha)
    fit.linear.every_bse()
    if method == "default":
        return _default(fit.linear, laws, alpha)
    which = fit.fitted if method == "wald-mle" else fit.linear
    if not which.has_errors:
        raise NotAvailable(f"no covariance of params was computed: {fit.cov_type}")
    if scheffe:
        df = which.estimate.size - 1
        return _around(which, partial(intervals.scheffe, alpha=alpha, df=df))
    return _around(which, partial(intervals.wald, alpha=alpha))


def _around(which: Uncertain, compute: Callable[[Array, Array], Array]) -> Array:
    """Intervals, shape (k, 2), around the estimates with a standard error; nan for the others."""
    at, bounds = which.places, np.full((which.estimate.size, 2), np.nan)
    bounds[at] = compute(which.estimate[at], which.bse()[at])
    return bounds


def _default(linear: Uncertain, laws: Laws, alpha: float) -> Array:
    """Exact where a category has a count of its own, else by the score, else Wald; (k, 2)."""
    bounds = _around(linear, partial(intervals.wald, alpha=alpha))
    if laws.tally is not None:
        at = linear.places
        estimate = linear.estimate[at]
        if laws.tally.everywhere:
            score = intervals.inverted(estimate, laws.tally.law, alpha)
            within = np.clip(np.column_stack([estimate, score]), 0.0, 1.0).T
            skewness = [laws.tally.law(p)[1] for p in within]
            few = _FEW * np.square(skewness).max(axis=0) > 1.0  # else it hardly matters
            bounds[at] = np.where(few[:, None], score, bounds[at])
        else:
            bounds[at] = intervals.skewed(estimate, *laws.tally.law(estimate), alpha)
    own = np.flatnonzero(laws.counted(len(bounds)))
    if laws.exact is not None and own.size:
        bounds[own] = laws.exact.take(own).apply(intervals.exact_binomial, alpha)
    return bounds


def cut(bounds: Array, method: str, which: Uncertain, laws: Laws, alpha: float) -> Array:
    """Intersect intervals with [0, 1]; what lies outside gets a limit of its own."""
    k = len(bounds)
    at = np.zeros(k, dtype=bool)
    at[which.places] = True
    own = {"default": laws.counted(k), "exact": at, "wilson": at}.get(method, np.zeros_like(at))
    if laws.exact is not None and own.any():
        form = laws.exact.take(np.flatnonzero(own))
        counts = form.tally, form.nobs, form.offset, form.scale
        bounds[own] = intervals.edge_binomial(bounds[own], *counts, alpha)
    se = which.bse()
    if method == "default" and laws.tally is not None:
        inside = np.clip(which.estimate[which.places], 0.0, 1.0)
        se[which.places] = laws.tally.law(inside)[0]
    at &= ~own
    bounds[at] = intervals.edge_normal(bounds[at], which.estimate[at], se[at], alpha)
    return bounds
