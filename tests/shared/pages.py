"""Pages of the site in Markdown: their code runs, and prints what the page shows.

Blocks of ``python`` and ``sh`` run in the order of the page, in one namespace and one new folder.
A block of ``text`` right behind one is what it prints; a block without one may print anything. A
comment line ``% needs: java pyspark`` before a block names programs and modules; where one is
absent, the page is run up to there. Other languages do not run; what they print is named by
``% transcript: tests/reference/x.Rout``, a file that holds it line by line.

``python tests/shared/pages.py vignettes/start.md ...`` writes what was printed into the pages.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"(?P<comments>(?:^% [^\n]*\n)*)^```(?P<language>\w+)\n(?P<code>.*?)^```$"
    r"(?:\n+^```text\n(?P<shown>.*?)^```$)?",
    re.M | re.S,
)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A block of code of a page, and the output behind it (None: none is shown)."""

    language: str
    code: str
    shown: str | None
    needs: tuple[str, ...] = ()
    transcript: str | None = None

    @property
    def runs(self) -> bool:
        return self.language in ("python", "sh")

    @property
    def absent(self) -> list[str]:
        """What the block needs and is neither a program nor a module here."""
        return [
            name
            for name in self.needs
            if shutil.which(name) is None and importlib.util.find_spec(name) is None
        ]


def blocks(text: str) -> list[Block]:
    """The blocks of code of a page."""
    found = []
    for match in BLOCK.finditer(text):
        said = dict(re.findall(r"^% (\w+): (.*)$", match["comments"], re.M))
        needs = tuple(said.get("needs", "").split())
        transcript = said.get("transcript")
        found.append(Block(match["language"], match["code"], match["shown"], needs, transcript))
    return found


def same(shown: str, printed: str) -> bool:
    """Whether two outputs agree: words exactly, numbers to two units of their last digit shown.

    Numbers below 1e-9 in size are rounding errors, and any two of them are alike.
    """

    def words(text: str) -> list[str]:
        return [" ".join(line.split()) for line in NUMBER.sub("#", text).strip().splitlines()]

    def unit(number: str) -> float:
        digits, _, power = number.partition("e")
        return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))

    if words(shown) != words(printed):
        return False
    for left, right in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        a, b = float(left.replace(",", "")), float(right.replace(",", ""))
        # integers are counts
        margin = 2 * unit(left) * ("." in left or "e" in left) + 1e-9
        if abs(a - b) > margin:
            return False
    return True


def outputs(found: list[Block], folder: Path) -> list[str]:
    """What each block prints, run in a process of its own; the first error ends the run."""
    codes = [[block.language, block.code] for block in found]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        [sys.executable, "-W", "error", __file__, "--blocks"],
        input=json.dumps(codes),
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg", "PATH": path},
        capture_output=True,
        encoding="utf-8",
    )
    if ran.returncode:
        raise AssertionError(ran.stderr)
    return json.loads(ran.stdout)


def rewritten(text: str) -> str:
    """The page with what its blocks print now."""
    every = blocks(text)
    running = [block for block in every if block.runs and not block.absent]
    with tempfile.TemporaryDirectory() as folder:
        printed = dict(zip(map(id, running), outputs(running, Path(folder)), strict=True))
    numbers = iter(every)

    def replace(match: re.Match[str]) -> str:
        block = next(numbers)
        if block.shown is None or id(block) not in printed:
            return match[0]
        start, end = match.start("shown") - match.start(), match.end("shown") - match.start()
        return match[0][:start] + printed[id(block)].rstrip() + "\n" + match[0][end:]

    return BLOCK.sub(replace, text)


def _run_blocks() -> None:
    """Run the blocks on standard input in the working folder; print their outputs as JSON."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed = []
    for number, (language, code) in enumerate(json.load(sys.stdin), 1):
        out = io.StringIO()
        try:
            if language == "sh":
                ran = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", code], capture_output=True, encoding="utf-8"
                )
                if ran.returncode:
                    raise RuntimeError(ran.stdout + ran.stderr)
                out.write(ran.stdout)
            else:
                with contextlib.redirect_stdout(out):
                    exec(compile(code, f"<block {number}>", "exec"), names)
        except Exception:
            traceback.print_exc()
            sys.exit(f"\nblock {number}:\n{code}")
        printed.append("\n".join(line.rstrip() for line in out.getvalue().splitlines()))
    json.dump(printed, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["--blocks"]:
        _run_blocks()
    else:
        for name in sys.argv[1:]:
            page = Path(name)
            page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")
