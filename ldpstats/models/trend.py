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
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from importlib import import_module
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, level, listed, positive_integer, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.tests import critical, t_bounds
from ldpstats.inference.intervals import edge_normal, edge_range
from ldpstats.inference.tails import largest_critical, largest_pvalue
from ldpstats.inference.tests import TestResult, pvalue_text
from ldpstats.labels import Labels, positions
from ldpstats.likelihood.covariance import Uncertain, block_diagonal
from ldpstats.models.frequency.results import interval_kind
from ldpstats.models.grouped import GroupedResults
from ldpstats.models.layout import (
    Body,
    Fit,
    Frame,
    Heading,
    Pair,
    decimals,
    figures,
    interval_note,
    title,
)
from ldpstats.models.plots import (
    LONGEST_LABEL,
    axes_of,
    axis_labels,
    finish,
    interval_name,
    percent_text,
    plain,
    shown_rows,
    style,
    title_text,
)
from ldpstats.models.results import ByGroup, Label, Results, several_worded, stacked_index
from ldpstats.models.weighted.results import WeightedResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 2000  # estimates, whose covariance is factored
_APART = 0.06  # from a bar to that of the next category, of the shortest time between waves
_POINTS = 200  # of a line that is drawn, about


@record
class TrendResults(ByGroup, Results):
    """Estimated frequencies of one question in waves, with what they say of its course.

    Attributes
    ----------
    params, bse : Series, indexed by wave and category
        Estimated frequencies and their standard errors, T waves of k categories.
    by_wave : GroupedResults, or WeightedResults with a design
        The estimates of the waves, with all that these have: ``trend.by_wave``.
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

    by_wave: GroupedResults | WeightedResults = field(metadata={"read": lambda own: _read(own)})
    times: Array
    unit: str

    _group = "wave"
    _format = "ldpstats-trend-results"
    _document = ("by_wave", "times", "unit")

    @classmethod
    def of(cls, waves: GroupedResults | WeightedResults, order: Any = None) -> TrendResults:
        """The trend of waves that were fitted.

        Parameters
        ----------
        waves : GroupedResults or WeightedResults
            Frequencies by one column, whose labels are times as `Survey.trend` reads them.
        order : list, optional
            The labels of all waves in their order, which is that of `waves`, where they are no
            times.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> waves = {2021: krr.counts([450, 550]), 2022: krr.counts([600, 400])}
        >>> ldp.TrendResults.of(ldp.GroupedModel(waves, by="year").fit())
        TrendResults(2 waves by year, k=2, n=2000)
        """
        if not isinstance(waves, GroupedResults | WeightedResults) or len(waves.by) != 1:
            raise InvalidArgument("waves", waves, "must be frequencies by one column, the time")
        times, unit = _times(waves.by[0], [label[0] for label in waves.labels], order)
        return cls(by_wave=waves, times=times, unit=unit, **vars(_fit(waves)))

    def __repr__(self) -> str:
        n, k = len(self.labels), len(self.categories)
        return f"TrendResults({n} waves by {self.by[0]}, k={k}, n={self.nobs})"

    @property
    def by(self) -> tuple[str, ...]:
        """The column of the waves."""
        return self.by_wave.by

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.by_wave.labels

    @property
    def categories(self) -> Labels:
        """Labels of the k categories."""
        return self.by_wave.categories

    @property
    def index(self) -> Labels:
        return stacked_index(self.labels, self.categories, self.by, self.name)

    @property
    def _sizes(self) -> list[int]:
        return self.by_wave._sizes

    @property
    def df_model(self) -> int:
        """Frequencies that vary freely, of all waves."""
        T, k = len(self.times), len(self.categories)
        sums = self.fitted.estimate.reshape(T, k).sum(axis=1)
        return T * k - int((np.abs(sums - 1.0) <= 1e-9).sum())

    @property
    def _df(self) -> float:
        """Degrees of freedom of the covariance."""
        return self.by_wave.sample.df if isinstance(self.by_wave, WeightedResults) else np.inf

    def _contrast_df(self, R: Array) -> Array | None:
        return self.by_wave._contrast_df(R) if isinstance(self.by_wave, WeightedResults) else None

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
        return self.by_wave.conf_int(alpha)

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
        test = self.by_wave.test_equal()
        return replace(test, null=f"all {len(self.times)} waves have the same distribution")

    # -- changes in time ---------------------------------------------------------------------

    @property
    def _weights(self) -> Array:
        """What waves count in means, (T,): reports, with weights their effective number."""
        n = np.array(self._sizes, dtype=np.float64)
        waves = self.by_wave
        return n / waves.domains.spread if isinstance(waves, WeightedResults) else n

    def _contrasts(self, C: Array) -> tuple[Array, Array, Array]:
        """Contrasts of waves, (r, T), in every category: R, estimates, (r k,), and covariance."""
        R, V = np.kron(C, np.eye(len(self.categories))), self.linear.known()
        found = V.transform(R)
        if np.all(np.diagonal(found) <= 1e-12 * (R**2 @ V.variances())):
            raise NotAvailable("all waves have the same reports of the same persons")
        return R, R @ self.linear.estimate, found

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
            "estimate", "se", "lower", "upper", and "pvalue" of no slope. Waves are weighted by
            their numbers of reports; standard errors know which waves share persons.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes"] * 150 + ["yes"] * 100,
        ...                       "year": [2021] * 100 + [2022] * 100 + [2024] * 200})
        >>> trend = ldp.Survey(table, {"ill": ldp.Warner(epsilon=3.0)}).trend("ill", time="year")
        >>> trend.slopes().loc["yes", ["estimate", "se"]].round(3).to_dict()
        {'estimate': 0.102, 'se': 0.02}
        """
        from scipy.special import stdtr

        alpha, (_, estimate, V) = level(alpha), self._contrasts(self._slope)
        se = np.sqrt(np.maximum(np.diagonal(V), 0.0))
        low, high = t_bounds(estimate, se, critical(np.array(self._df), alpha)).T
        columns = {"estimate": estimate, "se": se, "lower": low, "upper": high}
        frame = pd.DataFrame(columns, index=self.categories)
        return frame.assign(pvalue=2.0 * stdtr(self._df, -(frame["estimate"] / se).abs()))

    def test_trend(self) -> TestResult:
        """Test that no frequency has a slope, see `slopes`: Wald's, of all categories together."""
        R, _, _ = self._contrasts(self._slope)
        return replace(self.wald_test((R, 0.0)), null="no frequency has a slope over time")

    @cached_property
    def _splits(self) -> tuple[pd.DataFrame, Array]:
        """Means before each wave but the first and from it on, and correlations of differences."""
        w, T = self._weights, len(self.times)
        later = np.triu(np.ones((T, T)))[1:]
        later, earlier = later * w, (1.0 - later) * w
        after, before = (one / one.sum(axis=1, keepdims=True) for one in (later, earlier))
        _, d, V = self._contrasts(after - before)
        y = self.linear.estimate.reshape(T, -1)
        columns = {"before": (before @ y).ravel(), "after": (after @ y).ravel(), "difference": d}
        columns["se"] = se = np.sqrt(np.maximum(np.diagonal(V), 0.0))
        index = stacked_index(self.labels[1:], self.categories, self.by, self.name)
        some = np.flatnonzero(se > 1e-6 * se.max())  # a category that nobody chose does not change
        return pd.DataFrame(columns, index=index), _correlations(V[np.ix_(some, some)])

    def test_change_point(self) -> TestResult:
        """Test that no frequency jumps between two waves.

        The statistic is the largest difference, in standard errors, between the means of the waves
        before and after any time, in any category. The p-value is by the normal law of the largest
        (t, with a design), given the correlations of all these differences.

        Raises
        ------
        NotAvailable
            Where there is nothing to test.
        """
        frame, R = self._splits
        z = (frame["difference"] / frame["se"]).abs().fillna(0.0).to_numpy()
        most = float(z.max())
        place = np.flatnonzero(z >= most - 1e-9)[-1]  # of two categories that change alike the last
        (wave, category), row = frame.index[place], frame.iloc[place]
        return TestResult(
            "the frequencies are the same before and after every wave",
            most,
            None,
            float(largest_pvalue(most, R, self._df)),
            "largest standardised difference between earlier and later waves",
            f"the largest is of {category} from {wave} on: {row['before']:.4g} before, "
            f"{row['after']:.4g} after",
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
            "before" and "after", means weighted by the numbers of reports; "difference", "se", and
            simultaneous "lower" and "upper"; and "in_set", whether the wave is in the confidence
            set of the time at which the category jumped, if it did so once: all times whose ``z^2``
            is at most ``-2 log(1 - sqrt(1 - alpha))`` below the largest (Hansen 2000); between
            waves nothing is known, which makes it conservative.
        """
        (frame, R), alpha = self._splits, level(alpha)
        d, se = frame["difference"].to_numpy(), frame["se"].to_numpy()
        bounds = t_bounds(d, se, np.array(largest_critical(alpha, R, self._df)))
        low, high = edge_range(bounds, d, se, (-1.0, 1.0), alpha).T
        z = (frame["difference"] / frame["se"]).to_numpy().reshape(-1, len(self.categories))
        near = z**2 >= (z**2).max(axis=0) + 2.0 * np.log(1.0 - np.sqrt(1.0 - alpha))
        return frame.assign(lower=low, upper=high, in_set=near.ravel())

    # -- the course without noise ------------------------------------------------------------

    def _walk(self, at: Array) -> tuple[Array, Array, Array]:
        """Mean and standard errors at some times, (m k,), and the deviation of a step, (k,)."""
        return random_walk(self.linear.estimate, self.linear.known().matrix(), self.times, at)

    def _smooth(self, at: Array, alpha: float) -> pd.DataFrame:
        estimate, se, _ = self._walk(at)
        bounds = t_bounds(estimate, se, critical(np.array(self._df), alpha))
        low, high = edge_normal(bounds, estimate, se, alpha).T
        return pd.DataFrame({"estimate": estimate, "se": se, "lower": low, "upper": high})

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
        {2021: 0.502, 2022: 0.518, 2024: 0.769}
        """
        return self._smooth(self.times, level(alpha)).set_index(self.index)

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
        if k <= (most := max(max_rows // T, 1)):
            return frame, []
        rows = np.arange(T * k).reshape(T, k)[:, self._shown(most)].ravel()
        return frame.iloc[rows], [f"Shown: the {most} largest of {k} categories."]

    def _shown(self, most: int) -> Array:
        """The places of the categories that are largest on average."""
        mean = self.fitted.estimate.reshape(len(self.times), -1).mean(axis=0)
        return shown_rows(mean, mean, False, most)

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        smooth = figures(shown["smooth"], decimals(shown["linear_se"].to_numpy()))
        cells = [[*own, more] for own, more in zip(cells, smooth, strict=True)]
        return super()._body(shown, [*heads, "smooth"], cells)

    def _heading(self) -> Heading:
        first, last = (self.labels[i][0] for i in (0, -1))
        _, left, right = super()._heading()
        waves: Pair = ("Waves:", f"{len(self.times)}, {first} to {last}")
        return f"{title(self, 'Trend')} over {self.by[0]}", [*left[:-1], waves], right

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        waves, each = self.by_wave, 100.0 * (1.0 - self._stricter(alpha))
        if isinstance(waves, WeightedResults):
            kind = f"{waves.intervals}, t quantiles"
        else:
            kind = "; or ".join(dict.fromkeys(map(interval_kind, waves.fits)))
        notes = [interval_note(alpha, f"{kind}, within each wave", uncut, source)]
        notes.append(f"Of all waves and categories at once: intervals of {each:.4g}% each.")
        tests = {
            "Same distribution in all waves": self.test_no_change,
            "No slope": self.test_trend,
            "No jump": self.test_change_point,
        }
        for null, outcome in tests.items():
            try:
                test = outcome()
            except NotAvailable as error:
                notes.append(f"{null}: {error}.")
                continue
            p, more = pvalue_text(test.pvalue, "p"), f"; {test.note}" * bool(test.note)
            notes.append(f"{null} ({test.method}): {test.statistic:.4g}, {p}{more}.")
        size = 100.0 * self._walk(self.times)[2]
        steps = " to ".join(dict.fromkeys(f"{one:.2g}" for one in (size.min(), size.max())))
        of = f"unit of {self.by[0]}" if self.unit == "unit" else self.unit
        notes.append(
            f"smooth: a random walk, whose steps have a standard deviation of {steps} percentage "
            f"points a {of} (restricted maximum likelihood)."
        )
        if not isinstance(waves, WeightedResults) or waves.sample.n_units == waves.sample.nobs:
            notes.append(
                "NOTE: waves are taken to be of different persons; if persons answered in several, "
                "make the survey with weights= and clusters=, the column that identifies them."
            )
        return notes

    def plot(  # type: ignore[override]  # another kind of plot
        self,
        category: Any = None,
        ax: Axes | None = None,
        alpha: float = 0.05,
        most: int = 6,
        title: str | None = None,
    ) -> Axes:
        """Draw the waves with their intervals over time, and the smooth line with its band.

        Thick bars are intervals of each wave, thin ones those of all at once.

        Parameters
        ----------
        category : label, or list of labels, optional
            What to draw; by default the second of two categories, and the largest of more.
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of intervals and band.
        most : int
            Categories to draw at most, where none are named.
        title : str, optional
            "" for none; by default the question and the number of reports.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes", "no"] * 100, "year": [2021, 2022] * 150})
        >>> trend = ldp.Survey(table, {"ill": ldp.Warner(epsilon=3.0)}).trend("ill", time="year")
        >>> ax = trend.plot()
        >>> ax.get_title(), ax.get_xlabel()
        ('ill, n = 300', 'year')
        """
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        dates: Any = import_module("matplotlib.dates")  # which has no types

        alpha, k, own = level(alpha), len(self.categories), ax is None
        most = positive_integer("most", most)
        places = [1] if k == 2 else self._shown(most).tolist()
        if category is not None:
            places = positions("category", category, self.categories)
        frame, joint = self._estimates_frame(alpha), self.conf_int(alpha, simultaneous=True)
        words = [self.name, f"n = {self.nobs:,}"]
        if category is None and k > 2 and len(places) < k:
            words.append(f"the {len(places)} largest of {k}")
        head = title_text(title, ", ".join(filter(None, words)))
        ax = axes_of(ax, 7.0, 4.0)
        # the band is wide where waves are missing; bars of several categories stand side by side
        widths = np.diff(self.times)
        fill = np.rint(widths / max(widths.min(), widths.sum() / _POINTS)).astype(int)
        ends = np.append(0, np.cumsum(np.maximum(fill, 1)))
        at = np.interp(np.arange(ends[-1] + 1), ends, self.times)
        thick = style("lines.linewidth")
        walk, apart = self._smooth(at, alpha), _APART * float(widths.min())
        colours = zip(places, cycle(f"C{i}" for i in range(10)))
        for i, (place, colour) in enumerate(colours):
            line = walk.iloc[place::k]
            x = self._drawn(self.times + apart * (i - (len(places) - 1) / 2.0))
            kinds = (frame, 1.5, interval_name(alpha)), (joint, 0.5, "all at once")
            for bars, width, called in kinds:
                rows, label = bars.iloc[place::k], "" if i else called
                how: dict[str, Any] = {"color": colour, "alpha": 0.6, "lw": width * thick}
                ax.vlines(x, rows["lower"], rows["upper"], label=label, **how)
            name = axis_labels(self.categories[[place]], LONGEST_LABEL)[0]
            ax.plot(x, frame["params"].iloc[place::k], "o", color=colour, label=name)
            band = self._drawn(at), line["lower"], line["upper"]
            ax.fill_between(*band, color=colour, alpha=0.15, lw=0)
            ax.plot(band[0], line["estimate"], color=colour, label="" if i else "smooth")
        if self.unit == "wave":
            ax.set_xticks(self.times, axis_labels((one[0] for one in self.labels), LONGEST_LABEL))
        elif self.unit == "unit":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        else:
            locator = dates.AutoDateLocator(maxticks=8)
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent_text(value)))
        ax.set_xlabel(plain(self.by[0]))
        ax.set_ylabel("frequency")
        finish(ax, head, own)
        return ax

    def _drawn(self, times: Array) -> Array:
        """Times as matplotlib draws them: months by their first days."""
        if self.unit == "month":
            months = np.floor(times)
            start, end = ((months + i).astype("M8[M]").astype("M8[s]") for i in (0, 1))
            return np.asarray(start + ((times - months) * (end - start)).astype("m8[s]"))
        return (times * 86_400.0).astype("M8[s]") if self.unit == "day" else times

    # -- storage -----------------------------------------------------------------------------

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> TrendResults:
        waves, times = values["by_wave"], values["times"]
        if times.shape != (len(waves.labels),) or not np.all(np.diff(times) > 0.0):
            raise InvalidArgument("times", times.tolist(), "must ascend, one for each wave")
        return super()._restored(vars(_fit(waves)) | values)


def _read(document: dict[str, Any]) -> GroupedResults | WeightedResults:
    """The waves in a document, of either kind."""
    grouped = document["format"] == GroupedResults._format
    return (GroupedResults if grouped else WeightedResults).from_dict(document)


def _fit(waves: GroupedResults | WeightedResults) -> Fit:
    """The estimates of all waves as one, with their covariance."""
    if isinstance(waves, WeightedResults):
        fit = replace(waves.fit, llf=np.nan, gap=np.nan)
    else:
        first, *_ = fits = waves.fits
        both: dict[str, Any] = {}
        for name in ("fitted", "linear"):
            parts = [getattr(one, name) for one in fits]
            V = None
            if all(part.covariance is not None and part.at is None for part in parts):
                V = block_diagonal([part.covariance for part in parts])
            both[name] = Uncertain(np.concatenate([part.estimate for part in parts]), V)
        fit = replace(
            first.fit,
            **both,
            nobs=waves.nobs,
            n_missing=waves.n_missing,
            epsilon=waves.epsilon,
            sources=waves.sources,
            source_nobs=(),
            is_partial=waves.is_partial,
            name=waves.name,
            llf=np.nan,
            gap=np.nan,
            n_iter=max(one.n_iter for one in fits),
            converged=all(one.converged for one in fits),
            message="; ".join(dict.fromkeys(filter(None, (one.message for one in fits)))),
        )
    if (q := fit.linear.estimate.size) > _MOST:
        raise NotAvailable(
            f"a trend of {len(waves.labels)} waves and {q} frequencies: take {_MOST} at most, by "
            "wider waves or fewer categories, candidates="
        )
    if not fit.linear.known().variances().any():
        raise NotAvailable("a trend of waves without noise, each with one answer, has no variance")
    se = waves.linear_bse if isinstance(waves, WeightedResults) else fit.linear.bse()
    unknown = np.isnan(np.asarray(se)).reshape(len(waves.labels), -1).any(axis=1)
    if unknown.any():
        lone = several_worded([waves.labels[i] for i in np.flatnonzero(unknown)], waves.by)
        raise NotAvailable(
            f"a trend with {lone}: it has no standard errors, as it is in one sampling unit; join "
            "waves, or leave it out by where(...)"
        )
    return fit


# -- The axis of time ------------------------------------------------------------------------------


_YEAR = re.compile("(?:19|20)[0-9]{2}")  # also as text: the name of a wave
_MONTH = re.compile("((?:19|20)[0-9]{2})-?(0[1-9]|1[0-2])")
_QUARTER = re.compile("([0-9]{4})[ -]?Q([1-4])")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+)?")


