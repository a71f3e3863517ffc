"""
Yes/no answers from a die
=========================

Each respondent rolled a die that only she saw. A one meant "say yes", a six "say no", and any other
number "tell the truth". The question was whether she had ever cheated in an examination. Of 1,000
people 412 said yes. How many have cheated?
"""

# %%
# The die is written as respondents used it. Its probabilities, and what a "yes" can reveal, follow.

import ldpstats as ldp
from ldpstats.devices import roll, truth

die = roll(6).when({1: "yes", 6: "no"}, otherwise=truth)
asked = die.mechanism(("no", "yes"))
print(*asked.instructions(), sep="\n")
print(f"who cheated says yes {asked.ratio} times as often")
print(f"epsilon = {asked.epsilon:.2f}")

# %%
# Counts of reports are enough, in the order of the answers: no, yes. The intervals allow for both
# the sample and the die.

results = ldp.FrequencyModel(asked.counts([588, 412]), name="has cheated").fit()
results.summary()

# %%
# A plot with 95 % intervals, and the two numbers for the text of a paper.

results.plot(sort=False)
print(results.conf_int().loc["yes"].round(3).to_dict())

# %%
# **For your own data**, change what the numbers of the die mean and the two counts. Where answers
# are a column of a file, see :doc:`02_zeros_and_ones`.
#
# Reference: `ldpstats.devices.roll`, `ldpstats.FrequencyModel`. Cards, coins and the designs of the
# literature are in `ldpstats.devices.library`. The article
# :doc:`/gallery/articles/15_cheating_detection` allows for respondents who do not do as the die
# says.
