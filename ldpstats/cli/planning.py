"""ldpstats plan, audit and device: what to know of mechanisms before a survey."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from inspect import Parameter, signature
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import io, planning
from ldpstats.arguments import did_you_mean, level, positive_integer, positive_number
from ldpstats.cli.common import (
    Once,
    added,
    adder,
    check_csv,
    check_plot,
    distinct,
    in_file,
    label_list,
    numbers_in,
    output_files,
    split_labels,
)
from ldpstats.devices.library import DESIGNS
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.io.specifications import QUESTIONNAIRE, is_format, json_document, specification_text
from ldpstats.labels import as_labels, labels_to_json, matched
from ldpstats.models.layout import LONGEST_LABEL, SummaryTable, one_line
from ldpstats.models.plots import set_title, title_text
from ldpstats.planning.choice import cost, ratios
from ldpstats.planning.expected_precision import shares_text
from ldpstats.planning.power_of_tests import KINDS, contenders

_PLAN = """\
Compare mechanisms before a survey: the standard errors that --n respondents give, or the
respondents that a precision needs. Mechanisms are those of the package, at each --epsilon, or those
of specifications. Standard errors are those of the unconstrained estimates, on which intervals and
tests rest; that of the worst category counts, or of the one that --category names.
"""
_TARGETS = ("se", "width", "relative")
_AT = " at epsilon "  # of kinds, whose names repeat
_SHORT = 26  # characters of shares that stand in the header
_FEW = 4  # epsilons up to which the plot has a range of its own


def add_plan(commands: Any) -> None:
    words = "compare mechanisms before a survey: standard errors, or respondents needed"
    command = added(commands, "plan", _plan, words, _PLAN)
    add = adder(command)
    add("--categories", "labels separated by commas, or their number k", "LABELS")
    words = "privacy of a report, in nats; may be given again"
    add("--epsilon", words, type=float, several=True)
    add("--mechanism", "a kind; may be repeated", choices=KINDS, several=True)
    add_device_options(add)
    words = "specification of a mechanism to compare (JSON); may be given again"
    add("--spec", words, "FILE", several=True)
    words = "text file of candidates, one a line, where any text is an answer"
    add("--candidates", words, "FILE")
    words = (
        "expected shares, separated by commas, in the order of the categories (default: uniform)"
    )
    add("--p", words, "SHARES")
    add_aim = adder(command.add_mutually_exclusive_group(required=True))
    add_aim("--n", "number of respondents", type=int)
    add_aim("--se", "standard error to reach", type=float)
    add_aim("--width", "full width of intervals to reach", type=float)
    add_aim("--relative", "standard error over the share to reach", type=float)
    add("--category", "the category that counts (default: the worst)", "LABEL")
    words = "factor by which the sampling design multiplies variances (default: 1)"
    add("--design-effect", words, "NUMBER", type=float, default=1.0)
    add("--alpha", "1 - coverage of intervals (default: 0.05)", type=float, default=0.05)
    add("--json", "write the table as JSON; - prints it instead", "FILE")
    add("--csv", "write the table as CSV; - prints it instead", "FILE")
    add("--plot", "draw precision against epsilon: .png, .pdf, .svg", "FILE")
    add("--title", 'title of the plot; "" for none', "TEXT")
    add("--force", "overwrite files that exist")


def _plan(given: argparse.Namespace) -> None:
    _check(given)
    candidates = None if given.candidates is None else tuple(io.read_candidates(given.candidates))
    # The mechanisms to compare, by name
    mechanisms: dict[str, ldp.Mechanism] = {}
    if given.device is not None:
        mechanisms[f"{given.device} {' '.join(given.param)}".strip()] = device_mechanism(given)
    if given.categories is not None and (given.epsilon or given.device is None):
        labels = as_labels("--categories", label_list(given.categories, "--categories"))
        for epsilon in given.epsilon:
            kinds = contenders(labels, epsilon, given.mechanism or KINDS)
            mechanisms |= {f"{kind.title}{_AT}{epsilon!r}": m for kind, m in kinds.values()}
    for path in given.spec:
        mechanism = io.read_mechanism(path)
        if mechanism.is_open and candidates is None:
            remedy = f"is needed: any text is an answer to {mechanism}; name a file of candidates"
            raise InvalidArgument("--candidates", None, remedy)
        mechanisms[str(mechanism)] = mechanism
    if not mechanisms:
        raise InvalidArgument("--mechanism", given.mechanism, "fits none of these categories")
    if candidates is not None and not any(m.is_open for m in mechanisms.values()):
        remedy = "must be left out: all mechanisms list their categories"
        raise InvalidArgument("--candidates", given.candidates, remedy)
    # The expected shares by category, and whether all mechanisms have these categories
    first = next(iter(mechanisms.values()))
    among = candidates if first.is_open else None
    shares = None
    if given.p is not None:
        remedy = "must be numbers separated by commas, such as 0.5,0.3,0.2"
        shares = numbers_in(split_labels(given.p, "--p"), "--p", remedy)
    categories = first.labels(among)
    law = planning.precision(first, shares, 1, candidates=among).p
    if given.category is not None:
        place = matched("--category", [given.category], categories)[0]
        if place < 0:
            raise InvalidArgument("--category", given.category, "must be one of the categories")
        given.category = categories[int(place)]
    with output_files(given, given.csv) as write:
        table = _table(given, mechanisms, law, candidates)
        aims = {key: getattr(given, key) for key in ("n", *_TARGETS)}
        name, value = next(aim for aim in aims.items() if aim[1] is not None)
        rows = [  # no privacy and no share are null
            {key: None if isinstance(x, float) and not isfinite(x) else x for key, x in row.items()}
            for row in table.to_dict("records")
        ]
        how = {key: getattr(given, key) for key in ("category", "design_effect", "alpha")}
        document = json.dumps({name: value, **how, "mechanisms": rows}, allow_nan=False)
        frame = table.to_csv(index=False, lineterminator="\n")
        write(document, lambda: _plot(given, mechanisms, law, candidates), frame)
    if given.json == "-":
        print(document)
    else:
        print(frame.rstrip("\n") if given.csv == "-" else _text(given, table, law, name, value))


def _check(given: argparse.Namespace) -> None:
    """Check options before any file is read or written."""
    level(given.alpha)
    check_plot(given)
    written = in_file(given.json), given.plot, in_file(given.csv)
    for path in {*given.spec, given.candidates}:  # one specification may be given twice
        distinct(path, *written)
    check_csv(given)
    if given.n is not None:
        positive_integer("--n", given.n)
    for name in _TARGETS:
        value = getattr(given, name)
        if value is not None:
            positive_number(f"--{name}", value, (0.0, float("inf")))
    if given.plot is not None and (given.n is None and given.se is None):
        raise InvalidArgument("--plot", given.plot, "goes with --n and --se only")
    refuse_params(given)
    if not given.spec and given.device is None and not (given.categories and given.epsilon):
        remedy = "is needed, and --epsilon; or give --spec or --device"
        raise InvalidArgument("--categories", given.categories, remedy)
    if given.spec and given.categories is None and (given.epsilon or given.mechanism):
        raise InvalidArgument("--epsilon", given.epsilon, "goes with --categories only")


def _table(
    given: argparse.Namespace, mechanisms: dict[str, Any], law: pd.Series[Any], candidates: Any
) -> pd.DataFrame:
    """Standard errors with --n, or respondents, of each mechanism; all have the same categories."""
    table = planning.compare(
        mechanisms, law, given.n or 1, design_effect=given.design_effect, candidates=candidates
    )
    table = table[["epsilon", "bits", "effective_share"]]
    target = {name: getattr(given, name) for name in (*_TARGETS, "alpha")}
    aim = given.n, given.category, given.design_effect
    costs = [cost(one, law, candidates, *aim, **target) for one in mechanisms.values()]
    table.insert(2, "respondents" if given.n is None else "se", costs)
    needed = np.array(costs, dtype=np.float64)
    table.insert(3, "ratio", ratios(needed if given.n is None else needed**2))
    table.insert(0, "mechanism", [name.partition(_AT)[0] for name in mechanisms])
    return table.reset_index(drop=True)


# -- what is written -------------------------------------------------------------------------


def _text(
    given: argparse.Namespace, table: pd.DataFrame, law: pd.Series[Any], name: str, value: Any
) -> str:
    """The table for people."""
    what = "se" if given.n is not None else "respondents"
    words = {"n": "Respondents:", "se": "Std err:", "relative": "Std err / p:"}
    words["width"] = f"{100 * (1 - given.alpha):.4g}% width:"
    worst = "the worst" if given.category is None else one_line(given.category, LONGEST_LABEL)
    shares = "equal (no --p)" if given.p is None else shares_text(law)
    short = shares if len(shares) <= _SHORT else "see below"
    aim = f"{value:,}" if name == "n" else f"{value:g}"
    summary = SummaryTable(
        title="Mechanisms before the survey",
        header=[
            ["Categories:", f"{len(law):,}", words[name], aim],
            ["Category:", worst, "Design effect:", f"{given.design_effect:g}"],
            ["Shares:", short, "", ""],
        ],
        columns=["epsilon", "bits", "std err" if what == "se" else what, "ratio", "worth"],
        stubs=[one_line(name, LONGEST_LABEL) for name in table["mechanism"]],
        body=[
            [
                f"{row['epsilon']:.6g}".replace("inf", "infinite"),
                f"{row['bits']:,}",
                f"{row[what]:.4g}" if what == "se" else f"{row[what]:,}",
                f"{row['ratio']:.4g}",
                f"{100 * row['effective_share']:.3g}%",
            ]
            for row in table.to_dict("records")
        ],
        notes=[
            *([f"Shares: {shares}."] if short != shares else []),
            "ratio: respondents for the same precision, over those of the best of these.",
            "worth: respondents without privacy who give the same summed variance, in percent.",
        ],
    )
    return str(summary.layout())


def _plot(
    given: argparse.Namespace, mechanisms: dict[str, Any], law: pd.Series[Any], candidates: Any
) -> Any:
    """The frontier of the kinds, with the mechanisms of specifications as points."""
    kinds = (given.mechanism or list(KINDS)) if given.categories is not None else []
    points = [io.read_mechanism(path) for path in dict.fromkeys(given.spec)]
    how = {name: getattr(given, name) for name in ("n", "se", "category", "design_effect", "title")}
    return planning.plot_frontier(
        [*kinds, *points],
        candidates or law.index,
        law,
        epsilons=sorted({*given.epsilon}) if len({*given.epsilon}) > _FEW else None,
        **how,
    )


# -- ldpstats audit: does Q, and do the integers of the sampler, keep the epsilon declared? --------


def add_audit(commands: Any) -> None:
    words = "compare the epsilon declared with the channel's and the sampler's"
    add = adder(added(commands, "audit", _audit, words, f"{words}."))
    words = "specification of a mechanism, a survey or a questionnaire (JSON)"
    add("spec", words, "SPEC", nargs="?")
    add_device_options(add)
    words = "the answers to --device, that of a yes second, or their number (default: no,yes)"
    add("--categories", words, "LABELS")
    add("--json", "print JSON")


def _audit(given: argparse.Namespace) -> int:
    if given.device is not None:
        if given.spec is not None:
            remedy = f"cannot be combined with {given.spec}"
            raise InvalidArgument("--device", given.device, remedy)
        audit = device_mechanism(given).audit()
    else:
        refuse_params(given)
        if given.categories is not None:
            raise InvalidArgument("--categories", given.categories, "goes with --device only")
        if given.spec is None:
            raise LDPError("SPEC is missing: pass a specification, or --device with its parameters")
        read: Callable[[str], Any] = io.read_mechanism
        if is_format(json_document(given.spec), QUESTIONNAIRE):
            read = ldp.Questionnaire.from_json
        elif io.is_survey(given.spec):
            read = io.read_survey
        audit = read(given.spec).audit()
    print(json.dumps(audit.to_dict(), allow_nan=False) if given.json else audit)
    return 0 if audit.agrees and audit.private else 1


# -- ldpstats device: designs from the literature; and the options of commands that use one -------


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
    add = adder(added(commands, "device", _device, words, description))
    add("device", "one of the designs above", "NAME", type=_design)
    _add_param(add)
    words = "the answers, that of a yes second, or their number (default: no,yes)"
    add("--categories", words, "LABELS")
    add("--write-spec", "where to write its specification", "FILE")
    add("--json", "write all of it as JSON; - prints it instead", "FILE")
    add("--plot", "draw its tree: .png, .pdf, .svg", "FILE")
    add("--title", 'title of the plot; "" for none', "TEXT")
    add("--force", "overwrite files that exist")


def add_device_options(add: Callable[..., Any]) -> None:
    """The options of commands that take a design in place of a mechanism."""
    words = f"a design from the literature: {', '.join(DESIGNS)}; see ldpstats device"
    add("--device", words, "NAME", type=_design, action=Once)
    _add_param(add)


def _add_param(add: Callable[..., Any]) -> None:
    words = "a parameter of the design, such as p1=.8, p=1/6 or yes=1,2; once for each"
    add("--param", words, "NAME=VALUE", several=True)


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
    own = [key for key in known if key != "answers"]
    texts: dict[str, str] = {}
    for param in given.param:
        key, sign, text = param.partition("=")
        key = key.strip().replace("-", "_")
        if not sign:
            raise InvalidArgument("--param", param, "must be NAME=VALUE, for example p1=.8")
        if key not in own:
            remedy = f"is no parameter of {name}, which has {', '.join(own) or 'none'}"
            raise InvalidArgument("--param", param, f"{remedy}{did_you_mean(key, own)}")
        if key in texts:
            raise InvalidArgument("--param", param, f"gives {key} a second time")
        texts[key] = text
    for key in own:
        if key not in texts and known[key].default is Parameter.empty:
            raise InvalidArgument(f"--param {key}", None, f"is needed: {_usage(name)}")
    values = {key: _value(known[key], text, labels) for key, text in texts.items()}
    if labels is None:
        labels = list(values["shares"]) if "shares" in known else list(_ANSWERS)
    if "answers" in known and len(labels) != 2:
        remedy = f"must be two answers, that of a yes second: {name} knows no others"
        raise InvalidArgument("--categories", given.categories, remedy)
    try:
        device = DESIGNS[name](**values)
    except InvalidArgument as error:
        # An error about an argument of the function has the name of the option
        wrong = error.name.partition("[")[0].partition(" ")[0]
        value = next((p.partition("=")[2] for p in given.param if p.startswith(f"{wrong}=")), None)
        if wrong not in known or value is None:
            remedy = f"{error.remedy} ({error.name})"
            raise InvalidArgument("--param", given.param, remedy) from None
        raise InvalidArgument(f"--param {wrong}", value, error.remedy) from None
    try:
        return device.mechanism(labels)
    except InvalidArgument as error:
        remedy = f"does not fit {name}: {error.name} {error.remedy}"
        raise InvalidArgument("--categories", given.categories, remedy) from None


def _value(parameter: Parameter, text: str, labels: list[Any] | None) -> Any:
    """A parameter read as its function takes it."""
    kind, flag = str(parameter.annotation), f"--param {parameter.name}"
    if kind.startswith("str"):
        return text
    if kind.startswith("Mapping"):
        # Labels with probabilities, nurse=.1,driver=.2, in the order of the categories
        shares: dict[Any, Any] = {}
        by_text = {str(label): label for label in labels or ()}
        for part in split_labels(text, flag):
            label, sign, share = part.rpartition("=")
            if not sign or label in map(str, shares):
                remedy = "must be labels with probabilities, each once: nurse=.1,driver=.2"
                raise InvalidArgument(flag, text, remedy)
            shares[by_text.get(label, label)] = _number(share)
        return shares
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
    distinct(given.write_spec, in_file(given.json), given.plot)
    mechanism: Any = device_mechanism(given)
    epsilon = float(mechanism.epsilon)
    content = {
        "specification": mechanism.to_dict(),
        "epsilon": epsilon if isfinite(epsilon) else None,
        "unknown": list(mechanism.unknown),
        "categories": labels_to_json(mechanism.categories),
        "outputs": mechanism.outputs.tolist(),
        "probabilities": [[str(p) for p in row] for row in mechanism.exact],
        "instructions": mechanism.instructions(),
    }
    document = json.dumps(content, allow_nan=False)

    def draw() -> Any:
        ax = ldp.devices.Device(mechanism.device).plot(mechanism.categories)
        if title := title_text(given.title, ""):
            set_title(ax, title)
        return ax

    with output_files(given, given.write_spec) as write:
        write(document, draw, specification_text(mechanism))
    if given.json == "-":
        print(document)
        return 0
    # The probabilities of reports as a table, epsilon and the instructions
    head = ["true answer", *(f"report {label}" for label in mechanism.outputs)]
    pairs = zip(mechanism.categories, mechanism.exact, strict=True)
    rows = [[str(x), *map(str, row)] for x, row in pairs]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
    lines += ["", f"epsilon: {mechanism.epsilon:.6g}".replace("inf", "infinite")]
    if mechanism.unknown:
        names = ", ".join(mechanism.unknown)
        lines.append(f"unknown: {names} (epsilon is the largest over their values)")
    print("\n".join([*lines, "", *mechanism.instructions()]))
    return 0
