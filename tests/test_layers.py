"""The package's imports flow strictly downwards, and importing it stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ldpstats"

# Lowest first. A module may import modules of lower layers and, in a package, its own siblings; an
# import for annotations alone counts like any other. "ldpstats" is the package's own __init__, the
# names that a user sees.
LAYERS = (
    "errors",
    "kernels",
    "arguments",
    "sampling",
    "datasets",
    "grams",
    "reports",
    "dictionary_reports",
    "problems",
    "channels",
    "clients",
    "estimators",
    "inference",
    "mechanisms",
    "dictionary_mechanisms",
    "dictionary_survey",
    "hypotheses",
    "contrasts",
    "discovery",
    "summary",
    "joint_summary",
    "personalized_summary",
    "dictionary_summary",
    "plots",
    "joint_plots",
    "dictionary_plots",
    "fitted_results",
    "results",
    "association_results",
    "personalized_results",
    "dictionary_results",
    "models",
    "privacy",
    "utility",
    "io",
    "ldpstats",
    "cli_common",
    "cli_associate",
    "cli_discover",
    "cli",
    "demo",
)
# Siblings in these packages are alternatives: they may share a base, not know one another. (k-RR is
# a base too: Warner's design is k-RR with two categories; and lumped reports become those of a
# custom mechanism.)
SHARED_SIBLINGS = {
    "mechanisms": {
        "base",
        "bits",
        "custom",
        "hashed",
        "hashed_bits",
        "hashing",
        "krr",
        "rappor_client",
        "urap",
        "urr",
    }
}
HEAVY = {
    "cvxpy",
    "matplotlib",
    "numba",
    "pyarrow",
    "scipy.optimize",
    "scipy.stats",
    "statsmodels",
    "tqdm",
}


def imported_modules(source: str, module: str, is_package: bool) -> Iterator[tuple[str, int]]:
    """Modules of ldpstats that `source` imports anywhere, functions included, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                parents = parents[: len(parents) - node.level + is_package]
                base = ".".join([*parents, base] if base else parents)
            # "from ldpstats import x" may name a submodule or a public name; resolve() decides
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "ldpstats":
                yield name, node.lineno


def resolve(name: str) -> tuple[str, str]:
    """Layer of a dotted name, and the file or public name within it ("" for the layer itself)."""
    parts = name.split(".")[1:]
    if not parts or (parts[0] not in LAYERS and not exists(parts[0])):
        return "ldpstats", ""
    return parts[0], parts[1] if len(parts) > 1 else ""


def exists(name: str) -> bool:
    return (PACKAGE / f"{name}.py").exists() or (PACKAGE / name).is_dir()


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """Imports in `source`, the text of `module`, that the layers forbid."""
    layer, own_file = resolve(module)
    found = []
    for name, line in imported_modules(source, module, is_package):
        target, sibling = resolve(name)
        if target not in LAYERS:
            found.append(f"{module}:{line} imports {name}, which has no layer")
        elif target == layer != "ldpstats":
            shared = SHARED_SIBLINGS.get(layer)
            if shared is not None and own_file and sibling not in shared:
                found.append(f"{module}:{line} imports its sibling {name}")
        elif LAYERS.index(target) >= LAYERS.index(layer):
            found.append(f"{module}:{line} imports {name}, which is not below it")
    return found


def modules() -> list[tuple[Path, str]]:
    """Every source file of the package with its dotted name."""
    named = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["ldpstats", *path.relative_to(PACKAGE).with_suffix("").parts]
        named.append((path, ".".join(parts[:-1] if parts[-1] == "__init__" else parts)))
    return named


def test_every_module_has_a_layer() -> None:
    assert [name for _, name in modules() if resolve(name)[0] not in LAYERS] == []


@pytest.mark.parametrize(("path", "name"), modules(), ids=[name for _, name in modules()])
def test_imports_flow_down(path: Path, name: str) -> None:
    assert violations(path.read_text(encoding="utf-8"), name, path.name == "__init__.py") == []


@pytest.mark.parametrize(
    "line",
    [
        "from ldpstats.models import frequency",
        "from ldpstats import models",
        "from ldpstats import FrequencyModel",
        "import ldpstats.models.frequency",
        "import ldpstats",
        "from ..models.frequency import FrequencyModel",
        "from .warner import Warner",
        "from ldpstats.mechanisms import Warner",
        "def f():\n    from ldpstats.results import Results",
    ],
)
def test_an_upward_import_is_caught(line: str) -> None:
    assert len(violations(line, "ldpstats.mechanisms.krr")) == 1


@pytest.mark.parametrize(
    "line",
    ["from ldpstats.errors import InvalidArgument", "from .base import Mechanism", "import numpy"],
)
def test_a_downward_import_passes(line: str) -> None:
    assert violations(line, "ldpstats.mechanisms.krr") == []


def heavy_modules(statement: str) -> set[str]:
    """Heavy libraries that `statement` loads on top of numpy and pandas."""
    code = (
        "import sys, numpy, pandas; before = set(sys.modules)\n"
        f"{statement}\n"
        f"print(*({HEAVY!r} & (set(sys.modules) - before)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    return set(ran.stdout.split())


def test_import_is_light() -> None:
    assert heavy_modules("import ldpstats") == set()


def test_a_heavy_import_is_caught() -> None:
    assert "scipy.stats" in heavy_modules("import scipy.stats")
