"""Hostile calls: a clear error each, or an answer; nothing else.

The quick share runs always; the full one is slow. ``LDPSTATS_SLOW_SHARE`` scales it.
"""

import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hostile.calls import Call, Hung, bounded, call_of, fault_of
from hostile.examples import Examples, Fresh, Site
from hostile.sites import sites

import ldpstats as ldp
from ldpstats import io, planning
from ldpstats.errors import InvalidArgument, LDPError

CALLS, QUICK_CALLS = 20_000, 1_000


@pytest.fixture(scope="module")
def every_site(examples):
    """Every public callable, with arguments that work."""
    return sites(examples)


def faults(numbers: range, examples: Examples, every: list[Site]) -> list[str]:
    found = []
    for number in numbers:
        call = call_of(number, examples, every)
        if fault := fault_of(call):
            found.append(f"{call}: {fault}")
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    return found


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_examples_work(slow, every_site):
    """The negative control: what is spoiled was good. Two seconds, for it calls all there is."""
    for site in every_site:
        if site.slow != slow:
            continue
        given = {n: v.make() if isinstance(v, Fresh) else v for n, v in site.arguments.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            site.call(**given)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_every_public_callable_is_called(every_site):
    called = {site.name.split(".")[0].split(" ")[0] for site in every_site}
    called |= {site.name.split(".")[-1].split(" ")[0] for site in every_site}
    public = {*ldp.__all__, *ldp.channels.__all__}
    modules = {name for name in ldp.__all__ if isinstance(getattr(ldp, name), ModuleType)}
    made = {
        "Band", "BayesFactor", "Bits", "CalibrationReport", "Channel", "Client",
        "Collector", "DictionaryClient", "Effect", "Enumerated", "Geometric", "KeptClient",
        "Mapped", "Mechanism", "PUMClient", "RAPPORClient", "Uniformised", "mechanism_from_dict",
    }  # fmt: skip  # which other callables make, or which are no functions of what users type
    assert public - called - modules - {*ldp.errors.__all__} - made == set()
    assert set(io.__all__) - called <= {"replacing", "replacing_all"}
    kinds = {name for name in planning.__all__ if isinstance(getattr(planning, name), type)}
    assert set(planning.__all__) - called - kinds == set()


def test_hostile_calls(examples, every_site):
    every = [site for site in every_site if not site.files]
    assert faults(range(QUICK_CALLS), examples, every) == []


def test_hostile_calls_on_files(examples, every_site):
    every = [site for site in every_site if site.files]
    assert faults(range(QUICK_CALLS // 5), examples, every) == []


@pytest.mark.slow
def test_many_hostile_calls(examples, replications):
    every = sites(examples)
    first = QUICK_CALLS
    assert faults(range(first, first + replications(CALLS)), examples, every) == []


def test_a_fault_is_seen(examples):
    """The negative control: bare errors, warnings, long messages and messages without a name."""

    def judged(call: Callable[[Any], Any]) -> str:
        return fault_of(Call(0, Site("f", call, {"value": 1}), {"value": 2}, {"value": "2"}))

    def refuse(error: Exception) -> Callable[[Any], Any]:
        def call(value: Any) -> Any:
            raise error

        return call

    def warn(value: Any) -> Any:
        return np.log(np.zeros(1))

    assert judged(lambda value: value) == ""
    assert judged(refuse(InvalidArgument("value", 2, "must be 1"))) == ""
    assert judged(refuse(LDPError("no method for it"))) == ""
    assert "ValueError" in judged(refuse(ValueError("bare")))
    assert "KeyError" in judged(refuse(KeyError("bare")))
    assert "RuntimeWarning" in judged(warn)
    assert "no argument is named" in judged(refuse(InvalidArgument("x", 2, "must be 1")))


def test_what_hangs_is_ended():
    def forever() -> None:
        while True:
            pass

    with pytest.raises(Hung), bounded(0.05):
        forever()
