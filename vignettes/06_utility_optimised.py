# %% [markdown]
# # Protecting only what is sensitive
#
# Some answers need protection, others do not. Murakami and Kawamoto (2019; MK19 below) define
# utility-optimised local differential privacy (ULDP), which protects the categories that are
# declared sensitive and no others, and give two mechanisms: uRR, which noises like k-ary randomised
# response (RR, `KRR`), and uRAP, which noises like RAPPOR with a bit per category (RAPPOR,
# `KRAPPOR`). Here is what that guarantees and what it does not, a first fit, the choice between the
# two, and the experiments of the paper (section 6.2, figures 5 to 7 and appendix E.3) done again.
#
# `python 06_utility_optimised.py` recomputes a small part of the simulations and compares it with
# the stored ones; `--full` recomputes and stores all of them, `--full TABLE ...` those of some
# tables; `--figures DIR` saves the figures. The table of the General Social Survey comes with the
# package. The census and the locations are read from `../shared/data` beside the repository, where
# they are there; the results for them are stored here all the same.

# %%
import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from scipy import optimize

import ldpstats as ldp
from ldpstats import datasets, planning, privacy
from ldpstats.estimators import MLE, Inversion, Thresholded

parser = argparse.ArgumentParser()
parser.add_argument("--full", nargs="*", metavar="TABLE", help="recompute what is stored (an hour)")
parser.add_argument("--figures", type=Path, metavar="DIR", help="save the figures there")
options, _ = parser.parse_known_args()
here = Path(__file__).parent if "__file__" in globals() else Path()  # a notebook has no file
stored = here / "06_utility_optimised.csv"


def finish(figure, name):
    if options.figures:
        figure.savefig(options.figures / f"06_{name}.png", dpi=150)
    plt.close(figure)


# %% [markdown]
# ## What is protected, and what is not
#
# A report of a sensitive category may have come from anyone, with probabilities that differ by a
# factor of $e^\epsilon$ at most. A report of another category is true, and everybody knows that it
# is. Take the General Social Survey, with its 61,448 respondents in six groups, and protect the
# divorced and the unemployed with $\epsilon = 1$.

# %%
gss = datasets.load_gss()
status = gss["marital5"].astype(str).mask(gss["unemployed"] == "yes", "unemployed")
gss["status"] = status.mask(gss["marital5"] == "divorced", "divorced")
respondents = datasets.expand(gss[["status", "count"]])["status"]
GROUPS = ["married", "widowed", "separated", "never", "divorced", "unemployed"]
PROTECTED = ["divorced", "unemployed"]
urr = ldp.URR(GROUPS, PROTECTED, epsilon=1.0)
urap = ldp.URAP(GROUPS, PROTECTED, epsilon=1.0)
print(pd.DataFrame(urr.channel().matrix(), GROUPS, GROUPS).round(3).to_string())

# %% [markdown]
# `privacy.uldp` reads the guarantee off the channel matrix: which reports are protected, which are
# invertible (they reveal a category), and the smallest epsilon. It does not rely on what a
# mechanism claims, and can be asked about other sensitive categories: the separated are not
# protected here.

# %%
certificate = privacy.uldp(urr)
print(certificate)
print(privacy.uldp(urap))
print(privacy.uldp(urr, sensitive=[*PROTECTED, "separated"]))
print(urr.audit())
assert certificate.protected.tolist() == [4, 5]
for mechanism in (urr, urap):
    assert mechanism.audit().agrees
    assert abs(privacy.uldp(mechanism).epsilon - 1.0) < 1e-12
assert not privacy.uldp(urr, sensitive=[*PROTECTED, "separated"]).holds

# %% [markdown]
# What that means for the respondents:
#
# - Whoever is divorced or unemployed makes a protected report, always. It raises the odds of being
#   so by a factor of e at most (here: less).
# - Of the others 46 % reveal their answer, and with it that they are *neither divorced nor
#   unemployed*. That a respondent is not sensitive is not a secret under ULDP.
# - What is sensitive is fixed beforehand and is the same for all. Who minds being known as widowed
#   is not helped. (Sensitive categories that differ between respondents are the subject of
#   `07_personal.py`.)
# - The guarantee is about one report, and weak where epsilon is large: at $\epsilon = \ln k$, the
#   paper's low-privacy regime, the odds may rise by a factor of k.

# %%
truth = respondents.value_counts(normalize=True).reindex(GROUPS)
share, told = truth[PROTECTED].sum(), urr.channel().a
posterior = share / (share + (1.0 - share) * (1.0 - told))
raised = posterior / (1.0 - posterior) * (1.0 - share) / share
print(f"divorced or unemployed: {share:.3f} of all, {posterior:.3f} of protected reports")
print(f"the odds rise by a factor of {raised:.2f}; {told:.3f} of the others reveal their answer")
assert (round(share, 3), round(posterior, 3), round(told, 2)) == (0.162, 0.264, 0.46)
assert round(raised, 2) == 1.86 and raised < np.e

# %% [markdown]
# ## A first fit
#
# Estimation is the same as for any mechanism: exact maximum likelihood on the simplex, intervals
# and tests that hold at the boundary.

# %%
fits = {}
for kind in (urr, urap, ldp.KRR(GROUPS, 1.0), ldp.KRAPPOR(GROUPS, 1.0)):
    reports = kind.privatize(respondents, np.random.default_rng(6))
    fits[type(kind).__name__] = ldp.FrequencyModel(reports).fit()
print(fits["URR"].summary())

# %% [markdown]
# The paper estimates by EM. It goes to the same place; only slowly.

# %%
for kind in (urr, urap):
    reports = kind.privatize(respondents, np.random.default_rng(6))
    results, by_em = fits[type(kind).__name__], ldp.FrequencyModel(reports).fit("em")
    distance = ((by_em.params - results.params).abs() / results.bse).max()
    print(f"{kind}: {by_em.n_iter} EM steps, {distance:.4f} standard errors from the maximum")
    assert distance < 0.01

# %% [markdown]
# Half-widths of the 95 % intervals, in per cent. Categories that are not sensitive gain most: those
# who reveal their answer are counted without noise. The sensitive ones gain less, but do gain:
# under uRR there are two categories to hide among instead of six. Under uRAP their intervals are no
# shorter than under RAPPOR.

# %%
widths = pd.DataFrame(
    {name: (r.conf_int()["upper"] - r.conf_int()["lower"]) / 0.02 for name, r in fits.items()}
)
inside = {
    name: int(((r.conf_int()["lower"] < truth) & (truth < r.conf_int()["upper"])).sum())
    for name, r in fits.items()
}
print(widths.round(2).to_string())
print("intervals that contain the truth, of six:", inside)
others = GROUPS[:4]
assert (widths.loc[others, "KRR"] > 2.0 * widths.loc[others, "URR"]).all()
assert (widths.loc[others, "KRAPPOR"] > 1.9 * widths.loc[others, "URAP"]).all()
assert widths.loc[PROTECTED, "KRR"].gt(1.5 * widths.loc[PROTECTED, "URR"]).all()
assert min(inside.values()) >= 4  # fewer has chance .002 for each mechanism at most

