"""What `fit()` and its results say by default: the stored figures, and some surveys again."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from simulate import ALPHA, at_least, at_most, error

from benchmarks.studies import default_surveys as study


@pytest.fixture(scope="module")
def stored() -> pd.DataFrame:
    return study.load()


def test_every_setting_is_stored_with_its_surveys(stored: pd.DataFrame) -> None:
    for part, (settings, R) in study.PARTS.items():
        rows = stored[stored["part"] == part]
        assert (rows["surveys"] == R).all()
        found = rows.groupby(["mechanism", "epsilon", "where", "n", "unlisted"], dropna=False)
        assert found.ngroups == len(settings)


def test_the_stored_intervals_cover_and_halved_ones_do_not(stored: pd.DataFrame) -> None:
    cells = stored[stored["what"] == "coverage, not cut"]
    for row in cells.itertuples():
        # a mean over cells, which have nearly independent intervals, is no worse than one of them
        assert at_least(row.mean, 1 - ALPHA, row.surveys), row
        assert at_least(row.least, 1 - ALPHA, row.surveys, errors=4.5), row
    halved = stored[stored["what"] == "coverage, halved"]
    assert halved["most"].max() < 0.9
    # the cut adds half of what is missed where a frequency is zero
    cut = stored[(stored["what"] == "coverage") & (stored["of"] == "zero")]
    pairs = cut["part"].isin(["one variable", "candidates"])
    assert abs(cut[pairs]["mean"].mean() - 0.975) < 0.01


def test_the_stored_sizes_are_not_above_the_level(stored: pd.DataFrame) -> None:
    sizes = stored[stored["what"] == "size"]
    assert at_most(sizes["mean"], ALPHA, sizes["surveys"], errors=4.0)
    two_sided = sizes[sizes["of"].isin(["given distribution", "one contrast", "two samples"])]
    n = two_sided["surveys"].sum()
    assert abs(two_sided["mean"].mean() - ALPHA) < 4 * error(ALPHA, n)


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_figures(capsys: Any) -> None:
    study.check(seed=3)
    assert "standard errors apart" in capsys.readouterr().out
