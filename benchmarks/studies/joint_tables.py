"""Joint estimates with a category "Other": simulations of vignettes/articles/05_association.py.

    python -m benchmarks.studies.joint_tables                      a few surveys again, and compare
    python -m benchmarks.studies.joint_tables --full [SCENE ...]   recompute and store

Tables I and II of FPE16 (section III): two variables with 100 categories each, of which the five
commonest are listed, 100,000 respondents, p = .25, q = .75, f = 0. The paper publishes neither the
tail (how the mass of "Other" is spread over 95 categories) nor its hashes. Tried are a flat tail
and one that goes on falling by .815; one cohort and eight; independence, and two kinds of
dependence: 30 % of the respondents have Y = X (diagonal), or Y 50 categories away from X (shift),
so that five common X go with rare Y and the other way round. Reports are hashed (RAPPOR with 128
bits and two hashes; every survey hashes other strings, so that what varies includes the collisions)
or basic: a bit for each of the 100 categories, which is k-RAPPOR with epsilon = 2 ln 3. Because
figure 2 has ten surveys there is also the law of a mean of ten with the same hashes.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.studies import stored

STORED = Path(__file__).with_suffix(".csv")
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
basic = ldp.KRAPPOR(100, epsilon=2 * np.log(3))
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
SHOWN = 10
RUNS = [f"run {i}" for i in range(1, SHOWN + 1)]
SHAPES = ["independent", "diagonal", "shift"]
METHODS = [("hashed", "ignore"), ("hashed", "product"), ("basic", "ignore"), ("basic", "lump")]
READINGS = [  # of table II: kind of reports, method, surveys of which it is the mean
    ("hashed", "ignore", 1),
    *(
        (scene, "product", surveys)
        for surveys in (1, 10)
        for scene in (
            "hashed",
            "hashed, geometric",
            "hashed, 8 cohorts",
            "hashed, 8 cohorts, geometric",
        )
    ),
    *(("basic", "lump", surveys) for surveys in (1, 10)),
]


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


# Reading what is stored


def load():
    """Mean, standard deviation and ten runs of every cell, by scene and method."""
    laws = stored.load(STORED, "scene", list(SCENES))
    return laws.set_index(["scene", "method"]).sort_index()


def of(laws, scene, method, column):
    """A column of the stored results as a 6 x 6 table."""
    frame = laws.loc[(scene, method)]
    table = frame.pivot(index="x", columns="y", values=column)
    return table.reindex(index=CELLS, columns=CELLS)


def true_table(scene):
    """The true 6 x 6 table of a scene, in per cent."""
    return 100 * lumped(law(*SCENES[scene][2:4]))


def rms(values):
    return float(np.sqrt(np.nanmean(np.square(values))))


def scene_of(encoder, shape):
    return encoder if shape == "independent" else f"{encoder}, {shape}"


def bias_of(laws, encoder, method, shape):
    """Bias of each cell in percentage points, and its Monte Carlo standard error."""
    scene = scene_of(encoder, shape)
    bias = of(laws, scene, method, "mean") - true_table(scene)
    return bias, of(laws, scene, method, "sd") / np.sqrt(of(laws, scene, method, "number"))


def biases(laws):
    """Root mean squares over the 25 cells, with what chance makes of the bias; z over all."""
    rows, top = {}, (slice(5), slice(5))
    for encoder, method in [*METHODS, ("basic", "moments")]:
        for shape in SHAPES:
            bias, error = bias_of(laws, encoder, method, shape)
            rows[encoder, method, shape] = {
                "rms bias": rms(bias.iloc[top]),
                "by chance": rms(error.iloc[top]),
                "SD": rms(of(laws, scene_of(encoder, shape), method, "sd").iloc[top]),
                "rms z": rms(bias / error),
                "largest z": (bias / error).abs().max(axis=None),
                "bias Other, Other": bias.iloc[5, 5],
                "its error": error.iloc[5, 5],
            }
    return pd.DataFrame(rows).T


def scores(laws, scene, method, surveys=1):
    """Mean and noise of our estimates, and the z values of table II with them.

    Table I is a sample from independent answers, and table II differs from it by the noise of the
    reports only: the sampling variance is taken off ours.
    """
    name = f"{scene}, mean of 10" if surveys == 10 and method == "product" else scene
    mean, sd = of(laws, name, method, "mean"), of(laws, name, method, "sd")
    if name == "basic":
        sd = sd / np.sqrt(surveys)  # surveys that share no hashes
    noise = np.sqrt(sd**2 - table_1 * (100 - table_1) / (N * surveys))
    return mean, noise, (table_2 - mean) / noise


def cell_by_cell(laws):
    """Tables I and II beside our estimates from one survey, for two tails."""
    cells = {("", "true"): table_1.ravel(), ("", "printed"): table_2.ravel()}
    for tail, scene in [("flat tail", "hashed"), ("geometric tail", "hashed, geometric")]:
        for name, table in zip(("mean", "sd", "z"), scores(laws, scene, "product"), strict=True):
            cells[tail, name] = table.to_numpy().ravel()
    return pd.DataFrame(cells, pd.MultiIndex.from_product([CELLS, CELLS], names=["X", "Y"]))


def readings(laws):
    """Table II as a draw from each law: its z values, and those of ten of our estimates."""
    rows = {}
    for scene, method, surveys in READINGS:
        name = f"{scene}, mean of 10" if surveys == 10 and method == "product" else scene
        mean, sd = of(laws, name, method, "mean"), of(laws, name, method, "sd")
        own = [rms((of(laws, name, method, run) - mean) / sd) for run in RUNS]
        *_, z = scores(laws, scene, method, surveys)
        rows[scene, method, surveys] = {
            "rms z": rms(z),
            "largest": z.abs().max(axis=None),
            "25 cells": rms(z.iloc[:5, :5]),
            "Other, Other": z.iloc[5, 5],
            "ours, least": min(own),
            "ours, most": max(own),
        }
    return pd.DataFrame(rows).T.rename_axis(["kind", "method", "surveys"])


def detected_categories(seed=15):
    """How many of the 100 categories of each variable are detected, in two surveys."""
    found = {}
    for scene in ("hashed, 8 cohorts", "hashed, 8 cohorts, geometric", "basic", "basic, geometric"):
        for i in range(2):
            both = collect(scene, np.random.default_rng([seed, i]))[0]
            for name, reports in zip("xy", both, strict=True):
                words = [f"{name} {j}" for j in range(100)] if scene.startswith("hashed") else None
                results = ldp.FrequencyModel(reports, candidates=words).fit()
                found.setdefault(scene, []).append(len(results.detected()))
    return found


def check(seed=99):
    """Other surveys agree with what is stored, and not with what is for another dependence."""
    laws, rows = load(), {}
    for scene, method, wrong in [
        ("hashed", "product", "hashed, diagonal"),
        ("hashed, 8 cohorts", "product", "hashed, shift"),
        ("basic", "lump", "basic, diagonal"),
        ("basic, shift", "lump", "basic"),
    ]:
        again = estimates(scene, np.random.default_rng(seed), "again")[method]
        rows[scene, method] = {
            what: rms((again - of(laws, name, method, "mean")) / of(laws, name, method, "sd"))
            for what, name in (("same law", scene), ("another", wrong))
        }
    agreement = pd.DataFrame(rows).T
    print("root mean square of 36 z values")
    print(agreement.round(2).to_string())
    assert agreement["same law"].between(0.5, 1.7).all()
    assert (agreement["another"] > 2.5).all()


def main():
    made = {scene: estimate_often(scene) for scene in stored.wanted(__doc__, list(SCENES))}
    if made:
        stored.renew(STORED, "scene", list(SCENES), made)
    check()


if __name__ == "__main__":
    main()
