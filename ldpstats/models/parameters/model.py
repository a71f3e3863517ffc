"""Fit the frequencies and the unknown parameters of several groups together."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

from ldpstats.errors import (
    ConvergenceWarning,
    LDPWarning,
    MisfitWarning,
    NotAvailable,
)
from ldpstats.models.parameters.estimates import estimate, fit_test
from ldpstats.models.parameters.groups import DeviceGroups
from ldpstats.models.parameters.results import MISFIT, ParametersResults, outside_words
from ldpstats.models.posterior.parameters import parameters_posterior, parameters_prior
from ldpstats.models.posterior.record import Origin
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.shared.spelling import in_turn

__all__ = ["ParametersModel"]


@dataclass(frozen=True, eq=False)
class ParametersModel:
    """Frequencies and unknown parameters; `FrequencyModel` makes it of its groups.

    Parameters
    ----------
    groups : DeviceGroups
    name : str
        Name of the variable.
    n_missing : int
        Respondents who gave no answer.
    """

    groups: DeviceGroups
    name: str = ""
    n_missing: int = 0

    def fit(
        self, method: Any = None, constraints: Any = None, cov_type: str = "default"
    ) -> ParametersResults:
        """Estimate frequencies and parameters by maximum likelihood; see `FrequencyModel.fit`.

        Raises
        ------
        NotIdentified
            If the reports leave a frequency or a parameter open; the message names it.
        NotAvailable
            For another method than "mle", or constraints.

        Warns
        -----
        ConvergenceWarning
            If the slope of the likelihood at the estimate is not zero.
        MisfitWarning
            If the goodness of fit has a p-value below .001, or the unconstrained estimate is
            further outside [0, 1] than that.
        LDPWarning
            If the reports leave something open at the estimate, though not at others.
        """
        names = in_turn(list(self.groups.names))
        plain = (method is None or _is(method, "mle")) and _is(cov_type, "default")
        if not plain or constraints is not None:
            raise NotAvailable(
                f"the unknown {names} and the frequencies are estimated by maximum likelihood "
                "alone: leave out method=, constraints= and cov_type="
            )
        self.groups.check_identified()
        fit = estimate(self.groups, self.name, self.n_missing)
        results = ParametersResults(fit, self.groups, fit_test(self.groups, fit.linear.estimate))
        _warn(results)
        return results

    def fit_posterior(
        self, rng: Any, prior: Any, draws: Any, engine: Any, origin: Origin
    ) -> PosteriorResults:
        """Draw from the posterior of frequencies and parameters; see `FrequencyModel`.

        Raises
        ------
        NotIdentified
            If the reports leave a parameter open, and no prior of it was given.
        """
        law = parameters_prior(prior, self.groups.names)
        if not self.groups.is_open(law.given):
            self.groups.check_identified(
                "; or give what is known of a parameter, prior={'"
                f"{self.groups.names[0]}': Beta(2, 18)}}, say"
            )
        origin = replace(origin, subject="Frequencies and parameters")
        likelihood, index = self.groups.likelihood, self.groups.index
        return parameters_posterior(likelihood, index, origin, rng, law, draws, engine)


def _is(value: object, word: str) -> bool:
    """Whether a value of any kind is this word."""
    return isinstance(value, str) and str.__str__(value) == word


def _warn(results: ParametersResults) -> None:
    if not results.converged:
        words = f"the fit did not converge: {results.message}"
        warnings.warn(words, ConvergenceWarning, stacklevel=4)
    if len(left := results.undetermined):
        words = (
            f"at the estimate the reports leave {in_turn(list(map(str, left)))} open: other values "
            "fit as well, and conf_int() says which"
        )
        warnings.warn(words, LDPWarning, stacklevel=4)
    test = results.goodness_of_fit
    words = outside_words(results)
    if test is not None and test.pvalue < MISFIT:
        words = (
            f"the reports do not fit these devices with common frequencies and parameters "
            f"(p = {test.pvalue:.2g}): were they drawn at random into groups that used them?"
        )
    if words:
        warnings.warn(words, MisfitWarning, stacklevel=4)
