"""The command line where its streams are closed, full or broken, and its messages long."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main
from ldpstats.cli import program as cli

pytestmark = pytest.mark.usefixtures("signals_heard")

JOBS = ("nurse", "teacher", "driver")
COMMAND = f"{sys.executable} -m ldpstats.cli"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    mechanism = ldp.KRR(JOBS, epsilon=1.0)
    monkeypatch.chdir(tmp_path)
    io.write_mechanism(mechanism, "spec.json")
    drawn = mechanism.privatize(np.repeat(JOBS, 100), np.random.default_rng(1))
    io.write_reports(drawn, "reports.csv")
    Path("answers.csv").write_text("job\n" + "nurse\n" * 50)
    return tmp_path


FIT = "fit reports.csv --spec spec.json"
PRIVATIZE = "privatize answers.csv out.csv --column job --spec spec.json"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    how: dict[str, Any] = {"env": os.environ | environment, "capture_output": True, "text": True}
    return subprocess.run(["sh", "-c", line], **how)


def files() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


@pytest.mark.parametrize("command", [f"{FIT} --json out.json", PRIVATIZE])
def test_closed_standard_output(command, folder):
    before = files()
    ran = shell(f"{COMMAND} {command} >&-")
    assert ran.returncode == 2
    says = "standard output is closed: redirect it, for example to /dev/null"
    assert ran.stderr == f"ldpstats: error: {says}\n" and files() == before


@pytest.mark.parametrize(  # unbuffered output fails at the first line, other output at the end
    ("command", "unbuffered"),
    [(PRIVATIZE, ""), ("--help", "1")],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_standard_output_that_is_full(unbuffered, command, folder):
    ran = shell(f"{COMMAND} {command} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert ran.returncode == 2
    says = "standard output cannot be written (No space left on device)"
    assert ran.stderr == f"ldpstats: error: {says}\n"


@pytest.mark.parametrize("closed", ["2>&- <&-"])
def test_other_streams_that_are_closed(closed, folder):
    good = shell(f"{COMMAND} {PRIVATIZE} {closed}")
    assert (good.returncode, good.stderr) == (0, "") and "50 reports" in good.stdout
    assert io.read_counts("out.csv", io.read_mechanism("spec.json")).nobs == 50
    bad = shell(f"{COMMAND} {PRIVATIZE} {closed}")  # the file exists now
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "" or "already exists" in bad.stderr


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EIO, "x" * 5000), ldp.LDPError("x" * 5000), ZeroDivisionError("x" * 5000)],
)
def test_a_line_has_at_most_2000_characters(error, folder, monkeypatch, capsys):
    def fail(*given: Any, **how: Any) -> None:
        raise error

    monkeypatch.setattr(ldp.FrequencyModel, "fit", fail)
    assert main(FIT.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "xxx...xxx" in err
    assert 1990 < len(err) <= 2001  # with the end of the line
    cli._show_warning("w" * 5000, ldp.LDPWarning, "", 0)
    assert 1990 < len(capsys.readouterr().err) <= 2001


def test_a_second_interruption_is_no_traceback(folder, monkeypatch, capsys):
    def interrupt(*given: Any, **how: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ldp.FrequencyModel, "fit", interrupt)
    monkeypatch.setattr(cli, "_complain", interrupt)
    assert main([*FIT.split(), "--json", "out.json"]) == 130
    assert capsys.readouterr() == ("", "") and "out.json" not in files()


AT_THE_END = """
import os, signal, sys, threading, time
from ldpstats.cli.program import command

def interrupt():
    threading.main_thread().join()  # Python ends, and waits for this thread
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)

threading.Thread(target=interrupt).start()
sys.argv = ["ldpstats", "--version"]
command()
"""


def test_an_interruption_while_python_ends_is_no_traceback():
    ended = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")
    assert ended.stdout == f"ldpstats {ldp.__version__}\n".encode()


INTERRUPTED = """
import signal, sys
from ldpstats.cli import main

def run(at):
    \"\"\"Interrupt at one of the lines that run; return how many there were, and the status.\"\"\"
    lines = 0
    def trace(frame, event, arg):
        nonlocal lines
        if frame.f_code is main.__code__ and frame.f_lineno == first:
            return trace  # the first line stands before everything that could catch it
        lines += event == "line"
        if event == "line" and lines == at:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace
    sys.settrace(trace)
    try:
        status = main(["--version"])
    except KeyboardInterrupt:
        status = "escaped"
    sys.settrace(None)
    return lines, status

first = next(line for *_, line in main.__code__.co_lines() if line != main.__code__.co_firstlineno)
total, _ = run(0)
moments = [*range(1, 150, 3), *range(150, total - 100, 100), *range(total - 100, total + 1, 3)]
print(total, {run(at)[1] for at in moments})
"""


@pytest.mark.slow
def test_an_interruption_at_any_line_is_no_traceback():
    """From the first line on: the streams, the handlers of signals, the arguments, the end."""
    environment = os.environ | {"PYTHONPATH": str(Path(ldp.__file__).parents[1])}
    command = [sys.executable, "-c", INTERRUPTED]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert "Traceback" not in ran.stderr and ran.returncode == 0
    total, statuses = ran.stdout.splitlines()[-1].split(maxsplit=1)
    assert int(total) > 1000 and statuses in ("{0, 130}", "{130, 0}", "{130}")


class Closing:
    """What is interrupted while it is being thrown away, where no error can be raised."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error("while closing")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interruption_that_cannot_be_raised_is_not_printed(error, folder, monkeypatch):
    told: list[Any] = []

    def fail(*given: Any, **how: Any) -> None:
        Closing(error)
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "unraisablehook", lambda found: told.append(found.exc_type))
    before = sys.unraisablehook
    monkeypatch.setattr(ldp.FrequencyModel, "fit", fail)
    assert main(FIT.split()) == 130
    assert told == ([] if error is KeyboardInterrupt else [ValueError])
    assert sys.unraisablehook is before


@pytest.mark.parametrize("old", [False, True])
def test_results_appear_together(old, folder, monkeypatch, capsys):
    """The plot cannot be put in its place: the JSON is not there either, or the old one is."""
    if old:
        Path("out.json").write_text("mine")
        Path("out.png").write_text("mine")
    before, real = files(), os.replace

    def fail(source: str, target: str) -> None:
        if target.endswith("out.png"):
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    def no_links(*given: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(os, "link", no_links)
    assert main([*FIT.split(), "--json", "out.json", "--plot", "out.png", "--force"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "out.png': cannot be written (Input/output error)" in err
    assert files() == before and (not old or Path("out.json").read_text() == "mine")
    monkeypatch.undo()
    os.chdir(folder)
    assert main([*FIT.split(), "--json", "out.json", "--plot", "out.png", "--force"]) == 0
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")
