"""What a channel really guarantees: epsilon read off Q, and off the integers a sampler uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels import Channel, Dense
from ldpstats.checks import positive_epsilon
from ldpstats.errors import InvalidArgument

__all__ = ["Audit", "compose", "epsilon", "split_budget"]


@dataclass(frozen=True)
class Audit:
    """Three values of epsilon, in nats, that must agree.

    Parameters
    ----------
    mechanism : str
        The mechanism, in words.
    declared : float
        What the mechanism claims.
    channel : float
        Largest log ratio of two entries in a column of Q, in double precision.
    sampler : float
        The same of the law that the sampler's 64-bit integer thresholds realise exactly. It is
        rounded towards more privacy where the mechanism has a threshold, so it does not exceed
        the declared value by more than double rounding.
    """

    mechanism: str
    declared: float
    channel: float
    sampler: float

    @property
    def agrees(self) -> bool:
        """Whether Q (to 1e-12) and the sampler (to 1e-9) leak no more than declared."""
        size = max(1.0, self.declared)
        channel, sampler = self.channel - self.declared, self.sampler - self.declared
        return bool(np.isinf(self.declared)) or (channel <= 1e-12 * size and sampler <= 1e-9 * size)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, with None for an infinite epsilon."""
        document = asdict(self) | {"agrees": self.agrees}
        return {k: None if isinstance(v, float) and np.isinf(v) else v for k, v in document.items()}

    def __str__(self) -> str:
        verdict = "agree" if self.agrees else "DO NOT AGREE"
        return (
            f"Privacy audit of {self.mechanism}\n"
            f"  epsilon declared             {self.declared:.12g}\n"
            f"  epsilon of the channel Q     {self.channel:.12g}\n"
            f"  epsilon of the sampler       {self.sampler:.12g}\n"
            f"  the three {verdict}"
        )


def epsilon(Q: Channel | npt.ArrayLike) -> float:
    """Smallest epsilon for which a channel is epsilon-locally differentially private.

    Parameters
    ----------
    Q : Channel or array, shape (k, l)
        Channel; rows are true categories, columns are reports.

    Returns
    -------
    float
        ``max ln Q[x, y] / Q[x', y]`` in nats, inf if a report is impossible for one category and
        possible for another.

    Examples
    --------
    >>> round(epsilon([[0.75, 0.25], [0.25, 0.75]]), 4)   # ln 3
    1.0986
    """
    return (Q if isinstance(Q, Channel) else Dense(np.array(Q))).epsilon()


def compose(epsilons: Sequence[float]) -> float:
    """Epsilon of several reports about the same value: they add up (sequential composition).

    Examples
    --------
    >>> compose([1.0, 0.5])
    1.5
    """
    return sum(positive_epsilon(f"epsilons[{i}]", value) for i, value in enumerate(epsilons))


def split_budget(total: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Divide a total epsilon over several reports in proportion to `weights`.

    Examples
    --------
    >>> split_budget(3.0, [1, 1, 2])
    (0.75, 0.75, 1.5)
    """
    budget = positive_epsilon("total", total)
    shares = np.array([positive_epsilon(f"weights[{i}]", w) for i, w in enumerate(weights)])
    if not shares.size:
        raise InvalidArgument("weights", weights, "must be positive finite numbers")
    return tuple((budget * shares / shares.sum()).tolist())
