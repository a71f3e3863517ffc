"""What a collector holds: reports, their counts, and the fingerprint of what made them."""
