"""Regressions on privatised answers, simulated: what `regressions.py` measures."""
