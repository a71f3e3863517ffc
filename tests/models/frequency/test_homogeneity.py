"""Tests that several groups have the same distribution, against textbooks and direct formulas."""

from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import at_least, at_most, near, repeat, size
from surveys import quiet

import ldpstats as ldp
from ldpstats import FrequencyResults
from ldpstats.inference import goodness as pearson
from ldpstats.inference.goodness import ReportSums, form_cumulants
from ldpstats.inference.intervals import Difference
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.likelihood.covariance import Covariance
from ldpstats.models.frequency.answers import cell_law

Array = npt.NDArray[Any]

KRR = ldp.KRR(("a", "b", "c", "d"), epsilon=1.0)

SEEN = ([50, 30, 20, 40], [20, 40, 40, 30], [90, 80, 70, 110], [25, 25, 30, 20])


def groups(mechanism: Any = KRR) -> list[ldp.Counts]:
    return [mechanism.counts(n) for n in SEEN]


@pytest.mark.parametrize("g", [2, 4])
def test_pearson_is_that_of_the_table_of_reports(g):
    test = ldp.homogeneity_test(groups()[:g])
    expected = stats.chi2_contingency(SEEN[:g], correction=False)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert test.df == expected.dof == 3 * (g - 1)
    assert test.pvalue == pytest.approx(expected.pvalue, rel=1e-10)


@pytest.mark.parametrize("method", ["default", "wald"])
def test_two_groups_are_two_samples(method):
    several = ldp.homogeneity_test(groups()[:2], method)
    two = ldp.two_sample_test(*groups()[:2], method)
    assert several.to_dict() == {n: v for n, v in two.to_dict().items() if n != "groups"}


def test_wald_of_one_mechanism_is_pearson():
    """The pooled frequencies are those of all reports, so that both statistics agree."""
    wald, pearsons = (ldp.homogeneity_test(groups(), how) for how in ("wald", "default"))
    assert wald.statistic == pytest.approx(pearsons.statistic, rel=1e-6)
    assert wald.df == pearsons.df


def test_wald_is_the_quadratic_form_of_all_contrasts():
    rng = np.random.default_rng(1)
    g, k = 4, 5
    estimates = rng.dirichlet(np.ones(k), size=g)
    spreads = []
    for _ in range(g):
        A = rng.normal(size=(k, k))
        centre = np.eye(k) - 1 / k
        spreads.append(centre @ A @ A.T @ centre)  # of frequencies that sum to one
    statistic, df = pearson.several_samples_wald(estimates, list(map(Covariance.dense, spreads)))
    contrasts = np.hstack(
        [np.kron(np.ones((g - 1, 1)), np.eye(k - 1, k)), -np.kron(np.eye(g - 1), np.eye(k - 1, k))]
    )
    V = np.zeros((g * k, g * k))
    for i, W in enumerate(spreads):
        V[i * k : (i + 1) * k, i * k : (i + 1) * k] = W
    d = contrasts @ estimates.ravel()
    direct = d @ np.linalg.solve(contrasts @ V @ contrasts.T, d)
    assert df == (g - 1) * (k - 1)
    assert float(statistic) == pytest.approx(direct, rel=1e-8)


def test_order_of_groups_does_not_matter():
    mixed = [KRR.counts(SEEN[0]), ldp.KRR(KRR.categories, 2.0).counts(SEEN[1]), *groups()[2:]]
    found = [ldp.homogeneity_test(order) for order in (mixed, mixed[::-1], mixed[1:] + mixed[:1])]
    assert [test.statistic for test in found] == pytest.approx([found[0].statistic] * 3, rel=1e-8)
    assert {test.df for test in found} == {9.0}


def test_rare_categories_are_merged_over_the_smallest_group():
    rare = [KRR.counts(n) for n in ([500, 300, 4, 2], [50, 30, 1, 0], [400, 300, 3, 6])]
    test = ldp.homogeneity_test(rare)
    assert test.df == 2.0 and "2 categories with few reports" not in test.note
    assert "were tested together" in test.note


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("groups=", lambda: ldp.homogeneity_test(KRR.counts(SEEN[0]))),
        ("groups=", lambda: ldp.homogeneity_test([KRR.counts(SEEN[0])])),
        (
            r"groups\[1\]=0: holds no report",
            lambda: ldp.homogeneity_test([*groups(), KRR.no_counts()][::4] * 1),
        ),
        ("data=", lambda: ldp.homogeneity_test([KRR.counts(SEEN[0]), [1, 2]])),
        ("method='chi2'", lambda: ldp.homogeneity_test(groups(), "chi2")),
    ],
)
def test_bad_input(words, call):
    with pytest.raises(ldp.InvalidArgument, match=words):
        call()


