"""
A list experiment
=================

Half of the people count how many of three harmless statements are true of them, the other half has
the sensitive one on the list, too. Nobody says which. The counts may be privatised on top.
"""

# %%
# 3,000 people; 20 % of the young and 40 % of the old hold the sensitive opinion.

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(25)
people = pd.DataFrame({"age": rng.choice(["old", "young"], 3_000)})
holds = rng.random(3_000) < np.where(people["age"] == "old", 0.4, 0.2)
count, long = rng.binomial(3, 0.5, 3_000), rng.random(3_000) < 0.5

# %%
# Each group answers a question of its own: counts from 0 to 3, and from 0 to 4, by k-RR. A row has
# a report in one of two columns.

sheet = ldp.Questionnaire(
    {"short": ldp.KRR(range(4), epsilon=3.0), "long": ldp.KRR(range(5), epsilon=3.0)}
)
for name, there in (("short", ~long), ("long", long)):
    reports = sheet[name].privatize((count + holds * long)[there], rng)
    people.loc[there, name] = sheet[name].outputs[reports.y]
survey = ldp.Survey(people, sheet)

# %%
# Without covariates the share is the difference of the two means, within what counts can be:

overall = survey.cells(["short", "long"], ldp.cells.list_experiment(3)).fit()
overall.conf_int().head(1).round(3)

# %%
# With a public column, log odds of the opinion. The control counts are binomial then, given the
# opinion and the column.

by_age = survey.cells(["short", "long"], ldp.cells.list_experiment(3, "~ age")).fit()
by_age.summary()

# %%
# **For your own data**, make a column for each group, empty in the rows of the other.
#
# Reference: `ldpstats.cells.list_experiment`, `ldpstats.Survey.cells`. Deeper: the guide to
# :doc:`many questions </guide/many>`, and the article :doc:`/gallery/articles/05_association`.
