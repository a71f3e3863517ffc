"""The README: its survey prints what it shows, its plot is drawn by its code, its links lead on.

``python tests/site/test_readme.py`` writes output and plot anew.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))  # as a script

from shared.pages import blocks, outputs, same, with_outputs

README = ROOT / "README.md"
PLOT = ROOT / "vignettes" / "_static" / "late_by_job.png"


def survey(text: str) -> list:
    return [block for block in blocks(text) if block.language == "python"]


def drawn(text: str) -> str:
    """What the plot was drawn by."""
    code = "\n".join(block.code for block in survey(text))
    return hashlib.sha256(code.encode()).hexdigest()


def test_the_survey_prints_what_is_shown(tmp_path: Path) -> None:
    found = survey(README.read_text("utf-8"))
    assert len(found) == 2
    for block, printed in zip(found, outputs(found, tmp_path), strict=True):
        assert same(block.shown, printed), printed


def test_the_plot_is_that_of_the_code() -> None:
    image = pytest.importorskip("PIL.Image").open(PLOT)
    assert image.text["Description"] == drawn(README.read_text("utf-8"))


def test_a_visitor_reads_less_than_120_lines() -> None:
    assert len(README.read_text("utf-8").splitlines()) < 120


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text("utf-8"))
    assert len(links) > 8
    assert [link for link in links if not (ROOT / link).exists()] == []


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    text = with_outputs(README.read_text("utf-8"), lambda block: block.language == "python")
    README.write_text(text, encoding="utf-8")
    names: dict[str, object] = {}
    for block in survey(text):
        exec(block.code, names)
    pyplot.gcf().set_size_inches(6.4, 3.4)
    pyplot.savefig(PLOT, dpi=110, metadata={"Description": drawn(text), "Software": None})
