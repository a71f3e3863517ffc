"""
Which of these hosts are really visited?
========================================

A browser vendor wants to know which web hosts its users start from, and must not learn where any
one of them went. The set of hosts is open, so devices hash them: RAPPOR (Erlingsson, Pihur and
Korolova 2014) reports noisy bits of a Bloom filter, in cohorts with different hashes. The analyst
has a list of candidates, and the question is which of them are there at all, with control of the
errors made over the whole list. The setting is that of Fanti, Pihur and Erlingsson (2016, section
V-D): 100 strings, a million reports, 128 bits, two hashes.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import datasets

# %%
# The frequencies are real, but not of hosts: those of the 100 most frequent combinations of branch,
# rank and race among 1.4 million members of the US armed forces, written as strings. The table
# comes with the package. Run as a script with ``--hosts FILE`` this page takes another table, of
# columns domain and visits.


def real_strings() -> pd.Series:
    """A hundred strings with their frequencies, most frequent first."""
    if sys.argv[1:2] == ["--hosts"]:
        counts = pd.read_csv(sys.argv[2]).set_index("domain")["visits"]
    else:
        people = datasets.load_military()
        text = people[["branch", "rank", "race"]].astype(str).agg("/".join, axis=1)
        counts = people["count"].groupby(text).sum()
    counts = counts.sort_values(ascending=False).head(100)
    return (counts / counts.sum()).rename("frequency")


truth = real_strings()
hosts = list(truth.index)
absent = [f"{host}.example" for host in hosts]  # as many that nobody visits
candidates = hosts + absent
print(truth.head(8).round(4).to_string())

# %%
# Three budgets
# -------------
#
# With q = .75, p = .25 and no permanent noise (everybody reports once) a report spends epsilon =
# 4.39. If two more reports are to be paid from the same budget, each may spend a third of it, which
# takes q = .4095. (The paper prints q = .32 for this; that spends .690, less than half of a third.)

budgets = {
    "4.39": ldp.RAPPOR(n_bits=128, n_hashes=2, n_cohorts=64, f=0.0, p=0.25, q=0.75),
    "4.39 / 3": ldp.RAPPOR(n_bits=128, n_hashes=2, n_cohorts=64, f=0.0, p=0.25, q=0.4095),
    "as printed": ldp.RAPPOR(n_bits=128, n_hashes=2, n_cohorts=64, f=0.0, p=0.25, q=0.32),
}
for name, rappor in budgets.items():
    assert rappor.audit().agrees
    print(f"{name:>10}: q = {rappor.q:g}, epsilon = {rappor.epsilon:.3f}")
assert abs(budgets["4.39 / 3"].epsilon - budgets["4.39"].epsilon / 3) < 1e-3

# %%
# Collection and decoding
# -----------------------
#
# ``draw`` makes the bit sums of a million respondents at once; they have exactly the law of reports
# made one by one. Decoding is least squares over all 200 candidates with the covariance that the
# bits really have, and ``detected`` tests each against absence, with Bonferroni's correction for
# all 200.

rng = np.random.default_rng(4)
n = 1_000_000
fits = {}
rows = []
for name, rappor in budgets.items():
    counts = rappor.draw(truth, n, rng, hosts)
    results = ldp.FrequencyModel(counts, candidates=candidates).fit()
    fits[name] = results
    found = results.detected(alpha=0.05)
    bounds = results.conf_int().loc[hosts]
    rows.append(
        {
            "budget": name,
            "detected": len(found),
            "false": len(set(found) & set(absent)),
            "covered": truth.between(bounds["lower"], bounds["upper"]).mean(),
            "smallest detected": truth.reindex(found).min(),
        }
    )
table = pd.DataFrame(rows).set_index("budget")
print("candidates that are there, of 100, and others, of 100")
print(table.round(4).to_string())
assert (table["false"] == 0).all()
assert table["detected"].is_monotonic_decreasing
assert table.loc["4.39", "detected"] >= 50
# 100 intervals of 95 %: fewer than 86 would be a coverage 4 standard errors too low
assert (table["covered"] >= 0.86).all()

# %%
# The paper finds 75 of its 100 strings with the whole budget, and 23 with what it calls a third.
# Its list is not published; how many can be found depends on how fast the frequencies fall. With
# the visits to the 100 most visited hosts of the US federal government in January 2017 the same
# table is
#
# .. code-block:: text
#
#     candidates that are there, of 100, and others, of 100
#                 detected  false  covered  smallest detected
#     budget
#     4.39              74      0     0.96             0.0016
#     4.39 / 3          28      0     0.97             0.0034
#     as printed        15      0     0.95             0.0071
#
# Each interval covers its frequency in 95 % of all surveys. That does not hold for those of the
# detected hosts only, because a host near the threshold is detected where its estimate came out too
# large. Intervals that cover all frequencies together cover the detected ones too, however they
# were chosen.

together = fits["4.39 / 3"].conf_int(simultaneous="bonferroni").loc[hosts]
found = fits["4.39 / 3"].detected().intersection(hosts)
inside = truth.between(together["lower"], together["upper"])[found]
print(f"simultaneous intervals cover {inside.sum()} of the {len(found)} hosts detected")
assert inside.all()
print(fits["4.39"].summary(max_rows=8))
assert "Not among them" in str(fits["4.39"].summary())
assert abs(float(fits["4.39"].unexplained)) < 4 * fits["4.39"].unexplained.bse

# %%
figure, axes = plt.subplots(1, 3, figsize=(9, 6), sharey=True, layout="constrained")
at = np.arange(30)
for ax, (name, results) in zip(axes, fits.items(), strict=True):
    frame = results.summary_frame().loc[hosts[:30]]
    found = np.isin(hosts[:30], results.detected())
    colours = np.where(found, "C0", "0.7")
    ax.hlines(at, frame["lower"], frame["upper"], color=colours, lw=2)
    ax.scatter(frame["params"], at, c=colours, s=14, label="estimate")
    ax.plot(truth.iloc[:30], at, "d", mfc="none", color="C3", ms=5, label="truth")
    ax.set_title(f"{name}: {len(results.detected())} detected", fontsize="medium")
    ax.set_xlabel("frequency")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_yticks(at, [host[:28] for host in hosts[:30]], fontsize="small")
axes[0].legend(loc="lower right", frameon=False)
axes[0].invert_yaxis()

# %%
# When the list is not complete
# -----------------------------
#
# Candidate lists never are. Suppose that the analyst does not know the three commonest hosts. Their
# mass must not be spread over the candidates that she has: it is estimated as a share of its own.
# And since a frequent unknown string hits the same cells in every report, it looks a little like
# the candidates that share some of them; the goodness of fit says so, and standard errors grow by
# what the misfit shows.

known = candidates[3:]
lacking = ldp.FrequencyModel(budgets["4.39"].draw(truth, n, rng, hosts), candidates=known).fit()
missed = truth.iloc[:3].sum()
print(f"not among the candidates: {float(lacking.unexplained):.3f}, in truth {missed:.3f}")
print(f"standard errors x {np.sqrt(lacking.dispersion):.2f}; {lacking.goodness_of_fit}")
assert lacking.goodness_of_fit.pvalue < 1e-6
assert abs(float(lacking.unexplained) - missed) < 4 * lacking.unexplained.bse
assert not set(lacking.detected(alpha=0.05)) & set(absent)

# %%
# A long list
# -----------
#
# With thousands of candidates least squares over all of them wastes precision, and with more than
# the cohorts tell apart it is impossible. The Lasso of the original paper selects first, and least
# squares follows on what it selected. The level is divided by all candidates, not by the selected.

longer = hosts + [f"host-{i}.example" for i in range(9_000)]
print(f"{len(longer)} candidates, at most {64 * 128} equations")
lasso = ldp.FrequencyModel(budgets["4.39"].draw(truth, n, rng, hosts), candidates=longer).fit(
    "lasso"
)
found = lasso.detected(alpha=0.05)
print(lasso.message)
print(f"{len(found)} detected, {len(set(found) - set(hosts))} of them falsely")
assert len(set(found) - set(hosts)) == 0
assert len(found) >= 40

# %%
# Reporting every day
# -------------------
#
# One report is private, but a thousand reports of the same answer with fresh noise are not: their
# mean shows the Bloom filter. RAPPOR's client therefore randomises each answer once and for all (a
# fraction f of its bits), with the same result whenever it is asked, and draws fresh noise on top
# of that. Here an attacker averages 2,000 reports of one client. (At f = 0 a client makes one
# report and no more, unless it is told that no privacy is wanted, as here.) Without the permanent
# response he reads off the filter; with it he learns the permanent response and nothing more, which
# is private for life.

filters = {}
for f in (0.0, 0.5):
    rappor = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=8, f=f, p=0.25, q=0.75)
    client = rappor.client(np.random.default_rng(6).bytes, allow_no_privacy=True)
    reports = [client.report(hosts[0]).split(":")[1] for _ in range(2_000)]
    mean = np.mean([[c == "1" for c in report] for report in reports], axis=0)
    own = np.unique(rappor.cells([hosts[0]])[client.cohort, 0])
    own = own[own < 32]
    filters[f] = mean, own
    seen = np.flatnonzero(mean > 0.5).tolist()
    print(f"f = {f}: epsilon {rappor.epsilon:.2f}, in a lifetime {rappor.lifetime_epsilon:.2f}")
    print(f"    the attacker sees {seen}, the filter is {own.tolist()}")
assert np.flatnonzero(filters[0.0][0] > 0.5).tolist() == filters[0.0][1].tolist()
assert np.flatnonzero(filters[0.5][0] > 0.5).tolist() != filters[0.5][1].tolist()

# %%
figure, axes = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
axes[1].set_xlabel("bit")
for ax, (f, (mean, own)) in zip(axes, filters.items(), strict=True):
    colours = np.where(np.isin(np.arange(32), own), "C3", "0.6")
    ax.bar(np.arange(32), mean, color=colours)
    ax.axhline(0.5, color="0.3", lw=0.8, ls=":")
    ax.set_ylabel("mean report")
    ax.set_title(f"f = {f:g} (the bits of the true filter in red)", fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
