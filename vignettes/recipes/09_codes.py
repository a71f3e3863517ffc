"""
A file with the codes of somebody else
======================================

The file says 1 for yes, 2 for no and 9 for no answer, and its columns have short names. The
codebook has the rest: the answers went through Warner's design with probability 0.8.
"""

# %%
# These lines make the file. The estimate should come out near 0.25.

import tempfile

import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(9)
warner = ldp.Warner(epsilon=np.log(0.8 / 0.2), categories=("no", "yes"))
folder = tempfile.TemporaryDirectory()
true = np.where(rng.random(3_000) < 0.25, "yes", "no")
answers = warner.report_labels(warner.privatize(true, rng))
codes = np.where(rng.random(3_000) < 0.05, 9, np.where(answers == "yes", 1, 2))
old = pd.DataFrame({"q17": codes, "sex": rng.choice([1, 2], 3_000)})
old.to_csv(f"{folder.name}/old.csv", index=False)

# %%
# Pandas translates the codes. What is not in the dictionary becomes missing, so look at the counts
# before you go on: a code that you forgot would be counted here.

table = pd.read_csv(f"{folder.name}/old.csv", dtype={"q17": str, "sex": str})
table["evaded tax"] = table["q17"].map({"1": "yes", "2": "no"})
table["sex"] = table["sex"].map({"1": "men", "2": "women"})
table.groupby("q17")["evaded tax"].value_counts(dropna=False)

# %%
survey = ldp.Survey(table, {"evaded tax": warner})
by_sex = survey.frequencies("evaded tax", by="sex")
folder.cleanup()
by_sex.plot()
by_sex.summary()

# %%
# **For your own data**, change the name of the file and the dictionaries. Codes may also stay as
# they are: ``ldp.Warner(epsilon=1.0, categories=(2, 1))`` and
# ``ldp.Survey(..., na={"q17": ["9"]})``.
# Do not write ``na=["9"]``: it is for every column, so that a region of code 9 would vanish, too.
#
# Reference: `ldpstats.Warner`, `ldpstats.Survey`. Deeper: the article
# :doc:`/gallery/articles/09_questionnaire`.
