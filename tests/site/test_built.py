"""The site as it was built last, in `build`: its links, and what it has."""

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "build"
PAGES = [page for page in sorted(SITE.rglob("*.html")) if page.parent != SITE / "_static"]

pytestmark = pytest.mark.skipif(not PAGES, reason="no site is built: sphinx-build vignettes build")


class Links(HTMLParser):
    """What a page refers to, what a browser loads for it, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        have = {name: value or "" for name, value in attrs}
        self.anchors |= {have[name] for name in ("id", "name") if name in have}
        if tag == "a" and "href" in have:
            self.links.append(have["href"])
        elif tag == "link" and have.get("rel") not in ("canonical", "search", "index"):
            self.loaded.append(have.get("href", ""))
        elif "src" in have:
            self.loaded.append(have["src"])


@pytest.fixture(scope="module")
def read():
    return {page: Links(page) for page in PAGES}


def missing(read: dict[Path, Links]) -> Iterator[str]:
    """Links to files or anchors that are not there."""
    files = {str(path) for path in SITE.rglob("*") if path.is_file()}
    pages = {str(page): found for page, found in read.items()}
    for page, found in read.items():
        for link in found.links + found.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = os.path.normpath(page.parent / unquote(parts.path)) if parts.path else str(page)
            if path not in files:
                yield f"{page.relative_to(SITE)}: {link}"
            elif parts.fragment and path in pages:
                if unquote(parts.fragment) not in pages[path].anchors:
                    yield f"{page.relative_to(SITE)}: {link}"


def test_no_internal_link_is_dead(read):
    assert list(missing(read)) == []


def test_a_dead_link_is_found(read):
    page = SITE / "index.html"
    for link in ("nowhere.html", "start.html#nowhere"):
        spoiled = Links(page)
        spoiled.links = [link]
        assert list(missing(read | {page: spoiled})) == [f"index.html: {link}"]


def test_pages_load_nothing_from_other_hosts(read):
    loaded = {link for found in read.values() for link in found.loaded}
    styles = "".join(path.read_text("utf-8") for path in SITE.rglob("*.css"))
    loaded |= set(re.findall(r"""url\(["']?([^"')]+)""", styles))
    assert loaded
    assert [link for link in sorted(loaded) if urlsplit(link).netloc] == []


def test_the_site_has_sixty_pages_and_more(read):
    reference = [page for page in read if page.parent.name == "api"]
    assert len(reference) > 300 and len(read) - len(reference) >= 60


def test_llms_txt_lists_sources_that_are_there():
    text = (SITE / "llms.txt").read_text("utf-8")
    listed = re.findall(r"^- \[.+?\]\((_sources/[^)]+)\)", text, re.M)
    assert len(listed) >= 60
    assert [name for name in listed if not (SITE / name).is_file()] == []


def test_each_article_opens_as_a_notebook_and_has_a_figure():
    names = {path.stem for path in (SITE.parent / "vignettes" / "articles").glob("*.py")}
    assert names and names <= {path.stem for path in SITE.rglob("_downloads/**/*.ipynb")}
    figures = (SITE / "_images").glob("sphx_glr_*_001.png")
    assert names <= {path.stem.removeprefix("sphx_glr_")[:-4] for path in figures}
