"""A survey of visits to regions behind a personalised mechanism, and its fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import ldpstats as ldp

Array = npt.NDArray[Any]

REGIONS = ("centre", "park", "clinic", "market", "school")
HOMES = np.array([0.1, 0.5, 0.0, 0.4, 0.0])
WORKS = np.array([0.4, 0.0, 0.1, 0.3, 0.2])
R = np.array([0.25, 0.1, 0.08, 0.12, 0.0, 0.3, 0.15])  # school is reached through "work" only
K = len(REGIONS)

PUMS = {
    "urr": ldp.PUM(ldp.URR(REGIONS, {"clinic"}, epsilon=1.0), ("home", "work")),
    "urap": ldp.PUM(ldp.URAP(REGIONS, {"clinic"}, epsilon=1.0), ("home", "work")),
}
CASES: dict[str, dict[str, Any]] = {
    "none": {},
    "mixed": {"background": {"work": WORKS}},
    "given": {"background": {"home": HOMES, "work": WORKS}},
    "exact": {"background": {"work": WORKS, "home": HOMES}, "exact": True},
}


def survey(kind: str, n: int = 20_000, seed: int = 1) -> Any:
    """Bit sums under uRAP, counts under uRR."""
    return PUMS[kind].common.draw(R, n, np.random.default_rng(seed))


def patterns(kind: str, n: int = 20_000, seed: int = 1) -> ldp.Counts:
    common = PUMS[kind].common
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(R.size), rng.multinomial(n, R))
    return common.privatize(common.categories.take(codes), rng).tally()


def fit(kind: str, case: str, method: str | None = None, n: int = 20_000) -> Any:
    data = survey(kind, n) if method == "inversion" else patterns(kind, n)
    return ldp.PersonalizedModel(data, PUMS[kind], **CASES[case]).fit(method)
