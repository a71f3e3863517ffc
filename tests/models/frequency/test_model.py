"""FrequencyModel and FrequencyResults: what a statistician does with a fit."""

import re
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.stats.proportion import proportion_confint

import ldpstats as ldp
from ldpstats.estimators import ESTIMATORS
from ldpstats.models.plots import draw_estimates, percent_text

JOBS = ("nurse", "teacher", "driver", "cook")

KRR = ldp.KRR(JOBS, epsilon=1.0)

COUNTS = KRR.counts([600, 500, 480, 420])

MODEL = ldp.FrequencyModel(COUNTS)


def test_interior_mle_is_the_inversion_with_the_multinomial_covariance():
    results = MODEL.fit()
    Q = KRR.channel().matrix()
    m = COUNTS.vector() / COUNTS.nobs
    np.testing.assert_allclose(results.params, np.linalg.solve(Q.T, m), atol=1e-12)
    V = (np.diag(m) - np.outer(m, m)) / COUNTS.nobs
    inverse = np.linalg.inv(Q)
    np.testing.assert_allclose(results.cov_params(), inverse.T @ V @ inverse, atol=1e-12)
    np.testing.assert_allclose(results.bse**2, np.diag(results.cov_params()), atol=1e-15)
    assert results.llf == pytest.approx(float(COUNTS.vector() @ np.log(m)))


def test_covariance_of_fpe16_overstates_by_the_outer_product():
    results = MODEL.fit()
    extra = np.outer(results.params, results.params) / results.nobs
    np.testing.assert_allclose(
        results.cov_params("fpe16") - results.cov_params(), extra, atol=1e-15
    )
    refitted = MODEL.fit(cov_type="fpe16")
    np.testing.assert_allclose(refitted.cov_params(), results.cov_params("fpe16"), atol=1e-12)


def test_exact_intervals_are_clopper_pearson_mapped():
    results = MODEL.fit()
    Q = KRR.channel()
    low, high = proportion_confint(COUNTS.vector(), COUNTS.nobs, method="beta")
    expected = (np.column_stack([low, high]) - Q.b) / Q.a
    np.testing.assert_allclose(results.conf_int(clip=False), expected, atol=1e-9)
    np.testing.assert_allclose(results.conf_int(), np.clip(expected, 0.0, 1.0), atol=1e-9)


def test_simultaneous_intervals_are_wider_in_the_stated_way():
    results = MODEL.fit()
    bonferroni = results.conf_int(0.05, simultaneous="bonferroni")
    pd.testing.assert_frame_equal(bonferroni, results.conf_int(0.05 / 4))
    scheffe = results.conf_int(0.05, simultaneous="scheffe", clip=False)
    half = np.sqrt(stats.chi2.isf(0.05, 3)) * results.linear_bse
    np.testing.assert_allclose(scheffe["upper"] - results.linear_params, half, rtol=1e-12)


def test_warner_matches_the_textbook():
    # Warner (1965): pi = (lambda - (1 - P)) / (2 P - 1), Var = lambda (1 - lambda)/(n (2P - 1)^2)
    P, n, yes = 0.75, 400, 180
    design = ldp.Warner(epsilon=np.log(P / (1 - P)))
    results = ldp.FrequencyModel(design.counts([n - yes, yes])).fit("inversion")
    share = yes / n
    assert results.params["yes"] == pytest.approx((share - (1 - P)) / (2 * P - 1))
    assert results.bse["yes"] == pytest.approx(np.sqrt(share * (1 - share) / n) / (2 * P - 1))


@pytest.mark.parametrize(
    ("design", "estimate"),
    [
        (ldp.ForcedResponse(p_truth=4 / 6, p_yes=1 / 6), (0.4 - 1 / 6) / (4 / 6)),
        (ldp.UnrelatedQuestion(p=0.7, prevalence=0.25), (0.4 - 0.3 * 0.25) / 0.7),
        (ldp.Mangat(p=0.7), (0.4 - 0.3) / 0.7),
    ],
)
def test_designs_match_their_textbook_estimators(design, estimate):
    results = ldp.FrequencyModel(design.counts([600, 400])).fit()
    assert results.params["yes"] == pytest.approx(estimate, abs=1e-10)
    slope = design.channel().matrix()[1, 1] - design.channel().matrix()[0, 1]
    assert results.bse["yes"] == pytest.approx(np.sqrt(0.4 * 0.6 / 1000) / slope, rel=1e-9)


def test_binary_designs_have_exact_intervals_for_both_answers():
    results = ldp.FrequencyModel(
        ldp.ForcedResponse(p_truth=4 / 6, p_yes=1 / 6).counts([600, 400])
    ).fit()
    ci = results.conf_int(clip=False)
    np.testing.assert_allclose(ci.loc["no"], 1 - ci.loc["yes", ["upper", "lower"]], atol=1e-9)


