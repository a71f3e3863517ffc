"""
Numeric answers in bands
========================

Incomes are numbers, and a report should be near the truth more often than far from it. The square
wave does this on bands. Wanted are the distribution, its mean and its quantiles.
"""

# %%
# Incomes of 10,000 people are drawn. On a device the mechanism takes the number itself.

import numpy as np

import ldpstats as ldp

rng = np.random.default_rng(12)
income = rng.lognormal(mean=7.8, sigma=0.5, size=10_000).clip(0, 9_999)
bands = ldp.SquareWave(np.arange(0, 10_001, 500), epsilon=2.0)
reports = bands.privatize(income, rng)

# %%
# ``"smoothed"`` is the likelihood with a penalty for roughness, which is what a distribution of
# incomes wants. Without a name, ``fit()`` takes the maximum of the likelihood.

results = ldp.FrequencyModel(reports, name="income").fit("smoothed")
results.plot(truth=np.histogram(income, bands.edges)[0] / len(income))
results.mean().round(0)

# %%
# Quantiles are bands, and so are the ends of their intervals.

results.quantile([0.25, 0.5, 0.75])

# %%
# **For your own data**, change the edges of the bands, and read a column of reports with
# ``bands.parse("income", column)``. Ordered categories without numbers, such as
# Likert items, have `ldpstats.GeometricResponse` if their mean is wanted; where shares are wanted,
# see :doc:`/concepts/choosing`.
#
# Reference: `ldpstats.SquareWave`, `ldpstats.FrequencyResults.mean`,
# `ldpstats.FrequencyResults.quantile`. Deeper: the article :doc:`/gallery/articles/13_planning`.
