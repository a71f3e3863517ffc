"""Dictionaries that nobody listed, and joint tables with a category "Other"."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from evidence.shared import Shown, of, plain, table, together

ROOT = Path(__file__).resolve().parents[3]


@table
def dictionaries(stored: pd.DataFrame) -> Shown:
    """Strings found and claimed falsely, by scene and decoder."""
    rows = stored[stored["scene"].isin(["laws", "hosts"])]
    found = rows.groupby(["scene", "law", "length", "arm"], sort=False).agg(
        surveys=("found", "size"),
        found=("found", "mean"),
        spread=("found", "std"),
        false=("false", "sum"),
        hellinger=("hellinger", "mean"),
    )
    error = found["spread"] / np.sqrt(found["surveys"])
    both = zip(found["found"], error, strict=True)
    index = found.index.to_frame(index=False)
    shown = pd.DataFrame(
        {
            "strings": index["law"],
            "characters": index["length"].astype(str),
            "decoder": index["arm"],
            "surveys": found["surveys"].astype(str).to_numpy(),
            "found of 100": [together(f"{mean:.1f} ({se:.1f})") for mean, se in both],
            "false, in all surveys": [f"{n:.0f}" for n in found["false"]],
            "Hellinger distance": plain(found["hellinger"], 2).to_numpy(),
        }
    )
    return Shown(shown, "the number of surveys is in the table; standard errors are in brackets")


@table
def joint_tables(stored: pd.DataFrame) -> Shown:
    """Bias of the 25 listed cells of a table with "Other", in percentage points."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from benchmarks.studies import joint_tables as study

    laws, rows = stored.set_index(["scene", "method"]), []
    top = (slice(5), slice(5))
    for encoder, method in [*study.METHODS, ("basic", "moments")]:
        for shape in [*study.SHAPES, "geometric"]:
            if (study.scene_of(encoder, shape), method) not in laws.index:
                continue
            bias, error = study.bias_of(laws, encoder, method, shape)
            sd = study.of(laws, study.scene_of(encoder, shape), method, "sd")
            figures = (study.rms(one.iloc[top]) for one in (bias, error, sd))
            rows.append((encoder, method, shape, *figures))
    columns = ["reports", '"Other"', "dependence", "bias", "by chance", "standard deviation"]
    shown = pd.DataFrame(rows, columns=columns)
    for column in columns[3:]:
        shown[column] = plain(shown[column])
    used = stored[~stored["scene"].str.contains("cohorts|mean of")]
    said = f'{of(used["number"])}; "by chance" is the bias that the Monte Carlo error alone makes'
    return Shown(shown, said)
