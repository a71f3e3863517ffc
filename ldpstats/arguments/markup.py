"""Text in HTML, LaTeX and a terminal; small tables by which objects show themselves."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable

__all__ = ["display_width", "html_lines", "html_table", "html_text", "latex_text"]

_LATEX = {c: f"\\{c}" for c in "%_&#${}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values under a caption; all of it is text, not markup."""
    # a browser would break a caption to the width of the table
    style = "text-align:left; white-space:nowrap"
    head = f'<caption style="{style}">{html_text(caption)}</caption>'
    body = "".join(
        f'<tr><th style="text-align:left">{html_text(name)}</th>'
        f'<td style="text-align:left">{html_text(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{head}{body}</table>"


def html_lines(text: str) -> str:
    """Text whose lines and columns stay as they are printed; all of it is text, not markup."""
    return f"<pre>{html_text(text)}</pre>"


def html_text(text: str) -> str:
    """A text in HTML; what is between two dollar signs is no mathematics to a notebook."""
    return html.escape(text).replace("$", "<span>$</span>")


def latex_text(text: str) -> str:
    """A text in LaTeX, whose special characters are text."""
    return "".join(_LATEX.get(character, character) for character in text)


def display_width(text: str) -> int:
    """Columns of a terminal that a text takes: two for a wide character, none to combine one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
