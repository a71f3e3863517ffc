"""
A table by region
=================

A survey asked a yes/no question with a die in four regions. Wanted is one table: each region with
its number of respondents, estimate and interval.
"""

# %%
# Four regions with different shares are drawn, to have something to analyse.

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.devices import roll, truth

rng = np.random.default_rng(11)
asked = roll(6).when({1: "yes", 6: "no"}, otherwise=truth).mechanism(("no", "yes"))
share = {"north": 0.10, "east": 0.14, "south": 0.22, "west": 0.18}
people = pd.DataFrame({"region": rng.choice(list(share), 6_000, p=[0.4, 0.3, 0.2, 0.1])})
people["fraud"] = np.where(rng.random(6_000) < people["region"].map(share), "yes", "no")
collected = ldp.Questionnaire({"fraud": asked}).privatize(people, rng)

# %%
# ``by=`` fits every region by itself. ``to_frame`` is a tidy table, one row a region and answer.

survey = ldp.Survey(collected, {"fraud": asked})
regions = survey.frequencies("fraud", by="region")
table = regions.to_frame().drop(columns="p_value")
table[table["fraud"] == "yes"].round(3)

# %%
print(regions.test_equal())
regions.plot()

# %%
# **For your own data**, change the columns and the die. ``by=["region", "sex"]`` makes a group of
# each combination.
#
# Reference: `ldpstats.Survey.frequencies`, `ldpstats.GroupedResults`. Regions with few respondents
# can borrow from the others: see the article :doc:`/gallery/articles/14_partial_pooling`.
