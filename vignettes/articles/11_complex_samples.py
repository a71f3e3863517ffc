"""
A school survey, from the sampling plan to the published table
==============================================================

School surveys draw schools in strata and pupils in schools, and weight the answers. Here pupils
are asked how often they use cannabis. Their devices randomise the answers, and the analyst
publishes shares whose intervals allow for strata, clusters, weights, calibration and
randomisation together. The population is simulated, so that every estimate has a truth beside it.
"""

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(11)
answers = ("never", "once", "monthly", "weekly")

# %%
# The population
# --------------
#
# 150,000 pupils in 500 schools of four regions. Use varies between schools and is higher in large
# ones and in the capital; boys and older pupils use more. Pupils who use also skip more lessons.

regions = pd.DataFrame(
    {"schools": [60, 150, 240, 50], "drawn": [30, 25, 30, 20], "effect": [0.9, 0.0, -0.3, 0.3]},
    index=pd.Index(["capital", "coast", "inland", "north"], name="region"),
)
schools = pd.DataFrame({"region": np.repeat(regions.index, regions["schools"])})
schools["pupils"] = np.clip(rng.lognormal(5.6, 0.5, len(schools)), 80, 1500).astype(int)
effect = schools["region"].map(regions["effect"]) + 0.7 * np.log(schools["pupils"] / 280)
schools["effect"] = effect + rng.normal(0, 0.6, len(schools))
people = schools.loc[np.repeat(schools.index, schools["pupils"])]
people = people.rename_axis("school").reset_index()
n = len(people)
people["sex"] = rng.choice(["girl", "boy"], n)
people["grade"] = rng.choice(["9", "10", "11"], n)
tendency = people.pop("effect") + rng.logistic(size=n) + 0.4 * (people["sex"] == "boy")
tendency += 0.4 * people["grade"].map({"9": -1, "10": 0, "11": 1})
people["use"] = np.array(answers)[np.digitize(tendency, [1.0, 2.0, 3.2])]
skips = 0.15 + 0.25 * (people["use"] != "never") + 0.15 * (people["use"] == "weekly")
people["skips"] = np.where(rng.random(n) < skips, "yes", "no")
truth = people["use"].value_counts(normalize=True)[list(answers)]
print(n, truth.round(4).to_dict())

# %%
# The sample
# ----------
#
# In each region schools are drawn at random, and 50 pupils in each school. One in six does not take
# part, more often a boy. A respondent stands for N / n schools (existing, drawn) times M / m pupils
# (of the school, taking part): that product is the weight. N and M are kept in columns, because
# finite population corrections need them.

chosen = np.concatenate(
    [
        rng.choice(schools.index[schools["region"] == region], size, replace=False)
        for region, size in regions["drawn"].items()
    ]
)
asked = people[people["school"].isin(chosen)].groupby("school").sample(50, random_state=rng)
sample = asked[rng.random(len(asked)) < np.where(asked["sex"] == "boy", 0.78, 0.88)]
sample = sample.assign(n_schools=sample["region"].map(regions["schools"]))
sample = sample.rename(columns={"pupils": "n_pupils"})
m = sample.groupby("school")["school"].transform("size")
drawn = sample["region"].map(regions["drawn"])
sample["weight"] = sample["n_schools"] / drawn * sample["n_pupils"] / m
print(f"{len(sample)} pupils in {sample['school'].nunique()} schools")
print(f"weights from {sample['weight'].min():.1f} to {sample['weight'].max():.1f}")

# %%
# On the devices
# --------------
#
# Each question has its mechanism; a sheet spends the sum of their epsilons. Region, school, sex,
# grade and weight stay public. ``sheet.client()`` is what runs on a pupil's telephone; here
# collection is simulated.

sheet = ldp.Questionnaire({"use": ldp.KRR(answers, epsilon=2.5), "skips": ldp.Warner(epsilon=1.5)})
collected = sheet.privatize(sample, rng)
design = {"weights": "weight", "strata": "region", "clusters": "school"}
design["fpc"] = ["n_schools", "n_pupils"]
survey = ldp.Survey(collected, sheet, **design)
print(survey.design)

