"""A mechanism in words: all its parameters, and none of a million labels."""

import dataclasses
import pickle
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import MECHANISMS

import ldpstats as ldp
from ldpstats.devices import (
    flip,
    library,
    opposite,
    question,
    recode,
    roll,
    spin,
    truth,
    unknown,
)
from ldpstats.mechanisms.base import brief, parameters


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_number_is_told(name):
    mechanism = MECHANISMS[name]
    text, told = str(mechanism), dict(parameters(mechanism))
    made = getattr(mechanism, "device", None) or getattr(mechanism, "description", None)
    if made is None:
        assert text.startswith(f"{type(mechanism).__name__}(") and text.endswith(")")
    else:  # as it was made, without what follows from that
        assert text == brief(made) and "Mechanism" not in text
    for item in dataclasses.fields(mechanism):
        value = getattr(mechanism, item.name)
        if isinstance(value, int | float) and item.name != "epsilon":
            assert told[item.name] == f"{value:.6g}" and f"{item.name}={value:.6g}" in text
    levels = getattr(mechanism, "levels", None)
    assert levels or float(told["epsilon"]) == pytest.approx(mechanism.epsilon, rel=1e-5)
    if not mechanism.is_open and "categories" in {f.name for f in dataclasses.fields(mechanism)}:
        assert told.get("k", "2") == str(mechanism.k)


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        (ldp.KRR(3, 1.0), "KRR(k=3, epsilon=1)"),
        (
            ldp.ForcedResponse(p_truth=4 / 6, p_yes=1 / 6),
            "ForcedResponse(p_truth=0.666667, p_yes=0.166667, epsilon=1.60944)",
        ),
        (
            ldp.CustomMechanism(np.eye(2, 3), outputs=("x", "y", "z")),
            "CustomMechanism(k=2, n_outputs=3, epsilon=inf)",
        ),
        (ldp.URR(("a", "b", "c"), {"b"}, 1.0), "URR(k=3, sensitive={'b'}, epsilon=1)"),
        (ldp.URR(9, range(5), 1.0), "URR(k=9, sensitive=5 of 9, epsilon=1)"),
        (ldp.URAP(3, (), 1.0), "URAP(k=3, sensitive=none, epsilon=1)"),
        (
            ldp.URR(("a", "b", "c"), epsilon={"a": 0.5, "b": 2.0}),
            "URR(k=3, sensitive={'a', 'b'}, epsilon=(0.5, 2))",
        ),
        (ldp.KRAPPOR(5, 2.0, theta=0.5), "KRAPPOR(k=5, epsilon=2, theta=0.5)"),
        (
            ldp.RAPPOR(8, 2, 4, f=0.0, p=0.25, q=0.75, hashing="google"),
            "RAPPOR(n_bits=8, n_hashes=2, n_cohorts=4, f=0, p=0.25, q=0.75, hashing='google')",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_designs_are_written_as_they_are_called(mechanism, text):
    assert str(mechanism) == text


def test_long_labels_are_cut():
    urr = ldp.URR(("x" * 500, "a\nb", "c"), {"x" * 500, "a\nb"}, 1.0)
    assert len(str(urr)) < 90 and "\n" not in str(urr)
    page = urr._repr_html_()
    assert re.search(r"<th[^>]*>sensitive</th>", page) and "x" * 30 not in page


def test_a_device_is_shown_by_its_steps():
    steps = "roll(6).when({1: 'yes', 6: 'no'}, otherwise=truth)"
    die = roll(6).when({1: "yes", 6: "no"}, otherwise=truth).mechanism(("no", "yes"))
    assert str(die) == steps == die.audit().mechanism
    several = spin({f"outcome {i}": "1/9" for i in range(9)}).when({"outcome 1": "no"}, truth)
    assert re.fullmatch("spin.*, \\.\\.\\.", str(several.mechanism(("no", "yes"))))
    asked = question(unknown("prevalence")).mechanism(("no", "yes"))
    assert str(asked) == "question(unknown('prevalence'))"


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (library.stochastic_lie_detector("1/6"), "stochastic_lie_detector(p='1/6')"),
        (library.kuk(0.8, np.float64(0.3), draws=3), "kuk(p1=0.8, p2=0.3, draws=3)"),
        (library.mangat(Fraction(2, 3), answers=("nein", "ja")), "mangat(p='2/3')"),
        (library.crosswise(unknown("p"), "Born in May?"), "crosswise(p=unknown('p'))"),
        (library.forced_dice(), "forced_dice()"),
        (library.christofides([3, 2, 1]), "christofides(proportions=[3, 2, 1])"),
        (
            library.warner(0.8) >> recode({"yes": 1, "no": 0}),
            "warner(p=0.8) >> recode({'yes': 1, 'no': 0})",
        ),
        (
            roll(6).when({1: library.warner(0.8)}, otherwise=truth),
            "roll(6).when({1: warner(p=0.8)}, otherwise=truth)",
        ),
    ],
    ids=repr,
)
def test_a_design_is_called_as_its_author_wrote_it(device, text):
    """In print, in other words for its answers, in documents, pickles and at known values."""
    labels = ("nein", "ja") if "mangat" in text else ("no", "yes")
    mechanism = device.mechanism(labels)
    assert repr(device) == str(mechanism) == text
    document = mechanism.to_dict()
    assert document.pop("description") == text
    plain = ldp.mechanism_from_dict(document)  # as it was written before there were names
    assert plain == mechanism and plain.fingerprint == mechanism.fingerprint
    for again in (
        ldp.mechanism_from_dict(mechanism.to_dict()),
        pickle.loads(pickle.dumps(mechanism)),
        ldp.Questionnaire.from_dict(ldp.Questionnaire({"q": mechanism}).to_dict()).mechanisms["q"]
        if not mechanism.unknown
        else mechanism,
    ):
        assert again == mechanism and str(again) == text
    if mechanism.unknown:
        known = mechanism.at(dict.fromkeys(mechanism.unknown, "1/3"))
        assert str(known) == f"{text} at {mechanism.unknown[0]}=1/3"


