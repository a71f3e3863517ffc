"""The study of unknown parameters: what is stored, and that surveys again agree with it."""

from __future__ import annotations

import pytest

from benchmarks.studies import unknown_devices as study

AT_A_BOUND = ("no cheating at all", "cheating")


def test_intervals_cover_as_often_as_they_say() -> None:
    coverage = study.load()["coverage"]
    assert len(coverage.index.unique(0)) == 8
    assert coverage.drop(AT_A_BOUND).between(0.939, 0.961).all()
    # an interval cannot miss a bound from outside: one side of .025 is never used
    assert 0.96 < coverage[AT_A_BOUND] < 0.99


def test_a_part_again_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: study.SETTINGS[name] for name in ("unrelated question", "cheating near zero")}
    monkeypatch.setattr(study, "SETTINGS", few)
    table = study.run("unrelated question", R=300, seed=4)
    assert table["coverage"].between(0.95 - 4 * 0.0126, 1.0).all()


@pytest.mark.parametrize("setting", ["cheating detection", "no cheating at all"])
def test_the_model_has_the_intervals_of_the_study(setting: str) -> None:
    study.compare(setting, R=3)


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_coverage() -> None:
    study.check()
