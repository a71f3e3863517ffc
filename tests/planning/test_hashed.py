"""Hash designs: collisions, expected losses, losses of random designs, the recommended one."""

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from shared.word_laws import geometric, names, skewed

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import NotIdentified
from ldpstats.sampling.hashing import hash_strings, hashed_cells


def enumerated(k: int, C: int, h: int, S: int) -> tuple[float, float]:
    """P(two strings collide) and P(one of S is alone), over all hashes there are."""
    filters = Counter(frozenset(hashes) for hashes in itertools.product(range(k), repeat=h))
    law = [Fraction(count, k**h) for count in filters.values()]
    chances = [np.prod(combination) for combination in itertools.product(law, repeat=C)]
    assert sum(chances) == 1
    return float(sum(c * c for c in chances)), float(sum(c * (1 - c) ** (S - 1) for c in chances))


@pytest.mark.parametrize(
    ("k", "C", "h", "S"),
    [(2, 3, 1, 5), (5, 2, 1, 40), (3, 2, 2, 7), (4, 2, 3, 9), (2, 3, 3, 4), (3, 2, 4, 12)],
)
def test_probabilities_are_those_of_all_hashes(k, C, h, S):
    collision, alone = enumerated(k, C, h, S)
    assert planning.collision_probability(k, C, h) == pytest.approx(collision, rel=1e-12)
    found = planning.distinguishable_probability(S, k, C, h)
    assert found == pytest.approx(alone, rel=1e-12)
    assert planning.distinguishable_probability(2, k, C, h) == pytest.approx(1 - collision)
    if h == 1:
        assert found == pytest.approx((1 - k**-C) ** (S - 1), rel=1e-12)
    else:  # several sizes of filters: the average exceeds the power of the average
        assert found > (1 - collision) ** (S - 1) * (1 + 1e-6)
        # hashes are not ordered: equal tuples are rarer than equal sets
        assert collision > 1.2 * k ** (-h * C)


def test_probabilities_of_many_cells_and_cohorts():
    assert planning.collision_probability(4096, 1024) == 0.0  # 1e-3699
    assert planning.distinguishable_probability(10**9, 4096, 1024, 4) == 1.0
    assert planning.collision_probability(2, 1000, 40) == pytest.approx(
        (1 - 2 * 2.0**-40) ** 2000, rel=1e-6
    )
    assert 0.0 < planning.distinguishable_probability(10**6, 3, 40, 16) < 1.0
    # one hash: sums of (S - 1) log(1 - k^-C) keep their digits
    expected = -(10**6 - 1) * 4096.0**-4
    assert np.log(planning.distinguishable_probability(10**6, 4096, 4)) == pytest.approx(expected)


@pytest.mark.parametrize(("k", "C", "h"), [(4, 3, 1), (5, 2, 2)])
def test_hashes_of_the_package_have_these_probabilities(k, C, h):
    lists, S = 400, 48
    hashes = hash_strings("values", [f"word {i}" for i in range(lists * S)])
    cells = np.sort(hashed_cells(hashes, C, h, k), axis=2).astype(np.int64)
    sets = np.zeros((lists * S, C), dtype=np.int64)  # a set of cells as a binary number
    for j in range(h):
        sets |= (1 << cells[:, :, j]).T
    key = (sets << (k * np.arange(C))).sum(axis=1).reshape(lists, S)
    alone = np.array([[(row == value).sum() == 1 for value in row] for row in key])
    for p in (np.full(S, 1 / S), geometric(S), skewed(S)):  # the same expectation for every p
        mass = alone @ p
        error = mass.std() / np.sqrt(lists)
        assert abs(mass.mean() - planning.expected_recoverable_mass(S, k, C, h)) < 4 * error
        # with k^-C for the probability of being distinguishable it would be this
        assert abs(mass.mean() - float(k) ** (-h * C)) > 20 * error


