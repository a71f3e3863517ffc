"""Results as tidy tables, in notebooks and as models of other packages' tables."""

import html
import inspect
import pickle
import pydoc
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.arguments import display_width
from ldpstats.likelihood.covariance import Unexplained
from ldpstats.models.layout import SummaryTable, Table

JOBS = ("nurse", "teacher", "driver")
ODD = ("<b>a</b>", "50% & more", "$x$")
KRR = ldp.KRR(JOBS, epsilon=1.0)
COLUMNS = ["estimate", "std_error", "lower", "upper", "p_value"]


def results_of_all_kinds() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, epsilon=1.0), ("home",))
    strings = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=12.0)
    pairs = ldp.JointCounts.from_table([[300, 200, 100], [100, 200, 300], [200] * 3], (KRR, KRR))
    values = rng.choice(["no", "yes"], size=400)
    two, warner = np.append(values[:300], rng.permutation(values[300:])), ldp.Warner(epsilon=2.0)
    rappor = ldp.RAPPOR(16, 2, 8, f=0.0, p=0.25, q=0.75)
    hosts = rappor.privatize(rng.choice(["a", "b"], size=400), rng)
    return {
        "frequency": ldp.FrequencyModel(KRR.counts([420, 330, 250]), name="job").fit(),
        "boundary": ldp.FrequencyModel(KRR.counts([1140, 480, 380])).fit(),
        "inversion": ldp.FrequencyModel(KRR.counts([420, 330, 250])).fit("inversion"),
        "candidates": ldp.FrequencyModel(hosts, candidates=("a", "b", "c")).fit(),
        "lasso": ldp.FrequencyModel(hosts, candidates=("a", "b", "c", "d")).fit("lasso"),
        "association": ldp.AssociationModel(pairs, names=("job", "wish")).fit(),
        "personalized": ldp.PersonalizedModel(pum.common.counts([180, 60, 370, 390]), pum).fit(),
        "dictionary": ldp.DictionaryModel(strings.privatize(["abca", "cc"] * 600, rng)).fit(),
        "change": ldp.change(warner.privatize(values, rng), warner.privatize(two, rng)),
    }


with warnings.catch_warnings():
    warnings.simplefilter("ignore", ldp.LDPWarning)
    RESULTS = results_of_all_kinds()
KINDS = sorted(RESULTS)


# -- data frames -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_tidy_table_has_a_row_for_each_estimate(kind):
    results = RESULTS[kind]
    frame = results.to_frame(alpha=0.1)
    assert isinstance(frame.index, pd.RangeIndex) and list(frame.columns[-5:]) == COLUMNS
    np.testing.assert_array_equal(frame["estimate"], results.params)
    np.testing.assert_array_equal(frame[["lower", "upper"]], results.conf_int(0.1))
    labels = frame[frame.columns[:-5]]
    assert list(labels.itertuples(index=False, name=None)) == [
        label if isinstance(label, tuple) else (label,) for label in results.params.index
    ]
    assert frame["p_value"].between(0.0, 1.0).all()


def test_the_pvalues_of_a_tidy_table_are_those_of_the_summary():
    for kind in ("frequency", "boundary", "candidates", "personalized"):
        results = RESULTS[kind]
        np.testing.assert_array_equal(results.to_frame()["p_value"], results.presence_pvalues())
    found = RESULTS["dictionary"]
    np.testing.assert_array_equal(found.to_frame()["p_value"], found.pvalues)


def test_variables_with_the_name_of_a_column_are_told_apart():
    pairs = ldp.JointCounts.from_table(
        [[30, 20], [10, 40]], (ldp.Warner(epsilon=1.0), ldp.Warner(epsilon=1.0))
    )
    frame = ldp.AssociationModel(pairs, names=("estimate", "job")).fit().to_frame()
    assert list(frame.columns) == ["estimate (variable)", "job", *COLUMNS]


def test_nothing_found_is_a_table_without_rows():
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=1.0)
    reports = survey.privatize(["abca"] * 20, np.random.default_rng(1))
    found = ldp.DictionaryModel(reports).fit()
    assert found.to_frame().shape == (0, 6) and found.glance().loc[0, "k"] == 0
    assert found.to_maketables().__maketables_coef_table__.empty


