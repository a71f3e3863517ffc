"""Mechanisms made of others: processed, mixed, repeated, several questions at once."""

import json
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.mechanisms import mechanism_from_dict

JOBS = ("nurse", "teacher", "driver", "cook")
KRR = ldp.KRR(JOBS, epsilon=1.0)
UNEVEN = ldp.CustomMechanism(
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.3, 0.3, 0.4]], JOBS, ("u", "v", "w")
)
COOK_LAST = ldp.KRR(("teacher", "driver", "nurse", "cook"), epsilon=0.4)
ZEROS = ldp.URR(JOBS, {"nurse"}, epsilon=1.0)
OPEN = ldp.RAPPOR(8, 2, 4, f=0.0, p=0.25, q=0.75)
BITS = ldp.KRAPPOR(JOBS, epsilon=1.0)


def law(mechanism: ldp.Mechanism, x: Any, y: Any) -> float:
    """P(report y | answer x), by label."""
    row, column = (list(labels).index(v) for labels, v in zip(
        (mechanism.categories, mechanism.outputs), (x, y), strict=True))  # fmt: skip
    return float(mechanism.channel().matrix()[row, column])


def brute(Q: np.ndarray) -> float:
    """Epsilon, pair by pair."""
    pairs = [(a, b) for column in Q.T for a in column for b in column if a > 0.0]
    return max(np.log(a / b) if b > 0.0 else np.inf for a, b in pairs)


def works(mechanism: Any) -> None:
    """The mechanism is like any other: specification, client, audit, reports as text."""
    document = json.loads(json.dumps(mechanism.to_dict()))
    again = mechanism_from_dict(document)
    assert again == mechanism and type(mechanism).from_dict(document) == mechanism
    assert again.outputs.tolist() == mechanism.outputs.tolist()
    np.testing.assert_array_equal(again.channel().matrix(), mechanism.channel().matrix())
    answer = mechanism.categories[0]
    assert mechanism.client(allow_no_privacy=True).report(answer) in mechanism.outputs
    audit = mechanism.audit()
    assert audit.agrees and audit.declared == pytest.approx(
        brute(mechanism.channel().matrix()), abs=1e-12
    )
    reports = mechanism.privatize([answer] * 50, np.random.default_rng(1))
    text = mechanism.report_labels(reports)
    np.testing.assert_array_equal(mechanism.parse("text", text).y, reports.y)


# -- processing ----------------------------------------------------------------------------------

FIELDS = {"cook": "other", "nurse": "health", "teacher": "school", "driver": "other"}
TABLE = pd.DataFrame(
    [[0.5, 0.5, 0.0], [0.0, 0.1, 0.9], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]],
    index=["cook", "driver", "nurse", "teacher"],
    columns=[10, 20, 30],
)


@pytest.mark.parametrize("given", [FIELDS, pd.Series(FIELDS), pd.Series(FIELDS, dtype="category")])
@pytest.mark.parametrize("first", [KRR, COOK_LAST])
def test_a_report_gets_a_new_label(first, given):
    made = first >> given
    assert made.categories.tolist() == first.categories.tolist()
    assert made.outputs.tolist() == list(dict.fromkeys(FIELDS[job] for job in first.outputs))
    for x, z in product(made.categories, made.outputs):
        wanted = sum(law(first, x, y) for y in JOBS if FIELDS[y] == z)
        assert law(made, x, z) == pytest.approx(wanted, abs=1e-15)
    assert made.epsilon <= first.epsilon + 1e-12
    works(made)


def test_a_report_is_processed_by_a_table():
    made = KRR >> TABLE
    assert made.outputs.tolist() == [10, 20, 30]
    for x, z in product(JOBS, made.outputs):
        wanted = sum(law(KRR, x, y) * TABLE.loc[y, z] for y in JOBS)
        assert law(made, x, z) == pytest.approx(wanted, abs=1e-15)
    shuffled = TABLE.sample(frac=1.0, random_state=1)
    assert KRR >> shuffled == made
    works(made)


