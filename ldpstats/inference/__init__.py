"""Intervals, tests, information and multiplicity: functions of arrays, without models.

Leading axes are surveys, so that a simulation calls these functions once.

- `intervals`: Wald, Scheffe, score, exact, Wilson, profile and percentile intervals, also within
  [0, 1].
- `tests`: `TestResult`, z, Wald and exact binomial tests; Bonferroni, Holm and
  Benjamini-Hochberg; intervals after selection.
- `information`: Fisher information, and the covariance of a maximum likelihood estimate.
- `goodness`: tests of the channel itself, and chi-square tests of one distribution or several, also
  of few reports.
- `tables`: tests of association by moments, permutation or an estimated table; conditional
  probabilities, risk differences and ratios, odds ratios, Cramer's V.
- `tails`: critical values and p-values, and intervals from skewed laws.
- `profiles`, `regression`, `chains`, `designs`: what models with parameters, regressions,
  posteriors and complex samples are computed with.

Import the module that you need, for example ``from ldpstats.inference import intervals``.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_HOMES = {  # modules of version 0.2.0: where their functions are now
    "multiplicity": "tests",
    "pearson": "goodness",
    "selection": "tests",
    "skewness": "tails",
}


def __getattr__(name: str) -> ModuleType:
    if name in _HOMES:
        return import_module(f"{__name__}.{_HOMES[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
