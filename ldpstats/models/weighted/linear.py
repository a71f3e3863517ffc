"""What all weighted models take from decoded reports: totals, shares, and the record of the fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.designs.estimation import (
    degrees_in_domains,
    estimated_totals,
    in_one_unit,
    missed_noise,
)
from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.totals import Estimated, Totals, checked
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.observed import joint_epsilon, protect_some
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.groups import Label
from ldpstats.models.weighted.record import Domains
from ldpstats.problems.estimates import Uncertain

__all__ = ["channel_factor", "domains_of", "linear_fit", "linear_totals"]

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
        is_partial=protect_some(mechanisms),
        name=name,
        source_nobs=(nobs,) * len(mechanisms),
    )


def domains_of(
    sample: Sample,
    domain: npt.NDArray[np.int64],
    shares: Estimated,
    channel: Array,
    groups: tuple[tuple[str, ...], tuple[Label, ...]] = ((), ((),)),
    n_ungrouped: int = 0,
) -> Domains:
    """The domains of a sample, whose `shares` were estimated: that of each cell, -1 outside."""
    by, labels = groups
    g, there = len(labels), np.flatnonzero(domain >= 0)
    n, w, w2 = (np.bincount(domain[there], v[there], g) for v in (sample.n, sample.w, sample.w2))
    varies = np.diagonal(shares.covariance).reshape(g, -1).max(axis=1) > 0.0
    return Domains(
        by=by,
        labels=labels,
        sizes=np.rint(n).astype(np.int64),
        df=degrees_in_domains(sample, domain, g),
        df_free=degrees_in_domains(sample.without_corrections(), domain, g),
        channel=channel,
        spread=n * w2 / w**2,
        alone=in_one_unit(sample, domain, varies),
        n_ungrouped=n_ungrouped,
    )


def channel_factor(p: Array, noise: Array) -> Array:
    """The factor of the channel at shares p, ``(p (1 - p) + noise) / (p (1 - p))``."""
    return np.asarray(1.0 + noise / np.where((p > 0.0) & (p < 1.0), p * (1.0 - p), np.nan))
