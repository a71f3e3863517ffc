"""Reports that were shown and deleted are counted, without a report and without a token."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from shared.collecting import (
    JSON,
    MANY,
    Answer,
    Sender,
    collecting,
    message,
    questionnaire,
    some_reports,
)

import ldpstats as ldp
from ldpstats.collector.app import opened_desk
from ldpstats.collector.store import FEWEST
from ldpstats.errors import InvalidArgument

SHEET = questionnaire()
GOOD = {"format": "ldpstats-withdrawal", "version": 1, "survey": SHEET.fingerprint}


def says(sender: Sender, sent: Any, **headers: str) -> Answer:
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    return sender.request("POST", "/withdrawn", body, **{"content_type": JSON, **headers})


def test_deletions_are_counted_in_steps_and_survive(tmp_path: Path) -> None:
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


def test_what_is_none_is_refused_and_not_counted(tmp_path: Path) -> None:
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


def test_a_damaged_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".collecting").mkdir()
    (tmp_path / ".collecting" / "withdrawn").write_text("many")
    with pytest.raises(InvalidArgument, match="no number of deleted reports"):
        opened_desk(SHEET, tmp_path)
