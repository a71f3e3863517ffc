"""
An experiment with private outcomes
===================================

Half of the people were randomly assigned to a treatment, and the assignment is public. The outcomes
are private: two yes/no questions, each answered by randomised response.
"""

# %%
# Half of 4,000 employees got a letter that promised anonymity. Afterwards all were asked whether
# they know of a misdeed, and whether they reported one.

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
# Only those who know of a misdeed can report one. The joint distribution of both outcomes gives the
# effect among them; the arms are comparable if the letter makes nobody aware of a misdeed:

results.effect(lambda p: p[1, 1, 1] / p[1, 1].sum() - p[0, 1, 1] / p[0, 1].sum())

# %%
# A covariate measured before the experiment makes the estimate a little more precise. The average
# marginal effects of a logit:

survey.regression("reported ~ letter + years").fit().get_margeff(dummy=True).summary_frame()

# %%
# **For your own data**, name the arm and the outcomes. Weights, strata and clusters are those of
# the survey; if whole clusters were assigned to an arm, name the clusters, and the standard errors
# account for it.
#
# Reference: `ldpstats.Survey.cells`, `ldpstats.CellResults`, `ldpstats.Survey.regression`. Deeper:
# the guide to :doc:`many questions </guide/many>`, and the article
# :doc:`/gallery/articles/05_association`.
