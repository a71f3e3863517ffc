"""Grams of a position that are taken for held, and how many of them are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from shared.dictionary_stages import GRAMS, LAYOUT, Array, collected, screened

import ldpstats as ldp
from ldpstats import KRAPPOR, KRR, ORAPPOR, ORR, RAPPOR
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.search import hashed_grams
from ldpstats.models.dictionary.search.pairs import pair_tables, position_counts
from ldpstats.models.dictionary.search.screening import screen


@pytest.mark.parametrize(
    "mechanism",
    [
        KRR(GRAMS, 2.0),
        KRAPPOR(GRAMS, 2.0, theta=0.5),
        ldp.CustomMechanism(KRR(GRAMS, 2.0).channel().matrix(), GRAMS),
        ORR(8, 32, epsilon=2.0, alphabet=GRAMS),
    ],
    ids=["krr", "oue", "custom", "orr"],
)
def test_known_grams_are_those_of_the_marginal_fit(mechanism: ldp.Mechanism) -> None:
    reports = collected(mechanism, 6_000)
    for a, kept in enumerate(screened(reports)):
        fit = ldp.FrequencyModel(position_counts(reports, a)).fit("inversion")
        grams = kept.grams.tolist()
        np.testing.assert_allclose(kept.estimate, fit.linear_params[grams], rtol=1e-10)
        np.testing.assert_allclose(kept.se, fit.linear_bse[grams], rtol=1e-10)
        assert np.all(np.diff(kept.estimate) <= 0.0) and kept.nobs == fit.nobs
        assert kept.critical == pytest.approx(stats.norm.isf(2.0 / LAYOUT.n_grams), rel=1e-12)
        assert kept.z.min() >= kept.critical
        if fit.exact is not None:  # binomial tails
            p = fit.presence_pvalues()
            assert set(grams) == set(p.index[p <= 2.0 / LAYOUT.n_grams])
            np.testing.assert_allclose(kept.z, stats.norm.isf(p[grams]), rtol=1e-8)


@pytest.mark.parametrize(
    "mechanism",
    [
        ORR(5, 256, epsilon=2.0),
        RAPPOR(64, 2, 32, f=0.0, p=0.25, q=0.75),
        ORAPPOR(16, 1, 64, epsilon=2.0),
    ],
    ids=["orr", "rappor", "orappor"],
)
def test_hashed_grams_are_estimated_together(mechanism: Any) -> None:
    reports = collected(mechanism, 20_000)
    for a, kept in enumerate(screened(reports)):
        counts = position_counts(reports, a)
        problem = mechanism.moments(counts, kept.grams.tolist())
        np.testing.assert_allclose(kept.estimate, problem.estimate()[0], rtol=1e-12)
        np.testing.assert_allclose(kept.se**2, problem.covariance().variances(), rtol=1e-12)
        assert {"abcdab"[2 * a : 2 * a + 2], "cdabcd"[2 * a : 2 * a + 2]} <= set(kept.grams)
        assert kept.z.min() >= kept.critical and np.all(np.diff(kept.estimate) <= 0.0)
        if mechanism.n_bits:  # sums of bits do
            (sums,) = screen(mechanism, [counts.bit_counts()], LAYOUT, 2.0, 200)
            np.testing.assert_array_equal(sums.grams, kept.grams)
            np.testing.assert_array_equal(sums.z, kept.z)


@pytest.mark.parametrize(
    "mechanism", [KRR(GRAMS, 2.0), ORR(5, 256, epsilon=2.0)], ids=["krr", "orr"]
)
def test_at_most_so_many_grams(mechanism: ldp.Mechanism) -> None:
    reports = collected(mechanism, 6_000)
    for every, few in zip(screened(reports), screened(reports, most=3), strict=True):
        assert every.n_left_out == 0 and few.n_left_out == every.grams.size - 3 > 0
        assert set(few.grams) == set(every.grams[np.argsort(-every.z)[:3]])
    (strict, *_), (loose, *_) = screened(reports, 1e-6), screened(reports, 1e9)
    assert strict.critical > 5.3 and loose.critical == 0.0
    assert set(strict.grams) < set(loose.grams)


@pytest.mark.parametrize(
    "mechanism", [KRR(GRAMS, 2.0), ORR(5, 64, epsilon=2.0)], ids=["krr", "orr"]
)
def test_a_position_that_nobody_reports(mechanism: ldp.Mechanism) -> None:
    reports = collected(mechanism, 3_000)
    first = reports.select(reports.pair == 0)  # of positions 0 and 1
    kept = screened(first)
    assert kept[2].grams.size == 0 and kept[2].nobs == 0 and kept[1].grams.size
    tables = pair_tables(first, kept)
    assert tables[0, 2].estimate.shape == (kept[0].grams.size, 0)
    assert tables[0, 2].nobs == 0 and np.isfinite(tables[0, 1].se).all()


WIDE = GramLayout(6, 3, "abcdefg", " ", 3)


def false_grams(
    mechanism: Any, n: int, shares: Any, R: int, control: bool = False
) -> tuple[Array, Array, Array]:
    """Absent grams that were kept, present ones that were, and absent ones beyond naive noise.

    The last are the control; they are counted only where it is asked for.
    """
    rng, every = np.random.default_rng(8), WIDE.grams()
    false, true, naive = np.zeros(R), np.zeros(R), np.zeros(R)
    for r in range(R):
        present = rng.choice(every, len(shares), replace=False)
        counts = mechanism.privatize(rng.choice(present, n, p=shares).tolist(), rng).tally()
        (kept,) = screen(mechanism, [counts], WIDE, 2.0, 500)
        false[r] = np.isin(kept.grams, present, invert=True).sum() + kept.n_left_out
        true[r] = np.isin(present, kept.grams).sum()
        if not control:
            continue
        source = mechanism.moments(counts, every.tolist()).sources[0]
        z = source.design.adjoint(source.weights * source.moved)
        z /= np.sqrt(source.noise.gradient_variances(source))
        naive[r] = ((z > kept.critical) & np.isin(every, present, invert=True)).sum()
    return false, true, naive


HASHED = {
    "two-a-cohort": (ORR(5, 256, epsilon=1.5), 500, [0.9, 0.1]),
    "few-cohorts": (ORR(5, 24, epsilon=1.5), 20_000, [0.9, 0.1]),
    "bits": (RAPPOR(64, 2, 8, f=0.0, p=0.25, q=0.75), 20_000, [0.9, 0.1]),
}


@pytest.mark.parametrize("name", HASHED)
def test_false_grams_are_as_many_as_expected(name: str) -> None:
    R = 20
    false, _, naive = false_grams(*HASHED[name], R, control=True)
    bound = 2.0 + 3.0 * false.std() / np.sqrt(R)
    assert false.mean() <= bound
    # negative control: the noise of reports alone, and collisions with the frequent gram
    assert naive.mean() > 2.0 * bound


def test_collisions_do_not_hide_rare_grams(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, shares, R = ORR(5, 64, epsilon=2.5), [0.93, 0.04, 0.03], 10
    _, true, _ = false_grams(mechanism, 30_000, shares, R)
    monkeypatch.setattr(hashed_grams, "_HEAVY", np.inf)  # negative control: they stay in the noise
    _, hidden, _ = false_grams(mechanism, 30_000, shares, R)
    assert true.mean() > 2.8 and hidden.mean() < 2.2


@pytest.mark.slow
def test_false_grams_at_length(replications: Callable[..., int]) -> None:
    R = replications(60, least=20)
    uneven = np.array([0.4, *np.full(60, 0.01)])  # many are too rare to be told apart
    for mechanism, n in (
        (ORR(5, 1024, epsilon=1.5), 300),
        (RAPPOR(128, 2, 64, f=0.0, p=0.25, q=0.5), 20_000),
    ):
        false, *_ = false_grams(mechanism, n, uneven, R)
        assert false.mean() <= 2.0 + 3.0 * false.std() / np.sqrt(R), mechanism
