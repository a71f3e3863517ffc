"""A finite population of persons in clusters and strata, and designs that draw samples of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.inference.designs.linearisation import Sample, Stage

__all__ = ["DESIGNS", "REGIONS", "Design", "Drawn", "Population", "WithReplacement", "population"]

Array = npt.NDArray[Any]

SHARES = np.array([0.4, 0.27, 0.17, 0.1, 0.06])  # of the answers, before all effects
REGIONS = np.array([0.5, 0.3, 0.2])
GROUPS = np.array([0.5, 0.3, 0.2])
AGES = np.array([0.2, 0.3, 0.3, 0.2])
LEVELS = np.array([1.0, 2.0, 4.0])  # sizes of persons
RARE = 3  # answers from here on are rarer, and more often drawn


@dataclass(frozen=True, eq=False)
class Population:
    """Persons in the order of their clusters, clusters in that of their strata.

    `group` has the shares `GROUPS` among the persons of every answer exactly, and varies between
    clusters: the two are independent in this population. `level` is a public size that is larger
    where answers are rarer.
    """

    stratum: Array  # of each cluster, (C,)
    cluster: Array  # of each person, (N,), as all that follow
    answer: Array
    region: Array
    group: Array
    sex: Array
    age: Array
    level: Array

    @cached_property
    def sizes(self) -> Array:
        """Persons of each cluster, (C,)."""
        return np.bincount(self.cluster)

    @cached_property
    def clusters(self) -> Array:
        """Clusters of each stratum, (H,)."""
        return np.bincount(self.stratum)

    def shares(self, inside: Any = slice(None)) -> Array:
        """Shares of the answers among some persons, (5,)."""
        found = np.bincount(self.answer[inside], minlength=SHARES.size)
        return np.asarray(found / found.sum())


def population(persons: int, strata: int, clusters: int, seed: int = 1) -> Population:
    """The population of a seed: uneven strata and clusters, whose answers differ."""
    rng = np.random.default_rng(seed)
    stratum = np.sort(np.append(np.arange(strata).repeat(9), _some(strata, clusters, rng)))
    size = rng.lognormal(0.0, 0.45, clusters)
    cluster = np.sort(np.append(np.arange(clusters).repeat(20), _of(size, persons, rng)))
    region, age = (rng.choice(p.size, persons, p=p) for p in (REGIONS, AGES))
    sex = rng.integers(0, 2, persons)
    between = rng.normal(0.0, 0.5, strata)[stratum] + rng.normal(0.0, 0.4, clusters)
    tilt = between[cluster] + 0.35 * (region - 0.7) + 0.3 * sex + 0.3 * (age - 1.5)
    logits = np.log(SHARES) + np.linspace(-0.5, 0.6, SHARES.size) * tilt[:, None]
    logits += rng.normal(0.0, 0.25, (clusters, SHARES.size))[cluster]
    answer = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    law = np.linspace([0.6, 0.3, 0.1], [0.2, 0.3, 0.5], SHARES.size)
    level = LEVELS[(rng.random(persons)[:, None] > np.cumsum(law, axis=1)[answer]).sum(axis=1)]
    group = _dealt(answer, 0.5 * rng.normal(size=clusters)[cluster] + rng.normal(size=persons))
    return Population(stratum, cluster, answer, region, group, sex, age, level)


def _some(strata: int, clusters: int, rng: np.random.Generator) -> Array:
    """Strata of the clusters beyond the first nine of each."""
    return _of(rng.uniform(0.3, 1.7, strata), clusters + 11 * strata, rng)


def _of(size: Array, total: int, rng: np.random.Generator) -> Array:
    """Places of the members beyond the first 20 of each of so many sizes."""
    return rng.choice(size.size, total - 20 * size.size, p=size / size.sum())


def _dealt(answer: Array, rank: Array) -> Array:
    """Groups with the same shares in every answer: of those who gave it, the lowest ranks first."""
    group = np.empty(answer.size, dtype=np.int64)
    for x in np.unique(answer):
        own = np.flatnonzero(answer == x)
        ends = np.rint(np.cumsum(GROUPS) * own.size)
        order = own[np.argsort(rank[own])]
        group[order] = np.searchsorted(ends, np.arange(own.size), side="right")
    return group


@dataclass(frozen=True, eq=False)
class Drawn:
    """A sample: n persons of U units.

    `inside` are the persons sampled and existing in each unit, (2, U), where they were sampled.
    """

    person: Array
    unit: Array
    weight: Array
    strata: Array  # of the units, (U,)
    cluster: Array  # of the units, (U,)
    sampled: Array  # units, and those of the population, in each stratum, (H,)
    existing: Array
    inside: Array | None = None

    def cells(self, code: Array, n_codes: int) -> tuple[Sample, Array]:
        """Respondents of a unit with equal codes as cells: the sample, and the code of each."""
        key = self.unit * n_codes + code
        length = self.strata.size * n_codes
        n = np.bincount(key, minlength=length)
        there = np.flatnonzero(n)
        w, w2 = (np.bincount(key, self.weight**power, length)[there] for power in (1, 2))
        unit, codes = np.divmod(there, n_codes)
        return Sample(self.stages(unit), n[there].astype(float), w, w2), codes

    def stages(self, unit: Array) -> tuple[Stage, ...]:
        """The stages that drew cells of these units."""
        H = self.sampled.size
        none = np.zeros(H, dtype=np.int64)
        first = Stage(unit, self.strata, self.sampled, self.existing, none, range(H))
        if self.inside is None:
            return (first,)
        units = np.arange(self.strata.size)
        return first, Stage(None, unit, self.inside[0], self.inside[1], units, units)


@dataclass(frozen=True, eq=False)
class Design(ABC):
    """A way to draw samples of a population, in which rarer answers are drawn more often."""

    people: Population
    name: ClassVar[str]

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Drawn:
        """One sample."""

    @cached_property
    def rare(self) -> Array:
        """Share of the rarer answers in each cluster, (C,)."""
        return np.bincount(self.people.cluster, self.people.answer >= RARE) / self.people.sizes

    @cached_property
    def rank(self) -> Array:
        """Place of each stratum in the order of its share of rarer answers, from 0 to 1, (H,)."""
        return _places(np.bincount(self.people.stratum, self.rare) / self.people.clusters)

    def _clusters(self, more: float, rng: np.random.Generator) -> tuple[Array, Array]:
        """Simple random samples of .2 to .2 + `more` of the clusters: how many, (H,), and which."""
        people = self.people
        n = np.maximum(2, np.rint(people.clusters * (0.2 + more * self.rank))).astype(np.int64)
        order = np.argsort(people.stratum + rng.random(people.stratum.size))
        return n, order[_runs(_starts(people.clusters), n)]


@dataclass(frozen=True, eq=False)
class WholeClusters(Design):
    """One stage: from .2 to .7 of the clusters of a stratum, with all of their persons."""

    name = "one stage"

    def draw(self, rng: np.random.Generator) -> Drawn:
        people = self.people
        n, chosen = self._clusters(0.5, rng)
        sizes, strata = people.sizes[chosen], people.stratum[chosen]
        unit = np.repeat(np.arange(chosen.size), sizes)
        person = _runs(_starts(people.sizes)[chosen], sizes)
        weight = (people.clusters / n)[strata][unit]
        existing = people.clusters.astype(float)
        return Drawn(person, unit, weight, strata, chosen, n.astype(float), existing)


@dataclass(frozen=True, eq=False)
class TwoStages(Design):
    """From .2 to .6 of the clusters of a stratum, and from .3 to .6 of the persons of these."""

    name = "two stages"

    def draw(self, rng: np.random.Generator) -> Drawn:
        people = self.people
        n, chosen = self._clusters(0.4, rng)
        sizes, strata = people.sizes[chosen], people.stratum[chosen]
        m = np.rint(sizes * (0.3 + 0.3 * self._share[chosen])).astype(np.int64)
        of = np.repeat(np.arange(chosen.size), sizes)
        order = np.argsort(of + rng.random(of.size))
        taken = order[_runs(_starts(sizes), m)]
        person = _runs(_starts(people.sizes)[chosen], sizes)[taken]
        unit = of[taken]
        weight = ((people.clusters / n)[strata] * (sizes / m))[unit]
        inside = np.array([m, sizes], dtype=float)
        existing = people.clusters.astype(float)
        return Drawn(person, unit, weight, strata, chosen, n.astype(float), existing, inside)

    @cached_property
    def _share(self) -> Array:
        return _places(self.rare)


@dataclass(frozen=True, eq=False)
class WithReplacement(Design):
    """Clusters with replacement in proportion to the sizes of their persons, and so these."""

    draws: int = 12  # of clusters, in each stratum
    persons: int = 30  # in each draw
    name = "with replacement"

    def draw(self, rng: np.random.Generator) -> Drawn:
        people, H = self.people, self.people.clusters.size
        strata = np.arange(H).repeat(self.draws)
        first = np.append(0, np.cumsum(people.clusters))
        cluster = self._proportional(first[strata], first[strata + 1], self._ends, rng)
        unit = np.arange(strata.size).repeat(self.persons)
        start = np.append(0, np.cumsum(people.sizes))
        at = cluster[unit]
        person = self._proportional(start[at], start[at + 1], self._levels, rng)
        size = np.bincount(people.stratum, np.diff(self._ends))
        weight = size[strata][unit] / (self.draws * self.persons * people.level[person])
        n = np.full(H, float(self.draws))
        return Drawn(person, unit, weight, strata, cluster, n, np.full(H, np.inf))

    @cached_property
    def _levels(self) -> Array:
        """Running sum of the sizes of persons, from zero."""
        return np.append(0.0, np.cumsum(self.people.level))

    @cached_property
    def _ends(self) -> Array:
        """The same at the end of each cluster."""
        return self._levels[np.append(0, np.cumsum(self.people.sizes))]

    @staticmethod
    def _proportional(low: Array, high: Array, sums: Array, rng: np.random.Generator) -> Array:
        """One of low .. high - 1 for each pair, in proportion to the steps of running sums."""
        at = sums[low] + rng.random(low.size) * (sums[high] - sums[low])
        return np.clip(np.searchsorted(sums, at, side="right") - 1, low, high - 1)


DESIGNS: dict[str, type[Design]] = {
    kind.name: kind for kind in (WholeClusters, TwoStages, WithReplacement)
}


def _starts(sizes: Array) -> Array:
    """Where each of consecutive runs starts."""
    return np.cumsum(sizes) - sizes


def _runs(starts: Array, lengths: Array) -> Array:
    """The numbers from each start, so many, in a row."""
    return np.arange(lengths.sum()) + np.repeat(starts - _starts(lengths), lengths)


def _places(values: Array) -> Array:
    """Ranks from 0 to 1."""
    return np.argsort(np.argsort(values)) / (values.size - 1.0)
