"""What may be done to reports of utility-optimised LDP after they are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared.uldp_surveys import AT, JOBS, KRR, LEVELS, SENSITIVE, TYPED, URAP, URR

import ldpstats as ldp
from ldpstats.privacy import post_process, uldp


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
