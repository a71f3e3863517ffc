"""
An experiment with private outcomes
===================================

Half of the people were drawn to get a treatment, which is public. What it changed they answer in
private: two yes/no outcomes, each randomised.
"""

# %%
# Of 4,000 employees half were promised anonymity by a letter. Afterwards all were asked whether
# they reported a misdeed, and whether they know of one.

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(27)
people = pd.DataFrame({"letter": rng.random(4_000) < 0.5, "years": rng.integers(0, 20, 4_000)})
people["knows"] = rng.random(4_000) < 0.35
chance = np.where(people["letter"], 0.6, 0.3) + 0.01 * (people["years"] - 10)
people["reported"] = people["knows"] & (rng.random(4_000) < chance)
people[["knows", "reported"]] = people[["knows", "reported"]].replace({True: "yes", False: "no"})
warner = ldp.Warner(epsilon=2.0)
sheet = ldp.Questionnaire({"knows": warner, "reported": warner})
survey = ldp.Survey(sheet.privatize(people, rng), sheet)

# %%
# The effect of the letter on reporting is a difference of two shares:

results = survey.cells(["letter", "knows", "reported"], ldp.cells.saturated()).fit()
results.effect(lambda p: p[1, :, 1].sum() / p[1].sum() - p[0, :, 1].sum() / p[0].sum())

# %%
# Only who knows of a misdeed can report it. The joint law of both outcomes has the effect among
# those, who are the same in both arms if the letter tells nobody of misdeeds:

results.effect(lambda p: p[1, 1, 1] / p[1, 1].sum() - p[0, 1, 1] / p[0, 1].sum())

# %%
# A covariate from before the experiment makes a regression of the outcome a little more precise.
# The average over the people of what a logit says:

survey.regression("reported ~ letter + years").fit().get_margeff(dummy=True).summary_frame()

# %%
# **For your own data**, name the arm and the outcomes. Weights, strata and clusters are those of
# the survey; with clusters, arms that were drawn by cluster have honest errors.
#
# Reference: `ldpstats.Survey.cells`, `ldpstats.CellResults`, `ldpstats.Survey.regression`. Deeper:
# the guide to :doc:`many questions </guide/many>`, and the article
# :doc:`/gallery/articles/05_association`.
