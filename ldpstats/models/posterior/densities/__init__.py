"""Log posteriors in unconstrained coordinates, as functions of arrays."""
