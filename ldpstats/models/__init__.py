"""What an analyst fits: one folder a kind of survey."""
