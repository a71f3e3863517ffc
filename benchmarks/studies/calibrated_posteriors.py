"""Simulation-based calibration of the posteriors of tables and of pooled groups.

A truth is drawn from the prior, a survey from the truth, and a posterior of the survey. Whatever
the prior, the rank of the truth among the draws is uniform (Talts et al. 2018). Ranks are from 0 to
159. The last setting is the control: reports made at epsilon 1 are analysed as if made at 1.5.

Run as ``python -m benchmarks.studies.calibrated_posteriors --full [SETTING ...]``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import ldpstats as ldp
from benchmarks.studies.stored import load, renew, wanted

CSV = Path(__file__).with_suffix(".csv")
SURVEYS, CONTROLS, DRAWS, BINS = 1000, 300, 160, 20
JOBS, LATE = ("nurse", "cook", "clerk"), ("no", "yes")
SIZES = (0, 40, 80, 160, 320, 640)  # reports in each group


def table_prior(name):
    """The prior of a setting, and a function that draws a table from it."""
    if name == "margins":
        prior = ldp.priors.Margins(first=[6.0, 4.0], second=[3.0, 2.0, 1.0], log_odds_sd=1.5)
        return prior, lambda rng: prior.draw((2, 3), rng)[0]
    return None, lambda rng: rng.dirichlet(np.ones(6)).reshape(2, 3)


def table(name, rng, n=400):
    """Truth and draws of one survey of two questions: cells, Cramer's V."""
    prior, draw = table_prior(name)
    P = draw(rng)
    i, j = np.unravel_index(rng.choice(6, n, p=P.ravel() / P.sum()), (2, 3))
    late, job = ldp.KRR(LATE, 1.0), ldp.KRR(JOBS, 2.0)
    reports = late.privatize(np.array(LATE)[i], rng), job.privatize(np.array(JOBS)[j], rng)
    analysed = ldp.KRR(LATE, 1.5 if name == "control" else 1.0)
    counts = ldp.JointCounts([ldp.Reports(reports[0].y, analysed), reports[1]])
    found = ldp.AssociationModel(counts).fit_posterior(rng, prior, DRAWS)
    expected = np.outer(P.sum(axis=1), P.sum(axis=0))
    v = np.sqrt(((P - expected) ** 2 / expected).sum())
    draws = np.column_stack([found.flat, found.cramers_v().flat])
    return np.append(P.ravel(), v), draws


def groups(name, rng):
    """Truth and draws of one survey in six groups, of which one is without a report."""
    prior = ldp.priors.Pooling()
    sd, common, P = (part[0] for part in prior.draw(len(SIZES), JOBS, rng))
    krr = ldp.KRR(JOBS, 1.0)
    data = {str(g): krr.draw(P[g] / P[g].sum(), n, rng) for g, n in enumerate(SIZES)}
    found = ldp.GroupedModel(data).fit_posterior(rng, prior, DRAWS)
    truth = np.concatenate([[sd, common[0]], P[:, 0]])
    draws = np.column_stack(
        [found.between.flat, found.common.flat[:, :1], found.flat[:, :: len(JOBS)]]
    )
    return truth, draws


NAMES = {
    table: [*(f"cell {c}" for c in range(6)), "V"],
    groups: ["sd", "common", *(f"group of {n}" for n in SIZES)],
}
SETTINGS = {"flat": table, "margins": table, "pooling": groups, "control": table}


def ranks(setting, surveys):
    """Ranks of the truth in some surveys, by number: a row a survey and quantity."""
    rows = []
    for survey in surveys:
        rng = np.random.default_rng([list(SETTINGS).index(setting), survey])
        truth, draws = SETTINGS[setting](setting, rng)
        below = (draws[: DRAWS - 1] < truth).sum(axis=0)
        names = NAMES[SETTINGS[setting]]
        rows += [(setting, survey, one, rank) for one, rank in zip(names, below, strict=True)]
    return pd.DataFrame(rows, columns=["setting", "survey", "quantity", "rank"])


def uniformity(found):
    """By setting and quantity: chi-square p-value of ranks in 20 bins, and mean rank over 159."""
    tested = found.groupby(["setting", "quantity"], sort=False)["rank"]
    counts = tested.apply(lambda r: np.bincount(r * BINS // DRAWS, minlength=BINS))
    pvalues = counts.map(lambda n: stats.chisquare(n).pvalue)
    return pd.DataFrame({"pvalue": pvalues, "mean": tested.mean() / (DRAWS - 1)})


def compact(found):
    """A row a survey: the ranks of its quantities, in order."""
    rows = found.assign(rank=found["rank"].astype(str)).groupby(["setting", "survey"], sort=False)
    return rows["rank"].agg(" ".join).reset_index()


def stored():
    """The ranks that are stored, a row a survey and quantity."""
    table = load(CSV, "setting", list(SETTINGS))
    long = table.assign(rank=table["rank"].str.split()).explode("rank", ignore_index=True)
    place = long.groupby(["setting", "survey"]).cumcount()
    quantity = [NAMES[SETTINGS[one]][at] for one, at in zip(long["setting"], place, strict=True)]
    return long.assign(quantity=quantity, rank=long["rank"].astype(int))


def main():
    parts = wanted(__doc__, SETTINGS)
    if parts:
        numbers = {one: CONTROLS if one == "control" else SURVEYS for one in parts}
        made = {one: compact(ranks(one, range(number))) for one, number in numbers.items()}
        renew(CSV, "setting", list(SETTINGS), made)
    print(uniformity(stored()).round(3).to_string())


if __name__ == "__main__":
    main()
