"""Likelihoods and estimating equations of regressions on privatised answers."""
