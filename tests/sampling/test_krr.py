"""Samples of k-RR: at every boundary by crafted words, and in law by chi-square.

Chi-square checks are made at level 1e-6 with fixed seeds; each has a negative control, a slightly
wrong law that the same check must refuse.
"""

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, product
from typing import Any

import numpy as np
import pytest
from shared.crafted_words import ALL, LEVEL, NASTY, ONE, pvalue, script, weights

from ldpstats import kernels as loading
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.errors import InvalidArgument
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import (
    CERTAIN,
    Inversion,
    inversion,
    sample_inversions,
    sample_krr,
    sample_others,
    sample_own,
    simulation_words,
)


# --- thresholds ---------------------------------------------------------------------------------
@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-25, 2.0**-64, 0.1, 1 / 3, 0.5, 1 - 2**-53, 1.0, 1])
def test_threshold_is_the_exact_neighbour(p):
    down, up = samplers.threshold(p, "down"), samplers.threshold(p, "up")
    assert down <= Fraction(p) * ONE <= up
    assert up - down == (0 if (Fraction(p) * ONE).denominator == 1 else 1)


@pytest.mark.parametrize("p", [-1e-300, 1 + 2**-52, float("nan"), float("inf")])
def test_threshold_refuses_what_is_no_probability(p):
    with pytest.raises(InvalidArgument, match="probability"):
        samplers.threshold(p, "down")


# --- k-RR ---------------------------------------------------------------------------------------
def krr_law(k, keep):
    p = keep / ONE
    return p * np.eye(k) + (1 - p) / k


@pytest.mark.parametrize(("k", "p"), [(2, 0.3), (3, 0.9), (5, 0.0), (7, 0.02), (10, 0.5)])
def test_krr_law(path, k, p):
    n, keep = 200_000, samplers.threshold(p, "down")
    codes = np.arange(n) % k
    y = samplers.sample_krr(codes, k, keep, samplers.simulation_words(np.random.default_rng(k)))
    observed = np.zeros((k, k), dtype=np.int64)
    np.add.at(observed, (codes, y), 1)
    shares = np.bincount(codes) / n
    assert pvalue(observed, shares[:, None] * krr_law(k, keep)) > LEVEL
    wrong = krr_law(k, samplers.threshold(p + 0.02, "down"))
    assert pvalue(observed, shares[:, None] * wrong) < LEVEL


@pytest.mark.parametrize("keep", [1, (5 << 32) + 9, 7 << 32, ALL])
def test_krr_keeps_exactly_below_the_threshold(path, keep):
    """The high half of a word and, at a tie, that of the next one are the 64 bits compared."""
    for fraction in {0, keep - 1, keep, keep + 1, keep >> 32 << 32, keep | 0xFFFFFFFF}:
        if 0 <= fraction < ONE:
            high, low = divmod(fraction, 1 << 32)
            draw = 1 << 31  # the low half of the first word gives category 1 of 3
            further = [low << 32] if high == keep >> 32 else []
            words = script((high << 32) + draw, *further)
            assert samplers.sample_krr([2], 3, keep, words)[0] == (2 if fraction < keep else 1)
            assert not words.left


