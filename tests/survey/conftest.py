"""Fixtures of the tests of questionnaires and surveys."""

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

JOBS = ("nurse", "teacher", "driver", "cook")
N = 4000


@pytest.fixture(scope="session")
def sheet():
    return ldp.Questionnaire({"job": ldp.KRR(JOBS, 2.0), "late": ldp.KRR(("no", "yes"), 2.0)})


@pytest.fixture(scope="session")
def people():
    """True answers and public columns, with gaps."""
    rng = np.random.default_rng(7)
    job = rng.choice(JOBS, size=N, p=[0.4, 0.3, 0.2, 0.1])
    late = np.where(rng.random(N) < 0.2 + 0.4 * (job == "nurse"), "yes", "no")
    frame = pd.DataFrame({"id": np.arange(N), "job": job, "late": late})
    frame["age"] = rng.integers(18, 80, N)
    frame["region"] = rng.choice(["s", "n"], N)
    frame["zip"] = rng.choice(["01", "02"], N)
    frame["urban"] = rng.random(N) < 0.5
    frame["income"] = rng.normal(size=N).round(3)
    for number, column in enumerate(("job", "late", "region", "zip", "income"), start=7):
        frame[column] = frame[column].mask(np.arange(N) % number == 0)
    return frame


@pytest.fixture(scope="session")
def collected(sheet, people):
    made: pd.DataFrame = sheet.privatize(people, np.random.default_rng(8))
    return made


@pytest.fixture(scope="session")
def survey(sheet, collected):
    return ldp.Survey(collected, sheet)
