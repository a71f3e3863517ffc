"""
Forty regions: what the small ones can borrow
=============================================

A health survey asks a sensitive question in 40 regions, of which the smallest has 50 respondents
and the largest 5,000. Fitted alone, a small region's estimate is mostly noise: its own, and that
of the randomised answers. Partial pooling takes the regions to be alike to an extent that the
reports themselves show, and gives each region an estimate between its own and what all have in
common. Here the regions are simulated, so that the errors of both can be counted; the last
section shows when pooling hurts.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(14)
answers = ("never", "sometimes", "monthly", "weekly")

# %%
# The regions
# -----------
#
# The logarithms of the ratios of any two answers vary between regions with standard deviation 0.4:
# an answer that 20 % give in a typical region is given by 10 % to 35 % of the people in most. Sizes
# are spread evenly in their logarithm. A region of the list was not reached at all.

regions = [f"r{number:02d}" for number in range(40)]
sizes = np.exp(np.linspace(np.log(50), np.log(5000), 40)).astype(int)
typical = np.array([0.55, 0.25, 0.13, 0.07])
effects = rng.normal(0.0, 0.4 / np.sqrt(2.0), (40, 4))
truth = typical * np.exp(effects)
truth = pd.DataFrame(truth / truth.sum(axis=1, keepdims=True), regions, list(answers))
unreached = "r20"

# %%
# Each respondent's telephone randomises the answer by k-ary randomised response at epsilon 1: the
# true answer is sent with probability .48, and each other one with probability .18.

krr = ldp.KRR(answers, epsilon=1.0)
rows = []
for region, n in zip(regions, sizes, strict=True):
    if region != unreached:
        said = rng.choice(answers, n, p=truth.loc[region])
        rows.append(pd.DataFrame({"region": region, "use": said}))
people = pd.concat(rows, ignore_index=True)
sheet = ldp.Questionnaire({"use": krr})
collected = sheet.privatize(people, rng)
survey = ldp.Survey(collected, sheet)
print(f"{len(collected)} reports in {collected['region'].nunique()} regions")

# %%
# Separate fits, and partial pooling
# ----------------------------------
#
# ``frequencies`` with ``by=`` fits every region on its own. ``posterior`` with ``by=`` fits the
# regions together: the log ratios of region g are normal around common ones, with a standard
# deviation that is a parameter, too. Its prior is half-normal with scale 1, that of the common
# distribution flat (``ldp.priors.Pooling``).

separate = survey.frequencies("use", by="region")
pooled = survey.posterior("use", rng, by="region")
print(pooled.between.summary_frame().round(3).to_string())
print(pooled.common.summary_frame().round(3).to_string())
print(f"divergences {pooled.divergences}, R-hat up to {pooled.rhat.max():.3f}")
print(f"effective draws, of {len(pooled.flat)}: at least {pooled.ess.min().min():.0f}")
assert pooled.divergences == 0
assert pooled.rhat.max() < 1.01 and pooled.ess.min().min() > 400
low, high = pooled.between.conf_int().loc["sd"]
assert low < 0.4 < high

# %%
# The errors of both
# ------------------
#
# Root mean squared errors over regions and answers, in percentage points, by the size of the
# region. A third estimate ignores the regions: everybody's distribution for each of them.

held = [region for region in regions if region != unreached]
alone = separate.params.unstack().loc[held, list(answers)]
together = pooled.table.loc[held]
everybody = survey.frequencies("use").params
n = pd.Series(sizes, regions).loc[held]
band = pd.cut(n, [0, 150, 500, 1500, 5000], labels=["50 to 150", "to 500", "to 1,500", "to 5,000"])


def rms(estimate):
    """Root mean squared error in percentage points, by size and of all."""
    square = ((estimate - truth.loc[held]) ** 2).mean(axis=1)
    found = np.sqrt(square.groupby(band, observed=True).mean())
    return 100 * pd.concat([found, pd.Series({"all": np.sqrt(square.mean())})])


errors = pd.DataFrame(
    {
        "regions": [*band.value_counts(sort=False), len(held)],
        "separate": rms(alone),
        "pooled": rms(together),
        "one for all": rms(alone * 0.0 + everybody),
    }
)
print(errors.round(1).to_string())
assert (errors["pooled"] < errors["separate"]).all()
assert errors.loc["all", "pooled"] < 0.6 * errors.loc["all", "separate"]
assert errors.loc["all", "pooled"] < errors.loc["all", "one for all"]

# %%
# Pooling is worth most where there is least data: it halves the error of the smallest regions, and
# costs nothing in the large ones, whose estimates move less. One estimate for all is as good as
# pooling in the smallest regions, whose reports say next to nothing, and worse than separate fits
# in the largest. Partial pooling need not be told which of the two to follow.

moved = (together - alone).abs().max(axis=1)
print(
    f"largest change: {100 * moved[n < 150].mean():.0f} points in regions below 150 reports, ",
    end="",
)
print(f"{100 * moved[n > 1500].mean():.1f} above 1,500")
assert moved[n > 1500].mean() < 0.2 * moved[n < 150].mean()

# %%
# Intervals, and the region that nobody reached
# ---------------------------------------------
#
# In this survey the intervals hold the truth about as often as they should, on average over the
# regions. They are shorter than those of separate fits, because each uses the other regions too.

ends = pooled.conf_int()
flat = truth.loc[[label for label, _ in ends.index[::4]]].stack().to_numpy()
inside = ((ends["lower"] <= flat) & (flat <= ends["upper"])).mean()
own = separate.conf_int()
shorter = (ends["upper"] - ends["lower"]).loc[own.index] / (own["upper"] - own["lower"])
print(f"{100 * inside:.0f}% of the pooled intervals hold the truth")
print(f"length over that of separate ones: {shorter.loc[regions[:10]].mean():.2f} in small regions")
assert 0.9 < inside <= 1.0
assert shorter.loc[regions[:10]].mean() < 0.6

# %%
# ``Survey.posterior`` knows the regions that occur. For one that does not, the model takes a group
# without a report: its interval says what a region of this kind may be like. Of this one the rarest
# answer is just outside, as one in twenty is.

groups = {region: survey.where(f"region == '{region}'").reports("use") for region in held}
groups |= {unreached: krr.no_counts()}
model = ldp.GroupedModel(groups, by="region", name="use")
wider = model.fit_posterior(rng, draws=2000)
predicted = pd.DataFrame({"truth": truth.loc[unreached], "predicted": wider[unreached].params})
predicted = predicted.join(wider[unreached].conf_int())
print(predicted.round(2).to_string())
width = predicted["upper"] - predicted["lower"]
assert width.sum() > (ends["upper"] - ends["lower"])["r39"].sum()
assert predicted["truth"].between(predicted["lower"], predicted["upper"]).sum() >= 3

# %%
# The share of all people, with the numbers of inhabitants as weights, is one more function of the
# draws; so is the probability that one region is above another.

inhabitants = pd.Series(1000.0 * sizes, regions).loc[[label for (label,) in wider.groups]]
country = wider.overall(inhabitants)
print(country.summary_frame()[["params", "lower", "upper"]].round(3).to_string())
print("P(r39 above r38, weekly):", round(wider.prob("r39:weekly > r38:weekly"), 2))

# %%
# When pooling hurts
# ------------------
#
# The model says that all regions are drawn from one normal law, with the same spread for every
# answer. Suppose that one small region is unlike all others: a mining town where half the people
# answer "weekly", and 200 of them were asked. Pooling takes most of that for noise.

unlike = np.array([0.2, 0.15, 0.15, 0.5])
groups["town"] = krr.draw(unlike, 200, rng)
with_town = ldp.GroupedModel(groups, by="region", name="use").fit_posterior(rng, draws=2000)
own = ldp.FrequencyModel(groups["town"]).fit("inversion")
town = pd.DataFrame({"truth": unlike, "separate": own.params, "pooled": with_town["town"].params})
town = town.join(with_town["town"].conf_int())
print(town.round(2).to_string())
print(f"standard deviation between regions: {with_town.between.params['sd']:.2f}")
assert town.loc["weekly", "upper"] < 0.3 < own.conf_int().loc["weekly", "lower"]

# %%
# The town's estimate is too low by far, and its interval is nowhere near the truth, which the
# town's own interval holds: 200 privatised reports cannot stand against 39 regions that say how
# different regions are. Nor does the standard deviation between regions give a sign. So:
#
# - pool groups that are of one kind as far as anybody knows; leave out, or fit alone, a group that
#   is known to be special, and look at the separate fits beside the pooled ones;
# - pooled estimates are right on average over the groups, not for each one: where every region has
#   a right to an estimate without bias, as in a law on funds, publish the separate ones;
# - one standard deviation stands for all answers. Where one answer varies much more between groups
#   than the others do, it is pooled too much;
# - what moves a pooled estimate is a model. With the separate fits' standard errors beside it, a
#   reader sees how much of the precision comes from the model.

# %%
# The picture
# -----------
#
# The share who answer "weekly" by region, in order of size: separate fits scatter more than the
# truth does, the more the smaller the region; the pooled ones do not.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
at = n.sort_values().index
ax.plot(n[at], 100 * alone.loc[at, "weekly"], "x", color="0.6", label="separate")
ax.plot(n[at], 100 * together.loc[at, "weekly"], "o", color="C0", label="pooled")
ax.plot(n[at], 100 * truth.loc[at, "weekly"], "_", color="C3", ms=12, mew=2, label="truth")
ax.set(xscale="log", xlabel="reports in the region", ylabel='"weekly", %')
ax.legend(frameon=False)
weekly = [shares.loc[held, "weekly"].std() for shares in (together, truth, alone)]
assert weekly[0] < 1.1 * weekly[1] and 1.5 * weekly[1] < weekly[2]
