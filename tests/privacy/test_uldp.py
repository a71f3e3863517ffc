"""Utility-optimised LDP: certified from Q, composed, processed, and combined with LDP."""

from __future__ import annotations

import json
from contextlib import nullcontext
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.mechanisms import paired, withhold
from ldpstats.privacy import post_process, sequential, uldp

JOBS = ("nurse", "teacher", "driver", "cook", "judge")
SENSITIVE = ["cook", "teacher"]
AT = [1, 3]  # their positions
URR = ldp.URR(JOBS, SENSITIVE, epsilon=1.2)
URAP = ldp.URAP(JOBS, SENSITIVE, epsilon=0.7)
LEVELS = ldp.URR(JOBS, epsilon={"teacher": 0.4, "cook": 2.0})
KRR = ldp.KRR(JOBS, epsilon=0.9)
P = np.array([0.3, 0.25, 0.2, 0.15, 0.1])


def answers(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.array(JOBS)[rng.choice(len(P), size=n, p=P)]


def close(first: float, second: float) -> bool:
    return bool(first == second or abs(first - second) < 1e-12)


# -- the certificate -----------------------------------------------------------------------------


def ratio(column: np.ndarray) -> float:
    """Largest log ratio of two entries; 0 for a column of zeros."""
    if column.max() == 0.0:
        return 0.0
    return np.inf if column.min() == 0.0 else float(np.log(column.max() / column.min()))


def definition_2(Q: np.ndarray, sensitive: list[int]) -> float:
    """Smallest epsilon over every choice of the invertible reports, word by word."""
    best, reports = np.inf, range(Q.shape[1])
    subsets = chain.from_iterable(combinations(reports, size) for size in range(len(reports) + 1))
    for invertible in subsets:
        makers = [np.flatnonzero(Q[:, y]) for y in invertible]
        if all(m.size == 1 and m[0] not in sensitive for m in makers):
            protected = [y for y in reports if y not in invertible]
            best = min(best, max((ratio(Q[:, y]) for y in protected), default=0.0))
    return best


def random_channel(rng: np.random.Generator, k: int, l: int) -> np.ndarray:  # noqa: E741
    Q = rng.dirichlet(np.ones(l), size=k)
    Q[rng.random(Q.shape) < rng.choice([0.0, 0.3, 0.7])] = 0.0
    Q[:, rng.random(l) < 0.1] = 0.0
    Q[~Q.any(axis=1), 0] = 1.0
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def test_the_certificate_is_the_best_that_definition_2_allows() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        k, l = rng.integers(2, 5), rng.integers(1, 6)  # noqa: E741
        Q = random_channel(rng, k, l)
        if rng.random() < 0.5:  # sensitive categories that can be protected
            Q = ldp.URR(int(k), range(rng.integers(0, k)), 1.0).channel().matrix() @ np.eye(k)
        sensitive = np.flatnonzero(rng.random(k) < 0.5).tolist()
        found = uldp(Q, sensitive)
        assert close(found.epsilon, definition_2(Q, sensitive))
        assert found.holds == (found.reason == "")
        seen.add((found.holds, found.epsilon > 0.0))
    assert seen == {(True, True), (True, False), (False, True)}


@pytest.mark.parametrize("p", [0.01, 0.3, 0.75, 0.999])
def test_mangat_is_uldp_of_minus_ln_p(p: float) -> None:
    """The example of section 3.1: a "no" is reported as "yes" with probability p."""
    certificate = uldp(ldp.Mangat(1.0 - p), sensitive={"yes"})
    assert certificate.epsilon == pytest.approx(np.log(1.0 / p), abs=1e-12)
    assert certificate.protected.tolist() == [1] and certificate.invertible.tolist() == [0]
    assert certificate.revealed is not None and certificate.revealed.tolist() == [0, -1]
    other = uldp(ldp.Mangat(1.0 - p), sensitive={"no"})
    assert other.epsilon == np.inf and "'no' alone makes report 0" in other.reason
    assert uldp(ldp.Mangat(1.0 - p)).epsilon == np.inf  # without a word, all are sensitive


@pytest.mark.parametrize(
    "mechanism", [URR, URAP, LEVELS, ldp.URR(3, (), 1.0), ldp.URAP(3, (), 1.0)]
)
def test_mechanisms_know_what_is_sensitive(mechanism: Any) -> None:
    own = [JOBS.index(x) for x in mechanism.sensitive]
    mask = np.isin(np.arange(mechanism.k), own)
    for other in (
        uldp(mechanism.channel(), own[::-1]),
        uldp(mechanism.channel().matrix(), set(own)),
        uldp(mechanism.channel().matrix().tolist(), mask),
        uldp(mechanism, list(mechanism.sensitive)),
    ):
        assert close(uldp(mechanism).epsilon, other.epsilon)
        assert np.array_equal(other.sensitive, mask)
    assert close(uldp(mechanism).epsilon, mechanism.epsilon if own else 0.0)


def test_with_all_sensitive_it_is_ldp() -> None:
    for mechanism in (KRR, ldp.KRAPPOR(4, 0.8), ldp.URR(JOBS, JOBS, 0.6), ldp.URAP(4, range(4), 1)):
        certificate = uldp(mechanism)
        assert certificate.epsilon == pytest.approx(mechanism.epsilon, abs=1e-12)
        assert certificate.n_invertible == 0.0
    assert uldp(URR, JOBS).epsilon == URR.channel().epsilon() == np.inf


def test_impossible_reports_are_of_no_type() -> None:
    Q = [[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.0, 0.5]]
    certificate = uldp(Q, [0])
    assert (certificate.n_protected, certificate.n_invertible) == (2.0, 1.0)
    assert certificate.protected.tolist() == [0, 1] and certificate.invertible.tolist() == [3]
    assert certificate.revealed is not None and certificate.revealed.tolist() == [-1, -1, -2, 1]


def test_reports_too_many_to_list_are_counted() -> None:
    wide = uldp(ldp.URAP(70, range(64), 1.0))
    assert wide.epsilon == pytest.approx(1.0, abs=1e-12)
    assert (wide.n_protected, wide.n_invertible) == (2.0**64, 6.0)
    assert wide.revealed is None
    for name in ("protected", "invertible"):
        with pytest.raises(ldp.NotAvailable, match="n_protected"):
            getattr(wide, name)
    reason = uldp(ldp.URAP(70, range(64), 1.0), range(65)).reason
    assert reason == "sensitive category 64 alone makes a report"


def test_the_certificate_in_words() -> None:
    assert str(uldp(URR)) == (
        "Utility-optimised LDP of 2 sensitive among 5 categories: epsilon 1.2\n"
        "  protected reports   2\n"
        "  invertible reports  3"
    )
    assert str(uldp([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]], [0])) == (
        "Utility-optimised LDP of 1 sensitive among 3 categories: no epsilon: some categories can "
        "make report 0 and others cannot\n"
        "  protected reports   3\n"
        "  invertible reports  0"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [3],
        [-1],
        [0, 0],
        [0.0],
        ["a"],
        "ab",
        0,
        [[0]],
        [[0], [1, 2]],
        {0: True},
        [True],
        [True, False],
        [True, False, True, False],
        np.array([1.0, 0.0, 0.0]),
    ],
)
def test_bad_positions(wrong: object) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"sensitive=.*0 to 2.*mask of 3"):
        uldp(np.eye(3), wrong)


