"""Coverage of intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evidence.shared import Shown, of, plain, ranged, shares, table


def _cells(stored: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Least, mean and most coverage of the cells by kind, over the settings of a group."""
    rows = stored[stored["what"].str.startswith("coverage")]
    found = rows.groupby([*by, "what", "of"], sort=False).apply(
        lambda part: pd.Series(
            {
                "least": part["least"].min(),
                "mean": np.average(part["mean"], weights=part["cells"]),
                "most": part["most"].max(),
            }
        ),
        include_groups=False,
    )
    return found.unstack(["what", "of"])


@table
def coverage_of_frequencies(stored: pd.DataFrame) -> Shown:
    """Default intervals by mechanism and place of the frequencies, over epsilons."""
    rows = stored[stored["part"].isin(["one variable", "rare categories"])]
    found = _cells(rows, ["mechanism", "where"])
    positive, zero = (("coverage", "positive"), ("coverage, not cut", "zero"))
    shown = pd.DataFrame(
        {
            "mechanism": found.index.get_level_values("mechanism"),
            "frequencies": found.index.get_level_values("where"),
            "positive: mean": plain(found["mean"][positive]).to_numpy(),
            "single cells": ranged(found["least"][positive], found["most"][positive]).to_numpy(),
            "zero, not cut": plain(found["mean"][zero]).to_numpy(),
            "zero, cut at 0": plain(found["mean"]["coverage", "zero"]).to_numpy(),
            "control": plain(found["mean"]["coverage, halved", "positive"]).to_numpy(),
        }
    )
    return Shown(shown, shares(rows, 0.95))


@table
def coverage_of_candidates(stored: pd.DataFrame) -> Shown:
    """Intervals of candidates, and any false detection."""
    rows = stored[stored["part"] == "candidates"]
    found = _cells(rows, ["mechanism", "n", "unlisted"])["mean"]
    size = rows[rows["what"] == "size"].set_index(["mechanism", "n", "unlisted"])["mean"]
    shown = pd.DataFrame(
        {
            "mechanism": found.index.get_level_values("mechanism"),
            "respondents": [f"{n:,}" for n in found.index.get_level_values("n")],
            "not listed": plain(found.index.get_level_values("unlisted").to_series(), 1).to_numpy(),
            "held strings": plain(found["coverage", "positive"]).to_numpy(),
            "absent": plain(found["coverage, not cut", "zero"]).to_numpy(),
            "control": plain(found["coverage, halved", "positive"]).to_numpy(),
            "any false": plain(size.reindex(found.index)).to_numpy(),
        }
    )
    return Shown(shown, shares(rows, 0.95))


@table
def coverage_of_joint_cells(stored: pd.DataFrame) -> Shown:
    """Cells of a table of two variables."""
    rows = stored[stored["part"] == "pairs"]
    found = _cells(rows, ["mechanism", "where"])
    positive = ("coverage", "positive")
    shown = pd.DataFrame(
        {
            "mechanism": found.index.get_level_values("mechanism"),
            "table": found.index.get_level_values("where").str.removeprefix("pair, "),
            "positive: mean": plain(found["mean"][positive]).to_numpy(),
            "single cells": ranged(found["least"][positive], found["most"][positive]).to_numpy(),
            "zero, not cut": plain(found["mean"]["coverage, not cut", "zero"]).to_numpy(),
            "control": plain(found["mean"]["coverage, halved", "positive"]).to_numpy(),
        }
    )
    return Shown(shown, shares(rows, 0.95))


@table
def coverage_of_devices(stored: pd.DataFrame) -> Shown:
    """Frequencies and unknown parameters of devices."""
    shown = stored[["setting", "term"]].assign(
        truth=stored["truth"].map("{:g}".format), coverage=plain(stored["coverage"])
    )
    return Shown(shown, shares(stored, 0.95))


@table
def coverage_of_device_regressions(stored: pd.DataFrame) -> Shown:
    """Coefficients and unknown parameters, and what intervals cover that trust everybody."""
    shown = stored[["setting", "term"]].assign(
        truth=stored["truth"].map("{:.3g}".format),
        coverage=plain(stored["coverage"]),
        control=plain(stored["naive"]),
    )
    return Shown(shown, shares(stored, 0.95))


