"""ldpstats privatize: from answers to reports, and back to estimates."""

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from shared.job_runs import SHARES, fit, privatize
from shared.sheets import PUM, STRINGS

import ldpstats as ldp
from ldpstats import io
from ldpstats import io as files
from ldpstats.cli import main

FORMATS = (".csv", ".csv.gz", ".parquet")


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [("krr", ".csv", ".csv"), ("krr", ".parquet", ".csv.gz"), ("krappor", ".csv", ".parquet")],
)
def test_from_answers_to_estimates(kind, source, target, answers, capsys):
    assert privatize(answers, kind, source, target) == 0
    out = capsys.readouterr()
    assert out.err == "" and "20000 reports" in out.out and "0 missing" in out.out
    assert fit(answers, "--json", "-", suffix=target) == 0
    results = ldp.FrequencyResults.from_json(capsys.readouterr().out)

    mechanism = files.read_mechanism(answers / "spec.json")
    counts = files.read_counts(answers / f"reports{target}", mechanism)
    assert results.nobs == counts.nobs == 20_000
    expected = ldp.FrequencyModel(counts).fit()
    pd.testing.assert_series_equal(results.params, expected.params)
    # The client's randomness cannot be fixed here. Each estimate is normal to a good approximation
    # at this size, so one of the three is off by 7 standard errors with probability 8e-12.
    z = (results.linear_params - SHARES) / results.linear_bse
    assert np.abs(z).max() < 7
    assert results.linear_bse.max() < 0.02  # so that 7 of them do not cover everything


def test_the_reports_are_noisy(answers):
    """The negative control: what is written is not what was answered."""
    assert privatize(answers, "krr", ".csv", ".csv") == 0
    true = pd.read_csv(answers / "answers.csv")["job"]
    told = pd.read_csv(answers / "reports.csv")["report"]
    # 2 / (e^2 + 2) = 0.213 of them are false, with a standard error of 0.0029: 7 of these
    assert (told != true).mean() == pytest.approx(2 / (np.exp(2) + 2), abs=0.0203)


@pytest.mark.parametrize(("kind", "target"), [("urr", ".csv"), ("urap", ".parquet")])
def test_sensitive_answers(kind, target, answers, capsys):
    assert privatize(answers, kind, ".csv", target, "--sensitive", "driver") == 0
    assert "sensitive={'driver'}" in capsys.readouterr().out
    mechanism = files.read_mechanism(answers / "spec.json")
    assert mechanism.sensitive is not None and mechanism.sensitive.tolist() == ["driver"]
    assert fit(answers, "--json", "-", suffix=target) == 0
    results = ldp.FrequencyResults.from_json(capsys.readouterr().out)
    z = (results.linear_params - SHARES) / results.linear_bse
    assert results.nobs == 20_000 and np.abs(z).max() < 7  # as above
    assert main(["audit", str(answers / "spec.json")]) == 0
    assert "1 of 3 categories are protected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("urr", [], "--sensitive=None: is needed for urr"),
        ("urap", ["--sensitive", "cook"], "sensitive[0]='cook': is not among the 3 labels"),
        ("urr", ["--sensitive", "nurse,nurse"], "sensitive='nurse': the category occurs twice"),
        ("krr", ["--sensitive", "nurse"], "--sensitive='nurse': is not an option of krr"),
    ],
)
def test_sensitive_answers_that_do_not_exist(kind, given, words, answers, capsys):
    assert privatize(answers, kind, ".csv", ".csv", *given) == 2
    assert words in capsys.readouterr().err


def test_sensitive_numbers_and_none(answers):
    pd.DataFrame({"job": [0, 1, 2, 2]}).to_csv(answers / "numbers.csv", index=False)
    for given, labels in (("2", [2]), ("0,2", [0, 2]), ("", [])):
        spec = answers / f"spec{given}.json"
        made = ["--mechanism", "urr", "--epsilon", "1", "--categories", "3", "--sensitive", given]
        paths = [str(answers / "numbers.csv"), str(answers / f"out{given}.csv")]
        argv = ["privatize", *paths, "--column", "job", *made, "--write-spec", str(spec)]
        if not labels:  # nobody is protected
            assert main(argv) == 2 and not spec.exists()
            argv.append("--allow-no-privacy")
        assert main(argv) == 0
        found = files.read_mechanism(spec).sensitive
        assert found is not None and found.tolist() == labels


