"""Results as tidy tables, in notebooks and as models of other packages' tables."""

from __future__ import annotations

import warnings
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

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
def test_a_tidy_table_has_a_row_for_each_estimate(kind: str) -> None:
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


def test_the_pvalues_of_a_tidy_table_are_those_of_the_summary() -> None:
    for kind in ("frequency", "boundary", "candidates", "personalized"):
        results = RESULTS[kind]
        np.testing.assert_array_equal(results.to_frame()["p_value"], results.presence_pvalues())
    found = RESULTS["dictionary"]
    np.testing.assert_array_equal(found.to_frame()["p_value"], found.pvalues)


def test_variables_with_the_name_of_a_column_are_told_apart() -> None:
    pairs = ldp.JointCounts.from_table(
        [[30, 20], [10, 40]], (ldp.Warner(epsilon=1.0), ldp.Warner(epsilon=1.0))
    )
    frame = ldp.AssociationModel(pairs, names=("estimate", "job")).fit().to_frame()
    assert list(frame.columns) == ["estimate (variable)", "job", *COLUMNS]


def test_nothing_found_is_a_table_without_rows() -> None:
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=1.0)
    reports = survey.privatize(["abca"] * 20, np.random.default_rng(1))
    found = ldp.DictionaryModel(reports).fit()
    assert found.to_frame().shape == (0, 6) and found.glance().loc[0, "k"] == 0
    assert found.to_maketables().__maketables_coef_table__.empty


def test_what_was_not_computed_is_nan() -> None:
    results = ldp.FrequencyModel(KRR.counts([420, 330, 250])).fit(
        constraints=lambda p: [p[0] == 0.4]
    )
    frame = results.to_frame()
    assert frame["std_error"].isna().all() and frame["lower"].notna().all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_glance_is_one_row(kind: str) -> None:
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
def test_aic_and_bic_are_those_of_the_multinomial_of_the_reports(counts: list[int]) -> None:
    results = ldp.FrequencyModel(KRR.counts(counts)).fit()
    llf = multinomial(KRR.channel().matrix(), np.array(counts), results.params.to_numpy())
    assert results.df_model == 2 and results.df_resid == sum(counts) - 2
    assert results.aic == pytest.approx(4.0 - 2.0 * llf)
    assert results.bic == pytest.approx(2.0 * np.log(sum(counts)) - 2.0 * llf)


def test_what_maximises_no_likelihood_has_no_criterion() -> None:
    counts = KRR.counts([420, 330, 250])
    held = ldp.FrequencyModel(counts).fit(constraints=lambda p: [p[0] == 0.4])
    for results in (RESULTS["inversion"], RESULTS["lasso"], RESULTS["dictionary"], held):
        assert np.isnan(results.aic) and np.isnan(results.bic)
    stopped = replace(RESULTS["frequency"], fit=replace(RESULTS["frequency"].fit, converged=False))
    assert np.isnan(stopped.aic)


def test_what_varies_freely_is_counted() -> None:
    expected = {"frequency": 2, "inversion": 2, "candidates": 3, "lasso": 2, "association": 8}
    # intermediate frequencies of three categories and a tag; two by two answers of two waves
    expected |= {"personalized": 3, "dictionary": RESULTS["dictionary"].k, "change": 3}
    assert {kind: RESULTS[kind].df_model for kind in expected} == expected


@pytest.mark.parametrize("kind", KINDS)
def test_tvalues_are_those_of_the_unconstrained_estimate(kind: str) -> None:
    results = RESULTS[kind]
    se = results.linear.bse()
    known = se > 0.0
    t = results.tvalues.to_numpy()
    np.testing.assert_allclose(t[known] * se[known], results.linear.estimate[known])
    assert np.isnan(t[~known]).all()


# -- notebooks -------------------------------------------------------------------------------


class Text(HTMLParser):
    """The tags of a page, in order of appearance, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.open = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open += tag != "br"

    def handle_endtag(self, tag: str) -> None:
        self.open -= tag != "br"

    def handle_data(self, data: str) -> None:
        self.text += data


ALLOWED = {"table", "caption", "tbody", "tr", "th", "td", "br"}


@pytest.mark.parametrize("kind", KINDS)
def test_results_show_their_summary(kind: str) -> None:
    page = RESULTS[kind]._repr_html_()
    assert page == RESULTS[kind].summary().as_html()
    shown = Text(page)
    assert shown.tags <= ALLOWED and shown.open == 0


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
def test_objects_show_what_they_are(name: str) -> None:
    shown, words = shown_objects()[name]
    page = Text(shown._repr_html_())
    assert page.tags <= ALLOWED and page.open == 0
    for word in words:
        assert word in page.text, word


# -- maketables ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_results_follow_the_protocol_of_maketables(kind: str) -> None:
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


def test_cells_that_would_share_a_name_are_quoted() -> None:
    first, second = ldp.KRR(("a", "a:b"), 1.0), ldp.KRR(("b:c", "c"), 1.0)
    pairs = ldp.JointCounts.from_table([[30, 20], [10, 40]], (first, second))
    table = ldp.AssociationModel(pairs).fit().to_maketables().__maketables_coef_table__
    assert list(table.index) == ["'a':'b:c'", "'a':'c'", "'a:b':'b:c'", "'a:b':'c'"]


def test_labels_in_latex_are_escaped() -> None:
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


def test_maketables_sets_results_side_by_side() -> None:
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
