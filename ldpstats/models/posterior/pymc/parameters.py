"""Channels of devices whose unknown parameters are tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import probability
from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument
from ldpstats.models.posterior.pymc.groups import Group

__all__ = ["checked_parameters", "law_of"]


def checked_parameters(parameters: Any, groups: list[Group]) -> dict[str, Any]:
    """A tensor or number for each unknown parameter of the devices.

    Raises
    ------
    InvalidArgument
        If one is missing or unknown, or is neither a number in [0, 1] nor a scalar tensor.
    """
    unknown = sorted({name for group in groups for name in group.mechanism.unknown})
    if isinstance(parameters, pd.Series):
        parameters = parameters.to_dict()
    if parameters is None:
        parameters = {}
    remedy = "must be a dictionary {name: tensor}"
    remedy += f" of {', '.join(unknown)}" if unknown else ": these devices have no unknown one"
    if not isinstance(parameters, Mapping):
        raise InvalidArgument("parameters", parameters, remedy)
    for name in parameters:
        if name not in unknown:
            hint = did_you_mean(name, unknown) if isinstance(name, str) else ""
            raise InvalidArgument("parameters", name, f"{remedy}{hint}")
    lacking = [name for name in unknown if name not in parameters]
    if lacking:
        raise InvalidArgument("parameters", None, f"must give {lacking[0]!r}: {remedy}")
    return {name: _scalar(name, parameters[name]) for name in unknown}


def _scalar(name: str, value: Any) -> Any:
    from pytensor import tensor as pt
    from pytensor.graph.basic import Variable

    if not isinstance(value, Variable):
        return pt.as_tensor_variable(probability(f"parameters[{name!r}]", value))
    if getattr(value, "ndim", None) != 0:
        raise InvalidArgument(f"parameters[{name!r}]", str(value), "must be a single number")
    return value


def law_of(group: Group, p: Any, parameters: dict[str, Any]) -> Any:
    """``p Q(theta)``, shape (..., l), for tensors p, (..., k), and theta, a tensor by name."""
    from pytensor import tensor as pt

    names = list(group.mechanism.unknown)
    matrix = group.mechanism.polynomials(names)
    law = 0.0
    for powers, Q in zip(matrix.exponents, matrix.coefficients, strict=True):
        factors = [parameters[name] ** int(e) for name, e in zip(names, powers, strict=True) if e]
        term = pt.dot(p, np.ascontiguousarray(Q))
        for factor in factors:
            term = term * factor
        law = law + term
    return law
