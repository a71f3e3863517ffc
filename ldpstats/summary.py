"""Summaries as statsmodels tables: text, HTML and LaTeX from one description."""

from __future__ import annotations

import copy
import html
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_params

__all__ = ["frequency_summary", "one_line"]


_HEADER_TEXT = {
    "data_aligns": "lrlr",
    "colsep": "  ",
    "table_dec_above": "=",
    "table_dec_below": "=",  # Summary drops the last line of every table but one
    "title_align": "c",
}
_COVARIANCE = {
    "expected": "expected information",
    "observed": "observed information",
    "fpe16": "fpe16 (overstates)",
    "linear": "linear estimate",
}
_LONGEST_LABEL = 40
_LATEX = {c: f"\\{c}" for c in "%_&#${}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


class _EscapedSummary(Summary):  # type: ignore[misc]  # statsmodels ships no types
    """A `Summary` whose labels and notes are text, not markup, in HTML and LaTeX."""

    def as_html(self) -> str:
        return str(self._escaped(html.escape).as_html())

    def as_latex(self) -> str:
        return str(self._escaped(_latex_escape).as_latex())

    def _escaped(self, escape: Callable[[str], str]) -> Summary:
        plain = Summary()
        plain.tables = copy.deepcopy(self.tables)
        plain.extra_txt = None if self.extra_txt is None else escape(self.extra_txt)
        for table in plain.tables:
            table.title = escape(table.title or "")
            # statsmodels escapes some characters of some cells, which would come on top
            table.output_formats["latex"]["replacements"] = {}
            for row in table:
                for cell in row:
                    cell.data = escape(str(cell.data).strip())
        return plain


def _latex_escape(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def one_line(label: object, longest: int) -> str:
    """A label as it is shown: no line breaks or tabs, the middle left out where it is too long."""
    text = "".join(c if c.isprintable() else " " for c in str(label))
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 3
    return f"{text[: longest - 3 - tail]}...{text[-tail:]}"


def frequency_summary(results: Any, alpha: float, max_rows: int) -> Summary:
    """Lay out `FrequencyResults` as a header, a table of categories and notes."""
    frame = results.summary_frame(alpha)
    rows, columns = _header(results), _columns(frame, alpha, max_rows)
    # the two tables get the same width: the narrower one is widened
    needed = sum(_widths(rows)) + 2 * 3
    room = sum(max(10, width) + 1 for width in _widths(columns)) - 1
    columns[0] = columns[0] + " " * 0
    return rows, needed, room