@pytest.mark.parametrize("first", [KRR, UNEVEN >> {"u": "cook", "v": "nurse", "w": "driver"}])
def test_a_report_is_privatised_again(first):
    made = first >> COOK_LAST
    assert made.outputs.tolist() == list(JOBS)  # the reports are the categories: in their order
    for x, z in product(JOBS, JOBS):
        wanted = sum(law(first, x, y) * law(COOK_LAST, y, z) for y in first.outputs)
        assert law(made, x, z) == pytest.approx(wanted, abs=1e-15)
    assert made.epsilon < min(first.epsilon, COOK_LAST.epsilon)
    works(made)


def test_an_answer_is_recoded_before_it_is_protected():
    fields = ldp.KRR(("health", "school", "other"), epsilon=1.0)
    made = ldp.Observed(JOBS) >> FIELDS >> fields
    for x, z in product(JOBS, fields.outputs):
        assert law(made, x, z) == pytest.approx(law(fields, FIELDS[x], z), abs=1e-15)
    assert made.epsilon == pytest.approx(1.0, abs=1e-12)


def test_a_thousand_categories():
    many = ldp.KRR(1000, epsilon=3.0)
    tens = many >> {x: f"{x // 100} hundred" for x in range(1000)}
    Q = many.channel().matrix().reshape(1000, 10, 100).sum(axis=2)
    np.testing.assert_allclose(tens.channel().matrix(), Q, rtol=1e-12)
    assert tens.epsilon <= 3.0 and tens.audit().agrees
    mixed = ldp.mixture({many: 0.5, ldp.KRR(1000, epsilon=0.1): 0.5})
    other = ldp.KRR(1000, epsilon=0.1).channel().matrix()
    np.testing.assert_allclose(
        mixed.channel().matrix(), (many.channel().matrix() + other) / 2, rtol=1e-12
    )
    twice = many >> many
    np.testing.assert_allclose(
        twice.channel().matrix()[:2], many.channel().matrix()[:2] @ many.channel().matrix(),
        rtol=1e-12,
    )  # fmt: skip
    pair = ldp.product({"x": many, "late": ldp.Warner(epsilon=0.5)})
    assert pair.epsilon == pytest.approx(3.5, abs=1e-12) and pair.k == 2000
    assert len(pair.privatize(["999, no"] * 10_000, np.random.default_rng(1))) == 10_000


WRONG_PROCESSING: list[tuple[Any, str]] = [
    ({"nurse": "a", "teacher": "b", "driver": "c"}, "other='cook': is missing.*'nurse'"),
    (FIELDS | {"clerk": "x"}, r"other\[4\]='clerk'.*not among the 4 labels"),
    (pd.Series([1, 2, 3, 4, 5], index=[*JOBS, "cook"]), "other='cook': is twice"),
    (FIELDS | {"cook": np.nan}, "other=nan: labels must be"),
    ({"nurse": 1, "teacher": True, "driver": 2, "cook": 3}, "other=True.*twice"),
    (TABLE.drop(index="cook"), "other.index='cook': is missing"),
    (TABLE * 0.9, r"other.loc\['nurse'\]=.*sum to one"),
    (TABLE.astype(object).replace(0.9, "x"), "other=.*must hold probabilities"),
    (TABLE.set_axis(["a", "a", "b"], axis=1), "other.columns='a'.*twice"),
    (np.eye(4), "other=.*must be what becomes of a report"),
    (None, "other=None.*a mechanism or a device"),
    (ldp.KRR(("nurse", "teacher", "driver"), 1.0), r"other='KRR\(k=3.*no category 'cook'"),
    (BITS, "reports of KRAPPOR.*not labels from a list"),
    (OPEN, "reports of RAPPOR.*not labels from a list"),
]


@pytest.mark.parametrize(("other", "match"), WRONG_PROCESSING)
def test_what_is_no_processing(other, match):
    with pytest.raises(ldp.LDPError, match=match):
        KRR >> other


