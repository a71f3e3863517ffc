"""Regressions on privatised answers: sizes of tests, coverage of intervals, bias.

    python -m benchmarks.regressions --list
    python -m benchmarks.regressions                                      everything: hours
    python -m benchmarks.regressions --only "logit, k-RR" "n 500," --surveys 300 --processes 2
    python -m benchmarks.regressions --examples --store                   a few, beside this file

A cell is a setting whose surveys are drawn anew, each with its own random numbers: a survey is the
same whatever the number of processes. Its row says

- for a private response (300 surveys in the literature, 2,000 by default) in which share of the
  surveys tests of a true hypothesis reject, intervals hold the truth, the estimate is beyond 8, and
  a warning or a maximum at infinity was given;
- for private predictors, margins and clusters (400) the bias in standard deviations, the standard
  deviation, standard errors in proportion to it, the bias of the reports taken for answers, and
  coverage, for each coefficient: constant, covariates, by equation.

Surveys that fail are counted, and the first of them is shown.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

# before numpy is imported, and inherited by other processes
for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

__all__ = ["main"]

SURVEYS = {"logit": 2000, "multinomial": 2000}  # of other cells 400
STORED = Path(__file__).with_suffix(".csv")
COMMAND = "python -m benchmarks.regressions --examples --store"
EXAMPLES = {  # cells that are stored, and their surveys
    "logit, k-RR, z normal, slope 0, n 500, epsilon 1": 200,
    "logit, k-RR, z normal, slope 0, n 2000, epsilon 1": 200,
    "logit, k-RR, z normal, slope 0.8, n 2000, epsilon 1": 100,
    "margins, k 2, n 3000, epsilon 1": 100,
    "predictor, linear, mle, n 3000, epsilon 1": 100,
    "predictor, logit, mle, n 3000, epsilon 1": 100,
    "predictor, logit, corrected, n 3000, epsilon 1": 100,
    "predictor, private logit, mle, n 3000, epsilon 2": 100,
    "clusters, logit, 100 x 20, correlation of z 1, epsilon 1": 100,
}


def cells() -> list[Any]:
    """All settings."""
    from benchmarks.regression import clusters, predictors, responses

    return [*responses.CELLS, *predictors.CELLS, *clusters.CELLS]


def shown(figures: dict[str, Any]) -> str:
    """A row: figures by name."""
    every = []
    for name, value in figures.items():
        numbers = value.tolist() if hasattr(value, "tolist") else value
        text = " ".join(map(str, numbers)) if isinstance(numbers, list) else str(numbers)
        every.append(f"{name} {text}")
    return "; ".join(every)


def kept(name: str, figures: dict[str, Any], surveys: int, failed: int) -> list[tuple[Any, ...]]:
    """Rows to store: figures of a cell by the number of the coefficient, or without one."""
    rows: list[tuple[Any, ...]] = [(name, surveys, "failed", "", failed)]
    for what, value in figures.items():
        every = value.tolist() if hasattr(value, "tolist") else value
        numbered = enumerate(every) if isinstance(every, list) else [("", every)]
        rows += [(name, surveys, what, place, one) for place, one in numbered]
    return rows


def store(rows: list[tuple[Any, ...]]) -> None:
    """Write the table of the examples."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=["cell", "surveys", "what", "coefficient", "value"])
    text = table.to_csv(index=False, float_format="%.4g", lineterminator="\n")
    STORED.write_text(f"# Made by: {COMMAND}\n{text}", encoding="utf-8", newline="\n")


def main() -> None:
    """All cells, or those that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="what the name of a cell contains")
    parser.add_argument("--list", action="store_true", help="names of the cells")
    parser.add_argument("--surveys", type=int, help="of each cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--examples", action="store_true", help="the cells that are stored")
    parser.add_argument("--store", action="store_true", help=f"write {STORED.name}")
    asked = parser.parse_args()
    chosen = [cell for cell in cells() if all(part in cell.name for part in asked.only)]
    if asked.examples:
        chosen = [cell for cell in chosen if cell.name in EXAMPLES]
    if not chosen:
        parser.error("no cell is called so: see --list")
    if asked.list:
        print("\n".join(cell.name for cell in chosen))
        return
    from benchmarks.regression.surveys import take

    rows: list[tuple[Any, ...]] = []
    for cell in chosen:
        usual = SURVEYS.get(cell.name.split(",")[0], 400)
        if asked.examples:
            usual = EXAMPLES[cell.name]
        surveys = asked.surveys or usual
        taken = take(cell, surveys, asked.seed, asked.processes)
        figures = dict(cell.row(taken.said)) if taken.n else {}
        rows += kept(cell.name, figures, surveys, len(taken.failures))
        row = shown(figures) or "nothing"
        failed = f"; failed {len(taken.failures)}" if taken.failures else ""
        each = taken.seconds / surveys
        print(f"{cell.name}: {row}{failed}; {surveys} surveys, {each:.3f} s each", flush=True)
        if taken.failures:
            print(f"    {taken.failures[0]}", flush=True)
    if asked.store:
        store(rows)


if __name__ == "__main__":
    main()
