"""From formulas and tables to the arrays of a regression."""
