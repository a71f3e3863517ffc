"""ldpstats fit: what it prints and writes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import rc_context
from shared.command_refusals import refused
from shared.job_runs import JOBS, fit, privatize

import ldpstats as ldp
from ldpstats import io as files
from ldpstats.cli import main


def test_the_summary_is_that_of_the_api(reports, capsys):
    counts = files.read_counts(reports / "reports.csv", ldp.KRR(JOBS, 1.0))
    results = ldp.FrequencyModel(counts).fit()
    assert fit(reports, "--alpha", "0.1", "--max-rows", "2") == 0
    assert capsys.readouterr() == (f"{results.summary(0.1, 2)}\n", "")


@pytest.mark.parametrize("method", ["em", "inversion"])
def test_every_method_can_be_asked_for(method, reports, capsys):
    mechanism = ldp.KRAPPOR(JOBS, epsilon=1.0)
    drawn = mechanism.privatize(np.repeat(JOBS, 100), np.random.default_rng(1))
    files.write_reports(drawn, reports / "reports.parquet")
    files.write_mechanism(mechanism, reports / "spec.json", force=True)
    assert fit(reports, "--method", method, "--json", "-", suffix=".parquet") == 0
    results = ldp.FrequencyModel(drawn).fit(method)
    assert json.loads(capsys.readouterr().out) == results.to_dict()


def test_json_is_that_of_the_results(reports, capsys):
    counts = files.read_counts(reports / "reports.csv", ldp.KRR(JOBS, 1.0))
    results = ldp.FrequencyModel(counts).fit()
    assert fit(reports, "--json", str(reports / "out.json")) == 0
    assert capsys.readouterr().out == f"{results.summary()}\n"
    text = (reports / "out.json").read_text()
    assert json.loads(text) == results.to_dict()
    assert ldp.FrequencyResults.from_json(text).to_dict() == results.to_dict()


def test_bit_sums_use_inversion(reports, capsys):
    mechanism = ldp.KRAPPOR(JOBS, epsilon=1.0)
    drawn = mechanism.privatize(np.repeat(JOBS, 100), np.random.default_rng(1))
    files.write_reports(drawn, reports / "reports.csv.gz")
    files.write_mechanism(mechanism, reports / "spec.json", force=True)
    assert fit(reports, "--bits", "--json", "-", suffix=".csv.gz") == 0
    document = json.loads(capsys.readouterr().out)
    assert document == ldp.FrequencyModel(drawn.tally(bits=True)).fit().to_dict()
    assert document["method"] == "inversion"


def test_counts_in_a_column(reports, capsys):
    (reports / "counts.csv").write_text("answer,n\nnurse,40\nteacher,33\ndriver,27\n")
    arguments = ["--spec", str(reports / "spec.json"), "--column", "answer", "--count", "n"]
    assert main(["fit", str(reports / "counts.csv"), *arguments, "--json", "-"]) == 0
    expected = ldp.FrequencyModel(ldp.KRR(JOBS, 1.0).counts([40, 33, 27]), name="answer").fit()
    assert json.loads(capsys.readouterr().out) == expected.to_dict()


def test_a_plot_has_the_title_that_is_asked_for(reports, capsys):
    made = []
    for more in ([], ["--title", "Jobs in $ and $"], ["--title", ""]):
        with rc_context({"svg.fonttype": "none"}):
            assert fit(reports, "--plot", str(reports / "f.svg"), "--force", *more) == 0
        made.append((reports / "f.svg").read_text())
    assert ["KRR(k=3, epsilon=1), n = " in svg for svg in made] == [True, False, False]
    assert ["Jobs in $ and $" in svg for svg in made] == [False, True, False]
    assert fit(reports, "--title", "Jobs") == 2
    assert "--title='Jobs': goes with --plot" in capsys.readouterr().err


def test_the_same_input_gives_the_same_bytes(reports, capsys):
    def run(name: str) -> list[bytes]:
        made = [reports / f"{name}{suffix}" for suffix in (".json", ".svg", ".pdf")]
        for plot in made[1:]:
            assert fit(reports, "--json", str(made[0]), "--plot", str(plot), "--force") == 0
        return [path.read_bytes() for path in made] + [capsys.readouterr().out.encode()]

    assert run("a") == run("b")


def test_files_are_overwritten_only_on_request(reports, capsys):
    old = reports / "old.json"
    old.write_text("mine")
    assert fit(reports, "--json", str(old)) == 2
    assert old.read_text() == "mine" and capsys.readouterr().out == ""
    assert fit(reports, "--json", str(old), "--force") == 0
    assert json.loads(old.read_text())["nobs"] == 300


def test_a_failure_leaves_no_specification(answers):
    (answers / "answers.csv").write_text("id,job\n1,nurse\n2,cook\n")
    assert privatize(answers, "krr", ".csv", ".csv") == 2
    assert not (answers / "spec.json").exists() and not (answers / "reports.csv").exists()
    (answers / "reports.csv").write_text("mine")  # nor where the other file cannot be written
    assert privatize(answers, "krr", ".parquet", ".csv") == 2
    assert not (answers / "spec.json").exists()


# ldpstats privatize and fit over open alphabets: candidates, maps, and what is refused.

FRUIT = ("apple", "red pear", "plüm")

OTHERS = ("fig", "quince, raw", "日本")

OPEN = {
    "orr": "--n-outputs 16 --n-cohorts 32 --epsilon 3",
    "orappor": "--n-bits 16 --n-hashes 1 --n-cohorts 16 --epsilon 3",
    "rappor": "--n-bits 16 --n-hashes 2 --n-cohorts 16 -f 0 --p 0.25 --q 0.75",
    "rappor-google": "--n-bits 16 --n-hashes 2 --n-cohorts 16 --f 0.1 --p 0.2 --q 0.8 "
    "--hashing google",
}


@pytest.fixture
def fruit(tmp_path):
    """10,000 strings, and a file of six candidates, three of which are there."""
    table = pd.DataFrame({"id": np.arange(10_000), "fruit": np.repeat(FRUIT, [5000, 3000, 2000])})
    table.to_csv(tmp_path / "answers.csv", index=False)
    table.to_parquet(tmp_path / "answers.parquet")
    (tmp_path / "fruit.txt").write_text("\n".join([*FRUIT, *OTHERS]) + "\n", encoding="utf-8")
    return tmp_path


def privatize_open(folder: Path, kind: str, suffix: str = ".csv") -> int:
    made = ["--mechanism", kind.split("-")[0], *OPEN[kind].split()]
    paths = [str(folder / f"answers{suffix}"), str(folder / f"reports{suffix}")]
    spec = ["--write-spec", str(folder / "spec.json")]
    return main(["privatize", *paths, "--column", "fruit", *made, *spec])


def fit_open(folder: Path, *more: str, suffix: str = ".csv") -> int:
    return fit(folder, "--candidates", str(folder / "fruit.txt"), *more, suffix=suffix)


@pytest.mark.parametrize(("kind", "suffix"), [*zip(OPEN, [".csv", ".parquet"] * 2, strict=True)])
def test_from_strings_to_candidates(kind, suffix, fruit, capsys):
    assert privatize_open(fruit, kind, suffix) == 0
    assert "10000 reports" in capsys.readouterr().out
    assert fit_open(fruit, "--json", "-", suffix=suffix) == 0
    results = ldp.FrequencyResults.from_json(capsys.readouterr().out)
    assert results.categories.tolist() == [*FRUIT, *OTHERS] and results.nobs == 10_000
    # as above: one of six estimates is off by 7 standard errors with probability 2e-11
    z = (results.linear_params - np.r_[0.5, 0.3, 0.2, 0, 0, 0]) / results.linear_bse
    assert np.abs(z).max() < 7 and results.linear_bse.max() < 0.03


def reports_of_fruit(folder: Path) -> ldp.RAPPOR:
    """The same reports whenever it is asked for, with the map of the candidates."""
    rappor = ldp.RAPPOR(16, 2, 16, f=0.0, p=0.25, q=0.75, hashing="google")
    values = np.repeat(FRUIT, [500, 300, 200])
    drawn = rappor.privatize(values.tolist(), np.random.default_rng(2))
    files.write_reports(drawn, folder / "reports.csv")
    files.write_mechanism(rappor, folder / "spec.json")
    files.write_rappor_map([*FRUIT, *OTHERS], rappor, folder / "map.csv")
    files.write_rappor_params(rappor, folder / "params.csv")
    files.write_rappor_counts(drawn.tally(), folder / "google_counts.csv")
    files.write_rappor_reports(drawn, folder / "google_reports.csv")
    return rappor


def test_what_is_detected(fruit, capsys):
    rappor = reports_of_fruit(fruit)
    counts = files.read_counts(fruit / "reports.csv", rappor)
    results = ldp.FrequencyModel(counts, candidates=[*FRUIT, *OTHERS]).fit()
    table = str(results.summary())
    for detect, title in (
        ([], "bonferroni, family-wise error 0.05"),
        (["--detect", "bonferroni"], "bonferroni, family-wise error 0.05"),
        (["--detect", "holm"], "holm, family-wise error 0.05"),
        (["--detect", "bh"], "bh, false discovery rate 0.05"),
    ):
        assert fit_open(fruit, *detect) == 0
        found = results.detected(0.05, detect[1] if detect else "bonferroni")
        assert {"apple", "red pear"} < set(found) and len(found) < 6
        names = "".join(f"  {name}\n" for name in found)
        below = f"\n\nDetected ({title}): {len(found)} of 6\n{names}"
        assert capsys.readouterr() == (table + below, "")


def test_detection_at_another_rate(fruit, capsys):
    reports_of_fruit(fruit)
    assert fit_open(fruit, "--alpha", "1e-300", "--detect", "holm") == 0
    assert capsys.readouterr().out.endswith("Detected (holm, family-wise error 1e-300): 0 of 6\n")
    assert fit_open(fruit, "--max-rows", "1") == 0
    assert capsys.readouterr().out.endswith("of 6\n  apple\n  and 2 more\n")


def test_detection_among_known_categories(reports, capsys):
    assert fit(reports) == 0
    assert "Detected" not in capsys.readouterr().out
    assert fit(reports, "--detect", "bh") == 0
    assert "Detected (bh" in capsys.readouterr().out


def test_a_lasso_among_candidates(fruit, capsys):
    rappor = reports_of_fruit(fruit)
    assert fit_open(fruit, "--method", "lasso", "--json", "-") == 0
    counts = files.read_counts(fruit / "reports.csv", rappor)
    expected = ldp.FrequencyModel(counts, candidates=[*FRUIT, *OTHERS]).fit("lasso")
    assert json.loads(capsys.readouterr().out) == expected.to_dict()


def test_every_way_to_the_same_estimates(fruit, capsys):
    """Candidates or a map, our files or those of google/rappor, cohorts in or beside reports."""
    reports_of_fruit(fruit)
    table = pd.read_csv(fruit / "reports.csv", dtype=str)["report"].str.split(":", expand=True)
    table.columns = ["group", "told"]
    table.to_csv(fruit / "two.csv", index=False)
    at = {name: str(fruit / name) for name in ("reports.csv", "two.csv", "spec.json", "params.csv")}
    at |= {name: str(fruit / name) for name in ("google_counts.csv", "google_reports.csv")}
    strings = ["--candidates", str(fruit / "fruit.txt")]
    mapped = ["--map", str(fruit / "map.csv")]
    ours, theirs = ["--spec", at["spec.json"]], ["--params", at["params.csv"]]
    printed = []
    for arguments in (
        [at["reports.csv"], *ours, *strings],
        [at["reports.csv"], *ours, *mapped],
        [at["reports.csv"], *ours, *strings, "--bits"],
        [at["two.csv"], *ours, *strings, "--column", "told", "--cohort", "group"],
        [at["google_reports.csv"], *theirs, *mapped],
        [at["google_reports.csv"], *theirs, *strings, "--bits"],
        [at["google_counts.csv"], *theirs, *mapped],
    ):
        assert main(["fit", *arguments, "--method", "inversion", "--json", "-"]) == 0
        printed.append(json.loads(capsys.readouterr().out) | {"name": ""})  # that of --column
        del printed[-1]["fingerprint"]  # of that name too
    assert all(document == printed[0] for document in printed[1:])


REFUSED: list[tuple[str, list[str], str]] = [
    ("no candidates", [], "--candidates"),
    ("a list as a map", ["--map", "fruit.txt"], "goes with --candidates"),
    ("both", ["--candidates", "fruit.txt", "--map", "map.csv"], "not allowed with"),
    ("a blank line", ["--candidates", "blank.txt"], "line 2 is blank"),
    ("no such cohorts", ["--candidates", "fruit.txt", "--cohort", "group"], "group"),
    ("cohorts of reports", ["--candidates", "fruit.txt", "--cohort", "report"], "cohort"),
    ("read and written", ["--candidates", "fruit.txt", "--json", "fruit.txt", "--force"], "twice"),
]


@pytest.mark.parametrize(("more", "says"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_candidates_are_refused(more, says, fruit, monkeypatch, capsys):
    reports_of_fruit(fruit)
    for name, data in (("blank.txt", b"a\n\nb\n"),):
        (fruit / name).write_bytes(data)
    monkeypatch.chdir(fruit)
    refused(["fit", "reports.csv", "--spec", "spec.json", *more], says, capsys)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("reports.csv --spec orr.json --map map.csv", "RAPPOR only"),
        ("google_counts.csv --params params.csv", "--candidates"),
        ("google_reports.csv --params params.csv --map map.csv --column irr", "--column"),
        ("google_reports.csv --params params.csv --map map.csv --cohort cohort", "--cohort"),
        ("google_reports.csv --params params.csv --map map.csv --na x", "--na"),
        ("reports.csv --params params.csv --map map.csv", "row 1 has 2 fields"),
    ],
)
def test_files_that_do_not_go_together(arguments, says, fruit, monkeypatch, capsys):
    reports_of_fruit(fruit)
    files.write_mechanism(ldp.KRR(FRUIT, 1.0), fruit / "krr.json")
    files.write_mechanism(ldp.ORR(8, 4, epsilon=1.0), fruit / "orr.json")
    monkeypatch.chdir(fruit)
    refused(["fit", *arguments.split()], says, capsys)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ("orr --n-outputs 4 --epsilon 1", "--n-cohorts"),
        ("orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --n-bits 4", "--n-bits"),
        ("orr --n-outputs 2.5 --n-cohorts 2 --epsilon 1", "--n-outputs"),
        ('orr --n-outputs 4 --n-cohorts 2 --epsilon 1 --alphabet a,"b', "--alphabet"),
        ("rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 --p 0.1 --q 0.5", "--f"),
        (
            "rappor --n-bits 4 --n-hashes 1 --n-cohorts 2 -f 0 --p 0.1 --q 0.5 --epsilon 1",
            "--epsilon",
        ),
        ("krr --categories a,b --epsilon 1 --alphabet a,b", "--alphabet"),
    ],
)
def test_mechanisms_are_refused(made, says, fruit, monkeypatch, capsys):
    monkeypatch.chdir(fruit)
    paths = ["answers.csv", "out.csv", "--column", "fruit", "--write-spec", "new.json"]
    refused(["privatize", *paths, "--mechanism", *made.split()], says, capsys)


@pytest.mark.parametrize("method", [[]])
def test_too_many_candidates_are_refused_before_reports_are_read(
    method, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    files.write_mechanism(ldp.ORR(4, 4, epsilon=1.0), "spec.json")
    files.write_mechanism(ldp.ORR(4, 4, epsilon=1.0, alphabet=8193), "closed.json")
    Path("few.txt").write_text("".join(f"{i}\n" for i in range(8192)))
    Path("many.txt").write_text("".join(f"{i}\n" for i in range(8193)))
    # there is no table of reports: the number of candidates is complained of first
    fit_ = ["fit", "none.csv", *method, "--spec"]
    refused([*fit_, "spec.json", "--candidates", "many.txt"], "--method lasso", capsys)
    refused([*fit_, "closed.json"], "--method lasso", capsys)
    refused([*fit_, "spec.json", "--candidates", "few.txt"], "no such file", capsys)
    lasso = ["fit", "none.csv", "--method", "lasso", "--spec", "spec.json"]
    refused([*lasso, "--candidates", "many.txt"], "no such file", capsys)


# Questions that groups are asked with different devices, on the command line.


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Specifications of a cheating detection design, its questionnaire and true answers."""
    monkeypatch.chdir(tmp_path)
    for group, yes in (("one", "1/6"), ("two", "1/2")):
        params = ("--param", f"p_yes={yes}", "--param", "p_no=1/6")
        written = ("--write-spec", f"{group}.json")
        assert main(["device", "cheating-detection", *params, *written]) == 0
    groups = ("--group", "used", "one", "one.json", "--group", "used", "two", "two.json")
    assert main(["questionnaire", "sheet.json", *groups]) == 0
    rng = np.random.default_rng(1)
    answers = {"used": rng.choice(["no", "yes"], 900), "used_cohort": ["one", "two", "two"] * 300}
    pd.DataFrame(answers).to_csv("answers.csv", index=False)