def frames_of(results: Any) -> dict[str, pd.DataFrame]:
    """Every table that the results return without arguments, by the name that gives it."""
    found = {}
    for name in dir(type(results)):
        if name.startswith(("_", "plot", "to_m", "to_l", "from", "fit")):
            continue
        try:
            member = getattr(results, name)
            value = member() if callable(member) else member
        except (TypeError, ldp.errors.LDPError):
            continue
        tables = value.items() if isinstance(value, dict) else [("", value)]
        found |= {f"{name} {k}": v for k, v in tables if isinstance(v, pd.DataFrame)}
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::ldpstats.LDPWarning")
def test_no_table_leaves_out_a_column_on_a_page_of_80_columns(kind):
    frames = frames_of(RESULTS[kind])
    assert {"conf_int ", "glance ", "summary_frame ", "to_frame "} <= set(frames)
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        for name, frame in frames.items():
            text = repr(frame)
            lines = [line for line in text.splitlines() if not line.startswith("[")]
            assert max(map(len, lines)) <= 80 and "..." not in text, (name, text)


def test_a_table_is_a_frame_that_prints_as_summaries_do():
    table = RESULTS["association"].conditional()
    assert isinstance(table, pd.DataFrame) and type(table.to_frame()) is pd.DataFrame
    assert type(table.round(2)) is pd.DataFrame and type(pickle.loads(pickle.dumps(table)))
    pd.testing.assert_frame_equal(table, table.to_frame())
    first, heads, rule, row, *_ = str(table).splitlines()
    assert set(first) == {"="} and set(rule) == {"-"}
    assert heads.split()[:5] == ["job", ":", "wish", "estimate", "unconstrained"]
    value, se = table["estimate"].iloc[0], table["lower"].iloc[0]
    assert row.split()[3] == f"{value:.4f}" and row.split()[5] == f"{se:.4f}"
    page = table._repr_html_()
    assert page.startswith("<table") and "unconstrained" in page
    assert "| job : wish |" in table.summary().as_markdown()


def test_a_table_shows_the_columns_that_a_page_has_no_room_for_below():
    wide = Table({f"number {i}": [1.5, 2.25] for i in range(12)}, index=["first", "second"])
    text = str(wide)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("second") > 1 and all(f"number {i}" in text for i in range(12))
    long = Table({"value": np.arange(100.0)})
    assert "first 10 of 100 rows" in str(long) and len(str(long).splitlines()) == 16
    with pd.option_context("display.max_rows", 200):
        assert "Shown" not in str(long)
    assert "Empty" in str(Table()) and "Empty" in str(Table({"a": []}))


def test_numbers_of_a_table_have_the_digits_that_they_deserve():
    table = Table(
        {
            "estimate": [0.123456, -0.5],
            "std_error": [0.00123, np.nan],
            "p_value": [1e-9, 0.25],
            "nobs": pd.array([10, None], "Int64"),
            "size": [1234.0, 5.0],
            "deff": [1.2345, 12.5],
            "accepted": [True, False],
            "note": ["a\nb", None],
        },
        index=["a", "b"],
    )
    cells = table.summary().content.body
    assert cells[0] == ["0.12346", "0.00123", "<0.001", "10", "1234", "1.23", "True", "a b"]
    assert cells[1] == ["-0.50000", "-", "0.250", "-", "5", "12.50", "False", "-"]


@pytest.mark.parametrize("kind", KINDS)
def test_summaries_fit_a_page_of_80_columns(kind):
    for details in (False, True):
        text = RESULTS[kind].summary(details=details).as_text()
        assert max(map(len, text.splitlines())) <= 80, text


def test_a_summary_that_is_wider_goes_on_below():
    content = SummaryTable(
        "Title",
        [["Name:", "value", "", ""]],
        ["a rather long head", "[0.025", "0.975]", "another long head", "one more long head"],
        ["a label that takes a good part of a line"],
        [["1", "2", "3", "4", "5"]],
        [],
    )
    text = content.layout().as_text()
    assert max(map(len, text.splitlines())) <= 80 and text.count("a label that") == 2
    line = next(line for line in text.splitlines() if "[0.025" in line)
    assert "0.975]" in line  # both ends of an interval stay together
    assert content.layout().as_html().count("a label that") == 1


# -- files and markup ------------------------------------------------------------------------


