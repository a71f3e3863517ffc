"""Contrasts of frequencies as statsmodels shows them, with p-values that know small counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.contrast import ContrastResults

from ldpstats.inference.intervals import inverted
from ldpstats.inference.tails import two_sided
from ldpstats.inference.tests import z_test
from ldpstats.models.shared.tables import one_line, pvalue_text

__all__ = ["ContrastLaw", "ContrastLaws", "contrast_names", "contrast_results"]

Array = npt.NDArray[Any]

_LONGEST_NAME = 60  # characters


class _ScoreContrasts(ContrastResults):  # type: ignore[misc]  # statsmodels ships no types
    """`ContrastResults` whose intervals are the values that the tests do not reject."""

    def __init__(self, laws: ContrastLaws, scored: bool, **given: Any) -> None:
        super().__init__(**given)
        self._laws, self._scored = laws, scored

    def summary(self, xname: Any = None, alpha: float = 0.05, title: Any = None) -> Any:
        """The table of statsmodels, which says what z is, with small p-values as "<0.001"."""
        table = super().summary(xname, alpha, title)
        head, *rows = table
        at = [cell.data for cell in head].index("P>|z|")
        for row, p in zip(rows, np.atleast_1d(self.pvalue), strict=True):
            row[at].data = pvalue_text(float(p))
        if self._scored:
            head[at - 1].data = "score z"  # its standard error is the one under the hypothesis
        return table

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Score intervals, shape (q, 2); Wald's for contrasts whose law is not known."""
        bounds = np.array(super().conf_int(alpha))
        for row, (law, effect) in enumerate(zip(self._laws, self.effect, strict=True)):
            if law is not None:
                bounds[row] = inverted([effect], law.at, alpha, (law.least, law.most))[0]
        return bounds


@dataclass(frozen=True, eq=False)
class ContrastLaws:
    """The laws of the contrasts R, shape (q, k), one at a time: many would fill the memory.

    ``law(row)`` gives that of a row; None where it is not known.
    """

    R: Array
    law: Callable[[Array], ContrastLaw | None]

    def __iter__(self) -> Iterator[ContrastLaw | None]:
        return map(self.law, self.R)


@dataclass(frozen=True, eq=False)
class ContrastLaw:
    """The law of the estimate of a contrast, whatever the contrast is.

    Parameters
    ----------
    at : callable
        ``at(v)`` gives standard error and skewness, shape (1,) both, if the contrast is v, of
        shape (1,).
    least, most : float
        Range of the contrast over all distributions.
    is_fixed : bool
        Whether the estimate has no variance at any value where it has none at the estimate.
    """

    at: Callable[[Array], tuple[Array, Array]]
    least: float
    most: float
    is_fixed: bool = True


def contrast_results(
    effect: Array,
    sd: Array,
    value: Array,
    laws: ContrastLaws,
    names: Sequence[str],
) -> ContrastResults:
    """Tests of contrasts, two-sided, one by one; `names` label the rows of their tables."""
    se, skewness, scored = np.array(sd, dtype=np.float64), np.zeros(len(sd)), False
    for row, law in enumerate(laws):
        if law is not None:
            scored = True
            (se[row],), (skewness[row],) = law.at(np.clip(value[[row]], law.least, law.most))
    z = np.array(z_test(effect, se, value)[0])
    results = _ScoreContrasts(
        laws, scored, effect=effect, sd=sd, statistic=z, value=value, distribution="norm"
    )
    results.c_names = list(names)
    pvalue = two_sided(effect - value, se, skewness)
    results.pvalue = pvalue.reshape(np.shape(results.pvalue))
    return results


def contrast_names(R: Array, value: Array, terms: pd.Index[Any]) -> list[str]:
    """The rows of R p = value in words: "nurse - cook", "nurse - 2 cook = 0.1"."""
    names = []
    for row, right in zip(R, value, strict=True):
        text = " ".join(_term(row[i], terms[i]) for i in np.flatnonzero(row).tolist())
        text = text.replace("- ", "-", 1) if text.startswith("-") else text.removeprefix("+ ")
        names.append(one_line(f"{text} = {right:g}" if right else text, _LONGEST_NAME))
    return names


def _term(factor: float, term: Any) -> str:
    """The term with its sign: "+ nurse", "- 2 cook"."""
    label = term if isinstance(term, str) else f"p[{term}]"
    size = "" if abs(factor) == 1.0 else f"{abs(factor):g} "
    return f"{'-' if factor < 0.0 else '+'} {size}{label}"
