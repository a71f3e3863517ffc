"""Changes of the weights of a survey: calibration to population totals, and trimming."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import boolean, listed, one_of, real_number
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.reweighting.calibration import calibrate
from ldpstats.inference.designs.reweighting.distances import Distance, Linear, Logit, Raking
from ldpstats.inference.designs.reweighting.samples import Step, calibrated_sample
from ldpstats.inference.designs.reweighting.trimming import trimmed
from ldpstats.inference.designs.sample import Sample
from ldpstats.survey.held import Held
from ldpstats.survey.sample.margins import Margin, margin_cells

__all__ = ["Calibration", "Trimming", "WeightChange", "adjusted", "distance_of", "trimming_of"]

Array = npt.NDArray[Any]

_METHODS: dict[str, type[Distance]] = {"raking": Raking, "linear": Linear, "logit": Logit}
_BOUNDS = "must be a pair (low, high) of what weights may be multiplied by, None where open"


class WeightChange(ABC):
    """A change of weights that was asked for; it is made anew in every analysis."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs, beside the weights."""


@dataclass(frozen=True)
class Trimming(WeightChange):
    """Weights outside of bounds are cut."""

    column: str  # of the weights: on an engine respondents are told apart by it
    lower: float
    upper: float
    strict: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def __str__(self) -> str:
        return f"trimmed to {self.lower:g} to {self.upper:g}"

    def factors(self, sample: Sample) -> Array:
        """What the weight of each cell is multiplied by, shape (c,)."""
        one = sample.w / sample.n
        if np.any(np.abs(sample.w2 - sample.w * one) > 1e-9 * sample.w2):
            raise NotAvailable(
                "trim: cells of this table hold respondents of several weights: read it into "
                "memory, or trim the column of weights before"
            )
        return trimmed(one, sample.n, self.lower, self.upper, self.strict) / one


@dataclass(frozen=True)
class Calibration(WeightChange):
    """Weights that reproduce population totals."""

    given: tuple[Margin, ...] = field(repr=False)
    distance: Distance = field(default_factory=Raking)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for margin in self.given for name in margin.columns))

    def __str__(self) -> str:
        return f"calibrated to {', '.join(margin.name for margin in self.given)}"


@dataclass(frozen=True, eq=False)
class Adjusted:
    """A sample with changed weights, and what was done."""

    sample: Sample
    trimmings: tuple[Array, ...] = ()  # factors of the weights of cells, (c,)
    at: npt.NDArray[np.int64] | None = None
    steps: tuple[Step, ...] = ()


def adjusted(cells: Held, sample: Sample, changes: Sequence[WeightChange]) -> Adjusted:
    """Change the weights of a whole sample, whose cells the rows of a table are.

    Those that trimming leaves are the weights of the design from there on.
    """
    trimmings = []
    for change in changes:
        if isinstance(change, Trimming):
            trimmings.append(change.factors(sample))
            sample = sample.times(trimmings[-1])
    asked = [change for change in changes if isinstance(change, Calibration)]
    if not asked:
        return Adjusted(sample, tuple(trimmings))
    found = margin_cells(cells, [one for change in asked for one in change.given], sample.n)
    weights = np.bincount(found.at, sample.w)
    steps = []
    for change in asked:
        margins = found.margins(change.given)
        solved = calibrate(weights, margins, change.distance)
        steps.append(Step(margins, change.distance, solved))
        weights = weights * solved.factors
    made = calibrated_sample(sample, found.at, steps)
    return Adjusted(made, tuple(trimmings), found.at, tuple(steps))


def distance_of(method: object, bounds: object) -> Distance:
    """The distance that a user named."""
    name = one_of("method", method, tuple(_METHODS))
    low, high = _bounds(bounds)
    if name == "logit" and not 0.0 <= low < 1.0 < high < np.inf:
        remedy = "logit needs two finite bounds, below and above one, such as (0.3, 3)"
        raise InvalidArgument("bounds", bounds, remedy)
    return _METHODS[name](low, high)


def _bounds(bounds: object) -> tuple[float, float]:
    if bounds is None:
        return -np.inf, np.inf
    pair = listed("bounds", bounds, _BOUNDS)
    if len(pair) != 2:
        raise InvalidArgument("bounds", bounds, _BOUNDS)
    low, high = (
        end if one is None else real_number("bounds", one, _BOUNDS)
        for one, end in zip(pair, (0.0, np.inf), strict=True)
    )
    if not 0.0 <= low < high:
        raise InvalidArgument("bounds", bounds, f"{_BOUNDS}: 0 <= low < high")
    return low, high


def trimming_of(column: str, lower: object, upper: object, strict: object) -> Trimming:
    """Check the arguments of `Survey.trim`."""
    remedy = "must be a positive finite number, the {} weight"
    ends = []
    for name, value, end in (("lower", lower, 0.0), ("upper", upper, np.inf)):
        number = end
        if value is not None:
            words = remedy.format("least" if name == "lower" else "largest")
            number = real_number(name, value, words)
            if not 0.0 < number < np.inf:
                raise InvalidArgument(name, value, words)
        ends.append(number)
    if lower is None and upper is None:
        raise InvalidArgument("upper", None, "give the largest weight, upper=, or lower=, or both")
    if not ends[0] < ends[1]:
        raise InvalidArgument("lower", lower, f"must be below upper, {ends[1]:g}")
    return Trimming(column, ends[0], ends[1], boolean("strict", strict))