def test_results_become_markdown_and_latex_with_escaped_names():
    odd = ldp.FrequencyModel(ldp.KRR(("a_1", "50% & more"), 1.0).counts([60, 40]), name="a|b").fit()
    markdown, latex = odd.to_markdown(), odd.to_latex(alpha=0.1)
    assert "| a\\_1 |" in markdown and markdown.startswith("**Frequencies of a\\|b**")
    assert r"50\% \& more" in latex and r"a\_1" in latex and "[0.05" in latex


def test_results_become_excel_files_whose_names_are_no_formulas(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    odd = ldp.FrequencyModel(ldp.KRR(("=1+1", "@b"), 1.0).counts([60, 40])).fit()
    odd.to_excel(tmp_path / "odd.xlsx", alpha=0.1)
    book = openpyxl.load_workbook(tmp_path / "odd.xlsx")
    cell = book["estimates"]["A2"]
    assert cell.value == "=1+1" and cell.data_type == "s"
    frame = pd.read_excel(tmp_path / "odd.xlsx", sheet_name="estimates")
    np.testing.assert_allclose(frame["lower"], odd.conf_int(0.1)["lower"], rtol=1e-12)
    facts = dict(book["fit"].iter_rows(min_row=2, values_only=True))
    assert facts["nobs"] == 100 and facts["epsilon"] == 1.0
    rng = np.random.default_rng(1)
    matrix = ldp.associations({name: KRR.privatize(list(JOBS) * 30, rng) for name in "ab"})
    matrix.to_excel(tmp_path / "matrix.xlsx")


def test_without_openpyxl_the_remedy_is_named(tmp_path, monkeypatch):
    def lacking(*_, **__):
        raise ImportError("Missing optional dependency 'openpyxl'")

    monkeypatch.setattr(pd, "ExcelWriter", lacking)
    with pytest.raises(ldp.errors.NotAvailable, match=r"pip install 'ldpstats\[tables\]'"):
        RESULTS["frequency"].to_excel(tmp_path / "a.xlsx")


def test_what_was_not_computed_is_nan():
    results = ldp.FrequencyModel(KRR.counts([420, 330, 250])).fit(
        constraints=lambda p: [p[0] == 0.4]
    )
    frame = results.to_frame()
    assert frame["std_error"].isna().all() and frame["lower"].notna().all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_glance_is_one_row(kind):
    results = RESULTS[kind]
    glance = results.glance()
    assert glance.shape[0] == 1
    row = glance.iloc[0]
    assert (row["nobs"], row["n_missing"], row["k"]) == (results.nobs, 0, len(results.params))
    assert row["epsilon"] == results.epsilon and row["method"] == results.method
    again = type(results).from_json(results.to_json())
    pd.testing.assert_frame_equal(again.glance(), glance)


# -- criteria --------------------------------------------------------------------------------


def multinomial(Q: np.ndarray, counts: np.ndarray, p: np.ndarray) -> float:
    return float(counts @ np.log(p @ Q))


@pytest.mark.parametrize("counts", [[420, 330, 250], [1140, 480, 380]])
def test_aic_and_bic_are_those_of_the_multinomial_of_the_reports(counts):
    results = ldp.FrequencyModel(KRR.counts(counts)).fit()
    llf = multinomial(KRR.channel().matrix(), np.array(counts), results.params.to_numpy())
    assert results.df_model == 2 and results.df_resid == sum(counts) - 2
    assert results.aic == pytest.approx(4.0 - 2.0 * llf)
    assert results.bic == pytest.approx(2.0 * np.log(sum(counts)) - 2.0 * llf)


def test_what_maximises_no_likelihood_has_no_criterion():
    counts = KRR.counts([420, 330, 250])
    held = ldp.FrequencyModel(counts).fit(constraints=lambda p: [p[0] == 0.4])
    for results in (RESULTS["inversion"], RESULTS["lasso"], RESULTS["dictionary"], held):
        assert np.isnan(results.aic) and np.isnan(results.bic)
    stopped = replace(RESULTS["frequency"], converged=False)
    assert np.isnan(stopped.aic)


def test_what_varies_freely_is_counted():
    expected = {"frequency": 2, "inversion": 2, "candidates": 3, "lasso": 2, "association": 8}
    # intermediate frequencies of three categories and a tag; two by two answers of two waves
    expected |= {"personalized": 3, "dictionary": RESULTS["dictionary"].k, "change": 3}
    assert {kind: RESULTS[kind].df_model for kind in expected} == expected


@pytest.mark.parametrize("kind", KINDS)
def test_tvalues_are_those_of_the_unconstrained_estimate(kind):
    results = RESULTS[kind]
    se = results.linear.bse()
    known = se > 0.0
    t = results.tvalues.to_numpy()
    np.testing.assert_allclose(t[known] * se[known], results.linear.estimate[known])
    assert np.isnan(t[~known]).all()


# -- notebooks -------------------------------------------------------------------------------


def tags_and_text(page: str) -> tuple[set[str], str]:
    """The tags of a page, all closed, and its text."""
    opened, closed = re.findall(r"<(\w+)", page), re.findall(r"</(\w+)", page)
    assert sorted(tag for tag in opened if tag != "br") == sorted(closed)
    return set(opened), html.unescape(re.sub(r"<[^>]*>", "", page))


ALLOWED = {"table", "caption", "tbody", "tr", "th", "td", "br"}


@pytest.mark.parametrize("kind", KINDS)
def test_results_show_their_summary(kind):
    page = RESULTS[kind]._repr_html_()
    assert page == RESULTS[kind].summary().as_html()
    assert tags_and_text(page)[0] <= ALLOWED


def shown_objects() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Objects whose labels and names are markup, and what must be seen of each."""
    rng, odd = np.random.default_rng(1), ldp.URR(ODD, {ODD[0]}, epsilon=1.0)
    reports = ldp.Reports([0, 1, 2, 0], odd, n_missing=7, name="<i>job</i>")
    plain = KRR.privatize(["nurse"] * 9, rng)
    strings = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=12.0)
    results = RESULTS["association"]
    return {
        "mechanism": (odd, ("URR", "k", "3", "sensitive", "{'<b>a</b>'}", "epsilon", "1")),
        "custom": (ldp.CustomMechanism(np.eye(2), ODD[:2]), ("epsilon", "inf")),
        "pum": (ldp.PUM(odd, ("<u>",)), ("PUM", "<u>")),
        "survey": (strings, ("DictionarySurvey", "KRR(k=13, epsilon=4)")),
        "reports": (reports, ("Reports of <i>job</i>", "{'<b>a</b>'}", "4", "missing", "7")),
        "counts": (reports.tally(), ("Counts", "n", "4", "7")),
        "bits": (ldp.KRAPPOR(3, 1.0).counts([3, 2, 1], 5), ("Sums of bits", "n", "5")),
        "joint": (
            ldp.JointCounts((replace(plain, name="<x>"), replace(plain, name="y"))),
            ("Joint counts of <x> and y", "KRR(k=3, epsilon=1)", "9"),
        ),
        "strings": (strings.privatize(["abca"] * 5, rng), ("Dictionary reports", "5")),
        "test": (
            ldp.TestResult("<p> is zero", 3.2, (1, 2), 0.02, "a <test>", "a & note"),
            ("a <test>", "<p> is zero", "1, 2", "0.02", "a & note"),
        ),
        "effect": (
            results.odds_ratio(("nurse", "driver"), ("nurse", "driver")),
            ("odds ratio", "estimate", "95% "),
        ),
        "no effect": (
            ldp.Effect("a <ratio>", np.nan, 0.0, 1.0, kind="not given", message="too <weak>"),
            ("a <ratio>", "too <weak>"),
        ),
    }


@pytest.mark.parametrize("name", list(shown_objects()))
def test_objects_show_what_they_are(name):
    shown, words = shown_objects()[name]
    tags, text = tags_and_text(shown._repr_html_())
    assert tags <= ALLOWED
    for word in words:
        assert word in text, word


# -- maketables ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_results_follow_the_protocol_of_maketables(kind):
    results = RESULTS[kind]
    for model in (results, results.to_maketables()):
        table = model.__maketables_coef_table__
        assert list(table.columns) == ["b", "se", "t", "ci95l", "ci95u", "p"]
        assert table.index.name == "Coefficient" and table.index.is_unique
        assert all(isinstance(label, str) for label in table.index)
        np.testing.assert_array_equal(table["b"], results.params)
        assert model.__maketables_stat__("N") == results.nobs
        assert model.__maketables_stat__("epsilon") == results.epsilon
        assert model.__maketables_stat__("converged") == "yes"
        assert model.__maketables_stat__("no such thing") is None
        assert isinstance(model.__maketables_depvar__, str)
        assert model.__maketables_vcov_info__["vcov_type"] == results.cov_type
        keys = model.__maketables_default_stat_keys__
        assert set(keys) <= set(model.__maketables_stat_labels__)
        assert all(model.__maketables_stat__(key) is not None for key in keys)
    for name in ("params", "bse", "pvalues"):  # by which results of statsmodels are recognised
        with pytest.raises(AttributeError):
            getattr(results.to_maketables(), name)


def test_labels_in_latex_are_escaped():
    counts = ldp.KRR(("50% & more", "a_b", "$10 to $20"), 1.0).counts([420, 330, 250])
    results = ldp.FrequencyModel(counts, name="x#1").fit()
    plain, latex = results.to_maketables(), results.to_maketables(latex=True)
    assert list(plain.table.index) == ["50% & more", "a_b", "$10 to $20"]
    assert list(latex.table.index) == [r"50\% \& more", r"a\_b", r"\$10 to \$20"]
    assert latex.__maketables_depvar__ == r"x\#1"
    assert latex.__maketables_stat__("N") == plain.__maketables_stat__("N")
    assert "_" not in latex.__maketables_stat__("method").replace(r"\_", "")
    with pytest.raises(ldp.InvalidArgument, match="latex"):
        results.to_maketables(latex="yes")


def test_tables_say_designs_and_take_no_label_for_an_interaction():
    """A colon is one, between names of covariates; weights and clusters have a row."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"age": rng.normal(size=900), "city": rng.choice(list("abc"), 900)})
    sheet = ldp.Questionnaire({"late": ldp.Warner(epsilon=3.0)})
    sent = sheet.privatize(table.assign(late=rng.choice(["no", "yes"], 900)), rng)
    sent = sent.assign(town=np.arange(900) % 30, w=1.0)
    one = ldp.Survey(sent, sheet).regression("late ~ age * city").fit()
    other = ldp.Survey(sent, sheet, weights="w", clusters="town")
    other = other.regression("late ~ age").fit()
    assert "age:city[T.b]" in one.to_maketables().table.index
    for found in (one.comparisons(["city", "age"]), one.predictions(by="city", at={"age": [0, 1]})):
        assert not any(":" in label for label in found.to_maketables().table.index)
    plain, design = one.to_maketables(), other.to_maketables()
    assert plain.__maketables_stat__("design") is None
    assert design.__maketables_stat__("design") == "weights; clusters town"
    assert design.__maketables_stat__("se_type") == "sandwich, by the design"
    assert {"design", "se_type"} <= set(design.__maketables_default_stat_keys__)
    assert not {"design", "se_type"} & set(plain.__maketables_default_stat_keys__)


def test_maketables_sets_results_side_by_side():
    maketables = pytest.importorskip("maketables", reason="maketables is not installed")
    chosen = [RESULTS[kind] for kind in ("frequency", "inversion", "association")]
    table = maketables.ETable([results.to_maketables() for results in chosen])
    page = table.make(type="gt").as_raw_html()
    latex = table.make(type="tex")
    for text in (page, latex):
        for word in (
            "teacher",
            "0.324",
            "(0.041)",
            "Epsilon (nats)",
            "inversion",
            "Log-likelihood",
        ):
            assert word in text, word
    assert "job x wish" in latex


# -- summaries: one layout, two words at the beginning of a note ---------------------------------

FOUR = ("association", "dictionary", "frequency", "personalized")


@pytest.mark.parametrize("kind", FOUR)
def test_a_note_in_capitals_begins_with_warning_or_note(kind):
    notes = RESULTS[kind].summary().extra_txt.split("\n")
    assert notes and all(
        re.match("(WARNING|NOTE): ", note) for note in notes if re.match("[A-Z]{2}", note)
    )


@pytest.mark.parametrize("kind", FOUR)
@pytest.mark.parametrize(
    ("method", "name"),
    [("conf_int", "level"), ("summary", "conf_level"), ("plot", "confidence_level")],
)
def test_a_level_is_told_that_it_is_alpha(kind, method, name):
    with pytest.raises(ldp.InvalidArgument, match=rf"^{name}=0\.9: is .*: pass alpha=0\.1$"):
        getattr(RESULTS[kind], method)(**{name: 0.9})


@pytest.mark.parametrize("kind", ["frequency", "personalized", "dictionary"])
def test_a_plot_by_name_is_told_that_it_needs_axes(kind):
    with pytest.raises(
        ldp.InvalidArgument, match=r"^ax='bar': must be matplotlib Axes, .*no name$"
    ):
        RESULTS[kind].plot("bar")
    with pytest.raises(ldp.InvalidArgument, match=r"^ax=3: must be .*, for example .*$"):
        RESULTS[kind].plot(3)


def test_a_plot_of_a_table_names_its_kinds():
    with pytest.raises(ldp.InvalidArgument, match=r"^kind='bar': must be one of 'heatmap'"):
        RESULTS["association"].plot("bar")


@pytest.mark.parametrize("kind", FOUR)
def test_help_shows_what_may_be_asked(kind):
    results = RESULTS[kind]
    page = pydoc.plain(pydoc.render_doc(type(results)))
    for name in ("params", "bse", "conf_int", "cov_params", "t_test", "summary", "plot", "nobs"):
        assert re.search(rf"^ \|  {name}\b", page, flags=re.M), name
    assert " |  _" not in re.sub(r" \|  __\w+__", "", page)  # nothing private
    own = inspect.signature(type(results).conf_int).parameters
    assert list(own)[:2] == ["self", "alpha"]  # as it was written


@pytest.mark.parametrize("kind", FOUR)
def test_results_cannot_be_changed(kind):
    for name in ("nobs", "fit", "params", "llf"):
        with pytest.raises(AttributeError):
            setattr(RESULTS[kind], name, 1)


def test_a_long_mechanism_does_not_widen_a_summary():
    rng, n = np.random.default_rng(3), 600
    device = ldp.devices.roll(6).when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
    forced = device.mechanism(("no", "yes"))
    frame = pd.DataFrame({name: rng.choice(["no", "yes"], n) for name in ("late", "ill")})
    sheet = ldp.Questionnaire({"late": forced, "ill": forced})
    survey = ldp.Survey(sheet.privatize(frame.assign(age=rng.normal(size=n)), rng), sheet)
    for results in (
        survey.frequencies("late"),
        survey.association("late", "ill"),
        survey.regression("late ~ age").fit(),
    ):
        summary = results.summary()
        table = summary.as_text().split("\n\n")[0].split("\n")
        assert max(map(len, table)) <= 80
        cells = "".join(row[1].data.replace(" ", "") for row in summary.tables[0])
        assert repr(forced.device).replace(" ", "") in cells  # the whole device is there


def test_both_sides_of_a_header_are_broken_into_lines():
    words = "日本 " * 30
    header = [["A:", words, "B:", "one two " * 9], ["C:", "c", "", ""], ["", "", "D:", "d"]]
    table = SummaryTable("Title", header, ["a"], ["row"], [["1"]], [])
    lines = table.layout().as_text().split("\n\n")[0].split("\n")[1:]
    assert max(map(display_width, lines)) == min(map(display_width, lines)) <= 80
    joined = " ".join(" ".join(lines).split())
    assert joined.count("日本") == 30 and joined.count("one") == 9
    names = [line.split()[0] for line in lines if line[:2] in ("A:", "C:")]
    assert names == ["A:", "C:"] and sum("D:" in line for line in lines) == 1


@pytest.mark.parametrize(("sensitive", "told"), [({"nurse"}, True), (set(JOBS), False)])
def test_what_epsilon_protects_is_a_field(sensitive, told):
    """A label that looks like a mechanism's text decides nothing."""
    labels = (*JOBS, "k=3, sensitive=1")
    urr = ldp.URR(labels, sensitive if told else set(labels), epsilon=1.0)
    counts = urr.draw(np.full(4, 0.25), 4000, np.random.default_rng(2))
    results = ldp.FrequencyModel(counts).fit()
    again = type(results).from_json(results.to_json())
    for found in (results, again):
        assert found.is_partial == told
        assert ("epsilon protects the sensitive" in str(found.summary())) == told


# -- long labels -------------------------------------------------------------------------------


def test_labels_that_differ_in_the_middle_are_told_apart():
    labels = ["x" * 50 + letter + "y" * 50 for letter in "AB"] + ["short"]
    counts = ldp.KRR(labels, 1.0).counts([420, 330, 250])
    results = ldp.FrequencyModel(counts).fit()
    summary = results.summary()
    stubs = [row[0].data.strip() for row in summary.tables[1][1:]]
    assert len(set(stubs)) == 3 and "short" in stubs
    grouped = ldp.GroupedModel({"n": counts, "s": counts}).fit().summary()
    assert len({row[0].data.strip() for row in grouped.tables[1][2:5]}) == 3
    ticks = [label.get_text() for label in results.plot().get_yticklabels()]
    assert len(set(ticks)) == 3


def test_lines_of_distinct_labels_are_distinct():
    hard = ["x" * 400 + letter + "y" * 400 for letter in "ABC"] + ["a\tb", "a b", "a b (5)"]
    results = ldp.FrequencyModel(ldp.KRR(hard, 1.0).counts([100] * 6)).fit()
    shown = results.summary().as_frame().index
    assert shown.is_unique and max(map(len, shown)) < 200


def test_contrasts_say_what_z_is():
    results = RESULTS["frequency"]
    text = str(results.t_test("nurse, nurse = driver"))
    assert "score z" in text and "<0.001" in text and "0.000" not in text
    weak = str(results.t_test("nurse = 0.5").summary(alpha=0.1))
    assert "[0.05" in weak and "<0.001" not in weak


def test_the_unexplained_share_is_rounded_and_formatted_as_a_number():
    share = Unexplained(0.07328844, 0.04914654)
    words = "share not among the candidates: 0.07329"
    assert str(share) == f"{words} (std err 0.04915), 95% interval [0, 0.1696]"
    assert str(Unexplained(0.07328844, np.nan)) == words
    assert f"{share:.3f}" == "0.073" and f"{share:8.1%}" == "    7.3%"
    assert f"{share}" == str(share)
    assert round(share, 3) == 0.073 and round(share) == 0
    with pytest.raises(ValueError, match="format"):
        f"{share:x}"


def test_wide_and_combining_characters_are_aligned():
    labels = ("日本語のラベル", "e\u0301te\u0301", "plain")
    counts = ldp.KRR(labels, 1.0).counts([420, 330, 250])
    text = ldp.FrequencyModel(counts, name="質問").fit().summary().as_text()
    table = text.split("\n\n")[0].split("\n")[1:]
    assert len({display_width(line) for line in table}) == 1
    assert all(label in text for label in labels) and "質問" in text
    assert not any(0xE000 <= ord(c) <= 0xF8FF or ord(c) >= 0xF0000 for c in text)


def test_a_notebook_sets_no_mathematics_between_dollars():
    counts = ldp.KRR(("$10 to $20", "more"), 1.0).counts([420, 330])
    page = ldp.FrequencyModel(counts).fit()._repr_html_()
    assert "<span>$</span>10 to <span>$</span>20" in page
    assert page.replace("<span>$</span>", "").count("$") == 0


def test_a_plot_of_three_variables_names_the_remedy():
    krr, rng = ldp.KRR(("a", "b"), 2.0), np.random.default_rng(1)
    counts = [krr.privatize(rng.choice(["a", "b"], 500), rng) for _ in range(3)]
    results = ldp.AssociationModel(*counts, names=("u", "v", "w")).fit()
    with pytest.raises(ldp.NotAvailable, match=r"collapse\(\['u', 'v'\]\)"):
        results.plot("mosaic")
    results.collapse(["u", "v"]).plot()


def test_a_dash_for_a_standard_error_is_explained():
    krr, rng = ldp.KRR(50, epsilon=5.0), np.random.default_rng(1)
    before = rng.integers(0, 50, 2000)
    after = np.where(rng.random(2000) < 0.8, before, rng.integers(0, 50, 2000))
    text = str(ldp.change(krr.privatize(before, rng), krr.privatize(after, rng)).summary())
    words = "not computed; those shown belong to the unconstrained estimate"
    assert ("  -  " in text) == (words in " ".join(text.split()))
    assert words in " ".join(text.split())
