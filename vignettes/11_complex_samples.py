# %% [markdown]
# # A school survey, from the sampling plan to the published table
#
# Official surveys draw schools in strata and pupils in schools, and weight what they find. Here
# 150,000 pupils are asked how often they use cannabis. Their devices randomise the answers, and the
# analyst publishes shares with intervals that allow for strata, clusters, weights, calibration and
# randomisation together. The population is simulated, so every number has a truth beside it.

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
# 500 schools in four regions. Use varies between schools and is higher in large ones; older pupils
# and boys use more. Whoever uses cannabis also skips lessons more often.

# %%
regions = pd.DataFrame(
    {"schools": [60, 150, 240, 50], "sampled": [30, 25, 30, 20], "effect": [0.5, 0.0, -0.3, 0.2]},
    index=pd.Index(["capital", "coast", "inland", "north"], name="region"),
)
schools = pd.DataFrame({"region": np.repeat(regions.index, regions["schools"])})
schools["pupils"] = np.clip(rng.lognormal(5.6, 0.5, len(schools)), 80, 1500).astype(int)
schools["effect"] = (
    regions["effect"].to_numpy()[regions.index.get_indexer(schools["region"])]
    + 0.6 * np.log(schools["pupils"] / 280)
    + rng.normal(0, 0.5, len(schools))
)
people = schools.loc[np.repeat(schools.index, schools["pupils"])].rename_axis("school")
people = people.reset_index()
n = len(people)
people["sex"] = rng.choice(["girl", "boy"], n)
people["grade"] = rng.choice(["9", "10", "11"], n)
tendency = people.pop("effect") + 0.4 * (people["sex"] == "boy") + rng.logistic(size=n)
tendency += 0.4 * people["grade"].map({"9": -1, "10": 0, "11": 1})
people["use"] = np.array(answers)[np.digitize(tendency, [1.0, 2.0, 3.2])]
skips = 0.15 + 0.25 * (people["use"] != "never") + 0.15 * (people["use"] == "weekly")
people["skips"] = np.where(rng.random(n) < skips, "yes", "no")
truth = people["use"].value_counts(normalize=True)[list(answers)]
print(n, "pupils;", truth.round(4).to_dict())

# %% [markdown]
# ## The sample
#
# In each region schools are drawn at random, and 50 pupils in each school; a sixth do not take
# part, boys more often. A pupil stands for N / n schools and, within the school, for M / m pupils:
# the product is the weight. `n_schools` and `n_pupils` are the sizes that the finite population
# corrections need.

# %%


def draw(rng):
    """A stratified two-stage sample, with weights and the sizes behind them."""
    chosen = np.concatenate(
        [
            rng.choice(schools.index[schools["region"] == region], size, replace=False)
            for region, size in regions["sampled"].items()
        ]
    )
    inside = people[people["school"].isin(chosen)]
    asked = inside.groupby("school").sample(50, random_state=rng)
    sample = asked[rng.random(len(asked)) < np.where(asked["sex"] == "boy", 0.78, 0.88)].copy()
    sample["n_schools"] = sample["region"].map(regions["schools"])
    sample["n_pupils"] = sample.pop("pupils")
    m = sample.groupby("school")["school"].transform("size")
    sampled = sample["region"].map(regions["sampled"])
    sample["weight"] = sample["n_schools"] / sampled * sample["n_pupils"] / m
    return sample


sample = draw(rng)
print(f"{len(sample)} pupils in {sample['school'].nunique()} schools")
print(f"weights from {sample['weight'].min():.1f} to {sample['weight'].max():.1f}")

# %% [markdown]
# ## On the devices
#
# Two questions, two mechanisms, one epsilon for the sheet. The design stays public: it is known
# before anybody answers. `sheet.client()` is what runs on a pupil's telephone; here collection is
# simulated.

# %%
sheet = ldp.Questionnaire({"use": ldp.KRR(answers, epsilon=2.0), "skips": ldp.Warner(epsilon=1.5)})
collected = sheet.privatize(sample, rng)
print(sheet)
