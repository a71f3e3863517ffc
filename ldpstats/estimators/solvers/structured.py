"""How a solver treats rows that have structure: their fastest form, and where it starts."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.sampled import joint_start
from ldpstats.problems.hash_design import HashDesign, least_squares
from ldpstats.problems.rows.base import (
    DenseRows,
    FixedEntry,
    Rows,
    StackedRows,
    UnaryRows,
    UniformRows,
)
from ldpstats.problems.rows.hashed import BloomRows, LabelRows
from ldpstats.problems.rows.joint import JointRows
from ldpstats.problems.rows.packed import PackedRows
from ldpstats.problems.rows.sensitive import SensitiveRows
from ldpstats.problems.simplex import project_simplex

__all__ = ["empirical_start", "is_structured", "prepared"]

Array = npt.NDArray[Any]

_SMALL = 1 << 21  # entries of W up to which the dense matrix is the fastest form
_ROUGH = 1e-2  # a start need not be more accurate than the step that follows


def is_structured(W: Rows) -> bool:
    """Whether products with W are cheaper than a dense matrix makes them."""
    if isinstance(W, StackedRows):
        return any(is_structured(part) for part in W.parts)
    if isinstance(W, FixedEntry):
        return is_structured(W.base)
    return isinstance(
        W, UniformRows | UnaryRows | LabelRows | BloomRows | JointRows | SensitiveRows
    )


def prepared(W: Rows) -> Rows:
    """The same rows in the form whose products are fastest: dense if small, else compiled."""
    if isinstance(W, StackedRows):
        return StackedRows(tuple(prepared(part) for part in W.parts))
    if isinstance(W, FixedEntry):
        return replace(W, base=prepared(W.base))
    if isinstance(W, SensitiveRows):
        return replace(W, bits=prepared(W.bits))
    if isinstance(W, UnaryRows | LabelRows | BloomRows) and W.shape[0] * W.shape[1] <= _SMALL:
        return DenseRows(W.dense(), W.log_scale)
    if isinstance(W, UnaryRows) and not isinstance(W, PackedRows):
        held = {field.name: getattr(W, field.name) for field in fields(W)}
        return PackedRows(**held | {"packed": np.ascontiguousarray(W.packed)})
    return W


def empirical_start(W: Rows, n: Array) -> Array:
    """Where to start, shape (k,): the projected linear estimate where it is quick, else uniform.

    Parameters
    ----------
    W : Rows, shape (u, k)
        As `prepared` makes them.
    n : array, shape (u,)
        Counts, all positive.
    """
    if isinstance(W, StackedRows):
        pieces = np.split(n, np.cumsum([part.shape[0] for part in W.parts])[:-1])
        starts = [
            empirical_start(part, m) * m.sum() for part, m in zip(W.parts, pieces, strict=True)
        ]
        return np.asarray(np.sum(starts, axis=0) / n.sum())
    if isinstance(W, FixedEntry):
        others = np.delete(empirical_start(W.base, n), W.index)
        return (
            others / others.sum() if others.sum() > 0.0 else np.full(others.size, 1 / others.size)
        )
    if isinstance(W, JointRows):
        return joint_start(W, n)
    if isinstance(W, PackedRows):
        return _from_bits(W, n)
    if isinstance(W, SensitiveRows) and isinstance(W.bits, PackedRows):
        return _from_sensitive(W, W.bits, n)
    if isinstance(W, LabelRows):
        return _from_labels(W, n)
    if isinstance(W, BloomRows) and W.p1 != W.p0:
        return _from_blooms(W, n)
    return np.full(W.shape[1], 1.0 / W.shape[1])


def _from_bits(W: PackedRows, n: Array) -> Array:
    sums, _ = W.adjoints(n / n.sum())  # absent + (present - absent) times the mean of each bit
    mean = (sums - W.absent) / (W.present - W.absent)
    return project_simplex((mean - W.p0) / (W.p1 - W.p0))


def _from_sensitive(W: SensitiveRows, bits: PackedRows, n: Array) -> Array:
    """From the bits of protected reports alone: those of the others are noise."""
    noise, nobs = n[W.protected] / n.sum(), float(n.sum())
    sums, _ = bits.adjoints(noise)
    mean = (sums - bits.absent * noise.sum()) / (bits.present - bits.absent)
    p = np.bincount(W.revealed, weights=n[~W.protected], minlength=W.shape[1]) / (nobs * W.told)
    p[W.sensitive] = (mean - bits.p0 * noise.sum()) / (bits.p1 - bits.p0)
    return project_simplex(p)


def _from_labels(W: LabelRows, n: Array) -> Array:
    m = W.design.n_cells
    counts = W.tally(n).reshape(-1, m)
    reports = counts.sum(axis=1)
    design = replace(W.design, slope=1.0, background=1.0 / m)
    return _decoded(design, reports, (counts / np.maximum(reports, 1.0)[:, None] - W.b) / W.a)


def _from_blooms(W: BloomRows, n: Array) -> Array:
    from ldpstats.kernels.bits import bit_sums

    reports = np.bincount(W.cohort, n, W.design.n_cohorts)
    order = np.argsort(W.cohort, kind="stable")
    ends = np.cumsum(np.bincount(W.cohort, minlength=reports.size))[:-1]
    packed, counts = np.split(W.packed[order], ends), np.split(n[order], ends)
    ones = [bit_sums(y, c, W.n_bits) for y, c in zip(packed, counts, strict=True)]
    means = np.array(ones) / np.maximum(reports, 1.0)[:, None]
    return _decoded(W.design, reports, (means - W.p0) / (W.p1 - W.p0))


def _decoded(design: HashDesign, reports: Array, owned: Array) -> Array:
    """The projected p with H p = `owned`, shape (C, m), by least squares over the cohorts."""
    weights = np.repeat(reports, design.n_cells)
    rhs = owned.reshape(-1) - design.background
    return project_simplex(least_squares(design, weights, rhs, _ROUGH, max_iter=50).p)
