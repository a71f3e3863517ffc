"""A mechanism of one's own, of which only Q is written, does all that the package's own do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp


@dataclass(frozen=True, eq=False)
class NearbyGrade(ldp.Enumerated):
    rate: float
    categories = pd.RangeIndex(5)

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self.channel().epsilon()

    def channel(self, candidates: Any = None) -> ldp.channels.Channel:
        steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
        Q = np.exp(-self.rate * steps)
        return ldp.channels.Dense(Q / Q.sum(axis=1, keepdims=True))


P = np.array([0.1, 0.2, 0.4, 0.2, 0.1])


def test_its_epsilon_is_proved_from_q_and_its_sampler() -> None:
    audit = NearbyGrade(0.5).audit()
    assert audit.declared == pytest.approx(4 * 0.5) and audit.agrees and audit.private


def test_its_estimate_is_the_custom_mechanism_s() -> None:
    own = NearbyGrade(0.5)
    values = np.random.default_rng(1).choice(5, size=20_000, p=P)
    reports = own.privatize(values, np.random.default_rng(2))
    custom = ldp.CustomMechanism(own.channel().matrix())
    same = custom.privatize(values, np.random.default_rng(2))
    np.testing.assert_array_equal(reports.y, same.y)
    found, expected = ldp.FrequencyModel(reports).fit(), ldp.FrequencyModel(same).fit()
    pd.testing.assert_series_equal(found.params, expected.params)
    assert (np.abs(found.params - P) < 5 * found.bse).all()


def test_its_specification_and_client() -> None:
    own = NearbyGrade(0.5)
    assert NearbyGrade.from_dict(own.to_dict()) == own != NearbyGrade(0.6)
    assert own.report_labels(own.client().privatize([3]))[0] in own.outputs
