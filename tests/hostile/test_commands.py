"""Hostile command lines: one clear line, or an answer; nothing else.

The quick share runs always; the full one is slow. ``LDPSTATS_SLOW_SHARE`` scales it.
"""

import contextlib
import io as text_io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import commands
from hostile.commands import COMMANDS, Kitchen, Run, fault_of_run, run_and_judge

from ldpstats.cli import main

RUNS, QUICK_RUNS = 6_000, 120


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    return Kitchen(tmp_path_factory.mktemp("kitchen"))


@pytest.mark.parametrize("argv", COMMANDS, ids=[" ".join(c[:2]) + f" {len(c)}" for c in COMMANDS])
def test_the_commands_work(argv, kitchen):
    """The negative control: what is spoiled was good."""
    folder, here, err = kitchen.fresh(), Path.cwd(), text_io.StringIO()
    assert fault_of_run(Run(0, argv, ()), folder) == ""
    folder = kitchen.fresh()
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(text_io.StringIO()):
            assert main(list(argv)) == 0
    finally:
        os.chdir(here)
    assert err.getvalue() == ""


def run_faults(numbers: range, kitchen: Kitchen) -> list[str]:
    judged = (run_and_judge(number, kitchen) for number in numbers)
    return [f"{run}: {fault}" for run, fault in judged if fault]


def test_hostile_command_lines(kitchen):
    assert run_faults(range(QUICK_RUNS), kitchen) == []


@pytest.mark.slow
def test_many_hostile_command_lines(kitchen, replications):
    assert run_faults(range(QUICK_RUNS, QUICK_RUNS + replications(RUNS)), kitchen) == []


def test_a_fault_of_a_run_is_seen(kitchen, monkeypatch):
    """The negative control: tracebacks, two lines, leftovers and changed input."""

    def judged(does: Callable[[], int]) -> str:
        monkeypatch.setattr(commands, "main", lambda argv: does())
        return fault_of_run(Run(0, ("audit", "spec.json"), ()), kitchen.fresh())

    def complain(*lines: str) -> int:
        print(*lines, sep="\n", file=sys.stderr)
        return 2

    def leave(name: str) -> int:
        Path(name).write_text("x")
        return complain("ldpstats: error: no")

    def fail() -> int:
        raise KeyError("bare")

    assert judged(lambda: complain("ldpstats: error: no")) == ""
    assert judged(lambda: 0) == ""
    assert "2 lines" in judged(lambda: complain("ldpstats: error: no", "and no"))
    assert "0 lines" in judged(lambda: 2)
    assert "status 3" in judged(lambda: 3)
    assert "defect" in judged(lambda: complain("ldpstats: error: a defect of ldpstats, please"))
    assert "KeyError" in judged(fail)
    assert "left" in judged(lambda: leave(".out.csv.1234"))
    assert "changed" in judged(lambda: leave("spec.json"))
