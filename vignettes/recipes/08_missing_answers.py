"""
Missing answers
===============

Some respondents skip a question. An empty cell is left out of that question only. But the file then
shows who skipped it, which epsilon does not protect; a category that stands for "no answer" is
protected like any other.
"""

# %%
import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(4)
bands = ("low", "middle", "high")
people = pd.DataFrame({"income": rng.choice(bands, p=[0.3, 0.5, 0.2], size=8_000)})
people.loc[rng.random(8_000) < 0.1, "income"] = None

# %%
# Skipped answers stay empty cells. The summary counts them, and frequencies are those of the people
# who answered.

plain = ldp.Questionnaire({"income": ldp.KRR(bands, epsilon=2.0)})
answered = ldp.Survey(plain.privatize(people, rng), plain).frequencies("income")
print(answered.n_missing, "answers are missing, and everybody sees whose")
answered.params.round(3)

# %%
# With ``refused=`` the device reports for those who skip, too. Their share is estimated, and nobody
# learns who they are.

krr = ldp.KRR((*bands, "no answer"), epsilon=2.0)
safe = ldp.Questionnaire({"income": krr}, refused="no answer")
protected = ldp.Survey(safe.privatize(people, rng), safe).frequencies("income")
print("low among those who answered:", protected.ratio("low", list(bands)))
protected.plot(sort=False)
protected.summary()

# %%
# **For your own data**, name the codes that mean missing, and their column:
# ``ldp.Survey("answers.csv", sheet, na={"income": ["NA", "-99"]})``. A list without a column,
# ``na=["NA", "-99"]``, is for every column: where a code is an answer to another question, or a
# region, those respondents are missing there, too.
#
# Reference: `ldpstats.Questionnaire`, `ldpstats.Survey`. Deeper: the article
# :doc:`/gallery/articles/09_questionnaire`.
