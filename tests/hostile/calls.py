"""Hostile arguments: what no caller should pass, and every public callable to pass it to.

A call has the arguments of an example that works, of which one or two are replaced. It must return,
or raise an `LDPError` that names the argument; `fault_of` says what else happened. The number of a
call determines it, so that one that failed can be made again alone.
"""

import inspect
import json
import random
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hostile.documents import signed, spoil_document
from hostile.examples import Examples, Fresh, Site
from hostile.values import COLLECTIONS, SCALARS, SPOILERS, spoiled_element

import ldpstats as ldp
from ldpstats.errors import LDPError, LDPWarning

SECONDS = 60  # after which a call hangs: a thousand times what the longest takes
BYTES = 4 << 30  # that a call may ask for on top of what is there
LONGEST = 2000  # characters of a message


@dataclass(frozen=True)
class Call:
    """A call with hostile arguments."""

    number: int
    site: Site
    arguments: dict[str, Any]
    replaced: dict[str, str]

    def __str__(self) -> str:
        what = ", ".join(f"{name}={value}" for name, value in self.replaced.items())
        return f"call {self.number}: {self.site.name}({what})"


def hostile_value(good: Any, name: str, e: Examples, dice: random.Random) -> tuple[str, Any]:
    """A hostile value in the place of a good one, with its name."""
    if name == "document" and dice.random() < 0.8:
        spoiled = spoil_document(good, dice)
        if dice.random() < 0.3:
            spoiled = spoil_document(spoiled, dice)
        return "damaged", signed(spoiled)
    if name == "text" and isinstance(good, str) and good.startswith("{") and dice.random() < 0.7:
        return "damaged", json.dumps(spoil_document(json.loads(good), dice))
    collection = isinstance(good, list | tuple | np.ndarray | pd.Series)
    if collection and dice.random() < 0.5:
        label = dice.choice(list(SPOILERS))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return label, SPOILERS[label](good, dice)
            except Exception:  # there is no such form of it
                return "an element", spoiled_element(good, dice)
    pool: dict[str, Any] = dict(SCALARS) if dice.random() < 0.45 else dict(COLLECTIONS)
    if dice.random() < 0.15:
        label = dice.choice(list(e.others))
        return label, e.others[label]
    label = dice.choice(list(pool))
    return label, pool[label]()


def call_of(number: int, e: Examples, every: list[Site]) -> Call:
    """The hostile call of a number."""
    dice = random.Random(number)
    while True:
        site = dice.choice(every)
        if not site.slow or dice.random() < 0.1:
            break
    given = {n: v.make() if isinstance(v, Fresh) else v for n, v in site.arguments.items()}
    names = dice.sample(list(given), min(len(given), 1 if dice.random() < 0.7 else 2))
    replaced = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            replaced[name], given[name] = hostile_value(given[name], name, e, dice)
            if name == "advance" and callable(given[name]):  # what it raises is the caller's own
                replaced[name], given[name] = "0", 0
    return Call(number, site, given, replaced)


class Hung(BaseException):
    """A call took longer than `SECONDS`."""


@contextmanager
def bounded(seconds: float = SECONDS, more: int = BYTES) -> Iterator[None]:
    """End what hangs, and refuse memory of absurd sizes."""

    def stop(*_: Any) -> None:
        raise Hung(f"more than {seconds} seconds")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fault_of(call: Call) -> str:
    """What is wrong with how the call ended; empty where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LDPWarning)
        try:
            with bounded():
                repr(call.site.call(**call.arguments))
        except LDPError as error:
            return _message_fault(error, call)
        except Hung as error:
            return f"hangs: {error}"
        except Exception as error:
            return _described(error)
    return ""


def _message_fault(error: LDPError, call: Call) -> str:
    text = str(error)
    if len(text) > LONGEST:
        return f"a message of {len(text)} characters"
    if "a defect of ldpstats" in text:
        return text[:200]
    if not isinstance(error, ldp.InvalidArgument):
        return "" if text else "no message"
    words = set(call.site.arguments) | _parameters(call.site.call)
    for name in call.replaced:
        words |= set(call.site.also.get(name, ()))
        if name in ("document", "text"):
            words |= {"document", "specification", "version", *_keys(call.site.arguments[name])}
    if not any(word.lower().removesuffix("s") in text.lower() for word in words):
        return f"no argument is named: {text[:150]}"
    return ""


def _parameters(call: Callable[..., Any]) -> set[str]:
    known = inspect.signature(call).parameters.values()
    return {p.name for p in known if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}


def _keys(document: Any) -> set[str]:
    """All names in a JSON document; none in other text."""
    if isinstance(document, str):
        if not document.lstrip().startswith(("{", "[")):
            return set()
        document = json.loads(document)
    inner = document.values() if isinstance(document, dict) else document
    found = set(document) if isinstance(document, dict) else set()
    return found.union(*(_keys(item) for item in inner if isinstance(item, dict | list)))


def _described(error: Exception) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/ldpstats/" in f.filename]
    at = own[-1] if own else frames[-1]
    place = f"{Path(at.filename).name}:{at.lineno} {at.name}"
    words = re.sub(r"\s+", " ", str(error))[:150]
    return f"{type(error).__name__} at {place}: {words}"
