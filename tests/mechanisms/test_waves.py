"""The joint law of waves by devices that keep their responses, against enumeration and clients."""

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

import ldpstats as ldp
from ldpstats.mechanisms import Panel

EXACT = 1e-14


def enumerated(P: np.ndarray, R: list[np.ndarray]) -> np.ndarray:
    """The law of reports given paths, by all responses that a device may have drawn to answers."""
    k, B, T = *P.shape, len(R)
    paths, reports = list(product(range(k), repeat=T)), list(product(*map(range, map(len, R))))
    reports = list(product(*(range(one.shape[1]) for one in R)))
    Q = np.zeros((len(paths), len(reports)))
    for kept in product(range(B), repeat=k):
        chance = np.prod([P[v, b] for v, b in enumerate(kept)])
        for i, path in enumerate(paths):
            for j, seen in enumerate(reports):
                law = [one[kept[x], y] for one, x, y in zip(R, path, seen, strict=True)]
                Q[i, j] += chance * np.prod(law)
    return Q


def random_steps(rng: np.random.Generator) -> tuple[list[ldp.CustomMechanism], np.ndarray, list]:
    k, T = (int(rng.integers(2, 4)), 2) if rng.random() < 0.7 else (2, 3)
    P = rng.dirichlet(np.full(int(rng.integers(2, 4)), 2.0), size=k)
    R = [rng.dirichlet(np.full(int(rng.integers(2, 4)), 2.0), size=P.shape[1]) for _ in range(T)]
    first = ldp.CustomMechanism(P, k, P.shape[1])
    kept = [first >> ldp.CustomMechanism(one, P.shape[1], one.shape[1]) for one in R]
    return kept, P, R


