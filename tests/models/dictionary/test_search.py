"""Grams of a position that are taken for held, and pairs of them."""

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate, stats
from shared.dictionary_layouts import GramLayout

import ldpstats as ldp
from ldpstats import KRAPPOR, KRR, ORAPPOR, ORR, RAPPOR
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.tests import selected_intervals
from ldpstats.likelihood.hashed import HashDesign
from ldpstats.mechanisms.hashed import AnswerHash
from ldpstats.models.dictionary import search
from ldpstats.models.dictionary.search import (
    OwnedCells,
    PairTable,
    ScreenedGrams,
    candidates,
    clearly_held,
    edges,
    grow,
    log_ratio,
    pair_tables,
    position_counts,
    printed_threshold,
    screen,
    search_again,
    without,
)

Array = npt.NDArray[Any]

LAYOUT = GramLayout(6, 2, "abcd", " ", 2)

GRAMS = LAYOUT.grams().tolist()

WORDS = ["abcdab", "abcdcd", "cdabcd", "bcad", "a"]

SHARES = [0.3, 0.25, 0.2, 0.2, 0.05]


def survey(mechanism: ldp.Mechanism, layout: GramLayout = LAYOUT) -> ldp.DictionarySurvey:
    return ldp.DictionarySurvey(
        layout.length,
        layout.gram,
        layout.alphabet,
        step=layout.step,
        gram_mechanism=mechanism,
        string_mechanism=ORR(4, 4, epsilon=1.0),
    )


def collected(mechanism: ldp.Mechanism, n: int, seed: int = 1) -> ldp.DictionaryReports:
    rng = np.random.default_rng(seed)
    return survey(mechanism).privatize(rng.choice(WORDS, n, p=SHARES), rng)


def screened(reports: ldp.DictionaryReports, false_grams: float = 2.0, most: int = 200) -> Any:
    layout = reports.survey.layout
    counts = [position_counts(reports, a) for a in range(layout.n_positions)]
    return screen(reports.survey.gram_mechanism, counts, layout, false_grams, most)


def table(estimate: Any, se: Any, nobs: int = 1000) -> PairTable:
    estimate = np.asarray(estimate, dtype=float)
    return PairTable(estimate, np.broadcast_to(np.asarray(se, dtype=float), estimate.shape), nobs)


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
def test_known_grams_are_those_of_the_marginal_fit(mechanism):
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
def test_hashed_grams_are_estimated_together(mechanism):
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
def test_at_most_so_many_grams(mechanism):
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
def test_a_position_that_nobody_reports(mechanism):
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
def test_false_grams_are_as_many_as_expected(name):
    R = 10
    false, _, naive = false_grams(*HASHED[name], R, control=True)
    bound = 2.0 + 3.0 * false.std() / np.sqrt(R)
    assert false.mean() <= bound
    # negative control: the noise of reports alone, and collisions with the frequent gram
    assert naive.mean() > 2.0 * bound


def test_collisions_do_not_hide_rare_grams(monkeypatch):
    mechanism, shares, R = ORR(5, 64, epsilon=2.5), [0.93, 0.04, 0.03], 10
    _, true, _ = false_grams(mechanism, 30_000, shares, R)
    monkeypatch.setattr(search, "_HEAVY", np.inf)  # negative control: they stay in the noise
    _, hidden, _ = false_grams(mechanism, 30_000, shares, R)
    assert true.mean() > 2.8 and hidden.mean() < 2.2


