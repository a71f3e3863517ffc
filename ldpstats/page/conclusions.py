"""What the page says of each question: its words, and what a report lets anyone believe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpstats.clients.document import listed
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms import PUM, Mechanism
from ldpstats.privacy.beliefs import posterior
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.questions import Question

__all__ = ["conclusions", "spent"]

_MOST = 1 << 10  # probabilities of a question that the page lists
_BITS = 6  # bits of a report, up to which all patterns are listed


def conclusions(
    questionnaire: Questionnaire, client: Mapping[str, Any], texts: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """What the page shows of each question, in order, beside its client document."""
    pairs = zip(questionnaire.entries, client["questions"], strict=True)
    return [_shown(question, document, texts) for question, document in pairs]


def spent(epsilon: float) -> dict[str, float] | None:
    """An epsilon, and how many times as likely it may make an answer; None if it is infinite."""
    if math.isinf(epsilon):
        return None
    return {"epsilon": epsilon, "factor": math.exp(min(epsilon, 700.0))}


def _shown(
    question: Question, document: Mapping[str, Any], texts: Mapping[str, Any]
) -> dict[str, Any]:
    """What the page shows of one question."""
    words = texts["questions"][question.name]
    tags = None if words["tags"] is None else list(words["tags"].values())
    kind = texts["words"]["tag_belief"]
    of_tags = [kind.replace("{tag}", tag) for tag in tags or []]
    labels, reports, size = words["answers"], document["reports"], 0
    if labels is not None:
        size = len(labels) + len(of_tags)
    hashed = document["draw"]["kind"] == "hash"  # reports are of cells, after a cohort
    bits = reports.get("bits", 0) if isinstance(reports, Mapping) else 0
    own = listed(document["answers"] or []) + listed(document["draw"].get("tags", []))
    beliefs = None if hashed else _beliefs(question, document)
    return {
        "text": words["question"],
        "help": words["help"],
        "skip": words["skip"],
        "labels": None if labels == own else labels,  # the page has those of its client document
        "tags": tags,
        "tagQuestion": words["tag_question"],
        "tagBeliefs": of_tags,
        "protected": _protected(question, labels, of_tags),
        "spent": spent(question.epsilon),
        "beliefs": beliefs,
        "odds": _odds(question, document) if beliefs is None else None,
        "reportsAnswers": not hashed and isinstance(reports, list | int) and listed(reports) == own,
        "marksAnswers": not hashed and 0 < size == bits,
    }


def _protected(question: Question, labels: list[str] | None, tags: list[str]) -> list[str] | None:
    """The answers that are protected, as the page shows them; None if all are."""
    sensitive = question.sensitive
    if sensitive is None or labels is None or len(sensitive) == len(labels):
        return None
    assert question.labels is not None
    return [*(labels[i] for i in question.labels.get_indexer(sensitive)), *tags]


# -- beliefs ---------------------------------------------------------------------------------------


def _beliefs(question: Question, document: Mapping[str, Any]) -> list[list[float] | None] | None:
    """P(answer | report) of equally likely answers, a row a report; None where there are too many.

    Bits stand in the order of the number that they write. A report that cannot be has no row.
    """
    made_by = question.made_by
    mechanism = made_by.common if isinstance(made_by, PUM) else made_by
    if not question.private or question.labels is None or not isinstance(mechanism, Mechanism):
        return None
    k = len(mechanism.labels())
    reports = document["reports"]
    if isinstance(reports, Mapping):
        bits = reports.get("bits", 0)
        if not 0 < bits <= _BITS:
            return None
        texts = [f"{i:0{bits}b}" for i in range(1 << bits)]
    else:
        texts = listed(reports)
    if k * len(texts) > _MOST:
        return None
    return [_row(mechanism, np.full(k, 1.0 / k), report) for report in texts]


def _odds(question: Question, document: Mapping[str, Any]) -> float | None:
    """P(x | report) / P(x' | report) of an answer x that a report marks and an x' that it does not.

    The answers are equally likely. None where this depends on x, x' and the report.
    """
    mechanism, draw = question.made_by, document["draw"]
    if not question.private or not isinstance(mechanism, Mechanism) or document["answers"] is None:
        return None
    answers = listed(document["answers"])
    k = len(answers)
    marked = {"bits": 1, "subset": draw.get("size")}.get(draw["kind"])
    if draw["kind"] == "keep" and listed(document["reports"]) == answers:
        report = answers[0]
    elif marked is not None and document["reports"]["bits"] == k:
        report = "1" * marked + "0" * (k - marked)
    else:
        return None
    row = _row(mechanism, np.full(k, 1.0 / k), report)
    return None if row is None or row[-1] == 0.0 else row[0] / row[-1]


def _row(mechanism: Mechanism, law: Any, report: str) -> list[float] | None:
    try:
        table = posterior(mechanism, law, reports=[report])
    except (InvalidArgument, UnicodeError):  # it cannot be, or no table shows its label
        return None
    return [float(f"{share:.12g}") for share in table.to_numpy()[0]]
