"""The outcome of one test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ldpstats.arguments.checks import numbers, real_number
from ldpstats.arguments.markup import html_table
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tails import chi2_pvalue

__all__ = ["TestResult"]


@dataclass(frozen=True, slots=True)
class TestResult:
    """Outcome of one test.

    Parameters
    ----------
    null : str
        The null hypothesis in words; the side of a one-sided test belongs here.
    statistic : float
        The test statistic; may be inf.
    df : float, tuple of float, or None
        Degrees of freedom, if the reference law has them.
    pvalue : float
        In [0, 1].
    method : str
        The statistic and its reference law.
    note : str
        What the reader must know, for example that outputs were never seen.

    Raises
    ------
    InvalidArgument
        If the p-value is outside [0, 1] or the statistic is NaN.

    Examples
    --------
    >>> result = TestResult("p is uniform", 7.815, 3, 0.05, "Pearson chi-square on reports")
    >>> print(result)
    Pearson chi-square on reports
      H0: p is uniform
      statistic 7.815, df 3, p-value 0.05
    >>> TestResult.from_dict(result.to_dict()) == result
    True
    """

    __test__: ClassVar[bool] = False  # for pytest: no test cases

    null: str
    statistic: float
    df: float | tuple[float, ...] | None
    pvalue: float
    method: str
    note: str = ""

    def __post_init__(self) -> None:
        remedy = "must be a number, not NaN"
        if math.isnan(real_number("statistic", self.statistic, remedy)):
            raise InvalidArgument("statistic", self.statistic, remedy)
        if not 0 <= real_number("pvalue", self.pvalue, "must be a probability") <= 1:
            raise InvalidArgument("pvalue", self.pvalue, "must lie in [0, 1]")
        if self.df is not None:
            for value in self.df if isinstance(self.df, tuple) else (self.df,):
                real_number("df", value, "must be a number, several in a tuple, or None")
        for name in ("null", "method", "note"):
            if not isinstance(getattr(self, name), str):
                raise InvalidArgument(name, getattr(self, name), "must be text")

    def _numbers(self) -> list[tuple[str, str]]:
        """Names and values of the statistic, of what degrees of freedom there are, and of p."""
        numbers = [("statistic", f"{self.statistic:.4g}"), ("p-value", f"{self.pvalue:.4g}")]
        if self.df is not None:
            values = self.df if isinstance(self.df, tuple) else (self.df,)
            numbers.insert(1, ("df", ", ".join(f"{value:g}" for value in values)))
        return numbers

    def _repr_html_(self) -> str:
        """The test, in a notebook."""
        note = [("note", self.note)] if self.note else []
        return html_table(self.method, [("H0", self.null), *self._numbers(), *note])

    def __str__(self) -> str:
        shown = [f"{name} {value}" for name, value in self._numbers()]
        lines = [self.method, f"  H0: {self.null}", "  " + ", ".join(shown)]
        if self.note:
            lines.append(f"  Note: {self.note}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; an infinite statistic becomes the string "inf"."""
        finite = math.isfinite(self.statistic)
        return {
            "null": self.null,
            "statistic": float(self.statistic) if finite else str(float(self.statistic)),
            "df": list(self.df) if isinstance(self.df, tuple) else self.df,
            "pvalue": float(self.pvalue),
            "method": self.method,
            "note": self.note,
        }

    @classmethod
    def chi_square(
        cls, null: str, statistic: float, df: float, method: str, note: str = ""
    ) -> TestResult:
        """A statistic that is chi-square under the null."""
        remedy = "must be a number"
        value, freedom = numbers("statistic", statistic, remedy, ()), numbers("df", df, remedy, ())
        p = float(chi2_pvalue(value, freedom))
        return cls(null, float(value), float(freedom), p, method, note)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TestResult:
        """The result that `to_dict` wrote."""
        remedy = "must be what TestResult.to_dict wrote"
        names = {item.name for item in fields(cls)}
        if not isinstance(document, Mapping) or set(document) - {"note"} != names - {"note"}:
            raise InvalidArgument("document", document, remedy)
        given = dict(document)
        if given["statistic"] in ("inf", "-inf"):
            given["statistic"] = float(given["statistic"])
        if isinstance(given["df"], list):
            given["df"] = tuple(given["df"])
        return cls(**given)
