"""Each recipe is short and says what to change; the build of the site executes it."""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path

import pytest
from shared.scripts import run

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "vignettes" / "recipes"
RECIPES = sorted(FOLDER.glob("*.py"))
SPARK = FOLDER / "20_spark.py"


def code_lines(text: str) -> int:
    """Lines of code of a script, without comments, blank lines and its docstring."""
    docstring = ast.parse(text).body[0].end_lineno or 0
    rest = text.splitlines()[docstring:]
    return sum(bool(line.strip()) and not line.startswith("#") for line in rest)


def test_a_recipe_is_a_title_and_few_lines_of_code_and_says_what_to_change() -> None:
    numbers = [script.stem.partition("_")[0] for script in RECIPES]
    assert numbers == [f"{number:02}" for number in range(1, len(RECIPES) + 1)]
    assert len(RECIPES) >= 22
    for script in RECIPES:
        text = script.read_text("utf-8")
        title, line, blank, *task = (ast.get_docstring(ast.parse(text)) or "").splitlines()
        assert line == "=" * len(title) and blank == "" and 1 <= len(task) <= 4, script
        assert 8 <= code_lines(text) <= 25, script
        last = text.split("# %%\n")[-1].splitlines()
        assert all(line.startswith("#") for line in last), script
        more = " ".join(line.removeprefix("#").strip() for line in last)
        assert "**For your own" in more and re.search(r"Reference: `ldpstats\.", more), script
        articles = re.findall(r":doc:`/gallery/articles/(\w+)`", more)
        assert articles, script
        assert all((FOLDER.parent / "articles" / f"{one}.py").is_file() for one in articles), script


@pytest.mark.spark
def test_the_recipe_of_spark_prints_what_it_shows(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: Spark needs version 17")
    ran = run(SPARK, directory=tmp_path)
    assert ran.returncode == 0, ran.stderr
    shown = SPARK.read_text("utf-8").partition(".. code-block:: text\n")[2].partition("**For")[0]
    lines = [line.removeprefix("#").strip() for line in shown.splitlines()]
    assert [line.strip() for line in ran.stdout.splitlines() if line.strip()] == list(
        filter(None, lines)
    )
    assert list(tmp_path.iterdir()) == []


def test_the_pages_of_recipes_are_all_in_the_table_of_the_gallery() -> None:
    header = (FOLDER / "GALLERY_HEADER.rst").read_text("utf-8").partition("list-table")[2]
    listed = set(re.findall(r":doc:`(\w+)`", header))
    assert listed == {script.stem for script in RECIPES} - {"01_die"}


def test_lines_of_code_are_counted_without_comments() -> None:
    assert code_lines('"""\nTitle\n=====\n"""\n\n# %%\n# Text.\nx = [\n    1,\n]\n') == 3
