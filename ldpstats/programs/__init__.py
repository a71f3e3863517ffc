"""Randomising devices as data: their steps, and the exact law of what they report."""
