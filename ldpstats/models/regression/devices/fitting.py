"""Fit coefficients and unknown parameters of devices together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import (
    ConvergenceWarning,
    InvalidArgument,
    LDPWarning,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators.regression.bounded import BoundedMaximum, search_bounded
from ldpstats.estimators.regression.newton import Maximum
from ldpstats.estimators.regression.search import flat_direction
from ldpstats.models.parameters.groups import polynomial_matrix
from ldpstats.models.regression.devices.results import DeviceRegressionResults
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.models.shared.spelling import in_turn
from ldpstats.problems.parametric.identification import generic_point, unidentified
from ldpstats.problems.regression.parametric import ParametricRegression

__all__ = ["check_identified", "fit_with_devices", "parametric_likelihood", "refuse_devices"]

Array = npt.NDArray[Any]

_SINGULAR = 1e-8  # eigenvalue of a correlation matrix, that counts as zero
_APART = 0.01  # unknown parameters that are not the same
_FLAT = 0.1  # part in a flat direction, from which on a coefficient is at infinity
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
        For other options, weights and designs, and reports of bits.
    NotIdentified
        If the reports leave a coefficient or a parameter open; the message names it.
    """
    _refuse_options(model, options)
    refuse_devices(model)
    likelihood = parametric_likelihood(model)
    names = model.all_names
    check_identified(likelihood, names)
    top, rivals = search_bounded(likelihood, likelihood.start, likelihood.units)
    infinite, fixed = _at_infinity(model, likelihood, top)
    if infinite:  # places there are many, of the same coefficients
        m = likelihood.m
        rivals = [one for one in rivals if np.abs(one.x[-m:] - top.x[-m:]).max() > _APART]
    top = replace(top, held=top.held | fixed)
    if rivals:
        shown = ", ".join(f"{name} = {v:.4g}" for name, v in _changed(names, top, rivals[0]))
        raise NotIdentified(f"other values fit the reports as well, such as {shown}: {_REMEDY}")
    if infinite:
        warnings.warn(
            "the likelihood has its maximum at infinity, or cannot tell it from there: "
            f"{in_turn(list(infinite))}. Their intervals have no end, and fit_posterior() has "
            "finite estimates",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif not top.converged:
        warnings.warn(
            f"the iteration stopped after {top.n_iter} steps before a maximum was reached",
            ConvergenceWarning,
            stacklevel=4,
        )
    V = _covariance(likelihood, top, names)
    return DeviceRegressionResults(
        model=model,
        theta=top.x,
        covariance_all=V,
        value=top.value,
        hessian=top.hessian,
        method="mle",
        penalty=None,
        cov_type="nonrobust",
        converged=top.converged and not infinite,
        n_iter=top.n_iter,
        n_maxima=1,
        infinite=infinite,
        joint=likelihood,
        top=top,
    )


def parametric_likelihood(model: RegressionStructure) -> ParametricRegression:
    """The likelihood of a model over distinct rows."""
    matrices = [polynomial_matrix(one.mechanism, model.unknown) for one in model.data.response]
    return ParametricRegression(model.likelihood, tuple(matrices))


def _refuse_options(model: RegressionStructure, options: dict[str, Any]) -> None:
    """Refuse what is not the maximum of the likelihood."""
    names = in_turn(list(model.unknown))
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


def refuse_devices(model: RegressionStructure) -> None:
    """Refuse what has no likelihood with unknown parameters.

    Raises
    ------
    NotAvailable
        For weights and designs, and reports of bits.
    InvalidArgument
        If a parameter has the name of a coefficient.
    """
    names, data = in_turn(list(model.unknown)), model.data
    others = {*model.exog_names, *model.all_names[: -len(model.unknown)]}
    for name in model.unknown:
        if name in others:
            remedy = "is a coefficient too: give the unknown parameter another name"
            raise InvalidArgument("unknown", name, remedy)
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


def check_identified(
    likelihood: ParametricRegression, names: list[str], known: Sequence[str] = (), remedy: str = ""
) -> None:
    """Refuse devices that leave something open whatever the coefficients are.

    Parameters
    ----------
    likelihood : ParametricRegression
    names : list of str
        Of coefficients and parameters.
    known : sequence of str
        Parameters of which a prior tells: nothing is refused if one of them is open.
    remedy : str
        A further one.
    """
    own, p, m = likelihood.units, likelihood.p, likelihood.m
    drawn = np.random.default_rng(2024).normal(0.0, 0.7, p)
    point = likelihood.start + own @ np.append(drawn, np.zeros(m))
    point[p:] = [float(v) for v in generic_point(1, m)[1]]
    open_ = _open(own.T @ likelihood.expected(point) @ own)
    left = [names[j] for j in np.flatnonzero(open_)]
    if set(left) & set(known):
        return
    if left:
        words = in_turn(left)
        raise NotIdentified(
            f"{words} cannot be estimated from these reports: other values give them the same law; "
            f"{_REMEDY}{remedy}"
        )
    if not known and unidentified(likelihood.matrices).any():
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


def _covariance(likelihood: ParametricRegression, top: BoundedMaximum, names: list[str]) -> Array:
    """Inverse of the observed information of what no bound holds; nan for the rest."""
    free = ~top.held
    units_ = likelihood.units[np.ix_(free, free)]
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


def _at_infinity(
    model: RegressionStructure, likelihood: ParametricRegression, top: BoundedMaximum
) -> tuple[tuple[str, ...], npt.NDArray[np.bool_]]:
    """Names of coefficients whose estimate is at infinity, and what has no standard error."""
    p = likelihood.p
    known = likelihood.known(top.x[p:])
    here = Maximum(
        top.x[:p], top.value, top.score[:p], top.hessian[:p, :p], 0.0, top.converged, top.n_iter
    )
    fixed = np.zeros(likelihood.size, dtype=bool)
    flat = flat_direction(known, here, model.units)
    if flat is None:
        return (), fixed
    fixed[:p] = (flat > _FLAT).any(axis=0)
    return tuple(model.all_names[j] for j in np.flatnonzero(flat[0] > _FLAT)), fixed


def _changed(
    names: list[str], top: BoundedMaximum, rival: BoundedMaximum
) -> list[tuple[str, float]]:
    """What differs between two maxima, as the second has it."""
    apart = np.abs(top.x - rival.x) > 1e-3
    return [(names[j], float(rival.x[j])) for j in np.flatnonzero(apart)][:4]
