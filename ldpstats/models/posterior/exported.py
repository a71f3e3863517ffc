"""Posterior draws as InferenceData of ArviZ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.models.posterior.packages import package
from ldpstats.models.posterior.ranges import PROBABILITY

if TYPE_CHECKING:
    from ldpstats.models.posterior.record import Origin, Run

__all__ = ["inference_data"]

_TAKEN = ("chain", "draw", "p", "coefficients", "category", "coefficient", "cell")

Array = npt.NDArray[Any]


def inference_data(
    samples: Array,
    index: pd.Index[Any],
    simplex: Array,
    prior_draws: Array | None,
    origin: Origin,
    run: Run,
) -> Any:
    """Draws, their prior and how they were made; see `PosteriorResults.to_arviz`."""
    arviz = package("arviz", "to_arviz()")
    parts = _parts(index, simplex, origin)
    groups = {"posterior": samples}
    if prior_draws is not None and prior_draws.shape[-1] == samples.shape[-1]:
        groups["prior"] = prior_draws[None]
    coords = {dim: labels for part in parts for dim, labels in part.coords.items()}
    dims = {part.name: list(part.coords) for part in parts}
    data: dict[str, Any] = {
        group: {part.name: part.values(values) for part in parts}
        for group, values in groups.items()
    }
    data["sample_stats"] = {"step_size": np.full(samples.shape[:2], run.step_size)}
    data["observed_data"] = {"nobs": np.array(origin.nobs), "n_missing": np.array(origin.n_missing)}
    found = arviz.from_dict(**data, coords=coords, dims=dims)
    found.posterior.attrs |= {
        "inference_library": "ldpstats",
        "mechanism": "; ".join(origin.sources),
        "prior": origin.prior,
    }
    found.sample_stats.attrs |= {
        "engine": run.engine,
        "acceptance_rate": run.accepted,
        "diverging": run.divergences,
        "warmup": run.warmup,
    }
    return found


class _Part:
    """Parameters that make one variable: their places, and their labels by dimension."""

    def __init__(self, name: str, places: Array, coords: dict[str, list[Any]]) -> None:
        self.name, self.places, self.coords = name, places, coords

    def values(self, draws: Array) -> Array:
        """Their draws, shape (c, n, ...), in the order of the labels."""
        shape = tuple(len(labels) for labels in self.coords.values())
        return draws[..., self.places].reshape(*draws.shape[:2], *shape)


def _parts(index: pd.Index[Any], simplex: Array, origin: Origin) -> list[_Part]:
    """Frequencies and coefficients are a variable each; a probability by itself is its own."""
    parts = []
    for name, chosen in (("p", simplex >= 0), ("coefficients", simplex < PROBABILITY)):
        places = np.flatnonzero(chosen)
        if places.size:
            parts.append(_part(name, places, index[places]))
    for i in np.flatnonzero(simplex == PROBABILITY).tolist():
        parts.append(_Part(_free(str(index[i])), np.array([i]), {}))
    return parts


def _free(name: str) -> str:
    """A name that no variable or dimension of ours has."""
    return f"{name}_" if name in _TAKEN else name


def _part(name: str, places: Array, index: pd.Index[Any]) -> _Part:
    """One variable of these labels: by the variables of a whole table, else by one list."""
    if not isinstance(index, pd.MultiIndex):
        dim = _free(str(index.name)) if index.name else "category" if name == "p" else "coefficient"
        return _Part(name, places, {dim: index.tolist()})
    levels = [index.unique(i) for i in range(index.nlevels)]
    whole = pd.MultiIndex.from_product(levels)
    order = index.get_indexer(whole)
    if len(whole) != len(index) or (order < 0).any():
        return _Part(name, places, {"cell": [":".join(map(str, labels)) for labels in index]})
    dims = [_free(str(own)) if own else f"level_{i}" for i, own in enumerate(index.names)]
    dims = [dim if dims.count(dim) == 1 else f"{dim}_{i}" for i, dim in enumerate(dims)]
    coords = {dim: level.tolist() for dim, level in zip(dims, levels, strict=True)}
    return _Part(name, places[order], coords)
