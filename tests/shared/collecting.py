"""A collector in this process, and the sheets that devices send it."""

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.collector import Limits
from ldpstats.collector.app import application, listening, opened_desk, server

JSON = "application/json"
JOBS = ("nurse", "teacher", "driver")
MANY = Limits(per_minute=10**9, per_address=10**9)


def questionnaire(**how: Any) -> ldp.Questionnaire:
    """Two private questions and a public one."""
    questions = {
        "job": ldp.KRR(JOBS, 1.0),
        "late": ldp.Warner(epsilon=1.0),
        "sex": ldp.Observed(("f", "m")),
    }
    return ldp.Questionnaire(questions, **how)


def message(sheet: ldp.Questionnaire, reports: dict[str, Any], **other: Any) -> dict[str, Any]:
    """What a device sends."""
    return {
        "format": "ldpstats-sheet",
        "version": 1,
        "survey": sheet.fingerprint,
        "token": secrets.token_hex(16),
        "sheet": reports,
        **other,
    }


def some_reports(**other: Any) -> dict[str, Any]:
    return {"job": "nurse", "late": "no", "sex": "f", **other}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Sender:
    """Sends requests to a collector."""

    port: int

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        with closing(connection):
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, given)
            found = connection.getresponse()
            named = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, named, found.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, **headers)

    def send(self, sheet: bytes | dict[str, Any], **headers: str) -> Answer:
        """Send a sheet."""
        body = sheet if isinstance(sheet, bytes) else json.dumps(sheet).encode()
        return self.request("POST", "/sheets", body, **{"content_type": JSON, **headers})


@contextmanager
def collecting(
    folder: Path, sheet: ldp.Questionnaire | None = None, limits: Limits = MANY, **how: Any
) -> Iterator[Sender]:
    """A collector that runs in a thread of this process."""
    desk = opened_desk(sheet or questionnaire(), folder, limits=limits, **how)
    with listening("127.0.0.1", 0) as where, closing(desk.intake.store):
        running = server(application(desk), limits.seconds, 2_000)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [where]})
        thread.start()
        try:
            yield Sender(where.getsockname()[1])
        finally:
            running.should_exit = True
            thread.join()


def people(n: int, seed: int) -> pd.DataFrame:
    """True answers."""
    rng = np.random.default_rng(seed)
    job = rng.choice(JOBS, n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "job": job,
            "late": rng.choice(["no", "yes"], n, p=[0.8, 0.2]),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def sent(sheet: ldp.Questionnaire, answers: pd.DataFrame, seed: int) -> list[bytes]:
    """The messages of many devices."""
    reports = sheet.privatize(answers, np.random.default_rng(seed))
    rows = reports.astype(object).where(reports.notna(), None).to_dict("records")
    return [json.dumps(message(sheet, row)).encode() for row in rows]