def test_cells_and_cohorts_needed():
    for S, C, mass in [(2, 1, 0.5), (256, 1, 0.9), (256, 4, 0.9), (4096, 2, 0.999)]:
        k = planning.cells_needed(S, C, mass)
        bound = 1 / (1 - mass ** (1 / (S - 1)))  # KBR16 appendix G
        assert k == max(2, int(np.ceil(bound ** (1 / C) * (1 - 1e-12))))
        assert planning.cohorts_needed(S, k, mass) <= C
    for h in (2, 4):
        k = planning.cells_needed(1000, 2, 0.99, h)
        assert planning.expected_recoverable_mass(1000, k, 2, h) >= 0.99
        assert planning.expected_recoverable_mass(1000, k - 1, 2, h) < 0.99
        C = planning.cohorts_needed(1000, 6, 0.99, h)
        assert planning.expected_recoverable_mass(1000, 6, C, h) >= 0.99
        assert planning.expected_recoverable_mass(1000, 6, C - 1, h) < 0.99


@pytest.mark.parametrize(("k", "C", "h"), [(4, 16, 1), (2, 9, 1), (16, 4, 1), (4, 8, 2), (2, 7, 3)])
def test_identification_rank(k, C, h):
    rank = planning.identification_rank(k, C, h)
    cells = hashed_cells(hash_strings("values", names(12 * k * C)), C, h, k)
    H = np.zeros((C, k, cells.shape[1]))
    for c, x, j in np.ndindex(cells.shape):
        H[c, cells[c, x, j], x] = 1.0
    assert np.linalg.matrix_rank(H.reshape(C * k, -1)) == rank  # reached with enough strings
    assert (rank < k * C) == (h == 1)  # KBR16 counts k C
    low = 1 - (1 - 1 / k) ** h  # the share of other answers, which hash evenly, takes one if h = 1
    assert np.linalg.matrix_rank(H.reshape(C * k, -1) - low) == rank - (h == 1)


# -- hashed losses ---------------------------------------------------------------------------------


LOSSES = ("l1", "l2")


# --- expected losses ------------------------------------------------------------------------------


def settings() -> Iterator[tuple[str, ldp.Mechanism]]:
    for known in (None, 6):
        kind = "open" if known is None else "closed"
        yield f"orr-{kind}", ldp.ORR(3, 5, epsilon=1.5, alphabet=known)
        yield f"orappor-{kind}", ldp.ORAPPOR(4, 1, 5, epsilon=1.5, alphabet=known)
        yield f"orappor-2-{kind}", ldp.ORAPPOR(4, 2, 5, epsilon=1.5, alphabet=known)
        yield f"rappor-3-{kind}", ldp.RAPPOR(5, 3, 4, f=0.3, p=0.2, q=0.7, alphabet=known)


every_setting = pytest.mark.parametrize(
    "mechanism", [m for _, m in settings()], ids=[name for name, _ in settings()]
)


def reports(mechanism: ldp.Mechanism) -> np.ndarray:
    """What each report of a cohort says of its cells, shape (reports, cells)."""
    if not mechanism.n_bits:
        return np.eye(mechanism.n_outputs)
    patterns = np.arange(2**mechanism.n_bits)[:, None]
    return (patterns >> np.arange(mechanism.n_bits) & 1).astype(float)


@every_setting
def test_losses_are_the_variances_over_all_reports(mechanism):
    S, C, n = 6, mechanism.n_cohorts, 60
    candidates = names(S) if mechanism.is_open else None
    says = reports(mechanism)
    Q = mechanism.channel(candidates).matrix().reshape(S, C, -1) * C
    A = np.einsum("scr,rm->cms", Q, says)  # E[cell | candidate]
    if mechanism.is_open:  # against an answer that hashes anywhere
        m, h = mechanism.n_cells, mechanism.n_owned
        p1, p0 = mechanism.cell_law.high, mechanism.cell_law.low
        A -= p0 + (p1 - p0) * (1 - (1 - 1 / m) ** h)
    else:
        A -= mechanism.cell_law.low
    G = np.linalg.pinv(A.reshape(-1, S)).reshape(S, C, -1)
    for p in (np.full(S, 1 / S), np.array([0.5, 0.3, 0.1, 0.1, 0.0, 0.0])):
        V = np.zeros(S)
        for c in range(C):
            law, value = p @ Q[:, c], says @ G[:, c].T
            V += C / n * (law @ value**2 - (law @ value) ** 2)
        found = [planning.expected_loss(mechanism, p, n, candidates, loss) for loss in LOSSES]
        assert found == pytest.approx([np.sqrt(2 * V / np.pi).sum(), V.sum()], rel=1e-10)


