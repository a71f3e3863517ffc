"""Every vignette is a short paper that opens as a notebook; those that need more show its output.

The build of the site executes them, with warnings as errors (`vignettes/extensions/strict.py`), and
they assert the numbers that they print. The simulations behind them are in `benchmarks/studies/`;
`tests/studies/` computes a part of each again and asserts what the vignettes leave out.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest
from shared.scripts import run

ROOT = Path(__file__).parents[1]
VIGNETTES = sorted((ROOT / "vignettes" / "articles").glob("*.py"))
NAMES = [script.stem for script in VIGNETTES]
SHARED = ROOT.parent / "shared" / "data"  # tables that do not come with the package
TABLES = {
    "04_rappor_candidates": ("--hosts", "urls/usgov_hosts_top100.csv"),
    "05_association": ("--apps", "apps/google_play_2019_counts.csv"),
    "07_personal": ("--map", "location/nyc_uber_grid25.csv"),
}


def pairs(text: str) -> list[tuple[str, str]]:
    """What a paper says and what an article found, from the list "The paper, and here"."""
    _, heading, section = text.partition("# The paper, and here\n# -------------------\n")
    items = section.split("\n# - ")[1:] if heading else []
    found = [re.match(r"\*\*(.+?)\*\*: (\S.*)", item) for item in items]
    return [match.groups() for match in found if match]


def stored(script: Path) -> list[str]:
    """What an article shows of a run that needs more than the package, one text for each."""
    blocks = re.findall(
        r"^# \.\. code-block:: text\n#\n((?:#     .*\n)+)", script.read_text("utf-8"), re.M
    )
    return ["".join(line[6:] + "\n" for line in block.splitlines()) for block in blocks]


def lost(text: str) -> list[str]:
    """Markup in the text of an article that its notebook would show as it is written."""
    _, introduction, code = re.split(r'"""\n', text, maxsplit=2)
    cells = [introduction, *re.findall(r"^# %%\n((?:#.*\n)+)", code, re.M)]
    prose = "\n".join(re.sub(r"^# ?", "", cell, flags=re.M) for cell in cells)
    roles = re.findall(r":(?!math:)[a-z:]+:`", prose)
    directives = re.findall(r"^\.\. (?!code-block::|math::|note::|warning::).*", prose, re.M)
    return roles + directives + re.findall(r"^[|+=-]+ [|+= -]+$", prose, re.M)


def shown(ran: subprocess.CompletedProcess[str]) -> str:
    """What a run printed, without the blanks at the ends of lines."""
    return "".join(line.rstrip() + "\n" for line in ran.stdout.splitlines())


def test_a_vignette_reads_like_a_short_paper():
    """80 to 300 lines with a title; what redoes a paper's experiments sets its numbers by ours."""
    others = {"01_survey", "04_rappor_candidates", "09_questionnaire", "10_large_data"}
    others |= {"11_complex_samples", "12_regression", "13_planning"}
    others |= {"14_partial_pooling", "15_cheating_detection", "16_panel"}
    assert others < set(NAMES) and [int(name[:2]) for name in NAMES] == [*range(1, 1 + len(NAMES))]
    for script in VIGNETTES:
        text = script.read_text(encoding="utf-8")
        assert 80 <= len(text.splitlines()) <= 300, script
        assert re.match(r'r?"""\n(?P<title>.+)\n=+\n\n\S', text), script
        assert script.stem in others or len(pairs(text)) >= 8, script


def test_only_whole_pairs_count():
    heading = "# The paper, and here\n# -------------------\n#\n"
    assert pairs(heading + "# - **It is so**: it is.\n# - **But**:\n# - no.\n") == [
        ("It is so", "it is.")
    ]
    assert pairs("# - **It is so**: it is.\n") == []


def test_a_vignette_opens_as_a_notebook():
    """What the gallery does not translate is not used, and what the notebook needs is said."""
    needed = "start the notebook of this page in a folder of the repository"
    for script in VIGNETTES:
        text = script.read_text(encoding="utf-8")
        assert lost(text) == [], script
        if "benchmarks.studies" in text:
            assert needed in " ".join(text.split('"""')[1].split()), script


def test_markup_that_a_notebook_shows_is_caught():
    for markup in (":py:obj:`ldpstats.KRR`", ".. figure:: a.png", "==== ===="):
        assert lost(f'"""\nTitle\n=====\n\n{markup}\n"""\n\nimport numpy\n') == [
            markup.partition("`")[0] + "`" * ("`" in markup)
        ]
        assert lost(f'"""\nTitle\n=====\n"""\n\n# %%\n# Text.\n#\n# {markup}\n\nx = 1\n')


def test_the_site_runs_scripts_with_warnings_as_errors(tmp_path, monkeypatch):
    """As the configuration of Sphinx-Gallery asks for; what a script writes ends the build too."""
    conf = (ROOT / "vignettes" / "conf.py").read_text("utf-8")
    assert '"abort_on_example_error": True' in conf and '"reset_modules_order": "both"' in conf
    assert '"strict.run_strictly"' in conf
    monkeypatch.syspath_prepend(ROOT / "vignettes" / "extensions")
    run_strictly = importlib.import_module("strict").run_strictly
    gallery = {"src_dir": str(tmp_path), "examples_dirs": ["."]}
    with warnings.catch_warnings():
        run_strictly(gallery, "01.py", "before")
        with pytest.raises(DeprecationWarning):
            warnings.warn("old", DeprecationWarning, stacklevel=1)
        (tmp_path / "01.py").touch()
        run_strictly(gallery, "01.py", "after")
        (tmp_path / "plot.png").touch()
        with pytest.raises(OSError, match=r"01\.py.*wrote \['plot\.png'\]"):
            run_strictly(gallery, "01.py", "after")


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_stored_output_is_that_of_the_table(name, tmp_path):
    option, table = TABLES[name]
    if not (SHARED / table).exists():
        pytest.skip(f"{table} is not in {SHARED}")
    script = ROOT / "vignettes" / "articles" / f"{name}.py"
    ran = run(script, option, SHARED / table, directory=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (output,) = stored(script)
    assert output in shown(ran)


@pytest.mark.spark
def test_the_vignette_of_large_data_runs_on_spark(tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: Spark needs version 17")
    script = ROOT / "vignettes" / "articles" / "10_large_data.py"
    ran = run(script, "--spark", directory=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (output,) = stored(script)
    assert output in shown(ran)


def test_stored_output_is_in_the_articles_that_need_more():
    more = [script.stem for script in VIGNETTES if stored(script)]
    assert more == sorted([*TABLES, "10_large_data"])
