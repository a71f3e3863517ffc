# %% [markdown]
# # Two private answers: are they associated?
#
# Respondents report two answers, each privatised on its own. What is the joint distribution of the
# true answers, and are they associated? Fanti, Pihur and Erlingsson (2016, section III; FPE16
# below) estimate it by maximum likelihood, with a category "Other" for the answers that are not
# listed, and test independence with a quadratic form T of the estimate. Here their tables I and II
# and figures 2, 3 and 11 are done again. The joint estimates are reproduced. Their "Other" is
# nearly right for hashed answers, as long as the variables are independent, and can be exact for
# answers with a bit of their own; and T is a test where the table is dense, but has no power where
# it is sparse, which a score test does not suffer from.
#
# `python 05_association.py` recomputes a small part of the simulations and compares it with the
# stored ones; `--full` recomputes and stores all of them, `--full PART ...` some parts; `--figures
# DIR` saves the figures.

# %%
import argparse
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import optimize, stats

import ldpstats as ldp
from ldpstats import datasets
from ldpstats.estimators.one_step import OneStep

parser = argparse.ArgumentParser()
parser.add_argument(
    "--full", nargs="*", metavar="PART", help="recompute what is stored (45 minutes)"
)
parser.add_argument("--figures", type=Path, metavar="DIR", help="save the figures there")
options, _ = parser.parse_known_args()
here = Path(__file__).parent if "__file__" in globals() else Path()  # a notebook has no file


def finish(figure, name):
    if options.figures:
        figure.savefig(options.figures / f"05_{name}.png", dpi=150)
    plt.close(figure)


def store(name, simulate, parts, keys):
    """The stored results of all parts, of which those that --full names are computed again."""
    path = here / name
    if options.full is not None:
        wanted = [part for part in parts if part in options.full or not options.full]
        tables = [simulate(part) for part in wanted]
        if len(wanted) < len(parts):
            before = pd.read_csv(path, comment="#")
            tables.append(before[~before[keys[0]].isin(wanted)])
        table = pd.concat(tables).sort_values(
            keys[0], key=lambda part: part.map(parts.index), kind="stable"
        )
        text = table.to_csv(index=False, float_format="%.5g", lineterminator="\n")
        header = "# Made by: python vignettes/05_association.py --full\n"
        path.write_text(header + text, encoding="utf-8", newline="\n")
    stored = pd.read_csv(path, comment="#")
    assert stored[keys[0]].unique().tolist() == parts
    return stored.set_index(keys)


# %% [markdown]
# ## Tables I and II
#
# Two variables with 100 categories each, n = 100,000 respondents, p = .25, q = .75, f = 0. The
# analyst keeps the five commonest categories of each and calls the rest "Other". FPE16 prints the
# true table (I) and an estimate (II), in per cent. The margins of table I are called Zipfian; they
# fall by a constant factor. And X and Y are independent in it: taken for a sample of 100,000, it
# has a chi-square of 24 on 25 degrees of freedom.

# %%
CELLS = [*"12345", "Other"]
TRUE = """
3.567 2.937 2.468 1.952 1.639 6.436
2.984 2.432 1.967 1.581 1.289 5.362
2.473 1.991 1.609 1.223 1.025 4.343
1.881 1.569 1.293 1.069 0.874 3.499
1.625 1.292 1.080 0.892 0.662 2.836
6.380 5.292 4.311 3.495 2.809 11.863
"""
PRINTED = """
3.306 2.952 2.413 2.018 1.806 6.691
3.045 2.292 2.043 1.588 1.286 5.302
2.336 2.173 1.587 1.115 0.916 4.450
1.902 1.506 1.354 1.087 0.887 3.510
1.763 1.233 1.188 0.873 0.615 2.801
6.531 5.338 4.245 3.513 2.916 11.419
"""
N = 100_000
table_1 = np.array(TRUE.split(), dtype=float).reshape(6, 6)
table_2 = np.array(PRINTED.split(), dtype=float).reshape(6, 6)
margin = table_1.sum(axis=1)
falls = (margin[1:5] / margin[:4]).round(3)
chi2, pvalue, df, _ = stats.chi2_contingency(table_1 * N / 100)
print(f"ratios of the margin of X: {falls.tolist()}")
print(f"independence of table I: chi-square {chi2:.1f} on {df} df, p = {pvalue:.2f}")
assert np.ptp(falls) < 0.03 and pvalue > 0.3

# %% [markdown]
# The paper publishes neither the tail (how the mass of "Other" is spread over 95 categories) nor
# its hashes. We try a flat tail and one that goes on falling by .815; one cohort and eight; and,
# since no dependence can be seen in table I, two kinds of it as well: 30 % of the respondents have
# Y = X (*diagonal*), or have Y 50 categories away from X (*shift*), so that five common X go with
# rare Y and the other way round.
#
# Reports are *hashed* (RAPPOR with 128 bits and two hashes; every survey hashes other strings, so
# that what varies includes the collisions) or *basic*: a bit for each of the 100 categories, which
# is k-RAPPOR with epsilon = 2 ln 3.

# %%
basic = ldp.KRAPPOR(100, epsilon=2 * np.log(3))
assert np.isclose(basic.p1, 0.75) and np.isclose(basic.p0, 0.25)

SCENES = {  # encoder, cohorts, tail, dependence; estimates, and surveys for each
    "hashed": ("hashed", 1, "flat", "independent", 100, 1),
    "hashed, geometric": ("hashed", 1, "geometric", "independent", 100, 1),
    "hashed, 8 cohorts": ("hashed", 8, "flat", "independent", 100, 1),
    "hashed, 8 cohorts, geometric": ("hashed", 8, "geometric", "independent", 100, 1),
    "hashed, diagonal": ("hashed", 1, "flat", "diagonal", 100, 1),
    "hashed, shift": ("hashed", 1, "flat", "shift", 100, 1),
    "basic": ("basic", 1, "flat", "independent", 1_000, 1),
    "basic, diagonal": ("basic", 1, "flat", "diagonal", 1_000, 1),
    "basic, shift": ("basic", 1, "flat", "shift", 1_000, 1),
    "basic, geometric": ("basic", 1, "geometric", "independent", 1_000, 1),
    "hashed, mean of 10": ("hashed", 1, "flat", "independent", 50, 10),
    "hashed, geometric, mean of 10": ("hashed", 1, "geometric", "independent", 50, 10),
    "hashed, 8 cohorts, mean of 10": ("hashed", 8, "flat", "independent", 50, 10),
    "hashed, 8 cohorts, geometric, mean of 10": ("hashed", 8, "geometric", "independent", 50, 10),
}


