"""The posterior of a regression on privatised answers, by draws.

The prior is normal: of coefficients that the caller names, and elsewhere the default of
`coefficient_prior`. Unknown parameters of devices have Beta priors. The reports are checked
against those that the posterior predicts, and a warning says where a prior is so wide that most of
the posterior lies where no draw is.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, one_of
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified, PosteriorWarning
from ldpstats.inference.regression import pearson, row_means, score_groups
from ldpstats.inference.tests import TestResult
from ldpstats.labels import Codes
from ldpstats.likelihood.regression import Categorical
from ldpstats.likelihood.regression import Normal as Numeric
from ldpstats.mechanisms.base import protect_some
from ldpstats.models.posterior.densities import (
    LEVEL,
    SLOPE,
    SPREAD,
    CoefficientPrior,
    EstimateDensity,
    RegressionDensity,
    coefficient_prior,
)
from ldpstats.models.posterior.draws import ENGINES, chains_by, checked_draws
from ldpstats.models.posterior.results import (
    BELOW_ONE,
    POSITIVE,
    PROBABILITY,
    REAL,
    Origin,
    PosteriorResults,
)
from ldpstats.models.regression.coefficients import coefficient_labels
from ldpstats.models.regression.fitted import ReportTable
from ldpstats.priors import Beta, Normal, checked_generator

Laws = dict[int, tuple[float, float]]  # means and standard deviations of parameters, by place

_STEPS = "Thresholds: the first, and logarithms of the steps to the next."
_GROUPS = 10
_PER_CELL = 5.0  # reports in a cell, on average of the rarest
_CHECKED = 200  # draws that reports are simulated from
_PRIOR_DRAWS = 1000
_BLOCK = 100
_MUCH = 0.01
_LEAST = 1e-18  # of a curvature
_FAR = 2.0  # times as far from the mode as the farthest draw: no mere tail


def regression_posterior(
    model: Any, rng: Any, prior: Any, draws: Any, engine: Any
) -> PosteriorResults:
    """Draws of the coefficients; see `PrivatizedRegression.fit_posterior`."""
    generator, number = checked_generator(rng), checked_draws(draws)
    engine = one_of("engine", engine, ENGINES)
    data = model.data
    if data.sample is not None or data.weights is not None:
        raise NotAvailable(
            "fit_posterior: sampling weights, or a survey with a design, leave a pseudo-likelihood "
            "of which a posterior is not defined: use fit(), or leave out weights= (numbers of "
            "respondents are freq_weights=)"
        )
    if data.only_corrected:
        raise NotAvailable(f"fit_posterior: {data.only_corrected}: use fit()")
    rest, betas = _split(prior, model.unknown)
    more = ""
    if model.unknown:
        name = model.unknown[0]
        more = f"; or give what is known of a parameter, prior={{'{name}': Beta(2, 18)}}, say"
        model._check_devices(list(betas), more, 4)
    laws = [betas.get(name, Beta()) for name in model.unknown]
    a, b = (np.array([getattr(one, side) for one in laws]) for side in "ab")
    law = _coefficient_prior(model, rest)
    density: Any = RegressionDensity(model.likelihood, law, a, b)
    if decoded := _is_decoded(model):  # which have no law: their estimate takes the place of data
        rows, fit = law.rows[:, -1] == 0.0, model.fit("HC2")
        law = CoefficientPrior(law.rows[rows, :-1], law.mean[rows], law.sd[rows])
        density = EstimateDensity(np.asarray(fit.params), np.asarray(fit.cov_params()), law)
    if model.unknown and density.peaks[1]:
        raise NotIdentified(
            "the posterior has several maxima that are as high, as other values explain the "
            f"reports as well: add a group of respondents with another device{more}"
        )
    chains = chains_by(engine, density, generator, number)
    draws_of = density.constrained if decoded else density.parameters
    thetas = draws_of(chains.z).reshape(-1, density.size)
    if data.predictors and not data.is_categorical:
        model._compare_with_corrected(thetas.mean(axis=0), 4)
    parameters = generator.beta(a, b, size=(number, a.size))
    before = np.hstack([law.draw(generator, number), parameters])
    missed = 0.0 if model.unknown or decoded else _share_beyond(density, chains.z, before)
    if missed > _MUCH:
        warnings.warn(
            f"about {100 * missed:.0f}% of the posterior lie farther out than all draws: the "
            "reports do not rule out coefficients of any size, and the prior is so wide that it "
            "has most of its mass there; choose a smaller standard deviation",
            PosteriorWarning,
            stacklevel=3,
        )
    sigma = ["sigma"] * (isinstance(data.outcome, Numeric) and not decoded)
    labels = coefficient_labels(model, sigma)
    words = [f"{one}: {law!r}" for one, law in zip(model.unknown, laws, strict=True)]
    mechanisms = list(dict.fromkeys(data.mechanisms()))
    origin = Origin(
        nobs=model.nobs,
        n_missing=data.n_missing,
        epsilon=max((mechanism.epsilon for mechanism in mechanisms), default=float("inf")),
        sources=tuple(map(str, mechanisms)),
        prior="; ".join([_prior_in_words(model, rest), *words]),
        name=model.endog_names,
        subject="Coefficients and parameters" if model.unknown else "Coefficients",
        note=_STEPS if model.threshold_names else "",
        is_partial=protect_some(mechanisms),
    )
    if not model.unknown:
        peak = density.constrained(density.mode())
    elif min(a.min(), b.min()) < 1.0:
        origin, peak = replace(origin, without_mode=BELOW_ONE), None
    else:
        peak = density.shown(density.highest(a - 1.0, b - 1.0)[0].theta)
    m = a.size
    kinds = [REAL] * (len(labels) - len(sigma) - m) + [POSITIVE] * len(sigma) + [PROBABILITY] * m
    return PosteriorResults.of(
        chains,
        density,
        labels,
        origin,
        simplex=kinds,
        peak=peak,
        prior_draws=before if decoded else density.shown(before),
        check=_regression_check(model, thetas, generator),
        engine=engine,
    )


def _is_decoded(model: Any) -> bool:
    """Whether the response are scores of reports."""
    data = model.data
    return data.is_private and not data.is_categorical and not model.is_exact


def _split(prior: Any, unknown: tuple[str, ...]) -> tuple[Any, dict[str, Beta]]:
    """Priors of coefficients, and of parameters by name."""
    if isinstance(prior, pd.Series) and prior.index.is_unique:  # others are refused later
        prior = prior.to_dict()
    if not isinstance(prior, Mapping):
        return prior, {}
    betas = {name: law for name, law in prior.items() if name in unknown}
    for name, law in betas.items():
        if not isinstance(law, Beta):
            remedy = "must be a prior of a probability, such as ldpstats.priors.Beta(2, 18)"
            raise InvalidArgument(f"prior[{name!r}]", law, remedy)
    rest = {name: law for name, law in prior.items() if name not in betas}
    return (rest or None) if betas else prior, betas


# -- the prior of coefficients -----------------------------------------------------------------


def _coefficient_prior(model: Any, prior: object) -> CoefficientPrior:
    """The prior of all parameters of a model; of constants all or none may have their own."""
    scale: tuple[float, float] | None = None
    if _is_decoded(model):
        scores = np.asarray(model.data.scores, dtype=np.float64)
        scale = float(scores.std()) or 1.0, float(scores.mean())
    try:
        return coefficient_prior(model.likelihood, model.all_names, _laws(model, prior), scale)
    except InvalidArgument:
        raise
    except ValueError as error:
        remedy = f"must be given for all of {error} or for none: they have one prior together"
        raise InvalidArgument("prior", "some of the constants", remedy) from None


def _laws(model: Any, prior: object) -> Laws:
    """Means and standard deviations of coefficients, by place."""
    p, n_equations = len(model.exog_names), len(model.equations)
    names = model.exog_names if _is_decoded(model) else model.all_names
    if prior is None:
        return {}
    if isinstance(prior, Normal):
        return dict.fromkeys(range(p * n_equations), (float(prior.mean), float(prior.sd)))
    if isinstance(prior, pd.Series):
        if not prior.index.is_unique:
            again = prior.index[prior.index.duplicated()][0]
            raise InvalidArgument("prior", again, "is given twice")
        prior = prior.to_dict()
    one = "must be ldp.priors.Normal(mean, sd)"
    if not isinstance(prior, Mapping) or not prior:
        example = 'such as {"age": ldp.priors.Normal(0, 1)}'
        raise InvalidArgument("prior", prior, f"{one}, or a mapping from coefficients, {example}")
    known = tuple(dict.fromkeys([*model.exog_names, *names]))
    laws: Laws = {}
    for name, law in prior.items():
        if not isinstance(law, Normal):
            raise InvalidArgument(f"prior[{name!r}]", law, one)
        name, remedy = one_of("prior", name, known), ""
        if name in model.threshold_names:
            remedy = (
                "is a threshold: thresholds have one prior together, under which the probabilities "
                "of all categories at the means of the covariates are uniform"
            )
        elif name in model.exog_names:  # in every equation
            places = range(model.exog_names.index(name), p * n_equations, p)
        else:
            place = names.index(name)
            places = range(place, place + 1)
        if not remedy and laws.keys() & {*places}:
            remedy = "has another prior by another name: give one"
        if remedy:
            raise InvalidArgument("prior", name, remedy)
        laws |= dict.fromkeys(places, (float(law.mean), float(law.sd)))
    return laws


def _prior_in_words(model: Any, prior: object) -> str:
    """The prior as the summary shows it."""
    laws = _laws(model, prior)
    names, outcome = model.all_names, model.data.outcome
    p = len(model.exog_names) * len(model.equations)
    of = " sd(scores)" if _is_decoded(model) else " sd(response)"
    unit = of if isinstance(outcome, Numeric) else ""
    words = [f"{names[j]} {Normal(*law)!r}" for j, law in laws.items()]
    if isinstance(prior, Normal):
        words = [f"coefficients {prior!r}"]
    if len([j for j in laws if j < p]) < p or (p == 0 and not model.threshold_names):
        rest = "other slopes" if laws else "slopes"
        words.append(f"{rest} Normal(0, {SLOPE:g}{unit} / sd(covariate))")
    free = model.constant is not None and model.constant not in laws
    if isinstance(outcome, Categorical) and (model.threshold_names or free):
        words.append("probabilities at the means of the covariates uniform")
    elif free:
        words.append(f"level at the means of the covariates of sd {LEVEL:g}{unit}")
    if isinstance(outcome, Numeric) and p not in laws and not _is_decoded(model):
        words.append(f"log(sigma) of sd {SPREAD:g} about log sd(response)")
    if model.data.marginal is not None:
        words.append(
            "private predictors: probabilities uniform, slopes on public ones "
            f"Normal(0, {SLOPE:g} / sd)"
        )
    return "; ".join(words)


# -- checks of the draws -----------------------------------------------------------------------


def _regression_check(
    model: Any,
    thetas: Array,
    rng: np.random.Generator,
) -> TestResult | None:
    """Whether the reports look like those that the posterior, draws (s, size), predicts.

    Pearson's chi-square of the reports in groups of about equal probability of the outcome, against
    what a draw expects, is compared with that of reports simulated from the same draw (Gelman, Meng
    and Stern 1996). None where the outcome is a number, or reports have too many values to be
    counted.
    """
    if not isinstance(model.data.outcome, Categorical):
        return None
    likelihood = model.likelihood
    matrices = getattr(likelihood, "matrices", ())
    size, weights = likelihood.size - likelihood.m, likelihood.weights
    used = thetas[np.linspace(0, len(thetas) - 1, min(_CHECKED, len(thetas))).astype(np.int64)]
    parameters = used.mean(axis=0)[size:]
    devices = [Q.at(parameters) for Q in matrices], [Q.derivatives(parameters) for Q in matrices]
    try:
        table = ReportTable(model, devices if matrices else None)
    except NotAvailable:  # too many reports of devices with unknown parameters
        return None
    if not table.is_counted:
        return None

    def means(theta: Array) -> Array:
        """The law of each row's answer, given what she reported on private predictors."""
        points = likelihood.known(theta[size:]) if matrices else likelihood
        return row_means(replace(points, seen=None), theta[:size])[0]

    mean = means(used.mean(axis=0))
    rarest = min(float((weights @ mean @ Q).min()) for Q in table.channels)
    room = rarest / (_PER_CELL * len(table.channels))  # enough reports in each cell
    code = score_groups(mean @ np.arange(mean.shape[1]), weights, int(np.clip(room, 1, _GROUPS)))
    groups = int(code.max()) + 1

    def summed(rows: Codes, each: Array) -> Array:
        sums = np.zeros((groups, each.shape[1]))
        np.add.at(sums, code[rows], each)
        return sums

    at = [np.flatnonzero(table.at == h) for h in range(len(table.channels))]
    counts = [summed(rows, table.seen(rows, h) * weights[rows, None]) for h, rows in enumerate(at)]
    seen, simulated = np.zeros((2, len(used)))
    for s, theta in enumerate(used):
        channels = [Q.at(theta[size:]) for Q in matrices] or table.channels
        mean = means(theta)
        for rows, Q, reported in zip(at, channels, counts, strict=True):
            law = mean[rows] @ Q
            law /= law.sum(axis=1, keepdims=True)
            times = np.rint(weights[rows]).astype(np.int64)
            expected = summed(rows, law * times[:, None])
            drawn = summed(rows, rng.multinomial(times, law).astype(np.float64))
            there = expected > 0.0
            seen[s] += pearson(reported[there], expected[there])
            simulated[s] += pearson(drawn[there], expected[there])
    return TestResult(
        f"the reports on {model.endog_names} are such as the model predicts",
        float(seen.mean()),
        None,
        float(np.mean(simulated >= seen)),
        f"posterior predictive check, chi-square of the reports in {groups} groups of "
        "predicted probability",
    )


