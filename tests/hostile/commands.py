"""Hostile command lines: arguments and files of every command, damaged in one place or two.

A run must end with status 0, 1 or 2, with exactly one line on standard error if it is 2, must leave
no file behind that it did not promise, and must not change what it read; `fault_of_run` says what
it did instead. The number of a run determines it.
"""

import contextlib
import io as text_io
import itertools
import json
import os
import random
import re
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hostile.calls import Hung, bounded, signed, spoil_document

import ldpstats as ldp
from ldpstats import clients, io
from ldpstats.cli import main

JOBS = ("nurse", "teacher", "driver")

VALUES = (
    "", " ", "-", "--", "-1", "0", "1", "2", "1e400", "-inf", "nan", "0.5", "1e-320", "9" * 30, "x",
    "nurse", "nurse,nurse", ",", '"', 'a,"b', "a,b", "\udcff", "x" * 5000, "a\nb", "--force",
    "no/such/file.csv", ".", "/", "/dev/null", "é", "=1+1", "%s", "{}", "a-z", "z-a", "(", "[",
    "krr",
    "report", "cohort", "id", "start_1", "mle", "lasso", "inversion", "true", "None", "NaN", "0x10",
    "1_000", "٣", "best", "cliques", "bootstrap", "heatmap", "out.png", "out.json", "out.csv.gz",
    "out.parquet", "p=.7", "p1=2", "=", "yes=1,2", "kuk", "spec.json", "answers.csv",
    "reports.csv", "3", "*", "*.csv", "duckdb",
)  # fmt: skip

OPTIONS = {
    "privatize": (
        "--column", "--spec", "--survey", "--mechanism", "--categories", "--alphabet",
        "--sensitive", "--epsilon", "--theta", "--p-truth", "--p-yes", "--p", "--q", "-f",
        "--prevalence", "--device", "--param", "--n-outputs", "--n-bits", "--n-hashes",
        "--n-cohorts", "--hashing",
        "--write-spec", "--as", "--keep", "--missing", "--na", "--force", "--questionnaire",
    ),
    "questionnaire": ("--question", "--krr", "--observed", "--ask", "--refused", "--force"),
    "page": ("--to", "--post", "--texts", "--write-texts", "--force"),
    "fit": (
        "--spec", "--params", "--column", "--count", "--cohort", "--candidates", "--map", "--bits",
        "--method", "--detect", "--alpha", "--max-rows", "--details", "--json", "--plot", "--title",
        "--missing", "--na", "--force", "--questionnaire", "--by", "--where", "--csv", "--engine",
        "--on-error", "--weights", "--strata", "--clusters", "--fpc", "--not-nested",
        "--single-unit",
    ),
    "associate": (
        "--spec", "--column", "--name", "--cohort", "--candidates", "--other", "--with", "--id",
        "--count", "--method", "--test", "--permutations", "--surveys", "--seed", "--alpha",
        "--max-rows", "--details", "--json", "--plot", "--title", "--plot-kind", "--missing",
        "--na", "--force", "--questionnaire", "--where", "--engine", "--on-error", "--weights",
        "--strata", "--clusters", "--fpc", "--not-nested", "--single-unit",
    ),
    "survey": (
        "--length", "--gram", "--alphabet", "--epsilon", "--split", "--gram-mechanism",
        "--string-mechanism", "--step", "--pad", "--replace", "--force",
    ),
    "discover": (
        "--survey", "--keep", "--search", "--threshold", "--false-grams", "--max-grams",
        "--max-candidates", "--width", "--alpha", "--max-rows", "--details", "--json", "--plot",
        "--title", "--plot-kind", "--missing", "--na", "--force", "--engine", "--on-error",
    ),
    "conformance": ("--only", "--random", "--seed", "--timeout", "--json", "--force"),
    "audit": ("--json", "--device", "--param", "--categories"),
    "device": (
        "--param", "--categories", "--write-spec", "--json", "--plot", "--title", "--force",
    ),
    "plan": (
        "--categories", "--epsilon", "--mechanism", "--spec", "--candidates", "--p", "--n", "--se",
        "--device", "--param",
        "--width", "--relative", "--category", "--design-effect", "--alpha", "--json", "--csv",
        "--plot", "--title", "--force",
    ),
}  # fmt: skip


