"""Intervals, tests, information and multiplicity: functions of arrays, no mechanisms, no models.

Nothing here knows where an estimate comes from. The models call these functions on one survey;
coverage simulations call them on thousands at once, because they accept leading axes.

- `information`: Fisher information, and the covariance of a maximum likelihood estimate.
- `intervals`: Wald, exact, Wilson, profile, percentile, simultaneous, Fieller.
- `tests`: `TestResult`, z, Wald and chi-square tests of one or two distributions.
- `tables`: are two or three variables associated, and how strongly? Tests from the moments of the
  reports' features, by permutation or from an estimated table; risk differences and ratios, odds
  ratios, Cramer's V.
- `goodness`: does the channel itself fit the reports?
- `multiplicity`: Bonferroni, Holm and Benjamini-Hochberg.
- `tails`: critical values and p-values.

Import the module that you need, for example ``from ldpstats.inference import intervals``.
"""
