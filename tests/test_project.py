"""What the project files promise: declared dependencies, and the README's commands."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=~!\[; ]", requirement)[0] for requirement in requirements}


def imported(folder: str) -> set[str]:
    """Top-level modules, neither ours nor the standard library's, imported below `folder`."""
    names = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    ours = {"ldpstats", "tests"} | {path.stem for path in (ROOT / folder).rglob("*.py")}
    return names - ours - set(sys.stdlib_module_names)


def test_every_import_is_a_declared_dependency():
    core = distributions(PROJECT["dependencies"])
    extras = {key: distributions(value) for key, value in PROJECT["optional-dependencies"].items()}
    assert imported("ldpstats") <= core
    assert imported("tests") <= core | extras["test"]
    assert imported("vignettes") <= core | extras["vignettes"]


def test_no_dependency_is_pinned():
    extras = PROJECT["optional-dependencies"].values()
    requirements = [*PROJECT["dependencies"], *(name for extra in extras for name in extra)]
    assert all(re.fullmatch(r"[a-z-]+>=[\d.]+", requirement) for requirement in requirements)


def lower_bounds(requirements: list[str]) -> dict[str, str]:
    return dict(requirement.split(">=") for requirement in requirements)


def test_the_lowest_versions_are_those_of_the_project():
    computed = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))["lowest"](PROJECT)
    found = dict(requirement.split("==") for requirement in computed)
    tests = lower_bounds(PROJECT["optional-dependencies"]["test"])
    runners = {name: tests[name] for name in ("pytest", "pytest-xdist")}
    assert found == lower_bounds(PROJECT["dependencies"]) | runners
    assert len(computed) == len(found)


def test_steps_of_continuous_integration_can_be_called_alone():
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (steps,) = re.findall(r'^steps="([a-z ]+)"$', text, re.M)
    assert {"tests", "lint", "slow", "lowest"} <= set(steps.split())
    assert all(re.search(rf"^{step}\(\) {{", text, re.M) for step in steps.split())
    # the run on the lowest versions has the tests that cross the dependencies
    body = text[text.index("\nlowest() {") :]
    for name in ("contract", "hashing", "hashed", "frequency", "bad_input"):
        assert f"tests/test_{name}.py" in body and (ROOT / f"tests/test_{name}.py").exists()
    run = subprocess.run([ROOT / ".ci" / "run", "deploy"], capture_output=True, text=True)
    assert run.returncode == 2 and f"no step 'deploy': they are {steps}" in run.stderr


@pytest.mark.parametrize("marker", ["main-command", "test-command"])
def test_readme_has_its_two_commands(marker):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(rf"<!-- {marker} -->\n```sh\n[^`]+\n```", readme)) == 1


def test_the_first_two_code_blocks_are_the_commands():
    blocks = re.findall(r"```(\w*)\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    assert [language for language, _ in blocks[:2]] == ["sh", "sh"]
    assert "pip install ." in blocks[0][1] and "pytest" in blocks[1][1]
