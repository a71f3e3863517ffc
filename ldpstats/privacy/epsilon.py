"""The joint distribution of the answers to several questions, as a caller passes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import distribution, numbers
from ldpstats.errors import InvalidArgument
from ldpstats.labels import align, preview

__all__ = ["answers_law"]


Array = npt.NDArray[Any]


def answers_law(p: Any, answers: list[pd.Index[Any]], names: list[Any]) -> Array:
    """The joint distribution, flat: the last question changes fastest.

    Parameters
    ----------
    p : array-like, Series or DataFrame
        A Series by combination is matched by label, and levels that have the names of the
        questions by name; so are the sides of a DataFrame, of two questions.
    answers : list of Index
        The answers to each question, in order.
    names : list
        Of the questions; None for one without a name.

    Raises
    ------
    InvalidArgument
        If p is no distribution over the combinations, or its levels are named as other questions.

    Examples
    --------
    >>> table = pd.DataFrame([[0.1, 0.2], [0.3, 0.4]], ["no", "yes"], ["no", "yes"])
    >>> named = table.rename_axis(index="late", columns="ill")
    >>> answers_law(named, [table.index, table.index], ["ill", "late"]).tolist()
    [0.1, 0.3, 0.2, 0.4]
    """
    shape = tuple(len(labels) for labels in answers)
    size = int(np.prod(shape))
    if len(shape) == 1:
        return distribution("p", align("p", p, answers[0]), size)
    if isinstance(p, pd.DataFrame):
        if len(shape) != 2:
            raise InvalidArgument("p", p, "must be a Series with a MultiIndex, or an array")
        if isinstance(p.index, pd.MultiIndex) or isinstance(p.columns, pd.MultiIndex):
            raise InvalidArgument("p", p, "must have the answers to one question on each side")
        index = pd.MultiIndex.from_product([p.index, p.columns])
        p = pd.Series(p.to_numpy().ravel(), index)
    if isinstance(p, pd.Series):
        p = _aligned(p, answers, names)
    remedy = f"must be a joint distribution of shape {shape}: an entry for each combination"
    array = numbers("p", p, remedy)
    if array.shape != shape and array.shape != (size,):
        raise InvalidArgument("p", f"array of shape {array.shape}", remedy)
    return distribution("p", array.reshape(-1), size)


def _aligned(p: Any, answers: list[pd.Index[Any]], names: list[Any]) -> Array:
    """A Series by combination, in the order of the answers."""
    levels: list[Any] = [labels.astype(object) for labels in answers]
    every = pd.MultiIndex.from_product(levels)
    index = p.index
    remedy = f"must be indexed by all combinations of answers, such as {preview(every)}"
    if (
        not isinstance(index, pd.MultiIndex)
        or index.nlevels != len(answers)
        or len(p) != len(every)
    ):
        raise InvalidArgument("p", list(index), remedy)
    index = _by_name(index, names)
    own: list[Any] = [level.astype(object) for level in index.levels]
    places = index.set_levels(own).get_indexer(every)
    if (places < 0).any() or index.has_duplicates:
        raise InvalidArgument("p", list(index), remedy)
    return np.asarray(p.to_numpy()[places])


def _by_name(index: pd.MultiIndex, names: list[Any]) -> pd.MultiIndex:
    """The levels in the order of the questions, where they have their names."""
    own = list(index.names)
    if all(name is None or name not in names for name in own):
        return index
    if len(set(names)) == len(names) and set(own) == set(names):
        return index.reorder_levels([own.index(name) for name in names])
    if any(name in names and name != names[i] for i, name in enumerate(own) if name is not None):
        remedy = f"must be those of the questions, {', '.join(map(str, names))}, or none"
        raise InvalidArgument("names of the levels of p", own, remedy)
    return index
