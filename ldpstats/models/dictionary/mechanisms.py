"""How grams and whole strings are privatised: mechanisms by name, and their parts of epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import EPSILON_RANGE, one_of, positive_epsilon
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms import KRAPPOR, KRR, ORR, RAPPOR, Mechanism
from ldpstats.mechanisms.hashed.base import Hashed
from ldpstats.models.dictionary.grams import GramLayout

__all__ = [
    "GRAM_MECHANISMS",
    "MOST_BITS",
    "STRING_MECHANISMS",
    "budgets",
    "carries_grams",
    "gram_mechanism",
    "hashes_any",
    "string_mechanism",
]

GRAM_MECHANISMS = ("krr", "oue", "orr", "rappor")
STRING_MECHANISMS = ("orr", "rappor")
_MOST_CELLS = 1 << 22  # labels of all cohorts together
MOST_BITS = 4096  # of a unary report
_GRAM_COHORTS, _STRING_COHORTS, _BLOOM_COHORTS = 1024, 4096, 64


def gram_mechanism(name: str, epsilon: float, layout: GramLayout) -> Mechanism:
    """A mechanism for grams by its name."""
    one_of("gram_mechanism", name, (*GRAM_MECHANISMS, "best"))
    size = layout.n_grams
    if name == "best":
        few = int(3.0 * np.exp(epsilon) + 2.0)  # a size beyond floats compares with integers
        name = "krr" if size <= few else "orr"
    if name in ("krr", "oue"):
        if name == "oue" and size > MOST_BITS:
            remedy = f"would report more than {MOST_BITS} bits: use 'orr', of like variance"
            raise InvalidArgument("gram_mechanism", name, remedy)
        grams = layout.grams().tolist()
        return KRR(grams, epsilon) if name == "krr" else KRAPPOR(grams, epsilon, theta=0.5)
    return _hashed(name, epsilon, _GRAM_COHORTS)


def string_mechanism(name: str, epsilon: float) -> Mechanism:
    """A mechanism for whole strings by its name, "orr" or "rappor"; see `gram_mechanism`."""
    return _hashed(one_of("string_mechanism", name, STRING_MECHANISMS), epsilon, _STRING_COHORTS)


def _hashed(name: str, epsilon: float, n_cohorts: int) -> Mechanism:
    if name == "rappor":
        odds = np.exp(epsilon / 2.0) / 3.0  # of q; those of p = 1/4 are 1/3
        return RAPPOR(128, 2, _BLOOM_COHORTS, f=0.0, p=0.25, q=float(odds / (1.0 + odds)))
    # more labels would hardly help, and their counts in all cohorts are held in memory
    outputs = min(max(round(float(np.exp(epsilon))) + 1, 2), _MOST_CELLS // n_cohorts)
    return ORR(outputs, n_cohorts, epsilon=epsilon)


def carries_grams(mechanism: Mechanism, layout: GramLayout) -> None:
    """Refuse a mechanism that does not know all grams, or does not protect them all."""
    if mechanism.sensitive is not None:
        remedy = "protects sensitive categories alone: use one of all, such as KRR or KRAPPOR"
        raise InvalidArgument("gram_mechanism", str(mechanism), remedy)
    if mechanism.is_open:
        if not hashes_any(mechanism):
            remedy = "must hash any string by a hash that is known here, or list all grams"
            raise InvalidArgument("gram_mechanism", str(mechanism), remedy)
        return
    grams = layout.grams()
    lacking = ~pd.Index(grams.tolist(), dtype=object).isin(mechanism.categories)
    if lacking.any() or len(mechanism.categories) != grams.size:
        shown = str(grams[lacking][0]) if lacking.any() else f"{len(mechanism.categories)} labels"
        raise InvalidArgument(
            "gram_mechanism",
            str(mechanism),
            f"must have the {grams.size} grams for its categories ({shown!r} is at fault): "
            "DictionarySurvey(...).layout.grams() lists them",
        )


def hashes_any(mechanism: Mechanism) -> bool:
    """Whether a mechanism takes any string, by a hash that is known here."""
    return isinstance(mechanism, Hashed) and mechanism.is_open and mechanism.answer_hash.is_known


def budgets(
    epsilon: float | None, split: Any, string: Any, gram: Any
) -> tuple[float, float, float]:
    """Epsilons of the string, of a gram, and of all three reports."""
    own_string = string.epsilon if isinstance(string, Mechanism) else None
    own_gram = gram.epsilon if isinstance(gram, Mechanism) else None
    for name, value in (("string_mechanism", own_string), ("gram_mechanism", own_gram)):
        if value is not None and not np.isfinite(value):
            raise InvalidArgument(name, value, "has no finite epsilon: nothing is protected")
    if epsilon is None:
        if own_string is None or own_gram is None:
            raise InvalidArgument(
                "epsilon", None, "is needed unless both mechanisms are given, which have their own"
            )
        total = own_string + 2.0 * own_gram
    else:
        total = positive_epsilon("epsilon", epsilon)
    if split is None:
        share = own_string / total if own_string is not None else None
        if share is None:
            share = 1.0 / 3.0 if own_gram is None else 1.0 - 2.0 * own_gram / total
    else:
        share = _checked_split(split)
    parts = share * total, (1.0 - share) / 2.0 * total
    for name, part, own in (
        ("string_mechanism", parts[0], own_string),
        ("gram_mechanism", parts[1], own_gram),
    ):
        if own is not None and abs(part - own) > 1e-9 * total:
            raise InvalidArgument(
                name,
                f"epsilon {own:.6g}",
                f"does not fit: of epsilon={total:.6g} its share is {part:.6g}; a string and two "
                "grams must add up to the whole",
            )
        if own is None and part < EPSILON_RANGE[0]:
            raise InvalidArgument(
                "epsilon", total, f"leaves {part:.6g} for {name}: the budgets do not add up"
            )
    string_eps = parts[0] if own_string is None else own_string
    gram_eps = parts[1] if own_gram is None else own_gram
    return float(string_eps), float(gram_eps), float(total)


def _checked_split(split: Any) -> float:
    """The string's share, from three that add up to one."""
    remedy = (
        "must be three positive shares (string, first gram, second gram) that add up to one, the "
        "two of the grams equal: for example (0.3, 0.35, 0.35)"
    )
    if isinstance(split, str | Mapping) or not np.iterable(split):
        raise InvalidArgument("split", split, remedy)
    shares = list(split)
    if len(shares) != 3 or not all(
        isinstance(s, int | float | np.integer | np.floating) and not isinstance(s, bool)
        for s in shares
    ):
        raise InvalidArgument("split", split, remedy)
    if not all(0.0 < s < 1.0 for s in shares) or abs(sum(shares) - 1.0) > 1e-9:
        raise InvalidArgument("split", split, f"adds up to {sum(shares):.6g}: {remedy}")
    if abs(shares[1] - shares[2]) > 1e-9:
        raise InvalidArgument("split", split, remedy)
    return float(shares[0])
