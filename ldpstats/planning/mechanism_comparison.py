"""Several mechanisms side by side, at the same answers and number of respondents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import listed
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.contenders import report_bits
from ldpstats.planning.expected_precision import Precision, precision
from ldpstats.planning.variances import check_mechanism, expected_shares

__all__ = ["compare"]

Array = npt.NDArray[Any]

_REMEDY = "must be a list of mechanisms, or a mapping from names to mechanisms"


def compare(
    mechanisms: Any,
    p: npt.ArrayLike | None,
    n: int,
    design_effect: float = 1.0,
    candidates: Any = None,
) -> pd.DataFrame:
    """Precision of several mechanisms for the same question, as a table.

    They may differ in epsilon, but not in their categories.

    Parameters
    ----------
    mechanisms : sequence of Mechanism, or mapping from names to mechanisms
    p : array-like, shape (k,), or Series, or None
        Expected distribution, in the order of the first mechanism's categories, or a Series by
        label. None: uniform.
    n : int
        Respondents.
    design_effect : float
        As in `precision`.
    candidates : sequence of str, optional
        The strings whose distribution is p, for the mechanisms with an open alphabet. Others must
        have them as categories.

    Returns
    -------
    DataFrame
        A row for each mechanism, by its name, in the order given. Columns: "epsilon" (nats);
        "bits" of a report; "worst_se", the largest standard error, and "worst_category";
        "total_se", the root of the summed variances; "effective_share" of the sample: respondents
        without privacy, simply sampled, who would give the same summed variance, over n;
        "worst_ratio" and "total_ratio": how many times the respondents of the best of these
        mechanisms are needed for the same largest standard error, and the same summed variance.

    Raises
    ------
    NotIdentified
        If the reports of a mechanism leave p open.
    NotAvailable
        If the candidates are too many for standard errors.
    InvalidArgument
        If an argument is out of range, or the mechanisms have different categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> mechanisms = {"k-RR": ldp.KRR(4, epsilon=1.0), "OUE": ldp.KRAPPOR(4, 1.0, theta=0.5)}
    >>> columns = ["bits", "worst_se", "effective_share", "total_ratio"]
    >>> compare(mechanisms, [0.4, 0.3, 0.2, 0.1], n=1000)[columns].round(3)
          bits  worst_se  effective_share  total_ratio
    k-RR     2     0.048            0.085        1.000
    OUE      4     0.057            0.058        1.465
    """
    named = _named(mechanisms)
    given = check_mechanism(next(iter(named.values())))
    labels = given.labels(candidates if given.is_open else None)
    partial = all(m.is_open for m in named.values())
    law = pd.Series(expected_shares(p, labels, partial=partial), index=labels)
    found = [
        precision(
            _of_the_same(name, mechanism, labels, candidates),
            law,
            n,
            design_effect,
            candidates if mechanism.is_open else None,
        )
        for name, mechanism in named.items()
    ]
    return _table([str(name) for name in named], found)


def _named(given: Any) -> dict[Any, Mechanism]:
    """The mechanisms by name; in words where they have none."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
        for name, _ in pairs:
            if not isinstance(name, str):
                raise InvalidArgument("mechanisms", name, "must have text as names")
    else:
        pairs = [(None, mechanism) for mechanism in listed("mechanisms", given, _REMEDY)]
    if not pairs:
        raise InvalidArgument("mechanisms", given, "must hold at least one mechanism")
    named: dict[Any, Mechanism] = {}
    for i, (name, mechanism) in enumerate(pairs):
        at = f"mechanisms[{i if name is None else name!r}]"
        checked = check_mechanism(mechanism, at)
        words = str(checked) if name is None else name
        if words in named:
            raise InvalidArgument(at, words, "is there twice: leave one out, or name them")
        named[words] = mechanism
    return named


def _of_the_same(
    name: str, mechanism: Mechanism, labels: pd.Index[Any], candidates: Any
) -> Mechanism:
    """A mechanism, if it has the same categories as the first, in any order."""
    own = mechanism.labels(candidates if mechanism.is_open else None)
    if len(own) != len(labels) or not own.astype(object).isin(labels.astype(object)).all():
        remedy = f"has other categories than the first, whose are {list(labels[:5])}"
        raise InvalidArgument(f"mechanisms[{name!r}]", list(own[:5]), remedy)
    return mechanism


def _table(names: list[str], found: list[Precision]) -> pd.DataFrame:
    worst = np.array([float(each.se.max()) for each in found])
    total = np.array([each.total for each in found])
    return pd.DataFrame(
        {
            "epsilon": [each.mechanism.epsilon for each in found],
            "bits": [report_bits(each.mechanism) for each in found],
            "worst_se": worst,
            "worst_category": [each.worst for each in found],
            "total_se": np.sqrt(total),
            "effective_share": [each.effective_share for each in found],
            "worst_ratio": ratios(worst**2),
            "total_ratio": ratios(total),
        },
        index=names,
    )


def ratios(losses: Array) -> Array:
    """Losses over the smallest; where that is zero, 1 for those that are zero too, and inf."""
    best = losses.min()
    if best > 0.0:
        return np.asarray(losses / best)
    return np.where(losses > 0.0, np.inf, 1.0)