def test_law_and_epsilon_are_those_of_enumeration():
    """200 random devices; epsilon of all paths, and of those with few answers."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        waves, P, R = random_steps(rng)
        panel = waves[0].joint_law(waves)
        Q = enumerated(P, R)
        assert panel.channel().matrix() == pytest.approx(Q, abs=EXACT)
        assert panel.epsilon == pytest.approx(largest(Q), rel=1e-12)
        assert waves[0].joint_epsilon(waves) == panel.epsilon
        paths = list(product(range(len(P)), repeat=len(R)))
        same = [len(set(path)) == 1 for path in paths]
        assert panel.epsilon_of(1) == pytest.approx(largest(Q[same]), rel=1e-12)
        assert panel.epsilon_of(1) <= largest(P) + 1e-12  # at most that of the kept response
        assert panel.epsilon_of(len(R)) == panel.epsilon


def largest(Q: np.ndarray) -> float:
    return max(np.log(one / other).max() for one in Q for other in Q)


def test_epsilon_of_rappor_is_that_of_all_bits():
    rng = np.random.default_rng(2)
    for _ in range(6):
        f, noise = rng.uniform(0.1, 0.9), rng.uniform(0.05, 0.95, (2, 2))
        waves = [ldp.RAPPOR(3, 1, 2, f=f, p=p, q=q, alphabet=("a", "b")) for p, q in noise]
        bits = np.array(list(product([0, 1], repeat=3)))
        largest_of_all = 0.0
        for cells in waves[0].cells():
            owned = np.arange(3) == cells[:, :1]
            kept = np.where(owned, 1.0 - f / 2.0, f / 2.0)[:, None]
            P = np.where(bits, kept, 1.0 - kept).prod(axis=2)
            R = []
            for p, q in noise:
                one = np.where(bits, q, p)[:, None]
                R.append(np.where(bits, one, 1.0 - one).prod(axis=2))
            Q = enumerated(P, R)
            largest_of_all = max(largest_of_all, largest(Q))
        assert waves[0].joint_epsilon(waves) == pytest.approx(largest_of_all, rel=1e-10)


def test_bits_that_answers_own_have_the_law_of_their_labels():
    rappor = ldp.RAPPOR(4, 1, 3, f=0.4, p=0.2, q=0.7, alphabet=("a", "b"))
    bits = np.array(list(product([0, 1], repeat=4)))
    packed = np.packbits(bits, axis=1, bitorder="little")
    for cohort in range(3):
        every = ldp.Reports(packed, rappor, cohort=np.full(16, cohort))
        ((_, labels),) = rappor.as_labels(every)
        Q = rappor.channel().channels[cohort].matrix()  # of patterns, the first bit fastest
        number = packed[:, 0].argsort()
        summed = np.zeros((2, labels.mechanism.n_outputs))
        np.add.at(summed.T, labels.y[number], Q.T)
        assert labels.mechanism.channel().matrix() == pytest.approx(summed, abs=EXACT)
    wide = ldp.RAPPOR(16, 2, 1, f=0.4, p=0.2, q=0.7)
    with pytest.raises(ldp.NotAvailable, match="at most 8"):
        wide.as_labels(wide.privatize(["a"], np.random.default_rng(1)), list("abcdef"))


@pytest.mark.parametrize("T", [2, 3])
def test_clients_of_rappor_have_the_joint_law(T):
    """Some thousand devices that keep a secret, chi-square at .001; not that of fresh noise."""
    rappor, rng = ldp.BooleanRAPPOR(f=0.3, p=0.2, q=0.9), np.random.default_rng(3)
    panel, n = rappor.joint_law(T), 8_000 // T
    for path in ([True] * T, [False] + [True] * (T - 1)):
        own = np.zeros(2**T)
        for _ in range(n // 4):
            client = rappor.client(entropy=rng.bytes, secret=rng.bytes(32))
            seen = [int(client.report(answer)) for answer in path]
            own[int("".join(map(str, seen)), 2)] += 1
        expected = panel.matrix().loc[", ".join(map(str, path))].to_numpy() * own.sum()
        statistic = ((own - expected) ** 2 / expected).sum()
        assert chi2.sf(statistic, 2**T - 1) > 0.001
        if path[0]:  # reports drawn afresh have another law
            one = rappor.channel().matrix()[1]
            afresh = own.sum() * np.array([np.prod([one[y] for y in some])
                                           for some in product(range(2), repeat=T)])  # fmt: skip
            assert chi2.sf(((own - afresh) ** 2 / afresh).sum(), 2**T - 1) < 1e-6


def test_sampled_paths_have_the_law():
    rng = np.random.default_rng(4)
    krr = ldp.KRR(3, 1.0) >> ldp.KRR(3, 1.5)
    panel = krr.joint_law(3)
    codes = rng.integers(27, size=200_000)
    reports = panel.privatize(panel.categories.to_numpy()[codes], rng)
    seen = np.zeros((27, 27))
    np.add.at(seen, (codes, reports.y), 1)
    expected = seen.sum(axis=1, keepdims=True) * panel.channel().matrix()
    assert chi2.sf(((seen - expected) ** 2 / expected).sum(), 27 * 26) > 0.001
    assert ldp.mechanism_from_dict(panel.to_dict()) == panel
    again = panel.join([*panel.split(reports).values()])
    assert np.array_equal(again.y, reports.y)


def test_waves_that_share_nothing_are_a_product():
    krr = ldp.KRR(("no", "yes"), 1.0)
    both = krr.joint_law(2).channel().matrix()
    assert both == pytest.approx(np.kron(*[krr.channel().matrix()] * 2), abs=EXACT)
    kept = krr >> krr, ldp.KRR(("no", "yes"), 2.0) >> krr
    apart = Panel.of(kept).channel().matrix()
    assert apart == pytest.approx(np.kron(*(m.channel().matrix() for m in kept)), abs=EXACT)


def test_change_of_an_answer_is_not_hidden_by_the_kept_response():
    """Nearly no noise after a response that says nothing: epsilon of a report is small."""
    device = ldp.KRR(2, 0.1) >> ldp.KRR(2, 10.0)
    panel = device.joint_law(2)
    assert device.epsilon < 0.1001
    assert panel.epsilon_of(1) < 0.1001
    assert panel.epsilon > 8.0


REGIONS = ("centre", "park", "clinic")
PUM = ldp.PUM(ldp.URR(REGIONS, {"clinic"}, epsilon=1.0), tags={"home": 0.5, "work": 2.0})
OWN = {"home": {"park"}}


def test_reports_under_tags_are_independent_given_the_intermediate_categories():
    """The law of PUM by brute force, and of its clients; its epsilon over waves is the sum."""
    common, hers = PUM.joint_law(2), PUM.joint_law(2, tags=OWN)
    Q = PUM.common.channel().matrix()
    z = [0, 3, 2]  # her park is the bot of "home"
    for (i, x), (j, y) in product(enumerate(z), repeat=2):
        assert hers.channel().matrix()[3 * i + j] == pytest.approx(np.kron(Q[x], Q[y]), abs=EXACT)
        assert common.channel().matrix()[5 * x + y] == pytest.approx(np.kron(Q[x], Q[y]), abs=EXACT)
    protected = np.flatnonzero(PUM.common.channel().output_classes().protected([2, 3, 4]))
    both = common.channel().matrix()[:, [5 * a + b for a, b in product(protected, repeat=2)]]
    assert np.log(both.max(axis=0) / both.min(axis=0)).max() == pytest.approx(PUM.joint_epsilon(2))
    assert PUM.joint_epsilon(2) == PUM.joint_epsilon([PUM, PUM]) == 2 * PUM.epsilon
    rng, seen = np.random.default_rng(6), np.zeros(25)
    for _ in range(3_000):
        client = PUM.client(OWN, entropy=rng.bytes, reports=2)
        codes = [PUM.common.categories.get_loc(client.report(x)) for x in ("park", "centre")]
        seen[5 * codes[0] + codes[1]] += 1
    law = hers.matrix().loc["park, centre"].to_numpy() * seen.sum()
    assert not seen[law == 0].any()
    some = law > 0
    assert chi2.sf(((seen - law)[some] ** 2 / law[some]).sum(), some.sum() - 1) > 0.001


def test_given_the_answers_alone_tags_join_the_reports_of_a_person():
    """Half of the persons protect the park: the law of their reports is no product."""
    laws = [PUM.joint_law(2, tags=own).matrix().loc["park, park"] for own in (OWN, {})]
    mean = np.mean(laws, axis=0).reshape(5, 5)
    assert np.abs(mean - np.outer(mean.sum(axis=1), mean.sum(axis=0))).max() > 0.01
    other = ldp.PUM(PUM.mechanism, tags=("home",))
    for wrong, how in (([PUM, other], {}), ([PUM, PUM.common], {}), (2, {"tags": {"home": {"x"}}})):
        with pytest.raises(ldp.InvalidArgument):
            PUM.joint_law(wrong, **how)
    with pytest.raises(ldp.NotAvailable, match="not labels"):
        ldp.PUM(ldp.URAP(3, {0}, epsilon=1.0), tags=("home",)).joint_law(2)


def test_what_cannot_be_is_refused():
    krr = ldp.KRR(2, 1.0)
    kept = krr >> krr
    with pytest.raises(ldp.InvalidArgument, match="at least 2"):
        kept.joint_law(1)
    with pytest.raises(ldp.MechanismMismatch, match="waves need the same labels"):
        kept.joint_law([kept, ldp.KRR(3, 1.0)])
    with pytest.raises(ldp.NotAvailable, match="cannot be listed"):
        ldp.KRAPPOR(3, 1.0).joint_law(2)
    named = ldp.CustomMechanism(kept.Q, permanent="mine")
    law, other = np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    mine, yours = (  # one name, other responses
        ldp.CustomMechanism(one @ two, permanent="mine", steps=(one, two))
        for one, two in ((law, other), (other, law))
    )
    for waves in ([named, named], [mine, yours], [mine, named], [named, mine]):
        with pytest.raises(ldp.NotAvailable, match="one first step"):
            kept.joint_law(waves)
    rappor = ldp.RAPPOR(8, 1, 1, f=0.5, p=0.25, q=0.75, alphabet=("a", "b"))
    assert rappor.joint_epsilon(2) == rappor.joint_epsilon([rappor, rappor])
    for wrong in (1, [], "ab", [rappor, krr], [rappor, replace(rappor, f=0.25)]):
        with pytest.raises(ldp.InvalidArgument, match="waves"):
            rappor.joint_epsilon(wrong)
    for steps in ([kept.Q], [kept.Q, kept.Q], [kept.Q, np.eye(3)]):
        with pytest.raises(ldp.InvalidArgument, match="steps"):
            ldp.CustomMechanism(kept.Q, permanent="mine", steps=steps)
    assert (kept >> krr).steps[1] == pytest.approx(krr.channel().matrix() @ krr.channel().matrix())


def test_panels_are_pickled_and_join_the_same_persons():
    krr = ldp.KRR(2, 1.0)
    panel = (krr >> krr).joint_law(2)
    assert pickle.loads(pickle.dumps(panel)) == panel
    reports = ldp.Reports([0, 1, 2, 3], panel, n_missing=2, ids=list("abcd"))
    first, second = panel.split(reports).values()
    again = panel.join([first, second])
    assert (again.y.tolist(), again.n_missing, again.ids.tolist()) == (
        [0, 1, 2, 3],
        2,
        list("abcd"),
    )
    for wrong in (second[[1, 0, 2, 3]], second[:1], ldp.Reports(second.y, second.mechanism)):
        for waves in ([first, wrong], [wrong, first]):
            with pytest.raises(ldp.InvalidArgument, match="respondents of the first wave"):
                panel.join(waves)


def test_likelihoods_of_bits_are_in_the_order_of_the_reports():
    """Where a bit is never set the law is another, cohort by cohort."""
    mechanism = ldp.RAPPOR(4, 1, 3, f=0.0, p=0.0, q=0.6, alphabet=("a", "b", "c"))
    reports = mechanism.privatize(list("abcabcabca"), np.random.default_rng(0))

    def rows(some: ldp.Reports) -> np.ndarray:
        counts = ldp.Counts(some.y, np.ones(len(some), np.int64), mechanism, 0, some.cohort)
        W = mechanism.likelihood(counts).W
        return W.take(0, len(some)) * np.exp(W.log_scale)[:, None]

    alone = [rows(reports[[i]])[0] for i in range(10)]
    assert rows(reports) == pytest.approx(np.array(alone), abs=EXACT)
