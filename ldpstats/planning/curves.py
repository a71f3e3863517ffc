"""What privacy costs in precision: curves over epsilon, by kind of mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import (
    EPSILON_RANGE,
    listed,
    one_of,
    positive_epsilon,
    positive_integer,
)
from ldpstats.arguments.labels import as_labels, preview
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.observed import Observed
from ldpstats.planning.contenders import KINDS, contenders
from ldpstats.planning.expected_precision import place_of_category, precision
from ldpstats.planning.respondents import sample_size
from ldpstats.planning.variances import check_mechanism, expected_shares

__all__ = ["Curves", "Measure", "curves"]

Array = npt.NDArray[Any]

_RANGE = (0.1, 8.0)  # of epsilon, by default
_POINTS = 41
_MOST_POINTS = 1000
_REMEDY = f"must be a list of mechanisms and of kinds, which are {', '.join(map(repr, KINDS))}"


@dataclass(frozen=True, eq=False)
class Measure:
    """A standard error with `n` respondents, or the respondents for `se`: one of them is None.

    The largest of all categories, or that of `category`.
    """

    law: pd.Series[Any]
    n: int | None
    se: float | None
    category: Any = None
    design_effect: float = 1.0

    def of(self, mechanism: Mechanism) -> float:
        law, deff = self.law, self.design_effect
        among = tuple(law.index) if mechanism.is_open else None
        if self.n is None:
            of: dict[str, Any] = {"se": self.se, "category": self.category, "candidates": among}
            return float(sample_size(mechanism, law, design_effect=deff, **of))
        se = precision(mechanism, law, self.n, deff, among).se.to_numpy()
        if self.category is None:
            return float(se.max())
        return float(se[place_of_category(self.category, law.index)])


@dataclass(frozen=True, eq=False)
class Curves:
    """A measure of kinds over epsilons, of mechanisms at their own, and without privacy.

    Parameters
    ----------
    measure : Measure
    epsilons : array, shape (e,)
    lines : mapping from titles of kinds to array, shape (e,)
    dots : sequence of (name, epsilon, value)
    direct : float
    """

    measure: Measure
    epsilons: Array
    lines: Mapping[str, Array]
    dots: Sequence[tuple[str, float, float]]
    direct: float


def curves(
    mechanisms: Any, categories: Any, p: Any, epsilons: Any, n: Any, se: Any, **how: Any
) -> Curves:
    """The curves of `plot_frontier`; `how` are the category that counts and the design effect."""
    kinds, points = _split(mechanisms)
    labels = _labels(categories, points)
    at = _grid(epsilons)
    made = contenders(labels, 1.0, kinds)
    law = pd.Series(expected_shares(p, labels), index=labels)
    measure = Measure(law, *_target(n, se), **how)
    if not made and not points:
        remedy = f"have none for {len(labels)} categories"
        raise InvalidArgument("mechanisms", kinds, remedy)
    values: dict[str, list[float]] = {}
    for epsilon in at.tolist():
        for kind, mechanism in contenders(labels, epsilon, kinds).values():
            values.setdefault(kind.title, []).append(measure.of(mechanism))
    dots = [(str(m), m.epsilon, measure.of(_of_the_labels(m, labels))) for m in points]
    lines = {title: np.array(line) for title, line in values.items()}
    return Curves(measure, at, lines, dots, measure.of(Observed(labels)))


def _split(mechanisms: Any) -> tuple[list[str], list[Mechanism]]:
    """Kinds to draw as lines, each once, and mechanisms to draw as points."""
    if mechanisms is None:
        return list(KINDS), []
    given = listed("mechanisms", mechanisms, _REMEDY)
    if not given:
        raise InvalidArgument("mechanisms", mechanisms, _REMEDY)
    kinds, points = dict[str, None](), list[Mechanism]()
    for i, one in enumerate(given):
        if isinstance(one, str):
            kinds[one_of(f"mechanisms[{i}]", one, KINDS)] = None
        else:
            points.append(check_mechanism(one, f"mechanisms[{i}]"))
    return list(kinds), points


def _labels(categories: Any, points: Sequence[Mechanism]) -> pd.Index[Any]:
    if categories is not None:
        return as_labels("categories", categories)
    closed = [m for m in points if not m.is_open]
    if not closed:
        remedy = "must be given: the categories, or the candidates of an open alphabet"
        raise InvalidArgument("categories", None, remedy)
    return closed[0].categories


def _of_the_labels(mechanism: Mechanism, labels: pd.Index[Any]) -> Mechanism:
    """A mechanism that has these categories, or an open alphabet, and some privacy."""
    if not (np.isfinite(mechanism.epsilon) and mechanism.epsilon > 0.0):
        remedy = "must have a finite epsilon: a survey without privacy is drawn in any case"
        raise InvalidArgument("mechanisms", str(mechanism), remedy)
    own = labels if mechanism.is_open else mechanism.categories
    if len(own) != len(labels) or not own.astype(object).isin(labels.astype(object)).all():
        remedy = f"must have the categories {preview(labels)}"
        raise InvalidArgument("mechanisms", str(mechanism), remedy)
    return mechanism


def _target(n: Any, se: Any) -> tuple[int | None, Any]:
    if (n is None) == (se is None):
        remedy = "give one of n=, for standard errors, and se=, for respondents"
        raise InvalidArgument("n", n, remedy)
    return (None if n is None else positive_integer("n", n)), se


def _grid(epsilons: Any) -> Array:
    """Increasing epsilons of the lines."""
    if epsilons is None:
        return np.geomspace(*_RANGE, _POINTS)
    low, high = EPSILON_RANGE
    remedy = f"must be from 2 to {_MOST_POINTS} different numbers from {low:g} to {high:g}"
    given = listed("epsilons", epsilons, remedy)
    found = sorted({positive_epsilon(f"epsilons[{i}]", value) for i, value in enumerate(given)})
    if not 2 <= len(found) <= _MOST_POINTS:
        raise InvalidArgument("epsilons", epsilons, remedy)
    return np.array(found)
