"""Power of the tests of a survey that is planned, and the respondents that a power needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    EPSILON_RANGE,
    html_lines,
    level,
    listed,
    one_of,
    positive_epsilon,
    positive_integer,
    probability,
    real_number,
)
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable
from ldpstats.labels import as_labels, position, preview
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.blocks import HadamardResponse, ProjectiveGeometryResponse, SubsetSelection
from ldpstats.mechanisms.hashed import OLH
from ldpstats.mechanisms.krr import KRR, Observed, Warner
from ldpstats.mechanisms.unary import KRAPPOR
from ldpstats.models.layout import one_line
from ldpstats.planning.expected_precision import (
    check_mechanism,
    effect_of_design,
    expected_shares,
    one_report_covariance,
    one_report_variances,
    place_of_category,
    precision,
    relatives,
    standard_errors,
    widths,
)
from ldpstats.planning.goals import Goal, IndependenceTest, Ray
from ldpstats.planning.laws import PlannedTest

__all__ = [
    "KINDS",
    "Curves",
    "Detectable",
    "Kind",
    "Objective",
    "contenders",
    "curves",
    "minimum_detectable",
    "objective",
    "power",
    "report_bits",
    "respondents_for_power",
    "sample_size",
]


_MOST = 2**53  # respondents
_WINDOW = 1 << 15  # respondents below a solution that are looked at one by one
_BLOCK = 1 << 14


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

    Returns
    -------
    float

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
    test = ray.test(1.0, level(alpha))
    return power_at(test, number, effect_of_design(design_effect))


def power_at(test: PlannedTest, n: int, design_effect: float) -> float:
    """Power of one test."""
    return float(test.power(np.array([n / design_effect]))[0])


def planned(mechanism: Any, goal: object) -> Ray:
    """The goal in a survey with this mechanism."""
    if not isinstance(goal, Goal):
        remedy = "must be a goal of planning, for example ValueTest(p, category, value)"
        raise InvalidArgument("goal", goal, remedy)
    return goal.ray(mechanism)


def asked_power(power: object, alpha: float) -> float:
    """A power that is asked for: above the level of the test."""
    found = probability("power", power, zero=False, one=False)
    if found <= alpha:
        remedy = f"must be above alpha = {alpha:g}, which a test has without any respondent"
        raise InvalidArgument("power", power, remedy)
    return found


def respondents_for_power(
    mechanism: Any,
    goal: Goal,
    power: float = 0.8,
    alpha: float = 0.05,
    design_effect: float = 1.0,
) -> int:
    """The smallest number of respondents with which `power` is at least the one asked for.

    Tests of counts have a power that goes up and down as n grows: a few respondents more may then
    have a little less. Of all numbers this is the first, up to about a million; beyond, of those
    near it.

    Parameters
    ----------
    mechanism, goal, alpha, design_effect
        As in `power`.
    power : float
        Power that is asked for, above alpha.

    Returns
    -------
    int

    Raises
    ------
    InvalidArgument
        As in `power`, and if the truth of the goal is its null hypothesis.
    NotAvailable
        If no number of respondents suffices.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.ValueTest([0.7, 0.3], category="yes", value=0.25)
    >>> respondents_for_power(ldp.Warner(epsilon=1.0), goal, power=0.8)
    3469
    """
    ray, alpha = planned(mechanism, goal), level(alpha)
    asked, effect = asked_power(power, alpha), effect_of_design(design_effect)
    test = ray.test(1.0, alpha)
    if not test.differs:
        remedy = "has the null hypothesis for its truth: no number of respondents finds a departure"
        raise InvalidArgument("goal", goal.words, remedy)
    return needed(test, asked, effect)


def needed(test: PlannedTest, asked: float, design_effect: float) -> int:
    """The smallest number of respondents with which a test has the power."""

    def enough(n: int) -> bool:
        return power_at(test, n, design_effect) >= asked

    last = _crossing(enough)
    back = int(min(_WINDOW, last - 1, math.ceil(design_effect * test.zigzag(last / design_effect))))
    for start in range(last - back, last, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, last))
        reached = test.power(block / design_effect) >= asked
        if reached.any():
            return int(block[int(np.argmax(reached))])
    return last


def _crossing(enough: Callable[[int], bool]) -> int:
    """A number that is enough while one fewer is not, by doubling and bisection."""
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise NotAvailable(
                "power: no number of respondents that a survey can have reaches it; the reports "
                "hardly depend on what the goal asks"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


# -- The smallest effect that a survey finds with a given power -----------------------------------


_FARTHEST = 2.0**12  # multiple of a departure that has no bounds


@dataclass(frozen=True, eq=False)
class Detectable:
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

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))

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
        The effect as a `value` in the goal's units, and the truth that has it. The units are a
        frequency in [0, 1] for `ValueTest` and `PresenceTest`; a difference of frequencies (0.03 is
        three percentage points) for `GroupsTest` with a category, and Cramer's V without; Cramer's
        V for `IndependenceTest`; the coefficient's own for `CoefficientTest`. `unit` has it in
        words. `planning.power` of that truth is the power asked for.

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
    asked, effect = asked_power(power, alpha), effect_of_design(design_effect)
    if not ray.test(1.0, alpha).differs:
        remedy = "has the null hypothesis for its truth, which gives no direction"
        raise InvalidArgument("goal", goal.words, remedy)

    def excess(multiple: float) -> float:
        if multiple == 0.0:
            return alpha - asked
        return power_at(ray.test(multiple, alpha), number, effect) - asked

    end = ray.most if ray.most < _FARTHEST else _beyond(excess)
    if excess(end) < 0.0:
        raise _too_few(ray, end, number, asked, alpha, effect)
    from scipy.optimize import brentq

    multiple = float(brentq(excess, 0.0, end, xtol=1e-12 * end, rtol=1e-12))
    found = ray.effect(multiple), ray.unit, multiple, ray.truth(multiple)
    return Detectable(*found, asked, number, alpha, effect)


def _beyond(excess: Any) -> float:
    """A multiple that reaches the power, by doubling; where none does, the best."""
    best, most = 1.0, excess(1.0)
    multiple = 1.0
    while most < 0.0 and multiple < _FARTHEST:
        multiple *= 2.0
        found = excess(multiple)
        if found <= most:  # extreme effects are as hard to see as small ones
            break
        best, most = multiple, found
    return best


def _too_few(
    ray: Ray, end: float, n: int, asked: float, alpha: float, effect: float
) -> InvalidArgument:
    largest = f"{ray.unit} {ray.effect(end):.4g}"
    remedy = f"no effect has power {asked:g}, up to the largest, {largest}"
    try:
        remedy += f"; that needs n = {needed(ray.test(end, alpha), asked, effect)}"
    except LDPError:
        remedy += "; nor with any other n"
    return InvalidArgument("n", n, remedy)


# -- How many respondents a survey needs ----------------------------------------------------------


_MOST_respondents = 2**63 - 1
_TARGETS = ("se", "width", "relative")
_LEAST = 1e-150  # of a target, whose square does not vanish
_TOO_LARGE = {"se": 0.5, "width": 1.0}  # which every share has
_POWER = 0.8
_NEAR = 1e-9  # relative distance of the first bracket from the guess


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
    mechanism : Mechanism
        Any mechanism; `Observed` for a survey without privacy.
    p : array-like, shape (k,), or Series or mapping by label, optional
        Expected distribution; an array is in category order. Default: uniform.
    se : float, optional
        Standard error to reach, below 0.5; 0.015 is one and a half percentage points.
    width : float, optional
        Full width of the Wald interval to reach, before a cut to [0, 1]; below 1.
    relative : float, optional
        Standard error over p to reach. Every category that counts needs a positive p.
    category : label, optional
        The category that counts. Default: all of them, so that the worst one decides.
    design_effect : float
        As in `precision`.
    alpha : float
        1 - coverage of the interval of `width`, or level of the test of `goal`.
    candidates : sequence of str, optional
        The strings whose distribution is p; only for mechanisms with an open alphabet.
    goal : ValueTest, GroupsTest, PresenceTest, IndependenceTest or CoefficientTest, optional
        What a test is to find. It has its own truth, so that p, category and candidates go without.
        Tests of counts have a power that goes up and down as n grows: the first n that has it.
    power : float, optional
        Power of that test, above `alpha`. Default with a goal: 0.8.
    method : {"mle", "inversion"}
        As in `precision`; not for a goal.

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
    if goal is not None:
        without = {"p": p, "category": category, "candidates": candidates}
        _refuse(without | dict(zip(_TARGETS, (se, width, relative), strict=True)))
        asked = _POWER if power is None else power
        return respondents_for_power(mechanism, goal, asked, alpha, design_effect)
    if power is not None:
        raise InvalidArgument("power", power, "goes with goal= only")
    kind, target = _target_respondents(se, width, relative)
    alpha = level(alpha)
    one = precision(mechanism, p, 1, design_effect, candidates, method)
    shares = one.p.to_numpy()
    place = slice(None) if category is None else [place_of_category(category, one.p.index)]
    variances, shares = one.variances[place], shares[place]
    if kind == "relative" and not np.all(shares > 0.0):
        label = one.p.index[place][int(np.argmin(shares))]
        raise InvalidArgument("p", f"0 for {label!r}", "must be positive for relative=")

    def size(n: int) -> float:
        errors = standard_errors(variances, n, one.design_effect)
        if kind == "width":
            errors = widths(errors, alpha)
        elif kind == "relative":
            errors = relatives(errors, shares)
        return float(errors.max())

    needed = size(1) / target
    return smallest_sample(lambda n: size(n) <= target, needed * needed)


def _refuse(given: dict[str, Any]) -> None:
    """Refuse arguments that a goal replaces."""
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(name, value, "goes without goal=, which says what is needed")


def _target_respondents(*given: Any) -> tuple[str, float]:
    """The kind and value of the one target that is given."""
    named = {name: value for name, value in zip(_TARGETS, given, strict=True) if value is not None}
    if len(named) != 1:
        remedy = "give exactly one of se=, width=, relative= and goal="
        raise InvalidArgument("se", named or None, remedy)
    ((name, value),) = named.items()
    remedy = "must be a positive finite number, for example 0.01"
    number = real_number(name, value, remedy)
    if name in _TOO_LARGE and number >= _TOO_LARGE[name]:
        more = f"must be below {_TOO_LARGE[name]:g}: shares lie in [0, 1]"
        if np.isfinite(number) and number < 100.0:
            more += f"; {number:g} percentage points are {name}={number / 100.0:g}"
        raise InvalidArgument(name, value, more)
    if not _LEAST <= number < np.inf:
        raise InvalidArgument(name, value, remedy)
    return name, number


def smallest_sample(reached: Callable[[int], bool], guess: float) -> int:
    """The smallest n that reaches a target, which more respondents never lose.

    Parameters
    ----------
    reached : callable
        Whether n respondents reach the target.
    guess : float
        About how many are needed; a good guess saves calls.

    Raises
    ------
    NotAvailable
        If 2**63 respondents are not enough.
    """
    at = int(min(max(guess, 1.0), float(2**62)))
    low, high = _bracket(reached, at)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _bracket(reached: Callable[[int], bool], at: int) -> tuple[int, int]:
    """Numbers around the smallest that reaches the target; the lower one does not, or is zero."""
    step = 1 + int(_NEAR * at)
    low, high = max(0, at - step), min(at + step, _MOST_respondents)
    while low and reached(low):
        step *= 2
        low, high = max(0, low - step), low
    while not reached(high):
        if high == _MOST_respondents:
            raise NotAvailable(
                "2**63 respondents do not reach the target: ask for less precision or power, or "
                "use a larger epsilon"
            )
        step *= 2
        low, high = high, min(high + step, _MOST_respondents)
    return low, high


# -- What a recommended mechanism is to estimate best ---------------------------------------------


_GOALS = ("total", "worst")
_LONGEST = 12  # terms of a contrast that are written out


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss of one respondent, to which the respondents that are needed are proportional.

    `weights` of a contrast, shape (k,), or None; `words` say what is to be small. The loss of a
    `test` is the number of respondents itself.
    """

    name: str
    words: str
    weights: Array | None = None
    test: Goal | None = None

    def loss(self, mechanism: Mechanism, p: Array) -> float:
        """Of one respondent; for weights of one category only its variance is needed."""
        if self.test is not None:
            return float(respondents_for_power(mechanism, self.test))
        if self.weights is not None and np.count_nonzero(self.weights) > 1:
            covariance = one_report_covariance(mechanism, p)
            return max(float(covariance.forms(self.weights[None])[0]), 0.0)
        variances = one_report_variances(mechanism, p)
        if self.weights is not None:
            return float(variances @ self.weights**2)
        return float(variances.sum() if self.name == "total" else variances.max())


