"""What the studies share: their command line, and the tables that they store beside themselves."""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd


def wanted(description, parts=(), present=None):
    """Parts that ``--full`` asks for: none without it, all that are `present` if it names none."""
    present = list(parts) if present is None else present
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    if not parts:
        parser.add_argument("--full", action="store_true", help="recompute and store everything")
        return parser.parse_args().full
    parser.add_argument("--full", nargs="*", metavar="PART", help="recompute and store these parts")
    named = parser.parse_args().full
    if named is None:
        return []
    absent = [part for part in named if part not in present]
    if absent:
        parser.error(f"no part {absent[0]!r}, or its file is not there: choose from {present}")
    return [part for part in present if part in named or not named]


def save(path, text):
    """Write a table with a line that says how it was made."""
    header = (
        f"# Made by: python -m benchmarks.studies.{path.stem.removesuffix('_strings')} --full\n"
    )
    path.write_text(header + text, encoding="utf-8", newline="\n")


def renew(path, column, parts, made):
    """Store the parts that were made again, a table each by name, beside the other ones."""
    tables = list(made.values())
    if len(made) < len(parts):
        before = pd.read_csv(path, comment="#")
        tables.append(before[~before[column].isin(made)])
    table = pd.concat(tables).sort_values(
        column, key=lambda names: names.map(parts.index), kind="stable"
    )
    save(path, table.to_csv(index=False, float_format="%.5g", lineterminator="\n"))


def load(path, column, parts):
    """A stored table, which must have all parts in their order."""
    table = pd.read_csv(path, comment="#")
    assert table[column].unique().tolist() == parts
    return table


def remake(description, path, parts, run):
    """Make the parts again that the command line asks for, each by `run`, and store them."""
    made = {part: run(part) for part in wanted(description, parts)}
    if made:
        renew(path, "setting", parts, made)


def agree(table, run, settings, R, seed, alpha=0.05):
    """R surveys of settings, with other random numbers, cover as the table says; controls do not.

    Rows of a setting are averaged over the quantities of one kind, "of".
    """
    worst, control = 0.0, np.inf
    for setting in settings:
        before, again = (
            rows.groupby("of").mean(numeric_only=True)
            for rows in (table[table["setting"] == setting], run(setting, R, seed))
        )
        error = np.sqrt(alpha * (1 - alpha) * (1 / R + 1 / before["surveys"]))
        gap = (again["coverage"] - before["coverage"]).abs() / error
        fall = (before["coverage"] - again["control"]) / error
        worst, control = max(worst, float(gap.max())), min(control, float(fall.min()))
    print(f"coverages: at most {worst:.1f} standard errors apart; of controls {control:.0f}")
    assert worst < 4.5 < control
