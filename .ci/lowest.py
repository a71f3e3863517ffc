"""Print the lowest versions that pyproject.toml declares, as requirements of exactly these.

Those of the package, of the extra "collect", and of what in "docs" runs code: a theme does not. Of
the extra "test" only what runs tests: linters and type checkers look at the code, not at the
versions that it meets.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

LOOKS = ("pydata-sphinx-theme", "sphinx-copybutton", "sphinx-design")  # of pages, in "docs"


def lowest(project: dict) -> list[str]:
    """The requirements of a project's table, each with its lower bound as the version."""
    extras = project["optional-dependencies"]
    runs = [name for name in extras["test"] if name.startswith("pytest")]
    runs += extras["collect"]
    runs += [name for name in extras["docs"] if not name.startswith(LOOKS)]
    return [name.replace(">=", "==") for name in [*project["dependencies"], *runs]]


if __name__ == "__main__":
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(lowest(tomllib.loads(text)["project"])))
