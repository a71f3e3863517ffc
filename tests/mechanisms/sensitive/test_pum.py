"""PUM: the common mechanism, what respondents send, and Propositions 9 and 10."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.pum_surveys import MECHANISMS, personal, report_law

import ldpstats as ldp
from ldpstats import io, privacy
from ldpstats.channels import Mapped

Array = npt.NDArray[Any]
SMALL: dict[str, ldp.PUM] = {
    "urr": ldp.PUM(ldp.URR(4, {0}, epsilon=1.0), ("home", "work")),
    "urr-weak": ldp.PUM(ldp.URR(4, {0, 2}, epsilon=4.0), ("home", "work")),
    "urr-none": ldp.PUM(ldp.URR(4, (), epsilon=0.3), ("home", "work")),
    "urr-all": ldp.PUM(ldp.URR(4, range(4), epsilon=0.7), ("home", "work")),
    "urr-levels": ldp.PUM(ldp.URR(4, epsilon={0: 2.0, 3: 0.5}), ("home", "work")),
    "urap": ldp.PUM(ldp.URAP(4, {0}, epsilon=1.0), ("home", "work")),
    "urap-none": ldp.PUM(ldp.URAP(4, (), epsilon=2.0), ("home", "work")),
    "urap-theta": ldp.PUM(ldp.URAP(4, {1}, epsilon=1.5, theta=0.6), ("home", "work")),
}


# ---- the common mechanism and what respondents send


@pytest.mark.parametrize("name", SMALL)
def test_bots_are_sensitive_categories_of_the_common_mechanism(name: str) -> None:
    pum = SMALL[name]
    base, common = pum.mechanism, pum.common
    assert common.categories.tolist() == [0, 1, 2, 3, "home", "work"]
    assert common.sensitive.tolist() == [*base.sensitive.tolist(), "home", "work"]
    assert pum.categories.tolist() == [0, 1, 2, 3] and pum.tags.tolist() == ["home", "work"]
    assert type(common) is type(base) and common.audit().agrees
    assert privacy.uldp(common).epsilon == pytest.approx(pum.epsilon, rel=1e-12)


def test_preprocessing_is_each_respondents_own() -> None:
    pum = SMALL["urr"]
    values = [1, 1, 2, 0, 3, 2]
    tags = {"home": [1, 2, 2, 0, None, np.nan], "work": [2, 1, 3, 1, 3, None]}
    codes = pum.preprocess(values, tags)
    assert codes.dtype == np.int64
    assert pum.common.categories[codes].tolist() == ["home", "work", "home", "home", "work", 2]
    assert pum.preprocess(values).tolist() == values


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("value", ["clinic", "park", "centre", "market"])
def test_reports_of_a_client_have_the_law_of_her_channel(kind: str, value: str) -> None:
    regions = ("centre", "park", "clinic", "market")
    pum = ldp.PUM(MECHANISMS[kind](regions, {"clinic"}), ("home", "work"))
    own = {"home": {"park"}, "work": ["market"]}
    client = pum.client(own, entropy=np.random.default_rng(5).bytes, reports=None)
    Q = pum.channel(own).matrix()
    reports = [client.report(value) for _ in range(300)]
    assert report_law(pum, Q[regions.index(value)], reports) > 1e-4
    others = Q[regions.index("centre" if value != "centre" else "park")]
    with pytest.raises(AssertionError):  # control: the law of another category is found out
        assert report_law(pum, others, reports) > 1e-4


@pytest.mark.parametrize("name", SMALL)
def test_specifications_are_read_back(name: str) -> None:
    pum = SMALL[name]
    text = json.dumps(pum.to_dict(), allow_nan=False)
    again = ldp.PUM.from_dict(json.loads(text))
    assert again.to_dict() == pum.to_dict() and again.common == pum.common
    assert str(pum).startswith(f"PUM({pum.mechanism}")


# ---- Propositions 9 and 10, over all pre-processors


def preprocessors(pum: ldp.PUM) -> Iterator[dict[str, set[int]]]:
    """Every way to give each category to one of the tags, or to none."""
    for owner in itertools.product([None, *pum.tags], repeat=len(pum.categories)):
        yield {tag: {x for x, o in enumerate(owner) if o == tag} for tag in pum.tags}


def breaches(Q: Array, protected: Array, sensitive: set[int], epsilon: float) -> list[str]:
    """What of Definition 2 of MK19 a channel breaks, given the protected reports."""
    found = []
    for y in np.flatnonzero(~protected):
        makers = set(np.flatnonzero(Q[:, y]))
        if len(makers) > 1 or makers & sensitive:
            found.append(f"report {y} reveals, but {makers} make it")
    Q = Q[:, protected]
    if not np.all(Q > 0.0):
        found.append("a protected report is impossible for some category")
    elif np.log(Q.max(axis=0) / Q.min(axis=0)).max() > epsilon * (1.0 + 1e-12):
        found.append("a protected report tells categories apart by more than epsilon")
    return found


@pytest.mark.parametrize("name", SMALL)
def test_every_preprocessor_is_protected(name: str) -> None:
    """MK19 Proposition 9, from Q alone."""
    pum = SMALL[name]
    common, base = pum.common.channel().matrix(), set(pum.mechanism.sensitive)
    protected = np.count_nonzero(common, axis=0) > 1
    for own in preprocessors(pum):
        channel = pum.channel(own)
        sensitive = base.union(*own.values())
        assert breaches(channel.matrix(), protected, sensitive, pum.epsilon) == []
        certificate = privacy.uldp(channel, sorted(sensitive))
        assert certificate.holds and certificate.epsilon <= pum.epsilon * (1.0 + 1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_no_protected_report_tells_preprocessors_apart(name: str) -> None:
    """MK19 Proposition 10, for all pairs: from the largest and smallest entry over all."""
    pum = SMALL[name]
    protected = np.count_nonzero(pum.common.channel().matrix(), axis=0) > 1
    every = np.array([pum.channel(own).matrix()[:, protected] for own in preprocessors(pum)])
    apart = np.log(every.max(axis=0) / every.min(axis=0))
    assert apart.max() <= pum.epsilon * (1.0 + 1e-12)
    if name != "urr-levels":  # there the bots have less than the largest epsilon
        assert apart.max() == pytest.approx(pum.epsilon, rel=1e-12)


@pytest.mark.parametrize("name", ["urr", "urap"])
def test_the_check_finds_a_preprocessor_that_uses_no_bot(name: str) -> None:
    pum = SMALL[name]
    protected = np.count_nonzero(pum.common.channel().matrix(), axis=0) > 1
    swapped = Mapped(pum.common.channel(), np.array([0, 2, 1, 3]))  # 1 is hidden behind 2
    assert breaches(swapped.matrix(), protected, {0, 1}, pum.epsilon)
    assert not privacy.uldp(swapped, [0, 1]).holds


# ---- bad input

URR3 = ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0)
PUM3 = ldp.PUM(URR3, ("home", "work"))
SPEC = PUM3.to_dict()


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("unknown tag", lambda: PUM3.client({"gym": {"b"}}), "tags"),
    ("overlapping tags", lambda: PUM3.client({"home": {"b"}, "work": {"b", "c"}}), "tags"),
    ("unknown category", lambda: PUM3.client({"home": {"z"}}), "tags"),
    ("a string of categories", lambda: PUM3.client({"home": "b"}), "tags"),
    ("entropy", lambda: PUM3.client({}, entropy=b"0"), "entropy"),  # type: ignore[arg-type]
    ("audit of no mapping", lambda: PUM3.channel(np.array([])), "tags"),
    ("unknown answer", lambda: PUM3.client({}).report("z"), "value"),
    ("a bot as an answer", lambda: PUM3.client({}).report("home"), "value"),
    ("simulated unknown answer", lambda: PUM3.privatize(["z"], rng()), "values"),
    ("simulated bot", lambda: PUM3.privatize(["home"], rng()), "values"),
    ("simulated lengths", lambda: PUM3.privatize(["b"], rng(), {"home": ["b", "c"]}), "tags"),
    ("simulated home", lambda: PUM3.privatize(["b"], rng(), {"home": ["z"]}), "tags"),
    (
        "simulated overlap",
        lambda: PUM3.privatize(["b"], rng(), {"home": ["b"], "work": ["b"]}),
        "tags['work'][0]",
    ),
    ("specification", lambda: ldp.PUM.from_dict({}), "specification"),
    ("version", lambda: ldp.PUM.from_dict(SPEC | {"version": 2}), "specification"),
    ("kind", lambda: ldp.PUM.from_dict(SPEC | {"mechanism": ldp.KRR(3, 1.0).to_dict()}), "mechan"),
    ("file of a PUM", lambda: io.write_mechanism(PUM3, "never.json"), "mechanism"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "name"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input_is_refused(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(ldp.InvalidArgument) as caught:
        call()
    assert str(caught.value).startswith(name)


def test_missing_answers_are_counted() -> None:
    pum, rng = personal("urr"), np.random.default_rng(1)
    homes = ["park", None, "centre"]
    with pytest.raises(ldp.InvalidArgument, match="missing='count'"):
        pum.privatize(["park", None, "centre"], rng, {"home": homes})
    reports = pum.privatize(["park", None, "centre"], rng, {"home": homes}, missing="count")
    assert len(reports) == 2 and reports.n_missing == 1
    common = pum.common.categories[reports.y]
    assert set(common) <= set(pum.common.sensitive)  # both were at home
    with pytest.raises(ldp.InvalidArgument, match="must be 3 categories, one each"):
        pum.privatize(["park", None, "centre"], rng, {"home": homes[:2]}, missing="count")


def test_equal_specifications_are_equal() -> None:
    pum = personal("urr")
    again = ldp.PUM.from_dict(json.loads(json.dumps(pum.to_dict())))
    assert again == pum and hash(again) == hash(pum) and again != personal("urap")
    with pytest.raises(ldp.InvalidArgument, match="tags=3: must be a list"):
        ldp.PUM.from_dict(pum.to_dict() | {"tags": 3})
