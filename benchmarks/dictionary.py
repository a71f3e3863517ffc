"""Strings that nobody listed: each stage of their discovery against the plain way, and whole fits.

The strings are the 100 most visited hosts of US government sites where their table is at hand (the
setting of FPE16's real data), else as many made-up ones whose frequencies follow Zipf's law.
"""

from __future__ import annotations

import csv
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from timing import Row, Scale, measure, zipf

import ldpstats as ldp
from ldpstats.likelihood.hashed import HashDesign
from ldpstats.models.dictionary.search import (
    OwnedCells,
    Pair,
    PairTable,
    ScreenedGrams,
    edges,
    grow,
    pair_tables,
    screen,
)
from ldpstats.models.dictionary.survey import GramLayout
from ldpstats.sampling.hashing import distinct_cells

__all__ = ["dictionary"]

HOSTS = Path(__file__).parents[2] / "shared/data/urls/usgov_hosts_top100.csv"
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789.-"
EPSILON, LENGTH, POSITIONS = 4.394449154672439, 20, 5
WIDTH = 10_000_000  # strings that are grown: all that there are
STORED = 1 << 24  # cells that the plain scan stores at a time
Kept = list[ScreenedGrams]


def dictionary(scale: Scale) -> list[Row]:
    """Tests of all 4-grams, joint tables of those kept, growing strings; whole fits."""
    n, gram = scale.size(1_000_000, 20_000), scale.size(4, 2)
    survey = ldp.DictionarySurvey(LENGTH, gram, ALPHABET, EPSILON, split=(0.25, 0.375, 0.375))
    bigrams = ldp.DictionarySurvey(
        LENGTH, 2, ALPHABET, EPSILON, gram_mechanism="rappor", string_mechanism="rappor"
    )
    rappor = ldp.RAPPOR(128, 2, 64, f=0.0, p=0.25, q=0.75)
    rows = [_scan(mechanism, scale) for mechanism in (survey.gram_mechanism, rappor)]
    reports = survey.privatize(_answers(n), np.random.default_rng(31))
    kept, tables = _stages(reports)
    rows += [_pairs(reports, kept, scale), *_strings(reports, kept, tables, scale)]
    rows.append(_fit(f"O-RR of {gram}-grams", reports))
    own = bigrams.privatize(_answers(n), np.random.default_rng(31))
    return [*rows, _fit("RAPPOR of bigrams", own)]


def _answers(n: int) -> np.ndarray:
    if HOSTS.exists():
        with HOSTS.open() as file:
            table = [(row["domain"], float(row["visits"])) for row in csv.DictReader(file)]
        names, visits = [name for name, _ in table], np.array([count for _, count in table])
    else:
        names, visits = [f"www.host{i:02}.gov" for i in range(100)], zipf(100)
    p = visits / visits.sum()
    return np.array(names, dtype=object)[np.random.default_rng(30).choice(len(names), n, p=p)]


def _scan(mechanism: ldp.Mechanism, scale: Scale) -> Row:
    """All positions at once without cells, against cells that are stored for each position."""
    size = scale.size(1 << 17, 1 << 12)
    grams = next(GramLayout(LENGTH, 4, ALPHABET, " ", 4).gram_blocks(size))
    C, m = mechanism.n_cohorts, mechanism.n_cells
    v = np.random.default_rng(32).normal(size=(POSITIONS, C, m))

    def plain() -> np.ndarray:
        out, step = np.empty((POSITIONS, size)), STORED // (C * mechanism.n_owned)
        for start in range(0, size, step):
            part = grams[start : start + step]
            cells = distinct_cells(mechanism.answer_hash.table("grams", part), m)
            for k in range(POSITIONS):
                own = HashDesign(cells, m).owners(v[k].reshape(-1))
                out[k, start : start + step] = own
        return out

    jobs = {
        "ours": lambda: OwnedCells(mechanism, grams).sums(v),
        "plain": plain,
    }
    gap = float(np.abs(jobs["ours"]() - plain()).max())
    spent = measure(jobs, scale.size(5, 1))
    ns = {name: seconds / size * 1e9 for name, seconds in spent.items()}
    figure = (
        f"{ns['plain'] / ns['ours']:.3g} x the speed ({ns['ours']:,.0f} ns a gram, not "
        f"{ns['plain']:,.0f}), apart by {gap:.0e}"
    )
    what = f"test {size:,} grams at {POSITIONS} positions, {C:,} cohorts of {m} cells"
    return Row(what, "cells stored, one position after the other", figure, "1e-9", gap <= 1e-9)


def _stages(reports: ldp.DictionaryReports) -> tuple[Kept, dict[Pair, PairTable]]:
    survey = reports.survey
    counts = ldp.DictionaryModel(reports)._positions
    kept = screen(survey.gram_mechanism, counts, survey.layout, 50.0, 200)
    return kept, pair_tables(reports, kept)


