"""Size of tests behind a personalised mechanism, in simulated surveys."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import ALPHA, at_most, near, size
from simulated.personal import BATCH, KINDS, Setting, estimates
from surveys import (
    quadratic_forms,
    score_forms,
)

import ldpstats as ldp
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models.personalized import intervals as personalized

Array = npt.NDArray[Any]

FULL = 10_000


pytestmark = [
    pytest.mark.usefixtures("without_goodness"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]


# ---- sizes


def sizes(setting: Setting, R: int) -> dict[str, float]:
    """Rejection rates of true hypotheses at .05, of categories with 50 reports and more.

    With 20 reports of each of three categories together the Wald test rejects .063.
    """
    pvalues: dict[str, list[Array]] = {}
    k, S = setting.k, setting.S
    contrasts = {
        "t, through bots": np.eye(k)[[-1]],
        "t, two categories": np.eye(k)[[S]] - np.eye(k)[[S + 1]],
        "t, the first": np.eye(k)[[0]],
        "wald of three": np.eye(k)[[S, S + 2, -1]],
    }
    fits = 3
    for i in range(0, R, BATCH):
        tally = setting.draw(min(BATCH, R - i), i)
        r, V = estimates(setting, tally)
        for name, rows in contrasts.items():
            given = rows @ setting.G
            statistic = quadratic_forms(r - setting.r, V, given)
            if setting.kind == "urr":  # labels, of which the law under the null is known
                common = setting.pum.common
                statistic = score_forms(common, tally, setting.n, given, given @ setting.r)
            pvalue = chi2_pvalue(statistic, len(rows))
            pvalues.setdefault(name, []).append(pvalue)
            for survey, value in zip(tally[:fits], pvalue, strict=False):
                results, value_of = setting.results(survey), (rows, rows @ setting.p)
                # it knows skewness, and of bits the variance under the null: 40 reports where
                # 50 are expected are 1.41 standard errors away, by Wald's form 1.58
                abs_ = 0.01 if setting.kind == "urr" else 0.05
                found = results.wald_test(value_of).pvalue
                assert found == pytest.approx(value, rel=0.1, abs=abs_)
                if len(rows) == 1:
                    assert found == pytest.approx(results.t_test(value_of).pvalue, rel=1e-9)
        fits = 0
    return {name: size(np.concatenate(found)) for name, found in pvalues.items()}


SIZES = [  # without sensitive categories and with them, at strong and weak noise
    Setting("urr", 10, 3, 1, 0.5, 30_000, "many"),
    Setting("urap", 10, 0, 2, 0.5, 30_000, "many"),
    Setting("urr", 30, 5, 2, 3.0, 30_000, "many"),
    Setting("urap", 30, 5, 2, 1.0, 100_000, "many"),
]


def check_sizes(setting: Setting, R: int) -> None:
    found = pd.Series(sizes(setting, R))
    assert near(found, ALPHA, R, errors=4.5), f"{setting}\n{found}"


def test_sizes_of_a_setting() -> None:
    check_sizes(SIZES[0], 1000)


@pytest.mark.slow
def test_sizes(replications: Callable[..., int]) -> None:
    for setting in SIZES:
        check_sizes(setting, replications(FULL))


def absent(setting: Setting) -> tuple[Array, Array]:
    """Categories that nobody has, one sensitive and one not, and their weights on idle bots."""
    k = setting.k
    at = np.array([[0, k, k + 1], [k - 1, k, k + 1], [k - 1, k, k + 1]])
    return at, np.array([[1.0, 0.3, 0.1], [1.0, 0.02, 0.5], [1.0, 0.3, 0.0]])


@dataclass(frozen=True)
class Idle(Setting):
    """Nobody has the first and the last category, or uses the first two of three bots."""

    @cached_property
    def r(self) -> Array:
        r = np.concatenate([np.ones(self.k), [0.0, 0.0, 3.0]])
        r[[0, self.k - 1]] = 0.0
        return np.asarray(r / r.sum())


def presence(setting: Setting, R: int) -> tuple[Array, Array]:
    """Largest rejection rates of p = 0 at .05 and at .05/30, of both sides."""
    at, weights = absent(setting)
    offset, scale = setting.law
    labels = setting.kind == "urr"
    rates = []
    for i in range(0, R, BATCH):
        tally = setting.draw(min(BATCH, R - i), i)
        tails = personalized.presence(
            tally[:, at], setting.n, offset[at], scale[at], weights, labels
        )
        rates.append([[np.mean(p <= a, axis=0) for a in (0.05, 0.05 / 30)] for p in tails])
    mean = np.mean(rates, axis=0)
    return mean[:, 0].max(axis=-1), mean[:, 1].max(axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_presence_keeps_its_level(kind: str, replications: Callable[..., int]) -> None:
    R = replications(FULL)
    reached = 0.0
    for epsilon, n in itertools.product((0.1, 1.0, 6.0), (200, 1000, 100_000)):
        setting = Idle(kind, 10, 3, 3, epsilon, n, "idle")
        for level, rates in zip((0.05, 0.05 / 30), presence(setting, R), strict=True):
            assert at_most(rates, level, R, errors=4.5), setting
            if n == 100_000:
                reached = max(reached, rates.max() / level)
    assert reached > 0.8  # not by rejecting nothing


def test_presence_in_results_is_what_was_simulated() -> None:
    for kind in KINDS:
        setting = Idle(kind, 10, 3, 3, 1.0, 1000, "idle")
        at, weights = absent(setting)
        offset, scale = setting.law
        tally = setting.draw(1)[0]
        larger, smaller = personalized.presence(
            tally[at], 1000, offset[at], scale[at], weights, kind == "urr"
        )
        pi = np.full((3, 10), 0.0)
        pi[0, [0, 9]], pi[1, [0, 9]] = [0.3, 0.02], [0.1, 0.5]
        pi[:2, 4] = 1.0 - pi[:2].sum(axis=1)
        pi[2, 5] = 1.0
        background = dict(zip(setting.pum.tags, pi, strict=True))
        model = ldp.PersonalizedModel(setting.counts(tally), setting.pum, background, exact=True)
        results = model.fit("inversion")
        np.testing.assert_allclose(results.presence_pvalues()[[0, 9]], larger[:2], rtol=1e-9)
        both = np.minimum(2 * np.minimum(larger, smaller), 1)[:2]
        np.testing.assert_allclose(results.pvalues[[0, 9]], both, rtol=1e-9)
