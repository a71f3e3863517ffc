"""
Tables for a paper
==================

The table of a paper is wanted in LaTeX, in Word, and as numbers for a supplement.
"""

# %%
# Income and unemployment by sex from the General Social Survey, privatised here.

import tempfile
from pathlib import Path

import numpy as np

import ldpstats as ldp
from ldpstats import datasets

rng = np.random.default_rng(21)
people = datasets.expand(datasets.load_gss()).sample(20_000, random_state=rng)
people = people[["sex", "income5", "unemployed"]]
asked = {"income5": ldp.KRR(people["income5"], epsilon=2.0), "unemployed": ldp.Warner(epsilon=2.0)}
sheet = ldp.Questionnaire(asked)
survey = ldp.Survey(sheet.privatize(people, rng), sheet)
income = survey.frequencies("income5", by="sex")

# %%
# The summary goes into a paper in LaTeX as it is; its rules are those of the package booktabs.

print(income.summary().as_latex())

# %%
# For a yes/no question a row a group is enough: the rows of "yes". ``escape=True`` writes the
# characters that LaTeX reads as commands, such as % and _, as text. (Pandas needs the package
# jinja2 for it.)

jobless = survey.frequencies("unemployed", by="sex")
rows = jobless.to_frame().query("unemployed == 'yes'").set_index("sex")
rows = rows.assign(n=jobless.sizes)[["n", "estimate", "std_error", "lower", "upper"]]
print(rows.to_latex(escape=True, float_format="%.3f"))

# %%
# A table of your own layout starts from ``to_frame``: here percentages with intervals, a column a
# group. A CSV file is for the supplement. For Word write an HTML file, open it in Word, and copy
# the table.

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
# **For your own data**, change the survey. The package maketables (``pip install maketables``) sets
# several results side by side, in LaTeX, Word or HTML:
# ``maketables.ETable([a.to_maketables(), b.to_maketables()])``.
#
# Reference: `ldpstats.GroupedResults.to_frame`, `ldpstats.GroupedResults.summary`. Deeper: the
# article :doc:`/gallery/articles/09_questionnaire`.
