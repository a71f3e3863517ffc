"""Files that keep a client's secret and cohort."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.races import in_forks, race

import ldpstats as ldp
from ldpstats.clients.portable import ldpstats_client

# p = 0 and q = 1: every report is the permanent response itself
BARE = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=64, f=0.5, p=0.0, q=1.0)
KRR = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)


def test_a_state_holds_the_secret_and_the_cohort_alone(tmp_path: Path) -> None:
    path = tmp_path / "state"
    client = BARE.client(state=path)
    before = path.read_bytes()
    for answer in ("an answer", "another"):
        client.report(answer)
    assert path.read_bytes() == before
    document = json.loads(before)
    assert set(document) == {"format", "version", "fingerprint", "cohort", "secret"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["state"]
    assert document == client.to_dict() and client.to_dict()["secret"] not in repr(client)
    with_list = ldp.RAPPOR(6, 2, 2, f=0.5, p=0.2, q=0.8, alphabet=("a", "b"))
    with_list.client(state=tmp_path / "listed").report("a")
    assert set(json.loads((tmp_path / "listed").read_bytes())) == set(document)


def test_state_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    good = BARE.client(state=path).to_dict()
    old = {
        "format": "ldpstats-rappor-client",
        "version": 1,
        "fingerprint": BARE.fingerprint,
        "cohort": 3,
        "permanent": {"0123456789abcdef": "ffff"},
    }
    broken = [
        (json.dumps(old), "0.1.0.*remove it"),
        ("", "is empty"),
        ("{", "damaged"),
        (json.dumps(good) + "\nx", "damaged"),
        (json.dumps([good]), "damaged"),
        (json.dumps(good | {"version": 3}), "version"),
        (json.dumps(good | {"version": True}), "version"),
        (json.dumps(good | {"cohort": 64}), "cohort"),
        (json.dumps(good | {"cohort": True}), "cohort"),
        (json.dumps(good | {"secret": "ab"}), "secret"),
        (json.dumps(good | {"secret": ["ab"]}), "secret"),
        (json.dumps(good | {"secret": None}), "secret"),
    ]
    for text, message in broken:
        path.write_text(text if text.endswith("x") or not text else text + "\n")
        with pytest.raises(ldp.LDPError, match=message) as found:
            BARE.client(state=path)
        assert good["secret"] not in str(found.value)
    path.write_text(json.dumps(good) + "\n")
    with pytest.raises(ldp.MechanismMismatch, match="fingerprint"):
        ldp.RAPPOR(16, 2, 64, f=0.4, p=0.0, q=1.0).client(state=path)
    with pytest.raises(ldp.InvalidArgument, match="another client"):
        KRR.client(state=path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    missing = tmp_path / "no" / "state"
    for where in (tmp_path, tmp_path / "pipe", tmp_path / "dangling", missing, 3, "", "a\0b"):
        with pytest.raises(ldp.InvalidArgument, match="state"):
            BARE.client(state=where)  # type: ignore[arg-type]
    arrays = [good | {name: np.arange(2)} for name in good]
    for document in (None, {}, [good], np.arange(3), *arrays, "x", old):
        with pytest.raises(ldp.LDPError):
            ldp.RAPPORClient.from_dict(document, BARE)  # type: ignore[arg-type]
    with pytest.raises(ldp.InvalidArgument, match="mechanism"):
        ldp.RAPPORClient.from_dict(good, KRR)
    for secret in ("x" * 32, b"short", bytes(33), 5):
        with pytest.raises(ldp.InvalidArgument, match=r"secret=\(not shown\)"):
            BARE.client(secret=secret)  # type: ignore[arg-type]
    with pytest.raises(ldp.InvalidArgument, match="state"):
        BARE.client(secret=bytes(32), state=path)


def test_many_that_make_one_state_at_once_share_it(tmp_path: Path, hasty: None) -> None:
    for i in range(5):
        path = tmp_path / f"state {i}"
        assert len(set(race(lambda p=path: BARE.client(state=p).report("a")))) == 1  # type: ignore[misc]
        path.unlink()
        assert len(set(in_forks(lambda p=path: BARE.client(state=p).report("a")))) == 1  # type: ignore[misc]
        assert os.listdir(tmp_path) == [f"state {i}"]
        path.unlink()


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o602, 0o644])
@pytest.mark.parametrize("kind", ["count", "secret", "ledger", "portable"])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, kind: str, mode: int) -> None:
    path = tmp_path / "state"

    def opened() -> Any:
        if kind == "ledger":
            return ldp.privacy.Ledger(limit=1.0, state=path)
        if kind == "portable":
            return ldpstats_client.Client(KRR.client_document(), state=path)
        return (KRR if kind == "count" else BARE).client(state=path)

    opened()
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    path.chmod(mode)
    with pytest.raises(ValueError, match=rf"has the mode {mode:o}.*chmod 600"):
        opened()
    assert path.read_bytes() == before
    path.chmod(0o600)
    opened()


@pytest.mark.parametrize("restore", [False, True])
def test_restoring_a_file_gives_the_budget_again_as_the_pages_say(
    tmp_path: Path, restore: bool
) -> None:
    path = tmp_path / "state"
    client = KRR.client(state=path, reports=1)
    copy = path.read_bytes()
    client.report("yes")
    if restore:
        path.write_bytes(copy)
        KRR.client(state=path, reports=1).report("yes")
    else:
        with pytest.raises(ldp.BudgetSpent):
            KRR.client(state=path, reports=1).report("yes")
    for promise in (ldp.privacy.Ledger, ldp.KRR.client, ldp.RAPPOR.client):
        words = " ".join((promise.__doc__ or "").split())
        assert re.search(r"[Rr]estoring an older copy .*gives the budget again", words)


def test_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    def refused(*names: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    for i in range(12):
        path = tmp_path / f"state {i}"
        results = race(lambda p=path: BARE.client(state=p).report("a"), 6)  # type: ignore[misc]
        assert len(set(map(str, results))) == 1
        assert path.stat().st_mode & 0o777 == 0o600


_REPORTER = """
import json, sys
sys.path.insert(0, sys.argv[2])
from ldpstats_client import Client  # which the package's client keeps its file with
print("ready", flush=True)
client = Client(json.loads(sys.argv[3]), state=sys.argv[1])
while True:
    print(client.report("an answer"), flush=True)
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_one_permanent_response(
    tmp_path: Path, attempts: Callable[[int], int]
) -> None:
    rng = np.random.default_rng(3)
    folder = str(Path(ldpstats_client.__file__).parent)
    given = folder, json.dumps(BARE.client_document())
    for i in range(attempts(50)):
        path, seen = tmp_path / f"state {i}", set()
        for _ in range(3):
            command = [sys.executable, "-S", "-E", "-c", _REPORTER, str(path), *given]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                timer = threading.Timer(0.02 * rng.random(), process.send_signal, [signal.SIGKILL])
                timer.start()
                lines = process.stdout.read().split("\n")[:-1]  # the last may be cut
            seen |= set(lines)
        seen.add(BARE.client(state=path).report("an answer"))
        assert len(seen) == 1