# %%
# The summary, line by line
# -------------------------

use = survey.frequencies("use")
inside = (use.conf_int()["lower"] < truth) & (truth < use.conf_int()["upper"])
print("truth:", truth.round(4).to_dict())
assert inside.all()
use.summary()

# %%
# - *Design*, *Units*, *Df of design*: the columns; 105 schools in 4 strata; schools less strata,
#   the degrees of freedom of the intervals. However many pupils answer, the schools decide how well
#   variances are known.
# - *Sum of weights*: the estimated number of pupils in the population.
# - *estimate*: the weighted share after decoding. It is nearly unbiased, and in a small domain may
#   leave [0, 1]; ``method="mle"`` stays inside.
# - *std err*: sampling of schools, sampling of pupils and randomisation together. The finite
#   population corrections shrink only the first two: half of the capital's schools are in the
#   sample, but the noise in the reports of their pupils is there in full.
# - *deff design*, *deff privacy*: the subject of the next section.
#
# Numbers of pupils, means and ratios come from the same weighted totals.

print(use.totals().round(0).to_string())
days = {"never": 0, "once": 1, "monthly": 12, "weekly": 50}
print("days a year:", use.mean(days).round(2).to_dict())
print("weekly for each monthly user:", use.ratio("weekly", "monthly").round(2).to_dict())

# %%
# The two design effects, and what planning can do about each
# -----------------------------------------------------------
#
# A variance is that of a simple random sample of true answers, times ``deff_design``, times
# ``deff_privacy``.
#
# - ``deff_design`` is what strata, clusters and unequal weights do to true answers. Pupils of one
#   school are alike, so that the fiftieth tells less than the first. More schools with fewer pupils
#   each, better strata and more even weights lower it. Epsilon does not.
# - ``deff_privacy`` is what the randomisation multiplies this by. A larger epsilon, a better
#   mechanism or more pupils lower it, even if they are in the same schools.
#
# The column ``channel`` is the privacy factor in a simple random sample, which is larger. Noise is
# independent from pupil to pupil and averages out within a school; what its pupils have in common
# does not. In a cluster sample, privacy costs less.

deff = use.deff()
print(deff.round(2).to_string())
assert (deff["deff_privacy"] < deff["channel"]).all()
sampling = (use.bse**2 / deff["deff_privacy"]).sum()
noise = (use.bse**2).sum() - sampling
none = ldp.planning.nonprivate_l2(truth, n=1)
now, more = (ldp.planning.krr_l2(truth, epsilon, n=1) - none for epsilon in (2.5, 3.5))
plans = {
    "as it is": sampling + noise,
    "twice the pupils in each school": sampling + noise / 2,  # the pupils' own sampling left out
    "twice the schools, half the pupils in each": sampling / 2 + noise,
    "epsilon 3.5": sampling + noise * more / now,
}
print((pd.Series(plans) ** 0.5).round(4).to_string())

# %%
# These are rough standard errors, root mean squares over the four answers. Twice as many schools,
# with the same number of pupils in all, help more than twice as many pupils in the same schools,
# and more than a larger epsilon: the schools were the bottleneck of this survey.
#
# Domains and differences
# -----------------------
#
# A domain keeps the design of the whole sample: a school without boys still counts as a school that
# was drawn. So ``by=`` and ``where`` never drop rows; outside the domain weights are zero. Boys and
# girls sit in the same schools, and what these have in common cancels in the difference: its
# standard error is smaller than that of two independent groups.

by_sex = survey.frequencies("use", by="sex")
gaps = by_sex.differences(reference="girl")
print(gaps.round(4).to_string())
independent = (by_sex.bse["boy"] ** 2 + by_sex.bse["girl"] ** 2) ** 0.5
print("se of independent groups:", independent.round(4).to_dict())
assert (gaps["se"].to_numpy() < independent.to_numpy()).all()
print(by_sex.test_equal())
capital = survey.where("region == 'capital' and grade == '11'").frequencies("use")
print(f"capital, grade 11: {capital.nobs} pupils, {capital.df['never']:g} degrees of freedom")
print(capital.params.round(3).to_dict())

