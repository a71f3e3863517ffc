"""Mechanisms of which a respondent uses one by chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpstats.arguments.checks import distribution
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.enumerated import CustomMechanism, combined
from ldpstats.mechanisms.parts import protected_by_all, same_answers
from ldpstats.mechanisms.processing import distinct_labels
from ldpstats.mechanisms.words import made_of

__all__ = ["mixture"]


def mixture(shares: Mapping[Any, float]) -> CustomMechanism:
    """Each respondent uses one of several mechanisms by chance, and does not say which.

    ``Q[x, y] = sum_i s_i Q_i[x, y]``: a respondent draws a card that says which question to answer,
    or a share of the respondents misunderstands the device. If it is known which mechanism made a
    report, fit the reports as groups instead: ``FrequencyModel([first, second])``, or ask with
    `devices.cohorts`. The shares here are the law of the reports, which estimates rest on; those of
    cohorts are not.

    Parameters
    ----------
    shares : mapping
        The probability of each mechanism; they sum to one. Mechanisms have the same categories, in
        any order, and reports that can be listed. A device stands for its mechanism of the
        categories of the first mechanism.

    Returns
    -------
    CustomMechanism
        With the categories of the first, and all reports as outputs: in category order if they are
        the categories, else in order of first appearance. Its epsilon is computed from Q: at most
        the largest of the parts, where they protect the same categories. Sensitive are those that
        every part protects.

    Raises
    ------
    InvalidArgument
        If there is no mechanism, or the shares are no distribution.
    MechanismMismatch
        For other categories.
    NotAvailable
        For a mechanism whose reports cannot be listed.

    Examples
    --------
    Four of five respondents follow the device; the others report at random:

    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=np.log(4))
    >>> coin = ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]], ("no", "yes"))
    >>> mixed = ldp.mixture({krr: 0.8, coin: 0.2})
    >>> mixed.channel().matrix()
    array([[0.74, 0.26],
           [0.26, 0.74]])
    >>> round(mixed.epsilon, 4)
    1.046
    """
    remedy = "must be a dictionary from each mechanism to its share, such as {krr: 0.8, other: 0.2}"
    if not isinstance(shares, Mapping) or not len(shares):
        raise InvalidArgument("shares", shares, remedy)
    categories, parts, channels = same_answers("shares", list(shares))
    weights = distribution("shares", list(shares.values()), len(parts))
    labels = [label for part in parts for label in part.outputs.tolist()]
    outputs, places = distinct_labels("outputs", labels)
    Q, start = np.zeros((len(channels[0]), len(outputs))), 0
    for weight, own in zip(weights, channels, strict=True):
        Q[:, places[start : start + own.shape[1]]] += weight * own
        start += own.shape[1]
    shown = [f"{100 * w:.3g}% {made_of(part)}" for part, w in zip(parts, weights, strict=True)]
    sensitive = protected_by_all(parts, categories)
    return combined(Q, categories, outputs, sensitive, f"mixture of {' and '.join(shown)}")
