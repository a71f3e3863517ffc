"""Posteriors: how fast they are drawn, and whether those of regressions are calibrated."""
