"""What a search found, as tables: grams that were kept, and edges between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.models.dictionary.search.pairs import PairTable
from ldpstats.models.dictionary.search.paths import Pair
from ldpstats.models.dictionary.search.screening import ScreenedGrams

__all__ = ["edges_frame", "grams_frame", "pair_errors"]

Array = npt.NDArray[Any]


def grams_frame(screened: list[ScreenedGrams], starts: tuple[int, ...]) -> pd.DataFrame:
    """The grams that were kept, position by position."""
    rows = [
        pd.DataFrame(
            {
                "start": np.full(kept.grams.size, start),
                "gram": [str(g) for g in kept.grams],
                "estimate": kept.estimate,
                "se": kept.se,
                "z": kept.z,
            }
        )
        for kept, start in zip(screened, starts, strict=True)
    ]
    return pd.concat(rows, ignore_index=True)


def edges_frame(
    screened: list[ScreenedGrams],
    tables: dict[Pair, PairTable],
    graph: dict[Pair, Array],
    starts: tuple[int, ...],
    members: Array,
) -> pd.DataFrame:
    """The edges of the graph that are in one of some strings, given by their grams."""
    rows = []
    for (a, b), present in graph.items():
        own = np.zeros_like(present)
        own[members[:, a], members[:, b]] = True
        s, t = np.nonzero(present & own)
        rows.append(
            pd.DataFrame(
                {
                    "start_1": np.full(s.size, starts[a]),
                    "gram_1": [str(g) for g in screened[a].grams[s]],
                    "start_2": np.full(s.size, starts[b]),
                    "gram_2": [str(g) for g in screened[b].grams[t]],
                    "estimate": tables[a, b].estimate[s, t],
                    "se": tables[a, b].se[s, t],
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def pair_errors(tables: dict[Pair, PairTable]) -> float:
    """The typical standard error of the frequency of a rare pair; nan where there is none."""
    known = [table.se for table in tables.values() if table.se.size and np.isfinite(table.se).all()]
    errors = [np.median(se) for se in known]
    return float(np.median(errors)) if errors else float("nan")
