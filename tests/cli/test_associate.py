"""ldpstats associate: from tables of reports to a joint distribution and a test of independence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.command_refusals import refused

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import main

JOBS, LATE, HOSTS = ("nurse", "teacher", "driver"), ("no", "yes"), ("a.com", "b.com", "c.com")

JOB, TARDY = ldp.KRR(JOBS, epsilon=2.0), ldp.KRR(LATE, epsilon=2.0)

LAW = np.array([[0.35, 0.15], [0.2, 0.1], [0.05, 0.15]])  # of job and late

BOTH = ["--column", "job", "--spec", "job.json", "--column", "late", "--spec", "late.json"]


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The JSON that was printed, and nothing else was."""
    out, err = capsys.readouterr()
    assert err == "" and out.count("\n") == 1
    found: dict[str, Any] = json.loads(out)
    return found


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
def folder(tmp_path, monkeypatch):
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


def close(found: dict[str, Any], results: ldp.AssociationResults) -> None:
    """The results read from JSON are those of the API, to the rounding of sums in another order."""
    again = ldp.AssociationResults.from_dict(found)
    assert again.names == results.names and again.nobs == results.nobs
    np.testing.assert_allclose(again.params, results.params, atol=1e-7)
    np.testing.assert_allclose(again.linear_params, results.linear_params, atol=1e-10)
    np.testing.assert_allclose(again.linear_bse, results.linear_bse, rtol=1e-8)


