"""Coverage behind a personalised mechanism, in simulated surveys.

The full simulation takes 10,000 surveys a setting (Monte Carlo standard error .0022). Among the
cells luck carries a few beyond a limit: their settings are surveyed again, ten times as often, and
then the limits hold as they stand. With fewer surveys they are widened by four standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import at_least, coverage, error, repeat
from simulated.personal import BATCH, KINDS, Setting, estimates
from surveys import (
    assert_cut,
)
from surveys import default_intervals as exact_ends

import ldpstats as ldp
from ldpstats.inference import intervals
from ldpstats.models.personalized import intervals as personalized

Array = npt.NDArray[Any]

FULL = 10_000


pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]


SETTINGS = [
    Setting("urr", 10, 3, 1, 3.0, 1000, "many"),
    Setting("urap", 10, 0, 2, 1.0, 10_000, "few"),
    Setting("urr", 30, 5, 2, 0.5, 1000, "few"),
    Setting("urap", 30, 5, 2, 3.0, 10_000, "many"),
    Setting("urr", 10, 0, 2, 3.0, 100_000, "few"),
    Setting("urap", 10, 3, 1, 0.5, 1000, "many"),
]


def default_intervals(setting: Setting, tally: Array, correlated: bool = True) -> Array:
    """What `conf_int(clip=False)` gives, shape (R, k, 2)."""
    k, kappa, R = setting.k, setting.kappa, len(tally)
    r, V = estimates(setting, tally)
    ends = exact_ends(setting.pum.common, tally, setting.n)
    sd = np.sqrt(np.diagonal(V, axis1=1, axis2=2))
    product = sd[:, :, None] * sd[:, None, :]
    rho = np.divide(V, product, out=np.zeros(V.shape), where=product > 0.0)
    at = np.column_stack([np.arange(k), np.broadcast_to(k + np.arange(kappa), (k, kappa))])
    weights = np.column_stack([np.ones(k), setting.pi.T])
    own = rho[:, at[:, :, None], at[:, None, :]]
    own[..., np.arange(1 + kappa), np.arange(1 + kappa)] = 1.0
    if not correlated:
        own = np.broadcast_to(np.eye(1 + kappa), own.shape)
    down, up = r - ends[..., 0], ends[..., 1] - r
    assert down.min() > -1e-9 and up.min() > -1e-9 and own.shape == (R, k, 1 + kappa, 1 + kappa)
    below, above = personalized.mover(weights * down[:, at], weights * up[:, at], own)
    p = r @ setting.G.T
    return np.stack([p - below, p + above], axis=-1)


def coverages(setting: Setting, R: int, *key: int) -> pd.DataFrame:
    """Coverage of each category of a setting.

    Controls: "halved" standard errors; "known": bots as if they were not estimated; "apart": parts
    as if they did not vary together; "wald": the normal interval.
    """
    k, p = setting.k, setting.p
    names = ("default", "wald", "halved", "known", "apart")
    found = {name: np.zeros(k) for name in names}
    for i in range(0, R, BATCH):
        tally = setting.draw(min(BATCH, R - i), i, *key)
        r, V = estimates(setting, tally)
        estimate = r @ setting.G.T
        variance = np.einsum("xi,rij,xj->rx", setting.G, V, setting.G, optimize=True)
        se = np.sqrt(np.maximum(variance, 0.0))
        own = exact_ends(setting.pum.common, tally, setting.n)[:, :k]
        own = own + (r[:, k:] @ setting.pi)[..., None]
        for name, bounds in {
            "default": default_intervals(setting, tally),
            "wald": intervals.wald(estimate, se),
            "halved": intervals.wald(estimate, se / 2),
            "known": own,
            "apart": default_intervals(setting, tally, correlated=False),
        }.items():
            # to rounding where nothing varies
            found[name] += len(tally) / R * coverage(bounds, p, rounding=1e-12)
    frame = pd.DataFrame(found)
    return frame.assign(p=p, expected=setting.expected, own=setting.r[:k])


def outside(cells: pd.DataFrame, column: str, slack: float) -> pd.DataFrame:
    """Cells whose coverage is not .94 to .965; the upper limit where 50 tallies are expected."""
    low, high = cells[column] < 0.94 - slack, cells[column] > 0.965 + slack
    return cells[low | (high & (cells.expected >= 50))]


def check(setting: Setting, R: int, fits: int) -> None:
    cells = coverages(setting, R)
    slack = 0.0 if R >= FULL else 4 * float(error(0.94, R))
    wrong = outside(cells, "default", slack)
    if len(wrong) and R >= FULL:
        wrong = outside(coverages(setting, 10 * R, 1), "default", 0.0)
    assert wrong.empty, f"{setting}\n{wrong}"
    moving = cells.p * setting.n > 20  # rarer ones may hardly ever be reported
    assert (cells.halved[moving] < 0.9).all()  # control
    through = (cells.own == 0.0) & (cells.p > 0.0)
    assert through.any() and (cells.known[through] < 0.8).all()  # control
    for tally in setting.draw(fits, 7):
        results = setting.results(tally)
        ours = default_intervals(setting, tally[None])[0]
        np.testing.assert_allclose(results.conf_int(clip=False), ours, rtol=0, atol=1e-10)
        assert_cut(results.conf_int(), ours)


@pytest.mark.parametrize("setting", SETTINGS[:3], ids=str)
def test_coverage_of_some_settings(setting: Setting) -> None:
    check(setting, R=500, fits=2)


@pytest.mark.slow
def test_coverage(replications: Callable[..., int]) -> None:
    R = replications(FULL)
    for setting in SETTINGS:
        check(setting, R, fits=3)


@pytest.mark.slow
def test_normal_intervals_fail_where_reports_are_few(replications: Callable[..., int]) -> None:
    """Control: the reason for exact parts."""
    setting = Setting("urr", 10, 3, 1, 3.0, 10_000, "few")
    assert coverages(setting, replications(FULL)).wald.min() < 0.9


HARD = [  # few reports, nearly all of them of bots, and estimates that lean on one another
    (2, [0.05, 0.05, 0.9], [[0.5, 0.5]]),
    (2, [0.5, 0.0, 0.5], [[0.2, 0.8]]),
    (2, [0.0, 0.0, 1.0], [[0.01, 0.99]]),
    (3, [0.3, 0.2, 0.1, 0.4], [[0.5, 0.4, 0.1]]),
    (3, [0.02, 0.88, 0.0, 0.06, 0.04], [[0.5, 0.4, 0.1], [0.1, 0.0, 0.9]]),
    (3, [0.0, 0.998, 0.0, 0.001, 0.001], [[0.5, 0.4, 0.1], [0.1, 0.0, 0.9]]),
]


@dataclass(frozen=True)
class Hard(Setting):
    """A setting that is given in numbers."""

    index: int = 0

    @cached_property
    def pi(self) -> Array:
        return np.array(HARD[self.index][2])

    @cached_property
    def r(self) -> Array:
        return np.array(HARD[self.index][1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_coverage_of_hard_settings(kind: str, replications: Callable[..., int]) -> None:
    """At least .94 from 50 reports and epsilon = .1 on."""
    R = replications(FULL)
    slack = 4 * float(error(0.94, R))
    for index, (k, _, pi) in enumerate(HARD):
        for epsilon, n in ((0.1, 50), (1.0, 200), (6.0, 50), (6.0, 1000)):
            setting = Hard(kind, k, int(k == 3 and len(pi) == 2), len(pi), epsilon, n, "", index)
            cells = coverages(setting, R)
            assert cells.default.min() > 0.94 - slack, f"{setting}\n{cells}"


@pytest.mark.slow
def test_uncorrelated_parts_cover_too_much(replications: Callable[..., int]) -> None:
    """Control: bots and categories share the respondents."""
    setting = Hard("urr", 2, 0, 1, 3.0, 10_000, "", 0)
    cells = coverages(setting, replications(FULL))
    assert cells.expected.min() > 50
    assert (cells.apart > 0.98).all() and outside(cells, "default", 0.01).empty


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "case"), [("urr", "none"), ("urap", "mixed")])
def test_without_background_intervals_cover_what_is_estimated(
    kind: str, case: str, replications: Callable[..., int]
) -> None:
    """The frequencies as they would be if bots were spread like the rest."""
    R = replications(2000, least=250)
    setting = Setting(kind, 10, 3, 2, 1.0, 2000, "many")
    k, r = setting.k, setting.r
    known = {"home": setting.pi[0]} if case == "mixed" else {}
    given = r[k] if known else 0.0
    p = r[:k] + given * setting.pi[0]
    p[3:] += (r[k:].sum() - given) * r[3:k] / r[3:k].sum()
    tallies = setting.draw(R)

    def survey(i: int) -> dict[str, Any]:
        model = ldp.PersonalizedModel(setting.counts(tallies[i]), setting.pum, known)
        return {"ends": model.fit("inversion").conf_int()}

    ends = repeat(R, survey)["ends"]
    assert at_least(coverage(ends, p, rounding=1e-12), 0.94, R)
    # control: they say nothing of an error of the background
    assert coverage(ends, setting.p).min() < 0.5
