"""An epsilon for each sensitive category of URAP, and for each tag of PUM."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from shared.bad_values import Refusal, refuses

import ldpstats as ldp
from ldpstats.sampling import samplers as realised

LEVELS: dict[str, dict[str, Any]] = {
    "two": {"categories": 5, "epsilon": {0: 1.0, 3: 2.0}},
    "alike": {"categories": 4, "epsilon": {0: 0.1, 1: 0.1, 2: 8.0}},
    "all": {"categories": 5, "epsilon": {i: 0.3 * (i + 1) for i in range(5)}},
    "far": {"categories": 5, "epsilon": {4: 1e-3, 0: 3.0, 2: 1.0, 1: 10.0}},
    "theta": {"categories": 4, "epsilon": {1: 0.5, 2: 1.5}, "theta": 0.4},
    "theta near one": {"categories": 3, "epsilon": {1: 0.5, 2: 1.5}, "theta": 0.999},
    "theta small": {"categories": 3, "epsilon": {0: 0.5, 2: 4.0}, "theta": 1e-3},
    "two categories": {"categories": 2, "epsilon": {0: 0.5, 1: 4.0}},
}


def ratios(Q: np.ndarray, protected: int) -> np.ndarray:
    """Largest ln Q[x, y] / Q[x', y] over the protected reports y, shape (k, k)."""
    L = np.log(Q[:, :protected])
    return np.asarray((L[:, None] - L[None]).max(axis=2))


@pytest.mark.parametrize("name", LEVELS)
def test_each_category_has_its_own_epsilon(name: str) -> None:
    """By brute force over all pairs and all protected reports; the bound is reached."""
    urap = ldp.URAP(**LEVELS[name])
    levels, k = LEVELS[name]["epsilon"], urap.k
    Q, G = urap.channel().matrix(), urap.pair_epsilon()
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-13)
    found = ratios(Q, 2 ** len(levels))
    for x, other in itertools.permutations(range(k), 2):
        assert G[x, other] == levels.get(x, 0.0)
        assert found[x, other] == pytest.approx(G[x, other], abs=2e-12)
    audit = urap.audit()
    assert audit.agrees and audit.declared == max(levels.values())
    assert audit.channel == pytest.approx(urap.epsilon, abs=2e-12)
    assert audit.sampler <= urap.epsilon + 1e-9
    assert ldp.privacy.uldp(urap).epsilon == pytest.approx(urap.epsilon, abs=2e-12)


@pytest.mark.parametrize("theta", [None, 1e-9, 0.5, 1.0 - 1e-9])
def test_no_levels_leak_by_rounding(theta: float | None) -> None:
    for levels in (
        {0: 1e-6, 1: 50.0},
        {0: 50.0, 1: 50.0 - 1e-9},
        {0: 1e-6, 1: 1e-6 + 1e-9},
        {0: 50.0, 1: 1.0, 2: 25.0},
        {0: 0.1, 1: 40.0},
    ):
        for k in (len(levels), len(levels) + 1, 1000):
            audit = ldp.URAP(k, epsilon=levels, theta=theta).audit()
            assert audit.agrees, (levels, k, audit)


def test_equal_levels_are_one_epsilon() -> None:
    one = ldp.URAP(4, {1, 3}, 1.5, theta=0.4)
    for other in (
        ldp.URAP(4, epsilon={3: 1.5, 1: 1.5}, theta=0.4),
        ldp.URAP(4, [3, 1], 1.5, 0.4, levels=[1.5, 1.5]),
    ):
        assert one == other and one.fingerprint == other.fingerprint and other.levels is None
    # nearly equal levels make nearly the same channel, by other formulas
    near = ldp.URAP(4, epsilon={1: 1.5, 3: 1.5 + 1e-12}, theta=0.4)
    Q = one.channel().matrix()
    np.testing.assert_allclose(near.channel().matrix(), Q, atol=1e-11)


def test_the_choice_of_bits_is_the_best_for_its_d2() -> None:
    """Other bits that keep the guarantee, with the same d2, have larger variances."""
    rng, eps = np.random.default_rng(1), np.array([0.5, 2.0])
    urap = ldp.URAP(3, epsilon={0: 0.5, 1: 2.0})
    p1, d1, d2 = urap.p1, urap.d1, urap.d2
    own = d1 * (1 - d1) / (p1 - d1) ** 2
    for _ in range(200):
        v = d2 + (1 - d2) * rng.random(2) * 0.99
        u = 1 + (d2 * np.exp(eps) - 1) * (1 - 0.99 * rng.random(2))
        d = (1 - v) / (u - v)  # from u d + v (1 - d) = 1
        assert np.all(u <= d2 * np.exp(eps) + 1e-12)
        assert np.all(d * (1 - d) / (d * (u - 1)) ** 2 >= own * (1 - 1e-12))


def test_specifications_before_there_were_levels_are_read() -> None:
    one = ldp.URAP(4, {1, 3}, 1.5)
    document = one.to_dict()
    assert "levels" not in document and ldp.URAP.from_dict(document) == one
    graded = ldp.URAP(("a", "b", "c"), epsilon={"c": 0.5, "a": 1.0}, theta=0.4)
    document = json.loads(json.dumps(graded.to_dict()))
    assert document["levels"] == [1.0, 0.5] and ldp.URAP.from_dict(document) == graded
    with pytest.raises(ldp.InvalidArgument, match="fingerprint"):
        ldp.URAP.from_dict(document | {"levels": [1.0, 0.4]})