def objective(goal: Any, labels: pd.Index[Any]) -> Objective:
    """The objective that `goal` stands for: "total", "worst", weights by label, or a test."""
    if isinstance(goal, Goal):
        return _of_test(goal)
    if not isinstance(goal, Mapping):
        if not isinstance(goal, str):
            remedy = 'must be "total", "worst", a mapping from labels to weights, or a test'
            raise InvalidArgument("goal", goal, remedy)
        name = one_of("goal", goal, _GOALS)
        words = {"total": "summed variance", "worst": "maximal standard error"}
        return Objective(name, words[name])
    if not goal:
        raise InvalidArgument("goal", goal, "must weigh at least one category")
    weights = np.zeros(len(labels))
    terms: list[str] = []
    for label, weight in _weights(goal, labels).items():
        remedy = f"must have labels as keys, such as {preview(labels)}"
        weights[position("goal", label, labels, remedy)] = number = _weight(label, weight)
        terms += [*_sign(number, bool(terms)), one_line(label, 20)] if number else []
    if np.ptp(weights) == 0.0:
        remedy = "must weigh categories differently: the sum of all shares is known"
        raise InvalidArgument("goal", goal, remedy)
    what = " ".join(terms) if len(terms) < _LONGEST else "the contrast"
    what = f"the share of {what}" if len(terms) == 1 else what
    return Objective("contrast", f"variance of {what}", weights)