def test_bad_labels() -> None:
    with pytest.raises(ldp.UnknownCategory, match="astronaut"):
        uldp(URR, ["cook", "astronaut"])
    with pytest.raises(ldp.InvalidArgument, match="twice"):
        uldp(URR, ["cook", "cook"])
    with pytest.raises(ldp.InvalidArgument, match="set or list"):
        uldp(URR, "cook")
    with pytest.raises(ldp.InvalidArgument, match="Q="):
        uldp([[0.5, 0.5], [1.0]], [0])


# -- classes of reports, from the structure ------------------------------------------------------


@pytest.mark.parametrize(
    "channel",
    [
        KRR.channel(),
        ldp.KRR(2, epsilon=40.0).channel(),
        URR.channel(),
        LEVELS.channel(),
        ldp.URR(4, range(4), epsilon=0.3).channel(),
        ldp.URR(4, (), epsilon=0.3).channel(),
        ldp.channels.Uniformised(3, 1.0, 0.0),
        ldp.channels.Uniformised(3, 0.0, np.array([0.5, 0.5, 0.0])),
        ldp.channels.Uniformised(3, 0.6, np.array([0.4, 0.0, 0.0])),
        ldp.channels.Uniformised(3, -0.2, 0.4),
        ldp.channels.Bits(np.array([[0], [1], [2]]), 3, 0.6, 0.3),
        ldp.channels.Bits(np.array([[0, 1], [1, 2]]), 3, 1.0, 0.3),
    ],
)
def test_classes_are_those_of_the_matrix(channel: ldp.channels.Channel) -> None:
    found, dense = channel.output_classes(), ldp.channels.Dense(channel.matrix()).output_classes()
    np.testing.assert_allclose(found.log_ratio, dense.log_ratio, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.sole, dense.sole)
    np.testing.assert_array_equal(found.size, dense.size)


