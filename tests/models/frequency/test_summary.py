"""Summaries show every label and every estimate, whatever they are."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable

import ldpstats as ldp

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


def test_latex_prints_every_character() -> None:
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


def test_the_check_of_latex_sees_what_statsmodels_leaves_alone() -> None:
    summary = Summary()
    summary.tables = [SimpleTable([["1"]], headers=["p"], stubs=["x^2"])]
    summary.add_extra_txt(["95% of a_b"])
    assert unescaped(summary.as_latex()) == {"^", "%", "_"}


def test_html_holds_labels_and_notes_as_text() -> None:
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


def test_header_and_table_have_one_width() -> None:
    for results in surveys().values():
        lines = lines_of_tables(results.summary().as_text())
        assert len({len(line) for line in lines}) == 1


def test_the_table_is_widened_to_a_long_header_of_at_most_80_columns() -> None:
    results = surveys()["short"]
    results = replace(results, sources=("M" * 120,))
    text = results.summary().as_text()
    lines = lines_of_tables(text)
    assert len({len(line) for line in lines}) == 1 and len(lines[0]) == 80
    assert text.count("M") - text.count("Me") - text.count("Mi") == 120


def test_labels_are_shown_on_one_line_and_shortened() -> None:
    text = surveys()["long labels"].summary().as_text()
    assert "\nwrapped and tabbed  " in text and "\t" not in text
    assert f"\n{'x' * 25}...{'x' * 12} " in text
    assert max(map(len, text.split("\n"))) < 125


def test_the_title_names_the_variable() -> None:
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


def test_each_mechanism_has_its_own_number_of_reports() -> None:
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


def test_the_unconstrained_estimate_is_shown_where_it_differs() -> None:
    inside = fitted(("a", "b", "c"), [420, 330, 250])
    assert columns_of(inside) == ONE and columns_of(inside, details=True) == BOTH
    assert "unconstrained" not in inside.summary().as_text()
    for differing in (fitted(("a", "b", "c"), [1140, 480, 380]), surveys()["constrained"]):
        assert columns_of(differing) == BOTH
        assert "from the unconstrained estimate." in differing.summary().extra_txt


@pytest.mark.parametrize(("shift", "heads", "said"), [(0.05, ONE, True), (0.2, BOTH, False)])
def test_a_tenth_of_a_standard_error_decides(shift: float, heads: str, said: bool) -> None:
    results = fitted(("a", "b", "c"), [420, 330, 250])
    p, move = results.fitted.estimate, shift * results.linear.bse()[0] * np.array([1.0, -1.0, 0.0])
    moved = replace(results.fitted, estimate=p + move)
    results = replace(results, fitted=moved)
    assert columns_of(results) == heads
    assert ("less than a tenth of a std err" in results.summary().extra_txt) == said


def test_no_pvalue_is_shown_as_zero() -> None:
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
def test_notes_on_the_boundary(method: str, expected: tuple[bool, bool]) -> None:
    results = named(fitted(("a", "b", "c"), [1140, 480, 380]), method)
    assert results.on_boundary
    text = results.summary().as_text()
    assert (BOUNDARY in text, INTERIOR in text) == expected
    interior = named(surveys()["short"], method).summary().as_text()
    assert BOUNDARY not in interior and INTERIOR not in interior


def test_intervals_cut_to_a_point_are_named() -> None:
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


def test_the_largest_of_boolean_labels_is_shown() -> None:
    text = fitted((True, False), [300, 700]).summary(max_rows=1).as_text()
    assert "\nFalse " in text and "\nTrue " not in text
