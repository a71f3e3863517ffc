"""Mechanisms that hash: reductions to the closed ones, privacy, the client that remembers."""

import copy
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp

WORDS = tuple(f"w{i}" for i in range(40))

RAPPOR = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)

ORR = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=2.0)


def law(k: int) -> np.ndarray:
    p = 0.8 ** np.arange(k)
    return p / p.sum()


# -- reductions --------------------------------------------------------------------------------
# -- privacy -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("m", "h"), [(2, 1), (3, 1), (3, 2), (4, 2), (5, 2), (5, 3), (4, 5), (2, 3)]
)
@pytest.mark.parametrize(("p1", "p0"), [(0.75, 0.25), (0.9, 0.4), (0.3, 0.8), (1.0, 0.4)])
def test_the_worst_pair_of_filters_is_found(m, h, p1, p0):
    filters = np.array(list(product(range(m), repeat=h)))
    Q = ldp.channels.Bits(filters, m, p1, p0).matrix()
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(Q[:, None]) - np.log(Q[None])
    brute = np.nanmax(log)
    rappor = ldp.RAPPOR(m, h, 2, f=0.0, p=p0, q=p1)
    assert rappor.epsilon == pytest.approx(brute, rel=1e-12)
    assert rappor.audit().agrees


@pytest.mark.parametrize(("m", "h"), [(128, 2), (16, 16), (7, 4), (2, 1), (64, 1)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_orappor_spends_what_it_claims(m, h, epsilon):
    rappor = ldp.ORAPPOR(m, h, 4, epsilon=epsilon)
    assert rappor.worst_channel().epsilon() == pytest.approx(epsilon, rel=1e-12)
    # flips of e^{eps/2}, as for one hash, would spend half of the bits that differ times epsilon
    naive = ldp.channels.Bits(rappor.worst_channel().members, m, *_flips(epsilon / 2))
    assert naive.epsilon() == pytest.approx(epsilon * min(2 * h, m) / 2, rel=1e-12)


def _flips(bit_epsilon: float) -> tuple[float, float]:
    return 1 / (1 + np.exp(-bit_epsilon)), 1 / (1 + np.exp(bit_epsilon))


def test_rappor_epsilons_of_the_papers():
    # FPE16 section V-D: q = .75, p = .25, two hashes, f = 0 gives 4.39; a third of it takes
    # q = .4095, and the q = .32 printed there spends .690
    assert RAPPOR.epsilon == pytest.approx(4.394, abs=5e-4)
    assert ldp.RAPPOR(128, 2, 1, f=0.0, p=0.25, q=0.4095).epsilon == pytest.approx(
        4.394 / 3, abs=1e-3
    )
    assert ldp.RAPPOR(128, 2, 1, f=0.0, p=0.25, q=0.32).epsilon == pytest.approx(0.690, abs=5e-4)
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


def test_the_client_keeps_its_cohort_and_draws_each_report_anew():
    device = client(1)
    reports = [device.report("a") for _ in range(50)]
    assert {int(report.split(":")[0]) for report in reports} == {device.cohort}
    assert len(set(reports)) > 40  # the instantaneous response is drawn anew


def test_averaging_many_reports_shows_the_permanent_response_only():
    # an attacker who averages 1,000 reports sees each permanent bit (the standard error of a mean
    # is .014, the means are .25 and .75), and nothing of the true filter beyond it
    device = client(2)
    mean = np.mean([bits_of(device.report("secret")) for _ in range(1_000)], axis=0)
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


def test_without_a_permanent_response_averaging_reveals_the_answer():
    # negative control: f = 0 has an infinite lifetime epsilon, and the attack finds the filter
    once = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    device = once.client(np.random.default_rng(3).bytes, allow_no_privacy=True)
    mean = np.mean([bits_of(device.report("secret")) for _ in range(1_000)], axis=0)
    cells = once.cells(["secret"])[device.cohort, 0]
    assert set(np.flatnonzero(mean > 0.5)) == set(cells[cells < 16].tolist())


@pytest.mark.slow
def test_one_report_of_the_client_has_the_law_of_the_channel():
    # chi-square of 32 outcomes, p > 1e-4; a client of f = .5 in place of .4 is the control
    design = {"n_bits": 4, "n_hashes": 2, "n_cohorts": 2, "p": 0.2, "q": 0.9}
    small = ldp.RAPPOR(**design, f=0.4)
    rng = np.random.default_rng(4)
    R = 3_000
    seen = np.zeros((2, 16))
    for _ in range(R):
        cohort, bits = small.client(entropy=rng.bytes).report("x").split(":")
        seen[int(cohort), sum(1 << j for j, c in enumerate(bits) if c == "1")] += 1
    for mechanism, right in ((small, True), (ldp.RAPPOR(**design, f=0.5), False)):
        Q = mechanism.channel(["x", "y"]).matrix()[0]
        assert (stats.chisquare(seen.ravel(), R * Q).pvalue > 1e-4) == right


# -- reports and counts ---------------------------------------------------------------------------
# -- truth values ----------------------------------------------------------------------------------
TRUTH = {"n_bits": 1, "n_hashes": 1, "n_cohorts": 1}


def test_one_bit_is_the_boolean_rappor():
    rappor = ldp.RAPPOR(**TRUTH, f=0.5, p=0.25, q=0.75)
    assert isinstance(rappor, ldp.BooleanRAPPOR)
    assert rappor.categories.tolist() == [False, True]
    many = ldp.RAPPOR(8, 1, 2, f=0.5, p=0.25, q=0.75)
    np.testing.assert_allclose(rappor.matrix()[1], [many.p0, many.p1], rtol=0, atol=1e-15)
    assert rappor.epsilon == pytest.approx(np.log(0.625 / 0.375))
    assert rappor.lifetime_epsilon == pytest.approx(np.log(3.0))  # one bit differs, not two
    assert rappor.audit().agrees and rappor.lifetime_audit().agrees
    named = ldp.RAPPOR(**TRUTH, f=0.0, p=0.25, q=0.75, alphabet=("no", "yes"))
    assert named.matrix().loc["yes", 1] == 0.75
    assert np.isinf(named.lifetime_epsilon) and named.permanent is None
    for made in (rappor, named, many):
        assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
        assert ldp.mechanisms.mechanism_from_dict(made.to_dict()) == made


@pytest.mark.parametrize(
    "given, name",
    [
        ({"n_hashes": 2}, "n_hashes"),
        ({"n_cohorts": 0}, "n_cohorts"),
        ({"alphabet": 3}, "alphabet"),
        ({"hashing": "md5"}, "hashing"),
        ({"n_bits": True}, "n_bits"),
        ({"n_bits": 1.0}, "n_bits"),
        ({"q": 0.25}, "q"),
        ({"f": 1e-9}, "f"),
    ],
)
def test_what_is_no_boolean_rappor(given, name):
    with pytest.raises(ldp.InvalidArgument, match=f"^{name}="):
        ldp.RAPPOR(**(TRUTH | {"f": 0.0, "p": 0.25, "q": 0.75} | given))


def test_a_boolean_client_keeps_its_response():
    rappor = ldp.RAPPOR(**TRUTH, f=0.5, p=0.0, q=1.0)  # shows its permanent response
    client = rappor.client(secret=bytes(range(32)))
    assert len({client.report(True) for _ in range(20)}) == 1
    assert client.report(True) in (0, 1)
    secrets = [bytes([i, 0] * 16) for i in range(200)]
    ones = [[rappor.client(secret=s).report(value) for s in secrets] for value in (False, True)]
    z = (np.mean(ones, axis=1) - [0.25, 0.75]) / np.sqrt(0.25 * 0.75 / 200)
    assert np.abs(z).max() < 4.5
    assert ldp.RAPPORClient.from_dict(client.to_dict(), rappor).report(True) == client.report(True)
    once = ldp.RAPPOR(**TRUTH, f=0.0, p=0.25, q=0.75).client()
    once.report(False)
    with pytest.raises(ldp.BudgetSpent):
        once.report(False)


# Bad answers, reports, counts and candidates of mechanisms that hash.


def bad(call) -> str:
    with pytest.raises(ldp.LDPError) as raised:
        call()
    return str(raised.value)


def test_bad_answers_and_reports():
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
    odd = ldp.RAPPOR(6, 1, 2, f=0.0, p=0.2, q=0.7)
    beyond = np.full((1, 1), 255, dtype=np.uint8)
    assert "y" in bad(lambda: ldp.Reports(beyond, odd, cohort=np.array([0])).tally())
    assert "n" in bad(lambda: ORR.counts(np.zeros((3, 8), dtype=int)))
    assert "nobs[0]" in bad(lambda: ORR.counts(np.ones((16, 8), dtype=int), nobs=[3] * 16))
    assert "nobs" in bad(lambda: RAPPOR.counts(np.ones((16, 32), dtype=int)))
    assert "nobs" in bad(lambda: RAPPOR.counts(np.ones((16, 32), dtype=int), nobs=5))
    assert "exceeds" in bad(lambda: RAPPOR.counts(np.full((16, 32), 9), nobs=[8] * 16))


def test_bad_candidates():
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
    closed = ldp.ORR(4, 4, epsilon=1.0, alphabet=3)
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


def test_an_unknown_hash_needs_a_map():
    given = ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75, hashing="given")
    ours = RAPPOR.draw([0.7, 0.3], 20_000, np.random.default_rng(1), WORDS[:2])
    counts = given.counts(ours.ones, nobs=ours.reports)
    assert "CandidateMap" in bad(lambda: ldp.FrequencyModel(counts, candidates=WORDS))
    assert "CandidateMap" in bad(lambda: given.privatize(["a"], np.random.default_rng(1)))
    assert "CandidateMap" in bad(lambda: given.client().report("a"))
    cells = np.minimum(RAPPOR.cells(WORDS[:4]), 31)
    with pytest.warns(ldp.MisfitWarning):  # a missing cell was taken for the last one
        results = ldp.FrequencyModel(counts, candidates=ldp.CandidateMap(WORDS[:4], cells)).fit()
    assert list(results.detected()) == list(WORDS[:2])
