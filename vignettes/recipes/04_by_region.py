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
die = roll(6).when({1: "yes", 6: "no"}, otherwise=truth)
asked = die.mechanism(("no", "yes"))
share = {"north": 0.10, "east": 0.14, "south": 0.22, "west": 0.18}
region = rng.choice(list(share), 6_000, p=[0.4, 0.3, 0.2, 0.1])
fraud = rng.random(6_000) < pd.Series(region).map(share)
people = pd.DataFrame({"region": region, "fraud": np.where(fraud, "yes", "no")})
collected = ldp.Questionnaire({"fraud": asked}).privatize(people, rng)

# %%
# ``by=`` fits every region by itself. ``to_frame`` is a tidy table with a row for each region and
# answer, of which "yes" is kept.

survey = ldp.Survey(collected, {"fraud": asked})
regions = survey.frequencies("fraud", by="region")
table = regions.to_frame().query("fraud == 'yes'").set_index("region")
table["n"] = regions.sizes
table[["n", "estimate", "std_error", "lower", "upper"]].round(3)

# %%
# One line a region; ``regions.plot()`` draws all answers, in a panel for each region.

print(regions.test_equal())
regions.plot(category="yes")

# %%
# **For your own data**, change the columns and the die. ``by=["region", "sex"]`` makes a group of
# each combination.
#
# Reference: `ldpstats.Survey.frequencies`, `ldpstats.GroupedResults`. Regions with few respondents
# can borrow from the others: see the article :doc:`/gallery/articles/14_partial_pooling`.
