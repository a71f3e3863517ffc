"""The certificate of utility-optimised LDP: from Q and from the structure of a channel."""

from itertools import chain, combinations

import numpy as np
import pytest
from shared.refusals import refuses
from shared.uldp_surveys import (
    AT,
    JOBS,
    KRR,
    LEVELS,
    SENSITIVE,
    TYPED,
    URAP,
    URR,
    close,
    random_channel,
)

import ldpstats as ldp
from ldpstats.mechanisms import LumpedUnary
from ldpstats.privacy import dominates, epsilon, osldp, osldp_factors, post_process, uldp


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


def test_the_certificate_is_the_best_that_definition_2_allows():
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
def test_mangat_is_uldp_of_minus_ln_p(p):
    """The example of section 3.1: a "no" is reported as "yes" with probability p."""
    certificate = uldp(ldp.Mangat(p=1.0 - p), sensitive={"yes"})
    assert certificate.epsilon == pytest.approx(np.log(1.0 / p), abs=1e-12)
    assert certificate.protected.tolist() == [1] and certificate.invertible.tolist() == [0]
    assert certificate.revealed is not None and certificate.revealed.tolist() == [0, -1]
    other = uldp(ldp.Mangat(p=1.0 - p), sensitive={"no"})
    assert other.epsilon == np.inf and "'no' alone makes report 0" in other.reason
    # without a word, the answer that the design is made for; all answers have no epsilon
    for labels in (("no", "yes"), (0, 1), (False, True)):
        own = uldp(ldp.Mangat(p=1.0 - p, categories=labels))
        assert own.epsilon == certificate.epsilon
        np.testing.assert_array_equal(own.sensitive, [False, True])
    assert uldp(ldp.Mangat(p=1.0 - p), sensitive={"no", "yes"}).epsilon == np.inf
    mechanism = ldp.Mangat(p=1.0 - p)
    assert mechanism.epsilon == mechanism.audit().declared == np.inf and mechanism.sensitive is None
    with pytest.raises(ldp.InvalidArgument, match="allow_no_privacy"):
        mechanism.client()


@pytest.mark.parametrize(
    "mechanism", [URR, URAP, LEVELS, ldp.URR(3, (), 1.0), ldp.URAP(3, (), 1.0)]
)
def test_mechanisms_know_what_is_sensitive(mechanism):
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


def test_impossible_reports_are_of_no_type():
    Q = [[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.0, 0.5]]
    certificate = uldp(Q, [0])
    assert (certificate.n_protected, certificate.n_invertible) == (2.0, 1.0)
    assert certificate.protected.tolist() == [0, 1] and certificate.invertible.tolist() == [3]
    assert certificate.revealed is not None and certificate.revealed.tolist() == [-1, -1, -2, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [3],
        [0, 0],
        ["a"],
        "ab",
        0,
        [True, False],
        [True, False, True, False],
    ],
)
def test_bad_positions(wrong):
    with pytest.raises(ldp.InvalidArgument, match=r"sensitive=.*0 to 2.*mask of 3"):
        uldp(np.eye(3), wrong)


def test_bad_labels():
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
def test_classes_are_those_of_the_matrix(channel):
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
def test_patterns_of_urap_are_one_class(urap):
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


# One-sided local differential privacy: the certificate, and the factors of Proposition 14.

JOBS_ONE_SIDED = ("nurse", "teacher", "driver", "cook")


def definition_6(Q: np.ndarray, sensitive: list[int]) -> float:
    """The smallest epsilon of eq. 24, word by word."""
    found = 0.0
    for x in sensitive:
        for other in range(len(Q)):
            for y in np.flatnonzero(Q[x]):
                low = Q[other, y]
                found = max(found, np.log(Q[x, y] / low) if low else np.inf)
    return found