@pytest.mark.parametrize(
    "urap",
    [
        URAP,
        ldp.URAP(4, [2], epsilon=2.0),
        ldp.URAP(3, (), epsilon=2.0),
        ldp.URAP(4, range(4), epsilon=0.5),
        ldp.URAP(6, range(4), epsilon=1.0, theta=0.9),
        ldp.URAP(6, range(4), epsilon=1.0, theta=0.05),
    ],
)
def test_patterns_of_urap_are_one_class(urap: ldp.URAP) -> None:
    found = urap.channel().output_classes()
    dense = ldp.channels.Dense(urap.channel().matrix()).output_classes()
    S = len(urap.sensitive)
    told = 2**S if S else 0  # where the columns of what is revealed begin
    if S:
        assert found.size[0] == dense.size[:told].sum() and found.sole[0] == -1
        assert found.log_ratio[0] == pytest.approx(dense.log_ratio[:told].max(), abs=1e-12)
    for own, other in zip(
        (found.log_ratio, found.sole, found.size),
        (dense.log_ratio, dense.sole, dense.size),
        strict=True,
    ):
        np.testing.assert_array_equal(own[S > 0 :], other[told:])


# -- sequential composition ----------------------------------------------------------------------


def test_pairs_by_brute_force() -> None:
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
def test_epsilons_of_two_reports_add_up(first: Any, second: Any) -> None:
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


def test_the_second_mechanism_may_depend_on_the_first_report() -> None:
    plain = np.eye(5)
    after = [plain, ldp.URR(JOBS, SENSITIVE, 0.5), plain, ldp.URAP(JOBS, SENSITIVE, 0.8), plain]
    adaptive = sequential(URR, after)
    assert adaptive.shape == (5, 3 * 5 + 5 + URAP.channel().shape[1])
    # after a report that reveals the answer nothing is left to protect; else the larger counts
    assert uldp(adaptive, AT).epsilon == pytest.approx(URR.epsilon + 0.8, abs=1e-12)
    # negative control: no protection after a protected report is none at all
    after[1] = plain
    assert uldp(sequential(URR, after), AT).epsilon == np.inf


def test_t_reports_have_t_times_epsilon() -> None:
    many = URR.channel()
    for t in range(2, 5):
        many = sequential(many, URR)  # type: ignore[assignment]
        certificate = uldp(many, AT)
        assert certificate.epsilon == pytest.approx(t * URR.epsilon, abs=1e-12)
        assert certificate.n_protected == 2.0**t


def test_other_sensitive_categories_do_not_compose() -> None:
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
        (np.eye(2), "ab", r"second=.*must be a channel"),
        (np.eye(2), np.eye(3), r"second=.*categories.*must have 2"),
        (np.eye(2), [np.eye(2)], r"second=.*1 channels.*2: one for each"),
        (np.eye(2), [np.eye(2), np.eye(3)], r"second\[1\]=.*must have 2"),
        (np.eye(2), [np.eye(2), [[1.0], [0.5, 0.5]]], r"second\[1\]=.*must be a channel"),
        (np.eye(2), [[[1.0], [0.5, 0.5]], np.eye(2)], r"second\[0\]=.*must be a channel"),
        (np.eye(2), [], r"second=.*must be a channel"),
    ],
)
def test_what_is_no_pair_of_channels(first: Any, second: Any, match: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=match):
        sequential(first, second)


def test_pairs_that_are_too_many() -> None:
    with pytest.raises(ldp.NotAvailable, match="compose"):
        sequential(ldp.KRR(2000, 1.0), ldp.KRR(2000, 1.0))
    wide = ldp.KRAPPOR(50, 1.0)
    with pytest.raises(ldp.NotAvailable, match="compose"):
        sequential(ldp.KRR(50, 1.0), wide)
    with pytest.raises(ldp.NotAvailable, match="50 bits"):
        sequential(wide, ldp.KRR(50, 1.0))
    with pytest.raises(ldp.NotAvailable, match="open alphabet"):
        sequential(ldp.RAPPOR(6, 2, 3, f=0.0, p=0.25, q=0.75), KRR)


