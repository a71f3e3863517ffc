"""Data such as `ldpstats.devices.truth` is described where it is assigned, not where offered."""

from __future__ import annotations

import sys
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer


def written(name: str, thing: object) -> list[str]:
    """The lines behind the assignment that made `thing`."""
    for module, offered in list(sys.modules.items()):
        if module.startswith("ldpstats") and getattr(offered, name, None) is thing:
            try:
                found = ModuleAnalyzer.for_module(module).find_attr_docs()
            except PycodeError:
                continue
            if ("", name) in found:
                return found["", name]
    return []


def described(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    if what == "data":
        lines[:] = written(name.rpartition(".")[2], thing) or lines


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", described, priority=400)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
