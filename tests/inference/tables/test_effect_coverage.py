"""What the intervals of effects cover, in some settings of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.effect_surveys import Setting, z_of

from ldpstats.inference.tables import effects
from ldpstats.inference.tables.effects import (
    conditionals,
    cramers_v,
    odds_ratio,
    risk_difference,
    risk_ratio,
)
from ldpstats.problems.covariance import Covariance

Array = npt.NDArray[Any]

SETTINGS = [  # dense; with weak margins; with strong association of many
    Setting("3x4 dense", 0.0, 2.0, 10_000),
    Setting("5x5 sparse", 0.3, 1.0, 10_000),
    Setting("5x5 sparse", 0.3, 4.0, 100_000),
]
PAIRS = ((0, 1), (0, 2), (1, 2))
# pooled over the effects of a kind, where they are given: sets of weak margins are unbounded, and
# an odds ratio is given where all its cells stand out, which selects
PROMISED = {
    "conditional": (0.93, 0.97),
    "risk": (0.93, 1.0),
    "odds": (0.93, 1.0),
    "V": (0.93, 0.98),
}


def held(P: Array, V: Covariance, truth: Array) -> dict[str, list[bool]]:
    """Whether the effects that are given hold what they estimate."""
    given = {axis: truth / truth.sum(axis=1 - axis, keepdims=True) for axis in (0, 1)}
    v = float(np.sqrt(np.sum(z_of(truth) ** 2) / (min(truth.shape) - 1)))
    pairs: list[tuple[str, Any, float]] = [("V", cramers_v(P, V), v if v > 1e-9 else 0.0)]
    p = given[0]
    for i, i2 in PAIRS:
        for j in range(P.shape[1]):
            pairs.append(("risk", risk_difference(P, V, i, i2, j), p[i, j] - p[i2, j]))
            pairs.append(("risk", risk_ratio(P, V, i, i2, j), p[i, j] / p[i2, j]))
        for j, j2 in PAIRS:
            odds = truth[i, j] * truth[i2, j2] / (truth[i, j2] * truth[i2, j])
            pairs.append(("odds", odds_ratio(P, V, (i, i2), (j, j2)), odds))
    found: dict[str, list[bool]] = {name: [] for name in (*PROMISED, "halved")}
    for name, effect, value in pairs:
        if "standard errors from 0" not in effect.message:
            found[name].append(value in effect)
    for name, covariance in (("conditional", V), ("halved", V.scaled(0.25))):
        for axis in (0, 1):
            _, lower, upper, _ = conditionals(P, covariance, axis)
            found[name].extend(((lower <= given[axis]) & (given[axis] <= upper)).ravel())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_coverage(
    setting: Setting, replications: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "odds_profile", lambda *_: (1.0, 0.0, np.inf))  # takes long
    R = replications(1000)
    every = [held(P, V, setting.P) for P, V in setting.surveys(R, SETTINGS.index(setting))]
    slack = 4 * np.sqrt(0.95 * 0.05 / R)  # as of one effect: those of a survey go together
    for name, (low, high) in PROMISED.items():
        pooled = [one for found in every for one in found[name]]
        if len(pooled) > R / 2:
            assert low - slack <= np.mean(pooled) <= high + slack, name
    assert np.mean([one for found in every for one in found["halved"]]) < 0.8  # the control
