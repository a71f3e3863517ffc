"""Intervals and tests of frequencies and unknown parameters together."""
