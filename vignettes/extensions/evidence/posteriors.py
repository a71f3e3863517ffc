"""Calibration of posteriors: whether the ranks of true values among draws are uniform."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from evidence.shared import Shown, of, table

BINS = 16


def _by_setting(pvalues: pd.DataFrame, surveys: pd.Series) -> pd.DataFrame:
    """Smallest p-value of a setting, times the number of quantities (Bonferroni)."""
    found = pvalues.groupby("setting", sort=False)["pvalue"].agg(["size", "min"])
    worst = np.minimum(1.0, found["size"] * found["min"])
    return pd.DataFrame(
        {
            "setting": found.index,
            "quantities": found["size"].astype(str).to_numpy(),
            "surveys": [f"{n:,}" for n in surveys.reindex(found.index)],
            "uniform ranks, p": [f"{p:.3f}" if p >= 0.001 else f"{p:.0e}" for p in worst],
        }
    )


def _said(surveys: pd.Series) -> str:
    return f"{of(surveys)}; a p-value is that of a chi-square test, times the number of quantities"


@table
def calibration_of_frequencies(stored: pd.DataFrame) -> Shown:
    """Ranks of frequencies, which are stored in bins."""
    surveys = stored.filter(like="bin").sum(axis=1).groupby(stored["setting"]).max()
    return Shown(_by_setting(stored, surveys), _said(surveys))


@table
def calibration_of_tables(stored: pd.DataFrame) -> Shown:
    """Ranks from 0 to 159 of the quantities of tables and pooled groups, in one column."""
    rows = []
    for setting, part in stored.groupby("setting", sort=False):
        ranks = np.array([list(map(int, one.split())) for one in part["rank"]])
        counts = [np.bincount(column * 20 // 160, minlength=20) for column in ranks.T]
        rows += [(setting, float(stats.chisquare(n).pvalue)) for n in counts]
    surveys = stored.groupby("setting").size()
    found = pd.DataFrame(rows, columns=["setting", "pvalue"])
    return Shown(_by_setting(found, surveys), _said(surveys))


@table
def calibration_of_regressions(stored: pd.DataFrame) -> Shown:
    """Ranks from 0 to 63 of coefficients."""
    found = [
        (setting, stats.chisquare(np.bincount(part["rank"] * BINS // 64, minlength=BINS)).pvalue)
        for (setting, _), part in stored.groupby(["setting", "coefficient"], sort=False)
    ]
    surveys = stored.groupby("setting")["survey"].nunique()
    return Shown(
        _by_setting(pd.DataFrame(found, columns=["setting", "pvalue"]), surveys), _said(surveys)
    )
