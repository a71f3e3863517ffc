"""
A panel of five years, whose devices remember
=============================================

The same people are asked in five years whether they smoke. Whoever reports an answer with fresh
noise every year gives it away little by little. So the devices of this panel keep what they drew:
the answer "yes" has one noisy response for ever, and each report adds a little fresh noise to it.
That protects people who never change, and it changes the analysis. Two reports of a person may
agree because her answer is the same, or because her noise is. This article goes from the
questionnaire to the change between two years, a Markov chain over five, and the trend. The people
are simulated, so that every estimate can be set beside the truth.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.clients.portable.ldpstats_client import Client

rng = np.random.default_rng(2021)
years = ["2021", "2022", "2023", "2024", "2025"]

# %%
# The people
# ----------
#
# Of 12,000 people 35 in 100 smoke in 2021. Half of all people never change. Each year 35 in 100 of
# the other smokers quit, and 8 in 100 of the other non-smokers begin. One in ten misses a year.

n = 12_000
smokes, movers = rng.random(n) < 0.35, rng.random(n) < 0.5
true = pd.DataFrame(index=range(n))
for year in years:
    true[year] = np.where(smokes, "yes", "no")
    smokes = smokes ^ (movers & (rng.random(n) < np.where(smokes, 0.35, 0.08)))
there = pd.DataFrame(rng.random((n, 5)) < 0.9, columns=years)
print((true == "yes").mean().round(3).to_dict())

# %%
# Questionnaire and privacy
# -------------------------
#
# A device randomises an answer twice, by ``step``. It does the first step once for each answer and
# keeps the result; the second is drawn anew for every report. The law of all five reports together,
# ``joint_law``, has an epsilon. People who never change spend no more than 3, as if the kept
# response itself had been sent, where five reports with fresh noise would spend 11.5. People who
# change show another response, and that they changed: they spend up to 8.3.

step = ldp.KRR(("no", "yes"), epsilon=3.0)
kept = step.then(step, keep="first")
law = kept.joint_law(5)
print(f"one report {kept.epsilon:.2f}, five with fresh noise {5 * kept.epsilon:.2f}")
print(f"five of one answer {law.epsilon_of(1):.2f}, of two answers {law.epsilon_of(2):.2f}")
assert law.epsilon_of(1) <= step.epsilon < law.epsilon < 5 * kept.epsilon

# %%
# With ``link=True`` a device sends one pseudonym in all years, by which the waves join, and with
# ``keep=True`` it keeps its responses. The page of the questionnaire says both to the respondent.

asked = ldp.Questionnaire({"smokes": kept}, wave="2021", link=True, keep=True)
print(asked, asked.in_wave("2022"), sep="\n")

# %%
# Devices
# -------
#
# A device keeps a secret, from which its pseudonym and its response to each answer follow. Here 300
# devices answer in every year in which their owner takes part. (With ``secret=`` and ``entropy=``
# this page can be computed again. A device leaves them out, and keeps its secret in a file,
# ``state=``.)

secrets = [rng.bytes(32) for _ in range(300)]
collected = {}
for year in years:
    document, sent = asked.in_wave(year).client_document(), []
    for i in np.flatnonzero(there[year][:300]):
        client = Client(document, secret=secrets[i], entropy=rng.bytes)
        sent.append(client.message({"smokes": str(true.loc[i, year])}))
    collected[year] = pd.DataFrame([{**one["sheet"], "token": one["token"]} for one in sent])
print(collected["2021"].head(3))
tokens = pd.concat(collected.values())["token"]
print(f"{len(tokens)} reports of {tokens.nunique()} pseudonyms")

# %%
# The other 11,700 are simulated by the law of all five reports: a path of answers makes one of
# reports.

paths = true[300:].agg(", ".join, axis=1)
for year, wave in zip(years, law.split(law.privatize(paths, rng)).values(), strict=True):
    reports = pd.DataFrame({"smokes": kept.report_labels(wave), "token": paths.index.astype(str)})
    reports = reports[there[year][300:].to_numpy()]
    collected[year] = pd.concat([collected[year], reports], ignore_index=True)

# %%
# The analyst has a table of each year:

waves = {
    year: ldp.Survey(table.assign(wave=year), asked.in_wave(year))
    for year, table in collected.items()
}
print(waves["2021"])

# %%
# Change between two years
# ------------------------
#
# ``change`` joins two waves by the pseudonym. The two reports of a person share their noise, which
# the questionnaires say; of devices that no questionnaire knows of the analyst says so by
# ``memoised=True``.

first, second = waves["2021"], waves["2022"]
change = first.change(second, "smokes", id="token", waves=years[:2])
change.summary()

# %%
# A smoker quits four times as often as another person begins:

truth = pd.crosstab(true["2021"], true["2022"], normalize="index").stack()
moved = change.transitions()[["estimate", "lower", "upper"]].assign(truth=truth.to_numpy())
print(moved.round(3))
assert moved["truth"].between(moved["lower"], moved["upper"]).all()

# %%
# What goes wrong without it
# --------------------------
#
# ``memoised=False`` takes the noise for fresh. Then two reports of a person would differ much more
# often than these do, and the only explanation left is that nobody moved. All four intervals of the
# turnover miss the truth by far. The estimates are negative, which is a sign: the reports agree
# more often than those of people who never change would with fresh noise.

rows = {}
for before, after in pairwise(years):
    rows["truth", after] = [(true[before] != true[after]).mean(), np.nan, np.nan]
    for name, memoised in (("kept", True), ("taken for fresh", False)):
        found = waves[before].change(waves[after], "smokes", id="token", memoised=memoised)
        turnover = found.turnover()
        rows[name, after] = [turnover.estimate, turnover.lower, turnover.upper]
table = pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "lower", "upper"])
table.index = pd.MultiIndex.from_tuples(table.index, names=["", "year"])
print(table.round(3).sort_index().to_string())
assert (table.loc["truth", "estimate"] < table.loc["kept", "upper"]).all()
assert (table.loc["truth", "estimate"] > table.loc["kept", "lower"]).all()
assert (table.loc["taken for fresh", "upper"] < 0.3 * table.loc["truth", "estimate"]).all()

# %%
figure, axis = plt.subplots(figsize=(6, 3.5))
for place, name in enumerate(("kept", "taken for fresh")):
    own = table.loc[name]
    at = np.arange(len(own)) + 0.15 * place
    (points,) = axis.plot(at, own["estimate"], "o", label=f"responses {name}")
    axis.vlines(at, own["lower"], own["upper"], color=points.get_color())
axis.plot(np.arange(4) + 0.07, table.loc["truth", "estimate"], "k_", markersize=20, label="truth")
axis.set_xticks(range(4), [f"{a} to {b}" for a, b in pairwise(years)])
axis.set_ylim(-0.05, 0.11)
axis.set_ylabel("turnover")
axis.set_xlim(-0.3, 3.5)
axis.legend(loc=(0.5, 0.38))
figure.tight_layout()

# %%
# A chain over five years
# -----------------------
#
# For models of all years the waves are the questions of one table, a person in each row. Whoever
# missed a year counts with the others. A Markov chain with the same transitions between all years:

wide = pd.concat(
    {year: own.set_index("token")["smokes"] for year, own in collected.items()}, axis=1
).reset_index()
panel = ldp.Survey(wide, dict.fromkeys(years, kept))
chain = panel.cells(years, ldp.cells.markov(stationary=True), memoised=True).fit()
print(chain.conf_int().round(3))
print(chain.goodness_of_fit())
assert chain.goodness_of_fit().pvalue < 1e-6

# %%
# The chain does not fit: fewer change who have not changed for years. With stayers, who never
# change, it fits, and the transitions are those of the movers:

mixed = panel.cells(years, ldp.cells.markov(stationary=True, stayers=True), memoised=True).fit()
ends = mixed.conf_int()
ends["truth"] = [(true["2021"] == "yes").mean(), 0.5, 0.5, 0.08, 0.35]
print(ends.round(3))
print(mixed.goodness_of_fit())
print("BIC", round(chain.bic), round(mixed.bic))
assert ends["truth"].between(ends["lower"], ends["upper"]).all()
assert mixed.goodness_of_fit().pvalue > 0.01 and mixed.bic < chain.bic

# %%
# With the noise taken for fresh the same model does not fit, and its transitions are far too small:

fresh = panel.cells(years, ldp.cells.markov(stationary=True, stayers=True), memoised=False).fit()
print(fresh.conf_int().round(3))
print(fresh.goodness_of_fit())
assert fresh.goodness_of_fit().pvalue < 1e-6 and fresh.bic > mixed.bic

# %%
# Shares are those of all people, movers or stayers. How many of the smokers of 2021 smoke in 2025?

later = mixed.conditional("2025", given="2021")
both = pd.crosstab(true["2021"], true["2025"], normalize="index").stack()
later["truth"] = both.to_numpy()
print(later[["estimate", "lower", "upper", "truth"]].round(3))
assert later["truth"].between(later["lower"], later["upper"]).all()

# %%
# The trend
# ---------
#
# Shares of single years need no law of several reports. But the five samples are mostly the same
# people, whose reports are alike. Who is who the pseudonym says: a person is a cluster. As five
# independent samples they would have a larger standard error of the slope.

every = pd.concat([own.assign(wave=year, one=1.0) for year, own in collected.items()])
survey = ldp.Survey(every, {"smokes": kept}, weights="one", clusters="token")
trend = survey.trend("smokes", time="wave")
apart = ldp.Survey(every, {"smokes": kept}).trend("smokes", time="wave")
print(trend.test_no_change())
print(trend.slopes().round(4).to_string())
print("slope of five independent samples: se", apart.slopes()["se"].round(4).to_list())

# %%
axis = trend.plot()
axis.plot([int(year) for year in years], (true == "yes").mean(), "k+", markersize=9, label="truth")
axis.legend()
bands = trend.conf_int(simultaneous=True).xs("yes", level="smokes")
shares = (true == "yes").mean().to_numpy()
assert np.all((bands["lower"] <= shares) & (shares <= bands["upper"]))

# %%
# What it cost
# ------------
#
# - Five reports with fresh noise spend epsilon five times. Kept responses protect those whose
#   answer stays, and the analysis must know what was kept.
# - Say ``memoised=True`` only if devices really kept their responses, as those of a questionnaire
#   with ``keep=True`` do. A device that lost them draws
#   anew; if it lost its secret too, it has another pseudonym, and its waves do not join.
# - How often such intervals hold the truth is shown on the page of evidence on coverage, under
#   "Waves". The page "Coming back" of the guide has more models of waves.
