"""How frequent a string must be to pass every stage of its discovery."""

from __future__ import annotations

from collections.abc import Mapping
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
    "pair_stage",
    "string_stage",
]

Array = npt.NDArray[Any]

STAGES = {"grams": "keeping its grams", "pairs": "telling it from chance", "test": "the test"}
_STEPS = 60  # of bisection: the width of a double


@dataclass(frozen=True, eq=False)
class Stage:
    """What a string of frequency f passes if f, plus normal noise, exceeds a bound.

    Parameters
    ----------
    noise : float or array
        Standard error of the frequency; several are several surveys.
    bound : float or array
        In standard errors.
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

        return np.asarray(ndtr(frequency / self.noise - self.bound) ** self.times)

    def frequency(self, power: float) -> Array:
        """From which a string passes with this probability; zero where any does."""
        from scipy.special import ndtri

        margin = ndtri(power ** (1.0 / self.times))
        return np.asarray(np.maximum(self.noise * (self.bound + margin), 0.0))


def critical_z(false_grams: float, n_grams: int) -> float:
    """The z from which grams are kept, of which `false_grams` absent ones are expected."""
    from scipy.special import ndtri

    return -float(ndtri(min(false_grams / n_grams, 0.5)))


def gram_stage(se: Any, critical: Any, n_positions: int) -> Stage:
    """All grams of a string are kept, which no other string has: each is tested on its own."""
    return Stage(se, critical, n_positions)


def pair_stage(se: Any, n_pairs: int, log_strings: Any, n_tested: int) -> Stage:
    """A string scores higher than chance, over all pairs of its grams.

    Of exp(`log_strings`) strings that the kept grams can make, `n_tested` are tested. The score of
    a string is the mean of the z of its pairs, so that the best of N strings that nobody holds
    reach about ``sqrt(2 log N)`` standard errors.

    Parameters
    ----------
    se : float or array
        Standard error of the frequency of a pair.
    n_pairs : int
        Pairs of a string, with different reports each.
    log_strings : float or array
        Log of the product of the numbers of grams that are kept at the positions.
    n_tested : int
    """
    chance = np.maximum(log_strings - np.log(max(n_tested, 1)), 0.0)
    return Stage(se / np.sqrt(n_pairs), np.sqrt(2.0 * chance))


def string_stage(se: Any, alpha: float, n_tested: int) -> Stage:
    """The reports of whole strings reject a frequency of zero, by Bonferroni over all tests."""
    from scipy.special import ndtri

    return Stage(se, -float(ndtri(alpha / n_tested)))


def detectable(stages: Mapping[str, Stage], power: float) -> dict[str, Array]:
    """Frequencies from which a string passes each stage, and all of them ("found").

    The noises of the stages are taken to be independent: the frequency from which a string is found
    is above that of the hardest stage, since the others take their share of the failures.

    Parameters
    ----------
    stages : mapping from names to Stage
    power : float
        Probability in (0, 1) of passing.

    Returns
    -------
    dict
        From the names of the stages, and "found", to frequencies.

    Examples
    --------
    >>> stages = {"pairs": Stage(0.01, 2.0), "test": Stage(0.01, 2.0)}
    >>> {name: round(float(f), 4) for name, f in detectable(stages, 0.8).items()}
    {'pairs': 0.0284, 'test': 0.0284, 'found': 0.0325}
    """
    single = {name: stage.frequency(power) for name, stage in stages.items()}
    shared = power ** (1.0 / len(stages))  # of each stage suffices
    low = np.max(np.broadcast_arrays(*single.values()), axis=0)
    high = np.max(np.broadcast_arrays(*(s.frequency(shared) for s in stages.values())), axis=0)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        chance = np.prod([stage.probability(middle) for stage in stages.values()], axis=0)
        low, high = np.where(chance < power, middle, low), np.where(chance < power, high, middle)
    return single | {"found": np.asarray(high)}