def test_string_hypotheses_equal_matrices():
    results = MODEL.fit()
    text = results.t_test("nurse = cook, teacher - driver = 0.1")
    matrix = results.t_test((np.array([[1, 0, 0, -1], [0, 1, -1, 0]]), [0.0, 0.1]))
    np.testing.assert_allclose(text.pvalue, matrix.pvalue)
    V = results.linear_cov.to_numpy()
    R = np.array([1.0, 0, 0, -1])
    assert text.effect[0] == pytest.approx(R @ results.linear_params)
    assert text.sd.ravel()[0] == pytest.approx(np.sqrt(R @ V @ R))
    numbers = ldp.FrequencyModel(ldp.KRR(3, 1.0).counts([50, 30, 20])).fit()
    assert numbers.t_test("p[0] = p[2]").effect[0] == pytest.approx(
        numbers.linear_params[0] - numbers.linear_params[2]
    )


def test_given_distribution_is_pearson_on_the_reports():
    p0 = np.array([0.4, 0.3, 0.2, 0.1])
    test = MODEL.test_distribution(p0)
    reference = stats.chisquare(COUNTS.vector(), COUNTS.nobs * (p0 @ KRR.channel().matrix()))
    assert test.statistic == pytest.approx(reference.statistic, rel=1e-10)
    assert test.pvalue == pytest.approx(reference.pvalue, rel=1e-9)
    shuffled = pd.Series(p0, index=JOBS).sample(frac=1, random_state=1)
    assert MODEL.test_distribution(shuffled).pvalue == pytest.approx(test.pvalue)


def test_sources_of_different_epsilon_share_one_likelihood():
    rng = np.random.default_rng(7)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    mechanisms = [ldp.KRR(JOBS, 1.0), ldp.KRR(JOBS, 3.0), ldp.KRAPPOR(JOBS, 2.0)]
    codes = [rng.choice(JOBS, p=p, size=n) for n in (3_000, 1_000, 2_000)]
    reports = [m.privatize(v, rng) for m, v in zip(mechanisms, codes, strict=True)]
    together = ldp.FrequencyModel(reports).fit()
    assert together.nobs == 6_000 and together.converged and together.gap < 1e-9
    # the joint score is the sum of the parts' and vanishes on the tangent space
    likelihood = ldp.FrequencyModel(reports).likelihood()
    np.testing.assert_allclose(likelihood.score(together.params.to_numpy()) / 6_000, 1.0, atol=1e-6)
    alone = [ldp.FrequencyModel(r).fit() for r in reports]
    assert np.all(together.bse < np.min([a.bse for a in alone], axis=0))
    # information adds up: precision of the first category within 20 % of the sum of the parts'
    precision = sum(1 / a.bse["nurse"] ** 2 for a in alone)
    assert 1 / together.bse["nurse"] ** 2 == pytest.approx(precision, rel=0.2)
    assert np.all(np.abs(together.linear_params - p) < 5 * together.linear_bse)
    assert together.goodness_of_fit is not None and together.goodness_of_fit.pvalue > 1e-4


def test_reports_of_another_channel_are_noticed():
    # negative control of the goodness-of-fit line: epsilon 1 analysed as epsilon 2
    rng = np.random.default_rng(8)
    made = ldp.KRAPPOR(6, epsilon=1.0).privatize(np.zeros(4_000, int), rng)
    wrong = ldp.Reports(made.y, ldp.KRAPPOR(6, epsilon=2.0))
    for counts in (wrong.tally(), wrong.tally(bits=True)):
        with pytest.warns(ldp.MisfitWarning, match="the reports were made by this mechanism"):
            fit = ldp.FrequencyModel(counts).fit().goodness_of_fit
        assert fit is not None and fit.pvalue < 1e-6
    right = ldp.FrequencyModel(made).fit().goodness_of_fit
    assert right is not None and right.pvalue > 1e-3


def test_bit_sums_default_to_inversion_and_refuse_likelihoods():
    counts = ldp.KRAPPOR(JOBS, 1.0).counts([360, 310, 270, 290], nobs=700)
    results = ldp.FrequencyModel(counts).fit()
    assert results.method == "inversion" and np.isnan(results.llf)
    with pytest.raises(ldp.NotAvailable, match="patterns"):
        ldp.FrequencyModel(counts).fit("em")


def test_detected_controls_over_all_categories():
    krr = ldp.KRR(50, epsilon=2.0)
    rng = np.random.default_rng(9)
    p = np.zeros(50)
    p[:5] = 0.2
    results = ldp.FrequencyModel(krr.draw(p, 20_000, rng)).fit()
    for method in ("bonferroni", "holm", "bh"):
        # at this level a false detection among the 45 absent has probability below .002
        assert list(results.detected(0.001, method)) == [0, 1, 2, 3, 4]
    tally = results.exact.tally
    reference = stats.binom.sf(tally - 1, 20_000, krr.channel().b)
    np.testing.assert_allclose(results.presence_pvalues(), reference, rtol=1e-9, atol=1e-300)


