"""Signals, forks and threads while files are written: nothing half made is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from shared.written_tables import names

from ldpstats import io
from ldpstats.cli import program as cli
from ldpstats.io import storage

pytestmark = pytest.mark.usefixtures("signals_heard")

ENDING = [signal.SIGTERM, signal.SIGHUP]


class Came(Exception):
    """What the handler of a test raises."""


@pytest.fixture
def handlers():
    """Handlers that raise an error, as that of SIGINT does."""

    def came(number: int, frame: Any) -> None:
        raise Came(number)

    before = {number: signal.signal(number, came) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [*ENDING, signal.SIGINT])
def test_a_signal_waits_for_the_commit(number, handlers, tmp_path, monkeypatch):
    paths = [tmp_path / "a", tmp_path / "b"]
    real = storage._Target.place

    def place(self: Any, keep: bool) -> None:
        signal.raise_signal(number)
        real(self, keep)

    monkeypatch.setattr(storage._Target, "place", place)
    before = {n: signal.getsignal(n) for n in (*ENDING, signal.SIGINT)}
    with pytest.raises((Came, KeyboardInterrupt)), io.replacing_all(paths):
        pass
    assert names(tmp_path) == ["a", "b"]
    assert {n: signal.getsignal(n) for n in before} == before


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with storage.cleaning_up():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            with storage.held():
                signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_change_no_handler():
    found: list[int] = []
    with storage.cleaning_up():
        assert signal.getsignal(signal.SIGTERM) == storage._clean_and_end
        thread = threading.Thread(target=lambda: found.append(cli.main(["--version"])))
        thread.start()
        thread.join()
    assert found == [0] and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_fork_removes_nothing_of_its_parent(tmp_path):
    with io.replacing(tmp_path / "a") as temporary:
        entry = next(iter(storage._unfinished))
        storage._unfinished.add((entry[0] + 1, *entry[1:]))  # as the child of a fork sees it
        storage._unfinished.discard(entry)
        storage.remove_unfinished(everyones=True)
        assert temporary.exists()


COMMAND = [sys.executable, "-c", "from ldpstats.cli.program import command; command()"]
SPEC = "--mechanism krr --epsilon 1 --categories nurse,teacher,driver --write-spec spec.json"
PRIVATIZE = ["privatize", "answers.csv", "reports.csv", "--column", "job", *SPEC.split()]


def start(folder: Path, *more: str, **how: Any) -> subprocess.Popen[bytes]:
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": folder} | how
    return subprocess.Popen([*COMMAND, *PRIVATIZE, *more], **how)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """A table that takes seconds to privatise."""
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    path.write_text("job\n" + "nurse\nteacher\ndriver\n" * 1_500_000)
    return path


def unfinished(folder: Path, program: subprocess.Popen[bytes]) -> bool:
    """Wait until a program writes; false if it ended before it was seen to."""
    while program.poll() is None:
        if any(path.stat().st_size for path in folder.glob(".ldpstats-*")):
            return True
        time.sleep(0.005)
    return False


@pytest.mark.parametrize(
    ("old", "number"), [(False, signal.SIGTERM), (True, signal.SIGHUP), (True, signal.SIGINT)]
)
def test_a_signal_leaves_nothing(old, number, answers, tmp_path):
    (tmp_path / "answers.csv").symlink_to(answers)
    before = {}
    if old:
        for name in ("reports.csv", "spec.json"):
            (tmp_path / name).write_text("mine")
            before[name] = "mine"
    program = start(tmp_path, "--force")
    assert unfinished(tmp_path, program)
    program.send_signal(number)
    out, err = program.communicate()
    # the process ends by the signal, which a shell shows as 143 or 129
    assert program.returncode == (130 if number == signal.SIGINT else -number)
    assert out == b"" and err == (b"" if number in ENDING else b"ldpstats: error: interrupted\n")
    (tmp_path / "answers.csv").unlink()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_a_hangup_that_is_ignored_stops_nothing(tmp_path):
    (tmp_path / "answers.csv").write_text("job\n" + "nurse\n" * 200_000)
    program = start(tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while program.poll() is None:
        program.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    out, err = program.communicate()
    assert (program.returncode, err) == (0, b"") and b"200000 reports" in out


@pytest.mark.slow
def test_a_signal_at_any_moment(tmp_path, attempts):
    """100 moments, or a share, from the first temporary file on, over the work and the commit."""
    (tmp_path / "answers.csv").write_text("job\n" + "nurse\nteacher\ndriver\n" * 50_000)
    program = start(tmp_path)
    begun = None
    while program.poll() is None:
        if begun is None and list(tmp_path.glob(".ldpstats-*")):
            begun = time.monotonic()
        time.sleep(0.001)
    assert begun is not None
    whole, done = time.monotonic() - begun, 0
    program.communicate()
    moments = attempts(100)
    for i in range(moments):
        number, old = (*ENDING, signal.SIGINT)[i % 3], {}
        for name in ("reports.csv", "spec.json"):
            (tmp_path / name).unlink(missing_ok=True)
            if i % 2:
                (tmp_path / name).write_text("mine")
                old[name] = "mine"
        program = start(tmp_path, "--force")
        while program.poll() is None and not list(tmp_path.glob(".ldpstats-*")):
            time.sleep(0.001)
        time.sleep(1.1 * whole * i / moments)
        program.send_signal(number)
        _, err = program.communicate()
        assert b"Traceback" not in err
        found = {p.name: p.read_text() for p in tmp_path.iterdir() if p.name != "answers.csv"}
        if found != old:  # the signal came too late: both files are there and whole
            done += 1
            whole *= 0.9  # of a machine that was busy with other work when this was measured
            mechanism = io.read_mechanism(tmp_path / "spec.json")
            assert set(found) == {"reports.csv", "spec.json"}
            assert io.read_counts(tmp_path / "reports.csv", mechanism).nobs == 150_000
        else:
            assert program.returncode in (-number, 130)
    assert done < moments  # the negative control: there was something to interrupt


@pytest.mark.slow
def test_programs_that_make_one_new_file(tmp_path, attempts):
    """Of two programs at once one is refused, and the specification is that of the reports."""
    (tmp_path / "answers.csv").write_text("job\n" + "nurse\nteacher\ndriver\n" * 1000)
    for _ in range(attempts(50) // 2):
        for name in ("reports.csv", "spec.json"):
            (tmp_path / name).unlink(missing_ok=True)
        programs = [start(tmp_path, "--epsilon", epsilon) for epsilon in ("1", "2")]
        ends = [(*program.communicate(), program.returncode) for program in programs]
        assert sorted(code for *_, code in ends) == [0, 2]
        assert next(err for _, err, code in ends if code).count(b"already exists") == 1
        mechanism = io.read_mechanism(tmp_path / "spec.json")
        assert mechanism.epsilon == 1.0 + [code for *_, code in ends].index(0)
        assert io.read_counts(tmp_path / "reports.csv", mechanism).nobs == 3000
        assert names(tmp_path) == ["answers.csv", "reports.csv", "spec.json"]
