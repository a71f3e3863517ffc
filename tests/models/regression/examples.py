"""Fitted regressions that several tests look at."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import ldpstats as ldp

Array = npt.NDArray[Any]

N = 600
JOBS = ("cook", "driver", "nurse", "clerk")


@cache
def table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": rng.normal(size=N).round(1),
            "city": rng.choice(["a", "b", "c"], N),
            "kids": rng.integers(0, 4, N) + 0.0,
        }
    )


@cache
def answers() -> tuple[Array, Array, Array]:
    """A use that depends on age, an illness that depends on it, and a job."""
    rng, t = np.random.default_rng(6), table()
    use = np.where(
        rng.random(N) < 1 / (1 + np.exp(-t.age)), rng.choice(["u", "v"], N), "no"
    ).astype(str)
    eta = -0.5 + 0.4 * t.age + 0.5 * (t.city == "b") + 1.0 * (use == "u")
    ill = np.where(rng.random(N) < 1 / (1 + np.exp(-eta)), "yes", "no")
    score = np.column_stack([0 * t.age, 0.6 * t.age, 0.3 * t.kids, -0.5 * t.age])
    job = np.array(JOBS)[(score + rng.gumbel(size=(N, 4))).argmax(axis=1)]
    return use, ill, job


@cache
def reports(what: str) -> ldp.Reports:
    use, ill, job = answers()
    rng = np.random.default_rng(len(what) + ord(what[0]))  # noise of its own
    if what == "use":
        return ldp.KRR(("no", "u", "v"), 2.0).privatize(use, rng)
    if what == "ill":
        return ldp.KRR(("no", "yes"), 2.0).privatize(ill, rng)
    return ldp.KRR(JOBS, 3.0).privatize(job, rng)


@cache
def fitted(what: str) -> Any:
    """Results by name."""
    t = table()
    if what == "logit":
        return ldp.regression("ill ~ age + city + kids", t, {"ill": reports("ill")}).fit()
    if what == "private":
        both = {"ill": reports("ill"), "use": reports("use")}
        return ldp.regression("ill ~ age + city + use", t, both).fit()
    if what == "poisson":
        use = {"use": reports("use")}
        return ldp.regression("kids ~ age + use", t, use, model="poisson").fit()
    if what == "arrays":
        X = t[["age", "kids"]].assign(const=1.0)
        return ldp.PrivatizedLogit(reports("ill"), X).fit()
    if what == "robust":  # whose intervals are Wald, and quick
        return fitted("multinomial").model.fit(cov_type="HC0")
    return ldp.regression("job ~ age + kids", t, {"job": reports("job")}, model=what).fit()


def numerical(results: Any, of: Any) -> Array:
    """Derivatives of numbers that are a function of results, by central differences."""
    theta, h, found = results.theta, 1e-5, []
    for step in np.eye(theta.size) * h:
        ends = [of(replace(results, theta=theta + sign * step)) for sign in (1.0, -1.0)]
        found.append((ends[0] - ends[1]) / (2.0 * h))
    return np.array(found).T
