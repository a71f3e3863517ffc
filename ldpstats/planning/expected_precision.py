"""How precise the estimates of a survey will be.

`precision` has the standard errors. Then: the covariance of one report, on which every plan rests,
and the bound for personalised estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    distribution,
    floats,
    level,
    numbers,
    one_of,
    positive_integer,
    positive_number,
    record,
)
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.hints import guided
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.inference.tails import normal_critical
from ldpstats.labels import align, position, preview
from ldpstats.likelihood.covariance import Covariance
from ldpstats.likelihood.moments import Moments
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.custom import CustomMechanism, Enumerated
from ldpstats.mechanisms.pum import PUM
from ldpstats.models.frequency.intervals import rests_on_scores
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Pair,
    SummaryTable,
    distinct_lines,
    header,
    one_line,
)

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = [
    "PersonalizedBound",
    "Precision",
    "one_report_covariance",
    "personalized_bound",
    "precision",
]


class Summarised:
    """What prints, and shows in a notebook, as its summary."""

    if TYPE_CHECKING:

        def summary(self) -> Summary: ...

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())


@record
class Precision(Summarised):
    """Standard errors that a survey will have, as `precision` computes them.

    Parameters
    ----------
    mechanism : Mechanism
    p : Series
        The distribution that is assumed, by category.
    n : int
        Respondents.
    design_effect : float
    variances : array, shape (k,)
        Variances of the estimates from one respondent, without the design effect.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> found = precision(ldp.KRR(("yes", "no"), epsilon=1.0), [0.1, 0.9], n=1000)
    >>> found.se.round(4).to_dict(), round(found.total, 6)
    ({'yes': 0.0318, 'no': 0.0318}, 0.002021)
    """

    mechanism: Mechanism
    p: pd.Series[Any]
    n: int
    design_effect: float
    variances: Array

    def __repr__(self) -> str:
        return f"Precision({self.mechanism}, n={self.n}, largest se={self.se.max():.4g})"

    @cached_property
    def se(self) -> pd.Series[Any]:
        """Standard error of the unconstrained estimate of each category."""
        errors = standard_errors(self.variances, self.n, self.design_effect)
        return pd.Series(errors, index=self.p.index, name="se")

    @property
    def total(self) -> float:
        """Sum of the variances of all categories: the expected squared l2 loss."""
        return float(self.variances.sum() * self.design_effect / self.n)

    @property
    def worst(self) -> Any:
        """The category with the largest standard error."""
        return self.p.index[int(np.argmax(self.variances))]

    @property
    def effective_n(self) -> float:
        """Respondents who would give the same total variance without privacy, simply sampled."""
        return self.n * self.effective_share

    @property
    def effective_share(self) -> float:
        """`effective_n` over n: total variance without privacy over that with it; nan for 0/0."""
        p, spread = self.p.to_numpy(), float(self.variances.sum()) * self.design_effect
        direct = float(p @ (1.0 - p))
        return direct / spread if spread > 0.0 else np.nan

    def width(self, alpha: float = 0.05) -> pd.Series[Any]:
        """Full width of the Wald interval of each category, before a cut to [0, 1]."""
        return (2.0 * normal_critical(alpha) * self.se).rename("width")

    @property
    def relative(self) -> pd.Series[Any]:
        """Standard error over p of each category; inf where p is zero."""
        p = self.p.to_numpy()
        with np.errstate(over="ignore"):  # of p next to zero
            values = np.divide(self.se, p, out=np.full(p.shape, np.inf), where=p > 0.0)
        return pd.Series(values, index=self.p.index, name="relative")

    def frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """All of these by category: "p", "se", "width", "relative"."""
        return pd.DataFrame(
            {"p": self.p, "se": self.se, "width": self.width(alpha), "relative": self.relative}
        )

    def summary(self, alpha: float = 0.05, max_rows: int = 40) -> Summary:
        """The standard errors as a table."""
        alpha, most = level(alpha), positive_integer("max_rows", max_rows)
        share, largest = self.effective_share, one_line(self.worst, 20)
        kept = "-" if np.isnan(share) else f"{self.effective_n:,.0f} ({100 * share:.3g}%)"
        largest_se = f"{self.se.max():.4g} ({largest})"
        return frequent_categories(
            title="Expected precision of frequencies",
            pairs=(
                [
                    ("Mechanism:", str(self.mechanism)),
                    ("Epsilon (nats):", self.mechanism.epsilon),
                    ("Design effect:", self.design_effect),
                ],
                [
                    ("Respondents:", f"{self.n:,}"),
                    ("Without privacy:", kept),
                    ("Largest std err:", largest_se),
                ],
            ),
            columns=["p", "std err", f"{100 * (1 - alpha):.4g}% width", "std err / p"],
            frame=self.frame(alpha),
            most=most,
            notes=["Of the unconstrained estimate, on which intervals and tests rest."],
        )


def frequent_categories(
    title: str,
    pairs: tuple[list[Pair], list[Pair]],
    columns: list[str],
    frame: pd.DataFrame,
    most: int,
    notes: list[str],
) -> Summary:
    """The rows of the most frequent categories of a frame, in their order."""
    frequent = np.sort(np.argsort(-frame["p"].to_numpy(), kind="stable")[:most])
    shown = frame.iloc[frequent]
    body = [[f"{value:.4g}" for value in row] for row in shown.to_numpy()]
    stubs = distinct_lines(shown.index, LONGEST_LABEL)
    if most < len(frame):
        notes = [f"Shown: the {most} largest of {len(frame)} estimates.", *notes]
    return SummaryTable(title, header(*pairs), columns, stubs, body, notes).layout()


@guided
def precision(
    mechanism: Mechanism,
    p: npt.ArrayLike | None,
    n: int,
    design_effect: float = 1.0,
    candidates: Any = None,
    method: str = "mle",
) -> Precision:
    """Standard errors of the estimates from n respondents, before there are any.

    Those of the unconstrained estimate, on which intervals and tests of `FrequencyModel` rest.
    Where a mechanism has cohorts, they are given their hashes and cohorts of equal size. The
    constrained estimates vary less where shares are near zero.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism; `Observed` for a survey without privacy.
    p : array-like, shape (k,), or Series or mapping by label, or None
        Expected distribution; an array is in category order. None: uniform. Over an open alphabet
        it may sum to less than one: other answers are then taken to hash evenly.
    n : int
        Respondents.
    design_effect : float
        Factor by which the sampling design multiplies the variances of the estimates from the
        reports. That of the answers themselves is larger if sampling is clustered, because noise is
        drawn for each respondent: using it errs on the safe side.
    candidates : sequence of str, optional
        The strings whose distribution is p; only for mechanisms with an open alphabet.
    method : {"mle", "inversion"}
        How the reports will be fitted. Beside "mle", reports of bits and of block designs have an
        unconstrained estimate from their likelihood, whose variance is the inverse information;
        with "inversion", or where only sums of bits are kept, they have the linear one from counts.
        For other mechanisms the two are one.

    Raises
    ------
    NotIdentified
        If the reports of the mechanism leave p open.
    NotAvailable
        If the candidates are too many for standard errors.
    InvalidArgument
        If an argument is out of range.

    Notes
    -----
    For k-RR, and k-RAPPOR by inversion, the totals are KBR16 Propositions 3 and 4.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "cook", "driver"), epsilon=1.0)
    >>> precision(krr, [0.5, 0.3, 0.2], n=2000).se.round(4).to_dict()
    {'nurse': 0.03, 'cook': 0.0287, 'driver': 0.0277}
    """
    at, how = setting(mechanism, p, candidates), one_of("method", method, METHODS)
    respondents, effect = positive_integer("n", n), effect_of_design(design_effect)
    shares = pd.Series(at.p, index=at.labels, name="p")
    return Precision(mechanism, shares, respondents, effect, at.variances(how))


def standard_errors(variances: Array, n: int, design_effect: float) -> Array:
    """Of n respondents; as computed, it never rises in n."""
    return np.sqrt(variances * design_effect / float(n))


def place_of_category(category: object, labels: pd.Index[Any]) -> int:
    """The place of a category that an argument names."""
    return position("category", category, labels, f"must be one of the labels {preview(labels)}")


# -- Covariance of the unconstrained estimate at one respondent, on which every plan rests --------


_EFFECTS = (1e-6, 1e6)
_LISTED = 1 << 20  # entries of a channel of which equal rows are looked for
METHODS = ("mle", "inversion")
_LEAST = 1e-12  # frequency of an answer that nobody gives


def one_report_covariance(
    mechanism: Mechanism,
    p: npt.ArrayLike | None = None,
    candidates: Any = None,
    method: str = "mle",
) -> Covariance:
    """Covariance of the unconstrained estimate from one respondent's report.

    Divided by n it is the covariance of `FrequencyResults.linear_params` from n respondents, on
    which intervals and tests rest. It is exact; where a mechanism has cohorts, given their hashes
    and cohorts of equal size.

    Parameters
    ----------
    mechanism, p, candidates, method
        As in `precision`.

    Returns
    -------
    Covariance
        Of size k, in the order of ``mechanism.labels(candidates)``.

    Raises
    ------
    NotAvailable
        If the categories are too many for a covariance, or candidates for standard errors; other
        errors as in `precision`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(4, epsilon=1.0)
    >>> one_report_covariance(krr, [0.4, 0.3, 0.2, 0.1]).variances().round(3)
    array([2.304, 2.157, 1.991, 1.804])
    """
    at = setting(mechanism, p, candidates)
    return at.covariance(one_of("method", method, METHODS))


@record
class Setting:
    """A mechanism with the distribution that is planned for, and what is known of one report."""

    mechanism: Mechanism
    p: Array  # (k,), in the order of the labels
    labels: pd.Index[Any]
    candidates: Any = None

    @cached_property
    def moments(self) -> Moments:
        """The equations of one report in each cohort."""
        return self.mechanism.moments(self.mechanism.specimen(), self.candidates)

    @cached_property
    def scores(self) -> tuple[Array, Covariance] | None:
        """Where results rest on the likelihood of bits or blocks, its inverse information.

        That is on the tangent space, at a distribution without zeros, which comes first.
        """
        if not rests_on_scores([self.mechanism], [self.moments]):
            return None
        start = np.maximum(self.p, _LEAST)
        start = start / start.sum()
        try:
            return start, observed_tangent_inverse(self.mechanism.channel().information(start))
        except (NotAvailable, NotIdentified):  # inversion has the milder demands
            return None

    def at(self, p: Array) -> Setting:
        """The same with another distribution; the equations do not depend on it."""
        other = replace(self, p=p)
        other.__dict__["moments"] = self.moments
        return other

    def covariance(self, method: str = "mle") -> Covariance:
        """Of the unconstrained estimate from one report."""
        if method == "mle" and self.scores:
            return self.scores[1]
        if not self.moments.has_covariance:
            raise NotAvailable(
                f"the covariance of {len(self.p)} categories of {self.mechanism} is too large to "
                "form: precision() has their standard errors"
            )
        return self.moments.covariance(self.p).scaled(float(self.moments.nobs))

    def variances(self, method: str = "mle") -> Array:
        """The diagonal of the covariance, shape (k,), for very many categories too."""
        if method == "mle" and self.scores:
            return self.scores[1].variances()
        return self.moments.estimate_variances(self.p) * self.moments.nobs

    def place(self, category: Any) -> int:
        """Position of a category."""
        return position("category", category, self.labels, f"is no category of {self.mechanism}")

    def about(self, category: Any) -> Setting:
        """What the reports tell of one category, where they do not tell others apart.

        Categories whose reports have one law are one, so that a channel which is made for one
        frequency, such as Warner's question about it, determines that frequency.
        """
        mechanism, x = self.mechanism, self.place(category)
        if not isinstance(mechanism, Enumerated) or mechanism.k * mechanism.n_outputs > _LISTED:
            return self
        Q = mechanism.channel().matrix()
        _, first, group = np.unique(Q.round(14), axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
        if len(first) == len(Q) or np.sum(group == group[x]) > 1:
            return self
        names = [self.labels[np.flatnonzero(group == g)].tolist() for g in range(len(first))]
        labels = [own[0] if len(own) == 1 else " or ".join(map(str, own)) for own in names]
        made = CustomMechanism(Q[first], labels, mechanism.outputs, description=str(mechanism))
        return Setting(made, np.bincount(group, self.p), made.categories)


def setting(mechanism: Mechanism, p: Any, candidates: Any) -> Setting:
    """What is planned for; p of an open alphabet may sum to less than one."""
    labels = check_mechanism(mechanism).labels(candidates)
    law = expected_shares(p, labels, partial=mechanism.is_open)
    return Setting(mechanism, law, labels, candidates)


def check_mechanism(mechanism: object, name: str = "mechanism") -> Mechanism:
    """Return a mechanism; refuse anything else."""
    if isinstance(mechanism, PUM):
        remedy = "has no distribution of its own: plan with its .common, categories and bots"
        raise InvalidArgument(name, str(mechanism), remedy)
    if not isinstance(mechanism, Mechanism):
        remedy = "must be a mechanism, such as KRR(...)"
        if getattr(mechanism, "sample_size", None):  # a CellPlan, whose module uses this one
            remedy = "is of several questions: call its own precision(), power() or sample_size()"
        raise InvalidArgument(name, mechanism, remedy)
    return mechanism


def expected_shares(p: Any, labels: pd.Index[Any], partial: bool = False) -> Array:
    """The distribution that a plan assumes, shape (k,): uniform by default, a Series by label."""
    k = len(labels)
    if p is None:
        return np.full(k, 1.0 / k)
    return distribution("p", align("p", p, labels), k, partial)


def effect_of_design(value: object) -> float:
    """A design effect: the factor by which the sampling design multiplies variances."""
    return positive_number("design_effect", value, _EFFECTS)


# -- Shares that a plan assumes, in words ---------------------------------------------------------


_MOST = 8  # numbers that are written out
_ROWS = 4
_LONGEST = 20  # characters of a label


def shares_text(p: Any) -> str:
    """Shares in their order, with their labels where p is a Series: "no 0.95, yes 0.05"."""
    values = floats(p)
    labels = p.index.tolist() if isinstance(p, pd.Series) else None
    if labels is not None and np.ptp(values) <= 1e-12:
        return f"equal ({values[0]:.4g} each)"
    words = [f"{value:.4g}" for value in values[:_MOST]]
    if labels is not None:
        words = [f"{one_line(x, _LONGEST)} {w}" for x, w in zip(labels, words, strict=False)]
    if len(values) > _MOST:
        words.append(f"... ({len(values)} in all)")
    return ", ".join(words)


def table_text(table: Any) -> str:
    """Rows of shares, with their labels where the table is a DataFrame."""
    named = isinstance(table, pd.DataFrame)
    rows = [table.iloc[i] if named else table[i] for i in range(min(len(table), _ROWS))]
    words = [shares_text(row) for row in rows]
    if named:
        pairs = zip(table.index, words, strict=False)
        words = [f"{one_line(label, _LONGEST)}: {text}" for label, text in pairs]
    if len(table) > _ROWS:
        words.append(f"... ({len(table)} rows)")
    return "; ".join(words)


# -- A bound on the l1 loss of a personalised estimate --------------------------------------------


@dataclass(frozen=True)
class PersonalizedBound:
    """Upper bound of the l1 loss of a personalised estimate, in two parts.

    Parameters
    ----------
    first : float
        l1 loss of the estimate of the intermediate distribution.
    second : float
        The most that errors in the background knowledge add.
    worst_second : float
        Maximum of `second` over all true backgrounds, computed from the estimates alone; twice the
        share of the tags if no estimate is negative.

    Examples
    --------
    >>> PersonalizedBound(first=0.02, second=0.01, worst_second=0.1).total
    0.03
    """

    first: float
    second: float
    worst_second: float

    @property
    def total(self) -> float:
        """The bound."""
        return self.first + self.second


def personalized_bound(
    r_hat: npt.ArrayLike, r: npt.ArrayLike, pi_hat: npt.ArrayLike, pi: npt.ArrayLike
) -> PersonalizedBound:
    """Bound the l1 loss of eq. 21's estimate under a personalised mechanism (MK19 Theorem 1).

    The estimate is ``p_hat(x) = r_hat(x) + sum_t r_hat(t) pi_hat_t(x)`` over the tags t, and ::

        l1(p_hat, p) <= l1(r_hat, r) + sum_t |r_hat(t)| l1(pi_hat_t, pi_t).

    Parameters
    ----------
    r_hat : array, shape (k + kappa,)
        Estimated distribution of the intermediate data: k categories, then kappa tags. Entries may
        be negative.
    r : array, shape (k + kappa,)
        The true one.
    pi_hat : array, shape (kappa, k)
        Assumed distributions of the category given each tag. Entries may be negative.
    pi : array, shape (kappa, k)
        The true ones.

    Raises
    ------
    InvalidArgument
        If shapes differ, an entry is not finite, or `r` or a row of `pi` is not a distribution.

    Notes
    -----
    MK19 prints the second part without the absolute value, which may fail where an estimate is
    negative. Its maximum is ``sum_t |r_hat(t)| (1 + |pi_hat_t|_1)``, which is ``2 sum_t
    |r_hat(t)|`` when each pi_hat_t is a distribution.

    Examples
    --------
    >>> bound = personalized_bound(
    ...     r_hat=[0.52, 0.28, 0.2], r=[0.5, 0.3, 0.2], pi_hat=[[0.5, 0.5]], pi=[[0.9, 0.1]]
    ... )
    >>> round(bound.first, 4), round(bound.second, 4), round(bound.worst_second, 4)
    (0.04, 0.16, 0.4)
    """
    truth = _finite("pi", pi)
    if truth.ndim != 2:
        remedy = "must have one row for each tag and one column for each category"
        raise InvalidArgument("pi", f"array of shape {truth.shape}", remedy)
    kappa, k = truth.shape
    for t, row in enumerate(truth):
        distribution(f"pi[{t}]", row, k)
    assumed = _finite("pi_hat", pi_hat, (kappa, k))
    estimate = _finite("r_hat", r_hat, (k + kappa,))
    tags = np.abs(estimate[k:])
    return PersonalizedBound(
        float(np.abs(estimate - distribution("r", r, k + kappa)).sum()),
        float(tags @ np.abs(assumed - truth).sum(axis=1)),
        float(tags @ (1.0 + np.abs(assumed).sum(axis=1))),
    )


def _finite(name: str, value: object, shape: tuple[int, ...] | None = None) -> Array:
    remedy = "must be an array of finite numbers"
    array = numbers(name, value, remedy)
    if shape is not None and array.shape != shape:
        raise InvalidArgument(name, f"array of shape {array.shape}", f"must have shape {shape}")
    if not np.all(np.isfinite(array)):
        raise InvalidArgument(name, value, remedy)
    return array
