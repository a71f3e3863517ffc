"""ldpstats associate: from tables of reports to a joint distribution and a test of independence."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.command_refusals import refused
from shared.joint_commands import BOTH, HOSTS, JOB, JOBS, LATE, LAW, TARDY, document

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import program as cli
from ldpstats.cli.program import main
from ldpstats.estimators import JOINT_ESTIMATORS
from ldpstats.models.association.independence import METHODS

HOST = ldp.RAPPOR(12, 2, 4, f=0.0, p=0.2, q=0.8)


def drawn(n: int = 600) -> tuple[ldp.Reports, ldp.Reports, ldp.Reports]:
    """The same reports on job, late and host whenever they are asked for."""
    rng = np.random.default_rng(3)
    job, late = np.unravel_index(rng.choice(6, n, p=LAW.reshape(-1)), LAW.shape)
    host = np.where(rng.random(n) < 0.6, late, 2)
    return (
        JOB.privatize(np.array(JOBS)[job], rng),
        TARDY.privatize(np.array(LATE)[late], rng),
        HOST.privatize(np.array(HOSTS)[host], rng),
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with reports in one table, in several, and as counts."""
    monkeypatch.chdir(tmp_path)
    for name, mechanism in (("job", JOB), ("late", TARDY), ("host", HOST)):
        files.write_mechanism(mechanism, f"{name}.json")
    table = pd.DataFrame({"who": [f"r{i}" for i in range(600)]})
    for name, part in zip(("job", "late", "host"), drawn(), strict=True):
        table[name] = part.mechanism.report_labels(part)
        own = table[["who", name]].rename(columns={name: "report"})
        own.sample(frac=1.0, random_state=len(name)).to_csv(f"{name}.csv", index=False)
    table.to_csv("reports.csv", index=False)
    table.groupby(["job", "late"]).size().rename("n").reset_index().to_csv("n.csv", index=False)
    Path("hosts.txt").write_text("\n".join(HOSTS) + "\n")
    return tmp_path


def expected(*places: int, **how: Any) -> ldp.AssociationResults:
    """What the API says of these variables, in the order of `drawn`."""
    names = [("job", "late", "host")[v] for v in places]
    parts = [drawn()[v] for v in places]
    method = how.pop("method", None)
    return ldp.AssociationModel(*parts, names=names, **how).fit(method)


def asked(name: str, **how: Any) -> ldp.TestResult:
    """The test of job and late, for which reports are permuted or redrawn."""
    model = ldp.AssociationModel(*drawn()[:2], names=("job", "late"))
    return model.test_independence(model.fit(), name, **how)


def close(found: dict[str, Any], results: ldp.AssociationResults) -> None:
    """The results read from JSON are those of the API, to the rounding of sums in another order."""
    again = ldp.AssociationResults.from_dict(found)
    assert again.names == results.names and again.nobs == results.nobs
    np.testing.assert_allclose(again.params, results.params, atol=1e-7)
    np.testing.assert_allclose(again.linear_params, results.linear_params, atol=1e-10)
    np.testing.assert_allclose(again.linear_bse, results.linear_bse, rtol=1e-8)


# -- what is printed and written -------------------------------------------------------------------


