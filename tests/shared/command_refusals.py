"""What every refusal on the command line looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpstats.cli import main


def refused(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on standard error, exit status 2, and no file more, less or changed."""
    before = contents()
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("ldpstats: error: ")
    assert says in err and "defect" not in err and "Traceback" not in err, err
    assert contents() == before


def contents() -> dict[Path, bytes | None]:
    """The files and folders of the working directory."""
    return {path: path.read_bytes() if path.is_file() else None for path in Path().iterdir()}
