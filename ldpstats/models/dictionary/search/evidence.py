"""What pairs of grams say of whole strings: edges of the graph, and a score for a string."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import probability
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.search.pairs import PairTable
from ldpstats.models.dictionary.search.paths import Grown, Pair, grow
from ldpstats.models.dictionary.search.progress import Advance, between, counted, nested, silent
from ldpstats.models.dictionary.search.screening import ScreenedGrams

__all__ = [
    "SEARCHES",
    "THRESHOLDS",
    "candidates",
    "edges",
    "least_frequency",
    "log_ratio",
    "printed_threshold",
]

Array = npt.NDArray[Any]

SEARCHES = ("likelihood", "cliques")
THRESHOLDS = ("standard", "fpe16")
_EDGE = 0.5  # standard errors of a pair from which there is an edge
_CERTAIN = 4.0  # standard errors by which no gram is more frequent than it seems
_SHARED = 0.01  # density, per standard error, of what other strings add to the frequency of a pair
_TOLERANCE = 1.0 / 16.0  # of a frequency, by which those of its pairs may differ without noise
_RATIO = 2.0**0.5  # of two frequencies at which strings are scored, at most


def edges(
    tables: Mapping[Pair, PairTable], threshold: str | float, mechanism: Mechanism, nobs: int
) -> dict[Pair, npt.NDArray[np.bool_]]:
    """Which pairs of grams are edges of the graph (FPE16 IV-A, step 6)."""
    least = least_frequency(threshold, mechanism, nobs)
    return {  # a pair of positions that nobody reported is no evidence
        pair: np.isfinite(table.se)
        & (table.estimate > (_EDGE * table.se if least is None else least))
        for pair, table in tables.items()
    }


def least_frequency(threshold: str | float, mechanism: Mechanism, nobs: int) -> float | None:
    """The frequency of an edge by `edges`; None where each pair has its own."""
    if isinstance(threshold, str):
        threshold = str.__str__(threshold)
        if threshold == "standard":
            return None
        if threshold == "fpe16":
            return printed_threshold(mechanism, nobs)
        remedy = f"must be one of {', '.join(map(repr, THRESHOLDS))}, or a frequency"
        raise InvalidArgument("threshold", threshold, remedy)
    return probability("threshold", threshold)


def printed_threshold(mechanism: Any, nobs: int) -> float:
    """The threshold delta of FPE16 IV-A as printed: ``sqrt(p2 (1 - p2) / ((q2 - p2) N))``.

    p2 and q2 are the probabilities of a bit that the gram does not own, and that it owns. The
    standard error of a frequency from one bit has the square of ``q2 - p2``, and a pair has fewer
    than N reports and the noise of two: the formula is not a pair's noise. The number that
    the paper used, .0062 (V-D), is that standard error, ``sqrt(p2 (1 - p2) / N) / (q2 - p2)``: with
    its noise 3.8 times what the formula gives.
    """
    if not mechanism.n_bits:
        raise NotAvailable(f'threshold="fpe16" is about bits, and {mechanism} reports none')
    p2, q2 = mechanism.p0, mechanism.p1
    return float(np.sqrt(p2 * (1.0 - p2) / ((q2 - p2) * nobs)))


def log_ratio(z: Array, shift: Array) -> Array:
    """Log likelihood ratio of a pair: that a string adds `shift` to it, or nothing.

    z is the estimate over its standard error, ``z - shift`` standard normal if no other string has
    the pair, or else anything from there on, of density `_SHARED`. Values far above are
    uninformative, since other strings may explain them. Values below count
    against the string.
    """
    from scipy.special import log_ndtr

    constant, shared = -0.5 * np.log(2.0 * np.pi), np.log(_SHARED)

    def law(x: Array) -> Array:
        return np.asarray(np.logaddexp(constant - 0.5 * x**2, shared + log_ndtr(x)))

    return law(z - shift) - law(z)


def _levels(tables: Mapping[Pair, PairTable], least: float) -> list[float]:
    """Frequencies at which strings are scored: so close that no string is far from one of them.

    From the largest that every pair of positions has room for, down to `least`, or to half a
    standard error where that is more, in steps of two standard errors, or of what stands for them
    where there is next to no noise.
    """
    known = [
        table for table in tables.values() if table.estimate.size and np.isfinite(table.se).all()
    ]
    if not known:
        return []
    se = float(np.median([np.median(table.se) for table in known]))
    room = min(float((table.estimate + 2.0 * table.se).max()) for table in known)
    # of one respondent at least; and there is one level, however high the bound
    least = min(max(least, se / 2.0, 1.0 / max(table.nobs for table in known)), room)
    level, found = min(room, 1.0), []
    while level > least:
        found.append(level)
        level = max(level - 2.0 * max(se, _TOLERANCE * level), level / _RATIO)
    return [*found, least]


def candidates(
    screened: Sequence[ScreenedGrams],
    tables: Mapping[Pair, PairTable],
    layout: GramLayout,
    allowed: Mapping[Pair, Array] | None,
    width: int,
    least: float = 0.0,
    advance: Advance = silent,
) -> Grown:
    """Strings that the pairs support, best first.

    The score of a string is its log odds, up to a constant, against grams that met by chance: the
    log of the product of its grams' frequencies, and the log likelihood ratio of all its pairs
    (`log_ratio`), at the frequency of the string, of at least `least`, for which that is largest.
    """
    possible = {
        (a, b): layout.may_follow(screened[a].grams, screened[b].grams, b - a)
        for a, b in layout.pairs
    }
    if allowed is not None:
        possible = {pair: fits & allowed[pair] for pair, fits in possible.items()}
    prior = [np.log(np.maximum(kept.estimate, kept.se)) for kept in screened]
    if prior[0].size:  # no string is empty
        prior[0][screened[0].grams == layout.pad * layout.gram] = -np.inf
    found, scores = [np.zeros((0, layout.n_positions), dtype=np.int64)], [np.zeros(0)]
    cut = 0
    for level, step in nested(_levels(tables, least), advance):
        # a gram is as frequent as a string that has it
        here = [np.flatnonzero(k.estimate + _CERTAIN * k.se >= level) for k in screened]
        fits, pairs = {}, {}
        for (a, b), table in counted(list(tables.items()), between(step, 0.0, 0.5)):
            block = np.ix_(here[a], here[b])
            noise = np.hypot(table.se[block], _TOLERANCE * level)
            fits[a, b] = possible[a, b][block]
            pairs[a, b] = log_ratio(table.estimate[block] / noise, level / noise)
        own = [values[at] for values, at in zip(prior, here, strict=True)]
        grown = grow(fits, own, pairs, width, between(step, 0.5, 1.0))
        cut = max(cut, grown.n_cut)
        finite = np.isfinite(grown.score)
        kept = [at[grown.members[finite, a]] for a, at in enumerate(here)]
        found.append(np.column_stack(kept))
        scores.append(grown.score[finite])
    members, score = _distinct(np.concatenate(found), np.concatenate(scores))
    order = np.lexsort((*members.T[::-1], -score))
    return Grown(members[order], score[order], cut)


def _distinct(members: Array, score: Array) -> tuple[Array, Array]:
    """Each string once, with the best of its scores."""
    order = np.lexsort((-score, *members.T))
    members, score = members[order], score[order]
    first = np.ones(len(score), dtype=bool)
    first[1:] = (members[1:] != members[:-1]).any(axis=1)
    return members[first], score[first]