@pytest.mark.parametrize("first", [BITS, OPEN, ldp.SubsetSelection(JOBS, 1.0)])
def test_reports_that_are_no_labels_are_not_processed(first):
    with pytest.raises(ldp.NotAvailable, match="not labels from a list"):
        first >> FIELDS


# -- mixtures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        {KRR: 0.8, COOK_LAST: 0.2},
        {KRR: 0.5, UNEVEN: 0.25, COOK_LAST: 0.25},
        {UNEVEN: 1.0},
        {KRR: 1, UNEVEN: 0},
    ],
)
def test_a_mixture_is_the_weighted_sum(parts):
    made = ldp.mixture(parts)
    first = next(iter(parts))
    assert made.categories.tolist() == first.categories.tolist()
    labels = list(dict.fromkeys(label for part in parts for label in part.outputs))
    assert made.outputs.tolist() == labels
    for x, y in product(made.categories, labels):
        wanted = sum(s * law(part, x, y) for part, s in parts.items() if y in list(part.outputs))
        assert law(made, x, y) == pytest.approx(wanted, abs=1e-15)
    assert made.epsilon <= max(part.epsilon for part in parts) + 1e-12
    works(made)


def test_a_mixture_protects_what_all_parts_protect():
    other = ldp.URR(JOBS, {"nurse", "cook"}, epsilon=1.0)
    assert ldp.mixture({ZEROS: 0.5, other: 0.5}).sensitive.tolist() == ["nurse"]
    assert ldp.mixture({KRR: 0.5, other: 0.5}).sensitive.tolist() == ["nurse", "cook"]
    assert ldp.mixture({KRR: 0.5, COOK_LAST: 0.5}).sensitive is None
    assert ldp.mixture({ldp.Observed(JOBS): 0.1, KRR: 0.9}).epsilon > KRR.epsilon


@pytest.mark.parametrize(
    ("shares", "match"),
    [
        ({}, "shares=.*must be a dictionary"),
        ({KRR: 0.5, UNEVEN: 0.4}, "shares=.*sum to one"),
        ({KRR: 1.5, UNEVEN: -0.5}, "shares=.*non-negative"),
        ({KRR: "1"}, "shares=.*1 non-negative probabilities"),
        ({KRR: 0.5, "other": 0.5}, "shares='other': must be a mechanism"),
        ({KRR: 0.5, BITS: 0.5}, "reports of KRAPPOR.*not labels"),
        ({KRR: 0.5, ldp.KRR(("nurse", "teacher", "driver", "clerk"), 1.0): 0.5}, "same labels"),
    ],
)
def test_what_is_no_mixture(shares, match):
    with pytest.raises(ldp.LDPError, match=match):
        ldp.mixture(shares)


def test_labels_of_parts_may_not_look_alike():
    text = ldp.KRR(2, 1.0) >> {0: "0", 1: "1"}
    with pytest.raises(ldp.InvalidArgument, match=r"outputs=.*twice"):
        ldp.mixture({ldp.KRR(2, 1.0): 0.5, text: 0.5})


# -- several reports about one answer ------------------------------------------------------------


def test_two_reports_are_the_product_given_the_answer():
    made = ldp.repeated(KRR, UNEVEN, COOK_LAST)
    assert made.outputs[1] == "nurse, u, driver" and len(made.outputs) == 4 * 3 * 4
    for x in JOBS:
        for a, b, c in product(KRR.outputs, UNEVEN.outputs, COOK_LAST.outputs):
            wanted = law(KRR, x, a) * law(UNEVEN, x, b) * law(COOK_LAST, x, c)
            assert law(made, x, f"{a}, {b}, {c}") == pytest.approx(wanted, abs=1e-15)
    assert made.epsilon <= KRR.epsilon + UNEVEN.epsilon + COOK_LAST.epsilon + 1e-12
    works(made)
    pair = ldp.repeated(KRR, UNEVEN)
    bare = ldp.privacy.sequential(KRR, UNEVEN)
    np.testing.assert_allclose(pair.channel().matrix(), bare.Q, atol=1e-16)
    assert ldp.repeated(KRR) == ldp.CustomMechanism(KRR.channel().matrix(), JOBS)