# -- post-processing -----------------------------------------------------------------------------

TYPED = np.array(  # category 0 is sensitive; 2 has two reports of its own, report 5 is impossible
    [
        [0.7, 0.3, 0.0, 0.0, 0.0, 0.0],
        [0.3, 0.2, 0.5, 0.0, 0.0, 0.0],
        [0.4, 0.2, 0.0, 0.3, 0.1, 0.0],
    ]
)


def types_of(Q: np.ndarray, sensitive: list[int]) -> np.ndarray:
    revealed = uldp(Q, sensitive).revealed
    assert revealed is not None
    return revealed


def keeping_types(rng: np.random.Generator, types: np.ndarray) -> np.ndarray:
    """A random processing with new reports of each type, some of them never made."""
    kinds = np.unique(types[types > -2])
    of = np.concatenate([[kind] * rng.integers(1, 4) for kind in kinds])
    rng.shuffle(of)
    R = np.zeros((types.size, of.size))
    for y, kind in enumerate(types):
        among = np.flatnonzero((of == kind) | (kind == -2))
        R[y, among] = rng.dirichlet(np.full(among.size, 0.4))
    return R


@pytest.mark.parametrize(
    ("Q", "sensitive"),
    [
        (TYPED, [0]),
        (URR.channel().matrix(), AT),
        (URAP.channel().matrix(), AT),
        (LEVELS.channel().matrix(), AT),
        (KRR.channel().matrix(), list(range(5))),
    ],
)
def test_epsilon_never_grows(Q: np.ndarray, sensitive: list[int]) -> None:
    """Proposition 11, and what Definition 6 keeps where data types are not kept."""
    rng = np.random.default_rng(3)
    epsilon, types = uldp(Q, sensitive).epsilon, types_of(Q, sensitive)
    smaller = refused = 0
    for _ in range(100):
        R = keeping_types(rng, types)
        after = post_process(Q, R, sensitive)
        np.testing.assert_allclose(after.Q, Q @ R, atol=1e-15)
        certificate = uldp(after, sensitive)
        assert certificate.epsilon <= epsilon + 1e-12
        smaller += certificate.epsilon < epsilon - 0.01

        anything = rng.dirichlet(np.full(4, 0.3), size=len(R))
        mixed = Q @ anything
        worst = np.log(mixed[sensitive][:, None] / mixed).max()  # a sensitive x against any x'
        assert worst <= epsilon + 1e-12
        if types.max() < 0:  # all protected: any processing keeps types
            post_process(Q, anything, sensitive)
            continue
        with pytest.raises(ldp.InvalidArgument, match="data types must stay apart"):
            post_process(Q, anything, sensitive)
        refused += uldp(mixed, sensitive).epsilon > epsilon + 0.01
    assert smaller > 50
    assert refused > 10 or types.max() < 0  # negative control: some violate Definition 2


def test_what_is_refused_violates_the_definition() -> None:
    Q, epsilon = URR.channel().matrix(), URR.epsilon
    merged = np.eye(5)[:, [0, 1, 3, 4]]
    merged[2] = merged[0]  # nurse and driver, who both reveal themselves
    with pytest.raises(ldp.InvalidArgument) as error:
        post_process(URR, merged)
    assert error.value.name == "R[:, 0]"
    assert "report 0 (reveals category 0) and report 2 (reveals category 2)" in str(error.value)
    assert uldp(Q @ merged, AT).epsilon == np.inf

    hidden = np.eye(5)
    hidden[0], hidden[1, :2] = hidden[1], 0.5  # nurse is reported as teacher, who is not always
    with pytest.raises(ldp.InvalidArgument, match=r"report 0 \(reveals .*report 1 \(protected\)"):
        post_process(URR, hidden)
    after = uldp(Q @ hidden, AT)
    assert epsilon + 0.1 < after.epsilon < np.inf


def test_reports_of_one_category_may_become_one() -> None:
    R = np.eye(6)[:, [0, 1, 2, 3]]
    R[4, 3] = 1.0  # both reveal category 2
    R[5, 0] = 1.0  # and nobody makes report 5, wherever it goes
    after = post_process(TYPED, R, [0])
    np.testing.assert_allclose(after.Q[2], [0.4, 0.2, 0.0, 0.4], atol=1e-15)
    assert types_of(after.Q, [0]).tolist() == [-1, -1, 1, 2]
    assert close(uldp(after, [0]).epsilon, uldp(TYPED, [0]).epsilon)


