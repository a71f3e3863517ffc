# %% [markdown]
# # Before the survey: how many respondents, how private, which mechanism
#
# A magazine wants to repeat its survey of married women of 1974: which work they do, and how many
# have had an affair. This time the answers are randomised on each woman's telephone. What can be
# promised to her, how many have to answer, and what may go wrong are settled before anybody is
# asked. The survey of 1974 serves as the guess of what there is to find.

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from statsmodels.datasets import fair

import ldpstats as ldp
from ldpstats import planning, privacy

figures = Path(sys.argv[2]) if sys.argv[1:2] == ["--figures"] else None
rng = np.random.default_rng(1974)

# %%
old = fair.load_pandas().data
work = {1.0: "student", 2.0: "labour", 3.0: "office", 4.0: "teaching", 5.0: "business", 6.0: "law"}
jobs = tuple(work.values())
p = old["occupation"].map(work).value_counts(normalize=True).reindex(list(jobs))
had = float((old["affairs"] > 0).mean())
print(p.round(3).to_dict(), f"affairs: {had:.3f}")

# %% [markdown]
# ## What a number of respondents buys
#
# `precision` gives the standard errors that a mechanism will have: exact, of the estimates on which
# intervals and tests rest. 2,000 women and epsilon 1 would be worth 102 women who answer openly.

# %%
krr = ldp.KRR(jobs, epsilon=1.0)
print(planning.precision(krr, p, n=2000).summary())

# %% [markdown]
# ## Which mechanism
#
# `compare` sets mechanisms side by side, and `recommend` looks through those of the package. For six
# categories and epsilon 1 it is a subset of two: a report names two kinds of work, and the true one
# is among them more often than another.

# %%
choice = planning.recommend(jobs, epsilon=1.0, p=p)
print(choice)
several = [krr, choice.best, ldp.KRAPPOR(jobs, 1.0), ldp.Observed(jobs)]
print(planning.compare(several, p, n=2000).round(4).to_string())
