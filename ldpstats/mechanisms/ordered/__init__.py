"""Mechanisms for ordered categories and binned numbers."""
