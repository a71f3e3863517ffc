"""From which frequency on strings are found, stage by stage."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.record import Searched, Tested
from ldpstats.models.dictionary.search.detection import (
    detectable,
    gram_stage,
    log_rivals,
    pair_stage,
    string_stage,
)

__all__ = ["detectable_frequencies"]


def detectable_frequencies(
    layout: GramLayout, tested: Tested, searched: Searched, power: float
) -> pd.Series[float]:
    """Frequencies found with probability `power`; see `DictionaryResults.detectable_at`."""
    grams, critical, n_tested = searched.grams, searched.critical, tested.n_tested
    kept, positions = grams.groupby("start"), layout.n_positions
    if sum(searched.left_out):  # more significant grams took the place of those just beyond it
        full = [n > 0 for n in searched.left_out]
        # of the grams that were kept at each position; 0 where there are none
        smallest = kept["z"].min().reindex(list(layout.starts)).fillna(0.0).to_numpy()
        critical = max(critical, float(smallest[full].max()))
    se = kept["se"].median()
    mass = grams[["estimate", "se"]].max(axis=1).groupby(grams["start"]).sum()
    if not n_tested or len(se) < positions:
        return pd.Series(np.nan, ["grams", "pairs", "test", "found"], name="detectable")
    rivals = log_rivals(mass.to_numpy())
    stages = {
        "grams": gram_stage(float(se.max()), critical, positions),
        "pairs": pair_stage(searched.pair_se, len(layout.pairs), rivals, n_tested),
        "test": string_stage(tested.test_se, tested.alpha, n_tested),
    }
    found = {name: float(value) for name, value in detectable(stages, power).items()}
    return pd.Series(found, name="detectable")
