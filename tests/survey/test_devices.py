"""Questionnaires whose questions are asked with devices, also with another for each group."""

from math import isclose, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from simulate import coverage, near, repeat

import ldpstats as ldp
from ldpstats.devices import Device, cohorts, library, truth
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, NotIdentified, UnknownCategory

NO_YES = ("no", "yes")
A, B = library.unrelated_question(0.7), library.unrelated_question(0.3)
ASKED = cohorts({"A": A, "B": B}).mechanism(NO_YES)
CHEATING = cohorts(
    {"one": library.cheating_detection("1/6", "1/6"), "two": library.cheating_detection("1/2", 0)}
).mechanism(NO_YES)
SHEET = ldp.Questionnaire({"used": ASKED, "drugs": CHEATING})
VALUES = {"used": {"prevalence": 0.4}, "drugs": {"cheating": 0.1}}


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(1), 3000
    answers = {"used": rng.choice(NO_YES, n, p=[0.8, 0.2]), "drugs": rng.choice(NO_YES, n)}
    answers["drugs_cohort"] = rng.choice(["one", "two"], n, p=[0.3, 0.7])
    return pd.DataFrame(answers | {"region": rng.choice(["n", "s"], n), "age": rng.normal(size=n)})


@pytest.fixture(scope="module")
def collected(people):
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


def test_estimates_are_those_of_the_groups_and_of_greenberg(collected):
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
    assert found.sources == ("A: unrelated_question(p=0.7)", "B: unrelated_question(p=0.3)")
    again = type(found).from_json(found.to_json())
    assert str(again.summary()) == str(found.summary())


@pytest.mark.parametrize("kind", ["frame", "csv", "duckdb"])
@pytest.mark.parametrize("layout", ["label", "column"])
def test_the_group_is_in_the_report_or_beside_it(collected, tmp_path, kind, layout):
    table: Any = collected if layout == "label" else apart(collected)
    if kind == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
        table = str(tmp_path / "t.csv")
    elif kind != "frame":
        table.to_parquet(tmp_path / "t.parquet")
        table = str(tmp_path / "t.parquet")
        table = pytest.importorskip("duckdb").connect().read_parquet(table)
    survey = ldp.Survey(table, SHEET)
    assert survey.data.public_columns == ("drugs_cohort", "region", "age")
    np.testing.assert_array_equal(survey.frequencies("used").params, by_hand(collected).params)
    some = survey.where("region == 'n'")
    assert (
        some.frequencies("used").nobs == (collected.region.eq("n") & collected.used.notna()).sum()
    )
    if kind in ("frame", "csv"):
        counts = ldp.count(table, ASKED, "used")
        assert counts.n_missing == 1 and counts.nobs == 2999
    if kind == "frame" and layout == "column":  # which may have any name
        renamed = table.rename(columns={"used_cohort": "form"})
        assert ldp.count(renamed, ASKED, "used", cohort="form").vector().sum() == 2999
        assert len(ASKED.parse("used", table["used"].dropna(), table["used_cohort"].dropna())) > 0
        frame = ldp.Counts.from_frame(table, ASKED, "used", missing="count")
        assert frame.n_missing == 1 and np.array_equal(frame.vector(), counts.vector())


def test_reports_that_tell_no_group_or_another_are_refused(collected, tmp_path):
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
            with pytest.raises(InvalidArgument, match=words.replace("(", r"\(")):
                ldp.count(given, ASKED, "used")
        with pytest.raises(InvalidArgument, match=words.replace("(", r"\(")):
            ldp.io.read_counts(tmp_path / "t.csv", ASKED, "used", missing="count")


def test_a_group_says_what_its_own_device_can():
    mixed = cohorts({"A": library.kuk(0.7, 0.2), "B": library.warner(0.8)}).mechanism(NO_YES)
    frame = pd.DataFrame({"q": ["red", "yes", "black"], "q_cohort": ["A", "B", "A"]})
    reports = ldp.Survey(frame, {"q": mixed}).reports("q")
    assert mixed.outputs[reports.y].tolist() == ["A:red", "B:yes", "A:black"]
    with pytest.raises(
        InvalidArgument, match="row 2='yes': is no report of the cohort or design 'A'"
    ):
        ldp.Survey(frame.assign(q_cohort="A"), {"q": mixed}).reports("q")