def test_the_same_persons_are_no_two_groups():
    first, second = (ldp.Reports([0, 1], KRR, ids=ids) for ids in (["x", "y"], ["z", "x"]))
    with pytest.raises(ldp.InvalidArgument, match=r"second.ids='x': is in first too"):
        ldp.two_sample_test(first, second)
    with pytest.raises(ldp.InvalidArgument, match=r"groups\[1\].ids='x'"):
        ldp.homogeneity_test([first, second])
    # one person may report twice within a group, and identifiers may be unknown
    assert ldp.two_sample_test([first, first], ldp.Reports([1, 2], KRR, ids=["v", "w"])).df >= 1
    assert ldp.two_sample_test(first, ldp.Reports([1, 2], KRR)).df >= 1


def test_other_labels_and_methods_are_refused():
    other = ldp.KRR(4, 1.0).counts([1, 2, 3, 4])
    with pytest.raises(ldp.MechanismMismatch):
        ldp.homogeneity_test([*groups(), other])
    weak = ldp.KRR(KRR.categories, 0.5).counts([1, 2, 3, 4])
    with pytest.raises(ldp.errors.NotAvailable, match="method='wald'"):
        ldp.homogeneity_test([*groups(), weak], "pearson")


def test_reports_that_hide_the_frequencies_can_still_be_compared():
    coin = ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]])
    test = ldp.two_sample_test(coin.counts([50, 60]), coin.counts([40, 70]))
    assert test.groups == () and 0.1 < test.pvalue < 1
    with pytest.raises(ldp.errors.NotAvailable, match="do not determine"):
        test.differences()
    assert ldp.TwoSampleResult.from_dict(test.to_dict()) == test


# ---- size
INTERIOR, SPARSE = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.96, 0.02, 0.015, 0.005])

MAKERS: dict[str, list[ldp.Mechanism]] = {
    "krr": [ldp.KRR(4, 1.0)] * 3,
    "krr, eight groups": [ldp.KRR(4, 2.0)] * 8,
    "krr, hardly noisy": [ldp.KRR(4, 8.0)] * 3,
    "several epsilon": [ldp.KRR(4, 0.7), ldp.KRR(4, 2.0), ldp.KRR(4, 5.0)],
    "bits": [ldp.KRAPPOR(4, 1.0), ldp.KRR(4, 1.0), ldp.KRAPPOR(4, 3.0)],
    "sensitive": [ldp.URR(4, {1, 3}, 1.0), ldp.URR(4, {1, 3}, 2.0), ldp.KRR(4, 1.0)],
}


def pvalue(makers: list[ldp.Mechanism], p: Array, q: Array, rng: np.random.Generator) -> float:
    """Of groups of uneven size with the frequencies p, but q in the last."""
    sizes = [400, 150, 900, 250, 300, 200, 500, 350]
    laws = [p] * (len(makers) - 1) + [q]
    drawn = [m.draw(law, n, rng) for m, law, n in zip(makers, laws, sizes, strict=False)]
    return ldp.homogeneity_test(drawn).pvalue


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("krr, eight groups", "sparse"),
        ("krr, hardly noisy", "sparse"),
        ("several epsilon", "interior"),
        ("bits", "sparse"),
        ("sensitive", "interior"),
    ],
)
def test_size(name, where, replications):
    R, p = replications(2000), INTERIOR if where == "interior" else SPARSE
    rng = np.random.default_rng([16, list(MAKERS).index(name), where == "sparse"])
    rejected = size(repeat(R, lambda _: {"p": pvalue(MAKERS[name], p, p, rng)})["p"])
    if where == "interior":
        assert near(rejected, 0.05, R)
    assert at_most(rejected, 0.055, R)


def test_power_where_a_group_differs():
    rng = np.random.default_rng(8)
    found = repeat(100, lambda _: {"p": pvalue(MAKERS["krr"], INTERIOR, INTERIOR[::-1], rng)})
    assert at_least(size(found["p"]), 0.95, 100)


