"""Reports of devices are plain Python, and text of them reads back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from grid import MECHANISMS, WORDS

import ldpstats as ldp

SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
PUM = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))


def is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(k) is str and is_plain(v) for k, v in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    return type(value) in (int, float, bool, str)


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_are_plain_python(name: str) -> None:
    mechanism = MECHANISMS[name]
    client = (
        mechanism.client(reports=None, allow_no_privacy=True)
        if name[:6] != "rappor"
        else (mechanism.client(allow_no_privacy=True))
    )
    labels = mechanism.labels(WORDS if mechanism.is_open else None)
    for value in labels[:3]:
        report = client.report(value)
        assert is_plain(report)
        again = json.loads(json.dumps(report))
        assert type(again) is type(report) and again == report
        made = mechanism.parse("report", [report])
        np.testing.assert_array_equal(mechanism.parse("report", [str(report)]).y, made.y)


def test_other_clients_report_plain_python() -> None:
    assert is_plain(SURVEY.client().report("ab"))
    assert is_plain(PUM.client({}).report("a"))
    numbers = ldp.PUM(ldp.URR(5, {0}, epsilon=1.0), ("home",)).client({}, reports=9)
    assert all(is_plain(numbers.report(i)) for i in range(5))


def test_text_of_numbers_is_no_other_number() -> None:
    krr = ldp.KRR(12, epsilon=1.0)
    assert krr.parse("report", ["7", "11", " 7", "7.0"]).y.tolist() == [7, 11, 7, 7]
    for text in ("07", "7.5", "7 7", "+7", "-1", "12", "٣", "1e1", "0x1"):
        with pytest.raises(ldp.UnknownCategory):
            krr.parse("report", [text])
    halves = ldp.CustomMechanism(np.full((2, 2), 0.5), outputs=(0.5, 1.5))
    assert halves.parse("report", ["1.5", "0.5"]).y.tolist() == [1, 0]
    truths = ldp.KRR((True, False), epsilon=1.0)
    assert truths.parse("report", ["True", "False"]).y.tolist() == [0, 1]