def test_processing_of_mechanisms_and_by_channels() -> None:
    R = ldp.channels.Dense(np.eye(5)[::-1])
    np.testing.assert_array_equal(post_process(URR, R).Q, URR.channel().matrix()[:, ::-1])
    np.testing.assert_array_equal(
        post_process(URR, R, SENSITIVE).Q, post_process(URR.channel(), R, AT).Q
    )
    # all protected: anything goes, even to one report
    assert uldp(post_process(KRR, np.ones((5, 1))), range(5)).epsilon < 1e-15
    assert post_process([[1.0], [1.0]], [[0.5, 0.5]], [0]).shape == (2, 2)  # of a single report


@pytest.mark.parametrize(
    ("R", "match"),
    [
        (np.eye(4), r"R=.*shape \(4, 4\).*each of 5 reports"),
        (np.full(5, 0.2), "R=.*each of 5"),
        (None, "R=.*each of 5"),
        ("text", "R=.*each of 5"),
        ([[1.0], [0.5, 0.5]], "R=.*each of 5"),
        (np.zeros((5, 0)), "R=.*each of 5"),
        (2 * np.eye(5), r"R\[0\]=.*sum to one"),
        (np.eye(5) + 0.1 * np.eye(5)[[1, 0, 2, 3, 4]] - 0.1, r"R\[0\]=.*non-negative"),
        (np.full((5, 5), np.nan), r"R\[0\]="),
    ],
)
def test_what_is_no_processing(R: Any, match: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=match):
        post_process(URR, R)


def test_there_must_be_something_to_keep() -> None:
    with pytest.raises(
        ldp.InvalidArgument, match=r"Q=.*must provide.*'nurse' alone makes report 0"
    ):
        post_process(URR, np.eye(5), JOBS)
    with pytest.raises(ldp.InvalidArgument, match="sensitive=None"):
        post_process(np.eye(3), np.eye(3))


# -- one likelihood over both sources ------------------------------------------------------------


def by_em(Q: np.ndarray, n: np.ndarray, rounds: int = 20_000) -> np.ndarray:
    """Plain EM on a dense channel, long enough for the digits that are compared."""
    p = np.full(len(Q), 1.0 / len(Q))
    for _ in range(rounds):
        p = p * (Q @ (n / (p @ Q))) / n.sum()
    return p


@pytest.mark.parametrize("first", [URR, URAP])
@pytest.mark.parametrize("second", [KRR, ldp.KRAPPOR(JOBS, 1.5)])
def test_different_respondents_enter_one_likelihood(first: Any, second: Any) -> None:
    """ULDP and LDP reports together have the stacked dense likelihood."""
    rng = np.random.default_rng(4)
    parts = [m.privatize(answers(n, rng), rng) for m, n in ((first, 4000), (second, 3000))]
    model = ldp.FrequencyModel(parts)
    likelihoods = [ldp.FrequencyModel(part).likelihood() for part in parts]
    W = np.vstack([part.mechanism.channel().likelihood(part.tally().y) for part in parts])
    n = np.concatenate([part.tally().n for part in parts])
    for p in (P, rng.dirichlet(np.ones(5))):
        dense = n @ np.log(W @ p)
        assert model.likelihood().loglike(p) == pytest.approx(dense, rel=1e-12)
        assert sum(x.loglike(p) for x in likelihoods) == pytest.approx(dense, rel=1e-12)
    results = model.fit()
    assert results.gap < 1e-9
    np.testing.assert_allclose(results.params, by_em(W.T, n), atol=1e-6)
    assert results.llf >= n @ np.log(W @ P)


