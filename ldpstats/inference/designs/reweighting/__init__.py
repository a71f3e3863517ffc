"""Weights that reproduce population totals, or are cut, and variances since."""
