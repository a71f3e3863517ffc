"""Frequencies of one question over many waves: bands, a smooth line, tests of change.

The waves' estimates y, (T k,), have a covariance V that knows which waves share persons; all that
is here follows from both. Simultaneous intervals and the test of a change point rest on the law of
the largest of several normal statistics with the correlations that V implies.

The smooth line is the mean of a random walk given the estimates, ``y ~ N(mu, V)``, where mu moves
from wave to wave by ``N(0, tau^2 dt S)``, dt the time between them and S the mean covariance of a
wave, so that every category and contrast is smoothed alike and shares still sum to one. It is a
penalised fit: the penalty of a step is its square over ``tau^2 dt``, and tau maximises the
likelihood of the differences between waves (REML). Bands average over tau by that likelihood, with
a flat prior, for a band at the best tau alone is too narrow.

References
----------
Harvey, A. C. (1989), Forecasting, Structural Time Series Models and the Kalman Filter, Cambridge.
Wahba, G. (1983), Journal of the Royal Statistical Society B 45, 133-150 (bands).
Hansen, B. E. (2000), Econometrica 68, 575-603 (sets of times of a change).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, level, positive_integer
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.tests import critical, t_bounds
from ldpstats.inference.intervals import edge_normal, edge_range
from ldpstats.inference.tails import largest_critical, largest_pvalue
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.covariance import Covariance, Uncertain, block_diagonal
from ldpstats.models.frequency.results import interval_kind
from ldpstats.models.grouped import GroupedResults
from ldpstats.models.layout import (
    Body,
    Fit,
    Frame,
    Heading,
    Pair,
    figures,
    interval_columns,
    interval_note,
    outcome_notes,
    title,
)
from ldpstats.models.plots import (
    axes_of,
    axis_labels,
    finish,
    interval_name,
    percent_text,
    plain,
    shown_rows,
    title_text,
)
from ldpstats.models.results import ByGroup, Label, Results, stacked_index
from ldpstats.models.weighted.results import WeightedResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 2000  # estimates, whose covariance is factored
_SHORT = 0.1  # gap between bars of categories, of the shortest time between waves


@dataclass(frozen=True, eq=False)
class TrendResults(ByGroup, Results):
    """Estimated frequencies of one question in waves, with what they say of its course.

    Attributes
    ----------
    params, bse : Series, indexed by wave and category
        Estimated frequencies and their standard errors, T waves of k categories.
    waves : GroupedResults, or WeightedResults with a design
        The estimates of the waves, with all that these have: ``trend.waves``.
    times : ndarray, shape (T,)
        The time of each wave, in steps of `unit`.
    unit : {"month", "day", "wave", "unit"}
        Months (from 1970), days (from 1970), waves in their order, or the numbers that were given.
    nobs, n_missing, sizes
        Reports in all waves, respondents without an answer, and reports of each wave.

    Methods
    -------
    conf_int, cov_params, t_test, wald_test
        Intervals, wave by wave or of all together; covariances and tests, also between waves.
    smooth
        The course without the noise of each wave, with its band.
    slopes, test_trend, test_no_change
        Change a unit of time, and tests of no such change and of none at all.
    change_points, test_change_point
        When the frequencies jumped, and whether they did.
    summary_frame, summary, plot, to_frame, glance, to_json, from_json
        All of it as a table, in print, as a figure, as data.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng, month = np.random.default_rng(4), np.repeat(np.arange(8), 1500)
    >>> table = pd.DataFrame({"ill": np.where(rng.random(12_000) < 0.2 + 0.02 * month, "yes", "no"),
    ...                       "month": np.char.add("2024-0", (month + 1).astype(str))})
    >>> sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=2.0)})
    >>> trend = ldp.Survey(sheet.privatize(table, rng), sheet).trend("ill", time="month")
    >>> trend
    TrendResults(8 waves by month, k=2, n=12000)
    >>> trend.test_no_change().pvalue < 0.001
    True
    """

    waves: GroupedResults | WeightedResults = field(metadata={"read": lambda own: _read(own)})
    times: Array
    unit: str

    _group = "wave"
    _format = "ldpstats-trend-results"
    _version = 1
    _document = ("waves", "times", "unit", "name")

    @classmethod
    def of(cls, waves: GroupedResults | WeightedResults, order: Any = None) -> TrendResults:
        """The trend of waves, whose labels are times or, where `order` has them, in this order."""
        times, unit = _times(waves.by[0], [label[0] for label in waves.labels], order)
        return cls(waves=waves, times=times, unit=unit, **vars(_fit(waves)))

    def __repr__(self) -> str:
        n, k = len(self.labels), len(self.categories)
        return f"TrendResults({n} waves by {self.by[0]}, k={k}, n={self.nobs})"

    @property
    def by(self) -> tuple[str, ...]:
        """The column of the waves."""
        return self.waves.by

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.waves.labels

    @property
    def categories(self) -> pd.Index[Any]:
        """Labels of the k categories."""
        return self.waves.categories

    @property
    def index(self) -> pd.Index[Any]:
        return stacked_index(self.labels, self.categories, self.by, self.name)

    @property
    def _sizes(self) -> list[int]:
        return self.waves._sizes

    @property
    def df_model(self) -> int:
        """Frequencies that vary freely, of all waves."""
        T, k = len(self.times), len(self.categories)
        sums = self.fitted.estimate.reshape(T, k).sum(axis=1)
        return T * k - int((np.abs(sums - 1.0) <= 1e-9).sum())

    @property
    def _df(self) -> float:
        """Degrees of freedom of the covariance."""
        return self.waves.sample.df if isinstance(self.waves, WeightedResults) else np.inf

    def _contrast_df(self, R: Array) -> Array | None:
        return self.waves._contrast_df(R) if isinstance(self.waves, WeightedResults) else None

    # -- wave by wave ------------------------------------------------------------------------

    def conf_int(self, alpha: float = 0.05, simultaneous: bool = False) -> pd.DataFrame:
        """Confidence intervals of the frequencies.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval, or of all together.
        simultaneous : bool
            Whether all intervals, of every wave and category, hold their frequencies at once with
            probability 1 - alpha. They are intervals of the same kind at a stricter level, that at
            which the largest of all estimates in standard errors errs, given their correlations.

        Returns
        -------
        DataFrame, a row for each wave and category
            Columns "lower" and "upper", cut to [0, 1].
        """
        alpha = level(alpha)
        if boolean("simultaneous", simultaneous):
            alpha = self._stricter(alpha)
        return self.waves.conf_int(alpha)

    def _stricter(self, alpha: float) -> float:
        """The level of each interval at which all of them hold at once."""
        from scipy.special import stdtr

        R = _correlations(self.linear.known().matrix())
        return float(2.0 * stdtr(self._df, -largest_critical(alpha, R, self._df)))

    def test_no_change(self) -> TestResult:
        """Test that all waves have the same distribution.

        The test of `GroupedResults.test_equal`, without noise Pearson's of homogeneity, by its law
        under permutations where reports are few; of a survey with a design that of Rao and Scott,
        which knows that persons are in several waves.

        Raises
        ------
        NotAvailable
            Where there is nothing to test.
        """
        test = self.waves.test_equal()
        return replace(test, null=f"all {len(self.times)} waves have the same distribution")

    # -- changes in time ---------------------------------------------------------------------

    @cached_property
    def _weights(self) -> Array:
        """What waves count in means, (T,): one over their mean variances."""
        variance = self.linear.every_bse().reshape(len(self.times), -1) ** 2
        return np.asarray(1.0 / variance.mean(axis=1))

    def _contrasts(self, C: Array) -> tuple[Array, Array]:
        """Contrasts of waves, (r, T), in every category: estimates, (r k,), and covariance."""
        R = np.kron(C, np.eye(len(self.categories)))
        return R @ self.linear.estimate, self.linear.known().transform(R)

    @property
    def _slope(self) -> Array:
        """The slope of a weighted regression on time as a contrast of waves, (1, T)."""
        w = self._weights
        centred = self.times - np.average(self.times, weights=w)
        return np.asarray((w * centred / (w @ centred**2))[None])

    def slopes(self, alpha: float = 0.05) -> pd.DataFrame:
        """Change of each frequency a unit of time, by a line through the waves.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.

        Returns
        -------
        DataFrame, a row for each category
            "estimate", "se", "lower", "upper", and "pvalue" of no slope. Waves are weighted by the
            inverse of their variance; standard errors know which waves share persons.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes"] * 150 + ["yes"] * 100,
        ...                       "year": [2021] * 100 + [2022] * 100 + [2024] * 200})
        >>> trend = ldp.Survey(table, {"ill": ldp.Warner(epsilon=3.0)}).trend("ill", time="year")
        >>> trend.slopes().loc["yes", ["estimate", "se"]].round(3).to_dict()
        {'estimate': 0.103, 'se': 0.018}
        """
        from scipy.special import stdtr

        alpha, row = level(alpha), self._slope
        estimate, V = self._contrasts(row)
        se, df = np.sqrt(np.maximum(np.diagonal(V), 0.0)), self._df
        with np.errstate(divide="ignore", invalid="ignore"):
            pvalue = 2.0 * stdtr(df, -np.abs(estimate / se))
        ends = t_bounds(estimate, se, critical(np.full(se.size, df), alpha)).T
        names = ["estimate", "se", "lower", "upper", "pvalue"]
        columns = dict(zip(names, (estimate, se, *ends, pvalue), strict=True))
        return pd.DataFrame(columns, index=self.categories)

    def test_trend(self) -> TestResult:
        """Test that no frequency has a slope, see `slopes`: Wald's, of all categories together."""
        R = np.kron(self._slope, np.eye(len(self.categories)))
        return replace(self.wald_test((R, 0.0)), null="no frequency has a slope over time")

    @cached_property
    def _splits(self) -> tuple[Array, Array, Array, Array]:
        """Means before and after each wave but the first, the covariance of their differences.

        The first two are (T - 1, k), the covariance ((T - 1) k, (T - 1) k); then z, (T - 1, k).
        """
        w, T = self._weights, len(self.times)
        after = np.triu(np.ones((T, T)), 0)[1:] * w
        before = np.tril(np.ones((T, T)), -1)[1:] * w
        means = [rows / rows.sum(axis=1, keepdims=True) for rows in (before, after)]
        d, V = self._contrasts(means[1] - means[0])
        y = self.linear.estimate.reshape(T, -1)
        se = np.sqrt(np.maximum(np.diagonal(V), 0.0))
        z = np.divide(d, se, out=np.zeros(d.size), where=se > 0.0)
        return means[0] @ y, means[1] @ y, V, z.reshape(T - 1, -1)

    def test_change_point(self) -> TestResult:
        """Test that no frequency jumps between two waves.

        The statistic is the largest difference, in standard errors, between the means of the waves
        before and after any time, in any category. The p-value is by the normal law of the largest
        (t, with a design), given the correlations of all these differences.
        """
        _, _, V, z = self._splits
        at, category = np.unravel_index(np.argmax(np.abs(z)), z.shape)
        p = float(largest_pvalue(np.abs(z).max(), _correlations(V), self._df))
        low, high = (self._splits[i][at, category] for i in (0, 1))
        wave, name = self.labels[int(at) + 1][0], self.categories[category]
        return TestResult(
            "the frequencies are the same before and after every wave",
            float(np.abs(z).max()),
            None,
            p,
            "largest standardised difference between earlier and later waves",
            f"it is that of {name!r} from {wave!r} on, {low:.4g} before and {high:.4g} after",
        )

    def change_points(self, alpha: float = 0.05) -> pd.DataFrame:
        """Differences between the waves from each wave on and those before it.

        Parameters
        ----------
        alpha : float
            One minus the coverage of all intervals together, and of the sets of times.

        Returns
        -------
        DataFrame, a row for each wave but the first, and category
            "before" and "after", means of the waves weighted by their inverse variances;
            "difference", "se", and simultaneous "lower" and "upper"; and "in_set", whether the
            wave is in the confidence set of the time at which the category jumped, if it did so
            once: all times whose ``z^2`` is less than ``-2 log(1 - sqrt(1 - alpha))`` below the
            largest (Hansen 2000), conservative for large jumps.
        """
        alpha = level(alpha)
        before, after, V, z = self._splits
        d, se = (after - before).reshape(-1), np.sqrt(np.maximum(np.diagonal(V), 0.0))
        bounds = t_bounds(d, se, np.array(largest_critical(alpha, _correlations(V), self._df)))
        low, high = edge_range(bounds, d, se, (-1.0, 1.0), alpha).T
        near = z**2 >= (z**2).max(axis=0) + 2.0 * np.log(-np.expm1(np.log1p(-alpha) / 2.0))
        columns = {"before": before.reshape(-1), "after": after.reshape(-1), "difference": d}
        columns |= {"se": se, "lower": low, "upper": high, "in_set": near.reshape(-1)}
        index = stacked_index(self.labels[1:], self.categories, self.by, self.name)
        return pd.DataFrame(columns, index=index)

    # -- the course without noise ------------------------------------------------------------

    @cached_property
    def _walk(self) -> tuple[Array, Array, Array]:
        """The smooth line and its standard errors, (T k,), and the deviation of a step, (k,)."""
        return random_walk(self.linear.estimate, self.linear.known().matrix(), self.times)

    def smooth(self, alpha: float = 0.05) -> pd.DataFrame:
        """The frequencies as a random walk over time, with the band of its values.

        A wave borrows from those near it, the more so the larger its noise is; how much the
        frequencies move from wave to wave is estimated by restricted maximum likelihood. The band
        allows for the error of that. It covers the true frequency with probability 1 - alpha on
        average over waves, not in each: least where they jump.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the band, on average over waves.

        Returns
        -------
        DataFrame, a row for each wave and category
            "estimate", "se", "lower", "upper"; the band is cut to [0, 1].

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes"] * 150 + ["yes"] * 100,
        ...                       "year": [2021] * 100 + [2022] * 100 + [2024] * 200})
        >>> trend = ldp.Survey(table, {"ill": ldp.Warner(epsilon=3.0)}).trend("ill", time="year")
        >>> trend.smooth()["estimate"].xs("yes", level="ill").round(3).to_dict()
        {2021: 0.503, 2022: 0.51, 2024: 0.769}
        """
        alpha = level(alpha)
        estimate, se, _ = self._walk
        bounds = t_bounds(estimate, se, critical(np.full(se.size, self._df), alpha))
        low, high = edge_normal(bounds, estimate, se, alpha).T
        columns = {"estimate": estimate, "se": se, "lower": low, "upper": high}
        return pd.DataFrame(columns, index=self.index)

    # -- presentation ------------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        return f"trend of {self.name}" if self.name else "trend"

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"waves": len(self.times), "k": len(self.categories)}

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of the waves.

        Returns
        -------
        DataFrame, a row for each wave and category
            "params", "bse", "linear", "linear_se", "lower", "upper"; and "smooth",
            "smooth_lower" and "smooth_upper" of `smooth`.
        """
        walk = self.smooth(alpha)[["estimate", "lower", "upper"]]
        walk.columns = pd.Index(["smooth", "smooth_lower", "smooth_upper"])
        return pd.concat([self._estimates_frame(alpha), walk], axis=1)

    def _largest(self, frame: Frame, max_rows: int) -> tuple[Frame, list[str]]:
        T, k = len(self.times), len(self.categories)
        most = max(max_rows // T, 1)
        if k <= most:
            return frame, []
        rows = np.arange(T * k).reshape(T, k)[:, self._shown(most)]
        note = f"Shown: the {most} largest of {k} categories."
        return frame.iloc[rows.reshape(-1)], [note]

    def _shown(self, most: int) -> Array:
        """The places of the categories that are largest on average."""
        mean = self.fitted.estimate.reshape(len(self.times), -1).mean(axis=0)
        return shown_rows(mean, mean, False, most)

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        digits = len(cells[0][0].rpartition(".")[2])
        smooth = zip(*(figures(shown[c], digits) for c in _SMOOTH), strict=True)
        cells = [[*own, *more] for own, more in zip(cells, smooth, strict=True)]
        return super()._body(shown, [*heads, "smooth", *interval_columns(0.05)], cells)

    def _heading(self) -> Heading:
        first, last = (self.labels[i][0] for i in (0, -1))
        _, left, right = super()._heading()
        waves: Pair = ("Waves:", f"{len(self.times)}, {first} to {last}")
        return f"{title(self, 'Trend')} over {self.by[0]}", [*left[:-1], waves], right

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        return []

    def plot(  # type: ignore[override]  # another kind of plot
        self,
        category: Any = None,
        ax: Axes | None = None,
        alpha: float = 0.05,
        most: int = 6,
        title: str | None = None,
    ) -> Axes:
        """Draw."""
        raise NotImplementedError

    # -- storage -----------------------------------------------------------------------------

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> TrendResults:
        waves, times = values["waves"], values["times"]
        if times.shape != (len(waves.labels),) or not np.all(np.diff(times) > 0.0):
            raise InvalidArgument("times", times.tolist(), "must ascend, one for each wave")
        return super()._restored(vars(_fit(waves)) | values)
