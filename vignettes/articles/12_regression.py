"""
Who had an affair: regression on answers that nobody gave away
==============================================================

In 1974 the magazine Redbook asked its readers about their marriages and affairs. R. C. Fair
published the answers of 6,366 married women in 1978; statsmodels has them. Here each woman's
telephone randomises her answer before it is sent, and the analyst regresses what nobody has seen.
As the true answers are known, each result stands beside the one without privacy.
"""

import warnings

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from statsmodels.datasets import fair

import ldpstats as ldp

rng = np.random.default_rng(1978)

# %%
# The data, and what the telephones send
# --------------------------------------
#
# The file is sorted, all who had an affair first, and is shuffled here because its halves will be
# asked in different ways. Marriage is rated from 1, very poor, to 5, very good; religion from 1,
# not at all, to 4, strongly. The mechanism is Warner's design at epsilon 1: a report is the true
# answer with probability .73, else the opposite.

women = fair.load_pandas().data.sample(frac=1, random_state=rng, ignore_index=True)
women["had"] = (women.pop("affairs") > 0).astype(int)
women["affair"] = np.where(women["had"] == 1, "yes", "no")
women["happy"] = (women["rate_marriage"] == 5).astype(int)
public, n = women.drop(columns=["had", "affair"]), len(women)
warner = ldp.Warner(epsilon=1.0)
reports = warner.privatize(women["affair"], rng)
lies = (reports.y != women["had"]).mean()
print(f"{n} women, {women['had'].mean():.1%} had an affair; {lies:.1%} of the reports differ")

# %%
# The regression
# --------------
#
# The formula is that of statsmodels; ``affair`` is private, so its reports are passed beside the
# table. A private answer with two categories gets a logit, and success is the second one, "yes".

right = "age + yrs_married + children + religious + rate_marriage"
fit = ldp.regression(f"affair ~ {right}", public, {"affair": reports}).fit()
without = smf.logit(f"had ~ {right}", women).fit(disp=0)
fit.summary()

# %%
# Coefficients are those of the true answers, not of the reports. At given years of marriage a year
# older lowers the odds; a year longer married raises them; religion and a good marriage lower them.
# Children add nothing that can be seen. Without privacy the table says the same, with smaller
# standard errors.
#
# The naive analyst takes reports for answers. Randomisation pulls them towards even odds, and naive
# slopes are about a third of the true ones. More respondents do not help.

naive = fit.compare_naive()
fit.plot_coefficients(without, "naive", labels=["privatised", "without privacy", "naive"])
beside = pd.DataFrame({"without privacy": without.params, "privatised": fit.params})
print(beside.join(naive["naive"]).round(3).to_string())
slopes = ["age", "yrs_married", "religious", "rate_marriage"]
within = (fit.params - without.params).abs() / fit.bse
assert (within < 2.5).all() and (fit.pvalues[slopes] < 0.01).all() and fit.pvalues["children"] > 0.1
assert naive.loc[slopes, "ratio"].between(0.25, 0.5).all()

# %%
# Tests, and what p-values and intervals are
# ------------------------------------------
#
# ``pvalues`` and ``conf_int()`` are from one profile of a penalised likelihood. Wald tests and
# intervals fail with few respondents or a small epsilon; ``conf_int(method="wald")`` and
# ``wald_test`` still have them. ``term_tests`` has likelihood ratios of the model without each
# term, here with religion as four categories. ``goodness_of_fit`` compares the reports with what
# the model expects, in ten groups of fitted probability: here they agree.

factor = right.replace("religious", "C(religious)")
by_religion = ldp.regression(f"affair ~ {factor}", public, {"affair": reports}).fit()
terms, agreement = by_religion.term_tests(), fit.goodness_of_fit()
print(terms.round(4).to_string(), agreement, sep="\n")
assert terms.loc["C(religious)", "df"] == 3 and terms.loc["children", "pvalue"] > 0.1
assert agreement.pvalue > 0.05

# %%
# Margins and average predictions
# -------------------------------
#
# Probabilities are easier to report than odds. One point more on the scale of marriage lowers the
# probability of an affair by 12 or 13 percentage points on average. Average predictions by group
# have intervals too; those by religion, from the model that takes it as categories, hold the true
# shares. Groups differ by their other covariates as well: ``kind="adjusted"`` holds these fixed.

