"""Samplers of devices: reports with exactly the law that the device has."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import inf, lcm
from typing import Any, NamedTuple

from ldpstats.arguments import Array
from ldpstats.clients.device import check_table, fraction
from ldpstats.programs.laws import Law, ratio_of_rows
from ldpstats.sampling.samplers import (
    CERTAIN,
    Inversion,
    Words,
    inversion,
    sample_inversions,
    sample_krr,
    sample_others,
    sample_own,
)


class Sampler(NamedTuple):
    """How the reports of a device are drawn."""

    draw: Callable[[Array, Words], Array]  # numbers of the outputs of users of some categories
    document: Callable[[], dict[str, Any]]  # the draw as client documents say it
    ratio: Callable[[], Fraction | float]  # the largest of two probabilities that integers realise


def sampler(law: Law, outputs: list[Any]) -> Sampler:
    """The sampler of a law without unknown parameters; reports are numbered as in `outputs`."""
    even, k, places = law.even, len(law.categories), {label: y for y, label in enumerate(outputs)}
    if even is None or tuple(outputs[:k]) != law.categories:
        return _by_row(law, places)
    own = Fraction(even.own)  # type: ignore[arg-type]
    if own >= 0 and not even.extra and len(outputs) == k:
        scaled = own * CERTAIN  # k-RR: the truth with this probability, else any category
        keep = int(scaled)
        rest = scaled - keep
        document = {"kind": "keep", "k": k, "keep": str(keep)}
        document |= {"rest": fraction(rest)} if rest else {}
        return Sampler(
            lambda x, words: sample_krr(x, k, keep, words, rest),
            lambda: document,
            lambda: _over(k * (keep + rest), CERTAIN - keep - rest) + 1,
        )
    common = [Fraction(even.base)] * k + [Fraction(0)] * (len(outputs) - k)  # type: ignore[arg-type]
    for label, p in even.extra.items():
        common[places[label]] += Fraction(p)  # type: ignore[arg-type]
    chances = [own, *common] if own >= 0 else common
    total = lcm(*{p.denominator for p in chances})
    drawn = inversion([int(p * total) for p in chances])
    if own >= 0:  # the truth, or a report from a law that all categories have in common
        document = {"kind": "own", "law": drawn.document()}
        one, *others = drawn.law()
        return Sampler(
            lambda x, words: sample_own(x, k, drawn, words),
            lambda: document,
            lambda: _over(one, min(others[:k])) + 1,
        )
    # a report from the common law, drawn anew with some probability where it is the truth
    accepted = [1 + own / p for p in common[:k]]
    document = {"kind": "others", "law": drawn.document()}
    document["accepted"] = list(map(fraction, accepted))
    return Sampler(
        lambda x, words: sample_others(x, k, drawn, accepted, words),
        lambda: document,
        lambda: 1 / least if (least := min(accepted)) else inf,
    )


def _over(high: Fraction | int, low: Fraction | int) -> Fraction | float:
    return Fraction(high) / low if low else inf if high else 0


def _by_row(law: Law, places: dict[Any, int]) -> Sampler:
    """Each category by its own row, which is made when it is first used."""
    k = len(law.categories)

    @cache
    def row(x: int) -> Inversion:
        chances: dict[Any, Any] = law.row(x)
        # all outputs, so that its size does not tell which category it is
        weights, total = [0] * len(places), lcm(*{p.denominator for p in chances.values()})
        for label, p in chances.items():
            weights[places[label]] = p.numerator * (total // p.denominator)
        return inversion(weights)

    def document() -> dict[str, Any]:
        check_table("this device", k * len(places))
        return {"kind": "exact", "rows": [row(x).document() for x in range(k)]}

    return Sampler(
        lambda x, words: sample_inversions(x, k, row, words),
        document,
        lambda: ratio_of_rows((enumerate(row(x).law()) for x in range(k)), k),
    )
