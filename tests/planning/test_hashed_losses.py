"""Expected losses of a hash design, and of random designs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from shared.word_laws import geometric, names, skewed

import ldpstats as ldp
from ldpstats import planning
from ldpstats.planning.hashed_recommendation import _beyond_doubt

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
def test_losses_are_the_variances_over_all_reports(mechanism: ldp.Mechanism) -> None:
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


def test_losses_of_categories_are_their_closed_forms() -> None:
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
def test_random_designs_are_near_drawn_ones(S: int, epsilon: float, closed: bool) -> None:
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


def test_random_designs_without_collisions_are_exact() -> None:
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


def test_random_designs_average_draws_of_rappor() -> None:
    p, mechanism = geometric(40), ldp.RAPPOR(16, 1, 10, f=0.2, p=0.1, q=0.8)
    losses = [
        planning.expected_loss(mechanism, p, 100, [f"{i} {j}" for i in range(40)])
        for j in range(30)
    ]
    found = planning.random_design_loss(mechanism, p, 100)
    assert found == pytest.approx(np.mean(losses), rel=0.02)
    fewer = planning.random_design_loss(ldp.RAPPOR(16, 1, 2, f=0.2, p=0.1, q=0.8), p, 100)
    assert np.isnan(fewer)  # 30 equations


@pytest.mark.parametrize("C", [4, 8])
def test_designs_beyond_doubt_are_identified(C: int) -> None:
    S = 520
    k = -(-2 * S // C) + 1
    assert _beyond_doubt(ldp.ORR(k, C, epsilon=1.0), S)
    assert not _beyond_doubt(ldp.ORR(k - 1, C, epsilon=1.0), S)
    rng = np.random.default_rng(C)
    for _ in range(3):
        cells = rng.integers(0, k, (C, S))
        gram = sum((row[:, None] == row).astype(float) for row in cells) - C / k
        values = np.linalg.eigvalsh(gram)
        assert values[0] > 1e-3 * values[-1]
    # as few cells as candidates are no such design
    cells = rng.integers(0, S // C, (C, S))
    gram = sum((row[:, None] == row).astype(float) for row in cells)
    assert np.linalg.eigvalsh(gram)[0] < 1e-9
