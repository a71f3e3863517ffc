"""Several reports about one answer, as one report with a label."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import encode
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.enumerated import CustomMechanism, combined, listed_mechanism
from ldpstats.mechanisms.joined import joined_labels
from ldpstats.mechanisms.parts import protected_by_all, same_answers
from ldpstats.mechanisms.words import made_of

__all__ = ["repeated"]

Array = npt.NDArray[Any]

_MOST = 1 << 27  # probabilities that are listed: 1 GB as float64


def repeated(first: Any, *others: Any) -> CustomMechanism:
    """Two or more independent reports about the same answer, as one report.

    ``Q[x, (y0, y1)] = Q0[x, y0] Q1[x, y1]``, as `privacy.sequential` (MK19 Proposition 1), with
    labels: ``"nurse, cook"``. Reports that are there already are put together by `paired`.

    Parameters
    ----------
    first : Mechanism
        With reports that can be listed.
    *others : Mechanism, device, or mapping from a first report to one of them
        For the same categories, in any order. A mapping has the second mechanism after each first
        report, where the second question depends on it; it must be the only one.

    Returns
    -------
    CustomMechanism
        The outputs are all combinations of reports, the last changing fastest, joined by ", ". Its
        epsilon is computed from Q: at most the sum of the parts'. Sensitive are the categories that
        every part protects.

    Raises
    ------
    InvalidArgument
        For no mechanism, a mapping that lacks a report, and combinations that read alike.
    UnknownCategory
        If a key of a mapping is no report of the first mechanism.
    MechanismMismatch
        For other categories.
    NotAvailable
        Where reports cannot be listed, or are too many.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=np.log(3))
    >>> twice = ldp.repeated(krr, krr)
    >>> twice.outputs.tolist()
    ['no, no', 'no, yes', 'yes, no', 'yes, yes']
    >>> twice.channel().matrix()
    array([[0.5625, 0.1875, 0.1875, 0.0625],
           [0.0625, 0.1875, 0.1875, 0.5625]])
    >>> round(twice.epsilon / krr.epsilon, 12)
    2.0

    Who said yes is asked again with less noise:

    >>> again = ldp.repeated(krr, {"no": krr, "yes": ldp.KRR(("no", "yes"), epsilon=2.0)})
    >>> round(again.epsilon, 4)                                                  # ln 3 + 2
    3.0986
    """
    start = listed_mechanism("first", first)
    if any(isinstance(other, Mapping) for other in others):
        if len(others) != 1:
            raise InvalidArgument("others", others, "must be one, where it is a dictionary")
        after = _after(start, others[0])
        categories, parts, channels = same_answers("others", [start, *after])
        blocks = [channels[0][:, [y]] * Q for y, Q in enumerate(channels[1:])]
        _check_size(sum(block.size for block in blocks))
        pairs = [
            (y, z)
            for y, part in zip(start.outputs.tolist(), parts[1:], strict=True)
            for z in part.outputs.tolist()
        ]
        Q = np.hstack(blocks)
        description = f"{made_of(start)}, then {' or '.join(map(made_of, parts[1:]))}"
    else:
        categories, parts, channels = same_answers("others", [start, *others])
        _check_size(len(categories) * int(np.prod([float(Q.shape[1]) for Q in channels])))
        Q = channels[0]
        for own in channels[1:]:
            Q = (Q[:, :, None] * own[:, None, :]).reshape(len(Q), -1)
        pairs = list(product(*(part.outputs.tolist() for part in parts)))
        description = ", then ".join(map(made_of, parts))
    return combined(
        *(Q, categories, joined_labels("outputs", pairs)),
        *(protected_by_all(parts, categories), description),
    )


def _after(first: Any, second: Mapping[Any, Any]) -> list[Any]:
    """The second mechanisms in the order of the first reports."""
    outputs: pd.Index[Any] = first.outputs
    codes = encode("others", list(second), outputs)[0] if second else np.empty(0, dtype=np.int64)
    lacking = np.setdiff1d(np.arange(len(outputs)), codes)
    if lacking.size:
        label = outputs.tolist()[lacking[0]]
        raise InvalidArgument("others", label, "is a first report without a second mechanism")
    chosen = list(second.values())
    return [chosen[i] for i in np.argsort(codes)]


def _check_size(size: int) -> None:
    if size > _MOST:
        raise NotAvailable(
            f"{size} probabilities of combined reports are too many to list: add up epsilons with "
            "privacy.compose(), or lump categories first"
        )