def _pairs(reports: ldp.DictionaryReports, kept: Kept, scale: Scale) -> Row:
    """Tables looked up by report, against the likelihoods of each report."""
    mechanism, layout = reports.survey.gram_mechanism, reports.survey.layout

    def plain() -> list[np.ndarray]:
        found = []
        for number, (a, b) in enumerate(layout.pairs):
            parts, scores = reports.at_pair(number), []
            for part, one in zip(parts, (kept[a], kept[b]), strict=True):
                ones = np.ones(len(part), dtype=np.int64)
                counts = ldp.Counts(part.y, ones, mechanism, cohort=part.cohort)
                scores.append(mechanism.likelihood(counts, one.grams.tolist()).W.dense())
            found.append(scores[0].T @ scores[1])
        return found

    jobs = {"ours": partial(pair_tables, reports, kept), "plain": plain}
    spent = measure(jobs, scale.size(3, 1))
    ratio = spent["plain"] / spent["ours"]
    figure = f"{ratio:.3g} x the speed ({spent['ours']:.2f} s, not {spent['plain']:.2f})"
    grams = max(one.grams.size for one in kept)
    what = f"joint tables of {len(layout.pairs)} pairs of up to {grams} grams, n = {len(reports):,}"
    return Row(what, "likelihoods of each report, one product", figure)


def _strings(
    reports: ldp.DictionaryReports, kept: Kept, tables: dict[Pair, PairTable], scale: Scale
) -> Iterator[Row]:
    """All cliques of one gram a position, against networkx and a join in plain Python."""
    survey, sizes = reports.survey, [one.grams.size for one in kept]
    layout = survey.layout
    graph = edges(tables, "standard", survey.gram_mechanism, len(reports))
    allowed = {
        (a, b): layout.may_follow(kept[a].grams, kept[b].grams, b - a) & graph[a, b]
        for a, b in layout.pairs
    }
    even = [np.zeros(size) for size in sizes]
    no_scores = {pair: np.zeros(fits.shape) for pair, fits in allowed.items()}
    jobs: dict[str, Callable[[], object]] = {
        "ours": partial(grow, allowed, even, no_scores, WIDTH),
        "a join in Python": partial(_join, allowed, sizes),
    }
    cliques = _networkx(allowed, len(sizes))
    if not isinstance(cliques, str):
        jobs["networkx"] = cliques
    ours = set(map(tuple, grow(allowed, even, no_scores, WIDTH).members.tolist()))
    spent = measure(jobs, scale.size(5, 1))
    what = f"{len(ours):,} strings from {sum(sizes)} grams and {_count(allowed):,} edges"
    for name in ("networkx", "a join in Python"):
        if name not in jobs:
            yield Row(what, name, str(cliques))
            continue
        same = set(jobs[name]()) == ours  # type: ignore[call-overload]
        ratio = spent[name] / spent["ours"]
        figure = (
            f"{ratio:.3g} x the speed ({spent['ours'] * 1e3:.2f} ms, not {spent[name] * 1e3:,.0f})"
            f", {'the same strings' if same else 'OTHER STRINGS'}"
        )
        yield Row(what, name, figure, ">= 1", same and ratio >= 1.0)


def _count(allowed: dict[Pair, np.ndarray]) -> int:
    return int(sum(fits.sum() for fits in allowed.values()))


def _join(allowed: dict[Pair, np.ndarray], sizes: list[int]) -> list[tuple[int, ...]]:
    """Strings, one position after the other, of which every pair is an edge."""
    fits = {pair: matrix.tolist() for pair, matrix in allowed.items()}
    found: list[tuple[int, ...]] = [()]
    for b, size in enumerate(sizes):
        found = [
            (*start, gram)
            for start, gram in product(found, range(size))
            if all(fits[a, b][start[a]][gram] for a in range(b))
        ]
    return found


def _networkx(
    allowed: dict[Pair, np.ndarray], n_positions: int
) -> Callable[[], list[tuple[int, ...]]] | str:
    """Enumeration of maximal cliques, of which those with a gram at every position count."""
    try:
        import networkx
    except ModuleNotFoundError:
        return "not installed"
    graph = networkx.Graph()
    for (a, b), fits in allowed.items():
        first, second = np.nonzero(fits)
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        graph.add_edges_from(((a, s), (b, t)) for s, t in pairs)

    def cliques() -> list[tuple[int, ...]]:
        found = (clique for clique in networkx.find_cliques(graph) if len(clique) == n_positions)
        return [tuple(gram for _, gram in sorted(clique)) for clique in found]

    return cliques


def _fit(name: str, reports: ldp.DictionaryReports) -> Row:
    """From reports to accepted strings; memory beyond that of the reports."""

    def fit() -> ldp.DictionaryResults:
        return ldp.DictionaryModel(reports).fit()

    seconds = measure({"fit": fit}, 1)["fit"]
    tracemalloc.start()
    found = len(fit().params)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    figure = f"{seconds:.1f} s, {peak:.0f} MB, {found} strings accepted"
    met = seconds < 300.0 and peak < 4_000.0
    return Row(f"whole fit, {name}, n = {len(reports):,}", "", figure, "< 300 s, 4 GB", met)
