"""Client documents: what a device without Python is given."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import MECHANISMS

import ldpstats as ldp
from ldpstats import mechanisms
from ldpstats.channels import Dense
from ldpstats.errors import NotAvailable


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_a_document_that_is_plain_json(name):
    mechanism = MECHANISMS[name]
    document = mechanism.client_document()
    assert json.loads(json.dumps(document)) == document
    assert document["survey"] == mechanism.fingerprint
    own = {field: value for field, value in document.items() if field != "fingerprint"}
    canonical = json.dumps(own, sort_keys=True, separators=(",", ":")).encode("ascii")
    assert document["fingerprint"] == hashlib.sha256(canonical).hexdigest()[:12]


def test_answers_and_reports_are_the_texts_of_tables():
    question = ldp.KRR((0.5, 1e6, True, "a\ud800"), 1.0).client_document()["question"]
    assert question["answers"] == ["0.5", "1000000.0", "True", "a\ud800"]
    assert question["reports"] == question["answers"]
    assert ldp.KRAPPOR(3, 1.0).client_document()["question"]["answers"] == 3


def test_who_draws_in_his_own_way_says_how():
    kinds = [kind for kind in vars(mechanisms).values() if isinstance(kind, type)]
    kinds += [type(mechanism) for mechanism in MECHANISMS.values()]
    for kind in kinds:
        if issubclass(kind, mechanisms.Mechanism):
            own = next(base for base in kind.__mro__ if "sample" in vars(base))
            said = next(base for base in kind.__mro__ if "_draw_document" in vars(base))
            assert issubclass(said, own), kind


def test_a_sampler_of_ones_own_is_not_taken_for_that_of_the_matrix():
    @dataclass(frozen=True, eq=False)
    class Own(mechanisms.Enumerated):
        categories = pd.RangeIndex(2)
        epsilon = 1.0

        def channel(self, candidates: Any = None) -> Dense:
            return Dense(np.full((2, 2), 0.5))

    @dataclass(frozen=True, eq=False)
    class Sampled(Own):
        def sample(self, codes: Any, words: Any) -> Any:
            return np.array(codes)

    draw = Own().client_document()["question"]["draw"]
    assert draw == {"kind": "rows", "rows": [{"upper": [str(2**63 - 1), str(2**64 - 1)]}] * 2}
    with pytest.raises(NotAvailable, match="does not say how"):
        Sampled().client_document()


def test_tables_that_are_too_large_are_refused_before_they_are_made():
    large = ldp.GeometricResponse(10_000, epsilon=1.0)
    with pytest.raises(NotAvailable, match="table of 100000000 numbers"):
        large.client_document()
    sheet = ldp.Questionnaire({"grade": ldp.GeometricResponse(600, epsilon=1.0)})
    with pytest.raises(NotAvailable, match="table of 360000 numbers"):
        sheet.client_document()


def test_devices_with_unknown_parameters_and_unknown_hashes_have_none():
    device = ldp.devices.library.cheating_detection("1/2", "1/6").mechanism(("no", "yes"))
    given = ldp.RAPPOR(8, 2, 2, f=0.0, p=0.25, q=0.75, hashing="given")
    for mechanism in (device, given):
        with pytest.raises(NotAvailable):
            mechanism.client_document()
        with pytest.raises(NotAvailable):
            ldp.Questionnaire({"used": mechanism}).client_document()


def test_rappor_has_a_permanent_response_alone_and_none_in_a_questionnaire():
    rappor = MECHANISMS["rappor-lifetime"]
    alone = rappor.client_document()
    assert alone["question"]["draw"]["kind"] == "rappor"
    assert alone["epsilon"] == repr(rappor.lifetime_epsilon)
    (entry,) = ldp.Questionnaire({"url": rappor}).client_document()["questions"]
    own, other = map(str, rappor._thresholds())
    assert entry["draw"]["kind"] == "hash"
    assert entry["draw"]["then"] == {"kind": "bits", "own": own, "other": other}


def test_the_questions_of_a_questionnaire():
    made = {
        "job": ldp.KRR(("cook", "nurse", "?"), 1.0),
        "region": ldp.Observed(("n", "s")),
        "ill": ldp.Warner(epsilon=0.5),
    }
    sheet = ldp.Questionnaire(made, ask=1, refused={"job": "?"})
    document = sheet.client_document()
    assert document["ask"] == 1
    assert document["epsilon"] == "1.0"
    assert document["survey"] == sheet.fingerprint
    assert [entry["private"] for entry in document["questions"]] == [True, False, True]
    assert [entry.get("refused") for entry in document["questions"]] == ["?", None, None]
    assert document["questions"][1]["draw"] == {"kind": "same"}
