"""What a channel really guarantees: epsilon read off Q, and off the integers a sampler uses."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.markup import html_lines
from ldpstats.channels.base import Channel
from ldpstats.channels.certificate import Guarded, as_channel

__all__ = ["Audit", "epsilon"]

_NO_PRIVACY = "\n  WARNING: no privacy: some report reveals an answer that should be protected"


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
        The same for the exact law of the sampler's 64-bit integer thresholds. Thresholds are
        rounded towards more privacy, so it exceeds the declared value by rounding error at most.
    lifetime : float, optional
        For a mechanism whose client remembers, epsilon of all reports of one answer together.
    sensitive : tuple of int, optional
        Numbers of sensitive and of all categories, if only the former are protected; all values are
        then those of utility-optimised LDP (see `uldp`).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> audit = ldp.KRR(10, epsilon=1.0).audit()
    >>> audit.declared, round(audit.channel, 12), round(audit.sampler, 12), audit.agrees
    (1.0, 1.0, 1.0, True)
    """

    mechanism: str
    declared: float
    channel: float
    sampler: float
    lifetime: float | None = None
    sensitive: tuple[int, int] | None = None

    @property
    def agrees(self) -> bool:
        """Whether Q (to 1e-12) and the sampler (to 1e-9) leak no more than declared."""
        size = max(1.0, self.declared)
        channel, sampler = self.channel - self.declared, self.sampler - self.declared
        return bool(np.isinf(self.declared)) or (channel <= 1e-12 * size and sampler <= 1e-9 * size)

    @property
    def private(self) -> bool:
        """Whether epsilon is finite and protects at least one category."""
        return bool(np.isfinite(self.declared)) and (
            self.sensitive is None or self.sensitive[0] > 0
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, with None for an infinite epsilon."""
        document = asdict(self) | {"agrees": self.agrees, "private": self.private}
        return {k: None if isinstance(v, float) and np.isinf(v) else v for k, v in document.items()}

    def __str__(self) -> str:
        verdict = "agree" if self.agrees else "DO NOT AGREE"
        whole = ""
        if self.lifetime is not None:
            whole = f"\n  epsilon of a lifetime        {self.lifetime:.12g}"
        if self.sensitive is not None:
            whole += "\n  {} of {} categories are protected, the others are not".format(
                *self.sensitive
            )
        return (
            f"Privacy audit of {self.mechanism}\n"
            f"  epsilon declared             {self.declared:.12g}\n"
            f"  epsilon of the channel Q     {self.channel:.12g}\n"
            f"  epsilon of the sampler       {self.sampler:.12g}\n"
            f"  the three {verdict}{whole}{'' if self.private else _NO_PRIVACY}"
        )

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))


def epsilon(Q: Channel | Guarded | npt.ArrayLike) -> float:
    """Smallest epsilon for which a channel is epsilon-locally differentially private.

    Parameters
    ----------
    Q : Channel, Mechanism or array, shape (k, l)
        Rows are true categories, columns are reports.

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
    return as_channel("Q", Q).epsilon()
