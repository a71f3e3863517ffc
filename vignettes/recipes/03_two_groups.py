"""
Compare two groups
==================

Were the unemployed more often women or men? Answers on unemployment are private, sex is a public
column. The answers are those of the General Social Survey, privatised here.
"""

# %%
import numpy as np

import ldpstats as ldp
from ldpstats import datasets

rng = np.random.default_rng(3)
people = datasets.expand(datasets.load_gss())[["sex", "unemployed"]]
sheet = ldp.Questionnaire({"unemployed": ldp.Warner(epsilon=1.0)})
collected = sheet.privatize(people.sample(20_000, random_state=rng), rng)

# %%
# The difference has an interval and a p-value of its own; do not compare two intervals by eye.

survey = ldp.Survey(collected, sheet)
by_sex = survey.frequencies("unemployed", by="sex")
print(by_sex.test_equal())
by_sex.differences(reference="male").round(3)

# %%
by_sex.plot()

# %%
# **For your own data**, put your table (or the name of a CSV or Parquet file) in place of
# ``collected``, and name its private column with the mechanism that made the reports.
#
# Without a table, `ldpstats.two_sample_test` takes the reports of both groups. Reference:
# `ldpstats.Survey.frequencies`, `ldpstats.GroupedResults`. Deeper: the article
# :doc:`/gallery/articles/09_questionnaire`.
