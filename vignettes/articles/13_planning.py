"""
Before the survey: how many respondents, how private, which mechanism
=====================================================================

A magazine wants to repeat its survey of married women of 1974: which work they do, and how many
have had an affair. This time the answers are randomised on each woman's telephone. What can be
promised to her, how many have to answer, and what may go wrong are settled before anybody is
asked. The survey of 1974 serves as the guess of what there is to find.
"""

import numpy as np
import pandas as pd
from statsmodels.datasets import fair

import ldpstats as ldp
from ldpstats import planning, privacy

rng = np.random.default_rng(1974)

# %%
old = fair.load_pandas().data
work = {1.0: "student", 2.0: "labour", 3.0: "office", 4.0: "teaching", 5.0: "business", 6.0: "law"}
jobs = tuple(work.values())
p = old["occupation"].map(work).value_counts(normalize=True).reindex(list(jobs))
had = float((old["affairs"] > 0).mean())
print(p.round(3).to_dict(), f"affairs: {had:.3f}")

# %%
# What a number of respondents buys
# ---------------------------------
#
# ``precision`` gives the standard errors that a mechanism will have: exact, of the estimates on
# which intervals and tests rest. 2,000 women and epsilon 1 are worth 83 women who answer openly.

krr = ldp.KRR(jobs, epsilon=1.0)
planning.precision(krr, p, n=2000).summary()

# %%
# Which mechanism
# ---------------
#
# ``compare`` sets mechanisms side by side, and ``recommend`` searches those of the package. For six
# categories and epsilon 1 it is subset selection: a report names two kinds of work, and the true
# one is among them more often than any other.

choice = planning.recommend(jobs, epsilon=1.0, p=p)
print(choice)
several = [krr, choice.best, ldp.KRAPPOR(jobs, 1.0), ldp.Observed(jobs)]
planning.compare(several, p, n=2000).round(4)

# %%
# The advantage is small here, and grows with the number of categories. The frontier shows at which
# epsilon which mechanism is best. From about 1.6 on none is better than k-RR; up to 1.1 subset
# selection is best, and every mechanism needs many respondents.

ax = planning.plot_frontier(categories=jobs, p=p, n=2000)

# %%
# How many respondents
# --------------------
#
# The share of each kind of work shall have a standard error of two points. ``sample_size`` is the
# inverse of ``precision``: one respondent fewer misses the target. A sample of towns would have a
# design effect, say 1.5.

subsets = choice.best
n = planning.sample_size(subsets, p, se=0.02)
assert (
    planning.precision(subsets, p, n).se.max()
    <= 0.02
    < planning.precision(subsets, p, n - 1).se.max()
)
print(n, planning.sample_size(subsets, p, se=0.02, design_effect=1.5))
print(
    {
        epsilon: planning.sample_size(ldp.KRR(jobs, epsilon), p, se=0.02)
        for epsilon in (0.5, 1, 2, 4)
    }
)

# %%
# Whether the survey can find what it is for
# ------------------------------------------
#
# The editors have three questions. Has the share of affairs moved from a third of the women? Do the
# kinds of work differ between two regions? Do affairs go with work? A goal states the truth that
# ought to be found; ``power`` is that of the tests which the package will run.

warner = ldp.Warner(epsilon=1.0)
moved = planning.ValueTest([1 - 0.38, 0.38], "yes", had)
south = p + np.array([0, 0.04, -0.04, 0, 0, 0])
regions = planning.GroupsTest([p, south])
affair = {"no": 1 - had, "yes": had}
lift = np.array([0, 0.05, -0.05, -0.05, 0.05, 0]) * p.to_numpy()
table = np.outer(p, list(affair.values())) + np.outer(lift - lift.sum() * p, [-1, 1])
together = planning.IndependenceTest(table)
asked = {
    "moved": (warner, moved),
    "regions": (subsets, regions),
    "together": ((subsets, warner), together),
}
power = {name: planning.power(mechanism, goal, n) for name, (mechanism, goal) in asked.items()}
needed = {name: planning.sample_size(m, goal=g, power=0.8) for name, (m, g) in asked.items()}
print(pd.DataFrame({"power": power, "n for .8": needed}).round(3).to_string())
print(planning.minimum_detectable(warner, moved, n))