def test_an_empty_group_is_named():
    with pytest.raises(NotIdentified, match="cohort A, the only one with reports"):
        ldp.FrequencyModel(ASKED.counts([60, 40, 0, 0])).fit()
    known = cohorts({"A": A, "B": library.warner(0.8)}).mechanism(NO_YES)
    with pytest.raises(NotIdentified, match=r"prevalence cannot.* no report of the cohort A"):
        ldp.FrequencyModel(known.counts([0, 0, 60, 40])).fit()
    same = cohorts({"A": A, "B": A}).mechanism(NO_YES)
    with pytest.raises(NotIdentified, match="prevalence"):
        ldp.FrequencyModel(same.counts([60, 40, 50, 40])).fit()


def test_what_has_no_form_is_refused_with_a_remedy(collected):
    survey = ldp.Survey(collected, SHEET)
    with pytest.raises(NotAvailable, match=r"one group at a time: survey\.where"):
        survey.frequencies("used", by="region")
    with pytest.raises(NotAvailable, match=r"one group at a time: survey\.where"):
        survey.posterior("used", np.random.default_rng(1), by="region")
    for relate in (survey.association, survey.change, lambda *two: survey.associations(two)):
        with pytest.raises(NotAvailable, match=r"be the response of a regression"):
            relate("used", "drugs")
    assert survey.joint_counts("used", "region").nobs == 2999
    with pytest.raises(InvalidArgument, match="says with which device 'used' was asked"):
        ldp.Survey(apart(collected), SHEET).where("used_cohort == 'A'").frequencies("used")
    weighted = ldp.Survey(collected.assign(w=1.5), SHEET, weights="w")
    with pytest.raises(NotAvailable, match=r"survey\.cells\(\['used'\]"):
        weighted.frequencies("used")


def test_epsilon_is_the_largest_of_the_groups():
    known = cohorts({"A": library.warner(0.7), "B": library.warner(0.8)}, {"A": 0.9, "B": 0.1})
    sheet = ldp.Questionnaire({"q": known.mechanism(NO_YES)})
    assert isclose(sheet.epsilon, log(4), abs_tol=1e-15) and sheet.audit().agrees
    assert ldp.Questionnaire({"q": CHEATING}).epsilon == max(
        part.mechanism.epsilon for part in CHEATING.cohort_parts
    )


def test_groups_are_drawn_with_their_shares_or_taken_from_the_table(people, collected):
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


def test_devices_worked_by_hand_have_no_client(people):
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
            SHEET.privatize(people, np.random.default_rng(1), parameters=wrong)


def test_numbers_of_groups_are_read_as_people_write_them(tmp_path):
    dice = [library.forced_categories({1: p, 2: p, 3: p}) for p in (0.2, 0.1)]
    device = cohorts({1: dice[0], 2: dice[1]}).mechanism((1, 2, 3))
    frame = pd.DataFrame({"q": [1, 2, None, 3], "q_cohort": [1, 2, None, 2]})  # floats
    frame.to_csv(tmp_path / "t.csv", index=False)
    for table in (frame, str(tmp_path / "t.csv")):
        reports = ldp.Survey(table, {"q": device}).reports("q")
        assert device.outputs[reports.y].tolist() == ["1:1", "2:2", "2:3"]


def test_a_question_is_no_column_of_groups():
    """Its answers would choose the device, and be told by the report of another question."""
    for other in (ldp.KRR(("A", "B"), 1.0), ldp.Observed(("A", "B"))):
        with pytest.raises(InvalidArgument, match="belongs to the groups of 'used'"):
            ldp.Questionnaire({"used": ASKED, "used_cohort": other})


@pytest.mark.parametrize("name", ["A:1", " A", "", "A\n", 1.5, True, None])
def test_odd_names_of_groups_are_refused(name):
    with pytest.raises(InvalidArgument, match="cohort"):
        cohorts({name: A, "B": B})


