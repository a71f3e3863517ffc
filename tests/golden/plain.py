"""Anything that the package returns as plain JSON, and how two records are compared."""

import inspect
import json
import math
import os
import random
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import ldpstats as ldp

FOLDERS = (
    "planning", "privacy", "devices", "devices.library", "io", "priors", "channels", "estimators",
    "estimators.constraints", "inference", "datasets", "page", "collector", "clients", "errors",
    "mechanisms",
)  # fmt: skip
EXACT = bool(os.environ.get("LDPSTATS_GOLDEN_EXACT"))
RELATIVE = 1e-12 if EXACT else 1e-9
ABSOLUTE = 1e-12
MOST = 48  # elements of an array, and rows of a table, that are recorded one by one
SAME = "the same as "
HASHES = (["digest"], ["fingerprint"])  # keys in documents, of results from all digits of these
LONG = 3000  # characters of a text that are recorded as they are
DROPPED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)
HELD = ("summary", "summary_frame", "to_dict", "to_frame", "conf_int", "differences")
SKIPPED = {
    "client", "collector", "conformance", "draws", "fit_posterior", "law", "plot",
    "plot_coefficients", "plot_effects", "plot_graph", "prior_draws", "to_arviz", "to_excel",
    "to_latex", "to_maketables", "to_markdown", "to_svy",
}  # fmt: skip
_masks: list[tuple[str, str]] = []  # folders, with what stands for them


def public_names() -> dict[str, Any]:
    """Every exported object by its dotted name."""
    found = {name: getattr(ldp, name) for name in ldp.__all__}
    for folder in FOLDERS:
        module = import_module(f"ldpstats.{folder}")
        names = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and getattr(value, "__module__", "").startswith("ldpstats.")
            and not inspect.ismodule(value)
        ]
        found |= {f"{folder}.{name}": getattr(module, name) for name in names}
    return found


CLASSES = {value for value in public_names().values() if inspect.isclass(value)}


@contextmanager
def masked(folder: Any, name: str = "<folder>") -> Iterator[None]:
    """Texts of the record do not show where a folder is."""
    _masks.append((str(folder), name))
    try:
        yield
    finally:
        _masks.pop()


def seed(name: str) -> int:
    """A number for a name that is the same in every process."""
    return zlib.crc32(name.encode())


@contextmanager
def repeatable(name: str) -> Iterator[None]:
    """What clients draw from the operating system is the same in every run."""
    drawn = random.Random(seed(name))
    with mock.patch("os.urandom", drawn.randbytes):
        yield


def scene(name: str, call: Callable[[], Any], depth: int = 0) -> Any:
    """What a call returns, or raises, and the warnings that it gives."""
    with (
        warnings.catch_warnings(record=True) as heard,
        repeatable(name),
        pd.option_context("display.width", 80),  # whatever other tests have set
    ):
        warnings.simplefilter("always")
        try:
            found = plain(call(), depth)
        except Exception as error:
            found = {"raises": f"{type(error).__name__}: {text(str(error))}"}
    said = [
        f"{warning.category.__name__}: {text(str(warning.message))}"
        for warning in heard
        if not issubclass(warning.category, DROPPED)
    ]
    return {"value": found, "warnings": list(dict.fromkeys(said))} if said else found


def shorter(record: Any, known: dict[str, str], at: str = "") -> Any:
    """A record in which what stands there already is only referred to."""
    if not isinstance(record, dict):
        return record
    kept = {}
    for key, part in record.items():
        place = f"{at}/{key}".lstrip("/")
        written = json.dumps(part, sort_keys=True)
        if len(written) > 150 and known.setdefault(written, place) != place:
            kept[key] = f"{SAME}{known[written]}"
        else:
            kept[key] = shorter(part, known, place)
    return kept


def longer(record: Any) -> Any:
    """A record as it was before it was made `shorter`."""
    places: dict[str, Any] = {}

    def walk(part: Any, at: str) -> None:
        if isinstance(part, dict):
            for key, inner in part.items():
                place = f"{at}/{key}".lstrip("/")
                places[place] = inner
                walk(inner, place)

    def whole(part: Any) -> Any:
        if isinstance(part, str) and part.startswith(SAME):
            return whole(places[part.removeprefix(SAME)])
        if not isinstance(part, dict):
            return part
        return {key: whole(inner) for key, inner in part.items()}

    walk(record, "")
    return whole(record)


def text(words: str, most: int = LONG) -> str:
    """A text without addresses, folders and numbers that are rounding errors.

    Of a long one its beginning is kept, and a number that tells whether the rest is the same.
    """
    for folder, name in _masks:
        words = words.replace(folder, name)
    words = re.sub(r"0x[0-9a-fA-F]{6,}", "0x...", words)
    words = re.sub(r"array\(\[.*?\](, dtype=\w+)?\)", "array(...)", words, flags=re.DOTALL)
    words = re.sub(r"(?<![\w.])-?(\d(\.\d+)?e-1[2-9]|0\.0+e\+00)\b", "<tiny>", words)
    if len(words) <= most:
        return words
    return f"{words[: most // 2]} ... {len(words)} characters {seed(layout(words)):08x}"


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)(?!\w)")
_HEX = re.compile(r'(?<="fingerprint": ")[0-9a-f]{12}')


