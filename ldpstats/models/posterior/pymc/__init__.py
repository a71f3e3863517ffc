"""Privatised answers inside models of PyMC, which is not needed for anything else."""
