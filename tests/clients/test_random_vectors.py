"""Random vectors of conformance: what they reach."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from ldpstats.clients.conformance.random_draws import DRAWS
from ldpstats.clients.conformance.random_vectors import random_vectors
from ldpstats.clients.conformance.vectors import Vector, kinds

N = 1_000


@pytest.fixture(scope="module")
def vectors() -> tuple[Vector, ...]:
    return random_vectors(N, 1)


def said(vectors: tuple[Vector, ...]) -> list[Any]:
    """All reports, and what stands for them."""
    return [report for one in vectors for report in one.expected.get("reports", ())]


def test_a_seed_makes_them_again(vectors: tuple[Vector, ...]) -> None:
    assert random_vectors(40, 1) == vectors[:40] != random_vectors(40, 2)
    assert len({one.name for one in vectors}) == N
    assert all(json.loads(json.dumps(one.request)) == one.request for one in vectors)


def test_every_kind_of_draw_makes_reports(vectors: tuple[Vector, ...]) -> None:
    made: Counter[str] = Counter()
    for one in vectors:
        reports = one.expected.get("reports", ())
        n = sum(isinstance(y, str) or (isinstance(y, dict) and "refused" not in y) for y in reports)
        made.update({kind: n for kind in kinds(one.request["client"])})
    assert set(made) >= {*DRAWS, "questionnaire"}
    assert min(made[kind] for kind in (*DRAWS, "questionnaire")) >= 20


def test_every_reason_to_refuse_occurs(vectors: tuple[Vector, ...]) -> None:
    at_once = Counter(one.expected.get("refused") for one in vectors)
    later = Counter(report["refused"] for report in said(vectors) if "refused" in (report or ()))
    assert min(at_once[reason] for reason in ("document", "epsilon", "tags")) >= 3
    assert min(later[reason] for reason in ("answer", "budget", "random")) >= 20
    assert sum(one.expected.get("refused") is None for one in vectors) > 0.75 * N


def test_no_document_is_refused_that_was_not_damaged(vectors: tuple[Vector, ...]) -> None:
    share = sum(one.expected.get("refused") == "document" for one in vectors) / N
    assert 0.05 < share < 0.12  # one in twelve is damaged
