"""What `design_channel` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.best.bounds import bound_of, design_loss
from ldpstats.planning.best.goals import Goal
from ldpstats.planning.best.limits import Limits
from ldpstats.planning.best.losses import checked_priors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["ChannelDesign"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ChannelDesign:
    """The best channel for a loss, with its certificate. `design_channel` makes it.

    Parameters
    ----------
    mechanism : Mechanism
        The channel, ready for a client: a named mechanism where the design is one, else a
        `CustomMechanism`.
    name : str
        The name of the design, such as "k-RR" or "subset selection of size 2"; "" if it has none.
    loss : float
        The loss of the channel for one respondent: with n respondents it is ``loss / n``. Variances
        for all losses; for "D" the geometric mean of the eigenvalues of the covariance.
    bound : float
        No channel within the privacy limits has a smaller loss.
    efficiency : Series
        Respondents that named mechanisms need for the same precision, as ratios to the design; inf
        for one that does not identify what the loss asks for, nan where it was not computed.
    epsilon : array, shape (k, k)
        The limit of each pair, ``ln Q[x, y] / Q[x', y]``, closed by shortest paths.
    excess : float
        By how much the channel exceeds a limit at most, in nats: at most 1e-12.
    identified : bool
        Whether reports of this channel determine the whole distribution.
    goal : Goal
        The loss and the priors.
    limits : Limits
    unprotected : array of bool, shape (k,)
        Categories that a report may reveal.

    Examples
    --------
    >>> from ldpstats.planning import design_channel
    >>> best = design_channel(("nurse", "teacher", "driver", "cook"), epsilon=0.5)
    >>> best
    ChannelDesign(subset selection of size 2, k=4, loss=37.5093, gap=0)
    >>> best.efficiency.round(3)
    KRR                        1.027
    KRAPPOR                    1.283
    SubsetSelection(size=2)    1.000
    dtype: float64
    """

    mechanism: Mechanism
    name: str
    loss: float
    bound: float
    efficiency: pd.Series[float]
    excess: float
    identified: bool
    goal: Goal
    limits: Limits
    unprotected: Array

    def __repr__(self) -> str:
        name = f"{self.name}, " if self.name else ""
        gap = round(self.gap, 12)  # what is less is rounding, and differs between processors
        return f"ChannelDesign({name}k={self.mechanism.k}, loss={self.loss:.6g}, gap={gap:.2g})"

    @property
    def gap(self) -> float:
        """``1 - bound / loss``: no channel within the limits needs fewer respondents by more."""
        return max(0.0, 1.0 - self.bound / self.loss)

    @property
    def epsilon(self) -> Array:
        """The limit of each pair of categories, shape (k, k), in nats."""
        return self.limits.pairs

    @property
    def prior(self) -> pd.DataFrame:
        """The distributions that the design was made for, one a row."""
        return pd.DataFrame(self.goal.priors, columns=self.mechanism.categories)

    def sensitivity(self, prior: Any) -> pd.DataFrame:
        """What a wrong prior costs: the design under other distributions, against their optimum.

        Parameters
        ----------
        prior : array-like, shape (k,) or (m, k), Series, or "uniform"
            Distributions that the answers may have instead.

        Returns
        -------
        DataFrame
            A row for each distribution: `loss` of the design; `optimum`, the bound on the loss of
            any channel; and `respondents`, their ratio: how many times as many respondents the
            design needs, at most, than the channel that is best for that distribution.

        Raises
        ------
        InvalidArgument
            If `prior` does not hold distributions of the categories.

        Examples
        --------
        >>> from ldpstats.planning import design_channel
        >>> best = design_channel(4, epsilon=1.0)
        >>> best.sensitivity([0.6, 0.25, 0.1, 0.05]).round(4)
            loss  optimum  respondents
        0  8.1212    8.094       1.0034
        """
        rows = []
        for p in checked_priors(prior, self.mechanism.categories):
            goal = Goal(self.goal.kind, p[None], self.goal.contrasts)
            loss = design_loss(self.mechanism, goal)
            best = bound_of(goal, self.limits, self.unprotected)
            rows.append((loss, best, loss / best if best > 0.0 else np.nan))
        return pd.DataFrame(rows, columns=["loss", "optimum", "respondents"])

    def summary(self) -> Summary:
        """The design as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`."""
        from ldpstats.planning.best.summary import design_summary

        return design_summary(self)

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        return str(self.summary().as_html())

    def plot(self, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Draw the channel: a row a category, a column a report, as wide as it is probable.

        Cells are darker where the category is more likely to make the report, relative to the one
        that is most likely to.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        title : str, optional

        Raises
        ------
        NotAvailable
            If there are more than 400 reports or 100 categories.
        InvalidArgument
            If `ax` is not an Axes or `title` not text.
        """
        from ldpstats.planning.best.plots import plot_design

        return plot_design(self, ax, title)