def test_boundary_methods_warn_and_defaults_do_not():
    counts = KRR.counts([900, 500, 480, 330])
    results = ldp.FrequencyModel(counts).fit()
    assert results.on_boundary
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.conf_int()
    with pytest.warns(ldp.BoundaryWarning):
        results.conf_int(method="wald-mle")
    with pytest.warns(ldp.BoundaryWarning):
        profile = results.conf_int(method="profile", model=ldp.FrequencyModel(counts))
    assert profile.loc["cook", "lower"] == 0.0 and 0.0 < profile.loc["cook", "upper"] < 0.1


def test_profile_interval_solves_its_equation():
    # independent check: maximise over the other categories by scipy at the reported ends
    from scipy.optimize import minimize

    results = MODEL.fit()
    ci = results.conf_int(method="profile", model=MODEL)
    Q, n = KRR.channel().matrix(), COUNTS.vector()

    def loglike_at(v: float) -> float:
        def loss(z: np.ndarray) -> float:
            others = np.exp(z - z.max())
            p = np.insert((1 - v) * others / others.sum(), 0, v)
            return -float(n @ np.log(p @ Q))

        return -minimize(loss, np.zeros(3), method="BFGS").fun

    for end in ci.loc["nurse"]:
        assert 2 * (results.llf - loglike_at(end)) == pytest.approx(
            stats.chi2.isf(0.05, 1), abs=1e-3
        )


def test_bootstrap_interval_is_close_to_wald_in_the_interior():
    results = MODEL.fit()
    boot = results.conf_int(
        method="bootstrap", model=MODEL, rng=np.random.default_rng(1), n_boot=400
    )
    wald = results.conf_int(method="wald")
    # standard error of a 2.5 % quantile of 400 draws: about .13 standard deviations
    assert np.all(np.abs(boot - wald).max(axis=1) < 0.5 * results.bse)


def test_constraints_enter_the_likelihood():
    results = MODEL.fit(constraints=lambda p: [p[0] == 0.5])
    assert results.params["nurse"] == pytest.approx(0.5, abs=1e-7)
    assert results.params.sum() == pytest.approx(1.0)
    assert results.llf < MODEL.fit().llf
    with pytest.warns(ldp.LDPWarning, match="a constrained estimate has no standard errors"):
        assert results.bse.isna().all()
    with pytest.raises(ldp.NotAvailable, match="a constrained estimate has no standard errors"):
        results.cov_params()
    assert "NOTE: a constrained estimate has no standard errors" in results.summary().as_text()
    assert results.summary_frame()["bse"].isna().all()  # in a table, without a warning
    with pytest.raises(ldp.InvalidArgument, match="constraints"):
        MODEL.fit(constraints=lambda p: [p[0] == 0.5, p[0] == 0.6])


def test_missing_answers_are_reported():
    reports = KRR.privatize(
        ["nurse", None, "cook"] * 100, np.random.default_rng(1), missing="count"
    )
    results = ldp.FrequencyModel(reports).fit()
    assert (results.nobs, results.n_missing) == (200, 100)
    assert "Missing:" in results.summary().as_text()


def test_many_categories():
    krr = ldp.KRR(300_000, epsilon=4.0)
    p = np.zeros(300_000)
    p[:100] = 0.01
    results = ldp.FrequencyModel(krr.draw(p, 10_000_000, np.random.default_rng(1))).fit()
    assert results.gap < 1e-12 and results.converged
    assert np.all(np.abs(results.linear_params[:100] - 0.01) < 5 * results.linear_bse[:100])
    assert results.bse.shape == (300_000,)
    with pytest.raises(ldp.NotAvailable, match="GB"):
        results.cov_params()


def test_categories_with_a_count_of_their_own_get_exact_inference():
    # only "c" can cause the third report: never seen, it is no certain zero
    Q = [[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.1, 0.1, 0.8]]
    mechanism = ldp.CustomMechanism(Q, ("a", "b", "c"))
    results = ldp.FrequencyModel(mechanism.counts([500, 300, 0])).fit()
    ci = results.conf_int()
    upper = proportion_confint(0, 800, method="beta")[1] / 0.8
    assert ci.loc["c", "lower"] == 0.0
    assert ci.loc["c", "upper"] == pytest.approx(upper, rel=1e-9)
    assert results.presence_pvalues()["c"] == 1.0
    with pytest.raises(ldp.NotAvailable, match="count of their own"):
        results.conf_int(method="exact")
    # k-RR written as a matrix is recognised as what it is
    dense = ldp.CustomMechanism(KRR.channel().matrix(), JOBS).counts(COUNTS.vector())
    pd.testing.assert_frame_equal(
        ldp.FrequencyModel(dense).fit().conf_int(), MODEL.fit().conf_int(), rtol=1e-9
    )


