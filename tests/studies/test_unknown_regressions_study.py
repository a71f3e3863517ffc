"""The study of regressions with unknown parameters: what is stored, and that surveys agree."""

from __future__ import annotations

import pytest

from benchmarks.studies import unknown_regressions as study


def test_intervals_cover_as_often_as_they_say() -> None:
    table = study.load()
    assert (table["surveys"] == 1000).all()
    inside = table.drop(index="logit, cheating near zero", level=0)["coverage"]
    assert inside.between(0.936, 0.964).all()
    # the control takes nobody to cheat
    naive = table["naive"].groupby(level=0).min()
    assert naive["logit"] < 0.5 and naive["ordered"] < 0.5
    near = table["coverage"]["logit, cheating near zero"]
    assert near.between(0.936, 0.985).all()  # an interval cannot miss a bound from outside


def test_results_have_the_intervals_of_the_study() -> None:
    study.compare("logit", R=1)


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_coverage() -> None:
    study.check()