def _times(name: str, labels: list[Any], order: Any) -> tuple[Array, str]:
    """The times of waves and their unit; `order` has ordered labels, None where there is none."""
    if len(labels) < 2:
        remedy = f"has one wave with answers, {labels[0]!r}: a trend needs two or more"
        raise InvalidArgument("time", name, remedy)
    texts, unit = [str(label) for label in labels], ""
    times: Any = None
    for pattern, months in ((_MONTH, 1), (_QUARTER, 3)):
        found = [one for one in map(pattern.fullmatch, texts) if one]
        if len(found) == len(texts):
            times = [12.0 * (int(one[1]) - 1970) + months * (int(one[2]) - 1) for one in found]
            unit = "month"
    if all(map(_DAY.fullmatch, texts)):
        with suppress(ValueError):  # the 31st of February
            days = np.array([text.replace(" ", "T") for text in texts], "M8[us]")
            times, unit = (days - np.datetime64(0, "D")) / np.timedelta64(1, "D"), "day"
    elif times is None and (
        all(map(_YEAR.fullmatch, texts))
        or not any(isinstance(label, str | bool) for label in labels)
    ):
        times, unit = [float(label) for label in labels], "unit"
    if times is None or not np.all(np.diff(times) > 0.0):
        if order is None:
            raise InvalidArgument(
                "time",
                name,
                f"holds {labels[0]!r} and {labels[1]!r}, whose place in time is not known: use "
                "whole numbers, dates, years, months (2024-05), quarters (2024-Q2) or an ordered "
                "categorical",
            )
        remedy = f"must hold the waves {labels}, in this order"
        known = listed("order", order, remedy)
        times, unit = [known.index(one) for one in labels if one in known], "wave"
        if len(times) < len(labels) or not np.all(np.diff(times) > 0.0):
            raise InvalidArgument("order", order, remedy)
    return np.array(times, dtype=np.float64), unit


