"""One variable in several groups of respondents."""
