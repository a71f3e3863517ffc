"""Specifications are checked by their fingerprint."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

KRR = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)
SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
PUM = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))


@pytest.mark.parametrize(
    ("document", "read"),
    [
        (KRR.to_dict(), ldp.mechanism_from_dict),
        (PUM.to_dict(), ldp.PUM.from_dict),
        (SURVEY.to_dict(), ldp.DictionarySurvey.from_dict),
    ],
    ids=["mechanism", "pum", "survey"],
)
def test_a_specification_is_checked_by_its_fingerprint(document: Any, read: Any) -> None:
    assert read(json.loads(json.dumps(document))).to_dict() == document
    bare = {name: value for name, value in document.items() if name != "fingerprint"}
    with pytest.raises(ldp.InvalidArgument, match=f'add "fingerprint": "{document["fingerprint"]}'):
        read(bare)
    assert read(bare | {"fingerprint": document["fingerprint"]}).to_dict() == document
    for wrong in ("0" * 12, None, 3, np.arange(3), document["fingerprint"].upper() + "0"):
        with pytest.raises(ldp.InvalidArgument, match="fingerprint"):
            read(document | {"fingerprint": wrong})
    for version in (True, 1.0, "1", 2, None, np.array([1, 1])):
        with pytest.raises(ldp.InvalidArgument, match="version"):
            read(document | {"version": version})


def test_a_negative_zero_is_zero() -> None:
    plain = ldp.RAPPOR(8, 1, 2, f=0.0, p=0.0, q=0.5)
    assert ldp.RAPPOR(8, 1, 2, f=-0.0, p=-0.0, q=0.5).fingerprint == plain.fingerprint
    signed = ldp.CustomMechanism([[1.0, -0.0], [0.5, 0.5]])
    assert signed.fingerprint == ldp.CustomMechanism([[1.0, 0.0], [0.5, 0.5]]).fingerprint


def test_a_changed_epsilon_is_noticed() -> None:
    with pytest.raises(ldp.InvalidArgument, match="changed or damaged"):
        ldp.mechanism_from_dict(KRR.to_dict() | {"epsilon": 10.0})
    inner = PUM.to_dict()
    inner["mechanism"] = ldp.URR(("a", "b", "c"), {"a"}, epsilon=9.0).to_dict()
    with pytest.raises(ldp.InvalidArgument, match="changed or damaged"):
        ldp.PUM.from_dict(inner)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ldp.mechanism_from_dict({"format": np.zeros(3)}),
        lambda: ldp.FrequencyResults.from_dict({"format": np.zeros(3)}),
        lambda: ldp.FrequencyResults.from_json(None),  # type: ignore[arg-type]
    ],
)
def test_documents_that_are_none_are_refused(call: Any) -> None:
    with pytest.raises(ldp.LDPError, match=r"must|is not JSON"):
        call()
