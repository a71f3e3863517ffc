"""Summaries: a record of a title, a header, a table and notes, and its layout.

The layout is a statsmodels `Summary`: text, HTML and LaTeX. A note begins with WARNING where it
bears on what may be concluded, and with NOTE where it says how the numbers are to be read; notes
without either explain the table. They are shown in the order in which they are given.
"""

from __future__ import annotations

import copy
import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_base

from ldpstats.arguments.markup import html_text, latex_text

__all__ = [
    "LONGEST_LABEL",
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
_NARROWEST = 79  # characters of a line of notes
_PAIRS = (("params", "bse"), ("linear", "linear_se"))
_FIRST, _FILLER = 0xF0000, "\ue000"  # characters for private use
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
        heads, stubs = list(self.columns), list(self.stubs)
        header, body = [[list(row) for row in rows] for rows in (self.header, self.body)]
        widths = [max(map(display_width, stubs), default=0), *_widths([heads, *body])]
        below, above = [max(10, width) for width in widths], _widths(header)
        # both tables get the width of the wider one
        lack = (sum(above) + 2 * (len(above) - 1)) - (sum(below) + len(below) - 1)
        below[0] += max(0, lack)
        above[1] += max(0, -lack) // 2
        above[3] += (max(0, -lack) + 1) // 2
        summary = _EscapedSummary()
        summary.tables = [
            SimpleTable(header, title=self.title, txt_fmt=_HEADER_TEXT | {"colwidths": above}),
            SimpleTable(body, heads, stubs, txt_fmt=fmt_base | {"colwidths": below}),
        ]
        summary.add_extra_txt(list(self.notes))
        return summary


class _EscapedSummary(Summary):  # type: ignore[misc]  # statsmodels ships no types
    """A `Summary` whose labels and notes are text, not markup, in HTML and LaTeX.

    As text its notes are wrapped at the width of its tables.
    """

    def as_text(self) -> str:
        texts: list[str] = []
        padded = _transformed(self.tables, lambda text: _placeholder(text, texts))
        plain = Summary()
        plain.tables, plain.extra_txt = padded, self.extra_txt
        tables, gap, notes = str(plain.as_text()).partition("\n\n")
        width = max(_NARROWEST, *map(len, tables.split("\n")))
        tables = tables.replace(_FILLER, "")
        for i, text in enumerate(texts):
            tables = tables.replace(chr(_FIRST + i), text)
        return tables + gap + "\n".join(_wrapped(note, width) for note in notes.split("\n"))

    def as_html(self) -> str:
        return str(self._escaped(html_text).as_html())

    def as_latex(self) -> str:
        escaped = self._escaped(latex_text)
        # statsmodels leaves the title in a comment, and the tables side by side
        head, between = "\\begin{center}\n", "\\end{tabular}\n"
        title = f"\\textbf{{{escaped.tables[0].title}}} \\\\\n"
        latex = str(escaped.as_latex()).replace(head, head + title, 1)
        return latex.replace(between, f"{between.rstrip()} \\\\\n", 1)

    def _escaped(self, escape: Callable[[str], str]) -> Summary:
        plain = Summary()
        plain.tables = _transformed(self.tables, lambda text: escape(text.strip()))
        plain.extra_txt = None if self.extra_txt is None else escape(self.extra_txt)
        for table in plain.tables:
            # statsmodels escapes some characters of some cells, which would come on top
            table.output_formats["latex"]["replacements"] = {}
        return plain


def _transformed(tables: list[Any], change: Callable[[str], str]) -> list[Any]:
    """Copies of tables with other texts; formats are shared, as a copy of each takes long."""
    made = []
    for old in tables:
        table = copy.copy(old)
        table.output_formats = copy.deepcopy(old.output_formats)
        table.title = change(old.title or "")
        for i, old_row in enumerate(old):
            table[i] = row = copy.copy(old_row)
            row.table = table
            for j, old_cell in enumerate(old_row):
                row[j] = cell = copy.copy(old_cell)
                cell.row, cell.data = row, change(str(old_cell.data))
        made.append(table)
    return made


def display_width(text: str) -> int:
    """Columns of a terminal that a text takes: two for a wide character, none to combine one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _placeholder(text: str, texts: list[str]) -> str:
    """A text, or as many characters as it takes columns, of which the first stands for it.

    statsmodels pads by the number of characters. No label has a character for private use.
    """
    width = display_width(text)
    if width == len(text):
        return text
    texts.append(text)
    return chr(_FIRST + len(texts) - 1) + _FILLER * (width - 1)


def _wrapped(note: str, width: int) -> str:
    """A note on lines of this width; none begins or ends with the sign of an equation."""
    whole = re.sub(" ([=<]) ", "\0\\1\0", note)
    lines = textwrap.fill(
        whole, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return lines.replace("\0", " ")


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(display_width, column)) for column in zip(*rows, strict=True)]


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
