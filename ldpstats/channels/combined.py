"""Channels made of others: of categories mapped first, of several reports, of cohorts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpstats.arguments.checks import distribution, listed
from ldpstats.channels.base import Channel
from ldpstats.channels.structured import Array, Dense, Uniformised
from ldpstats.errors import InvalidArgument
from ldpstats.problems.rows.base import DenseRows, Rows
from ldpstats.problems.rows.combined import StackedRows

__all__ = ["Kronecker", "Mapped", "Stacked"]


@dataclass(frozen=True, eq=False)
class Mapped(Channel):
    """A channel of a function of the category, such as a hash: ``Q[x, y] = base[codes[x], y]``.

    Parameters
    ----------
    base : Channel
    codes : array of int, shape (k,)
        The category of `base` that each category is mapped to.

    Examples
    --------
    >>> Mapped(Uniformised(2, 0.5, 0.25), np.array([0, 1, 0])).matrix()
    array([[0.75, 0.25],
           [0.25, 0.75],
           [0.75, 0.25]])
    """

    base: Channel
    codes: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.size, self.base.shape[1]

    def _matrix(self) -> Array:
        return self.base.matrix()[self.codes]

    def forward(self, p: Array) -> Array:
        mapped = np.bincount(self.codes, weights=p, minlength=self.base.shape[0])
        return self.base.forward(mapped)

    def rows(self, y: Any) -> Rows:
        rows = self.base.rows(y)
        return DenseRows(rows.dense()[:, self.codes], rows.log_scale)

    def epsilon(self) -> float:
        if np.unique(self.codes).size < 2:
            return 0.0
        # where all pairs of categories are alike, no matrix is needed
        return (
            self.base.epsilon()
            if isinstance(self.base, Uniformised) and np.ndim(self.base.b) == 0
            else Dense(self.matrix()).epsilon()
        )


@dataclass(frozen=True, eq=False)
class Kronecker(Channel):
    """Several variables, each through its own channel, independently given the true values.

    Categories and reports are tuples in row-major order (the last variable changes fastest).
    `rows` and `likelihood` take one array of reports per variable.

    Examples
    --------
    >>> joint = Kronecker([Uniformised(2, 0.5, 0.25), Uniformised(3, 0.4, 0.2)])
    >>> joint.shape
    (6, 6)
    >>> joint.likelihood((np.array([0]), np.array([2]))).round(3)   # 0.75 * 0.6 for (0, 2)
    array([[0.15, 0.15, 0.45, 0.05, 0.05, 0.15]])
    """

    channels: tuple[Channel, ...]

    def __init__(self, channels: Sequence[Channel]) -> None:
        object.__setattr__(self, "channels", _channels(channels))

    @property
    def shape(self) -> tuple[int, int]:
        k = l = 1  # noqa: E741
        for channel in self.channels:
            k, l = k * channel.shape[0], l * channel.shape[1]  # noqa: E741
        return k, l

    def _matrix(self) -> Array:
        Q: Array = np.ones((1, 1))
        for channel in self.channels:
            Q = np.kron(Q, channel.matrix())
        return Q

    def forward(self, p: Array) -> Array:
        law = np.reshape(p, [channel.shape[0] for channel in self.channels])
        for axis, channel in enumerate(self.channels):
            moved = np.moveaxis(law, axis, -1)
            law = np.moveaxis(np.apply_along_axis(channel.forward, -1, moved), -1, axis)
        return law.reshape(-1)

    def rows(self, y: Sequence[Any]) -> Rows:
        parts = [channel.rows(part) for channel, part in zip(self.channels, y, strict=True)]
        W = parts[0].dense()
        for part in parts[1:]:
            W = (W[:, :, None] * part.dense()[:, None, :]).reshape(W.shape[0], -1)
        return DenseRows(W, np.sum([part.log_scale for part in parts], axis=0))

    def epsilon(self) -> float:
        return sum(channel.epsilon() for channel in self.channels)


@dataclass(frozen=True, eq=False)
class Stacked(Channel):
    """A respondent is in group c with probability `shares[c]`, whatever her category; c is known.

    Groups are cohorts of one mechanism, or mechanisms over the same categories. Reports are
    numbered group by group; `rows` and `likelihood` take one array of reports per group.

    Examples
    --------
    >>> Stacked([Uniformised(2, 0.5, 0.25), Uniformised(2, 0.0, 0.5)]).matrix()
    array([[0.375, 0.125, 0.25 , 0.25 ],
           [0.125, 0.375, 0.25 , 0.25 ]])
    """

    channels: tuple[Channel, ...]
    shares: Array

    def __init__(self, channels: Sequence[Channel], shares: Array | None = None) -> None:
        groups = _channels(channels)
        if len({channel.shape[0] for channel in groups}) != 1:
            raise InvalidArgument(
                "channels",
                [channel.shape for channel in groups],
                "all groups need the same number of categories",
            )
        even = np.full(len(groups), 1.0 / len(groups))
        given = even if shares is None else distribution("shares", shares, len(groups))
        object.__setattr__(self, "channels", groups)
        object.__setattr__(self, "shares", given)

    @property
    def shape(self) -> tuple[int, int]:
        return self.channels[0].shape[0], sum(channel.shape[1] for channel in self.channels)

    def _matrix(self) -> Array:
        parts = zip(self.shares, self.channels, strict=True)
        return np.hstack([share * channel.matrix() for share, channel in parts])

    def forward(self, p: Array) -> Array:
        parts = zip(self.shares, self.channels, strict=True)
        return np.concatenate([share * channel.forward(p) for share, channel in parts])

    def rows(self, y: Sequence[Any]) -> Rows:
        return StackedRows(tuple(c.rows(part) for c, part in zip(self.channels, y, strict=True)))

    def likelihood(self, y: Sequence[Any]) -> Array:
        parts = zip(self.shares, self.channels, y, strict=True)
        return np.vstack([share * channel.likelihood(part) for share, channel, part in parts])

    def epsilon(self) -> float:
        # a group that is never drawn cannot leak
        drawn = zip(self.shares, self.channels, strict=True)
        return max(channel.epsilon() for share, channel in drawn if share > 0.0)


def _channels(given: object) -> tuple[Channel, ...]:
    """The channels of a list of them, one at least."""
    remedy = "must be a list of channels"
    found = listed("channels", given, remedy)
    if not found or not all(isinstance(channel, Channel) for channel in found):
        raise InvalidArgument("channels", given, remedy)
    return tuple(found)
