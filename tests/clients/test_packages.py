"""The light client as packages of its own, for pip and npm, as `.ci/clients.py` builds them."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from shared.javascript import NODE, PORTABLE

import ldpstats as ldp

ROOT = Path(__file__).parents[2]
KRR = ldp.KRR(("nurse", "driver"), epsilon=1.0)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def build(folder: Path) -> list[Path]:
    command = [sys.executable, str(ROOT / ".ci" / "clients.py"), str(folder)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [Path(line) for line in said.splitlines()]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"))


def test_the_packages_hold_the_clients_and_nothing_else(built, tmp_path):
    wheel, archive = built
    assert wheel.name == f"ldpstats_client-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as files:
        names = {name for name in files.namelist() if "dist-info" not in name}
        assert names == {"ldpstats_client.py"}
        client = (PORTABLE / "ldpstats_client.py").read_bytes()
        assert files.read("ldpstats_client.py") == client
        metadata = files.read(f"ldpstats_client-{VERSION}.dist-info/METADATA").decode()
    assert "Requires-Dist" not in metadata and f"Version: {VERSION}\n" in metadata
    with tarfile.open(archive) as files:
        names = {name.removeprefix("package/") for name in files.getnames()}
        package = json.load(files.extractfile("package/package.json"))
    assert names >= {"ldpstats-client.mjs", "ldpstats-client.d.mts", "LICENSE", "README.md"}
    assert package["version"] == VERSION and "dependencies" not in package
    again = build(tmp_path)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in built]


def test_the_wheel_installs_in_a_fresh_environment(built, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    place = next((tmp_path / "venv").glob("[bS][ic]*"))  # bin, or Scripts
    pip = [sys.executable, "-m", "pip", "--python", str(place / "python"), "install", "--no-index"]
    ran = subprocess.run([*pip, "--quiet", str(built[0])], capture_output=True, text=True)
    if "No module named pip" in ran.stderr:
        pytest.skip("pip is not installed")
    assert ran.returncode == 0, ran.stderr
    document = tmp_path / "client.json"
    document.write_text(json.dumps(KRR.client_document()))
    said = subprocess.run(
        [place / "ldpstats-client", document], input="nurse\n", capture_output=True, text=True
    )
    assert said.returncode == 0 and said.stdout.strip() in KRR.categories
    code = "import ldpstats_client, sys; print(ldpstats_client.VERSION, 'ldpstats' in sys.modules)"
    alone = subprocess.run([place / "python", "-c", code], capture_output=True, text=True)
    assert alone.stdout.split()[1] == "False"


@pytest.mark.skipif(NODE is None or shutil.which("npm") is None, reason="npm is not installed")
def test_the_archive_installs_by_npm(built, tmp_path):
    command = ["npm", "install", "--offline", "--no-audit", "--no-fund", str(built[1])]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    (tmp_path / "client.json").write_text(json.dumps(KRR.client_document()))
    script = tmp_path / "run.mjs"
    script.write_text(
        'import { readFile } from "node:fs/promises";\n'
        'import { Client } from "ldpstats-client";\n'
        'const client = new Client(JSON.parse(await readFile("client.json", "utf8")));\n'
        'console.log(client.report("nurse"));\n'
    )
    said = subprocess.run([NODE, script], cwd=tmp_path, capture_output=True, text=True)
    assert said.stdout.strip() in KRR.categories, said.stderr


def test_the_examples_are_those_of_the_clients(built):
    with zipfile.ZipFile(built[0]) as files:
        text = files.read(f"ldpstats_client-{VERSION}.dist-info/METADATA").decode()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    compile(code, "README", "exec")
    assert (
        "client.message(" in code and "def message" in (PORTABLE / "ldpstats_client.py").read_text()
    )
