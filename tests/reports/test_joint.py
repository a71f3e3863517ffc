"""JointCounts: tallies against pandas, sums of chunks, shared cohorts, simulated reports."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from grid import report_codes
from scipy import stats

import ldpstats as ldp

Array = npt.NDArray[Any]

WORDS = ("apple", "pear", "plum")
KRR = ldp.KRR(("a", "b", "c"), epsilon=1.0)
WARNER = ldp.Warner(epsilon=1.0)
BITS = ldp.KRAPPOR(4, epsilon=1.0)
ORR = ldp.ORR(4, 3, epsilon=1.0)
RAPPOR = ldp.RAPPOR(4, 1, 3, f=0.0, p=0.25, q=0.75)
WIDE = ldp.RAPPOR(128, 2, 4, f=0.0, p=0.25, q=0.75)
LEVEL = 1e-6  # of each goodness-of-fit test: with fixed seeds a failure means a wrong law


def reports(mechanism: Any, n: int, seed: int, cohort: Array | None = None) -> ldp.Reports:
    rng = np.random.default_rng(seed)
    values: Any = WORDS if mechanism.is_open else mechanism.categories
    answers = pd.Index(values).take(rng.integers(0, len(values), n))
    if cohort is None:
        return mechanism.privatize(answers, rng)
    return mechanism.privatize(answers, rng, cohort=cohort)


def frame(joint: ldp.JointCounts) -> pd.Series:
    """How often each combination of reports was seen, by the numbers of the reports."""
    columns = {str(v): report_codes(part) for v, part in enumerate(joint.reports)}
    rows = pd.DataFrame(columns | {"n": joint.n})
    return rows.groupby(list(columns))["n"].sum()


PAIRS = [
    (KRR, WARNER),
    (KRR, BITS),
    (BITS, BITS),
    (ORR, KRR),
    (ORR, RAPPOR),
    (RAPPOR, RAPPOR),
    (KRR, WARNER, ORR),
]


@pytest.mark.parametrize("mechanisms", PAIRS)
@pytest.mark.parametrize("n", [1, 3000])
def test_tally_counts_each_combination_once(mechanisms, n):
    joint = ldp.JointCounts([reports(m, n, seed) for seed, m in enumerate(mechanisms)])
    assert (joint.n == 1).all()
    tallied = joint.tally()
    assert tallied.nobs == joint.nobs == n
    assert tallied.n.dtype == np.int64
    pd.testing.assert_series_equal(frame(tallied), frame(joint))
    if n == 3000:
        assert len(tallied.n) == len(frame(joint))  # equal combinations are merged
    again = tallied.tally()
    np.testing.assert_array_equal(again.n, tallied.n)


def test_large_counts_stay_exact():
    big = 2**52 + 1
    joint = ldp.JointCounts([ldp.Reports(np.array([0, 1]), KRR)] * 2, n=[big, 3])
    assert joint.tally().n.tolist() == [big, 3]
    assert joint.nobs == big + 3


def test_wide_bits_are_not_merged():
    one = reports(WIDE, 50, 1)
    same = ldp.Reports(np.repeat(one.y[:1], 50, axis=0), WIDE, cohort=np.zeros(50, dtype=np.int64))
    joint = ldp.JointCounts([same, same])
    tallied = joint.tally()
    assert len(tallied.n) == 50
    assert tallied.nobs == 50
    np.testing.assert_array_equal(tallied.reports[0].y, same.y)
    counts, index = tallied.variable(0)
    assert index is None
    assert counts.nobs == 50


@pytest.mark.parametrize("mechanisms", PAIRS)
def test_variable_gives_the_reports_of_one(mechanisms):
    joint = ldp.JointCounts([reports(m, 2000, seed) for seed, m in enumerate(mechanisms)]).tally()
    for v, part in enumerate(joint.reports):
        counts, index = joint.variable(v)
        alone = Counter(dict(zip(report_codes(part).tolist(), [0] * len(part), strict=True)))
        for code, n in zip(report_codes(part).tolist(), joint.n.tolist(), strict=True):
            alone[code] += n
        listed = ldp.Reports(counts.y, counts.mechanism, cohort=counts.cohort)
        found: Counter[int] = Counter()
        for code, n in zip(report_codes(listed).tolist(), counts.n.tolist(), strict=True):
            found[code] += n
        assert found == alone
        if index is not None:
            assert len(set(report_codes(listed).tolist())) == len(counts.n)
            np.testing.assert_array_equal(report_codes(listed)[index], report_codes(part))


# -- tables --------------------------------------------------------------------------------------


def test_table_is_the_cross_tabulation():
    x, y = reports(KRR, 500, 1), reports(WARNER, 500, 2)
    joint = ldp.JointCounts([x, y])
    expected = pd.crosstab(pd.Series(x.y), pd.Series(y.y)).to_numpy()
    np.testing.assert_array_equal(joint.table(), expected)
    np.testing.assert_array_equal(joint.tally().table(), expected)
    np.testing.assert_array_equal(
        ldp.JointCounts.from_table(expected, (KRR, WARNER)).table(), expected
    )


def test_from_table_matches_a_data_frame_by_label():
    table = pd.DataFrame([[1, 2], [3, 4]], index=["c", "a"], columns=["yes", "no"])
    joint = ldp.JointCounts.from_table(table, (KRR, WARNER))
    np.testing.assert_array_equal(joint.table(), [[4, 3], [0, 0], [2, 1]])
    x, y = reports(KRR, 300, 1), reports(WARNER, 300, 2)
    seen = pd.crosstab(KRR.report_labels(x), WARNER.report_labels(y))
    again = ldp.JointCounts.from_table(seen, (KRR, WARNER))
    np.testing.assert_array_equal(again.table(), ldp.JointCounts([x, y]).table())


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ([[1, 2], [3, 4]], r"table"),
        ([[1, 2], [3, -4], [0, 0]], r"table"),
        ([[1, 2], [3, 0.5], [0, 0]], r"table"),
        ([[1, 2], [3, np.nan], [0, 0]], r"table"),
        (pd.DataFrame([[1, 2]], index=["z"], columns=["no", "yes"]), r"table=.*'z'"),
        (pd.DataFrame([[1, 2]], index=["a"], columns=["no", "no"]), r"table=.*'no'"),
        (pd.DataFrame([[1, 2]]), r"table"),
    ],
)
def test_from_table_refuses(table, match):
    with pytest.raises(ldp.InvalidArgument, match=match):
        ldp.JointCounts.from_table(table, (KRR, WARNER))


@pytest.mark.parametrize("mechanism", [BITS, ORR, RAPPOR])
def test_bits_and_cohorts_have_no_table(mechanism):
    with pytest.raises(ldp.NotAvailable, match="reports"):
        ldp.JointCounts.from_table(np.ones((3, 4), dtype=int), (KRR, mechanism))
    with pytest.raises(ldp.NotAvailable, match="table"):
        ldp.JointCounts([reports(KRR, 5, 1), reports(mechanism, 5, 2)]).table()


# -- addition ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanisms", [*PAIRS, (WIDE, KRR)])
def test_chunks_add_up(mechanisms):
    whole = [reports(m, 400, seed) for seed, m in enumerate(mechanisms)]
    chunks = []
    for part in (slice(0, 1), slice(1, 150), slice(150, 400)):
        cut = [
            ldp.Reports(r.y[part], r.mechanism, cohort=None if r.cohort is None else r.cohort[part])
            for r in whole
        ]
        chunks.append(ldp.JointCounts(cut).tally())
    total = sum(chunks)
    assert isinstance(total, ldp.JointCounts)
    assert total.nobs == 400
    if WIDE not in mechanisms:
        pd.testing.assert_series_equal(frame(total), frame(ldp.JointCounts(whole)))
    else:
        np.testing.assert_array_equal(total.reports[0].y, whole[0].y)
        np.testing.assert_array_equal(total.reports[1].y, whole[1].y)


def test_addition_refuses_what_does_not_match():
    pair = ldp.JointCounts([reports(KRR, 5, 1), reports(WARNER, 5, 2)])
    swapped = ldp.JointCounts([reports(WARNER, 5, 1), reports(KRR, 5, 2)])
    triple = ldp.JointCounts([reports(KRR, 5, 1), reports(WARNER, 5, 2), reports(KRR, 5, 3)])
    careful = ldp.JointCounts([reports(ldp.KRR(("a", "b", "c"), 2.0), 5, 1), reports(WARNER, 5, 2)])
    for other in (swapped, careful):
        with pytest.raises(ldp.MechanismMismatch, match="fingerprint"):
            pair + other
    with pytest.raises(ldp.InvalidArgument, match=r"3 variables.*must have 2"):
        pair + triple
    with pytest.raises(TypeError):
        pair + 1
    with pytest.raises(TypeError):
        1 + pair


# -- cohorts -------------------------------------------------------------------------------------


def shared(first: Array, second: Array, C: int = 8, D: int | None = None) -> ldp.JointCounts:
    one = ldp.RAPPOR(4, 1, C, f=0.0, p=0.25, q=0.75)
    two = ldp.RAPPOR(6, 1, D or C, f=0.0, p=0.25, q=0.75)
    return ldp.JointCounts(
        [reports(one, len(first), 1, first), reports(two, len(second), 2, second)]
    )


def test_equal_cohorts_are_shared():
    cohort = np.random.default_rng(1).integers(0, 8, 400)
    joint = shared(cohort, cohort)
    assert joint.shared_cohorts
    assert joint.tally().shared_cohorts
    ordered, slices = joint.strata()
    assert len(slices) == 8
    assert sum(part.stop - part.start for part in slices) == 400
    for part in slices:
        for report in ordered.reports:
            assert report.cohort is not None
            assert np.unique(report.cohort[part]).size == 1
    pd.testing.assert_series_equal(frame(ordered), frame(joint))


def test_cohorts_that_determine_each_other_are_shared():
    cohort = np.random.default_rng(1).integers(0, 8, 400)
    assert shared(cohort, 7 - cohort).shared_cohorts
    # a coarser cohort is a function of a finer one
    assert shared(cohort, cohort // 2, 8, 4).shared_cohorts
    assert len(shared(cohort, cohort // 2, 8, 4).strata()[1]) == 8


def test_independent_cohorts_are_not_shared():
    rng = np.random.default_rng(1)
    joint = shared(rng.integers(0, 8, 400), rng.integers(0, 8, 400))
    assert not joint.shared_cohorts
    same, slices = joint.strata()
    assert same is joint
    assert slices == [slice(0, 400)]


def test_few_respondents_are_not_taken_to_share():
    # each of 10 respondents has a cohort of her own in either variable: that determines nothing
    rng = np.random.default_rng(1)
    first, second = rng.permutation(64)[:10], rng.permutation(64)[:10]
    assert not shared(first, second, 64).shared_cohorts


# -- simulated -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanisms", [(KRR, WARNER), (KRR, BITS), (BITS, WARNER)])
def test_simulated_reports_have_their_law(mechanisms):
    sizes = [m.k for m in mechanisms]
    p = np.random.default_rng(1).dirichlet(np.ones(np.prod(sizes)))
    law = p.reshape(sizes)
    for m in mechanisms:
        law = np.tensordot(law, m.channel().matrix(), (0, 0))
    start = ldp.JointCounts([reports(m, 200_000, seed) for seed, m in enumerate(mechanisms)])
    made = start.simulated(p, [m.categories for m in mechanisms], np.random.default_rng(5))
    assert made.nobs == 200_000
    codes = np.ravel_multi_index([report_codes(part) for part in made.reports], law.shape)
    seen = np.bincount(codes, made.n, law.size)
    assert stats.chisquare(seen, 200_000 * law.reshape(-1) / law.sum()).pvalue > LEVEL
    # the control: another law is refused
    wrong = np.roll(law.reshape(-1), 1) / law.sum()
    assert stats.chisquare(seen, 200_000 * wrong).pvalue < LEVEL


def test_simulated_reports_keep_their_cohorts():
    cohort = np.random.default_rng(1).integers(0, 3, 500)
    closed = ldp.RAPPOR(4, 1, 3, f=0.0, p=0.25, q=0.75, alphabet=("a", "b"))
    joint = ldp.JointCounts(
        [reports(closed, 500, 1, cohort), reports(closed, 500, 2, cohort)]
    ).tally()
    made = joint.simulated(np.full(4, 0.25), [closed.categories] * 2, np.random.default_rng(2))
    assert made.nobs == 500
    assert made.shared_cohorts
    for part in made.reports:
        assert part.cohort is not None
        np.testing.assert_array_equal(np.bincount(part.cohort, made.n), np.bincount(cohort))
