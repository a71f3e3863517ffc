"""Which of the private questions each respondent is asked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.sampling.samplers import sample_krr
from ldpstats.sampling.words import Words

__all__ = ["draw_asked"]


def draw_asked(n: int, n_questions: int, ask: int | None, words: Words) -> npt.NDArray[np.bool_]:
    """Which questions n respondents are asked, bool of shape (n, n_questions).

    Each row has `ask` of them, every set of so many with the same probability, exactly (Fisher and
    Yates); all if `ask` is None.
    """
    if ask is None or ask == n_questions:
        return np.ones((n, n_questions), dtype=bool)
    fewer = min(ask, n_questions - ask)  # drawn are those that are asked, or those that are not
    order = np.tile(np.arange(n_questions, dtype=np.int32), (n, 1))
    drawn, rows = np.zeros((n, n_questions), dtype=bool), np.arange(n)
    for i in range(fewer):
        j = i + sample_krr(np.zeros(n, dtype=np.int64), n_questions - i, 0, words)
        drawn[rows, order[rows, j]] = True
        order[rows, j] = order[:, i]  # what was drawn is not drawn again
    return drawn if fewer == ask else ~drawn
