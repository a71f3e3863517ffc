"""What exact intervals rest on: tallies of single binomial counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpstats.errors import NotIdentified
from ldpstats.problems.equations import Equations, Moments, precisions
from ldpstats.problems.estimates import ExactForm, PooledTallies

__all__ = ["exact_form", "joined_exact_form", "pooled_tallies"]


def exact_form(problem: Moments) -> ExactForm | None:
    """The categories whose linear estimate is an affine function of one binomial count.

    An estimate that weights all reports with two weights only counts the reports of the larger
    weight, and its mean gives the law of that count: ``P(counted) = offset + scale p_x``.
    """
    if not isinstance(problem, Equations):
        return None
    counts = np.rint(problem.t * problem.nobs).astype(np.int64)
    if np.ndim(problem.A) < 2:
        offset = np.broadcast_to(problem.offset, counts.shape).astype(np.float64)
        scale = np.broadcast_to(problem.A, counts.shape).astype(np.float64)
        return ExactForm(counts, problem.nobs, offset, scale)
    if problem.kind == "lumped":  # a bit of each category but the last, which none is counted for
        offset, scale = np.array(problem.offset), np.diagonal(problem.A).copy()
        offset[-1] = scale[-1] = np.nan
        return ExactForm(counts, problem.nobs, offset, scale)
    if problem.kind != "labels":
        return None
    try:
        G = np.asarray(problem.inverse)
    except NotIdentified:  # of a source that others complete
        return None
    low, high = G.min(axis=1), G.max(axis=1)
    tolerance = 1e-12 * np.abs(G).max(axis=1, keepdims=True)
    counted = high[:, None] - G <= tolerance
    known = np.all(counted | (G - low[:, None] <= tolerance), axis=1) & (high > low)
    scale = np.divide(1.0, high - low, out=np.full(low.shape, np.nan), where=known)
    offset = np.where(np.abs(low) <= tolerance[:, 0], 0.0, -low) * scale
    return ExactForm(counted @ counts, problem.nobs, offset, scale)


def joined_exact_form(problems: Sequence[Moments]) -> ExactForm | None:
    """The exact form of several sources: of categories that are reported only where they are true.

    The sum of their counts is Poisson binomial, not binomial where sources differ, but its tails
    are the lighter ones (Hoeffding 1956), so that what is exact for a binomial count of the same
    mean is valid, and nearly exact for the few reports where it matters.
    """
    if len(problems) == 1:
        return exact_form(problems[0])
    forms = [form for form in map(exact_form, problems) if form is not None]
    noiseless = np.all([form.offset == 0.0 for form in forms], axis=0)
    if len(forms) < len(problems) or not noiseless.any():
        return None
    nobs = sum(form.nobs for form in forms)
    scale = sum(form.nobs * form.scale for form in forms) / nobs
    tally = np.sum([form.tally for form in forms], axis=0)
    return ExactForm(
        tally, nobs, np.where(noiseless, 0.0, np.nan), np.where(noiseless, scale, np.nan)
    )


def pooled_tallies(problems: Sequence[Moments]) -> PooledTallies | None:
    """The counts of several sources, if categories have a count of their own in each."""
    flat = [q for q in problems if isinstance(q, Equations) and np.ndim(q.A) < 2]
    if len(flat) < 2 or len(flat) < len(problems):
        return None
    slopes, precision = precisions(flat)
    return PooledTallies(
        nobs=np.array([[float(q.nobs)] for q in flat]),
        offset=np.array([np.broadcast_to(q.offset, slopes[0].shape) for q in flat], dtype=float),
        scale=slopes,
        share=precision / precision.sum(axis=0),
    )
