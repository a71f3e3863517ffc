"""What every mechanism and every estimator must satisfy, against ``matrix()`` as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from grid import (
    ESTIMATORS,
    MECHANISMS,
    all_reports,
    distribution,
    expected_counts,
    report_codes,
)
from scipy import stats

import ldpstats as ldp
from ldpstats.estimators import ESTIMATORS as KNOWN_ESTIMATORS
from ldpstats.mechanisms import MECHANISMS as KNOWN_MECHANISMS

DRAWS = 1_000_000
LEVEL = 1e-6  # of each goodness-of-fit test: with fixed seeds a failure means a wrong law

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())


def test_the_grid_is_complete() -> None:
    assert {type(m).__name__ for m in MECHANISMS.values()} == set(KNOWN_MECHANISMS)
    assert set(ESTIMATORS) == set(KNOWN_ESTIMATORS)


def brute_epsilon(Q: np.ndarray) -> float:
    """Largest log ratio of two entries in a column, pair by pair."""
    worst = 0.0
    for column in Q.T[Q.max(axis=0) > 0.0]:
        for high in column:
            for low in column:
                if high > low:
                    worst = max(worst, np.inf if low == 0.0 else float(np.log(high / low)))
    return worst


@every_mechanism
def test_channel(mechanism: ldp.Mechanism) -> None:
    channel = mechanism.channel()
    Q = channel.matrix()
    assert Q.shape == channel.shape
    assert Q.shape == (mechanism.k, mechanism.n_outputs or 2**mechanism.n_bits)
    assert Q.min() >= 0.0
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    p = distribution(mechanism.k)
    np.testing.assert_allclose(channel.forward(p), p @ Q, rtol=0, atol=1e-12)
    y = all_reports(mechanism)
    np.testing.assert_allclose(channel.likelihood(y), Q.T, rtol=0, atol=1e-12)
    rows = channel.rows(y)
    scaled = rows.dense()
    v = np.linspace(1.0, 2.0, len(y))
    np.testing.assert_allclose(rows.mix(p), scaled @ p, rtol=1e-12)
    np.testing.assert_allclose(rows.adjoint(v), v @ scaled, rtol=1e-12)
    np.testing.assert_allclose(rows.gram(v), (scaled.T * v) @ scaled, rtol=1e-12)


@every_mechanism
def test_epsilon_is_proved_from_the_channel(mechanism: ldp.Mechanism) -> None:
    brute = brute_epsilon(mechanism.channel().matrix())
    audit = mechanism.audit()
    assert audit.declared == mechanism.epsilon
    if np.isinf(brute):
        assert audit.declared == audit.channel == audit.sampler == np.inf
        return
    # a log ratio of two doubles carries a relative error of about k ulp of each of them
    assert audit.declared == pytest.approx(brute, abs=1e-12, rel=1e-12)
    assert audit.channel == pytest.approx(brute, abs=1e-12, rel=1e-12)
    assert audit.sampler == pytest.approx(brute, abs=1e-12, rel=1e-9)
    assert audit.agrees


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """Pearson p-value; cells expected fewer than 5 times are pooled, impossible ones refused."""
    assert observed[expected == 0.0].sum() == 0, "a report of probability zero was made"
    small = expected < 5.0
    cells = np.append(observed[~small], observed[small].sum())
    means = np.append(expected[~small], expected[small].sum())
    keep = means > 0.0
    if keep.sum() < 2:
        return 1.0
    statistic = ((cells[keep] - means[keep]) ** 2 / means[keep]).sum()
    return float(stats.chi2.sf(statistic, keep.sum() - 1))


def sampled_pvalues(mechanism: ldp.Mechanism, draw, n: int, Q: np.ndarray) -> list[float]:  # type: ignore[no-untyped-def]
    """One chi-square p-value per category, n draws in all."""
    found = []
    each = n // mechanism.k
    for x, label in enumerate(mechanism.categories):
        reports = draw(np.repeat(np.array([label]), each))
        codes = report_codes(mechanism, reports.y)
        observed = np.bincount(codes, minlength=Q.shape[1])
        found.append(chi_square(observed, each * Q[x]))
    return found


@every_mechanism
def test_sampler_has_the_law_of_the_channel(mechanism: ldp.Mechanism) -> None:
    rng = np.random.default_rng(11)
    Q = mechanism.channel().matrix()
    p = sampled_pvalues(mechanism, lambda v: mechanism.privatize(v, rng), DRAWS, Q)
    assert min(p) * mechanism.k > LEVEL


@pytest.mark.slow
@every_mechanism
def test_client_has_the_law_of_the_channel(mechanism: ldp.Mechanism) -> None:
    client = mechanism.client(entropy=np.random.default_rng(12).bytes)
    Q = mechanism.channel().matrix()
    p = sampled_pvalues(mechanism, client.privatize, DRAWS, Q)
    assert min(p) * mechanism.k > LEVEL


def test_a_wrong_law_is_noticed() -> None:
    # negative control: two per cent of the mass moved, ten standard errors of 250,000 draws
    mechanism = MECHANISMS["krr-labels"]
    Q = 0.98 * mechanism.channel().matrix() + 0.02 * np.eye(4)
    rng = np.random.default_rng(11)
    p = sampled_pvalues(mechanism, lambda v: mechanism.privatize(v, rng), DRAWS, Q)
    assert max(p) < LEVEL


@every_mechanism
def test_drawn_counts_have_the_law_of_the_reports(mechanism: ldp.Mechanism) -> None:
    # means of `draw` within 5 standard errors of the channel's, variances within 8 % (R = 4000:
    # the standard error of a variance is 2.2 %)
    rng = np.random.default_rng(13)
    p = distribution(mechanism.k)
    nobs, R = 500, 4000
    draws = np.array([_vector(mechanism.draw(p, nobs, rng)) for _ in range(R)])
    if mechanism.n_bits:
        mean = mechanism.channel().bit_means(p)
    else:
        mean = mechanism.channel().forward(p)
    se = np.sqrt(nobs * mean * (1 - mean))
    assert np.all(np.abs(draws.mean(axis=0) - nobs * mean) <= 5 * se / np.sqrt(R) + 1e-9)
    busy = nobs * mean * (1 - mean) > 5
    ratio = draws.var(axis=0)[busy] / (se[busy] ** 2)
    assert np.all(np.abs(ratio - 1) < 0.12)


def _vector(counts: ldp.Counts | ldp.BitCounts) -> np.ndarray:
    return counts.ones[0] if isinstance(counts, ldp.BitCounts) else counts.vector()


@every_mechanism
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_recover_p_from_expected_counts(mechanism: ldp.Mechanism, name: str) -> None:
    p = distribution(mechanism.k)
    # rounding to whole counts of 1e14 leaves an error below 1e-7 even where the noise is strongest
    counts = expected_counts(mechanism, p, 1e14)
    model = ldp.FrequencyModel(counts)
    kind = model.moments().kind
    if kind not in ESTIMATORS[name]:
        with pytest.raises(ldp.NotAvailable, match=r"unary|bit"):
            model.fit(name)
        return
    results = model.fit(name)
    assert results.converged
    np.testing.assert_allclose(results.params, p, rtol=0, atol=2e-6)
    assert list(results.params.index) == list(mechanism.categories)


def test_counts_of_a_wrong_mechanism_do_not_recover_p() -> None:
    # negative control for the test above
    p = distribution(4)
    counts = expected_counts(ldp.KRR(4, epsilon=1.0), p, 1e12)
    wrong = ldp.KRR(4, epsilon=1.2).counts(counts.vector())
    assert np.abs(ldp.FrequencyModel(wrong).fit().params - p).max() > 1e-2


@every_mechanism
def test_specification_round_trip(mechanism: ldp.Mechanism) -> None:
    import json

    document = json.loads(json.dumps(mechanism.to_dict()))
    again = ldp.mechanism_from_dict(document)
    assert again == mechanism
    assert again.fingerprint == mechanism.fingerprint
    assert list(again.categories) == list(mechanism.categories)
    np.testing.assert_array_equal(again.channel().matrix(), mechanism.channel().matrix())


def test_fingerprints_differ() -> None:
    assert len({m.fingerprint for m in MECHANISMS.values()}) == len(MECHANISMS)


@every_mechanism
def test_text_form_of_reports_round_trip(mechanism: ldp.Mechanism) -> None:
    y = all_reports(mechanism)
    np.testing.assert_array_equal(mechanism.parse("reports", mechanism.report_labels(y)), y)
    report = mechanism.client().report(mechanism.categories[0])
    assert len(mechanism.parse("report", [report])) == 1


@every_mechanism
def test_counts_add_up_over_chunks(mechanism: ldp.Mechanism) -> None:
    rng = np.random.default_rng(14)
    values = rng.choice(np.asarray(mechanism.categories), size=3_000)
    reports = mechanism.privatize(values, rng)
    chunks = [ldp.Reports(reports.y[i::3], mechanism) for i in range(3)]
    whole = reports.tally()
    total = sum((chunk.tally() for chunk in chunks), start=mechanism.no_counts())
    np.testing.assert_array_equal(total.y, whole.y)
    np.testing.assert_array_equal(total.n, whole.n)
    if mechanism.n_bits:
        bits = sum((chunk.tally(bits=True) for chunk in chunks), start=mechanism.no_counts())
        np.testing.assert_array_equal(bits.ones, reports.tally(bits=True).ones)
        np.testing.assert_array_equal(bits.ones, whole.bit_counts().ones)
        assert bits.nobs == whole.nobs == 3_000
