"""Moments of the joint distribution of several variables, from products of features."""
