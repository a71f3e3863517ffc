"""Estimators: objects that turn a `Likelihood` or `Moments` problem into a `Solution`."""

from __future__ import annotations

from ldpstats.estimators.base import Estimator, LikelihoodEstimator, MomentsEstimator
from ldpstats.estimators.likelihood import EM, MLE, Composite, CvxpyMLE, OneStep, Smoothed
from ldpstats.estimators.moments import (
    NNLS,
    Inversion,
    Lasso,
    Minimax,
    MomentsGLS,
    Projected,
    Thresholded,
)
from ldpstats.estimators.printed import Normalized, PlainEM, Unweighted

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
