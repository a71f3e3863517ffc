"""
Two private answers: are they associated?
=========================================

Respondents report two answers, each privatised on its own. What is the joint distribution of the
true answers, and are they associated? Fanti, Pihur and Erlingsson (2016, section III; FPE16
below) estimate it by maximum likelihood, with a category "Other" for the answers that are not
listed, and test independence with a quadratic form T of the estimate. Here their tables I and II
and figures 2, 3 and 11 are done again. The joint estimates are reproduced. Their "Other" is
nearly right for hashed answers, as long as the variables are independent, and can be exact for
answers with a bit of their own. And T is a test where the table is dense, but has no power where
it is sparse, which a score test does not suffer from.

The simulations are in ``benchmarks/studies/``, ``joint_tables.py`` and ``association_tests.py``,
with their stored results beside them. They come with the repository, not with the package: start
the notebook of this page in a folder of the repository.
"""

# sphinx_gallery_thumbnail_number = 7
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import ldpstats as ldp
from ldpstats import datasets
from ldpstats.estimators import OneStep

here = Path(globals().get("__file__", "notebook")).resolve()  # a notebook has no file
homes = [folder for folder in here.parents if (folder / "benchmarks/studies").is_dir()]
if not homes:
    raise FileNotFoundError("benchmarks/studies: start this page in a folder of the repository")
sys.path.append(str(homes[0]))
from benchmarks.studies import association_tests, joint_figures, joint_tables

# %%
# Tables I and II: the category "Other"
# -------------------------------------
#
# Two variables with 100 categories each, n = 100,000 respondents, RAPPOR with 128 bits and two
# hashes, p = .25, q = .75, f = 0. The analyst lists the five commonest categories of each; the rest
# is "Other". FPE16 prints the true table (I) and an estimate (II). The margins of table I are
# called Zipfian; they fall by a constant factor. And X and Y are independent in it.
#
# One survey, in three ways. The first ignores "Other": all respondents are taken to be in the 25
# cells. The second models it, as FPE16 does, by taking the bits of its reports for independent,
# each with the probability that is left over once the listed categories are taken off. The third is
# their formula as printed, which takes off the noise of all respondents in place of that of the
# listed ones. Nothing is left then, so it ignores "Other" too.

true = joint_tables.table_1
margin = true.sum(axis=1)[:5]
chi2, pvalue, df, _ = stats.chi2_contingency(true * joint_tables.N / 100)
print(f"independence of table I: chi-square {chi2:.1f} on {df} df, p = {pvalue:.2f}")
assert np.ptp((margin[1:] / margin[:-1]).round(3)) < 0.03 and pvalue > 0.3

