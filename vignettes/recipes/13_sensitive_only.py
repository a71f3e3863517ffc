"""
Only some answers are sensitive
===============================

Of five kinds of marital status only "divorced" and "separated" need protection. Answers that need
none get only the noise that hides the others, and estimates are much better.
"""

# %%
# Marital status of the General Social Survey, privatised twice with the same epsilon: for all
# categories, and for two of them.

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import datasets

rng = np.random.default_rng(6)
people = datasets.expand(datasets.load_gss()).sample(10_000, random_state=rng)
status = people["marital5"]
everything = ldp.KRR(status, epsilon=1.0)
some = ldp.URR(status, sensitive={"divorced", "separated"}, epsilon=1.0)
print(ldp.privacy.uldp(some))

# %%
# Standard errors of both.

results = ldp.FrequencyModel(some.privatize(status, rng)).fit()
plain = ldp.FrequencyModel(everything.privatize(status, rng)).fit()
errors = {"all sensitive": plain.bse, "two sensitive": results.bse}
pd.DataFrame(errors).round(4)

# %%
true = status.value_counts(normalize=True)
results.plot(truth=true.reindex(results.params.index))
results.summary()

# %%
# **For your own data**, name your categories and the sensitive ones. A report of a category that is
# not sensitive may give the answer away for certain: make sure that nobody minds.
#
# Reference: `ldpstats.URR`, `ldpstats.URAP`, `ldpstats.privacy.uldp`. Deeper: the articles
# :doc:`/gallery/articles/06_utility_optimised` and, where what is sensitive differs between
# respondents, :doc:`/gallery/articles/07_personal`.
