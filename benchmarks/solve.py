"""Exact maximum likelihood: a million categories, wide unary reports, an arbitrary channel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import plain
from timing import Row, Scale, measure, reached, zipf

import ldpstats as ldp
from ldpstats.estimators import MLE
from ldpstats.likelihood.rows import Likelihood

__all__ = ["dense", "dense_likelihood", "million", "rappor"]


def million(scale: Scale) -> list[Row]:
    """k-RR with a million categories: the MLE with standard errors, from counts."""
    k = scale.size(1_000_000, 100_000)
    rng = np.random.default_rng(3)
    counts = ldp.KRR(k, float(np.log(k))).draw(zipf(k), 10 * k, rng)

    def fit() -> Any:
        results = ldp.FrequencyModel(counts).fit("mle")
        return results.params, results.bse, results.gap

    numbers = rng.random(k)
    spent = measure({"fit": fit, "sort": partial(np.sort, numbers)}, scale.size(7, 3))
    what, gap = f"k-RR MLE with standard errors, k = {k:,}", fit()[2]
    figure = f"{spent['fit']:.3f} s, gap {gap:.0e}"
    sorts, sorting = spent["fit"] / spent["sort"], f"np.sort of {k:,} numbers"
    if scale.quick:
        return [Row(what, sorting, f"{sorts:.3g} sorts, {figure}", "<= 40", reached(40 / sorts, 1))]
    return [
        Row(what, "", figure, "< 1 s", spent["fit"] < 1.0),
        Row(what, sorting, f"{sorts:.3g} sorts"),
    ]


def rappor(scale: Scale) -> list[Row]:
    """k-RAPPOR patterns: the exact MLE to a certified gap, in plain EM iterations."""
    n, k = scale.size(240_000, 20_000), scale.size(1_600, 400)
    rng = np.random.default_rng(4)
    codes = rng.choice(k, p=zipf(k), size=n)
    rows = []
    for label, epsilon in (("1", 1.0), ("ln k", float(np.log(k)))):
        mechanism = ldp.KRAPPOR(k, epsilon)
        reports = mechanism.privatize(codes, rng)
        likelihood = ldp.FrequencyModel(reports).likelihood()
        W = dense_likelihood(reports.y, mechanism)  # 3 GB
        jobs: dict[str, Any] = {
            "ours": partial(MLE(tol=1e-6).solve, likelihood),
            "em": partial(plain.em_step, W, np.full(k, 1.0 / k)),
        }
        spent = measure(jobs, scale.size(5, 3))
        del W, jobs["em"]
        gap, ratio = likelihood.gap(jobs["ours"]().p), spent["ours"] / spent["em"]
        what = f"k-RAPPOR MLE, n = {n:,}, k = {k:,}, epsilon = {label}"
        figure = f"{ratio:.2f} iterations ({spent['ours']:.2f} s), gap {gap:.0e}"
        met = ratio < 2.0 and gap <= 1e-6
        rows.append(Row(what, "one dense EM iteration", figure, "< 2, gap <= 1e-6", met))
    return rows


def dense_likelihood(y: np.ndarray, mechanism: ldp.KRAPPOR) -> np.ndarray:
    """Likelihood of each report under each category, up to a factor per report."""
    k, p1, p0 = mechanism.k, mechanism.p1, mechanism.p0
    W = np.empty((len(y), k))
    for start in range(0, len(y), plain.ROWS):
        chunk = slice(start, start + plain.ROWS)
        bits = np.unpackbits(y[chunk], axis=1, count=k, bitorder="little")
        W[chunk] = np.where(bits, p1 / p0, (1.0 - p1) / (1.0 - p0))
    return W


def dense(scale: Scale) -> list[Row]:
    """Channels without structure, against cvxpy and CLARABEL on the same problem."""
    k, n = scale.size(1_000, 200), 1_000_000
    rng = np.random.default_rng(5)
    distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    aims = {"random": 6.0, "random with a diagonal": 16.0, "local noise": 1.2}  # of quick sizes
    channels = {
        "random": np.exp(3.0 * rng.random((k, k))),
        "random with a diagonal": rng.random((k, k)) + 0.2 * k * np.eye(k),
        "local noise": np.exp(-0.5 * (distance / 5.0) ** 2) + 1e-4,
    }
    rows = []
    for label, Q in channels.items():
        Q = Q / Q.sum(axis=1, keepdims=True)
        counts = rng.multinomial(n, zipf(k) @ Q)
        likelihood = Likelihood(Q.T[counts > 0], counts[counts > 0])
        jobs: dict[str, Any] = {
            "ours": partial(MLE(tol=1e-8).solve, likelihood),
            "cvxpy": partial(_by_cvxpy, Q[:, counts > 0], counts[counts > 0]),
        }
        spent = measure(jobs, scale.size(3, 1))
        p, by_cvxpy = jobs["ours"]().p, jobs["cvxpy"]()
        gap = likelihood.gap(p)
        theirs = "it fails" if by_cvxpy is None else f"gap {likelihood.gap(by_cvxpy):.0e}"
        ratio = spent["cvxpy"] / spent["ours"]
        figure = (
            f"{ratio:.3g} x the speed ({spent['ours']:.2f} s, gap {gap:.0e}, "
            f"not {spent['cvxpy']:.2f} s, {theirs})"
        )
        aim = scale.aim(1.0, aims[label])
        met, words = reached(ratio, aim) and gap <= 1e-8, f">= {aim:g}, gap <= 1e-8"
        rows.append(Row(f"dense Q ({label}), k = {k:,}", "cvxpy", figure, words, met))
    return rows


def _by_cvxpy(Q: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """The estimate of cvxpy and CLARABEL alone; None where the solver gives up."""
    import cvxpy as cp

    p = cp.Variable(len(Q), nonneg=True)
    objective = cp.Maximize((counts / counts.sum()) @ cp.log(Q.T @ p))
    try:
        cp.Problem(objective, [cp.sum(p) == 1]).solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return None
    value = np.maximum(p.value, 0.0)
    return value / value.sum()
