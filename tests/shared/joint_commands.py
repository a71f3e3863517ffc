"""Reports on job, late and host for the command associate."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

JOBS, LATE, HOSTS = ("nurse", "teacher", "driver"), ("no", "yes"), ("a.com", "b.com", "c.com")
JOB, TARDY = ldp.KRR(JOBS, epsilon=2.0), ldp.KRR(LATE, epsilon=2.0)

LAW = np.array([[0.35, 0.15], [0.2, 0.1], [0.05, 0.15]])  # of job and late

BOTH = ["--column", "job", "--spec", "job.json", "--column", "late", "--spec", "late.json"]


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The JSON that was printed, and nothing else was."""
    out, err = capsys.readouterr()
    assert err == "" and out.count("\n") == 1
    found: dict[str, Any] = json.loads(out)
    return found
