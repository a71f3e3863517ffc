"""Pages of questionnaires, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator

from hostile.examples import Examples, Site

import ldpstats as ldp
from ldpstats import page


def page_sites(e: Examples) -> Iterator[Site]:
    sheet = ldp.Questionnaire({"job": e.krr, "host": e.orr, "place": e.pum})
    words = {
        "lang": "en",
        "dir": "ltr",
        "title": "Work",
        "introduction": ["One.", "Two."],
        "questions": {"job": {"question": "Your job?", "help": "", "skip": True}},
        "words": {"next": "Next", "progress": "{number} of {total}"},
    }
    given = {"questionnaire": sheet, "texts": words, "post": "/sheets", "show_first": True}
    keys = ("lang", "dir", "title", "introduction", "thanks", "questions", "words")
    also = {"texts": (*keys, "file", "specification")}
    yield Site("page_texts", page.page_texts, {"questionnaire": sheet})
    yield Site("page_text", page.page_text, given, also)


def page_file_sites(e: Examples) -> Iterator[Site]:
    sheet = ldp.Questionnaire({"job": e.krr})
    given = {"questionnaire": sheet, "path": str(e.folder / "page.html"), "post": None}
    given |= {"texts": {"title": "Work"}, "force": True}
    words = {"texts": ("title", "file", "specification"), "path": ("file", "directory", "written")}
    yield Site("write_page", page.write_page, given, words)
