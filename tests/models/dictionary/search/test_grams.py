"""Grams of a position that are taken for held, and pairs of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from shared.dictionary_layouts import GramLayout
from shared.dictionary_stages import GRAMS, LAYOUT, WORDS, Array, collected, screened, survey, table

import ldpstats as ldp
from ldpstats import KRAPPOR, KRR, ORAPPOR, ORR, RAPPOR
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.dictionary import search as hashed_grams
from ldpstats.models.dictionary.search import (
    ScreenedGrams,
    edges,
    log_ratio,
    pair_tables,
    position_counts,
    printed_threshold,
    screen,
)


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
        z /= np.sqrt(source.gradient_variances())
        naive[r] = ((z > kept.critical) & np.isin(every, present, invert=True)).sum()
    return false, true, naive


HASHED = {
    "two-a-cohort": (ORR(5, 256, epsilon=1.5), 500, [0.9, 0.1]),
    "few-cohorts": (ORR(5, 24, epsilon=1.5), 20_000, [0.9, 0.1]),
    "bits": (RAPPOR(64, 2, 8, f=0.0, p=0.25, q=0.75), 20_000, [0.9, 0.1]),
}


@pytest.mark.parametrize("name", HASHED)
def test_false_grams_are_as_many_as_expected(name: str) -> None:
    R = 10
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


# ---- pairs of grams


@pytest.mark.parametrize("step", [2, 1])
def test_tables_without_noise_are_the_frequencies(step: int) -> None:
    layout, rng = replace(LAYOUT, step=step), np.random.default_rng(3)
    words = rng.choice(WORDS, 500)
    reports = survey(KRR(GRAMS, 30.0), layout).privatize(words, rng)
    padded, kept = layout.strings("words", words), screened(reports)
    own = [layout.grams_at(padded, a)[:, None] == kept[a].grams for a in range(len(kept))]
    pairs = np.array(layout.pairs)[reports.pair]
    margins = [X[(pairs == a).any(axis=1)].mean(axis=0) for a, X in enumerate(own)]
    tables = pair_tables(reports, kept)
    for number, (a, b) in enumerate(layout.pairs):
        here = reports.pair == number
        A, B = own[a][here].astype(float), own[b][here].astype(float)
        joint, means = A.T @ B / len(A), np.outer(A.mean(axis=0), B.mean(axis=0))
        # margins are those of all reports of a position
        expected = np.outer(margins[a], margins[b]) + joint - means
        np.testing.assert_allclose(tables[a, b].estimate, expected, atol=1e-10)
        assert tables[a, b].nobs == here.sum() and tables[a, b].se.min() > 0.0


def given(reports: ldp.DictionaryReports, grams: list[list[str]]) -> list[ScreenedGrams]:
    """Some grams of each position with their linear estimates, whatever these are."""
    mechanism, found = reports.survey.gram_mechanism, []
    for a, own in enumerate(grams):
        counts = position_counts(reports, a)
        problem: Any = mechanism.moments(counts, own if mechanism.is_open else None)
        at = slice(None) if mechanism.is_open else mechanism.categories.get_indexer(own)
        p, se = problem.estimate()[0][at], np.sqrt(problem.covariance().variances()[at])
        found.append(ScreenedGrams(np.array(own), p, se, p / se, 0.0, 0, counts.nobs))
    return found


@pytest.mark.parametrize("kept", [["a", "b"], ["b"], ["a", "b", " "]])
def test_tables_are_unbiased_by_enumeration(kept: list[str]) -> None:
    krr = KRR(["a", "b", " "], 1.0)
    two = survey(krr, GramLayout(2, 1, "ab", " ", 1))
    P = np.array([[0.35, 0.2, 0.05], [0.05, 0.25, 0.1], [0.0, 0.0, 0.0]])
    Q = krr.channel().matrix()
    law, at = Q.T @ P @ Q, krr.categories.get_indexer(kept)
    string = ldp.Reports(
        np.zeros(2, dtype=np.int64), ORR(4, 4, epsilon=1.0), 0, np.zeros(2, dtype=np.int64)
    )
    mean = np.zeros((len(kept),) * 2)
    for y in product(range(3), repeat=4):  # both reports of two respondents
        first, second = (ldp.Reports(np.array(part), krr) for part in (y[:2], y[2:]))
        reports = ldp.DictionaryReports(two, np.zeros(2, dtype=int), first, second, string)
        table = pair_tables(reports, given(reports, [kept, kept]))[0, 1]
        mean += law[y[0], y[2]] * law[y[1], y[3]] * table.estimate
    np.testing.assert_allclose(mean, P[np.ix_(at, at)], atol=1e-12)


PAIRS: dict[str, ldp.Mechanism] = {
    "krr": KRR(GRAMS, 1.0),
    "oue": KRAPPOR(GRAMS, 1.0, theta=0.5),
    "orr": ORR(4, 64, epsilon=1.0),
    "rappor": RAPPOR(64, 2, 16, f=0.0, p=0.25, q=0.45),
}


def pair_scores(mechanism: ldp.Mechanism, n: int, R: int) -> tuple[Array, Array]:
    """z of three pairs that no string has, and of one that a third has, (R, 3) and (R,)."""
    absent, frequent = np.zeros((R, 3)), np.zeros(R)
    for r in range(R):
        reports = collected(mechanism, n, seed=100 + r)
        kept = given(reports, [["ab", "cd", "bc", "a "], ["cd", "ab", "ad", "  "], ["cd"]])
        table = pair_tables(reports, kept)[0, 1]
        absent[r] = (table.estimate / table.se)[[0, 1, 2], [1, 0, 0]]
        frequent[r] = (table.estimate[0, 0] - 0.55) / table.se[0, 0]
    return absent, frequent


def check_scores(name: str, n: int, R: int, band: float) -> None:
    absent, frequent = pair_scores(PAIRS[name], n, R)
    for z in (*absent.T, frequent):
        # to first order: what is left of a bias is of the order of one over sqrt(n) in z
        assert abs(z.mean()) < band * z.std() / np.sqrt(R) + 0.1
    spread = np.sqrt((absent**2).mean())
    assert abs(spread - 1.0) < 0.12 + band / np.sqrt(2.0 * absent.size)
    assert 0.8 < frequent.std() < 2.0  # its own frequency and the margins are left out of se


@pytest.mark.parametrize("name", ["krr", "orr"])
def test_pairs_that_are_absent_are_standard_normal(name: str) -> None:
    check_scores(name, n=6_000, R=16, band=4.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oue", "rappor"])
def test_pairs_that_are_absent_are_standard_normal_at_length(
    name: str, replications: Callable[..., int]
) -> None:
    check_scores(name, n=10_000, R=replications(300, least=60), band=4.0)


def test_too_few_reports_to_tell_grams_apart() -> None:
    reports = collected(PAIRS["oue"], 12)
    tables = pair_tables(reports, given(reports, [GRAMS[:9]] * 3))
    assert all(np.isinf(table.se).all() for table in tables.values())
    many = collected(PAIRS["oue"], 2_000)
    for grams in (GRAMS, GRAMS[:1]):  # also of all, and of one
        tables = pair_tables(many, given(many, [grams] * 3))
        assert all(np.isfinite(table.se).all() for table in tables.values())
        assert tables[0, 1].estimate.shape == (len(grams),) * 2


# ---- what pairs say


def test_edges_are_beyond_the_threshold() -> None:
    tables = {(0, 1): table([[0.009, 0.0105], [0.05, -0.1]], [[0.02, 0.02], [0.2, 0.02]])}
    krr, rappor = KRR(GRAMS, 1.0), RAPPOR(128, 2, 1, f=0.0, p=0.25, q=0.32)
    assert edges(tables, "standard", krr, 1)[0, 1].tolist() == [[False, True], [False, False]]
    assert edges(tables, 0.01, krr, 1)[0, 1].tolist() == [[False, True], [True, False]]
    assert edges(tables, 0.0, krr, 1)[0, 1].tolist() == [[True, True], [True, False]]
    # FPE16's numbers have all respondents, or those of a pair; the formula lacks a square
    assert round(printed_threshold(rappor, 10**6), 5) == 0.00164
    assert round(printed_threshold(rappor, 10**6 // 45), 4) == 0.0110
    assert edges(tables, "fpe16", rappor, 10**6 // 45)[0, 1].tolist() == [
        [False, False],
        [True, False],
    ]
    with pytest.raises(NotAvailable, match="about bits"):
        edges(tables, "fpe16", krr, 1)
    for wrong in ("often", True, -0.1, 1.5, np.nan, None):
        with pytest.raises(InvalidArgument, match="threshold"):
            edges(tables, wrong, krr, 1)  # type: ignore[arg-type]


def test_log_ratio_is_that_of_the_stated_laws() -> None:
    def density(x: float) -> float:
        shared = integrate.quad(lambda t: 0.01 * stats.norm.pdf(x - t), 0.0, max(x, 0.0) + 12.0)[0]
        return float(np.log(stats.norm.pdf(x) + shared))

    for z in (-6.0, -1.0, 0.0, 2.5, 4.0, 9.0):
        for shift in (0.0, 0.5, 3.0, 5.0):
            found = float(log_ratio(np.array(z), np.array(shift)))
            assert found == pytest.approx(density(z - shift) - density(z), abs=1e-6)
    far = log_ratio(np.array([-1e6, 1e6]), np.array([3.0, 3.0]))
    assert far[0] < -1e6 and far[1] == 0.0
