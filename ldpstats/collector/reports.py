"""What a report of one question can be: texts, bits, cohorts and grams, in plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Shape", "shape_of"]

Fits = Callable[[Any], bool]


@dataclass(frozen=True)
class Shape:
    """The reports of a question.

    Attributes
    ----------
    fits : callable
        Whether a value of JSON is one.
    longest : int
        Bytes of JSON that the longest one takes.
    """

    fits: Fits
    longest: int


def shape_of(reports: Any, draw: Mapping[str, Any]) -> Shape:
    """The shape of the reports of a client document's question, section 4 of the specification."""
    if draw["kind"] == "grams":
        return _grams(draw)
    found = _bits(reports["bits"], draw) if isinstance(reports, dict) else _texts(reports)
    if "cohorts" not in draw:
        return found
    of_cohorts = _texts(draw["cohorts"])

    def fits(report: Any) -> bool:
        if not isinstance(report, str):
            return False
        cohort, colon, rest = report.partition(":")
        return colon == ":" and of_cohorts.fits(cohort) and found.fits(rest)

    return Shape(fits, of_cohorts.longest + found.longest)


def _texts(reports: list[str] | int) -> Shape:
    """Texts from a list; a number k stands for 0, 1, ... k - 1."""
    if isinstance(reports, int):
        width = len(str(reports - 1))

        def fits(report: Any) -> bool:
            if not (isinstance(report, str) and len(report) <= width):
                return False
            if not (report.isascii() and report.isdigit()) or (report[0] == "0" and report != "0"):
                return False
            return int(report) < reports

        return Shape(fits, width + 2)
    known = frozenset(reports)
    return Shape(
        lambda report: isinstance(report, str) and report in known,
        max(len(json.dumps(text)) for text in reports),
    )


def _bits(n: int, draw: Mapping[str, Any]) -> Shape:
    """Strings of n bits, those that the draw can make."""
    able = _able(draw)

    def fits(report: Any) -> bool:
        if not isinstance(report, str) or len(report) != n or report.strip("01"):
            return False
        return able is None or able(report)

    return Shape(fits, n + 2)


def _able(draw: Mapping[str, Any]) -> Fits | None:
    """What a draw of bits says of all of them; None where all strings of bits can be."""
    if draw["kind"] == "personal":
        return _able(draw["draw"])
    if draw["kind"] == "subset":
        size: int = draw["size"]
        return lambda report: report.count("1") == size
    if draw["kind"] == "reveal":
        sensitive = set(draw["sensitive"])

        def at_most_one(report: str) -> bool:
            if report.count("1") <= 1:
                return True
            return sum(bit == "1" and j not in sensitive for j, bit in enumerate(report)) <= 1

        return at_most_one
    return None


def _grams(draw: Mapping[str, Any]) -> Shape:
    """Two grams of a string, where they begin, and the whole of it."""
    gram = shape_of(draw["gram_question"]["reports"], draw["gram_question"]["draw"])
    whole = shape_of(draw["string_question"]["reports"], draw["string_question"]["draw"])
    starts = range(0, draw["length"] - draw["gram"] + 1, draw["step"])

    def fits(report: Any) -> bool:
        if not isinstance(report, dict) or report.keys() != {"positions", "grams", "string"}:
            return False
        places, grams = report["positions"], report["grams"]
        if not (_two(places) and _two(grams) and whole.fits(report["string"])):
            return False
        if not all(type(place) is int and place in starts for place in places):
            return False
        return bool(places[0] < places[1]) and all(map(gram.fits, grams))

    frame = len(json.dumps({"positions": [starts[-1]] * 2, "grams": ["", ""], "string": ""}))
    return Shape(fits, frame + 2 * gram.longest + whole.longest)


def _two(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2