def test_two_runs_differ(answers):
    """Nothing seeds the client: all of 20,000 reports agree with probability 0.65^20000."""
    assert privatize(answers, "krr", ".csv", ".csv") == 0
    first = (answers / "reports.csv").read_bytes()
    assert privatize(answers, "krr", ".csv", ".csv", "--force") == 0
    assert (answers / "reports.csv").read_bytes() != first


def test_missing_answers_are_counted(tmp_path, capsys):
    (tmp_path / "answers.csv").write_text("id,job\n1,nurse\n2,\n3,NA\n4,driver\n")
    missing = ["--missing", "count", "--na", "NA"]
    assert privatize(tmp_path, "krr", ".csv", ".csv", *missing) == 0
    assert "2 reports" in (out := capsys.readouterr().out) and "2 missing" in out
    assert fit(tmp_path, "--json", "-", "--missing", "count") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["nobs"], document["n_missing"]) == (2, 2)
    assert fit(tmp_path) == 2


def test_other_columns_are_kept_on_request(answers):
    assert privatize(answers, "krr", ".csv", ".csv", "--keep", "id") == 0
    table = pd.read_csv(answers / "reports.csv")
    assert table.columns.tolist() == ["report", "report_fingerprint", "id"]
    assert table["id"].tolist() == list(range(20_000))


MADE = {
    "forced-response": (
        ["--p-truth", "0.7", "--p-yes", "0.1"],
        ldp.ForcedResponse(p_truth=0.7, p_yes=0.1),
    ),
    "unrelated-question": (
        ["--p", "0.7", "--prevalence", "0"],
        ldp.UnrelatedQuestion(p=0.7, prevalence=0.0),
    ),
    "mangat": (["--p", "0.6"], ldp.Mangat(p=0.6)),
    "orr": (
        ["--n-outputs", "3", "--n-cohorts", "4", "--epsilon", "3", "--alphabet", "no,yes"],
        ldp.ORR(3, 4, epsilon=3.0, alphabet=("no", "yes")),
    ),
    "orappor": (
        [*"--n-bits 4 --n-hashes 1 --n-cohorts 3 --epsilon 2".split(), "--alphabet", "no,yes"],
        ldp.ORAPPOR(4, 1, 3, epsilon=2.0, alphabet=("no", "yes")),
    ),
    "rappor": (
        "--n-bits 4 --n-hashes 1 --n-cohorts 3 -f 0.2 --p 0.1 --q 0.8 --alphabet no,yes".split(),
        ldp.RAPPOR(4, 1, 3, f=0.2, p=0.1, q=0.8, alphabet=("no", "yes")),
    ),
}

KINDS = {  # as `planning.plot_frontier` names them
    "krr": ldp.KRR,
    "warner": lambda labels, epsilon: ldp.Warner(epsilon=epsilon, categories=labels),
    "krappor": ldp.KRAPPOR,
    "oue": lambda labels, epsilon: ldp.KRAPPOR(labels, epsilon, theta=0.5),
    "subset-selection": ldp.SubsetSelection,
    "hadamard-response": ldp.HadamardResponse,
    "projective-geometry-response": ldp.ProjectiveGeometryResponse,
    "olh": ldp.OLH,
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_spelled_as_in_plans(kind, tmp_path):
    (tmp_path / "a.csv").write_text("ill\n" + "yes\nno\n" * 20)
    made = ["--mechanism", kind, "--epsilon", "2", "--write-spec", str(tmp_path / "s.json")]
    if kind != "warner":
        made += ["--categories", "no,yes"]
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "r.csv")]
    assert main(["privatize", *paths, "--column", "ill", *made]) == 0
    assert files.read_mechanism(str(tmp_path / "s.json")) == KINDS[kind](("no", "yes"), 2.0)


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_can_be_made(kind, tmp_path):
    options, mechanism = MADE[kind]
    (tmp_path / "a.csv").write_text("ill\n" + "yes\nno\n" * 20)
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "r.csv")]
    spec = str(tmp_path / "s.json")
    made = ["--mechanism", kind, *options, "--write-spec", spec]
    if not mechanism.audit().private:
        assert main(["privatize", *paths, "--column", "ill", *made]) == 2
        made.append("--allow-no-privacy")
    assert main(["privatize", *paths, "--column", "ill", *made]) == 0
    assert files.read_mechanism(spec) == mechanism
    assert main(["audit", spec]) == (0 if mechanism.audit().private else 1)
    assert main(["fit", paths[1], "--spec", spec, "--method", "inversion"]) == 0


