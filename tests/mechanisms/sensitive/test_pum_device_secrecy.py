"""Everything that a respondent's device can be made to write keeps her secret."""

from __future__ import annotations

import copy
import inspect
import io as text_io
import json
import logging
import pickle
import pydoc
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.pum_surveys import MECHANISMS, OTHER, REGIONS, SECRET, failure, personal

import ldpstats as ldp
from ldpstats.clients.device import Budget
from ldpstats.sampling.samplers import system_words

Array = npt.NDArray[Any]
ADDRESS = re.compile(r"0x[0-9a-f]+")  # where an object is in memory


class Tape:
    """The same random bytes for every device, and a note of what was asked for."""

    def __init__(self) -> None:
        self.rng, self.asked, self.broken = np.random.default_rng(9), [], False

    def __call__(self, n: int) -> bytes:
        self.asked.append(n)
        if self.broken:
            raise OSError("no randomness")
        return self.rng.bytes(n)

    def __repr__(self) -> str:
        return "Tape()"


def device_artefacts(client: ldp.PUMClient, tape: Tape, own: str) -> dict[str, str]:
    """What a device writes, whose own region is `own`, in a session that is the same for all."""
    logged = text_io.StringIO()
    handler = logging.StreamHandler(logged)
    root = logging.getLogger()
    level, root.level = root.level, logging.DEBUG
    root.addHandler(handler)
    try:
        found: dict[str, str] = {
            "reports of her own region": repr([client.report(own) for _ in range(20)]),
            "reports of other regions": repr([client.report(x) for x in REGIONS[:3]]),
            "random bytes that were asked for": repr(tape.asked),
            "repr": repr(client),
            "str": f"{client} {client!s} {client:}",
            "dir": repr(dir(client)),
            "help": pydoc.render_doc(client),
            "specification": json.dumps(client.mechanism.to_dict()) + client.mechanism.fingerprint,
            "members": repr([m for m in inspect.getmembers(client) if m[0] != "__hash__"]),
            "slots": repr([repr(getattr(client, s, None)) for s in type(client).__slots__]),
            "vars": failure(lambda: vars(client)) + repr(getattr(client, "__dict__", None)),
            "copy": failure(lambda: copy.copy(client)),
            "deepcopy": failure(lambda: copy.deepcopy(client)),
            "json": failure(lambda: json.dumps(client)),
        }
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            found[f"pickle {protocol}"] = failure(lambda p=protocol: pickle.dumps(client, p))
        for value in ("nowhere", None, 3, ["park"], np.nan, {"a": 1}):
            found[f"report of {value}"] = failure(lambda v=value: client.report(v))
        tape.broken = True
        found["report without randomness"] = failure(lambda: client.report(SECRET))
        found["report of another without randomness"] = failure(lambda: client.report("park"))
        tape.broken = False
    finally:
        root.removeHandler(handler)
        root.level = level
    found["log"] = logged.getvalue()
    return {name: ADDRESS.sub("0x", text) for name, text in found.items()}


def device(kind: str, own: str, cls: type[ldp.PUMClient] = ldp.PUMClient) -> dict[str, str]:
    pum, tape = personal(kind), Tape()
    codes = pum._preprocessor({"home": {own}, "work": {"market"}})
    client = cls(pum.common, codes, len(REGIONS), system_words(tape), Budget(None))
    return device_artefacts(client, tape, own)


def leaks(kind: str, cls: type[ldp.PUMClient] = ldp.PUMClient) -> set[str]:
    """What two devices write differently that differ in their secret only."""
    first, second = device(kind, SECRET, cls), device(kind, OTHER, cls)
    assert first.keys() == second.keys()
    return {name for name in first if first[name] != second[name]}


@pytest.mark.parametrize("kind", MECHANISMS)
def test_two_devices_that_differ_in_their_secret_write_the_same(kind: str) -> None:
    assert leaks(kind) == set()


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_device_names_her_region_no_more_than_any_other(kind: str) -> None:
    """As one of the categories, which are public, and as a value that the caller passed."""
    for name, text in device(kind, SECRET).items():
        if name == "report without randomness":  # of this very region: her answer, not her secret
            continue
        assert text.count(SECRET) == text.count(OTHER), name


def test_the_public_ways_make_the_same_client() -> None:
    """`PUM.client` is what the other tests take apart; it keeps nothing of its arguments."""
    pum, tapes = personal("urr"), (Tape(), Tape())
    own = {"home": {SECRET}, "work": {"market"}}
    client = pum.client(own, entropy=tapes[0], reports=None)
    codes = pum._preprocessor(own)
    words, unlimited = system_words(tapes[1]), Budget(None)
    same = ldp.PUMClient(pum.common, codes, len(REGIONS), words, unlimited)
    codes[:] = 0  # a client has a copy
    own["home"].clear()
    values = [*REGIONS, *[SECRET] * 20]
    assert [client.report(v) for v in values] == [same.report(v) for v in values]
    assert not hasattr(client, "__dict__")


class LeakyAttribute(ldp.PUMClient):
    """Keeps the pre-processor in an attribute."""

    def __init__(self, common: Any, preprocessor: Array, k: int, words: Any, budget: Any) -> None:
        super().__init__(common, preprocessor, k, words, budget)
        self.codes = preprocessor

    __slots__ = ("codes",)


class LeakyLog(ldp.PUMClient):
    """Logs what an answer is mapped to."""

    def report(self, value: object) -> Any:
        sent = super().report(value)
        logging.getLogger("client").debug("mapped %s, sent %s", value, sent)
        return sent

    __slots__ = ()