def test_lists_of_sources_enter_two_sample_tests_whole():
    a, b, c = (KRR.counts(n) for n in ([60, 50, 48, 42], [50, 50, 50, 50], [40, 30, 60, 70]))
    together = ldp.two_sample_test([a, b], c)
    merged = ldp.two_sample_test(a + b, c, method="wald")
    assert together.statistic == pytest.approx(merged.statistic, rel=1e-9)


def test_few_wide_reports_give_estimates_without_a_covariance():
    reports = ldp.KRAPPOR(50, 1.0).privatize(np.arange(45), np.random.default_rng(1))
    results = ldp.FrequencyModel(reports).fit()
    assert results.converged and results.cov_type == "none (singular information)"
    with pytest.warns(ldp.LDPWarning, match="without standard errors"):
        assert results.bse.isna().all()
    assert np.isfinite(results.conf_int()).all(axis=None)


def test_intervals_refuse_the_model_of_other_data():
    other = ldp.FrequencyModel(KRR.counts([500, 500, 480, 520]))
    for options in (
        {"method": "profile"},
        {"method": "bootstrap", "rng": np.random.default_rng(1)},
    ):
        with pytest.raises(ldp.InvalidArgument, match="other data"):
            MODEL.fit().conf_int(model=other, **options)


@pytest.mark.parametrize("method", ["inversion", "projected", "normalized", "composite"])
def test_standard_errors_describe_the_estimator(method):
    # unary reports do not sum to one, so each way of mending that has its own variance; 500
    # surveys give a standard deviation to 3.2 %, checked at 4 standard errors
    unary = ldp.KRAPPOR(4, epsilon=2.0)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    rng = np.random.default_rng(5)
    surveys = [unary.draw(p, 20_000, rng) for _ in range(500)]
    solve = ESTIMATORS[method]().solve
    found = [solve(unary.moments(counts)).p for counts in surveys]
    fit = ldp.FrequencyModel(surveys[0]).fit(method)
    np.testing.assert_array_equal(fit.params, found[0])
    np.testing.assert_allclose(fit.bse / np.std(found, axis=0), 1.0, atol=0.13)
    if method != "inversion":  # negative control: the linear estimate varies more
        assert np.all(fit.linear_bse > 1.05 * fit.bse)


# Summaries show every label and every estimate, whatever they are.

SPECIAL = ("x^2", "50% & more", "a_b#{c}", r"\input{x}~", "<script>alert(1)</script>", "$x$|y")

LONG = ("wrapped\nand\ttabbed", "word " * 40, "x" * 200, "short")


def fitted(labels: Any, counts: list[int], method: str | None = None) -> ldp.FrequencyResults:
    return ldp.FrequencyModel(ldp.KRR(labels, epsilon=1.0).counts(counts)).fit(method)


def unescaped(latex: str) -> set[str]:
    """Special characters that LaTeX would not print: what is left after commands and markup."""
    text = re.sub(r"(?m)^%\\caption.*$|^\\(begin|end)\{[a-z]+\}(\{[lcr]+\})?( \\\\)?$", "", latex)
    text = re.sub(r"\\(textbackslash|textasciicircum|textasciitilde|text(less|greater|bar))\{\}",
                  "", text)  # fmt: skip
    text = re.sub(r"\\[%_&#${}\\]", "", text)
    text = re.sub(r"\\(textbf|toprule|midrule|bottomrule|newline)\b", "", text)
    text = text.replace(" & ", " ")  # between cells
    depth = text.count("{") - text.count("}")
    return set(re.findall(r"[%_&#$^~\\<>|]", text)) | ({"{"} if depth else set())


def test_latex_prints_every_character():
    summary = fitted(SPECIAL, [500, 100, 100, 100, 100, 100]).summary()
    latex = summary.as_latex()
    assert unescaped(latex) == set()
    assert r"\textbf{x\textasciicircum{}2}" in latex
    assert r"\textbf{50\% \& more}" in latex  # escaped once
    assert r"\textbf{\textbackslash{}input\{x\}\textasciitilde{}}" in latex
    assert r"\textbf{\$x\$\textbar{}y}" in latex
    assert r"95\% exact" in latex  # notes
    assert r"\textbf{Frequencies of a privatised variable} \\" in latex
    assert summary._repr_latex_() == latex


def test_the_check_of_latex_sees_what_statsmodels_leaves_alone():
    summary = Summary()
    summary.tables = [SimpleTable([["1"]], headers=["p"], stubs=["x^2"])]
    summary.add_extra_txt(["95% of a_b"])
    assert unescaped(summary.as_latex()) == {"^", "%", "_"}


