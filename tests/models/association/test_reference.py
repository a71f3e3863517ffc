"""Tests and effects of fitted tables against R, where reports are answers but for e^-30."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.inference.tables.independence import CrossMoments, linear_trend, score

FOLDER = Path(__file__).parents[2] / "reference"
R = pd.read_csv(FOLDER / "contingency.csv", index_col="quantity")["value"]
near = pytest.approx


def table_of(name: str) -> tuple[np.ndarray, list[pd.Index]]:
    """Counts by the three variables of the file, and their categories in its order."""
    frame = pd.read_csv(FOLDER / name)
    codes = [pd.factorize(frame[column]) for column in frame.columns[:3]]
    counts = np.zeros([len(labels) for _, labels in codes], dtype=np.int64)
    counts[tuple(code for code, _ in codes)] = frame["Freq"]
    return counts, [labels for _, labels in codes]


def fit_of(counts: np.ndarray, labels: list[pd.Index]) -> ldp.AssociationResults:
    mechanisms = [ldp.KRR(categories, epsilon=30.0) for categories in labels]
    return ldp.AssociationModel(ldp.JointCounts.from_table(counts, mechanisms)).fit()


def strata(counts: np.ndarray) -> list[CrossMoments]:
    """The levels of the third variable."""
    rows, columns, levels = counts.shape
    bases = np.eye(rows), np.eye(columns)
    return [CrossMoments.of_table(counts[..., level], *bases) for level in range(levels)]


HAIR, HAIR_LABELS = table_of("hair_eye_color.csv")
UCB, _ = table_of("ucb_admissions.csv")


def test_two_variables() -> None:
    results = fit_of(HAIR.sum(axis=2), HAIR_LABELS[:2])
    for method in ("score", "pearson"):
        test = results.test_independence(method)
        assert test.statistic == near(R["pearson"], rel=1e-9) and test.df == R["pearson_df"]
        assert test.pvalue == near(R["pearson_pvalue"], rel=1e-6)
    assert results.test_independence("lr").statistic == near(R["lr"], abs=1e-3)  # certified to that


def test_three_variables() -> None:
    test = fit_of(HAIR, HAIR_LABELS).test_independence()
    assert test.statistic == near(R["mutual_pearson"], rel=1e-9) and test.df == R["mutual_df"]


@pytest.mark.parametrize("name", ["two_by_two", "general"])
def test_strata_are_cochran_mantel_haenszel(name: str) -> None:
    counts = {"two_by_two": UCB, "general": HAIR}[name]
    test, n = score(strata(counts)), counts.sum()
    assert test.statistic * (n - 1) / n == near(R[name], rel=1e-9)
    assert test.df == R.get(f"{name}_df", 1)


def test_trend() -> None:
    admitted = UCB.sum(axis=1)
    moments = CrossMoments.of_table(admitted, np.eye(2), np.eye(6))
    z, _, correlation = linear_trend([moments], [1, 0], range(6))
    assert admitted.sum() * correlation**2 == near(R["trend"], rel=1e-9)
    assert z**2 == near(R["trend"], rel=1e-3)


def test_odds_ratio() -> None:
    results = fit_of(HAIR.sum(axis=2), HAIR_LABELS[:2])
    odds = results.odds_ratio(("Brown", "Black"), ("Blue", "Brown"))
    found = [odds.estimate, odds.lower, odds.upper]
    assert found == near(R[["odds", "odds_lower", "odds_upper"]].tolist(), rel=1e-6)


def test_exact_interval() -> None:
    warner = ldp.Warner(epsilon=1.0)
    bounds = ldp.FrequencyModel(warner.counts([588, 412])).fit().conf_int(method="exact")
    truth = np.exp(1.0) / (1 + np.exp(1.0))
    mapped = (R[["exact_lower", "exact_upper"]] - (1 - truth)) / (2 * truth - 1)
    assert bounds.loc["yes"].tolist() == near(mapped.tolist(), rel=1e-9)
