"""Tables of the evidence are made of what is stored, and of nothing else."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "vignettes" / "evidence").glob("*.md"))
DIRECTIVE = re.compile(r"^```\{stored-table\} (\S+)\n:shown: (\w+)\n\n(.+?)\n```$", re.M | re.S)
USED = [(page, *found) for page in PAGES for found in DIRECTIVE.findall(page.read_text("utf-8"))]

sys.path.insert(0, str(ROOT / "vignettes" / "extensions"))
evidence = importlib.import_module("evidence")
shared = evidence.shared


def made(path: str, shown: str) -> Any:
    return evidence.TABLES[shown](pd.read_csv(ROOT / path, comment="#"))


@pytest.mark.parametrize(("page", "path", "shown", "caption"), USED, ids=[u[2] for u in USED])
def test_a_table_says_what_it_rests_on(page, path, shown, caption):
    found = made(path, shown)
    assert len(found.table) > 1 and found.table.notna().all(axis=None)
    assert found.table.map(lambda x: isinstance(x, (str, int))).all(axis=None)
    if shown == "benchmark":
        assert "CPython" in found.made and "cores" in found.made
    else:
        assert re.search(r"\d+ (surveys|samples) of each setting|number of surveys", found.made)
        assert re.search(r"error|p-value|by chance|steps", found.made)


def test_every_table_is_on_a_page_and_no_page_asks_for_another():
    assert {shown for _, _, shown, _ in USED} == set(evidence.TABLES)
    directives = sum(page.read_text("utf-8").count("{stored-table}") for page in PAGES)
    assert len(USED) == directives > 20
    for _, path, _, _ in USED:
        assert (ROOT / path).is_file(), path


def test_no_page_of_stored_tables_has_a_typed_one():
    for page in PAGES:
        if page.stem not in ("papers", "index"):
            assert not re.search(r"^\|", page.read_text("utf-8"), re.M), page


@pytest.mark.parametrize(
    ("path", "shown", "column"),
    [
        ("benchmarks/studies/unknown_devices.csv", "coverage_of_devices", "coverage"),
        ("benchmarks/studies/association_tests.csv", "size_of_independence_tests", "size"),
        ("benchmarks/studies/default_surveys.csv", "coverage_of_frequencies", "mean"),
        ("benchmarks/studies/krr_or_rappor.csv", "krr_or_rappor", "krr_projected_l1"),
    ],
)
def test_another_stored_figure_makes_another_table(path, shown, column):
    stored = pd.read_csv(ROOT / path, comment="#")
    before = evidence.TABLES[shown](stored).table
    after = evidence.TABLES[shown](stored.assign(**{column: stored[column] * 0.9})).table
    assert before.shape == after.shape and not before.equals(after)


def test_how_figures_are_written():
    numbers = pd.Series([0.12345, float("nan")])
    assert shared.plain(numbers).tolist() == ["0.123", "-"]
    assert shared.significant(1234.5) == "1,234" and shared.significant(0.0123456) == "0.0123"
    assert shared.of(pd.Series([300, 2000, 300])) == "2,000 or 300 surveys of each setting"
    assert shared.error(0.5, pd.Series([100, 400])).endswith("0.5 is 0.0500")


def test_what_is_missing_ends_the_build():
    ExtensionError = pytest.importorskip("sphinx.errors").ExtensionError
    stored_tables = pytest.importorskip("stored_tables")
    with pytest.raises(ExtensionError, match=r"no file benchmarks/none\.csv"):
        stored_tables.shown("benchmarks/none.csv", "benchmark")
    with pytest.raises(ExtensionError, match="no table 'none'"):
        stored_tables.shown("benchmarks/studies/unknown_devices.csv", "none")