def test_from_devices_to_estimates(asked, capsys):
    simulated = ("privatize", "answers.csv", "reports.csv", "--questionnaire", "sheet.json")
    assert main([*simulated]) == 2
    assert "--param used.cheating=0.1" in capsys.readouterr().err
    assert main([*simulated, "--param", "used.cheating=.1"]) == 0
    reports = pd.read_csv("reports.csv")["used"]
    named = pd.read_csv("answers.csv")["used_cohort"]
    assert (reports.str.split(":").str[0] == named).all()  # the table assigns groups
    capsys.readouterr()
    fit = ("fit", "reports.csv", "--questionnaire", "sheet.json", "--column", "used")
    assert main([*fit, "--csv", "-"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()[1:]]
    sheet = ldp.Questionnaire.from_json("sheet.json")
    found = ldp.Survey("reports.csv", sheet).frequencies("used")
    assert {row[0]: float(row[1]) for row in rows} == pytest.approx(found.params.to_dict())
    assert set(found.params.index) == {"no", "yes", "cheating"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--group", "q", "A", "one.json", "--group", "q", "A", "two.json"), "twice a group of q"),
        (("--group", "q", "A:1", "one.json"), "without a colon"),
        (("--group", "q", "A", "krr.json"), "must be a device in each group"),
        (("--group", "q", "A", "one.json", "--question", "q", "two.json"), "of two questions"),
        (("--group", "q", "A", "one.json", "--group", "q", "B", "job.json"), "the categories of"),
    ],
)
def test_groups_that_do_not_go_together(asked, capsys, options, words):
    Path("krr.json").write_text(json.dumps(ldp.KRR(("no", "yes"), 1.0).to_dict()))
    main(["device", "forced-categories", "--param", "shares=a=.1,b=.1", "--write-spec", "job.json"])
    assert main(["questionnaire", "bad.json", *options]) == 2
    assert words in capsys.readouterr().err
    assert not Path("bad.json").exists()


@pytest.mark.parametrize("param", ["cheating=.1", "used.cheating", "used.cheating=2", "x.y=.1"])
def test_values_that_are_no_parameters(asked, param):
    simulated = ("privatize", "answers.csv", "reports.csv", "--questionnaire", "sheet.json")
    assert main([*simulated, "--param", param]) == 2
    assert not Path("reports.csv").exists()
