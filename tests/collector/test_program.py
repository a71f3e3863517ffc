"""``ldpstats collect`` as a program: it is stopped, killed, and flooded with nonsense."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared.collecting import JSON, Sender, collecting, message, people, questionnaire, sent

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.collector import collect
from ldpstats.collector.app import opened_desk
from ldpstats.collector.intake import Checks, Refused

# every sheet has a label of its own, so that each can be found again
N = 3_000
NAMED = ldp.Questionnaire({"who": ldp.Observed(tuple(f"w{i}" for i in range(N)))})
MANY = [
    "--max-per-address",
    "1000000000",
    "--max-per-minute",
    "1000000000",
    "--max-sheets",
    "1000000",
]


@contextmanager
def program(
    folder: Path, sheet: ldp.Questionnaire, *more: str
) -> Iterator[tuple[subprocess.Popen[str], Sender]]:
    """The program in a process of its own, which is ended with the block."""
    file = folder.with_suffix(".json")
    sheet.to_json(file, force=True)
    arguments = ["collect", str(file), "--to", str(folder), "--port", "0", *MANY, *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "ldpstats.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        found = re.fullmatch(r"collecting at http://127\.0\.0\.1:(\d+)/\n", line)
        assert found, line + (process.stderr.read() if process.stderr else "")
        yield process, Sender(int(found[1]))
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_it_stops_in_order(tmp_path):
    answers = people(40, 3)
    sheets = sent(questionnaire(), answers, 4)
    for number in (signal.SIGTERM, signal.SIGINT):
        with program(tmp_path / "sheets", questionnaire()) as (process, sender):
            for sheet in sheets[:20] if number == signal.SIGTERM else sheets:
                assert sender.send(sheet).status == 200
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
            assert (process.returncode, out) == (0, "")
            assert re.match(r"ldpstats: 20 sheets in a file, [24]0 in all\n", err)
    assert len(ldp.Survey(tmp_path / "sheets")) == 40


def test_a_crowd_waits_while_the_collector_is_busy(tmp_path):
    """All connect at once; beyond its limit of waiting ones the system may reset some."""
    with program(tmp_path / "sheets", questionnaire()) as (process, sender), ExitStack() as crowd:
        sheet = next(iter(sent(questionnaire(), people(1, 3), 4)))
        assert sender.send(sheet).status == 200
        process.send_signal(signal.SIGSTOP)
        for _ in range(400):
            crowd.enter_context(socket.create_connection(("127.0.0.1", sender.port), 0.5))


@pytest.mark.slow
def test_idle_connections_leave_files_for_the_disk(tmp_path, monkeypatch):
    """More connections than the process may open files: the others are served, nothing is said."""
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -n 256\nexec "{sys.executable}" "$@"\n')
    limited.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(limited))
    with program(tmp_path / "sheets", questionnaire()) as (process, sender), ExitStack() as idle:
        for _ in range(400):
            where = ("127.0.0.1", sender.port)
            idle.enter_context(socket.create_connection(where, timeout=60))
        idle.close()
        answers = [sender.send(sheet) for sheet in sent(questionnaire(), people(20, 1), 2)]
        assert [answer.status for answer in answers] == [200] * 20
        process.terminate()
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "ldpstats: 20 sheets in a file, 20 in all\n")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--port", "70000"], "port=70000"),
        (["--batch", "19"], "batch=19: must be 20 or more"),
        (["--origin", "*"], "origins='*'"),
    ],
)
def test_bad_options(tmp_path, more, says, capsys):
    questionnaire().to_json(tmp_path / "q.json")
    command = ["collect", str(tmp_path / "q.json"), "--to", str(tmp_path / "sheets")]
    assert main([*command, "--port", "0", *more]) == 2
    out = capsys.readouterr()
    assert says in out.err and out.err.count("\n") == 1
    assert not (tmp_path / "sheets").exists()


def test_a_port_that_is_taken(tmp_path, capsys):
    questionnaire().to_json(tmp_path / "q.json")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        command = ["collect", str(tmp_path / "q.json"), "--to", str(tmp_path / "sheets")]
        assert main([*command, "--port", port]) == 2
    remedy = "another program listens there: name another port, or 0 for any that is free"
    said = f"ldpstats: error: host and port='127.0.0.1:{port}': {remedy}\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "sheets").exists()


def test_the_extra_is_named(tmp_path, monkeypatch, capsys):
    questionnaire().to_json(tmp_path / "q.json")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["collect", str(tmp_path / "q.json"), "--to", str(tmp_path / "x")]) == 2
    assert "pip install 'ldpstats[collect]'" in capsys.readouterr().err


# -- kill -9 ---------------------------------------------------------------------------------------


def send_all(sender: Sender, bodies: list[bytes], known: list[bytes], stop: int) -> list[bytes]:
    """Send from several threads; what was acknowledged. At `stop` the collector is killed."""
    waiting, found, lock = list(bodies), list(known), threading.Lock()

    def send() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                body = waiting.pop()
            try:
                if sender.send(body).status != 200:
                    return
            except (OSError, HTTPException):
                return
            with lock:
                found.append(body)
                if len(found) == stop:
                    os.kill(kill[0], signal.SIGKILL)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


kill = [0]


def killed_in_mid_load(folder: Path, kills: int, n: int, seed: int) -> None:
    """Kill the program several times; each acknowledged sheet must be there exactly once."""
    at = sorted(random.Random(seed).sample(range(10, n - 10), kills))
    bodies = [json.dumps(message(NAMED, {"who": f"w{i}"})).encode() for i in range(n)]
    accepted: list[bytes] = []
    for stop in [*at, -1]:
        with program(folder, NAMED, "--batch", "25") as (process, sender):
            kill[0] = process.pid
            done = set(accepted)
            left = [body for body in bodies if body not in done]
            accepted = send_all(sender, left, accepted, stop)
            if stop < 0:
                process.terminate()
            process.wait(timeout=30)
            assert process.returncode == (0 if stop < 0 else -signal.SIGKILL)
    assert len(accepted) == len(set(accepted)) == n
    collect(NAMED, folder, finish=True)
    files = sorted(folder.glob("*.parquet"))
    rows = Counter(pd.concat([pd.read_parquet(file) for file in files])["who"])
    assert rows == Counter(f"w{i}" for i in range(n))
    assert len(ldp.Survey(folder)) == n


def test_every_sheet_outlives_a_kill(tmp_path):
    killed_in_mid_load(tmp_path / "sheets", 1, 150, 5)


@pytest.mark.slow
def test_every_sheet_outlives_ten_kills(tmp_path):
    killed_in_mid_load(tmp_path / "sheets", 10, N, 6)


# -- nonsense --------------------------------------------------------------------------------------


def spoilt(random: random.Random, body: bytes) -> bytes:
    """A sheet that is damaged in some places."""
    found = bytearray(body)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(found))
        what = random.randrange(4)
        if what == 0:
            del found[place : place + random.randint(1, 20)]
        elif what == 1:
            found[place] = random.randrange(256)
        elif what == 2:
            found[place:place] = random.choice(NONSENSE)
        else:
            found[place : place + 1] = found[place : place + 1] * random.randint(2, 400)
        found = found or bytearray(b"x")
    return bytes(found)


NONSENSE = [b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"NaN", b"1e999", b"\\u0000",
            b"\xff", b"\xf0\x9f", b"\0", b"true", b"-", b'"sheet":{}', b'"__proto__":1,', b"  ",
            b'"token":"0",', b"\\ud800", b"9" * 5000]  # fmt: skip


def flood(folder: Path, n: int, seed: int) -> Counter[int]:
    """Send damaged sheets, half of them by odd methods, paths or headers; their statuses."""
    drawn, statuses = random.Random(seed), Counter[int]()
    (body,) = sent(questionnaire(), people(1, 1), 1)
    with collecting(folder) as sender:
        for i in range(n):
            damaged = spoilt(drawn, body)
            while is_sheet(damaged):  # a digit of the token may have become another
                damaged = spoilt(drawn, body)
            method, path, kind = "POST", "/sheets", JSON
            if i % 4 == 1:
                method = drawn.choice(["PUT", "GET", "DELETE", "PROPFIND", "X"])
            elif i % 4 == 2:
                path = drawn.choice(["/", "/sheets/", "/sheet", "/%2e%2e/", "/x?y", "*"])
            elif i % 4 == 3 and drawn.random() < 0.5:
                kind = drawn.choice(["text/plain", "", "json", "application/xml"])
            try:
                found = sender.request(method, path, damaged, content_type=kind)
            except (OSError, HTTPException):  # closed while we wrote
                statuses[0] += 1
                continue
            assert b"Traceback" not in found.body and b".py" not in found.body
            statuses[found.status] += 1
    assert statuses[200] == statuses[500] == 0
    assert not list(folder.glob("*.parquet"))  # what waits is written when the collector is stopped
    with collecting(folder) as sender:
        assert sender.send(body).status == 200
    collect(questionnaire(), folder, finish=True)
    assert [len(pd.read_parquet(file)) for file in folder.glob("*.parquet")] == [1]
    return statuses


def is_sheet(body: bytes) -> bool:
    """Whether damage left a sheet."""
    try:
        CHECKS.read(body)
        return True
    except Refused:
        return False


CHECKS = Checks.of(questionnaire().client_document())


def test_nonsense_is_refused(tmp_path, capfd):
    statuses = flood(tmp_path / "sheets", 200, 8)
    assert statuses[400] > 50 and statuses[405] > 40 and statuses[404] > 15
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_ten_thousand_malformed_requests(tmp_path, capfd, attempts):
    n = attempts(10_000)
    statuses = flood(tmp_path / "sheets", n, 9)
    assert sum(statuses.values()) == n and statuses[400] > 0.3 * n
    assert "Traceback" not in capfd.readouterr().err


def test_frequencies_cover_the_truth(tmp_path):
    answers, folder = people(2_000, 11), tmp_path / "sheets"
    desk = opened_desk(questionnaire(), folder, batch=500)
    desk.intake.store.add(map(desk.checks.read, sent(questionnaire(), answers, 12)))
    assert desk.intake.store.batch() == 2_000
    desk.intake.store.close()
    found = ldp.Survey(tmp_path / "sheets").frequencies("job")
    truth = answers["job"].value_counts(normalize=True)[list(found.params.index)]
    inside = found.conf_int().to_numpy()
    assert np.all((inside[:, 0] <= truth.to_numpy()) & (truth.to_numpy() <= inside[:, 1]))


# -- a full disk -----------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A disk of two megabytes in memory."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2048k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a disk can be mounted by root only")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_full_for_a_while(small_disk, tmp_path):
    sheet = ldp.Questionnaire({"who": ldp.KRAPPOR(2_000, 1.0)})
    drawn = np.random.default_rng(13).integers(0, 2, (300, 2_000)).astype(str)
    bodies = [json.dumps(message(sheet, {"who": "".join(bits)})).encode() for bits in drawn]
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 1_690_000)
    with collecting(small_disk / "sheets", sheet, batch=60) as sender:
        first = [sender.send(body).status for body in bodies]
        assert first.count(200) > 20 and first.count(503) > 20 and {*first} == {200, 503}
        assert sender.get("/health").status == 503
        filler.unlink()
        known = [body for body, status in zip(bodies, first, strict=True) if status == 200]
        more = [body for body, status in zip(bodies, first, strict=True) if status == 503][:60]
        for body in [*more, *known[:5]]:  # some of them again
            assert sender.send(body).status == 200
    collect(sheet, small_disk / "sheets", finish=True)
    reports = pd.concat([pd.read_parquet(f) for f in (small_disk / "sheets").glob("*.parquet")])
    expected = [json.loads(body)["sheet"]["who"] for body in [*known, *more]]
    bits = [np.unpackbits(np.frombuffer(b, np.uint8), bitorder="little") for b in reports["who"]]
    assert Counter("".join(map(str, row)) for row in bits) == Counter(expected)
