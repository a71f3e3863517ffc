"""Differences of two groups as models report them: with the laws of every kind of estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import near, repeat

import ldpstats as ldp
from ldpstats.inference.intervals import Difference
from ldpstats.models.frequency.answers import cell_law

Array = npt.NDArray[Any]
JOBS = ("nurse", "teacher", "driver", "cook")
P, Q = np.array([0.5, 0.3, 0.19, 0.01]), np.array([0.4, 0.33, 0.25, 0.02])

MAKERS: dict[str, tuple[ldp.Mechanism, ldp.Mechanism]] = {
    "krr": (ldp.KRR(JOBS, 1.0), ldp.KRR(JOBS, 3.0)),
    "bits": (ldp.KRAPPOR(JOBS, 1.0), ldp.KRAPPOR(JOBS, 2.0)),
    "sensitive": (ldp.URR(JOBS, {"nurse", "cook"}, 1.0), ldp.URAP(JOBS, {"cook"}, 1.0)),
    "dense": (
        ldp.CustomMechanism(np.full((4, 4), 0.15) + 0.4 * np.eye(4), JOBS),
        ldp.CustomMechanism(
            [[0.4, 0.2, 0.2, 0.1, 0.1], [0.1, 0.5, 0.2, 0.1, 0.1], [0.1, 0.1, 0.6, 0.1, 0.1],
             [0.1, 0.1, 0.1, 0.3, 0.4]], JOBS),
    ),
    "candidates": (
        ldp.ORR(8, 32, epsilon=2.0),
        ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75),
    ),
}  # fmt: skip


def surveyed(name: str, rng: np.random.Generator, n: int, m: int) -> list[ldp.FrequencyResults]:
    """The fits of two groups, of n and m respondents."""
    candidates = JOBS if name == "candidates" else None
    fits = []
    for mechanism, size, law in zip(MAKERS[name], (n, m), (P, Q), strict=True):
        reports = mechanism.privatize(rng.choice(JOBS, size, p=law), rng)
        fits.append(ldp.FrequencyModel(reports, candidates).fit_quietly())
    return fits


@pytest.mark.parametrize("name", MAKERS)
def test_polynomials_are_the_laws_of_the_estimates(name: str) -> None:
    """Variances at the estimate, and anywhere between, are those that the fit rests on."""
    fit = surveyed(name, np.random.default_rng(2), 1500, 300)[0]
    law = cell_law(fit)
    inside = np.clip(fit.linear.estimate, 0.0, 1.0)
    expected = fit.linear.bse() if fit.tally is None else fit.tally.law(inside)[0]
    np.testing.assert_allclose(law.at(inside)[0], expected, rtol=0.02)
    if fit.tally is not None:
        for v in (0.0, 0.17, 0.62, 1.0):
            se, skewness, _ = fit.tally.law(np.full(4, v))
            if not fit._counted.any():
                np.testing.assert_allclose(law.at(np.full(4, v))[0], se, rtol=1e-8)
                np.testing.assert_allclose(law.at(np.full(4, v))[1], skewness, atol=1e-8)


def test_result_of_two_samples_is_stored() -> None:
    krr = ldp.KRR(JOBS, 1.0)
    test = ldp.two_sample_test(krr.counts([50, 40, 30, 20]), krr.counts([30, 30, 30, 50]))
    again = ldp.TwoSampleResult.from_dict(test.to_dict())
    assert again == test and isinstance(test, ldp.TestResult) and str(again) == str(test)
    pd.testing.assert_frame_equal(again.differences(0.1), test.differences(0.1))
    assert list(test.differences().columns) == ["estimate", "se", "lower", "upper", "pvalue"]


def test_two_categories_mirror_each_other() -> None:
    warner = ldp.Warner(epsilon=1.0)
    found = ldp.two_sample_test(warner.counts([60, 40]), warner.counts([30, 50])).differences()
    no, yes = found.to_numpy()
    np.testing.assert_allclose(no[[0, 1, 4]], [-yes[0], yes[1], yes[4]], rtol=1e-9)
    np.testing.assert_allclose(no[[2, 3]], -yes[[3, 2]], atol=1e-9)


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("alpha=", lambda t: t.differences(0.0)),
        ("conf_level=0.9: is called alpha", lambda t: t.differences(conf_level=0.9)),
        ("document=", lambda t: ldp.TwoSampleResult.from_dict({})),
        ("groups=", lambda t: ldp.TwoSampleResult("a", 1.0, 1.0, 0.5, "b", "", (1, 2))),
        ("pvalue=", lambda t: ldp.TwoSampleResult("a", 1.0, 1.0, 1.5, "b", "", t.groups)),
    ],
)
def test_bad_input(words: str, call: Callable[[Any], object]) -> None:
    krr = ldp.KRR(JOBS, 1.0)
    test = ldp.two_sample_test(krr.counts([5, 4, 3, 2]), krr.counts([3, 3, 3, 5]))
    with pytest.raises(ldp.InvalidArgument, match=words):
        call(test)


def test_selected_candidates_are_not_compared() -> None:
    rappor = MAKERS["candidates"][1]
    rng = np.random.default_rng(1)
    groups = {x: rappor.privatize(rng.choice(JOBS, 2000, p=P), rng) for x in "ab"}
    results = ldp.GroupedModel(groups, candidates=[*JOBS, *"uvwxyz"]).fit("lasso")
    with pytest.raises(ldp.errors.NotAvailable, match="method='inversion'"):
        results.differences()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bits", "sensitive", "candidates"])
def test_coverage(name: str, replications: Callable[..., int]) -> None:
    """The true difference is in the interval where it is not rejected; k-RR is tested by arrays."""
    R, rng = replications(2000, least=200), np.random.default_rng([23, list(MAKERS).index(name)])
    truth = P - Q

    def survey(_: int) -> dict[str, Any]:
        fits = surveyed(name, rng, 400, 1500)
        laws = (cell_law(fit) for fit in fits)
        pair = Difference(fits[0].linear.estimate, fits[1].linear.estimate, *laws)
        pvalues = [pair.pvalues(float(value))[j] for j, value in enumerate(truth)]
        return {"held": np.array(pvalues) >= 0.05}

    assert near(repeat(R, survey)["held"].mean(axis=0), 0.95, R)
