"""What people type first who come from elsewhere: it runs, or an error says what to type.

Each line is a call as somebody would write it who knows R's survey, pandas, statsmodels, clients or
what privacy is, and has not read the documentation.
"""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.hints import HINTS

N, JOBS = 600, ("nurse", "teacher", "driver")

CALLS = {  # those that run, and those that may be refused, with a remedy
    "R's survey": (
        """
        ws.where("age > 30").frequencies("job")
        ws.frequencies("job").deff
        ws.frequencies("job").totals()
        ws.frequencies("job", by="agegroup")
        s.frequencies("job", by="agegroup")
        s.frequencies("job", by="month")
        s.frequencies("job", by="day")
        s.frequencies("job", by="age")
        s.frequencies("job", by=["sex", "region"])
        ldp.Survey(t, sheet, weights=t.w)
        ldp.Survey(t, sheet, weights=t["w"], strata="region")
        ldp.Survey(t, sheet, weights=t.w[::-1])
        ldp.Survey(t, sheet, strata=t.region, weights="w")
        ws.calibrate({"sex": {"f": 1000, "m": 900}})
        ws.regression("late ~ age").fit().summary()
        ws.association("job", "late").test_independence()
        ws.frequencies("late").ratio("yes", "no")
        ws.association("job", "late", "sex")
        ws.regression("late ~ scale(age)").fit()
        ws.regression("late ~ log(age)").fit()
        s.regression("late ~ age + (1|school)").fit()
        """,
        """
        ldp.svydesign(ids="school", strata="region", weights="w", data=t)
        ldp.svymean("~job", s)
        s.svymean("job")
        ldp.svytable("~job+late", s)
        ldp.svyglm("late ~ age", s)
        ldp.svychisq("~job+late", s)
        ldp.svyby("~job", "~sex", s)
        s.mean("job")
        s.total("job")
        s.proportions("job")
        s.prop("late")
        ws.subset("age > 30")
        ws.frequencies("job").confint()
        ws.frequencies("job").SE()
        ws.frequencies("job").se
        ws.frequencies("job").coef()
        ws.frequencies("job").vcov()
        ws.totals("job")
        s.frequencies("~job")
        s.frequencies("job ~ sex")
        s.frequencies(["job", "late"])
        s.frequencies("jobs")
        s.frequencies("job", by=t.sex)
        s.frequencies("job", groupby="sex")
        s.frequencies("job", weights="w")
        ldp.Survey(t, sheet, weights=t.w.to_numpy())
        ldp.Survey(t, sheet, weights=[1.0] * n)
        ldp.Survey(t, sheet, weight="w")
        ldp.Survey(t, sheet, cluster="school")
        ws.rake({"sex": {"f": 1000, "m": 900}})
        ws.postStratify({"sex": {"f": 1000, "m": 900}})
        ws.svyquantile("job")
        ws.glm("late ~ age")
        ws.test_independence("job", "late")
        ws.degf()
        ws.frequencies("job").contrast({"nurse": 1, "driver": -1})
        ws.svyratio("job", "late")
        ldp.Survey(t, sheet, id="school", strata="region", weights="w")
        ldp.Survey(t, sheet, strata="~region")
        ldp.Survey(t, sheet, clusters="school", nest=True)
        ws.regression("late ~ age", design=ws)
        ws.regression("late ~ factor(region)")
        ws.regression("late ~ .")
        """,
    ),
    "pandas": (
        """
        ldp.Survey("t.csv", sheet)
        ldp.Survey("t.dta", sheet)
        ldp.Survey("semi.csv", sheet, sep=";")
        ldp.Survey(tb, {"late": ldp.Warner(epsilon=1.0, categories=(0, 1))}).frequencies("late")
        ldp.Survey(t01, {"late": ldp.Warner(epsilon=1.0, categories=(0, 1))}).frequencies("late")
        ldp.Survey(tf, {"late": ldp.Warner(epsilon=1.0, categories=(0, 1))}).frequencies("late")
        ldp.Warner(epsilon=1.0, categories=(0, 1)).privatize(df.ill, rng)
        s[t.age > 30].frequencies("job")
        len(s)
        "job" in s
        s.where(t.age > 30)
        t.assign(job=reports.to_series())
        r.params["nurse"]
        r.to_frame()
        r.to_dict()
        r.plot()
        g.params.unstack()
        g["f"]
        s.where("30 < age < 40")
        s.where("sex in ['f']")
        """,
        """
        ldp.Survey("t.xlsx", sheet)
        ldp.Survey("t.sav", sheet)
        ldp.Survey("semi.csv", sheet)
        ldp.read_csv("t.csv")
        ldp.Survey(t01, {"late": warner}).frequencies("late")
        ldp.Survey(tb, {"late": warner}).frequencies("late")
        ldp.Survey(t01, {"late": ldp.KRR((False, True), epsilon=1.0)}).frequencies("late")
        ldp.Warner(epsilon=1.0).privatize(df.ill, rng)
        s.head()
        s.shape
        s.describe()
        s.info()
        s.groupby("sex")
        s.query("age > 30")
        s.value_counts("job")
        s.crosstab("job", "late")
        ldp.crosstab(s, "job", "late")
        s["job"]
        s.job
        s.to_csv("x.csv")
        s.loc[t.age > 30]
        s.where("age > 30 & sex == 'f'")
        s.where("job == 'nurse'")
        s.where("sex = 'f'")
        reports.to_frame()
        reports.value_counts()
        reports.to_numpy()
        reports.mean()
        reports.unique()
        counts.to_frame()
        counts.to_series()
        r.loc["nurse"]
        r.to_csv("r.csv")
        r.to_latex()
        r.to_markdown()
        r.to_excel("r.xlsx")
        r.to_html()
        r.to_string()
        r.plot(kind="bar")
        r.hist()
        r.round(3)
        r.table
        g.loc["f"]
        g.pivot()
        ldp.Survey.from_csv("t.csv", sheet)
        ldp.Survey.from_dataframe(t, sheet)
        ldp.Survey(t.to_dict("records"), sheet)
        s.questions
        s.names
        s.nobs
        s.epsilon
        s.dropna()
        s.merge(s)
        s.where(sex="f")
        s.where(lambda d: d.age > 30)
        r.to_json("r.json")
        r.to_markdown("r.md")
        r.to_latex("r.tex")
        r.to_dict(orient="records")
        r.sort_values("params")
        r["nurse"]
        list(r)
        g.items()
        reports.to_csv("x.csv")
        counts.sum()
        """,
    ),
    "statsmodels": (
        """
        m.conf_int(alpha=.1)
        m.conf_int(.1)
        m.cov_params()
        m.predict(pd.DataFrame({"age": [30], "sex": ["f"]}))
        m.predict({"age": [30], "sex": ["f"]})
        m.get_margeff().summary()
        m.odds_ratios()
        m.wald_test("age = 0")
        m.t_test("age = 0")
        m.aic
        m.bse
        ldp.PrivatizedLogit(warner.privatize(df.late, rng), df[["age"]]).fit(disp=0)
        s.regression("late ~ C(region) + np.log(age)").fit()
        s.regression("age ~ job").fit()
        m.wald_test("age = sex[T.m]")
        m.t_test([0, 1, 0])
        m.get_prediction(pd.DataFrame({"age": [30], "sex": ["f"]}))
        m.get_prediction(df.head()).summary_frame()
        m.summary().as_latex()
        m.conf_int().loc["age"]
        m.cov_params().loc["age", "age"]
        m.bic
        s.regression("late ~ job").fit()
        ldp.plot_coefficients([m, m])
        """,
        """
        s.regression("late ~ age").fit().tidy()
        s.regression("late ~ age").tidy()
        s.regression("late ~ age").summary()
        s.regression("late ~ age").params
        m.coef
        m.coef_
        m.vcov()
        m.confint()
        m.predict_proba(pd.DataFrame({"age": [30], "sex": ["f"]}))
        m.margeff()
        m.summary2()
        m.anova()
        m.resid
        m.residuals
        m.fittedvalues
        m.rsquared
        m.f_test("age = 0")
        m.AIC()
        m.loglik
        m.logLik()
        m.save("m.pkl")
        m.remove_data()
        m.std_err
        m.get_robustcov_results()
        m.compare_lr_test(m)
        ldp.logit("late ~ age", t)
        ldp.glm("late ~ age", t)
        ldp.Logit(reports, df[["age"]])
        ldp.OLS(reports, df[["age"]])
        ldp.PrivatizedLogit(t.late, t[["age"]])
        ldp.PrivatizedLogit(warner.privatize(df.late, rng), df[["age"]]).fit(cov_type="HC1")
        s.regression("late ~ age").fit(cov_type="HC3")
        s.regression("late ~ age", weights="w")
        s.regression("late ~ poly(age, 2)")
        s.regression("late ~ age", family="probit")
        s.regression("late ~ age", link="probit").fit()
        s.regression("late ~ age + nosuch")
        s.regression("late, age")
        s.regression("late", "age")
        ldp.regression("late ~ age", t)
        ldp.regression("late ~ age", t, {"late": warner}).fit()
        m.wald_test_terms()
        m.zvalues
        m.model.formula
        m.pred_table()
        s.regression("late ~ age").exog
        s.regression("late ~ age").fit(method="bfgs")
        s.mixedlm("late ~ age", groups="school")
        ldp.plot_coefficients(m, m)
        """,
    ),
    "clients": (
        """
        krr.privatize("nurse", rng)
        krr.client()
        krr.client().report("nurse")
        sheet.client().report({"job": "nurse", "late": "no"})
        sheet["job"]
        sheet.to_json()
        ldp.FrequencyModel(reports).fit().params
        ldp.FrequencyModel(krr.parse("job", t.job)).fit()
        ldp.FrequencyModel(krr.counts(t.job.value_counts())).fit()
        ldp.count(t, krr, "job")
        ldp.count("t.csv", krr, "job")
        ldp.KRR(pd.Series(jobs), 1.0)
        ldp.KRR(categories=jobs, epsilon=np.log(3))
        sheet.client().report({"job": "nurse"})
        """,
        """
        krr.privatize("nurse")
        krr.privatize(["nurse"])
        krr.privatize(df.job, 42)
        krr.privatize(df.job, seed=42)
        krr.randomize(df.job)
        krr.perturb("nurse")
        krr.encode("nurse")
        krr.client().report("pilot")
        krr.to_json()
        ldp.KRR(jobs, eps=1.0)
        ldp.KRR(3, epsilon="1")
        ldp.KRR(jobs, epsilon=0)
        ldp.KRR(jobs)
        ldp.KRR(epsilon=1.0, k=3)
        ldp.GRR(jobs, 1.0)
        ldp.RandomizedResponse(.75)
        ldp.RandomizedResponse(epsilon=1.0)
        ldp.OUE(jobs, 1.0)
        ldp.Laplace(1.0)
        ldp.DirectEncoding(3, 1.0)
        ldp.aggregate(reports)
        krr.aggregate(reports)
        krr.estimate(reports)
        krr.fit(reports)
        krr.decode(reports)
        krr.epsilon_of()
        sheet.privatize(df)
        sheet.privatize(df.iloc[0], rng)
        sheet.privatize(df.iloc[0].to_dict(), rng)
        sheet.fit(t)
        sheet.keys()
        sheet.items()
        ldp.FrequencyModel(t.job)
        ldp.FrequencyModel(t.job, krr)
        ldp.FrequencyModel(krr).fit(t.job)
        ldp.FrequencyModel(reports).fit_transform()
        ldp.FrequencyModel(counts.vector()).fit()
        ldp.FrequencyModel({"a": reports}).fit()
        ldp.FrequencyModel(reports).fit(method="MLE")
        ldp.FrequencyModel(reports).fit(method="nosuch")
        ldp.AssociationModel(reports, df.late)
        ldp.RAPPOR(epsilon=1.0)
        ldp.RAPPOR(jobs, epsilon=1.0)
        ldp.CrosswiseModel(p=.25)
        ldp.devices.warner(p=.7)
        ldp.Questionnaire(job=krr)
        ldp.Questionnaire({"job": jobs}, epsilon=1.0)
        krr.client().randomize("nurse")
        krr.p
        sheet.save("sheet.json")
        """,
    ),
    "privacy": (
        """
        krr.epsilon
        krr.audit()
        sheet.epsilon
        sheet.audit()
        ldp.privacy.Ledger()
        ldp.privacy.posterior(krr, [.5, .3, .2])
        krr.matrix()
        r.epsilon
        r.pvalues
        r.conf_int()
        r.nobs
        a.table
        a.cramers_v()
        a.odds_ratio(("nurse","driver"),("no","yes"))
        a.conditional()
        g.test_equal()
        g.differences()
        ldp.by_column("design", {"a": krr})
        ldp.planning.precision(krr, None, 1000)
        ldp.privacy.epsilon(krr)
        a.conditional("job")
        """,
        """
        krr.delta
        ldp.audit(krr)
        ldp.privacy_loss(krr)
        krr.sensitivity
        ldp.ledger()
        ldp.epsilon(krr)
        ldp.compose(krr, warner)
        krr.variance()
        krr.Q
        krr.transition_matrix()
        krr.instructions()
        r.pvalue
        r.ci
        r.confint()
        r.estimate
        r.estimates
        r.n
        r.std_errors
        r.standard_errors
        a.chi2
        a.chisq
        a.pvalue
        a.crosstab()
        a.test()
        a.odds_ratio()
        g.test()
        g.anova()
        s.power()
        ldp.power(krr, n=1000)
        ldp.sample_size(krr)
        ldp.planning.sample_size(krr, margin=.03)
        ldp.privacy.audit(krr)
        ldp.privacy.posterior(krr)
        ldp.planning.power(krr, n=1000)
        ldp.planning.sample_size(krr, moe=.03)
        ldp.planning.recommend(jobs, 1.0, power=.9)
        reports.epsilon
        """,
    ),
}
BARE = """
r.plot.bar()
s.frequencies()
krr(df.job)
counts["nurse"]
"""  # Python's own errors


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the calls name, in a folder with files of the same table."""
    rng, n = np.random.default_rng(1), N
    df = pd.DataFrame({"job": rng.choice(JOBS, n), "late": rng.choice(["no", "yes"], n)})
    df["age"], df["w"] = rng.integers(18, 80, n), rng.uniform(0.5, 2, n)
    df["sex"], df["region"] = rng.choice(["f", "m"], n), rng.choice(["n", "s", "w"], n)
    df["agegroup"] = pd.cut(df.age, [17, 30, 50, 80])
    df["month"] = pd.Series(pd.period_range("2024-01", periods=6, freq="M")).sample(
        n, replace=True, random_state=1, ignore_index=True
    )
    df["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 20, n), unit="D")
    df["ill"], df["school"] = rng.random(n) < 0.3, rng.integers(0, 40, n)
    jobs, krr, warner = JOBS, ldp.KRR(JOBS, epsilon=1.0), ldp.Warner(epsilon=1.0)
    sheet = ldp.Questionnaire({"job": krr, "late": warner})
    t = sheet.privatize(df, rng)
    yes = t.late == "yes"
    t01, tb, tf = (t.assign(late=yes.astype(kind)) for kind in (int, bool, float))
    folder = tmp_path_factory.mktemp("calls")
    t.to_csv(folder / "t.csv", index=False)
    t.to_csv(folder / "semi.csv", index=False, sep=";")
    t.drop(columns=["agegroup", "month"]).to_stata(folder / "t.dta", write_index=False)
    s = ldp.Survey(t, sheet)
    ws = ldp.Survey(t, sheet, weights="w", strata="region", clusters="school", nested=True)
    r, g, a = s.frequencies("job"), s.frequencies("job", by="sex"), s.association("job", "late")
    m = s.regression("late ~ age + sex").fit()
    reports = krr.privatize(df.job, rng)
    counts = reports.tally()
    return {**locals(), "ldp": ldp, "np": np, "pd": pd}


@pytest.fixture(autouse=True)
def here(known: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(known["folder"])


def refusal(call: str, known: dict[str, Any]) -> str | None:
    """What a call is refused with; None if it runs, and the error itself if it has no remedy."""
    try:
        eval(call, dict(known))
    except ldp.LDPError as error:
        return str(error)
    except (AttributeError, TypeError) as error:
        if re.search(
            r"it takes |no attribute( \S+)?: |not subscriptable: |needs the answer", str(error)
        ):
            return str(error)
        raise
    return None


@pytest.mark.filterwarnings("ignore::ldpstats.errors.LDPWarning")
@pytest.mark.parametrize("call", [c for runs, _ in CALLS.values() for c in lines(runs)])
def test_runs(call, known):
    assert refusal(call, known) is None


@pytest.mark.filterwarnings("ignore::ldpstats.errors.LDPWarning")
@pytest.mark.parametrize("call", [c for _, refused in CALLS.values() for c in lines(refused)])
def test_runs_or_says_what_to_type(call, known):
    refusal(call, known)


def test_few_errors_say_nothing(known):
    assert len(lines(BARE)) <= 5
    assert sum(len(lines(text)) for both in CALLS.values() for text in both) >= 111
    for call in lines(BARE):
        with pytest.raises((AttributeError, TypeError)):
            refusal(call, known)


def test_remedies_name_what_there_is(known):
    things = {"survey": [known["s"]], "mechanism": [known["krr"]], "ldpstats": [ldp]}
    things |= {"sheet": [known["sheet"]], "reports": [known["reports"]]}
    things["results"] = [known[name] for name in ("r", "g", "a", "m")]
    things["results"].append(known["ws"].frequencies("job"))
    text = " ".join(hint for hints in HINTS.values() for hint in hints.values())
    named = re.findall(rf"\b({'|'.join(things)})((?:\.[a-z_A-Z]+)+)", text)
    assert len(named) > 100
    for thing, path in named:
        names = path[1:].split(".")
        found = [one for one in things[thing] if hasattr(one, names[0])]
        assert found, f"{thing}{path}"
    for name in re.findall(r"\b([A-Z][A-Za-z]+)\(", text):
        assert hasattr(ldp, name) or hasattr(ldp.planning, name), name


def test_a_name_that_nobody_knows_has_no_hint():
    krr = ldp.KRR(3, epsilon=1.0)
    with pytest.raises(AttributeError, match=r"'KRR' object has no attribute 'nosuch'$") as caught:
        krr.nosuch  # noqa: B018
    assert caught.value.name == "nosuch" and caught.value.obj is krr
    assert not hasattr(krr, "aggregate")
