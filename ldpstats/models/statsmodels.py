"""Summaries in the forms of statsmodels.

Importing statsmodels takes a second: what makes one of these imports this module when it is called.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_base

from ldpstats.arguments import display_width, html_text, latex_text, page_text

_PAGE = 80  # columns of a summary
_WIDTH = 10  # of a column of a table, where there is room
_SHORTEST_LINE = 20  # of a value of the header that is broken
_PIECE = r"\.?(?:[^\s.]|\.(?!\w+\())*\s*"  # "roll(6)", ".when({1: ", "'yes', "
_HEADER_TEXT = {
    "data_aligns": "lrlr",
    "colsep": "  ",
    "table_dec_above": "=",
    "table_dec_below": "=",  # Summary drops the last line of every table but one
    "title_align": "c",
}
_NARROWEST = 79  # characters of a line of notes
_FIRST, _FILLER = 0xF0000, "\ue000"  # characters for private use


class EscapedSummary(Summary):  # type: ignore[misc]  # statsmodels ships no types
    """A `SummaryTable` as text, HTML, LaTeX, Markdown and frames: labels are text, not markup.

    As text its notes are wrapped at the width of its tables.
    """

    def __init__(self, content: Any) -> None:
        notes = [re.sub("\n +", " ", note) for note in content.notes]  # of tests on several lines
        self.content, self.extra_txt = replace(content, notes=notes), "\n".join(notes)

    @cached_property
    def tables(self) -> list[SimpleTable]:
        """Header and tables as statsmodels has them."""
        return self._tables(str)

    def _tables(self, change: Callable[[str], str], page: float = np.inf) -> list[SimpleTable]:
        """Header and tables of one width, whose texts are changed, as markup needs it.

        A table that is wider than the page goes on below itself.
        """
        content = self.content
        first = [[content.corner, *content.columns]] * bool(content.columns)
        first += [[stub, *cells] for stub, cells in zip(content.stubs, content.body, strict=True)]
        grids = _folded(first, page) + _folded(list(map(list, content.others)), page)
        below = list(map(_column_widths, grids))
        wide = [sum(widths) + len(widths) - 1 for widths in below]
        # the longest values of the header, such as the steps of a device, go on more lines
        rows, most = list(map(list, content.header)), max([_PAGE, *wide])
        for value in (1, 3) if rows else ():
            above = _widths(rows)
            excess = sum(above) + 6 - most  # with the space between columns
            if excess <= 0 or above[value] <= _SHORTEST_LINE:
                continue
            room = max(_SHORTEST_LINE, above[value] - excess)
            sides = [[row[:2] for row in rows], [row[2:] for row in rows]]
            sides[value // 2] = [line for pair in sides[value // 2] for line in _lines(pair, room)]
            left, right = ([pair for pair in side if any(pair)] for side in sides)  # both close up
            rows = [[*a, *b] for a, b in zip_longest(left, right, fillvalue=["", ""])]
        above = _widths(rows)
        # all tables get the width of the widest
        head = sum(above) + 2 * (len(above) - 1)
        widest = max([head, *wide])
        for row in (*rows, *chain(*grids)):
            row[:] = map(change, row)
        tables, title = [], change(content.title)
        if rows:
            above[1] += (widest - head) // 2
            above[3] += (widest - head + 1) // 2
            header = _HEADER_TEXT | {"colwidths": above}
            tables.append(SimpleTable(rows, title=title, txt_fmt=header))
        for ((corner, *heads), *lines), widths, own in zip(grids, below, wide, strict=True):
            widths[0] += widest - own
            stubs, body = [line[0] for line in lines], [line[1:] for line in lines]
            fmt = fmt_base | {"colwidths": widths}
            table = SimpleTable(body, heads, stubs, txt_fmt=fmt, title="" if tables else title)
            if corner:
                table[0][0].data, table[0][0].datatype = corner, "stub"
            tables.append(table)
        return tables

    def _marked_up(self, escape: Callable[[str], str]) -> Summary:
        """A summary of statsmodels with escaped texts."""
        plain = Summary()
        plain.tables = self._tables(lambda text: escape(text.strip()))
        plain.extra_txt = escape(self.extra_txt)
        for table in plain.tables:
            # statsmodels escapes some characters of some cells, which would come on top
            table.output_formats["latex"]["replacements"] = {}
        return plain

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

        plain = Summary()
        plain.tables, plain.extra_txt = self._tables(placeholder, _PAGE), self.extra_txt
        tables, gap, notes = str(plain.as_text()).partition("\n\n")
        width = max(_NARROWEST, *map(len, tables.split("\n")[1:]))
        tables = tables.replace(_FILLER, "")
        for i, text in enumerate(texts):
            tables = tables.replace(chr(_FIRST + i), text)
        first, end, rest = tables.partition("\n")
        first = page_text(first, 2) if display_width(first.rstrip()) > _PAGE else first
        tables, lines = first + end + rest, []
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
        return str(self._marked_up(html_text).as_html())

    def as_latex(self) -> str:
        escaped = self._marked_up(latex_text)
        # statsmodels leaves the title in a comment, the tables side by side, and fails on a third
        head, between = "\\begin{center}\n", "\\end{tabular}\n"
        escaped.tables, more = escaped.tables[:2], escaped.tables[2:]
        below = [table.as_latex_tabular(center=False) + "\n" for table in more]
        title = escaped.tables[0].title
        title = f"\\textbf{{{title}}} \\\\\n" if title else ""
        latex = str(escaped.as_latex()).replace(head, head + title, 1)
        latex = latex.replace(between, f"{between.rstrip()} \\\\\n", 1)
        first, end, notes = latex.partition("\\end{center}")
        return " \\\\\n".join([first.rstrip(), *below]) + end + notes if below else latex

    def as_markdown(self) -> str:
        """The title, the tables and the notes in the Markdown of GitHub."""
        parts = [[f"**{_markdown_text(self.content.title)}**"]] if self.content.title else []
        for i, table in enumerate(self.tables):
            rows = [[_markdown_text(str(cell.data).strip()) for cell in row] for row in table]
            align = [":--", *["--:"] * (len(rows[0]) - 1)]
            if self.content.header and i == 0:  # pairs, which have no heads
                rows, align = [[""] * len(rows[0]), *rows], [":--", "--:"] * 2
            rows.insert(1, align)
            parts.append([f"| {' | '.join(row)} |" for row in rows])
        parts += [[_markdown_text(note)] for note in self.content.notes if note]
        return "\n\n".join(map("\n".join, parts)) + "\n"

    def as_frame(self) -> pd.DataFrame:
        """The table of estimates with its cells as text, as the summary shows them."""
        index = pd.Index([stub.strip() for stub in self.content.stubs], dtype=object)
        return pd.DataFrame(self.content.body, index=index, columns=self.content.columns)


def _markdown_text(text: str) -> str:
    """A text in Markdown, whose special characters are text."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", text)


def _column_widths(grid: list[list[str]]) -> list[int]:
    """Widths of the columns of a table, which are even where the page has room for that."""
    widths = _widths(grid)
    for least in range(_WIDTH, 0, -1):
        even = [max(least, width) for width in widths]
        if sum(even) + len(even) - 1 <= _PAGE:
            return even
    return widths


def _folded(grid: list[list[str]], page: float) -> list[list[list[str]]]:
    """A table, its first row the heads and its first column the stubs, in parts that fit a page."""
    if not grid:
        return []
    widths, heads, parts = _widths(grid), grid[0], [[0]]
    for j in range(1, len(heads)):
        pair = j + 1 if heads[j].startswith("[") else j  # both ends of an interval stay together
        kept = sum(widths[i] + 1 for i in (*parts[-1], *range(j, pair + 1))) - 1
        glued = heads[j - 1].startswith("[")
        if len(parts[-1]) > 1 and not glued and kept > page:
            parts.append([0])
        parts[-1].append(j)
    return [[[row[j] for j in part] for row in grid] for part in parts]


def _widths(rows: Iterable[Sequence[str]]) -> list[int]:
    widths = []
    for column in zip(*rows, strict=True):
        widths.append(max(map(display_width, column)))
    return widths


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