def test_html_holds_labels_and_notes_as_text():
    summary = fitted(SPECIAL, [500, 100, 100, 100, 100, 100]).summary()
    assert isinstance(summary, Summary)
    page = summary.as_html()
    assert "<script>" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "50% &amp; more" in page and "&amp;amp;" not in page
    assert "p &gt; 0" in page  # a note
    tags = {"table", "caption", "tr", "th", "td", "br", "span"}  # spans of dollar signs alone
    assert set(re.findall(r"</?(\w+)", page)) == tags
    assert "<span" not in page.replace("<span>$</span>", "")
    assert summary._repr_html_() == page
    assert "<script>alert(1)</script>" in summary.as_text()  # text stays as it is


def lines_of_tables(text: str) -> list[str]:
    lines = text.split("\n\n")[0].split("\n")
    return lines[1:]  # without the title


@cache
def surveys() -> dict[str, ldp.FrequencyResults]:
    exact = ldp.CustomMechanism(np.eye(3)).counts([570, 320, 110])
    noisy = ldp.KRR(3, epsilon=1.0).counts([420, 330, 250])
    many = ldp.KRR(3, epsilon=1.0).counts([4 * 10**15, 3 * 10**15, 2 * 10**15])
    return {
        "short": fitted(("a", "b", "c"), [420, 330, 250]),
        "long labels": fitted(LONG, [420, 330, 250, 300]),
        "infinite epsilon": ldp.FrequencyModel(exact).fit(),
        "constrained": ldp.FrequencyModel(noisy).fit(constraints=lambda p: [p[0] == 0.4]),
        "several": ldp.FrequencyModel([noisy, exact]).fit(),
        "many reports": ldp.FrequencyModel(many).fit("inversion"),
    }


def test_header_and_table_have_one_width():
    for results in surveys().values():
        lines = lines_of_tables(results.summary().as_text())
        assert len({len(line) for line in lines}) == 1


def test_the_table_is_widened_to_a_long_header_of_at_most_80_columns():
    results = surveys()["short"]
    results = replace(results, sources=("M" * 120,))
    text = results.summary().as_text()
    lines = lines_of_tables(text)
    assert len({len(line) for line in lines}) == 1 and len(lines[0]) == 80
    assert text.count("M") - text.count("Me") - text.count("Mi") == 120


def test_labels_are_shown_on_one_line_and_shortened():
    text = surveys()["long labels"].summary().as_text()
    assert "\nwrapped and tabbed  " in text and "\t" not in text
    assert f"\n{'x' * 25}...{'x' * 12} " in text
    assert max(map(len, text.split("\n"))) < 125


def test_the_title_names_the_variable():
    counts = ldp.KRR(("a", "b"), 1.0).counts([60, 40])
    for name, title in (("job", "job"), ("", "a privatised variable")):
        text = ldp.FrequencyModel(counts, name=name).fit().summary().as_text()
        assert text.split("\n")[0].strip() == f"Frequencies of {title}"
    odd = ldp.FrequencyModel(counts, name="<b>\n$" + "x" * 80).fit().summary()
    first, second = odd.as_text().split("\n")[:2]
    assert first.strip().startswith("Frequencies of <b> $xx") and second.startswith("==")
    assert (
        "&lt;b&gt; <span>$</span>xx" in odd.as_html()
        and r"\textless{}b\textgreater{}" in odd.as_latex()
    )


def test_each_mechanism_has_its_own_number_of_reports():
    results = surveys()["several"]
    text = " ".join(results.summary().as_text().split())
    assert "Mechanisms: KRR(k=3, epsilon=1), n = 1000 No. Reports: 2000" in text
    assert "CustomMechanism(k=3, epsilon=inf), Missing: 0 n = 1000" in text  # on two lines
    again = ldp.FrequencyResults.from_json(results.to_json())
    assert again.summary().as_text() == results.summary().as_text()


def columns_of(results: ldp.FrequencyResults, **how: Any) -> str:
    """The heads of the table, with single spaces."""
    lines = results.summary(**how).as_text().split("\n")
    return " ".join(next(line for line in lines if "estimate " in line).split())


ONE = "estimate std err [0.025 0.975] p-value"

BOTH = "estimate std err unconstr. std err [0.025 0.975] p-value"


def test_the_unconstrained_estimate_is_shown_where_it_differs():
    inside = fitted(("a", "b", "c"), [420, 330, 250])
    assert columns_of(inside) == ONE and columns_of(inside, details=True) == BOTH
    assert "unconstrained" not in inside.summary().as_text()
    for differing in (fitted(("a", "b", "c"), [1140, 480, 380]), surveys()["constrained"]):
        assert columns_of(differing) == BOTH
        assert "from the unconstrained estimate." in differing.summary().extra_txt


