"""Rows of the likelihood matrix W by structure; one file a structure."""
