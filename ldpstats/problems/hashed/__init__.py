"""Hashed candidates: the equations of their cohorts, and the moments these give."""
