"""Strings that nobody listed: the survey that finds them, and their frequencies."""
