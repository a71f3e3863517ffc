"""
The same persons in two waves, whose devices remember
=====================================================

A panel answered one private question in two years. Each device kept its noisy response to an answer
and reported it in both years with a little fresh noise. How many changed their answer?
"""

# %%
# Two waves of 8,000 people are drawn. Each device randomises an answer by ``step``, keeps the
# result, and randomises that once more for every report.

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(28)
n, step = 8_000, ldp.KRR(("no", "yes"), epsilon=3.0)
smokes = rng.random(n) < 0.30
later = np.where(smokes, rng.random(n) < 0.80, rng.random(n) < 0.05)
kept = {answer: step.privatize([answer] * n, rng).y for answer in step.categories}
tables = []
for truth in (smokes, later):
    response = step.categories[np.where(truth, kept["yes"], kept["no"])]
    report = step.categories[step.privatize(response, rng).y]
    tables.append(pd.DataFrame({"smokes": report, "person": range(n)}))

# %%
# The mechanism is ``step >> step``, and ``memoised=True`` says that devices kept the result of the
# first step. 500 people are in the first wave only, and 500 in the second: with ``partial=True``
# they count for their wave.

sheet = ldp.Questionnaire({"smokes": step >> step})
first, second = ldp.Survey(tables[0][:7_500], sheet), ldp.Survey(tables[1][500:], sheet)
how = {"id": "person", "waves": ["2024", "2025"], "partial": True}
change = first.change(second, "smokes", memoised=True, **how)
print(change.turnover())
print("truth:", (smokes != later).mean())

# %%
# Of those who smoked, and of those who did not:

change.transitions()

# %%
# If the reports are taken for freshly drawn, their common noise hides the change:

print(first.change(second, "smokes", memoised=False, **how).turnover())

# %%
change.plot("flows")

# %%
# **For your own data**, find out what devices keep: the permanent response of RAPPOR's client, with
# f > 0, or the first of two steps, ``first.then(second, keep="first")``. Two surveys whose
# questionnaire has ``keep=True`` need not be told. If each report was drawn anew, say
# ``memoised=False``. More than two waves go into
# ``survey.cells(waves, ldp.cells.markov(), memoised=True)``.
#
# Reference: `ldpstats.Survey.change`, `ldpstats.Mechanism.joint_law`. Deeper: the guide
# :doc:`/guide/waves` and the article :doc:`/gallery/articles/16_panel`.
