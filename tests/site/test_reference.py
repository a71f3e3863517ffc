"""Each public name has a page in the reference, one alone, with an example."""

import importlib
import inspect
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

from ldpstats.cli.program import _parser

REFERENCE = Path(__file__).parents[2] / "vignettes" / "reference"
MODULES = [
    "ldpstats",
    *(f"ldpstats.{name}" for name in ("channels", "collector", "datasets", "devices", "errors")),
    *(f"ldpstats.{name}" for name in ("estimators", "io", "page", "planning", "priors", "privacy")),
    "ldpstats.devices.library",
    "ldpstats.estimators.constraints",
    "ldpstats.pymc",
]


def listed(text: str) -> list[str]:
    """The names in the tables of a page of the reference."""
    found = []
    for module, table in re.findall(
        r"\.\. currentmodule:: ([\w.]+)\n\.\. autosummary::\n"
        r"   :toctree: api\n\n((?:   [\w.]+\n)+)",
        text,
    ):
        found += [f"{module}.{name}" for name in table.split()]
    return found


NAMES = [
    name for page in sorted(REFERENCE.glob("*.md")) for name in listed(page.read_text("utf-8"))
]


def named(name: str) -> Any:
    """What a dotted name stands for."""
    module, _, attribute = name.rpartition(".")
    while module not in sys.modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, more = module.rpartition(".")
            attribute = f"{more}.{attribute}"
    found: Any = sys.modules[module]
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def public() -> dict[str, Any]:
    """What users may import, by name: what is offered in two modules, under its first name."""
    found: dict[str, Any] = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if not isinstance(thing, ModuleType) and not any(
                thing is old for old in found.values()
            ):
                found[f"{module.__name__}.{name}"] = thing
    return found


def test_every_public_name_is_in_the_reference():
    pages = [named(name) for name in NAMES]
    missing = [name for name, thing in public().items() if not any(thing is page for page in pages)]
    assert missing == []


def test_no_name_has_two_pages():
    assert [name for name, pages in Counter(NAMES).items() if pages > 1] == []
    things = Counter(id(named(name)) for name in NAMES)
    assert [name for name in NAMES if things[id(named(name))] > 1] == []


def test_every_page_of_the_reference_is_in_its_index():
    (tree,) = re.findall(
        r"```{toctree}\n:hidden:\n\n(.*?)```", (REFERENCE / "index.md").read_text("utf-8"), re.S
    )
    assert sorted(tree.split()) == sorted(
        p.stem for p in REFERENCE.glob("*.md") if p.stem != "index"
    )


def test_a_name_has_an_example():
    assert [name for name in NAMES if not has_example(name)] == []


def has_example(name: str) -> bool:
    thing = named(name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        text = inspect.getdoc(thing) or ""
        if thing.__module__ == "ldpstats.planning.losses":  # of which one table tells
            text += inspect.getdoc(sys.modules[thing.__module__]) or ""
    else:  # data, whose docstring stands behind the assignment
        module, _, data = name.rpartition(".")
        if module == "ldpstats.devices":  # which offers them
            module = (
                "ldpstats.programs.instructions" if data == "WORDS" else "ldpstats.devices.device"
            )
        text = inspect.getsource(sys.modules[module]).partition(f"\n{data}")[2]
    example = text.partition("\nExamples\n-")[2]
    return ">>> " in example or "::\n" in example or "\nSee `" in example


def test_every_command_shows_its_help():
    (commands,) = [action.choices for action in _parser()._actions if action.choices]
    shown = re.findall(
        r"^## ldpstats ?(\w*)$", (REFERENCE / "commands.md").read_text("utf-8"), re.M
    )
    assert sorted(shown) == sorted(["", *commands])