def test_names_are_no_part_of_a_questionnaire():
    """Clients with and without the name of a design agree on the fingerprint."""
    named = ldp.Questionnaire({"q": library.warner("3/4").mechanism(("no", "yes"))})
    steps = spin({"A": "3/4", "B": "1/4"}).when({"A": truth, "B": opposite})
    assert ldp.Questionnaire({"q": steps.mechanism(("no", "yes"))}) == named


def test_groups_with_different_devices_read_differently():
    models = [library.stochastic_lie_detector(p).mechanism(("no", "yes")) for p in ("1/6", "5/6")]
    results = ldp.FrequencyModel(
        [one.counts(n) for one, n in zip(models, ([177, 823], [643, 357]), strict=True)]
    ).fit()
    assert results.sources == tuple(f"stochastic_lie_detector(p='{p}/6')" for p in (1, 5))
    long = spin({f"a rather long outcome, {i}": "1/4" for i in range(4)})
    steps = [
        long.when({f"a rather long outcome, {i}": truth for i in range(3)}, otherwise=flip(p))
        for p in ("1/3", "1/4")
    ]
    outputs = ("no", "yes", "heads", "tails")
    groups = [one.mechanism(("no", "yes"), outputs).counts([30, 20, 10, 10]) for one in steps]
    first, second = ldp.FrequencyModel(groups).fit().sources
    assert first != second and first == repr(steps[0])


def test_combinations_say_what_they_are():
    krr, coin = ldp.KRR(("no", "yes"), 1.0), ldp.Warner(epsilon=0.5)
    die = library.forced_dice()
    table = pd.DataFrame(np.eye(2), ["no", "yes"], ["no", "yes"])
    found = {
        krr >> coin: "KRR(k=2, epsilon=1) >> Warner(epsilon=0.5)",
        krr >> {"no": "a", "yes": "b"}: "KRR(k=2, epsilon=1) >> recoded",
        coin >> table >> table: "Warner(epsilon=0.5) >> a table >> a table",
        coin >> die: "Warner(epsilon=0.5) >> forced_dice()",
        ldp.mixture({krr: 0.8, coin: 0.2}): (
            "mixture of 80% KRR(k=2, epsilon=1) and 20% Warner(epsilon=0.5)"
        ),
        ldp.repeated(krr, coin): "KRR(k=2, epsilon=1), then Warner(epsilon=0.5)",
    }
    for mechanism, text in found.items():
        assert str(mechanism) == text
        again = ldp.mechanism_from_dict(mechanism.to_dict())
        assert str(again) == str(mechanism) and again == mechanism


