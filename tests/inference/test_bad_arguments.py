"""Bad arguments of intervals, tests and tails: the error begins with the argument that is wrong."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.refusals import NO_PROBABILITY, refusals, refuses, said
from surveys import multinomial

from ldpstats.inference import goodness, intervals, tails, tests

HALVES = [0.5, 0.5]

GOOD: dict[str, Any] = {
    "estimate": [0.1],
    "se": [0.1],
    "alpha": 0.05,
    "df": 2,
    "skewness": 0.1,
    "rate": 0.01,
    "tally": [1],
    "nobs": 10,
    "offset": 0.1,
    "scale": 0.5,
    "k": 3,
    "p1": 0.7,
    "p0": 0.2,
    "z": 1.0,
    "statistic": [1.0],
    "pvalues": [0.1, 0.2],
}

MORE: dict[Callable[..., Any], dict[str, Any]] = {  # good arguments that depend on the function
    intervals.clip_unit: {"interval": [0.1, 0.2]},
    intervals.percentile: {"draws": np.zeros((50, 2))},
    tests.wald: {
        "R": [[1.0, -1.0]],
        "value": [0.0],
        "estimate": HALVES,
        "covariance": multinomial(HALVES, 5),
    },
    goodness.given_distribution: {
        "estimate": HALVES,
        "null_covariance": multinomial(HALVES, 5),
        "p0": HALVES,
    },
    goodness.pearson_given: {"counts": [5, 5], "m0": HALVES},
    goodness.two_sample_pearson: {"counts_a": [5, 5], "counts_b": [4, 6]},
    goodness.two_sample_wald: {
        "est_a": HALVES,
        "est_b": HALVES,
        "cov_a": multinomial(HALVES, 5),
        "cov_b": multinomial(HALVES, 5),
    },
    goodness.bit_total_fit: {"total_ones": 10},
    goodness.popcount_pvalue: {"statistic": 1.0, "nobs": 1000},
}

NO_TALLY = [[1.5], [-1], [11], [np.nan]]

BAD: dict[str, Any] = {
    "alpha": (*NO_PROBABILITY, 0.0, 1.0),
    "estimate": [[np.nan]],
    "se": [[np.nan], [-0.1]],
    "df": [0, -1, 1.5, np.nan],
    "skewness": [np.nan],
    "tally": NO_TALLY,
    "nobs": [0, -1, np.nan],
    "offset": [np.nan],
    "scale": [0.0, np.nan],
    "k": [0, -1, 2.5, "3"],
    "method": [said("tukey", "'bonferroni', '"), None],
    "alternative": [said("greater", "'larger', 'smaller'"), None],
    "interval": [said([0.3, 0.2], "low <= high"), said([0.3, np.nan], "low <= high"), [0.1]],
    "draws": [said(np.zeros((10, 2)), "at least 39"), said([[np.nan]] * 50, "NaN")],
    "z": [np.nan],
    "statistic": [[-1.0], [np.nan]],
    "p1": NO_PROBABILITY,
    "p0": NO_PROBABILITY,
    "total_ones": [31, -1],
    "pvalues": [said([0.1, np.nan], "NaN"), [0.1, 1.5], [-0.1], said([], "non-empty")],
    "shares": [[1.0], [0.5, 0.6], [1.0, 0.0], [1.5, -0.5], [np.nan, 0.5]],
    "R": [[[1.0]]],
    "counts": [
        *(said(n, "integer counts") for n in ([0.5, 1.5], [-1, 2], [np.nan, 1])),
        said([0, 0], "at least one report"),
    ],
    "m0": [said([0.5, 0.6], "sum to one")],
    "counts_b": [said([0, 0], "at least one report")],
    "est_b": [[0.1, 0.2, 0.7]],
}

MORE_BAD: dict[Callable[..., Any], dict[str, Any]] = {  # in place of the above
    tests.binomial_excess: {"offset": [np.nan, 1.2]},
    intervals.confidence_sequence: {"tally": [[-1], [11], [np.nan]]},  # or sums of scores
    tails.skewed_pvalue: {"z": [np.nan], "skewness": []},
    tails.continuity: {"skewness": []},  # of numbers that are checked
    tails.normal_pvalue: {"z": []},
    tails.chi2_pvalue: {"df": []},
    goodness.given_distribution: {"p0": [[1.0], [0.5, 0.6]], "estimate": []},
    goodness.popcount_pvalue: {"statistic": [], "nobs": []},  # of `popcount_fit`, which checks
    tests.wald: {"estimate": []},
}


def functions() -> Iterator[Callable[..., Any]]:
    for module in (intervals, tests, goodness, tails):
        for name, function in vars(module).items():
            own = inspect.isfunction(function) and function.__module__ == module.__name__
            if own and not name.startswith("_"):
                yield function


def cases() -> Iterator[Any]:
    for function in functions():
        taken = inspect.signature(function).parameters
        good = {**GOOD, **MORE.get(function, {})}
        good = {name: value for name, value in good.items() if name in taken}
        needed = {name for name, p in taken.items() if p.default is inspect.Parameter.empty}
        if needed <= set(good):
            bad = {**BAD, **MORE_BAD.get(function, {})}
            yield from refusals(function, good, {name: bad[name] for name in taken if name in bad})


CASES = [
    *cases(),
    # arguments that are named together, or do not go together
    *refuses(
        "skewness",
        lambda rate: intervals.skewed(0.1, 0.1, 0.0, rate),
        {"rate": said(np.nan, "and rate")},
    ),
    *refuses(
        "m0",
        lambda m0: goodness.pearson_given([1, 1, 1], m0),
        {"two of three": said(HALVES, "3 entries")},
    ),
    *refuses(
        "counts_b",
        lambda counts_b: goodness.two_sample_pearson([1, 1], counts_b),
        {"three of two": said([1, 1, 1], "2 outputs")},
    ),
    *refuses(
        "p1, p0",
        lambda p1: goodness.bit_total_fit(10, 10, k=3, p1=p1, p0=0.0),
        {"certain bits": said(1.0, "no randomness")},
    ),
    *refuses(
        "shares",
        lambda shares: tests.adjust([0.1, 0.2], "bh", shares),
        {"shares of Benjamini and Hochberg": HALVES},
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_a_bad_argument_is_named(case):
    case.check()


# Every name of the reference page of arrays, and those that version 0.2.0 documented elsewhere.

PAGE = Path(__file__).parents[2] / "vignettes/reference/arrays.md"

DOCUMENTED = re.findall(r"^   ([a-z_]+(?:\.\w+)+)$", PAGE.read_text(), re.MULTILINE)

BEFORE = {  # names by the module that they were documented in
    "information": "expected_information fpe16 observed_tangent_inverse tangent_inverse",
    "multiplicity": "adjust reject",
    "pearson": "given_distribution pearson_given several_samples_pearson several_samples_wald "
    "two_sample_pearson two_sample_wald",
    "selection": "selected_intervals",
    "skewness": "CellLaw path_cumulants",
    "tables.conditionals": "conditional conditionals",
    "tables.cramer": "cramers_v departures",
    "tables.cross_moments": "CrossMoments",
    "tables.fitted": "fitted_conditionals fitted_cramers_v",
    "tables.permutation_moments": "Cumulants moments score_cumulants",
    "tables.spread": "Spread",
    "tables.wald": "conditional_independence fpe16 homogeneity wald_independence wald_nonlinear",
}


def test_the_page_names_what_there_is():
    assert len(DOCUMENTED) > 60
    for name in DOCUMENTED:
        module, function = name.rsplit(".", 1)
        assert callable(getattr(importlib.import_module(f"ldpstats.inference.{module}"), function))


@pytest.mark.parametrize("module", BEFORE)
def test_former_modules_are_attributes(module):
    package, _, last = f"ldpstats.inference.{module}".rpartition(".")
    home = getattr(importlib.import_module(package), last)
    for name in BEFORE[module].split():
        assert getattr(home, name).__name__ == name


def test_other_attributes_are_missing():
    for package in ("ldpstats.inference", "ldpstats.inference.tables"):
        with pytest.raises(AttributeError, match="has no attribute 'none'"):
            getattr(importlib.import_module(package), "none")  # noqa: B009
