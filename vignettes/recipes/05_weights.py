"""
Weights and strata
==================

Respondents were drawn at different rates in the strata, and a weight says how many people of the
population each stands for. Estimates are wanted for the population, with intervals that allow for
the design and for the randomised answers.
"""

# %%
# The city is oversampled: there every fifth person was drawn, elsewhere every fiftieth.

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(5)
city = rng.permutation(np.repeat([True, False], [2_000, 1_600]))
people = pd.DataFrame({"stratum": np.where(city, "city", "country")})
people["weight"] = np.where(city, 5.0, 50.0)
daily = rng.random(3_600) < np.where(city, 0.35, 0.20)
people["drinks"] = np.where(daily, "daily", "less")
sheet = ldp.Questionnaire({"drinks": ldp.KRR(("less", "daily"), epsilon=1.5)})
collected = sheet.privatize(people, rng)

# %%
# Name the columns of the design once; everything that is computed from the survey uses them. Of the
# 90,000 people 22.2 % drink daily.

survey = ldp.Survey(collected, sheet, weights="weight", strata="stratum")
drinks = survey.frequencies("drinks")
drinks.summary()

# %%
# Numbers of people, and what the design and the randomisation each cost in variance.

print(drinks.totals().round(0))
print(drinks.deff().round(2))
drinks.plot()

# %%
# ``by=`` works with weights as without. Groups may be strata or cut across them.

by_stratum = survey.frequencies("drinks", by="stratum")
print(by_stratum.to_frame().round(3))
print(by_stratum.test_equal())

# %%
# Weights that are all one give the estimates of a survey without weights, but not exactly its
# intervals: with weights these are score intervals with Taylor's variance and quantiles of t,
# without weights exact ones (Clopper-Pearson) for independent respondents.
#
# **For your own data**, name your columns in ``weights=``, ``strata=``, and, where there are any,
# ``clusters=`` and ``fpc=``.
#
# Reference: `ldpstats.Survey`, `ldpstats.WeightedResults`. Clusters, calibration and replicate
# weights are in the article :doc:`/gallery/articles/11_complex_samples`.