@pytest.mark.parametrize(
    "shares",
    [[0.5, 0.6], [1, 0], [0.5], {"A": 1}, {"A": 0.5, "C": 0.5}, "ab", 5, [float("nan"), 0.5]],
)
def test_shares_that_are_no_law_are_refused(shares):
    with pytest.raises(InvalidArgument, match="shares"):
        cohorts({"A": A, "B": B}, shares)


# -- devices that are known: the size of a group is no evidence ---------------------------------

WARNERS = {"A": library.warner("9/10"), "B": library.warner("7/10")}
SAID = cohorts(WARNERS).mechanism(NO_YES)
FIRST, SECOND = (device.mechanism(NO_YES) for device in WARNERS.values())


def published(n_a: int = 100, n_b: int = 300) -> pd.DataFrame:
    """26% of group A and 38% of group B say yes: both are exactly a share of .2."""
    found = [("A", 0.26, n_a), ("B", 0.38, n_b)]
    rows = [
        (group, f"{group}:{answer}")
        for group, share, n in found
        for answer, size in (("yes", round(share * n)), ("no", n - round(share * n)))
        for _ in range(size)
    ]
    return pd.DataFrame(rows, columns=["design", "said"]).assign(w=1.0)


def places_of(table: pd.DataFrame, tmp_path: Path) -> dict[str, Any]:
    """The same table in each kind of place."""
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    return {
        "frame": table,
        "csv": str(tmp_path / "t.csv"),
        "polars": pytest.importorskip("polars").scan_parquet(tmp_path / "t.parquet"),
    }


@pytest.mark.parametrize("shares", [None, {"A": "9/10", "B": "1/10"}])
def test_shares_are_no_evidence(shares, tmp_path):
    """Estimate, errors and tests are those of `FrequencyModel` with a group for each device."""
    hand = ldp.FrequencyModel([FIRST.counts([74, 26]), SECOND.counts([186, 114])]).fit()
    assert round(hand.bse["yes"], 4) == 0.0432
    said = cohorts(WARNERS, shares).mechanism(NO_YES)
    for place, table in places_of(published(), tmp_path).items():
        found = ldp.Survey(table, {"said": said}).frequencies("said")
        for mine, own in (
            (found.params, hand.params),
            (found.bse, hand.bse),
            (found.conf_int(), hand.conf_int()),
            (found.llf, hand.llf),
            (found.goodness_of_fit.pvalue, hand.goodness_of_fit.pvalue),
        ):
            np.testing.assert_allclose(mine, own, rtol=0, atol=1e-9, err_msg=place)
    again = type(found).from_json(found.to_json())
    assert str(again.summary()) == str(found.summary())
    assert [source[:2] for source in found.sources] == ["A:", "B:"]


def test_weighted_reports_are_decoded_by_their_own_device():
    """Whatever the weights of the groups are: each says .2; with weights of one and by hand."""
    for weight in (1.0, 5.0):
        table = published()
        table["w"] = np.where(table["design"] == "A", weight, 1.0)
        survey = ldp.Survey(table, {"said": SAID}, weights="w")
        for results in (survey.frequencies("said"), survey.frequencies("said", by="design")):
            for share in np.ravel(results.params.to_numpy().reshape(-1, 2)[:, 1]):
                assert isclose(share, 0.2, abs_tol=1e-12)
    table = published()
    survey = ldp.Survey(table, {"said": SAID}, weights="w")
    own = {"A": (0.1, 0.8), "B": (0.3, 0.4)}
    phi = [((said[2:] == "yes") - own[said[0]][0]) / own[said[0]][1] for said in table["said"]]
    assert isclose(survey.frequencies("said").bse["yes"], np.std(phi, ddof=1) / 20, rel_tol=1e-12)
    likeliest = survey.frequencies("said", method="mle")
    hand = ldp.FrequencyModel([FIRST.counts([74, 26]), SECOND.counts([186, 114])]).fit()
    assert isclose(likeliest.llf, hand.llf, abs_tol=1e-9)
    assert isclose(likeliest.params["yes"], 0.2, abs_tol=1e-9)


