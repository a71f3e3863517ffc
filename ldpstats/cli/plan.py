"""ldpstats plan: how precise mechanisms are, or how many respondents they need."""

from __future__ import annotations

import argparse
import json
from math import isfinite
from typing import Any

import pandas as pd

import ldpstats as ldp
from ldpstats import io, planning
from ldpstats.arguments.checks import level, positive_integer, positive_number
from ldpstats.arguments.labels import as_labels
from ldpstats.arguments.matching import matched
from ldpstats.cli.common import (
    HOW,
    check_plot,
    distinct,
    label_list,
    output_files,
    split_labels,
)
from ldpstats.cli.devices import add_device_options, device_mechanism, refuse_params
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.notes import epsilon_text
from ldpstats.models.shared.tables import LONGEST_LABEL, SummaryTable, one_line
from ldpstats.planning.contenders import KINDS, contenders
from ldpstats.planning.mechanism_comparison import ratios
from ldpstats.planning.shares import shares_text

__all__ = ["add_plan"]

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
    command = commands.add_parser("plan", help=words, description=_PLAN, **HOW)
    command.set_defaults(run=_plan)
    add = command.add_argument
    add("--categories", metavar="LABELS", help="labels separated by commas, or their number k")
    words = "privacy of a report, in nats; may be given again"
    add("--epsilon", type=float, action="append", default=[], help=words)
    add("--mechanism", choices=KINDS, action="append", default=[], help="a kind; may be repeated")
    add_device_options(add)
    words = "specification of a mechanism to compare (JSON); may be given again"
    add("--spec", action="append", default=[], metavar="FILE", help=words)
    words = "text file of candidates, one a line, where any text is an answer"
    add("--candidates", metavar="FILE", help=words)
    words = (
        "expected shares, separated by commas, in the order of the categories (default: uniform)"
    )
    add("--p", metavar="SHARES", help=words)
    aim = command.add_mutually_exclusive_group(required=True)
    aim.add_argument("--n", type=int, help="number of respondents")
    aim.add_argument("--se", type=float, help="standard error to reach")
    aim.add_argument("--width", type=float, help="full width of intervals to reach")
    aim.add_argument("--relative", type=float, help="standard error over the share to reach")
    add("--category", metavar="LABEL", help="the category that counts (default: the worst)")
    words = "factor by which the sampling design multiplies variances (default: 1)"
    add("--design-effect", type=float, default=1.0, metavar="NUMBER", help=words)
    add("--alpha", type=float, default=0.05, help="1 - coverage of intervals (default: 0.05)")
    add("--json", metavar="FILE", help="write the table as JSON; - prints it instead")
    add("--csv", metavar="FILE", help="write the table as CSV; - prints it instead")
    add("--plot", metavar="FILE", help="draw precision against epsilon: .png, .pdf, .svg")
    add("--title", metavar="TEXT", help='title of the plot; "" for none')
    add("--force", action="store_true", help="overwrite files that exist")


def _plan(given: argparse.Namespace) -> int:
    _check(given)
    candidates = None if given.candidates is None else tuple(io.read_candidates(given.candidates))
    mechanisms = _mechanisms(given, candidates)
    law = _law(given, mechanisms, candidates)
    with output_files(given, given.csv) as write:
        table = _table(given, mechanisms, law, candidates)
        document = json.dumps(_document(given, table), allow_nan=False)
        frame = table.to_csv(index=False, lineterminator="\n")
        write(document, lambda: _plot(given, mechanisms, law, candidates), frame)
    if given.json == "-":
        print(document)
    else:
        print(frame.rstrip("\n") if given.csv == "-" else _text(given, table, law))
    return 0


def _check(given: argparse.Namespace) -> None:
    """Check options before any file is read or written."""
    level(given.alpha)
    check_plot(given)
    csv = given.csv if given.csv != "-" else None
    written = (given.json if given.json != "-" else None, given.plot, csv)
    for path in {*given.spec, given.candidates}:  # one specification may be given twice
        distinct(path, *written)
    if csv is not None and not csv.lower().endswith(".csv"):
        raise InvalidArgument("--csv", csv, "must end in .csv")
    if given.json == given.csv == "-":
        raise InvalidArgument("--csv", "-", "prints instead of --json -: give a file for one")
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


def _mechanisms(given: argparse.Namespace, candidates: Any) -> dict[str, ldp.Mechanism]:
    """The mechanisms to compare, by name."""
    found: dict[str, ldp.Mechanism] = {}
    if given.device is not None:
        found[f"{given.device} {' '.join(given.param)}".strip()] = device_mechanism(given)
    if given.categories is not None and (given.epsilon or given.device is None):
        labels = as_labels("--categories", label_list(given.categories, "--categories"))
        for epsilon in given.epsilon:
            kinds = contenders(labels, epsilon, given.mechanism or KINDS)
            found |= {f"{kind.title}{_AT}{epsilon!r}": m for kind, m in kinds.values()}
    for path in given.spec:
        mechanism = io.read_mechanism(path)
        if mechanism.is_open and candidates is None:
            remedy = f"is needed: any text is an answer to {mechanism}; name a file of candidates"
            raise InvalidArgument("--candidates", None, remedy)
        found[str(mechanism)] = mechanism
    if not found:
        raise InvalidArgument("--mechanism", given.mechanism, "fits none of these categories")
    if candidates is not None and not any(m.is_open for m in found.values()):
        remedy = "must be left out: all mechanisms list their categories"
        raise InvalidArgument("--candidates", given.candidates, remedy)
    return found


