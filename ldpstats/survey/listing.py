"""How a questionnaire is shown: a line for each question."""

from __future__ import annotations

from html import escape
from typing import Any

from ldpstats.mechanisms import Mechanism
from ldpstats.survey.questions import Question

__all__ = ["as_html", "as_text"]

_HEAD = ("question", "mechanism", "categories", "epsilon")
_WIDTH, _MOST = 40, 6  # characters of a cell, categories that are listed


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _line(question: Question, refused: Any) -> tuple[str, str, str, str]:
    labels, kind = question.labels, type(question.made_by).__name__
    if labels is None:
        shown = "any text"
    else:
        shown = ", ".join(map(str, labels[:_MOST])) + ", ..." * (len(labels) > _MOST)
        shown = f"{len(labels)}: {shown}"
    made_by = question.made_by
    if isinstance(made_by, Mechanism) and made_by.cohort_names:
        kind = f"{kind}, groups {', '.join(made_by.cohort_names)}"
    if question.name in refused:
        kind = f"{kind}, refused: {refused[question.name]}"
    spent = f"{question.epsilon:.6g}" if question.private else "observed"
    return _cut(question.name), _cut(kind), _cut(shown), spent


def _lines(sheet: Any) -> list[tuple[str, str, str, str]]:
    return [_line(question, sheet.refused) for question in sheet.entries]


def _foot(sheet: Any) -> str:
    """What a whole sheet spends, in words."""
    if not sheet.private:
        return f"no question is protected; fingerprint {sheet.fingerprint}"
    asked = ""
    if sheet.ask is not None:
        asked = f", {sheet.ask} of {len(sheet.private)} private questions asked at random"
    return f"epsilon of a sheet: {sheet.epsilon:.6g}{asked}; fingerprint {sheet.fingerprint}"


def as_text(sheet: Any) -> str:
    """A table of the questions, in plain text."""
    rows = [_HEAD, *_lines(sheet)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([line.rstrip() for line in lines] + [_foot(sheet)])


def as_html(sheet: Any) -> str:
    """A table of the questions, in HTML."""

    def row(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(line, "td") for line in _lines(sheet))
    head = f"<thead>{row(_HEAD, 'th')}</thead>"
    return f"<table><caption>{escape(_foot(sheet))}</caption>{head}<tbody>{body}</tbody></table>"
