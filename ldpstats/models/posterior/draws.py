"""Posteriors drawn: of one variable, of devices with unknown parameters, of pooled groups.

The engines are this package's Hamiltonian Monte Carlo and PyMC's sampler, by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, did_you_mean, numbers, one_of, record, replicates
from ldpstats.cells import CellReports, Plain
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.parametric import maximum
from ldpstats.inference.chains import Chains, LogDensity, sample
from ldpstats.labels import Labels, align
from ldpstats.likelihood.rows import Likelihood
from ldpstats.models.posterior.densities import (
    FrequencyDensity,
    GroupReports,
    ParametersDensity,
    PooledDensity,
    with_answers,
)
from ldpstats.models.posterior.evidence import predictive_check
from ldpstats.models.posterior.results import (
    BELOW_ONE,
    POSITIVE,
    PROBABILITY,
    Origin,
    PosteriorResults,
    frequency_mode,
)
from ldpstats.models.results import Label, group_place, stacked_index
from ldpstats.priors import (
    Beta,
    Dirichlet,
    DirichletLaw,
    LogitLaw,
    Pooling,
    SimplexPrior,
    checked_generator,
)

ENGINES = ("hmc", "pymc")


def chains_by(engine: str, density: LogDensity, rng: np.random.Generator, draws: int) -> Chains:
    """Draw from a posterior by our own Hamiltonian Monte Carlo, or by PyMC (extra `bayes`)."""
    if one_of("engine", engine, ENGINES) == "hmc":
        return sample(density, rng, draws)
    from ldpstats.models.posterior.pymc import pymc_chains

    return pymc_chains(density, rng, draws)


# -- frequencies of one variable ------------------------------------------------------------------

Results = TypeVar("Results", bound=PosteriorResults)

_FEWEST = 160


def checked_draws(draws: object) -> int:
    """The number of draws over all chains."""
    return replicates("draws", draws, _FEWEST)


def checked_prior(prior: object) -> SimplexPrior:
    """The prior of frequencies that a caller passes; None is the flat one."""
    if prior is None:
        return Dirichlet()
    if not isinstance(prior, SimplexPrior):
        remedy = "must be a prior of frequencies, such as ldpstats.priors.Dirichlet(1.0), or None"
        raise InvalidArgument("prior", prior, remedy)
    return prior


def frequency_posterior(
    likelihood: Likelihood,
    labels: Labels,
    origin: Origin,
    rng: np.random.Generator,
    prior: Any,
    law: LogitLaw,
    draws: int,
    engine: str,
    groups: Sequence[tuple[Array, Array]],
    kind: type[Results],
) -> Results:
    """Draw from the posterior of frequencies; `groups` are channels and counts to check, if any."""
    rng, draws = checked_generator(rng), checked_draws(draws)
    peak = frequency_mode(likelihood, law)
    density = FrequencyDensity.of(likelihood, law)
    chains = chains_by(engine, density, rng, draws)
    before = law.draw(rng, draws)
    check = None
    if groups:
        frequencies = density.constrained(chains.z).reshape(-1, law.k)
        counts = [n for _, n in groups]
        check = predictive_check(frequencies, lambda p: [p @ Q for Q, _ in groups], counts, rng)
    words = repr(Dirichlet() if prior is None else prior)
    return kind.of(
        chains,
        density,
        labels,
        replace(origin, prior=words, without_mode=BELOW_ONE if peak is None else ""),
        peak=peak,
        prior_draws=before,
        check=check,
        concentration=law.alpha if isinstance(law, DirichletLaw) else None,
        engine=engine,
    )


# -- frequencies and unknown parameters of devices ------------------------------------------------


_FREQUENCIES = "frequencies"
_HOW = (
    "must be None, a prior of the frequencies such as Dirichlet(1.0), or a dict such as "
    "{'cheating': Beta(2, 18), 'frequencies': Dirichlet(1.0)}"
)


@record
class ParametersPrior:
    """Priors of the frequencies and of each parameter, which are independent."""

    frequencies: SimplexPrior
    parameters: tuple[Beta, ...]
    given: tuple[str, ...]  # parameters whose prior was chosen; those of the others are flat
    words: str


def parameters_prior(prior: Any, names: Sequence[str]) -> ParametersPrior:
    """Read the priors that a caller passes by name; refuse unknown names, and what is no Beta."""
    if not isinstance(prior, Mapping):
        if prior is not None and not isinstance(prior, SimplexPrior):
            raise InvalidArgument("prior", prior, _HOW)
        prior = {} if prior is None else {_FREQUENCIES: prior}
    for name, law in prior.items():
        if name in names:
            if not isinstance(law, Beta):
                remedy = "must be a prior of a probability, such as ldpstats.priors.Beta(2, 18)"
                raise InvalidArgument(f"prior[{name!r}]", law, remedy)
        elif name != _FREQUENCIES:
            hint = did_you_mean(name, names)
            remedy = f"is no unknown parameter of {', '.join(names)}{hint}; prior= {_HOW}"
            raise InvalidArgument("prior", name, remedy)
    shares = checked_prior(None if _FREQUENCIES in names else prior.get(_FREQUENCIES))
    laws = tuple(prior.get(name, Beta()) for name in names)
    pairs = zip(names, laws, strict=True)
    words = ", ".join([repr(shares), *(f"{name}: {law!r}" for name, law in pairs)])
    return ParametersPrior(shares, laws, tuple(n for n in names if n in prior), words)


def parameters_posterior(
    law: Plain,
    reports: CellReports,
    group: Array,
    labels: Labels,
    origin: Origin,
    rng: np.random.Generator,
    prior: ParametersPrior,
    draws: int = 4000,
    engine: str = "hmc",
) -> PosteriorResults:
    """Draw from the posterior of frequencies and parameters with these labels, k + m of them.

    `group`, (u,), is that of each report.
    """
    engine = one_of("engine", engine, ENGINES)
    rng, draws = checked_generator(rng), checked_draws(draws)
    k, of_p = law.k, prior.frequencies.law(labels[: law.k])
    a, b = (np.array([getattr(one, side) for one in prior.parameters]) for side in "ab")
    density = ParametersDensity(law, reports, of_p, a, b)
    chains = chains_by(engine, density, rng, draws)
    points = density.constrained(chains.z).reshape(-1, law.size)
    peak = None
    if isinstance(of_p, DirichletLaw) and min(of_p.alpha.min(), a.min(), b.min()) >= 1.0:
        # exponents of at least one add answers that were asked directly
        peak = maximum(law, with_answers(reports, of_p.alpha - 1.0, a - 1.0, b - 1.0))[0]
    before = np.column_stack([of_p.draw(rng, draws), rng.beta(a, b, size=(draws, a.size))])

    ends = np.flatnonzero(np.diff(group)) + 1

    def laws(x: Array) -> list[Array]:
        return np.split(law.mix(reports, x), ends, axis=-1)

    return PosteriorResults.of(
        chains,
        density,
        labels,
        replace(origin, prior=prior.words, without_mode=BELOW_ONE if peak is None else ""),
        simplex=np.r_[np.zeros(k, dtype=np.int64), np.full(law.m, PROBABILITY)],
        peak=peak,
        prior_draws=before,
        check=predictive_check(points, laws, np.split(reports.n, ends), rng),
        engine=engine,
    )


# -- frequencies in several groups, with partial pooling ------------------------------------------


_WITHOUT_MODE = (
    "the density of pooled groups is largest where all groups are equal, whatever the reports say: "
    "use params, the posterior means"
)
MOST_COORDINATES = 2000  # whose Hessian is formed and factored
_MOST_ENTRIES = 1 << 26  # of likelihoods of distinct reports, half a gigabyte


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupedPosterior(PosteriorResults):
    """Draws from the posterior of the frequencies in several groups: see `PosteriorResults`.

    Parameters are labelled by group, one level a column that makes the groups, and category.

    Parameters
    ----------
    common : PosteriorResults
        The distribution of a group without an effect of its own, by category: what is expected of
        a typical group, not the mean over respondents.
    between : PosteriorResults
        "sd": the standard deviation between groups of the logarithm of a ratio of two frequencies.
    by : tuple of str
        Names of the columns that make the groups.
    sizes : tuple of int
        Reports in each group; 0 for a group that is predicted from the others.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
    >>> counts = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
    >>> counts |= {"east": krr.counts([30, 20]), "west": krr.no_counts()}
    >>> model = ldp.GroupedModel(counts, by="region")
    >>> results = model.fit_posterior(np.random.default_rng(1))
    >>> results["east"].params.round(1).to_dict()
    {'no': 0.7, 'yes': 0.3}
    >>> results.between.params.round(1).to_dict()
    {'sd': 1.0}
    """

    common: PosteriorResults
    between: PosteriorResults
    by: tuple[str, ...]
    sizes: tuple[int, ...]

    _format = "ldpstats grouped posterior"

    @property
    def groups(self) -> tuple[Label, ...]:
        """Labels of the groups, as tuples with a value for each column."""
        k = len(self.categories)
        labels = [self.index.get_level_values(level)[::k] for level in range(len(self.by))]
        return tuple(zip(*(values.tolist() for values in labels), strict=True))

    @property
    def categories(self) -> Labels:
        """Labels of the categories."""
        return self.common.index

    def __getitem__(self, label: Any) -> PosteriorResults:
        """The posterior of one group's frequencies."""
        g, k = group_place("label", label, self.groups, self.by), len(self.categories)
        at = slice(g * k, (g + 1) * k)
        size = {"nobs": self.sizes[g], "n_missing": 0}
        return self._of_draws(lambda draws: draws[:, at], self.categories, 0, **size)

    @property
    def table(self) -> pd.DataFrame:
        """Posterior means, groups in rows and categories in columns."""
        values = self.params.to_numpy().reshape(-1, len(self.categories))
        rows: Labels = pd.MultiIndex.from_tuples(self.groups, names=self.by)
        rows = rows.get_level_values(0) if len(self.by) == 1 else rows
        return pd.DataFrame(values, index=rows, columns=self.categories)

    def overall(self, weights: Any = None) -> PosteriorResults:
        """Posterior of the mean of the groups' distributions, with weights.

        Parameters
        ----------
        weights : Series by group, or array, shape (g,), optional
            Persons of each group in the population; the numbers of reports by default.

        Raises
        ------
        InvalidArgument
            For weights that are not numbers from 0 on, one a group.
        """
        remedy = f"must be a number from 0 on for each of {len(self.sizes)} groups, not all zero"
        given = self.sizes if weights is None else align("weights", weights, self.table.index)
        persons = numbers("weights", given, remedy, (len(self.sizes),))
        if not (np.all(persons >= 0.0) and 0.0 < persons.sum() < np.inf):
            raise InvalidArgument("weights", weights, remedy)
        share, k = persons / persons.sum(), len(self.categories)

        def mean(draws: Array) -> Array:
            return np.asarray(np.einsum("g,sgk->sk", share, draws.reshape(len(draws), -1, k)))

        return self._of_draws(mean, self.categories, 0)


