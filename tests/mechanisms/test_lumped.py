"""The category "Other": exact lumping against brute force."""

import numpy as np
import pytest
from grid import all_reports, expected_counts

import ldpstats as ldp
from ldpstats.mechanisms import LumpedUnary, lump

CATEGORIES = ("nurse", "teacher", "driver", "cook", "guard")
KEEP = ("driver", "nurse")
TRUE = np.array([0.35, 0.25, 0.2, 0.15, 0.05])
LUMPED = np.array([0.2, 0.35, 0.45])  # TRUE of KEEP and of the rest

EXACT = {
    "krr": ldp.KRR(CATEGORIES, epsilon=1.3),
    "krappor": ldp.KRAPPOR(CATEGORIES, epsilon=1.3),
    "oue": ldp.KRAPPOR(CATEGORIES, epsilon=2.0, theta=0.5),
    "rappor": ldp.RAPPOR(6, 1, 3, f=0.2, p=0.2, q=0.7, alphabet=CATEGORIES),
    "rappor-certain": ldp.RAPPOR(6, 1, 2, f=0.0, p=0.2, q=1.0, alphabet=CATEGORIES),
    "orappor": ldp.ORAPPOR(5, 1, 4, epsilon=2.0, alphabet=CATEGORIES),
    "custom": ldp.CustomMechanism(
        [
            [0.6, 0.1, 0.1, 0.1, 0.1],
            [0.1, 0.3, 0.1, 0.25, 0.25],
            [0.05, 0.1, 0.65, 0.1, 0.1],
            [0.1, 0.25, 0.1, 0.3, 0.25],
            [0.1, 0.25, 0.1, 0.25, 0.3],
        ],
        CATEGORIES,
    ),
    "rectangular": ldp.CustomMechanism(
        [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]],
        CATEGORIES,
        ("low", "middle", "high"),
    ),
}
exact = pytest.mark.parametrize("mechanism", EXACT.values(), ids=EXACT.keys())


def codes(reports: ldp.Reports) -> np.ndarray:
    """Number of each report among the columns of ``channel().matrix()``, cohorts apart."""
    mechanism = reports.mechanism
    if not mechanism.n_bits:
        return reports.y
    bits = np.unpackbits(reports.y, axis=1, count=mechanism.n_bits, bitorder="little")
    return bits.astype(np.int64) @ (1 << np.arange(mechanism.n_bits))


# -- exact lumping ---------------------------------------------------------------------------


@exact
def test_the_lumped_channel_is_the_marginal_of_the_original(mechanism):
    # every report of the original goes to its lumped report: sums of columns of the original matrix
    reports = lump(all_reports(mechanism), KEEP)
    lumped = reports.mechanism
    assert list(lumped.categories) == [*KEEP, "Other"]
    original, Q = mechanism.channel().matrix(), lumped.channel().matrix()
    marginal = np.zeros((len(CATEGORIES), Q.shape[1]))
    np.add.at(marginal.T, codes(reports), original.T)
    np.testing.assert_allclose(marginal[[2, 0]], Q[:2], rtol=0, atol=1e-15)
    for row in marginal[[1, 3, 4]]:
        np.testing.assert_allclose(row, Q[2], rtol=0, atol=1e-15)
    assert lumped.epsilon <= mechanism.epsilon + 1e-12
    assert lumped.audit().agrees


