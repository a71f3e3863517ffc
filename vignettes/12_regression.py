# %% [markdown]
# # Who had an affair: regression on answers that nobody gave away
#
# In 1974 the magazine Redbook asked its readers about their marriages, and whether they ever had an
# affair. R. C. Fair published the answers of 6,366 married women in 1978; statsmodels has them.
# Such answers are what privacy is for. Here each woman's telephone randomises hers before it is
# sent, and the analyst regresses what was never seen. The true answers are known, so that each
# result can stand beside the one without privacy.

# %%
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

import ldpstats as ldp

figures = Path(sys.argv[2]) if sys.argv[1:2] == ["--figures"] else None
rng = np.random.default_rng(1978)

# %% [markdown]
# ## The data
#
# The file is sorted: all who had an affair come first. It is shuffled, because later halves of it
# will be asked in different ways. Marriage is rated from 1, very poor, to 5, very good; religion
# from 1, not at all, to 4, strongly.

# %%
women = sm.datasets.fair.load_pandas().data.sample(frac=1, random_state=rng, ignore_index=True)
women["had"] = (women.pop("affairs") > 0).astype(int)
women["affair"] = np.where(women["had"] == 1, "yes", "no")
public = women.drop(columns=["had", "affair"])
n = len(women)
print(f"{n} women, {women['had'].mean():.1%} had an affair")

# %% [markdown]
# ## On the telephones
#
# Warner's design at epsilon 1: a report is the true answer with probability .73, and the opposite
# otherwise. Whoever sees "yes" learns little about that woman.

# %%
warner = ldp.Warner(epsilon=1.0)
reports = warner.privatize(women["affair"], rng)
print(f"reports that differ from the answer: {(reports.y != women['had']).mean():.1%}")

# %% [markdown]
# ## The regression
#
# The formula is that of statsmodels; `affair` is private, so its reports are passed beside the
# table. A private answer with two categories gets a logit, and success is the second one, "yes".

# %%
right = "age + yrs_married + children + religious + rate_marriage"
model = ldp.regression(f"affair ~ {right}", public, {"affair": reports})
fit = model.fit()
without = smf.logit(f"had ~ {right}", women).fit(disp=0)
print(fit.summary())

# %% [markdown]
# Coefficients, odds ratios and margins speak about true answers, not reports. A year older, at
# given years of marriage, lowers the odds; a year longer married raises them; religion and a good
# marriage lower them. Children add nothing that can be seen. Without privacy the table says the
# same, with smaller standard errors.
#
# The naive analyst takes reports for answers. Randomisation pulls every report towards even odds,
# so that all naive slopes are about a third of the true ones, with small standard errors around the
# wrong number. More respondents do not help.

# %%
naive = fit.compare_naive()
beside = pd.DataFrame({"without privacy": without.params, "privatised": fit.params})
print(beside.join(naive["naive"]).round(3).to_string())
slopes = ["age", "yrs_married", "religious", "rate_marriage"]
within = (fit.params - without.params).abs() / fit.bse
assert (within < 2.5).all() and (fit.pvalues[slopes] < 0.01).all() and fit.pvalues["children"] > 0.1
assert naive.loc[slopes, "ratio"].between(0.25, 0.5).all()

# %%
fit.plot_coefficients(without, "naive", labels=["privatised", "without privacy", "naive"])
if figures is not None:
    plt.savefig(figures / "12_coefficients.png", dpi=150)

# %% [markdown]
# ## Tests, and what p-values and intervals are
#
# `pvalues` are likelihood ratio tests, and `conf_int()` profiles a penalised likelihood. With few
# respondents or a small epsilon the usual ones, estimate and standard error, are not to be trusted;
# `conf_int(method="wald")` and `wald_test` still have them. `term_tests` leaves out one term of the
# formula after the other, here the rating of marriage as five categories.

# %%
factor = right.replace("rate_marriage", "C(rate_marriage)")
by_rating = ldp.regression(f"affair ~ {factor}", public, {"affair": reports}).fit()
terms = by_rating.term_tests()
print(terms.round(4).to_string())
print(fit.goodness_of_fit())
assert terms.loc["C(rate_marriage)", "df"] == 4 and terms.loc["children", "pvalue"] > 0.1
assert fit.goodness_of_fit().pvalue > 0.05

# %% [markdown]
# The reports do not contradict the model. The test compares them with what the model expects, in
# ten groups of fitted probability.

