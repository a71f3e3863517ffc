"""Privatise and estimate: k-RR and unary reports, against plain numpy and other packages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import peers
import plain
from timing import Row, Scale, faster, measure, zipf

import ldpstats as ldp
from ldpstats import kernels

__all__ = ["estimate", "peer_versions", "privatise"]

K, EPSILON = 1024, 1.0
MECHANISMS = {
    "k-RR": ldp.KRR(K, EPSILON),
    "OUE": ldp.KRAPPOR(K, EPSILON, theta=0.5),
    "k-RAPPOR": ldp.KRAPPOR(K, EPSILON),
}
FASTER_THAN_NUMPY = {"k-RR": (5, 1.4), "OUE": (10, 13), "k-RAPPOR": (10, 10)}  # full, quick
ESTIMATED = {"k-RR": 0.05, "OUE": 1.3, "k-RAPPOR": 2.0}  # quick sizes, with standard errors
FASTER_THAN_PEERS = {"k-RR": 300, "OUE": 100, "k-RAPPOR": 100}


def peer_versions() -> list[str]:
    """A line about each package that is compared with."""
    found = {name: peers.load(name, K, EPSILON) for name in peers.NAMES}
    return [f"{name} {p if isinstance(p, str) else p.version}" for name, p in found.items()]


def privatise(scale: Scale) -> list[Row]:
    """Time per respondent from an array of true codes to reports."""
    rows: list[Row] = []
    rng = np.random.default_rng(1)
    codes = rng.choice(K, p=zipf(K), size=scale.size(1_000_000, 200_000))
    for name, mechanism in MECHANISMS.items():
        if name == "k-RR":
            few, repeats = codes, scale.size(51, 11)
            numpy = partial(plain.krr, few, K, mechanism.channel().a, rng)
        else:
            few, repeats = codes[: codes.size // 10], scale.size(7, 3)
            numpy = partial(plain.unary, few, K, mechanism.p1, mechanism.p0, rng)
        ours = partial(mechanism.privatize, codes, rng)
        what, aim = f"privatise, {name}", scale.aim(*FASTER_THAN_NUMPY[name])
        if name == "k-RR":
            rows.append(_first_calls(what, ours, numpy, few.size, scale))
        with _loops(loaded=True):
            spent = measure({"ours": ours, "numpy": numpy}, repeats)
        own = spent["ours"] / codes.size
        rows.append(faster(what, "numpy", own, spent["numpy"] / few.size, aim))
        for other, theirs in _peers(name, codes, scale, estimating=False):
            rows.append(faster(what, other, own, theirs, FASTER_THAN_PEERS[name]))
        size = ours().y.nbytes / codes.size
        eighth = ("k / 8", size == K / 8) if mechanism.n_bits else ("", None)
        rows.append(Row(f"size of a report, {name}", "", f"{size:.0f} bytes", *eighth))
    return rows


@contextmanager
def _loops(loaded: bool) -> Iterator[None]:
    """With compiled loops, as in a process that has worked for a second; or without."""
    default, kernels.LOADING = kernels.LOADING, 0.0 if loaded else math.inf
    yield
    kernels.LOADING = default


def _first_calls(what: str, ours: Any, numpy: Any, n: int, scale: Scale) -> Row:
    """What a process spends before loading numba would repay."""
    with _loops(loaded=False):
        spent = measure({"ours": ours, "numpy": numpy}, scale.size(21, 11))
    own, theirs = spent["ours"] / n, spent["numpy"] / n
    return faster(f"{what}, first calls of a process", "numpy", own, theirs, scale.aim(0.67, 0.35))


def estimate(scale: Scale) -> list[Row]:
    """Time per respondent from an array of reports to frequencies; ours with standard errors."""
    rows: list[Row] = []
    rng = np.random.default_rng(2)
    codes = rng.choice(K, p=zipf(K), size=scale.size(1_000_000, 200_000))
    for name, mechanism in MECHANISMS.items():
        reports = mechanism.privatize(codes, rng)
        jobs: dict[str, Any] = {}
        if name == "k-RR":
            few = reports.y
            jobs["numpy"] = partial(plain.krr_estimate, few, K, mechanism.channel().a)
            jobs["inversion"] = partial(_fit, reports, "inversion")
            jobs["exact MLE"] = partial(_fit, reports, "mle")
        else:
            few = reports.y[: codes.size // 10]
            jobs["numpy"] = partial(plain.unary_estimate, few, K, mechanism.p1, mechanism.p0)
            jobs["inversion"] = partial(_fit_sums, reports)
        if few is reports.y:  # the same job
            np.testing.assert_allclose(jobs["inversion"]()[0], jobs["numpy"](), atol=1e-9)
        spent = measure(jobs, scale.size(21, 5))
        theirs = spent.pop("numpy") / len(few)
        for method, seconds in spent.items():
            aim = scale.aim(0.0, ESTIMATED[name])
            rows.append(faster(f"{method}, {name}", "numpy", seconds / codes.size, theirs, aim))
        for other, seconds in _peers(name, codes, scale, estimating=True):
            rows.append(
                faster(f"inversion, {name}", other, spent["inversion"] / codes.size, seconds)
            )
    return rows


def _fit(reports: ldp.Reports, method: str) -> tuple[Any, Any]:
    results = ldp.FrequencyModel(reports).fit(method)
    return results.params, results.bse


def _fit_sums(reports: ldp.Reports) -> tuple[Any, Any]:
    results = ldp.FrequencyModel(reports.tally(bits=True)).fit("inversion")
    return results.params, results.bse


def _peers(
    name: str, codes: np.ndarray, scale: Scale, estimating: bool
) -> list[tuple[str, float | str]]:
    """Seconds per respondent of each package that has this mechanism, or why there are none."""
    found: list[tuple[str, float | str]] = []
    for other in peers.NAMES:
        peer = peers.load(other, K, EPSILON)
        if isinstance(peer, str):
            found.append((other, peer))
        elif name in (peer.estimators if estimating else peer.clients):
            few = codes[: peer.users[name]].tolist()
            job = partial(peer.clients[name], few)
            if estimating:
                job = partial(peer.estimators[name], job())
            found.append((other, measure({"job": job}, scale.size(5, 1))["job"] / len(few)))
    return found
