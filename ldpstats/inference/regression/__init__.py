"""Tests, intervals and margins of regressions, as functions of arrays."""
