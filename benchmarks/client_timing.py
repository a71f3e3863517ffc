"""Whether the time of a device's report tells something of the answer.

``python benchmarks/client_timing.py``: pairs of reports by turns, one of an answer that was
reported before and one of an answer that never was; and of a category that a respondent under a
PUM protects and one that she does not. The AUC is the probability that the first took
longer (ties count half): .5 where time tells nothing.
"""

from __future__ import annotations

import gc
import hashlib
import secrets
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

import ldpstats as ldp

PAIRS = 20_000


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def auc(client: ldp.RAPPORClient, rng: np.random.Generator, known: list[str]) -> float:
    """AUC of the times of known and new answers of equal length, in random order within a pair."""
    times = np.empty((PAIRS, 2))
    for pair in times:
        answers = known[rng.integers(len(known))], secrets.token_hex(8)
        for which in rng.permutation(2):
            pair[which] = seconds(lambda: client.report(answers[which]))  # noqa: B023
    statistic = stats.mannwhitneyu(times[:, 0], times[:, 1]).statistic
    return float(statistic / PAIRS**2)


def main() -> None:
    rng = np.random.default_rng(1)
    gc.disable()
    rappor = ldp.RAPPOR(n_bits=128, n_hashes=2, n_cohorts=8, f=0.5, p=0.25, q=0.75)
    client = rappor.client()
    known = [secrets.token_hex(8) for _ in range(20)]
    for answer in known * 50:
        client.report(answer)
    error = np.sqrt(1.0 / (6.0 * PAIRS))
    print(f"known against new, {PAIRS} pairs: AUC {auc(client, rng, known):.4f} (SE {error:.4f})")
    pum = ldp.PUM(ldp.URR(range(100), {7}, epsilon=1.0), ("home", "work"))
    own = pum.client({"home": {12}, "work": {40, 41}}, reports=None)
    times = np.empty((PAIRS, 2))
    for pair in times:
        for which in rng.permutation(2):
            pair[which] = seconds(lambda: own.report((12, 13)[which]))  # noqa: B023
    statistic = stats.mannwhitneyu(times[:, 0], times[:, 1]).statistic / PAIRS**2
    print(f"PUM, a category of her own against another: AUC {statistic:.4f} (SE {error:.4f})")
    orr = ldp.ORR(8, 4, epsilon=1.0).client(reports=None)
    for n in (10, 10_000, 1_000_000):
        answer = "x" * n
        ours = min(seconds(lambda: orr.report(answer)) for _ in range(200))  # noqa: B023
        hashed = min(
            seconds(lambda: hashlib.sha256(answer.encode()).digest())  # noqa: B023
            for _ in range(200)
        )
        print(f"O-RR, {n} characters: {1e6 * (ours - hashed):.0f} us beyond {1e6 * hashed:.0f} us")


if __name__ == "__main__":
    main()
