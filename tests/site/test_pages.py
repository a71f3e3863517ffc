"""The code on the pages of the site prints what is shown.

Tests that run whole pages are marked `site`: they go with the build of the site, not with the quick
suite, as the code of articles and recipes does.
"""

import ast
import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest
from shared.pages import Block, blocks, outputs, same, with_outputs
from shared.scripts import run

ROOT = Path(__file__).parents[2]

PAGES = sorted((ROOT / "vignettes").rglob("*.md"))

RUNNING = [page for page in PAGES if any(block.runs for block in blocks(page.read_text("utf-8")))]


def names(pages: list[Path]) -> list[str]:
    return [page.relative_to(ROOT / "vignettes").as_posix() for page in pages]


def every_block() -> list[Block]:
    return [block for page in PAGES for block in blocks(page.read_text("utf-8"))]


@pytest.mark.site
@pytest.mark.parametrize("page", RUNNING, ids=names(RUNNING))
def test_a_page_prints_what_it_shows(page, tmp_path):
    found = [block for block in blocks(page.read_text("utf-8")) if block.runs]
    lacking = next((n for n, block in enumerate(found) if block.absent), len(found))
    for block, printed in zip(found, outputs(found[:lacking], tmp_path), strict=False):
        assert block.shown is None or same(block.shown, printed), f"{block.code}\n{printed}"
    if lacking < len(found):
        pytest.skip(f"run up to a block that needs {' '.join(found[lacking].absent)}")


def test_output_of_other_languages_is_in_a_transcript():
    for block in every_block():
        if block.runs or block.shown is None:
            continue
        assert block.transcript, f"no transcript is named for\n{block.code}"
        kept = [line.split() for line in (ROOT / block.transcript).read_text("utf-8").splitlines()]
        missing = [line for line in block.shown.splitlines() if line.split() not in kept]
        assert missing == []


GUIDE = [page for page in PAGES if page.parent.name == "guide" and page.stem != "index"]


@pytest.mark.parametrize("page", GUIDE, ids=names(GUIDE))
def test_a_guide_page_that_is_longer_than_a_screen_has_sections(page):
    """The theme shows them as a table of contents beside the text."""
    text = page.read_text("utf-8")
    sections = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(text.splitlines()) < 60 or len(sections) > 1


def test_what_installs_is_run_by_continuous_integration():
    for block in every_block():
        if block.by is not None:
            assert "pip install" in block.code
            assert set(block.code.split()) & set((ROOT / block.by).read_text("utf-8").split())


def test_python_on_a_page_is_python():
    for block in every_block():
        if block.runs and block.language == "python":
            compile(block.code, "page", "exec")


PAGE = """
```python
x = 2
print(x / 3, 1e-17)
```

```text
{}
```

% needs: no_such_program
```sh
echo hello
```
"""


def test_a_comment_belongs_to_the_block_behind_it():
    page = "% transcript: a.Rout\n```r\nx\n```\n\n```text\n1\n```\n" * 2 + PAGE.format("1")
    assert [block.transcript for block in blocks(page)] == ["a.Rout", "a.Rout", None, None]
    assert [block.shown for block in blocks(page)] == ["1\n", "1\n", "1\n", None]


def test_outputs_are_compared_to_the_digits_shown(tmp_path):
    (first, second) = blocks(PAGE.format("0.6666 3e-16"))
    assert first.shown == "0.6666 3e-16\n" and second.absent == ["no_such_program"]
    (printed,) = outputs([first], tmp_path)
    assert same("0.6666 3e-16", printed)
    assert not same("0.67 3e-16 x", printed) and not same("0.6660 0", printed)
    assert same("n = 1,000", "n =  1,000") and not same("n = 1,000", "n = 1,001")


BESIDE = """
% until: Ctrl-C
```sh
python -c "{}print('ready', flush=True); time.sleep(60)"
```

% needs: python
```sh
echo beside
```
"""


