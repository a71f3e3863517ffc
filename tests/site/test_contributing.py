"""The page for contributors is true: its map, its tables of tests and steps, its commands."""

import re
from pathlib import Path

import pytest
from test_layers import FLOORS

import ldpstats

ROOT = Path(__file__).parents[2]

PAGE = (ROOT / "vignettes" / "contributing.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_column(title: str) -> list[str]:
    """The cells in backticks of the first column of a table."""
    rows = re.findall(r"^\| (`.*?) \|", section(title), re.M)
    return [name for row in rows for name in re.findall(r"`(.+?)`", row)]


def test_the_map_has_every_folder_of_the_package_and_no_other():
    folders = {p.parent.name + "/" for p in (ROOT / "ldpstats").glob("*/__init__.py")}
    named = first_column("Where things are")
    assert sorted(named) == sorted(folders)


def test_the_map_lists_folders_from_the_top_floor_down():
    rank = {room: n for n, floor in enumerate(FLOORS["ldpstats"]) for room in floor.split()}
    ranks = [rank[name.strip("/")] for name in first_column("Where things are")]
    assert ranks == sorted(ranks, reverse=True)


def test_rooms_that_the_map_names_inside_a_folder_exist():
    rows = re.findall(r"^\| `(\w+)/` \| (.*) \|$", section("Where things are"), re.M)
    named = [(folder, room) for folder, words in rows for room in re.findall(r"`(\w+)/?`", words)]
    assert len(named) > 50
    lacking = [
        f"{folder}/{room}"
        for folder, room in named
        if not any((ROOT / "ldpstats" / folder / end).exists() for end in (room, f"{room}.py"))
    ]
    assert lacking == []


@pytest.mark.parametrize("title", ["Where new code goes", "How the tests are arranged"])
def test_files_that_a_table_names_exist(title):
    named = re.findall(r"`([a-z_]+/[\w/.]*)`", section(title).replace("/FOLDER/", "/"))
    assert len(named) > 5
    homes = (ROOT, ROOT / "ldpstats")
    assert [n for n in named if not any((home / n).exists() for home in homes)] == []


def test_the_steps_of_continuous_integration_are_listed():
    text = (ROOT / ".ci" / "run").read_text("utf-8")
    (steps,) = re.findall(r'^steps="([a-z ]+)"$', text, re.M)
    assert sorted(first_column("Continuous integration")) == sorted(steps.split())


def test_the_set_up_is_what_the_readme_says():
    readme = (ROOT / "README.md").read_text("utf-8")
    (command,) = re.findall(r"<!-- test-command -->\n```sh\n(.*?)```", readme, re.S)
    assert command in section("Set up")


def test_github_leads_to_the_page():
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
    (link,) = re.findall(r"\((\.\./.*?)\)", text)
    assert (ROOT / ".github" / link).resolve() == ROOT / "vignettes" / "contributing.md"


# The change log begins with this version, and the page tells how to cite it.

CITATION = (ROOT / "CITATION.cff").read_text("utf-8")


def field(name: str) -> str:
    """A field of CITATION.cff that stands at the margin."""
    (found,) = re.findall(rf'^{name}: "?(.*?)"?$', CITATION, re.M)
    return str(found)


def test_bibtex_agrees_with_the_citation_file():
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


def test_the_newest_changes_are_those_of_the_version():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest, date = re.findall(r"^## \[(.+?)\] - (.+)$", text, re.M)[0]
    assert newest == ldpstats.__version__ == field("version")
    assert date == field("date-released")


def test_articles_and_commands_of_the_change_log_exist():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8").partition("## [0.1.0]")[0]
    articles = re.findall(r"`(\d\d_\w+\.py)`", text)
    assert len(articles) >= 2
    assert [x for x in articles if not (ROOT / "vignettes" / "articles" / x).exists()] == []
    table = text.partition("### Breaking")[2].partition("Documents and data")[0]
    rows = re.findall(r"^\| .* \| .* \|$", table, re.M)
    assert len(rows) > 10 and all(row.count(" | ") == 1 for row in rows)