# %% [markdown]
# ### Each category its own epsilon
#
# uRR can protect the unemployed better than the divorced. What is guaranteed is directed: no report
# speaks *for* x, against any other category, by more than $e^{\epsilon_x}$ (`pair_epsilon`). Each
# standard error is between those at the larger and at the smaller epsilon for both.

# %%
both = ldp.URR(GROUPS, epsilon={"divorced": 2.0, "unemployed": 0.5})
pairs = pd.DataFrame(both.pair_epsilon(), GROUPS, GROUPS)
print(pairs.loc[PROTECTED].to_string())
print(both.audit())
columns = {}
for mechanism in (ldp.URR(GROUPS, PROTECTED, 2.0), both, ldp.URR(GROUPS, PROTECTED, 0.5)):
    reports = mechanism.privatize(respondents, np.random.default_rng(7))
    fitted = ldp.FrequencyModel(reports).fit("inversion")
    columns[str(mechanism)] = 100 * fitted.bse
errors = pd.DataFrame(columns)
print("standard errors in per cent")
print(errors.round(2).to_string())
assert both.audit().agrees and pairs.loc["unemployed", "divorced"] == 0.5
strong, mixed, weak = errors.loc[PROTECTED].to_numpy().T
assert strong[0] < mixed[0] < weak[0] and strong[1] < mixed[1] < weak[1]
assert mixed[1] > 1.5 * mixed[0]

# %% [markdown]
# ## uRR or uRAP?
#
# Privacy adds to the expected squared l2 loss of the inversion estimate an amount that depends on
# epsilon, on the number S of sensitive categories and, hardly, on the share of respondents in them,
# but not on k. So the rule of `02_krr_or_rappor.py` for RR and RAPPOR holds with S in place of k:
# with up to five sensitive categories uRR is always the better one, and with more it is so for
# epsilon above $\frac23 \ln S$, approximately.
#
# MK19 leaves open which theta, the probability that a respondent's own bit is set, is best for
# uRAP, and takes $e^{\epsilon/2} / (1 + e^{\epsilon/2})$. `planning.best_theta` finds it. At small
# epsilon the paper's is as good. At large epsilon the best is smaller: it loses some own bits and
# gets rid of many more that others set. At $\epsilon = 3$ that takes 25 to 40 % off the worst-case
# squared l2 loss in the three tables below.


# %%
def shape(k, size, share):
    """Spread evenly: a share over the sensitive categories, which come first, and the rest."""
    return np.r_[np.full(size, share / size), np.full(k - size, (1.0 - share) / (k - size))]


def urap_less_urr(epsilon, k, size, share, best=False):
    """Difference of the expected squared l2 losses of one respondent."""
    p, first = shape(k, size, share), np.arange(size)
    theta = float(planning.best_theta(k, size, epsilon, p=p)) if best else None
    urr_loss = planning.urr_l2(p, first, epsilon, 1)
    return float(planning.urap_l2(p, first, epsilon, 1, theta=theta) - urr_loss)


def crossing(size, k=2_000, share=0.15, best=False):
    """The epsilon above which uRR has the smaller loss."""
    return optimize.brentq(urap_less_urr, 0.05, 15.0, args=(k, size, share, best), xtol=1e-6)


rules = pd.DataFrame({"S": [6, 10, 30, 76, 200, 480, 1000]}).set_index("S")
rules["epsilon*"] = [crossing(size) for size in rules.index]
rules["at another k"] = [crossing(size, k=4_000) for size in rules.index]
rules["at a share of .5"] = [crossing(size, share=0.5) for size in rules.index]
rules["2/3 ln S"] = 2 / 3 * np.log(rules.index)
rules["with the best theta"] = [crossing(size, best=True) for size in rules.index]
print(rules.round(2).to_string())
assert (rules["epsilon*"] - rules["at another k"]).abs().max() < 1e-3
assert (rules["epsilon*"] - rules["at a share of .5"]).abs().max() < 0.01
assert (rules["epsilon*"] - rules["2/3 ln S"]).abs().loc[200:].max() < 0.05
for size in (1, 2, 3, 4, 5):
    assert all(urap_less_urr(e, 50, size, 0.15) > 0.0 for e in np.geomspace(0.001, 20.0, 50))

gains = {}
for name, k, size in (("location", 625, 16), ("census", 400, 76), ("gss", 800, 480)):
    for epsilon in (0.1, 1.0, 3.0, np.log(k)):
        column = "ln k" if epsilon == np.log(k) else epsilon
        best = planning.best_theta(k, size, epsilon)
        gains.setdefault(name, {})[column] = f"{best.gain:.2f} ({best.theta:.2f})"
print("worst-case squared l2 loss at the paper's theta over that at the best theta (in brackets)")
print(pd.DataFrame(gains).T.to_string())
for k, size, low, high in ((625, 16, 1.3, 1.35), (400, 76, 1.5, 1.6), (800, 480, 1.6, 1.7)):
    assert planning.best_theta(k, size, 0.1).gain < 1.001
    assert low < planning.best_theta(k, size, 3.0).gain < high
assert 4.6 < planning.best_theta(800, 480, np.log(800)).gain < 4.7

# %%
k, size = 400, 76
p, first = shape(k, size, 0.15), np.arange(size)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
many = np.unique(np.geomspace(6, 1000, 40).round().astype(int))
left.semilogx(many, [crossing(size) for size in many], "C2-", label="uRAP with the paper's theta")
left.semilogx(
    many, [crossing(size, best=True) for size in many], "C2--", label="uRAP with the best theta"
)
left.semilogx(many, 2 / 3 * np.log(many), "k:", label=r"$\frac{2}{3}\,\ln S$")
left.text(12, 3.4, "uRR better", fontsize="small")
left.text(300, 1.2, "uRAP better", fontsize="small", ha="center")
left.set_xlabel("sensitive categories S")
left.set_ylabel(r"$\epsilon$ above which uRR is better")
left.set_title("squared l2 loss of the inversion estimate", fontsize="medium")
left.legend(frameon=False, fontsize="small", loc="upper left")
grid = np.geomspace(0.1, 10.0, 60)
thetas = [float(planning.best_theta(k, size, epsilon, p=p)) for epsilon in grid]
curves = {
    "uRR": (planning.urr_l2(p, first, grid, 1), "C0-"),
    "uRAP": (planning.urap_l2(p, first, grid, 1), "C2-"),
    "uRAP with the best theta": (
        [
            float(planning.urap_l2(p, first, epsilon, 1, theta=theta))
            for epsilon, theta in zip(grid, thetas, strict=True)
        ],
        "C2--",
    ),
    "RR": (planning.krr_l2(p, grid, 1), "C3-"),
    "RAPPOR": (planning.krappor_l2(p, grid, 1), "C1-"),
    "no privacy": (np.full(grid.size, 1.0 - p @ p), "k-"),
}
for label, (loss, style) in curves.items():
    right.loglog(grid, loss, style, label=label)
