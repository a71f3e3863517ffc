"""
The same persons asked twice
============================

A panel answered one private question in two years. Did the share change? The two reports of a
person belong together, and matching them by an identifier gives a shorter interval than two
separate samples would.
"""

# %%
# Two waves of 5,000 people are drawn; 300 do not come back, and new people join.

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(21)
sheet = ldp.Questionnaire({"smokes": ldp.Warner(epsilon=2.0)})
smokes = rng.random(5_300) < 0.30
later = np.where(smokes, rng.random(5_300) < 0.85, rng.random(5_300) < 0.03)
waves = []
for year in (smokes, later):
    answers = pd.DataFrame({"smokes": np.where(year, "yes", "no")})
    waves.append(sheet.privatize(answers.assign(person=answers.index), rng))
first = ldp.Survey(waves[0][:5_000], sheet)
second = ldp.Survey(waves[1][300:], sheet)

# %%
# Rows are matched by the identifier, whatever their order. People in one wave only are left out and
# counted.

panel = first.matched(second, id="person", suffixes=("_2024", "_2025"))
print(panel)
change = panel.change("smokes_2024", "smokes_2025")
change.summary()

# %%
change.plot()

# %%
# **For your own data**, make a survey of each wave, and name the identifier. An identifier with
# the reports tells the collector who took part, and two reports of a person spend epsilon twice.
#
# If devices keep their responses, see :doc:`28_waves`.
#
# Reference: `ldpstats.Survey.matched`, `ldpstats.Survey.change`, `ldpstats.ChangeResults`. Deeper:
# the guide :doc:`/guide/waves` and the article :doc:`/gallery/articles/09_questionnaire`.
