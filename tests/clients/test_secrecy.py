"""No error and no traceback of a device shows an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.tracebacks import shown

import ldpstats as ldp

KRR = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)
SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)


ANSWER = "hepatitis-4711"
PACKAGE = Path(ldp.__file__).parent


class Hostile:
    """An answer that fails in every way, and shows itself."""

    def __eq__(self, other: object) -> bool:
        raise ValueError(ANSWER)

    def __hash__(self) -> int:
        raise TypeError(ANSWER)

    def __repr__(self) -> str:
        return ANSWER


SOURCES: dict[str, Any] = {  # and an answer that each takes
    "krr": (KRR, "perhaps"),
    "numbers": (ldp.KRR(9_000, 1.0), 4_711),
    "unary": (ldp.KRAPPOR(("a", "b"), 1.0), "a"),
    "orr": (ldp.ORR(8, 4, epsilon=1.0), "a"),
    "rappor": (ldp.RAPPOR(16, 2, 64, f=0.5, p=0.2, q=0.9), "a"),
    "listed": (ldp.RAPPOR(8, 1, 2, f=0.5, p=0.2, q=0.8, alphabet=("a", "b")), "a"),
    "survey": (SURVEY, "abca"),
}
BAD_ANSWERS = [
    ANSWER + "\ud800",
    ANSWER.encode(),
    [ANSWER],
    (ANSWER,),
    {ANSWER: 1},
    np.array([ANSWER, ANSWER]),
    Hostile(),
    4711.5,
]


@pytest.mark.parametrize("name", SOURCES)
def test_no_error_shows_an_answer(name: str) -> None:
    source, _ = SOURCES[name]
    calls: list[Callable[[], Any]] = []
    unlisted = [] if name in ("orr", "rappor") else [ANSWER]
    for bad in [*BAD_ANSWERS, *unlisted]:
        calls.append(lambda bad=bad: source.client().report(bad))  # type: ignore[misc]
        calls.append(lambda bad=bad: source.collector().report(bad))  # type: ignore[misc]
        calls.append(lambda bad=bad: source.collector().privatize(["a", "b", bad]))  # type: ignore[misc]
        calls.append(lambda bad=bad: source.collector().privatize(bad))  # type: ignore[misc]
    refused = 0
    for call in calls:
        try:
            call()
        except ldp.LDPError as error:
            text = shown(error)
            assert ANSWER not in text and "4711" not in text
            assert error.__cause__ is None and error.__context__ is None
            refused += 1
    assert refused > len(calls) / 2


@pytest.mark.parametrize("name", SOURCES)
def test_a_failure_of_the_system_shows_no_answer(name: str) -> None:
    source, answer = SOURCES[name]

    def failing(n: int) -> bytes:
        raise OSError("no randomness")

    calls = [lambda: source.collector(failing).report(answer)]
    if name not in ("rappor", "listed"):  # which draw their secret at once
        calls.append(lambda: source.client(failing).report(answer))
    for call in calls:
        with pytest.raises(OSError, match="no randomness") as found:
            call()
        assert found.value.__context__ is None
        assert len(str(answer)) < 3 or str(answer) not in shown(found.value)


def test_the_check_finds_what_a_simulation_shows() -> None:
    with pytest.raises(ldp.UnknownCategory) as found:
        KRR.privatize([ANSWER], np.random.default_rng(1))
    assert ANSWER in shown(found.value)


def test_places_are_named_instead() -> None:
    with pytest.raises(ldp.UnknownCategory, match=r"^values\[2\]=\(not shown\): is not among"):
        KRR.collector().privatize(["yes", "no", ANSWER])
    with pytest.raises(ldp.UnknownCategory, match=r"^value=\(not shown\): is not among"):
        KRR.client().report(ANSWER)
    with pytest.raises(ldp.InvalidArgument, match=r"^value=\(not shown\): has characters outside"):
        SURVEY.client().report("abxyz")
