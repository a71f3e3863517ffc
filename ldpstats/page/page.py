"""The page as one file: its words, its data, its script and its style, and what it may do."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from ldpstats.arguments.checks import boolean
from ldpstats.errors import InvalidArgument
from ldpstats.io.storage.commits import replacing
from ldpstats.io.storage.files import FilePath
from ldpstats.page.conclusions import conclusions, spent
from ldpstats.page.texts import checked_texts
from ldpstats.survey.questionnaire import Questionnaire

__all__ = ["page_text", "write_page"]

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
        As for `page_text`.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    InvalidArgument
        As for `page_text`, and if the file exists or cannot be written.
    NotAvailable
        As for `page_text`.

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
    withdraw = _withdrawal(post) if boolean("show_first", show_first) else None
    client = questionnaire.client_document()
    words = checked_texts(texts, client)
    data = {
        "client": client,
        "texts": {key: words[key] for key in ("title", "introduction", "thanks", "words")},
        "questions": conclusions(questionnaire, client, words),
        "total": spent(questionnaire.epsilon),
        "post": post,
        "invited": invited,
        "showFirst": show_first,
        "withdraw": withdraw,
    }
    style, script = f"\n{_file('page.css')}", _script()
    parts = {
        "lang": words["lang"],
        "dir": words["dir"],
        "title": html.escape(words["title"]),
        "no_script": html.escape(words["words"]["no_script"]),
        "policy": _policy(style, script, origin),
        "style": style,
        "script": script,
        "data": _embedded(data),
    }
    return _PLACE.sub(lambda found: parts[found[1]], _file("page.html"))


def _file(*names: str) -> str:
    return files("ldpstats.page").joinpath(*names).read_text(encoding="utf-8")


def _script() -> str:
    """The module of the client, and the script of the page in a block, with names of its own."""
    folder = files("ldpstats.clients").joinpath("portable", "ldpstats-client.mjs")
    names = sorted(file.name for file in files("ldpstats.page").joinpath("script").iterdir())
    parts = "\n".join(_file("script", name) for name in names if name.endswith(".js"))
    return f"\n{folder.read_text(encoding='utf-8')}\n{{\n{parts}}}\n"


def _embedded(data: Any) -> str:
    """JSON in ASCII that ends no element of HTML, whatever its texts are."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _policy(style: str, script: str, origin: str | None) -> str:
    """The content security policy: this script, this style, the collector, and nothing else."""
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
    return "; ".join(rules)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _origin(post: object) -> str | None:
    """Where the page may connect to; None if nowhere."""
    if post is None:
        return None
    if not isinstance(post, str):
        raise InvalidArgument("post", post, _POST)
    if _PATH.fullmatch(post):
        return "'self'"
    try:
        parts = urlsplit(post)
    except ValueError:
        raise InvalidArgument("post", post, _POST) from None
    known = parts.scheme in ("http", "https") and _HOST.fullmatch(parts.netloc)
    if not known or not _PATH.fullmatch(parts.path) or not post.isascii() or parts.fragment:
        raise InvalidArgument("post", post, _POST)
    return f"{parts.scheme}://{parts.netloc}"


def _withdrawal(post: str | None) -> str | None:
    """Where the page says that reports were deleted: beside the sheets; None if nowhere."""
    if post is None:
        return None
    path, mark, rest = post.partition("?")
    if not path.endswith("/sheets"):
        raise InvalidArgument("post", post, "must end in /sheets where reports are shown first")
    return f"{path.removesuffix('sheets')}withdrawn{mark}{rest}"
