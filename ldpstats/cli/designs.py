"""Complex samples on the command line: the options that describe how respondents were sampled."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ldpstats.cli.common import Once
from ldpstats.cli.surveys import refuse_options
from ldpstats.errors import InvalidArgument
from ldpstats.inference.designs.sample import SINGLE_UNIT

__all__ = ["add_design", "design_of", "refuse_unweighted"]

_COLUMNS = ("weights", "strata", "clusters", "fpc")
_RULES = ("not_nested", "single_unit")
_NONE = "-"  # a stage without strata


def add_design(command: argparse.ArgumentParser) -> None:
    """The options of commands that estimate from a complex sample."""
    add = command.add_argument_group(
        "complex samples",
        "with --questionnaire: public columns that say how respondents were sampled",
    ).add_argument
    add("--weights", action=Once, metavar="COLUMN", help="column of sampling weights")

    def by_stage(name: str, words: str) -> None:
        words += "; given again for each further stage"
        add(name, action="append", default=[], metavar="COLUMN", help=words)

    by_stage("--strata", f"column of strata, {_NONE} where a stage has none")
    by_stage("--clusters", "column of sampling units")
    by_stage("--fpc", "column of numbers of units in the population, or of sampled fractions")
    words = "labels of units are unique in the whole table (default: within their stratum)"
    add("--not-nested", action="store_true", help=words)
    words = f"a stratum with a single unit: {', '.join(SINGLE_UNIT)} (default: {SINGLE_UNIT[0]})"
    add("--single-unit", choices=SINGLE_UNIT, metavar="RULE", help=words)


def design_of(given: argparse.Namespace) -> dict[str, Any]:
    """The options as arguments of `Survey`; none where no column of a design is named."""
    if given.questionnaire is None:
        refuse_options(given, (*_COLUMNS, *_RULES), "goes with --questionnaire only")
    for name in _COLUMNS:
        value = getattr(given, name)
        if value == "" or (isinstance(value, list) and "" in value):
            remedy = f"must be the name of a column: leave --{name} out if there is none"
            raise InvalidArgument(f"--{name}", "", remedy)
    if not any(getattr(given, name) for name in _COLUMNS):
        refuse_options(given, _RULES, "goes with the columns of a design, such as --clusters")
        return {}
    for name in ("clusters", "fpc"):
        if _NONE in getattr(given, name):
            raise InvalidArgument(f"--{name}", _NONE, "goes with --strata only")
    return {
        "weights": given.weights,
        "strata": ["" if name == _NONE else name for name in given.strata],
        "clusters": given.clusters,
        "fpc": given.fpc,
        "nested": not given.not_nested,
        "single_unit": given.single_unit or SINGLE_UNIT[0],
    }


def refuse_unweighted(given: argparse.Namespace, names: Sequence[str]) -> None:
    """Refuse the options of analyses that know no weights."""
    refuse_options(given, names, "goes without --weights, --strata, --clusters and --fpc")
