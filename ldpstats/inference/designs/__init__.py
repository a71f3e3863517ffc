"""Inference from complex samples: what a design makes of weighted totals, on arrays."""
