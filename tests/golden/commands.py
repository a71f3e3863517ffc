"""Command lines of `ldpstats`, run in process, and what they print and write."""

import contextlib
import io
import os
import shlex
import shutil
import tempfile
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
from golden import objects
from golden.plain import DROPPED, masked, plain, repeatable, text
from hostile import commands as hostile

COMMANDS = (
    "privatize", "questionnaire", "page", "collect", "invite", "fit", "associate", "survey",
    "discover", "client", "conformance", "audit", "device", "plan",
)  # fmt: skip
DEVICES = {
    "warner": "p=.7",
    "forced-response": "p_yes=1/6 p-no=1/6",
    "forced-dice": "yes=1,2 no=9,10 sides=10",
    "forced-cards": "truth_cards=8 yes=1 no=1",
    "forced-coins": "",
    "forced-categories": "shares=no=.1,yes=1/5",
    "unrelated-question": "p=.7 prevalence=1/4",
    "moors": "p=.7 group=2",
    "mangat": "p=.6",
    "mangat-singh": "t=1/2 p=.7",
    "kuk": "p1=.8 p2=.2 draws=3",
    "disguised-response": "p=.8",
    "christofides": "proportions=1/2,1/3,1/6",
    "crosswise": "p=1/4",
    "inattentive-crosswise": "p=1/4 attentive=.8",
    "one-saying-crosswise": "p=1/4 one_saying=.1",
    "triangular": "p=1/4",
    "stochastic-lie-detector": "p=.6",
    "cheating-detection": "p_yes=1/4 cheating=.1",
}
FIT = "fit reports.csv --spec spec.json"
SHEETS = "--questionnaire sheet_all.json"
PAIR = "associate pair.csv --column job --spec spec.json --column late --spec late.json"
PLAN = "plan --categories nurse,teacher,driver --epsilon 1"
LINES = (
    *(f"{name} --help" for name in COMMANDS),
    *(f"{FIT} --method {name}" for name in objects.METHODS),
    *(f"{FIT} --detect {name}" for name in ("bonferroni", "holm", "bh", "none")),
    f"{FIT} --alpha 0.1 --max-rows 2",
    f"{FIT} --details",
    f"{FIT} --json -",
    f"{FIT} --csv -",
    f"{FIT} --json out.json --csv out.csv",
    f"{FIT} --plot out.png --title Jobs",
    f"{FIT} --title Jobs",
    f"{FIT} --method lasso",
    f"{FIT} --alpha 2",
    f"{FIT} --magic",
    f"{FIT} --meth mle",
    f"{FIT} --json reports.csv --force",
    f"{FIT} --candidates candidates.txt",
    "fit reports.csv",
    "fit none.csv --spec spec.json",
    "fit reports.csv --spec late.json",
    "fit counts.csv --params params.csv --map map.csv --json -",
    "fit hashed.csv --spec orr.json --candidates candidates.txt --details",
    "fit hashed.csv --spec orr.json",
    "fit pair.csv --spec spec.json --column job --count n --details",
    "fit pair.csv --spec spec.json --column town",
    f"fit sheets.csv {SHEETS} --column job",
    f"fit sheets.csv {SHEETS} --column job --by region",
    f"fit sheets.csv {SHEETS} --column job --by region --csv -",
    f"fit sheets.csv {SHEETS} --column job --by region --json -",
    f"fit sheets.csv {SHEETS} --column job --where 'age >= 40 and region == \"n\"'",
    f"fit sheets.csv {SHEETS} --column job --where 'age >= '",
    f"fit sheets.csv {SHEETS} --column job --weights weight",
    f"fit sheets.csv {SHEETS} --column job --weights weight --by region --json -",
    f"fit sheets.csv {SHEETS} --column job --weights weight --strata region --clusters town",
    f"fit sheets.csv {SHEETS} --column late --weights weight --clusters town --details",
    f"fit sheets.csv {SHEETS} --column mood",
    f"fit sheets.csv {SHEETS} --column host --candidates hosts.txt",
    f"fit sheets.csv {SHEETS} --column place",
    f"fit sheets.csv {SHEETS} --column age",
    f"{PAIR}",
    f"{PAIR} --details",
    f"{PAIR} --json -",
    f"{PAIR} --test wald",
    f"{PAIR} --test score --permutations 19 --seed 3",
    f"{PAIR} --test bootstrap --surveys 9 --seed 3",
    f"{PAIR} --name work --name hours --alpha 0.1",
    f"{PAIR} --method inversion",
    f"{PAIR} --plot out.png --plot-kind heatmap",
    f"{PAIR} --column id --spec spec.json",
    f"associate sheets.csv {SHEETS} --column job --column region",
    f"associate sheets.csv {SHEETS} --column late --column ill --column region",
    f"associate sheets.csv {SHEETS} --column job --column late --weights weight --clusters town",
    f"associate sheets.csv {SHEETS} --column job --column late --where 'age < 40' --json -",
    f"associate sheets.csv {SHEETS} --column job",
    "discover strings.csv --survey survey.json",
    "discover strings.csv --survey survey.json --false-grams 5 --details --json -",
    "discover strings.csv --survey survey.json --search cliques --max-candidates 10",
    "discover strings.csv --survey survey.json --threshold bootstrap --keep '[ab]+'",
    "audit spec.json --json", "audit orr.json", "audit sheet_all.json",
    "audit urap.json --json", "audit answers.csv", "audit none.json",
    "questionnaire sheet_all.json", "questionnaire asked.json",
    "questionnaire new.json --krr job nurse,teacher 1 --krr late no,yes 1 --ask 1",
    "questionnaire new.json --krr job nurse,teacher 1 --refused job nurse",
    "survey new.json --length 8 --gram 2 --alphabet a-z. --epsilon 12",
    "survey new.json --length 8 --gram 3 --alphabet a-z --epsilon 12",
    "invite asked.json -n 2 --to codes.csv",
    "client spec.json --language python --to device",
    "client spec.json --language javascript --to device",
    f"{PLAN} --n 1000", f"{PLAN} --se 0.02", f"{PLAN} --width 0.1", f"{PLAN} --relative 0.2",
    f"{PLAN} --n 1000 --p .5,.3,.2 --csv -", f"{PLAN} --n 1000 --json -",
    f"{PLAN} --epsilon 2 --mechanism krr --mechanism oue --se 0.05 --design-effect 2",
    f"{PLAN} --n 1000 --category nurse --p .5,.3,.2 --alpha .1",
    f"{PLAN}", f"{PLAN} --n 0", f"{PLAN} --n 1000 --p .5,.3",
    f"{PLAN} --n 1000 --plot plan.png",
    "plan --spec orr.json --candidates candidates.txt --n 5000 --csv -",
    "plan --device kuk --param p1=.8 --param p2=1/5 --n 1000 --csv -",
    "privatize answers.csv out.csv --column job --spec spec.json --missing count",
    "privatize answers.csv out.csv --column job --spec late.json",
    "privatize answers.csv out.csv --column job --mechanism krr --epsilon 1",
    "privatize answers.csv answers.csv --column job --spec spec.json",
    "privatize answers.csv out.csv --column job --mechanism subset --epsilon 1"
    " --categories nurse,teacher,driver --write-spec new.json",
    "", "guess",
)  # fmt: skip
N_HOSTILE = 150
UNREAD = (".png", ".svg", ".pdf", ".zip", ".gz")