@pytest.mark.parametrize(("shift", "heads", "said"), [(0.05, ONE, True), (0.2, BOTH, False)])
def test_a_tenth_of_a_standard_error_decides(shift, heads, said):
    results = fitted(("a", "b", "c"), [420, 330, 250])
    p, move = results.fitted.estimate, shift * results.linear.bse()[0] * np.array([1.0, -1.0, 0.0])
    moved = replace(results.fitted, estimate=p + move)
    results = replace(results, fitted=moved)
    assert columns_of(results) == heads
    assert ("less than a tenth of a std err" in results.summary().extra_txt) == said


def test_no_pvalue_is_shown_as_zero():
    lines = lines_of_tables(fitted(("a", "b", "c"), [420, 330, 250]).summary().as_text())
    assert all(line.endswith(("<0.001", "0.002")) for line in lines if line[0] in "abc")


BOUNDARY = "on the boundary"

INTERIOR = "hold in the interior only"


def named(results: ldp.FrequencyResults, method: str) -> ldp.FrequencyResults:
    """The same results as if another estimator had found them."""
    return replace(results, method=method)


@pytest.mark.parametrize(
    ("method", "expected"),
    [("em", (True, False)), ("inversion", (False, False)), ("thresholded", (True, True))],
)
def test_notes_on_the_boundary(method, expected):
    results = named(fitted(("a", "b", "c"), [1140, 480, 380]), method)
    assert results.on_boundary
    text = results.summary().as_text()
    assert (BOUNDARY in text, INTERIOR in text) == expected
    interior = named(surveys()["short"], method).summary().as_text()
    assert BOUNDARY not in interior and INTERIOR not in interior


def test_intervals_cut_to_a_point_are_named():
    below, above = "intervals of b and c lay wholly below 0;", "interval of a lay wholly above 1;"
    with pytest.warns(ldp.MisfitWarning):
        results = fitted(("a", "b", "c"), [720, 80, 20])
    text = results.summary().as_text()
    words = " ".join(text.split())
    assert f"{below} the upper limits shown instead: where the estimate would be 0.025" in words
    assert f"{above} the lower limit shown instead" in words
    ends = results.conf_int()
    assert (ends.lower < ends.upper).all()
    np.testing.assert_array_equal(ends.lower[["b", "c"]], 0.0)
    assert ends.upper["a"] == 1.0
    for counts in ([420, 330, 250], [580, 210, 210]):
        text = fitted(("a", "b", "c"), counts).summary().as_text()
        assert below not in text and above not in text


def test_the_largest_of_boolean_labels_is_shown():
    text = fitted((True, False), [300, 700]).summary(max_rows=1).as_text()
    assert "\nFalse " in text and "\nTrue " not in text


# Plots show every label and every estimate, whatever they are.


# -- plots ---------------------------------------------------------------------------------
def test_estimates_outside_the_unit_interval_are_within_the_limits():
    k = 60
    with pytest.warns(ldp.MisfitWarning):
        results = fitted(k, [9_000, 900, *[10] * (k - 2)], "inversion")
    assert results.params.min() < 0 and results.params.max() > 1
    ax = results.plot(truth=np.full(k, 1 / k))
    low, high = ax.get_xlim()
    frame = results.summary_frame()[["params", "lower", "upper"]].nlargest(25, "params")
    assert low < frame.min().min() and high > frame.max().max()
    assert low <= 0.0


def drawn(ax: Any) -> Any:
    ax.figure.canvas.draw()  # where matplotlib would warn
    return ax.figure.canvas.get_renderer()


def test_markers_at_zero_are_not_cut():
    ax = fitted(("a", "b", "c"), [1140, 480, 380]).plot()
    drawn(ax)
    (line,) = (x for x in ax.get_lines() if x.get_label() == "estimate")
    centre = ax.transData.transform((0.0, 0.0))[0]
    radius = line.get_markersize() / 2 * ax.figure.dpi / 72
    assert ax.bbox.x0 < centre - radius


@pytest.mark.parametrize("k", [2, 41])
def test_the_legend_lies_below_the_axes_and_inside_the_figure(k):
    ax = fitted(k, [100] * k).plot(truth=np.full(k, 1 / k))
    renderer = drawn(ax)
    legend = ax.get_legend().get_window_extent(renderer)
    assert legend.y1 <= ax.xaxis.label.get_window_extent(renderer).y0 + 1  # a pixel for rounding
    assert legend.y0 >= 0
    assert ax.bbox.y1 <= ax.title.get_window_extent(renderer).y0
    assert ax.bbox.height > 0.3 * ax.figure.bbox.height


def short() -> ldp.FrequencyResults:
    return fitted(("a", "b", "c"), [420, 330, 250])