def law(tail, dependence):
    """The joint distribution of the 100 x 100 categories."""
    rest = np.ones(95) if tail == "flat" else 0.815 ** np.arange(95)
    spread = np.zeros((6, 100))
    spread[:5, :5], spread[5, 5:] = np.eye(5), rest / rest.sum()
    p = spread.T @ (table_1 / 100) @ spread
    if dependence == "independent":
        return p
    x = np.diag(p.sum(axis=1))
    other = x if dependence == "diagonal" else np.roll(x, 50, axis=1)
    return 0.7 * p + 0.3 * other


def lumped(p):
    """The 6 x 6 table of a 100 x 100 one."""
    ends = [0, 1, 2, 3, 4, 5]
    return np.add.reduceat(np.add.reduceat(p, ends, axis=0), ends, axis=1)


def collect(scene, rng, label=""):
    """Reports of N respondents on both variables, and the five common categories of each."""
    encoder, cohorts, tail, dependence, *_ = SCENES[scene]
    p = law(tail, dependence)
    codes = np.divmod(rng.choice(p.size, size=N, p=p.ravel()), 100)
    if encoder == "basic":
        return [basic.privatize(x, rng) for x in codes], [range(5)] * 2
    rappor = ldp.RAPPOR(n_bits=128, n_hashes=2, n_cohorts=cohorts, f=0.0, p=0.25, q=0.75)
    words = [np.array([f"{name}{label} {i}" for i in range(100)]) for name in "xy"]
    reports = [rappor.privatize(w[x], rng) for w, x in zip(words, codes, strict=True)]
    return reports, [w[:5].tolist() for w in words]


# %% [markdown]
# One survey, in three ways. The first ignores "Other": all respondents are taken to be in the 25
# cells. The second models it, as FPE16 does, by taking the bits of its reports for independent,
# each with the probability that is left over once the listed categories are taken off. The third is
# their formula as printed, which takes off the noise of all respondents in place of that of the
# listed ones. Nothing is left then, so it ignores "Other" too. The package warns that the first
# does not fit the reports, and of what the others assume.