(x, y), top = joint_tables.collect("hashed", np.random.default_rng(5))
models, fits = {}, {}
for other in (False, True, "fpe16"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models[other] = ldp.AssociationModel(x, y, candidates=top, other=other, names=("X", "Y"))
        fits[other] = models[other].fit()
    print(*(f"other={other}, warning: {warning.message}" for warning in caught), sep="\n")
    expected = ldp.IncompleteListWarning if other else ldp.MisfitWarning
    assert [warning.category for warning in caught] == [expected]
with_other, without, as_printed = (fits[o].table.to_numpy() for o in (True, False, "fpe16"))
assert np.abs(as_printed[:5, :5] - without).max() < 1e-6 and as_printed[5].max() < 1e-6
assert np.abs(100 * with_other - true)[:5, :5].max() < 1.0 and without[0, 0] > 0.06

# %%
# Where every category has a bit of its own (k-RAPPOR) no model is needed. Drop the bits of all
# other categories, and "Other" is the category that owns none of those that remain: ``lump`` does
# that. (For k-RR the labels of "Other" are merged.) ``AssociationModel(..., other=True)`` calls it
# where it can be done.

(bits, more), top = joint_tables.collect("basic", np.random.default_rng(6))
print(ldp.lump(bits, keep=top[0]).mechanism)
bounds = 100 * ldp.AssociationModel(bits, more, candidates=top, other=True).fit().conf_int()
covered = ((bounds["lower"] < true.ravel()) & (true.ravel() < bounds["upper"])).sum()
print(f"{covered} of the 36 intervals contain their cell of table I")
assert covered >= 30

# %%
# Bias
# ----
#
# Is the estimate unbiased, as FPE16 has it, if X and Y are independent, and if they are not? Two
# kinds of dependence are tried: 30 % of the respondents have Y = X (*diagonal*), or Y 50 categories
# away (*shift*), so that common X go with rare Y. There are 100 surveys of hashed reports and 1,000
# with a bit per category (*basic*).
#
# Ignoring "Other" adds one to four points to cells of less than nine. Exact lumping is unbiased,
# whatever the dependence. The product of bits is unbiased if X and Y are independent, and under the
# diagonal dependence. But it takes the reports of "Other" for those of one kind of respondent.
# Under the shift, common Y go with five of the 95 other X, whose bits are not those of all others:
# the 25 cells are off by up to .2 points and (Other, Other) by 1.1, 19 standard errors.

laws = joint_tables.load()
biases = joint_tables.biases(laws).sort_index()
joint_figures.bias(laws)
print(biases.round(3).to_string())
assert (biases.xs("ignore", level=1)["rms bias"] > 1.9).all()
assert (biases.xs("lump", level=1)["largest z"] < 4.5).all()
assert biases.loc[("hashed", "product"), "largest z"].drop("shift").max() < 4.5
assert 15 < biases.loc[("hashed", "product", "shift"), "largest z"] < 20

# %%
# Is table II a draw from the law of the estimate? Its z values, with the mean and the standard
# deviation of our estimates, would then have a root mean square near one, as our own estimates have
# (last columns). Table II cannot have been made ignoring "Other". As one survey it fits hashed
# reports of any kind. As the mean of the ten surveys that figure 2 shows it fits if there is one
# cohort and the tail falls, or if every category has a bit of its own. The second table is of one.

beside = joint_tables.readings(laws)
print(beside.round(2).to_string())
print(joint_tables.cell_by_cell(laws).round(3).to_string())
assert beside.loc[("hashed", "ignore", 1), "rms z"] > 5
assert (beside.xs(("product", 1), level=["method", "surveys"])["largest"] < 2.5).all()

# %%
# Figure 2
# --------
#
# Ten surveys of the hashed kind. Ignoring "Other" overestimates all joint frequencies; and of the
# frequencies conditional on both answers being among the top five, it overestimates the small and
# underestimates the large: they regress to the mean, with a slope of .69. With "Other" both are on
# the diagonal. It is as in the paper.

joint_figures.figure2(laws)
slopes = joint_figures.slopes(laws)
print("slope of the estimate in the truth")
print(slopes.round(2).to_string())
assert slopes.loc["ignore", "conditional"] < 0.75
assert slopes.loc["ignore", "joint"] > 1.4
assert slopes.loc["product"].between(0.97, 1.03).all()

# %%
# One pass instead of EM
# ----------------------
#
# FPE16 wishes for a decoder that does without a pass over all reports in every iteration of EM.
# ``one_step`` is one: with the scores a and b of each report at the two marginal fits, and their
# information :math:`J_X` and :math:`J_Y`, the table is
# :math:`J_X^{-1}\, \overline{a b'}\, J_Y^{-1}`. Means add up over chunks. Near independence it is
# as good as the maximum; a Newton step brings it there anyway.

model, mle = models[True], fits[True]
for method, most in {"one_step": 0.3, OneStep(newton=1): 0.01}.items():
    difference = ((model.fit(method).params - mle.params).abs() / mle.bse).max()
    print(f"{method}: at most {difference:.2g} standard errors from the maximum")
    assert difference < most

# %%
# Figure 3: who pays?
# -------------------
#
# FPE16 privatises the category and the price (free or paid) of 200,000 apps, with a bit for each of
# 30 categories and one bit for the price. Here 200,000 respondents are drawn from the proportions
# of occupation and "any affair" in Fair's survey. (As a script with ``--apps FILE`` this page takes
# apps instead, from a table of columns category, free and paid.)


def real_table():
    """A table of two variables that are associated, ordered by the share of its second column."""
    if sys.argv[1:2] == ["--apps"]:
        table = pd.read_csv(sys.argv[2]).set_index("category").rename_axis(columns="price")
        table.index = table.index.str.replace("_", " ").str.lower()
    else:
        women = datasets.load_fair()
        table = pd.crosstab(women["occupation"], women["any_affair"])
    share = table.iloc[:, 1] / table.sum(axis=1)
    table = table.loc[share.sort_values(ascending=False, kind="stable").index]
    return table / table.to_numpy().sum()


population = real_table()
rows, columns = list(population.index), list(population.columns)
names = (population.index.name, population.columns.name)
many = ldp.KRAPPOR(rows, epsilon=2 * np.log(3))  # q = .75, p = .25
boolean = ldp.KRR(columns, epsilon=np.log(3))  # one bit, with the same q and p
rng = np.random.default_rng(3)
person = rng.choice(population.size, size=200_000, p=population.to_numpy().ravel())
x = many.privatize(population.index.take(person // 2), rng)
y = boolean.privatize(population.columns.take(person % 2), rng)
model = ldp.AssociationModel(x, y, names=names)
results = model.fit()
print(results.summary(max_rows=8))
rates = results.conditional().xs(columns[1], level=names[1])
rates["truth"] = population.iloc[:, 1] / population.sum(axis=1)
cells = results.conf_int().assign(truth=population.stack())
joint_figures.figure3(rates, cells)
for what, frame in {"cells": cells, "rates": rates}.items():
    hit = frame["truth"].between(frame["lower"], frame["upper"])
    print(f"{hit.sum()} of {hit.size} intervals of {what} contain the truth")
    assert stats.binom.cdf(hit.sum(), hit.size, 0.95) > 1e-3

# %%
# FPE16 finds T = 107.1 on 29 degrees of freedom. T is one of four tests here.

found = {}
for test in ("score", "wald", "lr", "fpe16"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.BoundaryWarning)  # cells of zero
        found[test] = model.test_independence(results, test)
    print(f"{test:<5} {found[test].statistic:.1f}, p = {found[test].pvalue:.2g}")
assert found["score"].pvalue < 1e-4
if names == ("category", "price"):
    paid = pd.DataFrame({"true": population.stack(), "se": results.linear_bse}).iloc[1::2]
    few, zero = (paid["true"] < paid["se"]).sum(), (results.params == 0.0).sum()
    print(f"paid cells below one standard error {few} of {len(paid)}; zeros {zero} of {len(cells)}")
    assert min(found, key=lambda test: found[test].statistic) == "fpe16"

# %%
# With 32,000 apps of April 2019, in 33 categories, this prints what follows. The intervals hold
# what they promise, which for most categories is little, and T is the least of the tests.
#
# .. code-block:: text
#
#     score 96.0, p = 2.5e-08
#     wald  99.8, p = 6.8e-09
#     lr    78.0, p = 1e-05
#     fpe16 68.7, p = 0.00017
#     paid cells below one standard error 26 of 33; zeros 13 of 66
#
# Figure 11: which test?
# ----------------------
#
# FPE16 (appendix A) finds the p-values of T uniform in 100 surveys of 10,000 respondents with
# independent answers, in a table that it does not print. Here are five tables: *dense*, 5 x 5, by
# k-RR with epsilon = 4; three with epsilon = 1, which makes them *sparse*: cells are within a few
# standard errors of zero; and one with a hundred respondents. Size is the share of p-values up to
# .05 in 2,000 surveys (400 for the bootstrap), power that in 1,000 (200) with a linear trend.

tests = association_tests.load()
joint_figures.figure11(tests)
print(tests[["size", "power", "size_surveys"]].where(tests["given"] > 0).round(3).to_string())
size, power = tests["size"].unstack(), tests["power"].unstack()
sparse = ["sparse", "sparse, RAPPOR", "sparse, 30 x 2"]
assert size.loc[["dense", *sparse], ["score", "wald"]].stack().between(0.03, 0.07).all()
assert (size.loc[sparse, "fpe16"] < 0.005).all() and (power.loc[sparse, "fpe16"] < 0.07).all()
assert power.loc["sparse", ["score", "fpe16"]].round(2).tolist() == [0.41, 0.06]

# %%
# **T** is as good as any in the dense table. In the sparse ones its size is next to zero, which
# would be harmless, but so is its power: where the score test finds the trend in 41 % of the
# surveys, T finds it in 6 %, and in the 30 x 2 table, whose shape is that of the paper's example,
# never. The **likelihood ratio** suffers from the same boundary, less. Its **bootstrap** keeps its
# size, but needs a hundred fits for a p-value. The **score** test rests on the two marginal fits
# only and never sees the boundary. For k-RR it *is* **Pearson**'s chi-square of the privatised
# table, which the paper says cannot be used. The **Wald** test on the unconstrained estimate does
# as well, as long as there are many respondents. With a hundred the chi-square law itself fails:
# the p-value of the score test comes from the first three moments that the statistic has when
# reports are permuted, and keeps its level.

# %%
# Effect sizes
# ------------
#
# Differences and ratios of risks have Fieller's intervals. That of Cramer's V is above 0 exactly
# where the test of independence rejects. Odds ratios and V say which cells, or margins, that they
# divide by do not exceed four standard errors; their set may then have one side only. The remedy is
# to merge rare categories, which is exact with a bit for each. Here the commonest third is kept.

order = results.margins()[names[0]]["linear"].sort_values(ascending=False).index
print(results.risk_ratio(tuple(order[:2]), columns[1]))
print(results.odds_ratio((order[0], order[-1]), columns))
assert "standard errors from 0" in results.odds_ratio((order[0], order[-1]), columns).message
assert "standard errors from 0" in results.cramers_v().message
kept = order[: len(order) // 3 + 1].tolist()
merged = {"candidates": [kept, None], "other": [True, False], "names": names}
some = ldp.AssociationModel(x, y, **merged).fit()
exact = population.groupby(pd.Index(rows).where(pd.Index(rows).isin(kept), "Other")).sum()
product = np.outer(exact.sum(axis=1), exact.sum())
true_v = np.sqrt(((exact - product) ** 2 / product).to_numpy().sum())
print(some.cramers_v(), f"(truth {true_v:.3f})")
assert some.cramers_v().lower < true_v < some.cramers_v().upper
for kind in ("heatmap", "departures", "mosaic"):
    some.plot(kind)

# %%
# The paper, and here
# -------------------
#
# - **Table I: Zipfian margins**: geometric; a sample of independent answers.
# - **Ignoring "Other" biases, with regression to the mean**: yes: slope .69.
# - **Printed formula for the bits of "Other"**: equals ignoring it.
# - **With "Other" (formula corrected) unbiased**: if X and Y are independent, and not in general.
# - **Unbiased for a bit per category**: exact lumping: always.
# - **Table II**: fits one survey of hashed reports, and means of ten of two kinds.
# - **15 categories can be estimated**: yes with a geometric tail; with a flat one, 7 to 11.
# - **Figure 3: intervals cover**: yes; most rates are hardly known.
# - **Chi-square test not appropriate**: for k-RR Pearson's test of the reports is the score test.
# - **T has the chi-square law**: in dense tables; in sparse ones it has neither size nor power.
# - **A decoder without EM**: ``one_step``, here as good as the maximum.