def _law(given: argparse.Namespace, mechanisms: dict[str, Any], candidates: Any) -> pd.Series[Any]:
    """The expected shares by category, and whether all mechanisms have these categories."""
    first = next(iter(mechanisms.values()))
    labels = first.labels(candidates if first.is_open else None)
    shares = None if given.p is None else _shares(given.p)
    law = planning.precision(first, shares, 1, candidates=candidates if first.is_open else None).p
    if given.category is not None:
        place = matched("--category", [given.category], labels)[0]
        if place < 0:
            raise InvalidArgument("--category", given.category, "must be one of the categories")
        given.category = labels[int(place)]
    return law


def _shares(text: str) -> list[float]:
    try:
        return [float(share) for share in split_labels(text, "--p")]
    except ValueError:
        remedy = "must be numbers separated by commas, such as 0.5,0.3,0.2"
        raise InvalidArgument("--p", text, remedy) from None


def _table(
    given: argparse.Namespace, mechanisms: dict[str, Any], law: pd.Series[Any], candidates: Any
) -> pd.DataFrame:
    """Standard errors with --n, or respondents, of every mechanism; see the columns in `_document`.

    `compare` refuses mechanisms of different categories.
    """
    how = {"design_effect": given.design_effect, "candidates": candidates}
    table = planning.compare(mechanisms, law, given.n or 1, **how)
    table = table[["epsilon", "bits", "effective_share"]]
    if given.n is not None:
        errors = [_errors(given, m, law, candidates) for m in mechanisms.values()]
        table.insert(2, "se", errors)
        needed = table["se"] ** 2
    else:
        needs = [_needed(given, m, law, candidates) for m in mechanisms.values()]
        table.insert(2, "respondents", needs)
        needed = table["respondents"].astype(float)
    table.insert(3, "ratio", ratios(needed.to_numpy()))
    table.insert(0, "mechanism", [name.partition(_AT)[0] for name in mechanisms])
    return table.reset_index(drop=True)


def _errors(given: argparse.Namespace, mechanism: Any, law: Any, candidates: Any) -> float:
    among = candidates if mechanism.is_open else None
    se = planning.precision(mechanism, law, given.n, given.design_effect, among).se
    return float(se.max() if given.category is None else se[given.category])


def _needed(given: argparse.Namespace, mechanism: Any, law: Any, candidates: Any) -> int:
    return planning.sample_size(
        mechanism,
        law,
        **{name: getattr(given, name) for name in _TARGETS},
        category=given.category,
        design_effect=given.design_effect,
        alpha=given.alpha,
        candidates=candidates if mechanism.is_open else None,
    )


# -- what is written -------------------------------------------------------------------------


def _aim(given: argparse.Namespace) -> tuple[str, Any]:
    return next((n, getattr(given, n)) for n in ("n", *_TARGETS) if getattr(given, n) is not None)


def _document(given: argparse.Namespace, table: pd.DataFrame) -> dict[str, Any]:
    """The table as JSON, with what it was asked for; no privacy and no share are null."""
    name, value = _aim(given)
    rows = [
        {key: None if isinstance(x, float) and not isfinite(x) else x for key, x in row.items()}
        for row in table.to_dict("records")
    ]
    asked = {"category": given.category, "design_effect": given.design_effect, "alpha": given.alpha}
    return {name: value, **asked, "mechanisms": rows}


def _text(given: argparse.Namespace, table: pd.DataFrame, law: pd.Series[Any]) -> str:
    """The table for people."""
    name, value = _aim(given)
    what = "se" if given.n is not None else "respondents"
    words = {"n": "Respondents:", "se": "Std err:", "relative": "Std err / p:"}
    words["width"] = f"{100 * (1 - given.alpha):.4g}% width:"
    worst = "the worst" if given.category is None else one_line(given.category, LONGEST_LABEL)
    shares = "equal (no --p)" if given.p is None else shares_text(law)
    short = shares if len(shares) <= _SHORT else "see below"
    asked = f"{value:,}" if name == "n" else f"{value:g}"
    summary = SummaryTable(
        title="Mechanisms before the survey",
        header=[
            ["Categories:", f"{len(law):,}", words[name], asked],
            ["Category:", worst, "Design effect:", f"{given.design_effect:g}"],
            ["Shares:", short, "", ""],
        ],
        columns=["epsilon", "bits", "std err" if what == "se" else what, "ratio", "worth"],
        stubs=[one_line(name, LONGEST_LABEL) for name in table["mechanism"]],
        body=[
            [
                epsilon_text(row["epsilon"]),
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
    return planning.plot_frontier(
        [*kinds, *points],
        candidates or law.index,
        law,
        n=given.n,
        se=given.se,
        epsilons=sorted({*given.epsilon}) if len({*given.epsilon}) > _FEW else None,
        category=given.category,
        design_effect=given.design_effect,
        title=given.title,
    )
