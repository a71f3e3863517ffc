"""What a device refuses to send: no privacy, or more epsilon than its limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

KRR = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)
SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
PUM = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))


MANGAT = ldp.Mangat(p=0.6)
MAKERS: dict[str, Callable[..., Any]] = {
    "client": lambda m, **how: m.client(**how),
    "collector": lambda m, **how: m.collector(**how),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_no_privacy_is_refused_unless_allowed(make: Callable[..., Any]) -> None:
    identity = ldp.CustomMechanism(np.eye(3))
    nobody = ldp.URR(3, (), epsilon=1.0), ldp.URAP(3, (), epsilon=1.0)
    certain = ldp.RAPPOR(8, 1, 2, f=0.0, p=0.2, q=1.0)
    yes = ldp.ForcedResponse(p_truth=0.7, p_yes=0.3)
    for mechanism in (MANGAT, identity, *nobody, certain, yes):
        with pytest.raises(ldp.InvalidArgument, match="allow_no_privacy=True"):
            make(mechanism)
        make(mechanism, allow_no_privacy=True)
        with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
            make(mechanism, allow_no_privacy=True, max_epsilon=40.0)
        mechanism.to_dict()
        assert not mechanism.audit().private
    for mechanism in (
        ldp.ForcedResponse(p_truth=2 / 3, p_yes=1 / 6),
        ldp.URR(3, {0}, epsilon=1.0),
        KRR,
    ):
        make(mechanism)
        assert mechanism.audit().private
    assert ldp.FrequencyModel(MANGAT.privatize(["yes"] * 9, np.random.default_rng(1))).fit()
    for bad in (1, None, "yes", np.array([True, False])):
        with pytest.raises(ldp.InvalidArgument, match="allow_no_privacy"):
            make(MANGAT, allow_no_privacy=bad)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_device_has_its_own_limit(make: Callable[..., Any]) -> None:
    design = ldp.ForcedResponse(p_truth=2 / 3, p_yes=1 / 6)
    for mechanism, epsilon in (
        (KRR, 1.0),
        (design, np.log(5.0)),
        (ldp.URR(3, {0}, epsilon=1.5), 1.5),
        (ldp.URR(3, epsilon={0: 0.5, 2: 2.5}), 2.5),
        (SURVEY, 6.0),
        (ldp.ORR(8, 4, epsilon=2.0), 2.0),
    ):
        make(mechanism, max_epsilon=epsilon)
        with pytest.raises(ldp.InvalidArgument, match=r"max_epsilon=.*spends"):
            make(mechanism, max_epsilon=0.99 * epsilon)
    for bad in (-1.0, np.nan, np.inf, "1", np.array([1.0, 2.0]), True):
        with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
            make(KRR, max_epsilon=bad)


def test_the_limit_of_a_client_that_remembers_is_that_of_its_lifetime() -> None:
    lasting = ldp.RAPPOR(128, 2, 8, f=0.5, p=0.5, q=0.75)
    lasting.client(max_epsilon=lasting.lifetime_epsilon)
    lasting.collector(max_epsilon=lasting.epsilon)
    with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
        lasting.client(max_epsilon=2.0)
    PUM.client({}, max_epsilon=1.0)
    with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
        PUM.client({}, max_epsilon=0.5)


def test_too_many_cohorts_are_warned_of() -> None:
    ldp.ORR(8, 1 << 16, epsilon=1.0).client()
    for mechanism in (
        ldp.ORR(8, (1 << 16) + 1, epsilon=1.0),
        ldp.RAPPOR(8, 1, (1 << 16) + 1, f=0.5, p=0.2, q=0.8),
        ldp.DictionarySurvey(
            4, 2, "ab", string_mechanism=ldp.ORR(8, 1 << 17, epsilon=1.0), epsilon=3.0
        ),
    ):
        with pytest.warns(ldp.LDPWarning, match="recognised"):
            mechanism.client()
        mechanism.collector()
