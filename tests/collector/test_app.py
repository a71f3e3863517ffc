"""A collector's answers over HTTP."""

import asyncio
import json
import re
import socket
import threading
import time
from contextlib import closing, suppress
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from shared.collecting import (
    JSON,
    MANY,
    Answer,
    Sender,
    collecting,
    message,
    people,
    questionnaire,
    sent,
    some_reports,
)

import ldpstats as ldp
from ldpstats.clients.portable.ldpstats_client import Client, Refused
from ldpstats.collector import Limits, collect
from ldpstats.collector import app as rates
from ldpstats.collector.app import Desk, application, opened_desk
from ldpstats.collector.store import FEWEST, DiskFailure, Store
from ldpstats.errors import InvalidArgument, MechanismMismatch

SHEET = questionnaire()


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    """One that no sheet reaches."""
    folder = tmp_path_factory.mktemp("refused") / "sheets"
    with collecting(
        folder, texts={"title": "My page"}, origins=["https://survey.example"]
    ) as sender:
        yield sender
    assert not list(folder.glob("*.parquet"))


def one() -> dict[str, Any]:
    return message(SHEET, some_reports())


def raw(port: int, data: bytes, wait: float = 5) -> bytes:
    """What comes back over a connection; empty if it is closed."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=wait)) as connection:
        found = b""
        with suppress(ConnectionResetError):
            connection.sendall(data)
            while part := connection.recv(65536):
                found += part
        return found


# -- sheets ----------------------------------------------------------------------------------------
def test_sheets_become_a_survey(tmp_path, capfd):
    answers = people(90, 1)
    with collecting(tmp_path, batch=40) as sender:
        sheets = sent(SHEET, answers, 2)
        for sheet in sheets:
            found = sender.send(sheet)
            assert (found.status, found.json()) == (200, {"accepted": True})
        assert sender.send(sheets[0]).status == sender.send(sheets[-1]).status == 200
        counts = sender.get("/counts").json()
        # a file has a batch, and what has come while it is made
        assert counts["survey"] == SHEET.fingerprint and 40 <= counts["sheets"] <= 90
        early = ldp.Survey(tmp_path)
        assert counts["sheets"] <= len(early) <= 90
    collect(SHEET, tmp_path, finish=True)
    survey = ldp.Survey(tmp_path)
    assert repr(survey) == "Survey(90 rows; private: job, late; observed: sex)"
    assert survey.frequencies("sex").nobs == 90
    said = capfd.readouterr()
    assert "127.0.0.1" not in said.err and said.out == "90 sheets in files, and none waits\n"
    assert len(list(tmp_path.glob("*.parquet"))) == 1  # merged
    with collecting(tmp_path) as sender:
        assert sender.get("/counts").json()["sheets"] == 90
        assert sender.send(sheets[3]).status == 200
    assert len(ldp.Survey(tmp_path)) == 90


def test_counts_show_estimates_if_they_are_asked_for(tmp_path):
    with collecting(tmp_path, batch=40, estimates=True) as sender:
        assert sender.get("/counts").json()["estimates"] == {}
        for sheet in sent(SHEET, people(80, 1), 2):
            assert sender.send(sheet).status == 200
        sender.get("/counts")
    with collecting(tmp_path, estimates=True) as sender:
        shown = sender.get("/counts").json()
        assert "estimates" in shown and shown["sheets"] == 80
    survey = ldp.Survey(tmp_path)
    assert list(shown["estimates"]) == ["job", "late"]  # not the unprotected sex
    for name, found in shown["estimates"].items():
        results = survey.frequencies(name)
        expected = results.conf_int(anytime=True).round(6)
        expected.insert(0, "params", results.params.round(6))
        assert found == dict(zip(expected.index, expected.to_numpy().tolist(), strict=True))
    with collecting(tmp_path) as sender:
        assert "estimates" not in sender.get("/counts").json()


def test_counts_say_why_a_question_has_no_estimates(tmp_path):
    words = ldp.RAPPOR(16, 2, 4, f=0.0, p=0.25, q=0.75)
    sheet = ldp.Questionnaire({"word": words, "late": ldp.Warner(epsilon=1.0)})
    with collecting(tmp_path, sheet, batch=40, estimates=True) as sender:
        for one in sent(sheet, pd.DataFrame({"word": ["a"] * 40, "late": ["no"] * 40}), 2):
            assert sender.send(one).status == 200
    with collecting(tmp_path, sheet, estimates=True) as sender:
        shown = sender.get("/counts").json()["estimates"]
    assert list(shown["late"]) == ["no", "yes"]
    assert shown["word"].startswith("no estimates: RAPPOR") and "candidates=" in shown["word"]


def test_devices_send_messages_of_their_true_answers(tmp_path):
    opposite = ldp.Warner(p=1e-9)  # a true answer that is sent would show
    sheet = ldp.Questionnaire({"job": ldp.KRR(("nurse", "cook"), epsilon=1.0), "late": opposite})
    document, answers = sheet.client_document(), {"job": "nurse", "late": "yes"}
    with collecting(tmp_path, sheet, batch=60) as sender:
        for _ in range(60):
            client = Client(document)
            assert sender.send(client.message(answers)).status == 200
            with pytest.raises(Refused, match="budget"):
                client.message(answers)
    table = pd.read_parquet(next(tmp_path.glob("*.parquet")))
    assert set(table["late"]) == {"no"}
    assert set(table["job"]) == {"nurse", "cook"}  # all alike with probability 1e-8


def test_no_file_has_fewer_than_twenty_sheets(tmp_path, capfd):
    """Counts and lines of standard error grow by twenty sheets or more, unless told to finish."""
    sheets, known = sent(SHEET, people(62, 1), 2), [0]
    for last in (19, 20, 62):
        with collecting(tmp_path, batch=20) as sender:
            for sheet in sheets[known[-1] : last]:
                assert sender.send(sheet).status == 200
                counted = sender.get("/counts").json()["sheets"]
                assert counted == known[-1] or counted - known[-1] >= 20
                known += [counted] if counted != known[-1] else []
        said = capfd.readouterr().err
        steps = [int(n) for n in re.findall(r"([0-9]+) sheets? in a file", said)]
        assert all(step >= 20 for step in steps) and bool(steps) == (last > 19)
        if last < 62:
            waits = "ldpstats: fewer than 20 sheets wait for the next start, or for --finish\n"
            assert (waits in said) == (last == 19)
    collect(SHEET, tmp_path, finish=True)
    assert capfd.readouterr().out == "62 sheets in files, and none waits\n"
    assert len(ldp.Survey(tmp_path)) == 62


def test_a_token_counts_once_whatever_its_sheet_says(tmp_path):
    """Else who knows a token could find out which sheet came with it."""
    token = "ab" * 16
    with collecting(tmp_path) as sender:
        for job in ("nurse", "driver"):
            found = sender.send(message(SHEET, some_reports(job=job), token=token))
            assert found.json() == {"accepted": True}
        assert sender.send(message(SHEET, some_reports(job="cook"), token=token)).status == 400
    collect(SHEET, tmp_path, finish=True)
    (file,) = tmp_path.glob("*.parquet")
    assert pd.read_parquet(file)["job"].tolist() == ["nurse"]


def test_a_folder_belongs_to_a_questionnaire(tmp_path):
    with collecting(tmp_path):
        pass
    with pytest.raises(MechanismMismatch, match="another folder for each questionnaire"):
        with collecting(tmp_path, questionnaire(ask=1)):
            pass
    people(3, 1).to_csv(tmp_path / "people.csv")
    with collecting(tmp_path):  # its questionnaire says that it is a collector's
        pass
    (tmp_path / "questionnaire.json").unlink()
    with pytest.raises(InvalidArgument, match="holds tables of other programs"):
        with collecting(tmp_path):
            pass


@pytest.mark.parametrize(
    ("named", "value"),
    [
        ("batch", 19),
        ("limits", 5),
        ("behind_proxy", 1),
        ("origins", "https://a.example"),
        ("origins", ["https://a.example/"]),
        ("origins", ["*"]),
    ],
)
def test_bad_arguments(tmp_path, named, value):
    with pytest.raises(InvalidArgument, match=named):
        with collecting(tmp_path, **{named: value}):
            pass
    assert list(tmp_path.iterdir()) == []


# -- refusals --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [(method, "/sheets", 405) for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE")]
    + [("POST", path, 405) for path in ("/", "/health", "/counts", "/client.json")]
    + [(method, "/sheets/", 404) for method in ("GET", "POST")]
    + [("GET", path, 404) for path in ("/x", "//", "/../etc/passwd", "/%00", "/sheets.db", "/docs",
       "/.collecting/sheets.db", "/questionnaire.json", "/openapi.json")],
)  # fmt: skip
def test_other_methods_and_paths(collector, method, path, status):
    found = collector.request(method, path, b"{}" if method == "POST" else None)
    assert found.status == status
    if method != "HEAD":
        assert found.json()["accepted"] is False
    if status == 405:
        assert found.headers["allow"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "text/plain"}, 415),
        ({"content_type": ""}, 415),
        ({"content_encoding": "gzip"}, 415),
        ({"origin": "https://other.example"}, 403),
        ({"origin": "https://survey.example.evil"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1"}, 403),  # another port
    ],
)
def test_other_headers(collector, headers, status):
    found = collector.send(one(), **headers)
    assert found.status == status and found.json()["accepted"] is False
    assert "access-control-allow-origin" not in found.headers


@pytest.mark.parametrize(
    ("sheet", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[" * 1500, 400),
        (b"\xff", 400),
        ({**message(SHEET, some_reports()), "survey": "0" * 12}, 409),
        (message(SHEET, some_reports(job="cook")), 400),
        (b" " * 100_000, 413),
    ],
)
def test_bad_sheets(collector, sheet, status):
    found = collector.send(sheet)
    assert found.status == status and found.json()["accepted"] is False
    assert "Traceback" not in found.json()["error"]


def test_bodies_of_unknown_length_are_limited_too(collector):
    head = b"POST /sheets HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
    found = raw(collector.port, head + b"transfer-encoding: chunked\r\n\r\n" + chunk * 50)
    assert found.startswith(b"HTTP/1.1 413 ") and b"connection: close" in found.lower()
    found = raw(collector.port, head + b"content-length: 99999999999\r\n\r\n")
    assert found.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 "))


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00",  # TLS
        b"GET\r\n\r\n",
        b"POST /sheets HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"GET / HTTP/1.1\r\nhost: x\r\nname: " + b"x" * 200_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_http(collector, data, capfd):
    found = raw(collector.port, data)
    assert found.split(b" ")[1:2] in ([b"400"], []) and b"Traceback" not in found
    assert capfd.readouterr() == ("", "")


# -- limits ----------------------------------------------------------------------------------------
def limits(**how: int) -> Limits:
    return Limits(**{"per_minute": 10**6, "per_address": 10**6, **how})


@pytest.mark.parametrize("how", [{"per_minute": 3}, {"per_address": 3}])
def test_rates(tmp_path, how, monkeypatch):
    now = [6000.0]
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with collecting(tmp_path, limits=limits(**how)) as sender:
        found = [sender.send(one()) for _ in range(5)]
        assert [answer.status for answer in found] == [200, 200, 200, 429, 429]
        assert found[-1].headers["retry-after"] == "60"
        now[0] += 60
        assert sender.send(one()).status == 200


@pytest.fixture
def one_minute(monkeypatch):
    """No minute turns between two sheets of a test."""
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: 6000.0))


def test_addresses_behind_a_proxy(one_minute, tmp_path):
    with collecting(tmp_path, limits=limits(per_address=1), behind_proxy=True) as sender:

        def status(*addresses: str) -> int:
            return sender.send(one(), x_forwarded_for=", ".join(addresses)).status

        assert status("1.1.1.1") == 200 and status("1.1.1.1") == 429
        assert status("9.9.9.9", "1.1.1.1") == 429  # the first is what the sender claims
        assert status("1.1.1.1", "9.9.9.9") == 200
        assert status("2001:db8::1") == 200 and status("2001:db8::ffff:1") == 429
        assert status("2001:db8:0:1::1") == 200
        assert status("::ffff:1.1.1.1") == 429
        body = json.dumps(one()).encode()
        head = "POST /sheets HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
        head += "content-type: application/json\r\nx-forwarded-for: 7.7.7.7\r\n"
        head += f"x-forwarded-for: 1.1.1.1\r\ncontent-length: {len(body)}\r\n\r\n"
        assert raw(sender.port, head.encode() + body).startswith(b"HTTP/1.1 429 ")
        assert status("1.1.1.1:443") == 429 and status("8.8.8.8:443") == 200  # with its port
        assert status("8.8.8.8:80") == status("[2001:db8::2]:443") == 429
        assert status("[2001:db8:1::2]") == 200 and status("2001:db8:1::3") == 429
        assert status("unknown") == 200 and status("") == 429  # these share one limit
        assert status("9.9.9.9:x") == status("[9.9.9.9") == 429


def test_addresses_are_forgotten_where_no_other_sheet_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(rates, "MINUTE", 0.2)

    async def run() -> None:
        desk = opened_desk(questionnaire(), tmp_path / "sheets")
        app = application(desk)
        async with app.router.lifespan_context(app):
            assert desk.rates.wait("203.0.113.7") == 0
            assert "203.0.113.7" in repr(desk.rates)
            await asyncio.sleep(1)
            assert "203.0.113.7" not in repr(desk.rates)

    asyncio.run(run())


def test_no_header_is_believed_without_a_proxy(one_minute, tmp_path):
    with collecting(tmp_path, limits=limits(per_address=1)) as sender:
        assert sender.send(one(), x_forwarded_for="1.1.1.1").status == 200
        assert sender.send(one(), x_forwarded_for="2.2.2.2").status == 429


def test_slow_senders_are_left(tmp_path, monkeypatch):
    """Three of them, each for the second that it is given."""
    monkeypatch.setattr("ldpstats.collector.app._MORE", 0)
    with collecting(tmp_path, limits=limits(seconds=1)) as sender:
        head = b"POST /sheets HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        found = raw(sender.port, head + b"content-length: 9\r\n\r\n{")
        assert found.startswith(b"HTTP/1.1 408 ") or found == b""
        for data in (b"", head):  # nothing, and half of a request
            assert raw(sender.port, data) == b""
        assert sender.send(one()).status == 200


def test_requests_at_a_time(tmp_path):
    with collecting(tmp_path, limits=limits(requests=1)) as sender:
        with closing(socket.create_connection(("127.0.0.1", sender.port))) as slow:
            slow.sendall(b"POST /sheets HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n")
            slow.sendall(b"content-length: 9\r\n\r\n{")
            for _ in range(100):
                found = sender.send(one())
                if found.status == 503:
                    break
                time.sleep(0.01)
            assert found.status == 503 and found.headers["retry-after"] == "1"
            assert sender.get("/health").status == 200
        for _ in range(100):
            if sender.send(one()).status == 200:
                return
            time.sleep(0.01)
        raise AssertionError("the request that was cut off still counts")


def test_what_waits_is_written_at_the_turn_of_the_hour(tmp_path, monkeypatch):
    monkeypatch.setattr("ldpstats.collector.intake.HOUR", 1)
    with collecting(tmp_path, batch=100) as sender:
        for waiting in range(1, 21):  # a tenth of a file must wait, and twenty sheets
            assert sender.send(one()).status == 200
            time.sleep(1.1 if waiting == 19 else 0)
            assert waiting == 20 or sender.get("/counts").json()["sheets"] == 0
        for _ in range(100):
            if sender.get("/counts").json()["sheets"] == 20:
                return
            time.sleep(0.05)
        raise AssertionError("nothing was written")


# -- browsers --------------------------------------------------------------------------------------
def test_pages_of_other_origins(tmp_path):
    with collecting(tmp_path, origins=["https://survey.example", "null"]) as sender:
        own = f"http://127.0.0.1:{sender.port}"
        for origin in (own, "https://survey.example", "null"):
            asked = sender.request(
                "OPTIONS", "/sheets", origin=origin, access_control_request_method="POST"
            )
            assert asked.status == 204 and asked.body == b""
            assert asked.headers["access-control-allow-origin"] == origin
            assert asked.headers["access-control-allow-headers"] == "content-type"
            found = sender.send(one(), origin=origin)
            assert found.status == 200
            assert found.headers["access-control-allow-origin"] == origin
            assert found.headers["vary"] == "Origin"
            refused = sender.send(b"{", origin=origin)  # the page may read why
            assert refused.headers["access-control-allow-origin"] == origin
        assert sender.request("OPTIONS", "/sheets", origin="https://other.example").status == 403
        for site, status in (("same-origin", 200), ("same-site", 403), ("cross-site", 403)):
            found = sender.send(one(), origin="https://public.example", sec_fetch_site=site)
            assert found.status == status


def test_pages(collector):
    page, client = collector.get("/"), collector.get("/client.json")
    assert (
        b"<title>My page</title>" in page.body
        and page.headers["content-type"] == "text/html; charset=utf-8"
    )
    assert client.json() == SHEET.client_document() and client.headers["content-type"] == JSON
    for found in (page, client, collector.get("/health"), collector.get("/x")):
        assert found.headers["content-security-policy"] == "frame-ancestors 'none'"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cache-control"] == "no-store"
        assert "server" not in found.headers


# -- disks -----------------------------------------------------------------------------------------
def test_a_full_disk_is_said(tmp_path, monkeypatch):
    with collecting(tmp_path) as sender:
        assert sender.send(one()).status == 200
        waits = one()
        with monkeypatch.context() as patch:
            patch.setattr(Store, "_hashed", lambda store, token: token * 0)
            patch.setattr(Store, "add", full)
            found = sender.send(waits)
            assert found.status == 503 and found.headers["retry-after"] == "30"
            assert found.json()["error"] == "sheets cannot be kept at the moment: try again later"
            health = sender.get("/health")
            assert health.status == 503
            assert health.json()["errors"] == ["sheets cannot be written to the disk"]
        assert sender.send(waits).status == 200
        assert sender.get("/health").json() == {"healthy": True, "errors": []}
    collect(SHEET, tmp_path, finish=True)
    assert len(ldp.Survey(tmp_path)) == 2


def test_a_folder_that_is_gone_is_said(tmp_path):
    folder, moved = tmp_path / "sheets", tmp_path / "moved"
    with collecting(folder) as sender:
        folder.rename(moved)
        health = sender.get("/health")
        assert health.status == 503
        assert health.json()["errors"] == ["no sheet can be kept (No such file or directory)"]
        moved.rename(folder)
        assert sender.get("/health").json() == {"healthy": True, "errors": []}


def full(store: Store, sheets: Any) -> None:
    store.failing = True
    raise DiskFailure("database or disk is full")


def test_a_defect_shows_nothing(tmp_path, monkeypatch, capfd):
    def spoilt(desk: Desk, request: Any) -> None:
        raise KeyError("nurse")

    with collecting(tmp_path) as sender:
        monkeypatch.setattr(Desk, "_check_sender", spoilt)
        found = sender.send(one())
        assert found.status == 500 and b"nurse" not in found.body
        assert found.json()["error"] == "the request failed: try again later"
    assert capfd.readouterr().err == "ldpstats: error: KeyError\n"


def test_an_error_that_nobody_catches_shows_its_kind_alone(tmp_path, capfd):
    async def run() -> None:
        app = application(opened_desk(questionnaire(), tmp_path / "sheets"))
        async with app.router.lifespan_context(app):
            asked = {"message": "of nurse", "exception": OSError("nurse at 10.0.0.1")}
            asyncio.get_running_loop().call_exception_handler(asked)

    asyncio.run(run())
    assert capfd.readouterr().err == "ldpstats: error: OSError\n"


# Reports that were shown and deleted are counted, without a report and without a token.

GOOD = {"format": "ldpstats-withdrawal", "version": 1, "survey": SHEET.fingerprint}


def says(sender: Sender, sent: Any, **headers: str) -> Answer:
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    return sender.request("POST", "/withdrawn", body, **{"content_type": JSON, **headers})


def test_deletions_are_counted_in_steps_and_survive(tmp_path):
    file = tmp_path / ".collecting" / "withdrawn"
    with collecting(tmp_path, limits=MANY) as sender:
        assert sender.get("/counts").json()["withdrawn"] == 0 and not file.exists()
        for n in range(1, FEWEST + 1):
            assert says(sender, GOOD).json() == {"accepted": True}
            assert file.read_text() == f"{n}\n"
            assert sender.get("/counts").json()["withdrawn"] == n // FEWEST * FEWEST
        assert file.stat().st_mtime % 3600 == 0
    with collecting(tmp_path, limits=MANY) as sender:
        assert sender.get("/counts").json() == {
            "survey": SHEET.fingerprint,
            "sheets": 0,
            "withdrawn": FEWEST,
        }
        threads = [threading.Thread(target=says, args=(sender, GOOD)) for _ in range(FEWEST)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sender.get("/counts").json()["withdrawn"] == 2 * FEWEST
    assert not list(tmp_path.glob("*.parquet"))  # no sheet came


def test_what_is_none_is_refused_and_not_counted(tmp_path):
    other = ldp.Questionnaire({"late": ldp.Warner(epsilon=1.0)}).fingerprint
    with collecting(tmp_path, limits=MANY, origins=["https://survey.example"]) as sender:
        for wrong in (b"", b"[]", {}, GOOD | {"version": True}, GOOD | {"token": "0" * 32}):
            assert says(sender, wrong).status == 400, wrong
        assert says(sender, message(SHEET, some_reports())).status == 400  # it has a token
        assert says(sender, GOOD | {"survey": other}).status == 409
        assert says(sender, GOOD, content_type="text/plain").status == 415
        assert says(sender, GOOD, origin="https://else.example").status == 403
        assert sender.get("/withdrawn").status == 405
        assert not (tmp_path / ".collecting" / "withdrawn").exists()
        assert says(sender, GOOD, origin="https://survey.example").status == 200
        asked = sender.request("OPTIONS", "/withdrawn", origin="https://survey.example")
        assert asked.status == 204
        assert asked.headers["access-control-allow-origin"] == "https://survey.example"


def test_a_damaged_number_is_refused(tmp_path):
    (tmp_path / ".collecting").mkdir()
    (tmp_path / ".collecting" / "withdrawn").write_text("many")
    with pytest.raises(InvalidArgument, match="no number of deleted reports"):
        opened_desk(SHEET, tmp_path)