right.axvline(crossing(size, k=k), ymax=0.6, color="0.5", lw=0.8)
right.set_xlabel(r"$\epsilon$")
right.set_ylabel("expected squared l2 loss x respondents")
right.set_title("76 of 400 categories are sensitive", fontsize="medium")
right.legend(frameon=False, fontsize="small", loc="upper right")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
finish(fig, "choice")

# %% [markdown]
# At $\epsilon = \ln k$ the worst-case l1 loss of uRR is $1 + S/(k-1)$ times that without privacy,
# and that of uRAP about $1 + S/k^{3/4}$ times. Both are near one where S is small: MK19 is right
# there. For the other two the paper's sections 4.3, D.2.3 and E.1.3 have slips: the l1 loss of
# RAPPOR is not $\sqrt{k}$ but $k^{1/4}$ times the non-private one, and that of RR not four times
# but twice ($\sqrt k$ and four hold for the squared l2 loss). And Table 4 has a factor $1 - 1/k$
# too many in the squared l2 loss of RAPPOR for small epsilon, which is $4k / (n \epsilon^2)$.

# %%
rows = {}
for name, k, size in (("location", 625, 16), ("census", 400, 76), ("gss", 800, 480)):
    epsilon = np.log(k)
    l1, l2 = planning.nonprivate_worst_l1(k, 1), planning.nonprivate_worst_l2(k, 1)
    rows[name] = {
        "uRR": planning.urr_worst_l1(k, size, epsilon, 1) / l1,
        "1+S/(k-1)": 1.0 + size / (k - 1),
        "uRAP": planning.urap_worst_l1(k, size, epsilon, 1) / l1,
        "1+S/k^.75": 1.0 + size / k**0.75,
        "RR": planning.krr_worst_l1(k, epsilon, 1) / l1,
        "RAPPOR": planning.krappor_worst_l1(k, epsilon, 1) / l1,
        "k^.25": k**0.25,
        "RR, l2": planning.krr_worst_l2(k, epsilon, 1) / l2,
        "RAPPOR, l2": planning.krappor_worst_l2(k, epsilon, 1) / l2,
        "k^.5": k**0.5,
    }
ratios = pd.DataFrame(rows, dtype=float).T
print("worst-case loss over the non-private one at epsilon = ln k")
print(ratios.round(2).to_string())
np.testing.assert_allclose(ratios["uRR"], ratios["1+S/(k-1)"], rtol=1e-9)
assert (ratios["RR"] - 2.0).abs().max() < 0.01 and (ratios["RR, l2"] - 4.0).abs().max() < 0.02
assert (ratios["RAPPOR"] / ratios["k^.25"] - 1.0).abs().max() < 0.1
assert (ratios["RAPPOR, l2"] / ratios["k^.5"] - 1.0).abs().max() < 0.2
near_zero = planning.krappor_l2(np.full(10, 0.1), 1e-4, 1) * 1e-8
print(f"RAPPOR, k = 10, epsilon near 0: {near_zero:.3f} / (n epsilon^2)")
assert abs(near_zero - 40.0) < 0.1  # Table 4: 36
# %% [markdown]
# ## The simulations
#
# As in the paper, the distribution to be estimated is that of a whole table of people; half of them
# are drawn without replacement and report through a mechanism. Losses are the total variation (TV,
# half the l1 distance; of inversion estimates too, which may be negative and sum to something else
# than one) and the squared l2 distance.
#
# - *gss*: the General Social Survey, 8 ages x 5 incomes x 5 marital states x 2 sexes x unemployed
#   or not. Divorced or unemployed is sensitive, which is 480 of the 800 categories: not few.
# - *gss, divorced*: without unemployment, 80 of 400.
# - *census*: the US Census of 1990 with the paper's 400 categories, of which 76 are sensitive
#   (divorced, or no wage income at 30 to 49). The table is an estimate: a public sample of 50,000,
#   adjusted to margins of all 2,458,285 people.
# - *location*: Uber pickups in Manhattan on a grid of 25 x 25, 16 of them with a hospital, in place
#   of the paper's check-ins, which are not public.

# %%
SHARED = here.resolve().parents[1] / "shared" / "data"
FILES = {
    "census": "census1990/census1990_4attr.csv",
    "location": "location/nyc_uber_grid25.csv",
}
EVERY = "census1990/census1990_9attr_nonzero.csv"  # the census with five more attributes
TABLES = ["gss", "gss, divorced", "census", "location"]
PRESENT = [name for name in TABLES if name not in FILES or (SHARED / FILES[name]).exists()]
MOST = {"gss": 5, "gss, divorced": 4, "census": 4, "location": 1}  # attributes of figures 5 and 6


