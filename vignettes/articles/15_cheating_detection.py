"""
Respondents who do not do as the die says: from the design to the posterior
===========================================================================

A university asks its students whether they have ever taken a drug to pass an examination. A die
protects them: it tells some to say "yes" or "no" whatever the truth is. Some students say "no"
all the same, because a "yes" looks bad even when the die has ordered it. Taken at their word, the
reports make drugs look rarer than they are. Clark and Desharnais (1998) had the remedy: two
groups with different dice tell how many disobey. Ostapczuk et al. (2009) made the design
symmetric, so that no report gives anybody away; that is the design here.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.devices import flip, roll, truth, unknown
from ldpstats.priors import Beta

rng = np.random.default_rng(1998)
answers = ("no", "yes")

# %%
# The die, as a program
# ---------------------
#
# A device is written down as it is carried out. In both groups a 6 orders "no". A 1 orders "yes" in
# the first group, a 1, 2 or 3 in the second. All else follows: what the respondent reads, the exact
# matrix of the reports, and the privacy that it gives.

first = roll(6).when({1: "yes", 6: "no"}, otherwise=truth)
second = roll(6).when({(1, 2, 3): "yes", 6: "no"}, otherwise=truth)
for sentence in second.instructions(answers):
    print(sentence)
for device in (first, second):
    obeyed = device.mechanism(answers)
    print(pd.DataFrame(obeyed.exact, index=answers, columns=obeyed.outputs).map(str))
    print(f"epsilon {obeyed.epsilon:.3f}, odds change by {obeyed.ratio} at most")
    assert obeyed.audit().agrees
tree = second.plot(answers)

# %%
# The same die, for people who may not obey
# -----------------------------------------
#
# With an unknown probability a student says "no" whatever the die shows. ``unknown("cheating")``
# stands where a probability would, and the entries of the matrix become polynomials in it. Epsilon
# is the largest over all values of the unknown: the promise holds however many cheat.

cheats = flip(unknown("cheating"))
groups = [cheats.when({"heads": "no"}, otherwise=die).mechanism(answers) for die in (first, second)]
for group in groups:
    print(pd.DataFrame(group.exact, index=answers, columns=group.outputs).map(str))
    print(f"unknown: {group.unknown}, epsilon {group.epsilon:.3f} at most")
assert np.isclose(groups[0].epsilon, np.log(5)) and np.isclose(groups[1].epsilon, np.log(3))

# %%
# The survey
# ----------
#
# 1,200 students roll each die. One in five has taken a drug, and one in eight cheats. The analyst
# sees the reports alone.

takers, cheaters, n = 0.2, 0.125, 1_200
reports = []
for group in groups:
    students = rng.choice(answers, size=n, p=[1 - takers, takers])
    reports.append(group.simulate(students, rng, cheating=cheaters))
said = [counts.tally().vector() for counts in reports]
print(pd.DataFrame(said, index=["first", "second"], columns=answers))

# %%
# Taken at their word
# -------------------
#
# Whoever trusts the die gets too few takers: the interval misses the truth. That the two groups
# contradict each other shows in the goodness of fit, because one frequency has to explain two
# shares of "yes".

trusting = ldp.FrequencyModel(
    [die.mechanism(answers).counts(x) for die, x in zip((first, second), said, strict=True)]
)
naive = trusting.fit()
print(naive.params.round(3).to_dict(), naive.conf_int().loc["yes"].round(3).tolist())
print(naive.goodness_of_fit)
assert naive.conf_int().loc["yes", "upper"] < takers
assert naive.goodness_of_fit.pvalue < 0.05

# %%
# Fit with unknown cheating
# -------------------------
#
# ``FrequencyModel`` estimates both. With two groups there are two shares of "yes" for two unknowns,
# ``share = (1 - cheating) (P(ordered yes) + P(truth) takers)``. Where their solution lies between 0
# and 1, it is the maximum of the likelihood, as published. A single group does not identify them,
# and the fit says so. Intervals are profiles of the likelihood.

try:
    ldp.FrequencyModel(reports[0]).fit()
except ldp.NotIdentified as refused:
    print(refused)
model = ldp.FrequencyModel(reports, name="drugs")
fitted = model.fit()
shares = [x[1] / n for x in said]
obey, both = np.linalg.solve([[1 / 6, 4 / 6], [3 / 6, 2 / 6]], shares)
print(f"closed form: takers {both / obey:.4f}, cheating {1 - obey:.4f}")
assert np.isclose(fitted.params["yes"], both / obey, atol=1e-6)
assert np.isclose(fitted.params["cheating"], 1 - obey, atol=1e-6)
ends = fitted.conf_int()
assert ends.loc["yes", "lower"] < takers < ends.loc["yes", "upper"]
assert ends.loc["cheating", "lower"] < cheaters < ends.loc["cheating", "upper"]
fitted.summary()

# %%
# The price of not trusting the die is a wider interval. With this many students it is worth paying:
# the narrow one misses the truth.

width = {"trusting": naive.conf_int(), "cheating unknown": ends}
print(
    {
        name: round(float(e.loc["yes", "upper"] - e.loc["yes", "lower"]), 3)
        for name, e in width.items()
    }
)

# %%
# The posterior
# -------------
#
# With the flat prior the posterior says the same, and answers questions that intervals do not: how
# probable it is that more than one student in seven has taken a drug, or that more than one in
# twenty cheats. The predictive check compares the reports with those that the posterior expects.

posterior = model.fit_posterior(rng)
print(posterior.summary())
print(f"P(takers > 1/7) = {posterior.prob('yes > 0.142857'):.3f}")
print(f"P(cheating > .05) = {posterior.prob('cheating > 0.05'):.3f}")
assert (posterior.rhat < 1.02).all() and posterior.divergences == 0
assert ((posterior.params - fitted.params).abs() < 0.5 * fitted.bse).all()

# %%
# How much the prior matters
# --------------------------
#
# Other surveys found that 5 to 30 per cent disobey, about Beta(4, 21). Somebody who trusts the die
# would put Beta(1, 49), and somebody who trusts nobody Beta(12, 28). Cheating and takers are
# estimated against each other, so what is believed of one moves the other. Among 2,400 students
# every prior leads into the interval of the flat one; of the first 100 in each group the prior
# decides. Two dice that differ more, or more students, are the remedy.

priors = {"flat": Beta(1, 1), "found": Beta(4, 21), "trusting": Beta(1, 49), "wary": Beta(12, 28)}
few = ldp.FrequencyModel([group[:100] for group in reports])
rows = {}
for size, asked in (("2400 students", model), ("200 students", few)):
    for name, prior in priors.items():
        found = asked.fit_posterior(rng, prior={"cheating": prior}, draws=2_000)
        lower, upper = found.conf_int().loc["yes"]
        rows[size, name] = [found.params["cheating"], found.params["yes"], lower, upper]
columns = ["cheating", "takers", "lower", "upper"]
table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
table.index = pd.MultiIndex.from_tuples(table.index)
print(table.round(3).to_string())
many, few = table.loc["2400 students"], table.loc["200 students"]
assert many["takers"].between(many.loc["flat", "lower"], many.loc["flat", "upper"]).all()
assert np.ptp(few["takers"]) > 1.5 * np.ptp(many["takers"])

# %%
figure, axis = plt.subplots(figsize=(5, 4))
draws = posterior.draws
axis.plot(draws["cheating"], draws["yes"], ".", markersize=2, alpha=0.4)
axis.plot(cheaters, takers, "k+", markersize=12, label="truth")
axis.set(xlabel="share that cheats", ylabel="share that has taken drugs")
axis.legend()
assert draws["cheating"].corr(draws["yes"]) > 0.3

# %%
# What cheaters have done
# -----------------------
#
# Their reports say nothing of it. The fit takes them to be like the others. Without that assumption
# the share of takers is at least that of the honest ones, ``(1 - cheating) takers``, and at most
# that and all the cheaters. Functions of draws are draws, so these bounds have intervals too; they
# are the honest result of a survey in which people cheat.

draws = posterior.draws
least = (1 - draws["cheating"]) * draws["yes"]
most = least + draws["cheating"]
bounds = pd.DataFrame({"least": least, "most": most}).quantile([0.025, 0.5, 0.975])
print(bounds.round(3).to_string())
assert bounds.loc[0.025, "least"] < takers < bounds.loc[0.975, "most"]

# %%
# The same from a table
# ---------------------
#
# In the field the reports are two columns of a table: which die a student was given, and what she
# said. ``cohorts`` makes the two dice one question of a questionnaire, which may have others. The
# group is public and drawn without regard to the answer; estimates are those of the two groups,
# given their sizes. With the labels "first:yes" one column would do.

cheating_dice = {
    name: cheats.when({"heads": "no"}, otherwise=die)
    for name, die in (("first", first), ("second", second))
}
asked = ldp.devices.cohorts(cheating_dice).mechanism(answers)
sheet = ldp.Questionnaire({"drugs": asked})
table = pd.DataFrame(
    {
        "drugs_cohort": np.repeat(["first", "second"], n),
        "drugs": np.concatenate([group.mechanism.outputs[group.y] for group in reports]),
        "sex": rng.choice(["f", "m"], 2 * n),
    }
)
survey = ldp.Survey(table, sheet)
again = survey.frequencies("drugs")
assert np.allclose(again.params, fitted.params, atol=1e-10)
assert np.allclose(again.cov_params(), fitted.cov_params(), atol=1e-10)
women = survey.where("sex == 'f'").frequencies("drugs")
print(women.summary_frame().round(3).to_string())

# %%
# On the command line, where ``first.json`` and ``second.json`` are written by
# ``ldpstats device cheating-detection --param p_yes=1/6 --param p_no=1/6 --write-spec first.json``:
#
# .. code-block:: sh
#
#     ldpstats questionnaire sheet.json --group drugs first first.json \
#         --group drugs second second.json
#     ldpstats fit table.csv --questionnaire sheet.json --column drugs --where "sex == 'f'"

# %%
# Elsewhere
# ---------
#
# ``ldp.devices.library.cheating_detection("3/6", "1/6")`` is the same design by its name. With the
# extra ``bayes``, ``fit_posterior(rng, engine="pymc")`` draws by PyMC, and ``observe`` puts the
# reports into any model of PyMC, here one in which men and women cheat equally often:
#
# .. code-block:: python
#
#     with pymc.Model():
#         cheating = pymc.Beta("cheating", 4, 21)
#         for sex in ("men", "women"):
#             p = pymc.Dirichlet(f"p_{sex}", [1, 1])
#             ldp.pymc.observe(sex, p, by_sex[sex], parameters={"cheating": cheating})

named = ldp.devices.library.cheating_detection("3/6", "1/6").mechanism(answers)
assert named.exact == groups[1].exact
