"""A client that remembers: one permanent response an answer, whatever happens to the device."""

from __future__ import annotations

import copy
import enum
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared.races import in_forks, race

import ldpstats as ldp
from ldpstats.clients.portable.ldpstats_client import keyed_words
from ldpstats.mechanisms.hashed import listed_cells

# p = 0 and q = 1: every report is the permanent response itself
BARE = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=64, f=0.5, p=0.0, q=1.0)


def test_racing_threads_get_one_permanent_response(hasty: None) -> None:
    for i in range(100):
        client = BARE.client()
        assert len(set(race(lambda c=client, a=f"answer {i}": c.report(a)))) == 1  # type: ignore[misc]


def test_forks_copies_and_restarts_get_the_same_permanent_response(tmp_path: Path) -> None:
    path = tmp_path / "state"
    for client in (BARE.client(), BARE.client(state=path), BARE.client(secret=bytes(range(32)))):
        first = client.report("an answer")
        again = [copy.copy(client), copy.deepcopy(client)]
        again.append(ldp.RAPPORClient.from_dict(json.loads(json.dumps(client.to_dict())), BARE))
        assert {c.report("an answer") for c in again} == {first}
        assert set(in_forks(lambda c=client: c.report("an answer"))) == {first}  # type: ignore[misc]
    assert BARE.client(secret=bytes(range(32))).report("an answer") == first
    kept = BARE.client(state=path).report("an answer")
    assert BARE.client(state=path).report("an answer") == kept


def test_the_permanent_response_is_the_one_of_the_specification() -> None:
    client = BARE.client(secret=bytes(range(32)))
    assert client.cohort == 54
    assert client.report("a") == "54:1001001000001000"
    assert client.report("Zürich") == "54:0100101010000100"
    # another p and q do not draw it anew; another f, another filter and another secret do
    noisier = ldp.RAPPOR(16, 2, 64, f=0.5, p=0.25, q=0.75).client(secret=bytes(range(32)))
    np.testing.assert_array_equal(noisier._permanent("a"), client._permanent("a"))
    others = [
        ldp.RAPPOR(16, 2, 64, f=0.4, p=0.0, q=1.0).client(secret=bytes(range(32))),
        BARE.client(secret=bytes(range(1, 33))),
    ]
    for other in others:
        assert any((other._permanent(word) != client._permanent(word)).any() for word in "abcdefgh")


WORDS3 = ("flu", "cold", "hiv")
TWINS = {  # two surveys, and whether they share permanent responses under one secret
    "another p and q": ({}, {"p": 0.25, "q": 0.75}, True),
    "labels in another order": (
        {"alphabet": WORDS3},
        {"alphabet": ("cold", "flu", "hiv")},
        False,
    ),
    "one more label": ({"alphabet": WORDS3}, {"alphabet": (*WORDS3, "mumps")}, False),
    "a list and none": ({"alphabet": WORDS3}, {}, False),
    "another number of cohorts": ({}, {"n_cohorts": 3}, False),
    "another hash": ({}, {"hashing": "google"}, False),
    "more hashes": ({}, {"n_hashes": 2}, False),
    "more bits": ({}, {"n_bits": 16}, False),
    "another f": ({}, {"f": 0.6}, False),
}


@pytest.mark.parametrize("first, second, shared", TWINS.values(), ids=TWINS)
def test_surveys_share_all_permanent_responses_of_a_secret_or_none(
    first: dict[str, Any], second: dict[str, Any], shared: bool
) -> None:
    # were some answers' draws shared and others' not, responses that differ would rule out the
    # former for sure. Of 40 secrets, unlike draws agree in 8 bits at most .625^8 = .023 of the
    # time, .9 of them; 6 is 5 standard deviations above
    usual = {"n_bits": 8, "n_hashes": 1, "n_cohorts": 1, "f": 0.5, "p": 0.0, "q": 1.0}
    one, two = ldp.RAPPOR(**usual | first), ldp.RAPPOR(**usual | second)
    rng = np.random.default_rng(8)
    alike = dict.fromkeys(WORDS3, 0)
    for _ in range(40):
        secret = rng.bytes(32)
        clients = one.client(secret=secret), two.client(secret=secret)
        for word in WORDS3:
            a, b = (client._permanent(word) for client in clients)
            alike[word] += bool(np.array_equal(a[:8], b[:8]))
    assert set(alike.values()) == {40} if shared else max(alike.values()) < 6


