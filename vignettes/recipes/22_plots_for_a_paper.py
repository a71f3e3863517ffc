"""
Plots for a paper
=================

A journal wants figures 8.5 cm wide, in black and white, with letters of 8 points, as PDF or SVG.
Plots are drawn into axes that you make, so that size, letters and file are yours.
"""

# %%
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import ldpstats as ldp
from ldpstats import datasets

rng = np.random.default_rng(22)
women = datasets.load_fair()
marriage = ldp.KRR(women["rate_marriage"], epsilon=2.0)
reports = marriage.privatize(women["rate_marriage"], rng)
results = ldp.FrequencyModel(reports).fit()

# %%
# Where black is the only colour of the cycle, all is drawn in black. An empty title leaves room for
# the journal's caption.

plt.rc("axes", prop_cycle=plt.cycler(color=["black"]))
plt.rc("font", size=8)
plt.rcParams.update({"pdf.fonttype": 42, "svg.fonttype": "none"})
figure, ax = plt.subplots(figsize=(8.5 / 2.54, 5 / 2.54), layout="constrained")
results.plot(ax=ax, sort=False, title="")
ax.set_xlabel("share of the respondents")
with tempfile.TemporaryDirectory() as folder:
    figure.savefig(f"{folder}/marriage.pdf")
    figure.savefig(f"{folder}/marriage.svg")

# %%
# **For your own paper**, change width and height (in inches, so divide centimetres by 2.54), and
# give ``savefig`` a path of your own. ``"pdf.fonttype": 42`` embeds fonts as publishers ask, and
# ``"svg.fonttype": "none"`` keeps text as text.
#
# Reference: `ldpstats.FrequencyResults.plot`. Deeper: the article
# :doc:`/gallery/articles/09_questionnaire`.