def good_files(folder: Path) -> None:
    """Files that every command can use."""
    rng = np.random.default_rng(1)
    krr, late = ldp.KRR(JOBS, 1.0), ldp.KRR(("no", "yes"), 1.0)
    jobs = rng.choice(np.array(JOBS, dtype=object), 60)
    (folder / "answers.csv").write_text("id,job\n1,nurse\n2,driver\n3,teacher\n")
    (folder / "words.csv").write_text("id,word\n1,abca\n2,cc\n")
    pd.DataFrame({"job": jobs}).to_parquet(folder / "answers.parquet")
    io.write_mechanism(krr, folder / "spec.json")
    io.write_mechanism(late, folder / "late.json")
    io.write_mechanism(ldp.KRAPPOR(JOBS, 1.0), folder / "bits.json")
    orr = ldp.ORR(8, 4, epsilon=2.0)
    io.write_mechanism(orr, folder / "orr.json")
    io.write_mechanism(ldp.URAP(JOBS, {"nurse"}, 1.0), folder / "urap.json")
    io.write_reports(krr.privatize(jobs, rng), folder / "reports.csv")
    io.write_reports(krr.privatize(jobs, rng), folder / "reports.parquet")
    io.write_reports(orr.privatize(jobs, rng), folder / "hashed.csv")
    sheet = ldp.Questionnaire({"job": krr, "id": ldp.Observed(("1", "2", "3"))})
    sheet.to_json(folder / "sheet.json")
    ldp.Questionnaire({"job": krr}).to_json(folder / "asked.json")
    portable = (Path(clients.__path__[0]) / "portable" / "ldpstats_client.py").read_text()
    (folder / "client.py").write_text(f"#!{sys.executable} -S\n{portable}")
    (folder / "client.py").chmod(0o755)
    (folder / "candidates.txt").write_text("nurse\nteacher\n")
    rows = [f"{i},{jobs[i]},{('no', 'yes')[i % 2]},2\n" for i in range(60)]
    (folder / "pair.csv").write_text("id,job,late,n\n" + "".join(rows))
    survey = ldp.DictionarySurvey(4, 2, "abc", epsilon=6.0)
    io.write_survey(survey, folder / "survey.json")
    strings = survey.privatize(["abca", "cc", "bab"] * 60, rng)
    io.write_dictionary_reports(strings, folder / "strings.csv")
    google = ldp.RAPPOR(8, 2, 2, f=0.0, p=0.25, q=0.75, hashing="google")
    io.write_rappor_params(google, folder / "params.csv")
    io.write_rappor_map(JOBS, google, folder / "map.csv")
    bits = google.privatize(jobs, rng)
    io.write_rappor_counts(bits.tally(), folder / "counts.csv")
    io.write_rappor_reports(bits, folder / "google.csv")


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("privatize", "answers.csv", "out.csv", "--column", "job", "--spec", "spec.json"),
    (
        "privatize", "answers.csv", "out.csv", "--column", "job", "--mechanism", "krr", "--epsilon",
        "1", "--categories", "nurse,teacher,driver", "--write-spec", "new.json", "--keep", "id",
    ),
    (
        "privatize", "answers.parquet", "out.parquet", "--column", "job", "--mechanism", "urr",
        "--epsilon", "1", "--categories", "nurse,teacher,driver", "--sensitive", "nurse",
        "--write-spec", "new.json",
    ),
    (
        "privatize", "answers.csv", "out.csv.gz", "--column", "job", "--mechanism", "rappor",
        "--n-bits", "8", "--n-hashes", "2", "--n-cohorts", "4", "-f", "0", "--p", "0.25", "--q",
        "0.75", "--write-spec", "new.json",
    ),
    ("privatize", "words.csv", "out.csv", "--column", "word", "--survey", "survey.json"),
    ("privatize", "answers.csv", "out.csv", "--questionnaire", "sheet.json", "--na", "NA"),
    (
        "questionnaire", "out.json", "--question", "job", "spec.json", "--question", "late",
        "late.json", "--observed", "region", "n,s", "--ask", "1",
    ),
    ("questionnaire", "sheet.json"),
    ("page", "sheet.json", "--to", "out.html", "--post", "/sheets"),
    ("page", "sheet.json", "--write-texts", "out.json"),
    ("fit", "reports.csv", "--spec", "spec.json"),
    ("fit", "reports.parquet", "--spec", "spec.json", "--json", "out.json", "--detect", "holm"),
    ("fit", "hashed.csv", "--spec", "orr.json", "--candidates", "candidates.txt"),
    ("fit", "pair.csv", "--spec", "spec.json", "--column", "job", "--count", "n", "--json", "-"),
    ("fit", "counts.csv", "--params", "params.csv", "--map", "map.csv"),
    ("fit", "google.csv", "--params", "params.csv", "--map", "map.csv", "--bits"),
    ("fit", "pair.csv", "--questionnaire", "asked.json", "--column", "job", "--by", "late"),
    (
        "fit", "pair.csv", "--questionnaire", "asked.json", "--column", "job", "--where",
        "10 <= id < 50 and n == 2", "--csv", "out.csv",
    ),
    (
        "associate", "pair.csv", "--questionnaire", "asked.json", "--column", "job", "--column",
        "late", "--where", "id > 5",
    ),
    (
        "fit", "pair.csv", "--questionnaire", "asked.json", "--column", "job", "--weights", "n",
        "--strata", "late", "--json", "out.json",
    ),
    (
        "associate", "pair.csv", "--column", "job", "--spec", "spec.json", "--column", "late",
        "--spec", "late.json", "--json", "out.json",
    ),
    (
        "associate", "pair.csv", "--with", "pair.csv", "--id", "id", "--column", "job", "--spec",
        "spec.json", "--column", "late", "--spec", "late.json", "--name", "job", "--name", "late",
        "--test", "score", "--permutations", "9", "--seed", "1",
    ),
    ("survey", "out.json", "--length", "4", "--gram", "2", "--alphabet", "a-c", "--epsilon", "6"),
    (
        "survey", "out.json", "--length", "4", "--gram", "2", "--alphabet", "abc", "--epsilon", "6",
        "--split", "0.4", "0.3", "0.3", "--replace", "a",
    ),
    ("discover", "strings.csv", "--survey", "survey.json", "--false-grams", "5"),
    (
        "discover", "strings.csv", "--survey", "survey.json", "--json", "out.json", "--keep",
        "[a-c]+",
    ),
    (
        "conformance", "--only", "same", "--random", "40", "--seed", "1", "--timeout", "1",
        "--json", "out.json", "./client.py", "--conformance",
    ),
    ("audit", "spec.json"),
    ("audit", "survey.json", "--json"),
    ("audit", "urap.json"),
    ("audit", "--device", "kuk", "--param", "p1=.8", "--param", "p2=1/5"),
    (
        "device", "forced-categories", "--param", "shares=nurse=.1,driver=.2", "--write-spec",
        "new.json", "--json", "out.json",
    ),
    ("device", "cheating-detection", "--param", "p_yes=1/4", "--plot", "out.png", "--title", "x"),
    (
        "privatize", "answers.csv", "out.csv", "--column", "job", "--device", "forced-dice",
        "--param", "sides=8", "--param", "no=7,8", "--categories", "nurse,driver", "--na",
        "teacher", "--missing", "count", "--write-spec", "new.json",
    ),
    ("plan", "--device", "christofides", "--param", "proportions=3,2,1", "--n", "100"),
    ("plan", "--categories", "nurse,teacher,driver", "--epsilon", "1", "--n", "100"),
    ("plan", "--spec", "spec.json", "--spec", "urap.json", "--se", "0.1", "--csv", "out.csv"),
    (
        "plan", "--spec", "orr.json", "--candidates", "candidates.txt", "--width", "0.1", "--json",
        "out.json",
    ),
)  # fmt: skip
RARE = {"discover": 0.1, "associate": 0.5, "conformance": 0.3}  # they take longer