def test_the_finite_population_adds_the_noise_of_each_group_to_its_weights():
    """All of both strata were asked: what varies is the randomisation of each device."""
    table = published().assign(size=lambda t: t["design"].map({"A": 100, "B": 300}))
    how = {"strata": "design", "fpc": "size"}
    found = ldp.Survey(table, {"said": SAID}, **how).frequencies("said")
    variance = 100 * 0.9 * 0.1 / 0.8**2 + 300 * 0.7 * 0.3 / 0.4**2
    assert isclose(found.bse["yes"], variance**0.5 / 400, rel_tol=1e-9)


@pytest.mark.parametrize("both", [False, True])
def test_tables_are_those_of_the_groups(both):
    """A table, with the second question in cohorts or not, equals that of groups of reports."""
    rng, sizes = np.random.default_rng(3), {"A": 300, "B": 1200}
    paid = ldp.KRR(NO_YES, epsilon=1.5)
    others = {"u": library.warner(0.8), "v": library.warner(0.65)}
    devices = {"u": others["u"].mechanism(NO_YES), "v": others["v"].mechanism(NO_YES)}
    first, second, rows = [], [], []
    for (group, n), own, name in zip(sizes.items(), (FIRST, SECOND), devices, strict=True):
        answers = rng.choice(NO_YES, n, p=[0.7, 0.3])
        first.append(own.privatize(answers, rng))
        second.append((devices[name] if both else paid).privatize(answers, rng))
        said = [f"{group}:{y}" for y in own.report_labels(first[-1])]
        prefix = f"{name}:" if both else ""
        late = [f"{prefix}{y}" for y in second[-1].mechanism.report_labels(second[-1])]
        rows.append(pd.DataFrame({"said": said, "late": late, "w": 1.0}))
    table = pd.concat(rows, ignore_index=True)
    asked = {"said": SAID, "late": cohorts(others).mechanism(NO_YES) if both else paid}
    found = ldp.Survey(table, asked).association("said", "late")
    hand = ldp.AssociationModel(first, second, names=("said", "late")).fit()
    np.testing.assert_allclose(found.table, hand.table, atol=1e-9)
    np.testing.assert_allclose(found.conf_int(), hand.conf_int(), atol=1e-9)
    assert isclose(found.test_independence().pvalue, hand.test_independence().pvalue, rel_tol=1e-6)
    several = ldp.Survey(table, asked).associations(["said", "late"])
    assert isclose(
        several.pvalues.loc["said", "late"], found.test_independence().pvalue, rel_tol=1e-9
    )
    weighted = ldp.Survey(table, asked, weights="w")
    np.testing.assert_allclose(
        weighted.association("said", "late").params.to_numpy().reshape(2, 2).sum(axis=1),
        weighted.frequencies("said").linear_params,
        atol=1e-9,
    )


