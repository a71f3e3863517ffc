"""A questionnaire as a page that respondents fill in on their own devices.

A page is one file without any request to others: its script, the client of
`clients/portable/ldpstats-client.mjs` and its style stand in it, and its content security policy
allows these alone, by their hashes, and connections to the collector alone. True answers are in the
memory of the page until the reports are made, and nowhere else: not in storage, addresses, history,
forms that a browser restores, logs or messages. The browser's local storage has the fingerprint of
the survey, that reports were made, and the reports until they are delivered; of a survey in waves
also how many were answered and, where they are linked, the secret of the pseudonym. A device
without storage, such as a private window, may take part and is told that the page cannot know it
later.

Answers that are typed lose the spaces at both ends, and their letters are composed (Unicode NFC),
since keyboards write one word with different characters.

With `ask=` of the questionnaire, questions are drawn when the page is opened, and anew when it is
loaded again: this costs no privacy, but respondents may look for questions that they like.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ldpstats.arguments import boolean, did_you_mean
from ldpstats.clients.device import listed
from ldpstats.errors import InvalidArgument
from ldpstats.io.specifications import json_document
from ldpstats.io.storage import FilePath, replacing
from ldpstats.mechanisms import PUM, Mechanism
from ldpstats.privacy.beliefs import posterior
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.questions import Question

__all__ = ["page_text", "page_texts", "write_page"]


# -- The page as one file: its words, its data, its script and its style, and what it may do ------


_PLACE = re.compile(r"@([a-z_]+)@")
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")
_PATH = re.compile(r"/(?!/)[\x21-\x7e]*")
_POST = "must be the path of a collector that serves the page, /sheets, or its address, "
_POST += "https://survey.example/sheets"


def write_page(
    questionnaire: Questionnaire,
    path: FilePath,
    texts: Any = None,
    post: str | None = None,
    force: bool = False,
    *,
    invitations: bool = False,
    show_first: bool = False,
) -> None:
    """Write a questionnaire as a page: one HTML file that works with or without network.

    Parameters
    ----------
    questionnaire : Questionnaire
    path : path-like
        The file, such as ``survey.html``.
    texts, post, invitations, show_first
        As for `page_text`, whose errors are raised here too.
    force : bool
        Whether an existing file may be overwritten.

    Examples
    --------
    >>> import tempfile, pathlib, ldpstats as ldp
    >>> sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.5)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(sheet, f"{folder}/survey.html", {"title": "Your health"})
    ...     pathlib.Path(f"{folder}/survey.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    text = page_text(questionnaire, texts, post, invitations=invitations, show_first=show_first)
    with replacing(path, force) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def page_text(
    questionnaire: Questionnaire,
    texts: Any = None,
    post: str | None = None,
    *,
    invitations: bool = False,
    show_first: bool = False,
) -> str:
    """The page of a questionnaire, as text.

    Parameters
    ----------
    questionnaire : Questionnaire
    texts : path-like or mapping, optional
        Words that replace those of the page: `page_texts` has all of them.
    post : str, optional
        Where reports are sent: the path ``/sheets`` of a collector that serves the page itself, or
        its whole address. Without it the page sends nothing: respondents save their reports as a
        file, or copy them.
    invitations : bool
        Whether respondents need a code, which `collector.invite` makes. The page takes it from the
        fragment of its address, or asks for it, and puts it into what is sent.
    show_first : bool
        Whether reports are shown before respondents decide if they are sent. By default a page
        with `post` explains first what may be sent and what would follow from it, and on
        agreement draws and sends in one step. Whoever can look first deletes reports that
        displease, and the estimates are biased: of a share .200 with Warner's design and epsilon
        1, if 5 % of those who hold it delete a "yes", .175 is left. Such a page tells the
        collector how many deleted their reports, so `post` must end in ``/sheets``.

    Raises
    ------
    InvalidArgument
        For what is no questionnaire; texts of questions, answers or words that do not exist, or
        not of all answers; and an address that a browser cannot send to.
    NotAvailable
        For a questionnaire whose client document is not available.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.5)})
    >>> "connect-src 'self'" in page_text(sheet, post="/sheets")
    True
    """
    if not isinstance(questionnaire, Questionnaire):
        remedy = "must be a Questionnaire: give a mechanism a name, Questionnaire({'job': krr})"
        raise InvalidArgument("questionnaire", questionnaire, remedy)
    origin, invited = _origin(post), boolean("invitations", invitations)
    withdraw = None  # where the page says that reports were deleted: beside the sheets
    if boolean("show_first", show_first) and post is not None:
        address, mark, rest = post.partition("?")
        if not address.endswith("/sheets"):
            raise InvalidArgument("post", post, "must end in /sheets where reports are shown first")
        withdraw = f"{address.removesuffix('sheets')}withdrawn{mark}{rest}"
    client = questionnaire.client_document()
    words = _checked_texts(texts, client)
    pairs = zip(questionnaire.entries, client["questions"], strict=True)
    data = {
        "client": client,
        "texts": {key: words[key] for key in ("title", "introduction", "thanks", "words")},
        "questions": [_shown(question, document, words) for question, document in pairs],
        "total": spent(questionnaire.epsilon),
        "post": post,
        "invited": invited,
        "showFirst": show_first,
        "withdraw": withdraw,
    }
    # The module of the client, and the script of the page in a block, with names of its own
    module = files("ldpstats.clients").joinpath("portable", "ldpstats-client.mjs")
    names = sorted(file.name for file in files("ldpstats.page").joinpath("script").iterdir())
    block = "\n".join(_file("script", name) for name in names if name.endswith(".js"))
    script = f"\n{module.read_text(encoding='utf-8')}\n{{\n{block}}}\n"
    style = f"\n{_file('page.css')}"
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    embedded = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    # The content security policy: this script, this style, the collector, and nothing else
    rules = [
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        "img-src data:",
        "connect-src " + (origin or "'none'"),
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ]
    parts = {"lang": words["lang"], "dir": words["dir"], "title": html.escape(words["title"])}
    parts |= {"no_script": html.escape(words["words"]["no_script"]), "policy": "; ".join(rules)}
    parts |= {"style": style, "script": script, "data": embedded}
    return _PLACE.sub(lambda place: parts[place[1]], _file("page.html"))


def _file(*names: str) -> str:
    return files("ldpstats.page").joinpath(*names).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _origin(post: object) -> str | None:
    """Where the page may connect to; None if nowhere."""
    if post is None:
        return None
    text = post if isinstance(post, str) else ""
    if _PATH.fullmatch(text):
        return "'self'"
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    known = parts.scheme in ("http", "https") and _HOST.fullmatch(parts.netloc)
    if not known or not _PATH.fullmatch(parts.path) or not text.isascii() or parts.fragment:
        raise InvalidArgument("post", post, _POST)
    return f"{parts.scheme}://{parts.netloc}"


# -- The words of the page: English ones that come with it, and those that replace them -----------


_PATTERNS = {
    "lang": (r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*", "such as en or pt-BR"),
    "dir": ("ltr|rtl", '"ltr" or "rtl"'),
}
_PLACEHOLDER = re.compile(r"\{([a-z]*)\}")
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
    words: dict[str, Any] = json.loads(_file("texts.json"))
    words["questions"] = {
        question["name"]: {
            "question": question["name"],
            "help": "",
            "answers": _same(question["answers"]),
            "skip": True,
            **({"tag_question": "", "tags": _same(tags)} if (tags := _tags(question)) else {}),
        }
        for question in client["questions"]
    }
    return words


def _tags(question: Mapping[str, Any]) -> list[str] | None:
    """The tags of a question whose respondents have categories of their own."""
    draw = question["draw"]
    return list(draw["tags"]) if draw["kind"] == "personal" else None


def _same(labels: Any) -> dict[str, str] | None:
    """Labels that are shown as they are."""
    return None if labels is None else {label: label for label in listed(labels)}


# -- checks ----------------------------------------------------------------------------------------


def _checked_texts(given: Any, client: Mapping[str, Any]) -> dict[str, Any]:
    """The words of the page: those that are given, checked, and the default ones."""
    # Answers become lists of texts in the order of the client document, or None where labels are
    # shown as they are or any text is an answer; tags become texts by tag.
    page: dict[str, Any] = json.loads(_file("texts.json"))
    document = {} if given is None else given
    if isinstance(given, str | os.PathLike):
        document = json_document(given)
    document = _object("texts", document)
    _check_known("texts", document, (*page, "questions"))
    for key, (pattern, what) in _PATTERNS.items():
        value = page[key] = document.get(key, page[key])
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise InvalidArgument(key, value, f"must be {what}")
    page["title"] = _text("title", document.get("title", page["title"]))
    for key in ("introduction", "thanks"):
        value = document.get(key, page[key])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list | tuple):
            raise InvalidArgument(key, value, "must be a text, or a list of paragraphs")
        page[key] = [_text(f"{key}[{i}]", part) for i, part in enumerate(value)]
    words = _object("words", document.get("words", {}))
    _check_known("words", words, page["words"])
    for key, value in words.items():  # no other places for values than the default has
        where = f"words[{key!r}]"
        places = set(_PLACEHOLDER.findall(page["words"][key]))
        for place in _PLACEHOLDER.findall(_text(where, value)):
            if place not in places:
                have = ", ".join(f"{{{name}}}" for name in sorted(places)) or "none"
                remedy = f"has a place for a value that is not there: {{{place}}}; there are {have}"
                raise InvalidArgument(where, value, remedy)
    page["words"] |= words
    texts = _object("questions", document.get("questions", {}))
    _check_known("questions", texts, [question["name"] for question in client["questions"]])
    page["questions"] = {
        question["name"]: _question(question, texts.get(question["name"], {}))
        for question in client["questions"]
    }
    return page


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


def _check_known(key: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    names = tuple(known)
    for name in given:
        if name not in names:
            hint = did_you_mean(str(name), names)
            shown = ", ".join(map(str, names)) if len(names) < 20 else "those of page_texts"
            raise InvalidArgument(key, name, f"is not a key that is known: {shown}{hint}")


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
    answers, tag_texts = words.get("answers"), words.get("tags")
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
            remedy = f"must have {len(same)} texts, one for each answer in order: {_listed(same)}"
            raise InvalidArgument(where, given, remedy)
        texts = dict(zip(same, given, strict=True))
    else:
        texts = dict(_object(where, given))
        _check_known(where, texts, same)
    for label in same:
        if label not in texts:
            remedy = f"must have a text for each of {_listed(same)}: {label!r} has none"
            raise InvalidArgument(where, given, remedy)
    ordered = [_text(f"{where}[{label!r}]", texts[label]) for label in same]
    if len(set(ordered)) < len(ordered):
        twice = next(text for i, text in enumerate(ordered) if text in ordered[:i])
        raise InvalidArgument(where, twice, "is the text of two answers: tell them apart")
    return ordered


def _listed(labels: Iterable[str]) -> str:
    texts = list(map(repr, labels))
    return ", ".join([*texts[:8], "..."] if len(texts) > 8 else texts)


# -- What the page says of each question: its words, and what a report lets anyone believe --------


_MOST = 1 << 10  # probabilities of a question that the page lists
_BITS = 6  # bits of a report, up to which all patterns are listed


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
    labels, reports = words["answers"], document["reports"]
    size = 0 if labels is None else len(labels) + len(of_tags)
    hashed = document["draw"]["kind"] in ("hash", "rappor")  # reports are of cells, after a cohort
    bits = reports.get("bits", 0) if isinstance(reports, Mapping) else 0
    own = listed(document["answers"] or []) + listed(document["draw"].get("tags", []))
    beliefs = None if hashed else _beliefs(question, document)
    protected = None  # the answers that are, as the page shows them; None if all are
    sensitive = question.sensitive
    if sensitive is not None and labels is not None and len(sensitive) != len(labels):
        assert question.labels is not None
        protected = [labels[i] for i in question.labels.get_indexer(sensitive)] + of_tags
    return {
        "text": words["question"],
        "help": words["help"],
        "skip": words["skip"],
        "labels": None if labels == own else labels,  # the page has those of its client document
        "tags": tags,
        "tagQuestion": words["tag_question"],
        "tagBeliefs": of_tags,
        "protected": protected,
        "spent": spent(question.epsilon),
        "beliefs": beliefs,
        "odds": _odds(question, document) if beliefs is None else None,
        "reportsAnswers": not hashed and isinstance(reports, list | int) and listed(reports) == own,
        "marksAnswers": not hashed and 0 < size == bits,
    }


# -- beliefs ---------------------------------------------------------------------------------------


def _beliefs(question: Question, document: Mapping[str, Any]) -> list[list[float] | None] | None:
    """P(answer | report) of equally likely answers, a row a report; None where there are too many.

    Bits stand in the order of the number that they write. A report that cannot be has no row.
    """
    made_by = question.made_by
    mechanism = made_by.common if isinstance(made_by, PUM) else made_by
    if not question.private or question.labels is None or not isinstance(mechanism, Mechanism):
        return None
    k, reports = len(mechanism.labels()), document["reports"]
    if isinstance(reports, Mapping):
        bits = reports.get("bits", 0)
        texts = [f"{i:0{bits}b}" for i in range(1 << bits)] if 0 < bits <= _BITS else []
    else:
        texts = listed(reports)
    if not 0 < k * len(texts) <= _MOST:
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
