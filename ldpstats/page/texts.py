"""The words of the page: English ones that come with it, and those that replace them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from ldpstats.arguments.names import did_you_mean
from ldpstats.clients.document import listed
from ldpstats.errors import InvalidArgument
from ldpstats.io.specifications import json_document
from ldpstats.survey.questionnaire import Questionnaire

__all__ = ["checked_texts", "page_texts"]

_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_PLACE = re.compile(r"\{([a-z]*)\}")
_OF_QUESTION = ("question", "help", "answers", "tag_question", "tags", "skip")


def page_texts(questionnaire: Questionnaire) -> dict[str, Any]:
    """All words of a questionnaire's page, to be replaced by those of another language.

    Parameters
    ----------
    questionnaire : Questionnaire

    Returns
    -------
    dict
        ``lang`` and ``dir`` (``"ltr"`` or ``"rtl"``) of the language; the ``title``;
        ``introduction`` and ``thanks``, a list of paragraphs each; ``questions``: of each its
        wording (``question``), ``help``, the text of each answer (``answers``, by label; None where
        any text is an answer), whether it may be skipped (``skip``) and, for a `PUM`, the text of
        each tag; and ``words``, those of the page itself. What a file leaves out stays as it is
        here.

    Raises
    ------
    InvalidArgument
        For what is no questionnaire.
    NotAvailable
        For a questionnaire whose client document is not available.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> words = page_texts(ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.5)}))
    >>> words["questions"]["ill"]["answers"]
    {'no': 'no', 'yes': 'yes'}
    """
    if not isinstance(questionnaire, Questionnaire):
        raise InvalidArgument("questionnaire", questionnaire, "must be a Questionnaire")
    client = questionnaire.client_document()
    found = _defaults()
    found["questions"] = {
        question["name"]: {
            "question": question["name"],
            "help": "",
            "answers": _same(question["answers"]),
            "skip": True,
            **({"tag_question": "", "tags": _same(tags)} if (tags := _tags(question)) else {}),
        }
        for question in client["questions"]
    }
    return found


def _defaults() -> dict[str, Any]:
    text = files("ldpstats.page").joinpath("texts.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _tags(question: Mapping[str, Any]) -> list[str] | None:
    """The tags of a question whose respondents have categories of their own."""
    draw = question["draw"]
    return list(draw["tags"]) if draw["kind"] == "personal" else None


def _same(labels: Any) -> dict[str, str] | None:
    """Labels that are shown as they are."""
    if labels is None:
        return None
    return {label: label for label in listed(labels)}


# -- checks ----------------------------------------------------------------------------------------


def checked_texts(given: Any, client: Mapping[str, Any]) -> dict[str, Any]:
    """The words of the page: those that are given, and the default ones.

    Answers become lists of texts in the order of the client document, or None where labels are
    shown as they are or any text is an answer; tags become texts by tag.
    """
    found = _defaults()
    document = {} if given is None else _read(given)
    _check_known("texts", document, (*found, "questions"))
    if "lang" in document:
        found["lang"] = _matching("lang", document["lang"], _LANGUAGE, "such as en or pt-BR")
    if "dir" in document:
        direction = re.compile("ltr|rtl")
        found["dir"] = _matching("dir", document["dir"], direction, '"ltr" or "rtl"')
    if "title" in document:
        found["title"] = _text("title", document["title"])
    for key in ("introduction", "thanks"):
        if key in document:
            found[key] = _paragraphs(key, document[key])
    found["words"] |= _words(document.get("words", {}), found["words"])
    found["questions"] = _questions(document.get("questions", {}), client["questions"])
    return found


def _read(given: Any) -> Mapping[str, Any]:
    document = json_document(given) if isinstance(given, str | os.PathLike) else given
    return _object("texts", document)


def _object(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidArgument(key, value, "must be an object, from keys to texts")
    return value


def _text(key: str, value: Any, empty: bool = False) -> str:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise InvalidArgument(key, value, "must be text" + ("" if empty else " that is not empty"))
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidArgument(key, value, "must be text of Unicode characters, without surrogates")
    return str(value)


def _paragraphs(key: str, value: Any) -> list[str]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        raise InvalidArgument(key, value, "must be a text, or a list of paragraphs")
    return [_text(f"{key}[{i}]", part) for i, part in enumerate(value)]


def _matching(key: str, value: Any, pattern: re.Pattern[str], what: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise InvalidArgument(key, value, f"must be {what}")
    return str(value)


def _check_known(key: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    names = tuple(known)
    for name in given:
        if name not in names:
            hint = did_you_mean(str(name), names)
            shown = ", ".join(map(str, names)) if len(names) < 20 else "those of page_texts"
            raise InvalidArgument(key, name, f"is not a key that is known: {shown}{hint}")


def _words(given: Any, known: Mapping[str, str]) -> dict[str, str]:
    """Words of the page, with no other places for values than they have."""
    words = _object("words", given)
    _check_known("words", words, known)
    for key, value in words.items():
        where = f"words[{key!r}]"
        places = set(_PLACE.findall(known[key]))
        for place in _PLACE.findall(_text(where, value)):
            if place not in places:
                have = ", ".join(f"{{{name}}}" for name in sorted(places)) or "none"
                remedy = f"has a place for a value that is not there: {{{place}}}; there are {have}"
                raise InvalidArgument(where, value, remedy)
    return dict(words)


def _questions(given: Any, questions: list[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    texts = _object("questions", given)
    _check_known("questions", texts, [question["name"] for question in questions])
    return {
        question["name"]: _question(question, texts.get(question["name"], {}))
        for question in questions
    }


def _question(question: Mapping[str, Any], given: Any) -> dict[str, Any]:
    """The words of one question."""
    name = question["name"]
    where = f"questions[{name!r}]"
    if isinstance(given, str):
        given = {"question": given}
    words = _object(where, given)
    tags = _tags(question)
    _check_known(where, words, _OF_QUESTION if tags else _OF_QUESTION[:3] + _OF_QUESTION[5:])
    skip = words.get("skip", True)
    if not isinstance(skip, bool):
        raise InvalidArgument(f"{where}['skip']", skip, "must be true or false")
    answers = words.get("answers")
    tag_texts = words.get("tags")
    return {
        "question": _text(f"{where}['question']", words["question"])
        if "question" in words
        else name,
        "help": _text(f"{where}['help']", words.get("help", ""), empty=True),
        "skip": skip,
        "answers": _labels(f"{where}['answers']", answers, question["answers"]),
        "tag_question": _text(f"{where}['tag_question']", words.get("tag_question", ""), True)
        or None,
        "tags": tags
        and dict(zip(tags, _labels(f"{where}['tags']", tag_texts, tags) or [], strict=True)),
    }


def _labels(where: str, given: Any, labels: Any) -> list[str] | None:
    """Texts of labels in their order: different ones, as nobody could choose between equal ones."""
    same = _same(labels)
    if same is None:
        if given is not None:
            raise InvalidArgument(where, given, "is for a list of answers; here any text is one")
        return None
    if given is None:
        return list(same)
    if isinstance(given, list | tuple):
        if len(given) != len(same):
            remedy = f"must have {len(same)} texts, one for each answer in order: {_shown(same)}"
            raise InvalidArgument(where, given, remedy)
        texts = dict(zip(same, given, strict=True))
    else:
        texts = dict(_object(where, given))
        _check_known(where, texts, same)
    for label in same:
        if label not in texts:
            remedy = f"must have a text for each of {_shown(same)}: {label!r} has none"
            raise InvalidArgument(where, given, remedy)
    found = [_text(f"{where}[{label!r}]", texts[label]) for label in same]
    if len(set(found)) < len(found):
        twice = next(text for i, text in enumerate(found) if text in found[:i])
        raise InvalidArgument(where, twice, "is the text of two answers: tell them apart")
    return found


def _shown(labels: Iterable[str]) -> str:
    texts = list(labels)
    return ", ".join(map(repr, texts[:8])) + (", ..." if len(texts) > 8 else "")
