"""Intervals, tests, information and multiplicity: functions of arrays, without models.

Leading axes are surveys, so that a simulation calls these functions once.

- `information`: Fisher information, and the covariance of a maximum likelihood estimate.
- `intervals`: Wald, Scheffe, score, exact, Wilson, profile and percentile intervals.
- `tests`: `TestResult`, z, Wald and exact binomial tests; `pearson`: chi-square tests.
- `tables`: tests of association by moments, permutation or an estimated table; conditional
  probabilities, risk differences and ratios, odds ratios, Cramer's V.
- `goodness`: tests of the channel itself.
- `multiplicity`: Bonferroni, Holm and Benjamini-Hochberg.
- `skewness`, `selection`: intervals from skewed laws, and after selection.
- `tails`: critical values and p-values.

Import the module that you need, for example ``from ldpstats.inference import intervals``.
"""
