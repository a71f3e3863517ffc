"""Tests that several groups have the same distribution, against textbooks and direct formulas."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from simulate import at_least, at_most, near, repeat, size

import ldpstats as ldp
from ldpstats.inference import goodness as pearson
from ldpstats.likelihood.covariance import Covariance

Array = npt.NDArray[Any]
KRR = ldp.KRR(("a", "b", "c", "d"), epsilon=1.0)
SEEN = ([50, 30, 20, 40], [20, 40, 40, 30], [90, 80, 70, 110], [25, 25, 30, 20])


def groups(mechanism: Any = KRR) -> list[ldp.Counts]:
    return [mechanism.counts(n) for n in SEEN]


@pytest.mark.parametrize("g", [2, 4])
def test_pearson_is_that_of_the_table_of_reports(g: int) -> None:
    test = ldp.homogeneity_test(groups()[:g])
    expected = stats.chi2_contingency(SEEN[:g], correction=False)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert test.df == expected.dof == 3 * (g - 1)
    assert test.pvalue == pytest.approx(expected.pvalue, rel=1e-10)


@pytest.mark.parametrize("method", ["default", "wald"])
def test_two_groups_are_two_samples(method: str) -> None:
    several = ldp.homogeneity_test(groups()[:2], method)
    two = ldp.two_sample_test(*groups()[:2], method)
    assert several.to_dict() == {n: v for n, v in two.to_dict().items() if n != "groups"}


def test_wald_of_one_mechanism_is_pearson() -> None:
    """The pooled frequencies are those of all reports, so that both statistics agree."""
    wald, pearsons = (ldp.homogeneity_test(groups(), how) for how in ("wald", "default"))
    assert wald.statistic == pytest.approx(pearsons.statistic, rel=1e-6)
    assert wald.df == pearsons.df


def test_wald_is_the_quadratic_form_of_all_contrasts() -> None:
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


def test_order_of_groups_does_not_matter() -> None:
    mixed = [KRR.counts(SEEN[0]), ldp.KRR(KRR.categories, 2.0).counts(SEEN[1]), *groups()[2:]]
    found = [ldp.homogeneity_test(order) for order in (mixed, mixed[::-1], mixed[1:] + mixed[:1])]
    assert [test.statistic for test in found] == pytest.approx([found[0].statistic] * 3, rel=1e-8)
    assert {test.df for test in found} == {9.0}


def test_rare_categories_are_merged_over_the_smallest_group() -> None:
    rare = [KRR.counts(n) for n in ([500, 300, 4, 2], [50, 30, 1, 0], [400, 300, 3, 6])]
    test = ldp.homogeneity_test(rare)
    assert test.df == 2.0 and "2 categories with few reports" not in test.note
    assert "were tested together" in test.note


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("groups=", lambda: ldp.homogeneity_test(KRR.counts(SEEN[0]))),  # type: ignore[arg-type]
        ("groups=", lambda: ldp.homogeneity_test([KRR.counts(SEEN[0])])),
        (
            r"groups\[1\]=0: holds no report",
            lambda: ldp.homogeneity_test([*groups(), KRR.no_counts()][::4] * 1),
        ),
        ("data=", lambda: ldp.homogeneity_test([KRR.counts(SEEN[0]), [1, 2]])),  # type: ignore[list-item]
        ("method='chi2'", lambda: ldp.homogeneity_test(groups(), "chi2")),
    ],
)
def test_bad_input(words: str, call: Callable[[], object]) -> None:
    with pytest.raises(ldp.InvalidArgument, match=words):
        call()


def test_the_same_persons_are_no_two_groups() -> None:
    first, second = (ldp.Reports([0, 1], KRR, ids=ids) for ids in (["x", "y"], ["z", "x"]))
    with pytest.raises(ldp.InvalidArgument, match=r"second.ids='x': is in first too"):
        ldp.two_sample_test(first, second)
    with pytest.raises(ldp.InvalidArgument, match=r"groups\[1\].ids='x'"):
        ldp.homogeneity_test([first, second])
    # one person may report twice within a group, and identifiers may be unknown
    assert ldp.two_sample_test([first, first], ldp.Reports([1, 2], KRR, ids=["v", "w"])).df >= 1
    assert ldp.two_sample_test(first, ldp.Reports([1, 2], KRR)).df >= 1


def test_other_labels_and_methods_are_refused() -> None:
    other = ldp.KRR(4, 1.0).counts([1, 2, 3, 4])
    with pytest.raises(ldp.MechanismMismatch):
        ldp.homogeneity_test([*groups(), other])
    weak = ldp.KRR(KRR.categories, 0.5).counts([1, 2, 3, 4])
    with pytest.raises(ldp.errors.NotAvailable, match="method='wald'"):
        ldp.homogeneity_test([*groups(), weak], "pearson")


def test_reports_that_hide_the_frequencies_can_still_be_compared() -> None:
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
def test_size(name: str, where: str, replications: Callable[..., int]) -> None:
    R, p = replications(2000), INTERIOR if where == "interior" else SPARSE
    rng = np.random.default_rng([16, list(MAKERS).index(name), where == "sparse"])
    rejected = size(repeat(R, lambda _: {"p": pvalue(MAKERS[name], p, p, rng)})["p"])
    if where == "interior":
        assert near(rejected, 0.05, R)
    assert at_most(rejected, 0.055, R)


def test_power_where_a_group_differs() -> None:
    rng = np.random.default_rng(8)
    found = repeat(100, lambda _: {"p": pvalue(MAKERS["krr"], INTERIOR, INTERIOR[::-1], rng)})
    assert at_least(size(found["p"]), 0.95, 100)


def test_a_category_that_some_groups_cannot_show_is_merged_whatever_their_order() -> None:
    k = ("a", "b", "c", "d")
    krr, bare, urr = ldp.KRR(k, 3.0), ldp.Observed(k), ldp.URR(k, sensitive={"a"}, epsilon=2.0)
    seen = ([190, 60, 35, 15], [210, 60, 30, 0], [205, 61, 34, 0])
    mixed = [m.counts(n) for m, n in zip((krr, bare, urr), seen, strict=True)]
    found = [ldp.homogeneity_test([mixed[i] for i in at]) for at in permutations(range(3))]
    assert [t.statistic for t in found] == pytest.approx([found[0].statistic] * 6, rel=1e-8)
    assert {(t.df, t.note) for t in found} == {(4.0, found[0].note)}
    assert "2 categories with few reports" in found[0].note


def test_a_category_that_nobody_holds_is_no_obstacle() -> None:
    k, rng, p = ("a", "b", "c"), np.random.default_rng(3), np.array([0.5, 0.5, 0.0])
    makers = [ldp.KRR(k, 3.0), ldp.Observed(k), ldp.Observed(k)]
    for _ in range(10):
        test = ldp.homogeneity_test([m.draw(p, 300, rng) for m in makers])
        assert test.df in (2.0, 4.0) and 0.0 < test.pvalue <= 1.0


def test_sparse_tables_have_the_p_value_of_permuted_reports() -> None:
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
def test_small_groups_of_bits_are_not_found_to_differ(sums: bool) -> None:
    # six groups of 50 were told apart at .05 in a quarter of all surveys, at .001 in a fifth
    R = 15
    pvalues = small_groups([BITS] * 6, [50] * 6, R, sums)
    assert at_most(size(pvalues), 0.06, R) and at_most(size(pvalues, 0.001), 0.002, R)


def test_the_result_says_which_law_its_p_value_has() -> None:
    rng = np.random.default_rng(2)
    drawn = [BITS.privatize(rng.choice(SIX, n, p=RARE), rng).tally() for n in (50, 400)]
    assert "moments of permutations" in ldp.homogeneity_test(drawn).method
    sums = [counts.bit_counts() for counts in drawn]
    assert "by the moments of the statistic" in ldp.homogeneity_test(sums).method
    mixed = [drawn[0], ldp.KRR(SIX, epsilon=8.0).draw(RARE, 400, rng)]
    assert "by the moments of the statistic" in ldp.homogeneity_test(mixed).method


def test_groups_whose_reports_are_all_alike_do_not_differ() -> None:
    one = BITS.privatize(["a"], np.random.default_rng(1)).tally()
    assert ldp.homogeneity_test([one, one]).pvalue == 1.0
    assert ldp.homogeneity_test([one.bit_counts(), one.bit_counts()]).pvalue == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "sums"), [([50, 400], True), ([50] * 6, False), ([100] * 10, False)]
)
def test_size_of_small_groups_of_bits(
    sizes: list[int], sums: bool, replications: Callable[..., int]
) -> None:
    R = replications(1000, least=200)
    pvalues = small_groups([BITS] * len(sizes), sizes, R, sums)
    for alpha in (0.05, 0.01):
        assert at_most(size(pvalues, alpha), 1.1 * alpha, R, errors=4.0)


@pytest.mark.slow
def test_power_of_the_score_test_of_bits() -> None:
    rng, makers = np.random.default_rng(3), ldp.KRAPPOR(SIX, epsilon=2.0, theta=0.5)
    other = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
    found = [
        ldp.homogeneity_test(
            [makers.privatize(rng.choice(SIX, 400, p=p), rng) for p in (RARE, other)]
        ).pvalue
        for _ in range(100)
    ]
    assert at_least(size(found), 0.85, 100)
