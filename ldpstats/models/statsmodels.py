"""Summaries and contrasts in the forms of statsmodels.

Importing statsmodels takes a second: what makes one of these imports this module when it is called.
"""

from __future__ import annotations

import copy
import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.stats.contrast import ContrastResults

from ldpstats.arguments import display_width, html_text, latex_text
from ldpstats.inference.intervals import inverted
from ldpstats.inference.tests import pvalue_text

__all__ = ["EscapedSummary", "ScoreContrasts"]


Array = npt.NDArray[Any]

_NARROWEST = 79  # characters of a line of notes
_FIRST, _FILLER = 0xF0000, "\ue000"  # characters for private use


class EscapedSummary(Summary):  # type: ignore[misc]  # statsmodels ships no types
    """A `Summary` whose labels and notes are text, not markup, in HTML, LaTeX and Markdown.

    As text its notes are wrapped at the width of its tables.
    """

    def as_text(self) -> str:
        texts: list[str] = []

        def placeholder(text: str) -> str:
            # as many characters as the text takes columns, as statsmodels pads by their number; the
            # first stands for the text
            width = display_width(text)
            if width == len(text):
                return text
            texts.append(text)
            return chr(_FIRST + len(texts) - 1) + _FILLER * (width - 1)

        padded = _transformed(self.tables, placeholder)
        plain = Summary()
        plain.tables, plain.extra_txt = padded, self.extra_txt
        tables, gap, notes = str(plain.as_text()).partition("\n\n")
        width = max(_NARROWEST, *map(len, tables.split("\n")))
        tables = tables.replace(_FILLER, "")
        for i, text in enumerate(texts):
            tables = tables.replace(chr(_FIRST + i), text)
        lines = []
        for note in notes.split("\n"):  # none begins or ends with the sign of an equation
            line = textwrap.fill(
                re.sub(" ([=<]) ", "\0\\1\0", note),
                width,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            lines.append(line.replace("\0", " "))
        return tables + gap + "\n".join(lines)

    def as_html(self) -> str:
        return str(self._escaped(html_text).as_html())

    def as_latex(self) -> str:
        escaped = self._escaped(latex_text)
        # statsmodels leaves the title in a comment, and the tables side by side
        head, between = "\\begin{center}\n", "\\end{tabular}\n"
        title = f"\\textbf{{{escaped.tables[0].title}}} \\\\\n"
        latex = str(escaped.as_latex()).replace(head, head + title, 1)
        return latex.replace(between, f"{between.rstrip()} \\\\\n", 1)

    def as_markdown(self) -> str:
        """The title, the two tables and the notes in the Markdown of GitHub."""
        header, table = (
            [[_markdown_text(str(cell.data).strip()) for cell in row] for row in one]
            for one in self.tables
        )
        parts = [[f"**{_markdown_text(self.tables[0].title)}**"]]
        for (head, *rows), align in (
            ([[""] * len(header[0]), *header], [":--", "--:"] * 2),
            (table, [":--", *["--:"] * (len(table[0]) - 1)]),
        ):
            parts.append([f"| {' | '.join(row)} |" for row in [head, align, *rows]])
        notes = (self.extra_txt or "").split("\n")
        parts += [[_markdown_text(note)] for note in notes if note]
        return "\n\n".join(map("\n".join, parts)) + "\n"

    def as_frame(self) -> pd.DataFrame:
        """The table of estimates with its cells as text, as the summary shows them."""
        head, *rows = ([str(cell.data).strip() for cell in row] for row in self.tables[1])
        index = pd.Index([stub for stub, *_ in rows], dtype=object)
        return pd.DataFrame([cells for _, *cells in rows], index=index, columns=head[1:])

    def _escaped(self, escape: Callable[[str], str]) -> Summary:
        plain = Summary()
        plain.tables = _transformed(self.tables, lambda text: escape(text.strip()))
        plain.extra_txt = None if self.extra_txt is None else escape(self.extra_txt)
        for table in plain.tables:
            # statsmodels escapes some characters of some cells, which would come on top
            table.output_formats["latex"]["replacements"] = {}
        return plain


def _markdown_text(text: str) -> str:
    """A text in Markdown, whose special characters are text."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", text)


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


class ScoreContrasts(ContrastResults):  # type: ignore[misc]  # statsmodels ships no types
    """`ContrastResults` whose intervals are the values that the tests do not reject."""

    def __init__(self, R: Array, law: Callable[[Array], Any], scored: bool, **values: Any) -> None:
        super().__init__(**values)
        self._R, self._law, self._scored = R, law, scored

    def summary(self, xname: Any = None, alpha: float = 0.05, title: Any = None) -> Any:
        """The table of statsmodels, which says what z is, with small p-values as "<0.001"."""
        table = super().summary(xname, alpha, title)
        head, *rows = table
        at = [cell.data for cell in head].index("P>|z|")
        for row, p in zip(rows, np.atleast_1d(self.pvalue), strict=True):
            row[at].data = pvalue_text(float(p))
        if self._scored:
            head[at - 1].data = "score z"  # its standard error is the one under the hypothesis
        return table

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Score intervals, shape (q, 2); Wald's for contrasts whose law is not known."""
        bounds = np.array(super().conf_int(alpha))
        for i, (row, effect) in enumerate(zip(self._R, self.effect, strict=True)):
            if (law := self._law(row)) is not None:
                bounds[i] = inverted([effect], law.at, alpha, (law.least, law.most))[0]
        return bounds
