"""
From a questionnaire to a publication table
===========================================

The General Social Survey asked 61,448 Americans from 1974 to 2018 for their income, their marital
status and whether they were out of work. Here the three questions are asked again under local
differential privacy, while sex and age stay public, and the analyst sees one table of collected
answers. Because the true answers are known, every estimate can be set beside the truth.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import datasets

rng = np.random.default_rng(1974)
gss = datasets.expand(datasets.load_gss())
gss = gss.rename(columns={"income5": "income", "marital5": "marital", "age8": "age"})
gss["income"] = gss["income"].cat.rename_categories({"missing": "not stated"})
people = gss[["sex", "age", "income", "marital", "unemployed"]]

# %%
# The questionnaire
# -----------------
#
# Each private question has its mechanism. All reports of a respondent together are protected by the
# sum of the epsilons. If everyone is asked two of the three questions, drawn at random, only two
# reports exist, and epsilon is the sum of the two largest.

questions = {
    "income": ldp.KRR(people["income"], epsilon=1.5),
    "marital": ldp.KRR(people["marital"], epsilon=1.0),
    "unemployed": ldp.KRR(people["unemployed"], epsilon=1.0),
}
sheet = ldp.Questionnaire(questions)
split = ldp.Questionnaire(questions, ask=2)
print(sheet, "\n", split, sep="")
assert (sheet.epsilon, split.epsilon) == (3.5, 2.5)

# %%
# ``sheet.client()`` runs on a respondent's device, ``sheet.collector()`` where many answers are in
# one place. Here collection is simulated, so that the numbers below can be computed again, and
# written to a file, which is all that the analyst gets beside the questionnaire.

folder = Path(tempfile.mkdtemp())
sheet.privatize(people, rng).to_csv(folder / "collected.csv", index=False)
survey = ldp.Survey(folder / "collected.csv", sheet)
print(survey)

# %%
# Income of women and men
# -----------------------
#
# One call fits both groups. Differences have intervals of their own, and one test asks whether the
# groups differ at all.

income = survey.frequencies("income", by="sex")
income.summary()

# %%
income.plot()
gaps = income.differences(reference="male")
print(gaps.round(4).to_string())
shares = pd.crosstab(people["sex"], people["income"], normalize="index")
truth = shares.loc["female"] - shares.loc["male"]
inside = (gaps["lower"].to_numpy() <= truth) & (truth <= gaps["upper"].to_numpy())
print(f"{inside.sum()} of {len(inside)} intervals hold the true difference")
assert inside.sum() >= 4 and income.test_equal().pvalue < 1e-6
income.test_equal()

# %%
# Selections and ordered answers
# ------------------------------
#
# Conditions select by public columns. A privatised answer cannot select: who reported "divorced" is
# mostly not divorced. The question of such a table is a joint one, and leads to ``association``.
#
# The income classes are ordered, so cumulative shares and quantiles make sense. The median class
# has an interval of classes: all that the reports do not reject.

working_age = survey.where("age in ['30-34', '35-39', '40-49'] and sex == 'male'")
ordered = working_age.frequencies("income")
print(ordered.cumulative().round(3).to_string())
print(ordered.quantile(0.5))
chosen = people["age"].isin(["30-34", "35-39", "40-49"]) & (people["sex"] == "male")
true_cumulative = people.loc[chosen, "income"].value_counts(normalize=True, sort=False).cumsum()
print("true median class:", true_cumulative.index[int(np.argmax(true_cumulative >= 0.5))])
try:
    survey.where("marital == 'divorced'")
except ldp.LDPError as error:
    print(error)
else:
    raise AssertionError

# %%
# Which answers go together?
# --------------------------
#
# Cramér's V of all pairs, public columns included, with p-values adjusted for their number; then
# one pair in full.

pairs = survey.associations(["income", "marital", "unemployed", "sex"])
print(pairs.summary())
joint = survey.association("marital", "sex")
print(joint.conditional(on="sex").round(3).to_string())
print(joint.test_independence())

# %%
# Answers that are missing
# ------------------------
#
# A fifth of the answers to each of two questions are left out at random. Each variable uses all of
# its reports; the joint table uses the respondents who gave both, and says how many did not.

gaps_in = people.copy()
for name in ("marital", "unemployed"):
    gaps_in[name] = gaps_in[name].where(rng.random(len(people)) < 0.8)
partial = ldp.Survey(sheet.privatize(gaps_in, rng), sheet)
print(partial.association("marital", "unemployed").summary())
one, both = partial.frequencies("marital"), partial.association("marital", "unemployed")
assert both.nobs < one.nobs < len(people) and both.nobs + both.n_missing == len(people)

# %%
# The same persons a year later
# -----------------------------
#
# One in ten of the unemployed finds work, and one in fifty of the others loses it. The two waves
# are matched by an identifier. Treating them as independent groups would waste the pairing, and
# ``two_sample_test`` refuses to.

first = people[["unemployed"]].assign(person=np.arange(len(people)))
draw = rng.random(len(first))
out = first["unemployed"] == "yes"
later = np.where(out, draw > 0.1, draw < 0.02)
second = first.assign(unemployed=np.where(later, "yes", "no"))
ask = ldp.Questionnaire({"unemployed": ldp.KRR(("no", "yes"), epsilon=2.0)})
waves = [ldp.Survey(ask.privatize(wave, rng), ask) for wave in (first, second)]
change = waves[0].matched(waves[1], id="person").change("unemployed_1", "unemployed_2")
print(change.summary())
true_change = (second["unemployed"] == "yes").mean() - (first["unemployed"] == "yes").mean()
print(f"true change of the share of unemployed: {true_change:.4f}")
low, high = change.conf_int().loc["yes", ["lower", "upper"]]
assert low < true_change < high

# %%
# To the publication
# ------------------
#
# Results are tidy tables (``to_frame``), one row of key figures (``glance``), HTML in notebooks,
# and LaTeX. They have the attributes by which the package maketables sets several models side by
# side.

print(income.to_frame().head(3).round(4).to_string(index=False))
print(joint.glance().to_string(index=False))
print(ordered.summary().as_latex()[:120])
shutil.rmtree(folder)
