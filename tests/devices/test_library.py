"""The designs of the library against the formulas of their papers, in exact arithmetic."""

import json
from fractions import Fraction as F
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest
import test_contract as contract
from devices.designs import MECHANISMS

import ldpstats as ldp
from ldpstats.devices import (
    Device,
    cohorts,
    flip,
    library,
    parts,
    question,
    recode,
    roll,
    say,
    truth,
)
from ldpstats.errors import InvalidArgument

NO_YES = ("no", "yes")

PIS = (F(0), F(1, 7), F(1, 2), F(1))

N = 1000


def rows(device, categories=NO_YES):
    """P(report | true answer) exactly, a dict for each category."""
    found = device.mechanism(list(categories))
    return [dict(zip(found.outputs, row, strict=True)) for row in found.exact]


def share(device, outcome, pi, **values):
    """The share of a report where a share pi has the trait."""
    no, yes = (chance(row[outcome], values) for row in rows(device))
    return (1 - pi) * no + pi * yes


def chance(p, values):
    return p.at(values) if values and not isinstance(p, F) else p


def two_by_two(p_no, p_yes, reports=NO_YES):
    """The rows of a design with two reports, from P(second | no) and P(second | yes)."""
    return [{reports[0]: 1 - p, reports[1]: p} for p in (p_no, p_yes)]


P, T, R = F(7, 10), F(1, 3), F(2, 9)

MATRICES = {
    "warner": (library.warner(P), two_by_two(1 - P, P)),
    "forced": (library.forced_response(R, F(1, 9)), two_by_two(R, 1 - F(1, 9))),
    "forced yes": (library.forced_response(R, 0), two_by_two(R, F(1))),
    "dice": (library.forced_dice(), two_by_two(F(1, 6), F(5, 6))),
    "ten sides": (library.forced_dice([1, 2], range(8, 11), 10), two_by_two(F(2, 10), F(7, 10))),
    "cards": (library.forced_cards(7, 2, 1), two_by_two(F(2, 10), F(9, 10))),
    "coins": (library.forced_coins(), two_by_two(F(1, 4), F(3, 4))),
    "unrelated": (library.unrelated_question(P, R), two_by_two((1 - P) * R, P + (1 - P) * R)),
    "mangat": (library.mangat(P), two_by_two(1 - P, F(1))),
    "mangat and singh": (
        library.mangat_singh(T, P),
        two_by_two((1 - T) * (1 - P), T + (1 - T) * P),
    ),
    "kuk": (library.kuk(P, R), two_by_two(1 - R, 1 - P, ("red", "black"))),
    "disguised": (library.disguised_response(P), two_by_two(P, 1 - P, ("red", "black"))),
    "crosswise": (library.crosswise(R), two_by_two(R, 1 - R, ("same", "different"))),
    "triangular": (library.triangular(R), two_by_two(R, F(1), ("circle", "triangle"))),
    "honest": (library.stochastic_lie_detector(P, honesty=T), two_by_two(1 - P, T)),
    "cheating": (
        library.cheating_detection(R, F(1, 9), cheating=T),
        two_by_two((1 - T) * R, (1 - T) * F(8, 9)),
    ),
}


@pytest.mark.parametrize(("device", "expected"), MATRICES.values(), ids=MATRICES.keys())
def test_matrix_and_epsilon_are_the_published_ones(device, expected):
    assert rows(device) == expected
    mechanism = device.mechanism(NO_YES)
    assert [dict(zip(mechanism.outputs, row, strict=True)) for row in mechanism.exact] == expected
    pairs = [(a, b) for y in expected[0] for a, b in [(expected[0][y], expected[1][y])]]
    worst = max(max(a, b) / min(a, b) if min(a, b) else np.inf for a, b in pairs)
    assert mechanism.ratio == worst
    assert mechanism.epsilon == pytest.approx(float(np.log(float(worst))), rel=1e-15, abs=0)
    assert mechanism.audit().agrees


# P(counted report) as a function of pi, inverted: (device, the report that is counted, pi(lambda))
D = 2 * P - 1 + 2 * T * (1 - P)