def test_labels_of_one_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = expected(0, 1)
    assert main(["associate", "reports.csv", *BOTH, "--alpha", "0.1", "--max-rows", "4"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"{results.summary(0.1, 4)}\n", "")
    assert out.count("Independence (") == 1 and "on 2 df, p < 0.001" in out
    assert main(["associate", "reports.csv", *BOTH, "--test", "wald"]) == 0
    assert capsys.readouterr().out.endswith(f"\n\n{results.test_independence('wald')}\n")


def test_json_comes_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = expected(0, 1)
    assert main(["associate", "reports.csv", *BOTH, "--json", "-"]) == 0
    found = document(capsys)
    assert found.pop("test") == results.test_independence().to_dict()
    assert found == results.to_dict()
    assert ldp.AssociationResults.from_dict(found).to_dict() == found
    assert main(["associate", "reports.csv", *BOTH, "--json", "out.json"]) == 0
    assert capsys.readouterr().out.startswith(str(results.summary()))
    text = Path("out.json").read_text()
    assert ldp.AssociationResults.from_json(text).to_dict() == found


def test_counts_in_a_column(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for arguments in (["reports.csv"], ["n.csv", "--count", "n"]):
        assert main(["associate", *arguments, *BOTH, "--json", "-"]) == 0
        printed.append(document(capsys))
    assert printed[0] == printed[1] and printed[0]["nobs"] == 600


def test_tables_are_matched_by_an_identifier(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = ["--spec", "job.json", "--spec", "late.json", "--name", "job", "--name", "late"]
    own = ["--column", "job", "--column", "report"]
    printed = []
    for arguments in (
        ["reports.csv", *BOTH],
        ["reports.csv", *BOTH, "--id", "who"],
        ["job.csv", "--with", "late.csv", "--id", "who", *specs],
        ["reports.csv", "--with", "late.csv", "--id", "who", *specs, *own],
    ):
        assert main(["associate", *arguments, "--json", "-"]) == 0
        printed.append(document(capsys))
    assert all(found == printed[0] for found in printed)


def test_tables_of_the_same_columns_name_their_variables(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("more").mkdir()
    for path in ("more/job.csv", "more.parts.csv", "more.csv.gz"):
        pd.read_csv("late.csv", dtype=str).to_csv(path, index=False)
    specs = ["--spec", "job.json", "--spec", "late.json"]
    for second, names in (
        ("late.csv", ["job", "late"]),
        ("more.parts.csv", ["job", "more"]),
        ("more.csv.gz", ["job", "more"]),
        ("more/job.csv", ["x", "y"]),  # two tables of one name
    ):
        given = ["job.csv", "--with", second, "--id", "who", *specs]
        assert main(["associate", *given, "--json", "-"]) == 0
        assert document(capsys)["names"] == names
    own = ["--column", "job", "--column", "report"]  # columns tell the variables apart
    given = ["reports.csv", "--with", "more/job.csv", "--id", "who", *specs, *own]
    assert main(["associate", *given, "--json", "-"]) == 0
    assert document(capsys)["names"] == ["job", "report"]
    given = ["job.csv", "--with", "late.csv", "--id", "who", *specs, "--name", "a", "--name", "b"]
    assert main(["associate", *given, "--json", "-"]) == 0
    assert document(capsys)["names"] == ["a", "b"]


def test_bits_with_candidates(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["--column", "late", "--spec", "late.json", "--column", "host", "--spec", "host.json"]
    listed = ["--candidates", "-", "--candidates", "hosts.txt"]
    assert main(["associate", "reports.csv", *columns, *listed, "--json", "-"]) == 0
    found = document(capsys)
    results = expected(1, 2, candidates=[None, HOSTS])
    close(found, results)
    assert found["test"]["pvalue"] == pytest.approx(results.test_independence().pvalue, rel=1e-5)
    assert found["labels"][1] == results.to_dict()["labels"][1]


def test_cohorts_in_a_column(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv("reports.csv", dtype=str)
    table[["group", "bits"]] = table["host"].str.split(":", expand=True)
    table.to_csv("split.csv", index=False)
    specs = ["--spec", "late.json", "--spec", "host.json", "--name", "late", "--name", "host"]
    listed = ["--candidates", "-", "--candidates", "hosts.txt", "--json", "-"]
    printed = []
    for arguments in (
        ["reports.csv", "--column", "late", "--column", "host"],
        ["split.csv", "--column", "late", "--column", "bits", "--cohort", "-", "--cohort", "group"],
    ):
        assert main(["associate", *arguments, *specs, *listed]) == 0
        printed.append(document(capsys))
    assert printed[0] == printed[1]


def test_some_categories_and_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("kept.txt").write_text("driver\nnurse\n")
    listed = ["--candidates", "kept.txt", "--candidates", "-", "--other"]
    assert main(["associate", "reports.csv", *BOTH, *listed, "--json", "-"]) == 0
    found = document(capsys)
    results = expected(0, 1, candidates=[["driver", "nurse"], None], other=True)
    close(found, results)
    assert results.labels[0].tolist() == ["driver", "nurse", "Other"]


def test_categories_that_are_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.write_mechanism(ldp.KRR(4, epsilon=1.0), "four.json")
    table = pd.DataFrame({"x": [0, 1, 2, 3] * 50, "y": [0, 1, 2, 3, 3, 2, 1, 0] * 25})
    table.to_csv("numbers.csv", index=False)
    Path("kept.txt").write_text("2\n0\n")
    specs = ["--column", "x", "--spec", "four.json", "--column", "y", "--spec", "four.json"]
    listed = ["--candidates", "kept.txt", "--candidates", "-", "--other"]
    assert main(["associate", "numbers.csv", *specs, *listed, "--json", "-"]) == 0
    results = ldp.AssociationResults.from_dict(document(capsys))
    assert results.labels[0].tolist() == [2, 0, "Other"]


def test_three_variables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    third = ["--column", "host", "--spec", "host.json"]
    listed = ["--candidates", "-", "--candidates", "-", "--candidates", "hosts.txt"]
    listed += ["--test", "score"]  # that of the default is in the summary
    assert main(["associate", "reports.csv", *BOTH, *third, *listed]) == 0
    out, err = capsys.readouterr()
    assert "H0: job, late and host are independent" in out and err == ""
    names = [word for name in ("job", "late", "host") for word in ("--name", name)]
    specs = ["--spec", "job.json", "--spec", "late.json", "--spec", "host.json"]
    others = ["--with", "late.csv", "--with", "host.csv", "--id", "who"]
    assert main(["associate", "job.csv", *others, *specs, *names, *listed]) == 0
    again = capsys.readouterr().out
    assert again.splitlines()[-1] == out.splitlines()[-1]
    assert "statistic" in out.splitlines()[-1]


@pytest.mark.parametrize("method", sorted(set(JOINT_ESTIMATORS) - {"cvxpy"}))
def test_every_method_can_be_asked_for(
    method: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["associate", "reports.csv", *BOTH, "--method", method, "--json", "-"]) == 0
    found = document(capsys)
    assert found["method"] == method
    close(found, expected(0, 1, method=method))


@pytest.mark.parametrize("name", METHODS)
def test_every_test_can_be_asked_for(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--seed", "5", "--surveys", "9"] if name == "bootstrap" else []
    how: dict[str, Any] = {"rng": np.random.default_rng(5), "n_boot": 9} if more else {}
    assert main(["associate", "reports.csv", *BOTH, "--test", name, *more]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.LDPWarning)
        assert capsys.readouterr().out.endswith(f"\n\n{asked(name, **how)}\n")


@pytest.mark.parametrize("name", ["score", "pearson"])
def test_a_p_value_by_permutations(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--test", name, "--permutations", "99", "--seed", "2", "--json", "-"]
    assert main(["associate", "reports.csv", *BOTH, *more]) == 0
    rng = np.random.default_rng(2)
    test = asked(name, rng=rng, n_permutations=99)
    assert document(capsys)["test"] == test.to_dict()
    assert "99 permutations" in test.method


MAGIC = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


@pytest.mark.parametrize(  # every format and every kind, and vectors of the one with many shapes
    ("kind", "suffix"),
    [
        *((None, suffix) for suffix in MAGIC),
        ("heatmap", ".png"),
        ("departures", ".png"),
        ("mosaic", ".pdf"),
        ("mosaic", ".svg"),
    ],
)
def test_a_plot_is_written(
    suffix: str, kind: str | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = [] if kind is None else ["--plot-kind", kind]
    drawings = []
    for path in (f"a{suffix}", f"b{suffix}"):
        assert main(["associate", "reports.csv", *BOTH, "--plot", path, *more]) == 0
        drawings.append(Path(path).read_bytes())
    assert drawings[0] == drawings[1] and drawings[0].startswith(MAGIC[suffix])
    assert capsys.readouterr().err == ""


def test_missing_reports(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv("reports.csv", dtype=str)
    table.loc[[2, 5], "job"] = [None, "?"]
    table.loc[[5, 7], "late"] = None
    table.to_csv("holes.csv", index=False)
    kept = table.drop(index=[2, 5, 7])
    kept.to_csv("kept.csv", index=False)
    refused(["associate", "holes.csv", *BOTH], "row 3=None: is missing", capsys)
    missing = ["--missing", "count", "--na", "?"]
    assert main(["associate", "holes.csv", *BOTH, *missing]) == 0
    out = capsys.readouterr().out
    assert (
        "\nNOTE: 3 of " in out and "respondents were left out, because a report was missing." in out
    )
    printed = []
    for arguments in (["holes.csv", *missing], ["kept.csv"]):
        assert main(["associate", *arguments, *BOTH, "--json", "-"]) == 0
        printed.append(document(capsys))
    lost = [[fit.pop("n_missing") for fit in found["margin_fits"]] for found in printed]
    for found in printed:
        del found["n_missing"]
        for part in (found, *found["margin_fits"]):  # of another number of missing answers
            del part["fingerprint"]
    assert lost == [[3, 3], [0, 0]] and printed[0] == printed[1]


def test_respondents_of_one_table_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.read_csv("late.csv").query("who != 'r4'").to_csv("fewer.csv", index=False)
    specs = ["--spec", "job.json", "--spec", "late.json", "--name", "job", "--name", "late"]
    both = ["job.csv", "--with", "fewer.csv", "--id", "who", *specs]
    refused(["associate", *both], "='r4': is not in fewer.csv", capsys)
    assert main(["associate", *both, "--missing", "count"]) == 0
    assert "\nNOTE: 1 of " in capsys.readouterr().out


def test_an_estimate_without_a_test(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All respondents made the same report: there is nothing that could be associated."""
    Path("same.csv").write_text("job,late\n" + "nurse,no\n" * 50)
    assert main(["associate", "same.csv", *BOTH]) == 0
    out, err = capsys.readouterr()
    assert "nurse : no" in out and "H0" not in out
    assert err.startswith("ldpstats: warning: no test of independence:") and err.count("\n") == 1
    refused(["associate", "same.csv", *BOTH, "--test", "score"], "do not vary", capsys)
    assert main(["associate", "same.csv", *BOTH, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["test"] is None


# -- what is refused -------------------------------------------------------------------------------


def test_one_specification_may_serve_two_variables(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = ["--spec", "late.json", "--spec", "./late.json"]
    table = pd.read_csv("reports.csv")
    table["again"] = table["late"]
    table.to_csv("again.csv", index=False)
    assert main(["associate", "again.csv", "--column", "late", "--column", "again", *specs]) == 0
    assert capsys.readouterr().err == ""


def test_files_are_overwritten_only_on_request(folder: Path) -> None:
    Path("old.json").write_text("mine")
    assert main(["associate", "reports.csv", *BOTH, "--json", "old.json", "--force"]) == 0
    assert json.loads(Path("old.json").read_text())["nobs"] == 600


def test_the_help_says_how_tables_come_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["associate", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "mle (default)" in text and "score (default), wald, lr" in text
    assert "matches their rows, in any order" in text
    assert main(["privatize", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "ldpstats associate matches the tables by it" in text and "--as COLUMN" in text
    assert cli._EXAMPLES.count("ldpstats associate") == 3


ONE, OTHER = "--column job --spec job.json", "--column late --spec late.json"
HOST_ = "--column host --spec host.json"
TABLES = "job.csv --with late.csv --spec job.json --spec late.json"
NAMED = "--name job --name late"
REFUSED: dict[str, tuple[str, str]] = {
    "nothing": ("", "required"),
    "one variable": (f"reports.csv {ONE}", "--spec=['job.json']: two or more variables"),
    "one column": (f"reports.csv {ONE} --spec late.json", "--column=['job']: must be given once"),
    "no column": ("reports.csv --spec job.json --spec late.json", "--column"),
    "a column twice": (f"reports.csv {ONE} {ONE}", "different names"),
    "a column twice, named": (f"reports.csv {ONE} {ONE} --name a --name b", "is named twice"),
    "no such column": (f"reports.csv {ONE} --column x --spec late.json", "no such column"),
    "the wrong column": (
        f"reports.csv {ONE} --column who --spec late.json",
        "column 'who', row 1='r0'",
    ),
    "no such table": (f"none.csv {ONE} {OTHER}", "no such file"),
    "no such specification": (f"reports.csv {ONE} --column late --spec none.json", "no such file"),
    "a table that is no specification": (
        f"reports.csv {ONE} --column late --spec late.csv",
        "late.csv",
    ),
    "one name": (f"reports.csv {ONE} {OTHER} --name a", "--name=['a']"),
    "a name twice": (f"reports.csv {ONE} {OTHER} --name a --name a", "--name=['a', 'a']"),
    "a table without --with": (
        f"job.csv late.csv {ONE} {OTHER}",
        "late.csv; the table of another variable is given by --with late.csv --id COLUMN",
    ),
    "an unknown option": (f"reports.csv {ONE} {OTHER} --ids who", "arguments: --ids who (see"),
    "tables without identifiers": (f"{TABLES} {NAMED}", "--id=None: is needed"),
    "a table too many": (f"{TABLES} {NAMED} --with host.csv --id who", "must name 1 tables"),
    "no such identifier": (f"{TABLES} {NAMED} --id person", "no such column"),
    "the reports as identifiers": (f"{TABLES} {NAMED} --id report", "column of reports"),
    "identifiers that repeat": (
        f"job.csv --with twice.csv --spec job.json --spec late.json {NAMED} --id who",
        "twice.csv, column 'who', row 601='r1': is also the respondent of row",
    ),
    "respondents that differ": (
        f"job.csv --with fewer.csv --spec job.json --spec late.json {NAMED} --id who",
        "is not in fewer.csv, column 'who' (590 respondents are not in every table)",
    ),
    "counts and identifiers": (f"reports.csv {ONE} {OTHER} --id who --count job", "is a column of"),
    "counts that are not numbers": (f"reports.csv {ONE} {OTHER} --count who", "whole number"),
    "one cohort": (f"reports.csv {ONE} {HOST_} --cohort who", "--cohort=['who']: must be given"),
    "cohorts of labels": (f"reports.csv {ONE} {OTHER} --cohort who --cohort -", "has no cohorts"),
    "no candidates": (f"reports.csv {ONE} {HOST_}", "--candidates=None: is needed for host"),
    "one list": (f"reports.csv {ONE} {HOST_} --candidates hosts.txt", "must be given once"),
    "no such list": (
        f"reports.csv {ONE} {HOST_} --candidates - --candidates none.txt",
        "no such file",
    ),
    "no such category": (
        f"reports.csv {ONE} {OTHER} --candidates hosts.txt --candidates -",
        "hosts.txt, line 1='a.com': is not a category of KRR",
    ),
    "one candidate": (f"reports.csv {ONE} {HOST_} --candidates - --candidates one.txt", "host"),
    "no such method": (f"reports.csv {ONE} {OTHER} --method lasso", "--method='lasso'"),
    "a method for bits": (f"reports.csv {ONE} {OTHER} --method composite", "--method="),
    "no such test": (f"reports.csv {ONE} {OTHER} --test fisher", "--test"),
    "no seed": (f"reports.csv {ONE} {OTHER} --test bootstrap", "--seed=None: is needed"),
    "permutations without a seed": (f"reports.csv {ONE} {OTHER} --permutations 9", "--seed"),
    "a seed of nothing": (f"reports.csv {ONE} {OTHER} --test wald --seed 1", "--seed=1: goes with"),
    "a negative seed": (f"reports.csv {ONE} {OTHER} --seed -1", "--seed=-1"),
    "no permutations": (f"reports.csv {ONE} {OTHER} --permutations 0 --seed 1", "--permutations=0"),
    "surveys that are permuted": (f"reports.csv {ONE} {OTHER} --surveys 9 --seed 1", "--surveys=9"),
    "pearson of bits": (
        f"reports.csv {ONE} {HOST_} --candidates - --candidates hosts.txt --test pearson",
        "score",
    ),
    "wald of three": (
        f"reports.csv {ONE} {OTHER} {HOST_} --test wald --candidates - --candidates - "
        "--candidates hosts.txt",
        "score",
    ),
    "a plot of three": (
        f"reports.csv {ONE} {OTHER} {HOST_} --plot p.png --candidates - --candidates - "
        "--candidates hosts.txt",
        "leave --plot out",
    ),
    "a plot of no kind": (f"reports.csv {ONE} {OTHER} --plot p.png --plot-kind pie", "--plot-kind"),
    "a title of no plot": (f"reports.csv {ONE} {OTHER} --title Jobs", "--title='Jobs': goes with"),
    "a kind of no plot": (f"reports.csv {ONE} {OTHER} --plot-kind mosaic", "goes with --plot"),
    "a plot of no format": (f"reports.csv {ONE} {OTHER} --plot p.jpg", "must end in .png"),
    "a mosaic of negative tiles": (
        f"negative.csv {ONE} {OTHER} --method inversion --plot p.png --plot-kind mosaic",
        "negative",
    ),
    "alpha": (f"reports.csv {ONE} {OTHER} --alpha 1", "alpha=1.0"),
    "rows": (f"reports.csv {ONE} {OTHER} --max-rows 0", "max_rows=0"),
    "no reports": (f"empty.csv {ONE} {OTHER}", "holds no respondent"),
    "only missing reports": (f"none_given.csv {ONE} {OTHER} --missing count", "no respondent"),
    "json over a table": (
        f"reports.csv {ONE} {OTHER} --json reports.csv --force",
        "is given twice",
    ),
    "json over a specification": (f"reports.csv {ONE} {OTHER} --json late.json --force", "twice"),
    "json over what exists": (f"reports.csv {ONE} {OTHER} --json hosts.txt", "already exists"),
    "json and plot in one": (f"reports.csv {ONE} {OTHER} --json p.png --plot p.png", "twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = pd.read_csv("late.csv")
    pd.concat([late, late.query("who == 'r1'")]).to_csv("twice.csv", index=False)
    late.head(10).to_csv("fewer.csv", index=False)
    Path("one.txt").write_text("a.com\n")
    Path("empty.csv").write_text("job,late\n")
    Path("none_given.csv").write_text("job,late\nnurse,\n,no\n")
    Path("negative.csv").write_text("job,late\n" + "nurse,no\nteacher,no\ndriver,yes\n" * 40)
    arguments, says = REFUSED[name]
    refused(["associate", *arguments.split()], says, capsys)
