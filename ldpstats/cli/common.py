"""What the commands share: options, progress, and files that are written together or not at all."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ldpstats import io
from ldpstats.arguments import level, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.models.plots import maybe_bar

HOW: dict[str, Any] = {
    "formatter_class": argparse.RawDescriptionHelpFormatter,
    "allow_abbrev": False,
}


def added(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    words: str,
    description: str,
    examples: str | None = None,
) -> argparse.ArgumentParser:
    """A command of the program, `run`, which returns an exit status if it may be other than 0."""
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=words, description=description, epilog=examples, **HOW
    )
    command.set_defaults(run=run)
    return command


def adder(to: Any) -> Callable[..., None]:
    """What adds an option: its name, words, and what its value is called; a flag has no more.

    `several` times it may be given, for a list of values.
    """

    def add(name: str, words: str, metavar: Any = "", several: bool = False, **how: Any) -> None:
        if several:
            how |= {"action": "append", "default": []}
        if metavar:
            how["metavar"] = metavar
        elif name.startswith("-") and not how:
            how["action"] = "store_true"
        to.add_argument(*name.split(), help=words, **how)

    return add


_FORMATS = (".png", ".pdf", ".svg")

Draw = Callable[[], Any]
"""Draws, and returns the Axes."""


class Once(argparse.Action):
    """Store a value, and refuse a second one: other commands take the option once a variable."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, f"given twice, {values!r} the second time")
        setattr(namespace, self.dest, values)


def option(name: str) -> str:
    """An option as it is written."""
    return f"--{name.replace('_', '-')}"


def label_list(text: str, flag: str) -> int | list[str]:
    """A number of categories, or labels; a label with a comma in it stands in double quotes."""
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    return split_labels(text, flag)


def split_labels(text: str, flag: str) -> list[str]:
    """Labels separated by commas."""
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise InvalidArgument(flag, text, f"is not a list of labels ({error})") from None


def numbers_in(texts: Iterable[str], flag: str, remedy: str) -> list[float]:
    """Numbers in text."""
    found = []
    for text in texts:
        try:
            found.append(float(text))
        except ValueError:
            raise InvalidArgument(flag, text, remedy) from None
    return found


# -- reading ---------------------------------------------------------------------------------------


def add_reading(
    add: Callable[..., Any], what: str, counted: str, missing: str | None = "raise"
) -> None:
    """The options of every command that reads a table; `missing` is the default of --missing."""
    default = "default" if missing else "default, but with --questionnaire count"
    words = f"missing {what}: refuse them ({default}), or {counted}"
    add("--missing", words, choices=("raise", "count"), default=missing)
    words = "text that means missing too"
    words += "" if missing else "; COLUMN=TEXT in one column, beside --questionnaire"
    add("--na", words, "TEXT", several=True)
    add("--force", "overwrite files that exist")


def distinct(*paths: str | None) -> None:
    """Refuse to read and write, or write twice, one and the same file."""
    seen = set()
    for path in paths:
        if path is not None:
            if os.path.realpath(path) in seen:
                raise InvalidArgument("path", path, "is given twice: use a file for each")
            seen.add(os.path.realpath(path))


def on_a_terminal() -> bool:
    """Whether somebody sees standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def progress(what: str) -> AbstractContextManager[Callable[..., None]]:
    """A bar on standard error, on a terminal only; moved by (fraction, stage, rows)."""
    return maybe_bar(what, on_a_terminal())


# -- results ---------------------------------------------------------------------------------------


def add_output(
    add: Callable[..., Any], alpha: str, rows: str, plot: str, kinds: Sequence[str] = ()
) -> None:
    """The options of every command that prints results; of several kinds of plot, --plot-kind."""
    add("--alpha", f"{alpha} (default: 0.05)", type=float, default=0.05)
    add("--max-rows", f"{rows} to print (default: 40)", type=int, default=40)
    add("--details", "print how the estimate was computed too")
    add("--json", "write the results as JSON; - prints them instead", "FILE")
    add("--plot", f"draw {plot}: {', '.join(_FORMATS)}", "FILE")
    add("--title", 'title of the plot; "" for none', "TEXT")
    if kinds:
        words = f"{', '.join(kinds)} (default: {kinds[0]})"
        add("--plot-kind", words, "KIND", choices=kinds)


def check_output(given: argparse.Namespace, read: Iterable[str | None]) -> None:
    """Check the options of `add_output`, and refuse to write a file that is `read`."""
    level(given.alpha)
    positive_integer("max_rows", given.max_rows)
    distinct(*read, in_file(given.json), given.plot)
    check_plot(given)


def in_file(path: str | None) -> str | None:
    """The file of --json or --csv, for which - means that it is printed."""
    return None if path == "-" else path


def check_csv(given: argparse.Namespace) -> None:
    """Check --csv beside --json."""
    path = in_file(given.csv)
    if path is not None and not path.lower().endswith(".csv"):
        raise InvalidArgument("--csv", path, "must end in .csv")
    if given.json == given.csv == "-":
        raise InvalidArgument("--csv", "-", "prints instead of --json -: give a file for one")


def check_plot(given: argparse.Namespace) -> None:
    """Check --plot, --title and --plot-kind."""
    if given.plot and not given.plot.lower().endswith(_FORMATS):
        raise InvalidArgument("plot", given.plot, f"must end in {', '.join(_FORMATS)}")
    for name in ("title", "plot_kind"):
        value = getattr(given, name, None)  # not every plot has kinds
        if given.plot is None and value is not None:
            raise InvalidArgument(option(name), value, "goes with --plot")


@contextmanager
def output_files(
    given: argparse.Namespace, csv: str | None = None
) -> Iterator[Callable[..., None]]:
    """Yield the function that writes --json, --plot and `csv`, which appear together or not at all.

    Their names are taken first, so that an existing file is refused before any work.
    """
    names = [name for name in (given.json, given.plot, csv) if name and name != "-"]
    with io.replacing_all(names, given.force) as temporary:
        files = dict(zip(names, temporary, strict=True))

        def write(document: str, draw: Draw, table: str = "") -> None:
            for name, path in files.items():
                if name == given.plot:
                    import matplotlib

                    matplotlib.use("Agg")
                    import matplotlib.pyplot as plt

                    kind = Path(given.plot).suffix.lower()[1:]
                    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
                    buffer = BytesIO()
                    with matplotlib.rc_context({"svg.hashsalt": "ldpstats"}):
                        figure = np.ravel(draw())[0].figure  # of groups there are several axes
                        figure.savefig(buffer, format=kind, dpi=150, metadata=dates.get(kind))
                        plt.close(figure)
                    path.write_bytes(buffer.getvalue())
                else:
                    path.write_bytes((f"{document}\n" if name == given.json else table).encode())

        yield write
