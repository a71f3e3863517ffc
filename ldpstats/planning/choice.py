"""Which mechanism: the best one for a closed list of categories, and several side by side.

`recommend` chooses among the mechanisms of the package, `compare` takes any. Then: the best
theta of uRAP, and the plot of precision against privacy.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    EPSILON_RANGE,
    Array,
    Printed,
    distribution,
    listed,
    one_of,
    positive_epsilon,
    positive_integer,
    record,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.hints import guided
from ldpstats.labels import as_labels, preview
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.custom import CustomMechanism
from ldpstats.mechanisms.krr import KRR, Observed
from ldpstats.mechanisms.sensitive import URR
from ldpstats.models.layout import Table, count_of, one_line
from ldpstats.models.plots import axes_of, axis_labels, finish, percent_text, plain, title_text
from ldpstats.planning.expected_precision import (
    check_mechanism,
    expected_shares,
    place_of_category,
    precision,
    shares_text,
)
from ldpstats.planning.goals import Goal
from ldpstats.planning.losses import LOSSES, kinds, urap_rates, worst_rates
from ldpstats.planning.power_of_tests import KINDS, contenders, objective, report_bits, sample_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BestTheta", "MechanismChoice", "best_theta", "compare", "plot_frontier", "recommend"]


_LESS = ["name", "mechanism", "loss", "ratio", "given_up"]
_FEW = 1.1  # times the respondents that are worth naming for much shorter reports
_TIED = 1e-6  # relative difference of losses that is rounding, at small epsilons


@record
class MechanismChoice(Printed):
    """The best mechanism for a goal, the next one that is less good, and all that were compared.

    Parameters
    ----------
    best, runner_up : Mechanism
    goal : str
        What was to be small, in words.
    why : str
        Where mechanisms of this kind are good, in words.
    table : DataFrame
        A row for each mechanism, best first: "name" and "mechanism"; "bits" of a report; "loss",
        the variance that the goal asks for, of one respondent, or the respondents for power 0.8 of
        a test; "ratio", how many times the
        respondents of the best it needs; "effective_share" of the sample, against a survey without
        privacy.
    shares : str
        The truth that was assumed, in words.
    less : DataFrame
        Of one category, or of several questions: what is cheaper because it asks or protects less,
        cheapest first. "name", "mechanism", "loss", "ratio" to the best mechanism, and "given_up".

    Examples
    --------
    >>> import ldpstats as ldp
    >>> print(recommend(("nurse", "cook", "driver"), epsilon=1.0).best)
    KRR(k=3, epsilon=1)
    """

    best: Mechanism
    runner_up: Mechanism
    goal: str
    why: str
    table: pd.DataFrame
    shares: str = ""
    less: pd.DataFrame = field(default_factory=pd.DataFrame)

    def __repr__(self) -> str:
        return f"MechanismChoice({self.best}, of {len(self.table)} by the smallest {self.goal})"

    @property
    def cost(self) -> float:
        """How many times the respondents of the best mechanism the runner-up needs, at least 1."""
        return float(self.table.set_index("mechanism")["ratio"][str(self.runner_up)])

    @property
    def reason(self) -> str:
        """Why it is the best, in words, and what the runner-up costs."""
        best, rest = self.table.iloc[0], self.table.iloc[1:]
        tied, others = (rest[rest["ratio"].le(1.0) == same] for same in (True, False))
        kept = 100.0 * best["effective_share"]
        worth = f": a sample is worth {kept:.3g}% of one without privacy" if kept > 0.0 else ""
        words = (
            f"Of {len(self.table)} mechanisms {best['name']} has the smallest {self.goal}{worth}"
        )
        notes = [words, self.why]
        if len(tied):
            notes.append(f"As good, with reports that are no shorter: {', '.join(tied['name'])}")
        if len(others):
            second = others.iloc[0]
            if second["bits"] == best["bits"]:
                bits = f"a report of either takes {count_of(int(best['bits']), 'bit')}"
            else:
                own = count_of(int(second["bits"]), "bit")
                bits = f"its reports take {own}, those of {best['name']} {best['bits']}"
            notes.append(f"The runner-up, {second['name']}, needs {_more(second)}; {bits}")
            short = others[1:][
                others[1:]["bits"].le(best["bits"] / 2) & others[1:]["ratio"].le(_FEW)
            ]
            if len(short) and second["bits"] > best["bits"] / 2:
                third = short.iloc[0]
                notes.append(f"{third['name']} needs {_more(third)}, with {third['bits']} bits")
        for _, row in self.less.iterrows():
            much = f"{100.0 * row['ratio']:.2g}% of the respondents"
            notes.append(f"{row['name']} needs {much}, and gives up {row['given_up']}")
        return ". ".join(notes) + "."

    def __str__(self) -> str:
        columns = ["name", "bits", "loss", "ratio", "effective_share"]

        def numbers(value: float) -> str:
            return f"{value:,.0f}" if value >= 1000.0 else f"{value:.4g}"

        rows = self.table[columns].to_string(index=False, float_format=numbers)
        assumed = [f"{self.shares[:1].upper()}{self.shares[1:]}."] if self.shares else []
        text = " ".join([self.reason, *assumed])
        lines = [str(self.best), *textwrap.wrap(text, 79), "", rows]
        if len(self.less):
            columns = ["name", "loss", "ratio"]
            rows = self.less[columns].to_string(index=False, float_format=numbers)
            lines += ["", "Asking or protecting less:", rows]
        return "\n".join(lines)


def _more(row: Any) -> str:
    """What a mechanism needs beyond the best, in words."""
    if row["ratio"] >= 2.0:
        return f"{row['ratio']:.3g} times the respondents"
    return f"{100.0 * (row['ratio'] - 1.0):.2g}% more respondents"


@guided
def recommend(
    categories: Any,
    epsilon: float,
    goal: Any = "total",
    p: npt.ArrayLike | None = None,
    power: float | None = None,
    questions: int = 1,
) -> MechanismChoice:
    """The mechanism that needs the fewest respondents for a goal, at this epsilon.

    Of those of the package that protect all categories alike: k-RR, k-RAPPOR (symmetric and OUE),
    subset selection, Hadamard and projective geometry response; up to 256 categories OLH, and for
    two Warner's. Of mechanisms that are equally good the one with the shortest reports. Variances
    are those of the unconstrained estimates. Beyond 2,048 categories a contrast of several
    leaves out those whose covariance is too large to form.

    A goal about one category alone is reached with fewer respondents who are asked less, or of
    whose answers less is protected; so is the same goal for several questions if each respondent is
    asked some of them: `MechanismChoice.less` has what that needs and gives up.

    Parameters
    ----------
    categories : int, or sequence of labels
    epsilon : float
        Privacy of all reports of a respondent, in nats: of one question that of its report.
    goal : {"total", "worst"}, mapping, or test
        The summed variance of all categories, the largest standard error, or the variance of a
        contrast, a mapping from labels to weights: ``{"nurse": 1, "cook": -1}``; for one category
        ``{"nurse": 1}``, or ``{"category": "nurse"}``. A `ValueTest`, `GroupsTest`, `PresenceTest`
        or `CoefficientTest` asks for the fewest respondents whose test has its power at level 0.05.
    p : array-like, shape (k,), or Series or mapping by label, optional
        Expected distribution. Default: uniform. Not with a test, which has its own.
    power : float, optional
        Of a test as `goal`; 0.8 by default.
    questions : int
        Questions of this kind, for each of which the goal is to be reached. The mechanisms are for
        all of them together, each with an equal part of epsilon; `less` has the surveys that spend
        epsilon on fewer, ``Questionnaire(..., ask=1)``. Of one question `ask` can spare nothing.

    Raises
    ------
    InvalidArgument
        If an argument is out of range, or `goal` is no goal over the categories.
    NotAvailable
        If no number of respondents gives a test its power.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> found = recommend(64, epsilon=1.0)
    >>> print(found.best)
    SubsetSelection(k=64, epsilon=1, size=17)
    >>> found.table[["name", "bits", "loss", "ratio"]].head(3).round(3)
                      name  bits     loss  ratio
    0     Subset selection    64  228.401   1.00
    1                  OUE    64  233.033   1.02
    2  Projective geometry     7  235.285   1.03

    The fewest respondents who show that two groups differ, with probability 0.8:

    >>> goal = ldp.planning.GroupsTest([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]])
    >>> recommend(3, 1.0, goal).table[["name", "loss"]].head(1)
       name    loss
    0  k-RR  4873.0

    Whether 8 % rather than 5 % give the last of six answers is asked of fewer by itself:

    >>> shares = [[0.19] * 5 + [0.05], [0.184] * 5 + [0.08]]
    >>> found = recommend(6, 1.0, ldp.planning.GroupsTest(shares, category=5))
    >>> float(found.table["loss"][0])
    86774.0
    >>> found.less[["name", "loss"]]
                            name     loss
    0  URR that protects 5 alone  21100.0
    1      Asking only whether 5  34235.0

    Four questions, each asked of a quarter of the respondents:

    >>> found = recommend(4, epsilon=1.0, questions=4)
    >>> found.less[["name", "ratio"]].round(2)
                         name  ratio
    0  Asking 1 of 4 questions   0.23
    1  Asking 2 of 4 questions   0.52
    """
    labels, total = as_labels("categories", categories), positive_epsilon("epsilon", epsilon)
    n_questions = positive_integer("questions", questions)
    each = positive_epsilon("epsilon / questions", total / n_questions)
    made = contenders(labels, each)
    small, loss = objective(goal, labels, power)
    if isinstance(goal, Goal) and p is not None:
        raise InvalidArgument("p", p, "goes without a test as goal=, which has its own truth")
    law = expected_shares(p, labels)
    rows, failure = [], None
    for kind, mechanism in made.values():
        try:
            row = (kind.title, str(mechanism), report_bits(mechanism), loss(mechanism, law))
            rows.append((*row, kind, mechanism))
        except NotAvailable as error:  # of others it can be computed
            failure = failure or error
    if failure and not rows:
        raise failure
    columns = ["name", "mechanism", "bits", "loss", "kind", "made"]
    table = pd.DataFrame(rows, columns=columns).astype({"loss": float})
    times, direct = ratios(table["loss"].to_numpy()), loss(Observed(labels), law)
    table.insert(4, "ratio", np.where(times <= 1.0 + _TIED, 1.0, times))
    table.insert(5, "effective_share", direct / table["loss"].where(table["loss"] > 0.0))
    alike = np.array([float(f"{value:.6g}") for value in table["ratio"]])
    table = table.iloc[np.lexsort([table["bits"].to_numpy(), alike])].reset_index(drop=True)
    worse = np.flatnonzero(table["ratio"] > 1.0)  # the first; or all are equally good
    best, second = table.iloc[0], table.iloc[int(worse[0]) if worse.size else 1]
    shares = f"expected shares: {shares_text(pd.Series(law, index=labels))}"
    if isinstance(goal, Goal):
        shares = goal.truth
    table = table.drop(columns=["kind", "made"])
    if n_questions > 1:
        shares += f". All {n_questions} questions are asked, each with epsilon {each:.4g}"
    parts = [
        _less(goal, labels, each, lambda made: loss(made, law), best["loss"]),
        _asking_some(labels, total, n_questions, lambda made: loss(made, law), best["loss"]),
    ]
    less = pd.concat([one for one in parts if len(one)] or parts[:1])
    if len(less):
        less = less.sort_values("loss", ignore_index=True)
    chosen = best["made"], second["made"], small, best["kind"].why
    return MechanismChoice(*chosen, Table(table), shares, Table(less))


def _less(
    goal: Any, labels: pd.Index[Any], epsilon: float, loss: Callable[[Any], float], best: float
) -> pd.DataFrame:
    """What a goal about one category needs where less is asked or protected, cheapest first."""
    category = getattr(goal, "category", None)
    if isinstance(goal, Mapping):
        weighed = [label for label, weight in goal.items() if weight]
        category = weighed[0] if len(weighed) == 1 else None
        if category == "category" and category not in labels:
            category = goal["category"]
    if category is None or len(labels) < 3:
        return pd.DataFrame()
    x, k, name = place_of_category(category, labels), len(labels), one_line(category, 20)
    asked = KRR((f"not {category}", category), epsilon)
    rows = np.eye(2, dtype=int)[(np.arange(k) == x).astype(int)]
    merged = CustomMechanism(rows @ asked.channel().matrix(), labels, asked.categories)
    ways: list[tuple[str, Any, Any, str]] = [
        (f"Asking only whether {name}", asked, merged, f"the shares of the other {k - 1} answers")
    ]
    known = "protection of the others: a report may show for certain an answer other than"
    partly = URR(labels, {category}, epsilon)
    ways.append((f"URR that protects {name} alone", partly, partly, f"{known} {name}"))
    found = []
    for title, mechanism, planned, given_up in ways:
        needed = np.inf
        with suppress(NotAvailable):  # no number of respondents is enough
            needed = loss(planned)
        if needed < best:
            found.append((title, str(mechanism), needed, needed / best, given_up))
    return pd.DataFrame(found, columns=_LESS)


def _asking_some(
    labels: pd.Index[Any],
    epsilon: float,
    questions: int,
    loss: Callable[[Any], float],
    best: float,
) -> pd.DataFrame:
    """What several questions need where each respondent is asked 1, 2, 4, ... of them."""
    found = []
    for asked in (1 << i for i in range((questions - 1).bit_length())):
        needed, mechanism = np.inf, ""
        for _, made in contenders(labels, epsilon / asked).values():
            with suppress(NotAvailable):
                if (value := loss(made)) < needed * (1.0 - _TIED):
                    needed, mechanism = value, str(made)
        needed = needed * questions / asked  # only so many answer each question
        both = 100.0 * asked * (asked - 1) / (questions * (questions - 1))
        given_up = "joint tables: nobody answers two questions"
        if asked > 1:
            given_up = f"most of joint tables: {both:.2g}% of the respondents answer both questions"
        if needed < best:
            name = f"Asking {asked} of {questions} questions"
            found.append((name, mechanism, needed, needed / best, given_up))
    return pd.DataFrame(found, columns=_LESS)


# -- Several mechanisms side by side, at the same answers and number of respondents ---------------

_REMEDY = "must be a list of mechanisms, or a mapping from names to mechanisms"


@guided
def compare(
    mechanisms: Any,
    p: npt.ArrayLike | None,
    n: int,
    design_effect: float = 1.0,
    candidates: Any = None,
) -> pd.DataFrame:
    """Precision of several mechanisms for the same question, as a table.

    They may differ in epsilon, but not in their categories.

    Parameters
    ----------
    mechanisms : sequence of Mechanism, or mapping from names to mechanisms
    p : array-like, shape (k,), or Series, or None
        Expected distribution, in the order of the first mechanism's categories, or a Series by
        label. None: uniform.
    n, design_effect
        As in `precision`.
    candidates : sequence of str, optional
        The strings whose distribution is p, for the mechanisms with an open alphabet. Others must
        have them as categories.

    Returns
    -------
    DataFrame
        A row for each mechanism, by its name, in the order given. Columns: "epsilon" (nats);
        "bits" of a report; "worst_se", the largest standard error, and "worst_category";
        "total_se", the root of the summed variances; "effective_share" of the sample: respondents
        without privacy, simply sampled, who would give the same summed variance, over n;
        "worst_ratio" and "total_ratio": how many times the respondents of the best of these
        mechanisms are needed for the same largest standard error, and the same summed variance.

    Raises
    ------
    NotIdentified
        If the reports of a mechanism leave p open.
    NotAvailable
        If the candidates are too many for standard errors.
    InvalidArgument
        If an argument is out of range, or the mechanisms have different categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> mechanisms = {"k-RR": ldp.KRR(4, epsilon=1.0), "OUE": ldp.KRAPPOR(4, 1.0, theta=0.5)}
    >>> columns = ["bits", "worst_se", "effective_share", "total_ratio"]
    >>> compare(mechanisms, [0.4, 0.3, 0.2, 0.1], n=1000)[columns].round(3)
          bits  worst_se  effective_share  total_ratio
    k-RR     2     0.048            0.085        1.000
    OUE      4     0.057            0.058        1.465
    """
    if isinstance(mechanisms, Mapping):
        pairs: list[tuple[Any, Any]] = list(mechanisms.items())
    else:
        pairs = list(enumerate(listed("mechanisms", mechanisms, _REMEDY)))
    if not pairs:
        raise InvalidArgument("mechanisms", mechanisms, "must hold at least one mechanism")
    named: dict[str, Mechanism] = {}  # by the words of those that have no name
    for name, mechanism in pairs:
        if isinstance(mechanisms, Mapping) and not isinstance(name, str):
            raise InvalidArgument("mechanisms", name, "must have text as names")
        where = f"mechanisms[{name!r}]"
        checked = check_mechanism(mechanism, where)
        words = name if isinstance(name, str) else str(checked)
        if words in named:
            raise InvalidArgument(where, words, "is there twice: leave one out, or name them")
        named[words] = checked
    first = next(iter(named.values()))
    labels = first.labels(candidates if first.is_open else None)
    partial = all(m.is_open for m in named.values())
    law = pd.Series(expected_shares(p, labels, partial=partial), index=labels)
    rows = []
    for name, mechanism in named.items():
        strings = candidates if mechanism.is_open else None
        own = mechanism.labels(strings)
        if not _same(own, labels):
            remedy = f"has other categories than the first, whose are {list(labels[:5])}"
            raise InvalidArgument(f"mechanisms[{name!r}]", list(own[:5]), remedy)
        each, bits = precision(mechanism, law, n, design_effect, strings), report_bits(mechanism)
        total, se, share = each.total, float(each.se.max()), each.effective_share
        rows.append((mechanism.epsilon, bits, se, each.worst, np.sqrt(total), share, se**2, total))
    columns = ["epsilon", "bits", "worst_se", "worst_category", "total_se", "effective_share"]
    columns += ["worst_ratio", "total_ratio"]
    table = pd.DataFrame(rows, columns=columns, index=list(map(str, named)))
    table = table.assign(**{name: ratios(table[name].to_numpy()) for name in columns[-2:]})
    return Table(table)


def _same(own: pd.Index[Any], labels: pd.Index[Any]) -> bool:
    """Whether two lists have the same labels, in any order."""
    return len(own) == len(labels) and bool(own.astype(object).isin(labels.astype(object)).all())


def cost(
    mechanism: Mechanism,
    p: pd.Series[Any],
    candidates: Any,
    n: int | None,
    category: Any,
    design_effect: float,
    **target: Any,
) -> float:
    """The largest standard error, or that of the category, with n; or the n for the target.

    The candidates are for mechanisms with an open alphabet.
    """
    among = candidates if mechanism.is_open else None
    how: dict[str, Any] = {"design_effect": design_effect, "candidates": among}
    if n is None:
        return sample_size(mechanism, p, category=category, **how, **target)
    se = precision(mechanism, p, n, **how).se
    return float(se.max() if category is None else se.iloc[place_of_category(category, se.index)])


def ratios(losses: Array) -> Array:
    """Losses over the smallest; where that is zero, 1 for those that are zero too, and inf."""
    best = losses.min()
    if best > 0.0:
        return np.asarray(losses / best)
    return np.where(losses > 0.0, np.inf, 1.0)


# -- The theta at which uRAP has the smallest expected loss ---------------------------------------


_LARGEST = 36.0  # logit of the largest theta below 1 in double precision


@dataclass(frozen=True)
class BestTheta(Printed):
    """The best theta of uRAP, and its loss beside that of the default.

    Parameters
    ----------
    theta : float
        Argument of `URAP`; also ``float(...)`` of this object.
    loss : float
        Expected loss of one respondent at `theta`: n times the squared l2 loss of n respondents, or
        sqrt(n) times their l1 loss.
    default_theta, default_loss : float
        The same at MK19's theta, e^(epsilon/2) / (1 + e^(epsilon/2)).

    Examples
    --------
    >>> found = best_theta(100, 10, epsilon=4.0)
    >>> print(found)
    theta 0.7161, with 0.794 times the loss of the default 0.8808
    """

    theta: float
    loss: float
    default_theta: float
    default_loss: float

    @property
    def gain(self) -> float:
        """Loss at the default theta over that at the best one, at least 1.

        For the l2 loss, the default needs this many times as many respondents.
        """
        return max(self.default_loss / self.loss, 1.0)  # below 1 only by rounding

    def __float__(self) -> float:
        return self.theta

    def __str__(self) -> str:
        return (
            f"theta {self.theta:.4g}, with {1.0 / self.gain:.3g} times the loss of the default "
            f"{self.default_theta:.4g}"
        )


def best_theta(
    k: int, n_sensitive: int, epsilon: float, p: npt.ArrayLike | None = None, loss: str = "l2"
) -> BestTheta:
    """Find the theta at which uRAP has the smallest expected loss, at the same epsilon.

    MK19 (section 4.2) leaves theta open. For the l2 loss the best theta is near 1/2, as in
    optimised unary encoding, while e^epsilon is far below the number of sensitive categories; it
    then rises to 1, where other answers are reported as they are. It does not depend on n.

    Parameters
    ----------
    k : int
        Number of categories.
    n_sensitive : int
        Number of sensitive categories, from 1 to k.
    epsilon : float
        Privacy of a report, in nats.
    p : array, shape (k,), optional
        Expected distribution, sensitive categories first. Default: the worst case (minimax theta).
    loss : {"l2", "l1"}
        Expected squared l2 loss, or (asymptotic) expected l1 loss, of the inversion estimator.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Notes
    -----
    With e = e^epsilon, n times the variance of the estimate of p_x is ``A / theta + B / (1 - theta)
    - p_x^2``, where ::

        A = e (1 + p_x (e - 1)) / (e - 1)^2,    B = (e - p_x (e - 1)) / (e - 1)^2

    for sensitive x, and ``A = e p_x / (e - 1)``, B = 0 for others. As A + B >= p_x^2, these are
    sums of exponentials of logit(theta) with nonnegative coefficients. Hence the losses, and their
    maxima over p, are convex in logit(theta), and the search finds the only minimum. For the l2
    loss at a given p it is at

        theta = 1 / (1 + sqrt(c)),    c = (S - (1 - 1/e) p(X_S)) / (S + e - 1),

    which depends on p only by the total p(X_S) of the S sensitive categories.

    Examples
    --------
    >>> found = best_theta(100, 10, epsilon=4.0)
    >>> round(found.theta, 4), round(found.gain, 3)
    (0.7161, 1.26)
    >>> round(float(best_theta(10, 4, epsilon=1.0, p=[0.1] * 10)), 4)
    0.5526
    """
    from scipy.optimize import minimize_scalar

    copies, epsilon = kinds(k, n_sensitive, least=1), positive_epsilon("epsilon", epsilon)
    law = None if p is None else distribution("p", p, int(copies.sum()))
    loss = one_of("loss", loss, LOSSES)

    def at(theta: float | None) -> float:
        """Loss of one respondent at p, or its maximum over p."""
        eps, one = np.array(epsilon), np.array(1.0)
        if law is None:
            return float(worst_rates("urap", copies, eps, theta).loss(None, one, loss, copies))
        rates = urap_rates(np.arange(law.size) < copies[0], eps, theta)
        return float(rates.loss(law, one, loss))

    def inverse(logit: float) -> float:
        return float(1.0 / (1.0 + np.exp(-logit)))

    # Below the lower end all variances fall; beyond the upper one, where logit > 2 epsilon, those
    # of other categories fall more slowly than that of one sensitive category rises.
    ends = (0.0, min(2.0 * epsilon + 0.5 * np.log(copies.sum()) + 2.0, _LARGEST))
    optimum = minimize_scalar(
        lambda logit: at(inverse(logit)), bounds=ends, method="bounded", options={"xatol": 1e-9}
    )
    best = inverse(optimum.x)
    return BestTheta(best, at(best), inverse(epsilon / 2.0), at(None))


# -- The plot of precision against privacy. Matplotlib is imported when one is drawn --------------


_SIZE = (6.4, 4.8)  # inches
_DASHES = ("-", (0, (5, 1.5)), (0, (4, 1.5, 1, 1.5)), (0, (1.5, 1.2)))
_WIDEST = 2.8  # points; later lines are thinner, so that those below them can be seen
_MARKERS = "osD^vP*X"
_LONGEST = 40  # characters of the name of a mechanism
_DECADES = 3.0  # of an axis from which on only powers of ten are numbered
_DIGITS = (1.0, 2.0, 5.0)  # of the numbers on an axis
_RANGE = (0.1, 8.0)  # of epsilon, by default
_POINTS = 41
_MOST_POINTS = 1000
_LISTED = f"must be a list of mechanisms and of kinds, which are {', '.join(map(repr, KINDS))}"


def plot_frontier(
    mechanisms: Any = None,
    categories: Any = None,
    p: npt.ArrayLike | None = None,
    n: int | None = None,
    se: float | None = None,
    epsilons: npt.ArrayLike | None = None,
    category: Any = None,
    design_effect: float = 1.0,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Plot precision against privacy, a line for each kind of mechanism.

    The lower end of all lines, shaded, is the frontier: no kind that is drawn is more precise at
    that epsilon. A thin line shows a survey without privacy.

    Parameters
    ----------
    mechanisms : sequence of kinds or Mechanism, optional
        Kinds are drawn over all epsilons, mechanisms as points at their own: "krr", "warner",
        "krappor", "oue", "subset-selection", "hadamard-response", "projective-geometry-response"
        and "olh". Default: all kinds that are for so many categories.
    categories : int, or sequence of labels, optional
        Over which the kinds are drawn, and the candidates of mechanisms with an open alphabet.
        Default: those of the first mechanism.
    p : array-like, shape (k,), or Series, optional
        Expected distribution, in the order of `categories`, or a Series by label. Default: uniform.
    n : int, optional
        Draw the largest standard error of all categories with n respondents.
    se : float, optional
        Draw the respondents that are needed for this largest standard error. Exactly one of `n` and
        `se` is given.
    epsilons : sequence of float, optional
        At least two, in nats. Default: from 0.1 to 8.
    category : label, optional
        The category that counts. Default: the one with the largest standard error.
    design_effect : float
        As in `precision`.
    ax : matplotlib Axes, optional
        To draw on.
    title : str, optional
        "" for none.

    Raises
    ------
    InvalidArgument
        If an argument is out of range, `categories` are missing, or mechanisms have others.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ax = plot_frontier(["krr", "oue", ldp.KRR(16, epsilon=2.0)], 16, n=5000)
    >>> ax.get_xlabel()
    'epsilon of a report, in nats'
    """
    given = KINDS if mechanisms is None else listed("mechanisms", mechanisms, _LISTED)
    kinds, points = list[str](), list[Mechanism]()
    for i, one in enumerate(given):
        if isinstance(one, str):
            kinds.append(one_of(f"mechanisms[{i}]", one, KINDS))
        else:
            points.append(check_mechanism(one, f"mechanisms[{i}]"))
    if not given:
        raise InvalidArgument("mechanisms", mechanisms, _LISTED)
    closed = [m.categories for m in points if not m.is_open]
    if categories is None and not closed:
        remedy = "must be given: the categories, or the candidates of an open alphabet"
        raise InvalidArgument("categories", None, remedy)
    labels = closed[0] if categories is None else as_labels("categories", categories)
    grid = _grid(epsilons)
    law = pd.Series(expected_shares(p, labels), index=labels)
    if (n is None) == (se is None):
        remedy = "give one of n=, for standard errors, and se=, for respondents"
        raise InvalidArgument("n", n, remedy)
    n = None if n is None else positive_integer("n", n)

    def measure(mechanism: Mechanism) -> float:
        return cost(mechanism, law, tuple(labels), n, category, design_effect, se=se)

    lines: dict[str, list[float]] = {}
    for epsilon in grid.tolist():
        for kind, mechanism in contenders(labels, epsilon, kinds).values():
            lines.setdefault(kind.title, []).append(measure(mechanism))
    if not lines and not points:
        raise InvalidArgument("mechanisms", kinds, f"have none for {len(labels)} categories")
    for point in points:
        if not (np.isfinite(point.epsilon) and point.epsilon > 0.0):
            remedy = "must have a finite epsilon: a survey without privacy is drawn in any case"
            raise InvalidArgument("mechanisms", str(point), remedy)
        if not (point.is_open or _same(point.categories, labels)):
            remedy = f"must have the categories {preview(labels)}"
            raise InvalidArgument("mechanisms", str(point), remedy)
    dots, direct = [measure(point) for point in points], measure(Observed(labels))
    usual = f"{len(labels):,} categories" + ("" if n is None else f", n = {n:,}")
    words, own = title_text(title, usual), ax is None
    ax = axes_of(ax, *_SIZE)
    if len(lines) > 1:
        broad: dict[str, Any] = {"color": "0.87", "lw": 9, "solid_capstyle": "butt"}
        ax.plot(grid, np.min(list(lines.values()), axis=0), zorder=1, label="frontier", **broad)
    for i, (name, values) in enumerate(lines.items()):
        dashes: Any = {"ls": _DASHES[i % len(_DASHES)], "lw": max(_WIDEST - 0.25 * i, 1.2)}
        ax.plot(grid, values, color=f"C{i % 10}", label=name, **dashes)
    if direct > 0.0:
        ax.axhline(direct, color="0.35", lw=1.0, zorder=1, label="without privacy")
    # Mechanisms at their own epsilon, below the lines' colours in the list
    names = axis_labels([str(point) for point in points], _LONGEST)
    for i, (name, point, value) in enumerate(zip(names, points, dots, strict=True)):
        dot: Any = {"color": f"C{(len(lines) + i) % 10}", "ms": 7, "mec": "white", "zorder": 4}
        ax.plot(point.epsilon, value, _MARKERS[i % len(_MARKERS)], label=name, **dot)
    _name_axes(ax, [*lines.values(), dots, [direct]], se, category)
    finish(ax, words, own)
    return ax


