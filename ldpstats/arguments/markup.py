"""Small tables by which objects show themselves in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable

__all__ = ["html_table"]


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values under a caption; all of it is text, not markup."""
    head = f"<caption>{html.escape(caption)}</caption>"
    body = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{head}{body}</table>"