def _of_test(goal: Goal) -> Objective:
    if isinstance(goal, IndependenceTest):
        remedy = "is of two variables: compare pairs of mechanisms by sample_size(..., goal=)"
        raise InvalidArgument("goal", goal.words, remedy)
    return Objective("test", f"number of respondents for power 0.8 {goal.words}", test=goal)


def _sign(weight: float, is_later: bool) -> list[str]:
    """The sign and size of a weight, as far as they need to be written."""
    sign = ["-" if weight < 0.0 else "+"] if is_later or weight < 0.0 else []
    return sign if abs(weight) == 1.0 else [*sign, f"{abs(weight):g}"]


def _weights(goal: Mapping[Any, Any], labels: pd.Index[Any]) -> Mapping[Any, Any]:
    """``{"category": label}`` as a weight of one, unless "category" is a label itself."""
    ((key, value), *more) = goal.items()
    if isinstance(key, str) and key == "category" and not more and "category" not in labels:
        return {value: 1.0} if isinstance(value, Hashable) else {}
    return goal


def _weight(label: Any, weight: Any) -> float:
    remedy = "must be a finite number, the weight of the category"
    number = real_number(f"goal[{label!r}]", weight, remedy)
    if not abs(number) < 1e100:
        raise InvalidArgument(f"goal[{label!r}]", weight, remedy)
    return number


# -- The mechanisms over a closed alphabet that plans choose among: the one list of them ----------


_LABEL = "A single label suits a large e^epsilon for the number of categories"
_SETS = "A report that stands for several categories suits a small e^epsilon for their number"
MOST_PLANNED = 1 << 22
_MOST_HASHED = 256  # categories for which the cohorts of hashes are worked out
_BITS = "A bit for each category suits a small e^epsilon for the number of categories"


@dataclass(frozen=True)
class Kind:
    """A kind of mechanism: what it is called, how it is made, and where it is good.

    It is for `least` to `most` categories.
    """

    title: str
    make: Callable[[Any, float], Mechanism]
    why: str
    least: int = 2
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
    found = {name: _KINDS[name] for name in kinds}
    return {
        name: (kind, kind.make(labels, epsilon))
        for name, kind in found.items()
        if kind.least <= len(labels) <= kind.most
    }


def report_bits(mechanism: Mechanism) -> int:
    """Bits that a report takes: a label, or its bits, and the cohort where there are several."""
    own = mechanism.n_bits or (mechanism.n_outputs - 1).bit_length()
    return own + max(mechanism.n_cohorts - 1, 0).bit_length()


# -- What privacy costs in precision: curves over epsilon, by kind of mechanism -------------------


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
