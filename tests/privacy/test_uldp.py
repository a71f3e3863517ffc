"""The certificate of utility-optimised LDP: from Q and from the structure of a channel."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from shared.uldp_surveys import JOBS, KRR, LEVELS, URAP, URR, close, random_channel

import ldpstats as ldp
from ldpstats.privacy import uldp

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


def test_impossible_reports_are_of_no_type() -> None:
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
