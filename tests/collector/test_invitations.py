"""Invitations: one sheet a code, whoever sends what, and nothing that joins a code and a sheet."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from collector.test_program import NAMED, program, send_all
from collector.test_program import kill as killing
from collector.test_store import LINES
from shared.collecting import Sender, collecting, message, questionnaire, some_reports

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.clients.portable.ldpstats_client import LETTERS, Client, Refused, invitation_code
from ldpstats.collector import collect, invite
from ldpstats.collector.app import _check_open, opened_desk
from ldpstats.collector.store import (
    INVITED,
    DiskFailure,
    enrol,
    hashed,
    opened_store,
    read_invitations,
    spend,
)
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.page import page_text

SHEET = questionnaire()
OTHER = questionnaire(ask=1)


def invited(
    folder: Path, n: int, sheet: ldp.Questionnaire = SHEET, name: str = "codes"
) -> tuple[list[str], dict[str, Any]]:
    """New codes, and the option of a collector that knows them."""
    hashes = invite(sheet, n, folder / f"{name}.csv")
    with open(folder / f"{name}.csv", newline="") as file:
        return [row["code"] for row in csv.DictReader(file)], {"invitations": [hashes]}


def with_code(code: object, **other: Any) -> dict[str, Any]:
    return message(SHEET, some_reports(), invitation=code, **other)


# -- codes -----------------------------------------------------------------------------------------


def test_codes_and_what_the_collector_is_given(tmp_path):
    old = os.umask(0o022)
    try:
        made = invite(SHEET, 200, tmp_path / "codes.csv", url="https://survey.example")
    finally:
        os.umask(old)
    assert made == tmp_path / "codes.invitations.json"
    with open(tmp_path / "codes.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    codes = [row["code"] for row in rows]
    assert len(set(codes)) == 200
    for row in rows:
        assert re.fullmatch(f"[{LETTERS}]{{4}}(-[{LETTERS}]{{4}}){{4}}", row["code"])
        assert row["link"] == f"https://survey.example/#{row['code']}"
    letters = Counter("".join(codes).replace("-", ""))
    assert set(letters) == set(LETTERS)  # each is missing with probability 1e-56
    assert max(letters.values()) < 2.2 * 4000 / 31  # 13 standard deviations
    for path in (made, tmp_path / "codes.csv"):
        assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600
    text = made.read_text()
    document = json.loads(text)
    assert document["codes"] == sorted(
        hashed(invitation_code(code), SHEET.fingerprint).hex() for code in codes
    )
    assert not any(code in text or invitation_code(code) in text for code in codes)
    with pytest.raises(InvalidArgument, match="already exists"):
        invite(SHEET, 3, tmp_path / "codes.csv")
    assert len((tmp_path / "codes.csv").read_text().splitlines()) == 201


def test_every_wrong_letter_and_every_two_that_change_places_show():
    drawn = random.Random(4)
    for _ in range(20):
        letters = "".join(drawn.choice(LETTERS) for _ in range(19))
        code = next(letters + last for last in LETTERS if is_code(letters + last))
        for i in range(20):
            others = [code[:i] + x + code[i + 1 :] for x in LETTERS if x != code[i]]
            assert not any(map(is_code, others))
            for j in range(i):
                swapped = code[:j] + code[i] + code[j + 1 : i] + code[j] + code[i + 1 :]
                assert swapped == code or not is_code(swapped)
    assert not set("01ILO") & set(LETTERS) and 19 * 4.954 > 94  # bits


def is_code(text: str) -> bool:
    try:
        return invitation_code(text) == text
    except Refused:
        return False


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"n": 0}, "n=0"),
        ({"n": 10**8}, "at most 10000000"),
        ({"n": 2.0}, "n=2.0"),
        ({"url": "survey.example"}, "address of the page"),
        ({"url": "https://survey.example/#a"}, "without a"),
        ({"url": "ftp://survey.example/"}, "address of the page"),
        ({"url": "https://survey.example/\n"}, "address of the page"),
        ({"questionnaire": ldp.KRR(2, 1.0)}, "must be a Questionnaire"),
    ],
)
def test_bad_arguments(tmp_path, how, says):
    with pytest.raises(InvalidArgument, match=says):
        invite(**{"questionnaire": SHEET, "n": 1, "to": tmp_path / "codes.csv", **how})
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path, capsys):
    SHEET.to_json(tmp_path / "q.json")
    command = ["invite", str(tmp_path / "q.json"), "-n", "1200", "--to", str(tmp_path / "c.csv")]
    assert main(command) == 0
    said = f"1,200 codes in {tmp_path / 'c.csv'}; for the collector: --invitations "
    assert capsys.readouterr().out == said + f"{tmp_path / 'c.invitations.json'}\n"
    assert (tmp_path / "c.csv").read_text().count("\n") == 1201
    assert main(command) == 2 and main([*command, "--url", "nowhere", "--force"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_files_that_are_no_invitations(tmp_path):
    _, option = invited(tmp_path, 3)
    (good,) = option["invitations"]
    survey = SHEET.fingerprint
    assert read_invitations([], survey) is None
    with pytest.raises(InvalidArgument, match=r"give the collector codes\.invitations\.json"):
        read_invitations([tmp_path / "codes.csv"], survey)
    with pytest.raises(MechanismMismatch, match="invitations to a questionnaire with fingerprint"):
        read_invitations([good], OTHER.fingerprint)
    document = json.loads(good.read_text())
    bad: list[Any] = [[], {}, document | {"version": 2}, document | {"codes": []}]
    bad += [document | {"codes": document["codes"][::-1]}, document | {"codes": ["0"]}]
    bad += [document | {"codes": [1, 2]}, document | {"codes": document["codes"][:1] * 2}]
    for place, one in enumerate(bad):
        path = tmp_path / f"{place}.json"
        path.write_text(json.dumps(one))
        with pytest.raises(InvalidArgument, match=r"is damaged|is no file of invitations"):
            read_invitations([path], survey)
    (tmp_path / "cut.json").write_text(good.read_text()[:-20])
    with pytest.raises(InvalidArgument, match="is not a specification"):
        read_invitations([tmp_path / "cut.json"], survey)
    with pytest.raises(InvalidArgument, match="must be a list of files"):
        read_invitations(str(good), survey)


# -- one sheet a code ------------------------------------------------------------------------------


def test_a_code_takes_one_sheet(tmp_path):
    codes, option = invited(tmp_path, 3)
    (other, *_), _ = invited(tmp_path, 1, OTHER, "other")
    folder = tmp_path / "sheets"
    document = SHEET.client_document()
    with collecting(folder, batch=20, **option) as sender:
        client = Client(document, reports=2)
        answers = {"job": "nurse", "late": "no", "sex": "f"}
        first = client.message(answers, invitation=codes[0].lower())
        assert first["invitation"] == codes[0].replace("-", "")
        for _ in range(3):  # no answer came, and it is sent again
            assert sender.send(first).json() == {"accepted": True}
        second = client.message(answers, invitation=codes[0])
        refused(sender, second, "spent", "another sheet came with this code")
        refused(sender, message(SHEET, some_reports()), "code", "with a code only")
        refused(sender, second | {"invitation": other}, "code", "no code of this survey")
        for wrong in (codes[1][:-1], codes[1] + "2", "", 7, None, [codes[1]], "hello"):
            refused(sender, second | {"invitation": wrong}, "code", "with a code only|typing error")
        (_, one, two) = read_invitations(option["invitations"], SHEET.fingerprint).hashes
        for stolen in (one.hex(), two.hex().upper()):  # whoever has the collector's file
            refused(sender, second | {"invitation": stolen}, "code", "typing error")
        # what was refused spent nothing, and the same sheet comes with the right code
        assert sender.send(second | {"invitation": f" {codes[1].lower()} "}).status == 200
        assert sender.send(second | {"invitation": codes[2]}).status == 200  # it is there
        assert sender.send(with_code(codes[2])).status == 200
        refused(sender, with_code(codes[2]), "spent", "another sheet")
        # what is no sheet spends no code, and another survey's is told apart
        assert sender.send(message(OTHER, some_reports(), invitation=codes[2])).status == 409
    with closing(opened_store(folder, LINES)) as store:
        assert store.waiting == 3


def refused(sender: Sender, sheet: dict[str, Any], reason: str, says: str) -> None:
    found = sender.send(sheet)
    said = found.json()
    assert found.status == 403 and {*said} == {"accepted", "reason", "error"}
    assert said["accepted"] is False and said["reason"] == reason and re.search(says, said["error"])


def test_a_collector_without_invitations_refuses_codes(tmp_path):
    codes, _ = invited(tmp_path, 1)
    with collecting(tmp_path / "sheets") as sender:
        found = sender.send(with_code(codes[0]))
        assert found.status == 400 and "leave the field out" in found.json()["error"]
        assert "reason" not in found.json()


def test_what_was_spent_outlives_a_restart(tmp_path, capsys):
    codes, option = invited(tmp_path, 40)
    folder = tmp_path / "sheets"
    with collecting(folder, batch=20, **option) as sender:
        for code in codes[:30]:  # of which some wait
            assert sender.send(with_code(code)).status == 200
    desk = opened_desk(SHEET, folder)
    with closing(desk.intake.store), pytest.raises(InvalidArgument, match="as before"):
        _check_open(desk, 100)
    more, another = invited(tmp_path, 1, name="more")
    both = {"invitations": option["invitations"] + another["invitations"]}
    with collecting(folder, batch=20, **both) as sender:
        assert sender.send(with_code(more[0])).status == 200
        for code in codes[:30]:
            refused(sender, with_code(code), "spent", "another sheet")
        assert sender.send(with_code(codes[30])).status == 200
    with collecting(folder, batch=20, **another) as sender:  # without the first file
        refused(sender, with_code(codes[31]), "code", "no code of this survey")
    with collecting(folder, batch=20, **both) as sender:
        refused(sender, with_code(codes[30]), "spent", "another sheet")
        assert sender.send(with_code(codes[31])).status == 200
    assert capsys.readouterr().err.count("sheets in a file") == 1
    collect(SHEET, folder, finish=True)  # takes no sheet, and needs no codes
    assert capsys.readouterr().out == "33 sheets in files, and none waits\n"


def test_only_so_many_sheets(tmp_path):
    folder, first = tmp_path / "sheets", message(SHEET, some_reports())
    for most in (25, 25, 26):
        with collecting(folder, batch=20, max_sheets=most) as sender:
            if sender.send(first).status == 200:
                statuses = [sender.send(message(SHEET, some_reports())).status for _ in range(40)]
                assert statuses == sorted(statuses)
            refused(sender, message(SHEET, some_reports()), "complete", "no more sheets are taken")
            assert sender.send(first).status == 200  # it is there
    with closing(opened_store(folder, LINES)) as store:
        assert store.waiting + store.stored == 26
    with pytest.raises(InvalidArgument, match="max_sheets=0"):
        opened_desk(SHEET, folder, max_sheets=0)


def test_one_line_says_what_an_open_collector_means(tmp_path, capsys):
    _, option = invited(tmp_path, 2)
    for number, how in enumerate(({}, {"max_sheets": 9}, option)):
        desk = opened_desk(SHEET, tmp_path / f"sheets {number}", **how)
        with closing(desk.intake.store):
            _check_open(desk, how.get("max_sheets"))
        said = capsys.readouterr().err
        assert said.count("\n") == (not how)
        assert bool(how) or "anybody can send 120 sheets a minute from one address" in said


def test_the_page_asks_for_a_code(tmp_path):
    _, option = invited(tmp_path, 2)
    with collecting(tmp_path / "sheets", **option) as sender:
        served = sender.get("/").body.decode()
    assert served == page_text(SHEET, post="/sheets", invitations=True)
    assert '"invited":true' in served and '"invited":false' in page_text(SHEET)
    SHEET.to_json(tmp_path / "q.json")
    command = ["page", str(tmp_path / "q.json"), "--to", str(tmp_path / "page.html")]
    assert main([*command, "--post", "/sheets", "--invitations"]) == 0
    assert (tmp_path / "page.html").read_text() == served
    with pytest.raises(InvalidArgument, match="invitations=1"):
        page_text(SHEET, invitations=1)


# -- forged sheets ---------------------------------------------------------------------------------


def forged_change_nothing(tmp_path: Path, n: int) -> None:
    """Sheets with no code, or a wrong one of any kind, from somebody who has all files."""
    codes, option = invited(tmp_path, 40)
    (other, *_), _ = invited(tmp_path, 1, OTHER, "other")
    hashes = read_invitations(option["invitations"], SHEET.fingerprint).hashes
    folder, drawn = tmp_path / "sheets", random.Random(1)
    with collecting(folder, batch=20, **option) as sender:
        for code in codes[:20]:
            assert sender.send(with_code(code)).status == 200
        end = time.monotonic() + 20
        while sender.get("/counts").json()["sheets"] < 20 and time.monotonic() < end:
            time.sleep(0.01)
        before = files_of(folder), sender.get("/counts").body, sender.get("/health").body
        record = (folder / ".collecting" / "sheets.db").read_bytes()
        assert json.loads(before[1])["sheets"] == 20
        statuses: Counter[tuple[int, str]] = Counter()
        for i in range(n):
            letters = "".join(drawn.choice(LETTERS) for _ in range(20))
            guess = next(letters[:-1] + x for x in LETTERS if is_code(letters[:-1] + x))
            kinds = (guess, drawn.choice(codes[:20]), letters, drawn.choice(hashes).hex(), other)
            given = [{"invitation": kind} for kind in kinds] + [{}, {"invitation": None}]
            found = sender.send(message(SHEET, some_reports(job="driver"), **given[i % 7]))
            statuses[found.status, found.json()["reason"]] += 1
        spent = len(range(1, n, 7))
        assert statuses == {(403, "spent"): spent, (403, "code"): n - spent}
        assert (files_of(folder), sender.get("/counts").body, sender.get("/health").body) == before
        assert (folder / ".collecting" / "sheets.db").read_bytes() == record
    assert files_of(folder) == before[0] and len(ldp.Survey(folder)) == 20


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}


def test_forged_sheets_change_nothing(tmp_path):
    forged_change_nothing(tmp_path, 70)


@pytest.mark.slow
def test_ten_thousand_forged_sheets_change_nothing(tmp_path):
    forged_change_nothing(tmp_path, 10_000)


def test_without_invitations_they_decide_the_survey(tmp_path):
    """The control of the tests above."""
    with collecting(tmp_path) as sender:
        for job in ["nurse"] * 10 + ["driver"] * 20:
            assert sender.send(message(SHEET, some_reports(job=job))).status == 200
    tables = pd.concat(map(pd.read_parquet, tmp_path.glob("*.parquet")))
    assert Counter(tables["job"]) == {"nurse": 10, "driver": 20}


_SENDERS = """
import http.client, json, sys, threading, time
port, start, *bodies = json.load(sys.stdin)
statuses = []
def send(body):
    time.sleep(max(0.0, start - time.time()))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/sheets", body, {"Content-Type": "application/json"})
    found = connection.getresponse()
    statuses.append([found.status, json.loads(found.read()).get("reason")])