# %%
(x, y), top = collect("hashed", np.random.default_rng(5))
fits, models = {}, {}
for other in (False, True, "fpe16"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ldp.AssociationModel(x, y, candidates=top, other=other, names=("X", "Y"))
        models[other], fits[other] = model, model.fit()
    print(*(f"other={other}, warning: {warning.message}" for warning in caught), sep="\n")
    expected = ldp.IncompleteListWarning if other else ldp.MisfitWarning
    assert [warning.category for warning in caught] == [expected]
print((100 * fits[True].table).round(3).to_string())
with_other, without, as_printed = (fits[other].table.to_numpy() for other in (True, False, "fpe16"))
print(f"the cell (1, 1): {100 * with_other[0, 0]:.2f}, ignoring Other {100 * without[0, 0]:.2f}")
assert np.abs(as_printed[:5, :5] - without).max() < 1e-6 and as_printed[5].max() < 1e-6
assert np.abs(100 * with_other - table_1)[:5, :5].max() < 1.0
assert without[0, 0] > 0.06

# %% [markdown]
# Where every category has a bit of its own no model is needed. Drop the bits of all other
# categories, and "Other" is the category that owns none of those that remain: `lump` does that, and
# its reports follow a mechanism in its own right, whatever "Other" consists of. (So it is for k-RR,
# where the labels of "Other" are merged.) `AssociationModel(..., other=True)` calls it where it can
# be done.

# %%
(x, y), top = collect("basic", np.random.default_rng(6))
print(ldp.lump(x, keep=top[0]).mechanism)
results = ldp.AssociationModel(x, y, candidates=top, other=True, names=("X", "Y")).fit()
bounds = 100 * results.conf_int()
covered = ((bounds["lower"] < table_1.ravel()) & (table_1.ravel() < bounds["upper"])).sum()
print(f"{covered} of the 36 intervals contain their cell of table I")
assert covered >= 30

# %% [markdown]
# ## The law of the estimate
#
# 100 surveys of each hashed kind, 1,000 of each basic one; and because figure 2 has ten surveys,
# the law of a mean of ten surveys with the same hashes, which share their collisions. *moments* is
# the estimate that is linear in how often two bits are set together. It needs no "Other": a cell is
# estimated from its own bits.

# %%
SHOWN = 10
RUNS = [f"run {i}" for i in range(1, SHOWN + 1)]


def estimates(scene, rng, label=""):
    """Estimates of one survey in per cent, each of shape (6, 6)."""
    reports, top = collect(scene, rng, label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.IncompleteListWarning)
        ignoring, with_other = (
            ldp.AssociationModel(*reports, candidates=top, other=other) for other in (False, True)
        )
    found = {}
    if "mean" not in scene:
        found["ignore"] = ignoring.maximum().p
    if scene.startswith("hashed"):
        found["product"] = with_other.maximum().p
        if scene == "hashed":
            found["one_step"] = with_other.dual_moments().estimate()[0]
    else:
        found |= {"lump": with_other.maximum().p, "moments": ignoring.moments().estimate()[0]}
    full = {}
    for method, p in found.items():
        full[method] = np.full((6, 6), np.nan)
        k = 5 if p.size == 25 else 6
        full[method][:k, :k] = 100 * p.reshape(k, k)
    return full


def estimate_often(scene, seed=2016):
    """Mean and standard deviation of every cell, and the first estimates one by one."""
    *_, number, surveys = SCENES[scene]
    runs = []
    for i in range(number):
        rng = np.random.default_rng([seed, list(SCENES).index(scene), i])
        each = [estimates(scene, rng, i) for _ in range(surveys)]
        runs.append({m: np.mean([found[m] for found in each], axis=0) for m in each[0]})
    frames = []
    for method in runs[0]:
        P = np.array([run[method].ravel() for run in runs])
        cells = {"x": np.repeat(CELLS, 6), "y": np.tile(CELLS, 6)}
        frame = pd.DataFrame({"scene": scene, "method": method, **cells, "number": number})
        frame["mean"], frame["sd"] = P.mean(axis=0), P.std(axis=0, ddof=1)
        shown = pd.DataFrame(P[:SHOWN].T, columns=RUNS[: len(P)])
        frames.append(pd.concat([frame, shown.round(3)], axis=1).dropna())
    return pd.concat(frames)


laws = store("05_association.csv", estimate_often, list(SCENES), ["scene", "method"]).sort_index()
truth = {scene: 100 * lumped(law(*setting[2:4])) for scene, setting in SCENES.items()}


def of(scene, method, column):
    """A column of the stored results as a 6 x 6 table."""
    frame = laws.loc[(scene, method)]
    table = frame.pivot(index="x", columns="y", values=column)
    return table.reindex(index=CELLS, columns=CELLS)


def rms(values):
    return float(np.sqrt(np.nanmean(np.square(values))))


# %% [markdown]
# Surveys with other random numbers agree with what is stored (and with what is stored for another
# dependence they do not).

# %%
rows = {}
for scene, method, wrong in [
    ("hashed", "product", "hashed, diagonal"),
    ("hashed, 8 cohorts", "product", "hashed, shift"),
    ("basic", "lump", "basic, diagonal"),
    ("basic, shift", "lump", "basic"),
]:
    again = estimates(scene, np.random.default_rng(99), "again")[method]
    distance = [rms((again - of(s, method, "mean")) / of(s, method, "sd")) for s in (scene, wrong)]
    rows[scene, method] = dict(zip(["same law", "another"], distance, strict=True))
agreement = pd.DataFrame(rows).T
print("root mean square of 36 z values")
print(agreement.round(2).to_string())
assert agreement["same law"].between(0.5, 1.7).all()
assert (agreement["another"] > 2.5).all()

# %% [markdown]
# ## Table II beside its law
#
# Is table II a draw from the law of the estimate, of one survey or of a mean of ten? Its z values,
# with the mean and the standard deviation of our estimates, would then have a root mean square near
# one. (With a chi-square of 24, not 0, table I is a sample from independent answers. Table II
# differs from it by the noise of the reports only, so the sampling variance is taken off ours.) The
# z values of one table are correlated, and their root mean square varies: what it is in ten of our
# estimates is shown beside.

# %%
SETTINGS = ["hashed", "hashed, geometric", "hashed, 8 cohorts", "hashed, 8 cohorts, geometric"]
READINGS = [
    ("hashed", "ignore", 1),
    *((scene, "product", surveys) for surveys in (1, 10) for scene in SETTINGS),
    *(("basic", "lump", surveys) for surveys in (1, 10)),
]
rows, scores, noise = {}, {}, {}
for scene, method, surveys in READINGS:
    key, stored = (scene, method, surveys), scene
    if surveys == 10 and method == "product":
        stored = f"{scene}, mean of 10"
    mean, sd = of(stored, method, "mean"), of(stored, method, "sd")
    own = [rms((of(stored, method, run) - mean) / sd) for run in RUNS]
    if stored == "basic":
        sd = sd / np.sqrt(surveys)  # surveys that share no hashes
    noise[key] = np.sqrt(sd**2 - table_1 * (100 - table_1) / (N * surveys))
    scores[key] = (table_2 - mean) / noise[key]
    rows[key] = {
        "rms z": rms(scores[key]),
        "largest": scores[key].abs().max(axis=None),
        "25 cells": rms(scores[key].iloc[:5, :5]),
        "Other, Other": scores[key].iloc[5, 5],
        "ours, least": min(own),
        "ours, most": max(own),
    }
beside = pd.DataFrame(rows).T.rename_axis(["kind", "method", "surveys"])
print(beside.round(2).to_string())

# %% [markdown]
# Cell by cell, for one survey:

# %%
cells = {("", "true"): table_1.ravel(), ("", "printed"): table_2.ravel()}
for tail, scene in [("flat tail", "hashed"), ("geometric tail", "hashed, geometric")]:
    key = scene, "product", 1
    columns = {"mean": of(scene, "product", "mean"), "sd": noise[key], "z": scores[key]}
    cells |= {(tail, name): table.to_numpy().ravel() for name, table in columns.items()}
every = pd.DataFrame(cells, index=pd.MultiIndex.from_product([CELLS, CELLS], names=["X", "Y"]))
print(every.round(3).round({key: 1 for key in every if key[1] == "z"}).to_string())

# %% [markdown]
# Table II cannot have been made ignoring "Other". As one survey it fits hashed reports of any kind,
# though it is closer to the truth than nearly all of ours are. As the mean of the ten surveys that
# figure 2 shows it fits better, if there is one cohort, whose collisions do not average out, and
# the tail falls; or if every category has a bit of its own (and "Other" is treated without bias).
# It is no mean of ten with eight cohorts, and no single survey with a bit for each category. The
# table alone does not tell the other readings apart.

# %%
assert beside.loc[("hashed", "ignore", 1), "rms z"] > 5
fit = beside["rms z"] / beside["ours, most"]
ten = fit.xs(10, level="surveys")
hashed_one = beside.xs(("product", 1), level=["method", "surveys"])
assert (hashed_one["largest"] < 2.5).all()
assert (hashed_one["rms z"] > 0.75 * hashed_one["ours, least"]).all()
assert (hashed_one["rms z"] < 1.05 * hashed_one["ours, least"]).all()
assert 0.6 < ten["hashed, geometric", "product"] < 1.0
assert 0.6 < ten["basic", "lump"] < 1.0
assert (ten[["hashed, 8 cohorts", "hashed, 8 cohorts, geometric"]] > 1.5).all()
single = beside.loc[("basic", "lump", 1)]
assert single["rms z"] < 0.5 * single["ours, least"]

# %% [markdown]
# The paper says how many of the 100 categories could be estimated: 15 of each variable, on average.
# That tells of the tail. It is not flat: a category of .36 % is seldom found, even with a bit of
# its own. (With one cohort 128 bits do not tell 100 hashed categories apart.)

# %%
rows = {}
for scene in ("hashed, 8 cohorts", "hashed, 8 cohorts, geometric", "basic", "basic, geometric"):
    found = []
    for i in range(2):
        for name, reports in zip(
            "xy", collect(scene, np.random.default_rng([15, i]))[0], strict=True
        ):
            words = [f"{name} {j}" for j in range(100)] if scene.startswith("hashed") else None
            found.append(len(ldp.FrequencyModel(reports, candidates=words).fit().detected()))
    rows[scene] = {"detected": found, "mean": np.mean(found)}
    assert (13 < np.mean(found) < 18) == ("geometric" in scene)
print(pd.DataFrame(rows).T.to_string())

# %% [markdown]
# ## Bias
#
# Is the estimate unbiased, as FPE16 has it, if X and Y are independent, and if they are not? The
# table has root mean squares over the 25 cells, with what chance alone makes of the bias; z values
# are over all cells. Below it is the bias of each cell, in percentage points, with its Monte Carlo
# standard error in brackets.

# %%
SHAPES = ["independent", "diagonal", "shift"]
METHODS = [("hashed", "ignore"), ("hashed", "product"), ("basic", "ignore"), ("basic", "lump")]


def scene_of(encoder, shape):
    return encoder if shape == "independent" else f"{encoder}, {shape}"


bias, error, rows = {}, {}, {}
for encoder, method in [*METHODS, ("basic", "moments")]:
    for shape in SHAPES:
        scene, key = scene_of(encoder, shape), (encoder, method, shape)
        bias[key] = of(scene, method, "mean") - truth[scene]
        error[key] = of(scene, method, "sd") / np.sqrt(of(scene, method, "number"))
        top = slice(5), slice(5)
        rows[key] = {
            "rms bias": rms(bias[key].iloc[top]),
            "by chance": rms(error[key].iloc[top]),
            "SD": rms(of(scene, method, "sd").iloc[top]),
            "rms z": rms(bias[key] / error[key]),
            "largest z": (bias[key] / error[key]).abs().max(axis=None),
            "bias Other, Other": bias[key].iloc[5, 5],
            "its error": error[key].iloc[5, 5],
        }
biases = pd.DataFrame(rows).T
print(biases.round(3).to_string())
for key in bias:
    if key[1] not in ("product", "lump"):
        continue
    text = bias[key].map("{:+.3f}".format) + " (" + error[key].map("{:.3f}".format) + ")"
    print(", ".join(key), text.to_string(), sep="\n")

# %%
fig, axes = plt.subplots(3, 3, figsize=(10, 6.6), sharex=True, sharey="row", layout="constrained")
for row, (encoder, method) in zip(axes, [METHODS[0], METHODS[1], METHODS[3]], strict=True):
    for ax, shape in zip(row, SHAPES, strict=True):
        key = encoder, method, shape
        cells = truth[scene_of(encoder, shape)]
        b, e = bias[key].to_numpy(), error[key].to_numpy()
        inside = np.zeros((6, 6), dtype=bool)
        inside[:5, :5] = True
        for at, colour, label in (
            (inside, "C0", "the 25 cells"),
            (~inside, "C1", "cells of Other"),
        ):
            style = {"fmt": "o", "ms": 3, "lw": 0.8, "color": colour, "label": label}
            ax.errorbar(cells[at], b[at], 2 * e[at], **style)
        ax.axhline(0.0, color="0.4", lw=0.8)
        ax.spines[["top", "right"]].set_visible(False)
        name = {"ignore": "ignoring Other", "product": "product of bits", "lump": "exact lumping"}
        ax.set_title(f"{encoder}, {name[method]}: {shape}", fontsize="small")
for ax in axes[-1]:
    ax.set_xlabel("true cell, %")
    ax.set_xscale("log")
    ax.set_xticks([1, 2, 5, 10, 20], [1, 2, 5, 10, 20])
    ax.minorticks_off()
for ax in axes[:, 0]:
    ax.set_ylabel("bias, points")
axes[1, 0].legend(frameon=False, fontsize="small")
finish(fig, "bias")

# %% [markdown]
# Ignoring "Other" adds one to four points to cells of less than nine. Exact lumping is unbiased,
# whatever the dependence, and so are the moments, which are 5 to 8 % noisier. The product of bits
# is unbiased if X and Y are independent, and under the diagonal dependence as well. But it takes
# the reports of "Other" for those of one kind of respondent. Under the shift, common Y go with five
# of the 95 other X, whose bits are not those of all others: the 25 cells are off by up to .2
# points, those with one variable in "Other" by up to .6, and (Other, Other) by 1.1, 19 standard
# errors. A falling tail, whose bits are far from independent, is a smaller matter: (Other, Other)
# is off by a third of a point.

# %%
biases = biases.sort_index()
exact = biases[biases.index.get_level_values(1).isin(["lump", "moments"])]
assert exact["rms z"].between(0.6, 1.5).all() and (exact["largest z"] < 4.5).all()
assert (biases.xs("ignore", level=1)["rms bias"] > 1.9).all()
modelled = biases.loc[("hashed", "product")]
assert modelled["largest z"].drop("shift").max() < 4.5
assert 15 < modelled.loc["shift", "largest z"] < 20
largest = bias["hashed", "product", "shift"].abs().to_numpy()
shown = largest[:5, :5].max(), np.append(largest[5, :5], largest[:5, 5]).max(), largest[5, 5]
assert np.round(shown, 1).tolist() == [0.2, 0.6, 1.1]
more = biases.xs("moments", level=1)["SD"] / biases.xs("lump", level=1)["SD"]
assert more.between(1.045, 1.085).all()
falling = of("hashed, geometric", "product", "mean") - table_1
assert 0.1 < falling.iloc[5, 5] < 0.45

# %% [markdown]
# ## Figure 2
#
# Ten surveys of the hashed kind. Ignoring "Other" overestimates all joint frequencies; and of the
# frequencies conditional on both answers being among the top five, it overestimates the small and
# underestimates the large: they regress to the mean, with a slope of .69. With "Other" both are on
# the diagonal. It is as in the paper.

# %%
fig, axes = plt.subplots(2, 2, figsize=(7.6, 7.4), layout="constrained")
true_cells = truth["hashed"][:5, :5].ravel()
panels = [("ignore", "ignoring Other"), ("product", "with Other")]
slopes = {}
for row, (method, title) in zip(axes, panels, strict=True):
    joint = np.array([of("hashed", method, run).to_numpy()[:5, :5].ravel() for run in RUNS])
    for ax, conditional in zip(row, (False, True), strict=True):
        t, p = true_cells, joint
        if conditional:
            t, p = 100 * t / t.sum(), 100 * p / p.sum(axis=1, keepdims=True)
        ax.plot(np.tile(t, SHOWN), p.ravel(), "o", ms=3, color="0.72", mec="none", label="a survey")
        ax.plot(t, p.mean(axis=0), "o", ms=4, color="C3", label="mean of 10")
        ends = [0.0, 1.05 * max(t.max(), p.max())]
        ax.plot(ends, ends, "-", color="0.3", lw=0.8)
        ax.set(xlim=(0, 1.1 * t.max()), ylim=(0, ends[1]))
        ax.set_xlabel("true frequency, %")
        ax.set_ylabel("estimate, %")
        ax.spines[["top", "right"]].set_visible(False)
        kind = "conditional on the top five" if conditional else "joint frequencies"
        ax.set_title(f"{kind}, {title}", fontsize="medium")
        slopes[method, kind] = np.polyfit(t, p.mean(axis=0), 1)[0]
axes[0, 0].legend(frameon=False, loc="lower right")
finish(fig, "figure2")
slopes = pd.Series(slopes).unstack()
print("slope of the estimate in the truth")
print(slopes.round(2).to_string())
assert slopes.loc["ignore", "conditional on the top five"] < 0.75
assert slopes.loc["ignore", "joint frequencies"] > 1.4
assert slopes.loc["product"].between(0.97, 1.03).all()

# %% [markdown]
# ## One pass instead of EM
#
# FPE16 wishes for a decoder that does without a pass over all reports in every iteration of EM.
# `one_step` is one: with the scores a and b of each report at the two marginal fits, and their
# information $J_X$ and $J_Y$, the table is $J_X^{-1}\, \overline{a b'}\, J_Y^{-1}$. The mean can be
# added up over chunks and machines. Near independence it is as good as the maximum likelihood
# estimate; a Newton step brings it there in any case.

# %%
mle = fits[True]
for name, method in {"one_step": "one_step", "and a Newton step": OneStep(newton=1)}.items():
    difference = (models[True].fit(method).params - mle.params).abs() / mle.bse
    print(f"{name}: at most {difference.max():.2g} standard errors from the maximum")
    assert difference.max() < (0.3 if method == "one_step" else 0.01)
spread = {m: rms(of("hashed", m, "mean") - truth["hashed"]) for m in ("product", "one_step")}
errors = {m: np.hypot(spread[m], rms(of("hashed", m, "sd"))) for m in spread}
print(f"root mean squared errors: {errors['one_step'] / errors['product']:.4f} of the maximum's")
assert 0.99 < errors["one_step"] / errors["product"] < 1.01

# %% [markdown]
# ## Figure 3: who pays?
#
# FPE16 privatises the category and the price (free or paid) of 200,000 apps, with a bit for each of
# 30 categories and one bit for the price. Our apps are others (32,000 of April 2019, in 33
# categories); where that table is not at hand, occupation and "any affair" of Fair's survey take
# their place. Either way 200,000 respondents are drawn from the proportions of the table.


# %%
def real_table():
    """A table of two variables that are associated, ordered by the share of its second column."""
    apps = here.resolve().parents[1] / "shared/data/apps/google_play_2019_counts.csv"
    if apps.exists():
        table = pd.read_csv(apps).set_index("category").rename_axis(columns="price")
        table.index = table.index.str.replace("_", " ").str.lower()
    else:
        women = datasets.load_fair()
        table = pd.crosstab(women["occupation"], women["any_affair"])
    share = table.iloc[:, 1] / table.sum(axis=1)
    table = table.loc[share.sort_values(ascending=False, kind="stable").index]
    return table / table.to_numpy().sum()


population = real_table()
rows, columns = list(population.index), list(population.columns)
names = (population.index.name, population.columns.name)
many = ldp.KRAPPOR(rows, epsilon=2 * np.log(3))  # q = .75, p = .25
boolean = ldp.KRR(columns, epsilon=np.log(3))  # one bit, with the same q and p
n = 200_000
rng = np.random.default_rng(3)
person = rng.choice(population.size, size=n, p=population.to_numpy().ravel())
x = many.privatize(population.index.take(person // 2), rng)
y = boolean.privatize(population.columns.take(person % 2), rng)
model = ldp.AssociationModel(x, y, names=names)
results = model.fit()
print(results.summary(max_rows=12))
print(results.test_independence())

# %%
rates = results.conditional().xs(columns[1], level=names[1])
rates["truth"] = population.iloc[:, 1] / population.sum(axis=1)
print(f"P({names[1]} = {columns[1]} | {names[0]})")
print(rates.round(3).to_string())
cells = results.conf_int().assign(truth=population.stack())
inside = {
    "cells": cells["truth"].between(cells["lower"], cells["upper"]),
    "rates": rates["truth"].between(rates["lower"], rates["upper"]),
}
for what, hit in inside.items():
    print(f"{hit.sum()} of {hit.size} intervals of {what} contain the truth")
    assert stats.binom.cdf(hit.sum(), hit.size, 0.95) > 1e-3

# %%
at = np.arange(len(rows))
height = 1.4 + 0.19 * len(rows)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, height), sharey=True, layout="constrained")
true = {"marker": "|", "ms": 9, "mew": 1.8, "color": "C3", "ls": "none", "label": "truth"}
useful = ((rates["lower"] > 0.0) | (rates["upper"] < 1.0)).to_numpy()
for mask, style in ((useful, {"color": "C0", "lw": 2}), (~useful, {"color": "0.8", "lw": 1})):
    left.hlines(at[mask], rates["lower"][mask], rates["upper"][mask], **style)
left.plot(rates["estimate"].clip(0, 1)[useful], at[useful], "o", ms=4, color="C0")
left.plot(rates["truth"], at, **true | {"label": None})
left.set_xlabel(f"P({names[1]} = {columns[1]} | {names[0]})\ngrey: anything is possible")
left.set_xlim(-0.01, 1.1 * max(rates["upper"][useful].max(), rates["truth"].max()))
for j, (column, colour) in enumerate(zip(columns, ("C2", "C1"), strict=True)):
    own = cells.xs(column, level=names[1])
    line = at + 0.18 * (2 * j - 1)
    right.hlines(line, own["lower"], own["upper"], color=colour, lw=3, label=column)
    right.plot(own["truth"], line, **true | {"ms": 6, "label": "truth" if j else None})
right.set_xlabel("frequency of the cell")
fig.legend(loc="outside upper right", ncols=3, frameon=False, fontsize="small")
left.set_yticks(at, rows, fontsize="small")
left.set_ylim(len(rows) - 0.4, -0.6)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
finish(fig, "figure3")

# %% [markdown]
# The intervals hold what they promise, which for most categories is little: with the apps, the paid
# cells of 26 of the 33 are smaller than their standard errors. A rate is a ratio with an uncertain
# denominator, and Fieller's interval is as wide as that makes it.
#
# FPE16 finds T = 107.1 on 29 degrees of freedom. Here are the tests that the package has. With the
# apps T is the least of them: of the 66 cells 13 are estimated as zero.

# %%
found = {}
for test in ("score", "wald", "lr", "fpe16"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.BoundaryWarning)
        result = model.test_independence(results, test)
    found[test] = {"statistic": result.statistic, "df": result.df, "p": result.pvalue}
print(
    pd.DataFrame(found).T.to_string(formatters={"p": "{:.2g}".format, "statistic": "{:.1f}".format})
)
zeros = int((results.params == 0.0).sum())
print(f"{zeros} of {results.params.size} cells are estimated as zero")
assert found["score"]["p"] < 1e-4
if names == ("category", "price"):
    paid = pd.DataFrame({"true": population.stack(), "se": results.linear_bse}).iloc[1::2]
    assert (paid["true"] < paid["se"]).sum() == 26 and zeros == 13
    assert min(found, key=lambda test: found[test]["statistic"]) == "fpe16"

# %% [markdown]
# ## Figure 11: which test?
#
# FPE16 (appendix A) draws 100 surveys of 10,000 respondents with independent answers, in a table
# that it does not print, and finds the p-values of T uniform. Here are five tables: *dense*, 5 x 5,
# by k-RR with epsilon = 4; the same with epsilon = 1, by k-RR and by RAPPOR, which makes it
# *sparse*: cells are within a few standard errors of zero, and estimates on the boundary; one of
# the shape of figure 3, 30 x 2; and one with a hundred respondents. 2,000 surveys (400 where the
# test is slow) give the size of each test. 1,000 (200) give its power against a linear trend that
# the score test finds with probability .7 in theory; in the sparse tables the steepest trend that
# there can be falls short of that.

# %%
FIVE = np.array([0.35, 0.25, 0.18, 0.13, 0.09])
SKEWED = np.array([0.7, 0.2, 0.05, 0.03, 0.02])
THIRTY = np.arange(1, 31) ** -0.7
THIRTY /= THIRTY.sum()
TABLES = {  # mechanisms, margins, respondents
    "dense": (ldp.KRR(5, 4.0), ldp.KRR(5, 4.0), FIVE, FIVE, 10_000),
    "sparse": (ldp.KRR(5, 1.0), ldp.KRR(5, 1.0), FIVE, FIVE, 10_000),
    "sparse, RAPPOR": (ldp.KRAPPOR(5, 1.0), ldp.KRAPPOR(5, 1.0), FIVE, FIVE, 10_000),
    "sparse, 30 x 2": (ldp.KRR(30, 1.0), ldp.KRR(2, 1.0), THIRTY, np.array([0.8, 0.2]), 10_000),
    "few respondents": (ldp.KRR(5, 4.0), ldp.KRR(5, 4.0), SKEWED, SKEWED, 100),
}
TESTS = ["score", "pearson", "wald", "lr", "fpe16"]
SLOW = {  # further tests, with the numbers of surveys for size and power
    "sparse": {"bootstrap": (400, 200)},
    "sparse, 30 x 2": {"bootstrap": (400, 200)},
    "few respondents": {"permuted": (2_000, 1_000)},
}
LEVELS = (np.arange(40) + 0.5) / 40
QUANTILES = [f"q{level:.4f}" for level in LEVELS]


def trend(margin):
    """Scores 1, 2, 3, ... with mean zero and variance one."""
    scores = np.arange(margin.size) - margin @ np.arange(margin.size)
    return scores / np.sqrt(margin @ scores**2)


def alternative(name):
    """A table with a linear-by-linear trend that the score test finds with power .7, or less."""
    *mechanisms, r, c, n = TABLES[name]
    u, v, size = trend(r), trend(c), 1.0
    for mechanism, margin, scores in zip(mechanisms, (r, c), (u, v), strict=True):
        Q = mechanism.channel().matrix()
        size *= ((margin * scores) @ Q) ** 2 @ (1.0 / (margin @ Q))  # what is left of a variance
    df = (r.size - 1) * (c.size - 1)
    critical = stats.chi2.isf(0.05, df)
    noncentral = optimize.brentq(lambda x: stats.ncx2.sf(critical, df, x) - 0.7, 1.0, 99.0)
    feasible = -1.0 / np.outer(u, v).min()
    return np.outer(r, c) * (1.0 + min(np.sqrt(noncentral / (n * size)), feasible) * np.outer(u, v))


def test_once(name, p, rng, extra):
    """Statistics and p-values of the tests of one survey; nan where a test is not available."""
    *mechanisms, _, _, n = TABLES[name]
    codes = np.divmod(rng.choice(p.size, size=n, p=p.ravel()), p.shape[1])
    reports = [m.privatize(x, rng) for m, x in zip(mechanisms, codes, strict=True)]
    model = ldp.AssociationModel(*reports)
    fitted, found = model.fit(), {}
    for test in [*TESTS, *extra]:
        how = {"permuted": {"method": "score", "rng": rng, "n_permutations": 199}}
        how["bootstrap"] = {"method": "bootstrap", "rng": rng, "n_boot": 99}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ldp.BoundaryWarning)
                result = model.test_independence(fitted, **how.get(test, {"method": test}))
            found[test] = result.statistic, result.pvalue
        except (ldp.NotAvailable, ldp.NotIdentified):
            found[test] = np.nan, np.nan
    return found