def test_a_second_question_may_depend_on_the_first_report():
    after = {"u": KRR, "w": ldp.Observed(JOBS), "v": COOK_LAST}
    made = ldp.repeated(UNEVEN, after)
    bare = ldp.privacy.sequential(
        UNEVEN.channel(),
        [KRR.channel(), COOK_LAST.channel().matrix()[[2, 0, 1, 3]], ldp.Observed(JOBS).channel()],
    )
    np.testing.assert_allclose(made.channel().matrix(), bare.Q, atol=1e-16)
    assert made.outputs[0] == "u, nurse" and made.outputs[4] == "v, teacher"
    assert made.epsilon == np.inf
    works(made)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((None,), "first=None: must be a mechanism"),
        ((KRR, None), "others=None: must be a mechanism"),
        ((BITS, KRR), "reports of KRAPPOR"),
        ((KRR, ldp.KRR(4, 1.0)), "same labels"),
        ((KRR, {"nurse": KRR}), "others='teacher': is a first report without"),
        ((KRR, dict.fromkeys((*JOBS, "clerk"), KRR)), r"others\[4\]='clerk'"),
        ((KRR, dict.fromkeys(JOBS, KRR), KRR), "must be one, where it is a dictionary"),
        ((ldp.KRR(2, 1.0) >> {0: "a", 1: "a, b"}, ldp.KRR(2, 1.0) >> {0: "b, c", 1: "c"}), "comma"),
        ((ldp.KRR(1000, 1.0), ldp.KRR(1000, 1.0)), "too many pairs"),
    ],
)
def test_what_cannot_be_repeated(arguments, match):
    with pytest.raises(ldp.LDPError, match=match):
        ldp.repeated(*arguments)


# -- several questions ---------------------------------------------------------------------------

LATE = ldp.ForcedResponse(p_truth=0.5, p_yes=0.2)
BOTH = ldp.product({"job": UNEVEN, "late": LATE, "size": ldp.KRR((10, 20), 0.3)})


def test_a_product_is_the_kronecker_of_its_parts():
    parts = tuple(BOTH.questions.values())
    Q = np.ones((1, 1))
    for part in parts:
        Q = np.kron(Q, part.channel().matrix())
    np.testing.assert_allclose(BOTH.channel().matrix(), Q, atol=1e-16)
    np.testing.assert_allclose(BOTH.channel().likelihood(np.arange(12)), Q.T, atol=1e-16)
    assert BOTH.categories[1] == "nurse, no, 20" and BOTH.outputs[-1] == "w, yes, 20"
    assert BOTH.epsilon == pytest.approx(sum(part.epsilon for part in parts), abs=1e-12)
    works(BOTH)
    assert str(BOTH) == f"Product(job, late, size; k=16, epsilon={BOTH.epsilon:.6g})"


def test_the_order_of_questions_is_part_of_the_specification():
    other = ldp.product(dict(reversed(BOTH.questions.items())))
    assert other != BOTH and mechanism_from_dict(other.to_dict()) == other
    nested = ldp.product({"all": BOTH, "again": ldp.Warner(epsilon=1.0)})
    assert mechanism_from_dict(json.loads(json.dumps(nested.to_dict()))) == nested
    assert nested.categories[0] == "nurse, no, 10, no"


