"""Questions to the persons of a sample, and totals of their reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import ldpstats as ldp
from benchmarks.samples.population import REGIONS, SHARES, Drawn
from ldpstats.inference.designs.linearisation import LinearTotals, design_covariance, missed_noise
from ldpstats.inference.designs.tests import Counted
from ldpstats.likelihood.joint import Decoding, decode
from ldpstats.models.weighted.base import SampleFacts
from ldpstats.models.weighted.model import WeightedModel, WeightedVariable
from ldpstats.reports.single import Reports

__all__ = ["ALPHA", "EPSILONS", "MECHANISMS", "D", "K", "Question", "totals"]

Array = npt.NDArray[Any]

K, D = SHARES.size, REGIONS.size
MECHANISMS = {
    "k-RR": ldp.KRR,
    "RAPPOR": ldp.KRAPPOR,
    "URR": lambda k, epsilon: ldp.URR(k, range(k - 2, k), epsilon),
}
EPSILONS = (0.5, 1.0, 3.0)
ALPHA = 0.05
_FACTS = SampleFacts("", "", 1, 1, 1, 1.0, 1.0, 1.0)  # are not looked at


@dataclass(frozen=True, eq=False)
class Question:
    """A mechanism whose reports are numbers, the columns of its channel matrix."""

    mechanism: ldp.Mechanism

    @cached_property
    def law(self) -> Array:
        """P(report <= y | x) + x, one row after another: increasing, (k l,)."""
        Q = self.mechanism.channel().matrix()
        return (np.cumsum(Q, axis=1) + np.arange(len(Q))[:, None]).reshape(-1)

    @cached_property
    def reports(self) -> Reports:
        """Every report once, (l,)."""
        bits = self.mechanism.n_bits
        if not bits:
            return Reports(np.arange(self.mechanism.n_outputs), self.mechanism)
        patterns = (np.arange(2**bits)[:, None] >> np.arange(bits)) & 1
        return Reports(np.packbits(patterns, axis=1, bitorder="little"), self.mechanism)

    @cached_property
    def names(self) -> Array:
        """Every report as tables have it, (l,)."""
        if not self.mechanism.n_bits:
            return self.mechanism.outputs.to_numpy()
        bits = self.mechanism.format.unpack(self.reports.y).astype(int)
        return np.array(["".join(map(str, row)) for row in bits], dtype=object)

    @cached_property
    def decoding(self) -> Decoding:
        """What each report says of the answer."""
        return decode(self.reports)

    @cached_property
    def counted(self) -> Counted:
        """The report that each category is counted by."""
        return Counted.by(self.decoding)

    def ask(self, answer: Array, rng: np.random.Generator) -> Array:
        """Reports of answers, (n,)."""
        l = len(self.reports)  # noqa: E741
        u = np.minimum(rng.random(answer.size), 1.0 - 1e-9)  # sums of rows may fall short of one
        return np.searchsorted(self.law, answer + u, side="right") - answer * l

    def model(self, drawn: Drawn, y: Array, domain: Array, n_domains: int) -> WeightedModel:
        """The model of reports y in domains of a sample."""
        l = len(self.reports)  # noqa: E741
        sample, codes = drawn.cells(domain * l + y, n_domains * l)
        labels = tuple((d,) for d in range(n_domains))
        asked = WeightedVariable("", self.reports, codes % l)
        return WeightedModel(sample, _FACTS, (asked,), codes // l, ("d",), labels)


def totals(model: WeightedModel) -> tuple[LinearTotals, LinearTotals]:
    """Totals with their covariance, and with one whose correction shrinks the noise too."""
    sample, scores = model.sample, model.scores
    estimate, noise = scores.totals(sample.w), model.noise(sample.w2)
    residuals = scores if sample.residuals is None else sample.residuals(scores)
    between = design_covariance(sample, residuals)
    missed = model.noise(sample.w2 * missed_noise(sample))
    return (
        LinearTotals(estimate, between + missed, noise),
        LinearTotals(estimate, between, noise),
    )
