"""Regression of and on privatised answers."""
