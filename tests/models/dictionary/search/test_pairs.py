"""Pairs of grams: their tables, their scores, and the edges they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from shared.dictionary_stages import GRAMS, LAYOUT, WORDS, Array, collected, screened, survey, table

import ldpstats as ldp
from ldpstats import KRAPPOR, KRR, ORR, RAPPOR
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.reports import DictionaryReports
from ldpstats.models.dictionary.search.evidence import edges, log_ratio, printed_threshold
from ldpstats.models.dictionary.search.pairs import pair_tables, position_counts
from ldpstats.models.dictionary.search.screening import ScreenedGrams
from ldpstats.reports.single import Reports

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


def given(reports: DictionaryReports, grams: list[list[str]]) -> list[ScreenedGrams]:
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
    string = Reports(
        np.zeros(2, dtype=np.int64), ORR(4, 4, epsilon=1.0), 0, np.zeros(2, dtype=np.int64)
    )
    mean = np.zeros((len(kept),) * 2)
    for y in product(range(3), repeat=4):  # both reports of two respondents
        first, second = (Reports(np.array(part), krr) for part in (y[:2], y[2:]))
        reports = DictionaryReports(two, np.zeros(2, dtype=int), first, second, string)
        table = pair_tables(reports, given(reports, [kept, kept]))[0, 1]
        mean += law[y[0], y[2]] * law[y[1], y[3]] * table.estimate
    np.testing.assert_allclose(mean, P[np.ix_(at, at)], atol=1e-12)


def test_tables_agree_with_the_association_model() -> None:
    layout, rng = GramLayout(4, 2, "abcd", " ", 2), np.random.default_rng(5)
    words = rng.choice(["abcd", "cdab", "cdcd", "abab", "bc"], 20_000, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    kept = [["ab", "cd"], ["ab", "cd", "  "]]
    for mechanism, method, within in (
        (KRR(GRAMS, 2.0), "inversion", 1e-9),
        (KRAPPOR(GRAMS, 2.0, theta=0.5), "one_step", 0.5),  # scores at other references
    ):
        reports = survey(mechanism, layout).privatize(words, rng)
        found = pair_tables(reports, given(reports, kept))[0, 1]
        model = ldp.AssociationModel(*reports.at_pair(0), candidates=kept, other=True)
        theirs = model.fit(method).table.to_numpy()[:2, :3]
        assert np.abs((found.estimate - theirs) / found.se).max() < within


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
    check_scores(name, n=6_000, R=30, band=4.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oue", "rappor"])
def test_pairs_that_are_absent_are_standard_normal_at_length(
    name: str, replications: Callable[..., int]
) -> None:
    check_scores(name, n=10_000, R=replications(500, least=100), band=4.0)


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
