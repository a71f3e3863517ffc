"""Formulas as MathML, which browsers draw themselves: no script, no font to fetch."""

from __future__ import annotations

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display(writer: HTML5Translator, node: nodes.math_block) -> None:
    # Not of the class "math", which the theme sets to the right
    writer.body.append(f'<p class="formula">{convert(node.astext(), display="block")}</p>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