def test_often(name, surveys, extra=(), seed=1):
    """Size, power and, under independence, quantiles of the statistic of each test."""
    *_, r, c, _ = TABLES[name]
    laws, share = (np.outer(r, c), alternative(name)), {}
    for k, (p, R) in enumerate(zip(laws, surveys, strict=True)):
        rng = np.random.default_rng([seed, list(TABLES).index(name), len(extra), k])
        share[k] = [test_once(name, p, rng, extra) for _ in range(R)]
    rows = []
    for test in extra or TESTS:
        row = {"table": name, "test": test}
        for k, (which, R) in enumerate(zip(("size", "power"), surveys, strict=True)):
            statistic, pvalue = np.array([found[test] for found in share[k]]).T
            row |= {which: np.mean(pvalue <= 0.05), f"{which}_surveys": R}
            if which == "size":
                row["given"] = np.isfinite(statistic).mean()
                quantiles = np.nanquantile(statistic, LEVELS) if row["given"] else LEVELS * np.nan
        rows.append(row | dict(zip(QUANTILES, quantiles, strict=True)))
    return pd.DataFrame(rows)


def test_all(name):
    """All tests of one table, the slow ones in fewer surveys."""
    slow = [test_often(name, how, [test]) for test, how in SLOW.get(name, {}).items()]
    return pd.concat([test_often(name, (2_000, 1_000)), *slow])


