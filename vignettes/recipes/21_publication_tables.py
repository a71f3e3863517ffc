"""
Tables for a paper
==================

The table of a paper is wanted in LaTeX, in Word, and as numbers for a supplement.
"""

# %%
# Income by sex from the General Social Survey, privatised here.

import tempfile
from pathlib import Path

import numpy as np

import ldpstats as ldp
from ldpstats import datasets

rng = np.random.default_rng(21)
people = datasets.expand(datasets.load_gss()).sample(20_000, random_state=rng)
people = people[["sex", "income5"]]
sheet = ldp.Questionnaire({"income5": ldp.KRR(people["income5"], epsilon=2.0)})
survey = ldp.Survey(sheet.privatize(people, rng), sheet)
income = survey.frequencies("income5", by="sex")

# %%
# The summary goes into a paper in LaTeX as it is; its rules are those of the package booktabs.

print(income.summary().as_latex())

# %%
# A table of your own layout starts from ``to_frame``: here percentages with intervals, a column a
# group. A CSV file is for the supplement. Word opens an HTML file, and its table is one of Word's.

rows = income.to_frame().set_index(["income5", "sex"]).mul(100).round(1)
cells = rows.agg("{0[estimate]} ({0[lower]}, {0[upper]})".format, axis=1)
table = cells.unstack("sex").reindex(people["income5"].cat.categories)
with tempfile.TemporaryDirectory() as folder:
    income.to_frame().to_csv(f"{folder}/income.csv", index=False)
    Path(f"{folder}/income.html").write_text(table.to_html(), "utf-8")
table

# %%
income.plot(sort=False)

# %%
# **For your own data**, change the survey. The package maketables sets several results side by
# side, in LaTeX, Word or HTML: ``maketables.ETable([a.to_maketables(), b.to_maketables()])``.
#
# Reference: `ldpstats.GroupedResults.to_frame`, `ldpstats.GroupedResults.summary`. Deeper: the
# article :doc:`/gallery/articles/09_questionnaire`.