def test_numbers_are_put_in_bins(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("age\n" + "5\n15.5\n50\n1e1\n" * 20)
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "r.csv")]
    spec = str(tmp_path / "s.json")
    made = ["--mechanism", "square-wave", "--epsilon", "1", "--write-spec", spec, "--column", "age"]
    for edges, words in (
        ("0,10,x", "--edges='x': must be numbers separated by commas"),
        ("0,10,20", "row 3=(not shown): is in none of the 2 bins '[0, 10)', '[10, 20]'"),
        ("0,10,10", "edges[2]=10.0: does not exceed the edge before it"),
    ):
        assert main(["privatize", *paths, *made, "--edges", edges]) == 2
        assert words in capsys.readouterr().err
    assert main(["privatize", *paths, *made, "--edges", "0,10,20,50", "--half-width", "1"]) == 0
    assert files.read_mechanism(spec) == ldp.SquareWave([0, 10, 20, 50], 1.0, half_width=1)
    assert main(["fit", paths[1], "--spec", spec, "--method", "smoothed"]) == 0
    assert "penalised for roughness" in " ".join(capsys.readouterr().out.split())


def test_a_device_sets_a_limit(answers, capsys):
    assert privatize(answers, "krr", ".csv", ".csv", "--max-epsilon", "1.9") == 2
    assert "max_epsilon=1.9: is less than KRR" in capsys.readouterr().err
    assert not (answers / "reports.csv").exists() and not (answers / "spec.json").exists()
    assert privatize(answers, "krr", ".csv", ".csv", "--max-epsilon", "2") == 0


@pytest.mark.parametrize(
    ("text", "labels"),
    [("4", [0, 1, 2, 3]), ('a,"b,c"', ["a", "b,c"]), ("1,2", ["1", "2"]), ("é,x", ["é", "x"])],
)
def test_labels_on_the_command_line(text, labels, tmp_path):
    path = str(tmp_path / "sheet.json")
    assert main(["questionnaire", path, "--observed", "q", text]) == 0
    assert ldp.Questionnaire.from_json(path)["q"].categories.tolist() == labels


# No error of privatising a file shows an answer: not its words, not the frames it passed.

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


