"""Which of the package's own mechanisms a device is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd

from ldpstats.arguments.checks import EPSILON_RANGE
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.binary import ForcedResponse, Mangat, UnrelatedQuestion, Warner
from ldpstats.mechanisms.krr import KRR
from ldpstats.programs.laws import Law
from ldpstats.programs.privacy import nearest_log
from ldpstats.programs.steps import Question, Step

__all__ = ["recognised"]


def recognised(
    device: Step, law: Law, outputs: pd.Index[Any], ratio: Fraction | float
) -> Mechanism | None:
    """The package's mechanism with this law; None if there is none."""
    k = len(law.categories)
    if tuple(outputs) != law.categories:
        return None
    if k == 2:
        return _binary(device, law)
    even = law.even
    if even is None or even.extra or not even.own > 0 or not even.base > 0:  # type: ignore[operator]
        return None
    epsilon = nearest_log(ratio)
    low, high = EPSILON_RANGE
    return KRR(law.categories, epsilon) if low <= epsilon <= high else None


def _binary(device: Step, law: Law) -> Mechanism | None:
    """A yes/no design, by P(yes | no) and P(yes | yes)."""
    (_, other), (_, own) = law.rows
    labels = law.categories
    assert isinstance(own, Fraction) and isinstance(other, Fraction)
    if own <= other:
        return None
    if own + other == 1 and own < 1:
        epsilon = nearest_log(own / other)
        low, high = EPSILON_RANGE
        return Warner(epsilon=epsilon, categories=labels) if low <= epsilon <= high else None
    if float(own - other) in (0.0, 1.0) and own - other != 1:  # too near to be told in floats
        return None
    if own == 1 and other > 0:
        return Mangat(p=float(1 - other), categories=labels)
    design: Mechanism = ForcedResponse(
        p_truth=float(own - other), p_yes=float(other), categories=labels
    )
    if _asks(device) and own - other < 1:
        design = UnrelatedQuestion(
            p=float(own - other), prevalence=float(other / (1 - own + other)), categories=labels
        )
    return design if _faithful(design, law) else None


def _faithful(design: Mechanism, law: Law) -> bool:
    """Whether floats hold every probability, the small ones too."""
    Q = design.channel().matrix()
    exact = [Fraction(p) for row in law.rows for p in row]  # type: ignore[arg-type]
    pairs = zip(Q.ravel().tolist(), exact, strict=True)
    return all(abs(Fraction(q) - p) <= p / 10**12 for q, p in pairs)


def _asks(step: Step) -> bool:
    """Whether an unrelated question is asked."""
    return isinstance(step, Question) or any(map(_asks, step.children))