def test_a_description_is_no_part_of_the_law():
    plain = ldp.CustomMechanism(np.eye(2))
    named = ldp.CustomMechanism(np.eye(2), description="  told\nopenly ")
    assert named == plain and "description" not in plain.to_dict()
    assert str(named) == "told openly"
    odd = ldp.CustomMechanism(np.eye(2), description="a\ud800\x00")
    assert str(odd).isprintable() and ldp.mechanism_from_dict(odd.to_dict()) == odd
    for wrong in ("", " ", 3, ["text"]):
        with pytest.raises(ldp.errors.InvalidArgument, match="description"):
            ldp.CustomMechanism(np.eye(2), description=wrong)


# Binary designs over any two labels; those over ("no", "yes") keep their specifications.

DESIGNS: dict[str, tuple[type[ldp.Mechanism], dict[str, float], str]] = {
    # fingerprints of release 0.1.0
    "warner": (ldp.Warner, {"epsilon": 1.0}, "21e29585a0a4"),
    "forced": (ldp.ForcedResponse, {"p_truth": 0.5, "p_yes": 0.25}, "67f958b6b44d"),
    "unrelated": (ldp.UnrelatedQuestion, {"p": 0.7, "prevalence": 0.25}, "929ec0bea2c7"),
    "mangat": (ldp.Mangat, {"p": 0.6}, "ffe44f8d2aa8"),
}

LABELS: list[tuple[Any, Any]] = [(0, 1), (False, True), ("No", "Yes"), (0.5, 1.5), ("yes", "no")]


@pytest.mark.parametrize("name", DESIGNS)
def test_the_usual_labels_keep_their_specification(name):
    kind, numbers, fingerprint = DESIGNS[name]
    design = kind(**numbers)
    head = {"format": "ldpstats-mechanism", "version": 1, "mechanism": kind.__name__}
    assert design.to_dict() == head | numbers | {"fingerprint": fingerprint}
    assert kind.from_dict(design.to_dict()) == design == kind(**numbers, categories=["no", "yes"])
    assert design.categories.tolist() == ["no", "yes"]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", DESIGNS)
def test_other_labels_change_the_words_only(name, labels):
    kind, numbers, fingerprint = DESIGNS[name]
    usual, design = kind(**numbers), kind(**numbers, categories=labels)
    assert design != usual and design.fingerprint != fingerprint
    assert ldp.mechanism_from_dict(design.to_dict()) == design
    assert np.array_equal(design.channel().matrix(), usual.channel().matrix())
    assert str(design) == str(usual)
    answers = np.array([0, 1, 1, 0, 1] * 40)
    drawn = [
        made.privatize([made.categories[a] for a in answers], np.random.default_rng(3))
        for made in (usual, design)
    ]
    assert np.array_equal(drawn[0].y, drawn[1].y)
    fits = [ldp.FrequencyModel(reports).fit() for reports in drawn]
    assert fits[1].params.index.tolist() == list(labels)
    assert fits[1].params.tolist() == fits[0].params.tolist()
    client = design.client(allow_no_privacy=True)
    assert client.report(labels[1]) in labels


@pytest.mark.parametrize(
    "bad", [3, 1, ("a",), ("a", "a"), (1, "1"), None, "no", ["x", None], "abc", {"a", "b"}, 2.0]
)
def test_categories_that_are_not_two_labels(bad):
    for kind, numbers, _ in DESIGNS.values():
        with pytest.raises(ldp.InvalidArgument, match=r"categories"):
            kind(**numbers, categories=bad)


