"""Questionnaires whose questions are asked with randomising devices."""

from __future__ import annotations

from math import log

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.devices import library
from ldpstats.errors import NotAvailable, NotIdentified

NO_YES = ("no", "yes")
JOBS = ("nurse", "cook", "driver")
SHEET = ldp.Questionnaire(
    {
        "used": library.kuk(0.8, 0.2).mechanism(NO_YES),
        "often": library.kuk(0.75, 0.25, draws=2).mechanism(NO_YES),
        "late": library.crosswise(0.25).mechanism(NO_YES),
        "paid": library.forced_dice().mechanism(NO_YES),
        "job": ldp.KRR(JOBS, 1.0),
        "region": ldp.Observed(("n", "s")),
    }
)
EPSILONS = {"used": log(4), "often": 2 * log(3), "late": log(3), "paid": log(5), "job": 1.0}
TRUE = {"used": 0.2, "often": 0.3, "late": 0.5, "paid": 0.4}


def people(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    answers = {q: np.where(rng.random(n) < p, "yes", "no") for q, p in TRUE.items()}
    public = {"region": rng.choice(["n", "s"], n), "age": rng.integers(18, 80, n)}
    return pd.DataFrame(answers | {"job": rng.choice(JOBS, n)} | public)


@pytest.fixture(scope="module")
def collected() -> pd.DataFrame:
    return SHEET.privatize(people(2000), np.random.default_rng(6))


def test_epsilon_of_a_sheet_is_the_sum() -> None:
    assert set(SHEET.private) == set(EPSILONS)
    assert SHEET.epsilon == pytest.approx(sum(EPSILONS.values()), abs=1e-12)
    assert SHEET.audit().agrees


def test_surveys_estimate_from_them(collected: pd.DataFrame) -> None:
    survey = ldp.Survey(collected, SHEET)
    for question, share in TRUE.items():
        results = survey.frequencies(question)
        # 4 standard errors, one seed
        assert abs(results.linear_params["yes"] - share) < 4 * results.linear_bse["yes"] < 0.3
    by = survey.frequencies("often", by="region")
    assert by.params.index.get_level_values(0).unique().tolist() == ["n", "s"]


def test_clients_send_what_a_device_says() -> None:
    answers = {"used": "no", "often": "yes", "late": "yes", "paid": "no", "job": "cook"}
    sent = SHEET.client(np.random.default_rng(7).bytes).report(answers | {"region": "n"})
    assert sent["used"] in ("red", "black") and sent["late"] in ("same", "different")
    assert sent["often"] in (0, 1, 2)


def test_unknown_parameters_are_refused_where_they_must_be() -> None:
    lies = library.stochastic_lie_detector(0.7).mechanism(NO_YES)
    sheet = ldp.Questionnaire({"used": lies, "job": ldp.KRR(JOBS, 1.0)})
    assert ldp.Questionnaire.from_dict(sheet.to_dict()) == sheet
    assert sheet.epsilon == np.inf
    answers = people(200)[["used", "job"]]
    with pytest.raises(NotAvailable, match="honesty"):
        sheet.privatize(answers, np.random.default_rng(1))
    with pytest.raises(NotAvailable, match="honesty"):
        sheet.audit()
    survey = ldp.Survey(answers, sheet)  # reports that were collected by hand
    with pytest.raises(NotIdentified, match="honesty"):
        survey.frequencies("used")
    assert survey.frequencies("job").nobs == 200
