"""Posterior distributions of what privatised answers tell."""