tests = store("05_association_tests.csv", test_all, list(TABLES), ["table", "test"])

# %%
shown = {}
for name in TABLES:
    for test in tests.loc[name].index:
        row = tests.loc[(name, test)]
        for which in ("size", "power"):
            share, R = row[which], row[f"{which}_surveys"]
            error = np.sqrt(share * (1.0 - share) / R)
            text = f"{share:.3f} ({error:.3f})" if row["given"] else "refused"
            shown.setdefault((which, name), {})[test] = text
sizes = pd.DataFrame(shown).T.fillna("")
print("share of p-values up to .05, with its Monte Carlo error")
print(sizes.to_string())

# %% [markdown]
# **T** is as good as any in the dense table. In the sparse ones its size is next to zero, which
# would be harmless, but so is its power: where the score test finds the trend in 41 % of the
# surveys, T finds it in 6 %, and in the 30 x 2 table, whose shape is that of the paper's example,
# never. The **likelihood ratio** suffers from the same boundary, less. Its **bootstrap** keeps its
# size, and in the 30 x 2 table has twice the power of the score test, but needs a hundred fits for
# a p-value. The **score** test rests on the two marginal fits only and never sees the boundary. For
# k-RR it *is* **Pearson**'s chi-square of the privatised table, which the paper says cannot be
# used. The **Wald** test on the unconstrained estimate does as well, as long as there are many
# respondents.
#
# With a hundred respondents the chi-square law itself fails: expected counts are below one, and
# with it the score test would reject twice as often as it should. The p-value comes from the first
# three moments that the statistic has when reports are permuted, and keeps its level. `rng=` asks
# for the permutations themselves.

