"""The privacy that is asked for: a number, an epsilon of each category, or of each pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import EPSILON_RANGE, numbers, positive_epsilon
from ldpstats.arguments.labels import align, encode, sensitive_codes
from ldpstats.errors import InvalidArgument

__all__ = ["Limits", "privacy_limits", "sensitive_places"]

Array = npt.NDArray[Any]

_SHAPES = "a number, an epsilon of each category, or a square table of the epsilon of each pair"


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of ``ln Q[x, y] / Q[x', y]`` for every report y that reveals nobody.

    Parameters
    ----------
    pairs : array, shape (k, k)
        The limit of each pair (x, x'), closed by shortest paths, zero on the diagonal.
    kind : {"one", "own", "pairs"}
        All alike; those of a row alike; or neither.
    """

    pairs: Array
    kind: str

    @property
    def own(self) -> Array:
        """The largest limit of each category, shape (k,)."""
        return np.asarray(self.pairs.max(axis=1))

    @property
    def least(self) -> float:
        """The strictest limit of two categories."""
        return float(self.pairs[~np.eye(len(self.pairs), dtype=bool)].min())

    def excess(self, Q: Array, open_: Array) -> float:
        """By how much a channel exceeds its limits at most, in nats; negative where it is inside.

        A report that only one category makes is no breach if that category is open, (k,) of bool.
        """
        made = Q > 0.0
        alone = (made.sum(axis=0) == 1) & open_[made.argmax(axis=0)]
        Q = Q[:, ~alone & made.any(axis=0)]
        with np.errstate(divide="ignore"):
            logs = np.log(Q)
        worst = -np.inf
        for x in range(len(Q)):
            with np.errstate(invalid="ignore"):
                over = (logs[x] - logs).max(axis=1, initial=-np.inf) - self.pairs[x]
            over[x] = -np.inf
            worst = max(worst, float(np.nan_to_num(over, nan=np.inf).max()))
        return worst


def privacy_limits(epsilon: object, labels: pd.Index[Any], sensitive: object = None) -> Limits:
    """Check epsilon of `design_channel`; `sensitive` only for a mapping that names only those."""
    k = len(labels)
    if isinstance(epsilon, pd.DataFrame):
        return _of_pairs(_table(epsilon, labels))
    if isinstance(epsilon, Mapping):
        return _of_rows(_named(epsilon, labels, sensitive))
    if isinstance(epsilon, pd.Series | list | tuple) or (
        isinstance(epsilon, np.ndarray) and epsilon.ndim
    ):
        given = numbers("epsilon", align("epsilon", epsilon, labels), f"must be {_SHAPES}")
        if given.ndim == 2:
            return _of_pairs(given)
        if given.shape != (k,):
            shown = f"array of shape {given.shape}"
            raise InvalidArgument("epsilon", shown, f"must be {_SHAPES}: here {k} numbers")
        return _of_rows(given)
    value = epsilon.item() if isinstance(epsilon, np.ndarray) else epsilon
    return _of_rows(np.full(k, positive_epsilon("epsilon", value)))


def _of_rows(own: Array) -> Limits:
    own = np.array([positive_epsilon(f"epsilon[{x}]", v) for x, v in enumerate(own.tolist())])
    pairs = np.broadcast_to(own[:, None], (own.size, own.size)).copy()
    np.fill_diagonal(pairs, 0.0)
    return Limits(pairs, "one" if np.ptp(own) == 0.0 else "own")


def _named(epsilon: Mapping[Any, Any], labels: pd.Index[Any], sensitive: object) -> Array:
    """A mapping from label to epsilon; the largest for others than sensitive ones left out."""
    codes = encode("epsilon", list(epsilon), labels)[0]
    given = [positive_epsilon(f"epsilon[{n!r}]", v) for n, v in epsilon.items()]
    if np.unique(codes).size != codes.size or not given:
        raise InvalidArgument("epsilon", dict(epsilon), "must name each category once")
    out = np.full(len(labels), np.nan)
    out[codes] = given
    free = np.ones(len(labels), dtype=bool)
    free[sensitive_places(sensitive, labels)] = False
    out[np.isnan(out) & free] = max(given)
    if np.isnan(out).any():
        lacking = labels[int(np.argmax(np.isnan(out)))]
        raise InvalidArgument("epsilon", dict(epsilon), f"lacks the category {lacking!r}")
    return out


def sensitive_places(sensitive: object, labels: pd.Index[Any]) -> Array:
    """Codes of the categories to protect: all of them where none are named."""
    if sensitive is None:
        return np.arange(len(labels))
    codes = sensitive_codes(sensitive, labels)
    if not codes.size:
        raise InvalidArgument(
            "sensitive", sensitive, "must name a category: with none the answers need no mechanism"
        )
    return codes


def _table(epsilon: pd.DataFrame, labels: pd.Index[Any]) -> Array:
    rows = [align("epsilon", epsilon.iloc[:, i], labels) for i in range(epsilon.shape[1])]
    if len(rows) != len(labels):
        raise InvalidArgument("epsilon", f"table of shape {epsilon.shape}", f"must be {_SHAPES}")
    places = encode("epsilon", list(epsilon.columns), labels)[0]
    if np.unique(places).size != places.size:
        raise InvalidArgument("epsilon", list(epsilon.columns), "must name each category once")
    return numbers("epsilon", np.array(rows)[np.argsort(places)].T, f"must be {_SHAPES}")


def _of_pairs(given: Array) -> Limits:
    """Close a table of limits by shortest paths, and check it."""
    low, high = EPSILON_RANGE
    k = len(given)
    if given.shape != (k, k) or k < 2:
        raise InvalidArgument("epsilon", f"array of shape {given.shape}", f"must be {_SHAPES}")
    off = ~np.eye(k, dtype=bool)
    if np.isnan(given).any() or (given < 0.0).any():
        raise InvalidArgument("epsilon", given.tolist(), "must hold limits of at least 0, in nats")
    if np.diag(given).any():
        raise InvalidArgument("epsilon", np.diag(given).tolist(), "must be 0 on the diagonal")
    pairs = given.copy()
    for via in range(k):
        pairs = np.minimum(pairs, pairs[:, [via]] + pairs[via])
    np.fill_diagonal(pairs, 0.0)
    if not (pairs[off] <= high).all():
        remedy = f"must limit every pair, by itself or through others, to at most {high:g}"
        raise InvalidArgument("epsilon", given.tolist(), remedy)
    if ((pairs + pairs.T)[off] < low).any():
        x, z = np.argwhere(((pairs + pairs.T) < low) & off)[0]
        remedy = f"makes the categories {x} and {z} the same: allow them at least {low:g}"
        raise InvalidArgument("epsilon", given.tolist(), remedy)
    rows = np.where(off, pairs, -np.inf).max(axis=1)
    alike = (np.where(off, pairs, rows[:, None]) == rows[:, None]).all() and (rows > 0.0).all()
    kind = "pairs" if not alike else "one" if np.ptp(rows) == 0.0 else "own"
    return Limits(pairs, kind)
