"""Simulation-based calibration of the posteriors of regressions.

Parameters are drawn from the prior, a survey from these, and draws from its posterior. Where the
sampler and the density are right, the rank of each true parameter among the draws is uniform
(Talts, Betancourt, Simpson, Vehtari and Gelman 2018). In "devices" the share of cheaters is not
known. There are three controls, whose ranks must not be uniform: "naive" takes the reports for the
answers, "honest" takes nobody to cheat, and "other prior" has slopes of mean 1 and standard
deviation .5 for its prior, where those drawn have mean 0 and standard deviation 1.

    python -m benchmarks.posteriors.regressions logit --first 0 --surveys 500

adds surveys to benchmarks/posteriors/regressions.csv; a survey has its own seed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import ldpstats as ldp
from ldpstats.devices import flip, truth, unknown

__all__ = ["CONTROLS", "RANKS", "SETTINGS", "STORED", "pvalues", "ranks"]

Array = npt.NDArray[Any]

STORED = Path(__file__).with_suffix(".csv")
CONTROLS = ("naive", "honest", "other prior")
SETTINGS = (  # their order seeds their surveys
    *("logit", "multinomial", "ordered", "predictor", "naive"),
    *("devices", "honest", "other prior"),
)
RANKS = 64  # ranks 0 to 63, of 63 draws
_N = 300
_COLORS = ("red", "green", "blue")


def ranks(setting: str, number: int) -> dict[str, int]:
    """The rank of each true coefficient of a survey among 63 draws from its posterior."""
    rng = np.random.default_rng([SETTINGS.index(setting), number, 21])
    age = rng.integers(-1, 3, _N).astype(np.float64)
    away = age - age.mean()
    slope = rng.normal(0.0, 1.0, 2)
    own: dict[str, Any] = {"age": ldp.priors.Normal(0.0, 1.0)}
    if setting == "predictor":
        true, model = _predictor(age, away, slope[0], rng)
    elif setting in ("devices", "honest"):
        true, model, own["cheating"] = _devices(age, away, slope[0], rng, setting == "honest")
    elif setting == "multinomial":
        true, model = _multinomial(age, away, slope, rng)
    elif setting == "ordered":
        true, model = _ordered(age, slope[0], rng)
    else:
        true, model = _logit(age, away, slope[0], rng, setting == "naive")
    if setting == "predictor":
        own["smokes[T.yes]"] = own["age"]
    if setting == "honest":
        own.pop("cheating")
    if setting == "other prior":
        own["age"] = ldp.priors.Normal(1.0, 0.5)
    found = model.fit_posterior(rng, own, draws=16 * 40)
    some = found.samples[:, 9::10].reshape(-1, len(found.index))[: RANKS - 1]
    below = (some < np.asarray(true)).sum(axis=0)
    return {str(name): int(rank) for name, rank in zip(found.terms, below, strict=True)}


def _logit(age: Array, away: Array, slope: float, rng: Any, naive: bool) -> tuple[Any, Any]:
    share = rng.random()
    level = np.log(share / (1.0 - share))
    eta = level + slope * away
    answers = (rng.random(_N) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
    reports = ldp.KRR((0, 1), 1.0).privatize(answers, rng)
    if naive:
        reports = ldp.Observed((0, 1)).parse("ill", reports.y)
    X = pd.DataFrame({"const": 1.0, "age": age})
    return [level - slope * age.mean(), slope], ldp.PrivatizedLogit(reports, X)


def _multinomial(age: Array, away: Array, slope: Array, rng: Any) -> tuple[Any, Any]:
    level = np.log(rng.dirichlet(np.ones(3)))
    eta = np.outer(away, np.append(0.0, slope)) + level
    answers = np.array(_COLORS)[(eta + rng.gumbel(size=eta.shape)).argmax(axis=1)]
    reports = ldp.KRR(_COLORS, 1.5).privatize(answers, rng)
    X = pd.DataFrame({"const": 1.0, "age": age})
    level = level[1:] - level[0] - slope * age.mean()
    return [level[0], slope[0], level[1], slope[1]], ldp.PrivatizedMNLogit(reports, X)


def _ordered(age: Array, slope: float, rng: Any) -> tuple[Any, Any]:
    below = rng.dirichlet(np.ones(3)).cumsum()[:2]
    cuts = np.log(below / (1.0 - below)) + slope * age.mean()
    latent = slope * age + rng.logistic(size=_N)
    reports = ldp.KRR(_COLORS, 1.5).privatize(np.array(_COLORS)[np.digitize(latent, cuts)], rng)
    found = [slope, cuts[0], np.log(cuts[1] - cuts[0])]
    return found, ldp.PrivatizedOrderedModel(reports, pd.DataFrame({"age": age}))


def _predictor(age: Array, away: Array, slope: float, rng: Any) -> tuple[Any, Any]:
    share, common = rng.random(2)
    other = rng.normal(0.0, 2.5 / age.std())  # the default of the predictor's law
    smokes = rng.logistic(size=_N) < np.log(common / (1.0 - common)) + other * away
    effect = rng.normal(0.0, 1.0)
    level = np.log(share / (1.0 - share))
    eta = level + slope * away + effect * (smokes - 0.5)
    ill = (rng.logistic(size=_N) < eta).astype(int)
    reports = ldp.KRR(("no", "yes"), 1.5).privatize(np.where(smokes, "yes", "no"), rng)
    data = pd.DataFrame({"ill": ill, "age": age})
    model = ldp.regression("ill ~ age + smokes", data, {"smokes": reports})
    true = {"Intercept": level - slope * age.mean() - effect / 2, "age": slope}
    return [true.get(name, effect) for name in model.exog_names], model


def _devices(age: Array, away: Array, slope: float, rng: Any, honest: bool) -> tuple[Any, ...]:
    prior = ldp.priors.Beta(2.0, 8.0)
    cheating, share = rng.beta(prior.a, prior.b), rng.random()
    level = np.log(share / (1.0 - share))
    ill = np.where(rng.logistic(size=_N) < level + slope * away, "yes", "no")
    halves = ill[: _N // 2], ill[_N // 2 :]
    cheats = flip(unknown("cheating"))
    reports = []
    for q, part in zip((0.25, 0.6), halves, strict=True):
        forced = flip(q).when({"heads": "yes"}, otherwise=truth)
        device = cheats.when({"heads": "no", "tails": forced}).mechanism(("no", "yes"))
        own = device.simulate(part, rng, cheating=cheating)
        reports.append(ldp.Reports(own.y, device.at(cheating=0)) if honest else own)
    X = pd.DataFrame({"const": 1.0, "age": age})
    found = [level - slope * age.mean(), slope, *([] if honest else [cheating])]
    return found, ldp.PrivatizedLogit(reports, X), prior


def pvalues(table: pd.DataFrame) -> pd.DataFrame:
    """Chi-square tests of uniform ranks, in 16 classes, by setting and coefficient."""
    from scipy.stats import chisquare

    found = []
    for (setting, name), part in table.groupby(["setting", "coefficient"], sort=False):
        counts = np.bincount(part["rank"] * 16 // RANKS, minlength=16)
        found.append((setting, name, len(part), float(chisquare(counts).pvalue)))
    return pd.DataFrame(found, columns=["setting", "coefficient", "surveys", "pvalue"])


def main() -> None:
    """Add surveys to the stored ranks."""
    parser = argparse.ArgumentParser(description="Calibration of the posteriors of regressions.")
    parser.add_argument("setting", choices=SETTINGS)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--surveys", type=int, default=100)
    asked = parser.parse_args()
    rows = [
        (asked.setting, number, name, rank)
        for number in range(asked.first, asked.first + asked.surveys)
        for name, rank in ranks(asked.setting, number).items()
    ]
    new = pd.DataFrame(rows, columns=["setting", "survey", "coefficient", "rank"])
    old = [pd.read_csv(STORED)] if STORED.exists() else []
    table = pd.concat([*old, new]).drop_duplicates(
        ["setting", "survey", "coefficient"], keep="last"
    )
    table.sort_values(["setting", "survey"], kind="stable").to_csv(STORED, index=False)
    print(pvalues(table).to_string(index=False))


if __name__ == "__main__":
    main()
