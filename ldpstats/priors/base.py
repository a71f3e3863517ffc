"""Priors of frequencies: labels that a caller gives, and the arrays that a sampler needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument

__all__ = ["LogitLaw", "SimplexPrior", "check_draw", "softmax_log"]

Array = npt.NDArray[Any]

_MOST_NUMBERS = 100_000_000


class LogitLaw(ABC):
    """A law of p on the simplex, seen by logits: ``p = softmax(eta)``, eta of shape (..., k).

    Adding a number to every logit changes nothing, and gradients sum to zero. The density is that
    of log ratios ``eta_j - eta_r``, whichever category r is the reference: the Jacobian ``prod p``
    of the map from p is included.
    """

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of categories."""

    @abstractmethod
    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        """Log density, (c,), up to a constant, and gradient in eta, (c, k), at log p, (c, k)."""

    @abstractmethod
    def curvature(self, logp: Array) -> Array:
        """The negative Hessian in eta, shape (k, k), at log p of shape (k,)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draws of p, shape (size, k)."""

    @abstractmethod
    def start(self) -> Array:
        """log p, shape (k,), of a point where the density of log ratios is large."""


class SimplexPrior(ABC):
    """A prior of the frequencies of labelled categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> isinstance(ldp.priors.Dirichlet(1.0), ldp.priors.SimplexPrior)
    True
    """

    @abstractmethod
    def law(self, labels: pd.Index[Any]) -> LogitLaw:
        """The law over these categories in their order; a Series is matched by label."""


def softmax_log(eta: Array) -> Array:
    """log p, shape (..., k), of p = softmax(eta)."""
    shifted = eta - eta.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def check_draw(rng: object, draws: object, numbers: int) -> int:
    """How many draws of so many numbers, from a generator that is one."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidArgument("rng", rng, "pass a generator, np.random.default_rng(seed)")
    wanted = positive_integer("draws", draws)
    if wanted * numbers > _MOST_NUMBERS:
        remedy = f"of {numbers} numbers each are more than {_MOST_NUMBERS:,} in all: draw fewer"
        raise InvalidArgument("draws", wanted, remedy)
    return wanted
