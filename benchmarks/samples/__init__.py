"""Complex samples of privatised answers, simulated: what `complex_samples.py` measures."""