# -- what is printed and written -------------------------------------------------------------------
def test_labels_of_one_table(folder, capsys):
    results = expected(0, 1)
    assert main(["associate", "reports.csv", *BOTH, "--alpha", "0.1", "--max-rows", "4"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"{results.summary(0.1, 4)}\n", "")
    assert out.count("Independence (") == 1 and "on 2 df, p < 0.001" in out
    assert main(["associate", "reports.csv", *BOTH, "--test", "wald"]) == 0
    assert capsys.readouterr().out.endswith(f"\n\n{results.test_independence('wald')}\n")


def test_json_comes_back(folder, capsys):
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


def test_counts_in_a_column(folder, capsys):
    printed = []
    for arguments in (["reports.csv"], ["n.csv", "--count", "n"]):
        assert main(["associate", *arguments, *BOTH, "--json", "-"]) == 0
        printed.append(document(capsys))
    assert printed[0] == printed[1] and printed[0]["nobs"] == 600


def test_tables_are_matched_by_an_identifier(folder, capsys):
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


def test_tables_name_their_variables(folder, capsys):
    Path("more").mkdir()
    for path in ("more/job.csv", "more.parts.csv"):
        pd.read_csv("late.csv", dtype=str).to_csv(path, index=False)
    for second, names in (
        ("late.csv", ["job", "late"]),
        ("more.parts.csv", ["job", "more"]),
        ("more/job.csv", ["x", "y"]),  # two tables of one name
    ):
        given = ["job.csv", "--with", second, "--id", "who", "--spec", "job.json"]
        assert main(["associate", *given, "--spec", "late.json", "--json", "-"]) == 0
        assert document(capsys)["names"] == names


def test_bits_with_candidates(folder, capsys):
    columns = ["--column", "late", "--spec", "late.json", "--column", "host", "--spec", "host.json"]
    listed = ["--candidates", "-", "--candidates", "hosts.txt"]
    assert main(["associate", "reports.csv", *columns, *listed, "--json", "-"]) == 0
    found = document(capsys)
    results = expected(1, 2, candidates=[None, HOSTS])
    close(found, results)
    assert found["test"]["pvalue"] == pytest.approx(results.test_independence().pvalue, rel=1e-5)
    assert found["labels"][1] == results.to_dict()["labels"][1]


def test_cohorts_in_a_column(folder, capsys):
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


def test_some_categories_and_other(folder, capsys):
    Path("kept.txt").write_text("driver\nnurse\n")
    listed = ["--candidates", "kept.txt", "--candidates", "-", "--other"]
    assert main(["associate", "reports.csv", *BOTH, *listed, "--json", "-"]) == 0
    found = document(capsys)
    results = expected(0, 1, candidates=[["driver", "nurse"], None], other=True)
    close(found, results)
    assert results.labels[0].tolist() == ["driver", "nurse", "Other"]


def test_categories_that_are_numbers(folder, capsys):
    files.write_mechanism(ldp.KRR(4, epsilon=1.0), "four.json")
    table = pd.DataFrame({"x": [0, 1, 2, 3] * 50, "y": [0, 1, 2, 3, 3, 2, 1, 0] * 25})
    table.to_csv("numbers.csv", index=False)
    Path("kept.txt").write_text("2\n0\n")
    specs = ["--column", "x", "--spec", "four.json", "--column", "y", "--spec", "four.json"]
    listed = ["--candidates", "kept.txt", "--candidates", "-", "--other"]
    assert main(["associate", "numbers.csv", *specs, *listed, "--json", "-"]) == 0
    results = ldp.AssociationResults.from_dict(document(capsys))
    assert results.labels[0].tolist() == [2, 0, "Other"]


def test_three_variables(folder, capsys):
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


@pytest.mark.parametrize("method", ["inversion"])
def test_every_method_can_be_asked_for(method, folder, capsys):
    assert main(["associate", "reports.csv", *BOTH, "--method", method, "--json", "-"]) == 0
    found = document(capsys)
    assert found["method"] == method
    close(found, expected(0, 1, method=method))


@pytest.mark.parametrize(
    ("name", "option", "how"),
    [("score", "--permutations", "n_permutations"), ("bootstrap", "--surveys", "n_boot")],
)
def test_a_p_value_by_chance(name, option, how, folder, capsys):
    """Of answers that are not associated, so that the seed matters."""
    job, late, _ = drawn()
    turned = ldp.Reports(late.y[::-1], TARDY)
    table = {"job": JOB.report_labels(job), "late": TARDY.report_labels(turned)}
    pd.DataFrame(table).to_csv("turned.csv", index=False)
    more = ["--test", name, option, "39", "--seed", "2", "--json", "-"]
    assert main(["associate", "turned.csv", *BOTH, *more]) == 0
    model = ldp.AssociationModel(job, turned, names=("job", "late"))
    results = model.fit()
    one, two = (
        model.test_independence(results, name, rng=np.random.default_rng(seed), **{how: 39})
        for seed in (1, 2)
    )
    assert document(capsys)["test"] == two.to_dict() != one.to_dict() and "39 " in two.method


MAGIC = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [(None, ".png"), ("departures", ".svg"), ("mosaic", ".pdf")],
)
def test_a_plot_is_written(suffix, kind, folder, capsys):
    more = [] if kind is None else ["--plot-kind", kind]
    assert main(["associate", "reports.csv", *BOTH, "--plot", f"a{suffix}", *more]) == 0
    assert Path(f"a{suffix}").read_bytes().startswith(MAGIC[suffix])
    assert capsys.readouterr().err == ""


def test_missing_reports(folder, capsys):
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
    (note,) = re.findall(r"\nNOTE: 3 of .*?\n(?=\S)", out, re.S)
    assert "a report was missing: 2 lacked job, 2 lacked late." in " ".join(note.split())
    printed = []
    for arguments in (["holes.csv", *missing], ["kept.csv"]):
        assert main(["associate", *arguments, *BOTH, "--json", "-"]) == 0
        printed.append(document(capsys))
    lost = [[fit.pop("n_missing") for fit in found["margin_fits"]] for found in printed]
    for found in printed:
        del found["n_missing"], found["lacking"]
        for part in (found, *found["margin_fits"]):  # of another number of missing answers
            del part["fingerprint"]
    assert lost == [[3, 3], [0, 0]] and printed[0] == printed[1]


