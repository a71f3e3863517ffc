"""The truncated geometric channel: its law, and what it protects."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.sampling import samplers


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_the_law_is_that_of_geometric_noise_cut_at_the_ends(k: int, epsilon: float) -> None:
    # noise z with P(z) = (1 - a) / (1 + a) a^|z|, and x + z moved to the nearest category
    a = np.exp(-epsilon / (k - 1))
    steps = np.arange(-4000 * k, 4000 * k + 1)
    noise = (1 - a) / (1 + a) * a ** np.abs(steps)
    Q = np.array(
        [np.bincount(np.clip(x + steps, 0, k - 1), weights=noise, minlength=k) for x in range(k)]
    )
    mechanism = ldp.GeometricResponse(k, epsilon)
    np.testing.assert_allclose(mechanism.channel().matrix(), Q, rtol=1e-9, atol=1e-14)


def test_neighbours_are_told_apart_less() -> None:
    Q = ldp.GeometricResponse(5, 2.0).channel().matrix()
    for x in range(5):
        for other in range(5):
            ratio = np.log(Q[x] / Q[other]).max()
            assert ratio == pytest.approx(2.0 * abs(x - other) / 4, abs=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 5.0, 30.0, 50.0])
@pytest.mark.parametrize("k", [2, 3, 64, 1000])
def test_it_never_leaks_more_than_it_declares(epsilon: float, k: int) -> None:
    audit = ldp.GeometricResponse(k, epsilon).audit()
    assert audit.agrees and audit.declared == epsilon
    assert audit.channel == pytest.approx(epsilon, rel=1e-12, abs=1e-15 * k)


def test_thresholds_that_are_rounded_down_would_leak() -> None:
    # negative control of the test above: entries of e^-44 are far from multiples of 2^-64
    mechanism = ldp.GeometricResponse(3, 44.0)
    down = samplers.integer_rows(mechanism.channel().matrix())
    assert samplers.realised_epsilon_rows(down) > 44.0 * (1 + 1e-9)
    up = samplers.integer_rows(mechanism.channel().matrix(), "up")
    assert samplers.realised_epsilon_rows(up) <= 44.0
    for rows in (down, up):
        assert all(int(upper[-1]) == 2**64 - 1 for upper in rows.upper)


def test_labels_are_in_order() -> None:
    assert ldp.GeometricResponse(("low", "high", "middle"), 1.0).is_ordered  # text is as it stands
    for labels in ((1, 3, 2), (0.5, 0.2), ("[5, 9]", "[0, 5)")):
        with pytest.raises(ldp.InvalidArgument, match=r"^categories=.*do not ascend"):
            ldp.GeometricResponse(labels, 1.0)
