"""Many senders at once: throughput and waiting times of ``ldpstats collect``, and what it keeps.

    python benchmarks/collector/load.py [--senders 200] [--sheets 50000] [--questions 6]

The collector runs in a process of its own, and the senders in this one, each on a connection that
it keeps. Afterwards the folder is read by `Survey`, and compared with what was sent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp

JOBS = ("nurse", "teacher", "driver", "cook")
SHARES = [0.4, 0.3, 0.2, 0.1]


def made(n: int, questions: int) -> tuple[ldp.Questionnaire, pd.DataFrame, list[bytes]]:
    """A questionnaire, true answers, and requests with the reports of all devices."""
    names = [f"job_{i}" for i in range(questions)]
    sheet = ldp.Questionnaire({name: ldp.KRR(JOBS, 1.0) for name in names})
    rng = np.random.default_rng(2024)
    answers = pd.DataFrame({name: rng.choice(JOBS, n, p=SHARES) for name in names})
    reports = sheet.privatize(answers, rng)
    frame = {"format": "ldpstats-sheet", "version": 1, "survey": sheet.fingerprint}
    requests = []
    for row in reports.to_dict("records"):
        body = json.dumps({**frame, "token": secrets.token_hex(16), "sheet": row}).encode()
        head = "POST /sheets HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        requests.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return sheet, answers, requests


async def sent(port: int, requests: list[bytes], senders: int) -> list[float]:
    """Send all, and return how long each waited for its answer, in seconds."""
    waits: list[float] = []
    waiting = iter(requests)

    async def sender() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in waiting:
            start = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            length = re.search(rb"content-length: (\d+)", head)
            await reader.readexactly(int(length[1]))
            waits.append(time.perf_counter() - start)
        writer.close()

    await asyncio.gather(*(sender() for _ in range(senders)))
    return waits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--senders", type=int, default=200)
    parser.add_argument("--sheets", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=6)
    given = parser.parse_args()
    sheet, answers, requests = made(given.sheets, given.questions)
    with tempfile.TemporaryDirectory() as folder:
        sheet.to_json(Path(folder, "q.json"))
        command = [sys.executable, "-m", "ldpstats.cli", "collect", f"{folder}/q.json", "--to"]
        command += [f"{folder}/sheets", "--port", "0"]
        command += ["--max-per-minute", "1000000000", "--max-per-address", "1000000000"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
        start = time.perf_counter()
        waits = 1000 * np.array(asyncio.run(sent(port, requests, given.senders)))
        seconds = time.perf_counter() - start
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = (used.ru_utime + used.ru_stime) / given.sheets
        survey = ldp.Survey(f"{folder}/sheets")
        files = len(list(Path(folder, "sheets").glob("*.parquet")))
        p50, p99 = np.percentile(waits, [50, 99])
        print(f"{given.sheets} sheets of {given.questions} questions, {given.senders} senders:")
        print(f"{seconds:.1f} s, {given.sheets / seconds:.0f} sheets a second")
        print(f"waiting: median {p50:.0f} ms, 99 % {p99:.0f} ms, longest {waits.max():.0f} ms")
        print(f"{1e6 * busy:.0f} microseconds of the collector's processor a sheet, with its start")
        print(f"{len(survey)} rows in {files} files")
        check(survey, answers)


def check(survey: ldp.Survey, answers: pd.DataFrame) -> None:
    """Print a table, and how many intervals of all questions cover the share among the answers."""
    covered = []
    for name in answers:
        found = survey.frequencies(name)
        truth = answers[name].value_counts(normalize=True)[list(found.params.index)].to_numpy()
        low, high = found.conf_int().to_numpy().T
        covered += ((low <= truth) & (truth <= high)).tolist()
    print(survey.frequencies(next(iter(answers))).summary())
    print(f"{sum(covered)} of {len(covered)} intervals cover the truth")


if __name__ == "__main__":
    main()