# %%
size, power = tests["size"].unstack(), tests["power"].unstack()
many_reports = ["dense", "sparse", "sparse, RAPPOR", "sparse, 30 x 2"]
# four Monte Carlo errors
assert size.loc[many_reports, ["score", "wald"]].stack().between(0.03, 0.07).all()
assert size.loc["few respondents", "wald"] < 0.01
assert abs(size.loc["dense", "fpe16"] - 0.05) < 0.02
assert power.loc["dense", ["score", "lr", "fpe16"]].between(0.64, 0.76).all()
sparse = ["sparse", "sparse, RAPPOR", "sparse, 30 x 2"]
assert (size.loc[sparse, "fpe16"] < 0.005).all() and (power.loc[sparse, "fpe16"] < 0.07).all()
assert (size.loc[sparse, "lr"] < 0.02).all()
assert (power.loc[sparse, "score"] > power.loc[sparse, "lr"]).all()
assert power.loc["sparse", ["score", "fpe16"]].round(2).tolist() == [0.41, 0.06]
assert power.loc["sparse, 30 x 2", "bootstrap"] > power.loc["sparse, 30 x 2", "score"]
assert tests.loc[["dense", "sparse"]].query("test in ['score', 'pearson']")["size"].nunique() == 2
assert abs(size.loc["few respondents", "score"] - 0.05) < 0.02
assert abs(size.loc["few respondents", "permuted"] - 0.05) < 0.02

