"""Questions that each group of respondents is asked with another device."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.devices import Device, cohorts, library, truth
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, NotIdentified, UnknownCategory
from tests.simulate import coverage, near, repeat

NO_YES = ("no", "yes")
A, B = library.unrelated_question(0.7), library.unrelated_question(0.3)
ASKED = cohorts({"A": A, "B": B}).mechanism(NO_YES)
CHEATING = cohorts(
    {"one": library.cheating_detection("1/6", "1/6"), "two": library.cheating_detection("1/2", 0)}
).mechanism(NO_YES)
SHEET = ldp.Questionnaire({"used": ASKED, "drugs": CHEATING})
VALUES = {"used": {"prevalence": 0.4}, "drugs": {"cheating": 0.1}}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng, n = np.random.default_rng(1), 3000
    answers = {"used": rng.choice(NO_YES, n, p=[0.8, 0.2]), "drugs": rng.choice(NO_YES, n)}
    answers["drugs_cohort"] = rng.choice(["one", "two"], n, p=[0.3, 0.7])
    return pd.DataFrame(answers | {"region": rng.choice(["n", "s"], n), "age": rng.normal(size=n)})


@pytest.fixture(scope="module")
def collected(people: pd.DataFrame) -> pd.DataFrame:
    frame: pd.DataFrame = SHEET.privatize(people, np.random.default_rng(2), parameters=VALUES)
    frame.loc[5, "used"] = None
    return frame


def apart(collected: pd.DataFrame) -> pd.DataFrame:
    """The same reports with their groups in columns of their own."""
    named = collected["used"].str.split(":", expand=True)
    return collected.assign(used=named[1], used_cohort=named[0])


def by_hand(collected: pd.DataFrame) -> Any:
    """The fit of the groups that a statistician counts."""
    n = collected["used"].value_counts()
    groups = [
        Device(device.step).mechanism(NO_YES).counts([n[f"{name}:no"], n[f"{name}:yes"]])
        for name, device in (("A", A), ("B", B))
    ]
    return ldp.FrequencyModel(groups).fit()


def test_estimates_are_those_of_the_groups_and_of_greenberg(collected: pd.DataFrame) -> None:
    found, hand = ldp.Survey(collected, SHEET).frequencies("used"), by_hand(collected)
    for mine, own in (
        (found.params, hand.params),
        (found.cov_params(), hand.cov_params()),
        (found.conf_int(), hand.conf_int()),
    ):
        np.testing.assert_allclose(mine, own, rtol=0, atol=1e-10)
    assert found.goodness_of_fit is None  # no degree of freedom for the sizes of the groups
    n = collected["used"].value_counts()
    first, second = (n[f"{g}:yes"] / (n[f"{g}:yes"] + n[f"{g}:no"]) for g in "AB")
    closed = {"yes": (0.7 * first - 0.3 * second) / 0.4}
    closed["prevalence"] = (0.7 * second - 0.3 * first) / 0.4
    for name, value in closed.items():
        assert isclose(found.params[name], value, abs_tol=1e-8)
    assert (found.nobs, found.n_missing) == (2999, 1)
    words = str(found.summary()).split()
    assert {"A:", "B:"} <= set(words)
    assert [word[:18] for word in words].count("UnknownDevice(spin") == 2
    again = type(found).from_json(found.to_json())
    assert str(again.summary()) == str(found.summary())


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "polars", "duckdb"])
@pytest.mark.parametrize("layout", ["label", "column"])
def test_the_group_is_in_the_report_or_beside_it(
    collected: pd.DataFrame, tmp_path: Path, kind: str, layout: str
) -> None:
    table: Any = collected if layout == "label" else apart(collected)
    if kind == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
        table = str(tmp_path / "t.csv")
    elif kind != "frame":
        table.to_parquet(tmp_path / "t.parquet")
        table = str(tmp_path / "t.parquet")
        if kind == "polars":
            table = pytest.importorskip("polars").scan_parquet(table)
        elif kind == "duckdb":
            table = pytest.importorskip("duckdb").connect().read_parquet(table)
    survey = ldp.Survey(table, SHEET)
    assert survey.data.public_columns == ("drugs_cohort", "region", "age")
    np.testing.assert_array_equal(survey.frequencies("used").params, by_hand(collected).params)
    some = survey.where("region == 'n'")
    assert (
        some.frequencies("used").nobs == (collected.region.eq("n") & collected.used.notna()).sum()
    )
    if kind in ("frame", "csv", "parquet"):
        counts = ldp.count(table, ASKED, "used")
        assert counts.n_missing == 1 and counts.nobs == 2999


def test_a_column_of_any_name_holds_the_groups(collected: pd.DataFrame, tmp_path: Path) -> None:
    frame = apart(collected).rename(columns={"used_cohort": "form"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for table in (frame, str(tmp_path / "t.csv")):
        counts = ldp.count(table, ASKED, "used", cohort="form")
        assert counts.vector().sum() == 2999


def test_reports_that_tell_no_group_or_another_are_refused(
    collected: pd.DataFrame, tmp_path: Path
) -> None:
    frame = apart(collected)
    wrong = {
        "row 11=None: is missing, but there is a report": frame.assign(
            used_cohort=frame.used_cohort.where(frame.index != 10)
        ),
        "='C': is not among the 2 labels 'A', 'B'": frame.assign(
            used_cohort=frame.used_cohort.replace("B", "C")
        ),
        "is not among the 4 labels 'A:no'": frame.drop(columns="used_cohort"),
    }
    for words, table in wrong.items():
        table.to_csv(tmp_path / "t.csv", index=False)
        for given in (table, str(tmp_path / "t.csv")):
            with pytest.raises(InvalidArgument, match=words.replace("(", r"\(")):
                ldp.Survey(given, SHEET).frequencies("used")
        with pytest.raises(InvalidArgument):
            ldp.count(str(tmp_path / "t.csv"), ASKED, "used")


def test_a_group_says_what_its_own_device_can() -> None:
    mixed = cohorts({"A": library.kuk(0.7, 0.2), "B": library.warner(0.8)}).mechanism(NO_YES)
    frame = pd.DataFrame({"q": ["red", "yes", "black"], "q_cohort": ["A", "B", "A"]})
    reports = ldp.Survey(frame, {"q": mixed}).reports("q")
    assert mixed.outputs[reports.y].tolist() == ["A:red", "B:yes", "A:black"]
    with pytest.raises(InvalidArgument, match="row 2='yes': is no report of the cohort 'A'"):
        ldp.Survey(frame.assign(q_cohort="A"), {"q": mixed}).reports("q")


def test_an_empty_group_is_named() -> None:
    with pytest.raises(NotIdentified, match="cohort A, the only one with reports"):
        ldp.FrequencyModel(ASKED.counts([60, 40, 0, 0])).fit()
    known = cohorts({"A": A, "B": library.warner(0.8)}).mechanism(NO_YES)
    with pytest.raises(NotIdentified, match=r"prevalence cannot.* no report of the cohort A"):
        ldp.FrequencyModel(known.counts([0, 0, 60, 40])).fit()
    same = cohorts({"A": A, "B": A}).mechanism(NO_YES)
    with pytest.raises(NotIdentified, match="prevalence"):
        ldp.FrequencyModel(same.counts([60, 40, 50, 40])).fit()


@pytest.mark.slow
def test_regression_and_posterior_take_them(collected: pd.DataFrame) -> None:
    survey = ldp.Survey(collected, SHEET)
    model = survey.regression("used ~ 1").fit()
    fit = survey.frequencies("used")
    share = 1 / (1 + np.exp(-model.params["Intercept"]))
    assert isclose(share, fit.params["yes"], abs_tol=1e-5)
    assert isclose(model.params["prevalence"], fit.params["prevalence"], abs_tol=1e-5)
    draws = survey.posterior("used", np.random.default_rng(3), draws=800)
    assert abs(draws.params["yes"] - fit.params["yes"]) < 0.5 * fit.bse["yes"]


def test_what_has_no_form_is_refused_with_a_remedy(collected: pd.DataFrame) -> None:
    survey = ldp.Survey(collected, SHEET)
    with pytest.raises(NotAvailable, match=r"one group at a time: survey\.where"):
        survey.frequencies("used", by="region")
    with pytest.raises(NotAvailable, match=r"one group at a time: survey\.where"):
        survey.posterior("used", np.random.default_rng(1), by="region")
    for relate in (survey.association, survey.change, lambda *two: survey.associations(two)):
        with pytest.raises(NotAvailable, match=r"be the response of a regression"):
            relate("used", "drugs")  # type: ignore[operator]
    assert survey.joint_counts("used", "region").nobs == 2999
    with pytest.raises(InvalidArgument, match="says with which device 'used' was asked"):
        ldp.Survey(apart(collected), SHEET).where("used_cohort == 'A'").frequencies("used")
    weighted = ldp.Survey(collected.assign(w=1.5), SHEET, weights="w")
    with pytest.raises(NotAvailable, match="no weighted form: make the survey without"):
        weighted.frequencies("used")


def test_epsilon_is_the_largest_of_the_groups() -> None:
    known = cohorts({"A": library.warner(0.7), "B": library.warner(0.8)}, {"A": 0.9, "B": 0.1})
    sheet = ldp.Questionnaire({"q": known.mechanism(NO_YES)})
    assert isclose(sheet.epsilon, log(4), abs_tol=1e-15) and sheet.audit().agrees
    assert ldp.Questionnaire({"q": CHEATING}).epsilon == max(
        part.mechanism.epsilon for part in CHEATING.cohort_parts
    )


def test_groups_are_drawn_with_their_shares_or_taken_from_the_table(
    people: pd.DataFrame, collected: pd.DataFrame
) -> None:
    named = collected["drugs"].str.split(":").str[0]
    assert (named == people["drugs_cohort"]).all()
    share = collected["used"].dropna().str.startswith("A:").mean()
    assert abs(share - 0.5) < 4 * 0.5 / 3000**0.5
    device = cohorts({"A": truth, "B": library.warner(0.8)}, {"A": "1/10", "B": "9/10"})
    reports = device.mechanism(NO_YES).privatize(["no"] * 4000, np.random.default_rng(4))
    drawn = reports.tally().vector()
    assert abs(drawn[:2].sum() / 4000 - 0.1) < 4 * 0.3 / 4000**0.5
    with pytest.raises(InvalidArgument, match=r"row 8.*has an answer, but no cohort"):
        lost = people["drugs_cohort"].where(people.index != 7)
        SHEET.privatize(
            people.assign(drugs_cohort=lost), np.random.default_rng(1), parameters=VALUES
        )
    with pytest.raises(UnknownCategory, match="drugs_cohort"):
        SHEET.privatize(
            people.assign(drugs_cohort="three"), np.random.default_rng(1), parameters=VALUES
        )


def test_devices_worked_by_hand_have_no_client(people: pd.DataFrame) -> None:
    for run in (
        SHEET.client,
        SHEET.collector,
        lambda: SHEET.privatize(people, np.random.default_rng(1)),
        lambda: SHEET.privatize(
            people, np.random.default_rng(1), parameters={"used": {"prevalence": 0.1}}
        ),
    ):
        with pytest.raises(NotAvailable, match=r"to simulate them say .*drugs\.cheating=0\.1"):
            run()
    collector = SHEET.collector(parameters=VALUES)
    assert collector.report({"used": "yes", "drugs": "no"})["drugs"].startswith(("one:", "two:"))
    for wrong in (5, {"other": {}}, {"used": 5}, {"used": {"p": 0.1}}, {"used": {"prevalence": 2}}):
        with pytest.raises(LDPError):
            SHEET.privatize(people, np.random.default_rng(1), parameters=wrong)  # type: ignore[arg-type]


def test_documents_keep_names_and_shares() -> None:
    uneven = cohorts({"A": A, "B": B}, {"B": "1/3", "A": "2/3"})
    assert Device.from_dict(uneven.to_dict()) == uneven != cohorts({"A": A, "B": B})
    assert set(cohorts([A, B]).to_dict()) == {"step", "steps"}  # as before there were names
    assert cohorts({"0": A, 1: B}, [0.5, 0.5]) == cohorts([A, B])
    sheet = ldp.Questionnaire({"used": uneven.mechanism(NO_YES)})
    again = ldp.Questionnaire.from_json(sheet.to_json() or "")
    assert again == sheet and again.fingerprint != SHEET.fingerprint
    lines = uneven.instructions(NO_YES)
    assert "“A” 66.7% and “B” 33.3%" in lines[0] and lines[-1].endswith(
        "name of your set before your answer."
    )


def test_numbers_of_groups_are_read_as_people_write_them(tmp_path: Path) -> None:
    dice = [library.forced_categories({1: p, 2: p, 3: p}) for p in (0.2, 0.1)]
    device = cohorts({1: dice[0], 2: dice[1]}).mechanism((1, 2, 3))
    frame = pd.DataFrame({"q": [1, 2, None, 3], "q_cohort": [1, 2, None, 2]})  # floats
    frame.to_csv(tmp_path / "t.csv", index=False)
    for table in (frame, str(tmp_path / "t.csv")):
        reports = ldp.Survey(table, {"q": device}).reports("q")
        assert device.outputs[reports.y].tolist() == ["1:1", "2:2", "2:3"]


def test_a_question_is_no_column_of_groups() -> None:
    """Its answers would choose the device, and be told by the report of another question."""
    for other in (ldp.KRR(("A", "B"), 1.0), ldp.Observed(("A", "B"))):
        with pytest.raises(InvalidArgument, match="belongs to the groups of 'used'"):
            ldp.Questionnaire({"used": ASKED, "used_cohort": other})


def test_a_missing_answer_may_be_a_category() -> None:
    sheet = ldp.Questionnaire({"used": ASKED}, refused="no")
    made = sheet.privatize(
        pd.DataFrame({"used": [None, "yes"]}),
        np.random.default_rng(1),
        parameters={"used": {"prevalence": 0.3}},
    )
    assert made["used"].notna().all()


@pytest.mark.parametrize("name", ["A:1", " A", "", "A\n", 1.5, True, None])
def test_odd_names_of_groups_are_refused(name: Any) -> None:
    with pytest.raises(InvalidArgument, match="cohort"):
        cohorts({name: A, "B": B})


@pytest.mark.parametrize(
    "shares",
    [[0.5, 0.6], [1, 0], [0.5], {"A": 1}, {"A": 0.5, "C": 0.5}, "ab", 5, [float("nan"), 0.5]],
)
def test_shares_that_are_no_law_are_refused(shares: Any) -> None:
    with pytest.raises(InvalidArgument, match="shares"):
        cohorts({"A": A, "B": B}, shares)


@pytest.mark.slow
def test_coverage_of_both_estimates(replications: Callable[..., int]) -> None:
    """Surveys of 1,200 whose groups are drawn; intervals of another truth are the control."""
    R, rng = replications(1000, 200), np.random.default_rng(5)
    used = np.array(ASKED.at(prevalence=0.4).exact, dtype=float).T @ [0.8, 0.2]

    def survey(r: int) -> dict[str, Any]:
        found = ldp.FrequencyModel(ASKED.counts(rng.multinomial(1200, used))).fit()
        return {"ends": found.conf_int().iloc[1:].to_numpy()}

    ends = repeat(R, survey)["ends"]
    assert near(coverage(ends, [0.2, 0.4]), 0.95, R)
    assert not near(coverage(ends, [0.24, 0.35]), 0.95, R)
