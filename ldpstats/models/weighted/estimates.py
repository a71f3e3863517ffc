"""Estimates from a complex sample: their errors, degrees of freedom and design effects."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, one_of
from ldpstats.errors import LDPWarning, NotAvailable
from ldpstats.inference.designs.effects import Effects, design_effects
from ldpstats.inference.designs.totals import Ratios, Totals
from ldpstats.models.shared.groups import several_worded
from ldpstats.models.shared.results import FittedResults
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.weighted.record import Domains, SampleFacts, fit_from_dict, fit_to_dict

__all__ = ["DesignEstimates"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DesignEstimates(FittedResults):
    """Estimates from a complex sample of privatised reports.

    `totals_law` has the weighted totals of decoded reports, in an order that a class decides; all
    that is shown of the unconstrained estimate is a function of them.
    """

    totals_law: Totals
    sample: SampleFacts
    domains: Domains

    # -- what a class says -------------------------------------------------------------------

    @property
    @abstractmethod
    def shares(self) -> Ratios:
        """The unconstrained estimates as functions of the totals, (q,)."""

    @property
    @abstractmethod
    def _domain_of(self) -> npt.NDArray[np.int64]:
        """The domain of each estimate, (q,)."""

    # -- errors ------------------------------------------------------------------------------

    @property
    def terms(self) -> pd.Index[Any]:
        """Names of the estimates in hypotheses: labels joined by colons where there are several."""
        if not isinstance(self.index, pd.MultiIndex):
            return self.index
        return pd.Index([":".join(map(str, cell)) for cell in self.index])

    @property
    def df(self) -> pd.Series[float]:
        """Degrees of freedom of each estimate: units less strata that hold its domain."""
        return self._series(self.domains.df[self._domain_of], "df")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of `params`; nan where unknown, as in a domain in one sampling unit."""
        return super().bse.mask(self._unknown)

    @property
    def linear_bse(self) -> pd.Series[float]:
        """Standard errors of `linear_params`; nan where they are unknown."""
        return super().linear_bse.mask(self._unknown)

    @property
    def linear_cov(self) -> pd.DataFrame:
        """Covariance matrix of `linear_params`; nan where it is unknown."""
        return self._known(super().linear_cov)

    def cov_params(self, cov_type: str | None = None) -> pd.DataFrame:
        """Covariance matrix of `params`, between domains too; nan where it is unknown.

        Parameters
        ----------
        cov_type : {None, "default", "linear"}
            "linear" gives that of `linear_params`.
        """
        kind = "default" if cov_type is None else cov_type
        return self._known(super().cov_params(one_of("cov_type", kind, ("default", "linear"))))

    def _known(self, covariance: pd.DataFrame) -> pd.DataFrame:
        """Without the rows and columns of domains in one sampling unit."""
        return covariance.mask(self._unknown[:, None] | self._unknown)

    @property
    def tvalues(self) -> pd.Series[float]:
        """The unconstrained estimates over their standard errors; nan where these are zero."""
        se = self.linear.bse()
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where((se > 0.0) & ~self._unknown, self.linear.estimate / se, np.nan)
        return self._series(t, "tvalues")

    # -- domains in one sampling unit --------------------------------------------------------

    @property
    def _unknown(self) -> npt.NDArray[np.bool_]:
        """Estimates of these domains, (q,)."""
        return np.asarray(self.domains.alone[self._domain_of])

    def warn_of_unknown(self) -> None:
        """Warn of domains in one sampling unit, by name."""
        if self.domains.alone.any():
            by, labels = self.domains.by, self.domains.labels
            own = [label for label, alone in zip(labels, self.domains.alone, strict=True) if alone]
            which = f"the domain {several_worded(own, by)} is" if by else "all reports are"
            warnings.warn(
                f"{which} in one sampling unit, or in strata of one unit, which does not show how "
                "shares vary: there are no standard errors; join domains",
                LDPWarning,
                stacklevel=5,
            )

    def _refuse_alone(self, R: Array) -> None:
        """Refuse hypotheses R, (r, q), about domains in one sampling unit."""
        if R[:, self._unknown].any():
            raise NotAvailable(
                "a test of a domain that lies in one sampling unit, or in strata of one unit, "
                "which does not show how its shares vary: join domains"
            )

    # -- design effects ----------------------------------------------------------------------

    @cached_property
    def _effects(self) -> Effects:
        found = self.totals_law.of(self.shares)
        n = self.domains.sizes[self._domain_of]
        variance = np.where(self._unknown, np.nan, np.diagonal(found.covariance))
        return design_effects(found.value, variance, np.diagonal(found.noise), n)

    def deff(self) -> pd.DataFrame:
        """Design effects of the unconstrained estimates, in two factors.

        Returns
        -------
        DataFrame, one row per estimate
            "deff_design": what strata, clusters and weights do to the variance of the true answers;
            "deff_privacy": what the randomisation adds to that; "deff": their product, the variance
            over that of a simple random sample of true answers; "effective_n": respondents of such
            a sample who tell as much; "channel": what randomisation alone does in a simple random
            sample, which planning uses. nan where not estimable, as where less variance is left
            than the randomisation has. Without noise "deff" is that of R's survey with
            ``deff="replace"``.
        """
        found = self._effects
        n = self.domains.sizes[self._domain_of]
        columns = {
            "deff_design": found.design,
            "deff_privacy": found.privacy,
            "deff": found.whole,
            "effective_n": n / np.where(found.whole > 0.0, found.whole, np.nan),
            "channel": self.domains.channel,
        }
        return pd.DataFrame(columns, index=self.index)

    @property
    def effective_n(self) -> pd.Series[float]:
        """Respondents of a simple random sample of true answers that tell as much."""
        return self._series(self.deff()["effective_n"].to_numpy(), "effective_n")

    # -- presentation ------------------------------------------------------------------------

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates: "params", "bse", "linear", "linear_se", "lower", "upper", "df" and
        the columns of `deff`.
        """
        frame = self._estimates_frame(level(alpha))
        frame.loc[self._unknown, ["bse", "linear_se"]] = np.nan
        return pd.concat([frame, self.df, self.deff()], axis=1)

    def _tidy(self, alpha: float) -> pd.DataFrame:
        from scipy.special import stdtr

        from ldpstats.models.shared.results import tidy_names

        df = np.maximum(self.df.to_numpy(), 1.0)  # as for intervals
        p = 2.0 * stdtr(df, -np.abs(self.tvalues.to_numpy()))
        return tidy_names(self.summary_frame(alpha)).assign(p_value=p)

    def _facts(self) -> dict[str, Any]:
        own = {"nobs": self.nobs, "df_resid": self.sample.df}
        return super()._facts() | asdict(self.sample) | own

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return {
            "fit": fit_to_dict(self.fit),
            "totals": self.totals_law.to_dict(),
            "sample": self.sample.to_dict(),
            "domains": self.domains.to_dict(),
            "nobs": self.nobs,
            "n_missing": self.n_missing,
        }

    @staticmethod
    def _common(document: dict[str, Any]) -> dict[str, Any]:
        """The fields that all such results have, from what `_stored` wrote."""
        return {
            "fit": fit_from_dict(document["fit"]),
            "totals_law": Totals.from_dict(document["totals"]),
            "sample": SampleFacts.from_dict(document["sample"]),
            "domains": Domains.from_dict(document["domains"]),
        }
