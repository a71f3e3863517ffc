"""Privatised reports as observed variables of a PyMC model."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.posterior.packages import package
from ldpstats.models.posterior.pymc.groups import Group, collected, common_labels
from ldpstats.models.posterior.pymc.parameters import checked_parameters, law_of
from ldpstats.models.posterior.pymc.products import mixed, mixed_by_row

__all__ = ["observed"]

Array = npt.NDArray[Any]

_NEED = "ldpstats.pymc.observe"
_OUTSIDE = f"{_NEED} is called inside a model: with pymc.Model(): ..."
_FREQUENCIES = "must be a tensor or numbers: {} frequencies, or a row of them for each respondent"
_ORDER = (
    "has a row for each respondent, so that their order counts: pass Reports, which keep it, and "
    "not Counts"
)


def observed(
    name: str, p: Any, reports: Any, candidates: Any = None, parameters: Any = None
) -> Any:
    """Add the likelihood of reports to the model that is being written: see `pymc.observe`."""
    package("pymc", _NEED)
    groups = collected(reports, candidates)
    tensor = _frequencies(p, common_labels(groups))
    values = checked_parameters(parameters, groups)
    several = isinstance(reports, list | tuple)
    names = _names(name, groups, several)
    parts = [tensor] * len(groups) if tensor.ndim == 1 else _parts(tensor, groups)
    made = [_variable(*one, values) for one in zip(names, parts, groups, strict=True)]
    return tuple(made) if several else made[0]


def _variable(name: str, p: Any, group: Group, parameters: dict[str, Any]) -> Any:
    """The observed variable of a group of reports; p is of shape (k,) or (n, k)."""
    if group.mechanism.unknown:
        law = law_of(group, p, parameters)
        if p.ndim == 1:
            return _counted(name, law, group)
        codes = group.shown(group.each[0])
        return package("pymc", _NEED).Categorical(name, p=law, observed=codes)
    if p.ndim == 2 or not group.is_listed:
        return _each(name, p, group)
    likelihood = group.listed()
    law, scale = mixed(likelihood.W, p), np.exp(likelihood.W.log_scale)
    return _counted(name, law if np.all(scale == 1.0) else law * scale, group)


def _names(name: object, groups: list[Group], several: bool) -> list[str]:
    """Names of the variables in the model, none of which it has already."""
    if not isinstance(name, str) or not name:
        raise InvalidArgument("name", name, "must be text: the name of the reports in the model")
    try:
        model = package("pymc", _NEED).modelcontext(None)
    except TypeError:
        raise NotAvailable(_OUTSIDE) from None
    names = [f"{name}_{i}" for i in range(len(groups))] if several else [name]
    for one in names:
        own = model.name_for(one)
        if own in model.named_vars:
            raise InvalidArgument("name", name, f"the model has a variable {one!r} already")
        if taken := {f"{own}_cohort", f"{own}_report"} & set(model.coords):
            raise InvalidArgument(
                "name", name, f"the model has a dimension {taken.pop()!r} already"
            )
    return names


def _frequencies(p: Any, labels: pd.Index[Any]) -> Any:
    """p as a tensor of shape (k,) or (n, k)."""
    package("pytensor", _NEED)
    from pytensor import tensor as pt
    from pytensor.graph.basic import Variable

    remedy = _FREQUENCIES.format(len(labels))
    if isinstance(p, Variable):
        tensor = p
        if not str(getattr(p, "dtype", "")).startswith(("float", "int")):
            raise InvalidArgument("p", str(p), remedy)
    else:
        tensor = pt.as_tensor_variable(_numbers(p, labels, remedy))
    if tensor.ndim not in (1, 2) or tensor.type.shape[-1] not in (None, len(labels)):
        raise InvalidArgument("p", f"tensor of shape {tensor.type.shape}", remedy)
    return _of_shape(pt.cast(tensor, "float64"), -1, len(labels))


def _numbers(p: Any, labels: pd.Index[Any], remedy: str) -> Array:
    """Frequencies that are numbers, matched by label where they have labels."""
    if isinstance(p, pd.DataFrame):  # a column for each category
        places = align("p", pd.Series(np.arange(p.shape[1]), p.columns), labels)
        p = p.to_numpy()[:, places]
    known = numbers("p", align("p", p, labels), remedy)
    if not np.all(known >= 0.0):  # nor nan
        raise InvalidArgument("p", known, f"{remedy}, none below zero")
    if known.ndim and known.shape[-1] == len(labels):
        _check_sums(known)
    return known


def _check_sums(law: Array) -> Array:
    """The sums of probabilities, which are one."""
    total = law.sum(axis=-1, keepdims=True)
    away = np.abs(total - 1.0)
    if not np.all(away < 1e-6):
        raise InvalidArgument("p", float(total.flat[int(np.argmax(away))]), "must sum to one")
    return np.asarray(total)


def _of_shape(tensor: Any, axis: int, size: int) -> Any:
    """The tensor, which is refused when it is computed if the length of an axis is another."""
    from pytensor import tensor as pt

    shape: list[int | None] = [None] * tensor.ndim
    shape[axis] = size
    return pt.specify_shape(tensor, shape)


def _parts(tensor: Any, groups: list[Group]) -> list[Any]:
    """The rows of p that belong to each group."""
    if not all(hasattr(group.data, "ids") for group in groups):  # Reports, not Counts
        raise InvalidArgument("p", f"tensor of shape {tensor.type.shape}", _ORDER)
    ends = np.cumsum([0] + [group.size for group in groups])
    if tensor.type.shape[0] not in (None, ends[-1]):
        missing = sum(group.data.n_missing for group in groups)
        remedy = f"must have a row for each of the {ends[-1]} reports"
        remedy += f", none for the {missing} who gave no answer" if missing else ""
        raise InvalidArgument("p", f"tensor of shape {tensor.type.shape}", remedy)
    whole = _of_shape(tensor, 0, int(ends[-1]))
    return [whole[a:b] for a, b in pairwise(ends)]


def _counted(name: str, law: Any, group: Group) -> Any:
    """Counts of all possible reports, whose probabilities are the tensor `law`."""
    from pytensor import tensor as pt

    pymc = package("pymc", _NEED)
    counts = group.counts()
    totals = counts.sum(axis=-1)
    model = pymc.modelcontext(None)
    dims = [f"{model.name_for(name)}_{what}" for what in ("cohort", "report")][2 - counts.ndim :]
    labels = [list(range(len(counts))), group.outputs()][2 - counts.ndim :]
    model.add_coords(dict(zip(dims, labels, strict=True)))

    def logp(value: Any, law: Any) -> Any:
        seen = pt.gt(value, 0)  # 0 log 0 = 0
        terms = pt.switch(seen, value * pt.log(pt.switch(seen, law, 1.0)), 0.0)
        return terms.sum(axis=tuple(range(-counts.ndim, 0)))

    def random(law: Array, rng: Any = None, size: Any = None) -> Array:
        return np.asarray(rng.multinomial(totals, _law(law), _whole(size, law, counts.ndim)))

    core = "(c,l)" if counts.ndim == 2 else "(l)"
    how = {"logp": logp, "random": random, "signature": f"{core}->{core}", "dtype": "int64"}
    return pymc.CustomDist(name, law.reshape(group.shape), **how, dims=dims, observed=counts)


def _law(law: Array) -> Array:
    """Probabilities that sum to one to the last digit, as numpy wants them."""
    return np.asarray(law / _check_sums(law))


def _whole(size: Any, law: Array, ndim: int) -> Any:
    """The shape of numpy's draws: all that is in front of the reports of one law."""
    batch = None if size is None or not len(tuple(size)) else tuple(size)
    return batch if batch is None or ndim == 1 else (*batch, law.shape[-2])


