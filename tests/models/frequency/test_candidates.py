"""Frequencies of candidates: identification, standard errors, tests."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp

WORDS = tuple(f"w{i}" for i in range(40))
RAPPOR = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)
ORR = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=2.0)


def law(k: int) -> np.ndarray:
    p = 0.8 ** np.arange(k)
    return p / p.sum()


# -- candidates ------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [RAPPOR, ORR], ids=["rappor", "orr"])
def test_the_default_over_candidates_is_inversion(mechanism: ldp.Mechanism) -> None:
    counts = mechanism.draw(law(10), 50_000, np.random.default_rng(1), WORDS[:10])
    results = ldp.FrequencyModel(counts, candidates=WORDS).fit()
    assert results.method == "inversion"
    assert list(results.params.index) == list(WORDS)
    assert results.unexplained is not None
    assert float(results.unexplained) == pytest.approx(1 - results.params.sum(), abs=1e-12)
    V = results.linear_cov.to_numpy()
    assert results.unexplained.bse == pytest.approx(np.sqrt(V.sum()), rel=1e-9)
    again = ldp.FrequencyResults.from_json(results.to_json())
    assert again.unexplained == results.unexplained or (
        again.unexplained.to_dict() == results.unexplained.to_dict()  # type: ignore[union-attr]
    )
    assert str(again.summary()) == str(results.summary())


def test_the_order_of_cohorts_and_candidates_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    reports = RAPPOR.privatize(rng.choice(WORDS[:9], size=4_000), rng)
    first = ldp.FrequencyModel(reports, candidates=WORDS).fit()
    order = rng.permutation(len(reports))
    shuffled = ldp.Reports(reports.y[order], RAPPOR, cohort=reports.cohort[order])
    again = ldp.FrequencyModel(shuffled, candidates=WORDS[::-1]).fit()
    np.testing.assert_allclose(again.params[list(WORDS)], first.params, rtol=0, atol=1e-12)
    for method in ("mle", "em"):
        small = WORDS[:9]
        a = ldp.FrequencyModel(reports, candidates=small).fit(method)
        b = ldp.FrequencyModel(shuffled, candidates=small).fit(method)
        np.testing.assert_allclose(a.params, b.params, rtol=0, atol=1e-6)


def test_linear_covariance_is_the_plug_in_of_the_reports() -> None:
    # G V(p) G' with V written out from matrix(), cohort by cohort
    words = WORDS[:5]
    rappor = ldp.RAPPOR(n_bits=5, n_hashes=2, n_cohorts=3, f=0.0, p=0.25, q=0.75)
    orr, single = ldp.ORR(4, 3, epsilon=1.5), ldp.ORAPPOR(5, 1, 3, epsilon=1.5)
    for mechanism in (rappor, orr, single):
        counts = mechanism.draw(law(5), 3_000, np.random.default_rng(3), words)
        problem = mechanism.moments(counts, words)
        p = problem.plug_in()
        p = p / p.sum()  # nothing unexplained, so that matrix() tells all
        source = problem.sources[0]
        G = problem.inverse @ (source.design.matrix().T * source.weights)
        V = np.zeros((source.weights.size,) * 2)
        m = source.design.n_cells
        for c, Q in enumerate(mechanism.channel(words).channels):
            values = np.eye(m)
            if mechanism.n_bits:
                values = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(float)
            report = p @ Q.matrix()
            mean = report @ values
            here = slice(c * m, (c + 1) * m)
            V[here, here] = (values.T * report) @ values - np.outer(mean, mean)
            V[here, here] /= source.reports[c]
        np.testing.assert_allclose(
            problem.covariance(p).matrix(), G @ V @ G.T, rtol=1e-9, atol=1e-14
        )
        residual = (np.eye(len(V)) - source.design.matrix() @ G) @ V
        assert problem.misfit() is not None
        full, variance = source.noise.misfit(source, p)
        assert full == pytest.approx(source.weights @ np.diag(V), rel=1e-12)
        assert variance > 0.0 and residual.shape == V.shape


def test_misfit_moments_are_exact() -> None:
    # mean and variance of the squared residuals about the true means, over every possible sample of
    # two reports in one cohort
    words = WORDS[:3]
    for mechanism in (
        ldp.ORR(3, 1, epsilon=1.0),
        ldp.RAPPOR(n_bits=3, n_hashes=2, n_cohorts=1, f=0.0, p=0.2, q=0.7),
        ldp.RAPPOR(n_bits=3, n_hashes=1, n_cohorts=1, f=0.0, p=0.2, q=0.7),
    ):
        p = np.array([0.5, 0.3, 0.2])
        m = mechanism.n_cells
        Q = mechanism.channel(words).matrix()
        values = np.eye(m)
        if mechanism.n_bits:
            values = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(float)
        report = p @ Q
        counts = mechanism.draw(p, 2, np.random.default_rng(1), words)
        source = mechanism.moments(counts, words).sources[0]
        mean = source.cell_means(p)[0]
        np.testing.assert_allclose(mean, report @ values, atol=1e-14)
        pairs = [(i, j) for i in range(len(report)) for j in range(len(report))]
        weight = np.array([report[i] * report[j] for i, j in pairs])
        R = np.array(
            [
                2 * source.precision * (((values[i] + values[j]) / 2 - mean) ** 2).sum()
                for i, j in pairs
            ]
        )
        first, second = source.noise.misfit(source, p)
        assert first == pytest.approx(weight @ R, rel=1e-12)
        assert second == pytest.approx(weight @ R**2 - (weight @ R) ** 2, rel=1e-12)


def test_unlisted_answers_are_not_spread_over_the_candidates() -> None:
    # a fifth of the answers is on 200 unlisted strings: estimates and the unexplained share are
    # within 4 standard errors of the truth, and the naive offset, which ignores them, is far off
    rng = np.random.default_rng(5)
    every = (*WORDS[:10], *(f"unlisted{i}" for i in range(200)))
    p = np.concatenate([0.8 * law(10), np.full(200, 0.001)])
    for mechanism in (RAPPOR, ldp.ORR(16, 32, epsilon=3.0), ldp.ORAPPOR(32, 1, 16, epsilon=3.0)):
        counts = mechanism.draw(p, 400_000, rng, every)
        results = ldp.FrequencyModel(counts, candidates=WORDS).fit()
        truth = np.zeros(40)
        truth[:10] = p[:10]
        assert np.abs((results.params - truth) / results.bse).max() < 4.0
        share = results.unexplained
        assert abs(share.estimate - 0.2) < 4.0 * share.bse
        low, high = share.conf_int(alpha=0.05)
        assert low < share.estimate < high
        assert "Not among them" in str(results.summary())


def test_an_incomplete_list_is_called_doubtful() -> None:
    counts = RAPPOR.draw(law(10), 100_000, np.random.default_rng(6), WORDS[:10])
    complete = ldp.FrequencyModel(counts, candidates=WORDS).fit()
    assert complete.goodness_of_fit.pvalue > 0.01 and complete.dispersion == 1.0
    lacking = ldp.FrequencyModel(counts, candidates=WORDS[1:]).fit()
    assert lacking.goodness_of_fit.pvalue < 1e-6 and lacking.dispersion > 1.5
    assert "WARNING: the reports contradict" in str(lacking.summary())
    assert set(lacking.detected()) <= set(WORDS[:10])


def test_several_mechanisms_over_the_same_candidates() -> None:
    rng = np.random.default_rng(7)
    parts = [m.draw(law(6), 60_000, rng, WORDS[:6]) for m in (RAPPOR, ORR)]
    both = ldp.FrequencyModel(parts, candidates=WORDS[:8]).fit()
    alone = [ldp.FrequencyModel(part, candidates=WORDS[:8]).fit() for part in parts]
    assert np.all(both.bse < np.minimum(alone[0].bse, alone[1].bse))
    truth = np.append(law(6), [0.0, 0.0])
    assert np.abs((both.params - truth) / both.bse).max() < 4.0
    closed = ldp.ORR(4, 6, epsilon=2.0, alphabet=("a", "b", "c")), ldp.KRR(("a", "b", "c"), 1.0)
    mixed = ldp.FrequencyModel([m.draw(law(3), 50_000, rng) for m in closed]).fit("inversion")
    assert np.abs((mixed.params - law(3)) / mixed.bse).max() < 4.0


def test_two_samples_and_a_given_distribution() -> None:
    rng = np.random.default_rng(8)
    same = [RAPPOR.draw(law(6), 40_000, rng, WORDS[:6]) for _ in range(2)]
    other = RAPPOR.draw(law(6)[::-1], 40_000, rng, WORDS[:6])
    assert ldp.two_sample_test(*same, candidates=WORDS[:8]).pvalue > 0.001
    assert ldp.two_sample_test(same[0], other, candidates=WORDS[:8]).pvalue < 1e-6
    model = ldp.FrequencyModel(same[0], candidates=WORDS[:6])
    assert model.test_distribution(law(6)).pvalue > 0.001
    assert model.test_distribution(law(6)[::-1]).pvalue < 1e-6


# -- identification --------------------------------------------------------------------------


def test_candidates_with_the_same_hashes_are_named() -> None:
    orr = ldp.ORR(2, 2, epsilon=1.0)
    words = [f"w{i}" for i in range(6)]  # more than the 2^2 different tuples of hashes
    counts = orr.counts([[50, 50], [50, 50]])
    with pytest.raises(ldp.NotIdentified, match="same hashes in every cohort: 'w"):
        ldp.FrequencyModel(counts, candidates=words).fit()


def test_the_rank_bound_is_said() -> None:
    # kC = 12 equations, of rank C (k - 1) = 8 beside the unexplained share
    orr = ldp.ORR(3, 4, epsilon=1.0)
    words = [f"w{i}" for i in range(9)]
    counts = orr.draw(law(9), 10_000, np.random.default_rng(1), words)
    with pytest.raises(ldp.NotIdentified, match="determine at most 8"):
        ldp.FrequencyModel(counts, candidates=words).fit()
    closed = ldp.ORR(3, 4, epsilon=1.0, alphabet=10)
    with pytest.raises(ldp.NotIdentified, match="at most 9"):
        ldp.FrequencyModel(closed.draw(law(10), 10_000, np.random.default_rng(1))).fit("inversion")
    reached = ldp.ORR(3, 4, epsilon=1.0, alphabet=9)
    rank = np.linalg.matrix_rank(reached.channel().matrix())
    draws = reached.draw(law(9), 10_000, np.random.default_rng(1))
    if rank == 9:
        ldp.FrequencyModel(draws).fit("inversion")
    else:
        with pytest.raises(ldp.NotIdentified):
            ldp.FrequencyModel(draws).fit("inversion")


def test_an_empty_cohort_gives_no_equation() -> None:
    counts = ORR.draw(law(5), 200_000, np.random.default_rng(9), WORDS[:5])
    table = counts.vector()
    table[3] = 0
    results = ldp.FrequencyModel(ORR.counts(table), candidates=WORDS[:5]).fit()
    assert np.abs((results.params - law(5)) / results.bse).max() < 4.0
    assert np.isfinite(results.bse).all()


def test_more_candidates_than_bits_are_refused_at_once() -> None:
    words = tuple(f"w{i}" for i in range(40))
    rappor = ldp.RAPPOR(n_bits=8, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    counts = rappor.privatize(words * 5, np.random.default_rng(0)).tally(bits=True)
    with pytest.raises(ldp.NotIdentified, match="4 cohorts with reports, of 8 bits each"):
        ldp.FrequencyModel(counts, candidates=words).fit("inversion")
