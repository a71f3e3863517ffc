"""Joint tables with rare or empty cells, and surveys of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import ldpstats as ldp

Array = npt.NDArray[Any]
Results = Any


def with_zeros(k1: int, k2: int) -> Array:
    """A table with an empty row and two more empty cells."""
    P = 1.0 / np.arange(1.0, k1 * k2 + 1.0).reshape(k1, k2)
    P[-1], P[0, -1], P[1, 0] = 0.0, 0.0, 0.0
    return np.asarray(P / P.sum())


def surveys(
    mechanisms: Sequence[Any], P: Array, n: int, R: int, seed: int
) -> Iterator[ldp.AssociationModel]:
    rng = np.random.default_rng(seed)
    for _ in range(R):
        cells = np.unravel_index(rng.choice(P.size, size=n, p=P.ravel()), P.shape)
        pairs = zip(mechanisms, cells, strict=True)
        yield ldp.AssociationModel(*(m.privatize(codes, rng) for m, codes in pairs))


def fitted(mechanisms: Sequence[Any], P: Array, n: int, seed: int, **how: Any) -> Results:
    (model,) = surveys(mechanisms, P, n, 1, seed)
    return model.fit(**how)
