"""Sizes and powers of tests."""

from __future__ import annotations

import pandas as pd

from evidence.shared import Shown, plain, shares, table


@table
def size_of_default_tests(stored: pd.DataFrame) -> Shown:
    """Share of surveys in which a true hypothesis is rejected at .05."""
    rows = stored[(stored["what"] == "size") & (stored["part"] != "candidates")]
    kinds = zip(rows["mechanism"], rows["part"], strict=True)
    names = [f"{m}, two variables" if part == "pairs" else m for m, part in kinds]
    mean = rows.assign(mechanism=names).pivot_table(
        index="mechanism", columns="of", values="mean", sort=False
    )
    brief = {"given distribution": "given law", "goodness of fit": "fit"}
    shown = mean.apply(plain).reset_index().rename(columns=brief)
    return Shown(shown, f"{shares(rows, 0.05)} for one setting, and a row is a mean of several")


def _tests(stored: pd.DataFrame, what: str) -> pd.DataFrame:
    rows = stored.assign(shown=plain(stored[what]).where(stored["given"] > 0, "refused"))
    found = rows.pivot(index="table", columns="test", values="shown")
    order = stored["table"].unique(), stored["test"].unique()
    return found.reindex(index=order[0], columns=order[1]).fillna("-").reset_index()


@table
def size_of_independence_tests(stored: pd.DataFrame) -> Shown:
    """Sizes at .05 by table and test."""
    return Shown(_tests(stored, "size"), shares(stored, 0.05, "size_surveys"))


@table
def power_of_independence_tests(stored: pd.DataFrame) -> Shown:
    """Powers at .05 by table and test."""
    return Shown(_tests(stored, "power"), shares(stored, 0.5, "power_surveys"))


@table
def size_in_complex_samples(stored: pd.DataFrame) -> Shown:
    """Sizes of tests with the design, by hypothesis."""
    rows = stored[stored["what"] == "size"]
    mean = rows.pivot_table(
        index=["design", "mechanism", "name"], columns="test", values="mean", sort=False
    )
    shown = mean.apply(plain).reset_index().rename(columns={"name": "hypothesis"})
    return Shown(shown.fillna("-"), shares(rows, 0.05, "samples", "samples"))


@table
def size_of_regression_tests(stored: pd.DataFrame) -> Shown:
    """Sizes of tests of a slope."""
    rows = stored[stored["what"].str.startswith("size ") & stored["cell"].str.startswith("logit")]
    names = rows["what"].str.removeprefix("size ")
    mean = rows.assign(test=names).pivot_table(
        index="cell", columns="test", values="value", sort=False
    )
    return Shown(mean.apply(plain).reset_index(), shares(rows, 0.05))
