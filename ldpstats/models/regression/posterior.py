"""The posterior predictive check of the reports of a regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import did_you_mean, one_of
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.regression import Points, row_means, score_groups
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.parametric import PolynomialMatrix
from ldpstats.likelihood.regression import Categorical, Multinomial
from ldpstats.likelihood.regression import Normal as Numeric
from ldpstats.mechanisms.krr import protect_some
from ldpstats.models.posterior.densities import (
    LEVEL,
    SLOPE,
    SPREAD,
    CoefficientPrior,
    DevicesDensity,
    RegressionDensity,
    coefficient_prior,
)
from ldpstats.models.posterior.draws import ENGINES, chains_by, checked_draws, checked_generator
from ldpstats.models.posterior.results import (
    BELOW_ONE,
    POSITIVE,
    PROBABILITY,
    REAL,
    Origin,
    PosteriorResults,
)
from ldpstats.models.regression.devices import (
    check_identified,
    parametric_likelihood,
    refuse_devices,
)
from ldpstats.models.regression.fitted import ReportTable
from ldpstats.models.regression.fitting import compare_with_corrected
from ldpstats.models.regression.results import warn_of_wide_priors
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.priors import Beta, Normal

__all__ = ["given_laws", "no_coefficient", "regression_posterior"]


Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_GROUPS = 10
_PER_CELL = 5.0  # reports in a cell, on average of the rarest
_DRAWS = 200


def regression_check(
    model: RegressionStructure,
    thetas: Array,
    rng: np.random.Generator,
    matrices: Sequence[PolynomialMatrix] = (),
) -> TestResult | None:
    """Whether the reports look like those that the posterior predicts.

    Reports are counted in groups of respondents with about equal probability of the outcome. The
    discrepancy is Pearson's chi-square of these counts against what a draw of the parameters
    expects; it is compared with that of reports simulated from the same draw (Gelman, Meng and
    Stern 1996).

    Parameters
    ----------
    model : RegressionStructure
    thetas : array, shape (s, size)
        Draws of all parameters; at most 200, evenly spaced, are used.
    rng : numpy Generator
    matrices : sequence of PolynomialMatrix
        Channels of devices with unknown parameters, which are the last columns of `thetas`.

    Returns
    -------
    TestResult or None
        None where the outcome is a number, or reports have too many values to be counted.
    """
    if not isinstance(model.data.outcome, Categorical):
        return None
    used = thetas[np.linspace(0, len(thetas) - 1, min(_DRAWS, len(thetas))).astype(np.int64)]
    mean = used.mean(axis=0)[model.likelihood.size :]
    devices = [Q.at(mean) for Q in matrices], [Q.derivatives(mean) for Q in matrices]
    try:
        table = ReportTable(model, devices if matrices else None)
    except NotAvailable:  # too many reports of devices with unknown parameters
        return None
    if not table.is_counted:
        return None
    size = model.likelihood.size
    cells = _Cells(model, table, used.mean(axis=0)[:size])
    each = []
    for theta in used:
        channels = [Q.at(theta[size:]) for Q in matrices] or table.channels
        each.append(cells.discrepancies(theta[:size], channels, rng))
    seen, simulated = np.array(each).T
    return TestResult(
        f"the reports on {model.endog_names} are such as the model predicts",
        float(seen.mean()),
        None,
        float(np.mean(simulated >= seen)),
        f"posterior predictive check, chi-square of the reports in {cells.groups} groups of "
        "predicted probability",
    )


class _Cells:
    """Counts of reports by group of respondents, mechanism and report."""

    def __init__(self, model: RegressionStructure, table: ReportTable, theta: Array) -> None:
        likelihood = model.likelihood
        self.table, self.weights = table, likelihood.weights
        self.points = Points(
            likelihood.outcome,
            likelihood.designs,
            likelihood.marginal,
            likelihood.weights,
            likelihood.size,
            None if likelihood.B is None else likelihood.B[:],
        )
        mean = row_means(self.points, theta)[0]
        self.code = score_groups(mean @ np.arange(mean.shape[1]), self.weights, self._number(mean))
        self.groups = int(self.code.max()) + 1
        self.rows = [np.flatnonzero(table.at == h) for h in range(len(table.channels))]
        self.seen = [
            self._summed(rows, np.eye(Q.shape[1])[table.codes[rows]] * self.weights[rows, None])
            for rows, Q in zip(self.rows, table.channels, strict=True)
        ]

    def _number(self, mean: Array) -> int:
        """Number of groups that leave enough reports in each cell."""
        rarest = min(float((self.weights @ mean @ Q).min()) for Q in self.table.channels)
        room = rarest / (_PER_CELL * len(self.table.channels))
        return int(np.clip(room, 1, _GROUPS))

    def _summed(self, rows: Codes, each: Array) -> Array:
        """Sums over the rows of each group, (groups, l)."""
        found = np.zeros((self.groups, each.shape[1]))
        np.add.at(found, self.code[rows], each)
        return found

    def discrepancies(
        self, theta: Array, channels: Sequence[Array], rng: np.random.Generator
    ) -> tuple[float, float]:
        """The discrepancy of the reports, and that of simulated ones."""
        mean = row_means(self.points, theta)[0]
        own = simulated = 0.0
        for rows, Q, seen in zip(self.rows, channels, self.seen, strict=True):
            law = mean[rows] @ Q
            law /= law.sum(axis=1, keepdims=True)
            times = np.rint(self.weights[rows]).astype(np.int64)
            expected = self._summed(rows, law * times[:, None])
            drawn = self._summed(rows, rng.multinomial(times, law).astype(np.float64))
            there = expected > 0.0
            own += float((((seen - expected) ** 2)[there] / expected[there]).sum())
            simulated += float((((drawn - expected) ** 2)[there] / expected[there]).sum())
        return own, simulated


# -- The prior that a caller gives for the coefficients of a regression ---------------------------


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


# -- The posterior of a regression whose devices have unknown parameters: prior, density, labels ---


@dataclass(frozen=True, eq=False)
class DevicesTarget:
    """What is drawn from, and how it is called.

    Parameters
    ----------
    density : DevicesDensity
    labels : Index
        Of the coefficients as `fit` has them, and of the parameters.
    words : str
        The prior.
    """

    density: DevicesDensity
    labels: pd.Index[Any]
    words: str

    @classmethod
    def of(cls, model: RegressionStructure, prior: Any) -> DevicesTarget:
        """The posterior of a model.

        Parameters
        ----------
        model : RegressionStructure
            With unknown parameters.
        prior : None, Normal, or mapping of str to Normal or Beta
            Of all coefficients, or of coefficients and parameters by name.

        Raises
        ------
        InvalidArgument
            For an unknown name, and a law of another kind.
        NotIdentified
            If the reports leave something open, and no prior of an open parameter was given.
        """
        refuse_devices(model)
        rest, own = _split(prior, model.unknown)
        laws = [own.get(name, Beta()) for name in model.unknown]
        a, b = (np.array([getattr(law, side) for law in laws]) for side in "ab")
        coefficients = regression_prior(model, rest)
        likelihood = parametric_likelihood(model)
        name = model.unknown[0]
        more = f"; or give what is known of a parameter, prior={{'{name}': Beta(2, 18)}}, say"
        check_identified(likelihood, model.all_names, list(own), more)
        density = DevicesDensity(likelihood, coefficients, a, b)
        if density.peaks[1]:
            raise NotIdentified(
                "the posterior has several maxima that are as high, as other values explain the "
                f"reports as well: add a group of respondents with another device{more}"
            )
        given = [f"{one}: {law!r}" for one, law in zip(model.unknown, laws, strict=True)]
        words = "; ".join([prior_in_words(model, rest), *given])
        shown = [*model.all_names[: model.n_shown], *model.unknown]
        return cls(density, pd.Index(shown), words)

    @property
    def peak(self) -> Array | None:
        """Where the density of coefficients and parameters is largest; None if nowhere."""
        density = self.density
        if min(density.a.min(), density.b.min()) < 1.0:
            return None
        return density.shown(density.highest(density.a - 1.0, density.b - 1.0)[0].x)

    def drawn(self, rng: np.random.Generator, draws: int) -> Array:
        """Draws from the prior of what is reported."""
        density = self.density
        parameters = rng.beta(density.a, density.b, size=(draws, density.a.size))
        return density.shown(np.hstack([density.prior.draw(rng, draws), parameters]))


def _split(prior: Any, unknown: tuple[str, ...]) -> tuple[Any, dict[str, Beta]]:
    """Priors of coefficients, and of parameters by name."""
    if isinstance(prior, pd.Series):
        prior = prior.to_dict()
    if not isinstance(prior, Mapping):
        return prior, {}
    own = {name: law for name, law in prior.items() if name in unknown}
    for name, law in own.items():
        if not isinstance(law, Beta):
            remedy = "must be a prior of a probability, such as ldpstats.priors.Beta(2, 18)"
            raise InvalidArgument(f"prior[{name!r}]", law, remedy)
    rest = {name: law for name, law in prior.items() if name not in own}
    return (rest or None) if own else prior, own


# -- The posterior of a regression on privatised answers ------------------------------------------


_STEPS = "Thresholds: the first, and logarithms of the steps to the next."


def regression_posterior(
    model: RegressionStructure, rng: Any, prior: Any, draws: Any, engine: Any
) -> PosteriorResults:
    """Draws of the coefficients; see `PrivatizedRegression.fit_posterior`."""
    generator, number = checked_generator(rng), checked_draws(draws)
    engine = one_of("engine", engine, ENGINES)
    refuse_posterior(model)
    if model.unknown:
        return _with_devices(model, generator, prior, number, engine)
    law = regression_prior(model, prior)
    density = RegressionDensity(model.likelihood, law)
    chains = chains_by(engine, density, generator, number)
    thetas = density.parameters(chains.z)
    if model.data.predictors and not model.data.is_categorical:
        compare_with_corrected(model, thetas.reshape(-1, density.size).mean(axis=0))
    labels, before = coefficient_labels(model), law.draw(generator, number)
    warn_of_wide_priors(density, chains.z, before)
    simplex = np.full(len(labels), REAL)
    if isinstance(model.data.outcome, Numeric):
        simplex[-1] = POSITIVE
    return PosteriorResults.of(
        chains,
        density,
        labels,
        _origin(model, prior_in_words(model, prior)),
        simplex=simplex,
        peak=density.constrained(density.mode()),
        prior_draws=density.shown(before),
        check=regression_check(model, thetas.reshape(-1, density.size), generator),
        engine=engine,
    )


def _with_devices(
    model: RegressionStructure, rng: np.random.Generator, prior: Any, draws: int, engine: str
) -> PosteriorResults:
    """Draws of the coefficients and of unknown parameters of devices."""
    target = DevicesTarget.of(model, prior)
    density = target.density
    chains = chains_by(engine, density, rng, draws)
    some = density.parameters(chains.z).reshape(-1, density.size)
    peak = target.peak
    origin = _origin(model, target.words)
    if peak is None:
        origin = replace(origin, without_mode=BELOW_ONE)
    m = density.likelihood.m
    return PosteriorResults.of(
        chains,
        density,
        target.labels,
        replace(origin, subject="Coefficients and parameters"),
        simplex=np.r_[np.full(len(target.labels) - m, REAL), np.full(m, PROBABILITY)],
        peak=peak,
        prior_draws=target.drawn(rng, draws),
        check=regression_check(model, some, rng, density.likelihood.matrices),
        engine=engine,
    )


def _origin(model: RegressionStructure, prior: str) -> Origin:
    """What the draws are about."""
    mechanisms = list(dict.fromkeys(model.data.mechanisms()))
    return Origin(
        nobs=model.nobs,
        n_missing=model.data.n_missing,
        epsilon=max((mechanism.epsilon for mechanism in mechanisms), default=float("inf")),
        sources=tuple(map(str, mechanisms)),
        prior=prior,
        name=model.endog_names,
        subject="Coefficients",
        note=_STEPS if model.threshold_names else "",
        is_partial=protect_some(mechanisms),
    )


def refuse_posterior(model: RegressionStructure) -> None:
    """Refuse weights and what has no likelihood."""
    data = model.data
    if data.sample is not None:
        raise NotAvailable(
            "fit_posterior: a survey with a design has a pseudo-likelihood, of which a posterior "
            "is not defined: use fit(), or make the survey without weights="
        )
    if data.weights is not None:
        raise NotAvailable(
            "fit_posterior: sampling weights leave a pseudo-likelihood, of which a posterior is "
            "not defined: use fit(), or leave out weights= (numbers of respondents are "
            "freq_weights=)"
        )
    if data.only_corrected:
        raise NotAvailable(f"fit_posterior: {data.only_corrected}: use fit()")


def coefficient_labels(model: RegressionStructure) -> pd.Index[Any]:
    """Labels of the coefficients that are reported, as `fit` has them, and sigma."""
    categories = model.categories
    if isinstance(model.data.outcome, Multinomial) and categories is not None:
        pairs = [(label, name) for label in categories[1:] for name in model.exog_names]
        return pd.MultiIndex.from_tuples(pairs, names=[model.endog_names or "y", "name"])
    sigma = ["sigma"] if isinstance(model.data.outcome, Numeric) else []
    return pd.Index(model.exog_names + model.threshold_names + sigma)
