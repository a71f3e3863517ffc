"""
Where I live is nobody's business
=================================

A map service wants to know where its users are. Hospitals are sensitive for everyone; beyond them
each user has places of her own, her home and her workplace, and which these are is itself a
secret. Under a personalised mechanism (Murakami and Kawamoto 2019, section 5) her device replaces
a place of her own by a tag, *home* or *work*, and then runs a mechanism that is the same for all.
The collector learns how many reports were made at home, but not whose home is where. This page
shows what the collector can still say about the map, and what takes knowing where homes are.
"""

# sphinx_gallery_thumbnail_number = 2
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import planning
from ldpstats.estimators import MLE

REALISATIONS = 20  # surveys of a point of Table 1; the paper has 100
FEW = 5  # surveys of a point of the curves

# %%
# The map, and whose place is whose
# ---------------------------------
#
# The map is a grid of 25 x 25 cells of Manhattan with half a million pickups of April 2014, or, as
# that table does not come with the package, a stand-in of the same kind: three centres of activity,
# and hospitals in 16 of its busier cells. (As a script with ``--map FILE`` this page takes a table
# with columns pickups and sensitive, a row for each cell.) Homes and workplaces are not in such
# data but simulated: a user is at home with a probability that is highest uptown, 1.4 % in all, and
# at work with one that is highest around one centre, 5.4 % in all (the shares in the paper's data).
# Those who pass through their own home cell on other business are protected there, too.

SIDE = 25
row, column = np.divmod(np.arange(SIDE**2), SIDE)


def bump(y: float, x: float, width: float) -> np.ndarray:
    """A hill over the grid, highest at row y and column x."""
    return np.exp(-((row - y) ** 2 + (column - x) ** 2) / (2.0 * width**2))


def real_map() -> tuple[np.ndarray, np.ndarray]:
    """People in each cell, and which cells have a hospital."""
    if sys.argv[1:2] == ["--map"]:
        table = pd.read_csv(sys.argv[2])
        return table["pickups"].to_numpy(), np.flatnonzero(table["sensitive"])
    density = bump(14, 12, 3) + 0.6 * bump(6, 8, 2.5) + 0.3 * bump(20, 15, 4)
    people = np.floor(477_295 * density / density.sum()).astype(int)
    return people, np.argsort(-people)[10:170:10]


people, hospitals = real_map()
N = int(people.sum())
rng = np.random.default_rng(7)
place = np.repeat(np.arange(SIDE**2), people)
p = people / N

uptown, centre = bump(20, 15, 6), bump(14, 12, 3)
at_home = rng.random(N) < 0.014 * uptown[place] / (p @ uptown)
at_work = ~at_home & (rng.random(N) < 0.054 * centre[place] / (p @ centre))
lives_at = rng.choice(place[at_home], size=N)  # most users are elsewhere when they are asked
works_at = rng.choice(place[at_work], size=N)
lives_at[at_home], works_at[at_work] = place[at_home], place[at_work]
works_at = np.where(works_at == lives_at, -1, works_at)  # who works at home has one place, not two
works_at = pd.Series(works_at, dtype="Int64").mask(works_at < 0)
own = {"home": pd.Series(lives_at), "work": works_at}
print(f"{N:,} people, {len(hospitals)} cells with a hospital")

# %%
# A device, and the mechanism that the collector sees
# ---------------------------------------------------
#
# Each device holds its user's own places. It is given them once, and never writes them anywhere;
# what the collector knows is the mechanism common to all, in which the two tags are two more
# sensitive categories.

pum = ldp.PUM(ldp.URR(SIDE**2, hospitals, epsilon=1.0), tags=("home", "work"))
device = pum.client({"home": {412}, "work": {337, 338}})
print(device, "reports", device.report(412))
print(pum.common)
print(ldp.privacy.uldp(pum.channel({"home": {412}}), [*hospitals, 412]))

