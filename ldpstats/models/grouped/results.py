"""What a fit of several groups returns: the frequencies of each, and how the groups differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import boolean, level, positive_integer
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.differences import differences_table
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.grouped.record import FittedGroups
from ldpstats.models.shared.groups import (
    compared_index,
    compared_pairs,
    group_label,
    group_place,
    stacked_index,
)
from ldpstats.models.shared.presentation import Presented
from ldpstats.models.shared.results import tidy_names
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.storage import Stored, maybe_from_dict, maybe_to_dict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["GroupedResults"]


@dataclass(frozen=True, eq=False)
class GroupedResults(FittedGroups, Stored, Presented):
    """Estimated frequencies of one privatised variable in several groups of respondents.

    Attributes
    ----------
    params, bse : Series, indexed by group and category
        Estimated frequencies and their standard errors, g groups of k categories.
    groups : Index
        Labels of the groups that were fitted.
    results : dict
        The `FrequencyResults` of each group, by its label; ``grouped[label]`` is one of them.
    sizes : Series
        Reports in each group.
    nobs, n_missing : int
        Reports in all groups, and their respondents who gave no answer.
    n_ungrouped : int
        Respondents who are in no group.
    empty : tuple
        Labels of the groups without a report, which were not fitted.
    equal : TestResult or None
        What `test_equal` returns; `untested` says why, where there is none.

    Methods
    -------
    conf_int, summary_frame, summary, plot
        Intervals and estimates of every group, as a table, in print or as a figure.
    differences, test_equal
        How the groups differ.
    mean, cumulative, quantile
        Of ordered answers, in each group.
    to_dict, to_json, from_dict, from_json
        Storage; no report is in it.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
    >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
    >>> results = ldp.GroupedModel(groups, by="region").fit()
    >>> results
    GroupedResults(2 groups by region, k=2, n=2000)
    >>> results["south"].params.round(3).to_dict()
    {'no': 0.716, 'yes': 0.284}
    """

    _format = "ldpstats-grouped-results"
    _required = frozenset(
        {"by", "labels", "fits", "equal", "untested", "empty", "n_missing", "n_ungrouped", "name"}
    )

    def __repr__(self) -> str:
        by = ", ".join(self.by)
        k = len(self.categories)
        return f"GroupedResults({len(self.fits)} groups by {by}, k={k}, n={self.nobs})"

    def __len__(self) -> int:
        return len(self.fits)

    def __getitem__(self, label: Any) -> FrequencyResults:
        """The results of one group."""
        return self.fits[self._position("label", label)]

    @property
    def params(self) -> pd.Series[float]:
        """Estimated frequencies by group and category."""
        return self._series([fit.params for fit in self.fits])

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of `params`; nan, with an `LDPWarning`, where there are none."""
        return self._series([fit.bse for fit in self.fits])

    @names_alpha
    def conf_int(self, alpha: float = 0.05, **how: Any) -> pd.DataFrame:
        """Confidence intervals of the frequencies, each from its own group.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        **how
            `method`, `clip` and `simultaneous` of `FrequencyResults.conf_int`; simultaneous
            intervals cover together within a group.

        Returns
        -------
        DataFrame, a row for each group and category
            Columns "lower" and "upper".

        Raises
        ------
        InvalidArgument
            For methods that need the data, which are for one group at a time.
        """
        method = how.get("method")
        if isinstance(method, str) and method in ("profile", "bootstrap"):
            remedy = "needs the data: fit one group by FrequencyModel"
            raise InvalidArgument("method", method, remedy)
        return self._frame([fit.conf_int(alpha, **how) for fit in self.fits])

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates: the columns of `FrequencyResults.summary_frame`, group by group."""
        return self._frame([fit.summary_frame(alpha) for fit in self.fits])

    # -- ordered answers -------------------------------------------------------------------

    @names_alpha
    def mean(self, scores: Any = None, alpha: float = 0.05) -> pd.DataFrame:
        """Mean score of each group: "estimate", "se", "lower", "upper", a row a group.

        As `FrequencyResults.mean`.
        """
        rows = [fit.mean(scores, alpha) for fit in self.fits]
        return pd.DataFrame(rows).set_axis(self.groups)

    @names_alpha
    def cumulative(self, alpha: float = 0.05) -> pd.DataFrame:
        """Cumulative frequencies of each group, as `FrequencyResults.cumulative`."""
        return self._frame([fit.cumulative(alpha) for fit in self.fits])

    @names_alpha
    def quantile(self, q: Any, alpha: float = 0.05) -> pd.DataFrame:
        """Quantiles of each group, as `FrequencyResults.quantile`; a row for each q if several.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("low", "middle", "high"), epsilon=2.0)
        >>> groups = {"north": krr.counts([500, 300, 200]), "south": krr.counts([150, 250, 600])}
        >>> ldp.GroupedModel(groups).fit().quantile(0.5)["estimate"].to_dict()
        {'north': 'low', 'south': 'high'}
        """
        found = [fit.quantile(q, alpha) for fit in self.fits]
        frames = [one for one in found if isinstance(one, pd.DataFrame)]
        if not frames:
            return pd.DataFrame(found).set_axis(self.groups)
        rows = [(*label, one) for label in self.labels for one in frames[0].index]
        index = pd.MultiIndex.from_tuples(rows, names=[*self.by, "q"])
        return pd.DataFrame(pd.concat(frames).set_axis(index))

    # -- comparisons -----------------------------------------------------------------------

    def test_equal(self) -> TestResult:
        """The test that all groups have the same distribution, see `homogeneity_test`.

        Raises
        ------
        NotAvailable
            Where there is one group only, or the mechanisms leave nothing to test.
        """
        if self.equal is None:
            raise NotAvailable(f"no test that the groups are equal: {self.untested}")
        return self.equal

    @names_alpha
    def differences(
        self, reference: Any = None, alpha: float = 0.05, all_pairs: bool = False
    ) -> pd.DataFrame:
        """Frequencies of each group minus those of a reference group, or of every other.

        Parameters
        ----------
        reference : label, optional
            The group that the others are compared with; the first by default.
        alpha : float
            One minus the coverage of each interval.
        all_pairs : bool
            Compare every group with each before it, instead of with one reference.

        Returns
        -------
        DataFrame, a row for each comparison and category
            "estimate", "se", "lower", "upper" and "pvalue" of `TwoSampleResult.differences`, and
            "pvalue_holm": Holm's adjustment for all rows of the table; two categories that add up
            to one are one hypothesis. The rows are labelled by group and category; of all pairs by
            group, reference and category.

        Raises
        ------
        InvalidArgument
            If `reference` is not a group, or is given beside `all_pairs`.
        NotAvailable
            Where there is one group only, or estimates have no standard errors.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
        >>> differences = ldp.GroupedModel(groups, by="region").fit().differences()
        >>> differences.loc[("south", "yes"), ["estimate", "lower", "upper"]].round(3).to_dict()
        {'estimate': -0.325, 'lower': -0.418, 'upper': -0.231}
        """
        alpha, g = level(alpha), len(self.fits)
        if g < 2:
            raise NotAvailable("differences need two groups: there is one only")
        pairs = compared_pairs(
            g, reference, all_pairs, lambda label: self._position("reference", label)
        )
        table = differences_table(self.fits, pairs, alpha)
        return table.set_axis(
            compared_index(self.labels, pairs, all_pairs, self.categories, self.by, self.name)
        )

    # -- presentation ----------------------------------------------------------------------

    @property
    def tvalues(self) -> pd.Series[float]:
        """Unconstrained estimates over their standard errors."""
        return self._series([fit.tvalues for fit in self.fits])

    @property
    def _subject(self) -> str:
        return self.name or "frequency"

    def _tidy(self, alpha: float) -> pd.DataFrame:
        return tidy_names(self.summary_frame(alpha))

    def _facts(self) -> dict[str, Any]:
        fits, methods = self.fits, dict.fromkeys(fit.method for fit in self.fits)
        df_model, aic = sum(fit.df_model for fit in fits), sum(fit.aic for fit in fits)
        return {
            "name": self.name,
            "mechanism": "; ".join(self.sources),
            "method": "; ".join(methods),
            "epsilon": self.epsilon,
            "nobs": self.nobs,
            "n_missing": self.n_missing,
            "n_ungrouped": self.n_ungrouped,
            "groups": len(fits),
            "k": len(self.categories),
            "df_model": df_model,
            "df_resid": self.nobs - df_model,
            "llf": sum(fit.llf for fit in fits),
            "aic": aic,
            "bic": aic + (float(np.log(self.nobs)) - 2.0) * df_model,
            "converged": all(fit.converged for fit in fits),
            "p_equal": np.nan if self.equal is None else self.equal.pvalue,
        }

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """All groups as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Categories to show of each group; the largest estimates where there are more. Groups
            are shown up to 40, or `max_rows` if that is more: those with most reports.
        details : bool
            Whether to show both estimates, and the goodness of fit of every group too.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
        >>> results = ldp.GroupedModel(groups, by="region", name="late").fit()
        >>> results.summary().as_text().splitlines()[0].strip()
        'Frequencies of late by region'
        """
        from ldpstats.models.grouped.summary import grouped_summary

        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        return grouped_summary(self, alpha, max_rows, boolean("details", details)).layout()

    @names_alpha
    def plot(
        self,
        alpha: float = 0.05,
        sort: bool | str | None = None,
        most: int = 25,
        title: str | None = None,
        figure: Any = None,
        category: Any = None,
        ax: Axes | None = None,
    ) -> Any:
        """Draw each group with its intervals on axes of its own, or one category on one axes.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        sort : bool, optional
            Whether the category that is largest on average is on top; False (or "none") keeps the
            order of the categories. Default: True, but False for bins of numbers.
        most : int
            Categories to draw at most: the largest. A line says how many more there are. Of the
            groups, the first 24 are drawn.
        title : str, optional
            "" for none; by default the variable and what the groups are made by.
        figure : matplotlib Figure or SubFigure, optional
            Where to draw; the figure gets the constrained layout.
        category : label, optional
            Draw this category only, such as "yes": a line for each group on one axes. `sort` and
            `most` are then of the groups.
        ax : matplotlib Axes, optional
            Where to draw one category.

        Returns
        -------
        array of matplotlib Axes, shape (g,), or with `category` Axes

        Raises
        ------
        InvalidArgument
            If an argument is invalid, or `ax` is given without `category` or `figure` with it.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
        >>> ax = ldp.GroupedModel(groups, by="region", name="late").fit().plot(category="yes")
        >>> ax.get_title(), [label.get_text() for label in ax.get_yticklabels()]
        ('late: yes, by region', ['north, n = 1,000', 'south, n = 1,000'])
        """
        from ldpstats.models.shared.category_plot import plot_by_group

        alpha = level(alpha)
        frames = dict(zip(self.labels, (r.summary_frame(alpha) for r in self.fits), strict=True))
        sizes = [r.nobs for r in self.fits]
        how: dict[str, Any] = {"sort": sort, "most": most, "title": title}
        where = {"category": category, "ax": ax, "figure": figure}
        return plot_by_group(frames, alpha, self.name, self.by, sizes, **where, **how)

    @property
    def _rows(self) -> pd.MultiIndex:
        """Every category of every group."""
        return stacked_index(self.labels, self.categories, self.by, self.name)

    def _series(self, parts: list[pd.Series[Any]]) -> pd.Series[float]:
        stacked: pd.Series[float] = pd.concat(parts).set_axis(self._rows)
        return stacked

    def _frame(self, parts: list[pd.DataFrame]) -> pd.DataFrame:
        return pd.DataFrame(pd.concat(parts).set_axis(self._rows, axis=0))

    def _position(self, name: str, label: Any) -> int:
        return group_place(name, label, self.labels, self.by)

    def _stored(self) -> dict[str, Any]:
        return {
            "by": list(self.by),
            "labels": [list(label) for label in self.labels],
            "fits": [fit.to_dict() for fit in self.fits],
            "equal": maybe_to_dict(self.equal),
            "untested": self.untested,
            "empty": [list(label) for label in self.empty],
            "nobs": self.nobs,
            "n_missing": self.n_missing,
            "n_ungrouped": self.n_ungrouped,
            "name": self.name,
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> GroupedResults:
        by = tuple(document["by"])
        labels, empty = (
            tuple(group_label(tuple(label), by) for label in document[name])
            for name in ("labels", "empty")
        )
        fits = tuple(FrequencyResults.from_dict(fit) for fit in document["fits"])
        if len(fits) != len(labels):
            raise InvalidArgument("labels", len(labels), f"must be {len(fits)}, one a group")
        n_missing, n_ungrouped = (int(document[name]) for name in ("n_missing", "n_ungrouped"))
        equal, untested = (
            maybe_from_dict(TestResult, document["equal"]),
            str(document["untested"]),
        )
        name = str(document["name"])
        return cls(by, labels, fits, equal, untested, empty, n_missing, n_ungrouped, name)