def layout(words: str) -> str:
    """A text in which # stands for each number that is not an integer, and for fingerprints."""
    return _NUMBER.sub("#", _HEX.sub("#", words))


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON: `depth` is how often the members of an object are recorded too."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value) if abs(int(value)) < 2**60 else f"int {int(value)}"
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else repr(float(value))
    if isinstance(value, str):
        return _document(str(value))
    if isinstance(value, bytes):
        return f"bytes {len(value)} {zlib.crc32(value):08x} {value[:24].hex()}"
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, pd.Series):
        return {"series": [_label(value.name), str(value.dtype)], **_table(value.to_frame())}
    if isinstance(value, pd.DataFrame):
        return {"dtypes": [str(kind) for kind in value.dtypes], **_table(value)}
    if isinstance(value, pd.Index):
        return {"index": [_label(name) for name in value.names], "labels": _several(value)}
    if isinstance(value, Mapping):
        return {"pairs": [[_label(key), plain(item, depth)] for key, item in value.items()]}
    if isinstance(value, set | frozenset):
        return {"set": sorted(str(plain(item)) for item in value)}
    if isinstance(value, list | tuple | range):
        return _several(value, depth)
    return _object(value, depth)


def condensed(record: Any, most: int) -> Any:
    """A long record by its numbers in one array, and a checksum of everything else."""
    written = json.dumps(record)
    if len(written) <= most:
        return record
    numbers: list[float] = []

    def take(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: take(inner) for key, inner in part.items()}
        if isinstance(part, list):
            return part[:1] if part[:1] in HASHES else [take(inner) for inner in part]
        if isinstance(part, float):
            numbers.append(part)
        return "#" if isinstance(part, float) else part

    rest = seed(layout(json.dumps(take(record))))
    return {"numbers": _array(np.array(numbers)), "all else": rest, "begins": layout(written[:100])}


def _document(words: str) -> Any:
    """A text; of one in JSON what it says, and a number for how it is laid out."""
    if len(words) > 200 and words.lstrip()[:1] in ("{", "["):
        try:
            return {"json": plain(json.loads(words)), "layout": seed(layout(words))}
        except ValueError:
            pass
    return text(words)


def _several(values: Iterable[Any], depth: int = 0) -> Any:
    listed = list(values)
    if len(listed) <= MOST:
        return [plain(item, depth) for item in listed]
    if all(isinstance(item, float | int | np.number) for item in listed):
        return _array(np.array(listed))
    shown = [plain(item, depth) for item in listed]
    return {"first": shown[:8], "many": len(listed), "sum": seed(layout(repr(shown)))}


def _array(value: Any) -> Any:
    head = f"{value.dtype} {value.shape}" if value.dtype.kind not in "OTU" else str(value.shape)
    if value.size <= MOST or value.dtype.kind not in "fiub":
        if value.dtype.kind == "M":
            value = value.astype(str)
        return {"array": head, "values": _several(value.ravel().tolist())}
    flat = value.ravel()
    if value.dtype.kind != "f":
        number = zlib.crc32(np.ascontiguousarray(flat.astype("<i8")).tobytes())
        return {"array": head, "values": [int(x) for x in flat[:8]], "sum": number}
    finite = np.where(np.isfinite(flat), flat, 0.0)
    weights = np.cos(np.arange(flat.size))
    sums = [float(finite @ weights), float(np.abs(finite).sum()), float(np.square(finite).sum())]
    return {
        "array": head,
        "values": [plain(float(x)) for x in flat[:8]],
        "sums": sums,
        "infinite": int((~np.isfinite(flat)).sum()),
    }


def _label(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_label(item) for item in value]
    return plain(value) if isinstance(value, str | int | float | np.generic) else text(repr(value))


def _table(frame: pd.DataFrame) -> dict[str, Any]:
    columns = {"columns": [_label(name) for name in frame.columns], "index": plain(frame.index)}
    if frame.shape[1] > MOST:
        columns["columns"] = plain(frame.columns)
        return columns | {"cells": _array(frame.to_numpy())}
    parts = [frame.iloc[:, i].to_numpy() for i in range(frame.shape[1])]
    return columns | {"cells": [_several(part.tolist()) for part in parts]}


