"""Build the light client as packages of its own: a wheel for pip, and an archive for npm.

    python .ci/clients.py dist

They hold the files of ldpstats/clients/portable and nothing else, need no other package, and have
the version of ldpstats. Two builds of one commit are the same, byte for byte. Nothing is published.
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile
import tomllib
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

ROOT = Path(__file__).parents[1]
PORTABLE = ROOT / "ldpstats" / "clients" / "portable"
SUMMARY = "A respondent's client of ldpstats: true answers in, privatised reports out"
README = """# ldpstats-client

{summary}. It needs nothing else, opens no connection, and shows no answer in an error.

```{language}
{example}
```

The document comes from `ldpstats client survey.json --to device`, or from the method
`client_document()` of questionnaires and mechanisms of the package ldpstats, which has the
specification that this client follows.
"""
PYTHON = """import json
from ldpstats_client import Client

client = Client(json.load(open("client.json")), state="client.state")
message = client.message({"job": "nurse", "ill": "no"})"""
JAVASCRIPT = """import { readFile } from "node:fs/promises";
import { Client } from "ldpstats-client";

const client = new Client(JSON.parse(await readFile("client.json", "utf8")));
const message = client.message({ job: "nurse", ill: "no" });"""


def main(folder: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    to = Path(folder)
    to.mkdir(parents=True, exist_ok=True)
    for made in (wheel(project, to), npm(project, to)):
        print(made)


def wheel(project: dict[str, str], to: Path) -> Path:
    """A wheel of the Python client, with the command ldpstats-client."""
    version = project["version"]
    info = f"ldpstats_client-{version}.dist-info"
    readme = README.format(summary=SUMMARY, language="python", example=PYTHON)
    head = {
        "Metadata-Version": "2.4",
        "Name": "ldpstats-client",
        "Version": version,
        "Summary": SUMMARY,
        "Requires-Python": ">=3.9",
        "License-Expression": project["license"],
        "License-File": "LICENSE",
        "Description-Content-Type": "text/markdown",
    }
    metadata = "".join(f"{name}: {value}\n" for name, value in head.items())
    files = {
        "ldpstats_client.py": (PORTABLE / "ldpstats_client.py").read_bytes(),
        f"{info}/METADATA": f"{metadata}\n{readme}".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: ldpstats\nRoot-Is-Purelib: true\n"
        b"Tag: py3-none-any\n",
        f"{info}/entry_points.txt": b"[console_scripts]\nldpstats-client = ldpstats_client:main\n",
        f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    record = ""
    for name, data in files.items():
        digest = urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = to / f"ldpstats_client-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return path


def npm(project: dict[str, str], to: Path) -> Path:
    """An archive of the JavaScript client with its types, as `npm pack` makes one."""
    version = project["version"]
    package = {
        "name": "ldpstats-client",
        "version": version,
        "description": SUMMARY,
        "license": project["license"],
        "type": "module",
        "exports": {".": {"types": "./ldpstats-client.d.mts", "default": "./ldpstats-client.mjs"}},
        "types": "./ldpstats-client.d.mts",
        "engines": {"node": ">=18"},
        "sideEffects": False,
    }
    readme = README.format(summary=SUMMARY, language="js", example=JAVASCRIPT)
    files = {
        "package.json": (json.dumps(package, indent=2) + "\n").encode(),
        "README.md": readme.encode(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    for name in ("ldpstats-client.mjs", "ldpstats-client.d.mts"):
        files[name] = (PORTABLE / name).read_bytes()
    path = to / f"ldpstats-client-{version}.tgz"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return path


if __name__ == "__main__":
    main(*sys.argv[1:])
