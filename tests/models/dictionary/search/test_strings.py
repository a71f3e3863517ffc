"""Whole strings, and fast ways of discovery against the plain ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from shared.dictionary_layouts import GramLayout
from shared.dictionary_stages import Array, table

import ldpstats as ldp
from ldpstats import KRR
from ldpstats.errors import InvalidArgument
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
    screen,
    search_again,
    without,
)

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
def test_all_cliques_are_found(density: float) -> None:
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
def test_where_there_are_too_many_strings_the_best_go_on(density: float) -> None:
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
def test_candidates_are_the_strings_that_there_can_be(layout: GramLayout) -> None:
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


def test_selected_intervals_cover_given_selection() -> None:
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


def test_selected_intervals_solve_their_equations() -> None:
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
            selected_intervals(x, np.ones(7), np.zeros(7), wrong)  # type: ignore[arg-type]


# ---- what strings explain


def exact_tables(held: Array, p: Array, sizes: tuple[int, ...], se: float) -> dict[Any, PairTable]:
    """Tables of the pairs of strings of known frequencies, without an error."""
    tables = {}
    for a, b in combinations(range(len(sizes)), 2):
        estimate = np.zeros((sizes[a], sizes[b]))
        np.add.at(estimate, (held[:, a], held[:, b]), p)
        tables[a, b] = table(estimate, se)
    return tables


def test_what_is_clearly_held_is_told_from_mixtures() -> None:
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


def test_what_is_left_has_the_noise_of_what_was_taken_off() -> None:
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


def test_a_second_search_names_no_string_twice() -> None:
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
GRAMS = [ldp.ORR(21, 64, epsilon=3.0), ldp.RAPPOR(64, 2, 16, f=0.0, p=0.25, q=0.6)]


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
def test_sums_are_those_of_the_definition(
    name: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_LARGE", limit)
    mechanism = MECHANISMS[name]
    shape = 3, mechanism.n_cohorts, mechanism.n_cells
    v, strings = np.random.default_rng(1).normal(size=shape), words(515)[::3]
    expected = by_definition(mechanism, strings, v)
    assert np.abs(OwnedCells(mechanism, strings).sums(v) - expected).max() < CLOSE


def test_large_inputs_store_no_cells(monkeypatch: pytest.MonkeyPatch) -> None:
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


def screened(mechanism: Any) -> tuple[Any, list[ScreenedGrams]]:
    reports, counts = survey_of(mechanism)
    survey = reports.survey
    return reports, screen(survey.gram_mechanism, counts, survey.layout, 1.0, 30)


@pytest.mark.parametrize("mechanism", GRAMS)
def test_screening_is_the_same_on_both_paths(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for limit in (0, NEVER):
        monkeypatch.setattr(search, "_LARGE", limit)
        found.append(screened(mechanism)[1])
    for fused, plain in zip(*found, strict=True):
        assert fused.grams.size and fused.grams.tolist() == plain.grams.tolist()
        for name in ("estimate", "se", "z"):
            assert np.abs(getattr(fused, name) - getattr(plain, name)).max() < CLOSE


@pytest.mark.parametrize("mechanism", GRAMS)
def test_grams_are_not_lost_by_leaving_out_scans(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_tables_from_listed_reports_are_those_of_single_ones(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports, kept = screened(mechanism)
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
def test_strings_grow_alike_where_few_and_many_are_possible(
    density: float, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
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