@pytest.mark.parametrize("k", [2, 3, 7, 1000, 1_000_003, 2**31 + 1, 2**32 - 1])
def test_krr_gives_every_category_the_same_number_of_low_halves(path, k):
    """Category v owns the low halves from ceil(v 2^32 / k) on; at most its first is rejected."""
    spare, share = (1 << 32) % k, (1 << 32) // k
    for v in {0, 1, k // 3, k // 2, k - 2, k - 1}:
        first = -(-(v << 32) // k)
        last = -(-((v + 1) << 32) // k) - 1
        rejected = first * k % (1 << 32) < spare
        assert last - first + 1 - rejected == share
        accepted = first + rejected
        for low in {accepted, last}:
            assert samplers.sample_krr([0], k, 0, script((1 << 32) + low))[0] == v
        if rejected:  # draws again, with the low half of the next word
            words = script((1 << 32) + first, first, (9 << 32) + accepted)
            assert samplers.sample_krr([0], k, 0, words)[0] == v
            assert not words.left


def test_krr_settles_pending_users_in_order(path):
    keep, k = (4 << 32) + 10, 3
    tie, noise, rejected = 4 << 32, 9 << 32, 9 << 32
    low = [0x10, 0x60000000, 0xC0000000]  # accepted draws of 0, 1, 2
    words = script(
        tie + low[2],  # user 0: tie, then kept
        rejected,  # user 1: rejected twice
        0 + low[1],  # user 2: kept outright
        tie + low[1],  # user 3: tie, then noise from its own first word
        noise + low[0],  # user 4: noise outright
        *(9 << 32, 10 << 32),  # the ties of users 0 and 3
        *(0, low[2]),  # the further draws of user 1
    )
    assert samplers.sample_krr([1, 0, 2, 0, 1], k, keep, words).tolist() == [1, 2, 2, 1, 0]
    assert not words.left


@pytest.mark.parametrize("k", [3, 1000, 3_000_000_001])
@pytest.mark.parametrize("n", [1, 255, 256, 5000])
def test_krr_kernel_equals_its_twin_on_the_same_words(monkeypatch, k, n):
    monkeypatch.setattr(samplers, "LARGE", 0)
    monkeypatch.setattr(loading, "LOADING", 0.0)
    codes = np.random.default_rng(4).integers(0, k, size=n)
    reports = []
    for given in (False, True):
        words = samplers.simulation_words(np.random.default_rng(10))
        source = words.streams(1).__call__ if given else words
        y = samplers.sample_krr(codes, k, ONE // 3, source)
        reports.append(np.append(y, words(3).view(np.int64)))  # as many words were used
    assert np.array_equal(*reports)


@pytest.mark.parametrize("bad", [-1, 5, 2**40, -(2**63)])
def test_krr_refuses_a_code_outside(path, bad):
    codes = np.zeros(3000, dtype=np.int64)
    codes[2500] = bad
    with pytest.raises(InvalidArgument, match=rf"codes={bad}: must lie in \[0, 5\)"):
        samplers.sample_krr(codes, 5, ONE // 2, samplers.simulation_words(np.random.default_rng(1)))
    with pytest.raises(InvalidArgument, match=rf"codes={bad}: must lie in \[0, 5\)"):
        samplers.sample_krr(codes, 5, ONE, samplers.simulation_words(np.random.default_rng(1)))


# Samples of arbitrary rows: exact at every boundary, and in law by chi-square.


def test_integer_rows_sum_exactly_and_keep_their_support():
    for q, weight in zip(NASTY, weights(samplers.integer_rows(NASTY)), strict=True):
        assert sum(weight.values()) == ONE
        assert set(weight) == {y for y, value in enumerate(q) if value > 0}
        assert min(weight.values()) >= 1
        for y, value in weight.items():  # the largest also carries the rounding of the others
            assert abs(value - Fraction(q[y]) * ONE) <= (1 if q[y] < max(q) else 2**12)


def test_rows_are_exact_at_every_boundary():
    rows = samplers.integer_rows(NASTY)
    for x, (y, upper) in enumerate(zip(rows.outputs, rows.upper, strict=True)):
        lower = [0, *(int(u) + 1 for u in upper[:-1])]
        for output, first, last in zip(y, lower, upper.tolist(), strict=True):
            drawn = samplers.sample_rows([x, x], rows, script(first, last))
            assert drawn.tolist() == [output, output]


@pytest.mark.parametrize("n", [60_000, 300_000])
def test_rows_law(n):
    Q = np.array([[0.0, 0.25, 0.0, 0.75], [0.1, 0.2, 0.7, 0.0], [0.0, 0.0, 0.0, 1.0]])
    codes = np.random.default_rng(1).integers(0, 3, size=n)
    rows = samplers.integer_rows(Q)
    y = samplers.sample_rows(codes, rows, samplers.simulation_words(np.random.default_rng(2)))
    observed = np.zeros(Q.shape, dtype=np.int64)
    np.add.at(observed, (codes, y), 1)
    shares = np.bincount(codes)[:, None] / n
    assert pvalue(observed, shares * Q) > LEVEL
    wrong = Q + 0.03 * np.array([[0, 1, 0, -1], [0, 1, -1, 0], [0, 0, 0, 0]])
    assert pvalue(observed, shares * wrong) < LEVEL
    assert samplers.sample_rows([], rows, script()).size == 0


@pytest.mark.parametrize("code", [-1, 2])
def test_rows_refuse_a_code_outside(code):
    with pytest.raises(InvalidArgument, match="codes"):
        samplers.sample_rows([code], samplers.integer_rows(np.eye(2)), script(0))


# Epsilon that the samplers realise, against exact enumeration.

P1, P0 = samplers.threshold(0.7310585786300049, "down"), samplers.threshold(0.3, "up")


def log(ratio):
    with localcontext() as context:
        context.prec = 80
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def close(value, ratio):
    exact = log(ratio)
    return abs(Decimal(value) - exact) <= Decimal("1e-15") * abs(exact)


def spent_keep(keep: int, k: int) -> float:
    draw = portable.Fields({"kind": "keep", "k": k, "keep": str(keep)})
    return portable.open_draw(portable._LABELS, draw, k).spent()


EPSILONS = [1e-12, 1e-3, 0.1, 0.69, 0.7, 1.0, 5.0, 30.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 3, 1000, 1_000_003])
def test_realised_epsilon_of_krr(k, epsilon):
    keep = samplers.threshold(np.expm1(epsilon) / (np.exp(epsilon) + k - 1), "down")
    other = Fraction(ONE - keep, ONE * k)
    own = Fraction(keep, ONE) + other
    assert own + (k - 1) * other == 1
    found = spent_keep(keep, k)
    assert close(found, own / other)
    # the threshold is within a unit of a float that carries a few roundings
    p = keep / ONE
    assert abs(found - epsilon) < (p * 2**-50 + 2**-64) * k / (1 - p) + 1e-14 * epsilon


@pytest.mark.parametrize(
    ("p1", "p0"), [(P1, P0), (P0, P1), (ONE // 2, 1), (ALL, 1), (3, 2), (ONE // 2 + 1, ONE // 2)]
)
@pytest.mark.parametrize("hashes", [1, 3])
def test_realised_epsilon_of_bits_by_enumeration(p1, p0, hashes):
    """The largest ratio over all reports of two values that set disjoint bits."""
    one = {True: Fraction(p1, ONE), False: Fraction(p0, ONE)}
    ratio = max(
        (one[True] if a else 1 - one[True])
        * (one[False] if b else 1 - one[False])
        / (one[False] if a else 1 - one[False])
        / (one[True] if b else 1 - one[True])
        for a, b in product((0, 1), repeat=2)
    )
    assert close(hashes * sum(portable.rise_and_fall(p1, p0)), ratio**hashes)


def test_realised_epsilon_at_the_ends():
    assert spent_keep(0, 5) == 0
    assert spent_keep(ONE, 5) == np.inf
    assert sum(portable.rise_and_fall(P0, P0)) == 0
    assert sum(portable.rise_and_fall(0, 0)) == sum(portable.rise_and_fall(ONE, ONE)) == 0
    for p1, p0 in ((P1, 0), (ONE, P0), (ONE, 0), (0, P0), (P1, ONE)):
        assert sum(portable.rise_and_fall(p1, p0)) == np.inf
    assert samplers.realised_epsilon_rows(samplers.integer_rows(np.eye(3))) == np.inf
    assert samplers.realised_epsilon_rows(samplers.integer_rows([[1.0, 0.0]] * 2)) == 0
    assert samplers.realised_epsilon_rows(samplers.integer_rows([NASTY[1]] * 3)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_realised_epsilon_of_rows_by_enumeration(seed):
    Q = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=4)
    Q[:, 3] = 0  # never emitted, so it tells nothing
    Q /= Q.sum(axis=1, keepdims=True)
    Q[0, :2] = [1e-19, Q[0, 0] + Q[0, 1]]
    rows = samplers.integer_rows(Q)
    weight = weights(rows)
    ratio = max(Fraction(a[y], b[y]) for a, b in product(weight, repeat=2) for y in (0, 1, 2, 4, 5))
    assert close(samplers.realised_epsilon_rows(rows), ratio)


# Samplers without rounding: the law of their integers, where 64 digits do not decide.

WEIGHTS = {
    "thirds": (1, 1, 1),
    "dice": (1, 0, 4, 1),
    "zero first": (0, 0, 2, 5),
    "zero last": (3, 4, 0),
    "certain": (0, 1, 0),
    "one": (7,),
    "powers of two": (1, 2, 1),
    "huge": (10**40, 3, 10**41 + 7, 1),
    "tiny": (1, 10**60, 1),
    "close": (10**30, 1, 1, 10**30),
}

each = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())


class Given:
    """Words in a given order; then none."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def __call__(self, n: int) -> Any:
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n, "more words than given"
        return np.array(taken, dtype=np.uint64)


def by_definition(weights: Iterable[int], words: list[int]) -> int:
    """The outcome of the number with these binary digits, 64 in a word, by exact comparison."""
    ends = list(accumulate(weights))
    u = sum(Fraction(word, CERTAIN ** (i + 1)) for i, word in enumerate(words))
    return sum(Fraction(end, ends[-1]) <= u for end in ends[:-1])


@each
def test_the_integers_realise_the_law(weights):
    assert inversion(weights).law() == [Fraction(w, sum(weights)) for w in weights]


@each
def test_words_near_every_threshold(weights):
    """Words on both sides of each, and those that agree with it for one, two and three words."""
    row, total = inversion(weights), sum(weights)
    for end in list(accumulate(weights))[:-1]:
        digits, rest = [], Fraction(end, total)
        for _ in range(3):
            digits.append(min(int(rest * CERTAIN), CERTAIN - 1))
            rest = rest * CERTAIN - digits[-1]
        for agree in range(3):
            for off in (-1, 0, 1):
                word = digits[agree] + off
                if 0 <= word < CERTAIN:
                    words = [*digits[:agree], word, 5, 6, 7]
                    source = Given(*words[1:])
                    found = row.draw(np.array(words[:1], dtype=np.uint64), source)
                    assert found[0] == by_definition(weights, words)


def test_a_row_that_is_off_by_one_is_seen():
    """Negative control: one threshold moved by one part in 2**64."""
    right = inversion((1, 2))
    wrong = Inversion(right.upper + np.uint64(1), right.rest, right.total)
    assert wrong.law() != right.law()
    word = int(right.upper[0]) + 1
    drawn = wrong.draw(np.array([word], dtype=np.uint64), Given(0, 0))
    assert drawn[0] != by_definition((1, 2), [word, 0, 0])


@pytest.mark.parametrize("n", [1, 5])
def test_k_rr_decides_by_further_words_where_64_digits_agree(n):
    """P(keep) = (keep + 1/3) / 2**64: the tie goes to the report in one of three cases."""
    keep, k = 0x123456789ABCDEF0, 4
    low = 3 << 30  # gives report 3 of 4 where the code is not kept
    tie = (keep >> 32 << 32) | low
    further = (keep & 0xFFFFFFFF) << 32
    third = CERTAIN // 3
    for last, kept in ((0, True), (third - 1, True), (third + 1, False), (CERTAIN - 1, False)):
        words = Given(*[tie] * n, *[further] * n, *[last] * n)
        assert (
            sample_krr([0] * n, k, keep, words, Fraction(1, 3)).tolist() == [0 if kept else 3] * n
        )
    words = Given(*[tie] * n, *[further] * n)  # as before there was a rest
    assert sample_krr([0] * n, k, keep, words).tolist() == [3] * n


@pytest.mark.parametrize("n", [1, 20_000, 200_000])
def test_samplers_draw_their_laws(n):
    """By counts within 5 standard errors, short and long simulations, with and without streams."""
    words = simulation_words(np.random.default_rng(n))
    codes = np.arange(n) % 3
    rows = [inversion((1, 2, 3)), inversion((0, 5, 1)), inversion((10**25, 1, 10**25))]
    own, common = Fraction(1, 7), inversion((10, 20, 15, 25))
    less = [Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)]
    drawn = {
        "rows": sample_inversions(codes, 3, rows.__getitem__, words),
        "own": sample_own(codes, 3, common, words),
        "others": sample_others(codes, 3, inversion((2, 3, 4)), less, words),
    }
    laws = {
        "rows": [row.law() for row in rows],
        "own": [[own * (x == y) + common.law()[y + 1] for y in range(3)] for x in range(3)],
        "others": [
            [(Fraction(2 + y, 9) * (less[y] if x == y else 1)) / Fraction(8, 9) for y in range(3)]
            for x in range(3)
        ],
    }
    for name, reports in drawn.items():
        for x in range(3):
            mine = reports[codes == x]
            q = np.array([float(p) for p in laws[name][x]])
            assert q.sum() == pytest.approx(1.0)
            seen = np.bincount(mine, minlength=3)
            bound = 5.0 * np.sqrt(mine.size * q * (1.0 - q)) + 1e-9 + (n == 1)
            assert np.all(abs(seen - mine.size * q) <= bound), name
