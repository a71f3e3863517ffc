"""Client documents: what a device without Python is given."""

import hashlib
import json
from dataclasses import dataclass
from math import exp, log
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


# The formulas of section 12 of the specification, by which a reviewer verifies a document.

W = 1 << 64

CLOSE = 1e-14  # relative: exponentials of another library


def shares(mechanism: Any) -> dict[str, float]:
    """The probability of each threshold, by name of its field."""
    if isinstance(mechanism, ldp.RAPPOR):
        fields = {"owned": 1 - mechanism.f / 2, "absent": mechanism.f / 2}
        return fields | {"one": mechanism.q, "zero": mechanism.p}
    eps = mechanism.epsilon
    e = exp(-eps)
    if isinstance(mechanism, ldp.KRR | ldp.Warner):
        return {"keep": (1 - e) / (1 + (mechanism.k - 1) * e)}
    if isinstance(mechanism, ldp.ORR):
        return {"keep": (1 - e) / (1 + (mechanism.n_outputs - 1) * e)}
    if isinstance(mechanism, ldp.ORAPPOR):
        h = exp(-eps / min(2 * mechanism.n_hashes, mechanism.n_bits))
        return {"own": 1 / (1 + h), "other": h / (1 + h)}
    if isinstance(mechanism, ldp.KRAPPOR):
        theta = 1 / (1 + exp(-eps / 2)) if mechanism.theta is None else mechanism.theta
        return {"own": theta, "other": theta * e / (1 - theta + theta * e)}
    if isinstance(mechanism, ldp.SubsetSelection):
        return {"keep": mechanism.size / (mechanism.size + (mechanism.k - mechanism.size) * e)}
    if isinstance(mechanism, ldp.HadamardResponse | ldp.ProjectiveGeometryResponse):
        s, others = mechanism.design.size, mechanism.n_outputs - mechanism.design.size
        return {"keep": s / (s + others * e)}
    width = 2 * mechanism.half_width + 1
    return {"keep": width * (1 - e) / (width + (mechanism.k - 1) * e)}


_KINDS = (
    *(ldp.KRR, ldp.Warner, ldp.ORR, ldp.ORAPPOR, ldp.KRAPPOR, ldp.SubsetSelection, ldp.RAPPOR),
    *(ldp.HadamardResponse, ldp.ProjectiveGeometryResponse, ldp.SquareWave),
)


@pytest.mark.parametrize("name", [n for n, m in MECHANISMS.items() if isinstance(m, _KINDS)])
def test_the_thresholds_of_a_mechanism(name):
    draw = MECHANISMS[name].client_document()["question"]["draw"]
    draw = draw.get("then", draw)
    for field, share in shares(MECHANISMS[name]).items():
        assert int(draw[field]) / W == pytest.approx(share, rel=CLOSE, abs=2 / W), field


@pytest.mark.parametrize("name", [n for n, m in MECHANISMS.items() if isinstance(m, ldp.URR)])
def test_those_of_urr(name):
    urr = MECHANISMS[name]
    own = urr.levels or [urr.epsilon] * len(urr.sensitive)
    odds = [1 / (exp(eps) - 1) for eps in own]
    draw = urr.client_document()["question"]["draw"]
    assert int(draw["keep"]) / W == pytest.approx(1 / (1 + sum(odds)), rel=1e-12)
    ends = [int(word) + 1 for word in draw.get("law", {"upper": []})["upper"]]
    expected = [sum(odds[: i + 1]) / sum(odds) for i in range(len(ends))]
    assert [end / W for end in ends] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", [n for n, m in MECHANISMS.items() if isinstance(m, ldp.URAP)])
def test_those_of_urap(name):
    urap = MECHANISMS[name]
    own = urap.levels or [urap.epsilon] * len(urap.sensitive)
    draw = urap.client_document()["question"]["draw"]
    least = min(own, default=0.0)
    d = exp(-least / 2)
    if urap.theta is not None:
        d = 1 - urap.theta + urap.theta * exp(-least)
    told = 1 - d if own else 1.0
    assert int(draw["told"]) / W == pytest.approx(told, rel=1e-12)
    for eps, one, other in zip(own, draw["own"], draw["other"], strict=True):
        v, s = eps + log(d), 1 - exp(-eps)
        assert int(one) / W == pytest.approx(told / s, rel=1e-12)
        assert int(other) / W == pytest.approx(told * exp(-v) / s, rel=1e-12)


def test_those_of_a_matrix_and_of_the_geometric_mechanism():
    custom = MECHANISMS["custom-wide"]
    for row, law in zip(
        custom.client_document()["question"]["draw"]["rows"], custom.Q, strict=True
    ):
        total = 0.0
        for y, word in zip(row.get("outputs", range(5)), row["upper"], strict=True):
            total += law[y]
            assert (int(word) + 1) / W == pytest.approx(total, rel=1e-14)
    grades = ldp.GeometricResponse(4, epsilon=2.0)
    a = exp(-2.0 / 3)
    first = grades.client_document()["question"]["draw"]["rows"][1]["upper"]
    chances = [a / (1 + a), (1 - a) / (1 + a), a * (1 - a) / (1 + a), a**2 / (1 + a)]
    ends = [(int(word) + 1) / W for word in first]
    assert ends == pytest.approx([sum(chances[: i + 1]) for i in range(4)], rel=1e-14)


def test_those_of_one_report_of_rappor():
    for name in ("rappor-lifetime", "rappor-inverted"):
        rappor = MECHANISMS[name]
        (entry,) = ldp.Questionnaire({"url": rappor}).client_document()["questions"]
        turned = [rappor.f / 2, 1 - rappor.f / 2]
        own = turned[1] * rappor.q + turned[0] * rappor.p
        other = turned[0] * rappor.q + turned[1] * rappor.p
        then = entry["draw"]["then"]
        assert int(then["own"]) / W == pytest.approx(own, rel=1e-14)
        assert int(then["other"]) / W == pytest.approx(other, rel=1e-14)
