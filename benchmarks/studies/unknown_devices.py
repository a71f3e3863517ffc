"""Coverage of the profile intervals of frequencies and unknown parameters of devices.

Eight settings of 4,000 surveys each. An interval holds the true value where the likelihood ratio of
it is below the chi-square quantile, so that one restricted fit a survey decides. A few surveys are
fitted by `FrequencyModel` too, whose intervals must say the same.

    python -m benchmarks.studies.unknown_devices           a part again, compared with the table
    python -m benchmarks.studies.unknown_devices --full    all of it: three minutes
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, ndtri, ndtri_exp

import ldpstats as ldp
from benchmarks.studies import stored
from ldpstats.devices import cards as deck
from ldpstats.devices import flip, opposite, question, truth, unknown
from ldpstats.estimators.parametric import continued
from ldpstats.inference.profiles import restricted
from ldpstats.models.parameters import DeviceGroups

STORED = Path(__file__).with_suffix(".csv")
SURVEYS, ALPHA = 4_000, 0.05
ANSWERS = ("no", "yes")


def unrelated(p):
    """The sensitive question with probability p, else one whose prevalence nobody knows."""
    other = question(unknown("prevalence"))
    return flip(p).when({"heads": truth, "tails": other}).mechanism(ANSWERS)


def cheating(q):
    """A forced "yes" with probability q; cheaters say "no" whatever they drew."""
    forced = flip(q).when({"heads": "yes"}, otherwise=truth)
    return flip(unknown("cheating")).when({"heads": "no", "tails": forced}).mechanism(ANSWERS)


def lie_detector(p):
    """Warner's cards; carriers who draw the sensitive statement may deny it."""
    admits = flip(unknown("honest")).when({"heads": "yes", "tails": "no"})
    carrier = flip(p).when({"heads": admits, "tails": "no"})
    other = flip(p).when({"heads": "no", "tails": "yes"})
    return truth.when({"no": other, "yes": carrier}).mechanism(ANSWERS)


def protective(*tickets):
    """Of ten tickets some have one of three answers on them; cheaters always say "never"."""
    answers = ("never", "once", "often")
    bag = dict(zip(answers, tickets, strict=True)) | {"truth": 10 - sum(tickets)}
    forced = deck(bag).when({label: label for label in answers}, otherwise=truth)
    device = flip(unknown("cheating")).when({"heads": "never", "tails": forced})
    return device.mechanism(answers)


def cards(p):
    """Warner's cards with the share p of the sensitive statement."""
    return flip(p).when({"heads": truth, "tails": opposite}).mechanism(ANSWERS)


SETTINGS = {  # mechanisms, frequencies, parameters, respondents of each group
    "unrelated question": ([unrelated(0.7), unrelated(0.3)], [0.8, 0.2], [0.4], 500),
    "cheating detection": ([cheating(0.25), cheating(0.6)], [0.85, 0.15], [0.15], 600),
    "stochastic lie detector": (
        [lie_detector(0.75), lie_detector(0.25)],
        [0.75, 0.25],
        [0.7],
        1500,
    ),
    "three answers": (
        [
            protective(1, 1, 1),
            protective(1, 3, 2),
        ],
        [0.6, 0.25, 0.15],
        [0.1],
        800,
    ),
    "unknown cards": ([cards(0.8), cards(unknown("mix"))], [0.7, 0.3], [0.65], 800),
    "cheating near zero": ([cheating(0.25), cheating(0.6)], [0.93, 0.07], [0.02], 400),
    "no cheating at all": ([cheating(0.25), cheating(0.6)], [0.85, 0.15], [0.0], 600),
    "three devices, two unknown": (
        [unrelated(0.7), unrelated(0.3), cards(unknown("mix"))],
        [0.8, 0.2],
        [0.7, 0.35],
        700,
    ),
}


def names(setting):
    """Labels of the frequencies and parameters of a setting, parameters in order of appearance."""
    mechanisms = SETTINGS[setting][0]
    found = dict.fromkeys(name for m in mechanisms for name in m.unknown)
    return [*mechanisms[0].categories, *found]


