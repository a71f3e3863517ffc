"""Jobs and their shares, and runs of privatize and fit on them."""

from pathlib import Path

import numpy as np

from ldpstats.cli import main

JOBS = ("nurse", "teacher", "driver")
SHARES = np.array([0.5, 0.3, 0.2])


def privatize(folder: Path, kind: str, source: str, target: str, *more: str) -> int:
    labels = ["--epsilon", "2", "--categories", ",".join(JOBS)]
    made = ["--mechanism", kind, *labels, "--write-spec", str(folder / "spec.json")]
    paths = [str(folder / f"answers{source}"), str(folder / f"reports{target}")]
    return main(["privatize", *paths, "--column", "job", *made, *more])


def fit(folder: Path, *more: str, suffix: str = ".csv") -> int:
    return main(
        ["fit", str(folder / f"reports{suffix}"), "--spec", str(folder / "spec.json"), *more]
    )
