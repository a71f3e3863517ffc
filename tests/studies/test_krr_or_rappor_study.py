"""The study of k-RR and k-RAPPOR: its decoders, its stored grid, and what the grid says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from benchmarks.studies import krr_or_rappor as study
from ldpstats import planning


@pytest.fixture(scope="module")
def grid() -> pd.DataFrame:
    return study.load()


def test_its_decoders_are_those_of_the_package() -> None:
    rng = np.random.default_rng(1)
    for k, n, epsilon in [(2, 100, 0.7), (12, 100, 1.0), (12, 30_000, 3.0), (300, 1_000, 2.0)]:
        for mechanism in (ldp.KRR(k, epsilon), ldp.KRAPPOR(k, epsilon)):
            samples = study.draw_samples("dirichlet", n, k, 3, rng)
            counts = study.tally(mechanism, samples, rng)
            nobs = n if isinstance(mechanism, ldp.KRAPPOR) else None
            models = [ldp.FrequencyModel(mechanism.counts(row, nobs)) for row in counts]
            for decoder, estimates in study.decode(mechanism, counts, n).items():
                method = "inversion" if decoder == "empirical" else decoder
                fitted = [model.fit(method).params for model in models]
                np.testing.assert_allclose(estimates, fitted, rtol=0, atol=1e-12)


def test_a_part_computed_again_agrees_with_what_is_stored() -> None:
    study.check()


def test_the_squared_loss_of_the_grid_is_what_theory_says(grid: pd.DataFrame) -> None:
    """Against the realised sample the squared l2 loss is what privacy adds, whatever p.

    The grid stores mean l2 losses, whose squares come close when k is large.
    """
    tall = grid.query("k >= 256")
    by_theory = [
        planning.krappor_l2(np.full(k, 1 / k), np.log(e), n) - planning.nonprivate_worst_l2(k, n)
        for _, n, k, e in tall.index
    ]
    assert (tall["krappor_empirical_l2"] ** 2 / by_theory).between(0.995, 1.001).all()


def test_the_rule_errs_rarely_and_little(grid: pd.DataFrame) -> None:
    choice = {loss: study.choice(grid, loss) for loss in ("l1", "l2")}
    useful = {
        loss: study.useful(grid, "krr", loss) | study.useful(grid, "krappor", loss)
        for loss in choice
    }
    verdict = study.rules(choice, useful)
    l1, l2 = verdict.loc["l1"], verdict.loc["l2"]
    for distribution in ("geometric", "dirichlet"):
        few, large = (l1.loc[("epsilon > epsilon*", distribution, n)] for n in (100, 30_000))
        assert few["wrong"] == 8 and few["highest cost"] < 1.04
        assert large["wrong"] == 2 and large["highest cost"] < 1.035
        assert l1.loc[("epsilon >= ln k", distribution, 30_000), "wrong"] == 21
        assert l2.loc[("epsilon > epsilon*", distribution, 100), "wrong, useful"] == 0
    assert round(l1["highest cost"].max(), 2) == 1.91