# %% [markdown]
# ## Margins and average predictions
#
# Probabilities are easier to report than odds. One point more on the scale of marriage lowers the
# probability of an affair by 12 percentage points on average. Averages by group have intervals too;
# those of the five ratings, from the model that takes them as categories, hold the true shares. The
# interval is wide for the 99 women who call their marriage very poor.

# %%
margins = fit.get_margeff().summary_frame()
print(margins.iloc[:, :4].round(4).to_string())
predicted = by_rating.predictions(by="rate_marriage")
shares = women.groupby("rate_marriage")["had"].mean()
print(predicted.frame.assign(true=shares).round(3).to_string())
assert -0.15 < margins.loc["rate_marriage", "dy/dx"] < -0.10
assert shares.between(predicted.frame["lower"], predicted.frame["upper"]).all()

# %%
fit.plot_effects("rate_marriage")
if figures is not None:
    plt.savefig(figures / "12_rating.png", dpi=150)

# %% [markdown]
# ## What the noise costs
#
# Variances say how many women without privacy would tell as much. At epsilon 1 the 6,366 reports
# are worth about a sixth of their number. `information` gives the same before any answer is
# collected, from covariates and assumed coefficients, and so for other values of epsilon.

# %%
worth = {"found, 1": n * (without.bse / fit.bse) ** 2}
for epsilon in (1.0, 2.0, 3.0):
    other = ldp.Warner(epsilon=epsilon).privatize(women["affair"], rng)
    planned = ldp.regression(f"affair ~ {right}", public, {"affair": other})
    variances = np.diag(np.linalg.inv(planned.information(without.params)))
    worth[f"expected, {epsilon:g}"] = n * without.bse**2 / variances
worth = pd.DataFrame(worth)
print(worth.round(0).to_string())
assert worth["expected, 1"][slopes].between(n / 9, n / 5).all()
assert np.allclose(worth["found, 1"], worth["expected, 1"], rtol=0.3)

# %% [markdown]
# ## Asked directly, asked at random
#
# Half of the women are asked directly, the others by Warner's design. `Observed` is the mechanism
# that does nothing, and a list of reports is a model with several groups. Suppose that three in ten
# deny their affair when they are asked directly. `question_test` sees that the level differs
# between the ways of asking; among honest women it sees nothing.

# %%
half = n // 2
honest = women["affair"].to_numpy()
denied = (honest == "yes") & (rng.random(n) < 0.3)
tests = {}
for name, said in {"honest": honest, "denying": np.where(denied, "no", honest)}.items():
    direct = ldp.Observed(("no", "yes")).privatize(said[:half], rng)
    randomised = warner.privatize(honest[half:], rng)
    both = ldp.regression(f"affair ~ {right}", public, {"affair": [direct, randomised]}).fit()
    tests[name] = both.question_test()
    print(name, tests[name], sep=": ")
assert tests["honest"].pvalue > 0.05 and tests["denying"].pvalue < 1e-4

# %% [markdown]
# ## A private predictor
#
# Are marriages happy if there was an affair? Now the private answer stands on the right, and the
# rating is public. Maximum likelihood, the default for categories, models the affair given the
# other predictors (`marginal_params`) and is a little more precise; corrected scores need no such
# model. Naively, two thirds of the effect are lost.

# %%
women["happy"] = (women["rate_marriage"] == 5).astype(int)
public["happy"] = women["happy"]
others = "yrs_married + children + religious"
true = smf.logit(f"happy ~ affair + {others}", women).fit(disp=0)
model = ldp.regression(f"happy ~ affair + {others}", public, {"affair": reports})
joint, corrected = model.fit(method="mle"), model.fit(method="corrected")
effect = {"without privacy": (true.params["affair[T.yes]"], true.bse["affair[T.yes]"])}
for name, one in {"mle": joint, "corrected": corrected}.items():
    effect[name] = one.params["affair[T.yes]"], one.bse["affair[T.yes]"]
effect["naive"] = joint.compare_naive().loc["affair[T.yes]", "naive"], np.nan
effect = pd.DataFrame(effect, index=["estimate", "se"]).T
print(effect.round(3).to_string())
print(joint.marginal_params.round(3).to_string())
gap = (effect["estimate"] - effect.loc["without privacy", "estimate"]).abs()
assert (gap < 2.5 * effect["se"])[["mle", "corrected"]].all() and gap["naive"] > 0.5
assert effect.loc["mle", "se"] < effect.loc["corrected", "se"]

