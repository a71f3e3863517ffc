"""A respondent's report: by the samplers, by the package's client, and by the light client alone.

All are timed by turns in one run. So are the start of a program that reports, and the disk space
that it needs: of one file and the standard library, or of the package and all that it requires.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from statistics import median
from typing import Any

from timing import Row, Scale, measure

import ldpstats as ldp
from ldpstats.clients.portable import ldpstats_client as portable

__all__ = ["reporting"]

FILE = Path(portable.__file__)
PACKAGE = 'import ldpstats as ldp; ldp.KRR(("yes", "no"), 1.0).client().report("yes")'
ALONE = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); from ldpstats_client import Client;"
    'Client(json.load(open(sys.argv[2]))).report("yes")'
)


def reporting(scale: Scale) -> list[Row]:
    """Microseconds of a report, and what a program needs to make one."""
    mechanisms: dict[str, tuple[Any, Any]] = {
        "k-RR, k = 3": (ldp.KRR(("yes", "no", "perhaps"), 1.0), "yes"),
        "k-RAPPOR, k = 20": (ldp.KRAPPOR(20, 1.0), 7),
        "O-RR, 64 cohorts": (ldp.ORR(8, 64, epsilon=1.0), "an answer"),
        "RAPPOR, 128 bits": (ldp.RAPPOR(128, 2, 64, f=0.5, p=0.25, q=0.75), "an answer"),
    }
    rows = [_report(name, *given, scale.size(500, 20)) for name, given in mechanisms.items()]
    return [*rows, _starting(scale.size(11, 3)), _disk_space()]


def _report(name: str, mechanism: Any, answer: Any, n: int) -> Row:
    """By the samplers for tables, by `client().report` and by the file alone."""
    samplers, text = mechanism.collector(), str(answer)
    unlimited = {} if isinstance(mechanism, ldp.RAPPOR) else {"reports": None}
    client = mechanism.client(**unlimited)
    light = portable.Client(mechanism.client_document(), reports=10**9)
    ways = {
        "table": lambda: [samplers.privatize([answer]) for _ in range(n)],
        "package": lambda: [client.report(answer) for _ in range(n)],
        "alone": lambda: [light.report(text) for _ in range(n)],
    }
    taken = {way: 1e6 * seconds / n for way, seconds in measure(ways, 15).items()}
    figure = (
        f"{taken['alone']:.1f} us, 1/{taken['table'] / taken['alone']:.0f} of "
        f"{taken['table']:.0f} us; with the package {taken['package']:.1f} us"
    )
    aim = ("< 50 us", taken["alone"] < 50) if isinstance(mechanism, ldp.KRR) else ()
    return Row(f"report, {name}", "a table of one answer", figure, *aim)


def _starting(rounds: int) -> Row:
    """Processes that make one report, beyond those that do nothing."""
    taken: dict[str, list[float]] = {"": [], PACKAGE: [], ALONE: []}
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "client.json"
        document.write_text(json.dumps(ldp.KRR(("yes", "no"), 1.0).client_document()))
        for _ in range(1 + rounds):
            for code, seconds in taken.items():
                start = time.perf_counter()
                command = [sys.executable, "-c", code, str(FILE.parent), str(document)]
                subprocess.run(command, check=True)
                seconds.append(time.perf_counter() - start)
    nothing, package, alone = (1e3 * median(seconds[1:]) for seconds in taken.values())
    ratio = (alone - nothing) / (package - nothing)
    figure = f"{alone - nothing:.0f} ms, 1/{1 / ratio:.0f} of {package - nothing:.0f} ms"
    return Row("start and one report", "import ldpstats", figure)


def _disk_space() -> Row:
    alone, package = FILE.stat().st_size, sum(map(_size, _required("ldpstats", set())))
    figure = f"{alone / 1e3:.0f} kB, 1/{package / alone:,.0f} of {package / 1e6:,.0f} MB"
    return Row("disk space", "ldpstats and all that it requires", figure)


def _required(name: str, found: set[str]) -> set[str]:
    """The installed distributions that one requires, without extras; with itself."""
    try:
        requires = distribution(name).requires or []
    except PackageNotFoundError:  # for another platform
        return found
    found.add(name)
    for requirement in requires:
        other = re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")
        if "extra ==" not in requirement and other not in found:
            _required(other, found)
    return found


def _size(name: str) -> int:
    """Bytes of the files of a distribution; of the package, those of its sources."""
    if name == "ldpstats":
        return sum(path.stat().st_size for path in FILE.parents[2].rglob("*") if path.is_file())
    paths = [Path(str(file.locate())) for file in distribution(name).files or []]
    return sum(path.stat().st_size for path in paths if path.is_file())
