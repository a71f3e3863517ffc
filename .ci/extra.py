"""Print the requirements of an extra of pyproject.toml."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

if __name__ == "__main__":
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(tomllib.loads(text)["project"]["optional-dependencies"][sys.argv[1]]))
