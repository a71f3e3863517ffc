"""What respondents who lie on purpose can do to the estimates of a survey."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, one_of, positive_integer, probability, record
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.labels import position, preview
from ldpstats.likelihood.covariance import Pair, picked
from ldpstats.likelihood.hashed import CohortMoments
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.expected_precision import (
    METHODS,
    Setting,
    Summarised,
    frequent_categories,
    setting,
)

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["Manipulation", "Shift", "manipulation"]

_COHORTS = ("assigned", "chosen")


@dataclass(frozen=True)
class Shift:
    """How far the expected estimate of one quantity can be moved.

    Parameters
    ----------
    upward, downward : float
        Largest increase, and largest decrease as a negative number.

    Examples
    --------
    >>> Shift(upward=0.03, downward=-0.01).largest
    0.03
    """

    upward: float
    downward: float

    @property
    def largest(self) -> float:
        """The larger of the two in size."""
        return max(self.upward, -self.downward)


@record
class Manipulation(Summarised):
    """Shifts that a share of malicious respondents can cause: the result of `manipulation`.

    Parameters
    ----------
    mechanism : Mechanism
    share : float
        Malicious respondents among all.
    p : Series
        True frequencies of all others, by category.
    upward, downward : Series
        By how much the expected estimate of each category can be raised, and lowered (negative).
        Each is an attack of its own: one report does not serve all categories.
    se : Series or None
        Standard errors of the estimates of n honest respondents; None where n was not given.
    n : int or None
    cohorts, method
        As in `manipulation`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> found = manipulation(ldp.KRR(4, epsilon=0.5), share=0.01, p=[0.05, 0.25, 0.3, 0.4])
    >>> round(float(found.p[0] + found.upward[0]), 3)
    0.106
    """

    mechanism: Mechanism
    share: float
    p: pd.Series[Any]
    upward: pd.Series[Any]
    downward: pd.Series[Any]
    se: pd.Series[Any] | None
    n: int | None
    cohorts: str
    method: str = "mle"

    def __repr__(self) -> str:
        far = max(self.upward.max(), -self.downward.min())
        return f"Manipulation({self.mechanism}, share={self.share:g}, largest shift={far:.4g})"

    @property
    def table(self) -> pd.DataFrame:
        """Columns "p", "upward", "downward" and, where n was given, "se", by category."""
        parts = {"p": self.p, "upward": self.upward, "downward": self.downward}
        return pd.DataFrame(parts if self.se is None else parts | {"se": self.se})

    def difference(self, first: Any, second: Any) -> Shift:
        """The largest shifts of the estimate of p_first - p_second.

        Parameters
        ----------
        first, second : label
            Two categories.

        Raises
        ------
        InvalidArgument
            For a label that is no category, or the same one twice.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> found = manipulation(ldp.KRR(("a", "b", "c"), epsilon=1.0), share=0.01)
        >>> round(found.difference("a", "b").upward, 6)
        0.027459
        """
        remedy = f"must be one of the categories: {preview(self.p.index)}"
        given = (("first", first), ("second", second))
        places = [position(name, label, self.p.index, remedy) for name, label in given]
        if places[0] == places[1]:
            raise InvalidArgument("second", second, "must be another category than first")
        candidates = self.p.index if self.mechanism.is_open else None
        at = Setting(self.mechanism, self.p.to_numpy(), self.p.index, candidates)
        how = self.share, self.cohorts, self.method
        low, high = _shifts(at, *how, (places[0], places[1]))
        return Shift(float(high[0]), float(low[0]))

    def summary(self, max_rows: int = 40) -> Summary:
        """The shifts as a table.

        Parameters
        ----------
        max_rows : int
            Categories to show, the most frequent first where there are more.

        Raises
        ------
        InvalidArgument
            If `max_rows` is not a positive integer.
        """
        most, frame = positive_integer("max_rows", max_rows), self.table
        names = {"upward": "raised by", "downward": "lowered by", "se": "std err"}
        notes = [
            "Of the unconstrained estimate, each category attacked alone. Goodness of fit does "
            "not find attackers whose reports look like those of another population."
        ]
        if self.mechanism.n_cohorts > 1:
            how = {
                "assigned": "Malicious respondents report in the cohort that they were given.",
                "chosen": "Malicious respondents all report in the cohort that serves them best.",
            }
            notes.append(how[self.cohorts])
        left = [("Mechanism:", str(self.mechanism)), ("Epsilon (nats):", self.mechanism.epsilon)]
        right = [("Malicious:", f"{100 * self.share:.4g}%")]
        right += [] if self.n is None else [("Respondents:", f"{self.n:,}")]
        return frequent_categories(
            title="Largest shifts by malicious respondents",
            pairs=(left, right),
            columns=[names.get(name, name) for name in frame.columns],
            frame=frame,
            most=most,
            notes=notes,
        )


def manipulation(
    mechanism: Mechanism,
    share: float,
    p: npt.ArrayLike | None = None,
    candidates: Any = None,
    n: int | None = None,
    cohorts: str = "assigned",
    method: str = "mle",
) -> Manipulation:
    """Largest shift of each estimate by respondents who send the report that serves them.

    A report r alone has the estimate G[x, r] of category x, so that a share s of respondents who
    all send it moves the expected estimate by ``s (G[x, r] - p_x)``. The shifts are those of
    the r that goes furthest, up and down. The smaller epsilon is, the larger is G, and the more a
    malicious respondent counts: this is the price of plausible denial, no fault of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism. A malicious respondent may send any report that the collector takes: any
        label that is possible, any pattern of bits.
    share : float
        Malicious respondents among all, from 0 to below 1.
    p : array-like, shape (k,), or Series, optional
        True frequencies of the honest respondents, in category order or by label. Default: uniform.
    candidates
        As in `precision`.
    n : int, optional
        Respondents, for standard errors to compare with.
    cohorts : {"assigned", "chosen"}
        Where the mechanism has cohorts: malicious respondents are spread over them like others
        (the collector gave out cohorts and checks them), or all report in the cohort that serves
        them best. Cohorts are taken to be of equal size otherwise.
    method : {"mle", "inversion"}
        How the reports will be fitted: as in `precision`. The estimate from the
        likelihood of bits and of blocks weighs an odd report more, and can be moved further.

    Raises
    ------
    NotIdentified
        If the reports leave p open.
    NotAvailable
        If candidates are too many.
    InvalidArgument
        If an argument is invalid, or cohorts are chosen where there are none.

    Notes
    -----
    The shifts are those of the expected unconstrained estimate, on which intervals and tests rest.
    They are exact for inversion. For an estimate from the likelihood, ``s V a_r`` with the score
    a_r of the report and the inverse information V, they are of first order in the share. In a
    large survey goodness of fit may see patterns of bits that no population makes. Constrained
    estimates move by about as much away from the boundary.

    Respondents who see their reports before they are sent can do harm without malice: of those who
    hold a report r a share d may delete it. The others' reports have the law
    ``m'_y = m_y (1 - d [y = r]) / (1 - d m_r)`` with ``m = p Q``, and the estimates are those of
    it. With two answers the share of r's own moves by ``-d m_r (1 - m_r) / (L (1 - d m_r))``,
    L the difference of P(r) between the two answers (Examples). Pages and clients of the package
    therefore ask for consent before they draw.

    Known as poisoning or manipulation attacks on local differential privacy: Cheu, Smith and Ullman
    (IEEE S&P 2021); Cao, Jia and Gong (USENIX Security 2021).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> print(manipulation(ldp.KRR(("a", "b"), epsilon=1.0), 0.01, p=[0.1, 0.9]).table.round(4))
         p  upward  downward
    a  0.1  0.0148   -0.0068
    b  0.9  0.0068   -0.0148

    Of a share of .2, what is left if 5 or 10 % of those who hold a "yes" delete it:

    >>> Q = ldp.Warner(epsilon=1.0).channel().matrix()
    >>> m, L = 0.8 * Q[0, 1] + 0.2 * Q[1, 1], Q[1, 1] - Q[0, 1]
    >>> [round(float(0.2 - d * m * (1 - m) / (L * (1 - d * m))), 3) for d in (0.05, 0.1)]
    [0.175, 0.148]
    """
    at, portion = setting(mechanism, p, candidates), probability("share", share, one=False)
    respondents = None if n is None else positive_integer("n", n)
    how, fitted = one_of("cohorts", cohorts, _COHORTS), one_of("method", method, METHODS)
    low, high = _shifts(at, portion, how, fitted)
    names = ("p", "upward", "downward")
    shares, up, down = (
        pd.Series(values, index=at.labels, name=name)
        for name, values in zip(names, (at.p, high, low), strict=True)
    )
    se = None
    if respondents is not None:
        se = pd.Series(np.sqrt(at.variances(fitted) / respondents), index=at.labels, name="se")
    return Manipulation(mechanism, portion, shares, up, down, se, respondents, how, fitted)


def _shifts(
    at: Setting, share: float, cohorts: str, method: str, pair: Pair | None = None
) -> tuple[Array, Array]:
    """Least and largest shift of each estimate, or of a difference."""
    if method == "mle" and cohorts == "assigned" and at.scores:
        start, V = at.scores
        with suppress(NotAvailable, NotIdentified):  # inversion has the milder demands
            reach = at.mechanism.channel().score_reach(start, picked(V.matrix(), pair))
            return share * reach[0], share * reach[1]
    truth = at.p if pair is None else at.p[[pair[0]]] - at.p[[pair[1]]]
    if cohorts == "assigned":
        low, high = at.moments.reach(pair)
        return share * (low - truth), share * (high - truth)
    if not isinstance(at.moments, CohortMoments):
        raise InvalidArgument("cohorts", cohorts, "is for mechanisms that have cohorts")
    low, high = at.moments.crowded_reach(at.p, share, pair)
    return low - truth, high - truth
