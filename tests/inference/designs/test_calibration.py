"""Calibrated weights and variances against R's survey, and against derivatives taken by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from ldpstats.inference.designs.calibrated import Step, calibrated_sample
from ldpstats.inference.designs.calibration import Margins, calibrate
from ldpstats.inference.designs.distances import Distance, Linear, Logit, Raking
from ldpstats.inference.designs.estimation import estimated_totals
from ldpstats.inference.designs.sample import Sample, Scores, Stage
from ldpstats.inference.designs.totals import Ratios

Array = npt.NDArray[Any]
FOLDER = Path(__file__).parents[2] / "reference" / "survey"


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "people.csv")


@pytest.fixture(scope="module")
def by_r() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "calibration.json").read_text())
    return found


WAYS: dict[str, Distance] = {
    "raking": Raking(),
    "linear": Linear(),
    "linear_bounds": Linear(0.87, 1.12),
    "logit": Logit(0.5, 2.0),
    "poststratified": Linear(),
}


def margins_of(
    table: pd.DataFrame, totals: dict[str, dict[str, float]]
) -> tuple[npt.NDArray[np.int64], Margins]:
    """The margin cell of each row, and the margins."""
    codes = np.column_stack(
        [pd.Categorical(table[name], list(own)).codes for name, own in totals.items()]
    )
    cells, at = np.unique(codes, axis=0, return_inverse=True)
    values = tuple(np.array(list(own.values()), dtype=float) for own in totals.values())
    labels = tuple(list(own) for own in totals.values())
    return at.reshape(-1), Margins(cells.astype(np.int64), values, tuple(totals), labels)


def sample_of(table: pd.DataFrame, base: str) -> Sample:
    """The designs of the transcripts, a cell a row."""
    w = table.weight.to_numpy()
    strata = pd.factorize(table.stratum)[0].astype(np.int64)
    one = np.zeros(strata.max() + 1, dtype=np.int64)
    if base == "elements_fpc":
        existing = table.groupby("stratum").residents.first().to_numpy(dtype=float)
        stage = Stage(None, strata, np.bincount(strata).astype(float), existing, one, list("abcd"))
    else:
        unit = pd.factorize(table.unit)[0].astype(np.int64)
        of_unit = strata[np.unique(unit, return_index=True)[1]]
        free = np.full(len(one), np.inf)
        stage = Stage(unit, of_unit, np.bincount(of_unit).astype(float), free, one, list("abcd"))
    return Sample((stage,), np.ones(len(w)), w, w**2)


def job_scores(table: pd.DataFrame, inside: Any = None) -> Scores:
    """Indicators of the jobs, and one, of the rows inside."""
    job = pd.Categorical(table.job).codes.astype(np.int64)
    at = job if inside is None else np.where(inside, job, -1)
    return Scores(((at, np.column_stack([np.eye(4), np.ones(4)])),))


@pytest.mark.parametrize("base", ["elements_fpc", "clusters"])
@pytest.mark.parametrize("way", list(WAYS))
def test_equals_r(people: pd.DataFrame, by_r: dict[str, Any], base: str, way: str) -> None:
    totals = by_r["margins"]
    if way == "poststratified":
        totals = {"region": totals["region"]}
    expected = by_r[f"{base}_{way}"]
    at, margins = margins_of(people, totals)
    sample = sample_of(people, base)
    solved = calibrate(np.bincount(at, sample.w), margins, WAYS[way])
    found = calibrated_sample(sample, at, [Step(margins, WAYS[way], solved)])
    np.testing.assert_allclose(found.w[:12], expected["weights"]["first"], rtol=1e-9)
    np.testing.assert_allclose(found.w.min(), expected["weights"]["min"], rtol=1e-9)
    np.testing.assert_allclose(found.w.max(), expected["weights"]["max"], rtol=1e-9)
    nothing = np.zeros((5, 5))
    shares = Ratios(np.eye(5)[:4], np.tile(np.eye(5)[4], (4, 1)))
    law = estimated_totals(found, job_scores(people), nothing, nothing).of(shares)
    np.testing.assert_allclose(law.value, expected["share"]["value"], rtol=1e-9)
    np.testing.assert_allclose(law.covariance, expected["share"]["cov"], atol=1e-11)
    if "domain" in expected:  # residuals of all rows, also of those outside
        inside = (people.sex == "f") & (people.age != "65+")
        law = estimated_totals(found, job_scores(people, inside), nothing, nothing).of(shares)
        np.testing.assert_allclose(law.covariance, expected["domain"]["cov"], atol=1e-11)
