"""The study of personalised mechanisms: figure 13 of MK19, what is stored and what it says."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies import personal_places as study


def test_what_is_stored_is_the_figure() -> None:
    """The order of the cases, and how little they differ where epsilon is small."""
    results = study.load_results()
    losses = study.figure_13(results)
    assert losses.shape == (6, len(study.EPSILONS))
    none = float(results.loc[results["mechanism"] == "no privacy", "l2_expected"].iloc[0])
    for kind in study.KINDS:
        one, two, three = losses.loc[kind].to_numpy()
        assert np.all(np.diff(three) < 0.0)
        assert np.all(three < two * 1.001) and np.all(two < one * 1.001)
        ratio = one / three
        assert ratio[0] < 1.02 and ratio[1] < 1.15 and 1.2 < ratio[2] < 1.7  # .1, .3, 1
        assert np.all(ratio[-2:] > 20.0)  # ln k, 10
        assert 0.8 < three[-1] / none < 1.2  # as if nothing were hidden
    assert losses.loc[("uRAP", "III"), 0.1] < 0.6 * losses.loc[("uRR", "III"), 0.1]


def test_inversion_loses_what_theory_says() -> None:
    results = study.load_results()
    known = results[results["l2_expected"].notna() & results["l2"].notna()]
    z = (known["l2"] - known["l2_expected"]) / known["l2_se"]
    # t values of 9 degrees of freedom; of 24 the largest is beyond 6 with a chance of .005
    assert len(z) == 24 and z.abs().max() < 6.0 and 0.6 < np.sqrt((z**2).mean()) < 1.8


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_ones() -> None:
    if not study.GRID.exists():
        pytest.skip("the map is not at hand")
    study.check()
