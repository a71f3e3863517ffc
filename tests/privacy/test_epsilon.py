"""Epsilon of a channel, and budgets of several reports."""

import json

import numpy as np
import pandas as pd
import pytest
from shared.uldp_surveys import (
    AT,
    JOBS,
    KRR,
    LEVELS,
    SENSITIVE,
    URAP,
    URR,
    answers,
    random_channel,
)

import ldpstats as ldp
from ldpstats.mechanisms import paired
from ldpstats.privacy import compose, epsilon, sequential, split_budget, uldp


def test_epsilon_of_what_may_be_a_channel():
    krr = ldp.KRR(3, epsilon=1.0)
    for given in (krr, krr.channel(), krr.channel().matrix(), krr.channel().matrix().tolist()):
        assert epsilon(given) == pytest.approx(1.0, abs=1e-12)
    assert epsilon(np.eye(2)) == np.inf


@pytest.mark.parametrize(
    ("epsilons", "total"),
    [
        ([1.0, 0.5], 1.5),
        ((1, 2), 3.0),
        ([], 0.0),
        ([0.0, 0], 0.0),
        ([1.0, np.inf], np.inf),
        ([100.0, 1e-9], 100.0 + 1e-9),  # beyond what a mechanism takes
        (np.array([1.0, 0.5], dtype=np.float32), 1.5),
        (pd.Series([1, 2]), 3.0),
    ],
)
def test_epsilons_add_up(epsilons, total):
    found = compose(epsilons)
    assert type(found) is float and found == total


@pytest.mark.parametrize("wrong", [-1.0, np.nan, True, "1", None, 1j, 10**400, -np.inf])
def test_no_epsilon(wrong):
    with pytest.raises(ldp.InvalidArgument, match=r"epsilons\[1\]=.*at least 0"):
        compose([1.0, wrong])


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (3.0, [1, 1, 2], (0.75, 0.75, 1.5)),
        (1, (5,), (1.0,)),
        (4.0, [1e-9, 3e-9], (1.0, 3.0)),
        (4.0, [1000, 3000], (1.0, 3.0)),
        (4.0, [1e308, 1e308], (2.0, 2.0)),
        (400.0, np.array([1, 1]), (200.0, 200.0)),
        (1e-9, [1, 1], (5e-10, 5e-10)),
    ],
)
def test_budgets_are_divided(total, weights, parts):
    found = split_budget(total, weights)
    assert found == pytest.approx(parts, rel=1e-15, abs=0.0)
    assert compose(found) == pytest.approx(total, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("wrong", [0, -1.0, np.inf, np.nan, True, "1", None, [1.0]])
def test_no_weight_and_no_total(wrong):
    with pytest.raises(ldp.InvalidArgument, match=r"weights\[1\]=.*share of one report"):
        split_budget(1.0, [1.0, wrong])
    with pytest.raises(ldp.InvalidArgument, match=r"total=.*positive finite"):
        split_budget(wrong, [1.0])


def test_shares_that_vanish_are_refused():
    with pytest.raises(ldp.InvalidArgument, match="rounds to zero"):
        split_budget(1.0, [1e-300, 1e300])
    with pytest.raises(ldp.InvalidArgument, match="at least one"):
        split_budget(1.0, [])


# Several reports of one respondent: sequential composition, and pairs of reports.


# -- sequential composition ----------------------------------------------------------------------
def test_pairs_by_brute_force():
    rng = np.random.default_rng(2)
    Q0 = random_channel(rng, 4, 3)
    after = [random_channel(rng, 4, l) for l in (2, 5, 1)]  # noqa: E741
    same = [sequential(Q0, after[0]), sequential(ldp.channels.Dense(Q0), [after[0]] * 3)]
    for found in (*same, sequential(Q0, np.array([after[0]] * 3))):
        for x, y0, y1 in np.ndindex(4, 3, 2):
            assert found.Q[x, 2 * y0 + y1] == Q0[x, y0] * after[0][x, y1]
    found = sequential(Q0, [ldp.channels.Dense(after[0]), after[1], after[2].tolist()])
    parts = [Q0[:, [y]] * Q1 for y, Q1 in enumerate(after)]
    np.testing.assert_array_equal(found.Q, np.hstack(parts))


@pytest.mark.parametrize("first", [URR, URAP, LEVELS])
@pytest.mark.parametrize("second", [URR, URAP, LEVELS, KRR, ldp.KRAPPOR(JOBS, 0.6)])
def test_epsilons_of_two_reports_add_up(first, second):
    """Proposition 1, and Proposition 12 where the second is under LDP: both are attained."""
    found = uldp(sequential(first, second), AT)
    assert found.epsilon == pytest.approx(first.epsilon + second.epsilon, abs=1e-12)
    own = [uldp(m.channel().matrix(), AT if m.sensitive is not None else range(5))
           for m in (first, second)]  # fmt: skip
    # a pair is protected where both reports are, and reveals a category otherwise
    assert found.n_protected == own[0].n_protected * own[1].n_protected
    l1 = second.channel().shape[1]
    pairs = (own[0].protected[:, None] * l1 + own[1].protected).ravel()
    np.testing.assert_array_equal(found.protected, pairs)


def test_the_second_mechanism_may_depend_on_the_first_report():
    plain = np.eye(5)
    after = [plain, ldp.URR(JOBS, SENSITIVE, 0.5), plain, ldp.URAP(JOBS, SENSITIVE, 0.8), plain]
    adaptive = sequential(URR, after)
    assert adaptive.shape == (5, 3 * 5 + 5 + URAP.channel().shape[1])
    # after a report that reveals the answer nothing is left to protect; else the larger counts
    assert uldp(adaptive, AT).epsilon == pytest.approx(URR.epsilon + 0.8, abs=1e-12)
    # negative control: no protection after a protected report is none at all
    after[1] = plain
    assert uldp(sequential(URR, after), AT).epsilon == np.inf


def test_other_sensitive_categories_do_not_compose():
    """Negative control: a second mechanism that protects others reveals these."""
    both = sequential(URR, ldp.URR(JOBS, ["nurse", "cook"], epsilon=1.0))
    assert uldp(both, AT).reason == "sensitive category 1 alone makes report 6"
    # cook, whom either protects, stays protected
    assert uldp(both, [3]).epsilon == pytest.approx(URR.epsilon + 1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], np.eye(2), r"first=.*sum to one"),
        (np.eye(2), None, r"second=.*must be a channel"),
        (np.eye(2), np.eye(3), r"second=.*categories.*must have 2"),
        (np.eye(2), [np.eye(2)], r"second=.*1 channels.*2: one for each"),
        (np.eye(2), [np.eye(2), np.eye(3)], r"second\[1\]=.*must have 2"),
        (np.eye(2), [np.eye(2), [[1.0], [0.5, 0.5]]], r"second\[1\]=.*must be a channel"),
    ],
)
def test_what_is_no_pair_of_channels(first, second, match):
    with pytest.raises(ldp.InvalidArgument, match=match):
        sequential(first, second)


