"""What the project files promise: declared dependencies, and the README's commands."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import pytest_collection_modifyitems

ROOT = Path(__file__).parents[1]
IMPORT = re.compile(r"^ *(?:from ([a-zA-Z]\w*)[\w.]* import |import ([a-zA-Z]\w*))", re.M)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=~!\[; ]", requirement)[0] for requirement in requirements}


def imported(folder: str) -> set[str]:
    """Top-level modules, neither ours nor the standard library's, imported below `folder`."""
    names = set()
    for path in (ROOT / folder).rglob("*.py"):
        text = re.sub(r'r?""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S)
        found = IMPORT.findall(text)
        names |= {name for pair in found for name in pair if name}
    ours = {"ldpstats", "tests", "benchmarks"} | {path.stem for path in (ROOT / folder).rglob("*")}
    return names - ours - set(sys.stdlib_module_names)


def test_every_import_is_a_declared_dependency():
    core = distributions(PROJECT["dependencies"])
    extras = {key: distributions(value) for key, value in PROJECT["optional-dependencies"].items()}
    bayes = extras["bayes"] | {"pytensor", "xarray"}  # which PyMC and ArviZ are made of
    others = extras["spark"] | extras["svy"] | extras["collect"] | extras["formulas"]
    others |= {"polars"}  # if a table is one
    assert imported("ldpstats") <= core | others | bayes
    assert imported("tests") <= core | extras["test"] | extras["spark"] | extras["browser"] | bayes
    site = {"docutils", *extras["docs"]} | {"myst_parser"}
    assert imported("vignettes") <= core | site | extras["spark"]


def test_no_dependency_is_pinned():
    extras = PROJECT["optional-dependencies"].values()
    requirements = [*PROJECT["dependencies"], *(name for extra in extras for name in extra)]
    assert all(re.fullmatch(r"[a-z0-9-]+>=[\d.]+", requirement) for requirement in requirements)


def lower_bounds(requirements: list[str]) -> dict[str, str]:
    return dict(requirement.split(">=") for requirement in requirements)


def test_the_lowest_versions_are_those_of_the_project():
    computed = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))["lowest"](PROJECT)
    found = dict(requirement.split("==") for requirement in computed)
    tests = lower_bounds(PROJECT["optional-dependencies"]["test"])
    beside = {name: tests[name] for name in ("pytest", "pytest-xdist")}
    extras = PROJECT["optional-dependencies"]
    beside |= lower_bounds(extras["collect"]) | lower_bounds(extras["docs"])
    for name in ("pydata-sphinx-theme", "sphinx-copybutton", "sphinx-design"):
        del beside[name]  # looks of pages
    assert found == lower_bounds(PROJECT["dependencies"]) | beside
    assert len(computed) == len(found)


def test_a_page_says_what_each_bound_is_for():
    page = (ROOT / "vignettes" / "dependencies.md").read_text(encoding="utf-8")
    extras = PROJECT["optional-dependencies"].values()
    bounds = {*PROJECT["dependencies"], *(name for extra in extras for name in extra)}
    assert set(re.findall(r"`([a-z0-9-]+>=[\d.]+)`", page)) == bounds


def test_the_server_is_not_one_with_known_holes():
    """Chunks of h11 before 0.16 end in anything; ranges of Starlette before 0.49.1 take long."""
    collect = lower_bounds(PROJECT["optional-dependencies"]["collect"])
    least = {"h11": (0, 16), "starlette": (0, 49, 1)}
    for name, version in least.items():
        assert tuple(map(int, collect[name].split("."))) >= version
    h11 = pytest.importorskip("h11")
    connection = h11.Connection(h11.SERVER)
    head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    connection.receive_data(head + b"5\r\nAAAAAXX2\r\n45\r\n0\r\n\r\n")
    with pytest.raises(h11.RemoteProtocolError):
        while connection.next_event() is not h11.NEED_DATA:
            pass


def test_steps_of_continuous_integration_can_be_called_alone():
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (steps,) = re.findall(r'^steps="([a-z ]+)"$', text, re.M)
    assert {"tests", "lint", "slow", "lowest"} <= set(steps.split())
    assert all(re.search(rf"^{step}\(\) {{", text, re.M) for step in steps.split())
    # the run on the lowest versions has the tests that cross the dependencies
    body = text[text.index("\nlowest() {") :].partition("\n}\n")[0]
    crossing = re.findall(r"tests/[\w/.]+", body)
    assert len(crossing) == 7 and all((ROOT / path).exists() for path in crossing)
    run = subprocess.run([ROOT / ".ci" / "run", "deploy"], capture_output=True, text=True)
    assert run.returncode == 2 and f"no step 'deploy': they are {steps}" in run.stderr


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A project whose installation is a script, `install`, in place of python3 -m venv and pip."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "README.md").write_text("<!-- test-command -->\n```sh\n./install && false\n```\n")
    python = script(tmp_path / "bin" / "python3", 'mkdir -p "$3/bin" && cp "$0" "$3/bin/python"')
    monkeypatch.setenv("PATH", f"{python.parent}:/usr/bin:/bin")
    return tmp_path


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


