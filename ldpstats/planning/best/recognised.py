"""Designs that have a name: k-RR, Warner's question, subset selection, uRR."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.binary import Warner
from ldpstats.mechanisms.blocks.subset import SubsetSelection
from ldpstats.mechanisms.enumerated import CustomMechanism
from ldpstats.mechanisms.krr import KRR
from ldpstats.mechanisms.sensitive.urr import URR
from ldpstats.planning.best.limits import Limits

__all__ = ["as_mechanism", "of_subsets"]

Array = npt.NDArray[Any]

_ALIKE = 1e-7  # by which probabilities may differ from those of a named mechanism
_MATRIX = 1 << 21  # entries of a channel that is compared


def as_mechanism(
    Q: Array, labels: pd.Index[Any], limits: Limits, open_: Array
) -> tuple[Mechanism, str]:
    """A channel as the named mechanism that it is, or a custom one; and its name in words."""
    for mechanism, name in _candidates(Q, labels, limits, open_):
        R = mechanism.channel().matrix()
        if _same_reports(Q, R):
            return mechanism, name
    target = _warner_target(Q) if limits.kind == "one" and not open_.any() else None
    outputs = pd.RangeIndex(Q.shape[1]) if target is None else ("no", "yes")
    if target is not None:
        Q = Q[:, np.argsort(Q[target])]
    sensitive = labels[~open_] if open_.any() else None
    made = CustomMechanism(Q, labels, outputs, sensitive)
    return made, "" if target is None else f"Warner's question about {labels[target]!r}"


def _candidates(Q: Array, labels: pd.Index[Any], limits: Limits, open_: Array) -> Any:
    k, l = Q.shape  # noqa: E741
    if open_.any():
        if l == k:
            if limits.kind == "one":
                yield URR(labels, labels[~open_], limits.least), "uRR"
            else:
                own = limits.own[~open_].tolist()
                levels = dict(zip(labels[~open_].tolist(), own, strict=True))
                yield URR(labels, epsilon=levels), "uRR"
        return
    if limits.kind == "own" and l == k:
        levels = dict(zip(labels.tolist(), limits.own.tolist(), strict=True))
        yield URR(labels, epsilon=levels), "uRR with an epsilon of each category"
    if limits.kind != "one":
        return
    epsilon = limits.least
    if k == 2 and l == 2:
        yield Warner(epsilon=epsilon, categories=labels), "Warner"
    elif l == k:
        yield KRR(labels, epsilon), "k-RR"
    for size in range(1, k) if k > 2 else ():
        subsets = SubsetSelection(labels, epsilon, size)
        if subsets.channel().shape[1] == l and k * l <= _MATRIX:
            yield subsets, f"subset selection of size {size}"


def of_subsets(labels: pd.Index[Any], epsilon: float, size: int) -> tuple[Mechanism, str]:
    """The mechanism whose reports are all sets of one size."""
    if len(labels) == 2:
        return Warner(epsilon=epsilon, categories=labels), "Warner"
    if size == 1:
        return KRR(labels, epsilon), "k-RR"
    return SubsetSelection(labels, epsilon, size), f"subset selection of size {size}"


def _same_reports(Q: Array, R: Array) -> bool:
    """Whether two channels are equal, up to the order of their reports."""
    if Q.shape != R.shape:
        return False
    Q, R = (M[:, np.lexsort(np.rint(M / M.max() * 1e5))] for M in (Q, R))
    return bool(np.abs(Q - R).max() <= _ALIKE * R.max())


def _warner_target(Q: Array) -> int | None:
    """The category that two reports ask about: all others are answered alike."""
    if Q.shape[1] != 2 or len(Q) < 3:
        return None
    column = Q[:, 0]
    for x in range(len(Q)):
        others = np.delete(column, x)
        if np.ptp(others) <= _ALIKE and abs(column[x] - others[0]) > _ALIKE:
            return x
    return None
