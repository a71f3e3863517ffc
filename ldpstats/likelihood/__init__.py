"""The two problems that every estimator solves, `Likelihood` and `Moments`, and their parts."""

from __future__ import annotations
