"""Numbers of other packages, from their stored output, and ours.

The pages in vignettes/coming_from show the same numbers; here they are compared.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.devices import library

STORED = Path(__file__).parents[1] / "reference" / "coming_from"
ANSWERS = ("no", "yes")
DIE = library.forced_dice(yes=1, no=6).mechanism(ANSWERS)


def output(name: str, call: str) -> str:
    """What a call printed, up to the next prompt."""
    text = (STORED / name).read_text(encoding="utf-8")
    return re.split(r"^> ", text.split(f"> {call}", 1)[1].partition("\n")[2], flags=re.M)[0]


def row(text: str, name: str) -> list[float]:
    """The numbers of a row of a printed table."""
    (line,) = re.findall(rf"^{re.escape(name)} +(.*)$", text, re.M)
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", line)]


def said(true: Any, shown: Any) -> Any:
    """What respondents say after a roll of the die."""
    return np.select([shown == 1, shown == 6], ["yes", "no"], np.where(true, "yes", "no"))


def people() -> tuple[pd.DataFrame, Any, dict[str, ldp.Reports]]:
    """The table that rrreg.R and rr.R make, whose answers are true, and its reports."""
    i = np.arange(5050)
    table = pd.DataFrame({"age": 20 + 7 * i % 50, "sex": i // 50 % 2})
    true = 37 * i % 101 / 101 < 1 / (1 + np.exp(3 - 0.06 * table.age))
    return table, true, {"used": DIE.parse("used", said(true, 1 + 53 * i % 97 // 17))}


DESIGNS = {
    '270, 1000, model = "Warner", p = .8': library.warner(0.8),
    '270, 1000, model = "UQTknown", p = c(.7, .25)': library.unrelated_question(0.7, 0.25),
    '430, 1000, model = "Mangat", p = .7': library.mangat(0.7),
    '270, 1000, model = "Kuk", p = c(.8, .2)': library.kuk(0.8, 0.2),
    '270, 1000, model = "Crosswise", p = .25': library.crosswise(0.25),
    '430, 1000, model = "Triangular", p = .25': library.triangular(0.25),
}


@pytest.mark.parametrize("call", DESIGNS)
def test_designs_of_rrreg(call):
    printed = re.findall(r"\d\.\d+", output("rrreg.Rout", f"estimate({call})"))
    mechanism = DESIGNS[call].mechanism(ANSWERS)
    yes = int(call[:3])
    is_yes = [label in ("yes", "red", "same", "triangle") for label in mechanism.outputs]
    found = ldp.FrequencyModel(mechanism.counts(np.where(is_yes, yes, 1000 - yes))).fit()
    unbiased = found.bse["yes"] * np.sqrt(1000 / 999)  # RRreg divides by n - 1
    assert [found.params["yes"], unbiased] == pytest.approx([float(x) for x in printed], abs=1e-6)


TWO_GROUPS = {
    "CDM": (library.cheating_detection, (0.25, 0.5), (380, 540), ("gamma", "cheating")),
    "SLD": (library.stochastic_lie_detector, (0.3, 0.7), (580, 320), ("t", "honesty")),
    "UQTunknown": (library.unrelated_question, (0.7, 0.4), (220, 260), ("piUQ", "prevalence")),
}


@pytest.mark.parametrize("model", TWO_GROUPS)
def test_two_groups_of_rrreg(model):
    design, p, yes, (theirs, ours) = TWO_GROUPS[model]
    printed = output("rrreg.Rout", f'summary(RRuni(two({yes[0]}, {yes[1]}), model = "{model}"')
    groups = [
        design(one).mechanism(ANSWERS).counts([1000 - y, y]) for one, y in zip(p, yes, strict=True)
    ]
    found = ldp.FrequencyModel(groups).fit()
    unbiased = np.sqrt(1000 / 999)
    of_both = [found.params[ours], found.bse[ours] * unbiased]
    assert of_both == pytest.approx(row(printed, theirs)[:2], abs=1e-5)
    pi = found.params["yes"]
    if model == "CDM":  # RRreg's pi are the honest ones with the trait
        pi *= 1 - found.params["cheating"]
    assert pi == pytest.approx(row(printed, "pi")[0], abs=1e-5)


def test_regressions_of_rrreg():
    table, true, reports = people()
    fit = ldp.regression("used ~ age + sex", table, reports).fit()
    printed = output("rrreg.Rout", "summary(fit)")
    assert fit.llf == pytest.approx(row(printed, " 5050")[0], abs=1e-3)
    for ours, theirs in (("Intercept", "(Intercept)"), ("age", "age"), ("sex", "sex")):
        expected = row(printed, theirs)[:2]
        assert [fit.params[ours], fit.bse[ours]] == pytest.approx(expected, abs=5e-5)

    noise = np.array([_quantile(u) for u in (41 * np.arange(5050) % 103 + 0.5) / 103])
    table["pay"] = 30 + 0.2 * table.age - 5 * true + 4 * noise
    with pytest.warns(ldp.MisfitWarning):  # the predictor does depend on age
        alone = ldp.regression("pay ~ used + age", table, reports, marginal="1").fit("mle")
    printed = output("rrreg.Rout", "summary(line)")
    for ours, theirs in (("Intercept", "(Intercept)"), ("used[T.yes]", "used"), ("age", "age")):
        coefficient, error = row(printed, theirs)[:2]
        assert alone.params[ours] == pytest.approx(coefficient, abs=0.05 * error)
        assert alone.bse[ours] == pytest.approx(error, rel=2e-3)
    corrected = ldp.regression("pay ~ used + age", table, reports).fit()
    assert abs(corrected.params["age"] - 0.2) < 2 * corrected.bse["age"]
    assert abs(alone.params["age"] - 0.2) > 5 * alone.bse["age"]


def _quantile(u: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(u)


def test_regressions_of_rr():
    table, true, reports = people()
    printed = output("rr.Rout", "round(cbind(estimate = observed$est")
    fit = ldp.regression("used ~ age + sex", table, reports).fit()
    for name in ("Intercept", "age", "sex"):
        theirs = row(printed, "x(Intercept)" if name == "Intercept" else f"x{name}")
        assert [fit.params[name], fit.bse[name]] == pytest.approx(theirs, abs=2e-6)

    z = 29 * np.arange(5050) % 89 / 89
    table["vote"] = (z < 1 / (1 + np.exp(1 - 0.8 * true - 0.01 * table.age))).astype(int)
    printed = output("rr.Rout", "round(cbind(estimate = pred$est.t")
    pred = ldp.regression("vote ~ age + sex + used", table, reports).fit()
    for name, theirs in {"age": "xgyage", "sex": "xgysex", "used[T.yes]": "xgyy"}.items():
        coefficient, error = row(printed, theirs)
        assert pred.params[name] == pytest.approx(coefficient, abs=0.2 * error)  # rr stops early
        assert pred.bse[name] == pytest.approx(error, rel=2e-3)


def test_samples_of_rrtcs():
    table = pd.DataFrame({"used": np.repeat(ANSWERS, [730, 270]), "persons": 8000})
    found = ldp.Survey(table, {"used": DIE}, fpc="persons").frequencies("used")
    printed = output("rrtcs.Rout", 'ForcedResponse(z, 1/6, 1/6, Pi, "mean"')
    (variance,) = row(printed, "Variance:")
    assert found.params["yes"] == pytest.approx(row(printed, "Estimation:")[0], abs=1e-12)
    assert found.bse["yes"] ** 2 == pytest.approx(variance, rel=1e-7)
    printed = output("rrtcs.Rout", 'ForcedResponse(z, 1/6, 1/6, Pi, "total"')
    total = found.totals().loc["yes"]
    assert total["se"] ** 2 == pytest.approx(row(printed, "Variance:")[0], rel=1e-7)


def test_joint_table_of_google():
    i = np.arange(2000)
    x = 37 * i % 101 < 40
    y = 53 * i % 97 < np.where(x, 60, 25)
    coin = ldp.KRR(ANSWERS, epsilon=np.log(3))

    def reports(name: str, true: Any, turn: int, of: int) -> ldp.Reports:
        bits = turn * i % of / of < np.where(true, 0.75, 0.25)
        return coin.parse(name, np.where(bits, "yes", "no"))

    model = ldp.AssociationModel(reports("x", x, 29, 89), reports("y", y, 31, 83))
    joint = model.fit(cov_type="fpe16")
    printed = output("rappor.Rout", "round(fit$fit, 6)")
    for ours, theirs in (("yes", "TRUE"), ("no", "FALSE")):
        expected = row(printed, theirs)
        assert joint.table.loc[ours, ["yes", "no"]].tolist() == pytest.approx(expected, abs=1e-4)
    printed = output("rappor.Rout", "round(fit$sd, 6)")
    errors = [row(printed, f"[{j},]") for j in (1, 2)]
    assert joint.bse_table.loc[["yes", "no"], ["yes", "no"]].to_numpy() == pytest.approx(
        np.array(errors), abs=2e-5
    )
    printed = output("rappor.Rout", "TestIndependence")
    statistic = float(re.findall(r"\[1,\] (\d+\.\d+)", printed)[0])
    assert joint.test_independence("fpe16").statistic == pytest.approx(statistic, rel=1e-3)


def lines(name: str) -> list[list[float]]:
    """The numbers of each line that a Python script printed."""
    text = (STORED / name).read_text(encoding="utf-8").splitlines()
    return [[float(x) for x in re.findall(r"-?\d+\.?\d*", line)] for line in text]


def test_frequency_oracles():
    pure, multi, opendp = (lines(f"{x}.txt") for x in ("pure_ldp", "multi_freq_ldpy", "opendp"))
    direct = ldp.FrequencyModel(ldp.KRR(4, epsilon=1.0).counts([400, 250, 200, 150]))
    assert direct.fit("inversion").params.tolist() == pytest.approx(
        np.array(pure[0]) / 1000, abs=1e-9
    )
    assert direct.fit("normalized").params.tolist() == pytest.approx(multi[0], abs=1e-6)
    assert direct.fit("em").params.tolist() == pytest.approx(multi[1], abs=1e-6)
    unary = {0.5: pure[1], None: pure[2]}
    for theta, printed in unary.items():
        mechanism = ldp.KRAPPOR(4, epsilon=1.0, theta=theta)
        sums, expected = np.array(printed[:4], dtype=int), np.array(printed[4:]) / 1000
        model = ldp.FrequencyModel(mechanism.counts(sums, nobs=1000))
        assert model.fit("inversion").params.tolist() == pytest.approx(expected, abs=1e-9)
    assert [ldp.KRR(4, np.log(3)).epsilon, ldp.KRAPPOR(4, 2 * np.log(3)).epsilon] == pytest.approx(
        [opendp[0][0], opendp[2][0]], abs=1e-12
    )
    bits = ldp.KRAPPOR(4, 2 * np.log(3)).counts(np.array(opendp[3][:4], dtype=int), nobs=1000)
    debiased = ldp.FrequencyModel(bits).fit("inversion").params.to_numpy() * 1000
    assert debiased == pytest.approx(np.array(opendp[3][4:]), abs=1e-6)


def test_samples_of_survey():
    i = np.arange(400)
    table = pd.DataFrame({"school": i // 10, "region": np.where(i < 200, "north", "south")})
    table["schools"] = np.where(i < 200, 200, 400)
    table["weight"] = np.where(i < 200, 10, 20) * (1 + i % 3)
    table["sex"] = np.where(7 * i % 11 < 6, "f", "m")
    grades = ("low", "middle", "high")
    table["grade"] = np.array(grades)[(37 * i % 101 + table.school) % 101 // 34]
    true = (53 * i % 97 + 2 * table.school) % 97 < 30
    table["used"] = said(true, 1 + 41 * i % 103 // 18)
    design = {"weights": "weight", "strata": "region", "clusters": "school"}
    sheet = {"grade": ldp.Observed(grades), "used": DIE}
    survey = ldp.Survey(table, sheet, fpc="schools", **design)
    uncorrected = ldp.Survey(table, sheet, **design)

    margins = {"sex": {"f": 6500, "m": 5500}, "region": {"north": 4100, "south": 7900}}
    for call, found in {
        "svymean(~grade, design)": survey.frequencies("grade"),
        "svymean(~grade, raked)": survey.calibrate(margins).frequencies("grade"),
        "svymean(~grade, as.svrepdesign": survey.replicates("jackknife").frequencies("grade"),
    }.items():
        printed = output("survey.Rout", call)
        for grade in grades:
            mean, error = row(printed, f"grade{grade}")
            assert found.params[grade] == pytest.approx(mean, abs=1e-6)
            assert found.bse[grade] == pytest.approx(error, abs=6e-6)

    printed = output("survey.Rout", "svychisq(")
    f, d1, d2, p = (float(x) for x in re.findall(r"(?:F|ndf|ddf|p-value) = (\d+\.\d+)", printed))
    test = uncorrected.association("grade", "sex").test_independence("second", effects="observed")
    assert [test.statistic, *test.df, test.pvalue] == pytest.approx([f, d1, d2, p], abs=1e-4)

    printed = output("survey.Rout", "svymean(~I((used")
    mean, error = row(printed, "I((used - 1/6)/(2/3))")
    used = uncorrected.frequencies("used")
    assert [used.params["yes"], used.bse["yes"]] == pytest.approx([mean, error], abs=6e-6)