# %%
# Two answers of the same pupils
# ------------------------------
#
# Both answers are randomised, each by its own mechanism. Pupils of one school are alike, and so
# Pearson's test of independence rejects too often; the correction of Rao and Scott repairs that.

table = survey.association("use", "skips")
true_skips = people.groupby("use")["skips"].value_counts(normalize=True).rename("truth")
print(table.conditional("use").join(true_skips).round(3).to_string())
print(table.test_independence())

# %%
# What goes wrong without the design
# ----------------------------------
#
# Four analyses of the share that never used. With weights alone the estimate is the same, but its
# standard error is too small, because pupils of a school are taken for strangers. Without weights
# the capital has 29 % of the pupils, in place of 11 %. Reports taken for answers are biased towards
# even shares, and no larger sample repairs that.
#
# One sample illustrates, 2,000 prove: ``benchmarks/complex_samples.py`` draws them. Intervals with
# the design cover; those without weights, and those whose finite population correction shrinks the
# randomisation too, do not.

alone = ldp.Survey(collected, sheet, weights="weight").frequencies("use")
unweighted = ldp.Survey(collected, sheet).frequencies("use")
naive = ldp.Survey(collected, {"use": ldp.Observed(answers)}, **design).frequencies("use")
rows = pd.DataFrame(
    {
        name: [one.params["never"], one.bse["never"], *one.conf_int().loc["never"]]
        for name, one in {
            "design": use,
            "weights alone": alone,
            "no weights": unweighted,
            "reports taken for answers": naive,
        }.items()
    },
    index=["estimate", "se", "lower", "upper"],
).T
rows["holds the truth"] = (rows["lower"] < truth["never"]) & (truth["never"] < rows["upper"])
print(rows.round(4).to_string())
assert rows["se"]["weights alone"] < 0.8 * rows["se"]["design"]
assert rows["holds the truth"].tolist()[::3] == [True, False]

# %%
# Calibration to public margins
# -----------------------------
#
# The register of pupils says how many there are in each region, and how many girls and boys. Boys
# took part less often, and schools were drawn whatever their size. Raking makes the weights
# reproduce both margins, and variances then come from residuals: what region and sex explain varies
# no longer. Totals gain most. Only public columns can be margins; what is known of a privatised
# answer is a constraint on the estimate (``constraints=``).

margins = {name: people[name].value_counts().to_dict() for name in ("region", "sex")}
calibrated = survey.calibrate(margins)
print(calibrated.calibration.summary())
raked = calibrated.frequencies("use")
errors = pd.DataFrame({"before": use.totals()["se"], "after": raked.totals()["se"]})
print(errors.round(0).to_string())
assert (errors["after"] < errors["before"])["never"]

# %%
# Replicate weights
# -----------------
#
# Agencies often publish replicate weights in place of strata and schools. The jackknife made here
# leaves out one school at a time, and calibrates anew each time. Columns that come with a file are
# named by ``replicate_weights=ldp.ReplicateWeights("rep_*", "JKn", ...)``.

jackknife = calibrated.replicates("jackknife").frequencies("use")
print(pd.DataFrame({"linearised": raked.bse, "jackknife": jackknife.bse}).round(4).to_string())
assert np.allclose(jackknife.bse, raked.bse, rtol=0.1)

# %%
# The published table
# -------------------
#
# Results are a tidy table, LaTeX and a figure. Publish with them the mechanism and its epsilon, the
# design, the degrees of freedom, all of which the summary has, and the margins of the calibration.

published = calibrated.frequencies("use", by="region")
published.plot()
columns = ["region", "use", "estimate", "std_error", "lower", "upper"]
print(raked.summary().as_latex()[:150])
published.to_frame()[columns].round(3)