def pooled_posterior(
    likelihoods: Mapping[Label, Likelihood | None],
    tables: Mapping[Label, Sequence[tuple[Array, Array]]],
    categories: Labels,
    by: tuple[str, ...],
    origin: Origin,
    rng: np.random.Generator,
    prior: Pooling,
    draws: int,
    engine: str = "hmc",
) -> GroupedPosterior:
    """Draw from the posterior of groups, None for one without reports; in the order given.

    `tables` are channels and counts of each group with reports, for the posterior predictive check.
    """
    k, g = len(categories), len(likelihoods)
    coordinates = (k - 1) * (g + 1) + 1
    if coordinates > MOST_COORDINATES:
        raise NotAvailable(
            f"partial pooling of {g} groups with {k} categories has {coordinates} parameters, "
            f"{MOST_COORDINATES} at most: pool fewer groups, or merge categories"
        )
    by_group = list(likelihoods.values())
    entries = sum(one.n.size for one in by_group if one is not None) * k
    if entries > _MOST_ENTRIES:
        raise NotAvailable(f"partial pooling of reports with {entries:,} likelihoods: too many")
    density = PooledDensity(GroupReports.of(by_group, k), prior.law(categories), prior)
    chains = chains_by(engine, density, rng, draws)
    before_sd, before_typical, before = prior.draw(g, categories, rng, draws)
    check = None
    if all(tables.values()):  # else some reports are no tables
        places = {label: place for place, label in enumerate(likelihoods)}
        pairs = [(places[label], Q, n) for label, table in tables.items() for Q, n in table]
        counts = [n for _, _, n in pairs]
        frequencies = density.constrained(chains.z)[..., : g * k].reshape(-1, g, k)
        check = predictive_check(
            frequencies, lambda p: [p[:, place] @ Q for place, Q, _ in pairs], counts, rng
        )
    whole = PosteriorResults.of(  # of groups, of a typical one, and between them
        chains,
        density,
        pd.RangeIndex(g * k + k + 1),
        origin,
        prior_draws=np.column_stack([before.reshape(draws, -1), before_typical, before_sd]),
        check=check,
        engine=engine,
    )

    def part(places: slice, index: Labels, simplex: Any, **more: str) -> PosteriorResults:
        return whole._of_draws(lambda draws: draws[:, places], index, simplex, **more)

    index = stacked_index(tuple(likelihoods), categories, by, origin.name)
    of_groups = part(slice(g * k), index, np.repeat(np.arange(g), k), without_mode=_WITHOUT_MODE)
    deviation = "Standard deviation between groups"
    own = {
        "replicated": check,
        "common": part(slice(g * k, -1), categories, 0, subject="Typical frequencies"),
        "between": part(slice(-1, None), pd.Index(["sd"]), POSITIVE, subject=deviation),
        "by": by,
        "sizes": tuple(0 if one is None else one.nobs for one in by_group),
    }
    return GroupedPosterior(**vars(of_groups) | own)
