"""Posteriors of what privatised reports tell: results of all models."""