margins = fit.get_margeff().summary_frame()
print(margins.iloc[:, :4].round(4).to_string())
predicted = by_religion.predictions(by="religious")
by_religion.plot_effects("religious")
shares = women.groupby("religious")["had"].mean()
print(predicted.frame.assign(true=shares).round(3).to_string())
assert -0.14 < margins.loc["rate_marriage", "dy/dx"] < -0.11
assert shares.between(predicted.frame["lower"], predicted.frame["upper"]).all()

# %%
# What the noise costs
# --------------------
#
# The summary notes it: the reports are worth a sixth as many answers without privacy. So says the
# ratio of variances. The model's ``information`` gives it from covariates and assumed coefficients
# alone, so that epsilon can be chosen before anybody is asked.

worth = {"found, 1": n * (without.bse / fit.bse) ** 2}
for epsilon in (1.0, 2.0, 3.0):
    other = ldp.Warner(epsilon=epsilon).privatize(women["affair"], rng)
    planned = ldp.regression(f"affair ~ {right}", public, {"affair": other})
    variances = np.diag(np.linalg.inv(planned.information(without.params)))
    worth[f"expected, {epsilon:g}"] = n * without.bse**2 / variances
print(pd.DataFrame(worth).round(0).to_string())
assert worth["expected, 1"][slopes].between(n / 7, n / 5).all()
assert np.allclose(worth["found, 1"], worth["expected, 1"], rtol=0.3)

# %%
# Asked directly, asked at random
# -------------------------------
#
# Half of the women are asked directly, the others by Warner's design. ``Observed`` is the mechanism
# that does nothing, and a list of reports makes one model of several groups. Suppose that three in
# ten deny their affair when they are asked directly: ``question_test`` then finds that the level
# differs between the ways of asking. Among honest women it finds nothing.

honest, half = women["affair"].to_numpy(), n // 2
denied = (honest == "yes") & (rng.random(n) < 0.3)
tests = {}
for name, said in {"honest": honest, "denying": np.where(denied, "no", honest)}.items():
    direct = ldp.Observed(("no", "yes")).privatize(said[:half], rng)
    randomised = warner.privatize(honest[half:], rng)
    both = ldp.regression(f"affair ~ {right}", public, {"affair": [direct, randomised]}).fit()
    tests[name] = both.question_test()
    print(name, tests[name], sep=": ")
assert tests["honest"].pvalue > 0.05 and tests["denying"].pvalue < 1e-4

# %%
# A private predictor
# -------------------
#
# Are marriages less happy after an affair? Now the private answer stands on the right, and the
# rating is public. Maximum likelihood, the default for categories, models the affair given the
# other predictors (``marginal_params``) and is a little more precise; corrected scores need no such
# model. The naive estimate loses two thirds of the effect.

others = "yrs_married + children + religious"
true = smf.logit(f"happy ~ affair + {others}", women).fit(disp=0)
model = ldp.regression(f"happy ~ affair + {others}", public, {"affair": reports})
joint, corrected = model.fit(method="mle"), model.fit(method="corrected")
yes, results = "affair[T.yes]", {"without privacy": true, "mle": joint, "corrected": corrected}
effect = pd.DataFrame({name: [one.params[yes], one.bse[yes]] for name, one in results.items()})
naive_effect = joint.compare_naive().loc[yes, "naive"]
print(effect.set_axis(["estimate", "se"]).round(3).to_string(), "naive:", naive_effect.round(3))
print(joint.marginal_params.round(3).T.to_string())
assert ((effect.iloc[0] - true.params[yes]).abs() <= 2.5 * effect.iloc[1]).all()
assert naive_effect > 0.5 * true.params[yes]
assert effect["mle"][1] < effect["corrected"][1]

# %%
# For a numeric outcome the default is ``corrected``. The likelihood assumes normal errors, and
# where they are not normal it finds groups in the shape of the outcome. The rating has five values:
# its likelihood claims an effect almost three times too large, with a small standard error. Where
# the two differ by far more than chance, a warning says so.

