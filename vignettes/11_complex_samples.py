# %% [markdown]
# # A school survey, from the sampling plan to the published table
#
# Official surveys draw schools in strata and pupils in schools, and weight the answers. Here pupils
# are asked how often they use cannabis. Their devices randomise the answers, and the analyst
# publishes shares whose intervals allow for strata, clusters, weights, calibration and randomisation
# together. The population is simulated, so that every estimate has a truth beside it.

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpstats as ldp

figures = Path(sys.argv[2]) if sys.argv[1:2] == ["--figures"] else None
rng = np.random.default_rng(11)
answers = ("never", "once", "monthly", "weekly")

# %% [markdown]
# ## The population
#
# 150,000 pupils in 500 schools of four regions. Use varies between schools and is higher in large
# ones and in the capital; boys and older pupils use more. Pupils who use also skip more lessons.

# %%
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

# %% [markdown]
# ## The sample
#
# In each region schools are drawn at random, and 50 pupils in each school. One in six does not take
# part, more often a boy. A respondent stands for N / n schools (existing, drawn) times M / m pupils
# (of the school, taking part): that product is the weight. N and M are kept in columns, because
# finite population corrections need them.

# %%
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

# %% [markdown]
# ## On the devices
#
# Each question has its mechanism; a sheet spends the sum of their epsilons. Region, school, sex,
# grade and weight stay public. `sheet.client()` is what runs on a pupil's telephone; here
# collection is simulated.

# %%
sheet = ldp.Questionnaire({"use": ldp.KRR(answers, epsilon=2.5), "skips": ldp.Warner(epsilon=1.5)})
collected = sheet.privatize(sample, rng)
survey = ldp.Survey(
    collected,
    sheet,
    weights="weight",
    strata="region",
    clusters="school",
    fpc=["n_schools", "n_pupils"],
)
print(survey.design)

# %% [markdown]
# ## The summary, line by line

# %%
use = survey.frequencies("use")
print(use.summary())
inside = (use.conf_int()["lower"] < truth) & (truth < use.conf_int()["upper"])
print("truth:", truth.round(4).to_dict())
assert inside.all()

# %% [markdown]
# - *Design*, *Units*, *Df of design*: the columns, 105 schools in 4 strata, and schools less strata,
#   the degrees of freedom of the t intervals. There are 4,300 pupils, but the schools decide how well
#   variances are known.
# - *Sum of weights*: the estimated number of pupils.
# - *estimate*: the weighted share after decoding. It is unbiased and may leave [0, 1] in a small
#   domain; `method="mle"` stays inside.
# - *std err*: sampling in both stages and randomisation together. Finite population corrections
#   shrink the sampling part only: half of the capital's schools are in the sample, but the noise of
#   their pupils is there in full.
# - *deff design* and *deff privacy*: the subject of the next section.
# - The last lines give the effective sample size.
#
# Numbers of pupils, means and ratios come from the same totals.

# %%
print(use.totals().round(0).to_string())
days = {"never": 0, "once": 1, "monthly": 12, "weekly": 50}
print("days a year:", use.mean(days).round(3).to_dict())
print("weekly for one monthly user:", use.ratio("weekly", "monthly").round(3).to_dict())

# %% [markdown]
# ## The two design effects, and what planning can do about each
#
# A variance is that of a simple random sample of true answers, times `deff_design`, times
# `deff_privacy`.
#
# - `deff_design` is what strata, clusters and unequal weights do to true answers. Pupils of a school
#   are alike, so the fiftieth tells less than the first. More schools with fewer pupils each, better
#   strata and more even weights lower it. Epsilon does not.
# - `deff_privacy` is what the randomisation multiplies this by. A larger epsilon, a better mechanism
#   or more pupils lower it, even if they are in the same schools.
#
# The column `channel` is the privacy factor in a simple random sample. It is larger: noise is
# independent from pupil to pupil and averages out within a school, what a school has in common does
# not. In a cluster sample privacy costs less.

# %%
deff = use.deff()
print(deff.round(2).to_string())
sampling = use.bse**2 / deff["deff_privacy"]
noise = use.bse**2 - sampling
noise_at_4 = ldp.planning.expected_losses if False else None