JSON_NAMES = (
    "spec.json",
    "late.json",
    "bits.json",
    "orr.json",
    "urap.json",
    "survey.json",
    "sheet.json",
    "asked.json",
)


# -- damage ----------------------------------------------------------------------------------------


def spoil_arguments(argv: list[str], dice: random.Random) -> str:
    """Damage the arguments; say how."""
    known = OPTIONS.get(argv[0] if argv else "", OPTIONS["fit"])
    what = dice.choice(
        ("value", "value", "value", "add", "add", "drop", "double", "swap", "command")
    )
    at = dice.randrange(1, len(argv)) if len(argv) > 1 else 0
    if what == "value" and argv:
        argv[at] = dice.choice(VALUES)
    elif what == "add":
        argv[at:at] = [dice.choice(known), dice.choice(VALUES)][: dice.choice((1, 2, 2, 2))]
    elif what == "drop" and argv:
        del argv[at]
    elif what == "double" and argv:
        argv.insert(at, argv[at])
    elif what == "swap" and argv:
        other = dice.randrange(len(argv))
        argv[at], argv[other] = argv[other], argv[at]
    elif argv:
        argv[0] = dice.choice((*OPTIONS, "", "x"))
    return what


def spoil_bytes(data: bytes, dice: random.Random) -> bytes:
    """Data that were cut, flipped, doubled or written in another way."""
    at = dice.randrange(len(data)) if data else 0
    bad = dice.choice(
        (b"\0", b"\xff", b"\xc3", b'"', b",", b"\n", b"\r", b"'", b"=", b"-", b"9" * 40)
    )
    turns: tuple[Callable[[], bytes], ...] = (
        lambda: data[:at],
        lambda: data[at:],
        lambda: b"",
        lambda: data[:at] + bad + data[at:],
        lambda: data[:at] + bad + data[at + 1 :],
        lambda: data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :],
        lambda: data + data,
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: data.replace(b"\n", b"\n\n"),
        lambda: data.replace(b",", b";"),
        lambda: data.decode("latin-1").encode("utf-16"),
        lambda: data.split(b"\n", 1)[-1],
        lambda: data + b"1,2,3,4,5,6,7,8,9\n",
        lambda: bytes(dice.randrange(256) for _ in range(200)),
        lambda: data[:at] + b"x" * 200_000 + data[at:],
    )
    return dice.choice(turns)() if data else b""


