"""The prior that a caller gives for the coefficients of a regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument
from ldpstats.models.posterior.densities.coefficients import (
    LEVEL,
    SLOPE,
    SPREAD,
    CoefficientPrior,
    coefficient_prior,
)
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.priors import Normal
from ldpstats.problems.regression.outcomes import Categorical
from ldpstats.problems.regression.outcomes import Normal as Numeric

__all__ = ["given_laws", "no_coefficient", "prior_in_words", "regression_prior"]

_Own = dict[int, tuple[float, float]]


def regression_prior(model: RegressionStructure, prior: object) -> CoefficientPrior:
    """The prior of all parameters of a model.

    Parameters
    ----------
    model : RegressionStructure
    prior : None, Normal, or mapping of str to Normal
        Of no coefficient, all, or those named.

    Raises
    ------
    InvalidArgument
        For another kind of prior, an unknown name, a threshold, and constants of a multinomial
        logit of which some have a prior of their own and some have not.
    """
    own = _given(model, prior)
    names = model.all_names
    try:
        return coefficient_prior(model.likelihood, names, own)
    except InvalidArgument:
        raise
    except ValueError as error:
        remedy = f"must be given for all of {error} or for none: they have one prior together"
        raise InvalidArgument("prior", "some of the constants", remedy) from None


def _given(model: RegressionStructure, prior: object) -> _Own:
    """Means and standard deviations of coefficients, by place."""
    p = len(model.exog_names) * len(model.equations)
    return given_laws(prior, p, lambda name: _places(model, name))


def given_laws(prior: object, p: int, places: Callable[[object], list[int]]) -> _Own:
    """Means and standard deviations of parameters, by place.

    Parameters
    ----------
    prior : None, Normal, or mapping of str to Normal
    p : int
        Number of coefficients that one `Normal` is the prior of.
    places : callable
        Which parameters a name is of.
    """
    if prior is None:
        return {}
    if isinstance(prior, Normal):
        return dict.fromkeys(range(p), _law(prior))
    if isinstance(prior, pd.Series):
        if not prior.index.is_unique:
            again = prior.index[prior.index.duplicated()][0]
            raise InvalidArgument("prior", again, "is given twice")
        prior = prior.to_dict()
    if not isinstance(prior, Mapping) or not prior:
        example = 'such as {"age": ldp.priors.Normal(0, 1)}'
        remedy = f"must be ldp.priors.Normal(mean, sd), or a mapping from coefficients, {example}"
        raise InvalidArgument("prior", prior, remedy)
    found: _Own = {}
    for name, one in prior.items():
        if not isinstance(one, Normal):
            remedy = "must be ldp.priors.Normal(mean, sd)"
            raise InvalidArgument(f"prior[{name!r}]", one, remedy)
        for place in places(name):
            if place in found:
                raise InvalidArgument("prior", name, "has another prior by another name: give one")
            found[place] = _law(one)
    return found


def _law(one: Any) -> tuple[float, float]:
    return float(one.mean), float(one.sd)


def _places(model: RegressionStructure, name: object) -> list[int]:
    """Which parameters a name is of: a covariate in every equation, or one of `all_names`."""
    p, names = len(model.exog_names), model.all_names
    if isinstance(name, str) and name in model.threshold_names:
        remedy = (
            "is a threshold: thresholds have one prior together, under which the probabilities of "
            "all categories at the means of the covariates are uniform"
        )
        raise InvalidArgument("prior", name, remedy)
    if isinstance(name, str) and name in model.exog_names:
        j = model.exog_names.index(name)
        return [j + p * e for e in range(len(model.equations))]
    if isinstance(name, str) and name in names:
        return [names.index(name)]
    known = [*model.exog_names, *[one for one in names if one not in model.exog_names]]
    raise no_coefficient(name, known)


def no_coefficient(name: object, known: list[str]) -> InvalidArgument:
    """The error for a name that is not among `known`."""
    hint = did_you_mean(name, known) if isinstance(name, str) else ""
    listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return InvalidArgument("prior", name, f"is no coefficient: they are {listed}{hint}")


def prior_in_words(model: RegressionStructure, prior: object) -> str:
    """The prior as the summary shows it."""
    own = _given(model, prior)
    names, outcome = model.all_names, model.data.outcome
    p = len(model.exog_names) * len(model.equations)
    unit = " sd(response)" if isinstance(outcome, Numeric) else ""
    words = []
    if isinstance(prior, Normal):
        words.append(f"coefficients {prior!r}")
    else:
        words += [f"{names[j]} {Normal(*law)!r}" for j, law in own.items()]
    if len([j for j in own if j < p]) < p or (p == 0 and not model.threshold_names):
        rest = "other slopes" if own else "slopes"
        words.append(f"{rest} Normal(0, {SLOPE:g}{unit} / sd(covariate))")
    if isinstance(outcome, Categorical):
        constant = model.constant
        if model.threshold_names or (constant is not None and constant not in own):
            words.append("probabilities at the means of the covariates uniform")
    elif model.constant is not None and model.constant not in own:
        scale = " sd(response)" if isinstance(outcome, Numeric) else ""
        words.append(f"level at the means of the covariates of sd {LEVEL:g}{scale}")
    if isinstance(outcome, Numeric) and p not in own:
        words.append(f"log(sigma) of sd {SPREAD:g} about log sd(response)")
    if model.data.marginal is not None:
        words.append(
            "private predictors: probabilities uniform, slopes on public ones "
            f"Normal(0, {SLOPE:g} / sd)"
        )
    return "; ".join(words)
