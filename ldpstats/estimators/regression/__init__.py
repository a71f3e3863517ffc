"""Estimating equations and maxima of regressions on privatised answers."""
