"""Coverage of turnover, change, cells and transitions of persons who were asked in several waves.

Devices keep their response to each answer, but for one setting; each survey is fitted as a user
would. There are two controls: intervals half as wide, and kept responses that are taken for fresh
ones, `memoised=False`.

    python -m benchmarks.studies.waves           a part again, compared with the table
    python -m benchmarks.studies.waves --full    all of it: fifteen minutes
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.studies import stored

STORED = Path(__file__).with_suffix(".csv")
ALPHA = 0.05
ENDS = ["lower", "upper"]
STEPS = {labels: ldp.KRR(labels, epsilon=2.0) for labels in (("no", "yes"), ("a", "b", "c"))}
WORDS = ("a", "b", "c", "d")
RAPPOR = ldp.RAPPOR(16, n_hashes=1, n_cohorts=1, f=0.25, p=0.25, q=0.75)
NO_YES = tuple(STEPS)[0]
OFTEN, SELDOM = np.array([[0.49, 0.21], [0.09, 0.21]]), np.array([[0.65, 0.06], [0.04, 0.25]])
THREE = np.array([[0.40, 0.10, 0.05], [0.02, 0.20, 0.03], [0.05, 0.05, 0.10]])
FOUR = 0.8 * np.diag([0.4, 0.3, 0.2, 0.1]) + 0.2 / 12 * (1 - np.eye(4))


def kept(step, codes, rng):
    """Reports in each wave of answers, codes (n, T), by devices that keep the first of two steps."""
    made = step >> step
    drawn = [step.privatize([label] * len(codes), rng).y for label in step.categories]
    shown = np.column_stack(drawn)[np.arange(len(codes))[:, None], codes]
    return [ldp.Reports(step.privatize(step.categories[y], rng).y, made) for y in shown.T]


def kept_bits(codes, rng):
    """Reports under RAPPOR in each wave, by devices that keep a permanent response to each answer."""
    n, bits = len(codes), np.arange(RAPPOR.n_bits)
    own = RAPPOR.cells(WORDS)[0, :, 0, None] == bits
    ones = np.where(own, 1.0 - RAPPOR.f / 2.0, RAPPOR.f / 2.0)
    drawn = rng.random((n, *own.shape)) < ones
    waves = []
    for x in codes.T:
        seen = rng.random((n, bits.size)) < np.where(drawn[np.arange(n), x], RAPPOR.q, RAPPOR.p)
        packed = np.packbits(seen, axis=1, bitorder="little")
        waves.append(ldp.Reports(packed, RAPPOR, cohort=np.zeros(n, dtype=int)))
    return waves


def change(rng, law, n, made_by, apart=0.0, both=(True, False)):
    """Turnover, change and cells of two waves, a share of whose persons are in one wave only."""
    k = len(law)
    codes = np.column_stack(np.divmod(rng.choice(k * k, n, p=law.ravel()), k))
    waves, candidates = made_by(codes, rng), WORDS if made_by is kept_bits else None
    if apart:
        where = np.arange(n) / n
        masks = where < 1 - apart / 2, where >= apart / 2
        waves = [(wave[mask], mask) for wave, mask in zip(waves, masks, strict=True)]
    found = []
    for memoised in both:
        results = ldp.change(*waves, candidates=candidates, memoised=memoised, partial=apart > 0.0)
        moved, cells = results.turnover(), results.joint.conf_int()
        labels = results.index[:k]  # "Other" is no answer here
        found.append([[moved.lower, moved.upper], *results.conf_int().loc[labels[1:]].to_numpy()])
        found[-1] += list(cells.loc[list(product(labels, labels))].to_numpy())
    truth = [1 - np.trace(law), *(law.sum(axis=0) - law.sum(axis=1))[1:], *law.ravel()]
    return truth, ["turnover"] + ["change"] * (k - 1) + ["cells"] * k * k, found


def fresh(codes, rng):
    """Reports of yes/no answers by Warner's device, each drawn anew."""
    step = STEPS[NO_YES]
    return [step.privatize(step.categories[x], rng) for x in codes.T]


def paths(rng, clusters=100, size=40):
    """Turnover in weighted clusters, whose persons move alike; the young are asked twice as often.

    Of the young .3 move, of the others .1, and there are as many of these as of those.
    """
    cluster = np.repeat(np.arange(clusters), size)
    young = rng.random(cluster.size) < 2 / 3
    moves = np.where(young, 0.3, 0.1) * rng.uniform(0.2, 1.8, clusters)[cluster]
    x = (rng.random(cluster.size) < 0.3).astype(int)
    codes = np.column_stack([x, x ^ (rng.random(x.size) < moves)])
    first, second = kept(STEPS[NO_YES], codes, rng)
    asked = {"before": first.mechanism, "after": second.mechanism}
    table = pd.DataFrame({"cluster": cluster, "weight": np.where(young, 1.0, 2.0)})
    for name, wave in zip(asked, (first, second), strict=True):
        table[name] = wave.mechanism.outputs[wave.y]
    survey, found = ldp.Survey(table, asked, weights="weight", clusters="cluster"), []
    for memoised in (True, False):
        results = survey.paths([*asked], "ill", memoised=memoised).frequencies("ill")
        moved = {path: float(path in ("no, yes", "yes, no")) for path in results.params.index}
        found.append([results.mean(moved)[ENDS].to_numpy(), *results.conf_int().to_numpy()])
    return [0.2, 0.56, 0.14, 0.06, 0.24], ["turnover"] + ["cells"] * 4, found


