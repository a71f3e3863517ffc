"""Likelihoods of regressions on privatised answers, as functions of arrays."""
