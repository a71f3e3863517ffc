"""
Protecting only what is sensitive
=================================

Some answers need protection, others do not. Murakami and Kawamoto (2019; MK19 below) define
utility-optimised local differential privacy (ULDP), which protects the categories that are
declared sensitive and no others. They give two mechanisms: uRR, which noises like k-ary
randomised response (RR, ``KRR``), and uRAP, which noises like RAPPOR with a bit per category
(RAPPOR, ``KRAPPOR``). Here is what that guarantees and what it does not, a first fit, the choice
between the two, and the experiments of the paper (section 6.2, figures 5 to 7 and appendix E.3)
done again.

The simulations are in ``benchmarks/studies/utility_optimised.py``, their stored results beside
it. Both come with the repository, not with the package: start the notebook of this page in a
folder of the repository.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import datasets, privacy

here = Path(globals().get("__file__", "notebook")).resolve()  # a notebook has no file
homes = [folder for folder in here.parents if (folder / "benchmarks/studies").is_dir()]
if not homes:
    raise FileNotFoundError("benchmarks/studies: start this page in a folder of the repository")
sys.path.append(str(homes[0]))
from benchmarks.studies import urr_or_urap, utility_figures
from benchmarks.studies import utility_optimised as study

# %%
# What is protected, and what is not
# ----------------------------------
#
# A report of a sensitive category may have come from anyone, with probabilities that differ by a
# factor of :math:`e^\epsilon` at most. A report of another category is true, and everybody knows
# that it is. Take the General Social Survey, with its 61,448 respondents in six groups, and protect
# the divorced and the unemployed with :math:`\epsilon = 1`.

gss = datasets.load_gss()
status = gss["marital5"].astype(str).mask(gss["unemployed"] == "yes", "unemployed")
gss["status"] = status.mask(gss["marital5"] == "divorced", "divorced")
respondents = datasets.expand(gss[["status", "count"]])["status"]
GROUPS = ["married", "widowed", "separated", "never", "divorced", "unemployed"]
PROTECTED = ["divorced", "unemployed"]
urr = ldp.URR(GROUPS, PROTECTED, epsilon=1.0)
urap = ldp.URAP(GROUPS, PROTECTED, epsilon=1.0)
print(urr.matrix().round(3).to_string())

# %%
# ``privacy.uldp`` reads the guarantee off the channel matrix: which reports are protected, which
# are invertible (they reveal a category), and the smallest epsilon. It does not rely on what a
# mechanism claims, and can be asked about other sensitive categories: the separated are not
# protected here.

certificate = privacy.uldp(urr)
print(certificate)
print(privacy.uldp(urr, sensitive=[*PROTECTED, "separated"]))
assert certificate.protected.tolist() == [4, 5]
for mechanism in (urr, urap):
    assert mechanism.audit().agrees
    assert abs(privacy.uldp(mechanism).epsilon - 1.0) < 1e-12
assert not privacy.uldp(urr, sensitive=[*PROTECTED, "separated"]).holds

# %%
# What that means for the respondents:
#
# - Whoever is divorced or unemployed makes a protected report, always. It raises the odds of being
#   so by a factor of e at most (here: less).
# - Of the others 46 % reveal their answer, and with it that they are *neither divorced nor
#   unemployed*. That a respondent is not sensitive is not a secret under ULDP.
# - What is sensitive is fixed beforehand and is the same for all. Who minds being known as widowed
#   is not helped. (The article *Where I live is nobody's business* has sensitive
#   categories that differ between respondents.)
# - The guarantee is about one report, and weak where epsilon is large: at :math:`\epsilon = \ln k`,
#   the paper's low-privacy regime, the odds may rise by a factor of k.

truth = respondents.value_counts(normalize=True).reindex(GROUPS)
share, told = truth[PROTECTED].sum(), urr.channel().a
posterior = share / (share + (1.0 - share) * (1.0 - told))
raised = posterior / (1.0 - posterior) * (1.0 - share) / share
print(f"divorced or unemployed: {share:.3f} of all, {posterior:.3f} of protected reports")
print(f"the odds rise by a factor of {raised:.2f}; {told:.3f} of the others reveal their answer")
assert (round(share, 3), round(posterior, 3), round(told, 2)) == (0.162, 0.264, 0.46)
assert round(raised, 2) == 1.86 and raised < np.e

# %%
# A first fit
# -----------
#
# Estimation is the same as for any mechanism: exact maximum likelihood on the simplex, intervals
# and tests that hold at the boundary. (The paper estimates by EM, which goes to the same place,
# only slowly.) Categories that are not sensitive gain most: those who reveal their answer are
# counted without noise. The sensitive ones gain less, but do gain: under uRR there are two
# categories to hide among instead of six.

fits = {}
for kind in (urr, urap, ldp.KRR(GROUPS, 1.0), ldp.KRAPPOR(GROUPS, 1.0)):
    reports = kind.privatize(respondents, np.random.default_rng(6))
    fits[type(kind).__name__] = ldp.FrequencyModel(reports).fit()
    if kind in (urr, urap):
        by_em, exact = ldp.FrequencyModel(reports).fit("em"), fits[type(kind).__name__]
        assert ((by_em.params - exact.params).abs() / exact.bse).max() < 0.01
print(fits["URR"].summary())
bounds = {name: results.conf_int() for name, results in fits.items()}
widths = pd.DataFrame({name: (b["upper"] - b["lower"]) / 0.02 for name, b in bounds.items()})
print("half-widths of the 95 % intervals, in per cent")
print(widths.round(2).to_string())
assert (widths.loc[GROUPS[:4], "KRR"] > 2.0 * widths.loc[GROUPS[:4], "URR"]).all()
assert (widths.loc[GROUPS[:4], "KRAPPOR"] > 1.9 * widths.loc[GROUPS[:4], "URAP"]).all()
assert widths.loc[PROTECTED, "KRR"].gt(1.5 * widths.loc[PROTECTED, "URR"]).all()
for b in bounds.values():  # fewer than four of six has chance .002 for each mechanism at most
    assert ((b["lower"] < truth) & (truth < b["upper"])).sum() >= 4

# %%
# uRR can protect the unemployed better than the divorced. What is guaranteed is directed: no report
# speaks *for* x, against any other category, by more than :math:`e^{\epsilon_x}`
# (``pair_epsilon``). Each standard error is between those at the larger and at the smaller epsilon
# for both.

both = ldp.URR(GROUPS, epsilon={"divorced": 2.0, "unemployed": 0.5})
pairs = pd.DataFrame(both.pair_epsilon(), GROUPS, GROUPS)
print(pairs.loc[PROTECTED].to_string())
errors = {}
for mechanism in (ldp.URR(GROUPS, PROTECTED, 2.0), both, ldp.URR(GROUPS, PROTECTED, 0.5)):
    reports = mechanism.privatize(respondents, np.random.default_rng(7))
    errors[str(mechanism)] = 100 * ldp.FrequencyModel(reports).fit("inversion").bse
print("standard errors in per cent", pd.DataFrame(errors).round(2).to_string(), sep="\n")
weak, mixed, strong = (errors[name].loc[PROTECTED].to_numpy() for name in errors)
assert both.audit().agrees and pairs.loc["unemployed", "divorced"] == 0.5
assert (weak < mixed).all() and (mixed < strong).all() and mixed[1] > 1.5 * mixed[0]

# %%
# uRR or uRAP?
# ------------
#
# Privacy adds to the expected squared l2 loss of the inversion estimate an amount that depends on
# epsilon, on the number S of sensitive categories and, hardly, on the share of respondents in them,
# but not on k. So the rule for RR and RAPPOR (article *k-RR or k-RAPPOR?*) holds with S in place of
# k: with up to five sensitive categories uRR is always the better one, and with more it is so for
# epsilon above :math:`\frac23 \ln S`, approximately.
#
# MK19 leaves open which theta, the probability that a respondent's own bit is set, is best for
# uRAP, and takes :math:`e^{\epsilon/2} / (1 + e^{\epsilon/2})`. ``planning.best_theta`` finds it.
# At small epsilon the paper's is as good. At large epsilon the best is smaller: it loses some own
# bits and gets rid of many more that others set. At :math:`\epsilon = 3` that takes 25 to 40 % off
# the worst-case squared l2 loss in three tables of the paper's kind.

urr_or_urap.figure()
rules = urr_or_urap.rules()
print(rules.round(2).to_string())
assert (rules["epsilon*"] - rules["2/3 ln S"]).abs().loc[200:].max() < 0.05
gains = urr_or_urap.gains()
print("worst-case squared l2 loss at the paper's theta over that at the best theta")
print(gains.xs("gain", axis=1, level=1).round(2).to_string())
assert gains[3.0]["gain"].between(1.3, 1.7).all()

# %%
# At :math:`\epsilon = \ln k` the worst-case l1 loss of uRR is :math:`1 + S/(k-1)` times that
# without privacy, and that of uRAP about :math:`1 + S/k^{3/4}` times. Both are near one where S is
# small: MK19 is right there. For the other two the paper's sections 4.3, D.2.3 and E.1.3 have
# slips: the l1 loss of RAPPOR is not :math:`\sqrt{k}` but :math:`k^{1/4}` times the non-private
# one, and that of RR not four times but twice (:math:`\sqrt k` and four hold for the squared l2
# loss). And Table 4 has a factor :math:`1 - 1/k` too many in the squared l2 loss of RAPPOR for
# small epsilon, which is :math:`4k / (n \epsilon^2)`.

ratios = urr_or_urap.worst_ratios()
print("worst-case loss over the non-private one at epsilon = ln k")
print(ratios.round(2).to_string())
np.testing.assert_allclose(ratios["uRR"], ratios["1+S/(k-1)"], rtol=1e-9)
assert (ratios["RR"] - 2.0).abs().max() < 0.01 and (ratios["RR, l2"] - 4.0).abs().max() < 0.02

# %%
# Figure 5: total variation against epsilon
# -----------------------------------------
#
# As in the paper, the distribution to be estimated is that of a whole table of people; half of them
# are drawn without replacement and report. Losses are the total variation (TV, half the l1
# distance) and the squared l2 distance. The tables are the General Social Survey (*gss*: 480 of 800
# categories are sensitive; *gss, divorced*: 80 of 400), the US *census* of 1990 (the paper's 76 of
# 400) and *location*, Uber pickups on a grid of Manhattan (16 of 625 cells have a hospital). The
# paper's EM is an iteration towards the maximum likelihood estimate; here that is computed itself.

results = study.load_results()
utility_figures.against_epsilon(results)
orders = study.orders(results)
print("total variation at epsilon = 0.1: how many times as large without utility optimisation")
print(orders.round(1).to_string())
assert orders.loc[("inversion", "location"), "RR / uRR"] > 170.0  # error: 5 % at most
assert orders.loc["mle"]["RAPPOR / uRAP"].between(3.0, 11.5).all()
assert orders.loc["mle"]["RR / uRR"].max() < 6.0
levels = study.levels(results)
print("total variation at epsilon = ln k over that without privacy")
print(levels.round(2).to_string())
assert levels.loc["location", "uRR, mle"] < 1.07 and levels.loc["gss", "uRR, mle"] > 2.0
assert levels.loc[["census", "gss, divorced"], "uRR, mle"].between(1.3, 1.6).all()

# %%
# What the paper says of this figure, one by one.
#
# **"By one or two orders of magnitude."** By inversion, at :math:`\epsilon = 0.1`, and where few
# categories are sensitive, yes. On *location* uRR has 1/195 of the TV of RR, and uRAP 1/31 of that
# of RAPPOR; on *census* it is 1/12 and 1/5, on *gss*, where most are sensitive, about one half. But
# a TV of 100 is no estimate. With the maximum likelihood estimate, whose TV cannot exceed one, uRAP
# has 1/3 to 1/11 of the TV of RAPPOR, and uRR at best 1/5 of that of RR. And the unaided mechanisms
# then have next to nothing to offer: guessing the uniform distribution, without any survey, is
# better, but for RAPPOR on *census*.
#
# **"uRAP is better at epsilon = 0.1, uRR at ln k."** The first is found in all
# four tables and for all estimators. The second holds for inversion, but the exact likelihood
# serves bits better than labels: it makes uRAP about as good as uRR at :math:`\ln k`, and better on
# *gss*. By likelihood uRAP is better up to :math:`\epsilon = 4` in all four tables.
#
# **"uRR is as good as no privacy at ln k."** On *location* it is, within 5 %. On *census*
# and *gss, divorced* its TV is 1.4 to 1.5 times as large as without privacy, on *gss* 2.3 times.
#
# **"emp+thr and EM significantly outperform emp", and "provide very close performance".** Where
# epsilon is small, yes. But thresholding gives the categories that are not significant equal shares
# of what is left, and most of them are empty. Under uRR and uRAP, where the reports of most
# categories have no noise, that is worse than to leave the inversion estimate alone for epsilon
# above 1 or 2 in the tables with many respondents. The maximum likelihood estimate is never worse
# than inversion.
#
# Figures 6 and 7: the number of sensitive categories, and of attributes
# ----------------------------------------------------------------------
#
# In figure 6 the sensitive categories are drawn at random, anew in every survey. At
# :math:`\epsilon = 0.1` uRAP is better, as in the paper, but for a single one. At :math:`\ln k` the
# paper finds uRR close to the level without privacy up to 100 sensitive categories, and uRAP up to
# 20. By inversion, the TV of uRR is 1.3 to 1.8 times as large as without privacy with 100, and that
# of uRAP 1.5 to 1.9 times with 30. By maximum likelihood both are within 21 % up to 30, and uRAP
# keeps up with uRR up to 100.
#
# In figure 7 further attributes multiply all categories, and the sensitive ones with them. As in
# the paper, with nine attributes and :math:`\epsilon = 0.1` all but uRAP fail: their TV is .82 and
# more where guessing has .96. That of uRAP is .16, of which .12 is the share of the people in
# sensitive categories: these it does not tell apart either. What it provides, and the others do
# not, is the distribution of the answers that are not sensitive.

utility_figures.against_sensitive(results)
utility_figures.against_attributes(results)
for name in ("gss", "census", "location"):
    none = study.alone(results, name, "no privacy")
    for kind in ("uRR", "uRAP"):
        assert (study.by_size(results, name, kind, "mle", "ln k") / none).loc[:30].max() < 1.25
nine = study.rows_of(results, table="census", figure=7, attributes=9, method="mle")
nine = nine.pivot_table(index="mechanism", columns="epsilon", values="tv")
print("census, nine attributes, maximum likelihood: total variation")
print(nine.round(3).to_string())
assert (nine.loc[["RR", "RAPPOR", "uRR"], 0.1] > 0.75).all() and 0.14 < nine.loc["uRAP", 0.1] < 0.18

# %%
# Appendix E.3 has the squared l2 loss: "a tendency similar to the results of the TV". Yes, uRAP is
# first at small epsilon and uRR, by inversion, at :math:`\ln k`. But on *census* and *gss,
# divorced* uRR has a smaller TV and a larger squared l2 loss than RAPPOR at :math:`\epsilon = 0.1`:
# by inversion its factor over RR is :math:`(k/S)^2`, and that of uRAP over RAPPOR :math:`k/S` (for
# the TV :math:`(k/S)^{3/2}` and :math:`k/S`).

for draw in (
    utility_figures.against_epsilon,
    utility_figures.against_sensitive,
    utility_figures.against_attributes,
):
    draw(results, "l2")

# %%
# The paper, and here
# -------------------
#
# - **Definition 2**: certified from Q; that someone is *not* sensitive is revealed.
# - **l1 and l2 losses of uRR and uRAP (section 4.3, appendix E)**: hold within Monte Carlo error.
# - **RAPPOR at ln k: sqrt(k) times the l1 loss**: k^(1/4) times; sqrt(k) is squared l2.
# - **RR at ln k: four times the l1 loss**: twice; four is squared l2.
# - **one or two orders of magnitude below RR and RAPPOR**: by inversion, if few are sensitive.
# - **... by EM**: uRAP 3 to 11 times, uRR up to 5; RR and RAPPOR hardly beat a guess.
# - **uRAP better at epsilon = 0.1**: yes, with more than a few sensitive categories.
# - **uRR at the non-private level at epsilon = ln k**: with 16 of 625; with 76 of 400 1.5 times it.
# - **emp+thr and EM far better than emp**: at small epsilon; then emp+thr is worse than emp.
# - **uRAP far from no privacy beyond 20 categories**: by inversion; by likelihood as near as uRR.
# - **nine attributes, epsilon = 0.1: only uRAP works**: yes, for what is not sensitive.
# - **which theta is best for uRAP?**: ``best_theta``: up to 4.6 times less worst-case l2 loss.
# - **uRR or uRAP? (inversion)**: uRR if S <= 5 or epsilon > (2/3) ln S, whatever k is.