*mechanisms, r, c, _ = TABLES["few respondents"]
rng = np.random.default_rng(100)
people = [rng.choice(5, size=100, p=margin) for margin in (r, c)]
few = [m.privatize(own, rng) for m, own in zip(mechanisms, people, strict=True)]
model = ldp.AssociationModel(*few)
fitted = model.fit()
print(fitted.test_independence())
print(model.test_independence(fitted, rng=rng))
assert fitted.test_independence().pvalue < 1.0

# %% [markdown]
# Some surveys with other random numbers agree with the stored ones.

# %%
again = test_often("sparse", (150, 150), seed=2).set_index("test")
stored = tests.loc["sparse"].loc[again.index]
for which in ("size", "power"):
    spread = np.sqrt(
        stored[which] * (1 - stored[which]) * (1 / 150 + 1 / stored[f"{which}_surveys"])
    )
    distance = ((again[which] - stored[which]).abs() - 1 / 150).clip(lower=0) / spread
    print(f"{which}: at most {distance.max():.1f} standard errors from the stored one")
    assert (distance < 4.0).all()

# %% [markdown]
# The quantiles of figure 11, of the statistics instead of their p-values. (One survey that tests at
# the 5 % level uses the right end of the axis.)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
styles = {"score": ("o", "C0"), "lr": ("s", "C1"), "fpe16": ("^", "C3")}
words = {"score": "score test", "lr": "likelihood ratio", "fpe16": "T of FPE16"}
for ax, name in zip(axes, ("dense", "sparse"), strict=True):
    expected = stats.chi2.ppf(LEVELS, 16)
    for test, (marker, colour) in styles.items():
        observed = tests.loc[(name, test), QUANTILES].astype(float)
        ax.plot(expected, observed, marker, ms=4, color=colour, label=words[test])
    ends = [0.0, 33.0]
    ax.plot(ends, ends, "-", color="0.3", lw=0.8)
    ax.set(xlim=ends, ylim=ends)
    ax.set_xlabel("quantile of chi-square, 16 df")
    ax.set_ylabel("quantile of the statistic in 2,000 surveys")
    ax.set_title(
        f"5 x 5 k-RR, n = 10,000, epsilon = {4 if name == 'dense' else 1}", fontsize="medium"
    )
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, loc="upper left")
finish(fig, "figure11")