TOOLS = """
echo installed; mkdir -p .venv-test/bin; cd .venv-test/bin
for tool in pytest ruff ldpstats; do
    printf '#!/bin/sh\necho own '$tool' $1\n' > $tool; chmod +x $tool
done
"""


def lint(copy: Path) -> tuple[int, list[str]]:
    ran = subprocess.run([copy / ".ci" / "run", "lint"], capture_output=True, text=True)
    said = ("own", "installed", "other", ".ci/run")
    return ran.returncode, [x for x in (ran.stdout + ran.stderr).splitlines() if x.startswith(said)]


def test_an_environment_that_is_not_whole_is_made_anew(copy):
    """One without tools, one without the package, which comes last, and one that is too old."""
    script(copy / "install", TOOLS)
    script(copy / "bin" / "ruff", "echo other ruff")
    checks = ["own ruff check", "own ruff format"]
    (copy / ".venv-test" / "bin").mkdir(parents=True)
    assert lint(copy) == (0, ["installed", *checks])
    assert lint(copy) == (0, checks)
    (copy / ".venv-test" / "bin" / "ldpstats").unlink()
    assert lint(copy) == (0, ["installed", *checks])
    before = (copy / "pyproject.toml").stat().st_mtime - 10
    os.utime(copy / ".venv-test" / "bin" / "ldpstats", (before, before))
    assert lint(copy) == (0, ["installed", *checks])


@pytest.mark.parametrize("fault", ["install", "readme", "bare"])
def test_an_installation_that_fails_ends_the_run(fault, copy):
    """No step goes on with what else is installed, and nothing half made is left."""
    script(copy / "install", TOOLS + ("exit 1" if fault == "install" else ""))
    script(copy / "bin" / "ruff", "echo other ruff")
    if fault == "readme":
        (copy / "README.md").write_text("")
    if fault == "bare":
        script(copy / "bin" / "python3", "exit 1")
    status, said = lint(copy)
    assert status == 1 and not [line for line in said if "ruff" in line]
    assert not (copy / ".venv-test").exists()


OTHERS = r"""
echo installed; mkdir -p .venv-test/bin; cd .venv-test/bin
for tool in pytest ruff mypy python ldpstats; do
    printf '#!/bin/sh\necho own %s "$*"\n' $tool > $tool
    printf 'case "$FAULT" in *"%s $*"*) exit 1; esac\n' $tool >> $tool
    chmod +x $tool
done
"""
LAYERS = "python -m pytest -q tests/test_layers.py"
ALONE = "python -m pytest -q --last-failed --last-failed-no-failures none"
JAVA = """echo 'openjdk version "{}.0.15" 2025-04-15' >&2; echo OpenJDK >&2"""


@pytest.mark.parametrize(
    "fault", ["", "pytest all", f"pytest all, {ALONE}", LAYERS, "lowest .ci/lowest.py"]
)
def test_a_run_of_all_shows_every_step_and_fails_with_any(fault, copy, monkeypatch):
    """First `tests` beside `lowest`, then, if both passed, the others: all that they print.

    Tests that fail run once more, alone: only what fails again counts.
    """
    script(copy / "install", OTHERS)
    readme = (copy / "README.md").read_text()
    (copy / "README.md").write_text(readme.replace("&& false", "&& .venv-test/bin/pytest all"))
    lowest = """case "$1 $2" in "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
        *) echo "lowest $*"; [ "lowest $*" != "$FAULT" ] ;; esac"""
    script(copy / "bin" / "python3", lowest)
    script(copy / "bin" / "java", JAVA.format(21))
    for tool in ("chromium", "chromedriver", "node"):
        script(copy / "bin" / tool, "true")
    script(copy / "bin" / "sphinx-build", 'echo "own sphinx-build $*"')
    monkeypatch.setenv("FAULT", fault)
    ran = subprocess.run([copy / ".ci" / "run"], capture_output=True, text=True)
    said = [line.split(": ended")[0] for line in ran.stdout.splitlines() if line[:1].isalpha()]
    first = ["lowest .ci/lowest.py", "installed", "own pytest all"]
    first += [f"own {ALONE}"] * fault.startswith("pytest all")
    checks = ["own ruff check .", "own ruff format --check .", "own mypy ", f"own {LAYERS}"]
    if fault != LAYERS:
        checks += ["own python -m pip install", "own python -m pytest -q -m spark tests"]
        checks += ["own sphinx-build -W -n vignettes build"]
        checks += ["own python -m pytest -q tests/site/test_built.py"]
        checks += ["own python -m pytest -q -n 2 -m site tests/site"]
        checks += ["own python -m pip install", "own python -m pytest -q -m browser tests/browser"]
        checks += ["own python -m pytest -q tests/clients -k javascript"]
    speed = "own python benchmarks/run.py --quick privatise estimate million dense uldp"
    second = [*checks, speed, "own python -m pytest -q -n 2 -m slow"]
    both = fault in ("", "pytest all", LAYERS)
    said = [line.partition(" -q -r ")[0] for line in said if not line.startswith("lowest -m")]
    assert said == first + second * both
    failed = fault not in ("", "pytest all")
    assert ran.returncode == failed
    blamed = {f"pytest all, {ALONE}": "tests", LAYERS: "lint types layers spark bayes docs browser"}
    blamed["lowest .ci/lowest.py"] = "lowest"
    assert not failed or f".ci/run: failed: {blamed[fault]}\n" in ran.stderr


