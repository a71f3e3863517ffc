"""Two privatised answers of the same respondents: their joint distribution, certified and by EM."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from timing import Row, Scale, measure, zipf

import ldpstats as ldp
from ldpstats.estimators import MLE
from ldpstats.reports.joint import JointCounts

__all__ = ["associate", "associate_million"]

K = 20  # candidates, or categories, of each variable
WORDS = [f"value{i}" for i in range(K)]
RULE = 1e-6  # EM stops where no entry of p changes by more, as google/rappor's does
ROWS = 100_000  # respondents on whom one EM step as printed is timed

Pair = tuple[ldp.Reports, ldp.Reports]


def associate(scale: Scale) -> list[Row]:
    """Two variables, 20 x 20: Bloom filters (128 bits, 2 hashes, 8 cohorts), and k-RR labels."""
    return [*_blooms(scale.size(100_000, 5_000), scale), *_labels(scale)]


def associate_million(scale: Scale) -> list[Row]:
    """The same Bloom filters of a million respondents; EM takes 4 GB and minutes."""
    return _blooms(scale.size(1_000_000, 10_000), scale)


def _truth() -> np.ndarray:
    """Zipf margins, and cells up to several times what independence would give, shape (K, K)."""
    P = np.outer(zipf(K), zipf(K)) * np.exp(0.7 * np.random.default_rng(20).normal(size=(K, K)))
    return P / P.sum()


def _reports(n: int) -> Pair:
    rng = np.random.default_rng(21)
    cells = rng.choice(K * K, size=n, p=_truth().reshape(-1))
    rappor = ldp.RAPPOR(128, 2, 8, f=0.0, p=0.25, q=0.75)
    x, y = (np.array(WORDS, dtype=object)[codes] for codes in np.divmod(cells, K))
    return rappor.privatize(x, rng), rappor.privatize(y, rng)


def _model(reports: Pair) -> ldp.AssociationModel:
    return ldp.AssociationModel(*reports, candidates=(WORDS, WORDS))


def _likelihoods(reports: Pair) -> np.ndarray:
    """The likelihood of each respondent under each pair of candidates, shape (n, K * K)."""
    W = [part.mechanism.likelihood(part.tally(), WORDS).W.dense() for part in reports]
    return np.einsum("ix,iy->ixy", *W).reshape(len(W[0]), -1)


def _em(W: np.ndarray, n: np.ndarray, most: int = 100_000) -> tuple[np.ndarray, int]:
    """EM from the uniform distribution to `RULE`, and its iterations: two products with W each."""
    p, share = np.full(W.shape[1], 1.0 / W.shape[1]), n / n.sum()
    steps, change = 0, np.inf
    while change >= RULE and steps < most:
        q = p * ((share / (W @ p)) @ W)
        steps, change, p = steps + 1, float(np.abs(q - p).max()), q
    return p, steps


def _em_as_printed(W: np.ndarray, p: np.ndarray) -> np.ndarray:
    """One EM step of FPE16 III-A: the posterior of each respondent, and their mean."""
    posterior = W * p
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior.mean(axis=0)


def _blooms(n: int, scale: Scale) -> list[Row]:
    reports = _reports(n)
    jobs: dict[str, Callable[[], Any]] = {
        "maximum": lambda: _model(reports).maximum(MLE(tol=1e-6)),
        "fit": lambda: _model(reports).fit("mle").bse,
    }
    ours = measure(jobs, scale.size(5 if n < 10**6 else 3, 1))
    W = _likelihoods(reports)
    start = time.process_time()
    p, steps = _em(W, np.ones(n))
    products = time.process_time() - start
    step = measure({"em": lambda: _em_as_printed(W[:ROWS], p)}, scale.size(3, 1))["em"]
    printed = steps * step * n / len(W[:ROWS])
    what, gap = f"MLE from reports to a gap of 1e-6, n = {n:,}", jobs["maximum"]().gap
    left = f"gap {gap:.0e}, not {_model(reports).likelihood().gap(p):.0e}"
    fit, aim = f"{ours['fit']:.2f} s of one thread", scale.size(40, 0)
    return [
        _beside(what, f"EM as printed, {steps:,} iterations", ours["maximum"], printed, aim),
        _beside(what, f"EM as {2 * steps:,} products", ours["maximum"], products),
        Row(what, "EM", left, "<= 1e-6", gap <= 1e-6),
        Row(f"fit with standard errors, n = {n:,}", "", fit, "< 20 s", ours["fit"] < 20.0),
        _memory(n),
    ]


def _beside(what: str, against: str, ours: float, theirs: float, aim: int = 0) -> Row:
    ratio = theirs / ours
    figure = f"{ratio:.3g} x the speed ({ours:.3g} s, not {theirs:.3g} s)"
    return Row(what, against, figure, *((f">= {aim}", ratio >= aim) if aim else ()))


def _memory(n: int) -> Row:
    """Peak memory of two processes that do one or the other, from the reports on."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        ours, theirs = (pool.apply(_peak, (n, by_em)) for by_em in (False, True))
    if ours is None or theirs is None:
        return Row(f"memory, n = {n:,}", "EM as products", "needs Linux's /proc")
    figure = f"{ours / theirs:.3g} of it ({ours:,.0f} MB, not {theirs:,.0f} MB)"
    what = f"memory of process and fit, n = {n:,}"
    return Row(what, "EM as products", figure, "< 1,000 MB", ours < 1000.0)


def _peak(n: int, by_em: bool) -> float | None:
    reports = _reports(n)
    if by_em:
        _em(_likelihoods(reports), np.ones(n), most=1)
    else:
        _model(reports).fit("mle")
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024.0


def _labels(scale: Scale) -> list[Row]:
    """A k-RR pair from the table of its reports."""
    n = scale.size(10**8, 10**6)
    krr = ldp.KRR(tuple(WORDS), epsilon=2.0)
    Q = krr.channel().matrix()
    law = (Q.T @ _truth() @ Q).reshape(-1)
    table = np.random.default_rng(22).multinomial(n, law).reshape(K, K)
    W, c = np.kron(Q, Q), table.reshape(-1)  # Q is symmetric
    counts = JointCounts.from_table(table, (krr, krr))
    jobs: dict[str, Callable[[], Any]] = {
        "maximum": lambda: ldp.AssociationModel(counts).maximum(),
        "fit": lambda: ldp.AssociationModel(counts).fit("mle").bse,
        "em": lambda: _em(W, c),
    }
    spent = measure(jobs, scale.size(7, 3))
    p, steps = jobs["em"]()
    gap, left = jobs["maximum"]().gap, ldp.AssociationModel(counts).likelihood().gap(p)
    what = f"k-RR pair, n = {n:,}"
    against = f"EM as {2 * steps:,} products"
    return [
        _beside(f"MLE of a {what}", against, spent["maximum"], spent["em"]),
        Row(f"MLE of a {what}", "EM", f"gap {gap:.0e}, not {left:.0e}"),
        Row(
            f"fit of a {what}, with standard errors",
            "",
            f"{spent['fit']:.3f} s",
            "< 0.1 s",
            spent["fit"] < 0.1,
        ),
    ]
