"""The pages of the site, as it was built last in `build`, in a browser with the network log on."""

import json
from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).parents[2] / "build"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (SITE / "index.html").exists(),
        reason="no site is built: sphinx-build vignettes build",
    ),
]


def asked(driver: Any, page: Path) -> list[str]:
    """What a browser asks for when it opens a page."""
    driver.get_log("performance")  # of earlier pages
    driver.get(page.as_uri())
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    requests = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [request["request"]["url"] for request in requests]


def foreign(urls: list[str]) -> list[str]:
    return [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]


def test_no_page_asks_another_host(driver):
    """All pages but those of single names, of which every twentieth."""
    every = sorted(SITE.rglob("*.html"))
    chosen = [page for page in every if page.parent.name != "api"]
    chosen += [page for page in every if page.parent.name == "api"][::20]
    urls = [asked(driver, page) for page in chosen]
    assert all(page.as_uri() in found for page, found in zip(chosen, urls, strict=True))
    assert [url for found in urls for url in foreign(found)] == []


def test_a_request_to_another_host_is_seen(driver, tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<img src="http://localhost:9/pixel.png">')
    assert foreign(asked(driver, page)) == ["http://localhost:9/pixel.png"]


def test_a_search_finds_a_name(driver):
    """The index of words comes with the site."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get((SITE / "search.html").as_uri() + "?q=manipulation")
    found = WebDriverWait(driver, 20).until(
        lambda d: d.find_elements("css selector", "#search-results li a")
    )
    assert any("manipulation" in link.get_attribute("href") for link in found)
