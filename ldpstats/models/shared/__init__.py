"""What all results are: tests, contrasts, tables, axes."""