@pytest.mark.parametrize("mechanism", [URR, URAP, LEVELS])
def test_withheld_reports_are_those_of_a_known_channel(mechanism: Any) -> None:
    rng = np.random.default_rng(5)
    values = [*answers(300, rng), None]
    reports = mechanism.privatize(values, rng, missing="count")
    shared = withhold(reports)
    assert (len(shared), shared.n_missing) == (300, 1)
    new = shared.mechanism
    assert new.categories.equals(mechanism.categories)
    # the channel: protected columns as they were, all others together
    Q = mechanism.channel().matrix()
    protected = uldp(Q, AT).protected
    assert new.n_outputs == protected.size + 1 and new.outputs[-1] == "withheld"
    np.testing.assert_array_equal(new.Q[:, :-1], Q[:, protected])
    np.testing.assert_allclose(new.Q[:, -1], np.delete(Q, protected, axis=1).sum(axis=1))
    assert not new.Q[AT, -1].any()
    # each report: as it was, or withheld
    before, after = mechanism.report_labels(reports), new.report_labels(shared)
    if mechanism is URAP:
        told = np.array([any(b[j] == "1" for j in (0, 2, 4)) for b in before])
    else:
        told = ~np.isin(before, SENSITIVE)
    np.testing.assert_array_equal(after, np.where(told, "withheld", before))
    assert 0 < told.sum() < 300
    # it can be written and read like any other
    assert ldp.mechanism_from_dict(json.loads(json.dumps(new.to_dict()))) == new
    assert new.parse("reports", after).tally().n.tolist() == shared.tally().n.tolist()


def test_what_is_withheld_reveals_that_the_answer_is_not_sensitive() -> None:
    Q = withhold(URR.privatize(JOBS, np.random.default_rng(6))).mechanism.Q
    certificate = uldp(Q, AT)
    assert certificate.epsilon == np.inf
    assert certificate.reason == "some categories can make report 2 and others cannot"
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(Q[AT][:, None, :] / Q)
    assert np.nanmax(log) == pytest.approx(URR.epsilon, abs=1e-12)  # one-sided, MK19 Definition 6
    # the protected ones keep their epsilon together with a report under LDP (Proposition 12)
    pairs = sequential(Q, KRR).Q[:, : 2 * 5]
    worst = np.log(pairs.max(axis=0) / pairs.min(axis=0)).max()
    assert worst == pytest.approx(URR.epsilon + KRR.epsilon, abs=1e-12)
    # with one category that is not sensitive it is revealed as before, and all else holds
    most = ldp.URR(3, [0, 1], epsilon=1.0)
    shared = withhold(most.privatize([0, 1, 2], np.random.default_rng(6)))
    assert uldp(shared.mechanism.channel(), [0, 1]).epsilon == pytest.approx(1.0, abs=1e-12)


def test_one_category_that_is_not_sensitive_stays_identified() -> None:
    urr = ldp.URR(("b", "a", "c"), ["a", "c"], epsilon=1.0)
    rng = np.random.default_rng(7)
    reports = urr.privatize(rng.choice(["a", "b", "c"], 3000), rng)
    whole, shared = ldp.FrequencyModel(reports).fit(), ldp.FrequencyModel(withhold(reports)).fit()
    np.testing.assert_allclose(shared.params, whole.params, atol=1e-9)
    np.testing.assert_allclose(shared.bse, whole.bse, rtol=1e-6)


@pytest.mark.parametrize("mechanism", [URR, URAP])
def test_withheld_reports_alone_do_not_identify(mechanism: Any) -> None:
    rng = np.random.default_rng(8)
    shared = withhold(mechanism.privatize(answers(2000, rng), rng))
    with pytest.raises(ldp.NotIdentified, match="rank 3: 2 more"):
        ldp.FrequencyModel(shared).fit()


def test_where_nothing_is_revealed_nothing_is_withheld() -> None:
    rng = np.random.default_rng(9)
    for mechanism in (
        KRR,
        ldp.KRAPPOR(50, 1.0),
        ldp.URR(JOBS, JOBS, 1.0),
        ldp.URAP(50, range(50), 1.0),
    ):
        reports = mechanism.privatize(mechanism.categories, rng)
        assert withhold(reports) is reports
    # and where nothing is sensitive nothing is left
    shared = withhold(ldp.URR(3, (), 1.0).privatize([0, 1, 2, 2], rng), label="?")
    assert shared.mechanism.outputs.tolist() == ["?"] and shared.tally().n.tolist() == [4]


def test_the_sensitive_categories_of_other_mechanisms() -> None:
    rng = np.random.default_rng(10)
    mangat = ldp.Mangat(0.6).privatize(["yes", "no"] * 50, rng)
    shared = withhold(mangat, sensitive={"yes"}, label="surely not")
    assert shared.mechanism.outputs.tolist() == ["yes", "surely not"]
    np.testing.assert_array_equal(shared.mechanism.Q, [[0.4, 0.6], [1.0, 0.0]])
    with pytest.raises(ldp.InvalidArgument, match=r"reports=.*'no' alone makes report 0"):
        withhold(mangat, sensitive=["no"])
    with pytest.raises(ldp.UnknownCategory, match="maybe"):
        withhold(mangat, sensitive=["maybe"])
    custom = ldp.CustomMechanism(TYPED[:, :5], ("a", "b", "c"), outputs=list("vwxyz"))
    kept = withhold(custom.privatize(list("aabbcc"), rng), sensitive=["a"])
    assert kept.mechanism.outputs.tolist() == ["v", "w", "withheld"]
    np.testing.assert_allclose(kept.mechanism.Q[:, -1], [0.0, 0.5, 0.4], atol=1e-15)


