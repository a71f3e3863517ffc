"""ldpstats device: designs from the literature; and the options of commands that use one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from math import isfinite
from typing import Any

import ldpstats as ldp
from ldpstats.arguments.labels import as_labels, labels_to_json
from ldpstats.arguments.names import did_you_mean
from ldpstats.cli.common import (
    HOW,
    Once,
    check_plot,
    distinct,
    label_list,
    output_files,
    split_labels,
)
from ldpstats.devices.library import DESIGNS
from ldpstats.errors import InvalidArgument
from ldpstats.io.specifications import specification_text
from ldpstats.models.shared.axes import set_title, title_text
from ldpstats.models.shared.notes import epsilon_text

__all__ = ["add_device", "add_device_options", "device_mechanism", "refuse_params"]

_DEVICE = """\
Print a design from the literature for two answers, or for more: the probabilities of its reports,
its epsilon, and what respondents are told. With --write-spec its specification is written, which
ldpstats privatize, questionnaire, plan and audit read.
Probabilities are exact: write 1/6, not .167.
"""
_ANSWERS = ("no", "yes")


def add_device(commands: Any) -> None:
    words = "print a design from the literature, with its instructions for respondents"
    listed = "\n".join(f"  {_usage(name)}" for name in DESIGNS)
    description = f"{_DEVICE}\nDesigns and their parameters:\n{listed}"
    command = commands.add_parser("device", help=words, description=description, **HOW)
    command.set_defaults(run=_device)
    add = command.add_argument
    add("device", type=_design, metavar="NAME", help="one of the designs above")
    _add_param(add)
    words = "the answers, that of a yes second, or their number (default: no,yes)"
    add("--categories", metavar="LABELS", help=words)
    add("--write-spec", metavar="FILE", help="where to write its specification")
    add("--json", metavar="FILE", help="write all of it as JSON; - prints it instead")
    add("--plot", metavar="FILE", help="draw its tree: .png, .pdf, .svg")
    add("--title", metavar="TEXT", help='title of the plot; "" for none')
    add("--force", action="store_true", help="overwrite files that exist")


def add_device_options(add: Callable[..., Any]) -> None:
    """The options of commands that take a design in place of a mechanism."""
    words = f"a design from the literature: {', '.join(DESIGNS)}; see ldpstats device"
    add("--device", type=_design, action=Once, metavar="NAME", help=words)
    _add_param(add)


def _add_param(add: Callable[..., Any]) -> None:
    words = "a parameter of the design, such as p1=.8, p=1/6 or yes=1,2; once for each"
    add("--param", action="append", default=[], metavar="NAME=VALUE", help=words)


def refuse_params(given: argparse.Namespace) -> None:
    """Refuse --param where no design is named."""
    if given.param and given.device is None:
        raise InvalidArgument("--param", given.param[0], "goes with --device only")


def device_mechanism(given: argparse.Namespace) -> ldp.Mechanism:
    """The mechanism of --device, with --param and --categories."""
    name: str = given.device
    known = signature(DESIGNS[name]).parameters
    labels = None
    if given.categories is not None:
        labels = as_labels("--categories", label_list(given.categories, "--categories")).tolist()
    texts = _values(name, known, given.param)
    values = {key: _value(known[key], text, labels) for key, text in texts.items()}
    if labels is None:
        labels = list(values["shares"]) if "shares" in known else list(_ANSWERS)
    if "answers" in known and len(labels) != 2:
        remedy = f"must be two answers, that of a yes second: {name} knows no others"
        raise InvalidArgument("--categories", given.categories, remedy)
    try:
        device = DESIGNS[name](**values)
    except InvalidArgument as error:
        raise _renamed(error, known, given) from None
    try:
        return device.mechanism(labels)
    except InvalidArgument as error:
        remedy = f"does not fit {name}: {error.name} {error.remedy}"
        raise InvalidArgument("--categories", given.categories, remedy) from None


def _values(name: str, known: Mapping[str, Parameter], params: list[str]) -> dict[str, str]:
    """The parameters as text, by name."""
    own = [key for key in known if key != "answers"]
    found: dict[str, str] = {}
    for param in params:
        key, sign, text = param.partition("=")
        key = key.strip().replace("-", "_")
        if not sign:
            raise InvalidArgument("--param", param, "must be NAME=VALUE, for example p1=.8")
        if key not in own:
            remedy = f"is no parameter of {name}, which has {', '.join(own) or 'none'}"
            raise InvalidArgument("--param", param, f"{remedy}{did_you_mean(key, own)}")
        if key in found:
            raise InvalidArgument("--param", param, f"gives {key} a second time")
        found[key] = text
    for key in own:
        if key not in found and known[key].default is Parameter.empty:
            raise InvalidArgument(f"--param {key}", None, f"is needed: {_usage(name)}")
    return found


def _value(parameter: Parameter, text: str, labels: list[Any] | None) -> Any:
    """A parameter read as its function takes it."""
    kind, flag = str(parameter.annotation), f"--param {parameter.name}"
    if kind.startswith("str"):
        return text
    if kind.startswith("Mapping"):
        return _shares(flag, text, labels)
    if kind == "int" and not text.strip().isdecimal():
        raise InvalidArgument(flag, text, "must be a whole number")
    if "," in text:
        return [_number(part) for part in text.split(",")]
    return _number(text)


def _number(text: str) -> Any:
    """A whole number, or text that a probability is read from: .8 as 0.8."""
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    return f"0{text}" if text.startswith(".") else text


def _shares(flag: str, text: str, labels: list[Any] | None) -> dict[Any, Any]:
    """Labels with probabilities: nurse=.1,driver=.2; in the order of the categories."""
    found: dict[Any, Any] = {}
    by_text = {str(label): label for label in labels or ()}
    for part in split_labels(text, flag):
        label, sign, share = part.rpartition("=")
        if not sign or label in map(str, found):
            remedy = "must be labels with probabilities, each once: nurse=.1,driver=.2"
            raise InvalidArgument(flag, text, remedy)
        found[by_text.get(label, label)] = _number(share)
    return found


def _renamed(
    error: InvalidArgument, known: Mapping[str, Parameter], given: argparse.Namespace
) -> InvalidArgument:
    """An error about an argument of the function, under the name of the option."""
    name = error.name.partition("[")[0].partition(" ")[0]
    value = next((p.partition("=")[2] for p in given.param if p.startswith(f"{name}=")), None)
    if name not in known or value is None:
        return InvalidArgument("--param", given.param, f"{error.remedy} ({error.name})")
    return InvalidArgument(f"--param {name}", value, error.remedy)


def _design(text: str) -> str:
    """The name of a design."""
    name = text.lower().replace("_", "-")
    if name not in DESIGNS:
        hint = did_you_mean(name, list(DESIGNS))
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(DESIGNS)}{hint}")
    return name


def _usage(name: str) -> str:
    """A design with its parameters, those in brackets that may be left out."""
    parts = [
        key if parameter.default is Parameter.empty else f"[{key}]"
        for key, parameter in signature(DESIGNS[name]).parameters.items()
        if key != "answers"
    ]
    return f"{name}: {', '.join(parts)}" if parts else f"{name}: no parameters"


# -- the command -----------------------------------------------------------------------------------


def _device(given: argparse.Namespace) -> int:
    check_plot(given)
    written = given.json if given.json != "-" else None
    distinct(given.write_spec, written, given.plot)
    mechanism: Any = device_mechanism(given)
    document = json.dumps(_document(mechanism), allow_nan=False)
    with output_files(given, given.write_spec) as write:
        write(document, lambda: _plot(given, mechanism), specification_text(mechanism))
    print(document if given.json == "-" else _text(mechanism))
    return 0


def _document(mechanism: Any) -> dict[str, Any]:
    """What the command prints, as JSON, where an infinite epsilon is null."""
    epsilon = float(mechanism.epsilon)
    return {
        "specification": mechanism.to_dict(),
        "epsilon": epsilon if isfinite(epsilon) else None,
        "unknown": list(mechanism.unknown),
        "categories": labels_to_json(mechanism.categories),
        "outputs": mechanism.outputs.tolist(),
        "probabilities": [[str(p) for p in row] for row in mechanism.exact],
        "instructions": mechanism.instructions(),
    }


def _text(mechanism: Any) -> str:
    """The probabilities of reports as a table, epsilon and the instructions."""
    head = ["true answer", *(f"report {label}" for label in mechanism.outputs)]
    rows = [
        [str(x), *map(str, row)]
        for x, row in zip(mechanism.categories, mechanism.exact, strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
    lines += ["", f"epsilon: {epsilon_text(mechanism.epsilon)}"]
    if mechanism.unknown:
        names = ", ".join(mechanism.unknown)
        lines.append(f"unknown: {names} (epsilon is the largest over their values)")
    return "\n".join([*lines, "", *mechanism.instructions()])


def _plot(given: argparse.Namespace, mechanism: Any) -> Any:
    ax = ldp.devices.Device(mechanism.device).plot(mechanism.categories)
    title = title_text(given.title, "")
    if title:
        set_title(ax, title)
    return ax
