"""`one_step` in simulated surveys: its intervals, and what it is worth beside the maximum."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from simulate import ALPHA, coverage, error, repeat
from simulated.pairs import Setting

from ldpstats.errors import BoundaryWarning
from ldpstats.estimators import OneStep

Array = npt.NDArray[Any]

pytestmark = [
    pytest.mark.filterwarnings("ignore::ldpstats.errors.IncompleteListWarning"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
    pytest.mark.usefixtures("without_goodness"),
]


def check_one_step_intervals(setting: Setting, P: Array, R: int) -> None:
    """Default intervals cover, and up to epsilon 2 those around `one_step`.

    The latter are shorter than those of moments, which are the default where bits are hashed. Their
    mean ratio in a survey has a standard deviation of .003: every fifth survey is enough for it.
    """
    rng = setting.rng(11)

    def survey(r: int) -> dict[str, Any]:
        model = setting.survey(P, rng)
        results = model.fit("one_step")
        default = moments = results.conf_int(clip=False)
        if setting.name == "unary":
            moments = np.full(default.shape, np.nan)
            if r % 5 == 0:
                moments = model.fit("moments-gls").conf_int(clip=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BoundaryWarning)
            own = results.conf_int(method="wald-mle", clip=False)
        return {"default": default, "moments": moments, "own": own}

    found, se = repeat(R, survey), error(ALPHA, R)
    for name in ("default", "own") if setting.epsilon <= 2 else ("default",):
        off = coverage(found[name], P.ravel()) - (1 - ALPHA)
        assert abs(off.mean()) < max(0.01, 2.5 * se)
        assert np.abs(off).max() < max(0.02, 4.5 * se)
    assert np.nanmean(np.diff(found["own"]) / np.diff(found["moments"])) < 0.98


@pytest.mark.slow
@pytest.mark.usefixtures("without_tests")
def test_intervals_around_one_step() -> None:
    setting = Setting("unary", (5, 5), 2.0, 10_000)
    check_one_step_intervals(setting, setting.diagonal(0.3), 200)


@pytest.mark.usefixtures("without_tests")
@pytest.mark.slow
@pytest.mark.parametrize("where", ["dense", "sparse"])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("name", ["unary", "bloom"])
def test_intervals_around_one_step_in_many_surveys(
    name: str, epsilon: float, where: str, replications: Callable[..., int]
) -> None:
    setting = Setting(name, (5, 5), epsilon, 10_000, where)
    R = replications(1000, least=250) if name == "unary" else replications(200, least=80)
    for P in (setting.independent, setting.diagonal(0.3)):
        check_one_step_intervals(setting, P, R)


def worth(setting: Setting, P: Array, R: int, newton: int = 0) -> tuple[float, float]:
    """Squared error of `one_step` over that of the maximum likelihood estimate, and its SE.

    Over the cells above five standard errors, survey by survey on the same reports.
    """
    rng = setting.rng(8, newton)

    def survey(_: int) -> dict[str, Any]:
        model = setting.survey(P, rng)
        return {"mle": model.maximum().p, "one step": model.fit(OneStep(newton)).params}

    errors = [np.square(found - P.ravel()) for found in repeat(R, survey).values()]
    clear = P.ravel() > 5 * np.sqrt(errors[0].mean(axis=0))
    assert clear.sum() > P.size / 4
    best, ours = (error[:, clear].sum(axis=1) for error in errors)
    ratio = float(ours.mean() / best.mean())
    return ratio, float(np.std(ours - ratio * best) / best.mean() / np.sqrt(R))


@pytest.mark.usefixtures("without_tests")
def test_one_step_is_as_good_as_the_maximum() -> None:
    setting = Setting("unary", (5, 5), 2.0, 100_000)
    ratio, se = worth(setting, setting.trend(0.2), 60)
    assert ratio < 1.02 + 3 * se
    assert se < 0.01
    # Control: under strong dependence it is not, but one Newton step more is.
    setting = Setting("unary", (5, 5), 4.0, 100_000)
    ratio, se = worth(setting, setting.diagonal(0.5), 60)
    assert ratio - 3 * se > 1.02
    ratio, se = worth(setting, setting.diagonal(0.5), 60, newton=1)
    assert ratio < 1.02 + 3 * se


@pytest.mark.usefixtures("without_tests")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "correlation", "surveys"),
    [
        (Setting("unary", (5, 5), 2.0, 100_000), 0.2, 1000),
        (Setting("unary", (5, 5), 4.0, 100_000), 0.2, 1000),
        (Setting("unary", (30, 2), 2.0, 100_000), 0.15, 40),
        (Setting("bloom", (5, 5), 2.0, 100_000), 0.2, 40),
    ],
    ids=str,
)
def test_one_step_in_many_surveys(setting: Setting, correlation: float, surveys: int) -> None:
    ratio, se = worth(setting, setting.trend(correlation), surveys)
    assert ratio < 1.02 + 3 * se
    assert se < 0.015