def spoil_table(data: bytes, dice: random.Random) -> bytes:
    """A CSV file of which a field, a name or a row is another one."""
    rows = [row.split(",") for row in data.decode(errors="replace").splitlines()] or [[""]]
    row = dice.choice(rows)
    what = dice.randrange(5)
    bad = dice.choice((
        "", "nan", "inf", "-1", "1e9", "9" * 25, "0.5", "cook", "None", "x" * 3000, "é", '"',
        '"a,b"', "'nurse", "=1+1", "1:1", "99:1", "01", "report", "id", " nurse", "NURSE", "2.0",
        "٣", "a\tb",
    ))  # fmt: skip
    if what <= 2:
        row[dice.randrange(len(row))] = bad
    elif what == 3:
        row.append(bad)
    else:
        row.pop()
    return "\n".join(",".join(r) for r in rows).encode() + b"\n"


def spoil_json(data: bytes, dice: random.Random) -> bytes:
    """A JSON document of which something is of another type, or there twice."""
    what = dice.randrange(8)
    if what == 0:
        return b"[" * dice.choice((10, 5000, 100_000))
    if what == 1:
        text = data.decode(errors="replace").rstrip()
        return (text[:-1] + ', "version": true, "epsilon": 1}').encode()
    try:
        document = signed(spoil_document(json.loads(data), dice))
    except (ValueError, RecursionError):  # it was damaged before
        return spoil_bytes(data, dice)
    return json.dumps(document).encode("utf-8", "surrogatepass")


def spoil_file(path: Path, dice: random.Random) -> str:
    """Damage a file; say how."""
    if path.is_dir():
        return "a directory already"
    data = path.read_bytes()
    if dice.random() < 0.05:
        path.unlink()
        path.mkdir()
        return f"{path.name} is a directory"
    if path.suffix == ".json" and dice.random() < 0.7:
        path.write_bytes(spoil_json(data, dice))
        return f"{path.name}: another document"
    if path.suffix == ".csv" and dice.random() < 0.6:
        path.write_bytes(spoil_table(data, dice))
        return f"{path.name}: another field"
    path.write_bytes(spoil_bytes(data, dice))
    return f"{path.name}: other bytes"


# -- runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A command line and what was done to it; the files are in the working directory."""

    number: int
    argv: tuple[str, ...]
    damage: tuple[str, ...]

    def __str__(self) -> str:
        shown = [a if len(a) < 60 else f"{a[:20]}...({len(a)})" for a in self.argv]
        return f"run {self.number}: {shown!r} [{'; '.join(self.damage)}]"


