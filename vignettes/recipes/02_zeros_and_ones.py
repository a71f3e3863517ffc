"""
A CSV column of 0/1 answers
===========================

A file has one row a respondent and a column of 0 and 1 from a forced-response design: with
probability 3/4 the answer is the truth, with 1/8 a forced 1, with 1/8 a forced 0.
"""

# %%
# The first lines only make such a file, so that this page runs as it stands.

import tempfile

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(7)
forced = ldp.ForcedResponse(p_truth=3 / 4, p_yes=1 / 8, categories=(0, 1))
true = rng.binomial(1, 0.15, size=2_000)
folder = tempfile.TemporaryDirectory()
file = f"{folder.name}/answers.csv"
people = pd.DataFrame({"age": rng.integers(18, 80, 2_000), "used": true})
collected = ldp.Questionnaire({"used": forced}).privatize(people, rng)
collected.to_csv(file, index=False)

# %%
# This is the analysis: the file, and the design of its private column. The mean of the column as it
# stands is biased towards one half; the estimate is not.

survey = ldp.Survey(file, {"used": forced})
used = survey.frequencies("used")
print("mean of the column:", pd.read_csv(file)["used"].mean().round(3))
used.summary()

# %%
folder.cleanup()
used.plot(sort=False, truth=[1 - true.mean(), true.mean()])

# %%
# **For your own data**, change the name of the file, the name of the column and the two
# probabilities: ``p_truth`` that the answer is the truth, ``p_yes`` that a 1 is forced. Both are
# shares of all respondents. ``categories`` has the labels of the file, that of a "yes" second.
# Swapped labels raise no error: where ones and zeros are forced equally often, as here, they change
# nothing, else the shares are wrong.
#
# Reference: `ldpstats.ForcedResponse`, `ldpstats.Survey`. Deeper: the article
# :doc:`/gallery/articles/01_survey`.
