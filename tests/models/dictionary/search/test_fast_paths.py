"""Fast ways of discovery against the plain ones: the same numbers, whatever the path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ldpstats as ldp
from ldpstats.mechanisms.hashed.answer_hash import AnswerHash
from ldpstats.models.dictionary.search import hashed_grams, owners, pairs
from ldpstats.models.dictionary.search import paths as search
from ldpstats.models.dictionary.search.owners import OwnedCells
from ldpstats.models.dictionary.search.screening import ScreenedGrams, screen
from ldpstats.problems.hash_design import HashDesign

Array = npt.NDArray[Any]

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
    monkeypatch.setattr(owners, "_LARGE", limit)
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
        monkeypatch.setattr(owners, "_LARGE", limit)
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
    scan = hashed_grams._scan

    def counted(positions: Any, *others: Any) -> None:
        scans.append(len(positions))
        scan(positions, *others)

    monkeypatch.setattr(hashed_grams, "_scan", counted)
    few = screen(*given)
    assert sum(scans) < 3 * hashed_grams._SCANS  # three positions
    scans.clear()
    monkeypatch.setattr(hashed_grams._Position, "is_settled", lambda *given: False)
    every = screen(*given)
    assert scans == [3] * hashed_grams._SCANS
    for one, other in zip(few, every, strict=True):
        assert one.grams.tolist() == other.grams.tolist()
        assert np.abs(one.z - other.z).max() < CLOSE


# ---- pairs


@pytest.mark.parametrize("mechanism", [ldp.ORR(5, 40, epsilon=3.0), "krr"], ids=["orr", "krr"])
def test_tables_from_listed_reports_are_those_of_single_ones(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports, kept = screened(mechanism)
    make, made = pairs._variable, []

    def recorded(*given: Any) -> Any:
        made.append(make(*given))
        return made[-1]

    monkeypatch.setattr(pairs, "_variable", recorded)
    fast = pairs.pair_tables(reports, kept)
    assert len(made) == 3 and all(variable.table is not None for variable in made)
    monkeypatch.setattr(
        pairs, "_variable", lambda *given: replace(make(*given), table=None, number=None)
    )
    slow = pairs.pair_tables(reports, kept)
    for pair, table in fast.items():
        assert table.estimate.size
        assert np.abs(table.estimate - slow[pair].estimate).max() < CLOSE
        assert np.abs(table.se - slow[pair].se).max() < CLOSE


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
