"""How results of regressions show themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import boolean, level, positive_integer
from ldpstats.models.regression.answers.true_answers import TrueAnswers
from ldpstats.models.shared.presentation import Presented
from ldpstats.models.shared.spelling import names_alpha

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["PresentedRegression"]


class PresentedRegression(TrueAnswers, Presented):
    """Results that print as a summary and are data frames for further use."""

    model: Any
    params: Any
    bse: Any
    pvalues: Any

    def __str__(self) -> str:
        return str(self.summary())

    @property
    def _subject(self) -> str:
        return str(self.model.endog_names)

    def _tidy(self, alpha: float) -> pd.DataFrame:
        this: Any = self
        ends = this.conf_int(alpha)
        each = [self.params, self.bse, self.pvalues, self.tvalues]
        flat = [np.asarray(one, dtype=np.float64).T.ravel() for one in each]
        return pd.DataFrame(
            {
                "estimate": flat[0],
                "std_error": flat[1],
                "lower": ends["lower"].to_numpy(),
                "upper": ends["upper"].to_numpy(),
                "p_value": flat[2],
                "t": flat[3],
            },
            index=ends.index,
        )

    def _coefficients(self) -> pd.DataFrame:
        return self._tidy(0.05)

    def _facts(self) -> dict[str, Any]:
        from ldpstats.models.regression.summary import total_epsilon

        this: Any = self
        data = self.model.data
        unknown = float("nan")
        is_likely = this.method != "corrected" and data.weights is None
        mechanisms = data.mechanisms()
        return {
            "name": self._subject,
            "mechanism": "; ".join(dict.fromkeys(map(str, mechanisms))),
            "method": this.method,
            "penalty": this.penalty or "",
            "cov_type": this.cov_type,
            "epsilon": total_epsilon(data),
            "nobs": this.nobs,
            "n_missing": data.n_missing,
            "k": 0 if data.categories is None else len(data.categories),
            "df_model": this.df_model,
            "df_resid": this.df_resid,
            "llf": this.llf if is_likely else unknown,
            "aic": this.aic if is_likely else unknown,
            "bic": this.bic if is_likely else unknown,
            "n_maxima": this.n_maxima,
            "converged": this.converged,
        }

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The coefficients with what they rest on, as text, `as_html()` or `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Coefficients shown; the first of them.
        details : bool
            Whether the goodness of fit and degrees of freedom are shown.

        Returns
        -------
        Summary
            Of statsmodels. Notes say which tests and intervals the columns have, what the
            randomisation has cost, and what the reports would say if they were taken for answers.
            "The reports know as much as m respondents": m is the number of respondents times the
            p-th root of the ratio of two determinants, those of the information of the reports and
            of the answers themselves on the p coefficients. It is an average over the coefficients.
        """
        from ldpstats.models.regression.summary import regression_summary

        rows = positive_integer("max_rows", max_rows)
        alpha = level(alpha)
        frame = self._tidy(alpha)
        return regression_summary(self, frame, alpha, rows, boolean("details", details)).layout()
