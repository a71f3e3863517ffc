"""What was reported in a regression, as cells or as decoded answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.models.regression.arrays import has_listed_reports
from ldpstats.problems.regression.indicators import stacked_indicators

__all__ = ["ReportTable"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_MOST_CHANNELS = 3  # whose reports have cells of their own


class ReportTable:
    """What was reported, as cells, or as decoded answers where reports have too many values.

    Attributes
    ----------
    is_counted : bool
        Whether there are cells.
    codes : array of int64, shape (u,)
        The cell of the report of each distinct row.
    phi : array, shape (u, k), or None
        Decoded answers of each distinct row.
    channels : list of array, each (k, l)
    at : array of int64, shape (u,)
        The channel of each distinct row.
    """

    def __init__(self, model: Any) -> None:
        data, whole = model.data, model.assembled
        u = whole.likelihood.n
        self.first = np.full(u, data.n, dtype=np.int64)
        self.first[whole.place[::-1]] = np.arange(data.n - 1, -1, -1)
        self.at = np.zeros(u, dtype=np.int64)
        self.phi: Array | None = None
        self.codes = self.at
        assert data.categories is not None
        k = len(data.categories)
        if not data.is_private:
            self.channels, self.codes = [np.eye(k)], np.asarray(data.response)[self.first]
            return
        listed = all(
            has_listed_reports(group.mechanism) and group.mechanism.n_outputs <= 2 * k
            for group in data.response
        )
        if listed and len(data.response) <= _MOST_CHANNELS:
            self.channels, codes = [], []
            for group in data.response:
                Q = np.asarray(group.mechanism.channel().matrix(), dtype=np.float64)
                there = Q.any(axis=0)
                self.channels.append(Q[:, there])
                codes.append((np.cumsum(there) - 1)[np.asarray(group.y)])
            sizes = [len(group) for group in data.response]
            self.codes = np.concatenate(codes)[self.first]
            self.at = np.repeat(np.arange(len(sizes)), sizes)[self.first]
            return
        candidates = data.candidates.get(data.response_name)
        self.phi = stacked_indicators(data.response, whole.weights, candidates)[0][self.first]
        self.channels = [np.eye(k)]

    @property
    def is_counted(self) -> bool:
        return self.phi is None

    def seen(self, rows: Codes, channel: int) -> Array:
        """What was reported in some rows: indicators of cells, or decoded answers."""
        if self.phi is not None:
            return np.asarray(self.phi[rows])
        return np.eye(self.channels[channel].shape[1])[self.codes[rows]]