@exact
def test_lumped_reports_recover_the_lumped_distribution(mechanism):
    # counts equal to their expectation: what is left is their rounding to whole numbers
    counts = expected_counts(mechanism, TRUE, 1e12)
    once = lump(ldp.Reports(counts.y, mechanism, cohort=counts.cohort), KEEP)
    total = ldp.Counts(once.y, counts.n, once.mechanism)
    for method in ("mle", "inversion"):
        fit = ldp.FrequencyModel(total).fit(method)
        np.testing.assert_allclose(fit.params, LUMPED, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", ["krr", "custom"])
def test_lumped_labels_have_exact_intervals_and_travel(name):
    mechanism = EXACT[name]
    answers = np.repeat(CATEGORIES, [70, 50, 40, 30, 10])
    reports = lump(mechanism.privatize(answers, np.random.default_rng(2)), KEEP)
    fit = ldp.FrequencyModel(reports).fit()
    if name == "krr":
        form = fit.exact
        assert form is not None and form.known.all()
        Q = reports.mechanism.channel().matrix()
        # P(own report) = offset + scale p, as the channel has it
        np.testing.assert_allclose(form.offset, [Q[1, 0], Q[0, 1], Q[0, 2]], rtol=1e-12)
        np.testing.assert_allclose(form.offset + form.scale, np.diag(Q), rtol=1e-12)
        np.testing.assert_array_equal(form.tally, reports.tally().vector())
    again = ldp.FrequencyResults.from_dict(fit.to_dict())
    np.testing.assert_array_equal(again.conf_int(), fit.conf_int())


def test_lumped_bits_have_exact_intervals_of_the_kept_categories():
    mechanism = EXACT["krappor"]
    answers = np.repeat(CATEGORIES, [70, 50, 40, 30, 10])
    reports = mechanism.privatize(answers, np.random.default_rng(2))
    both = ldp.FrequencyModel(reports), ldp.FrequencyModel(lump(reports, KEEP))
    whole, lumped = (model.fit("inversion") for model in both)
    form = lumped.exact
    assert form is not None
    np.testing.assert_array_equal(form.known, [True, True, False])
    # the same bits, so the same counts and the same intervals
    kept = list(KEEP)
    exact = whole.conf_int(clip=False).loc[kept]
    np.testing.assert_allclose(lumped.conf_int(clip=False).loc[kept], exact, rtol=1e-12)
    again = ldp.FrequencyResults.from_dict(lumped.to_dict())
    np.testing.assert_array_equal(again.conf_int(), lumped.conf_int())
    # sums of bits say the same
    sums = ldp.FrequencyModel(lump(reports, KEEP).tally(bits=True)).fit()
    np.testing.assert_array_equal(sums.conf_int(), lumped.conf_int())
    assert sums.goodness_of_fit is not None and 0.0 <= sums.goodness_of_fit.pvalue <= 1.0


def test_moments_of_lumped_bits_by_enumeration():
    lumped, p, n = (
        LumpedUnary(("a", "b", "c", "Other"), 0.7, 0.2),
        np.array([0.4, 0.1, 0.2, 0.3]),
        50,
    )
    bits = np.arange(8)[:, None] >> np.arange(3) & 1
    law = p @ lumped.channel().matrix()
    mean = law @ bits
    moments = lumped.moments(lumped.counts([20, 15, 10], nobs=n))
    np.testing.assert_allclose(moments.A @ p + moments.offset, [*mean, 1.0], rtol=0, atol=1e-14)
    covariance = np.zeros((4, 4))  # the frequencies sum to one: nothing is random there
    covariance[:3, :3] = ((bits.T * law) @ bits - np.outer(mean, mean)) / n
    np.testing.assert_allclose(moments.V(p).matrix(), covariance, rtol=0, atol=1e-15)


def test_the_order_is_that_of_keep_and_of_the_respondents():
    rng = np.random.default_rng(3)
    for mechanism in (
        ldp.KRAPPOR(20, 1.0),
        ldp.RAPPOR(20, 1, 4, f=0.0, p=0.25, q=0.75, alphabet=20),
    ):
        reports = mechanism.privatize(rng.integers(0, 20, 500), rng)
        keep = [17, 3, 0, 9, 12, 5, 6, 1, 19]
        lumped = lump(reports, keep)
        bits = np.unpackbits(reports.y, axis=1, count=20, bitorder="little")
        own = np.arange(20)[None] if reports.cohort is None else mechanism.cells()[:, :, 0]
        at = own[np.zeros(500, int) if reports.cohort is None else reports.cohort][:, keep]
        expected = np.take_along_axis(bits, at.astype(int), axis=1)
        found = np.unpackbits(lumped.y, axis=1, count=9, bitorder="little")
        np.testing.assert_array_equal(found, expected)
        assert list(lumped.mechanism.categories) == [*keep, "Other"]


def test_lumping_twice_is_lumping_once():
    for name in ("krr", "krappor", "rappor"):
        reports = EXACT[name].privatize(CATEGORIES * 20, np.random.default_rng(8))
        twice = lump(lump(reports, ("cook", "driver", "nurse")), KEEP)
        once = lump(reports, KEEP)
        np.testing.assert_array_equal(twice.y, once.y)
        Q = once.mechanism.channel().matrix()
        np.testing.assert_allclose(twice.mechanism.channel().matrix(), Q, rtol=0, atol=1e-15)
    with pytest.raises(ldp.NotAvailable, match="owns no bit"):
        lump(once, ("nurse", "Other"), other="driver")


# -- what is refused -------------------------------------------------------------------------

KRR = ldp.Reports(np.array([0, 4]), EXACT["krr"])


@pytest.mark.parametrize(
    ("keep", "error", "match"),
    [
        (CATEGORIES, ldp.InvalidArgument, "nothing is left"),
        (("pilot",), ldp.UnknownCategory, "keep.*pilot"),
        (("nurse", "nurse"), ldp.InvalidArgument, "twice"),
        ((), ldp.InvalidArgument, "at least 1"),
        ("nurse", ldp.InvalidArgument, "list of labels"),
        (2, ldp.InvalidArgument, "list of the categories"),
        (iter(["nurse"]), ldp.InvalidArgument, "list of the categories"),
        ({"nurse"}, ldp.InvalidArgument, "no order"),
        (None, ldp.InvalidArgument, "list of labels"),
    ],
)
def test_bad_keep_is_refused(keep, error, match):
    with pytest.raises(error, match=match):
        lump(KRR, keep)


def test_bad_other_and_reports_are_refused():
    with pytest.raises(ldp.InvalidArgument, match="use another name"):
        lump(KRR, ["nurse"], other="nurse")
    with pytest.raises(ldp.InvalidArgument, match="labels must be"):
        lump(KRR, ["nurse"], other=None)
    with pytest.raises(ldp.InvalidArgument, match="before tallying"):
        lump(KRR.tally(), ["nurse"])


@pytest.mark.parametrize(
    "mechanism",
    [
        ldp.RAPPOR(16, 2, 2, f=0.0, p=0.25, q=0.75),
        ldp.ORR(8, 4, epsilon=1.0),
        ldp.RAPPOR(16, 2, 2, f=0.0, p=0.25, q=0.75, alphabet=CATEGORIES),  # two bits each
        ldp.ORAPPOR(4, 1, 3, epsilon=1.0, alphabet=CATEGORIES),  # five labels in four bits
        ldp.ORR(5, 3, epsilon=1.0, alphabet=CATEGORIES),
    ],
    ids=str,
)
def test_hashed_answers_are_not_lumped(mechanism):
    reports = mechanism.privatize(CATEGORIES, np.random.default_rng(1))
    with pytest.raises(ldp.NotAvailable, match='other="product"'):
        lump(reports, list(CATEGORIES[:4]))


def test_lumped_categories_that_stay_different_are_refused():
    # reports of b and of c differ even when they are one report: a is given away by b more often
    mechanism = ldp.CustomMechanism(
        [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]], ("a", "b", "c")
    )
    reports = ldp.Reports(np.array([0]), mechanism)
    with pytest.raises(ldp.NotAvailable, match="'b' and 'c' give different reports"):
        lump(reports, ["a"])
    assert lump(reports, ["a", "b"]).mechanism.k == 3  # one category is always like itself


def test_a_lumped_mechanism_checks_its_parameters():
    with pytest.raises(ldp.InvalidArgument, match=r"p1.*differ"):
        LumpedUnary(3, 0.5, 0.5)
    with pytest.raises(ldp.InvalidArgument, match=r"p0.*probability"):
        LumpedUnary(3, 0.5, 1.5)
    lumped = LumpedUnary(("a", "b", "Other"), 0.7, 0.2)
    with pytest.raises(ldp.InvalidArgument, match="nobs"):
        lumped.counts([1, 2])
    with pytest.raises(ldp.InvalidArgument, match="cohort"):
        lumped.parse("reports", ["01"], cohort=[0])