def load(name, attributes):
    """Number of people in each category, and which categories are sensitive."""
    if name.startswith("gss"):
        table = datasets.load_gss()
        chosen = ["marital5", "unemployed", "sex", "income5", "age8"][:attributes]
        if name == "gss, divorced":
            chosen = ["marital5", "sex", "income5", "age8"]
        cells = table.groupby(chosen, observed=False)["count"].sum()
        index = cells.index.to_frame(index=False)
        sensitive = index["marital5"] == "divorced"
        if "unemployed" in chosen:
            sensitive |= index["unemployed"] == "yes"
        return cells.to_numpy(), sensitive.to_numpy()
    table = pd.read_csv(SHARED / FILES[name])
    sensitive = table["sensitive"].to_numpy(bool)
    if name == "location":
        return table["pickups"].to_numpy(), sensitive
    if attributes == 4:
        return table["count_full_raked"].to_numpy(), sensitive
    further = pd.read_csv(SHARED / EVERY)  # five binary attributes: 32 cells to each of the 400
    times = 2 ** (attributes - 4)
    people = np.zeros(400 * times, dtype=np.int64)
    np.add.at(people, further["cell9"] // (32 // times), further["count_full_raked"])
    return people, np.repeat(sensitive, times)


KINDS = {"RR": ldp.KRR, "RAPPOR": ldp.KRAPPOR, "uRR": ldp.URR, "uRAP": ldp.URAP}


def build(kind, sensitive, epsilon):
    """The mechanism, for categories 0, 1, ... and a mask of those that are sensitive."""
    k = sensitive.size
    if kind in ("RR", "RAPPOR"):
        return KINDS[kind](k, epsilon)
    return KINDS[kind](k, np.flatnonzero(sensitive).tolist(), epsilon)


# %% [markdown]
# All four mechanisms report category x of a respondent who is in it with one probability, q, and of
# one who is not with another, r; which ones depends on whether x is sensitive. So the expected
# losses of the inversion estimate are sums over categories (Propositions 4, 7, 15 and 18 of MK19;
# `planning.urr_l1` and its kin). Drawing without replacement takes off a part of the variance.


# %%
def rates(kind, sensitive, epsilon):
    """Probability that a category is reported by those who are in it and by others."""
    mechanism = build(kind, sensitive, epsilon)
    if kind == "uRAP":
        told = np.where(sensitive, mechanism.p1, mechanism.told)
        return told, np.where(sensitive, mechanism.d1, 0.0)
    if kind == "RAPPOR":
        return mechanism.p1, mechanism.p0
    a, b = mechanism.channel().a, mechanism.channel().b
    return a + b, b


def expected(kind, p, sensitive, epsilon, n, people=np.inf):
    """Expected TV (asymptotically) and squared l2 loss of n out of so many people."""
    q, r = (1.0, 0.0) if kind == "no privacy" else rates(kind, sensitive, epsilon)
    m = r + (q - r) * p
    saved = p * (1.0 - p) / n * (0.0 if np.isinf(people) else (n - 1.0) / (people - 1.0))
    variances = np.maximum(m * (1.0 - m) / (n * (q - r) ** 2) - saved, 0.0)
    return np.sqrt(variances / (2.0 * np.pi)).sum(), variances.sum()


people, sensitive = load("gss", 5)
p, n = people / people.sum(), 30_000
for epsilon in (0.1, 1.0, np.log(800)):
    by_formula = {
        "RR": (planning.krr_l1(p, epsilon, n), planning.krr_l2(p, epsilon, n)),
        "RAPPOR": (planning.krappor_l1(p, epsilon, n), planning.krappor_l2(p, epsilon, n)),
        "uRR": (
            planning.urr_l1(p, sensitive, epsilon, n),
            planning.urr_l2(p, sensitive, epsilon, n),
        ),
        "uRAP": (
            planning.urap_l1(p, sensitive, epsilon, n),
            planning.urap_l2(p, sensitive, epsilon, n),
        ),
    }
    for kind, (l1, l2) in by_formula.items():
        np.testing.assert_allclose(
            expected(kind, p, sensitive, epsilon, n), (l1 / 2.0, l2), rtol=1e-9
        )

# %% [markdown]
# Counts and sums of bits are all that inversion and its thresholded form (the paper's emp+thr,
# level .05) need, so they are drawn without drawing reports. The paper's EM is an iteration towards
# the maximum likelihood estimate; here that is computed itself, to a certified distance of .001
# nats at most. For RR and uRR it has a closed form; for RAPPOR and uRAP it needs every report. Each
# setting has 20 surveys by sums, and with bits 10 more by reports (3 where k is above 6,000).

# %%
METHODS = {"inversion": Inversion(), "thresholded": Thresholded(), "mle": MLE()}


def losses(p, estimate):
    """TV and squared l2 distance."""
    return 0.5 * np.abs(estimate - p).sum(), ((estimate - p) ** 2).sum()


def survey(kind, people, sensitive, epsilon, n, bits, rng):
    """Losses of each method in one survey; `bits` asks for the likelihood of bit reports."""
    p, mechanism = people / people.sum(), build(kind, sensitive, epsilon)
    true = rng.multivariate_hypergeometric(people, n, method="marginals")
    if bits:
        counts = mechanism.privatize(np.repeat(np.arange(true.size), true), rng).tally()
    else:
        counts = mechanism.simulate_counts(true, rng)
    found = {}
    for method, estimator in METHODS.items():
        if method != "mle":
            solution = estimator.solve(mechanism.moments(counts))
        elif isinstance(counts, ldp.BitCounts):
            continue
        else:
            solution = estimator.solve(mechanism.likelihood(counts))
            assert solution.converged
        found[method] = losses(p, solution.p)
    return found


EPSILONS = [0.1, 0.2, 0.5, 1.0, 2.0, 4.0, "ln k", 8.0, 10.0]
SENSITIVE = [1, 3, 10, 30, 100, 200, 400, 625]  # up to k, and k
ASKED = {"gss": 30_724, "gss, divorced": 30_724, "census": 1_229_143, "location": 238_648}


def settings(name):
    """Figure, attributes, respondents, number of sensitive categories (0: given), epsilons."""
    own, n = MOST[name], ASKED[name]
    yield 5, own, n, 0, EPSILONS
    if name != "gss, divorced":
        k = load(name, own)[0].size
        for size in sorted({s for s in SENSITIVE if s < k} | {k}):
            yield 6, own, n, size, [0.1, "ln k"]
    if name == "gss":
        for attributes in (2, 3, 4, 5):
            yield 7, attributes, n, 0, [0.1, 1.0, 6.0]
    if name == "census":
        for attributes in (4, 5, 6, 7, 8, 9):
            yield 7, attributes, 240_000, 0, [0.1, 1.0, 6.0]


def surveys(kind, k):
    """How many: from sums, and from reports where the likelihood needs them."""
    return 20, 0 if kind in ("RR", "uRR") else 10 if k < 6_000 else 3


def simulate_setting(name, figure, attributes, n, size, epsilon, kind, numbers, seed):
    """Mean losses of each method, their standard errors, and what theory expects."""
    people, given = load(name, attributes)
    k, p = people.size, people / people.sum()
    value = np.log(k) if epsilon == "ln k" else epsilon
    found, theory = {}, []
    for i in range(sum(numbers)):
        bits = i >= numbers[0]
        # streams do not depend on how many surveys there are of the other form
        key = [seed, TABLES.index(name), figure, attributes, size, round(1e4 * value)]
        rng = np.random.default_rng([*key, list(KINDS).index(kind), bits, i - bits * numbers[0]])
        sensitive = given if not size else rng.permutation(np.arange(k) < size)
        theory.append(expected(kind, p, sensitive, value, n, people.sum()))
        for method, loss in survey(kind, people, sensitive, value, n, bits, rng).items():
            found.setdefault(method, []).append(loss)
    rows = []
    for method, each in found.items():
        each = np.array(each)
        row = {"table": name, "figure": figure, "attributes": attributes, "k": k, "n": n}
        row |= {"sensitive": size or int(given.sum()), "epsilon": value}
        row |= {"mechanism": kind, "method": method, "surveys": len(each)}
        row["tv"], row["l2"] = each.mean(axis=0)
        row["tv_se"], row["l2_se"] = each.std(axis=0, ddof=1) / np.sqrt(len(each))
        if method == "inversion":
            row["tv_expected"], row["l2_expected"] = np.mean(theory, axis=0)
        rows.append(row)
    return pd.DataFrame(rows)


def simulate(name, seed=2019):
    """All that is stored of one table."""
    frames = []
    for figure, attributes, n, size, epsilons in settings(name):
        people, given = load(name, attributes)
        p = people / people.sum()
        for epsilon in epsilons:
            for kind in ("uRR", "uRAP") if size else KINDS:
                numbers = surveys(kind, p.size)
                frames.append(
                    simulate_setting(
                        name, figure, attributes, n, size, epsilon, kind, numbers, seed
                    )
                )
        if not size:
            row = {"table": name, "figure": figure, "attributes": attributes, "k": p.size, "n": n}
            row |= {"sensitive": int(given.sum()), "method": "inversion"}
            none = expected("no privacy", p, given, 1.0, n, people.sum())
            guess = losses(p, np.full(p.size, 1.0 / p.size))
            for kind, loss in (("no privacy", none), ("guess", guess)):
                loss = dict(zip(("tv", "l2"), loss, strict=True))
                frames.append(pd.DataFrame([row | {"mechanism": kind} | loss]))
        print(name, figure, attributes, size, "done", flush=True)
    return pd.concat(frames)


def store():
    """The stored results, of which those of the tables that --full names are computed again."""
    if options.full is not None:
        absent = [name for name in options.full if name not in PRESENT]
        if absent:
            parser.error(f"no table {absent[0]!r}, or its file is not there: choose from {PRESENT}")
        wanted = [name for name in PRESENT if name in options.full or not options.full]
        tables = [simulate(name) for name in wanted]
        if len(wanted) < len(TABLES):
            before = pd.read_csv(stored, comment="#")
            tables.append(before[~before["table"].isin(wanted)])
        table = pd.concat(tables).sort_values(
            "table", key=lambda names: names.map(TABLES.index), kind="stable"
        )
        text = table.to_csv(index=False, float_format="%.5g", lineterminator="\n")
        header = "# Made by: python vignettes/06_utility_optimised.py --full\n"
        stored.write_text(header + text, encoding="utf-8", newline="\n")
    table = pd.read_csv(stored, comment="#")
    assert table["table"].unique().tolist() == TABLES
    return table


results = store()

# %% [markdown]
# Surveys with other random numbers agree with what is stored, and not with what is stored of other
# settings. Losses of a few surveys are compared with a mean of 10 to 30: the distance is in
# standard errors of that mean and of the few, of which the spread is the stored one.

# %%
AGAIN = [  # table, figure, attributes, sensitive, epsilon, mechanism; surveys from sums and reports
    ("gss", 5, 5, 0, 0.1, "uRAP", (6, 2)),
    ("gss", 5, 5, 0, "ln k", "RAPPOR", (6, 2)),
    ("gss", 5, 5, 0, 1.0, "RR", (8, 0)),
    ("gss, divorced", 5, 4, 0, 1.0, "uRAP", (6, 2)),
    ("gss, divorced", 5, 4, 0, "ln k", "uRR", (8, 0)),
    ("gss", 6, 5, 100, 0.1, "uRR", (8, 0)),
    ("gss", 7, 4, 0, 1.0, "uRAP", (6, 2)),
    ("census", 5, 4, 0, 0.1, "uRR", (8, 0)),
    ("census", 5, 4, 0, 1.0, "uRAP", (6, 2)),
    ("census", 7, 6, 0, 6.0, "uRAP", (4, 2)),
    ("location", 5, 1, 0, 0.1, "uRAP", (6, 2)),
    ("location", 6, 1, 100, "ln k", "uRR", (8, 0)),
]
OTHER = {"RR": "RAPPOR", "RAPPOR": "RR", "uRR": "uRAP", "uRAP": "uRR"}


def stored_rows(new):
    """The stored results of the setting of each new row."""
    keys = ["table", "figure", "attributes", "sensitive", "mechanism", "method"]
    found = results.merge(new[keys], on=keys)
    return found[np.isclose(found["epsilon"], new["epsilon"].iloc[0], rtol=1e-4)]


scores, control = [], []
for name, figure, attributes, size, epsilon, kind, numbers in AGAIN:
    if name not in PRESENT:
        continue
    n = ASKED[name] if figure < 7 or name == "gss" else 240_000
    new = simulate_setting(name, figure, attributes, n, size, epsilon, kind, numbers, seed=6)
    old = stored_rows(new).set_index("method").loc[new["method"]]
    new = new.set_index("method")
    spread = old["tv_se"] * np.sqrt(1.0 + old["surveys"] / new["surveys"])
    z = (new["tv"] - old["tv"]) / spread
    scores.append(z.rename(f"{name}, figure {figure}, {kind}, epsilon {epsilon}"))
    wrong = stored_rows(new.reset_index().assign(mechanism=OTHER[kind])).set_index("method")
    control.append(abs(new["tv"] - wrong["tv"])["inversion"] / wrong.loc["inversion", "tv_se"])
scores = pd.DataFrame(scores)
print("distance from the stored mean in standard errors")
print(scores.round(1).to_string())
print(f"the same of another mechanism: at least {min(control):.0f}")
assert scores.abs().max(axis=None) < 5.0 and 0.5 < np.sqrt((scores**2).mean(axis=None)) < 1.5
assert min(control) > 10.0

# %% [markdown]
# Inversion is what theory says: the squared l2 loss within Monte Carlo error; TV too, but for
# categories of which less than a handful of reports are expected, where the normal approximation is
# too large.

# %%
theory = results[(results["method"] == "inversion") & (results["surveys"] > 0)].copy()
theory["z"] = (theory["l2"] - theory["l2_expected"]) / theory["l2_se"]
theory["ratio"] = theory["tv"] / theory["tv_expected"]
rms, low, high = np.sqrt((theory["z"] ** 2).mean()), theory["ratio"].min(), theory["ratio"].max()
print(
    f"{len(theory)} settings; squared l2: z with root mean square {rms:.2f}, at most "
    f"{theory['z'].abs().max():.1f}; TV: {low:.2f} to {high:.2f} of what is expected"
)
# the chance of a t value (19 degrees of freedom) beyond 5 in 360 is .03
assert theory["z"].abs().max() < 5.0 and 0.85 < rms < 1.2
assert 0.85 < low and high < 1.1

# %% [markdown]
# ## Figure 5: total variation against epsilon

# %%
given = np.isclose(results["epsilon"], np.log(results["k"]), rtol=1e-4)
results["at"] = results["epsilon"].map("{:g}".format).mask(given, "ln k")
indexed = results.set_index(["table", "figure", "mechanism", "method", "at"]).sort_index()


def of(name, kind, method="mle", at=None, loss="tv", figure=5):
    """A stored mean loss, or that of all epsilons."""
    if at is None:
        return indexed.loc[(name, figure, kind, method)].set_index("epsilon")[loss].sort_index()
    return float(indexed.loc[(name, figure, kind, method, at), loss].squeeze())


def alone(name, kind, loss="tv", figure=5):
    """The loss without privacy, or of guessing the uniform distribution."""
    rows = results[(results["table"] == name) & (results["figure"] == figure)]
    return float(rows[rows["mechanism"] == kind][loss].iloc[0])


ATS = ["0.1", "0.2", "0.5", "1", "2", "4", "ln k", "8", "10"]
for name in TABLES:
    frame = results[(results["table"] == name) & (results["figure"] == 5)]
    table = frame.pivot_table(index=["method", "mechanism"], columns="at", values="tv")
    order = [(method, kind) for method in METHODS for kind in KINDS]
    print(f"\n{name}: no privacy {alone(name, 'no privacy'):.4f}, guess {alone(name, 'guess'):.4f}")
    print(table.reindex(index=order, columns=ATS).map("{:.4g}".format).to_string())

# %%
STYLES = {
    "RR": {"color": "C3", "marker": "o", "mfc": "white"},
    "RAPPOR": {"color": "C1", "marker": "s", "mfc": "white"},
    "uRR": {"color": "C0", "marker": "o"},
    "uRAP": {"color": "C2", "marker": "s"},
}
WORDS = {"inversion": "inversion", "thresholded": "thresholded", "mle": "maximum likelihood"}
LOSSES = {"tv": "total variation", "l2": "squared l2 loss"}


def sizes(name, figure=5):
    row = results[(results["table"] == name) & (results["figure"] == figure)].iloc[0]
    return f"{name}: {row['sensitive']:.0f} of {row['k']:.0f} sensitive, n = {row['n']:,.0f}"


def epsilon_axis(ax):
    ax.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_locator(NullLocator())


def legend(figure, ax, ncols):
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, frameon=False)


