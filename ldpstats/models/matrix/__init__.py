"""Association of several variables, pair by pair."""