def test_a_category_that_some_groups_cannot_show_is_merged_whatever_their_order():
    k = ("a", "b", "c", "d")
    krr, bare, urr = ldp.KRR(k, 3.0), ldp.Observed(k), ldp.URR(k, sensitive={"a"}, epsilon=2.0)
    seen = ([190, 60, 35, 15], [210, 60, 30, 0], [205, 61, 34, 0])
    mixed = [m.counts(n) for m, n in zip((krr, bare, urr), seen, strict=True)]
    found = [ldp.homogeneity_test([mixed[i] for i in at]) for at in permutations(range(3))]
    assert [t.statistic for t in found] == pytest.approx([found[0].statistic] * 6, rel=1e-8)
    assert {(t.df, t.note) for t in found} == {(4.0, found[0].note)}
    assert "2 categories with few reports" in found[0].note


def test_a_category_that_nobody_holds_is_no_obstacle():
    k, rng, p = ("a", "b", "c"), np.random.default_rng(3), np.array([0.5, 0.5, 0.0])
    makers = [ldp.KRR(k, 3.0), ldp.Observed(k), ldp.Observed(k)]
    for _ in range(10):
        test = ldp.homogeneity_test([m.draw(p, 300, rng) for m in makers])
        assert test.df in (2.0, 4.0) and 0.0 < test.pvalue <= 1.0


def test_sparse_tables_have_the_p_value_of_permuted_reports():
    bare = ldp.Observed(3)
    few = [bare.counts(n) for n in ([150, 90, 60], *[[4, 3, 1]] * 10)]
    test = ldp.homogeneity_test(few)
    assert "moments of permutations" in test.method and "the p-value is approximate" in test.note
    plain = ldp.homogeneity_test([bare.counts([150, 90, 60]), bare.counts([40, 30, 20])])
    assert "permutations" not in plain.method and not plain.note


# ---- small groups of bits
SIX, RARE = tuple("abcdef"), np.array([0.9, 0.07, 0.02, 0.008, 0.002, 0.0])

BITS = ldp.KRAPPOR(SIX, epsilon=8.0, theta=0.5)


def small_groups(
    makers: list[ldp.Mechanism],
    sizes: list[int],
    R: int,
    sums: bool = False,
    method: str = "default",
) -> Array:
    """p-values of R surveys in which all groups have the rare frequencies."""
    rng, found = np.random.default_rng(11), []
    for _ in range(R):
        pairs = zip(makers, sizes, strict=True)
        drawn = [m.privatize(rng.choice(SIX, n, p=RARE), rng).tally(bits=sums) for m, n in pairs]
        found.append(ldp.homogeneity_test(drawn, method).pvalue)
    return np.array(found)


@pytest.mark.parametrize("sums", [False, True], ids=["reports", "sums"])
def test_small_groups_of_bits_are_not_found_to_differ(sums):
    # six groups of 50 were told apart at .05 in a quarter of all surveys, at .001 in a fifth
    R = 15
    pvalues = small_groups([BITS] * 6, [50] * 6, R, sums)
    assert at_most(size(pvalues), 0.06, R) and at_most(size(pvalues, 0.001), 0.002, R)


def test_the_result_says_which_law_its_p_value_has():
    rng = np.random.default_rng(2)
    drawn = [BITS.privatize(rng.choice(SIX, n, p=RARE), rng).tally() for n in (50, 400)]
    assert "moments of permutations" in ldp.homogeneity_test(drawn).method
    sums = [counts.bit_counts() for counts in drawn]
    assert "by the moments of the statistic" in ldp.homogeneity_test(sums).method
    mixed = [drawn[0], ldp.KRR(SIX, epsilon=8.0).draw(RARE, 400, rng)]
    assert "by the moments of the statistic" in ldp.homogeneity_test(mixed).method


def test_groups_whose_reports_are_all_alike_do_not_differ():
    one = BITS.privatize(["a"], np.random.default_rng(1)).tally()
    assert ldp.homogeneity_test([one, one]).pvalue == 1.0
    assert ldp.homogeneity_test([one.bit_counts(), one.bit_counts()]).pvalue == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "sums"), [([50, 400], True), ([50] * 6, False), ([100] * 10, False)]
)
def test_size_of_small_groups_of_bits(sizes, sums, replications):
    R = replications(1000, least=200)
    pvalues = small_groups([BITS] * len(sizes), sizes, R, sums)
    for alpha in (0.05, 0.01):
        assert at_most(size(pvalues, alpha), 1.1 * alpha, R, errors=4.0)


