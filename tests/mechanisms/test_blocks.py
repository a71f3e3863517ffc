"""Designs of blocks against their incidence matrix, entry by entry."""

import numpy as np
import pytest
from grid import all_reports
from simulate import bias, coverage, near, repeat, size

import ldpstats as ldp
from ldpstats.likelihood.blocks import BlockDesign, HadamardDesign, ProjectiveDesign, SingleDesign

DESIGNS = (
    HadamardDesign(3, 1, 4),
    HadamardDesign(5, 1, 8),
    HadamardDesign(2, 2, 2),
    HadamardDesign(5, 2, 4),
    HadamardDesign(20, 3, 8),
    ProjectiveDesign(7, 2, 3),
    ProjectiveDesign(11, 3, 3),
    ProjectiveDesign(40, 3, 4),
    ProjectiveDesign(30, 5, 3),
    ProjectiveDesign(100, 2, 7),
    SingleDesign(4),
)

every_design = pytest.mark.parametrize("design", DESIGNS, ids=str)


def incidence(design: BlockDesign) -> np.ndarray:
    return design.holds(np.arange(design.n_labels))


def by_hand(design: BlockDesign) -> np.ndarray:
    """The definitions, without the arithmetic of the package."""
    k, l = design.k, design.n_labels  # noqa: E741
    if isinstance(design, SingleDesign):
        return np.eye(k, dtype=bool)
    if isinstance(design, HadamardDesign):
        H = np.ones((1, 1), dtype=int)
        while len(H) < design.order:
            H = np.block([[H, H], [H, -H]])
        whole = np.kron(np.eye(design.parts, dtype=int), H[1:])
        return whole[:k].T == 1
    assert isinstance(design, ProjectiveDesign)
    points = [
        np.array([*u, 1, *[0] * (design.t - 1 - j)])
        for j in range(design.t)
        for u in (np.array(np.unravel_index(i, (design.q,) * j)[::-1]) for i in range(design.q**j))
    ]
    X = np.array(points)
    assert len(X) == l
    return (X @ X[:k].T) % design.q == 0


@every_design
def test_blocks_are_those_of_the_definition(design):
    np.testing.assert_array_equal(incidence(design), by_hand(design))


@every_design
def test_transforms_are_sums_over_blocks(design):
    rng, S = np.random.default_rng(1), incidence(design)
    p, c = rng.random(design.k), rng.integers(0, 1000, design.n_labels)
    np.testing.assert_allclose(design.masses(p), S @ p, rtol=0, atol=1e-12)
    np.testing.assert_allclose(design.tallies(c), c @ S, rtol=0, atol=1e-9)


