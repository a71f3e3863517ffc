"""What results of the frequencies of one variable's categories have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.models.shared.results import FittedResults
from ldpstats.models.shared.spelling import names_alpha

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CategoryResults"]


@dataclass(frozen=True, eq=False)
class CategoryResults(FittedResults):
    """Estimated frequencies of the categories of one variable, and their plot."""

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
