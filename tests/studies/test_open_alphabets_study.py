"""The study of open alphabets: its estimates, its stored grid, and what the grid says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from benchmarks.studies import open_alphabets as study
from benchmarks.studies.open_alphabets import MILLION, SETTINGS, SURE, contrast


@pytest.fixture(scope="module")
def grid() -> pd.DataFrame:
    return study.load()


@pytest.fixture(scope="module")
def best(grid: pd.DataFrame) -> pd.DataFrame:
    return study.best_of(grid)


def package_moments(mechanism, ones, nobs, names, outsiders):
    """The package's equations; without `outsiders` every answer is among the candidates."""
    moments = mechanism.moments(mechanism.counts(ones, nobs), names)
    if outsiders:
        return moments
    bits = mechanism.n_bits
    low = mechanism.p0 if bits else ldp.KRR(mechanism.n_outputs, mechanism.epsilon).channel().b
    (source,) = moments.sources
    design = replace(source.design, background=0.0)
    return replace(moments, sources=(replace(source, design=design, offset=low),), is_open=False)


def test_with_equal_cohorts_its_estimates_are_those_of_the_package() -> None:
    rng = np.random.default_rng(1)
    for alphabet in ("open", "closed"):
        for kind, k, C, h in [("orr", 4, 128, 1), ("orr", 16, 64, 1), ("orappor", 64, 16, 2)]:
            mechanism = study.mechanism_of(kind, alphabet, 64, k, C, h, 2.0)
            design = study.hashed(alphabet, 64, k, C, h)
            split = rng.multinomial(4_000, study.geometric(64), C)
            nobs = split.sum(axis=1)
            high, low = study.probabilities(kind, k, h, 2.0)
            ones = study.tally(kind, k, h, 2.0, study.owners(design, split), nobs, rng)
            t = (ones / nobs[:, None] - low) / (high - low)
            found, unique = study.least_squares(design, design.owners(t)[:, None])
            names = study.strings(alphabet, 64)
            moments = package_moments(mechanism, ones, nobs, names, outsiders=False)
            close = {"rtol": 0, "atol": 1e-7}
            assert unique
            np.testing.assert_allclose(found[:, 0], moments.estimate()[0], **close)
            np.testing.assert_allclose(study.projected(found)[:, 0], moments.plug_in(), **close)


def test_a_part_computed_again_agrees_with_what_is_stored() -> None:
    study.check()


def test_open_alphabets(grid: pd.DataFrame, best: pd.DataFrame) -> None:
    opened = {
        name: contrast(best.loc["open", S, n, "orr"], best.loc["open", S, n, "orappor"])
        for name, (S, n) in SETTINGS.items()
    }
    opened = pd.concat(opened, axis=1)
    ratio, z = opened.xs("ratio", axis=1, level=1), opened.xs("z", axis=1, level=1)
    assert ((ratio.diff() < 0.0).loc[4.0:]).all(axis=None)
    to_p = best["to_p"].unstack("mechanism").loc["open"].xs(8.0, level="epsilon")
    to_p = (to_p["orr"] / to_p["orappor"]).loc[[*SETTINGS.values()]]
    assert round(to_p.min(), 2) == 0.31 and round(to_p.max(), 2) == 0.5
    assert z.loc[0.5, "S = 256"] > SURE and z.loc[2.0, "S = 256"] < -SURE
    assert (z.loc[:2.0, "n = 1e8"] > SURE).all()
    guess = {S: study.l1(study.geometric(S), 1.0 / S) for S in (256, 4096)}
    hopeless = best["l1"] > np.array([guess[S] for S in best.index.get_level_values("S")])
    assert hopeless.loc["open", 4096, MILLION].loc[:, :2.0].all()
    assert not hopeless.loc["open", 4096, MILLION].loc[:, 3.0:].any()
    assert not hopeless.loc["open", 4096, 10**8].any()
    # projecting is worth much where noise dominates, and nothing where it does not
    raw = (best["raw"] / best["l1"]).loc["open", 256, MILLION].unstack("mechanism")
    assert (raw.loc[0.5].between(1.4, 1.6)).all() and (raw.loc[8.0] < 1.02).all()
