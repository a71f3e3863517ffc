"""Prior laws: of frequencies, tables, coefficients and unknown parameters."""

from ldpstats.priors.base import SimplexPrior
from ldpstats.priors.dirichlet import Dirichlet
from ldpstats.priors.logistic_normal import LogisticNormal
from ldpstats.priors.normal import Normal

__all__ = ["Dirichlet", "LogisticNormal", "Normal", "SimplexPrior"]
