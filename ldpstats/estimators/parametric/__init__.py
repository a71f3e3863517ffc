"""Maxima of likelihoods with unknown parameters."""