@pytest.mark.parametrize("labels", [LONG, SPECIAL])
def test_labels_are_drawn_as_they_are(labels):
    ax = fitted(labels, [100] * len(labels)).plot(most=40)
    renderer = drawn(ax)
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert len(shown) == len(labels) and max(map(len, shown)) <= 32
    assert not any("\n" in text or "\t" in text for text in shown)
    assert not any(re.search(r"(?<!\\)\$", text) for text in shown)  # no mathematics
    for text in ax.get_yticklabels():
        assert text.get_window_extent(renderer).x0 >= 0
    assert ax.bbox.width > 0.5 * ax.figure.bbox.width


def rows(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def line(ax: Any, label: str) -> Any:
    (found,) = (x for x in ax.get_lines() if x.get_label() == label)
    return found


def test_of_many_categories_the_largest_are_named():
    n = np.random.default_rng(4).permutation(500) + 100_000
    results = fitted(500, n.tolist(), "inversion")
    largest = results.params.nlargest(25)
    ax = results.plot(truth=np.arange(500) / 1e6)
    drawn(ax)
    assert rows(ax) == [*map(str, largest.index), "and 475 more"]
    np.testing.assert_array_equal(line(ax, "estimate").get_xdata(), largest)
    np.testing.assert_array_equal(line(ax, "truth").get_xdata(), np.array(largest.index) / 1e6)
    ax = results.plot(sort=False, most=3)
    assert rows(ax) == [*map(str, sorted(largest.index[:3])), "and 497 more"]
    assert len(rows(results.plot(most=60))) == 61


@pytest.mark.parametrize(("sort", "order"), [(True, "bca"), ("none", "abc"), (np.True_, "bca")])
def test_rows_are_sorted_by_the_estimate(sort, order):
    results = fitted(("a", "b", "c"), [250, 420, 330])
    ax = results.plot(sort=sort)
    assert rows(ax) == list(order)
    np.testing.assert_array_equal(line(ax, "estimate").get_xdata(), results.params[list(order)])
    assert line(ax, "estimate").get_ydata().tolist() == [2, 1, 0]


def test_ties_at_zero_are_in_order_of_the_unconstrained_estimate():
    results = fitted(("a", "b", "c", "d"), [225, 230, 640, 228])
    assert (results.params < 1e-9).sum() == 3
    assert rows(results.plot()) == ["c", "b", "d", "a"]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"sort": "x"}, "sort='x': must be True"),
        ({"most": 0}, "most=0"),
        ({"title": 3}, "title=3: must be text"),
    ],
)
def test_refusals(given, match):
    with pytest.raises(ldp.InvalidArgument, match=match):
        short().plot(**given)
    assert not plt.get_fignums()  # refused before a figure is made


def test_frequencies_are_in_percent():
    ax = short().plot()
    drawn(ax)
    assert [t.get_text() for t in ax.get_xticklabels()][1:3] == ["0%", "10%"]
    found = {percent_text(x) for x in (0.3, 0.1 + 0.2, -0.0, 0.025, 1e-4, 1e-9, -0.5, 1.0)}
    assert found == {"30%", "0%", "2.5%", "0.01%", "0.0000001%", "-50%", "100%"}


def test_titles():
    counts = ldp.KRR(3, epsilon=1.0).counts([420, 330, 250])
    named = ldp.FrequencyModel(counts, name="cost in $ and $").fit()
    ax = named.plot()
    drawn(ax)
    text = ax.get_title()
    assert text.replace("\\$", "$") == "cost in $ and $\nKRR(k=3, epsilon=1), n = 1,000"
    assert not re.search(r"(?<!\\)\$", text)
    assert named.plot(title="").get_title() == ""
    ax = named.plot(title="a\ud800b\x00c\td")
    drawn(ax)
    assert ax.get_title() == "a b c d"
    assert named.plot(title="Mine\nand yours").get_title() == "Mine\nand yours"
    assert len(named.plot(title="word " * 30).get_title().splitlines()) > 1


def test_intervals_that_are_too_short_to_see_have_a_mark():
    frame = pd.DataFrame(
        [[0.0, 0.0, 0.0], [0.9, 1.0, 1.0], [0.5, 0.4, 0.6], [0.3, 0.3, 0.3001]],
        columns=["params", "lower", "upper"],
    )
    ax = plt.subplots()[1]
    draw_estimates(ax, np.arange(4), frame, "95% interval")
    marks = line(ax, "95% interval too short to see")
    assert marks.get_xdata().tolist() == [0.0, 1.0] and marks.get_ydata().tolist() == [0, 1]
    assert marks.get_markersize() > line(ax, "estimate").get_markersize() + 4
    unknown = frame.assign(lower=np.nan, upper=np.nan)
    ax = plt.subplots()[1]
    draw_estimates(ax, np.arange(4), unknown, "95% interval")
    assert [x.get_label() for x in ax.get_lines()][1:] == ["estimate"] and not ax.collections