@pytest.mark.slow
def test_power_of_the_score_test_of_bits():
    rng, makers = np.random.default_rng(3), ldp.KRAPPOR(SIX, epsilon=2.0, theta=0.5)
    other = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
    found = [
        ldp.homogeneity_test(
            [makers.privatize(rng.choice(SIX, 400, p=p), rng) for p in (RARE, other)]
        ).pvalue
        for _ in range(100)
    ]
    assert at_least(size(found), 0.85, 100)


# Differences of two groups as models report them: with the laws of every kind of estimate.
JOBS = ("nurse", "teacher", "driver", "cook")

P, Q = np.array([0.5, 0.3, 0.19, 0.01]), np.array([0.4, 0.33, 0.25, 0.02])

MAKERS_DIFFERENCES: dict[str, tuple[ldp.Mechanism, ldp.Mechanism]] = {
    "krr": (ldp.KRR(JOBS, 1.0), ldp.KRR(JOBS, 3.0)),
    "bits": (ldp.KRAPPOR(JOBS, 1.0), ldp.KRAPPOR(JOBS, 2.0)),
    "sensitive": (ldp.URR(JOBS, {"nurse", "cook"}, 1.0), ldp.URAP(JOBS, {"cook"}, 1.0)),
    "dense": (
        ldp.CustomMechanism(np.full((4, 4), 0.15) + 0.4 * np.eye(4), JOBS),
        ldp.CustomMechanism(
            [[0.4, 0.2, 0.2, 0.1, 0.1], [0.1, 0.5, 0.2, 0.1, 0.1], [0.1, 0.1, 0.6, 0.1, 0.1],
             [0.1, 0.1, 0.1, 0.3, 0.4]], JOBS),
    ),
    "candidates": (
        ldp.ORR(8, 32, epsilon=2.0),
        ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75),
    ),
}  # fmt: skip


def surveyed(name: str, rng: np.random.Generator, n: int, m: int) -> list[ldp.FrequencyResults]:
    """The fits of two groups, of n and m respondents."""
    candidates = JOBS if name == "candidates" else None
    fits = []
    for mechanism, many, law in zip(MAKERS_DIFFERENCES[name], (n, m), (P, Q), strict=True):
        reports = mechanism.privatize(rng.choice(JOBS, many, p=law), rng)
        fits.append(ldp.FrequencyModel(reports, candidates).fit_quietly())
    return fits


@pytest.mark.parametrize("name", MAKERS_DIFFERENCES)
def test_polynomials_are_the_laws_of_the_estimates(name):
    """Variances at the estimate, and anywhere between, are those that the fit rests on."""
    fit = surveyed(name, np.random.default_rng(2), 1500, 300)[0]
    law = cell_law(fit)
    inside = np.clip(fit.linear.estimate, 0.0, 1.0)
    expected = fit.linear.bse() if fit.tally is None else fit.tally.law(inside)[0]
    np.testing.assert_allclose(law.at(inside)[0], expected, rtol=0.02)
    if fit.tally is not None:
        for v in (0.0, 0.17, 0.62, 1.0):
            se, skewness, _ = fit.tally.law(np.full(4, v))
            if not fit._counted.any():
                np.testing.assert_allclose(law.at(np.full(4, v))[0], se, rtol=1e-8)
                np.testing.assert_allclose(law.at(np.full(4, v))[1], skewness, atol=1e-8)


def test_result_of_two_samples_is_stored():
    krr = ldp.KRR(JOBS, 1.0)
    test = ldp.two_sample_test(krr.counts([50, 40, 30, 20]), krr.counts([30, 30, 30, 50]))
    again = ldp.TwoSampleResult.from_dict(test.to_dict())
    assert again == test and isinstance(test, ldp.TestResult) and str(again) == str(test)
    pd.testing.assert_frame_equal(again.differences(0.1), test.differences(0.1))
    assert list(test.differences().columns) == ["estimate", "se", "lower", "upper", "pvalue"]


