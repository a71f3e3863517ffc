"""Change between two waves: the same persons asked the same question twice."""
