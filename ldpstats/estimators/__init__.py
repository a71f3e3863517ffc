"""Estimators: objects that turn a `Likelihood` or `Moments` problem into a `Solution`."""

from __future__ import annotations

from ldpstats.estimators.base import Estimator, LikelihoodEstimator, MomentsEstimator
from ldpstats.estimators.composite import Composite
from ldpstats.estimators.cvxpy_mle import CvxpyMLE
from ldpstats.estimators.em import EM
from ldpstats.estimators.inversion import Inversion, linear_map
from ldpstats.estimators.mle import MLE
from ldpstats.estimators.nnls import NNLS
from ldpstats.estimators.normalized import Normalized
from ldpstats.estimators.projected import Projected
from ldpstats.estimators.thresholded import Thresholded

__all__ = [
    "EM",
    "ESTIMATORS",
    "MLE",
    "NNLS",
    "Composite",
    "CvxpyMLE",
    "Estimator",
    "Inversion",
    "LikelihoodEstimator",
    "MomentsEstimator",
    "Normalized",
    "Projected",
    "Thresholded",
    "linear_map",
]

ESTIMATORS: dict[str, type[LikelihoodEstimator] | type[MomentsEstimator]] = {
    "mle": MLE,
    "em": EM,
    "inversion": Inversion,
    "normalized": Normalized,
    "projected": Projected,
    "thresholded": Thresholded,
    "nnls": NNLS,
    "composite": Composite,
    "cvxpy": CvxpyMLE,
}
