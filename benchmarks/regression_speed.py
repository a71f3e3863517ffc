"""Regressions on privatised answers beside statsmodels' own on the answers, in one run.

    python benchmarks/regression_speed.py [--quick] [--repeats R]

CPU seconds of one thread, by turns, the shortest of the repeats: a logit of a million reports of
k-RR with 20 covariates, and a multinomial logit of ten categories, 100,000 reports and ten
covariates. Both sides converge from their own starts. Memory is that of whole processes, beyond the
one that only makes the data.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):  # before numpy is imported
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402

import ldpstats as ldp  # noqa: E402

__all__ = ["answers", "main"]

Array = npt.NDArray[Any]

EPSILON = 1.0
AIMS = {"logit": 5.0, "multinomial": 8.0}  # at most so many times statsmodels' time
PARTS = ("logit", "multinomial", "memory")
_MEMORY = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
from regression_speed import answers, EPSILON
import numpy as np, ldpstats as ldp
n, fit = int(sys.argv[2]), sys.argv[3] == "fit"
X, y = answers(n, 20, 2)
reports = ldp.KRR(2, EPSILON).privatize(y, np.random.default_rng(1))
if fit:
    ldp.PrivatizedLogit(reports, X).fit(disp=False)
"""


def answers(n: int, p: int, k: int) -> tuple[Array, Array]:
    """A constant and p - 1 covariates, (n, p), and an answer of k categories, (n,)."""
    rng = np.random.default_rng([n, p, k])
    X = rng.normal(size=(n, p))
    X[:, 0] = 1.0
    beta = rng.normal(size=(p, k - 1)) * (0.8 / np.sqrt(p))
    utility = rng.gumbel(size=(n, k))
    utility[:, 1:] += X @ beta
    return X, utility.argmax(axis=1)


def shortest(jobs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """CPU seconds of each job, which take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            seconds[name].append(time.process_time() - start)
    return {name: min(values) for name, values in seconds.items()}


def compare(name: str, n: int, p: int, k: int, epsilon: float, repeats: int) -> None:
    """Print the times of one regression on both sides."""
    from statsmodels.discrete.discrete_model import Logit, MNLogit

    ours, theirs = (ldp.PrivatizedLogit, Logit) if k == 2 else (ldp.PrivatizedMNLogit, MNLogit)
    X, y = answers(n, p, k)
    reports = ldp.KRR(k, epsilon).privatize(y, np.random.default_rng(1))
    small = slice(0, 5000)
    ours(ldp.Observed(k).privatize(y[small], np.random.default_rng(1)), X[small]).fit()  # imports
    theirs(y[small], X[small]).fit(disp=0)
    shown = {
        "ours": lambda: ours(reports, X).fit(disp=False),
        "ours, with standard errors": lambda: ours(reports, X).fit(disp=False).bse,
        "statsmodels": lambda: theirs(y, X).fit(disp=0),
        "statsmodels, with standard errors": lambda: theirs(y, X).fit(disp=0).bse,
    }
    seconds = shortest(shown, repeats)
    for kind in ("", ", with standard errors"):
        a, b = seconds["ours" + kind], seconds["statsmodels" + kind]
        met = "met" if a <= AIMS[name] * b else "MISSED"
        print(
            f"{name}, n {n}, {p} covariates, k {k}, epsilon {epsilon:g}{kind}: {a:.2f} s, "
            f"statsmodels {b:.2f} s, {a / b:.2f} x (aim {AIMS[name]:g}: {met})",
            flush=True,
        )


def memory(sizes: tuple[int, ...]) -> None:
    """Print the largest memory of fits beyond that of their data."""
    from pathlib import Path

    from processes import Job

    here = str(Path(__file__).parent)
    for n in sizes:
        used = {}
        for what in ("data", "fit"):
            ran = Job(_MEMORY, (here, n, what), cores=1).run()
            if ran.failed:
                raise RuntimeError(ran.failed)
            used[what] = ran.memory
        beyond = used["fit"] - used["data"]
        print(
            f"logit, n {n}, 20 covariates: {used['fit'] / 1e6:.0f} MB, {beyond / 1e6:.0f} MB "
            f"beyond the data, {beyond / (160 * n):.2f} times the covariates",
            flush=True,
        )


def main() -> None:
    """All comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    scale = 10 if asked.quick else 1
    if "logit" in asked.only:
        compare("logit", 1_000_000 // scale, 20, 2, EPSILON, asked.repeats)
    if "multinomial" in asked.only:
        for epsilon in (3.0, EPSILON):
            compare("multinomial", 100_000 // scale, 10, 10, epsilon, asked.repeats)
    if "memory" in asked.only:
        memory((1_000_000 // scale, 2_000_000 // scale))


if __name__ == "__main__":
    main()
