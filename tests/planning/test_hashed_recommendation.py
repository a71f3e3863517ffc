"""The recommended design."""

from __future__ import annotations

import numpy as np
import pytest
from shared.word_laws import geometric, names, skewed

import ldpstats as ldp
from ldpstats import planning
from ldpstats.errors import NotIdentified


def test_the_table_holds_the_expected_losses() -> None:
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


def test_the_best_is_identified_short_and_ready() -> None:
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


def test_a_closed_alphabet() -> None:
    found = planning.recommend_design(12, 10**5, 2.0, closed=True)
    assert not found.best.is_open and len(found.best.categories) == 12
    table = found.table.query("mechanism == 'orr' and n_outputs == 12")
    krr = planning.krr_l1(geometric(12), 2.0, 10**5)
    assert table["loss"].to_numpy() == pytest.approx(krr)  # permutations only rename
    collided = found.table.query("not identified")
    assert collided["distinguishable"].between(0.0, 1.0).all()
    one = collided.query("n_outputs == 8 and n_cohorts == 1")
    assert one["distinguishable"].tolist() == [4 / 12] * 2  # 4 cells of 8 have two labels


def test_many_candidates() -> None:
    found = planning.recommend_design(50_000, 10**8, 4.0)
    assert not found.table["exact"].any() and found.table.iloc[0]["identified"]
    sure = found.table.query("identified")
    assert (2 * 50_000 <= sure["n_cohorts"] * (sure["n_outputs"] - 1)).all()
    assert (sure["distinguishable"] > 1 - 1e-7).all()
    best = planning.random_design_loss(found.best, geometric(50_000), 10**8)
    assert best == pytest.approx(found.table.iloc[found.row]["loss"])


def test_nothing_is_recommended_where_nothing_is_identified() -> None:
    for S in (64, 5000):
        with pytest.raises(NotIdentified, match="more cohorts"):
            planning.recommend_design(S, 10**6, 1.0, n_outputs=[2, 4], n_cohorts=[1, 4])
