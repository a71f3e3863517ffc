"""ldpstats questionnaire: specify whole answer sheets, or print one that is specified."""

from __future__ import annotations

import argparse
from typing import Any

import ldpstats as ldp
from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import as_labels
from ldpstats.cli.common import HOW, distinct, label_list
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.mechanisms.of_device import OfDevice
from ldpstats.survey.documents import read_specification
from ldpstats.survey.listing import as_text

__all__ = ["add_questionnaire"]

_QUESTIONNAIRE = """\
Write the specification of a questionnaire: named questions, each by k-ary randomised response or
with the specification of its mechanism or dictionary survey, and what all reports of an answer
sheet together spend. The questions are asked in the order of the options. Without questions, print
the questionnaire that FILE holds.

Designs with unknown parameters ask two groups with different devices, --group for each. A report
says its group, "A:yes", or the column NAME_cohort does beside the column NAME.

Privatise a table of answers with ldpstats privatize INPUT OUTPUT --questionnaire FILE.
"""


class _Asked(argparse.Action):
    """Add a question to those of all options, in the order of the command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.asked = [*namespace.asked, (self.option_strings[0], *values)]


def add_questionnaire(commands: Any) -> None:
    words = "specify whole answer sheets, or print one that is specified"
    command = commands.add_parser("questionnaire", help=words, description=_QUESTIONNAIRE, **HOW)
    command.set_defaults(run=_questionnaire, asked=[])
    add = command.add_argument
    add("file", metavar="FILE", help="the questionnaire (JSON)")
    two: dict[str, Any] = {"nargs": 2, "action": _Asked, "dest": "asked"}
    words = "a question, which is a column of the table, and the specification of its mechanism"
    add("--question", metavar=("NAME", "SPEC"), help=words, **two)
    three: dict[str, Any] = {"nargs": 3, "action": _Asked, "dest": "asked"}
    words = "a question by k-ary randomised response: its labels, separated by commas, or their "
    words += "number k, and epsilon"
    add("--krr", metavar=("NAME", "LABELS", "EPSILON"), help=words, **three)
    words = (
        "a device of a question that is asked with another in each group, the name of the group "
    )
    words += "and the specification of the device; once for each group"
    add("--group", metavar=("NAME", "GROUP", "SPEC"), help=words, **three)
    words = "a question without protection, and its labels: separated by commas, or their number k"
    add("--observed", metavar=("NAME", "LABELS"), help=words, **two)
    words = "private questions that each respondent is asked, drawn at random (default: all)"
    add("--ask", type=int, metavar="M", help=words)
    words = "the label of every private question that stands for a missing answer"
    add("--refused", metavar="LABEL", help=words)
    add("--force", action="store_true", help="overwrite a file that exists")


def _questionnaire(given: argparse.Namespace) -> int:
    for flag, *_, last in given.asked:
        if flag in ("--question", "--group"):  # several may have one specification
            distinct(given.file, last)
    if given.asked:
        _written(given)
    else:
        for name in ("ask", "refused"):
            if getattr(given, name) is not None:
                raise LDPError(f"--{name} goes with --question or --krr: name the questions")
    print(as_text(ldp.Questionnaire.from_json(given.file)))
    return 0


def _written(given: argparse.Namespace) -> None:
    """Write the questionnaire that the options describe."""
    mechanisms: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for flag, name, *values in given.asked:
        if name in mechanisms and not (flag == "--group" and name in groups):
            raise InvalidArgument(flag, name, "is the name of two questions: rename one")
        if flag == "--krr":
            mechanisms[name] = _krr(name, *values)
        elif flag == "--observed":
            mechanisms[name] = ldp.Observed(label_list(values[0], flag))
        elif flag == "--question":
            mechanisms[name] = read_specification(values[0])
        else:
            group, path = values
            own = mechanisms[name] = groups.setdefault(name, {})  # the first has the place
            if group in own:
                raise InvalidArgument(flag, group, f"is twice a group of {name}")
            own[group] = read_specification(path)
    mechanisms |= {name: _in_groups(name, own) for name, own in groups.items()}
    sheet = ldp.Questionnaire(mechanisms, ask=given.ask, refused=given.refused)
    sheet.to_json(given.file, force=given.force)


def _krr(name: str, labels: str, epsilon: str) -> ldp.KRR:
    """k-ary randomised response of a question, from the words of --krr."""
    where = f"--krr {name}"
    try:
        spent = float(epsilon)
    except ValueError:
        raise InvalidArgument(f"{where} epsilon", epsilon, "must be a number: 1.0") from None
    categories = as_labels(f"{where} labels", label_list(labels, where))
    return ldp.KRR(categories, positive_epsilon(f"{where} epsilon", spent))


def _in_groups(name: str, groups: dict[str, Any]) -> Any:
    """The device of a question that is asked with another in each group."""
    steps = {}
    first = next(iter(groups.values()))
    for group, made_by in groups.items():
        if not isinstance(made_by, OfDevice):
            remedy = f"must be a device in each group, as ldpstats device writes it, not {made_by}"
            raise InvalidArgument(f"--group {name}", group, remedy)
        if not made_by.categories.equals(first.categories):
            remedy = "must have the categories of the other groups, in the same order"
            raise InvalidArgument(f"--group {name}", group, remedy)
        steps[group] = ldp.devices.Device(made_by.device)
    return ldp.devices.cohorts(steps).mechanism(first.categories)
