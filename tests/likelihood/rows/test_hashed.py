"""Likelihood rows of hashed reports, and their maximum."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from grid import all_reports
from shared.hashed_cells import hashed, incidence

import ldpstats as ldp
from ldpstats.estimators import EM, MLE
from ldpstats.estimators.solvers import STEP
from ldpstats.likelihood import rows as base
from ldpstats.likelihood.hashed import HashDesign
from ldpstats.likelihood.hashed_rows import BloomRows, LabelRows
from ldpstats.likelihood.rows import (
    DenseRows,
    FixedEntry,
    Likelihood,
    Rows,
    StackedRows,
    UnaryRows,
    UniformRows,
    WithOther,
    other_rows,
)

Array = npt.NDArray[Any]


# ---- likelihood rows
def label_rows(
    C: int, m: int, S: int, n: int, epsilon: float = 2.0, seed: int = 0
) -> tuple[LabelRows, Array]:
    """Simulated reports of Zipf frequencies: distinct (cohort, label) pairs and their counts."""
    cells, rng = hashed(C, m, S, 1, seed), np.random.default_rng(seed)
    b = 1.0 / (np.exp(epsilon) + m - 1)
    a = np.expm1(epsilon) * b
    law = a * HashDesign(cells, m).owned(zipf(S)) + b
    sizes = rng.multinomial(n, np.full(C, 1.0 / C))
    counts = np.stack([rng.multinomial(size, q) for size, q in zip(sizes, law, strict=True)])
    cohort, y = np.nonzero(counts)
    return LabelRows(cells, cohort, y, a, b), counts[cohort, y]


def bloom_rows(
    C: int, m: int, S: int, h: int, n: int, p1: float = 0.8, p0: float = 0.3, seed: int = 0
) -> tuple[BloomRows, Array]:
    """Simulated Bloom filters of Zipf frequencies."""
    cells, rng = hashed(C, m, S, h, seed), np.random.default_rng(seed)
    cohort, x = rng.integers(0, C, n), rng.choice(S, size=n, p=zipf(S))
    bits = incidence(cells, m).reshape(C, m, S)[cohort, :, x]
    y = rng.random((n, m)) < np.where(bits > 0.0, p1, p0)
    packed = np.packbits(y, axis=1, bitorder="little")
    return BloomRows(packed, cohort, cells, m, p1, p0), np.ones(n, dtype=np.int64)


def zipf(S: int) -> Array:
    weights = 1.0 / np.arange(1, S + 1)
    return np.asarray(weights / weights.sum())


def from_definition(W: LabelRows | BloomRows) -> Array:
    """Probabilities of the reports, shape (u, S), one by one."""
    out = np.ones(W.shape)
    for i, x in np.ndindex(W.shape):
        own = set(W.cells[W.cohort[i], x].tolist())
        if isinstance(W, LabelRows):
            out[i, x] = W.b + W.a * (W.y[i] in own)
            continue
        for j in range(W.n_bits):
            probability = W.p1 if j in own else W.p0
            bit = W.packed[i, j // 8] >> (j % 8) & 1
            out[i, x] *= probability if bit else 1.0 - probability
    return out


ROWS = {
    "labels": lambda: label_rows(5, 6, 9, 60),
    "complete labels": lambda: label_rows(3, 4, 9, 10_000),
    "bloom": lambda: bloom_rows(4, 11, 9, 2, 50),
    "bloom, one hash": lambda: bloom_rows(4, 16, 9, 1, 50),
    "bloom, four hashes": lambda: bloom_rows(4, 7, 9, 4, 50),
    "bloom, inverted": lambda: bloom_rows(4, 11, 9, 2, 50, p1=0.2, p0=0.7),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.usefixtures("path")
def test_rows_equal_their_definition(kind):
    W, _ = ROWS[kind]()
    rng = np.random.default_rng(5)
    u, k = W.shape
    order = rng.permutation(u) if kind != "complete labels" else np.arange(u)
    W = W.select(order)
    P = from_definition(W)
    np.testing.assert_allclose(W.dense() * np.exp(W.log_scale)[:, None], P, rtol=1e-12)
    D = P / np.exp(W.log_scale)[:, None]
    p, v = rng.normal(size=k), rng.normal(size=u)
    some = rng.random(u) < 0.5
    check = {
        "mix": (W.mix(p), D @ p),
        "adjoint": (W.adjoint(v), v @ D),
        "adjoints": (np.array(W.adjoints(v)), np.array([v @ D, v @ D**2])),
        "gram": (W.gram(v**2), (D.T * v**2) @ D),
        "take": (W.take(2, 7), D[2:7]),
        "select": (W.select(some).dense(), D[some]),
        "selected mix": (W.select(some).mix(p), D[some] @ p),
    }
    for name, (found, wanted) in check.items():
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=name)


# ---- maximum likelihood
def step_left(W: Rows, n: Array, p: Array, q: Array) -> float:
    """Length of q - p in standard errors, ``sqrt(sum_i n_i (W(q - p))_i^2 / (W p)_i^2)``."""
    return float(np.sqrt(n @ (W.mix(q - p) / W.mix(p)) ** 2))


def check_maximum(W: Rows, n: Array) -> None:
    """The MLE on structured rows is certified and equals the one on the dense matrix."""
    problem, dense = Likelihood(W, n), Likelihood(DenseRows(W.dense(), W.log_scale), n)
    found, wanted = MLE().solve(problem), MLE().solve(dense)
    assert found.converged and "proximal" in found.message
    assert problem.gap_nats(found.p) <= 1.1e-3 and dense.gap_nats(found.p) <= 1.1e-3
    assert problem.loglike(found.p) == pytest.approx(dense.loglike(found.p), rel=1e-12)
    assert step_left(W, n, wanted.p, found.p) <= 4 * STEP  # each within about STEP of the maximum


@pytest.mark.parametrize("kind", ["labels", "bloom"])
def test_maximum_of_many_reports(kind):
    if kind == "labels":
        W, n = label_rows(300, 64, 120, 10**6)
    else:
        W, n = bloom_rows(16, 32, 70, 2, 32_000)
    assert W.shape[0] * W.shape[1] > base._SMALL and W.prepared() is W
    check_maximum(W, n)


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.usefixtures("path")
def test_maximum_on_both_paths(kind, monkeypatch):
    W, n = ROWS[kind]()
    assert isinstance(W.prepared(), DenseRows)
    expected = MLE().solve(Likelihood(W, n)).p
    monkeypatch.setattr(base, "_SMALL", 0)
    assert W.prepared() is W and W.is_structured
    found = MLE().solve(Likelihood(W, n))
    assert found.gap <= 1e-12 and step_left(W, n, expected, found.p) <= 4 * STEP
    by_em = EM(tol=1e-7).solve(Likelihood(W, n))
    assert by_em.converged and Likelihood(W, n).gap(by_em.p) <= 1e-7


def test_groups_of_both_kinds(monkeypatch):
    monkeypatch.setattr(base, "_SMALL", 0)
    S = 40
    parts = [label_rows(20, 16, S, 10**5), bloom_rows(4, 32, S, 2, 3000)]
    parts.append((UniformRows(np.arange(S), 0.5, 0.5 / S, S), np.arange(S) + 1))
    W, n = StackedRows(tuple(w for w, _ in parts)), np.concatenate([n for _, n in parts])
    check_maximum(W, n)


@pytest.mark.parametrize("kind", ["labels", "bloom"])
def test_the_start_is_nearly_as_likely_as_the_truth(kind):
    if kind == "labels":
        W, n = label_rows(64, 64, 500, 10**6)
    else:
        W, n = bloom_rows(8, 64, 100, 2, 30_000)
    k, start = W.shape[1], W.start(n)
    assert start.min() >= 0.0 and start.sum() == pytest.approx(1.0)
    reached, uniform, truth = (
        Likelihood(W, n).loglike(p) for p in (start, np.full(k, 1 / k), zipf(k))
    )
    assert reached > uniform + 0.9 * (truth - uniform)
    others = FixedEntry(W, 0, 0.5).start(n)
    np.testing.assert_allclose(others, np.delete(start, 0) / (1.0 - start[0]))
    both = StackedRows((W, DenseRows(np.ones((1, k))))).start(np.append(n, n.sum()))
    np.testing.assert_allclose(both, (start + 1.0 / k) / 2.0)


# The category "Other" of hashed reports: the product of bits.

CATEGORIES = ("nurse", "teacher", "driver", "cook", "guard")

KRR = ldp.Reports(np.array([0, 4]), ldp.KRR(CATEGORIES, epsilon=1.3))

WORDS = tuple(f"word {i}" for i in range(40))

LAW = 0.85 ** np.arange(40) / (0.85 ** np.arange(40)).sum()

BLOOM = ldp.RAPPOR(32, 2, 4, f=0.0, p=0.25, q=0.75)


def bloom_reports(n: int, seed: int) -> ldp.Reports:
    rng = np.random.default_rng(seed)
    return BLOOM.privatize(rng.choice(np.array(WORDS), p=LAW, size=n), rng)


@pytest.mark.parametrize("tallied", [False, True])
def test_other_rows_are_the_product_over_bits(tallied):
    reports = bloom_reports(2_000, 1)
    data = reports.tally() if tallied else reports
    candidates, p = list(WORDS[:3]), LAW[:3]
    column = other_rows(data, candidates, p)
    bits = np.unpackbits(reports.y, axis=1, count=32, bitorder="little").astype(float)
    every = {w: BLOOM.cells([w])[:, 0] for w in candidates}
    rest, even = 1.0 - p.sum(), 1.0 - (31 / 32) ** 2

    def share(ones: float, N: int, c: int, s: int) -> float:
        """Of the answers in Other that own the bit, by subtraction."""
        T = N * sum(q for w, q in zip(candidates, p, strict=True) if s in every[w][c])
        left = (ones - 0.75 * T - 0.25 * (N * p.sum() - T)) / (N * rest)
        return (left - 0.25) / 0.5

    total = np.array([bits[reports.cohort == c].sum(axis=0) for c in range(4)])
    size = np.bincount(reports.cohort, minlength=4)
    shares, noises = np.empty((4, 32)), np.empty((4, 32))
    for c, s in np.ndindex(4, 32):
        shares[c, s] = share(total[c, s], size[c], c, s)
        owned = sum(q for w, q in zip(candidates, p, strict=True) if s in every[w][c])
        level = 0.25 + 0.5 * (owned + rest * even)
        noises[c, s] = level * (1 - level) / size[c] / (0.5 * rest) ** 2
    variance = np.average((shares - even) ** 2 - noises, weights=1 / noises)
    weight = variance / (variance + noises)
    assert 0.3 < weight.min() < weight.max() < 0.6
    # a report's likelihood is that under the law of all others
    own = np.unpackbits(data.y, axis=1, count=32, bitorder="little").astype(float)
    chance = np.ones(len(own))
    for (i, s), one in np.ndenumerate(own):
        c = data.cohort[i]
        without = share(total[c, s] - one, size[c] - 1, c, s)
        q = np.clip(0.25 + 0.5 * (even + weight[c, s] * (without - even)), 0.25, 0.75)
        chance[i] *= q if one else 1 - q
    noise = np.where(own == 1, 0.25, 0.75).prod(axis=1)
    np.testing.assert_allclose(column, chance / noise, rtol=1e-10)
    if isinstance(data, ldp.Counts):  # the scale is that of the candidates' rows
        rows = BLOOM.likelihood(data, candidates).W
        np.testing.assert_allclose(np.exp(rows.log_scale), noise, rtol=1e-12)


def test_the_law_of_other_is_recovered_from_expected_counts():
    # one hash and labels: bits and labels of Other are then what its words own
    for mechanism in (ldp.ORAPPOR(8, 1, 3, epsilon=2.0), ldp.ORR(8, 3, epsilon=2.0)):
        counts = expected_counts_of(mechanism, 1e10)
        found = other_rows(counts, list(WORDS[:5]), LAW[:5])
        rest = mechanism.channel(list(WORDS[5:])).forward(LAW[5:] / LAW[5:].sum()) * 3
        if mechanism.n_bits:  # the law of each bit, from that of the patterns
            patterns = (np.arange(256)[:, None] >> np.arange(8)) & 1
            noise = np.exp(mechanism.likelihood(counts, list(WORDS)).W.log_scale)
            found = (found * noise).reshape(3, -1) @ patterns
            rest = rest.reshape(3, -1) @ patterns
        # in ten billion reports noise is 1e-8 of the variance
        np.testing.assert_allclose(found.reshape(3, 8), rest.reshape(3, 8), rtol=0, atol=1e-7)


def expected_counts_of(mechanism: ldp.Mechanism, nobs: float) -> ldp.Counts:
    """Counts that equal their expectation under LAW, to rounding."""
    n = np.rint(nobs * mechanism.channel(list(WORDS)).forward(LAW)).astype(np.int64)
    reports = all_reports(mechanism)
    return ldp.Counts(reports.y, n, mechanism, cohort=reports.cohort)


@pytest.mark.parametrize("n_cohorts", [4, 64, 1024])
def test_other_does_not_draw_reports_from_the_candidates(n_cohorts):
    """Many rare others hash nearly evenly, however few reports a cohort has."""
    mechanism, shares = ldp.ORR(21, n_cohorts, epsilon=3.0), []
    for seed in range(12):
        rng = np.random.default_rng([seed, n_cohorts])
        words = [f"{w} {seed}" for w in WORDS[:3]]
        answers = np.array([*words, *(f"rare {i} {seed}" for i in range(200))])
        p = np.concatenate([[0.3, 0.2, 0.1], np.full(200, 0.002)])
        counts = mechanism.privatize(rng.choice(answers, 8_000, p=p), rng).tally()
        rows = mechanism.likelihood(counts, words).W
        fit = MLE().solve(Likelihood(WithOther(rows, other_rows(counts, words, p[:3])), counts.n))
        shares.append(fit.p[-1])
    # four standard errors of the mean of twelve; taken as it is, what is left over would give Other
    # .40, .48 and .76
    assert abs(np.mean(shares) - 0.4) < 4.0 * np.std(shares, ddof=1) / np.sqrt(12.0)


def share_of_other(form: str) -> tuple[float, np.ndarray]:
    """Share that the likelihood gives to Other, and the frequencies of three candidates."""
    reports = bloom_reports(40_000, 3)
    candidates, counts = list(WORDS[:3]), reports.tally()
    rows = BLOOM.likelihood(counts, candidates).W
    column = other_rows(counts, candidates, LAW[:3], form)
    p = MLE().solve(Likelihood(WithOther(rows, column), counts.n)).p
    return float(p[-1]), p[:-1]


def test_the_product_of_bits_gives_other_its_share_and_the_printed_form_none():
    # standard errors are below .006; that bits within Other hang together costs as much
    share, p = share_of_other("product")
    assert abs(share - LAW[3:].sum()) < 0.03
    assert np.abs(p - LAW[:3]).max() < 0.03
    # negative control: as printed, Other is ignored and the candidates share all of it
    share, p = share_of_other("fpe16")
    assert share < 1e-3
    assert np.all(p > LAW[:3] + 0.1)


def test_what_other_rows_refuse():
    reports = bloom_reports(100, 5)
    with pytest.raises(ldp.InvalidArgument, match="whole reports"):
        other_rows(3, ["a"], [0.5])
    with pytest.raises(ldp.NotAvailable, match="nothing is left"):
        other_rows(reports, list(WORDS[:2]), [0.5, 0.5])
    with pytest.raises(ldp.InvalidArgument, match="at most one"):
        other_rows(reports, list(WORDS[:2]), [0.9, 0.5])
    with pytest.raises(ldp.InvalidArgument, match="at most one"):
        other_rows(reports, list(WORDS[:2]), [-0.1, 0.5])
    with pytest.raises(ldp.InvalidArgument, match="form"):
        other_rows(reports, list(WORDS[:2]), [0.1, 0.5], form="printed")
    with pytest.raises(ldp.InvalidArgument, match="whole reports"):
        other_rows(reports.tally(bits=True), list(WORDS[:2]), [0.1, 0.5])
    with pytest.raises(ldp.NotAvailable, match="open alphabet"):
        other_rows(reports, None, [0.1, 0.5])
    with pytest.raises(ldp.NotAvailable, match="lump"):
        other_rows(KRR, ["nurse"], [0.5])
    orr = ldp.ORR(6, 5, epsilon=1.0)
    labels = orr.privatize(WORDS, np.random.default_rng(2))
    with pytest.raises(ldp.NotAvailable, match="product of bits"):
        other_rows(labels, list(WORDS[:2]), [0.1, 0.5], form="fpe16")
    certain = ldp.RAPPOR(8, 1, 1, f=0.0, p=0.2, q=1.0)
    answers = certain.privatize(WORDS, np.random.default_rng(2))
    with pytest.raises(ldp.NotAvailable, match="noise"):
        other_rows(answers, list(WORDS[:2]), [0.1, 0.5])


# Compiled products with packed bits against plain numpy, and solvers of several mechanisms.


def bits(u: int, k: int, density: float, seed: int, spare: int = 0) -> np.ndarray:
    """Packed random bits, u reports of k, with `spare` bytes of zero behind them."""
    drawn = np.random.default_rng(seed).random((u, k)) < density
    packed = np.packbits(drawn, axis=1, bitorder="little")
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, spare))))


@pytest.mark.parametrize("spare", [0, 2])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.4, 1.0])
@pytest.mark.parametrize(("u", "k"), [(1, 1), (5, 9), (31, 64), (33, 70), (200, 129)])
def test_compiled_products_are_those_of_the_matrix(u, k, density, spare, monkeypatch):
    monkeypatch.setattr(base, "_SMALL", 0)
    fast = UnaryRows(bits(u, k, density, 1, spare), 0.7, 0.2, k)
    plain = DenseRows(fast.dense())
    rng = np.random.default_rng(2)
    p, v = rng.random(k), rng.random(u)
    p[rng.random(k) < 0.3] = 0.0  # whose bytes are skipped
    np.testing.assert_allclose(fast.mix(p), plain.mix(p), rtol=1e-12)
    np.testing.assert_allclose(fast.adjoint(v), plain.adjoint(v), rtol=1e-12)
    for found, wanted in zip(fast.adjoints(v), plain.adjoints(v), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(fast.gram(v), plain.gram(v), rtol=1e-12)


# -- the model of the Hessian of several sources -------------------------------------------------
@pytest.mark.parametrize("other", ["krappor", "urr", "urap"])
def test_large_sources_of_several_mechanisms_converge(other):
    """More categories than a Hessian is formed for."""
    k, n = 2600, 3000
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(k, 0.02))
    sensitive = range(0, k, 8)
    made = {
        "krappor": ldp.KRAPPOR(k, 2.0),
        "urr": ldp.URR(k, sensitive, 3.0),
        "urap": ldp.URAP(k, sensitive, 2.0, theta=0.5),
    }[other]
    groups = [
        mechanism.privatize(rng.choice(k, p=p, size=n), rng)
        for mechanism in (ldp.URAP(k, sensitive, 2.0), made)
    ]
    likelihood = ldp.FrequencyModel(groups).likelihood()
    solution = MLE(tol=1e-6).solve(likelihood)
    assert solution.converged and likelihood.gap(solution.p) <= 1e-6
    assert solution.n_iter <= 40


# Products with several vectors at once are those with each.

RNG = np.random.default_rng(1)

ANSWERS = RNG.integers(0, 5, 300)

WORDS_POINTS = np.array(list("abcde"))

DATA: dict[str, Any] = {
    "k-RR": {"data": ldp.KRR(5, 1.0).privatize(ANSWERS, RNG)},
    "uRR": {"data": ldp.URR(5, {0, 1}, 1.0).privatize(ANSWERS, RNG)},
    "bits": {"data": ldp.KRAPPOR(5, 1.0).privatize(ANSWERS, RNG)},
    "uRAP": {"data": ldp.URAP(5, {0, 1}, 1.0).privatize(ANSWERS, RNG)},
    "subsets": {"data": ldp.SubsetSelection(5, 1.0).privatize(ANSWERS, RNG)},
    "blocks": {"data": ldp.HadamardResponse(5, 1.0).privatize(ANSWERS, RNG)},
    "hashed": {
        "data": ldp.ORR(8, 4, epsilon=2.0).privatize(WORDS_POINTS[ANSWERS], RNG),
        "candidates": list(WORDS_POINTS),
    },
    "two groups": {
        "data": [
            ldp.KRR(5, 1.0).privatize(ANSWERS, RNG),
            ldp.KRAPPOR(5, 2.0).privatize(ANSWERS, RNG),
        ]
    },
}


@pytest.mark.parametrize("given", DATA.values(), ids=DATA)
@pytest.mark.parametrize("prepared", [False, True])
def test_products_of_several_vectors(given, prepared):
    W = ldp.FrequencyModel(**given).likelihood().W
    W = W.prepared() if prepared else W
    p, v = RNG.dirichlet(np.ones(5), 3), RNG.random((3, W.shape[0]))
    np.testing.assert_allclose(W.mix_each(p), [W.mix(one) for one in p], rtol=1e-12)
    np.testing.assert_allclose(W.adjoint_each(v), [W.adjoint(one) for one in v], rtol=1e-12)
    assert W.mix_each(p).shape == (3, W.shape[0]) and W.adjoint_each(v).shape == (3, 5)
