"""Coverage of turnover, change, cells and transitions of persons who were asked in several waves.

Each survey is fitted as a user would. In all settings but one, devices keep their response to each
answer. There are two controls: intervals half as wide, and kept responses that are taken for fresh
ones, `memoised=False`.

    python -m benchmarks.studies.waves           a part again, compared with the table
    python -m benchmarks.studies.waves --full    all of it: ten minutes
"""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.studies import stored

STORED = Path(__file__).with_suffix(".csv")
ALPHA = 0.05
ENDS = ["lower", "upper"]
TWO, THREE = (ldp.KRR(labels, epsilon=2.0) for labels in (("no", "yes"), ("a", "b", "c")))
WORDS = ("a", "b", "c", "d")
RAPPOR = ldp.RAPPOR(16, n_hashes=1, n_cohorts=1, f=0.25, p=0.25, q=0.75)
OFTEN, SELDOM = np.array([[0.49, 0.21], [0.09, 0.21]]), np.array([[0.65, 0.06], [0.04, 0.25]])
OF_THREE = np.array([[0.40, 0.10, 0.05], [0.02, 0.20, 0.03], [0.05, 0.05, 0.10]])
OF_FOUR = 0.8 * np.diag([0.4, 0.3, 0.2, 0.1]) + 0.2 / 12 * (1 - np.eye(4))


# -- reports of answers, codes (n, T), in each wave ------------------------------------------------


def kept(step, codes, rng):
    """By devices that do the first of two steps once for each answer."""
    made = step >> step
    drawn = [step.privatize([label] * len(codes), rng).y for label in step.categories]
    shown = np.column_stack(drawn)[np.arange(len(codes))[:, None], codes]
    return [ldp.Reports(step.privatize(step.categories[y], rng).y, made) for y in shown.T]


def fresh(step, codes, rng):
    """By devices that draw each report anew."""
    return [step.privatize(step.categories[x], rng) for x in codes.T]


def kept_bits(codes, rng):
    """By clients of RAPPOR, with a permanent response to each answer."""
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


# -- surveys: truths, their kinds, and intervals, as they are and with the noise taken for fresh ---


def change(rng, law, n, made_by, *, candidates=None, apart=0.0, memoised=(True, False)):
    """Turnover, change and cells of two waves; a share of the persons is in one wave only."""
    k = len(law)
    waves = made_by(np.column_stack(np.divmod(rng.choice(k * k, n, p=law.ravel()), k)), rng)
    if apart:
        where = np.arange(n) / n
        masks = where < 1 - apart / 2, where >= apart / 2
        waves = [(wave[mask], mask) for wave, mask in zip(waves, masks, strict=True)]
    found = []
    for keep in memoised:
        results = ldp.change(*waves, candidates=candidates, memoised=keep, partial=apart > 0.0)
        moved, cells = results.turnover(), results.joint.conf_int()
        labels = results.index[:k]  # "Other" is no answer here
        changes = results.conf_int().loc[labels[1:]].to_numpy()
        cells = cells.loc[list(product(labels, labels))].to_numpy()
        found.append([[moved.lower, moved.upper], *changes, *cells])
    truth = [1 - np.trace(law), *(law.sum(axis=0) - law.sum(axis=1))[1:], *law.ravel()]
    return truth, ["turnover"] + ["change"] * (k - 1) + ["cells"] * k * k, found


def paths(rng, clusters=100, size=40):
    """Turnover in weighted clusters, whose persons move alike; the young are asked twice as often.

    Half of the population are young. Of them .3 move, of the others .1.
    """
    cluster = np.repeat(np.arange(clusters), size)
    young = rng.random(cluster.size) < 2 / 3
    moves = np.where(young, 0.3, 0.1) * rng.uniform(0.2, 1.8, clusters)[cluster]
    x = (rng.random(cluster.size) < 0.3).astype(int)
    codes = np.column_stack([x, x ^ (rng.random(x.size) < moves)])
    reports = dict(zip(("before", "after"), kept(TWO, codes, rng), strict=True))
    table = pd.DataFrame({"cluster": cluster, "weight": np.where(young, 1.0, 2.0)})
    table = table.assign(**{name: TWO.categories[own.y] for name, own in reports.items()})
    asked = dict.fromkeys(reports, TWO >> TWO)
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
    data, found = {f"w{t}": wave for t, wave in enumerate(kept(TWO, codes, rng))}, []
    for memoised in (True, False):
        model = ldp.CellModel(data, ldp.cells.markov(stationary=True), memoised=memoised)
        found.append(model.fit().conf_int().to_numpy())
    return [start, up, down], ["first wave", "transitions", "transitions"], found


SETTINGS = {  # how a survey is made and fitted
    "two answers, turnover .30": lambda rng: change(rng, OFTEN, 20_000, partial(kept, TWO)),
    "two answers, turnover .10": lambda rng: change(rng, SELDOM, 20_000, partial(kept, TWO)),
    "three answers": lambda rng: change(rng, OF_THREE, 3000, partial(kept, THREE)),
    "four strings by RAPPOR": lambda rng: change(rng, OF_FOUR, 8000, kept_bits, candidates=WORDS),
    "half in one wave only": lambda rng: change(rng, SELDOM, 8000, partial(kept, TWO), apart=0.5),
    "half in one wave only, fresh devices": lambda rng: change(
        rng, SELDOM, 8000, partial(fresh, TWO), apart=0.5, memoised=(False,)
    ),
    "weighted clusters": paths,
    "five waves, a chain": chain,
}


def one(setting, number, seed=1):
    """Truth and kind of each quantity, and which of its three intervals hold it."""
    rng = np.random.default_rng([seed, list(SETTINGS).index(setting), number])
    with warnings.catch_warnings():  # of misfit, of one survey in twenty; of "Other"
        warnings.simplefilter("ignore", ldp.LDPWarning)
        truth, kinds, found = SETTINGS[setting](rng)
    ends, *naive = np.array(found, dtype=float)
    middle = ends.mean(axis=1, keepdims=True)
    each = [ends, middle + (ends - middle) / 2.0, *naive]
    held = [(limits[:, 0] <= truth) & (truth <= limits[:, 1]) for limits in each]
    return truth, kinds, np.array(held)


def run(setting, R=1000, seed=1):
    """Coverage of each quantity of a setting, and of its controls."""
    truths, kinds, held = zip(*(one(setting, number, seed) for number in range(R)), strict=True)
    coverage, control, *naive = np.mean(held, axis=0)
    return pd.DataFrame(
        {
            "setting": setting,
            "of": kinds[0],
            "truth": truths[0],
            "coverage": coverage,
            "control": control,
            "naive": naive[0] if naive else np.nan,
            "surveys": R,
        }
    )


def load():
    """The stored coverages, a row for each quantity; nothing is kept by fresh devices."""
    return stored.load(STORED, "setting", list(SETTINGS))


def check(R=40, seed=2):
    """Surveys with other random numbers agree with what is stored; the controls do not."""
    stored.agree(load(), run, ("two answers, turnover .10", "three answers"), R, seed)


def main():
    stored.remake(__doc__, STORED, list(SETTINGS), run)
    print(load().to_string())
    check()


if __name__ == "__main__":
    main()
