"""Prior laws: of frequencies, tables, coefficients and unknown parameters."""

from ldpstats.priors.base import SimplexPrior
from ldpstats.priors.beta import Beta
from ldpstats.priors.dirichlet import Dirichlet
from ldpstats.priors.logistic_normal import LogisticNormal
from ldpstats.priors.margins import Margins
from ldpstats.priors.normal import Normal
from ldpstats.priors.pooling import Pooling

__all__ = ["Beta", "Dirichlet", "LogisticNormal", "Margins", "Normal", "Pooling", "SimplexPrior"]
