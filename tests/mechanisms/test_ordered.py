"""The truncated geometric channel: its law, and what it protects."""

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, UnknownCategory
from ldpstats.sampling import samplers


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_the_law_is_that_of_geometric_noise_cut_at_the_ends(k, epsilon):
    # noise z with P(z) = (1 - a) / (1 + a) a^|z|, and x + z moved to the nearest category
    a = np.exp(-epsilon / (k - 1))
    steps = np.arange(-4000 * k, 4000 * k + 1)
    noise = (1 - a) / (1 + a) * a ** np.abs(steps)
    Q = np.array(
        [np.bincount(np.clip(x + steps, 0, k - 1), weights=noise, minlength=k) for x in range(k)]
    )
    mechanism = ldp.GeometricResponse(k, epsilon)
    np.testing.assert_allclose(mechanism.channel().matrix(), Q, rtol=1e-9, atol=1e-14)


def test_neighbours_are_told_apart_less():
    Q = ldp.GeometricResponse(5, 2.0).channel().matrix()
    for x in range(5):
        for other in range(5):
            ratio = np.log(Q[x] / Q[other]).max()
            assert ratio == pytest.approx(2.0 * abs(x - other) / 4, abs=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 5.0, 30.0, 50.0])
@pytest.mark.parametrize("k", [2, 3, 64, 1000])
def test_it_never_leaks_more_than_it_declares(epsilon, k):
    audit = ldp.GeometricResponse(k, epsilon).audit()
    assert audit.agrees and audit.declared == epsilon
    assert audit.channel == pytest.approx(epsilon, rel=1e-12, abs=1e-15 * k)


def test_thresholds_that_are_rounded_down_would_leak():
    # negative control of the test above: entries of e^-44 are far from multiples of 2^-64
    mechanism = ldp.GeometricResponse(3, 44.0)
    down = samplers.integer_rows(mechanism.channel().matrix())
    assert samplers.realised_epsilon_rows(down) > 44.0 * (1 + 1e-9)
    up = samplers.integer_rows(mechanism.channel().matrix(), "up")
    assert samplers.realised_epsilon_rows(up) <= 44.0
    for rows in (down, up):
        assert all(int(upper[-1]) == 2**64 - 1 for upper in rows.upper)


def test_labels_are_in_order():
    assert ldp.GeometricResponse(("low", "high", "middle"), 1.0).is_ordered  # text is as it stands
    for labels in ((1, 3, 2), (0.5, 0.2), ("[5, 9]", "[0, 5)")):
        with pytest.raises(ldp.InvalidArgument, match=r"^categories=.*do not ascend"):
            ldp.GeometricResponse(labels, 1.0)


# The square wave: its law against the paper's formula, its half width, its answers.


def printed(k: int, b: int, epsilon: float) -> np.ndarray:
    """Li et al. (2020), section 5.4: probabilities e^eps and 1, one report at a time."""
    e, l = np.exp(epsilon), k + 2 * b  # noqa: E741
    Q = [[e if abs((y - b) - x) <= b else 1.0 for y in range(l)] for x in range(k)]
    return np.array(Q) / ((2 * b + 1) * e + k - 1)


@pytest.mark.parametrize(("k", "b"), [(2, 0), (2, 1), (5, 2), (5, 4), (40, 7)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_law_is_the_printed_one(k, b, epsilon):
    mechanism = ldp.SquareWave(np.arange(k + 1), epsilon, b)
    Q = mechanism.channel().matrix()
    np.testing.assert_allclose(Q, printed(k, b, epsilon), rtol=1e-12)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, rtol=1e-12)
    if b == 0:
        krr = ldp.KRR(k, epsilon).channel().matrix()
        np.testing.assert_allclose(Q, krr, rtol=1e-12)


def test_the_half_width_is_that_of_the_paper():
    for epsilon in (0.01, 0.05, 0.5, 1.0, 3.0, 10.0):
        e = np.exp(epsilon)
        formula = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
        for k in (100, 10_007):
            assert ldp.SquareWave(np.arange(k + 1), epsilon).half_width == int(k * formula)
    # the closed form and the series meet; the ends are a half and nothing
    edges = np.arange(1_000_001)
    halves = [ldp.SquareWave(edges, e).half_width for e in (0.01 - 1e-13, 0.01, 1e-6, 50.0)]
    assert halves[0] == halves[1] and halves[2] == pytest.approx(500_000, abs=1) and not halves[3]


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 5.0, 30.0, 50.0])
@pytest.mark.parametrize("k", [2, 16, 1000])
def test_it_never_leaks_more_than_it_declares_waves(epsilon, k):
    mechanism = ldp.SquareWave(np.arange(k + 1), epsilon)
    audit = mechanism.audit()
    assert audit.agrees and audit.declared == epsilon
    assert audit.sampler <= epsilon * (1 + 1e-12)
    Q = mechanism.channel()
    p = np.full(k, 1.0 / k)
    np.testing.assert_allclose(Q.forward(p), p @ Q.matrix(), rtol=1e-9, atol=1e-15)


def test_unequal_widths_change_labels_and_not_the_law():
    even, uneven = ldp.SquareWave([0, 1, 2, 3, 4], 1.0), ldp.SquareWave([0, 1, 5, 6, 100], 1.0)
    np.testing.assert_array_equal(even.channel().matrix(), uneven.channel().matrix())
    assert uneven.categories.tolist() == ["[0, 1)", "[1, 5)", "[5, 6)", "[6, 100]"]
    assert even != uneven and even.is_ordered and not ldp.KRR(4, 1.0).is_ordered


def test_answers_are_numbers_or_bins():
    mechanism = ldp.SquareWave([0, 10, 20, 50], 40.0, half_width=0)  # tells nearly the truth
    rng = np.random.default_rng(1)
    answers = pd.Series([0, 9.5, 10, 50], name="age")
    reports = mechanism.privatize(answers, rng)
    assert reports.y.tolist() == [0, 0, 1, 2] and reports.name == "age"
    assert mechanism.privatize(["[20, 50]", "3", 12], rng).y.tolist() == [2, 0, 1]
    assert mechanism.privatize([1, None, np.nan], rng, missing="count").n_missing == 2
    client = mechanism.client(reports=3)
    assert [client.report(v) for v in (5, "[10, 20)", 20.0)] == [0, 1, 2]
    for value in (51, True, "x"):
        with pytest.raises(UnknownCategory, match=r"values\[1\]=.*extend the edges"):
            mechanism.privatize([1, value], rng)
        with pytest.raises(UnknownCategory, match=r"^value=\(not shown\)"):
            mechanism.client().report(value)
    with pytest.raises(InvalidArgument, match=r"values\[1\].*is missing"):
        mechanism.privatize([1, np.nan], rng)


def test_means_and_quantiles_use_midpoints_and_survive_storage():
    mechanism = ldp.SquareWave([0, 10, 20, 60], 2.0)
    counts = mechanism.draw([0.5, 0.3, 0.2], 50_000, np.random.default_rng(3))
    results = ldp.FrequencyModel(counts).fit()
    again = ldp.FrequencyResults.from_json(results.to_json())
    for found in (results, again):
        mean = found.mean()
        assert mean["lower"] < 0.5 * 5 + 0.3 * 15 + 0.2 * 40 < mean["upper"]
        explicit = found.mean(dict(zip(mechanism.categories, (5, 15, 40), strict=True)))
        assert mean["estimate"] == explicit["estimate"]
        assert found.quantile(0.7)["estimate"] in ("[10, 20)", "[0, 10)")
        assert found.cumulative().index.tolist() == mechanism.categories.tolist()
