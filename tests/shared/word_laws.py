"""Names of candidates, and laws over them."""

import numpy as np


def names(size: int) -> list[str]:
    return [str(i) for i in range(size)]


def geometric(size: int) -> np.ndarray:
    p = (size / (size + 5.0)) ** np.arange(size)
    return p / p.sum()


def skewed(size: int) -> np.ndarray:
    return np.r_[0.5, 0.2, 0.1, np.full(size - 3, 0.2 / (size - 3))]
