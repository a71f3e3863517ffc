"""The study of uRR and uRAP: its expected losses, what it stores, and what that says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies import urr_or_urap
from benchmarks.studies import utility_optimised as study
from benchmarks.studies.utility_optimised import TABLES, alone, of
from ldpstats import planning


@pytest.fixture(scope="module")
def results() -> pd.DataFrame:
    return study.load_results()


def test_where_urr_and_urap_cross() -> None:
    rules = urr_or_urap.rules()
    assert (rules["epsilon*"] - rules["at another k"]).abs().max() < 1e-3
    assert (rules["epsilon*"] - rules["at a share of .5"]).abs().max() < 0.01
    for size in (1, 2, 3, 4, 5):
        grid = np.geomspace(0.001, 20.0, 50)
        assert all(urr_or_urap.urap_less_urr(e, 50, size, 0.15) > 0.0 for e in grid)


def test_what_the_best_theta_gains() -> None:
    gains = urr_or_urap.gains().xs("gain", axis=1, level=1)
    assert (gains[0.1] < 1.001).all()
    for name, low, high in (("location", 1.3, 1.35), ("census", 1.5, 1.6), ("gss", 1.6, 1.7)):
        assert low < gains.loc[name, 3.0] < high
    assert 4.6 < gains.loc["gss", "ln k"] < 4.7


def test_its_expected_losses_are_those_of_the_package() -> None:
    people, sensitive = study.load("gss", 5)
    p, n = people / people.sum(), 30_000
    for epsilon in (0.1, 1.0, np.log(800)):
        of_sensitive = (p, sensitive, epsilon, n)
        by_formula = {
            "RR": (planning.krr_l1(p, epsilon, n), planning.krr_l2(p, epsilon, n)),
            "RAPPOR": (planning.krappor_l1(p, epsilon, n), planning.krappor_l2(p, epsilon, n)),
            "uRR": (planning.urr_l1(*of_sensitive), planning.urr_l2(*of_sensitive)),
            "uRAP": (planning.urap_l1(*of_sensitive), planning.urap_l2(*of_sensitive)),
        }
        for kind, (l1, l2) in by_formula.items():
            expected = study.expected(kind, p, sensitive, epsilon, n)
            np.testing.assert_allclose(expected, (l1 / 2.0, l2), rtol=1e-9)


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_ones() -> None:
    study.check()


def test_inversion_loses_what_theory_says(results: pd.DataFrame) -> None:
    """Squared l2 within Monte Carlo error.

    TV too, but for categories of which less than a handful of reports are expected, where the
    normal approximation is too large.
    """
    theory = results[(results["method"] == "inversion") & (results["surveys"] > 0)]
    z = (theory["l2"] - theory["l2_expected"]) / theory["l2_se"]
    ratio = theory["tv"] / theory["tv_expected"]
    # the chance of a t value (19 degrees of freedom) beyond 5 in 360 is .03
    assert z.abs().max() < 5.0 and 0.85 < np.sqrt((z**2).mean()) < 1.2
    assert 0.85 < ratio.min() and ratio.max() < 1.1


def test_orders_of_magnitude(results: pd.DataFrame) -> None:
    orders = study.orders(results)
    by_inversion, by_mle = orders.loc["inversion"], orders.loc["mle"]
    # location: 195; errors of the ratio are 5 % at most
    assert by_inversion.loc["location", "RR / uRR"] > 170.0
    assert 28.0 < by_inversion.loc["location", "RAPPOR / uRAP"] < 34.0
    assert 10.5 < by_inversion.loc["census", "RR / uRR"] < 13.5
    assert 4.8 < by_inversion.loc["census", "RAPPOR / uRAP"] < 5.8
    assert 1.9 < by_inversion.loc["gss", "RR / uRR"] < 2.5
    assert 1.5 < by_inversion.loc["gss", "RAPPOR / uRAP"] < 1.8
    assert by_mle["RAPPOR / uRAP"].between(3.0, 11.5).all() and by_mle["RR / uRR"].max() < 6.0
    for name in TABLES:
        unaided = min(of(results, name, kind, "mle", "0.1") for kind in ("RR", "RAPPOR"))
        low, high = (0.8, 0.95) if name == "census" else (1.3, 2.0)
        assert low < unaided / alone(results, name, "guess") < high