def program() -> Any:
    """What the command `ldpstats` calls, with the arguments as a list."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module = project["project"]["scripts"]["ldpstats"].split(":")[0]
    return import_module(module).main


def _devices() -> Iterator[str]:
    for name, params in DEVICES.items():
        given = " ".join(f"--param {param}" for param in params.split())
        yield f"device {name} {given}"
        yield f"audit --device {name} {given}"


def lines() -> list[list[str]]:
    """All command lines: the table above, devices, and those of the hostile suite."""
    told = [shlex.split(line) for line in (*LINES, *_devices())]
    return told + [list(line) for line in hostile.COMMANDS if line[0] != "conformance"]


class Kitchen:
    """A folder whose files are made anew for each command."""

    def __init__(self, folder: Path) -> None:
        self.good, self.work = folder / "good", folder / "work"
        self.good.mkdir()
        with repeatable("kitchen"):
            hostile.good_files(self.good)
        objects.sheet().to_json(self.good / "sheet_all.json")
        objects.collected().iloc[:600].to_csv(self.good / "sheets.csv", index=False)
        (self.good / "hosts.txt").write_text("h0\nh1\nh2\n")

    def fresh(self) -> Path:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.good, self.work)
        return self.work


def commands(which: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
    """What command lines print and write; of the named commands only."""
    with tempfile.TemporaryDirectory() as folder:
        kitchen = Kitchen(Path(folder))
        for argv in lines():
            if which and (not argv or argv[0] not in which):
                continue
            yield shlex.join(argv), run(argv, kitchen.fresh())


def damaged() -> Iterator[tuple[str, Any]]:
    """Command lines, and files, with a fault or two."""
    with tempfile.TemporaryDirectory() as folder:
        kitchen = Kitchen(Path(folder))
        for number in range(N_HOSTILE):
            made = hostile.run_of(number, kitchen.fresh())
            if made.argv[:1] in (("conformance",), ("client",)):
                continue
            shown = text(" ".join(made.argv), 200).encode(errors="replace").decode()
            found = run(list(made.argv), kitchen.work)
            yield f"{number}", {"line": shown, "damage": list(made.damage)} | found


def run(argv: list[str], folder: Path) -> dict[str, Any]:
    """Status, output and new or changed files of a command line."""
    before = hostile.contents(folder)
    out, err = io.StringIO(), io.StringIO()
    here = os.getcwd()
    os.chdir(folder)
    status: Any
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
            mock.patch.dict(os.environ, {"COLUMNS": "80"}),
            repeatable(" ".join(argv)),
        ):
            warnings.simplefilter("default")
            for kind in DROPPED:
                warnings.simplefilter("ignore", kind)
            status = program()(argv)
    except SystemExit as ended:
        status = f"exit {ended.code}"
    finally:
        os.chdir(here)
    with masked(folder):
        found = {"status": status, "out": _printed(out), "err": _printed(err)}
        after = hostile.contents(folder)
        changed = {name for name, data in after.items() if before.get(name, b"") != data}
        files = {name: _file(folder / name, argv) for name in sorted(changed)}
    gone = sorted(set(before) - set(after))
    return found | ({"files": files} if files else {}) | ({"gone": gone} if gone else {})


def _printed(words: io.StringIO) -> Any:
    return plain(words.getvalue().encode(errors="backslashreplace").decode())


def _file(path: Path, argv: list[str]) -> Any:
    """What is in a file; of plots, and of what is drawn elsewhere, that there is one."""
    if path.is_dir():
        return "a folder"
    if path.suffix in UNREAD or argv[0] == "invite":
        return "a file"
    if path.suffix == ".parquet":
        return plain(pd.read_parquet(path))
    return plain(path.read_bytes().decode(errors="backslashreplace"))
