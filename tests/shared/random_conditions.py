"""Conditions at random, of several tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def combined(
    rng: np.random.Generator, depth: int, test: Callable[[np.random.Generator], str]
) -> str:
    """Tests joined by and, or and not, in brackets within each other up to `depth` times."""
    if depth == 0:
        return test(rng)
    parts = [combined(rng, depth - 1, test) for _ in range(rng.integers(1, 4))]
    joined = str(rng.choice([" and ", " or "])).join(parts)
    return str(rng.choice([joined, f"({joined})", f"not ({joined})"]))
