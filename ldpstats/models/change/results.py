"""The change between two waves, with the moves that made it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of, positive_integer
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference import intervals
from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tables.effects import Effect
from ldpstats.inference.tests import TestResult, z_test
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.change.estimates import change_fit
from ldpstats.models.change.law import ChangeLaw
from ldpstats.models.change.record import Changes
from ldpstats.models.shared.fit import Part
from ldpstats.models.shared.results import FittedResults, tidy_names
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.storage import maybe_from_dict, maybe_to_dict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

    from ldpstats.models.shared.contrasts import ContrastLaw

__all__ = ["ChangeResults"]

Array = npt.NDArray[Any]

_SPAN = (-1.0, 1.0)  # of a change


@dataclass(frozen=True, eq=False)
class ChangeResults(FittedResults):
    """Change of the frequencies between two waves of the same respondents.

    `params` are the frequencies of the second wave less those of the first, in the joint
    distribution of both answers that the estimator found. Intervals and tests rest on the
    unconstrained estimate (`linear_params`); both allow for the correlation of the two answers of
    one person, which makes a change more precise than the difference of two samples.

    Attributes
    ----------
    params, bse : Series, shape (k,)
        Change by category, and its standard error.
    joint : AssociationResults
        The joint distribution: first wave in rows, second in columns.
    waves : tuple of str
        Names of the two waves.
    flows : DataFrame, shape (k, k)
        Estimated shares of those who moved from the row to the column, stayed on the diagonal.
    nobs, n_missing : int
        Respondents with both answers, and those left out because one was missing.
    lost : tuple of two int
        Persons whom `Survey.matched` left out: in the first wave only, in the second only.
    law : ChangeLaw or None
        Variance and skewness of each estimate as the change varies; None where reports cannot be
        listed or have cohorts, and intervals are Wald's.
    homogeneity : TestResult or None
        The test that both waves have the same distribution.

    Methods
    -------
    conf_int, cov_params, summary_frame, summary, plot
        Intervals, covariances, and all of it as a table, in print or as a figure.
    to_frame, glance, to_maketables
        Tables of data: a row for each estimate, one row in all, and for the package maketables.
    test_homogeneity, turnover
        Whether the distribution changed, and how many persons changed their answer.
    to_dict, to_json, from_dict, from_json
        Storage; no report is in it.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> before = rng.choice(["no", "yes"], size=4000, p=[0.7, 0.3])
    >>> after = np.where(rng.random(4000) < 0.1, "yes", before)
    >>> results = ldp.change(krr.privatize(before, rng), krr.privatize(after, rng))
    >>> results.conf_int().round(2).loc["yes"].tolist()
    [0.07, 0.11]
    """

    joint: AssociationResults
    changes: Changes

    law = Part[ChangeLaw | None]("changes", "Variance and skewness of each change, as it varies.")
    turnover_law = Part[CellLaw | None]("changes", "The same of the turnover.")
    homogeneity = Part[TestResult | None]("changes", "Test that both waves are alike.")
    lost = Part[tuple[int, int]]("changes", "Persons in the first wave only, in the second only.")

    df_model = Part[int]("joint", "Frequencies of the joint distribution that vary freely.")
    df_resid = Part[int]("joint", "Respondents less `df_model`.")
    aic = Part[float]("joint", "Akaike's criterion of the joint distribution.")
    bic = Part[float]("joint", "Schwarz's criterion of the joint distribution.")

    _format = "ldpstats-change-results"
    _required = frozenset({"name", "joint", "law", "turnover_law", "homogeneity", "lost"})

    def __repr__(self) -> str:
        waves = " to ".join(self.waves)
        return f"ChangeResults({self.method}, {waves}: k={self.k}, n={self.nobs})"

    @property
    def index(self) -> pd.Index[Any]:
        return self.joint.labels[0]

    @property
    def waves(self) -> tuple[str, ...]:
        """Names of the two waves."""
        return self.joint.names

    @property
    def flows(self) -> pd.DataFrame:
        """Estimated shares of those who moved from the row to the column."""
        table: pd.DataFrame = self.joint.table
        return table

    # -- intervals and tests -----------------------------------------------------------------

    @names_alpha
    def conf_int(
        self, alpha: float = 0.05, method: str = "default", clip: bool = True
    ) -> pd.DataFrame:
        """Confidence intervals of the changes.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "wald"}
            "default": all changes that the unconstrained estimate does not reject, with the
            variance and the skewness that it has at each (see `law`); where these are not known, as
            "wald", estimate plus or minus normal quantile times standard error.
        clip : bool
            Intersect with [-1, 1]. An interval that lies outside gets a limit of its own there.

        Returns
        -------
        DataFrame, shape (k, 2)
            Columns "lower" and "upper".

        References
        ----------
        Tango, T. (1998), Statistics in Medicine 17, 891-908.
        """
        alpha, clip = level(alpha), boolean("clip", clip)
        method = one_of("method", method, ("default", "wald"))
        estimate, se = self.linear.estimate, self.linear.every_bse()
        if method == "default" and self.law is not None:
            bounds = intervals.inverted(estimate, self.law.at, alpha, _SPAN)
        else:
            bounds = intervals.wald(estimate, se, alpha)
        if clip:
            bounds = _cut(bounds, estimate, se, alpha)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of no change, category by category."""
        estimate = self.linear.estimate
        if self.law is not None:
            return self._series(self.law.pvalues(estimate, np.zeros(self.k)), "pvalues")
        return self._series(z_test(estimate, self.linear.every_bse())[1], "pvalues")

    def test_homogeneity(self) -> TestResult:
        """Test that both waves have the same distribution.

        McNemar's test for two categories and the Stuart-Maxwell test for more, on the unconstrained
        estimates, with their covariance under the null. Without noise the statistic is theirs.
        Categories with fewer than five changes are tested together.

        Raises
        ------
        NotAvailable
            Where the categories are too many for a covariance.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> answers = ldp.Observed(("no", "yes"))
        >>> first, second = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [60, 25, 15, 50], axis=0).T
        >>> waves = ldp.Reports(first, answers), ldp.Reports(second, answers)
        >>> print(ldp.change(*waves).test_homogeneity())
        McNemar test on the unconstrained estimate, covariance under the null
          H0: first and second have the same distribution
          statistic 2.5, df 1, p-value 0.1138
        """
        if self.homogeneity is None:
            raise NotAvailable(
                f"covariances of {self.k} categories in two waves were not computed: lump "
                "categories, candidates="
            )
        return self.homogeneity

    @names_alpha
    def turnover(self, alpha: float = 0.05) -> Effect:
        """Share of the respondents whose true answers differ, with its interval.

        Without noise it is a binomial share; the interval allows for its skewness.
        """
        alpha = level(alpha)
        k, name = self.k, f"P({self.waves[0]} differs from {self.waves[1]})"
        moved = 1.0 - np.eye(k).reshape(-1)
        estimate = np.array([moved @ self.joint.linear.estimate])
        if self.turnover_law is not None:
            bounds = self.turnover_law.interval(estimate, alpha)
            se = self.turnover_law.at(estimate)[0]
        else:
            se = np.sqrt(np.diagonal(self.joint.linear.known().transform(moved[None])))
            bounds = intervals.wald(estimate, se, alpha)
        low, high = intervals.edge_normal(bounds, estimate, se, alpha)[0].tolist()
        ml = float(moved @ self.joint.fitted.estimate) if self.is_maximum else None
        return Effect(name, float(estimate[0]), low, high, alpha, ml=ml)

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        from ldpstats.models.shared.contrasts import ContrastLaw

        entries = np.flatnonzero(row)
        if self.law is None or entries.size != 1:
            return None
        factor = float(row[entries[0]])
        own, reach = partial(_scaled, self.law.of(int(entries[0])), factor), abs(factor)
        return ContrastLaw(own, -reach, reach)

    # -- presentation ------------------------------------------------------------------------

    def _tidy(self, alpha: float) -> pd.DataFrame:
        frame = tidy_names(self._estimates_frame(alpha))
        return frame.assign(p_value=np.nan if frame["lower"].isna().any() else self.pvalues)

    @property
    def _subject(self) -> str:
        return f"change of {self.name}" if self.name else "change"

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"name": self.name or " to ".join(self.waves)}

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of the changes.

        Returns
        -------
        DataFrame, one row per category
            The frequencies in both waves, under their names; then "params", "bse", "linear",
            "linear_se", "lower", "upper" of the change, and "pvalue" of no change.
        """
        frame = self._estimates_frame(level(alpha))
        P = self.joint.fitted.estimate.reshape(self.joint.sizes)
        for axis in (0, 1):
            shares = P.sum(axis=1 - axis)
            frame.insert(axis, self.waves[axis], shares, allow_duplicates=True)
        known = not np.isnan(self.linear.bse()).any()
        return frame.assign(pvalue=self.pvalues if known else np.nan)

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The change as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Categories to show; the largest changes where there are more.
        details : bool
            Also show how the estimate was computed, and the unconstrained one in any case.
        """
        from ldpstats.models.change.summary import change_summary

        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        table = change_summary(
            self.fit,
            self.joint,
            self.changes,
            self.turnover(alpha) if self._has_errors else None,
            frame=self.summary_frame(alpha),
            alpha=alpha,
            max_rows=max_rows,
            details=boolean("details", details),
        )
        return table.layout()

    @property
    def _has_errors(self) -> bool:
        return self.turnover_law is not None or self.joint.linear.covariance is not None

    @names_alpha
    def plot(
        self,
        kind: str = "change",
        ax: Axes | None = None,
        alpha: float = 0.05,
        most: int = 25,
        title: str | None = None,
        sort: bool | str = False,
    ) -> Axes:
        """Draw the change of each category, or who moved.

        Parameters
        ----------
        kind : {"change", "flows"}
            Changes with their intervals; or the joint table, first wave in rows.
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        most : int
            Categories to draw, those that changed most.
        title : str, optional
            The title to draw; "" for none.
        sort : bool
            Whether the largest increase is on top; False (or "none") keeps the order of the
            categories. Not for flows.
        """
        from ldpstats.models.change.plots import plot_change

        kind = one_of("kind", kind, ("change", "flows"))
        if kind == "flows":
            return self.joint.plot(ax=ax, alpha=alpha, title=title)
        frame = self.summary_frame(level(alpha))
        return plot_change(self.fit, self.waves, frame, ax, alpha, most, title, sort)

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "joint": self.joint.to_dict(),
            "law": maybe_to_dict(self.law),
            "turnover_law": maybe_to_dict(self.turnover_law),
            "homogeneity": maybe_to_dict(self.homogeneity),
            "lost": list(self.lost),
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> ChangeResults:
        joint = AssociationResults.from_dict(document["joint"])
        law = maybe_from_dict(ChangeLaw, document["law"])
        turnover = maybe_from_dict(CellLaw, document["turnover_law"])
        test = maybe_from_dict(TestResult, document["homogeneity"])
        first, second = (positive_integer("lost", size, 0) for size in document["lost"])
        name, (before, after) = document["name"], joint.labels
        if not isinstance(name, str) or not before.equals(after):
            raise InvalidArgument("joint", joint, "must be of one question in two waves")
        if law is not None and law.mean.shape != (len(before),):
            raise InvalidArgument("law", law.mean.shape, f"must be of {len(before)} categories")
        if turnover is not None and turnover.step.size != 1:
            raise InvalidArgument("turnover_law", turnover.step.size, "must be of one share")
        return cls(
            change_fit(joint, law, name), joint, Changes(law, turnover, test, (first, second))
        )


def _scaled(law: ChangeLaw, factor: float, value: Array) -> tuple[Array, Array]:
    """The law of a multiple of a change if that is `value`."""
    se, skewness = law.at(value / factor)
    return abs(factor) * se, np.sign(factor) * skewness


def _cut(bounds: Array, estimate: Array, se: Array, alpha: float) -> Array:
    """Intersect intervals with [-1, 1]: shares, on another scale."""
    share = intervals.edge_normal((bounds + 1.0) / 2.0, (estimate + 1.0) / 2.0, se / 2.0, alpha)
    return np.where(np.abs(bounds) <= 1.0, bounds, 2.0 * share - 1.0)
