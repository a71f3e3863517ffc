"""A table with privatised columns: what respondents answer, and what the analyst holds."""