@pytest.mark.parametrize(
    ("kind", "bare", "spellings"),
    [
        (ldp.Warner, (0.8,), ["Warner(epsilon=1.0)", "Warner(p=0.8)"]),
        (ldp.Warner, (1.0, (0, 1)), ["Warner(epsilon=1.0)", "Warner(p=0.8)"]),
        (ldp.ForcedResponse, (0.75, 0.125), ["ForcedResponse(p_truth=0.75, p_yes=0.125)"]),
        (ldp.UnrelatedQuestion, (0.7, 0.25), ["UnrelatedQuestion(p=0.7, prevalence=0.25)"]),
        (ldp.Mangat, (0.6,), ["Mangat(p=0.6)"]),
        (ldp.RAPPOR, (16, 2, 8, 0.5, 0.25, 0.75), ["RAPPOR(16, 2, 8, f=0.5, p=0.25, q=0.75)"]),
        (ldp.ORAPPOR, (16, 2, 8, 1.0), ["ORAPPOR(16, 2, 8, epsilon=1.0)"]),
        (ldp.ORR, (4, 16, 1.0), ["ORR(4, 16, epsilon=1.0)"]),
    ],
    ids=str,
)
def test_a_bare_number_is_refused_and_the_remedies_work(kind, bare, spellings):
    with pytest.raises(ldp.InvalidArgument, match="needs its name") as caught:
        kind(*bare)
    assert str(caught.value).split("write ")[1] == " or ".join(spellings)
    for spelling in spellings:
        assert type(eval(spelling, vars(ldp).copy())) is kind


@pytest.mark.parametrize("p", [1e-9, 0.2, 0.49, 0.51, 0.8, 1 - 1e-9])
def test_p_is_on_the_diagonal_whichever_half_it_is_in(p):
    design = ldp.Warner(p=p, categories=(0, 1))
    assert np.array_equal(design.channel().matrix(), [[p, 1 - p], [1 - p, p]])
    assert design.audit().agrees
    assert ldp.mechanism_from_dict(design.to_dict()) == design
    assert design != ldp.Warner(p=1 - p, categories=(0, 1))
    n = 4000
    told = design.privatize([1] * n, np.random.default_rng(1)).y
    assert abs(told.mean() - p) <= 4 * np.sqrt(p * (1 - p) / n)  # four standard errors
    if 0.01 < p < 0.99:  # the device's own draw, from its document
        client = design.client(reports=n)
        drawn = np.mean([client.report(1) for _ in range(n)])
        assert abs(drawn - p) <= 5 * np.sqrt(p * (1 - p) / n)  # system randomness: 1 in 10^6


@pytest.mark.parametrize(
    "given", [{}, {"p": 0.5}, {"p": 0}, {"p": 1}, {"p": 1e-30}, {"p": 0.8, "epsilon": 1.0}]
)
def test_p_that_is_none(given):
    with pytest.raises(ldp.InvalidArgument, match=r"^(p|epsilon)="):
        ldp.Warner(**given)


# A mechanism of one's own, of which only Q is written, does all that the package's own do.


@dataclass(frozen=True, eq=False)
class NearbyGrade(ldp.Enumerated):
    rate: float
    categories = pd.RangeIndex(5)

    @property
    def epsilon(self) -> float:
        return self.channel().epsilon()

    def channel(self, candidates: Any = None) -> ldp.channels.Channel:
        steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
        Q = np.exp(-self.rate * steps)
        return ldp.channels.Dense(Q / Q.sum(axis=1, keepdims=True))


Q = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]


def own(**parts: Any) -> type[ldp.Enumerated]:
    """A mechanism of three answers, of which some parts are other ones."""
    usual = {
        "categories": pd.Index(["a", "b", "c"]),
        "epsilon": 2.0,
        "channel": lambda self, candidates=None: ldp.channels.Dense(Q),
    }
    made = type(
        "Own", (ldp.Enumerated,), {k: v for k, v in (usual | parts).items() if v is not None}
    )
    return dataclass(frozen=True, eq=False)(made)


def of(Q: Any) -> Any:
    return lambda self, candidates=None: ldp.channels.Dense(Q)


P = np.array([0.1, 0.2, 0.4, 0.2, 0.1])


