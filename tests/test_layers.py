"""Imports flow strictly downwards, run in no circle, and importing the package stays light."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ldpstats"

# The rooms of a folder, files and folders alike, lowest floor first. A room may import what stands
# on a lower floor; rooms on one floor do not know each other. Rooms that are not named stand on the
# floor above those that are: one more mechanism or estimator needs no line here. In folders without
# a plan rooms import one another in no circle. An import for annotations alone, or inside a
# function, counts like any other. "ldpstats" is the package's own __init__: the names that a user
# sees.
FLOORS: Mapping[str, tuple[str, ...]] = {
    "ldpstats": (
        "errors",
        "kernels",
        "arguments",
        "hints",
        "labels",
        "documents",
        "sampling",
        "datasets",
        "reports",
        "likelihood",
        "priors cells",
        "channels",
        "clients",
        "estimators",
        "inference",
        "programs",
        "mechanisms",
        "devices",
        "models",
        "privacy planning",
        "io",
        "engines",
        "survey",
        "page",
        "collector",
        "ldpstats",
        "cli demo pymc",
        "__main__",
    ),
    "ldpstats.likelihood": (
        "blocks covariance parametric",
        "moments",
        "hashed",
        "rows",
        "hashed_rows",
        "joint",
        "regression",
    ),
    "ldpstats.estimators": (
        "base solvers",
        "constrained constraints",
        "likelihood moments",
        "regression",
    ),
    "ldpstats.mechanisms": ("base", "blocks custom unary", "krr ordered sensitive", "hashed"),
    "ldpstats.models": (
        "statsmodels",
        "layout",
        "contrasts plots storage",
        "results",
        "posterior",
        "parameters",
        "frequency",
        "association",
        "regression",
        "small_areas",
        "grouped weighted",
    ),
}
HEAVY = {
    "cvxpy",
    "duckdb",
    "matplotlib",
    "narwhals",
    "numba",
    "pyarrow",
    "pyspark",
    "scipy.optimize",
    "scipy.stats",
    "statsmodels",
    "tqdm",
}


def modules() -> dict[str, Path]:
    """Every source file of the package by its dotted name."""
    named = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["ldpstats", *path.relative_to(PACKAGE).with_suffix("").parts]
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


MODULES = modules()


@cache
def imported_modules(source: str, module: str) -> tuple[tuple[str, int], ...]:
    """Modules of ldpstats that `source` imports anywhere, functions included, with their lines."""
    return tuple(_imported(source, module))


def _imported(source: str, module: str) -> Iterator[tuple[str, int]]:
    is_door = module in MODULES and MODULES[module].name == "__init__.py"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                parents = parents[: len(parents) - node.level + is_door]
                base = ".".join([*parents, base] if base else parents)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "ldpstats":
                # the last part may be a module or a name in one
                yield name if name in MODULES else name.rpartition(".")[0] or name, node.lineno


def rooms(module: str, target: str) -> tuple[str, str, str]:
    """The innermost folder that holds both modules, and the room of each in it.

    A folder's own __init__ is its door: it stands above all its rooms and has no room itself, but
    that of the whole package, "ldpstats".
    """
    own, other = module.split("."), target.split(".")
    depth = 0
    while depth < min(len(own), len(other)) and own[depth] == other[depth]:
        depth += 1
    first = own[depth] if depth < len(own) else ""
    second = other[depth] if depth < len(other) else ""
    folder = ".".join(own[:depth])
    if folder == "ldpstats":
        first, second = first or "ldpstats", second or "ldpstats"
    return folder, first, second


def violation(module: str, target: str) -> str:
    """Why `module` may not import `target`; "" where it may."""
    if target not in MODULES:
        return "which is not there"
    folder, own, other = rooms(module, target)
    if not own:  # a folder's door hands on what its rooms hold
        return ""
    if not other:
        return "the door of its own folder"
    floors = [floor.split() for floor in FLOORS.get(folder, ())]
    if not floors:
        return ""
    height = {room: i for i, floor in enumerate(floors) for room in floor}
    top = len(floors)
    return "" if height.get(other, top) < height.get(own, top) else "which is not below it"


def violations(source: str, module: str) -> list[str]:
    """Imports in `source`, the text of `module`, that the plan forbids."""
    return [
        f"{module}:{line} imports {target}, {why}"
        for target, line in imported_modules(source, module)
        if (why := violation(module, target))
    ]


def circles(arrows: Iterable[tuple[str, str]]) -> list[str]:
    """Nodes that lie on a circle of arrows: what is left when sources and sinks are taken away."""
    left = {arrow for arrow in arrows if arrow[0] != arrow[1]}
    while True:
        sources = {first for first, _ in left}
        sinks = {second for _, second in left}
        inner = {(a, b) for a, b in left if a in sinks and b in sources}
        if inner == left:
            return sorted(sources)
        left = inner


def arrows_of(sources: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(m, target) for m, text in sources.items() for target, _ in imported_modules(text, m)]


def texts() -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}


def test_imports_flow_down():
    assert [found for name, text in texts().items() for found in violations(text, name)] == []


def test_no_module_imports_in_a_circle():
    assert circles(arrows_of(texts())) == []


def test_no_rooms_of_a_folder_import_in_a_circle():
    plan = [rooms(*arrow) for arrow in arrows_of(texts())]
    for folder in {folder for folder, _, _ in plan}:
        arrows = [(own, other) for place, own, other in plan if place == folder and own and other]
        assert circles(arrows) == [], folder


def test_rooms_have_one_floor():
    for folder, floors in FLOORS.items():
        inside = {m.removeprefix(f"{folder}.").split(".")[0] for m in MODULES if f"{folder}." in m}
        planned = [room for floor in floors for room in floor.split() if room != "ldpstats"]
        assert len(planned) == len(set(planned)) and inside >= set(planned)
        assert inside == set(planned) or folder != "ldpstats"


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("mechanisms.krr", "from ldpstats.models import frequency"),
        ("mechanisms.krr", "from ldpstats import models"),
        ("mechanisms.krr", "from ldpstats import FrequencyModel"),
        ("mechanisms.krr", "import ldpstats.models.frequency.model"),
        ("mechanisms.krr", "import ldpstats"),
        ("mechanisms.krr", "from ..models.frequency.model import FrequencyModel"),
        ("mechanisms.krr", "from .ordered import SquareWave"),
        ("mechanisms.unary", "from .krr import KRR"),
        ("mechanisms.krr", "from ldpstats.mechanisms import Warner"),
        ("mechanisms.krr", "def f():\n    from ldpstats.models.frequency.results import Results"),
        ("mechanisms.krr", "from ldpstats.mechanisms.nowhere.at import all"),
        ("models.frequency.model", "from ldpstats.models.association.model import Any"),
        ("models.personalized", "from ldpstats.models.dictionary.model import Any"),
        ("models.results", "from ldpstats.models.frequency.results import Any"),
        ("estimators.solvers", "from ldpstats.estimators.moments import Lasso"),
        ("likelihood.rows", "from ldpstats.likelihood.joint import JointMoments"),
    ],
)
def test_an_upward_import_is_caught(module, line):
    assert len(violations(line, f"ldpstats.{module}")) == 1


@pytest.mark.parametrize(
    "line",
    ["from ldpstats.errors import InvalidArgument", "from .base import Mechanism", "import numpy"],
)
def test_a_downward_import_passes(line):
    assert violations(line, "ldpstats.mechanisms.krr") == []


def test_a_circle_of_siblings_is_caught():
    """Two files of one folder that import each other, the one inside a function, as 0.1.0 had."""
    folder = "ldpstats.models.association"
    sources = texts()
    sources[f"{folder}.evidence"] += f"\nfrom {folder}.model import AssociationModel\n"
    sources[f"{folder}.model"] += f"\ndef f():\n    from {folder}.evidence import score_test\n"
    found = circles(arrows_of(sources))
    assert {f"{folder}.model", f"{folder}.evidence"} <= set(found)


def heavy_modules(statement: str, among: set[str] = HEAVY) -> set[str]:
    """Heavy modules that `statement` loads on top of numpy and pandas."""
    code = (
        "import sys, numpy, pandas; before = set(sys.modules)\n"
        f"{statement}\n"
        f"print(*({among!r} & (set(sys.modules) - before)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    return set(ran.stdout.split())


def test_import_is_light():
    assert heavy_modules("import ldpstats") == set()
    assert "tqdm" in heavy_modules("import tqdm")


def test_a_client_of_a_questionnaire_loads_no_engine():
    engines, client = {"ldpstats.engines"}, "ldp.Questionnaire({'a': ldp.KRR(2, 1.0)}).client()"
    assert not heavy_modules(f"import ldpstats as ldp; {client}", engines)
    assert heavy_modules("import ldpstats as ldp; ldp.Survey", engines) == engines
