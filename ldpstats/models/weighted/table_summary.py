"""The summary of a weighted table of two variables."""

from __future__ import annotations

from collections.abc import Sequence

from ldpstats.inference.tests import TestResult
from ldpstats.models.association import summary as joint
from ldpstats.models.shared.missing import missing_notes
from ldpstats.models.shared.notes import (
    closing_notes,
    epsilon_text,
    estimator_text,
    header,
    protection_notes,
    rest_notes,
)
from ldpstats.models.shared.tables import (
    SummaryTable,
    decimals,
    estimate_cells,
    estimate_columns,
    largest,
    one_line,
    pvalue_words,
    second_shown,
    second_words,
)
from ldpstats.models.weighted.base import DesignResults
from ldpstats.models.weighted.summary import (
    effect_cells,
    effect_columns,
    sample_notes,
    sample_pairs,
)

__all__ = ["table_summary"]


def table_summary(
    results: DesignResults,
    names: Sequence[str],
    independence: TestResult | None,
    *,
    lacking: Sequence[int],
    unprotected: Sequence[str],
    listed: Sequence[str],
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of the cells."""
    frame, fit = results.summary_frame(alpha), results.fit
    shown = largest(frame, max_rows)
    digits, both = decimals(shown), second_shown(frame, details)
    cells = zip(estimate_cells(shown, digits, both), effect_cells(shown), strict=True)
    return SummaryTable(
        title=f"Weighted joint distribution of {joint.listed(names)}",
        header=_header(results, names, unprotected, details),
        columns=[*estimate_columns(alpha, both), *effect_columns()],
        stubs=joint.cell_stubs(shown.index),
        body=[row + effects for row, effects in cells],
        notes=[
            *missing_notes(fit.nobs, fit.n_missing, names, lacking),
            *sample_notes(results, frame, alpha, second_words(frame, both, digits)),
            *rest_notes(len(shown), len(frame)),
            *_test_notes(independence),
            *(f"NOTE: the candidates of {name} are taken for all answers." for name in listed),
            *protection_notes(fit),
            *closing_notes(fit, 1.0),
        ],
    )


def _header(
    results: DesignResults, names: Sequence[str], unprotected: Sequence[str], details: bool
) -> list[list[str]]:
    fit, facts = results.fit, results.sample
    left = [
        (f"{one_line(name, 20)}:", source) for name, source in zip(names, fit.sources, strict=True)
    ]
    left += [("Estimator:", estimator_text(fit)), *sample_pairs(results)]
    right = [
        ("No. Respondents:", str(fit.nobs)),
        ("Missing:", str(fit.n_missing)),
        ("Epsilon, all (nats):", epsilon_text(fit.epsilon)),
        ("Sum of weights:", f"{facts.weight_sum:,.6g}"),
        ("Df of design:", f"{facts.df:g}"),
    ]
    if unprotected:
        right.append(("Not protected:", one_line(", ".join(unprotected), 40)))
    return header(left, right, fit if details else None)


def _test_notes(test: TestResult | None) -> list[str]:
    if test is None:
        return []
    df = ", ".join(f"{one:g}" for one in test.df) if isinstance(test.df, tuple) else test.df
    return [
        f"Independence ({test.method}): {test.statistic:.4g} on {df} df, "
        f"{pvalue_words(test.pvalue)}."
    ]
