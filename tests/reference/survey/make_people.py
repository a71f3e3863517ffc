"""Make the tables that `survey.R` reads: a sample in strata, units and households, no noise.

Run in this folder: python make_people.py
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

JOBS = ["cook", "driver", "nurse", "teacher"]
REGIONS = ["east", "north", "south"]
UNITS = {"a": (3, 9), "b": (5, 20), "c": (3, 7), "d": (2, 8)}  # sampled and existing units


def people(rng: np.random.Generator) -> pd.DataFrame:
    """A row a respondent: the design, public columns and answers that depend on both."""
    rows: list[dict[str, object]] = []
    for h, (stratum, (n, existing)) in enumerate(UNITS.items()):
        for psu in range(1, n + 1):
            favourite = rng.dirichlet(np.full(4, 6.0))  # answers are alike within a unit
            households = int(rng.integers(2, 6))
            in_unit = households + int(rng.integers(2, 7))
            for ssu in range(1, households + 1):
                persons = int(rng.integers(2, 8))
                in_household = persons + int(rng.integers(1, 4))
                weight = existing / n * in_unit / households * in_household / persons
                for _ in range(persons):
                    region = int(rng.choice(3, p=[[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]][h % 2]))
                    tilt = favourite * np.roll([4.0, 3.0, 2.0, 1.5], region)
                    job = int(rng.choice(4, p=tilt / tilt.sum()))
                    sex = "fm"[int(rng.random() < 0.35 + 0.1 * job)]
                    more = (1 + 0.2 * (job == 3)) * rng.gamma(9, 1 / 9)  # informative
                    health = "good" if rng.random() < 0.8 - 0.1 * region else "poor"
                    rows.append(
                        {
                            "stratum": stratum,
                            "psu": psu,
                            "ssu": ssu,
                            "unit": f"{stratum}{psu}",
                            "weight": round(weight * more, 3),
                            "fpc1": existing,
                            "fpc2": in_unit,
                            "fpc3": in_household,
                            "job": JOBS[job],
                            "region": REGIONS[region],
                            "sex": sex,
                            "age": str(rng.choice(["18-39", "40-64", "65+"], p=[0.4, 0.4, 0.2])),
                            "health": "" if rng.random() < 0.1 else health,
                        }
                    )
    table = pd.DataFrame(rows)
    sampled = table.groupby("unit").job.transform("size")
    table["persons"] = (1.6 * sampled + 3).astype(int)  # in the unit
    table["residents"] = (4.3 * table.groupby("stratum").job.transform("size")).astype(int)
    # strata with a single unit, and with a single respondent
    table["lone"] = table.stratum.where(table.unit != "b2", "e")
    table["alone"] = table.stratum.where(table.index != 100, "f")
    return table


def replicates(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Factors of the weights, a column a replicate."""
    factors: dict[str, NDArray[np.float64]] = {}
    units = table.unit.drop_duplicates().to_numpy()
    at = pd.Index(units).get_indexer(table.unit)
    stratum = np.array([unit[0] for unit in units])
    size = np.array([UNITS[h][0] for h in stratum], dtype=float)
    group = rng.permutation(len(table)) % 11
    for r in range(11):
        factors[f"jk1_{r + 1}"] = np.where(group == r, 0.0, 1.1)
    for j in range(len(units)):
        others = np.where(stratum == stratum[j], size / (size - 1), 1.0)
        factors[f"jkn_{j + 1}"] = np.where(np.arange(len(units)) == j, 0.0, others)[at]
    signs = np.array([[1.0]])
    for _ in range(4):
        signs = np.block([[signs, signs], [signs, -signs]])
    # two halves a stratum; a stratum is a row of the Hadamard matrix of order 8
    half = np.where(rng.random(len(table)) < 0.5, 1.0, -1.0)
    row = 1 + pd.Index(list(UNITS)).get_indexer(table.stratum)
    for r in range(8):
        factors[f"brr_{r + 1}"] = 1.0 + half * signs[:8, :8][row, r]
        factors[f"fay_{r + 1}"] = 1.0 + 0.7 * half * signs[:8, :8][row, r]
    for r in range(20):
        hits = np.zeros(len(units))
        for h, (n, _) in UNITS.items():
            drawn = rng.choice(np.flatnonzero(stratum == h), size=n - 1)
            hits += np.bincount(drawn, minlength=len(units)) * (n / (n - 1))
        factors[f"boot_{r + 1}"] = hits[at]
    step = 1 + np.arange(len(table)) % 14
    for r in range(16):
        factors[f"sdr_{r + 1}"] = 1.0 + 2**-1.5 * (signs[step, r] - signs[step + 1, r])
    return pd.DataFrame(factors).round(6)


if __name__ == "__main__":
    rng = np.random.default_rng(2026)
    table = people(rng)
    table.to_csv("people.csv", index=False)
    replicates(table, rng).to_csv("replicates.csv", index=False, float_format="%.6g")
