"""Power of the tests of a survey that is planned, and the respondents that a power needs.

`power` and its inverses: the smallest detectable effect, and the sample size of any target. Then
what these are for: objectives of a recommendation, and the list of mechanisms that
plans choose among.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    Printed,
    level,
    one_of,
    positive_integer,
    probability,
    real_number,
    record,
)
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable
from ldpstats.estimators.solvers import root
from ldpstats.hints import guided
from ldpstats.inference.tails import normal_critical
from ldpstats.labels import align
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.blocks import HadamardResponse, ProjectiveGeometryResponse, SubsetSelection
from ldpstats.mechanisms.hashed import OLH
from ldpstats.mechanisms.krr import KRR, Warner
from ldpstats.mechanisms.unary import KRAPPOR
from ldpstats.models.layout import one_line
from ldpstats.planning.expected_precision import (
    Setting,
    check_mechanism,
    effect_of_design,
    place_of_category,
    precision,
    setting,
    standard_errors,
)
from ldpstats.planning.goals import Goal, IndependenceTest, Ray
from ldpstats.planning.laws import PlannedTest

__all__ = ["Detectable", "minimum_detectable", "power", "sample_size"]

_MOST = 2**53  # respondents
_WINDOW = 1 << 15  # respondents below a solution that are looked at one by one
_BLOCK = 1 << 14
_NEVER = (
    "power: no number of respondents that a survey can have reaches it; the reports hardly depend "
    "on what the goal asks"
)


@guided
def power(
    mechanism: Any, goal: Goal, n: int, alpha: float = 0.05, design_effect: float = 1.0
) -> float:
    """Probability that the package's test finds what a survey is to find out.

    Every goal names the test that results run by default; the power is that of this test, with the
    mechanism's own law of reports under the null hypothesis and under the truth. If the truth is
    the null hypothesis it is the size of the test.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism, `Observed` for answers without privacy. For `IndependenceTest` a pair, one
        for each variable; for `GroupsTest` one for all groups, or a list of one for each.
    goal : ValueTest, GroupsTest, PresenceTest, IndependenceTest or CoefficientTest
        What is to be found out, and the truth.
    n : int
        Respondents, of all groups together.
    alpha : float
        Level of the test.
    design_effect : float
        Factor by which the sampling design multiplies variances: n respondents count as
        n / design_effect.

    Raises
    ------
    InvalidArgument
        If an argument is invalid, or the goal does not fit the mechanism.
    NotIdentified
        If the reports leave open what the goal asks.
    NotAvailable
        If the law of the reports cannot be computed.

    Examples
    --------
    Does the share of "yes" differ from one quarter? 2,000 answers, in the open and by Warner's
    design:

    >>> import ldpstats as ldp
    >>> goal = ldp.planning.ValueTest([0.7, 0.3], category="yes", value=0.25)
    >>> asked = ldp.Observed(("no", "yes"))
    >>> round(ldp.planning.power(asked, goal, n=2000), 3)
    0.999
    >>> round(ldp.planning.power(ldp.Warner(epsilon=1.0), goal, n=2000), 3)
    0.566
    """
    ray, number = planned(mechanism, goal), positive_integer("n", n)
    return power_at(ray.test(1.0, level(alpha)), number, effect_of_design(design_effect))


def power_at(test: PlannedTest, n: int, design_effect: float) -> float:
    """Power of one test."""
    return float(test.power(np.array([n / design_effect]))[0])


def planned(mechanism: Any, goal: object) -> Ray:
    """The goal in a survey with this mechanism."""
    if not isinstance(goal, Goal):
        if not isinstance(mechanism, list | tuple):
            check_mechanism(mechanism)
        remedy = "must be a goal of planning, for example ValueTest(p, category, value)"
        raise InvalidArgument("goal", goal, remedy)
    return goal.ray(mechanism)


def checked_power(power: object, alpha: float) -> float:
    """A power that is asked for: above the level of the test."""
    asked = probability("power", power, zero=False, one=False)
    if asked <= alpha:
        remedy = f"must be above alpha = {alpha:g}, which a test has without any respondent"
        raise InvalidArgument("power", power, remedy)
    return asked


def asked_power(
    ray: Ray, goal: Goal, power: object, alpha: float, design_effect: object, why: str
) -> tuple[PlannedTest, float, float]:
    """The test of a goal whose truth is not its null, a power above alpha, the design effect."""
    asked = checked_power(power, alpha)
    effect, test = effect_of_design(design_effect), ray.test(1.0, alpha)
    if not test.differs:
        remedy = f"has the null hypothesis for its truth{why}"
        raise InvalidArgument("goal", goal.words, remedy)
    return test, asked, effect


def needed(test: PlannedTest, asked: float, design_effect: float) -> int:
    """The smallest number of respondents with which a test has the power.

    Tests of counts have a power that goes up and down as n grows. Of all numbers this is the
    first, up to about a million; beyond, of those near it.
    """
    # A number that is enough while one fewer is not
    last = smallest(lambda n: power_at(test, n, design_effect) >= asked, 0, 1, _MOST, _NEVER)
    back = int(min(_WINDOW, last - 1, math.ceil(design_effect * test.zigzag(last / design_effect))))
    for start in range(last - back, last, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, last))
        reached = test.power(block / design_effect) >= asked
        if reached.any():
            return int(block[int(np.argmax(reached))])
    return last


# -- The smallest effect that a survey finds with a given power -----------------------------------


_FARTHEST = 2.0**12  # multiple of a departure that has no bounds


@record
class Detectable(Printed):
    """The smallest effect that is found with a given power.

    Parameters
    ----------
    value : float
        The effect, also ``float(...)`` of this object, in the units of the goal: a frequency
        (`ValueTest`), a share (`PresenceTest`), a difference of two frequencies or Cramer's V of
        the true answers (`GroupsTest`, with and without a category), Cramer's V
        (`IndependenceTest`), a coefficient (`CoefficientTest`).
    unit : str
        What `value` is, in words.
    multiple : float
        The effect as a multiple of the departure of the goal's truth from its null hypothesis.
    truth : Series or DataFrame
        The truth that has this effect, on the ray from the null hypothesis to the goal's truth.
    power, alpha, design_effect : float
    n : int
        What the effect was computed for.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.ValueTest([0.7, 0.3], category="yes", value=0.25)
    >>> found = ldp.planning.minimum_detectable(ldp.Warner(epsilon=1.0), goal, n=10_000)
    >>> print(found)
    With 10000 respondents, power 0.8 at alpha 0.05: frequency of 'yes' 0.2796.
    """

    value: float
    unit: str
    multiple: float
    truth: Any
    power: float
    n: int
    alpha: float
    design_effect: float

    def __repr__(self) -> str:
        return f"Detectable({self.value:.6g}, {self.unit}, power={self.power:g}, n={self.n})"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"With {self.n} respondents, power {self.power:g} at alpha {self.alpha:g}: "
            f"{self.unit} {self.value:.4g}."
        )

    def summary(self) -> str:
        """The effect in plain sentences, with the truth that has it."""
        text = (
            f"The smallest effect that {self.n} respondents find with probability "
            f"{self.power:g}, by a test of level {self.alpha:g}, is {self.unit} {self.value:.4g}."
        )
        if self.design_effect != 1.0:
            text += f" The design effect is {self.design_effect:g}."
        ratio = f"{self.multiple:.3g} times the departure of the goal"
        shown = pd.DataFrame(self.truth).round(4).to_string(max_rows=20)
        return f"{text} It is {ratio} from its null hypothesis. The truth is then\n{shown}"


@guided
def minimum_detectable(
    mechanism: Any,
    goal: Goal,
    n: int,
    power: float = 0.8,
    alpha: float = 0.05,
    design_effect: float = 1.0,
) -> Detectable:
    """The smallest effect that n respondents find with a given power.

    It is looked for on the ray from the goal's null hypothesis through its truth, beyond the truth
    too, as far as it leads to distributions: the truth of the goal says the direction.

    Parameters
    ----------
    mechanism, goal, n, alpha, design_effect
        As in `power`.
    power : float
        Power that is asked for, above alpha.

    Returns
    -------
    Detectable
        The effect as a `value` in the goal's units (a difference of 0.03 is three percentage
        points), and the `truth` that has it, of which `planning.power` is the power asked for.

    Raises
    ------
    InvalidArgument
        As in `power`; if the truth of the goal is its null hypothesis, which has no direction; or
        if no effect on the ray reaches the power: the message has the n that is needed for the
        largest one.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.PresenceTest([0.6, 0.38, 0.02], category="spy")
    >>> krr = ldp.KRR(("nurse", "cook", "spy"), epsilon=1.0)
    >>> found = ldp.planning.minimum_detectable(krr, goal, n=10_000)
    >>> round(found.value, 4)
    0.0338
    """
    ray, number, alpha = planned(mechanism, goal), positive_integer("n", n), level(alpha)
    why = ", which gives no direction"
    _, asked, effect = asked_power(ray, goal, power, alpha, design_effect, why)

    def excess(multiple: Any) -> float:
        if multiple == 0.0:
            return alpha - asked
        return power_at(ray.test(multiple, alpha), number, effect) - asked

    end = ray.most
    if end >= _FARTHEST:  # doubled until the power is reached; where none reaches it, the best
        end = multiple = 1.0
        most = excess(end)
        while most < 0.0 and multiple < _FARTHEST:
            multiple *= 2.0
            higher = excess(multiple)
            if higher <= most:  # extreme effects are as hard to see as small ones
                break
            end, most = multiple, higher
    if excess(end) < 0.0:
        largest = f"{ray.unit} {ray.effect(end):.4g}"
        remedy = f"no effect has power {asked:g}, up to the largest, {largest}"
        try:
            remedy += f"; that needs n = {needed(ray.test(end, alpha), asked, effect)}"
        except LDPError:
            remedy += "; nor with any other n"
        raise InvalidArgument("n", number, remedy)
    multiple = float(root(lambda at: -excess(at), 0.0, end, xtol=1e-12 * end))
    value, truth = ray.effect(multiple), ray.truth(multiple)
    return Detectable(value, ray.unit, multiple, truth, asked, number, alpha, effect)


# -- How many respondents a survey needs ----------------------------------------------------------


_LARGEST = 2**63 - 1
_LEAST = 1e-150  # of a target, whose square does not vanish
_TOO_LARGE = {"se": 0.5, "width": 1.0}  # which every share has
_POWER = 0.8
_TOO_FEW = (
    "2**63 respondents do not reach the target: ask for less precision or power, or use a larger "
    "epsilon"
)


@guided
def sample_size(
    mechanism: Mechanism,
    p: npt.ArrayLike | None = None,
    se: float | None = None,
    width: float | None = None,
    relative: float | None = None,
    category: Any = None,
    design_effect: float = 1.0,
    alpha: float = 0.05,
    candidates: Any = None,
    goal: Goal | None = None,
    power: float | None = None,
    method: str = "mle",
) -> int:
    """The smallest number of respondents whose estimates are as precise, or powerful, as asked.

    The inverse of `precision`: with so many the worst category, or the one named, reaches the
    target, and with one respondent fewer it does not. With a `goal` the inverse of `power`.

    Parameters
    ----------
    mechanism, p, design_effect, candidates, method
        As in `precision`; a `goal` has its own truth, so that p, category, candidates
        and method go without. Where one category counts, the mechanism may leave the others
        open, as one of `design_channel` for that category does.
    se : float, optional
        Standard error to reach, below 0.5; 0.015 is one and a half percentage points.
    width : float, optional
        Full width of the Wald interval to reach, twice the margin of error, before a cut to [0, 1];
        below 1. A margin of three percentage points is ``width=0.06``.
    relative : float, optional
        Standard error over p to reach. Every category that counts needs a positive p.
    category : label, optional
        The category that counts. Default: all of them, so that the worst one decides.
    alpha : float
        1 - coverage of the interval of `width`, or level of the test of `goal`.
    goal : ValueTest, GroupsTest, PresenceTest, IndependenceTest or CoefficientTest, optional
        What a test is to find. Tests of counts have a power that goes up and down as n grows: the
        first n that has it.
    power : float, optional
        Power of that test, above `alpha`. Default with a goal: 0.8.

    Returns
    -------
    int
        Respondents; with `GroupsTest` those of all groups together, split by its `shares`.

    Raises
    ------
    NotIdentified
        If the reports of the mechanism leave p open.
    NotAvailable
        If 2**63 respondents are not enough, or candidates too many for standard errors.
    InvalidArgument
        If not exactly one of `se`, `width`, `relative` and `goal` is given, or one is out of range.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "cook", "driver"), epsilon=1.0)
    >>> sample_size(krr, [0.5, 0.3, 0.2], se=0.02)
    4501
    >>> float(precision(krr, [0.5, 0.3, 0.2], 4501).se.max()) <= 0.02
    True
    >>> sample_size(krr, [0.5, 0.3, 0.2], relative=0.1, category="driver")
    3840
    >>> goal = ldp.planning.ValueTest([0.3, 0.7], category="yes", value=0.25)
    >>> sample_size(ldp.KRR(("yes", "no"), epsilon=1.0), goal=goal, power=0.8)
    3469
    """
    targets = {"se": se, "width": width, "relative": relative}
    if goal is not None:
        for name, value in (
            {"p": p, "category": category, "candidates": candidates} | targets
        ).items():
            if value is not None:
                raise InvalidArgument(name, value, "goes without goal=, which says what is needed")
        ray, alpha = planned(mechanism, goal), level(alpha)
        why = ": no number of respondents finds a departure"
        given = _POWER if power is None else power
        return needed(*asked_power(ray, goal, given, alpha, design_effect, why))
    if power is not None:
        raise InvalidArgument("power", power, "goes with goal= only")
    wanted = {name: value for name, value in targets.items() if value is not None}
    if len(wanted) != 1:
        remedy = "give exactly one of se=, width=, relative= and goal="
        raise InvalidArgument("se", wanted or None, remedy)
    ((kind, value),) = wanted.items()
    remedy = "must be a positive finite number, for example 0.01"
    target, most = real_number(kind, value, remedy), _TOO_LARGE.get(kind, np.inf)
    if most <= target < np.inf:
        remedy = f"must be below {most:g}: shares lie in [0, 1]"
        if target < 100.0:
            remedy += f"; {target:g} percentage points are {kind}={target / 100.0:g}"
    if not _LEAST <= target < most:
        raise InvalidArgument(kind, value, remedy)
    alpha = level(alpha)
    if category is not None and isinstance(mechanism, Mechanism):
        at = setting(mechanism, p, candidates)
        place_of_category(category, at.labels)
        if (told := at.about(category)) is not at:
            mechanism, p = told.mechanism, told.p
    one = precision(mechanism, p, 1, design_effect, candidates, method)
    shares = one.p.to_numpy()
    place = slice(None) if category is None else [place_of_category(category, one.p.index)]
    variances, shares = one.variances[place], shares[place]
    if kind == "relative" and not np.all(shares > 0.0):
        label = one.p.index[place][int(np.argmin(shares))]
        raise InvalidArgument("p", f"0 for {label!r}", "must be positive for relative=")

    scale = shares if kind == "relative" else np.ones(shares.size)
    x = int(np.argmax(np.sqrt(variances) / scale))
    times = 2.0 * normal_critical(alpha) if kind == "width" else 1.0

    def enough(n: int) -> bool:
        error = standard_errors(variances[x], n, one.design_effect)
        return bool(times * error / scale[x] <= target)

    return smallest(enough, 0, 1, _LARGEST, _TOO_FEW)


def smallest(
    enough: Callable[[int], bool], low: int, high: int, most: float = inf, never: str = ""
) -> int:
    """The smallest integer above `low` that is enough: from `high` by doubling and bisection."""
    while not enough(high):
        if high >= most:
            raise NotAvailable(never)
        low, high = high, int(min(2 * high, most))
    return low + 1 + bisect_left(range(low + 1, high), True, key=enough)


# -- What a recommended mechanism is to estimate best ---------------------------------------------


_GOALS = ("total", "worst")
_LONGEST = 5  # terms of a contrast that are written out


def objective(
    goal: Any, labels: pd.Index[Any], power: object = None
) -> tuple[str, Callable[[Mechanism, Array], float]]:
    """What `goal` asks to be small, in words, and as a loss of one respondent, at p.

    The respondents that are needed are proportional to the loss; of a test it is their number.
    """
    if isinstance(goal, Goal):
        if isinstance(goal, IndependenceTest):
            remedy = "is of two variables: compare pairs of mechanisms by sample_size(..., goal=)"
            raise InvalidArgument("goal", goal.words, remedy)
        asked = checked_power(_POWER if power is None else power, 0.05)
        words = f"number of respondents for power {asked:g} {goal.words}"
        return words, lambda made, p: float(sample_size(made, goal=goal, power=asked))
    if power is not None:
        raise InvalidArgument("power", power, "goes with a test as goal=, such as ValueTest(...)")
    if not isinstance(goal, Mapping):
        if not isinstance(goal, str):
            remedy = 'must be "total", "worst", a mapping from labels to weights, or a test'
            raise InvalidArgument("goal", goal, remedy)
        if one_of("goal", goal, _GOALS) == "total":
            return "summed variance", lambda made, p: Setting(made, p, labels).variances().sum()
        return "maximal standard error", lambda made, p: Setting(made, p, labels).variances().max()
    if not goal:
        raise InvalidArgument("goal", goal, "must weigh at least one category")
    by_label: Mapping[Any, Any] = goal
    ((key, value), *more) = goal.items()
    if isinstance(key, str) and key == "category" and not more and "category" not in labels:
        by_label = {value: 1.0} if isinstance(value, Hashable) else {}
    finite = "must be a finite number, the weight of the category"
    for label, weight in by_label.items():
        if not abs(real_number(f"goal[{label!r}]", weight, finite)) < 1e100:  # nor nan
            raise InvalidArgument(f"goal[{label!r}]", weight, finite)
    weights = align("goal", by_label, labels, absent=0.0).astype(np.float64)
    if np.ptp(weights) == 0.0:
        remedy = "must weigh categories differently: the sum of all shares is known"
        raise InvalidArgument("goal", goal, remedy)
    terms = [
        f"{'-' if weight < 0.0 else '+'} {'' if abs(weight) == 1.0 else f'{abs(weight):g} '}"
        f"{one_line(label, 20)}"
        for label, weight in by_label.items()
        if weight
    ]
    what = " ".join(terms).removeprefix("+ ") if len(terms) <= _LONGEST else "the contrast"
    if len(terms) == 1 and weights.max() == 1.0:
        what = f"the share of {what}"

    def loss(mechanism: Mechanism, p: Array) -> float:
        at = Setting(mechanism, p, labels)
        if np.count_nonzero(weights) == 1:
            (label,) = labels[weights != 0.0]
            told = at.about(label)
            return float(told.variances()[told.place(label)] * (weights**2).sum())
        return max(float(at.covariance().forms(weights[None])[0]), 0.0)

    return f"variance of {what}", loss


# -- The mechanisms over a closed alphabet that plans choose among: the one list of them ----------


_LABEL = "A single label suits a large e^epsilon for the number of categories"
_SETS = "A report that stands for several categories suits a small e^epsilon for their number"
MOST_PLANNED = 1 << 22
_MOST_HASHED = 256  # categories for which the cohorts of hashes are worked out
_BITS = "A bit for each category suits a small e^epsilon for the number of categories"


@dataclass(frozen=True)
class Kind:
    """A kind of mechanism: how it is made, where it is good; for at most so many categories."""

    title: str
    make: Callable[[Any, float], Mechanism]
    why: str
    most: float = inf


_KINDS = {
    "krr": Kind("k-RR", KRR, _LABEL),
    "warner": Kind(
        "Warner", lambda labels, epsilon: Warner(epsilon=epsilon, categories=labels), _LABEL, most=2
    ),
    "krappor": Kind("k-RAPPOR", KRAPPOR, _BITS),
    "oue": Kind("OUE", lambda labels, epsilon: KRAPPOR(labels, epsilon, theta=0.5), _BITS),
    "subset-selection": Kind("Subset selection", SubsetSelection, _SETS),
    "hadamard-response": Kind("Hadamard response", HadamardResponse, _SETS),
    "projective-geometry-response": Kind("Projective geometry", ProjectiveGeometryResponse, _SETS),
    "olh": Kind("OLH", OLH, _SETS, most=_MOST_HASHED),
}

KINDS = tuple(_KINDS)


def contenders(
    labels: pd.Index[Any], epsilon: float, kinds: Iterable[str] = KINDS
) -> dict[str, tuple[Kind, Mechanism]]:
    """The kinds that are for so many categories, with a mechanism of each, by their short names."""
    if len(labels) > MOST_PLANNED:
        remedy = f"must be at most {MOST_PLANNED}, of which each has a standard error"
        raise InvalidArgument("categories", len(labels), remedy)
    chosen = {name: _KINDS[name] for name in kinds}
    return {
        name: (kind, kind.make(labels, epsilon))
        for name, kind in chosen.items()
        if len(labels) <= kind.most
    }


def report_bits(mechanism: Mechanism) -> int:
    """Bits that a report takes: a label, or its bits, and the cohort where there are several."""
    own = mechanism.n_bits or (mechanism.n_outputs - 1).bit_length()
    return own + max(mechanism.n_cohorts - 1, 0).bit_length()
