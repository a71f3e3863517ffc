"""Intervals and tests of joint models in simulated surveys, each with a control that fails."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from simulate import coverage, near, repeat, size

import ldpstats as ldp
from ldpstats import cells
from ldpstats.devices import flip, library, truth, unknown

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ldpstats.ConvergenceWarning")]

YES = ("no", "yes")


def privatized(mechanism, answers, rng):
    return [mechanism.privatize(np.where(column, "yes", "no"), rng) for column in answers.T]


def classes(n, items, rng, share=0.6):
    """Two classes, of which one has this share, that say yes with probabilities .2 and .7."""
    return rng.random((n, items)) < np.where(rng.random((n, 1)) < share, 0.2, 0.7)


def half(ends, truth):
    """Intervals with their truth, and as a control intervals half as wide."""
    middle = ends.mean(axis=1)[:, None]
    return {"ends": ends, "truth": truth, "control": middle + (ends - middle) / 2.0}


def log_linear(mechanism, rng):
    cell = np.indices((2,) * 4).reshape(4, -1).T
    pairs = {(0, 1): 0.8, (1, 2): 0.6, (0, 3): 0.5}
    eta = cell @ [-0.6, -0.3, 0.0, -0.5] + sum(
        value * cell[:, a] * cell[:, b] for (a, b), value in pairs.items()
    )
    p = np.exp(eta) / np.exp(eta).sum()
    reports = privatized(mechanism, cell[rng.choice(len(cell), 4000, p=p)].astype(bool), rng)
    results = ldp.CellModel(reports, cells.loglinear("(q0 + q1 + q2 + q3)**2")).fit()
    small = cells.loglinear("q0*q1 + q1*q2 + q0*q3")
    nested = ldp.CellModel(reports, small).fit()
    names = {f"q{a}[yes]:q{b}[yes]": value for (a, b), value in pairs.items()}
    ends = results.conf_int().loc[[*names]].to_numpy()
    tests = {"lr": nested.lr_test(results).pvalue, "fit": nested.goodness_of_fit().pvalue}
    return half(ends, [*names.values()]) | tests


def latent(mechanism, rng):
    reports = privatized(mechanism, classes(3000, 6, rng, 0.7), rng)
    results = ldp.CellModel(reports, cells.latent_class(2)).fit(n_starts=2)
    ends = results.conf_int().iloc[1:4].to_numpy()
    return half(ends, [0.3, 0.2, 0.7]) | {"fit": results.goodness_of_fit().pvalue}


def items(mechanism, rng):
    hard = np.array([-1.0, 0.0, 0.5, 1.2])
    trait = rng.normal(0.0, 1.2, (3000, 1))
    answers = rng.random((3000, 4)) < 1.0 / (1.0 + np.exp(hard - trait))
    results = ldp.CellModel(privatized(mechanism, answers, rng), cells.rasch()).fit()
    ends = results.conf_int().to_numpy()[[0, 4]]
    return half(ends, [-1.0, 1.2]) | {"fit": results.goodness_of_fit().pvalue}


def counts(mechanism, rng):
    n = 2000
    x, treated = rng.integers(0, 2, n), rng.random(n) < 0.5
    holds = rng.random(n) < 1.0 / (1.0 + np.exp(0.8 - 0.7 * x))
    count = rng.binomial(3, 1.0 / (1.0 + np.exp(0.3 * x - 0.2))) + holds * treated
    short, long = ldp.KRR(range(4), epsilon=3.0), ldp.KRR(range(5), epsilon=3.0)
    data = [
        (short.privatize(count[~treated], rng), ~treated),
        (long.privatize(count[treated], rng), treated),
    ]
    model = ldp.CellModel(data, cells.list_experiment(3, "~ x"), covariates=pd.DataFrame({"x": x}))
    return half(model.fit(n_starts=3).conf_int().to_numpy()[:2], [-0.8, 0.7])


def anchored(mechanism, rng):
    """The crosswise model with an anchor; the control takes everybody for attentive."""
    n, p = 2000, 0.15
    attentive, has = rng.random(n) < 0.8, rng.random(n) < 0.15
    careful = [truth == (rng.random(n) < p) for truth in (has, np.zeros(n, dtype=bool))]
    same = [np.where(attentive, one, rng.random(n) < 0.5).astype(int) for one in careful]
    device = library.inattentive_crosswise("15/100").mechanism(YES)
    at = device.outputs.get_indexer(["different", "same"])
    data = [ldp.Reports(at[one], device) for one in same]
    law = cells.function(lambda t: [[1 - t[0], 0 * t[0]], [t[0], 0 * t[0]]], [0.2], ["share"])
    results = ldp.CellModel(data, law, names=["item", "anchor"]).fit("robust", n_starts=3)
    naive = ldp.FrequencyModel(device.at(attentive=1).counts(data[0].tally().vector())).fit()
    wrong = naive.conf_int().to_numpy()[[1, 1]]
    return {"ends": results.conf_int().to_numpy(), "truth": [0.15, 0.8], "control": wrong}


def inattentive(mechanism, rng):
    """Carelessness and item depend on age; the control has one carelessness for all."""
    n = 3000
    coin = flip(0.5).when({"heads": "yes", "tails": "no"})
    device = flip(unknown("careless")).when({"heads": coin, "tails": truth}).mechanism(YES)
    old = rng.random(n) < 0.5
    item, anchor = rng.random(n) < np.where(old, 0.1, 0.4), np.zeros(n, dtype=bool)
    lost = rng.random((2, n)) < 1.0 / (1.0 + np.exp(np.where(old, 0.2, 1.7)))
    said = np.where(lost, rng.random((2, n)) < 0.5, [item, anchor]).astype(int)
    data = [ldp.Reports(one, device) for one in said]
    data.append(ldp.Observed((False, True)).parse("old", old))

    def law(t):  # item, anchor, old
        share = np.stack([t[0], t[1]])
        given = np.stack([1.0 - share, share]) * np.stack([1.0 - t[2], t[2]])
        return np.stack([given, 0.0 * given], axis=1)

    structure = cells.function(law, [0.3, 0.3, 0.5], ["young", "aged", "old"])
    how = {"names": ["item", "anchor", "old"], "covariates": pd.DataFrame({"old": old * 1.0})}
    model = ldp.CellModel(data, structure, **how, parameters={"careless": "~ old"})
    naive = ldp.CellModel(data, structure, **how).fit(n_starts=3)
    results, limits = model.fit(n_starts=3), ["lower", "upper"]
    margin, wrong = (one.margin("item")[limits].iloc[1] for one in (results, naive))
    slope = results.conf_int().loc["careless: old"]
    return {
        "ends": np.array([slope, margin]),
        "truth": [1.5, 0.25],
        "control": np.array([[9, 9], wrong]),
    }


def panel(mechanism, rng):
    """Three waves of stationary moves, of which people miss some; naive intervals count reports."""
    n, moves = 3000, np.array([0.1, 0.2])
    waves = [rng.random(n) < 0.4]
    for _ in range(2):
        waves.append(waves[-1] ^ (rng.random(n) < moves[waves[-1].astype(int)]))
    masks = rng.random((3, n)) < 0.9
    made = [
        mechanism.privatize(np.where(one[there], "yes", "no"), rng)
        for one, there in zip(waves, masks, strict=True)
    ]
    data = [*zip(made, masks, strict=True)]
    free, same = (ldp.CellModel(data, cells.markov(stationary=own)).fit() for own in (False, True))
    seen = np.full((3, n), -1)
    for row, reports, there in zip(seen, made, masks, strict=True):
        row[there] = reports.y
    naive = []
    for y in (0, 1):
        ahead = [b[(a == y) & (b >= 0)] for a, b in pairwise(seen)]
        left = np.concatenate(ahead) != y
        half = 1.96 * np.sqrt(left.mean() * (1.0 - left.mean()) / left.size)
        naive.append([left.mean() - half, left.mean() + half])
    tests = {"lr": same.lr_test(free).pvalue, "fit": same.goodness_of_fit().pvalue}
    ends = same.conf_int().to_numpy()[1:]
    return {"ends": ends, "truth": moves, "control": np.array(naive)} | tests


def partial(mechanism, rng):
    """Two questions of six each, the share of yes to both of a pair; classes are left open."""
    n = 6000
    answers, asked = classes(n, 6, rng), rng.random((n, 6)).argsort(axis=1) < 2
    data = []
    for answer, there in zip(answers.T, asked.T, strict=True):
        made = mechanism.privatize(np.where(answer, "yes", "no")[there], rng)
        data.append((made, there))
    ends = []
    for structure in (cells.saturated(), cells.latent_class(2)):
        results = ldp.CellModel(data, structure).fit(n_starts=2, unidentified="keep")
        row = results.margin("q0", "q1").loc[("yes", "yes")]
        ends.append([row["lower"], row["upper"]])
    return half(np.array(ends), [0.22, 0.22])


KRR, BITS = ldp.KRR(YES, epsilon=1.5), ldp.KRAPPOR(YES, epsilon=1.5)


@pytest.mark.parametrize(
    ("survey", "mechanism", "seed"),
    [
        (latent, ldp.KRR(YES, epsilon=2.0), 1),
        (log_linear, BITS, 2),
        (items, KRR, 3),
        (anchored, KRR, 4),
        (counts, KRR, 5),
        (partial, KRR, 6),
        (log_linear, KRR, 7),
        (inattentive, KRR, 8),
        (panel, ldp.KRR(YES, epsilon=2.0), 9),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_intervals_cover_and_tests_keep_their_size(survey, mechanism, seed, replications):
    R = replications(1000, least=80)
    rng = np.random.default_rng(seed)
    said = repeat(R, lambda _: survey(mechanism, rng))
    assert near(coverage(said["ends"], said["truth"][0]), 0.95, R)
    assert not near(coverage(said["control"], said["truth"][0]), 0.95, R)  # half as wide, or naive
    for test in {"lr", "fit"} & said.keys():
        assert near(size(said[test]), 0.05, R)