def test_a_program_runs_beside_the_rest_of_a_page(tmp_path):
    quiet = "import signal, sys, time; signal.signal(signal.SIGINT, lambda *_: sys.exit()); "
    first, second = blocks(BESIDE.format(quiet))
    assert first.until == "Ctrl-C" and second.until is None and second.needs == ("python",)
    assert outputs([first, second], tmp_path) == ["ready", "beside"]
    with pytest.raises(AssertionError, match="ended with status"):  # which Python gives by default
        outputs(blocks(BESIDE.format("import time; ")), tmp_path)


def test_a_block_that_fails_is_shown(tmp_path):
    for block in (Block("python", "1 / 0", None), Block("sh", "false", None)):
        with pytest.raises(AssertionError, match="block 1"):
            outputs([block], tmp_path)
    (printed,) = outputs([Block("sh", "python -c 'print(6)'", None)], tmp_path)
    assert printed == "6"


# The README: its survey prints what it shows, its plot is drawn by its code, its links lead on.
#
# ``PYTHONPATH=tests python tests/site/test_pages.py`` writes output and plot anew.

README = ROOT / "README.md"

PLOT = ROOT / "vignettes" / "_static" / "late_by_job.png"


def survey(text: str) -> list:
    return [block for block in blocks(text) if block.language == "python"]


def drawn(text: str) -> str:
    """What the plot was drawn by."""
    code = "\n".join(block.code for block in survey(text))
    return hashlib.sha256(code.encode()).hexdigest()


def test_the_survey_prints_what_is_shown(tmp_path):
    found = survey(README.read_text("utf-8"))
    assert len(found) == 2
    for block, printed in zip(found, outputs(found, tmp_path), strict=True):
        assert same(block.shown, printed), printed


def test_the_plot_is_that_of_the_code():
    image = pytest.importorskip("PIL.Image").open(PLOT)
    assert image.text["Description"] == drawn(README.read_text("utf-8"))


def test_a_visitor_reads_less_than_120_lines():
    assert len(README.read_text("utf-8").splitlines()) < 120


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text("utf-8"))
    assert len(links) > 8
    assert [link for link in links if not (ROOT / link).exists()] == []


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    text = with_outputs(README.read_text("utf-8"), lambda block: block.language == "python")
    README.write_text(text, encoding="utf-8")
    names_readme: dict[str, object] = {}
    for block_readme in survey(text):
        exec(block_readme.code, names_readme)
    pyplot.gcf().set_size_inches(6.4, 3.4)
    pyplot.savefig(PLOT, dpi=110, metadata={"Description": drawn(text), "Software": None})

# Each recipe is short and says what to change; the build of the site executes it.

FOLDER = ROOT / "vignettes" / "recipes"

RECIPES = sorted(FOLDER.glob("*.py"))

SPARK = FOLDER / "20_spark.py"


def code_lines(text: str) -> int:
    """Lines of code of a script, without comments, blank lines and its docstring."""
    docstring = ast.parse(text).body[0].end_lineno or 0
    rest = text.splitlines()[docstring:]
    return sum(bool(line.strip()) and not line.startswith("#") for line in rest)


def test_a_recipe_is_a_title_and_few_lines_of_code_and_says_what_to_change():
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
def test_the_recipe_of_spark_prints_what_it_shows(tmp_path):
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


def test_the_pages_of_recipes_are_all_in_the_table_of_the_gallery():
    header = (FOLDER / "GALLERY_HEADER.rst").read_text("utf-8").partition("list-table")[2]
    listed = set(re.findall(r":doc:`(\w+)`", header))
    assert listed == {script.stem for script in RECIPES} - {"01_die"}


def test_lines_of_code_are_counted_without_comments():
    assert code_lines('"""\nTitle\n=====\n"""\n\n# %%\n# Text.\nx = [\n    1,\n]\n') == 3
