"""
A posterior instead of a fit
============================

200 people answered through a die, and the estimate near zero has a wide interval. What is the
probability that more than 5 % have done it, given what was known before?
"""

# %%
# The prior is worth 50 answers, of which 5 % were "yes": an earlier survey said so.

import numpy as np

import ldpstats as ldp
from ldpstats import priors
from ldpstats.devices import roll, truth

rng = np.random.default_rng(17)
die = roll(6).when({1: "yes", 6: "no"}, otherwise=truth)
asked = die.mechanism(("no", "yes"))
model = ldp.FrequencyModel(asked.counts([157, 43]), name="forged")
posterior = model.fit_posterior(rng, prior=priors.Dirichlet([47.5, 2.5]))
posterior.summary()

# %%
print("P(more than 5 % have) =", round(posterior.prob("yes > 0.05"), 3))
flat = model.fit_posterior(rng)
print("the same with a flat prior:", round(flat.prob("yes > 0.05"), 3))
posterior.plot()

# %%
# **For your own data**, change the counts (or pass reports) and the prior. Without a prior it is
# flat.
#
# Reference: `ldpstats.FrequencyModel.fit_posterior`, `ldpstats.PosteriorResults`,
# `ldpstats.priors.Dirichlet`. Deeper: the articles
# :doc:`/gallery/articles/15_cheating_detection` and :doc:`/gallery/articles/14_partial_pooling`.
