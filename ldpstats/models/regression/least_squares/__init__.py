"""Least squares of scores of privatised answers."""