@table
def coverage_of_joint_models(stored: pd.DataFrame) -> Shown:
    """Parameters and pairs by model and kind: their mean, and from the least to the most."""
    return _by_kind(stored, "model", {"control": "control"})


@table
def coverage_in_waves(stored: pd.DataFrame) -> Shown:
    """Quantities of several waves by setting and kind, and both controls."""
    controls = {"half as wide": "control", "noise taken for fresh": "naive"}
    return _by_kind(stored, "setting", controls)


def _by_kind(stored: pd.DataFrame, setting: str, controls: dict[str, str]) -> Shown:
    """Coverages by setting and kind of quantity; columns of controls by the names to show."""
    kinds = stored.groupby(["setting", "of"], sort=False)
    cover = kinds["coverage"].agg(["min", "mean", "max"])
    shown = pd.DataFrame(
        {
            setting: cover.index.get_level_values("setting"),
            "intervals of": cover.index.get_level_values("of"),
            "number": kinds.size().astype(str).to_numpy(),
            "mean": plain(cover["mean"]).to_numpy(),
            "single ones": ranged(cover["min"], cover["max"]).to_numpy(),
        }
    )
    for name, column in controls.items():
        shown[name] = plain(kinds[column].mean()).to_numpy()
    return Shown(shown, shares(stored, 0.95))


def _by_cell(stored: pd.DataFrame, what: str) -> pd.Series:
    return stored[stored["what"] == what].groupby("cell", sort=False)["value"]


@table
def coverage_of_regressions(stored: pd.DataFrame) -> Shown:
    """Coefficients of regressions, and the bias of reports that are taken for answers."""
    cover, standing = _by_cell(stored, "coverage"), _by_cell(stored, "bias/SD")
    naive = _by_cell(stored, "naive bias").agg(lambda b: b.abs().max())
    names = list(stored["cell"].unique())
    shown = pd.DataFrame(
        {
            "setting": names,
            "coverage": ranged(cover.min(), cover.max()).reindex(names).to_numpy(),
            "largest bias, in SD": plain(
                standing.agg(lambda b: b.abs().max()).reindex(names), 2
            ).to_numpy(),
            "largest bias of the reports": plain(naive.reindex(names), 2).to_numpy(),
        }
    )
    return Shown(shown, shares(stored, 0.95))


INTERVALS = {  # of complex samples, and what they are of
    "shares": "shares",
    "domains": "shares of domains",
    "differences": "differences of domains",
    "calibrated": "shares, raked weights",
    "shares, naive, t": "shares, noise shrunk (control)",
    "unweighted": "shares, no weights (control)",
}


@table
def coverage_in_complex_samples(stored: pd.DataFrame) -> Shown:
    """Intervals of weighted shares."""
    rows = stored[(stored["what"] == "coverage") & stored["name"].isin(INTERVALS)]
    shown = pd.DataFrame(
        {
            "design": rows["design"],
            "mechanism": rows["mechanism"],
            "intervals": rows["name"].map(INTERVALS),
            "mean": plain(rows["mean"]),
            "single cells": ranged(rows["least"], rows["most"]),
        }
    )
    return Shown(shown, shares(rows, 0.95, "samples", "samples"))


@table
def effects_of_designs(stored: pd.DataFrame) -> Shown:
    """Design effects that results estimate, beside those of the simulated variances."""
    rows = stored[stored["what"].isin(["estimated", "simulated"])]
    mean = rows.pivot(index=["design", "mechanism"], columns=["name", "what"], values="mean")
    pairs = {"design": "deff_design", "privacy": "deff_privacy"}
    columns = {
        f"{factor}: {what}": plain(mean[name, what], 2)
        for factor, name in pairs.items()
        for what in ("estimated", "simulated")
    }
    apart = stored[stored["what"] == "apart"]
    most = apart[["least", "most"]].abs().max(axis=1).max()
    said = f"{of(rows['samples'], 'samples')}; at most {most:.1f} standard errors apart"
    return Shown(pd.DataFrame(columns).reset_index(), said)
