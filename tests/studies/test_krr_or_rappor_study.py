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


def test_where_the_projected_decoder_wins_and_loses(grid: pd.DataFrame) -> None:
    pairs = [(mechanism, loss) for mechanism in study.DECODERS for loss in ("l1", "l2")]
    ratios = {key: study.decoding(grid, *key) for key in pairs}
    names = ["mechanism", "loss"]
    every = pd.concat({k: study.count(cells) for k, cells in ratios.items()}, names=names)
    every = every.sort_index()
    useful = {k: study.count(cells[study.useful(grid, *k)]) for k, cells in ratios.items()}
    in_useful = pd.concat(useful, names=names)
    assert round(every.loc[("krr", "l1"), "highest"].max(), 2) == 1.52
    assert 16 < every.loc[("krr", "l2"), "highest"].max() < 16.5
    assert (every.loc["krr", "better"] == 0).all()
    assert every.loc["krr", "worse"].between(144 / 3, 144 * 3 / 4).all()
    for loss in ("l1", "l2"):
        assert (grid[f"krr_projected_{loss}"] > 0.9999 * grid[f"krr_mle_{loss}"]).all()
        best = study.smallest(grid, "krr", study.DECODERS["krr"], loss)[0]
        assert (grid[f"krr_normalized_{loss}"] < 1.003 * best).all()
    by_rappor = every.loc[("krappor", "l1")]
    assert by_rappor.loc["geometric", "better"].tolist() == [50, 91]
    assert by_rappor.loc["geometric", "worse"].tolist() == [84, 50]
    assert round(by_rappor.loc["geometric", "lowest"].min(), 2) == 0.86
    assert round(by_rappor.loc["geometric", "highest"].max(), 2) == 1.43
    assert by_rappor.loc[("dirichlet", 30_000), "better"] == 63
    assert round(in_useful.xs("l1", level="loss")["highest"].max(), 2) == 1.28
    assert round(in_useful.xs("l2", level="loss")["highest"].max(), 2) == 1.41


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