def _object(value: Any, depth: int) -> Any:
    kind = type(value)
    if hasattr(value, "as_text") and hasattr(value, "as_html"):
        forms: dict[str, Any] = {"text": text(value.as_text())}
        if depth >= 0:
            forms["html"] = scene("html", lambda: text(value.as_html(), 500))
            forms["latex"] = scene("latex", lambda: text(value.as_latex(), 500))
        return forms
    if kind.__module__.startswith("matplotlib."):
        return drawing(value)
    if not kind.__module__.startswith("ldpstats"):
        if hasattr(value, "summary_frame"):  # statsmodels
            return {"class": kind.__name__, "text": text(str(value))}
        return {"class": kind.__name__}
    shown = kind in CLASSES or any(hasattr(kind, name) for name in HELD)
    if not shown:
        return "an internal object"
    found: dict[str, Any] = {"class": kind.__name__, "text": text(str(value))}
    if depth > 0:
        return found | {"repr": text(repr(value))} | members(value, depth)
    for form in ("to_dict", "to_frame", "summary_frame"):
        if callable(getattr(value, form, None)):
            return found | {form: condensed(scene(form, getattr(value, form), -1), 2500)}
    return found


def members(value: Any, depth: int = 1) -> dict[str, Any]:
    """What the public properties, and the methods that need no argument, of an object give."""
    found: dict[str, Any] = {}
    for name in sorted(set(dir(type(value))) | set(getattr(value, "__dict__", ()))):
        if name.startswith("_") or name in SKIPPED:
            continue
        static = inspect.getattr_static(value, name)
        if isinstance(static, classmethod | staticmethod):
            continue
        if not inspect.isfunction(static):
            found[name] = scene(name, partial(getattr, value, name), depth - 1)
        elif not _needed(static):
            record = scene(name, getattr(value, name), depth - 1)
            found[f"{name}()"] = condensed(record, 12_000)
    return found


def _needed(function: Any) -> bool:
    """Whether a method needs an argument."""
    arguments = list(inspect.signature(function).parameters.values())[1:]
    return any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
               for p in arguments)  # fmt: skip


def drawing(value: Any) -> Any:
    """The words of a plot, and where its lines are."""
    if not hasattr(value, "get_title"):
        return {"class": type(value).__name__}
    lines = [[_array(np.asarray(part, dtype=float)) for part in line.get_data()]
             for line in value.lines[:12]]  # fmt: skip
    legend = value.get_legend()
    return {
        "title": text(value.get_title()),
        "axes": [text(value.get_xlabel()), text(value.get_ylabel())],
        "texts": [text(word.get_text()) for word in value.texts],
        "legend": None if legend is None else [text(w.get_text()) for w in legend.get_texts()],
        "parts": [len(value.lines), len(value.collections), len(value.patches)],
        "lines": lines,
    }


# ---- comparison


def differences(was: Any, now: Any, at: str = "") -> Iterator[str]:
    """Where two records differ, each in one line."""
    if type(was) is not type(now):
        yield f"{at}: {_short(was)} -> {_short(now)}"
    elif isinstance(was, float):
        if not _close(was, now):
            yield f"{at}: {was!r} -> {now!r}"
    elif isinstance(was, dict):
        for key in sorted(was.keys() | now.keys()):
            if key not in now:
                yield f"{at}.{key}: is gone"
            elif key not in was:
                yield f"{at}.{key}: is new"
            else:
                yield from differences(was[key], now[key], f"{at}.{key}")
    elif isinstance(was, list):
        if was[:1] == now[:1] and was[:1] in HASHES and not EXACT:
            return
        if len(was) != len(now):
            yield f"{at}: {len(was)} elements -> {len(now)}: {_short(was)} -> {_short(now)}"
            return
        large = max((abs(x) for x in was if isinstance(x, float)), default=0.0)
        for i, (a, b) in enumerate(zip(was, now, strict=True)):
            if isinstance(a, float) and isinstance(b, float) and abs(a - b) <= RELATIVE * large:
                continue
            yield from differences(a, b, f"{at}[{i}]")
    elif isinstance(was, str):
        yield from _words(was, now, at)
    elif was != now:
        yield f"{at}: {was!r} -> {now!r}"


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= ABSOLUTE + RELATIVE * max(abs(a), abs(b))


def _words(was: str, now: str, at: str) -> Iterator[str]:
    """Texts are equal but for the last digits of numbers of nine digits or more."""
    if was == now:
        return
    if layout(was) == layout(now):
        pairs = zip(_NUMBER.findall(was), _NUMBER.findall(now), strict=True)
        if all(a == b or (_is_long(a, b) and _close(float(a), float(b))) for a, b in pairs):
            return
    first = next(
        (i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b),
        min(len(was), len(now)),
    )
    near = slice(max(first - 30, 0), first + 50)
    yield f"{at}: {was[near]!r} -> {now[near]!r}"


def _is_long(a: str, b: str) -> bool:
    """Whether one of two numbers is written with nine digits or more."""
    return max(sum(c.isdigit() for c in x.split("e")[0].lstrip("-0.")) for x in (a, b)) >= 9


def _short(value: Any) -> str:
    words = json.dumps(value)
    return words if len(words) < 120 else f"{words[:110]}..."