# %%
# The first question will be answered; the others will not, unless far more women answer or epsilon
# is larger. The prediction is checked against simulated surveys, which are tested as the real one
# will be.

surveys = 400
found = 0
for _ in range(surveys):
    counts = warner.draw(moved.p, n, rng)
    found += ldp.FrequencyModel(counts).fit("inversion").t_test(f"yes = {had}").pvalue.item() < 0.05
print(f"predicted {power['moved']:.3f}, simulated {found / surveys:.3f}")
assert abs(found / surveys - power["moved"]) < 4 * np.sqrt(
    power["moved"] * (1 - power["moved"]) / surveys
)

# %%
# The best channel that exists
# ----------------------------
#
# Named mechanisms treat all categories alike. If one comparison matters most, a channel can be made
# for it. ``design_channel`` solves the convex programme over all channels with that epsilon and
# proves how close it came: no channel needs fewer respondents by more than the gap.

best = planning.design_channel(jobs, epsilon=1.0, prior=p)
only = planning.design_channel(jobs, epsilon=1.0, prior=p, loss="teaching - business")
print(best.summary())
print(only.summary())
assert max(best.gap, only.gap) < 1e-4
assert privacy.epsilon(best.mechanism) <= 1.0 + 1e-12

# %%
# For all shares together subset selection is within one per cent of the best. For a single contrast
# there is much to gain, but that channel answers no other question.
#
# What can go wrong
# -----------------
#
# *Too few respondents.* A survey that cannot answer says so. With 60 women at epsilon 0.5 the
# estimates are worth less than the guess that all shares are equal.

small = ldp.FrequencyModel(ldp.KRR(jobs, 0.5).draw(p, 60, rng)).fit()
text = str(small.summary())
print(text[text.index("WARNING") :].split("\nGoodness")[0])
assert "too small or too private" in text

# %%
# *Respondents who lie on purpose.* The smaller epsilon is, the more a single report weighs. One per
# cent of respondents who always report "law" raise its estimate by more than its true share. As
# their reports look like those of another population, no test finds them.

print(planning.manipulation(krr, 0.01, p, n=n).summary())

# %%
# *A channel that is worse for every purpose.* Reports of k-RR at epsilon 2 can be turned into those
# of k-RR at epsilon 1, so the latter is never better. Of k-RR and subset selection neither is.

print(privacy.dominates(ldp.KRR(jobs, 2.0), krr), privacy.dominates(krr, ldp.KRR(jobs, 2.0)))
print(privacy.dominates(krr, subsets), privacy.dominates(subsets, krr))

# %%
# *Several waves.* A woman who answers both questions in two waves spends epsilon four times. The
# ledger adds up what she has spent, and refuses what exceeds the limit that she was promised. If a
# shuffler that she can trust removes names and order, whoever sees the shuffled reports learns far
# less about her than epsilon says.

ledger = privacy.Ledger(limit=4.0)
for wave in ("spring", "autumn"):
    ledger.spend("work", subsets, wave=wave)
    ledger.spend("affair", warner, wave=wave)
print(ledger.summary())
try:
    ledger.spend("work", subsets, wave="winter")
except ldp.errors.BudgetSpent as refused:
    print(refused)
print(privacy.amplification(warner, n, delta=1e-6))

# %%
# The plan
# --------
#
# So the magazine asks for work by subsets of two and for affairs by Warner's design, both at
# epsilon 1, until 7,500 women have answered, and promises at most epsilon 4 in two waves. It does
# not promise to compare regions. The survey comes out as planned:

planned = 7_500
reports = subsets.privatize(rng.choice(jobs, planned, p=p), rng)
real = ldp.FrequencyModel(reports).fit()
expected = planning.precision(subsets, p, planned).se
shown = pd.DataFrame({"1974": p, "estimate": real.linear_params, "planned se": expected})
shown["se"] = np.sqrt(np.diag(real.linear_cov))
print(shown.round(4).to_string())
print(planning.realised_losses(real.params, p).round(4).to_dict())
assert ((real.linear_params - p).abs() < 4 * expected).all()
assert np.allclose(shown["se"], expected, rtol=0.1)
