"""Coverage of the default intervals of joint models of several questions.

Seven settings, of which each survey is fitted by `CellModel` as a user would. The control is
intervals half as wide; of the item of the crosswise model it takes everybody for attentive.

    python -m benchmarks.studies.joint_models           a part again, compared with the table
    python -m benchmarks.studies.joint_models --full    all of it: ten minutes
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.studies import stored
from ldpstats import cells
from ldpstats.devices import library

STORED = Path(__file__).with_suffix(".csv")
ALPHA = 0.05
YES = ("no", "yes")
ENDS = ["lower", "upper"]


def logistic(x):
    """Probabilities of log odds."""
    return 1.0 / (1.0 + np.exp(-np.asarray(x)))


def privatized(mechanism, answers, rng):
    """Reports of answers, bool of shape (n, J), a question each."""
    return [mechanism.privatize(np.where(column, "yes", "no"), rng) for column in answers.T]


def halved(ends, truth, kinds):
    """Intervals with the truth and a kind of each, and as a control intervals half as wide."""
    ends = ends.to_numpy()
    middle = ends.mean(axis=1)[:, None]
    return ends, truth, kinds, middle + (ends - middle) / 2.0


def log_linear(rng, mechanism, n=4000):
    """Five items: all pairs are in the model, of which four are associated."""
    cell = np.indices((2,) * 5).reshape(5, -1).T
    pairs = {(a, b): 0.0 for b in range(5) for a in range(b)}
    pairs |= {(0, 1): 0.8, (1, 2): 0.6, (0, 3): 0.5, (3, 4): -0.7}
    terms = {(0,): -0.6, (1,): -0.3, (2,): 0.0, (3,): -0.5, (4,): 0.2} | pairs
    eta = sum(value * cell[:, list(term)].prod(axis=1) for term, value in terms.items())
    p = np.exp(eta) / np.exp(eta).sum()
    reports = privatized(mechanism, cell[rng.choice(32, n, p=p)] > 0, rng)
    results = ldp.CellModel(reports, cells.loglinear("(q0 + q1 + q2 + q3 + q4)**2")).fit()
    names = [":".join(f"q{j}[yes]" for j in term) for term in terms]
    associations = ["association" if value else "no association" for value in pairs.values()]
    kinds = ["item alone"] * 5 + associations
    return halved(results.conf_int().loc[names], [*terms.values()], kinds)


def latent_classes(rng, n=3000):
    """Eight items, two classes of .7 and .3; k-RR at an epsilon of 2 a question."""
    p = np.array([[0.2] * 4 + [0.1] * 4, [0.7] * 4 + [0.5] * 4])
    answers = rng.random((n, 8)) < p[(rng.random(n) < 0.3).astype(int)]
    reports = privatized(ldp.KRR(YES, epsilon=2.0), answers, rng)
    results = ldp.CellModel(reports, cells.latent_class(2)).fit()
    return halved(
        results.conf_int().iloc[1:], [0.3, *p.T.ravel()], ["share of a class"] + ["answers"] * 16
    )


def rasch(rng, n=3000):
    """Six items of one ability; k-RR at an epsilon of 2 a question."""
    hard = np.array([-1.5, -1.0, 0.0, 0.5, 1.0, 1.5])
    answers = rng.random((n, 6)) < logistic(rng.normal(0.0, 1.2, (n, 1)) - hard)
    results = ldp.CellModel(
        privatized(ldp.KRR(YES, epsilon=2.0), answers, rng), cells.rasch()
    ).fit()
    return halved(results.conf_int(), [*hard, 1.2], ["difficulties"] * 6 + ["sd of abilities"])


def list_experiment(rng, n=2000):
    """Four control items and one that a quarter has, the more the fewer of the others; no noise."""
    has, treated = rng.random(n) < 0.25, np.arange(n) < n // 2
    count = rng.binomial(4, np.where(has, 0.4, 0.55)) + has * treated
    data = [
        (ldp.Observed(tuple(range(5 + there[0]))).parse("count", count[there]), there)
        for there in (~treated, treated)
    ]
    results = ldp.CellModel(data, cells.list_experiment(4)).fit()
    law = [np.array([0.25])]
    for p in (0.55, 0.4):
        y = np.arange(5)
        law.append(np.array([1, 4, 6, 4, 1]) * p**y * (1.0 - p) ** (4 - y))
    return halved(results.conf_int(), np.concatenate(law), ["item"] + ["control counts"] * 10)


def crosswise(rng, n=2000):
    """An item that .15 have and an anchor that nobody has; one in five answers at random."""
    attentive, item = rng.random(n) < 0.8, rng.random(n) < 0.15
    careful = [truth == (rng.random(n) < 0.15) for truth in (item, np.zeros(n, dtype=bool))]
    same = [np.where(attentive, one, rng.random(n) < 0.5) for one in careful]
    device = library.inattentive_crosswise("15/100").mechanism(YES)
    data = [device.parse("", np.where(one, "same", "different")) for one in same]
    law = cells.function(lambda t: [[1 - t[0], 0 * t[0]], [t[0], 0 * t[0]]], [0.2], ["share"])
    results = ldp.CellModel(data, law, names=["item", "anchor"]).fit()
    ends, truth, kinds, control = halved(results.conf_int(), [0.15, 0.8], ["item", "attentive"])
    trusting = ldp.FrequencyModel(device.at(attentive=1).counts(data[0].tally().vector())).fit()
    control[0] = trusting.conf_int().to_numpy()[1]
    return ends, truth, kinds, control


def two_of_six(rng, n=6000):
    """Each person was asked two of six questions: shares of yes to both of a pair.

    Who has .2 or .7 for a yes are two classes of .6 and .4; k-RR at an epsilon of 1.5 a question.
    """
    answers = rng.random((n, 6)) < np.where(rng.random((n, 1)) < 0.6, 0.2, 0.7)
    asked, krr = rng.random((n, 6)).argsort(axis=1) < 2, ldp.KRR(YES, epsilon=1.5)
    data = [
        (krr.privatize(np.where(answer, "yes", "no")[there], rng), there)
        for answer, there in zip(answers.T, asked.T, strict=True)
    ]
    results = ldp.CellModel(data, cells.latent_class(2)).fit(unidentified="keep")
    pairs = [(f"q{a}", f"q{b}") for b in range(6) for a in range(b)]
    ends = pd.DataFrame([results.margin(*pair).loc[YES[1:] * 2, ENDS] for pair in pairs])
    return halved(ends, [0.22] * 15, ["yes to both"] * 15)


SETTINGS = {  # how a survey is made and fitted, and how many
    "log-linear, five items, k-RR": (
        lambda rng: log_linear(rng, ldp.KRR(YES, epsilon=2.0)),
        140,
    ),
    "log-linear, five items, bits": (
        lambda rng: log_linear(rng, ldp.KRAPPOR(YES, epsilon=2.0)),
        140,
    ),
    "two latent classes, eight items": (latent_classes, 250),
    "Rasch, six items": (rasch, 400),
    "list experiment, four control items": (list_experiment, 160),
    "crosswise with an anchor": (crosswise, 1000),
    "two of six questions asked": (two_of_six, 200),
}


def one(setting, number, seed=1):
    """Truth and kind of each parameter or pair, and whether a survey and its control cover it."""
    rng = np.random.default_rng([seed, list(SETTINGS).index(setting), number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.ConvergenceWarning)
        ends, truth, kinds, control = SETTINGS[setting][0](rng)
    held = [(limits[:, 0] <= truth) & (truth <= limits[:, 1]) for limits in (ends, control)]
    return truth, kinds, held


def run(setting, R=None, seed=1):
    """Coverage of each parameter or pair of a setting, and of its control."""
    R = R or SETTINGS[setting][1]
    truths, kinds, held = zip(*(one(setting, number, seed) for number in range(R)), strict=True)
    coverage, control = np.mean(held, axis=0)
    return pd.DataFrame(
        {
            "setting": setting,
            "of": kinds[0],
            "truth": truths[0],
            "coverage": coverage,
            "control": control,
            "surveys": R,
        }
    )


def load():
    """The stored coverages, a row for each parameter or pair."""
    return stored.load(STORED, "setting", list(SETTINGS))


def check(R=30, seed=2):
    """Surveys with other random numbers agree with what is stored; the controls do not."""
    stored.agree(load(), run, ("Rasch, six items", "crosswise with an anchor"), R, seed)


def main():
    stored.remake(__doc__, STORED, list(SETTINGS), run)
    print(load().to_string())
    check()


if __name__ == "__main__":
    main()
