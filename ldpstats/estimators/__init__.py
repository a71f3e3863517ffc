"""Estimators: objects that turn a `Likelihood` or `Moments` problem into a `Solution`."""

from __future__ import annotations

from ldpstats.estimators.base import Estimator, LikelihoodEstimator, MomentsEstimator
from ldpstats.estimators.composite import Composite
from ldpstats.estimators.cvxpy_mle import CvxpyMLE
from ldpstats.estimators.em import EM
from ldpstats.estimators.inversion import Inversion
from ldpstats.estimators.lasso import Lasso
from ldpstats.estimators.minimax import Minimax
from ldpstats.estimators.mle import MLE
from ldpstats.estimators.moments_gls import MomentsGLS
from ldpstats.estimators.nnls import NNLS
from ldpstats.estimators.normalized import Normalized
from ldpstats.estimators.one_step import OneStep
from ldpstats.estimators.plain_em import PlainEM
from ldpstats.estimators.projected import Projected
from ldpstats.estimators.smoothed import Smoothed
from ldpstats.estimators.thresholded import Thresholded
from ldpstats.estimators.unweighted import Unweighted

__all__ = [
    "EM",
    "ESTIMATORS",
    "JOINT_ESTIMATORS",
    "MLE",
    "NNLS",
    "Composite",
    "CvxpyMLE",
    "Estimator",
    "Inversion",
    "Lasso",
    "LikelihoodEstimator",
    "Minimax",
    "MomentsEstimator",
    "MomentsGLS",
    "Normalized",
    "OneStep",
    "PlainEM",
    "Projected",
    "Smoothed",
    "Thresholded",
    "Unweighted",
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
    "lasso": Lasso,
    "cvxpy": CvxpyMLE,
    "smoothed": Smoothed,
    "em-fpe16": PlainEM,
    "unweighted": Unweighted,
    "minimax": Minimax,
}
"""What `FrequencyModel.fit` takes by name: ``fit("em")`` is ``fit(ESTIMATORS["em"]())``.

Examples
--------
>>> from ldpstats.estimators import ESTIMATORS
>>> ESTIMATORS["thresholded"]().name
'thresholded'
"""

# for the bits, the candidates, the order or the number of the categories of one variable
_ONE_VARIABLE = ("composite", "lasso", "minimax", "nnls", "smoothed", "unweighted")
JOINT_ESTIMATORS: dict[str, type[LikelihoodEstimator] | type[MomentsEstimator]] = {
    **{name: kind for name, kind in ESTIMATORS.items() if name not in _ONE_VARIABLE},
    "moments": Inversion,
    "moments-gls": MomentsGLS,
    "one_step": OneStep,
}
"""What `AssociationModel.fit` takes by name.

Examples
--------
>>> from ldpstats.estimators import ESTIMATORS, JOINT_ESTIMATORS
>>> sorted(JOINT_ESTIMATORS.keys() - ESTIMATORS.keys())
['moments', 'moments-gls', 'one_step']
"""
