"""Mechanisms that hash: reductions to the closed ones, clients, identification, refusals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.channels.structured import Bits
from ldpstats.estimators import Lasso
from ldpstats.mechanisms.hashed.bits import most_different

WORDS = tuple(f"w{i}" for i in range(40))
RAPPOR = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)
ORR = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=2.0)


def law(k: int) -> np.ndarray:
    p = 0.8 ** np.arange(k)
    return p / p.sum()


# -- reductions --------------------------------------------------------------------------------


def test_one_cohort_of_a_permuted_alphabet_is_krr() -> None:
    labels = ("a", "b", "c", "d", "e")
    orr, krr = ldp.ORR(5, 1, epsilon=1.3, alphabet=labels), ldp.KRR(labels, epsilon=1.3)
    renamed = orr.cells()[0, :, 0].astype(int)  # the output that stands for each label
    assert sorted(renamed) == list(range(5))
    np.testing.assert_allclose(
        orr.channel().matrix()[:, renamed], krr.channel().matrix(), rtol=0, atol=1e-15
    )
    n = np.array([350, 250, 150, 130, 120])
    ours = np.empty((1, 5), dtype=int)
    ours[0, renamed] = n
    fits = [
        ldp.FrequencyModel(orr.counts(ours)).fit(method)
        for method in ("inversion", "mle", "projected")
    ]
    theirs = [
        ldp.FrequencyModel(krr.counts(n)).fit(method)
        for method in ("inversion", "mle", "projected")
    ]
    for a, b in zip(fits, theirs, strict=True):
        np.testing.assert_allclose(a.params, b.params, rtol=0, atol=1e-9)
        np.testing.assert_allclose(a.linear_cov, b.linear_cov, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(a.bse, b.bse, rtol=1e-6)
        assert a.llf == pytest.approx(b.llf, rel=1e-12) or np.isnan(a.llf)


def test_one_cohort_of_a_permuted_alphabet_is_krappor() -> None:
    labels = ("a", "b", "c", "d")
    ours, theirs = ldp.ORAPPOR(4, 1, 1, epsilon=1.3, alphabet=labels), ldp.KRAPPOR(labels, 1.3)
    renamed = ours.cells()[0, :, 0].astype(int)
    assert ours.p1 == pytest.approx(theirs.p1, abs=1e-15)
    ones = np.array([500, 450, 420, 400])
    moved = np.empty((1, 4), dtype=int)
    moved[0, renamed] = ones
    a = ldp.FrequencyModel(ours.counts(moved, nobs=[1000])).fit()
    b = ldp.FrequencyModel(theirs.counts(ones, nobs=1000)).fit()
    np.testing.assert_allclose(a.params, b.params, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.linear_cov, b.linear_cov, rtol=1e-9, atol=1e-15)


# -- privacy -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "h"), [(2, 1), (3, 1), (3, 2), (4, 2), (5, 2), (5, 3), (4, 5), (2, 3)]
)
@pytest.mark.parametrize(("p1", "p0"), [(0.75, 0.25), (0.9, 0.4), (0.3, 0.8), (1.0, 0.4)])
def test_the_worst_pair_of_filters_is_found(m: int, h: int, p1: float, p0: float) -> None:
    filters = np.array(list(product(range(m), repeat=h)))
    Q = Bits(filters, m, p1, p0).matrix()
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(Q[:, None]) - np.log(Q[None])
    brute = np.nanmax(log)
    rappor = ldp.RAPPOR(m, h, 2, f=0.0, p=p0, q=p1)
    assert rappor.epsilon == pytest.approx(brute, rel=1e-12)
    assert rappor.audit().agrees


@pytest.mark.parametrize(("m", "h"), [(128, 2), (16, 16), (7, 4), (2, 1), (64, 1)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_orappor_spends_what_it_claims(m: int, h: int, epsilon: float) -> None:
    rappor = ldp.ORAPPOR(m, h, 4, epsilon)
    a, b = most_different(m, h, 1.0, 1.0)
    assert a + b == min(2 * h, m)
    assert rappor.worst_channel().epsilon() == pytest.approx(epsilon, rel=1e-12)
    # flips of e^{eps/2}, as for one hash, would spend half of the bits that differ times epsilon
    naive = Bits(rappor.worst_channel().members, m, *_flips(epsilon / 2))
    assert naive.epsilon() == pytest.approx(epsilon * min(2 * h, m) / 2, rel=1e-12)


def _flips(bit_epsilon: float) -> tuple[float, float]:
    return 1 / (1 + np.exp(-bit_epsilon)), 1 / (1 + np.exp(bit_epsilon))


def test_rappor_epsilons_of_the_papers() -> None:
    # FPE16 section V-D: q = .75, p = .25, two hashes, f = 0 gives 4.39; a third of it takes
    # q = .4095, and the q = .32 printed there spends .690
    assert RAPPOR.epsilon == pytest.approx(4.394, abs=5e-4)
    assert ldp.RAPPOR(128, 2, 1, 0.0, 0.25, 0.4095).epsilon == pytest.approx(4.394 / 3, abs=1e-3)
    assert ldp.RAPPOR(128, 2, 1, 0.0, 0.25, 0.32).epsilon == pytest.approx(0.690, abs=5e-4)
    assert RAPPOR.lifetime_epsilon == np.inf
    f = 0.5
    lasting = ldp.RAPPOR(32, 2, 4, f=f, p=0.5, q=0.75)
    assert lasting.lifetime_epsilon == pytest.approx(4 * np.log((1 - f / 2) / (f / 2)), rel=1e-12)
    audit = lasting.lifetime_audit()
    assert audit.agrees and audit.sampler == pytest.approx(audit.channel, rel=1e-12)
    assert lasting.audit().lifetime == lasting.lifetime_epsilon
    assert "lifetime" in str(lasting.audit())
    q, p = lasting.p1, lasting.p0
    assert lasting.epsilon == pytest.approx(2 * np.log(q * (1 - p) / (p * (1 - q))), rel=1e-12)


# -- the client that remembers ---------------------------------------------------------------------

LASTING = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, f=0.5, p=0.25, q=0.75)


def client(seed: int, mechanism: ldp.RAPPOR = LASTING) -> ldp.RAPPORClient:
    return mechanism.client(entropy=np.random.default_rng(seed).bytes)


def bits_of(report: str) -> np.ndarray:
    return np.array([c == "1" for c in report.split(":")[1]])


def test_the_client_keeps_its_cohort_and_draws_each_report_anew() -> None:
    device = client(1)
    reports = [device.report("a") for _ in range(50)]
    assert {int(report.split(":")[0]) for report in reports} == {device.cohort}
    assert len(set(reports)) > 40  # the instantaneous response is drawn anew


def test_averaging_many_reports_shows_the_permanent_response_only() -> None:
    # an attacker who averages 4,000 reports sees each permanent bit (the standard error of a mean
    # is .008, the means are .25 and .75), and nothing of the true filter beyond it
    device = client(2)
    mean = np.mean([bits_of(device.report("secret")) for _ in range(4_000)], axis=0)
    np.testing.assert_array_equal(mean > 0.5, device._permanent("secret"))
    # over many clients what is learned has the law of the permanent response: owned bits are 1
    # with probability 1 - f/2, others with f/2 (5 standard errors of 16 x 600 and 2 x 600 bits)
    owned = []
    other = []
    for seed in range(600):
        device = client(1000 + seed)
        ones = device._permanent("secret").astype(int)
        cells = np.unique(LASTING.cells(["secret"])[device.cohort, 0])
        cells = cells[cells < 16]
        owned += ones[cells].tolist()
        other += np.delete(ones, cells).tolist()
    assert abs(np.mean(owned) - 0.75) < 5 * np.sqrt(0.1875 / len(owned))
    assert abs(np.mean(other) - 0.25) < 5 * np.sqrt(0.1875 / len(other))


def test_without_a_permanent_response_averaging_reveals_the_answer() -> None:
    # negative control: f = 0 has an infinite lifetime epsilon, and the attack finds the filter
    once = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    device = once.client(np.random.default_rng(3).bytes, allow_no_privacy=True)
    mean = np.mean([bits_of(device.report("secret")) for _ in range(4_000)], axis=0)
    cells = once.cells(["secret"])[device.cohort, 0]
    assert set(np.flatnonzero(mean > 0.5)) == set(cells[cells < 16].tolist())


def test_one_report_of_the_client_has_the_law_of_the_channel() -> None:
    small = ldp.RAPPOR(n_bits=4, n_hashes=2, n_cohorts=2, f=0.4, p=0.2, q=0.9)
    rng = np.random.default_rng(4)
    R = 6_000
    seen = np.zeros((2, 16))
    for _ in range(R):
        cohort, bits = small.client(entropy=rng.bytes).report("x").split(":")
        seen[int(cohort), sum(1 << j for j, c in enumerate(bits) if c == "1")] += 1
    Q = small.channel(["x", "y"]).matrix()[0].reshape(2, 16)
    z = (seen - R * Q) / np.sqrt(R * Q * (1 - Q))
    assert np.abs(z).max() < 5.0


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
    assert "DOUBTFUL" in str(lacking.summary())
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


# -- reports and counts ---------------------------------------------------------------------------


def test_counts_from_tables() -> None:
    frame = pd.DataFrame({"cohort": [0, 1, 1], "report": ["3", "7", "7"], "n": [5, 2, 1]})
    counts = ldp.Counts.from_frame(frame, ORR, count="n", cohort="cohort")
    assert counts.vector()[0, 3] == 5 and counts.vector()[1, 7] == 3
    joined = pd.DataFrame({"report": ["0:3", "1:7"]})
    assert ldp.Counts.from_frame(joined, ORR).vector().sum() == 2
    assert ORR.counts(counts.vector(), nobs=counts.vector().sum(axis=1)).nobs == 8


def test_simulated_counts_of_many_respondents_cost_what_few_do() -> None:
    words = WORDS[:20]
    for mechanism in (ORR, RAPPOR):
        counts = mechanism.draw(law(20), 10**8, np.random.default_rng(1), words)
        assert counts.nobs == 10**8
        results = ldp.FrequencyModel(counts, candidates=words).fit("inversion")
        assert np.abs((results.params - law(20)) / results.bse).max() < 4.5


def bad(call) -> str:  # type: ignore[no-untyped-def]
    with pytest.raises(ldp.LDPError) as raised:
        call()
    return str(raised.value)


def test_bad_mechanisms() -> None:
    assert "n_outputs" in bad(lambda: ldp.ORR(1, 4, 1.0))
    assert "n_outputs" in bad(lambda: ldp.ORR(2**40, 1, 1.0))
    assert "n_cohorts" in bad(lambda: ldp.ORR(4, 0, 1.0))
    assert "n_cohorts" in bad(lambda: ldp.ORR(2**20, 2**20, 1.0))
    assert "n_cohorts" in bad(lambda: ldp.ORR(4, 2.5, 1.0))  # type: ignore[arg-type]
    assert "epsilon" in bad(lambda: ldp.ORR(4, 4, 0.0))
    assert "alphabet" in bad(lambda: ldp.ORR(4, 4, 1.0, alphabet=("a", "a")))
    assert "n_bits" in bad(lambda: ldp.ORAPPOR(1, 1, 4, 1.0))
    assert "n_hashes" in bad(lambda: ldp.ORAPPOR(8, 0, 4, 1.0))
    assert "n_hashes" in bad(lambda: ldp.ORAPPOR(8, 70_000, 4, 1.0))
    assert "f=" in bad(lambda: ldp.RAPPOR(8, 2, 4, 1.0, 0.2, 0.7))
    assert "p=" in bad(lambda: ldp.RAPPOR(8, 2, 4, 0.0, -0.2, 0.7))
    assert "q=" in bad(lambda: ldp.RAPPOR(8, 2, 4, 0.0, 0.2, np.nan))
    assert "q=" in bad(lambda: ldp.RAPPOR(8, 2, 4, 0.0, 0.5, 0.5))
    assert "hashing" in bad(lambda: ldp.RAPPOR(8, 2, 4, 0.0, 0.5, 0.7, hashing="md5"))
    assert "hashing" in bad(lambda: ldp.RAPPOR(512, 2, 4, 0.0, 0.5, 0.7, hashing="google"))
    assert "hashing" in bad(lambda: ldp.RAPPOR(8, 2, 4, 0, 0.5, 0.7, alphabet=3, hashing="google"))


def test_bad_answers_and_reports() -> None:
    rng = np.random.default_rng(1)
    for mechanism in (RAPPOR, ORR):
        assert "values[1]" in bad(lambda m=mechanism: m.privatize(["a", 3], rng))
        assert "missing" in bad(lambda m=mechanism: m.privatize(["a", None], rng))
        assert "values[0]" in bad(lambda m=mechanism: m.privatize(["\ud800"], rng))
        assert mechanism.privatize(["a", None], rng, missing="count").n_missing == 1
        assert len(mechanism.privatize([], rng)) == 0
        assert "rng" in bad(lambda m=mechanism: m.privatize(["a"], 3))
        for text in ("3", "99:0", "a:0", "1:9999", "-1:0", "0:", None):
            frame = pd.DataFrame({"report": [text]})
            assert "report" in bad(lambda f=frame, m=mechanism: ldp.Counts.from_frame(f, m))
        assert "candidates" in bad(lambda m=mechanism: m.categories)
        assert "candidates" in bad(lambda m=mechanism: m.channel())
        assert "cohort" in bad(lambda m=mechanism: m.sample(np.array([0]), None))
    assert "cohort" in bad(lambda: ldp.Reports(np.array([1]), ORR).tally())
    assert "cohort" in bad(lambda: ldp.Reports(np.array([1]), ORR, cohort=np.array([16])).tally())
    assert "cohort" in bad(lambda: ldp.Reports(np.array([1]), ORR, cohort=np.array([0, 1])).tally())
    krr = ldp.KRR(3, 1.0)
    assert "cohort" in bad(lambda: ldp.Reports(np.array([1]), krr, cohort=np.array([0])).tally())
    assert "y" in bad(lambda: ldp.Reports(np.array([8]), ORR, cohort=np.array([0])).tally())
    wrong = np.zeros((1, 3), dtype=np.uint8)
    assert "y" in bad(lambda: ldp.Reports(wrong, RAPPOR, cohort=np.array([0])).tally())
    odd = ldp.RAPPOR(6, 1, 2, 0.0, 0.2, 0.7)
    beyond = np.full((1, 1), 255, dtype=np.uint8)
    assert "y" in bad(lambda: ldp.Reports(beyond, odd, cohort=np.array([0])).tally())
    assert "n" in bad(lambda: ORR.counts(np.zeros((3, 8), dtype=int)))
    assert "nobs[0]" in bad(lambda: ORR.counts(np.ones((16, 8), dtype=int), nobs=[3] * 16))
    assert "nobs" in bad(lambda: RAPPOR.counts(np.ones((16, 32), dtype=int)))
    assert "nobs" in bad(lambda: RAPPOR.counts(np.ones((16, 32), dtype=int), nobs=5))
    assert "exceeds" in bad(lambda: RAPPOR.counts(np.full((16, 32), 9), nobs=[8] * 16))


def test_bad_candidates() -> None:
    counts = RAPPOR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    model = ldp.FrequencyModel
    assert "candidates" in bad(lambda: model(counts))
    assert "candidates" in bad(lambda: model(counts, candidates=[]))
    assert "candidates" in bad(lambda: model(counts, candidates=["a", "a"]))
    assert "candidates" in bad(lambda: model(counts, candidates="a"))
    assert "candidates" in bad(lambda: model(counts, candidates=5))
    assert "candidates" in bad(lambda: model(counts, candidates=["a", 5]))
    assert "candidates" in bad(lambda: model(counts, candidates=["a", None]))
    assert "candidates" in bad(lambda: model(counts, candidates={"a", "b"}))
    for text in ({"0:1"}, [["0:1"]], [["0:1"], ["0:1", "1:1"]], pd.DataFrame({"a": ["0:1"]})):
        assert "reports" in bad(lambda t=text: ORR.parse("reports", t))
        assert "reports" in bad(lambda t=text: RAPPOR.parse("reports", t, cohort=[0]))
    assert "cohort" in bad(lambda: ORR.parse("reports", ["1"], cohort=[[0], [0, 1]]))
    assert "nobs" in bad(lambda: RAPPOR.counts(np.ones((16, 32), dtype=int), nobs=[[1], [1, 2]]))
    assert "candidates" in bad(lambda: model(counts, candidates=["a", "\ud800"]))
    closed = ldp.ORR(4, 4, 1.0, alphabet=3)
    assert "candidates" in bad(
        lambda: model(closed.draw([0.5, 0.3, 0.2], 9, np.random.default_rng(1)), candidates=["a"])
    )
    cells = np.zeros((16, 2, 2), dtype=int)
    assert model(
        counts, candidates=ldp.CandidateMap(("a", "b"), RAPPOR.cells(["a", "b"]) % 32)
    ).nobs
    assert "cells" in bad(lambda: ldp.CandidateMap(("a", "b"), np.zeros((16, 3, 2), dtype=int)))
    assert "candidates" in bad(
        lambda: model(counts, candidates=ldp.CandidateMap(("a", "b"), cells - 1))
    )
    assert "candidates" in bad(
        lambda: model(counts, candidates=ldp.CandidateMap(("a", "b"), cells[:3]))
    )
    with pytest.raises(ldp.NotIdentified, match="same hashes"):
        model(counts, candidates=ldp.CandidateMap(("a", "b"), cells)).fit()
    assert "bits" in bad(lambda: model(counts, candidates=WORDS).fit("mle"))


def test_an_unknown_hash_needs_a_map() -> None:
    given = ldp.RAPPOR(32, 2, 16, 0.0, 0.25, 0.75, hashing="given")
    ours = RAPPOR.draw([0.7, 0.3], 20_000, np.random.default_rng(1), WORDS[:2])
    counts = given.counts(ours.ones, nobs=ours.reports)
    assert "CandidateMap" in bad(lambda: ldp.FrequencyModel(counts, candidates=WORDS))
    assert "CandidateMap" in bad(lambda: given.privatize(["a"], np.random.default_rng(1)))
    assert "CandidateMap" in bad(lambda: given.client().report("a"))
    cells = np.minimum(RAPPOR.cells(WORDS[:4]), 31)
    with pytest.warns(ldp.MisfitWarning):  # a cell that is none was taken for the last
        results = ldp.FrequencyModel(counts, candidates=ldp.CandidateMap(WORDS[:4], cells)).fit()
    assert list(results.detected()) == list(WORDS[:2])


def test_counts_of_other_parameters_are_refused() -> None:
    other = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)
    counts = other.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    with pytest.raises(ldp.MechanismMismatch, match="fingerprint"):
        _ = counts + RAPPOR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    assert "were not made by" in bad(lambda: RAPPOR.moments(counts, WORDS))


# -- lasso -----------------------------------------------------------------------------------------


def test_lasso_estimates_the_selected_and_tests_all() -> None:
    words = [f"w{i}" for i in range(3_000)]  # more than the 16 x 32 equations
    counts = RAPPOR.draw(law(8), 50_000, np.random.default_rng(1), words[:8])
    model = ldp.FrequencyModel(counts, candidates=words)
    with pytest.raises(ldp.NotIdentified):
        model.fit()
    results = model.fit("lasso")
    at = results.linear.at
    assert results.converged and 5 <= at.size < 60
    assert results.params[results.params != 0].index.isin(results.categories[at]).all()
    # the level is divided by all candidates: p-values of the others are 1, and they count
    p = results.presence_pvalues()
    assert (np.delete(p.to_numpy(), at) == 1.0).all()
    rejected = p.index[p.to_numpy() <= 0.05 / len(words)]
    assert list(results.detected(alpha=0.05)) == list(rejected)
    assert set(rejected) <= set(words[:8]) and len(rejected) >= 5
    # the selected have the estimates and, but for the dispersion, the covariance of a fit of theirs
    alone = ldp.FrequencyModel(counts, candidates=list(results.categories[at])).fit()
    np.testing.assert_allclose(results.params.iloc[at], alone.params, rtol=0, atol=1e-12)
    V = results.linear_cov / results.dispersion
    np.testing.assert_allclose(V, alone.linear_cov / alone.dispersion, rtol=1e-9)
    assert "Post-selection" in str(results.summary())
    assert np.isnan(np.delete(results.conf_int().to_numpy(), at, axis=0)).all()
    assert results.t_test("w0 = w1").pvalue < 0.05
    with pytest.raises(ldp.NotAvailable, match="not selected"):
        results.t_test(np.eye(3_000)[[int(np.setdiff1d(np.arange(3_000), at)[0])]])
    again = ldp.FrequencyResults.from_json(results.to_json())
    assert str(again.summary()) == str(results.summary())
    results.plot()


def test_lasso_may_select_nothing() -> None:
    many = [f"x{i}" for i in range(500)]
    counts = RAPPOR.draw(np.full(500, 1 / 500), 20_000, np.random.default_rng(3), many)
    nothing = ldp.FrequencyModel(counts, candidates=WORDS).fit(Lasso(false_selections=1e-9))
    assert nothing.linear.at.size == 0 and not len(nothing.detected())
    assert float(nothing.unexplained) == 1.0
    again = ldp.FrequencyResults.from_json(nothing.to_json())
    assert str(again.summary()) == str(nothing.summary())


def test_bad_lasso() -> None:
    assert "penalty" in bad(lambda: Lasso(penalty="bic"))
    assert "false_selections" in bad(lambda: Lasso(false_selections=0.0))
    krr = ldp.KRR(3, 1.0).counts([5, 3, 2])
    assert "hash" in bad(lambda: ldp.FrequencyModel(krr).fit("lasso"))
    one = RAPPOR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    two = ORR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    several = ldp.FrequencyModel([one, two], candidates=WORDS)
    assert "one mechanism" in bad(lambda: several.fit("lasso"))
    assert "cov_type" in bad(
        lambda: ldp.FrequencyModel(one, candidates=WORDS).fit("lasso", cov_type="fpe16")
    )
