"""Parts of results that a document restores: their types, and shapes that go together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.errors import InvalidArgument
from ldpstats.inference.designs.totals import LinearTotals, ReplicatedTotals, Totals
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.estimates import Uncertain

__all__ = ["check_estimates", "check_shapes", "plain_from_dict", "plain_to_dict"]

_MOST = 1e150  # squares of it do not overflow; weights are 1e50 at most
_PLAIN: dict[Any, Any] = {"str": str, "int": int, "bool": bool, "float": (int, float, str)}
_LISTS: dict[Any, type] = {"tuple[str, ...]": str, "tuple[int, ...]": int}


def plain_to_dict(part: Any) -> dict[str, Any]:
    """The fields of a record that are text, numbers, truth values, or tuples of them."""
    found: dict[str, Any] = {}
    for item in fields(part):
        value = getattr(part, item.name)
        if item.type in _LISTS:
            found[item.name] = list(value)
        elif item.type in _PLAIN:
            found[item.name] = number_to_json(value) if item.type == "float" else value
    return found


def plain_from_dict(kind: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """Inverse of `plain_to_dict`, the arguments of a record; refuse fields of other types."""
    found: dict[str, Any] = {}
    for item in fields(kind):
        if item.type in _LISTS:
            entries = [_typed(item.name, one, _LISTS[item.type]) for one in document[item.name]]
            found[item.name] = tuple(entries)
        elif item.type in _PLAIN:
            value = _typed(item.name, document[item.name], _PLAIN[item.type])
            found[item.name] = number_from_json(value) if item.type == "float" else value
    return found


def _typed(name: str, value: Any, kind: Any) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidArgument("document", value, f"is damaged: it cannot be {name}")
    return value


def check_shapes(shapes: Mapping[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Refuse arrays of other shapes than results of this size have, each with its name."""
    for name, (value, shape) in shapes.items():
        if value.shape != shape:
            remedy = f"is damaged: {name} have the shape {value.shape}, not {shape}"
            raise InvalidArgument("document", name, remedy)


def check_estimates(fit: Fit, totals: Mapping[str, Totals], q: int, m: int, sources: int) -> None:
    """Refuse estimates that are not of q shares, m totals and some sources of reports."""
    if len(fit.sources) != sources or len(fit.source_nobs) not in (0, sources):
        remedy = f"is damaged: reports are of {sources} kinds"
        raise InvalidArgument("document", list(fit.sources), remedy)
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {}
    for name, found in totals.items():
        shapes[f"{name}.estimate"] = found.estimate, (m,)
        shapes[f"{name}.noise"] = found.noise, (m, m)
        if isinstance(found, LinearTotals):
            shapes[f"{name}.covariance"] = found.covariance, (m, m)
        elif isinstance(found, ReplicatedTotals):
            shapes[f"{name}.replicates"] = found.replicates, (len(found.scales), m)
            shapes[f"{name}.scales"] = found.scales, (found.scales.size,)
            shapes[f"{name}.missed"] = found.missed, (m, m)
    for name, one in (("fitted", fit.fitted), ("linear", fit.linear)):
        shapes[f"{name}.estimate"] = one.estimate, (q,)
        _check_covariance(name, one, q)
    check_shapes(shapes)
    for name, (value, _) in shapes.items():
        if not np.all(np.abs(value) <= _MOST):  # also where it is nan
            raise InvalidArgument("document", name, "is damaged: it has numbers that cannot be")


def _check_covariance(name: str, one: Uncertain, q: int) -> None:
    other = one.at is not None or one.variances is not None
    if other or (one.covariance is not None and one.covariance.size != q):
        raise InvalidArgument("document", name, f"is damaged: its covariance is not of {q} shares")