def against_epsilon(loss):
    fig, axes = plt.subplots(4, 3, figsize=(10.5, 12.5), sharex=True, layout="constrained")
    for row, name in zip(axes, TABLES, strict=True):
        for ax, (method, title) in zip(row, WORDS.items(), strict=True):
            for kind, style in STYLES.items():
                means = of(name, kind, method, loss=loss)
                line = "" if method == "inversion" else "-"
                ax.loglog(means.index, means, ls=line, ms=4, lw=1.2, label=kind, **style)
                if method == "inversion":
                    expected_loss = of(name, kind, method, loss=f"{loss}_expected")
                    label = "theory" if kind == "uRAP" else None
                    ax.loglog(expected_loss.index, expected_loss, "k-", lw=0.6, label=label)
            ax.axhline(alone(name, "no privacy", loss), color="k", lw=1.2, label="no privacy")
            ax.axhline(alone(name, "guess", loss), color="0.5", ls=":", label="uniform guess")
            ax.axvline(
                np.log(results.loc[results["table"] == name, "k"].iloc[0]), color="0.7", lw=0.8
            )
            ax.set_title(f"{title}" if name == TABLES[0] else "", fontsize="medium")
            epsilon_axis(ax)
            ax.spines[["top", "right"]].set_visible(False)
        bounds = np.array([ax.get_ylim() for ax in row[1:]])
        for ax in row[1:]:
            ax.set_ylim(bounds[:, 0].min(), bounds[:, 1].max())
        row[0].set_ylabel(f"{sizes(name)}\n{LOSSES[loss]}", fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel(r"$\epsilon$ (grey line: $\ln k$)")
    legend(fig, axes[0, 0], 7)
    return fig


finish(against_epsilon("tv"), "figure5")

# %% [markdown]
# What the paper says of this figure, one by one.
#
# **"By one or two orders of magnitude."** By inversion, at $\epsilon = 0.1$, and where few
# categories are sensitive, yes. On *location* uRR has 1/195 of the TV of RR, and uRAP 1/31 of that
# of RAPPOR. On *census*, where a fifth of the categories is sensitive, it is 1/12 and 1/5, and on
# *gss*, where most are, about one half. But a TV of 100 is no estimate. With the maximum likelihood
# estimate, whose TV cannot exceed one, uRAP has 1/3 to 1/11 of the TV of RAPPOR, and uRR at best
# 1/5 of that of RR. And the unaided mechanisms then have next to nothing to offer: guessing the
# uniform distribution, without any survey, is better, but for RAPPOR on *census*.

# %%
rows = {}
for method in ("inversion", "mle"):
    for name in TABLES:
        rr, rappor, urr_tv, urap_tv = (of(name, kind, method, "0.1") for kind in KINDS)
        best = min(urr_tv, urap_tv)
        rows[method, name] = {
            "RR / uRR": rr / urr_tv,
            "RAPPOR / uRAP": rappor / urap_tv,
            "best / best": min(rr, rappor) / best,
            "guess / best": alone(name, "guess") / best,
        }
orders = pd.DataFrame(rows).T
print("total variation at epsilon = 0.1: how many times as large without utility optimisation")
print(orders.round(1).to_string())
by_inversion, by_mle = orders.loc["inversion"], orders.loc["mle"]
assert by_inversion.loc["location", "RR / uRR"] > 170.0  # 195; errors of the ratio are 5 % at most
assert 28.0 < by_inversion.loc["location", "RAPPOR / uRAP"] < 34.0
assert 10.5 < by_inversion.loc["census", "RR / uRR"] < 13.5
assert 4.8 < by_inversion.loc["census", "RAPPOR / uRAP"] < 5.8
assert 1.9 < by_inversion.loc["gss", "RR / uRR"] < 2.5
assert 1.5 < by_inversion.loc["gss", "RAPPOR / uRAP"] < 1.8
assert by_mle["RAPPOR / uRAP"].between(3.0, 11.5).all() and by_mle["RR / uRR"].max() < 6.0
for name in TABLES:
    unaided = min(of(name, kind, "mle", "0.1") for kind in ("RR", "RAPPOR"))
    low, high = (0.8, 0.95) if name == "census" else (1.3, 2.0)
    assert low < unaided / alone(name, "guess") < high

# %% [markdown]
# **"uRAP is better at $\epsilon = 0.1$, uRR at $\ln k$."** The first is found in all four tables
# and for all estimators. The second holds for inversion, but the exact likelihood serves bits
# better than labels: it makes uRAP about as good as uRR at $\ln k$, and better on *gss*. What
# theory says of the inversion estimate (uRR above $\frac23 \ln S$) does not say much of the maximum
# likelihood estimate, for which uRAP is better up to $\epsilon = 4$ in all four tables.
#
# **"uRR is as good as no privacy at $\ln k$."** On *location* it is, within 5 %. On *census* and
# *gss, divorced* its TV is 1.4 to 1.5 times as large as without privacy, on *gss* 2.3 times. (In
# theory, at worst: $1 + S/(k-1)$ times, which is 1.2 and 1.6. But to draw half of the people
# without replacement halves the variance of sampling, and not that of privacy.)

# %%
rows = {}
for name in TABLES:
    none = alone(name, "no privacy")
    rows[name] = {
        f"{kind}, {method}": of(name, kind, method, "ln k") / none
        for method in ("inversion", "mle")
        for kind in KINDS
    }
level = pd.DataFrame(rows).T
print("total variation at epsilon = ln k over that without privacy")
print(level.round(2).to_string())
for name in TABLES:
    for method in METHODS:
        assert of(name, "uRAP", method, "0.1") < 0.7 * of(name, "uRR", method, "0.1")
        assert of(name, "uRAP", method, "0.1") < 0.7 * of(name, "RAPPOR", method, "0.1")
    for at in ("0.1", "0.2", "0.5", "1", "2", "4"):
        assert of(name, "uRAP", at=at) < of(name, "uRR", at=at)
    assert of(name, "uRR", "inversion", "ln k") < 0.9 * of(name, "uRAP", "inversion", "ln k")
assert level.loc["location", "uRR, mle"] < 1.07
assert level.loc[["census", "gss, divorced"], "uRR, mle"].between(1.3, 1.6).all()
assert level.loc["gss", "uRR, mle"] > 2.0
assert level.loc["gss", "uRAP, mle"] < 0.97 * level.loc["gss", "uRR, mle"]
assert (level["uRAP, mle"] / level["uRR, mle"]).between(0.9, 1.1).all()

# %% [markdown]
# **"emp+thr and EM significantly outperform emp", and "provide very close performance".** Where
# epsilon is small, yes. But thresholding gives the categories that are not significant equal shares
# of what is left, and most of them are empty. Under uRR and uRAP, where the reports of most
# categories have no noise, that is worse than to leave the inversion estimate alone for
# epsilon above 1 or 2 in the tables with many respondents. The maximum likelihood estimate is
# never worse than inversion. Thresholding beats it only where the signal is weak, and a guess of
# equal shares is worth more than an estimate.

# %%
rows = {}
for name in TABLES:
    for kind in KINDS:
        base = of(name, kind, "inversion")
        for method in ("thresholded", "mle"):
            means = of(name, kind, method)
            rows[name, kind, method] = dict(zip(ATS, means / base, strict=True))
over = pd.DataFrame(rows).T
print("total variation over that of the inversion estimate")
print(over.round(2).to_string())
cut, likelihood = (over.xs(method, level=2) for method in ("thresholded", "mle"))
assert (over["0.1"] < 0.6).all()
assert likelihood.max(axis=None) < 1.03  # where all are the same, up to Monte Carlo error
assert (cut.loc[["census", "location"]].loc[(slice(None), "uRAP"), "2"] > 1.4).all()
assert (cut.loc[["census", "location"]].loc[(slice(None), "uRR"), "2"] > 1.2).all()
assert (likelihood["8"] < 1.03 * cut["8"]).all()

# %% [markdown]
# ## Figure 6: the number of sensitive categories
#
# Here the sensitive categories are drawn at random, anew in every survey, from one to all of them
# (where uRR is RR, and uRAP is RAPPOR).


# %%
def against_sensitive(loss):
    names = [name for name in TABLES if name != "gss, divorced"]
    fig, axes = plt.subplots(2, 3, figsize=(10.5, 7.4), layout="constrained")
    for row, at in zip(axes, ("0.1", "ln k"), strict=True):
        for ax, name in zip(row, names, strict=True):
            for kind in ("uRR", "uRAP"):
                for method, line in (("inversion", ":"), ("mle", "-")):
                    rows = indexed.loc[(name, 6, kind, method, at)].sort_values("sensitive")
                    label = f"{kind}, {WORDS[method]}"
                    ax.loglog(
                        rows["sensitive"], rows[loss], ls=line, ms=4, label=label, **STYLES[kind]
                    )
            for kind in ("RR", "RAPPOR"):
                colour = STYLES[kind]["color"]
                ax.axhline(
                    of(name, kind, "mle", at, loss),
                    color=colour,
                    ls="--",
                    lw=1,
                    label=f"{kind}, maximum likelihood",
                )
            ax.axhline(alone(name, "no privacy", loss), color="k", lw=1.2, label="no privacy")
            where = r"\ln k" if at == "ln k" else at
            ax.set_title(rf"{name}, $\epsilon = {where}$", fontsize="medium")
            ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("sensitive categories, drawn at random")
    for ax in axes[:, 0]:
        ax.set_ylabel(LOSSES[loss])
    legend(fig, axes[0, 0], 4)
    return fig


finish(against_sensitive("tv"), "figure6")

# %% [markdown]
# At $\epsilon = 0.1$ uRAP is better, as in the paper, but for a single sensitive category. (By
# inversion theory puts the change at five.) At $\ln k$ the paper finds uRR close to the level
# without privacy up to 100 sensitive categories, and uRAP up to 20. By inversion, the TV of uRR is
# 1.3 to 1.8 times as large as without privacy with 100, and that of uRAP 1.5 to 1.9 times with 30.
# By maximum likelihood both are within 21 % up to 30, and uRAP keeps up with uRR up to 100.


# %%
def by_size(name, kind, method, at):
    rows = indexed.loc[(name, 6, kind, method, at)]
    return rows.set_index("sensitive")["tv"].sort_index()


for name in ("gss", "census", "location"):
    none = alone(name, "no privacy")
    for method in ("inversion", "mle"):
        low = by_size(name, "uRAP", method, "0.1") / by_size(name, "uRR", method, "0.1")
        assert low[1] > 1.2 and (low.loc[10:200] < 0.8).all()
    last = by_size(name, "uRR", "mle", "0.1").index[-1]
    rr = of(name, "RR", "mle", "0.1")  # another simulation of the same
    assert abs(by_size(name, "uRR", "mle", "0.1")[last] / rr - 1.0) < 0.05
    high = {kind: by_size(name, kind, "mle", "ln k") / none for kind in ("uRR", "uRAP")}
    linear = {kind: by_size(name, kind, "inversion", "ln k") / none for kind in ("uRR", "uRAP")}
    table = pd.DataFrame({"uRR, mle": high["uRR"], "uRAP, mle": high["uRAP"]})
    table["uRR, inversion"], table["uRAP, inversion"] = linear["uRR"], linear["uRAP"]
    print(f"{name}: total variation at epsilon = ln k over that without privacy")
    print(table.round(2).to_string())
    assert all((ratio.loc[:30] < 1.25).all() for ratio in high.values())
    assert 1.25 < linear["uRR"][100] < 1.9 and 1.4 < linear["uRAP"][30] < 2.0
    assert (high["uRAP"] / high["uRR"]).loc[:100].between(0.95, 1.15).all()
    assert (high["uRAP"] / high["uRR"]).loc[200:].min() > 1.05
    assert linear["uRAP"][100] > 1.8 * linear["uRR"][100]

# %% [markdown]
# ## Figure 7: the number of attributes
#
# Further attributes multiply all categories, and the sensitive ones with them. *gss* begins with
# marital status and unemployment, and gets sex, income and age. *census* (here with 240,000
# respondents) begins with the paper's four, and gets five periods of military service.


# %%
def against_attributes(loss):
    fig, axes = plt.subplots(2, 3, figsize=(10.5, 7.4), sharex="row", layout="constrained")
    for row, name in zip(axes, ("gss", "census"), strict=True):
        for ax, at in zip(row, (0.1, 1.0, 6.0), strict=True):
            for method, line in (("inversion", ":"), ("mle", "-")):
                for kind, style in STYLES.items():
                    rows = indexed.loc[(name, 7, kind, method)]
                    rows = rows[rows["epsilon"] == at].sort_values("k")
                    label = f"{kind}, {WORDS[method]}"
                    ax.loglog(rows["k"], rows[loss], ls=line, ms=4, lw=1.2, label=label, **style)
            none = results[(results["table"] == name) & (results["figure"] == 7)]
            none = none[none["mechanism"] == "no privacy"].sort_values("k")
            ax.loglog(none["k"], none[loss], "k-", lw=1.2, label="no privacy")
            labels = [
                f"{a:.0f}\n{k:,.0f}" for a, k in zip(none["attributes"], none["k"], strict=True)
            ]
            ax.set_xticks(none["k"], labels, fontsize="small")
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_title(
                f"{name}, $\\epsilon$ = {at:g}, n = {none['n'].iloc[0]:,.0f}", fontsize="medium"
            )
            ax.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel(LOSSES[loss])
    for ax in axes[-1]:
        ax.set_xlabel("attributes, and categories k")
    legend(fig, axes[0, 0], 5)
    return fig


finish(against_attributes("tv"), "figure7")

# %% [markdown]
# With all attributes uRAP is the best at each of the three epsilons, and uRR comes before RR and
# RAPPOR. As in the paper, with nine attributes and $\epsilon = 0.1$ all but uRAP fail: their TV is
# .82 and more where guessing has .96. That of uRAP is .16, of which .12 is the share of the people
# in sensitive categories: these it does not tell apart either. What it provides, and the others do
# not, is the distribution of the answers that are not sensitive.

# %%
nine = indexed.loc[("census", 7)].query("attributes == 9 and method == 'mle'")
nine = nine.reset_index().pivot_table(index="mechanism", columns="epsilon", values="tv")
print("census, nine attributes, maximum likelihood: total variation")
print(nine.reindex(KINDS).round(3).to_string())
assert (nine.loc[["RR", "RAPPOR", "uRR"], 0.1] > 0.75).all()
assert 0.14 < nine.loc["uRAP", 0.1] < 0.18
for name, last in (("gss", 5), ("census", 9)):
    for at in (0.1, 1.0, 6.0):
        rows = results[(results["table"] == name) & (results["figure"] == 7)]
        rows = rows[(rows["attributes"] == last) & (rows["method"] == "mle")]
        tv = rows[rows["epsilon"] == at].set_index("mechanism")["tv"]
        assert tv["uRAP"] == tv.min() and tv["uRR"] < tv[["RR", "RAPPOR"]].min()

# %% [markdown]
# ## Appendix E.3: the squared l2 loss
#
# "A tendency similar to the results of the TV": yes, uRAP is first at small epsilon and uRR, by
# inversion, at $\ln k$. But on *census* and *gss, divorced* uRR has a smaller TV and a larger
# squared l2 loss than RAPPOR at $\epsilon = 0.1$: by inversion its factor over RR is $(k/S)^2$, and
# that of uRAP over RAPPOR $k/S$ (for the TV $(k/S)^{3/2}$ and $k/S$).

# %%
finish(against_epsilon("l2"), "figure5_l2")
finish(against_sensitive("l2"), "figure6_l2")
finish(against_attributes("l2"), "figure7_l2")
rows = {}
for method in ("inversion", "mle"):
    for name in TABLES:
        rr, rappor, urr_l2, urap_l2 = (of(name, kind, method, "0.1", "l2") for kind in KINDS)
        rows[method, name] = {"RR / uRR": rr / urr_l2, "RAPPOR / uRAP": rappor / urap_l2}
squares = pd.DataFrame(rows).T
print("squared l2 loss at epsilon = 0.1: how many times as large without utility optimisation")
print(squares.round(1).to_string())
for name in TABLES:
    l2 = {kind: of(name, kind, "inversion", "0.1", "l2") for kind in KINDS}
    assert l2["uRAP"] == min(l2.values())
    assert (l2["uRR"] > l2["RAPPOR"]) == (name != "location")
    l2 = {kind: of(name, kind, "inversion", "ln k", "l2") for kind in KINDS}
    assert l2["uRR"] == min(l2.values())
for name in ("census", "gss, divorced"):
    assert of(name, "uRR", "inversion", "0.1") < of(name, "RAPPOR", "inversion", "0.1")
linear = squares.loc["inversion"]
share = pd.Series(
    {"gss": 480 / 800, "gss, divorced": 80 / 400, "census": 0.19, "location": 16 / 625}
)
assert (linear["RR / uRR"] * share**2).between(0.8, 1.3).all()
assert (linear["RAPPOR / uRAP"] * share).between(0.8, 1.2).all()
assert (squares.loc["mle"].drop("gss") > 5.0).all(axis=None)

# %% [markdown]
# ## Summary
#
# | MK19 | here |
# |---|---|
# | Definition 2 | certified from Q; that someone is *not* sensitive is revealed |
# | l1 and l2 losses of uRR and uRAP (section 4.3, appendix E) | hold within Monte Carlo error |
# | RAPPOR at ln k: sqrt(k) times the l1 loss | k^(1/4) times; sqrt(k) is squared l2 |
# | RR at ln k: four times the l1 loss | twice; four is squared l2 |
# | one or two orders of magnitude below RR and RAPPOR | by inversion, if few are sensitive |
# | ... by EM | uRAP 3 to 11 times, uRR up to 5; RR and RAPPOR hardly beat a guess |
# | uRAP better at epsilon = 0.1 | yes, with more than a few sensitive categories |
# | uRR at the non-private level at epsilon = ln k | with 16 of 625; with 76 of 400 1.5 times it |
# | emp+thr and EM far better than emp | at small epsilon; then emp+thr is worse than emp |
# | uRAP far from no privacy beyond 20 categories | by inversion; by likelihood as near as uRR |
# | nine attributes, epsilon = 0.1: only uRAP works | yes, for what is not sensitive |
# | which theta is best for uRAP? | `best_theta`: up to 4.6 times less worst-case l2 loss |
# | uRR or uRAP? (inversion) | uRR if S <= 5 or epsilon > (2/3) ln S, whatever k is |