@pytest.mark.parametrize("label", ["cook", "nurse", None, ["a"], np.nan])
def test_bad_label(label: object) -> None:
    reports = URR.privatize(JOBS, np.random.default_rng(1))
    with pytest.raises(ldp.InvalidArgument, match=r"label="):
        withhold(reports, label=label)


def test_label_that_looks_like_a_category() -> None:
    reports = ldp.URR(4, [0], 1.0).privatize([0, 1, 2, 3], np.random.default_rng(1))
    for label in ("3", 3, "0", 0):
        with pytest.raises(ldp.InvalidArgument, match=r"label=.*another name"):
            withhold(reports, label=label)
    assert withhold(reports, label=4).mechanism.outputs.tolist() == [0, 4]


def test_reports_that_cannot_be_withheld() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ldp.InvalidArgument, match=r"reports=.*before tallying"):
        withhold(URR.privatize(JOBS, rng).tally())  # type: ignore[arg-type]
    with pytest.raises(ldp.NotAvailable, match=r"13 noised bits.*URR"):
        withhold(ldp.URAP(20, range(13), 1.0).privatize(range(20), rng))
    with pytest.raises(ldp.NotAvailable, match="hashed"):
        withhold(ldp.ORR(4, 3, epsilon=1.0).privatize(["a"], rng))


def test_urap_with_as_many_bits_as_can_be_listed() -> None:
    urap = ldp.URAP(15, range(14, 2, -1), epsilon=2.0)  # 12 sensitive bits, two bytes
    rng = np.random.default_rng(11)
    reports = urap.privatize(rng.integers(0, 15, 500), rng)
    shared = withhold(reports)
    assert shared.mechanism.n_outputs == 4097
    before, after = urap.report_labels(reports), shared.mechanism.report_labels(shared)
    told = np.array(["1" in b[:3] for b in before])
    np.testing.assert_array_equal(after, np.where(told, "withheld", before))
    # the columns belong to these labels
    given = urap.channel().likelihood(reports.y[~told])
    np.testing.assert_allclose(shared.mechanism.channel().likelihood(shared.y[~told]), given)


# -- simulations: unbiased, and standard errors right --------------------------------------------


def check(estimates: list[Any], errors: list[Any], p: np.ndarray, bias: bool = True) -> None:
    """Means within 4 standard errors of p, root mean squared errors within 4 of the spread.

    The relative error of a spread over R replications is 1 / sqrt(2 R).
    """
    found, R = np.array(estimates), len(estimates)
    spread = found.std(axis=0, ddof=1)
    if bias:
        assert np.abs((found.mean(axis=0) - p) / (spread / np.sqrt(R))).max() < 4.0
    size = np.sqrt(np.mean(np.square(errors), axis=0)) / spread
    assert np.abs(size - 1.0).max() < 4.0 / np.sqrt(2 * R)


