"""Random reports from 64-bit words and integer thresholds, and the epsilon they realise exactly."""
