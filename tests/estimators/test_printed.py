"""Estimators as papers print them, against the printed formulas."""

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators import MLE, Minimax, PlainEM, Unweighted
from ldpstats.likelihood.rows import Likelihood

WORDS = tuple("abcdef")
P = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])


# ---- KBR16 eq. 18


def hashed(mechanism: ldp.Mechanism, n: int, seed: int = 0) -> ldp.Reports:
    rng = np.random.default_rng(seed)
    reports = mechanism.privatize(rng.choice(WORDS, n, p=P), rng)
    keep = rng.random(n) < 1.0 / (1.0 + reports.cohort)  # cohorts of unequal sizes
    return ldp.Reports(reports.y[keep], mechanism, cohort=reports.cohort[keep])


def printed_orr(reports: ldp.Reports, epsilon: float) -> np.ndarray:
    """Eq. 18 report by report: H p = (C (e^eps + k - 1) m - 1) / (e^eps - 1), least squares."""
    mechanism = reports.mechanism
    C, k, e = mechanism.n_cohorts, mechanism.n_outputs, np.exp(epsilon)
    m = np.zeros((C, k))
    np.add.at(m, (reports.cohort, reports.y), 1.0 / len(reports))
    names = WORDS if mechanism.is_open else None
    H = (mechanism.channel(names).matrix() > 1.5 / C / (e + k - 1)).T.astype(float)
    right = (C * (e + k - 1) * m.reshape(-1) - 1.0) / (e - 1.0)
    return np.linalg.lstsq(H, right, rcond=None)[0]


@pytest.mark.parametrize("alphabet", [None, WORDS])
def test_unweighted_labels_are_eq_18(alphabet):
    reports = hashed(ldp.ORR(4, 6, epsilon=1.5, alphabet=alphabet), 4000)
    model = ldp.FrequencyModel(reports, candidates=None if alphabet else WORDS)
    found = model.fit("unweighted")
    np.testing.assert_allclose(found.params, printed_orr(reports, 1.5), rtol=1e-9, atol=1e-12)
    assert np.abs(found.params - model.fit("inversion").params).max() > 1e-3


@pytest.mark.parametrize("n_hashes", [1, 2])
def test_unweighted_bits_are_its_analogue(n_hashes):
    mechanism = ldp.RAPPOR(8, n_hashes, 5, f=0.2, p=0.3, q=0.8, alphabet=WORDS)
    reports = hashed(mechanism, 4000)
    bits = np.unpackbits(reports.y, axis=1, bitorder="little")[:, :8]
    sums = np.zeros((5, 8))
    np.add.at(sums, reports.cohort, bits)
    q = mechanism.moments(reports.tally(bits=True))
    design = q.sources[0].design
    H = (design.matrix() > design.slope * (0.5 - design.background)).astype(float)
    low = 0.8 * 0.3 + 0.2 * (0.3 + 0.8) / 2  # P(bit) where no hash sets it
    high = 0.8 * 0.8 + 0.2 * (0.3 + 0.8) / 2
    right = (5 * sums.reshape(-1) / len(reports) - low) / (high - low)
    expected = np.linalg.lstsq(H, right, rcond=None)[0]
    found = ldp.FrequencyModel(reports.tally(bits=True)).fit("unweighted")
    np.testing.assert_allclose(found.params, expected, rtol=1e-9, atol=1e-12)


def test_cohorts_of_the_same_size_make_no_difference():
    orr = ldp.ORR(4, 6, epsilon=1.5, alphabet=WORDS)
    reports = orr.privatize(["a", "b", "c"] * 400, np.random.default_rng(1))
    first = np.concatenate([np.flatnonzero(reports.cohort == c)[:150] for c in range(6)])
    reports = ldp.Reports(reports.y[first], orr, cohort=reports.cohort[first])
    model = ldp.FrequencyModel(reports)
    unweighted, default = model.fit("unweighted"), model.fit("inversion")
    np.testing.assert_allclose(unweighted.params, default.params, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [False, True])
def test_unweighted_standard_errors_allow_for_the_sizes_of_cohorts(bits, replications):
    """Standard deviations of R surveys over the root mean squared standard error: 4 MC errors.

    The mean ratio of six categories has a Monte Carlo error below ``1 / sqrt(2 R)``. Given the
    sizes of the cohorts, as the default has them, the errors would be too small (the control).
    """
    made: ldp.Mechanism = ldp.ORR(3, 8, epsilon=3.0, alphabet=WORDS)
    if bits:
        made = ldp.RAPPOR(6, 2, 8, f=0.0, p=0.8, q=0.98, alphabet=WORDS)
    rng, R = np.random.default_rng(5), replications(1000, least=200)
    found, variances, given = [], [], []
    for _ in range(R):
        reports = made.privatize(rng.choice(WORDS, 400, p=P), rng)
        counts = reports.tally(bits=True) if bits else reports.tally()
        results = ldp.FrequencyModel(counts).fit_quietly("unweighted")
        found.append(results.params.to_numpy())
        variances.append(results.bse.to_numpy() ** 2)
        given.append(results.linear_cov.to_numpy().diagonal())
    sd, tolerance = np.std(found, axis=0), 4.0 / np.sqrt(2.0 * R)
    assert abs(np.mean(sd / np.sqrt(np.mean(variances, axis=0))) - 1.0) < tolerance
    control = np.mean(sd / np.sqrt(np.mean(given, axis=0))) - 1.0
    assert control > (tolerance if bits else 0.0)