@pytest.mark.parametrize(("first", "seed"), [(URR, 21), (URAP, 22)])
def test_both_sources_together_are_unbiased(first: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    linear, mle, rejected = [], [], 0
    for _ in range(200):
        shared = withhold(first.privatize(answers(2500, rng), rng))
        results = ldp.FrequencyModel([shared, KRR.privatize(answers(2500, rng), rng)]).fit()
        linear.append((results.linear.estimate, np.sqrt(results.linear.covariance.variances())))
        mle.append((results.params, results.bse))
        assert results.goodness_of_fit is not None
        rejected += results.goodness_of_fit.pvalue < 0.05
    for estimates, errors in (zip(*linear, strict=True), zip(*mle, strict=True)):
        check(list(estimates), list(errors), P)
    assert rejected <= 0.05 * 200 + 4.0 * np.sqrt(200 * 0.05 * 0.95)


def test_dropping_instead_of_withholding_is_biased() -> None:
    """Negative control: protected reports without the others look like many sensitive answers."""
    rng = np.random.default_rng(23)
    reports = URR.privatize(answers(20_000, rng), rng)
    protected = np.isin(reports.y, AT)
    other = KRR.privatize(answers(20_000, rng), rng)
    for kept, biased in ((withhold(reports), False), (None, True)):
        part = ldp.Reports(reports.y[protected], URR) if kept is None else kept
        with pytest.warns(ldp.MisfitWarning) if biased else nullcontext():
            results = ldp.FrequencyModel([part, other]).fit("inversion")
        gap = float(np.abs((results.params - P) / results.bse).max())
        assert gap > 10.0 if biased else gap < 4.0


def test_sources_that_differ_are_noticed() -> None:
    rng = np.random.default_rng(24)
    shared = withhold(URR.privatize(answers(10_000, rng), rng))
    others = KRR.privatize(["cook"] * 5000 + ["judge"] * 5000, rng)
    with pytest.warns(ldp.MisfitWarning):
        test = ldp.FrequencyModel([shared, others]).fit().goodness_of_fit
    assert test is not None and test.pvalue < 1e-6 and "homogeneity" in test.method


# -- the same respondents sent both --------------------------------------------------------------


@pytest.mark.parametrize("first", [URR, URAP, LEVELS])
@pytest.mark.parametrize("second", [KRR, URAP, ldp.KRAPPOR(JOBS, 1.0)])
def test_pairs_are_reports_of_the_composed_channel(first: Any, second: Any) -> None:
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


def test_pairs_of_labels_stay_apart() -> None:
    labels = ['a", "b', "a", "b", 1, 2.5, False, "ü"]
    krr, rng = ldp.KRR(labels, epsilon=1.0), np.random.default_rng(1)
    pairs = paired(krr.privatize(["a"], rng), krr.privatize(["b"], rng))
    decoded = [tuple(json.loads(label)) for label in pairs.mechanism.outputs]
    assert decoded == [(a, b) for a in labels for b in labels]
    assert pairs.mechanism.parse("reports", ['["a", "ü"]']).y.tolist() == [7 + 6]


def test_pairs_are_unbiased_and_two_groups_are_not_what_they_are() -> None:
    first, second = ldp.URR(JOBS, SENSITIVE, epsilon=2.0), ldp.KRR(JOBS, epsilon=3.0)
    rng = np.random.default_rng(31)
    linear, mle, apart = [], [], []
    for _ in range(200):
        values = answers(2000, rng)
        a, b = first.privatize(values, rng), second.privatize(values, rng)
        results = ldp.FrequencyModel(paired(a, b)).fit()
        linear.append((results.linear.estimate, np.sqrt(results.linear.covariance.variances())))
        mle.append((results.params, results.bse))
        two = ldp.FrequencyModel([a, b]).moments()
        apart.append((two.estimate()[0], np.sqrt(two.covariance().variances())))
    for estimates, errors in (zip(*linear, strict=True), zip(*mle, strict=True)):
        check(list(estimates), list(errors), P)
    # negative control: as if of different respondents, standard errors are too small
    found, errors = np.array([e for e, _ in apart]), np.array([s for _, s in apart])
    assert (np.sqrt((errors**2).mean(axis=0)) / found.std(axis=0)).max() < 0.9


def test_withheld_reports_are_paired_too() -> None:
    rng = np.random.default_rng(32)
    values = answers(5000, rng)
    pairs = paired(withhold(URR.privatize(values, rng)), KRR.privatize(values, rng))
    assert pairs.mechanism.outputs[-1] == '["withheld", "judge"]'
    results = ldp.FrequencyModel(pairs).fit("inversion")
    assert float(np.abs((results.params - P) / results.bse).max()) < 4.0


def test_what_is_no_pair() -> None:
    rng = np.random.default_rng(1)
    a, b = URR.privatize(JOBS, rng), KRR.privatize(JOBS, rng)
    with pytest.raises(ldp.InvalidArgument, match=r"len\(second\)=4: must be 5"):
        paired(a, KRR.privatize(JOBS[:4], rng))
    with pytest.raises(ldp.InvalidArgument, match=r"n_missing=1: must be 0"):
        paired(a, KRR.privatize([*JOBS, None], rng, missing="count"))
    with pytest.raises(ldp.InvalidArgument, match="first="):
        paired(a.tally(), b)  # type: ignore[arg-type]
    with pytest.raises(ldp.InvalidArgument, match="second="):
        paired(a, None)  # type: ignore[arg-type]
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
