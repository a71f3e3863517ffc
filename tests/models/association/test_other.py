"""Answers that are not listed: lumped, modelled, ignored, and allowed for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from shared.variable_products import WORDS, Variable, cells_of, law_of, random_law

import ldpstats as ldp
from ldpstats.errors import IncompleteListWarning


def test_lumping_is_exact() -> None:
    pairs: list[Variable] = [(ldp.KRR(5, 2.0), None), (ldp.KRAPPOR(4, 2.0), None)]
    P = random_law(pairs)
    counts = cells_of(pairs, np.rint(1e12 * law_of(pairs, P)).astype(np.int64))
    lumped = np.vstack([P[[3, 1]], P[[0, 2, 4]].sum(axis=0)])
    lumped = np.column_stack([lumped[:, [0, 2]], lumped[:, [1, 3]].sum(axis=1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ldp.AssociationModel(counts, candidates=[(3, 1), (0, 2)], other=True)
    for method in ("inversion", "one_step", "mle"):
        results = model.fit(method)
        np.testing.assert_allclose(results.table, lumped, atol=1e-8)
        assert results.table.index.tolist() == [3, 1, "Other"]
        assert results.is_complete
        assert results.others == ("lump", "lump")


def test_modelled_other_warns_and_is_right_for_independent_variables() -> None:
    # O-RR reports labels, whose law within Other needs no product of bits
    mechanism, everything = ldp.ORR(4, 16, epsilon=2.0), ("apple", "pear", *map(str, range(60)))
    pairs: list[Variable] = [(mechanism, everything), (ldp.KRR(2, 1.0), None)]
    P = np.outer([0.4, 0.3, *[0.005] * 60], [0.3, 0.7])
    counts = cells_of(pairs, np.rint(1e12 * law_of(pairs, P)).astype(np.int64))
    with pytest.warns(IncompleteListWarning, match="independent of Y"):
        model = ldp.AssociationModel(counts, candidates=[WORDS, None], other=True)
    results = model.fit("mle")
    truth = np.vstack([P[:2], P[2:].sum(axis=0)])
    assert results.table.index.tolist() == ["apple", "pear", "Other"]
    np.testing.assert_allclose(results.table, truth, atol=0.02)
    np.testing.assert_allclose(results.linear_table, truth, atol=0.02)


def test_ignoring_other_warns_and_biases() -> None:
    pairs: list[Variable] = [(ldp.KRR(4, 2.0), None), (ldp.KRR(2, 2.0), None)]
    P = random_law(pairs)
    counts = cells_of(pairs, np.rint(1e10 * law_of(pairs, P)).astype(np.int64))
    with pytest.warns(IncompleteListWarning, match="other=True"):
        model = ldp.AssociationModel(counts, candidates=[(0, 1), None])
    results = model.fit("inversion")
    np.testing.assert_allclose(results.table, P[:2], atol=1e-8)  # still unbiased
    assert not results.is_complete
    biased = model.fit("mle")
    assert biased.fitted.estimate.sum() == pytest.approx(1.0)
    assert np.abs(biased.table.to_numpy() - P[:2]).max() > 0.05


def test_intervals_allow_for_answers_that_are_not_listed() -> None:
    # four frequent strings that nobody listed hash to the same cells in all reports; without the
    # dispersion of the margins cells covered .71 (a negative control: it is above 3 here)
    flag, rng = ldp.KRR(("a", "b"), 2.0), np.random.default_rng(0)
    orr, words = ldp.ORR(n_outputs=16, n_cohorts=64, epsilon=3.0), ["w0", "w1", "w2"]
    found = []
    for _ in range(10):
        unlisted = rng.random(20_000) < 0.5
        said = np.where(unlisted, rng.choice(["u0", "u1", "u2", "u3"], 20_000), "")
        said = np.where(unlisted, said, rng.choice(words, 20_000))
        x = flag.privatize(rng.choice(["a", "b"], 20_000), rng)
        model = ldp.AssociationModel(x, orr.privatize(said, rng), candidates=(None, words))
        results = model.fit("inversion")
        assert results.dispersion > 3.0 and results.is_doubtful
        bounds = results.conf_int()
        found.append(((bounds.lower <= 1 / 12) & (1 / 12 <= bounds.upper)).mean())
    assert np.mean(found) > 0.93
    text = str(results.summary())
    assert "WARNING: the reports indicate" in text and "times those" in text
