"""What maximises the likelihood of a regression."""
