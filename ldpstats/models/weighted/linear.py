"""What all weighted models take from decoded reports: totals, shares, and the record of the fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.designs.estimation import estimated_totals, missed_noise
from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.totals import Estimated, Totals
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.observed import joint_epsilon
from ldpstats.models.shared.fit import Fit
from ldpstats.models.weighted.base import checked
from ldpstats.problems.estimates import Uncertain

__all__ = ["channel_factor", "linear_fit", "linear_totals"]

Array = npt.NDArray[Any]


def linear_totals(
    sample: Sample, scores: Scores, noise: Callable[[Array], Array], more: Array | float = 0.0
) -> Totals:
    """Totals of decoded reports.

    `noise` is the covariance of the randomisation where respondents count by some squared weights;
    `more` is one that neither the design nor the reports show.
    """
    missed = noise(sample.w2 * missed_noise(sample)) + more
    return estimated_totals(sample, scores, noise(sample.w2) + more, missed)


def linear_fit(
    shares: Estimated, mechanisms: Sequence[Mechanism], nobs: int, n_missing: int, name: str = ""
) -> Fit:
    """The record of unconstrained estimates from reports of some mechanisms."""
    linear = Uncertain(shares.value, checked(shares.covariance))
    return Fit(
        fitted=linear,
        linear=linear,
        method="inversion",
        settings="",
        cov_type="linear",
        nobs=nobs,
        n_missing=n_missing,
        epsilon=joint_epsilon(mechanisms),
        sources=tuple(map(str, mechanisms)),
        is_partial=any(
            one.sensitive is not None and len(one.sensitive) < one.k for one in mechanisms
        ),
        name=name,
        source_nobs=(nobs,) * len(mechanisms),
    )


def channel_factor(p: Array, noise: Array) -> Array:
    """The factor of the channel at shares p, ``(p (1 - p) + noise) / (p (1 - p))``."""
    return np.asarray(1.0 + noise / np.where((p > 0.0) & (p < 1.0), p * (1.0 - p), np.nan))