def _each(name: str, p: Any, group: Group) -> Any:
    """Reports one by one, with the log-likelihood of each; p is of shape (k,) or (n, k)."""
    pymc = package("pymc", _NEED)
    values = group.shown(group.each[0])
    bits = (np.zeros(values.shape[1]),) if values.ndim == 2 else ()  # they say how many
    signature = "(k),(b)->(b)" if bits else "(k)->()"
    how = {"logp": _terms(group, values), "random": _reports(group), "signature": signature}
    how |= {"dtype": str(values.dtype), "shape": values.shape}
    return pymc.CustomDist(name, p, *bits, **how, observed=values)


def _terms(group: Group, values: Array) -> Callable[..., Any]:
    """The log-likelihood of each report, shape (n,), as a function of what is observed, and p."""
    from pytensor import tensor as pt
    from pytensor.graph.basic import Constant

    likelihood = group.likelihood()
    W = likelihood.W

    def logp(value: Any, p: Any, *width: Any) -> Any:
        if not (isinstance(value, Constant) and np.array_equal(value.data, values)):
            raise NotAvailable(f"{_NEED}: the log-likelihood is that of the reports observed")
        m = mixed(W, p) if p.ndim == 1 else mixed_by_row(W, p)
        return pt.log(m) + W.log_scale

    return logp


def _reports(group: Group) -> Callable[..., Array]:
    """Draw the reports of all respondents anew, given their p."""
    sampler, n = group.sampler(), group.size

    def random(p: Array, *width: Any, rng: Any = None, size: Any = None) -> Array:
        law = np.cumsum(np.broadcast_to(_law(p), (n, p.shape[-1])), axis=1)
        codes = (rng.random((n, 1)) * law[:, -1:] >= law).sum(axis=1)
        return sampler(codes, rng)

    return random
