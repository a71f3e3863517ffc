"""ldpstats survey, privatize --survey and discover: from strings that nobody listed to a list."""

import json
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.command_refusals import refused

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import analysing as cli_discover
from ldpstats.cli import main
from ldpstats.cli import program as cli

WORDS = ("abcade", "eedabc", "bad")
SHARES = np.array([0.5, 0.3, 0.2])
PLAIN = ldp.DictionarySurvey(length=6, gram=2, alphabet="abcde", epsilon=12.0)
SURVEY = ldp.DictionarySurvey(  # of few cohorts, which is quicker
    6, 2, "abcde", epsilon=12.0, string_mechanism=ldp.ORR(56, 64, epsilon=4.0)
)
SHAPE = ["--length", "6", "--gram", "2", "--alphabet", "a-e", "--epsilon", "12"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with 10,000 strings with exact shares, and 3,000 reports."""
    monkeypatch.chdir(tmp_path)
    word = np.repeat(WORDS, (SHARES * 10_000).astype(int))
    table = pd.DataFrame({"who": np.arange(word.size), "word": word})
    table.to_csv("words.csv", index=False)
    table.to_parquet("words.parquet")
    files.write_survey(SURVEY, "survey.json")
    files.write_mechanism(ldp.KRR(WORDS, 1.0), "krr.json")
    files.write_dictionary_reports(drawn(), "reports.csv")
    return tmp_path


def drawn(n: int = 3000) -> ldp.DictionaryReports:
    """The same reports whenever they are asked for."""
    rng = np.random.default_rng(1)
    return SURVEY.privatize(np.repeat(WORDS, (SHARES * n).astype(int)), rng)


FEW: dict[str, Any] = {"false_grams": 1.0, "max_candidates": 20}  # which is quicker
QUICK = ["--false-grams", "1", "--max-candidates", "20"]


def discover(*arguments: str, table: str = "reports.csv") -> int:
    return main(["discover", table, "--survey", "survey.json", *QUICK, *arguments])


# -- survey ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "characters"),
    [("a-c0-3.-", "abc0123.-"), ("-a-c-e", "-abc-e"), ("--a", "--a"), ("ä-ç", "äåæç")],
)
def test_ranges_of_an_alphabet(text, characters):
    assert cli_discover._characters(text) == characters


def test_a_survey_is_specified(folder, capsys):
    assert main(["survey", "new.json", *SHAPE]) == 0
    made = files.read_survey("new.json")
    assert made == PLAIN
    out = capsys.readouterr()
    assert out.err == "" and out.out == (
        f"new.json: {PLAIN}\n  each gram: {PLAIN.gram_mechanism}\n"
        f"  the string: {PLAIN.string_mechanism}\n"
    )


def test_every_option_of_a_survey(folder):
    options = "--split 0.4 0.3 0.3 --gram-mechanism orr --string-mechanism rappor --step 1"
    assert (
        main(["survey", "new.json", *SHAPE, *options.split(), "--pad", "_", "--replace", "e"]) == 0
    )
    assert files.read_survey("new.json") == ldp.DictionarySurvey(
        6, 2, "abcde", 12.0, (0.4, 0.3, 0.3), "orr", "rappor", "_", 1, "e"
    )
    hyphen = ["--alphabet=-a-z", "--replace", "-"]
    assert main(["survey", "new.json", *SHAPE, *hyphen, "--force"]) == 0
    assert files.read_survey("new.json").replace == "-"


SURVEYS = {
    "no multiple": ("new.json --length 7 --gram 2 --alphabet a-e --epsilon 1", "for example 8"),
    "no range": ("new.json --length 6 --gram 2 --alphabet e-a --epsilon 1", "--alphabet='e-a'"),
    "two shares": (
        "new.json --length 6 --gram 2 --alphabet a-e --epsilon 1 --split .5 .5",
        "--split",
    ),
    "no mechanism": (
        "new.json --length 6 --gram 2 --alphabet a-e --epsilon 1 --gram-mechanism warner",
        "gram_mechanism='warner'",
    ),
    "what exists": (
        "survey.json --length 6 --gram 2 --alphabet a-e --epsilon 1",
        "already exists",
    ),
}


@pytest.mark.parametrize("name", SURVEYS)
def test_surveys_are_refused(name, folder, capsys):
    arguments, says = SURVEYS[name]
    refused(["survey", *arguments.split()], says, capsys)


def test_an_audit_of_a_survey(folder, capsys):
    audit = SURVEY.audit()
    assert main(["audit", "survey.json"]) == 0
    assert capsys.readouterr().out == f"{audit}\n"
    assert main(["audit", "survey.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == audit.to_dict()
    Path("broken.json").write_text('{"format": "ldpstats-dictionary-survey"}')
    refused(["audit", "broken.json"], "is not the specification of a survey", capsys)


# -- privatize -------------------------------------------------------------------------------------

PRIVATIZE = ["privatize", "words.csv", "out.csv", "--column", "word"]


@pytest.mark.parametrize(("source", "target"), [(".csv", ".parquet")])
def test_from_strings_to_a_list(source, target, folder, capsys):
    paths = [f"words{source}", f"out{target}"]
    options = ["--column", "word", "--survey", "survey.json", "--keep", "who"]
    assert main(["privatize", *paths, *options]) == 0
    assert capsys.readouterr() == (f"{paths[1]}: 10000 reports of {SURVEY}, 0 missing\n", "")
    assert discover("--json", "-", table=paths[1]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    results = ldp.DictionaryResults.from_json(out)
    # The client's randomness cannot be fixed here. The rarest string has an expected z of 29 and is
    # lost with a probability below 1e-9; with probability .05 a string that nobody holds is found.
    assert results.nobs == 10_000 and set(WORDS) <= set(results.params.index)
    # an estimate is off by 7 standard errors with probability 8e-12
    z = (results.params[list(WORDS)] - SHARES) / results.bse[list(WORDS)]
    assert np.abs(z).max() < 7 and results.bse.max() < 0.02


def test_missing_strings(folder, capsys):
    Path("words.csv").write_text("who,word\n1,bad\n2,\n3,NA\n4,abc\n")
    survey = ["--survey", "survey.json"]
    refused([*PRIVATIZE, *survey], "words.csv, column 'word', row 2=None: is missing", capsys)
    counted = ["--missing", "count", "--na", "NA"]
    assert main([*PRIVATIZE, *survey, *counted]) == 0
    assert capsys.readouterr().out == f"out.csv: 2 reports of {SURVEY}, 2 missing\n"
    assert Path("out.csv").read_text().splitlines()[2] == f",,,,,{SURVEY.fingerprint}"


CHOICES = {
    "a specification": ("--spec krr.json", "--spec='krr.json': cannot be combined with --survey"),
    "a name": ("--as noisy", "--as='noisy': cannot be combined with"),
    "the truth": ("--keep word", "never copied"),
    "a file twice": ("--spec survey.json", "is given twice"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_survey_leaves_no_choice(name, folder, capsys):
    more, says = CHOICES[name]
    refused([*PRIVATIZE, "--survey", "survey.json", *more.split()], says, capsys)


def test_specifications_are_not_mixed_up(folder, capsys):
    refused([*PRIVATIZE, "--survey", "krr.json"], "is the specification of a mechanism", capsys)
    refused([*PRIVATIZE, "--spec", "survey.json"], "is the specification of a survey", capsys)
    survey = ["discover", "reports.csv", "--survey"]
    refused([*survey, "krr.json"], "krr.json': is the specification of a mechanism", capsys)
    fit = ["fit", "reports.csv", "--column", "string", "--spec"]
    refused([*fit, "survey.json"], "is the specification of a survey", capsys)


def test_strings_are_refused(folder, capsys):
    Path("words.csv").write_text("who,word\n1,bad\n2,zebra\n")
    refused([*PRIVATIZE, "--survey", "survey.json"], "column 'word', row 2=(not shown)", capsys)


# -- discover --------------------------------------------------------------------------------------


def test_the_summary_is_that_of_the_api(folder, capsys):
    results = ldp.DictionaryModel(drawn()).fit(**FEW)
    assert discover() == 0
    assert capsys.readouterr() == (f"{results.summary()}\n", "")
    assert set(results.params.index) >= set(WORDS)


def test_the_defaults_are_those_of_the_api():
    given = vars(cli._parser().parse_args(["discover", "r.csv", "--survey", "s.json"]))
    parameters = signature(ldp.DictionaryModel.fit).parameters
    names = set(parameters) & set(given)
    assert names == {*cli_discover._NUMBERS, "alpha", "search", "threshold"}
    assert all(given[name] == parameters[name].default for name in names)
    assert set(parameters) - names == {"self", "progress"}  # there is an option for all the others


OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "cliques": ("--search cliques", {"search": "cliques"}),
    "grams": (
        "--false-grams 0.5 --max-grams 9 --max-candidates 5 --width 20 --alpha .01 --threshold .02",
        {"false_grams": 0.5, "max_grams": 9, "max_candidates": 5, "width": 20, "alpha": 0.01}
        | {"threshold": 0.02},
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_of_discover(name, folder, capsys):
    options, how = OPTIONS[name]
    results = ldp.DictionaryModel(drawn()).fit(**FEW | how)
    assert discover(*options.split(), "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    candidates = document.pop("tested")
    assert document == results.to_dict()
    assert len(candidates) == results.n_tested > 0


def test_what_was_tested_is_in_the_json(folder, capsys):
    results = ldp.DictionaryModel(drawn()).fit(**FEW)
    assert discover("--json", "out.json") == 0
    assert capsys.readouterr().out == f"{results.summary()}\n"
    text = Path("out.json").read_text()
    assert ldp.DictionaryResults.from_json(text).params.equals(results.params)
    told = json.loads(text)["tested"]
    assert [row["string"] for row in told] == results.candidates_frame.index.tolist()
    accepted = {row["string"]: row["estimate"] for row in told if row["accepted"]}
    assert accepted == results.params.to_dict()


def test_what_strings_can_be(folder, capsys):
    assert discover("--keep", "[a-e]{3}", "--json", "-") == 0
    told = json.loads(capsys.readouterr().out)["tested"]
    assert {len(row["string"]) for row in told} == {3}
    assert [row["string"] for row in told if row["accepted"]] == ["bad"]


def test_missing_reports(folder, capsys):
    lines = Path("reports.csv").read_text().splitlines()
    lines[2:2] = [",,,,,", "?,?,?,?,?,?"]
    Path("reports.csv").write_text("\n".join(lines) + "\n")
    given = ["discover", "reports.csv", "--survey", "survey.json", "--na", "?"]
    refused(given, "reports.csv, row 2=None: is missing", capsys)
    assert discover("--na", "?", "--missing", "count", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["nobs"], found["n_missing"]) == (3000, 2)


def test_kinds_of_plots(folder):
    drawings = {}
    for kind in ("strings", "graph"):
        assert discover("--plot", f"{kind}.svg", "--plot-kind", kind) == 0
        drawings[kind] = Path(f"{kind}.svg").read_text()
    assert discover("--plot", "default.svg") == 0
    assert Path("default.svg").read_text() == drawings["strings"] != drawings["graph"]
    assert discover("--plot", "default.svg", "--title", "Hosts", "--force") == 0
    assert Path("default.svg").read_text() != drawings["strings"]


def test_the_threshold_of_bits(folder, capsys):
    refused_ = ["discover", "reports.csv", "--survey", "survey.json", "--threshold", "fpe16"]
    refused(refused_, "is about bits", capsys)
    options = ["--gram-mechanism", "rappor", "--string-mechanism", "rappor", "--force"]
    assert main(["survey", "survey.json", *SHAPE, *options]) == 0
    survey = files.read_survey("survey.json")
    reports = survey.privatize(WORDS * 400, np.random.default_rng(1))
    files.write_dictionary_reports(reports, "reports.csv", force=True)
    capsys.readouterr()
    assert discover("--search", "cliques", "--threshold", "fpe16") == 0
    how = FEW | {"search": "cliques", "threshold": "fpe16"}
    assert capsys.readouterr().out == f"{ldp.DictionaryModel(reports).fit(**how).summary()}\n"


REFUSED = {
    "no survey": ("reports.csv", "--survey"),
    "no threshold": (
        "reports.csv --survey survey.json --threshold high",
        "--threshold='high': must be standard, fpe16 or a frequency",
    ),
    "no expression": ("reports.csv --survey survey.json --keep [a", "is no regular expression"),
    "half a candidate": ("reports.csv --survey survey.json --max-candidates 0.5", "candidates"),
    "a kind of no plot": (
        "reports.csv --survey survey.json --plot-kind graph",
        "--plot-kind='graph': goes with --plot",
    ),
    "json over the survey": (
        "reports.csv --survey survey.json --json survey.json --force",
        "is given twice",
    ),
    "nobody answered": ("gone.csv --survey survey.json --missing count", "holds no report"),
    "a bad row": ("bad.csv --survey survey.json", "bad.csv, column 'start_2', row 1='3'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, folder, capsys):
    head = "start_1,gram_1,start_2,gram_2,string\n"
    Path("gone.csv").write_text(head + ",,,,\n")
    Path("bad.csv").write_text(head + "0,ab,3,ca,1:3\n")
    arguments, says = REFUSED[name]
    refused(["discover", *arguments.split()], says, capsys)


def test_reports_of_another_survey(folder, capsys):
    files.write_dictionary_reports(drawn(), "reports.parquet")
    assert main(["survey", "other.json", *SHAPE, "--epsilon", "11"]) == 0
    capsys.readouterr()
    refused(["discover", "reports.parquet", "--survey", "other.json"], "fingerprint", capsys)


def test_the_examples_of_the_help_are_understood():
    text = cli_discover._SURVEY_EXAMPLES + cli_discover._DISCOVER_EXAMPLES
    lines = text.replace("\\\n", " ").splitlines()
    commands = [line.split()[1:] for line in lines if line.startswith("  ldpstats")]
    assert len(commands) == 7
    for arguments in commands:
        assert cli._parser().parse_args(arguments).command == arguments[0]
