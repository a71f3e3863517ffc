"""A statsmodels `Summary` whose labels may hold any text."""

from __future__ import annotations

import copy
import re
import textwrap
from collections.abc import Callable
from typing import Any

from statsmodels.iolib.summary import Summary

from ldpstats.arguments.markup import display_width, html_text, latex_text

__all__ = ["EscapedSummary"]

_NARROWEST = 79  # characters of a line of notes
_FIRST, _FILLER = 0xF0000, "\ue000"  # characters for private use


class EscapedSummary(Summary):  # type: ignore[misc]  # statsmodels ships no types
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
