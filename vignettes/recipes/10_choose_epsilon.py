"""
Choose epsilon
==============

How much may a report reveal, and what does that cost? Say what a respondent may be suspected of
after her report, and read off what the estimate loses.
"""

# %%
# One in ten takes drugs, we expect. After a report "yes", what may be believed of that respondent?

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import planning, privacy

epsilons = np.array([0.5, 1.0, 1.5, 2.0, 3.0])
expected = [0.9, 0.1]
rows = []
for epsilon in epsilons:
    mechanism = ldp.Warner(epsilon=epsilon)
    belief = privacy.posterior(mechanism, expected)
    se = planning.precision(mechanism, expected, n=2_000).se["yes"]
    needed = planning.sample_size(mechanism, expected, se=0.01)
    rows.append([belief.loc["yes", "yes"], belief.loc["no", "yes"], se, needed])
columns = ["P(yes | says yes)", "P(yes | says no)", "std err, n = 2,000", "n for se 0.01"]
pd.DataFrame(rows, epsilons, columns).rename_axis("epsilon").round(3)

# %%
# The same as a curve: each mechanism's standard error over epsilon.

planning.plot_frontier(categories=("no", "yes"), p=expected, n=2_000)

# %%
# **For your own survey**, change the expected frequencies and n, and choose the largest epsilon at
# which the first column is still bearable: before a report the respondent was suspected with 10 %.
#
# Reference: `ldpstats.privacy.posterior`, `ldpstats.planning.precision`,
# `ldpstats.planning.plot_frontier`. Deeper: the article :doc:`/gallery/articles/13_planning`.
