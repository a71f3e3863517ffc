"""What results of the frequencies of one variable's categories have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.inference import multiplicity
from ldpstats.models.shared.presentation import Summarised
from ldpstats.models.shared.results import FittedResults
from ldpstats.models.shared.spelling import names_alpha

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CategoryResults"]


@dataclass(frozen=True, eq=False)
class CategoryResults(Summarised, FittedResults):
    """Estimated frequencies of the categories of one variable: which are there, and their plot."""

    @abstractmethod
    def presence_pvalues(self) -> pd.Series[float]:
        """One-sided p-values of p = 0 against p > 0, not adjusted for multiplicity."""

    @names_alpha
    def detected(self, alpha: float = 0.05, method: str = "bonferroni") -> pd.Index[Any]:
        """Categories whose frequency is above zero, with control of the errors made over all.

        Parameters
        ----------
        alpha : float
            Family-wise error rate ("bonferroni", "holm") or false discovery rate ("bh").
        method : {"bonferroni", "holm", "bh"}

        Returns
        -------
        Index
            Labels of the detected categories, in category order.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 1.0), ("home",))
        >>> counts = pum.common.counts([180, 60, 270, 490])
        >>> homes = {"home": [0.25, 0.75, 0.0]}
        >>> list(ldp.PersonalizedModel(counts, pum, homes, exact=True).fit().detected(0.05))
        ['centre', 'park']
        """
        alpha = level(alpha)
        rejected = multiplicity.reject(self.presence_pvalues().to_numpy(), alpha, method)
        return self.index[np.asarray(rejected)]

    @abstractmethod
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates, with their intervals."""

    @names_alpha
    def plot(
        self,
        ax: Axes | None = None,
        alpha: float = 0.05,
        truth: Any = None,
        sort: bool | str | None = None,
        most: int = 25,
        title: str | None = None,
    ) -> Axes:
        """Draw the estimates with their intervals, and the truth where the caller has it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        truth : Series or array, shape (k,), optional
            True frequencies to mark.
        sort : bool, optional
            Whether the largest estimate is on top; False (or "none") keeps the order of the
            categories, for ordered answers. Default: True, but False for bins of numbers.
        most : int
            Categories to draw at most: those with the largest estimates. A line says how many more
            there are.
        title : str, optional
            "" for none; by default the variable, its mechanism and the number of reports.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidArgument
            For a truth that does not fit the categories, an `ax` that is not a matplotlib Axes, or
            an invalid `sort`, `most` or `title`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([250, 420, 330])
        >>> ax = ldp.FrequencyModel(counts).fit().plot(title="Answers")
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['b', 'c', 'a']
        """
        from ldpstats.models.shared.forest import plot_frequencies

        alpha = level(alpha)
        frame = self.summary_frame(alpha)
        return plot_frequencies(self.fit, frame, ax, alpha, truth, sort, most, title)
