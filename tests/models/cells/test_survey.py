"""Joint models of the questions of a survey: ask=, weights, clusters, domains and engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import cells
from ldpstats.devices import flip, truth, unknown

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def sheet() -> ldp.Questionnaire:
    return ldp.Questionnaire({name: ldp.Warner(epsilon=2.0) for name in NAMES}, ask=3)


@pytest.fixture(scope="module")
def table(sheet: ldp.Questionnaire) -> pd.DataFrame:
    rng, n = np.random.default_rng(5), 4000
    school = rng.integers(0, 200, n)
    uses = rng.random(n) < 0.4 + 0.2 * (school % 2)
    people = pd.DataFrame(
        {c: np.where(rng.random(n) < np.where(uses, 0.8, 0.15), "yes", "no") for c in NAMES}
    )
    people["age"] = rng.normal(45.0, 15.0, n).round()
    people["w"], people["school"] = 1.0, school
    people["region"] = rng.choice(["n", "s", "w"], n)
    made: pd.DataFrame = sheet.privatize(people, rng)
    return made


def test_partial_answers_count(table: pd.DataFrame, sheet: ldp.Questionnaire) -> None:
    survey = ldp.Survey(table, sheet)
    results = survey.cells(NAMES, cells.latent_class(2)).fit()
    assert results.nobs == 4000
    assert results.model.answered == tuple(int(table[name].notna().sum()) for name in NAMES)
    data = [(survey.reports(name), table[name].notna().to_numpy()) for name in NAMES]
    by_hand = ldp.CellModel(data, cells.latent_class(2), names=NAMES).fit()
    assert results.params.equals(by_hand.params)
    alone = survey.frequencies("a", method="mle")
    one = survey.cells(["a"], cells.saturated()).fit()
    assert one.params.to_numpy() == pytest.approx(alone.params.to_numpy(), abs=1e-8)


def test_equal_weights_and_clusters_are_sandwiches(
    table: pd.DataFrame, sheet: ldp.Questionnaire
) -> None:
    structure = cells.latent_class(2)
    plain = ldp.Survey(table, sheet).cells(NAMES, structure)
    weighted = ldp.Survey(table, sheet, weights="w").cells(NAMES, structure).fit()
    robust = plain.fit("robust")
    assert weighted.params.to_numpy() == pytest.approx(robust.params.to_numpy(), abs=1e-9)
    ratio = (weighted.bse / robust.bse).to_numpy()
    assert ratio == pytest.approx(np.sqrt(4000 / 3999), abs=1e-6)
    design = ldp.Survey(table, sheet, weights="w", clusters="school")
    clusters = design.cells(NAMES, structure).fit()
    by_hand = plain.fit("cluster", groups=table["school"].to_numpy())
    assert clusters.bse.to_numpy() == pytest.approx(by_hand.bse.to_numpy(), rel=1e-6)
    assert clusters.df == by_hand.df == 199
    assert clusters.conf_int().to_numpy() == pytest.approx(by_hand.conf_int().to_numpy(), abs=1e-4)
    with pytest.raises(ldp.NotAvailable, match="use wald_test"):
        clusters.lr_test(weighted)
    again = ldp.CellResults.from_json(clusters.to_json())
    assert str(again.summary()) == str(clusters.summary())


def test_unequal_weights_are_copies_of_respondents(
    table: pd.DataFrame, sheet: ldp.Questionnaire
) -> None:
    twice = np.repeat(np.arange(4000), 1 + np.arange(4000) % 2)
    weights = table.assign(w=1.0 + np.arange(4000) % 2)
    weighted = ldp.Survey(weights, sheet, weights="w").cells(NAMES[:3], cells.saturated()).fit()
    copies = ldp.Survey(table.iloc[twice].reset_index(drop=True), sheet)
    whole = copies.cells(NAMES[:3], cells.saturated()).fit()
    assert weighted.params.to_numpy() == pytest.approx(whole.params.to_numpy(), abs=1e-7)


def test_domains_and_covariates(table: pd.DataFrame, sheet: ldp.Questionnaire) -> None:
    design = ldp.Survey(table, sheet, weights="w", clusters="school")
    domain = design.where("region == 'n'").cells(NAMES, cells.latent_class(2, "~ age")).fit()
    inside = (table["region"] == "n").to_numpy()
    alone = ldp.Survey(table[inside].reset_index(drop=True), sheet)
    plain = alone.cells(NAMES, cells.latent_class(2, "~ age")).fit()
    assert domain.nobs == inside.sum()
    assert domain.params.to_numpy() == pytest.approx(plain.params.to_numpy(), abs=1e-5)
    assert "class 2: age" in domain.params.index
    region = design.cells([*NAMES, "region"], cells.loglinear("a*b + c + d + region")).fit()
    shares = region.margin("region")["estimate"].to_numpy()
    known = table["region"].value_counts(normalize=True).sort_index().to_numpy()
    assert shares == pytest.approx(known, abs=1e-6)


def test_covariates_of_abilities_shift_difficulties(
    table: pd.DataFrame, sheet: ldp.Questionnaire
) -> None:
    survey = ldp.Survey(table, sheet)
    years = survey.cells(NAMES, cells.rasch("~ age")).fit()
    decades = ldp.Survey(table.assign(age=table["age"] / 10.0 - 4.0), sheet)
    shifted = decades.cells(NAMES, cells.rasch("~ age")).fit()
    assert shifted.llf == pytest.approx(years.llf, abs=1e-6)
    assert shifted.params["age"] == pytest.approx(10.0 * years.params["age"], rel=1e-3, abs=1e-5)


def test_an_engine_gives_the_same(
    table: pd.DataFrame, sheet: ldp.Questionnaire, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb")
    table.to_parquet(tmp_path / "rows.parquet")
    structure = cells.loglinear("a*b + c*d")
    for how in ({}, {"weights": "w", "clusters": "school"}):
        memory = ldp.Survey(table, sheet, **how).cells(NAMES, structure).fit()
        engine = ldp.Survey(tmp_path / "rows.parquet", sheet, **how).cells(NAMES, structure).fit()
        assert engine.params.to_numpy() == pytest.approx(memory.params.to_numpy(), abs=1e-7)
        assert engine.bse.to_numpy() == pytest.approx(memory.bse.to_numpy(), rel=1e-6)


def test_unknown_devices_with_weights_and_a_second_question() -> None:
    # the same device asks two items: their carelessness is one parameter, in a weighted survey
    careless = flip(unknown("careless")).when(
        {"heads": flip(0.5).when({"heads": "yes", "tails": "no"}), "tails": truth}
    )
    lie = careless.mechanism(("no", "yes"))
    anchor = careless.mechanism(("no", "yes"))
    rng, n = np.random.default_rng(8), 6000
    made_by = lie.at(careless=0.2)
    people = pd.DataFrame({"item": rng.choice(["no", "yes"], n, p=[0.7, 0.3]), "known": "no"})
    table = pd.DataFrame(
        {
            name: made_by.outputs[made_by.privatize(people[name].to_numpy(), rng).y]
            for name in people
        }
    ).assign(w=rng.uniform(1.0, 2.0, n))
    survey = ldp.Survey(table, {"item": lie, "known": anchor}, weights="w")

    def law(t: Any) -> Any:  # the answer to the anchor question is known to be no
        return [[1.0 - t[0], 0.0 * t[0]], [t[0], 0.0 * t[0]]]

    structure = cells.function(law, [0.5], ["share"])
    results = survey.cells(["item", "known"], structure).fit()
    ends = results.conf_int()
    assert ends.loc["share", "lower"] < 0.3 < ends.loc["share", "upper"]
    assert ends.loc["careless", "lower"] < 0.2 < ends.loc["careless", "upper"]
    assert results.cov_type == "design"


def test_parameters_with_covariates_have_weights_clusters_and_domains(tmp_path: Path) -> None:
    guess = flip(0.5).when({"heads": "yes", "tails": "no"})
    careless = flip(unknown("careless")).when({"heads": guess, "tails": truth})
    device = careless.mechanism(("no", "yes"))
    rng, n = np.random.default_rng(12), 3000
    age = rng.integers(20, 80, n)
    lost = rng.random(n) < 1.0 / (1.0 + np.exp(5.0 - 0.08 * age))
    table = pd.DataFrame({"age": age, "w": 1.0, "school": rng.integers(0, 100, n)})
    for name, share in (("item", 0.3), ("known", 0.0)):
        said = np.where(lost, rng.random(n) < 0.5, rng.random(n) < share)
        table[name] = np.where(said, "yes", "no")
    table["region"] = rng.choice(["n", "s"], n)
    table.loc[rng.random(n) < 0.2, "known"] = None  # not asked
    sheet = {"item": device, "known": device}
    law = cells.function(lambda t: [[1.0 - t[0], 0.0 * t[0]], [t[0], 0.0 * t[0]]], [0.5], ["share"])

    def model(data: Any, **how: Any) -> ldp.CellModel:
        survey = ldp.Survey(data, sheet, **how)
        return survey.cells(["item", "known"], law, parameters={"careless": "~ age"})

    plain, schools = model(table), table["school"].to_numpy()
    robust, clusters = plain.fit("robust"), plain.fit("cluster", groups=schools)
    for truth_, name in ((0.08, "careless: age"), (-5.0, "careless: const"), (0.3, "share")):
        low, high = robust.conf_int().loc[name]
        assert low < truth_ < high
    weighted = model(table, weights="w").fit()
    assert weighted.params.to_numpy() == pytest.approx(robust.params.to_numpy(), abs=1e-7)
    ratio = (weighted.bse / robust.bse).to_numpy()
    assert ratio == pytest.approx(np.sqrt(3000 / 2999), abs=1e-6)
    design = {"weights": "w", "clusters": "school"}
    by_school = model(table, **design).fit()
    assert by_school.bse.to_numpy() == pytest.approx(clusters.bse.to_numpy(), rel=1e-6)
    inside = (table["region"] == "n").to_numpy()
    north = ldp.Survey(table, sheet, **design).where("region == 'n'")
    domain = north.cells(["item", "known"], law, parameters={"careless": "~ age"}).fit()
    alone = model(table[inside].reset_index(drop=True)).fit()
    assert domain.params.to_numpy() == pytest.approx(alone.params.to_numpy(), abs=1e-6)
    pytest.importorskip("duckdb")
    table.to_parquet(tmp_path / "rows.parquet")
    engine = model(tmp_path / "rows.parquet", **design).fit()
    assert engine.params.to_numpy() == pytest.approx(by_school.params.to_numpy(), abs=1e-7)
    with pytest.raises(ldp.InvalidArgument, match="parameters='~ height'"):
        ldp.Survey(table, sheet).cells(["item"], law, parameters={"careless": "~ height"})
    with pytest.raises(ldp.InvalidArgument, match="known"):
        ldp.Survey(table, sheet).cells(["item"], law, parameters={"careless": "~ known"})


@pytest.mark.parametrize(
    ("names", "structure", "message"),
    [
        (["a", "a"], cells.saturated(), "different questions"),
        (["a", "e"], cells.saturated(), "e"),
        (NAMES, cells.rasch("~ height"), "height"),
        (NAMES, cells.rasch("~ b"), "b"),
    ],
)
def test_bad_input_is_named(
    names: list[str], structure: Any, message: str, table: pd.DataFrame, sheet: ldp.Questionnaire
) -> None:
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.Survey(table, sheet).cells(names, structure)


def test_a_model_of_a_survey_is_its_cells(table: pd.DataFrame, sheet: ldp.Questionnaire) -> None:
    survey = ldp.Survey(table, sheet, weights="w", clusters="school")
    own = ldp.CellModel(survey, cells.latent_class(2, "~ age")).fit()
    assert own.params.equals(survey.cells(NAMES, cells.latent_class(2, "~ age")).fit().params)
    assert own.df == 199
    with pytest.raises(ldp.InvalidArgument, match="public columns of the survey"):
        ldp.CellModel(survey, cells.saturated(), covariates=table)
