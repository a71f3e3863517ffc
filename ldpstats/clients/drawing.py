"""Single reports, which the client for devices draws: the same as the samplers, but sooner."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ldpstats.clients.portable.ldpstats_client import Question, Refused, opened_draw
from ldpstats.errors import NotAvailable
from ldpstats.sampling.words import SystemWords, Words

__all__ = ["drawn_report", "opened"]


def opened(document: Callable[[], dict[str, Any]]) -> Any:
    """The question of a client document; None where it has none, as its table is too large."""
    with suppress(NotAvailable, Refused):
        return opened_draw(document())
    return None


def drawn_report(question: Question | None, text: object, words: Words) -> Any:
    """The report of an answer in text; None where a sampler draws, or says why it does not."""
    if question is not None and isinstance(words, SystemWords):
        source: Any = words
        with suppress(Refused):
            return question.report(question.read(text), source)
    return None
