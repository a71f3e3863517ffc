"""Coverage of intervals where each respondent is asked two of three questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import ALPHA, bias, coverage, error, repeat

import ldpstats as ldp

Array = npt.NDArray[Any]

JOBS, LATE, SIZES = ("cook", "nurse", "driver"), ("no", "yes"), (1, 2, 3, 4)
MECHANISMS: dict[str, Any] = {
    "job": ldp.KRR(JOBS, 1.5),
    "late": ldp.Warner(epsilon=1.0),
    "size": ldp.KRAPPOR(SIZES, 2.0),
}
P = np.array([[0.30, 0.10], [0.15, 0.20], [0.20, 0.05]])  # of job and late
S = np.array([0.4, 0.3, 0.2, 0.1])
N = 3_000


def survey(r: int) -> dict[str, Array]:
    """Intervals and estimates of one survey."""
    rng = np.random.default_rng((11, r))
    cell = rng.choice(P.size, p=P.ravel(), size=N)
    frame = pd.DataFrame(
        {
            "job": np.array(JOBS)[cell // 2],
            "late": np.array(LATE)[cell % 2],
            "size": rng.choice(SIZES, p=S, size=N),
        }
    )
    sheets = ldp.Questionnaire(MECHANISMS, ask=2).privatize(frame, rng)
    job = ldp.FrequencyModel(reports(sheets, "job", sheets["job"].notna())).fit("inversion")
    size = ldp.FrequencyModel(reports(sheets, "size", sheets["size"].notna())).fit("inversion")
    both = sheets["job"].notna() & sheets["late"].notna()
    pair = [reports(sheets, name, both) for name in ("job", "late")]
    table = ldp.AssociationModel(*pair, names=("job", "late")).fit("inversion")
    # negative control: empty cells taken for the first category, as if they were answers
    filled = sheets["job"].fillna(JOBS[0])
    wrong = ldp.FrequencyModel(MECHANISMS["job"].parse("job", filled)).fit("inversion")
    return {
        "job": job.conf_int(method="wald", clip=False).to_numpy(),
        "size": size.conf_int(method="wald", clip=False).to_numpy(),
        "table": table.conf_int(method="wald", clip=False).to_numpy(),
        "estimate": table.params.to_numpy().ravel(),
        "asked": [job.nobs, size.nobs, table.nobs],
        "wrong": wrong.conf_int(method="wald", clip=False).to_numpy(),
    }


def reports(sheets: pd.DataFrame, name: str, rows: pd.Series[bool]) -> ldp.Reports:
    return MECHANISMS[name].parse(name, sheets.loc[rows, name].reset_index(drop=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")
def test_coverage_under_two_of_three_questions(replications: Callable[..., int]) -> None:
    R = replications(2_000)
    found = repeat(R, survey)
    asked = found["asked"].mean(axis=0)
    np.testing.assert_allclose(asked, [2 * N / 3, 2 * N / 3, N / 3], rtol=0.005)
    truths = {"job": P.sum(axis=1), "size": S, "table": P.ravel()}
    for name, truth in truths.items():
        shares = coverage(found[name], truth)
        assert np.all(np.abs(shares - (1 - ALPHA)) < max(0.02, 4 * float(error(ALPHA, R)))), name
    assert np.abs(bias(found["estimate"], P.ravel())).max() < 4.5
    assert coverage(found["wrong"], truths["job"]).max() < 0.5
