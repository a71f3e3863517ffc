"""Tables as other programs leave them: bands and periods, Series, semicolons, value labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.errors import InvalidArgument, NotAvailable

KRR, WARNER = ldp.KRR(("nurse", "cook"), epsilon=1.0), ldp.Warner(epsilon=1.0, categories=(0, 1))
SHEET = ldp.Questionnaire({"job": KRR, "late": WARNER})


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng, n = np.random.default_rng(1), 900
    people = pd.DataFrame({"job": rng.choice(["nurse", "cook"], n), "late": rng.random(n) < 0.3})
    people["age"], people["w"] = rng.integers(18, 80, n), rng.uniform(0.5, 2, n)
    people["region"] = rng.choice(["n", "s"], n)
    frame: pd.DataFrame = SHEET.privatize(people, rng)  # booleans are the answers 0 and 1
    return frame


def same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one.params, other.params) and np.array_equal(one.bse, other.bse))


@pytest.mark.parametrize("kind", ["category", "interval", "months", "quarters"])
def test_bands_and_periods_are_ordered_groups(table, kind):
    edges = [17, 40, 60, 80]
    if kind in ("category", "interval"):
        bands: Any = pd.cut(table.age, edges)
        expected = ["(17, 40]", "(40, 60]", "(60, 80]"]
        text = bands.astype(str)
        bands = bands.astype(bands.cat.categories.dtype) if kind == "interval" else bands
    else:
        freq = {"months": "M", "quarters": "Q"}[kind]
        periods = pd.period_range("2024-11", periods=3, freq=freq)
        bands = pd.Series(periods.take(table.age % 3), index=table.index)
        expected, text = [str(p) for p in periods], bands.astype(str)
    survey = ldp.Survey(table.assign(band=bands, text=text), SHEET, weights="w")
    grouped = survey.frequencies("job", by="band")
    assert list(dict.fromkeys(grouped.params.index.get_level_values("band"))) == expected
    assert np.allclose(grouped.params, survey.frequencies("job", by="text").params, atol=1e-15)
    assert survey.where(f"band == '{expected[1]}'").frequencies("job").nobs == sum(
        text == expected[1]
    )
    model = ldp.Survey(table.assign(band=bands), SHEET).regression("late ~ band")
    assert model.fit().params.index.tolist() == [
        "Intercept", f"band[T.{expected[1]}]", f"band[T.{expected[2]}]"
    ]  # fmt: skip


def test_weights_and_strata_are_matched_by_index(table):
    named = ldp.Survey(table, SHEET, weights="w", strata="region").frequencies("job")
    bare = table[["job", "late", "age"]]
    for index in (table.index, table.index[::-1]):
        w, region = table.w.reindex(index), table.region.reindex(index)
        found = ldp.Survey(bare, SHEET, weights=w, strata=region)
        assert same(found.frequencies("job"), named)
        assert found.design.weights == "w" and found.columns[-2:] == ("w", "region")
    twice = ldp.Survey(table, SHEET, weights=(2 * table.w).rename("double"), strata="region")
    assert np.allclose(twice.frequencies("job").bse, named.bse)
    assert ldp.Survey(bare, SHEET, weights=table.w.rename(None)).design.weights == "weights"
    for wrong in (table.w[1:], table.w.set_axis(table.index + 1), table.w.iloc[[0] * len(table)]):
        with pytest.raises(InvalidArgument, match="another index than the table"):
            ldp.Survey(bare, SHEET, weights=wrong)
    same_name = ldp.Survey(table, SHEET, weights=2 * table.w, strata="region")
    assert np.allclose(same_name.frequencies("job").bse, named.bse)
    with pytest.raises(InvalidArgument, match="or a Series with the table's index"):
        ldp.Survey(table, SHEET, weights=table.w.to_numpy())
    with pytest.raises(InvalidArgument, match="goes with a table of pandas"):
        import pyarrow

        ldp.Survey(pyarrow.Table.from_pandas(table), SHEET, weights=table.w)


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_fields_between_other_characters(table, tmp_path, sep):
    path = tmp_path / "t.csv"
    odd = table.assign(note="a,b" + sep + '"c"')
    odd.to_csv(path, index=False, sep=sep)
    survey = ldp.Survey(path, SHEET, sep=sep, weights="w", na={"age": [99]})
    assert same(survey.frequencies("job"), ldp.Survey(table, SHEET, weights="w").frequencies("job"))
    assert survey.where(f"note == 'a,b{sep}\"c\"'").frequencies("job").nobs == len(table)
    for wrong in ("", ";;", "a", '"', "\n", None):
        with pytest.raises(InvalidArgument, match="must be one character"):
            ldp.Survey(path, SHEET, sep=wrong)
    with pytest.raises(InvalidArgument, match="goes with CSV files"):
        ldp.Survey(table, SHEET, sep=sep)
    table.to_csv(path, index=False, sep=";")
    with pytest.raises(InvalidArgument, match=r"sep=';'\) reads it"):
        ldp.Survey(path, SHEET)


def test_separators_and_codes_of_one_column_on_the_command_line(table, tmp_path, capsys):
    def printed(*arguments: str) -> str:
        command, *options = arguments
        assert main([command, str(path), "--questionnaire", str(sheet), *options]) == 0
        return capsys.readouterr().out

    path, sheet = tmp_path / "t.csv", tmp_path / "sheet.json"
    SHEET.to_json(sheet)
    coded = table.astype({"late": object})
    coded.loc[:9, "late"] = 9
    coded.loc[:4, "age"] = 9
    commands = [
        ["fit", "--column", "late"],
        ["fit", "--column", "late", "--by", "region"],
        ["associate", "--column", "job", "--column", "late"],
    ]
    coded.to_csv(path, index=False)
    expected = [printed(*command, "--na", "late=9") for command in commands]
    assert all("Missing:" in text and " 10" in text for text in expected)
    coded.to_csv(path, index=False, sep=";")
    for command, text in zip(commands, expected, strict=True):
        assert printed(*command, "--na", "late=9", "--sep", ";") == text
    for wrong in (["--na", "late=9", "--na", "8"], ["--na", "age=9"], ["--na", "nosuch=9"]):
        assert main(["fit", str(path), "--questionnaire", str(sheet), "--column", "late",
                     "--sep", ";", *wrong]) == 2  # fmt: skip
        assert "na" in capsys.readouterr().err


def test_files_that_pandas_reads(table, tmp_path):
    stata = tmp_path / "t.dta"
    coded = table.assign(job=pd.Categorical(table.job, ["nurse", "cook"]))
    coded["band"] = pd.Categorical(np.where(table.age < 40, "young", "old"), ["young", "old"], True)
    coded.to_stata(stata, write_index=False)
    survey = ldp.Survey(stata, SHEET)
    assert same(survey.frequencies("job"), ldp.Survey(table, SHEET).frequencies("job"))
    groups = survey.frequencies("job", by="band").params.index.get_level_values("band")
    assert list(dict.fromkeys(groups)) == ["young", "old"]  # value labels, in their order
    coded.to_excel(tmp_path / "t.xlsx", index=False)
    found = ldp.Survey(tmp_path / "t.xlsx", SHEET).frequencies("job")
    assert same(found, ldp.Survey(table, SHEET).frequencies("job"))
    with pytest.raises(InvalidArgument, match="cannot be read"):
        ldp.Survey(tmp_path / "nosuch.dta", SHEET)
    (tmp_path / "bad.dta").write_bytes(b"no such file")
    with pytest.raises(InvalidArgument, match=r"pandas.read_stata\(.*fails: "):
        ldp.Survey(tmp_path / "bad.dta", SHEET)
    with pytest.raises(InvalidArgument, match=r"read_stata\('t.dta'\).to_parquet\('t.parquet'\)"):
        ldp.count([stata], KRR, "job")


def test_value_labels_of_spss(table, tmp_path):
    pyreadstat, path = pytest.importorskip("pyreadstat"), tmp_path / "t.sav"
    labels = {"job": {1: "nurse", 2: "cook"}, "band": {1: "young", 2: "mid", 3: "aged"}}
    codes = {name: {label: code for code, label in of.items()} for name, of in labels.items()}
    bands = np.where(table.age < 40, "young", "aged")
    coded = table.assign(job=table.job.map(codes["job"]), band=pd.Series(bands).map(codes["band"]))
    pyreadstat.write_sav(coded, path, variable_value_labels=labels)
    survey = ldp.Survey(path, SHEET)
    assert same(survey.frequencies("job"), ldp.Survey(table, SHEET).frequencies("job"))
    groups = survey.frequencies("job", by="band").params.index.get_level_values("band")
    assert list(dict.fromkeys(groups)) == ["young", "aged"]  # in the order of their codes


def test_without_a_reader_the_extra_is_named(tmp_path, monkeypatch):
    def missing(path: object) -> None:
        raise ImportError("Missing optional dependency 'pyreadstat'.")

    monkeypatch.setattr(pd, "read_spss", missing)
    with pytest.raises(NotAvailable, match=r"pip install 'ldpstats\[files\]'"):
        ldp.Survey(tmp_path / "t.sav", SHEET)


@pytest.mark.parametrize(
    "mechanism",
    [
        KRR,
        ldp.KRR(4, 1.0),
        ldp.KRAPPOR(("a", "b", "c"), 1.0),
        ldp.ORR(4, 3, epsilon=1.0, alphabet=("a", "b", "c")),
        ldp.SubsetSelection(("a", "b", "c", "d"), 0.5),
        ldp.by_column("design", {1: WARNER, 2: ldp.Observed((0, 1))}),
    ],
    ids=["krr", "numbers", "bits", "hashed", "subsets", "designs"],
)
def test_reports_become_a_column_and_are_read_back(mechanism: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    answers = rng.choice(mechanism.labels().to_numpy(), 50)
    reports = mechanism.privatize(pd.Series(answers, name="q"), rng)
    index = pd.Index(np.arange(50)[::-1], name="person")
    table = pd.DataFrame({"age": range(50)}, index=index)
    table["q"] = reports.to_series(index=table.index)
    assert table.q.name == "q" and table.index.equals(index)
    table.to_csv(tmp_path / "t.csv", index=False)
    for data in (table, tmp_path / "t.csv"):
        found = ldp.Survey(data, {"q": mechanism}).reports("q")
        assert np.array_equal(found.y, reports.y)
        assert found.cohort is None or np.array_equal(found.cohort, reports.cohort)


def test_columns_of_reports_that_cannot_be_made():
    rng = np.random.default_rng(3)
    with pytest.raises(NotAvailable, match=r"1 respondents.*Questionnaire.privatize"):
        KRR.privatize(["nurse", None], rng, missing="count").to_series()
    with pytest.raises(InvalidArgument, match="must have 2 labels"):
        KRR.privatize(["nurse", "cook"], rng).to_series(index=[1, 2, 3])
    known = ldp.Reports([0, 1], KRR, name="job", ids=["p", "q"])
    assert known.to_series().to_dict() == {"p": "nurse", "q": "cook"}
    whole = pd.DataFrame({"job": ["nurse", "cook"]}).assign(job=KRR.privatize(["nurse"], rng))
    with pytest.raises(InvalidArgument, match=r"make a column of them by reports.to_series\(\)"):
        ldp.Survey(whole, {"job": KRR}).frequencies("job")
