"""Speed: the rows that the benchmark wrote."""

from __future__ import annotations

import pandas as pd

from evidence.shared import Shown, table


@table
def benchmark(stored: pd.DataFrame) -> Shown:
    """What was measured, against what, and the figure as the benchmark wrote it."""
    measured = stored[~stored["figure"].str.contains("not installed")].fillna("")
    shown = measured[["section", "case", "against", "figure"]]
    shown = shown.rename(columns={"case": "what", "figure": "measured"})
    return Shown(shown, "; ".join(measured["machine"].unique()))
