"""Mechanisms whose reports are hashed, so that the list of answers can come later."""
