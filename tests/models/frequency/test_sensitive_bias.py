"""Bias and standard errors behind URR and URAP in simulated surveys, and what zeros do to them.

`PYTHONPATH=tests python tests/models/frequency/test_sensitive_bias.py` prints the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import bias, repeat
from simulated.sensitive import A_FEW, MECHANISMS, SIMULATED, Setting
from surveys import (
    as_counts,
    estimates,
    projected,
)

import ldpstats as ldp

Array = npt.NDArray[Any]

FULL = 10_000

# of thousands of surveys a few have a goodness of fit below .001 by chance, and fits say so
pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")


# ---- bias and standard errors


def calibration(setting: Setting, R: int) -> pd.DataFrame:
    """Bias of the linear estimate in Monte Carlo errors, and claimed over actual variances.

    "euclidean" is the control: variances at the nearest point of the simplex, to which categories
    move alike however well they are known.
    """
    counts, some = setting.draw(R, stream=5), setting.n * setting.tallied >= 5
    estimate, variance = estimates(setting.mechanism, counts, setting.n)
    offset, scale = setting.law
    m = offset + scale * projected(estimate)
    nearest = m * (1 - m) / scale**2 / setting.n
    x, actual = estimate[:, some], estimate[:, some].var(axis=0)
    frame = {
        "p": setting.p[some],
        "bias": bias(x, setting.p[some]),
        "ratio": variance[:, some].mean(axis=0) / actual,
        "error": np.sqrt((np.maximum(stats.kurtosis(x, axis=0), 0) + 2) / R),
        "euclidean": nearest[:, some].mean(axis=0) / actual,
        "sensitive": setting.is_sensitive[some],
        "expected": setting.n * setting.tallied[some],
    }
    return pd.DataFrame(frame)


def check_calibration(setting: Setting, R: int) -> None:
    """Unbiased; variances are right to 5 % and four Monte Carlo errors.

    The 5 % are what the projection takes from categories of some ten reports where the sensitive
    ones are noisy. Where nobody has a sensitive category, the cut of negative estimates adds 0.4
    standard deviations of the tally on average.
    """
    cells = calibration(setting, R)
    assert cells.bias.abs().max() < 4.5
    off, band = cells.ratio - 1, 0.05 + 4 * cells.error
    wrong = cells[(off < -band) | (off > band + 0.4 / np.sqrt(cells.expected))]
    assert wrong.empty, f"{setting}\n{wrong}"


@pytest.mark.parametrize("setting", A_FEW, ids=str)
def test_standard_errors_of_two_settings(setting: Setting) -> None:
    check_calibration(setting, R=2000)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SIMULATED, ids=str)
def test_standard_errors(setting: Setting, replications: Callable[..., int]) -> None:
    check_calibration(setting, replications(FULL))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_euclidean_projection_would_lose_what_is_known_well(name: str) -> None:
    setting = Setting(name, 50, 0.2, 1.0, 10_000, 0)
    cells = calibration(setting, 1000)
    check_calibration(setting, 1000)
    assert (1 - cells.euclidean).max() > 0.05 + 4 * cells.error.max()


FITTED = [(name, method) for name in MECHANISMS for method in ("inversion", "mle", "em")]


def fits(name: str, method: str, R: int) -> pd.DataFrame:
    """Bias, spread and claimed standard errors of an estimator, at an interior p."""
    setting, p = Setting(name, 5, 0.4, 1.0, 20_000, 0), np.array([0.35, 0.25, 0.2, 0.12, 0.08])
    rng = np.random.default_rng([8, len(name)])

    def survey(_: int) -> dict[str, Any]:
        reports = setting.mechanism.privatize(rng.choice(5, setting.n, p=p), rng)
        results = ldp.FrequencyModel(reports).fit(method)
        return {"params": results.params, "bse": results.bse}

    found = repeat(R, survey)
    sd = found["params"].std(axis=0)
    ratio = found["bse"].mean(axis=0) / sd
    return pd.DataFrame({"bias": bias(found["params"], p), "ratio": ratio, "sd": sd})


def check_fits(name: str, method: str, R: int) -> None:
    found = fits(name, method, R)
    assert found.bias.abs().max() < 4
    assert (found.ratio - 1).abs().max() < 4 / np.sqrt(2 * R)


@pytest.mark.parametrize(("name", "method"), [FITTED[1], FITTED[5], FITTED[8], FITTED[10]])
def test_standard_errors_of_estimators(name: str, method: str) -> None:
    check_fits(name, method, R=100)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method"), FITTED)
def test_standard_errors_of_estimators_in_many_surveys(
    name: str, method: str, replications: Callable[..., int]
) -> None:
    check_fits(name, method, replications(1000))


def test_em_has_standard_errors_where_answers_were_never_revealed() -> None:
    """It leaves them a trace of probability, which the maximum does not."""
    p = np.array([0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
    urap, rng = ldp.URAP(6, (0, 3), 1.0), np.random.default_rng(1)
    model = ldp.FrequencyModel(urap.privatize(rng.choice(6, 2000, p=p), rng))
    em, mle = model.fit("em"), model.fit("mle")
    np.testing.assert_allclose(em.params, mle.params, atol=1e-3)
    np.testing.assert_allclose(em.bse, mle.bse, atol=1e-4)
    assert (em.bse[[4, 5]] == 0).all()


def test_what_the_threshold_leaves_is_spread_over_all_others() -> None:
    """Biased, as in the papers: what nobody has gets a share of what is below the threshold."""
    R, setting = 400, Setting("urap", 20, 0.2, 1.0, 10_000, 0)
    counts, absent = setting.draw(R, stream=6), setting.p == 0
    found = np.array(
        [
            ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n))
            .fit("thresholded")
            .params
            for survey in counts
        ]
    )
    assert bias(found[:, absent], 0.0).min() > 4
    linear = estimates(setting.mechanism, counts, setting.n)[0]
    some = setting.n * setting.tallied >= 5
    assert np.abs(bias(linear[:, some], setting.p[some])).max() < 4


# ---- p-values and intervals


@pytest.mark.parametrize("name", MECHANISMS)
def test_pvalues_and_intervals_agree(name: str) -> None:
    """p is below alpha exactly where the interval of level 1 - alpha leaves zero out."""
    setting = Setting(name, 20, 0.4, 1.0, 1000, 0)
    told = 0
    for survey in setting.draw(5, stream=7):
        results = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n)).fit()
        for x, pvalue in results.pvalues.items():
            if not 1e-10 < pvalue < 1:  # at an end of the scale: zero is in, or out, at any level
                lower = results.conf_int(alpha=1e-6, clip=False).lower[x]
                assert (lower > 0) == (pvalue < 1e-6)
                continue
            for level, inside in ((pvalue * (1 + 1e-6), False), (pvalue * (1 - 1e-6), True)):
                lower, upper = results.conf_int(alpha=level, clip=False).loc[x]
                assert (lower <= 0 <= upper) == inside
            told += 1
        alone = results.presence_pvalues()
        twice = np.minimum(2 * np.minimum(alone, 1), 1)
        larger = results.linear_params > 0
        np.testing.assert_allclose(results.pvalues[larger], twice[larger], rtol=1e-9)
        test = results.t_test(np.eye(20)[[0]] - np.eye(20)[[1]])
        level = float(np.ravel(test.pvalue)[0])
        ends = np.abs(test.conf_int(alpha=level)[0])
        assert ends.min() < 1e-9 * ends.max()  # zero is an end of the interval of that level
    assert told > 10


# ---- categories that are never or seldom reported


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_category_that_p0_rules_out_is_proved_by_one_report(name: str) -> None:
    setting = Setting(name, 20, 0.4, 1.0, 1000, 0)
    p0, never = setting.p, np.flatnonzero(~setting.is_sensitive & (setting.p == 0))
    survey = setting.draw(1, stream=8)[0]
    model = ldp.FrequencyModel(as_counts(setting.mechanism, survey, 1000))
    test = model.test_distribution(p0)
    assert 0.001 < test.pvalue < 1 and "few reports were tested" in test.note
    survey[never[0]] += 1
    again = ldp.FrequencyModel(as_counts(setting.mechanism, survey, 1000 + 1))
    test = again.test_distribution(p0)
    assert test.statistic == np.inf and test.pvalue == 0 and "rules out" in test.note
    assert again.fit("inversion").pvalues[never[0]] == 0


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_neither_sample_reports_takes_no_part(name: str) -> None:
    setting = Setting(name, 20, 0.4, 1.0, 1000, 0)
    a, b = (as_counts(setting.mechanism, x, 1000) for x in setting.draw(2, stream=9))
    wald = ldp.two_sample_test(a, b, "wald")
    assert 0.001 < wald.pvalue < 1 and wald.df < 19
    assert 0.001 < ldp.two_sample_test(a, b).pvalue < 1
    other = ldp.URR(20, setting.mechanism.sensitive, 1.5).draw(
        setting.p, 1000, np.random.default_rng(10)
    )
    assert 0.001 < ldp.two_sample_test(a, other).pvalue < 1
    fit = ldp.FrequencyModel([a, other]).fit("inversion").goodness_of_fit
    assert fit is not None and fit.pvalue > 0.001


def test_nnls_of_bits_is_the_estimate_without_its_negative_entries() -> None:
    setting = Setting("urap", 20, 0.4, 1.0, 1000, 0)
    model = ldp.FrequencyModel(as_counts(setting.mechanism, setting.draw(1)[0], 1000))
    linear = model.fit("inversion").params
    np.testing.assert_allclose(model.fit("nnls").params, np.maximum(linear, 0), atol=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_plug_in_leaves_what_is_known_well_where_it_was_seen(name: str) -> None:
    """It is the nearest distribution in standard errors: max(v - mu variances, 0)."""
    setting = Setting(name, 50, 0.2, 0.3, 10_000, 0)
    survey = setting.draw(1, stream=11)[0]
    model = ldp.FrequencyModel(as_counts(setting.mechanism, survey, setting.n))
    p, v = model.moments().plug_in(), model.moments().estimate()[0]
    assert p.min() >= 0 and p.sum() == pytest.approx(1)
    se = np.sqrt(model.moments().covariance().variances())
    well = ~setting.is_sensitive & (survey > 0)
    assert np.all(np.abs(p - v)[well] < 0.5 * se[well])
    assert np.all(p[~setting.is_sensitive & (survey == 0)] == 0)


if __name__ == "__main__":
    pd.options.display.float_format = "{:.4f}".format
    claimed = pd.concat([calibration(s, FULL) for s in SIMULATED])
    print(claimed.groupby("sensitive")[["ratio", "euclidean"]].agg(["min", "max"]).to_string())
    print(pd.concat({key: fits(*key, 1000) for key in FITTED}).to_string())
