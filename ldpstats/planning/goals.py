"""What a survey is to find out: a null hypothesis, a truth, and the ray of truths between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    as_array,
    distribution,
    floats,
    numbers,
    one_of,
    positive_integer,
    probability,
    record,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import align, by_label, position
from ldpstats.likelihood.regression import Multinomial, Ordered
from ldpstats.mechanisms.base import Mechanism, set_fields
from ldpstats.models.regression.structure import covariates, outcome_of
from ldpstats.planning.expected_precision import Setting, check_mechanism, shares_text, table_text
from ldpstats.planning.laws import (
    PlannedTest,
    association_test,
    coefficient_test,
    count_test,
    difference_test,
    estimate_test,
    frequency_law,
    homogeneity_test,
)

__all__ = ["CoefficientTest", "GroupsTest", "IndependenceTest", "PresenceTest", "ValueTest"]

_SHARES = (
    "must be non-negative shares that sum to one: an array, or a Series or mapping by category"
)


@record
class Ray:
    """The truths between a null hypothesis, multiple 0, and the truth of a goal, multiple 1.

    Beyond 1 lie larger departures from the null hypothesis.
    """

    unit: str  # what `effect` is, in words
    null: Array  # probabilities, or parameters, under the null hypothesis
    departure: Array  # the truth less that
    effects: tuple[float, float]  # in the goal's own units: of the null hypothesis, and the growth
    labelled: Callable[[Array], Any]  # a truth as a Series or a DataFrame
    tested: Callable[[Array, float], PlannedTest]  # what results run by default, of level alpha
    bounded: bool = True  # whether the truths are probabilities

    @property
    def most(self) -> float:
        """The largest multiple for which the truth is a distribution; inf where all are."""
        falling = (self.departure < 0.0) & self.bounded
        return float((-self.null[falling] / self.departure[falling]).min(initial=np.inf))

    def effect(self, multiple: float) -> float:
        return self.effects[0] + multiple * self.effects[1]

    def at(self, multiple: float) -> Array:
        values = self.null + multiple * self.departure
        return np.maximum(values, 0.0) if self.bounded else values

    def truth(self, multiple: float) -> Any:
        return self.labelled(self.at(multiple))

    def test(self, multiple: float, alpha: float) -> PlannedTest:
        return self.tested(self.at(multiple), alpha)


class Goal(ABC):
    """A null hypothesis and a truth: a subclass is a frozen dataclass."""

    @abstractmethod
    def _said(self) -> tuple[str, str]:
        """What is to be found, and what the truth is, in words."""

    @property
    def words(self) -> str:
        """What is to be found, in words."""
        return self._said()[0]

    @property
    def truth(self) -> str:
        """What the truth is, in words."""
        return f"true {self._said()[1]}"

    def __str__(self) -> str:
        return f"{self.words}; {self.truth}"

    @abstractmethod
    def ray(self, mechanism: Any) -> Ray:
        """The goal in a survey with this mechanism."""


def _setting(mechanism: object, p: Any, name: str = "p", of: str = "mechanism") -> Setting:
    """What a goal is planned with; of an open alphabet the labels of p are the candidates."""
    made_by, candidates = check_mechanism(mechanism, of), None
    if made_by.is_open:
        if not isinstance(p, pd.Series):
            remedy = "must be a Series or mapping by string, the candidates whose answers "
            remedy += f"{made_by} reports"
            raise InvalidArgument(name, f"array of shape {np.shape(p)}", remedy)
        candidates = tuple(p.index)
    labels = made_by.labels(candidates)
    law = distribution(name, align(name, p, labels), len(labels))
    return Setting(made_by, law / law.sum(), labels, candidates)


def checked_shares(name: str, value: object) -> Any:
    """A distribution as an array that cannot be changed, or as a Series of its own."""
    value = by_label(name, value)
    values = numbers(name, value, _SHARES)
    if values.ndim != 1 or values.size < 2:
        raise InvalidArgument(name, f"array of shape {values.shape}", _SHARES)
    distribution(name, values, values.size)
    if isinstance(value, pd.Series):
        if not value.index.is_unique or isinstance(value.index, pd.MultiIndex):
            remedy = "as a Series must have one label for each category, none of them twice"
            raise InvalidArgument(name, value.index.tolist(), remedy)
        return pd.Series(values, index=value.index.copy())
    return frozen(values)


def checked_category(name: str, category: object, p: Any) -> Any:
    """A label: plain, and known where p is a Series."""
    if isinstance(p, pd.Series):
        position(name, category, p.index, "is not among the labels of p")
    if not isinstance(category, str | bool | int | float | np.generic):
        raise InvalidArgument(name, category, "must be the label of a category")
    return str.__str__(category) if isinstance(category, str) else category


def frozen(values: Array, like: Any = None) -> Any:
    """An array that cannot be changed; or a table of its own with the labels of the one given."""
    copy = np.array(values, dtype=np.float64)
    if isinstance(like, pd.DataFrame):
        return pd.DataFrame(copy, like.index.copy(), like.columns.copy())
    copy.setflags(write=False)
    return copy


# -- Comparison of a frequency with a given value -------------------------------------------------


@record
class FrequencyGoal(Goal):
    """A goal about the frequency of one category."""

    p: Any
    category: Any

    def __post_init__(self) -> None:
        set_fields(self, p=checked_shares("p", self.p))
        category = checked_category("category", self.category, self.p)
        set_fields(self, category=category)

    def _ray(self, mechanism: Any, value: float, tests: int) -> Ray:
        """The frequency goes from `value` to the true one, the others keep their proportions.

        Of `tests` together (Bonferroni) each is one-sided; a test alone, of 0, is two-sided.
        """
        presence, assumed = tests > 0, _setting(mechanism, self.p).about(self.category)
        x = assumed.place(self.category)
        rest = np.delete(assumed.p, x)
        rest = rest / rest.sum() if rest.sum() > 0.0 else np.full(rest.size, 1.0 / rest.size)
        start = np.insert((1.0 - value) * rest, x, value)

        def tested(p: Array, alpha: float) -> PlannedTest:
            truth, level = min(float(p[x]), 1.0), alpha / max(tests, 1)
            law = frequency_law(assumed.at(p), x)
            if law.count is not None:
                offset, scale = law.count
                null, true = (min(max(offset + scale * v, 0.0), 1.0) for v in (value, truth))
                return count_test(null, true, level, exact=presence)
            cumulants = law.cumulants(value), law.cumulants(truth)
            shift, plain = truth - value, presence and law.continuous
            return estimate_test(shift, *cumulants, level, larger=presence, continuous=plain)

        unit, effects = f"frequency of {assumed.labels[x]!r}", (value, float(assumed.p[x]) - value)
        labelled = partial(pd.Series, index=assumed.labels, name="p")
        return Ray(unit, start, assumed.p - start, effects, labelled, tested)


@record
class ValueTest(FrequencyGoal):
    """To find that the frequency of a category is not `value`.

    The test is that of ``results.t_test("p[category] = value")``: a two-sided score test of the
    unconstrained estimate, with its standard error and skewness under the null hypothesis. Where
    the estimate rests on a count of its own (k-RR, binary designs, answers without noise) the power
    is summed exactly over the tallies that are rejected; elsewhere it is by Pearson's type III law.

    Parameters
    ----------
    p : array-like, shape (k,), or Series or mapping by label
        True distribution of the answers; an array is in the order of the categories. Over an open
        alphabet by candidate.
    category : label
        The category that is compared.
    value : float
        Its frequency under the null hypothesis, in [0, 1].

    Raises
    ------
    InvalidArgument
        If `p` is not a distribution, `value` no probability, or `category` not a label of p.

    Notes
    -----
    On the ray of `planning.minimum_detectable` the frequency goes from `value` to the true one, and
    beyond; the other categories keep their proportions. The effect is the frequency.

    Over an open alphabet the candidates are taken for all answers. With few cohorts or few cells
    results allow for others too, in some surveys, and have less power than this.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.ValueTest({"no": 0.7, "yes": 0.3}, category="yes", value=0.25)
    >>> print(goal)
    to find that the frequency of 'yes' is not 0.25; true shares: no 0.7, yes 0.3
    >>> round(ldp.planning.power(ldp.Warner(epsilon=1.0), goal, n=2000), 3)
    0.566
    """

    value: float

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, value=probability("value", self.value))

    def _said(self) -> tuple[str, str]:
        what = f"to find that the frequency of {self.category!r} is not {self.value:g}"
        return what, f"shares: {shares_text(self.p)}"

    def ray(self, mechanism: Any) -> Ray:
        return self._ray(mechanism, self.value, 0)


# -- Presence of a rare category or candidate -----------------------------------------------------


@record
class PresenceTest(FrequencyGoal):
    """To find that somebody gives a rare answer: that its frequency is above zero.

    The test is that of ``results.detected(alpha)``: one-sided, with Bonferroni's correction for
    all categories or candidates. Where the estimate rests on a count of its own both the test and
    its power are exact (binomial); elsewhere they are by Pearson's type III law.

    Parameters
    ----------
    p, category
        As in `ValueTest`: the rare category.
    n_candidates : int, optional
        Number of tests that are made together. Default: the k categories or candidates of p; a
        longer list may be planned.

    Raises
    ------
    InvalidArgument
        If `p` is not a distribution, `category` not a label of p, or `n_candidates` less than k.

    Notes
    -----
    On the ray of `planning.minimum_detectable` the share of the category grows from zero; the other
    categories keep their proportions. The effect is the share.

    Over an open alphabet see `ValueTest`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "cook", "spy"), epsilon=1.0)
    >>> goal = ldp.planning.PresenceTest([0.6, 0.38, 0.02], category="spy")
    >>> print(goal)
    to detect 'spy' among 3 candidates; true shares: 0.6, 0.38, 0.02
    >>> round(ldp.planning.power(krr, goal, n=20_000), 3)
    0.646
    """

    n_candidates: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        k = len(self.p)
        if self.n_candidates is not None:
            number = positive_integer("n_candidates", self.n_candidates)
            if number < k:
                remedy = f"must be at least {k}: all shares in p are tested"
                raise InvalidArgument("n_candidates", self.n_candidates, remedy)
            set_fields(self, n_candidates=number)

    @property
    def tests(self) -> int:
        """Number of tests that are made together."""
        return len(self.p) if self.n_candidates is None else self.n_candidates

    def _said(self) -> tuple[str, str]:
        words = f"to detect {self.category!r} among {self.tests} candidates"
        return words, f"shares: {shares_text(self.p)}"

    def ray(self, mechanism: Any) -> Ray:
        return self._ray(mechanism, 0.0, self.tests)


# -- Association of two variables -----------------------------------------------------------------


_TABLE = "must be a table of true joint shares, of at least 2 x 2 cells, that sum to one"
_PAIR = "must be a pair of mechanisms, (of the rows, of the columns)"


def _cramers_v(product: Array, departure: Array) -> float:
    """Of the table ``product + departure``."""
    some = product > 0.0
    phi2 = float((departure[some] ** 2 / product[some]).sum())
    return float(np.sqrt(phi2 / (min(int(some.any(axis=axis).sum()) for axis in (0, 1)) - 1)))


@record
class IndependenceTest(Goal):
    """To find that two variables are associated; each is reported by a mechanism of its own.

    The test is that of ``results.test_independence()``: the score test T on the marginal fits. With
    JX and JY the information of one report about either variable and D the joint shares less the
    product of the margins, T has (k1 - 1)(k2 - 1) degrees of freedom and n tr(JX D JY D') for its
    noncentrality. That is exact for mechanisms that act independently. The variance is that under
    the truth, or under the null hypothesis where reports are too many to be listed (cohorts, bits
    of many categories).

    Parameters
    ----------
    table : array-like, shape (k1, k2), or DataFrame
        True joint shares. Rows and columns of a DataFrame are labels; over an open alphabet they
        are the candidates.

    Raises
    ------
    InvalidArgument
        If the table is not a distribution, or a row or column is empty.

    Notes
    -----
    On the ray of `planning.minimum_detectable` the table goes from the product of its margins to
    itself. The effect is Cramer's V of the true answers.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.IndependenceTest([[0.3, 0.2], [0.2, 0.3]])
    >>> print(goal)
    to find that two variables are associated; true shares: 0.3, 0.2; 0.2, 0.3
    >>> krr = ldp.KRR(2, epsilon=2.0)
    >>> round(ldp.planning.power((krr, krr), goal, n=1000), 3)
    0.957
    """

    table: Any

    def __post_init__(self) -> None:
        values = numbers("table", self.table, _TABLE)
        if values.ndim != 2 or min(values.shape) < 2:
            raise InvalidArgument("table", f"array of shape {values.shape}", _TABLE)
        distribution("table", values.ravel(), values.size)
        for axis, kind in ((1, "row"), (0, "column")):
            if not values.sum(axis=axis).min() > 0.0:
                remedy = f"has an empty {kind}: leave that category out"
                raise InvalidArgument("table", values.tolist(), remedy)
        set_fields(self, table=frozen(values / values.sum(), self.table))

    def _said(self) -> tuple[str, str]:
        return "to find that two variables are associated", f"shares: {table_text(self.table)}"

    def ray(self, mechanism: Any) -> Ray:
        """The table goes from the product of its margins to itself; a pair of mechanisms."""
        if not isinstance(mechanism, list | tuple) or len(mechanism) != 2:
            raise InvalidArgument("mechanism", mechanism, _PAIR)
        values = floats(self.table)
        margins: list[Any] = [values.sum(axis=1), values.sum(axis=0)]
        axes = self.table.axes if isinstance(self.table, pd.DataFrame) else []
        if axes:
            margins = [pd.Series(m, index=axis) for m, axis in zip(margins, axes, strict=True)]
        else:
            # Refuse a table without labels that has other categories than the mechanisms
            sizes = tuple(m.k for m in mechanism if isinstance(m, Mechanism) and not m.is_open)
            if len(sizes) == 2 and values.shape != sizes:
                remedy = f"must have the shape {sizes}, of the categories of both mechanisms"
                raise InvalidArgument("table", f"array of shape {values.shape}", remedy)
        first, second = (
            _setting(one, margin, "table", f"mechanism[{i}]")
            for i, (one, margin) in enumerate(zip(mechanism, margins, strict=True))
        )
        if axes:  # in the order of the mechanisms' categories
            numbered = [pd.Series(np.arange(len(axis)), index=axis) for axis in axes]
            places = zip(numbered, (first.labels, second.labels), strict=True)
            values = values[np.ix_(*(align("table", *one).astype(np.int64) for one in places))]
        product = np.outer(values.sum(axis=1), values.sum(axis=0))
        departure = values - product
        departure = np.where(np.abs(departure) <= 1e-15, 0.0, departure)  # rounding
        effects, labels = (0.0, _cramers_v(product, departure)), (first.labels, second.labels)

        labelled = partial(pd.DataFrame, index=labels[0], columns=labels[1])
        return Ray(
            "Cramer's V",
            product,
            departure,
            effects,
            labelled,
            lambda table, alpha: association_test((first, second), product, table - product, alpha),
        )


# -- A coefficient of a regression with a privatised response -------------------------------------


_MOST_OUTPUTS = 4096  # reports that are gone through one by one
_MODELS = ("logit", "probit", "cloglog", "mnlogit", "ordered")


@record
class CoefficientTest(Goal):
    """To find that a coefficient of a regression on a privatised answer is not zero.

    The test is that of ``results.pvalues`` of `PrivatizedLogit`, `PrivatizedMNLogit` and
    `PrivatizedOrderedModel`: the score test at the restricted maximum, with the expected
    information there. Its mean and its variance under the truth are those of the score of the
    reports at the restricted maximum of the expected log-likelihood.

    Parameters
    ----------
    params : array-like
        True coefficients as `fit().params` has them: shape (p,); (p, k - 1) for "mnlogit", a column
        for each category but the first; (p + k - 1,) for "ordered", slopes, the first threshold and
        the logarithms of the steps between thresholds.
    exog : DataFrame or array, shape (m, p)
        Covariates of respondents, each row as frequent as the others: last year's, or a grid. A
        constant is a column like the others.
    coefficient : label, int, or pair
        Which coefficient: the name of a column of `exog`, or its position. For "mnlogit" a pair of
        that and the category, by label.
    model : {"logit", "probit", "cloglog", "mnlogit", "ordered"}

    Raises
    ------
    InvalidArgument
        If an argument is invalid, or they do not fit each other.

    Notes
    -----
    On the ray of `planning.minimum_detectable` the coefficient grows from zero in the direction of
    the true one, the others stay. The effect is the coefficient.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> X = pd.DataFrame({"const": 1.0, "age": np.linspace(-1.5, 1.5, 31)})
    >>> goal = ldp.planning.CoefficientTest([-0.5, 0.4], X, coefficient="age")
    >>> print(goal)
    to find that the coefficient of 'age' is not zero; true coefficients: -0.5, 0.4
    >>> round(ldp.planning.power(ldp.Warner(epsilon=1.0), goal, n=1000), 3)
    0.682
    """

    params: Any
    exog: Any
    coefficient: Any
    model: str = "logit"

    def __post_init__(self) -> None:
        set_fields(self, model=one_of("model", self.model, _MODELS))
        remedy = "must be a table or array of finite numbers with a row for each respondent"
        shape = as_array("exog", self.exog, remedy).shape
        if len(shape) not in (1, 2) or not shape[0]:
            raise InvalidArgument("exog", f"array of shape {shape}", remedy)
        X, names = covariates(self.exog, shape[0], name="exog")
        table = pd.DataFrame(frozen(X), columns=names)
        set_fields(self, exog=table)
        remedy = "must be finite numbers, the coefficients as fit().params has them"
        given = numbers("params", self.params, remedy)
        if not np.isfinite(given).all() or not given.size:
            raise InvalidArgument("params", self.params, remedy)
        set_fields(self, params=frozen(given))
        self._column()

    def _column(self) -> int:
        """Position of the covariate among the columns."""
        which = self.coefficient
        if self.model == "mnlogit":
            if not isinstance(which, tuple) or len(which) != 2:
                remedy = "must be a pair for 'mnlogit': a column of exog, and a category"
                raise InvalidArgument("coefficient", which, remedy)
            which = which[0]
        names = list(self.exog.columns)
        known: pd.Index[Any] = pd.Index([*names, *range(len(names))], dtype=object)
        remedy = f"must be one of the columns {', '.join(names[:10])} of exog, or a position"
        return position("coefficient", which, known, remedy) % len(names)

    @property
    def _name(self) -> str:
        name = repr(self.exog.columns[self._column()])
        return f"{name} for {self.coefficient[1]!r}" if self.model == "mnlogit" else name

    def _said(self) -> tuple[str, str]:
        truth = f"coefficients: {shares_text(self.params.ravel())}"
        return f"to find that the coefficient of {self._name} is not zero", truth

    def ray(self, mechanism: Any) -> Ray:
        """The coefficient grows, the others stay."""
        made_by = check_mechanism(mechanism)
        if made_by.n_cohorts or made_by.channel().shape[1] > _MOST_OUTPUTS:
            raise NotAvailable(
                f"the reports of {made_by} are too many to be listed, which a plan of a regression "
                "needs: plan with k-ary randomised response of the same epsilon"
            )
        Q, labels = np.asarray(made_by.channel().matrix()), made_by.categories
        Q = Q[:, Q.any(axis=0)]  # without reports that never occur
        k, p = len(labels), self.exog.shape[1]
        if k != 2 and self.model not in ("mnlogit", "ordered"):
            remedy = f"has {k} categories, and a {self.model} model is for two"
            raise InvalidArgument("mechanism", str(made_by), remedy)
        outcome = outcome_of("multinomial" if self.model == "mnlogit" else self.model, k)
        shapes: dict[type, tuple[int, ...]] = {Multinomial: (p, k - 1), Ordered: (p + k - 1,)}
        shape = shapes.get(type(outcome), (p,))
        if self.params.shape != shape:
            remedy = f"must have the shape {shape} for {p} columns and {k} categories"
            raise InvalidArgument("params", f"array of shape {self.params.shape}", remedy)
        place, theta = self._column(), self.params.T.ravel()
        if self.model == "mnlogit":
            remedy = f"must name a category other than the first, {labels[0]!r}"
            among: pd.Index[Any] = pd.Index(labels[1:].tolist())  # a range would count from zero
            place += p * position("coefficient", self.coefficient[1], among, remedy)
        X = self.exog.to_numpy(dtype=np.float64)

        departure = np.where(np.arange(theta.size) == place, theta, 0.0)
        effects, labelled = (0.0, float(theta[place])), partial(pd.Series, name="params")
        return Ray(
            f"coefficient of {self._name}",
            theta - departure,
            departure,
            effects,
            labelled,
            lambda theta, alpha: coefficient_test(outcome, X, Q, theta, place, alpha),
            bounded=False,
        )


# -- Comparison of groups of respondents ----------------------------------------------------------


_ROWS = "must be a table of shares: a row for each group, which sums to one"
_LABELS = "a DataFrame with categories as columns"
_SHOWN = 4  # shares of a list that is written out as rows
_MECHANISMS = "must be one mechanism for all groups, or a list of one for each of the {} groups"


@record
class GroupsTest(Goal):
    """To find that groups of respondents differ.

    Without a category the test is that of ``homogeneity_test(groups)`` or ``two_sample_test``:
    Pearson's of the privatised table where all groups report labels by one mechanism, else Wald's
    with the covariance pooled under the null hypothesis. The power is that of a quadratic form of
    normal variables with the covariances of the truth. With a category the test is that of its row
    in ``two_sample_test(first, second).differences()``: a two-sided score test of the difference.

    Parameters
    ----------
    p : array-like, shape (g, k), or DataFrame
        True distributions of the groups, a row each, in the order of the categories. The columns of
        a DataFrame are categories; over an open alphabet they are the candidates.
    shares : array-like, shape (g,), optional
        Shares of the groups among the respondents. Default: equal.
    category : label, optional
        Compare the frequencies of this category, in two groups.

    Raises
    ------
    InvalidArgument
        If a row of `p` is not a distribution, there are fewer than two, a share is zero, or a
        category is named for more than two groups.

    Notes
    -----
    On the ray of `planning.minimum_detectable` each group goes from the distribution of all
    respondents together to its own. The effect is the difference, first group less second, with a
    category; else Cramer's V of groups and true answers.

    The tests put categories together that are expected in fewer than five reports; the power is
    that of the test of all categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.GroupsTest([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]])
    >>> print(goal)
    to find that 2 groups differ; true shares: 0.5, 0.3, 0.2; 0.4, 0.3, 0.3
    >>> round(ldp.planning.power(ldp.KRR(3, epsilon=1.0), goal, n=4000), 3)
    0.712
    """

    p: Any
    shares: Any = None
    category: Any = None

    def __post_init__(self) -> None:
        values = numbers("p", self.p, f"{_ROWS}, or {_LABELS}")
        if values.ndim == 1 and values.size > 1 and ((0.0 <= values) & (values <= 1.0)).all():
            pairs = ", ".join(f"[{1.0 - share:g}, {share:g}]" for share in values[:_SHOWN])
            pairs += ", ..." * (values.size > _SHOWN)
            remedy = f"{_ROWS}; for no/yes answers [{pairs}], or {_LABELS}"
            raise InvalidArgument("p", values.tolist(), remedy)
        if values.ndim != 2 or len(values) < 2 or values.shape[1] < 2:
            remedy = f"{_ROWS}, or {_LABELS}; at least two of each"
            raise InvalidArgument("p", f"array of shape {values.shape}", remedy)
        if abs(values.sum(axis=0) - 1.0).max() < 1e-6 < abs(values.sum(axis=1) - 1.0).max():
            remedy = "has shares that sum to one by column: transpose it, p.T; a row is a group"
            raise InvalidArgument("p", f"array of shape {values.shape}", remedy)
        labels = self.p.columns if isinstance(self.p, pd.DataFrame) else None
        for i, row in enumerate(values):
            checked_shares(f"p[{i}]", row if labels is None else pd.Series(row, index=labels))
        set_fields(self, p=frozen(values, self.p))
        groups = len(self.p)
        if self.shares is not None:
            shares = distribution("shares", self.shares, groups)
            if not shares.min() > 0.0:
                remedy = "must be positive: a group without respondents cannot be compared"
                raise InvalidArgument("shares", self.shares, remedy)
            set_fields(self, shares=frozen(shares / shares.sum()))
        if self.category is not None:
            category = checked_category("category", self.category, _row(self.p, 0))
            set_fields(self, category=category)
            if groups > 2:
                remedy = f"is compared in two groups, and p has {groups}: give the rows of two"
                raise InvalidArgument("category", self.category, remedy)

    def _said(self) -> tuple[str, str]:
        words = f"to find that {len(self.p)} groups differ"
        if self.category is not None:
            words = f"to find that two groups differ in the frequency of {self.category!r}"
        return words, f"shares: {table_text(self.p)}"

    def ray(self, mechanism: Any) -> Ray:
        """Groups go from the distribution of all to their own; one mechanism, or a list."""
        groups = len(self.p)
        makers = [mechanism] * groups
        if isinstance(mechanism, list | tuple):
            if len(mechanism) != groups:
                raise InvalidArgument("mechanism", mechanism, _MECHANISMS.format(groups))
            makers = list(mechanism)
        sides = [_setting(one, _row(self.p, i)) for i, one in enumerate(makers)]
        if self.category is not None:
            sides = [side.about(self.category) for side in sides]
        for side in sides[1:]:
            if not side.labels.equals(sides[0].labels):
                remedy = "must have the same categories in the same order for all groups"
                raise InvalidArgument("mechanism", mechanism, remedy)
        shares = np.full(groups, 1.0 / groups) if self.shares is None else self.shares
        x = None if self.category is None else sides[0].place(self.category)
        index = self.p.index if isinstance(self.p, pd.DataFrame) else pd.RangeIndex(groups)
        P, labels = np.array([side.p for side in sides]), sides[0].labels
        pooled = shares @ P
        departures = P - pooled
        unit = "Cramer's V of group and answer"
        size = _cramers_v(np.outer(shares, pooled), shares[:, None] * departures)
        if x is not None:
            unit = f"difference of the frequency of {labels[x]!r}"
            size = float(departures[0, x] - departures[1, x])

        def tested(laws: Array, alpha: float) -> PlannedTest:
            now = [side.at(p / p.sum()) for side, p in zip(sides, laws, strict=True)]
            if x is None:
                return homogeneity_test(now, shares, alpha)
            return difference_test(now, shares, x, alpha)

        labelled = partial(pd.DataFrame, index=index, columns=labels)
        return Ray(
            unit, np.broadcast_to(pooled, P.shape), departures, (0.0, size), labelled, tested
        )


def _row(p: Any, i: int) -> Any:
    return p.iloc[i] if isinstance(p, pd.DataFrame) else p[i]
