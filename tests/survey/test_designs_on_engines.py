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


# -- An analysis that ldpstats does not have, of weighted, grouped data, wherever they are ---------
# It is written here in full: no file of the package was touched for it.


def share_of_groups(survey: ldp.Survey, question: str, answer: str, group: str) -> pd.DataFrame:
    """How those of one private answer are spread over public groups, P(group | answer).

    With p the joint shares, R_g = p_ag / p_a has the gradient (1[g = h] - R_g) / p_a in p_ah, so
    that its linearised standard error follows from the covariance of the design.
    """
    found = survey.association(question, group)
    joint, cov = found.linear_params, found.linear_cov
    cells = (joint.index.get_level_values(question) == answer).astype(float)
    shares = joint.xs(answer, level=question)
    every = joint.index.get_level_values(group).to_numpy()
    ratio = shares / shares.sum()
    gradient = (every == ratio.index.to_numpy()[:, None]) - ratio.to_numpy()[:, None]
    gradient = gradient * cells / shares.sum()
    se = np.sqrt(np.diag(gradient @ np.asarray(cov) @ gradient.T))
    return pd.DataFrame({"share": ratio, "se": se})


@pytest.mark.parametrize("place", SOME)
def test_a_new_analysis_needs_no_new_code_for_engines(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The same from memory; without noise, the ratio and its Taylor linearisation by hand."""
    if place == "spark":
        request.getfixturevalue("spark")
    frame = table(600)
    held = PLACES[place](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    design: Any = {"weights": "w", "strata": "region", "clusters": "school"}
    for sheet in (SHEET, SHEET | {"ill": ldp.Observed(("a", "b", "c"))}):
        memory, engine = (
            share_of_groups(ldp.Survey(**data, questionnaire=sheet, **design), "ill", "b", "group")
            for data in ({"data": frame}, held)
        )
        pd.testing.assert_frame_equal(engine, memory, rtol=1e-8)
    known = frame[["ill", "group"]].notna().all(axis=1)
    weight = frame["w"] * (known & (frame["ill"] == "b"))
    of_x = (frame["group"] == "x").astype(float)
    ratio = (weight * of_x).sum() / weight.sum()
    scores = (weight * (of_x - ratio) / weight.sum()).groupby(
        [frame["region"].str.strip(), frame["school"]]
    )
    units = scores.sum().groupby(level=0)
    variance = (units.count() * units.var(ddof=1)).sum()
    np.testing.assert_allclose(engine.loc["x"], [ratio, np.sqrt(variance)], rtol=1e-9)
    # in disguise, the answers are as they were reported: the se is larger with the noise undone
    noisy = share_of_groups(ldp.Survey(frame, SHEET, **design), "ill", "b", "group")
    assert noisy.loc["x", "se"] > 1.2 * engine.loc["x", "se"]