NEEDED = {
    "spark": ("java", "openjdk-17-jre-headless"),
    "browser": ("chromedriver", "chromium chromium-driver nodejs"),
}


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize(
    "user, ci, network, tested",
    [("0", "", 0, True), ("7", "true", 0, True), ("7", "", 0, False), ("0", "", 1, False)],
)
def test_a_step_has_what_it_needs_or_says_why_it_is_skipped(
    name, user, ci, network, tested, copy, monkeypatch
):
    """Java 11 is too old. Root and CI install what is not there; without a network they fail."""
    tool, packages = NEEDED[name]
    script(copy / "install", OTHERS)
    script(copy / "bin" / "python3", "true")
    for other in ("chromium", "node"):
        script(copy / "bin" / other, "true")
    needed = script(copy / "bin" / tool, f"[ {tool} = java ] || exit 1\n{JAVA.format(11)}")
    script(copy / "new", JAVA.format(17))
    script(copy / "bin" / "id", f"echo {user}")
    script(copy / "bin" / "sudo", 'shift && "$@"')
    got = f'echo "got $*"; [ "$1" = update ] || cp {copy}/new {needed}; exit {network}'
    script(copy / "bin" / "apt-get", got)
    monkeypatch.setenv("CI", ci)
    ran = subprocess.run([copy / ".ci" / "run", name], capture_output=True, text=True)
    assert (f"own python -m pytest -q -m {name} tests" in ran.stdout) == tested
    assert (f"got install -q -y {packages}" in ran.stdout) == tested
    skipped = f"{name}: skipped: it needs {packages} (Debian)"
    assert (skipped in ran.stdout) == (user == "7" and not ci)
    assert ran.returncode == network and ("could not be installed" in ran.stderr) == bool(network)


def test_what_runs_beside_a_run_ends_with_it(copy):
    script(copy / "install", "echo $$ > started.tmp && mv started.tmp started && exec sleep 60")
    run = subprocess.Popen([copy / ".ci" / "run"], stdout=subprocess.DEVNULL)
    while not (copy / "started").exists():
        assert run.poll() is None
        time.sleep(0.02)
    run.terminate()
    assert run.wait(timeout=30) == 130
    with pytest.raises(ProcessLookupError):
        for _ in range(500):
            os.kill(int((copy / "started").read_text()), 0)
            time.sleep(0.02)


@pytest.mark.parametrize("marker", ["main-command", "test-command"])
def test_readme_has_its_two_commands(marker):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(rf"<!-- {marker} -->\n```sh\n[^`]+\n```", readme)) == 1


def test_the_first_two_code_blocks_are_the_commands():
    blocks = re.findall(r"```(\w*)\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    assert [language for language, _ in blocks[:2]] == ["sh", "sh"]
    assert "pip install ." in blocks[0][1] and "pytest" in blocks[1][1]


def test_a_small_share_takes_every_second_setting_of_slow_tests(monkeypatch):
    names = ["one", *(f"few[{i}]" for i in range(3)), *(f"some[{i}]" for i in range(9))]
    names += [f"many[{i}]" for i in range(90)]
    hook = SimpleNamespace(pytest_deselected=lambda items: None)
    left = {}
    for share in ("1", "0.2"):
        monkeypatch.setenv("LDPSTATS_SLOW_SHARE", share)
        items: Any = [
            SimpleNamespace(nodeid=name, get_closest_marker=lambda mark: mark == "slow")
            for name in names
        ]
        pytest_collection_modifyitems(SimpleNamespace(hook=hook), items)
        left[share] = [item.nodeid.partition("[")[0] for item in items]
    assert left["1"] == [name.partition("[")[0] for name in names]
    assert [left["0.2"].count(name) for name in ("one", "few", "some")] == [1, 3, 5]
    assert left["0.2"].count("many") == pytest.approx(30, abs=2)