def test_pairs_that_are_too_many():
    with pytest.raises(ldp.NotAvailable, match="compose"):
        sequential(ldp.KRR(2000, 1.0), ldp.KRR(2000, 1.0))
    wide = ldp.KRAPPOR(50, 1.0)
    with pytest.raises(ldp.NotAvailable, match="compose"):
        sequential(ldp.KRR(50, 1.0), wide)
    with pytest.raises(ldp.NotAvailable, match="50 bits"):
        sequential(wide, ldp.KRR(50, 1.0))
    with pytest.raises(ldp.NotAvailable, match="open alphabet"):
        sequential(ldp.RAPPOR(6, 2, 3, f=0.0, p=0.25, q=0.75), KRR)


# -- the same respondents sent both --------------------------------------------------------------
@pytest.mark.parametrize("first", [URR, URAP, LEVELS])
@pytest.mark.parametrize("second", [KRR, URAP, ldp.KRAPPOR(JOBS, 1.0)])
def test_pairs_are_reports_of_the_composed_channel(first, second):
    rng = np.random.default_rng(30)
    values = [*answers(400, rng), None]
    a, b = (m.privatize(values, rng, missing="count") for m in (first, second))
    pairs = paired(a, b)
    mechanism = pairs.mechanism
    assert (len(pairs), pairs.n_missing) == (400, 1)
    np.testing.assert_array_equal(mechanism.Q, sequential(first, second).Q)
    shown = [json.loads(label) for label in mechanism.report_labels(pairs)]
    for part, m, reports in ((0, first, a), (1, second, b)):
        own = m.report_labels(reports)
        text = [pair[part] for pair in shown]
        if m is URAP:  # what is revealed comes without the noise around it
            own = [t if "1" in (t[0] + t[2] + t[4]) and t.count("1") == 1 else o
                   for t, o in zip(text, own, strict=True)]  # fmt: skip
        assert text == list(own)
    # a respondent's likelihood is the product of both
    given = first.channel().likelihood(a.y) * second.channel().likelihood(b.y)
    joint = mechanism.channel().likelihood(pairs.y)
    same = joint / joint.sum(axis=1, keepdims=True), given / given.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(*same, atol=1e-12)
    certificate = uldp(mechanism.channel(), AT)
    assert certificate.epsilon == pytest.approx(first.epsilon + second.epsilon, abs=1e-12)


def test_pairs_of_labels_stay_apart():
    labels = ['a", "b', "a", "b", 1, 2.5, False, "ü"]
    krr, rng = ldp.KRR(labels, epsilon=1.0), np.random.default_rng(1)
    pairs = paired(krr.privatize(["a"], rng), krr.privatize(["b"], rng))
    decoded = [tuple(json.loads(label)) for label in pairs.mechanism.outputs]
    assert decoded == [(a, b) for a in labels for b in labels]
    assert pairs.mechanism.parse("reports", ['["a", "ü"]']).y.tolist() == [7 + 6]


def test_what_is_no_pair():
    rng = np.random.default_rng(1)
    a, b = URR.privatize(JOBS, rng), KRR.privatize(JOBS, rng)
    with pytest.raises(ldp.InvalidArgument, match=r"len\(second\)=4: must be 5"):
        paired(a, KRR.privatize(JOBS[:4], rng))
    with pytest.raises(ldp.InvalidArgument, match=r"n_missing=1: must be 0"):
        paired(a, KRR.privatize([*JOBS, None], rng, missing="count"))
    with pytest.raises(ldp.InvalidArgument, match="first="):
        paired(a.tally(), b)
    with pytest.raises(ldp.InvalidArgument, match="second="):
        paired(a, None)
    with pytest.raises(ldp.MechanismMismatch, match="different categories"):
        paired(a, ldp.KRR(JOBS[::-1], 1.0).privatize(JOBS, rng))
    with pytest.raises(ldp.NotAvailable, match="hashed"):
        paired(a, ldp.ORAPPOR(5, 1, 3, epsilon=1.0).privatize(JOBS, rng))
    many = ldp.KRR(400, 1.0).privatize([1], rng)
    with pytest.raises(ldp.NotAvailable, match=r"400 x 400 pairs.*lump"):
        paired(many, many)
    wide = ldp.KRAPPOR(13, 1.0).privatize([1], rng)
    with pytest.raises(ldp.NotAvailable, match="13 noised bits"):
        paired(wide, wide)