ESTIMATORS = {
    "warner": ("yes", lambda s: (s + P - 1) / (2 * P - 1)),
    "forced": ("yes", lambda s: (s - R) / (1 - R - F(1, 9))),
    "forced yes": ("yes", lambda s: (s - R) / (1 - R)),
    "dice": ("yes", lambda s: (s - F(1, 6)) / F(2, 3)),
    "cards": ("yes", lambda s: (s - F(2, 10)) / F(7, 10)),
    "coins": ("yes", lambda s: 2 * s - F(1, 2)),
    "unrelated": ("yes", lambda s: (s - (1 - P) * R) / P),
    "mangat": ("yes", lambda s: (s - 1 + P) / P),
    "mangat and singh": ("yes", lambda s: (s - (1 - T) * (1 - P)) / D),
    "kuk": ("red", lambda s: (s - R) / (P - R)),
    "disguised": ("red", lambda s: (s + P - 1) / (2 * P - 1)),
    "crosswise": ("same", lambda s: (s + R - 1) / (2 * R - 1)),
    "triangular": ("triangle", lambda s: 1 - (1 - s) / (1 - R)),
}

VARIANCES = {  # n times the variance, as published, of designs where it is not only s(1 - s) / d^2
    "warner": lambda pi: pi * (1 - pi) + P * (1 - P) / (2 * P - 1) ** 2,
    "mangat": lambda pi: pi * (1 - pi) + (1 - pi) * (1 - P) / P,
    "mangat and singh": lambda pi: (
        pi * (1 - pi) + (1 - T) * (1 - P) * (1 - (1 - T) * (1 - P)) / D**2
    ),
    "triangular": lambda pi: (1 - pi) * (R + (1 - R) * pi) / (1 - R),
    "crosswise": lambda pi: pi * (1 - pi) + R * (1 - R) / (2 * R - 1) ** 2,
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("pi", PIS)
def test_estimators_return_the_truth_from_the_exact_shares(name, pi):
    counted, estimate = ESTIMATORS[name]
    device, _ = MATRICES[name]
    assert estimate(share(device, counted, pi)) == pi
    if name in VARIANCES:
        slope = estimate(F(1)) - estimate(F(0))
        s = share(device, counted, pi)
        assert s * (1 - s) * slope**2 == VARIANCES[name](pi)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_are_the_published_estimators(name):
    counted, estimate = ESTIMATORS[name]
    mechanism = MATRICES[name][0].mechanism(NO_YES)
    number = 617
    n = [number if label == counted else N - number for label in mechanism.outputs]
    results = ldp.FrequencyModel(mechanism.counts(n)).fit("inversion")
    s = F(number, N)
    slope = estimate(F(1)) - estimate(F(0))
    assert results.linear_params["yes"] == pytest.approx(float(estimate(s)), abs=1e-12)
    variance = s * (1 - s) * slope**2 / N
    assert np.asarray(results.linear_cov)[1, 1] == pytest.approx(float(variance), rel=1e-12)


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_kuk_counts_red_cards(draws):
    device = library.kuk(P, R, draws)
    if draws > 1:
        assert device.mechanism(NO_YES).outputs.tolist() == list(range(draws + 1))
        for row, p in zip(rows(device), (R, P), strict=True):
            assert row == {m: comb(draws, m) * p**m * (1 - p) ** (draws - m) for m in row}
    mechanism = device.mechanism(NO_YES)
    assert mechanism.ratio == max(P / R, (1 - R) / (1 - P)) ** draws
    for pi in PIS:
        law_of = {y: share(device, y, pi) for y in mechanism.outputs}
        reds = {y: F(y == "red" if draws == 1 else y, draws) for y in law_of}
        mean = sum(law_of[y] * reds[y] for y in law_of)
        variance = sum(law_of[y] * reds[y] ** 2 for y in law_of) - mean**2
        assert (mean - R) / (P - R) == pi
        m = pi * P + (1 - pi) * R
        expected = m * (1 - m) / (draws * (P - R) ** 2) + (1 - F(1, draws)) * pi * (1 - pi)
        assert variance / (P - R) ** 2 == expected


@pytest.mark.parametrize("proportions", [(F(1, 2), F(1, 3), F(1, 6)), (1, 2, 3, 4), (F(1, 5), 0.8)])
def test_christofides_counts_from_the_other_end(proportions):
    device = library.christofides(proportions)
    L, total = len(proportions), sum(map(F, map(str, proportions)))
    p = [F(str(value)) / total for value in proportions]
    no, yes = rows(device)
    assert no == dict(enumerate(p, 1)) and yes == dict(enumerate(p[::-1], 1))
    mu = sum(k * value for k, value in no.items())
    v = sum(k**2 * value for k, value in no.items()) - mu**2
    for pi in PIS:
        law_of = {k: (1 - pi) * no[k] + pi * yes[k] for k in no}
        mean = sum(k * value for k, value in law_of.items())
        variance = sum(k**2 * value for k, value in law_of.items()) - mean**2
        assert (mean - mu) / (L + 1 - 2 * mu) == pi
        assert variance / (L + 1 - 2 * mu) ** 2 == pi * (1 - pi) + v / (L + 1 - 2 * mu) ** 2
    assert device.mechanism(NO_YES).ratio == max(a / b for a, b in zip(p, p[::-1], strict=True))


@pytest.mark.parametrize(("pi", "other"), [*product(PIS, (F(1, 5), F(1)))])
def test_two_groups_with_an_unrelated_question(pi, other):
    p1, p2 = F(7, 10), F(1, 4)
    s1, s2 = (share(library.unrelated_question(p), "yes", pi, prevalence=other) for p in (p1, p2))
    assert (s1 * (1 - p2) - s2 * (1 - p1)) / (p1 - p2) == pi
    assert (p1 * s2 - p2 * s1) / (p1 - p2) == other
    m1, m2 = (share(library.moors(p1, group), "yes", pi, prevalence=other) for group in (1, 2))
    assert m2 == other and (m1 - (1 - p1) * m2) / p1 == pi


@pytest.mark.parametrize(("pi", "honesty"), [*product(PIS[1:], (F(3, 5), F(1)))])
def test_two_groups_of_the_stochastic_lie_detector(pi, honesty):
    p1, p2 = F(3, 10), F(8, 10)
    s1, s2 = (
        share(library.stochastic_lie_detector(p), "yes", pi, honesty=honesty) for p in (p1, p2)
    )
    found = 1 - (s1 - s2) / (p2 - p1)
    assert found == pi
    assert (s1 - (1 - found) * (1 - p1)) / found == honesty


@pytest.mark.parametrize(("pi", "cheating"), [*product(PIS, (F(0), F(1, 6)))])
@pytest.mark.parametrize("p_no", [F(0), F(1, 10)])
def test_two_groups_of_the_cheating_detection_model(pi, cheating, p_no):
    p1, p2 = F(1, 4), F(3, 5)
    devices = [library.cheating_detection(p, p_no) for p in (p1, p2)]
    s1, s2 = (share(device, "yes", pi, cheating=cheating) for device in devices)
    # honest yes, honest no: s = yes (1 - p_no) + no p
    honest_no = (s2 - s1) / (p2 - p1)
    honest_yes = (p2 * s1 - p1 * s2) / (p2 - p1) / (1 - p_no)
    assert honest_yes == (1 - cheating) * pi
    assert honest_no == (1 - cheating) * (1 - pi)
    assert 1 - honest_yes - honest_no == cheating


def test_forced_answers_of_several_categories():
    shares = {"nurse": F(1, 10), "driver": F(1, 5), "cook": F(1, 20)}
    device, p = library.forced_categories(shares), 1 - sum(shares.values())
    mechanism = device.mechanism(tuple(shares))
    expected = tuple(tuple(p * (x == y) + shares[y] for y in shares) for x in shares)
    assert mechanism.exact == expected
    assert mechanism.ratio == max(1 + p / value for value in shares.values())
    n = np.array([350, 410, 240])
    results = ldp.FrequencyModel(mechanism.counts(n)).fit("inversion")
    lam = n / n.sum()
    closed = (lam - [float(v) for v in shares.values()]) / float(p)
    np.testing.assert_allclose(results.linear_params, closed, rtol=0, atol=1e-12)
    cov = (np.diag(lam) - np.outer(lam, lam)) / (n.sum() * float(p) ** 2)
    np.testing.assert_allclose(results.linear_cov, cov, rtol=0, atol=1e-12)


BAD = [
    (library.warner, {"p": 1.2}, "p="),
    (library.forced_response, {"p_yes": 0.6, "p_no": 0.4}, "p_yes"),
    (library.forced_response, {"p_yes": -0.1, "p_no": 0.4}, "p_yes="),
    (library.forced_dice, {"yes": 7}, "yes=7"),
    (library.forced_dice, {"yes": [1, 2], "no": 2}, "no=2"),
    (library.forced_dice, {"yes": "1"}, "yes="),
    (library.forced_dice, {"sides": 1}, "sides=1"),
    (library.forced_cards, {"truth_cards": 0, "yes": 1, "no": 1}, "truth_cards=0"),
    (library.forced_cards, {"truth_cards": 4, "yes": -1, "no": 1}, "yes=-1"),
    (library.forced_categories, {"shares": {}}, "shares="),
    (library.forced_categories, {"shares": {"a": 0.5, "b": 0.5}}, "shares"),
    (library.forced_categories, {"shares": {1: 0.1, "1": 0.1}}, "shares"),
    (library.kuk, {"p1": 0.8, "p2": 0.2, "draws": 0}, "draws=0"),
    (library.kuk, {"p1": 0.8, "p2": 0.2, "draws": 11}, "draws=11"),
    (library.christofides, {"proportions": [1]}, "proportions="),
    (library.christofides, {"proportions": [0.5, 0.6]}, "proportions"),
    (library.moors, {"p": 0.7, "group": 3}, "group=3"),
    (library.moors, {"p": 7, "group": 2}, "p=7"),
    (library.mangat, {"p": 0.6, "answers": ("no", "no")}, "answers="),
    (library.crosswise, {"p": 0.3, "text": 5}, "text=5"),
    (library.cheating_detection, {"p_yes": 0.5, "p_no": 0.5}, "p_yes"),
    (library.stochastic_lie_detector, {"p": 0.5, "honesty": 2}, "honesty=2"),
]


@pytest.mark.parametrize(("design", "given", "named"), BAD)
def test_bad_parameters_are_refused_by_name(design, given, named):
    with pytest.raises(InvalidArgument) as caught:
        design(**given)
    assert str(caught.value).startswith(named)


def test_every_design_is_listed_and_cites_its_source():
    functions = {name.replace("_", "-"): getattr(library, name) for name in library.__all__}
    functions.pop("DESIGNS")
    assert functions == library.DESIGNS
    for design in functions.values():
        assert "References\n" in design.__doc__ and "Examples\n" in design.__doc__


# Designs that say "no" and "yes", in the codes and words of a survey.

DESIGNS: dict[str, Device] = {
    "cheating-detection": library.cheating_detection("1/4", "1/8"),
    "christofides": library.christofides(["1/2", "1/3", "1/6"]),
    "crosswise": library.crosswise("1/4"),
    "disguised-response": library.disguised_response(0.8),
    "forced-cards": library.forced_cards(8, 1, 2),
    "forced-categories": library.forced_categories({"no": 0.1, "yes": 0.2}),
    "forced-coins": library.forced_coins(),
    "forced-dice": library.forced_dice(yes=[1, 2]),
    "forced-response": library.forced_response("1/6", "1/3"),
    "inattentive-crosswise": library.inattentive_crosswise("1/4", attentive=0.8),
    "kuk": library.kuk(0.8, 0.3, draws=3),
    "mangat": library.mangat(0.6),
    "mangat-singh": library.mangat_singh("1/2", 0.75),
    "moors": library.moors(0.7, group=2),
    "one-saying-crosswise": library.one_saying_crosswise("1/4", one_saying=0.1),
    "stochastic-lie-detector": library.stochastic_lie_detector(0.7),
    "triangular": library.triangular("1/4"),
    "unrelated-question": library.unrelated_question("1/2", "1/12"),
    "warner": library.warner(0.8),
}

OWN = {
    "cohorts": cohorts({"A": library.forced_dice(yes=[1, 2]), "B": library.kuk(0.8, 0.3, draws=2)}),
    "item count": parts(truth, question(0.3))
    >> recode({"no, no": 0, ("no, yes", "yes, no"): 1, "yes, yes": 2}),
    "one after the other": library.forced_dice(yes=[1, 2]) >> library.crosswise("1/3"),
    "unknown prevalence": library.unrelated_question("1/2"),
    "unknown cheating": library.cheating_detection("1/4"),
}

CODES: list[Any] = [(0, 1), (2, 1), (1, 2), 2, ("nein", "ja"), ("Never", "Once"), (False, True)]


def by_report(mechanism: Any) -> dict[str, tuple[Any, ...]]:
    return dict(zip(map(str, mechanism.outputs), zip(*mechanism.exact, strict=True), strict=True))


def test_every_design_of_the_library_is_tested():
    assert set(DESIGNS) == set(library.DESIGNS)


@pytest.mark.parametrize("codes", CODES, ids=str)
@pytest.mark.parametrize("name", [*DESIGNS, *OWN])
def test_two_categories_stand_for_no_and_yes_in_order(name, codes):
    device = (DESIGNS | OWN)[name]
    plain, own = device.mechanism(("no", "yes")), device.mechanism(codes)
    no, yes = own.categories
    said = {"no": str(no), "yes": str(yes), "A:no": f"A:{no}", "A:yes": f"A:{yes}"}
    assert by_report(own) == {said.get(y, y): law for y, law in by_report(plain).items()}
    assert own.epsilon == plain.epsilon and own.unknown == plain.unknown
    assert type(own).from_dict(own.to_dict()) == own
    told = " ".join(device.instructions(codes))
    assert told == " ".join(own.instructions())
    assert "yes" not in told and "“no”" not in told


@pytest.mark.parametrize("codes", [("ja", "nein"), (1, 0), ("Yes", "No"), (True, False)], ids=str)
def test_a_yes_that_is_listed_first_is_the_yes_all_the_same(codes):
    device = library.forced_response("1/3", "1/6")
    yes, no = codes
    own = device.mechanism(codes)
    assert own.exact[::-1] == tuple(row[::-1] for row in device.mechanism(("no", "yes")).exact)
    assert f"If it stops at “say {yes}”, say “{yes}”." in " ".join(own.instructions())
    assert own.categories.tolist() == [yes, no]


@pytest.mark.parametrize(
    ("device", "categories", "said"),
    [
        (library.forced_dice(), ("yes", "no"), ["yes", "no"]),
        (truth.when({"a": "no", "b": "yes"}), ("a", "b"), ["no", "yes"]),
        (truth.when({"no": flip().when({"heads": "x"}, otherwise="y")}, otherwise="x"),
         ("no", "never"), ["x", "y"]),
        (roll(6).when({1: "a", 6: "b"}, otherwise=truth), ("a", "b"), ["a", "b"]),
    ],
)  # fmt: skip
def test_devices_in_words_of_their_own_stay(device, categories, said):
    assert device.mechanism(categories).outputs.tolist() == said
    assert device.mechanism(categories).device == device.step


@pytest.mark.parametrize("categories", [("no", "maybe"), ("a", "b", "c")])
def test_misspelt_answers_are_refused(categories):
    with pytest.raises(ldp.LDPError, match="write it as the categories do"):
        library.forced_dice().mechanism(categories)


def test_misspelt_answers_within_a_cohort_are_refused():
    with pytest.raises(ldp.LDPError, match=r"say='A:ja'.*answers=\(2, 1\) in a design"):
        cohorts({"A": library.forced_dice(answers=("nein", "ja"))}).mechanism((2, 1))
    cohorts([say(0), truth]).mechanism(3)  # cells of a hash are numbers


def test_documents_and_pages_have_the_words_of_the_survey():
    mechanism = library.forced_dice().mechanism(("nein", "ja"))
    document = json.dumps(ldp.Questionnaire({"late": mechanism}).client_document())
    assert '"ja"' in document and '"nein"' in document and '"yes"' not in document


def test_a_file_of_semicolons_is_told_how_to_be_read(tmp_path):
    pd.DataFrame({"late": [1, 2], "age": [9, 9]}).to_csv(tmp_path / "wide.csv", sep=";")
    with pytest.raises(ldp.LDPError, match=r"Survey\(..., sep=';'\) reads it"):
        ldp.Survey(tmp_path / "wide.csv", {"late": library.warner("8/10").mechanism((2, 1))})


# Every design of the library satisfies the contract that the mechanisms of the grid satisfy.

every_design = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())


