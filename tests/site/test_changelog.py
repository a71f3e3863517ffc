"""The change log begins with this version, and the page tells how to cite it."""

from __future__ import annotations

import re
from pathlib import Path

import ldpstats

ROOT = Path(__file__).parents[2]
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")


def field(name: str) -> str:
    """A field of CITATION.cff that stands at the margin."""
    (found,) = re.findall(rf'^{name}: "?(.*?)"?$', CITATION, re.M)
    return str(found)


def test_bibtex_agrees_with_the_citation_file() -> None:
    page = (ROOT / "vignettes" / "changelog.md").read_text("utf-8")
    (entry,) = re.findall(r"```bibtex\n@software{ldpstats,\n(.*?)\n}\n```", page, re.S)
    bibtex = dict(re.findall(r"^  (\w+) = {+(.*?)}+,$", entry, re.M))
    (author,) = re.findall(r'^authors:\n  - name: "(.*)"$', CITATION, re.M)
    assert bibtex == {
        "title": field("title"),
        "author": author,
        "version": field("version"),
        "year": field("date-released")[:4],
    }


def test_the_newest_changes_are_those_of_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest, date = re.findall(r"^## \[(.+?)\] - (.+)$", text, re.M)[0]
    assert newest == ldpstats.__version__ == field("version")
    assert date == field("date-released")


def test_articles_and_commands_of_the_change_log_exist() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8").partition("## [0.1.0]")[0]
    articles = re.findall(r"`(\d\d_\w+\.py)`", text)
    assert len(articles) >= 2
    assert [x for x in articles if not (ROOT / "vignettes" / "articles" / x).exists()] == []
    table = text.partition("### Breaking")[2].partition("Documents and data")[0]
    rows = re.findall(r"^\| .* \| .* \|$", table, re.M)
    assert len(rows) > 10 and all(row.count(" | ") == 1 for row in rows)