numeric = ldp.regression(f"rate_marriage ~ affair + {others}", public, {"affair": reports})
rating = numeric.fit()
true = smf.ols(f"rate_marriage ~ affair + {others}", women).fit().params[yes]
with warnings.catch_warnings(record=True) as met:
    warnings.simplefilter("always", ldp.MisfitWarning)
    wrong = numeric.fit(method="mle").params[yes]
assert any("method='corrected'" in str(one.message) for one in met)
print(f"without privacy {true:.2f}, corrected {rating.params[yes]:.2f}, normal mle {wrong:.2f}")
assert rating.method == "corrected" and wrong < 2 * true
assert abs(rating.params[yes] - true) < 2.5 * rating.bse[yes]

# %%
# Ordered answers
# ---------------
#
# Now the rating is private, by k-ary randomised response at epsilon 3. Proportional odds use its
# order, and positive coefficients are towards better ratings: religion goes with better marriages.
# Thresholds follow, as in statsmodels' ``OrderedModel`` later ones as logarithms of steps.

five = ldp.KRR((1, 2, 3, 4, 5), epsilon=3.0)
ratings = five.privatize(women["rate_marriage"].astype(int), rng)
table = public.drop(columns=["rate_marriage", "happy"])
ordered = ldp.regression(f"rate ~ {others}", table, {"rate": ratings}, model="ordered").fit()
print(ordered.params.round(3).to_dict())
assert ordered.params["religious"] > 0 and ordered.pvalues["religious"] < 0.01

# %%
# A survey with weights and clusters
# ----------------------------------
#
# Let these women be the population, in invented towns of 40, some more religious than others. Drawn
# are 90 towns, and in each all women who rate their marriage 3 or worse, and half of the others.
# ``Survey.regression`` estimates the coefficients of the population, with the design's covariance.
# Without weights poor marriages, and so affairs, are over-represented.

tendency = women["religious"] + rng.normal(0, 1.2, n)
women["town"] = tendency.rank(method="first").astype(int) // 40
drawn = women["town"].isin(rng.choice(women["town"].unique(), 90, replace=False))
poor = women["rate_marriage"] <= 3
sample = women[drawn & (poor | (rng.random(n) < 0.5))]
sample = sample.assign(weight=np.where(poor[sample.index], 1.0, 2.0) * women["town"].nunique() / 90)
sheet = ldp.Questionnaire({"affair": ldp.Warner(epsilon=2.0)})
collected = sheet.privatize(sample, rng)
survey = ldp.Survey(collected, sheet, weights="weight", clusters="town")
kinds = {"weighted": survey, "unweighted": ldp.Survey(collected, sheet)}
formula = "affair ~ yrs_married + religious"
fits = {kind: one.regression(formula).fit() for kind, one in kinds.items()}
print(fits["weighted"].wald_test("yrs_married = 0, religious = 0"))
share = pd.concat([one.predictions().frame.set_axis([kind]) for kind, one in fits.items()])
truth = women["had"].mean()
print(f"share in the population: {truth:.3f}", share.round(3).to_string(), sep="\n")
lower, upper = share["lower"], share["upper"]
assert lower["weighted"] < truth < upper["weighted"] and truth < lower["unweighted"]

# %%
# When the maximum is at infinity
# -------------------------------
#
# With 150 women and epsilon 1 the likelihood rises for ever in one sample of twenty; this is one of
# them. The fit then warns and names the coefficients. p-values and intervals, which are from the
# likelihood, remain valid, and ``penalty="jeffreys"`` gives finite estimates.

few = np.random.default_rng(1)
some = women.sample(150, random_state=few)
asked = {"affair": warner.privatize(some["affair"], few)}
small = ldp.regression("affair ~ rate_marriage", some.drop(columns="affair"), asked)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    infinite = small.fit()
ends = infinite.conf_int()
print(caught[0].message, ends.round(2).to_string(), sep="\n")
finite = small.fit(penalty="jeffreys")
print(finite.params.round(2).to_dict())
assert "rate_marriage" in infinite.infinite and ends["upper"]["rate_marriage"] < 0
assert np.isfinite(finite.params).all() and not finite.infinite
