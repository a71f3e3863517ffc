"""Questions that were asked with several designs, which columns of the table name."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize
from simulate import coverage, near, repeat

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.devices import library
from ldpstats.errors import InvalidArgument, LDPError, MechanismMismatch, UnknownCategory

NO_YES = ("no", "yes")
DESIGNS: dict[str, Any] = {
    "direct": ldp.Observed(NO_YES),
    "crosswise": library.crosswise("1/4").mechanism(NO_YES),  # which reports same and different
    "cards": ldp.Warner(p=0.8),
}
ASKED = ldp.by_column("design", DESIGNS)
P_IN_COLUMNS = ldp.by_column(["p", "prevalence"], ldp.UnrelatedQuestion)


def reports(design: Any, answers: Any, rng: np.random.Generator) -> Any:
    """What each respondent says, by her own design."""
    said = np.empty(len(answers), dtype=object)
    for name in dict.fromkeys(design.tolist()):
        rows, mechanism = np.flatnonzero(design == name), DESIGNS[name]
        said[rows] = mechanism.outputs.to_numpy()[mechanism.privatize(answers[rows], rng).y]
    return said


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng, n = np.random.default_rng(1), 3000
    age = rng.normal(size=n).round(2)
    yes = np.where(rng.random(n) < 1 / (1 + np.exp(1 - age)), "yes", "no")
    design = rng.choice([*DESIGNS], n, p=[0.2, 0.5, 0.3])
    frame = pd.DataFrame({"design": design, "age": age, "region": rng.choice(["n", "s"], n)})
    frame["used"] = reports(design, yes, rng)
    frame["w"] = rng.uniform(0.5, 2, n).round(3)
    frame["p"], frame["prevalence"] = rng.choice([0.7, 0.9], n), rng.choice([0.3, 0.5], n)
    other = np.where(rng.random(n) < frame.prevalence, "yes", "no")
    late = np.where(rng.random(n) < 0.6, yes, rng.choice(NO_YES, n))
    frame["late"] = np.where(rng.random(n) < frame.p, late, other)
    return frame


@pytest.fixture(scope="module", params=["frame", "csv", "duckdb"])
def survey(request, table, tmp_path_factory) -> ldp.Survey:
    folder, data = tmp_path_factory.mktemp("designs"), table
    if request.param == "csv":
        data = folder / "t.csv"
        table.to_csv(data, index=False)
    if request.param == "duckdb":
        data = folder / "t.parquet"
        table.to_parquet(data)
    return ldp.Survey(data, {"used": ASKED, "late": P_IN_COLUMNS})


@pytest.fixture(scope="module")
def L(table) -> Any:
    """P(report | answer) of each respondent, (n, 2), for both questions."""
    designs = {name: m.channel().matrix() for name, m in DESIGNS.items()}
    places = {name: m.outputs.tolist() for name, m in DESIGNS.items()}
    pairs = zip(table.design, table.used, strict=True)
    used = np.array([designs[d][:, places[d].index(said)] for d, said in pairs])
    yes = (table.late == "yes").to_numpy()
    p, other = table.p.to_numpy(), table.prevalence.to_numpy()
    say_yes = (1 - p) * other + np.outer([0, 1], p)
    return {"used": used, "late": np.where(yes, say_yes, 1 - say_yes).T}


def by_hand(L: Any, weights: Any = 1.0) -> float:
    """The share whose likelihood is largest, by the zero of the score."""
    slope = L[:, 1] - L[:, 0]
    score = lambda p: float(np.sum(weights * slope / (L[:, 0] + p * slope)))  # noqa: E731
    return brentq(score, 1e-6, 1 - 1e-6, xtol=1e-14)


@pytest.mark.parametrize("name", ["used", "late"])
def test_frequencies_are_given_the_design_of_each_respondent(survey, table, L, name):
    found = survey.frequencies(name)
    assert abs(found.params["yes"] - by_hand(L[name])) < 1e-8
    slope = L[name][:, 1] - L[name][:, 0]
    by_region = survey.frequencies(name, by="region").params
    for region in "ns":
        own = L[name][(table.region == region).to_numpy()]
        assert abs(by_region[region, "yes"] - by_hand(own)) < 1e-8
    information = np.sum((slope / (L[name][:, 0] + found.params["yes"] * slope)) ** 2)
    assert abs(found.bse["yes"] * information**0.5 - 1) < 0.02  # expected or observed
    alone = survey.where("region == 's' and age > 0").frequencies(name)
    own = L[name][((table.region == "s") & (table.age > 0)).to_numpy()]
    assert abs(alone.params["yes"] - by_hand(own)) < 1e-8


def test_weights_and_designs(table, L):
    asked: dict[str, Any] = {"used": ASKED, "late": P_IN_COLUMNS}
    survey = ldp.Survey(table, asked, weights="w", strata="region")
    score = np.empty(len(table))
    for name, mechanism in DESIGNS.items():  # its unbiased estimate of "yes", report by report
        rows = np.flatnonzero(table.design == name)
        inverse = np.linalg.inv(mechanism.channel().matrix())[:, 1]
        score[rows] = inverse[[mechanism.outputs.tolist().index(y) for y in table.used[rows]]]
    linear = survey.frequencies("used").params["yes"]
    assert abs(linear - np.average(score, weights=table.w)) < 1e-12
    for name in asked:
        most_likely = survey.frequencies(name, method="mle").params["yes"]
        assert abs(most_likely - by_hand(L[name], table.w.to_numpy())) < 1e-8
    jackknife = survey.replicates("jackknife").frequencies("used")
    assert abs(jackknife.bse["yes"] / survey.frequencies("used").bse["yes"] - 1) < 0.01


def test_regressions_associations_and_cells(survey, table, L):
    X = np.column_stack([np.ones(len(table)), table.age])

    def mean(b: Any) -> Any:
        return 1 / (1 + np.exp(-X @ b))

    def loss(b: Any) -> Any:
        return -np.log(L["used"][:, 0] * (1 - mean(b)) + L["used"][:, 1] * mean(b)).mean()

    fitted = survey.regression("used ~ age").fit()
    assert abs(fitted.llf / len(table) + loss(fitted.params.to_numpy())) < 1e-12
    h = 1e-5  # the gradient by differences, whose error is of order 1e-10
    for step in h * np.eye(2):
        b = fitted.params.to_numpy()
        assert abs(loss(b + step) - loss(b - step)) / (2 * h) < 1e-8
    names = survey.regression("used ~ age + design").fit().params.index.tolist()
    assert names == ["Intercept", "design[T.crosswise]", "design[T.direct]", "age"]

    both = np.einsum("nx,ny->nxy", L["used"], L["late"]).reshape(len(table), 4)

    def joint(z: Any) -> Any:
        p = np.exp(np.append(z, 0.0))
        p /= p.sum()
        mixed = both @ p
        gradient = p * ((both / mixed[:, None]).mean(axis=0) - 1)
        return -np.log(mixed).mean(), -gradient[:3]

    best = minimize(joint, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-11}).x
    p = np.exp(np.append(best, 0.0)).reshape(2, 2)
    together = survey.association("used", "late").table
    np.testing.assert_allclose(together, p / p.sum(), rtol=0, atol=1e-8)
    cells = survey.cells(["used", "late"], ldp.cells.saturated()).fit()
    np.testing.assert_allclose(np.ravel(cells.table), np.ravel(p / p.sum()), rtol=0, atol=1e-7)


def test_devices_with_unknown_parameters_of_two_designs():
    rng, n = np.random.default_rng(3), 200_000
    truth, design = rng.choice(NO_YES, n, p=[0.7, 0.3]), rng.choice(["a", "b"], n)
    parts = {"a": library.unrelated_question(0.7), "b": library.unrelated_question(0.3)}
    asked = ldp.by_column("design", {name: d.mechanism(NO_YES) for name, d in parts.items()})
    people = pd.DataFrame({"used": truth, "design": design})
    sheet = ldp.Questionnaire({"used": asked})
    with pytest.raises(LDPError, match="prevalence"):
        sheet.privatize(people, rng)
    p = people.design.map({"a": 0.7, "b": 0.3})
    people["used"] = np.where(rng.random(n) < p, truth, rng.choice(NO_YES, n, p=[0.6, 0.4]))
    found = ldp.Survey(people, sheet).frequencies("used")
    assert abs(found.params["prevalence"] - 0.4) < 4 * found.bse["prevalence"] < 0.04
    assert abs(found.params["yes"] - 0.3) < 4 * found.bse["yes"] < 0.04


def test_privatising_asks_each_respondent_by_her_design(table):
    people = table[["design", "region"]].assign(used=np.resize(NO_YES, len(table)))
    sheet = ldp.Questionnaire.from_json(ldp.Questionnaire({"used": ASKED}).to_json())
    made = sheet.privatize(people, np.random.default_rng(4))
    assert (made.used.str.split(":").str[0] == made.design).all()
    before = ldp.Survey(made, sheet).frequencies("used")
    apart = ldp.Survey(made.assign(used=made.used.str.split(":").str[1]), sheet)
    assert before.params.equals(apart.frequencies("used").params)
    assert ldp.count(made, ASKED, "used").nobs == len(made)
    drawn = sheet.privatize(people[["used"]], np.random.default_rng(5))  # without the column
    assert near((drawn.used.str.split(":").str[0] == "cards").mean(), 1 / 3, len(drawn))


def test_the_command_line_reads_designs_too(table, tmp_path, capsys):
    sheet = ldp.Questionnaire({"used": ASKED, "late": ldp.UnrelatedQuestion(p=0.7, prevalence=0.4)})
    table.to_csv(tmp_path / "t.csv", index=False)
    sheet.to_json(tmp_path / "sheet.json")
    survey = ldp.Survey(table, sheet)
    for options, found in {
        ("fit", "used"): survey.frequencies("used"),
        ("fit", "used", "--by", "region"): survey.frequencies("used", by="region"),
        ("associate", "used", "--column", "late"): survey.association("used", "late"),
    }.items():
        command, column, *more = options
        files = [str(tmp_path / "t.csv"), "--questionnaire", str(tmp_path / "sheet.json")]
        assert main([command, *files, "--column", column, *more, "--missing", "count"]) == 0
        assert str(found.summary()) in capsys.readouterr().out


def test_two_waves_keep_their_own_designs(table):
    first = table.assign(id=np.arange(len(table)))
    second = first.assign(design="cards", used=np.resize(NO_YES, len(table)))
    waves = [ldp.Survey(wave, {"used": ASKED}) for wave in (first, second)]
    both = waves[0].matched(waves[1], id="id")
    for suffix, wave in zip(("_1", "_2"), waves, strict=True):
        own = both.frequencies(f"used{suffix}").params
        assert own.tolist() == wave.frequencies("used").params.tolist()


def test_what_is_refused_and_how(table):
    def refused(kind: type[Exception], match: str, asked: Any, frame: Any = table) -> None:
        with pytest.raises(kind, match=match):
            ldp.Survey(frame, {"used": asked}).frequencies("used")

    refused(InvalidArgument, "by_column of 'used'='design': no such column", ASKED, table[["used"]])
    refused(UnknownCategory, "design, row 1='x'", ASKED, table.assign(design="x"))
    refused(InvalidArgument, "say which device or design made it", ASKED, table.assign(design=None))
    pairs = {("direct", "n"): DESIGNS["direct"], ("cards", "s"): DESIGNS["cards"]}
    both = ldp.by_column(["design", "region"], pairs)
    some = table[table.design != "crosswise"]
    refused(InvalidArgument, "design, region=.*no design of them", both, some)
    refused(InvalidArgument, "must be few", ldp.by_column("age", lambda age: ldp.Warner(p=0.8)),
            table.assign(age=np.arange(len(table))))  # fmt: skip
    even = ldp.by_column("p", lambda p: ldp.Warner(p=0.5))
    refused(InvalidArgument, "mechanisms={'p': 0.7}: must return a mechanism.*epsilon 0", even)
    secret = ldp.by_column("region", {"n": ldp.Warner(p=0.8), "s": ldp.Warner(p=0.7)})
    with pytest.raises(InvalidArgument, match="columns='region': is private"):
        ldp.Survey(table, {"used": secret, "region": ldp.KRR(("n", "s"), 1.0)})
    with pytest.raises(InvalidArgument, match=r"pass the dict of mechanisms to ldpstats.Survey"):
        ldp.Questionnaire({"used": P_IN_COLUMNS})
    with pytest.raises(MechanismMismatch, match="same labels in the same order"):
        ldp.by_column("design", {"a": ldp.Warner(p=0.8), "b": ldp.Observed(("yes", "no"))})
    with pytest.raises(InvalidArgument, match=r"device.mechanism\(\('no', 'yes'\)\)"):
        ldp.by_column("design", {"a": library.crosswise(0.3), "b": library.crosswise(0.2)})
    for given in ([DESIGNS], {}, None):
        with pytest.raises(InvalidArgument, match="must be a dict from the values"):
            ldp.by_column("design", given)
    with pytest.raises(InvalidArgument, match="must be a tuple of 2 values"):
        ldp.by_column(["design", "region"], DESIGNS)


def test_designs_that_depend_on_the_answer_are_noticed_and_a_regression_allows_for_it(table):
    rng, yes = np.random.default_rng(6), 1 / (1 + np.exp(1 - table.age.to_numpy()))
    older = rng.random(len(table)) < 1 / (1 + np.exp(-2 * table.age.to_numpy()))
    answers = np.where(rng.random(len(table)) < yes, "yes", "no")
    design = np.where(older, "direct", "cards")
    asked = table.assign(design=design, used=reports(design, answers, rng))
    survey = ldp.Survey(asked, {"used": ASKED})
    with pytest.warns(ldp.MisfitWarning, match="homogeneity of the sources"):
        survey.frequencies("used")
    weighted = ldp.Survey(asked.assign(old=older, w=1.0), {"used": ASKED}, weights="w")
    shares = weighted.frequencies("used")
    assert abs(shares.params["yes"] - np.mean(answers == "yes")) < 4 * shares.bse["yes"] < 0.1
    cells, both = weighted.association("used", "old"), pd.crosstab(answers, older, normalize=True)
    assert (np.abs(cells.table.to_numpy() - both.to_numpy()) < 4 * cells.bse_table.to_numpy()).all()
    found = survey.regression("used ~ age").fit()
    assert (np.abs(found.params - [-1, 1]) < 4 * found.bse).all() and found.bse.max() < 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")  # of the control
def test_intervals_cover_and_do_not_where_the_design_is_ignored():
    R, n, truth = 500, 600, 0.15

    def one(r: int) -> dict[str, Any]:
        rng = np.random.default_rng([8, r])
        yes = np.where(rng.random(n) < truth, "yes", "no")
        design = rng.choice([*DESIGNS], n, p=[0.3, 0.4, 0.3])
        frame = pd.DataFrame({"design": design, "used": reports(design, yes, rng)})
        asked = ldp.Survey(frame, {"used": ASKED}).frequencies("used")
        pooled = frame.replace({"used": {"same": "no", "different": "yes"}})
        ignored = ldp.Survey(pooled, {"used": DESIGNS["cards"]}).frequencies("used")
        return {"given": asked.conf_int().loc["yes"], "ignored": ignored.conf_int().loc["yes"]}

    found = repeat(R, one)
    assert 0.935 <= coverage(found["given"], truth) <= 0.965
    assert coverage(found["ignored"], truth) < 0.9