def run_of(number: int, folder: Path) -> Run:
    """The hostile command line of a number, and its files in `folder`, which holds good ones."""
    dice = random.Random(number)
    while True:
        argv = list(dice.choice(COMMANDS))
        if dice.random() < RARE.get(argv[0], 1.0):
            break
    damage = []
    for _ in range(1 if dice.random() < 0.6 else 2):
        used = [a for a in dict.fromkeys(argv[1:]) if (folder / a[:99].replace("\0", "")).is_file()]
        if used and dice.random() < 0.5:
            damage.append(spoil_file(folder / dice.choice(used), dice))
        else:
            damage.append(spoil_arguments(argv, dice))
    return Run(number, tuple(argv), tuple(damage))


def contents(folder: Path) -> dict[str, bytes | None]:
    """What is in every file of a folder; None for a directory."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


_POSITIONAL = (("privatize",), ("survey",), ("questionnaire",))


def promised(argv: tuple[str, ...]) -> set[str]:
    """The files that a command line says it writes."""
    found = {argv[2]} if argv[:1] == ("privatize",) and len(argv) > 2 else set()
    written = ("--json", "--plot", "--write-spec", "--csv", "--to", "--write-texts")
    found |= {b for a, b in itertools.pairwise(argv) if a in written}
    found |= {a.split("=", 1)[1] for a in argv if a.startswith(tuple(f"{w}=" for w in written))}
    # positional arguments may stand anywhere
    return found | (set(argv) if argv[:1] in _POSITIONAL else set())


def fault_of_run(run: Run, folder: Path) -> str:
    """What is wrong with how the run ended; empty where nothing is."""
    before = contents(folder)
    out, err = text_io.StringIO(), text_io.StringIO()
    here = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), bounded():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                status = main(list(run.argv))
    except Hung as error:
        return f"hangs: {error}"
    except BaseException as error:
        return f"raised {type(error).__name__}: {str(error)[:200]}"
    finally:
        os.chdir(here)
    return _end_fault(run, status, out.getvalue(), err.getvalue()) or _files_fault(
        run, status, before, contents(folder)
    )


def _end_fault(run: Run, status: int, out: str, err: str) -> str:
    lines = [line for line in err.splitlines() if not line.startswith("ldpstats: warning: ")]
    if status not in (0, 1, 2):
        return f"status {status}"
    if "Traceback" in err or "a defect of ldpstats" in err:
        found = re.search(r"\((\w+ in [^:]*)", err)
        return f"defect {found[1] if found else ''}: {err.strip()[-300:]}"
    if status == 2 and (len(lines) != 1 or not lines[0].startswith("ldpstats: error: ")):
        return f"{len(lines)} lines on standard error: {err[:300]!r}"
    if status == 2 and out:
        return f"standard output has {out[:100]!r}"
    if status != 2 and lines:
        return f"status {status}, but {err[:200]!r}"
    if any(len(line) > 2100 for line in err.splitlines()):
        return f"a line of {max(map(len, err.splitlines()))} characters"
    return ""


def _files_fault(
    run: Run, status: int, before: dict[str, bytes | None], after: dict[str, bytes | None]
) -> str:
    new = set(after) - set(before)
    if status == 2 and new:
        return f"left {sorted(new)[0]!r} behind"
    stray = {name for name in new if name not in promised(run.argv)}
    if stray:
        return f"wrote {sorted(stray)[0]!r}"
    changed = {name for name, data in before.items() if after.get(name, b"") != data}
    if changed and (status == 2 or "--force" not in run.argv):
        return f"changed {sorted(changed)[0]!r}"
    return ""


class Kitchen:
    """A folder that is made good again before each run."""

    def __init__(self, folder: Path) -> None:
        self.good, self.work = folder / "good", folder / "work"
        self.good.mkdir()
        good_files(self.good)

    def fresh(self) -> Path:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.good, self.work)
        return self.work


def run_and_judge(number: int, kitchen: Kitchen) -> tuple[Run, str]:
    """Make a run by its number, and say what was wrong."""
    folder = kitchen.fresh()
    run = run_of(number, folder)
    fault: Any = fault_of_run(run, folder)
    return run, str(fault)