def test_answers_are_a_table_or_a_dictionary():
    rng = np.random.default_rng(4)
    people = pd.DataFrame(
        {
            "size": rng.choice([10, 20], 500),
            "late": rng.choice(["no", "yes"], 500),
            "job": pd.Categorical(rng.choice(JOBS, 500), categories=sorted(JOBS)),
        },
        index=rng.permutation(500),
    )
    joined = people["job"].astype(str) + ", " + people["late"] + ", " + people["size"].astype(str)
    reports = BOTH.privatize(people, np.random.default_rng(5))
    np.testing.assert_array_equal(reports.y, BOTH.privatize(joined, np.random.default_rng(5)).y)
    rows = people.to_dict("records")
    np.testing.assert_array_equal(reports.y, BOTH.privatize(rows, np.random.default_rng(5)).y)
    assert BOTH.client().report({"late": "no", "job": "cook", "size": 20}) in BOTH.outputs
    split = BOTH.split(reports)
    text = [BOTH.questions[q].report_labels(split[q]).astype(str) for q in BOTH.questions]
    assert [", ".join(t) for t in zip(*text, strict=True)] == BOTH.report_labels(reports).tolist()
    people["late"] = people["late"].where(np.arange(500) > 4)
    counted = BOTH.privatize(people, np.random.default_rng(5), missing="count")
    assert len(counted) == 495 and counted.n_missing == 5
    assert BOTH.split(counted)["job"].n_missing == 5


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (
            pd.DataFrame({"job": ["nurse"], "late": ["no"]}),
            "values.columns=.*must be the questions",
        ),
        (pd.DataFrame({"job": ["x"], "late": ["no"], "size": [10]}), r"values\['job'\]\[0\]='x'"),
        (pd.DataFrame({"job": ["cook"], "late": ["no"], "size": [None]}), "is missing"),
        ([{"job": "cook"}], r"values\[0\]=.*must have the questions"),
        ([{"job": "cook", "late": "no", "size": 10}, "nurse, no, 10"], "values"),
        (["nurse, no"], r"values\[0\]='nurse, no'"),
        (pd.DataFrame([["cook", "no", 10]], columns=["job", "job", "late"]), "values.columns"),
    ],
)
def test_answers_that_cannot_be(values, match):
    with pytest.raises(ldp.InvalidArgument, match=match):
        BOTH.privatize(values, np.random.default_rng(1))


def test_a_client_shows_no_answer():
    with pytest.raises(ldp.InvalidArgument) as error:
        BOTH.client().report({"job": "astronaut", "late": "no", "size": 20})
    assert "astronaut" not in str(error.value)


@pytest.mark.parametrize(
    ("questions", "match"),
    [
        ({}, "questions=.*must be a dictionary"),
        ({"": KRR}, "questions=''"),
        ({"a": None}, r"questions\['a'\]=None: must be a mechanism"),
        ({"a": BITS}, "reports of KRAPPOR"),
        ({"a": ldp.KRR(2000, 1.0), "b": ldp.KRR(2000, 1.0)}, "2000 x 2000 combinations"),
        ({"a": ldp.KRR(("x", "x, y"), 1.0), "b": ldp.KRR(("y, z", "z"), 1.0)}, "comma"),
    ],
)
def test_what_is_no_product(questions, match):
    with pytest.raises(ldp.LDPError, match=match):
        ldp.product(questions)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"questions": None}, "questions=None: must be a list of pairs"),
        ({"questions": [["a", KRR.to_dict()]] * 2}, "must be a list of pairs"),
        ({"questions": [["a", KRR.to_dict() | {"mechanism": "Unknown"}]]}, "mechanism='Unknown'"),
        ({"questions": [["a", KRR.to_dict() | {"epsilon": 2.0}]]}, "fingerprint"),
        ({"questions": [["a", KRR.to_dict()]]}, "fingerprint"),
    ],
)
def test_specifications_that_are_spoiled(change, match):
    with pytest.raises(ldp.InvalidArgument, match=match):
        mechanism_from_dict(BOTH.to_dict() | change)


def test_reports_of_another_mechanism_are_not_split():
    with pytest.raises(ldp.InvalidArgument, match="must be Reports of Product"):
        BOTH.split(KRR.privatize(["nurse"], np.random.default_rng(1)))


def test_a_public_question_makes_epsilon_infinite():
    open_one = ldp.product({"region": ldp.Observed(("n", "s")), "job": KRR})
    assert open_one.epsilon == np.inf and open_one.audit().sampler == np.inf
    with pytest.raises(ldp.InvalidArgument, match="allow_no_privacy"):
        open_one.client()
    assert ldp.product({"job": ZEROS, "late": LATE}).epsilon == np.inf
