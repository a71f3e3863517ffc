"""What a fit of frequencies and unknown parameters says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean as checked_boolean
from ldpstats.arguments.checks import level, one_of, positive_integer
from ldpstats.arguments.documents import number_from_json, number_to_json
from ldpstats.errors import NotAvailable
from ldpstats.inference.edges import edge_normal
from ldpstats.inference.intervals import wald
from ldpstats.inference.parametric.profiles import profile_intervals, signed_roots
from ldpstats.inference.tails import normal_pvalue
from ldpstats.inference.tests import TestResult
from ldpstats.models.parameters.estimates import ParametersFit, outside_pvalue
from ldpstats.models.parameters.groups import DeviceGroups
from ldpstats.models.shared.fit import Part
from ldpstats.models.shared.results import FittedResults, tidy_names
from ldpstats.models.shared.spelling import in_turn, names_alpha
from ldpstats.models.shared.storage import (
    estimates_from_dict,
    estimates_to_dict,
    maybe_from_dict,
    maybe_to_dict,
    record,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["MISFIT", "ParametersResults", "outside_words"]

Array = npt.NDArray[Any]

_PLAIN = ("method", "settings", "cov_type", "nobs", "n_missing", "n_iter", "converged", "message")
_NUMBERS = ("llf", "gap", "epsilon")
MISFIT = 0.001  # p-value below which reports do not fit the devices
_MOST_PROFILES = 40  # frequencies and parameters up to which intervals are profiles by default


@dataclass(frozen=True, eq=False)
class ParametersResults(FittedResults):
    """Estimated frequencies and unknown parameters of devices.

    `params` maximise the likelihood over frequencies that sum to one and parameters in [0, 1].
    `linear_params` are where the likelihood, continued beyond [0, 1] as far as every report stays
    possible, has its maximum: the same inside, and the one whose distance from the truth keeps its
    law at the boundary. `conf_int`, `pvalues`, `t_test` and `wald_test` rest on it.

    The likelihood is not concave. `params` are the best of several starts, and `gap` certifies that
    no step from them gains, not that no other point does; fits that two points explain equally well
    are refused.

    Attributes
    ----------
    params : Series, shape (k + m,)
        Frequencies by category, then the parameters by name.
    frequencies, parameters : Series
        The two parts of `params`.
    bse : Series
        Standard errors of `params` from the expected information; nan for what the reports leave
        open at the estimate, as the honesty of carriers where the estimate has no carriers.
    goodness_of_fit : TestResult or None
        Pearson's chi-square of the reports, where degrees of freedom remain.
    llf, nobs, n_missing, converged, message
        As for other results.

    Examples
    --------
    Cheating detection: two groups throw the die of the same design with different forced answers.

    >>> import ldpstats as ldp
    >>> from ldpstats.devices import flip, truth, unknown
    >>> cheats = flip(unknown("cheating"))
    >>> first, second = (
    ...     cheats.when({"heads": "no", "tails": flip(q).when({"heads": "yes"}, otherwise=truth)})
    ...     .mechanism(("no", "yes"))
    ...     for q in (.25, .6)
    ... )
    >>> groups = [first.counts([420, 180]), second.counts([280, 320])]
    >>> results = ldp.FrequencyModel(groups).fit()
    >>> results.params.round(4)
    no          0.8333
    yes         0.1667
    cheating    0.2000
    Name: params, dtype: float64
    >>> results.conf_int().loc["cheating"].round(3).tolist()
    [0.105, 0.296]
    """

    groups: DeviceGroups
    goodness_of_fit: TestResult | None = None

    gap = Part[float]("fit", "What a first step could gain at most, in nats per report.")
    gap_nats = Part[float]("fit", "`gap` of all reports.")

    _format = "ldpstats-parameters-results"
    _version = 2
    _required = frozenset({"groups", "goodness_of_fit", *_PLAIN, *_NUMBERS})

    def __repr__(self) -> str:
        names = ", ".join(self.groups.names)
        return f"ParametersResults(mle, k={len(self.categories)}, {names}; n={self.nobs})"

    @property
    def categories(self) -> pd.Index[Any]:
        """The true answers."""
        return self.groups.categories

    @property
    def index(self) -> pd.Index[Any]:
        return self.groups.index

    @property
    def frequencies(self) -> pd.Series[float]:
        """Estimated frequencies by category."""
        values = self.fitted.estimate[: len(self.categories)]
        return pd.Series(values, index=self.categories, name="frequencies")

    @property
    def parameters(self) -> pd.Series[float]:
        """Estimated parameters by name."""
        values = self.fitted.estimate[len(self.categories) :]
        return pd.Series(values, index=pd.Index(self.groups.names), name="parameters")

    @property
    def undetermined(self) -> pd.Index[Any]:
        """What the reports leave open at the estimate: its standard error is nan."""
        at = self.fitted.at
        return self.index[:0] if at is None else self.index.delete(at)

    # -- intervals and tests -----------------------------------------------------------------

    @names_alpha
    def conf_int(
        self, alpha: float = 0.05, method: str = "default", clip: bool = True
    ) -> pd.DataFrame:
        """Confidence intervals of frequencies and parameters.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "profile", "wald"}
            "profile": the values that a likelihood ratio test does not reject; the likelihood is
            continued beyond [0, 1], so that its ratio keeps its law at the boundary, and the
            interval is cut. One that lies wholly outside gets a limit inside, at which the estimate
            is alpha/2 times as likely as at the edge. "wald": `linear_params` plus or minus normal
            quantile times standard error. "default" is "profile" for up to 40 frequencies and
            parameters, else "wald".
        clip : bool
            Cut Wald intervals to [0, 1]; profiles always are.

        Returns
        -------
        DataFrame, shape (k + m, 2)
            Columns "lower" and "upper".
        """
        alpha, clip = level(alpha), checked_boolean("clip", clip)
        method = one_of("method", method, ("default", "profile", "wald"))
        if method == "default":
            method = self.default_intervals
        key = (alpha, method, clip)
        if key not in self._intervals:
            self._intervals[key] = self._bounds(alpha, method, clip)
        bounds = self._intervals[key].copy()
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def default_intervals(self) -> str:
        """What `conf_int` gives by default: "profile" or "wald"."""
        return "profile" if self.k <= _MOST_PROFILES else "wald"

    @cached_property
    def _intervals(self) -> dict[tuple[float, str, bool], Array]:
        """Intervals that were asked for: profiles take time, and a summary shows them again."""
        return {}

    def _bounds(self, alpha: float, method: str, clip: bool) -> Array:
        estimate, se = self.linear.estimate, self.linear.bse()
        if method == "profile":
            every = np.arange(self.k)
            return profile_intervals(self.groups.likelihood, estimate, se, alpha, every)
        self._check_errors()
        bounds = np.asarray(wald(estimate, se, alpha))
        return np.asarray(edge_normal(bounds, estimate, se, alpha)) if clip else bounds

    def _check_errors(self) -> None:
        """Refuse Wald statistics where the continued likelihood has no regular maximum."""
        if self.linear.covariance is None or len(self.undetermined):
            left = in_turn([str(label) for label in self.undetermined])
            why = f": the reports leave {left} open" if left else ""
            raise NotAvailable(
                f"the unconstrained estimate has no covariance{why}; conf_int() rests on the "
                "likelihood alone"
            )

    def t_test(self, hypothesis: Any) -> Any:
        self._check_errors()
        return super().t_test(hypothesis)

    def wald_test(self, hypothesis: Any) -> TestResult:
        self._check_errors()
        return super().wald_test(hypothesis)

    t_test.__doc__ = FittedResults.t_test.__doc__
    wald_test.__doc__ = FittedResults.wald_test.__doc__

    @cached_property
    def _zero_roots(self) -> Array:
        every = np.arange(self.k)
        return signed_roots(self.groups.likelihood, self.linear.estimate, every, np.zeros(self.k))

    def presence_pvalues(self) -> pd.Series[float]:
        """One-sided p-values of a frequency or parameter of 0 against one above it.

        From the signed root of the likelihood ratio; not adjusted for their number.
        """
        found = normal_pvalue(self._zero_roots, "larger")
        return self._series(np.asarray(found), "presence_pvalues")

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of a frequency or parameter of 0, by the likelihood ratio."""
        found = normal_pvalue(self._zero_roots, "two-sided")
        return self._series(np.asarray(found), "pvalues")

    # -- presentation ------------------------------------------------------------------------

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates.

        Returns
        -------
        DataFrame, one row per category, then one per parameter
            "params", "bse", "linear", "linear_se", "lower", "upper" (default interval) and
            "presence_pvalue" (one-sided, of 0 against above, not adjusted).
        """
        frame = self._estimates_frame(alpha, self.conf_int(level(alpha)))
        return frame.assign(presence_pvalue=self.presence_pvalues())

    def _estimates_frame(self, alpha: float, intervals: pd.DataFrame | None = None) -> pd.DataFrame:
        frame = {"params": self.params, "bse": self._series(self.fitted.bse(), "bse")}
        frame |= {"linear": self.linear_params}
        frame |= {"linear_se": self._series(self.linear.bse(), "linear_bse")}
        bounds = self.conf_int(alpha) if intervals is None else intervals
        return pd.DataFrame(frame).join(bounds)

    def _tidy(self, alpha: float) -> pd.DataFrame:
        return tidy_names(self.summary_frame(alpha))

    def _facts(self) -> dict[str, Any]:
        test = self.goodness_of_fit
        more = {"k": len(self.categories), "n_parameters": len(self.groups.names)}
        return (
            super()._facts() | more | {"goodness_pvalue": np.nan if test is None else test.pvalue}
        )

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The fit as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Categories to show; the largest estimates where there are more. Parameters are always
            shown.
        details : bool
            Whether to show how the estimate was computed, and the unconstrained one in any case.
        """
        from ldpstats.models.parameters.summary import parameters_summary

        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        table = parameters_summary(
            self.fit,
            self.goodness_of_fit,
            self.groups.names,
            [str(label) for label in self.undetermined],
            outside=outside_words(self),
            frame=self.summary_frame(alpha),
            intervals=self.default_intervals,
            alpha=alpha,
            max_rows=max_rows,
            details=checked_boolean("details", details),
        )
        return table.layout()

    @names_alpha
    def plot(
        self,
        ax: Axes | None = None,
        alpha: float = 0.05,
        truth: Any = None,
        sort: Any = None,
        most: int = 25,
        title: str | None = None,
    ) -> Axes:
        """Draw frequencies and parameters with their intervals, one line each.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        truth : Series or array, shape (k + m,), optional
            Known values, drawn beside the estimates.
        sort : bool, optional
            Whether the largest is on top.
        most : int
            Estimates to draw.
        title : str, optional
            The title; "" for none.
        """
        from ldpstats.models.shared.forest import plot_frequencies

        frame = self.summary_frame(level(alpha))
        return plot_frequencies(self.fit, frame, ax, alpha, truth, sort, most, title)

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        document: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        document |= {name: number_to_json(getattr(self, name)) for name in _NUMBERS}
        document |= estimates_to_dict(self.fitted, self.linear)
        document |= {"name": self.name, "sources": list(self.sources)}
        document |= {"source_nobs": list(self.fit.source_nobs)}
        document["goodness_of_fit"] = maybe_to_dict(self.goodness_of_fit)
        return document | {"groups": self.groups.to_dict()}

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> ParametersResults:
        d = {name: document[name] for name in (*_PLAIN, "name")}
        d |= {name: number_from_json(document[name]) for name in _NUMBERS}
        d |= estimates_from_dict(document)
        d |= {name: tuple(document[name]) for name in ("sources", "source_nobs")}
        groups = DeviceGroups.from_dict(document["groups"])
        test = maybe_from_dict(TestResult, document["goodness_of_fit"])
        return cls(record(ParametersFit, d), groups, test)


def outside_words(results: ParametersResults) -> str:
    """What to say of an unconstrained estimate too far outside [0, 1] for chance; "" if it is not.

    The goodness of fit does not see it, since its reports are fitted without the bounds.
    """
    pvalue = outside_pvalue(results.groups, results.fit)
    if pvalue >= MISFIT:
        return ""
    values = results.linear_params
    out = values[(values < 0.0) | (values > 1.0)].index
    return (
        f"the unconstrained estimate of {in_turn(list(map(str, out)))} is further outside [0, 1] "
        f"than chance explains (p < {MISFIT}): check the devices, and that respondents were "
        "drawn at random into groups"
    )