# %% [markdown]
# For a numeric outcome the default is `corrected`. The likelihood would assume normal errors, and
# find the two groups from the shape of the outcome where that is not normal. The rating has five
# values: its likelihood claims an effect three times too large, with a small standard error.

# %%
numeric = ldp.regression(f"rate_marriage ~ affair + {others}", public, {"affair": reports})
rating = numeric.fit()
true = smf.ols(f"rate_marriage ~ affair + {others}", women).fit().params["affair[T.yes]"]
wrong = numeric.fit(method="mle").params["affair[T.yes]"]
print(f"true {true:.2f}, corrected {rating.params['affair[T.yes]']:.2f}, normal mle {wrong:.2f}")
assert rating.method == "corrected" and wrong < 2 * true
assert abs(rating.params["affair[T.yes]"] - true) < 2.5 * rating.bse["affair[T.yes]"]

# %% [markdown]
# ## Ordered answers
#
# Now the rating itself is private, by k-ary randomised response at epsilon 2, and its order is
# used: proportional odds. Religion goes with better marriages and children with less good ones.
# Positive coefficients are towards higher ratings; the thresholds follow the coefficients as in
# statsmodels' `OrderedModel`, the second and later ones as logarithms of steps.

# %%
five = ldp.KRR((1, 2, 3, 4, 5), epsilon=2.0)
ratings = five.privatize(women["rate_marriage"].astype(int), rng)
table = public.drop(columns=["rate_marriage", "happy"])
ordered = ldp.regression(f"rate ~ {others}", table, {"rate": ratings}, model="ordered").fit()
print(ordered.params.round(3).to_dict())
print(ordered.predictions().frame.round(3).to_string())
assert ordered.params["religious"] > 0 > ordered.params["children"]

# %% [markdown]
# ## A survey with weights and clusters
#
# Let these women be the population, in 159 invented towns of 40, more religious ones and less.
# Drawn are 90 towns; in each all women whose marriage is rated 3 or worse, and half of the others.
# `Survey.regression` estimates the coefficients of the population, with the design's covariance.
# Without weights unhappy marriages, and so affairs, are over-represented.

# %%
tendency = women["religious"] + rng.normal(0, 1.2, n)
women["town"] = tendency.rank(method="first").astype(int) // 40
drawn = women["town"].isin(rng.choice(women["town"].unique(), 90, replace=False))
poor = women["rate_marriage"] <= 3
sample = women[drawn & (poor | (rng.random(n) < 0.5))]
sample = sample.assign(weight=np.where(poor[sample.index], 1.0, 2.0) * women["town"].nunique() / 90)
sheet = ldp.Questionnaire({"affair": ldp.Warner(epsilon=2.0)})
collected = sheet.privatize(sample, rng)
survey = ldp.Survey(collected, sheet, weights="weight", clusters="town")
weighted = survey.regression("affair ~ yrs_married + religious").fit()
plain = ldp.Survey(collected, sheet).regression("affair ~ yrs_married + religious").fit()
print(weighted.wald_test("yrs_married = 0, religious = 0"))
share = pd.concat([weighted.predictions().frame, plain.predictions().frame])
share.index = ["weighted", "unweighted"]
truth = women["had"].mean()
print(f"share in the population: {truth:.3f}", share.round(3).to_string(), sep="\n")
assert share["lower"]["weighted"] < truth < share["upper"]["weighted"]
assert share["lower"]["unweighted"] > truth

# %% [markdown]
# ## When the maximum is at infinity
#
# With 150 women and epsilon 1 the likelihood may go on rising for ever. The fit warns and names the
# coefficients. p-values and intervals, which are of the likelihood, remain valid, and
# `penalty="jeffreys"` gives estimates that are finite and less biased.

# %%
few = np.random.default_rng(1)
some = women.sample(150, random_state=few)
asked = {"affair": warner.privatize(some["affair"], few)}
small = ldp.regression("affair ~ religious + rate_marriage", some.drop(columns="affair"), asked)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    infinite = small.fit()
print(caught[0].message)
print(infinite.conf_int().round(2).to_string())
finite = small.fit(penalty="jeffreys")
print(finite.params.round(2).to_dict())
assert "rate_marriage" in infinite.infinite and infinite.conf_int()["upper"]["rate_marriage"] < 0
assert np.isfinite(finite.params).all() and not finite.infinite