def _grid(epsilons: Any) -> Array:
    """The epsilons at which lines are drawn, in order."""
    if epsilons is None:
        return np.geomspace(*_RANGE, _POINTS)
    low, high = EPSILON_RANGE
    remedy = f"must be from 2 to {_MOST_POINTS} different numbers from {low:g} to {high:g}"
    numbers = listed("epsilons", epsilons, remedy)
    distinct = {positive_epsilon(f"epsilons[{i}]", value) for i, value in enumerate(numbers)}
    if not 2 <= len(distinct) <= _MOST_POINTS:
        raise InvalidArgument("epsilons", epsilons, remedy)
    return np.array(sorted(distinct))


def _name_axes(ax: Axes, drawn: list[Any], se: Any, category: Any) -> None:
    """Logarithmic axes with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values = np.concatenate(drawn)
    ax.set_xscale("log")
    ax.margins(x=0.02)
    if np.all(values > 0.0):
        ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            many = axis is ax.yaxis and np.ptp(np.log10(values)) > _DECADES
            axis.set_major_locator(LogLocator(subs=(1.0,) if many else _DIGITS))
            axis.set_minor_formatter(NullFormatter())
        shown = percent_text if axis is ax.yaxis and se is None else _plain_number
        axis.set_major_formatter(FuncFormatter(lambda value, _, shown=shown: shown(value)))
    ax.grid(color="0.93", lw=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel("epsilon of a report, in nats")
    which = one_line(category, _LONGEST // 2)
    worst = category is None
    error = "largest standard error" if worst else f"standard error of {which}"
    if se is not None:
        target = percent_text(float(se))
        error = f"respondents for a {error}" + (f" of {target}" if worst else f": {target}")
    ax.set_ylabel(plain(error))


def _plain_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1.0 else f"{value:g}"
