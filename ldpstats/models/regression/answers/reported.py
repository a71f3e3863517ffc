"""What was reported in a regression, as cells or as decoded answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.models.regression.arrays import has_listed_reports
from ldpstats.problems.regression.indicators import stacked_indicators

__all__ = ["Devices", "ReportTable"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Devices = tuple[Sequence[Array], Sequence[Array]]

_MOST_CHANNELS = 3  # whose reports have cells of their own


class ReportTable:
    """What was reported, as cells, or as decoded answers where reports have too many values.

    Parameters
    ----------
    law : FittedLaw, or a model
        With `data` and `assembled`.
    devices : pair of sequences of array, each (k, l) and (m, k, l), optional
        Channels of the groups where devices have unknown parameters, and derivatives by these.

    Attributes
    ----------
    is_counted : bool
        Whether there are cells.
    codes : array of int64, shape (u,)
        The cell of the report of each distinct row.
    phi : array, shape (u, k), or None
        Decoded answers of each distinct row.
    channels : list of array, each (k, l)
    slopes : list of array, each (m, k, l)
        Their derivatives by the unknown parameters of devices.
    at : array of int64, shape (u,)
        The channel of each distinct row.
    """

    def __init__(self, law: Any, devices: Devices | None = None) -> None:
        data, whole = law.data, law.assembled
        u = whole.likelihood.n
        self.first = np.full(u, data.n, dtype=np.int64)
        self.first[whole.place[::-1]] = np.arange(data.n - 1, -1, -1)
        self.at = np.zeros(u, dtype=np.int64)
        self.phi: Array | None = None
        self.codes = self.at
        assert data.categories is not None
        k = len(data.categories)
        self.slopes = [np.zeros((0, k, k))]
        if not data.is_private:
            self.channels, self.codes = [np.eye(k)], np.asarray(data.response)[self.first]
            return
        listed = all(
            has_listed_reports(group.mechanism) and group.mechanism.n_outputs <= 2 * k
            for group in data.response
        )
        if listed and len(data.response) <= _MOST_CHANNELS:
            self.channels, self.slopes, codes = [], [], []
            for g, group in enumerate(data.response):
                Q = group.mechanism.channel().matrix() if devices is None else devices[0][g]
                Q = np.asarray(Q, dtype=np.float64)
                there = Q.any(axis=0) | (devices is not None)
                self.channels.append(Q[:, there])
                by_devices = np.zeros((0, *Q.shape)) if devices is None else devices[1][g]
                self.slopes.append(by_devices[:, :, there])
                codes.append((np.cumsum(there) - 1)[np.asarray(group.y)])
            sizes = [len(group) for group in data.response]
            self.codes = np.concatenate(codes)[self.first]
            self.at = np.repeat(np.arange(len(sizes)), sizes)[self.first]
            return
        if devices is not None:
            raise NotAvailable(
                "the reports of devices with unknown parameters have too many values, or there are "
                f"more than {_MOST_CHANNELS} groups, so that they cannot be counted in cells"
            )
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