@every_design
def test_categories_are_alike(design):
    S = incidence(design).astype(int)
    assert np.all(S.sum(axis=0) == design.size)
    common = S.T @ S
    apart = common[~np.eye(design.k, dtype=bool)]
    if design.common is None:
        assert set(apart) <= {0, design.size // 2}
    else:
        assert np.all(apart == design.common)


@every_design
def test_labels_are_numbered_once(design):
    S = incidence(design)
    for x in range(design.k):
        own, other = np.arange(design.size), np.arange(design.n_labels - design.size)
        mine = design.own_label(np.full(own.size, x), own)
        np.testing.assert_array_equal(np.sort(mine), np.flatnonzero(S[:, x]))
        rest = design.other_label(np.full(other.size, x), other)
        np.testing.assert_array_equal(np.sort(rest), np.flatnonzero(~S[:, x]))


def test_the_projective_design_has_the_smallest_variance():
    def summed_variance(q: int | None = None, t: int | None = None) -> float:
        response = ldp.ProjectiveGeometryResponse(100, 2.0, q, t)
        return float(ldp.planning.one_report_covariance(response).variances().sum())

    for q, t in ((2, 7), (3, 5), (5, 4), (7, 4), (11, 3), (13, 3), (17, 3)):
        assert summed_variance() <= 1.01 * summed_variance(q, t)
    assert isinstance(ldp.ProjectiveGeometryResponse(100, 2.0).design, ProjectiveDesign)
    for k, epsilon in ((100, 6.0), (2, 0.1)):  # k-RR where e^eps exceeds k
        assert ldp.ProjectiveGeometryResponse(k, epsilon).design == SingleDesign(k)


# Reports of block mechanisms: what is refused, and that a wrong mechanism is seen.

SUBSETS = ldp.SubsetSelection(("a", "b", "c", "d"), 0.6, size=2)


@pytest.mark.parametrize("text", ["0111", "0001", "011", "0210", "", None, 3, True])
def test_subsets_of_another_size_are_refused(text):
    with pytest.raises(ldp.LDPError, match="report"):
        SUBSETS.parse("reports", ["0011", text])


def test_packed_subsets_of_another_size_are_refused():
    with pytest.raises(ldp.InvalidArgument, match="3 ones"):
        ldp.Reports(np.array([[0b0111]], dtype=np.uint8), SUBSETS)
    with pytest.raises(ldp.InvalidArgument, match="3 ones"):
        SUBSETS.parse("reports", [b"\x07"])


@pytest.mark.parametrize("n", [[1, 1, 1, 0], [5, 0, 0, 0], [3, 3, 0, 0]])
def test_sums_that_no_reports_have_are_refused(n):
    with pytest.raises(ldp.InvalidArgument, match=r"2 ones|exceeds"):
        SUBSETS.counts(n, nobs=2)


def test_goodness_of_fit_sees_another_epsilon():
    rng = np.random.default_rng(4)
    strong = ldp.HadamardResponse(5, 0.5)
    made = ldp.HadamardResponse(5, 0.69).privatize(rng.choice(5, 100_000), rng)
    model = ldp.FrequencyModel(ldp.Reports(made.y, strong))
    with pytest.warns(ldp.MisfitWarning):
        wrong = model.fit("inversion").goodness_of_fit
    right = strong.privatize(rng.choice(5, 100_000), rng)
    assert wrong.pvalue < 1e-4 < ldp.FrequencyModel(right).fit("inversion").goodness_of_fit.pvalue


def test_olh_is_the_hashed_mechanism():
    olh = ldp.OLH(100, epsilon=1.0)
    assert isinstance(olh, ldp.ORR)
    assert (olh.n_outputs, olh.n_cohorts, olh.k) == (4, 1024, 100)
    assert ldp.OLH(3, epsilon=2.0) == ldp.ORR(3, 1, epsilon=2.0, alphabet=3)  # k-RR
    assert ldp.OLH(3, epsilon=50.0).n_outputs == 3
    p = np.full(100, 0.01)
    V = olh.moments(olh.specimen()).covariance(p).variances()
    g, e = 4, np.e  # Wang et al. 2017, variance with a hash of one's own
    share = e / (e + g - 1) * 0.01 + 0.99 / g
    ideal = share * (1 - share) / (e / (e + g - 1) - 1 / g) ** 2
    assert 0.95 < V.mean() * 1024 / ideal < 1.08


@pytest.mark.parametrize(
    "mechanism",
    [
        ldp.SubsetSelection(100_000, 5.0),
        ldp.HadamardResponse(100_000, 0.5),
        ldp.HadamardResponse(10_000, 3.0),
        ldp.ProjectiveGeometryResponse(100_000, 3.0),
    ],
    ids=["subsets", "hadamard", "hadamard-parts", "projective"],
)
def test_very_many_categories(mechanism):
    rng, k, n = np.random.default_rng(6), mechanism.k, 100 if mechanism.n_bits else 3_000
    values = np.where(rng.random(n) < 0.7, 1_234, rng.integers(0, k, n))
    fit = ldp.FrequencyModel(mechanism.privatize(values, rng)).fit("inversion")
    assert fit.linear_params.idxmax() == 1_234
    low, high = fit.conf_int(clip=False).loc[1_234]
    assert low < 0.7 < high
    assert "1234" in str(fit.summary())
    assert mechanism.draw(np.full(k, 1.0 / k), 50, rng).nobs == 50


@pytest.mark.parametrize("k", [2, 3, 5, 8, 30, 1000])
@pytest.mark.parametrize("kind", [ldp.HadamardResponse, ldp.ProjectiveGeometryResponse])
def test_the_design_is_part_of_the_specification(kind, k):
    """So that a later choice of designs changes no device and no analysis."""
    names = ("order",) if kind is ldp.HadamardResponse else ("q", "t")
    for epsilon in (0.1, 1.0, 2.0, 5.0, 12.0):
        made = kind(k, epsilon)
        document = made.to_dict()
        assert all(isinstance(document[name], int) for name in names)
        again = kind(k, epsilon, *(document[name] for name in names))
        assert again == made and again.design == made.design


@pytest.mark.parametrize(
    ("kind", "given", "match"),
    [
        (ldp.HadamardResponse, {"order": 3}, "power of two from 2 to 16"),
        (ldp.HadamardResponse, {"order": 32}, "power of two from 2 to 16"),
        (ldp.HadamardResponse, {"order": 1}, "order=1"),
        (ldp.HadamardResponse, {"order": 4.0}, "order=4.0"),
        (ldp.ProjectiveGeometryResponse, {"q": 2}, "t=None"),
        (ldp.ProjectiveGeometryResponse, {"t": 3}, "q=None"),
        (ldp.ProjectiveGeometryResponse, {"q": 4, "t": 3}, "must be a prime"),
        (ldp.ProjectiveGeometryResponse, {"q": 2, "t": 3}, "fewer than 8 labels"),
        (ldp.ProjectiveGeometryResponse, {"q": 2, "t": 60}, "at most"),
        (ldp.ProjectiveGeometryResponse, {"q": 2**61 - 1, "t": 2}, "must be a prime"),
    ],
)
def test_designs_that_are_none(kind, given, match):
    with pytest.raises(ldp.InvalidArgument, match=match):
        kind(8, 1.0, **given)


# Variances of block mechanisms: by formula, by enumeration and by simulation.

ZIPF = 1.0 / np.arange(1, 9) / (1.0 / np.arange(1, 9)).sum()

BLOCKS = {
    "subsets": ldp.SubsetSelection(8, 1.0),
    "hadamard": ldp.HadamardResponse(8, 0.6),
    "hadamard-parts": ldp.HadamardResponse(8, 2.0),
    "projective": ldp.ProjectiveGeometryResponse(8, 0.8),
}

every_mechanism = pytest.mark.parametrize("mechanism", BLOCKS.values(), ids=BLOCKS.keys())


def information_variance(mechanism: ldp.Mechanism, p: np.ndarray) -> float:
    """n times the sum of the variances of the best unbiased estimate."""
    J = mechanism.channel().information(p)
    return float(np.trace(np.linalg.inv(J) - np.outer(p, p)))


def test_subset_selection_beats_the_others_in_the_middle():
    found = [
        information_variance(m, ZIPF)
        for m in (ldp.SubsetSelection(8, 1.0), ldp.KRR(8, 1.0), ldp.KRAPPOR(8, 1.0, theta=0.5))
    ]
    np.testing.assert_allclose(found, [22.21, 27.91, 26.45], rtol=0, atol=0.005)


@pytest.mark.parametrize("k", [2, 3, 5, 8])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.5])
def test_the_default_size_is_the_one_the_information_prefers(k, epsilon):
    p = np.full(k, 1.0 / k)
    sums = [information_variance(ldp.SubsetSelection(k, epsilon, d), p) for d in range(1, k)]
    assert sums[ldp.SubsetSelection(k, epsilon).size - 1] <= min(sums) * (1.0 + 1e-9)


