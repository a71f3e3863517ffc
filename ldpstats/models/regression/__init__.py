"""Regression on privatised answers."""
