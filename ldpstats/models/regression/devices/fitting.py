"""Fit coefficients and unknown parameters of devices together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import ConvergenceWarning, LDPWarning, NotAvailable, NotIdentified
from ldpstats.estimators.regression.bounded import BoundedMaximum, search_bounded
from ldpstats.models.parameters.groups import polynomial_matrix
from ldpstats.models.regression.devices.results import DeviceRegressionResults
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.models.shared.spelling import in_turn
from ldpstats.problems.parametric.identification import generic_point, unidentified
from ldpstats.problems.regression.collapse import alike
from ldpstats.problems.regression.likelihood import RegressionLikelihood, Seen
from ldpstats.problems.regression.parametric import ParametricRegression
from ldpstats.problems.regression.predictors import predictors_of
from ldpstats.problems.regression.standard import start, units

__all__ = ["fit_with_devices", "parametric_likelihood"]

Array = npt.NDArray[Any]

_SINGULAR = 1e-8  # eigenvalue of a correlation matrix, that counts as zero
_PART = 0.1  # in a direction without information, from which on a parameter is named
_REMEDY = "add a group of respondents with another device, or one whose parameters are known"


def fit_with_devices(
    model: RegressionStructure, options: dict[str, Any]
) -> DeviceRegressionResults:
    """Maximum likelihood of coefficients and parameters; see `PrivatizedRegression.fit`.

    Parameters
    ----------
    model : RegressionStructure
        With unknown parameters.
    options : dict
        Arguments of `fit`; none may differ from the default, but for method="mle".

    Raises
    ------
    NotAvailable
        For other options, private predictors, weights and designs, and reports of bits.
    NotIdentified
        If the reports leave a coefficient or a parameter open; the message names it.
    """
    _refuse(model, options)
    likelihood = parametric_likelihood(model)
    names = [*model.all_names, *model.unknown]
    own = _units(likelihood)
    first = _start(likelihood)
    _check_identified(likelihood, own, first, names)
    top, rivals = search_bounded(likelihood, first, own)
    if rivals:
        shown = ", ".join(f"{name} = {v:.4g}" for name, v in _changed(names, top, rivals[0]))
        raise NotIdentified(f"other values fit the reports as well, such as {shown}: {_REMEDY}")
    if not top.converged:
        warnings.warn(
            f"the iteration stopped after {top.n_iter} steps before a maximum was reached",
            ConvergenceWarning,
            stacklevel=4,
        )
    V = _covariance(likelihood, top, own, names)
    return DeviceRegressionResults(model, likelihood, top, V, own)


def parametric_likelihood(model: RegressionStructure) -> ParametricRegression:
    """The likelihood of a model over distinct rows."""
    data = model.data
    groups = data.response
    group = np.repeat(np.arange(len(groups)), [len(one) for one in groups])
    code = np.concatenate([np.asarray(one.y, dtype=np.int64) for one in groups])
    counts = np.ones(data.n) if data.counts is None else np.asarray(data.counts, dtype=np.float64)
    columns = [data.designs[0], group, code]
    if data.offset is not None:
        columns.append(data.offset)
    kinds = alike(columns) if data.n > 1 else None
    design = predictors_of(data.outcome, data.designs[0], data.offset)
    outcome: Any = data.outcome
    matrices = tuple(polynomial_matrix(one.mechanism, model.unknown) for one in groups)
    found = ParametricRegression(outcome, design, matrices, group, code, counts)
    if kinds is None:
        return found
    rows, place = kinds
    summed = np.bincount(place, counts, len(rows))
    some = found.take(rows)
    return ParametricRegression(outcome, some.design, matrices, some.group, some.code, summed)


def _refuse(model: RegressionStructure, options: dict[str, Any]) -> None:
    """Refuse what has no likelihood with unknown parameters."""
    names = in_turn(list(model.unknown))
    data = model.data
    usual = {"method": (None, "mle"), "maxiter": (100,), "disp": (False,)}
    changed = [
        name
        for name, value in options.items()
        if not any(value is one or value == one for one in usual.get(name, (None,)))
    ]
    if changed:
        raise NotAvailable(
            f"the unknown {names} and the coefficients are estimated by maximum likelihood alone: "
            f"leave out {changed[0]}="
        )
    if data.predictors:
        raise NotAvailable(
            f"private predictors beside a device with the unknown {names}: use devices with known "
            "parameters, or leave the private predictors out"
        )
    if data.sample is not None or data.weights is not None:
        raise NotAvailable(
            f"sampling weights beside a device with the unknown {names} have no likelihood: leave "
            "them out (numbers of respondents are freq_weights=)"
        )
    for one in data.response:
        mechanism = one.mechanism
        if mechanism.n_bits or mechanism.n_cohorts or mechanism.is_open:
            raise NotAvailable(
                f"{mechanism} reports bits or cohorts: beside unknown parameters only devices "
                "whose reports are labels can be fitted"
            )


def _plain(likelihood: ParametricRegression) -> RegressionLikelihood:
    """The regression of answers that were seen, for units and starts."""
    k = likelihood.outcome.k
    seen = Seen(np.eye(k), np.zeros(len(likelihood.code), dtype=np.int64))
    return RegressionLikelihood(likelihood.outcome, (likelihood.design,), seen, likelihood.weights)


def _units(likelihood: ParametricRegression) -> Array:
    found = np.eye(likelihood.size)
    found[: likelihood.p, : likelihood.p] = units(_plain(likelihood))
    return found


def _start(likelihood: ParametricRegression) -> Array:
    return np.append(start(_plain(likelihood)), np.full(likelihood.m, 0.5))


def _check_identified(
    likelihood: ParametricRegression, own: Array, first: Array, names: list[str]
) -> None:
    """Refuse devices that leave something open whatever the coefficients are."""
    p, m = likelihood.p, likelihood.m
    drawn = np.random.default_rng(2024).normal(0.0, 0.7, p)
    point = first + own @ np.append(drawn, np.zeros(m))
    point[p:] = [float(v) for v in generic_point(1, m)[1]]
    open_ = _open(own.T @ likelihood.expected(point) @ own)
    if open_.any():
        words = in_turn([names[j] for j in np.flatnonzero(open_)])
        raise NotIdentified(
            f"{words} cannot be estimated from these reports: other values give them the same law; "
            f"{_REMEDY}"
        )
    if unidentified(likelihood.matrices).any():
        warnings.warn(
            "these devices alone do not determine the frequencies and the unknown parameters: only "
            f"the shape of the regression does, which data can hardly check. Better {_REMEDY}",
            LDPWarning,
            stacklevel=5,
        )


def _open(information: Array) -> npt.NDArray[np.bool_]:
    """Parameters on which there is no information."""
    scale = np.sqrt(np.maximum(np.diagonal(information), 0.0))
    none = scale <= 1e-12 * scale.max(initial=0.0)
    scale = np.where(none, 1.0, scale)
    size, axes = np.linalg.eigh(information / np.outer(scale, scale))
    flat = axes[:, size <= _SINGULAR]
    return np.asarray(none | (np.abs(flat) > _PART).any(axis=1))


def _covariance(
    likelihood: ParametricRegression, top: BoundedMaximum, own: Array, names: list[str]
) -> Array:
    """Inverse of the observed information of what no bound holds; nan for the rest."""
    free = ~top.held
    units_ = own[np.ix_(free, free)]
    information = -units_.T @ top.hessian[np.ix_(free, free)] @ units_
    open_ = _open(information)
    if open_.any() or np.linalg.eigvalsh(information)[0] <= 0.0:
        some = np.array(names)[free][open_] if open_.any() else np.array(names)[free]
        raise NotIdentified(
            f"the information of the reports on {in_turn(list(some))} is singular at the estimate: "
            f"{_REMEDY}"
        )
    found = np.full((likelihood.size, likelihood.size), np.nan)
    inverse = units_ @ np.linalg.inv(information) @ units_.T
    found[np.ix_(free, free)] = (inverse + inverse.T) / 2.0
    return found


def _changed(
    names: list[str], top: BoundedMaximum, rival: BoundedMaximum
) -> list[tuple[str, float]]:
    """What differs between two maxima, as the second has it."""
    apart = np.abs(top.x - rival.x) > 1e-3
    return [(names[j], float(rival.x[j])) for j in np.flatnonzero(apart)][:4]
