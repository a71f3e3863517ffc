"""Prior laws: of frequencies, tables, coefficients and unknown parameters."""

from ldpstats.priors.base import SimplexPrior
from ldpstats.priors.dirichlet import Dirichlet

__all__ = ["Dirichlet", "SimplexPrior"]