def test_groups_in_groups_and_groups_that_no_device_tells_alone():
    nested = cohorts({"x": cohorts(WARNERS), "y": truth}).mechanism(NO_YES)
    n = {"x:A:no": 74, "x:A:yes": 26, "x:B:no": 186, "x:B:yes": 114, "y:no": 8, "y:yes": 2}
    counts = nested.counts([n[label] for label in nested.outputs])
    exact = truth.mechanism(NO_YES)
    hand = ldp.FrequencyModel(
        [FIRST.counts([74, 26]), SECOND.counts([186, 114]), exact.counts([8, 2])]
    )
    np.testing.assert_allclose(ldp.FrequencyModel(counts).fit().bse, hand.fit().bse, atol=1e-9)
    part = [truth.when({"a": "1", "b": "0", "c": "0"}), truth.when({"a": "0", "b": "1", "c": "0"})]
    asked = cohorts({"a?": part[0], "b?": part[1]}).mechanism(("a", "b", "c"))
    table = pd.DataFrame({"q": ["a?:1"] * 50 + ["a?:0"] * 50 + ["b?:1"] * 90 + ["b?:0"] * 210})
    survey = ldp.Survey(table.assign(w=1.0), {"q": asked}, weights="w")
    for results in (survey.frequencies("q"), ldp.Survey(table, {"q": asked}).frequencies("q")):
        np.testing.assert_allclose(results.params, [0.5, 0.3, 0.2], atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldpstats.MisfitWarning")  # of the control, rightly
def test_coverage_where_the_groups_have_other_sizes(replications):
    """Groups of 100 and 300 by devices of equal shares; shares taken for evidence the control."""
    R, rng = replications(1000, 100), np.random.default_rng(8)
    old = ldp.CustomMechanism(np.array(SAID.exact, dtype=float), NO_YES, SAID.outputs.tolist())

    def survey(r: int) -> dict[str, Any]:
        a, b = rng.binomial(100, 0.26), rng.binomial(300, 0.38)
        n = [100 - a, a, 300 - b, b]
        fits = (ldp.FrequencyModel(made_by.counts(n)).fit("inversion") for made_by in (SAID, old))
        return {"ends": np.array([fit.conf_int().loc["yes"] for fit in fits])}

    ends = repeat(R, survey)["ends"]
    assert near(coverage(ends[:, :1], [0.2]), 0.95, R)
    assert not near(coverage(ends[:, 1:], [0.2]), 0.95, R)


def test_domains_of_groups_do_not_differ(tmp_path):
    said = cohorts(WARNERS, {"A": "1/4", "B": "3/4"}).mechanism(NO_YES)
    for table in places_of(published(), tmp_path).values():
        found = ldp.Survey(table, {"said": said}).frequencies("said", by="design")
        np.testing.assert_allclose(found.params.loc[:, "yes"], 0.2, atol=1e-9)
        interval = found.conf_int()
        assert (interval["lower"] <= found.params).all() and (
            found.params <= interval["upper"]
        ).all()
        assert (found.differences()["pvalue"] > 0.9).all()
        assert found.test_equal().pvalue > 0.9


# -- several devices on one sheet ------------------------------------------------------------------


JOBS = ("nurse", "cook", "driver")
ASKED_ALL = ldp.Questionnaire(
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


def persons(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    answers = {q: np.where(rng.random(n) < p, "yes", "no") for q, p in TRUE.items()}
    public = {"region": rng.choice(["n", "s"], n), "age": rng.integers(18, 80, n)}
    return pd.DataFrame(answers | {"job": rng.choice(JOBS, n)} | public)


@pytest.fixture(scope="module")
def answered():
    return ASKED_ALL.privatize(persons(2000), np.random.default_rng(6))


def test_epsilon_of_a_sheet_is_the_sum():
    assert set(ASKED_ALL.private) == set(EPSILONS)
    assert ASKED_ALL.epsilon == pytest.approx(sum(EPSILONS.values()), abs=1e-12)
    assert ASKED_ALL.audit().agrees


def test_surveys_estimate_from_them(answered):
    survey = ldp.Survey(answered, ASKED_ALL)
    for question, share in TRUE.items():
        results = survey.frequencies(question)
        # 4 standard errors, one seed
        assert abs(results.linear_params["yes"] - share) < 4 * results.linear_bse["yes"] < 0.3
    by = survey.frequencies("often", by="region")
    assert by.params.index.get_level_values(0).unique().tolist() == ["n", "s"]


def test_clients_send_what_a_device_says():
    answers = {"used": "no", "often": "yes", "late": "yes", "paid": "no", "job": "cook"}
    sent = ASKED_ALL.client(np.random.default_rng(7).bytes).report(answers | {"region": "n"})
    assert sent["used"] in ("red", "black") and sent["late"] in ("same", "different")
    assert sent["often"] in (0, 1, 2)


def test_unknown_parameters_are_refused_where_they_must_be():
    lies = library.stochastic_lie_detector(0.7).mechanism(NO_YES)
    sheet = ldp.Questionnaire({"used": lies, "job": ldp.KRR(JOBS, 1.0)})
    assert ldp.Questionnaire.from_dict(sheet.to_dict()) == sheet
    assert sheet.epsilon == np.inf
    answers = persons(200)[["used", "job"]]
    with pytest.raises(NotAvailable, match="honesty"):
        sheet.privatize(answers, np.random.default_rng(1))
    with pytest.raises(NotAvailable, match="honesty"):
        sheet.audit()
    survey = ldp.Survey(answers, sheet)  # reports that were answered by hand
    with pytest.raises(NotIdentified, match="honesty"):
        survey.frequencies("used")
    assert survey.frequencies("job").nobs == 200
