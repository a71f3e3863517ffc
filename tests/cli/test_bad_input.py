"""Malformed arguments, files and specifications of the commands: one clear line each."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.command_refusals import refused

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
OTHER = ldp.KRR(JOBS, epsilon=2.0)
BITS = ldp.KRAPPOR(JOBS, epsilon=1.0)
SPEC = KRR.to_dict()


class Folder:
    """Good files to spoil, and one bad file of each kind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec = self.text("spec.json", json.dumps(SPEC))
        self.bit_spec = self.text("bits.json", json.dumps(BITS.to_dict()))
        self.answers = self.text("answers.csv", "id,job\n1,nurse\n2,driver\n")
        self.reports = self.text("reports.csv", "report\nnurse\nnurse\ndriver\n")
        self.out = str(path / "out.csv")

    def text(self, name: str, text: str) -> str:
        return self.data(name, text.encode())

    def data(self, name: str, data: bytes) -> str:
        file = self.path / name
        file.write_bytes(data)
        return str(file)

    def parquet(self, name: str = "reports.parquet", mechanism: ldp.Mechanism = KRR) -> str:
        file = self.path / name
        io.write_reports(mechanism.privatize(JOBS * 50, np.random.default_rng(1)), file)
        return str(file)

    def column(self, name: str, values: Any) -> str:
        file = self.path / name
        pd.DataFrame({"report": values}).to_parquet(file)
        return str(file)

    def fit(self, *more: str, reports: str | None = None, spec: str | None = None) -> list[str]:
        return ["fit", reports or self.reports, "--spec", spec or self.spec, *more]

    def fit_csv(self, text: str, *more: str) -> list[str]:
        return self.fit(*more, reports=self.text("bad.csv", text))

    def spec_of(self, **fields: Any) -> list[str]:
        return ["audit", self.text("bad.json", json.dumps(SPEC | fields))]

    def privatize(self, *more: str, answers: str | None = None, column: str = "job") -> list[str]:
        spec = [] if "--mechanism" in more else ["--spec", self.spec]
        return ["privatize", answers or self.answers, self.out, "--column", column, *spec, *more]

    def make(self, mechanism: str, *more: str) -> list[str]:
        made = ["--mechanism", mechanism, *more, "--write-spec", str(self.path / "new.json")]
        return self.privatize(*made)


def spoiled(data: bytes) -> bytes:
    """Bytes of a Parquet file with the first page overwritten."""
    return data[:4] + bytes(60) + data[64:]


def bit_csv(folder: Folder, second: str) -> str:
    return folder.text("bits.csv", f"report\n010\n{second}\n")


