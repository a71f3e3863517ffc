"""Files of reports about strings that nobody listed."""