@every_mechanism
def test_covariance_of_the_linear_estimate_by_enumeration(mechanism):
    Q = mechanism.channel().matrix()
    problem = mechanism.moments(mechanism.specimen())
    singles = [mechanism.moments(one) for one in _each(mechanism)]
    estimates = np.array([one.estimate()[0] for one in singles])  # of every possible report
    np.testing.assert_allclose(Q @ estimates, np.eye(8), rtol=0, atol=1e-12)  # unbiased
    law = ZIPF @ Q
    V = (estimates.T * law) @ estimates - np.outer(ZIPF, ZIPF)
    np.testing.assert_allclose(problem.covariance(ZIPF).matrix(), V, rtol=0, atol=1e-11)
    np.testing.assert_allclose(problem.estimate_variances(ZIPF), np.diag(V), rtol=1e-12)


def _each(mechanism: ldp.Mechanism) -> list[ldp.Counts]:
    """Counts of one report, for every possible report."""
    every = all_reports(mechanism)
    return [ldp.Counts(every.y[i : i + 1], [1], mechanism) for i in range(len(every))]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldpstats.MisfitWarning")  # one survey in a thousand
@every_mechanism
def test_estimates_and_intervals(mechanism, replications):
    """Bias, variance, coverage and size of the default fit, at n = 5000 with a zero frequency."""
    p = np.append(ZIPF[:7] + ZIPF[7] / 7.0, 0.0)
    rng, n, R = np.random.default_rng(17), 5_000, replications(300, 300)
    law = p @ mechanism.channel().matrix()
    law = law / law.sum()
    every = all_reports(mechanism).y

    def survey(_: int) -> dict[str, object]:
        drawn = rng.multinomial(n, law)
        seen = np.flatnonzero(drawn)
        model = ldp.FrequencyModel(ldp.Counts(every[seen], drawn[seen], mechanism))
        fit = model.fit()
        return {
            "estimate": fit.linear_params.to_numpy(),
            "ends": (ends := fit.conf_int(clip=False).to_numpy()),
            "pvalue": model.test_distribution(p).pvalue,
            "absent": fit.presence_pvalues().iloc[-1],
            "fit": fit.goodness_of_fit.pvalue,
            "wrong": 0.9 * ends,  # control
        }

    found = repeat(R, survey)
    assert np.all(np.abs(bias(found["estimate"], p)) < 4.5)
    total = n * found["estimate"].var(axis=0).sum()
    expected = information_variance(mechanism, np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum())
    assert abs(total / expected - 1.0) < 4.0 * np.sqrt(2.0 / (7 * R)) + 0.01
    assert near(coverage(found["ends"], p), 0.95, R)
    assert not near(coverage(found["wrong"], p), 0.95, R)
    for name in ("pvalue", "absent"):
        assert near(size(found[name]), 0.05, R), name
    assert size(found["fit"]) <= 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / R)
