"""The header and the notes that summaries of all kinds share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from ldpstats.inference.resolution import is_fine, reports_needed, stands_out
from ldpstats.inference.tests import TestResult, z_test
from ldpstats.models.shared.fit import WITHOUT_ERRORS, Fit
from ldpstats.models.shared.tables import LONGEST_LABEL, one_line, pvalue_words
from ldpstats.problems.problem import ill_conditioned

__all__ = [
    "DOUBTFUL",
    "Pair",
    "closing_notes",
    "design_pairs",
    "epsilon_text",
    "estimator_text",
    "goodness_notes",
    "header",
    "interval_note",
    "protection_notes",
    "resolution_notes",
    "respondents_pairs",
    "rest_notes",
    "title",
]

DOUBTFUL = 0.01  # p-value of a goodness of fit below which a summary warns
_COVARIANCE = {  # what a covariance rests on, in words
    "expected": "expected information",
    "observed": "observed information",
    "fpe16": "fpe16 (overstates)",
    "linear": "linear estimate",
    "dual": "dual of the likelihood",
    "sandwich": "sandwich, by the design",
}

Pair = tuple[str, str]
"""A name and a value of a header."""


def title(fit: Fit, what: str = "Frequencies", unnamed: str = " of a privatised variable") -> str:
    """The first line: the name of the variable, where it has one."""
    return what + (f" of {one_line(fit.name, LONGEST_LABEL)}" if fit.name else unnamed)


def header(
    left: Sequence[Pair], right: Sequence[Pair], details: Fit | None = None
) -> list[list[str]]:
    """Header rows of two columns of pairs, the shorter one filled up; `details` of a fit last."""
    rows = _side_by_side(left, right)
    return rows if details is None else rows + _side_by_side(*_machinery(details))


def _side_by_side(left: Sequence[Pair], right: Sequence[Pair]) -> list[list[str]]:
    return [[*a, *b] for a, b in zip_longest(left, right, fillvalue=("", ""))]


def design_pairs(fit: Fit) -> list[Pair]:
    """The mechanisms, each with its own number of reports where there are several."""
    if len(fit.sources) == 1 or not fit.source_nobs:
        return [("Mechanism:" if i == 0 else "", source) for i, source in enumerate(fit.sources)]
    own = zip(fit.sources, fit.source_nobs, strict=True)
    return [
        ("Mechanisms:" if i == 0 else "", f"{source}, n = {n}") for i, (source, n) in enumerate(own)
    ]


def estimator_text(fit: Fit) -> str:
    """The estimator, and what its name does not say."""
    return f"{fit.method}, {fit.settings}" if fit.settings else fit.method


def _machinery(fit: Fit) -> tuple[list[Pair], list[Pair]]:
    """What is shown on request only: how the estimate was computed, and the likelihood at it."""
    gap = f"{fit.gap_nats:.2g} nats" if np.isfinite(fit.gap) else "-"
    left = [
        ("Covariance:", _COVARIANCE.get(fit.cov_type, fit.cov_type)),
        ("Gap to maximum:", gap),
        ("Iterations:", str(fit.n_iter)),
        ("Converged:", "yes" if fit.converged else "NO"),
    ]
    numbers = (("Log-Likelihood:", fit.llf), ("AIC:", fit.aic), ("BIC:", fit.bic))
    right = [(name, f"{x:.2f}" if np.isfinite(x) else "-") for name, x in numbers]
    return left, [*right, ("Df model:", str(fit.df_model))]


def interval_note(alpha: float, kind: str, is_cut: bool, source: str) -> str:
    """What the intervals are; `source` is what `second_words` has to say."""
    cut = ", cut to [0, 1]" if is_cut else ""
    return f"Intervals: {100 * (1 - alpha):.4g}% {kind}{cut}{source}."


def respondents_pairs(fit: Fit) -> list[Pair]:
    """How many reports there are, how many are missing, and how private they are."""
    missing = ("Missing:", str(fit.n_missing))
    return [("No. Reports:", str(fit.nobs)), missing, epsilon_pair(fit)]


def rest_notes(n_shown: int, n: int) -> list[str]:
    """How many rows are shown, where not all are."""
    return [f"Shown: the {n_shown} largest of {n} estimates."] if n_shown < n else []


def epsilon_pair(fit: Fit) -> Pair:
    """The privacy of a report; of several mechanisms the weakest."""
    name = "Epsilon, largest:" if len(fit.sources) > 1 else "Epsilon (nats):"
    return name, epsilon_text(fit.epsilon)


def epsilon_text(epsilon: float) -> str:
    """Epsilon in nats, as a summary shows it."""
    return f"{epsilon:.6g}" if np.isfinite(epsilon) else "infinite"


def protection_notes(fit: Fit) -> list[str]:
    """What epsilon does not protect, for mechanisms that protect sensitive categories only."""
    if not fit.is_partial:
        return []
    return [
        "NOTE: epsilon protects the sensitive categories only: reports may reveal any other answer."
    ]


def closing_notes(fit: Fit, condition: float) -> list[str]:
    """Notes on standard errors, convergence and the channel that every fit may need."""
    notes = []
    if (
        fit.cov_type in WITHOUT_ERRORS
        and not fit.is_penalised
        and not np.isnan(fit.linear.bse()).any()
    ):
        notes.append(
            f"NOTE: {fit.without_errors}; those shown belong to the unconstrained estimate."
        )
    if fit.cov_type == "fpe16":
        notes.append(
            "NOTE: the std err of the estimate leave out that frequencies sum to one (fpe16), and "
            "are too large."
        )
    if not fit.converged:
        notes.append(f"WARNING: the estimator did not converge: {fit.message}")
    if words := ill_conditioned(condition):
        notes.append(f"WARNING: {words}.")
    return notes


def resolution_notes(
    fit: Fit, pvalues: Callable[[], npt.ArrayLike] | None = None, what: str = "categories"
) -> list[str]:
    """That the reports are too few to say anything of shares; see `inference.resolution`.

    `pvalues` are those of p = 0 against p > 0, shape (k,), by default from the normal law.
    """
    linear, se = fit.linear, fit.linear.bse()
    if linear.covariance is None or linear.at is not None or not se.size or is_fine(se**2):
        return []
    found = z_test(linear.estimate, se, 0.0, "larger")[1] if pvalues is None else pvalues()
    if stands_out(found):
        return []
    needed = reports_needed(se**2, fit.nobs)
    return [
        f"WARNING: the survey is too small or too private for its {what}: n of about "
        f"{_two_digits(needed)} is needed. None stands out from the noise, and standard errors are "
        "larger than the spread of shares that are drawn at random."
    ]


def _two_digits(value: float) -> str:
    """A whole number with two significant digits, rounded up."""
    size = 10 ** max(int(np.floor(np.log10(value))) - 1, 0)
    return f"{int(np.ceil(value / size)) * size:,}"


def goodness_notes(test: TestResult | None) -> list[str]:
    """The goodness of fit, and a warning where the reports contradict its hypothesis."""
    if test is None:
        return []
    notes = [f"Goodness of fit ({test.method}): {pvalue_words(test.pvalue)}."]
    if test.pvalue < DOUBTFUL:
        notes.append(f"WARNING: the reports contradict the hypothesis that {test.null}.")
    return notes
