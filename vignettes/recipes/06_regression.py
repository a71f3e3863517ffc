"""
Regression on a private answer
==============================

Who had an affair? The answer is private; age, years of marriage and religiousness are public. The
coefficients wanted are those of the true answers. Taken for answers, the reports would give slopes
that are far too small.
"""

# %%
# The answers are those of 6,366 readers of Redbook (Fair 1978), privatised here with epsilon 2.

import numpy as np

import ldpstats as ldp
from ldpstats import datasets

rng = np.random.default_rng(1978)
women = datasets.load_fair()
mechanism = ldp.Warner(epsilon=2.0)
reports = mechanism.privatize(women["any_affair"], rng)

# %%
# Formulas are those of statsmodels. The private variable is named with its reports.

public = women.drop(columns=["any_affair", "affairs"])
formula = "affair ~ age + yrs_married + C(religious)"
results = ldp.regression(formula, public, {"affair": reports}).fit()
results.summary()

# %%
# Odds ratios, of ten years of age; their intervals are those of the summary.

results.odds_ratios(per={"age": 10}).round(3)

# %%
# The estimates beside those that take the reports for answers; and what ten years of age, or
# another religiousness, do to the share with an affair.

results.plot_coefficients("naive")
results.comparisons({"age": 10, "religious": None}).summary()

# %%
# **For your own data**, change the formula, and read the column of reports with
# ``mechanism.parse("affair", column)``; where all is in one table,
# ``ldp.Survey(table, {"affair": mechanism}).regression(formula).fit()`` does both.
#
# Reference: `ldpstats.regression`, `ldpstats.RegressionResults`. Deeper: the article
# :doc:`/gallery/articles/12_regression`.
