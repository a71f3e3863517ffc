"""Summaries: a record of a title, a header, a table and notes, and its layout.

The layout is a statsmodels `Summary`: text, HTML and LaTeX. A note begins with WARNING where it
bears on what may be concluded, and with NOTE where it says how the numbers are to be read; notes
without either explain the table. They are shown in the order in which they are given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.markup import display_width

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = [
    "LONGEST_LABEL",
    "PAGE_WIDTH",
    "SummaryTable",
    "decimals",
    "display_width",
    "distinct_lines",
    "estimate_cells",
    "estimate_columns",
    "figures",
    "interval_columns",
    "largest",
    "one_line",
    "pvalue_text",
    "pvalue_words",
    "second_shown",
    "second_words",
    "touch_ends",
]

Array = npt.NDArray[Any]

LONGEST_LABEL = 40
PAGE_WIDTH = 80  # of a summary whose table is narrower
_SHORTEST_LINE = 24  # of a value of the header that is broken
_PIECE = r"\.?(?:[^\s.]|\.(?!\w+\())*\s*"  # "roll(6)", ".when({1: ", "'yes', "
_PAIRS = (("params", "bse"), ("linear", "linear_se"))
_HEADER_TEXT = {
    "data_aligns": "lrlr",
    "colsep": "  ",
    "table_dec_above": "=",
    "table_dec_below": "=",  # Summary drops the last line of every table but one
    "title_align": "c",
}


@dataclass(frozen=True)
class SummaryTable:
    """What a summary says.

    Parameters
    ----------
    title : str
    header : sequence of rows of four cells
        Two pairs of a name and a value.
    columns : sequence of str
        Heads of the columns of the table.
    stubs : sequence of str
        Names of its rows.
    body : sequence of rows of str
    notes : sequence of str
    """

    title: str
    header: Sequence[Sequence[str]]
    columns: Sequence[str]
    stubs: Sequence[str]
    body: Sequence[Sequence[str]]
    notes: Sequence[str]

    def layout(self) -> Summary:
        """The header, the table below it of the same width, and the notes."""
        from statsmodels.iolib.table import SimpleTable
        from statsmodels.iolib.tableformatting import fmt_base

        from ldpstats.models.shared.escaped_summary import EscapedSummary

        heads, stubs = list(self.columns), list(self.stubs)
        body = [list(row) for row in self.body]
        widths = [max(map(display_width, stubs), default=0), *_widths([heads, *body])]
        below = [max(10, width) for width in widths]
        header = _narrowed(self.header, max(PAGE_WIDTH, sum(below) + len(below) - 1))
        above = _widths(header)
        # both tables get the width of the wider one
        lack = (sum(above) + 2 * (len(above) - 1)) - (sum(below) + len(below) - 1)
        below[0] += max(0, lack)
        above[1] += max(0, -lack) // 2
        above[3] += (max(0, -lack) + 1) // 2
        summary = EscapedSummary()
        summary.tables = [
            SimpleTable(header, title=self.title, txt_fmt=_HEADER_TEXT | {"colwidths": above}),
            SimpleTable(body, heads, stubs, txt_fmt=fmt_base | {"colwidths": below}),
        ]
        summary.add_extra_txt(list(self.notes))
        return summary


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(display_width, column)) for column in zip(*rows, strict=True)]


def _narrowed(header: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """A header of this width: its longest values, such as the steps of a device, on more lines."""
    rows = [list(row) for row in header]
    for value in (1, 3):
        widths = _widths(rows)
        excess = sum(widths) + 6 - width  # with the space between columns
        if excess > 0 and widths[value] > _SHORTEST_LINE:
            rows = _broken(rows, value, max(_SHORTEST_LINE, widths[value] - excess))
    return rows


def _broken(rows: list[list[str]], value: int, room: int) -> list[list[str]]:
    """The rows with one column of values in lines of this room; both columns of pairs close up."""
    sides = [[row[:2] for row in rows], [row[2:] for row in rows]]
    sides[value // 2] = [line for pair in sides[value // 2] for line in _lines(pair, room)]
    left, right = ([pair for pair in side if any(pair)] for side in sides)
    return [[*a, *b] for a, b in zip_longest(left, right, fillvalue=["", ""])]


def _lines(pair: Sequence[str], room: int) -> list[list[str]]:
    """A pair on lines that end at a blank or before a step of a device, or where they are full."""
    name, text = pair
    lines = [""]
    for piece in re.findall(_PIECE, text.replace(" = ", "\0=\0")):  # "n = 10" stays on its line
        fits, alone = (display_width(t.rstrip()) <= room for t in (lines[-1] + piece, piece))
        if alone and not fits:
            lines.append("")
        lines[-1] += piece
        while display_width((full := lines[-1]).rstrip()) > room:
            end = full.rfind("(", 1, room) + 1 or room
            lines[-1:] = [full[:end], full[end:]]
    shown = [line.rstrip().replace("\0", " ") for line in lines]
    return [[name if i == 0 else "", line] for i, line in enumerate(shown)]


# -- words and figures ---------------------------------------------------------------------


def one_line(label: object, longest: int) -> str:
    """A label as it is shown: no line breaks or tabs, the middle left out where it is too long."""
    text = "".join(c if c.isprintable() else " " for c in str(label))
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 3
    return f"{text[: longest - 3 - tail]}...{text[-tail:]}"


def distinct_lines(labels: Iterable[object], longest: int) -> list[str]:
    """Labels as they are shown, longer or numbered where what tells them apart was left out."""
    labels = list(labels)
    shown = [one_line(label, longest) for label in labels]
    for room in (2 * longest, 4 * longest):
        again = _alike(shown)
        shown = [one_line(labels[i], room) if i in again else text for i, text in enumerate(shown)]
    for i in sorted(_alike(shown)):
        number = i + 1
        while f"{shown[i]} ({number})" in shown:
            number += len(shown)
        shown[i] = f"{shown[i]} ({number})"
    return shown


def _alike(shown: list[str]) -> set[int]:
    """Positions of the texts that occur more than once."""
    times = Counter(shown)
    return {i for i, text in enumerate(shown) if times[text] > 1}


def figures(values: Iterable[float], digits: int) -> list[str]:
    """Numbers with so many decimals; "-" for what was not computed, and no negative zero."""
    return ["-" if np.isnan(value) else f"{value:z.{digits}f}" for value in values]


def pvalue_text(p: float) -> str:
    """A p-value with three decimals, "<0.001" below that, and "-" where there is none."""
    if np.isnan(p):
        return "-"
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"


def pvalue_words(p: float) -> str:
    """The same within a sentence: "p = 0.034" or "p < 0.001"."""
    text = pvalue_text(p)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def decimals(frame: pd.DataFrame) -> int:
    """Decimals that show two digits of the smallest standard error; at least four."""
    se = frame["linear_se"].to_numpy()
    smallest = se[se > 1e-9].min(initial=1.0)
    return int(np.clip(2 - np.floor(np.log10(smallest)), 4, 9))


def largest(frame: pd.DataFrame, max_rows: int) -> pd.DataFrame:
    """The rows to print: all, or the largest estimates; of equal ones by the unconstrained."""
    if len(frame) <= max_rows:
        return frame
    keys = -frame["linear"].to_numpy(), -frame["params"].to_numpy()
    return frame.iloc[np.lexsort(keys)[:max_rows]]


def interval_columns(alpha: float) -> list[str]:
    """Heads of the two columns of an interval."""
    return [f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"]


def estimate_columns(alpha: float, both: bool) -> list[str]:
    """Heads of the estimate, of the unconstrained one if `both`, and of the interval."""
    second = ["unconstr.", "std err"] if both else []
    return ["estimate", "std err", *second, *interval_columns(alpha)]


def estimate_cells(frame: pd.DataFrame, digits: int, both: bool) -> list[list[str]]:
    """The cells below `estimate_columns`, one row for each of a frame of estimates."""
    second = ["linear", "linear_se"] if both else []
    numbers = frame[["params", "bse", *second, "lower", "upper"]].to_numpy()
    return [figures(row, digits) for row in numbers]


def second_shown(frame: pd.DataFrame, details: bool) -> bool:
    """Whether the unconstrained estimate has columns of its own.

    It has where it, or its standard error, differs by more than a tenth of a standard error.
    """
    return details or bool(np.any(_apart(frame) > 0.1))


def second_words(frame: pd.DataFrame, shown: bool, digits: int) -> str:
    """That intervals rest on the unconstrained estimate, where the reader can see a difference."""
    if shown:
        return ", from the unconstrained estimate"
    first, second = (np.round(frame[list(pair)].to_numpy(), digits) for pair in _PAIRS)
    if np.array_equal(first, second, equal_nan=True):
        return ""
    return ", from the unconstrained estimate, which differs by less than a tenth of a std err"


def touch_ends(frame: pd.DataFrame) -> bool:
    """Whether some interval ends at 0 or at 1."""
    return bool((frame["lower"] <= 0.0).any() or (frame["upper"] >= 1.0).any())


def _apart(frame: pd.DataFrame) -> Array:
    """How far the two estimates are apart, in standard errors; infinite where only one has any."""
    first, second = (frame[list(pair)].to_numpy(dtype=np.float64) for pair in _PAIRS)
    both_lack = np.isnan(first) & np.isnan(second)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(first - second) / second[:, 1:]
    apart = np.where((first == second) | both_lack, 0.0, apart)
    return np.where(np.isnan(apart), np.inf, apart)