def overlapping(boxes: list[Any]) -> bool:
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize(
    ("layout", "shape"), [(None, (2, 2)), ("constrained", (1, 1)), ("tight", (1, 2))]
)
def test_axes_of_a_grid_keep_apart(layout, shape):
    names = [f"a-host-{i}.example.org" for i in range(30)]
    results = fitted(names, [100] * 30)
    figure, grid = plt.subplots(*shape, figsize=(9.0, 7.0), layout=layout, squeeze=False)
    for ax in grid.flat:
        results.plot(ax=ax, most=12)
    renderer = drawn(grid[0, 0])
    extents = [ax.get_tightbbox(renderer) for ax in grid.flat]
    assert not overlapping(extents)
    whole = figure.bbox.padded(1)
    assert all(whole.contains(b.x0, b.y0) and whole.contains(b.x1, b.y1) for b in extents)
    for ax in grid.flat:
        assert not overlapping([t.get_window_extent(renderer) for t in ax.get_yticklabels()])
        assert not overlapping([t.get_window_extent(renderer) for t in ax.get_xticklabels()])
        legend = ax.get_legend().get_window_extent(renderer)
        assert not legend.overlaps(ax.bbox)


def test_axes_in_a_part_of_a_figure():
    figure = plt.figure(figsize=(8.0, 3.0))
    first, second = (part.subplots() for part in figure.subfigures(1, 2))
    for ax in (first, second):
        short().plot(ax=ax)
    renderer = drawn(first)
    assert first.get_tightbbox(renderer).x1 <= 401 and second.get_tightbbox(renderer).x0 >= 399
    assert first.bbox.width > 200
    with pytest.raises(ldp.InvalidArgument, match="ax="):
        short().plot(ax=figure)


@pytest.mark.parametrize(
    "truth",
    [
        [0.5, 0.5, np.inf],
        pd.Series([0.5, 0.5, np.nan], index=["a", "b", "c"]),
        pd.Series([0.5, 0.2, 0.3], index=["a", "b", "b"]),
        [[0.5], [0.1, 0.4]],
    ],
    ids=["inf", "nan in a Series", "label twice", "ragged"],
)
def test_truth_must_be_numbers(truth):
    with pytest.raises(ldp.InvalidArgument, match="truth"):
        short().plot(truth=truth)


@pytest.mark.parametrize("ax", ["ax", np.zeros(2)])
def test_ax_must_be_axes(ax):
    with pytest.raises(ldp.InvalidArgument, match="ax="):
        short().plot(ax=ax)


def test_axes_must_be_rectangular():
    round_axes = plt.subplots(subplot_kw={"projection": "polar"})[1]
    with pytest.raises(ldp.InvalidArgument, match="ax='polar': must be rectangular"):
        short().plot(ax=round_axes)


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_long_labels_leave_room_for_title_and_legend(layout):
    figure, ax = plt.subplots(figsize=(4.0, 3.0), layout=layout)
    fitted(("a" * 25, "b"), [400, 300]).plot(ax=ax, title="A title of several words")
    drawn(ax)
    for box in (ax.get_legend().get_window_extent(), ax.title.get_window_extent()):
        assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1


def test_truth_is_matched_by_label():
    truth = pd.Series([0.1, 0.3, 0.6], index=["c", "b", "a"])
    ax = short().plot(truth=truth)
    (line,) = (x for x in ax.get_lines() if x.get_label() == "truth")
    assert line.get_xdata().tolist() == [0.6, 0.3, 0.1]


# -- plots of candidates ---------------------------------------------------------------------------
def of_candidates(names: list[str]) -> ldp.FrequencyResults:
    rappor = ldp.RAPPOR(128, 2, 32, f=0.5, p=0.25, q=0.75, hashing="google")
    p = np.full(len(names), 1 / len(names))
    counts = rappor.draw(p, 50_000, np.random.default_rng(1), candidates=names)
    return ldp.FrequencyModel(counts, candidates=names).fit()


HOST = "a-rather-long-host-name-{}.department.example.org"


def test_everything_is_inside_the_figure():
    ax = of_candidates([HOST.format(i) for i in range(40)]).plot()
    renderer = drawn(ax)
    title = ax.title.get_window_extent(renderer)
    assert title.x0 >= 0 and title.x1 <= ax.figure.bbox.width
    assert title.y0 >= ax.bbox.y1 and title.y1 <= ax.figure.bbox.height
    assert min(text.get_window_extent(renderer).x0 for text in ax.get_yticklabels()) >= 0
    assert ax.bbox.width > 0.5 * ax.figure.bbox.width
    legend = ax.get_legend().get_window_extent(renderer)
    assert legend.x0 >= 0 and legend.x1 <= ax.figure.bbox.width
    assert ax.get_title().replace("\n", " ").startswith("RAPPOR(n_bits=128, n_hashes=2,")
