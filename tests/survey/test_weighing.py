"""Weighted cells: a sample is the same from a table in memory and from any engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared.engines import PLACES, SOME

import ldpstats as ldp
from ldpstats.errors import NotAvailable
from ldpstats.survey.sample.cells import Weighed, weigh, whole_of
from ldpstats.survey.sample.design import SampleDesign

SHEET = {"ill": ldp.KRR(("a", "b", "c"), 1.0), "sex": ldp.Observed(("f", "m"))}
NAMES = ("ill", "group")
DESIGNS: tuple[dict[str, Any], ...] = (
    {"weights": "w"},
    {"weights": "w", "strata": "region"},
    {"weights": "w", "strata": ["region"], "clusters": ["school"], "fpc": "N"},
    {"weights": "w", "strata": "sex", "clusters": "school"},
    {"strata": "region", "fpc": "persons"},
    {"weights": "w", "strata": ["region", "shift"], "clusters": ["school", "room"],
     "fpc": ["N", "rooms", "share"]},
    {"strata": "region", "clusters": ["school", "room"], "fpc": ["N", "each"]},
    {"weights": "w", "clusters": "unit", "nested": False},
)  # fmt: skip


def table(seed: int, n: int = 90) -> pd.DataFrame:
    """A small sample with gaps in reports and groups, and blanks around labels."""
    rng = np.random.default_rng(seed)
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
    frame["persons"] = np.where(region == "n", 500.5, 70.0)
    frame["rooms"] = np.where(frame["shift"], 2, 3)
    frame["each"] = 2 + frame["school"]
    frame["share"] = np.where(frame["room"] > 0, 0.25, 1.0)
    return frame


def canonical(weighed: Weighed, names: tuple[str, ...] = NAMES) -> tuple[Any, ...]:
    """Stages by the names of their strata, and sums of what shares strata, units and answers."""
    sample, cells = weighed.sample, weighed.cells
    keys = {"inside": weighed.inside}
    for name in names:
        column = cells.public(name) if name == "group" else cells.coded(name)
        labels = (
            np.append(column.values, None)[column.codes]
            if name == "group"
            else np.append(SHEET[name].categories, None)[np.append(column.reports.y, -1)[column.at]]
        )
        keys[name] = labels
    stages = []
    for s, stage in enumerate(sample.stages):
        keys[f"strata {s}"] = np.array(list(stage.labels), dtype=object)[stage.cell_strata]
        keys[f"unit {s}"] = np.zeros(len(cells)) if stage.unit is None else stage.unit
        facts = zip(stage.labels, stage.sampled, stage.population, stage.parent, strict=True)
        stages.append(sorted(facts))
    frame = pd.DataFrame(keys).assign(n=sample.n, w=sample.w, w2=sample.w2)
    sums = frame.fillna("missing").groupby(list(keys)).sum().sort_index()
    return stages, sums


def same(one: tuple[Any, ...], two: tuple[Any, ...]) -> None:
    for first, second in zip(one[0], two[0], strict=True):
        assert [fact[0] for fact in first] == [fact[0] for fact in second]
        np.testing.assert_allclose(
            [fact[1:] for fact in first], [fact[1:] for fact in second], rtol=1e-12
        )
    pd.testing.assert_frame_equal(one[1], two[1], rtol=1e-12, check_index_type=False)


def compare(seed: int, place: str, folder: Path, designs: tuple[dict[str, Any], ...]) -> None:
    """The same samples, and domains of them, in memory and on an engine."""
    frame = table(seed)
    held = PLACES[place](pa.Table.from_pandas(frame, preserve_index=False), folder)
    for design in designs:
        memory = ldp.Survey(frame, SHEET, **design)
        engine = ldp.Survey(**held, questionnaire=SHEET, **design)
        for condition in (None, "age < 40 and group == 'x'", "region == 'n'"):
            pair = [s if condition is None else s.where(condition) for s in (memory, engine)]
            for margins in ((), ("shift",)):
                found = [weigh(s.data, s.design, NAMES, margins) for s in pair]
                same(*map(canonical, found))


@pytest.mark.parametrize("place", SOME)
def test_engines_make_the_same_sample(place: str, request: Any, tmp_path: Path) -> None:
    if "spark" in place:
        request.getfixturevalue("spark")
    compare(0, place, tmp_path, DESIGNS[5:6] if place == "files" else DESIGNS[3:4])


@pytest.mark.slow
@pytest.mark.parametrize("place", ["relation", "polars"])
def test_all_designs(place: str, tmp_path: Path) -> None:
    compare(1, place, tmp_path, DESIGNS)


def test_a_domain_keeps_units_without_respondents() -> None:
    frame = table(5)
    frame["group"] = np.where(frame["unit"] == "n1", "there", "elsewhere")
    whole = ldp.Survey(frame, SHEET, weights="w", strata="region", clusters="school")
    domain = whole.where("group == 'there'").where("age < 60")
    made = weigh(domain.data, domain.design, ["ill"])
    assert len(made.cells) == len(domain) < len(whole)
    assert made.sample.stages[0].sampled.tolist() == [3.0, 3.0]
    assert np.unique(made.sample.stages[0].unit).size == 1
    mask = ((frame["group"] == "there") & (frame["age"] < 60)).to_numpy()
    np.testing.assert_array_equal(made.sample.w, frame["w"][mask])
    masked = weigh(whole[mask].data, whole.design, ["ill"])
    np.testing.assert_array_equal(masked.sample.w, made.sample.w)
    all_cells = weigh(domain.data, domain.design, ["ill"], margins=["region"])
    np.testing.assert_array_equal(all_cells.inside, mask)


def test_rows_of_an_engine_that_a_mask_chooses(tmp_path: Path) -> None:
    frame = table(6)
    held = PLACES["files"](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    survey = ldp.Survey(**held, questionnaire=SHEET, weights="w", strata="region")
    mask = (frame["age"] < 40).to_numpy()
    chosen = survey[mask]
    made = weigh(chosen.data, chosen.design, ["ill"]).sample
    np.testing.assert_array_equal(made.w, frame["w"][mask])
    assert made.stages[0].sampled.sum() == len(frame)
    young = survey.where("age < 40")
    with pytest.raises(NotAvailable, match=r"by where\(condition\) alone"):
        young[np.ones(len(young), dtype=bool)]
    assert len(whole_of(young.data)) == len(frame)


@pytest.mark.parametrize("combined", [True, False])
def test_columns_of_replicates_are_added_up(combined: bool, tmp_path: Path) -> None:
    frame = table(7)
    rng = np.random.default_rng(7)
    frame["r1"], frame["r2"] = rng.choice([0.0, 2.0], (2, len(frame)))
    columns = ldp.ReplicateWeights(("r1", "r2"), "BRR", combined=combined)
    design = SampleDesign("w", replicates=columns)
    held = PLACES["relation"](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    factor = 1.0 if combined else frame["w"]
    for data in ({"data": frame}, held):
        survey = ldp.Survey(**data, questionnaire=SHEET).where("age < 50")
        made = weigh(survey.data, design, ["ill"])
        assert made.sums is not None
        inside = frame["age"] < 50
        for r, name in enumerate(("r1", "r2")):
            total = (frame[name] * factor)[inside].sum()
            np.testing.assert_allclose(made.sums[:, r].sum(), total, rtol=1e-12)
