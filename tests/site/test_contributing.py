"""The page for contributors is true: its map, its tables of tests and steps, its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_layers import FLOORS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "vignettes" / "contributing.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_column(title: str) -> list[str]:
    """The cells in backticks of the first column of a table."""
    rows = re.findall(r"^\| (`.*?) \|", section(title), re.M)
    return [name for row in rows for name in re.findall(r"`(.+?)`", row)]


def test_the_map_has_every_folder_of_the_package_and_no_other() -> None:
    folders = {p.parent.name + "/" for p in (ROOT / "ldpstats").glob("*/__init__.py")}
    named = first_column("Where things are")
    assert sorted(named) == sorted(folders)


def test_the_map_lists_folders_from_the_top_floor_down() -> None:
    rank = {room: n for n, floor in enumerate(FLOORS["ldpstats"]) for room in floor.split()}
    ranks = [rank[name.strip("/")] for name in first_column("Where things are")]
    assert ranks == sorted(ranks, reverse=True)


def test_rooms_that_the_map_names_inside_a_folder_exist() -> None:
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
def test_files_that_a_table_names_exist(title: str) -> None:
    named = re.findall(r"`([a-z_]+/[\w/.]*)`", section(title).replace("/FOLDER/", "/"))
    assert len(named) > 5
    homes = (ROOT, ROOT / "ldpstats")
    assert [n for n in named if not any((home / n).exists() for home in homes)] == []


def test_the_steps_of_continuous_integration_are_listed() -> None:
    text = (ROOT / ".ci" / "run").read_text("utf-8")
    (steps,) = re.findall(r'^steps="([a-z ]+)"$', text, re.M)
    assert sorted(first_column("Continuous integration")) == sorted(steps.split())


def test_the_set_up_is_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (command,) = re.findall(r"<!-- test-command -->\n```sh\n(.*?)```", readme, re.S)
    assert command in section("Set up")


def test_github_leads_to_the_page() -> None:
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
    (link,) = re.findall(r"\((\.\./.*?)\)", text)
    assert (ROOT / ".github" / link).resolve() == ROOT / "vignettes" / "contributing.md"
