"""Samplers of devices: reports with exactly the law that the device has."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, lcm
from typing import Any

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


def sampler(law: Law, outputs: list[Any]) -> Sampler:
    """The sampler of a law without unknown parameters; reports are numbered as in `outputs`.

    It draws the numbers of the outputs that users of some categories report, (n,); it writes the
    draw as client documents say it, and knows the largest ratio of two probabilities of one report
    that its integers realise.
    """
    even, places = law.even, {label: y for y, label in enumerate(outputs)}
    if even is None or tuple(outputs[: len(law.categories)]) != law.categories:
        return _ByRow(law, places)
    own, k = Fraction(even.own), len(law.categories)  # type: ignore[arg-type]
    if own >= 0 and not even.extra and len(outputs) == k:
        scaled = own * CERTAIN
        keep = int(scaled)  # rounded down
        return _Kept(k, keep, scaled - keep)
    common = [Fraction(even.base)] * k + [Fraction(0)] * (len(outputs) - k)  # type: ignore[arg-type]
    for label, p in even.extra.items():
        common[places[label]] += Fraction(p)  # type: ignore[arg-type]
    total = lcm(*{p.denominator for p in ([own, *common] if own >= 0 else common)})
    if own >= 0:
        return _Own(k, inversion([int(p * total) for p in (own, *common)]))
    accepted = [1 + own / p for p in common[:k]]
    return _Others(k, inversion([int(p * total) for p in common]), accepted)


@dataclass(frozen=True, eq=False)
class _Kept:
    """k-RR: the truth with probability (keep + rest) / 2**64, else any category."""

    k: int
    keep: int
    rest: Fraction

    def draw(self, codes: Array, words: Words) -> Array:
        return sample_krr(codes, self.k, self.keep, words, self.rest)

    def document(self) -> dict[str, Any]:
        rest = {"rest": fraction(self.rest)} if self.rest else {}
        return {"kind": "keep", "k": self.k, "keep": str(self.keep), **rest}

    def ratio(self) -> Fraction | float:
        kept = self.keep + self.rest
        return _over(self.k * kept + CERTAIN - kept, CERTAIN - kept)


@dataclass(frozen=True, eq=False)
class _Own:
    """The truth, or a report from a law that all categories have in common."""

    k: int
    common: Inversion

    def draw(self, codes: Array, words: Words) -> Array:
        return sample_own(codes, self.k, self.common, words)

    def document(self) -> dict[str, Any]:
        return {"kind": "own", "law": self.common.document()}

    def ratio(self) -> Fraction | float:
        own, *common = self.common.law()
        if own == 0 or self.k < 2:
            return Fraction(1)
        return _over(own + (least := min(common[: self.k])), least)


@dataclass(frozen=True, eq=False)
class _Others:
    """A report from a common law, drawn anew with some probability where it is the truth."""

    k: int
    common: Inversion
    accepted: list[Fraction]

    def draw(self, codes: Array, words: Words) -> Array:
        return sample_others(codes, self.k, self.common, self.accepted, words)

    def document(self) -> dict[str, Any]:
        accepted = [fraction(chance) for chance in self.accepted]
        return {"kind": "others", "law": self.common.document(), "accepted": accepted}

    def ratio(self) -> Fraction | float:
        common = self.common.law()
        if self.k < 2:
            return Fraction(1)
        return max(_over(Fraction(1), accepted) for accepted in self.accepted[: len(common)])


@dataclass(frozen=True, eq=False)
class _ByRow:
    """Each category by its own row."""

    law: Law
    places: dict[Any, int]
    rows: dict[int, Inversion] = field(default_factory=dict)

    def draw(self, codes: Array, words: Words) -> Array:
        return sample_inversions(codes, len(self.law.categories), self.row, words)

    def row(self, x: int) -> Inversion:
        """The row of category number x, made when it is first used."""
        if x not in self.rows:
            row = self.law.row(x)
            # all outputs, so that its size does not tell which category it is
            weights, total = [0] * len(self.places), lcm(*{p.denominator for p in row.values()})  # type: ignore[union-attr]
            for label, p in row.items():
                weights[self.places[label]] = p.numerator * (total // p.denominator)  # type: ignore[union-attr]
            self.rows[x] = inversion(weights)
        return self.rows[x]

    def document(self) -> dict[str, Any]:
        k = len(self.law.categories)
        check_table("this device", k * len(self.places))
        return {"kind": "exact", "rows": [self.row(x).document() for x in range(k)]}

    def ratio(self) -> Fraction | float:
        k = len(self.law.categories)
        return ratio_of_rows((enumerate(self.row(x).law()) for x in range(k)), k)


Sampler = _Kept | _Own | _Others | _ByRow


def _over(high: Fraction | int, low: Fraction | int) -> Fraction | float:
    return Fraction(high) / low if low else inf
