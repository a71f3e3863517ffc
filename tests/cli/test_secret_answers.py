"""No error of privatising a file shows an answer: not its words, not the frames it passed."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli import main

SECRET = "zebra"  # part of every answer below, and of nothing else
KRR = ldp.KRR(("nurse", "teacher"), epsilon=1.0)
SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="cdf", epsilon=6.0)
OPEN = ldp.ORR(n_outputs=8, n_cohorts=4, epsilon=1.0)
LISTED = ldp.ORR(n_outputs=8, n_cohorts=4, epsilon=1.0, alphabet=("nurse", "teacher"))


def text(path: Path, data: str) -> Path:
    path.write_bytes(data.encode("utf-8", "surrogateescape"))
    return path


def table(path: Path, column: Any) -> Path:
    pyarrow.parquet.write_table(pyarrow.table({"job": column}), path)
    return path


# a file of answers, and what the error says
FAULTS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "an unknown answer": (
        lambda f: text(f / "a.csv", f"job\nnurse\nnurse\n{SECRET}\n"),
        "column 'job', row 3=(not shown): ",
    ),
    "an unknown answer in parquet": (
        lambda f: table(f / "a.parquet", ["nurse", f"the {SECRET}", "nurse"]),
        "column 'job', row 2=(not shown): ",
    ),
    "no header": (
        lambda f: text(f / "a.csv", f"{SECRET}\nnurse\n"),
        "no such column in",
    ),
    "a header twice": (
        lambda f: text(f / "a.csv", f"job,job,{SECRET}\nnurse,2,3\n"),
        "more than one such column in",
    ),
    "no UTF-8": (
        lambda f: text(f / "a.csv", f"job\nnurse\n{SECRET}\udce9\n"),
        "is not UTF-8 text: save",
    ),
    "too many fields": (
        lambda f: text(f / "a.csv", f"job\nnurse\n{SECRET},{SECRET}\n"),
        "row 2 has 2 fields",
    ),
    "an open quote": (lambda f: text(f / "a.csv", f'job\n"{SECRET}\n'), "is not well-formed CSV: "),
    "no gzip": (
        lambda f: text(f / "a.csv.gz", f"{SECRET}\nnurse\n"),
        "cannot be read (BadGzipFile)",
    ),
    "no parquet": (lambda f: text(f / "a.parquet", f"{SECRET}\n" * 9), "cannot be read (Arrow"),
    "dates": (
        lambda f: table(f / "a.parquet", pyarrow.array([1], pyarrow.date32())),
        "must hold text, numbers or booleans",
    ),
    "a structure": (
        lambda f: table(f / "a.parquet", [{SECRET: "nurse"}]),
        "'a nested type': must hold text, numbers or booleans",
    ),
    "a missing answer": (
        lambda f: text(f / "a.csv", f"job,id\n{'nurse'},1\n,{SECRET}\n"),
        "row 2=None: is missing",
    ),
}
CLIENTS: dict[str, Any] = {
    "closed": KRR.collector(),
    "listed": LISTED.collector(),
    "open": OPEN.collector(),
    "strings": SURVEY.collector(),
}


def refused(call: Callable[[], object]) -> ldp.LDPError:
    """The error of a call, after whatever a logger may write of it was seen to hold no answer."""
    with pytest.raises(ldp.LDPError) as caught:
        call()
    shown = "".join(
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    )
    # the frames of the test itself know the answers
    own = shown[shown.index("ldpstats/clients") :] if "ldpstats/clients" in shown else ""
    assert own and SECRET not in own and SECRET not in repr(caught.value.__dict__)
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    return caught.value


def privatize(source: Path, client: Any, **how: Any) -> None:
    out = source.with_name("r.csv")
    make: Any = io.privatize_strings if client is CLIENTS["strings"] else io.privatize_file
    make(source, out, "job", client, **how)


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_shows_an_answer(fault: str, kind: str, tmp_path: Path) -> None:
    make, says = FAULTS[fault]
    source = make(tmp_path)
    if kind == "open" and "unknown" in fault:
        return privatize(source, CLIENTS[kind])  # any text is an answer
    if kind == "strings" and "unknown" in fault:
        says = "row 1=(not shown): must be a string, not empty, of the 3 characters"
    error = refused(lambda: privatize(source, CLIENTS[kind]))
    reading = ("column 'job', row", "it has", "row 2=None")
    assert says in str(error) or (kind == "strings" and not says.startswith(reading))
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_of_the_command_line_shows_an_answer(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make, says = FAULTS[fault]
    source = make(tmp_path)
    made = "--mechanism krr --epsilon 1 --categories nurse,teacher --write-spec s.json"
    assert main(["privatize", source.name, "r.csv", "--column", "job", *made.split()]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and says in err
    assert SECRET not in err and "defect" not in err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_the_row_is_that_of_the_file(tmp_path: Path) -> None:
    rows = ["nurse", "", "teacher", "", "nurse", SECRET, "nurse", SECRET]
    source = text(tmp_path / "a.csv", "job,id\n" + "".join(f"{row},1\n" for row in rows))
    for chunk_rows in (100, 4, 3, 1):
        for kind in ("closed", "listed"):
            how: dict[str, Any] = {"missing": "count", "chunk_rows": chunk_rows}
            error = refused(lambda k=kind, h=how: privatize(source, CLIENTS[k], **h))
            assert isinstance(error, ldp.UnknownCategory)
            assert "row 6=(not shown): is not among the 2 labels 'nurse', 'teacher'" in str(error)


def test_numbers_are_answers_too(tmp_path: Path) -> None:
    source = table(tmp_path / "a.parquet", [1, 4711])
    for mechanism in (ldp.KRR(4, 1.0), ldp.KRR((1, 5), 1.0), OPEN, KRR):
        error = refused(lambda m=mechanism: privatize(source, m.collector()))
        assert "4711" not in str(error) and "(not shown)" in str(error)


def test_characters_of_a_string_are_part_of_the_answer(tmp_path: Path) -> None:
    source = text(tmp_path / "a.csv", "job\ncd\ncZf\n")
    error = refused(lambda: privatize(source, CLIENTS["strings"]))
    assert "row 2=(not shown)" in str(error) and "Z" not in str(error)


class Own(Exception):
    """Not one of this package's errors."""


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Own, "a defect of ldpstats, please report it (Own in test_secret_answers.py, line "),
        (KeyError, "a defect of ldpstats, please report it (KeyError in"),
        (ldp.LDPError, "column 'job'=(not shown): is not among the 2 labels"),
    ],
)
def test_errors_of_others_are_not_quoted(
    kind: type[Exception], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(client: Any, values: Any, missing: str = "raise") -> None:
        raise kind(f"{values[0]} is {SECRET}")

    source, client = text(tmp_path / "a.csv", "job\nnurse\n"), KRR.collector()
    monkeypatch.setattr(type(client), "privatize", fail)
    assert says in str(refused(lambda: privatize(source, client)))
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interruption_stays_one_and_is_bare(kind: type[BaseException], tmp_path: Path) -> None:
    source = text(tmp_path / "a.csv", f"job,id\nnurse,{SECRET}\n")

    def stop(fraction: float) -> None:
        raise kind

    with pytest.raises(kind) as caught:
        privatize(source, CLIENTS["closed"], advance=stop, keep=["id"])
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not any(Path(name).name == "tables.py" for name in files)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_arguments_that_do_not_exist_are_named() -> None:
    for make in (io.privatize_file, io.privatize_strings):
        unchecked: Any = make
        with pytest.raises(TypeError, match="missing a required argument: 'target'") as caught:
            unchecked(SECRET)
        assert SECRET not in str(caught.value)
        with pytest.raises(TypeError, match="unexpected keyword argument 'chunks'") as caught:
            unchecked("a.csv", "r.csv", "job", KRR.collector(), chunks=SECRET)
        assert SECRET not in str(caught.value)


def test_a_defect_of_the_command_is_not_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    io.write_mechanism(KRR, "s.json")

    def fail(*given: Any, **how: Any) -> None:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(io, "privatize_file", fail)
    assert main(["privatize", "a.csv", "r.csv", "--column", "job", "--spec", "s.json"]) == 2
    err = capsys.readouterr().err
    assert "a defect of ldpstats, please report it (ZeroDivisionError in" in err
    assert SECRET not in err


def test_other_commands_still_name_what_they_read(tmp_path: Path) -> None:
    """Reports are no secret: the error names the value, the header and the byte."""
    source = text(tmp_path / "r.csv", f"report\nnurse\n{SECRET}\n")
    with pytest.raises(ldp.UnknownCategory, match=f"row 2='{SECRET}'"):
        io.read_counts(source, KRR)
    with pytest.raises(ldp.InvalidArgument, match=r"it has \['report'\]"):
        io.read_counts(source, KRR, "job")
    text(source, "report\nnurse\udce9\n")
    with pytest.raises(ldp.InvalidArgument, match="byte 0xe9"):
        io.read_counts(source, KRR)
