"""The program: audits, help, streams and exits."""

import io
import json
import runpy
import shlex
import subprocess
import sys
import warnings
from typing import Any

import pytest
from shared.job_runs import JOBS, fit, privatize
from shared.scripts import run

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import common, main
from ldpstats.cli import program as cli

COMMAND = [sys.executable, "-m", "ldpstats.cli"]


# -- audit -----------------------------------------------------------------------------------------
def test_an_audit(reports, capsys):
    audit = ldp.KRR(JOBS, 1.0).audit()
    assert main(["audit", str(reports / "spec.json")]) == 0
    assert capsys.readouterr().out == f"{audit}\n"
    assert main(["audit", str(reports / "spec.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == audit.to_dict()


def test_an_audit_that_does_not_agree(reports, monkeypatch, capsys):
    monkeypatch.setattr(ldp.KRR, "_sampler_epsilon", lambda self: 2.0 * self.epsilon)
    assert main(["audit", str(reports / "spec.json")]) == 1
    assert "DO NOT AGREE" in capsys.readouterr().out


def test_an_infinite_epsilon_is_valid_json(tmp_path, capsys):
    files.write_mechanism(ldp.Mangat(p=0.6), tmp_path / "spec.json")
    assert main(["audit", str(tmp_path / "spec.json"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["declared"] is None


# -- streams and exits -----------------------------------------------------------------------------
@pytest.mark.parametrize("argv", [["--help"], ["associate", "--help"]])
def test_help(argv, capsys):
    assert main(argv) == 0
    out = capsys.readouterr()
    assert out.out.startswith("usage: ldpstats") and out.err == ""


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ldpstats {ldp.__version__}\n"


def test_the_examples_of_the_help_are_understood():
    text = cli._EXAMPLES.replace("\\\n", " ")
    commands = [
        shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  ldpstats")
    ]
    assert len(commands) == 26
    for arguments in commands:
        assert cli._parser().parse_args(arguments).command == arguments[0]


def test_nothing_moves_where_there_is_no_terminal(answers, capsys):
    assert not sys.stderr.isatty()
    assert privatize(answers, "krr", ".csv", ".csv") == 0
    assert fit(answers) == 0
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_moves_on_a_terminal(monkeypatch):
    import tqdm

    class Eager(tqdm.tqdm):
        def __init__(self, **how: Any) -> None:
            super().__init__(**(how | {"delay": 0, "mininterval": 0}))

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(tqdm, "tqdm", Eager)
    with common.progress("counting") as advance:
        assert advance is not None
        advance(0.25)
        advance(0.5, "grams")
        advance(1.0)
    for words in ("counting  25%", "counting: grams  50%", "counting 100%"):
        assert words in screen.getvalue()


def test_a_warning_is_one_line(reports, monkeypatch, capsys):
    whole = ldp.FrequencyModel.fit

    def warning_fit(self: ldp.FrequencyModel, method: Any = None) -> ldp.FrequencyResults:
        warnings.warn("stopped\n  early", ldp.ConvergenceWarning, stacklevel=2)
        return whole(self, method)

    monkeypatch.setattr(ldp.FrequencyModel, "fit", warning_fit)
    assert fit(reports) == 0
    out = capsys.readouterr()
    assert out.err == "ldpstats: warning: stopped early\n" and "nurse" in out.out


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "memory"),
        (ZeroDivisionError("x\ny"), 2, "please report it (ZeroDivisionError"),
    ],
)
def test_no_error_is_a_traceback(error, status, says, reports, monkeypatch, capsys):
    def fail(self: ldp.FrequencyModel, method: Any = None) -> ldp.FrequencyResults:
        raise error

    monkeypatch.setattr(ldp.FrequencyModel, "fit", fail)
    assert fit(reports, "--json", str(reports / "out.json")) == status
    out = capsys.readouterr()
    assert out.out == "" and says in out.err and out.err.count("\n") == 1
    assert sorted(path.name for path in reports.iterdir()) == ["reports.csv", "spec.json"]


def test_a_reader_that_leaves_is_no_error(reports):
    """As in ``ldpstats audit ... | head -n 0``."""
    arguments = ["audit", str(reports / "spec.json")]
    program = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None and program.stderr is not None
    program.stdout.close()
    err = program.stderr.read()
    program.stderr.close()
    assert program.wait() == 141 and err == b""


def test_labels_that_the_terminal_cannot_show(tmp_path):
    sheet = ldp.Questionnaire({"drink": ldp.KRR(("café", "thé"), 1.0)})
    sheet.to_json(tmp_path / "sheet.json")
    arguments = [*COMMAND, "questionnaire", str(tmp_path / "sheet.json")]
    ran = subprocess.run(
        arguments, capture_output=True, text=True, env={"PYTHONIOENCODING": "ascii"}
    )
    assert "Traceback" not in ran.stderr
    assert (ran.returncode, ran.stderr.count("\n")) in ((0, 0), (2, 1))


def test_help_is_light():
    """Asking for help loads no library beyond those of ``import numpy, pandas``."""
    heavy = ["cvxpy", "matplotlib", "numba", "pyarrow.parquet", "scipy", "statsmodels", "tqdm"]
    code = (
        "import sys, numpy, pandas; before = set(sys.modules)\n"
        "from ldpstats.cli import main; main(['--help'])\n"
        f"print(sorted(set({heavy}) & (set(sys.modules) - before)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr == "[]\n"


# The main job of the README.


def test_the_demonstration_prints_the_table_beside_the_truth(tmp_path):
    ran = run("-m", "ldpstats.demo", "out", directory=tmp_path)  # a program, as the README runs it
    assert ran.returncode == 0 and ran.stderr == ""
    assert "The truth, which the analyst does not see" in ran.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"collected.csv", "income.png", "questionnaire.json"}


def test_help_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ldpstats.demo", "--help"])
    monkeypatch.delitem(sys.modules, "ldpstats.demo", raising=False)
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("ldpstats.demo", run_name="__main__")
    assert "Privatise income" in capsys.readouterr().out and not list(tmp_path.iterdir())