def one_sided_channel(rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """A channel in which sensitive categories share their reports with all others, mostly."""
    k, l = int(rng.integers(2, 6)), int(rng.integers(2, 7))  # noqa: E741
    S, shared = int(rng.integers(0, k + 1)), int(rng.integers(1, l + 1))
    Q = rng.dirichlet(np.ones(l), k) * (rng.random((k, l)) < 0.8)
    Q[:S, shared:] = 0.0
    if rng.random() < 0.9:
        Q[:, :shared] += 0.02
    Q[:, 0] += 1e-3
    order = rng.permutation(k)
    return (Q / Q.sum(axis=1, keepdims=True))[order], np.flatnonzero(order < S).tolist()


def test_the_certificate_and_the_factors_of_random_channels():
    rng, kinds, worst = np.random.default_rng(5), set(), 0.0
    for _ in range(200):
        Q, sensitive = one_sided_channel(rng)
        found, strong = osldp(Q, sensitive), uldp(Q, sensitive)
        assert found.epsilon == pytest.approx(definition_6(Q, sensitive), abs=1e-12)
        assert found.holds == (found.reason == "")
        assert found.epsilon <= strong.epsilon + 1e-12  # Proposition 13
        kinds.add((found.holds, strong.holds))
        if not found.holds:
            continue
        factors = osldp_factors(Q, sensitive)
        U, R = factors.uldp.matrix(), factors.processing
        worst = max(worst, float(np.abs(U @ R - Q).max()))
        assert R.min() >= 0.0 and np.allclose(R.sum(axis=1), 1.0, atol=1e-14)
        kept = uldp(U, sensitive)
        assert kept.epsilon <= found.epsilon + 1e-12 and factors.epsilon == found.epsilon
        assert kept.revealed is not None
        made = U.any(axis=0)
        assert np.array_equal(kept.revealed[made], factors.revealed[made])
        assert np.all((factors.kept < 0) == (factors.revealed >= 0))
    assert worst < 1e-15
    assert kinds == {(True, True), (True, False), (False, False)}


def test_the_first_factor_is_a_channel_that_dominates():
    Q = np.array([[0.5, 0.5, 0.0], [0.8, 0.1, 0.1], [0.25, 0.25, 0.5]])
    factors = osldp_factors(Q, [0])
    assert dominates(factors.uldp, Q) and not dominates(Q, factors.uldp)
    assert not uldp(Q, [0]).holds or uldp(Q, [0]).epsilon > factors.epsilon


def test_what_is_utility_optimised_is_its_own_first_factor():
    for mechanism in (
        ldp.URR(JOBS_ONE_SIDED, {"cook"}, 1.0),
        ldp.URAP(JOBS_ONE_SIDED, {"cook", "nurse"}, 0.5),
    ):
        factors = osldp_factors(mechanism)
        Q = mechanism.channel().matrix()
        assert np.array_equal(factors.uldp.matrix(), Q)
        assert np.array_equal(factors.processing, np.eye(Q.shape[1]))


MECHANISMS = {
    "krr": ldp.KRR(4, 1.0),
    "krappor": ldp.KRAPPOR(4, 1.0),
    "wide": ldp.KRAPPOR(13, 1.0, theta=0.6),
    "lumped": LumpedUnary(14, 0.3, 0.7),
    "warner": ldp.Warner(epsilon=0.5),
    "urr": ldp.URR(4, epsilon={0: 1.0, 2: 3.0}),
    "urr-all": ldp.URR(3, range(3), 2.0),
    "urap": ldp.URAP(4, epsilon={0: 1.0, 2: 3.0}),
    "urap-one": ldp.URAP(3, [1], 2.0, theta=0.3),
    "urap-none": ldp.URAP(3, [], 2.0),
    "mangat": ldp.Mangat(p=0.4),
    "orr": ldp.ORR(3, 2, epsilon=1.0, alphabet=4),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_structure_certifies_what_the_matrix_does(name):
    mechanism = MECHANISMS[name]
    Q, k = mechanism.channel().matrix(), mechanism.k
    for sensitive in ([], [0], [k - 1], [0, 1], list(range(k))):
        labels = [mechanism.categories[x] for x in sensitive]
        found, dense = osldp(mechanism, labels), osldp(Q, sensitive)
        if np.isinf(dense.epsilon):
            assert np.isinf(found.epsilon)
        else:
            assert found.epsilon == pytest.approx(dense.epsilon, abs=1e-12)
        assert (found.n_shared, found.n_apart) == (dense.n_shared, dense.n_apart)
    assert osldp(Q, range(k)).epsilon == pytest.approx(epsilon(Q), abs=1e-12)


def test_each_category_has_its_own_one_sided_epsilon():
    for kind in (ldp.URR, ldp.URAP):
        mechanism = kind(JOBS_ONE_SIDED, epsilon={"nurse": 0.5, "cook": 2.0})
        assert osldp(mechanism, ["nurse"]).epsilon == pytest.approx(0.5, abs=1e-12)
        assert osldp(mechanism).epsilon == pytest.approx(2.0, abs=1e-12)
        assert np.isinf(osldp(mechanism, ["teacher"]).epsilon)


POSITIONS = {
    "nothing": None,
    "text": "a",
    "outside": [3],
    "negative": [-1],
    "twice": [0, 0],
    "half": [0.5],
    "a mask of another size": [True],
}

BAD = [
    *refuses("sensitive", lambda v: osldp(np.eye(2), v), POSITIONS),
    *refuses("sensitive", lambda v: osldp_factors(np.eye(2), v), POSITIONS),
    *refuses("Q", lambda v: osldp(v, [0]), {"none": None, "text": "Q", "one row": [[1.0]]}),
    *refuses("Q[0]", lambda v: osldp_factors(v, [0]), {"sums": [[0.5, 0.6], [0.5, 0.5]]}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    case.check()


# What may be done to reports of utility-optimised LDP after they are made.


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
def test_epsilon_never_grows(Q, sensitive):
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


def test_what_is_refused_violates_the_definition():
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


def test_processing_of_mechanisms_and_by_channels():
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
        (np.zeros((5, 0)), "R=.*each of 5"),
        (2 * np.eye(5), r"R\[0\]=.*sum to one"),
        (np.eye(5) + 0.1 * np.eye(5)[[1, 0, 2, 3, 4]] - 0.1, r"R\[0\]=.*non-negative"),
        (np.full((5, 5), np.nan), r"R\[0\]="),
    ],
)
def test_what_is_no_processing(R, match):
    with pytest.raises(ldp.InvalidArgument, match=match):
        post_process(URR, R)


def test_there_must_be_something_to_keep():
    with pytest.raises(
        ldp.InvalidArgument, match=r"Q=.*must provide.*'nurse' alone makes report 0"
    ):
        post_process(URR, np.eye(5), JOBS)
    with pytest.raises(ldp.InvalidArgument, match="sensitive=None"):
        post_process(np.eye(3), np.eye(3))
