"""Mechanisms that a respondent works by hand: a randomising device, with its exact law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel
from ldpstats.channels.structured import Dense, Uniformised
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.of_device import OfDevice
from ldpstats.mechanisms.recognised import recognised
from ldpstats.problems.covariance import multinomial
from ldpstats.problems.equations import Equations, Moments
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import DenseRows
from ldpstats.programs.privacy import largest_ratio, nearest_log
from ldpstats.programs.sampler import Sampler, sampler
from ldpstats.programs.steps import Step
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling.words import Words, simulation_words

__all__ = ["DeviceMechanism"]

Array = npt.NDArray[Any]

_SMALL = 1 << 11  # categories whose matrix is written out without a thought
_MOST_DRAWS = 10_000_000
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class DeviceMechanism(OfDevice):
    """A randomising device as a mechanism: `Device.mechanism` makes it.

    Parameters
    ----------
    device : Step
        The steps, as `Device.step` has them.
    categories : int, sequence of labels, or pandas Categorical
        The true answers.
    outputs : int or sequence of labels, optional
        What a report may be. By default the categories, where the device says nothing else, or the
        labels of the device in their order, where none of them is a category. A mixture of both
        must be listed here: it may be a misspelt category.

    Raises
    ------
    InvalidArgument
        If the device does not fit the categories, or says what is no output.
    NotAvailable
        If the device has unknown parameters.

    Notes
    -----
    Clients and simulations draw reports with exactly the probabilities of `exact`, whatever their
    denominators: the sampler's epsilon is the declared one.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> die = ldp.devices.roll(6).when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
    >>> forced = die.mechanism(("no", "yes"))
    >>> forced.exact
    ((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6)))
    >>> forced.ratio, forced.epsilon
    (Fraction(5, 1), 1.6094379124341003)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if float(self.law.least()) < _LEAST:
            remedy = f"gives a report a probability below {_LEAST}, which estimates cannot hold"
            raise InvalidArgument("device", self.device, remedy)

    def _check_device(self, device: Step) -> None:
        if device.unknown:
            raise NotAvailable(
                f"the device depends on the unknown {', '.join(device.unknown)}: "
                "device.mechanism(categories) makes a mechanism that has them"
            )

    def _alone(self, step: Step, outputs: list[Any]) -> DeviceMechanism:
        return DeviceMechanism(step, self.categories, outputs)

    @cached_property
    def ratio(self) -> Fraction | float:
        """The largest ratio of two probabilities of one report; inf if one is zero."""
        return largest_ratio(self.law)

    @cached_property
    def epsilon(self) -> float:  # type: ignore[override]
        """The float nearest to the logarithm of `ratio`, in nats."""
        return nearest_log(self.ratio)

    @cached_property
    def equivalent(self) -> Mechanism | None:
        """The package's own mechanism with the same law, such as a `Warner` or `KRR`, if any.

        Its probabilities are those of `exact`, rounded to floats.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> coin = ldp.devices.flip(0.7).when({"heads": ldp.devices.truth}, otherwise="yes")
        >>> print(coin.mechanism(("no", "yes")).equivalent)
        Mangat(p=0.7, epsilon=inf)
        """
        return recognised(self.device, self.law, self.outputs, self.ratio)

    def channel(self, candidates: Any = None) -> Channel:
        self._closed(candidates)
        return self._channel

    @cached_property
    def _channel(self) -> Channel:
        even, k = self.law.even, self.k
        if even is not None and self.outputs.equals(self.categories):
            own, base = Fraction(even.own), Fraction(even.base)  # type: ignore[arg-type]
            if (k > 2 and own > 0) or k > _SMALL:
                if not even.extra:
                    return Uniformised(k, float(own), float(base))
                common = dict.fromkeys(self.law.categories, base)
                for label, p in even.extra.items():
                    common[label] += Fraction(p)  # type: ignore[arg-type]
                return Uniformised(k, float(own), np.array([float(p) for p in common.values()]))
        return Dense(np.array(self.exact, dtype=np.float64))

    def likelihood(self, counts: Counts, candidates: Any = None) -> Likelihood:
        found = super().likelihood(counts, candidates)
        if not self.cohort_parts:
            return found
        share = np.ones(self.n_outputs)  # a report is given its cohort
        for part, chance in zip(self.cohort_parts, self.device.chances, strict=True):
            share[part.places] = float(chance)
        return Likelihood(DenseRows(found.W.dense() / share[counts.y][:, None]), found.n)

    @cached_property
    def _sampler(self) -> Sampler:
        return sampler(self.law, self.outputs.tolist())

    def sample(self, codes: Array, words: Words) -> Array:
        return self._sampler.draw(codes, words)

    def _draw_document(self) -> dict[str, Any]:
        return self._sampler.document()

    def _sampler_epsilon(self) -> float:
        return nearest_log(self._sampler.ratio())

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        Q = self.channel(candidates)
        if not isinstance(Q, Uniformised):
            return super().moments(counts, candidates)
        self._own(counts)
        reference = Q.forward(np.full(self.k, 1.0 / self.k))
        if not np.all(reference > 0.0):  # reports that no category makes
            return super().moments(counts, candidates)
        t = counts.vector() / counts.nobs
        return Equations(
            *(Q.a, Q.b, t),
            V=lambda p: multinomial(Q.forward(p), counts.nobs),
            weights=counts.nobs / reference,
            nobs=counts.nobs,
        )

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts:
        Q = self.channel(candidates)
        if not isinstance(Q, Uniformised):
            return super().simulate_counts(true_counts, rng, candidates)
        if Q.a < 0.0:
            return self._drawn(true_counts, rng)
        kept = rng.binomial(true_counts, Q.a)
        common = Q.noise() / Q.replaced if Q.replaced else np.full(self.k, 1.0 / self.k)
        return self.counts(kept + rng.multinomial(int((true_counts - kept).sum()), common))

    def _drawn(self, true_counts: Array, rng: np.random.Generator) -> Counts:
        """Counts of reports drawn one by one: where other answers are likelier than one's own."""
        if true_counts.sum() > _MOST_DRAWS:
            raise NotAvailable(
                f"counts of more than {_MOST_DRAWS} reports of {self} are drawn one by one, since "
                "its reports are less often true than not: draw fewer at a time"
            )
        codes = np.repeat(np.arange(self.k), true_counts)
        reports = self.sample(codes, simulation_words(rng))
        return self.counts(np.bincount(reports, minlength=self.n_outputs))
