"""Two waves of reports of the same respondents, as tests make them."""

from typing import Any

import numpy as np
import numpy.typing as npt

import ldpstats as ldp

Array = npt.NDArray[Any]


def observed(k: int) -> ldp.Observed:
    """A variable without noise."""
    return ldp.Observed(k)


def of_table(table: npt.ArrayLike, *mechanisms: Any) -> list[ldp.Reports]:
    """Reports of respondents, one by one, that have this table of label reports."""
    counts = np.asarray(table)
    both = mechanisms if len(mechanisms) > 1 else mechanisms * counts.ndim
    axes = np.indices(counts.shape).reshape(counts.ndim, -1)
    return [
        ldp.Reports(np.repeat(axis, counts.reshape(-1)), mechanism)
        for axis, mechanism in zip(axes, both, strict=True)
    ]


def reports_law(P: Array, *mechanisms: Any) -> Array:
    """The law of pairs of label reports if the true answers have the law P."""
    first, second = (mechanism.channel().matrix() for mechanism in mechanisms)
    return np.asarray(first.T @ P @ second)