def test_the_audit_catches_a_category_that_leaks() -> None:
    right = ldp.URAP(4, epsilon={0: 0.5, 2: 3.0})
    for place, factor in ((0, 0.999), (1, 0.999)):
        graded = [np.array(part) for part in right._graded]
        graded[1][place] *= factor  # a bit of another category is set less often
        wrong = ldp.URAP(4, epsilon={0: 0.5, 2: 3.0})
        wrong.__dict__["_graded"] = tuple(graded)
        audit = wrong.audit()
        assert right.audit().agrees and not audit.agrees
        assert audit.channel == pytest.approx(3.0 - np.log(factor), rel=1e-3)


def test_realised_ratios_are_those_of_exact_integers() -> None:
    one = 1 << 64
    own, other, told = [one // 2, 3 * (one // 4)], [one // 4, one // 4], one // 4
    found = realised.realised_bits_raised(own, other, told, others=2)
    Q = np.array([[0.5, 0.25], [0.25, 0.75], [0.25, 0.25]])
    law = np.array([[np.prod(np.where(b, q, 1 - q)) for b in np.ndindex(2, 2)] for q in Q])
    law[2] *= 0.75
    best = ratios(law, 4)
    np.testing.assert_allclose(found, [best[0].max(), best[1].max(), best[2].max()], rtol=1e-14)


# ---- tags


def pum(kind: type = ldp.URR, **tags: float) -> ldp.PUM:
    return ldp.PUM(kind(4, {0}, epsilon=1.0), tags or {"home": 0.4, "work": 2.0})


@pytest.mark.parametrize("kind", [ldp.URR, ldp.URAP])
def test_each_tag_has_its_own_epsilon(kind: type) -> None:
    """Proposition 9 by brute force: her own categories have the epsilon of their tags."""
    both = pum(kind)
    assert both.levels == (0.4, 2.0) and both.epsilon == 2.0
    assert both.common.levels == (1.0, 0.4, 2.0) and both.common.audit().agrees
    Q = both.channel({"home": {1}, "work": {2}}).matrix()
    assert ldp.privacy.uldp(Q, [0, 1, 2]).epsilon == pytest.approx(2.0, abs=1e-12)
    made = Q.any(axis=0) & (np.count_nonzero(Q, axis=0) > 1)
    L = np.log(Q[:, made])
    found = (L[:, None] - L[None]).max(axis=2)
    for x, epsilon in enumerate((1.0, 0.4, 2.0, 0.0)):
        for other in set(range(4)) - {x}:
            assert found[x, other] == pytest.approx(epsilon, abs=1e-12)
    together = both.channel({"home": {1, 2}}).matrix()
    np.testing.assert_array_equal(together[1], together[2])


@pytest.mark.parametrize("kind", [ldp.URR, ldp.URAP])
def test_what_a_report_tells_of_her_tags_has_the_epsilon_of_the_tag(kind: type) -> None:
    """Proposition 10: the same answer under two preprocessors, over protected reports."""
    both = pum(kind)
    plain, tagged = both.channel().matrix(), both.channel({"home": {1}}).matrix()
    protected = np.count_nonzero(both.common.channel().matrix(), axis=0) > 1
    ratio = np.log(tagged[1, protected]) - np.log(plain[1, protected])
    assert ratio.max() == pytest.approx(0.4, abs=1e-12) and ratio.min() >= -1e-12


def test_tags_without_levels_are_as_before() -> None:
    base = ldp.URR(4, epsilon={0: 2.0, 3: 0.5})
    one, named = ldp.PUM(base, ("home", "work")), ldp.PUM(base, {"home": 0.5, "work": 0.5})
    assert one == named and one.levels is None and one.fingerprint == named.fingerprint
    assert "levels" not in one.to_dict()
    graded = pum()
    document = json.loads(json.dumps(graded.to_dict()))
    assert ldp.PUM.from_dict(document) == graded and document["levels"] == [0.4, 2.0]
    assert "{'home': 0.4, 'work': 2}" in str(graded)
    client = graded.client({"home": {1}})
    assert client.report(1) in {0, "home", "work"}
    reports = graded.privatize([1, 2, 3], np.random.default_rng(1), tags={"home": [1, 1, None]})
    assert reports.mechanism == graded.common


EPSILONS = {
    "negative": -1.0,
    "zero": 0.0,
    "nan": np.nan,
    "text": "1",
    "true": True,
    "huge": 1e300,
    "nothing": None,
}
BAD = [
    *refuses("epsilon['a']", lambda v: ldp.URAP(("a", "b"), epsilon={"a": v}), EPSILONS),
    *refuses(
        "tags['home']",
        lambda v: ldp.PUM(ldp.URR(3, {0}, 1.0), {"home": v}),
        EPSILONS,
    ),
    *refuses(
        "levels",
        lambda v: ldp.URAP(3, {0, 1}, 1.0, levels=v),
        {"one": [1.0], "a number": 1.0, "three": [1.0, 1.0, 0.5], "text": "ab"},
    ),
    *refuses("levels", lambda v: ldp.PUM(ldp.URR(3, {0}, 1.0), ("home",), v), {"two": [1.0, 0.5]}),
    *refuses(
        "theta",
        lambda v: ldp.URAP(3, epsilon={0: 1.0, 1: 2.0}, theta=v),
        {"near one": 1.0 - 1e-10, "one": 1.0, "zero": 0.0, "text": "x"},
    ),
    *refuses("epsilon[2]", lambda v: ldp.URAP(3, {0}, v), {"another": {0: 1.0, 2: 1.0}}),
    *refuses("epsilon", lambda v: ldp.URAP(3, {0, 1}, v), {"lacks one": {0: 1.0}, "none": {}}),
    *refuses("epsilon", lambda v: ldp.URAP(3, {0}, v, levels=[1.0]), {"not the largest": 2.0}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()
