"""Files of google/rappor: parameters, reports, counts and maps."""