def privatize_secrets(source: Path, client: Any, **how: Any) -> None:
    out = source.with_name("r.csv")
    make: Any = io.privatize_strings if client is CLIENTS["strings"] else io.privatize_file
    make(source, out, "job", client, **how)


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_shows_an_answer(fault, kind, tmp_path):
    make, says = FAULTS[fault]
    source = make(tmp_path)
    if kind == "open" and "unknown" in fault:
        return privatize_secrets(source, CLIENTS[kind])  # any text is an answer
    if kind == "strings" and "unknown" in fault:
        says = "row 1=(not shown): must be a string, not empty, of the 3 characters"
    error = refused(lambda: privatize_secrets(source, CLIENTS[kind]))
    reading = ("column 'job', row", "it has", "row 2=None")
    assert says in str(error) or (kind == "strings" and not says.startswith(reading))
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_of_the_command_line_shows_an_answer(fault, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make, says = FAULTS[fault]
    source = make(tmp_path)
    made = "--mechanism krr --epsilon 1 --categories nurse,teacher --write-spec s.json"
    assert main(["privatize", source.name, "r.csv", "--column", "job", *made.split()]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and says in err
    assert SECRET not in err and "defect" not in err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_the_row_is_that_of_the_file(tmp_path):
    rows = ["nurse", "", "teacher", "", "nurse", SECRET, "nurse", SECRET]
    source = text(tmp_path / "a.csv", "job,id\n" + "".join(f"{row},1\n" for row in rows))
    for chunk_rows in (100, 4, 3, 1):
        for kind in ("closed", "listed"):
            how: dict[str, Any] = {"missing": "count", "chunk_rows": chunk_rows}
            error = refused(lambda k=kind, h=how: privatize_secrets(source, CLIENTS[k], **h))
            assert isinstance(error, ldp.UnknownCategory)
            assert "row 6=(not shown): is not among the 2 labels 'nurse', 'teacher'" in str(error)


def test_numbers_are_answers_too(tmp_path):
    source = table(tmp_path / "a.parquet", [1, 4711])
    for mechanism in (ldp.KRR(4, 1.0), ldp.KRR((1, 5), 1.0), OPEN, KRR):
        error = refused(lambda m=mechanism: privatize_secrets(source, m.collector()))
        assert "4711" not in str(error) and "(not shown)" in str(error)


def test_characters_of_a_string_are_part_of_the_answer(tmp_path):
    source = text(tmp_path / "a.csv", "job\ncd\ncZf\n")
    error = refused(lambda: privatize_secrets(source, CLIENTS["strings"]))
    assert "row 2=(not shown)" in str(error) and "Z" not in str(error)


class Own(Exception):
    """Not one of this package's errors."""


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Own, "a defect of ldpstats, please report it (Own in test_privatize.py, line "),
        (KeyError, "a defect of ldpstats, please report it (KeyError in"),
        (ldp.LDPError, "column 'job'=(not shown): is not among the 2 labels"),
    ],
)
def test_errors_of_others_are_not_quoted(kind, says, tmp_path, monkeypatch):
    def fail(client: Any, values: Any, missing: str = "raise") -> None:
        raise kind(f"{values[0]} is {SECRET}")

    source, client = text(tmp_path / "a.csv", "job\nnurse\n"), KRR.collector()
    monkeypatch.setattr(type(client), "privatize", fail)
    assert says in str(refused(lambda: privatize_secrets(source, client)))
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interruption_stays_one_and_is_bare(kind, tmp_path):
    source = text(tmp_path / "a.csv", f"job,id\nnurse,{SECRET}\n")

    def stop(fraction: float) -> None:
        raise kind

    with pytest.raises(kind) as caught:
        privatize_secrets(source, CLIENTS["closed"], advance=stop, keep=["id"])
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not any(Path(name).name == "tables.py" for name in files)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_arguments_that_do_not_exist_are_named():
    for make in (io.privatize_file, io.privatize_strings):
        unchecked: Any = make
        with pytest.raises(TypeError, match="missing a required argument: 'target'") as caught:
            unchecked(SECRET)
        assert SECRET not in str(caught.value)
        with pytest.raises(TypeError, match="unexpected keyword argument 'chunks'") as caught:
            unchecked("a.csv", "r.csv", "job", KRR.collector(), chunks=SECRET)
        assert SECRET not in str(caught.value)


def test_a_defect_of_the_command_is_not_quoted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    io.write_mechanism(KRR, "s.json")

    def fail(*given: Any, **how: Any) -> None:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(io, "privatize_file", fail)
    assert main(["privatize", "a.csv", "r.csv", "--column", "job", "--spec", "s.json"]) == 2
    err = capsys.readouterr().err
    assert "a defect of ldpstats, please report it (ZeroDivisionError in" in err
    assert SECRET not in err


def test_other_commands_still_name_what_they_read(tmp_path):
    """Reports are no secret: the error names the value, the header and the byte."""
    source = text(tmp_path / "r.csv", f"report\nnurse\n{SECRET}\n")
    with pytest.raises(ldp.UnknownCategory, match=f"row 2='{SECRET}'"):
        io.read_counts(source, KRR)
    with pytest.raises(ldp.InvalidArgument, match=r"it has \['report'\]"):
        io.read_counts(source, KRR, "job")
    text(source, "report\nnurse\udce9\n")
    with pytest.raises(ldp.InvalidArgument, match="byte 0xe9"):
        io.read_counts(source, KRR)


# ldpstats questionnaire, and privatize with one.

