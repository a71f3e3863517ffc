"""What a fitted regression says about the true answers."""