def test_two_categories_mirror_each_other():
    warner = ldp.Warner(epsilon=1.0)
    found = ldp.two_sample_test(warner.counts([60, 40]), warner.counts([30, 50])).differences()
    no, yes = found.to_numpy()
    np.testing.assert_allclose(no[[0, 1, 4]], [-yes[0], yes[1], yes[4]], rtol=1e-9)
    np.testing.assert_allclose(no[[2, 3]], -yes[[3, 2]], atol=1e-9)


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("alpha=", lambda t: t.differences(0.0)),
        ("conf_level=0.9: is called alpha", lambda t: t.differences(conf_level=0.9)),
        ("document=", lambda t: ldp.TwoSampleResult.from_dict({})),
        ("groups=", lambda t: ldp.TwoSampleResult("a", 1.0, 1.0, 0.5, "b", "", (1, 2))),
        ("pvalue=", lambda t: ldp.TwoSampleResult("a", 1.0, 1.0, 1.5, "b", "", t.groups)),
    ],
)
def test_bad_input_differences(words, call):
    krr = ldp.KRR(JOBS, 1.0)
    test = ldp.two_sample_test(krr.counts([5, 4, 3, 2]), krr.counts([3, 3, 3, 5]))
    with pytest.raises(ldp.InvalidArgument, match=words):
        call(test)


def test_selected_candidates_are_not_compared():
    rappor = MAKERS_DIFFERENCES["candidates"][1]
    rng = np.random.default_rng(1)
    groups = {x: rappor.privatize(rng.choice(JOBS, 2000, p=P), rng) for x in "ab"}
    results = ldp.GroupedModel(groups, candidates=[*JOBS, *"uvwxyz"]).fit("lasso")
    with pytest.raises(ldp.errors.NotAvailable, match="method='inversion'"):
        results.differences()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bits", "sensitive", "candidates"])
def test_coverage(name, replications):
    """The true difference is in the interval where it is not rejected; k-RR is tested by arrays."""
    R, rng = (
        replications(2000, least=200),
        np.random.default_rng([23, list(MAKERS_DIFFERENCES).index(name)]),
    )
    truth = P - Q

    def survey(_: int) -> dict[str, Any]:
        fits = surveyed(name, rng, 400, 1500)
        laws = (cell_law(fit) for fit in fits)
        pair = Difference(fits[0].linear.estimate, fits[1].linear.estimate, *laws)
        pvalues = [pair.pvalues(float(value))[j] for j, value in enumerate(truth)]
        return {"held": np.array(pvalues) >= 0.05}

    assert near(repeat(R, survey)["held"].mean(axis=0), 0.95, R)


# Groups without respondents do not change a survey.
ABC = ("a", "b", "c")

MECHANISMS = (
    ldp.KRR(ABC, 2.0),
    ldp.URAP(ABC, {"a"}, 1.0),
    ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], ABC),
    ldp.ORR(8, 2, epsilon=1.0, alphabet=ABC),
)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_group_of_nobody_adds_nothing(mechanism):
    some = ldp.KRR(ABC, 1.0).counts([400, 330, 270])
    none = mechanism.privatize([None, None], np.random.default_rng(0), missing="count")
    alone = ldp.FrequencyModel(some).fit()
    for empty, missing in ((none, 2), (none.tally(), 2), (mechanism.no_counts(), 0)):
        beside = quiet(ldp.FrequencyModel([some, empty] if missing else [empty, some]).fit)
        pd.testing.assert_series_equal(beside.params, alone.params)
        pd.testing.assert_frame_equal(beside.conf_int(), alone.conf_int())
        assert (beside.nobs, beside.n_missing, beside.epsilon) == (1000, missing, 1.0)
    other = ldp.KRR(ABC, 1.0).counts([350, 330, 320])
    expected = ldp.two_sample_test(some, other)
    assert ldp.two_sample_test([none, some], other).pvalue == expected.pvalue
    for first, second, name in ((some, none, "second"), ([none.tally()], some, "first")):
        with pytest.raises(ldp.InvalidArgument, match=f"{name}=0: holds no report"):
            ldp.two_sample_test(first, second)
    with pytest.raises(ldp.InvalidArgument, match="hold no report"):
        ldp.FrequencyModel([none, mechanism.no_counts()])


def test_a_group_of_nobody_must_have_the_same_categories():
    some, none = ldp.KRR(3, 1.0).counts([4, 3, 2]), ldp.KRR(4, 1.0).no_counts()
    with pytest.raises(ldp.MechanismMismatch):
        ldp.FrequencyModel([some, none])


