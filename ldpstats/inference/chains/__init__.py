"""Draws from a posterior: Hamiltonian Monte Carlo and what tells whether to trust it."""
