"""Coverage of the profile intervals of coefficients and unknown parameters of devices.

Three settings of 1,000 surveys each. An interval holds the true value where the likelihood ratio of
it is below the chi-square quantile, so that one restricted fit for each parameter decides. The
"naive" coverage is that of Wald intervals which take nobody to cheat: the control.

    python -m benchmarks.studies.unknown_regressions           a part again, beside the table
    python -m benchmarks.studies.unknown_regressions --full    all of it: ten minutes
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import chi2

import ldpstats as ldp
from benchmarks.studies import stored
from ldpstats.devices import flip, truth, unknown
from ldpstats.inference.profiles import Profile

STORED = Path(__file__).with_suffix(".csv")
SURVEYS, ALPHA = 1_000, 0.05
LEVELS = ("low", "mid", "high")


def cheating(q, categories):
    """The last category is forced with probability q; cheaters always say the first."""
    forced = flip(q).when({"heads": categories[-1]}, otherwise=truth)
    device = flip(unknown("cheating")).when({"heads": categories[0], "tails": forced})
    return device.mechanism(categories)


SETTINGS = {  # categories, thresholds, slope of age, cheating, respondents
    "logit": (("no", "yes"), [0.5], 0.8, 0.15, 1500),
    "ordered": (LEVELS, [-0.5, 1.0], 0.7, 0.1, 2000),
    "logit, cheating near zero": (("no", "yes"), [0.5], 0.8, 0.02, 600),
}


def survey(setting, rng):
    """The model of one survey: two groups of reports, age from -2 to 2."""
    categories, cuts, slope, share, n = SETTINGS[setting]
    devices = [cheating(q, categories) for q in (0.25, 0.6)]
    age = rng.integers(-2, 3, n).astype(float)
    answers = np.array(categories)[np.digitize(slope * age + rng.logistic(size=n), cuts)]
    parts = zip(devices, (answers[: n // 2], answers[n // 2 :]), strict=True)
    reports = [device.simulate(part, rng, cheating=share) for device, part in parts]
    if len(categories) > 2:
        return ldp.PrivatizedOrderedModel(reports, pd.DataFrame({"age": age}))
    return ldp.PrivatizedLogit(reports, pd.DataFrame({"const": 1.0, "age": age}))


def truth_of(setting):
    """True coefficients and the parameter, by label as the results have them."""
    categories, cuts, slope, share, _ = SETTINGS[setting]
    if len(categories) == 2:
        return pd.Series({"const": -cuts[0], "age": slope, "cheating": share})
    return pd.Series(
        {"age": slope, "low/mid": cuts[0], "mid/high": np.log(cuts[1] - cuts[0]), "cheating": share}
    )


def one(setting, number, seed=1):
    """Whether each default interval of a survey holds the truth, and each naive one."""
    model = survey(setting, np.random.default_rng([seed, list(SETTINGS).index(setting), number]))
    true, found = truth_of(setting), model.fit()
    reach = chi2.isf(ALPHA, 1) / 2
    each = (Profile(*found.profiled, j, model.units, model.bounded) for j in range(len(true)))
    profiles = zip(each, true[found.index], strict=True)
    falls = [one.at(value, [one.line(value)]).fall ** 2 / 2.0 for one, value in profiles]
    groups = model.data.response
    known = [ldp.Reports(own.y, own.mechanism.at(cheating=0)) for own in groups]
    X = pd.DataFrame(model.data.designs[0], columns=model.exog_names)
    honest = type(model)(known, X).fit().conf_int(ALPHA, method="wald")
    limits = true[honest.index]
    inside = (honest["lower"] <= limits) & (limits <= honest["upper"])
    return np.array(falls) <= reach, np.append(inside.to_numpy(), False)


def run(setting, R=SURVEYS, seed=1):
    """Coverage of each coefficient and parameter of a setting."""
    held = [one(setting, number, seed) for number in range(R)]
    true = truth_of(setting)
    return pd.DataFrame(
        {
            "setting": setting,
            "term": true.index,
            "truth": true.to_numpy(),
            "coverage": np.mean([own for own, _ in held], axis=0),
            "naive": np.append(np.mean([naive for _, naive in held], axis=0)[:-1], np.nan),
            "surveys": R,
        }
    )


def load():
    """The stored coverages, by setting and term."""
    return stored.load(STORED, "setting", list(SETTINGS)).set_index(["setting", "term"])


def check(R=30, seed=2):
    """Surveys with other random numbers agree with what is stored; the naive intervals do not."""
    table, worst = load(), 0.0
    error = np.sqrt(ALPHA * (1 - ALPHA) * (1 / R + 1 / SURVEYS))
    again = run("logit", R, seed).set_index("term")["coverage"]
    worst = float((again - table["coverage"]["logit"]).abs().max() / error)
    naive = float((1 - ALPHA - table["naive"]["logit"].min()) / error)
    print(f"coverages: at most {worst:.1f} standard errors apart; taken for honest {naive:.0f}")
    assert worst < 4.5 < naive


def compare(setting, R=3, seed=3):
    """Whether `conf_int` says of R surveys what `one` says of them."""
    for number in range(R):
        rng = np.random.default_rng([seed, list(SETTINGS).index(setting), number])
        ends, true = survey(setting, rng).fit().conf_int(ALPHA), truth_of(setting)
        inside = (ends["lower"] <= true) & (true <= ends["upper"])
        assert inside.tolist() == one(setting, number, seed)[0].tolist()


def main():
    stored.remake(__doc__, STORED, list(SETTINGS), run)
    print(load().to_string())
    check()


if __name__ == "__main__":
    main()