JOB = ldp.KRR(("cook", "nurse", "refused"), 1.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    io.write_mechanism(JOB, "job.json")
    io.write_mechanism(ldp.KRR(("yes", "refused"), 0.5), "late.json")
    io.write_survey(STRINGS, "url.json")
    text = "person,job,late,url,region\n1,cook,yes,abc,n\n2,,NA,aa,s\n3,nurse,yes,,n\n"
    (tmp_path / "answers.csv").write_text(text)
    return tmp_path


MADE_QUESTIONNAIRE = (
    *("questionnaire", "sheet.json", "--question", "job", "job.json"),
    *("--question", "url", "url.json", "--observed", "region", "n,s"),
)


def test_it_is_written_and_printed(folder, capsys):
    assert main([*MADE_QUESTIONNAIRE, "--ask", "1"]) == 0
    out = capsys.readouterr().out
    sheet = ldp.Questionnaire.from_json("sheet.json")
    region = ldp.Observed(("n", "s"))
    assert sheet == ldp.Questionnaire({"job": JOB, "url": STRINGS, "region": region}, ask=1)
    lines = out.splitlines()
    assert lines[0].split() == ["question", "mechanism", "categories", "epsilon"]
    assert [line.split()[0] for line in lines[1:4]] == ["job", "url", "region"]
    assert lines[4].startswith("epsilon of a sheet: 6, 1 of 2 private questions asked at random")
    assert main(["questionnaire", "sheet.json"]) == 0
    assert capsys.readouterr().out == out


def test_questions_are_asked_in_the_order_of_the_options(folder):
    die = ldp.devices.library.forced_dice().mechanism(("no", "yes"))
    io.write_mechanism(die, "die.json")
    red = ldp.devices.library.warner("1/5").mechanism(("no", "yes"))
    io.write_mechanism(red, "red.json")
    given = [
        *("--krr", "job", "cook,nurse", "1", "--question", "used", "die.json"),
        *("--group", "late", "A", "die.json", "--observed", "age", "3"),
        *("--krr", "region", "n,s", "1", "--group", "late", "B", "red.json"),
        *("--question", "last", "job.json"),
    ]
    assert main(["questionnaire", "s.json", *given]) == 0
    sheet = ldp.Questionnaire.from_json("s.json")
    assert list(sheet.mechanisms) == ["job", "used", "late", "age", "region", "last"]
    assert sheet["used"] == die and sheet["late"].cohort_names == ("A", "B")
    for more in (["--krr", "late", "a,b", "1"], ["--group", "used", "A", "die.json"]):
        assert main(["questionnaire", "s.json", "--force", *given, *more]) == 2


def test_refusals_and_labels_by_number(folder, capsys):
    both = ("--question", "job", "job.json", "--question", "late", "late.json")
    argv = ["questionnaire", "s.json", *both, "--observed", "age", "4", "--refused", "refused"]
    assert main(argv) == 0
    sheet = ldp.Questionnaire.from_json("s.json")
    assert dict(sheet.refused) == {"job": "refused", "late": "refused"}
    assert sheet["age"] == ldp.Observed(4)
    assert main([*argv, "--force"]) == 0
    assert main(["audit", "s.json"]) == 0
    assert "late: Privacy audit of KRR" in capsys.readouterr().out


def test_a_table_is_privatised(folder, capsys):
    assert main([*MADE_QUESTIONNAIRE, "--ask", "2"]) == 0
    capsys.readouterr()
    argv = ["privatize", "answers.csv", "sheets.csv", "--questionnaire", "sheet.json"]
    assert main([*argv, "--keep", "person"]) == 0
    out = capsys.readouterr()
    assert out.err == "" and "job: 2, url: 2" in out.out and "epsilon=7" in out.out
    lines = (folder / "sheets.csv").read_text().splitlines()
    parts = "url_start_1,url_gram_1,url_start_2,url_gram_2,url_string"
    assert lines[0] == f"job,{parts},region,questionnaire_fingerprint,person"
    digits = ldp.Questionnaire.from_json("sheet.json").fingerprint
    assert [line.rsplit(",", 3)[1:] for line in lines[1:]] == [
        ["n", digits, "1"], ["s", digits, "2"], ["n", digits, "3"]
    ]  # fmt: skip
    argv[2] = "sheets.parquet"
    assert main(argv) == 0
    assert main(["fit", "sheets.parquet", "--spec", "job.json", "--column", "job",
                 "--missing", "count"]) == 0  # fmt: skip


def test_the_waves_of_a_questionnaire(folder, capsys):
    sheets = []
    for wave in ("2026-05", "2026-06"):
        argv = ["questionnaire", f"{wave}.json", "--krr", "late", "no,yes", "1", "--link"]
        assert main([*argv, "--wave", wave]) == 0
        sheets.append(ldp.Questionnaire.from_json(f"{wave}.json"))
        said = f"epsilon of a sheet: 1; wave {wave}, linked; fingerprint {sheets[-1].fingerprint}"
        assert capsys.readouterr().out.splitlines()[-1] == said
    assert sheets[0].in_wave("2026-06") == sheets[1] != sheets[0]


def test_questions_by_k_rr_need_no_specification(folder):
    argv = ["questionnaire", "k.json", "--krr", "late", "no,yes", "1", "--krr", "size", "3", "0.5"]
    assert main(argv) == 0
    made = ldp.Questionnaire({"late": ldp.KRR(("no", "yes"), 1.0), "size": ldp.KRR(3, 0.5)})
    assert ldp.Questionnaire.from_json("k.json") == made


def test_a_personalised_question(folder, capsys):
    import json

    (folder / "place.json").write_text(json.dumps(PUM.to_dict()))
    assert main(["questionnaire", "s.json", "--question", "place", "place.json"]) == 0
    assert ldp.Questionnaire.from_json("s.json")["place"] == PUM


USE = ["privatize", "answers.csv", "out.csv", "--questionnaire", "sheet.json"]

BAD: dict[str, tuple[list[str], str]] = {
    "no name": (["questionnaire", "q.json", "--question", "job"], "expected 2 arguments"),
    "nothing to print": (["questionnaire", "q.json"], "no such file"),
    "no questionnaire": (["questionnaire", "job.json"], "is not the specification of a quest"),
    "written over": (["questionnaire", "job.json", "--question", "a", "job.json"], "given twice"),
    "exists": (list(MADE_QUESTIONNAIRE), "already exists"),
    "ask alone": (["questionnaire", "sheet.json", "--ask", "1"], "--ask goes with --question"),
    "wave alone": (["questionnaire", "sheet.json", "--wave", "1"], "--wave goes with --question"),
    "link alone": (["questionnaire", "sheet.json", "--link"], "--link goes with --question"),
    "a link of nothing": (["questionnaire", "q.json", "--krr", "a", "2", "1", "--link"], "wave="),
    "twice": (
        ["questionnaire", "q.json", "--question", "a", "job.json", "--observed", "a", "2"],
        "--observed='a': is the name of two questions",
    ),
    "epsilon of k-RR": (
        ["questionnaire", "q.json", "--krr", "a", "2", "one"],
        "--krr a epsilon='one': must be a number",
    ),
    "labels of k-RR": (["questionnaire", "q.json", "--krr", "a", "x", "1"], "--krr a labels="),
    "a questionnaire": (["questionnaire", "q.json", "--question", "a", "sheet.json"], "of one"),
    "ask": (
        [*MADE_QUESTIONNAIRE[:1], "q.json", *MADE_QUESTIONNAIRE[2:], "--ask", "3"],
        "ask=3: must be at most 2",
    ),
    "refused": (
        [*MADE_QUESTIONNAIRE[:1], "q.json", *MADE_QUESTIONNAIRE[2:], "--refused", "x!"],
        "refused='x!'",
    ),
    "with --spec": ([*USE, "--spec", "job.json"], "--spec='job.json': cannot be combined"),
    "missing": ([*USE, "--missing", "raise"], "--missing='raise': cannot be combined with --quest"),
    "max epsilon": ([*USE, "--max-epsilon", "6"], "max_epsilon=6.0: is less than"),
    "as --spec": (
        ["privatize", "answers.csv", "o.csv", "--column", "job", "--spec", "sheet.json"],
        "is a questionnaire: read it with Questionnaire.from_json, or pass it as --questionnaire",
    ),
    "no column": (["privatize", "answers.csv", "o.csv", "--spec", "job.json"], "--column is"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name, folder, capsys):
    assert main(list(MADE_QUESTIONNAIRE)) == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    argv, words = BAD[name]
    assert main(argv) == 2
    out = capsys.readouterr()
    assert out.out == "" and words in out.err and out.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_no_answer_is_shown(folder, capsys):
    assert main(list(MADE_QUESTIONNAIRE)) == 0
    capsys.readouterr()
    (folder / "answers.csv").write_text("job,url,region\nhepatitis-4711,abc,n\n")
    assert main(USE) == 2
    error = capsys.readouterr().err
    assert "column 'job', row 1=(not shown)" in error and "4711" not in error