@every_design
def test_channel_epsilon_and_specification(mechanism):
    contract.test_channel(mechanism)
    contract.test_likelihood(mechanism)
    contract.test_epsilon_is_proved_from_the_channel(mechanism)
    contract.test_specification_round_trip(mechanism)
    contract.test_text_form_of_reports_round_trip(mechanism)
    contract.test_counts_add_up_over_chunks(mechanism)
    contract.recovers(mechanism, ("mle", "inversion"))


def test_a_design_like_a_mechanism_of_the_package_is_recognised():
    same = {
        "warner": ldp.Warner(epsilon=np.log(7 / 3)),
        "forced-dice": ldp.Warner(epsilon=np.log(5)),
        "forced-cards": ldp.Warner(epsilon=np.log(9)),
        "forced-coins": ldp.Warner(epsilon=np.log(3)),
        "mangat-singh": ldp.Warner(epsilon=np.log(4)),
        "mangat": ldp.Mangat(p=0.6),
    }
    for name, mechanism in same.items():
        found = MECHANISMS[name].equivalent
        assert found is not None, name
        Q, expected = found.channel().matrix(), mechanism.channel().matrix()
        np.testing.assert_allclose(Q, expected, rtol=0, atol=1e-15, err_msg=name)
    for name in ("forced-response", "unrelated-question"):
        found = MECHANISMS[name].equivalent
        assert isinstance(found, ldp.ForcedResponse | ldp.UnrelatedQuestion), name
    for name in ("kuk-3", "christofides", "triangular"):
        assert MECHANISMS[name].equivalent is None
