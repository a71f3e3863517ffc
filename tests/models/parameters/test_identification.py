"""What groups together do not determine is refused by name."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from models.parameters.designs import ANSWERS, cheating, lie_detector, mixed, unrelated, warner

import ldpstats as ldp
from ldpstats.devices import flip, opposite, spin, truth, unknown
from ldpstats.errors import NotIdentified
from ldpstats.problems.parametric.identification import (
    exact_jacobian,
    generic_point,
    unidentified,
    unidentified_exactly,
)
from ldpstats.programs.unknowns import terms_of

OPEN = {
    "unrelated question, one group": ([unrelated(0.7)], ["prevalence", "'no'", "'yes'"]),
    "cheating, one group": ([cheating(0.25)], ["cheating", "'no'", "'yes'"]),
    "lie detector, one group": ([lie_detector(0.7)], ["honest", "'yes'"]),
    "the same device twice": ([unrelated(0.7), unrelated("7/10")], ["prevalence"]),
    "own parameters in each group": ([cheating(0.25, "a"), cheating(0.6, "b")], ["a", "b"]),
    "cards of unknown mix, twice": ([warner(unknown("mix")), warner(unknown("mix"))], ["mix"]),
    "an even coin beside cards": ([warner(0.5), warner(unknown("mix"))], ["mix", "'yes'"]),
    "a parameter that is never used": (
        [warner(0.7), flip(unknown("c")).when({"heads": mixed(0.6), "tails": mixed(0.6)})],
        ["c"],
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_it_is_refused_by_name_with_the_remedy(name: str) -> None:
    devices, words = OPEN[name]
    made = [d if isinstance(d, ldp.Mechanism) else d.mechanism(ANSWERS) for d in devices]
    model = ldp.FrequencyModel([m.counts([60, 40]) for m in made])
    with pytest.raises(ldp.NotIdentified, match="add a group") as error:
        model.fit()
    for word in words:
        assert word in str(error.value)


def test_only_what_is_open_is_named() -> None:
    """A known device tells the frequencies; the other tells neither of two parameters alone."""
    second = flip(unknown("b")).when({"heads": "yes", "tails": "no"})
    both = flip(unknown("a")).when({"heads": second}, otherwise="no").mechanism(ANSWERS)
    model = ldp.FrequencyModel([warner(0.8).counts([60, 40]), both.counts([60, 40])])
    with pytest.raises(ldp.NotIdentified) as error:
        model.fit()
    assert "unknown a" in str(error.value) and "'yes'" not in str(error.value)


def test_one_group_is_enough_where_reports_are_many() -> None:
    """A report that the truth never gives tells the mix, the others the frequencies."""
    law = {"red": unknown("red"), "truth": 1 - unknown("red")}
    device = spin(law).when({"red": "red", "truth": mixed(0.8)})
    mech = device.mechanism(ANSWERS, outputs=("no", "yes", "red"))
    results = ldp.FrequencyModel(mech.counts([50, 30, 20])).fit()
    assert results.parameters["red"] == pytest.approx(0.2, abs=1e-10)
    assert results.frequencies["yes"] == pytest.approx((0.375 - 0.2) / 0.6, abs=1e-10)


def test_exact_ranks_equal_rounded_ones() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        k, m, groups = int(rng.integers(2, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
        names = ("s", "t")[:m]
        categories = tuple("abc"[:k])
        made = []
        for _ in range(groups):
            shares = rng.multinomial(12, np.ones(k + 1) / (k + 1)).tolist()
            labels = (*categories, "own")
            bag = {v: Fraction(s, 12) for v, s in zip(labels, shares, strict=True)}
            inner = spin(bag).when({v: v for v in categories}, otherwise=truth)
            device = flip(unknown(names[int(rng.integers(m))]))
            made.append(device.when({"heads": "a", "tails": inner}).mechanism(categories))
        p, theta = generic_point(k, m)
        exact = [exact_jacobian(*terms_of(mech.exact, names), p, theta) for mech in made]
        rounded = unidentified([mech.polynomials(names) for mech in made])
        assert unidentified_exactly(exact, k).tolist() == rounded.tolist()


def test_two_answers_that_fit_equally_well_are_refused() -> None:
    """Warner's cards shown twice: (p, mix) and (1 - p, 1 - mix) make the same reports."""
    from ldpstats.devices import parts

    twice = parts(mixed(unknown("mix")), mixed(unknown("mix"))).mechanism(ANSWERS)
    third = parts(*[mixed(unknown("mix"))] * 3).mechanism(ANSWERS)
    assert twice.n_outputs == 4 and third.n_outputs == 8
    law = np.array([0.7, 0.3]) @ third.matrix_at(mix=0.8)
    model = ldp.FrequencyModel(third.counts(np.round(1000 * law).astype(int)))
    with pytest.raises(ldp.NotIdentified, match=r"two answers .* mix = 0\.(8|2|79)"):
        model.fit()


def test_a_parameter_that_only_an_empty_group_has_is_refused() -> None:
    known = flip(0.8).when({"heads": truth}, otherwise=opposite).mechanism(ANSWERS)
    empty = flip(unknown("cheating")).when({"heads": "no"}, otherwise=truth).mechanism(ANSWERS)
    with pytest.raises(NotIdentified, match=r"nobody reported .* cheating"):
        ldp.FrequencyModel([known.counts([600, 400]), empty.counts([0, 0])])
    other = empty.counts([700, 300])
    fitted = ldp.FrequencyModel([known.counts([600, 400]), empty.counts([0, 0]), other]).fit()
    assert "cheating" in fitted.params.index
