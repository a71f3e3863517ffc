"""How frequent a string must be to pass every stage of its discovery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "STAGES",
    "Stage",
    "critical_z",
    "detectable",
    "gram_stage",
    "log_rivals",
    "pair_stage",
    "string_stage",
]

Array = npt.NDArray[Any]

STAGES = {"grams": "keeping its grams", "pairs": "telling it from chance", "test": "the test"}
_STEPS = 60  # of bisection: the width of a double
_SURE = 40.0  # standard errors
_LEAST = 1e-12  # frequency, below which logs are not taken


@dataclass(frozen=True, eq=False)
class Stage:
    """What a string of frequency f passes if f, plus normal noise, exceeds a bound.

    Parameters
    ----------
    noise : float or array
        Standard error of the frequency; several are several surveys.
    bound : float, array or callable
        In standard errors; or as a function of the frequency, which falls as that grows.
    times : int
        How often that must happen, independently.

    Examples
    --------
    >>> stage = Stage(noise=0.01, bound=2.0, times=3)
    >>> f = float(stage.frequency(power=0.8))
    >>> round(f, 4), round(float(stage.probability(f)), 4)
    (0.0346, 0.8)
    """

    noise: Any
    bound: Any
    times: int = 1

    def probability(self, frequency: Any) -> Array:
        """That a string of this frequency passes."""
        from scipy.special import ndtr

        bound = self.bound(frequency) if callable(self.bound) else self.bound
        return np.asarray(ndtr(frequency / self.noise - bound) ** self.times)

    def frequency(self, power: float) -> Array:
        """From which a string passes with this probability; zero where any does."""
        from scipy.special import ndtri

        margin = ndtri(power ** (1.0 / self.times))
        if not callable(self.bound):
            return np.asarray(np.maximum(self.noise * (self.bound + margin), 0.0))
        low = np.zeros(np.shape(self.noise))
        high = self.noise * (self.bound(_LEAST) + max(margin, 0.0))
        return _bisected(lambda f: self.probability(f) < power, low, high)


def critical_z(false_grams: float, n_grams: int) -> float:
    """The z from which grams are kept, of which `false_grams` absent ones are expected."""
    from scipy.special import ndtri

    return -float(ndtri(min(false_grams / n_grams, 0.5)))


def gram_stage(se: Any, critical: Any, n_positions: int) -> Stage:
    """All grams of a string are kept, which no other string has: each is tested on its own."""
    return Stage(se, critical, n_positions)


def pair_stage(se: Any, n_pairs: int, log_strings: Any, n_tested: int) -> Stage:
    """A string scores higher than chance, over all pairs of its grams.

    Of N = exp(`log_strings`) strings that the kept grams can make, `n_tested` are tested. Those
    that nobody holds have a standard normal z over all their pairs, so that as many as are tested
    are beyond the z that has the tail `n_tested` / N. Strings of other grams count by their prior
    odds against this one: the product of the ratios of the frequencies of their grams to its own.
    """
    from scipy.special import ndtri_exp

    def bound(frequency: Any) -> Array:
        many = log_strings(frequency) if callable(log_strings) else log_strings
        tail = np.minimum(np.log(max(n_tested, 1)) - many, 0.0)  # log
        return np.asarray(np.maximum(-ndtri_exp(tail), -_SURE))

    return Stage(se / np.sqrt(n_pairs), bound if callable(log_strings) else bound(1.0))


def log_rivals(mass: Array) -> Callable[[Any], Array]:
    """Log of the number of strings that chance makes, counted by their odds against one of them."""
    total = float(np.log(mass).sum())
    return lambda f: np.asarray(total - len(mass) * np.log(np.maximum(f, _LEAST)))


def string_stage(se: Any, alpha: float, n_tested: int) -> Stage:
    """The reports of whole strings reject a frequency of zero, by Bonferroni over all tests.

    With equal shares of alpha: those that the test gives to candidates by their rank are larger for
    the first quarter of 500, and smaller for the rest.
    """
    from scipy.special import ndtri

    return Stage(se, -float(ndtri(alpha / n_tested)))


def detectable(stages: Mapping[str, Stage], power: float) -> dict[str, Array]:
    """Frequencies from which a string passes each stage, and all of them ("found").

    The noises of the stages are taken to be independent: the frequency from which a string is found
    is above that of the hardest stage, since the others take their share of the failures.
    """
    single = {name: stage.frequency(power) for name, stage in stages.items()}
    shared = power ** (1.0 / len(stages))  # of each stage suffices
    low = np.max(np.broadcast_arrays(*single.values()), axis=0)
    high = np.max(np.broadcast_arrays(*(s.frequency(shared) for s in stages.values())), axis=0)

    def short(frequency: Array) -> Array:
        chance = np.prod([stage.probability(frequency) for stage in stages.values()], axis=0)
        return np.asarray(chance < power)

    return single | {"found": _bisected(short, low, high)}


def _bisected(short: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The least frequency, from `low` to `high`, that does not fall short."""
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        below = short(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(high)
