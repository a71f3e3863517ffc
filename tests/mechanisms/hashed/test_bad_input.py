"""Bad answers, reports, counts and candidates of mechanisms that hash."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

WORDS = tuple(f"w{i}" for i in range(40))
RAPPOR = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)
ORR = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=2.0)


def bad(call) -> str:  # type: ignore[no-untyped-def]
    with pytest.raises(ldp.LDPError) as raised:
        call()
    return str(raised.value)


def test_bad_answers_and_reports() -> None:
    rng = np.random.default_rng(1)
    for mechanism in (RAPPOR, ORR):
        assert "values[1]" in bad(lambda m=mechanism: m.privatize(["a", 3], rng))
        assert "missing" in bad(lambda m=mechanism: m.privatize(["a", None], rng))
        assert "values[0]" in bad(lambda m=mechanism: m.privatize(["\ud800"], rng))
        assert mechanism.privatize(["a", None], rng, missing="count").n_missing == 1
        assert len(mechanism.privatize([], rng)) == 0
        assert "rng" in bad(lambda m=mechanism: m.privatize(["a"], 3))
        for text in ("3", "99:0", "a:0", "1:9999", "-1:0", "0:", None):
            frame = pd.DataFrame({"report": [text]})
            assert "report" in bad(lambda f=frame, m=mechanism: ldp.Counts.from_frame(f, m))
        assert "candidates" in bad(lambda m=mechanism: m.categories)
        assert "candidates" in bad(lambda m=mechanism: m.channel())
        assert "cohort" in bad(lambda m=mechanism: m.sample(np.array([0]), None))
    assert "cohort" in bad(lambda: ldp.Reports(np.array([1]), ORR).tally())
    assert "cohort" in bad(lambda: ldp.Reports(np.array([1]), ORR, cohort=np.array([16])).tally())
    assert "cohort" in bad(lambda: ldp.Reports(np.array([1]), ORR, cohort=np.array([0, 1])).tally())
    krr = ldp.KRR(3, 1.0)
    assert "cohort" in bad(lambda: ldp.Reports(np.array([1]), krr, cohort=np.array([0])).tally())
    assert "y" in bad(lambda: ldp.Reports(np.array([8]), ORR, cohort=np.array([0])).tally())
    wrong = np.zeros((1, 3), dtype=np.uint8)
    assert "y" in bad(lambda: ldp.Reports(wrong, RAPPOR, cohort=np.array([0])).tally())
    odd = ldp.RAPPOR(6, 1, 2, f=0.0, p=0.2, q=0.7)
    beyond = np.full((1, 1), 255, dtype=np.uint8)
    assert "y" in bad(lambda: ldp.Reports(beyond, odd, cohort=np.array([0])).tally())
    assert "n" in bad(lambda: ORR.counts(np.zeros((3, 8), dtype=int)))
    assert "nobs[0]" in bad(lambda: ORR.counts(np.ones((16, 8), dtype=int), nobs=[3] * 16))
    assert "nobs" in bad(lambda: RAPPOR.counts(np.ones((16, 32), dtype=int)))
    assert "nobs" in bad(lambda: RAPPOR.counts(np.ones((16, 32), dtype=int), nobs=5))
    assert "exceeds" in bad(lambda: RAPPOR.counts(np.full((16, 32), 9), nobs=[8] * 16))


def test_bad_candidates() -> None:
    counts = RAPPOR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    model = ldp.FrequencyModel
    assert "candidates" in bad(lambda: model(counts))
    assert "candidates" in bad(lambda: model(counts, candidates=[]))
    assert "candidates" in bad(lambda: model(counts, candidates=["a", "a"]))
    assert "candidates" in bad(lambda: model(counts, candidates="a"))
    assert "candidates" in bad(lambda: model(counts, candidates=5))
    assert "candidates" in bad(lambda: model(counts, candidates=["a", 5]))
    assert "candidates" in bad(lambda: model(counts, candidates=["a", None]))
    assert "candidates" in bad(lambda: model(counts, candidates={"a", "b"}))
    for text in ({"0:1"}, [["0:1"]], [["0:1"], ["0:1", "1:1"]], pd.DataFrame({"a": ["0:1"]})):
        assert "reports" in bad(lambda t=text: ORR.parse("reports", t))
        assert "reports" in bad(lambda t=text: RAPPOR.parse("reports", t, cohort=[0]))
    assert "cohort" in bad(lambda: ORR.parse("reports", ["1"], cohort=[[0], [0, 1]]))
    assert "nobs" in bad(lambda: RAPPOR.counts(np.ones((16, 32), dtype=int), nobs=[[1], [1, 2]]))
    assert "candidates" in bad(lambda: model(counts, candidates=["a", "\ud800"]))
    closed = ldp.ORR(4, 4, epsilon=1.0, alphabet=3)
    assert "candidates" in bad(
        lambda: model(closed.draw([0.5, 0.3, 0.2], 9, np.random.default_rng(1)), candidates=["a"])
    )
    cells = np.zeros((16, 2, 2), dtype=int)
    assert model(
        counts, candidates=ldp.CandidateMap(("a", "b"), RAPPOR.cells(["a", "b"]) % 32)
    ).nobs
    assert "cells" in bad(lambda: ldp.CandidateMap(("a", "b"), np.zeros((16, 3, 2), dtype=int)))
    assert "candidates" in bad(
        lambda: model(counts, candidates=ldp.CandidateMap(("a", "b"), cells - 1))
    )
    assert "candidates" in bad(
        lambda: model(counts, candidates=ldp.CandidateMap(("a", "b"), cells[:3]))
    )
    with pytest.raises(ldp.NotIdentified, match="same hashes"):
        model(counts, candidates=ldp.CandidateMap(("a", "b"), cells)).fit()
    assert "bits" in bad(lambda: model(counts, candidates=WORDS).fit("mle"))


def test_an_unknown_hash_needs_a_map() -> None:
    given = ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75, hashing="given")
    ours = RAPPOR.draw([0.7, 0.3], 20_000, np.random.default_rng(1), WORDS[:2])
    counts = given.counts(ours.ones, nobs=ours.reports)
    assert "CandidateMap" in bad(lambda: ldp.FrequencyModel(counts, candidates=WORDS))
    assert "CandidateMap" in bad(lambda: given.privatize(["a"], np.random.default_rng(1)))
    assert "CandidateMap" in bad(lambda: given.client().report("a"))
    cells = np.minimum(RAPPOR.cells(WORDS[:4]), 31)
    with pytest.warns(ldp.MisfitWarning):  # a missing cell was taken for the last one
        results = ldp.FrequencyModel(counts, candidates=ldp.CandidateMap(WORDS[:4], cells)).fit()
    assert list(results.detected()) == list(WORDS[:2])