def test_a_group_of_nobody_in_a_joint_table():
    krr, other = ldp.KRR(2, 1.0), ldp.KRR(2, 3.0)
    some = ldp.JointCounts.from_table([[40, 10], [20, 30]], (krr, krr))
    none = ldp.JointCounts.from_table(np.zeros((2, 2), int), (other, krr))
    alone = ldp.AssociationModel(some).fit()
    for groups in ([some, none], [none, some]):
        beside = quiet(ldp.AssociationModel(groups).fit)
        np.testing.assert_array_equal(beside.table, alone.table)
        assert beside.test_independence().pvalue == alone.test_independence().pvalue
        assert (beside.epsilon, beside.n_strata, beside.sources) == (2.0, 1, alone.sources)
    with pytest.raises(ldp.InvalidArgument, match="hold no report"):
        ldp.AssociationModel([none, none]).fit()


# `wald_test` of several categories at once, and ratios, where reports of some are few.

CATEGORIES = tuple("abcdef")

P_RESTRICTIONS = np.array([0.9, 0.07, 0.02, 0.008, 0.002, 0.0])

SETTINGS: dict[str, tuple[ldp.Mechanism, int, str]] = {
    "projective": (ldp.ProjectiveGeometryResponse(CATEGORIES, epsilon=8.0), 200, "bcd"),
    "oue": (ldp.KRAPPOR(CATEGORIES, epsilon=8.0, theta=0.5), 200, "abc"),
    "rappor": (ldp.KRAPPOR(CATEGORIES, epsilon=4.0), 200, "bcd"),
    "urap": (ldp.URAP(CATEGORIES, {"a", "c"}, epsilon=4.0), 200, "bcd"),
    "hadamard": (ldp.HadamardResponse(CATEGORIES, epsilon=8.0), 200, "bcd"),
    "krr": (ldp.KRR(CATEGORIES, epsilon=8.0), 200, "bcd"),
}


def survey(
    mechanism: ldp.Mechanism, n: int, rng: np.random.Generator, p: Array = P_RESTRICTIONS
) -> FrequencyResults:
    answers = np.asarray(mechanism.categories)[rng.choice(p.size, n, p=p)]
    return ldp.FrequencyModel(mechanism.privatize(answers, rng)).fit_quietly()


def restrictions(which: str) -> tuple[Array, Array]:
    R = np.eye(P_RESTRICTIONS.size)[[CATEGORIES.index(c) for c in which]]
    return R, R @ P_RESTRICTIONS


def rejected(name: str, R: int, alpha: float) -> float:
    mechanism, n, which = SETTINGS[name]
    rng = np.random.default_rng([39, list(SETTINGS).index(name)])
    given = restrictions(which)
    found = [survey(mechanism, n, rng).wald_test(given).pvalue < alpha for _ in range(R)]
    return float(np.mean(found))


@pytest.mark.parametrize("name", ["oue", "krr"])
def test_rare_categories_are_not_rejected_together(name):
    """At .01, in 25 surveys: 0.2.0 rejected .12 to .26. Three Monte Carlo errors are allowed."""
    assert at_most(rejected(name, 25, 0.01), 0.01, 25)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["projective", "oue", "urap", "krr"])
def test_sizes(name, replications):
    R = replications(1000, least=200)
    assert at_most(rejected(name, R, 0.05), 0.05, R)
    assert at_most(rejected(name, R, 0.01), 0.012, R)


def test_moments_are_those_of_all_samples():
    """Of all 3^5 samples of five reports with three labels, listed one by one."""
    m, u, n = np.array([0.7, 0.25, 0.05]), np.array([[0.0, 1.0, 0.5], [1.0, -0.3, 2.0]]), 5
    sums = ReportSums((u * m) @ u.T / n - np.outer(u @ m, u @ m) / n, [(u, m, n)])
    values, vectors = np.linalg.eigh(sums.covariance)
    whitened = vectors.T / np.sqrt(values)[:, None]
    samples = np.stack(np.meshgrid(*[np.arange(3)] * n), axis=-1).reshape(-1, n)
    chance = m[samples].prod(axis=1)
    gap = u[:, samples].mean(axis=2) - (u @ m)[:, None]
    T = np.sum((whitened @ gap) ** 2, axis=0)
    mean = chance @ T
    law = form_cumulants([(n, (whitened @ u / n).T, m)])
    assert law.mean == pytest.approx(mean)
    assert law.variance == pytest.approx(chance @ (T - mean) ** 2)
    assert law.third == pytest.approx(chance @ (T - mean) ** 3)
    for i in (0, 100, -1):
        expected = max(float(chi2_pvalue(T[i], 2)), law.pvalue(T[i]))
        assert sums.test(gap[:, i]) == pytest.approx((T[i], 2, expected))


