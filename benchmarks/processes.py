"""Whole processes: how long they take on the clock, and their largest memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["HERE", "Job", "Ran", "best"]

HERE = Path(__file__).parents[1]  # this version of the package
_BYTE_CODE = str(Path(tempfile.gettempdir(), "ldpstats-benchmarks"))  # kept from run to run
_THREADS = tuple(f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"))


@dataclass(frozen=True)
class Ran:
    """What one run took; `said` is what the job printed last, if that is a JSON object."""

    seconds: float
    memory: int  # bytes
    said: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""  # the last line of its error

    @property
    def gigabytes(self) -> str:
        return f"{self.memory / 1e9:.2f} GB"


@dataclass(frozen=True)
class Job:
    """Python code, or the command line of a version of the package, on some cores."""

    code: str = ""
    arguments: Sequence[str] = ()  # of the code, or of the command line if there is no code
    cores: int = 2
    root: Path = HERE
    cold: bool = False  # with nothing that numba compiled before

    def run(self) -> Ran:
        """Run it once, in an interpreter of its own."""
        how = ["-c", self.code] if self.code else ["-m", "ldpstats.cli"]
        env = {name: value for name, value in os.environ.items() if name not in _THREADS}
        # not the folder that this was started in, which may be another version's
        env |= {"PYTHONPATH": str(self.root), "PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "ignore"}
        env |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _BYTE_CODE}
        if self.cores == 1:
            env |= dict.fromkeys(_THREADS, "1")
        if not self.cold:
            return self._ran(how, env)
        with tempfile.TemporaryDirectory() as folder:
            return self._ran(how, env | {"NUMBA_CACHE_DIR": folder})

    def _ran(self, how: Sequence[str], env: Mapping[str, str]) -> Ran:
        start = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, *how, *map(str, self.arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            preexec_fn=self._confine,
        )
        with child:
            assert child.stdout is not None and child.stderr is not None
            out = child.stdout.read().decode()
            errors = child.stderr.read().decode().strip().splitlines()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        failed = "" if child.returncode == 0 else (errors or ["failed"])[-1]
        last = (out.strip().splitlines() or [""])[-1]
        said = json.loads(last) if last.startswith("{") else {}
        return Ran(seconds, usage.ru_maxrss * 1024, said, failed)

    def _confine(self) -> None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: self.cores])


def on_the_clock(ran: Ran) -> float:
    """What a whole process took."""
    return ran.seconds


def best(
    jobs: Mapping[str, Job], repeats: int, key: Callable[[Ran], float] = on_the_clock
) -> dict[str, Ran]:
    """The fastest of some runs of each job, which take turns.

    The fastest: what else the machine does adds to the clock, and never takes from it.
    """
    found: dict[str, Ran] = {}
    for _ in range(repeats):
        for name, job in jobs.items():
            if name in found and found[name].failed:
                continue
            ran = job.run()
            if name not in found or key(ran) < key(found[name]):
                found[name] = ran
    return found
