"""Tables of the evidence, made of what the studies store.

    ```{stored-table} benchmarks/studies/unknown_devices.csv
    :shown: coverage_of_devices

    What the table shows.
    ```

The function of `evidence` that is named takes the stored file as a DataFrame and gives what is
shown. The caption ends with the file, the number of surveys and the Monte Carlo error. A file or
function that is missing ends the build.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import evidence
import pandas as pd
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]


def shown(path: str, function: str) -> evidence.Shown:
    """What a function of `evidence` makes of a file of the repository.

    Raises
    ------
    ExtensionError
        If there is no such file or function.
    """
    file, make = ROOT / path, evidence.TABLES.get(function)
    if not file.is_file():
        raise ExtensionError(f"stored-table: there is no file {path}: run the study that writes it")
    if make is None:
        raise ExtensionError(f"stored-table: evidence.py has no table {function!r}")
    return make(pd.read_csv(file, comment="#"))


class StoredTable(SphinxDirective):
    """A table with the caption that is the content, made when the site is built."""

    required_arguments = 1
    has_content = True
    final_argument_whitespace = False
    option_spec: ClassVar = {"shown": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        path = self.arguments[0]
        found = shown(path, self.options.get("shown", ""))
        for source in (ROOT / path, Path(evidence.__file__)):
            self.env.note_dependency(str(source))
        table = nodes.table(classes=["stored"])
        table += _group(found.table)
        said, messages = self.state.inline_text(" ".join(self.content), self.lineno)
        caption = nodes.paragraph("", "", *said, nodes.Text(" From "), nodes.literal("", path))
        caption += nodes.Text(f": {found.made}.")
        # beside the table, not in it: it wraps where the table scrolls
        box = nodes.container(classes=["stored-table"])
        box += [caption, table]
        return [box, *messages]


def _group(frame: pd.DataFrame) -> nodes.tgroup:
    group = nodes.tgroup(cols=frame.shape[1])
    for column in frame:
        width = max(map(len, [str(column), *frame[column].astype(str)]))
        group += nodes.colspec(colwidth=width)
    head, body = nodes.thead(), nodes.tbody()
    head += _row(map(str, frame.columns))
    for values in frame.astype(str).to_numpy():
        body += _row(values)
    group += [head, body]
    return group


def _row(values: Any) -> nodes.row:
    row = nodes.row()
    for value in values:
        entry = nodes.entry()
        entry += nodes.paragraph("", value)
        row += entry
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("stored-table", StoredTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
