"""Regressions of answers to devices with unknown parameters."""
