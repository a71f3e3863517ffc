"""
Respondents who do not pay attention
====================================

In the crosswise model some tick a box without reading. That pulls the estimate towards one half.
A second question of the same form about something that nobody has, an anchor, tells how many do.
"""

# %%
# Of 4,000 people 12 % took bribes, and 80 % of the people are attentive. Both questions ask whether
# the answers to two statements are the same; the second statement is true for 15 %.

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(24)
crosswise = ldp.devices.library.crosswise("15/100").mechanism(("no", "yes"))
attentive = rng.random(4_000) < 0.8
took = np.where(rng.random(4_000) < 0.12, "yes", "no")
said = pd.DataFrame()
for name, truth in (("bribe", took), ("anchor", np.full(4_000, "no"))):
    careful = crosswise.outputs[crosswise.privatize(truth, rng).y]
    said[name] = np.where(attentive, careful, rng.choice(["same", "different"], 4_000))

# %%
# The crosswise model alone, which takes everybody for attentive, is far off:

naive = ldp.Survey(said, {"bribe": crosswise}).frequencies("bribe")
naive.conf_int().round(3)

# %%
# The law of both reports, with the two unknown shares. The attentive say "same" to the item with
# probability .15 if they took bribes, else .85, and to the anchor with .85; others choose each of
# the four pairs as often.


def law(t):
    share, attentive = t
    item = np.stack([0.15 + 0.7 * share, 0.85 - 0.7 * share])  # different, same
    return attentive * item[:, None] * np.array([0.15, 0.85]) + (1 - attentive) / 4


made_by = ldp.Observed(("different", "same"))
survey = ldp.Survey(said, {"bribe": made_by, "anchor": made_by})
structure = ldp.cells.function(law, [0.2, 0.7], ["share", "attentive"])
results = survey.cells(["bribe", "anchor"], structure).fit()
results.summary()

# %%
# Three free shares of pairs, two parameters: one is left to test the law by.
#
# **For your own data**, name the columns of both questions; weights, strata and clusters are those
# of the survey. `ldpstats.devices.library.inattentive_crosswise` writes the same as a device, with
# instructions for respondents; two reports of a person are then fitted by ``fit("robust")``.
#
# Reference: `ldpstats.CellModel`, `ldpstats.Survey.cells`, `ldpstats.cells.function`. Deeper: the
# guide to :doc:`many questions </guide/many>`, and the article
# :doc:`/gallery/articles/15_cheating_detection`.
