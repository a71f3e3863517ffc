"""Estimates of a design are the same from a table in memory and from any engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared.engines import PLACES, SOME

import ldpstats as ldp

SHEET = {"ill": ldp.KRR(("a", "b", "c"), 1.0), "sex": ldp.Observed(("f", "m"))}
DESIGNS: tuple[dict[str, Any], ...] = (
    {"weights": "w"},
    {"weights": "w", "strata": ["region"], "clusters": ["school"], "fpc": "N"},
    {"weights": "w", "strata": "sex", "clusters": "school"},
    {"strata": "region", "fpc": "persons"},
    {"weights": "w", "strata": ["region", "shift"], "clusters": ["school", "room"],
     "fpc": ["N", "rooms", "share"]},
    {"strata": "region", "clusters": ["school", "room"], "fpc": ["N", "each"]},
    {"weights": "w", "clusters": "unit", "nested": False},
)  # fmt: skip


def table(n: int = 160) -> pd.DataFrame:
    """A small sample with gaps in reports and groups, and blanks around labels."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "ill": rng.choice(["a", "b", "c", None], n),
            "sex": rng.choice(["f", "m"], n),
            "w": rng.gamma(2.0, size=n),
            "region": rng.choice(["n", "s", " s"], n),
            "school": rng.integers(0, 3, n),
            "shift": rng.random(n) < 0.5,
            "room": rng.integers(0, 2, n).astype(float),
            "group": rng.choice(["x", "y", None], n),
            "age": rng.integers(18, 80, n),
        }
    )
    region = frame["region"].str.strip()
    frame["unit"] = region + frame["school"].astype(str)
    frame["N"] = np.where(region == "n", 5, 7)
    frame["persons"] = np.where(region == "n", 500.5, 300.0)
    frame["rooms"] = np.where(frame["shift"], 2, 3)
    frame["each"] = 2 + frame["school"]
    frame["share"] = np.where(frame["room"] > 0, 0.25, 1.0)
    return frame


def same(one: Any, two: Any) -> None:
    assert (one.nobs, one.params.index.tolist()) == (two.nobs, two.params.index.tolist())
    np.testing.assert_allclose(one.params, two.params, rtol=1e-10)
    np.testing.assert_allclose(one.cov_params(), two.cov_params(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(one.df, two.df)


@pytest.mark.parametrize("place", SOME)
def test_engines_make_the_same_sample(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Of all, in domains, whose units without respondents count, and by groups."""
    if place == "spark":
        request.getfixturevalue("spark")
    frame = table()
    held = PLACES[place](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    chosen = {"relation": DESIGNS[::2], "polars": DESIGNS[1::2]}.get(place, DESIGNS[4:5])
    for design in chosen:
        memory = ldp.Survey(frame, SHEET, **design)
        engine = ldp.Survey(**held, questionnaire=SHEET, **design)
        same(engine.frequencies("ill"), memory.frequencies("ill"))
        for condition in ("age < 60 and group == 'x'", "region == 'n'"):
            pair = [one.where(condition) for one in (engine, memory)]
            same(*(one.frequencies("ill") for one in pair))
        same(*(one.frequencies("ill", by="group") for one in (engine, memory)))


def test_rows_of_an_engine_that_a_mask_chooses(tmp_path: Path) -> None:
    frame = table()
    held = PLACES["files"](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    how = {"weights": "w", "strata": "region"}
    survey, mask = ldp.Survey(**held, questionnaire=SHEET, **how), (frame["age"] < 40).to_numpy()
    memory = ldp.Survey(frame, SHEET, **how)[mask]
    same(survey[mask].frequencies("ill"), memory.frequencies("ill"))
    young = survey.where("age < 40")
    with pytest.raises(ldp.NotAvailable, match=r"by where\(condition\) alone"):
        young[np.ones(len(young), dtype=bool)]


@pytest.mark.parametrize("combined", [True, False])
def test_columns_of_replicates_are_added_up(combined: bool, tmp_path: Path) -> None:
    frame, rng = table(), np.random.default_rng(7)
    frame[["r1", "r2", "r3"]] = rng.choice([0.5, 1.5], (len(frame), 3))
    if combined:
        frame[["r1", "r2", "r3"]] = frame[["r1", "r2", "r3"]].mul(frame["w"], axis=0)
    columns = ldp.ReplicateWeights(("r1", "r2", "r3"), "BRR", combined=combined, df=3)
    held = PLACES["relation"](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    memory, engine = (
        ldp.Survey(**data, questionnaire=SHEET, weights="w", replicate_weights=columns)
        for data in ({"data": frame}, held)
    )
    same(*(one.where("age < 50").frequencies("ill") for one in (engine, memory)))