def chain(rng, n=5000, waves=5, start=0.3, up=0.1, down=0.2):
    """The first law and the transitions of a chain with the same ones between all waves."""
    codes = np.empty((n, waves), dtype=int)
    codes[:, 0] = rng.random(n) < start
    for t in range(1, waves):
        codes[:, t] = rng.random(n) < np.where(codes[:, t - 1], 1 - down, up)
    reports, found = kept(STEPS[NO_YES], codes, rng), []
    for memoised in (True, False):
        data = {f"w{t}": wave for t, wave in enumerate(reports)}
        model = ldp.CellModel(data, ldp.cells.markov(stationary=True), memoised=memoised)
        found.append(list(model.fit().conf_int().to_numpy()))
    return [start, up, down], ["first wave", "transitions", "transitions"], found


def of_three(codes, rng):
    """Reports of one of three answers by devices that keep the first step."""
    return kept(STEPS["a", "b", "c"], codes, rng)


def of_two(codes, rng):
    """Reports of yes/no answers by devices that keep the first step."""
    return kept(STEPS[NO_YES], codes, rng)


SETTINGS = {  # how a survey is made and fitted, and how many
    "two answers, turnover .30": (lambda rng: change(rng, OFTEN, 20_000, of_two), 1000),
    "two answers, turnover .10": (lambda rng: change(rng, SELDOM, 20_000, of_two), 1000),
    "three answers": (lambda rng: change(rng, THREE, 3000, of_three), 1000),
    "four strings by RAPPOR": (lambda rng: change(rng, FOUR, 8000, kept_bits), 1000),
    "half in one wave only": (lambda rng: change(rng, SELDOM, 8000, of_two, 0.5), 1000),
    "half in one wave only, fresh devices": (
        lambda rng: change(rng, SELDOM, 8000, fresh, 0.5, (False,)),
        1000,
    ),
    "weighted clusters": (paths, 1000),
    "five waves, a chain": (chain, 1000),
}


def one(setting, number, seed=1):
    """Truth and kind of each quantity; whether its interval, half of it, and the naive one hold it."""
    rng = np.random.default_rng([seed, list(SETTINGS).index(setting), number])
    truth, kinds, found = SETTINGS[setting][0](rng)
    ends = np.array(found[0], dtype=float)
    middle = ends.mean(axis=1, keepdims=True)
    each = [ends, middle + (ends - middle) / 2.0, *np.array(found[1:], dtype=float)]
    held = [(limits[:, 0] <= truth) & (truth <= limits[:, 1]) for limits in each]
    return truth, kinds, np.array(held)


def run(setting, R=None, seed=1):
    """Coverage of each quantity of a setting, and of its controls."""
    R = R or SETTINGS[setting][1]
    truths, kinds, held = zip(*(one(setting, number, seed) for number in range(R)), strict=True)
    coverage = dict(zip(("coverage", "control", "naive"), np.mean(held, axis=0), strict=False))
    stated = {"setting": setting, "of": kinds[0], "truth": truths[0], "naive": np.nan}
    columns = ["setting", "of", "truth", "coverage", "control", "naive", "surveys"]
    return pd.DataFrame(stated | coverage | {"surveys": R})[columns]


def load():
    """The stored coverages, a row for each quantity."""
    return stored.load(STORED, "setting", list(SETTINGS))


def check(R=40, seed=2):
    """Surveys with other random numbers agree with what is stored; the controls do not."""
    worst, control = 0.0, np.inf
    for setting in ("two answers, turnover .10", "five waves, a chain"):
        before = load().query("setting == @setting").groupby("of").mean(numeric_only=True)
        again = run(setting, R, seed).groupby("of").mean(numeric_only=True)
        error = np.sqrt(ALPHA * (1 - ALPHA) * (1 / R + 1 / before["surveys"]))
        gap = (again["coverage"] - before["coverage"]).abs() / error
        fall = (before["coverage"] - again["control"]) / error
        worst, control = max(worst, float(gap.max())), min(control, float(fall.min()))
    print(f"coverages: at most {worst:.1f} standard errors apart; of controls {control:.0f}")
    assert worst < 4.5 < control


def main():
    made = {part: run(part) for part in stored.wanted(__doc__, list(SETTINGS))}
    if made:
        stored.renew(STORED, "setting", list(SETTINGS), made)
    print(load().to_string())
    check()


if __name__ == "__main__":
    main()