def test_one_restriction_is_tested_as_by_t_test():
    for i, (mechanism, n, _) in enumerate(SETTINGS.values()):
        results = survey(mechanism, n, np.random.default_rng(i))
        alone = results.wald_test("b - c = 0.03").pvalue
        assert alone == pytest.approx(results.t_test("b - c = 0.03").pvalue, rel=1e-9)


def test_with_many_reports_the_law_is_chi_square():
    rng = np.random.default_rng(1)
    results = survey(ldp.KRAPPOR(CATEGORIES, epsilon=2.0), 20_000, rng, np.full(6, 1 / 6))
    test = results.wald_test("a = b, b = c, c = d")
    assert test.pvalue == pytest.approx(float(chi2_pvalue(test.statistic, test.df)), abs=2e-3)


@pytest.mark.parametrize("method", ["mle", "inversion"])
def test_a_category_that_nobody_reported_can_be_tested_with_others(method):
    """Reports of f are without noise: none was seen, which is what the null says."""
    mechanism = ldp.URAP(CATEGORIES, {"a", "c"}, epsilon=4.0)
    answers = np.repeat(CATEGORIES[:4], (160, 24, 10, 6))
    reports = mechanism.privatize(answers, np.random.default_rng(2))
    results = ldp.FrequencyModel(reports).fit(method)
    R = np.eye(6)[3:]
    assert 0.001 < results.wald_test((R, [0.03, 0.004, 0.0])).pvalue <= 1.0
    assert results.wald_test((R, [0.03, 0.4, 0.0])).pvalue < 1e-3  # control


# ---- ratios
def test_the_ends_of_a_ratio_are_those_that_the_test_does_not_reject():
    for i, (mechanism, _, _) in enumerate(SETTINGS.values()):
        results = survey(mechanism, 500, np.random.default_rng(i))
        found = results.ratio("b", "a")
        for end in (found.low, found.high):
            row = np.eye(6)[1] - end * np.eye(6)[0]
            assert float(results.t_test((row, 0.0)).pvalue) == pytest.approx(0.05, abs=1e-6)


def test_ratios_are_not_negative():
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    results = ldp.FrequencyModel(krr.counts([450, 360, 190])).fit()
    below = results.ratio("c", "a")
    assert results.linear_params["c"] < 0.0
    assert below.low == 0.0 < below.high < 0.3
    above = results.ratio("a", "c")
    assert above.low == pytest.approx(1.0 / below.high) and np.isinf(above.high)
    same = results.ratio("a", "a")
    assert (same.low, same.high) == (1.0, 1.0)


def covered(mechanism: ldp.Mechanism, n: int, R: int) -> float:
    rng = np.random.default_rng([39, n])
    return float(np.mean([2 / 7 in survey(mechanism, n, rng).ratio("c", "b") for _ in range(R)]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "n"), [(SETTINGS["oue"][0], 300), (SETTINGS["rappor"][0], 2000)], ids=str
)
def test_coverage_of_ratios(mechanism, n, replications):
    """Fieller's set covered .88 of the first and .91 of the second."""
    R = replications(1000, least=200)
    assert at_least(covered(mechanism, n, R), 0.94, R, errors=3.0)


def test_a_share_among_some_is_a_function_of_the_odds():
    """Fieller's set of a / (a + b) is that of a / b, mapped by r / (1 + r)."""
    krr = ldp.KRR(("low", "high", "refused"), epsilon=1.5)
    results = ldp.FrequencyModel(krr.counts([620, 410, 270])).fit()
    odds, share = results.ratio("low", "high"), results.ratio("low", ["low", "high"])
    assert share.low == pytest.approx(odds.low / (1 + odds.low), rel=1e-9)
    assert share.high == pytest.approx(odds.high / (1 + odds.high), rel=1e-9)
    assert 0.5 < share.low < share.high < 1.0
    again = results.ratio(["low"], ["high"])
    assert (again.low, again.high) == (odds.low, odds.high)