# -- Arrays ----------------------------------------------------------------------------------------


def _correlations(V: Array) -> Array:
    """Correlations of estimates with a covariance, (q, q); of one without variance none."""
    variance = np.diagonal(V)
    se = np.sqrt(np.where(variance > 1e-12 * variance.max(), variance, np.inf))
    R = V / np.outer(se, se)
    np.fill_diagonal(R, 1.0)
    return np.asarray(R)


_GRID = np.linspace(0.0, 3.0, 101)


def random_walk(estimate: Array, V: Array, times: Array, at: Array) -> tuple[Array, Array, Array]:
    """A random walk given estimates, (T k,), of T times with covariance V.

    Its mean and standard errors at m times within those, (m k,), and the standard deviations of a
    step in a unit of time, (k,). See the head of the module.
    """
    from scipy.optimize import minimize_scalar

    T = len(times)
    k = estimate.size // T
    # coordinates in which the mean covariance of a wave is I; of shares that sum to one k - 1
    S = np.einsum("titj->ij", V.reshape(T, k, T, k)) / T
    values, vectors = np.linalg.eigh(S)
    there = values > 1e-9 * values[-1]
    L = vectors[:, there] * np.sqrt(values[there])
    whiten = np.linalg.pinv(L)
    steps = np.diff(np.eye(T), axis=0) / np.sqrt(np.diff(times))[:, None]
    R = np.kron(steps, whiten)
    # the steps are N(0, E + tau^2 I); e and u are the variances and values of their components
    e, U = np.linalg.eigh(R @ V @ R.T)
    e, u = np.maximum(e, 1e-12)[:, None], (U.T @ (R @ estimate))[:, None]

    def loglike(tau: Any) -> Array:
        """The restricted log-likelihood, but for a constant, of each tau."""
        variance = e + np.square(tau)
        return np.asarray(-0.5 * np.sum(np.log(variance) + u**2 / variance, axis=0))

    grid = np.sqrt(np.max([u**2, e])) * _GRID  # beyond the largest step the likelihood only falls
    fits = loglike(grid)
    best = int(np.argmax(fits))
    found = minimize_scalar(
        lambda tau: -float(loglike(tau)[0]),
        bounds=(grid[max(best - 1, 0)], grid[best + 1]),
        method="bounded",
        options={"xatol": 1e-9 * grid[-1]},
    )
    tau = float(found.x) if -found.fun > fits[best] else float(grid[best])
    # between waves the mean is on a line, and the walk is a Brownian bridge about it
    right = np.clip(np.searchsorted(times, at), 1, T - 1)
    width = times[right] - times[right - 1]
    share = (at - times[right - 1]) / width
    between = (1.0 - share)[:, None] * np.eye(T)[right - 1] + share[:, None] * np.eye(T)[right]
    line = np.kron(between, np.eye(k))
    bridge = np.kron(width * share * (1.0 - share), np.diagonal(S))[:, None]
    H = line @ np.kron(np.eye(T), L @ whiten) @ V @ R.T @ U
    free = np.einsum("ij,ij->i", line @ V, line)[:, None]

    def given(tau: Any) -> tuple[Array, Array]:
        """Mean and variance of the walk, a column for each tau."""
        w = 1.0 / (e + np.square(tau))
        return (line @ estimate)[:, None] - H @ (u * w), free - H**2 @ w + bridge * np.square(tau)

    mean, _ = given(tau)
    each, variances = given(grid)
    likely = np.exp(fits - fits[best])
    variance = (variances + (each - mean) ** 2) @ (likely / likely.sum())
    step = tau * np.sqrt(np.maximum(np.diagonal(S), 0.0))
    return mean[:, 0], np.sqrt(np.maximum(variance, 0.0)), step