# what is wrong, the arguments, and what the message must say
COMMANDS: list[tuple[str, Callable[[Folder], list[str]], str]] = [
    # -- arguments
    ("no command", lambda f: [], "COMMAND"),
    ("no such command", lambda f: ["guess"], "guess"),
    ("no such option", lambda f: f.fit("--magic"), "--magic"),
    ("abbreviated option", lambda f: f.fit("--meth", "mle"), "--meth"),
    ("no specification", lambda f: ["fit", f.reports], "--spec"),
    ("alpha two", lambda f: f.fit("--alpha", "2"), "alpha"),
    ("alpha a word", lambda f: f.fit("--alpha", "five"), "--alpha"),
    ("plot of no format", lambda f: f.fit("--plot", "figure.docx"), "plot"),
    ("na is a label", lambda f: f.fit("--na", "nurse"), "na"),
    ("json over the input", lambda f: f.fit("--json", f.reports, "--force"), "twice"),
    ("json exists", lambda f: f.fit("--json", f.answers), "exists"),
    # -- files
    ("missing file", lambda f: f.fit(reports=f"{f.path}/none.csv"), "no such file"),
    ("a folder", lambda f: f.fit(reports=str(f.path)), "give files of one table"),
    ("empty file", lambda f: f.fit_csv(""), "empty"),
    ("wrong column", lambda f: f.fit("--column", "answer"), "answer"),
    ("row too long", lambda f: f.fit_csv("report\nnurse\nnurse,driver\n"), "row 2"),
    ("open quote", lambda f: f.fit_csv('report\n"nurse\ndriver\n'), "CSV"),
    ("latin-1", lambda f: f.fit(reports=f.data("l.csv", b"report\ncaf\xe9\n")), "UTF-8"),
    (
        "cut parquet",
        lambda f: f.fit(reports=f.data("c.parquet", Path(f.parquet()).read_bytes()[:-20])),
        "cannot be read",
    ),
    # -- reports
    ("missing report", lambda f: f.fit_csv("report\nnurse\n\n"), "row 2"),
    ("all missing", lambda f: f.fit_csv("id,report\n1,\n", "--missing", "count"), "no report"),
    ("negative count", lambda f: f.fit_csv("report,n\nnurse,-1\n", "--count", "n"), "row 1"),
    (
        "mle of bit sums",
        lambda f: f.fit("--bits", "--method", "mle", reports=bit_csv(f, "011"), spec=f.bit_spec),
        "inversion",
    ),
    ("other parquet", lambda f: f.fit(reports=f.parquet("o.parquet", OTHER)), "fingerprint"),
    # -- specifications
    ("spec epsilon", lambda f: f.spec_of(epsilon=-1), "epsilon"),
    # -- privatize
    ("unknown answer", lambda f: f.privatize(answers=f.text("a.csv", "job\ncook\n")), "row 1"),
    ("true answers kept", lambda f: f.privatize("--keep", "job"), "keep"),
    ("output exists", lambda f: [*f.privatize()[:2], f.reports, *f.privatize()[3:]], "exists"),
    ("output is input", lambda f: [*f.privatize()[:2], f.answers, *f.privatize()[3:]], "twice"),
    ("neither spec nor kind", lambda f: [*f.privatize()[:5]], "--spec"),
    ("both spec and kind", lambda f: [*f.privatize(), "--mechanism", "krr"], "--mechanism"),
    ("no place for the spec", lambda f: f.privatize("--mechanism", "warner"), "--write-spec"),
    ("no such kind", lambda f: f.make("oracle"), "oracle"),
    ("kind without epsilon", lambda f: f.make("krr", "--categories", "a,b"), "--epsilon"),
    ("kind without labels", lambda f: f.make("krr", "--epsilon", "1"), "--categories"),
    ("kind with theta", lambda f: f.make("warner", "--epsilon", "1", "--theta", ".5"), "--theta"),
    (
        "empty label",
        lambda f: f.make("krr", "--epsilon", "1", "--categories", "nurse,driver,"),
        "Parquet",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "says"), [case[1:] for case in COMMANDS], ids=[c[0] for c in COMMANDS]
)
def test_the_command_line_refuses(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    refused(arguments(Folder(tmp_path)), says, capsys)


@pytest.mark.parametrize("name", ["unknown answer"])
def test_the_program_itself_refuses(name, tmp_path):
    arguments = {case[0]: case[1] for case in COMMANDS}[name](Folder(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-m", "ldpstats.cli", *arguments], capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("ldpstats: error: ") and ran.stderr.count("\n") == 1


def test_good_input_passes(tmp_path, capsys):
    """The negative control: the files that the cases spoil are good."""
    folder = Folder(tmp_path)
    assert main(folder.fit()) == 0
    assert main(folder.fit(reports=folder.parquet())) == 0
    assert main(folder.fit(reports=bit_csv(folder, "011"), spec=folder.bit_spec)) == 0
    assert main(folder.privatize()) == 0
    assert main(folder.spec_of()) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["fit", "privatize"])
def test_an_option_for_one_value_is_not_given_twice(command, capsys):
    files = ["a.csv"] if command == "fit" else ["a.csv", "b.csv"]
    columns = ["--column", "job", "--column", "region"]
    assert main([command, *files, "--spec", "s.json", *columns]) == 2
    assert "argument --column: given twice, 'region' the second time" in capsys.readouterr().err
