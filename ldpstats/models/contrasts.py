"""Tests of linear hypotheses in the form of statsmodels, which takes a second to import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from statsmodels.stats.contrast import ContrastResults

from ldpstats.arguments import Array, html_lines
from ldpstats.inference.intervals import inverted
from ldpstats.inference.tests import pvalue_text
from ldpstats.models.layout import (
    LONGEST_LABEL,
    SummaryTable,
    decimals,
    distinct_lines,
    figures,
    interval_columns,
)


class Contrasts(ContrastResults):  # type: ignore[misc]  # statsmodels ships no types
    """`ContrastResults` in the layout of summaries."""

    _statistic = ""

    def summary(self, xname: Any = None, alpha: float = 0.05, title: Any = None) -> Any:
        """The table of the tests; of several together a line."""
        if self.effect is None:
            value, p = float(self.statistic), f"{float(self.pvalue):.4g}"
            df = f"df_denom={self.df_denom:.3g}"
            if self.distribution == "F":
                return f"<F test: F={value:.4g}, p={p}, {df}, df_num={self.df_num:.3g}>"
            return f"<Wald test (chi2): statistic={value:.4g}, p-value={p}, {df}>"
        letter = "t" if self.distribution == "t" else "z"
        numbers = np.column_stack([self.effect, np.ravel(self.sd), self.conf_int(alpha)])
        tests = zip(np.ravel(self.statistic), np.atleast_1d(self.pvalue), strict=True)
        digits, body = decimals(numbers[:, 1]), []
        for row, (statistic, p) in zip(numbers, tests, strict=True):
            effect, se, *ends = figures(row, digits)
            body.append([effect, se, *figures([statistic], 2), pvalue_text(float(p)), *ends])
        heads = ["coef", "std err", self._statistic or letter, f"P>|{letter}|"]
        heads += interval_columns(alpha)
        words = "Test for Constraints" if title is None else title
        names = distinct_lines(self.c_names if xname is None else xname, LONGEST_LABEL)
        return SummaryTable(words, (), heads, names, body, ()).layout()

    def __str__(self) -> str:
        return str(self.summary()).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_lines(str(self))


class ScoreContrasts(Contrasts):
    """Contrasts whose intervals are the values that the tests do not reject."""

    def __init__(self, R: Array, law: Callable[[Array], Any], scored: bool, **values: Any) -> None:
        super().__init__(**values)
        self._R, self._law = R, law
        self._statistic = "score z" if scored else ""  # its error is that under the hypothesis

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Score intervals, shape (q, 2); Wald's for contrasts whose law is not known."""
        bounds = np.array(super().conf_int(alpha))
        for i, (row, effect) in enumerate(zip(self._R, self.effect, strict=True)):
            if (law := self._law(row)) is not None:
                bounds[i] = inverted([effect], law.at, alpha, (law.least, law.most))[0]
        return bounds