@pytest.mark.parametrize(("k", "epsilon", "n_cohorts"), [(2, 36.0, 64), (2, 45.0, 2), (6, 50.0, 8)])
def test_unweighted_almost_without_noise(k, epsilon, n_cohorts):
    # one report: what cancels in its variance leaves rounding, of either sign
    counts = ldp.OLH(k, epsilon, n_cohorts).privatize([0], np.random.default_rng(1)).tally()
    results = ldp.FrequencyModel(counts).fit_quietly("unweighted")
    assert np.all(results.bse >= 0.0) and "unweighted" in str(results.summary())


def test_unweighted_is_for_hashes_only():
    for mechanism in (ldp.KRR(3, 1.0), ldp.KRAPPOR(3, 1.0), ldp.SquareWave([0, 1, 2, 3], 1.0)):
        counts = mechanism.draw(np.full(3, 1 / 3), 100, np.random.default_rng(1))
        with pytest.raises(NotAvailable, match=r"unweighted.*hashed reports.*'inversion'"):
            ldp.FrequencyModel(counts).fit("unweighted")
    reports = hashed(ldp.ORR(2, 3, epsilon=1.5, alphabet=WORDS), 500)  # 4 equations for 6 answers
    with pytest.raises(NotIdentified):
        ldp.FrequencyModel(reports).fit("unweighted")


# ---- KBR16 eq. 25


@pytest.mark.parametrize("counts", [(80, 15, 5), (1, 0, 0), (3, 3, 3)])
def test_minimax_is_eq_25(counts):
    observed, T = ldp.Observed(("a", "b", "c")), np.array(counts)
    n = T.sum()
    found = Minimax().solve(observed.moments(observed.counts(T)))
    np.testing.assert_allclose(found.p, (np.sqrt(n) / 3 + T) / (np.sqrt(n) + n), rtol=1e-14)


@pytest.mark.parametrize(
    "mechanism", [ldp.Observed(4), ldp.KRR(4, 1.0), ldp.KRAPPOR(4, 1.0)], ids=lambda m: str(m)[:7]
)
def test_the_risk_of_minimax_is_the_same_everywhere(mechanism):
    # exact: variance of the unbiased estimate and squared bias; KBR16 eq. 26 without noise
    n, risks = 100, []
    for p in (np.full(4, 0.25), np.array([1.0, 0, 0, 0]), np.array([0.7, 0.2, 0.1, 0.0])):
        problem = mechanism.moments(mechanism.draw(p, n, np.random.default_rng(1)))
        linear = problem.covariance(p)
        solution = Minimax().solve(problem)
        own = Minimax().covariance(problem, solution, linear).variances().sum()
        bias = (np.sqrt(n) / 4 + n * p) / (np.sqrt(n) + n) - p
        risks.append(own + bias @ bias)
    assert np.ptp(risks) < 1e-12
    if isinstance(mechanism, ldp.Observed):
        assert risks[0] == pytest.approx((1 - 1 / 4) / (np.sqrt(n) + 1) ** 2, rel=1e-12)


def test_minimax_needs_all_categories():
    reports = hashed(ldp.ORR(4, 6, epsilon=1.5), 500)
    with pytest.raises(NotAvailable, match=r"minimax.*hashed candidates.*'inversion'"):
        ldp.FrequencyModel(reports, candidates=WORDS).fit("minimax")


# ---- FPE16 section III-A


def by_hand(W: np.ndarray, reports: np.ndarray, delta: float) -> tuple[np.ndarray, int]:
    """Steps 1 to 3 of section III-A, with the posterior of every single report."""
    p, steps = np.full(W.shape[1], 1.0 / W.shape[1]), 0
    while True:
        posterior = p * W[reports]
        posterior /= posterior.sum(axis=1, keepdims=True)
        new, steps = posterior.mean(axis=0), steps + 1
        if np.abs(new - p).max() < delta:
            return new, steps
        p = new


@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-4, 1e-7])
def test_em_fpe16_is_as_printed(delta):
    rng = np.random.default_rng(3)
    Q = rng.dirichlet(np.ones(5), size=3)
    reports = rng.choice(5, 400, p=np.array([0.6, 0.3, 0.1]) @ Q)
    problem = Likelihood(Q.T, np.bincount(reports, minlength=5))
    found = PlainEM(delta).solve(problem)
    p, steps = by_hand(Q.T, reports, delta)
    np.testing.assert_allclose(found.p, p, atol=1e-12)
    assert found.n_iter == steps and found.converged
    assert found.gap == pytest.approx(problem.gap(p), abs=1e-12)


def test_the_printed_rule_stops_far_from_the_maximum():
    counts = ldp.KRAPPOR(12, 0.5).draw(np.arange(12) / 66, 20_000, np.random.default_rng(1))
    krr = ldp.KRR(12, 0.5)
    counts = krr.draw(np.arange(12) / 66, 20_000, np.random.default_rng(1))
    problem = krr.likelihood(counts)
    early, best = PlainEM(1e-4).solve(problem), MLE().solve(problem)
    left = problem.loglike(best.p) - problem.loglike(early.p)
    assert left > 1.0  # nats, of which the certificate tells
    assert left <= problem.gap_nats(early.p) and "nats below the maximum" in early.message
    results = ldp.FrequencyModel(counts).fit("em-fpe16")
    assert results.converged and np.isnan(results.aic) and results.gap_nats > 0.0


def test_em_fpe16_says_when_it_is_cut_short():
    problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    found = PlainEM(max_iter=3).solve(problem)
    assert not found.converged and "not converged after 3 steps" in found.message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *(({"delta": v}, "delta") for v in (0.0, -1.0, np.nan, np.inf, None, "1", True)),
        *(({"max_iter": v}, "max_iter") for v in (0, -1, 1.5, None, "1")),
    ],
)
def test_bad_settings(given, message):
    with pytest.raises(InvalidArgument, match=f"^{message}="):
        PlainEM(**given)
    assert Unweighted() == Unweighted() and Minimax() == Minimax()