def test_its_estimate_is_the_custom_mechanism_s():
    own = NearbyGrade(0.5)
    values = np.random.default_rng(1).choice(5, size=20_000, p=P)
    reports = own.privatize(values, np.random.default_rng(2))
    custom = ldp.CustomMechanism(own.channel().matrix())
    same = custom.privatize(values, np.random.default_rng(2))
    np.testing.assert_array_equal(reports.y, same.y)
    found, expected = ldp.FrequencyModel(reports).fit(), ldp.FrequencyModel(same).fit()
    pd.testing.assert_series_equal(found.params, expected.params)
    assert (np.abs(found.params - P) < 5 * found.bse).all()


def test_its_specification_and_client():
    own = NearbyGrade(0.5)
    assert NearbyGrade.from_dict(own.to_dict()) == own != NearbyGrade(0.6)
    assert own.report_labels(own.client().privatize([3]))[0] in own.outputs


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"channel": of([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])}, "shape=(2, 3): must be (3, 3)"),
        ({"channel": lambda self, candidates=None: np.array(Q)}, "must be a channel"),
        ({"epsilon": None}, "epsilon=None: must be a number"),
        ({"epsilon": -1.0}, "epsilon=-1.0: must be a number"),
        ({"categories": ("a", "a", "b")}, "categories="),
    ],
)
def test_parts_that_do_not_fit_are_refused_when_it_is_made(parts, words):
    with pytest.raises(ldp.InvalidArgument) as refused:
        own(**parts)()
    assert words in str(refused.value)


def test_its_own_class_reads_its_specification():
    with pytest.raises(ldp.InvalidArgument, match="from_dict of its own class"):
        ldp.mechanism_from_dict(NearbyGrade(0.5).to_dict())


def test_a_class_without_fields_is_refused():
    plain = type("Plain", (NearbyGrade,), {})
    assert plain(0.5).fingerprint != NearbyGrade(0.5).fingerprint  # inherited fields are enough

    class Bare(ldp.Enumerated):
        categories = pd.Index(["a", "b", "c"])
        epsilon = 2.0

        def channel(self, candidates: Any = None) -> ldp.channels.Channel:
            return ldp.channels.Dense(Q)

    with pytest.raises(ldp.InvalidArgument, match="frozen dataclass"):
        Bare().to_dict()


TABLE = pd.DataFrame([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], ["ill", "well"], ["yes", "no", "skip"])


def test_a_table_has_its_labels():
    made = ldp.CustomMechanism(TABLE)
    assert made.categories.tolist() == ["ill", "well"]
    assert made.outputs.tolist() == ["yes", "no", "skip"]
    assert np.array_equal(made.channel().matrix(), TABLE.to_numpy())
    numbered = ldp.CustomMechanism(TABLE.reset_index(drop=True), ("a", "b"))  # rows only numbered
    assert numbered.categories.tolist() == ["a", "b"] and numbered.outputs.tolist()[0] == "yes"
    square = pd.DataFrame(Q, index=list("abc"))
    assert ldp.CustomMechanism(square).outputs.tolist() == ["a", "b", "c"]


def test_labels_that_are_given_order_the_table():
    made = ldp.CustomMechanism(TABLE, ("well", "ill"), ("skip", "yes", "no"))
    wanted = TABLE.loc[["well", "ill"], ["skip", "yes", "no"]].to_numpy()
    assert np.array_equal(made.channel().matrix(), wanted)
    plain = ldp.CustomMechanism(wanted, made.categories, made.outputs)
    assert made.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("table", "categories", "outputs", "name"),
    [
        (TABLE, ("sick", "well"), None, "categories"),
        (TABLE, ("ill", "well", "dead"), None, "categories"),
        (TABLE, None, ("yes", "no", "perhaps"), "outputs"),
        (pd.DataFrame(Q, [1, 2, 3], [1, 2, 3]), ("1", "2", "3"), None, "categories"),
        (pd.DataFrame(Q, ["a", "a", "b"]), None, None, "Q.index"),
        (pd.DataFrame(Q, columns=pd.MultiIndex.from_product([["a"], [1, 2, 3]])), None, None, "Q."),
    ],
)
def test_labels_of_a_table_that_disagree_are_refused(table, categories, outputs, name):
    with pytest.raises(ldp.InvalidArgument, match=name):
        ldp.CustomMechanism(table, categories, outputs)
