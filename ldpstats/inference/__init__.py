"""Intervals, tests, information and multiplicity: functions of arrays, no mechanisms, no models.

Nothing here knows where an estimate comes from. The models call these functions on one survey;
coverage simulations call them on thousands at once, because they accept leading axes.

- `information`: Fisher information, and the covariance of a maximum likelihood estimate.
- `intervals`, `ratio`: Wald, exact, Wilson, profile, percentile, simultaneous, Fieller.
- `tests`: `TestResult`, z, Wald and chi-square tests of one or two distributions.
- `association`, `permutation_moments`, `permutation`, `tables`: are two or three variables
  associated? Tests from the moments of the reports' features (`moments`), with the law that these
  have under permutation, by permutation, from an estimated table.
- `effects`: conditional distributions, risk differences and ratios, odds ratios, Cramer's V.
- `goodness`: does the channel itself fit the reports?
- `multiplicity`: Bonferroni, Holm and Benjamini-Hochberg.
- `tails`: critical values and p-values.

Import the module that you need, for example ``from ldpstats.inference import intervals``.
"""