class LeakyTraceback(ldp.PUMClient):
    """Lets an error of the sampler through, whose frames hold the pre-processor."""

    def report(self, value: object) -> Any:
        return self._report(REGIONS.index(value))

    __slots__ = ()


class LeakyRandomness(ldp.PUMClient):
    """Draws more randomness where there is nothing to hide."""

    def __init__(self, common: Any, preprocessor: Array, k: int, words: Any, budget: Any) -> None:
        super().__init__(common, preprocessor, k, words, budget)
        self.extra = lambda value: preprocessor[REGIONS.index(value)] < k and words(1)

    def report(self, value: object) -> Any:
        if value in REGIONS:
            self.extra(SECRET)
        return super().report(value)

    __slots__ = ("extra",)


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize(
    ("cls", "where"),
    [
        (LeakyAttribute, "slots"),
        (LeakyLog, "log"),
        (LeakyTraceback, "report without randomness"),
        (LeakyRandomness, "random bytes that were asked for"),
    ],
)
def test_leaky_devices_are_caught(kind: str, cls: type[ldp.PUMClient], where: str) -> None:
    assert where in leaks(kind, cls)


def enrolment(kind: str, own: str) -> dict[str, str]:
    """What attempts to make a client leave behind that fail, all with her region in their hands."""
    pum = personal(kind)
    attempts: dict[str, Callable[[], Any]] = {
        "tag and category swapped": lambda: pum.client({own: {"home"}}),
        "category twice": lambda: pum.client({"home": {own}, "work": {own, "park"}}),
        "no set": lambda: pum.client({"home": own}),
        "misspelled": lambda: pum.client({"home": {own + "x"}}),
        "misspelled among others": lambda: pum.client({"work": {"park"}, "home": [own, own + "x"]}),
        "nested": lambda: pum.client({"home": [[own]]}),
        "nested deeper": lambda: pum.client({"home": [[own], [own, own]]}),
        "an object": lambda: pum.client({"home": [{own}]}),
        "a pair": lambda: pum.client({"home": [(own, 1)]}),
        "a broken list": lambda: pum.client({"home": broken(own)}),
        "bytes": lambda: pum.client({"home": own.encode()}),
        "no dict": lambda: pum.client([own]),  # type: ignore[arg-type]
        "no dict but text": lambda: pum.client(own),  # type: ignore[arg-type]
        "no function": lambda: pum.client({"home": {own}}, entropy=5),  # type: ignore[arg-type]
    }
    found = {}
    for name, attempt in attempts.items():
        with pytest.raises(ldp.LDPError) as caught:
            attempt()
        error, chain = caught.value, []
        link: BaseException | None = error
        while link is not None:
            chain.append(f"{type(link).__name__} {link} {link.args} {vars(link)}")
            link = link.__cause__ or link.__context__
        log = text_io.StringIO()
        handler = logging.StreamHandler(log)
        logging.getLogger("test_pum").addHandler(handler)
        logging.getLogger("test_pum").error("no client", exc_info=error)
        logging.getLogger("test_pum").removeHandler(handler)
        found[name] = "\n".join([*chain, *traceback.format_exception_only(error), log.getvalue()])
    return found


def broken(own: str) -> Iterator[str]:
    """A list that fails with a message of its own."""
    yield own
    raise RuntimeError(f"{own} was moved")


@pytest.mark.parametrize("kind", MECHANISMS)
def test_no_error_of_enrolment_shows_what_was_given(kind: str) -> None:
    first, second = enrolment(kind, SECRET), enrolment(kind, OTHER)
    for name, text in first.items():
        assert text == second[name], name
        assert SECRET not in text and "secret-home" not in text, name


def test_an_answer_that_is_none_is_not_shown() -> None:
    """A simulation shows it, so that this check can fail."""
    with pytest.raises(ldp.UnknownCategory) as found:
        personal("urr").client({}).report(SECRET + "x")
    assert SECRET not in str(found.value) and found.value.__context__ is None
    with pytest.raises(ldp.UnknownCategory, match="secret-home-7421x"):
        personal("urr").common.privatize([SECRET + "x"], np.random.default_rng(1))


def below(error: BaseException) -> str:
    """What a logger could write of the frames below the caller's, local variables included."""
    trace = error.__traceback__
    assert trace is not None
    stack = traceback.StackSummary.extract(traceback.walk_tb(trace.tb_next), capture_locals=True)
    return str(error) + "".join(stack.format())


@pytest.mark.parametrize("kind", ["urr", "urap"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, MemoryError])
def test_no_frame_of_a_failure_knows_the_secret(kind: str, failure: type[BaseException]) -> None:
    """Not even where a logger writes local variables, causes and contexts."""

    def broken(n: int) -> bytes:
        try:
            raise ZeroDivisionError
        except ZeroDivisionError:
            raise failure from None

    def written(own: str) -> str:
        device = personal(kind).client({"home": {own}}, entropy=broken)
        with pytest.raises(failure) as found:
            device.report("park")
        assert found.value.__context__ is None and found.value.__cause__ is None
        return below(found.value)

    assert written(SECRET) == written("park")


def test_no_frame_of_a_refused_client_knows_the_secret() -> None:
    def written(own: str) -> str:
        with pytest.raises(ldp.InvalidArgument) as found:
            personal("urr").client({"home": {own, own + "typo"}})
        return below(found.value)

    text = written(SECRET)
    assert "typo" not in text and text == written("park")


URR3 = ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0)
PUM3 = ldp.PUM(URR3, ("home", "work"))


def test_a_client_is_not_copied() -> None:
    client = PUM3.client({"home": {"b"}})
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ldp.NotAvailable, match="make it anew"):
            attempt(client)
