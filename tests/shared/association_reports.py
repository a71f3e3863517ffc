"""Reports on two and three variables of every kind, and their fits."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp

Model, Joint = ldp.AssociationModel, ldp.JointCounts

N = 240
ABC, YES, WORDS = ("a", "b", "c"), ("no", "yes"), ("apple", "pear", "plum")
KRR, KR2 = ldp.KRR(ABC, epsilon=2.0), ldp.KRR(YES, epsilon=2.0)
UNARY = ldp.KRAPPOR(ABC, epsilon=2.0)
BLOOM = ldp.RAPPOR(16, 2, 4, f=0.0, p=0.25, q=0.75)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def reports(mechanism: Any, values: Any, seed: int = 1, n: int = N) -> ldp.Reports:
    g = rng(seed)
    return mechanism.privatize(pd.Index(values).take(g.integers(0, len(values), n)), g)  # type: ignore[no-any-return]


X, Y, Z = reports(KRR, ABC), reports(KR2, YES, 2), reports(KR2, YES, 3)
U = reports(UNARY, ABC, 4)
B, B2 = reports(BLOOM, WORDS, 5), reports(BLOOM, WORDS, 6)

MISSING = KRR.privatize(["a", None, *["b"] * N], rng(), missing="count")
IDS = np.arange(N)


def fitted(*data: Any, method: Any = None, **how: Any) -> ldp.AssociationResults:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Model(*data, **how).fit(method)


def redrawn(*data: Any, **how: Any) -> ldp.TestResult:
    """The test that simulates surveys, which is the model's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Model(*data, **how)
        return model.test_independence(model.fit(), "bootstrap", rng=rng())


def two() -> ldp.AssociationResults:
    return fitted(X, Y, names=("job", "late"))
