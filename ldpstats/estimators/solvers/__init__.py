"""What iterates: one algorithm a file, certified by the gap, for the estimators above."""
