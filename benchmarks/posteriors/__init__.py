"""Simulation-based calibration of posteriors."""