def truth_of(setting):
    """The true frequencies and parameters, by label."""
    _, p, theta, _ = SETTINGS[setting]
    labels = names(setting)
    by_name = dict(zip(sorted(labels[len(p) :], reverse=len(theta) > 1), theta, strict=True))
    return pd.Series([*p, *(by_name[name] for name in labels[len(p) :])], index=labels)


def drawn(setting, R, rng):
    """The counts of R surveys: for each group an array of shape (R, l)."""
    mechanisms, p, _, n = SETTINGS[setting]
    true = truth_of(setting)
    laws = [
        np.array(p) @ m.matrix_at(true[list(m.unknown)])
        if m.unknown
        else np.array(p) @ m.channel().matrix()
        for m in mechanisms
    ]
    return [rng.multinomial(n, law / law.sum(), size=R) for law in laws]


def held(setting, counts, true):
    """Whether the default interval of each entry holds the truth, shape (R, k + m)."""
    mechanisms, k = SETTINGS[setting][0], len(SETTINGS[setting][1])
    begun = np.clip(true, 0.02, 0.98)
    begun[:k] /= begun[:k].sum()
    usual, found = -ndtri(ALPHA / 2), np.zeros((len(counts[0]), len(true)), dtype=bool)
    for r in range(len(found)):
        pairs = zip(mechanisms, counts, strict=True)
        groups = DeviceGroups(tuple(m.counts(n[r]) for m, n in pairs))
        law, reports = groups.law, groups.reports
        top = continued(law, reports, begun)[0]
        for j, value in enumerate(true):
            root = usual
            if not 0.0 <= top[j] <= 1.0:  # an interval that lies outside ends further inside
                edge = restricted(law, reports, top, j, float(top[j] > 1.0), top)[0]
                further = -ndtri_exp(np.log(ALPHA / 2) + log_ndtr(-edge))
                root = further if edge > usual else usual
            found[r, j] = restricted(law, reports, top, j, value, top, False)[0] <= root
    return found


def run(setting, R=SURVEYS, seed=1):
    """Coverage of each frequency and parameter of a setting."""
    rng = np.random.default_rng([seed, list(SETTINGS).index(setting)])
    true = truth_of(setting)
    inside = held(setting, drawn(setting, R, rng), true.to_numpy())
    return pd.DataFrame(
        {
            "setting": setting,
            "term": true.index,
            "truth": true.to_numpy(),
            "coverage": inside.mean(axis=0),
            "surveys": R,
        }
    )


def load():
    """The stored coverages, by setting and term."""
    return stored.load(STORED, "setting", list(SETTINGS)).set_index(["setting", "term"])


def check(R=400, seed=2):
    """Surveys with other random numbers agree with what is stored; at a moved truth they fail."""
    table, worst, moved = load()["coverage"], 0.0, 0.0
    error = np.sqrt(ALPHA * (1 - ALPHA) * (1 / R + 1 / SURVEYS))
    for setting in SETTINGS:
        again = run(setting, R, seed).set_index("term")["coverage"]
        worst = max(worst, float((again - table[setting]).abs().max() / error))
    rng = np.random.default_rng(seed)
    counts = drawn("cheating detection", R, rng)
    wrong = held("cheating detection", counts, np.array([0.75, 0.25, 0.05])).mean(axis=0)
    moved = float((ALPHA + wrong - 1).min() / -error)
    print(f"coverages: at most {worst:.1f} standard errors apart; at a moved truth {moved:.0f}")
    assert worst < 4.5 < moved


def compare(setting, R=5, seed=3):
    """Whether `FrequencyModel` says of R surveys what `held` says of them."""
    mechanisms = SETTINGS[setting][0]
    counts = drawn(setting, R, np.random.default_rng(seed))
    true = truth_of(setting)
    inside = held(setting, counts, true.to_numpy())
    for r in range(R):
        groups = [m.counts(c[r]) for m, c in zip(mechanisms, counts, strict=True)]
        found = ldp.FrequencyModel(groups).fit().conf_int()
        rounding = 1e-9  # where the truth and a limit are at the boundary
        low, high = found["lower"] - rounding, found["upper"] + rounding
        assert ((low <= true) & (true <= high)).to_numpy().tolist() == inside[r].tolist()


def main():
    stored.remake(__doc__, STORED, list(SETTINGS), run)
    print(load().to_string())
    check()


if __name__ == "__main__":
    main()
