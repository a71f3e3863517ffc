"""What svy makes of the indicators of true answers, beside what is estimated here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

JOBS = ["cook", "driver", "nurse"]


def table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    unit = np.repeat(np.arange(24), 10)
    job = rng.choice(JOBS, 240, p=[0.5, 0.3, 0.2])
    public = {"h": unit // 8, "town": unit % 8, "w": rng.uniform(1, 9, 240).round(2)}
    public |= {
        "N": 900,
        "sex": rng.choice(["f", "m"], 240),
        "one": np.where(unit < 23, unit // 8, 9),
    }
    sheet = ldp.Questionnaire({"job": ldp.KRR(JOBS, epsilon=2.0), "ill": ldp.Warner(epsilon=1.0)})
    ill = np.where(job == "cook", "yes", "no")
    found = sheet.privatize(pd.DataFrame(public | {"job": job, "ill": ill}), rng)
    found.loc[:5, "ill"] = None
    return found


def survey(**design: Any) -> ldp.Survey:
    sheet = {"job": ldp.KRR(JOBS, epsilon=2.0), "ill": ldp.Warner(epsilon=1.0)}
    return ldp.Survey(table(), sheet, weights="w", **design)


@pytest.mark.parametrize(
    "design",
    [
        {},
        {"strata": "h"},
        {"strata": "h", "clusters": "town"},
        {"strata": "h", "clusters": ["town", "sex"]},
        {"strata": "one", "clusters": "town", "single_unit": "average"},
        {"strata": "one", "clusters": "town", "single_unit": "centered"},
    ],
    ids=str,
)
def test_svy_estimates_the_same(design: dict[str, Any]) -> None:
    pytest.importorskip("svy", reason="svy is not installed")
    own = survey(**design)
    sample = own.to_svy(["job", "ill"])
    for name in ("job", "ill"):
        expected, totals = own.frequencies(name), own.frequencies(name).totals()
        for label in expected.params.index:
            column = f"{name}_{label}"
            mean, total = (
                method(column, drop_nulls=True).to_polars().row(0, named=True)
                for method in (sample.estimation.mean, sample.estimation.total)
            )
            found = [mean["est"], mean["se"], mean["df"], total["est"], total["se"]]
            rows = expected.params, expected.bse, expected.df, totals["estimate"], totals["se"]
            wanted = [row[label] for row in rows]
            if own.single_unit == "centered":  # svy has another centre for totals
                wanted[-1] = found[-1]
            np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_domains() -> None:
    pytest.importorskip("svy", reason="svy is not installed")
    own = survey(strata="h", clusters="town")
    found = own.to_svy("job").estimation.mean("job_nurse", by="sex").to_polars()
    expected = own.frequencies("job", by="sex")
    np.testing.assert_allclose(found["est"], expected.params.xs("nurse", level="job"), rtol=1e-10)
    np.testing.assert_allclose(found["se"], expected.bse.xs("nurse", level="job"), rtol=1e-10)


@pytest.mark.parametrize("mse", [False, True])
def test_replicate_weights(mse: bool) -> None:
    pytest.importorskip("svy", reason="svy is not installed")
    rng, rows = np.random.default_rng(3), table()
    rows[[f"again_{i}" for i in range(12)]] = rng.poisson(1.0, (len(rows), 12))
    given = ldp.ReplicateWeights("again_*", "other", scale=0.1, mse=mse, combined=False)
    own = ldp.Survey(rows, {"ill": ldp.Warner(epsilon=1.0)}, weights="w", replicate_weights=given)
    how = {"method": "replication", "variance_center": "estimate" if mse else "rep_mean"}
    mean = own.to_svy("ill").estimation.mean("ill_yes", drop_nulls=True, **how).to_polars()
    expected = own.frequencies("ill")
    wanted = [expected.params["yes"], expected.bse["yes"], expected.df["yes"]]
    np.testing.assert_allclose(mean.select("est", "se", "df").row(0), wanted, rtol=1e-10)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (
            lambda: ldp.Survey(table(), {"ill": ldp.Warner(epsilon=1.0)}),
            "without a design: name its weigh",
        ),
        (lambda: survey().where("sex == 'f'"), "take the whole survey"),
        (lambda: survey(strata="h", fpc="N"), "leave fpc= out"),
        (lambda: survey().trim(upper=8), "calibrate with svy"),
        (lambda: survey(clusters="town").replicates("jackknife"), "of its own"),
        (lambda: survey(strata="one", single_unit="certainty"), "choose 'average'"),
    ],
)
def test_what_svy_would_estimate_otherwise_is_refused(own: Any, words: str) -> None:
    pytest.importorskip("svy", reason="svy is not installed")
    with pytest.raises(ldp.NotAvailable, match=words):
        own().to_svy("ill")


def test_without_svy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "svy", None)
    with pytest.raises(ldp.NotAvailable, match=r"pip install 'ldpstats\[svy\]'"):
        survey().to_svy("ill")