def test_losses_of_categories_are_their_closed_forms():
    p, n = np.array([0.4, 0.3, 0.2, 0.1]), np.array([100, 5000])
    for loss in LOSSES:
        krr = getattr(planning, f"krr_{loss}")(p, 1.2, n)
        krappor = getattr(planning, f"krappor_{loss}")(p, 1.2, n)
        for mechanism in (ldp.KRR(4, 1.2), ldp.ORR(4, 1, epsilon=1.2, alphabet=4)):
            found = planning.expected_loss(mechanism, p, n, loss=loss)
            np.testing.assert_allclose(found, krr, rtol=1e-9)
        for mechanism in (ldp.KRAPPOR(4, 1.2), ldp.ORAPPOR(4, 1, 1, epsilon=1.2, alphabet=4)):
            found = planning.expected_loss(mechanism, p, n, loss=loss)
            np.testing.assert_allclose(found, krappor, rtol=1e-9)


# --- random designs -------------------------------------------------------------------------------

# largest relative differences of the l1 loss, as the documentation of random_design_loss has them
NEAR = {"geometric": {4: 0.05, 16: 0.05, 64: 0.01}, "skewed": {4: 0.14, 16: 0.14, 64: 0.02}}


@pytest.mark.parametrize(("S", "epsilon", "closed"), [(64, 0.5, False), (200, 6.0, True)])
def test_random_designs_are_near_drawn_ones(S, epsilon, closed):
    alphabet, candidates = (S, None) if closed else (None, names(S))
    compared = []
    for k, C in itertools.product((2, 16, 128), (4, 16, 64)):
        if 2 * S > C * (k - 1):
            continue
        for make in (
            ldp.ORR(k, C, epsilon=epsilon, alphabet=alphabet),
            ldp.ORAPPOR(k, 1, C, epsilon=epsilon, alphabet=alphabet),
        ):
            for name, p in (("geometric", geometric(S)), ("skewed", skewed(S))):
                exact = planning.expected_loss(make, p, 100, candidates)
                ratio = planning.random_design_loss(make, p, 100) / exact
                assert abs(ratio - 1) < NEAR[name][C], (str(make), name)
                compared.append(abs(ratio - 1))
    assert np.median(compared) < 0.01
    # the inflation by collisions is what this takes: without it losses would be off
    few = ldp.ORR(16, 4 * S // 15, epsilon=0.5, alphabet=alphabet)
    many = ldp.ORR(16, 4096, epsilon=0.5, alphabet=alphabet)
    inflation = planning.random_design_loss(few, geometric(S), 100, "l2")
    assert inflation > 1.25 * planning.random_design_loss(many, geometric(S), 100, "l2")


def test_random_designs_without_collisions_are_exact():
    p = geometric(20)
    for k in (20, 33):
        for mechanism in (
            ldp.ORR(k, 3, epsilon=2.0, alphabet=20),
            ldp.ORAPPOR(k, 1, 3, epsilon=2.0, alphabet=20),
        ):
            for loss in LOSSES:
                exact = planning.expected_loss(mechanism, p, 100, loss=loss)
                found = planning.random_design_loss(mechanism, p, 100, loss)
                assert found == pytest.approx(exact, rel=1e-9)


def test_random_designs_average_draws_of_rappor():
    p, mechanism = geometric(40), ldp.RAPPOR(16, 1, 10, f=0.2, p=0.1, q=0.8)
    losses = [
        planning.expected_loss(mechanism, p, 100, [f"{i} {j}" for i in range(40)])
        for j in range(30)
    ]
    found = planning.random_design_loss(mechanism, p, 100)
    assert found == pytest.approx(np.mean(losses), rel=0.02)
    fewer = planning.random_design_loss(ldp.RAPPOR(16, 1, 2, f=0.2, p=0.1, q=0.8), p, 100)
    assert np.isnan(fewer)  # 30 equations


# -- hashed recommendation -------------------------------------------------------------------------


def test_the_table_holds_the_expected_losses():
    p, n = skewed(20), 50_000
    found = planning.recommend_design(
        20, n, 1.5, p, n_outputs=[2, 8, 64], n_cohorts=[1, 8, 300], n_hashes=[1, 2], loss="l2"
    )
    assert len(found.table) == 3 * 3 * 3
    assert found.table["loss"].dropna().is_monotonic_increasing
    assert (found.table["identified"] == found.table["loss"].notna()).all()
    assert 5 < found.table["identified"].sum() < 22
    for row in found.table.itertuples():
        if row.mechanism == "orr":
            mechanism = ldp.ORR(row.n_outputs, row.n_cohorts, epsilon=1.5)
            bits = {2: 1, 8: 3, 64: 6}[row.n_outputs]
        else:
            mechanism = ldp.ORAPPOR(row.n_outputs, row.n_hashes, row.n_cohorts, epsilon=1.5)
            bits = row.n_outputs
        assert row.bits == bits + {1: 0, 8: 3, 300: 9}[row.n_cohorts]
        alone = planning.distinguishable_probability(20, row.n_outputs, row.n_cohorts, row.n_hashes)
        assert row.distinguishable == alone
        if row.identified:
            exact = planning.expected_loss(mechanism, p, n, names(20), "l2")
            assert row.loss == pytest.approx(exact, rel=1e-9 if row.exact else 0.02)
        else:
            with pytest.raises(NotIdentified):
                planning.expected_loss(mechanism, p, n, names(20), "l2")
    assert not found.table.query("n_cohorts == 300 and n_hashes == 1 and exact").size


def test_the_best_is_identified_short_and_ready():
    found = planning.recommend_design(40, 10**6, 3.0)
    table, row = found.table, found.table.iloc[found.row]
    assert row["identified"] and row["loss"] <= 1.01 * table["loss"].min()
    close = table[table["loss"] <= 1.01 * table["loss"].min()]
    assert row["bits"] == close["bits"].min()
    assert (found.best.n_cells, found.best.n_cohorts) == (row["n_outputs"], row["n_cohorts"])
    counts = found.best.draw(geometric(40), 10**6, np.random.default_rng(1), names(40))
    fitted = ldp.FrequencyModel(counts, candidates=names(40)).fit("inversion").params
    assert np.abs(fitted - geometric(40)).sum() < 2 * row["loss"]
    assert str(found.best) in str(found)


def test_a_closed_alphabet():
    found = planning.recommend_design(12, 10**5, 2.0, closed=True)
    assert not found.best.is_open and len(found.best.categories) == 12
    table = found.table.query("mechanism == 'orr' and n_outputs == 12")
    krr = planning.krr_l1(geometric(12), 2.0, 10**5)
    assert table["loss"].to_numpy() == pytest.approx(krr)  # permutations only rename
    collided = found.table.query("not identified")
    assert collided["distinguishable"].between(0.0, 1.0).all()
    one = collided.query("n_outputs == 8 and n_cohorts == 1")
    assert one["distinguishable"].tolist() == [4 / 12] * 2  # 4 cells of 8 have two labels


def test_many_candidates():
    found = planning.recommend_design(50_000, 10**8, 4.0)
    assert not found.table["exact"].any() and found.table.iloc[0]["identified"]
    sure = found.table.query("identified")
    assert (2 * 50_000 <= sure["n_cohorts"] * (sure["n_outputs"] - 1)).all()
    assert (sure["distinguishable"] > 1 - 1e-7).all()
    best = planning.random_design_loss(found.best, geometric(50_000), 10**8)
    assert best == pytest.approx(found.table.iloc[found.row]["loss"])


def test_nothing_is_recommended_where_nothing_is_identified():
    for S in (64, 5000):
        with pytest.raises(NotIdentified, match="more cohorts"):
            planning.recommend_design(S, 10**6, 1.0, n_outputs=[2, 4], n_cohorts=[1, 4])
