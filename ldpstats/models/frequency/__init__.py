"""The frequencies of one privatised variable."""