def _share_beyond(density: RegressionDensity, z: Array, prior_draws: Array) -> float:
    """About the share of a posterior that lies where no draw of the chains, (c, n, d), is.

    Every report has a positive probability whatever the answer, so that the likelihood of
    privatised answers does not vanish far out: a prior that is wide enough has most of its
    posterior there. The mean likelihood of draws from the prior that are twice as far out as
    all draws of the chains, over its sum with Laplace's approximation of the evidence at the mode.
    """
    from scipy.special import expit, logsumexp

    mode = density.mode()
    sizes, axes = np.linalg.eigh(density.curvature(mode))
    sizes = np.maximum(sizes, _LEAST)
    root = axes * np.sqrt(sizes)
    top = float(density.evaluate(mode[None])[0][0]) + density.prior.log_scale
    d = density.size
    near = top + 0.5 * d * np.log(2.0 * np.pi) - 0.5 * float(np.log(sizes).sum())
    near += float(np.linalg.slogdet(density.units)[1])
    some = np.linalg.solve(density.units, prior_draws[:_PRIOR_DRAWS].T).T
    reach = (((z.reshape(-1, d) - mode) @ root) ** 2).sum(axis=1).max()
    far = some[(((some - mode) @ root) ** 2).sum(axis=1) > _FAR**2 * reach]
    if not len(far):
        return 0.0
    with np.errstate(all="ignore"):
        blocks = [far[i : i + _BLOCK] for i in range(0, len(far), _BLOCK)]
        prior = [density.prior.evaluate(density.parameters(block))[0] for block in blocks]
        logs = np.concatenate([density.evaluate(block)[0] for block in blocks])
    beyond = logsumexp(np.nan_to_num(logs - np.concatenate(prior), nan=-np.inf)) - np.log(len(some))
    return float(expit(beyond - near))
