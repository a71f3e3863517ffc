"""Losses of mechanisms: k-RR or RAPPOR, utility-optimised, personal, open alphabets."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evidence.shared import Shown, of, plain, significant, table, together


def beside(mean: pd.Series, se: pd.Series) -> pd.Series:
    """Means with their Monte Carlo standard errors in brackets."""
    both = zip(mean, se, strict=True)
    text = [together(f"{significant(m)} ({significant(s, 1)})") for m, s in both]
    return pd.Series(text, index=mean.index)


@table
def krr_or_rappor(stored: pd.DataFrame) -> Shown:
    """l1 loss of both mechanisms with the projected decoder, by k and epsilon."""
    rows = stored[
        (stored["distribution"] == "geometric")
        & (stored["n"] == 30_000)
        & stored["k"].isin([4, 16, 64, 256, 1024])
        & stored["odds"].isin([2, 4, 16, 64, 256])
    ]
    ours = {"k-RR": "krr_projected_l1", "k-RAPPOR": "krappor_projected_l1"}
    text = [beside(rows[column], rows[f"{column}_se"]) for column in ours.values()]
    shown = pd.DataFrame(
        {
            "k": rows["k"].astype(str),
            "epsilon": np.log(rows["odds"]).map("{:.2f}".format),
            **dict(zip(ours, text, strict=True)),
            "smaller": np.where(rows[ours["k-RR"]] < rows[ours["k-RAPPOR"]], *ours),
        }
    )
    return Shown(shown, f"{of(rows['evaluations'])}; standard errors are in brackets")


@table
def normalised_or_projected(stored: pd.DataFrame) -> Shown:
    """l1 loss of k-RR by two ways to make the estimate a distribution."""
    rows = stored[
        (stored["distribution"] == "geometric")
        & stored["k"].isin([16, 256])
        & stored["odds"].isin([2, 4, 16, 64])
    ]
    names = {"normalised": "krr_normalized_l1", "projected": "krr_projected_l1"}
    text = [beside(rows[column], rows[f"{column}_se"]) for column in names.values()]
    better = rows[names["normalised"]] < rows[names["projected"]]
    shown = pd.DataFrame(
        {
            "n": rows["n"].map("{:,}".format),
            "k": rows["k"].astype(str),
            "epsilon": np.log(rows["odds"]).map("{:.2f}".format),
            **dict(zip(names, text, strict=True)),
            "smaller": np.where(better, *names),
        }
    )
    return Shown(shown, f"{of(rows['evaluations'])}; standard errors are in brackets")


@table
def crossovers(stored: pd.DataFrame) -> Shown:
    """The least epsilon of the grid from which k-RR loses less, and ln k."""
    better = stored["krr_projected_l1"] <= stored["krappor_projected_l1"]
    settings = stored.assign(better=better).groupby(["distribution", "n", "k"], sort=False)
    found = settings.apply(_crossing, include_groups=False).unstack(["distribution", "n"])
    shown = pd.DataFrame(
        {"k": found.index.astype(str), "ln k": plain(np.log(found.index.to_series()), 2)}
    )
    for law, n in found:
        shown[f"{law}, n = {n:,}"] = plain(found[law, n], 2).to_numpy()
    said = f"{of(stored['evaluations'])}; epsilon goes in steps of ln 2"
    return Shown(shown, said)


def _crossing(part: pd.DataFrame) -> float:
    """The smallest epsilon from which on all are better; nan if the largest is not."""
    ordered = part.sort_values("odds", ascending=False)
    kept = ordered[ordered["better"].cummin()]
    return float(np.log(kept["odds"].min())) if len(kept) else float("nan")


@table
def utility_optimised(stored: pd.DataFrame) -> Shown:
    """Total variation of maximum likelihood estimates on four tables."""
    kinds = ["RR", "RAPPOR", "uRR", "uRAP"]
    rows = stored[
        (stored["figure"] == 5) & (stored["method"] == "mle") & stored["mechanism"].isin(kinds)
    ]
    rows = rows[rows["epsilon"].isin([0.1, 1.0, 4.0])]
    text = rows.assign(shown=beside(rows["tv"], rows["tv_se"]))
    keys = ["table", "k", "sensitive", "epsilon"]
    found = text.pivot(index=keys, columns="mechanism", values="shown")[kinds]
    found = found.reindex(pd.MultiIndex.from_frame(text[keys].drop_duplicates())).reset_index()
    found["epsilon"] = found["epsilon"].map("{:g}".format)
    return Shown(found, f"{of(rows['surveys'])}; standard errors are in brackets")


@table
def personal_places(stored: pd.DataFrame) -> Shown:
    """Total variation by what the collector knows of personal places."""
    rows = stored[(stored["method"] == "mle") & stored["epsilon"].isin([0.1, 1.0, 3.0, 10.0])]
    text = rows.assign(shown=beside(rows["tv"], rows["tv_se"]))
    keys = ["mechanism", "epsilon"]
    found = text.pivot(index=keys, columns="case", values="shown").reset_index()
    found["epsilon"] = found["epsilon"].map("{:g}".format)
    return Shown(found, f"{of(rows['surveys'])}; standard errors are in brackets")


@table
def open_alphabets(stored: pd.DataFrame) -> Shown:
    """The best design of either mechanism by alphabet and epsilon, 256 strings."""
    rows = stored[(stored["S"] == 256) & (stored["n"] == 1_000_000) & (stored["samples"] == 50)]
    best = rows.loc[rows.groupby(["alphabet", "epsilon", "mechanism"])["l1"].idxmin()]
    text = best.assign(shown=beside(best["l1"], best["l1_se"]))
    design = [
        f"k = {k}, C = {c}, h = {h}"
        for k, c, h in zip(best["k"], best["C"], best["h"], strict=True)
    ]
    text["design"] = design
    found = text.pivot(
        index=["alphabet", "epsilon"], columns="mechanism", values=["shown", "design"]
    )
    shown = pd.DataFrame(
        {
            f"{name}: {what}": found[value, kind]
            for kind, name in (("orr", "O-RR"), ("orappor", "O-RAPPOR"))
            for value, what in (("shown", "l1 loss"), ("design", "design"))
        }
    ).reset_index()
    shown["epsilon"] = shown["epsilon"].map("{:g}".format)
    return Shown(shown, f"{of(rows['samples'])}; standard errors are in brackets")