threads = [threading.Thread(target=send, args=(body,)) for body in bodies]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(statuses))
"""


def test_two_hundred_codes_at_one_moment_from_two_processes(tmp_path):
    codes, option = invited(tmp_path, 200)
    folder = tmp_path / "sheets"
    with collecting(folder, **option) as sender:
        start = time.time() + 0.7
        senders = []
        for job in ("nurse", "driver"):
            reports = some_reports(job=job)
            bodies = [json.dumps(message(SHEET, reports, invitation=code)) for code in codes]
            process = subprocess.Popen(
                [sys.executable, "-S", "-c", _SENDERS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps([sender.port, start, *bodies]))
            process.stdin.close()
            senders.append(process)
        found = []
        for process in senders:
            assert process.stdout is not None
            found += [tuple(one) for one in json.loads(process.stdout.read())]
            assert process.wait(20) == 0
            process.stdout.close()
    assert Counter(found) == {(200, None): 200, (403, "spent"): 200}
    assert len(ldp.Survey(folder)) == 200
    with closing(opened_desk(SHEET, folder, **option).intake.store):
        with pytest.raises(InvalidArgument, match="another collector uses it"):
            opened_desk(SHEET, folder, **option)


# -- kill -9 ---------------------------------------------------------------------------------------


def test_no_kill_spends_a_code_without_its_sheet(tmp_path):
    """Six kills while groups of sheets are added, and again at the next start."""
    codes = [i.to_bytes(16, "big") for i in range(1, 100_000)][:3_000]
    with closing(opened_store(tmp_path, LINES)) as store:
        store.invite(codes)
    sent, known = 0, 0
    for _ in range(6):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                store = opened_store(tmp_path, LINES)
                for i in range(sent, len(codes), 3):
                    store.add((os.urandom(16), f"sheet {j}", codes[j]) for j in range(i, i + 3))
                    os.write(write, b".")
            finally:
                os._exit(1)
        os.close(write)
        for _ in range(random.randint(1, 30)):
            os.read(read, 1)
        time.sleep(random.random() / 100)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while os.read(read, 1):
            known += 3
        os.close(read)
        with closing(opened_store(tmp_path, LINES)) as store:
            waiting = {row.decode() for _, _, row in store._sheets.rows()}
            query = "SELECT code FROM invited WHERE spent = 1"
            spent = {code for (code,) in store._database.execute(query)}
            assert len(waiting) == store.waiting == len(spent)
            numbers = sorted(int(sheet.split()[1]) for sheet in waiting)
            assert numbers == list(range(len(numbers)))
            assert spent == {store._hashed(codes[i]) for i in numbers}
            sent = len(numbers)
    assert sent >= known


@pytest.mark.parametrize("moment", ["spent", "written", "committed"])
def test_a_kill_between_the_code_and_its_sheet(tmp_path, moment):
    """After the code is marked, the sheet is written, or both are kept, and nobody heard of it."""
    first, other = (b"1" * 16, "sheet", b"a" * 16), (b"2" * 16, "other", b"a" * 16)
    with closing(opened_store(tmp_path, LINES)) as store:
        store.invite([b"a" * 16])
    child = os.fork()
    if child == 0:
        try:
            store = opened_store(tmp_path, LINES)

            def end(*given: object) -> None:
                os.kill(os.getpid(), signal.SIGKILL)

            if moment == "spent":
                store._sheets.put = end
            elif moment == "written":
                store._check_place = end
            store.add([first])
            end()
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    with closing(opened_store(tmp_path, LINES)) as store:
        assert store.waiting == (moment == "committed")
        assert store.add([first]) == {}  # it is sent again
        assert store.add([other]) == {0: "spent"} and store.waiting == 1


def test_a_disk_that_fails_spends_nothing(tmp_path, monkeypatch):
    with closing(opened_store(tmp_path, LINES)) as store:
        store.invite([b"a" * 16, b"b" * 16])
        sheets = [(b"1" * 16, "one", b"a" * 16), (b"2" * 16, "two", b"a" * 16)]
        with monkeypatch.context() as patch:
            patch.setattr(store, "_check_place", lambda: (_ for _ in ()).throw(OSError("gone")))
            with pytest.raises(DiskFailure):
                store.add(sheets)
        assert store.add(sheets) == {1: "spent"}  # of those that come together the first
        assert store.add([(b"2" * 16, "two", b"b" * 16)]) == {} and store.waiting == 2


@pytest.mark.slow
def test_every_code_outlives_ten_kills_once(tmp_path):
    """The program is killed in mid-load; then every code is sent again with another sheet."""
    n, folder = 600, tmp_path / "sheets"
    codes, option = invited(tmp_path, n, NAMED)
    more = ["--batch", "25", "--invitations", str(option["invitations"][0])]
    bodies = [
        json.dumps(message(NAMED, {"who": f"w{i}"}, invitation=code)).encode()
        for i, code in enumerate(codes)
    ]
    accepted: list[bytes] = []
    for stop in [*sorted(random.Random(6).sample(range(10, n - 10), 10)), -1]:
        with program(folder, NAMED, *more) as (process, sender):
            killing[0] = process.pid
            done = set(accepted)
            left = [body for body in bodies if body not in done]
            accepted = send_all(sender, left, accepted, stop)
            if stop < 0:
                again = [
                    sender.send(message(NAMED, {"who": "w999"}, invitation=code)) for code in codes
                ]
                assert {(one.status, one.json()["reason"]) for one in again} == {(403, "spent")}
                process.terminate()
            process.wait(timeout=60)
    assert len(accepted) == n
    collect(NAMED, folder, finish=True)
    rows = Counter(pd.concat(map(pd.read_parquet, folder.glob("*.parquet")))["who"])
    assert rows == Counter(f"w{i}" for i in range(n))


# -- nothing joins a code and a sheet --------------------------------------------------------------


def test_the_record_does_not_show_in_which_order_codes_were_spent(tmp_path):
    """Two copies of a database in which the same codes were spent are the same, byte by byte."""
    drawn = random.Random(2)
    codes = [drawn.randbytes(16) for _ in range(2_000)]
    base = tmp_path / "base.db"
    with closing(opened(base)) as database, database:
        enrol(database, codes)
    chosen = codes[:300]
    found = []
    for number in range(3):
        path = tmp_path / f"{number}.db"
        shutil.copy(base, path)
        with closing(opened(path)) as database:
            for code in drawn.sample(chosen, len(chosen)):
                with database:
                    assert spend(database, code)
                    assert not spend(database, code)
        found.append(path.read_bytes())
    # the first page has a number of changes, which are as many
    assert found[0] == found[1] == found[2] != base.read_bytes()


def test_the_test_above_finds_an_order(tmp_path):
    """Its control: a table to which spent codes are added."""
    drawn, found = random.Random(3), []
    codes = [drawn.randbytes(16) for _ in range(300)]
    for number in range(2):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as database:
            database.execute("PRAGMA synchronous=OFF")
            database.execute("CREATE TABLE spent (code BLOB PRIMARY KEY) WITHOUT ROWID")
            for code in drawn.sample(codes, len(codes)):
                with database:
                    database.execute("INSERT INTO spent VALUES (?)", [code])
        found.append((tmp_path / f"{number}.db").read_bytes())
    assert found[0] != found[1]


def opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    for setting in ("secure_delete=ON", "journal_mode=TRUNCATE", "synchronous=OFF"):
        database.execute(f"PRAGMA {setting}")
    database.executescript(INVITED)
    return database


def test_a_copy_of_the_folder_has_no_code_beside_its_sheet(tmp_path):
    """While sheets wait, and when they are in a file; codes are there as keyed hashes alone."""
    codes, option = invited(tmp_path, 30)
    folder = tmp_path / "sheets"
    with collecting(folder, batch=30, **option) as sender:
        for code in codes[:25]:
            assert sender.send(with_code(code)).status == 200
        waiting = (folder / ".collecting" / "sheets.db").read_bytes()
    everything = b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())
    plain = [invitation_code(code) for code in codes]
    for text in (waiting, everything):
        for code, shown in zip(plain, codes, strict=True):
            hidden = hashed(code, SHEET.fingerprint)
            parts = code.encode(), shown.encode(), hidden, hidden.hex().encode()
            assert not any(part in text for part in parts)
    with closing(sqlite3.connect(folder / ".collecting" / "sheets.db")) as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        columns = [row[1] for row in database.execute("PRAGMA table_info(invited)")]
        spent = "SELECT COUNT(*), SUM(spent) FROM invited"
        assert columns == ["code", "spent"] and "invited" in names
        assert database.execute(spent).fetchone() == (30, 25)


# -- the client's command --------------------------------------------------------------------------


def test_the_client_reads_the_code_from_a_file(tmp_path):
    codes, _ = invited(tmp_path, 1)
    (tmp_path / "client.json").write_text(json.dumps(SHEET.client_document()))
    (tmp_path / "code").write_text(codes[0].lower() + "\n")
    (tmp_path / "wrong").write_text(codes[0][:-1])
    file = Path(ldp.__file__).parent / "clients" / "portable" / "ldpstats_client.py"

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(file), str(tmp_path / "client.json"), *more]
        return subprocess.run(command, input='{"job": "nurse"}\n', capture_output=True, text=True)

    made = run("--message", "--invitation", str(tmp_path / "code"))
    assert json.loads(made.stdout)["invitation"] == invitation_code(codes[0])
    assert list(json.loads(made.stdout)) == [
        *("format", "version", "survey", "token", "invitation", "sheet")
    ]
    for more in (["wrong"], ["absent"], ["client.json"]):
        found = run("--message", "--invitation", str(tmp_path / more[0]))
        assert found.returncode == 1 and "(invitation)" in found.stderr and not found.stdout
    assert run("--invitation", str(tmp_path / "code")).returncode == 1
