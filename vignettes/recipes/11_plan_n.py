"""
How many respondents?
=====================

A die protects the answers, and we expect that about 15 % have evaded taxes. How many people have to
be asked for an interval of 6 points, or to see that two groups differ?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ldpstats import planning
from ldpstats.devices import roll, truth

die = roll(6).when({1: "yes", 6: "no"}, otherwise=truth)
asked = die.mechanism(("no", "yes"))
expected = [0.85, 0.15]
needed = planning.sample_size(asked, expected, width=0.06)
print("95 % interval of width 0.06, a margin of error of 3 points:", needed)
print("standard error of 2 points:", planning.sample_size(asked, expected, se=0.02))

# %%
# Both standard error and interval are those of the share among all respondents. Now two groups of
# one size, of which 10 % and 20 % have evaded taxes, shall be told apart with a power of 80 %. Here
# n is the total of both groups.

shares = pd.DataFrame({"no": [0.9, 0.8], "yes": [0.1, 0.2]}, index=["men", "women"])
goal = planning.GroupsTest(shares, category="yes")
needed = planning.sample_size(asked, goal=goal, power=0.8)
print("respondents in both groups together:", needed)

# %%
# And the smallest difference in "yes" that 1,000 respondents find? It is men less women.

print(planning.minimum_detectable(asked, goal, n=1_000))

# %%
# The power at other sizes. It counts on honest answers: see what 1 % of liars do to a comparison in
# :doc:`/concepts/manipulation`.

sizes = np.arange(200, 3_001, 100)
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(sizes, [planning.power(asked, goal, n=int(n)) for n in sizes])
ax.axhline(0.8, color="0.7", lw=1)
ax.set(xlabel="respondents in both groups", ylabel="power", ylim=(0, 1))

# %%
# **For your own survey**, change the device and the frequencies that you expect. Multiply n by the
# design effect (``design_effect=``) if clusters are drawn, and add those who will not answer.
#
# Reference: `ldpstats.planning.sample_size`, `ldpstats.planning.power`,
# `ldpstats.planning.GroupsTest`. Deeper: the article :doc:`/gallery/articles/13_planning`.