# %%
# The last line is Proposition 9 of the paper, read off Q: her home is as well protected as the
# hospitals. Anyone else's report may come out as *home*, too.
#
# One survey
# ----------
#
# Half of the people report. A report says where a user is, or that she is at home, at work or in a
# hospital, or nothing certain. The intermediate distribution r is that of cells and tags; p is r
# with the tags spread over the map by pi, the distribution of homes and of workplaces (eq. 21). The
# collector may not know pi (I), may have an approximation (II), or may know it exactly (III).
#
# The approximation here is what an address book gives: how residential a cell is, not how many
# users live there.

reached = pum.preprocess(place, own)
r = np.bincount(reached, minlength=SIDE**2 + 2) / N
exact = {
    tag: np.bincount(place[reached == SIDE**2 + j], minlength=SIDE**2) / max(r[SIDE**2 + j] * N, 1)
    for j, tag in enumerate(pum.tags)
}
inhabited = people > 0
address_book = {
    "home": np.where(inhabited, uptown, 0) / uptown[inhabited].sum(),
    "work": np.where(inhabited, centre, 0) / centre[inhabited].sum(),
}
cases: dict[str, dict[str, object]] = {
    "I": {"background": None},
    "II": {"background": address_book},
    "III": {"background": exact, "exact": True},
}
np.testing.assert_allclose(r[:-2] + r[-2] * exact["home"] + r[-1] * exact["work"], p, atol=1e-12)

