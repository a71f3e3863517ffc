"""The posterior of the frequencies in several groups, with partial pooling."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument, NotAvailable, PosteriorWarning
from ldpstats.inference.outcome import TestResult
from ldpstats.models.posterior.densities.pooling import GroupReports, PooledDensity
from ldpstats.models.posterior.engines import chains_by
from ldpstats.models.posterior.predictive import REPLICATES, predictive_check
from ldpstats.models.posterior.record import Origin, Run
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.posterior.summary import chain_doubts
from ldpstats.models.shared.groups import Label, group_place, stacked_index
from ldpstats.priors.pooling import Pooling
from ldpstats.problems.problem import Likelihood

__all__ = ["GroupedPosterior", "pooled_posterior"]

Array = npt.NDArray[Any]

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
    _required = PosteriorResults._required | {"common", "between", "by", "sizes"}

    @property
    def groups(self) -> tuple[Label, ...]:
        """Labels of the groups, as tuples with a value for each column."""
        labels = [self.index.get_level_values(level)[:: self._k] for level in range(len(self.by))]
        return tuple(zip(*(values.tolist() for values in labels), strict=True))

    @property
    def categories(self) -> pd.Index[Any]:
        """Labels of the categories."""
        return self.common.index

    @property
    def _k(self) -> int:
        return len(self.common.index)

    def __getitem__(self, label: Any) -> PosteriorResults:
        """The posterior of one group's frequencies."""
        g = group_place("label", label, self.groups, self.by)
        at = slice(g * self._k, (g + 1) * self._k)
        prior = None if self.prior_draws is None else self.prior_draws[:, at]
        origin = replace(self.origin, nobs=self.sizes[g], n_missing=0)
        samples, zeros = self.samples[:, :, at], np.zeros(self._k, dtype=np.int64)
        return PosteriorResults(samples, self.categories, origin, self.run, zeros, None, prior)

    @property
    def table(self) -> pd.DataFrame:
        """Posterior means, groups in rows and categories in columns."""
        values = self.params.to_numpy().reshape(-1, self._k)
        rows: pd.Index[Any] = pd.MultiIndex.from_tuples(self.groups, names=self.by)
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
        found = numbers("weights", given, remedy, (len(self.sizes),))
        if not (np.all(found >= 0.0) and 0.0 < found.sum() < np.inf):
            raise InvalidArgument("weights", weights, remedy)
        c, n, _ = self.samples.shape
        share = found / found.sum()
        samples = np.einsum("g,cngk->cnk", share, self.samples.reshape(c, n, -1, self._k))
        prior = self.prior_draws
        if prior is not None:
            prior = np.einsum("g,sgk->sk", share, prior.reshape(len(prior), -1, self._k))
        zeros = np.zeros(self._k, dtype=np.int64)
        return PosteriorResults(samples, self.categories, self.origin, self.run, zeros, None, prior)

    def _stored(self) -> dict[str, Any]:
        return super()._stored() | {
            "common": self.common.to_dict(),
            "between": self.between.to_dict(),
            "by": list(self.by),
            "sizes": list(self.sizes),
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> Self:
        plain = PosteriorResults._restored.__func__(PosteriorResults, document)  # type: ignore[attr-defined]
        given = {field.name: getattr(plain, field.name) for field in fields(plain)}
        return cls(
            **given,
            common=PosteriorResults.from_dict(document["common"]),
            between=PosteriorResults.from_dict(document["between"]),
            by=tuple(document["by"]),
            sizes=tuple(document["sizes"]),
        )


def pooled_posterior(
    likelihoods: Mapping[Label, Likelihood | None],
    tables: Mapping[Label, Sequence[tuple[Array, Array]]],
    categories: pd.Index[Any],
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
    parts = list(likelihoods.values())
    entries = sum(one.n.size for one in parts if one is not None) * k
    if entries > _MOST_ENTRIES:
        raise NotAvailable(f"partial pooling of reports with {entries:,} likelihoods: too many")
    density = PooledDensity(GroupReports.of(parts, k), prior.law(categories), prior)
    chains = chains_by(engine, density, rng, draws)
    found = density.constrained(chains.z)
    peaks = replace(origin, without_mode=_WITHOUT_MODE)
    sd, common, groups = prior.draw(g, categories, rng, draws)
    how = chains.accepted, chains.divergent, chains.step_size, chains.warmup, chains.thin
    run = Run(engine, *how)
    shared, zeros = replace(origin, subject="Typical frequencies"), np.zeros(k, dtype=np.int64)
    deviation = replace(origin, subject="Standard deviation between groups")
    single = np.array([-3])
    made = GroupedPosterior(
        samples=found[:, :, : g * k],
        index=stacked_index(tuple(likelihoods), categories, by, origin.name),
        origin=peaks,
        run=run,
        simplex=np.repeat(np.arange(g), k),
        prior_draws=groups.reshape(draws, -1),
        replicated=_check(found[:, :, : g * k].reshape(-1, g, k), list(likelihoods), tables, rng),
        common=PosteriorResults(
            found[:, :, g * k : -1], categories, shared, run, zeros, None, common
        ),
        between=PosteriorResults(
            found[:, :, -1:], pd.Index(["sd"]), deviation, run, single, None, sd[:, None]
        ),
        by=by,
        sizes=tuple(0 if one is None else one.nobs for one in parts),
    )
    _warn(made)
    return made


def _check(
    found: Array,
    labels: list[Label],
    tables: Mapping[Label, Sequence[tuple[Array, Array]]],
    rng: np.random.Generator,
) -> TestResult | None:
    """The posterior predictive check, of draws (s, g, k); None where reports are no tables."""
    if not all(tables.values()):
        return None
    kept = found[:: -(-len(found) // REPLICATES)]
    pairs = [(labels.index(label), *table) for label, held in tables.items() for table in held]
    counts = [n for _, _, n in pairs]
    return predictive_check(kept, lambda p: [p[:, g] @ Q for g, Q, _ in pairs], counts, rng)


def _warn(made: GroupedPosterior) -> None:
    """Warn of chains that are not to be relied on."""
    parts = made, made.common, made.between
    agreement = pd.concat([part.rhat for part in parts], ignore_index=True)
    sizes = pd.concat([part.ess for part in parts], ignore_index=True)
    for doubt in chain_doubts(agreement, sizes, made.divergences, made.samples.shape[:2]):
        warnings.warn(doubt, PosteriorWarning, stacklevel=4)
