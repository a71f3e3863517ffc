"""Reports of the same persons in several waves, by devices that keep what they once drew.

A device that memoises draws one permanent response b to each answer that its owner gives, and noise
anew for every report. With answers x_1, ..., x_T the reports have the law

    P(r_1, ..., r_T | x) = prod over distinct v in x of sum_b P(b | v) prod_{t: x_t = v} P(r_t | b)

so that waves with one answer share b, and waves with different answers are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as combinations
from typing import Any, NoReturn, Self

import numpy as np

from ldpstats.arguments import Array, listed, positive_integer
from ldpstats.channels.structured import Channel, Dense
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism, common_labels
from ldpstats.mechanisms.custom import Product
from ldpstats.reports.single import Reports
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import Words

_MOST_PATHS = 1 << 16
_MOST_ENTRIES = 1 << 26  # of likelihoods


def path_likelihoods(
    waves: Sequence[Reports | None], candidates: Any = None
) -> tuple[Array, Array]:
    """Likelihoods of the reports of u respondents under each path of their answers.

    Parameters
    ----------
    waves : sequence of Reports or None
        Of T waves, with u reports each; None for a wave in which nobody of them reported. Those
        whose mechanisms have the same `permanent` come from one device.
    candidates : optional

    Returns
    -------
    W : array, shape (u, k^T)
        Up to a factor for each respondent; paths in row-major order, the last wave fastest.
    log_scale : array, shape (u,)
        Logarithms of what likelihoods were divided by.

    Raises
    ------
    InvalidArgument
        Where the cohort of a person differs between waves of one device.
    NotAvailable
        For too many paths.
    """
    there = [(t, wave) for t, wave in enumerate(waves) if wave is not None]
    labels = common_labels([wave.mechanism for _, wave in there], candidates, "waves")
    k, u = len(labels), len(there[0][1])
    if k ** len(waves) > _MOST_PATHS or u * k ** len(waves) > _MOST_ENTRIES:
        raise NotAvailable(
            f"{k} answers in {len(waves)} waves have {k ** len(waves)} paths, too many for {u} "
            "different reports: take fewer waves, or lump categories"
        )
    by_device: dict[Any, dict[int, Reports]] = {}
    for t, wave in there:
        kept = wave.mechanism.permanent
        by_device.setdefault(t if kept is None else kept, {})[t] = wave
    found = np.zeros((u, k ** len(waves)))
    for own in by_device.values():
        cohorts = [wave.cohort for wave in own.values() if wave.cohort is not None]
        if any(np.any(cohort != cohorts[0]) for cohort in cohorts):
            remedy = "differs between waves of some, whose devices kept nothing: leave them out, "
            remedy += "or pass memoised=False"
            raise InvalidArgument("cohort of a respondent", len(cohorts), remedy)

        def same(some: Sequence[int], own: dict[int, Reports] = own) -> Array:
            reports = [own[t] for t in some]
            return reports[0].mechanism.log_same(reports, candidates)

        found += of_paths(same, tuple(own), len(waves), k)
    scale = found.max(axis=1)
    scale = np.where(np.isfinite(scale), scale, 0.0)  # of reports that nobody can make
    return np.exp(found - scale[:, None]), scale


def of_paths(
    same: Callable[[tuple[int, ...]], Array], own: tuple[int, ...], n_waves: int, k: int
) -> Array:
    """Log-likelihoods under each path, (u, k^T), of the reports of one device in its `own` waves.

    `same` gives that of some waves if one answer was given in them, (u, k).
    """
    alike: dict[tuple[int, ...], Array] = {}
    columns = []
    for path in combinations(range(k), repeat=n_waves):
        total: Any = 0.0
        for v in {path[t] for t in own}:
            some = tuple([t for t in own if path[t] == v])
            if some not in alike:
                alike[some] = same(some)
            total = total + alike[some][:, v]
        columns.append(total)
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Panel(Product):
    """The reports of several waves as one, see `Mechanism.joint_law`.

    A category is a path of answers, a report one of reports, both joined by ", ": ``"no, yes"``.
    `split` has the reports of each wave. Clients are those of the waves.

    Parameters
    ----------
    questions : mapping from str to Mechanism
        The mechanism of each wave, by its name.

    Attributes
    ----------
    epsilon : float
        Of all reports together, of the worst pair of paths, in nats: computed from Q.

    Examples
    --------
    One in ten changes her answer:

    >>> import ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> kept = ldp.KRR(("no", "yes"), 2.0) >> ldp.KRR(("no", "yes"), 2.0)
    >>> panel = kept.joint_law(2)
    >>> paths = rng.choice(["no, no", "no, yes", "yes, yes"], 20_000, p=[0.6, 0.1, 0.3])
    >>> ldp.FrequencyModel(panel.privatize(paths, rng)).fit().params.round(1).to_dict()
    {'no, no': 0.6, 'no, yes': 0.1, 'yes, no': 0.0, 'yes, yes': 0.3}
    >>> round(panel.epsilon_of(1), 3), round(panel.epsilon, 3)
    (1.643, 2.655)
    """

    @classmethod
    def of(cls, mechanisms: Sequence[Mechanism]) -> Self:
        """The law of waves, called "wave 1", "wave 2", ..."""
        made = listed("waves", mechanisms, "must be a number of waves, or a list of mechanisms")
        if len(made) < 2:
            raise InvalidArgument("waves", len(made), "must be 2 or more")
        return cls({f"wave {t}": mechanism for t, mechanism in enumerate(made, start=1)})

    def __post_init__(self) -> None:
        super().__post_init__()
        common_labels(self._parts, None, "waves")
        self.channel()

    def join(self, waves: Sequence[Reports]) -> Reports:
        """The reports of respondents in all waves as one; those of `split` together again.

        Raises
        ------
        InvalidArgument
            For reports of other mechanisms, or of different numbers of respondents.
        """
        y = np.zeros(len(waves[0]), dtype=np.int64)
        for (name, part), wave in zip(self.questions.items(), waves, strict=True):
            if wave.mechanism != part or len(wave) != len(y):
                raise InvalidArgument(name, wave, f"must be {len(y)} Reports of {part}")
            y = y * part.n_outputs + wave.y
        return Reports(y, self)

    def epsilon_of(self, answers: int) -> float:
        """Epsilon of all reports of persons who give so many different answers at most.

        Parameters
        ----------
        answers : int
            1 for those who never change their answer; from the number of waves on it is `epsilon`.
        """
        most = positive_integer("answers", answers)
        paths = combinations(range(self._parts[0].k), repeat=len(self._parts))
        some = np.array([len(set(path)) <= most for path in paths])
        return Dense(self._channel.matrix()[some]).epsilon()

    @cached_property
    def _channel(self) -> Channel:
        sizes = self._sizes
        codes = np.unravel_index(np.arange(np.prod(sizes)), sizes)
        waves = [Reports(y, part) for part, y in zip(self._parts, codes, strict=True)]
        W, scale = path_likelihoods(waves)
        Q = W * np.exp(scale)[:, None]
        return Dense(Q.T / Q.sum(axis=0)[:, None])

    def sample(self, codes: Array, words: Words) -> Array:
        y = np.zeros(np.shape(codes), dtype=np.int64)
        answers = np.unravel_index(np.asarray(codes), [part.k for part in self._parts])
        drawn: list[tuple[str | None, Array, Array]] = []  # what was kept of which answers
        for part, x in zip(self._parts, answers, strict=True):
            if part.steps is None:
                own = part.sample(x, words)
            else:
                first, second = map(samplers.integer_rows, part.steps)
                kept = samplers.sample_rows(x, first, words)
                for name, before, response in drawn:
                    kept = np.where((before == x) & (name == part.permanent), response, kept)
                drawn.append((part.permanent, x, kept))
                own = samplers.sample_rows(kept, second, words)
            y = y * part.n_outputs + own
        return y

    def _draw_document(self) -> NoReturn:
        raise NotAvailable(f"{self} has no client: each wave is reported by that of its mechanism")

    def _sampler_epsilon(self) -> float:
        return self.epsilon