asked = rng.permutation(N)[: N // 2]
mine = {tag: places.iloc[asked] for tag, places in own.items()}
reports = pum.privatize(place[asked], rng, tags=mine)
fits = {
    case: ldp.PersonalizedModel(reports, pum, **known).fit()  # type: ignore[arg-type]
    for case, known in cases.items()
}
print(fits["III"].summary(max_rows=8))
print(fits["I"].intermediate.params.loc[["home", "work"]].round(4).to_string())

# %%
# With exact knowledge 95 % intervals cover the map. Otherwise they allow for the noise of the
# reports alone: cells to which tags were spread wrongly are missed. The summary bounds the damage.

for case, results in fits.items():
    bounds = results.conf_int()
    inside = (bounds["lower"] <= p) & (p <= bounds["upper"])
    print(f"({case:>3}) intervals cover {inside[inhabited].mean():.3f} of {inhabited.sum()} cells")
    if case == "III":
        # exact intervals of rare cells cover more than they say; 4 standard errors below .95
        assert inside[inhabited].mean() > 0.95 - 4 * np.sqrt(0.05 * 0.95 / inhabited.sum())

# %%
# Theorem 1
# ---------
#
# The l1 loss of p is at most that of r plus, for each tag, its share times the loss of pi. The
# printed bound needs the absolute value of the estimated share, which an unconstrained estimate may
# have negative. The first term shrinks with the number of reports and with epsilon, the second does
# not: it is what not knowing pi costs.


def spread(r_hat: np.ndarray, background: object) -> tuple[np.ndarray, np.ndarray]:
    """p by eq. 21, and the pi that was used, shape (2, k)."""
    k = SIDE**2
    if background is None:
        others = np.delete(np.arange(k), hospitals)
        share = np.zeros(k)
        share[others] = r_hat[others] / r_hat[others].sum()
        pi = np.array([share, share])
    else:
        pi = np.array([background[tag] for tag in pum.tags])  # type: ignore[index]
    return r_hat[:k] + r_hat[k:] @ pi, pi


truth = np.array([exact[tag] for tag in pum.tags])
kinds: dict[str, type[ldp.URR] | type[ldp.URAP]] = {"uRR": ldp.URR, "uRAP": ldp.URAP}
n = N // 2


def realisations(kind: str, epsilon: float, R: int) -> pd.DataFrame:
    """TV, l1 and squared l2 loss, the two terms of Theorem 1; a row for each survey and case."""
    common = ldp.PUM(kinds[kind](SIDE**2, hospitals, epsilon), pum.tags).common
    rows = []
    for _ in range(R):
        sample = rng.multivariate_hypergeometric(np.rint(r * N).astype(int), n, method="marginals")
        codes = np.repeat(np.arange(r.size), sample)
        data = ldp.Reports(common.privatize(common.categories[codes], rng).y, common)
        r_hat = MLE(tol=1e-7).solve(ldp.FrequencyModel(data).likelihood()).p
        for case, known in cases.items():
            p_hat, pi = spread(r_hat, known["background"])
            bound = planning.personalized_bound(r_hat, r, pi, truth)
            loss = float(np.abs(p_hat - p).sum())
            squared = float(((p_hat - p) ** 2).sum())
            rows.append((case, loss, bound.first, bound.second, loss / 2, squared))
    return pd.DataFrame(rows, columns=["case", *PRINTED, "TV", "squared l2"])


PRINTED = {  # Table 1 of the paper: means of 100 surveys
    "loss": [0.0673, 0.0424, 0.0262, 0.0677, 0.0428, 0.0267],
    "first term": [0.0270] * 3 + [0.0276] * 3,
    "second term": [0.0734, 0.0296, 0.0, 0.0735, 0.0296, 0.0],
}
at_ln_k = {kind: realisations(kind, np.log(SIDE**2), REALISATIONS) for kind in kinds}
table = pd.concat({kind: f.groupby("case").mean() for kind, f in at_ln_k.items()})
errors = pd.concat({kind: f.groupby("case").sem() for kind, f in at_ln_k.items()})
parts = [pd.DataFrame(PRINTED, table.index), table[[*PRINTED]], errors[[*PRINTED]]]
both = pd.concat(parts, axis=1, keys=["paper", "here", "se"]).swaplevel(axis=1)
print(f"epsilon = ln k: means of {REALISATIONS} surveys, their standard errors, and Table 1")
print(both[[*PRINTED]].round(4).to_string())
for found in at_ln_k.values():
    assert (found["loss"] <= found["first term"] + found["second term"] + 1e-12).all()
losses = table["loss"].unstack()
assert (losses["III"] < losses["II"]).all() and (losses["II"] < losses["I"]).all()

# %%
# With the map of Manhattan it begins
#
# .. code-block:: text
#
#     epsilon = ln k: means of 20 surveys, their standard errors, and Table 1
#                  loss                 first term                 second term
#                 paper    here      se      paper    here      se       paper    here      se
#          case
#     uRR  I     0.0673  0.0829  0.0002     0.0270  0.0193  0.0001      0.0734  0.0844  0.0001
#          II    0.0424  0.0724  0.0003     0.0270  0.0193  0.0001      0.0296  0.0673  0.0001
#          III   0.0262  0.0189  0.0001     0.0270  0.0193  0.0001      0.0000  0.0000  0.0000
#
# That is Table 1 of the paper, with its order: knowing pi is best, knowing something about it is
# better than nothing, and the bound holds in every survey. The paper's numbers are of other data
# (359,054 check-ins in Manhattan, of which half report). With more reports the first term is
# smaller here. The second is larger: the tags hold 8.1 % of all here and 6.8 % there, and in (II)
# our address book says less about who lives where than the paper's points of interest do.
#
# How much epsilon matters
# ------------------------
#
# Figures 8 and 13 of the paper: total variation and squared l2 loss against epsilon. A point is the
# mean of five surveys, the line without privacy that of twenty; bars are two standard errors. Where
# epsilon is small the noise of the reports hides what is not known about homes (the paper finds no
# difference below 1, here there is one from .3 on). Where it is large, that alone limits the map,
# and more so in squares, as what is not known falls on few cells: (I) has nearly forty times the
# loss of (III) at ln k. With pi known exactly total variation even falls below that of a survey
# without privacy. (``benchmarks/studies/personal_places.py`` has more surveys, and inversion.)

grid = np.array([0.1, 0.3, 1.0, 3.0, np.log(SIDE**2), 10.0])
runs = {(kind, e): realisations(kind, float(e), FEW) for kind in kinds for e in grid}
samples = rng.multivariate_hypergeometric(people, n, size=REALISATIONS, method="marginals") / n - p
plain = {"TV": np.abs(samples).sum(axis=1) / 2, "squared l2": (samples**2).sum(axis=1)}
fig, axes = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
means = {}
for ax, (loss, bare) in zip(axes, plain.items(), strict=True):
    rows = {key: found.groupby("case")[loss] for key, found in runs.items()}
    found = pd.DataFrame({key: row.mean() for key, row in rows.items()}).T.stack().unstack(1)
    sems = pd.DataFrame({key: row.sem() for key, row in rows.items()}).T.stack().unstack(1)
    print(f"{loss} by epsilon: means of {FEW} surveys, and their standard errors")
    print(f"no privacy: {bare.mean():.3g}, standard error {bare.std(ddof=1) / 20**0.5:.2g}")
    for table in (found, sems):
        print(table.rename(columns=lambda e: f"{e:.3g}").map("{:.3g}".format).to_string())
    for (kind, case), values in found.iterrows():
        style = {"I": ":", "II": "--", "III": "-"}[case]
        colour = {"uRR": "C0", "uRAP": "C1"}[kind]
        ax.errorbar(grid, values, 2 * sems.loc[kind, case], fmt=style, color=colour, capsize=2,
                    label=f"{kind} ({case})")  # fmt: skip
    ax.axhline(bare.mean(), color="0.5", linewidth=1)
    ax.axvline(np.log(SIDE**2), color="0.8", linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="epsilon (grey: ln k, no privacy)", ylabel=loss)
    means[loss] = found
axes[0].legend(ncols=2, frameon=False)
for kind in kinds:
    one, two, three = (means["TV"].loc[kind, case].to_numpy() for case in cases)
    assert one[0] < 1.25 * three[0]  # at epsilon = .1 knowing pi hardly helps
    assert one[-1] > 1.5 * three[-1] and three[-1] < two[-1] < one[-1]
    assert three[-1] < 1.25 * plain["TV"].mean()  # as if nothing were hidden
    one, two, three = (means["squared l2"].loc[kind, case].to_numpy() for case in cases)
    assert one[0] < 1.1 * three[0] and np.all(one[-2:] > 10.0 * three[-2:])
    assert np.all(three[-3:] < two[-3:]) and np.all(two[-3:] < one[-3:])

# %%
# Figure 9 of the paper: what the address book says of homes and workplaces, and what is true.

fig, axes = plt.subplots(2, 2, figsize=(7.0, 6.6), layout="constrained")
for line, tag in zip(axes, pum.tags, strict=True):
    pair = {"(II) address book": address_book[tag], "(III) true": exact[tag]}
    top = max(values.max() for values in pair.values())
    for panel, (name, values) in zip(line, pair.items(), strict=True):
        image = panel.imshow(values.reshape(SIDE, SIDE), origin="lower", cmap="viridis", vmax=top)
        panel.set(title=f"{tag}, {name}", xticks=[], yticks=[])
    fig.colorbar(image, ax=line, shrink=0.8, label="share of the tag")

# %%
# The paper, and here
# -------------------
#
# The l1 losses are those at :math:`\epsilon = \ln k` on the map of Manhattan.
#
# - **Proposition 9: what is personal is as well protected**: in the paper proved; here read off Q.
# - **l1 loss, (I) nothing known: uRR, uRAP**: in the paper .0673, .0677; here .0829, .0834.
# - **l1 loss, (II) something known: uRR, uRAP**: in the paper .0424, .0428; here .0724, .0726.
# - **l1 loss, (III) pi known: uRR, uRAP**: in the paper .0262, .0267; here .0189, .0191.
# - **First term of (22), the loss of r: uRR, uRAP**: in the paper .0270, .0276; here .0193, .0197.
# - **Second term, (I) and (II), of uRR**: in the paper .0734, .0296; here .0844, .0673.
# - **Theorem 1 holds**: in the paper on average; here in every survey; needs an absolute value.
# - **Below epsilon = 1 all cases are the same**: in the paper yes; here from .3 on they differ.
# - **Squared l2 loss behaves as TV (figure 13)**: in the paper yes; here too, (I) over (III) is 38
#   at ln k.
#
# What to remember: whoever reports an ordinary cell tells that she is there, and that it is not her
# home. Trust the intervals of p where pi is exact; elsewhere read the bound of the summary.
