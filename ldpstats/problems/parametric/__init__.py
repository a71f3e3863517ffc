"""Channels with unknown parameters: polynomial matrices, their likelihood, identification."""