def test_an_answer_is_its_text() -> None:
    class Job(str, enum.Enum):  # noqa: UP042 - its str() is "Job.NURSE"
        NURSE = "nurse"

    client = BARE.client()
    assert client.report(Job.NURSE) == client.report("nurse")
    collector = ldp.ORR(1 << 20, 1, epsilon=50.0).collector()  # almost without noise
    assert collector.report(Job.NURSE) == collector.report("nurse")


def test_a_device_computes_the_cells_of_its_own_cohort() -> None:
    listed = ldp.RAPPOR(8, 2, 5, f=0.5, p=0.2, q=0.8, alphabet=11)
    for cohort in range(5):
        whole = listed_cells(listed.cells()[cohort], listed.n_cells)
        np.testing.assert_array_equal(listed.cells_of_cohort(cohort), whole)
    google = ldp.RAPPOR(8, 2, 5, f=0.5, p=0.2, q=0.8, hashing="google")
    words, cohort = pd.Series(["a", "b", "a", "c", "b", "a"]), np.array([4, 0, 2, 4, 4, 4])
    table = google.answer_hash.table("words", pd.Index(["a", "b", "c"]))
    expected = table[cohort, pd.Index(["a", "b", "c"]).get_indexer(words)]
    np.testing.assert_array_equal(google.answer_hash.own(words, cohort), expected)
    assert google.answer_hash.own(words[:0], cohort[:0]).shape == (0, 2)
    ldp.RAPPOR(8, 2, 1 << 16, f=0.5, p=0.2, q=0.8, hashing="google").client().report("x" * 1000)


@pytest.mark.slow
@pytest.mark.parametrize("alphabet", [None, ("a", "b", "c")])
def test_the_permanent_response_has_its_law(alphabet: Any) -> None:
    # 1,500 clients, 4 bits: 16 patterns in each cohort; chi-square, p > 1e-4
    rappor = ldp.RAPPOR(4, 1, 2, f=0.5, p=0.0, q=1.0, alphabet=alphabet)
    rng = np.random.default_rng(1)
    seen = np.zeros((2, 16))
    for _ in range(1_500):
        cohort, bits = rappor.client(secret=rng.bytes(32)).report("a").split(":")
        seen[int(cohort), int(bits[::-1], 2)] += 1
    Q = rappor.channel(None if alphabet else ["a", "b"]).matrix()[0]
    assert stats.chisquare(seen.ravel(), 1_500 * Q).pvalue > 1e-4
    wrong = ldp.RAPPOR(4, 1, 2, f=0.7, p=0.0, q=1.0, alphabet=alphabet)
    Q = wrong.channel(None if alphabet else ["a", "b"]).matrix()[0]
    assert stats.chisquare(seen.ravel(), 1_500 * Q).pvalue < 1e-4


@pytest.mark.slow
def test_keyed_words_of_many_secrets_have_the_law_of_the_thresholds() -> None:
    # f = 1/2, four bits of which the first is owned: chi-square of 16 patterns
    owned, other = BARE.permanent_thresholds()
    n = 100_000
    words = np.array([keyed_words(i.to_bytes(32, "big"), b"message", 4) for i in range(n)])
    bits = words < np.array([owned, other, other, other], dtype=np.uint64)
    seen = np.bincount(bits @ (1 << np.arange(4)), minlength=16)
    p = np.array([[0.25, 0.75], [0.75, 0.25], [0.75, 0.25], [0.75, 0.25]])
    law = [np.prod([p[j, (i >> j) & 1] for j in range(4)]) for i in range(16)]
    assert stats.chisquare(seen, n * np.array(law)).pvalue > 1e-4
    tilted = np.array(law) + 0.003 * np.resize([1, -1], 16)  # control
    assert stats.chisquare(seen, n * tilted).pvalue < 1e-4