def test_respondents_of_one_table_only(folder, capsys):
    pd.read_csv("late.csv").query("who != 'r4'").to_csv("fewer.csv", index=False)
    specs = ["--spec", "job.json", "--spec", "late.json", "--name", "job", "--name", "late"]
    both = ["job.csv", "--with", "fewer.csv", "--id", "who", *specs]
    refused(["associate", *both], "='r4': is not in fewer.csv", capsys)
    assert main(["associate", *both, "--missing", "count"]) == 0
    assert "\nNOTE: 1 of " in capsys.readouterr().out


def test_an_estimate_without_a_test(folder, capsys):
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
ONE, OTHER = "--column job --spec job.json", "--column late --spec late.json"

HOST_ = "--column host --spec host.json"

TABLES = "job.csv --with late.csv --spec job.json --spec late.json"

NAMED = "--name job --name late"

REFUSED: dict[str, tuple[str, str]] = {
    "nothing": ("", "required"),
    "one variable": (f"reports.csv {ONE}", "--spec=['job.json']: two or more variables"),
    "one column": (f"reports.csv {ONE} --spec late.json", "--column=['job']: must be given once"),
    "a column twice": (f"reports.csv {ONE} {ONE}", "different names"),
    "the wrong column": (
        f"reports.csv {ONE} --column who --spec late.json",
        "column 'who', row 1='r0'",
    ),
    "a table without --with": (
        f"job.csv late.csv {ONE} {OTHER}",
        "late.csv; the table of another variable is given by --with late.csv --id COLUMN",
    ),
    "tables without identifiers": (f"{TABLES} {NAMED}", "--id=None: is needed"),
    "a table too many": (f"{TABLES} {NAMED} --with host.csv --id who", "must name 1 tables"),
    "identifiers that repeat": (
        f"job.csv --with twice.csv --spec job.json --spec late.json {NAMED} --id who",
        "twice.csv, column 'who', row 601='r1': is also the respondent of row",
    ),
    "respondents that differ": (
        f"job.csv --with fewer.csv --spec job.json --spec late.json {NAMED} --id who",
        "is not in fewer.csv, column 'who' (590 respondents are not in every table)",
    ),
    "one cohort": (f"reports.csv {ONE} {HOST_} --cohort who", "--cohort=['who']: must be given"),
    "cohorts of labels": (f"reports.csv {ONE} {OTHER} --cohort who --cohort -", "has no cohorts"),
    "no candidates": (f"reports.csv {ONE} {HOST_}", "--candidates=None: is needed for host"),
    "no such method": (f"reports.csv {ONE} {OTHER} --method lasso", "--method='lasso'"),
    "no seed": (f"reports.csv {ONE} {OTHER} --test bootstrap", "--seed=None: is needed"),
    "a seed of nothing": (f"reports.csv {ONE} {OTHER} --test wald --seed 1", "--seed=1: goes with"),
    "a plot of three": (
        f"reports.csv {ONE} {OTHER} {HOST_} --plot p.png --candidates - --candidates - "
        "--candidates hosts.txt",
        "leave --plot out",
    ),
    "a kind of no plot": (f"reports.csv {ONE} {OTHER} --plot-kind mosaic", "goes with --plot"),
    "json over a table": (
        f"reports.csv {ONE} {OTHER} --json reports.csv --force",
        "is given twice",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, folder, capsys):
    late = pd.read_csv("late.csv")
    pd.concat([late, late.query("who == 'r1'")]).to_csv("twice.csv", index=False)
    late.head(10).to_csv("fewer.csv", index=False)
    Path("none_given.csv").write_text("job,late\nnurse,\n,no\n")
    arguments, says = REFUSED[name]
    refused(["associate", *arguments.split()], says, capsys)


# From answers to two questions to their joint distribution, by two runs of privatize.
@pytest.fixture
def answers(tmp_path, monkeypatch):
    """20,000 answers to two questions with exact shares, as CSV and as Parquet."""
    monkeypatch.chdir(tmp_path)
    cells = np.repeat(np.arange(6), (LAW.reshape(-1) * 20_000).round().astype(int))
    job, late = np.unravel_index(cells, LAW.shape)
    table = pd.DataFrame({"job": np.array(JOBS)[job], "late": np.array(LATE)[late]})
    table.insert(0, "who", np.arange(len(table)))
    table.to_csv("answers.csv", index=False)
    table.to_parquet("answers.parquet")
    files.write_mechanism(JOB, "job.json")
    files.write_mechanism(TARDY, "late.json")
    return tmp_path


def near_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    results = ldp.AssociationResults.from_dict(document(capsys))
    # The client's randomness cannot be fixed here. Each estimate is normal to a good approximation
    # at this size, so one of the six is off by 7 standard errors with probability 2e-11.
    z = (results.linear_params.to_numpy() - LAW.reshape(-1)) / results.linear_bse.to_numpy()
    assert np.abs(z).max() < 7 and results.linear_bse.max() < 0.02
    # 8 standard errors of association or more: independence is rejected unless a chi-square of
    # noncentrality above 200 on 2 df falls below 20
    assert results.independence is not None and results.independence.pvalue < 1e-4


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_two_runs_that_keep_the_respondent(suffix, answers, capsys):
    for name in ("job", "late"):
        paths = [f"answers{suffix}", f"{name}s{suffix}"]
        how = ["--column", name, "--spec", f"{name}.json", "--keep", "who"]
        assert main(["privatize", *paths, *how]) == 0
    # in another order: rows do not match, respondents do
    table = pd.concat(files.read_columns(f"lates{suffix}", ["report", "who"]))[::-1]
    table.to_csv("reversed.csv", index=False)
    capsys.readouterr()
    specs = ["--spec", "job.json", "--spec", "late.json", "--name", "job", "--name", "late"]
    for second in (f"lates{suffix}", "reversed.csv"):
        both = [f"jobs{suffix}", "--with", second, "--id", "who"]
        assert main(["associate", *both, *specs, "--json", "-"]) == 0
        near_the_truth(capsys)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_two_runs_to_one_table(suffix, answers, capsys):
    first = [f"answers{suffix}", f"step{suffix}", "--column", "job", "--spec", "job.json"]
    assert main(["privatize", *first, "--as", "job", "--keep", "late"]) == 0
    second = [f"step{suffix}", f"reports{suffix}", "--column", "late", "--spec", "late.json"]
    assert main(["privatize", *second, "--as", "late", "--keep", "job"]) == 0
    capsys.readouterr()
    assert main(["associate", f"reports{suffix}", *BOTH, "--json", "-"]) == 0
    near_the_truth(capsys)


def test_a_parquet_file_remembers_its_mechanisms(answers, capsys):
    first = ["answers.parquet", "step.parquet", "--column", "job", "--spec", "job.json"]
    assert main(["privatize", *first, "--as", "job", "--keep", "late"]) == 0
    second = ["step.parquet", "reports.parquet", "--column", "late", "--spec", "late.json"]
    assert main(["privatize", *second, "--keep", "job"]) == 0
    capsys.readouterr()
    files.write_mechanism(ldp.KRR(JOBS, 1.0), "job1.json")
    files.write_mechanism(ldp.KRR(LATE, 1.0), "late1.json")
    columns = ["--column", "job", "--column", "report"]
    right = ["--spec", "job.json", "--spec", "late.json"]
    assert main(["associate", "reports.parquet", *columns, *right]) == 0
    capsys.readouterr()
    for specs, says in (
        (["--spec", "job1.json", "--spec", "late.json"], "column 'job' holds reports of"),
        (["--spec", "job.json", "--spec", "late1.json"], "column 'report' holds reports of"),
        (["--spec", "late.json", "--spec", "job.json"], "fingerprint"),
    ):
        refused(["associate", "reports.parquet", *columns, *specs], says, capsys)