@pytest.mark.slow
def test_false_grams_at_length(replications):
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
def test_tables_without_noise_are_the_frequencies(step):
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
def test_tables_are_unbiased_by_enumeration(kept):
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
def test_pairs_that_are_absent_are_standard_normal(name):
    check_scores(name, n=6_000, R=16, band=4.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oue", "rappor"])
def test_pairs_that_are_absent_are_standard_normal_at_length(name, replications):
    check_scores(name, n=10_000, R=replications(300, least=60), band=4.0)


def test_too_few_reports_to_tell_grams_apart():
    reports = collected(PAIRS["oue"], 12)
    tables = pair_tables(reports, given(reports, [GRAMS[:9]] * 3))
    assert all(np.isinf(table.se).all() for table in tables.values())
    many = collected(PAIRS["oue"], 2_000)
    for grams in (GRAMS, GRAMS[:1]):  # also of all, and of one
        tables = pair_tables(many, given(many, [grams] * 3))
        assert all(np.isfinite(table.se).all() for table in tables.values())
        assert tables[0, 1].estimate.shape == (len(grams),) * 2


# ---- what pairs say
def test_edges_are_beyond_the_threshold():
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
            edges(tables, wrong, krr, 1)


def test_log_ratio_is_that_of_the_stated_laws():
    def density(x: float) -> float:
        shared = integrate.quad(lambda t: 0.01 * stats.norm.pdf(x - t), 0.0, max(x, 0.0) + 12.0)[0]
        return float(np.log(stats.norm.pdf(x) + shared))

    for z in (-6.0, -1.0, 0.0, 2.5, 4.0, 9.0):
        for shift in (0.0, 0.5, 3.0, 5.0):
            found = float(log_ratio(np.array(z), np.array(shift)))
            assert found == pytest.approx(density(z - shift) - density(z), abs=1e-6)
    far = log_ratio(np.array([-1e6, 1e6]), np.array([3.0, 3.0]))
    assert far[0] < -1e6 and far[1] == 0.0


# Whole strings, and fast ways of discovery against the plain ones.
# ---- strings
def all_cliques(allowed: Any, scores: Any, pairs: Any) -> list[tuple[float, tuple[int, ...]]]:
    """Every string and its score, best first, one by one."""
    found = []
    for members in product(*(range(own.size) for own in scores)):
        own = [(a, b) for a, b in combinations(range(len(scores)), 2)]
        if all(allowed[a, b][members[a], members[b]] for a, b in own):
            score = sum(scores[a][m] for a, m in enumerate(members))
            score += sum(pairs[a, b][members[a], members[b]] for a, b in own)
            found.append((-float(score), members))
    return [(-score, members) for score, members in sorted(found)]


def graph(sizes: tuple[int, ...], density: float, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random graph with scores that are whole numbers, so that many tie."""
    shapes = {(a, b): (sizes[a], sizes[b]) for a, b in combinations(range(len(sizes)), 2)}
    allowed = {pair: rng.random(shape) < density for pair, shape in shapes.items()}
    scores = [rng.integers(0, 3, size).astype(float) for size in sizes]
    pairs = {pair: rng.integers(0, 4, shape).astype(float) for pair, shape in shapes.items()}
    return allowed, scores, pairs


@pytest.mark.parametrize("density", [0.0, 0.05, 0.5, 0.8, 1.0])
def test_all_cliques_are_found(density):
    rng = np.random.default_rng(4)
    for sizes in ((3, 5), (1, 1), (4, 1, 3), (5, 5, 5), (2, 5, 4, 3), (3, 0, 2), (5, 5, 5, 5)):
        given = graph(sizes, density, rng)
        grown, expected = grow(*given, width=10_000), all_cliques(*given)
        # as many as the product of the sizes, not K p^(K-1), where the graph is complete
        assert density < 1.0 or len(expected) == np.prod(sizes)
        assert grown.n_cut == 0 and grown.members.shape == (len(expected), len(sizes))
        assert [tuple(m) for m in grown.members.tolist()] == [m for _, m in expected]
        np.testing.assert_allclose(grown.score, [s for s, _ in expected])


@pytest.mark.parametrize("density", [0.8, 1.0])
def test_where_there_are_too_many_strings_the_best_go_on(density):
    rng = np.random.default_rng(5)
    allowed, scores, pairs = graph((4, 5, 5, 5), density, rng)
    every = {members: score for score, members in all_cliques(allowed, scores, pairs)}
    for width in (1, 7, 20):
        grown = grow(allowed, scores, pairs, width)
        again = grow(allowed, scores, pairs, width)
        assert grown.n_cut > 0 and len(grown.members) <= width
        assert len(grown.members) > 0 or density < 1.0  # a beginning may have no end
        assert np.all(np.diff(grown.score) <= 0.0)
        np.testing.assert_array_equal(grown.members, again.members)
        for members, score in zip(grown.members.tolist(), grown.score, strict=True):
            assert every[tuple(members)] == pytest.approx(score)
    # of two positions the best are exact, ties in order of their grams
    given = graph((4, 5), 1.0, rng)
    grown = grow(*given, width=8)
    assert [tuple(m) for m in grown.members.tolist()] == [m for _, m in all_cliques(*given)[:8]]
    assert grown.n_cut == 12


# ---- what pairs say
def every_string(length: int, alphabet: str) -> set[str]:
    sizes = range(1, length + 1)
    return {"".join(letters) for n in sizes for letters in product(alphabet, repeat=n)}


def invented(layout: GramLayout, seed: int) -> tuple[list[ScreenedGrams], dict[Any, PairTable]]:
    """All grams at each position, with estimates that are noise."""
    rng, grams = np.random.default_rng(seed), layout.grams()
    size = grams.size
    kept = [
        ScreenedGrams(grams, rng.random(size), np.ones(size), np.ones(size), 0.0, 0, 100)
        for _ in layout.starts
    ]
    return kept, {pair: table(rng.normal(0.0, 0.05, (size, size)), 0.05) for pair in layout.pairs}


@pytest.mark.parametrize(
    "layout",
    [
        GramLayout(4, 2, "ab", " ", 2),
        GramLayout(4, 2, "ab", " ", 1),
        GramLayout(6, 2, "ab", "_", 2),
        GramLayout(6, 3, "ab", " ", 1),
        GramLayout(3, 1, "abc", " ", 1),
    ],
    ids=str,
)
def test_candidates_are_the_strings_that_there_can_be(layout):
    kept, tables = invented(layout, 6)

    def strings(members: Array) -> list[str]:
        return layout.unpadded(
            layout.joined([own.grams[members[:, a]] for a, own in enumerate(kept)])
        )

    found = candidates(kept, tables, layout, None, width=10**6)
    texts = strings(found.members)
    assert found.n_cut == 0 and len(texts) == len(set(texts))
    assert set(texts) == every_string(layout.length, layout.alphabet)
    assert np.all(np.diff(found.score) <= 0.0)
    # the score of each: frequencies of its grams, and all pairs at the level that suits it best
    score = np.full(len(texts), -np.inf)
    for level in search._levels(tables, 0.0):
        own = sum(np.log(np.maximum(k.estimate, k.se))[m] for k, m in zip(kept, found.members.T))  # noqa: B905
        for (a, b), pair in tables.items():
            noise = np.hypot(pair.se, level / 16.0)
            at = found.members[:, a], found.members[:, b]
            own = own + log_ratio(pair.estimate / noise, level / noise)[at]
        score = np.maximum(score, own)
    np.testing.assert_allclose(found.score, score, rtol=1e-10)
    # with edges: those all of whose pairs are edges
    graph = edges(tables, "standard", KRR(2, 1.0), 1)
    cliques = candidates(kept, tables, layout, graph, width=10**6)
    whole = [all(graph[a, b][m[a], m[b]] for a, b in layout.pairs) for m in found.members.tolist()]
    assert set(strings(cliques.members)) == {t for t, ok in zip(texts, whole, strict=True) if ok}
    few = candidates(kept, tables, layout, None, width=5)
    assert few.n_cut > 0 and set(strings(few.members)) <= set(texts)


# ---- intervals of what was selected
def test_selected_intervals_cover_given_selection():
    rng, R, least, alpha = np.random.default_rng(9), 8_000, 4.0, 0.05
    band = 3.0 * np.sqrt(alpha * (1.0 - alpha) / R)
    for mean in (-30.0, 0.0, 3.0, 4.5, 7.0):
        x = mean + stats.norm.isf(rng.random(R) * stats.norm.sf(least - mean))
        x = np.maximum(x, least)
        ends = selected_intervals(x, np.ones(R), np.full(R, least), alpha)
        for tail in (mean < ends[:, 0], mean > ends[:, 1]):
            assert abs(tail.mean() - alpha / 2.0) < 3.0 * np.sqrt(alpha / 2.0 / R)
        covered = np.mean((ends[:, 0] <= mean) & (mean <= ends[:, 1]))
        assert abs(covered - 0.95) < band
        wald = np.mean(np.abs(x - mean) <= stats.norm.isf(alpha / 2.0))
        if mean < least:  # negative control
            assert wald < 0.95 - 10.0 * band


def test_selected_intervals_solve_their_equations():
    x = np.array([4.01, 4.1, 4.7, 6.0, 9.0, 40.0, 1e8])
    for alpha in (0.5, 0.05, 1e-6, 1e-30):
        ends = selected_intervals(0.1 * x, np.full(7, 0.1), np.full(7, 0.4), alpha)
        assert np.all(np.diff(ends, axis=0) > 0.0) and np.all(ends[:, 0] < ends[:, 1])
        for side, tail in enumerate((np.log(alpha / 2.0), np.log1p(-alpha / 2.0))):
            mean = ends[:6, side] / 0.1
            log = stats.norm.logsf(x[:6] - mean) - stats.norm.logsf(4.0 - mean)
            np.testing.assert_allclose(log, tail, rtol=1e-5, atol=1e-8)
    usual = stats.norm.isf(0.025)
    ends = selected_intervals(x[5:], np.ones(2), np.full(2, 4.0), 0.05)
    np.testing.assert_allclose(ends, x[5:, None] + [-usual, usual], rtol=1e-9)
    half = selected_intervals(x[:4], np.ones(4), np.full(4, 4.0), 1.0 - 1e-9)[:, 0]
    log = stats.norm.logsf(x[:4] - half) - stats.norm.logsf(4.0 - half)
    np.testing.assert_allclose(log, np.log(0.5), rtol=1e-6)
    # at the bound itself every mean is too large
    assert selected_intervals(np.array([4.0]), np.ones(1), np.full(1, 4.0), 0.05).max() < -1e3
    assert selected_intervals(np.empty(0), np.empty(0), np.empty(0), 0.05).shape == (0, 2)
    for wrong in (0.0, 1.0, True, "a"):
        with pytest.raises(InvalidArgument, match="alpha"):
            selected_intervals(x, np.ones(7), np.zeros(7), wrong)


# ---- what strings explain
def exact_tables(held: Array, p: Array, sizes: tuple[int, ...], se: float) -> dict[Any, PairTable]:
    """Tables of the pairs of strings of known frequencies, without an error."""
    tables = {}
    for a, b in combinations(range(len(sizes)), 2):
        estimate = np.zeros((sizes[a], sizes[b]))
        np.add.at(estimate, (held[:, a], held[:, b]), p)
        tables[a, b] = table(estimate, se)
    return tables


def test_what_is_clearly_held_is_told_from_mixtures():
    """All 27 strings of three grams: those that are held come out with their frequencies."""
    everything = np.array(list(product(range(3), repeat=3)))
    held, p = (
        np.array([[0, 0, 0], [0, 1, 1], [2, 2, 1], [1, 1, 1]]),
        np.array([0.4, 0.2, 0.1, 0.01]),
    )
    at, frequency = clearly_held(everything, exact_tables(held, p, (3, 3, 3), 0.005))
    assert set(map(tuple, everything[at].tolist())) == set(map(tuple, held[:3].tolist()))
    expected = {tuple(m): f for m, f in zip(held.tolist(), p, strict=True)}
    for m, f in zip(everything[at].tolist(), frequency, strict=True):
        assert f == pytest.approx(expected[tuple(m)], abs=0.01)  # the fourth is left
    # a mixture that stands in for a string that is not in the list is dropped
    rest = np.array([m for m in everything.tolist() if m != [0, 1, 1]])
    at, _ = clearly_held(rest, exact_tables(held, p, (3, 3, 3), 0.002))
    assert set(map(tuple, rest[at].tolist())) <= set(map(tuple, held.tolist()))
    # nothing is held where all is noise, where pairs are unknown, and among no strings
    for tables in (exact_tables(held, p, (3, 3, 3), 1.0), exact_tables(held, p, (3, 3, 3), np.inf)):
        assert clearly_held(everything, tables)[0].size == 0
    assert clearly_held(everything[:0], exact_tables(held, p, (3, 3, 3), 0.01))[0].size == 0
    assert (
        clearly_held(np.zeros((0, 2), dtype=int), {(0, 1): table(np.zeros((7, 0)), 0.0)})[0].size
        == 0
    )
    # without noise, all that is held
    assert clearly_held(everything, exact_tables(held, p, (3, 3, 3), 0.0))[0].size == 4


def test_what_is_left_has_the_noise_of_what_was_taken_off():
    kept, tables = invented(GramLayout(4, 2, "ab", " ", 2), 8)
    members, frequency = np.array([[0, 1], [0, 2]]), np.array([0.3, 0.1])
    grams, pairs = without(members, frequency, kept, tables)
    assert grams[0].estimate[0] == pytest.approx(kept[0].estimate[0] - 0.4)
    assert grams[0].se[0] == pytest.approx(np.sqrt(1.0 + 4.0 * 0.4 / 100))
    assert np.array_equal(grams[0].estimate[1:], kept[0].estimate[1:])
    moved = tables[0, 1].estimate - pairs[0, 1].estimate
    assert moved[0, 1] == pytest.approx(0.3) and moved[0, 2] == pytest.approx(0.1)
    assert np.count_nonzero(np.abs(moved) > 1e-12) == 2
    nobs = tables[0, 1].nobs
    assert pairs[0, 1].se[0, 1] == pytest.approx(np.hypot(0.05, np.sqrt(4.0 * 0.3 / nobs)))
    assert pairs[0, 1].se[3, 3] == 0.05


def test_a_second_search_names_no_string_twice():
    layout = GramLayout(6, 2, "ab", " ", 2)
    kept, tables = invented(layout, 9)
    first = candidates(kept, tables, layout, None, 200)
    assert search_again(first, kept, tables, layout, 200, 0.0) is first  # all is noise
    for (a, b), pair in tables.items():
        pair.estimate[first.members[0, a], first.members[0, b]] += 0.6
    first = candidates(kept, tables, layout, None, 200)
    held, _ = clearly_held(first.members[:500], tables)
    again = search_again(first, kept, tables, layout, 200, 0.0)
    rows = list(map(tuple, again.members.tolist()))
    assert len(rows) == len(set(rows)) and np.all(np.diff(again.score) <= 0.0)
    assert held.size and set(map(tuple, first.members[held].tolist())) <= set(rows)


CLOSE = 1e-9

NEVER = 1 << 62

MECHANISMS = {
    "labels, three cohorts a table": ldp.ORR(6, 10, epsilon=1.0),
    "labels, two cohorts a table": ldp.ORR(16, 9, epsilon=1.0),
    "bits, often the same": ldp.RAPPOR(4, 3, 6, f=0.0, p=0.25, q=0.75),
    "bits": ldp.RAPPOR(128, 2, 5, f=0.0, p=0.25, q=0.75),
    "bits of O-RAPPOR": ldp.ORAPPOR(32, 2, 6, epsilon=2.0),
}

GRAMS_STRINGS = [ldp.ORR(21, 64, epsilon=3.0), ldp.RAPPOR(64, 2, 16, f=0.0, p=0.25, q=0.6)]


def words(n: int) -> Array:
    return np.array([f"w{i}" for i in range(n)])


def by_definition(mechanism: Any, strings: Array, v: Array) -> Array:
    """Sums over distinct cells, one string and cohort at a time."""
    cells = mechanism.cells(strings.tolist())
    out = np.zeros((len(v), strings.size))
    for k, c, x in np.ndindex(len(v), mechanism.n_cohorts, strings.size):
        for y in set(cells[c, x].tolist()) - {mechanism.n_cells}:
            out[k, x] += v[k, c, y]
    return out


# ---- sums over owned cells
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("limit", [0, NEVER], ids=["compiled", "numpy"])
def test_sums_are_those_of_the_definition(name, limit, monkeypatch):
    monkeypatch.setattr(search, "_LARGE", limit)
    mechanism = MECHANISMS[name]
    shape = 3, mechanism.n_cohorts, mechanism.n_cells
    v, strings = np.random.default_rng(1).normal(size=shape), words(515)[::3]
    expected = by_definition(mechanism, strings, v)
    assert np.abs(OwnedCells(mechanism, strings).sums(v) - expected).max() < CLOSE


def test_large_inputs_store_no_cells(monkeypatch):
    mechanism = ldp.ORR(6, 1024, epsilon=1.0)
    strings = words(1025)  # more than the 2**20 cells that are stored
    v = np.random.default_rng(3).normal(size=(2, 1024, 6))
    stored = mechanism.cells(strings.tolist())

    def refuse(*given: object) -> None:
        raise AssertionError("cells were stored")

    monkeypatch.setattr(AnswerHash, "table", refuse)
    fused = OwnedCells(mechanism, strings).sums(v)
    expected = [HashDesign(stored, 6).owners(values.reshape(-1)) for values in v]
    assert np.abs(fused - expected).max() < CLOSE


# ---- screening
def survey_of(mechanism: Any, seed: int = 5) -> tuple[Any, list[Any]]:
    """A survey of four strings with grams of two characters, and the counts of its positions."""
    survey = ldp.DictionarySurvey(6, 2, "abcdefgh", 9.0, gram_mechanism=mechanism)
    rng = np.random.default_rng(seed)
    strings = rng.choice(["abcabc", "bbcadd", "cahgef", "gg"], 20_000, p=[0.5, 0.3, 0.15, 0.05])
    reports = survey.privatize(strings, rng)
    return reports, ldp.DictionaryModel(reports)._positions


def screened_strings(mechanism: Any) -> tuple[Any, list[ScreenedGrams]]:
    reports, counts = survey_of(mechanism)
    survey = reports.survey
    return reports, screen(survey.gram_mechanism, counts, survey.layout, 1.0, 30)


@pytest.mark.parametrize("mechanism", GRAMS_STRINGS)
def test_screening_is_the_same_on_both_paths(mechanism, monkeypatch):
    found = []
    for limit in (0, NEVER):
        monkeypatch.setattr(search, "_LARGE", limit)
        found.append(screened_strings(mechanism)[1])
    for fused, plain in zip(*found, strict=True):
        assert fused.grams.size and fused.grams.tolist() == plain.grams.tolist()
        for name in ("estimate", "se", "z"):
            assert np.abs(getattr(fused, name) - getattr(plain, name)).max() < CLOSE


@pytest.mark.parametrize("mechanism", GRAMS_STRINGS)
def test_grams_are_not_lost_by_leaving_out_scans(mechanism, monkeypatch):
    reports, counts = survey_of(mechanism, 1)
    given = reports.survey.gram_mechanism, counts, reports.survey.layout, 1.0, 30
    scans: list[int] = []
    scan = search._scan

    def counted(positions: Any, *others: Any) -> None:
        scans.append(len(positions))
        scan(positions, *others)

    monkeypatch.setattr(search, "_scan", counted)
    few = screen(*given)
    assert sum(scans) < 3 * search._SCANS  # three positions
    scans.clear()
    monkeypatch.setattr(search._Position, "is_settled", lambda *given: False)
    every = screen(*given)
    assert scans == [3] * search._SCANS
    for one, other in zip(few, every, strict=True):
        assert one.grams.tolist() == other.grams.tolist()
        assert np.abs(one.z - other.z).max() < CLOSE


# ---- pairs
@pytest.mark.parametrize("mechanism", [ldp.ORR(5, 40, epsilon=3.0), "krr"], ids=["orr", "krr"])
def test_tables_from_listed_reports_are_those_of_single_ones(mechanism, monkeypatch):
    reports, kept = screened_strings(mechanism)
    make, made = search._variable, []

    def recorded(*given: Any) -> Any:
        made.append(make(*given))
        return made[-1]

    monkeypatch.setattr(search, "_variable", recorded)
    fast = search.pair_tables(reports, kept)
    assert len(made) == 3 and all(variable.table is not None for variable in made)
    monkeypatch.setattr(
        search, "_variable", lambda *given: replace(make(*given), table=None, number=None)
    )
    slow = search.pair_tables(reports, kept)
    for pair, own in fast.items():
        assert own.estimate.size
        assert np.abs(own.estimate - slow[pair].estimate).max() < CLOSE
        assert np.abs(own.se - slow[pair].se).max() < CLOSE


# ---- search
@pytest.mark.parametrize("density", [0.02, 0.5])
@pytest.mark.parametrize("width", [7, 10_000])
def test_strings_grow_alike_where_few_and_many_are_possible(density, width, monkeypatch):
    rng = np.random.default_rng(6)
    sizes, found = (30, 25, 20, 30), []
    places = [(a, b) for b in range(4) for a in range(b)]
    allowed = {(a, b): rng.random((sizes[a], sizes[b])) < density for a, b in places}
    scores = [rng.normal(size=g) for g in sizes]
    pair_scores = {(a, b): rng.normal(size=(sizes[a], sizes[b])) for a, b in places}
    for share in (0.0, 2.0):
        monkeypatch.setattr(search, "_SPARSE", share)
        found.append(search.grow(allowed, scores, pair_scores, width))
    one, other = found
    assert np.array_equal(one.members, other.members) and one.n_cut == other.n_cut
    assert np.array_equal(one.score, other.score)
