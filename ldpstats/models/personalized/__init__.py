"""Frequencies from respondents who protect categories of their own (PUM, MK19)."""