# %% [markdown]
# ## Effect sizes
#
# Differences and ratios of risks have Fieller's intervals. Odds ratios and Cramer's V have
# intervals where the cells, or margins, that they divide by exceed four standard errors. Otherwise
# they say which do not, and give a set that may have one side only.

# %%
margin = results.margins()[names[0]]["linear"].sort_values(ascending=False)
first, second, *_, last = margin.index
print(results.risk_difference((first, second), columns[1]))
print(results.risk_ratio((first, second), columns[1]))
print(results.odds_ratio((first, last), columns))
print(results.cramers_v())
assert "standard errors from 0" in results.odds_ratio((first, last), columns).message
assert "standard errors from 0" in results.cramers_v().message

# %% [markdown]
# The remedy that the messages name is to merge rare categories. With a bit for each category it is
# exact. Here the commonest third is kept, and then the commonest alone.


# %%
def merged(kept):
    """The fit in which all other rows are lumped."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # exact: there is nothing to warn of
        model = ldp.AssociationModel(
            x, y, candidates=[kept, None], other=[True, False], names=names
        )
    return model.fit()


kept = margin.index[: len(margin) // 3 + 1].tolist()
some, one = merged(kept), merged([first])
group = pd.Index(rows).where(pd.Index(rows).isin(kept), "Other")
exact = population.groupby(group).sum()
product = np.outer(exact.sum(axis=1), exact.sum())
true_v = np.sqrt(((exact - product) ** 2 / product).to_numpy().sum())
print(some.test_independence())
print(some.cramers_v(), f"(truth {true_v:.3f})", sep="\n")
assert some.cramers_v().lower < true_v < some.cramers_v().upper
exact = population.groupby(np.where(pd.Index(rows) == first, first, "Other")).sum()
true_ratio = exact.loc[first].iloc[0] / exact.loc[first].iloc[1]
true_ratio /= exact.loc["Other"].iloc[0] / exact.loc["Other"].iloc[1]
ratio = one.odds_ratio((first, "Other"), columns)
print(ratio, f"(truth {true_ratio:.3f})", sep="\n")
assert ratio.given and ratio.lower < true_ratio < ratio.upper
for kind in ("heatmap", "departures", "mosaic"):
    finish(some.plot(kind).figure, kind)

# %% [markdown]
# ## Shared cohorts
#
# Cohorts are drawn for each variable anew unless the reports show that they are shared, as they are
# when a device keeps one cohort for all that it reports. Then two reports have more in common than
# the answers: both depend on the cohort. The model notices and compares respondents within their
# cohort only; nothing needs to be asked for.

# %%
rng = np.random.default_rng(8)
first = rng.choice(["red", "green", "blue"], size=20_000, p=[0.5, 0.3, 0.2])
second = np.where(rng.random(first.size) < 0.2, first, rng.permutation(first))
rappor = ldp.RAPPOR(n_bits=16, n_hashes=1, n_cohorts=4, f=0.0, p=0.25, q=0.75)
x = rappor.privatize(first, rng)
colours = ["red", "green", "blue"]
for cohort in (None, x.cohort):
    y = rappor.privatize(second, rng, cohort=cohort)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.IncompleteListWarning)
        model = ldp.AssociationModel(x, y, candidates=[colours, colours], names=("first", "second"))
    fitted = model.fit()
    print(f"shared cohorts: {model.shared_cohorts}, strata: {fitted.n_strata}")
    print(fitted.test_independence())
    exact = pd.crosstab(first, second, normalize=True).loc[colours, colours].to_numpy().ravel()
    assert model.shared_cohorts == (cohort is not None)
    assert np.all(np.abs(fitted.linear_params - exact) < 4 * fitted.linear_bse)

# %% [markdown]
# ## Summary
#
# | FPE16, section III and appendix A | here |
# |---|---|
# | table I: Zipfian margins | geometric; a sample of independent answers |
# | ignoring "Other" biases, with regression to the mean | yes: slope .69 |
# | printed formula for the bits of "Other" | equals ignoring it |
# | with "Other" (formula corrected) unbiased | if X and Y are independent, and not in general |
# | ... and for a bit per category | exact lumping: always |
# | table II | fits one survey of hashed reports, and means of ten of two kinds |
# | 15 categories can be estimated | yes with a geometric tail; with a flat one, 7 to 11 |
# | figure 3: intervals cover | yes; most rates are hardly known |
# | chi-square test not appropriate | for k-RR Pearson's test of the reports is the score test |
# | T has the chi-square law | in dense tables; in sparse ones it has neither size nor power |
# | a decoder without EM | `one_step`: one pass, as good as the maximum likelihood estimate here |
