"""
A sensitive survey, from design to summary
==========================================

In 1974 the magazine Redbook asked its married readers how happy their marriage was and whether
they had an affair. Fair (1978) analysed the answers of 6,366 women. Here the same two questions
are asked again, under local differential privacy: each respondent's device randomises the answer
before it leaves her hands. Because the true answers are known, we can see what privacy costs and
whether the analysis is honest about it.
"""

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import datasets, planning
from ldpstats.estimators.constraints import unimodal

women = datasets.load_fair()
marriage, affair = women["rate_marriage"], women["any_affair"]
n = len(women)
truth = marriage.value_counts(normalize=True).reindex(marriage.cat.categories)
print(truth.round(3).to_string())

# %%
# Design: how much privacy can we afford?
# ---------------------------------------
#
# With k-ary randomised response every answer is reported as it is with probability
# :math:`e^\epsilon/(e^\epsilon + k - 1)` and replaced by a random other one else. The exact
# expected loss is known before a single answer is collected (KBR16, Proposition 3), so epsilon can
# be chosen by the standard error that the survey needs. We ask for standard errors near one
# percentage point.

k = len(truth)
epsilons = np.array([0.5, 1.0, 2.0, 3.0])
design = pd.DataFrame(
    {
        "truthful reports": np.exp(epsilons) / (np.exp(epsilons) + k - 1),
        "typical se": np.sqrt(planning.krr_worst_l2(k, epsilons, n) / k),
        "effective n": planning.effective_sample_size("krr", k, epsilons, n),
    },
    index=pd.Index(epsilons, name="epsilon"),
)
assert design["typical se"].is_monotonic_decreasing
assert 0.008 < design.loc[2.0, "typical se"] < 0.010
assert 0.30 < design.loc[2.0, "effective n"] / n < 0.33
design.round({"truthful reports": 3, "typical se": 4, "effective n": 0})

# %%
# Epsilon = 2 will do: a standard error below one point, at the price of the information of two
# answers in three. The specification is written down, with a fingerprint, and shipped to the
# devices; the analyst's copy must have the same one.

mechanism = ldp.KRR(marriage, epsilon=2.0)
print(mechanism.to_dict())
print("fingerprint", mechanism.fingerprint)
print(mechanism.audit())
assert mechanism.audit().agrees

# %%
# Collection
# ----------
#
# On each device a client draws from the operating system's randomness, and reports once. A device
# need not trust the specification that it was sent: ``max_epsilon`` is what it accepts at most.
# Here all answers are in one place, where a collector privatises them. (A seeded source is injected
# so that this page shows the same numbers every time; leave it out in earnest.) Only the tally of
# the reports is needed from here on.

entropy = np.random.default_rng(1974)
device = mechanism.client(max_epsilon=2.0)
print(device, "reports", device.report(marriage.iloc[0]))
reports = mechanism.collector(entropy=entropy.bytes).privatize(marriage)
false = (mechanism.report_labels(reports) != marriage.to_numpy()).mean()
print(f"{false:.1%} of the reports are false")
assert abs(false - (1 - design.loc[2.0, "truthful reports"])) < 4 * np.sqrt(0.35 * 0.65 / n)
counts = reports.tally()

# %%
# Analysis
# --------
#
# The maximum likelihood estimate on the simplex, its certificate, and intervals that are exact for
# every sample size: the count of each report is binomial, so a Clopper-Pearson interval of it maps
# to the frequency.

model = ldp.FrequencyModel(counts)
results = model.fit()
assert results.gap < 1e-12
results.summary()

# %%
beside = results.conf_int().assign(estimate=results.params, truth=truth)
print(beside.round(4).to_string())
ax = results.plot(truth=truth)
ax.set_title("How happy is the marriage? 6,366 women, epsilon = 2")
assert beside["truth"].between(beside["lower"], beside["upper"]).sum() >= 4

# %%
# Hypotheses are written as in statsmodels. Very good marriages are commoner than good ones, and by
# how much; the ratio has a score interval. Which answers occur at all is tested exactly, with
# Bonferroni's correction.

print(results.difference("very good", "good").round(4).to_string())
print(results.ratio("very good", "good"))
print("occur:", list(results.detected(alpha=0.05)))
assert results.wald_test("very good = good").pvalue < 0.01
assert {"very good", "good", "fair", "poor"} <= set(results.detected(0.05))
results.wald_test("very good = good")

# %%
# A statistician may know more. Ratings of satisfaction have one mode, and the likelihood can be
# maximised under any such convex constraint. (It is met here, so nothing changes.)

shaped = model.fit(constraints=unimodal(mode=4))
print(shaped.params.round(4).to_string())
assert np.abs(shaped.params - results.params).max() < 1e-4

# %%
# When respondents choose their own epsilon
# -----------------------------------------
#
# Suppose that half of the women insist on epsilon = 1. Their reports are not thrown away, nor is
# everybody held to the smallest epsilon: both groups enter one likelihood, each with its own
# channel, and a test says whether the groups agree.

cautious = ldp.KRR(marriage, epsilon=1.0)
half = np.arange(n) % 2 == 0
groups = [
    mechanism.collector(entropy.bytes).privatize(marriage[half]),
    cautious.collector(entropy.bytes).privatize(marriage[~half]),
]
together = ldp.FrequencyModel(groups).fit()
print(together.summary())
alone = ldp.FrequencyModel(groups[0]).fit()
assert np.all(together.bse < alone.bse)

# %%
# The yes/no question, with a die
# -------------------------------
#
# Long before local differential privacy, survey statisticians protected answers with a die: answer
# truthfully on 1 to 4, say "yes" on 5, "no" on 6. As a channel this is epsilon = ln 5.

die = ldp.ForcedResponse(p_truth=4 / 6, p_yes=1 / 6)
answers = die.collector(entropy.bytes).privatize(affair)
affairs = ldp.FrequencyModel(answers).fit()
true_rate = (affair == "yes").mean()
print(f"truth: {true_rate:.4f}; epsilon {die.epsilon:.4f}")
assert abs(affairs.linear_params["yes"] - true_rate) < 4 * affairs.linear_bse["yes"]
assert np.isclose(die.epsilon, np.log(5))
affairs.summary()

# %%
# Can the intervals be trusted?
# -----------------------------
#
# One survey proves nothing. Repeat it 2,000 times: the 95 % intervals should cover the truth 95 %
# of the time, for each answer, the rare "very poor" (1.6 %) included. The interval that a reader of
# the reports would compute who ignores the randomisation covers almost never.

R = 2_000
rng = np.random.default_rng(7)
covered, naive = np.zeros(k), np.zeros(k)
for _ in range(R):
    again = mechanism.draw(truth.to_numpy(), n, rng)
    ci = ldp.FrequencyModel(again).fit("inversion").conf_int()
    covered += truth.between(ci["lower"], ci["upper"]).to_numpy()
    share = again.vector() / n
    naive += np.abs(share - truth) < 1.96 * np.sqrt(share * (1 - share) / n)
coverage = pd.DataFrame({"ldpstats": covered / R, "naive": naive / R}, index=truth.index)
print(coverage.round(3).to_string())
# Monte Carlo standard error .005; Clopper-Pearson covers at least .95
assert coverage["ldpstats"].between(0.95 - 4 * 0.005, 0.965 + 4 * 0.005).all()
assert coverage["naive"].max() < 0.05
