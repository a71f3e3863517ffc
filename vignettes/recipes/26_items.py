"""
A scale of private items
========================

Six yes/no questions about cheating at exams measure one thing. Each answer is randomised; the model
of items tells how hard each is to say yes to, and what the trait depends on.
"""

# %%
# 6,000 students: the trait is higher in the second year.

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(26)
year = rng.integers(1, 3, 6_000)
trait = rng.normal(0.6 * (year - 1), 1.2)
hard = {"notes": -0.5, "phone": 0.4, "copied": 0.0, "essay": 1.0, "talked": -1.2, "bought": 2.0}
people = pd.DataFrame(
    {
        item: np.where(rng.random(6_000) < 1 / (1 + np.exp(b - trait)), "yes", "no")
        for item, b in hard.items()
    }
)
people["year"] = np.where(year == 1, "first", "second")

# %%
# Everybody is asked four of the six, which leaves more epsilon for each.

sheet = ldp.Questionnaire({item: ldp.Warner(epsilon=1.5) for item in hard}, ask=4)
survey = ldp.Survey(sheet.privatize(people, rng), sheet)
results = survey.cells(list(hard), ldp.cells.rasch("~ year")).fit()
results.summary()

# %%
# The probability of a yes, by the trait:

results.plot()

# %%
# Do the items discriminate alike? The larger model gives each a slope of its own.

larger = survey.cells(list(hard), ldp.cells.two_parameter("~ year")).fit()
results.lr_test(larger)

# %%
# **For your own data**, name the items and public columns. Items have two answers, the yes second.
#
# Reference: `ldpstats.cells.rasch`, `ldpstats.cells.two_parameter`, `ldpstats.CellResults`. Deeper:
# the guide to :doc:`many questions </guide/many>`, and the article
# :doc:`/gallery/articles/05_association`.
