"""Results of complex samples: weighted frequencies, in all or in domains, and weighted tables."""
