"""How precise the estimates of a survey will be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, positive_integer
from ldpstats.arguments.labels import position, preview
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.shared.notes import epsilon_text, rest_notes
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    distinct_lines,
    one_line,
)
from ldpstats.planning.variances import effect_of_design, expected_shares, one_report_variances

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["Precision", "precision"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Precision:
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
        return self._named(standard_errors(self.variances, self.n, self.design_effect), "se")

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
        """Full width of the Wald interval of each category, before a cut to [0, 1].

        Parameters
        ----------
        alpha : float
            1 - coverage.

        Raises
        ------
        InvalidArgument
            If `alpha` is not between 0 and 1.
        """
        return self._named(widths(self.se.to_numpy(), level(alpha)), "width")

    @property
    def relative(self) -> pd.Series[Any]:
        """Standard error over p of each category; inf where p is zero."""
        return self._named(relatives(self.se.to_numpy(), self.p.to_numpy()), "relative")

    def frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """All of these by category: "p", "se", "width", "relative".

        Parameters
        ----------
        alpha : float
            1 - coverage of the intervals whose full width is shown.

        Raises
        ------
        InvalidArgument
            If `alpha` is not between 0 and 1.
        """
        return pd.DataFrame(
            {"p": self.p, "se": self.se, "width": self.width(alpha), "relative": self.relative}
        )

    def summary(self, alpha: float = 0.05, max_rows: int = 40) -> Summary:
        """The standard errors as a table.

        Parameters
        ----------
        alpha : float
            1 - coverage of the intervals whose full width is shown.
        max_rows : int
            Categories to show, the most frequent first where there are more.

        Raises
        ------
        InvalidArgument
            If `alpha` or `max_rows` is invalid.
        """
        alpha, most = level(alpha), positive_integer("max_rows", max_rows)
        frame = self.frame(alpha)
        frequent = np.sort(np.argsort(-frame["p"].to_numpy(), kind="stable")[:most])
        shown = frame.iloc[frequent]
        table = SummaryTable(
            title="Expected precision of frequencies",
            header=self._header(),
            columns=["p", "std err", f"{100 * (1 - alpha):.4g}% width", "std err / p"],
            stubs=distinct_lines(shown.index, LONGEST_LABEL),
            body=[[f"{value:.4g}" for value in row] for row in shown.to_numpy()],
            notes=[
                *rest_notes(len(shown), len(frame)),
                "Of the unconstrained estimate, on which intervals and tests rest.",
            ],
        )
        return table.layout()

    def _header(self) -> list[list[str]]:
        share = self.effective_share
        kept = "-" if np.isnan(share) else f"{self.effective_n:,.0f} ({100 * share:.3g}%)"
        largest_se = f"{self.se.max():.4g} ({one_line(self.worst, 20)})"
        return [
            ["Mechanism:", str(self.mechanism), "Respondents:", f"{self.n:,}"],
            ["Epsilon (nats):", epsilon_text(self.mechanism.epsilon), "Without privacy:", kept],
            ["Design effect:", f"{self.design_effect:g}", "Largest std err:", largest_se],
        ]

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        return str(self.summary().as_html())

    def _named(self, values: Array, name: str) -> pd.Series[Any]:
        return pd.Series(values, index=self.p.index, name=name)


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
    p : array-like, shape (k,), or Series, or None
        Expected distribution, in category order, or a Series by label. None: uniform. Over an open
        alphabet it may sum to less than one.
    n : int
        Respondents.
    design_effect : float
        Factor by which the sampling design multiplies the variances of the estimates from the
        reports. That of the answers themselves is larger if sampling is clustered, because noise is
        drawn for each respondent: using it errs on the safe side.
    candidates : sequence of str, optional
        The strings whose distribution is p; only for mechanisms with an open alphabet.
    method : {"mle", "inversion"}
        How the reports will be fitted: as in `one_report_covariance`.

    Returns
    -------
    Precision

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
    variances = one_report_variances(mechanism, p, candidates, method)
    labels = mechanism.labels(candidates)
    shares = expected_shares(p, labels, partial=mechanism.is_open)
    respondents, effect = positive_integer("n", n), effect_of_design(design_effect)
    return Precision(
        mechanism, pd.Series(shares, index=labels, name="p"), respondents, effect, variances
    )


def standard_errors(variances: Array, n: int, design_effect: float) -> Array:
    """Of n respondents; as computed, it never rises in n."""
    return np.asarray(np.sqrt(variances * design_effect / float(n)))


def widths(se: Array, alpha: float) -> Array:
    """Full widths of Wald intervals."""
    from scipy.special import ndtri

    return np.asarray(-2.0 * ndtri(alpha / 2.0) * se)


def relatives(se: Array, p: Array) -> Array:
    """Standard errors over p; inf where p is zero."""
    with np.errstate(over="ignore"):  # of p next to zero
        return np.asarray(np.divide(se, p, out=np.full(p.shape, np.inf), where=p > 0.0))


def place_of_category(category: object, labels: pd.Index[Any]) -> int:
    """The place of a category that an argument names."""
    return position("category", category, labels, f"must be one of the labels {preview(labels)}")
